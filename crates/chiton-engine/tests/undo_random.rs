//! Whatever a command does to its workspace, undoing it gives the tree that was there before.
//!
//! Each sequence is a program that does anything to a tree, by dice: a failure names its seed, and
//! `CHITON_UNDO_SEED=7 cargo test -p chiton-engine --test changes` shows that one alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chiton_engine::changes::{ChangesError, FileChange};
use chiton_engine::sandbox::Without;
use chiton_engine::{ChangeKind, Outcome};
use chiton_testkit::dice::Dice;
use chiton_testkit::trials::Trial;

use crate::harness::runtime;
use crate::undo::manifest::{Fate, Manifest, Numbers, differences};
use crate::undo::place::{Place, said};
use crate::undo::{actor, paths};

const SEQUENCES: u64 = 500;
/// How many of them share an engine.
const TOGETHER: u64 = 20;

/// Who acts at once.
fn crowd(seed: u64) -> &'static str {
    match seed % 10 {
        8 => "threads",
        9 => "processes",
        _ => "alone",
    }
}

async fn sequence(place: &Place, seed: u64) -> Result<(), String> {
    let name = format!("s{seed}");
    let (tree, scratch) = (place.work().join(&name), place.root.join("scratch").join(&name));
    fs::create_dir(&tree).unwrap();
    fs::create_dir(&scratch).unwrap();
    let mut dice = Dice::new(seed.wrapping_mul(7919));
    paths::plant(&tree, &mut dice);
    fs::write(scratch.join("x"), "outside").unwrap();
    let before_with = Manifest::with_numbers(&tree);
    let before = before_with.0.clone();

    let program = std::env::current_exe().unwrap();
    let count = 10 + dice.roll(51);
    let command = format!(
        "cd {name} && exec {} {} {seed} {count} {} {}",
        program.display(),
        actor::ACT,
        crowd(seed),
        scratch.display()
    );
    // In a shell of its own, so that the session stays where it is.
    let report = place.run(&format!("bash -c '{command}'")).await;
    let after_with = Manifest::with_numbers(&tree);
    let after = after_with.0.clone();
    let tells = |what: &str| format!("seed {seed}, {count} operations, {}: {what}\n{}", crowd(seed), said(&report));
    if report.outcome != Outcome::Exited(0) {
        return Err(tells("it failed"));
    }

    if let Err(wrong) = names_what_differs(place, &report.run_id, &tree, (&before_with, &after_with)) {
        return Err(tells(&wrong));
    }
    let mut id = report.run_id.clone();
    for (round, wanted) in [&before, &after, &before].into_iter().enumerate() {
        let undone = match place.undo(&id) {
            Err(ChangesError::Unknown(_)) if before == after => return Ok(()),
            Err(error) => return Err(tells(&format!("round {round}: {error}"))),
            Ok(undone) => undone,
        };
        let difference = wanted.difference(&Manifest::of(&tree));
        if !(undone.left_alone.is_empty() && undone.failed.is_empty() && difference.is_empty()) {
            let what =
                format!("round {round}:\n{difference}left alone {:?}\nfailed {:?}", undone.left_alone, undone.failed);
            return Err(tells(&what));
        }
        match undone.undo {
            Some(next) => id = next,
            None if before == after => break,
            None => return Err(tells("it cannot be undone again")),
        }
    }
    fs::remove_dir_all(&tree).unwrap();
    fs::remove_dir_all(&scratch).unwrap();
    Ok(())
}

/// Whether the list of what has changed is what differs between the two moments, by name and by count.
fn names_what_differs(
    place: &Place,
    id: &str,
    tree: &Path,
    (before, after): (&(Manifest, Numbers), &(Manifest, Numbers)),
) -> Result<(), String> {
    let fate = |kind: ChangeKind| match kind {
        ChangeKind::Made => Fate::Made,
        ChangeKind::Changed => Fate::Changed,
        ChangeKind::Removed => Fate::Removed,
    };
    let files = place.logs().files(id).map(|(_, files)| files).unwrap_or_default();
    let inside = |change: &FileChange| {
        let path = change.path.strip_prefix(tree).ok()?;
        Some((path.to_owned(), fate(change.kind)))
    };
    let listed: BTreeSet<(PathBuf, Fate)> = files.iter().filter_map(inside).collect();
    let [named, others] = differences(before, after);
    let missing: Vec<_> = named.difference(&listed).collect();
    let too_many: Vec<_> = listed.iter().filter(|one| !named.contains(one) && !others.contains(one)).collect();
    if missing.is_empty() && too_many.is_empty() {
        return Ok(());
    }
    Err(format!("not in the list: {missing:?}\nin the list, and nothing happened: {too_many:?}"))
}

fn sequences(seeds: impl Iterator<Item = u64>) -> Result<(), String> {
    let place = Place::with(Without::default(), |_, _| {});
    runtime().block_on(async {
        for seed in seeds {
            sequence(&place, seed).await?;
        }
        Ok(())
    })
}

/// The one sequence that was asked for.
pub fn chosen() -> Option<Trial> {
    let seed = std::env::var("CHITON_UNDO_SEED").ok()?.parse::<u64>().ok()?;
    Some(Trial::test(format!("seed {seed}"), move || sequences(seed..=seed).map_err(Into::into)))
}

pub fn trials() -> Vec<Trial> {
    let mut rows = Vec::new();
    for first in (0..SEQUENCES).step_by(usize::try_from(TOGETHER).unwrap()) {
        let name = format!("the tree before comes back, seeds {first} to {}", first + TOGETHER - 1);
        rows.push(Trial::test(name, move || sequences(first..first + TOGETHER).map_err(Into::into)));
    }
    rows
}
