//! YAML. A parser says where keys and values stand, and the text is cut and joined there, so comments, order and style
//! of all the rest stay. Strange places (aliases, several documents) fail the comparison that follows every edit.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};
use serde_json::json;

use super::{Edit, EntryFields, EntryValue, FormatError, Spot, newline};

/// Settings nest a few levels deep; a text that nests deeper is not settings.
const DEEPEST: usize = 100;

/// A value and where it stands, in bytes.
struct Node {
    at: Range<usize>,
    column: usize,
    kind: NodeKind,
}

enum NodeKind {
    Scalar { text: String, plain: bool },
    Sequence { style: NodeStyle, items: Vec<Node> },
    Mapping { style: NodeStyle, pairs: Vec<(Node, Node)> },
    Alias,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeStyle {
    /// Indented lines.
    Block,
    /// In brackets or braces.
    Flow,
}

pub(super) fn read(text: &str) -> Result<serde_json::Value, FormatError> {
    match Tree::parse(text)? {
        None => Ok(json!({})),
        Some(root) if root.is_nothing() => Ok(json!({})),
        Some(Node { kind: NodeKind::Mapping { pairs, .. }, .. }) => value_of_pairs(&pairs, text),
        Some(_) => Err(FormatError::Unfit("it does not hold a mapping".to_owned())),
    }
}

pub(super) fn edit(text: &str, spot: Spot, edit: &Edit) -> Result<String, FormatError> {
    let root = Tree::parse(text)?.filter(|root| !root.is_nothing());
    let mut cuts = Cuts { text, cuts: Vec::new() };
    let container = root.as_ref().and_then(|root| root.get(spot.container));
    match (edit, container) {
        (Edit::Insert(fields), None) => cuts.insert_container(root.as_ref(), spot, fields),
        (Edit::Insert(fields), Some((key, container))) => cuts.insert_entry(key, container, spot, fields)?,
        (Edit::Change(fields), Some((_, container))) => {
            let (_, entry) = container.get(spot.name).ok_or_else(|| no_mapping(spot.name))?;
            cuts.change(entry, fields, spot)?;
        }
        (Edit::Remove, Some((key, container))) => cuts.remove(key, container, spot),
        (Edit::Change(_) | Edit::Remove, None) => return Err(no_mapping(spot.container)),
    }
    cuts.join()
}

fn no_mapping(key: &str) -> FormatError {
    FormatError::Unfit(format!("'{key}' in it is not a mapping"))
}

impl Node {
    /// An empty value, or one of the words for it.
    fn is_nothing(&self) -> bool {
        matches!(&self.kind, NodeKind::Scalar { text, plain: true } if ["", "~", "null", "Null", "NULL"].contains(&text.as_str()))
    }

    fn get(&self, wanted: &str) -> Option<(&Node, &Node)> {
        let NodeKind::Mapping { pairs, .. } = &self.kind else { return None };
        let is = |key: &Node| matches!(&key.kind, NodeKind::Scalar { text, .. } if text == wanted);
        pairs.iter().find(|(key, _)| is(key)).map(|(key, value)| (key, value))
    }
}

fn value_of(node: &Node, whole: &str) -> Result<serde_json::Value, FormatError> {
    match &node.kind {
        NodeKind::Scalar { .. } if node.is_nothing() => Ok(serde_json::Value::Null),
        NodeKind::Scalar { text, .. } => Ok(text.as_str().into()),
        NodeKind::Sequence { items, .. } => items.iter().map(|item| value_of(item, whole)).collect(),
        NodeKind::Mapping { pairs, .. } => value_of_pairs(pairs, whole),
        // What it stands for is elsewhere; here it is enough that it is the same.
        NodeKind::Alias => Ok(json!({ "alias": whole.get(node.at.clone()) })),
    }
}

fn value_of_pairs(pairs: &[(Node, Node)], whole: &str) -> Result<serde_json::Value, FormatError> {
    let mut map = serde_json::Map::new();
    for (key, value) in pairs {
        let name = match &key.kind {
            NodeKind::Scalar { text, .. } => text.clone(),
            _ => value_of(key, whole)?.to_string(),
        };
        if map.insert(name.clone(), value_of(value, whole)?).is_some() {
            let (line, column) = super::position(whole, key.at.start);
            return Err(FormatError::Malformed { line, column, what: format!("the key '{name}' is there twice") });
        }
    }
    Ok(map.into())
}

/// Builds nodes from the events of the parser.
struct Tree<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// The byte at which each character begins, and the end.
    bytes: Vec<usize>,
    text: &'a str,
}

impl<'a> Tree<'a> {
    fn parse(text: &'a str) -> Result<Option<Node>, FormatError> {
        let bytes = text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect();
        let mut tree = Self { parser: Parser::new_from_str(text), bytes, text };
        let mut root = None;
        loop {
            match tree.next()? {
                (Event::StreamEnd, _) => return Ok(root),
                (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
                _ if root.is_some() => {
                    return Err(FormatError::Unfit("it holds more than one document".to_owned()));
                }
                (event, span) => root = Some(tree.node(event, span, 0)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), FormatError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(FormatError::Malformed {
                line: error.marker().line(),
                column: error.marker().col() + 1,
                what: error.info().to_owned(),
            }),
            None => Err(FormatError::Unfit("it ends too early".to_owned())),
        }
    }

    fn byte(&self, character: usize) -> usize {
        self.bytes.get(character).copied().unwrap_or(self.text.len())
    }

    /// The end of a collection. The span of a bracket goes on over a comment behind it.
    fn end(&self, style: NodeStyle, span: Span) -> usize {
        let start = self.byte(span.start.index());
        let bracket = style == NodeStyle::Flow && self.text[start..].starts_with([']', '}']);
        start + usize::from(bracket)
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, FormatError> {
        if depth > DEEPEST {
            return Err(FormatError::Unfit("it is nested too deeply".to_owned()));
        }
        let mut at = self.byte(span.start.index())..self.byte(span.end.index());
        let style =
            |open: char| if self.text[at.start..].starts_with(open) { NodeStyle::Flow } else { NodeStyle::Block };
        let kind = match event {
            Event::Scalar(text, scalar, ..) => {
                NodeKind::Scalar { text: text.into_owned(), plain: scalar == ScalarStyle::Plain }
            }
            Event::SequenceStart(..) => {
                let style = style('[');
                let mut items = Vec::new();
                let end = loop {
                    match self.next()? {
                        (Event::SequenceEnd, span) => break self.end(style, span),
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                };
                at.end = if style == NodeStyle::Flow { end } else { items.last().map_or(at.start, |item| item.at.end) };
                NodeKind::Sequence { style, items }
            }
            Event::MappingStart(..) => {
                let style = style('{');
                let mut pairs = Vec::new();
                let end = loop {
                    match self.next()? {
                        (Event::MappingEnd, span) => break self.end(style, span),
                        (event, span) => {
                            let key = self.node(event, span, depth + 1)?;
                            let (event, span) = self.next()?;
                            pairs.push((key, self.node(event, span, depth + 1)?));
                        }
                    }
                };
                let last = |(key, value): &(Node, Node)| value.at.end.max(key.at.end);
                at.end = if style == NodeStyle::Flow { end } else { pairs.last().map_or(at.start, last) };
                NodeKind::Mapping { style, pairs }
            }
            _ => NodeKind::Alias,
        };
        Ok(Node { at, column: span.start.col(), kind })
    }
}

/// Pieces of the text and what stands in their place.
struct Cuts<'a> {
    text: &'a str,
    cuts: Vec<(Range<usize>, String)>,
}

impl Cuts<'_> {
    fn join(mut self) -> Result<String, FormatError> {
        self.cuts.sort_by_key(|(at, _)| std::cmp::Reverse(at.start));
        let mut joined = self.text.to_owned();
        let mut reached = self.text.len();
        for (at, new) in self.cuts {
            if at.end > reached {
                return Err(FormatError::Unfit("it is written in a strange way".to_owned()));
            }
            reached = at.start;
            joined.replace_range(at, &new);
        }
        Ok(joined)
    }

    fn put(&mut self, at: usize, new: String) {
        self.cuts.push((at..at, new));
    }

    fn start_of_line(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The beginning of the line after this place.
    fn next_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    /// Puts whole lines in at the beginning of a line, which may be the end of a text without a last newline.
    fn put_lines(&mut self, at: usize, lines: &str) {
        let end = newline(self.text);
        let open = at == self.text.len() && !self.text.is_empty() && !self.text.ends_with('\n');
        self.put(at, format!("{}{lines}", if open { end } else { "" }));
    }

    fn insert_container(&mut self, root: Option<&Node>, spot: Spot, fields: EntryFields) {
        if let Some(Node { at, kind: NodeKind::Mapping { style: NodeStyle::Flow, pairs }, .. }) = root {
            let more = if pairs.is_empty() { "" } else { ", " };
            return self.put(at.start + 1, format!("{}: {{{}}}{more}", json!(spot.container), flow(spot, fields)));
        }
        let column = root.map_or(0, |root| root.column);
        let head = format!("{}{}:{}", " ".repeat(column), spot.container, newline(self.text));
        self.put_lines(self.text.len(), &(head + &block(spot, fields, column + 2, newline(self.text))));
    }

    fn insert_entry(
        &mut self,
        key: &Node,
        container: &Node,
        spot: Spot,
        fields: EntryFields,
    ) -> Result<(), FormatError> {
        let end = newline(self.text);
        let same_line = !self.text[key.at.end..container.at.end.max(key.at.end)].contains('\n');
        match &container.kind {
            NodeKind::Mapping { style: NodeStyle::Block, pairs } => {
                let column = pairs.first().map_or(key.column + 2, |(first, _)| first.column);
                self.put_lines(self.next_line(key.at.end), &block(spot, fields, column, end));
            }
            NodeKind::Mapping { style: NodeStyle::Flow, pairs } if !pairs.is_empty() || !same_line => {
                let more = if pairs.is_empty() { "" } else { ", " };
                self.put(container.at.start + 1, flow(spot, fields) + more);
            }
            // Nothing, in one of its spellings: lines take its place.
            _ if container.is_nothing() || matches!(container.kind, NodeKind::Mapping { .. }) => {
                if same_line {
                    self.cuts.push((container.at.clone(), String::new()));
                }
                self.put_lines(self.next_line(key.at.end), &block(spot, fields, key.column + 2, end));
            }
            _ => return Err(no_mapping(spot.container)),
        }
        Ok(())
    }

    fn change(&mut self, entry: &Node, fields: EntryFields, spot: Spot) -> Result<(), FormatError> {
        let NodeKind::Mapping { style, pairs } = &entry.kind else { return Err(no_mapping(spot.name)) };
        for (key, value) in fields {
            match entry.get(key) {
                Some((_, there)) if value_of(there, self.text).is_ok_and(|there| value.is(&there)) => {}
                Some((_, Node { kind: NodeKind::Sequence { style: NodeStyle::Block, items }, .. })) => {
                    self.change_lines(items, value);
                }
                Some((_, there)) => self.cuts.push((there.at.clone(), written(value))),
                None if *style == NodeStyle::Flow => {
                    self.put(entry.at.start + 1, format!("{}: {}, ", json!(key), written(value)));
                }
                None => {
                    let column = pairs.first().map_or(0, |(first, _)| first.column);
                    let line = format!("{}{key}: {}{}", " ".repeat(column), written(value), newline(self.text));
                    self.put(self.start_of_line(entry.at.start), line);
                }
            }
        }
        Ok(())
    }

    /// A list with one item a line stays one.
    fn change_lines(&mut self, items: &[Node], value: &EntryValue) {
        let (Some(first), Some(last), EntryValue::List(list)) = (items.first(), items.last(), value) else { return };
        let dash = self.text[..first.at.start].rfind('-').unwrap_or(first.at.start);
        let indent = " ".repeat(self.text[self.start_of_line(dash)..dash].chars().count());
        let lines: Vec<String> = list.iter().map(|one| format!("- {}", quoted(one))).collect();
        let new =
            if lines.is_empty() { "[]".to_owned() } else { lines.join(&format!("{}{indent}", newline(self.text))) };
        self.cuts.push((dash..last.at.end, new));
    }

    fn remove(&mut self, container_key: &Node, container: &Node, spot: Spot) {
        let (Some((key, value)), NodeKind::Mapping { style, pairs }) = (container.get(spot.name), &container.kind)
        else {
            return;
        };
        let end = value.at.end.max(key.at.end);
        if *style == NodeStyle::Block {
            // A literal block ends where the next line begins.
            let end = key.at.start + self.text[key.at.start..end].trim_end().len();
            self.cuts.push((self.start_of_line(key.at.start)..self.next_line(end), String::new()));
            if pairs.len() == 1 {
                let colon = self.text[container_key.at.end..].find(':').unwrap_or(0);
                self.put(container_key.at.end + colon + 1, " {}".to_owned());
            }
            return;
        }
        let after = &self.text[end..];
        let rest = after.trim_start();
        if let Some(following) = rest.strip_prefix(',') {
            let next = end + after.len() - following.trim_start_matches(' ').len();
            self.cuts.push((key.at.start..next, String::new()));
        } else {
            let before = self.text[..key.at.start].trim_end();
            let start = before.strip_suffix(',').map_or(key.at.start, str::len);
            self.cuts.push((start..end, String::new()));
        }
    }
}

/// The entry as lines.
fn block(spot: Spot, fields: EntryFields, column: usize, end: &str) -> String {
    let indent = " ".repeat(column);
    let mut lines = format!("{indent}{}:{end}", spot.name);
    for (key, value) in fields {
        lines.push_str(&format!("{indent}  {key}: {}{end}", written(value)));
    }
    lines
}

/// The entry in braces.
fn flow(spot: Spot, fields: EntryFields) -> String {
    let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{}: {}", json!(key), written(value))).collect();
    format!("{}: {{{}}}", json!(spot.name), fields.join(", "))
}

fn written(value: &EntryValue) -> String {
    match value {
        EntryValue::Text(text) => quoted(text),
        EntryValue::List(list) => format!("[{}]", list.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ")),
        EntryValue::Number(number) => number.to_string(),
        EntryValue::Yes => "true".to_owned(),
        EntryValue::No => "false".to_owned(),
        EntryValue::Pairs(pairs) => {
            let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}: {}", quoted(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

/// A string of JSON is one of YAML too.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::FileFormat;
    use super::*;

    const SPOT: Spot = Spot { container: "extensions", name: "chiton" };

    fn fields() -> Vec<(&'static str, EntryValue)> {
        vec![("cmd", EntryValue::Text("/bin/chiton".into())), ("args", EntryValue::List(vec!["mcp".into()]))]
    }

    /// Before, and after the entry was put in.
    const INSERTED: [(&str, &str); 14] = [
        ("", "extensions:\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\n"),
        ("# only\n", "# only\nextensions:\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\n"),
        ("a: 1", "a: 1\nextensions:\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\n"),
        ("---\na: 1\n", "---\na: 1\nextensions:\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\n"),
        (
            "extensions: # all\n    # first\n    x:\n        cmd: y\nz: 1\n",
            "extensions: # all\n    chiton:\n      cmd: \"/bin/chiton\"\n      args: [\"mcp\"]\n    # first\n    x:\n        cmd: y\nz: 1\n",
        ),
        ("extensions:\nz: 1\n", "extensions:\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\nz: 1\n"),
        ("extensions:", "extensions:\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\n"),
        (
            "extensions: {} # none\nz: 1\n",
            "extensions:  # none\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\nz: 1\n",
        ),
        ("extensions: ~\nz: 1\n", "extensions: \n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\nz: 1\n"),
        (
            "extensions: {x: {cmd: y}}\n",
            "extensions: {\"chiton\": {\"cmd\": \"/bin/chiton\", \"args\": [\"mcp\"]}, x: {cmd: y}}\n",
        ),
        ("{a: 1}\n", "{\"extensions\": {\"chiton\": {\"cmd\": \"/bin/chiton\", \"args\": [\"mcp\"]}}, a: 1}\n"),
        ("a: 1\r\n", "a: 1\r\nextensions:\r\n  chiton:\r\n    cmd: \"/bin/chiton\"\r\n    args: [\"mcp\"]\r\n"),
        (
            "\u{fc}: \u{e4} # \u{f6}\nextensions:\n  x: {\u{fc}: 1}\n",
            "\u{fc}: \u{e4} # \u{f6}\nextensions:\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\n  x: {\u{fc}: 1}\n",
        ),
        (
            "extensions:\n  x:\n    text: |\n      a\n\n      b\n",
            "extensions:\n  chiton:\n    cmd: \"/bin/chiton\"\n    args: [\"mcp\"]\n  x:\n    text: |\n      a\n\n      b\n",
        ),
    ];

    #[test]
    fn an_entry_is_put_in_beside_the_others() {
        for (before, after) in INSERTED {
            let edited = FileFormat::Yaml.edit(before, SPOT, &Edit::Insert(&fields())).expect(before);
            assert_eq!(edited, after);
            let removed = FileFormat::Yaml.edit(after, SPOT, &Edit::Remove).expect(after);
            assert_eq!(
                split_value(&removed),
                split_value(before),
                "taken out again, the rest says what it said: {removed}"
            );
        }
    }

    fn split_value(text: &str) -> serde_json::Value {
        super::super::split(FileFormat::Yaml.read(text).expect(text), SPOT).0
    }

    /// Before, and after the entry was taken out.
    const REMOVED: [(&str, &str); 6] = [
        ("extensions:\n  a: 1\n  chiton:\n    x: 1\n  # b\n  b: 2\n", "extensions:\n  a: 1\n  # b\n  b: 2\n"),
        ("extensions:\n  chiton:\n    x: 1\nz: 1\n", "extensions: {}\nz: 1\n"),
        ("extensions:\n  a: 1\n  chiton:\n    x: |\n      text\n\nz: 1\n", "extensions:\n  a: 1\n\nz: 1\n"),
        ("extensions: {a: 1, chiton: {x: 1}}\n", "extensions: {a: 1}\n"),
        ("extensions: {chiton: {x: 1}, a: 1}\n", "extensions: {a: 1}\n"),
        ("extensions:\n  a: 1\n  chiton:\n    args:\n    - mcp\n    - x", "extensions:\n  a: 1\n"),
    ];

    #[test]
    fn an_entry_is_taken_out_and_its_neighbours_stay() {
        for (before, after) in REMOVED {
            assert_eq!(FileFormat::Yaml.edit(before, SPOT, &Edit::Remove).expect(before), after);
        }
    }

    /// Before, and after command and arguments were changed.
    const CHANGED: [(&str, &str); 6] = [
        (
            "extensions:\n  chiton:\n    args: [\n      a, # one\n      b ] # list\n    cmd: x\n",
            "extensions:\n  chiton:\n    args: [\"mcp\"] # list\n    cmd: \"/bin/chiton\"\n",
        ),
        (
            "extensions:\n  chiton:\n    enabled: false\n    cmd: old # path\n    args: [a, b]\n",
            "extensions:\n  chiton:\n    enabled: false\n    cmd: \"/bin/chiton\" # path\n    args: [\"mcp\"]\n",
        ),
        (
            "extensions:\n  chiton:\n    args:\n    - -m\n    - b\n    cmd: old\n",
            "extensions:\n  chiton:\n    args:\n    - \"mcp\"\n    cmd: \"/bin/chiton\"\n",
        ),
        (
            "extensions:\n  chiton:\n    cmd: old\n    env: 1\n",
            "extensions:\n  chiton:\n    args: [\"mcp\"]\n    cmd: \"/bin/chiton\"\n    env: 1\n",
        ),
        ("extensions: {chiton: {cmd: old}}\n", "extensions: {chiton: {\"args\": [\"mcp\"], cmd: \"/bin/chiton\"}}\n"),
        (
            "extensions:\n  chiton:\n    cmd: /bin/chiton\n    args: [mcp]\n",
            "extensions:\n  chiton:\n    cmd: /bin/chiton\n    args: [mcp]\n",
        ),
    ];

    #[test]
    fn only_what_is_started_changes_in_an_entry() {
        for (before, after) in CHANGED {
            assert_eq!(FileFormat::Yaml.edit(before, SPOT, &Edit::Change(&fields())).expect(before), after);
        }
    }

    #[test]
    fn what_cannot_be_edited_safely_is_left_alone() {
        for text in [
            "a: 1\n...\n", "a: 1\n---\nb: 2\n", "extensions: &x\nb: *x\n", "b: &x {c: 1}\nextensions: *x\n",
            "extensions: text\n", "- list\n", "a: 1\na: 2\n", "a: [1\n", "a: b: c\n",
        ] {
            assert!(FileFormat::Yaml.edit(text, SPOT, &Edit::Insert(&fields())).is_err(), "{text}");
        }
    }
}
