//! When the time of a command is over: some time after its start, or some time after it last printed something.
//!
//! No timer ticks for the second one. Output only moves the time, and the loop asks again how long it may sleep.

use std::time::{Duration, Instant};

use crate::limits::later;
use crate::run::TimeLimit;

pub(super) struct Deadlines {
    end: Option<Instant>,
    silence: Option<Duration>,
    last_output: Instant,
}

/// Whether the command's output is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputFlow {
    /// Whatever it prints is noticed.
    Read,
    /// Its caller is behind: what it prints stays in the pipe, and it cannot print more than that holds.
    HeldUp,
}

impl Deadlines {
    pub(super) fn new(started: Instant, timeout: Option<Duration>, silence: Option<Duration>) -> Self {
        Self { end: timeout.map(|timeout| later(started, timeout)), silence, last_output: started }
    }

    /// The command has printed something, or could not have.
    pub(super) fn note_output(&mut self, now: Instant) {
        self.last_output = now;
    }

    /// The nearest time, and which limit that is. A command that is held up cannot print, so it is not silent: only its
    /// timeout counts.
    pub(super) fn next(&self, flow: OutputFlow) -> Option<(Instant, TimeLimit)> {
        let silence = self.silence.filter(|_| flow == OutputFlow::Read);
        let silent = silence.map(|silence| (later(self.last_output, silence), TimeLimit::Silence));
        let end = self.end.map(|end| (end, TimeLimit::Timeout));
        end.into_iter().chain(silent).min_by_key(|(time, _)| *time)
    }

    /// The limit that is reached, if one is.
    pub(super) fn reached(&self, now: Instant) -> Option<TimeLimit> {
        self.next(OutputFlow::Read).filter(|(time, _)| now >= *time).map(|(_, limit)| limit)
    }

    /// Nothing more is due: the command is being stopped, or may take as long as it wants.
    pub(super) fn clear(&mut self) {
        (self.end, self.silence) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_first_limit_that_is_reached_is_the_one_named() {
        let start = Instant::now();
        let at = |seconds: u32| start + SECOND * seconds;
        // timeout, silence, when it printed, the limit and when it is reached
        let cases = [
            (None, None, vec![], None),
            (Some(5), None, vec![1, 2], Some((5, TimeLimit::Timeout))),
            (None, Some(3), vec![], Some((3, TimeLimit::Silence))),
            (None, Some(3), vec![1, 3, 5], Some((8, TimeLimit::Silence))),
            (Some(4), Some(3), vec![2], Some((4, TimeLimit::Timeout))),
            (Some(9), Some(3), vec![2], Some((5, TimeLimit::Silence))),
            (Some(3), Some(3), vec![], Some((3, TimeLimit::Timeout))),
        ];
        for (timeout, silence, printed, expected) in cases {
            let limit = |seconds: Option<u32>| seconds.map(|seconds| SECOND * seconds);
            let mut deadlines = Deadlines::new(start, limit(timeout), limit(silence));
            for time in printed {
                assert_eq!(deadlines.reached(at(time).checked_sub(SECOND / 2).unwrap()), None);
                deadlines.note_output(at(time));
            }
            assert_eq!(deadlines.next(OutputFlow::Read), expected.map(|(time, limit)| (at(time), limit)));
            if let Some((time, limit)) = expected {
                assert_eq!(deadlines.reached(at(time).checked_sub(SECOND / 1000).unwrap()), None);
                assert_eq!(deadlines.reached(at(time)), Some(limit));
            }
            deadlines.clear();
            assert_eq!(deadlines.next(OutputFlow::Read), None);
        }
    }

    #[test]
    fn a_command_that_cannot_print_is_not_silent() {
        let start = Instant::now();
        let deadlines = Deadlines::new(start, Some(SECOND * 9), Some(SECOND));
        assert_eq!(deadlines.next(OutputFlow::HeldUp), Some((start + SECOND * 9, TimeLimit::Timeout)));
    }
}
