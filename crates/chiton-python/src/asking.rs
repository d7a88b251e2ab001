//! A Python function in place of a person who is asked.

use std::fmt;
use std::sync::Arc;

use chiton_engine::consent::{Answer, Approver, Asking, Question};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Asks a function.
pub(crate) struct PythonApprover {
    function: Arc<Py<PyAny>>,
}

impl PythonApprover {
    pub(crate) fn new(function: Py<PyAny>) -> Self {
        Self { function: Arc::new(function) }
    }
}

impl fmt::Debug for PythonApprover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PythonApprover")
    }
}

impl Approver for PythonApprover {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        let function = Arc::clone(&self.function);
        let (command, directory) = (question.command.clone(), question.directory.clone());
        let (text, reason) = (question.text(), question.verdict.reason.clone());
        let kind = question.kind.heading();
        // On a thread of its own: the function may take as long as a person does.
        let asked = tokio::task::spawn_blocking(move || {
            let answered = Python::try_attach(|py| {
                let about = PyDict::new(py);
                about.set_item("heading", kind)?;
                about.set_item("command", command)?;
                about.set_item("directory", directory)?;
                about.set_item("reason", reason)?;
                about.set_item("text", text)?;
                function.call1(py, (about,))?.extract::<String>(py)
            });
            match answered {
                Some(Ok(word)) => Ok(match word.as_str() {
                    "once" => Answer::Once,
                    "session" => Answer::Session,
                    _ => Answer::No,
                }),
                Some(Err(error)) => Err(format!("the function `approve` failed: {error}")),
                None => Err("the interpreter is about to end".to_owned()),
            }
        });
        Box::pin(async move { asked.await.unwrap_or_else(|error| Err(error.to_string())) })
    }
}
