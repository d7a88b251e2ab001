//! What Python gets: dictionaries, of which `chiton._results` makes objects.

use chiton_engine::changes::Undone;
use chiton_engine::guard::policy::Mode;
use chiton_engine::render::TextView;
use chiton_engine::tasks::{Output, WaitReason, Waited};
use chiton_engine::{ChangedFiles, DryRun, Leftover, RefusedCommand, Response, RunReport, Task};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// What came of a command.
pub(crate) fn response(py: Python<'_>, response: &Response) -> PyResult<Py<PyAny>> {
    let answer = match response {
        Response::Ran(report) => ran(py, report)?,
        Response::Refused(command) => refused(py, command)?,
        Response::Described(dry_run) => described(py, dry_run)?,
    };
    answer.set_item("cwd", response.cwd())?;
    answer.set_item("notices", response.notices().to_vec())?;
    let protection = response.protection();
    answer.set_item("guard", guard_word(protection.guard))?;
    answer.set_item("sandbox", protection.sandbox.as_ref().map(|sandbox| sandbox.profile.clone()))?;
    Ok(answer.into_any().unbind())
}

fn guard_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "default",
        Mode::Strict => "strict",
        Mode::Off => "off",
    }
}

fn ran<'py>(py: Python<'py>, report: &RunReport) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("id", &report.run_id)?;
    answer.set_item("outcome", report.outcome.word())?;
    answer.set_item("exit_code", report.outcome.exit_code())?;
    answer.set_item("signal", report.outcome.signal().map(|signal| signal.to_string()))?;
    put_text(&answer, "stdout", &report.stdout)?;
    put_text(&answer, "stderr", &report.stderr)?;
    put_text(&answer, "output", &report.output)?;
    answer.set_item("omitted", report.omitted_bytes())?;
    answer.set_item("duration", report.duration.as_secs_f64())?;
    answer.set_item("limit", report.limit_word())?;
    answer.set_item("leftovers", leftovers(&report.leftovers))?;
    answer.set_item("leftover_task", report.leftover_task.as_deref())?;
    answer.set_item("denied", report.refused.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    answer.set_item("changed", report.changed.as_ref().map(|files| changed(py, files)).transpose()?)?;
    Ok(answer)
}

pub(crate) fn refused<'py>(py: Python<'py>, command: &RefusedCommand) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("outcome", "refused")?;
    answer.set_item("reason", &command.refusal.reason)?;
    answer.set_item("rule", command.refusal.facts().rule)?;
    Ok(answer)
}

fn described<'py>(py: Python<'py>, dry_run: &DryRun) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("outcome", "described")?;
    put_text(&answer, "output", &dry_run.description)?;
    Ok(answer)
}

fn put_text(answer: &Bound<'_, PyDict>, name: &str, text: &TextView) -> PyResult<()> {
    answer.set_item(name, text.to_text())
}

fn leftovers(left: &[Leftover]) -> Vec<(i32, &str)> {
    left.iter().map(|process| (process.pid, process.command.as_str())).collect()
}

fn changed<'py>(py: Python<'py>, files: &ChangedFiles) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("made", files.made)?;
    answer.set_item("changed", files.changed)?;
    answer.set_item("removed", files.removed)?;
    let names = PyDict::new(py);
    names.set_item("made", &files.names.made)?;
    names.set_item("changed", &files.names.changed)?;
    names.set_item("removed", &files.names.removed)?;
    answer.set_item("names", names)?;
    answer.set_item("undo", files.undo.as_deref())?;
    answer.set_item("preview", files.preview.as_deref())?;
    answer.set_item("text", files.to_string())?;
    Ok(answer)
}

/// A task as it is at this moment.
pub(crate) fn task<'py>(py: Python<'py>, task: &Task) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("id", &task.id)?;
    answer.set_item("command", &task.command)?;
    answer.set_item("directory", &task.directory)?;
    answer.set_item("status", task.status.to_string())?;
    answer.set_item("running", task.status.is_running())?;
    answer.set_item("outcome", task.outcome.as_ref().map(chiton_engine::Outcome::word))?;
    answer.set_item("exit_code", task.outcome.as_ref().and_then(chiton_engine::Outcome::exit_code))?;
    let signal = task.outcome.as_ref().and_then(chiton_engine::Outcome::signal);
    answer.set_item("signal", signal.map(|signal| signal.to_string()))?;
    answer.set_item("pid", task.pid)?;
    answer.set_item("duration", task.duration.as_secs_f64())?;
    answer.set_item("leftovers", leftovers(&task.leftovers))?;
    Ok(answer)
}

/// Why a wait is over.
pub(crate) fn waited(py: Python<'_>, waited: &Waited) -> PyResult<Py<PyAny>> {
    let (reason, detail) = match &waited.reason {
        WaitReason::Ended => ("ended", waited.earlier.clone()),
        WaitReason::Matched(line) => ("matched", Some(line.clone())),
        WaitReason::Idle => ("idle", None),
        WaitReason::Bytes => ("output", None),
        WaitReason::Listening(_) => ("listening", None),
        WaitReason::Input(wait) => ("input", Some(wait.prompt.clone())),
        WaitReason::Watched => ("watched", None),
        WaitReason::Released => ("released", None),
        WaitReason::TimedOut => ("timed_out", waited.about_port.clone()),
    };
    let answer = PyDict::new(py);
    answer.set_item("reason", reason)?;
    answer.set_item("detail", detail)?;
    answer.set_item("task", task(py, &waited.task)?)?;
    Ok(answer.into_any().unbind())
}

/// What was read of a task's output.
pub(crate) fn output<'py>(py: Python<'py>, output: &Output) -> PyResult<Bound<'py, PyList>> {
    let chunks = output.chunks.iter().map(|chunk| {
        let stream = if chunk.stream == chiton_engine::Stream::Stdout { "stdout" } else { "stderr" };
        (stream, chunk.text.as_str())
    });
    PyList::new(py, chunks.collect::<Vec<_>>())
}

/// What undoing came to.
pub(crate) fn undone<'py>(py: Python<'py>, undone: &Undone) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("id", &undone.id)?;
    answer.set_item("undo", undone.undo.as_deref())?;
    answer.set_item("text", undone.in_words())?;
    let untouched = |list: &[chiton_engine::changes::Untouched]| {
        list.iter().map(|file| (file.path.clone(), file.why.clone())).collect::<Vec<_>>()
    };
    answer.set_item("left_alone", untouched(&undone.left_alone))?;
    answer.set_item("failed", untouched(&undone.failed))?;
    Ok(answer)
}
