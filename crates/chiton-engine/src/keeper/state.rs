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
use crate::state::bash::dump::{BRANCH_ENDED, BRANCH_WAITS, FirstWords, NOTHING_CAME};

/// What ends a part of the state.
const PART_END: &[u8] = b"\0end\0";

/// The time between two reads of the rest.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Default)]
pub(super) struct StateInbox {
    bytes: Vec<u8>,
    first: Option<FirstWords>,
    next_read: Option<Instant>,
    /// The ending was decided by the first words, and is reported before the rest has come.
    answered_first: bool,
    /// Whether a branch of a stem reports, and what: its first words, a part of the state where it may have changed that, and
    /// then the stem speaks.
    of_branch: Option<Tells>,
    /// What the stem has said since.
    stem: Option<StemNews>,
}

/// What a branch reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// How its command ended.
    Ending,
    /// That, and what the command may have changed.
    Part,
}

/// What a stem says of its branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StemNews {
    /// This one waits now; the one before is gone.
    Waits(i32),
    /// The last one was ended by something else than its command: the status that the stem got.
    Ended(i32),
}

impl StemNews {
    /// Reads what a stem has said, `None` where that has not all come.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let after = |head: &[u8]| memchr::memmem::find(text, head).map(|place| &text[place + head.len()..]);
        let number = |text: &[u8]| -> Option<i32> {
            // It is whole once something ends it.
            let end = memchr::memchr(0, text)?;
            std::str::from_utf8(&text[..end]).ok()?.parse().ok()
        };
        match (after(BRANCH_ENDED), after(BRANCH_WAITS)) {
            (Some(text), _) => Some(Self::Ended(number(text)?)),
            (None, Some(text)) => Some(Self::Waits(number(text)?)),
            (None, None) => None,
        }
    }
}

impl StateInbox {
    /// For a run in a branch.
    pub(super) fn of_branch(tells: Tells) -> Self {
        Self { of_branch: Some(tells), ..Self::default() }
    }

    /// Where the report of a branch ends, once all of it is there.
    fn end_of_report(&self) -> Option<usize> {
        let (_, rest) = FirstWords::read(&self.bytes)?;
        let begin = self.bytes.len() - rest.len();
        match self.of_branch? {
            Tells::Ending => Some(begin),
            Tells::Part => Some(begin + memchr::memmem::find(rest, PART_END)? + PART_END.len()),
        }
    }

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
        if self.of_branch.is_some() {
            // A branch that was killed may have said nothing, or half of it.
            let rest = &self.bytes[self.end_of_report().unwrap_or(0)..];
            self.stem = self.stem.or_else(|| StemNews::read(rest));
        } else if self.first.is_some() {
            self.next_read = Some(Instant::now() + PAUSE);
        }
    }

    /// What the stem has said of the branch that ran the command.
    pub(super) fn stem_news(&self) -> Option<StemNews> {
        self.stem
    }

    /// The exit status that the shell has reported, however its command came to it.
    pub(super) fn status(&self) -> Option<i32> {
        self.first.as_ref().and_then(FirstWords::status)
    }

    /// Whether the first words are still to come, so that every piece matters.
    pub(super) fn is_awaited(&self) -> bool {
        if self.of_branch.is_some() { self.stem.is_none() } else { self.first.is_none() }
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
        let is_whole = self.of_branch.is_none() || self.end_of_report().is_some();
        self.first.as_ref().filter(|first| first.ran_through && is_whole).and_then(FirstWords::status)
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
        if let Some(tells) = self.of_branch {
            return self.hand_back_of_branch(tells);
        }
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

    fn hand_back_of_branch(&self, tells: Tells) -> HandedBack {
        match (&self.first, tells, self.end_of_report()) {
            (Some(first), Tells::Ending, _) => HandedBack::Unchanged { statuses: first.statuses.clone() },
            // Without the byte that ends it.
            (_, Tells::Part, Some(end)) => HandedBack::State(self.bytes[..end - 1].into()),
            _ => HandedBack::Nothing,
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
