//! Removing finished runs, when there are too many, they are too old, or too large together.
//!
//! 1. What is in each folder says what the run is kept for ([`KeptFor`]).
//! 2. [`choose`] says which ones go: the old ones; of those that hold nothing unread, what is beyond their number; and
//!    what is beyond the bytes of all. Where there is a choice, the oldest of what was shown whole goes first, then the
//!    oldest of what was read, then the rest.
//! 3. What goes is written down ([`super::removed`]), then removed.
//!
//! Every engine on the same state directory sweeps, at any time, without asking the others. The lock on a run's folder
//! keeps them from removing what runs; a folder that somebody else removes first is not an error.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::kept_for::{EndingSummary, KeptFor, Leftovers, Marks};
use super::removed::{RemovalReason, RemovedRun, RemovedRuns};
use crate::audit::Journal;
use crate::audit::lost::note_if_lost;
use crate::folder::{ENDING, REQUEST, RunFolder};
use crate::limits::RetentionLimits;
use crate::owner::Owner;
use crate::run::id::is_id;

/// A run with this much output on disk, or more, is reason enough to add up all of them.
pub(crate) const LARGE_RUN: u64 = 1 << 20;
/// How often old runs are searched for.
const AGE_CHECK: Duration = Duration::from_mins(10);
/// When the last sweep was, and how many folders it found that the limit on the number does not count.
const MARKER: &str = ".tidied";
/// What blocks of a file system are counted in.
const BLOCK: u64 = 512;
/// More than a record has, unless its command is long.
const RECORD_BYTES: usize = 4096;

/// What a person wants to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanUp {
    /// By age and number.
    pub retention: RetentionLimits,
    /// Bytes that may be left in all.
    pub in_all: u64,
    /// Whether the limit on the number holds for runs with unread output as well.
    pub unread: UnreadRuns,
    /// Whether anything is removed.
    pub effect: CleanEffect,
}

impl CleanUp {
    /// Everything that has ended.
    pub fn everything() -> Self {
        let retention = RetentionLimits { age: Duration::MAX, finished: 0 };
        Self { retention, in_all: u64::MAX, unread: UnreadRuns::LikeOthers, effect: CleanEffect::Removes }
    }
}

/// What a sweep does with runs that hold unread output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadRuns {
    /// They go by age and bytes, and only after all others.
    Kept,
    /// They count like the others, but go last.
    LikeOthers,
}

/// Whether a clean-up does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanEffect {
    /// It removes.
    Removes,
    /// It only counts what it would remove.
    Counts,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Runs that were removed whose whole output had been in their reply.
    pub shown: usize,
    /// Runs that were removed after somebody had read them to their end.
    pub read: usize,
    /// Runs that were removed with unread output.
    pub unread: usize,
    /// Finished runs with unread output that are left.
    pub unread_left: usize,
    /// Bytes that are left, running ones included.
    pub used: u64,
}

impl Swept {
    /// Runs that were removed.
    pub fn removed(&self) -> usize {
        self.shown + self.read + self.unread
    }

    fn count(&mut self, kept_for: KeptFor) {
        *match kept_for {
            KeptFor::Shown => &mut self.shown,
            KeptFor::Read => &mut self.read,
            KeptFor::Unread => &mut self.unread,
        } += 1;
    }
}

/// Sweeps if there is reason to: a full folder, a large run, or a while since the last time.
pub(crate) fn tidy(
    runs: &Path,
    kept_bytes: u64,
    retention: RetentionLimits,
    in_all: u64,
    journal: Option<&Journal>,
) -> Option<Swept> {
    let is_run = |name: &OsStr| name.to_str().is_some_and(is_id);
    let count =
        fs::read_dir(runs).map_or(0, |entries| entries.flatten().filter(|entry| is_run(&entry.file_name())).count());
    let marker = runs.join(MARKER);
    let recent = fs::metadata(&marker)
        .and_then(|data| data.modified())
        .is_ok_and(|time| time.elapsed().is_ok_and(|age| age < AGE_CHECK));
    // What the limit does not count is no reason to sweep, however much of it there is.
    let uncounted = || fs::read_to_string(&marker).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let is_full = count > retention.finished && count > retention.finished.saturating_add(uncounted());
    if !is_full && kept_bytes < LARGE_RUN && recent {
        return None;
    }

    let mut target = retention.finished;
    if is_full {
        // A tenth more than necessary is removed, so that a full folder is not swept again after every run.
        target -= target / 10;
    }
    let rules = Rules { retention, target, in_all, unread: UnreadRuns::Kept, occasion: Occasion::Limits };
    Some(sweep(runs, rules, CleanEffect::Removes, journal))
}

/// Removes what a person wants to be removed. Running ones are never removed.
pub(crate) fn clean(runs: &Path, wanted: &CleanUp, journal: Option<&Journal>) -> Swept {
    let CleanUp { retention, in_all, unread, effect } = *wanted;
    let rules = Rules { retention, target: retention.finished, in_all, unread, occasion: Occasion::Person };
    sweep(runs, rules, effect, journal)
}

/// What a sweep goes by.
#[derive(Clone, Copy)]
struct Rules {
    retention: RetentionLimits,
    /// How many of those that the limit on the number counts are left.
    target: usize,
    in_all: u64,
    unread: UnreadRuns,
    occasion: Occasion,
}

/// Why there is a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    Limits,
    Person,
}

/// Those that were lost are noted in the journal before they can go.
fn sweep(runs: &Path, rules: Rules, effect: CleanEffect, journal: Option<&Journal>) -> Swept {
    let Ok(entries) = fs::read_dir(runs) else { return Swept::default() };
    let found: Vec<Measured> = entries.flatten().filter_map(|entry| Measured::of(&entry.path())).collect();
    let all = found.len();
    let used: u64 = found.iter().map(|run| run.bytes).sum();
    let finished: Vec<Finished> = found.into_iter().filter_map(|run| Finished::of(runs, run)).collect();
    if let Some(journal) = journal {
        finished.iter().filter(|run| run.ending.is_none()).for_each(|run| note_if_lost(&run.folder, journal));
    }

    let candidates: Vec<Candidate> = finished.iter().map(Finished::candidate).collect();
    let chosen = choose(&candidates, &rules, used, SystemTime::now());
    let unread = candidates.iter().filter(|run| run.kept_for == KeptFor::Unread).count();
    let mut swept = Swept { used, ..Swept::default() };
    if effect == CleanEffect::Removes {
        note_removed(runs, &finished, &chosen);
    }
    for (index, _) in &chosen {
        if effect == CleanEffect::Counts || finished[*index].folder.remove() {
            swept.count(candidates[*index].kept_for);
            swept.used -= candidates[*index].bytes;
        }
    }
    swept.unread_left = unread - swept.unread;

    if effect == CleanEffect::Removes {
        let counted = finished.len() - unread;
        let text = (all - counted - swept.unread).to_string();
        // Another process that reads it just when it is empty sweeps once more.
        let marker = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(runs.join(MARKER));
        let _ = marker.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    }
    swept
}

/// Writes down which runs are about to go.
fn note_removed(runs: &Path, finished: &[Finished], chosen: &[(usize, RemovalReason)]) {
    let now = SystemTime::now();
    let removed: Vec<RemovedRun> =
        chosen.iter().filter_map(|(index, why)| finished[*index].as_removed(now, *why)).collect();
    // Where it cannot be written, as on a full disk, they go all the same: that is what makes room.
    let _ = RemovedRuns::of(runs).note(&removed);
}

/// What decides about a finished run.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    kept_for: KeptFor,
    changed: SystemTime,
    bytes: u64,
}

/// Which of the finished runs go, and why. `used` is what all runs take.
fn choose(runs: &[Candidate], rules: &Rules, used: u64, now: SystemTime) -> Vec<(usize, RemovalReason)> {
    let said = |reason| if rules.occasion == Occasion::Person { RemovalReason::Cleaned } else { reason };
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|index| (runs[*index].kept_for, runs[*index].changed));

    let limit = rules.retention.age;
    let is_old = |index: &usize| now.duration_since(runs[*index].changed).is_ok_and(|age| age > limit);
    let (old, rest): (Vec<usize>, Vec<usize>) = order.into_iter().partition(is_old);
    let mut chosen: Vec<(usize, RemovalReason)> =
        old.into_iter().map(|index| (index, said(RemovalReason::Age(limit.as_secs())))).collect();

    let is_counted =
        |index: &&usize| rules.unread == UnreadRuns::LikeOthers || runs[**index].kept_for != KeptFor::Unread;
    let excess = rest.iter().filter(is_counted).count().saturating_sub(rules.target);
    // Those that are not counted come last in this order.
    let (too_many, rest) = rest.split_at(excess);
    let number = RemovalReason::Number(rules.retention.finished as u64);
    chosen.extend(too_many.iter().map(|index| (*index, said(number))));

    let mut left = used - chosen.iter().map(|(index, _)| runs[*index].bytes).sum::<u64>();
    for index in rest {
        if left <= rules.in_all {
            break;
        }
        left -= runs[*index].bytes;
        chosen.push((*index, said(RemovalReason::Bytes(rules.in_all))));
    }
    chosen
}

/// The folder of a run, added up.
struct Measured {
    folder: RunFolder,
    bytes: u64,
    changed: SystemTime,
    marks: Marks,
    has_ending: bool,
}

impl Measured {
    /// Bytes in a folder, and when something in it changed last. `None` for what is not the folder of a run.
    fn of(path: &Path) -> Option<Self> {
        let folder = RunFolder::at(path).ok()?;
        let (mut bytes, mut has_ending, mut marks) = (0, false, Marks::default());
        let mut changed =
            fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?.modified().unwrap_or(UNIX_EPOCH);
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            has_ending |= name == ENDING;
            marks.note(&name);
            if let Ok(data) = entry.metadata() {
                // A file takes whole blocks: runs that printed next to nothing are bounded by the bytes of all, too.
                bytes += data.len().max(data.blocks() * BLOCK);
                changed = changed.max(data.modified().unwrap_or(UNIX_EPOCH));
            }
        }
        Some(Self { folder, bytes, changed, marks, has_ending })
    }
}

/// A run that has ended, with nothing of it alive.
struct Finished {
    folder: RunFolder,
    bytes: u64,
    changed: SystemTime,
    ending: Option<EndingSummary>,
    kept_for: KeptFor,
}

impl Finished {
    /// `None` where it runs.
    fn of(runs: &Path, run: Measured) -> Option<Self> {
        let Measured { folder, bytes, changed, marks, has_ending } = run;
        let ending: Option<EndingSummary> = if has_ending { read_record(&folder, ENDING) } else { None };
        // Where nothing was left behind, the keeper is gone or about to go. Then the lock is asked for only by `remove`,
        // which asks in any case: a run may begin in between.
        let is_over = ending.as_ref().is_some_and(|ending| ending.leftover_task.is_none());
        if !is_over && folder.is_held() {
            return None;
        }
        let leftovers = Leftovers::find(runs, ending.as_ref());
        let kept_for = KeptFor::find(marks, ending.as_ref(), leftovers);
        Some(Self { folder, bytes, changed, ending, kept_for })
    }

    fn candidate(&self) -> Candidate {
        Candidate { kept_for: self.kept_for, changed: self.changed, bytes: self.bytes }
    }

    /// `None` where nobody can say whose it is any more: another process is removing it, and has written it down.
    fn as_removed(&self, at: SystemTime, why: RemovalReason) -> Option<RemovedRun> {
        let OwnerRecord { client, owner } = read_record(&self.folder, REQUEST)?;
        let outcome = self.ending.as_ref().map(|ending| ending.outcome.clone());
        Some(RemovedRun { id: self.folder.id().to_owned(), at, why, outcome, client, owner })
    }
}

/// Whose a run is, from its request.
#[derive(Deserialize)]
struct OwnerRecord {
    #[serde(default)]
    client: Option<String>,
    #[serde(default)]
    owner: Option<Owner>,
}

/// A record, with no more system calls than it takes: there are a thousand of them.
fn read_record<T: DeserializeOwned>(folder: &RunFolder, name: &str) -> Option<T> {
    let mut file = File::open(folder.path().join(name)).ok()?;
    let mut text = vec![0; RECORD_BYTES];
    let count = file.read(&mut text).ok()?;
    text.truncate(count);
    if count == RECORD_BYTES {
        file.read_to_end(&mut text).ok()?;
    }
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use KeptFor::{Read, Shown, Unread};

    const NOW: Duration = Duration::from_secs(1_000_000);

    fn rules(finished: usize, in_all: u64, unread: UnreadRuns, occasion: Occasion) -> Rules {
        let retention = RetentionLimits { age: Duration::from_secs(100), finished };
        Rules { retention, target: finished, in_all, unread, occasion }
    }

    /// Runs by what they are kept for, how many seconds ago they ended, and their bytes.
    fn chosen(runs: &[(KeptFor, u64, u64)], rules: &Rules) -> Vec<(usize, RemovalReason)> {
        let now = UNIX_EPOCH + NOW;
        let candidate = |&(kept_for, ago, bytes): &(KeptFor, u64, u64)| Candidate {
            kept_for,
            changed: now - Duration::from_secs(ago),
            bytes,
        };
        let candidates: Vec<Candidate> = runs.iter().map(candidate).collect();
        let mut chosen = choose(&candidates, rules, candidates.iter().map(|run| run.bytes).sum(), now);
        chosen.sort_unstable();
        chosen
    }

    #[test]
    fn what_was_shown_goes_first_then_what_was_read_and_what_is_unread_by_age_and_bytes_alone() {
        use RemovalReason::{Age, Bytes, Cleaned, Number};
        use UnreadRuns::{Kept, LikeOthers};
        type Row<'a> = (&'a str, &'a [(KeptFor, u64, u64)], Rules, &'a [(usize, RemovalReason)]);
        let limits = |finished, in_all| rules(finished, in_all, Kept, Occasion::Limits);
        let rows: [Row<'_>; 12] = [
            ("nothing is beyond a limit", &[(Shown, 9, 1), (Read, 9, 1), (Unread, 9, 1)], limits(2, 3), &[]),
            (
                "the oldest of the same kind",
                &[(Shown, 1, 1), (Shown, 3, 1), (Shown, 2, 1)],
                limits(1, 9),
                &[(1, Number(1)), (2, Number(1))],
            ),
            (
                "a newer one that was shown before an older one that was read",
                &[(Read, 9, 1), (Shown, 1, 1)],
                limits(1, 9),
                &[(1, Number(1))],
            ),
            (
                "what was read, once nothing else is left",
                &[(Read, 9, 1), (Read, 8, 1), (Shown, 1, 1)],
                limits(1, 9),
                &[(0, Number(1)), (2, Number(1))],
            ),
            ("unread ones do not count", &[(Unread, 9, 1), (Unread, 8, 1), (Shown, 1, 1)], limits(1, 9), &[]),
            (
                "and never go by number",
                &[(Unread, 9, 1), (Unread, 8, 1), (Shown, 1, 1)],
                limits(0, 9),
                &[(2, Number(0))],
            ),
            (
                "all of them go by age",
                &[(Unread, 101, 1), (Read, 101, 1), (Shown, 101, 1), (Shown, 99, 1)],
                limits(9, 9),
                &[(0, Age(100)), (1, Age(100)), (2, Age(100))],
            ),
            (
                "by bytes in this order",
                &[(Unread, 9, 5), (Read, 9, 5), (Shown, 1, 5)],
                limits(9, 5),
                &[(1, Bytes(5)), (2, Bytes(5))],
            ),
            (
                "by bytes at last the unread",
                &[(Unread, 9, 5), (Unread, 8, 5), (Shown, 1, 5)],
                limits(9, 5),
                &[(0, Bytes(5)), (2, Bytes(5))],
            ),
            (
                "what goes for another reason makes room",
                &[(Unread, 9, 5), (Shown, 101, 5)],
                limits(9, 5),
                &[(1, Age(100))],
            ),
            (
                "a person keeps the unread",
                &[(Unread, 9, 5), (Read, 9, 5)],
                rules(0, 99, Kept, Occasion::Person),
                &[(1, Cleaned)],
            ),
            (
                "or does not",
                &[(Unread, 9, 5), (Read, 1, 5)],
                rules(1, 99, LikeOthers, Occasion::Person),
                &[(1, Cleaned)],
            ),
        ];
        for (what, runs, rules, expected) in rows {
            assert_eq!(chosen(runs, &rules), expected, "{what}");
        }
    }
}
