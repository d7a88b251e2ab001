//! A standing watch: a regular expression that stays on a task, and what it has matched.

use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

/// A regular expression that stays on a task, and what it has matched so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// Tells it from the other watches of its task. No later one gets the same number.
    pub number: u32,
    /// The regular expression.
    pub pattern: String,
    /// How many lines have matched: every one counts.
    pub matches: u64,
    /// The last few of them, the latest last.
    pub last: Vec<MatchedLine>,
}

/// A line that matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchedLine {
    /// Which line of all output it is, in the order of arrival, counted from 1.
    pub line: u64,
    /// The line as a person reads it, without escape sequences; of a long one, the beginning.
    pub text: String,
}

/// The longest pattern: it is written down with the task, and said again in replies.
const PATTERN_BYTES: usize = 1000;
/// What a compiled pattern may take in memory.
const COMPILED_BYTES: usize = 1 << 20;

/// Reads the pattern of a watch, or says what is wrong with it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.is_empty() {
        return Err("it is empty".to_owned());
    }
    if pattern.len() > PATTERN_BYTES {
        return Err(format!("it has {} bytes, and may have {PATTERN_BYTES}", pattern.len()));
    }
    RegexBuilder::new(pattern).size_limit(COMPILED_BYTES).build().map_err(|error| error.to_string())
}
