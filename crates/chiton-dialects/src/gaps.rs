//! Gaps in the output of dialects that know nothing of them: the text they show has them already.

use chiton_engine::render::TextView;
use chiton_engine::{Outcome, Response, Streams};

use crate::action::{Amount, Ran, RunAction, Shorter};
use crate::compact::{Compacted, Ending, compact, is_line_by_line};

/// What a reply says besides the output has room for this.
const MARGIN: usize = 500;

/// Puts what [`Ran::shorter`] has into the text that is shown. Output that does not fit into a reply even so is left as
/// it is, and cut as always: its places are counted in all output.
pub fn shorten(run: &RunAction, ran: &mut Ran) {
    let (id, room) = (ran.run_id().to_owned(), run.room.saturating_sub(MARGIN));
    let shown = match ran.shorter.take().map(|shorter| *shorter) {
        Some(Shorter::Gaps(compacted)) => gaps(run, ran, &id, room).then_some(Shorter::Gaps(compacted)),
        Some(Shorter::Same { id: earlier, lines }) if ran.stderr().head.is_empty() => {
            let line = format!("[same output as {earlier} ({lines} lines): `chiton logs {earlier}` prints it]\n");
            if let Response::Ran(report) = &mut ran.response {
                for view in [&mut report.stdout, &mut report.output] {
                    *view = TextView { head: line.clone(), tail: None, omitted: 0 };
                }
            }
            Some(Shorter::Same { id: earlier, lines })
        }
        _ => None,
    };
    if shown.is_some() {
        count(ran);
    }
    ran.shorter = shown.map(Box::new);
}

/// Whether all streams fit with gaps.
fn gaps(run: &RunAction, ran: &mut Ran, id: &str, room: usize) -> bool {
    let failed = !matches!(ran.outcome(), Some(Outcome::Exited(0) | Outcome::Running));
    let of_both = if failed { Ending::Failed } else { Ending::Well };
    let Response::Ran(report) = &mut ran.response else { return false };
    let apart = run.request.streams != Streams::Merged;
    let alone = report.stderr.head.is_empty();

    // Where the streams are apart, what is on standard output is known not to be an error of the shell.
    let of_stdout = if apart { Ending::Well } else { of_both };
    let stdout = with_gaps(&report.stdout, of_stdout, id, if alone { "" } else { " --stdout" });
    let stderr = if failed { None } else { with_gaps(&report.stderr, Ending::Well, id, " --stderr") };
    let output = with_gaps(&report.output, if alone { of_stdout } else { of_both }, id, "");

    let length = |view: &TextView, shorter: &Option<String>| {
        let omitted = usize::try_from(view.omitted).unwrap_or(usize::MAX);
        shorter.as_ref().map_or(view.head.len().saturating_add(omitted), String::len)
    };
    let both = length(&report.stdout, &stdout).saturating_add(length(&report.stderr, &stderr));
    if both > room || length(&report.output, &output) > room || (stdout.is_none() && output.is_none()) {
        return false;
    }
    for (view, shorter) in [(&mut report.stdout, stdout), (&mut report.stderr, stderr), (&mut report.output, output)] {
        if let Some(head) = shorter {
            *view = TextView { head, tail: None, omitted: 0 };
        }
    }
    true
}

/// A stream with gaps, and a line that says how to read them.
fn with_gaps(view: &TextView, ending: Ending, id: &str, stream: &str) -> Option<String> {
    if view.tail.is_some() || !is_line_by_line(&view.head) {
        return None;
    }
    let Compacted { shown, gaps, .. } = compact(&view.head, 1, ending)?;
    let first = gaps.first()?;
    let (line_end, from, to) = (if shown.ends_with('\n') { "" } else { "\n" }, first.start(), first.end());
    Some(format!("{shown}{line_end}[left out above: `chiton logs {id}{stream} --lines {from}-{to}` prints it]\n"))
}

/// Counts what is shown anew.
fn count(ran: &mut Ran) {
    let characters = |view: &TextView| view.head.chars().count() as u64;
    (ran.stdout_characters, ran.stderr_characters) = (characters(ran.stdout()), characters(ran.stderr()));
    let views = [ran.stdout(), ran.stderr()];
    let bytes = views.iter().map(|view| view.head.len() as u64).sum();
    let lines = views.iter().map(|view| view.head.lines().count() as u64).sum();
    ran.amount = Amount { bytes, lines };
}
