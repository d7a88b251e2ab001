//! Editing settings so that all that is not ours stays as it is, byte for byte, comments included.
//!
//! Each format knows how to read a text and how to put in, change and take out one entry. What it gives is read again
//! and compared here before anybody writes it: an edit that touched anything else is refused.

mod json;
mod setting;
mod toml;
mod yaml;

use thiserror::Error;

pub(crate) use self::setting::{Setting, SettingValue};

/// How settings are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// JSON to the letter.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    Toml,
    Yaml,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryValue {
    Text(String),
    List(Vec<String>),
    Number(u32),
    Yes,
    No,
    /// Names and what they are set to, such as headers.
    Pairs(Vec<(&'static str, String)>),
}

/// The fields of an entry, in order.
pub(crate) type EntryFields<'a> = &'a [(&'static str, EntryValue)];

/// Where an entry stands.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) container: &'a str,
    pub(crate) name: &'a str,
}

/// Why settings are left alone.
#[derive(Debug, Error)]
pub(crate) enum FormatError {
    #[error("line {line}, column {column}: {what}")]
    Malformed { line: usize, column: usize, what: String },
    #[error("{0}")]
    Unfit(String),
}

/// What happens to the entry.
pub(crate) enum Edit<'a> {
    /// It is not there yet.
    Insert(EntryFields<'a>),
    /// These of its fields change.
    Change(EntryFields<'a>),
    Remove,
}

impl FileFormat {
    /// What the text says.
    pub(crate) fn read(self, text: &str) -> Result<serde_json::Value, FormatError> {
        match self {
            Self::Json => json::read(text),
            Self::Jsonc => json::read_with_comments(text),
            Self::Toml => toml::read(text),
            Self::Yaml => yaml::read(text),
        }
    }

    /// The text with one entry put in, changed or taken out, and nothing else touched.
    pub(crate) fn edit(self, text: &str, spot: Spot, edit: &Edit) -> Result<String, FormatError> {
        let before = self.read(text)?;
        let edited = match self {
            Self::Json | Self::Jsonc => json::edit(text, spot, edit),
            Self::Toml => toml::edit(text, spot, edit),
            Self::Yaml => yaml::edit(text, spot, edit),
        }?;
        let unsafe_edit = || {
            FormatError::Unfit(format!(
                "it is written in a way that cannot be edited safely; edit '{}' in it by hand",
                spot.container
            ))
        };
        let after = self.read(&edited).map_err(|_| unsafe_edit())?;
        let (others_before, _) = split(before, spot);
        let (others_after, ours) = split(after, spot);
        let as_wanted = match edit {
            Edit::Insert(fields) | Edit::Change(fields) => {
                ours.is_some_and(|ours| fields.iter().all(|(key, value)| value.is(&ours[*key])))
            }
            Edit::Remove => ours.is_none(),
        };
        if others_before == others_after && as_wanted { Ok(edited) } else { Err(unsafe_edit()) }
    }
}

impl EntryValue {
    fn is(&self, read: &serde_json::Value) -> bool {
        match self {
            Self::Text(text) => read.as_str() == Some(text),
            Self::List(list) => read.as_array().is_some_and(|read| {
                read.iter().map(serde_json::Value::as_str).eq(list.iter().map(|one| Some(one.as_str())))
            }),
            // YAML is read without a schema, so numbers and yes are text there.
            Self::Number(number) => read == *number || read.as_str() == Some(&number.to_string()),
            Self::Yes => read == true || read == "true",
            Self::No => read == false || read == "false",
            Self::Pairs(pairs) => read.as_object().is_some_and(|read| {
                read.len() == pairs.len()
                    && pairs.iter().all(|(key, value)| read.get(*key).is_some_and(|one| one == value))
            }),
        }
    }
}

/// The settings without our entry, and our entry. A container that holds nothing is as good as none.
fn split(mut all: serde_json::Value, spot: Spot) -> (serde_json::Value, Option<serde_json::Value>) {
    let Some(root) = all.as_object_mut() else {
        return (serde_json::json!({}), None);
    };
    let container = root.get_mut(spot.container);
    let ours = container.and_then(|container| container.as_object_mut()?.remove(spot.name));
    let empty = |value: &serde_json::Value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    if root.get(spot.container).is_some_and(empty) {
        root.remove(spot.container);
    }
    (all, ours)
}

/// The line and column, from 1, of a byte in a text.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// How lines end in this text.
fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPOT: Spot = Spot { container: "servers", name: "chiton" };
    /// Texts that mutations start from.
    const SEEDS: [(FileFormat, &str); 7] = [
        (
            FileFormat::Json,
            "{\n  \"a\": [1, \"\u{e4}\"],\n  \"servers\": {\"x\": {}, \"chiton\": {\"command\": \"y\"}}\n}\n",
        ),
        (FileFormat::Jsonc, "// \u{e4}\n{\n  \"servers\": {\n    \"x\": {}, /* b */\n    // c\n  },\n}\n"),
        (FileFormat::Jsonc, "{\"servers\": {\"chiton\": {\"args\": [] /* x */}}}"),
        (
            FileFormat::Toml,
            "# \u{e4}\na = 1 # b\n[servers.x]\nc = [\n 1, # d\n]\n# e\n[servers.chiton]\ncommand = 'y'\n",
        ),
        (FileFormat::Toml, "servers = { x = { a = 1 } } # b\n"),
        (
            FileFormat::Yaml,
            "# \u{e4}\na: b # c\nservers:\n  # d\n  x:\n    - 'e' # f\n  chiton: {command: y, args: [z]}\ng: |\n  h\n",
        ),
        (FileFormat::Yaml, "servers: {x: {a: \u{e4}}} # b\n"),
    ];
    const PIECES: [&str; 22] = [
        "", "{", "}", "[", "]", ":", ",", "#", "\"", "'", "\n", " ", "-", "&a ", "*a", "!", "|", ">", "=", "//",
        "\u{fc}", "\t",
    ];

    fn fields() -> Vec<(&'static str, EntryValue)> {
        vec![
            ("command", EntryValue::Text("/bin/chiton \u{fc} \"'\\".into())),
            ("args", EntryValue::List(vec!["mcp".into(), "# no: comment".into()])),
        ]
    }

    /// Everything in a text but what lays it out and what an empty container is written with.
    fn substance(text: &str) -> String {
        let text = text.replace("{}", "").replace("null", "").replace('~', "");
        text.chars().filter(|one| !one.is_whitespace() && !",{}".contains(*one)).collect()
    }

    fn contains_in_order(all: &str, part: &str) -> bool {
        let mut rest = all.chars();
        part.chars().all(|wanted| rest.any(|one| one == wanted))
    }

    /// A piece put in, or put over a letter, at every place: hundreds of broken and strange texts for each format.
    #[test]
    fn no_text_breaks_an_edit_and_none_loses_a_letter() {
        let fields = fields();
        let (mut edited, mut refused) = (0, 0);
        for (format, seed) in SEEDS {
            for (place, letter) in seed.char_indices() {
                for piece in PIECES {
                    for width in [0, letter.len_utf8()] {
                        let text = format!("{}{piece}{}", &seed[..place], &seed[place + width..]);
                        for edit in [Edit::Insert(&fields), Edit::Change(&fields), Edit::Remove] {
                            let Ok(after) = format.edit(&text, SPOT, &edit) else {
                                refused += 1;
                                continue;
                            };
                            edited += 1;
                            if let Edit::Insert(_) = edit {
                                assert!(
                                    contains_in_order(&substance(&after), &substance(&text)),
                                    "{text}\n->\n{after}"
                                );
                            }
                        }
                    }
                }
            }
        }
        assert!(edited > 5000 && refused > 5000, "{edited} edited, {refused} refused: both have to be tried");
    }

    /// The same for the settings beside the entry: what an edit gives is compared, so here only nothing may break.
    #[test]
    fn no_text_breaks_a_setting_and_what_is_put_in_can_be_taken_back() {
        let path = |keys: [&str; 2]| keys.map(str::to_owned).to_vec();
        let settings = [
            Setting { path: path(["servers", "x"]), value: SettingValue::No },
            Setting { path: path(["a", "b"]), value: SettingValue::Text("\u{fc}\"".into()) },
            Setting { path: vec!["a".into()], value: SettingValue::Items(vec!["\u{e4}".into(), "new".into()]) },
        ];
        let (mut put, mut refused) = (0, 0);
        for (format, seed) in SEEDS {
            for (place, letter) in seed.char_indices() {
                for piece in PIECES {
                    let text = format!("{}{piece}{}", &seed[..place], &seed[place + letter.len_utf8()..]);
                    for setting in &settings {
                        let Ok(after) = format.put(&text, setting) else {
                            refused += 1;
                            continue;
                        };
                        put += 1;
                        let before = format.read(&text).expect("it was edited");
                        assert!(format.has(&after, setting).expect("it was edited"), "{text}\n->\n{after}");
                        let now = format.read(&after).expect("it was edited");
                        if let Some(ours) = setting.ours(&now, &before)
                            && let Ok(back) = format.take_back(&after, &ours, &before)
                        {
                            assert_eq!(format.read(&back).expect("it was edited"), before, "{after}\n->\n{back}");
                        }
                    }
                }
            }
        }
        assert!(put > 1000 && refused > 1000, "{put} put in, {refused} refused: both have to be tried");
    }
}
