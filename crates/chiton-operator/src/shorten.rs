//! Puts long output into fewer lines before a dialect writes it down: the lines that a call asks for, one line for
//! output that the client has seen before, or output without lines that are like those around them.
//!
//! What is left out stays in the spool, and the numbers of its lines are those that a read of the run counts by.

use std::collections::VecDeque;

use chiton_dialects::action::{OutputView, Ran, Shorter, TaskOutput, TaskRef};
use chiton_dialects::compact::program::is_answer;
use chiton_dialects::compact::{Ending, LEAST_BYTES, MOST_BYTES, compact_plain};
use chiton_dialects::select::{Selection, Selector};
use chiton_dialects::{Gaps, ReadAction, RunAction};
use chiton_engine::render::TextView;
use chiton_engine::tasks::Part;
use chiton_engine::{Lock, Outcome, ShellState, Task};

use crate::tasks::ClientTasks;

/// What becomes of lines that are like those around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeLines {
    /// They are left out of long output. It costs a model less, and a call to see them.
    LeftOut,
    /// They are shown.
    Shown,
}

/// How many outputs of a session are remembered.
const REMEMBERED: usize = 64;
/// What is read at once where all of an output is passed through.
const STEP: u64 = 1 << 20;

/// What a client has seen, and whether its output gets gaps.
pub(crate) struct Shortener {
    lines: LikeLines,
    seen: Lock<VecDeque<SeenOutput>>,
}

/// The whole output of a run that a reply showed.
struct SeenOutput {
    session: Option<String>,
    fingerprint: u64,
    bytes: usize,
    id: String,
}

impl Shortener {
    pub(crate) fn new(lines: LikeLines) -> Self {
        Self { lines, seen: Lock::default() }
    }

    /// Whether there may be something to do: for most commands there is not.
    pub(crate) fn looks_at(&self, run: &RunAction, ran: &Ran) -> bool {
        let is_long = || self.may_have_gaps(run) && ran.amount.bytes >= LEAST_BYTES as u64;
        // What is not text is named, and not shown.
        (run.selection.is_some() || is_long()) && !ran.output().head.contains('\0')
    }

    fn may_have_gaps(&self, run: &RunAction) -> bool {
        self.lines == LikeLines::LeftOut && run.gaps == Gaps::AsUsual && run.request.terminal.is_none()
    }

    /// Whether more is needed than the reply has in memory.
    pub(crate) fn needs_the_spool(&self, run: &RunAction, ran: &Ran) -> bool {
        let is_cut = ran.output().tail.is_some();
        is_cut && (run.selection.is_some() || ran.amount.bytes <= MOST_BYTES as u64)
            || self.seen_before(run, ran.output()).is_some()
    }

    pub(crate) fn shorten(&self, run: &RunAction, ran: &mut Ran, state: &ShellState, tasks: &ClientTasks) {
        if let Some(selection) = &run.selection {
            ran.shorter = select(selection, run, ran, tasks).map(Box::new);
            return;
        }
        if let Some(same) = self.same(run, ran, tasks) {
            ran.shorter = Some(Box::new(same));
            return;
        }
        self.remember(run, ran);
        if is_answer(&run.request.command, &|name| is_defined(state, name)) {
            return;
        }
        let text = match &ran.output().tail {
            None => Some(ran.output().head.clone()),
            Some(_) if ran.amount.bytes > MOST_BYTES as u64 => None,
            Some(_) => task_of(ran, tasks).and_then(|task| tasks.text_of(&task, Part::All, MOST_BYTES as u64)),
        };
        let compacted = text.and_then(|text| compact_plain(&text, 1, ending(ran.outcome().as_ref())));
        ran.shorter = compacted.map(|compacted| Box::new(Shorter::Gaps(compacted)));
    }

    /// The same for what is new of a task. A part that a call names is given line by line.
    pub(crate) fn shorten_read(
        &self,
        read: &mut TaskOutput,
        wanted: &ReadAction,
        state: &ShellState,
        tasks: &ClientTasks,
    ) {
        let as_usual = self.lines == LikeLines::LeftOut && wanted.part == Part::New && wanted.filter.is_none();
        if !as_usual || wanted.view.is_some_and(|view| view != OutputView::Plain) || !is_plain(read) {
            return;
        }
        if is_answer(read.task.command.as_bytes(), &|name| is_defined(state, name)) {
            return;
        }
        let start = read.end.saturating_sub(read.output.head.len() as u64);
        let Some(before) = lines_before(&read.task, start, tasks) else { return };
        let ending = ending(read.task.outcome.as_ref());
        read.compacted = compact_plain(&read.output.head, before + 1, ending).map(Box::new);
    }

    /// The earlier run with the same output, where the client has seen it and can still read it.
    fn same(&self, run: &RunAction, ran: &Ran, tasks: &ClientTasks) -> Option<Shorter> {
        if ran.outcome() == Some(Outcome::Running) {
            return None;
        }
        let output = ran.output();
        let id = self.seen_before(run, output)?;
        let task = tasks.known(&TaskRef::Id(id)).ok()?;
        let text = tasks.text_of(&task, Part::All, output.head.len() as u64 + 1)?;
        (text == output.head).then_some(Shorter::Same { id: task.id, lines: ran.amount.lines })
    }

    fn seen_before(&self, run: &RunAction, output: &TextView) -> Option<String> {
        if output.tail.is_some() || output.head.len() < LEAST_BYTES {
            return None;
        }
        let (fingerprint, bytes) = (fingerprint(output.head.as_bytes()), output.head.len());
        let is_same =
            |seen: &&SeenOutput| seen.session == run.session && seen.bytes == bytes && seen.fingerprint == fingerprint;
        self.seen.lock().iter().rev().find(is_same).map(|seen| seen.id.clone())
    }

    fn remember(&self, run: &RunAction, ran: &Ran) {
        let output = ran.output();
        // What is not UTF-8 looks the same in text when it is not.
        let is_exact = output.tail.is_none() && !output.head.contains(char::REPLACEMENT_CHARACTER);
        if !is_exact || ran.outcome() == Some(Outcome::Running) {
            return;
        }
        let mut seen = self.seen.lock();
        if seen.len() == REMEMBERED {
            seen.pop_front();
        }
        seen.push_back(SeenOutput {
            session: run.session.clone(),
            fingerprint: fingerprint(output.head.as_bytes()),
            bytes: output.head.len(),
            id: ran.run_id().to_owned(),
        });
    }
}

/// Whether output is shown as text, whole, and without a terminal.
fn is_plain(read: &TaskOutput) -> bool {
    read.look.is_none()
        && read.task.terminal.is_none()
        && read.output.tail.is_none()
        && read.not_kept == 0
        && read.output.head.len() >= LEAST_BYTES
        && !read.output.head.contains(char::REPLACEMENT_CHARACTER)
}

fn is_defined(state: &ShellState, name: &str) -> bool {
    state.functions.contains_key(name.as_bytes()) || state.aliases.contains_key(name.as_bytes())
}

fn ending(outcome: Option<&Outcome>) -> Ending {
    match outcome {
        None | Some(Outcome::Exited(0) | Outcome::Running) => Ending::Well,
        Some(_) => Ending::Failed,
    }
}

fn task_of(ran: &Ran, tasks: &ClientTasks) -> Option<Task> {
    tasks.known(&TaskRef::Id(ran.run_id().to_owned())).ok()
}

/// The lines that a call asks for, of all that the command printed.
fn select(selection: &Selection, run: &RunAction, ran: &Ran, tasks: &ClientTasks) -> Option<Shorter> {
    let mut selector = Selector::new(selection, run.room);
    if ran.output().tail.is_none() {
        selector.push(&ran.output().head);
        return Some(Shorter::Selected(selector.finish()));
    }
    let task = task_of(ran, tasks)?;
    each_piece(&task, ran.amount.bytes, tasks, |piece| selector.push(piece))?;
    Some(Shorter::Selected(selector.finish()))
}

/// How many lines end before this place of a task's output; none where that is too far to count.
fn lines_before(task: &Task, place: u64, tasks: &ClientTasks) -> Option<u64> {
    if place > MOST_BYTES as u64 {
        return None;
    }
    let mut lines = 0;
    each_piece(task, place, tasks, |piece| lines += piece.matches('\n').count() as u64)?;
    Some(lines)
}

/// Passes through a task's output up to this place.
fn each_piece(task: &Task, end: u64, tasks: &ClientTasks, mut take: impl FnMut(&str)) -> Option<()> {
    let mut place = 0;
    while place < end {
        let next = (place + STEP).min(end);
        take(&tasks.text_of(task, Part::Bytes(place..next), STEP)?);
        place = next;
    }
    Some(())
}

/// Tells texts apart quickly, by their length and samples of them. Two that have the same are compared byte for byte.
fn fingerprint(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    const SAMPLE: usize = 1024;
    let mix = |hash: u64, word: &[u8; 8]| (hash ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
    let last = bytes.len().saturating_sub(SAMPLE);
    [0, last / 3, last / 3 * 2, last].into_iter().fold(bytes.len() as u64, |hash, place| {
        let (words, _) = bytes[place..bytes.len().min(place + SAMPLE)].as_chunks::<8>();
        words.iter().fold(hash, mix)
    })
}
