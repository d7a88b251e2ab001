//! A plain file that grows with a run's output and ends with a line that says how it ended.
//!
//! It has a limit and may lose its disk; what is missing is counted in that last line. Writing never fails: the command
//! goes on.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::run::Outcome;

pub(super) struct Transcript {
    file: File,
    room: u64,
    /// The last byte was not the end of a line.
    open_line: bool,
    /// Bytes that are not in the file.
    dropped: u64,
}

impl Transcript {
    /// A new file at `path` for up to `room` bytes of output.
    pub(super) fn create(path: &Path, room: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self { file, room, open_line: false, dropped: 0 })
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        // Once something is missing nothing more is written: a gap in the middle could not be seen.
        let fits = bytes.len().min(usize::try_from(self.room).unwrap_or(usize::MAX));
        let written = if self.dropped == 0 { self.file.write(&bytes[..fits]).unwrap_or(0) } else { 0 };
        self.room -= written as u64;
        self.dropped += (bytes.len() - written) as u64;
        if let Some(last) = bytes[..written].last() {
            self.open_line = *last != b'\n';
        }
    }

    /// Writes the last line.
    pub(super) fn finish(&mut self, outcome: &Outcome) {
        let start = if self.open_line { "\n" } else { "" };
        let gap = if self.dropped > 0 {
            format!("[{} more bytes are not in this file]\n", self.dropped)
        } else {
            String::new()
        };
        let _ = writeln!(self.file, "{start}{gap}[the command {outcome}]");
    }
}
