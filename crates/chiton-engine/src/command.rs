//! A command for programs that use the library: said piece by piece, run, or followed event by event.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream as EventStream;
use tokio_util::sync::CancellationToken;

use crate::bytes::ByteString;
use crate::consent::Approver;
use crate::control::RunControl;
use crate::engine::{Engine, StartedTask};
use crate::error::EngineError;
use crate::lock::Lock;
use crate::machine;
use crate::request::{CommandInput, CommandRequest, EnvironmentChange, OnTimeout, TaskLifetime};
use crate::response::Response;
use crate::run::{RunEvent, Silent, Stream, Streams};
use crate::session::Session;
use chiton_terminal::TerminalSize;

/// A command that is about to run in a session. Nothing happens before [`Command::run`], [`Command::events`] or
/// [`Command::start`].
///
/// ```no_run
/// # async fn example(engine: &chiton_engine::Engine, session: &chiton_engine::Session) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// let response = engine.command(session, "cargo test").timeout(Duration::from_secs(600)).env("CI", "1").run().await?;
/// assert_eq!(response.exit_code(), Some(0));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing runs before it is told to"]
pub struct Command {
    engine: Engine,
    session: Session,
    request: CommandRequest,
    control: RunControl,
    cancelled: Option<CancellationToken>,
}

impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Command").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Engine {
    /// A session that starts where this process is: in its directory, with its umask, and with its environment as far as the
    /// engine's policy lets that through.
    ///
    /// # Errors
    /// When this process has no directory any more.
    pub fn session_here(&self) -> io::Result<Session> {
        // A name that is no text is none that a shell could use.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, ByteString::from(value.into_vec()))));
        Ok(Session::new(self.fresh_state(std::env::current_dir()?, variables, machine::umask())))
    }

    /// A command for `session`, with everything else as the engine has it.
    pub fn command(&self, session: &Session, command: impl Into<ByteString>) -> Command {
        Command {
            engine: self.clone(),
            session: session.clone(),
            request: CommandRequest::new(command),
            control: RunControl::new(),
            cancelled: None,
        }
    }
}

impl Command {
    /// Ends it, with everything it started, after this time.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.request.timeout = Some(time);
        self
    }

    /// Hands it back alive after this time instead of waiting for its end.
    pub fn wait(mut self, time: Duration) -> Self {
        self.request.wait = Some(time);
        self
    }

    /// When its time is over, hands it back alive instead of ending it.
    pub fn goes_on_after_timeout(mut self) -> Self {
        self.request.on_timeout = OnTimeout::HandBack;
        self
    }

    /// Runs it in this directory, for this call alone.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.request.directory = Some(directory.into());
        self
    }

    /// Sets a variable, for this call alone.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<ByteString>) -> Self {
        let mut variables: BTreeMap<String, ByteString> = self.request.environment.variables().clone();
        variables.insert(name.into(), value.into());
        self.request.environment = match self.request.environment {
            EnvironmentChange::Merge(_) => EnvironmentChange::Merge(variables),
            EnvironmentChange::Replace(_) => EnvironmentChange::Replace(variables),
        };
        self
    }

    /// Has it read this; without it, nothing.
    pub fn stdin(mut self, text: impl Into<ByteString>) -> Self {
        self.request.input = CommandInput::Text(text.into());
        self
    }

    /// Takes both streams through one pipe: exact order, no telling them apart.
    pub fn merged(mut self) -> Self {
        self.request.streams = Streams::Merged;
        self
    }

    /// Gives it a terminal of this size, for programs that talk to a person.
    pub fn terminal(mut self, size: TerminalSize) -> Self {
        self.request.terminal = Some(size);
        self
    }

    /// What it is for, for people who look at it later.
    pub fn description(mut self, words: impl Into<String>) -> Self {
        self.request.description = Some(words.into());
        self
    }

    /// Who asks a person, where the guard wants that.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.request.approver = Some(approver);
        self
    }

    /// Ends it as cancelled as soon as this token is.
    pub fn cancelled_by(mut self, token: CancellationToken) -> Self {
        self.cancelled = Some(token);
        self
    }

    /// What can stop it from elsewhere while it runs.
    pub fn control(&self) -> RunControl {
        self.control.clone()
    }

    /// Everything else that a request can say.
    pub fn with(mut self, change: impl FnOnce(&mut CommandRequest)) -> Self {
        change(&mut self.request);
        self
    }

    /// Runs it, and waits for its end.
    ///
    /// # Errors
    /// When nothing was started. A refusal, a failing command, a timeout are responses.
    pub async fn run(self) -> Result<Response, EngineError> {
        let Self { engine, session, request, control, cancelled } = self;
        let running = async { engine.run(&session, request, &mut Silent, &control).await };
        Box::pin(until_cancelled(running, cancelled, &control)).await
    }

    /// Runs it, and gives what happens as it happens; the last event is the end. Whoever reads slowly slows the command
    /// down, and nothing is lost. Dropping the events ends the command.
    pub fn events(self) -> Events {
        let Self { engine, session, request, control, cancelled } = self;
        let arrived: Arc<Lock<VecDeque<Event>>> = Arc::default();
        let queue = Arc::clone(&arrived);
        let run = async move {
            let mut listener = move |event: RunEvent<'_>| queue.lock().extend(Event::of(&event));
            let running = async { engine.run(&session, request, &mut listener, &control).await };
            Box::pin(until_cancelled(running, cancelled, &control)).await
        };
        Events { arrived, run: Some(Box::pin(run)) }
    }

    /// Starts it in the background; it is a task from then on.
    ///
    /// # Errors
    /// When nothing was started.
    pub async fn start(mut self) -> Result<StartedTask, EngineError> {
        self.request.task_lifetime = TaskLifetime::Durable;
        self.engine.start(&self.session, self.request).await
    }
}

/// Waits for a run, and has it stopped when the token says so.
async fn until_cancelled(
    running: impl Future<Output = Result<Response, EngineError>>,
    token: Option<CancellationToken>,
    control: &RunControl,
) -> Result<Response, EngineError> {
    let Some(token) = token else { return running.await };
    tokio::pin!(running);
    tokio::select! {
        biased;
        // Also where it was cancelled before: a run that is told at once to stop does not begin.
        () = token.cancelled() => {}
        response = &mut running => return response,
    }
    control.cancel();
    running.await
}

/// What happens while a command runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The shell was started.
    Started {
        /// The id under which the run can be found later.
        run_id: String,
        /// Process id of the shell.
        pid: i32,
    },
    /// Output arrived, in order, without a gap.
    Output {
        /// Where it came from.
        stream: Stream,
        /// The bytes as they were written.
        bytes: Vec<u8>,
    },
    /// It is over; nothing follows.
    Ended(Box<Result<Response, EngineError>>),
}

impl Event {
    fn of(event: &RunEvent<'_>) -> Option<Self> {
        match event {
            RunEvent::Started { run_id, pid } => Some(Self::Started { run_id: (*run_id).to_owned(), pid: *pid }),
            RunEvent::Output { stream, bytes } => Some(Self::Output { stream: *stream, bytes: bytes.to_vec() }),
            RunEvent::Passed { .. } => None,
        }
    }
}

/// A run that goes on while it is polled.
type Running = Pin<Box<dyn Future<Output = Result<Response, EngineError>> + Send>>;

/// The events of one command, in order. A [`futures_core::Stream`] with an end.
pub struct Events {
    arrived: Arc<Lock<VecDeque<Event>>>,
    run: Option<Running>,
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Events").field("is_over", &self.run.is_none()).finish_non_exhaustive()
    }
}

impl Events {
    /// The next event; `None` after the end. Loses nothing if it is dropped while it waits.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl EventStream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        // The run goes on only as far as somebody takes what it gives.
        if let Some(event) = self.arrived.lock().pop_front() {
            return Poll::Ready(Some(event));
        }
        let Some(run) = &mut self.run else { return Poll::Ready(None) };
        let ended = match run.as_mut().poll(context) {
            Poll::Ready(response) => {
                self.run = None;
                Some(Event::Ended(Box::new(response)))
            }
            Poll::Pending => None,
        };
        let mut arrived = self.arrived.lock();
        arrived.extend(ended);
        arrived.pop_front().map_or(Poll::Pending, |event| Poll::Ready(Some(event)))
    }
}
