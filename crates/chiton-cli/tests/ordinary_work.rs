//! Ordinary work gives the same inside of a sandbox as outside: the same output, the same exit code, the same files, and
//! nothing is refused. `cargo test -p chiton-cli --test ordinary_work git-`. The rows are in `cases/ordinary_work.cases`,
//! the commands of the last trial in `cases/clean_commands.txt`.
#![cfg(test)]

mod ordinary;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use chiton_testkit::trials::{self, Failed, Threads, Trial};
use ordinary::manifest::{self, Manifest};
use ordinary::rows::{self, Row};
use ordinary::{Ground, OUTSIDE, Reply};

fn main() -> ExitCode {
    let missing = ordinary::missing_layers();
    let with_reason = |trial: Trial, reason: Option<String>| match missing.clone().or(reason) {
        Some(reason) => trial.with_ignored_flag(true).with_kind(reason),
        None => trial,
    };
    // First, as it takes longest.
    let clean = Trial::test("nothing-of-500-clean-commands-is-refused", clean_commands);
    let mut found: Vec<Trial> = vec![with_reason(clean, None)];
    for row in rows::read(&cases("ordinary_work.cases")) {
        let absent: Vec<&str> =
            row.needs.iter().map(String::as_str).filter(|program| !ordinary::is_installed(program)).collect();
        let reason = (!absent.is_empty()).then(|| format!("no {} here", absent.join(", no ")));
        let name = row.name.clone();
        found.push(with_reason(Trial::test(name, move || is_the_same(&row)), reason));
    }
    trials::run(Threads::Fixed(3), found, Vec::new())
}

fn cases(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

fn is_the_same(row: &Row) -> Result<(), Failed> {
    let ground = Ground::new();
    let outside = work(&ground, row, OUTSIDE);
    let mut differences = Vec::new();
    for profile in &row.profiles {
        let inside = work(&ground, row, profile);
        for (place, (inside, outside)) in inside.0.iter().zip(&outside.0).enumerate() {
            let found = inside.differs_from(outside);
            differences.extend(found.into_iter().map(|it| format!("{profile}, command {}: {it}", place + 1)));
        }
        let files = manifest::differences(&outside.1, &inside.1);
        differences.extend(files.into_iter().map(|it| format!("{profile}: {it}")));
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

/// What the commands of a row say, and what is there afterwards.
fn work(ground: &Ground, row: &Row, profile: &str) -> (Vec<Reply>, Manifest) {
    ground.clear();
    if !row.set_up.is_empty() {
        let mut command = ground.command("bash");
        let output = command.args(["-ec", &row.set_up]).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "the set-up fails: {}", String::from_utf8_lossy(&output.stderr));
    }
    let mut session = ground.session(profile);
    let replies = row.commands.iter().map(|command| session.run(command)).collect();
    session.end();
    (replies, manifest::of(ground, row))
}

/// All of them in one session.
fn clean_commands() -> Result<(), Failed> {
    let text = std::fs::read_to_string(cases("clean_commands.txt")).unwrap();
    let commands: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).collect();
    assert!(commands.len() >= 500, "there are {} commands only", commands.len());
    let ground = Ground::new();
    let run = |profile: &str| -> Vec<Reply> {
        ground.clear();
        let mut session = ground.session(profile);
        let replies = commands.iter().map(|command| session.run(command)).collect();
        session.end();
        replies
    };
    let outside = run(OUTSIDE);
    let inside = run("work");
    let compared = commands.iter().zip(inside.iter().zip(&outside));
    let differences: Vec<String> = compared
        .flat_map(|(command, (inside, outside))| {
            inside.differs_from(outside).into_iter().map(move |it| format!("{command}\n{it}"))
        })
        .collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}
