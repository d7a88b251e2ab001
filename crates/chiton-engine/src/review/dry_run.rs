//! What a command would do, in words.

use crate::consent::{Question, visible};
use crate::request::CommandRequest;
use chiton_guard::{Access, Decision};

/// Everything that is known about a command that is not run.
pub(crate) fn describe(request: &CommandRequest, question: &Question) -> String {
    let verdict = &question.verdict;
    let on = question.on.as_ref().map(|on| format!("on {} ", visible(on))).unwrap_or_default();
    let mut text = format!("[Dry Run] Nothing was run. This would run {on}in {}:\n", question.directory.display());
    text += &format!("{}\n", indented(&visible(&question.command)));
    text += match verdict.decision {
        Decision::Allow => "It would be allowed.\n",
        Decision::Ask => "A person would be asked first.\n",
        Decision::Deny => "It would be refused.\n",
    };
    if verdict.decision != Decision::Allow || verdict.rule.is_some() {
        let rule = verdict.rule.as_deref().unwrap_or("guard");
        text += &format!("  {rule}: {}\n", verdict.reason);
        if let Some(target) = &verdict.target {
            text += &format!("  acts on {}\n", visible(target));
        }
    }
    if !verdict.commands.is_empty() {
        text += "Commands in it, as far as the text decides them:\n";
        for seen in &verdict.commands {
            let set =
                seen.assignments.iter().fold(String::new(), |text, (name, value)| text + name + "=" + value + " ");
            text += &format!("  {}{}\n", visible(&set), visible(&seen.words.join(" ")));
        }
    }
    for file in &verdict.files {
        let does = match file.access {
            Access::Read => "reads",
            Access::Write => "writes",
            Access::Append => "appends to",
        };
        text += &format!("It {does} {}\n", visible(&file.path));
    }
    for waiting in &verdict.waits {
        text += &format!("{} would wait for a person: {}\n", waiting.program, waiting.hint);
    }
    for (name, value) in &question.environment {
        text += &format!("Variable {name}={}\n", visible(value));
    }
    text += &match request.timeout {
        Some(timeout) => format!("Limit: {} ms\n", timeout.as_millis()),
        None => "Limit: none\n".to_owned(),
    };
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
