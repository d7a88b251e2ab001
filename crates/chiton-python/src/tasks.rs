//! Tasks, as Python reaches them: by their ids.
#![expect(clippy::needless_pass_by_value, reason = "what comes from Python comes by value")]

use chiton_engine::tasks::{Cursor, Filter, Marked, Part, ReadRequest, WaitFor, WantedPort};
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{Engine, RunControl, Session, Signal, Stream, Typing};
use pyo3::prelude::*;
use regex::bytes::Regex;

use crate::answer;
use crate::call::{self, Call};
use crate::failure::Failure;
use crate::request::seconds;

/// What to read: the attributes of `chiton._request.Reading`.
#[derive(FromPyObject)]
struct Reading {
    /// Where this reader is: bytes of stdout and of stderr.
    cursor: (u64, u64),
    /// `new`, `all`, `head` or `tail`.
    part: String,
    lines: u64,
    stream: Option<String>,
    grep: Option<String>,
    limit: u64,
}

impl Reading {
    fn request(&self) -> Result<ReadRequest, Failure> {
        let streams = match self.stream.as_deref() {
            None => Marked::Both,
            Some("stdout") => Marked::Only(Stream::Stdout),
            Some("stderr") => Marked::Only(Stream::Stderr),
            Some(other) => {
                return Err(Failure::request(format!("there is no stream '{other}'; there are stdout and stderr")));
            }
        };
        let part = match self.part.as_str() {
            "new" => Part::New,
            "head" => Part::Head(self.lines),
            "tail" => Part::Tail(self.lines),
            _ => Part::All,
        };
        let filter = self.grep.as_deref().map(Filter::new).transpose()?;
        Ok(ReadRequest { streams, part, filter, limit: self.limit })
    }
}

/// What to wait for: the attributes of `chiton._request.Waiting`.
#[derive(FromPyObject)]
struct Waiting {
    cursor: (u64, u64),
    pattern: Option<String>,
    idle: Option<f64>,
    bytes: Option<u64>,
    port: Option<u16>,
    input: bool,
    timeout: Option<f64>,
}

impl Waiting {
    fn wanted(&self) -> Result<WaitFor, Failure> {
        let compile = |pattern: &String| {
            Regex::new(pattern)
                .map_err(|error| Failure::request(format!("'{pattern}' is not a regular expression: {error}")))
        };
        Ok(WaitFor {
            pattern: self.pattern.as_ref().map(compile).transpose()?,
            idle: seconds("idle", self.idle)?,
            bytes: self.bytes,
            port: self.port.map(WantedPort::Number),
            input: self.input,
            timeout: seconds("timeout", self.timeout)?,
            from: cursor(self.cursor),
            ..WaitFor::default()
        })
    }
}

fn cursor((stdout, stderr): (u64, u64)) -> Cursor {
    Cursor { stdout, stderr }
}

/// Stretches of output with their streams, where the reader is now, and how many lines matched.
type Read = (Py<PyAny>, (u64, u64), u64);

/// The tasks of an engine.
#[pyclass(frozen, module = "chiton._engine")]
pub(crate) struct NativeTasks {
    engine: Engine,
    /// Whose session judges what is written to them.
    session: Session,
}

impl NativeTasks {
    pub(crate) fn new(engine: Engine, session: Session) -> Self {
        Self { engine, session }
    }
}

#[pymethods]
impl NativeTasks {
    /// The task with this id, as it is now.
    fn look_up(&self, py: Python<'_>, id: &str) -> PyResult<Py<PyAny>> {
        let task = py.detach(|| self.engine.tasks().get(id)).map_err(Failure::from)?;
        Ok(answer::task(py, &task)?.into_any().unbind())
    }

    /// Reads output.
    fn read(&self, py: Python<'_>, id: &str, reading: Reading) -> PyResult<Read> {
        let mut place = cursor(reading.cursor);
        let mut output = py.detach(|| {
            let task = self.engine.tasks().get(id)?;
            Ok::<_, Failure>(task.read(&mut place, &reading.request()?)?)
        })?;
        for chunk in &mut output.chunks {
            chunk.text = self.engine.masked_view(std::mem::take(&mut chunk.text));
        }
        let chunks = answer::output(py, &output)?.into_any().unbind();
        Ok((chunks, (place.stdout, place.stderr), output.matches))
    }

    /// Waits for the first of several things, or the end.
    fn wait(&self, id: String, waiting: Waiting, done: Py<PyAny>) -> PyResult<Call> {
        let (tasks, wanted) = (self.engine.tasks().clone(), waiting.wanted()?);
        let work = |control: RunControl| async move {
            tokio::select! {
                waited = tasks.wait(&id, wanted) => Ok(Some(waited?)),
                () = control.stopped() => Ok(None),
            }
        };
        call::start(done, work, |py, waited| waited.map_or_else(|| Ok(py.None()), |waited| answer::waited(py, &waited)))
    }

    /// Writes to its input, or types into its terminal.
    fn send(&self, id: String, text: String, done: Py<PyAny>) -> PyResult<Call> {
        let (engine, session) = (self.engine.clone(), self.session.clone());
        let work = |_| async move {
            if engine.tasks().get(&id)?.terminal.is_some() {
                engine.type_into(&session, &id, Typing::Text(text)).await?;
            } else {
                engine.write_to(&session, &id, text).await?;
            }
            Ok(())
        };
        call::start(done, work, |py, ()| Ok(py.None()))
    }

    /// Presses keys in its terminal.
    fn press(&self, id: String, keys: String, done: Py<PyAny>) -> PyResult<Call> {
        let (engine, session) = (self.engine.clone(), self.session.clone());
        let work = |_| async move { Ok(engine.type_into(&session, &id, Typing::Keys(keys)).await?) };
        call::start(done, work, |py, ()| Ok(py.None()))
    }

    /// Closes its input.
    fn end_input(&self, id: String, done: Py<PyAny>) -> PyResult<Call> {
        let (engine, session) = (self.engine.clone(), self.session.clone());
        let work = |_| async move { Ok(engine.end_input_of(&session, &id).await?) };
        call::start(done, work, |py, ()| Ok(py.None()))
    }

    /// What its terminal shows.
    fn screen(&self, id: String, done: Py<PyAny>) -> PyResult<Call> {
        let engine = self.engine.clone();
        let work = |_| async move {
            let look = engine.tasks().look(&id).await?;
            Ok(engine.masked_view(look.screen.to_text()))
        };
        call::start(done, work, |py, text: String| Ok(text.into_pyobject(py)?.into_any().unbind()))
    }

    /// Gives its terminal another size.
    fn resize(&self, id: String, columns: u64, rows: u64, done: Py<PyAny>) -> PyResult<Call> {
        let tasks = self.engine.tasks().clone();
        let size = TerminalSize::new(columns, rows).map_err(|error| Failure::request(error.to_string()))?;
        let work = |_| async move { Ok(tasks.resize(&id, size).await?) };
        call::start(done, work, |py, ()| Ok(py.None()))
    }

    /// Sends a signal to its process group.
    fn signal(&self, id: String, signal: &str, done: Py<PyAny>) -> PyResult<Call> {
        let tasks = self.engine.tasks().clone();
        let known = Signal::parse(signal);
        let signal = known.ok_or_else(|| Failure::request(format!("there is no signal '{signal}'")))?;
        let work = move |_| async move { Ok(tasks.signal(&id, signal).await?) };
        call::start(done, work, |py, ()| Ok(py.None()))
    }

    /// Stops it, with everything it started.
    fn kill(&self, id: String, grace: Option<f64>, done: Py<PyAny>) -> PyResult<Call> {
        let tasks = self.engine.tasks().clone();
        let grace = seconds("grace", grace)?;
        let work = move |_| async move { Ok(tasks.kill(&id, grace).await?.task().clone()) };
        call::start(done, work, |py, task| Ok(answer::task(py, &task)?.into_any().unbind()))
    }
}
