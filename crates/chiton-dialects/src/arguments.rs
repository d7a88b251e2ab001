//! Reading the arguments of a call, with errors that a model can repair from.

use std::collections::BTreeMap;
use std::time::Duration;

use chiton_engine::ByteString;
use chiton_engine::limits::LONGEST;
use serde_json::{Map, Value};

use crate::call_error::CallError;

/// The arguments of one call.
#[derive(Debug)]
pub struct Arguments<'a> {
    values: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    /// The arguments, none of which may be outside `known`.
    pub fn new(values: &'a Map<String, Value>, known: &[&str]) -> Result<Self, CallError> {
        if let Some(name) = values.keys().find(|name| !known.contains(&name.as_str())) {
            let known = known.iter().map(|name| (*name).to_owned()).collect();
            return Err(CallError::Unknown { name: short(name), known, nearest: None });
        }
        Ok(Self { values })
    }

    /// A call has few arguments, and a tool may have many parameters: comparing takes less time than hashing each name.
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value).filter(|value| !value.is_null())
    }

    /// A string, where it is given.
    pub fn text(&self, name: &'static str) -> Result<Option<String>, CallError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong(name, "string", other)),
        }
    }

    /// A string that has to be there and say something.
    pub fn required(&self, name: &'static str) -> Result<String, CallError> {
        let text = self.text(name)?.ok_or(CallError::Missing(name))?;
        if text.trim().is_empty() {
            return Err(CallError::BadValue { name, problem: "cannot be empty".to_owned() });
        }
        Ok(text)
    }

    /// A whole number that is not negative; written as text it is read as well.
    pub fn number(&self, name: &'static str) -> Result<Option<u64>, CallError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let read = match value {
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        read.map(Some).ok_or_else(|| wrong(name, "a whole number, not negative", value))
    }

    /// A time in milliseconds.
    pub fn millis(&self, name: &'static str) -> Result<Option<Duration>, CallError> {
        match self.number(name)?.map(Duration::from_millis) {
            Some(time) if time > LONGEST => {
                let problem = format!("is at most {} milliseconds", LONGEST.as_millis());
                Err(CallError::BadValue { name, problem })
            }
            time => Ok(time),
        }
    }

    /// One of these words, where it is given.
    pub fn choice(&self, name: &'static str, words: &[&'static str]) -> Result<Option<&'static str>, CallError> {
        let Some(given) = self.text(name)? else { return Ok(None) };
        if let Some(word) = words.iter().find(|word| **word == given) {
            return Ok(Some(word));
        }
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let (last, first) = words.split_last().map_or(("", [].as_slice()), |(last, first)| (last, first));
        let problem = format!("is {} or {last}, not '{}'", first.join(", "), short(&given));
        Err(CallError::BadValue { name, problem })
    }

    /// Strings in a list, where they are given.
    pub fn list(&self, name: &'static str) -> Result<Option<Vec<String>>, CallError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let texts =
            value.as_array().and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.map(Some).ok_or_else(|| wrong(name, "array of strings", value))
    }

    /// Variables by name, where they are given: an object of strings, or a list of `NAME=VALUE`.
    pub fn variables(&self, name: &'static str) -> Result<BTreeMap<String, ByteString>, CallError> {
        Ok(self.map(name)?.into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    /// A truth value; written as text it is read as well.
    pub fn flag(&self, name: &'static str) -> Result<bool, CallError> {
        self.switch(name).map(Option::unwrap_or_default)
    }

    /// A truth value, where it is given.
    pub fn switch(&self, name: &'static str) -> Result<Option<bool>, CallError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(Some(text == "true")),
            Some(other) => Err(wrong(name, "boolean", other)),
        }
    }

    fn map(&self, name: &'static str) -> Result<Vec<(String, String)>, CallError> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        if let Value::Array(items) = value {
            let pair = |item: &Value| item.as_str().and_then(|text| text.split_once('=')).map(own);
            let pairs: Option<Vec<(String, String)>> = items.iter().map(pair).collect();
            return pairs.ok_or_else(|| wrong(name, "object of strings, or a list of NAME=VALUE", value));
        }
        let Value::Object(entries) = value else { return Err(wrong(name, "object of strings", value)) };
        entries
            .iter()
            .map(|(key, value)| match value {
                Value::String(text) => Ok((key.clone(), text.clone())),
                Value::Number(number) => Ok((key.clone(), number.to_string())),
                Value::Bool(flag) => Ok((key.clone(), flag.to_string())),
                other => Err(wrong(name, "object of strings", other)),
            })
            .collect()
    }
}

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn whole(number: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range")]
    (number.fract() == 0.0 && (0.0..9.0e15).contains(&number)).then_some(number as u64)
}

/// As much of a text as an error needs to show which one is meant.
pub fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn wrong(name: &'static str, expected: &'static str, value: &Value) -> CallError {
    let got = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(number) => format!("number {number}"),
        Value::String(text) => format!("string '{}'", short(text)),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    CallError::WrongType { name, expected, got }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_read_or_named() {
        let values = json!({"a": "x", "n": "5000", "m": 7.0, "f": "true", "bad": [1]});
        let values = values.as_object().unwrap();
        let known = ["a", "n", "m", "f", "bad"];
        let arguments = Arguments::new(values, &known).unwrap();
        assert_eq!(arguments.required("a").unwrap(), "x");
        assert_eq!(arguments.number("n").unwrap(), Some(5000), "numbers as strings are read");
        assert_eq!(arguments.number("m").unwrap(), Some(7));
        assert!(arguments.flag("f").unwrap());
        assert_eq!(arguments.required("z"), Err(CallError::Missing("z")));
        assert_eq!(
            arguments.number("bad").unwrap_err().to_string(),
            "Invalid type for 'bad': expected a whole number, not negative, got array"
        );
        let error = Arguments::new(values, &["a"]).unwrap_err().to_string();
        assert!(error.contains("unknown parameter") && error.contains("the parameters are: a"), "{error}");
        for variables in [json!({"A": "b=c", "N": 5}), json!(["A=b=c", "N=5"])] {
            let values = json!({"env": variables});
            let read = Arguments::new(values.as_object().unwrap(), &["env"]).unwrap().variables("env").unwrap();
            assert_eq!(read, [("A".to_owned(), "b=c".into()), ("N".to_owned(), "5".into())].into());
        }
        let values = json!({"env": ["A"]});
        assert!(Arguments::new(values.as_object().unwrap(), &["env"]).unwrap().variables("env").is_err());
        let negative = json!({"n": -1});
        assert!(Arguments::new(negative.as_object().unwrap(), &["n"]).unwrap().number("n").is_err());
    }
}
