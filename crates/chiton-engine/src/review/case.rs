//! One command as it is put to the guard: its text, the state and the directory it starts from, what its call adds.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use chiton_guard::{Boundary, Context, Input, Surroundings, Uncommitted, Verdict, judge_script, unparsed};

use super::Guard;
use super::kept::MachineFiles;
use super::surroundings::MachineSurroundings;
use crate::request::{CommandInput, EnvironmentChange, ParsedCommand};
use crate::session::{Origin, Standing};
use crate::state::ShellState;

/// What is judged.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) command: &'a [u8],
    pub(crate) state: &'a Arc<ShellState>,
    /// The directory as the shell names it.
    pub(crate) directory: &'a Path,
    /// The same without symbolic links.
    pub(crate) real_directory: &'a Path,
    /// What the call adds to the environment, as far as that reaches the command.
    pub(crate) change: &'a EnvironmentChange,
    pub(crate) input: &'a Input,
    /// Where its session comes from: files that changed since are its work. Without one, no file is looked at.
    pub(crate) origin: Option<&'a Origin>,
    /// What it cannot reach anyway.
    pub(crate) boundary: Option<&'a Arc<Boundary>>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        command: &'a [u8],
        state: &'a Arc<ShellState>,
        standing: &'a Standing,
        change: &'a EnvironmentChange,
        input: &'a Input,
    ) -> Self {
        let (directory, real_directory) = (&standing.path, &standing.real);
        Self { command, state, directory, real_directory, change, input, origin: None, boundary: None }
    }
}

/// What a command finds on its standard input, as the guard has to know it.
pub(crate) fn input_of(input: &CommandInput) -> Input {
    match input {
        CommandInput::Nothing => Input::Nothing,
        CommandInput::Text(text) => Input::Text(text.to_text().into()),
        CommandInput::Descriptor(_) | CommandInput::Open => Input::Later,
    }
}

/// Whether a verdict depends on the files of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// The guard asked about some.
    AtFiles,
    /// It did not.
    Nowhere,
}

/// The files of the machine, once somebody asks about them.
#[derive(Debug)]
struct Watched {
    origin: Origin,
    machine: OnceLock<MachineSurroundings>,
}

impl Watched {
    fn asked(&self) -> &MachineSurroundings {
        self.machine.get_or_init(|| {
            let environment = self.origin.environment.iter().map(|(name, value)| (*name, value));
            MachineSurroundings::new(self.origin.began, environment)
        })
    }
}

impl Surroundings for Watched {
    fn recent_file(&self, path: &Path) -> Option<Arc<[u8]>> {
        self.asked().recent_file(path)
    }

    fn link(&self, path: &Path) -> Option<PathBuf> {
        self.asked().link(path)
    }

    fn others_may_write(&self, path: &Path) -> Option<bool> {
        self.asked().others_may_write(path)
    }

    fn is_worktree(&self, path: &Path) -> bool {
        self.asked().is_worktree(path)
    }

    fn uncommitted(&self, path: &Path) -> Option<Uncommitted> {
        self.asked().uncommitted(path)
    }
}

impl Guard {
    /// What it says about a command, with the command's parse.
    pub(super) fn judge_case(&self, parsed: &ParsedCommand, case: &Case<'_>) -> (Verdict, Looked) {
        let watched = case.origin.map(|origin| Arc::new(Watched { origin: origin.clone(), machine: OnceLock::new() }));
        let mut verdict = self.judge_in(parsed, case, &self.around, case.directory, watched.as_ref());
        if case.real_directory != case.directory {
            // A path through a link is what the text says; where it leads is what the command would do.
            let mut really = self.around.clone();
            let workspace = really.workspace.take();
            let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
            really.workspace = Some(workspace.map_or_else(|| case.directory.to_owned(), real));
            let real = self.judge_in(parsed, case, &really, case.real_directory, watched.as_ref());
            if real.decision > verdict.decision {
                verdict = real;
            }
        }
        // Where paths lead decides whether a sandbox holds what happens to them.
        let followed = case.boundary.is_some() && !verdict.findings.is_empty();
        let asked = followed || watched.is_some_and(|watched| watched.machine.get().is_some());
        (verdict, if asked { Looked::AtFiles } else { Looked::Nowhere })
    }

    fn judge_in(
        &self,
        parsed: &ParsedCommand,
        case: &Case<'_>,
        around: &Context,
        directory: &Path,
        surroundings: Option<&Arc<Watched>>,
    ) -> Verdict {
        let Case { command, state, change, input, .. } = case;
        let set: Vec<(String, String)> =
            change.variables().iter().map(|(name, value)| (name.clone(), value.to_text())).collect();
        let mut context = Context {
            cwd: directory.to_owned(),
            input: (*input).clone(),
            scope: Some(Arc::clone(state) as _),
            replaces_variables: matches!(change, EnvironmentChange::Replace(_)),
            surroundings: surroundings.map(|watched| Arc::clone(watched) as _),
            ..around.clone()
        };
        context.variables.extend(set.iter().cloned());

        let verdict = match parsed {
            Ok(script) => judge_script(script, command, &set, &context),
            Err(error) => unparsed(error),
        };
        let verdict = self.policy.refine(verdict, &context);
        match case.boundary {
            Some(boundary) => boundary.lift(verdict, &MachineFiles),
            None => verdict,
        }
    }
}
