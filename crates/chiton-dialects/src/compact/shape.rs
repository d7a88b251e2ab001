//! The shape of a line: its words, with everything blanked that differs between lines of one kind.
//!
//! 1. A line is cut into tokens at blanks.
//! 2. Numbers, times, sizes, percentages, versions, hashes, paths and names of tests become blanks; words stay.
//! 3. A whole number that has few values among many lines is a code and no measure, so it stays ([`tell_codes_apart`]).
//! 4. Two lines have the same shape if all tokens are the same. In a line that begins with a verb, like `Compiling serde
//!    v1.0`, one token may be a name and differ, always the same one ([`Template`]).

use std::collections::hash_map::{Entry, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A line with more tokens than this has a shape of its own.
const MOST_TOKENS: usize = 48;
/// A longer line has a shape of its own.
const LONGEST: usize = 2000;
/// A number with at most this many values may be a code.
const MOST_CODES: usize = 8;

/// A line as its tokens.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    indent: u64,
    tokens: Vec<Token>,
    /// Whether it begins with a verb, so that one of its tokens may be a name.
    verb: bool,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    hash: u64,
    /// Of all of it, nothing blanked.
    exact: u64,
    /// The whole number in it, where that is all that was blanked.
    number: Option<u64>,
    /// Whether it may be a name.
    name: bool,
    /// The same for all lines that differ only in numbers and names.
    coarse: u64,
    /// Whether it is a word that says something.
    word: bool,
}

impl Shape {
    /// The shape of a line that can be one of many; none of a line that is of a kind of its own.
    pub(super) fn of(line: &str) -> Option<Self> {
        let text = line.trim_start();
        if text.is_empty() || line.len() > LONGEST {
            return None;
        }
        let mut tokens = Vec::new();
        let mut verb = false;
        for piece in pieces(text) {
            if tokens.len() == MOST_TOKENS {
                return None;
            }
            let token = Token::of(piece);
            if tokens.is_empty() {
                verb = token.word && (piece == "test" || piece.starts_with(char::is_uppercase));
            }
            tokens.push(token);
        }
        let is_counter = tokens[0].number.is_some() || text.starts_with(|first: char| first.is_ascii_digit());
        let indent = if is_counter { 0 } else { hashed(&line[..line.len() - text.len()]) };
        // Numbers and paths without a word are rows of data.
        tokens.iter().any(|token| token.word).then_some(Self { indent, tokens, verb })
    }

    fn coarse(&self) -> u64 {
        hashed(&(self.indent, self.tokens.iter().map(|token| token.coarse).collect::<Vec<u64>>()))
    }
}

/// Puts numbers back that are codes: those with few values among many lines of a kind, such as the status of a request
/// or of a command. One that counts or measures has nearly as many values as there are lines.
pub(super) fn tell_codes_apart<'a>(shapes: impl Iterator<Item = &'a mut Shape>) {
    #[derive(Default)]
    struct Kind {
        lines: usize,
        values: Vec<Vec<u64>>,
    }
    let mut shapes: Vec<(u64, &mut Shape)> = shapes.map(|shape| (shape.coarse(), shape)).collect();
    let mut kinds: HashMap<u64, Kind> = HashMap::new();
    for (key, shape) in &shapes {
        let kind = match kinds.entry(*key) {
            Entry::Occupied(kind) => kind.into_mut(),
            Entry::Vacant(empty) => empty.insert(Kind { lines: 0, values: vec![Vec::new(); shape.tokens.len()] }),
        };
        kind.lines += 1;
        for (values, token) in kind.values.iter_mut().zip(&shape.tokens) {
            if let Some(number) = token.number
                && values.len() <= MOST_CODES
                && !values.contains(&number)
            {
                values.push(number);
            }
        }
    }

    for (key, shape) in &mut shapes {
        let Some(kind) = kinds.get(key) else { continue };
        for (values, token) in kind.values.iter().zip(&mut shape.tokens) {
            let is_code = (2..=MOST_CODES).contains(&values.len()) && values.len() * 2 <= kind.lines;
            if let Some(number) = token.number.filter(|_| is_code) {
                token.hash = hashed(&(token.hash, number));
            }
        }
    }
}

/// What all lines of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct Template {
    shape: Shape,
    /// The token that is a name and differs.
    free: Option<usize>,
    names: Vec<u64>,
    pub(super) lines: usize,
}

impl Template {
    pub(super) fn new(shape: &Shape) -> Self {
        Self { shape: shape.clone(), free: None, names: Vec::new(), lines: 1 }
    }

    /// Takes a line that is like those before it; says whether it is.
    pub(super) fn takes(&mut self, line: &Shape) -> bool {
        let own = &self.shape;
        if own.indent != line.indent || own.tokens.len() != line.tokens.len() {
            return false;
        }
        let mut differing = own.tokens.iter().zip(&line.tokens).enumerate().filter(|(_, (a, b))| a.hash != b.hash);
        match (differing.next(), differing.next()) {
            (None, _) => {}
            (Some((place, (first, other))), None) if self.may_be_free(place) && first.name && other.name => {
                self.free = Some(place);
                if !self.names.contains(&first.exact) {
                    self.names.push(first.exact);
                }
            }
            _ => return false,
        }
        if let Some(free) = self.free {
            let name = line.tokens[free].exact;
            if self.names.len() <= ENOUGH_NAMES && !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        self.lines += 1;
        true
    }

    fn may_be_free(&self, place: usize) -> bool {
        let last = self.shape.tokens.len() - 1;
        let here = self.shape.verb && place > 0 && (place < last || last == 1);
        self.free.map_or(here, |free| free == place)
    }

    /// Whether what differs is a name and not a state: names differ nearly always, states have few values.
    pub(super) fn is_one_kind(&self) -> bool {
        self.free.is_none() || self.names.len() > ENOUGH_NAMES || self.names.len() * 2 > self.lines
    }
}

/// So many different words are names.
const ENOUGH_NAMES: usize = 40;

/// The tokens of a line. A bracket that is padded (`[  1%]`) is one of them, and so is the name of a test with its
/// parameters (`a.py::b[x y]`).
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let mut end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if matches!(&rest[..end], "[" | "(") {
            let number = rest[end..].trim_start();
            if number.starts_with(|first: char| first.is_ascii_digit()) {
                end = rest.len() - number.len() + number.find(char::is_whitespace).unwrap_or(number.len());
            }
        } else if let Some(open) = rest[..end].find('[')
            && rest[..open].contains("::")
            && !rest[open..end].contains(']')
            && let Some(close) = rest.find("] ")
        {
            end = close + 1;
        }
        let piece;
        (piece, rest) = rest.split_at(end);
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

/// What a token is, once the punctuation around it is gone.
enum Class {
    /// A number, perhaps with its unit, a time, a date, a version or a hash.
    Number(Option<u64>),
    /// A path, an address, or the name of something in code.
    Path,
    /// A word.
    Word,
}

impl Token {
    fn of(piece: &str) -> Self {
        Self { exact: hashed(piece), ..Self::blanked(piece) }
    }

    fn blanked(piece: &str) -> Self {
        let (before, core, after) = bare(piece);
        if core.is_empty() {
            return Self::marks(piece);
        }
        if let Some((key, value)) = core.split_once(['=', ':'])
            && key.len() > 1
            && key.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_.-".contains(&byte))
            && value.starts_with(|first: char| first.is_ascii_digit() || first == '"')
        {
            let value = Self::of(value);
            let hash = hashed(&(before, key, value.hash, after));
            return Self { hash, coarse: hash, word: true, ..value };
        }
        match class(core) {
            Class::Number(number) => {
                let hash = hashed(&(before.trim_end_matches(['-', '+', ' ']), NUMBER, after));
                Self { hash, number, coarse: hash, ..BLANK }
            }
            Class::Path => {
                // What closes a bracket inside the name belongs to it.
                let after =
                    if core.contains(['[', '(', '<']) { after.trim_start_matches([']', ')', '>']) } else { after };
                let hash = hashed(&(before, PATH, after));
                Self { hash, name: true, coarse: NAME, ..BLANK }
            }
            Class::Word => Self::word(before, core, after),
        }
    }

    fn word(before: &str, core: &str, after: &str) -> Self {
        let (text, number) = without_digits(core);
        let hash = hashed(&(before, &text, after));
        let name = is_name(core) && before.trim_matches(['\'', '"', '`']).is_empty();
        let word = core.chars().filter(|letter| letter.is_alphabetic()).count() >= 2;
        Self { hash, number, name, coarse: if name { NAME } else { hash }, word, ..BLANK }
    }

    /// Nothing but marks, like `...` or `===`. How many there are is for the eye.
    fn marks(piece: &str) -> Self {
        let first = piece.chars().next().unwrap_or_default();
        let one = piece.len() > 3 && piece.chars().all(|mark| mark == first);
        let hash = hashed(&("marks", if one { "" } else { piece }, first));
        Self { hash, coarse: hash, ..BLANK }
    }
}

const BLANK: Token = Token { hash: 0, exact: 0, number: None, name: false, coarse: 0, word: false };
const NUMBER: &str = "\0number";
const PATH: &str = "\0path";
const NAME: u64 = 0;

/// A token in three parts: marks, what stands between them, marks.
fn bare(piece: &str) -> (&str, &str, &str) {
    let is_mark = |mark: char| " ()[]{}<>,;:'\"`\u{2018}\u{2019}\u{201c}\u{201d}.!?*#=+-\u{2026}\u{b7}|".contains(mark);
    let start = piece.find(|mark| !is_mark(mark)).unwrap_or(piece.len());
    // An option keeps its dashes, a hidden file its dot, an absolute path its slash.
    let end = piece
        .rfind(|mark: char| !is_mark(mark))
        .map_or(start, |last| last + piece[last..].chars().next().map_or(1, char::len_utf8));
    (&piece[..start], &piece[start..end.max(start)], &piece[end.max(start)..])
}

fn class(core: &str) -> Class {
    let bytes = core.as_bytes();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let starts_like_number =
        bytes[0].is_ascii_digit() || (bytes[0] == b'v' && bytes.get(1).is_some_and(u8::is_ascii_digit));
    if starts_like_number {
        let longest_word = core.split(|letter: char| !letter.is_alphabetic()).map(str::len).max().unwrap_or_default();
        if bytes.iter().all(u8::is_ascii_digit) {
            return Class::Number(core.parse().ok());
        }
        if longest_word <= 3 || (core.contains('.') && !core.contains('/')) {
            return Class::Number(None);
        }
    }
    let hex = |extra: &[u8]| bytes.iter().all(|byte| byte.is_ascii_hexdigit() || extra.contains(byte));
    if has_digit && ((bytes.len() >= 7 && hex(b"")) || (bytes.len() >= 16 && hex(b"-:"))) {
        return Class::Number(None);
    }
    if is_path(core) || is_test_name(core) { Class::Path } else { Class::Word }
}

fn is_path(core: &str) -> bool {
    let inner_dot = || {
        core.split('.').count() > 1
            && core.split('.').all(|part| {
                !part.is_empty()
                    && part.chars().all(|letter| letter.is_alphanumeric() || "_-@+~[]()<>:,$".contains(letter))
            })
    };
    core.contains("::")
        || core.contains("()")
        || core.contains('\\')
        || (core.contains('/') && (core.len() > 4 || core.starts_with('/')))
        || inner_dot()
}

fn is_test_name(core: &str) -> bool {
    const BEGINNINGS: [&str; 5] = ["Test", "test_", "Benchmark", "Example", "Fuzz"];
    const ENDINGS: [&str; 4] = ["Test", "Tests", "Spec", "_test"];
    let longer = |part: &str| core.len() > part.len();
    BEGINNINGS.iter().any(|part| longer(part) && core.starts_with(part))
        || ENDINGS.iter().any(|part| longer(part) && core.ends_with(part))
}

/// A word with its digits blanked, and the whole number in it, where there is exactly one.
fn without_digits(core: &str) -> (String, Option<u64>) {
    let mut text = String::with_capacity(core.len());
    let mut numbers = Vec::new();
    for letter in core.chars() {
        match (letter.to_digit(10), text.ends_with('#')) {
            (None, _) => text.push(letter),
            (Some(digit), false) => {
                text.push('#');
                numbers.push(u64::from(digit));
            }
            (Some(digit), true) => {
                if let Some(last) = numbers.last_mut() {
                    *last = last.saturating_mul(10).saturating_add(digit.into());
                }
            }
        }
    }
    (text, if let [number] = numbers[..] { Some(number) } else { None })
}

/// Words that say how something stands, and so are never taken for names.
const STATES: [&str; 42] = [
    "ok", "yes", "no", "on", "off", "up", "down", "true", "false", "done", "passed", "good", "fresh", "cached", "hit",
    "miss", "added", "removed", "changed", "unchanged", "modified", "created", "deleted", "updated", "running",
    "stopped", "started", "ready", "pending", "open", "closed", "active", "inactive", "enabled", "valid", "clean",
    "new", "old", "complete", "finished", "waiting", "up-to-date",
];

/// Whether a word may be the name of something: neither shouted nor a state.
fn is_name(core: &str) -> bool {
    let letters = || core.chars().filter(|letter| letter.is_alphabetic());
    let shouted = letters().count() > 1 && letters().all(char::is_uppercase);
    let plain = core.chars().all(|letter| letter.is_alphanumeric() || "_@+.-~:/".contains(letter));
    plain && letters().count() > 0 && !shouted && !STATES.contains(&core.to_lowercase().as_str())
}

fn hashed(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether these lines are all of one kind.
    fn alike(lines: &[&str]) -> bool {
        let mut shapes: Vec<Shape> = match lines.iter().map(|line| Shape::of(line)).collect() {
            Some(shapes) => shapes,
            None => return false,
        };
        tell_codes_apart(shapes.iter_mut());
        let mut template = Template::new(&shapes[0]);
        shapes[1..].iter().all(|shape| template.takes(shape)) && template.is_one_kind()
    }

    #[test]
    fn lines_of_one_kind_are_alike() {
        let cases: &[&[&str]] = &[
            &["   Compiling serde v1.0.219", "   Compiling proc-macro2 v1.0.94", "   Compiling app v0.1.0"],
            &["  Downloaded libc v0.2.170", "  Downloaded windows-sys v0.59.0"],
            &["test a::b ... ok", "test parse::words_of_a_line ... ok"],
            &["test works ... ok", "test fails_not ... ok"],
            &["tests/a.py::test_b PASSED      [  1%]", "tests/c/d.py::E::f[x y-1] PASSED [100%]"],
            &["=== RUN   TestA", "=== RUN   TestParse/empty_line"],
            &["--- PASS: TestA (0.00s)", "--- PASS: TestB (12.50s)"],
            &["  CC      kernel/fork.o", "  CC      mm/slab.o"],
            &["[  1%] Building C object a.dir/b.c.o", "[100%] Building C object x/y.dir/z.c.o"],
            &["Unpacking tzdata (2024a-0+deb12u1) ...", "Unpacking zlib1g:amd64 (1:1.2.13.dfsg-1) ..."],
            &["Setting up perl (5.36.0-7) ...", "Setting up tzdata (2024a) ..."],
            &["Collecting requests", "Collecting idna"],
            &["2026-11-16T12:00:01Z INFO handled /a in 3ms", "2026-11-16T12:00:02Z INFO handled /b/c in 1.2s"],
            &["layer 3f2a9c81b7d4 pulled 12.5MB", "layer 99aa01bc72de pulled 3kB"],
        ];
        for lines in cases {
            assert!(alike(lines), "{lines:?}");
        }
    }

    #[test]
    fn lines_of_another_kind_are_told_apart() {
        let cases: &[&[&str]] = &[
            &["test a::b ... ok", "test a::c ... slow"],
            &["a.py::b PASSED [ 1%]", "a.py::c XFAIL [ 2%]"],
            &["pod web-1 is Running", "pod web-2 is Pending"],
            &["Container a-1 Started", "Container a-1 Exited"],
            &["svc-1 running", "svc-2 stopped"],
            &["   Compiling serde v1.0", "    Checking serde v1.0"],
            &["  - one thing", "- one thing"],
            &["Checking cache hit", "Checking cache miss"],
            &["1 2 3", "4 5 6"],
            &["12 /a/b", "13 /c/d"],
            &["", ""],
            &["GET /a 200", "GET /b 200", "GET /c 200", "GET /d 200", "GET /e 200", "GET /f 200", "GET /g 500"],
            &["Job a code 0", "Job b code 0", "Job c code 0", "Job d code 1"],
            &["Worker alive again", "Worker alive again", "Worker alive again", "Worker gone again"],
        ];
        for lines in cases {
            assert!(!alike(lines), "{lines:?}");
        }
    }
}
