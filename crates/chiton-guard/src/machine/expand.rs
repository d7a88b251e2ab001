//! From words as they are written to words as the program gets them.

use std::rc::Rc;
use std::sync::Arc;

use chiton_shell::tree::{List, Parameter, Part, Word};

use crate::machine::Machine;
use crate::machine::arithmetic;
use crate::machine::brace;
use crate::machine::parameter::Values;
use crate::machine::state::{Value, World};
use crate::value::Arg;
use crate::value::{Flow, Labels, Piece, Text, Unknown, What};

/// What a word of a list takes besides its text, in bytes.
const WORD: usize = 128;
/// Text beyond this is looked through before it is taken apart.
const LONG: usize = 512;

/// Words being put together.
#[derive(Default)]
struct Fields {
    done: Vec<Text>,
    current: Option<Text>,
}

impl Fields {
    fn open(&mut self) -> &mut Text {
        self.current.get_or_insert_with(Text::default)
    }

    fn close(&mut self) {
        self.done.extend(self.current.take());
    }

    /// Adds an unquoted expansion: split at the separators, patterns in it count.
    fn split(&mut self, text: &Text, separators: &str) {
        for piece in &text.0 {
            let Piece::Known(known) = piece else {
                self.open().push(piece.clone());
                continue;
            };
            let mut rest = known.as_str();
            if rest.len() > LONG && !separators.chars().any(|separator| rest.contains(separator)) {
                patterned(rest, self.open());
                continue;
            }
            while let Some(at) = rest.find(|character| separators.contains(character)) {
                if at > 0 {
                    patterned(&rest[..at], self.open());
                }
                let blank = |next: char| next.is_whitespace() && separators.contains(next);
                let separator = rest[at..].chars().next().unwrap_or(' ');
                rest = &rest[at..];
                // Blanks around another separator belong to it.
                let after = rest.trim_start_matches(blank);
                let other = after.chars().next().filter(|next| separators.contains(*next));
                if let Some(other) = other {
                    self.open();
                    self.close();
                    rest = after[other.len_utf8()..].trim_start_matches(blank);
                } else {
                    if self.current.is_some() {
                        self.close();
                    }
                    rest = if separator.is_whitespace() { after } else { &rest[separator.len_utf8()..] };
                }
            }
            if !rest.is_empty() {
                patterned(rest, self.open());
            }
        }
    }
}

/// Adds bare text to `into`, telling patterns from the rest.
pub(crate) fn patterned(text: &str, into: &mut Text) {
    const SPECIAL: [char; 6] = ['*', '?', '[', '+', '@', '!'];
    if text.len() > LONG && !SPECIAL.iter().any(|special| text.contains(*special)) {
        into.push(Piece::Known(text.to_owned()));
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.find(SPECIAL) {
        let length = glob_length(&rest[at..]);
        let Some(length) = length else {
            let next = at + 1;
            into.push(Piece::Known(rest[..next].to_owned()));
            rest = &rest[next..];
            continue;
        };
        into.push(Piece::Known(rest[..at].to_owned()));
        into.push(Piece::Glob(rest[at..at + length].to_owned()));
        rest = &rest[at + length..];
    }
    into.push(Piece::Known(rest.to_owned()));
}

/// How long the pattern at the start of `text` is, if one starts there.
fn glob_length(text: &str) -> Option<usize> {
    let mut characters = text.chars();
    let first = characters.next()?;
    if characters.next() == Some('(') && first != '[' {
        return text.find(')').map(|end| end + 1);
    }
    match first {
        '*' | '?' => Some(1),
        '[' => {
            let skip = if text[1..].starts_with(['!', '^']) { 2 } else { 1 };
            let inner = text.get(skip + 1..)?;
            inner.find(']').filter(|end| !inner[..*end].contains('/')).map(|end| skip + 1 + end + 1)
        }
        _ => None,
    }
}

/// Words being expanded in one world: what they expand may run, and may set variables.
pub(crate) struct Expansion<'m, 'a> {
    pub(super) machine: &'m mut Machine<'a>,
    pub(super) world: &'m mut World,
}

/// What becomes of an expansion that stands where words are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Splitting {
    /// It is split at the separators.
    Splits,
    /// It stays whole: in quotes, in an assignment.
    Whole,
}

impl<'a> Machine<'a> {
    /// Expands words in `world`.
    pub(crate) fn expanding<'m>(&'m mut self, world: &'m mut World) -> Expansion<'m, 'a> {
        Expansion { machine: self, world }
    }
}

impl Expansion<'_, '_> {
    /// The words of a command.
    pub(crate) fn args(&mut self, words: &[Word]) -> Vec<Arg> {
        let mut args = Vec::with_capacity(words.len());
        let declares = declares(words);
        for word in words {
            if let Some(text) = Some(word).filter(|_| declares).and_then(|word| self.declaration(word)) {
                args.push(Arg::new(text, word.span));
                continue;
            }
            for text in self.fields(word) {
                args.push(Arg::new(text, word.span));
            }
        }
        args
    }

    /// `name=value` behind `declare` and its like, which is not split; none where the word is something else.
    fn declaration(&mut self, word: &Word) -> Option<Text> {
        let (Part::Literal(first), rest) = word.parts.split_first()? else { return None };
        let (name, value) = first.split_once('=')?;
        let variable = name.strip_suffix('+').unwrap_or(name);
        let variable = variable.split_once('[').map_or(variable, |(array, _)| array);
        let starts = variable.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if !starts || !variable.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return None;
        }
        let parts = [vec![Part::Literal(value.to_owned())], rest.to_vec()].concat();
        let mut text = Text::known(format!("{name}="));
        text.append(&self.assigned(&Word { parts, ..word.clone() }));
        Some(text)
    }

    /// The words that one written word becomes.
    pub(crate) fn fields(&mut self, word: &Word) -> Vec<Text> {
        // Most words are plain.
        if let [Part::Literal(text)] = word.parts.as_slice()
            && !text.contains(['*', '?', '[', '{', '~', '('])
        {
            return vec![Text::known(text.clone())];
        }
        let Some(words) = brace::expand(&word.parts) else {
            self.machine.created(usize::MAX);
            return Vec::new();
        };
        let mut all = Vec::new();
        for parts in words {
            let mut fields = Fields::default();
            self.split_parts(&parts, Splitting::Whole, &mut fields);
            fields.close();
            all.append(&mut fields.done);
        }
        all
    }

    /// Adds what pieces become; in `${x:-a b}` even blanks that are written out separate words.
    fn split_parts(&mut self, parts: &[Part], literals: Splitting, fields: &mut Fields) {
        let separators = self.separators();
        for (index, part) in parts.iter().enumerate() {
            let made = match part {
                Part::Literal(text) => {
                    let begins = index == 0 && text.starts_with('~');
                    let rest = if begins { self.tilde(text, parts.len() == 1, fields.open()) } else { text };
                    for piece in with_secrets(rest).0 {
                        match piece {
                            Piece::Known(known) if literals == Splitting::Splits => {
                                fields.split(&Text::known(known), &separators);
                            }
                            Piece::Known(known) => patterned(&known, fields.open()),
                            other => fields.open().push(other),
                        }
                    }
                    if literals == Splitting::Whole {
                        fields.open();
                    }
                    text.len()
                }
                Part::Quoted(text) => {
                    fields.open().append(&with_secrets(text));
                    text.len()
                }
                Part::Double(inner) => {
                    self.double(inner, fields);
                    0
                }
                Part::Parameter(parameter) => {
                    self.split_parameter(parameter, &separators, fields);
                    0
                }
                Part::Command(list) => {
                    let text = self.substitution(list);
                    fields.split(&text, &separators);
                    text.length()
                }
                Part::Arithmetic(expression) => {
                    let text = self.arithmetic(expression);
                    fields.open().append(&text);
                    text.length()
                }
                Part::Process { reads, list } => {
                    let text = self.process(*reads, list);
                    fields.open().append(&text);
                    0
                }
            };
            if !self.machine.created(made) {
                return;
            }
        }
    }

    fn split_parameter(&mut self, parameter: &Parameter, separators: &str, fields: &mut Fields) {
        let values = match self.parameter(parameter) {
            Values::Word(word) => return self.split_parts(&word.parts, Splitting::Splits, fields),
            Values::Texts(texts) => texts,
        };
        for (number, value) in values.iter().enumerate() {
            if number > 0 {
                fields.close();
            }
            if !self.machine.created(value.length() + WORD) {
                return;
            }
            fields.split(value, separators);
        }
    }

    pub(crate) fn separators(&self) -> String {
        match self.world.get("IFS", self.machine.context) {
            Value::Scalar(text) => text.as_known().unwrap_or_else(|| " \t\n".to_owned()),
            _ => " \t\n".to_owned(),
        }
    }

    /// Double quotes: nothing is split, but `"$@"` is as many words as there are parameters.
    fn double(&mut self, parts: &[Part], fields: &mut Fields) {
        let only_a_list = matches!(parts, [Part::Parameter(parameter)] if parameter.is_list());
        if !only_a_list {
            fields.open();
        }
        for part in parts {
            let Part::Parameter(parameter) = part else {
                let text = self.protected(part);
                if !self.machine.created(text.length()) {
                    return;
                }
                fields.open().append(&text);
                continue;
            };
            // What `${!x}` names may be a list: `x=words[@]`.
            if !parameter.is_list() && !parameter.indirect {
                let text = self.protected(part);
                if !self.machine.created(text.length()) {
                    return;
                }
                fields.open().append(&text);
                continue;
            }
            for (number, value) in self.whole(parameter).iter().enumerate() {
                if number > 0 {
                    fields.close();
                }
                if !self.machine.created(value.length() + WORD) {
                    return;
                }
                fields.open().append(value);
            }
        }
    }

    /// The values of a parameter where nothing is split.
    fn whole(&mut self, parameter: &Parameter) -> Vec<Text> {
        match self.parameter(parameter) {
            Values::Word(word) => vec![self.single(word)],
            Values::Texts(texts) => texts,
        }
    }

    /// A piece inside quotes, or where nothing is split.
    pub(crate) fn protected(&mut self, part: &Part) -> Text {
        match part {
            Part::Literal(text) | Part::Quoted(text) => with_secrets(text),
            Part::Double(inner) => self.joined(inner),
            Part::Parameter(parameter) => {
                let values = self.whole(parameter);
                if let [_] = values.as_slice() {
                    return values.into_iter().next().unwrap_or_default();
                }
                let between = if parameter.is_list() { Some(' ') } else { self.separators().chars().next() };
                let mut joined = Text::default();
                for (number, value) in values.iter().enumerate() {
                    if number > 0 {
                        joined.push(Piece::Known(between.map(String::from).unwrap_or_default()));
                    }
                    if !self.machine.created(value.length()) {
                        break;
                    }
                    joined.append(value);
                }
                joined
            }
            Part::Command(list) => self.substitution(list),
            Part::Arithmetic(expression) => self.arithmetic(expression),
            Part::Process { reads, list } => self.process(*reads, list),
        }
    }

    /// Pieces as one text, without splitting.
    pub(crate) fn joined(&mut self, parts: &[Part]) -> Text {
        let mut all = Text::default();
        for part in parts {
            let text = self.protected(part);
            if !self.machine.created(text.length()) {
                break;
            }
            all.append(&text);
        }
        all
    }

    /// A word as one text, as in an assignment or a here string: tilde, but no splitting and no patterns.
    pub(crate) fn single(&mut self, word: &Word) -> Text {
        let mut all = Text::default();
        for (index, part) in word.parts.iter().enumerate() {
            if let (0, Part::Literal(text)) = (index, part) {
                let rest = self.tilde(text, word.parts.len() == 1, &mut all).to_owned();
                all.append(&with_secrets(&rest));
                continue;
            }
            let text = self.protected(part);
            if !self.machine.created(text.length()) {
                break;
            }
            all.append(&text);
        }
        all
    }

    /// The value of an assignment: a tilde counts after a colon too.
    pub(crate) fn assigned(&mut self, word: &Word) -> Text {
        if !word.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains(":~"))) {
            return self.single(word);
        }
        let mut all = Text::default();
        for (index, part) in word.parts.iter().enumerate() {
            let Part::Literal(text) = part else {
                let text = self.protected(part);
                if !self.machine.created(text.length()) {
                    break;
                }
                all.append(&text);
                continue;
            };
            for (place, stretch) in text.split(':').enumerate() {
                if place > 0 {
                    all.push(Piece::Known(":".to_owned()));
                }
                let opens = place > 0 || index == 0;
                let rest = if opens { self.tilde(stretch, true, &mut all) } else { stretch }.to_owned();
                all.append(&with_secrets(&rest));
            }
        }
        all
    }

    /// A word as a pattern: what is quoted in it is protected by backslashes.
    pub(crate) fn pattern(&mut self, word: &Word) -> Option<String> {
        let mut all = String::new();
        // All of it is expanded, whether the pattern is known then or not.
        let mut is_known = true;
        for part in &word.parts {
            if let Part::Literal(text) = part {
                all.push_str(text);
                continue;
            }
            let Some(text) = self.protected(part).as_literal() else {
                is_known = false;
                continue;
            };
            if matches!(part, Part::Parameter(_) | Part::Command(_)) {
                all.push_str(&text);
                continue;
            }
            for character in text.chars() {
                if matches!(character, '*' | '?' | '[' | '\\') {
                    all.push('\\');
                }
                all.push(character);
            }
        }
        is_known.then_some(all)
    }

    /// Adds what a tilde at the start of `text` stands for, and gives the rest.
    fn tilde<'t>(&self, text: &'t str, whole: bool, into: &mut Text) -> &'t str {
        let Some(after) = text.strip_prefix('~') else { return text };
        let end = after.find('/').unwrap_or(after.len());
        // `~"x"` is not a tilde expansion: the name goes on in another piece.
        if end == after.len() && !whole {
            return text;
        }
        let name = &after[..end];
        let home = match name {
            "" => match self.world.get("HOME", self.machine.context) {
                Value::Scalar(text) => text,
                _ => Text::known(self.machine.context.home.to_string_lossy()),
            },
            "+" => self.world.cwd.clone().map_or_else(|| Text::variable("PWD"), Text::known),
            "-" => match self.world.get("OLDPWD", self.machine.context) {
                Value::Scalar(text) if self.world.has_set("OLDPWD") => text,
                _ => self.world.previous.clone().map_or_else(|| Text::variable("OLDPWD"), Text::known),
            },
            name if name == self.machine.context.user => Text::known(self.machine.context.home.to_string_lossy()),
            "root" => Text::known("/root"),
            name if name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter)) => {
                Text::known(format!("/home/{name}"))
            }
            _ => return text,
        };
        into.append(&home);
        &after[end..]
    }

    pub(crate) fn substitution(&mut self, list: &List) -> Text {
        let flow = self.machine.captured(list, self.world);
        Text::of_flow(&flow)
    }

    fn process(&mut self, reads: bool, list: &Arc<List>) -> Text {
        if reads {
            let flow = self.machine.captured(list, self.world);
            return Text(vec![Piece::Unknown(Unknown { what: What::Stream(Rc::new(flow)), filled: true })]);
        }
        let process = self.machine.start_process(Arc::clone(list), self.world);
        Text::unknown(What::Sink(process), true)
    }

    pub(crate) fn arithmetic(&mut self, expression: &Word) -> Text {
        let text = self.joined(&expression.parts);
        self.calculated(&text)
    }

    /// The number that a text is. Names in it stand for their values, which are calculated in turn, and the shell expands
    /// subscripts in it once more.
    pub(crate) fn calculated(&mut self, text: &Text) -> Text {
        let Some(known) = text.as_literal() else {
            let known = text.known_pieces();
            self.hidden_substitutions(&known, 0);
            let labels = text.labels();
            if labels.has(Labels::DECODED) {
                let from = Arg::new(text.clone(), self.machine.here());
                self.machine.object_to_flow(&Flow::labelled(labels), &from);
            }
            assigned_by_arithmetic(&known, self.world);
            return Text::unknown(What::Plain, true);
        };
        let trimmed = known.trim();
        if trimmed.is_empty() {
            return Text::known("0");
        }
        if trimmed.bytes().all(|byte| byte.is_ascii_digit()) && !trimmed.starts_with('0') {
            return Text::known(trimmed);
        }
        self.hidden_substitutions(&known, 0);
        let context = self.machine.context;
        let value = arithmetic::evaluate(&known, &mut |name| match self.world.get(name, context) {
            Value::Scalar(text) => text.as_known().and_then(|text| text.trim().parse().ok()),
            Value::Unset => Some(0),
            _ => None,
        });
        if let Some(value) = value {
            Text::known(value.to_string())
        } else {
            assigned_by_arithmetic(&known, self.world);
            Text::unknown(What::Plain, true)
        }
    }

    /// Values of variables are arithmetic again, and a subscript in them may hold a command.
    fn hidden_substitutions(&mut self, expression: &str, depth: usize) {
        const DEEPEST: usize = 5;
        if expression.contains("$(") || expression.contains('`') || expression.contains("${") {
            self.machine.expanded_again(expression, self.world);
        } else if expression.contains('\\') {
            // Backslashes are taken away on the way to where it is calculated, in some places and not in others.
            let bare = expression.replace('\\', "");
            if bare.contains("$(") || bare.contains("${") {
                self.machine.expanded_again(&bare, self.world);
            }
        }
        if depth > DEEPEST || self.machine.exhausted {
            return;
        }
        let names = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for name in names.filter(|name| name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')) {
            let values = match self.world.get(name, self.machine.context) {
                Value::Scalar(text) => vec![text],
                Value::Array(items) => items.into_iter().map(|(_, text)| text).collect(),
                Value::Unset | Value::Reference(_) => continue,
            };
            for value in values {
                let known = value.known_pieces();
                if known.contains(['[', '$', '`']) || known.starts_with(|first: char| first.is_ascii_alphabetic()) {
                    self.hidden_substitutions(&known, depth + 1);
                }
            }
        }
    }

    /// The name of a variable that a builtin takes: a subscript in it is calculated, or expanded once more.
    pub(crate) fn named(&mut self, name: &Text) {
        let known = name.known_pieces();
        if let Some((_, subscript)) = known.split_once('[') {
            self.hidden_substitutions(subscript.trim_end_matches(']'), 0);
        }
    }
}

/// Whether the command is one of those whose arguments bash reads as assignments.
fn declares(words: &[Word]) -> bool {
    let mut names = words.iter().map(|word| word.as_plain());
    let name = names.find(|name| !matches!(name, Some("command" | "builtin"))).flatten();
    matches!(name, Some("declare" | "typeset" | "local" | "export" | "readonly"))
}

/// Text as it stands; references to secrets in it stand for something unknown.
fn with_secrets(text: &str) -> Text {
    const KINDS: [&str; 2] = ["{{secret:", "{{decrypt:"];
    if !text.contains("{{") {
        return Text::known(text);
    }
    let mut all = Text::default();
    let mut rest = text;
    while let Some(at) = KINDS.iter().filter_map(|kind| rest.find(kind)).min() {
        let name = rest[at..].find(':').map_or(at, |colon| at + colon + 1);
        let length =
            rest[name..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte)).count();
        let end = name + length;
        if length == 0 || !rest[end..].starts_with("}}") {
            all.push(Piece::Known(rest[..name].to_owned()));
            rest = &rest[name..];
            continue;
        }
        all.push(Piece::Known(rest[..at].to_owned()));
        let what = What::Secret(rest[at..end + 2].to_owned());
        all.push(Piece::Unknown(Unknown { what, filled: false }));
        rest = &rest[end + 2..];
    }
    all.push(Piece::Known(rest.to_owned()));
    all
}

/// Variables that an expression changes are numbers afterwards.
fn assigned_by_arithmetic(expression: &str, world: &mut World) {
    let names = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let changes = expression.contains('=') || expression.contains("++") || expression.contains("--");
    for name in
        names.filter(|name| changes && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
    {
        if world.has_set(name) {
            world.set_text(name, Text::unknown(What::Plain, true));
        }
    }
}
