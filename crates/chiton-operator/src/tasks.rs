//! What a client does with its tasks: it reads them, waits for them, writes to them and stops them.

use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use chiton_dialects::action::{
    Amount, Exchange, Exchanged, Failure, FailureKind, Message, OutputView, ReportedPorts, TaskOutput, TaskRef,
    WatchChange, WatchChanged, WhenLong,
};
use chiton_dialects::text::LineCount;
use chiton_dialects::{Change, Dialect, Done, Listed, ReadAction, TaskNames, What, Whose};
use chiton_engine::capture::HeadTail;
use chiton_engine::limits::ViewLimits;
use chiton_engine::machine::MachineSize;
use chiton_engine::render::TextView;
use chiton_engine::tasks::link::Killed;
use chiton_engine::tasks::{
    Cursor, Filter, NotFound, Output, Part, ReadRequest, RemovedRun, RunMark, SendError, WaitFor, WaitReason, Waited,
};
use chiton_engine::terminal::text::{ScreenAtEnd, draws_on_screen, outside_full_screen};
use chiton_engine::{Engine, Lock, Look, RELEASED, RunControl, RunReport, Session, Signal, Task, Tasks, Typing};

use crate::ends::Ends;
use crate::failure::{not_found, read_failure, send_failure, system};
use crate::numbers::Numbers;
use crate::ports::PortReports;
use crate::remembered::Remembered;
use crate::seen::Seen;
use crate::whose::{TaskOf, WayToOthers, of_another};

/// How much of a stream is in memory for a reply: more than any dialect shows, so that each can cut it in its own way.
pub(crate) const VIEW: ViewLimits = ViewLimits { head: 160 << 10, tail: 160 << 10 };
/// How long a program may take to answer what was typed before the reply shows the screen as it is, and how long if the
/// call says what it waits for.
const ANSWER: Duration = Duration::from_secs(2);
const LONG_ANSWER: Duration = Duration::from_secs(30);
/// How long a call waits for a line where it does not say.
const LINE: Duration = Duration::from_mins(2);
/// An id is short. Whatever is longer was not meant as one, and is no reason for a long message.
const LONGEST_ID: usize = 64;
/// What one read of a task gives at most.
const READ_BYTES: u64 = 1 << 20;

/// The tasks that one client may know of.
pub(crate) struct ClientTasks {
    engine: Engine,
    /// The client's own session.
    session: Session,
    /// How it reaches the tasks of other clients.
    way: WayToOthers,
    /// How far each task was read.
    cursors: Lock<Remembered<Cursor>>,
    /// Whether a reply has left out something of what was new in each task.
    gaps: Lock<Remembered<bool>>,
    /// Whether what each task printed last was drawn on its screen.
    drawn: Lock<Remembered<bool>>,
    /// Tasks that were read to their end in a dialect that forgets them then.
    forgotten: Lock<Remembered<()>>,
    /// The short numbers of tasks.
    numbers: Lock<Numbers>,
    /// What it was told about their ports.
    ports: PortReports,
}

impl ClientTasks {
    pub(crate) fn new(engine: Engine, session: Session, way: WayToOthers, ports: PortReports) -> Self {
        Self {
            engine,
            session,
            way,
            cursors: Lock::default(),
            gaps: Lock::default(),
            drawn: Lock::default(),
            forgotten: Lock::default(),
            numbers: Lock::default(),
            ports,
        }
    }

    /// Reads a task, after a wait where the call asks for one.
    pub(crate) async fn read(&self, read: &ReadAction, control: &RunControl) -> Result<Done, Failure> {
        // Before anything else, so that a mistake in it moves nothing.
        let filter = filter(read)?;
        let task = self.known(&read.task)?;
        let watch = match &read.watch {
            Some(change) => Some(self.change_watches(&task, change).await?),
            None => None,
        };
        let mut done = self.read_after_wait(task, read, filter, control).await?;
        if let Done::Read(output) = &mut done {
            output.watch = watch;
        }
        Ok(done)
    }

    async fn change_watches(&self, task: &Task, change: &WatchChange) -> Result<WatchChanged, Failure> {
        let tasks = self.engine.tasks();
        match change {
            WatchChange::Add(pattern) => tasks.watch(&task.id, pattern).await.map(WatchChanged::Added),
            WatchChange::EndAll => match tasks.unwatch(&task.id, None).await {
                // They ended with it.
                Err(SendError::Ended { .. }) => Ok(WatchChanged::Ended(tasks.watches(&task.id))),
                removed => removed.map(WatchChanged::Ended),
            },
        }
        .map_err(send_failure)
    }

    /// Puts a watch on a task that was just started: all of its lines count. One that has ended is not watched any more.
    pub(crate) async fn watch_from_start(&self, id: &str, pattern: &str) -> Result<(), Failure> {
        match self.engine.tasks().watch_since(id, pattern, 0).await {
            Ok(_) | Err(SendError::Ended { .. }) => Ok(()),
            Err(error) => Err(send_failure(error)),
        }
    }

    async fn read_after_wait(
        &self,
        task: Task,
        read: &ReadAction,
        filter: Option<Filter>,
        control: &RunControl,
    ) -> Result<Done, Failure> {
        let (task, waited) = self.wait(read, task, control).await?;
        let look = self.look(&task).await;
        if read.view == Some(OutputView::Screen) && look.is_none() {
            return Err(send_failure(SendError::NoTerminal { id: task.id }));
        }
        let output = self.output(task, read, filter)?;
        let draws = look.is_some() && self.draws(&output.task, end_of(&output.output));
        let ports = self.ports.of(&output.task, || self.engine.tasks().ids());
        Ok(Done::Read(Box::new(with_look(TaskOutput { waited, ports, ..output }, read, look, draws))))
    }

    /// Reads a task as it is now, without a look at its terminal.
    pub(crate) fn read_now(&self, task: Task, read: &ReadAction) -> Result<Done, Failure> {
        let output = self.output(task, read, filter(read)?)?;
        Ok(Done::Read(Box::new(output)))
    }

    /// What the terminal of a task shows, where it has one.
    async fn look(&self, task: &Task) -> Option<Box<Look>> {
        task.terminal?;
        self.engine.tasks().look(&task.id).await.ok().map(Box::new)
    }

    /// The screen of a run that was handed back, where its program draws on it.
    pub(crate) async fn drawn_screen(&self, report: &RunReport) -> Option<Box<Look>> {
        let task = self.engine.tasks().get(&report.run_id).ok()?;
        let look = self.look(&task).await?;
        (self.draws(&task, end_of(&report.stdout)) || look.screen.alternate).then_some(look)
    }

    /// Whether a task draws on its screen, by what it printed last: `new`, or where that is nothing, what was new before.
    fn draws(&self, task: &Task, new: &str) -> bool {
        let mut drawn = self.drawn.lock();
        let drawn = drawn.of(&task.id, || self.engine.tasks().ids());
        if !new.is_empty() {
            *drawn = draws_on_screen(new);
        }
        *drawn
    }

    /// The answer to something sent: what comes of it, where the task has a terminal or the call asks to wait.
    async fn after_sending(
        &self,
        task: Task,
        then: Option<&ReadAction>,
        control: &RunControl,
    ) -> Result<Done, Failure> {
        let wanted = |then: &&ReadAction| {
            task.terminal.is_some() || then.wait.is_some() || then.wait_for.is_some() || then.view.is_some()
        };
        let Some(then) = then.filter(wanted) else { return Ok(Done::Sent { id: task.id }) };
        let mut read = then.clone();
        if task.terminal.is_some() {
            read.wait = read.wait.or(Some(if read.wait_for.is_some() { LONG_ANSWER } else { ANSWER }));
        }
        let filter = filter(&read)?;
        self.read_after_wait(task, &read, filter, control).await
    }

    /// The part of a task's output that is asked for. Its state is older than its output: one that has ended has printed
    /// all of it.
    fn output(&self, task: Task, read: &ReadAction, filter: Option<Filter>) -> Result<TaskOutput, Failure> {
        let ends = self.ends(&task, read, filter)?;
        if read.forgets && !task.status.is_running() {
            self.lock_forgotten().of(&task.id, || self.engine.tasks().ids());
        }
        Ok(TaskOutput {
            stdout: ends.stdout,
            stderr: ends.stderr,
            output: ends.output,
            left_out: ends.left_out,
            not_kept: ends.not_kept.max(lost(&task)),
            end: ends.end,
            rest: ends.rest,
            transcript: Some(transcript(&task)).filter(|file| file.exists()),
            watch: None,
            waited: None,
            view: read.view.unwrap_or(OutputView::Plain),
            look: None,
            compacted: None,
            ports: ReportedPorts::default(),
            task,
        })
    }

    fn ends(&self, task: &Task, read: &ReadAction, filter: Option<Filter>) -> Result<Ends, Failure> {
        let limit = read.limit.unwrap_or(READ_BYTES);
        let mask = |text| self.engine.masked_view(text);
        // Of what matches there is no end to be found without all of it.
        if read.when_long == WhenLong::Beginning || filter.is_some() {
            let request = ReadRequest { part: read.part.clone(), filter, limit, ..ReadRequest::default() };
            return Ok(Ends::whole(&self.advance(task, &request)?, &mask));
        }
        let ends = if read.part == Part::New {
            let mut cursors = self.lock_cursors();
            Ends::of_new(task, cursors.of(&task.id, || self.engine.tasks().ids()), limit, &mask)
        } else {
            Ends::of_part(task, &read.part, limit, &mask)
        };
        ends.map_err(read_failure)
    }

    /// A part of a task's output as text, up to so many bytes; none where some of it is not kept or it is more.
    pub(crate) fn text_of(&self, task: &Task, part: Part, limit: u64) -> Option<String> {
        let request = ReadRequest { part, limit, ..ReadRequest::default() };
        let output = task.read(&mut Cursor::default(), &request).ok()?;
        (output.left_out == 0 && output.not_kept == 0).then(|| self.engine.masked_view(output.to_text()))
    }

    /// The client has read the task `id` up to here.
    pub(crate) fn read_up_to(&self, id: &str, cursor: Cursor) {
        *self.lock_cursors().of(id, || self.engine.tasks().ids()) = cursor;
    }

    /// Writes down what the client has seen of a run. Of another's it may see anything: that is not read by its owner.
    pub(crate) fn note_seen(&self, id: &str, seen: Seen) {
        let tasks = self.engine.tasks();
        let is_own = || tasks.get(id).is_ok_and(|task| self.see(&task) == TaskOf::Itself);
        match seen {
            Seen::Mark(RunMark::Read) if is_own() => tasks.mark(id, RunMark::Read),
            Seen::Mark(RunMark::Read) => {}
            Seen::Mark(mark) => tasks.mark(id, mark),
            Seen::Gap => *self.gaps.lock().of(id, || tasks.ids()) = true,
            Seen::Rest => {
                let has_gap = *self.gaps.lock().of(id, || tasks.ids());
                if !has_gap && is_own() {
                    tasks.mark(id, RunMark::Read);
                }
            }
        }
    }

    /// Reads a task from where this client is in it, and moves on.
    fn advance(&self, task: &Task, request: &ReadRequest) -> Result<Output, Failure> {
        let mut cursors = self.lock_cursors();
        let cursor = cursors.of(&task.id, || self.engine.tasks().ids());
        task.read(cursor, request).map_err(read_failure)
    }

    /// What the task `id` listens on.
    pub(crate) fn ports_of(&self, id: &str) -> ReportedPorts {
        let tasks = self.engine.tasks();
        tasks.get(id).map(|task| self.ports.of(&task, || tasks.ids())).unwrap_or_default()
    }

    /// The short number of the task `id`.
    pub(crate) fn number(&self, id: &str) -> u32 {
        self.numbers.lock().of(id, || self.engine.tasks().ids())
    }

    fn lock_cursors(&self) -> MutexGuard<'_, Remembered<Cursor>> {
        self.cursors.lock()
    }

    fn lock_forgotten(&self) -> MutexGuard<'_, Remembered<()>> {
        self.forgotten.lock()
    }

    /// Waits where the call asks for it. Gives the task as it is then, and in words why the wait is over.
    async fn wait(
        &self,
        read: &ReadAction,
        task: Task,
        control: &RunControl,
    ) -> Result<(Task, Option<String>), Failure> {
        if read.wait_for.is_none() && read.wait.is_none() && read.wait_for_port.is_none() {
            return Ok((task, None));
        }
        let pattern = read
            .wait_for
            .as_deref()
            .map(regex::bytes::Regex::new)
            .transpose()
            .map_err(|error| Failure::new(FailureKind::BadFilter, format!("Invalid regex in wait_for: {error}")))?;

        let waits_for_something = pattern.is_some() || read.wait_for_port.is_some();
        let timeout = read.wait.or(waits_for_something.then_some(LINE));
        let mut wanted = WaitFor { timeout, from: self.searched_from(&task, read)?, ..WaitFor::default() };
        // A call that waits for a line or a port waits for that, even where the program asks something meanwhile.
        wanted.input = read.until_input && task.terminal.is_some() && !waits_for_something;
        wanted.port = read.wait_for_port;
        match read.view {
            Some(OutputView::Screen) if task.terminal.is_some() => wanted.screen = pattern,
            None if task.terminal.is_some() && self.draws(&task, "") => wanted.screen = pattern,
            None if task.terminal.is_some() => (wanted.full_screen, wanted.pattern) = (pattern.clone(), pattern),
            _ => wanted.pattern = pattern,
        }
        if read.until_output {
            wanted.from = *self.lock_cursors().of(&task.id, || self.engine.tasks().ids());
            wanted.bytes = Some(1);
        }

        let waited = self.wait_for(&task.id, wanted, control).await?;
        let why = in_words(&waited);
        Ok((waited.task, Some(why)))
    }

    /// From where on a line counts as new: from where the call reads, else from where this client is.
    fn searched_from(&self, task: &Task, read: &ReadAction) -> Result<Cursor, Failure> {
        match &read.part {
            Part::Bytes(range) if range.end == u64::MAX => task.cursor_at(range.start).map_err(read_failure),
            _ => Ok(*self.lock_cursors().of(&task.id, || self.engine.tasks().ids())),
        }
    }

    async fn wait_for(&self, id: &str, wanted: WaitFor, control: &RunControl) -> Result<Waited, Failure> {
        let wanted = WaitFor { releasable: true, ..wanted };
        tokio::select! {
            waited = self.engine.tasks().wait(id, wanted) => waited.map_err(send_failure),
            () = control.stopped() => {
                let message = "the call was withdrawn; the command goes on".to_owned();
                Err(Failure::new(FailureKind::Withdrawn, message))
            }
        }
    }

    /// Sends all of `messages`, and reads what comes of it.
    pub(crate) async fn send(
        &self,
        task: &TaskRef,
        messages: &[Message],
        then: Option<&ReadAction>,
        control: &RunControl,
    ) -> Result<Done, Failure> {
        let task = self.known(task)?;
        for message in messages {
            self.deliver(&task, message).await.map_err(send_failure)?;
        }
        self.after_sending(task, then, control).await
    }

    async fn deliver(&self, task: &Task, message: &Message) -> Result<(), SendError> {
        let (tasks, id) = (self.engine.tasks(), task.id.as_str());
        let typed = |what| self.engine.type_into(&self.session, id, what);
        match message {
            Message::Text(text) if text.is_empty() => Ok(()),
            Message::Text(text) if task.terminal.is_some() => typed(Typing::Text(text.clone())).await,
            Message::Text(text) => self.engine.write_to(&self.session, id, text.as_str()).await,
            Message::Typed(what) => typed(what.clone()).await,
            Message::Resize(size) => tasks.resize(id, *size).await,
            Message::Interrupt if task.terminal.is_some() => typed(Typing::Raw("\u{3}".into())).await,
            Message::Interrupt => tasks.signal(id, Signal::INT).await,
            Message::End => self.engine.end_input_of(&self.session, id).await,
            Message::Signal(signal) => tasks.signal(id, *signal).await,
        }
    }

    /// Sends, waits, reads all that is new: its beginning and its end, however much it is.
    pub(crate) async fn exchange(&self, exchange: &Exchange, control: &RunControl) -> Result<Done, Failure> {
        let begun = Instant::now();
        let task = self.known(&exchange.task)?;
        if let Some(message) = &exchange.message {
            match self.deliver(&task, message).await {
                // The answer says how it ended.
                Ok(()) | Err(SendError::Ended { .. }) => {}
                Err(error) => return Err(send_failure(error)),
            }
        }
        let wanted = WaitFor { timeout: Some(exchange.wait), ..WaitFor::default() };
        let task = self.wait_for(&task.id, wanted, control).await?.task;

        let (mut kept, mut lines, mut not_kept) = (HeadTail::new(VIEW), LineCount::default(), 0);
        let request = ReadRequest { part: Part::New, limit: READ_BYTES, ..ReadRequest::default() };
        // Only what there is now, and not what arrives while we read it.
        let mut left = None;
        loop {
            let output = self.advance(&task, &request)?;
            let text = self.engine.masked_view(output.to_text());
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
        let (number, took) = (self.number(&task.id), begun.elapsed());
        Ok(Done::Exchanged(Box::new(Exchanged { task, output: kept.into(), amount, not_kept, took, number })))
    }

    /// Stops a task with everything it started.
    pub(crate) async fn kill(&self, task: &TaskRef) -> Result<Done, Failure> {
        let id = self.known(task)?.id;
        let killed = self.engine.tasks().kill(&id, None).await.map_err(not_found)?;
        if let Killed::Survived(task) = &killed {
            let message = format!("{} was asked to end and is still there", task.id);
            return Err(Failure::new(FailureKind::NotPossible, message));
        }
        let already = matches!(killed, Killed::AlreadyStopped(_));
        Ok(Done::Killed { task: Box::new(killed.task().clone()), already })
    }

    /// Tasks, those of others where they are wanted and the client may know of them.
    pub(crate) fn list(&self, whose: Whose) -> Result<Listed, Failure> {
        let (tasks, _) = self.engine.tasks().list().map_err(system)?;
        let mut listed = Listed { machine: Some(MachineSize::find()), ..Listed::default() };
        for task in tasks {
            match self.see(&task) {
                TaskOf::Itself => listed.own.push(task),
                TaskOf::Person | TaskOf::Another if whose == Whose::Everybodys => listed.others.push(task),
                TaskOf::Person | TaskOf::Another | TaskOf::Stranger => {}
            }
        }
        listed.listening = self.ports.of_all(listed.own.iter().chain(&listed.others));
        Ok(listed)
    }

    /// All tasks, whosever they are.
    pub(crate) fn all(&self) -> &Tasks {
        self.engine.tasks()
    }

    /// Whether another process may serve this client later: it has a name, or works in a session that has one.
    pub(crate) fn is_continued_later(&self) -> bool {
        self.engine.owner().is_some() || self.session.client().is_some() || self.session.name().is_some()
    }

    /// Whether a task is this client's own.
    pub(crate) fn is_own(&self, task: &Task) -> bool {
        self.see(task) == TaskOf::Itself
    }

    /// Whether a task that another process followed is this client's. Nobody is served on the command line: there, the
    /// name of the session says whose a task is.
    pub(crate) fn is_continued(&self, task: &Task) -> bool {
        let is_served = self.engine.owner().is_some() || self.session.client().is_some();
        let is_of_session =
            || task.session.is_some() && task.session.as_deref() == self.session.name() && task.owner_name().is_none();
        if is_served { self.is_own(task) } else { is_of_session() }
    }

    /// A change of a task, in the words of a dialect and without values that are to be masked.
    pub(crate) fn change(&self, task: &Task, what: What, dialect: &dyn Dialect) -> Change {
        Change { id: task.id.clone(), name: self.name(task, dialect), what: self.masked(what) }
    }

    /// What a dialect calls a task.
    pub(crate) fn name(&self, task: &Task, dialect: &dyn Dialect) -> String {
        match (dialect.task_names(), task.pid) {
            (TaskNames::Number, _) => format!("session {}", self.number(&task.id)),
            (TaskNames::Pid, Some(pid)) => format!("PID {pid}"),
            (TaskNames::Pid, None) | (TaskNames::Id, _) => task.id.clone(),
        }
    }

    fn masked(&self, what: What) -> What {
        let mask = |text| self.engine.masked_view(text);
        match what {
            What::Matched { pattern, matches, line } => What::Matched { pattern, matches, line: mask(line) },
            What::Waits { prompt } => What::Waits { prompt: mask(prompt) },
            ended @ What::Ended { .. } => ended,
        }
    }

    fn see(&self, task: &Task) -> TaskOf {
        TaskOf::see(task, &self.session, &self.engine)
    }

    /// The task that is meant, where this client may know of it.
    pub(crate) fn known(&self, task: &TaskRef) -> Result<Task, Failure> {
        let (id, whose) = match task {
            TaskRef::Id(id) => (id.clone(), Whose::Own),
            TaskRef::OfAnybody(id) => (id.clone(), Whose::Everybodys),
            TaskRef::Pid(pid) => (self.by_pid(*pid)?, Whose::Own),
            TaskRef::Number(number) => (self.by_number(*number)?, Whose::Own),
        };
        let unknown = |id| not_found(NotFound { id, nearest: Vec::new(), reason: None, removed: None });
        let task = match self.engine.tasks().get(&id) {
            Ok(task) => task,
            Err(error) => return Err(not_found(self.as_it_may_know(id, error, whose))),
        };
        if self.lock_forgotten().has(&task.id) {
            return Err(unknown(id));
        }
        match (self.see(&task), whose) {
            // An id that a person has told is meant.
            (TaskOf::Itself | TaskOf::Person, _) | (TaskOf::Another, Whose::Everybodys) => Ok(task),
            (TaskOf::Another, Whose::Own) => Err(of_another(&task, self.way)),
            (TaskOf::Stranger, _) => Err(unknown(id)),
        }
    }

    /// The same error without what the client is not to know: of a run that was removed it learns what it might have
    /// known of that run, and ids of other clients' tasks are not suggested, since none of them is meant.
    fn as_it_may_know(&self, id: String, error: NotFound, whose: Whose) -> NotFound {
        let NotFound { mut nearest, reason, removed, .. } = error;
        let may_know = |run: &RemovedRun| match TaskOf::with(
            run.client.as_deref(),
            run.owner.as_ref(),
            &self.session,
            &self.engine,
        ) {
            TaskOf::Itself | TaskOf::Person => true,
            TaskOf::Another => whose == Whose::Everybodys,
            TaskOf::Stranger => false,
        };
        let removed = removed.filter(|run| may_know(run));
        // One client of several does not learn of another's tasks, not even by a suggestion.
        if self.session.client().is_some() {
            return NotFound { id, nearest: Vec::new(), reason: None, removed };
        }
        let tasks = self.engine.tasks();
        nearest.retain(|id| tasks.get(id).is_ok_and(|task| self.see(&task) != TaskOf::Another));
        let id = removed.as_ref().map_or_else(|| id.chars().take(LONGEST_ID).collect(), |removed| removed.id.clone());
        NotFound { id, nearest, reason, removed }
    }

    fn by_number(&self, number: u64) -> Result<String, Failure> {
        let id = self.numbers.lock().id(number).map(str::to_owned);
        let message = format!("no task has the number {number}");
        id.ok_or(Failure::new(FailureKind::NotFound, message))
    }

    fn by_pid(&self, pid: u64) -> Result<String, Failure> {
        let Listed { own, others, .. } = self.list(Whose::Everybodys)?;
        // The newest come first: a number that was used twice is that of the last task.
        let has_it = |task: &Task| task.pid.and_then(|found| u64::try_from(found).ok()) == Some(pid);
        let found = own.into_iter().chain(others).find(has_it);
        let message = format!("no task has the process id {pid}");
        found.map(|task| task.id).ok_or(Failure::new(FailureKind::NotFound, message))
    }
}

/// What was printed last of what is shown.
fn end_of(view: &TextView) -> &str {
    view.tail.as_deref().unwrap_or(&view.head)
}

/// Where the plain file with the output of a task is, if it has one.
pub(crate) fn transcript(task: &Task) -> std::path::PathBuf {
    task.folder().join("output.log")
}

fn filter(read: &ReadAction) -> Result<Option<Filter>, Failure> {
    read.filter.as_deref().map(Filter::new).transpose().map_err(read_failure)
}

/// Why a wait is over.
fn in_words(waited: &Waited) -> String {
    let why = why_over(waited);
    waited.about_port.as_ref().map_or(why.clone(), |about| format!("{why}; {about}"))
}

fn why_over(waited: &Waited) -> String {
    match (&waited.reason, &waited.earlier) {
        (WaitReason::Ended, None) => "it has ended".to_owned(),
        (WaitReason::Ended, Some(line)) => format!("it has ended; nothing new matches; an earlier line did: {line}"),
        (WaitReason::Matched(line), _) => format!("a line matches: {line}"),
        (WaitReason::Listening(socket), _) => format!("it listens on {}", socket.name),
        (WaitReason::Idle, _) => "it is silent".to_owned(),
        (WaitReason::Bytes, _) => "there is output".to_owned(),
        (WaitReason::Input(_), _) => "it waits for input".to_owned(),
        (WaitReason::Watched, _) => "a watch has matched".to_owned(),
        (WaitReason::Released, _) => format!("{RELEASED}; it goes on"),
        (WaitReason::TimedOut, None) => "the time is over".to_owned(),
        (WaitReason::TimedOut, Some(line)) => format!("nothing new matches; an earlier line did: {line}"),
    }
}

/// How much a task printed of which nothing could be kept, as on a full disk.
fn lost(task: &Task) -> u64 {
    let Some((stdout, stderr)) = task.totals else { return 0 };
    if stdout.kept + stderr.kept == 0 { stdout.written + stderr.written } else { 0 }
}

/// The output with what the terminal shows. The screen is what there is to see of a full-screen program; its output is
/// how it got there. Once it has ended, there is nothing to see but what it printed.
fn with_look(mut output: TaskOutput, read: &ReadAction, look: Option<Box<Look>>, draws: bool) -> TaskOutput {
    let alternate = look.as_ref().is_some_and(|look| look.screen.alternate);
    let draws = output.task.status.is_running() && (alternate || draws);
    let view = read.view.unwrap_or(if draws { OutputView::Screen } else { OutputView::Plain });
    if look.is_some() && read.view.is_none() && view == OutputView::Plain {
        let end = if alternate { ScreenAtEnd::Alternate } else { ScreenAtEnd::Main };
        output.output.head = outside_full_screen(&output.output.head, end);
    }
    TaskOutput { look, view, ..output }
}
