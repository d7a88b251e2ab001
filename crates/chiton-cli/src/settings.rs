//! The settings file of the human: defaults < file < environment < flags.
//!
//! Every key can be given as a variable as well: `http.listen` is `CHITON_HTTP_LISTEN`.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use chiton_engine::Limits;
use chiton_engine::guard::policy::GuardPolicy;
use chiton_operator::LikeLines;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml_edit::de::from_str as from_toml;

use chiton_reach::target::TargetSettings;

use crate::audit_settings::AuditSettings;
use crate::company::CompanyPolicy;
use crate::passphrase;
use crate::sandbox_settings::{ProfileSettings, SandboxCheck, SandboxSettings};

/// Everything that can be set. What is not set stays as the program has it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// Where runs and sessions are kept.
    pub(crate) state_dir: Option<PathBuf>,
    /// The program that tells a person of a task, with its arguments.
    pub(crate) notify: Vec<String>,
    pub(crate) mcp: McpSettings,
    pub(crate) http: HttpSettings,
    pub(crate) secrets: SecretSettings,
    pub(crate) environment: EnvironmentSettings,
    pub(crate) audit: AuditSettings,
    pub(crate) output: OutputSettings,
    pub(crate) retention: RetentionSettings,
    pub(crate) guard: GuardPolicy,
    pub(crate) sandbox: SandboxSettings,
    /// Where verbs work that say nothing of it: a target, as after `--on`.
    pub(crate) on: Option<String>,
    /// Other machines, and how they are reached.
    pub(crate) target: BTreeMap<String, TargetSettings>,
    /// A folder with programs for other machines, besides the usual ones.
    pub(crate) carry: Option<PathBuf>,
    /// Where they were read from.
    #[serde(skip)]
    pub(crate) file: Option<PathBuf>,
    /// What holds on this machine for everybody.
    #[serde(skip)]
    pub(crate) company: Option<CompanyPolicy>,
}

/// What `chiton mcp` and `chiton call` start from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct McpSettings {
    pub(crate) dialect: Option<String>,
    pub(crate) timeout: Option<u64>,
    pub(crate) dir: Option<PathBuf>,
    pub(crate) session: Option<String>,
    pub(crate) max_tasks: Option<usize>,
    pub(crate) structured: bool,
    /// Whether a tool surface without one gets a tool that lists tasks.
    pub(crate) list_tool: bool,
    /// Whether the model of Claude Code is told at once what happens to tasks.
    pub(crate) channel: bool,
    /// Whether calls may undo what commands did to files.
    pub(crate) allow_undo: bool,
    pub(crate) log_level: Option<String>,
}

/// How `chiton mcp` is served over HTTP.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpSettings {
    pub(crate) listen: Option<String>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) allow_remote: bool,
}

/// Where the values of secrets come from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SecretSettings {
    pub(crate) dir: Option<PathBuf>,
    /// NAME or NAME=VARIABLE.
    pub(crate) env: Vec<String>,
    pub(crate) command: Option<String>,
}

/// Which variables reach commands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EnvironmentSettings {
    pub(crate) keep: Vec<String>,
    pub(crate) strict: bool,
    /// Whether the login shell is asked.
    pub(crate) login: bool,
}

/// How output is shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OutputSettings {
    pub(crate) compact: Option<CompactMode>,
}

/// What is left out of long output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CompactMode {
    /// Lines that are like those around them, in runs of at least six
    Runs,
    /// Nothing
    Off,
}

impl From<CompactMode> for LikeLines {
    fn from(mode: CompactMode) -> Self {
        match mode {
            CompactMode::Runs => Self::LeftOut,
            CompactMode::Off => Self::Shown,
        }
    }
}

/// How long finished runs are kept.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetentionSettings {
    /// Seconds.
    pub(crate) age: Option<u64>,
    pub(crate) finished: Option<usize>,
    pub(crate) bytes: Option<u64>,
    /// How long what commands have changed can be undone, in seconds.
    pub(crate) undo_age: Option<u64>,
    /// And how much of it, in bytes on the disk.
    pub(crate) undo_bytes: Option<u64>,
}

impl RetentionSettings {
    pub(crate) fn apply(self, limits: &mut Limits) {
        limits.retention.age = self.age.map_or(limits.retention.age, Duration::from_secs);
        limits.retention.finished = self.finished.unwrap_or(limits.retention.finished);
        limits.spool.in_all = self.bytes.unwrap_or(limits.spool.in_all);
        limits.undo.age = self.undo_age.map_or(limits.undo.age, Duration::from_secs);
        limits.undo.in_all = self.undo_bytes.unwrap_or(limits.undo.in_all);
    }
}

impl Settings {
    /// The settings of `file`, or of the usual one where that exists, with those of the environment over them.
    pub(crate) fn load(file: Option<&Path>, fits: SandboxCheck) -> Result<Self> {
        let by_variable = env::var_os(FILE_VARIABLE).map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
        let named = match (file, by_variable) {
            (Some(file), _) => Some((file.to_owned(), "--config ")),
            (None, Some(file)) => Some((file, "CHITON_CONFIG=")),
            (None, None) => None,
        };
        let path = named.as_ref().map(|(path, _)| path.clone()).or_else(usual_file);
        let found = path.as_deref().map(|path| read(path, fits)).transpose()?.flatten();
        if let (Some((file, by)), None) = (named, &found) {
            bail!("{by}{}: there is no such file", file.display());
        }
        let from = path.filter(|_| found.is_some());
        let mut table = found.unwrap_or_default();
        overlay(&mut table)?;
        let mut settings = Self { file: from, ..Self::deserialize(Value::Object(table))? };
        if let Some(company) = CompanyPolicy::load(fits)? {
            company.apply(&mut settings.sandbox, &mut settings.audit)?;
            settings.company = Some(company);
        }
        // Once more, for what a variable names.
        fits(&settings.sandbox)?;
        Ok(settings)
    }
}

/// Where the file is, where nobody says: `$XDG_CONFIG_HOME/chiton/config.toml`.
pub(crate) fn usual_file() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    folder.map(|folder| folder.join("chiton/config.toml"))
}

/// The variable that names the file.
const FILE_VARIABLE: &str = "CHITON_CONFIG";
/// Settings before they have their types. Values of JSON can hold all that there are.
type Table = serde_json::Map<String, Value>;

/// Variables of ours that are not settings.
const OTHER_VARIABLES: [&str; 2] = [FILE_VARIABLE, passphrase::VARIABLE];

fn read(path: &Path, fits: SandboxCheck) -> Result<Option<Table>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    parse(&text, fits).with_context(|| path.display().to_string()).map(Some)
}

/// Reads settings, and refuses what cannot be.
pub(crate) fn parse(text: &str, fits: SandboxCheck) -> Result<Table> {
    let table: Table = from_toml(text)?;
    check(&table, &known(), "")?;
    // Once more, for the types and where in the text they are wrong.
    let settings = from_toml::<Settings>(text)?;
    fits(&settings.sandbox)?;
    Ok(table)
}

/// All keys there are, as a tree.
fn known() -> Value {
    let mut known = serde_json::to_value(Settings::default()).unwrap_or_default();
    // Left out of the value while it is empty.
    known["guard"]["rule"] = Value::Array(Vec::new());
    known["guard"]["allow"] = Value::Array(Vec::new());
    known["sandbox"]["profiles"][ANY] = serde_json::to_value(ProfileSettings::default()).unwrap_or_default();
    known["audit"]["otlp_headers"][ANY] = Value::Null;
    known["target"][ANY] = serde_json::to_value(TargetSettings::default()).unwrap_or_default();
    known
}

/// Among all keys: whatever name a person gives. It has no variable.
const ANY: &str = "*";

/// Refuses a key that does not exist, and names the nearest one that does.
fn check(table: &Table, known: &Value, within: &str) -> Result<()> {
    let Value::Object(entries) = known else { return Ok(()) };
    for (key, value) in table {
        let Some(inner) = entries.get(key).or_else(|| entries.get(ANY)) else {
            let nearest = entries
                .keys()
                .max_by(|one, other| strsim::jaro_winkler(one, key).total_cmp(&strsim::jaro_winkler(other, key)));
            let nearest = nearest.map(|nearest| format!("; did you mean {within}{nearest}?")).unwrap_or_default();
            bail!("there is no setting {within}{key}{nearest}");
        };
        if let Value::Object(table) = value {
            check(table, inner, &format!("{within}{key}."))?;
        }
    }
    Ok(())
}

/// Puts in what the environment says.
fn overlay(table: &mut Table) -> Result<()> {
    let mut leaves = Vec::new();
    collect(&known(), &mut Vec::new(), &mut leaves);
    let variable = |path: &[String]| format!("CHITON_{}", path.join("_").to_uppercase());
    check_variables(&leaves.iter().map(|path| variable(path)).collect::<Vec<_>>())?;
    for path in leaves {
        let name = variable(&path);
        let Some(text) = env::var_os(&name) else { continue };
        let text = text.into_string().ok().with_context(|| format!("{name} is not text"))?;
        // As a string where the setting is one, as a TOML value otherwise, and a list also with commas alone.
        let read = from_toml::<Table>(&format!("value = {text}")).ok().and_then(|mut table| table.remove("value"));
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let list = Value::Array(words.map(|word| Value::String(word.to_owned())).collect());
        let candidates = [Some(Value::String(text.clone())), read, Some(list)];
        let fits = |value: &Value| Settings::deserialize(single(&path, value.clone())).is_ok();
        let Some(value) = candidates.into_iter().flatten().find(fits) else {
            bail!("{name}={text}: {} {}", path.join("."), wanted(&path));
        };
        put(table, &path, value);
    }
    Ok(())
}

/// What a setting can be, in words: the first of these values that it takes.
fn wanted(path: &[String]) -> &'static str {
    let takes = |text: &str| {
        let value = from_toml::<Table>(&format!("value = {text}")).ok().and_then(|mut table| table.remove("value"));
        value.is_some_and(|value| Settings::deserialize(single(path, value)).is_ok())
    };
    if takes("true") {
        "is true or false"
    } else if takes("1") {
        "is a whole number"
    } else if takes("'default'") {
        "is one of default, strict, off"
    } else if takes("'runs'") {
        "is runs or off"
    } else if path.iter().any(|key| key == "rule") {
        "is a list of tables: rules are easier to write in the settings file"
    } else {
        "cannot be that"
    }
}

/// Refuses a variable that looks like one of ours and is not: a typing mistake would go unnoticed.
fn check_variables(known: &[String]) -> Result<()> {
    for (name, _) in env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with("CHITON_")) else { continue };
        // Our own tests find their processes by such a one.
        if name.starts_with("CHITON_TEST_")
            || OTHER_VARIABLES.contains(&name)
            || known.iter().any(|known| known == name)
        {
            continue;
        }
        let names = known.iter().map(String::as_str).chain(OTHER_VARIABLES);
        let nearness = |one: &&str| strsim::jaro_winkler(one, name);
        let nearest = names.max_by(|one, other| nearness(one).total_cmp(&nearness(other))).unwrap_or_default();
        bail!("there is no setting for the variable {name}; did you mean {nearest}?");
    }
    Ok(())
}

fn collect(known: &Value, path: &mut Vec<String>, leaves: &mut Vec<Vec<String>>) {
    match known {
        Value::Object(entries) => {
            for (key, inner) in entries.iter().filter(|(key, _)| *key != ANY) {
                path.push(key.clone());
                collect(inner, path, leaves);
                path.pop();
            }
        }
        _ => leaves.push(path.clone()),
    }
}

fn single(path: &[String], value: Value) -> Value {
    let mut table = Table::new();
    put(&mut table, path, value);
    Value::Object(table)
}

fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => drop(table.insert(key.clone(), value)),
        [key, rest @ ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Value::Object(Table::new()));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_the_file_is_said_with_its_place() {
        for (text, parts) in [
            ("[mcp]\ndialct = 'exec'", &["no setting mcp.dialct", "did you mean mcp.dialect?"][..]),
            ("[htpp]\nlisten = 'x'", &["no setting htpp", "did you mean http?"]),
            ("[mcp]\ntimeout = 'soon'", &["line 2", "timeout"]),
            ("[mcp\n", &["line 1"]),
        ] {
            let problem = format!("{:#}", parse(text, |_| Ok(())).unwrap_err());
            assert!(parts.iter().all(|part| problem.contains(part)), "{text}: {problem}");
        }
        assert!(parse("[mcp]\ndialect = 'exec'\ntimeout = 5\n[http]\nhosts = ['a:1']", |_| Ok(())).is_ok());
    }

    #[test]
    fn every_setting_has_a_variable() {
        let mut leaves = Vec::new();
        collect(&known(), &mut Vec::new(), &mut leaves);
        let names: Vec<String> = leaves.iter().map(|path| path.join(".")).collect();
        assert!(["state_dir", "mcp.dialect", "http.listen"].iter().all(|name| names.iter().any(|known| known == name)));
    }
}
