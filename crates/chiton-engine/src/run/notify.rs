//! A program of the person's that is told of a task.

use serde::{Deserialize, Serialize};

use crate::bytes::ByteString;

/// A program that is started, without a shell, when a task has ended or waits for somebody to type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notify {
    /// The program and its arguments. In the arguments `{title}`, `{text}`, `{id}` and `{event}` stand for what there is to
    /// say.
    pub words: Vec<String>,
    /// All variables that it gets.
    pub environment: Vec<(String, ByteString)>,
}

/// What there is to say.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(crate) id: String,
    /// One word: `ended` or `waits`.
    pub(crate) event: &'static str,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Characters of a title and of a text that are given.
const TITLE: usize = 120;
const TEXT: usize = 400;

impl Notify {
    /// The program and its arguments with a notice in them. What the notice says is data: it is not read for further
    /// places, and has no control characters.
    pub(crate) fn words_for(&self, notice: &Notice) -> Vec<String> {
        let values = [
            ("{title}", harmless(&notice.title, TITLE)),
            ("{text}", harmless(&notice.text, TEXT)),
            ("{id}", notice.id.clone()),
            ("{event}", notice.event.to_owned()),
        ];
        let program = self.words.first().cloned();
        let arguments = self.words.iter().skip(1).map(|word| filled(word, &values));
        program.into_iter().chain(arguments).collect()
    }
}

fn filled(word: &str, values: &[(&str, String)]) -> String {
    let (mut filled, mut rest) = (String::new(), word);
    while let Some(start) = rest.find('{') {
        filled += &rest[..start];
        rest = &rest[start..];
        if let Some((name, value)) = values.iter().find(|(name, _)| rest.starts_with(name)) {
            filled += value;
            rest = &rest[name.len()..];
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled + rest
}

/// A text without characters that control a terminal or the direction of writing, and not longer than so many.
fn harmless(text: &str, most: usize) -> String {
    let turns =
        |letter: char| matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let letters = text.chars().filter(|letter| !turns(*letter));
    letters.map(|letter| if letter.is_control() { ' ' } else { letter }).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_notice_says_is_data() {
        let notice = Notice {
            id: "shell_0".to_owned(),
            event: "ended",
            title: "{text} {id}".to_owned(),
            text: "a\u{1b}[31m\nb\0\u{202e}c $(x) {title}".to_owned(),
        };
        let cases = [
            ("{title}", "{text} {id}"),
            ("{text}", "a [31m b c $(x) {title}"),
            ("--for={id}/{event}.", "--for=shell_0/ended."),
            ("{other} {", "{other} {"),
            ("{{id}}", "{shell_0}"),
            ("plain", "plain"),
        ];
        for (word, expected) in cases {
            let notify = Notify { words: vec!["{id}".to_owned(), word.to_owned()], environment: Vec::new() };
            assert_eq!(notify.words_for(&notice), ["{id}", expected], "the program is never replaced");
        }
        let long = Notice { text: "x".repeat(10_000), ..notice };
        let notify = Notify { words: vec!["p".to_owned(), "{text}".to_owned()], environment: Vec::new() };
        assert_eq!(notify.words_for(&long)[1].len(), TEXT);
    }
}
