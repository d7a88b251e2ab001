//! `$name` and `${…}`.

use chiton_shell::tree::{CaseChange, Fallback, Operation, Parameter, Part, Word};

use crate::machine::command::{ELEMENT, next_index};
use crate::machine::expand;
use crate::machine::expand::Expansion;
use crate::machine::state::{Attributes, Value};
use crate::value::glob;
use crate::value::{Piece, Text, Unknown, What};

/// The values of a parameter expansion.
pub(super) enum Values<'p> {
    /// These.
    Texts(Vec<Text>),
    /// What this word becomes where it stands: that of `${x:-a b}`.
    Word(&'p Word),
}

impl Expansion<'_, '_> {
    /// The values of a parameter expansion; none if it is unset.
    pub(super) fn parameter<'p>(&mut self, parameter: &'p Parameter) -> Values<'p> {
        if let Operation::Names = parameter.operation {
            return Values::Texts(vec![Text::unknown(What::Plain, false)]);
        }
        if parameter.indirect && parameter.is_many() && !matches!(parameter.name.as_str(), "@" | "*") {
            return Values::Texts(self.keys(&parameter.name));
        }
        let mut values = self.base(parameter);
        if parameter.indirect {
            values = self.indirect(values.as_deref());
        }
        if parameter.length {
            return Values::Texts(vec![length(values.as_deref(), parameter.is_many())]);
        }
        self.operate(parameter, values)
    }

    /// `${!name[@]}`: the subscripts of an array.
    fn keys(&mut self, name: &str) -> Vec<Text> {
        match self.world.get(name, self.machine.context) {
            Value::Array(items) if items.iter().all(|(key, _)| key != "?") => {
                items.into_iter().map(|(key, _)| Text::known(key)).collect()
            }
            Value::Unset => Vec::new(),
            Value::Scalar(text) if text.is_decided() => vec![Text::known("0")],
            _ => vec![Text::unknown(What::Plain, false)],
        }
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
        if let Some((array, subscript)) = self.world.element_behind(name) {
            return match self.world.element_behind(&array) {
                None => self.element_of(array, &subscript),
                Some(_) => Some(vec![Text::variable(name)]),
            };
        }
        let held = self.world.get(name, self.machine.context);
        if let Value::Array(items) = &held {
            self.machine.created(items.len() * ELEMENT);
        }
        let index = parameter.index.as_ref().map(|word| self.subscript(word, name, &held));
        match (held, index) {
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
            (Value::Array(items), Some(Some(key))) => element(&items, &key, name),
            (Value::Array(_), Some(None)) => Some(vec![Text::variable(name)]),
            (Value::Array(items), None) => element(&items, "0", name),
        }
    }

    /// A subscript: text in an associative array, else a number.
    fn subscript(&mut self, word: &Word, name: &str, held: &Value) -> Option<String> {
        if let Some(all @ ("@" | "*")) = word.as_plain() {
            return Some(all.to_owned());
        }
        let text = self.single(word);
        let by_text = self.world.attributes(name).has(Attributes::ASSOCIATIVE)
            || matches!(held, Value::Array(items) if items.iter().any(|(key, _)| key.parse::<i64>().is_err() && key != "?"));
        if by_text { text.as_known() } else { self.calculated(&text).as_known() }
    }

    fn indirect(&mut self, values: Option<&[Text]>) -> Option<Vec<Text>> {
        // Without a name bash gives up the whole command, and whoever reads its output gets nothing.
        let Some([name]) = values else { return Some(vec![Text::variable("!")]) };
        let Some(known) = name.as_known() else {
            self.named(name);
            return Some(vec![Text::variable("!")]);
        };
        let Some((name, subscript)) = known.split_once('[') else {
            return self.base(&Parameter { name: known, ..Parameter::default() });
        };
        self.element_of(name.to_owned(), subscript.strip_suffix(']').unwrap_or(subscript))
    }

    /// What the element of an array holds that another variable names.
    fn element_of(&mut self, name: String, subscript: &str) -> Option<Vec<Text>> {
        let index = Some(Word { parts: vec![Part::Literal(subscript.to_owned())], ..Word::default() });
        let values = self.base(&Parameter { name, index, ..Parameter::default() })?;
        if subscript != "*" {
            return Some(values);
        }
        let between = self.separators().chars().next().map(String::from).unwrap_or_default();
        let mut joined = Text::default();
        for (number, value) in values.iter().enumerate() {
            if number > 0 {
                joined.push(Piece::Known(between.clone()));
            }
            joined.append(value);
        }
        Some(vec![joined])
    }

    fn operate<'p>(&mut self, parameter: &'p Parameter, values: Option<Vec<Text>>) -> Values<'p> {
        match &parameter.operation {
            Operation::Plain => return Values::Texts(values.unwrap_or_default()),
            Operation::Alternative { kind, colon, word } => {
                return self.alternative(parameter, values, (*kind, *colon, word));
            }
            Operation::Slice { offset, length } if parameter.is_many() => {
                let mut values = values.unwrap_or_default();
                // Positional parameters are counted from `$0`.
                if matches!(parameter.name.as_str(), "@" | "*") {
                    let shell = self.world.script.clone().unwrap_or_else(|| "bash".to_owned());
                    values.insert(0, Text::known(shell));
                }
                return Values::Texts(self.slice_list(values, offset, length.as_ref()));
            }
            _ => {}
        }
        let values = values.unwrap_or_default();
        if values.is_empty() {
            // What stands behind the operator may be expanded all the same.
            let mut aside = self.world.clone();
            self.machine.expanding(&mut aside).transform(&parameter.operation, Text::default());
            return Values::Texts(Vec::new());
        }
        Values::Texts(values.into_iter().map(|value| self.transform(&parameter.operation, value)).collect())
    }

    fn alternative<'p>(
        &mut self,
        parameter: &Parameter,
        values: Option<Vec<Text>>,
        (kind, colon, word): (Fallback, bool, &'p Word),
    ) -> Values<'p> {
        if parameter.name == "!" && !parameter.indirect {
            // Without a command in the background it is not set, and nobody knows here.
            self.single(word);
            return Values::Texts(vec![Text::unknown(What::Plain, false)]);
        }
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
        if parameter.indirect && kind == Fallback::Replace && absent.is_none() {
            // Whether what it names is set cannot be tried out by its own name.
            self.single(word);
            return Values::Texts(vec![Text::unknown(What::Plain, false)]);
        }
        // Bash itself sets `_`.
        let told = parameter.name == "_"
            || self.world.has_set(&parameter.name)
            || self.machine.context.variable(&parameter.name).is_some();
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
            (Fallback::Replace, Some(true)) => {
                // Whether it is set may depend on what is not followed, such as a loop: its word is judged in any case.
                let mut aside = self.world.clone();
                self.machine.expanding(&mut aside).single(word);
                Values::Texts(Vec::new())
            }
            (Fallback::Replace, _) | (Fallback::Use, Some(true)) => Values::Word(word),
            (Fallback::Assign, Some(true)) => {
                let text = self.single(word);
                self.world.set_text(&parameter.name, text.clone());
                Values::Texts(vec![text])
            }
            (Fallback::Fail, Some(true)) => {
                // Bash gives up the whole command, and whoever reads its output gets nothing.
                self.single(word);
                Values::Texts(vec![Text::variable("!")])
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
                Values::Texts(values)
            }
            _ => {
                // The other branch is judged for what it would run.
                self.single(word);
                Values::Texts(values.unwrap_or_default())
            }
        }
    }

    fn transform(&mut self, operation: &Operation, value: Text) -> Text {
        match operation {
            Operation::Trim { suffix, longest, pattern } => {
                let pattern = self.pattern(pattern);
                match (value.as_literal(), pattern) {
                    (Some(text), Some(pattern)) if !self.is_matched(&text, &pattern, 2) => unknown_like(&value),
                    (Some(text), Some(pattern)) => patterned(trim(&text, &pattern, *suffix, *longest), &value),
                    _ => value,
                }
            }
            Operation::Replace { all, anchor, pattern, replacement } => {
                let (pattern, replacement) = (self.pattern(pattern), self.single(replacement));
                match (value.as_literal(), pattern, replacement.as_literal()) {
                    (Some(text), Some(pattern), Some(replacement))
                        if self.is_matched(&text, &pattern, 3) && !replacement.contains('&') =>
                    {
                        // Before it is made: each character may become the whole replacement.
                        let most = text.len().saturating_mul(replacement.len());
                        if most > LONGEST_REPLACED && !self.machine.created(most) {
                            return unknown_like(&value);
                        }
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
            Operation::Case { kind, all, pattern } => match (value.as_literal(), self.pattern(pattern)) {
                (Some(text), Some(pattern)) => patterned(&recase(&text, *kind, *all, &pattern), &value),
                (Some(_), None) => unknown_like(&value),
                (None, _) => value,
            },
            Operation::Transform(letter) => self.at_transform(*letter, value),
            _ => value,
        }
    }

    /// Whether `text` is short enough to be compared with `pattern` so often: from each character on, or for each
    /// stretch of it.
    fn is_matched(&mut self, text: &str, pattern: &str, power: u32) -> bool {
        const LONGEST: usize = 4096;
        const MOST: usize = 1 << 26;
        // So many comparisons cost as much as a byte that is made.
        const COMPARISONS: usize = 128;
        // Without a star only so many characters fit.
        let power = if pattern.contains('*') { power } else { power - 1 };
        let cost = text.len().saturating_pow(power).saturating_mul(pattern.len() + 1);
        text.len() <= LONGEST && cost <= MOST && self.machine.created(cost / COMPARISONS)
    }

    fn at_transform(&mut self, letter: char, value: Text) -> Text {
        match (letter, value.as_literal()) {
            ('P', known) => {
                let text = value.known_pieces();
                self.machine.expanded_again(&text, self.world);
                let decoded = crate::decode::escapes(&text);
                if decoded != text {
                    self.machine.expanded_again(&decoded, self.world);
                }
                if known.is_none() || text.contains(['\\', '$', '`']) { unknown_like(&value) } else { value }
            }
            ('U', Some(text)) => patterned(&text.to_uppercase(), &value),
            ('L', Some(text)) => patterned(&text.to_lowercase(), &value),
            ('u', Some(text)) => patterned(&recase(&text, CaseChange::Upper, false, ""), &value),
            ('E', Some(text)) => Text::known(crate::decode::escapes(&text)),
            ('Q', Some(text)) => Text::known(format!("'{}'", text.replace('\'', "'\\''"))),
            ('E', _) => unknown_like(&value),
            ('Q' | 'A' | 'K' | 'k' | 'a', _) => Text::unknown(What::Plain, false),
            _ => value,
        }
    }

    fn number(&mut self, word: &Word) -> Option<i64> {
        self.arithmetic(word).as_known()?.parse().ok()
    }

    fn slice_list(&mut self, values: Vec<Text>, offset: &Word, length: Option<&Word>) -> Vec<Text> {
        let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
        let offset = self.number(offset).map(|offset| if offset < 0 { count + offset } else { offset });
        let offset = offset.map(|offset| usize::try_from(offset).unwrap_or(usize::MAX));
        let length = length.map(|length| self.number(length).and_then(|length| usize::try_from(length).ok()));
        match (offset, length) {
            (Some(offset), None) => values.into_iter().skip(offset).collect(),
            (Some(offset), Some(Some(length))) => values.into_iter().skip(offset).take(length).collect(),
            _ => vec![Text::variable("@")],
        }
    }
}

/// Replacements that make less than this are made without counting first.
const LONGEST_REPLACED: usize = 64 << 10;

/// The element of an array with this key.
fn element(items: &[(String, Text)], key: &str, name: &str) -> Option<Vec<Text>> {
    if items.iter().any(|(known, _)| known == "?") {
        return Some(vec![Text::variable(name)]);
    }
    if let Some((_, text)) = items.iter().find(|(known, _)| known == key) {
        return Some(vec![text.clone()]);
    }
    let back = key.parse::<i64>().ok().filter(|number| *number < 0)?;
    let at = (next_index(items) + back).to_string();
    items.iter().find(|(known, _)| *known == at).map(|(_, text)| vec![text.clone()])
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
    // Text that may still be expanded once more stays in sight.
    let known = value.known_pieces();
    if value.as_literal().is_none() && (known.contains(['$', '`']) || known.contains("<(") || known.contains(">(")) {
        return value.clone();
    }
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
    let mut out = String::new();
    let mut rest = text;
    let mut first = true;
    while !rest.is_empty() || first {
        let mut ends = boundaries(rest);
        if !pattern.contains('*') {
            ends.truncate(pattern.chars().count() + 1);
        }
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

/// Changes the case of characters that match `pattern`; an empty one matches all.
fn recase(text: &str, kind: CaseChange, all: bool, pattern: &str) -> String {
    let change = |character: char| match kind {
        _ if !pattern.is_empty() && !glob::matches(pattern, character.encode_utf8(&mut [0; 4])) => {
            character.to_string()
        }
        CaseChange::Upper => character.to_uppercase().collect::<String>(),
        CaseChange::Lower => character.to_lowercase().collect(),
        CaseChange::Toggle if character.is_uppercase() => character.to_lowercase().collect(),
        CaseChange::Toggle => character.to_uppercase().collect(),
    };
    match kind {
        CaseChange::Upper if all && pattern.is_empty() => return text.to_uppercase(),
        CaseChange::Lower if all && pattern.is_empty() => return text.to_lowercase(),
        _ => {}
    }
    let mut characters = text.chars();
    if all {
        return characters.map(change).collect();
    }
    characters.next().map(change).unwrap_or_default() + characters.as_str()
}
