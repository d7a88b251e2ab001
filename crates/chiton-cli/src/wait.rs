//! `chiton wait`: until a command ends, says something, listens on a port, or falls silent.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use chiton_engine::tasks::{WaitFor, WaitReason, WantedPort};
use chiton_engine::{Outcome, Signal, Tasks};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use crate::duration::duration;
use crate::messages::{remark, say};

/// Wait until a command ends, prints something, listens on a port, or is silent
#[derive(Args)]
#[command(after_help = "\
Whatever comes first ends the wait. Exit code: that of the command when it has ended, 0 for a match, a port or silence,
124 when the time is over.

Examples:
  chiton wait shell_1a2b3c4d                               until it has ended
  chiton wait --for 'listening on' --timeout 30s shell_1a  until the server is up
  chiton wait --port 3000 --timeout 30s shell_1a           until it listens on port 3000
  chiton wait --new --for compiled shell_1a                until it is compiled once more
  chiton wait --idle 2s shell_1a                           until it has been silent for 2 s")]
pub(crate) struct WaitArguments {
    /// The command's id, or a beginning of it that no other has
    #[arg(add = ArgValueCandidates::new(crate::known_ids))]
    id: String,
    /// Until a line of its output matches; one that is there already counts, unless --new or --since says otherwise
    #[arg(long = "for", value_name = "REGEX")]
    pattern: Option<String>,
    /// With --for and --bytes: only what it prints from now on counts
    #[arg(long)]
    new: bool,
    /// With --for and --bytes: only what it prints after this many bytes counts
    #[arg(long, value_name = "BYTES", conflicts_with = "new")]
    since: Option<u64>,
    /// Until it has printed nothing for this long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    idle: Option<Duration>,
    /// Until it has printed this many bytes
    #[arg(long, value_name = "BYTES")]
    bytes: Option<u64>,
    /// Until one of its processes listens on this port; 'any': on whichever
    #[arg(long, value_name = "PORT", value_parser = wanted_port)]
    port: Option<WantedPort>,
    /// Until it waits for somebody to type; only in a terminal (--pty)
    #[arg(long)]
    input: bool,
    /// Until a line of its screen matches; only in a terminal (--pty)
    #[arg(long, value_name = "REGEX")]
    screen: Option<String>,
    /// At most this long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
}

pub(crate) async fn wait(arguments: WaitArguments, state: &Path) -> Result<ExitCode> {
    let pattern = arguments.pattern.as_deref().map(regex::bytes::Regex::new).transpose();
    let pattern = pattern.with_context(|| format!("--for {}", arguments.pattern.unwrap_or_default()))?;
    let screen = arguments.screen.as_deref().map(regex::bytes::Regex::new).transpose();
    let tasks = Tasks::new(state);
    let since = arguments.since.or(arguments.new.then_some(u64::MAX));
    let from = since.map(|since| tasks.get(&arguments.id)?.cursor_at(since).context("--since")).transpose()?;
    let wanted = WaitFor {
        pattern,
        from: from.unwrap_or_default(),
        screen: screen.context("--screen")?,
        input: arguments.input,
        idle: arguments.idle,
        bytes: arguments.bytes,
        port: arguments.port,
        timeout: arguments.timeout,
        ..WaitFor::default()
    };
    let waited = tasks.wait(&arguments.id, wanted).await?;
    let id = &waited.task.id;
    Ok(match waited.reason {
        WaitReason::Matched(line) => {
            say!("{line}");
            ExitCode::SUCCESS
        }
        WaitReason::Idle => {
            remark(&format!("{id} is silent"));
            ExitCode::SUCCESS
        }
        WaitReason::Listening(socket) => {
            say!("{}", socket.name);
            ExitCode::SUCCESS
        }
        WaitReason::Bytes | WaitReason::Watched => ExitCode::SUCCESS,
        WaitReason::Input(wait) => {
            say!("{}", wait.prompt);
            if !wait.echo {
                remark(&format!("{id} asks for a password: `chiton attach {id}`"));
            }
            ExitCode::SUCCESS
        }
        WaitReason::TimedOut => {
            remark(&format!("{id} is still running"));
            if let Some(line) = waited.earlier {
                remark(&format!("nothing new matches; an earlier line did: {line}"));
            }
            if let Some(about) = waited.about_port {
                remark(&about);
            }
            ExitCode::from(124)
        }
        WaitReason::Ended => {
            let outcome = waited.task.outcome.unwrap_or(Outcome::Lost);
            if !matches!(outcome, Outcome::Exited(_)) {
                remark(&format!("{id} {outcome}"));
            }
            if let Some(about) = waited.about_port {
                remark(&about);
            }
            crate::run::exit_code(&outcome, Signal::KILL.number())
        }
    })
}

/// A port, or any.
fn wanted_port(text: &str) -> Result<WantedPort, String> {
    match text.parse::<u16>() {
        Ok(0) => Ok(WantedPort::Any),
        Ok(number) => Ok(WantedPort::Number(number)),
        Err(_) if text == "any" => Ok(WantedPort::Any),
        Err(_) => Err("a port is a number from 1 to 65535, or 'any'".to_owned()),
    }
}
