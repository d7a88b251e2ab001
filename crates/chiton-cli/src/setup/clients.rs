//! The clients that can be set up. One row each; a new client is a new row, and nothing else changes.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::format::{EntryValue, FileFormat};

/// A program that starts MCP servers.
pub(crate) struct Client {
    /// What it is called on our command line.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// The program, as it is found on the `PATH`.
    pub(crate) program: &'static str,
    /// Variables that move the settings, first one first: the variable, and the file below what it names.
    moved_by: &'static [(&'static str, &'static str)],
    base: Base,
    /// The settings of the user, below the base.
    file: &'static str,
    /// The settings of a project, below its directory.
    project: Option<&'static str>,
    pub(crate) format: FileFormat,
    /// The key under which servers stand.
    pub(crate) container: &'static str,
    /// What an entry is made of.
    fields: &'static [(&'static str, EntryField)],
    /// The tool surface its models know best.
    pub(crate) dialect: &'static str,
    /// What makes it see the new entry.
    pub(crate) next: &'static str,
}

#[derive(Clone, Copy)]
enum Base {
    /// The home directory.
    Home,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home directory.
    Config,
}

/// One field of an entry.
#[derive(Clone, Copy)]
enum EntryField {
    /// The path of this program.
    Command,
    /// What it is called with.
    Arguments,
    /// The name of the entry.
    Name,
    Text(&'static str),
    Number(u32),
    Yes,
}

/// Clients that give a tool call one minute would cut long commands off; this is what the longest dialect allows.
const LONGEST_CALL: EntryField = EntryField::Number(600);
const PLAIN: &[(&str, EntryField)] = &[("command", EntryField::Command), ("args", EntryField::Arguments)];
const TYPED: &[(&str, EntryField)] =
    &[("type", EntryField::Text("stdio")), ("command", EntryField::Command), ("args", EntryField::Arguments)];

pub(crate) const CLIENTS: [Client; 8] = [
    Client {
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        moved_by: &[("CLAUDE_CONFIG_DIR", ".claude.json")],
        base: Base::Home,
        file: ".claude.json",
        project: Some(".mcp.json"),
        format: FileFormat::Json,
        container: "mcpServers",
        fields: TYPED,
        dialect: "claude",
        next: "restart Claude Code; `/mcp` lists its servers (before it uses one of a project, it asks)",
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        program: "claude-desktop",
        moved_by: &[],
        base: Base::Config,
        file: "Claude/claude_desktop_config.json",
        project: None,
        format: FileFormat::Json,
        container: "mcpServers",
        fields: PLAIN,
        dialect: "native",
        next: "quit Claude Desktop, not only its window, and start it again",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        program: "cursor",
        moved_by: &[],
        base: Base::Home,
        file: ".cursor/mcp.json",
        project: Some(".cursor/mcp.json"),
        format: FileFormat::Jsonc,
        container: "mcpServers",
        fields: PLAIN,
        dialect: "native",
        next: "restart Cursor, and see that the server is switched on in its settings",
    },
    Client {
        name: "codex",
        title: "Codex CLI",
        program: "codex",
        moved_by: &[("CODEX_HOME", "config.toml")],
        base: Base::Home,
        file: ".codex/config.toml",
        project: Some(".codex/config.toml"),
        format: FileFormat::Toml,
        container: "mcp_servers",
        fields: &[
            ("command", EntryField::Command),
            ("args", EntryField::Arguments),
            ("tool_timeout_sec", LONGEST_CALL),
        ],
        dialect: "codex",
        next: "restart Codex; `/mcp` lists its servers (those of a project only where the project is trusted)",
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        program: "gemini",
        moved_by: &[("GEMINI_CLI_HOME", ".gemini/settings.json")],
        base: Base::Home,
        file: ".gemini/settings.json",
        project: Some(".gemini/settings.json"),
        format: FileFormat::Jsonc,
        container: "mcpServers",
        fields: PLAIN,
        dialect: "gemini",
        next: "restart Gemini CLI; `/mcp` lists its servers",
    },
    Client {
        name: "vscode",
        title: "VS Code",
        program: "code",
        moved_by: &[("VSCODE_PORTABLE", "user-data/User/mcp.json"), ("VSCODE_APPDATA", "Code/User/mcp.json")],
        base: Base::Config,
        file: "Code/User/mcp.json",
        project: Some(".vscode/mcp.json"),
        format: FileFormat::Jsonc,
        container: "servers",
        fields: TYPED,
        dialect: "native",
        next: "run `MCP: List Servers` in VS Code and start it there",
    },
    Client {
        name: "zed",
        title: "Zed",
        program: "zed",
        moved_by: &[("FLATPAK_XDG_CONFIG_HOME", "zed/settings.json")],
        base: Base::Config,
        file: "zed/settings.json",
        project: Some(".zed/settings.json"),
        format: FileFormat::Jsonc,
        container: "context_servers",
        fields: &[("command", EntryField::Command), ("args", EntryField::Arguments), ("timeout", LONGEST_CALL)],
        dialect: "native",
        next: "Zed sees the change by itself; the settings of its agent panel list the server",
    },
    Client {
        name: "goose",
        title: "Goose",
        program: "goose",
        moved_by: &[("GOOSE_PATH_ROOT", "config/config.yaml")],
        base: Base::Config,
        file: "goose/config.yaml",
        project: None,
        format: FileFormat::Yaml,
        container: "extensions",
        fields: &[
            ("enabled", EntryField::Yes),
            ("type", EntryField::Text("stdio")),
            ("name", EntryField::Name),
            ("description", EntryField::Text("The shell that AI agents use")),
            ("cmd", EntryField::Command),
            ("args", EntryField::Arguments),
            ("timeout", LONGEST_CALL),
        ],
        dialect: "native",
        next: "start a new Goose session",
    },
];

/// How this program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
}

/// What of the surroundings decides where settings are.
pub(crate) struct SetupSurroundings<'a> {
    pub(crate) variable: &'a dyn Fn(&str) -> Option<PathBuf>,
    pub(crate) project: &'a Path,
}

impl Client {
    pub(crate) fn find(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// The settings of the current user.
    pub(crate) fn user_file(&self, around: &SetupSurroundings) -> Result<PathBuf> {
        let set = |name: &str| (around.variable)(name).filter(|path| !path.as_os_str().is_empty());
        for (variable, below) in self.moved_by {
            if let Some(folder) = set(variable) {
                if folder.is_relative() {
                    bail!(
                        "{variable} is '{}', which depends on where {} is started: make it an absolute path",
                        folder.display(),
                        self.title
                    );
                }
                return Ok(folder.join(below));
            }
        }
        let home = || match set("HOME").filter(|home| home.is_absolute()) {
            Some(home) => Ok(home),
            None => bail!("HOME is not set to a directory, so the settings of {} cannot be found", self.title),
        };
        Ok(match self.base {
            Base::Home => home()?.join(self.file),
            Base::Config => match set("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute()) {
                Some(folder) => folder.join(self.file),
                None => home()?.join(".config").join(self.file),
            },
        })
    }

    /// The settings of the project in the current directory, where the client has such.
    pub(crate) fn project_file(&self, around: &SetupSurroundings) -> Option<PathBuf> {
        self.project.map(|file| around.project.join(file))
    }

    /// A new entry.
    pub(crate) fn entry(&self, name: &str, launch: &Launch) -> Vec<(&'static str, EntryValue)> {
        let value = |field: &EntryField| match field {
            EntryField::Command => EntryValue::Text(launch.command.clone()),
            EntryField::Arguments => EntryValue::List(launch.arguments.clone()),
            EntryField::Name => EntryValue::Text(name.to_owned()),
            EntryField::Text(text) => EntryValue::Text((*text).to_owned()),
            EntryField::Number(number) => EntryValue::Number(*number),
            EntryField::Yes => EntryValue::Yes,
        };
        self.fields.iter().map(|(key, field)| (*key, value(field))).collect()
    }

    /// The part of an entry that says what is started. The rest belongs to the user once it is there.
    pub(crate) fn launch_fields(&self, launch: &Launch) -> Vec<(&'static str, EntryValue)> {
        let starts = |field: &EntryField| matches!(field, EntryField::Command | EntryField::Arguments);
        let keys: Vec<_> = self.fields.iter().filter(|(_, field)| starts(field)).map(|(key, _)| *key).collect();
        self.entry("", launch).into_iter().filter(|(key, _)| keys.contains(key)).collect()
    }

    /// What an entry that is there starts; nothing where it starts no program.
    pub(crate) fn launch_of(&self, entry: &serde_json::Value) -> Option<Launch> {
        let key =
            |wanted: fn(&EntryField) -> bool| self.fields.iter().find(|(_, field)| wanted(field)).map(|(key, _)| *key);
        let command = entry.get(key(|field| matches!(field, EntryField::Command))?)?.as_str()?.to_owned();
        let arguments = match entry.get(key(|field| matches!(field, EntryField::Arguments))?) {
            Some(list) => list.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        Some(Launch { command, arguments })
    }
}
