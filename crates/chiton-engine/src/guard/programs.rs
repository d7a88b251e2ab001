//! Which program does what: the one place that knows all names.

use super::judge::{Judge, Ran};
use super::shells::SHELLS;
use super::simple::Call;
use super::text::Flow;
use super::world::World;

impl Judge<'_> {
    /// Goes through a program.
    pub(super) fn run(&mut self, call: &Call, world: World) -> Ran {
        self.may_wait(call);
        if self.only_explains(call) {
            return Ran::same(world, Flow::labelled(super::text::Labels::PLAIN));
        }
        if let Some(ran) = self.builtin(call, &world) {
            return ran;
        }
        if let Some(ran) = self.wrapped(call, &world) {
            return ran;
        }
        if let Some(ran) = self.starter(call, &world) {
            return ran;
        }
        let name = call.name.as_str();
        match name {
            _ if SHELLS.contains(&name) => return self.shell(call, world),
            "su" => return self.su(call, world),
            "ssh" | "autossh" | "mosh" | "dbclient" => return self.ssh(call, world),
            "find" | "gfind" | "bfs" => return self.find(call, world),
            "fd" | "fdfind" => return self.fd(call, world),
            "xargs" | "gxargs" => return self.xargs(call, world),
            _ => {}
        }
        let mut world = world;
        let flow = self
            .prints(call, &mut world)
            .or_else(|| self.file_program(call, &world))
            .or_else(|| self.disk_program(call, &world))
            .or_else(|| self.process_program(call, &world))
            .or_else(|| self.system_program(call, &world))
            .or_else(|| self.network_program(call, &world))
            .or_else(|| self.git_program(call, &world))
            .or_else(|| self.data_program(call, &world))
            .or_else(|| self.interpreter(call, &world))
            .or_else(|| self.text_program(call, &world));
        let mut flow = flow.unwrap_or_else(|| self.other(call, &world));
        if prints_settings(call) {
            flow = Flow::labelled(super::text::Labels::SETTINGS);
        }
        if matches!(name, "echo" | "printf" | "pwd") { Ran::succeeded(world, flow) } else { Ran::same(world, flow) }
    }

    /// `--help` and `--version` as the only argument do nothing else.
    fn only_explains(&self, call: &Call) -> bool {
        let [only] = call.args.as_slice() else { return false };
        (only.text.is("--help") || only.text.is("--version")) && !matches!(call.name.as_str(), "xargs" | "echo")
    }

    /// A program that is not in any table: a file that this command wrote is known, and what it gets may be a secret.
    fn other(&mut self, call: &Call, world: &World) -> Flow {
        if call.path.known_start().contains('/') || call.path.known_start().is_empty() {
            return self.written_program(call, world);
        }
        Flow::unknown()
    }

    /// A program given by its path: if this very command wrote it, what is in it is judged.
    fn written_program(&mut self, call: &Call, world: &World) -> Flow {
        let Some(path) = call.path.as_known().and_then(|path| super::path::absolute(&path, world.cwd.as_deref()))
        else {
            return Flow::unknown();
        };
        let Some(content) = self.files.get(&path).cloned() else { return Flow::unknown() };
        let file = super::options::Arg::new(call.path.clone(), call.span);
        let interpreter = content.text.as_deref().and_then(super::code::interpreter_of);
        if let Some(language) = interpreter.filter(|language| *language != "sh") {
            let text = super::text::Text::known(content.text.clone().unwrap_or_default());
            self.code(&super::options::Arg::new(text, call.span), language, world, &call.input);
            return Flow::unknown();
        }
        let inner = Call { name: "bash".to_owned(), args: [vec![file], call.args.clone()].concat(), ..call.clone() };
        self.shell(&inner, world.clone()).flow
    }
}

/// Whether a program is asked for text that is made to be run: `kubectl completion bash`, `brew shellenv`.
fn prints_settings(call: &Call) -> bool {
    let verbs = ["completion", "completions", "shellenv", "hook", "docker-env", "podman-env", "activate"];
    let own = !matches!(call.name.as_str(), "echo" | "cat" | "curl" | "wget" | "ssh" | "printf");
    own && call.args.iter().take(3).any(|arg| verbs.iter().any(|verb| arg.text.is(verb)))
}
