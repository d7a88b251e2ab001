//! What it costs that commands can be undone, what undoing takes, and what others take to keep a tree as it is.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use chiton_engine::changes::{ChangeLogs, UndoOptions};
use chiton_engine::sandbox::policy::{SandboxPolicy, UndoPolicy};

use crate::bench::Bench;
use crate::measure::{Samples, Turns, timed};
use crate::sandbox::{Pair, cost, source_of};
use crate::subject::Answer;
use crate::table::{Row, Which, millis};

const ROUNDS: usize = 5;

/// A tree of a thousand files in twenty folders.
const TREE: &str = "mkdir -p tree && for d in $(seq 20); do mkdir -p tree/$d; for f in $(seq 50); do \
                    echo \"$d $f\" > tree/$d/$f; done; done";

/// Work that changes files: what is prepared, what is measured, and what it may cost in processor time.
const WORK: &[(&str, &str, &str, Option<f64>)] = &[
    ("`tar x` of 1,000 files", "TREE && tar cf tree.tar tree && rm -rf tree", "tar xf tree.tar", None),
    ("`rm -rf` of 1,000 files", "TREE", "rm -rf tree", None),
    (
        "`git checkout` of a branch with 500 other files",
        "rm -rf repo && mkdir repo && cd repo && git init -q -b one && git config user.email a@example.org && git config \
         user.name a && for f in $(seq 500); do echo $f > $f; done && git add . && git commit -qm one && git checkout -q \
         -b two && for f in $(seq 500); do echo two $f > $f; done && git commit -qam two && git checkout -q one",
        "cd repo && git checkout -q two",
        None,
    ),
];

fn without_undo(policy: SandboxPolicy) -> SandboxPolicy {
    SandboxPolicy { undo: UndoPolicy::Off, ..policy }
}

/// Work with undo on, against the same in the sandbox without.
pub(crate) fn work(bench: &Bench) -> Result<Vec<Row>> {
    let pair = Pair::with(bench, "undo", |policy| Some(without_undo(policy)), |_| {})?;
    let mut rows = Vec::new();
    for (what, prepare, command, goal) in WORK {
        rows.extend(measured(&pair, what, &prepare.replace("TREE", TREE), command, *goal)?);
    }
    if let Some(source) = source_of("regex-syntax") {
        let alone = "printf '\\n[workspace]\\n' >>crate/Cargo.toml; \
                     sed -i '/^.dev-dependencies/,/^$/d' crate/Cargo.toml && rm -f crate/Cargo.lock";
        let copy = format!("rm -rf crate && cp -r {} crate && chmod -R u+w crate && {alone}", source.display());
        let build = "cd crate && CARGO_TARGET_DIR=$PWD/target cargo build";
        rows.extend(measured(&pair, "`cargo build` of regex-syntax", &copy, build, Some(1.10))?);
    }
    let fill =
        "rm -rf package && mkdir package && cd package && npm init -y && npm install express --no-audit --no-fund";
    let (subject, session) = &pair.outside;
    if subject.run(session, &format!("({fill}) >/dev/null 2>&1"), Answer::WithState).is_ok() {
        let prepare = "rm -rf package && mkdir package && cd package && npm init -y >/dev/null && cd ..";
        let install = "cd package && npm install express --prefer-offline --no-audit --no-fund";
        rows.extend(measured(&pair, "`npm install` of express from the cache", prepare, install, Some(1.10))?);
        rows.extend(undoing(&pair, "`npm install` of express", prepare, install, "package/node_modules")?);
    } else {
        rows.push(Row::plain(
            "`npm install` of express from the cache",
            "not measured: npm or its registry is not here",
        ));
    }
    rows.extend(undoing(&pair, "`rm -rf` of 1,000 files", TREE, "rm -rf tree", "tree")?);
    rows.extend(others(&pair)?);
    Ok(rows)
}

fn measured(pair: &Pair, what: &str, prepare: &str, command: &str, goal: Option<f64>) -> Result<Vec<Row>> {
    let (mut with, mut without) = (Samples::default(), Samples::default());
    let (mut wall_with, mut wall_without) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        for (one, processor, wall) in
            [(&pair.inside, &mut with, &mut wall_with), (&pair.outside, &mut without, &mut wall_without)]
        {
            let cost = cost(one, &format!("({prepare})"), command).with_context(|| what.to_owned())?;
            processor.push(cost.processor);
            wall.push(cost.wall);
        }
    }
    let said = format!("{what} with undo, against without, processor time with the keeper's");
    let row = match goal {
        Some(limit) => Row::times_within(said, &with, &without, (Which::Middle, limit)),
        None => Row::times(said, &with, &without, Which::Middle),
    };
    Ok(vec![row, Row::times("the same, by the clock", &wall_with, &wall_without, Which::Middle)])
}

/// Undoing a command, by the thousand files.
fn undoing(pair: &Pair, what: &str, prepare: &str, command: &str, tree: &str) -> Result<Vec<Row>> {
    let (subject, _) = &pair.inside;
    let logs = ChangeLogs::new(&subject.folder().join("state"));
    let mut per_thousand = Samples::default();
    let mut files = 0;
    for _ in 0..ROUNDS {
        let id = cost(&pair.inside, prepare, command)?.id;
        let there = count(&subject.folder().join(tree));
        let (took, undone) = timed(|| Ok(logs.undo(&id, UndoOptions::default())?))?;
        ensure!(undone.left_alone.is_empty() && undone.failed.is_empty(), "{undone:?}");
        files = there.max(count(&subject.folder().join(tree)));
        #[expect(clippy::cast_precision_loss, reason = "thousands of files")]
        per_thousand.push(took * 1e3 / files as f64);
    }
    let milliseconds = per_thousand.middle() * 1e3;
    let row = Row::plain(format!("undoing {what}, {files} files"), format!("{} ms", millis(per_thousand.middle())));
    let row = row.value(format!("{milliseconds:.0} ms for 1,000 files"));
    Ok(vec![row.within("≤ 100 ms for 1,000 files", milliseconds, 100.0)])
}

fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| if entry.file_type().is_ok_and(|kind| kind.is_dir()) { 1 + count(&entry.path()) } else { 1 })
        .sum()
}

/// What others do before a command, so that it can be undone: a copy of the tree, or a commit beside the repository. Against
/// what `rm -rf` of the same tree takes in all with undo on.
fn others(pair: &Pair) -> Result<Vec<Row>> {
    let ways = [
        ("a copy, `cp -a --reflink=auto`", "rm -rf copy", "cp -a --reflink=auto tree copy"),
        (
            "a commit beside it, `git add -A && git write-tree`",
            "rm -rf shadow && git init -q --bare shadow",
            "git --git-dir=shadow --work-tree=tree add -A && git --git-dir=shadow write-tree",
        ),
    ];
    let mut rows = Vec::new();
    for (what, prepare, command) in ways {
        let prepare = format!("{TREE}; {prepare}");
        let theirs = || Ok(cost(&pair.outside, &prepare, command)?.wall);
        let ours = || Ok(cost(&pair.inside, TREE, "rm -rf tree")?.wall);
        let (ours, theirs) = Turns::new(ROUNDS, 1).measure(ours, theirs)?;
        let what = format!("`rm -rf` of 1,000 files with undo, against only keeping them by {what}, by the clock");
        rows.push(Row::times(what, &ours, &theirs, Which::Middle));
    }
    Ok(rows)
}
