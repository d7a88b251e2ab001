//! The native part of the Python package `chiton`: the engine as Python can call it. What people use is written in Python, in
//! `python/chiton`, over the one class here.
//!
//! 1. [`shell`]: a session of an engine; [`tasks`]: what its commands left or started in the background. Whatever takes
//!    time returns a [`call::Call`] at once, and tells its end to a function.
//! 2. [`call`]: the threads on which the engine runs. None of them holds the interpreter while it waits.
//! 3. [`request`] reads what Python asks for, [`answer`] writes what it gets, [`failure`] is what went wrong instead.
//! 4. [`asking`]: a Python function that is asked in place of a person.

mod answer;
mod asking;
mod call;
mod failure;
mod request;
mod setting;
mod shell;
mod tasks;

use pyo3::prelude::*;

/// The engine for Python.
#[pymodule]
mod _engine {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::call::Call;
    #[pymodule_export]
    use crate::shell::NativeShell;
    #[pymodule_export]
    use crate::tasks::NativeTasks;

    /// The version of the engine.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", env!("CARGO_PKG_VERSION"))
    }
}
