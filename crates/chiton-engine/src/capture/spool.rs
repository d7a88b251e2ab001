//! The output of one run on disk: append-only segments, each named by the offset of its first byte.
//!
//! - `stdout.0000000000000000`, `stderr.…`: raw bytes, readable with any tool. A gap between the end of one segment
//!   and the name of the next is exactly what was omitted there; nothing else has to be written down.
//! - `order`: for runs with two streams, which stream came next: nine bytes for every change from one to the other.
//!
//! When the quota is reached, the oldest segment between beginning and end goes. When the disk is full, or fuller than
//! the floor allows, the same happens, and where nothing can go the new bytes are counted instead of kept. Writing
//! never fails and never waits: the command goes on.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::bytes::lines_and_characters;
use crate::folder::{segment_name, stream_name};
use crate::limits::{READ_BYTES, SpoolLimits};
use crate::run::{InSpool, Stream, StreamTotals};

/// How many segments a quota is cut into.
const SEGMENTS: u64 = 16;
/// Free space is checked again after this many bytes.
const CHECK_EVERY: u64 = 4 << 20;
/// Changes of stream that are written down; after that the streams are still whole, only their order is not known.
const MAX_SWITCHES: u32 = 1 << 20;
/// Bytes of an entry in `order`.
const ORDER_ENTRY: u64 = 9;

/// Writes the spool of one run.
pub(crate) struct SpoolWriter {
    folder: PathBuf,
    limits: SpoolLimits,
    streams: [StreamSpool; 2],
    order: OrderLog,
    used: u64,
    until_check: u64,
    below_floor: bool,
}

#[derive(Default)]
struct StreamSpool {
    written: u64,
    segments: VecDeque<Segment>,
    /// The last segment, while it can take more.
    open: Option<File>,
}

#[derive(Clone, Copy)]
struct Segment {
    start: u64,
    length: u64,
}

impl SpoolWriter {
    pub(crate) fn new(folder: &Path, limits: SpoolLimits) -> Self {
        Self {
            folder: folder.to_owned(),
            limits,
            streams: Default::default(),
            order: OrderLog::default(),
            used: 0,
            until_check: 0,
            below_floor: false,
        }
    }

    /// Takes the next bytes of `stream`: kept where there is room, counted in any case. Gives where they are, if all of
    /// them were kept.
    pub(crate) fn append(&mut self, stream: Stream, mut bytes: &[u8]) -> Option<Vec<InSpool>> {
        let mut places = Some(Vec::new());
        // Before the bytes: whoever reads up to some byte must find its place in the order.
        self.order.note(&self.folder, stream, self.streams[index(stream)].written);
        while !bytes.is_empty() {
            let room = self.segment_size() - self.open_length(stream);
            let part = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
            let kept = self.write(stream, part);
            let spool = &mut self.streams[index(stream)];
            match (&mut places, spool.segments.back()) {
                (Some(places), Some(segment)) if kept == part.len() => {
                    let (lines, characters) = lines_and_characters(part);
                    places.push(InSpool {
                        segment: segment.start,
                        from: spool.written,
                        count: part.len() as u64,
                        lines,
                        characters,
                    });
                }
                _ => places = None,
            }
            spool.written += part.len() as u64;
            if kept < part.len() || part.len() as u64 == room {
                // A gap follows, or the segment is full: the next byte starts a new one.
                spool.open = None;
            }
            bytes = &bytes[part.len()..];
        }
        places
    }

    /// Whether a reader that is at most `behind` bytes behind still finds everything here: those bytes reach back into
    /// the segment before the last at most, and the oldest segments go first.
    pub(crate) fn keeps_for(&self, behind: u64) -> bool {
        self.segment_size() >= 2 * behind
    }

    pub(crate) fn totals(&self, stream: Stream) -> StreamTotals {
        let spool = &self.streams[index(stream)];
        StreamTotals { written: spool.written, kept: spool.segments.iter().map(|segment| segment.length).sum() }
    }

    fn segment_size(&self) -> u64 {
        (self.limits.per_run / SEGMENTS).max(1)
    }

    fn open_length(&self, stream: Stream) -> u64 {
        let spool = &self.streams[index(stream)];
        if spool.open.is_none() { 0 } else { spool.segments.back().map_or(0, |segment| segment.length) }
    }

    /// Writes as much of `part` as can be kept; gives how much that was.
    fn write(&mut self, stream: Stream, part: &[u8]) -> usize {
        if !self.make_room(part.len() as u64) {
            return 0;
        }
        let mut done = 0;
        while done < part.len() {
            match self.write_some(stream, &part[done..]) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Full or broken: drop an old segment and try once more, else this is a gap.
                Err(_) if self.drop_oldest() => {}
                Err(_) => break,
            }
        }
        done
    }

    fn write_some(&mut self, stream: Stream, part: &[u8]) -> io::Result<usize> {
        let spool = &mut self.streams[index(stream)];
        if spool.open.is_none() {
            let start = spool.written;
            let path = self.folder.join(segment_name(stream, start));
            spool.open = Some(OpenOptions::new().append(true).create(true).mode(0o600).open(path)?);
            spool.segments.push_back(Segment { start, length: 0 });
        }
        let (Some(file), Some(segment)) = (spool.open.as_mut(), spool.segments.back_mut()) else { return Ok(0) };
        let count = file.write(part)?;
        segment.length += count as u64;
        self.used += count as u64;
        Ok(count)
    }

    fn make_room(&mut self, bytes: u64) -> bool {
        while self.used + bytes > self.limits.per_run {
            if !self.drop_oldest() {
                return false;
            }
        }
        if self.until_check < bytes {
            self.below_floor = self.is_below_floor();
            self.until_check = CHECK_EVERY;
        }
        self.until_check = self.until_check.saturating_sub(bytes);
        !self.below_floor || self.drop_oldest()
    }

    /// Whether the disk is fuller than we may leave it. One that cannot be asked counts as empty enough: a write that
    /// fails is noticed anyway.
    fn is_below_floor(&self) -> bool {
        let Ok(space) = rustix::fs::statvfs(&self.folder) else { return false };
        let percent = space.f_blocks * space.f_frsize / 100 * u64::from(self.limits.free_percent);
        space.f_bavail * space.f_frsize < percent.min(self.limits.free_bytes)
    }

    /// Removes the oldest segment that is neither beginning nor end, from the stream that has more of them.
    fn drop_oldest(&mut self) -> bool {
        let head = self.limits.per_run / 4;
        let droppable = |spool: &StreamSpool| {
            let end = spool.segments.len().saturating_sub(1);
            spool.segments.iter().take(end).position(|segment| segment.start >= head)
        };
        let stream = [Stream::Stdout, Stream::Stderr]
            .into_iter()
            .filter(|stream| droppable(&self.streams[index(*stream)]).is_some())
            .max_by_key(|stream| self.streams[index(*stream)].segments.len());
        let Some(stream) = stream else { return false };
        let spool = &mut self.streams[index(stream)];
        let Some(segment) = droppable(spool).and_then(|place| spool.segments.remove(place)) else { return false };
        self.used -= segment.length;
        fs::remove_file(self.folder.join(segment_name(stream, segment.start))).is_ok()
    }
}

#[derive(Default)]
struct OrderLog {
    last: Option<Stream>,
    switches: u32,
    file: Option<File>,
}

impl OrderLog {
    fn note(&mut self, folder: &Path, stream: Stream, offset: u64) {
        if self.last == Some(stream) || self.switches >= MAX_SWITCHES {
            return;
        }
        // A run that only ever writes to stdout, which is most of them, needs no order.
        if self.last.is_none() && stream == Stream::Stdout {
            self.last = Some(stream);
            return;
        }
        if self.file.is_none() {
            self.file = OpenOptions::new().append(true).create(true).mode(0o600).open(folder.join("order")).ok();
        }
        let mut entry = [0u8; 9];
        entry[0] = u8::from(stream == Stream::Stderr);
        entry[1..].copy_from_slice(&offset.to_le_bytes());
        if self.file.as_mut().is_some_and(|file| file.write_all(&entry).is_ok()) {
            self.last = Some(stream);
            self.switches += 1;
        }
    }
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}

/// Reads what a keeper reports to be in the spool, right after it was written. A segment that was begun is held open, so
/// it can be read to its end even if the keeper removes it meanwhile.
#[derive(Debug)]
pub(crate) struct SpoolFollower {
    folder: PathBuf,
    open: [Option<(u64, File)>; 2],
    buffer: Vec<u8>,
}

impl SpoolFollower {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), open: [None, None], buffer: Vec::new() }
    }

    /// Where the spool is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the bytes at `place` to `take`, piece by piece; returns how many of them are not there any more.
    pub(crate) fn read(&mut self, stream: Stream, place: InSpool, mut take: impl FnMut(&[u8])) -> u64 {
        let open = &mut self.open[index(stream)];
        if open.as_ref().is_none_or(|(segment, _)| *segment != place.segment) {
            let file = File::open(self.folder.join(segment_name(stream, place.segment)));
            *open = file.ok().map(|file| (place.segment, file));
        }
        let Some((_, file)) = open else { return place.count };
        self.buffer.resize(READ_BYTES, 0);
        let (mut offset, mut left) = (place.from - place.segment, place.count);
        while left > 0 {
            let room = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match file.read_at(&mut self.buffer[..room], offset) {
                Ok(0) => break,
                Ok(count) => {
                    take(&self.buffer[..count]);
                    offset += count as u64;
                    left -= count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        left
    }
}

/// Reads the spool of one run, also while it is being written.
#[derive(Debug)]
pub struct SpoolReader {
    folder: PathBuf,
}

/// Bytes of a stream and where they stand in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBytes {
    /// Offset of the first byte in the stream.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl SpoolReader {
    /// The spool in `folder`.
    pub fn open(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The segments of `stream` in order, as `(first offset, length, path)`.
    fn segments(&self, stream: Stream) -> io::Result<Vec<(u64, u64, PathBuf)>> {
        let prefix = format!("{}.", stream_name(stream));
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let start = name.to_str().and_then(|name| name.strip_prefix(&prefix));
            let Some(start) = start.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else { continue };
            // The keeper may remove a segment between the listing and this.
            if let Ok(data) = entry.metadata() {
                found.push((start, data.len(), entry.path()));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The offset after the last byte that is in the spool.
    pub fn end(&self, stream: Stream) -> io::Result<u64> {
        Ok(self.segments(stream)?.last().map_or(0, |(start, length, _)| start + length))
    }

    /// The stream that was printed to last; stdout where nobody wrote an order down.
    pub fn last_stream(&self) -> io::Result<Stream> {
        let mut log = match File::open(self.folder.join("order")) {
            Ok(log) => log,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stream::Stdout),
            Err(error) => return Err(error),
        };
        let entries = log.metadata()?.len() / ORDER_ENTRY;
        let Some(last) = entries.checked_sub(1) else { return Ok(Stream::Stdout) };
        let mut stream = [0];
        log.seek(SeekFrom::Start(last * ORDER_ENTRY))?;
        log.read_exact(&mut stream)?;
        Ok(if stream == [1] { Stream::Stderr } else { Stream::Stdout })
    }

    /// What is kept of `range`. Pieces that do not touch mean that what lies between is not kept.
    pub fn read(&self, stream: Stream, range: Range<u64>) -> io::Result<Vec<KeptBytes>> {
        let mut pieces = Vec::new();
        for (start, length, path) in self.segments(stream)? {
            let (from, to) = (range.start.max(start), range.end.min(start + length));
            if from >= to {
                continue;
            }
            let Ok(mut file) = File::open(&path) else { continue };
            file.seek(SeekFrom::Start(from - start))?;
            let mut bytes = Vec::new();
            file.take(to - from).read_to_end(&mut bytes)?;
            pieces.push(KeptBytes { offset: from, bytes });
        }
        Ok(pieces)
    }

    /// The order of arrival of what lies beyond `from`, as far as it is written by now.
    ///
    /// A change of stream is written down before the bytes it leads to. So the ends are read first: everything before
    /// them has its place in the order that is read afterwards.
    pub fn order(&self, from: [u64; 2]) -> io::Result<Vec<Stretch>> {
        let ends = [self.end(Stream::Stdout)?, self.end(Stream::Stderr)?];
        let log = match fs::read(self.folder.join("order")) {
            Ok(log) => log,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut spans = vec![Stretch { stream: Stream::Stdout, from: 0, to: 0 }];
        spans.extend(log.chunks_exact(9).map(|entry| {
            let stream = if entry[0] == 1 { Stream::Stderr } else { Stream::Stdout };
            let offset = u64::from_le_bytes(entry[1..].try_into().unwrap_or_default());
            Stretch { stream, from: offset, to: offset }
        }));
        // Each span ends where its own stream goes on next, the last ones at the ends.
        let mut reached = ends;
        for span in spans.iter_mut().rev() {
            let slot = index(span.stream);
            span.to = reached[slot].max(span.from);
            reached[slot] = reached[slot].min(span.from);
            span.to = span.to.min(ends[slot]);
            span.from = span.from.max(from[slot]);
        }
        spans.retain(|span| span.from < span.to);
        Ok(spans)
    }
}

/// A stretch of one stream, by offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The stream.
    pub stream: Stream,
    /// Offset of the first byte.
    pub from: u64,
    /// Offset after the last byte.
    pub to: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(per_run: u64) -> SpoolLimits {
        SpoolLimits { per_run, free_bytes: 0, ..SpoolLimits::default() }
    }

    fn data(length: usize) -> Vec<u8> {
        (0..length).map(|place| u8::try_from(place * 7 % 251).unwrap()).collect()
    }

    #[test]
    fn below_the_quota_every_byte_is_kept_whatever_the_chunks() {
        for chunk in [1, 3, 100, 4096] {
            let folder = tempfile::tempdir().unwrap();
            let mut spool = SpoolWriter::new(folder.path(), limits(64 << 10));
            let bytes = data(50_000);
            bytes.chunks(chunk).for_each(|part| drop(spool.append(Stream::Stdout, part)));
            assert_eq!(spool.totals(Stream::Stdout), StreamTotals { written: 50_000, kept: 50_000 });
            let pieces = SpoolReader::open(folder.path()).read(Stream::Stdout, 0..u64::MAX).unwrap();
            assert_eq!(pieces.into_iter().flat_map(|piece| piece.bytes).collect::<Vec<_>>(), bytes);
        }
    }

    #[test]
    fn beyond_the_quota_beginning_and_end_are_exact_and_the_gap_is_counted() {
        for chunk in [7, 1000, 65_536] {
            let folder = tempfile::tempdir().unwrap();
            let mut spool = SpoolWriter::new(folder.path(), limits(64 << 10));
            let bytes = data(1_000_000);
            bytes.chunks(chunk).for_each(|part| drop(spool.append(Stream::Stdout, part)));
            let totals = spool.totals(Stream::Stdout);
            assert_eq!(totals.written, 1_000_000);
            assert!(totals.kept <= 64 << 10 && totals.kept >= 56 << 10, "{totals:?}");
            let pieces = SpoolReader::open(folder.path()).read(Stream::Stdout, 0..u64::MAX).unwrap();
            let mut kept = 0;
            for piece in &pieces {
                let from = usize::try_from(piece.offset).unwrap();
                assert_eq!(piece.bytes, bytes[from..from + piece.bytes.len()]);
                kept += piece.bytes.len() as u64;
            }
            assert_eq!(kept, totals.kept);
            assert_eq!(pieces[0].offset, 0);
            let last = pieces.last().unwrap();
            assert_eq!(last.offset + last.bytes.len() as u64, 1_000_000);
        }
    }

    #[test]
    fn two_streams_come_back_in_the_order_of_arrival() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = SpoolWriter::new(folder.path(), limits(1 << 20));
        let script = [
            (Stream::Stdout, "one "),
            (Stream::Stderr, "two "),
            (Stream::Stderr, "three "),
            (Stream::Stdout, "four "),
            (Stream::Stderr, "five"),
        ];
        for (stream, text) in script {
            spool.append(stream, text.as_bytes());
        }
        let reader = SpoolReader::open(folder.path());
        let mut text = String::new();
        for span in reader.order([0, 0]).unwrap() {
            for piece in reader.read(span.stream, span.from..span.to).unwrap() {
                text.push_str(std::str::from_utf8(&piece.bytes).unwrap());
            }
        }
        assert_eq!(text, "one two three four five");
        assert_eq!(reader.last_stream().unwrap(), Stream::Stderr);
        assert_eq!(SpoolReader::open(&folder.path().join("gone")).last_stream().unwrap(), Stream::Stdout);
        let later = reader.order([4, 5]).unwrap();
        assert_eq!(later[0], Stretch { stream: Stream::Stderr, from: 5, to: 10 });
    }

    #[test]
    fn a_folder_that_vanished_costs_bytes_but_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = SpoolWriter::new(&folder.path().join("gone"), limits(1 << 20));
        spool.append(Stream::Stdout, b"lost");
        assert_eq!(spool.totals(Stream::Stdout), StreamTotals { written: 4, kept: 0 });
    }
}
