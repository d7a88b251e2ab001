//! `[sandbox]` of the settings file, as it is written there.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use chiton_engine::sandbox::policy::MissingLayer;
use serde::{Deserialize, Serialize};

/// Which profile holds, and the profiles of this person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SandboxSettings {
    pub(crate) profile: Option<String>,
    /// The proxy through which allowed names are dialled, or `none`. Without it, the one that the environment names.
    pub(crate) upstream: Option<String>,
    pub(crate) profiles: BTreeMap<String, ProfileSettings>,
}

/// One profile: what it changes of the one that it extends. A list adds to that of the other, `!entry` takes one away,
/// `!*` all of them, and an empty list means nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProfileSettings {
    /// The profile that this one starts from. Without it, the built-in one of this name, or `work`.
    pub(crate) extends: Option<String>,
    pub(crate) write: Option<Vec<String>>,
    pub(crate) hide: Option<Vec<String>>,
    pub(crate) keep: Option<Vec<String>>,
    pub(crate) network: Option<Vec<String>>,
    pub(crate) sockets: Option<Vec<String>>,
    pub(crate) expose: Option<Vec<Word>>,
    pub(crate) limits: LimitSettings,
    pub(crate) missing: Option<MissingSetting>,
    /// `keep`, `ask` or `off`.
    pub(crate) undo: Option<UndoSetting>,
}

/// How much commands may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitSettings {
    pub(crate) memory: Option<Word>,
    pub(crate) processes: Option<Word>,
    pub(crate) cpu: Option<Word>,
    pub(crate) file: Option<Word>,
    pub(crate) open_files: Option<Word>,
    pub(crate) free: Option<Word>,
}

/// A number, or text such as `8G` or `!3000`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "write a number, or text in quotes")]
pub(crate) enum Word {
    Number(u64),
    Text(String),
}

impl fmt::Display for Word {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(out),
            Self::Text(text) => text.fmt(out),
        }
    }
}

/// What becomes of a command where a layer is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MissingSetting {
    /// It is not run.
    Refuse,
    /// It runs, and its reply names what is weaker.
    Say,
}

/// What becomes of what commands destroy, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "write \"keep\", \"ask\" or \"off\", in quotes")]
pub(crate) enum UndoSetting {
    Word(String),
    /// Easily written, and no answer to the question.
    Switch(bool),
}

impl From<MissingSetting> for MissingLayer {
    fn from(setting: MissingSetting) -> Self {
        match setting {
            MissingSetting::Refuse => Self::Refuse,
            MissingSetting::Say => Self::Say,
        }
    }
}

/// Says what is wrong with the profiles of sandboxes: their words are known elsewhere.
pub(crate) type SandboxCheck = fn(&SandboxSettings) -> Result<()>;
