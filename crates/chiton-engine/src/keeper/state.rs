//! What a shell reports of its state as it ends.
//!
//! 1. Its first words are enough to answer with ([`FirstWords`]); the loop polls the pipe until they have come.
//! 2. The rest comes in many small pieces, and the pipe is polled no more: a reader that wakes up for each would slow the
//!    shell down. It is read every so often, since a pipe can be full, and once more when the shell has ended.
//! 3. What was reported goes out with the ending, or after it where the answer went first.
//!
//! What the bytes mean is left to the engine.

use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use super::shared_files::SharedFiles;
use crate::bytes::ByteString;
use crate::limits::STATE_BYTES;
use crate::protocol::HandedBack;
use crate::state::bash::dump::{FirstWords, NOTHING_CAME};

/// The time between two reads of the rest.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Default)]
pub(super) struct StateInbox {
    bytes: Vec<u8>,
    first: Option<FirstWords>,
    next_read: Option<Instant>,
    /// The ending was decided by the first words, and is reported before the rest has come.
    answered_first: bool,
}

impl StateInbox {
    /// Takes what has come. What is beyond the largest state that is carried is read too, and dropped: left in the pipe
    /// it would hold up the shell for ever.
    pub(super) fn receive(&mut self, shared: &SharedFiles) {
        let mut chunk = [0; 8192];
        while let Some(count) = rustix::io::read(&shared.state, &mut chunk).ok().filter(|count| *count > 0) {
            let room = usize::try_from(STATE_BYTES).unwrap_or(0) + 1 - self.bytes.len();
            self.bytes.extend_from_slice(&chunk[..count.min(room)]);
        }
        if self.first.is_none() {
            self.first = FirstWords::read(&self.bytes).map(|(first, _)| first);
        }
        if self.first.is_some() {
            self.next_read = Some(Instant::now() + PAUSE);
        }
    }

    /// Whether the first words are still to come, so that every piece matters.
    pub(super) fn is_awaited(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn next_read(&self) -> Option<Instant> {
        self.next_read
    }

    /// Reads the rest, if it is time to.
    pub(super) fn receive_if_due(&mut self, now: Instant, shared: &SharedFiles) {
        if self.next_read.is_some_and(|time| now >= time) {
            self.receive(shared);
        }
    }

    /// The exit status, where the shell has reported that its command ran through.
    pub(super) fn ran_through(&self) -> Option<i32> {
        self.first.as_ref().filter(|first| first.ran_through).and_then(FirstWords::status)
    }

    /// Whether the shell reports that it waited for a command in vain.
    pub(super) fn is_without_command(&mut self, shared: &SharedFiles) -> bool {
        if self.first.is_none() {
            self.receive(shared);
        }
        self.bytes == NOTHING_CAME.as_bytes()
    }

    /// The first words are the answer, and the rest follows it.
    pub(super) fn answer_goes_first(&mut self) {
        self.answered_first = true;
    }

    /// Whether the rest comes after the ending was reported.
    pub(super) fn rest_follows(&self) -> bool {
        self.answered_first
    }

    /// What is reported with the ending.
    pub(super) fn hand_back(&mut self, changes_nothing: bool, shared: &SharedFiles) -> HandedBack {
        match self.first.as_ref().filter(|_| self.answered_first) {
            Some(first) if changes_nothing => {
                let statuses = first.statuses.clone();
                self.stop_reading();
                HandedBack::Unchanged { statuses }
            }
            Some(first) => HandedBack::Follows {
                statuses: first.statuses.clone(),
                directory: first.cwd.as_os_str().as_bytes().into(),
            },
            None => self.take(shared).map_or(HandedBack::Nothing, HandedBack::State),
        }
    }

    /// Nobody wants the rest. What the command left running may keep us here for days, so nothing may wake us up for it.
    pub(super) fn stop_reading(&mut self) {
        self.next_read = None;
    }

    /// All of it, once the shell has ended; `None` where there is none, or more than is carried.
    pub(super) fn take(&mut self, shared: &SharedFiles) -> Option<ByteString> {
        self.receive(shared);
        self.next_read = None;
        let state = std::mem::take(&mut self.bytes);
        (!state.is_empty() && state.len() as u64 <= STATE_BYTES).then(|| state.into())
    }
}
