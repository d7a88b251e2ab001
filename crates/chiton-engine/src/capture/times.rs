//! When the output of a terminal came, and when its size changed: what makes a recording of a spool.
//!
//! One small file beside the spool. An entry has 17 bytes: what happened, microseconds since the start, and a number,
//! which is the bytes of output that had come by then or the size from then on. Times that a person cannot tell apart
//! become one, and the file has a limit; after that, the rest of the output counts as having come at once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use chiton_terminal::TerminalSize;

const NAME: &str = "times";
const ENTRY: usize = 17;
/// Twice the frames that a film has.
const APART: Duration = Duration::from_millis(20);
/// Twenty minutes without a pause, and hours of everything else; one megabyte.
const MOST: usize = 60_000;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// So many bytes of output had come in all.
    Output(u64),
    /// The terminal got this size.
    Size(TerminalSize),
}

pub(crate) struct TimesWriter {
    file: Option<File>,
    entries: usize,
    last: Option<Duration>,
    /// Output that came too soon after the last entry to have its own.
    owed: Option<(Duration, u64)>,
}

impl TimesWriter {
    pub(crate) fn create(folder: &Path) -> Self {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(folder.join(NAME)).ok();
        Self { file, entries: 0, last: None, owed: None }
    }

    /// At this time after the start, so many bytes of output had come in all.
    pub(crate) fn output(&mut self, at: Duration, bytes: u64) {
        if self.last.is_some_and(|last| at < last + APART) {
            let since = self.owed.map_or(at, |(since, _)| since);
            self.owed = Some((since, bytes));
            return;
        }
        self.settle();
        self.write(at, Moment::Output(bytes));
    }

    /// The terminal got another size.
    pub(crate) fn size(&mut self, at: Duration, size: TerminalSize) {
        self.settle();
        self.write(at, Moment::Size(size));
    }

    /// Writes down what is owed, since nothing follows for now.
    pub(crate) fn settle(&mut self) {
        if let Some((since, bytes)) = self.owed.take() {
            self.write(since, Moment::Output(bytes));
        }
    }

    fn write(&mut self, at: Duration, moment: Moment) {
        if self.entries >= MOST {
            return;
        }
        self.entries += 1;
        self.last = Some(at);
        let (kind, number) = match moment {
            Moment::Output(bytes) => (0, bytes),
            Moment::Size(size) => (1, u64::from(size.columns) << 16 | u64::from(size.rows)),
        };
        let micros = u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
        let mut entry = [kind; ENTRY];
        entry[1..9].copy_from_slice(&micros.to_le_bytes());
        entry[9..].copy_from_slice(&number.to_le_bytes());
        // On a full disk the output still counts; only its times are lost.
        if self.file.as_mut().is_some_and(|file| file.write_all(&entry).is_err()) {
            self.file = None;
        }
    }
}

/// All moments, in order.
pub(crate) fn read_times(folder: &Path) -> io::Result<Vec<(Duration, Moment)>> {
    let bytes = fs::read(folder.join(NAME))?;
    let number = |part: &[u8]| u64::from_le_bytes(part.try_into().unwrap_or_default());
    let entry = |entry: &[u8]| {
        let (at, value) = (Duration::from_micros(number(&entry[1..9])), number(&entry[9..]));
        let half = |bits: u64| u16::try_from(bits & 0xffff).unwrap_or(0);
        match entry[0] {
            0 => (at, Moment::Output(value)),
            _ => (at, Moment::Size(TerminalSize::nearest(half(value >> 16), half(value)))),
        }
    };
    Ok(bytes.chunks_exact(ENTRY).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back_those_too_near_as_one_and_never_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut times = TimesWriter::create(folder.path());
        let millis = Duration::from_millis;
        times.size(millis(0), TerminalSize::USUAL);
        for (at, bytes) in [(100, 10), (101, 20), (105, 30), (500, 40), (501, 50)] {
            times.output(millis(at), bytes);
        }
        times.size(millis(600), TerminalSize::WIDE);
        let expected = [
            (millis(0), Moment::Size(TerminalSize::USUAL)),
            (millis(100), Moment::Output(10)),
            (millis(101), Moment::Output(30)),
            (millis(500), Moment::Output(40)),
            (millis(501), Moment::Output(50)),
            (millis(600), Moment::Size(TerminalSize::WIDE)),
        ];
        assert_eq!(read_times(folder.path()).unwrap(), expected);
        (0..200_000u32).for_each(|number| times.output(millis(1000) * number, number.into()));
        let size = fs::metadata(folder.path().join(NAME)).unwrap().len();
        assert_eq!(size, (MOST * ENTRY) as u64);
    }
}
