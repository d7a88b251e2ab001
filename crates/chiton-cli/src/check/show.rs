//! A verdict in words, and as JSON.

use chiton_engine::guard::{Decision, Finding};
use chiton_engine::shell::tree::Span;
use serde_json::{Value, json};

use super::Judged;

/// Findings that are printed; JSON has all.
const MOST_FINDINGS: usize = 10;
/// Characters of a line that are shown before and behind the place in question.
const CONTEXT: usize = 60;
/// Characters of the place itself that are shown.
const LONGEST_PLACE: usize = 100;

pub(super) fn as_json(judged: &Judged) -> Value {
    let mut value = serde_json::to_value(&judged.verdict).unwrap_or_else(|_| json!({}));
    if let Some(object) = value.as_object_mut() {
        object.insert("schema_version".to_owned(), json!(1));
        if let Some(error) = &judged.syntax_error {
            object.insert("syntax_error".to_owned(), json!(error));
        }
    }
    value
}

pub(super) fn as_text(judged: &Judged, command: &[u8]) -> String {
    let verdict = &judged.verdict;
    if let Some(error) = &judged.syntax_error {
        return format!("syntax error: {}\n  {}\n", escaped(error), verdict.reason);
    }
    if verdict.findings.is_empty() || verdict.rule.is_none() {
        let mut text = format!("{}: {}\n", verdict.decision.as_str(), escaped(&verdict.reason));
        text.push_str(&waits(judged));
        return text;
    }

    let mut text = String::new();
    for (number, finding) in verdict.findings.iter().take(MOST_FINDINGS).enumerate() {
        let also = if number > 0 { "also " } else { "" };
        let decision = finding.decision.as_str();
        text.push_str(&format!("{also}{decision} [{}]: {}\n", finding.rule, escaped(&finding.reason)));
        text.push_str(&told(finding, command));
    }
    if verdict.findings.len() > MOST_FINDINGS {
        text.push_str(&format!("and {} more findings\n", verdict.findings.len() - MOST_FINDINGS));
    }
    if let Some(permit) = &verdict.permit {
        text.push_str(&format!("to allow it, put this into the settings:\n  {}\n", escaped(permit)));
    } else if verdict.decision == Decision::Deny {
        text.push_str("no setting allows it\n");
    }
    text.push_str(&waits(judged));
    text
}

fn told(finding: &Finding, command: &[u8]) -> String {
    let mut text = underlined(command, finding.span);
    if let Some(alternative) = &finding.alternative {
        text.push_str(&format!("  {alternative}\n"));
    }
    text
}

fn waits(judged: &Judged) -> String {
    let mut text = String::new();
    for wait in &judged.verdict.waits {
        text.push_str(&format!("note: {} would wait for a person: {}.\n", escaped(&wait.program), wait.hint));
    }
    text
}

/// The line of the command that holds the start of `span`, with marks below it; of a long line only what is near.
fn underlined(command: &[u8], span: Span) -> String {
    let start = span.start.min(command.len());
    let line_start = command[..start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line_end = command[start..].iter().position(|byte| *byte == b'\n').map_or(command.len(), |at| start + at);
    let end = span.end.clamp(start, line_end);
    let shown = |range: &[u8]| escaped(&String::from_utf8_lossy(range));
    let before = last(&shown(&command[line_start..start]), CONTEXT);
    let marked = first(&shown(&command[start..end]), LONGEST_PLACE);
    let after = first(&shown(&command[end..line_end]), CONTEXT);
    let width = marked.chars().count().max(1);
    format!("  {before}{marked}{after}\n  {}{}\n", " ".repeat(before.chars().count()), "^".repeat(width))
}

/// The first characters, with a mark where more follow.
fn first(text: &str, count: usize) -> String {
    match text.char_indices().nth(count) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The last characters, with a mark where more come before.
fn last(text: &str, count: usize) -> String {
    let length = text.chars().count();
    if length <= count {
        text.to_owned()
    } else {
        format!("…{}", text.chars().skip(length - count).collect::<String>())
    }
}

/// Text for a terminal: what is not seen, or changes what is seen, is written out.
fn escaped(text: &str) -> String {
    let hidden = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars()
        .flat_map(
            |character| {
                if hidden(character) { character.escape_unicode().collect::<Vec<_>>() } else { vec![character] }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_underlined_on_its_line() {
        let text = underlined(b"echo a\nrm -rf / # b\n", Span::new(14, 15));
        assert_eq!(text, "  rm -rf / # b\n         ^\n");
    }

    #[test]
    fn of_a_long_line_only_what_is_near_is_shown() {
        let command = format!("echo {}; rm -rf / {}", "a".repeat(200_000), "b".repeat(200_000));
        let at = command.find("/ b").unwrap();
        let text = underlined(command.as_bytes(), Span::new(at, at + 1));
        assert!(text.len() < 400 && text.contains("rm -rf /") && text.contains('…'), "{text}");
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(escaped("a\u{202e}b\u{1b}c"), "a\\u{202e}b\\u{1b}c");
    }
}
