//! `chiton run`: one command, its output live, its ending as the exit code.
//!
//! 1. `arguments.rs` makes a request of the command line.
//! 2. The engine runs it in a fresh session or a named one, while `live.rs` passes its output on.
//! 3. `report.rs` says what the output itself does not.

mod arguments;
mod live;
mod report;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, anyhow};
use chiton_engine::error::SessionError;
use chiton_engine::machine;
use chiton_engine::state::environment::CallerKind;
use chiton_engine::{
    CommandRequest, Engine, EngineConfig, EngineError, EnvironmentChange, FreshState, FromNear, Occurrence, Outcome,
    Owner, Response, RunControl, RunReport, SENT_TWICE, Session, ShellState, StartedTask, WarmLimits,
};
use chiton_operator::{NamedSessions, broken_state};

use crate::audit::otlp::Exporter;
use crate::messages::{complain, remark, say};
use crate::passphrase::PassphraseSource;
use crate::sandbox::Asker;
use crate::settings::Settings;
use crate::status_line::StatusLine;
use crate::surroundings;
use crate::window;
use live::{Hands, Show};

pub(crate) use arguments::{RunArguments, request};

/// Says why a command was not run, or what it would have done; gives the exit code of that.
pub(crate) fn report(response: &Response) -> ExitCode {
    match response {
        Response::Described(dry_run) => crate::messages::put(format_args!("{}", dry_run.description.to_text())),
        Response::Refused(refused) => {
            complain(&format!("the command {}", Outcome::Refused(refused.refusal.reason.clone())));
        }
        Response::Ran(_) => {}
    }
    match response.outcome() {
        Some(outcome) => exit_code(&outcome, 0),
        None => ExitCode::SUCCESS,
    }
}

pub(crate) use report::exit_code;

pub(crate) fn run(arguments: &RunArguments, settings: &Settings, state_directory: &Path) -> Result<ExitCode> {
    let near = arguments.near.read()?;
    let runtime = crate::runtime::build(tokio::runtime::Builder::new_multi_thread().worker_threads(1))?;
    let exporter = Exporter::start(settings, state_directory)?;
    let code = runtime.block_on(run_async(arguments, near, settings, state_directory));
    if let Some(exporter) = exporter {
        exporter.finish();
    }
    // What still runs in there, such as a wait for a keeper, is no reason to stay.
    runtime.shutdown_background();
    code
}

async fn run_async(
    arguments: &RunArguments,
    near: Option<FromNear>,
    settings: &Settings,
    state_directory: &Path,
) -> Result<ExitCode> {
    let mut request = request(arguments)?;
    let engine = engine(arguments, settings, state_directory)?;
    engine.expect_command();
    // How whoever reads this has to say where it is.
    let on =
        near.as_ref().and_then(|near| near.target.as_ref()).map(|name| format!(" --on {name}")).unwrap_or_default();
    if let Some(near) = near {
        near.apply_to(&mut request);
        if let Some(caller) = &near.caller {
            engine.set_owner(Owner::served_here(caller, &surroundings::working_directory()?));
        }
        engine.give_secrets(near.secrets);
    }
    let command = request.command.to_text();
    // A call that was made before has begun its session afresh then.
    let is_new = request.run_id.as_ref().is_none_or(|id| !engine.tasks().has(id));
    let place = RunSession::open(arguments, arguments.reset && is_new, &engine, state_directory)?;
    if is_new {
        engine.expect(&place.session, &request);
    }
    if arguments.background {
        let started = start(&engine, &place.session, request, arguments, &on).await;
        place.note_secrets();
        if started.is_err() {
            place.save(&command, None);
        }
        return started.map_err(|error| without_session(error, arguments));
    }

    let control = RunControl::new();
    let mut show = Show::new(arguments, &control);
    let stopped_by = live::stop_on_signals(&control, &show.status)?;
    let environment = request.environment.clone();
    let response = show_live(&engine, &place.session, request, arguments, &mut show, &control).await;
    place.note_secrets();
    // Also where nothing ran: a session that has lost its directory goes on in another one.
    let report = response.as_ref().ok().and_then(Response::ran);
    place.save(&command, report.filter(|report| report.occurrence == Occurrence::First));
    let response = response.map_err(|error| without_session(error, arguments))?;

    if arguments.json {
        let mut stdout = io::stdout().lock();
        serde_json::to_writer(&mut stdout, &report::as_json(&response))?;
        writeln!(stdout)?;
    } else {
        report::report(&response, arguments);
        place.report_broken(&response, &environment);
        if arguments.leaves_input() {
            remark("what is in standard input did not reach the command; --stdin - passes it on");
        }
    }
    if let Some(error) = show.broken.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        return Err(error).context("the output could not be written, so the command was stopped");
    }
    Ok(match response.outcome() {
        Some(outcome) => exit_code(&outcome, stopped_by.load(Ordering::Relaxed)),
        None => ExitCode::SUCCESS,
    })
}

fn engine(arguments: &RunArguments, settings: &Settings, state_directory: &Path) -> Result<Engine> {
    let mut config = EngineConfig::new(state_directory)?;
    settings.retention.apply(&mut config.limits);
    config.limits.warm = WarmLimits::none();
    let protection = arguments.protection.with(settings)?;
    protection.apply(&mut config, PassphraseSource::Asked, "run", state_directory)?;
    let directory = surroundings::working_directory()?;
    config.guard = protection.guard(settings, &directory, state_directory)?;
    let served = arguments.directory().map_or(Ok(directory), std::path::absolute)?;
    let asker = if arguments.preview { Asker::Preview } else { Asker::Run };
    config.sandbox = protection.sandbox(settings, asker, &served, &[], state_directory, arguments.limits())?;
    // A person types `chiton run --env` themself.
    config.environment.caller = CallerKind::Person;
    Ok(Engine::new(config)?)
}

/// The session that the command runs in, and what it was before.
struct RunSession {
    named: NamedSessions,
    session: Session,
    before: Arc<ShellState>,
    /// What a session starts from here.
    base: FreshState,
}

impl RunSession {
    fn open(arguments: &RunArguments, reset: bool, engine: &Engine, state_directory: &Path) -> Result<Self> {
        let directory = surroundings::working_directory()?;
        let base = engine.fresh_state(directory, surroundings::environment(), machine::umask());
        let named = NamedSessions::new(state_directory);
        let session = match &arguments.session {
            Some(name) => {
                if reset {
                    named.reset(name, &base)?;
                }
                named.open(name, &base)?
            }
            None => Session::new(base.clone()),
        };
        Ok(Self { named, before: session.state(), session, base })
    }

    /// Notes in a named session which secrets its commands named, so that later ones mask them, too.
    fn note_secrets(&self) {
        if let Err(error) = self.named.note_secrets(&self.session, &self.before) {
            complain(&format!("{error}; the secrets of this command are not known to later ones of the session"));
        }
    }

    /// Says what in the state of a named session made the command fail.
    fn report_broken(&self, response: &Response, environment: &EnvironmentChange) {
        let Some(name) = self.session.name() else { return };
        let broken = |report| broken_state(&self.before, &self.base.state, environment, report);
        if let Some(broken) = response.ran().and_then(broken) {
            remark(&format!("{broken}; `chiton run --session {name} --reset` starts it afresh"));
        }
    }

    /// Leaves a named session as the command left it. The command has run, so its own ending is what counts.
    fn save(&self, command: &str, report: Option<&RunReport>) {
        let saved = match report {
            Some(report) => self.named.save_after(&self.session, &self.before, command, report),
            None => self.named.save(&self.session, &self.before),
        };
        if let Err(error) = saved {
            complain(&format!("{error}; the session stays as it was before"));
        }
    }
}

/// The error of a command that ran nothing. Without a session there is none that could go on elsewhere.
fn without_session(error: anyhow::Error, arguments: &RunArguments) -> anyhow::Error {
    match error.downcast_ref() {
        Some(EngineError::Session(SessionError::DirectoryGone { path, nearest, .. }))
            if arguments.session.is_none() =>
        {
            let (path, nearest) = (path.display(), nearest.display());
            anyhow!("the current directory {path} is gone, so nothing was run: `cd {nearest}` first, or give --dir")
        }
        _ => error,
    }
}

/// Runs the command while its output is shown and, in a terminal, a person types into it.
async fn show_live(
    engine: &Engine,
    session: &Session,
    request: CommandRequest,
    arguments: &RunArguments,
    show: &mut Show,
    control: &RunControl,
) -> Result<Response> {
    let typed = arguments.pty && !arguments.json && window::is_interactive();
    let hands = typed.then(|| Hands::on(engine.tasks())).transpose()?;
    show.run = hands.as_ref().map(|hands| hands.run.clone());
    // In a terminal of its own, the command draws.
    let status: StatusLine = show.status.clone();
    let drawing = hands.is_none().then(|| tokio::spawn(status.clone().keep_drawing()));

    let response = engine.run_once(session, request, show, control).await;

    if let Some(drawing) = drawing {
        drawing.abort();
    }
    drop(hands);
    status.finish();
    Ok(response?)
}

/// A background command: its id is all there is to say.
async fn start(
    engine: &Engine,
    session: &Session,
    request: CommandRequest,
    arguments: &RunArguments,
    on: &str,
) -> Result<ExitCode> {
    let (started, occurrence) = engine.start_once(session, request).await?;
    if occurrence == Occurrence::Again {
        remark(SENT_TWICE);
    }
    match started {
        StartedTask::Started(task) if arguments.json => say!("{}", crate::ps::as_json(&task)),
        StartedTask::Started(task) => {
            say!("{}", task.id);
            let id = &task.id;
            remark(&format!("started; `chiton logs{on} -f {id}` shows its output, `chiton kill{on} {id}` ends it"));
            for (name, number) in &task.ports {
                remark(&format!("port {name} = {number}"));
            }
        }
        StartedTask::Described(dry_run) => crate::messages::put(format_args!("{}", dry_run.description.to_text())),
        StartedTask::Refused(refused) => {
            complain(&format!("the command {}", Outcome::Refused(refused.refusal.reason)));
            return Ok(ExitCode::from(crate::OWN_FAILURE));
        }
    }
    Ok(ExitCode::SUCCESS)
}
