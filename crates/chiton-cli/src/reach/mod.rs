//! `--on TARGET`: the same verbs on other machines.
//!
//! 1. [`wanted`] finds out whether a verb is meant for another machine.
//! 2. [`connect`] reaches it. There, the same program runs the same verb.
//! 3. `forward.rs` joins our streams to those of the verb over there; `run.rs`, `fleet.rs` and `server.rs` do more for the
//!    verbs that run commands: these are judged here first, and secrets are looked up here.

mod doctor;
mod facts;
mod fleet;
mod forward;
pub(crate) mod host;
mod judge;
mod lines;
pub(crate) mod machines;
pub(crate) mod relay;
mod run;
mod server;
pub(crate) mod sessions;
pub(crate) mod target;
pub(crate) mod terminal;

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use chiton_operator::NamedSessions;
use chiton_reach::near::Change;
use chiton_reach::target::HERE;
use chiton_reach::{Near, NearOptions, Programs, Target};

use crate::Verb;
use crate::messages::remark;
use crate::on_arguments::{OnArguments, RunOnArguments};
use crate::settings::Settings;
use facts::Facts;

/// The other machines that a verb is meant for.
#[derive(Debug)]
pub(crate) struct There {
    names: Vec<String>,
    each: bool,
    at_most: Option<usize>,
}

/// Where `verb` is to be done, where that is not here.
pub(crate) fn wanted(verb: &Verb, settings: &Settings, state: &Result<PathBuf>) -> Result<Option<There>> {
    let given = match verb {
        Verb::Run(arguments) => {
            let RunOnArguments { on, each, at_most } = &arguments.on;
            let mut names = on.clone();
            // A session has a home.
            if let (true, Some(session), Ok(state)) = (names.is_empty(), arguments.session(), state) {
                names.extend(NamedSessions::new(state).home(session)?);
            }
            There { names, each: *each, at_most: *at_most }
        }
        Verb::Ps(arguments) => one(&arguments.on),
        Verb::Logs(arguments) => one(&arguments.on),
        Verb::Wait(arguments) => one(&arguments.on),
        Verb::Send(arguments) => one(&arguments.on),
        Verb::Attach(arguments) => one(&arguments.on),
        Verb::Export(arguments) => one(&arguments.on),
        Verb::Kill(arguments) => one(&arguments.on),
        Verb::Mcp(arguments) => one(&arguments.on),
        Verb::Doctor(arguments) => one(&arguments.on),
        _ => return Ok(None),
    };
    let mut there = given;
    // Whoever asks how this machine is means this one.
    if there.names.is_empty() && !matches!(verb, Verb::Doctor(_)) {
        there.names.extend(settings.on.clone());
    }
    if there.names.iter().any(|name| name == HERE) {
        ensure!(there.names.len() == 1, "--on {HERE} is this machine; it cannot be named together with others");
        return Ok(None);
    }
    Ok((!there.names.is_empty()).then_some(there))
}

fn one(arguments: &OnArguments) -> There {
    There { names: arguments.on.clone().into_iter().collect(), each: false, at_most: None }
}

/// Does a verb elsewhere.
pub(crate) fn go(there: &There, verb: &Verb, settings: &Settings, state: &Path) -> Result<ExitCode> {
    if let Verb::Run(arguments) = verb {
        return run::run(there, arguments, settings, state);
    }
    let [name] = &there.names[..] else { anyhow::bail!("this verb takes one target") };
    let target = Target::named(name, &settings.target)?;
    crate::on_runtime(async {
        match verb {
            Verb::Doctor(arguments) => doctor::doctor(target, arguments, settings).await,
            Verb::Mcp(arguments) => server::serve(target, arguments, settings, state).await,
            Verb::Attach(_) => forward::verb(target, settings, forward::Streams::Terminal, None).await,
            Verb::Export(arguments) => {
                forward::verb(target, settings, forward::Streams::Output, arguments.output()).await
            }
            _ => forward::verb(target, settings, forward::Streams::Output, None).await,
        }
    })
}

/// Reaches a target, and tells a person what happens to the connection.
pub(crate) async fn connect(target: Target, settings: &Settings) -> Result<(Near, Facts)> {
    let name = target.name.clone();
    let told = move |change: &Change| match change {
        Change::Carrying(bytes) => remark(&format!("carrying chiton to {name}, {}", megabytes(*bytes))),
        Change::Lost(why) => remark(&format!("the connection to {name} is lost ({why}); trying again")),
        Change::Back(_) => {}
    };
    let near = Near::connect(target, options(settings, Arc::new(told))?).await?;
    let facts = Facts::read(&near)?;
    Ok((near, facts))
}

fn megabytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
    let millions = bytes as f64 / 1e6;
    format!("{millions:.1} MB")
}

/// What can be carried, and who is there to be asked.
fn options(settings: &Settings, tell: Arc<dyn Fn(&Change) + Send + Sync>) -> Result<NearOptions> {
    let attended = io::stdin().is_terminal() && io::stderr().is_terminal();
    let programs = Programs::find(&folders(settings)).context("there is no program that could be carried")?;
    Ok(NearOptions { programs: Arc::new(programs), attended, tell })
}

/// Where programs for other machines are: what the settings say, beside this one, and where packages put them.
fn folders(settings: &Settings) -> Vec<PathBuf> {
    let own = env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned));
    let beside = own.into_iter().flat_map(|folder| [folder.join("../libexec/chiton"), folder]);
    settings.carry.clone().into_iter().chain(beside).collect()
}

/// The arguments of this process, as those of a verb over there: `--far` says that what they say of places on this machine
/// is not meant.
fn forwarded(facts: &Facts) -> Vec<Vec<u8>> {
    forwarded_of(env::args_os().skip(1).map(OsString::into_vec), facts)
}

/// Options, with a value, that are about this machine. How commands are judged over there is for the settings there to say.
const NOT_FORWARDED: [&[u8]; 11] = [
    b"--on", b"--at-most", b"--config", b"--state-dir", b"--secrets-dir", b"--secret-env", b"--secret-command",
    b"--stdin", b"--file", b"--output", b"--guard",
];

/// The same of these arguments.
fn forwarded_of(words: impl Iterator<Item = Vec<u8>>, facts: &Facts) -> Vec<Vec<u8>> {
    let mut all = vec![b"--far".to_vec(), facts.state.as_os_str().as_bytes().to_vec()];
    let mut words = words;
    while let Some(word) = words.next() {
        // The value of an option may stand in the same word: --output=FILE, -oFILE.
        let (option, has_value) = match word.iter().position(|byte| *byte == b'=') {
            Some(place) => (&word[..place], true),
            None if word.starts_with(b"-o") => (&b"--output"[..], word.len() > 2),
            None => (&word[..], false),
        };
        if option == b"--" {
            // What follows are no options, whatever it looks like.
            all.push(word);
            all.extend(words);
            break;
        }
        if NOT_FORWARDED.contains(&option) {
            if !has_value {
                words.next();
            }
        } else if option != b"--each" {
            all.push(word);
        }
    }
    all
}

/// Says how long the connection was lost, where it was.
fn tell_loss(near: &Near) {
    if let Some(loss) = near.take_loss() {
        remark(&format!("the connection to {} was {loss}", near.target().name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_this_machine_stays_here() {
        let facts = Facts::default();
        for (given, expected) in [
            ("ps --on build --all", "ps --all"),
            ("--state-dir /x ps --on=build --config=/y --json", "ps --json"),
            ("export -o cast shell_1 --on build", "export shell_1"),
            ("export -ocast shell_1", "export shell_1"),
            ("export --output=cast shell_1", "export shell_1"),
            ("run --each --at-most 3 --timeout 5s --guard off --secret-env A=B", "run --timeout 5s"),
            ("send --on build shell_1 -- --on -o --guard", "send shell_1 -- --on -o --guard"),
        ] {
            let words = given.split(' ').map(|word| word.as_bytes().to_vec());
            let forwarded = forwarded_of(words, &facts);
            let text: Vec<_> = forwarded[2..].iter().map(|word| String::from_utf8_lossy(word)).collect();
            assert_eq!(text.join(" "), expected, "{given}");
        }
    }
}
