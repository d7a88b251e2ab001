//! `chiton preview`: what commands would have changed that were only tried, and whether it happens.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use chiton_engine::changes::age;
use chiton_engine::preview::{Aspect, CommitOptions, CommittedState, Preview, PreviewStatus, PreviewedFile, Previews};
use chiton_operator::NamedSessions;
use clap::{Args, Subcommand};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use serde_json::json;

use crate::diff;
use crate::messages::{complain, put, remark, say};
use crate::person;
use crate::surroundings;
use crate::table::{lay_out, span};

/// The largest content that is compared line by line.
const MOST_BYTES: u64 = 4 << 20;

/// Look at what previewed commands would change, and commit or drop it
#[derive(Args)]
#[command(after_help = "\
`chiton run --preview COMMAND` runs a command on an overlay of the workspace: it sees its own changes, and nobody else
does. Its reply names what would change and the id of the preview.

Examples:
  chiton run --preview './upgrade.sh'         try it
  chiton preview show preview_1a2b3c4d        what would be made, changed and removed
  chiton preview show --diff preview_1a2b3c4d src
  chiton preview commit preview_1a2b3c4d      make it so; `chiton undo preview_1a2b3c4d` takes that back
  chiton preview drop preview_1a2b3c4d        forget it

A preview is not committed where somebody else has changed what it would change: the files are named, and --force
commits it all the same. Previews are kept for a day.")]
pub(crate) struct PreviewArguments {
    #[command(subcommand)]
    verb: PreviewVerb,
}

#[derive(Subcommand)]
enum PreviewVerb {
    /// List the previews that nobody has decided on, and those that were committed lately
    List {
        /// One JSON object for each, one a line
        #[arg(long)]
        json: bool,
    },
    /// Show what one would change
    Show {
        #[arg(help = "Its id", add = ArgValueCandidates::new(ids))]
        id: String,
        /// Only these files and folders
        paths: Vec<PathBuf>,
        /// Show the lines that would change, as diff -u does
        #[arg(long)]
        diff: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Make it so, or finish that where it was interrupted
    Commit {
        #[arg(help = "Its id", add = ArgValueCandidates::new(ids))]
        id: String,
        /// Also over what others have changed since
        #[arg(long)]
        force: bool,
        /// Stop in the middle, after so many steps
        #[arg(long, hide = true, value_name = "STEPS")]
        stop_after: Option<usize>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Forget it: nothing has changed, and nothing of it is left
    Drop {
        #[arg(help = "Their ids", required = true, add = ArgValueCandidates::new(ids))]
        ids: Vec<String>,
    },
}

pub(crate) fn preview(arguments: &PreviewArguments, state: &Path) -> Result<ExitCode> {
    let previews = Previews::new(state);
    match &arguments.verb {
        PreviewVerb::List { json } => list(&previews.all(), *json),
        PreviewVerb::Show { id, paths, diff, json } => {
            let form = match (*json, *diff) {
                (true, diff) => Form::Json { diff },
                (false, true) => Form::Diff,
                (false, false) => Form::List,
            };
            show(&previews, id, paths, form)?;
        }
        PreviewVerb::Commit { id, force, stop_after, json } => {
            person::required("commits a preview")?;
            let options = CommitOptions { force: *force, stop_after: *stop_after };
            commit(&previews, id, options, state, *json)?;
        }
        PreviewVerb::Drop { ids } => return Ok(forget(&previews, ids)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Ids for the completion of the command line.
fn ids() -> Vec<CompletionCandidate> {
    let Ok(state) = surroundings::state_directory() else { return Vec::new() };
    let all = Previews::new(&state).all().into_iter();
    all.map(|preview| CompletionCandidate::new(preview.id).help(Some(preview.command.into()))).collect()
}

/// How a preview is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    List,
    Diff,
    Json { diff: bool },
}

fn list(all: &[Preview], json: bool) {
    if json {
        for preview in all {
            say!("{}", json!(preview));
        }
        return;
    }
    if all.is_empty() {
        if std::io::stdout().is_terminal() {
            say!("there are no previews; `chiton run --preview COMMAND` makes one");
        }
        return;
    }
    let row = |preview: &Preview| {
        let changed = &preview.changed;
        let counts = format!("{} {} {}", changed.made, changed.changed, changed.removed);
        vec![preview.id.clone(), status(preview), ago(preview), counts, plain(&preview.command)]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    put(format_args!("{}", lay_out(&["ID", "STATUS", "BEGAN", "MADE, CHANGED, REMOVED", "COMMAND"], &rows)));
}

fn status(preview: &Preview) -> String {
    match preview.status {
        PreviewStatus::Running => "running".to_owned(),
        PreviewStatus::Ready if preview.conflicts.is_empty() => "ready".to_owned(),
        PreviewStatus::Ready => "in conflict".to_owned(),
        PreviewStatus::HalfCommitted { done, of } => format!("half committed ({done} of {of} steps)"),
        PreviewStatus::Committed => "committed".to_owned(),
    }
}

fn ago(preview: &Preview) -> String {
    format!("{} ago", span(age(preview.began_ms).max(Duration::from_secs(1))))
}

fn show(previews: &Previews, id: &str, paths: &[PathBuf], form: Form) -> Result<()> {
    let preview = previews.one(id)?;
    let paths = paths.iter().map(std::path::absolute).collect::<std::io::Result<Vec<_>>>()?;
    let is_wanted = |file: &PreviewedFile| paths.is_empty() || paths.iter().any(|path| file.path.starts_with(path));
    let files: Vec<PreviewedFile> = previews.files(id)?.into_iter().filter(is_wanted).collect();
    match form {
        Form::Json { diff } => {
            let file = |file: &PreviewedFile| {
                let mut facts = json!(file);
                if diff {
                    facts["diff"] = json!(difference(file));
                }
                facts
            };
            let files: Vec<_> = files.iter().map(file).collect();
            let mut facts = json!(preview);
            facts["files"] = json!(files);
            say!("{facts}");
        }
        Form::Diff => files.iter().for_each(|file| put(format_args!("{}", for_terminal(&difference(file))))),
        Form::List => {
            say!("{} {}, {}, in {}", preview.id, status(&preview), ago(&preview), preview.directory.display());
            say!("$ {}", plain(&preview.command));
            for file in &files {
                let slash = if file.is_folder { "/" } else { "" };
                let aspects: Vec<&str> = file.aspects.iter().map(|aspect| word(*aspect)).collect();
                let aspects = if aspects.is_empty() { String::new() } else { format!(" ({})", aspects.join(", ")) };
                say!("{:8} {}{slash}{aspects}", file.kind.word(), plain(&file.path.display().to_string()));
            }
            for conflict in &preview.conflicts {
                complain(&format!("{}: {}", conflict.path.display(), conflict.why));
            }
            remark(&format!(
                "`chiton preview commit {id}` makes it so, `chiton preview drop {id}` forgets it, --diff shows the lines"
            ));
        }
    }
    Ok(())
}

fn word(aspect: Aspect) -> &'static str {
    match aspect {
        Aspect::Kind => "kind",
        Aspect::Content => "content",
        Aspect::Mode => "mode",
        Aspect::Owner => "owner",
        Aspect::Attributes => "attributes",
        Aspect::Time => "time",
    }
}

/// The lines of a file that would change.
fn difference(file: &PreviewedFile) -> String {
    let name = plain(&file.path.display().to_string());
    let sides = (content(file.before.as_deref()), content(file.after.as_deref()));
    match sides {
        (Ok(before), Ok(after)) => {
            let old = if file.before.is_some() { name.as_str() } else { "/dev/null" };
            let new = if file.after.is_some() { name.as_str() } else { "/dev/null" };
            let text = diff::unified(&before, &after, old, new);
            // Its name, mode or time is all there is.
            if text.is_empty() { format!("{}: {name}\n", file.kind.word()) } else { text }
        }
        (Err(why), _) | (_, Err(why)) => format!("{}: {name} ({why})\n", file.kind.word()),
    }
}

/// What is in a file, or where a link leads; of what is not there, nothing.
fn content(path: Option<&Path>) -> Result<Vec<u8>, String> {
    use std::os::unix::ffi::OsStrExt;

    let Some(path) = path else { return Ok(Vec::new()) };
    let data = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if data.is_symlink() {
        let target = fs::read_link(path).map_err(|error| error.to_string())?;
        return Ok([target.as_os_str().as_bytes(), b"\n"].concat());
    }
    if data.is_dir() {
        return Ok(Vec::new());
    }
    if !data.is_file() {
        return Err("not a file".to_owned());
    }
    if data.len() > MOST_BYTES {
        return Err(format!("{} bytes, too many to compare line by line", data.len()));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn commit(previews: &Previews, id: &str, options: CommitOptions, state: &Path, as_json: bool) -> Result<()> {
    let sessions = NamedSessions::new(state);
    let committed = previews.commit(id, options, &mut |state| sessions.take_over(state))?;
    if as_json {
        say!("{}", json!(committed));
        return Ok(());
    }
    say!(
        "{}",
        if committed.changed.is_empty() { "no files changed".to_owned() } else { committed.changed.to_string() }
    );
    match &committed.state {
        CommittedState::Committed => remark("what it changed in its session is committed as well"),
        CommittedState::Discarded(why) => remark(&format!("what it changed in its session is not committed: {why}")),
        CommittedState::Nothing => {}
    }
    Ok(())
}

fn forget(previews: &Previews, ids: &[String]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for id in ids {
        match previews.drop(id) {
            Ok(()) => say!("{id} is dropped"),
            Err(error) => {
                complain(&error.to_string());
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// A text on one line, without anything that a terminal would act on.
fn plain(text: &str) -> String {
    let shown =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() };
    text.chars().map(shown).collect()
}

/// Lines of files, without anything that a terminal would act on where this is one.
fn for_terminal(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    text.split_inclusive('\n')
        .map(|line| line.strip_suffix('\n').map_or_else(|| plain(line), |line| plain_line(line) + "\n"))
        .collect()
}

fn plain_line(line: &str) -> String {
    line.split('\t').map(plain).collect::<Vec<_>>().join("\t")
}
