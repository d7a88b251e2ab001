//! A session of an engine, as Python holds it.
#![expect(clippy::needless_pass_by_value, reason = "what comes from Python comes by value")]

use std::sync::{Arc, Mutex, PoisonError};

use chiton_engine::changes::{ChangeLogs, UndoOptions};
use chiton_engine::consent::Approver;
use chiton_engine::session::store::SessionStore;
use chiton_engine::{Engine, Listener, Owner, RunEvent, Session, ShellState, Silent, StartedTask, Stream};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::answer;
use crate::asking::PythonApprover;
use crate::call::{self, Call};
use crate::failure::Failure;
use crate::request::Request;
use crate::setting::Setting;
use crate::tasks::NativeTasks;

/// A session and the engine that runs its commands.
#[pyclass(frozen, name = "NativeShell", module = "chiton._engine")]
pub(crate) struct NativeShell {
    engine: Engine,
    session: Session,
    /// What the session began with.
    base: Arc<ShellState>,
    approver: Option<Arc<dyn Approver>>,
    /// What its state was before each command, the last one at the end.
    history: Arc<Mutex<Vec<Before>>>,
}

/// What the state was before a command.
struct Before {
    run: String,
    state: Arc<ShellState>,
}

/// How many commands can be undone one after the other.
const REMEMBERED: usize = 100;

#[pymethods]
impl NativeShell {
    /// A shell as `setting` says. `approve` is asked in place of a person; without it, nobody is.
    #[new]
    #[pyo3(signature = (setting, approve))]
    fn new(py: Python<'_>, setting: Setting, approve: Option<Py<PyAny>>) -> PyResult<Self> {
        py.detach(|| {
            let engine = Engine::new(setting.config()?).map_err(Failure::from)?;
            engine.set_owner(Owner::served_here("python", &setting.directory));
            let environment = setting.environment.iter().map(|(name, value)| (name.clone(), value.to_vec().into()));
            let fresh = engine.fresh_state(&setting.directory, environment, setting.umask);
            let base = Arc::new(fresh.state.clone());
            let mut session = Session::new(fresh);
            if let Some(name) = &setting.name {
                session = session.named(name);
            }
            let approver = approve.map(|function| Arc::new(PythonApprover::new(function)) as Arc<dyn Approver>);
            Ok(Self { engine, session, base, approver, history: Arc::default() })
        })
    }

    /// Runs a command. `on_output` gets each stretch of output with the name of its stream, as long as it returns `True`.
    fn run(&self, request: Request, on_output: Option<Py<PyAny>>, done: Py<PyAny>) -> PyResult<Call> {
        let (engine, session) = (self.engine.clone(), self.session.clone());
        let mut request = request.into_command()?;
        request.approver.clone_from(&self.approver);
        let history = Arc::clone(&self.history);
        let work = |control| async move {
            // What an earlier answer has left to do belongs to the state before this command.
            session.ready().await;
            let before = session.state();
            let mut listener: Box<dyn Listener> = match on_output {
                Some(function) => Box::new(Told { function: Some(function) }),
                None => Box::new(Silent),
            };
            let response = engine.run(&session, request, &mut *listener, &control).await?;
            if let Some(report) = response.ran() {
                remember(&history, Before { run: report.run_id.clone(), state: before });
            }
            Ok(response)
        };
        call::start(done, work, |py, response| answer::response(py, &response))
    }

    /// Starts a command as a task.
    fn start(&self, request: Request, done: Py<PyAny>) -> PyResult<Call> {
        let (engine, session) = (self.engine.clone(), self.session.clone());
        let mut request = request.into_command()?;
        request.approver.clone_from(&self.approver);
        let work = |_| async move { Ok(engine.start(&session, request).await?) };
        call::start(done, work, |py, started| {
            let answer = match started {
                StartedTask::Started(task) => answer::task(py, &task)?,
                StartedTask::Refused(refused) => answer::refused(py, &refused)?,
                StartedTask::Described(_) => PyDict::new(py),
            };
            Ok(answer.into_any().unbind())
        })
    }

    /// What reaches tasks by their ids.
    fn tasks(&self) -> NativeTasks {
        NativeTasks::new(self.engine.clone(), self.session.clone())
    }

    /// Where the session is, and the variables that its commands see.
    fn state(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let state = self.session.state();
        let exported = PyDict::new(py);
        for (name, variable) in state.variables.iter().filter(|(_, variable)| variable.attributes.contains('x')) {
            if let Some(value) = variable.scalar() {
                exported.set_item(name, PyBytes::new(py, value))?;
            }
        }
        let answer = PyDict::new(py);
        answer.set_item("cwd", &state.cwd)?;
        answer.set_item("environment", exported)?;
        answer.set_item("hash", state.content_hash().to_string())?;
        Ok(answer.into_any().unbind())
    }

    /// A shell that begins as this one is now, and goes its own way.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let runtime = call::runtime()?;
        py.detach(|| {
            runtime.block_on(self.session.ready());
            let state = ShellState::clone(&self.session.state());
            Ok(Self {
                engine: self.engine.clone(),
                session: Session::new(state),
                base: Arc::clone(&self.base),
                approver: self.approver.clone(),
                history: Arc::default(),
            })
        })
    }

    /// Takes back what the last command did, to the session and to files. With the id of a run, of files only.
    fn undo(&self, id: Option<String>, force: bool, dry_run: bool, done: Py<PyAny>) -> PyResult<Call> {
        let logs = ChangeLogs::new(&self.engine.config().state_directory);
        let (session, history) = (self.session.clone(), Arc::clone(&self.history));
        let options = UndoOptions { dry_run, force, stop_after: None };
        let work = |_| async move {
            session.settled().await;
            let last = history.lock().unwrap_or_else(PoisonError::into_inner).last().map(|last| last.run.clone());
            let wanted = id.clone().or(last).ok_or_else(|| {
                Failure::new("UndoError", "there is nothing to undo: this shell has run no command that was not undone")
            })?;
            let of_files = logs.find(&wanted);
            let undone = match (of_files, &id) {
                (Some(known), _) => {
                    let undo = tokio::task::spawn_blocking(move || logs.undo(&known, options));
                    let undone = undo.await.map_err(|error| Failure::new("UndoError", error.to_string()))?;
                    Some(undone?)
                }
                // The command changed no file that anybody watched. Its state can be undone all the same.
                (None, None) => None,
                (None, Some(id)) => return Err(logs.one(id).map(|_| ()).map_or_else(Failure::from, |()| unknown(id))),
            };
            if id.is_none() && !dry_run {
                let before = history.lock().unwrap_or_else(PoisonError::into_inner).pop();
                if let Some(before) = before {
                    session.restore(before.state);
                }
            }
            Ok((wanted, undone))
        };
        call::start(done, work, |py, (id, undone)| {
            let files = undone.map(|undone| answer::undone(py, &undone)).transpose()?;
            let answer = PyDict::new(py);
            answer.set_item("id", id)?;
            answer.set_item("files", files)?;
            Ok(answer.into_any().unbind())
        })
    }

    /// Writes the state down under a name, as `chiton run --session NAME` continues it.
    fn save(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let runtime = call::runtime()?;
        py.detach(|| {
            runtime.block_on(self.session.settled());
            let store = self.store();
            store.reset(name, &self.base).map_err(Failure::from)?;
            store.save(name, &self.base, &self.session.state()).map_err(Failure::from)?;
            Ok(())
        })
    }

    /// Continues from what is written down under a name.
    fn load(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let runtime = call::runtime()?;
        py.detach(|| {
            runtime.block_on(self.session.settled());
            let store = self.store();
            if store.value(name).map_err(Failure::from)?.is_none() {
                return Err(Failure::new("StoreError", format!("there is no session '{name}'")).into());
            }
            let state = store.load(name, &self.base).map_err(Failure::from)?;
            self.session.uses(&store.secrets(name).map_err(Failure::from)?);
            self.session.restore(Arc::new(state));
            Ok(())
        })
    }

    /// Ends what the session has left running, and what is ready for another one: as a rule there is none.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            self.session.close();
            self.engine.stand_down();
        });
    }
}

impl NativeShell {
    fn store(&self) -> SessionStore {
        SessionStore::new(self.engine.config().state_directory.join("sessions"))
    }
}

fn unknown(id: &str) -> Failure {
    Failure::new("UndoError", format!("nothing is known of changes by '{id}'"))
}

fn remember(history: &Mutex<Vec<Before>>, before: Before) {
    let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
    if history.len() >= REMEMBERED {
        history.remove(0);
    }
    history.push(before);
}

/// Tells a Python function what is printed.
struct Told {
    /// Nobody once it has said that it wants no more.
    function: Option<Py<PyAny>>,
}

impl Listener for Told {
    fn receive(&mut self, event: RunEvent<'_>) {
        let RunEvent::Output { stream, bytes } = event else { return };
        let Some(function) = &self.function else { return };
        let stream = if stream == Stream::Stdout { "stdout" } else { "stderr" };
        // The function may wait until somebody reads. Then the command waits, too; others go on.
        let goes_on = tokio::task::block_in_place(|| {
            Python::try_attach(|py| {
                let heard = function.call1(py, (stream, PyBytes::new(py, bytes)));
                heard.and_then(|more| more.extract(py)).unwrap_or_else(|error: PyErr| {
                    error.write_unraisable(py, None);
                    false
                })
            })
        });
        if goes_on != Some(true) {
            self.function = None;
        }
    }
}
