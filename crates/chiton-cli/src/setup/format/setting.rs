//! Settings beside the entry: a value somewhere in a file, or items of a list there.
//!
//! What an edit should lead to is worked out on the value that was read; the text that an edit gives has to say just
//! that, or it is refused.

use serde_json::{Map, Value, json};

use super::{FileFormat, FormatError, json, toml};

/// A setting of a client, and what we want to stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) path: Vec<String>,
    pub(crate) value: SettingValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingValue {
    /// These items, among others.
    Items(Vec<String>),
    Text(String),
    No,
}

impl Setting {
    /// The key itself, and the way to it.
    pub(super) fn split(&self) -> (&str, &[String]) {
        self.path.split_last().map_or(("", &[]), |(last, way)| (last.as_str(), way))
    }

    /// The setting as people write it.
    pub(crate) fn name(&self) -> String {
        self.path.join(".")
    }

    /// What of this a file says that did not say it `before`: what is ours.
    pub(crate) fn ours(&self, now: &Value, before: &Value) -> Option<Self> {
        let (there, was) = (at(now, &self.path), at(before, &self.path));
        let value = match &self.value {
            SettingValue::Items(items) => {
                let ours = items.iter().filter(|item| has_item(there, item) && !has_item(was, item));
                SettingValue::Items(ours.cloned().collect())
            }
            single => {
                (there == Some(&single.to_json()) && was != there).then(|| single.clone())?;
                single.clone()
            }
        };
        (value != SettingValue::Items(Vec::new())).then(|| Self { path: self.path.clone(), value })
    }

    fn is_in(&self, all: &Value) -> bool {
        let there = at(all, &self.path);
        match &self.value {
            SettingValue::Items(items) => items.iter().all(|item| has_item(there, item)),
            single => there == Some(&single.to_json()),
        }
    }
}

impl SettingValue {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Items(items) => json!(items),
            Self::Text(text) => json!(text),
            Self::No => json!(false),
        }
    }
}

impl FileFormat {
    /// Whether a text has a setting as we want it.
    pub(crate) fn has(self, text: &str, setting: &Setting) -> Result<bool, FormatError> {
        Ok(setting.is_in(&self.read(text)?))
    }

    /// The text with a setting as we want it, and nothing else touched.
    pub(crate) fn put(self, text: &str, setting: &Setting) -> Result<String, FormatError> {
        let mut wanted = self.read(text)?;
        put(&mut wanted, setting)?;
        let edited = match self {
            Self::Json | Self::Jsonc => json::put(text, setting),
            Self::Toml => toml::put(text, setting),
            Self::Yaml => Err(unsafe_edit(setting)),
        }?;
        self.compare(edited, &wanted, setting)
    }

    /// The text with what stood there `before` us in the place of a setting of ours.
    pub(crate) fn take_back(self, text: &str, setting: &Setting, before: &Value) -> Result<String, FormatError> {
        let mut wanted = self.read(text)?;
        take_back(&mut wanted, setting, before);
        let edited = match self {
            Self::Json | Self::Jsonc => json::take_back(text, setting, before),
            Self::Toml => toml::take_back(text, setting, before),
            Self::Yaml => Err(unsafe_edit(setting)),
        }?;
        self.compare(edited, &wanted, setting)
    }

    fn compare(self, edited: String, wanted: &Value, setting: &Setting) -> Result<String, FormatError> {
        match self.read(&edited) {
            Ok(after) if after == *wanted => Ok(edited),
            _ => Err(unsafe_edit(setting)),
        }
    }
}

fn unsafe_edit(setting: &Setting) -> FormatError {
    FormatError::Unfit(format!(
        "it is written in a way that cannot be edited safely; edit '{}' in it by hand",
        setting.name()
    ))
}

/// What stands at the end of a way.
pub(super) fn at<'a>(all: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(all, |value, key| value.get(key))
}

fn has_item(list: Option<&Value>, item: &str) -> bool {
    list.and_then(Value::as_array).is_some_and(|list| list.iter().any(|one| one == item))
}

fn put(all: &mut Value, setting: &Setting) -> Result<(), FormatError> {
    let (key, way) = setting.split();
    let unfit = |key: &str, what: &str| FormatError::Unfit(format!("'{key}' in it is not {what}"));
    let mut object = all;
    for step in way {
        let below = object.as_object_mut().ok_or_else(|| unfit(step, "in an object"))?;
        object = below.entry(step.as_str()).or_insert_with(|| json!({}));
        if !object.is_object() {
            return Err(unfit(step, "an object"));
        }
    }
    let object = object.as_object_mut().ok_or_else(|| unfit(key, "in an object"))?;
    match (&setting.value, object.get_mut(key)) {
        (SettingValue::Items(items), Some(there)) => {
            let list = there.as_array_mut().ok_or_else(|| unfit(key, "a list"))?;
            list.extend(missing(list, items).into_iter().map(Value::from).collect::<Vec<_>>());
        }
        (value, _) => {
            object.insert(key.to_owned(), value.to_json());
        }
    }
    Ok(())
}

/// Those items that a list does not have yet.
pub(super) fn missing<'a>(list: &[Value], items: &'a [String]) -> Vec<&'a str> {
    items.iter().filter(|item| !list.iter().any(|one| one == item.as_str())).map(String::as_str).collect()
}

fn take_back(all: &mut Value, setting: &Setting, before: &Value) {
    let (key, way) = setting.split();
    let mut object = Some(&mut *all);
    for step in way {
        object = object.and_then(|object| object.get_mut(step));
    }
    let Some(object) = object.and_then(Value::as_object_mut) else { return };
    match (&setting.value, at(before, &setting.path)) {
        (SettingValue::Items(items), was) => {
            if let Some(list) = object.get_mut(key).and_then(Value::as_array_mut) {
                list.retain(|one| !items.iter().any(|item| one == item));
                if list.is_empty() && was.is_none() {
                    object.remove(key);
                }
            }
        }
        (_, Some(was)) => {
            object.insert(key.to_owned(), was.clone());
        }
        (_, None) => {
            object.remove(key);
        }
    }
    for length in (1..setting.path.len()).rev() {
        prune(all, &setting.path[..length], before);
    }
}

/// Removes an object that holds nothing, unless it was there before us.
fn prune(all: &mut Value, path: &[String], before: &Value) {
    let Some((key, way)) = path.split_last() else { return };
    let holds_nothing = at(all, path).and_then(Value::as_object).is_some_and(Map::is_empty);
    if holds_nothing && at(before, path).is_none() {
        let parent = way.iter().try_fold(all, |value, key| value.get_mut(key));
        if let Some(parent) = parent.and_then(Value::as_object_mut) {
            parent.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(path: &[&str], items: &[&str]) -> Setting {
        let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
        Setting { path: owned(path), value: SettingValue::Items(owned(items)) }
    }

    fn single(path: &[&str], value: SettingValue) -> Setting {
        Setting { path: path.iter().map(|key| (*key).to_owned()).collect(), value }
    }

    /// A text, and the same with `permissions.deny` holding `Bash`.
    const LISTS: [(&str, &str); 8] = [
        ("", "{\n  \"permissions\": {\n    \"deny\": [\"Bash\"]\n  }\n}\n"),
        ("{}", "{\n  \"permissions\": {\n    \"deny\": [\"Bash\"]\n  }\n}"),
        (
            "{\n  // mine\n  \"a\": 1\n}\n",
            "{\n  // mine\n  \"a\": 1,\n  \"permissions\": {\n    \"deny\": [\"Bash\"]\n  }\n}\n",
        ),
        (
            "{\n  \"permissions\": {\n    \"allow\": [\"x\"] // why\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"allow\": [\"x\"], // why\n    \"deny\": [\"Bash\"]\n  }\n}\n",
        ),
        ("{\"permissions\": {\"deny\": [\"x\"]}}", "{\"permissions\": {\"deny\": [\"x\", \"Bash\"]}}"),
        ("{\"permissions\": {\"deny\": []}}", "{\"permissions\": {\"deny\": [\"Bash\"]}}"),
        (
            "{\n\t\"permissions\": {\n\t\t\"deny\": [\n\t\t\t\"x\", // one\n\t\t\t\"y\"\n\t\t]\n\t}\n}\n",
            "{\n\t\"permissions\": {\n\t\t\"deny\": [\n\t\t\t\"x\", // one\n\t\t\t\"y\",\n\t\t\t\"Bash\"\n\t\t]\n\t}\n}\n",
        ),
        ("{\"permissions\": {\"deny\": [\"Bash\", \"x\"]}}", "{\"permissions\": {\"deny\": [\"Bash\", \"x\"]}}"),
    ];

    #[test]
    fn an_item_joins_a_list_and_leaves_it_again() {
        let setting = items(&["permissions", "deny"], &["Bash"]);
        for (before, after) in LISTS {
            assert_eq!(FileFormat::Jsonc.put(before, &setting).expect(before), after);
            let (was, now) =
                (FileFormat::Jsonc.read(before).expect(before), FileFormat::Jsonc.read(after).expect(after));
            let Some(ours) = setting.ours(&now, &was) else {
                assert_eq!(was, now, "nothing is ours where nothing changed");
                continue;
            };
            let back = FileFormat::Jsonc.take_back(after, &ours, &was).expect(after);
            assert_eq!(FileFormat::Jsonc.read(&back).expect(&back), was, "{back}");
        }
    }

    /// A text, and the same with `features.shell_tool` switched off.
    const TABLES: [(&str, &str); 6] = [
        ("", "[features]\nshell_tool = false\n"),
        ("a = 1 # x\n", "a = 1 # x\n\n[features]\nshell_tool = false\n"),
        (
            "[features] # mine\ngoals = true # y\n\n[z]\n",
            "[features] # mine\ngoals = true # y\nshell_tool = false\n\n[z]\n",
        ),
        ("[features]\nshell_tool = true # on\n", "[features]\nshell_tool = false # on\n"),
        ("features.goals = true\n", "features.goals = true\nfeatures.shell_tool = false\n"),
        ("features = { goals = true }\n", "features = { goals = true , shell_tool = false }\n"),
    ];

    #[test]
    fn a_switch_is_turned_off_and_on_again() {
        let setting = single(&["features", "shell_tool"], SettingValue::No);
        for (before, after) in TABLES {
            assert_eq!(FileFormat::Toml.put(before, &setting).expect(before), after);
            let was = FileFormat::Toml.read(before).expect(before);
            let back = FileFormat::Toml.take_back(after, &setting, &was).expect(after);
            assert_eq!(FileFormat::Toml.read(&back).expect(&back), was, "{back}");
            assert!(back.contains('#') == before.contains('#'), "{back}");
        }
    }

    #[test]
    fn what_stood_there_before_comes_back() {
        let setting = single(&["permission", "bash"], SettingValue::Text("deny".into()));
        let before = "{\"permission\": {\"bash\": {\"git *\": \"allow\", \"*\": \"ask\"}}}";
        let after = FileFormat::Jsonc.put(before, &setting).expect(before);
        assert_eq!(after, "{\"permission\": {\"bash\": \"deny\"}}");
        let was = FileFormat::Jsonc.read(before).expect(before);
        let back = FileFormat::Jsonc.take_back(&after, &setting, &was).expect(&after);
        assert_eq!(FileFormat::Jsonc.read(&back).expect(&back), was);
    }

    #[test]
    fn what_is_not_an_object_or_a_list_is_left_alone() {
        let list = items(&["permissions", "deny"], &["Bash"]);
        for text in ["{\"permissions\": \"ask\"}", "{\"permissions\": {\"deny\": \"Bash\"}}", "[]"] {
            assert!(FileFormat::Jsonc.put(text, &list).is_err(), "{text}");
        }
        let switch = single(&["features", "shell_tool"], SettingValue::No);
        for text in ["features = 1\n", "[[features]]\nx = 1\n"] {
            assert!(FileFormat::Toml.put(text, &switch).is_err(), "{text}");
        }
    }
}
