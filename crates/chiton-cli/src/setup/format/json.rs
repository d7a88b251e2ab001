//! JSON, with and without comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};

use super::{Edit, EntryFields, EntryValue, FormatError, Spot};

/// JSON to the letter: no comments, no trailing commas.
pub(super) fn read(text: &str) -> Result<serde_json::Value, FormatError> {
    if text.trim().is_empty() {
        return Ok(serde_json::json!({}));
    }
    let value = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let what = error.to_string().replace(&format!(" at line {line} column {column}"), "");
        FormatError::Malformed { line, column, what }
    })?;
    object_only(value)
}

/// JSON with comments and trailing commas.
pub(super) fn read_with_comments(text: &str) -> Result<serde_json::Value, FormatError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let root = CstRootNode::parse(text, &options).map_err(|error| FormatError::Malformed {
        line: error.line_display(),
        column: error.column_display(),
        what: error.kind().to_string(),
    })?;
    object_only(root.to_serde_value().unwrap_or_else(|| serde_json::json!({})))
}

fn object_only(value: serde_json::Value) -> Result<serde_json::Value, FormatError> {
    if value.is_object() { Ok(value) } else { Err(FormatError::Unfit("it does not hold an object".to_owned())) }
}

pub(super) fn edit(text: &str, spot: Spot, edit: &Edit) -> Result<String, FormatError> {
    let root = CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| FormatError::Unfit(error.kind().to_string()))?;
    let no_object = |key: &str| FormatError::Unfit(format!("'{key}' in it is not an object"));
    let top = root.object_value_or_create().ok_or_else(|| no_object("the whole"))?;
    match edit {
        Edit::Insert(fields) => {
            let container = top.object_value_or_create(spot.container).ok_or_else(|| no_object(spot.container))?;
            container.append(spot.name, object(fields));
        }
        Edit::Change(fields) => {
            let entry = top.object_value(spot.container).and_then(|container| container.object_value(spot.name));
            change(&entry.ok_or_else(|| no_object(spot.name))?, fields);
        }
        Edit::Remove => {
            if let Some(entry) = top.object_value(spot.container).and_then(|container| container.get(spot.name)) {
                entry.remove();
            }
        }
    }
    let mut edited = root.to_string();
    if text.trim().is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    Ok(edited)
}

fn change(entry: &CstObject, fields: EntryFields) {
    for (key, value) in fields {
        match entry.get(key) {
            Some(field) if field.to_serde_value().is_some_and(|there| value.is(&there)) => {}
            Some(field) => field.set_value(input(value)),
            None => {
                entry.append(key, input(value));
            }
        }
    }
}

fn object(fields: EntryFields) -> CstInputValue {
    CstInputValue::Object(fields.iter().map(|(key, value)| ((*key).to_owned(), input(value))).collect())
}

fn input(value: &EntryValue) -> CstInputValue {
    match value {
        EntryValue::Text(text) => text.as_str().into(),
        EntryValue::List(list) => CstInputValue::Array(list.iter().map(|one| one.as_str().into()).collect()),
        EntryValue::Number(number) => CstInputValue::Number(number.to_string()),
        EntryValue::Yes => true.into(),
    }
}
