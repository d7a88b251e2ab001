//! The difference between two texts, as `diff -u` shows it. Stands alone: it knows nothing of Chiton.

use std::fmt::Write;
use std::ops::Range;

/// Lines around a change that show where it is.
const CONTEXT: usize = 3;

/// How many lines may have to go and come. Beyond that, what is between the first and the last difference is shown as
/// removed and added as a whole: the time and the room that a better answer takes grow with the square of this.
const MOST_EDITS: usize = 1500;

/// How two contents differ, in the unified format; empty where they do not. What is not text is said to differ, and no more.
pub(crate) fn unified(old: &[u8], new: &[u8], old_name: &str, new_name: &str) -> String {
    if old == new {
        return String::new();
    }
    if is_binary(old) || is_binary(new) {
        return format!("Binary files {old_name} and {new_name} differ\n");
    }
    let (old, new) = (lines(old), lines(new));
    let changes = changes(&old, &new);
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    for hunk in hunks(&changes) {
        write_hunk(&mut text, hunk, &old, &new);
    }
    text
}

/// Whether a content is not text: as git sees it, a zero byte near its beginning says so.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content.iter().take(8000).any(|byte| *byte == 0)
}

/// The lines of a text, each with its end.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A place where lines go and others come.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// All places where two lists of lines differ, in order.
fn changes(old: &[&[u8]], new: &[&[u8]]) -> Vec<Change> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let (middle_old, middle_new) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let whole = || vec![Change { old: 0..middle_old.len(), new: 0..middle_new.len() }];
    let mut found = shortest(middle_old, middle_new).unwrap_or_else(whole);
    for change in &mut found {
        change.old = change.old.start + head..change.old.end + head;
        change.new = change.new.start + head..change.new.end + head;
    }
    found
}

/// The fewest lines that have to go and come, by the greedy algorithm of Myers; `None` where those are too many.
///
/// On the diagonal `k`, a place in the old text is `k` further than that in the new one. `reached` has for each diagonal how
/// far in the old text a given number of edits gets; `trace` has that for each number of edits.
fn shortest(old: &[&[u8]], new: &[&[u8]]) -> Option<Vec<Change>> {
    let most = (old.len() + new.len()).min(MOST_EDITS);
    let at = |k: isize| usize::try_from(k + most.cast_signed() + 1).unwrap_or(0);
    let mut reached = vec![0usize; 2 * most + 3];
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for edits in 0..=most.cast_signed() {
        trace.push(reached[at(-edits - 1)..=at(edits + 1)].to_vec());
        for k in (-edits..=edits).step_by(2) {
            let is_insertion = k == -edits || k != edits && reached[at(k - 1)] < reached[at(k + 1)];
            let mut x = if is_insertion { reached[at(k + 1)] } else { reached[at(k - 1)] + 1 };
            let mut y = (x.cast_signed() - k).cast_unsigned();
            while x < old.len() && y < new.len() && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            reached[at(k)] = x;
            if x >= old.len() && y >= new.len() {
                return Some(walk_back(&trace, old.len(), new.len()));
            }
        }
    }
    None
}

/// Goes back from the ends of both texts, and notes each edit on the way.
fn walk_back(trace: &[Vec<usize>], old: usize, new: usize) -> Vec<Change> {
    let (mut x, mut y) = (old.cast_signed(), new.cast_signed());
    let mut found: Vec<Change> = Vec::new();
    for (edits, reached) in trace.iter().enumerate().skip(1).rev() {
        let (edits, k) = (edits.cast_signed(), x - y);
        let before = |k: isize| reached[usize::try_from(k + edits + 1).unwrap_or(0)].cast_signed();
        let is_insertion = k == -edits || k != edits && before(k - 1) < before(k + 1);
        let from_k = if is_insertion { k + 1 } else { k - 1 };
        let from_x = before(from_k);
        let from_y = from_x - from_k;
        let edit = if is_insertion {
            Change { old: index(from_x)..index(from_x), new: index(from_y)..index(from_y) + 1 }
        } else {
            Change { old: index(from_x)..index(from_x) + 1, new: index(from_y)..index(from_y) }
        };
        match found.last_mut() {
            Some(next) if next.old.start == edit.old.end && next.new.start == edit.new.end => {
                (next.old.start, next.new.start) = (edit.old.start, edit.new.start);
            }
            _ => found.push(edit),
        }
        (x, y) = (from_x, from_y);
    }
    found.reverse();
    found
}

fn index(place: isize) -> usize {
    usize::try_from(place).unwrap_or(0)
}

/// Changes that are near enough to each other to be shown together.
fn hunks(changes: &[Change]) -> impl Iterator<Item = &[Change]> {
    changes.chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT)
}

fn write_hunk(text: &mut String, hunk: &[Change], old: &[&[u8]], new: &[&[u8]]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let before = first.old.start.min(CONTEXT);
    let after = (old.len() - last.old.end).min(CONTEXT);
    let old_range = first.old.start - before..last.old.end + after;
    let new_range = first.new.start - before..last.new.end + after;
    let _ = writeln!(text, "@@ -{} +{} @@", range(&old_range), range(&new_range));

    let mut place = old_range.start;
    for change in hunk {
        write_lines(text, ' ', &old[place..change.old.start]);
        write_lines(text, '-', &old[change.old.clone()]);
        write_lines(text, '+', &new[change.new.clone()]);
        place = change.old.end;
    }
    write_lines(text, ' ', &old[place..old_range.end]);
}

/// A range as `diff` counts: from 1, or the line before where there are none.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn write_lines(text: &mut String, mark: char, lines: &[&[u8]]) {
    for line in lines {
        text.push(mark);
        text.push_str(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_shown_as_diff_does() {
        let cases = [
            ("", "", ""),
            ("a\n", "a\n", ""),
            ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
            ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
            ("a\nb\n", "a\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
            ("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
            ("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nx\n5\n6\n", "@@ -2,5 +2,6 @@\n 2\n 3\n 4\n+x\n 5\n 6\n"),
            ("a\nb\nc\n", "b\nc\nd\n", "@@ -1,3 +1,3 @@\n-a\n b\n c\n+d\n"),
        ];
        for (old, new, shown) in cases {
            let expected = if shown.is_empty() { String::new() } else { format!("--- old\n+++ new\n{shown}") };
            assert_eq!(unified(old.as_bytes(), new.as_bytes(), "old", "new"), expected, "{old:?} {new:?}");
        }
        let far = (0..30).map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
        let edited = far.replace("3\n4\n", "3\nx\n4\n").replace("27\n", "");
        let shown = unified(far.as_bytes(), edited.as_bytes(), "old", "new");
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
    }

    #[test]
    fn what_is_not_text_is_said_to_differ_and_no_more() {
        assert_eq!(unified(b"a\0b", b"c", "old", "new"), "Binary files old and new differ\n");
    }

    /// A pseudo-random number, the same on every run.
    fn next(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 33
    }

    #[test]
    fn applying_the_changes_gives_the_new_text() {
        let mut seed = 7;
        for _ in 0..2000 {
            let text = |seed: &mut u64| -> Vec<&'static [u8]> {
                (0..next(seed) % 12).map(|_| [b"a\n" as &[u8], b"b\n", b"c\n"][(next(seed) % 3) as usize]).collect()
            };
            let (old, new) = (text(&mut seed), text(&mut seed));
            let (mut made, mut place): (Vec<&[u8]>, usize) = (Vec::new(), 0);
            for change in changes(&old, &new) {
                made.extend(&old[place..change.old.start]);
                made.extend(&new[change.new.clone()]);
                place = change.old.end;
            }
            made.extend(&old[place..]);
            assert_eq!(made, new, "{old:?}");
        }
    }

    #[test]
    fn texts_that_have_nothing_in_common_do_not_take_for_ever() {
        let text = |word: &str| (0..20_000).map(|line| format!("{word}{line}\n")).collect::<Vec<_>>().concat();
        let shown = unified(text("a").as_bytes(), text("b").as_bytes(), "old", "new");
        assert_eq!(shown.matches("\n-a").count(), 20_000);
    }
}
