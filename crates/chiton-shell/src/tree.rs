//! The tree that a command is parsed into.

use std::sync::{Arc, OnceLock};

use crate::place::Places;
pub use crate::span::Span;

/// A whole parsed text.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Its commands.
    pub list: List,
    /// What each byte is.
    pub places: Places,
}

/// Commands one after the other.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The commands.
    pub items: Vec<Item>,
}

/// One entry of a list.
#[derive(Clone, Debug)]
pub struct Item {
    /// The first pipeline.
    pub first: Pipeline,
    /// Pipelines joined to it by `&&` and `||`.
    pub rest: Vec<(Connector, Pipeline)>,
    /// Whether `&` ends it.
    pub background: bool,
}

/// What joins two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// Commands joined by pipes.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// Whether `!` stands before it.
    pub negated: bool,
    /// The commands, left to right; `time` alone has none.
    pub stages: Vec<Command>,
    /// Where it stands.
    pub span: Span,
}

/// A command with its redirections.
#[derive(Clone, Debug)]
pub struct Command {
    /// What it is.
    pub kind: CommandKind,
    /// Its redirections, in order.
    pub redirections: Vec<Redirection>,
    /// Where it stands, redirections included.
    pub span: Span,
}

/// The kinds of command.
#[derive(Clone, Debug)]
pub enum CommandKind {
    /// Assignments and words.
    Simple(Simple),
    /// `( … )`.
    Subshell(List),
    /// `{ …; }`.
    Group(List),
    /// `if`.
    If {
        /// Each condition with what follows its `then`.
        clauses: Vec<(List, List)>,
        /// What follows `else`.
        otherwise: Option<List>,
    },
    /// `while` and `until`.
    Loop {
        /// Whether it is `until`.
        until: bool,
        /// The condition.
        condition: List,
        /// The body.
        body: List,
    },
    /// `for` and `select` over words.
    For {
        /// The variable.
        name: String,
        /// The words, or none for the positional parameters.
        words: Option<Vec<Word>>,
        /// The body.
        body: List,
        /// Whether it is `select`.
        select: bool,
    },
    /// `for (( … ))`.
    ArithmeticFor {
        /// The three expressions.
        expressions: Vec<Word>,
        /// The body.
        body: List,
    },
    /// `case`.
    Case {
        /// What is compared.
        subject: Word,
        /// The arms.
        arms: Vec<Arm>,
    },
    /// `(( … ))`.
    Arithmetic(Word),
    /// `[[ … ]]`, its words in order, operators left out.
    Condition(Vec<Word>),
    /// A function definition.
    Function {
        /// Its name.
        name: String,
        /// Its body.
        body: Arc<Command>,
    },
    /// `coproc`.
    Coprocess {
        /// The array that holds its descriptors.
        name: String,
        /// What runs.
        command: Box<Command>,
    },
}

/// One arm of `case`.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The patterns.
    pub patterns: Vec<Word>,
    /// The commands.
    pub body: List,
    /// Whether later arms may follow it: it ends with `;&` or `;;&`.
    pub goes_on: bool,
}

/// Assignments and words.
#[derive(Clone, Debug, Default)]
pub struct Simple {
    /// Assignments before the first word.
    pub assignments: Vec<Assignment>,
    /// The words, the command's name first.
    pub words: Vec<Word>,
    /// Arrays among the words, as `declare -a name=(…)` takes them, each with the number of the word that it is.
    pub declared: Vec<(usize, Assignment)>,
}

/// `name=value`.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its subscript.
    pub index: Option<Word>,
    /// Whether it is `+=`.
    pub append: bool,
    /// The value.
    pub value: AssignedValue,
    /// Where it stands.
    pub span: Span,
}

/// The right side of an assignment.
#[derive(Clone, Debug)]
pub enum AssignedValue {
    /// One word.
    Scalar(Word),
    /// `( … )`: each element with its subscript.
    Array(Vec<(Option<Word>, Word)>),
}

/// A redirection.
#[derive(Clone, Debug)]
pub struct Redirection {
    /// The descriptor that stands before the operator.
    pub descriptor: Option<Descriptor>,
    /// The operator.
    pub operator: Operator,
    /// What follows it.
    pub target: Target,
    /// Where it stands.
    pub span: Span,
}

/// The descriptor of a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// `2>`.
    Number(u32),
    /// `{name}>`.
    Variable(String),
}

/// The operators of redirections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`.
    Read,
    /// `>`.
    Write,
    /// `>|`.
    Clobber,
    /// `>>`.
    Append,
    /// `<>`.
    ReadWrite,
    /// `<&`.
    DuplicateInput,
    /// `>&`.
    DuplicateOutput,
    /// `&>`.
    WriteBoth,
    /// `&>>`.
    AppendBoth,
    /// `<<<`.
    HereString,
    /// `<<` and `<<-`.
    HereDocument,
}

/// What a redirection points at.
#[derive(Clone, Debug)]
pub enum Target {
    /// A word.
    Word(Word),
    /// A here document, whose body stands further below in the text.
    Here(Arc<OnceLock<HereDocument>>),
}

/// The body of a here document.
#[derive(Clone, Debug)]
pub struct HereDocument {
    /// The line that ends it, without quotes.
    pub delimiter: Vec<u8>,
    /// Whether its delimiter was quoted, so that nothing in it is expanded.
    pub quoted: bool,
    /// Whether the operator was `<<-`, which drops the tabs at the start of each line.
    pub strips_tabs: bool,
    /// The text. For a quoted one a single piece.
    pub body: Word,
}

/// A word: pieces without blanks between them.
#[derive(Clone, Debug, Default)]
pub struct Word {
    /// The pieces.
    pub parts: Vec<Part>,
    /// Where it stands.
    pub span: Span,
}

impl Word {
    /// The text of a word in which nothing is quoted or expanded.
    pub fn as_plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }
}

/// A piece of a word.
#[derive(Clone, Debug)]
pub enum Part {
    /// Text as it stands: braces, tildes and patterns in it count, unless it is inside double quotes.
    Literal(String),
    /// Text that a backslash, single quotes or `$'…'` protected.
    Quoted(String),
    /// Double quotes, also `$"…"`.
    Double(Vec<Part>),
    /// `$name` and `${…}`.
    Parameter(Box<Parameter>),
    /// `$(…)` and backticks.
    Command(Arc<List>),
    /// `$((…))` and `$[…]`.
    Arithmetic(Word),
    /// `<(…)` and `>(…)`.
    Process {
        /// Whether the command writes what the reader of the word reads: `<(…)`.
        reads: bool,
        /// The commands.
        list: Arc<List>,
    },
}

/// A parameter expansion.
#[derive(Clone, Debug, Default)]
pub struct Parameter {
    /// The name: a variable, a number, or one of `@*#?-$!`.
    pub name: String,
    /// Its subscript.
    pub index: Option<Word>,
    /// `${!name}`.
    pub indirect: bool,
    /// `${#name}`.
    pub length: bool,
    /// `$name` without braces: a letter that is put behind it goes on with the name.
    pub bare: bool,
    /// What is done with the value.
    pub operation: Operation,
}

impl Parameter {
    /// Whether it is several words even in double quotes.
    pub fn is_list(&self) -> bool {
        let all = self.index.as_ref().and_then(Word::as_plain) == Some("@");
        (self.name == "@" || all) && !self.length
    }

    /// Whether it is about all positional parameters, or all elements of an array.
    pub fn is_many(&self) -> bool {
        matches!(self.name.as_str(), "@" | "*")
            || matches!(self.index.as_ref().and_then(Word::as_plain), Some("@" | "*"))
    }
}

/// What `${name-word}` and its like do with the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// `-`: it is used where the variable has no value.
    Use,
    /// `=`: the same, and the variable keeps it.
    Assign,
    /// `?`: it is the message with which the shell fails where the variable has no value.
    Fail,
    /// `+`: it is used where the variable has a value.
    Replace,
}

/// What `${name^pattern}` and its like do with letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseChange {
    /// `^`.
    Upper,
    /// `,`.
    Lower,
    /// `~`.
    Toggle,
}

/// What an expansion does with the value.
#[derive(Clone, Debug, Default)]
pub enum Operation {
    /// Nothing.
    #[default]
    Plain,
    /// `-`, `=`, `?`, `+`; with a colon an empty value counts as none.
    Alternative {
        /// What it does with its word.
        kind: Fallback,
        /// Whether a colon stands before it.
        colon: bool,
        /// The word after it.
        word: Word,
    },
    /// `#`, `##`, `%`, `%%`.
    Trim {
        /// Whether it cuts at the end.
        suffix: bool,
        /// Whether it cuts as much as it can.
        longest: bool,
        /// The pattern.
        pattern: Word,
    },
    /// `/pattern/replacement`.
    Replace {
        /// Whether all matches are replaced.
        all: bool,
        /// `#` or `%` where the match is tied to an end.
        anchor: Option<char>,
        /// The pattern.
        pattern: Word,
        /// What replaces it.
        replacement: Word,
    },
    /// `:offset:length`.
    Slice {
        /// The offset.
        offset: Word,
        /// The length.
        length: Option<Word>,
    },
    /// `^`, `^^`, `,`, `,,`, `~`, `~~`.
    Case {
        /// What becomes of the letters.
        kind: CaseChange,
        /// Whether it is doubled.
        all: bool,
        /// The pattern after it; nearly always none.
        pattern: Word,
    },
    /// `@Q` and its like, by letter.
    Transform(char),
    /// `${!prefix*}` and `${!prefix@}`.
    Names,
}
