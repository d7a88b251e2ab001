//! `native`: everything the engine can do, in few words. The default.

mod reply;
mod shorter;
mod tools;
mod undo;

use std::sync::OnceLock;

use chiton_engine::tasks::{Part, WantedPort};
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{CommandInput, EnvironmentChange, OnTimeout, PreviewMode, Signal, Streams, TaskLifetime, Typing};
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::action::{
    Action, Done, Failure, FailureKind, Gaps, ListAction, Message, OutputView, ReadAction, RunAction, StartsFrom,
    TaskRef, WatchChange, Whose,
};
use crate::arguments::{Arguments, short};
use crate::call_error::CallError;
use crate::facts::{TaskForm, object, task_facts, with};
use crate::reply::{NOTES, Reply};
use crate::select::Selection;
use crate::timeouts::DEFAULT_TIMEOUT;
use crate::tool::{Dialect, Structured, Surroundings, ToolSpec, UndoOffer, arguments_of};

pub(crate) struct Native;

/// How it reports a task, and how in a list, where the command is what tells one from another.
const FORM: TaskForm =
    TaskForm { ids: &["bash_id"], fields: &["status", "exit_code", "signal", "duration_ms", "protection"] };
const LISTED: TaskForm =
    TaskForm { ids: FORM.ids, fields: &["command", "status", "exit_code", "signal", "duration_ms"] };

/// Bytes of output that are given at once; of a command that printed more, its beginning and its end.
const LIMIT: usize = 30_000;

/// How many background commands may run at once, where nobody says otherwise: more than anybody has in view, and few enough
/// that a loop which starts one after the other does not take the machine.
const TASKS: usize = 64;

impl Dialect for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "Bash, BashOutput, BashInput, KillShell, ListShells: all that the engine can do"
    }

    fn task_limit(&self) -> Option<usize> {
        Some(TASKS)
    }

    fn reaches_others(&self) -> bool {
        true
    }

    fn names_machines(&self) -> bool {
        true
    }

    fn has_gaps(&self) -> bool {
        true
    }

    fn reports_ports(&self) -> bool {
        true
    }

    fn restart_words(&self) -> Option<&'static str> {
        Some("reset: true")
    }

    fn says_how_a_task_ended(&self, _done: &Done) -> bool {
        true
    }

    fn says_that_a_task_waits(&self) -> bool {
        true
    }

    fn listing_tool(&self) -> Option<&'static str> {
        Some("ListShells")
    }

    fn structured(&self) -> Structured {
        Structured::ForPrograms
    }

    fn longest_reply(&self) -> Option<usize> {
        Some(LIMIT + NOTES)
    }

    fn running_tool(&self) -> &'static str {
        "Bash"
    }

    fn tools(&self, around: &Surroundings) -> Vec<ToolSpec> {
        vec![tools::bash(around), tools::output(), tools::input(), tools::kill(), tools::list(around)]
    }

    fn read(&self, tool: &str, values: &Map<String, Value>, around: &Surroundings) -> Result<Action, CallError> {
        // Only their names count here, which are the same everywhere.
        static TOOLS: OnceLock<Vec<ToolSpec>> = OnceLock::new();
        let everything = || self.tools(&Surroundings { undo: UndoOffer::Yes, ..around.clone() });
        let arguments = arguments_of(TOOLS.get_or_init(everything), tool, values)?;
        let others = arguments.flag("others")?;
        let task = || arguments.required("bash_id").map(if others { TaskRef::OfAnybody } else { TaskRef::Id });
        match tool {
            "BashOutput" => Ok(Action::Read(ReadAction {
                filter: arguments.text("filter")?,
                watch: arguments.text("watch")?.map(watch_change),
                wait_for: arguments.text("wait_for")?,
                wait_for_port: wanted_port(&arguments)?,
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
            "ListShells" => {
                let whose = if others { Whose::Everybodys } else { Whose::Own };
                Ok(Action::List(ListAction { whose, ended: arguments.number("ended")? }))
            }
            _ => match undo::read(&arguments)? {
                Some(action) if around.undo == UndoOffer::Yes => Ok(action),
                _ => read_bash(&arguments, around),
            },
        }
    }

    fn write(&self, action: &Action, done: &Done) -> Reply {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => reply::ran_reply(run, ran),
            (action, Done::Started { task, .. }) => {
                let watch = if let Action::Start(run) = action { run.watch.as_deref() } else { None };
                let told = watch.map(|pattern| format!("\n[{}]", reply::watching(pattern))).unwrap_or_default();
                let text = match &task.outcome {
                    Some(outcome) => format!("{0} {outcome} already. BashOutput with bash_id {0} reads it.", task.id),
                    None => format!(
                        "Running as {0}. BashOutput with bash_id {0} reads it, and can wait for it.{told}",
                        task.id
                    ),
                };
                let ports = task.ports.iter().map(|(name, number)| format!("\n[port {name} = {number}]"));
                let text = text + &ports.collect::<String>();
                Reply::good(text, task_facts(task, FORM))
            }
            (Action::Read(request), Done::Read(read)) => reply::read_reply(read, request.filter.as_deref()),
            (_, Done::Read(read)) => reply::read_reply(read, None),
            (_, Done::Sent { id }) => Reply::good(format!("Sent to {id}."), object(&json!({"bash_id": id}))),
            (_, Done::Killed { task, already }) => {
                let word = if *already { "already stopped" } else { "terminated, with everything it started" };
                Reply::good(
                    format!("{} {word}", task.id),
                    with(task_facts(task, FORM), &json!({"already_stopped": already})),
                )
            }
            (_, Done::Undone(undone)) => undo::reply(undone),
            (Action::List(list), Done::Listed(listed)) => reply::list_reply(*list, listed),
            (_, Done::Failed(failure)) if failure.kind == FailureKind::InputClosed => {
                let message = format!("{}; start it with open_stdin, or with pty, to write to it", failure.message);
                Reply::failed(&Failure { message, ..failure.clone() })
            }
            (_, done) => Reply::otherwise(done),
        }
    }
}

/// The session that a call wants, and what it starts from. `new=old` branches off; a name has no `=` in it.
fn session(arguments: &Arguments<'_>) -> Result<(Option<String>, StartsFrom), CallError> {
    let (given, reset) = (arguments.text("session")?, arguments.flag("reset")?);
    let afresh = if reset { StartsFrom::Beginning } else { StartsFrom::Session };
    let Some(given) = given else { return Ok((None, afresh)) };
    let Some((new, old)) = given.split_once('=') else { return Ok((Some(given), afresh)) };
    let problem = if reset {
        "as NEW=OLD starts from OLD, and `reset` from the beginning: choose one"
    } else if new.is_empty() || old.is_empty() {
        "as NEW=OLD has a name on both sides; OLD may be . for the session without a name"
    } else {
        ""
    };
    if !problem.is_empty() {
        return Err(CallError::BadValue { name: "session", problem: problem.to_owned() });
    }
    let old = (old != ".").then(|| old.to_owned());
    Ok((Some(new.to_owned()), StartsFrom::CopyOf(old)))
}

fn read_bash(arguments: &Arguments<'_>, around: &Surroundings) -> Result<Action, CallError> {
    let mut run = RunAction::new(&arguments.required("command")?);
    (run.request.streams, run.request.task_lifetime, run.room) = (Streams::Merged, TaskLifetime::Durable, LIMIT);
    run.request.description = arguments.text("description")?;
    run.request.directory = arguments.text("workdir")?.map(Into::into);
    run.request.environment = EnvironmentChange::Merge(arguments.variables("env")?);
    (run.session, run.starts_from) = session(arguments)?;
    let (stdin, open) = (arguments.text("stdin")?, arguments.flag("open_stdin")?);
    run.request.terminal = terminal(arguments)?;
    run.request.until_input = run.request.terminal.is_some();
    run.watch = arguments.text("watch")?.filter(|pattern| !pattern.is_empty());
    let (timeout, wait) = (arguments.millis("timeout")?, arguments.millis("wait")?);
    let port = wanted_port(arguments)?;
    let background = arguments.flag("run_in_background")? || port.is_some();
    if arguments.choice("on_timeout", &tools::ON_TIMEOUT)? == Some("background") {
        run.request.on_timeout = OnTimeout::HandBack;
    }
    if arguments.flag("preview")? {
        run.request.preview = PreviewMode::On;
    }
    let is_preview = run.request.preview == PreviewMode::On;
    let handed_back = wait.is_some() || run.request.on_timeout == OnTimeout::HandBack;
    run.selection = selection(arguments)?;
    if arguments.switch("compact")? == Some(false) {
        run.gaps = Gaps::No;
    }
    let selects = run.selection.is_some();
    let contradictions = [
        (
            "wait",
            background && wait.is_some() && port.is_none(),
            "goes without run_in_background: leave out one of them",
        ),
        (
            "on_timeout",
            background && run.request.on_timeout == OnTimeout::HandBack,
            "is 'stop' with run_in_background: it runs in the background already",
        ),
        (
            "watch",
            run.watch.is_some() && !background,
            "goes with run_in_background; on one that runs already, BashOutput puts it",
        ),
        ("stdin", run.request.terminal.is_some() && stdin.is_some(), "goes without pty: what it reads there is typed"),
        ("open_stdin", open && stdin.is_some(), "goes without stdin: input is either given or left open"),
        (
            "open_stdin",
            open && !background && !handed_back,
            "goes with run_in_background, wait or on_timeout 'background': nobody could write to it while it is waited for",
        ),
        (
            "filter",
            selects && background,
            "goes without run_in_background, and so do head and tail: BashOutput has them",
        ),
        ("filter", selects && run.request.terminal.is_some(), "goes without pty, and so do head and tail"),
        (
            "preview",
            is_preview && (background || handed_back || run.request.terminal.is_some()),
            "goes without run_in_background, wait, on_timeout 'background' and pty: it is what there is at the end",
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
        let until_it_listens = |port| ReadAction {
            wait_for_port: Some(port),
            wait,
            limit: Some(LIMIT as u64),
            ..ReadAction::new(TaskRef::Id(String::new()), Part::New)
        };
        return Ok(match port {
            Some(port) => Action::Watch(Box::new(run), Box::new(until_it_listens(port))),
            None => Action::Start(Box::new(run)),
        });
    }
    (run.request.timeout, run.request.wait) = (timeout.or(around.timeout).or(Some(DEFAULT_TIMEOUT)), wait);
    Ok(Action::Run(Box::new(run)))
}

/// Which lines are asked for, where not all are.
fn selection(arguments: &Arguments<'_>) -> Result<Option<Selection>, CallError> {
    let filter = arguments.text("filter")?.map(|pattern| Regex::new(&pattern)).transpose();
    let filter = filter.map_err(|error| CallError::BadValue {
        name: "filter",
        problem: format!("is a regular expression: {error}"),
    })?;
    let (head, tail) = (arguments.number("head")?, arguments.number("tail")?);
    let is_given = filter.is_some() || head.is_some() || tail.is_some();
    Ok(is_given.then_some(Selection { filter, head, tail }))
}

/// The port that a call waits for, where it does.
fn wanted_port(arguments: &Arguments<'_>) -> Result<Option<WantedPort>, CallError> {
    let Some(number) = arguments.number("wait_for_port")? else { return Ok(None) };
    let problem = || format!("is a port from 1 to 65535, or 0 for any, not {number}");
    match u16::try_from(number) {
        Ok(0) => Ok(Some(WantedPort::Any)),
        Ok(number) => Ok(Some(WantedPort::Number(number))),
        Err(_) => Err(CallError::BadValue { name: "wait_for_port", problem: problem() }),
    }
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

fn read_view(arguments: &Arguments<'_>) -> Result<Option<OutputView>, CallError> {
    Ok(arguments.choice("view", &tools::VIEWS)?.map(|word| match word {
        "raw" => OutputView::Raw,
        "screen" => OutputView::Screen,
        _ => OutputView::Plain,
    }))
}

fn watch_change(pattern: String) -> WatchChange {
    if pattern.is_empty() { WatchChange::EndAll } else { WatchChange::Add(pattern) }
}

/// Which part of the output is asked for: one of three ways to say it, or what is new.
fn part(arguments: &Arguments<'_>) -> Result<Part, CallError> {
    let since = arguments.number("since")?.map(|since| ("since", Part::Bytes(since..u64::MAX)));
    let range = arguments.text("range")?.map(|text| range(&text)).transpose()?.map(|part| ("range", part));
    let tail = arguments.number("tail")?.map(|lines| ("tail", Part::Tail(lines)));
    let mut given = since.into_iter().chain(range).chain(tail);
    match (given.next(), given.next()) {
        (None, _) => Ok(Part::New),
        (Some((_, part)), None) => Ok(part),
        (Some((name, _)), Some((other, _))) => {
            let problem = format!("goes without {other}: give one of since, range and tail");
            Err(CallError::BadValue { name, problem })
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
