//! Who runs on this machine: found by a mark in the environment, so that nobody who escaped is missed.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The variable that carries a mark.
pub const MARK: &str = "CHITON_TEST_MARK";

/// A process that carries a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Its id.
    pub pid: i32,
    /// Its command line.
    pub command: String,
}

/// All living processes whose environment holds `CHITON_TEST_MARK=mark`; zombies have none and are not found.
pub fn marked(mark: &str) -> Vec<Marked> {
    let wanted = format!("{MARK}={mark}").into_bytes();
    pids().filter(|pid| has_entry(*pid, &wanted)).map(|pid| Marked { pid, command: command_line(pid) }).collect()
}

fn has_entry(pid: i32, wanted: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == wanted)
}

/// Children of `parent` in state Z.
pub fn zombies_of(parent: u32) -> Vec<i32> {
    pids()
        .filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            let mut fields = rest.split_ascii_whitespace();
            fields.next() == Some("Z") && fields.next() == Some(&parent.to_string())
        })
        .collect()
}

/// Resident memory of a process in bytes; 0 when it is gone.
pub fn resident_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Resident memory of a process that is its own, in bytes; 0 when it is gone. Pages of program files are left out: all
/// processes of a program share these, and the kernel takes and gives them as it likes.
pub fn own_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The most resident memory a process ever had, in bytes; 0 when it is gone.
pub fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The parent of a process.
pub fn parent_of(pid: i32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    parent.and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}

/// Everything that this process has started, and what that has started, as far as the parents are alive.
pub fn descendants() -> Vec<Marked> {
    let all: Vec<(i32, i32)> = pids().map(|pid| (pid, parent_of(pid).cast_signed())).collect();
    let mut found = BTreeSet::from([std::process::id().cast_signed()]);
    // Numbers are given anew, so a child may have a lower one than its parent: again, until nobody is added.
    loop {
        let before = found.len();
        let children: Vec<i32> = all.iter().filter(|(_, parent)| found.contains(parent)).map(|(pid, _)| *pid).collect();
        found.extend(children);
        if found.len() == before {
            break;
        }
    }
    found.remove(&std::process::id().cast_signed());
    found.into_iter().map(|pid| Marked { pid, command: command_line(pid) }).collect()
}

impl Marked {
    /// Kills it, where it is still there.
    pub fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Display for Marked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = fs::read_to_string(format!("/proc/{}/wchan", self.pid)).unwrap_or_default();
        write!(formatter, "{} in {}: {:.200}", self.pid, if place.is_empty() { "-" } else { &place }, self.command)
    }
}

/// Living processes whose command line contains `part`.
pub fn with_command(part: &str) -> Vec<Marked> {
    pids()
        .map(|pid| Marked { pid, command: command_line(pid) })
        .filter(|process| process.command.contains(part))
        .collect()
}

/// Living processes whose command line or environment contains `part`.
pub fn mentioning(part: &str) -> Vec<Marked> {
    let names_it = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(part) || command_line(pid).contains(part)
    };
    pids().filter(|pid| names_it(*pid)).map(|pid| Marked { pid, command: command_line(pid) }).collect()
}

/// Open descriptors of this process.
pub fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Waits until `condition` holds; `false` if it does not within `limit`. For what happens in another process, of which
/// no event reaches the test.
pub fn eventually(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// All processes that there are now.
pub(crate) fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The name of the program that a process runs; empty when the process is gone, or a zombie.
pub fn program_of(pid: i32) -> String {
    let path = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The file was replaced while it ran, as an upgrade does.
    name.trim_end_matches(" (deleted)").to_owned()
}

fn command_line(pid: i32) -> String {
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&raw).replace('\0', " ").trim_end().to_owned()
}
