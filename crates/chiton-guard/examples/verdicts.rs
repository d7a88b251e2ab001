//! Prints the verdict on each line of a file, or on each row of a corpus file (`id`, `class`, `command`, …). Runs nothing.

use std::sync::Arc;

use chiton_guard::{Context, Input, judge};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_default();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let filter = arguments.next();
    for line in text.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let (name, command, input, expected) = match columns.as_slice() {
            [command] => ("", *command, None, ""),
            [command, input] => ("", *command, Some(*input), ""),
            [id, _, command, expected, ..] => (*id, *command, None, *expected),
            _ => continue,
        };
        if filter.as_deref() == Some("wrong") && expected.is_empty() {
            continue;
        }
        let unescape = |text: &str| text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\");
        let mut context = Context::new("/home/dev", "dev", "/home/dev/project");
        if let Some(input) = input {
            context.input = if input == "LATER" { Input::Later } else { Input::Text(Arc::from(unescape(input))) };
        }
        let verdict = judge(unescape(command), &context);
        let said = verdict.decision.as_str();
        let wrong = !expected.is_empty() && !expected.contains(said);
        if filter.as_deref() == Some("wrong") && !wrong {
            continue;
        }
        let mark = if wrong { "WRONG" } else { "" };
        println!(
            "{mark:5} {said:5} {:14} {name} {command}   {}",
            verdict.rule.unwrap_or_default(),
            input.unwrap_or("")
        );
    }
}
