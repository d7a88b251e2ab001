//! `chiton wait`: until a command ends, says something, listens on a port, or falls silent.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use chiton_engine::limits::LONGEST;
use chiton_engine::tasks::{Cursor, Filter, Followed, Part, ReadRequest, WaitFor, WaitReason, Waited, WantedPort};
use chiton_engine::{Outcome, Signal, Task, Tasks};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use serde_json::json;

use crate::duration::duration;
use crate::messages::{put, remark, say};
use crate::on_arguments::OnArguments;

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
  chiton wait --idle 2s shell_1a                           until it has been silent for 2 s
  chiton wait --each 'error|warn' shell_1a                 print each such line until it has ended")]
pub(crate) struct WaitArguments {
    /// The command's id, or a beginning of it that no other has
    #[arg(add = ArgValueCandidates::new(crate::known_ids))]
    id: String,
    /// Until a line of its output matches; one that is there already counts, unless --new or --since says otherwise
    #[arg(long = "for", value_name = "REGEX")]
    pattern: Option<String>,
    /// Print each line that matches from now on, until it has ended. When they come too fast, the latest ones, and how many
    /// there were in between. With --since, lines after so many bytes count too
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["pattern", "new", "idle", "bytes", "input", "screen", "port"])]
    each: Option<String>,
    /// With --for and --bytes: only what it prints from now on counts
    #[arg(long)]
    new: bool,
    /// With --for, --each and --bytes: only what it prints after this many bytes counts
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
    /// Print one JSON object: why the wait ended, and the command as `chiton ps --json` has it
    #[arg(long, conflicts_with = "each")]
    json: bool,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

pub(crate) async fn wait(arguments: WaitArguments, state: &Path) -> Result<ExitCode> {
    if let Some(pattern) = &arguments.each {
        return print_each(pattern, &arguments, &Tasks::new(state)).await;
    }
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
    if arguments.json {
        return Ok(as_json(&waited));
    }
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
        WaitReason::Bytes | WaitReason::Watched | WaitReason::Released => ExitCode::SUCCESS,
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
            if let Some(about) = waited.about_port {
                remark(&about);
            }
            ended(&waited.task)
        }
    })
}

/// Tells machines why the wait ended. The exit code is the same as in words.
fn as_json(waited: &Waited) -> ExitCode {
    let (reason, what, code) = match &waited.reason {
        WaitReason::Matched(line) => ("matched", Some(line.clone()), ExitCode::SUCCESS),
        WaitReason::Idle => ("idle", None, ExitCode::SUCCESS),
        WaitReason::Listening(socket) => ("listening", Some(socket.name.to_string()), ExitCode::SUCCESS),
        WaitReason::Bytes => ("bytes", None, ExitCode::SUCCESS),
        WaitReason::Watched => ("watched", None, ExitCode::SUCCESS),
        WaitReason::Released => ("released", None, ExitCode::SUCCESS),
        WaitReason::Input(wait) => ("input", Some(wait.prompt.clone()), ExitCode::SUCCESS),
        WaitReason::TimedOut => ("timed_out", None, ExitCode::from(124)),
        WaitReason::Ended => {
            let outcome = waited.task.outcome.clone().unwrap_or(Outcome::Lost);
            ("ended", None, crate::run::exit_code(&outcome, Signal::KILL.number()))
        }
    };
    say!("{}", json!({"reason": reason, "what": what, "command": crate::ps::as_json(&waited.task)}));
    code
}

/// How it ended, as an exit code, and in words where that says too little.
fn ended(task: &Task) -> ExitCode {
    let outcome = task.outcome.clone().unwrap_or(Outcome::Lost);
    if !matches!(outcome, Outcome::Exited(_)) {
        remark(&format!("{} {outcome}", task.id));
    }
    crate::run::exit_code(&outcome, Signal::KILL.number())
}

/// Prints each line that matches until the command has ended or the time is over.
async fn print_each(pattern: &str, arguments: &WaitArguments, tasks: &Tasks) -> Result<ExitCode> {
    let link = tasks.open(&arguments.id).await?;
    let task = link.task()?;
    if !task.status.is_running() {
        print_matches(&task, pattern, arguments.since)?;
        return Ok(ended(&task));
    }

    let mut follow = link.follow(pattern, arguments.since).await?;
    let time_is_over = tokio::time::sleep(arguments.timeout.unwrap_or(LONGEST).min(LONGEST));
    tokio::pin!(time_is_over);
    loop {
        let followed = tokio::select! {
            followed = follow.next() => followed?,
            () = &mut time_is_over => {
                remark(&format!("{} is still running", task.id));
                return Ok(ExitCode::from(124));
            }
        };
        match followed {
            Followed::Ended(task) => return Ok(ended(&task)),
            Followed::Matched { passed, lines } => {
                if passed > 0 {
                    say!("[{passed} more lines matched]");
                }
                for line in lines {
                    say!("{}", line.text);
                }
            }
        }
    }
}

/// Prints the lines of a command that has ended; without a place, there is nothing new.
fn print_matches(task: &Task, pattern: &str, since: Option<u64>) -> Result<()> {
    let filter = Some(Filter::new(pattern)?);
    if let Some(since) = since {
        let request = ReadRequest { part: Part::Bytes(since..u64::MAX), filter, ..ReadRequest::default() };
        put(format_args!("{}", task.read(&mut Cursor::default(), &request)?.to_text()));
    }
    Ok(())
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
