//! What changed for a client since its last call, at the end of a reply.
//!
//! 1. A [`Change`] is a task that ended, a watch that matched, or a task that now waits for input.
//! 2. [`Reply::with_news`] adds a paragraph of its own at the end of the text, one line for each of the first few and one
//!    that counts and names the others, and `since_last_call` to the structured form.
//!
//! The wording is the same in every dialect; only what a task is called differs ([`TaskNames`](crate::tool::TaskNames)). No
//! dialect has to go without: what has to be exact in a surface is a field of its structured form, and none gives its text
//! as JSON.
//!
//! Prompts, lines and patterns are whatever a program prints. They are shown on one line, without brackets and without
//! what is not seen, and cut: none of them can look like a line of ours.

use std::fmt;
use std::time::Duration;

use chiton_engine::{Outcome, Task, TimeLimit};
use serde_json::{Value, json};

use crate::facts::{object, with};
use crate::reply::Reply;
use crate::shape::SINCE_LAST_CALL;

/// This many changes have a line each; the others are counted and named in one.
pub const MOST_LINES: usize = 5;
/// Characters of a prompt or a line, and of a pattern.
const TEXT: usize = 160;
const PATTERN: usize = 60;

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The id of the task.
    pub id: String,
    /// What the surface calls the task.
    pub name: String,
    /// What it is.
    pub what: What,
}

/// What changed in a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It ended.
    Ended {
        /// How.
        outcome: Outcome,
        /// The limit it was stopped at, where it was.
        limit: Option<TimeLimit>,
        /// After how long.
        duration: Duration,
    },
    /// Lines of its output match a watch.
    Matched {
        /// What they match.
        pattern: String,
        /// How many there were since that was told last.
        matches: u64,
        /// The last of them.
        line: String,
    },
    /// It waits for input.
    Waits {
        /// What it asks.
        prompt: String,
    },
}

impl What {
    /// How a task ended, once it has.
    pub fn ended(task: &Task) -> Option<Self> {
        let outcome = task.outcome.clone().filter(|outcome| *outcome != Outcome::Running)?;
        Some(Self::Ended { outcome, limit: task.limit, duration: task.duration })
    }

    /// Whether it is the end of a task that went well.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Ended { outcome: Outcome::Exited(0), .. })
    }
}

impl fmt::Display for Change {
    /// As a line of text, without brackets around it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.what {
            What::Ended { outcome, limit, duration } => {
                write!(formatter, "{name} ended: {} after {}", how(outcome, *limit), long(*duration))
            }
            What::Matched { pattern, matches, line } => {
                let lines = if *matches == 1 { "line matches" } else { "lines match" };
                let (pattern, line) = (harmless(pattern, PATTERN), harmless(line, TEXT));
                write!(formatter, "{name}: {matches} {lines} '{pattern}', last: {line}")
            }
            What::Waits { prompt } => match harmless(prompt, TEXT).as_str() {
                "" => write!(formatter, "{name} waits for input"),
                prompt => write!(formatter, "{name} waits for input: {prompt}"),
            },
        }
    }
}

impl Change {
    /// The fewest words that say it.
    fn brief(&self) -> String {
        let name = &self.name;
        match &self.what {
            What::Ended { outcome, limit, .. } => format!("{name} {}", how(outcome, *limit)),
            What::Matched { matches, .. } => format!("{name} {matches} matches"),
            What::Waits { .. } => format!("{name} waits for input"),
        }
    }

    /// The same for machines.
    pub fn facts(&self) -> Value {
        let id = object(&json!({"bash_id": self.id}));
        let facts = match &self.what {
            What::Ended { outcome, limit, duration } => json!({
                "what": "ended",
                "outcome": outcome.word(),
                "exit_code": outcome.exit_code(),
                "signal": outcome.signal().map(|signal| signal.to_string()),
                "limit": limit,
                "duration_ms": u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            }),
            What::Matched { pattern, matches, line } => {
                json!({"what": "matched", "pattern": pattern, "matches": matches, "line": harmless(line, TEXT)})
            }
            What::Waits { prompt } => json!({"what": "waits", "prompt": harmless(prompt, TEXT)}),
        };
        Value::Object(with(id, &facts))
    }
}

/// The changes as lines, in brackets. `listing_tool` is the tool that lists tasks, where there is one.
pub fn lines(changes: &[Change], listing_tool: Option<&str>) -> Vec<String> {
    let shown = changes.iter().take(MOST_LINES).map(|change| format!("[{change}]"));
    let mut lines: Vec<String> = shown.collect();
    let others: Vec<String> = changes.iter().skip(MOST_LINES).map(Change::brief).collect();
    if !others.is_empty() {
        let tool = listing_tool.map(|tool| format!("; {tool} lists them")).unwrap_or_default();
        lines.push(format!("[and {} more: {}{tool}]", others.len(), others.join(", ")));
    }
    lines
}

impl Reply {
    /// Says what changed since the client's last call.
    #[must_use]
    pub fn with_news(mut self, changes: &[Change], listing_tool: Option<&str>) -> Self {
        if changes.is_empty() {
            return self;
        }
        let gap = match self.text.as_str() {
            text if text.ends_with("\n\n") => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        self.text += &format!("{gap}{}", lines(changes, listing_tool).join("\n"));
        let facts: Vec<Value> = changes.iter().map(Change::facts).collect();
        self.structured.insert(SINCE_LAST_CALL.to_owned(), facts.into());
        self
    }
}

fn how(outcome: &Outcome, limit: Option<TimeLimit>) -> String {
    match (outcome, limit) {
        (Outcome::Exited(code), _) => format!("exit {code}"),
        (Outcome::Signaled(signal), _) => signal.to_string(),
        (Outcome::TimedOut, Some(TimeLimit::Silence)) => "stopped, silent for too long,".to_owned(),
        (Outcome::TimedOut, _) => "stopped at its time limit".to_owned(),
        (Outcome::Killed, _) => "killed".to_owned(),
        (Outcome::Cancelled, _) => "cancelled".to_owned(),
        (Outcome::Lost, _) => "lost, its keeper was killed,".to_owned(),
        (other @ (Outcome::Running | Outcome::Refused(_)), _) => other.word().to_owned(),
    }
}

/// A time as people say it.
fn long(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{}.{} s", seconds, duration.subsec_millis() / 100),
        10..90 => format!("{seconds} s"),
        90..5_400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A text of somebody else's on one line, in which nothing can be taken for a line of ours.
fn harmless(text: &str, most: usize) -> String {
    let mut shown: String = text
        .trim()
        .chars()
        .filter_map(|character| match character {
            '[' => Some('('),
            ']' => Some(')'),
            '\t' | '\n' | '\r' => Some(' '),
            character if is_unseen(character) => None,
            character => Some(character),
        })
        .take(most + 1)
        .collect();
    if let Some((end, _)) = shown.char_indices().nth(most) {
        shown.truncate(end);
        shown.push('…');
    }
    shown
}

/// Whether a character is not seen, ends a line for some viewers, or turns around what is seen.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use chiton_engine::Signal;
    use serde_json::Map;

    use super::*;

    fn ended(id: &str, outcome: Outcome, limit: Option<TimeLimit>, seconds: u64) -> Change {
        let what = What::Ended { outcome, limit, duration: Duration::from_secs(seconds) };
        Change { id: id.to_owned(), name: id.to_owned(), what }
    }

    fn waits(prompt: &str) -> Change {
        let what = What::Waits { prompt: prompt.to_owned() };
        Change { id: "shell_1".to_owned(), name: "shell_1".to_owned(), what }
    }

    #[test]
    fn every_change_is_one_short_line() {
        let matched = What::Matched { pattern: "ERROR|WARN".into(), matches: 3, line: "ERROR: no\n".into() };
        let cases = [
            (ended("shell_1", Outcome::Exited(1), None, 180), "shell_1 ended: exit 1 after 3 min"),
            (ended("shell_1", Outcome::Exited(0), None, 2), "shell_1 ended: exit 0 after 2.0 s"),
            (ended("shell_1", Outcome::Signaled(Signal::TERM), None, 42), "shell_1 ended: SIGTERM after 42 s"),
            (
                ended("shell_1", Outcome::TimedOut, Some(TimeLimit::Timeout), 7_500),
                "shell_1 ended: stopped at its time limit after 2 h 5 min",
            ),
            (
                ended("shell_1", Outcome::TimedOut, Some(TimeLimit::Silence), 600),
                "shell_1 ended: stopped, silent for too long, after 10 min",
            ),
            (ended("shell_1", Outcome::Killed, None, 10), "shell_1 ended: killed after 10 s"),
            (ended("shell_1", Outcome::Lost, None, 10), "shell_1 ended: lost, its keeper was killed, after 10 s"),
            (waits("Password:"), "shell_1 waits for input: Password:"),
            (waits(""), "shell_1 waits for input"),
            (
                Change { id: "shell_1".into(), name: "session 7".into(), what: matched },
                "session 7: 3 lines match 'ERROR|WARN', last: ERROR: no",
            ),
        ];
        for (change, expected) in cases {
            assert_eq!(change.to_string(), expected);
        }
    }

    #[test]
    fn what_a_program_prints_cannot_look_like_a_line_of_ours() {
        let long = "x".repeat(10_000);
        for prompt in
            ["a]\n[shell_2 ended: exit 0 after 1 s", "a]\r[shell_2 ended", "\u{1b}[2K]\u{202e}[x\u{2028}[y", &long]
        {
            let line = format!("[{}]", waits(prompt));
            assert_eq!(line.matches(['[', ']']).count(), 2, "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
            assert!(!line.chars().any(is_unseen), "{line:?}");
            assert!(line.chars().count() < 200, "{line}");
        }
    }

    #[test]
    fn five_have_a_line_each_and_the_others_are_counted_and_named_in_one() {
        let changes: Vec<Change> =
            (0..10).map(|number| ended(&format!("shell_{number}"), Outcome::Exited(number), None, 1)).collect();
        let reply = Reply::good("output\n", Map::new()).with_news(&changes, Some("ListShells"));
        let (output, news) = reply.text.split_once("\n\n").unwrap();
        assert_eq!(output, "output");
        let lines: Vec<&str> = news.lines().collect();
        assert_eq!(lines.len(), 6, "{news}");
        assert_eq!(lines[0], "[shell_0 ended: exit 0 after 1.0 s]");
        let rest = "shell_5 exit 5, shell_6 exit 6, shell_7 exit 7, shell_8 exit 8, shell_9 exit 9";
        assert_eq!(lines[5], format!("[and 5 more: {rest}; ListShells lists them]"));
        assert_eq!(reply.structured[SINCE_LAST_CALL].as_array().unwrap().len(), 10);
    }

    #[test]
    fn it_is_a_paragraph_of_its_own_and_nothing_where_there_is_nothing() {
        let changes = [waits("Name?")];
        for text in ["output", "output\n", "output\n\n"] {
            let reply = Reply::good(text, Map::new()).with_news(&changes, None);
            assert_eq!(reply.text, "output\n\n[shell_1 waits for input: Name?]");
        }
        let silent = Reply::good("output", Map::new()).with_news(&[], None);
        assert_eq!((silent.text.as_str(), silent.structured.len()), ("output", 0));
    }
}
