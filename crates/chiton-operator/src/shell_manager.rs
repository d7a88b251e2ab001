//! A small face for programs that think in shells: one manager per process, shells with a status and new output.
//!
//! Behind it are the tasks of an engine and nothing else: a shell created here is a task like any other.

use std::sync::Arc;
use std::time::Duration;

use chiton_engine::error::StartError;
use chiton_engine::tasks::link::Killed;
use chiton_engine::tasks::{Cursor, Marked, Part, ReadError, ReadRequest};
use chiton_engine::{
    CommandRequest, Engine, EngineError, FreshState, Lock, Outcome, Session, StartedTask, Stream, Task, TaskLifetime,
    TaskStatus,
};

static INSTANCE: Lock<Option<Arc<ShellManager>>> = Lock::new(None);

/// The shells of this process.
#[derive(Debug)]
pub struct ShellManager {
    engine: Engine,
    base: FreshState,
    shells: Lock<Vec<Arc<ShellProcess>>>,
}

/// One shell.
#[derive(Debug)]
pub struct ShellProcess {
    /// Its id: `shell_` and 8 hexadecimal digits.
    pub id: String,
    /// Its command.
    pub command: String,
    engine: Engine,
    read: Lock<Cursor>,
    /// Held, so that the shell lives as long as this does.
    session: Session,
}

impl ShellManager {
    /// The one manager of this process; made by `make` where there is none.
    pub fn instance(
        make: impl FnOnce() -> Result<(Engine, FreshState), EngineError>,
    ) -> Result<Arc<Self>, EngineError> {
        let mut instance = INSTANCE.lock();
        if let Some(manager) = &*instance {
            return Ok(Arc::clone(manager));
        }
        let (engine, base) = make()?;
        let manager = Arc::new(Self { engine, base, shells: Lock::default() });
        *instance = Some(Arc::clone(&manager));
        Ok(manager)
    }

    /// Kills all shells and forgets the manager; the next [`ShellManager::instance`] is a new one.
    pub async fn reset() -> usize {
        let manager = INSTANCE.lock().take();
        match manager {
            Some(manager) => manager.kill_all().await,
            None => 0,
        }
    }

    /// Starts `command` in `directory`, with a limit where one is given.
    pub async fn create_shell(
        &self,
        command: &str,
        directory: &str,
        timeout: Option<Duration>,
    ) -> Result<Arc<ShellProcess>, EngineError> {
        let mut request = CommandRequest::new(command);
        request.directory = Some(directory.into());
        request.timeout = timeout;
        request.task_lifetime = TaskLifetime::Session;
        let session = Session::new(self.base.clone());
        let task = match self.engine.start(&session, request).await? {
            StartedTask::Started(task) => task,
            StartedTask::Refused(refused) => {
                let outcome = Outcome::Refused(refused.refusal.reason);
                return Err(StartError::Shell(outcome.to_string()).into());
            }
            StartedTask::Described(_) => {
                return Err(StartError::Shell("commands are only looked at here: this is a dry run".to_owned()).into());
            }
        };
        let shell = Arc::new(ShellProcess {
            id: task.id,
            command: command.to_owned(),
            engine: self.engine.clone(),
            read: Lock::default(),
            session,
        });
        self.lock().push(Arc::clone(&shell));
        Ok(shell)
    }

    /// The shell with this id.
    pub fn get_shell(&self, id: &str) -> Option<Arc<ShellProcess>> {
        self.lock().iter().find(|shell| shell.id == id).cloned()
    }

    /// All shells.
    pub fn list_shells(&self) -> Vec<Arc<ShellProcess>> {
        self.lock().clone()
    }

    /// Those that run.
    pub fn list_running(&self) -> Vec<Arc<ShellProcess>> {
        self.list_shells().into_iter().filter(|shell| shell.is_running()).collect()
    }

    /// Forgets shells that ended longer ago than `max_age`; returns how many.
    pub fn cleanup_completed(&self, max_age: Duration) -> usize {
        let old = |shell: &Arc<ShellProcess>| {
            shell.task().is_none_or(|task| {
                let ended = task.started_at + task.duration;
                !task.status.is_running() && ended.elapsed().is_ok_and(|age| age > max_age)
            })
        };
        let mut shells = self.lock();
        let before = shells.len();
        shells.retain(|shell| !old(shell));
        before - shells.len()
    }

    /// Kills all that run; returns how many.
    pub async fn kill_all(&self) -> usize {
        let mut kills = tokio::task::JoinSet::new();
        for shell in self.list_running() {
            kills.spawn(async move { shell.kill().await });
        }
        kills.join_all().await.into_iter().filter(|killed| *killed).count()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<ShellProcess>>> {
        self.shells.lock()
    }
}

impl ShellProcess {
    /// The task behind it, as long as it is kept.
    pub fn task(&self) -> Option<Task> {
        self.engine.tasks().get(&self.id).ok()
    }

    /// Its state.
    pub fn status(&self) -> TaskStatus {
        self.task().map_or(TaskStatus::Lost, |task| task.status)
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.status().is_running()
    }

    /// Its exit code, once it has exited by itself.
    pub fn exit_code(&self) -> Option<i32> {
        self.task()?.outcome?.exit_code()
    }

    /// How long it took, or has taken so far, in milliseconds.
    pub fn duration_ms(&self) -> u64 {
        self.task().map_or(0, |task| u64::try_from(task.duration.as_millis()).unwrap_or(u64::MAX))
    }

    /// What it printed since this was called last: stdout, then, if asked for, stderr after a `[stderr]` line.
    pub fn get_new_output(&self, include_stderr: bool) -> Result<String, ReadError> {
        let Some(task) = self.task() else { return Ok(String::new()) };
        let mut cursor = self.read.lock();
        let mut new = |stream| {
            let streams = Marked::Only(stream);
            task.read(&mut cursor, &ReadRequest { streams, part: Part::New, ..ReadRequest::default() })
        };
        let mut text = new(Stream::Stdout)?.to_text();
        if include_stderr {
            let stderr = new(Stream::Stderr)?.to_text();
            if !stderr.is_empty() {
                let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                text = format!("{text}{line_end}[stderr]\n{stderr}");
            }
        }
        Ok(text)
    }

    /// How many bytes of stdout have been read.
    pub fn last_read_stdout(&self) -> u64 {
        self.read.lock().stdout
    }

    /// Goes to another place in stdout.
    pub fn set_last_read_stdout(&self, place: u64) {
        self.read.lock().stdout = place;
    }

    /// Stops it, with everything it started. `false` when it had ended before.
    pub async fn kill(&self) -> bool {
        matches!(self.engine.tasks().kill(&self.id, None).await, Ok(Killed::Stopped(_)))
    }

    /// Releases it: if it still runs, it ends now.
    pub fn close(&self) {
        self.session.close();
    }
}
