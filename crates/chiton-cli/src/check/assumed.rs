//! Where a command is assumed to run: the flags, or what is around this process.

use std::collections::BTreeMap;
use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use chiton_engine::guard::{Context, Input, Scope};
use chiton_engine::machine;
use chiton_engine::review::MachineSurroundings;
use chiton_engine::{FreshState, ShellState};
use chiton_operator::NamedSessions;

use super::{PlaceArguments, absolute};
use crate::surroundings;

/// Variables that follow from the place.
const OF_THE_PLACE: [&str; 8] = ["HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "SHLVL", "TERM", "_"];

/// What every command is assumed to find, where nothing else is said of it.
pub(super) struct Assumed {
    base: Context,
    /// Whether somebody said where it runs; else a session does.
    has_directory: bool,
    state_directory: Result<PathBuf>,
}

/// What is said of one command.
#[derive(Default)]
pub(super) struct Said {
    pub(super) home: Option<PathBuf>,
    pub(super) user: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) workspace: Option<PathBuf>,
    pub(super) session: Option<String>,
    pub(super) stdin: Option<String>,
    pub(super) env: BTreeMap<String, String>,
}

impl Assumed {
    pub(super) fn new(place: &PlaceArguments, state_directory: Result<PathBuf>) -> Result<Self> {
        let home = place.home.clone().or_else(|| env::var_os("HOME").map(PathBuf::from));
        let user = place.user.clone().or_else(|| env::var("USER").ok()).or_else(|| env::var("LOGNAME").ok());
        let cwd = match &place.cwd {
            Some(path) => absolute(path)?,
            None => surroundings::working_directory()?,
        };
        let mut base =
            Context::new(home.unwrap_or_else(|| "/root".into()), user.unwrap_or_else(|| "root".to_owned()), cwd);
        let around = surroundings::environment().map(|(name, value)| (name, value.to_text()));
        base.variables = around.filter(|(name, _)| !OF_THE_PLACE.contains(&name.as_str())).collect();
        let environment = surroundings::environment().map(|(name, value)| (name, value.to_vec()));
        base.surroundings = Some(Arc::new(MachineSurroundings::new(SystemTime::now(), environment)));

        let assumed = Self { base, has_directory: place.cwd.is_some(), state_directory };
        let said = Said {
            workspace: place.workspace.clone(),
            session: place.session.clone(),
            stdin: place.stdin.as_deref().map(input).transpose()?,
            env: place.env.iter().map(|given| variable(given)).collect::<Result<_>>()?,
            ..Said::default()
        };
        let base = assumed.with(&said)?;
        Ok(Self { base, ..assumed })
    }

    /// Where a command is assumed to run when nothing is said of it alone.
    pub(super) fn context(&self) -> &Context {
        &self.base
    }

    /// Where Chiton keeps its state, where that is known.
    pub(super) fn state_directory(&self) -> Option<&Path> {
        self.state_directory.as_deref().ok()
    }

    /// Where a command runs of which this is said.
    pub(super) fn with(&self, said: &Said) -> Result<Context> {
        let mut context = self.base.clone();
        if let Some(name) = &said.session {
            let state = self.session(name)?;
            if !self.has_directory {
                state.cwd.clone_into(&mut context.cwd);
            }
            context.variables.clear();
            context.scope = Some(Arc::new(state) as Arc<dyn Scope>);
        }
        if let Some(home) = &said.home {
            context.home = absolute(home)?;
        }
        if let Some(user) = &said.user {
            context.user.clone_from(user);
        }
        if let Some(cwd) = &said.cwd {
            context.cwd = absolute(cwd)?;
        }
        if let Some(workspace) = &said.workspace {
            context.workspace = Some(absolute(workspace)?);
        }
        if let Some(text) = &said.stdin {
            context.input = Input::Text(text.as_str().into());
        }
        context.variables.extend(said.env.clone());
        Ok(context)
    }

    /// The state of the session `name`.
    fn session(&self, name: &str) -> Result<ShellState> {
        let directory = match &self.state_directory {
            Ok(directory) => directory,
            Err(error) => bail!("{error:#}"),
        };
        let state = ShellState::fresh(&self.base.cwd, surroundings::environment(), machine::umask());
        let session = NamedSessions::new(directory).open(name, &FreshState::from(state))?;
        Ok(ShellState::clone(&session.state()))
    }
}

fn variable(given: &str) -> Result<(String, String)> {
    let (name, value) = given.split_once('=').with_context(|| format!("--env {given}: give NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn input(given: &str) -> Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text).context("standard input cannot be read")?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
