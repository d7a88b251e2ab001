//! Words and cuts that several dialects share.

use chiton_engine::InputWait;
use chiton_engine::Leftover;
use chiton_engine::render::TextView;

use crate::action::Ran;

/// The first `limit` characters of a text, and a line that says so where there are more.
pub fn first_characters(text: &str, total: u64, limit: usize) -> (String, bool) {
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return (text.to_owned(), false);
    };
    let total = total.max(text.chars().count() as u64);
    (format!("{}\n[Output truncated: {total} characters, showing first {limit}]", &text[..end]), true)
}

/// The first `limit` bytes and the last `limit` bytes of a text, whole characters only, with `between` in between.
pub fn both_ends(view: &TextView, limit: usize, between: &str) -> String {
    let end = view.tail.as_deref().unwrap_or(&view.head);
    let head = &view.head[..view.head.floor_char_boundary(limit)];
    let tail = &end[end.ceil_char_boundary(end.len().saturating_sub(limit))..];
    format!("{head}{between}{tail}")
}

/// What is done with escape sequences in output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escapes {
    /// They stay: the output is given as it was printed.
    Kept,
    /// They are removed: what is left is text.
    Removed,
}

impl Escapes {
    /// A text with them, or without.
    pub fn of(self, text: &str) -> String {
        if self == Self::Removed { without_escapes(text) } else { text.to_owned() }
    }
}

/// How much room a reply has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Characters.
    pub characters: usize,
    /// Lines.
    pub lines: usize,
}

impl Room {
    /// Room for this many characters in any number of lines.
    pub const fn of(characters: usize) -> Self {
        Self { characters, lines: usize::MAX }
    }
}

/// What is missing in the middle of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// How many bytes.
    pub bytes: u64,
    /// How many bytes stand before it: from there a later call reads on.
    pub at: u64,
}

/// Output as a reply gives it: whole where there is room for it, else its beginning, a line that says what is missing and
/// how to get it, and its end. With that line it is never longer than `room`. Cuts are made at the ends of lines where
/// these are near, and never inside a character. The second value says whether something is missing.
pub fn fitted(view: &TextView, room: Room, escapes: Escapes, note: impl Fn(&Gap) -> String) -> (String, bool) {
    if view.tail.is_none() {
        let whole = escapes.of(&view.head);
        if whole.chars().count() <= room.characters && whole.lines().count() <= room.lines {
            return (whole, false);
        }
    }
    let end = view.tail.as_deref().unwrap_or(&view.head);
    let all = view.head.len() as u64 + view.omitted + view.tail.as_ref().map_or(0, |tail| tail.len() as u64);
    // No number in the real line is longer than this one.
    let longest = note(&Gap { bytes: all, at: all }).chars().count() + 2;
    let left = room.characters.saturating_sub(longest);
    let lines = room.lines.saturating_sub(2);

    let first = beginning(&view.head, left / 2, lines / 2);
    let last = ending(end, left - left / 2, lines - lines / 2);
    let gap = Gap { bytes: all.saturating_sub((first.len() + last.len()) as u64), at: first.len() as u64 };
    let first = escapes.of(first);
    let line_end = if first.is_empty() || first.ends_with('\n') { "" } else { "\n" };
    (format!("{first}{line_end}{}\n{}", note(&gap), escapes.of(last)), true)
}

/// At most so many characters and lines from the beginning of a text.
pub(crate) fn beginning(text: &str, characters: usize, lines: usize) -> &str {
    let cut = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    let Some(lines) = lines.checked_sub(1) else { return "" };
    let cut = text[..cut].match_indices('\n').nth(lines).map_or(cut, |(at, _)| at + 1);
    // A line that is nearly whole is worth less than a cut that nobody takes for data.
    match text[..cut].rfind('\n') {
        Some(newline) if cut < text.len() && newline + 1 >= cut / 4 * 3 => &text[..=newline],
        _ => &text[..cut],
    }
}

/// At most so many characters and lines from the end of a text.
pub(crate) fn ending(text: &str, characters: usize, lines: usize) -> &str {
    let count = text.chars().count();
    let cut = text.char_indices().nth(count.saturating_sub(characters)).map_or(text.len(), |(at, _)| at);
    let finished = text.strip_suffix('\n').unwrap_or(text);
    let Some(lines) = lines.checked_sub(1) else { return "" };
    let cut = finished.rmatch_indices('\n').nth(lines).map_or(cut, |(at, _)| cut.max(at + 1));
    match text[cut..].find('\n') {
        Some(newline) if cut > 0 && !text[..cut].ends_with('\n') && newline < (text.len() - cut) / 4 => {
            &text[cut + newline + 1..]
        }
        _ => &text[cut..],
    }
}

/// Counts lines in bytes that arrive in pieces; an unfinished one at the end is one.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineCount {
    finished: u64,
    open: bool,
}

impl LineCount {
    /// The next piece.
    pub fn count(&mut self, bytes: &[u8]) {
        self.finished += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.open = bytes.last().map_or(self.open, |last| *last != b'\n');
    }

    /// Output that was only counted, with this many line ends. `last` is its last byte.
    pub fn add(&mut self, ends: u64, last: Option<u8>) {
        self.finished += ends;
        self.open = last.map_or(self.open, |last| last != b'\n');
    }

    /// The lines so far.
    pub fn lines(self) -> u64 {
        self.finished + u64::from(self.open)
    }
}

/// Characters of a command that a line about it has, and how many processes that were left running have a line.
const COMMAND: usize = 200;
const MOST_LEFTOVERS: usize = 10;

/// A command in one line that says which one it is, however long the command.
pub fn command_line(command: &str) -> String {
    let first = command.lines().next().unwrap_or_default();
    let shown = beginning(first, COMMAND, 1);
    if shown.len() < first.len() { format!("{shown}…") } else { shown.to_owned() }
}

/// A line for each process that a command left running; where they are many, for some, and their number.
pub fn leftover_lines(ran: &Ran) -> Vec<String> {
    let task = ran.leftover_task().map(|id| format!(" as {id}")).unwrap_or_default();
    let line = |left: &Leftover| format!("[left running{task}: pid {} {}]", left.pid, command_line(&left.command));
    let more = ran.leftovers().len().saturating_sub(MOST_LEFTOVERS);
    let more = (more > 0).then(|| format!("[and {more} more processes]"));
    ran.leftovers().iter().take(MOST_LEFTOVERS).map(line).chain(more).collect()
}

/// A text with what the command left running below it, where it left something.
pub fn with_leftovers(mut text: String, ran: &Ran) -> String {
    for line in leftover_lines(ran) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text += &line;
    }
    text
}

/// Where all output of a command is: its file, or where it has none, the command that prints it.
pub fn all_output(ran: &Ran) -> String {
    match &ran.transcript {
        Some(file) => file.display().to_string(),
        None => format!("`chiton logs {}`", ran.run_id()),
    }
}

/// Output as plain text: without escape sequences, and with the last state of what was drawn over itself.
pub fn without_escapes(text: &str) -> String {
    chiton_engine::terminal::text::plain_text(text)
}

/// That a command waits for input, in one line.
pub fn waiting_line(id: &str, wait: &InputWait) -> String {
    let prompt = wait.prompt.trim();
    let (word, asks) =
        (if wait.certain { "waits" } else { "seems to wait" }, if prompt.is_empty() { "" } else { ": " });
    if wait.echo {
        return format!("[{word} for input{asks}{prompt}]");
    }
    format!(
        "[{word} for a password{asks}{prompt}; type a reference to a secret, or let a person type it: chiton attach {id}]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_characters_and_says_so() {
        assert_eq!(first_characters("h\u{e9}llo", 5, 5), ("h\u{e9}llo".to_owned(), false));
        let (cut, truncated) = first_characters(&"\u{e9}".repeat(10), 50, 4);
        assert!(truncated && cut.starts_with("\u{e9}\u{e9}\u{e9}\u{e9}\n[Output truncated: 50 characters"), "{cut}");
    }

    fn view(text: &str) -> TextView {
        TextView { head: text.to_owned(), tail: None, omitted: 0 }
    }

    #[test]
    fn what_fits_is_given_whole_and_what_does_not_has_both_ends_and_says_what_is_missing() {
        let note = |gap: &Gap| format!("[{} bytes from {}]", gap.bytes, gap.at);
        let room = Room::of(60);
        assert_eq!(fitted(&view("short\n"), room, Escapes::Removed, note), ("short\n".to_owned(), false));
        let red = "\u{1b}[31m".repeat(50);
        assert_eq!(fitted(&view(&red), room, Escapes::Removed, note), (String::new(), false), "nothing visible is cut");

        let lines = (100..200).map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        let (text, cut) = fitted(&view(&lines), room, Escapes::Kept, note);
        assert!(cut);
        let missing = "[368 bytes from 16]\n";
        assert_eq!(text, format!("100\n101\n102\n103\n{missing}196\n197\n198\n199\n"));

        let far = TextView { head: lines.clone(), tail: Some("x\nlast\n".to_owned()), omitted: 1000 };
        let (text, _) = fitted(&far, Room::of(1000), Escapes::Kept, note);
        assert!(text.starts_with("100\n") && text.ends_with("199\n[1000 bytes from 400]\nx\nlast\n"), "{text}");

        let (text, _) = fitted(&view(&lines), Room { characters: 1000, lines: 10 }, Escapes::Kept, note);
        assert_eq!(text.lines().count(), 9);
        assert!(text.starts_with("100\n101\n102\n103\n[") && text.ends_with("]\n196\n197\n198\n199\n"), "{text}");
    }

    #[test]
    fn no_text_is_longer_than_its_room_or_cut_inside_a_character() {
        let note = |gap: &Gap| format!("[{} bytes left out]", gap.bytes);
        for text in
            ["\u{e9}".repeat(500), "\u{1f600}\n".repeat(300), "a".repeat(999), "\n".repeat(400), "ab\n".repeat(200)]
        {
            for characters in [0, 1, 23, 24, 25, 50, 199, 300] {
                for lines in [1, 2, 3, 7, usize::MAX] {
                    let (shown, cut) = fitted(&view(&text), Room { characters, lines }, Escapes::Kept, note);
                    assert!(cut || shown == text);
                    let most = characters.max("[9999 bytes left out]\n".len() + 1);
                    assert!(shown.chars().count() <= most, "{} in {characters}: {shown:?}", shown.chars().count());
                    assert!(shown.lines().count() <= lines.max(3), "{lines} lines: {shown:?}");
                }
            }
        }
    }

    #[test]
    fn lines_are_counted_whatever_the_pieces_they_come_in() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            for piece in 1..=text.len().max(1) {
                let mut count = LineCount::default();
                text.as_bytes().chunks(piece).for_each(|part| count.count(part));
                assert_eq!(count.lines(), lines, "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn every_kind_of_escape_is_removed_and_nothing_else() {
        let cases = [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]8;;x\u{1b}\\c", "abc"),
            ("\u{1b}(B\u{1b}[?25lx\u{1b}[K", "x"),
            ("plain [31m text", "plain [31m text"),
            ("open\u{1b}[31", "open"),
            ("\u{1b}cx", "x"),
        ];
        for (text, plain) in cases {
            assert_eq!(without_escapes(text), plain);
        }
    }
}
