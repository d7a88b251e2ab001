//! Carries out what a call asks for.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chiton_dialects::action::{Failure, FailureKind, Ran, TaskOutput};
use chiton_dialects::text::characters;
use chiton_dialects::{Action, CallError, Dialect, Done, Keeps, ReadAction, Reply, RunAction, Surroundings};
use chiton_engine::error::EngineError;
use chiton_engine::limits::ViewLimits;
use chiton_engine::tasks::link::Killed;
use chiton_engine::tasks::{Cursor, Filter, NotFound, Part, ReadError, ReadRequest, SendError, WaitFor, WaitReason};
use chiton_engine::{
    CommandInput, CommandRequest, Engine, Listener, RunControl, RunEvent, Session, ShellState, StartedTask,
    StateReport, Stream, Task,
};
use serde_json::{Map, Value};

/// What of a stream is in memory for a reply: more than any dialect shows, so that each can cut as it likes.
const VIEW: ViewLimits = ViewLimits { head: 160 << 10, tail: 160 << 10 };
/// What one read of a task gives at most.
const READ_BYTES: u64 = 1 << 20;

/// One client's shell: an engine, a session, a dialect.
pub struct Operator {
    engine: Engine,
    dialect: &'static dyn Dialect,
    around: Surroundings,
    session: Session,
    /// What it started from.
    beginning: Arc<ShellState>,
    /// How far each task was read.
    cursors: Mutex<HashMap<String, Cursor>>,
    /// Tasks that were read to their end in a dialect that forgets them then.
    forgotten: Mutex<HashSet<String>>,
}

/// Hears output while a command runs.
pub type Heard = Arc<dyn Fn(&[u8]) + Send + Sync>;

impl Operator {
    /// An operator for a session that starts from `state`.
    pub fn new(engine: Engine, dialect: &'static dyn Dialect, state: ShellState, timeout: Option<Duration>) -> Self {
        let around = Surroundings { directory: state.cwd.clone(), timeout };
        let session = Session::new(state);
        let (beginning, cursors, forgotten) = (session.state(), Mutex::default(), Mutex::default());
        Self { engine, dialect, around, session, beginning, cursors, forgotten }
    }

    /// The dialect it speaks.
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// Where it is.
    pub fn surroundings(&self) -> &Surroundings {
        &self.around
    }

    /// One call, from arguments to reply.
    pub async fn call(&self, tool: &str, arguments: &Map<String, Value>, heard: Heard, control: &RunControl) -> Reply {
        let known: Vec<String> = self.dialect.tools(&self.around).iter().map(|spec| spec.name.to_owned()).collect();
        if !known.iter().any(|name| name == tool) {
            return Reply::unreadable(&CallError::UnknownTool { name: tool.to_owned(), known });
        }
        match self.dialect.read(tool, arguments, &self.around) {
            Ok(action) => {
                let done = self.perform(&action, heard, control).await.unwrap_or_else(Done::Failed);
                self.dialect.write(&action, &done)
            }
            Err(error) => Reply::unreadable(&error),
        }
    }

    async fn perform(&self, action: &Action, heard: Heard, control: &RunControl) -> Result<Done, Failure> {
        self.note(action);
        match action {
            Action::Run(run) => self.run(run, heard, control).await,
            Action::Start(run) => self.start(run).await,
            Action::Read(read) => self.read(read).await,
            Action::Input { id, text, end } => self.input(id, text, *end).await,
            Action::Kill { id } => {
                let id = self.known(id)?.id;
                let killed = self.engine.tasks().kill(&id, None).await.map_err(not_found)?;
                if let Killed::Survived(task) = &killed {
                    let message = format!("{} was told to end and is still there", task.id);
                    return Err(Failure { kind: FailureKind::NotPossible, message });
                }
                let already = matches!(killed, Killed::AlreadyStopped(_));
                Ok(Done::Killed { task: Box::new(killed.task().clone()), already })
            }
            Action::Restart => {
                self.session.restore(Arc::clone(&self.beginning));
                Ok(Done::Restarted)
            }
            Action::List => self.engine.tasks().list().map(|(tasks, _)| Done::Listed(tasks)).map_err(system),
        }
    }

    /// Commands write themselves down; what is done to a task is written down here.
    fn note(&self, action: &Action) {
        match action {
            Action::Read(read) => self.engine.note_task(&self.session, "read", &read.id),
            Action::Input { id, .. } => self.engine.note_task(&self.session, "written_to", id),
            Action::Kill { id } => self.engine.note_task(&self.session, "kill", id),
            Action::Run(_) | Action::Start(_) | Action::Restart | Action::List => {}
        }
    }

    async fn run(&self, run: &RunAction, heard: Heard, control: &RunControl) -> Result<Done, Failure> {
        let mut counts = Counts { heard, stdout: 0, stderr: 0, bytes: 0 };
        let before = self.session.state();
        // A dialect that keeps only part of the state runs in a copy, of which that part is taken over.
        let session = match run.keeps {
            Keeps::Everything => self.session.clone(),
            _ => Session::new(ShellState::clone(&before)),
        };
        let response = self.engine.run(&session, request(run), &mut counts, control).await.map_err(engine_failure)?;
        let committed = response.state == StateReport::Committed;
        if let Some(state) = kept(run.keeps, &before, &session.state()).filter(|_| committed) {
            self.session.restore(Arc::new(state));
        }
        let Counts { stdout, stderr, bytes, .. } = counts;
        Ok(Done::Ran(Box::new(Ran { response, stdout_characters: stdout, stderr_characters: stderr, bytes })))
    }

    async fn start(&self, run: &RunAction) -> Result<Done, Failure> {
        match self.engine.start(&self.session, request(run)).await.map_err(engine_failure)? {
            StartedTask::Started(task) => {
                let transcript = run.transcript.then(|| task.folder().join("output.log"));
                Ok(Done::Started { task, transcript })
            }
            StartedTask::Refused(response) => {
                Err(Failure { kind: FailureKind::NotPossible, message: format!("the command {}", response.outcome) })
            }
        }
    }

    async fn read(&self, read: &ReadAction) -> Result<Done, Failure> {
        // Before anything else, so that a mistake in it moves nothing.
        let filter = read.filter.as_deref().map(Filter::new).transpose().map_err(read_failure)?;
        let mut task = self.known(&read.id)?;
        let waited = self.wait(read, &task).await?;
        task = self.known(&task.id)?;
        let part = match read.tail {
            Some(lines) => Part::Tail(lines),
            None if read.only_new => Part::New,
            None => Part::All,
        };
        let request = ReadRequest { part, filter, limit: READ_BYTES, ..ReadRequest::default() };
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        let cursor = cursors.entry(task.id.clone()).or_default();
        let output = task.read(cursor, &request).map_err(read_failure)?;
        if read.forgets && !task.status.is_running() {
            self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).insert(task.id.clone());
        }
        Ok(Done::Read(Box::new(TaskOutput {
            stdout: output.of(Stream::Stdout),
            stderr: output.of(Stream::Stderr),
            output: output.to_text(),
            left_out: output.left_out,
            waited,
            task,
        })))
    }

    /// Waits where the call asks for it; tells in words why it is over.
    async fn wait(&self, read: &ReadAction, task: &Task) -> Result<Option<String>, Failure> {
        if read.wait_for.is_none() && read.wait.is_none() {
            return Ok(None);
        }
        let pattern = read.wait_for.as_deref().map(regex::bytes::Regex::new).transpose().map_err(|error| Failure {
            kind: FailureKind::BadFilter,
            message: format!("Invalid regex in wait_for: {error}"),
        })?;
        let wanted = WaitFor { pattern, timeout: read.wait, ..WaitFor::default() };
        let waited = self.engine.tasks().wait(&task.id, wanted).await.map_err(send_failure)?;
        Ok(Some(match waited.reason {
            WaitReason::Ended => "it has ended".to_owned(),
            WaitReason::Matched(line) => format!("a line matches: {line}"),
            WaitReason::Idle => "it is silent".to_owned(),
            WaitReason::Bytes => "there is output".to_owned(),
            WaitReason::TimedOut => "the time is over".to_owned(),
        }))
    }

    async fn input(&self, id: &str, text: &str, end: bool) -> Result<Done, Failure> {
        let id = self.known(id)?.id;
        let tasks = self.engine.tasks();
        if !text.is_empty() {
            tasks.write(&id, text).await.map_err(send_failure)?;
        }
        if end {
            tasks.end_input(&id).await.map_err(send_failure)?;
        }
        Ok(Done::Written { id })
    }

    fn known(&self, id: &str) -> Result<Task, Failure> {
        let forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).contains(id);
        if forgotten {
            return Err(not_found(NotFound { id: id.to_owned(), nearest: Vec::new(), reason: None }));
        }
        self.engine.tasks().get(id).map_err(not_found)
    }
}

/// The state that is kept from a command, where it is not all of it.
fn kept(keeps: Keeps, before: &ShellState, after: &ShellState) -> Option<ShellState> {
    let mut state = before.clone();
    match keeps {
        Keeps::Everything | Keeps::Nothing => return None,
        Keeps::Directory => {}
        Keeps::Environment => {
            state.variables.retain(|_, variable| !variable.is_exported());
            let exported = after.variables.iter().filter(|(_, variable)| variable.is_exported());
            state.variables.extend(exported.map(|(name, variable)| (name.clone(), variable.clone())));
        }
    }
    state.cwd.clone_from(&after.cwd);
    Some(state)
}

fn request(run: &RunAction) -> CommandRequest {
    let mut request = CommandRequest::new(run.command.as_str());
    request.timeout = run.timeout;
    request.wait = run.wait;
    request.on_timeout = run.on_timeout;
    request.grace = Some(run.grace);
    request.directory.clone_from(&run.directory);
    request.environment = run.environment.clone();
    request.input = match &run.stdin {
        Some(text) => CommandInput::Text(text.as_str().into()),
        None if run.open_input => CommandInput::Open,
        None => CommandInput::Nothing,
    };
    request.streams = run.streams;
    request.task_lifetime = run.lifetime;
    request.transcript = run.transcript;
    request.description.clone_from(&run.description);
    request.called_as = run.called_as.as_deref().map(Into::into);
    request.view = Some(VIEW);
    request
}

/// Counts what arrives and passes it on.
struct Counts {
    heard: Heard,
    stdout: u64,
    stderr: u64,
    bytes: u64,
}

impl Listener for Counts {
    fn hear(&mut self, event: RunEvent<'_>) {
        let RunEvent::Output { stream, bytes } = event else { return };
        let place = if stream == Stream::Stdout { &mut self.stdout } else { &mut self.stderr };
        *place += characters(bytes);
        self.bytes += bytes.len() as u64;
        (self.heard)(bytes);
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn not_found(error: NotFound) -> Failure {
    Failure { kind: FailureKind::NotFound, message: error.to_string() }
}

fn system(error: impl std::fmt::Display) -> Failure {
    Failure { kind: FailureKind::System, message: error.to_string() }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn engine_failure(error: EngineError) -> Failure {
    let kind = if matches!(error, EngineError::TaskLimit(_)) { FailureKind::TaskLimit } else { FailureKind::System };
    Failure { kind, message: error.to_string() }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn read_failure(error: ReadError) -> Failure {
    let kind = if matches!(error, ReadError::BadFilter { .. }) { FailureKind::BadFilter } else { FailureKind::System };
    Failure { kind, message: error.to_string() }
}

fn send_failure(error: SendError) -> Failure {
    match error {
        SendError::NotFound(error) => not_found(error),
        SendError::Read(error) => read_failure(error),
        other => Failure { kind: FailureKind::NotPossible, message: other.to_string() },
    }
}
