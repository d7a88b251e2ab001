//! Who descends from this process, and signals that cannot hit anybody else.
//!
//! 1. [`list`] walks the lists of children in `/proc`. It is a snapshot: a process that forks meanwhile is found by the
//!    next walk, so whoever needs everybody walks until nobody new is found.
//! 2. [`signal_all`] checks each process again with a handle in hand, since a number may have been given to somebody else.
//! 3. [`LeaderAlone`] answers one question quickly, for every command: is anything but the shell alive?

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::protocol::Denial;
use crate::run::Leftover;
use crate::sys::process::is_in_group;

/// The living descendants of this process that are `wanted`, with their command lines, each as `mask` shows it, zombies
/// left out.
pub(crate) fn alive(wanted: impl Fn(i32) -> bool, mask: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<Leftover> {
    let mut found: Vec<Leftover> = list()
        .into_iter()
        .filter(|pid| wanted(*pid))
        .filter(|pid| status(*pid).is_some_and(|(state, _)| state != b'Z' && state != b'X'))
        .map(|pid| Leftover { pid, command: command_line(pid, &mask) })
        .collect();
    found.sort_by_key(|leftover| leftover.pid);
    found
}

/// Sends `signal` to every living descendant for which `wanted` holds; gives how many it reached.
pub(crate) fn signal_all(signal: Signal, wanted: impl Fn(i32) -> bool) -> usize {
    let family = list();
    let own = own_id();
    let mut reached = 0;
    for pid in family.iter().copied().filter(|pid| wanted(*pid)) {
        let Some(handle) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
            continue;
        };

        // The handle pins whoever had the number a moment ago. If the number still belongs to a child of the family
        // now, the handle is that child's, or that of one already dead, to which a signal does nothing.
        let still_ours = status(pid).is_some_and(|(state, parent)| {
            state != b'Z' && state != b'X' && (parent == own || family.contains(&parent))
        });
        if still_ours && pidfd_send_signal(handle, signal).is_ok() {
            reached += 1;
        }
    }
    reached
}

/// Sends a signal to the run: to its group while its leader lives, else to all that is left of it.
pub(crate) fn signal_run(leader: Option<i32>, number: i32) -> Result<(), Denial> {
    let unknown = || Denial::Because(format!("signal {number} cannot be sent"));
    let signal = Signal::from_named_raw(number).ok_or_else(unknown)?;
    match leader.and_then(Pid::from_raw) {
        // It is our own child and not reaped, so its number is its group's and nobody else's.
        Some(group) => {
            rustix::process::kill_process_group(group, signal).map_err(|error| Denial::Because(error.to_string()))
        }
        None if signal_all(signal, |_| true) > 0 => Ok(()),
        None => Err(Denial::Ended),
    }
}

/// Kills those of our descendants that belong to a group.
pub(crate) fn kill_group(group: i32) {
    signal_all(Signal::KILL, |pid| is_in_group(pid, group));
}

/// Kills every direct child, in as little time as possible. Of a family that forks from generation to generation, each
/// parent ending at once, every generation becomes our direct child; it is caught by being faster than its forks. Nobody
/// is reaped here, so the numbers of direct children are certainly theirs.
pub(crate) fn kill_children() {
    let own = own_id();
    let Ok(text) = fs::read_to_string(format!("/proc/{own}/task/{own}/children")) else { return };
    let children = text.split_ascii_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?));
    for child in children {
        let _ = rustix::process::kill_process(child, Signal::KILL);
    }
}

/// Answers whether nothing of a command is alive but its leader. The lists it reads are opened at the start of the run,
/// since a command is answered only after this was asked.
pub(crate) struct LeaderAlone {
    /// Our only child then: the leader, or the stem that it branched from.
    child: String,
    lists: Option<[File; 2]>,
}

impl LeaderAlone {
    /// For a leader that is our child.
    pub(crate) fn of(leader: i32) -> Self {
        Self::branched(leader, leader)
    }

    /// For a leader that branched from our child. What it leaves comes to us, not to the stem.
    pub(crate) fn branched(leader: i32, stem: i32) -> Self {
        // A shell has one thread, and so have we.
        let lists = list_of_children(leader).zip(list_of_children(own_id())).map(|(theirs, ours)| [theirs, ours]);
        Self { child: stem.to_string(), lists }
    }

    /// Whether it has no child, and we have no other.
    ///
    /// The leader's list is read first. A grandchild that loses its parent between the two reads becomes our child and
    /// is seen in the second; in the other order it could be missed by both.
    pub(crate) fn is_certain(&self) -> bool {
        self.has_no_child() && self.lists.as_ref().is_some_and(|[_, ours]| is_list(ours, &self.child))
    }

    /// Whether the leader has no child, whoever else there is.
    pub(crate) fn has_no_child(&self) -> bool {
        self.lists.as_ref().is_some_and(|[theirs, _]| is_list(theirs, ""))
    }
}

/// Whether these are all the processes in a list.
fn is_list(list: &File, expected: &str) -> bool {
    let mut text = [0; 64];
    list.read_at(&mut text, 0).is_ok_and(|count| text[..count].trim_ascii() == expected.as_bytes())
}

/// Kills `child` where that is a child of `parent` at this moment.
pub(crate) fn kill_child_of(child: i32, parent: i32) {
    let handle = Pid::from_raw(child).and_then(|child| pidfd_open(child, PidfdFlags::empty()).ok());
    if let Some(handle) = handle.filter(|_| is_child(child, parent)) {
        let _ = pidfd_send_signal(handle, Signal::KILL);
    }
}

/// Our children, with those that have ended and are not reaped.
pub(crate) fn children() -> Vec<i32> {
    children_of(own_id())
}

/// Whether `child` is the only child that we have.
pub(crate) fn is_only_child(child: i32) -> bool {
    children() == [child]
}

/// Whether `child` is a child of `parent` at this moment.
pub(crate) fn is_child(child: i32, parent: i32) -> bool {
    status(child).is_some_and(|(_, found)| found == parent)
}

/// Sends a signal to our own child, which is not reaped.
pub(crate) fn signal_child(child: i32, number: i32) -> Option<()> {
    let (child, signal) = (Pid::from_raw(child)?, Signal::from_named_raw(number)?);
    rustix::process::kill_process(child, signal).ok()
}

/// The id of this process.
pub(crate) fn own_id() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn list_of_children(parent: i32) -> Option<File> {
    File::open(format!("/proc/{parent}/task/{parent}/children")).ok()
}

/// The process ids of all descendants, at this moment.
pub(crate) fn list() -> HashSet<i32> {
    list_of(own_id())
}

/// The process ids of all descendants of `root`, at this moment.
pub(crate) fn list_of(root: i32) -> HashSet<i32> {
    let mut found = HashSet::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for child in children_of(parent) {
            if found.insert(child) {
                open.push(child);
            }
        }
    }
    found
}

fn children_of(parent: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        if let Ok(text) = fs::read_to_string(thread.path().join("children")) {
            found.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()));
        }
    }
    found
}

/// Whether a process has ended, and perhaps only its parent has not noticed.
pub(crate) fn is_dead(pid: i32) -> bool {
    status(pid).is_none_or(|(state, _)| state == b'Z' || state == b'X')
}

/// State letter and parent of a process.
fn status(pid: i32) -> Option<(u8, i32)> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything, so the fields are counted from its end.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&text[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.next()?.parse().ok()?))
}

fn command_line(pid: i32, mask: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let mut raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if raw.is_empty() {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        return format!("[{}]", name.trim_end());
    }
    if memchr::memmem::find(&raw, b"BASH_EXECUTION_STRING <&").is_some() {
        return "bash (a subshell of the command)".to_owned();
    }
    raw.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
    // Masked before it is cut: half a value would not be recognised.
    let mut line = String::from_utf8_lossy(&mask(raw)).trim_end().to_owned();
    if let Some((end, _)) = line.char_indices().nth(MAX_SHOWN) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Characters of a command line that are shown.
const MAX_SHOWN: usize = 200;
