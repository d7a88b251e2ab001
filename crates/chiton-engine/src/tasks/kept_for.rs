//! What a finished run is kept for, which decides what goes first.
//!
//! 1. The keeper writes down with the ending whether the caller received all output ([`Received`]): for nearly all runs
//!    that is all there is to know, and it costs nothing more.
//! 2. Whoever writes replies leaves a mark where that is not the truth ([`RunMark`]), and where a task was read to its
//!    end.
//! 3. Both are on disk, so every process on the same state directory comes to the same result. What is missing because
//!    somebody was killed meanwhile reads as unread: in doubt, a run is kept.

use std::path::Path;

use serde::Deserialize;

use crate::folder::RunMark;
use crate::run::{Outcome, Received};

/// What a finished run is kept for. The first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeptFor {
    /// Nothing: its whole output was in the reply of the call that waited for it.
    Shown,
    /// For those who want to read it again.
    Read,
    /// For its unread output: a task that was not read to its end, or a run whose reply left something out. Goes by age
    /// and bytes only, however many others there are.
    Unread,
}

impl KeptFor {
    /// By what is in its folder. `leftovers` are those of the task that the run has left behind, whose output is in the
    /// folder of the run.
    pub(crate) fn find(marks: Marks, ending: Option<&EndingSummary>, leftovers: Leftovers) -> Self {
        if leftovers == Leftovers::Unread {
            return Self::Unread;
        }
        let is_shown = match ending {
            _ if marks.cut => false,
            _ if marks.shown => true,
            Some(ending) => ending.received == Received::All,
            None => false,
        };
        match (is_shown, marks.read || leftovers == Leftovers::Read) {
            (true, _) => Self::Shown,
            (false, true) => Self::Read,
            (false, false) => Self::Unread,
        }
    }
}

/// The marks in the folder of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) shown: bool,
    pub(crate) cut: bool,
    pub(crate) read: bool,
}

impl Marks {
    /// Takes note of a file in the folder.
    pub(crate) fn note(&mut self, name: &std::ffi::OsStr) {
        match RunMark::ALL.into_iter().find(|mark| name == mark.file()) {
            Some(RunMark::Shown) => self.shown = true,
            Some(RunMark::Cut) => self.cut = true,
            Some(RunMark::Read) => self.read = true,
            None => {}
        }
    }
}

/// What of an ending the sweep needs.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct EndingSummary {
    pub(crate) outcome: Outcome,
    #[serde(default)]
    pub(crate) leftover_task: Option<String>,
    #[serde(default)]
    pub(crate) received: Received,
}

/// What became of the task that a run has left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// There is none.
    None,
    /// It was read, or is gone.
    Read,
    /// Nobody has read it.
    Unread,
}

impl Leftovers {
    /// Of the run that ended like this.
    pub(crate) fn find(runs: &Path, ending: Option<&EndingSummary>) -> Self {
        let Some(task) = ending.and_then(|ending| ending.leftover_task.as_deref()) else { return Self::None };
        let folder = runs.join(task);
        if folder.join(RunMark::Read.file()).exists() || !folder.exists() { Self::Read } else { Self::Unread }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_is_kept_for_follows_from_its_ending_and_the_marks_in_its_folder() {
        use KeptFor::{Read, Shown, Unread};
        type Row<'a> = (&'a str, &'a [&'a str], Option<Received>, Leftovers, KeptFor);
        let mark = |names: &[&str]| {
            let mut marks = Marks::default();
            for name in names {
                marks.note(name.as_ref());
            }
            marks
        };
        let (all, unknown) = (Some(Received::All), Some(Received::Unknown));
        let rows: [Row<'_>; 14] = [
            ("a short command", &[], all, Leftovers::None, Shown),
            ("a task that nobody read", &[], unknown, Leftovers::None, Unread),
            ("a run of an older version, or a caller that was killed", &[], unknown, Leftovers::None, Unread),
            ("one that was lost", &[], None, Leftovers::None, Unread),
            ("a long one whose reply had all of it", &["shown"], unknown, Leftovers::None, Shown),
            ("a short one of which the reply showed the last line", &["cut"], all, Leftovers::None, Unread),
            ("a task that was read", &["read"], unknown, Leftovers::None, Read),
            ("a cut one that was read to its end later", &["cut", "read"], all, Leftovers::None, Read),
            ("one that was lost and read", &["read"], None, Leftovers::None, Read),
            ("a short one that was read again", &["read"], all, Leftovers::None, Shown),
            ("one whose leftovers printed more", &[], unknown, Leftovers::Unread, Unread),
            ("the same, itself read", &["read"], unknown, Leftovers::Unread, Unread),
            ("one whose leftovers were read", &[], unknown, Leftovers::Read, Read),
            ("a stranger's file", &["notes"], unknown, Leftovers::None, Unread),
        ];
        for (what, marks, received, leftovers, expected) in rows {
            let ending =
                received.map(|received| EndingSummary { outcome: Outcome::Exited(0), leftover_task: None, received });
            assert_eq!(KeptFor::find(mark(marks), ending.as_ref(), leftovers), expected, "{what}");
        }
    }
}
