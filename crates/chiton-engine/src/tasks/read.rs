//! The output of a task: whole, in parts, only what is new, or only what matches.
//!
//! 1. Everything works on a *view*: the stretches of both streams in the order of arrival, or those of one stream.
//! 2. The part asked for is found in the view first and read then, so that nothing large is ever in memory.
//! 3. Text is made of it. A reader that reads on gets half a character only when its other half has come.

use std::io;
use std::ops::Range;

use regex::bytes::Regex;

use super::list::{OutputSource, Task};
use crate::capture::spool::{KeptBytes, SpoolReader, Stretch};
use crate::run::Stream;
use chiton_terminal::text::whole_characters;

/// Where a reader is in both streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Bytes of stdout that it has received.
    pub stdout: u64,
    /// Bytes of stderr that it has received.
    pub stderr: u64,
}

/// Which stream is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marked {
    /// Both, in the order of arrival, each part with its stream.
    #[default]
    Both,
    /// One alone.
    Only(Stream),
}

/// Which part of the output is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Everything. Moves no cursor.
    #[default]
    All,
    /// What this reader has not received yet. Moves the cursor by exactly what is given.
    New,
    /// These bytes of the view.
    Bytes(Range<u64>),
    /// These lines of the view, counted from 0.
    Lines(Range<u64>),
    /// This many lines from the beginning.
    Head(u64),
    /// This many lines from the end.
    Tail(u64),
}

/// Which lines are given. Searching never consumes: with a filter, no cursor moves.
#[derive(Clone, Debug)]
pub struct Filter {
    pattern: Regex,
    /// Lines before a match that come with it.
    pub before: usize,
    /// Lines after a match that come with it.
    pub after: usize,
}

impl Filter {
    /// Lines that match `pattern`.
    pub fn new(pattern: &str) -> Result<Self, ReadError> {
        let pattern = Regex::new(pattern)
            .map_err(|error| ReadError::BadFilter { pattern: pattern.to_owned(), reason: error.to_string() })?;
        Ok(Self { pattern, before: 0, after: 0 })
    }
}

/// What to read.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// Which stream.
    pub streams: Marked,
    /// Which part.
    pub part: Part,
    /// Which lines of that part.
    pub filter: Option<Filter>,
    /// The most bytes to give.
    pub limit: u64,
}

impl Default for ReadRequest {
    fn default() -> Self {
        Self { streams: Marked::Both, part: Part::All, filter: None, limit: u64::MAX }
    }
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Stretches in order; neighbours are of different streams.
    pub chunks: Vec<Chunk>,
    /// Bytes of the part asked for that the limit left out; for [`Part::New`] the next read gives them, for any other
    /// part a narrower one does.
    pub left_out: u64,
    /// Bytes of it that are not kept in the spool.
    pub not_kept: u64,
    /// Lines that matched, with a filter.
    pub matches: u64,
    /// Where what was given ends, counted in bytes of all output of these streams: a later [`Part::Bytes`] from here
    /// reads on.
    pub end: u64,
    /// Where the first of the bytes is that the limit left out, counted like `end`; the same where it left out none.
    pub rest: u64,
}

/// A stretch of one stream, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The stream.
    pub stream: Stream,
    /// The text; bytes that are not UTF-8 are replaced.
    pub text: String,
}

impl Output {
    /// All of it, streams not marked.
    pub fn to_text(&self) -> String {
        self.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
    }

    /// Keeps only the first or the last lines of what was read.
    pub fn keep(&mut self, part: &Part) {
        let text = self.to_text();
        let range = match part {
            Part::Head(lines) => 0..nth_line(&text, *lines),
            Part::Tail(lines) => {
                let all = text.lines().count() as u64;
                nth_line(&text, all.saturating_sub(*lines))..text.len()
            }
            Part::All | Part::New | Part::Bytes(_) | Part::Lines(_) => return,
        };
        let mut start = 0;
        for chunk in &mut self.chunks {
            let (from, to) =
                (range.start.clamp(start, start + chunk.text.len()), range.end.clamp(start, start + chunk.text.len()));
            let kept = chunk.text[from - start..to.max(from) - start].to_owned();
            start += chunk.text.len();
            chunk.text = kept;
        }
        self.chunks.retain(|chunk| !chunk.text.is_empty());
    }

    /// The text of one stream.
    pub fn of(&self, stream: Stream) -> String {
        self.chunks.iter().filter(|chunk| chunk.stream == stream).map(|chunk| chunk.text.as_str()).collect()
    }
}

/// Output that cannot be read as asked.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The filter is not a regular expression.
    #[error("Invalid filter regex '{pattern}': {reason}")]
    BadFilter {
        /// The filter.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The spool cannot be read.
    #[error("the output of task {id} cannot be read: {error}")]
    Unreadable {
        /// The task.
        id: String,
        /// What the system says.
        error: io::Error,
    },
}

/// Where line `number` of a text begins.
fn nth_line(text: &str, number: u64) -> usize {
    if number == 0 {
        return 0;
    }
    let place =
        usize::try_from(number - 1).ok().and_then(|number| memchr::memchr_iter(b'\n', text.as_bytes()).nth(number));
    place.map_or(text.len(), |newline| newline + 1)
}

/// How much is examined at once.
const STEP: u64 = 64 << 10;

impl Task {
    /// Reads its output. Works while it runs; a half character at the end waits for its other half.
    pub fn read(&self, cursor: &mut Cursor, request: &ReadRequest) -> Result<Output, ReadError> {
        let unreadable = |error| ReadError::Unreadable { id: self.id.clone(), error };
        self.read_view(cursor, request).map_err(unreadable)
    }

    /// The cursor of a reader that has this many bytes of all output, in the order of arrival.
    pub fn cursor_at(&self, place: u64) -> Result<Cursor, ReadError> {
        let view = OutputView::open(&self.source, Marked::Both, Cursor::default())
            .map_err(|error| ReadError::Unreadable { id: self.id.clone(), error })?;
        let [stdout, stderr] = view.reached(place);
        Ok(Cursor { stdout, stderr })
    }

    /// How many bytes it has printed so far.
    pub fn printed(&self) -> Result<u64, ReadError> {
        if let Some((stdout, stderr)) = self.totals {
            return Ok(stdout.written + stderr.written);
        }
        let spool = SpoolReader::open(&self.source.folder);
        let ends = spool.end(Stream::Stdout).and_then(|stdout| Ok((stdout, spool.end(Stream::Stderr)?)));
        let (stdout, stderr) = ends.map_err(|error| ReadError::Unreadable { id: self.id.clone(), error })?;
        Ok(stdout.saturating_sub(self.source.stdout) + stderr.saturating_sub(self.source.stderr))
    }

    /// The last bytes that it printed, `max` of them at most, all to the stream that it printed to last. Costs the same
    /// however much it printed.
    pub fn last_bytes(&self, max: u64) -> Result<Vec<u8>, ReadError> {
        let spool = SpoolReader::open(&self.source.folder);
        let read = || {
            let stream = spool.last_stream()?;
            let (end, base) = (spool.end(stream)?, [self.source.stdout, self.source.stderr][slot(stream)]);
            Ok(spool
                .read(stream, end.saturating_sub(max).max(base)..end)?
                .pop()
                .map_or_else(Vec::new, |last| last.bytes))
        };
        read().map_err(|error| ReadError::Unreadable { id: self.id.clone(), error })
    }

    /// What is kept of one stream from `offset` on, up to the first gap.
    pub(crate) fn bytes_from(&self, stream: Stream, offset: u64, max: usize) -> Result<KeptBytes, ReadError> {
        let base = [self.source.stdout, self.source.stderr][slot(stream)];
        let spool = SpoolReader::open(&self.source.folder);
        let pieces = spool.read(stream, base + offset..(base + offset).saturating_add(max as u64));
        let pieces = pieces.map_err(|error| ReadError::Unreadable { id: self.id.clone(), error })?;
        let mut found = KeptBytes { offset, bytes: Vec::new() };
        for piece in pieces {
            if found.bytes.is_empty() {
                found.offset = piece.offset - base;
            } else if piece.offset - base != found.offset + found.bytes.len() as u64 {
                break;
            }
            found.bytes.extend(piece.bytes);
        }
        Ok(found)
    }

    /// The next bytes for a reader that wants them as they are, `limit` at most, in the order of arrival; and how many of
    /// them are not kept. The reader moves on by both.
    pub(crate) fn pieces(&self, cursor: &mut Cursor, limit: u64) -> Result<(Pieces, u64), ReadError> {
        let read = |cursor: &mut Cursor| {
            let view = OutputView::open(&self.source, Marked::Both, *cursor)?;
            let end = view.length().min(limit);
            let pieces = view.read(0..end)?;
            let [stdout, stderr] = view.reached(end);
            *cursor = Cursor { stdout: stdout.max(cursor.stdout), stderr: stderr.max(cursor.stderr) };
            Ok(pieces)
        };
        read(cursor).map_err(|error| ReadError::Unreadable { id: self.id.clone(), error })
    }

    fn read_view(&self, cursor: &mut Cursor, request: &ReadRequest) -> io::Result<Output> {
        let from = if request.part == Part::New { *cursor } else { Cursor::default() };
        let view = OutputView::open(&self.source, request.streams, from)?;
        let before = match request.streams {
            Marked::Both => from.stdout + from.stderr,
            Marked::Only(stream) => [from.stdout, from.stderr][slot(stream)],
        };
        if let Some(filter) = &request.filter {
            let range = view.range(&request.part)?;
            let found = view.search(&range, filter, request.limit)?;
            let rest = if found.left_out > 0 { found.rest } else { range.end };
            return Ok(Output { end: before + rest, rest: before + rest, ..found });
        }
        let wanted = view.range(&request.part)?;
        let length = (wanted.end - wanted.start).min(request.limit);
        let cut = if matches!(request.part, Part::Tail(_)) {
            wanted.end - length..wanted.end
        } else {
            wanted.start..wanted.start + length
        };
        let (pieces, not_kept) = view.read(cut.clone())?;
        // A reader that reads on later gets the other half of a character then; any other gets what there is.
        let reads_on = request.part == Part::New && (self.status.is_running() || cut.end < view.length());
        let (chunks, held_back) =
            to_chunks(pieces, if reads_on { CutCharacter::HeldBack } else { CutCharacter::Shown });
        if request.part == Part::New {
            let reached = view.reached(cut.end);
            cursor.stdout = reached[0].max(cursor.stdout) - held_back[0];
            cursor.stderr = reached[1].max(cursor.stderr) - held_back[1];
        }
        let end = before + cut.end - held_back[0] - held_back[1];
        let rest =
            if matches!(request.part, Part::Tail(_)) && cut.start > wanted.start { before + wanted.start } else { end };
        Ok(Output { chunks, left_out: wanted.end - wanted.start - length, not_kept, matches: 0, end, rest })
    }
}

/// Stretches of output in an order, addressed as one text.
struct OutputView {
    spool: SpoolReader,
    base: [u64; 2],
    spans: Vec<Stretch>,
}

/// Bytes with the stream they came from.
pub(crate) type Pieces = Vec<(Stream, Vec<u8>)>;

fn slot(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}

impl OutputView {
    fn open(source: &OutputSource, streams: Marked, cursor: Cursor) -> io::Result<Self> {
        let spool = SpoolReader::open(&source.folder);
        let base = [source.stdout, source.stderr];
        let mut spans = spool.order([base[0] + cursor.stdout, base[1] + cursor.stderr])?;
        if let Marked::Only(only) = streams {
            spans.retain(|span| span.stream == only);
        }
        Ok(Self { spool, base, spans })
    }

    fn length(&self) -> u64 {
        self.spans.iter().map(|span| span.to - span.from).sum()
    }

    /// Where each stream stands, as a reader counts it, at this place of the view.
    fn reached(&self, mut place: u64) -> [u64; 2] {
        let mut reached = [0; 2];
        for span in &self.spans {
            let take = place.min(span.to - span.from);
            if take > 0 {
                reached[slot(span.stream)] = span.from + take - self.base[slot(span.stream)];
            }
            place -= take;
        }
        reached
    }

    /// The bytes of a range with their streams, and how many of them are not kept.
    fn read(&self, range: Range<u64>) -> io::Result<(Pieces, u64)> {
        let (mut pieces, mut kept, mut start) = (Vec::new(), 0, 0);
        for span in &self.spans {
            let end = start + (span.to - span.from);
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                let found = self.spool.read(span.stream, span.from + (from - start)..span.from + (to - start))?;
                for piece in found {
                    kept += piece.bytes.len() as u64;
                    pieces.push((span.stream, piece.bytes));
                }
            }
            start = end;
        }
        let wanted = range.end.min(start).saturating_sub(range.start.min(start));
        Ok((pieces, wanted - kept.min(wanted)))
    }

    /// The range of the view that a part stands for.
    fn range(&self, part: &Part) -> io::Result<Range<u64>> {
        let length = self.length();
        Ok(match part {
            Part::All | Part::New => 0..length,
            Part::Bytes(range) => range.start.min(length)..range.end.clamp(range.start.min(length), length),
            Part::Head(lines) => 0..self.line_start(*lines)?,
            Part::Lines(lines) => {
                let start = self.line_start(lines.start)?;
                start..self.line_start(lines.end)?.max(start)
            }
            Part::Tail(lines) => self.tail_start(*lines)?..length,
        })
    }

    /// Where line `number` begins; the end, if there are fewer.
    fn line_start(&self, number: u64) -> io::Result<u64> {
        let (mut left, length) = (number, self.length());
        let mut place = 0;
        while left > 0 && place < length {
            let step = self.flat(place..place + STEP)?;
            for offset in memchr::memchr_iter(b'\n', &step) {
                left -= 1;
                if left == 0 {
                    return Ok(place + offset as u64 + 1);
                }
            }
            place += STEP;
        }
        Ok(if number == 0 { 0 } else { length })
    }

    /// Where the last `lines` lines begin.
    fn tail_start(&self, lines: u64) -> io::Result<u64> {
        let length = self.length();
        if lines == 0 {
            return Ok(length);
        }
        let mut left = lines;
        // The newline at the very end finishes the last line, it does not begin another.
        let mut end = length.saturating_sub(1);
        while end > 0 {
            let start = end.saturating_sub(STEP);
            let step = self.flat(start..end)?;
            for offset in memchr::memrchr_iter(b'\n', &step) {
                left -= 1;
                if left == 0 {
                    return Ok(start + offset as u64 + 1);
                }
            }
            end = start;
        }
        Ok(0)
    }

    /// A range as bytes. What is not kept reads as NUL, so that offsets stay what they are.
    fn flat(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let (mut bytes, mut start) = (Vec::new(), 0);
        for span in &self.spans {
            let end = start + (span.to - span.from);
            let (from, to) = (range.start.max(start), range.end.min(end));
            if from < to {
                let base = bytes.len();
                bytes.resize(base + usize::try_from(to - from).unwrap_or(0), 0);
                let first = span.from + (from - start);
                for piece in self.spool.read(span.stream, first..span.from + (to - start))? {
                    let place = base + usize::try_from(piece.offset - first).unwrap_or(0);
                    bytes[place..place + piece.bytes.len()].copy_from_slice(&piece.bytes);
                }
            }
            start = end;
        }
        Ok(bytes)
    }

    /// The lines of a range that match, with their surroundings.
    fn search(&self, range: &Range<u64>, filter: &Filter, limit: u64) -> io::Result<Output> {
        let mut search = Search { filter, limit, output: Output::default(), before: Vec::new(), after: 0 };
        // A line belongs to a stream as a whole, so each stream has its own unfinished one.
        let mut unfinished =
            [Stream::Stdout, Stream::Stderr].map(|stream| FoundLine { stream, bytes: Vec::new(), start: 0 });
        let mut place = range.start;
        while place < range.end {
            let (pieces, not_kept) = self.read(place..(place + STEP).min(range.end))?;
            search.output.not_kept += not_kept;
            let mut start = place;
            for (stream, bytes) in pieces {
                let line = &mut unfinished[slot(stream)];
                for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                    if line.bytes.is_empty() {
                        line.start = start;
                    }
                    start += part.len() as u64;
                    line.bytes.extend_from_slice(part);
                    if part.ends_with(b"\n") || line.bytes.len() > LONGEST_LINE {
                        search.line(line);
                        line.bytes.clear();
                    }
                }
            }
            place += STEP;
        }
        for line in unfinished.iter().filter(|line| !line.bytes.is_empty()) {
            search.line(line);
        }
        Ok(search.output)
    }
}

/// A longer line is searched in pieces.
const LONGEST_LINE: usize = 1 << 20;

/// A line on its way through a search.
#[derive(Clone)]
struct FoundLine {
    stream: Stream,
    bytes: Vec<u8>,
    /// Where it begins in the view. What is not kept does not count within a piece, so this may be too low, never too
    /// high.
    start: u64,
}

struct Search<'a> {
    filter: &'a Filter,
    limit: u64,
    output: Output,
    before: Vec<FoundLine>,
    after: usize,
}

impl Search<'_> {
    fn line(&mut self, line: &FoundLine) {
        let content = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
        if self.filter.pattern.is_match(content) {
            self.output.matches += 1;
            for line in std::mem::take(&mut self.before) {
                self.give(&line);
            }
            self.give(line);
            self.after = self.filter.after;
        } else if self.after > 0 {
            self.after -= 1;
            self.give(line);
        } else if self.filter.before > 0 {
            if self.before.len() == self.filter.before {
                self.before.remove(0);
            }
            self.before.push(line.clone());
        }
    }

    /// Gives a line if there is room for it. After the first for which there is none, nothing more is given: whoever
    /// reads on from there misses nothing.
    fn give(&mut self, line: &FoundLine) {
        let given: usize = self.output.chunks.iter().map(|chunk| chunk.text.len()).sum();
        let room = usize::try_from(self.limit).unwrap_or(usize::MAX).saturating_sub(given);
        let shown = match line.bytes.len() {
            _ if self.output.left_out > 0 => 0,
            length if length <= room => length,
            // A line that has no room alone is cut; any other is left out whole.
            _ if given == 0 => whole_characters(&line.bytes[..room]),
            _ => 0,
        };
        if self.output.left_out == 0 {
            self.output.rest = line.start + shown as u64;
        }
        self.output.left_out += (line.bytes.len() - shown) as u64;
        push(&mut self.output.chunks, line.stream, &String::from_utf8_lossy(&line.bytes[..shown]));
    }
}

/// What becomes of a character that the end of what is read cuts in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutCharacter {
    /// The next read begins with it.
    HeldBack,
    /// There is no next read.
    Shown,
}

/// Turns pieces into text. Where a stream ends within a character, that is held back, or shown as damaged.
fn to_chunks(pieces: Pieces, cut: CutCharacter) -> (Vec<Chunk>, [u64; 2]) {
    let mut chunks = Vec::new();
    let mut carried = [Vec::new(), Vec::new()];
    for (stream, bytes) in pieces {
        let mut whole = std::mem::take(&mut carried[slot(stream)]);
        whole.extend(bytes);
        carried[slot(stream)] = whole.split_off(whole_characters(&whole));
        push(&mut chunks, stream, &String::from_utf8_lossy(&whole));
    }
    let mut held_back = [0; 2];
    for stream in [Stream::Stdout, Stream::Stderr] {
        let rest = &carried[slot(stream)];
        if cut == CutCharacter::HeldBack {
            held_back[slot(stream)] = rest.len() as u64;
        } else {
            push(&mut chunks, stream, &String::from_utf8_lossy(rest));
        }
    }
    (chunks, held_back)
}

fn push(chunks: &mut Vec<Chunk>, stream: Stream, text: &str) {
    match chunks.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.stream == stream => last.text.push_str(text),
        _ => chunks.push(Chunk { stream, text: text.to_owned() }),
    }
}
