//! Typing into the terminal of a task: references become values, and a password is never typed as plain text.

use super::Engine;
use crate::bytes::ByteString;
use crate::run::{Typing, Typist};
use crate::secrets::{self, ResolvedTyping, Resolver, UnknownReference};
use crate::session::Session;
use crate::tasks::{SendError, TaskLink};

impl Engine {
    /// Types into the terminal of a task. References to secrets become their values, which are masked in its output
    /// from then on. Where the task asks for a password, only such a reference is typed, and keys that end the input,
    /// skip it or give up.
    pub async fn type_into(&self, session: &Session, id: &str, what: Typing) -> Result<(), SendError> {
        let refused = |reason| SendError::Refused { id: id.to_owned(), reason };
        let text = match &what {
            Typing::Text(text) | Typing::Paste(text) => text.as_bytes(),
            Typing::Keys(_) | Typing::Raw(_) => b"",
        };
        let config = &self.inner.config;
        let resolver = Resolver { store: &config.secrets, known: &self.inner.known, unknown: config.unknown_references };
        let resolved = secrets::resolve_typed(text, resolver, session).await.map_err(|refusal| refused(refusal.reason))?;
        let (value, masks) = match resolved {
            ResolvedTyping::Resolved(value, masks) => (value, masks),
            ResolvedTyping::Unknown(reason) if config.unknown_references == UnknownReference::Refuse => {
                return Err(refused(reason));
            }
            ResolvedTyping::Plain | ResolvedTyping::Unknown(_) => {
                let mut task = self.tasks().open(id).await?;
                match (check_password(&mut task, id, &what).await, resolved) {
                    // It was a reference; what is wrong is its name.
                    (Err(SendError::Password { .. }), ResolvedTyping::Unknown(reason)) => return Err(refused(reason)),
                    (checked, _) => checked?,
                }
                return task.type_in(what, Typist::Caller).await;
            }
        };
        // A value may be any bytes; the end of a line is the enter key, as in any text.
        let bytes: Vec<u8> = value.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }).collect();
        let masks = masks.iter().map(|(mask, value)| (mask.clone(), value.expose().into())).collect();
        let mut task = self.tasks().open(id).await?;
        task.type_masked(Typing::Raw(bytes.into()), Typist::Caller, masks).await
    }
}

impl Engine {
    /// Writes to the standard input of a task without a terminal, with references resolved and masked as in typing.
    pub async fn write_to(&self, session: &Session, id: &str, text: &str) -> Result<(), SendError> {
        let config = &self.inner.config;
        let refused = |reason| SendError::Refused { id: id.to_owned(), reason };
        let resolver = Resolver { store: &config.secrets, known: &self.inner.known, unknown: config.unknown_references };
        let resolved = secrets::resolve_typed(text.as_bytes(), resolver, session).await;
        match resolved.map_err(|refusal| refused(refusal.reason))? {
            ResolvedTyping::Resolved(value, masks) => {
                let mut task = self.tasks().open(id).await?;
                let masks = masks.iter().map(|(mask, value)| (mask.clone(), value.expose().into())).collect();
                // A keeper learns what to mask before it finds that there is nowhere to type, and that is all we want.
                let _ = task.type_masked(Typing::Raw(ByteString::default()), Typist::Caller, masks).await;
                task.write(value).await
            }
            ResolvedTyping::Unknown(reason) if config.unknown_references == UnknownReference::Refuse => {
                Err(refused(reason))
            }
            ResolvedTyping::Plain | ResolvedTyping::Unknown(_) => self.tasks().write(id, text).await,
        }
    }
}

async fn check_password(task: &mut TaskLink, id: &str, what: &Typing) -> Result<(), SendError> {
    let says_something = match what {
        Typing::Text(text) | Typing::Paste(text) => text.chars().any(|character| !character.is_control()),
        Typing::Keys(names) => names.split_whitespace().any(|name| name.chars().count() == 1),
        Typing::Raw(bytes) => bytes.iter().any(|byte| *byte >= 0x20),
    };
    if !says_something {
        return Ok(());
    }
    let look = task.look().await?;
    match look.waits.filter(|wait| !wait.echo) {
        None => Ok(()),
        Some(wait) => Err(SendError::Password { id: id.to_owned(), prompt: wait.prompt.trim().to_owned() }),
    }
}
