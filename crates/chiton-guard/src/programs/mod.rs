//! What programs do, as rows: [`row`] says what a row is, every other module has rows of one kind.
//!
//! [`run`] finds the row of a program and lets it report its effects. A program without a row is taken to do nothing by
//! itself, but it may run what its words say.

/// The examples of a row. They are its test; in a program they would only take room, so there they are checked by the compiler
/// and left out.
macro_rules! examples {
    ($($example:expr),* $(,)?) => {{
        const EXAMPLES: &[$crate::programs::Example] = &[$($example),*];
        if cfg!(any(test, feature = "examples")) { EXAMPLES } else { &[] }
    }};
}

mod archives;
mod assignments;
mod awk;
mod backups;
mod besides;
mod builders;
mod builtins;
mod chiton;
mod clouds;
mod clusters;
pub(crate) mod codec;
mod containers;
mod credentials;
mod databases;
mod disks;
mod downloads;
mod editors;
mod explains;
mod fetched;
mod files;
mod finders;
mod forges;
mod frameworks;
mod full_screen;
mod git;
mod git_discards;
mod git_settings;
mod hidden;
mod infrastructure;
mod interpreters;
mod json;
pub(crate) mod network;
pub(crate) mod options;
mod packages;
mod permissions;
mod places;
mod platforms;
mod printers;
mod processes;
mod publishing;
mod queues;
mod row;
mod sed;
mod settings_printers;
mod shells;
pub(crate) mod sql;
mod ssh;
mod starters;
mod stores;
mod system;
mod system_network;
mod system_packages;
pub(crate) mod text_tools;
mod token_printers;
mod wrappers;

use std::rc::Rc;
use std::sync::LazyLock;

use chiton_shell::names::NameIndex;

use crate::effect::{Certainty, Effect, Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::snippet::{Language, run_code};
use crate::value::{Arg, Flow, Labels, What};
use crate::verdict::Decision;
pub(crate) use assignments::judge as judge_variable;
use network::suspicious_helper;
pub use row::Example;
use row::Program;

/// All rows.
const ROWS: &[&[Program]] = &[
    archives::ROWS,
    awk::ROWS,
    backups::ROWS,
    builders::ROWS,
    builtins::ROWS,
    chiton::ROWS,
    clouds::ROWS,
    clusters::ROWS,
    codec::ROWS,
    containers::ROWS,
    databases::ROWS,
    disks::ROWS,
    downloads::ROWS,
    editors::ROWS,
    files::ROWS,
    finders::ROWS,
    forges::ROWS,
    frameworks::ROWS,
    full_screen::ROWS,
    git::ROWS,
    infrastructure::ROWS,
    interpreters::ROWS,
    network::ROWS,
    packages::ROWS,
    permissions::ROWS,
    platforms::ROWS,
    printers::ROWS,
    processes::ROWS,
    publishing::ROWS,
    queues::ROWS,
    sed::ROWS,
    settings_printers::ROWS,
    shells::ROWS,
    ssh::ROWS,
    starters::ROWS,
    stores::ROWS,
    system::ROWS,
    system_network::ROWS,
    system_packages::ROWS,
    text_tools::ROWS,
    wrappers::ROWS,
];

/// Rows by name.
static BY_NAME: LazyLock<NameIndex<Program>> =
    LazyLock::new(|| NameIndex::new(row::named(ROWS.iter().copied().flatten())));

fn row_of(name: &str) -> Option<&'static Program> {
    BY_NAME.rows(name).next()
}

/// A program that the guard knows.
#[derive(Clone, Copy, Debug)]
pub struct KnownProgram {
    /// Its names; a trailing `*` stands for any rest.
    pub names: &'static [&'static str],
    /// Calls of it and their verdicts; only with the feature `examples`, else empty.
    pub examples: &'static [Example],
}

/// Every program that the guard knows, with examples of what it says about it.
pub fn programs() -> impl Iterator<Item = KnownProgram> {
    let rows = ROWS.iter().copied().flatten().chain(git::VERBS).chain(git_discards::VERBS).chain(besides::ROWS);
    let printers = token_printers::ROWS.iter();
    let printers = printers.map(|row| KnownProgram { names: row.names, examples: row.examples });
    let hidden = hidden::ROWS.iter().map(|row| KnownProgram { names: row.names, examples: row.examples });
    rows.map(|row| KnownProgram { names: row.names, examples: row.examples }).chain(printers).chain(hidden)
}

/// Goes through a call of a program.
pub(crate) fn run(machine: &mut Machine<'_>, call: &Call, world: World) -> Ran {
    if explains::only_explains(call) {
        return Ran::same(world, Flow::labelled(Labels::PLAIN));
    }
    if let Some(flow) = written_program(machine, call, &world) {
        return Ran::same(world, flow);
    }
    if call.input.labels.has(Labels::KEPT) && !credentials::uses_silently(&call.name) {
        machine.reveals_input(&call.name, &call.input, call.span);
    }
    let mut ran = machine.starting(places::of(&call.name), |machine| {
        hidden::look_at(machine, call, &world);
        fetched::look_at(machine, call, &world);
        besides::report(machine, call, &world);
        if let Some(row) = row_of(&call.name).filter(|_| !is_namesake(call)) {
            row.run(machine, call, world)
        } else {
            let flow = unknown_program(machine, call, &world);
            Ran::same(world, flow)
        }
    });
    // Most programs stop by themselves, or are there to make an end.
    let goes_on = ["cat", "tac", "pv", "tr", "tee", "base64", "yes", "dd", "bash", "sh"];
    if ran.flow.labels.has(Labels::ENDLESS) && !goes_on.contains(&call.name.as_str()) {
        ran.flow.labels = ran.flow.labels.without(Labels::ENDLESS);
    }
    if token_printers::prints_token(call) {
        ran.flow = token_printers::as_token(&ran.flow);
        machine.kept = Some((call.name.clone(), call.span));
    }
    if prints_settings(call) {
        ran.flow = Flow::labelled(Labels::SETTINGS);
    }
    if fetched::prints_fetched(call) {
        ran.flow = Flow::labelled(Labels::DOWNLOADED);
    }
    ran
}

/// Whether a program given by its path only has the name of one that is known: `./script`, `/etc/passwd`.
fn is_namesake(call: &Call) -> bool {
    /// Names that people give to scripts of their own.
    const COMMON: [&str; 30] = [
        "at", "batch", "build", "check", "clean", "deploy", "dev", "dump", "format", "group", "import", "init",
        "install", "link", "make", "passwd", "profile", "release", "reset", "restore", "run", "script", "service",
        "setup", "split", "start", "stop", "test", "update", "watch",
    ];
    let start = call.path.known_start();
    let Some((directory, _)) = start.rsplit_once('/') else { return false };
    let parent = directory.rsplit('/').next().unwrap_or_default();
    if crate::value::path::is_within(directory, "/etc") {
        return true;
    }
    !matches!(parent, "bin" | "sbin" | ".bin" | "libexec") && COMMON.contains(&call.name.as_str())
}

/// Judges a program that another one runs as its helper.
pub(crate) fn run_helper(machine: &mut Machine<'_>, program: &Arg, world: &World) {
    let Some(text) = program.text.as_known() else {
        if program.text.unknowns().any(|unknown| !matches!(unknown.what, What::Plain | What::Temporary))
            && program.text.known_start().is_empty()
        {
            let reason = format!("The text does not decide which program {} is.", program.text.display());
            machine.state(Kind::RunUnknown, reason, program.span, Some(program.text.display()));
        }
        return;
    };
    if let Some(reason) = suspicious_helper(&text) {
        machine.state(Kind::RunHidden, reason, program.span, Some(text.clone()));
    }
    machine.script(&text, world.clone(), &Rc::new(Flow::empty()), program.span);
}

/// A program that is not in any table: a file that this command wrote is known, and what it gets may be a secret.
fn unknown_program(machine: &mut Machine<'_>, call: &Call, world: &World) -> Flow {
    may_be_a_wrapper(machine, call, world);
    credentials::may_show(machine, call, world);
    may_write_to_a_disk(machine, call, world);
    Flow::unknown()
}

/// A program that nobody knows may run what its words say. If that would be refused by itself, it is asked about.
fn may_be_a_wrapper(machine: &mut Machine<'_>, call: &Call, world: &World) {
    const TELLING: [&str; 32] = [
        "rm", "dd", "sh", "bash", "dash", "zsh", "chmod", "chown", "kill", "killall", "pkill", "reboot", "shutdown",
        "poweroff", "halt", "find", "shred", "mkfs", "mkfs.ext4", "wipefs", "sudo", "env", "python", "python3", "perl",
        "ruby", "node", "php", "xargs", "mv", "truncate", "blkdiscard",
    ];
    let frame = machine.frame("maybe");
    let before = machine.findings.len();
    for (at, arg) in call.args.iter().enumerate() {
        if let Some(text) = text_of_option(call, at).and_then(|value| value.text.as_known())
            && chiton_shell::parse(text.as_bytes()).is_ok()
        {
            machine.frames.push(frame.clone());
            machine.script(&text, world.clone(), &call.input, arg.span);
            machine.frames.pop();
        }
        let name = crate::machine::command::program_name(&arg.text).unwrap_or_default();
        if TELLING.contains(&name.as_str()) && machine.frames.len() < crate::machine::DEEPEST_CALLS / 2 {
            let mut words = call.args[at..].to_vec();
            // `daemon --exec rm -- -rf x`.
            if words.get(1).is_some_and(|word| word.text.is("--")) {
                words.remove(1);
            }
            machine.frames.push(frame.clone());
            machine.invoke(&words, world.clone(), &call.input, call.span);
            machine.frames.pop();
            break;
        }
    }
    let found = machine.findings.split_off(before);
    for mut finding in found.into_iter().filter(|finding| finding.decision == Decision::Deny) {
        finding.decision = Decision::Ask;
        finding.reason = format!("If `{}` runs what it is given: {}", call.name, finding.reason);
        machine.findings.push(finding);
    }
}

/// The value of an option whose name says that it is a command: `--pre-command=text`, `--exec text`.
fn text_of_option(call: &Call, at: usize) -> Option<Arg> {
    const PARTS: [&str; 18] = [
        "exec", "command", "cmd", "hook", "script", "shell", "pager", "editor", "eval", "invoke", "wrapper", "filter",
        "launcher", "handler", "helper", "program", "action", "run",
    ];
    let arg = &call.args[at];
    let start = arg.text.known_start();
    let name = start.split('=').next().unwrap_or_default();
    let tells = matches!(name, "-c" | "-x")
        || name.len() > 3 && name.starts_with('-') && PARTS.iter().any(|part| name.contains(part));
    if !tells {
        return None;
    }
    if start.len() > name.len() {
        Some(Arg::new(arg.text.skip(name.len() + 1), arg.span))
    } else {
        call.args.get(at + 1).cloned()
    }
}

/// A program that nobody knows and that is given a disk may write to it.
fn may_write_to_a_disk(machine: &mut Machine<'_>, call: &Call, world: &World) {
    for arg in &call.args {
        let start = arg.text.known_start();
        let skip = start.find("=/dev/").map_or(0, |at| at + 1);
        let device = arg.text.skip(skip);
        if !device.known_start().starts_with("/dev/") {
            continue;
        }
        let (writing, certainty) = (Writing::Replaces, Certainty::May);
        machine.does(Effect::Write { what: &device, writing, certainty, doing: "This may write to" }, world, arg.span);
    }
}

/// A program given by its path: if this very command wrote it, or an earlier one of the session, what is in it is judged.
fn written_program(machine: &mut Machine<'_>, call: &Call, world: &World) -> Option<Flow> {
    const SYSTEM: [&str; 4] = ["/usr/", "/bin/", "/sbin/", "/opt/"];
    if machine.files.is_empty() && machine.context.surroundings.is_none() {
        return None;
    }
    let path = call.path.shown();
    if !path.contains('/') || SYSTEM.iter().any(|place| path.starts_with(place)) {
        return None;
    }
    let content = machine.read(&call.path, world);
    let is_older = content.stretches.is_empty() && (content.text.is_none() && content.labels == Labels::FILE);
    if is_older || !call.path.is_decided() && content.stretches.is_empty() {
        return None;
    }

    let file = Arg::new(call.path.clone(), call.span);
    if let Some(text) = &content.text
        && let Some(language) = Language::of_script(text)
    {
        let code = Arg::known(text.clone(), call.span);
        if content.labels.has(Labels::RECENT) {
            machine.as_an_older_file(|machine| run_code(machine, &code, language, world, &call.input));
        } else {
            run_code(machine, &code, language, world, &call.input);
        }
        return Some(Flow::unknown());
    }
    let inner = Call { name: "bash".to_owned(), args: [vec![file], call.args.clone()].concat(), ..call.clone() };
    Some(shells::start(machine, &inner, world.clone()).flow)
}

/// Whether a program is asked for text that is made to be run: `kubectl completion bash`, `brew shellenv`.
fn prints_settings(call: &Call) -> bool {
    let verbs = ["completion", "completions", "shellenv", "hook", "docker-env", "podman-env", "activate"];
    let own = !matches!(call.name.as_str(), "echo" | "cat" | "curl" | "wget" | "ssh" | "printf");
    own && call.args.iter().take(3).any(|arg| verbs.iter().any(|verb| arg.text.is(verb)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn no_name_has_two_rows() {
        let mut seen = HashMap::new();
        for row in ROWS.iter().copied().flatten() {
            for name in row.names {
                assert_eq!(seen.insert(*name, row.names[0]), None, "{name}");
            }
        }
    }
}
