//! Many commands, one per line of JSON, and one line of JSON for each, in the same order.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use chiton_engine::guard::{CheckedPolicy, Context};
use serde::Deserialize;
use serde_json::{Value, json};

use super::assumed::{Assumed, Said};
use super::{CheckMode, Judge, show};

/// One line of input.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Command(String),
    Object(Box<Asked>),
}

/// A command, and what is said of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    id: Option<Value>,
    command: String,
    home: Option<PathBuf>,
    user: Option<String>,
    cwd: Option<PathBuf>,
    workspace: Option<PathBuf>,
    session: Option<String>,
    stdin: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    guard: Option<CheckMode>,
}

/// Judges every line of standard input. Each answer is written before the next line is read.
pub(super) fn judge_lines(judge: &Judge<'_>, assumed: &Assumed) -> Result<ExitCode> {
    let policy = judge.policy(assumed.context())?;
    let mut output = std::io::stdout().lock();
    let mut all_judged = true;

    for (number, line) in std::io::stdin().lock().split(b'\n').enumerate() {
        let line = line.context("standard input cannot be read")?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = match serde_json::from_slice::<Line>(&line) {
            Ok(Line::Command(command)) => show::as_json(&judge.judge(command.as_bytes(), assumed.context(), &policy)),
            Ok(Line::Object(asked)) => {
                let id = asked.id.clone();
                let mut answer = judge_asked(judge, assumed, &policy, *asked).unwrap_or_else(|error| {
                    all_judged = false;
                    json!({ "line": number + 1, "error": format!("{error:#}") })
                });
                if let (Some(id), Some(object)) = (id, answer.as_object_mut()) {
                    object.insert("id".to_owned(), id);
                }
                answer
            }
            Err(_) => {
                all_judged = false;
                json!({ "line": number + 1, "error": why_unread(&line) })
            }
        };
        writeln!(output, "{answer}").and_then(|()| output.flush()).context("standard output cannot be written")?;
    }
    Ok(ExitCode::from(u8::from(!all_judged)))
}

fn judge_asked(judge: &Judge<'_>, assumed: &Assumed, policy: &CheckedPolicy, asked: Asked) -> Result<Value> {
    let Asked { command, home, user, cwd, workspace, session, stdin, env, guard, id: _ } = asked;
    let context: Context = assumed.with(&Said { home, user, cwd, workspace, session, stdin, env })?;
    let other = guard.map(|mode| judge.policy_in(Some(mode.into()), &context)).transpose()?;
    Ok(show::as_json(&judge.judge(command.as_bytes(), &context, other.as_ref().unwrap_or(policy))))
}

/// What is wrong with a line, in the words of whichever form it has.
fn why_unread(line: &[u8]) -> String {
    match serde_json::from_slice::<Value>(line) {
        Err(error) => format!("this line is not JSON: {error}"),
        Ok(Value::Object(_)) => match serde_json::from_slice::<Asked>(line) {
            Err(error) => format!("{error}"),
            Ok(_) => "this line could not be read".to_owned(),
        },
        Ok(_) => "a line is a JSON string, the command, or an object with \"command\"".to_owned(),
    }
}
