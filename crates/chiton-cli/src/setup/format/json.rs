//! JSON, with and without comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::setting::{at, missing};
use super::{Edit, EntryFields, EntryValue, FormatError, Setting, SettingValue, Spot};

/// JSON to the letter: no comments, no trailing commas.
pub(super) fn read(text: &str) -> Result<Value, FormatError> {
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
pub(super) fn read_with_comments(text: &str) -> Result<Value, FormatError> {
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

fn object_only(value: Value) -> Result<Value, FormatError> {
    if value.is_object() { Ok(value) } else { Err(FormatError::Unfit("it does not hold an object".to_owned())) }
}

fn parse(text: &str) -> Result<CstRootNode, FormatError> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| FormatError::Unfit(error.kind().to_string()))
}

pub(super) fn edit(text: &str, spot: Spot, edit: &Edit) -> Result<String, FormatError> {
    let root = parse(text)?;
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
    Ok(written(&root, text))
}

/// A new text ends with a newline.
fn written(root: &CstRootNode, before: &str) -> String {
    let mut edited = root.to_string();
    if before.trim().is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    edited
}

/// Puts a setting where it belongs, and makes the objects on the way.
pub(super) fn put(text: &str, setting: &Setting) -> Result<String, FormatError> {
    let root = parse(text)?;
    let (key, way) = setting.split();
    let no_object = |key: &str| FormatError::Unfit(format!("'{key}' in it is not an object"));
    let mut object = root.object_value_or_create().ok_or_else(|| no_object("the whole"))?;
    for step in way {
        object = object.object_value_or_create(step).ok_or_else(|| no_object(step))?;
    }

    match (&setting.value, object.get(key)) {
        (SettingValue::Items(items), Some(there)) => {
            let list = there.array_value();
            let list = list.ok_or_else(|| FormatError::Unfit(format!("'{key}' in it is not a list")))?;
            let there: Vec<Value> = list.elements().iter().filter_map(CstNode::to_serde_value).collect();
            for item in missing(&there, items) {
                list.append(item.into());
            }
        }
        (value, Some(there)) => there.set_value(from_json(&value.to_json())),
        (value, None) => {
            object.append(key, from_json(&value.to_json()));
        }
    }
    Ok(written(&root, text))
}

/// Puts back what stood there before us; objects that were not there before go where they hold nothing any more.
pub(super) fn take_back(text: &str, setting: &Setting, before: &Value) -> Result<String, FormatError> {
    let root = parse(text)?;
    let (key, way) = setting.split();
    let mut object = root.object_value();
    let mut passed: Vec<CstObjectProp> = Vec::new();
    for step in way {
        let next = object.as_ref().and_then(|object| object.get(step));
        object = next.as_ref().and_then(CstObjectProp::object_value);
        passed.extend(next);
    }

    if let Some(there) = object.and_then(|object| object.get(key)) {
        match (&setting.value, at(before, &setting.path)) {
            (SettingValue::Items(items), was) => {
                let is_ours = |node: &CstNode| {
                    node.to_serde_value().is_some_and(|value| items.iter().any(|item| value == item.as_str()))
                };
                let list = there.array_value();
                let elements = list.as_ref().map(CstArray::elements).unwrap_or_default();
                elements.into_iter().filter(is_ours).for_each(CstNode::remove);
                if was.is_none() && list.is_some_and(|list| list.elements().is_empty()) {
                    there.remove();
                }
            }
            (_, Some(was)) => there.set_value(from_json(was)),
            (_, None) => there.remove(),
        }
    }
    for (depth, property) in passed.into_iter().enumerate().rev() {
        let is_empty = property.object_value().is_some_and(|object| object.properties().is_empty());
        if is_empty && at(before, &setting.path[..=depth]).is_none() {
            property.remove();
        }
    }
    Ok(root.to_string())
}

fn from_json(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => CstInputValue::Array(list.iter().map(from_json).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), from_json(value))).collect())
        }
    }
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
        EntryValue::No => false.into(),
        EntryValue::Pairs(pairs) => {
            CstInputValue::Object(pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().into())).collect())
        }
    }
}
