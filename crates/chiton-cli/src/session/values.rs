//! Sessions as values: what they are, what each command changed, back, forth and elsewhere.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use chiton_engine::clock::ms_since_1970;
use chiton_engine::error::StoreError;
use chiton_engine::session::difference::{Difference, Part};
use chiton_engine::session::moving::MovedIn;
use chiton_engine::session::steps::Step;
use chiton_engine::session::store::{CarriedSession, ListedSession, SessionStore, SessionValue};
use chiton_engine::state::{FoundDirectory, LeftBehind};
use serde_json::{Value, json};

use crate::messages::{complain, remark, say};
use crate::shown;
use crate::surroundings;
use crate::table::{lay_out, span};
use crate::undo::show::age;

/// How many characters of a value `show` and `diff` print in a line.
const VALUE_CHARACTERS: usize = 200;

pub(super) fn list(store: &SessionStore, json: bool) -> Result<()> {
    let mut found = Vec::new();
    for name in store.names() {
        match store.listed(&name) {
            Ok(Some(session)) => found.push(session),
            Ok(None) => {}
            // One damaged file hides no other session.
            Err(error) => complain(&error.to_string()),
        }
    }
    found.sort_by_key(|session| std::cmp::Reverse(session.changed));
    if json {
        for session in &found {
            say!("{}", as_json(store, session));
        }
        return Ok(());
    }
    if found.is_empty() {
        remark("there are no sessions; `chiton run --session NAME COMMAND` begins one");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = found.iter().map(|session| row(store, session)).collect();
    write!(io::stdout().lock(), "{}", lay_out(&["NAME", "CHANGED", "BEGAN", "HOLDS", "DIRECTORY"], &rows))?;
    Ok(())
}

fn row(store: &SessionStore, session: &ListedSession) -> Vec<String> {
    let ago = |time: SystemTime| format!("{} ago", span(time.elapsed().unwrap_or_default()));
    let directory = match home(store, &session.name) {
        Some(target) => format!("on {target}"),
        None => shown::path(&[], session.value.directory(), false),
    };
    vec![session.name.clone(), ago(session.changed), ago(session.began), holds(&session.value), directory]
}

/// The machine that a session lives on, where that is another one.
fn home(store: &SessionStore, name: &str) -> Option<String> {
    store.home(name).unwrap_or_else(|error| {
        complain(&error.to_string());
        None
    })
}

/// How much there is in a session, in a few words.
fn holds(value: &SessionValue) -> String {
    let state = value.state();
    let counts = [
        (state.variables.len(), "variable"),
        (state.functions.len(), "function"),
        (state.aliases.len(), "alias"),
        (state.shopt.len() + state.options.len(), "option"),
    ];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, what)| format!("{count} {}", plural(what, count))).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn plural(what: &str, count: usize) -> String {
    match (count, what) {
        (1, _) => what.to_owned(),
        (_, "alias") => "aliases".to_owned(),
        _ => format!("{what}s"),
    }
}

fn as_json(store: &SessionStore, session: &ListedSession) -> Value {
    let state = session.value.state();
    json!({
        "name": session.name,
        "home": home(store, &session.name),
        "directory": session.value.directory().to_string_lossy(),
        "began_ms": ms_since_1970(session.began),
        "changed_ms": ms_since_1970(session.changed),
        "variables": state.variables.len(),
        "functions": state.functions.len(),
        "aliases": state.aliases.len(),
        "options": state.shopt.len() + state.options.len(),
    })
}

fn get(store: &SessionStore, name: &str) -> Result<ListedSession> {
    Ok(store.listed(name)?.ok_or_else(|| StoreError::Missing(name.to_owned()))?)
}

pub(super) fn show(store: &SessionStore, name: &str, json: bool) -> Result<()> {
    let session = get(store, name)?;
    let steps = store.steps(name)?;
    // Everything that it holds is what differs from a shell that was just started there.
    let nothing = SessionValue::default();
    let holds: Vec<Difference> =
        nothing.differences(&session.value).into_iter().filter(|one| one.part != Part::Directory).collect();
    if json {
        let mut facts = as_json(store, &session);
        facts["holds"] = json!(holds);
        facts["steps"] = steps.iter().map(step_json).collect();
        say!("{facts}");
        return Ok(());
    }
    let directory = shown::path(&[], session.value.directory(), false);
    match home(store, name) {
        Some(target) => say!("session {name}, which lives on {target}; when it left, it was in {directory}"),
        None => say!("session {name}, in {directory}"),
    }
    for one in &holds {
        say!("  {}", in_words(one));
    }
    if steps.is_empty() {
        return Ok(());
    }
    say!("");
    let rows: Vec<Vec<String>> = steps.iter().map(step_row).collect();
    write!(io::stdout().lock(), "{}", lay_out(&["STEP", "WHEN", "CHANGED", "COMMAND"], &rows))?;
    Ok(())
}

fn step_row(step: &Step) -> Vec<String> {
    let differences = step.change.differences();
    let mut names: Vec<String> = differences.iter().take(3).map(short).collect();
    if differences.len() > names.len() {
        names.push(format!("{} more", differences.len() - names.len()));
    }
    let undone = if step.undone { "(taken back) " } else { "" };
    vec![step.number.to_string(), age(step.at_ms), names.join(", "), format!("{undone}{}", shown::line(&step.command))]
}

/// What differs, by its name alone.
fn short(one: &Difference) -> String {
    let sign = if one.after.is_none() { "-" } else { "" };
    match one.part {
        Part::Directory => "directory".to_owned(),
        Part::Umask => "umask".to_owned(),
        Part::Function => format!("{sign}{}()", shown::name(one.name.as_bytes())),
        Part::Alias => format!("{sign}alias {}", shown::name(one.name.as_bytes())),
        Part::Variable | Part::Option => format!("{sign}{}", shown::name(one.name.as_bytes())),
    }
}

/// What one thing is.
fn in_words(one: &Difference) -> String {
    let name = shown::name(one.name.as_bytes());
    match (&one.after, one.part) {
        (Some(value), Part::Variable | Part::Directory) => cut(value),
        (Some(value), Part::Function) => format!("{name}() of {} lines", value.lines().count()),
        (Some(value), Part::Alias) => format!("alias {name}={}", cut(value)),
        (Some(value), Part::Option) => format!("{name} {value}"),
        (Some(value), Part::Umask) => format!("umask {value}"),
        (None, _) => format!("unset {name}"),
    }
}

/// A value in a line that says how much of it is not shown.
fn cut(value: &str) -> String {
    let line = shown::line(value);
    let count = line.chars().count();
    if count <= VALUE_CHARACTERS {
        return line;
    }
    let first: String = line.chars().take(VALUE_CHARACTERS).collect();
    format!("{first}… ({} characters more)", count - VALUE_CHARACTERS)
}

fn step_json(step: &Step) -> Value {
    json!({
        "step": step.number,
        "at_ms": step.at_ms,
        "run_id": step.run,
        "command": step.command,
        "undone": step.undone,
        "changed": step.change.differences(),
    })
}

pub(super) fn diff(
    store: &SessionStore,
    name: &str,
    other: Option<&str>,
    number: Option<u64>,
    json: bool,
) -> Result<()> {
    let session = get(store, name)?;
    if let Some(other) = other {
        let differences = session.value.differences(&get(store, other)?.value);
        if json {
            say!("{}", json!({"from": name, "to": other, "changed": differences}));
        } else if differences.is_empty() {
            say!("{name} and {other} are the same");
        }
        if !json {
            differences.iter().for_each(tell);
        }
        return Ok(());
    }
    let steps = store.steps(name)?;
    let step = match number {
        Some(number) => steps.iter().find(|step| step.number == number).with_context(|| {
            let kept = match (steps.first(), steps.last()) {
                (Some(first), Some(last)) => format!("{} to {} are kept", first.number, last.number),
                _ => "none are kept".to_owned(),
            };
            format!("the session {name} has no step {number}; {kept}")
        })?,
        None => steps.last().with_context(|| format!("no command has changed the session {name} yet"))?,
    };
    if json {
        say!("{}", step_json(step));
        return Ok(());
    }
    let undone = if step.undone { ", taken back" } else { "" };
    say!("step {}, {}{undone}: {}", step.number, age(step.at_ms), shown::line(&step.command));
    step.change.differences().iter().for_each(tell);
    Ok(())
}

/// What one thing was and is, as a diff has it.
fn tell(one: &Difference) {
    let what = match one.part {
        Part::Directory => "directory ".to_owned(),
        Part::Umask => "umask ".to_owned(),
        Part::Option => format!("option {} ", shown::name(one.name.as_bytes())),
        Part::Alias => format!("alias {}=", shown::name(one.name.as_bytes())),
        Part::Variable | Part::Function => String::new(),
    };
    for (sign, text) in [("-", &one.before), ("+", &one.after)] {
        let Some(text) = text else { continue };
        if one.part == Part::Function {
            shown::harmless(text).lines().for_each(|line| say!("{sign} {line}"));
        } else {
            say!("{sign} {what}{}", cut(text));
        }
    }
}

pub(super) fn undo(store: &SessionStore, name: &str, count: u64, redo: bool, json: bool) -> Result<ExitCode> {
    get(store, name)?;
    store.check_is_here(name)?;
    let mut done = Vec::new();
    for _ in 0..count {
        let step = if redo { store.step_forward(name)? } else { store.step_back(name)? };
        match step {
            Some(step) => done.push(step),
            None => break,
        }
    }
    let now = get(store, name)?;
    if json {
        let steps: Vec<Value> = done.iter().map(step_json).collect();
        say!("{}", json!({"name": name, "directory": now.value.directory().to_string_lossy(), "steps": steps}));
    } else {
        let (verb, none) = if redo { ("did again", "do again") } else { ("took back", "take back") };
        for step in &done {
            say!("{verb} step {}: {}", step.number, shown::line(&step.command));
        }
        if done.is_empty() {
            complain(&format!("there is nothing to {none} in the session {name}"));
        } else {
            say!("session {name} is in {}", shown::path(&[], now.value.directory(), false));
        }
    }
    Ok(if done.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

pub(super) fn fork(store: &SessionStore, name: &str, new: &str) -> Result<()> {
    store.check_is_here(name)?;
    store.fork(name, new)?;
    say!("session {new} starts as {name} is now; `chiton run --session {new} COMMAND` goes on there");
    Ok(())
}

/// What of a session means something on another machine.
pub(super) fn export_to_move(store: &SessionStore, name: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, &store.carry_to_move(name, &home_directory()?)?)?;
    writeln!(stdout)?;
    Ok(())
}

pub(crate) fn home_directory() -> Result<PathBuf> {
    surroundings::home().context("HOME is not set, or not to an absolute path")
}

pub(super) fn export(store: &SessionStore, name: &str, bash: bool) -> Result<()> {
    store.check_is_here(name)?;
    let mut stdout = io::stdout().lock();
    if bash {
        stdout.write_all(&get(store, name)?.value.as_script())?;
    } else {
        serde_json::to_writer_pretty(&mut stdout, &store.carry(name)?)?;
        writeln!(stdout)?;
    }
    Ok(())
}

/// Takes in a session that has moved here, and says where it goes on.
pub(super) fn import_moved(store: &SessionStore, file: &Path, name: Option<&str>, json: bool) -> Result<()> {
    take_in_moved(store, read_carried(file)?, name, json)
}

/// The same of one that was read.
pub(crate) fn take_in_moved(
    store: &SessionStore,
    carried: CarriedSession,
    name: Option<&str>,
    json: bool,
) -> Result<()> {
    let name = name.map_or_else(|| carried.name.clone(), ToOwned::to_owned);
    let (was, left) = (carried.value().directory().to_owned(), carried.left_behind().to_vec());
    let start = surroundings::working_directory()?;
    let MovedIn { directory, found } = store.take_in_moved(&name, carried, &home_directory()?, &start)?;
    if json {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        say!(
            "{}",
            json!({"name": name, "directory": path(&directory), "found": found, "was": path(&was), "left_behind": left})
        );
        return Ok(());
    }
    say!("session {name} is here, in {}", shown::path(&[], &directory, false));
    if found == FoundDirectory::Start {
        remark(&format!(
            "its directory {} is not there, so it starts where new ones do",
            shown::path(&[], &was, false)
        ));
    }
    for LeftBehind { name, kept, why } in left {
        let what = if kept { "came along" } else { "stayed behind" };
        remark(&format!("{} {what}: it {why}", shown::name(name.as_bytes())));
    }
    Ok(())
}

pub(super) fn import(store: &SessionStore, file: &Path, name: Option<&str>) -> Result<()> {
    let carried = read_carried(file)?;
    let name = name.map_or_else(|| carried.name.clone(), ToOwned::to_owned);
    let directory = carried.value().directory().to_owned();
    store.take_in(&name, carried)?;
    say!("session {name} is here; `chiton run --session {name} COMMAND` goes on there");
    if !directory.is_dir() {
        remark(&format!(
            "its directory {} is not there: its first command will say so, and where it would run instead",
            shown::path(&[], &directory, false)
        ));
    }
    Ok(())
}

/// A session as `export` has written it.
fn read_carried(file: &Path) -> Result<CarriedSession> {
    let (text, from) = if file.as_os_str() == "-" {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text)?;
        (text, "standard input".to_owned())
    } else {
        (fs::read(file).with_context(|| file.display().to_string())?, file.display().to_string())
    };
    let read = || {
        let value: Value = serde_json::from_slice(&text)?;
        ensure!(value["chiton_session"].is_u64(), "it has no number `chiton_session`");
        Ok(serde_json::from_value::<CarriedSession>(value)?)
    };
    read().with_context(|| format!("{from} is not a session as `chiton session export` writes it"))
}

pub(super) fn remove(store: &SessionStore, names: &[String]) -> Result<ExitCode> {
    let mut is_whole = true;
    for name in names {
        if store.remove(name)? {
            say!("session {name} is forgotten");
        } else {
            is_whole = false;
            complain(&StoreError::Missing(name.clone()).to_string());
        }
    }
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
