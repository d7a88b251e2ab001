//! What each command changed in a session with a name: so that somebody can look, and step back.
//!
//! The steps are lines of a file beside the session's own. A step holds what differs, not the whole value. Where the file
//! grows too long, the oldest steps go.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::value::SessionChange;

/// Above this size the older half of the steps goes.
const MOST_BYTES: u64 = 512 * 1024;
/// How much of a command is kept with its step.
const COMMAND_CHARACTERS: usize = 300;

/// What one command changed in its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Counted from 1, for as long as the session lives.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The run that did it.
    pub run: Option<String>,
    /// The beginning of its command, or what else it was.
    pub command: String,
    /// What changed.
    pub change: SessionChange,
    /// Whether somebody took it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// Who changed a session.
#[derive(Clone, Copy, Debug)]
pub struct StepCause<'a> {
    /// The run, where it was one.
    pub run: Option<&'a str>,
    /// Its command.
    pub command: &'a str,
}

pub(super) fn read(path: &Path) -> Vec<Step> {
    let text = fs::read(path).unwrap_or_default();
    // A line that was cut off by a full disk is none.
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

pub(super) fn append(path: &Path, at_ms: u64, cause: StepCause<'_>, change: &SessionChange) -> io::Result<()> {
    let mut steps = read(path);
    let number = steps.last().map_or(1, |last| last.number + 1);
    let step = Step {
        number,
        at_ms,
        run: cause.run.map(ToOwned::to_owned),
        command: cause.command.chars().take(COMMAND_CHARACTERS).collect(),
        change: change.reduced(),
        undone: false,
    };
    if fs::metadata(path).is_ok_and(|data| data.len() > MOST_BYTES) {
        steps.drain(..steps.len() / 2);
        steps.push(step);
        return write(path, &steps);
    }
    let mut line = serde_json::to_vec(&step)?;
    line.push(b'\n');
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)?.write_all(&line)
}

pub(super) fn write(path: &Path, steps: &[Step]) -> io::Result<()> {
    let mut text = Vec::new();
    for step in steps {
        serde_json::to_writer(&mut text, step)?;
        text.push(b'\n');
    }
    let beside = path.with_extension("steps.new");
    OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&beside)?.write_all(&text)?;
    fs::rename(beside, path)
}
