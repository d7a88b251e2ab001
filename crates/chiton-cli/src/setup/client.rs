//! What is known of a client: where its settings are, what an entry looks like, what else can be set.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::Value;

use super::connection::{Connection, HttpServer, Launch, TOKEN_VARIABLE, Token};
use super::format::{EntryValue, FileFormat, Setting, SettingValue};

/// A program that uses MCP servers.
pub(crate) struct Client {
    /// What it is called on our command line.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// The program, as it is found on the `PATH`.
    pub(crate) program: &'static str,
    /// Where the servers stand.
    pub(crate) file: FilePlace,
    pub(crate) format: FileFormat,
    /// The key under which servers stand.
    pub(crate) container: &'static str,
    /// What the entry of a program is made of.
    pub(crate) fields: EntryFieldRows,
    /// Those of the fields that an older entry of ours gets as well, unless it has them.
    pub(crate) brought: &'static [&'static str],
    /// The entry of a server over HTTP.
    pub(crate) http: HttpEntry,
    /// The tool surface its models know best.
    pub(crate) dialect: &'static str,
    /// What makes it see the new entry.
    pub(crate) next: &'static str,
    /// What has to be trusted before it uses the entry.
    pub(crate) trust: Trust,
    /// What it does before it calls our tools.
    pub(crate) asks: &'static str,
    /// What lets it call our tools without asking.
    pub(crate) approve: Switch,
    /// What switches its own shell off.
    pub(crate) replace: Switch,
}

pub(crate) type EntryFieldRows = &'static [(&'static str, EntryField)];

/// Where a file is.
#[derive(Clone, Copy)]
pub(crate) struct FilePlace {
    /// Variables that move it, first one first: the variable, and the file below what it names.
    pub(crate) moved_by: &'static [(&'static str, &'static str)],
    /// That of the user.
    pub(crate) user: (Base, &'static str),
    /// Other places for the same, which count where the file is there and the usual one is not.
    pub(crate) user_instead: &'static [(Base, &'static str)],
    /// That of a project, below its directory, where the client knows such.
    pub(crate) project: Option<&'static str>,
    pub(crate) project_instead: &'static [&'static str],
}

#[derive(Clone, Copy)]
pub(crate) enum Base {
    /// The home directory.
    Home,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home directory.
    Config,
}

/// One field of an entry.
#[derive(Clone, Copy)]
pub(crate) enum EntryField {
    /// The path of this program.
    Command,
    /// What it is called with.
    Arguments,
    /// Both, in one list.
    CommandLine,
    /// The name of the entry.
    Name,
    Text(&'static str),
    List(&'static [&'static str]),
    /// The names of our tools.
    Tools,
    Number(u32),
    Yes,
    No,
    /// Where the server is.
    Url,
    /// Headers with the token.
    Headers,
    /// The name of the variable that holds the token.
    TokenVariable,
}

/// Whether a client can use a server over HTTP, and how.
pub(crate) enum HttpEntry {
    /// It starts programs only.
    Unsupported,
    Supported {
        /// The entry that refers to a variable, and how its header does; none where the client knows no variables there.
        referring: Option<(EntryFieldRows, &'static str)>,
        /// The entry with the token in it.
        copied: EntryFieldRows,
    },
}

/// What has to be trusted, in words for a person.
pub(crate) enum Trust {
    Nothing,
    /// The folder, for every server.
    Always(&'static str),
    /// The servers of a project.
    InProjects(&'static str),
}

/// Something about a client that can be switched. In texts, `{server}` stands for the name of the entry.
pub(crate) enum Switch {
    /// By a field of the entry.
    Field(&'static str, EntryField),
    /// By settings in its files, and what else follows from that.
    Settings(&'static [ClientSetting], Option<&'static str>),
    /// No file has it: what a person does.
    ByHand(&'static str),
    /// There is nothing to switch, and why.
    Needless(&'static str),
}

/// A setting of a client beside the entry.
pub(crate) struct ClientSetting {
    pub(crate) place: SettingPlace,
    /// The keys that lead to it; `{server}` is the name of the entry, `{tool}` each of our tools.
    pub(crate) path: &'static [&'static str],
    pub(crate) value: ClientSettingValue,
}

pub(crate) enum SettingPlace {
    /// In the file of the entry.
    Beside,
    /// In a file of its own, in JSON.
    Own(FilePlace),
}

pub(crate) enum ClientSettingValue {
    /// In a list, with other items.
    Items(&'static [&'static str]),
    Text(&'static str),
    No,
}

/// What of the surroundings decides where settings are.
pub(crate) struct SetupSurroundings<'a> {
    pub(crate) variable: &'a dyn Fn(&str) -> Option<PathBuf>,
    pub(crate) project: &'a Path,
}

/// Whether the client may call our tools without asking.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    Asked,
    Given,
}

/// What an entry is filled with.
pub(crate) struct EntryContent<'a> {
    pub(crate) name: &'a str,
    pub(crate) connection: &'a Connection,
    pub(crate) approval: Approval,
    /// The names of our tools.
    pub(crate) tools: &'a [String],
}

impl FilePlace {
    /// That of the current user of a client.
    pub(crate) fn of_user(&self, title: &str, around: &SetupSurroundings) -> Result<PathBuf> {
        for (variable, below) in self.moved_by {
            if let Some(folder) = around.set(variable) {
                if folder.is_relative() {
                    bail!(
                        "{variable} is '{}', which depends on where {title} is started: make it an absolute path",
                        folder.display()
                    );
                }
                return Ok(if below.is_empty() { folder } else { folder.join(below) });
            }
        }
        let usual = around.below(self.user, title)?;
        if !usual.exists() {
            for instead in self.user_instead {
                let other = around.below(*instead, title)?;
                if other.exists() {
                    return Ok(other);
                }
            }
        }
        Ok(usual)
    }

    /// That of the project in the current directory, where the client has such.
    pub(crate) fn of_project(&self, around: &SetupSurroundings) -> Option<PathBuf> {
        let usual = around.project.join(self.project?);
        let others = self.project_instead.iter().map(|file| around.project.join(file));
        Some(if usual.exists() { usual } else { others.into_iter().find(|file| file.exists()).unwrap_or(usual) })
    }
}

impl SetupSurroundings<'_> {
    fn set(&self, name: &str) -> Option<PathBuf> {
        (self.variable)(name).filter(|path| !path.as_os_str().is_empty())
    }

    fn below(&self, (base, file): (Base, &str), title: &str) -> Result<PathBuf> {
        let home = || match self.set("HOME").filter(|home| home.is_absolute()) {
            Some(home) => Ok(home),
            None => bail!("HOME is not set to a directory, so the settings of {title} cannot be found"),
        };
        Ok(match base {
            Base::Home => home()?.join(file),
            Base::Config => match self.set("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute()) {
                Some(folder) => folder.join(file),
                None => home()?.join(".config").join(file),
            },
        })
    }
}

impl Client {
    /// A new entry.
    pub(crate) fn entry(&self, content: &EntryContent) -> Vec<(&'static str, EntryValue)> {
        let mut fields = self.fields_for(content.connection).to_vec();
        if let (Switch::Field(key, field), Approval::Given) = (&self.approve, content.approval) {
            fields.push((*key, *field));
        }
        fields.iter().map(|(key, field)| (*key, self.value(*field, content))).collect()
    }

    /// The entry as we wrote it, where one of ours is there: without those fields that came later.
    pub(crate) fn entry_as_found(&self, content: &EntryContent, found: &Value) -> Vec<(&'static str, EntryValue)> {
        let is_there = |key: &str| !self.brought.contains(&key) || found.get(key).is_some();
        self.entry(content).into_iter().filter(|(key, _)| is_there(key)).collect()
    }

    /// What an entry of ours that is there has to say. The rest of it belongs to the user.
    pub(crate) fn needed_fields(&self, content: &EntryContent, found: &Value) -> Vec<(&'static str, EntryValue)> {
        let rows = self.fields_for(content.connection);
        let decides = |key: &str| match rows.iter().find(|(row, _)| *row == key).map(|(_, field)| field) {
            // The permission, which is there where it was asked for, and all that says what is reached.
            None
            | Some(
                EntryField::Command
                | EntryField::Arguments
                | EntryField::CommandLine
                | EntryField::Url
                | EntryField::Headers
                | EntryField::TokenVariable,
            ) => true,
            Some(_) => self.brought.contains(&key) && found.get(key).is_none(),
        };
        self.entry(content).into_iter().filter(|(key, _)| decides(key)).collect()
    }

    /// Whether an entry that is there lets the client call our tools without asking.
    pub(crate) fn approval_in(&self, found: &Value) -> Approval {
        match self.approve {
            Switch::Field(key, _) if found.get(key).is_some() => Approval::Given,
            _ => Approval::Asked,
        }
    }

    fn fields_for(&self, connection: &Connection) -> EntryFieldRows {
        match (connection, &self.http) {
            (Connection::Program(_), _) | (_, HttpEntry::Unsupported) => self.fields,
            (Connection::Server(server), HttpEntry::Supported { referring, copied }) => {
                match (&server.token, referring) {
                    (Token::Variable, Some((fields, _))) => fields,
                    _ => copied,
                }
            }
        }
    }

    fn value(&self, field: EntryField, content: &EntryContent) -> EntryValue {
        let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
        let (launch, server) = match content.connection {
            Connection::Program(launch) => (Some(launch), None),
            Connection::Server(server) => (None, Some(server)),
        };
        let command = || launch.map(|launch| launch.command.clone()).unwrap_or_default();
        let arguments = || launch.map(|launch| launch.arguments.clone()).unwrap_or_default();
        match field {
            EntryField::Command => EntryValue::Text(command()),
            EntryField::Arguments => EntryValue::List(arguments()),
            EntryField::CommandLine => EntryValue::List(std::iter::once(command()).chain(arguments()).collect()),
            EntryField::Name => EntryValue::Text(content.name.to_owned()),
            EntryField::Text(text) => EntryValue::Text(text.to_owned()),
            EntryField::List(list) => EntryValue::List(owned(list)),
            EntryField::Tools => EntryValue::List(content.tools.to_vec()),
            EntryField::Number(number) => EntryValue::Number(number),
            EntryField::Yes => EntryValue::Yes,
            EntryField::No => EntryValue::No,
            EntryField::Url => EntryValue::Text(server.map(|server| server.url.clone()).unwrap_or_default()),
            EntryField::Headers => {
                EntryValue::Pairs(vec![("Authorization", server.map(|it| self.bearer(&it.token)).unwrap_or_default())])
            }
            EntryField::TokenVariable => EntryValue::Text(TOKEN_VARIABLE.to_owned()),
        }
    }

    fn bearer(&self, token: &Token) -> String {
        match (token, &self.http) {
            (Token::Copied(token), _) => format!("Bearer {token}"),
            (Token::Variable, HttpEntry::Supported { referring: Some((_, reference)), .. }) => {
                format!("Bearer {reference}")
            }
            (Token::Variable, _) => String::new(),
        }
    }

    /// How an entry that is there reaches its server; nothing where it is not one that we could have written.
    pub(crate) fn connection_of(&self, entry: &Value) -> Option<Connection> {
        self.launch_of(entry).map(Connection::Program).or_else(|| self.server_of(entry).map(Connection::Server))
    }

    fn launch_of(&self, entry: &Value) -> Option<Launch> {
        let list = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect()
        };
        if let Some(key) = key_of(self.fields, |field| matches!(field, EntryField::CommandLine)) {
            let mut line = list(entry.get(key)?)?.into_iter();
            return Some(Launch { command: line.next()?, arguments: line.collect() });
        }
        let command = entry.get(key_of(self.fields, |field| matches!(field, EntryField::Command))?)?.as_str()?;
        let arguments = match entry.get(key_of(self.fields, |field| matches!(field, EntryField::Arguments))?) {
            Some(arguments) => list(arguments)?,
            None => Vec::new(),
        };
        Some(Launch { command: command.to_owned(), arguments })
    }

    fn server_of(&self, entry: &Value) -> Option<HttpServer> {
        let HttpEntry::Supported { referring, copied } = &self.http else { return None };
        let url = entry.get(key_of(copied, |field| matches!(field, EntryField::Url))?)?.as_str()?.to_owned();
        let header = |rows: EntryFieldRows| {
            let key = key_of(rows, |field| matches!(field, EntryField::Headers))?;
            entry.get(key)?.get("Authorization")?.as_str()
        };
        let refers = referring.is_some_and(|(fields, reference)| {
            match key_of(fields, |field| matches!(field, EntryField::TokenVariable)) {
                Some(key) => entry.get(key).is_some_and(|name| name == TOKEN_VARIABLE),
                None => header(fields) == Some(&format!("Bearer {reference}")),
            }
        });
        if refers {
            return Some(HttpServer { url, token: Token::Variable });
        }
        let token = header(copied)?.strip_prefix("Bearer ")?;
        let is_ours = token.len() >= 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| HttpServer { url, token: Token::Copied(token.to_owned()) })
    }
}

fn key_of(rows: EntryFieldRows, wanted: impl Fn(&EntryField) -> bool) -> Option<&'static str> {
    rows.iter().find(|(_, field)| wanted(field)).map(|(key, _)| *key)
}

impl ClientSetting {
    /// The setting itself, for the name of an entry and the tools that it offers.
    pub(crate) fn resolve(&self, server: &str, tools: &[String]) -> Vec<Setting> {
        let fill = |text: &str, tool: &str| text.replace("{server}", server).replace("{tool}", tool);
        let with = |tool: &str| Setting {
            path: self.path.iter().map(|key| fill(key, tool)).collect(),
            value: match self.value {
                ClientSettingValue::Items(items) => {
                    SettingValue::Items(items.iter().map(|item| fill(item, tool)).collect())
                }
                ClientSettingValue::Text(text) => SettingValue::Text(text.to_owned()),
                ClientSettingValue::No => SettingValue::No,
            },
        };
        if self.path.iter().any(|key| key.contains("{tool}")) {
            tools.iter().map(|tool| with(tool)).collect()
        } else {
            vec![with("")]
        }
    }
}
