//! What a command left running, as a task of its own.
//!
//! 1. It gets a folder and an id like any other task. Its output is what the command's spool receives from then on, and
//!    its keeper is the command's: the socket in its folder is a link to the command's.
//! 2. When the last of its processes has ended, the keeper writes down how.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::reader;
use crate::capture::spool::SpoolWriter;
use crate::folder::record::{LeftoverOf, RequestRecord, StartRecord};
use crate::folder::{Durability, RunFolder};
use crate::protocol::{RunPlan, SOCKET};
use crate::run::Ending;
use crate::run::Stream;
use crate::run::StreamTotals;
use crate::run::{Leftover, Lifetime, Outcome};

pub(super) struct LeftoverTask {
    folder: RunFolder,
    from: LeftoverOf,
    since: Instant,
    /// How the process ended that was reaped last.
    pub(super) last: Outcome,
    /// The lock on its folder: while it is open, the task counts as alive.
    _alive: File,
}

impl LeftoverTask {
    /// `None` where nothing was left running, or the disk is full: what runs then has no id but goes on.
    pub(super) fn create(plan: &RunPlan, leftovers: &[Leftover], spool: &SpoolWriter) -> Option<Self> {
        let first = leftovers.first()?;
        let (folder, alive) = RunFolder::create(plan.folder.parent()?).ok()?;
        let from = LeftoverOf {
            run: plan.folder.file_name()?.to_str()?.to_owned(),
            stdout: spool.totals(Stream::Stdout).written,
            stderr: spool.totals(Stream::Stderr).written,
        };
        let commands: Vec<&str> = leftovers.iter().map(|leftover| leftover.command.as_str()).collect();
        // They ran before the command ended.
        let age = leftovers.iter().filter_map(|leftover| reader::age(leftover.pid)).max().unwrap_or_default();
        let record = RequestRecord::new(folder.id(), commands.join(" & ").into(), plan.directory.clone());
        let mut record = record.started_ago(age);
        record.session.clone_from(&plan.session);
        record.client.clone_from(&plan.client);
        record.owner.clone_from(&plan.owner);
        record.lifetime = if plan.lifetime == Lifetime::Session { Lifetime::Session } else { Lifetime::Durable };
        record.leftover_of = Some(from.clone());
        record.journaled = plan.journal.is_some();

        // The request first: without one, the folder reads as one in which nothing was ever started.
        folder.write_request(&record).ok()?;
        let _ = folder.write_start(StartRecord::of(first.pid));
        let _ = symlink(plan.folder.join(SOCKET), folder.path().join(SOCKET));
        Some(Self { folder, from, since: before(age), last: Outcome::Lost, _alive: alive })
    }

    pub(super) fn id(&self) -> &str {
        self.folder.id()
    }

    /// How it ended. `ending` sums up the whole run, of which only the last part was this task's; `stopped` is why it
    /// was stopped, where somebody did.
    pub(super) fn sum_up(&self, mut ending: Ending, stopped: Option<Outcome>) -> Ending {
        let since = |totals: StreamTotals, from: u64| StreamTotals {
            written: totals.written - from,
            kept: totals.kept.min(totals.written - from),
        };
        ending.outcome = stopped.unwrap_or_else(|| self.last.clone());
        ending.wall_us = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        ending.stdout = since(ending.stdout, self.from.stdout);
        ending.stderr = since(ending.stderr, self.from.stderr);
        ending
    }

    /// Writes down how it ended.
    pub(super) fn record(&self, ending: &Ending) {
        let _ = self.folder.write_ending(ending, Durability::Cached);
    }
}

/// So long ago.
fn before(age: Duration) -> Instant {
    let now = Instant::now();
    now.checked_sub(age).unwrap_or(now)
}
