//! What a person is asked, and how it is shown.

use std::fmt::Write;
use std::path::PathBuf;

use chiton_guard::{SeenCommand, Verdict};
use chiton_shell::tree::Span;

use super::visible::{on_one_line, visible};

/// How many lines of a long text are shown at its beginning, around what decided, and at its end.
const FIRST_LINES: usize = 40;
const LINES_AROUND: usize = 3;
const LAST_LINES: usize = 10;
/// How many characters of a line are shown.
const LINE_CHARACTERS: usize = 2_000;
/// How many programs in a part that is not shown are named.
const NAMED_PROGRAMS: usize = 12;

/// What is asked about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// Whether it may run: the guard wants to know.
    Run,
    /// Whether it may run again and do what its sandbox has refused.
    Widen,
}

impl QuestionKind {
    /// The question in one sentence.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Run => "May this command run?",
            Self::Widen => "May this command run again, and do what its sandbox has refused?",
        }
    }

    /// The same in a few words, beside the answers.
    pub fn short(self) -> &'static str {
        match self {
            Self::Run => "Run it?",
            Self::Widen => "Run it again with that allowed?",
        }
    }

    /// What the answers mean.
    pub fn answers(self) -> &'static str {
        match self {
            Self::Run => {
                "once: this time. session: also when exactly this comes again in this session. no: not at all."
            }
            Self::Widen => {
                "once: for this command. session: for every command of this session. no: leave it refused, and do not ask \
                 again."
            }
        }
    }
}

/// What a person is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is asked about it.
    pub kind: QuestionKind,
    /// Its name, for an answer that comes later.
    pub id: String,
    /// The machine on which it would run, where that is another one.
    pub on: Option<String>,
    /// The command, whole.
    pub command: String,
    /// Where it would run.
    pub directory: PathBuf,
    /// Where that really is, without symbolic links.
    pub real_directory: PathBuf,
    /// Variables for this call alone. References to secrets stand as they are.
    pub environment: Vec<(String, String)>,
    /// What it would read, where that is known.
    pub input: Option<String>,
    /// What the guard says about it.
    pub verdict: Verdict,
}

impl Question {
    /// The question for a person, with everything visible that could deceive. Whatever the command decides stands behind
    /// a bar, so that no line of it can be taken for one of ours.
    pub fn text(&self) -> String {
        let mut text = self.on.as_ref().map(|on| format!("on {}: ", on_one_line(on))).unwrap_or_default();
        text.push_str(&on_one_line(&self.verdict.reason));
        text.push_str("\n\n");
        frame(&mut text, &self.command, self.verdict.span, &self.verdict.commands);

        let mut say = |what: &str, value: &str| {
            let _ = write!(text, "\n{what} {}", on_one_line(value));
        };
        say("in", &self.directory.to_string_lossy());
        if self.real_directory != self.directory {
            say("which is", &self.real_directory.to_string_lossy());
        }
        if let Some(target) = &self.verdict.target {
            say("acts on", target);
        }
        for (name, value) in &self.environment {
            say("with", &format!("{name}={value}"));
        }
        if let Some(rule) = &self.verdict.rule {
            say("rule", rule);
        }
        if let (QuestionKind::Widen, Some(permit)) = (self.kind, &self.verdict.permit) {
            say("for good:", permit);
        }
        if let Some(input) = &self.input {
            let _ = write!(text, "\ninput, {} bytes:\n", input.len());
            frame(&mut text, input, None, &[]);
        }
        text
    }
}

/// Adds `source` line by line behind a bar. Of a long one the beginning, the end and what decided are shown, and
/// the rest is named.
fn frame(text: &mut String, source: &str, decided: Option<Span>, commands: &[SeenCommand]) {
    let lines: Vec<&str> = source.split('\n').collect();
    let line_of =
        |span: Span| String::from_utf8_lossy(&source.as_bytes()[..span.start.min(source.len())]).matches('\n').count();
    let decided = decided.map(line_of);
    let is_shown = |at: usize| {
        at < FIRST_LINES
            || at + LAST_LINES >= lines.len()
            || decided.is_some_and(|line| at.abs_diff(line) <= LINES_AROUND)
    };

    let mut start_of_line = 0;
    let mut at = 0;
    while at < lines.len() {
        if is_shown(at) {
            let _ = writeln!(text, "| {}", shown_line(lines[at]));
            start_of_line += lines[at].len() + 1;
            at += 1;
            continue;
        }
        let from = at;
        let start = start_of_line;
        while at < lines.len() && !is_shown(at) {
            start_of_line += lines[at].len() + 1;
            at += 1;
        }
        let hidden = Span { start, end: start_of_line };
        let _ = writeln!(text, "... {}", named(from + 1, at, hidden, commands));
    }
}

/// A line, or its beginning and how much more there is.
fn shown_line(line: &str) -> String {
    let count = line.chars().count();
    if count <= LINE_CHARACTERS {
        return visible(line);
    }
    let head: String = line.chars().take(LINE_CHARACTERS * 3 / 4).collect();
    let tail: String = line.chars().skip(count - LINE_CHARACTERS / 4).collect();
    format!("{} ... {} characters are not shown ... {}", visible(&head), count - LINE_CHARACTERS, visible(&tail))
}

/// What is in a part that is not shown: where it is, how long, and which programs it would run.
fn named(first: usize, last: usize, hidden: Span, commands: &[SeenCommand]) -> String {
    let is_inside = |seen: &&SeenCommand| seen.span.start >= hidden.start && seen.span.start < hidden.end;
    let mut programs: Vec<String> =
        commands.iter().filter(is_inside).filter_map(|seen| seen.words.first()).map(|word| on_one_line(word)).collect();
    programs.sort();
    programs.dedup();

    let mut text = format!("lines {first} to {last} are not shown ({} characters)", hidden.end - hidden.start);
    if !programs.is_empty() {
        let more = programs.len().saturating_sub(NAMED_PROGRAMS);
        programs.truncate(NAMED_PROGRAMS);
        let _ = write!(text, "; they run: {}", programs.join(", "));
        if more > 0 {
            let _ = write!(text, " and {more} more");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(command: &str) -> Question {
        Question {
            kind: QuestionKind::Run,
            id: String::new(),
            on: None,
            command: command.to_owned(),
            directory: "/work".into(),
            real_directory: "/work".into(),
            environment: Vec::new(),
            input: None,
            verdict: Verdict { reason: "This would do something.".to_owned(), ..Verdict::default() },
        }
    }

    #[test]
    fn no_part_of_it_can_forge_a_line() {
        let mut asked = question("echo\nrule none\n| x");
        asked.directory = "/tmp/e\u{1b}[2J\nrule none".into();
        asked.verdict.reason = "`a\u{1b}[2J\u{1b}[Hharmless\nrule none` runs".to_owned();
        asked.verdict.target = Some("x\nrule none".to_owned());
        asked.environment = vec![("A".to_owned(), "1\nrule none".to_owned())];
        asked.input = Some("y\nrule none".to_owned());
        let text = asked.text();
        assert!(!text.lines().any(|line| line == "rule none"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("| rule none"), "{text}");
    }

    #[test]
    fn the_input_and_where_a_link_leads_are_shown() {
        let mut asked = question("bash");
        asked.input = Some("touch canary\n".to_owned());
        asked.real_directory = "/data/work".into();
        let text = asked.text();
        assert!(text.contains("input, 13 bytes:\n| touch canary\n"), "{text}");
        assert!(text.contains("in /work\nwhich is /data/work"), "{text}");
    }

    #[test]
    fn another_machine_is_named_first_and_forges_no_line() {
        let mut asked = question("make install");
        asked.on = Some("build\nrule none".to_owned());
        assert!(asked.text().starts_with("on build\\u{a}rule none: This would do something.\n"), "{}", asked.text());
    }

    #[test]
    fn what_is_hidden_in_a_long_command_is_named() {
        let lines: Vec<String> = (0..500).map(|number| format!("echo {number}")).collect();
        let command = lines.join("\n");
        let place = command.find("echo 300").unwrap();
        let mut asked = question(&command);
        asked.verdict.span = Some(Span::new(place, place + 4));
        let inside = command.find("echo 100").unwrap();
        asked.verdict.commands = vec![SeenCommand {
            words: vec!["curl".to_owned()],
            assignments: Vec::new(),
            redirections: Vec::new(),
            span: Span::new(inside, inside + 4),
            decided: true,
        }];
        let text = asked.text();
        for shown in ["| echo 0\n", "| echo 300\n", "| echo 499\n", "lines 41 to 297 are not shown"] {
            assert!(text.contains(shown), "{shown} in {text}");
        }
        assert!(text.contains("they run: curl"), "{text}");
        assert!(text.lines().count() < 80, "{text}");
    }
}
