//! `chiton sandbox allow` and `deny`: one line of the settings, with everything else in the file left as it is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

use super::entry::{self, Key};
use super::paths::{real, shown};
use super::profiles::{BUILT_IN, OFF, WORK, is_open};
use super::settle::{SettledEntry, Value};
use super::show::{Here, here};
use super::workspace::too_wide;
use crate::messages::{put, remark};
use crate::person;
use crate::settings::{self, Settings};
use crate::setup::file::{SettingsFile, WriteResult};
use crate::setup::preview::difference;
use crate::surroundings;

/// What is allowed or no longer allowed.
#[derive(Args)]
pub(crate) struct ChangeArguments {
    /// What commands may do with it
    #[arg(value_enum)]
    what: What,
    /// A path, or for network the name of a host, perhaps with a port: NAME:PORT
    entry: String,
    /// The profile [default: the one that the settings name, or work]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Show what would change in the settings, and change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Change a file, or a folder with everything in it
    Write,
    /// Read what is hidden
    Read,
    /// Reach a host
    Network,
    /// Connect to a Unix socket
    Socket,
}

impl What {
    fn key(self) -> Key {
        match self {
            Self::Write => Key::Write,
            Self::Read => Key::Hide,
            Self::Network => Key::Network,
            Self::Socket => Key::Sockets,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Allow,
    Deny,
}

pub(super) fn change(wanted: &ChangeArguments, direction: Direction, settings: &Settings, state: &Path) -> Result<()> {
    if !wanted.dry_run {
        // What an agent may do is not the agent's to say.
        person::required("changes the sandbox")?;
    }
    let name = wanted.profile.as_deref().or(settings.sandbox.profile.as_deref()).unwrap_or(WORK);
    ensure!(name != OFF, "the profile is off, which allows everything: name another one with --profile");
    let text = written(wanted)?;
    let here = here(Some(name), &[], settings, state)?.context("the profile is off")?;
    if direction == Direction::Allow
        && let Some(already) = already(wanted.what, &text, &here)?
    {
        remark(&already);
        return Ok(());
    }
    // To read what is hidden is to take it out of what is hidden.
    let entry = if wanted.what == What::Read { format!("!{text}") } else { text };
    let key = wanted.what.key();
    entry::check(key, &entry)?;

    let path =
        settings.file.clone().or_else(settings::usual_file).context("there is no home directory for settings")?;
    let file = SettingsFile::read(&path)?;
    let before = file.text().unwrap_or_default();
    let after = edited(before, name, key, &entry, direction).with_context(|| path.display().to_string())?;
    let Some(after) = after else {
        bail!(
            "{} of the profile {name} has no '{entry}' in {}{}",
            key.name(),
            path.display(),
            origin(&entry, key, &here)
        );
    };
    settings::parse(&after, super::check).with_context(|| format!("{} would not be right any more", path.display()))?;
    put(format_args!("{}\n{}", path.display(), difference(before, &after)));
    if wanted.dry_run {
        remark("nothing was changed");
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    ensure!(file.replace(&after)? == WriteResult::Done, "{} has changed meanwhile; try again", path.display());
    remark("running servers take it at their next start");
    Ok(())
}

/// The entry as it is written into the settings.
fn written(wanted: &ChangeArguments) -> Result<String> {
    if wanted.what == What::Network {
        let rule = super::hosts::parse(&wanted.entry)?;
        return Ok(super::hosts::shown(&rule));
    }
    let home = surroundings::home();
    if wanted.entry.starts_with('@') || wanted.entry.starts_with('~') {
        return Ok(wanted.entry.trim_end_matches('/').to_owned());
    }
    let path = std::path::absolute(&wanted.entry)?;
    let path: PathBuf = path.components().collect();
    Ok(shown(&path, home.as_deref()))
}

fn rooted(text: &str) -> PathBuf {
    match (text.strip_prefix('~'), surroundings::home()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

/// Says so where an entry is allowed already; an error where it cannot be.
fn already(what: What, text: &str, here: &Here) -> Result<Option<String>> {
    let path = real(&rooted(text));
    let entries = || here.settled.entries.iter().filter(|entry| entry.key == what.key());
    let place = |entry: &SettledEntry| if let Value::Path(path) = &entry.value { Some(path.clone()) } else { None };
    let over = |entry: &&SettledEntry| place(entry).is_some_and(|place| path.starts_with(place));
    match what {
        What::Network => {
            let open = is_open(here.profile.steps(Key::Network));
            Ok(open.then(|| "the network of this profile is open already".to_owned()))
        }
        What::Read => {
            if text.starts_with('@')
                || entries()
                    .any(|entry| place(entry).is_some_and(|place| place.starts_with(&path) && entry.entry != "always"))
            {
                return Ok(None);
            }
            match entries().find(over) {
                Some(entry) if entry.entry == "always" => bail!("{text} is Chiton's own, which is always hidden"),
                Some(entry) => {
                    let whole = entry.value.shown(surroundings::home().as_deref());
                    bail!(
                        "{whole} is hidden as a whole ({}), so {text} alone cannot be shown: allow read {whole}",
                        entry.entry
                    )
                }
                None => Ok(Some(format!("nothing hides {text}"))),
            }
        }
        What::Write | What::Socket => {
            let home = surroundings::home().as_deref().map(real);
            if let Some(wide) = too_wide(&path, home.as_deref()) {
                bail!("{text} is {wide}: that would be no sandbox, and --sandbox off says so");
            }
            // What the current directory happens to allow is another matter.
            let found = entries().filter(|entry| !entry.entry.starts_with("@workspace")).find(over);
            Ok(found.map(|entry| format!("{text} is allowed already: {}", entry.entry)))
        }
    }
}

/// Where an entry comes from that is not in the settings.
fn origin(entry: &str, key: Key, here: &Here) -> String {
    let path = real(&rooted(entry.trim_start_matches('!')));
    let from = here.settled.entries.iter().find(|found| found.key == key && found.value == Value::Path(path.clone()));
    let from = from.filter(|_| !entry.starts_with('!'));
    from.map_or_else(String::new, |from| {
        format!("; it comes from {}, and \"!{entry}\" there takes it away", from.entry)
    })
}

/// The text with an entry more or less; `None` where there is none to take away, or it is there already.
pub(super) fn edited(text: &str, profile: &str, key: Key, entry: &str, direction: Direction) -> Result<Option<String>> {
    let mut document: DocumentMut = text.parse()?;
    match direction {
        Direction::Allow => {
            let table = inner(inner(inner(document.as_table_mut(), "sandbox")?, "profiles")?, profile)?;
            table.set_implicit(false);
            add(table, key, entry)?;
        }
        Direction::Deny => {
            let Some(profiles) = document.get_mut("sandbox").and_then(|item| item.get_mut("profiles")) else {
                return Ok(None);
            };
            let Some(table) = profiles.get_mut(profile).and_then(Item::as_table_like_mut) else { return Ok(None) };
            if !remove(table, key, entry) {
                return Ok(None);
            }
            // A profile of a person may be named elsewhere, so it stays also where it says nothing.
            if table.is_empty() && BUILT_IN.iter().any(|row| row.name == profile) {
                profiles.as_table_like_mut().map(|profiles| profiles.remove(profile));
            }
        }
    }
    Ok(Some(document.to_string()).filter(|after| after != text))
}

/// The table of this name, made where there is none.
fn inner<'a>(table: &'a mut Table, name: &str) -> Result<&'a mut Table> {
    let fresh = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let item = table.entry(name).or_insert_with(fresh);
    item.as_table_mut()
        .with_context(|| format!("'{name}' is written in one line; write it as a table of its own, [sandbox…]"))
}

fn add(table: &mut Table, key: Key, entry: &str) -> Result<()> {
    let was_there = table.contains_key(key.name());
    let item = table.entry(key.name()).or_insert_with(|| Item::Value(Array::new().into()));
    let list = item.as_array_mut().with_context(|| format!("{} is not a list", key.name()))?;
    // What was taken away before is given back by taking that away.
    let opposite = opposite(entry);
    if let Some(at) = place_of(list, &opposite) {
        list.remove(at);
        if list.is_empty() {
            table.remove(key.name());
        }
        return Ok(());
    }
    if place_of(list, entry).is_some() {
        return Ok(());
    }
    // An empty list means nothing; one with an entry would add to what is extended.
    if was_there && list.is_empty() {
        list.push("!*");
    }
    let decor = list.iter().last().map(|last| last.decor().clone());
    list.push(entry);
    let is_lines =
        decor.as_ref().and_then(|decor| decor.prefix()?.as_str()).is_some_and(|prefix| prefix.contains('\n'));
    if let (true, Some(decor), Some(last)) = (is_lines, decor, list.iter_mut().last()) {
        // Not a comment that stands before the entry above.
        let prefix = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let indent = prefix.rsplit('\n').next().unwrap_or_default();
        last.decor_mut().set_prefix(format!("\n{indent}"));
    }
    Ok(())
}

fn opposite(entry: &str) -> String {
    entry.strip_prefix('!').map_or_else(|| format!("!{entry}"), str::to_owned)
}

fn place_of(list: &Array, entry: &str) -> Option<usize> {
    list.iter().position(|value| value.as_str() == Some(entry))
}

fn remove(table: &mut dyn TableLike, key: Key, entry: &str) -> bool {
    let Some(list) = table.get_mut(key.name()).and_then(Item::as_array_mut) else { return false };
    let Some(at) = place_of(list, entry) else { return false };
    let removed = list.remove(at);
    if let (0, Some(first)) = (at, list.iter_mut().next()) {
        *first.decor_mut() = removed.decor().clone();
    }
    // An empty list would mean nothing, instead of what is extended.
    if list.is_empty() {
        table.remove(key.name());
    }
    true
}
