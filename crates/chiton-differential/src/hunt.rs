//! The comparison itself: texts go to bash in a stream, and what it runs is looked up in what the guard listed.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::empty_root::{EmptyRoot, Event};
use crate::grammar::text;
use crate::judged::{Judged, Markers, judged};
use crate::results::Results;
use crate::shrink::shrink;

/// How many texts are on their way at once.
const WINDOW: usize = 64;
/// How many texts are remembered after they are done: a command in the background may still run then.
const REMEMBERED: usize = 4096;
/// How many different counterexamples are made small. More of them say the same.
const MOST_SHRUNK: usize = 10;

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Texts that were judged.
    pub texts: u64,
    /// Those of them that bash was not given, because the guard stops them anyway; see [`Hunt::only_allowed`].
    pub left_out: u64,
    /// Those in which a marker ran.
    pub ran: u64,
    /// Those of them in which the guard listed every marker that ran, and allowed the text.
    pub listed: u64,
    /// Those of them that the guard does not allow, by the rule that it names.
    pub asked: BTreeMap<String, u64>,
    /// Those of them in which a marker ran that the guard neither listed nor asked about.
    pub missed: u64,
    /// Texts that did not come to an end.
    pub stuck: u64,
    /// The first of those that were missed, as they were made.
    pub examples: Vec<String>,
}

impl Counts {
    /// Adds what somebody else counted.
    pub fn add(&mut self, other: &Self) {
        self.texts += other.texts;
        self.left_out += other.left_out;
        self.ran += other.ran;
        self.listed += other.listed;
        self.missed += other.missed;
        self.stuck += other.stuck;
        self.examples.extend_from_slice(&other.examples);
        for (rule, count) in &other.asked {
            *self.asked.entry(rule.clone()).or_default() += count;
        }
    }

    /// How many of the texts in which a marker ran are asked about.
    pub fn asked_in_all(&self) -> u64 {
        self.asked.values().sum()
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { texts, ran, listed, missed, stuck, .. } = self;
        let asked = self.asked_in_all();
        write!(formatter, "{texts} texts, {ran} ran a marker: {listed} listed, {asked} asked, {missed} missed")?;
        write!(formatter, "; {stuck} did not end")?;
        match self.left_out {
            0 => Ok(()),
            left_out => write!(formatter, "; {left_out} left out, since the guard stops them"),
        }
    }
}

/// A text in which something ran that the guard did not list.
#[derive(Clone, Debug)]
pub struct Missed {
    /// As it was made.
    pub text: String,
    /// The same, made small.
    pub small: String,
}

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// No more texts than this.
    pub texts: u64,
    /// No longer than this.
    pub time: Duration,
}

struct Known {
    number: u64,
    text: String,
    judged: Judged,
    is_given: bool,
    ran: Markers,
    missed: bool,
}

/// A hunt for texts that bash and the guard read differently.
pub struct Hunt {
    root: EmptyRoot,
    seed: u64,
    only_allowed: bool,
    results: Option<Results>,
    /// The newest last.
    known: VecDeque<Known>,
    counts: Counts,
}

impl Hunt {
    /// A hunt whose texts follow from `seed`.
    pub fn new(seed: u64) -> Result<Self> {
        let root = EmptyRoot::start()?;
        Ok(Self { root, seed, only_allowed: false, results: None, known: VecDeque::new(), counts: Counts::default() })
    }

    /// Gives bash only what the guard allows. Nothing else can be missed, and most of the time goes into running texts.
    #[must_use]
    pub fn only_allowed(mut self, only_allowed: bool) -> Self {
        self.only_allowed = only_allowed;
        self
    }

    /// Keeps what bash runs in a file, and does not run again what is in there.
    pub fn with_results(mut self, path: &Path) -> Result<Self> {
        self.results = Some(Results::open(path, self.seed)?);
        Ok(self)
    }

    /// How well bash is locked up.
    pub fn confinement(&self) -> crate::empty_root::Confinement {
        self.root.confinement()
    }

    /// Goes on until a bound is reached, and reports on the way.
    pub fn run(mut self, bounds: Bounds, mut report: impl FnMut(&Counts)) -> Result<(Counts, Vec<Missed>)> {
        let start = Instant::now();
        let mut next = 0;
        // Numbers of the texts that bash has and is not done with, the oldest first.
        let mut on_the_way: VecDeque<u64> = VecDeque::new();
        // A text that multiplies its processes reports markers for a long time, and never that it is done.
        let mut done = Instant::now();
        loop {
            let goes_on = next < bounds.texts && start.elapsed() < bounds.time;
            while goes_on && on_the_way.len() < WINDOW && next < bounds.texts {
                if self.give(next)? {
                    on_the_way.push_back(next);
                }
                next += 1;
            }
            if on_the_way.is_empty() {
                break;
            }
            let event = self.root.next(EmptyRoot::patience());
            if let Event::Ran(number, letter) = event {
                self.note(number, letter);
            }
            match event {
                Event::Ran(..) if done.elapsed() < 2 * EmptyRoot::patience() => {}
                Event::Done(number) => {
                    done = Instant::now();
                    on_the_way.retain(|other| *other > number);
                    if number % 1024 == 0 {
                        report(&self.counts);
                    }
                }
                Event::Ran(..) | Event::Silent => {
                    done = Instant::now();
                    self.counts.stuck += 1;
                    on_the_way.pop_front();
                    self.root = EmptyRoot::start()?;
                    for number in &on_the_way {
                        if let Some(known) = self.known.iter().find(|known| known.number == *number) {
                            self.root.send(*number, &known.text)?;
                        }
                    }
                }
            }
        }

        // What still runs in the background.
        while let Event::Ran(number, letter) = self.root.next(Duration::from_millis(300)) {
            self.note(number, letter);
        }
        report(&self.counts);
        let mut missed = self.shrunk()?;
        missed.sort_by(|left, right| left.small.len().cmp(&right.small.len()).then(left.small.cmp(&right.small)));
        missed.dedup_by(|left, right| left.small == right.small);
        self.close()?;
        Ok((self.counts, missed))
    }

    /// Judges the text of this number, and says whether bash was given it.
    fn give(&mut self, number: u64) -> Result<bool> {
        let text = text(self.seed, number);
        let judged = judged(&text);
        let before = self.results.as_ref().and_then(|results| results.of(number));
        let is_left_out = self.only_allowed && judged.stopped.is_some() && before.is_none();
        let is_given = !is_left_out && before.is_none();
        if is_given {
            self.root.send(number, &text)?;
        }
        self.counts.left_out += u64::from(is_left_out);
        self.counts.texts += 1;
        self.known.push_back(Known { number, text, judged, is_given, ran: Markers::default(), missed: false });
        for letter in ('a'..='z').filter(|letter| before.is_some_and(|ran| ran.has(*letter))) {
            self.note(number, letter);
        }
        if self.known.len() > REMEMBERED {
            self.forget_first()?;
        }
        Ok(is_given)
    }

    fn note(&mut self, number: u64, letter: char) {
        let Some(first) = self.known.front().map(|known| known.number) else { return };
        let place = number.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        let Some(known) = place.and_then(|place| self.known.get_mut(place)) else { return };
        known.ran.add(letter);
        if !known.judged.listed.has(letter) && known.judged.stopped.is_none() && !known.missed {
            known.missed = true;
            if self.counts.examples.len() < MOST_SHRUNK {
                self.counts.examples.push(known.text.clone());
            }
        }
    }

    /// Counts the oldest text, of which nothing more will be heard.
    fn forget_first(&mut self) -> Result<()> {
        let Some(known) = self.known.pop_front() else { return Ok(()) };
        if let Some(results) = self.results.as_mut().filter(|_| known.is_given) {
            results.add(known.number, known.ran)?;
        }
        if known.ran.is_empty() {
            return Ok(());
        }
        self.counts.ran += 1;
        match known.judged.stopped {
            Some(rule) => *self.counts.asked.entry(rule).or_default() += 1,
            None if known.missed => self.counts.missed += 1,
            None => self.counts.listed += 1,
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        while !self.known.is_empty() {
            self.forget_first()?;
        }
        Ok(())
    }

    fn shrunk(&mut self) -> Result<Vec<Missed>> {
        let mut all = Vec::new();
        for text in self.counts.examples.clone() {
            let mut trouble = None;
            let small = shrink(&text, |shorter| {
                misses(&mut self.root, shorter).unwrap_or_else(|error| {
                    trouble = Some(error);
                    false
                })
            });
            if let Some(error) = trouble {
                return Err(error);
            }
            all.push(Missed { text, small });
        }
        Ok(all)
    }
}

/// Whether bash runs a marker in `text` that the guard neither lists nor asks about.
pub fn misses(root: &mut EmptyRoot, text: &str) -> Result<bool> {
    let judged = judged(text);
    if judged.stopped.is_some() {
        return Ok(false);
    }
    let ran = ran(root, text)?;
    Ok(ran.iter().any(|letter| !judged.listed.has(*letter)))
}

/// The markers that bash runs in `text`.
pub fn ran(root: &mut EmptyRoot, text: &str) -> Result<Vec<char>> {
    // Numbers above all those of a stream.
    const NUMBER: u64 = u64::MAX / 2;
    root.send(NUMBER, text)?;
    let mut letters = Vec::new();
    let mut patience = EmptyRoot::patience();
    let start = Instant::now();
    loop {
        let event = if start.elapsed() < 2 * EmptyRoot::patience() { root.next(patience) } else { Event::Silent };
        match event {
            Event::Ran(NUMBER, letter) => letters.push(letter),
            // Commands in the background may need a moment.
            Event::Done(NUMBER) => patience = Duration::from_millis(if text.contains(['&', '(']) { 3 } else { 0 }),
            Event::Ran(..) | Event::Done(_) => {}
            Event::Silent => {
                if patience == EmptyRoot::patience() {
                    *root = EmptyRoot::start()?;
                }
                return Ok(letters);
            }
        }
    }
}
