//! The strings of a JSON text, by their names: enough to find the command in the arguments of a tool.

/// A string in a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonString {
    /// The name of the object or list that it is in; empty at the top.
    pub(super) parent: String,
    /// Its own name; in a list, that of the list.
    pub(super) name: String,
    pub(super) value: String,
}

/// All strings of `text` that are values; none if it is not JSON as far as anybody can see.
pub(super) fn strings(text: &str) -> Option<Vec<JsonString>> {
    let mut found = Vec::new();
    // The names of the objects and lists around, and the name that the next value has.
    let mut around: Vec<String> = Vec::new();
    let mut name = String::new();
    let mut characters = text.char_indices().peekable();
    if !text.trim_start().starts_with(['{', '[', '"']) {
        return None;
    }

    while let Some((_, character)) = characters.next() {
        match character {
            '{' | '[' => around.push(name.clone()),
            '}' | ']' => name = around.pop()?,
            '"' => {
                let value = string(&mut characters)?;
                while characters.next_if(|(_, next)| next.is_whitespace()).is_some() {}
                if characters.next_if(|(_, next)| *next == ':').is_some() {
                    name = value;
                } else {
                    let parent = around.last().cloned().unwrap_or_default();
                    found.push(JsonString { parent, name: name.clone(), value });
                }
            }
            _ => {}
        }
    }
    around.is_empty().then_some(found)
}

/// A string behind its opening quote.
fn string(characters: &mut impl Iterator<Item = (usize, char)>) -> Option<String> {
    let mut value = String::new();
    loop {
        match characters.next()?.1 {
            '"' => return Some(value),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                'b' | 'f' => value.push(' '),
                'u' => {
                    let digits: String = characters.by_ref().take(4).map(|(_, digit)| digit).collect();
                    let code = u32::from_str_radix(&digits, 16).ok()?;
                    value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonString, strings};

    #[test]
    fn finds_strings_by_their_names() {
        let text = r#"{"command": "echo \"\u0061\"", "n": [1, "x"], "env": {"A": "b"}, "t": true}"#;
        let string = |parent: &str, name: &str, value: &str| JsonString {
            parent: parent.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let expected = vec![string("", "command", "echo \"a\""), string("n", "n", "x"), string("env", "A", "b")];
        assert_eq!(strings(text), Some(expected));
        assert_eq!(strings("rm -rf /"), None);
        assert_eq!(strings(r#"{"command": "x"#), None);
    }
}
