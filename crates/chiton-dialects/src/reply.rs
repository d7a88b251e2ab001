//! The answer to a call.

use chiton_engine::{RELEASED, SENT_TWICE};
use serde_json::{Map, Value};

use crate::action::{Done, Failure, Ran};
use crate::call_error::CallError;
use crate::facts;
use crate::ignored::Ignored;
use crate::shape::IGNORED;

/// This many ignored parameters are named; the rest is counted.
const MOST_NAMED: usize = 5;

/// Characters of a reply that are not output: how it ended, what goes on, what is protected, what was ignored. Lists of
/// processes and tasks are the longest. With the 30,000 of output this is as much as Claude Code takes of a tool that says
/// nothing; a smaller number would only lower that.
pub(crate) const NOTES: usize = 20_000;

/// What a client gets.
#[derive(Clone, Debug)]
pub struct Reply {
    /// For the model.
    pub text: String,
    /// For machines.
    pub structured: Map<String, Value>,
    /// Whether the call counts as failed.
    pub is_error: bool,
}

/// Facts by which replies say that output was left out.
const LEFT_OUT: [&str; 7] =
    ["truncated", "omitted_bytes", "left_out", "left_out_bytes", "compacted", "selected", "same_as"];
/// Words by which those say it that have no fact for it.
const LEFT_OUT_WORDS: [&str; 3] =
    ["[Output truncated: ", "Warning: truncated output (original token count: ", "[binary output of "];

impl Reply {
    /// A reply that counts as done.
    pub fn good(text: impl Into<String>, structured: Map<String, Value>) -> Self {
        Self { text: text.into(), structured, is_error: false }
    }

    /// A reply that counts as failed.
    pub fn bad(text: impl Into<String>, structured: Map<String, Value>) -> Self {
        Self { text: text.into(), structured, is_error: true }
    }

    /// The same with a text that says something. Some clients pass a text without a visible character on to a model
    /// whose provider refuses the whole conversation for it.
    #[must_use]
    pub fn never_empty(self) -> Self {
        let text = match self.text.as_str() {
            "" => "(no output)".to_owned(),
            text if text.trim().is_empty() => format!("(no output but {} blank characters)", text.chars().count()),
            _ => return self,
        };
        Self { text, ..self }
    }

    /// A call that could not be read.
    pub fn unreadable(error: &CallError) -> Self {
        let message = error.to_string();
        Self::bad(message.clone(), facts::error("bad_call", &message))
    }

    /// What could not be done, in the words of whoever tried.
    pub fn failed(failure: &Failure) -> Self {
        Self::bad(failure.message.clone(), facts::failure(failure))
    }

    /// A command that may not run: why, and what would be allowed, in the guard's own words.
    pub fn refused(ran: &Ran) -> Self {
        Self::bad(refusal_text(ran), facts::refusal(ran))
    }

    /// Whether it says, in its facts or in its text, that output was left out. Where a text only looks like that, the run
    /// counts as one that was cut, and is kept for longer than need be.
    pub fn leaves_out(&self) -> bool {
        let says_so = |fact: &&str| match self.structured.get(*fact) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Number(amount)) => amount.as_u64() != Some(0),
            Some(_) => true,
        };
        LEFT_OUT.iter().any(says_so) || LEFT_OUT_WORDS.iter().any(|words| self.text.contains(words))
    }

    /// Says that a command goes on because a person handed its call back, unless the dialect has said so.
    #[must_use]
    pub fn with_released(mut self, done: &Done) -> Self {
        if let Done::Ran(ran) = done
            && ran.is_released()
            && !self.text.contains(RELEASED)
        {
            let line_end = if self.text.ends_with('\n') { "" } else { "\n" };
            self.text += &format!("{line_end}[{RELEASED}; it goes on as {}]", ran.run_id());
        }
        self
    }

    /// Says that the call was made before, unless the dialect has said so.
    #[must_use]
    pub fn with_sent_twice(mut self) -> Self {
        if !self.text.contains(SENT_TWICE) {
            let line_end = if self.text.ends_with('\n') { "" } else { "\n" };
            self.text += &format!("{line_end}[{SENT_TWICE}]");
        }
        self
    }

    /// Says which parameters were ignored, and what was meant instead.
    #[must_use]
    pub fn with_ignored(mut self, ignored: &[Ignored]) -> Self {
        if ignored.is_empty() {
            return self;
        }
        let mut lines: Vec<String> = ignored.iter().take(MOST_NAMED).map(Ignored::to_string).collect();
        if ignored.len() > MOST_NAMED {
            lines.push(format!("and {} more", ignored.len() - MOST_NAMED));
        }
        for line in lines {
            let line_end = if self.text.ends_with('\n') { "" } else { "\n" };
            self.text += &format!("{line_end}[{line}]");
        }
        let names: Vec<Value> = ignored.iter().take(MOST_NAMED).map(|one| one.name.clone().into()).collect();
        self.structured.insert(IGNORED.to_owned(), names.into());
        self
    }

    /// The reply to everything for which a dialect has no words of its own: failures, and what it never asks for.
    pub fn otherwise(done: &Done) -> Self {
        match done {
            Done::Failed(failure) => Self::failed(failure),
            _ => Self::bad("this tool has no answer to that", facts::error("unexpected", "no answer to that")),
        }
    }
}

/// Why a command may not run, in words.
pub fn refusal_text(ran: &Ran) -> String {
    let reason = ran.response.refusal().map_or("it was refused", |refusal| &refusal.reason);
    let notices = ran.notices.iter().map(|notice| format!("\n[{notice}]"));
    notices.fold(reason.to_owned(), |text, notice| text + &notice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_ignored_parameters_are_named_and_the_rest_is_counted() {
        let ignored = |count: usize| -> Vec<Ignored> {
            (0..count).map(|number| Ignored { name: format!("p{number}"), tool: "Bash", nearest: None }).collect()
        };
        let reply = |count| Reply::good("done", Map::new()).with_ignored(&ignored(count));
        assert_eq!(reply(0).text, "done");
        assert_eq!(reply(1).text, "done\n[ignored 'p0', which Bash does not have]");
        let many = reply(100_000);
        assert!(many.text.ends_with("[ignored 'p4', which Bash does not have]\n[and 99995 more]"), "{}", many.text);
        assert_eq!(many.structured[IGNORED].as_array().unwrap().len(), MOST_NAMED);
    }
}
