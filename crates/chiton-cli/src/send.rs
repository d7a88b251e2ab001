//! `chiton send`: text, the end of input, or a signal for a running command.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use chiton_engine::limits::WarmLimits;
use chiton_engine::machine;
use chiton_engine::tasks::SendError;
use chiton_engine::{Engine, EngineConfig, Session, Signal, Typing};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use crate::audit::{self, JournalNeed};
use crate::guard_arguments::GuardArguments;
use crate::near::NearArguments;
use crate::on_arguments::OnArguments;
use crate::settings::Settings;
use crate::surroundings;

/// Write to a running command, end its input, or send it a signal
#[derive(Args)]
#[command(after_help = "\
Text can be sent to a command that was started with `chiton run --background --open-stdin`; any other reads the end of
its input at once. What completes a line is judged like a command, by the program that reads it, and stands in the
journal. A signal goes to the command's whole process group.

Examples:
  chiton send shell_1a2b3c4d yes             the word and a newline
  chiton send --eof shell_1a                 nothing more will come
  chiton send --keys 'down enter' shell_1a    keys, to a command in a terminal
  chiton send --signal INT shell_1a          as Ctrl-C would")]
pub(crate) struct SendArguments {
    /// The command's id, or a beginning of it that no other has
    #[arg(add = ArgValueCandidates::new(crate::known_ids))]
    id: String,
    /// The text; a newline is added
    text: Option<OsString>,
    /// Add no newline
    #[arg(long, short = 'n', requires = "text")]
    no_newline: bool,
    /// End its input, after the text if there is one
    #[arg(long)]
    eof: bool,
    /// Press keys, after the text if there is one: enter, ctrl-c, up, f1, alt-x …; only in a terminal (--pty)
    #[arg(long, value_name = "NAMES")]
    keys: Option<String>,
    #[command(flatten)]
    near: NearArguments,
    /// Send a signal: INT, TERM, HUP, USR1, or a number
    #[arg(long, value_name = "NAME", value_parser = signal)]
    signal: Option<Signal>,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

fn signal(text: &str) -> Result<Signal> {
    Signal::parse(text).ok_or_else(|| anyhow!("there is no signal of this name; `kill -l` lists them"))
}

pub(crate) async fn send(arguments: SendArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    if arguments.text.is_none() && arguments.keys.is_none() && !arguments.eof && arguments.signal.is_none() {
        bail!("nothing to send: give a text, --keys NAMES, --eof or --signal NAME");
    }
    let near = arguments.near.read()?;
    let engine = engine(settings, state, "send")?;
    engine.give_secrets(near.map(|near| near.secrets).unwrap_or_default());
    let directory = surroundings::working_directory()?;
    let session = Session::new(engine.fresh_state(directory, surroundings::environment(), machine::umask()));
    let id = engine.tasks().get(&arguments.id)?.id;
    if let Some(text) = arguments.text {
        let mut bytes = text.into_vec();
        if !arguments.no_newline {
            bytes.push(b'\n');
        }
        engine.write_to(&session, &id, bytes).await.map_err(with_way_out)?;
    }
    if let Some(names) = arguments.keys {
        engine.type_into(&session, &id, Typing::Keys(names)).await?;
    }
    if arguments.eof {
        engine.end_input_of(&session, &id).await.map_err(with_way_out)?;
    }
    if let Some(signal) = arguments.signal {
        engine.tasks().signal(&id, signal).await?;
        engine.note_task(&session, &format!("signal {signal}"), &id);
    }
    Ok(ExitCode::SUCCESS)
}

fn with_way_out(error: SendError) -> anyhow::Error {
    match error {
        error @ SendError::InputClosed { .. } => anyhow!("{error}; start it with --open-stdin, or with --pty"),
        error => error.into(),
    }
}

/// An engine that judges what is sent and writes it down, and runs nothing; `verb` names the caller in the journal.
pub(crate) fn engine(settings: &Settings, state: &Path, verb: &str) -> Result<Engine> {
    let mut config = EngineConfig::new(state)?;
    config.limits.warm = WarmLimits::none();
    config.guard = GuardArguments::default().guard(settings, &surroundings::working_directory()?, state)?;
    let needed = if settings.audit.required { JournalNeed::Required } else { JournalNeed::Wanted };
    config.audit = (!settings.audit.off).then(|| audit::journal(state, verb, needed));
    Ok(Engine::new(config)?)
}
