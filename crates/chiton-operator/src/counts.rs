//! Counts the output of a command while it is passed on.

use std::sync::Arc;

use chiton_dialects::action::{Amount, Ran, ReportedPorts};
use chiton_dialects::text::LineCount;
use chiton_engine::tasks::Cursor;
use chiton_engine::terminal::text::whole_characters;
use chiton_engine::{Listener, Look, Outcome, PassedAmount, Response, RunEvent, RunReport, Stream, characters};

use crate::caller::{Caller, OnEvent};
use crate::keep::Kept;

/// Counts what arrives and passes it on.
pub(crate) struct OutputCounts {
    on_event: OnEvent,
    characters: [u64; 2],
    bytes: [u64; 2],
    /// The last few bytes of each stream.
    ends: [Vec<u8>; 2],
    lines: LineCount,
}

impl OutputCounts {
    pub(crate) fn new(caller: &Caller) -> Self {
        Self {
            on_event: Arc::clone(&caller.on_event),
            characters: [0; 2],
            bytes: [0; 2],
            ends: Default::default(),
            lines: LineCount::default(),
        }
    }

    /// Where a reader goes on. A character of which only the first half has arrived is left for the next read.
    pub(crate) fn cursor(&self) -> Cursor {
        let whole = |slot: usize| {
            let end = &self.ends[slot];
            self.bytes[slot] - (end.len() - whole_characters(end)) as u64
        };
        Cursor { stdout: whole(0), stderr: whole(1) }
    }

    /// The report with what was counted and kept.
    pub(crate) fn into_ran(self, report: Box<RunReport>, kept: Kept, moved: bool, screen: Option<Box<Look>>) -> Ran {
        let [stdout_characters, stderr_characters] = self.characters;
        let Cursor { stdout, stderr } = self.cursor();
        let bytes = if report.outcome == Outcome::Running { stdout + stderr } else { self.bytes.iter().sum() };
        let amount = Amount { bytes, lines: self.lines.lines() };
        let (response, Kept { cwd, notices }) = (Response::Ran(report), kept);
        Ran {
            response,
            cwd,
            notices,
            stdout_characters,
            stderr_characters,
            amount,
            moved,
            screen,
            transcript: None,
            number: None,
            shorter: None,
            ports: ReportedPorts::default(),
        }
    }
}

impl Listener for OutputCounts {
    fn receive(&mut self, event: RunEvent<'_>) {
        (self.on_event)(&event);
        let (stream, amount, end) = match event {
            RunEvent::Started { .. } => return,
            RunEvent::Output { stream, bytes } => {
                self.lines.count(bytes);
                let (count, characters) = (bytes.len() as u64, characters(bytes));
                let amount = PassedAmount { bytes: count, characters, lines: 0 };
                (stream, amount, &bytes[bytes.len().saturating_sub(3)..])
            }
            RunEvent::Passed { stream, amount, end, .. } => {
                self.lines.add(amount.lines, end.last().copied());
                (stream, amount, end)
            }
        };
        let slot = usize::from(stream == Stream::Stderr);
        self.characters[slot] += amount.characters;
        self.bytes[slot] += amount.bytes;
        let ends = &mut self.ends[slot];
        ends.extend_from_slice(end);
        ends.drain(..ends.len().saturating_sub(3));
    }

    fn wants_output(&self) -> bool {
        false
    }
}
