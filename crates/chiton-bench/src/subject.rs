//! The engine that is measured, set up as `chiton mcp` sets it up.

use std::env;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use chiton_engine::audit::{AuditConfig, Journal};
use chiton_engine::guard::{Context, GuardPolicy};
use chiton_engine::review::Guard;
use chiton_engine::secrets::{MemorySource, Reference, Secret, SecretStore};
use chiton_engine::tasks::CleanUp;
use chiton_engine::{
    AnswerMode, ByteString, CommandRequest, Engine, EngineConfig, Outcome, RunControl, RunReport, Session, Silent,
};
use tokio::runtime::Runtime;

use crate::measure::timed;

/// The secret that a session of a [`Protection::WithSecret`] engine has named.
const SECRET: &str = "bench-token";
const VALUE: &str = "Zx81-spectrum-48k-9f3b";
/// How many a session of a [`Protection::WithManySecrets`] engine has named.
pub(crate) const MANY: usize = 100;

/// What stands between a request and its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Guard, journal, a store of secrets of which none was named: what a server has at its start.
    Usual,
    /// The same after a command has named a secret: all output is searched for it.
    WithSecret,
    /// The same after commands have named a hundred.
    WithManySecrets,
    /// None of it.
    Off,
}

/// When a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// When the command has ended.
    First,
    /// When its shell has handed the state back as well.
    WithState,
}

/// An engine with a state directory of its own.
pub(crate) struct Subject {
    /// The engine.
    pub(crate) engine: Engine,
    /// What drives it: one thread, as in a program that uses the library.
    pub(crate) runtime: Runtime,
    folder: PathBuf,
    protection: Protection,
}

impl Subject {
    /// An engine with its state in `folder`.
    pub(crate) fn new(folder: &Path, protection: Protection) -> Result<Self> {
        Self::with(folder, protection, |_| {})
    }

    /// The same, with a last look at its configuration.
    pub(crate) fn with(folder: &Path, protection: Protection, adjust: impl FnOnce(&mut EngineConfig)) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = fs::canonicalize(folder)?;
        let mut config = EngineConfig::new(folder.join("state"))?;
        if protection != Protection::Off {
            let around = around(&folder);
            config.guard = Guard::new(GuardPolicy::default().check(&around).context("the policy")?, around);
            config.audit = Some(Journal::new(folder.join("state/audit"), AuditConfig::default(), "bench"));
            config.secrets = store()?;
        }
        adjust(&mut config);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let guarded = runtime.enter();
        let engine = Engine::new(config)?;
        drop(guarded);
        Ok(Self { engine, runtime, folder, protection })
    }

    /// A session that starts in the folder, with the environment of this process. Nothing waits for its first command.
    pub(crate) fn cold_session(&self) -> Session {
        let environment = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, ByteString::from(value.into_vec()))));
        Session::new(self.engine.fresh_state(&self.folder, environment, 0o022))
    }

    /// The same, with a shell that waits.
    pub(crate) fn session(&self) -> Result<Session> {
        let session = self.cold_session();
        let names = match self.protection {
            Protection::WithSecret => vec![SECRET.to_owned()],
            Protection::WithManySecrets => (0..MANY).map(name_of).collect(),
            Protection::Usual | Protection::Off => Vec::new(),
        };
        if !names.is_empty() {
            let words: Vec<String> = names.iter().map(|name| format!("'{{{{secret:{name}}}}}'")).collect();
            let command = format!("for value in {}; do test -n \"$value\" || exit 1; done", words.join(" "));
            let response = self.run(&session, &command, Answer::WithState)?;
            ensure!(response.outcome == Outcome::Exited(0), "a secret was not put in: {:?}", response.notices);
        }
        let _inside = self.runtime.enter();
        self.engine.warm(&session);
        Ok(session)
    }

    /// Where it works.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a command; it has to end well.
    pub(crate) fn run(&self, session: &Session, command: &str, answer: Answer) -> Result<RunReport> {
        let response = self.runtime.block_on(run(&self.engine, session, request(command, answer)))?;
        let ended = &response.outcome;
        let said = || format!("{} {}", response.stderr.to_text(), response.output.to_text());
        ensure!(*ended == Outcome::Exited(0), "{command:.60}: {ended:?} {:.300}", said());
        Ok(response)
    }

    /// The seconds a command takes, after a pause.
    pub(crate) fn time(&self, session: &Session, command: &str, answer: Answer, pause: Duration) -> Result<f64> {
        if pause > Duration::ZERO {
            self.pause(pause);
        }
        Ok(timed(|| self.run(session, command, answer))?.0)
    }

    /// Lets time pass for the engine: what it does between commands is done.
    pub(crate) fn pause(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    /// Waits until the state of `session` is that of its last command.
    pub(crate) fn settle(&self, session: &Session) {
        self.runtime.block_on(session.settled());
    }

    /// Forgets all runs that have ended.
    pub(crate) fn forget_runs(&self) {
        self.engine.clean(&CleanUp::everything());
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // Its folder stays until all is measured: a file system may be slow to make files after many have gone.
        let _ = self.runtime.block_on(self.engine.tasks().kill_all(Some(Duration::ZERO)));
    }
}

/// A request that is answered then.
pub(crate) fn request(command: &str, answer: Answer) -> CommandRequest {
    let mut request = CommandRequest::new(command);
    if answer == Answer::First {
        request.answer = AnswerMode::BeforeState;
    }
    request
}

/// Runs one command.
pub(crate) async fn run(engine: &Engine, session: &Session, request: CommandRequest) -> Result<RunReport> {
    let response = engine.run(session, request, &mut Silent, &RunControl::new()).await?;
    response.into_ran().context("the command was not run")
}

/// A store with one secret, and many others.
fn store() -> Result<SecretStore> {
    let reference = |name: &str| Reference::secret(name).context("no name of a secret");
    let mut secrets = MemorySource::new().with(reference(SECRET)?, Secret::masked(VALUE));
    for number in 0..MANY {
        secrets = secrets.with(reference(&name_of(number))?, Secret::masked(token(number).as_str()));
    }
    Ok(SecretStore::empty().and(secrets))
}

fn name_of(number: usize) -> String {
    format!("bench-token-{number}")
}

/// A value as services give them out: from 20 to 51 characters that look random, some of them neither letters nor digits.
pub(crate) fn token(number: usize) -> String {
    const CHARACTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/+";
    let mut state = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(CHARACTERS[usize::try_from(state >> 33).unwrap_or(0) % CHARACTERS.len()])
    };
    (0..20 + number % 32).map(|_| next()).collect()
}

/// What the guard is told about this machine.
fn around(directory: &Path) -> Context {
    let home = env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
    let mut context = Context::new(home, env::var("USER").unwrap_or_else(|_| "root".to_owned()), directory);
    context.workspace = Some(directory.to_owned());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    context.mounts = mounts.lines().filter_map(|line| line.split(' ').nth(1)).map(PathBuf::from).collect();
    context
}
