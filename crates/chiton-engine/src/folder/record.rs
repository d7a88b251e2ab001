//! What is written down about a run: the request, and that it started. How it ended is [`crate::run::Ending`].

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::bytes::ByteString;
use crate::owner::Owner;
use crate::run::Protection;
use crate::run::{Lifetime, Streams};
use chiton_terminal::TerminalSize;

/// The version of all records; a folder of another one is reported, not read.
pub(crate) const VERSION: u32 = 1;

/// What was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequestRecord {
    pub(crate) version: u32,
    pub(crate) id: String,
    pub(crate) command: ByteString,
    pub(crate) directory: ByteString,
    pub(crate) session: Option<String>,
    #[serde(default)]
    pub(crate) client: Option<String>,
    /// Whose it is; nobody's where a person started it, or a version that did not write it down.
    #[serde(default)]
    pub(crate) owner: Option<Owner>,
    pub(crate) description: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
    #[serde(default)]
    pub(crate) silence_ms: Option<u64>,
    pub(crate) lifetime: Lifetime,
    pub(crate) streams: Streams,
    /// The size of its terminal at the start, where it has one.
    #[serde(default)]
    pub(crate) terminal: Option<TerminalSize>,
    pub(crate) background: bool,
    /// What protection was in force.
    #[serde(default)]
    pub(crate) protection: Option<Protection>,
    /// Whether the journal has a line about its start.
    #[serde(default)]
    pub(crate) journaled: bool,
    /// Milliseconds since 1970, for people.
    pub(crate) started_at: u64,
    /// Microseconds since the machine started, for durations: setting the clock does not change it.
    pub(crate) started_us: u64,
    pub(crate) leftover_of: Option<LeftoverOf>,
    /// The ports that the command named, and their numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) ports: BTreeMap<String, u16>,
}

/// The run that left these processes running, and where its output stood then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeftoverOf {
    pub(crate) run: String,
    pub(crate) stdout: u64,
    pub(crate) stderr: u64,
}

/// That it started: its shell, and its keeper.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct StartRecord {
    pub(crate) pid: i32,
    pub(crate) keeper: i32,
}

impl StartRecord {
    /// For a shell that this process, its keeper, has started.
    pub(crate) fn of(pid: i32) -> Self {
        Self { pid, keeper: rustix::process::getpid().as_raw_nonzero().get() }
    }
}

impl RequestRecord {
    /// A record for a run that starts now.
    pub(crate) fn new(id: &str, command: ByteString, directory: ByteString) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            version: VERSION,
            id: id.to_owned(),
            command,
            directory,
            session: None,
            client: None,
            owner: None,
            description: None,
            timeout_ms: None,
            silence_ms: None,
            lifetime: Lifetime::default(),
            streams: Streams::default(),
            terminal: None,
            background: false,
            protection: None,
            journaled: false,
            started_at: u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX),
            started_us: machine_clock(),
            leftover_of: None,
            ports: BTreeMap::new(),
        }
    }

    /// The same for a run that started so long ago.
    pub(crate) fn started_ago(mut self, age: Duration) -> Self {
        self.started_at = self.started_at.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        self.started_us = self.started_us.saturating_sub(u64::try_from(age.as_micros()).unwrap_or(u64::MAX));
        self
    }

    /// How long ago that was.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_micros(machine_clock().saturating_sub(self.started_us))
    }
}

/// Microseconds since the machine started, suspended time included.
pub(crate) fn machine_clock() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_nsec.unsigned_abs() / 1000
}
