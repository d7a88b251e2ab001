//! `chiton setup`: puts Chiton into the settings of a client, or takes it out.
//!
//! 1. `clients` says where the settings are and what an entry looks like there.
//! 2. `file` reads them.
//! 3. `format` puts the entry in, changes it or takes it out, and leaves the rest as it is.
//! 4. `file` keeps a copy and puts the new text in place in one step.

pub(crate) mod clients;
mod file;
mod format;
mod preview;
pub(crate) mod survey;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};

use self::clients::{CLIENTS, Client, Launch, SetupSurroundings};
use self::file::{SettingsFile, WriteResult};
use self::format::{Edit, Spot};
use crate::messages::{remark, say};
use crate::{Cli, Verb, surroundings};

/// Put Chiton into the settings of an MCP client
#[derive(Args)]
#[command(after_help = "\
Without a client: lists the clients, where their settings are, and which have Chiton.

Only the entry is added; all else in the file stays as it is, comments included. A copy of
what was there is kept as FILE.before-chiton. The entry names this program by its full
path: run setup again if you move it.

Examples:
  chiton setup claude-code                          for you, in every project
  chiton setup cursor --project                     for the project in the current directory
  chiton setup codex --dry-run                      show what would change, change nothing
  chiton setup zed --name shell -- --dialect claude another name, other arguments
  chiton setup claude-code --undo                   take it out again")]
pub(crate) struct SetupArguments {
    /// The client
    #[arg(value_parser = client_parser())]
    client: Option<&'static Client>,
    /// Show what would change, and change nothing
    #[arg(long, requires = "client")]
    dry_run: bool,
    /// Take Chiton out of the settings again
    #[arg(long, requires = "client", conflicts_with = "arguments")]
    undo: bool,
    /// In the settings of the project in the current directory, not in yours
    #[arg(long, requires = "client")]
    project: bool,
    /// What the server is called there: small letters, digits, - and _
    #[arg(long, default_value = "chiton", value_parser = server_name)]
    name: String,
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

pub(crate) fn setup(arguments: &SetupArguments, given_state: Option<&Path>) -> Result<ExitCode> {
    let Some(client) = arguments.client else {
        return survey::list(&arguments.name);
    };
    let path = settings_of(client, arguments.project)?;
    let job = Job { client, spot: Spot { container: client.container, name: &arguments.name }, arguments, path };
    let launch = launch(client, arguments, given_state)?;
    if let (false, false, Some(folder)) = (arguments.dry_run, arguments.undo, job.path.parent()) {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let _alone = file::keep_others_out(&job.path);
    for _ in 0..TRIES {
        let done = if arguments.undo { job.undo(&launch)? } else { job.write(&launch)? };
        if done == WriteResult::Done {
            remark_on_dialect(client, arguments);
            return Ok(ExitCode::SUCCESS);
        }
    }
    bail!(
        "{} is being written by another program again and again; nothing was changed: quit {} and try again",
        job.path.display(),
        client.title
    )
}

fn settings_of(client: &Client, project: bool) -> Result<PathBuf> {
    let directory = if project { surroundings::working_directory()? } else { PathBuf::new() };
    let around = SetupSurroundings { variable: &|name| std::env::var_os(name).map(PathBuf::from), project: &directory };
    if project {
        client
            .project_file(&around)
            .with_context(|| format!("{} has no settings file in a project: leave --project out", client.title))
    } else {
        client.user_file(&around)
    }
}

/// One call of `chiton setup`.
struct Job<'a> {
    client: &'static Client,
    spot: Spot<'a>,
    arguments: &'a SetupArguments,
    path: PathBuf,
}

/// What is there under our name.
enum FoundEntry {
    Nothing,
    Ours(Launch),
}

/// The file before us.
enum Before {
    NoFile,
    Text(String),
    /// There is no copy, or more than our entry has changed since.
    Unknown,
}

impl Job<'_> {
    fn write(&self, launch: &Launch) -> Result<WriteResult> {
        let file = SettingsFile::read(&self.path)?;
        let before = file.text().unwrap_or_default();
        let found = self.find(before, launch)?;
        let after = match &found {
            FoundEntry::Ours(there) if there == launch => {
                say!("{}: already set up in {}; nothing was changed", self.client.name, self.path.display());
                return Ok(WriteResult::Done);
            }
            FoundEntry::Ours(_) => self.edit(before, &Edit::Change(&self.client.launch_fields(launch)))?,
            FoundEntry::Nothing => self.edit(before, &Edit::Insert(&self.client.entry(self.spot.name, launch)))?,
        };
        if self.arguments.dry_run {
            self.preview(before, Some(&after));
            return Ok(WriteResult::Done);
        }
        // A copy is one of the time before us: one with our entry in it must not replace it.
        let keeps_copy = matches!(found, FoundEntry::Nothing) || !file.backup().exists();
        if file.text().is_some() && keeps_copy {
            file.write_backup()?;
        }
        if file.replace(&after)? == WriteResult::Changed {
            return Ok(WriteResult::Changed);
        }
        self.say_what_was_done(&file, &found, launch);
        Ok(WriteResult::Done)
    }

    /// Removes the folder of a client in a project, such as `.cursor`, where nothing is left in it.
    fn remove_empty_folder(&self) {
        let folder = self.path.parent().filter(|_| self.arguments.project);
        let is_hidden =
            |folder: &Path| folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if let Some(folder) = folder.filter(|folder| is_hidden(folder)) {
            let _ = fs::remove_dir(folder);
        }
    }

    fn undo(&self, own: &Launch) -> Result<WriteResult> {
        let file = SettingsFile::read(&self.path)?;
        let (client, shown) = (self.client.name, self.path.display());
        let before = file.text().unwrap_or_default();
        let FoundEntry::Ours(launch) = self.find(before, own)? else {
            say!("{client}: '{}' is not in {shown}; nothing was changed", self.spot.name);
            return Ok(WriteResult::Done);
        };
        let (after, exact) = match self.before_us(&file, &launch)? {
            Before::NoFile => (None, true),
            Before::Text(original) => (Some(original), true),
            Before::Unknown => (Some(self.edit(before, &Edit::Remove)?), false),
        };
        if self.arguments.dry_run {
            self.preview(before, after.as_deref());
            return Ok(WriteResult::Done);
        }
        let written = match &after {
            Some(text) => file.replace(text)?,
            None => file.remove()?,
        };
        if written == WriteResult::Changed {
            return Ok(written);
        }
        match after {
            None => say!("{client}: removed {shown}, which held nothing else"),
            Some(_) => say!("{client}: '{}' taken out of {shown}", self.spot.name),
        }
        if exact {
            let _ = fs::remove_file(file.backup());
            self.remove_empty_folder();
        } else if file.backup().exists() {
            say!("  copy: {} stays; remove it if you do not need it", file.backup().display());
        }
        say!("  next: restart {}", self.client.title);
        Ok(WriteResult::Done)
    }

    /// What was there before us. A copy counts where putting our entry into it gives what is there now.
    fn before_us(&self, file: &SettingsFile, launch: &Launch) -> Result<Before> {
        let entry = self.client.entry(self.spot.name, launch);
        let gives_this = |original: &str| {
            let edited = self.client.format.edit(original, self.spot, &Edit::Insert(&entry));
            edited.is_ok_and(|edited| Some(edited.as_str()) == file.text())
        };
        Ok(match SettingsFile::read(&file.backup())?.text() {
            Some(copy) if gives_this(copy) => Before::Text(copy.to_owned()),
            None if gives_this("") => Before::NoFile,
            _ => Before::Unknown,
        })
    }

    fn find(&self, text: &str, own: &Launch) -> Result<FoundEntry> {
        let shown = self.path.display();
        let read = self.client.format.read(text);
        let all = read.map_err(|error| anyhow!("{shown} is malformed: {error}; nothing was changed"))?;
        let Some(entry) = all.get(self.spot.container).and_then(|container| container.get(self.spot.name)) else {
            return Ok(FoundEntry::Nothing);
        };
        let launch = self.client.launch_of(entry);
        launch.filter(|launch| is_chiton(&launch.command, &own.command)).map(FoundEntry::Ours).with_context(|| {
            format!(
                "{shown} has another server named '{}'; nothing was changed: choose another name with --name",
                self.spot.name
            )
        })
    }

    fn edit(&self, text: &str, edit: &Edit) -> Result<String> {
        let edited = self.client.format.edit(text, self.spot, edit);
        edited.map_err(|error| anyhow!("{} was left as it is: {error}", self.path.display()))
    }

    /// Shows what would change; `after` is nothing where the file would be removed.
    fn preview(&self, before: &str, after: Option<&str>) {
        let (client, shown) = (self.client.name, self.path.display());
        match after {
            Some(after) => {
                say!("{client}: this would change in {shown}");
                crate::messages::put(format_args!("{}", preview::difference(before, after)));
            }
            None => say!("{client}: {shown} would be removed; it holds nothing else"),
        }
        say!("nothing was changed: this was a dry run");
    }

    fn say_what_was_done(&self, file: &SettingsFile, found: &FoundEntry, launch: &Launch) {
        let did = match (found, file.text()) {
            (FoundEntry::Ours(_), _) => "changed in",
            (FoundEntry::Nothing, Some(_)) => "added to",
            (FoundEntry::Nothing, None) => "added to the new file",
        };
        say!("{}: '{}' {did} {}", self.client.name, self.spot.name, self.path.display());
        say!("  runs: {} {}", launch.command, launch.arguments.join(" "));
        if file.text().is_some() {
            say!("  copy: {}", file.backup().display());
        }
        say!("  next: {}", self.client.next);
        let project = if self.arguments.project { " --project" } else { "" };
        let name = if self.spot.name == "chiton" { String::new() } else { format!(" --name {}", self.spot.name) };
        say!("  undo: chiton setup {}{project}{name} --undo", self.client.name);
    }
}

/// The dialect that fits best may come with a later version.
fn remark_on_dialect(client: &Client, arguments: &SetupArguments) {
    if !arguments.undo && arguments.arguments.is_empty() && chiton_dialects::find(client.dialect).is_none() {
        remark(&format!(
            "{} would know the dialect '{}' best, which this version does not have yet: it gets native",
            client.title, client.dialect
        ));
    }
}

/// Whether a command is this program, here or somewhere else.
fn is_chiton(command: &str, own: &str) -> bool {
    command == own || Path::new(command).file_name().is_some_and(|name| name == "chiton")
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
