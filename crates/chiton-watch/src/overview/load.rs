//! What the processes of a run take, from `/proc`.
//!
//! A keeper is the child subreaper of its command, so the processes of a run are the descendants of its keeper. The time of
//! processes that have ended is in the counters of whoever waited for them: their parent, or the keeper. So the sum over
//! all that live, with what their children took, only grows, and its growth is what the run took.

use std::collections::HashMap;
use std::fs;

/// All processes at one moment.
pub(super) struct ProcessTable {
    processes: HashMap<i32, Process>,
    children: HashMap<i32, Vec<i32>>,
    page: u64,
}

#[derive(Clone, Copy)]
struct Process {
    parent: i32,
    /// Ticks of the clock that it took itself, and that children took for which it waited.
    own: u64,
    of_children: u64,
    pages: u64,
    is_dead: bool,
}

/// What the processes of one run take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FamilyLoad {
    ticks: u64,
    /// Bytes.
    pub(super) memory: u64,
    pub(super) processes: usize,
}

impl ProcessTable {
    pub(super) fn now() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let processes =
            pids.filter_map(|pid| Some((pid, Process::read(&fs::read(format!("/proc/{pid}/stat")).ok()?)?)));
        Self::of(processes.collect())
    }

    fn of(processes: HashMap<i32, Process>) -> Self {
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        for (pid, process) in &processes {
            children.entry(process.parent).or_default().push(*pid);
        }
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        Self { processes, children, page }
    }

    /// What everything below a keeper takes; `None` where it is not seen.
    pub(super) fn family(&self, keeper: i32) -> Option<FamilyLoad> {
        let mut load = FamilyLoad { ticks: self.processes.get(&keeper)?.of_children, memory: 0, processes: 0 };
        let mut open = vec![keeper];
        while let Some(parent) = open.pop() {
            for pid in self.children.get(&parent).into_iter().flatten() {
                let Some(process) = self.processes.get(pid) else { continue };
                load.ticks += process.own + process.of_children;
                load.memory += process.pages * self.page;
                load.processes += usize::from(!process.is_dead);
                open.push(*pid);
            }
        }
        Some(load)
    }
}

impl FamilyLoad {
    /// The share of one processor that was taken since an earlier moment, in per cent.
    pub(super) fn share_since(self, earlier: Self, seconds: f64) -> u32 {
        let ticks = self.ticks.saturating_sub(earlier.ticks);
        #[expect(clippy::cast_precision_loss, reason = "a share is shown with two digits")]
        let share = ticks as f64 * 100.0 / rustix::param::clock_ticks_per_second() as f64 / seconds.max(0.001);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "neither negative nor that large")]
        let share = share.round() as u32;
        share
    }
}

impl Process {
    /// From the text of `/proc/PID/stat`.
    fn read(stat: &[u8]) -> Option<Self> {
        // The name of the program may hold anything, also spaces and brackets.
        let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
        let fields: Vec<&str> = std::str::from_utf8(rest).ok()?.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: number(11)? + number(12)?,
            of_children: number(13)? + number(14)?,
            pages: number(21)?,
            is_dead: matches!(*fields.first()?, "Z" | "X"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read_whatever_the_program_is_called() {
        let line =
            b"42 (a) b) R 7 42 42 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 1 0 100 1000 55 18446744073709551615 0";
        let process = Process::read(line).unwrap();
        assert_eq!((process.parent, process.own, process.of_children, process.pages), (7, 33, 77, 55));
    }

    #[test]
    fn a_family_is_all_below_the_keeper_and_what_it_has_buried() {
        let process = |parent, own| Process { parent, own, of_children: 1, pages: 2, is_dead: false };
        let table = ProcessTable::of(
            [(1, process(0, 5)), (2, process(1, 10)), (3, process(2, 20)), (9, process(0, 99))].into(),
        );
        let load = table.family(1).unwrap();
        assert_eq!((load.ticks, load.processes), (1 + 11 + 21, 2));
        assert_eq!(load.memory, 4 * table.page);
        assert!(table.family(8).is_none());
        let later = FamilyLoad { ticks: load.ticks + rustix::param::clock_ticks_per_second(), ..load };
        assert_eq!(later.share_since(load, 2.0), 50);
        assert_eq!(load.share_since(later, 2.0), 0);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(ProcessTable::now().family(own).is_some());
    }
}
