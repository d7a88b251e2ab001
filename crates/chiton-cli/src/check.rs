//! `chiton check`: what the guard says about a command. Nothing is run.

use std::env;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use chiton_engine::guard::{Context, Decision, Verdict, judge_with};
use chiton_engine::shell::tree::Span;
use clap::Args;
use serde_json::json;

use crate::settings::Settings;
use crate::surroundings;

/// Say whether the guard would let a command run, and why; nothing is run
///
/// Exit code 0: allowed. 10: a person would be asked. 20: refused.
#[derive(Args)]
pub(crate) struct CheckArguments {
    #[arg(
        value_name = "COMMAND",
        allow_hyphen_values = true,
        help = "The command, or - to read it from standard input"
    )]
    command: String,
    #[arg(long, help = "Print one JSON object")]
    json: bool,
    #[arg(long, value_name = "DIR", help = "The home directory to assume [default: $HOME]")]
    home: Option<PathBuf>,
    #[arg(long, value_name = "NAME", help = "The user to assume [default: $USER]")]
    user: Option<String>,
    #[arg(long, value_name = "DIR", help = "The working directory to assume [default: the current one]")]
    cwd: Option<PathBuf>,
    #[arg(long, value_name = "DIR", help = "The directory that the work is about [default: the working directory]")]
    workspace: Option<PathBuf>,
}

pub(crate) fn check(arguments: &CheckArguments, settings: &Settings) -> Result<ExitCode> {
    let command = match arguments.command.as_str() {
        "-" => {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text).context("standard input cannot be read")?;
            text
        }
        text => text.as_bytes().to_vec(),
    };
    let context = assumed(arguments)?;
    let policy = settings.guard.clone().check(&context).context("the settings")?;
    let verdict = judge_with(&command, &context, &policy);
    if arguments.json {
        println!("{}", serde_json::to_string(&as_json(&verdict))?);
    } else {
        print!("{}", as_text(&verdict, &command));
    }
    Ok(ExitCode::from(match verdict.decision {
        Decision::Allow => 0,
        Decision::Ask => 10,
        Decision::Deny => 20,
    }))
}

/// What the guard is told: the flags, or what is around this process.
fn assumed(arguments: &CheckArguments) -> Result<Context> {
    let home = arguments.home.clone().or_else(|| env::var_os("HOME").map(PathBuf::from));
    let user = arguments.user.clone().or_else(|| env::var("USER").ok()).or_else(|| env::var("LOGNAME").ok());
    let cwd = match &arguments.cwd {
        Some(path) => std::path::absolute(path)?,
        None => surroundings::working_directory()?,
    };
    let mut context =
        Context::new(home.unwrap_or_else(|| "/root".into()), user.unwrap_or_else(|| "root".to_owned()), cwd);
    context.workspace = arguments.workspace.as_deref().map(std::path::absolute).transpose()?;
    Ok(context)
}

fn as_json(verdict: &Verdict) -> serde_json::Value {
    let mut object = serde_json::to_value(verdict).unwrap_or_else(|_| json!({}));
    if let Some(object) = object.as_object_mut() {
        object.insert("schema_version".to_owned(), json!(1));
    }
    object
}

fn as_text(verdict: &Verdict, command: &[u8]) -> String {
    let mut text = verdict.decision.as_str().to_owned();
    if let Some(rule) = &verdict.rule {
        text.push_str(&format!(" [{rule}]"));
    }
    text.push_str(&format!(": {}\n", escaped(&verdict.reason)));
    if let Some(span) = verdict.span {
        text.push_str(&underlined(command, span));
    }
    if let Some(alternative) = &verdict.alternative {
        text.push_str(&format!("  {alternative}\n"));
    }
    for waiting in &verdict.waits {
        text.push_str(&format!("note: {} waits for a person: {}.\n", escaped(&waiting.program), waiting.hint));
    }
    text
}

/// The line of the command that holds the start of `span`, with marks below it.
fn underlined(command: &[u8], span: Span) -> String {
    let start = span.start.min(command.len());
    let line_start = command[..start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line_end = command[start..].iter().position(|byte| *byte == b'\n').map_or(command.len(), |at| start + at);
    let end = span.end.clamp(start, line_end);
    let shown = |range: &[u8]| escaped(&String::from_utf8_lossy(range));
    let (before, marked, after) =
        (shown(&command[line_start..start]), shown(&command[start..end]), shown(&command[end..line_end]));
    let width = marked.chars().count().max(1);
    format!("  {before}{marked}{after}\n  {}{}\n", " ".repeat(before.chars().count()), "^".repeat(width))
}

/// Text for a terminal: what is not seen, or changes what is seen, is written out.
fn escaped(text: &str) -> String {
    let hidden = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars()
        .flat_map(
            |character| {
                if hidden(character) { character.escape_unicode().collect::<Vec<_>>() } else { vec![character] }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_underlined_on_its_line() {
        let text = underlined(b"echo a\nrm -rf / # b\n", Span::new(14, 15));
        assert_eq!(text, "  rm -rf / # b\n         ^\n");
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(escaped("a\u{202e}b\u{1b}c"), "a\\u{202e}b\\u{1b}c");
    }
}
