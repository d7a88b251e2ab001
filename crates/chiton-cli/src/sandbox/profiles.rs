//! The profiles that are built in, one row each, and how a profile of the settings is put together with what it extends.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use chiton_engine::sandbox::policy::{MissingLayer, UndoPolicy};

use super::entry::{self, Key};
use super::limits::{Amount, LimitName};
use super::{nearest, undo};
use crate::sandbox_settings::{ProfileSettings, SandboxSettings};

/// A profile that everybody has.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) lists: &'static [(Key, &'static [&'static str])],
    pub(crate) limits: &'static [(LimitName, &'static str)],
}

/// No sandbox at all. A person says so.
pub(crate) const OFF: &str = "off";
/// What a profile of the settings extends where it does not say.
pub(crate) const WORK: &str = "work";

/// What is left of the machine for everything else: a command that needs more would make it swap to a standstill, and
/// four thousand processes are a large build and not yet a fork bomb.
const LIMITS: &[(LimitName, &str)] =
    &[(LimitName::Memory, "80%"), (LimitName::Processes, "4096"), (LimitName::Free, "1G or 5%")];

const HIDDEN: (Key, &[&str]) = (Key::Hide, &["@secrets", "@controls"]);
const WRITABLE: (Key, &[&str]) = (Key::Write, &["@workspace", "@tmp", "@caches"]);
const KEPT: (Key, &[&str]) = (Key::Keep, &["@hooks"]);

/// All of them but `off`.
pub(crate) const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: WORK,
        about: "change the workspace, temporary files and caches; the network is open; credentials are hidden",
        lists: &[WRITABLE, HIDDEN, KEPT, (Key::Network, &["*"]), (Key::Sockets, &["@agents", "@users", "@names"])],
        limits: LIMITS,
    },
    BuiltIn {
        name: "named",
        about: "work, but of the network only package registries and the hosts of the workspace's git remotes",
        lists: &[
            WRITABLE,
            HIDDEN,
            KEPT,
            (Key::Network, &["@registries", "@remotes"]),
            // A name service outside would look up any name: not @names.
            (Key::Sockets, &["@agents", "@users"]),
        ],
        limits: LIMITS,
    },
    BuiltIn {
        name: "read-only",
        about: "change nothing but temporary files; the network is open; credentials are hidden",
        lists: &[(Key::Write, &["@tmp"]), HIDDEN, (Key::Network, &["*"]), (Key::Sockets, &["@users", "@names"])],
        limits: LIMITS,
    },
    BuiltIn {
        name: "offline",
        about: "work, without a network",
        lists: &[WRITABLE, HIDDEN, KEPT, (Key::Network, &[]), (Key::Sockets, &["@agents", "@users"])],
        limits: LIMITS,
    },
];

/// One step on the way to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) change: Change,
    /// The profile that says so.
    pub(crate) profile: String,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Add(String),
    Remove(String),
    Clear,
}

/// A profile with everything that it extends, and nothing looked up yet.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) name: String,
    lists: BTreeMap<Key, Vec<Step>>,
    /// Each with the profile that says so.
    pub(crate) limits: BTreeMap<LimitName, (Amount, String)>,
    /// Where a profile of the settings says so.
    pub(crate) missing: Option<MissingLayer>,
    pub(crate) undo: UndoPolicy,
}

impl Composed {
    pub(crate) fn steps(&self, key: Key) -> &[Step] {
        self.lists.get(&key).map_or(&[], Vec::as_slice)
    }

    fn built_in(row: &BuiltIn) -> Self {
        let from = "built in".to_owned();
        let add = |entry: &&str| Step { change: Change::Add((*entry).to_owned()), profile: from.clone() };
        let limit = |(name, text): &(LimitName, &str)| {
            let amount = name.parse(text).expect("a test parses the limits of every built-in profile");
            (*name, (amount, from.clone()))
        };
        Self {
            name: row.name.to_owned(),
            lists: row.lists.iter().map(|(key, list)| (*key, list.iter().map(add).collect())).collect(),
            limits: row.limits.iter().map(limit).collect(),
            missing: None,
            undo: UndoPolicy::Keep,
        }
    }

    /// Puts over it what a profile of the settings says.
    fn change(&mut self, name: &str, profile: &ProfileSettings) -> Result<()> {
        name.clone_into(&mut self.name);
        for key in Key::ALL {
            let Some(entries) = key.of(profile) else { continue };
            let within = format!("sandbox.profiles.{name}.{}", key.name());
            let steps = self.lists.entry(key).or_default();
            let step = |change| Step { change, profile: format!("profile {name}") };
            let names_host = |entry: &String| !entry.starts_with('!') && entry != "*";
            // A list that names hosts is there to let nothing else pass: what is open stays behind.
            if entries.is_empty() || key == Key::Network && entries.iter().any(names_host) && is_open(steps) {
                steps.push(step(Change::Clear));
            }
            for entry in entries {
                let change = entry::check(key, &entry).with_context(|| within.clone())?;
                if let Change::Remove(text) = &change {
                    check_removal(steps, text).with_context(|| within.clone())?;
                }
                steps.push(step(change));
            }
        }
        for limit in LimitName::ALL {
            let Some(word) = limit.of(&profile.limits) else { continue };
            let within = || format!("sandbox.profiles.{name}.limits.{}", limit.key());
            let amount = limit.parse(&word.to_string()).with_context(within)?;
            self.limits.insert(limit, (amount, format!("profile {name}")));
        }
        self.missing = profile.missing.map(MissingLayer::from).or(self.missing);
        if let Some(setting) = &profile.undo {
            let within = || format!("sandbox.profiles.{name}.undo");
            self.undo = undo::parse(setting).with_context(within)?;
        }
        Ok(())
    }
}

/// Whether `*` is in a list.
pub(crate) fn is_open(steps: &[Step]) -> bool {
    steps.iter().fold(false, |open, step| match &step.change {
        Change::Add(entry) => open || entry == "*",
        Change::Clear => false,
        Change::Remove(entry) => open && entry != "*",
    })
}

/// A group can only be taken away where it was given. Of paths, only the machine knows.
fn check_removal(steps: &[Step], text: &str) -> Result<()> {
    if !text.starts_with('@') {
        return Ok(());
    }
    let added = |step: &Step| matches!(&step.change, Change::Add(entry) if entry == text);
    let others = steps.iter().filter_map(|step| match &step.change {
        Change::Add(entry) if entry.starts_with('@') => Some(entry.as_str()),
        _ => None,
    });
    ensure!(
        steps.iter().any(added),
        "!{text} takes away what the extended profile does not have{}",
        nearest(text, others).map(|near| format!("; did you mean !{near}?")).unwrap_or_default()
    );
    Ok(())
}

/// All names there are.
pub(crate) fn names(settings: &SandboxSettings) -> Vec<&str> {
    let own = settings.profiles.keys().map(String::as_str);
    let own = own.filter(|name| !BUILT_IN.iter().any(|row| row.name == *name));
    BUILT_IN.iter().map(|row| row.name).chain(own).chain([OFF]).collect()
}

/// The profile of this name; `None` is `off`.
pub(crate) fn compose(settings: &SandboxSettings, name: &str) -> Result<Option<Composed>> {
    if name == OFF {
        return Ok(None);
    }
    compose_above(settings, name, &mut Vec::new()).map(Some)
}

fn compose_above<'a>(settings: &'a SandboxSettings, name: &'a str, above: &mut Vec<&'a str>) -> Result<Composed> {
    let built_in = BUILT_IN.iter().find(|row| row.name == name);
    let Some(profile) = settings.profiles.get(name) else {
        let Some(row) = built_in else { bail!(unknown(settings, name)) };
        return Ok(Composed::built_in(row));
    };
    ensure!(!above.contains(&name), "the profiles {} extend one another in a circle", above.join(", "));
    above.push(name);
    let mut composed = match (&profile.extends, built_in) {
        // `work` of the settings changes the built-in `work`.
        (None, Some(row)) => Composed::built_in(row),
        (Some(base), Some(row)) if base == name => Composed::built_in(row),
        (extends, _) => {
            let base = extends.as_deref().unwrap_or(WORK);
            ensure!(base != OFF, "sandbox.profiles.{name}.extends: off is no sandbox, so nothing can extend it");
            compose_above(settings, base, above).with_context(|| format!("sandbox.profiles.{name}.extends"))?
        }
    };
    composed.change(name, profile)?;
    Ok(composed)
}

pub(crate) fn unknown(settings: &SandboxSettings, name: &str) -> String {
    let names = names(settings);
    let near = nearest(name, names.iter().copied()).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    format!("there is no sandbox profile '{name}'; {near}there are: {}", names.join(", "))
}

/// Refuses what cannot be, wherever it stands in the settings.
pub(crate) fn check(settings: &SandboxSettings) -> Result<()> {
    for name in settings.profiles.keys() {
        ensure!(
            name != OFF,
            "sandbox.profiles.off: off is no sandbox and cannot be changed; give the profile another name"
        );
        let is_name = |name: &str| name.chars().all(|one| one.is_ascii_alphanumeric() || "-_".contains(one));
        ensure!(
            !name.is_empty() && is_name(name),
            "sandbox.profiles.{name}: a name has letters, digits, '-' and '_' only"
        );
        compose(settings, name)?;
    }
    if let Some(profile) = &settings.profile {
        compose(settings, profile).context("sandbox.profile")?;
    }
    Ok(())
}
