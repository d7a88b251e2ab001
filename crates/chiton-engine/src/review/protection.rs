//! What protection is in force when a command runs.

use std::fmt;

use chiton_guard::Mode;
use serde::{Deserialize, Serialize};

/// What stands between a command and the machine. Everywhere it is written as the sentence that it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Protection {
    /// Nothing.
    None,
    /// The guard judges every command before it runs; nothing holds one that runs.
    Guard(Mode),
}

impl Protection {
    const ALL: [Self; 3] = [Self::None, Self::Guard(Mode::Default), Self::Guard(Mode::Strict)];

    /// That of a guard in this mode.
    pub fn of(mode: Mode) -> Self {
        if mode == Mode::Off { Self::None } else { Self::Guard(mode) }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None | Self::Guard(Mode::Off) => "none: every command is allowed",
            Self::Guard(Mode::Default) => "guard: commands are judged before they run; there is no sandbox",
            Self::Guard(Mode::Strict) => {
                "guard, strict: what is not known to be harmless is asked about; there is no sandbox"
            }
        })
    }
}

impl From<Protection> for String {
    fn from(protection: Protection) -> Self {
        protection.to_string()
    }
}

impl TryFrom<String> for Protection {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|protection| protection.to_string() == text);
        found.ok_or_else(|| format!("'{text}' is not a protection"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for protection in Protection::ALL {
            let text = serde_json::to_string(&protection).unwrap();
            assert_eq!(serde_json::from_str::<Protection>(&text).unwrap(), protection, "{text}");
        }
        assert!(serde_json::from_str::<Protection>("\"walls\"").is_err());
    }
}
