//! The first and the last bytes of what a command prints, from messages and from the spool.
//!
//! 1. Bytes from messages go into the views at once.
//! 2. Bytes in the spool are only remembered once the beginnings are complete. They are read when it turns out that they
//!    are part of an end: when nothing follows them, or when bytes from a message do.
//! 3. For a listener that wants all output, everything in the spool is read at once.

use std::collections::VecDeque;
use std::path::Path;

use super::head_tail::HeadTail;
use super::spool::SpoolFollower;
use crate::limits::ViewLimits;
use crate::request::Streams;
use crate::run::InSpool;
use crate::run::{Listener, PassedAmount, RunEvent, Stream};

/// How many stretches are remembered before they are read. With two streams that take turns there may be many.
const MOST_UNREAD: usize = 256;

/// The first and last bytes of what it printed.
pub(crate) struct Captured {
    pub(crate) stdout: HeadTail,
    pub(crate) stderr: HeadTail,
    /// Both in the order of arrival; `None` with one pipe, where `stdout` is that.
    pub(crate) output: Option<HeadTail>,
}

pub(crate) struct Intake {
    tail: u64,
    captured: Captured,
    follower: SpoolFollower,
    /// What is in the spool, follows what is in the views, and was not read for them yet.
    unread: VecDeque<(Stream, InSpool)>,
}

impl Intake {
    /// For a run in `folder`.
    pub(crate) fn new(folder: &Path, view: ViewLimits, streams: Streams) -> Self {
        let output = (streams == Streams::Separate).then(|| HeadTail::new(view));
        Self {
            tail: view.tail as u64,
            captured: Captured { stdout: HeadTail::new(view), stderr: HeadTail::new(view), output },
            follower: SpoolFollower::new(folder),
            unread: VecDeque::new(),
        }
    }

    /// Takes the next bytes of `stream`.
    pub(crate) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        self.read_ends();
        self.captured.push(stream, bytes);
    }

    /// Takes the next bytes of `stream` from the spool.
    pub(crate) fn take(&mut self, stream: Stream, place: InSpool, listener: &mut dyn Listener) {
        // Until the views have their beginnings, every byte is part of one.
        let later = self.captured.has_heads(stream);
        if later {
            self.remember(stream, place);
        } else {
            self.read_ends();
        }
        if later && !listener.wants_output() {
            self.report_amount(stream, place, listener);
        } else {
            let Self { captured, follower, .. } = self;
            let missing = follower.read(stream, place, |bytes| {
                listener.receive(RunEvent::Output { stream, bytes });
                if !later {
                    captured.push(stream, bytes);
                }
            });
            if !later {
                captured.pass_over(stream, missing);
            }
        }
    }

    /// Reports to a listener how much there is. Only the last three bytes are read, see [`RunEvent::Passed`].
    fn report_amount(&mut self, stream: Stream, place: InSpool, listener: &mut dyn Listener) {
        let InSpool { from, count, lines, characters, .. } = place;
        let last = count.min(3);
        let mut end = Vec::new();
        let place = InSpool { from: from + count - last, count: last, ..place };
        self.follower.read(stream, place, |bytes| end.extend_from_slice(bytes));
        let amount = PassedAmount { bytes: count, lines, characters };
        let folder = self.follower.folder();
        listener.receive(RunEvent::Passed { stream, amount, end: &end, folder, from });
    }

    pub(crate) fn finish(mut self) -> Captured {
        self.read_ends();
        self.captured
    }

    fn remember(&mut self, stream: Stream, place: InSpool) {
        if let Some((last, unread)) = self.unread.back_mut()
            && *last == stream
            && unread.grow(place)
        {
            return;
        }
        if self.unread.len() >= MOST_UNREAD {
            self.read_ends();
        }
        self.unread.push_back((stream, place));
    }

    /// Reads, of what is remembered, the end of each stream; what comes before that cannot be in a view.
    fn read_ends(&mut self) {
        let mut unread = std::mem::take(&mut self.unread);

        // Backwards, to know how much of the same stream follows each stretch.
        let mut after = [0; 2];
        let mut skipped = Vec::with_capacity(unread.len());
        for (stream, place) in unread.iter().rev() {
            let after = &mut after[usize::from(*stream == Stream::Stderr)];
            skipped.push(place.count - place.count.min(self.tail.saturating_sub(*after)));
            *after += place.count;
        }

        for ((stream, place), skip) in unread.drain(..).zip(skipped.into_iter().rev()) {
            let (from, count) = (place.from + skip, place.count - skip);
            self.captured.pass_over(stream, skip);
            let Self { captured, follower, .. } = self;
            let missing = follower.read(stream, InSpool { from, count, ..place }, |bytes| captured.push(stream, bytes));
            captured.pass_over(stream, missing);
        }
        // Empty now; its memory is used again.
        self.unread = unread;
    }
}

impl Captured {
    /// The views that show what `stream` prints.
    fn of(&mut self, stream: Stream) -> impl Iterator<Item = &mut HeadTail> {
        let own = if stream == Stream::Stderr { &mut self.stderr } else { &mut self.stdout };
        std::iter::once(own).chain(&mut self.output)
    }

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        self.of(stream).for_each(|view| view.push(bytes));
    }

    /// The next bytes are not available, or not wanted.
    fn pass_over(&mut self, stream: Stream, count: u64) {
        if count > 0 {
            self.of(stream).for_each(|view| view.pass_over(count));
        }
    }

    fn has_heads(&mut self, stream: Stream) -> bool {
        self.of(stream).all(|view| view.has_head())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::spool::SpoolWriter;
    use crate::limits::SpoolLimits;
    use crate::run::Silent;
    use chiton_testkit::dice::Dice;

    #[derive(Default)]
    struct Ear {
        all: bool,
        heard: Vec<u8>,
        amount: PassedAmount,
    }

    impl Listener for Ear {
        fn receive(&mut self, event: RunEvent<'_>) {
            let amount = match event {
                RunEvent::Started { .. } => return,
                RunEvent::Output { bytes, .. } => {
                    self.heard.extend_from_slice(bytes);
                    amount_of(bytes)
                }
                RunEvent::Passed { amount, end, .. } => {
                    assert_eq!(end.len() as u64, amount.bytes.min(3));
                    amount
                }
            };
            self.amount.bytes += amount.bytes;
            self.amount.lines += amount.lines;
            self.amount.characters += amount.characters;
        }

        fn wants_output(&self) -> bool {
            self.all
        }
    }

    fn amount_of(bytes: &[u8]) -> PassedAmount {
        let count = |is: fn(&u8) -> bool| bytes.iter().filter(|byte| is(byte)).count() as u64;
        let (lines, characters) = (count(|byte| *byte == b'\n'), count(|byte| byte & 0xc0 != 0x80));
        PassedAmount { bytes: bytes.len() as u64, lines, characters }
    }

    /// What was printed, piece by piece, by which way it came.
    fn taken(pieces: &[(Stream, Vec<u8>, bool)], view: ViewLimits, listens: bool) -> (Captured, Ear) {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = SpoolWriter::new(folder.path(), SpoolLimits { per_run: 16_000, ..SpoolLimits::default() });
        let mut intake = Intake::new(folder.path(), view, Streams::Separate);
        let mut listener = Ear { all: listens, ..Ear::default() };
        for (stream, bytes, inline) in pieces {
            let places = spool.append(*stream, bytes).unwrap();
            if *inline {
                intake.push(*stream, bytes);
            } else {
                for place in places {
                    intake.take(*stream, place, &mut listener);
                }
            }
        }
        (intake.finish(), listener)
    }

    #[test]
    fn views_are_the_same_whichever_way_the_bytes_came() {
        let mut dice = Dice::new(11);
        for round in 0..300 {
            let view = ViewLimits { head: dice.roll(40), tail: dice.roll(60) };
            let pieces: Vec<(Stream, Vec<u8>, bool)> = (0..dice.roll(40))
                .map(|_| {
                    let stream = if dice.roll(4) == 0 { Stream::Stderr } else { Stream::Stdout };
                    let bytes = (0..=dice.roll(30)).map(|_| u8::try_from(dice.roll(256)).unwrap()).collect();
                    (stream, bytes, dice.roll(8) == 0)
                })
                .collect();
            let direct: Vec<_> = pieces.iter().map(|(stream, bytes, _)| (*stream, bytes.clone(), true)).collect();
            let parts = |captured: Captured| {
                let views = [Some(captured.stdout), Some(captured.stderr), captured.output];
                views.map(|view| view.map(|view| (view.total(), view.omitted(), view.into_parts())))
            };
            let expected = parts(taken(&direct, view, false).0);
            let by_spool: Vec<u8> =
                pieces.iter().filter(|piece| !piece.2).flat_map(|(_, bytes, _)| bytes.clone()).collect();
            for listens in [false, true] {
                let (captured, ear) = taken(&pieces, view, listens);
                assert_eq!(parts(captured), expected, "round {round}, {view:?}");
                assert_eq!(ear.amount, amount_of(&by_spool));
                assert!(!listens || ear.heard == by_spool, "a listener that wants to hears every byte");
            }
        }
    }

    #[test]
    fn what_is_gone_from_the_spool_is_counted_and_not_made_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut intake = Intake::new(folder.path(), ViewLimits { head: 2, tail: 4 }, Streams::Merged);
        intake.push(Stream::Stdout, b"abcdef");
        intake.take(Stream::Stdout, InSpool { segment: 0, from: 6, count: 10, lines: 0, characters: 10 }, &mut Silent);
        let stdout = intake.finish().stdout;
        assert_eq!((stdout.total(), stdout.omitted()), (16, 14));
        assert_eq!(stdout.into_parts(), (b"ab".to_vec(), Vec::new()));
    }
}
