//! Compaction on recorded outputs of real programs: what it may leave out, by rules that are not its own.
//!
//! `outputs/NAME.out` is what a command printed, `outputs/NAME.json` which command it was, how it ended and which lines came
//! from stderr. The rules here know nothing of how [`chiton_dialects::compact`] finds what to leave out. They read the reply
//! like somebody who has nothing but the reply and the recording.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::LazyLock;

use chiton_dialects::compact::{self, Ending};
use regex::Regex;
use serde_json::Value;

struct Recording {
    name: String,
    text: String,
    command: String,
    exit: i64,
    /// Lines from stderr, counted from 1.
    stderr: Vec<RangeInclusive<usize>>,
}

impl Recording {
    fn lines(&self) -> Vec<&str> {
        self.text.split_inclusive('\n').collect()
    }

    /// What a reply would show.
    fn shown(&self) -> String {
        let ending = if self.exit == 0 { Ending::Well } else { Ending::Failed };
        compact::compact(&self.text, 1, ending).map_or_else(|| self.text.clone(), |compacted| compacted.shown)
    }

    fn saved(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let share = self.shown().len() as f64 / self.text.len() as f64;
        100.0 * (1.0 - share)
    }
}

static RECORDINGS: LazyLock<Vec<Recording>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut recordings: Vec<Recording> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "out")).map(|path| recording(&path)).collect();
    recordings.sort_by(|one, other| one.name.cmp(&other.name));
    recordings
});

fn recording(path: &Path) -> Recording {
    let about: Value = serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    Recording {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        text: String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned(),
        command: about["command"].as_str().unwrap().to_owned(),
        exit: about["exit"].as_i64().unwrap(),
        stderr: about["stderr"].as_array().unwrap().iter().map(|pair| number(&pair[0])..=number(&pair[1])).collect(),
    }
}

/// Goes through all recordings and names every one that something is wrong with.
fn each(check: impl Fn(&Recording) -> Vec<String>) {
    let mut wrong = String::new();
    for recording in RECORDINGS.iter() {
        for problem in check(recording) {
            let _ = writeln!(wrong, "{}: {problem}", recording.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A line of a reply: one of the output, or a gap with the lines that it names.
enum Read<'a> {
    Line(&'a str),
    Gap(RangeInclusive<usize>),
}

/// A reply, read by the form of its gaps alone.
fn read(shown: &str) -> Vec<Read<'_>> {
    static GAP: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\[… (\d+) lines like (?:it|the \d above): lines (\d+)-(\d+)\]\n$").unwrap());
    let line = |line| match GAP.captures(line) {
        Some(found) => {
            let number = |group: usize| found[group].parse::<usize>().unwrap();
            let (count, first, last) = (number(1), number(2), number(3));
            assert_eq!(last + 1 - first, count, "{line}");
            Read::Gap(first..=last)
        }
        None => Read::Line(line),
    };
    shown.split_inclusive('\n').map(line).collect()
}

/// The gaps of a reply.
fn gaps(shown: &str) -> Vec<RangeInclusive<usize>> {
    read(shown)
        .into_iter()
        .filter_map(|part| match part {
            Read::Gap(gap) => Some(gap),
            Read::Line(_) => None,
        })
        .collect()
}

#[test]
fn there_are_recordings_of_every_kind() {
    assert!(RECORDINGS.len() >= 60, "{}", RECORDINGS.len());
    let failed = RECORDINGS.iter().filter(|recording| recording.exit != 0).count();
    assert!(failed >= 15, "{failed}");
    let bytes: usize = RECORDINGS.iter().map(|recording| recording.text.len()).sum();
    assert!(bytes < 1_500_000, "{bytes}");
    for kind in [
        "cargo-build", "cargo-test", "pytest", "npm-install", "pip-install", "apt-install", "make", "git-diff",
        "git-log", "ls-", "find", "jq", "sqlite", "nginx", "eslint", "tsc", "go-test", "curl", "tar", "rsync",
    ] {
        assert!(RECORDINGS.iter().any(|recording| recording.name.starts_with(kind)), "{kind}");
    }
    each(|recording| {
        let foreign = Regex::new(r"/root\b|/tmp/[a-z]*/s/").unwrap();
        foreign.find(&recording.text).map(|found| found.as_str().to_owned()).into_iter().collect()
    });
}

#[test]
fn a_reply_and_its_gaps_are_the_whole_output() {
    each(|recording| {
        let lines = recording.lines();
        let mut whole = String::new();
        for part in read(&recording.shown()) {
            match part {
                Read::Line(line) => whole.push_str(line),
                Read::Gap(gap) => whole.push_str(&lines[gap.start() - 1..*gap.end()].concat()),
            }
        }
        if whole == recording.text { Vec::new() } else { vec!["is not the same again".to_owned()] }
    });
}

#[test]
fn a_gap_has_at_least_a_line_before_it_and_one_behind() {
    each(|recording| {
        let last = recording.lines().len();
        let alone = gaps(&recording.shown()).into_iter().filter(|gap| *gap.start() == 1 || *gap.end() == last);
        alone.map(|gap| format!("lines {gap:?} of {last}")).collect()
    });
}

#[test]
fn no_line_that_says_trouble_is_left_out() {
    static TROUBLE: LazyLock<Regex> = LazyLock::new(|| {
        let words = "error|warn|fail|panic|exception|traceback|fatal|denied|refused|abort|cannot|could not|not found|no such|\
                     deprecated|conflict|undefined|unresolved|invalid|timed out|killed|segmentation|assertion|mismatch|\
                     skipped|xfail|not ok|ERR!|vulnerab|critical|missing";
        Regex::new(&format!("(?i){words}")).unwrap()
    });
    // A test that passed may be named after what it expects; but never after these.
    static PLAIN: LazyLock<Regex> = LazyLock::new(|| Regex::new("(?i)error|warn|fail|panic|fatal|traceback").unwrap());
    static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\S+(::|_)(\S+\[.*\]|\S*)").unwrap());
    let is_trouble = |line: &str| {
        let passed = line.trim_end().ends_with("... ok") || line.contains(" PASSED ");
        PLAIN.is_match(line) || TROUBLE.is_match(&if passed { NAME.replace_all(line, "") } else { line.into() })
    };
    each(|recording| {
        let lines = recording.lines();
        let hidden = gaps(&recording.shown()).into_iter().flatten().map(|number| lines[number - 1]);
        hidden.filter(|line| is_trouble(line)).map(str::to_owned).collect()
    });
}

/// Where both streams are one pipe, nobody knows which line was which; then only what says success may go. `unittest` writes
/// even that to stderr.
#[test]
fn of_a_command_that_failed_no_line_of_stderr_is_left_out_but_for_tests_that_passed() {
    static PASSED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\.\.\. ok\n$|\bPASS(ED)?\b|^\s*(ok \d+|✓|✔) ").unwrap());
    each(|recording| {
        if recording.exit == 0 {
            return Vec::new();
        }
        let lines = recording.lines();
        let is_stderr = |number: &usize| recording.stderr.iter().any(|range| range.contains(number));
        let hidden = gaps(&recording.shown()).into_iter().flatten().filter(is_stderr);
        hidden.map(|number| lines[number - 1].to_owned()).filter(|line| !PASSED.is_match(line)).collect()
    });
}

#[test]
fn output_that_is_the_answer_is_left_alone_by_the_command() {
    let answers = [
        "grep-", "diff-", "ls-", "find", "tree", "du", "df", "ps", "wc", "md5sum", "jq", "sqlite-", "column", "dpkg-l",
        "git-log", "git-diff", "git-show", "git-blame", "git-status", "git-ls-files", "cargo-metadata", "cargo-tree",
        "npm-ls", "pip-list", "unzip-list", "nm-", "seq", "apt-search", "cargo-fmt-check", "black-diff",
        "coverage-report",
    ];
    let progress = [
        "cargo-build", "cargo-test", "cargo-fetch", "cargo-install", "pytest-", "unittest-", "make", "cmake-build",
        "pip-install", "npm-install", "apt-install", "go-test", "vitest-", "jest-", "mocha", "zip", "vite-build",
    ];
    each(|recording| {
        let is_answer = compact::program::is_answer(recording.command.as_bytes(), &|_| false);
        let named = |names: &[&str]| names.iter().any(|name| recording.name.starts_with(name));
        // By its command, or by its look.
        let is_whole = is_answer || recording.shown() == recording.text;
        let wrong = (named(&answers) && !is_whole) || (named(&progress) && is_answer);
        wrong.then(|| format!("{} counts as an answer: {is_answer}", recording.command)).into_iter().collect()
    });
}

/// Words that say how something went: two lines that differ in one of them are of two kinds.
const STATES: &str = "ok pass passed passes fail failed failing skip skipped ignored error errors warning yes no true \
                      false done up down on off new modified deleted added removed changed unchanged created updated \
                      success successful started stopped running waiting ready healthy unhealthy open closed present \
                      absent found cached hit miss";

/// What stays of a word that differs between lines of one kind: nothing of a number, a path, an address, a name of several
/// parts; the word itself otherwise.
fn blanked(word: &str) -> &str {
    let core = word.trim_matches(|end: char| ":,;.()[]{}<>'\"`…".contains(end));
    if core.is_empty() {
        return word;
    }
    let has_digit = core.chars().any(|character| character.is_ascii_digit());
    let is_path = core.contains(['/', '\\', '@']) || core.contains("::");
    let is_file = core.split_once('.').is_some_and(|(name, end)| !name.is_empty() && !end.is_empty());
    let is_identifier = core.contains('_') && core.len() > 3;
    if has_digit || is_path || is_file || is_identifier { "#" } else { word }
}

/// Whether two lines are of one kind: the same number of words, and all of them the same but for what is blanked and one
/// name, which is neither the first word nor a word for a state.
fn same_kind(one: &str, other: &str) -> bool {
    // The name of a test has its parameters in brackets, with blanks; a percentage may be padded.
    static TEST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\S+::\S+?\[.*?\]\s+(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b").unwrap());
    static SHARE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[\s*\d+%\]").unwrap());
    let words = |line: &str| -> Vec<String> {
        let line = TEST.replace(line, "#1 $1");
        let line = SHARE.replace(&line, "#2");
        line.split_whitespace().map(|word| blanked(word).to_owned()).collect()
    };
    let (one, other) = (words(one), words(other));
    let differing: Vec<usize> = (0..one.len().min(other.len())).filter(|place| one[*place] != other[*place]).collect();
    let is_state = |word: &str| {
        let word = word.trim_matches(|end: char| !end.is_alphanumeric()).to_lowercase();
        STATES.split_whitespace().any(|state| state == word)
    };
    let is_name = |place: usize| place > 0 && !is_state(&one[place]) && !is_state(&other[place]);
    one.len() == other.len() && differing.len() <= 1 && differing.iter().all(|place| is_name(*place))
}

/// How many visible lines on either side of a gap are its neighbours: kinds may take turns.
const NEIGHBOURS: usize = 3;

#[test]
fn every_line_that_is_left_out_is_of_the_kind_of_a_visible_neighbour() {
    each(|recording| {
        let lines = recording.lines();
        let gaps = gaps(&recording.shown());
        let is_hidden = |number: &usize| gaps.iter().any(|gap| gap.contains(number));
        let mut strange = Vec::new();
        for gap in &gaps {
            let before = (1..*gap.start()).rev().filter(|number| !is_hidden(number)).take(NEIGHBOURS);
            let behind = (gap.end() + 1..=lines.len()).filter(|number| !is_hidden(number)).take(NEIGHBOURS);
            let neighbours: Vec<&str> = before.chain(behind).map(|number| lines[number - 1]).collect();
            let alike = |line: &str| neighbours.iter().any(|neighbour| same_kind(line, neighbour));
            // A line that the next one begins with says nothing that the next one does not.
            let repeated =
                |number: usize| lines.get(number).is_some_and(|next| next.starts_with(lines[number - 1].trim_end()));
            let odd = gap.clone().filter(|number| !alike(lines[number - 1]) && !repeated(*number));
            strange.extend(
                odd.map(|number| format!("line {number}: {:?} near {:?}", lines[number - 1], neighbours.first())),
            );
        }
        strange.truncate(5);
        strange
    });
}

#[test]
fn builds_and_tests_that_say_line_after_line_that_all_is_well_become_short() {
    let share = |name: &str| RECORDINGS.iter().find(|recording| recording.name == name).unwrap().saved();
    for (name, least) in [
        ("cargo-build-app", 80.0),
        ("cargo-check-release", 80.0),
        ("cargo-fetch-app", 80.0),
        ("pytest-verbose", 80.0),
        ("cargo-test-large", 80.0),
    ] {
        assert!(share(name) >= least, "{name}: {:.0} %", share(name));
    }
}
