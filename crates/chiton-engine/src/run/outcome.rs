//! How a command ended. Every way has a name, and none is guessed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A signal, known by number and shown by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signal(i32);

/// Names of the classic signals by number, as on every Linux architecture but MIPS, Alpha and SPARC.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
];

impl Signal {
    /// SIGHUP.
    pub const HUP: Self = Self(libc::SIGHUP);
    /// SIGINT.
    pub const INT: Self = Self(libc::SIGINT);
    /// SIGTERM.
    pub const TERM: Self = Self(libc::SIGTERM);
    /// SIGKILL.
    pub const KILL: Self = Self(libc::SIGKILL);

    /// The signal with this number; `None` for numbers the kernel has no signal for.
    pub fn from_number(number: i32) -> Option<Self> {
        (1..=64).contains(&number).then_some(Self(number))
    }

    /// Reads `TERM`, `SIGTERM`, `term`, `15` or `SIGRTMIN+3`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(number) = text.parse() {
            return Self::from_number(number);
        }
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        if let Some(index) = NAMES.iter().position(|known| *known == name) {
            return i32::try_from(index + 1).ok().map(Self);
        }
        let offset: i32 = match name.strip_prefix("RTMIN")? {
            "" => 0,
            rest => rest.strip_prefix('+')?.parse().ok()?,
        };
        Self::from_number(34 + offset)
    }

    /// The number, as `kill -l` knows it.
    pub fn number(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::try_from(self.0 - 1).ok().and_then(|index| NAMES.get(index)) {
            Some(name) => write!(formatter, "SIG{name}"),
            None if self.0 >= 34 => write!(formatter, "SIGRTMIN+{}", self.0 - 34),
            None => write!(formatter, "signal {}", self.0),
        }
    }
}

/// How a run ended, or that it has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The shell exited by itself with this code.
    Exited(i32),
    /// The shell was ended by this signal, and nobody here sent it.
    Signaled(Signal),
    /// The time given was over; everything was stopped.
    TimedOut,
    /// The caller withdrew the call, or went away; everything was stopped.
    Cancelled,
    /// Somebody asked for this run to be killed; everything was stopped.
    Killed,
    /// Its keeper was killed, so nobody can say how it ended; what it had printed until then is in the spool.
    Lost,
    /// Still running: handed back alive.
    Running,
    /// The guard refused it; nothing was started.
    Refused(String),
}

impl Outcome {
    /// One word for machines, stable across versions.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Signaled(_) => "signaled",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
            Self::Lost => "lost",
            Self::Running => "running",
            Self::Refused(_) => "refused",
        }
    }

    /// The exit code, where there is one. A signal has none: `exit 137` and SIGKILL are different endings.
    pub fn exit_code(&self) -> Option<i32> {
        if let Self::Exited(code) = self { Some(*code) } else { None }
    }

    /// The signal that ended the shell, where one did.
    pub fn signal(&self) -> Option<Signal> {
        if let Self::Signaled(signal) = self { Some(*signal) } else { None }
    }

    /// Whether the command may commit what it changed in its session.
    pub(crate) fn commits(&self) -> bool {
        matches!(self, Self::Exited(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exited with code {code}"),
            Self::Signaled(signal) => write!(formatter, "was ended by {signal}"),
            Self::TimedOut => formatter.write_str("timed out"),
            Self::Cancelled => formatter.write_str("was cancelled"),
            Self::Killed => formatter.write_str("was killed"),
            Self::Lost => formatter.write_str("was lost: its keeper was killed"),
            Self::Running => formatter.write_str("is still running"),
            Self::Refused(reason) => write!(formatter, "was refused: {reason}"),
        }
    }
}

/// The limit that a run was stopped at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeLimit {
    /// The time from its start.
    Timeout,
    /// The time since it printed something.
    Silence,
}

impl TimeLimit {
    /// One word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Silence => "silence",
        }
    }
}

/// A process that was still alive when its command had ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// Its process id.
    pub pid: i32,
    /// Its command line, arguments separated by spaces; the name in brackets where it has none.
    pub command: String,
}

/// What a command and everything it started used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode, microseconds.
    pub user_us: u64,
    /// CPU time in the kernel, microseconds.
    pub system_us: u64,
    /// Peak resident memory of the largest process in the tree, bytes.
    pub peak_memory: u64,
}

impl Usage {
    /// Adds what one more process used.
    pub(crate) fn add(&mut self, other: Self) {
        self.user_us += other.user_us;
        self.system_us += other.system_us;
        self.peak_memory = self.peak_memory.max(other.peak_memory);
    }
}

/// What ends a run besides its own end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifetime {
    /// Belongs to the call that waits for it. If the caller goes away before the command has ended, the command and
    /// everything it started is stopped. What a command that *has* ended left running goes on, as after any shell.
    #[default]
    Call,
    /// Belongs to the session: may outlive its call, and is stopped, leftovers included, when the session is closed
    /// or the process that holds the session goes away.
    Session,
    /// Belongs to nobody: goes on until it ends by itself, its deadline comes, or somebody kills it.
    Durable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_name_reads_back_as_its_number() {
        for number in 1..=64 {
            let signal = Signal::from_number(number).unwrap();
            let shown = signal.to_string();
            if !shown.starts_with("signal") {
                assert_eq!(Signal::parse(&shown), Some(signal), "{shown}");
            }
        }
        assert_eq!(Signal::parse("term"), Some(Signal::TERM));
        assert_eq!(Signal::parse("9"), Some(Signal::KILL));
        assert_eq!(Signal::parse("0"), None);
        assert_eq!(Signal::parse("SIGNONE"), None);
    }
}
