//! The terminal of a run: the kernel's, the screen that is kept of it, and who types into it.
//!
//! The keeper is the leader of the terminal's session, so that the end of the shell does not hang up on what it left
//! running; the shell is a group of its own in the foreground. The keeper holds the command's end open too, so nothing
//! that reads it is ever at its end before the command is.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};

use super::waiting;
use crate::capture::times::TimesWriter;
use crate::protocol::Denial;
use crate::run::{InputWait, Look, Typing, Typist};
use chiton_terminal::{Screen, TerminalSize, keys};

/// After so much silence it is looked whether the command waits for input; then after twice as much, and so on.
const QUIET: Duration = Duration::from_millis(60);
/// The longest time between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The two ends of a new terminal.
pub(super) struct Ends {
    pub(super) ours: OwnedFd,
    pub(super) theirs: OwnedFd,
    path: PathBuf,
}

impl Ends {
    /// Opens a terminal and makes it that of this session.
    pub(super) fn open(size: TerminalSize) -> io::Result<Self> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let theirs = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::process::ioctl_tiocsctty(&theirs)?;
        set_size(&ours, size)?;
        let mut modes = tcgetattr(&ours)?;
        // So that the erase key takes back a character, not a byte of it.
        modes.input_modes |= InputModes::IUTF8;
        tcsetattr(&ours, OptionalActions::Now, &modes)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let path = PathBuf::from(name.to_string_lossy().into_owned());
        Ok(Self { ours, theirs, path })
    }
}

fn set_size(terminal: impl AsFd, size: TerminalSize) -> io::Result<()> {
    let (ws_row, ws_col) = (size.rows, size.columns);
    Ok(tcsetwinsize(terminal, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?)
}

pub(super) struct HeldTerminal {
    ours: OwnedFd,
    _theirs: OwnedFd,
    path: PathBuf,
    screen: Screen,
    times: TimesWriter,
    started: Instant,
    typed_by_people: u64,
    /// When it is looked next whether the command waits, and how long after that again.
    look_at: Option<Instant>,
    pause: Duration,
}

impl HeldTerminal {
    pub(super) fn new(ends: Ends, size: TerminalSize, folder: &Path, started: Instant) -> Self {
        let mut times = TimesWriter::create(folder);
        times.size(Duration::ZERO, size);
        Self {
            ours: ends.ours,
            _theirs: ends.theirs,
            path: ends.path,
            screen: Screen::new(size),
            times,
            started,
            typed_by_people: 0,
            look_at: Some(started + QUIET),
            pause: QUIET,
        }
    }

    /// Shows output on the screen; `total` bytes have come by now. Gives what the program is to be answered.
    pub(super) fn show(&mut self, bytes: &[u8], total: u64, now: Instant) -> Vec<u8> {
        self.on_screen(|screen| screen.feed(bytes));
        self.times.output(now.duration_since(self.started), total);
        self.stir(now);
        self.screen.take_answers()
    }

    /// The bytes of what is typed.
    pub(super) fn typed(&mut self, what: &Typing, typist: Typist, now: Instant) -> Result<Vec<u8>, Denial> {
        let mode = self.screen.keyboard();
        let bytes = match what {
            Typing::Text(text) => keys::typed(text),
            Typing::Keys(names) => keys::keys(names, mode).map_err(|error| Denial::Because(error.to_string()))?,
            Typing::Paste(text) => keys::pasted(text, mode),
            Typing::Raw(bytes) => bytes.to_vec(),
        };
        if typist == Typist::Person {
            self.typed_by_people += 1;
        }
        self.stir(now);
        Ok(bytes)
    }

    /// The key that ends input, as the program has set it.
    pub(super) fn end_key(&self) -> u8 {
        tcgetattr(&self.ours).map_or(4, |modes| modes.special_codes[SpecialCodeIndex::VEOF])
    }

    pub(super) fn resize(&mut self, size: TerminalSize, now: Instant) -> Result<(), Denial> {
        let because = |error: String| Denial::Because(error);
        TerminalSize::new(size.columns.into(), size.rows.into()).map_err(|error| because(error.to_string()))?;
        set_size(&self.ours, size).map_err(|error| because(error.to_string()))?;
        self.on_screen(|screen| screen.resize(size));
        self.times.size(now.duration_since(self.started), size);
        self.stir(now);
        Ok(())
    }

    pub(super) fn look(&self, people: usize) -> Look {
        let (screen, typed_by_people) = (self.screen.snapshot(), self.typed_by_people);
        Look { waits: self.waits(), screen, people, typed_by_people }
    }

    /// Whether the command waits for input and does nothing else.
    pub(super) fn waits(&self) -> Option<InputWait> {
        let modes = tcgetattr(&self.ours).ok()?;
        let echo = modes.local_modes.contains(LocalModes::ECHO);
        let lines = modes.local_modes.contains(LocalModes::ICANON);
        let certain = waiting::for_terminal(self.ours.as_fd(), &self.path, lines && !echo)?;
        let screen = self.screen.snapshot();
        // A program that reads keys one by one shows them itself where it wants to.
        Some(InputWait { prompt: screen.prompt(), echo: echo || !lines, certain })
    }

    /// When the next look is due, where somebody wants to know.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// Looks, where that is due.
    pub(super) fn look_for_wait(&mut self, now: Instant) -> Option<InputWait> {
        if self.look_at.is_none_or(|due| now < due) {
            return None;
        }
        let found = self.waits();
        self.look_at = if found.is_some() {
            // It stays so until something happens.
            None
        } else {
            let due = now + self.pause;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            Some(due)
        };
        found
    }

    /// Somebody new wants to know whether it waits.
    pub(super) fn look_again(&mut self, now: Instant) {
        self.pause = QUIET;
        self.look_at = Some(self.look_at.map_or(now, |due| due.min(now + QUIET)));
    }

    /// No mistake in the emulator may cost anybody their command: it would cost its screen, which begins anew.
    fn on_screen(&mut self, act: impl FnOnce(&mut Screen)) {
        let size = self.screen.size();
        if catch_unwind(AssertUnwindSafe(|| act(&mut self.screen))).is_err() {
            self.screen = Screen::new(size);
        }
    }

    /// Something happened.
    fn stir(&mut self, now: Instant) {
        self.pause = QUIET;
        self.look_at = Some(now + QUIET);
    }

    /// Continues a command that was stopped by a key: nobody here could call it back.
    pub(super) fn continue_stopped(leader: i32) {
        let Some(leader) = Pid::from_raw(leader) else { return };
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let Ok(Some(status)) = waitid(WaitId::Pid(leader), options) else { return };
        let by_key = [Signal::TSTP, Signal::TTIN, Signal::TTOU].map(Signal::as_raw);
        if status.stopping_signal().is_some_and(|signal| by_key.contains(&signal)) {
            let _ = kill_process_group(leader, Signal::CONT);
        }
    }

    /// Nothing more comes: what is written down about it.
    pub(super) fn finish(&mut self) -> chiton_terminal::Snapshot {
        self.times.settle();
        self.screen.snapshot()
    }
}
