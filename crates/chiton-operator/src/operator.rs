//! Carries out what a call asks for.

mod machines;

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chiton_dialects::action::{Failure, Message, Ran, TaskRef};
use chiton_dialects::arguments::short;
use chiton_dialects::binary;
use chiton_dialects::gaps;
use chiton_dialects::reading::{Unknown, sort_out};
use chiton_dialects::{
    Action, CallError, Change, Dialect, Done, ReadAction, Reply, RunAction, StartsFrom, Structured, Surroundings,
    ToolSpec, UndoOffer, What, Whose,
};
use chiton_engine::error::StoreError;
use chiton_engine::sandbox::policy::SandboxPolicy;
use chiton_engine::tasks::{Part, Watch};
use chiton_engine::{
    CommandRequest, Engine, EngineError, FreshState, Occurrence, Outcome, Owner, Response, Session, Shell, StartedTask,
    Task, Tasks,
};
use serde_json::{Map, Value};

use crate::caller::{Called, Caller};
use crate::counts::OutputCounts;

use crate::failure::{engine_failure, not_possible, send_failure};
use crate::keep::{Opened, Sessions};
use crate::named::NamedSessions;
use crate::news::News;
use crate::ports::PortReports;
use crate::seen::{SHOWN_WHOLE, Shown};
use crate::shorten::{LikeLines, Shortener};
use crate::tasks::{ClientTasks, VIEW, transcript};
use crate::undo;
use crate::whose::WayToOthers;

use machines::Meant;
pub use machines::{Calling, Machines};

/// The tool that lists tasks, where a dialect has none of its own.
const LIST_TOOL: &str = "ListShells";

/// One client's shell: an engine, a session, a dialect.
pub struct Operator {
    engine: Engine,
    dialect: &'static dyn Dialect,
    /// The dialect whose list tool is added to its own.
    lists_as: Option<&'static dyn Dialect>,
    tools: OnceLock<Vec<ToolSpec>>,
    around: Surroundings,
    sessions: Sessions,
    tasks: ClientTasks,
    news: News,
    structured: Structured,
    shortener: Shortener,
    /// Whether the client was told of another directory than the one it is in.
    untold: AtomicBool,
    /// Other machines.
    machines: Option<Arc<dyn Machines>>,
}

impl Operator {
    /// An operator for a session that starts from `start`.
    pub fn new(engine: Engine, dialect: &'static dyn Dialect, start: FreshState, timeout: Option<Duration>) -> Self {
        let around = Surroundings { timeout, ..Surroundings::new(start.state.cwd.clone()) };
        let sessions = Sessions::new(start, NamedSessions::new(&engine.config().state_directory));
        let tasks = tasks_of(&engine, &sessions, dialect);
        let structured = dialect.structured();
        let shortener = Shortener::new(if dialect.has_gaps() { LikeLines::LeftOut } else { LikeLines::Shown });
        let untold = AtomicBool::new(false);
        let (tools, news) = (OnceLock::new(), News::default());
        Self {
            engine,
            dialect,
            lists_as: None,
            tools,
            around,
            sessions,
            tasks,
            news,
            structured,
            shortener,
            untold,
            machines: None,
        }
    }

    /// Whether it serves a client whose name is known.
    pub fn has_client_name(&self) -> bool {
        self.engine.owner().is_some()
    }

    /// The name of the client it serves, where that is known.
    pub fn client_name(&self) -> Option<&str> {
        self.engine.owner().map(|owner| owner.client.as_str())
    }

    /// From now on this serves the client of this name: its runs are that client's, and those of others are reached only
    /// by calls that say so. The first name counts.
    pub fn set_client_name(&self, name: &str) {
        if !self.has_client_name() {
            self.engine.set_owner(Owner::served_here(name, &self.around.directory));
        }
    }

    /// The same for one client of several, which knows its own tasks and no others.
    #[must_use]
    pub fn of_client(mut self, client: &str) -> Self {
        self.sessions.set_client(client);
        self.tasks = tasks_of(&self.engine, &self.sessions, self.dialect);
        self
    }

    /// The same in the session of this name: it goes on where that was left, and leaves it as commands leave it.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn named(mut self, name: &str) -> Result<Self, StoreError> {
        self.sessions.continue_named(name)?;
        self.tasks = tasks_of(&self.engine, &self.sessions, self.dialect);
        Ok(self)
    }

    /// The same with the structured form of replies for every client, whatever its dialect says.
    #[must_use]
    pub fn always_structured(mut self) -> Self {
        self.structured = Structured::Always;
        self
    }

    /// The same with lines that are like those around them left out or not, whatever its dialect says.
    #[must_use]
    pub fn with_like_lines(mut self, lines: LikeLines) -> Self {
        self.shortener = Shortener::new(lines);
        self
    }

    /// The same where calls may undo what commands did to files, if the dialect has words for that.
    #[must_use]
    pub fn with_undo(mut self) -> Self {
        self.around.undo = UndoOffer::Yes;
        self.tools = OnceLock::new();
        self
    }

    /// The same where calls may name other machines, if the dialect has words for that.
    #[must_use]
    pub fn with_machines(mut self, machines: Arc<dyn Machines>) -> Self {
        if self.dialect.names_machines() {
            self.around.targets = machines.names();
            self.machines = Some(machines);
            self.tools = OnceLock::new();
        }
        self
    }

    /// The same with a tool that lists tasks, where the dialect has none: that of `native`, as it is there.
    #[must_use]
    pub fn with_list_tool(mut self) -> Self {
        self.lists_as = chiton_dialects::find("native").filter(|_| self.dialect.listing_tool().is_none());
        self.tools = OnceLock::new();
        self
    }

    /// Who gets the structured form of replies.
    pub fn structured(&self) -> Structured {
        self.structured
    }

    /// The same for a client that may believe to be elsewhere: the first reply says where it is.
    #[must_use]
    pub fn telling_its_directory(self) -> Self {
        self.untold.store(true, Ordering::Relaxed);
        self
    }

    /// The dialect it speaks.
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// The tools it offers.
    pub fn tools(&self) -> &[ToolSpec] {
        self.tools.get_or_init(|| {
            let mut tools = self.dialect.tools(&self.around);
            let added = self.lists_as.map(|dialect| dialect.tools(&self.around)).unwrap_or_default();
            tools.extend(added.into_iter().filter(|tool| tool.name == LIST_TOOL));
            tools
        })
    }

    /// The dialect that a tool belongs to.
    pub(crate) fn dialect_of(&self, tool: &str) -> &'static dyn Dialect {
        self.lists_as.filter(|_| tool == LIST_TOOL).unwrap_or(self.dialect)
    }

    /// Where it is.
    pub fn surroundings(&self) -> &Surroundings {
        &self.around
    }

    /// What its commands are held in, in words; `None` where nothing is to hold them.
    pub fn sandbox_in_words(&self) -> Option<String> {
        self.engine.sandbox().map(SandboxPolicy::in_words)
    }

    /// One call, from arguments to reply. What goes out to the client is what [`Self::deliver`] makes of it.
    pub async fn call(&self, tool: &str, arguments: &Map<String, Value>, caller: &Caller) -> Called {
        let unreadable = |error: &CallError| Called {
            reply: Reply::unreadable(error),
            question: None,
            run: None,
            tells: Vec::new(),
        };
        let Some(spec) = self.tools().iter().find(|spec| spec.name == tool) else {
            let known = self.tools().iter().map(|spec| spec.name.to_owned()).collect();
            return unreadable(&CallError::UnknownTool { name: short(tool), known });
        };
        match self.meant(spec, arguments) {
            Meant::Here => {}
            Meant::On(machines, target) => {
                return self.call_on(machines.as_ref(), &target, spec, arguments, caller).await;
            }
            Meant::Nowhere(error) => return unreadable(&error),
        }
        let unknown = if self.dialect.ignores_unknown() { Unknown::Ignored } else { Unknown::Refused };
        let (known, ignored) = match sort_out(spec, arguments, unknown) {
            Ok(sorted) => sorted,
            Err(error) => return unreadable(&error),
        };
        if let Some(near) = &caller.near {
            self.engine.give_secrets(near.secrets.iter().cloned());
        }
        let dialect = self.dialect_of(tool);
        let mut called = match dialect.read(tool, &known, &self.around) {
            Ok(action) => self.answer(dialect, action, caller).await,
            Err(error) => unreadable(&error),
        };
        called.reply = called.reply.with_ignored(&ignored);
        // At once: as long as the line about the end is not written, this adds no other.
        if let Some(run) = &called.run {
            self.engine.note_reply(self.sessions.own(), run, called.reply.text.len() as u64);
        }
        called
    }

    /// The reply of a call as it goes out to the client: with what else changed since the client's last call. From now on
    /// the client counts as told, so a reply that cannot reach it, as that of a call that was withdrawn, is not delivered.
    pub async fn deliver(&self, called: &Called) -> Reply {
        self.news.look_back(&self.tasks);
        self.news.note(&called.tells, self.engine.tasks());
        let changes = self.news.take(&self.tasks, self.dialect).await;
        let listing_tool = self.lists_as.map(|_| LIST_TOOL).or(self.dialect.listing_tool());
        let reply = called.reply.clone().with_news(&changes, listing_tool);
        let more = reply.text.len().saturating_sub(called.reply.text.len()) as u64;
        if let Some(run) = called.run.as_ref().filter(|_| more > 0) {
            self.engine.note_reply(self.sessions.own(), run, more);
        }
        reply
    }

    /// What changed for the client since it was told last. It counts as told now: whoever takes it tells it, or gives it
    /// back ([`Self::give_back`]).
    pub async fn news(&self) -> Vec<Change> {
        self.news.look_back(&self.tasks);
        self.news.take(&self.tasks, self.dialect).await
    }

    /// What was taken could not be told: the next reply does.
    pub fn give_back(&self, changes: &[Change]) {
        self.news.take_back(changes, &self.tasks);
    }

    /// Whether the next reply will tell this.
    pub fn is_untold(&self, change: &Change) -> bool {
        self.news.is_untold(change, self.tasks.all())
    }

    /// From now on what an earlier server of this client followed is followed here.
    pub fn look_back(&self) {
        self.news.look_back(&self.tasks);
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn own_session(&self) -> &Session {
        self.sessions.own()
    }

    pub(crate) fn news_of_tasks(&self) -> &News {
        &self.news
    }

    pub(crate) fn change(&self, task: &Task, what: What) -> Change {
        self.tasks.change(task, what, self.dialect)
    }

    /// Carries an action out and has the dialect write what came of it.
    async fn answer(&self, dialect: &dyn Dialect, action: Action, caller: &Caller) -> Called {
        let told = self.news.before(&action, &self.tasks);
        let performed = self.perform(&action, caller).await;
        let (done, occurrence) = performed.unwrap_or_else(|failure| (Done::Failed(failure), Occurrence::First));
        let question = if let Done::Ran(ran) = &done { ran.response.question() } else { None };
        let question = question.cloned().map(Box::new);
        // A task that was not started is answered like a command that was not run.
        let action = match (action, &done) {
            (Action::Start(run) | Action::Watch(run, _), Done::Ran(_)) => Action::Run(run),
            (action, _) => action,
        };
        let shown = Shown::of(&action, &done);
        let done = binary::named(done);
        let reply = match &done {
            Done::Ran(ran) if ran.response.refusal().is_some() => dialect.refuse(ran),
            _ => dialect.write(&action, &done),
        };
        if let Some((id, seen)) = shown.in_reply(&reply) {
            self.tasks.note_seen(id, seen);
        }
        let reply = reply.never_empty().with_released(&done);
        let reply = if occurrence == Occurrence::Again { reply.with_sent_twice() } else { reply };
        let mut tells = self.news.learn(&action, &done, &reply, self.dialect, &self.tasks);
        tells.extend(told.filter(|_| !matches!(done, Done::Failed(_))));
        Called { reply, question, run: done.run_id().map(str::to_owned), tells }
    }

    /// Carries an action out. A call that came twice is carried out once, and both get what came of it.
    async fn perform(&self, action: &Action, caller: &Caller) -> Result<(Done, Occurrence), Failure> {
        let control = &caller.control;
        if !matches!(action, Action::Run(_)) {
            self.settled().await;
        }
        self.note(action);
        let done = match action {
            Action::Run(run) => return self.run(run, caller).await,
            Action::Start(run) => return self.start(run, caller).await,
            Action::Watch(run, read) => return self.watch(run, read, caller).await,
            Action::Read(read) => {
                let mut done = self.tasks.read(read, control).await?;
                if let Done::Read(output) = &mut done {
                    self.shortener.shorten_read(output, read, &self.sessions.own().state(), &self.tasks);
                }
                done
            }
            Action::Send { task, messages, then } => self.tasks.send(task, messages, then.as_deref(), control).await?,
            Action::Exchange(exchange) => self.tasks.exchange(exchange, control).await?,
            Action::Kill { task } => self.tasks.kill(task).await?,
            Action::Restart => {
                self.sessions.restart().map_err(not_possible)?;
                Done::Restarted
            }
            Action::List(list) => self.tasks.list(list.whose).map(Done::Listed)?,
            Action::Undo { id } => undo::undo(&self.engine.config().state_directory, id, &self.tasks).await?,
        };
        Ok((done, Occurrence::First))
    }

    /// The engine writes commands into the journal; this adds what a call does to a task.
    fn note(&self, action: &Action) {
        let (what, task) = match action {
            Action::Undo { id } => return self.engine.note_task(self.sessions.own(), "undo", id),
            Action::Read(read) => ("read", &read.task),
            // The engine writes down what is typed, with what it thinks of it; the rest is signals and sizes.
            Action::Send { task, messages, .. } if !messages.iter().any(is_text) => ("written_to", task),
            Action::Exchange(exchange) if !exchange.message.as_ref().is_some_and(is_text) => ("read", &exchange.task),
            Action::Kill { task } => ("kill", task),
            Action::Send { .. }
            | Action::Exchange(_)
            | Action::Run(_)
            | Action::Start(_)
            | Action::Watch(..)
            | Action::Restart
            | Action::List(_) => return,
        };
        let id = match task {
            TaskRef::Id(id) | TaskRef::OfAnybody(id) => id.clone(),
            TaskRef::Pid(number) | TaskRef::Number(number) => number.to_string(),
        };
        self.engine.note_task(self.sessions.own(), what, &id);
    }

    async fn run(&self, run: &RunAction, caller: &Caller) -> Result<(Done, Occurrence), Failure> {
        let mut counts = OutputCounts::new(caller);
        self.sessions.own().ready().await;
        let opened = self.sessions.open(&self.beginning_once(run, caller)).map_err(not_possible)?;

        let mut request = request(run, caller)?;
        request.answer = opened.answer_mode();
        let response = self.engine.run_once(&opened.session, request, &mut counts, &caller.control).await;
        let report = match response.map_err(|error| self.not_run(&opened, error))? {
            Response::Ran(report) => report,
            not_run => return Ok((Done::Ran(Box::new(Ran::unrun(not_run))), Occurrence::First)),
        };
        let occurrence = report.occurrence;

        let mut kept = self.sessions.keep(&opened, &run.request.command.to_text(), &report);
        kept.notices.extend(self.sessions.note_secrets(&opened));
        if let Some(words) = self.dialect.restart_words()
            && let Some(broken) = self.sessions.broken(&opened, run, &report)
        {
            kept.notices.push(format!("{broken}; {words} starts the session afresh"));
        }
        let mut screen = None;
        if report.outcome == Outcome::Running {
            // What this reply shows is not new to the next read, except for half a character at its end.
            self.tasks.read_up_to(&report.run_id, counts.cursor());
            screen = self.tasks.drawn_screen(&report).await;
        }
        let moved = kept.cwd != opened.before.cwd || self.untold.swap(false, Ordering::Relaxed);
        let goes_on =
            if report.outcome == Outcome::Running { Some(&report.run_id) } else { report.leftover_task.as_ref() };
        let number = goes_on.map(|id| self.tasks.number(id));
        let ports = goes_on.map(|id| self.tasks.ports_of(id)).unwrap_or_default();
        let task = run.request.transcript.then(|| self.engine.tasks().get(&report.run_id).ok()).flatten();
        let transcript = task.as_ref().map(transcript).filter(|file| file.exists());
        let mut ran = Ran { transcript, number, ports, ..counts.into_ran(report, kept, moved, screen) };
        if self.shortener.looks_at(run, &ran) {
            self.shorten(run, &mut ran, &opened).await;
        }
        Ok((Done::Ran(Box::new(ran)), occurrence))
    }

    /// Puts the output into fewer lines, where that is asked for or possible.
    async fn shorten(&self, run: &RunAction, ran: &mut Ran, opened: &Opened) {
        // A quick command is answered before its run is written down.
        if self.shortener.needs_the_spool(run, ran) {
            self.settled().await;
            opened.session.settled().await;
        }
        self.shortener.shorten(run, ran, &opened.before, &self.tasks);
        if !self.dialect.has_gaps() {
            gaps::shorten(run, ran);
        }
    }

    async fn watch(&self, run: &RunAction, read: &ReadAction, caller: &Caller) -> Result<(Done, Occurrence), Failure> {
        match self.start(run, caller).await? {
            (Done::Started { task, .. }, occurrence) => {
                let read = ReadAction { task: TaskRef::Id(task.id), ..read.clone() };
                Ok((self.tasks.read(&read, &caller.control).await?, occurrence))
            }
            not_started => Ok(not_started),
        }
    }

    async fn start(&self, run: &RunAction, caller: &Caller) -> Result<(Done, Occurrence), Failure> {
        if let Some(pattern) = &run.watch {
            Watch::check(pattern).map_err(send_failure)?;
        }
        self.settled().await;
        let opened = self.sessions.open_for_task(&self.beginning_once(run, caller)).map_err(not_possible)?;

        let started = self.engine.start_once(&opened.session, request(run, caller)?).await;
        let (started, occurrence) = started.map_err(|error| self.not_run(&opened, error))?;
        self.sessions.note_secrets(&opened);
        let done = match started {
            StartedTask::Started(task) => {
                self.news.follow(&self.tasks, &task.id, task.terminal.is_some());
                if let Some(pattern) = &run.watch {
                    self.tasks.watch_from_start(&task.id, pattern).await?;
                }
                let transcript = run.request.transcript.then(|| transcript(&task));
                Done::Started { task, transcript }
            }
            StartedTask::Refused(refused) => Done::Ran(Box::new(Ran::unrun(Response::Refused(refused)))),
            StartedTask::Described(dry_run) => Done::Ran(Box::new(Ran::unrun(Response::Described(dry_run)))),
        };
        Ok((done, occurrence))
    }

    /// The same for a call that was made before: its session has begun afresh then, if it was to, and does so no more.
    fn beginning_once<'a>(&self, run: &'a RunAction, caller: &Caller) -> Cow<'a, RunAction> {
        let id = caller.near.as_ref().and_then(|near| near.run_id.as_ref());
        if id.is_some_and(|id| self.engine.tasks().has(id)) {
            return Cow::Owned(RunAction { starts_from: StartsFrom::Session, ..run.clone() });
        }
        Cow::Borrowed(run)
    }

    /// Why nothing was run.
    fn not_run(&self, opened: &Opened, error: EngineError) -> Failure {
        self.sessions.keep_place(opened);
        engine_failure(error)
    }

    /// Whether a person was asked the question `id`, and it can still be answered.
    pub fn is_open_question(&self, id: &str) -> bool {
        self.engine.is_open_question(id)
    }

    /// Waits until the runs include all commands that were answered.
    pub async fn settled(&self) {
        self.sessions.own().settled().await;
    }

    /// Starts what the first command will need.
    pub fn warm(&self) {
        self.engine.warm(self.sessions.own());
        self.tools();
    }

    /// The client's own runs, the newest first.
    pub fn runs(&self) -> Result<Vec<Task>, Failure> {
        self.tasks.list(Whose::Own).map(|listed| listed.own)
    }

    /// The task that is meant, where this client may know of it.
    pub fn known(&self, task: &TaskRef) -> Result<Task, Failure> {
        self.tasks.known(task)
    }

    /// A task with what the dialect says of its output.
    pub fn look_up(&self, id: &str) -> Result<(Task, Reply), Failure> {
        let task = self.tasks.known(&TaskRef::Id(id.to_owned()))?;
        let action = ReadAction::new(TaskRef::Id(task.id.clone()), Part::All);
        let done = self.tasks.read_now(task.clone(), &action).unwrap_or_else(Done::Failed);
        let action = Action::Read(action);
        let shown = Shown::of(&action, &done);
        let done = binary::named(done);
        let reply = self.dialect.write(&action, &done).never_empty();
        if let Some((id, seen)) = shown.in_reply(&reply) {
            self.tasks.note_seen(id, seen);
        }
        Ok((task, reply))
    }

    /// Stops a task with everything it started.
    pub async fn kill(&self, task: &TaskRef) -> Result<Done, Failure> {
        self.tasks.kill(task).await
    }

    /// The tasks of all clients.
    pub fn tasks(&self) -> &Tasks {
        self.engine.tasks()
    }
}

fn tasks_of(engine: &Engine, sessions: &Sessions, dialect: &dyn Dialect) -> ClientTasks {
    let way = if dialect.reaches_others() { WayToOthers::Parameter } else { WayToOthers::CommandLine };
    ClientTasks::new(engine.clone(), sessions.own().clone(), way, PortReports::in_dialect(dialect))
}

/// Whether it reaches the input of the task: then the engine judges it and writes it down.
fn is_text(message: &Message) -> bool {
    matches!(message, Message::Text(_) | Message::Typed(_) | Message::Interrupt | Message::End)
}

/// The shell that a call asks for.
fn find_shell(name: &Path) -> Result<Shell, Failure> {
    let places = ["/bin", "/usr/bin", "/usr/local/bin"].map(|place| Path::new(place).join(name));
    Shell::find_in(places.iter().map(AsRef::as_ref)).map_err(not_possible)
}

/// The request for the engine: what the dialect made of the call, and who makes it.
fn request(run: &RunAction, caller: &Caller) -> Result<CommandRequest, Failure> {
    let mut request = CommandRequest {
        shell: run.shell.as_deref().map(find_shell).transpose()?,
        view: Some(VIEW),
        shown_whole: Some(SHOWN_WHOLE),
        approver: caller.approver.clone(),
        asks_later: caller.asks_later,
        consent: caller.consent.as_ref().map(|consent| (consent.id.clone(), consent.answer)),
        ..run.request.clone()
    };
    if let Some(near) = &caller.near {
        near.apply_to(&mut request);
    }
    Ok(request)
}
