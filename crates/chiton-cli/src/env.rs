//! `chiton env`: which variables a command would get, and why not the others.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use chiton_engine::ByteString;
use chiton_engine::secrets::Masker;
use chiton_engine::session::login::{LoginConfig, LoginEnvironment, join_paths};
use chiton_engine::state::environment::{DEFAULTS, EnvironmentPolicy, IS_OURS, Origin, passwords};
use clap::Args;
use serde_json::json;

use crate::messages::remark;
use crate::settings::{EnvironmentSettings, Settings};
use crate::surroundings;
use crate::table::lay_out;

/// Which variables reach commands.
#[derive(Args, Clone, Default)]
pub(crate) struct EnvironmentArguments {
    /// Let a variable pass that is kept from commands; NAME* stands for any rest; may be given several times
    #[arg(long, value_name = "NAME")]
    keep_env: Vec<String>,
    /// Take over only what every program needs (PATH, HOME, LANG …), and what --keep-env names
    #[arg(long)]
    strict_env: bool,
}

impl EnvironmentArguments {
    /// The same, with what the settings say.
    pub(crate) fn with(&self, settings: &EnvironmentSettings) -> Self {
        let keep_env = [settings.keep.as_slice(), &self.keep_env].concat();
        Self { keep_env, strict_env: self.strict_env || settings.strict }
    }

    pub(crate) fn apply(&self, policy: &mut EnvironmentPolicy) {
        policy.strict |= self.strict_env;
        policy.pass.extend(self.keep_env.iter().cloned());
    }
}

/// Show which variables a command would get, what is kept back, and why
#[derive(Args)]
#[command(after_help = "\
Values of variables that are kept back are not shown.

Examples:
  chiton env                        what a command would find, and what it would not
  chiton env --login --explain PATH where each entry of PATH comes from")]
pub(crate) struct EnvArguments {
    #[command(flatten)]
    environment: EnvironmentArguments,
    /// With what the login shell adds
    #[arg(long)]
    login: bool,
    /// Where one variable comes from; of PATH, where each entry does
    #[arg(long, value_name = "NAME")]
    explain: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// A variable, and what became of it.
struct ListedVariable {
    name: String,
    /// `None` where it is kept back.
    value: Option<ByteString>,
    source: &'static str,
    why: String,
}

const OWN: &str = "environment";
const LOGIN: &str = "login shell";
const DEFAULT: &str = "default";
/// Set at the start of every command, whatever it is elsewhere.
const ALWAYS: &str = "chiton";

pub(crate) fn env(arguments: &EnvArguments, settings: &Settings) -> Result<ExitCode> {
    let mut policy = EnvironmentPolicy::default();
    arguments.environment.with(&settings.environment).apply(&mut policy);
    let own: BTreeMap<String, ByteString> = surroundings::environment().collect();
    let mut login = BTreeMap::new();
    if arguments.login || settings.environment.login {
        match ask_login_shell(&LoginConfig::default()).wait() {
            Ok(variables) => login = variables,
            Err(reason) => remark(&reason),
        }
    }
    let rows = rows(&policy, &own, &login);
    if let Some(name) = &arguments.explain {
        return explain(name, &rows, &own, &login);
    }
    if arguments.json {
        let object: serde_json::Map<String, serde_json::Value> = rows.iter().map(as_json).collect();
        crate::messages::say!("{}", serde_json::Value::Object(object));
        return Ok(ExitCode::SUCCESS);
    }
    let cells = |row: &ListedVariable| {
        let what = row.value.as_ref().map_or_else(|| format!("kept back: it {}", row.why), ByteString::to_text);
        vec![row.name.clone(), row.source.to_owned(), what.replace('\n', "\\n")]
    };
    crate::messages::put(format_args!(
        "{}",
        lay_out(&["NAME", "FROM", "VALUE"], &rows.iter().map(cells).collect::<Vec<_>>())
    ));
    Ok(ExitCode::SUCCESS)
}

fn rows(
    policy: &EnvironmentPolicy,
    own: &BTreeMap<String, ByteString>,
    login: &BTreeMap<String, ByteString>,
) -> Vec<ListedVariable> {
    let mut rows: BTreeMap<String, ListedVariable> = BTreeMap::new();
    let defaults: BTreeMap<String, ByteString> =
        DEFAULTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    // What comes later wins.
    for (source, variables) in [(DEFAULT, &defaults), (LOGIN, login), (OWN, own)] {
        for (name, value) in variables {
            let objection = policy.objection(name, value, Origin::Inherited);
            let is_kept_back = objection.is_some();
            let why = objection.unwrap_or_default().into_owned();
            if is_kept_back && rows.get(name).is_some_and(|row| row.value.is_some()) {
                continue;
            }
            let value = (!is_kept_back).then(|| without_password(name, value));
            rows.insert(name.clone(), ListedVariable { name: name.clone(), value, source, why });
        }
    }
    if let (Some(path), Some(row)) = (login.get("PATH"), rows.get_mut("PATH")) {
        let joined = join_paths(path, own.get("PATH").map_or(b"", |path| &path[..]));
        (row.value, row.source) = (Some(joined.into()), "both");
    }
    let (name, value) = IS_OURS;
    let ours = ListedVariable { name: name.to_owned(), value: Some(value.into()), source: ALWAYS, why: String::new() };
    rows.insert(name.to_owned(), ours);
    rows.into_values().collect()
}

/// A proxy is shown without its password.
fn without_password(name: &str, value: &ByteString) -> ByteString {
    let masked = passwords(name, value);
    if masked.is_empty() {
        return value.clone();
    }
    Masker::new(masked.iter().map(|(reference, password)| (reference, password))).mask(value).into()
}

fn as_json(row: &ListedVariable) -> (String, serde_json::Value) {
    let value = row.value.as_ref().map(ByteString::to_text);
    let why = row.value.is_none().then_some(&row.why);
    (row.name.clone(), json!({"from": row.source, "value": value, "kept_back": why}))
}

fn explain(
    name: &str,
    rows: &[ListedVariable],
    own: &BTreeMap<String, ByteString>,
    login: &BTreeMap<String, ByteString>,
) -> Result<ExitCode> {
    let Some(row) = rows.iter().find(|row| row.name == name) else {
        bail!("{name} is not set, and commands do not get it")
    };
    let Some(value) = &row.value else {
        crate::messages::say!("{name} is kept back: it {} (--keep-env {name} lets it pass)", row.why);
        return Ok(ExitCode::SUCCESS);
    };
    if name != "PATH" {
        crate::messages::say!("{name} comes from the {}: {}", row.source, value.to_text());
        return Ok(ExitCode::SUCCESS);
    }
    let has = |variables: &BTreeMap<String, ByteString>, entry: &[u8]| {
        variables.get("PATH").is_some_and(|path| path.split(|byte| *byte == b':').any(|known| known == entry))
    };
    let cells = |entry: &[u8]| {
        let sources = match (has(login, entry), has(own, entry)) {
            (true, true) => "login shell, environment",
            (true, false) => LOGIN,
            _ => OWN,
        };
        let there = std::path::Path::new(std::ffi::OsStr::new(&*String::from_utf8_lossy(entry))).is_dir();
        let remark = if there { "" } else { " (does not exist)" };
        vec![sources.to_owned(), format!("{}{remark}", String::from_utf8_lossy(entry))]
    };
    let rows: Vec<Vec<String>> = value.split(|byte| *byte == b':').map(cells).collect();
    crate::messages::put(format_args!("{}", lay_out(&["FROM", "ENTRY"], &rows)));
    Ok(ExitCode::SUCCESS)
}

/// Asks the user's login shell, in the background.
pub(crate) fn ask_login_shell(config: &LoginConfig) -> LoginEnvironment {
    let shell = config.shell.clone().or_else(|| std::env::var_os("SHELL").map(PathBuf::from));
    let shell = shell.filter(|shell| shell.is_absolute()).unwrap_or_else(|| PathBuf::from("/bin/sh"));
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    // As a terminal starts it: with who the user is, and nothing of what this process was given.
    let kept = ["HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ"];
    let variables = kept.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?.into_vec())));
    let path = ("PATH".to_owned(), b"/usr/local/bin:/usr/bin:/bin".to_vec());
    let environment = variables.chain([path]).collect();
    LoginEnvironment::ask(shell, home, environment, Duration::from_secs(config.timeout_seconds))
}
