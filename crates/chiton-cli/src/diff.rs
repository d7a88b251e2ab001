//! The difference between two contents of a file, line by line, as `diff -u` shows it.

use std::fmt::Write;

/// Lines around a change that show where it is.
const CONTEXT: usize = 3;

/// Above this, a difference is one block: nobody reads it line by line.
const MOST_EDITS: usize = 1000;

/// The largest content that is compared line by line.
pub(crate) const MOST_BYTES: u64 = 4 << 20;

/// One line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Same,
    Removed,
    Added,
}

/// The difference, with these names for the two; empty where there is none.
pub(crate) fn unified(before: &[u8], after: &[u8], names: (&str, &str)) -> String {
    if before == after {
        return String::new();
    }
    if is_binary(before) || is_binary(after) {
        return format!(
            "Binary files {} and {} differ ({} and {} bytes)\n",
            names.0,
            names.1,
            before.len(),
            after.len()
        );
    }
    let (old, new) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut text = format!("--- {}\n+++ {}\n", names.0, names.1);
    let edits = edits(&old, &new);
    for hunk in hunks(&edits) {
        write_hunk(&mut text, &edits, hunk, &old, &new);
    }
    text
}

/// What has a NUL byte at its beginning is not text.
fn is_binary(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 8000;
    bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}

/// What becomes of each line, in order.
fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let behind = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = behind.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let middle = shortest(old, new).unwrap_or_else(|| {
        let removed = std::iter::repeat_n(Edit::Removed, old.len());
        removed.chain(std::iter::repeat_n(Edit::Added, new.len())).collect()
    });
    let same = |count| std::iter::repeat_n(Edit::Same, count);
    same(head).chain(middle).chain(same(tail)).collect()
}

/// The shortest way from one to the other, as Myers finds it: for each number of edits, how far each diagonal leads. `None`
/// where it is too long to look for.
fn shortest(old: &[&str], new: &[&str]) -> Option<Vec<Edit>> {
    let most = (old.len() + new.len()).min(MOST_EDITS);
    let middle = most + 1;
    let mut reached = vec![0usize; 2 * most + 3];
    let mut history = Vec::new();
    for count in 0..=most {
        history.push(reached[middle - count..=middle + count].to_vec());
        for diagonal in (middle - count..=middle + count).step_by(2) {
            let goes_down = diagonal == middle - count
                || diagonal != middle + count && reached[diagonal - 1] < reached[diagonal + 1];
            let mut x = if goes_down { reached[diagonal + 1] } else { reached[diagonal - 1] + 1 };
            // The diagonal is x - y, from the middle on.
            let mut y = (x + middle).checked_sub(diagonal)?;
            while x < old.len() && y < new.len() && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            reached[diagonal] = x;
            if x >= old.len() && y >= new.len() {
                return Some(way_back(&history, old.len(), new.len()));
            }
        }
    }
    None
}

/// Goes back from the end to the beginning by what was reached with one edit less.
fn way_back(history: &[Vec<usize>], old: usize, new: usize) -> Vec<Edit> {
    let (mut x, mut y) = (old, new);
    let mut edits = Vec::new();
    for count in (1..history.len()).rev() {
        // What was reached before this edit: the diagonals from -count to count, of which every other one is new.
        let before = &history[count];
        let at = |diagonal: isize| before[usize::try_from(diagonal + count.cast_signed()).unwrap_or(0)];
        let diagonal = x.cast_signed() - y.cast_signed();
        let edge = count.cast_signed();
        let goes_down = diagonal == -edge || diagonal != edge && at(diagonal - 1) < at(diagonal + 1);
        let from = if goes_down { diagonal + 1 } else { diagonal - 1 };
        let start = at(from);
        let beginning = if goes_down { start } else { start + 1 };
        edits.extend(std::iter::repeat_n(Edit::Same, x - beginning));
        edits.push(if goes_down { Edit::Added } else { Edit::Removed });
        (x, y) = (start, (start.cast_signed() - from).cast_unsigned());
    }
    edits.extend(std::iter::repeat_n(Edit::Same, x));
    let _ = y;
    edits.reverse();
    edits
}

/// The parts that are shown: changes with what is around them.
fn hunks(edits: &[Edit]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for place in edits.iter().enumerate().filter(|(_, edit)| **edit != Edit::Same).map(|(place, _)| place) {
        let (start, end) = (place.saturating_sub(CONTEXT), (place + 1 + CONTEXT).min(edits.len()));
        match hunks.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    hunks
}

fn write_hunk(text: &mut String, edits: &[Edit], hunk: std::ops::Range<usize>, old: &[&str], new: &[&str]) {
    let count = |edits: &[Edit], without: Edit| edits.iter().filter(|edit| **edit != without).count();
    let (mut at, mut to) = (count(&edits[..hunk.start], Edit::Added), count(&edits[..hunk.start], Edit::Removed));
    let (old_lines, new_lines) = (count(&edits[hunk.clone()], Edit::Added), count(&edits[hunk.clone()], Edit::Removed));
    // Of nothing, the line before is named.
    let line = |at: usize, lines: usize| if lines == 0 { at } else { at + 1 };
    let _ = writeln!(text, "@@ -{},{old_lines} +{},{new_lines} @@", line(at, old_lines), line(to, new_lines));
    for edit in &edits[hunk] {
        let (mark, shown) = match edit {
            Edit::Same => (' ', old[at]),
            Edit::Removed => ('-', old[at]),
            Edit::Added => ('+', new[to]),
        };
        at += usize::from(*edit != Edit::Added);
        to += usize::from(*edit != Edit::Removed);
        let _ = write!(text, "{mark}{shown}");
        if !shown.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_shown_as_people_know_it() {
        let cases = [
            ("", "a\n", "@@ -0,0 +1,1 @@\n+a\n"),
            ("a\n", "", "@@ -1,1 +0,0 @@\n-a\n"),
            ("a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"),
            ("a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
                "1\nx\n3\n4\n5\n6\n7\n8\n9\ny\n",
                "@@ -1,5 +1,5 @@\n 1\n-2\n+x\n 3\n 4\n 5\n@@ -7,3 +7,4 @@\n 7\n 8\n 9\n+y\n",
            ),
        ];
        for (before, after, shown) in cases {
            let expected = format!("--- a\n+++ b\n{shown}");
            assert_eq!(unified(before.as_bytes(), after.as_bytes(), ("a", "b")), expected);
        }
        assert_eq!(unified(b"same", b"same", ("a", "b")), "");
        assert_eq!(unified(b"a\0", b"b", ("a", "b")), "Binary files a and b differ (2 and 1 bytes)\n");
    }

    /// Whatever is shown leads from one to the other.
    #[test]
    fn every_difference_leads_from_one_to_the_other() {
        let mut state = 7u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let mut text = |lines: u64| (0..next(lines)).map(|_| format!("{}\n", next(5))).collect::<Vec<String>>();
            let (old, new) = (text(30), text(30));
            let (old, new): (Vec<&str>, Vec<&str>) =
                (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
            let edits = edits(&old, &new);
            let (mut at, mut to, mut made) = (0, 0, Vec::new());
            for edit in &edits {
                match edit {
                    Edit::Same => {
                        made.push(old[at]);
                        (at, to) = (at + 1, to + 1);
                    }
                    Edit::Removed => at += 1,
                    Edit::Added => {
                        made.push(new[to]);
                        to += 1;
                    }
                }
            }
            assert_eq!((made, at, to), (new.clone(), old.len(), new.len()), "{old:?}");
        }
        let many: Vec<String> = (0..5000).map(|line| format!("{line}\n")).collect();
        let old: Vec<&str> = many.iter().map(String::as_str).collect();
        let new: Vec<&str> = many.iter().rev().map(String::as_str).collect();
        let edits = edits(&old, &new);
        assert_eq!(edits.iter().filter(|edit| **edit == Edit::Added).count(), 5000, "too long to look for: one block");
    }
}
