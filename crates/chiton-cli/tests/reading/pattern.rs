//! Whether what came back is what a page shows, except for what differs from one time to the next.
//!
//! | on the page | stands for |
//! |---|---|
//! | `[..]` | anything on this line |
//! | `...` alone on a line | any number of lines |
//! | an id: `shell_1a2b3c4d`, `undo_…`, `preview_…` | another id, the same one wherever this one stands on the page, in commands too |
//! | a number of four digits or more that no command of the page mentions: a process id, a port | another such number, the same one everywhere |
//! | a duration or an age: `7 ms`, `2.5 s`, `4 s ago` | any other, `just now` for an age as well |
//! | `/home/me`, in commands too | the home of the test |
//! | two or more spaces | two or more spaces: the columns of a table are as wide as what is in them |
//!
//! Blanks at the end of a line do not count, nor do empty lines at the end.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// What is taken for what, by its kind: an id, a number, a duration, blanks, an omission.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    let parts = [
        r"(?P<any>\[\.\.\])",
        r"(?P<id>\b(?:shell|undo|preview)_[0-9a-f]{8}\b)",
        r"(?P<age>\b\d+ (?:ms|s|min|h|d) ago\b|\bjust now\b)",
        r"(?P<time>\b\d+(?:\.\d+)? ?(?:ms|s|min|h)\b)",
        r"(?P<number>\b\d{4,}\b)",
        r"(?P<blanks> {2,})",
    ];
    Regex::new(&parts.join("|")).unwrap()
});

/// What the examples of a page turned out to be, this time.
#[derive(Default)]
pub struct Meanings {
    found: BTreeMap<String, String>,
    /// Numbers that are what they are, because a command of the page has them.
    literal: Vec<String>,
}

impl Meanings {
    /// For a page on which all of this is typed.
    pub fn new(typed: &str) -> Self {
        let numbers = Regex::new(r"\d{4,}").unwrap();
        let literal = numbers.find_iter(typed).map(|it| it.as_str().to_owned()).collect();
        Self { found: BTreeMap::new(), literal }
    }

    /// A command of the page, with the ids that are meant.
    pub fn command(&self, typed: &str) -> String {
        let meant = |example: &str| self.found.get(example).map_or(example, String::as_str).to_owned();
        PARTS.replace_all(typed, |it: &regex::Captures| meant(&it[0])).into_owned()
    }

    /// Whether `came` is what the page shows. If it is, its examples have meanings from now on.
    pub fn agree(&mut self, shown: &str, came: &str) -> bool {
        let (pattern, names) = self.pattern(shown);
        let came: Vec<&str> = came.lines().map(str::trim_end).collect();
        let came = came.join("\n").trim_end_matches('\n').to_owned() + "\n";
        let Some(found) = pattern.captures(&came) else { return false };

        // One example has one meaning, also where it stands twice in one reply.
        for (group, name) in names {
            let meaning = found[group.as_str()].to_owned();
            if *self.found.entry(name).or_insert_with(|| meaning.clone()) != meaning {
                return false;
            }
        }
        true
    }

    /// The expression for what is shown, and which of its groups stands for which example.
    fn pattern(&self, shown: &str) -> (Regex, Vec<(String, String)>) {
        let (mut pattern, mut names) = (String::from("^"), Vec::new());
        for line in shown.trim_end_matches('\n').lines() {
            if line.trim() == "..." {
                pattern.push_str("(?:.*\n)*?");
                continue;
            }
            self.line(line.trim_end(), &mut pattern, &mut names);
            pattern.push('\n');
        }
        // Nothing shown is an empty line here, as nothing that came is.
        if shown.trim_end_matches('\n').is_empty() {
            pattern.push('\n');
        }
        pattern.push('$');
        (Regex::new(&pattern).unwrap(), names)
    }

    fn line(&self, line: &str, pattern: &mut String, names: &mut Vec<(String, String)>) {
        let mut done = 0;
        for part in PARTS.captures_iter(line) {
            let whole = part.get(0).unwrap();
            pattern.push_str(&regex::escape(&line[done..whole.start()]));
            done = whole.end();
            let text = whole.as_str();
            let mut example = |form: &str| {
                let group = format!("g{}", names.len());
                pattern.push_str(&format!("(?P<{group}>{form})"));
                names.push((group, text.to_owned()));
            };
            if part.name("any").is_some() {
                pattern.push_str(".*?");
            } else if part.name("id").is_some() {
                example(&format!("{}[0-9a-f]{{8}}", &text[..=text.find('_').unwrap()]));
            } else if part.name("number").is_some() && !self.literal.iter().any(|it| it == text) {
                example(r"\d{2,}");
            } else if part.name("age").is_some() {
                pattern.push_str(r"(?:\d+ (?:ms|s|min|h|d) ago|just now)");
            } else if part.name("time").is_some() {
                pattern.push_str(r"\d+(?:\.\d+)? ?(?:ms|s|min|h)(?: \d+ (?:ms|s|min))?");
            } else if part.name("blanks").is_some() {
                pattern.push_str(" {2,}");
            } else {
                pattern.push_str(&regex::escape(text));
            }
        }
        pattern.push_str(&regex::escape(&line[done..]));
    }
}

pub fn tells_apart() {
    let cases = [
        ("a\n", "a\n", true),
        ("a\n", "b\n", false),
        ("a\n", "a\nb\n", false),
        ("", "", true),
        ("", "a\n", false),
        ("a\n", "", false),
        ("a [..] c\n", "a b c\n", true),
        ("a [..] c\n", "a b\nc\n", false),
        ("a\n...\nd\n", "a\nb\nc\nd\n", true),
        ("a\n...\nd\n", "a\nb\n", false),
        ("shell_00000000 and shell_00000000\n", "shell_12345678 and shell_12345678\n", true),
        ("shell_00000000 and shell_00000000\n", "shell_12345678 and shell_87654321\n", false),
        ("undo_00000000\n", "shell_12345678\n", false),
        ("pid 7175, port 8080\n", "pid 99, port 8080\n", true),
        ("pid 7175, port 8080\n", "pid 99, port 8081\n", false),
        ("after 7 ms\n", "after 1.2 s\n", true),
        ("2 s ago  x\n", "just now     x\n", true),
        ("2 s ago  x\n", "just now x\n", false),
        ("(a|b).*\n", "a\n", false),
    ];
    for (shown, came, agree) in cases {
        assert_eq!(Meanings::new("serve 8080").agree(shown, came), agree, "{shown:?} {came:?}");
    }

    let mut meanings = Meanings::new("");
    assert!(meanings.agree("task shell_00000000\n", "task shell_12345678\n"));
    assert_eq!(meanings.command("chiton kill shell_00000000"), "chiton kill shell_12345678");
    assert!(!meanings.agree("shell_00000000\n", "shell_99999999\n"), "it means another one");
}
