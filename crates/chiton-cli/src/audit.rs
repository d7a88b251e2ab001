//! `chiton audit`: the journal of every call.

mod export;
pub(crate) mod otlp;
mod tokens;

use std::io::{IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use chiton_engine::audit::lost::note_lost;
use chiton_engine::audit::read::{self, Tampered, Verified};
use chiton_engine::audit::{AuditConfig, AuditEntry, AuditEvent, AuditLine, Journal};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;

use crate::duration::duration;
use crate::messages::{complain, remark, say};
use crate::settings::Settings;
use crate::surroundings;
use crate::table;

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
  chiton audit --outcome refused -f    what was refused, and what will be
  chiton audit --tokens --since 1d     which programs printed most, and how much of it was in replies
  chiton audit send                    to an OpenTelemetry collector, where [audit] otlp names one
  chiton audit export --format csv     one row for each command"
)]
pub(crate) struct AuditArguments {
    #[command(subcommand)]
    verb: Option<AuditVerb>,
    /// Of this session only
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(crate::session::known_sessions))]
    session: Option<String>,
    /// Not older than this: 10m, 2h, 3d
    #[arg(long, value_name = "TIME", value_parser = span)]
    since: Option<Duration>,
    #[arg(
        long,
        value_name = "WORD",
        value_parser = PossibleValuesParser::new(OUTCOMES),
        hide_possible_values = true,
        help = "With this outcome only: exited, timed_out, killed, refused, failed …; or failure, for all but exit code 0"
    )]
    outcome: Option<String>,
    /// As it stands in the journal
    #[arg(long)]
    json: bool,
    /// Go on with what is added, until interrupted
    #[arg(long, short)]
    follow: bool,
    /// By program: how often it ran, bytes that it printed, bytes of the replies about it
    #[arg(long, conflicts_with_all = ["follow", "outcome"])]
    tokens: bool,
}

#[derive(Subcommand)]
enum AuditVerb {
    /// Find out whether anything was changed
    Verify,
    /// Send what waits to the receiver of OpenTelemetry logs that the settings name
    Send {
        /// Go on with what is added, until interrupted
        #[arg(long, short)]
        follow: bool,
    },
    Export(export::ExportArguments),
}

/// Every word that a line can have for how it ended, and one for all that went wrong.
const OUTCOMES: [&str; 23] = [
    "failure", "started", "exited", "signaled", "timed_out", "cancelled", "killed", "lost", "running", "refused",
    "failed", "described", "read", "written_to", "kill", "release", "signal", "attached", "replied", "not started",
    "notify_failed", "asked for again", "unknown",
];

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

/// Whether commands need the journal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JournalNeed {
    /// A command runs without it, and its reply says so.
    Wanted,
    /// What cannot be written down is not run.
    Required,
}

/// The journal that the engine writes; `what` names the caller in it.
pub(crate) fn journal(state: &Path, what: &str, needed: JournalNeed) -> Journal {
    let who = format!("{what} (uid {}, pid {})", rustix::process::geteuid().as_raw(), std::process::id());
    let config = AuditConfig { required: needed == JournalNeed::Required, ..AuditConfig::default() };
    let journal = Journal::new(folder(state), config, who);
    match surroundings::data_directory() {
        // Not in the state directory, so it stays when that is removed.
        Some(data) => journal.with_witness_in(&data.join("journals")),
        None => journal,
    }
}

/// Writes down what somebody does to a task from the command line.
pub(crate) fn note_task(settings: &Settings, state: &Path, verb: &str, what: &str, id: &str) {
    if settings.audit.off {
        return;
    }
    let mut entry = AuditEntry::new(AuditEvent::Task);
    (entry.run, entry.outcome) = (Some(id.to_owned()), Some(what.to_owned()));
    if let Err(error) = journal(state, verb, JournalNeed::Wanted).append(entry) {
        remark(&format!("this is not in the audit journal, which cannot be written: {error}"));
    }
}

/// What is wrong with the journal of this state directory, for `chiton doctor`.
pub(crate) fn problem(state: &Path) -> Option<String> {
    let journal = journal(state, "doctor", JournalNeed::Wanted);
    if std::fs::symlink_metadata(journal.folder()).is_ok()
        && let Err(error) = journal.try_open()
    {
        return Some(format!("the audit journal cannot be written: {error}"));
    }
    check(&journal, state).err().map(|tampered| format!("the audit journal is not whole: {}", in_words(&tampered)))
}

pub(crate) fn audit(arguments: &AuditArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    let journal = journal(state, "audit", JournalNeed::Wanted);
    let folder = journal.folder().to_owned();
    if let Some(AuditVerb::Verify) = arguments.verb {
        return verify(&journal, state);
    }
    if !settings.audit.off && std::fs::symlink_metadata(&folder).is_ok() {
        // Nobody but us may ever notice that a keeper was killed.
        note_lost(state, &journal);
    }
    match &arguments.verb {
        Some(AuditVerb::Send { follow }) => return otlp::send(settings, state, *follow),
        Some(AuditVerb::Export(wanted)) => return export::export(wanted, &folder),
        Some(AuditVerb::Verify) | None => {}
    }
    if arguments.tokens {
        return tokens::print(arguments, &folder);
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
            if line.number > last && arguments.wants(line) && arguments.shows(line) {
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
    /// Whether a line is shown where nobody asks for its kind: how long a reply was is for `--tokens`.
    fn shows(&self, line: &AuditLine) -> bool {
        self.json || self.outcome.is_some() || line.entry.event != AuditEvent::Reply
    }

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
                AuditEvent::End => entry.exit_code != Some(0) && !matches!(outcome(line), "running" | "described"),
                AuditEvent::Input => outcome(line) == "refused",
                AuditEvent::Run | AuditEvent::Task | AuditEvent::Reply => false,
            },
            wanted => outcome(line) == wanted || outcome(line).split(' ').next() == Some(wanted),
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
        (None, AuditEvent::Reply) => "replied",
        (None, _) => "started",
    }
}

fn as_text(line: &AuditLine, for_people: bool) -> String {
    let entry = &line.entry;
    let at = time(line.at_ms);
    let code = entry.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
    let run = entry.run.as_deref().unwrap_or("–");
    let mut what = entry.command.clone().or_else(|| entry.text.clone()).unwrap_or_default();
    if let Some(ms) = entry.duration_ms.filter(|_| what.is_empty()) {
        what = format!("after {}", table::span(Duration::from_millis(ms)));
    }
    let says_why = matches!(entry.event, AuditEvent::Refused | AuditEvent::Failed) || entry.rule.is_some();
    if let Some(why) = entry.verdict.as_ref().filter(|_| says_why) {
        what = format!("{} ({why})", what.trim_end());
    }
    if for_people {
        what = what.replace('\n', "\\n").chars().take(200).collect();
    }
    let on = entry.on.as_ref().map(|on| format!(" on {on}:")).unwrap_or_default();
    format!("{at} {run} {}{code}{on} {}", outcome(line), what.replace('\n', "\\n"))
}

fn check(journal: &Journal, state: &Path) -> Result<Verified, Tampered> {
    let verified = read::verify(journal.folder(), journal.witness())?;
    if verified.lines == 0 {
        read::verify_absence(state)?;
    }
    Ok(verified)
}

fn verify(journal: &Journal, state: &Path) -> Result<ExitCode> {
    match check(journal, state) {
        Ok(verified) if verified.lines == 0 => say!("there is no journal yet"),
        Ok(verified) => {
            let last = verified.first + verified.lines - 1;
            say!("records {} to {last}: each follows from the one before", verified.first);
        }
        Err(error @ Tampered::Unreadable { .. }) => bail!(error),
        Err(error) => {
            complain(&in_words(&error));
            if let (Tampered::Removed { .. }, Some(witness)) = (&error, journal.witness()) {
                let (folder, witness) = (journal.folder().display(), witness.display());
                remark(&format!("if that was you, remove {folder} and {witness}; the journal then begins anew"));
            }
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What is wrong, and since when.
fn in_words(tampered: &Tampered) -> String {
    match tampered {
        Tampered::Removed { since_ms, until_ms, .. } if *since_ms > 0 => {
            format!("{tampered}; they were written from {} to {}", time(*since_ms), time(*until_ms))
        }
        Tampered::Gone { since_ms } => format!("{tampered}; the oldest of them started at {}", time(*since_ms)),
        other => other.to_string(),
    }
}

fn time(ms: u64) -> String {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(ms).unwrap_or(i64::MAX));
    at.map_or_else(|_| ms.to_string(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_another_machine_names_it() {
        let mut entry = AuditEntry::new(AuditEvent::Run);
        (entry.run, entry.command) = (Some("shell_0000abcd".to_owned()), Some("make".to_owned()));
        let line = |entry: &AuditEntry| {
            let line = AuditLine { number: 1, at_ms: 0, previous: String::new(), entry: entry.clone() };
            as_text(&line, false)
        };
        assert_eq!(line(&entry), "1970-01-01T00:00:00.000Z shell_0000abcd started make");
        entry.on = Some("build".to_owned());
        assert_eq!(line(&entry), "1970-01-01T00:00:00.000Z shell_0000abcd started on build: make");
    }
}
