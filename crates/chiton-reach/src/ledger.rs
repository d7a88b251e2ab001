//! Which frames the other side has: those that it has not said so of are kept, and sent again over the next pipe.

use std::collections::VecDeque;
use std::io;

use zeroize::Zeroizing;

use crate::frame::garbled;

/// Both directions of one link, whatever pipe it uses just now.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The number of the last frame that was posted.
    posted: u64,
    /// What the other side may not have, oldest first. They may hold values of secrets.
    kept: VecDeque<(u64, Zeroizing<Vec<u8>>)>,
    /// How many of them, from the front, have gone into the present pipe.
    sent: usize,
    /// The number of the last frame that came.
    received: u64,
    /// The number that the other side was last told.
    told: u64,
    /// How many bytes came since then.
    untold: usize,
}

impl Ledger {
    /// Numbers a body and keeps it.
    pub(crate) fn post(&mut self, body: Vec<u8>) {
        self.posted += 1;
        self.kept.push_back((self.posted, Zeroizing::new(body)));
    }

    /// What is still to be written into the present pipe, in order. It counts as written now.
    pub(crate) fn take_unsent(&mut self) -> impl Iterator<Item = (u64, &[u8])> {
        let from = std::mem::replace(&mut self.sent, self.kept.len());
        self.kept.range(from..).map(|(number, body)| (*number, body.as_slice()))
    }

    /// Whether something is to be written.
    pub(crate) fn has_unsent(&self) -> bool {
        self.sent < self.kept.len()
    }

    /// How many bytes are kept for the other side.
    #[cfg(test)]
    fn kept_bytes(&self) -> usize {
        self.kept.iter().map(|(_, body)| body.len()).sum()
    }

    /// The other side has everything up to this number.
    pub(crate) fn seen(&mut self, number: u64) -> io::Result<()> {
        if number > self.posted {
            return Err(garbled("the other side has seen a frame that was never sent"));
        }
        while self.kept.front().is_some_and(|(kept, _)| *kept <= number) {
            self.kept.pop_front();
            self.sent = self.sent.saturating_sub(1);
        }
        Ok(())
    }

    /// Whether the frame of this number is new. One that came before is not an error: it was sent again.
    pub(crate) fn accept(&mut self, number: u64, bytes: usize) -> io::Result<bool> {
        if number <= self.received {
            return Ok(false);
        }
        if number != self.received + 1 {
            return Err(garbled("a frame is missing"));
        }
        self.received = number;
        self.untold += bytes;
        Ok(true)
    }

    /// The number of the last frame that came; the other side is told so now.
    pub(crate) fn tell(&mut self) -> u64 {
        self.told = self.received;
        self.untold = 0;
        self.received
    }

    /// The number of the last frame that came.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// How many bytes came that the other side still keeps.
    pub(crate) fn untold(&self) -> usize {
        self.untold
    }

    /// A new pipe: the other side has everything up to `number`, and gets the rest again.
    pub(crate) fn resume(&mut self, number: u64) -> io::Result<()> {
        self.seen(number)?;
        if self.kept.front().is_some_and(|(first, _)| *first != number + 1) {
            return Err(garbled("the other side lacks a frame that is no longer kept"));
        }
        self.sent = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What goes on in a pipe, until it breaks.
    #[derive(Clone, Debug)]
    enum Step {
        Post(bool),
        /// One side writes, and so many of its frames get through; less than all of them breaks the pipe.
        Write(bool, usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            any::<bool>().prop_map(Step::Post),
            (any::<bool>(), 0..6usize).prop_map(|(side, count)| Step::Write(side, count)),
        ];
        prop::collection::vec(step, 0..200)
    }

    #[derive(Default)]
    struct Side {
        ledger: Ledger,
        posted: Vec<Vec<u8>>,
        came: Vec<Vec<u8>>,
    }

    /// Writes what one side has; gives whether the pipe broke.
    fn write(from: &mut Side, to: &mut Side, through: usize) -> bool {
        let seen = from.ledger.tell();
        let frames: Vec<(u64, Vec<u8>)> =
            from.ledger.take_unsent().map(|(number, body)| (number, body.to_vec())).collect();
        for (place, (number, body)) in frames.iter().enumerate() {
            if place >= through {
                return true;
            }
            to.ledger.seen(seen).unwrap();
            if to.ledger.accept(*number, body.len()).unwrap() {
                to.came.push(body.clone());
            }
        }
        false
    }

    proptest! {
        #[test]
        fn every_frame_arrives_once_and_in_order_however_often_the_pipe_breaks(steps in steps()) {
            let (mut near, mut far) = (Side::default(), Side::default());
            let mut count = 0u32;
            let settle = |near: &mut Side, far: &mut Side| {
                let (of_near, of_far) = (near.ledger.received(), far.ledger.received());
                near.ledger.resume(of_far).unwrap();
                far.ledger.resume(of_near).unwrap();
            };
            for step in steps {
                match step {
                    Step::Post(side) => {
                        count += 1;
                        let side = if side { &mut near } else { &mut far };
                        side.posted.push(count.to_le_bytes().to_vec());
                        side.ledger.post(count.to_le_bytes().to_vec());
                    }
                    Step::Write(true, through) => {
                        if write(&mut near, &mut far, through) { settle(&mut near, &mut far); }
                    }
                    Step::Write(false, through) => {
                        if write(&mut far, &mut near, through) { settle(&mut near, &mut far); }
                    }
                }
            }
            settle(&mut near, &mut far);
            write(&mut near, &mut far, usize::MAX);
            write(&mut far, &mut near, usize::MAX);
            prop_assert_eq!(&near.posted, &far.came);
            prop_assert_eq!(&far.posted, &near.came);
        }
    }

    #[test]
    fn what_the_other_side_has_is_not_kept() {
        let mut ledger = Ledger::default();
        for _ in 0..10 {
            ledger.post(vec![0; 1000]);
        }
        assert_eq!(ledger.take_unsent().count(), 10);
        ledger.seen(7).unwrap();
        assert_eq!(ledger.kept_bytes(), 3000);
        ledger.resume(8).unwrap();
        assert_eq!(ledger.take_unsent().map(|(number, _)| number).collect::<Vec<_>>(), [9, 10]);
        assert!(ledger.seen(11).is_err(), "that was never sent");
        assert!(ledger.accept(2, 1).is_err(), "one is missing");
    }
}
