//! `chiton audit`: the journal of every call.

use std::io::{IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use chiton_engine::audit::read::{self, Tampered};
use chiton_engine::audit::{AuditConfig, AuditEvent, AuditLine, Journal};
use clap::{Args, Subcommand};

use crate::duration::duration;
use crate::messages::complain;

/// Read the journal of every call
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Each line of the journal carries the hash of the one before; `chiton audit verify` goes through them all. Values of
secrets are not in it: commands stand there as they were written, with their tokens.

Examples:
  chiton audit --since 1h              the last hour
  chiton audit --session api --json    everything about one session, as it stands in the journal
  chiton audit --outcome refused -f    what was refused, and what will be"
)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    verb: Option<AuditVerb>,
    /// Of this session only
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Not older than this: 10m, 2h, 3d
    #[arg(long, value_name = "TIME", value_parser = span)]
    since: Option<Duration>,
    #[arg(
        long,
        value_name = "WORD",
        help = "With this outcome only: exited, timed_out, killed, refused, failed …; or failure, for all but exit code 0"
    )]
    outcome: Option<String>,
    /// As it stands in the journal
    #[arg(long)]
    json: bool,
    /// Go on with what is added, until interrupted
    #[arg(long, short)]
    follow: bool,
}

#[derive(Subcommand)]
enum AuditVerb {
    /// Find out whether anything was changed
    Verify,
}

fn span(text: &str) -> Result<Duration> {
    match text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()) {
        Some(days) => Ok(Duration::from_hours(24) * days),
        None => duration(text),
    }
}

/// Where the journal of this state directory is.
fn folder(state: &Path) -> PathBuf {
    state.join("audit")
}

/// The journal that the engine writes; `what` is said of who asked.
pub(crate) fn journal(state: &Path, what: &str) -> Journal {
    let who = format!("{what} (uid {}, pid {})", rustix::process::geteuid().as_raw(), std::process::id());
    Journal::new(folder(state), AuditConfig::default(), who)
}

pub(crate) fn audit(arguments: &AuditArguments, state: &Path) -> Result<ExitCode> {
    let folder = folder(state);
    if let Some(AuditVerb::Verify) = arguments.verb {
        return verify(&folder);
    }
    let (mut last, mut seen) = (0, None);
    loop {
        let now = std::fs::metadata(folder.join("journal.jsonl")).ok().map(|data| (data.ino(), data.len()));
        if arguments.follow && seen.is_some() && seen == now {
            std::thread::sleep(Duration::from_millis(200));
            continue;
        }
        seen = now;
        let mut found = Vec::new();
        read::lines(&folder, |text, line| {
            if line.number > last && arguments.wants(line) {
                found.push((text.to_owned(), line.clone()));
            }
            last = last.max(line.number);
        })?;
        let mut stdout = std::io::stdout().lock();
        for (text, line) in found {
            let shown = if arguments.json { text } else { as_text(&line, stdout.is_terminal()) };
            if writeln!(stdout, "{shown}").is_err() {
                return Ok(ExitCode::SUCCESS);
            }
        }
        stdout.flush()?;
        drop(stdout);
        if !arguments.follow {
            return Ok(ExitCode::SUCCESS);
        }
        if seen.is_none() {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl AuditArguments {
    fn wants(&self, line: &AuditLine) -> bool {
        let entry = &line.entry;
        let named = self.session.as_ref().is_none_or(|name| entry.session.as_ref() == Some(name));
        let recent = self.since.is_none_or(|since| {
            let oldest = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(since);
            u128::from(line.at_ms) >= oldest.as_millis()
        });
        let ended = self.outcome.as_deref().is_none_or(|wanted| match wanted {
            "failure" => match entry.event {
                AuditEvent::Refused | AuditEvent::Failed => true,
                AuditEvent::End => entry.exit_code != Some(0),
                AuditEvent::Run | AuditEvent::Task => false,
            },
            wanted => outcome(line) == wanted,
        });
        named && recent && ended
    }
}

/// One word for how it ended.
fn outcome(line: &AuditLine) -> &str {
    match (&line.entry.outcome, line.entry.event) {
        (Some(outcome), _) => outcome,
        (None, AuditEvent::Refused) => "refused",
        (None, AuditEvent::Failed) => "failed",
        (None, _) => "started",
    }
}

fn as_text(line: &AuditLine, for_people: bool) -> String {
    let entry = &line.entry;
    let at = jiff::Timestamp::from_millisecond(i64::try_from(line.at_ms).unwrap_or(i64::MAX));
    let at = at.map_or_else(|_| line.at_ms.to_string(), |at| format!("{at:.3}"));
    let code = entry.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
    let run = entry.run.as_deref().unwrap_or("–");
    let mut what =
        entry.command.clone().or_else(|| entry.duration_ms.map(|ms| format!("after {ms} ms"))).unwrap_or_default();
    if let (Some(why), AuditEvent::Refused | AuditEvent::Failed) = (&entry.verdict, entry.event) {
        what = format!("{what} ({why})");
    }
    if for_people {
        what = what.replace('\n', "\\n").chars().take(200).collect();
    }
    format!("{at} {run} {}{code} {}", outcome(line), what.replace('\n', "\\n"))
}

fn verify(folder: &Path) -> Result<ExitCode> {
    match read::verify(folder) {
        Ok(verified) if verified.lines == 0 => println!("there is no journal yet"),
        Ok(verified) => {
            let last = verified.first + verified.lines - 1;
            println!("records {} to {last}: each follows from the one before", verified.first);
        }
        Err(error @ Tampered::Unreadable { .. }) => bail!(error),
        Err(error) => {
            complain(&error.to_string());
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
