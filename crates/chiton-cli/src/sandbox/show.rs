//! `chiton sandbox list` and `chiton sandbox show`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use chiton_engine::sandbox::policy::{MissingLayer, NetworkPolicy, SandboxPolicy, UndoPolicy};
use serde_json::{Map, Value as Json, json};

use super::arguments::{Choice, ChosenBy, around};
use super::entry::Key;
use super::groups::{GROUPS, Group};
use super::paths::shown;
use super::profiles::{self, BUILT_IN, Composed, OFF, WORK};
use super::settle::{self, Settled, SettledEntry, settle};
use super::undo;
use super::workspace::Workspace;
use crate::messages::{put, say};
use crate::sandbox_settings::SandboxSettings;
use crate::settings::Settings;
use crate::surroundings;
use crate::table::lay_out;

/// How a policy is printed.
pub(super) enum Form {
    /// As the library reads it.
    Policy,
    Json,
    Text {
        /// Also what is not there yet.
        all: bool,
    },
}

pub(super) fn list(settings: &SandboxSettings, json: bool) {
    let about = |name: &str| {
        let row = BUILT_IN.iter().find(|row| row.name == name);
        match (settings.profiles.get(name), row) {
            (Some(own), _) => {
                let base = own.extends.as_deref().unwrap_or(if row.is_some() { name } else { WORK });
                format!("of the settings, extends {base}")
            }
            (None, Some(row)) => row.about.to_owned(),
            (None, None) => "no sandbox: commands run with all your rights".to_owned(),
        }
    };
    let named = settings.profile.as_deref();
    let names = profiles::names(settings);
    // What is wrong with a profile was said when the settings were read.
    let undo = |name: &str| profiles::compose(settings, name).ok().flatten().map(|profile| profile.undo);
    if json {
        let row = |name: &&str| {
            let undo = undo(name).map(undo::word);
            json!({"name": name, "about": about(name), "undo": undo, "named_by_settings": named == Some(*name)})
        };
        say!("{}", Json::Array(names.iter().map(row).collect()));
        return;
    }
    let mark = |name: &str| if named == Some(name) { format!("{name} *") } else { name.to_owned() };
    let otherwise = |name: &str| match undo(name) {
        None | Some(UndoPolicy::Keep) => String::new(),
        Some(policy) => format!("; undo: {}", undo::word(policy)),
    };
    let rows: Vec<Vec<String>> = names.iter().map(|name| vec![mark(name), about(name) + &otherwise(name)]).collect();
    put(format_args!("{}", lay_out(&["NAME", "COMMANDS"], &rows)));
    if named.is_some() {
        say!("\n* named by the settings");
    }
    let lists = |group: &Group| group.keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(", ");
    let group = |group: &Group| vec![group.name.to_owned(), lists(group), group.about.to_owned()];
    let rows: Vec<Vec<String>> = GROUPS.iter().map(group).collect();
    put(format_args!("\n{}", lay_out(&["GROUP", "FOR", "STANDS FOR"], &rows)));
}

/// A profile as it is here.
pub(super) struct Here {
    pub(super) profile: Composed,
    pub(super) settled: Settled,
    choice: Choice,
}

/// Settles the profile of this name for the current directory; `None` is `off`.
pub(super) fn here(name: Option<&str>, added: &[PathBuf], settings: &Settings, state: &Path) -> Result<Option<Here>> {
    let given = name.or(settings.sandbox.profile.as_deref());
    let by = if given.is_some() { ChosenBy::Person } else { ChosenBy::Default };
    let choice = Choice { name: given.unwrap_or(WORK).to_owned(), by };
    let Some(profile) = profiles::compose(&settings.sandbox, &choice.name)? else { return Ok(None) };
    let directory = surroundings::working_directory()?;
    let workspace = Workspace::find(&directory, &[], added, surroundings::home().as_deref())?;
    let settled = settle(&profile, choice.missing(&profile), &workspace, &around(settings, state, &workspace))?;
    Ok(Some(Here { profile, settled, choice }))
}

pub(super) fn show(name: Option<&str>, added: &[PathBuf], form: Form, settings: &Settings, state: &Path) -> Result<()> {
    let here = here(name, added, settings, state)?;
    match (here, form) {
        (None, Form::Policy) => say!("null"),
        (Some(here), Form::Policy) => say!("{}", serde_json::to_string(&here.settled.policy)?),
        (None, Form::Json) => say!("{}", json!({"profile": OFF, "sandbox": false})),
        (None, Form::Text { .. }) => say!("profile off: no sandbox; commands run with all your rights"),
        (Some(here), Form::Json) => say!("{}", as_json(&here)),
        (Some(here), Form::Text { all }) => put(format_args!("{}", as_text(&here, all))),
    }
    Ok(())
}

fn missing_word(missing: MissingLayer) -> &'static str {
    match missing {
        MissingLayer::Refuse => "refuse",
        MissingLayer::Say => "say",
    }
}

fn as_json(here: &Here) -> Json {
    let Here { profile, settled, choice } = here;
    let entry = |entry: &SettledEntry| {
        json!({
            "value": entry.value.shown(None),
            "from": entry.entry,
            "profile": entry.profile,
            "why": entry.why,
        })
    };
    let mut object = Map::new();
    object.insert("profile".into(), settled.policy.profile.clone().into());
    object.insert("named".into(), (choice.by == ChosenBy::Person).into());
    object.insert("workspace".into(), json!(settled.policy.workspace));
    for key in Key::ALL {
        let of_key = settled.entries.iter().filter(|entry| entry.key == key);
        object.insert(key.name().into(), of_key.map(entry).collect());
    }
    let network = match settled.policy.network {
        NetworkPolicy::Open => "open",
        NetworkPolicy::Named(_) => "named",
        NetworkPolicy::Off => "off",
    };
    object.insert("reaches".into(), network.into());
    let limits = settle::limits(profile, &settled.policy);
    let limit = |(name, value, from): &(super::LimitName, u64, &str)| {
        (name.key().to_owned(), json!({"value": value, "profile": from}))
    };
    object.insert("limits".into(), Json::Object(limits.iter().map(limit).collect()));
    object.insert("missing".into(), missing_word(settled.policy.missing).into());
    object.insert("undo".into(), undo::word(settled.policy.undo).into());
    object.insert("undo_in".into(), json!(settled.policy.kept_roots()));
    object.insert("notes".into(), json!(settled.notes));
    Json::Object(object)
}

/// What each list means, in words.
fn heading(key: Key) -> &'static str {
    match key {
        Key::Write => "write: may be changed, with everything in it",
        Key::Hide => "hide: looks empty",
        Key::Keep => "keep: may be read, and not be changed or made",
        Key::Network => "network: may be reached",
        Key::Sockets => "sockets: may be connected to",
        Key::Expose => "expose: ports that are reachable from outside",
    }
}

fn undo_as_text(policy: &SandboxPolicy, home: Option<&Path>) -> String {
    let mut text = format!("\nundo: {} (undo = \"{}\")\n", undo::about(policy.undo), undo::word(policy.undo));
    for root in policy.kept_roots() {
        text.push_str(&format!("  {}\n", shown(&root, home)));
    }
    if policy.undo.keeps() && policy.kept_roots().is_empty() {
        text.push_str("  nowhere: no folder of the workspace may be changed\n");
    }
    text
}

fn as_text(here: &Here, all: bool) -> String {
    let Here { profile, settled, choice } = here;
    let policy = &settled.policy;
    let home = surroundings::home();
    let missing = match policy.missing {
        MissingLayer::Refuse => "where a layer is missing, nothing is run",
        MissingLayer::Say => "where a layer is missing, the reply says so",
    };
    let mut text = format!("profile {}; {missing} (missing = \"{}\")\n", policy.profile, missing_word(policy.missing));
    if choice.by == ChosenBy::Default {
        text.push_str(
            "Nobody names a profile, so commands run without one; --sandbox or [sandbox] profile names it.\n",
        );
    }
    for key in Key::ALL {
        let of_key: Vec<&SettledEntry> = settled.entries.iter().filter(|entry| entry.key == key).collect();
        if of_key.is_empty() && key == Key::Expose {
            continue;
        }
        text.push_str(&format!("\n{}\n", heading(key)));
        let is_there = |entry: &&&SettledEntry| match &entry.value {
            settle::Value::Path(path) => all || std::fs::symlink_metadata(path).is_ok(),
            _ => true,
        };
        let there: Vec<&&SettledEntry> = of_key.iter().filter(is_there).collect();
        let width = there.iter().map(|entry| entry.value.shown(home.as_deref()).chars().count()).max().unwrap_or(0);
        for entry in &there {
            let value = entry.value.shown(home.as_deref());
            let from = if entry.profile == "built in" {
                entry.entry.clone()
            } else {
                format!("{}, {}", entry.entry, entry.profile)
            };
            let why = if entry.why.is_empty() { String::new() } else { format!(": {}", entry.why) };
            text.push_str(&format!("  {value:width$}  {from}{why}\n", width = width.min(48)));
        }
        match of_key.len() - there.len() {
            0 if of_key.is_empty() => text.push_str("  nothing\n"),
            0 => {}
            count => text.push_str(&format!("  and {count} that are not there now; --all shows them\n")),
        }
    }
    text.push_str(&undo_as_text(policy, home.as_deref()));
    text.push_str("\nlimits\n");
    for (name, value, from) in settle::limits(profile, policy) {
        text.push_str(&format!("  {:12}{}  {from}\n", name.key(), name.shown(value)));
    }
    if !settled.notes.is_empty() {
        text.push('\n');
    }
    settled.notes.iter().for_each(|note| text.push_str(&format!("note: {note}\n")));
    text
}
