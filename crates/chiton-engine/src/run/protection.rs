//! What protection is in force when a command runs.

use std::fmt;

use chiton_guard::Mode;
use serde::{Deserialize, Serialize};

use crate::sandbox::report::SandboxReport;

/// What stands between a command and the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Protection {
    /// How commands are judged before they run.
    pub guard: Mode,
    /// What holds one that runs.
    pub sandbox: Option<SandboxReport>,
}

impl Protection {
    /// That of a guard alone.
    pub fn of(guard: Mode) -> Self {
        Self { guard, sandbox: None }
    }

    /// Whether it is what everybody expects who has said nothing.
    pub fn is_usual(&self) -> bool {
        *self == Self::of(Mode::Default)
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.guard {
            Mode::Off => "no guard: every command is allowed",
            Mode::Default => "guard: commands are judged before they run",
            Mode::Strict => "guard, strict: what is not known to be harmless is asked about",
        })?;
        match &self.sandbox {
            Some(sandbox) => write!(formatter, "; {sandbox}"),
            None => formatter.write_str("; there is no sandbox"),
        }
    }
}

/// As it is written down: today, and as a sentence by versions that had no sandbox.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Parts {
        guard: Mode,
        #[serde(default)]
        sandbox: Option<SandboxReport>,
    },
    Sentence(String),
}

impl From<Written> for Protection {
    fn from(written: Written) -> Self {
        match written {
            Written::Parts { guard, sandbox } => Self { guard, sandbox },
            Written::Sentence(text) if text.starts_with("none") => Self::of(Mode::Off),
            Written::Sentence(text) if text.starts_with("guard, strict") => Self::of(Mode::Strict),
            Written::Sentence(_) => Self::of(Mode::Default),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let sandbox = SandboxReport {
            profile: "work".to_owned(),
            files: "mounts, landlock 7".to_owned(),
            network: "open".to_owned(),
            signals: "session".to_owned(),
            limits: "memory".to_owned(),
            watch: "seccomp".to_owned(),
            weaker: vec!["keep: watched only".to_owned()],
        };
        for guard in [Mode::Off, Mode::Default, Mode::Strict] {
            for sandbox in [None, Some(sandbox.clone())] {
                let protection = Protection { guard, sandbox };
                let text = serde_json::to_string(&protection).unwrap();
                assert_eq!(serde_json::from_str::<Protection>(&text).unwrap(), protection, "{text}");
            }
        }
    }

    #[test]
    fn what_older_versions_wrote_is_read() {
        let rows = [
            ("\"none: every command is allowed\"", Mode::Off),
            ("\"guard: commands are judged before they run; there is no sandbox\"", Mode::Default),
            ("\"guard, strict: what is not known to be harmless is asked about; there is no sandbox\"", Mode::Strict),
        ];
        for (text, guard) in rows {
            assert_eq!(serde_json::from_str::<Protection>(text).unwrap(), Protection::of(guard), "{text}");
        }
    }
}
