//! Which runs were removed, when and why, for those who ask for one of them later.
//!
//! 1. A sweep writes down what it is about to remove, in one write for all of it: whoever is killed in between has
//!    written too much, never too little, and nobody looks here for a run that is still there.
//! 2. A line holds the runs of one owner that one reason removed. A line that was cut short is skipped.
//! 3. At 1 MiB the file becomes the previous one, which takes the place of the one before. So the last tens of thousands
//!    of runs are known, and the room is bounded.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::owner::Owner;
use crate::run::Outcome;
use crate::run::id::PREFIX;

/// At this size a new file is begun.
const FILE_BYTES: u64 = 1 << 20;
/// A beginning of an id with fewer digits than this is too likely to be that of another one.
const FEWEST_DIGITS: usize = 4;

/// A run that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedRun {
    /// Its id.
    pub id: String,
    /// When.
    pub at: SystemTime,
    /// Why.
    pub why: RemovalReason,
    /// How it had ended; `None` where nobody saw that.
    pub outcome: Option<Outcome>,
    /// The client whose task it was, where it was bound to one.
    pub client: Option<String>,
    /// Whose it was; `None` where a person had started it.
    pub owner: Option<Owner>,
}

/// Why a run was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemovalReason {
    /// There were more finished runs than this.
    Number(u64),
    /// It was older than so many seconds.
    Age(u64),
    /// All of them together took more bytes than this.
    Bytes(u64),
    /// A person wanted it.
    Cleaned,
}

impl fmt::Display for RemovalReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(limit) => write!(formatter, "because more than {limit} finished runs were kept"),
            Self::Age(seconds) => write!(formatter, "because it was older than {}", span(*seconds)),
            Self::Bytes(limit) => write!(formatter, "because the kept runs took more than {} MiB", limit >> 20),
            Self::Cleaned => formatter.write_str("by `chiton clean`"),
        }
    }
}

impl fmt::Display for RemovedRun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "was removed on {} UTC {}; ", minute(self.at), self.why)?;
        match &self.outcome {
            Some(Outcome::Exited(code)) => write!(formatter, "it had ended with exit {code}"),
            Some(Outcome::Lost) | None => formatter.write_str("nobody saw how it had ended"),
            Some(outcome) => write!(formatter, "it {outcome}"),
        }
    }
}

/// A line: runs of one owner that were removed at the same time for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// Milliseconds since 1970.
    at: u64,
    why: RemovalReason,
    client: Option<String>,
    owner: Option<Owner>,
    /// The digits of the ids, and how the runs had ended.
    runs: Vec<(String, Option<Outcome>)>,
}

/// The file of the runs that were removed from a state directory.
#[derive(Clone, Debug)]
pub(crate) struct RemovedRuns {
    current: PathBuf,
    previous: PathBuf,
}

impl RemovedRuns {
    /// Of those in the folder `runs`, beside which it is.
    pub(crate) fn of(runs: &Path) -> Self {
        let file = |name| runs.with_file_name(name);
        Self { current: file("removed.jsonl"), previous: file("removed.1.jsonl") }
    }

    /// Writes down that these are being removed. Where that fails, an id will only be unknown.
    pub(crate) fn note(&self, removed: &[RemovedRun]) -> io::Result<()> {
        let mut lines: Vec<Line> = Vec::new();
        for run in removed {
            let at = u64::try_from(run.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(0);
            let entry = (run.id.trim_start_matches(PREFIX).to_owned(), run.outcome.clone());
            let same = |line: &&mut Line| (line.why, &line.client, &line.owner) == (run.why, &run.client, &run.owner);
            if let Some(line) = lines.iter_mut().find(same) {
                line.runs.push(entry);
                continue;
            }
            let (client, owner) = (run.client.clone(), run.owner.clone());
            lines.push(Line { at, why: run.why, client, owner, runs: vec![entry] });
        }
        if lines.is_empty() {
            return Ok(());
        }
        // Begun by the end of a line: what somebody could not write to its end before ends there.
        let mut text = b"\n".to_vec();
        for line in lines {
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        self.open_with_room()?.write_all(&text)
    }

    /// The file to append to. A full one becomes the previous one first; by one process, the others go on in it.
    fn open_with_room(&self) -> io::Result<File> {
        let open = || OpenOptions::new().create(true).append(true).mode(0o600).open(&self.current);
        let file = open()?;
        let data = file.metadata()?;
        if data.len() < FILE_BYTES || rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(file);
        }
        // Another process may have done it between the opening and the lock; then the current one is not full.
        if fs::metadata(&self.current).is_ok_and(|current| current.ino() == data.ino()) {
            fs::rename(&self.current, &self.previous)?;
        }
        open()
    }

    /// The one with this id, or the only one whose id begins like this.
    pub(crate) fn find(&self, id: &str) -> Option<RemovedRun> {
        let digits = id.strip_prefix(PREFIX).unwrap_or(id);
        let is_beginning =
            (FEWEST_DIGITS..=8).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_beginning {
            return None;
        }
        let found = [&self.current, &self.previous].into_iter().flat_map(|file| find_in(file, digits));
        let found: Vec<RemovedRun> = found.collect();
        let ids: BTreeSet<&str> = found.iter().map(|run| run.id.as_str()).collect();
        // Two sweeps may have written down the same one. The first of them saw it whole.
        if ids.len() == 1 { found.into_iter().next_back() } else { None }
    }
}

/// The runs in a file whose digits begin like this, the last first.
fn find_in(file: &Path, digits: &str) -> Vec<RemovedRun> {
    let text = fs::read(file).unwrap_or_default();
    let needle = format!("[\"{digits}");
    let mut found = Vec::new();
    for line in text.split(|byte| *byte == b'\n').rev() {
        if memchr::memmem::find(line, needle.as_bytes()).is_none() {
            continue;
        }
        let Ok(Line { at, why, client, owner, runs }) = serde_json::from_slice(line) else { continue };
        let at = UNIX_EPOCH + Duration::from_millis(at);
        found.extend(runs.into_iter().filter(|(known, _)| known.starts_with(digits)).map(|(known, outcome)| {
            RemovedRun {
                id: format!("{PREFIX}{known}"),
                at,
                why,
                outcome,
                client: client.clone(),
                owner: owner.clone(),
            }
        }));
    }
    found
}

/// So many seconds, as people say it.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_801 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}

/// A time to the minute, as `2026-11-16 17:03`.
fn minute(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86400, seconds % 86400);
    // Years begin in March here, so that the day that comes every four years is the last one (Howard Hinnant's
    // `civil_from_days`).
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", second / 3600, second % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, why: RemovalReason, outcome: Option<Outcome>) -> RemovedRun {
        let at = UNIX_EPOCH + Duration::from_mins(29_914_143);
        RemovedRun { id: id.to_owned(), at, why, outcome, client: None, owner: None }
    }

    #[test]
    fn it_says_when_and_why_and_how_it_had_ended() {
        let rows = [
            (
                RemovalReason::Number(1000),
                Some(Outcome::Exited(1)),
                "because more than 1000 finished runs were kept; it had ended with exit 1",
            ),
            (RemovalReason::Age(86400), Some(Outcome::TimedOut), "because it was older than 24 h; it timed out"),
            (
                RemovalReason::Bytes(4 << 30),
                Some(Outcome::Killed),
                "because the kept runs took more than 4096 MiB; it was killed",
            ),
            (RemovalReason::Cleaned, None, "by `chiton clean`; nobody saw how it had ended"),
        ];
        for (why, outcome, expected) in rows {
            assert_eq!(
                run("shell_00000001", why, outcome).to_string(),
                format!("was removed on 2026-11-16 17:03 UTC {expected}")
            );
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (1_709_251_199, "2024-02-29 23:59"),
            (1_735_689_599, "2024-12-31 23:59"),
            (4_107_542_400, "2100-03-01 00:00"),
        ] {
            assert_eq!(minute(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_line_that_was_cut_short_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let removed = RemovedRuns::of(&folder.path().join("runs"));
        let [first, second, third] = [1, 2, 3].map(|number| {
            run(&format!("shell_abc{number}0000"), RemovalReason::Cleaned, Some(Outcome::Exited(number)))
        });
        removed.note(std::slice::from_ref(&first)).unwrap();
        let whole = fs::read(&removed.current).unwrap();
        removed.note(std::slice::from_ref(&second)).unwrap();
        let both = fs::read(&removed.current).unwrap();
        for cut in whole.len()..both.len() {
            fs::write(&removed.current, &both[..cut]).unwrap();
            removed.note(std::slice::from_ref(&third)).unwrap();
            assert_eq!(removed.find("shell_abc10000"), Some(first.clone()), "cut at {cut}");
            assert_eq!(removed.find("abc3"), Some(third.clone()), "cut at {cut}");
        }
        assert_eq!(removed.find("shell_abc"), None, "too short to be one");
    }

    #[test]
    fn the_file_is_bounded_and_the_last_ten_thousand_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let removed = RemovedRuns::of(&folder.path().join("runs"));
        let sweeps = 1000;
        for sweep in 0..sweeps {
            let runs: Vec<RemovedRun> = (0..100)
                .map(|number| {
                    run(
                        &format!("shell_{:08x}", sweep * 100 + number),
                        RemovalReason::Number(1000),
                        Some(Outcome::Exited(0)),
                    )
                })
                .collect();
            removed.note(&runs).unwrap();
        }
        let size: u64 =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(size < 3 * FILE_BYTES, "{size} bytes");
        for number in (sweeps * 100 - 10_000..sweeps * 100).step_by(997) {
            assert!(removed.find(&format!("shell_{number:08x}")).is_some(), "{number}");
        }
        assert_eq!(removed.find("shell_00000000"), None, "the first are forgotten");
    }

    #[test]
    fn processes_that_begin_a_new_file_at_the_same_time_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let removed = RemovedRuns::of(&folder.path().join("runs"));
        let noted = |from: u32| {
            for number in (from..from + 30_000).step_by(100) {
                let runs: Vec<RemovedRun> = (number..number + 100)
                    .map(|number| {
                        run(&format!("shell_{number:08x}"), RemovalReason::Number(1000), Some(Outcome::Exited(0)))
                    })
                    .collect();
                removed.note(&runs).unwrap();
            }
        };
        std::thread::scope(|scope| {
            for from in [0, 0x10_0000, 0x20_0000] {
                scope.spawn(move || noted(from));
            }
        });
        for last in [29_999, 0x10_0000 + 29_999, 0x20_0000 + 29_999] {
            assert!(removed.find(&format!("shell_{last:08x}")).is_some(), "{last}");
        }
    }
}
