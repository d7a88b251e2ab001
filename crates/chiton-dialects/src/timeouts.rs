//! How long a command may take, for all dialects that have no limit of their own.

use std::time::Duration;

use serde_json::{Value, json};

use crate::action::RunAction;
use crate::arguments::Arguments;
use crate::call_error::CallError;

/// What a command may take where neither the call nor the server says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);
/// What a call may ask for at most, in the dialects that have a maximum.
pub const MAXIMUM_TIMEOUT: Duration = Duration::from_mins(10);

pub(crate) const DEFAULT_MS: u64 = DEFAULT_TIMEOUT.as_secs() * 1000;
pub(crate) const MAXIMUM_MS: u64 = MAXIMUM_TIMEOUT.as_secs() * 1000;

/// What a parameter for the limit says of itself.
pub(crate) fn description() -> String {
    format!("Milliseconds; {DEFAULT_MS} if left out.")
}

/// A parameter for the limit, at least `minimum` and at most the maximum.
pub(crate) fn parameter(minimum: u64) -> Value {
    json!({"type": "integer", "minimum": minimum, "maximum": MAXIMUM_MS, "description": description()})
}

/// A limit that has to be in its range.
pub(crate) fn strict(arguments: &Arguments<'_>, _: &mut RunAction) -> Result<Option<Duration>, CallError> {
    match arguments.number("timeout")? {
        Some(given) if given == 0 || given > MAXIMUM_MS => {
            let problem = format!("is from 1 to the maximum {MAXIMUM_MS} milliseconds, not {given}");
            Err(CallError::BadValue { name: "timeout", problem })
        }
        given => Ok(given.map(Duration::from_millis)),
    }
}

/// A limit of which too much counts as the most there is, and the reply says so.
pub(crate) fn clamped(arguments: &Arguments<'_>, run: &mut RunAction) -> Result<Option<Duration>, CallError> {
    let given = arguments.number("timeout")?;
    if given == Some(0) {
        return Err(CallError::BadValue { name: "timeout", problem: "is at least 1".to_owned() });
    }
    if let Some(above) = given.filter(|given| *given > MAXIMUM_MS) {
        run.notes.push(format!("timeout {above} is more than the maximum; {MAXIMUM_MS} was used"));
    }
    Ok(given.map(|given| Duration::from_millis(given.min(MAXIMUM_MS))))
}
