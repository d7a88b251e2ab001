//! TOML.

use std::ops::Range;

use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike};

use super::setting::at;
use super::{Edit, EntryFields, EntryValue, FormatError, Setting, SettingValue, Spot, newline, position};

pub(super) fn read(text: &str) -> Result<serde_json::Value, FormatError> {
    Ok(table_value(parse(text)?.as_table()))
}

fn parse(text: &str) -> Result<DocumentMut, FormatError> {
    text.parse::<DocumentMut>().map_err(|error| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        FormatError::Malformed { line, column, what: error.message().trim().replace('\n', ", ") }
    })
}

pub(super) fn edit(text: &str, spot: Spot, edit: &Edit) -> Result<String, FormatError> {
    if let Edit::Remove = edit
        && let Some(rest) = without_tables(text, spot)
    {
        return Ok(rest);
    }
    let mut document = parse(text)?;
    let container = document.get_mut(spot.container);
    let written_inline = container.as_ref().is_some_and(|container| container.is_inline_table());
    if let (Edit::Insert(fields), false) = (edit, written_inline) {
        return Ok(appended(text, spot, fields));
    }
    let missing = || FormatError::Unfit(format!("'{}' in it is not a table", spot.container));
    let container = container.and_then(Item::as_table_like_mut).ok_or_else(missing)?;
    match edit {
        Edit::Insert(fields) => {
            let entry: InlineTable = fields.iter().map(|(key, value)| (*key, plain(value))).collect();
            container.insert(spot.name, Item::Value(entry.into()));
        }
        Edit::Change(fields) => {
            let entry = container.get_mut(spot.name).and_then(Item::as_table_like_mut).ok_or_else(missing)?;
            change(entry, fields);
        }
        Edit::Remove => {
            container.remove(spot.name);
        }
    }
    Ok(document.to_string())
}

/// A table may always follow the rest, so nothing of the rest has to be understood.
fn appended(text: &str, spot: Spot, fields: EntryFields) -> String {
    let lines: Vec<String> = fields.iter().map(|(key, value)| format!("{key} = {}", plain(value))).collect();
    with_table(text, &format!("{}.{}", spot.container, spot.name), &lines)
}

fn with_table(text: &str, name: &str, lines: &[String]) -> String {
    let end = newline(text);
    let mut edited = text.to_owned();
    if !text.is_empty() {
        edited.push_str(if text.ends_with('\n') {
            end
        } else if end == "\n" {
            "\n\n"
        } else {
            "\r\n\r\n"
        });
    }
    edited.push_str(&format!("[{name}]{end}"));
    for line in lines {
        edited.push_str(line);
        edited.push_str(end);
    }
    edited
}

/// Puts a setting into its table, which follows the rest where there is none.
pub(super) fn put(text: &str, setting: &Setting) -> Result<String, FormatError> {
    let (key, way) = setting.split();
    let (table, value) = (one_table(setting, way)?, single(setting)?);
    let mut document = parse(text)?;
    let Some(there) = document.get_mut(table) else {
        return Ok(with_table(text, table, &[format!("{key} = {value}")]));
    };
    let missing = || FormatError::Unfit(format!("'{table}' in it is not a table"));
    set(there.as_table_like_mut().ok_or_else(missing)?, key, value);
    Ok(document.to_string())
}

/// Puts back what stood there before us; a table that was not there before goes where it holds nothing else.
pub(super) fn take_back(text: &str, setting: &Setting, before: &serde_json::Value) -> Result<String, FormatError> {
    let (key, way) = setting.split();
    let table = one_table(setting, way)?;
    let mut document = parse(text)?;
    let Some(there) = document.get_mut(table).and_then(Item::as_table_like_mut) else { return Ok(text.to_owned()) };
    match at(before, &setting.path) {
        Some(serde_json::Value::Bool(was)) => set(there, key, (*was).into()),
        Some(serde_json::Value::String(was)) => set(there, key, was.as_str().into()),
        Some(_) => return Err(FormatError::Unfit(format!("'{}' cannot be put back", setting.name()))),
        None if there.len() == 1 && there.contains_key(key) && at(before, way).is_none() => {
            let ours = Document::parse(text).ok();
            let tables = ours.as_ref().and_then(|document| document.as_table().get(table)?.as_table());
            if let Some(rest) = tables.and_then(|table| without(text, table)) {
                return Ok(rest);
            }
            document.remove(table);
        }
        None => {
            there.remove(key);
        }
    }
    Ok(document.to_string())
}

/// What Codex needs: a key in a table.
fn one_table<'a>(setting: &Setting, way: &'a [String]) -> Result<&'a str, FormatError> {
    match way {
        [table] => Ok(table),
        _ => Err(FormatError::Unfit(format!("'{}' is not a key in a table", setting.name()))),
    }
}

fn single(setting: &Setting) -> Result<toml_edit::Value, FormatError> {
    match &setting.value {
        SettingValue::Text(text) => Ok(text.as_str().into()),
        SettingValue::No => Ok(false.into()),
        SettingValue::Items(_) => Err(FormatError::Unfit(format!("'{}' is a list", setting.name()))),
    }
}

/// Sets a key; a comment behind it stays.
fn set(table: &mut dyn TableLike, key: &str, value: toml_edit::Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(there) => {
            let decor = there.decor().clone();
            *there = value;
            *there.decor_mut() = decor;
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

/// The text without the tables of the entry, where it is written as tables. Cut by lines, since the library would take
/// the comments above them along.
fn without_tables(text: &str, spot: Spot) -> Option<String> {
    let document = Document::parse(text).ok()?;
    without(text, document.as_table().get(spot.container)?.as_table_like()?.get(spot.name)?.as_table()?)
}

/// The text without a table and those in it.
fn without(text: &str, table: &Table) -> Option<String> {
    let mut cuts = Vec::new();
    tables_of(table, &mut cuts);
    cuts.sort_by_key(|cut: &Range<usize>| std::cmp::Reverse(cut.start));
    let mut rest = text.to_owned();
    let empty = format!("{0}{0}", newline(text));
    for cut in &cuts {
        let start = text[..cut.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[cut.end..].find('\n').map_or(text.len(), |newline| cut.end + newline + 1);
        // The empty line above went in with it.
        let start = if text[..start].ends_with(&empty) { start - newline(text).len() } else { start };
        rest.replace_range(start..end, "");
    }
    (!cuts.is_empty()).then_some(rest)
}

/// From the head of each table to the end of its last value.
fn tables_of(table: &Table, cuts: &mut Vec<Range<usize>>) {
    if let (Some(head), false) = (table.span(), table.is_dotted()) {
        cuts.push(head.start..last_of(table).max(head.end));
    }
    for (_, item) in table {
        match item {
            Item::Table(table) => tables_of(table, cuts),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| tables_of(table, cuts)),
            Item::None | Item::Value(_) => {}
        }
    }
}

fn last_of(table: &Table) -> usize {
    let end = |item: &Item| match item {
        Item::Value(value) => value.span().map_or(0, |span| span.end),
        Item::Table(table) if table.is_dotted() => last_of(table),
        Item::None | Item::Table(_) | Item::ArrayOfTables(_) => 0,
    };
    table.iter().map(|(_, item)| end(item)).max().unwrap_or(0)
}

fn change(entry: &mut dyn TableLike, fields: EntryFields) {
    for (key, value) in fields {
        match entry.get_mut(key).and_then(Item::as_value_mut) {
            Some(there) if value.is(&value_of(there)) => {}
            _ => set(entry, key, plain(value)),
        }
    }
}

fn plain(value: &EntryValue) -> toml_edit::Value {
    match value {
        EntryValue::Text(text) => text.as_str().into(),
        EntryValue::List(list) => list.iter().map(String::as_str).collect::<Array>().into(),
        EntryValue::Number(number) => i64::from(*number).into(),
        EntryValue::Yes => true.into(),
        EntryValue::No => false.into(),
        EntryValue::Pairs(pairs) => {
            pairs.iter().map(|(key, value)| (*key, value.as_str())).collect::<InlineTable>().into()
        }
    }
}

fn item_value(item: &Item) -> serde_json::Value {
    match item {
        Item::None => serde_json::Value::Null,
        Item::Value(value) => value_of(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(table_value).collect(),
    }
}

fn table_value(table: &Table) -> serde_json::Value {
    table.iter().map(|(key, item)| (key.to_owned(), item_value(item))).collect()
}

fn value_of(value: &toml_edit::Value) -> serde_json::Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => number.value().to_string().into(),
        Toml::Boolean(flag) => (*flag.value()).into(),
        Toml::Datetime(time) => time.value().to_string().into(),
        Toml::Array(array) => array.iter().map(value_of).collect(),
        Toml::InlineTable(table) => table.iter().map(|(key, value)| (key.to_owned(), value_of(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::FileFormat;
    use super::*;

    const SPOT: Spot = Spot { container: "mcp_servers", name: "chiton" };

    fn fields() -> Vec<(&'static str, EntryValue)> {
        vec![("command", EntryValue::Text("/bin/chiton".into())), ("args", EntryValue::List(vec!["mcp".into()]))]
    }

    /// Before, and after the entry was put in.
    const INSERTED: [(&str, &str); 7] = [
        (
            "mcp_servers.a.x = 1\n",
            "mcp_servers.a.x = 1\n\n[mcp_servers.chiton]\ncommand = \"/bin/chiton\"\nargs = [\"mcp\"]\n",
        ),
        ("", "[mcp_servers.chiton]\ncommand = \"/bin/chiton\"\nargs = [\"mcp\"]\n"),
        ("a = 1", "a = 1\n\n[mcp_servers.chiton]\ncommand = \"/bin/chiton\"\nargs = [\"mcp\"]\n"),
        ("a = 1\r\n", "a = 1\r\n\r\n[mcp_servers.chiton]\r\ncommand = \"/bin/chiton\"\r\nargs = [\"mcp\"]\r\n"),
        ("[mcp_servers]\n", "[mcp_servers]\n\n[mcp_servers.chiton]\ncommand = \"/bin/chiton\"\nargs = [\"mcp\"]\n"),
        (
            "mcp_servers = { a = { url = \"x\" } } # c\n",
            "mcp_servers = { a = { url = \"x\" } , chiton = { command = \"/bin/chiton\", args = [\"mcp\"] } } # c\n",
        ),
        (
            "[mcp_servers.a]\nx = 1\n# end",
            "[mcp_servers.a]\nx = 1\n# end\n\n[mcp_servers.chiton]\ncommand = \"/bin/chiton\"\nargs = [\"mcp\"]\n",
        ),
    ];

    #[test]
    fn an_entry_is_put_in_whatever_way_servers_are_written() {
        for (before, after) in INSERTED {
            assert_eq!(FileFormat::Toml.edit(before, SPOT, &Edit::Insert(&fields())).expect(before), after);
        }
    }

    /// Before, and after the entry was taken out.
    const REMOVED: [(&str, &str); 7] = [
        ("# a\n[mcp_servers.chiton]\nx = 1\n# b\n[z]\n# c\n", "# a\n# b\n[z]\n# c\n"),
        ("[z]\n# a\n\n[mcp_servers.chiton]\nx = [\n  1,\n] # one\n", "[z]\n# a\n"),
        (
            "[mcp_servers.chiton]\nx.y = 1\n[mcp_servers.chiton.env]\nA = 1\n\n[z]\n[[mcp_servers.chiton.b]]\nc = 1\n",
            "\n[z]\n",
        ),
        ("[mcp_servers]\nchiton = { x = 1 }\na = { x = 2 } # c\n", "[mcp_servers]\na = { x = 2 } # c\n"),
        ("mcp_servers = { a = 1, chiton = { x = 1 } }\n", "mcp_servers = { a = 1}\n"),
        ("mcp_servers.chiton.x = 1\nmcp_servers.a.x = 1\n", "mcp_servers.a.x = 1\n"),
        ("[mcp_servers.chiton]", ""),
    ];

    #[test]
    fn an_entry_is_taken_out_and_comments_around_it_stay() {
        for (before, after) in REMOVED {
            assert_eq!(FileFormat::Toml.edit(before, SPOT, &Edit::Remove).expect(before), after);
        }
    }

    #[test]
    fn what_cannot_be_edited_safely_is_left_alone() {
        for text in ["mcp_servers = 1\n", "[[mcp_servers]]\nx = 1\n", "a = 1\na = 2\n", "x\n"] {
            assert!(FileFormat::Toml.edit(text, SPOT, &Edit::Insert(&fields())).is_err(), "{text}");
        }
    }
}
