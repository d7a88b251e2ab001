//! What a line says: something that must be seen, that all is well, or neither.

use std::sync::LazyLock;

use regex::Regex;

/// Whatever could be trouble, in any case and inside words: better a line too many than one too few.
const TROUBLE: &str = r"(?ix)
    erro | warn | fail | panic | fatal | excepti | denied | refus | reject | missing | cannot | can't | can\s?not
  | could\s?n.?t | could\snot | unable | not\s(found|ok|exist|allowed|permitted|supported|available|installed|ready|running|set|valid)
  | no\ssuch | nothing\sto | skip | ignor | deprecat | vulnerab | traceback | backtrace | assert | abort | time.?out | timed.out
  | kill | conflict | undefin | unknown | unexpected | invalid | illegal | unsupported | unresolv | unrecogni | unreach
  | unauthor | unhealthy | unstable | unsafe | insecure | corrupt | crash | segfault | segmentation | core\sdump | broken
  | breaking | lost | leak | overflow | underflow | violat | forbid | permission | critical | severe | alert | emerg | danger
  | caution | attention | notice | important | incompat | mismatch | differ | disabled | dropped | (^|[^a-z])(hang|hung) | deadlock
  | stuck | stalled | retry | retried | rollback | rolled\sback | revert | obsolete | outdated | out.of.date | expired | stale
  | exhaust | exceed | too\s(many|few|long|large|small|big|old|slow) | out\sof | full\sdisk | no\sspace | quota | throttl
  | flaky | xpass | poison | sigsegv | sigabrt | sigkill | oom | bad | wrong | dirty | dead | fixme | secret | password | token
  | (^|[^a-z])(err|exit|exited|signal|quit|stop|stopped|down)([^a-z]|$)
  | (^|[\s.,;:(])(no|not|never|none|null|nan|inf)([\s.,;:)]|$)
  | fehler | warnung | erreur | avertissement | \xe9chec | aviso | fallo | \u{30a8}\u{30e9}\u{30fc} | \u{8b66}\u{544a} | \u{9519}\u{8bef}
  | [\u{2717}\u{2718}\u{2715}\u{2716}\u{d7}\u{274c}\u{26a0}\u{203c}\u{2757}\u{26d4}\u{1f6a8}\u{1f525}] | !{2} | \*{3}
";

/// A frame of a stack, a place in a file, a line of a listing, of a log of objects or of markup: each says something of
/// its own.
const OF_ITS_OWN: &str = r"(?x)
    ^\s*(at|in|from|by|File|E|\||\^|-->|\+|\$|\#\s|caused)\s
  | ^\s*\d+:\s+(0x)?[\w<]
  | ^\s*[\w./@~+-]+:\d+(:\d+)?:
  | ^\s*[\w./@~+-]+\(\d+(,\d+)?\):
  | ^[-dlcbsp]([r-][w-][xsStT-]){3}
  | ^\s*[{<].*[}>],?$
";

const SUCCESS: &str = r"(?i)(^|[^a-z])(ok|pass|passed|passing|success|successful|successfully|succeeded)([^a-z]|$)|[\u{2713}\u{2714}\u{221a}\u{2705}]";

/// What counts even inside the name of a test that passed.
const PLAINEST: &str = r"(?i)erro|warn|fail|panic|fatal|crash|traceback|not ok";
/// A path, or a name of several words.
const NAME: &str = r"\S*(::|[/_])\S*";

static MUST_BE_SEEN: LazyLock<[Option<Regex>; 4]> =
    LazyLock::new(|| [TROUBLE, OF_ITS_OWN, PLAINEST, NAME].map(|pattern| Regex::new(pattern).ok()));
static ALL_IS_WELL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SUCCESS).ok());

/// Whether a line must be seen, whatever is around it. A test that passed may be named after the trouble that it expects,
/// so of such a line only the plainest words count inside names.
pub(super) fn must_be_seen(line: &str) -> bool {
    let matches = |pattern: &Option<Regex>, text: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
    let [trouble, of_its_own, plainest, name] = &*MUST_BE_SEEN;
    if matches(of_its_own, line) || matches(plainest, line) {
        return true;
    }
    if !says_success(line) {
        return matches(trouble, line);
    }
    let line = without_parameters(line);
    name.as_ref().is_none_or(|name| matches(trouble, &name.replace_all(&line, "")))
}

/// A line without the parameters that the name of a test has in brackets, blanks and all: `a.py::b[not x] PASSED`.
fn without_parameters(line: &str) -> String {
    let status =
        ALL_IS_WELL.as_ref().and_then(|pattern| pattern.find_iter(line).last()).map_or(0, |found| found.start());
    let name = line.find("::").unwrap_or(status);
    match (line[name..status.max(name)].find('['), line[..status].rfind(']')) {
        (Some(open), Some(close)) if name + open < close => format!("{}{}", &line[..name + open], &line[close + 1..]),
        _ => line.to_owned(),
    }
}

/// Whether a line says by itself that something went well.
pub(super) fn says_success(line: &str) -> bool {
    ALL_IS_WELL.as_ref().is_some_and(|pattern| pattern.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_seen_in_any_form() {
        for line in [
            "error[E0308]: mismatched types",
            "npm ERR! code ELIFECYCLE",
            "WARNING: x is old",
            "test a::b ... FAILED",
            "test_error_handling PASSED",
            "thread 'main' panicked at src/main.rs",
            "Permission denied",
            "ld: cannot find -lfoo",
            "tests/a.py::test_b SKIPPED [ 10%]",
            "test a ... ignored",
            "test parse::words ... ok (killed)",
            "ok 3 # SKIP no network",
            "Killed",
            "worker timed out",
            "not ok 3 - adds",
            "  File \"a.py\", line 3, in f",
            "    at Object.<anonymous> (a.js:1:2)",
            "src/main.c:12:3: something",
            "make: *** [all] 2",
            "process exited with 1",
            "\u{2717} renders",
            "Fehler: kaputt",
            "-rw-r--r-- 1 root root 12 Nov 16 12:00 a",
            "{\"level\":\"info\"}",
        ] {
            assert!(must_be_seen(line), "{line}");
        }
    }

    #[test]
    fn everyday_lines_need_not_be_seen() {
        for line in [
            "   Compiling serde v1.0.219",
            "  Downloaded libc v0.2.170",
            "test parse::words ... ok",
            "tests/test_a.py::test_b PASSED                        [  1%]",
            "=== RUN   TestParse",
            "--- PASS: TestParse (0.00s)",
            "  CC      kernel/fork.o",
            "[ 12%] Building CXX object src/CMakeFiles/a.dir/b.cpp.o",
            "Unpacking zlib1g:amd64 (1:1.2.13.dfsg-1) ...",
            "Collecting requests",
            "Get:1 http://deb.debian.org/debian bookworm/main amd64 perl amd64 5.36 [57 kB]",
            "tests/test_more.py::ChunkedTests::test_none PASSED       [  1%]",
            "test parse::invalid_date_is_not_read ... ok",
            "a.py::test_limit[6 is not in the middle] PASSED [ 9%]",
        ] {
            assert!(!must_be_seen(line), "{line}");
        }
    }

    #[test]
    fn success_is_a_word_of_its_own() {
        for (line, says) in [
            ("test a ... ok", true),
            ("a::b PASSED [ 1%]", true),
            ("\u{2713} adds (3 ms)", true),
            ("--- PASS: TestA (0.00s)", true),
            ("ok 3 - adds", true),
            ("looking for a book", false),
            ("bypassed the cache", false),
            ("Compiling passport v1", false),
        ] {
            assert_eq!(says_success(line), says, "{line}");
        }
    }
}
