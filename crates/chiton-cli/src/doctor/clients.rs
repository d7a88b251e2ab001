//! The clients on this machine, and whether they have Chiton.

use super::finding::Finding;
use crate::setup::survey::{ClientSettings, OwnShellState, SetupState, survey};

const AREA: &str = "clients";

pub(super) fn clients() -> Vec<Finding> {
    let all = match survey("chiton") {
        Ok(all) => all,
        Err(error) => return vec![Finding::note(AREA, format!("the search for them failed: {error:#}"))],
    };
    let (here, missing): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|settings| settings.found || !matches!(settings.state, SetupState::Absent));
    let mut findings: Vec<Finding> = here.iter().map(judge).collect();
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|settings| settings.client.name).collect();
        findings.push(Finding::ok(AREA, format!("not found here: {}", names.join(", "))));
    }
    findings
}

fn judge(settings: &ClientSettings) -> Finding {
    let (name, title, file) = (settings.client.name, settings.client.title, settings.file.display());
    match &settings.state {
        SetupState::SetUp(connection) => {
            let shell = match settings.own_shell {
                OwnShellState::Off => "; its own shell is off".to_owned(),
                OwnShellState::On => {
                    format!("; its own shell is on (chiton setup {name} --replace switches it off)")
                }
                OwnShellState::Unknown => String::new(),
            };
            Finding::ok(AREA, format!("{title}: set up in {file} ({}){shell}", connection.words()))
        }
        SetupState::Absent => Finding::note(AREA, format!("{title}: not set up in {file}"))
            .why("it runs commands in a way of its own")
            .remedy(format!("chiton setup {name}")),
        SetupState::Elsewhere(command) => Finding::note(AREA, format!("{title}: set up in {file} with {command}"))
            .why("that is not the program you just started")
            .remedy(format!("if this one is meant: chiton setup {name}")),
        SetupState::Gone(command) => {
            Finding::problem(AREA, format!("{title}: {file} starts {command}, which is not there"))
                .why("it will show the server as failed")
                .remedy(format!("chiton setup {name}, or chiton setup {name} --undo"))
        }
        SetupState::Another => Finding::note(AREA, format!("{title}: another server is called 'chiton' in {file}"))
            .remedy(format!("chiton setup {name} --name shell")),
        SetupState::Unreadable(why) => Finding::note(AREA, format!("{title}: {file} cannot be read: {why}"))
            .why("whether it is set up is not known, and the client may not read it either")
            .remedy("mend the file"),
    }
}
