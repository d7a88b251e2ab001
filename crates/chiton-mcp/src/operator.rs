//! Carries out what a call asks for.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use chiton_dialects::action::{
    Amount, Exchange, Exchanged, Failure, FailureKind, Message, Ran, TaskOutput, TaskRef, View,
};
use chiton_dialects::arguments::short;
use chiton_dialects::text::LineCount;
use chiton_dialects::{Action, CallError, Dialect, Done, Keeps, ReadAction, Reply, RunAction, Surroundings};
use chiton_engine::capture::HeadTail;
use chiton_engine::consent::{Answer, Approver, Question};
use chiton_engine::error::{EngineError, StoreError};
use chiton_engine::limits::ViewLimits;
use chiton_engine::session::store::SessionStore;
use chiton_engine::tasks::link::Killed;
use chiton_engine::tasks::{
    Cursor, Filter, NotFound, Output, Part, ReadError, ReadRequest, SendError, WaitFor, WaitReason,
};
use chiton_engine::terminal::text::whole_characters;
use chiton_engine::{
    AnswerMode, CommandInput, CommandRequest, CommandResponse, Engine, Listener, Look, Outcome, PassedAmount,
    RunControl, RunEvent, Session, Shell, ShellState, Signal, StartedTask, StateReport, Stream, Task, Tasks, Typing,
    Warmth, characters,
};
use serde_json::{Map, Value};

/// What of a stream is in memory for a reply: more than any dialect shows, so that each can cut as it likes.
const VIEW: ViewLimits = ViewLimits { head: 160 << 10, tail: 160 << 10 };
/// How long something typed may take to be answered before the screen is given as it is, and how long where a call says
/// what it waits for.
const ANSWER: Duration = Duration::from_secs(2);
const LONG_ANSWER: Duration = Duration::from_secs(30);
/// What one read of a task gives at most.
const READ_BYTES: u64 = 1 << 20;

/// Named sessions for which shells may wait.
const MOST_WARM: usize = 64;

/// One client's shell: an engine, a session, a dialect.
pub struct Operator {
    engine: Engine,
    dialect: &'static dyn Dialect,
    /// The names of its tools.
    tools: OnceLock<Vec<&'static str>>,
    around: Surroundings,
    session: Session,
    /// What it started from.
    beginning: Arc<ShellState>,
    /// How far each task was read.
    cursors: Mutex<HashMap<String, Cursor>>,
    /// Sessions that calls name.
    named: SessionStore,
    /// Tasks that were read to their end in a dialect that forgets them then.
    forgotten: Mutex<HashSet<String>>,
    /// What waits for the next commands of named sessions.
    warmth: Mutex<HashMap<String, Warmth>>,
}

/// Who makes a call, and how they can be reached while it lasts.
pub struct Caller {
    /// Hears what happens while a command runs.
    pub heard: Heard,
    /// Whether it wants to hear all output. If not, it hears the first of it, and how much the rest was.
    pub follows: bool,
    /// Ends what it waits for.
    pub control: RunControl,
    /// Asks a person.
    pub approver: Option<Arc<dyn Approver>>,
    /// What a person answered before.
    pub consent: Option<Consent>,
}

impl Caller {
    /// One that hears nothing and can ask nobody.
    pub fn silent() -> Self {
        Self { heard: Arc::new(|_| {}), follows: false, control: RunControl::new(), approver: None, consent: None }
    }
}

/// The answer of a person to a question that was asked before.
#[derive(Clone, Debug)]
pub struct Consent {
    /// The question.
    pub id: String,
    /// The answer.
    pub answer: Answer,
}

/// What came of a call.
pub struct Called {
    /// The answer.
    pub reply: Reply,
    /// What a person would have to agree to first.
    pub question: Option<Box<Question>>,
}

/// Hears what happens while a command runs.
pub type Heard = Arc<dyn Fn(&RunEvent<'_>) + Send + Sync>;

impl Operator {
    /// An operator for a session that starts from `state`.
    pub fn new(engine: Engine, dialect: &'static dyn Dialect, state: ShellState, timeout: Option<Duration>) -> Self {
        let around = Surroundings { directory: state.cwd.clone(), timeout };
        let session = Session::new(state);
        let (beginning, cursors, forgotten) = (session.state(), Mutex::default(), Mutex::default());
        let named = SessionStore::new(engine.config().state_directory.join("sessions"));
        let warmth = Mutex::default();
        Self { engine, dialect, tools: OnceLock::new(), around, session, beginning, cursors, named, forgotten, warmth }
    }

    /// The same for one client of several: it knows no tasks but its own.
    #[must_use]
    pub fn of_client(mut self, client: &str) -> Self {
        self.session = self.session.of_client(client);
        self
    }

    /// The same, going on where the session of this name was left, and leaving it as commands leave it.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn named(mut self, name: &str) -> Result<Self, StoreError> {
        let state = self.named.load(name, &self.beginning)?;
        self.session.restore(Arc::new(state));
        self.session = self.session.named(name);
        self.session.uses(&self.named.secrets(name)?);
        Ok(self)
    }

    /// The dialect it speaks.
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    fn tools(&self) -> &[&'static str] {
        self.tools.get_or_init(|| self.dialect.tools(&self.around).iter().map(|spec| spec.name).collect())
    }

    /// Where it is.
    pub fn surroundings(&self) -> &Surroundings {
        &self.around
    }

    /// One call, from arguments to reply.
    pub async fn call(&self, tool: &str, arguments: &Map<String, Value>, caller: &Caller) -> Called {
        let unreadable = |error: &CallError| Called { reply: Reply::unreadable(error), question: None };
        if !self.tools().contains(&tool) {
            let known = self.tools().iter().map(|&name| name.to_owned()).collect();
            return unreadable(&CallError::UnknownTool { name: short(tool), known });
        }
        match self.dialect.read(tool, arguments, &self.around) {
            Ok(action) => {
                let mut question = None;
                let done = self.perform(&action, caller, &mut question).await.unwrap_or_else(Done::Failed);
                // A task that was not started is answered like a command that was not run.
                let action = match (action, &done) {
                    (Action::Start(run), Done::Ran(_)) => Action::Run(run),
                    (action, _) => action,
                };
                Called { reply: self.dialect.write(&action, &done), question }
            }
            Err(error) => unreadable(&error),
        }
    }

    async fn perform(
        &self,
        action: &Action,
        caller: &Caller,
        question: &mut Option<Box<Question>>,
    ) -> Result<Done, Failure> {
        let control = &caller.control;
        if !matches!(action, Action::Run(_)) {
            self.settled().await;
        }
        self.note(action);
        match action {
            Action::Run(run) => self.run(run, caller, question).await,
            Action::Start(run) => self.start(run, caller, question).await,
            Action::Read(read) => self.read(read, control).await,
            Action::Send { task, messages, then } => {
                let task = self.known(task)?;
                for message in messages {
                    self.may_send(&task, message)?;
                    self.send(&task, message).await.map_err(send_failure)?;
                }
                self.after_sending(&task, then.as_deref(), control).await
            }
            Action::Exchange(exchange) => self.exchange(exchange, control).await,
            Action::Kill { task } => self.kill(task).await,
            Action::Restart => {
                self.session.restore(Arc::clone(&self.beginning));
                Ok(Done::Restarted)
            }
            Action::List => self.runs().map(Done::Listed),
        }
    }

    /// Commands write themselves down; what is done to a task is written down here.
    fn note(&self, action: &Action) {
        let (what, task) = match action {
            Action::Read(read) => ("read", &read.task),
            Action::Send { task, .. } => ("written_to", task),
            Action::Exchange(exchange) => ("written_to", &exchange.task),
            Action::Kill { task } => ("kill", task),
            Action::Run(_) | Action::Start(_) | Action::Restart | Action::List => return,
        };
        let id = match task {
            TaskRef::Id(id) => id.clone(),
            TaskRef::Pid(pid) => pid.to_string(),
        };
        self.engine.note_task(&self.session, what, &id);
    }

    /// Stops a task with everything it started.
    pub(crate) async fn kill(&self, task: &TaskRef) -> Result<Done, Failure> {
        let id = self.known(task)?.id;
        let killed = self.engine.tasks().kill(&id, None).await.map_err(not_found)?;
        if let Killed::Survived(task) = &killed {
            let message = format!("{} was told to end and is still there", task.id);
            return Err(Failure { kind: FailureKind::NotPossible, message });
        }
        let already = matches!(killed, Killed::AlreadyStopped(_));
        Ok(Done::Killed { task: Box::new(killed.task().clone()), already })
    }

    /// All runs that this client may know of, the newest first.
    pub(crate) fn runs(&self) -> Result<Vec<Task>, Failure> {
        let (mut tasks, _) = self.engine.tasks().list().map_err(system)?;
        tasks.retain(|task| self.may_know(task));
        Ok(tasks)
    }

    /// A task with what the dialect says of its output.
    pub(crate) fn look_up(&self, id: &str) -> Result<(Task, Reply), Failure> {
        let task = self.known(&TaskRef::Id(id.to_owned()))?;
        let action = ReadAction::new(TaskRef::Id(task.id.clone()), Part::All);
        let done = self.read_now(&action, None, None).unwrap_or_else(Done::Failed);
        Ok((task, self.dialect.write(&Action::Read(action), &done)))
    }

    /// The tasks of all clients.
    pub(crate) fn tasks(&self) -> Tasks {
        self.engine.tasks().clone()
    }

    fn may_know(&self, task: &Task) -> bool {
        self.session.client().is_none_or(|client| task.client.as_deref() == Some(client))
    }

    async fn run(
        &self,
        run: &RunAction,
        caller: &Caller,
        question: &mut Option<Box<Question>>,
    ) -> Result<Done, Failure> {
        let mut counts = Counts::new(caller);
        self.session.ready().await;
        let (session, before) = self.session_for(run)?;
        let mut request = Self::request(run, caller)?;
        request.answer = self.answer_mode(run);
        let response = self.engine.run(&session, request, &mut counts, &caller.control).await;
        let mut response = response.map_err(engine_failure)?;
        *question = response.question.take();
        if response.run_id.is_empty() {
            return Ok(Done::Ran(Box::new(Ran::unrun(response))));
        }
        self.keep(run, &before, &session, &mut response);
        response.notices.extend(self.note_secrets(run, &before, &session));
        if response.outcome == Outcome::Running {
            // What this reply gives is not new any more, but for half a character at its end.
            let cursor = counts.give_back_halves(&mut response);
            self.cursors.lock().unwrap_or_else(PoisonError::into_inner).insert(response.run_id.clone(), cursor);
        }
        let [stdout_characters, stderr_characters] = counts.characters;
        let amount = Amount { bytes: counts.bytes.iter().sum(), lines: counts.lines.lines() };
        let moved = response.cwd != before.cwd;
        Ok(Done::Ran(Box::new(Ran { response, stdout_characters, stderr_characters, amount, moved })))
    }

    async fn start(
        &self,
        run: &RunAction,
        caller: &Caller,
        question: &mut Option<Box<Question>>,
    ) -> Result<Done, Failure> {
        self.session.settled().await;
        let (session, before) = match &run.session {
            Some(_) => self.session_for(run)?,
            None => (self.session.clone(), self.session.state()),
        };
        let started = self.engine.start(&session, Self::request(run, caller)?).await.map_err(engine_failure)?;
        self.note_secrets(run, &before, &session);
        match started {
            StartedTask::Started(task) => {
                let transcript = run.transcript.then(|| task.folder().join("output.log"));
                Ok(Done::Started { task, transcript })
            }
            StartedTask::Refused(mut response) => {
                *question = response.question.take();
                Ok(Done::Ran(Box::new(Ran::unrun(*response))))
            }
        }
    }

    /// Notes in a session with a name which secrets its commands named, so that they are masked in later ones too.
    fn note_secrets(&self, run: &RunAction, before: &ShellState, session: &Session) -> Option<String> {
        let name = run.session.as_deref().or(self.session.name())?;
        let noted = self.named.note_secrets(name, before, &session.secrets());
        noted.err().map(|error| format!("{error}; secrets of this command are not known to the next server"))
    }

    /// The session that a command runs in, and its state before. A dialect that keeps only part of the state runs it
    /// in a copy, of which that part is taken over; a named session is continued from where anybody left it.
    fn session_for(&self, run: &RunAction) -> Result<(Session, Arc<ShellState>), Failure> {
        let current = self.session.state();
        if let Some(name) = &run.session {
            let state = self.named.load(name, &self.beginning).map_err(not_possible)?;
            let mut session = Session::new(state.clone()).named(name);
            if let Some(client) = self.session.client() {
                session = session.of_client(client);
            }
            session = session.with_warmth(&self.warmth_of(name));
            session.uses(&self.named.secrets(name).map_err(not_possible)?);
            return Ok((session, Arc::new(state)));
        }
        Ok(match run.keeps {
            Keeps::Everything => (self.session.clone(), current),
            _ => (self.session.branch(), current),
        })
    }

    /// What waits for the next command of a named session, which is read anew for each.
    fn warmth_of(&self, name: &str) -> Warmth {
        let mut all = self.warmth.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > MOST_WARM && !all.contains_key(name) {
            all.clear();
        }
        all.entry(name.to_owned()).or_default().clone()
    }

    /// Waits until the commands that were answered are found among the runs.
    pub(crate) async fn settled(&self) {
        self.session.settled().await;
    }

    /// Starts what the first command will need.
    pub fn warm(&self) {
        self.engine.warm(&self.session);
        self.tools();
    }

    /// Whether a call is answered before its shell has handed its state back: where the session takes that over by
    /// itself, or needs no more of it than the answer tells.
    fn answer_mode(&self, run: &RunAction) -> AnswerMode {
        let is_named = run.session.is_some() || self.session.name().is_some();
        if is_named || run.keeps == Keeps::Environment { AnswerMode::WithState } else { AnswerMode::BeforeState }
    }

    /// Takes over what is kept of a command's state, and says where the next one will start.
    fn keep(&self, run: &RunAction, before: &ShellState, session: &Session, response: &mut CommandResponse) {
        if response.state == StateReport::Follows {
            match run.keeps {
                Keeps::Everything | Keeps::Environment => {}
                Keeps::Nothing => response.cwd.clone_from(&before.cwd),
                Keeps::Directory if response.cwd == before.cwd => {}
                Keeps::Directory => {
                    let state = ShellState { cwd: response.cwd.clone(), ..before.clone() };
                    self.session.take_over(state);
                }
            }
            return;
        }
        if response.state == StateReport::Committed {
            if let Some(name) = &run.session {
                if let Err(error) = self.named.save(name, before, &session.state()) {
                    response.notices.push(format!("{error}; the session stays as it was before"));
                }
                return;
            }
            if let Some(state) = kept(run.keeps, before, &session.state()) {
                self.session.take_over(state);
            }
            if let Some(name) = self.session.name()
                && let Err(error) = self.named.save(name, before, &self.session.state())
            {
                response.notices.push(format!("{error}; the session is not written down"));
            }
        }
        if run.session.is_none() {
            response.cwd.clone_from(&self.session.state().cwd);
        }
    }

    /// What a call asks the engine for.
    fn request(run: &RunAction, caller: &Caller) -> Result<CommandRequest, Failure> {
        let mut request = request(run, caller);
        if let Some(name) = &run.shell {
            let places = ["/bin", "/usr/bin", "/usr/local/bin"].map(|place| Path::new(place).join(name));
            request.shell = Some(Shell::find_in(places.iter().map(AsRef::as_ref)).map_err(not_possible)?);
        }
        Ok(request)
    }

    async fn read(&self, read: &ReadAction, control: &RunControl) -> Result<Done, Failure> {
        // Before anything else, so that a mistake in it moves nothing.
        read.filter.as_deref().map(Filter::new).transpose().map_err(read_failure)?;
        let task = self.known(&read.task)?;
        let waited = self.wait(read, &task, control).await?;
        let look = self.look(&task).await;
        if read.view == Some(View::Screen) && look.is_none() {
            return Err(send_failure(SendError::NoTerminal { id: task.id }));
        }
        self.read_now(read, waited, look)
    }

    /// What the terminal of a task shows, where it has one.
    async fn look(&self, task: &Task) -> Option<Box<Look>> {
        task.terminal?;
        self.engine.tasks().look(&task.id).await.ok().map(Box::new)
    }

    /// The answer to something sent: what comes of it, where the task has a terminal or the call asks to wait.
    async fn after_sending(
        &self,
        task: &Task,
        then: Option<&ReadAction>,
        control: &RunControl,
    ) -> Result<Done, Failure> {
        let wanted = |then: &&ReadAction| {
            task.terminal.is_some() || then.wait.is_some() || then.wait_for.is_some() || then.view.is_some()
        };
        let Some(then) = then.filter(wanted) else { return Ok(Done::Sent { id: task.id.clone() }) };
        let mut read = then.clone();
        if task.terminal.is_some() {
            read.wait = read.wait.or(Some(if read.wait_for.is_some() { LONG_ANSWER } else { ANSWER }));
            read.view = read.view.or(Some(View::Screen));
        }
        self.read(&read, control).await
    }

    fn read_now(&self, read: &ReadAction, waited: Option<String>, look: Option<Box<Look>>) -> Result<Done, Failure> {
        let filter = read.filter.as_deref().map(Filter::new).transpose().map_err(read_failure)?;
        let task = self.known(&read.task)?;
        let limit = read.limit.unwrap_or(READ_BYTES);
        let request = ReadRequest { part: read.part.clone(), filter, limit, ..ReadRequest::default() };
        let output = self.advance(&task, &request)?;
        if read.forgets && !task.status.is_running() {
            self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).insert(task.id.clone());
        }
        Ok(Done::Read(Box::new(TaskOutput {
            stdout: output.of(Stream::Stdout),
            stderr: output.of(Stream::Stderr),
            output: output.to_text(),
            left_out: output.left_out,
            not_kept: output.not_kept,
            end: output.end,
            waited,
            // The screen is what there is to see of a full-screen program; its output is how it got there.
            view: read.view.unwrap_or(match &look {
                Some(look) if look.screen.alternate => View::Screen,
                _ => View::Plain,
            }),
            look,
            task,
        })))
    }

    /// Reads a task from where this client is in it, and moves on.
    fn advance(&self, task: &Task, request: &ReadRequest) -> Result<Output, Failure> {
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        let cursor = cursors.entry(task.id.clone()).or_default();
        task.read(cursor, request).map_err(read_failure)
    }

    /// Waits where the call asks for it; tells in words why it is over.
    async fn wait(&self, read: &ReadAction, task: &Task, control: &RunControl) -> Result<Option<String>, Failure> {
        if read.wait_for.is_none() && read.wait.is_none() {
            return Ok(None);
        }
        let pattern = read.wait_for.as_deref().map(regex::bytes::Regex::new).transpose().map_err(|error| Failure {
            kind: FailureKind::BadFilter,
            message: format!("Invalid regex in wait_for: {error}"),
        })?;
        let mut wanted = WaitFor { timeout: read.wait, ..WaitFor::default() };
        let shown = task.terminal.is_some() && matches!(read.view, Some(View::Screen));
        // Who waits for a line waits for that, even where the program asks something meanwhile.
        wanted.input = read.until_input && task.terminal.is_some() && pattern.is_none();
        *(if shown { &mut wanted.screen } else { &mut wanted.pattern }) = pattern;
        Ok(Some(match self.wait_for(&task.id, wanted, control).await? {
            WaitReason::Ended => "it has ended".to_owned(),
            WaitReason::Matched(line) => format!("a line matches: {line}"),
            WaitReason::Idle => "it is silent".to_owned(),
            WaitReason::Bytes => "there is output".to_owned(),
            WaitReason::Input(_) => "it waits for input".to_owned(),
            WaitReason::TimedOut => "the time is over".to_owned(),
        }))
    }

    async fn wait_for(&self, id: &str, wanted: WaitFor, control: &RunControl) -> Result<WaitReason, Failure> {
        tokio::select! {
            waited = self.engine.tasks().wait(id, wanted) => waited.map(|waited| waited.reason).map_err(send_failure),
            () = control.stopped() => {
                let message = "the call was withdrawn; the command goes on".to_owned();
                Err(Failure { kind: FailureKind::Withdrawn, message })
            }
        }
    }

    /// Text for a shell is a command like any other.
    fn may_send(&self, task: &Task, message: &Message) -> Result<(), Failure> {
        let (Message::Text(text) | Message::Typed(Typing::Text(text) | Typing::Paste(text))) = message else {
            return Ok(());
        };
        let reviewed = self.engine.review_input(&self.session, task, text);
        reviewed.map_err(|refusal| not_possible(refusal.reason))
    }

    async fn send(&self, task: &Task, message: &Message) -> Result<(), SendError> {
        let (tasks, id) = (self.engine.tasks(), task.id.as_str());
        let typed = |what| self.engine.type_into(&self.session, id, what);
        match message {
            Message::Text(text) if text.is_empty() => Ok(()),
            Message::Text(text) if task.terminal.is_some() => typed(Typing::Text(text.clone())).await,
            Message::Text(text) => tasks.write(id, text.as_str()).await,
            Message::Typed(what) => typed(what.clone()).await,
            Message::Resize(size) => tasks.resize(id, *size).await,
            Message::Interrupt if task.terminal.is_some() => typed(Typing::Raw("\u{3}".into())).await,
            Message::Interrupt => tasks.signal(id, Signal::INT).await,
            Message::End => tasks.end_input(id).await,
            Message::Signal(signal) => tasks.signal(id, *signal).await,
        }
    }

    /// Sends, waits, reads all that is new: its beginning and its end, however much it is.
    async fn exchange(&self, exchange: &Exchange, control: &RunControl) -> Result<Done, Failure> {
        let begun = Instant::now();
        let task = self.known(&exchange.task)?;
        let id = task.id.clone();
        if let Some(message) = &exchange.message {
            self.may_send(&task, message)?;
            match self.send(&task, message).await {
                // The answer says how it ended.
                Ok(()) | Err(SendError::Ended { .. }) => {}
                Err(error) => return Err(send_failure(error)),
            }
        }
        let wanted = WaitFor { timeout: Some(exchange.wait), ..WaitFor::default() };
        self.wait_for(&id, wanted, control).await?;
        let task = self.known(&TaskRef::Id(id))?;
        let (mut kept, mut lines, mut not_kept) = (HeadTail::new(VIEW), LineCount::default(), 0);
        let request = ReadRequest { part: Part::New, limit: READ_BYTES, ..ReadRequest::default() };
        // What there is now, and not what comes while we read it.
        let mut left = None;
        loop {
            let output = self.advance(&task, &request)?;
            let text = output.to_text();
            kept.push(text.as_bytes());
            lines.count(text.as_bytes());
            not_kept += output.not_kept;
            let still = left.unwrap_or(output.left_out + READ_BYTES).saturating_sub(READ_BYTES);
            if output.left_out == 0 || still == 0 {
                break;
            }
            left = Some(still);
        }
        let amount = Amount { bytes: kept.total() + not_kept, lines: lines.lines() };
        Ok(Done::Exchanged(Box::new(Exchanged { task, output: kept.into(), amount, not_kept, took: begun.elapsed() })))
    }

    /// The task that is meant, where this client may know of it.
    pub(crate) fn known(&self, task: &TaskRef) -> Result<Task, Failure> {
        let id = match task {
            TaskRef::Id(id) => id.clone(),
            TaskRef::Pid(pid) => self.by_pid(*pid)?,
        };
        let unknown = |id| not_found(NotFound { id, nearest: Vec::new(), reason: None });
        let forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).contains(&id);
        if forgotten {
            return Err(unknown(id));
        }
        match self.engine.tasks().get(&id) {
            Ok(task) if self.may_know(&task) => Ok(task),
            // Not even by a suggestion does one client learn of another's tasks.
            _ if self.session.client().is_some() => Err(unknown(id)),
            found => found.map_err(not_found),
        }
    }

    fn by_pid(&self, pid: u64) -> Result<String, Failure> {
        // The newest come first: a number that was used again is that of the last one.
        let found =
            self.runs()?.into_iter().find(|task| task.pid.and_then(|found| u64::try_from(found).ok()) == Some(pid));
        let message = format!("no task has the process id {pid}");
        found.map(|task| task.id).ok_or(Failure { kind: FailureKind::NotFound, message })
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

fn request(run: &RunAction, caller: &Caller) -> CommandRequest {
    let mut request = CommandRequest::new(run.command.as_str());
    (request.timeout, request.silence) = (run.timeout, run.silence);
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
    (request.terminal, request.until_input) = (run.terminal, run.until_input);
    request.task_lifetime = run.lifetime;
    request.transcript = run.transcript;
    request.description.clone_from(&run.description);
    request.called_as = run.called_as.as_deref().map(Into::into);
    request.view = Some(VIEW);
    request.approver.clone_from(&caller.approver);
    request.consent = caller.consent.as_ref().map(|consent| (consent.id.clone(), consent.answer));
    request
}

/// Counts what arrives and passes it on.
struct Counts {
    heard: Heard,
    /// Whether that wants to hear all output.
    follows: bool,
    characters: [u64; 2],
    bytes: [u64; 2],
    /// The last few bytes of each stream.
    ends: [Vec<u8>; 2],
    lines: LineCount,
}

impl Counts {
    fn new(caller: &Caller) -> Self {
        let (heard, follows) = (Arc::clone(&caller.heard), caller.follows);
        Self {
            heard,
            follows,
            characters: [0; 2],
            bytes: [0; 2],
            ends: Default::default(),
            lines: LineCount::default(),
        }
    }

    /// Where a reader goes on. A character of which only the first half has come is left for then.
    fn give_back_halves(&mut self, response: &mut CommandResponse) -> Cursor {
        for (slot, view) in [&mut response.stdout, &mut response.stderr].into_iter().enumerate() {
            let end = &self.ends[slot];
            let half = end.len() - whole_characters(end);
            if half > 0 {
                self.bytes[slot] -= half as u64;
                view.without_half_character();
                response.output.without_half_character();
            }
        }
        let [stdout, stderr] = self.bytes;
        Cursor { stdout, stderr }
    }
}

impl Listener for Counts {
    fn hear(&mut self, event: RunEvent<'_>) {
        (self.heard)(&event);
        let (stream, amount, end) = match event {
            RunEvent::Started { .. } => return,
            RunEvent::Output { stream, bytes } => {
                self.lines.count(bytes);
                let (count, characters) = (bytes.len() as u64, characters(bytes));
                let amount = PassedAmount { bytes: count, characters, lines: 0 };
                (stream, amount, &bytes[bytes.len().saturating_sub(3)..])
            }
            RunEvent::Passed { stream, amount, end } => {
                self.lines.add(amount.lines, end.last().copied());
                (stream, amount, end)
            }
        };
        let slot = usize::from(stream == Stream::Stderr);
        self.characters[slot] += amount.characters;
        self.bytes[slot] += amount.bytes;
        let ends = &mut self.ends[slot];
        ends.extend_from_slice(end);
        ends.drain(..ends.len().saturating_sub(3));
    }

    fn wants_output(&self) -> bool {
        self.follows
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn not_found(error: NotFound) -> Failure {
    Failure { kind: FailureKind::NotFound, message: error.to_string() }
}

fn system(error: impl std::fmt::Display) -> Failure {
    Failure { kind: FailureKind::System, message: error.to_string() }
}

fn not_possible(error: impl std::fmt::Display) -> Failure {
    Failure { kind: FailureKind::NotPossible, message: error.to_string() }
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
        error @ SendError::InputClosed { .. } => Failure { kind: FailureKind::InputClosed, message: error.to_string() },
        other => not_possible(other),
    }
}
