//! Stage 1: what is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::bytes::ByteString;
use crate::consent::{Answer, Approver};
use crate::error::RequestError;
use crate::limits::{COMMAND_BYTES, ViewLimits};
use crate::process::Shell;
pub use crate::run::Streams;
use crate::run::{Lifetime, RunId};
use chiton_shell::SyntaxError;
use chiton_shell::tree::Script;
use chiton_terminal::TerminalSize;
use chiton_terminal::keys::TERM;

/// One command to run.
#[derive(Clone, Debug, Default)]
pub struct CommandRequest {
    /// The command, byte for byte as the shell shall read it.
    pub command: ByteString,
    /// The id that its run gets; without it, one that the engine makes. Where there is such a run already, nothing is run
    /// ([`crate::EngineError::RunExists`]), so a call whose answer was lost can be made again.
    pub run_id: Option<RunId>,
    /// How long it may take; without it, as long as the engine's limits say. A task that nobody waits for has no limit
    /// but this one.
    pub timeout: Option<Duration>,
    /// How long it may go without printing anything. Every byte of output starts this time anew, so a command that
    /// prints every so often may take as long as it wants.
    pub silence: Option<Duration>,
    /// From SIGTERM to SIGKILL, where it differs from the engine's.
    pub grace: Option<Duration>,
    /// Where to run it, for this call alone; without it, where the session is.
    pub directory: Option<PathBuf>,
    /// Variables for this call alone.
    pub environment: EnvironmentChange,
    /// Variables of `environment` that are there for every command of this caller: a question to a person leaves them
    /// out, since nobody asked for them.
    pub unasked: BTreeSet<String>,
    /// Its standard input.
    pub input: CommandInput,
    /// The shell that runs it, where it differs from the engine's.
    pub shell: Option<Shell>,
    /// How its output is captured.
    pub streams: Streams,
    /// A terminal of this size for all three streams: for programs that talk to a person. What they print is one
    /// stream then, and what is typed reaches them ([`crate::Tasks::type_into`]).
    pub terminal: Option<TerminalSize>,
    /// Whether the call is answered, and the run handed back alive, as soon as the command waits for input. Only with a
    /// terminal.
    pub until_input: bool,
    /// What ends it besides its own end.
    pub lifetime: Lifetime,
    /// How much output the response carries, where it differs from the engine's.
    pub view: Option<ViewLimits>,
    /// Output of up to so many bytes reaches whoever asked as a whole; without it, what the response carries. A run that
    /// printed more counts as one that was cut, and is kept longer, until somebody says otherwise
    /// ([`crate::Tasks::mark`]).
    pub shown_whole: Option<u64>,
    /// What `$0` is, where it differs from `bash`.
    pub called_as: Option<ByteString>,
    /// How long the call waits; then the run is handed back alive. Without it, until the end.
    pub wait: Option<Duration>,
    /// What happens when its time is over.
    pub on_timeout: OnTimeout,
    /// What ends a run that outlives its call.
    pub task_lifetime: TaskLifetime,
    /// What becomes of what it does to files.
    pub preview: PreviewMode,
    /// What it is for, for people who look at it later.
    pub description: Option<String>,
    /// Who can ask a person, where the guard wants that.
    pub approver: Option<Arc<dyn Approver>>,
    /// Whether whoever asks for the command can take a question away, and come again with its answer. Nobody else is
    /// asked then.
    pub asks_later: bool,
    /// The name of a question that was asked before, and its answer.
    pub consent: Option<(String, Answer)>,
    /// Whether a person has agreed to it where it comes from, or a rule of theirs allows it: what the guard asks about counts
    /// as agreed then, what it denies stays denied. Nothing that a model says may set this.
    pub agreed: bool,
    /// Whether a plain file gets all output as well, with a last line that says how it ended.
    pub transcript: bool,
    /// When the call is answered.
    pub answer: AnswerMode,
    /// The numbers of the ports that its text named. The engine puts them here, and in the places of the names.
    pub ports: BTreeMap<String, u16>,
}

impl CommandRequest {
    /// A request to run `command` with everything else as the engine has it.
    pub fn new(command: impl Into<ByteString>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }
}

/// What a call does to the environment, for itself alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvironmentChange {
    /// Adds to the session's variables, or takes their place one by one.
    Merge(BTreeMap<String, ByteString>),
    /// The command sees these variables only, and those the shell sets itself.
    Replace(BTreeMap<String, ByteString>),
}

impl EnvironmentChange {
    /// The variables given.
    pub fn variables(&self) -> &BTreeMap<String, ByteString> {
        let (Self::Merge(variables) | Self::Replace(variables)) = self;
        variables
    }
}

impl Default for EnvironmentChange {
    fn default() -> Self {
        Self::Merge(BTreeMap::new())
    }
}

/// Where a command reads from.
#[derive(Clone, Debug, Default)]
pub enum CommandInput {
    /// `/dev/null`: a program that asks gets "end of file" at once instead of waiting for a person.
    #[default]
    Nothing,
    /// These bytes, then the end.
    Text(ByteString),
    /// An open file, pipe or socket.
    Descriptor(Arc<OwnedFd>),
    /// Nothing yet: what is written to the task later. A program that reads waits for that.
    Open,
}

/// When a call is answered, once its command has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerMode {
    /// When the state is in the session. The answer says everything, and takes as long as the shell needs to hand its
    /// state back.
    #[default]
    WithState,
    /// At once, while the shell still hands its state back. What the command changed is in the session before the next
    /// command starts, see [`crate::Session::settled`]; but the answer can say neither what became of the state
    /// ([`crate::StateReport::Follows`]) nor what the command used.
    BeforeState,
    /// When the shell has ended. It hands nothing back, which takes it longer than many a command: for a session that nobody
    /// goes on with. The answer knows no status of the parts of a pipeline.
    WithoutState,
}

/// What happens to a run when its time is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnTimeout {
    /// It is stopped, with everything it started. Work it had half done is lost.
    #[default]
    Stop,
    /// It goes on as a task, and the call is answered with its id. Nothing is lost, and somebody has to look after it.
    HandBack,
}

/// What becomes of what a command does to files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreviewMode {
    /// It happens.
    #[default]
    Off,
    /// It is held back, and so is what the command changes in its session, until a person commits it
    /// ([`crate::preview::Previews::commit`]). This takes a sandbox, and a few milliseconds.
    On,
}

/// What ends a run that outlives its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskLifetime {
    /// The end of the session, or of the process that holds it.
    #[default]
    Session,
    /// Nothing but itself, its deadline, or a kill.
    Durable,
}

impl From<TaskLifetime> for Lifetime {
    fn from(lifetime: TaskLifetime) -> Self {
        match lifetime {
            TaskLifetime::Session => Self::Session,
            TaskLifetime::Durable => Self::Durable,
        }
    }
}

/// What the text of a command says, or why it cannot be read.
pub(crate) type ParsedCommand = Result<Script, SyntaxError>;

/// The parse of one command. The stage that needs it first makes it, and the command carries it on.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandParse(OnceLock<Arc<ParsedCommand>>);

impl CommandParse {
    /// The parse of `command`, which is always the same one.
    pub(crate) fn of(&self, command: &[u8]) -> &Arc<ParsedCommand> {
        self.0.get_or_init(|| Arc::new(chiton_shell::parse(command)))
    }
}

impl From<Arc<ParsedCommand>> for CommandParse {
    fn from(parsed: Arc<ParsedCommand>) -> Self {
        Self(parsed.into())
    }
}

/// A request that can be run. Only [`accept`] makes one.
#[derive(Debug)]
pub(crate) struct AcceptedRequest(CommandRequest);

impl AcceptedRequest {
    pub(crate) fn get(&self) -> &CommandRequest {
        &self.0
    }

    pub(crate) fn into_inner(self) -> CommandRequest {
        self.0
    }
}

/// Refuses what no shell could run as it is; gives a request without a limit the usual one.
pub(crate) fn accept(
    mut request: CommandRequest,
    usual_timeout: Option<Duration>,
) -> Result<AcceptedRequest, RequestError> {
    request.timeout = request.timeout.or(usual_timeout);
    let command = &request.command;
    if let Some(place) = memchr::memchr(0, command) {
        return Err(RequestError::Nul(place));
    }
    if command.len() > COMMAND_BYTES {
        return Err(RequestError::TooLong(command.len(), COMMAND_BYTES));
    }
    if request.timeout == Some(Duration::ZERO) {
        return Err(RequestError::ZeroTimeout);
    }
    if request.silence == Some(Duration::ZERO) {
        return Err(RequestError::ZeroSilence);
    }
    if request.preview == PreviewMode::On {
        prepare_preview(&mut request)?;
    }
    if let Some(size) = request.terminal {
        prepare_terminal(&mut request, size)?;
    }
    Ok(AcceptedRequest(request))
}

/// A preview is what there is at the end, so somebody has to wait for that.
fn prepare_preview(request: &mut CommandRequest) -> Result<(), RequestError> {
    let outlives = [
        (request.wait.is_some(), "a time to wait"),
        (request.on_timeout == OnTimeout::HandBack, "going on after its time"),
        (request.until_input, "handing it back when it waits for input"),
        (matches!(request.input, CommandInput::Open), "input that is left open"),
    ];
    if let Some((_, what)) = outlives.into_iter().find(|(is_so, _)| *is_so) {
        return Err(RequestError::PreviewGoesOn(what));
    }
    request.answer = AnswerMode::WithState;
    Ok(())
}

/// A terminal is input and output in one, and programs have to know its kind.
fn prepare_terminal(request: &mut CommandRequest, size: TerminalSize) -> Result<(), RequestError> {
    TerminalSize::new(size.columns.into(), size.rows.into()).map_err(RequestError::BadSize)?;
    if !matches!(request.input, CommandInput::Nothing | CommandInput::Open) {
        return Err(RequestError::InputAndTerminal);
    }
    request.streams = Streams::Merged;
    let merges = matches!(request.environment, EnvironmentChange::Merge(_));
    let (EnvironmentChange::Merge(variables) | EnvironmentChange::Replace(variables)) = &mut request.environment;
    variables.entry("TERM".to_owned()).or_insert_with(|| TERM.into());
    if merges {
        // Somebody can answer here.
        variables.entry("GIT_TERMINAL_PROMPT".to_owned()).or_insert_with(|| "1".into());
    }
    Ok(())
}
