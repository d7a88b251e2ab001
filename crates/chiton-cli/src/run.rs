//! `chiton run`: one command, its output live, its ending as the exit code.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use chiton_engine::limits::ViewLimits;
use chiton_engine::render::TextView;
use chiton_engine::state::environment::Caller;
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{
    ByteString, CommandInput, CommandRequest, Engine, EngineConfig, EnvironmentChange, Lifetime, Listener, OnTimeout,
    Outcome, Response, RunControl, RunEvent, RunReport, Session, ShellState, StartedTask, StateReport, Stream, Streams,
    TaskLifetime, Tasks, TimeLimit, Typing, Typist, WarmLimits,
};
use chiton_operator::NamedSessions;
use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::consent::Terminal;
use crate::protection::ProtectionArguments;
use crate::secret_sources::Passphrase;
use crate::setting;
use crate::settings::Settings;
use crate::status_line::StatusLine;
use crate::terminal::{complain, remark};
use crate::window::{self, RawMode};

/// Run one command and show its output as it comes
#[derive(Args)]
#[command(after_help = "\
Exit code: the command's own; 124 timed out, 125 chiton itself failed, 126 and 127 as bash has them, 128+N ended by
signal N.

Examples:
  chiton run 'make test'                              run it, see the output live
  chiton run --timeout 30s 'npm install'              stop it, and everything it started, after half a minute
  chiton run --silence 2m 'make world'                stop it when it has printed nothing for two minutes
  chiton run --session api 'cd src; export PORT=8080' remember directory, variables, functions, options …
  chiton run --session api 'echo $PORT; pwd'          … and go on from there, in another terminal if you like
  chiton run --json 'cargo build'                     the whole story as one JSON object
  chiton run 'python3 -m http.server &'               returns at once and says what it left running
  chiton run --background 'npm run dev'               a task: see `chiton ps`, `chiton logs`, `chiton wait`, `chiton kill`
  chiton run --pty 'vim notes.txt'                    in a terminal: yours, if there is one
  chiton run --wait 50s 'cargo test'                  wait 50 s; if it is not done by then, hand back its id")]
pub(crate) struct RunArguments {
    /// The command, as one argument: quote it
    command: OsString,
    /// Stop the command and everything it started after this long: 500ms, 30s, 5m, 1h30m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Stop it when it has printed nothing for this long, however long it takes in all
    #[arg(long, value_name = "TIME", value_parser = duration)]
    silence: Option<Duration>,
    /// How long a stopped command may clean up before it is killed [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    grace: Option<Duration>,
    /// Run in this directory instead of the current one or the session's
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Set a variable for this command; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// Start with no variables but those given by --env
    #[arg(long)]
    clear_env: bool,
    #[command(flatten)]
    protection: ProtectionArguments,
    /// What the command reads: a file, or - for our own standard input [default: nothing]
    #[arg(long, value_name = "FILE|-")]
    stdin: Option<PathBuf>,
    /// Continue the session of this name, and leave it as the command left it (a background command leaves it as it is)
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Take both streams through one pipe: exact order, no telling them apart
    #[arg(long)]
    merge: bool,
    /// Print one JSON object at the end instead of the output
    #[arg(long)]
    json: bool,
    /// How much of each stream --json carries: the first half and the last half of this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    max_output: usize,
    /// What ends the command besides its own end
    #[arg(long, value_enum, default_value_t = LifetimeArgument::Call, conflicts_with = "background")]
    lifetime: LifetimeArgument,
    /// Start it and come back at once with its id; it goes on until it ends or is killed
    #[arg(long)]
    background: bool,
    /// Leave the input of a background command open for `chiton send`
    #[arg(long, requires = "background", conflicts_with = "stdin")]
    open_stdin: bool,
    /// Wait at most this long, then come back with the id of the running command
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "background")]
    wait: Option<Duration>,
    /// What happens when --timeout is over
    #[arg(long, value_enum, default_value_t = OnTimeoutArgument::Stop, requires = "timeout", conflicts_with = "background")]
    on_timeout: OnTimeoutArgument,
    /// In a terminal: for programs that talk to a person. Yours, where there is one; see `chiton attach` for others
    #[arg(long, conflicts_with_all = ["stdin", "merge", "open_stdin"])]
    pty: bool,
    /// With --pty: the columns of the terminal [default: those of yours, or 80]
    #[arg(long, value_name = "NUMBER", requires = "pty")]
    cols: Option<u64>,
    /// With --pty: its rows [default: those of yours, or 24]
    #[arg(long, value_name = "NUMBER", requires = "pty")]
    rows: Option<u64>,
    /// What the command is for, shown by `chiton ps`
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnTimeoutArgument {
    /// Stop the command and everything it started
    Stop,
    /// Come back with its id and let it go on
    Background,
}

#[derive(Clone, Copy, ValueEnum)]
enum LifetimeArgument {
    /// Stopped if chiton goes away before the command has ended; what an ended command left running goes on
    Call,
    /// Stopped, leftovers included, as soon as chiton goes away
    Session,
    /// Goes on whatever happens to chiton
    Durable,
}

impl From<LifetimeArgument> for Lifetime {
    fn from(argument: LifetimeArgument) -> Self {
        match argument {
            LifetimeArgument::Call => Self::Call,
            LifetimeArgument::Session => Self::Session,
            LifetimeArgument::Durable => Self::Durable,
        }
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration> {
    let wrong = || anyhow!("write a number with a unit, like 500ms, 30s, 5m or 1h30m");
    if text.parse::<f64>().is_ok() {
        return Err(wrong());
    }
    let signed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(signed).map_err(|_| wrong())
}

pub(crate) fn run(arguments: RunArguments, settings: &Settings, state_directory: &Path) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let code = runtime.block_on(run_async(arguments, settings, state_directory));
    // What still runs in there (a keeper being waited for) is no reason to stay.
    runtime.shutdown_background();
    code
}

async fn run_async(arguments: RunArguments, settings: &Settings, state_directory: &Path) -> Result<ExitCode> {
    let mut config = EngineConfig::new(state_directory)?;
    config.limits.warm = WarmLimits::none();
    let protection = arguments.protection.with(settings);
    protection.apply(&mut config, Passphrase::Asked, "run", state_directory)?;
    config.guard = protection.guard(settings, &setting::working_directory()?)?;
    // Who types `chiton run --env` is the person themself.
    config.environment.caller = Caller::Person;
    let engine = Engine::new(config)?;
    let base = engine.fresh_state(setting::working_directory()?, setting::environment(), setting::umask());
    let named = NamedSessions::new(state_directory);
    let session = match &arguments.session {
        Some(name) => named.open(name, &base)?,
        None => Session::new(base),
    };
    let before = session.state();
    let request = request(&arguments)?;
    if arguments.background {
        let started = start(&engine, &session, request, arguments.json).await;
        note_secrets(&named, &session, &before);
        return started;
    }

    let given: Vec<String> = request.environment.variables().keys().cloned().collect();
    let control = RunControl::new();
    let stopped_by = stop_on_signals(&control)?;
    let status = StatusLine::new();
    let hands = (arguments.pty && !arguments.json && window::is_interactive()).then(|| Hands::on(engine.tasks()));
    let hands = hands.transpose()?;
    let mut show = Show {
        json: arguments.json,
        status: status.clone(),
        control: control.clone(),
        broken: None,
        run: hands.as_ref().map(|hands| hands.run.clone()),
    };
    // In a terminal of its own, the command draws.
    let drawing = hands.is_none().then(|| tokio::spawn(status.clone().keep_drawing()));
    let response = engine.run(&session, request, &mut show, &control).await;
    if let Some(drawing) = drawing {
        drawing.abort();
    }
    drop(hands);
    status.finish();
    note_secrets(&named, &session, &before);
    let response = response?;
    // The command has run, so its own ending is what counts.
    if let Err(error) = named.save(&session, &before) {
        complain(&format!("{error}; the session stays as it was before"));
    }
    if arguments.json {
        let mut stdout = io::stdout().lock();
        serde_json::to_writer(&mut stdout, &as_json(&response))?;
        writeln!(stdout)?;
    } else {
        say_what_matters(&response, &arguments);
        if let (Some(_), StateReport::Discarded(why)) = (&arguments.session, response.state()) {
            remark(&format!("the session is as it was before: {why}"));
        }
        let removed = response.ran().map_or(&[][..], |report| &report.removed_variables);
        for removed in removed.iter().filter(|removed| given.contains(&removed.name)) {
            remark(&format!(
                "{} was kept from the command: it {} (--keep-env {0} lets it pass)",
                removed.name, removed.why
            ));
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

/// Notes in the session which secrets its commands named, so that they are masked in later ones too.
fn note_secrets(named: &NamedSessions, session: &Session, before: &ShellState) {
    if let Err(error) = named.note_secrets(session, before) {
        complain(&format!("{error}; the secrets of this command are not known to later ones of the session"));
    }
}

/// A background command: its id is all there is to say.
async fn start(engine: &Engine, session: &Session, request: CommandRequest, json: bool) -> Result<ExitCode> {
    match engine.start(session, request).await? {
        StartedTask::Started(task) if json => println!("{}", crate::ps::as_json(&task)),
        StartedTask::Started(task) => {
            println!("{}", task.id);
            remark(&format!("started; `chiton logs -f {0}` shows its output, `chiton kill {0}` ends it", task.id));
        }
        StartedTask::Described(dry_run) => print!("{}", dry_run.description.to_text()),
        StartedTask::Refused(refused) => {
            complain(&format!("the command {}", Outcome::Refused(refused.refusal.reason)));
            return Ok(ExitCode::from(crate::OWN_FAILURE));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn request(arguments: &RunArguments) -> Result<CommandRequest> {
    let mut variables = BTreeMap::new();
    for entry in &arguments.env {
        let bytes = entry.clone().into_vec();
        let split = bytes.iter().position(|byte| *byte == b'=');
        let (name, value) = split
            .map(|place| (&bytes[..place], &bytes[place + 1..]))
            .with_context(|| format!("--env {}: write it as NAME=VALUE", entry.to_string_lossy()))?;
        variables.insert(String::from_utf8_lossy(name).into_owned(), ByteString::from(value));
    }
    let environment =
        if arguments.clear_env { EnvironmentChange::Replace(variables) } else { EnvironmentChange::Merge(variables) };
    let mut request = CommandRequest::new(arguments.command.clone().into_vec());
    (request.timeout, request.silence) = (arguments.timeout, arguments.silence);
    request.grace = arguments.grace;
    request.directory.clone_from(&arguments.dir);
    request.environment = environment;
    request.input = input(arguments)?;
    request.streams = if arguments.merge { Streams::Merged } else { Streams::Separate };
    request.lifetime = arguments.lifetime.into();
    request.wait = arguments.wait;
    request.approver = Some(Arc::new(Terminal));
    request.on_timeout = match arguments.on_timeout {
        OnTimeoutArgument::Stop => OnTimeout::Stop,
        OnTimeoutArgument::Background => OnTimeout::HandBack,
    };
    request.terminal = if arguments.pty { Some(terminal(arguments)?) } else { None };
    // Our process ends with this command, so a task that ended with it would be none.
    request.task_lifetime = TaskLifetime::Durable;
    request.description.clone_from(&arguments.description);
    request.view = Some(ViewLimits::split(if arguments.json { arguments.max_output } else { 0 }));
    Ok(request)
}

fn terminal(arguments: &RunArguments) -> Result<TerminalSize> {
    let own = window::size().unwrap_or_default();
    let (columns, rows) = (arguments.cols.unwrap_or(own.columns.into()), arguments.rows.unwrap_or(own.rows.into()));
    Ok(TerminalSize::new(columns, rows)?)
}

fn input(arguments: &RunArguments) -> Result<CommandInput> {
    if arguments.open_stdin {
        return Ok(CommandInput::Open);
    }
    let Some(path) = &arguments.stdin else { return Ok(CommandInput::Nothing) };
    let descriptor: OwnedFd = if path.as_os_str() == "-" {
        io::stdin().as_fd().try_clone_to_owned()?
    } else {
        File::open(path).with_context(|| format!("--stdin {}", path.display()))?.into()
    };
    Ok(CommandInput::Descriptor(descriptor))
}

/// The first signal asks the command to stop, the second kills it, the third leaves at once; its keeper sees to the
/// rest. Gives the number of the first.
fn stop_on_signals(control: &RunControl) -> Result<Arc<AtomicI32>> {
    let first = Arc::new(AtomicI32::new(0));
    let count = Arc::new(AtomicI32::new(0));
    // Whoever started us with a signal ignored, as nohup does, wants it ignored.
    let wanted = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    for kind in wanted.into_iter().filter(|kind| !setting::is_ignored(kind.as_raw_value())) {
        let mut signals = signal(kind)?;
        let (first, count, control) = (Arc::clone(&first), Arc::clone(&count), control.clone());
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                match count.fetch_add(1, Ordering::Relaxed) {
                    0 => {
                        first.store(kind.as_raw_value(), Ordering::Relaxed);
                        control.cancel();
                    }
                    1 => control.cancel_within(Duration::ZERO),
                    _ => std::process::exit(128 + kind.as_raw_value()),
                }
            }
        });
    }
    Ok(first)
}

/// A person's hands on the terminal of the command: what they type, and the size of their window.
struct Hands {
    run: tokio::sync::watch::Sender<String>,
    typing: tokio::task::JoinHandle<()>,
    _raw: RawMode,
}

impl Hands {
    fn on(tasks: &Tasks) -> Result<Self> {
        let raw = RawMode::enter()?;
        let (run, mut started) = tokio::sync::watch::channel(String::new());
        let mut resized = signal(SignalKind::window_change())?;
        let tasks = tasks.clone();
        let typing = tokio::spawn(async move {
            if started.changed().await.is_err() {
                return;
            }
            let id = started.borrow().clone();
            let mut typed = window::typed();
            loop {
                tokio::select! {
                    Some(bytes) = typed.recv() => {
                        let bytes = window::without_answers(&bytes);
                        let _ = tasks.type_into(&id, Typing::Raw(bytes.into()), Typist::Person).await;
                    }
                    Some(()) = resized.recv() => {
                        if let Some(size) = window::size() {
                            let _ = tasks.resize(&id, size).await;
                        }
                    }
                    else => return,
                }
            }
        });
        Ok(Self { run, typing, _raw: raw })
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        self.typing.abort();
    }
}

/// Passes output on as it comes.
struct Show {
    json: bool,
    status: StatusLine,
    control: RunControl,
    broken: Option<io::Error>,
    /// Who types into it is told its id.
    run: Option<tokio::sync::watch::Sender<String>>,
}

impl Listener for Show {
    fn hear(&mut self, event: RunEvent<'_>) {
        if let (RunEvent::Started { run_id, .. }, Some(run)) = (&event, &self.run) {
            run.send_replace((*run_id).to_owned());
        }
        let RunEvent::Output { stream, bytes } = event else { return };
        self.status.heard(bytes);
        if self.json || self.broken.is_some() {
            return;
        }
        let written = match stream {
            Stream::Stdout => write_all(io::stdout().lock(), bytes),
            Stream::Stderr => write_all(io::stderr().lock(), bytes),
        };
        if let Err(error) = written {
            // Nobody reads any more, so nobody needs the command any more, as with any program in a pipeline.
            self.broken = Some(error);
            self.control.cancel();
        }
    }
}

fn write_all(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

/// On standard error, and only what the output itself does not say.
fn say_what_matters(response: &Response, arguments: &RunArguments) {
    for notice in response.notices() {
        remark(notice);
    }
    match response {
        Response::Ran(report) => say_how_it_ran(report, arguments),
        Response::Refused(refused) => {
            complain(&format!("the command {}", Outcome::Refused(refused.refusal.reason.clone())));
        }
        // Nobody has heard this yet.
        Response::Described(dry_run) => print!("{}", dry_run.description.to_text()),
    }
}

fn say_how_it_ran(report: &RunReport, arguments: &RunArguments) {
    match &report.outcome {
        Outcome::TimedOut => {
            let millis = |limit: Option<Duration>| limit.map_or(0, |limit| limit.as_millis());
            let why = match report.limit {
                Some(TimeLimit::Silence) => format!("printed nothing for {}ms", millis(arguments.silence)),
                _ => format!("timed out after {}ms", millis(arguments.timeout)),
            };
            complain(&format!("the command {why} and was stopped, with everything it started"));
        }
        Outcome::Cancelled | Outcome::Killed | Outcome::Lost | Outcome::Refused(_) | Outcome::FailedToStart(_) => {
            complain(&format!("the command {}", report.outcome));
        }
        Outcome::Running => {
            let id = &report.run_id;
            remark(&format!(
                "still running as {id}; `chiton logs -f {id}` goes on showing it, `chiton kill {id}` ends it"
            ));
        }
        Outcome::Exited(_) | Outcome::Signaled(_) => {}
    }

    let task = report.leftover_task.as_deref().map(|id| format!(" (task {id})")).unwrap_or_default();
    for leftover in &report.leftovers {
        remark(&format!("left running{task}: {} {}", leftover.pid, leftover.command));
    }
    for survivor in &report.survivors {
        complain(&format!("could not be killed: {} {}", survivor.pid, survivor.command));
    }
    if report.lost_bytes > 0 {
        remark(&format!("{} bytes of output are not kept in run {}", report.lost_bytes, report.run_id));
    }
}

fn as_json(response: &Response) -> serde_json::Value {
    let (report, outcome, state) = (response.ran(), response.outcome(), response.state());
    let output = response.output().map(TextView::to_text).unwrap_or_default();
    let stdout = report.map_or_else(|| output.clone(), |report| report.stdout.to_text());
    json!({
        "run_id": report.map_or("", |report| &report.run_id),
        "pid": report.map(|report| report.pid),
        "outcome": response.word(),
        "limit": report.and_then(|report| report.limit),
        "exit_code": outcome.as_ref().and_then(Outcome::exit_code),
        "signal": outcome.as_ref().and_then(Outcome::signal).map(|signal| signal.to_string()),
        "pipe_status": report.map_or(&[][..], |report| &report.pipe_status),
        "stdout": stdout,
        "stderr": report.map(|report| report.stderr.to_text()).unwrap_or_default(),
        "output": output,
        "truncated": report.is_some_and(RunReport::is_truncated),
        "omitted_bytes": report.map_or(0, RunReport::omitted_bytes),
        "lost_bytes": report.map_or(0, |report| report.lost_bytes),
        "cwd": response.cwd().to_string_lossy(),
        "state": { "result": state.word(), "why": state.why() },
        "leftovers": report.map_or(&[][..], |report| &report.leftovers),
        "leftover_task": report.and_then(|report| report.leftover_task.as_deref()),
        "survivors": report.map_or(&[][..], |report| &report.survivors),
        "usage": report.and_then(|report| report.usage.as_ref()),
        "duration_ms": report.map_or(0, |report| u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX)),
        "removed_variables": report.map_or(&[][..], |report| &report.removed_variables),
        "notices": response.notices(),
        "protection": response.protection(),
    })
}

pub(crate) fn exit_code(outcome: &Outcome, stopped_by: i32) -> ExitCode {
    let code = match outcome {
        Outcome::Exited(code) => *code,
        Outcome::Signaled(signal) => 128 + signal.number(),
        Outcome::TimedOut => 124,
        Outcome::Cancelled if stopped_by > 0 => 128 + stopped_by,
        // Nobody read our output any more.
        Outcome::Cancelled => 128 + rustix::process::Signal::PIPE.as_raw(),
        Outcome::Killed => 128 + rustix::process::Signal::KILL.as_raw(),
        Outcome::Running => 0,
        Outcome::Lost | Outcome::Refused(_) | Outcome::FailedToStart(_) => 125,
    };
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(crate::OWN_FAILURE))
}
