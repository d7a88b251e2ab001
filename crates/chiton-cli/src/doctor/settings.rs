//! Which settings are in force, and what they come to.

use chiton_engine::guard::policy::Mode;

use super::finding::Finding;
use crate::settings::{Settings, usual_file};
use crate::{company, surroundings};

pub(super) fn in_force(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.push(match (&settings.file, usual_file()) {
        (Some(file), _) => Finding::ok("settings", format!("{} is in force", file.display())),
        (None, Some(usual)) => Finding::ok("settings", format!("all as usual: there is no {}", usual.display())),
        (None, None) => Finding::ok("settings", "all as usual"),
    });
    if let Some(policy) = &settings.company {
        let what = format!("{} holds for everybody: {}", company::FILE, policy.in_words());
        findings.push(Finding::ok("settings", what));
    }

    let rules = match settings.guard.rules.len() {
        0 => "the built-in rules".to_owned(),
        1 => "the built-in rules and 1 of yours".to_owned(),
        count => format!("the built-in rules and {count} of yours"),
    };
    let allowed = match settings.guard.allow.len() {
        0 => String::new(),
        count => format!("; {count} commands are allowed as they stand"),
    };
    findings.push(match settings.guard.mode {
        Mode::Default => Finding::ok("guard", format!("on, with {rules}{allowed}")),
        Mode::Strict => Finding::ok("guard", format!("strict, with {rules}{allowed}")),
        Mode::Off => Finding::note("guard", "off: every command runs, whatever it does")
            .why("the settings say so")
            .remedy("remove guard.mode from the settings"),
    });

    let store = settings.secrets.dir.clone().or_else(|| surroundings::secrets_directory().ok());
    let has = |name: &str| store.as_ref().is_some_and(|folder| folder.join(name).exists());
    let mut sources = Vec::new();
    if has("secrets.age") {
        sources.push(format!("the store in {}", store.as_deref().unwrap_or(std::path::Path::new("")).display()));
    }
    if !settings.secrets.env.is_empty() {
        sources.push(format!("{} variables", settings.secrets.env.len()));
    }
    if settings.secrets.command.is_some() {
        sources.push("a command".to_owned());
    }
    let what = if sources.is_empty() {
        "none are kept; `chiton secret set NAME` begins".to_owned()
    } else {
        format!("from {}", sources.join(", "))
    };
    findings.push(Finding::ok("secrets", what));
    findings
}
