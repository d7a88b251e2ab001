//! `undo` of a profile: whether what commands destroy in the workspace is kept, and whether the guard asks all the same.

use anyhow::{Result, bail};
use chiton_engine::sandbox::policy::UndoPolicy;

use super::nearest;
use crate::sandbox_settings::UndoSetting;

/// One word for it.
struct UndoWord {
    word: &'static str,
    policy: UndoPolicy,
    /// In a sentence that begins with what is destroyed.
    about: &'static str,
}

const WORDS: [UndoWord; 3] = [
    UndoWord {
        word: "keep",
        policy: UndoPolicy::Keep,
        about: "what commands remove and overwrite is kept, and the guard does not ask about what can be undone",
    },
    UndoWord {
        word: "ask",
        policy: UndoPolicy::KeepAndAsk,
        about: "what commands remove and overwrite is kept, and the guard asks about it all the same",
    },
    UndoWord { word: "off", policy: UndoPolicy::Off, about: "what commands remove and overwrite is gone" },
];

/// What a person has written, understood.
pub(super) fn parse(setting: &UndoSetting) -> Result<UndoPolicy> {
    let text = match setting {
        UndoSetting::Word(text) => text,
        UndoSetting::Switch(true) => {
            bail!("true does not say whether the guard should ask: write \"keep\" if it need not, or \"ask\"")
        }
        UndoSetting::Switch(false) => bail!("false is not a word for it: write \"off\""),
    };
    if let Some(found) = WORDS.iter().find(|row| row.word == text) {
        return Ok(found.policy);
    }
    let near = nearest(text, WORDS.iter().map(|row| row.word)).map(|near| format!("did you mean {near}? "));
    bail!("'{text}' is not known; {}there are: keep, ask, off", near.unwrap_or_default())
}

/// As it is written.
pub(super) fn word(policy: UndoPolicy) -> &'static str {
    row(policy).map_or("off", |row| row.word)
}

/// For a person.
pub(super) fn about(policy: UndoPolicy) -> &'static str {
    row(policy).map_or("", |row| row.about)
}

fn row(policy: UndoPolicy) -> Option<&'static UndoWord> {
    WORDS.iter().find(|row| row.policy == policy)
}
