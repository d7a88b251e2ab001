//! `claude`: the surface that Claude Code's models know today.
//!
//! A command that takes too long goes on in the background; what runs there is read in a file, waited for with `Monitor`,
//! and stopped with `TaskStop`. Long output is in a file as well. Failed commands are failed calls, unless the code is how
//! the program answers.

use std::path::Path;
use std::time::Duration;

use chiton_engine::tasks::Part;
use chiton_engine::{OnTimeout, Outcome, Streams, Task};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, FailureKind, Keeps, Ran, ReadAction, RunAction, TaskOutput, TaskRef, WhenLong};
use crate::arguments::Arguments;
use crate::bash_like::{self, FILES, LIMIT};
use crate::call_error::CallError;
use crate::facts::{TaskForm, failure, ran, run_facts, task, task_facts, with};
use crate::reply::{NOTES, Reply};
use crate::shape::{Field, any_of};
use crate::simple::{first_command, last_command};
use crate::text::{Escapes, Gap, Room, all_output, beginning, command_line, ending, fitted, leftover_lines};
use crate::timeouts::{DEFAULT_MS, DEFAULT_TIMEOUT, MAXIMUM_MS};
use crate::tool::{Dialect, Structured, Surroundings, ToolEffect, ToolSpec, boolean, string};

pub(crate) struct Claude;

/// How long a command may run in the background if the call does not say, and at most.
const BACKGROUND_MS: u64 = 600_000;
const BACKGROUND_MOST_MS: u64 = 7_200_000;
/// The same for a monitor.
const MONITOR_MS: u64 = 300_000;
const MONITOR_MOST_MS: u64 = 1_800_000;
const MONITOR_LEAST_MS: u64 = 1_000;
/// A command that begins with a sleep this long is not waited for.
const LONG_SLEEP: f64 = 25.0;
/// Characters of long output that stand in the reply.
const FIRST: usize = 500;
const LAST: usize = 1_500;

/// Characters that are said again of an id that nobody has.
const MOST_OF_ID: usize = 60;
const NO_OUTPUT: &str = "(Bash completed with no output)";

/// Programs for which code 1 is an answer: nothing found, not the same, not so.
const ANSWERS: &[&[&str]] = &[
    &["grep"],
    &["egrep"],
    &["fgrep"],
    &["rg"],
    &["find"],
    &["diff"],
    &["test"],
    &["["],
    &["[["],
    &["git", "diff"],
    &["git", "grep"],
];

/// How it reports a task.
const FORM: TaskForm =
    TaskForm { ids: &["task_id"], fields: &["status", "exit_code", "signal", "duration_ms", "protection"] };

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn about(&self) -> &'static str {
        "Bash, Monitor, TaskStop as Claude Code has them: slow commands move to the background, long output to a file"
    }

    fn structured(&self) -> Structured {
        Structured::OnRequest
    }

    fn longest_reply(&self) -> Option<usize> {
        Some(LIMIT + NOTES)
    }

    fn running_tool(&self) -> &'static str {
        "Bash"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let fields = [
            Field::text("output"),
            Field::boolean("truncated"),
            Field::text("description").or_absent(),
            Field::text("output_file").or_absent(),
        ];
        vec![
            ToolSpec {
                name: "Bash",
                description: format!(
                    "Run a bash command. The directory carries over to the next call if the command succeeds inside \
                     {0}; from outside, the shell goes back to {0}. Nothing else carries over. A command that is not \
                     done after its timeout goes on in the background. Do not sleep to wait: use Monitor, or \
                     run_in_background. {FILES}",
                    around.directory.display()
                ),
                parameters: vec![
                    ("command", json!({"type": "string", "minLength": 1, "description": "The command."})),
                    ("timeout", number(1, &format!("Milliseconds; {DEFAULT_MS} if left out, at most {MAXIMUM_MS}."))),
                    ("description", string("What it does, in 5 to 10 plain words.")),
                    (
                        "run_in_background",
                        boolean(&format!(
                            "Come back at once with its id and the file that gets its output. timeout is then how long \
                             it may run: {BACKGROUND_MS} if left out, at most {BACKGROUND_MOST_MS}."
                        )),
                    ),
                    ("dangerouslyDisableSandbox", boolean("No effect: no parameter leaves the sandbox.")),
                ],
                required: &["command"],
                effect: ToolEffect::Runs,
                output_schema: any_of([ran(&fields), task(FORM, &[Field::text("output_file").or_absent()])]),
            },
            ToolSpec {
                name: "Monitor",
                description: "Wait for events: run a command of which every line is one, or name a background task. \
                              Comes back with what is new as soon as there is something, when it ends, or at \
                              timeout_ms. To wait for a condition: until CHECK; do sleep 2; done."
                    .to_owned(),
                parameters: vec![
                    ("command", string("The command; it is stopped at timeout_ms.")),
                    ("task_id", string("In place of command: the task to wait for; it goes on.")),
                    ("description", string("What is watched, in a few words.")),
                    (
                        "timeout_ms",
                        number(
                            MONITOR_LEAST_MS,
                            &format!("Milliseconds; {MONITOR_MS} if left out, at most {MONITOR_MOST_MS}."),
                        ),
                    ),
                ],
                required: &[],
                effect: ToolEffect::Runs,
                output_schema: any_of([
                    ran(&fields),
                    task(FORM, &[Field::text("output"), Field::boolean("truncated")]),
                ]),
            },
            ToolSpec {
                name: "TaskStop",
                description: "Stop a background task with everything it started.".to_owned(),
                parameters: vec![
                    ("task_id", string("The id that Bash or Monitor gave.")),
                    ("shell_id", string("The old name of task_id.")),
                ],
                required: &[],
                effect: ToolEffect::Stops,
                output_schema: bash_like::kill_replies(FORM),
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        match tool {
            "TaskStop" => {
                let arguments = Arguments::new(values, &["task_id", "shell_id"])?;
                let id = arguments.text("task_id")?.or(arguments.text("shell_id")?);
                let id = id.filter(|id| !id.trim().is_empty()).ok_or(CallError::Missing("task_id"))?;
                Ok(Action::Kill { task: TaskRef::Id(id) })
            }
            "Monitor" => read_monitor(values),
            _ => read_bash(values, around),
        }
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (Action::Start(run), Done::Started { task, transcript }) => started_reply(run, task, transcript.as_deref()),
            (_, Done::Read(read)) => monitor_reply(action, read),
            (_, Done::Killed { task, already: false }) => {
                let command = command_line(&task.command);
                let message = format!("Successfully stopped task: {} ({command})", task.id);
                let said =
                    json!({"message": message, "task_id": task.id, "task_type": "local_bash", "command": command});
                Reply::good(said.to_string(), with(task_facts(task, FORM), &json!({"already_stopped": false})))
            }
            (_, Done::Killed { task, .. }) => {
                let message = format!("Task {} is not running (status: {})", task.id, task.status);
                Reply::bad(message, with(task_facts(task, FORM), &json!({"already_stopped": true})))
            }
            (Action::Kill { task: TaskRef::Id(id) }, Done::Failed(problem))
                if matches!(problem.kind, FailureKind::NotFound | FailureKind::Removed) =>
            {
                let more = match problem.kind {
                    FailureKind::Removed => format!("; {}", problem.message),
                    _ => problem.message.strip_prefix(&format!("task {id} not found")).unwrap_or_default().to_owned(),
                };
                let id = beginning(id, MOST_OF_ID, usize::MAX);
                Reply::bad(format!("No task found with ID: {id}{more}"), failure(problem))
            }
            (_, done) => Reply::otherwise(done),
        }
    }
}

fn number(minimum: u64, description: &str) -> Value {
    json!({"type": "number", "minimum": minimum, "description": description})
}

/// Reads a time in milliseconds; what is out of range counts as the nearest that is in it, and is noted.
fn limit(
    arguments: &Arguments<'_>,
    name: &'static str,
    (least, most): (u64, u64),
    notes: &mut Vec<String>,
) -> Result<Option<Duration>, CallError> {
    let Some(given) = arguments.number(name)? else { return Ok(None) };
    if given == 0 {
        return Err(CallError::BadValue { name, problem: "is at least 1".to_owned() });
    }
    let used = given.clamp(least, most);
    if used != given {
        let word = if given > most { "more than the maximum" } else { "less than the minimum" };
        notes.push(format!("{name} {given} is {word}; {used} was used"));
    }
    Ok(Some(Duration::from_millis(used)))
}

fn read_bash(values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
    let known = ["command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox"];
    let arguments = Arguments::new(values, &known)?;
    let mut run = new_run(&arguments.required("command")?);
    run.request.description = arguments.text("description")?;
    if arguments.flag("dangerouslyDisableSandbox")? {
        run.notes.push("dangerouslyDisableSandbox has no effect: only a person can change the protection".to_owned());
    }

    if arguments.flag("run_in_background")? {
        let given = limit(&arguments, "timeout", (1, BACKGROUND_MOST_MS), &mut run.notes)?;
        run.request.timeout = given.or(Some(Duration::from_millis(BACKGROUND_MS)));
        return Ok(Action::Start(Box::new(run)));
    }
    if let Some(seconds) = leading_sleep(&run.request.command.to_text()) {
        return Err(CallError::Blocked(format!(
            "the command begins with sleep {seconds}. To wait for a condition, use Monitor with a loop (until CHECK; do \
             sleep 2; done); to wait for a command, run it with run_in_background and use Monitor with its task_id"
        )));
    }
    let given = limit(&arguments, "timeout", (1, MAXIMUM_MS), &mut run.notes)?;
    run.request.timeout = given.or(around.timeout).or(Some(DEFAULT_TIMEOUT));
    run.request.on_timeout = OnTimeout::HandBack;
    Ok(Action::Run(Box::new(run)))
}

fn new_run(command: &str) -> RunAction {
    let mut run = RunAction::new(command);
    (run.request.streams, run.keeps, run.request.transcript) = (Streams::Merged, Keeps::DirectoryInside, true);
    run
}

/// How long a command sleeps before it does anything, where that is long.
fn leading_sleep(command: &str) -> Option<f64> {
    let words = first_command(command)?;
    let [program, seconds] = words.as_slice() else { return None };
    let seconds: f64 = seconds.parse().ok()?;
    (program == "sleep" && seconds >= LONG_SLEEP).then_some(seconds)
}

fn read_monitor(values: &Map<String, Value>) -> Result<Action, CallError> {
    let arguments = Arguments::new(values, &["command", "task_id", "description", "timeout_ms"])?;
    let mut notes = Vec::new();
    let given = limit(&arguments, "timeout_ms", (MONITOR_LEAST_MS, MONITOR_MOST_MS), &mut notes)?;
    let time = given.unwrap_or(Duration::from_millis(MONITOR_MS));
    let read = |id: String, wait| ReadAction {
        wait: Some(wait),
        until_output: true,
        limit: Some(LIMIT as u64),
        when_long: WhenLong::BothEnds,
        ..ReadAction::new(TaskRef::Id(id), Part::New)
    };

    let (command, id) = (arguments.text("command")?, arguments.text("task_id")?);
    match (command.filter(|command| !command.trim().is_empty()), id.filter(|id| !id.trim().is_empty())) {
        (None, Some(id)) => Ok(Action::Read(read(id, time))),
        (Some(command), None) => {
            let mut run = new_run(&command);
            (run.request.description, run.request.timeout) = (arguments.text("description")?, Some(time));
            run.notes = notes;
            // Its own end comes first, and says that its time was over.
            Ok(Action::Watch(Box::new(run), Box::new(read(String::new(), time + time))))
        }
        (Some(_), Some(_)) => {
            let problem = "goes without task_id: give one of them".to_owned();
            Err(CallError::BadValue { name: "command", problem })
        }
        (None, None) => Err(CallError::Missing("command or task_id")),
    }
}

/// Whether a code is how the program that gave it answers, and no failure.
fn is_answer(command: &str, code: i32) -> bool {
    let words = if code == 1 { last_command(command) } else { None };
    let answers = |words: &Vec<String>| {
        ANSWERS.iter().any(|answer| match answer {
            [program, subcommand] => words[0] == *program && git_subcommand(words) == Some(*subcommand),
            [program] => words[0] == *program,
            _ => false,
        })
    };
    words.is_some_and(|words| answers(&words))
}

/// The word that says what git is to do, past the options before it.
fn git_subcommand(words: &[String]) -> Option<&str> {
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        match word.as_str() {
            "-C" | "-c" => drop(rest.next()),
            option if option.starts_with('-') => {}
            subcommand => return Some(subcommand),
        }
    }
    None
}

fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let (output, cut) = saved(ran);
    let file = ran.transcript.as_ref().map(|file| file.to_string_lossy());
    let facts = json!({
        "output": output, "truncated": cut, "description": run.request.description,
        "output_file": file.as_ref().filter(|_| cut || ran.outcome() == Some(Outcome::Running)),
    });
    let outcome = ran.outcome();
    let (head, tail, failed) = match &outcome {
        None | Some(Outcome::Exited(0)) => (None, None, false),
        Some(Outcome::Exited(code)) if is_answer(&run.request.command.to_text(), *code) => (None, None, false),
        Some(Outcome::Exited(code)) => (Some(format!("Exit code {code}")), None, true),
        Some(Outcome::Running) => (None, Some(moved(run, ran)), false),
        Some(other) => (Some(format!("The command {other}")), None, true),
    };

    let output = output.trim_end().trim_start_matches('\n').to_owned();
    let silent = output.is_empty() && head.is_none() && tail.is_none();
    let notes = run.notes.iter().map(|note| format!("[{note}]"));
    let mut lines: Vec<String> = head.into_iter().chain(notes).collect();
    lines.extend(if silent { Some(NO_OUTPUT.to_owned()) } else { Some(output).filter(|output| !output.is_empty()) });
    lines.extend(tail);
    if outcome == Some(Outcome::Exited(0)) && ran.response.cwd() != ran.cwd {
        lines.push(format!("Shell cwd was reset to {}", ran.cwd.display()));
    }
    lines.extend(leftover_lines(ran));
    lines.extend(ran.notices.iter().map(|notice| format!("[{notice}]")));
    Reply { text: lines.join("\n"), structured: with(run_facts(ran), &facts), is_error: failed }
}

/// Output that is short, or where all of it is, with a little of both ends.
fn saved(ran: &Ran) -> (String, bool) {
    let view = ran.stdout();
    let (whole, cut) = fitted(view, Room::of(LIMIT), Escapes::Removed, |_| String::new());
    if !cut {
        return (whole, false);
    }
    let file = all_output(ran);
    let first = Escapes::Removed.of(beginning(&view.head, FIRST, usize::MAX));
    let last = Escapes::Removed.of(ending(view.tail.as_ref().unwrap_or(&view.head), LAST, usize::MAX));
    let left_out = ran.amount.bytes.saturating_sub((first.len() + last.len()) as u64);
    let text = format!(
        "<persisted-output>\nOutput too large ({}). Full output saved to: {file}\n\nPreview (start and end):\n{}\n[… {} \
         omitted …]\n{}\n</persisted-output>",
        size(ran.amount.bytes),
        first.trim_end_matches('\n'),
        size(left_out),
        last.trim_end_matches('\n'),
    );
    (text, true)
}

/// A number of bytes as people say it.
fn size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let (whole, tenth) = (bytes / unit, bytes % unit * 10 / unit);
        if tenth == 0 { whole.to_string() } else { format!("{whole}.{tenth}") }
    };
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{}KB", tenths(1 << 10)),
        _ => format!("{}MB", tenths(1 << 20)),
    }
}

/// What a command that goes on in the background is answered with.
fn moved(run: &RunAction, ran: &Ran) -> String {
    let seconds = (run.limit_ms() + 500) / 1000;
    let file = all_output(ran);
    let id = ran.run_id();
    format!(
        "Command did not complete within its {}s timeout and was moved to the background (ID: {id}). Output is being written \
         to: {file}. It goes on, so do not start it again. {}",
        seconds.max(1),
        ways(id)
    )
}

fn started_reply(run: &RunAction, task: &Task, file: Option<&Path>) -> Reply {
    let written = file.map(|file| file.display().to_string()).unwrap_or_default();
    let mut lines: Vec<String> = run.notes.iter().map(|note| format!("[{note}]")).collect();
    lines.push(format!(
        "Command running in background with ID: {0}. Output is being written to: {written}. {1}",
        task.id,
        ways(&task.id)
    ));
    Reply::good(
        lines.join("\n"),
        with(task_facts(task, FORM), &json!({"output_file": file.map(Path::to_string_lossy)})),
    )
}

/// What can be done with a task. A server cannot notify a model, so the model has to ask.
fn ways(id: &str) -> String {
    format!(
        "Monitor with task_id {id} waits for its next output or its end; the file has all output and, in its last line, how \
         it ended; TaskStop stops it."
    )
}

fn monitor_reply(action: &Action, read: &TaskOutput) -> Reply {
    let task = &read.task;
    let file =
        read.transcript.as_ref().map(|file| format!("; all output is in {}", file.display())).unwrap_or_default();
    let note = |gap: &Gap| format!("[… {} bytes left out{file} …]", gap.bytes);
    let (output, cut) = fitted(&read.output, Room::of(LIMIT), Escapes::Removed, note);
    let facts = with(task_facts(task, FORM), &json!({"output": output, "truncated": cut}));

    let state = match &task.outcome {
        Some(Outcome::TimedOut) => {
            format!("[Monitor timed out: task {} was stopped; start it again if the watch is still needed]", task.id)
        }
        Some(outcome) => format!("[Task {} {outcome}{file}]", task.id),
        None if output.is_empty() => format!("[No output of task {} within the time; it goes on]", task.id),
        None => format!("[Task {0} goes on; Monitor with task_id {0} waits for more]", task.id),
    };
    let notes: &[String] = if let Action::Watch(run, _) = action { &run.notes } else { &[] };
    let mut lines: Vec<String> = notes.iter().map(|note| format!("[{note}]")).collect();
    lines.extend(Some(output.trim_end_matches('\n').to_owned()).filter(|output| !output.is_empty()));
    lines.push(state);
    Reply::good(lines.join("\n"), facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_1_of_a_program_that_answers_with_it_is_no_failure() {
        let answers = [
            "grep x f", "cat f | grep x", "cd a && rg x", "diff a b", "test -e x", "[ -e x ]", "[[ -e x ]]",
            "git diff --quiet", "git -C a --no-pager grep x", "find . -name x", "true; A=1 egrep x f", "grep x f; ",
            "(cd a; grep x f)",
        ];
        for command in answers {
            assert!(is_answer(command, 1), "{command}");
            assert!(!is_answer(command, 2), "{command}");
        }
        for command in
            ["false", "grep x f; false", "git commit", "grep x f | wc -l && make", "bash -c 'grep x'", "git", "", "'"]
        {
            assert!(!is_answer(command, 1), "{command}");
        }
    }

    #[test]
    fn only_a_long_sleep_at_the_beginning_is_not_waited_for() {
        for command in ["sleep 30", "sleep 25; echo", "sleep 100 && curl x", " sleep 1e3"] {
            assert!(leading_sleep(command).is_some(), "{command}");
        }
        for command in
            ["sleep 5", "echo; sleep 60", "sleep 60s & wait", "until x; do sleep 60; done", "sleep $x", "sleep"]
        {
            assert!(leading_sleep(command).is_none(), "{command}");
        }
    }

    #[test]
    fn sizes_are_said_as_people_say_them() {
        let cases = [(0, "0 bytes"), (1_023, "1023 bytes"), (1_024, "1KB"), (108_894, "106.3KB"), (1_572_864, "1.5MB")];
        for (bytes, words) in cases {
            assert_eq!(size(bytes), words);
        }
    }
}
