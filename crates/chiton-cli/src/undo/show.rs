//! What undoing came to, or would come to, for people.

use std::time::{Duration, UNIX_EPOCH};

use chiton_engine::Tasks;
use chiton_engine::changes::{ChangeLog, ChangeLogs, Undone, Untouched};
use chiton_engine::run::{ChangeKind, ChangedFiles};

use super::work::{StateOutcome, Step};
use crate::messages::{complain, remark, say};
use crate::shown;
use crate::table::span;

/// How many files of one command are listed before it is undone, or after.
const MOST_LISTED: usize = 50;

/// What no undoing covers.
pub(crate) const NOT_COVERED: &str = "not covered: files outside of the workspace, what went over the network or into a \
                                      database of a server, and what still runs";

/// How long ago something was.
pub(crate) fn age(began_ms: u64) -> String {
    let began = UNIX_EPOCH + Duration::from_millis(began_ms);
    format!("{} ago", span(began.elapsed().unwrap_or_default()))
}

/// A command in one line.
pub(crate) fn title(log: &ChangeLog) -> String {
    let command = log.command.as_deref().map(|command| format!(": {}", shown::line(command))).unwrap_or_default();
    format!("{}, {}{command}", log.id, age(log.began_ms))
}

/// How much has changed, in a few words.
pub(crate) fn counts(changed: &ChangedFiles) -> String {
    let kinds = [("made", changed.made), ("changed", changed.changed), ("removed", changed.removed)];
    let said: Vec<String> =
        kinds.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{word} {count}")).collect();
    if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
}

/// What undoing these commands would do, file by file.
pub(crate) fn plan(logs: &ChangeLogs, steps: &[Step]) {
    for step in steps {
        say!("{}", title(&step.log));
        if let Some(undo) = &step.log.undoing {
            say!("  goes on with {undo}, which was interrupted");
        }
        files(logs, step);
        untouched(&step.plan, Told::Before);
    }
}

/// The files that are put back.
fn files(logs: &ChangeLogs, step: &Step) {
    let Ok((roots, files)) = logs.files(&step.log.id) else { return };
    let left_alone = |name: &str| step.plan.left_alone.iter().any(|file| file.path == name);
    let mut count = 0;
    for change in files {
        let plain = |is_folder| relative(&roots, &change.path, is_folder);
        if left_alone(&plain(false)) {
            continue;
        }
        count += 1;
        if count <= MOST_LISTED {
            let what = match change.kind {
                ChangeKind::Made => "removes",
                ChangeKind::Changed => "puts back",
                ChangeKind::Removed => "brings back",
            };
            say!("  {what:11} {}", shown::path(&roots, &change.path, change.is_folder));
        }
    }
    if count > MOST_LISTED {
        say!("  and {} more files; `chiton changes {}` lists them", count - MOST_LISTED, step.log.id);
    }
}

/// A path as the engine names it.
fn relative(roots: &[std::path::PathBuf], path: &std::path::Path, is_folder: bool) -> String {
    let inside = roots.iter().find_map(|root| path.strip_prefix(root).ok()).filter(|path| !path.as_os_str().is_empty());
    let shown = inside.unwrap_or(path).display();
    if is_folder { format!("{shown}/") } else { shown.to_string() }
}

/// When something is said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Before,
    After,
}

/// The files that are left alone, or could not be put back.
pub(crate) fn untouched(undone: &Undone, when: Told) {
    let say_each = |what: &str, files: &[Untouched]| {
        for file in files.iter().take(MOST_LISTED) {
            let line = format!("{what} {}: {}", shown::name(file.path.as_bytes()), shown::line(&file.why));
            match when {
                Told::Before => say!("  {line}"),
                Told::After => complain(&line),
            }
        }
        if files.len() > MOST_LISTED {
            complain(&format!("{what} {} more", files.len() - MOST_LISTED));
        }
    };
    let (alone, failed) = match when {
        Told::Before => ("leaves alone", "cannot put back"),
        Told::After => ("left alone", "could not put back"),
    };
    say_each(alone, &undone.left_alone);
    say_each(failed, &undone.failed);
}

/// What was done.
pub(crate) fn done(steps: &[Step], tasks: &Tasks) {
    for step in steps {
        let result = step.result();
        let id = &step.log.id;
        let words = shown::line(&result.in_words());
        match (&result.undo, step.is_whole()) {
            (Some(undo), true) => say!("{id} is undone: {words}; `chiton undo {undo}` takes that back"),
            (Some(undo), false) => say!("{id} is undone in part: {words}; `chiton undo {undo}` takes that back"),
            (None, true) => say!("{id} is undone: everything was as before already"),
            (None, false) => say!("{id} is not undone"),
        }
        if step.log.undoing.is_some() {
            remark("an undoing that was interrupted was carried on");
        }
        untouched(result, Told::After);
        state(&step.state, id);
        leftovers(tasks, id);
    }
    if steps.iter().any(|step| !step.result().left_alone.is_empty()) {
        remark("--force puts back what was left alone as well");
    }
}

fn state(outcome: &StateOutcome, id: &str) {
    match outcome {
        StateOutcome::NotAsked => {}
        StateOutcome::Unknown => {
            remark(&format!("{id} changed nothing in a session that has a name, so no state was taken back"));
        }
        StateOutcome::TakenBack(session) => remark(&format!("what {id} changed in session {session} is taken back")),
        StateOutcome::Failed(why) => {
            complain(&format!("what {id} changed in its session could not be taken back: {why}"));
        }
    }
}

/// Names what a command left running: it may change files again.
fn leftovers(tasks: &Tasks, id: &str) {
    let running = tasks.running().unwrap_or_default();
    for task in running.iter().filter(|task| task.leftover_of.as_deref() == Some(id)) {
        remark(&format!("what {id} left running goes on as {0}; `chiton kill {0}` ends it", task.id));
    }
}
