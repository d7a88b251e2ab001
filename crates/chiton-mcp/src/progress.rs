//! What a client receives while a command runs: new output, at most ten times a second, and a sign of life in silence.
//!
//! Of much output only the last is sent, so most of it is never read for that: what waits is where it is in the spool.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chiton_engine::capture::spool::SpoolReader;
use chiton_engine::terminal::text::whole_characters;
use chiton_engine::{Lock, Stream};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// The least time between two messages.
const PACE: Duration = Duration::from_millis(100);
/// The longest silence.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Output that waits for a client that does not read. Beyond this the oldest is dropped: the result has all of it anyway.
const MOST_WAITING: u64 = 256 << 10;

/// Output on its way to the client.
#[derive(Clone, Default)]
pub(crate) struct OutputProgress {
    waiting: Arc<Lock<WaitingOutput>>,
    more: Arc<Notify>,
    over: Arc<Notify>,
}

/// Output that was not sent yet, in order.
#[derive(Default)]
struct WaitingOutput {
    pieces: VecDeque<Piece>,
    bytes: u64,
}

enum Piece {
    Bytes(Vec<u8>),
    /// This range of a stream, which is in the spool in that folder.
    Spooled(PathBuf, Stream, Range<u64>),
}

/// The task that sends it.
pub(crate) struct Sending {
    over: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Sending {
    /// Ends it, after the message that is on its way: nothing may follow the answer.
    pub(crate) async fn end(self) {
        self.over.notify_one();
        let _ = self.task.await;
    }
}

impl OutputProgress {
    /// Takes new output.
    pub(crate) fn add(&self, bytes: &[u8]) {
        self.waiting.lock().add(bytes);
        self.more.notify_one();
    }

    /// Takes new output that is in the spool.
    pub(crate) fn add_spooled(&self, folder: &Path, stream: Stream, range: Range<u64>) {
        self.waiting.lock().add_spooled(folder, stream, range);
        self.more.notify_one();
    }

    /// Sends it to the client from now on. `progress` is the time in milliseconds, so it always increases.
    pub(crate) fn send(&self, peer: Peer<RoleServer>, token: ProgressToken) -> Sending {
        let (progress, begun) = (self.clone(), Instant::now());
        let task = tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    () = progress.over.notified() => return,
                    more = timeout(HEARTBEAT, progress.more.notified()) => match more {
                        Ok(()) => progress.take(),
                        Err(_) => Some(format!("running for {} s", begun.elapsed().as_secs())),
                    },
                };
                if let Some(message) = message {
                    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a command's run")]
                    let elapsed = begun.elapsed().as_micros() as f64 / 1000.0;
                    let report = ProgressNotificationParam::new(token.clone(), elapsed).with_message(message);
                    if peer.notify_progress(report).await.is_err() {
                        return;
                    }
                }
                tokio::select! {
                    () = progress.over.notified() => return,
                    () = sleep(PACE) => {}
                }
            }
        });
        Sending { over: Arc::clone(&self.over), task }
    }

    /// Whole characters that wait.
    fn take(&self) -> Option<String> {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        // Read without the lock: the command does not wait for this.
        let mut bytes = waiting.read();
        let rest = bytes.split_off(whole_characters(&bytes));
        self.waiting.lock().put_back(rest);
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl WaitingOutput {
    fn add(&mut self, bytes: &[u8]) {
        match self.pieces.back_mut() {
            Some(Piece::Bytes(last)) => last.extend_from_slice(bytes),
            _ => self.pieces.push_back(Piece::Bytes(bytes.to_vec())),
        }
        self.bytes += bytes.len() as u64;
        self.drop_surplus();
    }

    fn add_spooled(&mut self, folder: &Path, stream: Stream, range: Range<u64>) {
        self.bytes += range.end - range.start;
        match self.pieces.back_mut() {
            Some(Piece::Spooled(last, of, known)) if last == folder && *of == stream && known.end == range.start => {
                known.end = range.end;
            }
            _ => self.pieces.push_back(Piece::Spooled(folder.to_owned(), stream, range)),
        }
        self.drop_surplus();
    }

    /// Puts back the beginning of a character, to be sent with the rest of it.
    fn put_back(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.bytes += bytes.len() as u64;
            self.pieces.push_front(Piece::Bytes(bytes));
        }
    }

    /// Drops the oldest, where more waits than may.
    fn drop_surplus(&mut self) {
        let mut surplus = self.bytes.saturating_sub(MOST_WAITING);
        self.bytes -= surplus;
        while let Some(piece) = self.pieces.front_mut().filter(|_| surplus > 0) {
            let dropped = surplus.min(piece.len());
            surplus -= dropped;
            match piece {
                _ if dropped == piece.len() => drop(self.pieces.pop_front()),
                Piece::Bytes(bytes) => drop(bytes.drain(..usize::try_from(dropped).unwrap_or(usize::MAX))),
                Piece::Spooled(_, _, range) => range.start += dropped,
            }
        }
    }

    /// All of it. What is gone from the spool meanwhile is left out.
    fn read(self) -> Vec<u8> {
        let mut all = Vec::new();
        for piece in self.pieces {
            match piece {
                Piece::Bytes(mut bytes) => all.append(&mut bytes),
                Piece::Spooled(folder, stream, range) => {
                    let kept = SpoolReader::open(&folder).read(stream, range).unwrap_or_default();
                    for mut kept in kept {
                        all.append(&mut kept.bytes);
                    }
                }
            }
        }
        all
    }
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Spooled(_, _, range) => range.end - range.start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent of `pieces`; those that are marked are in a spool.
    fn sent(pieces: &[(&[u8], bool)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let (progress, mut spool, mut from) = (OutputProgress::default(), Vec::new(), 0);
        for (bytes, is_spooled) in pieces {
            spool.extend_from_slice(bytes);
            std::fs::write(folder.path().join("stdout.0000000000000000"), &spool).unwrap();
            let to = from + bytes.len() as u64;
            if *is_spooled {
                progress.add_spooled(folder.path(), Stream::Stdout, from..to);
            } else {
                progress.add(bytes);
            }
            from = to;
        }
        progress.take()
    }

    #[test]
    fn output_is_sent_in_order_wherever_it_waits() {
        assert_eq!(sent(&[]), None);
        let pieces: [(&[u8], bool); 5] =
            [(b"one ", false), (b"two ", true), (b"three ", true), (b"four ", false), (b"five", true)];
        assert_eq!(sent(&pieces).as_deref(), Some("one two three four five"));
        assert_eq!(sent(&[(b"caf\xc3", true)]).as_deref(), Some("caf"), "the character is not complete");
    }

    #[test]
    fn of_too_much_the_last_is_sent() {
        let most = usize::try_from(MOST_WAITING).unwrap();
        let (long, end) = ("x".repeat(most), "the end");
        for spooled in [[false, false], [false, true], [true, false], [true, true]] {
            let text = sent(&[(long.as_bytes(), spooled[0]), (end.as_bytes(), spooled[1])]).unwrap();
            assert_eq!(text.len(), most);
            assert!(text.starts_with('x') && text.ends_with("xthe end"), "{spooled:?}");
        }
    }

    #[test]
    fn what_is_gone_from_the_spool_is_left_out() {
        let progress = OutputProgress::default();
        progress.add(b"here");
        progress.add_spooled(Path::new("/nonexistent"), Stream::Stdout, 0..10);
        assert_eq!(progress.take().as_deref(), Some("here"));
    }
}
