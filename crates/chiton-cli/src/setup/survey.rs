//! Which clients there are on this machine, and which of them have Chiton.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use super::clients::{CLIENTS, Client, Launch, Surroundings};
use super::file::SettingsFile;
use super::{is_chiton, own_path};
use crate::surroundings;
use crate::table::lay_out;

/// The settings of a client, of the user or of the project in the current directory.
pub(crate) struct Settings {
    pub(crate) client: &'static Client,
    pub(crate) file: PathBuf,
    /// Whether anything of the client is here.
    pub(crate) found: bool,
    pub(crate) state: State,
}

/// What the settings say about Chiton.
pub(crate) enum State {
    Absent,
    /// Set up, with this program.
    SetUp(Launch),
    /// Set up with a program that is somewhere else.
    Elsewhere(Launch),
    /// Set up with a program that is not there.
    Gone(Launch),
    /// Something else has the name.
    Another,
    /// The settings cannot be read, and why.
    Unreadable(String),
}

impl State {
    /// In a few words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Absent => "no".to_owned(),
            Self::SetUp(launch) => format!("yes: chiton {}", launch.arguments.join(" ")),
            Self::Elsewhere(launch) => format!("yes, another one: {}", launch.command),
            Self::Gone(launch) => format!("yes, but {} is not there", launch.command),
            Self::Another => "no: another server has the name".to_owned(),
            Self::Unreadable(why) => format!("unknown: {why}"),
        }
    }
}

/// All clients, and those project files that are there.
pub(crate) fn survey(name: &str) -> Result<Vec<Settings>> {
    let directory = surroundings::working_directory()?;
    let around = Surroundings { variable: &|name| env::var_os(name).map(PathBuf::from), project: &directory };
    let mut all = Vec::new();
    for client in &CLIENTS {
        match client.user_file(&around) {
            Ok(file) => {
                let found = is_here(client, &file);
                all.push(Settings { client, found, state: look(client, &file, name), file });
            }
            Err(error) => all.push(Settings {
                client,
                file: PathBuf::new(),
                found: false,
                state: State::Unreadable(format!("{error:#}")),
            }),
        }
        let user = all.last().map(|settings| settings.file.clone());
        let project = client.project_file(&around).filter(|file| file.exists() && Some(file) != user.as_ref());
        if let Some(file) = project {
            all.push(Settings { client, found: true, state: look(client, &file, name), file });
        }
    }
    Ok(all)
}

/// Prints them.
pub(super) fn list(name: &str) -> Result<ExitCode> {
    let row = |settings: Settings| {
        let found = if settings.found { "yes" } else { "no" };
        vec![
            settings.client.name.to_owned(),
            found.to_owned(),
            settings.state.words(),
            settings.file.display().to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = survey(name)?.into_iter().map(row).collect();
    write!(std::io::stdout().lock(), "{}", lay_out(&["CLIENT", "FOUND", "CHITON", "SETTINGS"], &rows))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a client seems to be installed: its settings, a folder of its own for them, or its program.
fn is_here(client: &Client, file: &Path) -> bool {
    let home = env::var_os("HOME").map(PathBuf::from);
    let folder = file.parent().filter(|folder| Some(*folder) != home.as_deref());
    let program = || {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|folder| folder.join(client.program).is_file())
    };
    file.exists() || folder.is_some_and(Path::is_dir) || program()
}

fn look(client: &Client, file: &Path, name: &str) -> State {
    let text = match SettingsFile::read(file) {
        Ok(settings) => settings.text().unwrap_or_default().to_owned(),
        Err(error) => return State::Unreadable(format!("{error:#}")),
    };
    let all = match client.format.read(&text) {
        Ok(all) => all,
        Err(error) => return State::Unreadable(format!("malformed, {error}")),
    };
    let Some(entry) = all.get(client.container).and_then(|container| container.get(name)) else {
        return State::Absent;
    };
    let own = own_path().unwrap_or_default();
    match client.launch_of(entry) {
        Some(launch) if launch.command == own => State::SetUp(launch),
        Some(launch) if !is_chiton(&launch.command, &own) => State::Another,
        Some(launch) if Path::new(&launch.command).is_absolute() && !Path::new(&launch.command).exists() => {
            State::Gone(launch)
        }
        Some(launch) => State::Elsewhere(launch),
        None => State::Another,
    }
}
