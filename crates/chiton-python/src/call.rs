//! Work that Python waits for: it runs on threads of our own, and a function is told its end.

use std::sync::{Arc, Mutex, PoisonError};

use chiton_engine::RunControl;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;

/// Work that goes on.
#[pyclass(frozen, module = "chiton._engine")]
pub(crate) struct Call {
    control: RunControl,
}

#[pymethods]
impl Call {
    /// Asks it to stop. Its end is told as any other, once everything that it started is gone.
    fn cancel(&self) {
        self.control.cancel();
    }
}

/// Starts work, and has `done` called with what came of it: the value and `None`, or `None` and an exception. `work` gets the
/// hand on it that [`Call::cancel`] pulls.
pub(crate) fn start<Value, Working>(
    done: Py<PyAny>,
    work: impl FnOnce(RunControl) -> Working,
    tell: impl FnOnce(Python<'_>, Value) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Call>
where
    Value: Send + 'static,
    Working: Future<Output = Result<Value, Failure>> + Send + 'static,
{
    let control = RunControl::new();
    let runtime = runtime()?;
    // A task of its own: should it panic, whoever waits still hears of it.
    let working = runtime.spawn(work(control.clone()));
    runtime.spawn(async move {
        let ended = working.await.unwrap_or_else(|error| Err(Failure::new("ChitonError", error.to_string())));
        // An interpreter that is about to end has nobody left who waits.
        tokio::task::block_in_place(|| Python::try_attach(|py| finish(py, &done, ended, tell)));
    });
    Ok(Call { control })
}

fn finish<Value>(
    py: Python<'_>,
    done: &Py<PyAny>,
    ended: Result<Value, Failure>,
    tell: impl FnOnce(Python<'_>, Value) -> PyResult<Py<PyAny>>,
) {
    let told = match ended.map_err(PyErr::from).and_then(|value| tell(py, value)) {
        Ok(value) => done.call1(py, (value, py.None())),
        Err(error) => done.call1(py, (py.None(), error.into_value(py))),
    };
    if let Err(error) = told {
        error.write_unraisable(py, None);
    }
}

/// The threads on which the engine runs, and the process that they belong to: after a fork, the child has none of them.
static THREADS: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

pub(crate) fn runtime() -> PyResult<Arc<Runtime>> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, runtime)) = threads.as_ref()
        && *owner == process
    {
        return Ok(Arc::clone(runtime));
    }
    let runtime = Arc::new(Builder::new_multi_thread().worker_threads(2).thread_name("chiton").enable_all().build()?);
    // Those of a parent process cannot be ended from here, so they are forgotten.
    std::mem::forget(threads.replace((process, Arc::clone(&runtime))));
    Ok(runtime)
}
