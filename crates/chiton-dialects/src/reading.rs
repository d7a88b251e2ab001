//! What a call brings, sorted by what its tool knows.
//!
//! Models leave names out, take them from other tools, and clients add some of their own. What is certain is understood,
//! what is not needed is ignored and named, and only what is missing is an error.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::arguments::short;
use crate::call_error::CallError;
use crate::ignored::Ignored;
use crate::tool::ToolSpec;

/// A parameter that a client adds to every tool, for itself.
const FOR_CLIENTS: [&str; 1] = ["wait_for_previous"];

/// What surfaces call the id of a command.
const IDS: [&str; 6] = ["bash_id", "shell_id", "task_id", "session_id", "run_id", "id"];

/// Names that other tools have for the same thing.
const SYNONYMS: [&[&str]; 7] = [
    &["command", "cmd", "script", "bash", "code", "commands"],
    &["workdir", "cwd", "dir", "directory", "dir_path", "working_directory", "path"],
    &["timeout", "timeout_ms", "timeout_secs", "timeout_seconds", "yield_time_ms", "max_time"],
    &["run_in_background", "is_background", "background", "detach", "mode"],
    &["stdin", "input", "text", "chars"],
    &["pty", "tty", "terminal"],
    &["env", "environment", "variables"],
];

/// The arguments that a tool knows, and those that it ignores.
pub type Sorted<'a> = (Cow<'a, Map<String, Value>>, Vec<Ignored>);

/// What a tool does with parameters that it does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// They are named and ignored, where everything that is needed is there.
    Ignored,
    /// They are an error.
    Refused,
}

/// The arguments that `tool` knows, under its own names, and those that it ignores.
///
/// # Errors
/// When something that is required is missing, or the tool refuses what it does not know.
pub fn sort_out<'a>(
    tool: &ToolSpec,
    values: &'a Map<String, Value>,
    unknown: Unknown,
) -> Result<Sorted<'a>, CallError> {
    if values.keys().all(|name| tool.has(name)) {
        return Ok((Cow::Borrowed(values), Vec::new()));
    }
    let mut known: Map<String, Value> = values.clone();
    known.retain(|name, _| tool.has(name));
    let mut ignored = Vec::new();
    for (name, value) in values.iter().filter(|(name, _)| !tool.has(name)) {
        match own_name(tool, name) {
            // A name that is there twice means what the tool's own one says.
            Some(own) => drop(known.entry(own).or_insert_with(|| value.clone())),
            // Null is what a client sends for what it leaves out.
            None if value.is_null() || FOR_CLIENTS.contains(&name.as_str()) => {}
            None => ignored.push(Ignored { name: short(name), tool: tool.name, nearest: nearest(tool, name) }),
        }
    }

    let is_given = |name: &&&str| known.get(**name).is_some_and(|value| !value.is_null());
    let missing = tool.required.iter().copied().find(|name| !is_given(&name));
    match (missing, ignored.first()) {
        (Some(missing), Some(first)) => {
            let meant = ignored.iter().find(|one| one.nearest == Some(missing)).unwrap_or(first);
            Err(CallError::MissingBeside { missing, given: short(&meant.name), nearest: meant.nearest })
        }
        (None, Some(first)) if unknown == Unknown::Refused => {
            let known = tool.names().into_iter().map(str::to_owned).collect();
            Err(CallError::Unknown { name: short(&first.name), known, nearest: first.nearest })
        }
        _ => Ok((Cow::Owned(known), ignored)),
    }
}

/// The tool's own name for a parameter that is certainly the same: another name of an id, or another spelling.
fn own_name(tool: &ToolSpec, name: &str) -> Option<&'static str> {
    let plain = plain(name);
    let names = || tool.parameters.iter().map(|(name, _)| *name);
    let same = names().find(|own| self::plain(own) == plain);
    same.or_else(|| {
        let is_id = IDS.iter().any(|id| self::plain(id) == plain);
        names().find(|own| is_id && IDS.contains(own))
    })
}

/// A name as it is heard: without case and without what joins its words.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Names that are longer are not compared: the time that takes grows with their length.
const LONGEST_NAME: usize = 64;

/// The parameter that may have been meant.
fn nearest(tool: &ToolSpec, name: &str) -> Option<&'static str> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let plain = plain(name);
    let names = || tool.parameters.iter().map(|(name, _)| *name);
    let synonyms = SYNONYMS.iter().find(|row| row.iter().any(|word| self::plain(word) == plain));
    let synonym = synonyms.and_then(|row| names().find(|own| row.contains(own)));
    let distance = |own: &&str| strsim::damerau_levenshtein(&self::plain(own), &plain);
    let near = || names().filter(|own| distance(own) * 3 <= own.len()).min_by_key(distance);
    synonym.or_else(near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Surroundings;
    use serde_json::json;

    fn tool(dialect: &str, name: &str) -> ToolSpec {
        let around = Surroundings::new("/tmp");
        let tools = crate::find(dialect).unwrap().tools(&around);
        tools.into_iter().find(|tool| tool.name == name).unwrap()
    }

    /// What a call becomes: the known arguments and the names that were ignored, or the error.
    fn sorted(dialect: &str, name: &str, values: &Value, unknown: Unknown) -> (Value, Vec<String>) {
        match sort_out(&tool(dialect, name), values.as_object().unwrap(), unknown) {
            Ok((known, ignored)) => {
                (Value::Object(known.into_owned()), ignored.iter().map(Ignored::to_string).collect())
            }
            Err(error) => (Value::Null, vec![error.to_string()]),
        }
    }

    #[test]
    fn what_is_certain_is_understood_and_the_rest_is_ignored_by_name() {
        let cases = [
            ("native", "Bash", json!({"command": "x", "wait_for_previous": true}), json!({"command": "x"}), ""),
            ("native", "Bash", json!({"command": "x", "colour": null}), json!({"command": "x"}), ""),
            ("native", "KillShell", json!({"shell_id": "a"}), json!({"bash_id": "a"}), ""),
            ("native", "BashOutput", json!({"task_id": "a", "bash_id": "b"}), json!({"bash_id": "b"}), ""),
            (
                "native",
                "Bash",
                json!({"command": "x", "runInBackground": true}),
                json!({"command": "x", "run_in_background": true}),
                "",
            ),
            ("boris", "task_output", json!({"bash_id": "a"}), json!({"task_id": "a"}), ""),
            ("codex", "write_stdin", json!({"id": 4}), json!({"session_id": 4}), ""),
            (
                "native",
                "Bash",
                json!({"command": "x", "cwd": "/"}),
                json!({"command": "x"}),
                "ignored 'cwd', which Bash does not have; did you mean 'workdir'?",
            ),
            (
                "native",
                "Bash",
                json!({"command": "x", "timout": 5}),
                json!({"command": "x"}),
                "ignored 'timout', which Bash does not have; did you mean 'timeout'?",
            ),
            (
                "native",
                "Bash",
                json!({"command": "x", "explanation": "y"}),
                json!({"command": "x"}),
                "ignored 'explanation', which Bash does not have",
            ),
        ];
        for (dialect, name, values, known, said) in cases {
            let said: Vec<String> = Some(said.to_owned()).filter(|said| !said.is_empty()).into_iter().collect();
            assert_eq!(sorted(dialect, name, &values, Unknown::Ignored), (known, said), "{dialect} {name} {values}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_what_may_have_been_meant_by_it() {
        let cases = [
            (
                "native",
                "Bash",
                json!({"cmd": "x"}),
                "Missing required parameter: command; unknown parameter 'cmd', did you mean 'command'?",
            ),
            (
                "codex",
                "exec_command",
                json!({"command": "x", "foo": 1}),
                "Missing required parameter: cmd; unknown parameter 'command', did you mean 'cmd'?",
            ),
            (
                "native",
                "BashOutput",
                json!({"foo": "x"}),
                "Missing required parameter: bash_id; unknown parameter 'foo'",
            ),
        ];
        for (dialect, name, values, said) in cases {
            assert_eq!(
                sorted(dialect, name, &values, Unknown::Ignored),
                (Value::Null, vec![said.to_owned()]),
                "{values}"
            );
        }
        let (_, said) = sorted("modes", "bash", &json!({"command": "x", "timeout": 5}), Unknown::Refused);
        assert!(said[0].starts_with("unknown parameter 'timeout'; the parameters are: command, mode"), "{said:?}");
        let (known, _) =
            sorted("modes", "bash", &json!({"command": "x", "wait_for_previous": false}), Unknown::Refused);
        assert_eq!(known, json!({"command": "x"}));
    }
}
