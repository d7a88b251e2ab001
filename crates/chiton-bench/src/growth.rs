//! How the latency of a call grows with what is around it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use chiton_engine::review::Guard;
use chiton_engine::state::{Function, Value, Variable};
use chiton_engine::{CommandRequest, Session, StartedTask};

use crate::bench::Bench;
use crate::curve::Curve;
use crate::latency::{changed, crowd};
use crate::measure::{percentile, timed};
use crate::subject::{Answer, Protection, Subject};
use crate::throughput::text_of;

const PAUSE: Duration = Duration::from_millis(5);
/// Calls at each point, as long as they take no longer than this in all.
const CALLS: usize = 21;
const PATIENCE: Duration = Duration::from_millis(600);

/// All curves, by their names.
pub(crate) fn curves(bench: &Bench) -> Result<Vec<Curve>> {
    let mut curves = Vec::new();
    for draw in [state, changes, command, judged, output, sessions, tasks, runs] {
        let (took, curve) = timed(|| draw(bench))?;
        eprintln!("  {}: {took:.1} s", curve.name);
        curves.push(curve);
    }
    Ok(curves)
}

/// The median of calls of `command`, in seconds.
fn middle(subject: &Subject, session: &Session, command: &str) -> Result<f64> {
    // Once for what has to be done once.
    subject.run(session, command, Answer::First)?;
    subject.settle(session);
    let (begun, mut times) = (Instant::now(), Vec::new());
    while times.len() < CALLS && (times.len() < 2 || begun.elapsed() < PATIENCE) {
        times.push(subject.time(session, command, Answer::First, PAUSE)?);
    }
    Ok(percentile(&times, 50.0))
}

/// Variables and functions of a session, half of each.
fn state(bench: &Bench) -> Result<Curve> {
    let points = by_state(bench, "state", |subject, session| middle(subject, session, "true"))?;
    Ok(Curve { name: "state", title: "true, by the size of the state", across: "variables and functions", points })
}

/// A command that changes one of them.
fn changes(bench: &Bench) -> Result<Curve> {
    let change = |subject: &Subject, session: &Session| {
        let mut times = Vec::new();
        for number in 0..CALLS {
            times.push(changed(subject, session, &format!("export X={number}"), 4 * PAUSE)?);
        }
        Ok(percentile(&times, 50.0))
    };
    let points = by_state(bench, "changes", change)?;
    let title = "export X=1, until that is in the session, by the size of the state";
    Ok(Curve { name: "changes", title, across: "variables and functions, one of them changed", points })
}

fn by_state(bench: &Bench, name: &str, measure: impl Fn(&Subject, &Session) -> Result<f64>) -> Result<Vec<(f64, f64)>> {
    let subject = Subject::new(&bench.folder(name), Protection::Usual)?;
    let mut points = Vec::new();
    for count in [10u32, 100, 1000, 3000, 10_000] {
        let mut state = (*subject.session()?.state()).clone();
        for number in 0..count / 2 {
            let value = Value::Scalar(format!("the value of number {number}").into());
            let variable = Variable { attributes: String::new(), value };
            state.variables.insert(format!("variable_{number}"), variable);
            let text = format!("function_{number} () \n{{ \n    echo \"$1\" number {number}\n}}").into();
            let function = Function { attributes: String::new(), text };
            state.functions.insert(format!("function_{number}").into(), function);
        }
        let session = Session::new(state);
        subject.run(&session, "true", Answer::WithState)?;
        subject.settle(&session);
        subject.pause(Duration::from_millis(600));
        points.push((f64::from(count), measure(&subject, &session)?));
    }
    Ok(points)
}

/// A command that carries a file, as agents write one. The guard looks at a megabyte at most, and above that asks a
/// person, so it is off.
fn command(bench: &Bench) -> Result<Curve> {
    let subject = Subject::with(&bench.folder("command"), Protection::Usual, |config| config.guard = Guard::off())?;
    let points = here_documents(&subject, &[10, 1000, 100_000, 1_000_000, 10_000_000])?;
    let title = "A here-document, by its size (guard off)";
    Ok(Curve { name: "command", title, across: "bytes of the command, not judged", points })
}

/// The same with the guard on.
fn judged(bench: &Bench) -> Result<Curve> {
    let subject = Subject::new(&bench.folder("judged"), Protection::Usual)?;
    let points = here_documents(&subject, &[10, 1000, 10_000, 100_000, 1_000_000])?;
    let title = "A here-document, by its size (guard on)";
    Ok(Curve { name: "judged", title, across: "bytes of the command, judged", points })
}

fn here_documents(subject: &Subject, sizes: &[u32]) -> Result<Vec<(f64, f64)>> {
    let session = subject.session()?;
    let mut points = Vec::new();
    for bytes in sizes {
        let frame = "cat >/dev/null <<'E'\n\nE\n".len();
        let text = text_of((*bytes as usize).saturating_sub(frame));
        let command =
            if text.is_empty() { "echo hello".to_owned() } else { format!("cat >/dev/null <<'E'\n{text}\nE\n") };
        points.push((f64::from(*bytes), middle(subject, &session, &command)?));
    }
    Ok(points)
}

/// A command that prints much.
fn output(bench: &Bench) -> Result<Curve> {
    let subject = Subject::new(&bench.folder("output"), Protection::Usual)?;
    let session = subject.session()?;
    let mut points = Vec::new();
    for bytes in [0u32, 1000, 100_000, 10_000_000, 100_000_000] {
        points.push((f64::from(bytes), middle(&subject, &session, &format!("head -c {bytes} /dev/zero"))?));
        subject.settle(&session);
        subject.forget_runs();
    }
    let once = subject.time(&session, "head -c 1000000000 /dev/zero", Answer::First, PAUSE)?;
    points.push((1e9, once));
    Ok(Curve { name: "output", title: "head -c N /dev/zero, by N", across: "bytes of output", points })
}

/// Sessions that have run a command and are kept.
fn sessions(bench: &Bench) -> Result<Curve> {
    let subject = Subject::new(&bench.folder("sessions"), Protection::Usual)?;
    let (mut alive, mut points) = (Vec::new(), Vec::new());
    for count in [1u32, 10, 50, 150, 500] {
        alive.extend(crowd(&subject, count as usize - alive.len())?);
        points.push((f64::from(count), middle(&subject, &alive[0], "true")?));
    }
    Ok(Curve { name: "sessions", title: "true, by the number of sessions", across: "sessions alive", points })
}

/// Tasks that run and say nothing.
fn tasks(bench: &Bench) -> Result<Curve> {
    let subject = Subject::new(&bench.folder("tasks"), Protection::Usual)?;
    let session = subject.session()?;
    let (mut running, mut points) = (0, Vec::new());
    for count in [0u32, 10, 50, 150, 500] {
        for _ in running..count {
            let request = CommandRequest::new("sleep 600");
            let started = subject.runtime.block_on(subject.engine.start(&session, request))?;
            ensure!(matches!(started, StartedTask::Started(_)), "a task was refused");
        }
        running = count;
        // A keeper makes itself small a moment after its command has started.
        subject.pause(Duration::from_millis(400));
        points.push((f64::from(count), middle(&subject, &session, "true")?));
    }
    Ok(Curve { name: "tasks", title: "true, by the number of running tasks", across: "tasks running", points })
}

/// Runs that have ended and are kept.
fn runs(bench: &Bench) -> Result<Curve> {
    let subject = Subject::with(&bench.folder("runs"), Protection::Usual, |config| {
        config.limits.retention.finished = 20_000;
    })?;
    let session = subject.session()?;
    let pattern = subject.run(&session, "echo one of many", Answer::WithState)?.run_id;
    let folder = subject.folder().join("state/runs");
    let (mut kept, mut points) = (0, Vec::new());
    for count in [0u32, 10, 100, 1000, 10_000] {
        for number in kept..count {
            copy_run(&folder, &pattern, number)?;
        }
        kept = count;
        points.push((f64::from(count), middle(&subject, &session, "true")?));
    }
    let found = subject.engine.tasks().list()?.0.len();
    ensure!(found >= kept as usize, "of {kept} runs only {found} are runs");
    Ok(Curve { name: "runs", title: "true, by the number of runs kept", across: "runs kept", points })
}

/// One more run that looks like `pattern`, under an id of its own.
fn copy_run(runs: &Path, pattern: &str, number: u32) -> Result<()> {
    let id = format!("shell_{number:08x}");
    let to = runs.join(&id);
    if id == pattern || fs::create_dir(&to).is_err() {
        return Ok(());
    }
    for entry in fs::read_dir(runs.join(pattern)).context("the run that is copied is gone")?.flatten() {
        let Ok(text) = fs::read(entry.path()) else { continue };
        let named = entry.file_name() == "request.json";
        let text = if named { String::from_utf8(text)?.replace(pattern, &id).into_bytes() } else { text };
        fs::write(to.join(entry.file_name()), text)?;
    }
    Ok(())
}
