//! What processes occupy, and how often they wake up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::measure::percentile;
use crate::server::{Program, Server};
use crate::table::{Row, mebibytes};

const SESSIONS: usize = 10;
const TASKS: usize = 50;
const TERMINALS: usize = 50;
/// How long nobody may wake up.
const QUIET: Duration = Duration::from_secs(10);

/// Resident memory of a process in bytes.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    status(pid, "VmRSS:")
}

/// The most resident memory it had.
pub(crate) fn peak(pid: u32) -> Result<u64> {
    status(pid, "VmHWM:")
}

/// Begins the peak of a process anew, where that is allowed; without it, growth is only measured too large.
pub(crate) fn forget_peak(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

fn status(pid: u32, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    status.lines().find_map(|line| line.strip_prefix(name)).and_then(kilobytes).with_context(|| format!("no {name}"))
}

/// `  1234 kB` in bytes.
pub(crate) fn kilobytes(text: &str) -> Option<u64> {
    Some(text.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

/// What a process occupies, what it shares with others counted in part.
fn proportional(pid: u32) -> Result<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    rollup.lines().find_map(|line| line.strip_prefix("Pss:")).and_then(kilobytes).context("no Pss")
}

/// Context switches of all threads of a process so far, those it asked for and those it did not.
fn switches(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_thread = |path: &Path| {
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        let counts = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum::<u64>()
    };
    threads.map(|thread| of_thread(&thread.path())).sum()
}

/// All living processes that descend from `pid`.
pub(crate) fn descendants(pid: u32) -> BTreeSet<u32> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        if let Some(parent) = parent.and_then(|parent| parent.trim().parse::<u32>().ok()) {
            parents.insert(child, parent);
        }
    }
    let mut found = BTreeSet::from([pid]);
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(child, parent)| found.contains(parent) && !found.contains(child))
            .map(|(child, _)| *child)
            .collect();
        if more.is_empty() {
            found.remove(&pid);
            return found;
        }
        found.extend(more);
    }
}

/// Keepers of the runs in a state directory that go on.
fn keepers(state: &Path) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(state.join("runs"))?.flatten() {
        let Ok(text) = fs::read_to_string(entry.path().join("start.json")) else { continue };
        let start: Value = serde_json::from_str(&text)?;
        let keeper = start["keeper"].as_u64().filter(|_| !entry.path().join("ending.json").exists());
        found.extend(keeper.and_then(|keeper| u32::try_from(keeper).ok()));
    }
    Ok(found)
}

/// A server that nobody talks to: how large it is, and whether it sleeps.
pub(crate) fn idle(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::new(&bench.program, &bench.folder("idle"))?;
    let mut server = program.serve()?;
    thread::sleep(Duration::from_millis(300));
    let alone = resident(server.pid())?;
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
    let value = alone as f64 / f64::from(1 << 20);
    let what = "resident memory of an idle server";
    let mut rows = vec![Row::plain(what, mebibytes(alone)).value(mebibytes(alone)).within("≤ 9 MiB", value, 9.0)];
    rows.push(with_waiting_shells(&mut server)?);
    for number in 0..SESSIONS {
        server.call(&json!({"command": "cd /; x=1", "session": format!("bench-{number}")}))?;
    }
    for number in 0..TASKS {
        let session = format!("bench-{}", number % SESSIONS);
        server.call(&json!({"command": "sleep 600", "run_in_background": true, "session": session}))?;
    }
    // A keeper makes itself small a moment after its command has started, and looks once whether it uses up anything.
    thread::sleep(Duration::from_secs(3));
    let mut watched: BTreeSet<u32> = keepers(&program.state())?.into_iter().collect();
    watched.extend(descendants(server.pid()));
    watched.insert(server.pid());
    let count = || watched.iter().map(|pid| switches(*pid)).sum::<u64>();
    let before = count();
    thread::sleep(QUIET);
    let woken = count().saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let value = woken as f64;
    let what = format!("wake-ups in 10 s: idle server, {SESSIONS} sessions, {TASKS} tasks");
    let row = Row::plain(what, format!("{woken} in {} processes", watched.len())).value(woken.to_string());
    rows.push(row.within("0", value, 0.0));
    let sizes: Vec<f64> = keepers(&program.state())?
        .into_iter()
        .filter_map(|keeper| proportional(keeper).ok())
        .filter_map(|bytes| u32::try_from(bytes).ok())
        .map(f64::from)
        .collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes again")]
    let middle = percentile(&sizes, 50.0) as u64;
    let what = "memory of the keeper of a task (shared pages in part), p50";
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
    let value = middle as f64 / f64::from(1 << 20);
    rows.push(Row::plain(what, mebibytes(middle)).value(mebibytes(middle)).within("≤ 0.7 MiB", value, 0.7));
    Ok(rows)
}

/// What a server occupies after a first call, with the shells that wait for the next ones and their keepers.
fn with_waiting_shells(server: &mut Server) -> Result<Row> {
    server.time("true")?;
    thread::sleep(Duration::from_secs(1));
    let others = descendants(server.pid());
    let mut occupied = proportional(server.pid())?;
    for pid in &others {
        occupied += proportional(*pid)?;
    }
    let what = "the same with keepers and shells that wait (shared pages in part)";
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
    let value = occupied as f64 / f64::from(1 << 20);
    let row = Row::plain(what, format!("{} in {} processes", mebibytes(occupied), others.len() + 1));
    Ok(row.value(mebibytes(occupied)).within("≤ 10 MiB", value, 10.0))
}

/// What idle terminals occupy each.
pub(crate) fn terminals(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::new(&bench.program, &bench.folder("terminals"))?;
    for _ in 0..TERMINALS {
        program.run(&["run", "--background", "--pty", "read x"])?;
    }
    thread::sleep(Duration::from_secs(1));
    let keepers = keepers(&program.state())?;
    let mut occupied = 0;
    for keeper in &keepers {
        occupied += proportional(*keeper)?;
    }
    let each = mebibytes(occupied / u64::try_from(keepers.len().max(1))?);
    Ok(vec![Row::plain(format!("memory of a keeper with a terminal ({} idle)", keepers.len()), each)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them() {
        assert_eq!(kilobytes("\t    1234 kB"), Some(1234 << 10));
        assert_eq!(kilobytes("1234"), None);
    }

    #[test]
    fn this_process_has_switched_and_occupies_something() {
        let own = std::process::id();
        assert!(switches(own) > 0);
        assert!(resident(own).unwrap() > 0 && peak(own).unwrap() >= resident(own).unwrap() / 2);
    }
}
