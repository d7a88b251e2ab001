//! The state of a session as the guard sees it: what the names of its shell mean.

use std::borrow::Cow;

use chiton_guard::{Held, Scope};

use crate::state::{ShellState, Value};

impl Scope for ShellState {
    fn variable(&self, name: &str) -> Option<Held<'_>> {
        let variable = self.variables.get(name)?;

        Some(match &variable.value {
            Value::Unset => Held::Unset,
            Value::Scalar(value) if variable.is_reference() => Held::Reference(String::from_utf8_lossy(value)),
            Value::Scalar(value) => Held::Scalar(String::from_utf8_lossy(value)),
            Value::Indexed(items) => {
                Held::Array(items.iter().map(|(key, value)| (key.to_string(), value.to_text())).collect())
            }
            Value::Associative(items) => {
                Held::Array(items.iter().map(|(key, value)| (key.to_text(), value.to_text())).collect())
            }
        })
    }

    fn function(&self, name: &str) -> Option<Cow<'_, str>> {
        self.functions.get(name.as_bytes()).map(|function| String::from_utf8_lossy(&function.text))
    }

    fn alias(&self, name: &str) -> Option<Cow<'_, str>> {
        self.aliases.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value))
    }
}
