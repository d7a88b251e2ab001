//! One end of a link: its ledger, and the pump that moves frames through the present pipe until that breaks.

use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use chiton_engine::clock::now_ms;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::frame::{Beat, Frames, Message, encode, garbled, put};
use crate::ledger::Ledger;

/// How often each side says that it is there.
const BEAT: Duration = Duration::from_secs(5);
/// A pipe that gives nothing for this long is broken.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);
/// When this much came, the other side is told at once, so that it need not keep it.
const TELL_AT: usize = 128 << 10;

/// One end of a link.
#[derive(Debug, Default)]
pub(crate) struct Line {
    ledger: Mutex<Ledger>,
    /// Something is to be written.
    wake: Notify,
    /// Beats that are to be written, without numbers.
    beats: Mutex<Vec<Beat>>,
}

impl Line {
    /// Sends a message, now or when there is a pipe again.
    pub(crate) fn post(&self, message: &Message) {
        self.with(|ledger| ledger.post(encode(message)));
        self.wake.notify_one();
    }

    /// Sends something about the pipe.
    pub(crate) fn beat(&self, beat: Beat) {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner).push(beat);
        self.wake.notify_one();
    }

    /// Works on the ledger.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Ledger) -> T) -> T {
        work(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Moves frames in both directions until the pipe breaks, and says why it did.
    pub(crate) async fn pump<R, W>(
        &self,
        frames: Frames,
        reader: R,
        writer: W,
        mut took: impl FnMut(Message),
        mut heard: impl FnMut(Beat),
    ) -> io::Error
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        // Whatever was waiting belongs to the pipe before.
        self.beats.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let ended = tokio::select! {
            ended = self.read(frames, reader, &mut took, &mut heard) => ended,
            ended = self.write(writer) => ended,
        };
        ended.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    async fn read(
        &self,
        mut frames: Frames,
        mut reader: impl AsyncRead + Unpin,
        took: &mut impl FnMut(Message),
        heard: &mut impl FnMut(Beat),
    ) -> io::Result<()> {
        loop {
            while let Some(frame) = frames.next()? {
                self.with(|ledger| ledger.seen(frame.seen))?;
                if frame.number > 0 {
                    if self.with(|ledger| ledger.accept(frame.number, frame.body.len()))? {
                        took(frame.read()?);
                    }
                    continue;
                }
                match frame.read()? {
                    Beat::Ping { token } => {
                        let clock = i64::try_from(now_ms()).unwrap_or(i64::MAX);
                        self.beat(Beat::Pong { token, clock });
                    }
                    other => heard(other),
                }
            }
            if self.with(|ledger| ledger.untold()) >= TELL_AT {
                self.beat(Beat::Seen);
            }
            let filled = timeout(SILENCE, frames.fill(&mut reader)).await;
            filled.map_err(|_| garbled("nothing was heard of the other side"))??;
        }
    }

    /// Writes what is still to be written, and no more.
    pub(crate) async fn flush(&self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut out = Vec::new();
        self.with(|ledger| {
            let seen = ledger.tell();
            for (number, body) in ledger.take_unsent() {
                put(&mut out, number, seen, body);
            }
        });
        writer.write_all(&out).await?;
        writer.flush().await
    }

    async fn write(&self, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut next = Instant::now() + BEAT;
        let mut out = Vec::new();
        loop {
            out.clear();
            let beats = std::mem::take(&mut *self.beats.lock().unwrap_or_else(PoisonError::into_inner));
            self.with(|ledger| {
                if !ledger.has_unsent() && beats.is_empty() {
                    return;
                }
                let seen = ledger.tell();
                for beat in &beats {
                    put(&mut out, 0, seen, &encode(beat));
                }
                for (number, body) in ledger.take_unsent() {
                    put(&mut out, number, seen, body);
                }
            });
            if !out.is_empty() {
                writer.write_all(&out).await?;
                writer.flush().await?;
                // It may hold values.
                zeroize::Zeroize::zeroize(&mut out[..]);
                continue;
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep_until(next) => {
                    next = Instant::now() + BEAT;
                    self.beat(Beat::Ping { token: 0 });
                }
            }
        }
    }
}
