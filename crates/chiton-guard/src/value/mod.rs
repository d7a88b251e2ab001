//! Text that may be partly unknown, and what is known about the unknown parts.

mod flow;
pub(crate) mod glob;
pub(crate) mod path;

use std::borrow::Cow;
use std::rc::Rc;

use chiton_shell::tree::Span;
pub(crate) use flow::{Flow, FoundBelow, Labels};

/// A string as far as the command decides it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Hash)]
pub(crate) struct Text(pub(crate) Vec<Piece>);

/// A stretch of a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// Exactly this.
    Known(String),
    /// A pattern that the shell matches against file names: `*`, `?`, `[…]`.
    Glob(String),
    /// Something else.
    Unknown(Unknown),
}

/// A stretch that the text does not decide.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Unknown {
    /// Where it comes from.
    pub(crate) what: What,
    /// Whether it cannot be empty.
    pub(crate) filled: bool,
}

/// Where unknown text comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// A variable whose value nobody knows.
    Variable(String),
    /// The output of a command.
    Output(Rc<Flow>),
    /// A path that was just made in a temporary directory.
    Temporary,
    /// A number, a date, a name: no path.
    Plain,
    /// The path of something that a search found in one of these places.
    Found(Rc<Vec<FoundBelow>>),
    /// A descriptor from which these bytes can be read: `<(…)`.
    Stream(Rc<Flow>),
    /// A descriptor that leads to a process: `>(…)`.
    Sink(usize),
    /// A secret, by the reference that stands for it.
    Secret(String),
    /// The process that runs this shell.
    Parent,
}

impl std::fmt::Display for FoundBelow {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Everything(directory) => write!(formatter, "{directory}/*/…"),
            Self::Some(directory) => write!(formatter, "{}/…", directory.trim_end_matches('/')),
        }
    }
}

/// A word of a command after expansion.
#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub(crate) text: Text,
    pub(crate) span: Span,
}

impl Arg {
    pub(crate) fn new(text: Text, span: Span) -> Self {
        Self { text, span }
    }

    pub(crate) fn known(text: impl Into<String>, span: Span) -> Self {
        Self::new(Text::known(text), span)
    }
}

impl Text {
    pub(crate) fn known(text: impl Into<String>) -> Self {
        Self(vec![Piece::Known(text.into())])
    }

    pub(crate) fn unknown(what: What, filled: bool) -> Self {
        Self(vec![Piece::Unknown(Unknown { what, filled })])
    }

    pub(crate) fn variable(name: &str) -> Self {
        Self::unknown(What::Variable(name.to_owned()), false)
    }

    /// What a substitution with this output gives.
    pub(crate) fn of_flow(flow: &Flow) -> Self {
        if let Some(text) = &flow.text {
            return Self::known(text.trim_end_matches('\n'));
        }
        let later = flow.labels.has(Labels::LATER).then(|| flow.clone().passed_on());
        let flow = later.as_ref().unwrap_or(flow);
        let what = if flow.labels.has(Labels::TEMPORARY) {
            What::Temporary
        } else if flow.labels.has(Labels::PLAIN) {
            What::Plain
        } else if !flow.roots.is_empty() {
            What::Found(Rc::new(flow.roots.clone()))
        } else {
            What::Output(Rc::new(flow.clone()))
        };
        let filled = matches!(what, What::Temporary | What::Plain);
        Self::unknown(what, filled)
    }

    /// The text, if all of it is known and none of it a pattern.
    pub(crate) fn as_known(&self) -> Option<String> {
        let mut all = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Known(text) => all.push_str(text),
                Piece::Glob(_) | Piece::Unknown(_) => return None,
            }
        }
        Some(all)
    }

    /// The text, patterns as they stand.
    pub(crate) fn as_literal(&self) -> Option<String> {
        let mut all = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Known(text) | Piece::Glob(text) => all.push_str(text),
                Piece::Unknown(_) => return None,
            }
        }
        Some(all)
    }

    /// The known text at the start.
    pub(crate) fn known_start(&self) -> Cow<'_, str> {
        if let [Piece::Known(text)] = self.0.as_slice() {
            return Cow::Borrowed(text);
        }
        let mut start = String::new();
        for piece in &self.0 {
            let Piece::Known(text) = piece else { break };
            start.push_str(text);
        }
        Cow::Owned(start)
    }

    /// The known text at the end.
    pub(crate) fn known_end(&self) -> String {
        let mut end = String::new();
        for piece in self.0.iter().rev() {
            let Piece::Known(text) = piece else { break };
            end.insert_str(0, text);
        }
        end
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        match self.0.as_slice() {
            [] => text.is_empty(),
            [Piece::Known(known)] => known == text,
            _ => self.as_known().is_some_and(|known| known == text),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Known(text) | Piece::Glob(text) if text.is_empty()))
    }

    /// How many bytes it takes, about.
    pub(crate) fn length(&self) -> usize {
        let known = self.0.iter().map(|piece| match piece {
            Piece::Known(text) | Piece::Glob(text) => text.len(),
            Piece::Unknown(_) => size_of::<Piece>(),
        });
        known.sum()
    }

    pub(crate) fn unknowns(&self) -> impl Iterator<Item = &Unknown> {
        self.0.iter().filter_map(|piece| if let Piece::Unknown(unknown) = piece { Some(unknown) } else { None })
    }

    pub(crate) fn is_decided(&self) -> bool {
        self.unknowns().next().is_none()
    }

    pub(crate) fn has_glob(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Glob(_)))
    }

    /// What is known of everything in it.
    pub(crate) fn labels(&self) -> Labels {
        self.unknowns().fold(Labels::default(), |labels, unknown| match &unknown.what {
            What::Output(flow) | What::Stream(flow) => labels.with(flow.labels),
            _ => labels,
        })
    }

    pub(crate) fn push(&mut self, piece: Piece) {
        match (self.0.last_mut(), piece) {
            (_, Piece::Known(text) | Piece::Glob(text)) if text.is_empty() => {}
            (Some(Piece::Known(last)), Piece::Known(text)) => last.push_str(&text),
            (_, piece) => self.0.push(piece),
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        for piece in &other.0 {
            self.push(piece.clone());
        }
    }

    /// The text with `length` bytes taken off its start, which must be known.
    pub(crate) fn skip(&self, mut length: usize) -> Self {
        let mut rest = Self::default();
        for piece in &self.0 {
            match piece {
                Piece::Known(text) if length > 0 => {
                    let cut = length.min(text.len());
                    length -= cut;
                    rest.push(Piece::Known(text.get(cut..).unwrap_or_default().to_owned()));
                }
                piece => rest.push(piece.clone()),
            }
        }
        rest
    }

    /// The same text with patterns taken literally.
    #[must_use]
    pub(crate) fn without_globs(self) -> Self {
        let mut plain = Self::default();
        for piece in self.0 {
            plain.push(if let Piece::Glob(text) = piece { Piece::Known(text) } else { piece });
        }
        plain
    }

    /// As a flow: what would be read if this were written somewhere.
    pub(crate) fn to_flow(&self) -> Flow {
        match self.as_literal() {
            Some(text) => Flow::known(text),
            None => Flow::labelled(self.labels().with(Labels::UNKNOWN).without(Labels::PLAIN)),
        }
    }

    /// For people: unknown stretches by their source.
    /// As [`Text::display`], without a copy where all of it is one known piece.
    pub(crate) fn shown(&self) -> Cow<'_, str> {
        match self.0.as_slice() {
            [Piece::Known(text) | Piece::Glob(text)] => Cow::Borrowed(text),
            _ => Cow::Owned(self.display()),
        }
    }

    pub(crate) fn display(&self) -> String {
        let mut all = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Known(text) | Piece::Glob(text) => all.push_str(text),
                Piece::Unknown(unknown) => all.push_str(&unknown.what.display()),
            }
        }
        all
    }
}

impl What {
    fn display(&self) -> String {
        match self {
            Self::Variable(name) => format!("${{{name}}}"),
            Self::Output(_) => "$(…)".to_owned(),
            Self::Temporary => "/tmp/…".to_owned(),
            Self::Plain => "…".to_owned(),
            Self::Found(roots) => roots.first().map_or_else(|| "/…".to_owned(), FoundBelow::to_string),
            Self::Stream(_) => "<(…)".to_owned(),
            Self::Sink(_) => ">(…)".to_owned(),
            Self::Secret(reference) => reference.clone(),
            Self::Parent => "$PPID".to_owned(),
        }
    }
}
