//! The terminal of a run: the kernel's, the screen that is kept of it, and who types into it.
//!
//! 1. [`TerminalEnds`] are opened before the shell is started. The keeper is the leader of the terminal's session, so
//!    that the end of the shell does not hang up on what it left running; the shell is a group of its own in the
//!    foreground. The keeper holds the command's end open too, so its own end never reads as closed before the run is.
//! 2. [`HeldTerminal`] shows output on a [`Screen`], translates what is typed, and checks whether the command waits.
//!
//! How that is found out is left to [`super::blocked_on_tty`].

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

use super::blocked_call::Patience;
use super::blocked_on_tty::{self, Evidence, ReadMode, Sighting};
use super::reader;
use crate::capture::times::TimesWriter;
use crate::protocol::Denial;
use crate::run::{InputWait, Look, Typing, Typist};
use chiton_terminal::{Screen, Snapshot, TerminalSize, keys};

/// After this much silence the keeper checks whether the command waits for input; then after twice as much, and so on.
const QUIET: Duration = Duration::from_millis(60);
/// The longest time between two checks.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A command that was seen to wait is looked at again after this time, and only then said to wait.
const SECOND_LOOK: Duration = Duration::from_millis(30);
/// A program that waits for less than a second at a time has to be seen waiting for this long: vim waits for an answer of
/// its terminal for 100 ms when it leaves, and is gone then.
const PASSING: Duration = Duration::from_millis(300);

/// The two ends of a new terminal: ours, and the one that the command has.
pub(super) struct TerminalEnds {
    pub(super) ours: OwnedFd,
    pub(super) theirs: OwnedFd,
    path: PathBuf,
}

impl TerminalEnds {
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
    theirs: OwnedFd,
    path: PathBuf,
    screen: Screen,
    times: TimesWriter,
    started: Instant,
    typed_by_people: u64,
    /// When to check next whether the command waits; `None` once it does, until something happens.
    check_at: Option<Instant>,
    /// How long after that to check again.
    pause: Duration,
    /// How the command was seen to wait, and since when it has been.
    seen: Option<(Sighting, Instant)>,
}

impl HeldTerminal {
    pub(super) fn new(ends: TerminalEnds, size: TerminalSize, folder: &Path, started: Instant) -> Self {
        let mut times = TimesWriter::create(folder);
        times.size(Duration::ZERO, size);
        Self {
            ours: ends.ours,
            theirs: ends.theirs,
            path: ends.path,
            screen: Screen::new(size),
            times,
            started,
            typed_by_people: 0,
            check_at: Some(started + QUIET),
            pause: QUIET,
            seen: None,
        }
    }

    /// Shows output on the screen; `total` bytes have come by now. Gives what the terminal answers the program.
    pub(super) fn show(&mut self, bytes: &[u8], total: u64, now: Instant) -> Vec<u8> {
        self.on_screen(|screen| screen.feed(bytes));
        self.times.output(now.duration_since(self.started), total);
        self.note_activity(now);
        self.screen.take_answers()
    }

    /// What is typed, as the bytes that a keyboard would send in the terminal's present modes.
    pub(super) fn bytes_of(&mut self, what: &Typing, typist: Typist, now: Instant) -> Result<Vec<u8>, Denial> {
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
        self.note_activity(now);
        Ok(bytes)
    }

    /// The process that reads what is typed.
    pub(super) fn reader(&self) -> Option<i32> {
        reader::in_foreground(self.ours.as_fd())
    }

    /// How many bytes were typed and not read. A line that is not complete need not be among them.
    pub(super) fn unread(&self) -> usize {
        rustix::io::ioctl_fionread(&self.theirs).ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }

    /// The key that ends input, as the program has set it.
    pub(super) fn end_key(&self) -> u8 {
        tcgetattr(&self.ours).map_or(4, |modes| modes.special_codes[SpecialCodeIndex::VEOF])
    }

    pub(super) fn resize(&mut self, size: TerminalSize, now: Instant) -> Result<(), Denial> {
        TerminalSize::new(size.columns.into(), size.rows.into()).map_err(|error| Denial::Because(error.to_string()))?;
        set_size(&self.ours, size).map_err(|error| Denial::Because(error.to_string()))?;
        self.on_screen(|screen| screen.resize(size));
        self.times.size(now.duration_since(self.started), size);
        self.note_activity(now);
        Ok(())
    }

    pub(super) fn look(&mut self, people: usize) -> Look {
        let (screen, typed_by_people) = (self.snapshot(), self.typed_by_people);
        // One look is enough where the command waits for nothing but a key.
        let certain = |sighting: &Sighting| {
            let since = self.seen.filter(|(seen, _)| seen == sighting).map(|(_, since)| since);
            sighting.reader.patience == Patience::Lasting || since.is_some_and(|since| since.elapsed() >= PASSING)
        };
        let sighting = self.sighting().filter(certain);
        let waits = sighting.and_then(|sighting| self.input_wait(sighting));
        Look { screen, waits, people, typed_by_people }
    }

    /// How the command waits for input, where it does nothing else.
    fn sighting(&self) -> Option<Sighting> {
        let modes = tcgetattr(&self.ours).ok()?;
        let lines = modes.local_modes.contains(LocalModes::ICANON);
        let asks_for_password = lines && !modes.local_modes.contains(LocalModes::ECHO);
        // The terminal itself may end a read that gets no key, after so many tenths of a second.
        let ends_alone = !lines && modes.special_codes[SpecialCodeIndex::VMIN] == 0;
        let is_brief = ends_alone && modes.special_codes[SpecialCodeIndex::VTIME] < 10;
        let patience = if is_brief { Patience::Passing } else { Patience::Lasting };
        blocked_on_tty::sighting(self.ours.as_fd(), &self.path, ReadMode { asks_for_password, patience })
    }

    /// What a command that waits for input asks.
    fn input_wait(&mut self, sighting: Sighting) -> Option<InputWait> {
        let modes = tcgetattr(&self.ours).ok()?;
        let echo = modes.local_modes.contains(LocalModes::ECHO);
        let lines = modes.local_modes.contains(LocalModes::ICANON);
        let certain = sighting.evidence == Evidence::Seen;
        let screen = self.snapshot();
        // A program that reads keys one by one shows them itself where it wants to.
        Some(InputWait { prompt: screen.prompt(), echo: echo || !lines, certain })
    }

    /// When to check next whether the command waits.
    pub(super) fn next_check(&self) -> Option<Instant> {
        self.check_at
    }

    /// Checks whether the command waits, if that is due. It has to be seen waiting in the same way more than once: a
    /// program may look at its terminal for a moment while it leaves.
    pub(super) fn check_for_wait(&mut self, now: Instant) -> Option<InputWait> {
        if self.check_at.is_none_or(|due| now < due) {
            return None;
        }
        let Some(sighting) = self.sighting() else {
            self.seen = None;
            self.check_at = Some(now + self.pause);
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            return None;
        };

        let since = self.seen.filter(|(seen, _)| *seen == sighting).map_or(now, |(_, since)| since);
        self.seen = Some((sighting, since));
        let needed = if sighting.reader.patience == Patience::Lasting { SECOND_LOOK } else { PASSING };
        if now.duration_since(since) < needed {
            self.check_at = Some((now + QUIET).min(since + needed));
            return None;
        }
        // It stays so until something is printed or typed.
        self.check_at = None;
        self.input_wait(sighting)
    }

    /// Somebody new wants to know whether it waits. Where it was found to, that is checked again at once; while it was
    /// not, the next check is brought forward.
    pub(super) fn check_soon(&mut self, now: Instant) {
        self.pause = QUIET;
        self.check_at = Some(self.check_at.map_or(now, |due| due.min(now + QUIET)));
    }

    fn snapshot(&mut self) -> Snapshot {
        // The screen shows some output only now, and that is where the emulator may stumble.
        self.on_screen(Screen::catch_up);
        self.screen.snapshot()
    }

    /// A mistake in the emulator must not cost anybody their command. It costs the screen, which begins anew.
    fn on_screen(&mut self, act: impl FnOnce(&mut Screen)) {
        let size = self.screen.size();
        if catch_unwind(AssertUnwindSafe(|| act(&mut self.screen))).is_err() {
            self.screen = Screen::new(size);
        }
    }

    /// Something was printed or typed, so the command may be at work again.
    fn note_activity(&mut self, now: Instant) {
        self.pause = QUIET;
        self.check_at = Some(now + QUIET);
        self.seen = None;
    }

    /// Continues a command that was stopped by a key: there is no shell here with which anybody could.
    pub(super) fn continue_stopped(leader: i32) {
        // Asked without reaping: a leader that has ended instead is left for the loop.
        let Some(leader) = Pid::from_raw(leader) else { return };
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let Ok(Some(status)) = waitid(WaitId::Pid(leader), options) else { return };
        let by_key = [Signal::TSTP, Signal::TTIN, Signal::TTOU].map(Signal::as_raw);
        if status.stopping_signal().is_some_and(|signal| by_key.contains(&signal)) {
            let _ = kill_process_group(leader, Signal::CONT);
        }
    }

    /// The screen at the end; the times of its output are complete then.
    pub(super) fn finish(&mut self) -> Snapshot {
        self.times.settle();
        self.snapshot()
    }
}
