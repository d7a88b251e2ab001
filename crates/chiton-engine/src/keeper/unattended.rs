//! A program that waits for keys although the command has no terminal.
//!
//! 1. Most programs that want keys notice that there is nobody, say so and end. Some (vim) turn to their standard error,
//!    which is the terminal as a rule, and wait there. Here it is a pipe into which they write, so nothing ever comes.
//! 2. While a call waits for the command and nothing is printed, the keeper looks for a process that waits for nothing but
//!    the command's own output. It has to be seen twice.
//! 3. Such a process gets a hang-up, as if its terminal had been closed: editors save what they can and end. The rest of the
//!    command goes on, and the ending names the program.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::fstat;
use rustix::process::{Pid, Signal, kill_process};

use super::blocked_call::{BlockedReader, Patience, reader};
use super::blocked_on_tty::ProcessStatus;
use super::output::OutputPump;
use crate::run::Stream;
use crate::stop::descendants;

/// After this much silence the keeper looks for the first time; then after twice as much, and so on.
const QUIET: Duration = Duration::from_millis(200);
/// The longest time between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A process that was seen to wait is looked at again after this time.
const SECOND_LOOK: Duration = Duration::from_millis(60);

pub(super) struct Unattended {
    /// The pipes into which the command prints, as `/proc` names them.
    pipes: Vec<PathBuf>,
    check_at: Instant,
    pause: Duration,
    /// The process that was seen at the last look.
    seen: Option<BlockedReader>,
    /// Those that got a hang-up, which is sent once.
    hung_up: Vec<i32>,
    /// The program that got the first.
    program: Option<String>,
}

impl Unattended {
    pub(super) fn new(output: &OutputPump, started: Instant) -> Self {
        let streams = [Stream::Stdout, Stream::Stderr].into_iter();
        let pipes = streams.filter_map(|stream| fstat(output.pipe(stream)?).ok());
        let pipes = pipes.map(|status| format!("pipe:[{}]", status.st_ino).into()).collect();
        Self { pipes, check_at: started + QUIET, pause: QUIET, seen: None, hung_up: Vec::new(), program: None }
    }

    /// The command has printed something.
    pub(super) fn note_output(&mut self, now: Instant) {
        (self.check_at, self.pause, self.seen) = (now + QUIET, QUIET, None);
    }

    pub(super) fn next_check(&self) -> Instant {
        self.check_at
    }

    /// The program that would have waited for ever.
    pub(super) fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// Looks for a process that waits in vain, if that is due, and hangs up on it.
    pub(super) fn check(&mut self, now: Instant) {
        if now < self.check_at {
            return;
        }
        let found = self.find();
        let last = std::mem::replace(&mut self.seen, found);
        match found {
            Some(reader) if last == Some(reader) => self.hang_up(reader.process()),
            Some(_) => {
                self.check_at = now + SECOND_LOOK;
                return;
            }
            None => {}
        }
        self.check_at = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn find(&self) -> Option<BlockedReader> {
        let in_vain =
            |targets: &[PathBuf]| !targets.is_empty() && targets.iter().all(|target| self.pipes.contains(target));
        let mut found = None;
        for pid in descendants() {
            let Some(status) = ProcessStatus::of(pid) else { continue };
            if status.is_working() {
                return None;
            }
            if found.is_none() && !self.hung_up.contains(&pid) {
                found = reader(pid, Patience::Lasting, in_vain).ok().flatten();
            }
        }
        found
    }

    fn hang_up(&mut self, process: i32) {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        self.program.get_or_insert_with(|| name.trim_end().to_owned());
        self.hung_up.push(process);
        self.seen = None;
        if let Some(pid) = Pid::from_raw(process) {
            let _ = kill_process(pid, Signal::HUP);
        }
    }
}
