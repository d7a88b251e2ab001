//! Times, and what can be said about many of them.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};

/// Times in seconds, kept by the round in which they were taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    rounds: Vec<Vec<f64>>,
}

impl Samples {
    /// Begins the next round.
    pub(crate) fn next_round(&mut self) {
        self.rounds.push(Vec::new());
    }

    /// Adds a time to the round.
    pub(crate) fn push(&mut self, seconds: f64) {
        if self.rounds.is_empty() {
            self.next_round();
        }
        if let Some(round) = self.rounds.last_mut() {
            round.push(seconds);
        }
    }

    /// The time that this part of all times stays below.
    pub(crate) fn percentile(&self, percent: f64) -> f64 {
        percentile(&self.rounds.concat(), percent)
    }

    /// The median.
    pub(crate) fn middle(&self) -> f64 {
        self.percentile(50.0)
    }

    /// The smallest and the largest median of a round.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let medians = self.rounds.iter().map(|round| percentile(round, 50.0));
        medians.fold((f64::INFINITY, 0.0), |(low, high), middle| (low.min(middle), high.max(middle)))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// For machines.
    pub(crate) fn to_json(&self) -> Value {
        let micros = |seconds: f64| (seconds * 1e7).round() / 10.0;
        let (low, high) = self.spread();
        json!({
            "p50_us": micros(self.middle()), "p99_us": micros(self.percentile(99.0)),
            "p50_of_rounds_us": [micros(low), micros(high)], "rounds": self.rounds.len(), "samples": self.count(),
        })
    }
}

/// The value that `percent` of all values are not above; 0 where there is none.
pub(crate) fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let place = (last as f64 * percent / 100.0).round() as usize;
    sorted[place.min(last)]
}

/// How long `work` takes, in seconds, and what it gives.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let begun = Instant::now();
    let given = work()?;
    Ok((begun.elapsed().as_secs_f64(), given))
}

/// How often two things are measured in turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Rounds of each.
    pub(crate) rounds: usize,
    /// Measurements in a round.
    pub(crate) calls: usize,
}

impl Turns {
    /// `rounds` rounds of `calls` measurements.
    pub(crate) const fn new(rounds: usize, calls: usize) -> Self {
        Self { rounds, calls }
    }

    /// A round of the one, a round of the other, and again. Each gives the seconds it took. What a first call has to
    /// do once is done before.
    pub(crate) fn measure(
        self,
        mut one: impl FnMut() -> Result<f64>,
        mut other: impl FnMut() -> Result<f64>,
    ) -> Result<(Samples, Samples)> {
        one()?;
        other()?;
        let (mut ones, mut others) = (Samples::default(), Samples::default());
        for _ in 0..self.rounds {
            ones.next_round();
            others.next_round();
            for _ in 0..self.calls {
                ones.push(one()?);
            }
            for _ in 0..self.calls {
                others.push(other()?);
            }
        }
        Ok((ones, others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=101).rev().map(f64::from).collect();
        for (percent, expected) in [(0.0, 1.0), (50.0, 51.0), (99.0, 100.0), (100.0, 101.0)] {
            assert!(close(percentile(&values, percent), expected), "{percent}");
        }
        assert!(close(percentile(&[], 50.0), 0.0));
        assert!(close(percentile(&[7.0], 99.0), 7.0));
    }

    #[test]
    fn the_spread_is_that_of_the_rounds() {
        let mut samples = Samples::default();
        for round in [[1.0, 2.0, 9.0], [3.0, 4.0, 5.0]] {
            samples.next_round();
            for time in round {
                samples.push(time);
            }
        }
        assert_eq!(samples.spread(), (2.0, 4.0));
        assert_eq!(samples.count(), 6);
        assert!(close(samples.percentile(100.0), 9.0));
    }

    #[test]
    fn rounds_are_taken_in_turns() {
        let order = std::cell::RefCell::new(String::new());
        let note = |letter: char| {
            order.borrow_mut().push(letter);
            Ok(1.0)
        };
        let (ones, others) = Turns::new(2, 3).measure(|| note('a'), || note('b')).unwrap();
        assert_eq!(*order.borrow(), "abaaabbbaaabbb");
        assert_eq!((ones.count(), others.count()), (6, 6));
    }
}
