//! What a dialect is.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Ran};
use crate::arguments::{Arguments, short};
use crate::call_error::CallError;
use crate::reply::Reply;
use crate::title;

/// One tool as a client sees it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it does, for a model.
    pub description: String,
    /// Its parameters by name, each with its schema.
    pub parameters: Vec<(&'static str, Value)>,
    /// Those that have to be there.
    pub required: &'static [&'static str],
    /// What it does to the world.
    pub effect: ToolEffect,
    /// The JSON schema of its structured replies, failures included.
    pub output_schema: Value,
}

impl ToolSpec {
    /// The JSON schema of its arguments.
    pub fn input_schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.parameters.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
        json!({"type": "object", "properties": properties, "required": self.required, "additionalProperties": false})
    }

    /// Whether it has a parameter of this name.
    pub fn has(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|(name, _)| *name == parameter)
    }

    /// What people call it.
    pub fn title(&self) -> &'static str {
        title::of(self.name).unwrap_or(self.name)
    }

    /// The names of its parameters.
    pub fn names(&self) -> Vec<&'static str> {
        self.parameters.iter().map(|(name, _)| *name).collect()
    }
}

/// The arguments of a call of `tool`, which has to be one of these.
pub fn arguments_of<'a>(
    tools: &[ToolSpec],
    tool: &str,
    values: &'a Map<String, Value>,
) -> Result<Arguments<'a>, CallError> {
    if let Some(spec) = tools.iter().find(|spec| spec.name == tool) {
        return Arguments::new(values, &spec.names());
    }
    let known = tools.iter().map(|spec| spec.name.to_owned()).collect();
    Err(CallError::UnknownTool { name: short(tool), known })
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// Nothing: it only looks.
    Looks,
    /// Whatever the command does.
    Runs,
    /// It ends what runs.
    Stops,
}

/// The parameter that names another machine.
pub const ON: &str = "on";

/// What a dialect knows of the place it is used in.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The working directory that commands start in.
    pub directory: PathBuf,
    /// The limit that the server was started with, where it was.
    pub timeout: Option<Duration>,
    /// Whether calls may undo what commands did to files.
    pub undo: UndoOffer,
    /// Other machines that calls may name.
    pub targets: Vec<String>,
}

impl Surroundings {
    /// A server that was started in this directory, with nothing said besides.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), timeout: None, undo: UndoOffer::No, targets: Vec::new() }
    }
}

/// Whether calls may undo what commands did to files. A person says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndoOffer {
    /// They may not, and no tool says that one could.
    #[default]
    No,
    /// They may, where the surface has words for it.
    Yes,
}

/// Who gets the structured form of replies. Some clients show it to their model in place of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structured {
    /// Every client.
    Always,
    /// Every client that is not known to be an agent's: a model reads the text.
    ForPrograms,
    /// Nobody: the surface imitates one that has no such form.
    OnRequest,
}

/// What a surface calls a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskNames {
    /// By its id.
    Id,
    /// By the short number that a reply gave it ([`Ran::number`]).
    Number,
    /// By the process id of its shell.
    Pid,
}

/// A tool surface.
pub trait Dialect: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// The tool that runs commands: the first of its tools. To know its name, nobody has to write down all of them.
    fn running_tool(&self) -> &'static str;

    /// Its tools.
    fn tools(&self, surroundings: &Surroundings) -> Vec<ToolSpec>;

    /// How many tasks a session may have running.
    fn task_limit(&self) -> Option<usize> {
        None
    }

    /// Who gets the structured form of its replies, besides those who ask for it.
    fn structured(&self) -> Structured {
        Structured::Always
    }

    /// The most characters that a reply of its tools may have, where a client that would put a long reply aside is told.
    fn longest_reply(&self) -> Option<usize> {
        None
    }

    /// Whether a parameter that nobody knows is ignored, and said to be, where it could be an error.
    fn ignores_unknown(&self) -> bool {
        true
    }

    /// Whether its requirement keeps more variables from commands than the user's own session would.
    fn is_careful(&self) -> bool {
        false
    }

    /// Whether a reference to a secret that nobody knows stays the text it is.
    fn keeps_unknown_references(&self) -> bool {
        false
    }

    /// Whether calls can name another machine, with the parameter [`ON`].
    fn names_machines(&self) -> bool {
        false
    }

    /// Whether a call can reach the tasks of other clients ([`crate::action::TaskRef::OfAnybody`]).
    fn reaches_others(&self) -> bool {
        false
    }

    /// Whether lines that are like those around them are left out, where nobody says otherwise, and told in its own words.
    fn has_gaps(&self) -> bool {
        false
    }

    /// Whether its replies say what tasks listen on.
    fn reports_ports(&self) -> bool {
        false
    }

    /// How a call starts the session afresh, in the words of the tool, where one can.
    fn restart_words(&self) -> Option<&'static str> {
        None
    }

    /// What its replies call a task.
    fn task_names(&self) -> TaskNames {
        TaskNames::Id
    }

    /// The tool that lists tasks, where it has one.
    fn listing_tool(&self) -> Option<&'static str> {
        None
    }

    /// Whether the text of its answer says how a task ended, where that is a thing to say. If not, a line at the end of
    /// the reply does ([`crate::news`]).
    fn says_how_a_task_ended(&self, done: &Done) -> bool {
        !matches!(done, Done::Started { .. })
    }

    /// Whether a read of a task that waits for input says so.
    fn says_that_a_task_waits(&self) -> bool {
        false
    }

    /// Reads a call whose arguments are all known to the tool.
    fn read(&self, tool: &str, arguments: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError>;

    /// Writes the answer to a call whose command may not run.
    fn refuse(&self, ran: &Ran) -> Reply {
        Reply::refused(ran)
    }

    /// Writes the answer to a call.
    fn write(&self, action: &Action, done: &Done) -> Reply;
}

/// A parameter that is a string.
pub fn string(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// A parameter that is a whole number from `minimum` on.
pub fn integer(minimum: u64, description: &str) -> Value {
    json!({"type": "integer", "minimum": minimum, "description": description})
}

/// A parameter that is one of these words.
pub fn choice(words: &[&str], description: &str) -> Value {
    json!({"type": "string", "enum": words, "description": description})
}

/// A parameter that is a set of variables.
pub fn variables(description: &str) -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}, "description": description})
}

/// A parameter that is a truth value.
pub fn boolean(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}
