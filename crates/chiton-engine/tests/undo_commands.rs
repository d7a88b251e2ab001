//! What people and agents run every day can be undone: the tree is what it was before, and undoing that gives the tree after it.
//! The rows are in `cases/undo_commands.cases`.

use std::fs;

use chiton_engine::changes::ChangesError;
use chiton_testkit::trials::Trial;

use crate::harness::runtime;
use crate::undo::manifest::Manifest;
use crate::undo::place::{Place, said};

struct Row {
    name: String,
    needs: Vec<String>,
    before: String,
    command: String,
}

fn rows() -> Vec<Row> {
    let text = include_str!("cases/undo_commands.cases");
    let rows = text.split("\n=== ").skip(1);
    let row = |row: &str| {
        let (head, rest) = row.split_once("--- before\n").expect("a row has a part before");
        let (before, command) = rest.split_once("--- command\n").expect("a row has a command");
        let (name, more) = head.split_once('\n').expect("a row has a name");
        let needs = more.strip_prefix("needs: ").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        Row { name: name.to_owned(), needs, before: before.to_owned(), command: command.trim_end().to_owned() }
    };
    rows.map(row).collect()
}

const GIT: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a \
                   GIT_COMMITTER_EMAIL=a@example.org GIT_CONFIG_GLOBAL=/dev/null;";

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

async fn check(row: &Row) -> Result<(), String> {
    let place = Place::new();
    // Programs are looked for where the test finds them, and cargo finds its toolchain by these.
    for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        if let Ok(value) = std::env::var(name) {
            place.succeed(&format!("export {name}='{value}'")).await;
        }
    }
    place.succeed(GIT).await;
    place.succeed(&format!("( {}\n)", row.before)).await;
    // What the preparation left undone must not be taken for the command's.
    let before = Manifest::of(&place.work());
    let report = place.succeed(&format!("( {} )", row.command)).await;
    let after = Manifest::of(&place.work());
    let mut id = report.run_id.clone();
    for (round, wanted) in [&before, &after, &before].into_iter().enumerate() {
        let undone = match place.undo(&id) {
            Err(ChangesError::Unknown(_)) if before == after => return Ok(()),
            undone => undone.map_err(|error| format!("round {round}: {error}\n{}", said(&report)))?,
        };
        let difference = wanted.difference(&Manifest::of(&place.work()));
        if !(undone.left_alone.is_empty() && undone.failed.is_empty() && difference.is_empty()) {
            return Err(format!("round {round}: {difference}{undone:?}\n{}", said(&report)));
        }
        let Some(next) = undone.undo else { break };
        id = next;
    }
    // Nothing of it is left but the logs: what was kept is gone with the undoing.
    let kept = fs::read_dir(place.state().join("changes").join(&report.run_id).join("kept"));
    if kept.is_ok_and(|mut entries| entries.next().is_some()) {
        return Err("something is still kept of what was undone".to_owned());
    }
    Ok(())
}

pub fn trials() -> Vec<Trial> {
    let rows = rows();
    assert!(rows.len() >= 40, "{} rows", rows.len());
    let trials = rows.into_iter().map(|row| {
        let missing: Vec<&String> = row.needs.iter().filter(|program| !is_there(program)).collect();
        let name = match missing[..] {
            [] => row.name.clone(),
            _ => format!("{} (ignored: {missing:?} is not here)", row.name),
        };
        let is_ignored = !missing.is_empty();
        Trial::test(name, move || runtime().block_on(check(&row)).map_err(Into::into)).with_ignored_flag(is_ignored)
    });
    trials.collect()
}
