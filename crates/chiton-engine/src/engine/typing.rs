//! What is written to a running task: judged by who reads it there, written down, and given to it.
//!
//! 1. The keeper says who reads now and what that program was given before ([`ReaderReport`]).
//! 2. Once a line is complete, the guard judges the program with everything on its input that it was given, this line
//!    included: a command may come in several writes, and rest on earlier lines.
//! 3. The text goes out only if nobody wrote meanwhile; otherwise it is judged again.
//!
//! References to secrets become values, and a password is never typed as plain text.

use std::borrow::Cow;

use chiton_guard::{Decision, Verdict};
use chiton_redact::Mask;
use chiton_shell::quote::append_quoted;
use chiton_terminal::keys;
use chiton_terminal::snapshot::KeyboardMode;

use super::Engine;
use crate::bytes::ByteString;
use crate::protocol::{Control, ReaderReport};
use crate::review::Refusal;
use crate::run::{Lines, Typing, Typist};
use crate::secrets::{self, ResolvedTyping, Resolver, UnknownReference};
use crate::session::Session;
use crate::tasks::{SendError, Task, TaskLink};

/// How often a text is judged anew because somebody else wrote meanwhile.
const ATTEMPTS: usize = 8;

/// A text on its way to a task.
struct Written {
    control: Control,
    /// What reaches the program, as a keyboard sends it; references to secrets stand as they are.
    typed: Vec<u8>,
    /// What did not happen, where the task has ended.
    otherwise: &'static str,
}

impl Engine {
    /// Writes to the standard input of a task.
    ///
    /// # Errors
    /// When the guard objects: nobody is asked, since what would have to be asked about can be given as a command of its
    /// own. Otherwise as for any request to a task.
    pub async fn write_to(&self, session: &Session, id: &str, text: impl Into<ByteString>) -> Result<(), SendError> {
        let refused = |reason| SendError::Refused { id: id.to_owned(), reason };
        let text = self.with_ports(session, text.into()).await.map_err(|error| refused(error.to_string()))?;
        let typed = text.to_vec();
        let mut task = self.tasks().open(id).await?;
        let text = match self.resolve_typed(session, &text).await.map_err(refused)? {
            ResolvedTyping::Resolved(value, masks) => {
                task.mask(exposed(&masks)).await?;
                value
            }
            ResolvedTyping::Plain | ResolvedTyping::Unknown(_) => text,
        };
        let written = Written { control: Control::Input(text), typed, otherwise: "nothing was written" };
        self.deliver(session, &mut task, written).await
    }

    /// Resolves the references in a text that is on its way to a task. An unknown one is an error where the engine
    /// refuses those.
    async fn resolve_typed(&self, session: &Session, text: &[u8]) -> Result<ResolvedTyping, String> {
        let config = &self.inner.config;
        let resolver =
            Resolver { store: &config.secrets, known: &self.inner.known, unknown: config.unknown_references };
        match secrets::resolve_typed(text, resolver, session).await.map_err(|refusal| refusal.reason)? {
            ResolvedTyping::Unknown(reason) if config.unknown_references == UnknownReference::Refuse => Err(reason),
            resolved => Ok(resolved),
        }
    }

    /// Ends the input of a task. A line that was begun is complete then.
    ///
    /// # Errors
    /// As for [`Engine::write_to`].
    pub async fn end_input_of(&self, session: &Session, id: &str) -> Result<(), SendError> {
        let written =
            Written { control: Control::EndInput, typed: vec![END_KEY], otherwise: "its input cannot be closed" };
        self.deliver(session, &mut self.tasks().open(id).await?, written).await
    }

    /// Types into the terminal of a task. References to secrets become their values, which are masked in its output
    /// from then on. Where the task asks for a password, only such a reference is typed, and keys that end the input,
    /// skip it or give up.
    ///
    /// # Errors
    /// As for [`Engine::write_to`].
    pub async fn type_into(&self, session: &Session, id: &str, what: Typing) -> Result<(), SendError> {
        let refused = |reason| SendError::Refused { id: id.to_owned(), reason };
        let what = self.typing_with_ports(session, what).await.map_err(|error| refused(error.to_string()))?;
        let text = match &what {
            Typing::Text(text) | Typing::Paste(text) => text.as_bytes(),
            Typing::Keys(_) | Typing::Raw(_) => b"",
        };
        let typed = typed_bytes(&what);
        let resolved = self.resolve_typed(session, text).await.map_err(refused)?;
        let mut task = self.tasks().open(id).await?;
        let (what, masks) = match resolved {
            ResolvedTyping::Resolved(value, masks) => {
                // A value may be any bytes; the end of a line is the enter key, as in any text.
                let bytes: Vec<u8> = value.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }).collect();
                (Typing::Raw(bytes.into()), exposed(&masks))
            }
            ResolvedTyping::Plain => {
                check_password(&mut task, id, &what).await?;
                (what, Vec::new())
            }
            // It is a reference; what is wrong is its name.
            ResolvedTyping::Unknown(reason) => match check_password(&mut task, id, &what).await {
                Err(SendError::Password { .. }) => return Err(refused(reason)),
                checked => {
                    checked?;
                    (what, Vec::new())
                }
            },
        };
        let control = Control::Type { what, typist: Typist::Caller, masks };
        self.deliver(session, &mut task, Written { control, typed, otherwise: "nothing was typed" }).await
    }

    /// Judges a text, writes it down and gives it to the task.
    async fn deliver(&self, session: &Session, link: &mut TaskLink, written: Written) -> Result<(), SendError> {
        let Written { control, typed, otherwise } = written;
        let task = link.task()?;
        let refused = |reason| SendError::Refused { id: task.id.clone(), reason };
        for _ in 0..ATTEMPTS {
            let reader = link.reader().await?;
            let verdict = self.judge_typed(session, &task, &reader, &typed);
            self.note_input(session, &task.id, &typed, verdict.as_ref()).map_err(|refusal| refused(refusal.reason))?;
            if let Some(verdict) = verdict.filter(|verdict| verdict.decision != Decision::Allow) {
                let refusal = Box::new(Refusal::by(&verdict, ""));
                return Err(SendError::Objected { id: task.id.clone(), refusal });
            }
            match link.after(reader.writes, &control, otherwise).await {
                Err(SendError::Overtaken { .. }) => {}
                done => return done,
            }
        }
        Err(SendError::Overtaken { id: task.id.clone() })
    }

    /// What the guard says about a text that completes a line; `None` where it does not, or nothing is judged.
    fn judge_typed(&self, session: &Session, task: &Task, reader: &ReaderReport, typed: &[u8]) -> Option<Verdict> {
        if !typed.iter().any(|byte| matches!(byte, b'\r' | b'\n' | &END_KEY)) {
            return None;
        }
        let program = program_of(task, reader);
        let directory = match &reader.directory[..] {
            b"" => Cow::Borrowed(&task.directory),
            _ => Cow::Owned(reader.directory.clone().into_path()),
        };
        let judge = |before: &[u8]| {
            let mut lines = Lines::new(before);
            lines.add(&reader.given);
            lines.add(typed);
            let text = String::from_utf8_lossy(lines.as_bytes());
            self.inner.config.guard.judge_input(&text, &program, &session.state(), &directory)
        };

        // Nobody knows whether what had been written before was left for this reader: either way it has to be allowed.
        let verdict = judge(b"");
        let is_allowed = verdict.as_ref().is_none_or(|verdict| verdict.decision == Decision::Allow);
        if is_allowed && !reader.before.is_empty() { judge(&reader.before) } else { verdict }
    }
}

/// The key that ends the input of a terminal.
const END_KEY: u8 = 4;

/// The program that reads, as a command: the task itself where its own shell does.
fn program_of(task: &Task, reader: &ReaderReport) -> Vec<u8> {
    let is_shell_of_run =
        |words: &[ByteString]| words.iter().any(|word| memchr::memmem::find(word, b"BASH_EXECUTION_STRING").is_some());
    if reader.words.is_empty() || reader.is_leader || is_shell_of_run(&reader.words) {
        return task.command.as_bytes().to_vec();
    }
    let mut command = Vec::new();
    for word in &reader.words {
        if !command.is_empty() {
            command.push(b' ');
        }
        // A login shell has a dash before its name.
        let word = if command.is_empty() { word.strip_prefix(b"-").unwrap_or(word) } else { word };
        append_quoted(&mut command, word);
    }
    command
}

/// What a keyboard would send. Where that depends on the program, its usual keys.
fn typed_bytes(what: &Typing) -> Vec<u8> {
    match what {
        Typing::Text(text) | Typing::Paste(text) => keys::typed(text),
        Typing::Keys(names) => keys::keys(names, KeyboardMode::default()).unwrap_or_default(),
        Typing::Raw(bytes) => bytes.to_vec(),
    }
}

/// Masks as they travel to a keeper.
fn exposed(masks: &[Mask]) -> Vec<(String, ByteString)> {
    masks.iter().map(|(mask, value)| (mask.clone(), value.expose().into())).collect()
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
