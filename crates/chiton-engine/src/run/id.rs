//! The id of a run: `shell_` and eight hexadecimal digits.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bytes::encode_hex;

/// How every id begins.
pub(crate) const PREFIX: &str = "shell_";

/// The id of a run. Whoever asks for a command may make it ([`crate::CommandRequest::run_id`]); otherwise the engine does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// One that nobody is likely to have.
    ///
    /// # Errors
    /// When the kernel gives no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut random = [0u8; 4];
        rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty())?;
        Ok(Self(format!("{PREFIX}{}", encode_hex(&random))))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl TryFrom<String> for RunId {
    type Error = BadRunId;

    fn try_from(text: String) -> Result<Self, BadRunId> {
        // Whatever is longer was not meant as an id, and is no reason for a long message.
        if is_id(&text) { Ok(Self(text)) } else { Err(BadRunId(text.chars().take(64).collect())) }
    }
}

impl FromStr for RunId {
    type Err = BadRunId;

    fn from_str(text: &str) -> Result<Self, BadRunId> {
        text.to_owned().try_into()
    }
}

/// A text that is not the id of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not the id of a run: it has to be shell_ and eight digits out of 0-9 and a-f")]
pub struct BadRunId(String);

/// Whether `text` has the form of an id.
pub(crate) fn is_id(text: &str) -> bool {
    let digits = text.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_is_one() {
        let id: RunId = "shell_0123abcd".parse().unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"shell_0123abcd\"");
        assert_eq!(serde_json::from_str::<RunId>("\"shell_0123abcd\"").unwrap(), id);
        for other in
            ["", "shell_", "shell_0123abc", "shell_0123abcde", "shell_0123ABCD", "../shell_0123abcd", "0123abcd"]
        {
            assert!(other.parse::<RunId>().is_err(), "{other}");
            assert!(serde_json::from_value::<RunId>(other.into()).is_err(), "{other}");
        }
        assert_ne!(RunId::random().unwrap(), RunId::random().unwrap());
    }
}
