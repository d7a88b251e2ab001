//! Shells that a command starts, and text that reaches a shell in another way.

use super::row::Program;
use crate::effect::Kind;
use std::rc::Rc;

use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Piece, Text};
use crate::machine::{Machine, Ran};
use crate::programs::options::{Grammar, Options};

/// The shells.
pub(crate) const SHELLS: [&str; 14] =
    ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "ksh93", "fish", "csh", "tcsh", "rbash", "posh", "yash"];

const SU: Grammar = Grammar {
    short: "cgGswC",
    attached: "",
    long: &["command", "group", "supp-group", "shell", "session-command", "whitelist-environment"],
    flags: &["login", "preserve-environment", "pty"],
    stops: false,
    single_dash: false,
};

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    /// A shell with its arguments.
    pub(crate) fn shell(&mut self, call: &Call, world: World) -> Ran {
        let mut rest = call.args.iter().peekable();
        let (mut takes_text, mut reads_input) = (false, false);
        while let Some(arg) = rest.peek() {
            let start = arg.text.known_start();
            if start == "--" || start == "-" && arg.text.is("-") {
                rest.next();
                break;
            }
            if matches!(start.as_str(), "--rcfile" | "--init-file") {
                rest.next();
                if let Some(file) = rest.next() {
                    let flow = self.read(&file.text, &world);
                    self.run_flow(&flow, world.clone(), &call.input, file);
                }
                continue;
            }
            if start.starts_with("--") {
                if matches!(start.as_str(), "--help" | "--version") {
                    return Ran::same(world, Flow::labelled(Labels::PLAIN));
                }
                rest.next();
                continue;
            }
            if !start.starts_with(['-', '+']) || start.len() < 2 {
                break;
            }
            let letters = start[1..].to_owned();
            takes_text |= letters.contains('c') && start.starts_with('-');
            reads_input |= letters.contains('s') && start.starts_with('-');
            rest.next();
            for _ in letters.chars().filter(|letter| matches!(letter, 'o' | 'O')) {
                rest.next();
            }
        }
        let rest: Vec<Arg> = rest.cloned().collect();
        if takes_text {
            return self.shell_with_text(&rest, world, call);
        }
        match rest.split_first() {
            Some((file, args)) if !reads_input => self.shell_script(file, args, world, call),
            _ => {
                let mut world = world;
                world.positional = Some(Rc::new(rest.iter().map(|arg| arg.text.clone()).collect()));
                self.shell_reading_input(call, world)
            }
        }
    }

    fn shell_with_text(&mut self, rest: &[Arg], mut world: World, call: &Call) -> Ran {
        let Some((text, parameters)) = rest.split_first() else { return Ran::same(world, Flow::empty()) };
        let outer = world.clone();
        world.script = parameters.first().and_then(|arg| arg.text.as_known());
        world.positional = Some(Rc::new(parameters.iter().skip(1).map(|arg| arg.text.clone()).collect()));
        let flow = self.run_text(text, world, &call.input).flow;
        Ran::same(outer, flow)
    }

    /// A script file: what this command wrote into it is known, other files are as good as any program.
    fn shell_script(&mut self, file: &Arg, args: &[Arg], mut world: World, call: &Call) -> Ran {
        let outer = world.clone();
        let standard = crate::programs::builtins::is_standard_input(&file.text);
        let flow = if standard { (*call.input).clone() } else { self.read(&file.text, &world) };
        world.script = file.text.as_known();
        world.positional = Some(Rc::new(args.iter().map(|arg| arg.text.clone()).collect()));
        let mark = format!("script {}", file.text.display());
        if let Some(at) = self.frames.iter().rposition(|frame| frame.name == mark) {
            self.recursion(at, &file.text.display(), call.span);
            return Ran::same(outer, Flow::unknown());
        }
        let frame = self.frame(&mark);
        self.frames.push(frame);
        let flow = self.run_flow(&flow, world, &call.input, file).flow;
        self.frames.pop();
        Ran::same(outer, flow)
    }

    /// A shell that takes its commands from its input.
    pub(crate) fn shell_reading_input(&mut self, call: &Call, world: World) -> Ran {
        let interactive =
            call.args.iter().any(|arg| arg.text.known_start().starts_with('-') && arg.text.known_start().contains('i'));
        if *call.input == Flow::empty() {
            if interactive || SHELLS.contains(&call.name.as_str()) {
                self.waits_for_a_person(&call.name, "it waits for commands; give them with -c", call.span);
            }
            let flow = if interactive {
                Flow::labelled(Labels::SHELL)
            } else {
                Flow::labelled(Labels::SHELL.with(Labels::UNKNOWN))
            };
            return Ran::same(world, flow);
        }
        let outer = world.clone();
        let arg = Arg::new(Text::known("standard input"), call.span);
        let mut ran = self.run_flow(&call.input, world, &Rc::new(Flow::empty()), &arg);
        ran.flow.labels = ran.flow.labels.with(Labels::SHELL);
        Ran::same(outer, ran.flow)
    }

    pub(crate) fn su(&mut self, call: &Call, world: World) -> Ran {
        let options = Options::read(&call.args, &SU);
        self.waits_for_a_person("su", "it asks for a password", call.span);
        if let Some(text) = options.value(&["c", "command", "session-command"]).cloned() {
            return self.run_text(&text, world, &call.input);
        }
        self.shell_reading_input(call, world)
    }

    /// `ssh`: what runs on the other machine is judged like what runs here.
    pub(crate) fn ssh(&mut self, call: &Call, mut world: World) -> Ran {
        let grammar = Grammar { short: "BbcDEeFIiJLlmOopQRSWw", stops: true, ..Grammar::default() };
        let options = Options::read(&call.args, &grammar);
        let mut batch = false;
        for option in options.values(&["o"]) {
            batch |= option.text.known_start().to_ascii_lowercase().starts_with("batchmode=yes");
            self.ssh_option(option, &world);
        }
        if !batch {
            self.waits_for_a_person(
                "ssh",
                "it may ask for a password or about a host key; use `-o BatchMode=yes`",
                call.span,
            );
        }
        if call.input.labels.has(Labels::SECRET) {
            self.exfiltrates(call.span);
        }
        let outer = world.clone();
        if options.operands.len() > 1 {
            let mut text = Text::default();
            let words = options.operands[1..].iter().skip_while(|arg| arg.text.is("--"));
            for (index, arg) in words.enumerate() {
                if index > 0 {
                    text.push(Piece::Known(" ".to_owned()));
                }
                text.append(&arg.text.clone().without_globs());
            }
            world.cwd = None;
            let span = options.operands[1].span;
            let remote = Rc::clone(&call.input);
            self.run_text(&Arg::new(text, span), world, &remote);
        } else if call.input.text.as_deref().is_some_and(|text| !text.is_empty()) {
            world.cwd = None;
            self.shell_reading_input(call, world);
        }
        Ran::same(outer, Flow::labelled(Labels::DOWNLOADED))
    }

    /// `-o` of ssh and scp: some options name programs.
    pub(crate) fn ssh_option(&mut self, option: &Arg, world: &World) {
        let start = option.text.known_start();
        let (name, _) = start.split_once(['=', ' ']).unwrap_or((start.as_str(), ""));
        let lower = name.to_ascii_lowercase();
        if ![
            "proxycommand",
            "localcommand",
            "knownhostscommand",
            "permitlocalcommand",
            "pkcs11provider",
            "securitykeyprovider",
        ]
        .contains(&lower.as_str())
        {
            return;
        }
        let value = option.text.skip((name.len() + 1).min(start.len()));
        if value.is("none") || value.is("no") {
            return;
        }
        let reason = format!("The option {name} makes ssh run another program here.");
        self.state(Kind::RunHidden, reason, option.span, Some(value.display()));
        self.run_text(&Arg::new(value, option.span), world.clone(), &Rc::new(Flow::empty()));
    }

    /// `watch`, `script`, `flock`, `parallel`, `tmux`, `screen` and others that take a command as text or words.
    #[expect(clippy::too_many_lines, reason = "a table of what programs do")]
    pub(crate) fn starter(&mut self, call: &Call, world: &World) -> Option<Ran> {
        let inner = |short, long, skip| {
            let grammar = Grammar { short, long, stops: true, ..Grammar::default() };
            (Options::read(&call.args, &grammar), skip)
        };
        match call.name.as_str() {
            "watch" => {
                let (options, _) = inner("nq", &["interval", "equexit"], 0);
                self.waits_for_a_person("watch", "it never ends by itself", call.span);
                Some(self.shell_words(&options.operands, world, call))
            }
            "script" => {
                let grammar = Grammar {
                    short: "cIOBToE",
                    long: &["command", "log-in", "log-out", "log-io", "log-timing"],
                    ..Grammar::default()
                };
                let options = Options::read(&call.args, &grammar);
                let text = options.value(&["c", "command"]).cloned();
                Some(match text {
                    Some(text) => self.run_text(&text, world.clone(), &call.input),
                    None => self.shell_reading_input(call, world.clone()),
                })
            }
            "flock" => {
                let grammar = Grammar {
                    short: "wEc",
                    long: &["timeout", "wait", "conflict-exit-code", "command"],
                    stops: true,
                    ..Grammar::default()
                };
                let mut options = Options::read(&call.args, &grammar);
                let after = options.operands.get(1..).unwrap_or_default().to_vec();
                if let Some(text) = options.value(&["c", "command"]).cloned() {
                    return Some(self.run_text(&text, world.clone(), &call.input));
                }
                if after.first().is_some_and(|arg| arg.text.is("-c") || arg.text.is("--command")) {
                    let text = after.get(1)?.clone();
                    return Some(self.run_text(&text, world.clone(), &call.input));
                }
                if !options.operands.is_empty() {
                    options.operands.remove(0);
                }
                Some(self.run_words(call, options.operands, world.clone()))
            }
            "parallel" | "rush" | "env_parallel" => Some(self.parallel(call, world)),
            "tmux" | "screen" | "byobu" | "zellij" | "dtach" | "abduco" => {
                let starts = call.args.iter().any(|arg| {
                    [
                        "new",
                        "new-session",
                        "neww",
                        "new-window",
                        "split-window",
                        "splitw",
                        "respawn-pane",
                        "run-shell",
                        "run",
                        "if-shell",
                        "send-keys",
                        "send",
                    ]
                    .iter()
                    .any(|word| arg.text.is(word))
                });
                let detached = call.name != "tmux";
                if starts || detached {
                    for arg in call.args.iter().filter(|arg| arg.text.as_known().is_some_and(|text| text.contains(' ')))
                    {
                        self.run_text(arg, world.clone(), &call.input);
                    }
                    let short = if call.name == "tmux" { "cFnstxye" } else { "cehpstSTX" };
                    let grammar = Grammar { short, stops: true, ..Grammar::default() };
                    let from = usize::from(call.name == "tmux");
                    let options = Options::read(call.args.get(from..).unwrap_or_default(), &grammar);
                    if !options.operands.is_empty()
                        && !call.args.iter().any(|arg| arg.text.known_start().starts_with("send"))
                    {
                        return Some(self.run_words(call, options.operands, world.clone()));
                    }
                }
                Some(Ran::same(world.clone(), Flow::unknown()))
            }
            "at" | "batch" => {
                if !call.args.iter().any(|arg| ["-l", "-c", "-V"].iter().any(|option| arg.text.is(option))) {
                    self.state(Kind::Persist, "This sets a timer.".to_owned(), call.span, None);
                    self.run_flow(
                        &call.input,
                        world.clone(),
                        &Rc::new(Flow::empty()),
                        &Arg::new(Text::known("standard input"), call.span),
                    );
                }
                Some(Ran::same(world.clone(), Flow::empty()))
            }
            "newgrp" => Some(self.shell_reading_input(call, world.clone())),
            "expect" => {
                let (options, _) = inner("cdf", &[], 0);
                if let Some(code) = options.value(&["c"]).cloned() {
                    self.code(&code, "tcl", world, &call.input);
                }
                Some(Ran::same(world.clone(), Flow::unknown()))
            }
            "nix-shell" | "nix" => {
                let grammar =
                    Grammar { short: "pc", long: &["run", "command", "packages"], stops: false, ..Grammar::default() };
                let options = Options::read(&call.args, &grammar);
                if let Some(text) = options.value(&["run", "command"]).cloned() {
                    return Some(self.run_text(&text, world.clone(), &call.input));
                }
                let at = call.args.iter().position(|arg| arg.text.is("-c") || arg.text.is("--command"));
                at.map(|at| self.run_words(call, call.args[at + 1..].to_vec(), world.clone()))
            }
            "npx" | "bunx" | "pnpx" => {
                let grammar = Grammar { short: "pc", long: &["package", "call"], stops: true, ..Grammar::default() };
                let options = Options::read(&call.args, &grammar);
                if let Some(text) = options.value(&["c", "call"]).cloned() {
                    return Some(self.run_text(&text, world.clone(), &call.input));
                }
                let runs_shell = options.operands.first().is_some_and(|arg| {
                    ["rimraf", "del-cli", "cross-env", "shx", "env-cmd", "dotenv"].iter().any(|name| arg.text.is(name))
                });
                runs_shell.then(|| self.run_words(call, options.operands, world.clone()))
            }
            "shx" => Some(self.run_words(call, call.args.clone(), world.clone())),
            "concurrently" | "nodemon" | "watchexec" | "onchange" | "chokidar" | "start-server-and-test" => {
                let grammar = Grammar {
                    short: "xewicn",
                    long: &["exec", "ext", "watch", "ignore", "names"],
                    ..Grammar::default()
                };
                let options = Options::read(&call.args, &grammar);
                for text in options.values(&["x", "exec"]).chain(options.operands.iter()).cloned().collect::<Vec<_>>() {
                    if text.text.as_known().is_some_and(|known| known.contains(' ')) {
                        self.run_text(&text, world.clone(), &call.input);
                    }
                }
                Some(Ran::same(world.clone(), Flow::unknown()))
            }
            _ => None,
        }
    }

    /// Words that a program joins with blanks and hands to a shell.
    fn shell_words(&mut self, operands: &[Arg], world: &World, call: &Call) -> Ran {
        let mut text = Text::default();
        for (index, arg) in operands.iter().enumerate() {
            if index > 0 {
                text.push(Piece::Known(" ".to_owned()));
            }
            text.append(&arg.text.clone().without_globs());
        }
        let span = operands.first().map_or(call.span, |arg| arg.span);
        self.run_text(&Arg::new(text, span), world.clone(), &call.input)
    }

    fn parallel(&mut self, call: &Call, world: &World) -> Ran {
        let grammar = Grammar {
            short: "jaIdnNSPlLX",
            long: &[
                "jobs",
                "arg-file",
                "delimiter",
                "max-args",
                "colsep",
                "timeout",
                "delay",
                "joblog",
                "results",
                "retries",
                "sshlogin",
                "tmpdir",
                "workdir",
            ],
            stops: true,
            ..Grammar::default()
        };
        let options = Options::read(&call.args, &grammar);
        let at = options.operands.iter().position(|arg| [":::", "::::", ":::+"].iter().any(|mark| arg.text.is(mark)));
        let (template, values) = match at {
            Some(at) => (&options.operands[..at], &options.operands[at + 1..]),
            None => (&options.operands[..], [].as_slice()),
        };
        let mut items: Vec<Text> = values
            .iter()
            .filter(|arg| !arg.text.known_start().starts_with(":::"))
            .map(|arg| arg.text.clone())
            .collect();
        if at.is_none() {
            items = match &call.input.text {
                Some(text) => text.lines().take(32).map(Text::known).collect(),
                None => vec![Text::of_flow(&call.input)],
            };
        }
        let mut ran = Ran::same(world.clone(), Flow::unknown());
        for item in items.iter().take(32) {
            let mut text = Text::default();
            let mut placed = false;
            for (index, arg) in template.iter().enumerate() {
                if index > 0 {
                    text.push(Piece::Known(" ".to_owned()));
                }
                let (filled, hit) = crate::programs::finders::substitute(&arg.text, "{}", item);
                placed |= hit;
                text.append(&filled);
            }
            if !placed {
                text.push(Piece::Known(" ".to_owned()));
                text.append(item);
            }
            ran = self.run_text(&Arg::new(text, call.span), world.clone(), &Rc::new(Flow::empty()));
        }
        ran.flow = Flow::unknown();
        ran
    }
}
