//! What setup says: what it did, what comes next, how to undo it.

use super::client::{Approval, Client, Switch, Trust};
use super::connection::{Connection, TOKEN_VARIABLE, Token};
use super::format::SettingValue;
use super::job::{CopyPlan, EntryChange, FileChange, Job, OwnShell, Scope, Wish};
use super::preview;
use crate::messages::say;

/// What happened to the files.
pub(super) fn say_what_was_done(job: &Job, wish: &Wish, changes: &[FileChange]) {
    let (client, name) = (job.client.name, job.name);
    if !changes.iter().any(FileChange::is_change) {
        return say_nothing_to_do(job, Purpose::SetUp);
    }
    for change in changes {
        let file = change.path.display();
        let place = if change.file.text().is_some() { format!("{file}") } else { format!("the new file {file}") };
        match change.entry {
            EntryChange::Added => say!("{client}: '{name}' added to {place}"),
            EntryChange::Changed => say!("{client}: '{name}' changed in {place}"),
            EntryChange::Untouched | EntryChange::Removed => {}
        }
        if matches!(change.entry, EntryChange::Added | EntryChange::Changed) {
            match &wish.connection {
                Connection::Program(launch) => say!("  runs: {} {}", launch.command, launch.arguments.join(" ")),
                Connection::Server(server) => say!("  url: {}", server.url),
            }
        }
        for setting in &change.settings {
            let key = setting.name();
            match &setting.value {
                SettingValue::Items(items) => say!("{client}: {} added to {key} in {place}", items.join(", ")),
                SettingValue::Text(text) => say!("{client}: {key} is '{text}' in {place}"),
                SettingValue::No => say!("{client}: {key} is off in {place}"),
            }
        }
        if change.is_change() && change.file.text().is_some() {
            say!("  copy: {}", change.file.backup().display());
        }
    }
}

/// What is left to do.
pub(super) fn say_what_comes_next(job: &Job, wish: &Wish, token_file: &str) {
    let client = job.client;
    say!("  next: {}", client.next);
    match (&client.trust, job.scope) {
        (Trust::Always(words), _) | (Trust::InProjects(words), Scope::Project) => say!("  next: {words}"),
        _ => {}
    }
    if let Connection::Server(server) = &wish.connection
        && server.token == Token::Variable
    {
        say!("  next: start {} where this is set: export {TOKEN_VARIABLE}=\"$(cat {token_file})\"", client.title);
    }
    if let Some(words) = about_calls(job, wish.approval) {
        say!("  next: {words}");
    }
    if let Some(words) = about_shell(job, wish.shell) {
        say!("  next: {words}");
    }
    say!("  undo: chiton setup {}{} --undo", client.name, options(job));
}

fn options(job: &Job) -> String {
    let project = if job.scope == Scope::Project { " --project" } else { "" };
    let name = if job.name == "chiton" { String::new() } else { format!(" --name {}", job.name) };
    format!("{project}{name}")
}

fn about_calls(job: &Job, approval: Approval) -> Option<String> {
    let Client { title, name, asks, approve, .. } = job.client;
    let by_hand = |words: &str| words.replace("{server}", job.name);
    match (approval, approve) {
        (Approval::Asked, Switch::Field(..) | Switch::Settings(..)) => Some(format!(
            "{title} {asks}; `chiton setup {name}{} --approve` lets it call Chiton's tools, whose guard still asks",
            options(job)
        )),
        (Approval::Asked, Switch::ByHand(words)) => Some(format!("{title} {asks}: {}", by_hand(words))),
        (Approval::Given, Switch::ByHand(words)) => {
            Some(format!("--approve changed nothing, {title} has no file for that: {}", by_hand(words)))
        }
        (Approval::Given, Switch::Settings(_, note)) => note.map(str::to_owned),
        (Approval::Given, Switch::Needless(words)) => Some(format!("--approve changed nothing: {title} {words}")),
        (Approval::Given, Switch::Field(..)) | (Approval::Asked, Switch::Needless(_)) => None,
    }
}

fn about_shell(job: &Job, shell: OwnShell) -> Option<String> {
    let Client { title, name, replace, .. } = job.client;
    match (shell, replace) {
        (OwnShell::Stays, Switch::Field(..) | Switch::Settings(..)) => Some(format!(
            "{title} keeps its own shell beside Chiton; `chiton setup {name}{} --replace` switches it off",
            options(job)
        )),
        (OwnShell::Stays, Switch::ByHand(words)) => {
            Some(format!("{title} keeps its own shell beside Chiton; to be without it: {words}"))
        }
        (OwnShell::SwitchedOff, Switch::ByHand(words)) => {
            Some(format!("the shell of {title} cannot be switched off by a file: {words}"))
        }
        (OwnShell::SwitchedOff, Switch::Settings(_, note)) => note.map(str::to_owned),
        (OwnShell::SwitchedOff, Switch::Needless(words)) => Some(format!("--replace changed nothing: {title} {words}")),
        (OwnShell::SwitchedOff, Switch::Field(..)) | (OwnShell::Stays, Switch::Needless(_)) => None,
    }
}

/// What undo did.
pub(super) fn say_what_was_undone(job: &Job, changes: &[FileChange]) {
    let client = job.client.name;
    let mut did_something = false;
    for change in changes {
        let file = change.path.display();
        did_something |= change.is_change();
        if change.after.is_none() && change.is_change() {
            say!("{client}: removed {file}, which held nothing else");
            continue;
        }
        if change.entry == EntryChange::Removed {
            say!("{client}: '{}' taken out of {file}", job.name);
        }
        for setting in &change.settings {
            say!("{client}: {} in {file} is as it was", setting.name());
        }
        if change.is_change() && change.copy == CopyPlan::Left && change.file.backup().exists() {
            say!("  copy: {} stays; remove it if you do not need it", change.file.backup().display());
        }
    }
    if did_something {
        say!("  next: restart {}", job.client.title);
    } else {
        say_nothing_to_do(job, Purpose::Undo);
    }
}

/// What setup was called for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    SetUp,
    Undo,
}

fn say_nothing_to_do(job: &Job, purpose: Purpose) {
    let (client, file) = (job.client.name, job.path.display());
    match purpose {
        Purpose::SetUp => say!("{client}: already set up in {file}; nothing was changed"),
        Purpose::Undo => say!("{client}: '{}' is not in {file}; nothing was changed", job.name),
    }
}

/// What would change.
pub(super) fn preview(job: &Job, changes: &[FileChange], purpose: Purpose) {
    let client = job.client.name;
    if !changes.iter().any(FileChange::is_change) {
        return say_nothing_to_do(job, purpose);
    }
    for change in changes.iter().filter(|change| change.is_change()) {
        let file = change.path.display();
        match &change.after {
            Some(after) => {
                say!("{client}: this would change in {file}");
                let before = change.file.text().unwrap_or_default();
                crate::messages::put(format_args!("{}", preview::difference(before, after)));
            }
            None => say!("{client}: {file} would be removed; it holds nothing else"),
        }
    }
    say!("nothing was changed: this was a dry run");
}
