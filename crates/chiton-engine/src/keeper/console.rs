//! What a command reads, and the terminal where it has one.
//!
//! 1. Bytes for the command go through [`OpenInput`]: to a pipe, or to the terminal that is its standard input.
//! 2. Where there is a [`HeldTerminal`], output is shown on its screen, and keys are translated by its modes.
//!
//! Who may type and what is answered is left to [`super::requests`].

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::input::OpenInput;
use super::reader::{self, Given};
use super::terminal::HeldTerminal;
use crate::protocol::{Denial, ReaderReport};
use crate::run::{InputWait, Look, Typing, Typist};
use chiton_terminal::{Snapshot, TerminalSize};

pub(super) struct Console {
    input: OpenInput,
    terminal: Option<HeldTerminal>,
    /// What was written, and to whom.
    given: Given,
}

impl Console {
    pub(super) fn new(input: Option<File>, terminal: Option<HeldTerminal>) -> Self {
        Self { input: OpenInput::new(input), terminal, given: Given::default() }
    }

    pub(super) fn has_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// Shows output on the screen; `total` bytes have come by now.
    pub(super) fn show(&mut self, bytes: &[u8], total: u64) {
        let Some(terminal) = &mut self.terminal else { return };
        let answers = terminal.show(bytes, total, Instant::now());
        if !answers.is_empty() {
            // A program may ask its terminal something, where the cursor is for instance. One that does not read the
            // answer goes without: its queue must not hold up what somebody types.
            let _ = self.input.write(&answers);
        }
    }

    /// Takes bytes for the command.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Denial> {
        let (reader, unread) = (self.reader(), self.unread());
        self.input.write(bytes)?;
        self.given.note(reader, unread, bytes);
        Ok(())
    }

    /// The process that reads what is written now.
    fn reader(&self) -> Option<i32> {
        match &self.terminal {
            Some(terminal) => terminal.reader(),
            None => reader::of_pipe(self.input.pipe()?),
        }
    }

    /// Who reads what is written now; `leader` is the shell of the run.
    pub(super) fn report_reader(&mut self, leader: Option<i32>) -> ReaderReport {
        let (reader, unread) = (self.reader(), self.unread());
        self.given.report(reader, unread, leader)
    }

    /// How many bytes nobody has read yet.
    fn unread(&self) -> usize {
        let in_terminal = || self.terminal.as_ref().map(HeldTerminal::unread);
        in_terminal().unwrap_or_else(|| self.input.in_pipe()) + self.input.waiting()
    }

    /// How many writes there were.
    pub(super) fn writes(&self) -> u64 {
        self.given.writes()
    }

    /// Types into the terminal.
    pub(super) fn type_in(&mut self, what: &Typing, typist: Typist) -> Result<(), Denial> {
        let terminal = self.terminal.as_mut().ok_or(Denial::NoTerminal)?;
        let bytes = terminal.bytes_of(what, typist, Instant::now())?;
        self.write(&bytes)
    }

    /// Ends the input. A terminal has no end; there is a key that says so.
    pub(super) fn end_input(&mut self) -> Result<(), Denial> {
        match &self.terminal {
            Some(terminal) => self.input.write(&[terminal.end_key()]),
            None => self.input.end(),
        }
    }

    pub(super) fn resize(&mut self, size: TerminalSize) -> Result<(), Denial> {
        self.terminal.as_mut().ok_or(Denial::NoTerminal)?.resize(size, Instant::now())
    }

    /// The terminal as it is now, with so many people at it.
    pub(super) fn look(&mut self, people: usize) -> Option<Look> {
        self.terminal.as_mut().map(|terminal| terminal.look(people))
    }

    /// The screen at the end of the run.
    pub(super) fn last_screen(&mut self) -> Option<Snapshot> {
        self.terminal.as_mut().map(HeldTerminal::finish)
    }

    /// When to check next whether the command waits for input.
    pub(super) fn next_check(&self) -> Option<Instant> {
        self.terminal.as_ref().and_then(HeldTerminal::next_check)
    }

    /// Checks whether the command waits for input, if that is due.
    pub(super) fn check_for_wait(&mut self, now: Instant) -> Option<InputWait> {
        self.terminal.as_mut().and_then(|terminal| terminal.check_for_wait(now))
    }

    /// Somebody new wants to know whether the command waits for input.
    pub(super) fn check_soon(&mut self, now: Instant) {
        if let Some(terminal) = &mut self.terminal {
            terminal.check_soon(now);
        }
    }

    /// Where input goes, while some is waiting to be written.
    pub(super) fn wants_to_write(&self) -> Option<BorrowedFd<'_>> {
        self.input.wants_to_write()
    }

    /// Writes as much of the waiting input as the command takes.
    pub(super) fn push(&mut self) {
        self.input.push();
    }
}
