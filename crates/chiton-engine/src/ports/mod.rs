//! Ports by name: `{{port:NAME}}` in a command becomes a number, the same one for that name in that session.
//!
//! 1. [`reference`] finds the names in the command, its input and its variables.
//! 2. [`PortBook`] has a file for each port that was given out, which says to whom. Several engines may use one book.
//! 3. [`free`] says which numbers are given out at all, and whether nobody uses one of them.
//!
//! A number stands in the text before anybody judges it, so the guard, the records and the journal have what really runs.

mod book;
mod free;
mod reference;

use std::collections::{BTreeMap, BTreeSet};

use crate::bytes::ByteString;
use crate::error::PortError;
use crate::request::{CommandInput, CommandRequest, EnvironmentChange};
pub(crate) use book::{HeldPort, PortBook};

/// Numbers by name.
pub(crate) type PortNumbers = BTreeMap<String, u16>;

/// What becomes of a reference whose name is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadName {
    /// It is an error.
    Refused,
    /// It stays the text it is.
    Kept,
}

/// Every name in the fields in which ports are named.
pub(crate) fn names_in(request: &CommandRequest, bad: BadName) -> Result<BTreeSet<String>, PortError> {
    let input = if let CommandInput::Text(text) = &request.input { &text[..] } else { b"" };
    let variables = request.environment.variables().values().map(|value| &value[..]);
    let mut names = BTreeSet::new();
    for text in [&request.command[..], input].into_iter().chain(variables) {
        names.append(&mut names_in_text(text, bad)?);
    }
    Ok(names)
}

/// Every name in a text.
pub(crate) fn names_in_text(text: &[u8], bad: BadName) -> Result<BTreeSet<String>, PortError> {
    let mut names = BTreeSet::new();
    for (_, name) in reference::find(text) {
        match name {
            Ok(name) => drop(names.insert(name)),
            Err(name) if bad == BadName::Refused => return Err(PortError::BadName(name)),
            Err(_) => {}
        }
    }
    Ok(names)
}

/// Puts the numbers in the places of their names.
pub(crate) fn insert(request: &mut CommandRequest, numbers: &PortNumbers) {
    insert_into(&mut request.command, numbers);
    if let CommandInput::Text(text) = &mut request.input {
        insert_into(text, numbers);
    }
    let (EnvironmentChange::Merge(variables) | EnvironmentChange::Replace(variables)) = &mut request.environment;
    for value in variables.values_mut() {
        insert_into(value, numbers);
    }
}

/// The same in one text.
pub(crate) fn insert_into(text: &mut ByteString, numbers: &PortNumbers) {
    let mut changed = Vec::new();
    let mut end = 0;
    for (range, name) in reference::find(text) {
        let Some(number) = name.ok().and_then(|name| numbers.get(&name)) else { continue };
        changed.extend_from_slice(&text[end..range.start]);
        changed.extend_from_slice(number.to_string().as_bytes());
        end = range.end;
    }
    if end > 0 {
        changed.extend_from_slice(&text[end..]);
        *text = changed.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_names_stood_in_every_field() {
        let mut request =
            CommandRequest::new("serve {{port:web}} --admin={{port:admin}} '{{port:web}}' {{port:other}}");
        request.input = CommandInput::Text("{{port:web}}\n".into());
        request.environment = EnvironmentChange::Merge(BTreeMap::from([("PORT".to_owned(), "{{port:web}}".into())]));
        let names = names_in(&request, BadName::Refused).unwrap();
        assert_eq!(names, BTreeSet::from(["admin", "other", "web"].map(str::to_owned)));

        let numbers = PortNumbers::from([("web".to_owned(), 20_001), ("admin".to_owned(), 20_002)]);
        insert(&mut request, &numbers);
        assert_eq!(request.command.to_text(), "serve 20001 --admin=20002 '20001' {{port:other}}");
        assert_eq!(request.environment.variables()["PORT"].to_text(), "20001");
        assert!(matches!(&request.input, CommandInput::Text(text) if text.to_text() == "20001\n"));
    }

    #[test]
    fn a_bad_name_is_an_error_or_stays_text() {
        let request = CommandRequest::new("echo {{port:8080}}");
        let error = names_in(&request, BadName::Refused).unwrap_err().to_string();
        assert!(error.contains("'8080'") && error.contains("Nothing was started"), "{error}");
        assert!(names_in(&request, BadName::Kept).unwrap().is_empty());
    }
}
