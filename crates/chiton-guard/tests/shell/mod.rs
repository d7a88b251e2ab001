//! A shell for tests: names and what they mean, as maps.

#![allow(dead_code, reason = "each test uses its part")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use chiton_guard::{Held, Scope};

#[derive(Debug, Default)]
pub struct Shell {
    pub variables: BTreeMap<&'static str, &'static str>,
    pub functions: BTreeMap<&'static str, &'static str>,
    pub aliases: BTreeMap<&'static str, &'static str>,
}

impl Scope for Shell {
    fn variable(&self, name: &str) -> Option<Held<'_>> {
        self.variables.get(name).map(|value| Held::Scalar(Cow::Borrowed(value)))
    }

    fn function(&self, name: &str) -> Option<Cow<'_, str>> {
        self.functions.get(name).map(|text| Cow::Borrowed(*text))
    }

    fn alias(&self, name: &str) -> Option<Cow<'_, str>> {
        self.aliases.get(name).map(|text| Cow::Borrowed(*text))
    }
}
