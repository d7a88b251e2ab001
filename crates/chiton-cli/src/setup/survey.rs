//! Which clients there are on this machine, and which of them have Chiton.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::client::{Client, SettingPlace, SetupSurroundings, Switch};
use super::clients::CLIENTS;
use super::connection::Connection;
use super::file::SettingsFile;
use super::format::{FileFormat, Setting};
use super::own_path;
use crate::messages::say;
use crate::surroundings;
use crate::table::lay_out;

/// The settings of a client, of the user or of the project in the current directory.
pub(crate) struct ClientSettings {
    pub(crate) client: &'static Client,
    pub(crate) file: PathBuf,
    /// Whether anything of the client is here.
    pub(crate) found: bool,
    pub(crate) state: SetupState,
    pub(crate) own_shell: OwnShellState,
}

/// What the client's own settings say about its own shell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnShellState {
    /// It has none, or whether it has is not in a file.
    Unknown,
    On,
    Off,
}

/// What the settings say about Chiton.
pub(crate) enum SetupState {
    Absent,
    /// Set up, with this program.
    SetUp(Connection),
    /// Set up with a program that is somewhere else.
    Elsewhere(String),
    /// Set up with a program that is not there.
    Gone(String),
    /// Something else has the name.
    Another,
    /// The settings cannot be read, and why.
    Unreadable(String),
}

impl SetupState {
    /// In a few words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Absent => "no".to_owned(),
            Self::SetUp(connection) => format!("yes: {}", connection.words()),
            Self::Elsewhere(command) => format!("yes, another one: {command}"),
            Self::Gone(command) => format!("yes, but {command} is not there"),
            Self::Another => "no: another server has the name".to_owned(),
            Self::Unreadable(why) => format!("unknown: {why}"),
        }
    }
}

/// All clients, and those project files that are there.
pub(crate) fn survey(name: &str) -> Result<Vec<ClientSettings>> {
    let directory = surroundings::working_directory()?;
    let around = SetupSurroundings { variable: &|name| env::var_os(name).map(PathBuf::from), project: &directory };
    let mut all = Vec::new();
    for client in &CLIENTS {
        let own_shell = own_shell(client, &around);
        match client.file.of_user(client.title, &around) {
            Ok(file) => {
                let found = is_here(client, &file);
                all.push(ClientSettings { client, found, state: look(client, &file, name), file, own_shell });
            }
            Err(error) => all.push(ClientSettings {
                client,
                file: PathBuf::new(),
                found: false,
                state: SetupState::Unreadable(format!("{error:#}")),
                own_shell,
            }),
        }
        let user = all.last().map(|settings| settings.file.clone());
        let project = client.file.of_project(&around).filter(|file| file.exists() && Some(file) != user.as_ref());
        if let Some(file) = project {
            all.push(ClientSettings { client, found: true, state: look(client, &file, name), file, own_shell });
        }
    }
    Ok(all)
}

/// Prints them.
pub(super) fn list(name: &str, json: bool) -> Result<ExitCode> {
    if json {
        for settings in survey(name)? {
            let own_shell = match settings.own_shell {
                OwnShellState::Unknown => None,
                OwnShellState::On => Some(true),
                OwnShellState::Off => Some(false),
            };
            say!(
                "{}",
                json!({
                    "client": settings.client.name,
                    "found": settings.found,
                    "set_up": matches!(settings.state, SetupState::SetUp(_) | SetupState::Elsewhere(_)),
                    "chiton": settings.state.words(),
                    "own_shell": own_shell,
                    "settings": settings.file.to_string_lossy(),
                })
            );
        }
        return Ok(ExitCode::SUCCESS);
    }
    let row = |settings: ClientSettings| {
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

fn look(client: &Client, file: &Path, name: &str) -> SetupState {
    let text = match SettingsFile::read(file) {
        Ok(settings) => settings.text().unwrap_or_default().to_owned(),
        Err(error) => return SetupState::Unreadable(format!("{error:#}")),
    };
    let all = match client.format.read(&text) {
        Ok(all) => all,
        Err(error) => return SetupState::Unreadable(format!("malformed, {error}")),
    };
    let Some(entry) = all.get(client.container).and_then(|container| container.get(name)) else {
        return SetupState::Absent;
    };
    let own = own_path().unwrap_or_default();
    match client.connection_of(entry) {
        Some(connection) if !connection.is_chiton(&own) => SetupState::Another,
        Some(Connection::Program(launch)) if launch.command != own => {
            let path = Path::new(&launch.command);
            let is_gone = path.is_absolute() && !path.exists();
            if is_gone { SetupState::Gone(launch.command) } else { SetupState::Elsewhere(launch.command) }
        }
        Some(connection) => SetupState::SetUp(connection),
        None => SetupState::Another,
    }
}

/// Whether the settings of the user switch the client's own shell off.
fn own_shell(client: &Client, around: &SetupSurroundings) -> OwnShellState {
    let Switch::Settings(settings, _) = &client.replace else { return OwnShellState::Unknown };
    let is_off = |path: Result<PathBuf>, format: FileFormat, setting: &Setting| {
        let file = SettingsFile::read(&path.ok()?).ok()?;
        format.has(file.text().unwrap_or_default(), setting).ok()
    };
    for setting in *settings {
        let (place, format) = match &setting.place {
            SettingPlace::Beside => (&client.file, client.format),
            SettingPlace::Own(place) => (place, FileFormat::Jsonc),
        };
        for wanted in setting.resolve("", &[]) {
            match is_off(place.of_user(client.title, around), format, &wanted) {
                Some(true) => {}
                Some(false) => return OwnShellState::On,
                None => return OwnShellState::Unknown,
            }
        }
    }
    OwnShellState::Off
}
