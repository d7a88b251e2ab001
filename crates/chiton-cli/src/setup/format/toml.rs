//! TOML.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::{Edit, Fields, FormatError, Spot, Value, newline, position};

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
    let mut document = parse(text)?;
    let container = document.get_mut(spot.container);
    let written_inline = container.as_ref().is_some_and(|container| container.is_inline_table());
    if let (Edit::Insert(fields), false) = (edit, written_inline) {
        return Ok(appended(text, spot, fields));
    }
    let missing = || FormatError::Unfit(format!("'{}' in it is no table", spot.container));
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
fn appended(text: &str, spot: Spot, fields: Fields) -> String {
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
    edited.push_str(&format!("[{}.{}]{end}", spot.container, spot.name));
    for (key, value) in fields {
        edited.push_str(&format!("{key} = {}{end}", plain(value)));
    }
    edited
}

fn change(entry: &mut dyn TableLike, fields: Fields) {
    for (key, value) in fields {
        match entry.get_mut(key).and_then(Item::as_value_mut) {
            Some(there) if value.is(&value_of(there)) => {}
            Some(there) => {
                let decor = there.decor().clone();
                *there = plain(value);
                *there.decor_mut() = decor;
            }
            None => {
                entry.insert(key, Item::Value(plain(value)));
            }
        }
    }
}

fn plain(value: &Value) -> toml_edit::Value {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::List(list) => list.iter().map(String::as_str).collect::<Array>().into(),
        Value::Number(number) => i64::from(*number).into(),
        Value::Yes => true.into(),
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
