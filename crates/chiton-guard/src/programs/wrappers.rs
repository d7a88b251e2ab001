//! Programs that run another program: which of their words are options, and where the other program begins.

use super::row::Program;
use crate::effect::{Kind, Writing};

use crate::machine::command::Call;
use crate::machine::state::{Value, World};
use crate::machine::value::Arg;
use crate::machine::value::Flow;
use crate::machine::{Machine, Ran};
use crate::programs::options::{Grammar, Options};

/// How to find the inner command of a wrapper.
struct Wrapper {
    names: &'static [&'static str],
    grammar: Grammar,
    /// Operands before the inner command.
    skip: usize,
    /// Whether `NAME=value` may stand before the inner command.
    assigns: bool,
}

const fn wrapper(
    names: &'static [&'static str],
    short: &'static str,
    long: &'static [&'static str],
    skip: usize,
) -> Wrapper {
    let grammar = Grammar { short, attached: "", long, flags: &[], stops: true, single_dash: false };
    Wrapper { names, grammar, skip, assigns: false }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(
        &[
            "nohup",
            "unbuffer",
            "catchsegv",
            "eatmydata",
            "torsocks",
            "tsocks",
            "chronic",
            "dbus-run-session",
            "caffeinate",
            "linux32",
            "linux64",
            "builtin",
            "not",
        ],
        "",
        &[],
        0,
    ),
    wrapper(&["command"], "", &[], 0),
    wrapper(&["exec"], "a", &[], 0),
    wrapper(&["time"], "fo", &["format", "output"], 0),
    wrapper(&["setsid"], "", &[], 0),
    wrapper(&["nice"], "n", &["adjustment"], 0),
    wrapper(&["ionice"], "cnpPu", &["class", "classdata", "pid", "pgid", "uid"], 0),
    wrapper(&["stdbuf"], "ioe", &["input", "output", "error"], 0),
    wrapper(&["timeout", "gtimeout"], "ks", &["kill-after", "signal"], 1),
    wrapper(&["chroot"], "", &["groups", "userspec"], 1),
    wrapper(&["taskset", "chrt"], "TPD", &["sched-runtime", "sched-period", "sched-deadline"], 1),
    wrapper(&["setarch"], "", &[], 1),
    wrapper(&["numactl"], "iNmCpa", &["interleave", "cpunodebind", "physcpubind", "membind", "preferred"], 0),
    wrapper(
        &["setpriv"],
        "",
        &[
            "ambient-caps",
            "inh-caps",
            "bounding-set",
            "ruid",
            "euid",
            "reuid",
            "rgid",
            "egid",
            "regid",
            "groups",
            "securebits",
            "selinux-label",
            "apparmor-profile",
            "pdeathsig",
        ],
        0,
    ),
    wrapper(
        &["unshare"],
        "SGRwb",
        &[
            "setuid",
            "setgid",
            "root",
            "wd",
            "map-user",
            "map-group",
            "map-users",
            "map-groups",
            "propagation",
            "setgroups",
            "monotonic",
            "boottime",
        ],
        0,
    ),
    wrapper(&["nsenter"], "tSGrw", &["target", "setuid", "setgid"], 0),
    wrapper(&["strace", "ltrace"], "eoOpsSuEaPbIXln", &["output", "trace", "string-limit", "attach"], 0),
    wrapper(
        &["valgrind", "fakeroot", "firejail", "proot", "systemd-inhibit", "prlimit", "pkexec", "doas", "dotenv"],
        "uCbwqliMr",
        &["user", "what", "who", "why", "mode"],
        0,
    ),
    wrapper(&["rlwrap"], "abBCdDefFgHlmMNOPqsStTwz", &[], 0),
    wrapper(&["faketime"], "f", &[], 1),
    wrapper(&["proxychains", "proxychains4"], "f", &[], 0),
    wrapper(
        &["systemd-run"],
        "pMuEHt",
        &[
            "property",
            "unit",
            "description",
            "slice",
            "uid",
            "gid",
            "nice",
            "working-directory",
            "setenv",
            "on-calendar",
            "on-active",
            "machine",
        ],
        0,
    ),
    wrapper(&["xvfb-run"], "enfpsw", &["error-file", "server-num", "auth-file", "server-args", "wait"], 0),
    wrapper(&["cgexec"], "g", &[], 0),
    wrapper(&["choom"], "np", &["adjust", "pid"], 0),
    wrapper(&["busybox", "toybox"], "", &[], 0),
    wrapper(&["entr", "retry"], "tdm", &["times", "delay"], 0),
    wrapper(&["cross-env"], "", &[], 0),
    wrapper(&["runuser"], "ugGcsw", &["user", "group", "supp-group", "command", "shell"], 0),
    wrapper(&["gdb", "lldb"], "xd", &["command", "directory"], 0),
    wrapper(&["perf"], "eopCgF", &["event", "output"], 1),
    wrapper(&["direnv"], "", &[], 2),
    wrapper(&["ccache", "sccache", "distcc"], "", &[], 0),
    wrapper(
        &["hyperfine"],
        "wmMrsPDLCnu",
        &["warmup", "runs", "min-runs", "max-runs", "export-json", "export-markdown", "prepare", "cleanup", "setup"],
        0,
    ),
];

/// Tools that run a program of a project after a word of their own.
const RUNNERS: &[(&str, &[&str])] = &[
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("pdm", &["run"]),
    ("rye", &["run"]),
    ("hatch", &["run"]),
    ("bundle", &["exec"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("micromamba", &["run"]),
    ("pnpm", &["exec"]),
    ("yarn", &["exec"]),
    ("npm", &["exec", "x"]),
    ("mise", &["exec", "x"]),
    ("asdf", &["exec"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("doppler", &["run"]),
    ("op", &["run"]),
    ("devbox", &["run"]),
    ("heroku", &["local:run"]),
];

/// Values of their options.
const RUNNER_GRAMMAR: Grammar = Grammar {
    short: "np",
    attached: "",
    long: &["name", "prefix", "with", "python", "project", "directory", "package", "extra", "group", "env-file", "cwd"],
    flags: &[],
    stops: true,
    single_dash: false,
};

const SUDO: Grammar = Grammar {
    short: "ugpCcDhrtTRUa",
    attached: "",
    long: &[
        "user",
        "group",
        "prompt",
        "close-from",
        "chdir",
        "chroot",
        "host",
        "role",
        "type",
        "command-timeout",
        "other-user",
        "login-class",
    ],
    flags: &[
        "non-interactive",
        "stdin",
        "shell",
        "login",
        "list",
        "edit",
        "preserve-env",
        "background",
        "validate",
        "reset-timestamp",
        "askpass",
        "set-home",
    ],
    stops: true,
    single_dash: false,
};

const ENV: Grammar = Grammar {
    short: "uCS",
    attached: "",
    long: &["unset", "chdir", "split-string"],
    flags: &["ignore-environment", "null", "debug", "list-signal-handling"],
    stops: true,
    single_dash: false,
};

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    /// Goes through what a wrapper runs; none if it is no wrapper.
    pub(crate) fn wrapped(&mut self, call: &Call, world: &World) -> Option<Ran> {
        let name = call.name.as_str();
        match name {
            "sudo" | "doas" | "sudoedit" => return Some(self.sudo(call, world.clone())),
            "env" => return Some(self.env(call, world.clone())),
            _ if name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so" => {
                let grammar = Grammar {
                    long: &["library-path", "preload", "argv0", "audit", "inhibit-rpath"],
                    stops: true,
                    ..Grammar::default()
                };
                return Some(self.run_words(call, Options::read(&call.args, &grammar).operands, world.clone()));
            }
            _ => {}
        }
        if let Some((_, words)) = RUNNERS.iter().find(|(runner, _)| *runner == name) {
            let at = call.args.iter().position(|arg| words.iter().any(|word| arg.text.is(word)))?;
            let before = call.args[..at].iter().all(|arg| arg.text.known_start().starts_with('-'));
            let options = Options::read(&call.args[at + 1..], &RUNNER_GRAMMAR);
            return before.then(|| self.run_words(call, options.operands, world.clone()));
        }
        let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))?;
        if name == "perf"
            && !call.args.first().is_some_and(|arg| ["stat", "record", "trace"].iter().any(|word| arg.text.is(word)))
        {
            return None;
        }
        if matches!(name, "gdb" | "lldb") && !call.args.iter().any(|arg| arg.text.is("--args") || arg.text.is("--")) {
            return None;
        }
        if name == "direnv" && !call.args.first().is_some_and(|arg| arg.text.is("exec")) {
            return None;
        }
        let mut options = Options::read(&call.args, &wrapper.grammar);
        if name == "command" && options.has(&["v", "V"]) {
            let found = options.operands.first().map(|arg| arg.text.to_flow()).unwrap_or_default();
            return Some(Ran::same(world.clone(), found));
        }
        if name == "hyperfine" {
            for arg in std::mem::take(&mut options.operands) {
                self.run_text(&arg, world.clone(), &call.input);
            }
            return Some(Ran::same(world.clone(), Flow::unknown()));
        }
        if matches!(name, "runuser" | "pkexec")
            && let Some(text) = options.value(&["c", "command"]).cloned()
        {
            return Some(self.run_text(&text, world.clone(), &call.input));
        }
        if name == "systemd-run" && options.has(&["on-calendar", "on-active", "on-boot"]) {
            self.state(Kind::Persist, "This sets a timer.".to_owned(), call.span, None);
        }
        if name == "nsenter" && options.value(&["t", "target"]).is_some_and(|arg| arg.text.is("1")) {
            self.state(Kind::Escape, "This enters the namespaces of process 1.".to_owned(), call.span, None);
        }
        if wrapper.assigns || name == "cross-env" || name == "prlimit" {
            while options.operands.first().is_some_and(|arg| arg.text.known_start().contains('=')) {
                options.operands.remove(0);
            }
        }
        if matches!(name, "unshare" | "chroot") && options.operands.len() <= wrapper.skip {
            return Some(Ran::same(world.clone(), Flow::unknown()));
        }
        Some(self.run_words(call, options.operands.into_iter().skip(wrapper.skip).collect(), world.clone()))
    }

    fn sudo(&mut self, call: &Call, world: World) -> Ran {
        let mut options = Options::read(&call.args, &SUDO);
        if call.name == "sudo"
            && !options.has(&["n", "non-interactive", "S", "stdin", "A", "askpass", "l", "list", "k", "h", "V"])
        {
            self.waits_for_a_person(
                "sudo",
                "it may ask for a password; use `sudo -n` so that it fails instead of waiting",
                call.span,
            );
        }
        if call.name == "sudoedit" || options.has(&["e", "edit"]) {
            for operand in &options.operands {
                self.writes("This would edit", &operand.text, Writing::Adds, &world, operand.span);
            }
            return Ran::same(world, Flow::empty());
        }
        self.assignments(&mut options.operands);
        if options.operands.is_empty() && options.has(&["s", "i", "shell", "login"]) {
            return self.shell_reading_input(call, world);
        }
        self.run_words(call, options.operands, world)
    }

    /// Takes `NAME=value` words off the front and judges them.
    fn assignments(&mut self, operands: &mut Vec<Arg>) -> Vec<(String, crate::machine::value::Text)> {
        let mut assigned = Vec::new();
        while let Some(first) = operands.first() {
            let start = first.text.known_start();
            let Some(equals) = start.find('=') else { break };
            let name = start[..equals].to_owned();
            let value = first.text.skip(equals + 1);
            self.judge_variable(&name, &value, first.span, crate::machine::Lasting::OneCommand);
            assigned.push((name, value));
            operands.remove(0);
        }
        assigned
    }

    fn env(&mut self, call: &Call, mut world: World) -> Ran {
        let mut options = Options::read(&call.args, &ENV);
        let split = options.value(&["S", "split-string"]).cloned();
        if let Some(text) = split {
            // The rest of the words follow what the string is split into.
            let words = text.text.as_known().map(|known| split_string(&known));
            let Some(words) = words else {
                let shown = text.text.display();
                let reason = format!("What `env -S {shown}` runs, the text does not decide.");
                self.state(Kind::RunUnknown, reason, text.span, Some(shown));
                return Ran::same(world, Flow::unknown());
            };
            let mut operands: Vec<Arg> = words.into_iter().map(|word| Arg::known(word, text.span)).collect();
            operands.append(&mut options.operands);
            let inner = Call { args: operands, name: "env".to_owned(), ..call.clone() };
            let frame = self.frame("wrapper env");
            self.frames.push(frame);
            let ran = if self.frames.len() < crate::machine::DEEPEST_CALLS {
                self.env(&inner, world)
            } else {
                self.run_words(call, inner.args, world)
            };
            self.frames.pop();
            return ran;
        }
        if let Some(directory) = options.value(&["C", "chdir"]) {
            let path =
                directory.text.as_known().and_then(|path| crate::machine::path::absolute(&path, world.cwd.as_deref()));
            world.enter(path);
        }
        for (name, value) in self.assignments(&mut options.operands) {
            world.set(&name, Value::Scalar(value));
        }
        if options.operands.is_empty() {
            return Ran::same(world, Flow::labelled(crate::machine::value::Labels::SECRET));
        }
        self.run_words(call, options.operands, world)
    }
}

/// The words of `env -S`: blanks separate, quotes join, backslashes protect.
fn split_string(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => match characters.next() {
                Some('_') if quote.is_none() => words.extend(word.take()),
                Some('_') => word.get_or_insert_default().push(' '),
                Some('t') => word.get_or_insert_default().push('\t'),
                Some('n') => word.get_or_insert_default().push('\n'),
                Some('c') | None => break,
                Some(other) => word.get_or_insert_default().push(other),
            },
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}
