//! `chiton doctor`: what works on this machine and what does not, and why, and what to do.
//!
//! Each file looks at one concern and gives findings; this one puts them in order and prints them.

mod clients;
mod environment;
mod finding;
mod machine;
mod mounts;
mod notify;
mod sandbox;
mod settings;
mod state;
mod trial;
mod undo;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;

pub(crate) use self::finding::{Finding, Health};
use crate::on_arguments::OnArguments;
use crate::settings::Settings;

/// Say what works on this machine and what does not
#[derive(Args)]
#[command(after_help = "\
Each line is ok, note (it works, and there is something to know) or problem (it does not
work), with the reason and what to do. A command is really run and the MCP server really
started, with the usual state directory; no run of them is left there.

Exit code: 0, or 1 when there is a problem.

Examples:
  chiton doctor                        look at everything
  chiton doctor --json                 the same as one JSON object
  chiton doctor --state-dir /mnt/x     with another state directory")]
pub(crate) struct DoctorArguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

pub(crate) fn doctor(arguments: &DoctorArguments, state: &Result<PathBuf>, settings: &Settings) -> Result<ExitCode> {
    print(arguments, &examine(state, settings))
}

/// Prints findings; the exit code says whether there is a problem among them.
pub(crate) fn print(arguments: &DoctorArguments, findings: &[Finding]) -> Result<ExitCode> {
    let problems = findings.iter().filter(|finding| finding.health == Health::Problem).count();
    let notes = findings.iter().filter(|finding| finding.health == Health::Note).count();
    let mut stdout = std::io::stdout().lock();
    if arguments.json {
        let all: Vec<_> = findings.iter().map(Finding::as_json).collect();
        let version = env!("CARGO_PKG_VERSION");
        let report = json!({"version": version, "problems": problems, "notes": notes, "findings": all});
        writeln!(stdout, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none();
        for finding in findings {
            write!(stdout, "{}", lines(finding, colour))?;
        }
        writeln!(stdout, "\n{}", in_all(problems, notes))?;
    }
    Ok(if problems > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn examine(state: &Result<PathBuf>, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let told = notify::notify(state.as_deref().ok(), settings);
    findings.extend(machine::program());
    match state {
        Ok(state) => {
            findings.extend(state::directory(state, settings));
            // Before the trial, so that it is not counted.
            let runs = state::runs(state);
            findings.extend(trial::shell_and_engine(state));
            findings.extend(runs);
            findings.extend(trial::server(state));
        }
        Err(error) => {
            findings.push(
                Finding::problem("state", format!("{error:#}"))
                    .why("without it no command can be run, so neither engine nor server were tried")
                    .remedy("set HOME, or give --state-dir"),
            );
        }
    }
    findings.extend(told);
    findings.extend(settings::in_force(settings));
    findings.extend(environment::variables(settings));
    findings.extend(machine::kernel());
    findings.extend(machine::process_table());
    findings.extend(machine::limits());
    findings.extend(machine::locale());
    findings.extend(machine::terminal());
    findings.extend(sandbox::sandbox(state.as_deref().ok()));
    findings.extend(undo::undo(state.as_deref().ok()));
    findings.extend(clients::clients());
    findings
}

/// How far `why` and `remedy` stand in.
const INDENT: usize = 20;

fn lines(finding: &Finding, colour: bool) -> String {
    let style = match finding.health {
        _ if !colour => "",
        Health::Ok => "\x1b[32m",
        Health::Note => "\x1b[33m",
        Health::Problem => "\x1b[1;31m",
    };
    let end = if colour { "\x1b[0m" } else { "" };
    let mut text = format!("{style}{:8}{end} {:10} {}\n", finding.health.word(), finding.area, finding.what);
    for (head, more) in [("why", &finding.why), ("do", &finding.remedy)] {
        if let Some(more) = more {
            text.push_str(&format!("{:INDENT$}{head}: {more}\n", ""));
        }
    }
    text
}

fn in_all(problems: usize, notes: usize) -> String {
    let count = |count: usize, what: &str| match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    format!("{}, {}", count(problems, "problem"), count(notes, "note"))
}
