//! How many instructions the pure parts take: a number that a busy machine does not change.
//!
//! Each is run under callgrind twice, the second time twice as often. The difference is what the operations took, and
//! nothing of the start. The counts are checked in; a change of more than a twentieth is reported.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use crate::machine::first_line;
use crate::{pure, save};

/// A change above this part of the old count is reported.
const TOLERANCE: f64 = 0.05;

/// Instructions of one operation, by part.
pub(crate) type Counts = BTreeMap<String, u64>;

/// What is to be done with the counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    /// They become the ones to compare with.
    pub(crate) save: bool,
    /// A change is an error.
    pub(crate) check: bool,
}

/// Where the counts are that are checked in: those of a release, or those of the build that is tested.
fn file() -> PathBuf {
    let name = if cfg!(debug_assertions) { "counts-tested.json" } else { "counts.json" };
    save::root().join("crates/chiton-bench").join(name)
}

/// Counts, compares, and says so in Markdown; nothing but a hint where the tool is missing.
pub(crate) fn report(wishes: Wishes) -> Result<String> {
    if first_line("valgrind", &["--version"]).is_none() {
        ensure!(!wishes.check, "valgrind is missing: install the package valgrind");
        return Ok("Not counted: valgrind is missing. Install the package `valgrind`.\n".to_owned());
    }
    let counts = count()?;
    let (mut known, made_with) = read(&file())?;
    let mut changes = compare(&known, &counts);
    if wishes.save {
        changes.drain(..).for_each(|line| eprintln!("  {line}"));
        write(&file(), &counts)?;
        known.clone_from(&counts);
    }
    let mut text = "| pure part | instructions an operation | checked in | change |\n|---|---|---|---|\n".to_owned();
    for (name, count) in &counts {
        let before = known.get(name).map_or_else(|| "–".to_owned(), ToString::to_string);
        let change =
            known.get(name).map_or_else(|| "new".to_owned(), |old| format!("{:+.1} %", change(*old, *count) * 100.0));
        text.push_str(&format!("| {name} | {count} | {before} | {change} |\n"));
    }
    for line in &changes {
        text.push_str(&format!("\n**Changed:** {line}\n"));
    }
    let is_comparable = made_with.is_none_or(|compiler| compiler == self::compiler());
    if !is_comparable && !changes.is_empty() {
        text.push_str("\nThe counts that are checked in were made with another compiler or for another processor.\n");
    }
    if wishes.check && is_comparable && !changes.is_empty() {
        println!("{text}");
        let how = if cfg!(debug_assertions) { "cargo xtask counts --save" } else { "cargo xtask bench counts --save" };
        bail!("{} instruction counts changed; `{how}` takes them over", changes.len());
    }
    Ok(text)
}

/// What is different by more than it may be, in words.
fn compare(known: &Counts, counts: &Counts) -> Vec<String> {
    let mut changes = Vec::new();
    for (name, count) in counts {
        match known.get(name) {
            None => changes.push(format!("{name} is new: {count} instructions")),
            Some(old) if change(*old, *count).abs() > TOLERANCE => {
                changes.push(format!("{name}: {old} → {count}, {:+.1} %", change(*old, *count) * 100.0));
            }
            Some(_) => {}
        }
    }
    let gone = known.keys().filter(|name| !counts.contains_key(*name));
    changes.extend(gone.map(|name| format!("{name} is not counted any more")));
    changes
}

/// By which part of the old count the new one is larger.
#[expect(clippy::cast_precision_loss, reason = "a part for people")]
fn change(old: u64, new: u64) -> f64 {
    (new as f64 - old as f64) / (old.max(1)) as f64
}

fn count() -> Result<Counts> {
    let program = env::current_exe()?;
    let mut counts = Counts::new();
    for (name, times) in pure::ALL {
        // The build that is tested takes many times as long, and an operation is the same each time.
        let times = if cfg!(debug_assertions) { times.div_ceil(10) } else { times };
        // Side by side: what one takes does not depend on the other.
        let (once, twice) = thread::scope(|scope| {
            let once = scope.spawn(|| instructions(&program, name, times));
            let twice = instructions(&program, name, 2 * times);
            (once.join(), twice)
        });
        let once = once.ok().context("the count stopped")??;
        counts.insert(name.to_owned(), twice?.saturating_sub(once) / u64::try_from(times)?);
    }
    Ok(counts)
}

/// Instructions of a whole process. Its environment is empty: that lies on the stack, and moves what is below it.
#[expect(clippy::disallowed_methods, reason = "the tool that counts is a program")]
fn instructions(program: &Path, name: &str, times: usize) -> Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let output = valgrind.args(["pure", name, &times.to_string()]).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} under valgrind: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, collected) = collected.with_context(|| format!("valgrind counted nothing: {said}"))?;
    collected.trim().parse().with_context(|| format!("no number: {collected}"))
}

fn compiler() -> String {
    let version = first_line("rustc", &["--version"]).unwrap_or_default();
    format!("{version}, {}", env::consts::ARCH)
}

fn read(path: &Path) -> Result<(Counts, Option<String>)> {
    let Ok(text) = fs::read_to_string(path) else { return Ok((Counts::new(), None)) };
    let file: Value = serde_json::from_str(&text).context("the counts that are checked in")?;
    let counts = file["instructions"].as_object().into_iter().flatten();
    let counts = counts.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect();
    Ok((counts, file["compiler"].as_str().map(str::to_owned)))
}

fn write(path: &Path, counts: &Counts) -> Result<()> {
    let counts: Map<String, Value> = counts.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
    let file = json!({"compiler": compiler(), "instructions": counts});
    Ok(fs::write(path, serde_json::to_string_pretty(&file)? + "\n")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(entries: &[(&str, u64)]) -> Counts {
        entries.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn a_twentieth_may_change_and_more_is_reported() {
        let known = counts(&[("same", 1000), ("less", 1000), ("more", 1000), ("gone", 1000)]);
        let now = counts(&[("same", 1050), ("less", 900), ("more", 1051), ("new", 5)]);
        let changes = compare(&known, &now);
        assert_eq!(
            changes,
            [
                "less: 1000 → 900, -10.0 %", "more: 1000 → 1051, +5.1 %", "new is new: 5 instructions",
                "gone is not counted any more"
            ]
        );
        assert!(compare(&known, &known).is_empty());
    }

    #[test]
    fn counts_are_read_as_they_were_written() {
        let path = env::temp_dir().join(format!("chiton-bench-counts-{}.json", std::process::id()));
        let written = counts(&[("one", 1), ("two", 2)]);
        write(&path, &written).unwrap();
        let (read, made_with) = read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(read, written);
        assert_eq!(made_with, Some(compiler()));
    }
}
