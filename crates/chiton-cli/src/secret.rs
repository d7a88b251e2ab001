//! `chiton secret`: the encrypted store.

use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use chiton_engine::secrets::sources::age_file::AgeFile;
use chiton_engine::secrets::value::{Masking, SecretValue};
use chiton_engine::secrets::{Secret, forbid_looking_in};
use clap::{Args, Subcommand};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use serde_json::json;
use zeroize::Zeroizing;

use crate::messages::{remark, say};
use crate::passphrase::{PassphraseSource, ask};
use crate::secret_sources;
use crate::settings::Settings;
use crate::surroundings;
use crate::table::{lay_out, span};

/// Keep secrets that commands use by reference
#[derive(Args)]
#[command(after_help = "\
A command that says {{secret:NAME}} gets the value; replies, logs and listings show the token in its place.
Values are read from standard input, or asked for without showing them; the last line end is not part of them.

The store is a folder of age files: `age -d -i identity secrets.age` opens it.

Examples:
  chiton secret set github-token                                 asks for it
  pass show web/github | chiton secret set github-token
  chiton run 'curl -H \"Authorization: Bearer {{secret:github-token}}\" https://api.github.com/user'
  chiton secret encrypt < service-account.json                   prints {{decrypt:ID}}, to be used in commands")]
pub(crate) struct SecretArguments {
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        help = "Where the store is [default: $XDG_DATA_HOME/chiton/secrets]"
    )]
    secrets_dir: Option<PathBuf>,
    #[command(subcommand)]
    verb: SecretVerb,
}

#[derive(Subcommand)]
enum SecretVerb {
    /// Set a secret, a new one or in place of another
    Set {
        /// Its name: up to 64 letters, digits, '_', '.' or '-'
        #[arg(add = ArgValueCandidates::new(known_names))]
        name: String,
        /// Do not mask it in output: for short values, and those that are not secret
        #[arg(long)]
        no_mask: bool,
    },
    /// Show names and ages, never values
    List {
        /// One JSON object for each, one a line
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret, or what was encrypted under an id
    Rm {
        /// Its name or id
        #[arg(add = ArgValueCandidates::new(known_names))]
        name: String,
    },
    /// Make a new key and encrypt everything with it
    Rotate,
    /// Encrypt a value by itself and print the reference to it
    Encrypt,
    /// Print what was encrypted under an id
    Decrypt {
        /// The id
        id: String,
    },
    /// Make the key under a passphrase, before the first secret is set
    Lock,
}

pub(crate) fn secret(arguments: &SecretArguments, settings: &Settings) -> Result<ExitCode> {
    let _ = forbid_looking_in();
    let folder = match arguments.secrets_dir.as_ref().or(settings.secrets.dir.as_ref()) {
        Some(folder) => std::path::absolute(folder)?,
        None => surroundings::secrets_directory()?,
    };
    let store = secret_sources::file(folder, PassphraseSource::Asked);
    match &arguments.verb {
        SecretVerb::Set { name, no_mask } => set(&store, name, *no_mask)?,
        SecretVerb::List { json } => list(&store, *json)?,
        SecretVerb::Rm { name } => store.remove(name)?,
        SecretVerb::Rotate => {
            let count = store.rotate()?;
            remark(&format!("there is a new key, and {count} secrets are encrypted with it"));
        }
        SecretVerb::Encrypt => say!("{}", store.encrypt(&read_value("Value")?)?),
        SecretVerb::Decrypt { id } => match store.decrypt(id)? {
            Some(value) => io::stdout().write_all(&value)?,
            None => bail!("nothing is encrypted under '{id}'; `chiton secret list` shows what is"),
        },
        SecretVerb::Lock => lock(&store)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn set(store: &AgeFile, name: &str, no_mask: bool) -> Result<()> {
    if !chiton_engine::secrets::reference::is_name(name) {
        bail!("'{name}' is not a name: use 1 to 64 letters, digits, '_', '.' or '-'");
    }
    let value = SecretValue::new(read_value(&format!("Value of {name}"))?.to_vec());
    let masking = if no_mask { Masking::Shown } else { Masking::Masked };
    let was_there = store.set(name, &Secret { value, masking })?;
    remark(&format!("{{{{secret:{name}}}}} is {}", if was_there { "changed" } else { "set" }));
    Ok(())
}

fn list(store: &AgeFile, json: bool) -> Result<()> {
    let row = |listed: &chiton_engine::secrets::sources::age_file::Listed| {
        let age = SystemTime::now().duration_since(listed.set_at).unwrap_or_default();
        let shown = if listed.masking == Masking::Shown { "shown" } else { "masked" };
        vec![listed.reference.to_string(), span(age), shown.to_owned()]
    };
    let found = store.list()?;
    if json {
        for listed in &found {
            let set_at = listed.set_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            say!(
                "{}",
                json!({
                    "reference": listed.reference.to_string(),
                    "set_at_ms": u64::try_from(set_at.as_millis()).unwrap_or(u64::MAX),
                    "masked": listed.masking != Masking::Shown,
                })
            );
        }
        return Ok(());
    }
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    if !rows.is_empty() {
        crate::messages::put(format_args!("{}", lay_out(&["REFERENCE", "AGE", "IN OUTPUT"], &rows)));
    }
    Ok(())
}

/// Names of secrets, for the completion of the command line: where nobody has to be asked for a passphrase.
fn known_names() -> Vec<CompletionCandidate> {
    let Ok(folder) = surroundings::secrets_directory() else { return Vec::new() };
    let listed = secret_sources::file(folder, PassphraseSource::FromEnvironment).list().unwrap_or_default();
    listed.into_iter().map(|one| CompletionCandidate::new(one.reference.name)).collect()
}

fn lock(store: &AgeFile) -> Result<()> {
    let first = PassphraseSource::Asked
        .find()
        .context("there is no terminal to ask for the passphrase, and no CHITON_PASSPHRASE")?;
    store.create_locked(&first)?;
    remark("the key is under this passphrase; a server finds it in CHITON_PASSPHRASE");
    Ok(())
}

/// The value, from standard input or from the person at the terminal, without its last line end.
fn read_value(prompt: &str) -> Result<Zeroizing<Vec<u8>>> {
    if io::stdin().is_terminal() {
        let value = ask(prompt)?.context("there is no terminal")?;
        return Ok(Zeroizing::new(value.as_bytes().to_vec()));
    }
    let mut value = Zeroizing::new(Vec::new());
    io::stdin().lock().read_to_end(&mut value).context("the value could not be read from standard input")?;
    if value.ends_with(b"\n") {
        value.pop();
    }
    if value.ends_with(b"\r") {
        value.pop();
    }
    Ok(value)
}
