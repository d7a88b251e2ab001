//! Programs that end processes.

use super::row::Program;
use crate::effect::Kind;
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Unknown, What};
use crate::programs::options::{Grammar, Options};

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    pub(crate) fn process_program(&mut self, call: &Call) -> Option<Flow> {
        match call.name.as_str() {
            "kill" => self.kill(call),
            "killall" | "pkill" | "skill" | "snice" => self.kill_by_name(call),
            "killall5" => {
                self.state(Kind::KillAll, "This ends all processes.".to_owned(), call.span, None);
            }
            "xkill" | "fuser" => {
                let kills =
                    call.args.iter().any(|arg| arg.text.known_start().starts_with("-k") || arg.text.is("--kill"));
                let broad = call.args.iter().any(|arg| ["/", "/home", "/usr"].iter().any(|place| arg.text.is(place)));
                if kills && broad {
                    self.state(
                        Kind::KillAll,
                        "This ends every process that uses the file system.".to_owned(),
                        call.span,
                        None,
                    );
                }
                return Some(Flow::labelled(Labels::PLAIN.with(Labels::CHOSEN)));
            }
            "ps" => {
                let chosen = call.args.iter().any(|arg| {
                    ["-p", "--pid", "-C", "--ppid"].iter().any(|option| arg.text.known_start().starts_with(option))
                });
                let parent = call.args.iter().any(|arg| arg.text.display().contains("ppid"));
                return Some(Flow::labelled(if chosen && !parent {
                    Labels::PLAIN
                } else {
                    Labels::PROCESSES.with(Labels::UNKNOWN)
                }));
            }
            "pgrep" | "pidof" | "lsof" => {
                let options = Options::read(
                    &call.args,
                    &Grammar {
                        short: "dFgGNoOPQstUu",
                        long: &["delimiter", "parent", "uid", "euid", "pgroup", "session"],
                        ..Grammar::default()
                    },
                );
                let sweeping = call.name == "pgrep"
                    && options
                        .operands
                        .iter()
                        .all(|arg| arg.text.as_known().is_some_and(|pattern| is_sweeping(&pattern)));
                let own = options.operands.iter().find(|arg| self.names_own(&arg.text.display()));
                let labels = if sweeping && !options.has(&["P", "parent", "g", "pgroup", "s", "t"]) || own.is_some() {
                    Labels::PROCESSES.with(Labels::UNKNOWN)
                } else {
                    Labels::PLAIN.with(Labels::CHOSEN)
                };
                return Some(Flow::labelled(labels));
            }
            _ => return None,
        }
        Some(Flow::empty())
    }

    fn names_own(&self, name: &str) -> bool {
        name == "systemd"
            || name == "init"
            || self
                .context
                .own_processes
                .iter()
                .any(|own| own.name == name || own.name.starts_with(name) && name.len() > 3)
            || name.contains("chiton")
    }

    fn kill(&mut self, call: &Call) {
        let mut operands: Vec<&Arg> = Vec::new();
        let mut rest = call.args.iter();
        let mut first = true;
        while let Some(arg) = rest.next() {
            let start = arg.text.known_start();
            if start == "--" && arg.text.is("--") {
                operands.extend(rest);
                break;
            }
            match start.as_str() {
                "-l" | "-L" | "--list" | "-t" | "--table" => return,
                "-s" | "-n" | "--signal" | "-q" | "--queue" => {
                    rest.next();
                }
                // The first word with a dash is the signal, later ones are groups.
                _ if first && start.starts_with('-') && start.len() > 1 && !(start == "-1" && call.args.len() == 1) => {
                    if start == "-0" {
                        return;
                    }
                }
                _ => operands.push(arg),
            }
            first = false;
        }
        for arg in operands {
            self.kill_target(arg);
        }
    }

    fn kill_target(&mut self, arg: &Arg) {
        let shown = arg.text.display();
        let of_all = |unknown: &Unknown| matches!(&unknown.what, What::Found(roots) if roots.iter().any(|root| root.starts_with("/proc")));
        if arg.text.unknowns().any(of_all) || arg.text.has_glob() || arg.text.labels().has(Labels::PROCESSES) {
            let reason = format!("{shown} stands for processes that were not chosen.");
            self.state(Kind::KillAll, reason, arg.span, Some(shown));
            return;
        }
        if arg.text.unknowns().any(|unknown| unknown.what == What::Parent) {
            let reason = "The parent of the shell is the server that runs this command.".to_owned();
            self.state(Kind::KillOwn, reason, arg.span, Some(shown));
            return;
        }
        let Some(known) = arg.text.as_known() else { return };
        let Ok(number) = known.trim().parse::<i64>() else { return };
        if number == -1 {
            self.state(Kind::KillAll, "-1 stands for every process.".to_owned(), arg.span, Some(known));
        } else if number.abs() == 1 {
            self.state(Kind::KillAll, "Process 1 is the parent of all others.".to_owned(), arg.span, Some(known));
        } else if self.is_own(number) {
            let reason = format!("{known} is the server that runs this command, or one of its ancestors.");
            self.state(Kind::KillOwn, reason, arg.span, Some(known));
        }
    }

    fn is_own(&self, number: i64) -> bool {
        let Ok(id) = u32::try_from(number.abs()) else { return false };
        let group = number < 0 && self.context.own_groups.contains(&id);
        group || number > 0 && self.context.own_processes.iter().any(|own| own.id == id)
    }

    fn kill_by_name(&mut self, call: &Call) {
        // The signal may stand as `-9` or `-KILL`.
        let is_signal = |arg: &&Arg| {
            let start = arg.text.known_start();
            let name = start.strip_prefix('-').unwrap_or_default();
            !name.is_empty()
                && (name.bytes().all(|byte| byte.is_ascii_digit())
                    || name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase()))
        };
        let args: Vec<Arg> = call.args.iter().filter(|arg| !is_signal(arg)).cloned().collect();
        let short = if call.name == "pkill" { "dFgGNoOPQstUu" } else { "ounyzsZt" };
        let grammar = Grammar {
            short,
            long: &[
                "signal",
                "user",
                "uid",
                "euid",
                "parent",
                "pgroup",
                "group",
                "session",
                "terminal",
                "older-than",
                "younger-than",
                "pidfile",
                "ns",
            ],
            flags: &["full", "regexp", "exact", "ignore-case", "newest", "oldest", "inverse"],
            ..Grammar::default()
        };
        let options = Options::read(&args, &grammar);
        if options.value(&["s", "signal"]).is_some_and(|signal| signal.text.is("0"))
            || call.args.iter().any(|arg| arg.text.is("-0") || arg.text.is("-l"))
        {
            return;
        }
        let by_user = options.value(&["u", "U", "user", "uid", "euid"]).is_some();
        if (by_user && options.operands.is_empty()) || options.has(&["v", "inverse"]) {
            let reason = "This ends all processes of a user, this server among them.".to_owned();
            self.state(Kind::KillAll, reason, call.span, None);
        }
        if options.value(&["P", "parent"]).is_some_and(|parent| parent.text.is("1")) {
            let reason = "The children of process 1 are the services of the machine.".to_owned();
            self.state(Kind::KillAll, reason, call.span, None);
        }
        let pattern = call.name == "pkill" || options.has(&["r", "regexp"]);
        for arg in &options.operands {
            let shown = arg.text.display();
            let Some(name) = arg.text.as_literal() else { continue };
            let own = self.context.own_processes.iter().find(|own| {
                if pattern {
                    name.len() > 2 && own.name.contains(name.trim_matches(['^', '$']))
                } else {
                    own.name == name
                }
            });
            if pattern && is_sweeping(&name) || matches!(name.as_str(), "systemd" | "init") {
                self.state(
                    Kind::KillAll,
                    format!("{shown} matches processes that were not chosen."),
                    arg.span,
                    Some(shown),
                );
            } else if own.is_some() || name.contains("chiton") {
                let reason = format!("{shown} matches the server that runs this command, or one of its ancestors.");
                self.state(Kind::KillOwn, reason, arg.span, Some(shown));
            }
        }
    }
}

/// Whether a pattern for process names matches nearly all of them.
fn is_sweeping(pattern: &str) -> bool {
    let inner = pattern.trim_matches(['^', '$']);
    inner.is_empty()
        || inner.chars().all(|character| matches!(character, '.' | '*' | '?' | '+' | '(' | ')' | '|'))
        || inner.chars().count() == 1
}
