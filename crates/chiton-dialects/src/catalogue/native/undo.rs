//! The parameter `undo` of Bash: only where a person lets calls undo what commands did to files.

use chiton_engine::changes::{Undone, Untouched};
use serde_json::{Value, json};

use crate::action::Action;
use crate::arguments::Arguments;
use crate::call_error::CallError;
use crate::facts::object;
use crate::reply::Reply;
use crate::shape::{Field, shape};
use crate::tool::{Surroundings, UndoOffer, string};

pub(super) const NAME: &str = "undo";

/// How many files of each kind a reply names.
const MOST_NAMED: usize = 20;

/// As a model sees it, where it is offered.
pub(super) fn parameter(around: &Surroundings) -> Option<(&'static str, Value)> {
    let about = "In place of command: the id of an earlier one, whose changes to files of the workspace are undone.";
    (around.undo == UndoOffer::Yes).then(|| (NAME, string(about)))
}

/// What a call undoes, where it does.
pub(super) fn read(arguments: &Arguments<'_>) -> Result<Option<Action>, CallError> {
    let Some(id) = arguments.text(NAME)?.filter(|id| !id.is_empty()) else { return Ok(None) };
    if arguments.text("command")?.is_some_and(|command| !command.trim().is_empty()) {
        let problem = "goes without command: a call undoes something or runs something".to_owned();
        return Err(CallError::BadValue { name: NAME, problem });
    }
    Ok(Some(Action::Undo { id }))
}

/// The shape of the reply.
pub(super) fn reply_shape() -> Value {
    let mut reply = shape(&[Field::object("undone")]);
    let untouched = || json!({"type": "array", "items": shape(&[Field::text("path"), Field::text("why")])});
    reply["properties"]["undone"] =
        shape(&[Field::text("id"), Field::text("undo").or_null(), Field::object("changed")]);
    reply["properties"]["undone"]["properties"]["left_alone"] = untouched();
    reply["properties"]["undone"]["properties"]["failed"] = untouched();
    reply
}

/// What came of it.
pub(super) fn reply(undone: &Undone) -> Reply {
    let is_whole = undone.left_alone.is_empty() && undone.failed.is_empty();
    let done = undone.undo.is_some() || is_whole;
    let mut lines = vec![match (&undone.undo, is_whole) {
        (Some(_), true) => format!("{} is undone: {}.", undone.id, undone.in_words()),
        (Some(_), false) => format!("{} is undone in part: {}.", undone.id, undone.in_words()),
        (None, true) => format!("{} is undone: everything was as before already.", undone.id),
        (None, false) => format!("{} is not undone.", undone.id),
    }];
    if let Some(undo) = &undone.undo {
        lines.push(format!("[undo: {undo} takes that back]"));
    }
    let untouched = |what: &'static str, files: &[Untouched]| -> Vec<String> {
        let named =
            files.iter().take(MOST_NAMED).map(|file| format!("[{what} {}: {}]", file.path.escape_debug(), file.why));
        let more = files.len().saturating_sub(MOST_NAMED);
        named.chain((more > 0).then(|| format!("[{what} {more} more]"))).collect()
    };
    lines.extend(untouched("left alone:", &undone.left_alone));
    lines.extend(untouched("could not be put back:", &undone.failed));
    if done {
        lines.push("[only files of the workspace: not what programs keep elsewhere, and nothing that runs]".to_owned());
    }
    let facts = object(&json!({"undone": undone}));
    if is_whole { Reply::good(lines.join("\n"), facts) } else { Reply::bad(lines.join("\n"), facts) }
}
