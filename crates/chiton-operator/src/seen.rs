//! What a client has seen of a run, written down where the sweep finds it ([`RunMark`]).
//!
//! 1. The keeper knows of short output that the reply has all of it ([`SHOWN_WHOLE`]). Here that is put right where the
//!    reply left something out after all, and where a long one is whole.
//! 2. A task counts as read once its client has read it to the end after it had ended, with nothing left out on the way.
//!
//! Whatever is not certain is not written down: then the run is kept for longer.

use chiton_dialects::action::{Exchanged, OutputView, Ran, TaskOutput};
use chiton_dialects::{Action, Done, ReadAction, Reply};
use chiton_engine::tasks::{Part, RunMark};
use chiton_engine::{Outcome, Task};

/// Output of this many bytes is whole in the reply of every dialect, unless the call asks for less.
pub(crate) const SHOWN_WHOLE: u64 = 2 << 10;

/// What a reply could show of a run, before it is written.
pub(crate) enum Shown {
    /// A command that has ended.
    Run { id: String, bytes: u64 },
    /// Part of a run that goes on, or of a task.
    Part { id: String, reach: Reach },
    /// Nothing of the kind.
    Nothing,
}

/// How far a part of a task goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To its end, from its beginning.
    Whole,
    /// To its end, from where this client was.
    Rest,
    /// Not to its end, or nobody knows.
    Less,
}

/// What there is to write down about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Mark(RunMark),
    /// Something of what was new was left out: reading on does not make it read.
    Gap,
    /// All of what was new; nothing more will come.
    Rest,
}

impl Shown {
    /// What the answer to this action can show.
    pub(crate) fn of(action: &Action, done: &Done) -> Self {
        match (action, done) {
            (_, Done::Ran(ran)) => Self::of_run(ran),
            (Action::Read(read), Done::Read(output)) => Self::of_read(read, output),
            (Action::Watch(_, read) | Action::Send { then: Some(read), .. }, Done::Read(output)) => {
                Self::of_read(read, output)
            }
            (_, Done::Exchanged(answer)) => Self::of_answer(answer),
            _ => Self::Nothing,
        }
    }

    fn of_run(ran: &Ran) -> Self {
        let Some(report) = ran.response.ran() else { return Self::Nothing };
        let id = report.run_id.clone();
        if report.outcome == Outcome::Running {
            return Self::Part { id, reach: Reach::Less };
        }
        Self::Run { id, bytes: ran.amount.bytes }
    }

    fn of_read(read: &ReadAction, output: &TaskOutput) -> Self {
        let view = &output.output;
        let has_all = output.left_out == 0 && view.tail.is_none() && view.omitted == 0;
        let reach = match &read.part {
            // Where lines were chosen, or a screen was shown, there is more to read.
            _ if read.filter.is_some() || output.view == OutputView::Screen || output.task.status.is_running() => {
                Reach::Less
            }
            _ if !has_all => Reach::Less,
            Part::New => Reach::Rest,
            _ if view.head.len() as u64 >= written(&output.task) => Reach::Whole,
            _ => Reach::Less,
        };
        // Only what is new is passed over: any other part leaves the client where it is.
        if reach == Reach::Less && (read.part != Part::New || read.filter.is_some()) {
            return Self::Nothing;
        }
        Self::Part { id: output.task.id.clone(), reach }
    }

    fn of_answer(answer: &Exchanged) -> Self {
        let is_rest = !answer.task.status.is_running() && answer.output.omitted == 0;
        let reach = if is_rest { Reach::Rest } else { Reach::Less };
        Self::Part { id: answer.task.id.clone(), reach }
    }

    /// What there is to write down, now that the reply is written.
    pub(crate) fn in_reply(&self, reply: &Reply) -> Option<(&str, Seen)> {
        match self {
            Self::Run { id, bytes } => match (*bytes > SHOWN_WHOLE, reply.leaves_out()) {
                (true, false) => Some((id, Seen::Mark(RunMark::Shown))),
                (false, true) => Some((id, Seen::Mark(RunMark::Cut))),
                (true, true) | (false, false) => None,
            },
            Self::Part { id, .. } if reply.leaves_out() => Some((id, Seen::Gap)),
            Self::Part { id, reach: Reach::Whole } => Some((id, Seen::Mark(RunMark::Read))),
            Self::Part { id, reach: Reach::Rest } => Some((id, Seen::Rest)),
            Self::Part { .. } | Self::Nothing => None,
        }
    }
}

/// All that a task has printed; more than there can be where that is not known.
fn written(task: &Task) -> u64 {
    task.totals.map_or(u64::MAX, |(stdout, stderr)| stdout.written + stderr.written)
}
