//! A run while its call lasts: its folder, its record, its share of the disk.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::{Attendance, LaunchSettings, Runner};
use crate::bytes::ByteString;
use crate::error::StartError;
use crate::folder::record::RequestRecord;
use crate::folder::{RunFolder, Unreadable};
use crate::limits::SpoolLimits;
use crate::secrets::ResolvedCommand;
use crate::session::StartingPoint;
use crate::warm::pool::RunningCommand;

/// A longer text does not fit into one message to a keeper.
const MOST_HANDED_OVER: usize = 16 << 10;

/// Even where the sum of all runs is used up, a run may keep this much; the oldest finished ones make room for it.
const LEAST_ALLOWANCE: u64 = 16 << 20;

/// A run while its call lasts. One that never started leaves no folder.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) folder: RunFolder,
    /// What its keeper was given to write down.
    pub(super) request: Option<ByteString>,
    pub(super) allowance: Allowance,
    /// Counts among those that run now, where somebody waits for it.
    pub(crate) running: Option<RunningCommand>,
    started: AtomicBool,
}

impl OpenRun {
    /// Opens a run in a folder of its own. Gives what is written down of it.
    pub(super) fn new(
        command: &ResolvedCommand,
        start: &StartingPoint,
        folder: RunFolder,
        runner: &Runner,
        settings: &LaunchSettings<'_>,
    ) -> Result<(Self, RequestRecord), StartError> {
        let is_background = settings.attendance == Attendance::Background;
        let running = (!is_background).then(|| settings.session.pool().enter());
        let record = record_of(command, start, &folder, settings);
        let text = serde_json::to_vec(&record).unwrap_or_default();

        // A keeper that is there has time to write the record while its shell wakes up. But a task is not started
        // before it is on disk.
        let is_warm = matches!(runner, Runner::Spare(_));
        let by_keeper = is_warm && !is_background && text.len() < MOST_HANDED_OVER;
        let request = by_keeper.then(|| ByteString::from(&text[..]));
        if !by_keeper {
            // On a full disk a command that somebody waits for still runs; it only cannot be looked up later. A task
            // that could not be looked up would be lost from its first moment, so it is not started.
            let reserve = || if is_background { folder.reserve() } else { Ok(()) };
            let written = folder.write_request_text(&text).and_then(|()| reserve());
            if let (Err(error), true) = (written, is_background) {
                folder.discard();
                return Err(StartError::StateDirectory { path: settings.runs.to_owned(), error });
            }
        }

        let allowance = settings.quota.reserve(settings.limits.spool);
        Ok((Self { folder, request, allowance, running, started: AtomicBool::new(false) }, record))
    }

    /// It has started: its folder stays.
    pub(crate) fn keep(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// Writes the record, where a keeper that should have done so is gone.
    pub(crate) fn write_record(&self) {
        if let (Some(request), Err(Unreadable::Missing)) = (&self.request, self.folder.request()) {
            let _ = self.folder.write_request_text(request);
        }
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        // A call that was dropped while its command ran has left a run behind, unless it never came to that.
        if !self.started.load(Ordering::Relaxed) && self.folder.start().is_err() {
            self.folder.discard();
        }
    }
}

fn record_of(
    command: &ResolvedCommand,
    start: &StartingPoint,
    folder: &RunFolder,
    settings: &LaunchSettings<'_>,
) -> RequestRecord {
    let (request, known) = (command.request(), settings.known);
    let directory = known.masked(start.state.cwd.as_os_str().as_bytes());
    let millis = |time: Option<Duration>| time.and_then(|time| u64::try_from(time.as_millis()).ok());
    RequestRecord {
        session: settings.session.name().map(str::to_owned),
        client: settings.session.client().map(str::to_owned),
        owner: settings.owner.cloned(),
        description: request.description.as_ref().map(|text| known.masked(text.as_bytes()).to_text()),
        timeout_ms: millis(request.timeout),
        silence_ms: millis(request.silence),
        lifetime: request.lifetime,
        streams: request.streams,
        terminal: request.terminal,
        background: settings.attendance == Attendance::Background,
        protection: Some(settings.protection.clone()),
        journaled: settings.journal.is_some(),
        ports: request.ports.clone(),
        ..RequestRecord::new(folder.id(), known.masked(&request.command), directory)
    }
}

/// What the runs of an engine have on disk, and may still write.
#[derive(Debug, Default)]
pub(crate) struct SpoolQuota {
    /// Bytes that finished runs had when that was last measured.
    spooled: AtomicU64,
    /// Bytes that running ones may still write.
    reserved: AtomicU64,
}

impl SpoolQuota {
    /// Finished runs have this much.
    pub(crate) fn measured(&self, bytes: u64) {
        self.spooled.store(bytes, Ordering::Relaxed);
    }

    fn reserve(self: &Arc<Self>, limits: SpoolLimits) -> Allowance {
        let taken = self.spooled.load(Ordering::Relaxed) + self.reserved.load(Ordering::Relaxed);
        let bytes = limits.in_all.saturating_sub(taken).max(LEAST_ALLOWANCE).min(limits.per_run);
        self.reserved.fetch_add(bytes, Ordering::Relaxed);
        Allowance { quota: Arc::clone(self), bytes }
    }
}

/// What one run may write. Given back when it is dropped.
#[derive(Debug)]
pub(super) struct Allowance {
    quota: Arc<SpoolQuota>,
    pub(super) bytes: u64,
}

impl Drop for Allowance {
    fn drop(&mut self) {
        self.quota.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
