//! What a shell says of its state as it ends.
//!
//! The first words are enough to answer with ([`FirstWords`]). The rest comes in many small pieces; from then on they
//! are not waited for, so that the shell is not slowed down by a reader that wakes up for each: they are read when the
//! shell has ended, and every so often, since a pipe can be full.

use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use super::SharedFiles;
use crate::bytes::ByteString;
use crate::limits::STATE_BYTES;
use crate::protocol::HandedBack;
use crate::state::bash::dump::{FirstWords, NOTHING_CAME};

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Default)]
pub(super) struct StateInbox {
    bytes: Vec<u8>,
    first: Option<FirstWords>,
    next_look: Option<Instant>,
    announced: bool,
}

impl StateInbox {
    /// Takes what has come; more than is ever carried is passed over.
    pub(super) fn listen(&mut self, shared: &SharedFiles) {
        let mut chunk = [0; 8192];
        while let Some(count) = rustix::io::read(&shared.state, &mut chunk).ok().filter(|count| *count > 0) {
            let room = usize::try_from(STATE_BYTES).unwrap_or(0) + 1 - self.bytes.len();
            self.bytes.extend_from_slice(&chunk[..count.min(room)]);
        }
        if self.first.is_none() {
            self.first = FirstWords::read(&self.bytes).map(|(first, _)| first);
        }
        if self.first.is_some() {
            self.next_look = Some(Instant::now() + PAUSE);
        }
    }

    /// Whether every piece is news.
    pub(super) fn is_awaited(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    /// Looks again, if it is time.
    pub(super) fn look(&mut self, now: Instant, shared: &SharedFiles) {
        if self.next_look.is_some_and(|time| now >= time) {
            self.listen(shared);
        }
    }

    /// The exit status, where the shell has said that its command ran through.
    pub(super) fn ran_through(&self) -> Option<i32> {
        self.first.as_ref().filter(|first| first.ran_through).and_then(FirstWords::status)
    }

    /// Whether the shell waited for a command in vain.
    pub(super) fn says_nothing_came(&mut self, shared: &SharedFiles) -> bool {
        if self.first.is_none() {
            self.listen(shared);
        }
        self.bytes == NOTHING_CAME.as_bytes()
    }

    /// The first words are the answer.
    pub(super) fn announce(&mut self) {
        self.announced = true;
    }

    /// Whether the rest was announced to follow.
    pub(super) fn follows(&self) -> bool {
        self.announced
    }

    /// What there is to say with the ending.
    pub(super) fn hand_back(&mut self, changes_nothing: bool, shared: &SharedFiles) -> HandedBack {
        match self.first.as_ref().filter(|_| self.announced) {
            Some(first) if changes_nothing => HandedBack::Unchanged { statuses: first.statuses.clone() },
            Some(first) => HandedBack::Follows {
                statuses: first.statuses.clone(),
                directory: first.cwd.as_os_str().as_bytes().into(),
            },
            None => self.take(shared).map_or(HandedBack::Nothing, HandedBack::State),
        }
    }

    /// All of it.
    pub(super) fn take(&mut self, shared: &SharedFiles) -> Option<ByteString> {
        self.listen(shared);
        self.next_look = None;
        let state = std::mem::take(&mut self.bytes);
        (!state.is_empty() && state.len() as u64 <= STATE_BYTES).then(|| state.into())
    }
}
