//! `chiton changes`: what commands did to files, and whether it can be undone.

use std::fs::{self, OpenOptions};
use std::io::{IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use chiton_engine::changes::{ChangeLog, FileChange, FormerContent};
use chiton_engine::run::ChangeKind;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use serde_json::{Value, json};

use crate::diff;
use crate::messages::{put, remark, say};
use crate::shown;
use crate::table::{lay_out, leave_out};
use crate::undo;
use crate::undo::naming::Known;
use crate::undo::show::{age, counts, title};

/// How many commands are listed, where nobody says how many.
const COMMANDS: usize = 20;
/// And how many files of one.
const FILES: usize = 200;
/// Bytes of a file that are compared. More would be nothing to read.
const MOST_COMPARED: u64 = 1 << 20;

/// Columns that a narrow terminal has no room for, the first first. `--json` has them all.
const SPARE: &[&str] = &["WORKSPACE", "SINCE"];

/// List what commands did to files, and what of that can be undone
#[derive(Args)]
#[command(after_help = "\
Without an id, the commands that changed files of their workspace, the newest first. With one, every file that it made,
changed or removed, as it left it; --diff compares what was there before with what is there now. `chiton undo` undoes it.

State: undone (by what), half undone (an undoing was interrupted, and the same `chiton undo` goes on with it), running
(it may change more), undoes (it is an undoing itself).

Examples:
  chiton changes                              what can be undone
  chiton changes shell_1a2b                   the files
  chiton changes shell_1a2b --diff            what is different in them
  chiton changes shell_1a2b --skip 200        the next files of a long list
  chiton changes --limit 0 --json             everything, one JSON object a line")]
pub(crate) struct ChangesArguments {
    /// A command, by its id or a beginning of it that no other has
    #[arg(add = ArgValueCandidates::new(undo::known_ids))]
    id: Option<String>,
    /// Show what is different in the files
    #[arg(long, requires = "id", conflicts_with = "json")]
    diff: bool,
    /// Print JSON: one object a command, one a line; with an id, one object with its files
    #[arg(long)]
    json: bool,
    /// List so many at most; 0 is all [default: 20 commands, 200 files, all in JSON]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Leave out so many at the beginning
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    skip: usize,
}

pub(crate) fn changes(arguments: &ChangesArguments, state: &Path) -> Result<ExitCode> {
    let known = Known::new(state);
    match &arguments.id {
        None => list(arguments, &known)?,
        Some(word) => one(arguments, &known, &known.one(word)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl ChangesArguments {
    /// The part of a list that is wanted, and how many follow.
    fn part<'a, Item>(&self, all: &'a [Item], usual: usize) -> (&'a [Item], usize) {
        let usual = if self.json { usize::MAX } else { usual };
        let limit = self.limit.map_or(usual, |limit| if limit == 0 { usize::MAX } else { limit });
        let begin = self.skip.min(all.len());
        let end = begin.saturating_add(limit).min(all.len());
        (&all[begin..end], all.len() - end)
    }

    fn say_rest(&self, shown: usize, rest: usize) {
        if rest > 0 && !self.json {
            remark(&format!("{rest} more; --skip {} goes on, --limit 0 lists all", self.skip + shown));
        }
    }
}

fn list(arguments: &ChangesArguments, known: &Known) -> Result<()> {
    let logs = known.logs.all();
    let (part, rest) = arguments.part(&logs, COMMANDS);
    if arguments.json {
        for log in part {
            say!("{}", as_json(log));
        }
        return Ok(());
    }
    if logs.is_empty() {
        remark("no command is known to have changed files; those that run in a sandbox are watched");
        return Ok(());
    }

    let mut heads = vec!["ID", "SINCE", "FILES", "STATE", "WORKSPACE", "COMMAND"];
    let mut rows: Vec<Vec<String>> = part.iter().map(row).collect();
    if part.iter().all(|log| log.roots == part[0].roots) {
        let place = heads.len() - 2;
        heads.remove(place);
        for row in &mut rows {
            row.remove(place);
        }
    }
    leave_out(SPARE, &mut heads, &mut rows);
    write!(std::io::stdout().lock(), "{}", lay_out(&heads, &rows))?;
    arguments.say_rest(part.len(), rest);
    Ok(())
}

fn row(log: &ChangeLog) -> Vec<String> {
    let workspace = log.roots.first().map(|root| shown::path(&[], root, false)).unwrap_or_default();
    let command = log.command.as_deref().map(shown::line).unwrap_or_default();
    vec![log.id.clone(), age(log.began_ms), counts(&log.changed), state(log), workspace, command]
}

/// What became of it since.
fn state(log: &ChangeLog) -> String {
    match log {
        ChangeLog { undone: Some(by), .. } => format!("undone by {by}"),
        ChangeLog { undoing: Some(by), .. } => format!("half undone by {by}"),
        ChangeLog { is_running: true, .. } => "running".to_owned(),
        ChangeLog { undoes: Some(id), .. } => format!("undoes {id}"),
        _ => "-".to_owned(),
    }
}

fn as_json(log: &ChangeLog) -> Value {
    let mut facts = json!(log);
    facts["workspace"] = log.roots.iter().map(|root| root.to_string_lossy()).collect();
    facts
}

fn one(arguments: &ChangesArguments, known: &Known, log: &ChangeLog) -> Result<()> {
    let (roots, files) = known.logs.files(&log.id)?;
    let (part, rest) = arguments.part(&files, FILES);
    if arguments.json {
        let mut facts = as_json(log);
        facts["files"] = part.iter().map(|change| file_as_json(&roots, change)).collect();
        facts["left_out"] = json!(files.len() - part.len());
        say!("{facts}");
        return Ok(());
    }

    if !arguments.diff {
        say!("{}", title(log));
        say!(
            "{}{}",
            counts(&log.changed),
            match state(log).as_str() {
                "-" => String::new(),
                state => format!("; {state}"),
            }
        );
    }
    for change in part {
        let name = shown::path(&roots, &change.path, change.is_folder);
        if arguments.diff {
            put(format_args!("{}", difference(change, &name)));
        } else {
            say!("  {:8} {name}", change.kind.word());
        }
    }
    arguments.say_rest(part.len(), rest);
    Ok(())
}

fn file_as_json(roots: &[PathBuf], change: &FileChange) -> Value {
    let inside = roots.iter().find_map(|root| change.path.strip_prefix(root).ok());
    json!({
        "path": inside.unwrap_or(&change.path).to_string_lossy(),
        "kind": change.kind,
        "is_folder": change.is_folder,
        "is_kept": !matches!(&change.former, FormerContent::Unknown),
    })
}

/// What is in a file, or was.
enum Content {
    /// There is none.
    Nothing,
    Bytes(Vec<u8>),
    /// Nobody can tell, for this reason.
    Unknown(String),
}

/// How a file differs from what it was.
fn difference(change: &FileChange, name: &str) -> String {
    if change.is_folder {
        return format!("folder {name} was {}\n", change.kind.word());
    }
    let before = match &change.former {
        FormerContent::Nothing => Content::Nothing,
        FormerContent::Same => Content::Bytes(Vec::new()),
        FormerContent::In(path) => read(path),
        FormerContent::Unknown => Content::Unknown("its former content is not kept, or is the same".to_owned()),
    };
    let after = if change.kind == ChangeKind::Removed { Content::Nothing } else { read(&change.path) };
    let said = |why: &str| format!("{name} was {}: {why}\n", change.kind.word());
    let (old_name, new_name) = (format!("a/{name}"), format!("b/{name}"));
    let text = match (before, after) {
        (Content::Unknown(why), _) | (_, Content::Unknown(why)) => return said(&why),
        (Content::Nothing, Content::Nothing) => return said("nothing is there any more"),
        (Content::Nothing, Content::Bytes(new)) if new.is_empty() => return said("it is empty"),
        (Content::Bytes(old), Content::Nothing) if old.is_empty() => return said("it was empty"),
        (Content::Nothing, Content::Bytes(new)) => diff::unified(&[], &new, "/dev/null", &new_name),
        (Content::Bytes(old), Content::Nothing) => diff::unified(&old, &[], &old_name, "/dev/null"),
        (Content::Bytes(old), Content::Bytes(new)) if old == new => {
            return said("its content is the same as before; its mode, owner or times are not");
        }
        (Content::Bytes(old), Content::Bytes(new)) => diff::unified(&old, &new, &old_name, &new_name),
    };
    if std::io::stdout().is_terminal() { shown::harmless(&text).into_owned() } else { text }
}

/// The content of a file, if it is one and not too large. Nothing is waited for, whatever is there by now.
fn read(path: &Path) -> Content {
    let Ok(data) = fs::symlink_metadata(path) else {
        return Content::Unknown("it is not there any more".to_owned());
    };
    if data.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return Content::Bytes([b"link to ", target.as_os_str().as_encoded_bytes(), b"\n"].concat());
    }
    if !data.is_file() {
        return Content::Unknown("it is not a file with a content".to_owned());
    }
    if data.len() > MOST_COMPARED {
        return Content::Unknown(format!("{} bytes are too many to compare", data.len()));
    }
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut bytes = Vec::new();
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    match opened.and_then(|file| file.take(MOST_COMPARED).read_to_end(&mut bytes)) {
        Ok(_) => Content::Bytes(bytes),
        Err(error) => Content::Unknown(format!("it cannot be read: {error}")),
    }
}
