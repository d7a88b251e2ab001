//! `chiton setup`: puts Chiton into the settings of a client, or takes it out.
//!
//! 1. `clients` says where the settings are, what an entry looks like there, and what else can be set.
//! 2. `job` reads the files and works out what should stand in them; `format` edits a text and leaves the rest as it is.
//! 3. `file` keeps a copy and puts the new text in place in one step.
//! 4. `check` starts the server as the client will.
//! 5. `report` says what was done and what comes next.

mod check;
pub(crate) mod client;
pub(crate) mod clients;
pub(crate) mod connection;
pub(crate) mod file;
mod format;
mod http;
mod job;
pub(crate) mod preview;
mod report;
pub(crate) mod survey;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail, ensure};
use chiton_dialects::{Dialect, Surroundings};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};

use self::client::{Approval, Client, SetupSurroundings, Switch};
use self::clients::CLIENTS;
use self::connection::{Connection, Launch};
use self::file::WriteResult;
use self::job::{CopyPlan, FileChange, Job, OwnShell, Scope, Wish};
use self::report::Purpose;
use crate::messages::{remark, say};
use crate::settings::Settings;
use crate::{Cli, Verb, surroundings};

/// Put Chiton into the settings of an MCP client
#[derive(Args)]
#[command(after_help = "\
Without a client: lists the clients, where their settings are, and which have Chiton.

Only what is ours is added; all else in a file stays as it is, comments included. A copy of what
was there is kept as FILE.before-chiton. The entry names this program by its full path: run setup
again if you move it. Afterwards setup starts the server as the client will, and says what it offers.

An agent that has a shell of its own uses that. So that it uses Chiton:
  --replace   switches its own shell off where a file can do that, and otherwise says how you do it.
              It also does what --approve does, unless you say --ask: with neither shell allowed, an
              agent would have none where nobody can be asked.
  --approve   lets the client call Chiton's tools without asking. Chiton's guard still asks a person
              about what is dangerous. Without it, most clients refuse where nobody can be asked.

--http is for a server that runs already (chiton mcp --http 127.0.0.1:8765). The entry refers to the
token by the variable MCP_CHITON_TOKEN; --copy-token writes the token itself into your settings, for
clients that know no variables. It never goes into a project, where it would be shared.

Examples:
  chiton setup claude-code --replace                for you, in every project
  chiton setup cursor --project                     for the project in the current directory
  chiton setup codex --replace --ask --dry-run      show what would change, change nothing
  chiton setup zed --name shell -- --dialect claude another name, other arguments
  chiton setup gemini --http                        the server on this machine, over HTTP
  chiton setup claude-code --undo                   take all of it back")]
pub(crate) struct SetupArguments {
    /// The client
    #[arg(value_parser = client_parser())]
    client: Option<&'static Client>,
    /// Show what would change, and change nothing
    #[arg(long, requires = "client")]
    dry_run: bool,
    /// Take back everything that setup did, with whatever options
    #[arg(long, requires = "client", conflicts_with = "arguments")]
    undo: bool,
    /// In the settings of the project in the current directory, not in yours
    #[arg(long, requires = "client")]
    project: bool,
    /// Switch the client's own shell off
    #[arg(long, requires = "client")]
    replace: bool,
    /// Let the client call Chiton's tools without asking; Chiton's guard still asks
    #[arg(long, requires = "client")]
    approve: bool,
    /// With --replace: let the client go on asking before each call
    #[arg(long, requires = "replace", conflicts_with = "approve")]
    ask: bool,
    /// Use a server over HTTP; without a URL, that of this machine
    #[arg(
        long,
        requires = "client",
        conflicts_with = "arguments",
        value_name = "URL",
        num_args = 0..=1,
        default_missing_value = http::LOCAL
    )]
    http: Option<String>,
    /// Write the token of the server into your settings
    #[arg(long, requires = "http")]
    copy_token: bool,
    /// What the server is called there: small letters, digits, - and _
    #[arg(long, default_value = "chiton", value_parser = server_name)]
    name: String,
    /// Without a client: list them as JSON objects, one a line
    #[arg(long, conflicts_with = "client")]
    json: bool,
    /// Arguments for `chiton mcp` [default: the dialect that the client's models know]
    #[arg(last = true, requires = "client", value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

fn client_parser() -> impl TypedValueParser<Value = &'static Client> {
    let names = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name));
    names.try_map(|name| Client::find(&name).ok_or_else(|| anyhow!("there is no such client")))
}

/// Every client takes such a name; some take no other.
fn server_name(name: &str) -> Result<String> {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let starts_well = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
    ensure!(starts_well && name.bytes().all(good), "write small letters, digits, - and _, beginning with a letter");
    Ok(name.to_owned())
}

/// How often a file that somebody else writes at the same time is tried again.
const TRIES: usize = 5;

pub(crate) fn setup(arguments: &SetupArguments, settings: &Settings, given_state: Option<&Path>) -> Result<ExitCode> {
    let Some(client) = arguments.client else {
        return survey::list(&arguments.name, arguments.json);
    };
    let directory = if arguments.project { surroundings::working_directory()? } else { PathBuf::new() };
    let around = SetupSurroundings { variable: &|name| std::env::var_os(name).map(PathBuf::from), project: &directory };
    let scope = if arguments.project { Scope::Project } else { Scope::User };
    let path = settings_of(client, scope, &around)?;
    let job = Job { client, name: &arguments.name, scope, path, own: own_path()? };
    if arguments.undo {
        return undo(&job, arguments, &around);
    }

    let token_file = http::token_file(settings, given_state);
    let wish = wish(&job, arguments, settings, given_state)?;
    if arguments.dry_run {
        report::preview(&job, &job.plan(&wish, &around)?, Purpose::SetUp);
        remark_on_dialect(client, arguments);
        return Ok(ExitCode::SUCCESS);
    }
    let changes = carry_out(&job, || job.plan(&wish, &around))?;
    report::say_what_was_done(&job, &wish, &changes);
    let token = token_file.as_deref().ok().and_then(|file| http::read_token(file).ok());
    let checked = check::check(&wish.connection, token.as_deref());
    if let Ok(words) = &checked {
        say!("  checked: {words}");
    }
    let shown = token_file.map_or_else(|_| "TOKEN-FILE".to_owned(), |file| file.display().to_string());
    report::say_what_comes_next(&job, &wish, &shown);
    remark_on_dialect(client, arguments);
    checked.with_context(|| format!("the entry stays in {}, but it does not work yet", job.path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn undo(job: &Job, arguments: &SetupArguments, around: &SetupSurroundings) -> Result<ExitCode> {
    let tools = tools_of(dialect_of(job.client, arguments).into_iter());
    if arguments.dry_run {
        report::preview(job, &job.plan_undo(&tools, around)?, Purpose::Undo);
        return Ok(ExitCode::SUCCESS);
    }
    let changes = carry_out(job, || job.plan_undo(&tools, around))?;
    report::say_what_was_undone(job, &changes);
    Ok(ExitCode::SUCCESS)
}

fn settings_of(client: &Client, scope: Scope, around: &SetupSurroundings) -> Result<PathBuf> {
    match scope {
        Scope::User => client.file.of_user(client.title, around),
        Scope::Project => client
            .file
            .of_project(around)
            .with_context(|| format!("{} has no settings file in a project: leave --project out", client.title)),
    }
}

/// What setup is to lead to.
fn wish(job: &Job, arguments: &SetupArguments, settings: &Settings, state: Option<&Path>) -> Result<Wish> {
    let connection = match &arguments.http {
        Some(url) => Connection::Server(http::server(job, url, arguments.copy_token, settings, state)?),
        None => Connection::Program(launch(job.client, arguments, state)?),
    };
    Ok(Wish {
        connection,
        approval: approval(job.client, arguments),
        shell: if arguments.replace { OwnShell::SwitchedOff } else { OwnShell::Stays },
        tools: tools_of(dialect_of(job.client, arguments).into_iter()),
    })
}

/// Whether the client may call Chiton's tools without asking. One whose own shell goes off needs that, or it has none at
/// all where nobody can be asked.
fn approval(client: &Client, arguments: &SetupArguments) -> Approval {
    let is_in_a_file = matches!(client.approve, Switch::Field(..) | Switch::Settings(..));
    let is_implied = arguments.replace && !arguments.ask && is_in_a_file;
    if arguments.approve || is_implied { Approval::Given } else { Approval::Asked }
}

/// Writes what was planned; plans again where somebody else has written meanwhile.
fn carry_out(job: &Job, plan: impl Fn() -> Result<Vec<FileChange>>) -> Result<Vec<FileChange>> {
    let first = plan()?;
    let folders: BTreeSet<PathBuf> = first
        .iter()
        .filter(|change| change.is_change())
        .filter_map(|change| Some(change.path.parent()?.to_owned()))
        .collect();
    for folder in &folders {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let paths: Vec<&Path> =
        first.iter().filter(|change| change.is_change()).map(|change| change.path.as_path()).collect();
    let _alone = file::keep_others_out(&paths);
    for _ in 0..TRIES {
        let changes = plan()?;
        if write_all(&changes)? == WriteResult::Done {
            for change in &changes {
                remove_empty_folder(job, change);
            }
            return Ok(changes);
        }
    }
    bail!(
        "{} is being written by another program again and again; nothing was changed: quit {} and try again",
        job.path.display(),
        job.client.title
    )
}

fn write_all(changes: &[FileChange]) -> Result<WriteResult> {
    for change in changes.iter().filter(|change| change.is_change()) {
        match change.copy {
            CopyPlan::Written => change.file.write_backup()?,
            CopyPlan::WrittenOrNoted => change.file.write_backup_or_mark()?,
            CopyPlan::Left | CopyPlan::Removed => {}
        }
        let written = match &change.after {
            Some(text) => change.file.replace(text)?,
            None => change.file.remove()?,
        };
        if written == WriteResult::Changed {
            return Ok(WriteResult::Changed);
        }
        if change.copy == CopyPlan::Removed {
            let _ = fs::remove_file(change.file.backup());
        }
    }
    Ok(WriteResult::Done)
}

/// Removes the folder of a client in a project, such as `.cursor`, where nothing is left in it.
fn remove_empty_folder(job: &Job, change: &FileChange) {
    let folder = change.path.parent().filter(|_| job.scope == Scope::Project && change.after.is_none());
    let is_hidden = |folder: &Path| folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    if let Some(folder) = folder.filter(|folder| is_hidden(folder)) {
        let _ = fs::remove_dir(folder);
    }
}

/// The names of the tools of dialects.
fn tools_of(dialects: impl Iterator<Item = &'static dyn Dialect>) -> Vec<String> {
    let around = Surroundings::new("/");
    let mut names = Vec::new();
    for tool in dialects.flat_map(|dialect| dialect.tools(&around)) {
        if !names.iter().any(|name| name == tool.name) {
            names.push(tool.name.to_owned());
        }
    }
    names
}

/// The dialect that the server will have.
fn dialect_of(client: &Client, arguments: &SetupArguments) -> Option<&'static dyn Dialect> {
    let given = arguments.arguments.iter().skip_while(|argument| *argument != "--dialect").nth(1);
    let joined = arguments.arguments.iter().find_map(|argument| argument.strip_prefix("--dialect="));
    let name = given.map(String::as_str).or(joined).unwrap_or(client.dialect);
    chiton_dialects::find(name).or_else(|| chiton_dialects::find("native"))
}

/// The dialect that fits best may come with a later version.
fn remark_on_dialect(client: &Client, arguments: &SetupArguments) {
    if arguments.http.is_none() && arguments.arguments.is_empty() && chiton_dialects::find(client.dialect).is_none() {
        remark(&format!(
            "{} would know the dialect '{}' best, which this version does not have yet: it gets native",
            client.title, client.dialect
        ));
    }
}

/// The full path of this program.
pub(crate) fn own_path() -> Result<String> {
    let path = std::env::current_exe().context("the path of this program cannot be found")?;
    ensure!(path.is_file(), "this program is no longer at {}: start it from where it is now", path.display());
    path.into_os_string().into_string().map_err(|path: OsString| {
        anyhow!(
            "the path of this program is not UTF-8, which is all that settings can hold: {}",
            path.to_string_lossy()
        )
    })
}

/// How the client is to start this program.
fn launch(client: &Client, arguments: &SetupArguments, given_state: Option<&Path>) -> Result<Launch> {
    let mut given = vec!["mcp".to_owned()];
    if let Some(state) = given_state {
        let state = state.to_str().context("--state-dir is not UTF-8, which is all that settings can hold")?;
        given.extend(["--state-dir".to_owned(), state.to_owned()]);
    }
    if !arguments.arguments.is_empty() {
        given.extend(arguments.arguments.iter().cloned());
    } else if client.dialect != "native" && chiton_dialects::find(client.dialect).is_some() {
        given.extend(["--dialect".to_owned(), client.dialect.to_owned()]);
    }
    match Cli::try_parse_from(std::iter::once("chiton").chain(given.iter().map(String::as_str))) {
        Ok(Cli { verb: Verb::Mcp(_), .. }) => Ok(Launch { command: own_path()?, arguments: given }),
        Ok(_) => bail!("these are not arguments for `chiton mcp`: {}", arguments.arguments.join(" ")),
        Err(error) if error.use_stderr() => {
            let text = error.to_string();
            let what = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default().trim().to_owned();
            bail!("`chiton mcp` would not take these arguments: {what}")
        }
        Err(_) => bail!("with these arguments `chiton mcp` prints help and serves nobody"),
    }
}
