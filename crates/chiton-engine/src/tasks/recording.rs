//! What a terminal showed, with its times, as a recording.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use super::list::Task;
use crate::capture::spool::SpoolReader;
use crate::capture::times::{Moment, read_times};
use crate::run::Stream;
use chiton_terminal::cast::{CastHeader, CastWriter};

/// How much is read at once.
const STEP: u64 = 1 << 20;

/// Why there is no recording of a run.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It had no terminal.
    #[error("task {0} had no terminal, so there is no recording of one; its output is in its log")]
    NoTerminal(String),
    /// It cannot be read or written.
    #[error("the recording of task {id} cannot be written: {error}")]
    Io {
        /// The task.
        id: String,
        /// What the system says.
        error: io::Error,
    },
}

impl Task {
    /// Writes its recording as an asciicast. It is masked, as all output is; what is not in the spool is left out.
    pub fn write_cast<W: Write>(&self, to: W) -> Result<W, RecordingError> {
        let size = self.terminal.ok_or_else(|| RecordingError::NoTerminal(self.id.clone()))?;
        let started_at = self.started_at.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let header = CastHeader { size, started_at, command: self.command.clone(), title: self.description.clone() };
        self.cast(to, &header).map_err(|error| RecordingError::Io { id: self.id.clone(), error })
    }

    fn cast<W: Write>(&self, to: W, header: &CastHeader) -> io::Result<W> {
        let spool = SpoolReader::open(&self.source.folder);
        let (mut cast, mut given, mut last) = (CastWriter::new(to, header)?, 0, Duration::ZERO);
        for (at, moment) in read_times(&self.source.folder)? {
            last = at;
            match moment {
                Moment::Size(size) if size == header.size && at.is_zero() => {}
                Moment::Size(size) => cast.resize(at, size)?,
                Moment::Output(bytes) => {
                    while given < bytes {
                        let end = bytes.min(given + STEP);
                        for piece in spool.read(Stream::Stdout, given..end)? {
                            cast.output(at, &piece.bytes)?;
                        }
                        given = end;
                    }
                }
            }
        }
        for piece in spool.read(Stream::Stdout, given..u64::MAX)? {
            cast.output(last, &piece.bytes)?;
        }
        cast.finish()
    }
}
