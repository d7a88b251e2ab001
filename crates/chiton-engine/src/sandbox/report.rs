//! What a sandbox tells: which of its layers hold, and what it refused.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The layers that hold a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// The profile that was asked for.
    pub profile: String,
    /// What keeps files: `mounts, landlock 7`.
    pub files: String,
    /// What can be reached: `open`, `off`, `names`, or `names by a proxy`.
    pub network: String,
    /// Whom signals reach.
    pub signals: String,
    /// What is limited: `memory, processes`.
    pub limits: String,
    /// What sees a refusal, so that it can be told.
    pub watch: String,
    /// What holds less than the profile says, and why. Empty where everything holds.
    #[serde(default)]
    pub weaker: Vec<String>,
}

impl fmt::Display for SandboxReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sandbox {}: files by {}, network {}", self.profile, self.files, self.network)?;
        if !self.weaker.is_empty() {
            write!(formatter, "; weaker: {}", self.weaker.join("; "))?;
        }
        Ok(())
    }
}

/// Something that the sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAccess {
    /// What was tried.
    pub what: RefusedAction,
    /// The path, the name or the process that it was tried on.
    pub path: String,
    /// The program that tried it.
    pub by: String,
    /// How often.
    pub times: u64,
    /// The part of the profile that does not allow it.
    pub rule: String,
    /// How a person allows it.
    #[serde(default)]
    pub ask: Option<String>,
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedAction {
    /// To change, make or remove a file.
    Write,
    /// To change what the profile keeps.
    WriteKept,
    /// To connect to a Unix socket.
    Socket,
    /// To reach a name or an address.
    Network,
    /// To send a signal.
    Signal,
    /// To change the limits or the priority of a process.
    Process,
}

impl fmt::Display for RefusedAction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Write | Self::WriteKept => "write",
            Self::Socket => "connect to the socket",
            Self::Network => "reach",
            Self::Signal => "send a signal to",
            Self::Process => "change the limits or the priority of",
        })
    }
}

impl fmt::Display for RefusedAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the sandbox refused to {} {} ({}", self.what, self.path, self.by)?;
        if self.times > 1 {
            write!(formatter, ", {} times", self.times)?;
        }
        formatter.write_str(")")?;
        match &self.ask {
            Some(ask) => write!(formatter, "; a person allows it with `{ask}`"),
            None => Ok(()),
        }
    }
}

/// How many lines a reply spends on what was refused.
const MOST_LINES: usize = 8;

/// What was refused, as lines for a reply: the first ones, and how many more there are.
pub(crate) fn in_lines(refused: &[RefusedAccess]) -> Vec<String> {
    let shown = if refused.len() > MOST_LINES { MOST_LINES - 1 } else { refused.len() };
    let mut lines: Vec<String> = refused[..shown].iter().map(ToString::to_string).collect();
    if refused.len() > shown {
        lines.push(format!("the sandbox refused {} more", refused.len() - shown));
    }
    lines
}

/// A limit of a sandbox that a command ran into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exhausted {
    /// What there was too little of.
    pub what: Resource,
    /// How much there was, or has to be left: bytes, seconds or processes. `None` where the kernel had no more, whatever the limit.
    #[serde(default)]
    pub limit: Option<u64>,
    /// The program that used most of it, where that is known.
    #[serde(default)]
    pub by: Option<String>,
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Memory of all processes of a command.
    Memory,
    /// Processes and threads.
    Processes,
    /// Processor time of a process.
    Cpu,
    /// The size of a file.
    File,
    /// Space that has to stay free on the disk.
    Free,
}

impl Resource {
    /// One word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Cpu => "cpu",
            Self::File => "file",
            Self::Free => "free",
        }
    }
}

impl fmt::Display for Exhausted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.what, self.limit) {
            (Resource::Memory, Some(bytes)) => write!(formatter, "memory limit: {}", size(bytes))?,
            (Resource::Memory, None) => formatter.write_str("the kernel was out of memory and killed it")?,
            (Resource::Processes, limit) => write!(formatter, "process limit: {}", limit.unwrap_or_default())?,
            (Resource::Cpu, limit) => write!(formatter, "processor time limit: {} s", limit.unwrap_or_default())?,
            (Resource::File, limit) => write!(formatter, "file size limit: {}", size(limit.unwrap_or_default()))?,
            (Resource::Free, limit) => {
                write!(formatter, "disk limit: less than {} is free", size(limit.unwrap_or_default()))?;
            }
        }
        match &self.by {
            Some(by) => write!(formatter, ", by {by}"),
            None => Ok(()),
        }
    }
}

/// A size in the largest unit that it is a whole number of, as people write limits.
fn size(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}
