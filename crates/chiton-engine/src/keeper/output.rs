//! Output on its way from the command to disk and to everybody who follows it.
//!
//! 1. [`KeptRun::pump`] reads a pipe and masks what it read; nothing that was not masked goes further.
//! 2. [`KeptRun::deliver`] stores it, shows it on the screen, and sends it, or word of it, to the audience.
//! 3. The first output goes to the caller in messages. Of what follows the caller learns only where it is in the spool.
//!
//! The pipe is the back-pressure: while the caller is behind, nothing is read and the command waits.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::audience::News;
use super::connection::{ClientRole, Peer};
use super::masking::OutputMasking;
use super::run::KeptRun;
use super::transcript::Transcript;
use crate::bytes::ByteString;
use crate::capture::spool::SpoolWriter;
use crate::limits::{BEHIND_BYTES, INLINE_BYTES, READ_BYTES};
use crate::protocol::{Report, RunPlan};
use crate::run::{InSpool, Outcome, Stream, StreamTotals};
use chiton_terminal::Snapshot;

/// More than a pipe can hold: what the leader wrote before it ended is read with certainty, and a chatty leftover is
/// not followed for ever.
const DRAIN_BYTES: usize = 2 << 20;
/// How long a terminal may lack what might become a value.
const HOLD: Duration = Duration::from_millis(40);
/// Reads of one pipe before the others get their turn.
const READS_IN_A_ROW: usize = 4;
/// What a pipe holds, and is read at once, after much was printed: as much as `cat` writes at once. So reader and writer
/// wait for each other half as often. A much larger pipe is slower: what is in it has left the processor's cache by the
/// time it is read. The kernel limits what all pipes of a user hold together, so others keep their usual size.
const WIDE_BYTES: usize = 128 << 10;
/// What a terminal gives at once where it has more.
const FULL_READ: usize = 4000;
/// How long the next bytes of a terminal are waited for while it gives as much as it can.
const NEXT_READ: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// Bytes before those that were read, where what was held back before can be put.
const HEADROOM: usize = 64;

pub(super) struct OutputPump {
    pipes: [Option<OwnedFd>; 2],
    masking: OutputMasking,
    /// What was read, behind some room.
    buffer: Vec<u8>,
    /// What that becomes, where it does not stay in the buffer.
    masked: Vec<u8>,
    /// Which pipes are wide by now.
    wide: [bool; 2],
    /// When a terminal shows what was held back because it might become a value: a prompt should not lack its end.
    reveal_at: Option<Instant>,
    spool: SpoolWriter,
    transcript: Option<Transcript>,
    /// Bytes that the caller was sent in messages.
    inlined: u64,
    /// What the caller can read from the spool, and was not reported yet.
    unreported: Option<(Stream, InSpool)>,
}

/// What a read from a pipe gave.
enum PipeRead {
    Bytes(usize),
    NothingYet,
    Closed,
}

impl OutputPump {
    pub(super) fn new(plan: &RunPlan, pipes: [Option<OwnedFd>; 2], masking: OutputMasking) -> Self {
        Self {
            pipes,
            masking,
            buffer: vec![0; HEADROOM + READ_BYTES],
            masked: Vec::new(),
            wide: [false; 2],
            reveal_at: None,
            spool: SpoolWriter::new(&plan.folder, plan.spool),
            transcript: plan
                .transcript
                .clone()
                .and_then(|path| Transcript::create(&path.into_path(), plan.spool.per_run).ok()),
            inlined: 0,
            unreported: None,
        }
    }

    pub(super) fn pipe(&self, stream: Stream) -> Option<&OwnedFd> {
        self.pipes[slot(stream)].as_ref()
    }

    pub(super) fn totals(&self, stream: Stream) -> StreamTotals {
        self.spool.totals(stream)
    }

    pub(super) fn spool(&self) -> &SpoolWriter {
        &self.spool
    }

    /// From now on these values are masked too.
    pub(super) fn mask(&mut self, masks: Vec<(String, ByteString)>) {
        self.masking.add(masks);
    }

    /// A text as it may be shown.
    pub(super) fn masked_text(&self, text: Vec<u8>) -> Vec<u8> {
        self.masking.text(text)
    }

    /// A screen as it may be shown.
    pub(super) fn mask_screen(&self, screen: &mut Snapshot) {
        self.masking.screen(screen);
    }

    pub(super) fn reveal_at(&self) -> Option<Instant> {
        self.reveal_at
    }

    /// Whether a terminal has lacked what was held back for long enough. Once.
    pub(super) fn take_time_to_reveal(&mut self, now: Instant) -> bool {
        self.reveal_at.take_if(|time| now >= *time).is_some()
    }

    /// Ends the transcript, where there is one, with a line that says how the run ended.
    pub(super) fn finish_transcript(&mut self, outcome: &Outcome) {
        if let Some(transcript) = &mut self.transcript {
            transcript.finish(outcome);
        }
    }

    fn read(&mut self, stream: Stream, max: usize, from_terminal: bool) -> PipeRead {
        let Some(pipe) = &self.pipes[slot(stream)] else { return PipeRead::NothingYet };
        let most = max.min(self.read_bytes(stream));
        let room = &mut self.buffer[HEADROOM..HEADROOM + most];
        match if from_terminal { read_repeatedly(pipe, room) } else { rustix::io::read(pipe, room) } {
            Ok(count) if count > 0 => PipeRead::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => PipeRead::NothingYet,
            // The end, or an error: a terminal whose other end is closed gives EIO.
            _ => {
                self.pipes[slot(stream)] = None;
                PipeRead::Closed
            }
        }
    }

    /// How much is read of `stream` at once.
    fn read_bytes(&self, stream: Stream) -> usize {
        if self.wide[slot(stream)] { WIDE_BYTES } else { READ_BYTES }
    }

    /// Much was printed, so more may come: gives the pipe more room.
    fn widen(&mut self, stream: Stream) {
        let Some(pipe) = self.pipes[slot(stream)].as_ref().filter(|_| !self.wide[slot(stream)]) else { return };
        self.wide[slot(stream)] = true;
        self.buffer.resize(HEADROOM + WIDE_BYTES, 0);
        // Where that is not possible, the pipe stays as it is: a terminal is none, and a user's pipes have a limit.
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, WIDE_BYTES);
    }

    fn store(&mut self, stream: Stream, bytes: &[u8]) -> Option<Vec<InSpool>> {
        let places = self.spool.append(stream, bytes);
        if let Some(transcript) = &mut self.transcript {
            transcript.append(bytes);
        }
        places
    }

    /// Whether the caller is referred to the spool from now on. Not where the spool is so small that what it was told of
    /// could be gone before it comes to read it.
    fn refers_to_spool(&self) -> bool {
        self.inlined >= INLINE_BYTES && self.spool.keeps_for(BEHIND_BYTES)
    }
}

impl KeptRun {
    /// Whether output is read now. The pipe is the back-pressure: while the caller is behind, the command waits. Once
    /// the ending is out, nobody is waited for: leftovers must not hang because of a caller that is done.
    pub(super) fn reads_output(&self) -> bool {
        self.family.lifecycle.is_announced() || !self.audience.is_behind()
    }

    /// Moves what there is of `stream`, up to an amount for which nobody else has to wait long.
    pub(super) fn pump_some(&mut self, stream: Stream) {
        for _ in 0..READS_IN_A_ROW {
            let most = self.output.read_bytes(stream);
            let count = self.pump(stream, most);
            if self.output.inlined >= INLINE_BYTES && count == most {
                self.output.widen(stream);
            }
            if count < most || !self.reads_output() {
                return;
            }
        }
    }

    /// Moves everything that was written before the leader ended.
    pub(super) fn drain(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut left = DRAIN_BYTES;
            while left > 0 {
                match self.pump(stream, left) {
                    0 => break,
                    count => left -= count,
                }
            }
            self.reveal(stream);
        }
        self.report_spooled();
    }

    /// Moves up to `max` bytes of `stream` to the spool and the audience; gives how many came.
    fn pump(&mut self, stream: Stream, max: usize) -> usize {
        match self.output.read(stream, max, self.console.has_terminal()) {
            PipeRead::Bytes(count) => {
                // Before it is delivered: that can take a while, which does not count as the command's silence.
                let now = Instant::now();
                self.clock.note_output(now);
                if let Some(unattended) = &mut self.unattended {
                    unattended.note_output(now);
                }
                self.mask_and_deliver(stream, count);
                count
            }
            PipeRead::NothingYet => 0,
            PipeRead::Closed => {
                // What was held back cannot become a value any more.
                self.reveal(stream);
                0
            }
        }
    }

    fn mask_and_deliver(&mut self, stream: Stream, count: usize) {
        // The buffers are taken out for as long as they are delivered from, and put back to be used again.
        let mut buffer = std::mem::take(&mut self.output.buffer);
        let arrived = HEADROOM..HEADROOM + count;
        if self.output.masking.is_off() {
            self.deliver(stream, &buffer[arrived]);
        } else {
            let mut masked = std::mem::take(&mut self.output.masked);
            let shown = self.output.masking.pass(stream, &mut buffer, arrived, &mut masked);
            self.deliver(stream, shown);
            self.output.masked = masked;

            let little = self.console.has_terminal() && self.output.masking.holds_little(stream);
            self.output.reveal_at = little.then(|| Instant::now() + HOLD);
        }
        self.output.buffer = buffer;
    }

    /// Delivers what was held back because it might have become a value.
    pub(super) fn reveal(&mut self, stream: Stream) {
        let mut rest = Vec::new();
        self.output.masking.flush(stream, &mut rest);
        self.deliver(stream, &rest);
    }

    /// Passes masked bytes on to everybody they are for: the spool and the transcript, the screen, the caller, and
    /// whoever watches or looks on.
    fn deliver(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }

        // Disk first: by the time a report of these bytes is received, they can be read there.
        let places = self.output.store(stream, bytes);
        self.console.show(bytes, self.output.totals(stream).written);
        self.feed_watches(stream, bytes);

        // Referred to only where all of it was kept.
        let referred = places.filter(|_| self.output.refers_to_spool());
        for place in referred.iter().flatten() {
            self.refer_to_spool(stream, *place);
        }
        if referred.is_none() {
            self.output.inlined += bytes.len() as u64;
            // What the caller was to read before these bytes has to be reported before them.
            self.report_spooled();
        }

        let (growth, announced) = (self.growth(), self.family.lifecycle.is_announced());
        let news = News { stream, bytes, referred: referred.is_some(), announced, growth: &growth };
        for index in (0..self.audience.connections().len()).rev() {
            if self.audience.send_news(index, &news) == Peer::Gone {
                self.disconnect(index);
            }
        }
    }

    /// Notes that the caller can read this from the spool. Neighbours become one report, so that a flood of output is
    /// reported once a round, not once a read.
    fn refer_to_spool(&mut self, stream: Stream, place: InSpool) {
        if let Some((last, unreported)) = &mut self.output.unreported
            && *last == stream
            && unreported.grow(place)
        {
            return;
        }
        self.report_spooled();
        self.output.unreported = Some((stream, place));
    }

    /// Tells the caller what it can read from the spool.
    pub(super) fn report_spooled(&mut self) {
        if let Some((stream, place)) = self.output.unreported.take() {
            self.audience.send_to(|role| role == ClientRole::Caller, &Report::Spooled(stream, place));
        }
    }

    /// How much output there is by now, for a watcher.
    pub(super) fn growth(&self) -> Report {
        let written = |stream| self.output.totals(stream).written;
        Report::Grew { stdout: written(Stream::Stdout), stderr: written(Stream::Stderr) }
    }
}

fn slot(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}

/// Reads until the room is used or nothing is left. A terminal gives no more than 4 KiB at once, and has the next ones a
/// moment later: as long as it gives that much, the next are waited for, so that they are delivered together.
fn read_repeatedly(pipe: &OwnedFd, room: &mut [u8]) -> Result<usize, Errno> {
    let (mut count, mut last) = (0, 0);
    while count < room.len() {
        match rustix::io::read(pipe, &mut room[count..]) {
            Ok(0) => break,
            Ok(more) => (count, last) = (count + more, more),
            Err(error) if count == 0 => return Err(error),
            Err(Errno::AGAIN) if last >= FULL_READ => {
                let mut polled = [PollFd::new(pipe, PollFlags::IN)];
                if !poll(&mut polled, Some(&NEXT_READ)).is_ok_and(|ready| ready > 0) {
                    break;
                }
                last = 0;
            }
            Err(_) => break,
        }
    }
    Ok(count)
}
