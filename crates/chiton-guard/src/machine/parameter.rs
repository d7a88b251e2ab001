//! `$name` and `${…}`.

use crate::machine::arithmetic;
use crate::machine::expand;
use crate::machine::expand::{Expansion, Splitting};
use crate::machine::state::Value;
use crate::value::glob;
use crate::value::{Piece, Text, Unknown, What};
use chiton_shell::tree::{CaseChange, Fallback, Operation, Parameter, Word};

/// The values of a parameter expansion.
pub(super) struct Values {
    pub(super) texts: Vec<Text>,
    /// Whether they are words already: those of `${x:-a b}` are split where they are written.
    pub(super) are_split: bool,
}

impl Values {
    fn whole(texts: Vec<Text>) -> Self {
        Self { texts, are_split: false }
    }
}

impl Expansion<'_, '_> {
    /// The values of a parameter expansion; none if it is unset.
    pub(super) fn parameter(&mut self, parameter: &Parameter, splitting: Splitting) -> Values {
        if let Operation::Names = parameter.operation {
            return Values::whole(vec![Text::unknown(What::Plain, false)]);
        }
        let mut values = self.base(parameter);
        if parameter.indirect {
            values = self.indirect(values.as_deref());
        }
        if parameter.length {
            return Values::whole(vec![length(values.as_deref(), parameter.is_many())]);
        }
        self.operate(parameter, values, splitting)
    }

    /// What the name holds: none if it is unset.
    fn base(&mut self, parameter: &Parameter) -> Option<Vec<Text>> {
        let name = parameter.name.as_str();
        match name {
            "@" | "*" => {
                let known = self.world.positional.as_ref().map(|positional| positional.to_vec());
                return Some(known.unwrap_or_else(|| vec![Text::variable("@")]));
            }
            "#" => {
                let count = self.world.positional.as_ref().map(|positional| positional.len().to_string());
                return Some(vec![count.map_or_else(|| Text::unknown(What::Plain, true), Text::known)]);
            }
            "?" | "$" | "-" | "!" => return Some(vec![Text::unknown(What::Plain, true)]),
            "0" => return Some(vec![Text::known(self.world.script.clone().unwrap_or_else(|| "bash".to_owned()))]),
            _ => {}
        }
        if let Ok(number) = name.parse::<usize>() {
            return match &self.world.positional {
                Some(positional) => positional.get(number - 1).map(|text| vec![text.clone()]),
                None => Some(vec![Text::variable(name)]),
            };
        }
        let index = parameter.index.as_ref().map(|word| self.single(word).as_known());
        match (self.world.get(name, self.machine.context), index) {
            (Value::Unset | Value::Reference(_), _) => None,
            (Value::Scalar(text), None) => Some(vec![text]),
            (Value::Scalar(text), Some(index)) => match index.as_deref() {
                Some("@" | "*" | "0" | "-1") => Some(vec![text]),
                _ if text.is_decided() => None,
                _ => Some(vec![Text::variable(name)]),
            },
            (Value::Array(items), Some(Some(all))) if all == "@" || all == "*" => {
                Some(items.into_iter().map(|(_, text)| text).collect())
            }
            (Value::Array(items), Some(Some(key))) => self.element(&items, &key),
            (Value::Array(_), Some(None)) => Some(vec![Text::variable(name)]),
            (Value::Array(items), None) => items.into_iter().find(|(key, _)| key == "0").map(|(_, text)| vec![text]),
        }
    }

    fn element(&mut self, items: &[(String, Text)], key: &str) -> Option<Vec<Text>> {
        let context = self.machine.context;
        if let Some((_, text)) = items.iter().find(|(name, _)| name == key) {
            return Some(vec![text.clone()]);
        }
        let number = arithmetic::evaluate(key, &mut |name| match self.world.get(name, context) {
            Value::Scalar(text) => text.as_known().and_then(|text| text.parse().ok()),
            _ => None,
        });
        match number {
            Some(number) if number < 0 => {
                let from_end = usize::try_from(-number).ok()?;
                items.len().checked_sub(from_end).map(|at| vec![items[at].1.clone()])
            }
            Some(number) => {
                let key = number.to_string();
                items.iter().find(|(name, _)| *name == key).map(|(_, text)| vec![text.clone()])
            }
            None => Some(vec![Text::variable(key)]),
        }
    }

    fn indirect(&mut self, values: Option<&[Text]>) -> Option<Vec<Text>> {
        let Some([name]) = values else { return None };
        match name.as_known() {
            Some(name) => self.base(&Parameter { name, ..Parameter::default() }),
            None => Some(vec![Text::variable("!")]),
        }
    }

    fn operate(&mut self, parameter: &Parameter, values: Option<Vec<Text>>, splitting: Splitting) -> Values {
        match &parameter.operation {
            Operation::Alternative { kind, colon, word } => {
                return self.alternative(parameter, values, (*kind, *colon, word), splitting);
            }
            Operation::Slice { offset, length } if parameter.is_many() => {
                return Values::whole(self.slice_list(values.unwrap_or_default(), offset, length.as_ref()));
            }
            _ => {}
        }
        let values = values.unwrap_or_default();
        Values::whole(values.into_iter().map(|value| self.transform(&parameter.operation, value)).collect())
    }

    fn alternative(
        &mut self,
        parameter: &Parameter,
        values: Option<Vec<Text>>,
        (kind, colon, word): (Fallback, bool, &Word),
        splitting: Splitting,
    ) -> Values {
        let absent = match &values {
            None => Some(true),
            Some(values) if colon => match values.as_slice() {
                [] => Some(true),
                [text] if text.is_empty() => Some(true),
                [text] if text.is_decided() || text.unknowns().all(|unknown| unknown.filled) => Some(false),
                [text] if !text.known_start().is_empty() => Some(false),
                [_] => None,
                _ => Some(false),
            },
            Some(values) if values.is_empty() => Some(true),
            Some(values) => match values.as_slice() {
                [Text(pieces)]
                    if matches!(pieces.as_slice(), [Piece::Unknown(Unknown { what: What::Variable(_), .. })]) =>
                {
                    None
                }
                _ => Some(false),
            },
        };
        let told = self.world.has_set(&parameter.name) || self.machine.context.variable(&parameter.name).is_some();
        let absent = match (kind, absent) {
            // Nothing says that it is set, and the command provides for that.
            (Fallback::Use | Fallback::Assign, None) if !told => Some(true),
            (Fallback::Replace, None) if !told => {
                self.machine.undecided.insert(parameter.name.clone());
                None
            }
            _ => absent,
        };
        match (kind, absent) {
            (Fallback::Replace, Some(true)) => Values::whole(Vec::new()),
            (Fallback::Replace, _) | (Fallback::Use | Fallback::Assign, Some(true)) => {
                let texts = match splitting {
                    Splitting::Whole => vec![self.single(word)],
                    Splitting::Splits => self.split_parts(&word.parts, Splitting::Splits),
                };
                if kind == Fallback::Assign {
                    self.world.set_text(&parameter.name, texts.first().cloned().unwrap_or_default());
                }
                Values { texts, are_split: splitting == Splitting::Splits }
            }
            (Fallback::Fail, _) => {
                let mut values = values.unwrap_or_default();
                self.single(word);
                for text in &mut values {
                    for piece in &mut text.0 {
                        if let Piece::Unknown(unknown) = piece {
                            unknown.filled = true;
                        }
                    }
                }
                Values::whole(values)
            }
            _ => {
                // The other branch is judged for what it would run.
                self.single(word);
                Values::whole(values.unwrap_or_default())
            }
        }
    }

    fn transform(&mut self, operation: &Operation, value: Text) -> Text {
        match operation {
            Operation::Trim { suffix, longest, pattern } => {
                let pattern = self.pattern(pattern);
                match (value.as_literal(), pattern) {
                    (Some(text), Some(pattern)) => patterned(trim(&text, &pattern, *suffix, *longest), &value),
                    _ => value,
                }
            }
            Operation::Replace { all, anchor, pattern, replacement } => {
                let (pattern, replacement) = (self.pattern(pattern), self.single(replacement));
                match (value.as_literal(), pattern, replacement.as_literal()) {
                    (Some(text), Some(pattern), Some(replacement)) => {
                        patterned(&replace(&text, &pattern, &replacement, *all, *anchor), &value)
                    }
                    _ => unknown_like(&value),
                }
            }
            Operation::Slice { offset, length } => {
                let offset = self.number(offset);
                let length = length.as_ref().map(|length| self.number(length));
                match (value.as_literal(), offset, length) {
                    (Some(text), Some(offset), None) => patterned(&slice(&text, offset, None), &value),
                    (Some(text), Some(offset), Some(Some(length))) => {
                        patterned(&slice(&text, offset, Some(length)), &value)
                    }
                    _ => unknown_like(&value),
                }
            }
            Operation::Case { kind, all, .. } => match value.as_literal() {
                Some(text) => patterned(&recase(&text, *kind, *all), &value),
                None => value,
            },
            Operation::Transform(letter) => self.at_transform(*letter, value),
            _ => value,
        }
    }

    fn at_transform(&mut self, letter: char, value: Text) -> Text {
        match (letter, value.as_literal()) {
            ('P', Some(text)) => {
                self.machine.expanded_again(&text, self.world);
                if text.contains(['\\', '$', '`']) { unknown_like(&value) } else { value }
            }
            ('U', Some(text)) => patterned(&text.to_uppercase(), &value),
            ('L', Some(text)) => patterned(&text.to_lowercase(), &value),
            ('u', Some(text)) => patterned(&recase(&text, CaseChange::Upper, false), &value),
            ('E', Some(text)) if !text.contains('\\') => value,
            ('P' | 'E', _) => unknown_like(&value),
            ('Q' | 'A' | 'K' | 'k' | 'a', _) => Text::unknown(What::Plain, false),
            _ => value,
        }
    }

    fn number(&mut self, word: &Word) -> Option<i64> {
        self.arithmetic(word).as_known()?.parse().ok()
    }

    fn slice_list(&mut self, values: Vec<Text>, offset: &Word, length: Option<&Word>) -> Vec<Text> {
        let offset = self.number(offset).and_then(|offset| usize::try_from(offset).ok());
        let length = length.map(|length| self.number(length).and_then(|length| usize::try_from(length).ok()));
        match (offset, length) {
            // Counted from `$0`, which is not among the values.
            (Some(offset), None) => values.into_iter().skip(offset.saturating_sub(1)).collect(),
            (Some(offset), Some(Some(length))) => {
                values.into_iter().skip(offset.saturating_sub(1)).take(length).collect()
            }
            _ => vec![Text::variable("@")],
        }
    }
}

/// The same text computed anew: patterns in it count where they did before.
fn patterned(text: &str, like: &Text) -> Text {
    if !like.has_glob() {
        return Text::known(text);
    }
    let mut made = Text::default();
    expand::patterned(text, &mut made);
    made
}

fn unknown_like(value: &Text) -> Text {
    let what = value.unknowns().next().map_or(What::Variable("?".to_owned()), |unknown| unknown.what.clone());
    Text::unknown(what, false)
}

fn length(values: Option<&[Text]>, many: bool) -> Text {
    match values {
        None => Text::known("0"),
        Some(values) if many => Text::known(values.len().to_string()),
        Some([text]) => match text.as_literal() {
            Some(text) => Text::known(text.chars().count().to_string()),
            None => Text::unknown(What::Plain, true),
        },
        Some(_) => Text::unknown(What::Plain, true),
    }
}

fn boundaries(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

fn trim<'t>(text: &'t str, pattern: &str, suffix: bool, longest: bool) -> &'t str {
    let mut cuts = boundaries(text);
    // From the shortest piece that is cut off to the longest, or the other way round.
    if suffix != longest {
        cuts.reverse();
    }
    for cut in cuts.into_iter().take(4096) {
        let (head, tail) = text.split_at(cut);
        if glob::matches(pattern, if suffix { tail } else { head }) {
            return if suffix { head } else { tail };
        }
    }
    text
}

fn replace(text: &str, pattern: &str, replacement: &str, all: bool, anchor: Option<char>) -> String {
    if text.len() > 4096 {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut rest = text;
    let mut first = true;
    while !rest.is_empty() || first {
        let ends = boundaries(rest);
        let hit = ends.iter().rev().find(|end| {
            **end > 0 && glob::matches(pattern, &rest[..**end]) && (anchor != Some('%') || **end == rest.len())
        });
        if let Some(end) = hit.filter(|_| anchor != Some('#') || first) {
            out.push_str(replacement);
            rest = &rest[*end..];
            if !all {
                break;
            }
        } else if let Some(character) = rest.chars().next() {
            out.push(character);
            rest = &rest[character.len_utf8()..];
        }
        first = false;
        if anchor == Some('#') {
            break;
        }
    }
    out + rest
}

fn slice(text: &str, offset: i64, length: Option<i64>) -> String {
    let characters: Vec<char> = text.chars().collect();
    let total = i64::try_from(characters.len()).unwrap_or(i64::MAX);
    let start = if offset < 0 { total + offset } else { offset.min(total) };
    if start < 0 {
        return String::new();
    }
    let end = match length {
        None => total,
        Some(length) if length < 0 => total + length,
        Some(length) => (start + length).min(total),
    };
    let place = |value: i64| usize::try_from(value).unwrap_or_default().min(characters.len());
    if end <= start { String::new() } else { characters[place(start)..place(end)].iter().collect() }
}

fn recase(text: &str, kind: CaseChange, all: bool) -> String {
    let change = |character: char| match kind {
        CaseChange::Upper => character.to_uppercase().collect::<String>(),
        CaseChange::Lower => character.to_lowercase().collect(),
        CaseChange::Toggle if character.is_uppercase() => character.to_lowercase().collect(),
        CaseChange::Toggle => character.to_uppercase().collect(),
    };
    let mut characters = text.chars();
    if all {
        return characters.map(change).collect();
    }
    characters.next().map(change).unwrap_or_default() + characters.as_str()
}
