//! Long output with fewer lines, and nothing hidden that a reader would miss.
//!
//! 1. [`compact`] reads text line by line, each as its [`shape`].
//! 2. It looks for runs of at least six lines of one shape, or of two or three shapes that take turns.
//! 3. Of a run it keeps the first line of each shape and the last lines. What lies between becomes a gap: a line that says
//!    which lines they are, counted from 1 in all output.
//!
//! Only whole lines are left out. A line that says that something is wrong is never left out ([`words`]), and of a
//! command that failed only lines that say success are. Output that is data by its look is left alone ([`look`]), and so is
//! the output of a command that was run for it ([`program`]). A gap that saves nothing is not made.
//!
//! Nothing here reads or writes a file: all output stays where it is, and every gap can be read there.

mod look;
mod named;
pub mod program;
mod rows;
mod shape;
mod words;

pub use named::program_of;

use std::ops::RangeInclusive;

use chiton_engine::terminal::text::plain_text;

use shape::{Shape, Template, tell_codes_apart};

/// Output that is shorter than this is shown as it is.
pub const LEAST_BYTES: usize = 2048;
/// Output that is longer than this is not compacted: nobody holds that much in memory for a reply.
pub const MOST_BYTES: usize = 8 << 20;
/// The fewest lines in a run.
const LEAST_RUN: usize = 6;
/// The most shapes that take turns in a run, and in how many lines all of them must have come up.
const MOST_SHAPES: usize = 3;
const FIRST_LINES: usize = 6;
/// What a reply says about gaps, besides the gaps, is about this long. Less is not worth it.
const LEAST_SAVED: usize = 160;

/// How the command ended whose output this is, as far as that decides what may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It succeeded, or still runs.
    Well,
    /// It failed, and any line may be one of its standard error: only lines that say success are left out.
    Failed,
}

/// Output with gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// What is shown, the lines of gaps included.
    pub shown: String,
    /// The lines that each gap leaves out, counted from 1.
    pub gaps: Vec<RangeInclusive<u64>>,
    /// How many lines that is in all.
    pub lines: u64,
    /// How many bytes of the text.
    pub bytes: u64,
    /// What is shown, line by line.
    pub parts: Vec<Shown>,
}

/// A line that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The line, with its end.
    pub text: String,
    /// Which lines of the output it stands for: itself, or those that a gap leaves out.
    pub lines: RangeInclusive<u64>,
}

/// Leaves out what need not be seen of a text; none, where nothing is left out. Lines are counted from `first`.
pub fn compact(text: &str, first: u64, ending: Ending) -> Option<Compacted> {
    if !(LEAST_BYTES..=MOST_BYTES).contains(&text.len()) {
        return None;
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.iter().any(|line| looks_like_gap(line)) {
        return None;
    }
    let gaps = gaps(&lines, ending);
    let compacted = Compacted::of(&lines, first, &gaps);
    (compacted.shown.len() + LEAST_SAVED <= text.len()).then_some(compacted)
}

/// The same for text as it was printed, which is shown as plain text. What a program draws over several lines is left
/// alone.
pub fn compact_plain(text: &str, first: u64, ending: Ending) -> Option<Compacted> {
    if is_line_by_line(text) { compact(&plain_text(text), first, ending) } else { None }
}

/// Whether each line of a text stays one when it is shown as plain text.
pub(crate) fn is_line_by_line(text: &str) -> bool {
    let lines = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count();
    lines(&plain_text(text)) == lines(text)
}

/// Whether a line of output could be taken for one of ours.
pub fn looks_like_gap(line: &str) -> bool {
    line.contains("lines like ") && line.contains(": lines ") && line.trim_start().starts_with("[\u{2026}")
}

/// The line that stands for a gap.
fn gap_line(gap: &Gap, first: u64) -> String {
    let count = gap.to - gap.from;
    let like = if gap.shapes == 1 { "it".to_owned() } else { format!("the {} above", gap.shapes) };
    let (from, to) = (first + gap.from as u64, first + gap.to as u64 - 1);
    format!("[\u{2026} {count} lines like {like}: lines {from}-{to}]\n")
}

/// Lines that are left out, counted from 0, the last not included.
#[derive(Clone, Copy, Debug)]
struct Gap {
    from: usize,
    to: usize,
    shapes: usize,
}

impl Compacted {
    fn of(lines: &[&str], first: u64, gaps: &[Gap]) -> Self {
        let mut compacted = Self::default();
        let mut next = 0;
        for gap in gaps {
            compacted.keep(lines, first, next..gap.from);
            let range = first + gap.from as u64..=first + gap.to as u64 - 1;
            compacted.bytes += lines[gap.from..gap.to].iter().map(|line| line.len() as u64).sum::<u64>();
            compacted.lines += (gap.to - gap.from) as u64;
            compacted.gaps.push(range.clone());
            compacted.push(gap_line(gap, first), range);
            next = gap.to;
        }
        compacted.keep(lines, first, next..lines.len());
        compacted
    }

    fn keep(&mut self, lines: &[&str], first: u64, kept: std::ops::Range<usize>) {
        for number in kept {
            self.push(lines[number].to_owned(), first + number as u64..=first + number as u64);
        }
    }

    fn push(&mut self, text: String, lines: RangeInclusive<u64>) {
        self.shown.push_str(&text);
        self.parts.push(Shown { text, lines });
    }
}

/// What may be left out of these lines.
fn gaps(lines: &[&str], ending: Ending) -> Vec<Gap> {
    let plain: Vec<String> = lines.iter().map(|line| plain_text(line.trim_end_matches(['\r', '\n']))).collect();
    if look::is_data(&plain) {
        return Vec::new();
    }
    let rows = look::table_rows(&plain);
    let mut shapes: Vec<Option<Shape>> = plain
        .iter()
        .zip(lines)
        .zip(rows)
        .map(|((plain, line), is_row)| {
            let may_go = ending == Ending::Well || words::says_success(plain);
            let seen = is_row || words::must_be_seen(plain) || (plain.len() != line.len() && words::must_be_seen(line));
            if may_go && !seen { Shape::of(plain) } else { None }
        })
        .collect();
    take_beginnings(&mut shapes, &plain);
    tell_codes_apart(shapes.iter_mut().flatten());

    let (mut gaps, mut next) = (Vec::new(), 0);
    while next < lines.len() {
        let best = (1..=MOST_SHAPES)
            .filter_map(|most| Run::at(&shapes, next, most))
            .filter_map(|run| run.gap(lines).map(|(gap, saved)| (saved, gap, run.end)))
            .max_by_key(|(saved, ..)| *saved);
        next = match best {
            Some((_, gap, end)) => {
                gaps.push(gap);
                end
            }
            None => next + 1,
        };
    }
    gaps
}

/// A line that is the beginning of the next one is of its kind: `pytest -v` prints the name of a test with parts once
/// before them, and once more with how it went.
fn take_beginnings(shapes: &mut [Option<Shape>], plain: &[String]) {
    for number in 1..plain.len() {
        let beginning = plain[number - 1].trim_end();
        if shapes[number - 1].is_none() && beginning.contains("::") && plain[number].starts_with(beginning) {
            let (before, from) = shapes.split_at_mut(number);
            before[number - 1].clone_from(&from[0]);
        }
    }
}

/// Lines of at most a few shapes, one after the other.
struct Run {
    start: usize,
    end: usize,
    shapes: usize,
    /// Where each shape has come up once.
    known: usize,
}

impl Run {
    /// The run that begins at this line, where one does, with exactly so many shapes.
    fn at(lines: &[Option<Shape>], start: usize, shapes: usize) -> Option<Self> {
        let mut templates: Vec<Template> = Vec::new();
        let (mut known, mut end) = (start, start);
        for line in &lines[start..] {
            let Some(line) = line else { break };
            if !templates.iter_mut().any(|template| template.takes(line)) {
                if templates.len() == shapes || end - start >= FIRST_LINES {
                    break;
                }
                templates.push(Template::new(line));
                known = end + 1;
            }
            end += 1;
        }
        let is_run = templates.len() == shapes
            && templates.iter().all(|template| template.lines >= LEAST_RUN && template.is_one_kind());
        is_run.then_some(Self { start, end, shapes, known })
    }

    /// What of it is left out, and how many bytes that saves.
    fn gap(&self, lines: &[&str]) -> Option<(Gap, usize)> {
        let gap = Gap { from: self.known.max(self.start + 1), to: self.end - self.shapes, shapes: self.shapes };
        if gap.from + 1 >= gap.to {
            return None;
        }
        let bytes: usize = lines[gap.from..gap.to].iter().map(|line| line.len()).sum();
        let saved = bytes.checked_sub(gap_line(&gap, 1).len() + 8)?;
        (saved > 0).then_some((gap, saved))
    }
}

#[cfg(test)]
mod tests;
