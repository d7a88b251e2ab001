//! How `native` shows output in fewer lines than there are, and says how to read the rest.

use memchr::memmem;
use serde_json::{Value, json};

use crate::action::{Ran, Shorter};
use crate::compact::{Compacted, Shown, looks_like_gap};
use crate::select::Selected;
use crate::text::without_escapes;

/// Bytes that are shown of what is too long, from its beginning and from its end. Little, since the rest can be asked for
/// and a model pays for each of them.
pub(super) const HEAD: usize = 800;
pub(super) const TAIL: usize = 1200;

/// What is longer than its ends by no more than this is shown whole: the line that says what is missing is as long.
const LITTLE: usize = 200;

/// Output in fewer lines, as text.
pub(super) struct ShorterText {
    pub(super) output: String,
    /// How to read what is missing, where the output does not say it.
    remark: Option<String>,
    /// Whether the middle is missing because there is too much of it.
    pub(super) is_cut: bool,
    /// What was asked for, in numbers.
    pub(super) selected: Option<Value>,
}

impl ShorterText {
    /// `too_long` says that all of the output would be too much.
    pub(super) fn of(shorter: &Shorter, ran: &Ran, too_long: bool) -> Self {
        match shorter {
            Shorter::Gaps(compacted) => Self::with_gaps(compacted, ran, too_long),
            Shorter::Selected(selected) => Self::of_selected(selected, ran.run_id()),
            Shorter::Same { id, lines } => {
                let remark = format!(
                    "[same output as {id} ({lines} lines): BashOutput with bash_id {id} and since 0, or compact: false, shows it]"
                );
                Self { output: String::new(), remark: Some(remark), is_cut: false, selected: None }
            }
        }
    }

    /// Output that would be too long gets no more room for having gaps: it is shown whole if that fits into the room of
    /// its ends, and its ends are otherwise those of what has gaps.
    fn with_gaps(compacted: &Compacted, ran: &Ran, too_long: bool) -> Self {
        let remark = how_to_read(compacted, ran.run_id());
        let is_cut = too_long && compacted.shown.len() > HEAD + TAIL + LITTLE;
        let output = if is_cut { ends_with_gaps(compacted, ran) } else { compacted.shown.clone() };
        Self { output, remark, is_cut, selected: None }
    }

    fn of_selected(selected: &Selected, id: &str) -> Self {
        let Selected { head, tail, left_out, before, matches, lines } = selected;
        let more = if matches.is_some() { " that match" } else { "" };
        let gap = match left_out {
            0 => String::new(),
            count if matches.is_some() => format!("[\u{2026} {count} more lines{more}]\n"),
            count => {
                let (first, last) = (before + 1, before + count);
                format!(
                    "[\u{2026} {count} of {lines} lines left out: BashOutput with bash_id {id} and range 'lines {first}-{last}']\n"
                )
            }
        };
        let line_end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        let output = format!("{head}{line_end}{gap}{tail}");
        let remark = matches.map(|matches| {
            format!("[{matches} of {lines} lines match: BashOutput with bash_id {id} and since 0 reads all]")
        });
        let shown = matches.unwrap_or(*lines) - left_out;
        let mut facts = json!({"lines": shown, "of": lines});
        if let Some(matches) = matches {
            facts["matches"] = json!(matches);
        }
        Self { output, remark, is_cut: false, selected: Some(facts) }
    }
}

/// How what is missing can be read; or, where nothing is missing, that a line which says so is one of the output.
pub(super) fn remark(shorter: Option<&ShorterText>, output: &str) -> Option<String> {
    match shorter {
        Some(shorter) => shorter.remark.clone(),
        None if memmem::find(output.as_bytes(), b"lines like ").is_some() && output.lines().any(looks_like_gap) => {
            Some("[nothing is left out here: the command itself printed the lines that say so]".to_owned())
        }
        None => None,
    }
}

/// How the lines of gaps can be read.
pub(super) fn how_to_read(compacted: &Compacted, id: &str) -> Option<String> {
    let first = compacted.gaps.first()?;
    let (from, to) = (first.start(), first.end());
    Some(format!("[left out above: BashOutput with bash_id {id} and range 'lines {from}-{to}']"))
}

/// The beginning and the end of an output that is too long, whole lines where there are such, and how to get the rest.
pub(super) fn ends(ran: &Ran) -> String {
    let view = ran.stdout();
    let head = &view.head[..view.head.floor_char_boundary(HEAD)];
    let head = head.rfind('\n').map_or(head, |end| &head[..=end]);
    let last = view.tail.as_deref().unwrap_or(&view.head);
    let tail = &last[last.ceil_char_boundary(last.len().saturating_sub(TAIL))..];
    let tail = tail.find('\n').filter(|end| end + 1 < tail.len()).map_or(tail, |end| &tail[end + 1..]);
    let (all, lines, id) = (ran.amount.bytes, ran.amount.lines, ran.run_id());
    let left_out = all.saturating_sub((head.len() + tail.len()) as u64);
    let line_end = if head.ends_with('\n') { "" } else { "\n" };
    format!(
        "{}{line_end}[… {left_out} of {all} bytes ({lines} lines) left out: BashOutput with bash_id {id} and since {}, \
         range, tail or filter …]\n{}",
        without_escapes(head),
        head.len(),
        without_escapes(tail),
    )
}

/// The beginning and the end of output with gaps that is too long all the same, in whole lines.
fn ends_with_gaps(compacted: &Compacted, ran: &Ran) -> String {
    fn fitting<'a>(parts: impl Iterator<Item = &'a Shown>, room: usize) -> usize {
        let mut used = 0;
        parts
            .take_while(|part| {
                used += part.text.len();
                used <= room
            })
            .count()
    }
    let parts = &compacted.parts;
    let (first, last) = (fitting(parts.iter(), HEAD), fitting(parts.iter().rev(), TAIL));
    let middle = parts.get(first..parts.len().saturating_sub(last)).filter(|middle| !middle.is_empty());
    let Some(middle) = middle.filter(|_| first > 0 && last > 0) else { return ends(ran) };

    let text = |parts: &[Shown]| parts.iter().map(|part| part.text.as_str()).collect::<String>();
    let (head, tail) = (text(&parts[..first]), text(&parts[parts.len() - last..]));
    let (from, to) = (middle[0].lines.start(), middle[middle.len() - 1].lines.end());
    let (all, lines, id) = (ran.amount.bytes, ran.amount.lines, ran.run_id());
    format!(
        "{head}[\u{2026} lines {from}-{to} of {lines} ({all} bytes in all) left out: BashOutput with bash_id {id} and range, tail or \
         filter \u{2026}]\n{tail}"
    )
}
