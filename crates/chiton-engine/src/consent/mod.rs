//! The consent of a person to a command that the guard asks about.
//!
//! A consent is for exactly what was shown and for what the verdict rested on: the bytes of the command, its directory,
//! its variables and its input, the secrets it names, the words as they were expanded. It is good for one run, and not
//! for long.

mod desk;
mod question;
mod visible;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::lock::Lock;
pub use desk::{Desk, DeskError, Waiting, Watch};
pub(crate) use desk::{Whose, ask};
pub use question::{Question, QuestionKind};
pub use visible::visible;

/// How long a consent that was given elsewhere may be used.
const EXPIRES: Duration = Duration::from_mins(10);
/// How many questions may be open.
const MOST_OPEN: usize = 256;

/// What a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Run it.
    Once,
    /// Run it, and the very same again in this session.
    Session,
    /// Do not run it.
    No,
    /// Nobody decided: the question was closed, or nobody was there.
    Undecided,
}

impl Answer {
    /// The word for an answer that decides.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Once => Some("once"),
            Self::Session => Some("session"),
            Self::No => Some("no"),
            Self::Undecided => None,
        }
    }

    /// The answer of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Once, Self::Session, Self::No].into_iter().find(|answer| answer.word() == Some(word))
    }
}

/// An answer that is being waited for.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Answer, String>> + Send + 'a>>;

/// Somebody who can ask a person.
pub trait Approver: fmt::Debug + Send + Sync {
    /// Asks. An error, in words, means that nobody could be asked.
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a>;
}

/// What a consent is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bound([u8; 32]);

impl Bound {
    /// To all these parts, in this order, and to nothing else.
    pub(crate) fn to<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }
}

/// Questions that were asked and not yet answered.
#[derive(Debug, Default)]
pub(crate) struct Consents {
    open: Lock<HashMap<String, (Bound, Instant)>>,
}

impl Consents {
    /// A name for a question about `bound`.
    pub(crate) fn offer(&self, bound: Bound) -> String {
        let mut bytes = [0; 16];
        let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let id = format!("{:032x}", u128::from_ne_bytes(bytes));
        let mut open = self.open.lock();
        open.retain(|_, (_, since)| since.elapsed() < EXPIRES);
        if open.len() >= MOST_OPEN
            && let Some(oldest) = open.iter().min_by_key(|(_, (_, since))| *since).map(|(id, _)| id.clone())
        {
            open.remove(&oldest);
        }
        open.insert(id.clone(), (bound, Instant::now()));
        id
    }

    /// Whether the question `id` was asked, and can still be answered.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.open.lock().get(id).is_some_and(|(_, since)| since.elapsed() < EXPIRES)
    }

    /// Uses up the consent `id`; false where it is not for `bound`, was used before, or is too old.
    pub(crate) fn redeem(&self, id: &str, bound: Bound) -> bool {
        let mut open = self.open.lock();
        open.remove(id).is_some_and(|(asked, since)| asked == bound && since.elapsed() < EXPIRES)
    }
}
