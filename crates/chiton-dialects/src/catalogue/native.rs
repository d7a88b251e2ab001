//! `native`: everything the engine can do, in few words. The default.

use std::sync::OnceLock;

use chiton_engine::tasks::Part;
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{
    CommandInput, EnvironmentChange, Look, OnTimeout, Outcome, Signal, Streams, Task, TaskLifetime, TimeLimit, Typing,
};
use serde_json::{Map, Value, json};

use crate::action::{Action, Done, Message, Ran, ReadAction, RunAction, TaskOutput, TaskRef, View};
use crate::arguments::{Arguments, short};
use crate::bash_like::{FILES, ended_by_itself, kill_replies};
use crate::call_error::CallError;
use crate::facts::{look_facts, look_fields, object, ran, run_facts, task, task_facts, waiting, with};
use crate::reply::Reply;
use crate::shape::{Field, any_of, shape};
use crate::text::{both_ends, leftover_lines, waiting_line, without_escapes};
use crate::timeouts::{self, DEFAULT_TIMEOUT};
use crate::tool::{
    Dialect, Surroundings, ToolEffect, ToolSpec, arguments_of, boolean, choice, integer, string, variables,
};

pub(crate) struct Native;

/// Bytes of output that are given at once; of a command that printed more, half of it from each end.
const LIMIT: usize = 30_000;
/// Commands that have ended are listed as far as these.
const ENDED: usize = 20;

impl Dialect for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, BashInput, KillShell, ListShells: all that the engine can do"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        let id = || ("bash_id", string("The id of the command."));
        vec![
            bash(around),
            ToolSpec {
                name: "BashOutput",
                description: "Output of a command that runs or ran: what is new, or a part of it. Can wait first, so \
                              there is no need to poll."
                    .to_owned(),
                parameters: vec![
                    id(),
                    ("wait", integer("Milliseconds to wait at most; alone: until it ends.")),
                    ("wait_for", string("Wait until a line matches this regular expression, or it ends.")),
                    ("since", integer("From this byte on, in place of what is new; 0 is the beginning.")),
                    ("range", string("These alone: 'lines 1-100' or 'bytes 0-4095'.")),
                    ("tail", integer("Only so many lines from the end.")),
                    ("filter", string("A regular expression: only lines that match. Nothing counts as read.")),
                    view(
                        "plain: text without escapes; raw: as printed; screen: what its terminal shows, and wait_for matches that.",
                    ),
                ],
                required: &["bash_id"],
                effect: ToolEffect::Looks,
                output_schema: any_of([task(&read_fields())]),
            },
            ToolSpec {
                name: "BashInput",
                description: "Type into a command started with pty, write to one started with open_stdin, or send a \
                              signal to any. With pty the answer is the screen, once it waits for more."
                    .to_owned(),
                parameters: vec![
                    id(),
                    ("text", string("What to write; add the newline.")),
                    ("keys", string("With pty: keys by name, like 'down down enter', 'ctrl-c', 'esc : w q enter'.")),
                    ("paste", string("With pty: text as a paste, which programs do not act on line by line.")),
                    ("end", boolean("Nothing will follow.")),
                    ("signal", string("A signal, like INT or TERM.")),
                    ("wait", integer("Milliseconds to wait at most, then read; with pty 2000 if left out.")),
                    ("wait_for", string("Wait until a line of the screen or of the output matches this.")),
                    view("What to answer with: with pty the screen if left out."),
                    ("cols", integer("With pty: a new width of the terminal.")),
                    ("rows", integer("With pty: a new height.")),
                ],
                required: &["bash_id"],
                effect: ToolEffect::Runs,
                output_schema: any_of([shape(&[Field::text("bash_id")]), task(&read_fields())]),
            },
            ToolSpec {
                name: "KillShell",
                description: "Stop a command with everything it started; returns when nothing of it is left."
                    .to_owned(),
                parameters: vec![id()],
                required: &["bash_id"],
                effect: ToolEffect::Stops,
                output_schema: kill_replies(),
            },
            ToolSpec {
                name: "ListShells",
                description: "Commands that run, and the last that ended.".to_owned(),
                parameters: Vec::new(),
                required: &[],
                effect: ToolEffect::Looks,
                output_schema: any_of([list_shape()]),
            },
        ]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        // Only their names count here, which are the same everywhere.
        static TOOLS: OnceLock<Vec<ToolSpec>> = OnceLock::new();
        let arguments = arguments_of(TOOLS.get_or_init(|| self.tools(around)), tool, values)?;
        let task = || arguments.required("bash_id").map(TaskRef::Id);
        match tool {
            "BashOutput" => Ok(Action::Read(ReadAction {
                filter: arguments.text("filter")?,
                wait_for: arguments.text("wait_for")?,
                wait: arguments.millis("wait")?,
                until_input: true,
                view: read_view(&arguments)?,
                limit: Some(LIMIT as u64),
                ..ReadAction::new(task()?, part(&arguments)?)
            })),
            "BashInput" => {
                let then = ReadAction {
                    wait_for: arguments.text("wait_for")?,
                    wait: arguments.millis("wait")?,
                    until_input: true,
                    view: read_view(&arguments)?,
                    limit: Some(LIMIT as u64),
                    ..ReadAction::new(task()?, Part::New)
                };
                Ok(Action::Send { task: task()?, messages: messages(&arguments)?, then: Some(Box::new(then)) })
            }
            "KillShell" => Ok(Action::Kill { task: task()? }),
            "ListShells" => Ok(Action::List),
            _ => read_bash(&arguments, around),
        }
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => ran_reply(run, ran),
            (_, Done::Started { task, .. }) => {
                let text =
                    format!("Running as {0}. BashOutput with bash_id {0} reads it, and can wait for it.", task.id);
                Reply::good(text, task_facts(task))
            }
            (_, Done::Read(read)) => read_reply(read),
            (_, Done::Sent { id }) => Reply::good(format!("Sent to {id}."), object(&json!({"bash_id": id}))),
            (_, Done::Killed { task, already }) => {
                let word = if *already { "already stopped" } else { "terminated, with everything it started" };
                Reply::good(format!("{} {word}", task.id), with(task_facts(task), &json!({"already_stopped": already})))
            }
            (_, Done::Listed(tasks)) => list_reply(tasks),
            (_, done) => Reply::otherwise(done),
        }
    }
}

fn bash(around: &Surroundings) -> ToolSpec {
    ToolSpec {
        name: "Bash",
        description: format!(
            "Run a bash command. Directory, variables, functions and options carry over to the next call, also after \
             exit or a timeout; it starts in {}. A command that leaves something running (server &) returns at once \
             and says what. {FILES}",
            around.directory.display()
        ),
        parameters: vec![
            ("command", string("The command.")),
            ("timeout", integer(&timeouts::description())),
            (
                "on_timeout",
                choice(&ON_TIMEOUT, "stop (default) it with everything it started, or let it go on and give its id."),
            ),
            ("wait", integer("Milliseconds to wait; then its id is given and it goes on.")),
            ("run_in_background", boolean("Come back at once with its id; no timeout if left out.")),
            ("workdir", string("Directory for this call alone.")),
            ("env", variables("Variables for this call alone.")),
            ("stdin", string("What it reads; without it, nothing.")),
            ("open_stdin", boolean("In the background, or with wait: leave its input open for BashInput.")),
            (
                "pty",
                boolean(
                    "In a terminal, for programs that talk to a person: comes back when it waits for input; BashInput \
                     types.",
                ),
            ),
            ("cols", integer("With pty: its width; 80 if left out.")),
            ("rows", integer("With pty: its height; 24 if left out.")),
            ("session", string("Run in the session of this name, which has a state of its own and stays.")),
            ("description", string("What it does, in a few words.")),
        ],
        required: &["command"],
        effect: ToolEffect::Runs,
        output_schema: any_of([
            ran(&[
                Field::text("output"),
                Field::boolean("truncated"),
                Field::boolean("cwd_changed"),
                Field::object("waiting").or_null(),
                Field::text("session").or_null(),
                Field::text("description").or_null(),
            ]),
            task(&[]),
        ]),
    }
}

const ON_TIMEOUT: [&str; 2] = ["stop", "background"];

fn read_bash(arguments: &Arguments<'_>, around: &Surroundings) -> Result<Action, CallError> {
    let mut run = RunAction::new(arguments.required("command")?);
    (run.request.streams, run.request.task_lifetime, run.room) = (Streams::Merged, TaskLifetime::Durable, LIMIT);
    run.request.description = arguments.text("description")?;
    run.request.directory = arguments.text("workdir")?.map(Into::into);
    run.request.environment = EnvironmentChange::Merge(arguments.variables("env")?);
    run.session = arguments.text("session")?;
    let (stdin, open) = (arguments.text("stdin")?, arguments.flag("open_stdin")?);
    run.request.terminal = terminal(arguments)?;
    run.request.until_input = run.request.terminal.is_some();
    let (timeout, wait) = (arguments.millis("timeout")?, arguments.millis("wait")?);
    let background = arguments.flag("run_in_background")?;
    if arguments.choice("on_timeout", &ON_TIMEOUT)? == Some("background") {
        run.request.on_timeout = OnTimeout::HandBack;
    }
    let handed_back = wait.is_some() || run.request.on_timeout == OnTimeout::HandBack;
    let contradictions = [
        ("wait", background && wait.is_some(), "goes without run_in_background: leave out one of them"),
        (
            "on_timeout",
            background && handed_back,
            "is 'stop' with run_in_background: it runs in the background already",
        ),
        ("stdin", run.request.terminal.is_some() && stdin.is_some(), "goes without pty: what it reads there is typed"),
        ("open_stdin", open && stdin.is_some(), "goes without stdin: input is either given or left open"),
        (
            "open_stdin",
            open && !background && !handed_back,
            "goes with run_in_background, wait or on_timeout 'background': nobody could write to it while it is waited for",
        ),
    ];
    if let Some((name, _, problem)) = contradictions.into_iter().find(|(_, holds, _)| *holds) {
        return Err(CallError::BadValue { name, problem: problem.to_owned() });
    }
    run.request.input = match stdin {
        Some(text) => CommandInput::Text(text.into()),
        None if open => CommandInput::Open,
        None => CommandInput::Nothing,
    };
    if background {
        run.request.timeout = timeout;
        return Ok(Action::Start(Box::new(run)));
    }
    (run.request.timeout, run.request.wait) = (timeout.or(around.timeout).or(Some(DEFAULT_TIMEOUT)), wait);
    Ok(Action::Run(Box::new(run)))
}

/// The size of the terminal that is asked for, where one is.
fn terminal(arguments: &Arguments<'_>) -> Result<Option<TerminalSize>, CallError> {
    let pty = arguments.flag("pty")?;
    let size = size(arguments, TerminalSize::USUAL)?;
    if size.is_some() && !pty {
        let problem = "goes with pty only: without it there is no terminal".to_owned();
        return Err(CallError::BadValue { name: "cols", problem });
    }
    Ok(pty.then(|| size.unwrap_or_default()))
}

/// A size, where one is given; what is left out of it is as in `usual`.
fn size(arguments: &Arguments<'_>, usual: TerminalSize) -> Result<Option<TerminalSize>, CallError> {
    let (columns, rows) = (arguments.number("cols")?, arguments.number("rows")?);
    if columns.is_none() && rows.is_none() {
        return Ok(None);
    }
    let size = TerminalSize::new(columns.unwrap_or(usual.columns.into()), rows.unwrap_or(usual.rows.into()));
    size.map(Some).map_err(|error| CallError::BadValue { name: "cols", problem: format!("or rows: {error}") })
}

const VIEWS: [&str; 3] = ["plain", "raw", "screen"];

fn view(description: &str) -> (&'static str, Value) {
    ("view", choice(&VIEWS, description))
}

fn read_view(arguments: &Arguments<'_>) -> Result<Option<View>, CallError> {
    Ok(arguments.choice("view", &VIEWS)?.map(|word| match word {
        "raw" => View::Raw,
        "screen" => View::Screen,
        _ => View::Plain,
    }))
}

fn read_fields() -> Vec<Field> {
    let output = [
        Field::text("output"),
        Field::integer("left_out"),
        Field::integer("not_kept"),
        Field::integer("next"),
        Field::text("waited").or_null(),
    ];
    [&output[..], &look_fields()].concat()
}

/// Which part of the output is asked for: one of three ways to say it, or what is new.
fn part(arguments: &Arguments<'_>) -> Result<Part, CallError> {
    let since = arguments.number("since")?.map(|since| Part::Bytes(since..u64::MAX));
    let range = arguments.text("range")?.map(|text| range(&text)).transpose()?;
    let tail = arguments.number("tail")?.map(Part::Tail);
    let mut given = since.into_iter().chain(range).chain(tail);
    match (given.next(), given.next()) {
        (None, _) => Ok(Part::New),
        (Some(part), None) => Ok(part),
        (Some(_), Some(_)) => {
            let problem = "goes alone: give one of since, range and tail".to_owned();
            Err(CallError::BadValue { name: "since", problem })
        }
    }
}

/// `lines 1-100`, counted from 1, or `bytes 0-4095`, counted from 0; the last one is included.
fn range(text: &str) -> Result<Part, CallError> {
    let read = || {
        let (unit, rest) = text.trim().split_once(' ')?;
        let (first, last) = rest.trim().split_once('-')?;
        let (first, last) = (first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?);
        match unit {
            "lines" => (1 <= first && first <= last).then(|| Part::Lines(first - 1..last)),
            "bytes" => (first <= last && last < u64::MAX).then(|| Part::Bytes(first..last + 1)),
            _ => None,
        }
    };
    let problem = || format!("is like 'lines 1-100' or 'bytes 0-4095', not '{}'", short(text));
    read().ok_or_else(|| CallError::BadValue { name: "range", problem: problem() })
}

fn messages(arguments: &Arguments<'_>) -> Result<Vec<Message>, CallError> {
    let text = arguments.text("text")?.map(Message::Text);
    let end = arguments.flag("end")?.then_some(Message::End);
    let signal = match arguments.text("signal")? {
        None => None,
        Some(name) => Some(Message::Signal(Signal::parse(&name).ok_or_else(|| CallError::BadValue {
            name: "signal",
            problem: format!("is a signal like INT, TERM or HUP, not '{}'", short(&name)),
        })?)),
    };
    let paste = arguments.text("paste")?.map(|text| Message::Typed(Typing::Paste(text)));
    let keys = arguments.text("keys")?.map(|names| Message::Typed(Typing::Keys(names)));
    let size = size(arguments, TerminalSize::USUAL)?.map(Message::Resize);
    // In the order in which a person does it: the window, the text, the key that ends it.
    let typed = text.into_iter().chain(paste).chain(keys);
    let messages: Vec<Message> = size.into_iter().chain(typed).chain(end).chain(signal).collect();
    let waits = arguments.text("wait_for")?.is_some() || arguments.millis("wait")?.is_some();
    if messages.is_empty() && !waits {
        let problem = "is missing, and so are keys, paste, end and signal: give one of them".to_owned();
        return Err(CallError::BadValue { name: "text", problem });
    }
    Ok(messages)
}

/// How a task stands, as the first line of a reply.
fn line(task: &Task) -> String {
    let millis = task.duration.as_millis();
    match &task.outcome {
        Some(outcome) => format!("[{} {outcome}, {millis} ms]", task.id),
        None => format!("[{} is running, {millis} ms]", task.id),
    }
}

/// The outcome first, then the output, then what changed, what is left, what was cut.
fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let outcome = ran.outcome();
    let cut = ran.amount.bytes > run.room as u64;
    let output = if cut {
        let note = format!(
            "\n[… {} of {} bytes left out: BashOutput with bash_id {} and since {} reads on here …]\n",
            ran.amount.bytes - run.room as u64,
            ran.amount.bytes,
            ran.run_id(),
            run.room / 2,
        );
        both_ends(ran.stdout(), run.room / 2, &note)
    } else {
        ran.stdout().to_text()
    };
    let output = without_escapes(&output);
    let mut lines = vec![first_line(run, ran)];
    lines.extend(run.notes.iter().map(|note| format!("[{note}]")));
    if !output.is_empty() {
        lines.push(output.strip_suffix('\n').unwrap_or(&output).to_owned());
    }
    if ran.moved {
        lines.push(format!("[working directory: {}]", ran.cwd.display()));
    }
    lines.extend(ran.waits().map(|wait| waiting_line(ran.run_id(), wait)));
    lines.extend(leftover_lines(ran));
    lines.extend(ran.notices.iter().map(|notice| format!("[{notice}]")));
    let more = json!({
        "output": output, "truncated": cut, "cwd_changed": ran.moved, "waiting": waiting(ran.waits()), "session": run.session,
        "description": run.request.description,
    });
    let failed = !ended_by_itself(outcome.as_ref()) && outcome != Some(Outcome::Running);
    Reply { text: lines.join("\n"), structured: with(run_facts(ran), &more), is_error: failed }
}

fn first_line(run: &RunAction, ran: &Ran) -> String {
    let millis = ran.duration().as_millis();
    match ran.outcome() {
        None => "[was not run]".to_owned(),
        Some(Outcome::TimedOut) if ran.limit() != Some(TimeLimit::Silence) => {
            format!("[timed out after {} ms; stopped with everything it started]", run.limit_ms())
        }
        Some(Outcome::Running) => {
            format!("[still running as {0}, {millis} ms; BashOutput with bash_id {0} reads on]", ran.run_id())
        }
        Some(other) if ran.amount.bytes == 0 => format!("[{other}, {millis} ms, no output]"),
        Some(other) => format!("[{other}, {millis} ms]"),
    }
}

fn read_reply(read: &TaskOutput) -> Reply {
    let output = if read.view == View::Raw { read.output.clone() } else { without_escapes(&read.output) };
    let mut lines = vec![line(&read.task)];
    lines.extend(read.waited.as_ref().map(|why| format!("[waited: {why}]")));
    match read.look.as_ref().filter(|_| read.view == View::Screen) {
        Some(look) => lines.extend(screen_lines(look)),
        None if output.is_empty() => {}
        None => lines.push(output.strip_suffix('\n').unwrap_or(&output).to_owned()),
    }
    if let Some(look) = &read.look {
        lines.extend(look.waits.as_ref().map(|wait| waiting_line(&read.task.id, wait)));
        if look.people > 0 || look.typed_by_people > 0 {
            lines.push(format!("[people attached: {}, and typed {} times]", look.people, look.typed_by_people));
        }
    }
    if read.left_out > 0 {
        let (left, id, end) = (read.left_out, &read.task.id, read.end);
        lines.push(format!("[{left} more bytes: BashOutput with bash_id {id} and since {end}, or a narrower part]"));
    }
    if read.not_kept > 0 {
        lines.push(format!("[{} bytes of this are not kept any more]", read.not_kept));
    }
    let more = json!({
        "output": output, "left_out": read.left_out, "not_kept": read.not_kept, "next": read.end, "waited": read.waited,
    });
    let facts = with(task_facts(&read.task), &more);
    Reply::good(lines.join("\n"), with(facts, &Value::Object(look_facts(read.look.as_deref()))))
}

/// The rows of a screen between two lines that say what they are.
fn screen_lines(look: &Look) -> [String; 3] {
    let screen = &look.screen;
    let title = screen.title.as_ref().map(|title| format!(", title '{title}'")).unwrap_or_default();
    let (row, column) = (screen.cursor.row + 1, screen.cursor.column + 1);
    let full = if screen.alternate { ", full-screen program" } else { "" };
    [
        format!("[screen of {} columns and {} rows{full}{title}]", screen.size.columns, screen.size.rows),
        screen.to_text(),
        format!("[cursor in row {row}, column {column}]"),
    ]
}

fn list_shape() -> Value {
    let mut list = shape(&[Field::list("shells"), Field::integer("not_listed")]);
    list["properties"]["shells"]["items"] = task(&[Field::text("description").or_null()]);
    list
}

/// All that run, and the last of those that ended.
fn list_reply(tasks: &[Task]) -> Reply {
    let (running, ended): (Vec<&Task>, Vec<&Task>) = tasks.iter().partition(|task| task.status.is_running());
    let not_listed = ended.len().saturating_sub(ENDED);
    let shown: Vec<&Task> = running.into_iter().chain(ended.into_iter().take(ENDED)).collect();
    let command = |task: &Task| task.command.lines().next().unwrap_or_default().to_owned();
    let mut lines: Vec<String> = shown.iter().map(|task| format!("{}  {}", line(task), command(task))).collect();
    if lines.is_empty() {
        lines.push("Nothing runs.".to_owned());
    }
    if not_listed > 0 {
        lines.push(format!("[{not_listed} that ended before are not listed]"));
    }
    let facts = shown.iter().map(|task| with(task_facts(task), &json!({"description": task.description})));
    let facts: Vec<Value> = facts.map(Value::Object).collect();
    Reply::good(lines.join("\n"), object(&json!({"shells": facts, "not_listed": not_listed})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_as_people_count() {
        let cases = [
            ("lines 1-100", Some(Part::Lines(0..100))),
            ("lines 7-7", Some(Part::Lines(6..7))),
            ("bytes 0-4095", Some(Part::Bytes(0..4096))),
            (" bytes 5 - 6 ", Some(Part::Bytes(5..7))),
            ("lines 0-1", None),
            ("lines 5-4", None),
            ("bytes 5-4", None),
            ("1-100", None),
            ("words 1-2", None),
            ("bytes 0-18446744073709551615", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(range(text).ok(), expected, "{text}");
        }
    }
}
