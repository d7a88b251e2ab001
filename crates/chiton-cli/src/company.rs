//! What holds on this machine for everybody: `/etc/chiton/policy.toml`, which the administrator writes.
//!
//! A person's settings and flags can tighten it and not loosen it. There is no variable and no flag that names another
//! file. One that others than root could have written is not believed, and nothing is run without it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use chiton_engine::guard::Context as GuardContext;
use chiton_engine::guard::policy::{CheckedPolicy, GuardPolicy, Mode};
use serde::Deserialize;

use crate::audit_settings::AuditSettings;
use crate::sandbox_settings::{ProfileSettings, SandboxCheck, SandboxSettings};

/// Where it is.
pub(crate) const FILE: &str = "/etc/chiton/policy.toml";
/// What a sandbox is called that is none.
const OFF: &str = "off";

/// What holds for everybody.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CompanyPolicy {
    /// The least that the guard does.
    pub(crate) guard: Option<GuardPolicy>,
    pub(crate) sandbox: CompanySandbox,
    pub(crate) audit: CompanyAudit,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CompanySandbox {
    /// Whether every command runs in one.
    pub(crate) required: bool,
    /// Which profiles may be used; the first where nobody names one. Without it, any.
    pub(crate) allowed: Vec<String>,
    /// Profiles, as in a person's settings.
    pub(crate) profiles: BTreeMap<String, ProfileSettings>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CompanyAudit {
    /// Whether nothing runs that cannot be written down.
    pub(crate) required: bool,
    /// Where everybody's journal is sent; see a person's settings.
    pub(crate) otlp: Option<String>,
    pub(crate) otlp_headers: BTreeMap<String, String>,
}

impl CompanyPolicy {
    /// What the administrator of this machine wants; `None` where there is no such file.
    pub(crate) fn load(fits: SandboxCheck) -> Result<Option<Self>> {
        read(Path::new(FILE), fits)
            .with_context(|| format!("{FILE}, which holds for everybody here; nothing is run without it"))
    }

    /// The name of the profile that holds where somebody wants `name`, or nobody has said anything.
    ///
    /// # Errors
    /// When that profile may not be used.
    pub(crate) fn profile(&self, name: &str, is_chosen: bool) -> Result<String> {
        let CompanySandbox { required, allowed, .. } = &self.sandbox;
        if !is_chosen && (*required && name == OFF || !allowed.is_empty() && !allowed.iter().any(|one| one == name)) {
            return Ok(allowed.first().cloned().unwrap_or_else(|| "work".to_owned()));
        }
        if name == OFF && *required {
            bail!("commands have to run in a sandbox here: {FILE} says so{}", choices(allowed));
        }
        let fits = allowed.is_empty() || allowed.iter().any(|one| one == name) || name == OFF && !required;
        ensure!(fits, "the sandbox {name} may not be used here: {FILE} says so{}", choices(allowed));
        Ok(name.to_owned())
    }

    /// Puts its profiles beside those of a person, who may not have one of the same name.
    fn add_profiles(&self, sandbox: &mut SandboxSettings) -> Result<()> {
        let extended = self.sandbox.profiles.values().filter_map(|profile| profile.extends.as_ref());
        let fixed = self.sandbox.allowed.iter().chain(self.sandbox.profiles.keys()).chain(extended);
        for name in fixed {
            ensure!(
                !sandbox.profiles.contains_key(name),
                "the settings change the sandbox profile {name}, which {FILE} has a say in: give yours another name, or remove it"
            );
        }
        sandbox.profiles.extend(self.sandbox.profiles.clone());
        Ok(())
    }

    /// Takes it into the settings of a person.
    pub(crate) fn apply(&self, sandbox: &mut SandboxSettings, audit: &mut AuditSettings) -> Result<()> {
        self.add_profiles(sandbox)?;
        audit.required |= self.audit.required;
        if let Some(receiver) = &self.audit.otlp {
            ensure!(
                audit.otlp.as_ref().is_none_or(|own| own == receiver) && audit.otlp_headers.is_empty(),
                "the settings send the journal somewhere (audit.otlp), but {FILE} says that it is sent to {receiver}: remove yours"
            );
            (audit.otlp, audit.otlp_headers) = (Some(receiver.clone()), self.audit.otlp_headers.clone());
        }
        Ok(())
    }

    /// A person's policy of the guard, which is never looser than this one.
    pub(crate) fn beneath(&self, policy: CheckedPolicy, around: &GuardContext) -> Result<CheckedPolicy> {
        Ok(match &self.guard {
            Some(guard) => policy.above(guard.clone().check(around).context(FILE)?),
            None => policy,
        })
    }

    /// In a few words.
    pub(crate) fn in_words(&self) -> String {
        let mut words = Vec::new();
        if let Some(guard) = &self.guard {
            let mode = if guard.mode == Mode::Strict { "strict" } else { "on" };
            words.push(format!("the guard is {mode}, with {} rules of its own", guard.rules.len()));
        }
        match (&self.sandbox.required, self.sandbox.allowed.as_slice()) {
            (true, []) => words.push("a sandbox is required".to_owned()),
            (true, allowed) => words.push(format!("a sandbox is required: {}", allowed.join(", "))),
            (false, []) => {}
            (false, allowed) => words.push(format!("sandboxes are {}", allowed.join(", "))),
        }
        if self.audit.required {
            words.push("the journal is required".to_owned());
        }
        if let Some(receiver) = &self.audit.otlp {
            words.push(format!("the journal is sent to {receiver}"));
        }
        if words.is_empty() { "it says nothing".to_owned() } else { words.join("; ") }
    }
}

fn choices(allowed: &[String]) -> String {
    if allowed.is_empty() { String::new() } else { format!(" (it allows {})", allowed.join(", ")) }
}

fn read(path: &Path, fits: SandboxCheck) -> Result<Option<CompanyPolicy>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    // The folder as well: whoever can write there can put another file in its place.
    let folder = std::fs::metadata(path.parent().unwrap_or(path))?;
    for (what, data) in [("it", file.metadata()?), ("its folder", folder)] {
        ensure!(data.uid() == 0, "{what} belongs to user {}, and not to root", data.uid());
        ensure!(data.mode() & 0o022 == 0, "others than root can write to {what} (mode {:o})", data.mode() & 0o777);
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let policy: CompanyPolicy =
        toml_edit::de::from_str(&text).map_err(|error| anyhow::anyhow!("{}", error.to_string().trim_end()))?;
    if let Some(guard) = &policy.guard {
        ensure!(guard.mode != Mode::Off, "guard.mode is off, which is no policy: leave [guard] out");
    }
    // Variables are a person's own.
    ensure!(policy.audit.otlp.as_deref() != Some("env"), "audit.otlp has to be an address here, and not \"env\"");
    let profiles = SandboxSettings { profiles: policy.sandbox.profiles.clone(), ..SandboxSettings::default() };
    fits(&profiles)?;
    Ok(Some(policy))
}
