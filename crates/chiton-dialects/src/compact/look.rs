//! Output that is data by its look, and so is left alone.

use std::sync::LazyLock;

use regex::Regex;

/// Marks between columns, and how many of them at least make a line a row.
const SEPARATORS: [(char, usize); 4] = [(',', 2), ('\t', 1), ('|', 2), (';', 2)];
/// So many of ten lines that look like a row make the whole a table.
const MOST_OF_TEN: usize = 8;

static RECORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*(- )?["']?([A-Za-z_][\w.-]*)["']?:( |$)"#).ok());
static RULER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*[|+]?[-=]{2,}([ |+]+[-=]{2,})+[|+]?\s*$").ok());
static HEADER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*[A-Z%#][A-Z0-9%#/()_-]+(\s+[A-Z%#][A-Z0-9%#/()_-]+){2,}\s*$").ok());

/// Whether a text as a whole is an object, a difference, a table, or records.
pub(super) fn is_data(lines: &[String]) -> bool {
    is_json(lines) || is_difference(lines) || is_table(lines) || is_records(lines)
}

fn is_json(lines: &[String]) -> bool {
    let mut said = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let Some(first) = said.next() else { return false };
    let opens = first.strip_prefix(['{', '[']).is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.is_empty() || rest.starts_with(['"', '{', '['])
    });
    opens && said.next_back().unwrap_or(first).ends_with(['}', ']'])
}

fn is_difference(lines: &[String]) -> bool {
    let pair = |two: &[String]| two[0].starts_with("--- ") && two[1].starts_with("+++ ");
    lines.iter().any(|line| line.starts_with("@@ -") || line.starts_with("diff --git ")) || lines.windows(2).any(pair)
}

fn is_table(lines: &[String]) -> bool {
    let said: Vec<&String> = lines.iter().filter(|line| !line.trim().is_empty()).collect();
    SEPARATORS.iter().any(|(separator, least)| {
        let counts: Vec<usize> = said.iter().map(|line| line.matches(*separator).count()).collect();
        let Some(usual) = counts.get(counts.len() / 2) else { return false };
        let rows = counts.iter().filter(|count| *count == usual).count();
        usual >= least && rows * 10 >= counts.len() * MOST_OF_TEN
    })
}

/// Keys with values, as of an object or a package: at least two different keys, in most lines.
fn is_records(lines: &[String]) -> bool {
    let Some(record) = &*RECORD else { return true };
    let said = lines.iter().filter(|line| !line.trim().is_empty()).count();
    let keys: Vec<&str> =
        lines.iter().filter_map(|line| record.captures(line)?.get(2)).map(|key| key.as_str()).collect();
    let several = keys.iter().any(|key| *key != keys[0]);
    several && keys.len() * 10 >= said * (MOST_OF_TEN - 2)
}

/// Which lines are rows below a header in capitals or a ruler, up to the next empty line.
pub(super) fn table_rows(lines: &[String]) -> Vec<bool> {
    let matches = |pattern: &Option<Regex>, line: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(line));
    let mut inside = false;
    lines
        .iter()
        .map(|line| {
            inside = !line.trim().is_empty() && (inside || matches(&RULER, line) || matches(&HEADER, line));
            inside
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn data_is_known_by_its_look() {
        for text in [
            "{\n  \"a\": 1\n}",
            "[\n  {\"a\": 1},\n  {\"a\": 2}\n]",
            "[{\"a\": 1}]",
            "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
            "a,b,c\n1,2,3\n4,5,6",
            "name\tage\nann\t3\nbob\t4",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "name: a\nversion: 1\n\nname: b\nversion: 2",
            "- name: a\n  image: b\n- name: c\n  image: d",
        ] {
            assert!(is_data(&lines(text)), "{text}");
        }
    }

    #[test]
    fn a_log_is_not_data() {
        for text in [
            "[INFO] Scanning for projects...\n[INFO] Building app 1.0\n[INFO] BUILD [ok]",
            "   Compiling a v1\n   Compiling b v2\n    Finished dev",
            "--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)",
            "[ 12%] Building C object a.o\n[ 13%] Built target [a]",
            "",
        ] {
            assert!(!is_data(&lines(text)), "{text}");
        }
    }

    #[test]
    fn rows_below_a_header_or_a_ruler_belong_to_a_table() {
        let rows =
            table_rows(&lines("log\nNAME READY STATUS\nweb 1/1 Running\n\nlog\nName  Version\n----- -------\na 1\n"));
        assert_eq!(rows, [false, true, true, false, false, false, true, true]);
    }
}
