//! Which commands are meant: by an id or the beginning of one, by a range, or as the last ones here.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use chiton_engine::changes::{ChangeLog, ChangeLogs};
use chiton_engine::{Task, Tasks};

use crate::shown;
use crate::surroundings;

/// What stands between the two ends of a range.
const RANGE: &str = "..";
/// By how many letters an id may differ to be suggested.
const MOST_CHANGES: usize = 3;

/// The logs of a state directory, and the runs that they belong to.
pub(crate) struct Known {
    pub(crate) logs: ChangeLogs,
    pub(crate) tasks: Tasks,
}

impl Known {
    pub(crate) fn new(state: &Path) -> Self {
        Self { logs: ChangeLogs::new(state), tasks: Tasks::new(state) }
    }

    /// The log of a command, by its id or by a beginning of it that no other has.
    pub(crate) fn one(&self, word: &str) -> Result<ChangeLog> {
        // `dead` may be the beginning of an id, and a file of that name is meant more often.
        let is_file = !word.contains('_') && Path::new(word).symlink_metadata().is_ok();
        match self.logs.find(word).filter(|_| !is_file) {
            Some(id) => Ok(self.logs.one(&id)?),
            None => Err(self.why_not(word)),
        }
    }

    /// All that are meant by these words, the newest first, each once.
    pub(crate) fn all(&self, words: &[String]) -> Result<Vec<ChangeLog>> {
        let mut found = Vec::new();
        for word in words {
            match word.split_once(RANGE) {
                Some((first, last)) => found.extend(self.between(first, last)?),
                None => found.push(self.one(word)?),
            }
        }
        found.sort_by(|one, other| (other.began_ms, &other.id).cmp(&(one.began_ms, &one.id)));
        found.dedup_by(|one, other| one.id == other.id);
        Ok(found)
    }

    /// Everything from one command to another, in either order, that has an effect on the workspace of the first.
    fn between(&self, first: &str, last: &str) -> Result<Vec<ChangeLog>> {
        let (mut first, mut last) = (self.one(first)?, self.one(last)?);
        if last.began_ms < first.began_ms {
            std::mem::swap(&mut first, &mut last);
        }
        let until = (last.began_ms, last.id);
        let since = self.since_ms(first.began_ms, &first.roots);
        let found: Vec<ChangeLog> = since.into_iter().filter(|log| (log.began_ms, log.id.clone()) <= until).collect();
        if found.is_empty() {
            bail!("everything from {} to {} was undone already", first.id, until.1);
        }
        Ok(found)
    }

    /// Everything from a command to now.
    pub(crate) fn since(&self, word: &str) -> Result<Vec<ChangeLog>> {
        let first = self.one(word)?;
        let found = self.since_ms(first.began_ms, &first.roots);
        if found.is_empty() {
            bail!("everything since {} was undone already", first.id);
        }
        Ok(found)
    }

    /// Everything since then that has an effect on one of these folders.
    pub(crate) fn since_ms(&self, began_ms: u64, roots: &[PathBuf]) -> Vec<ChangeLog> {
        let since = self.logs.since_ms(began_ms);
        let logs = since.iter().filter_map(|id| self.logs.one(id).ok());
        logs.filter(|log| overlap(&log.roots, roots)).collect()
    }

    /// The last commands whose workspace this directory is, or is in. What is below it is not here.
    pub(crate) fn last(&self, count: usize) -> Result<Vec<ChangeLog>> {
        let here = surroundings::working_directory()?;
        let here = here.canonicalize().unwrap_or(here);
        let logs = self.since_ms(0, std::slice::from_ref(&here)).into_iter();
        // What an undoing left over is not a command.
        let is_here = |log: &ChangeLog| log.roots.iter().any(|root| here.starts_with(root));
        let logs = logs.filter(|log| log.undoes.is_none() && is_here(log));
        let found: Vec<ChangeLog> = logs.take(count).collect();
        if found.is_empty() {
            bail!(
                "no command is known to have changed files of the workspace {}; `chiton changes` lists those of others",
                here.display()
            );
        }
        Ok(found)
    }

    /// Why there is no log by this name.
    fn why_not(&self, word: &str) -> anyhow::Error {
        if let Some(error) = self.is_of_file(word) {
            return error;
        }
        match self.tasks.get(word) {
            Ok(task) => why_not_of(&task),
            Err(error) if error.removed.is_some() => {
                anyhow!("what it changed is not kept any more, if it changed anything: {error}")
            }
            Err(error) if error.reason.is_some() => error.into(),
            Err(_) => {
                let near = |log: &ChangeLog| strsim::levenshtein(word, &log.id) <= MOST_CHANGES;
                let near = self.logs.all().into_iter().find(near).map(|log| format!("; did you mean {}?", log.id));
                let near = near.unwrap_or_else(|| "; `chiton changes` lists what can be undone".to_owned());
                let word: String = word.chars().take(64).collect();
                anyhow!("no command is known by '{}'{near}", word.escape_debug())
            }
        }
    }

    /// Says so where somebody names a file, and who has changed it.
    fn is_of_file(&self, word: &str) -> Option<anyhow::Error> {
        let path = std::path::absolute(word).ok()?;
        let real = path.parent().and_then(|folder| folder.canonicalize().ok()).zip(path.file_name());
        let path = real.map_or_else(|| path.clone(), |(folder, name)| folder.join(name));
        let is_there = path.symlink_metadata().is_ok();
        let changed = |log: &ChangeLog| {
            let files = self.logs.files(&log.id).map(|(_, files)| files).unwrap_or_default();
            files.iter().any(|change| change.path == path)
        };
        let by = self.logs.all().into_iter().find(changed);
        let name = shown::name(word.as_bytes());
        match by {
            Some(log) => Some(anyhow!(
                "{name} is a file, and what is undone is a command: {0} changed it last, and `chiton undo {0}` undoes all \
                 of what that did; `chiton changes {0}` lists it",
                log.id
            )),
            None if is_there || word.contains('/') => Some(anyhow!(
                "{name} is a file, and what is undone is a command; none is known to have changed it. `chiton changes` \
                 lists what can be undone"
            )),
            None => None,
        }
    }
}

/// Why a run that is known has no log.
fn why_not_of(task: &Task) -> anyhow::Error {
    let id = &task.id;
    if task.status.is_running() {
        return anyhow!("{id} still runs, and has changed no file of its workspace so far");
    }
    if task.protection.as_ref().is_none_or(|protection| protection.sandbox.is_none()) {
        return anyhow!(
            "{id} ran without a sandbox, so nobody wrote down what it changed; `chiton run --sandbox work` does, and \
             so does `chiton mcp`"
        );
    }
    match task.changed.as_ref().and_then(|changed| changed.undo.as_ref()) {
        Some(_) => anyhow!(
            "what {id} changed is not kept any more: it was too long ago, or too much has changed since ([retention] \
             undo_age and undo_bytes say how long and how much)"
        ),
        None => anyhow!("{id} changed no file of its workspace, so there is nothing to undo"),
    }
}

/// Whether two workspaces have something in common.
pub(crate) fn overlap(some: &[PathBuf], others: &[PathBuf]) -> bool {
    let meets = |one: &PathBuf, other: &PathBuf| one.starts_with(other) || other.starts_with(one);
    some.iter().any(|one| others.iter().any(|other| meets(one, other)))
}
