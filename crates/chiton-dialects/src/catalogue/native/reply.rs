//! How `native` answers.

use std::time::Duration;

use chiton_engine::tasks::{Listening, Watch};
use chiton_engine::terminal::text::{ScreenAtEnd, outside_full_screen};
use chiton_engine::{Look, Outcome, Task, TimeLimit};
use serde_json::{Map, Value, json};

use super::shorter::{self, HEAD, ShorterText, TAIL, ends};
use super::{FORM, LISTED};
use crate::action::{ListAction, Listed, OutputView, Ran, RunAction, TaskOutput, WatchChanged};
use crate::bash_like::ended_by_itself;
use crate::facts::{compacted, lean_run_facts, look_facts, object, task_facts, with};
use crate::reply::Reply;
use crate::text::{command_line, leftover_lines, waiting_line, without_escapes};
use chiton_engine::machine::MachineSize;

/// More lines than this are too many, as more bytes than there is room for are: some clients cut them off themselves.
const LINES: u64 = 1900;
/// What takes longer than this is worth a word.
const LONG: Duration = Duration::from_secs(10);

/// This many background commands that have ended are listed, where the call does not say how many.
const ENDED: usize = 5;
/// And at most, whatever a call wishes.
const MOST_ENDED: usize = 100;

/// How a task stands, as the first line of a reply.
fn line(task: &Task) -> String {
    let millis = task.duration.as_millis();
    match &task.outcome {
        Some(outcome) => format!("[{} {outcome}, {millis} ms]", task.id),
        None => format!("[{} is running, {millis} ms]", task.id),
    }
}

/// How it ended, unless that is well and with output, then the output, then what changed, what is left, what was cut.
pub(super) fn ran_reply(run: &RunAction, ran: &Ran) -> Reply {
    let outcome = ran.outcome();
    let is_long = ran.amount.bytes > (HEAD + TAIL) as u64;
    let cut = is_long && (ran.amount.bytes > run.room as u64 || ran.amount.lines > LINES);
    let shorter = ran.shorter.as_ref().map(|shorter| ShorterText::of(shorter, ran, cut));
    let output = match (&shorter, run.request.terminal) {
        (Some(shorter), _) => shorter.output.clone(),
        _ if cut => ends(ran),
        (_, Some(_)) => without_escapes(&outside_full_screen(&ran.stdout().to_text(), ScreenAtEnd::Main)),
        (_, None) => without_escapes(&ran.stdout().to_text()),
    };

    let mut lines: Vec<String> = first_line(run, ran).into_iter().collect();
    lines.extend(run.notes.iter().map(|note| format!("[{note}]")));
    if let Some(look) = &ran.screen {
        lines.extend(screen_lines(look));
    } else if !output.is_empty() {
        lines.push(output.strip_suffix('\n').unwrap_or(&output).to_owned());
    }
    lines.extend(shorter::remark(shorter.as_ref(), &output));
    if ran.moved {
        lines.push(format!("[working directory: {}]", ran.cwd.display()));
    }
    lines.extend(ran.waits().map(|wait| waiting_line(ran.run_id(), wait)));
    lines.extend(leftover_lines(ran));
    lines.extend(ran.ports.news.as_ref().map(|news| format!("[{news}]")));
    lines.extend(ran.notices.iter().map(|notice| format!("[{notice}]")));
    if lines.is_empty() {
        // All that it printed was drawn on a screen that is gone.
        lines.push("[no output]".to_owned());
    }

    let notices: Vec<&String> = run.notes.iter().chain(&ran.notices).collect();
    let more = json!({
        "output": said(&output).filter(|_| ran.screen.is_none()),
        "screen": ran.screen.as_ref().map(|look| look.screen.to_text()),
        "truncated": (shorter.as_ref().map_or(cut, |shorter| shorter.is_cut) && ran.screen.is_none()).then_some(true),
        "selected": shorter.as_ref().and_then(|shorter| shorter.selected.clone()),
        "notices": (!notices.is_empty()).then_some(notices),
    });
    let failed = !ended_by_itself(outcome.as_ref()) && outcome != Some(Outcome::Running);
    let structured = with(with(lean_run_facts(ran), &more), &ports_facts(&ran.ports.listening));
    Reply { text: lines.join("\n"), structured, is_error: failed }
}

/// A text, where it says something.
fn said(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// How it ended. An exit code of 0 goes without saying, where there is output that says something.
fn first_line(run: &RunAction, ran: &Ran) -> Option<String> {
    let took = ran.duration();
    let took = if took >= LONG { format!(", {} s", took.as_secs()) } else { String::new() };
    Some(match ran.outcome() {
        None => "[was not run]".to_owned(),
        Some(Outcome::TimedOut) if ran.limit() != Some(TimeLimit::Silence) => {
            format!("[timed out after {} ms; stopped with everything it started]", run.limit_ms())
        }
        Some(Outcome::Running) if ran.waits().is_some() => {
            format!("[running as {0}; BashInput with bash_id {0} types]", ran.run_id())
        }
        Some(Outcome::Running) => {
            let millis = ran.duration().as_millis();
            format!("[still running as {0}, {millis} ms; BashOutput with bash_id {0} reads on]", ran.run_id())
        }
        Some(Outcome::Exited(0)) if ran.amount.bytes == 0 => format!("[no output{took}]"),
        Some(Outcome::Exited(0)) if took.is_empty() => return None,
        Some(other) if ran.amount.bytes == 0 => format!("[{other}{took}, no output]"),
        Some(other) => format!("[{other}{took}]"),
    })
}

/// The task, why a wait is over, the output, what was left out. `filter` is the one that the call gave.
pub(super) fn read_reply(read: &TaskOutput, filter: Option<&str>) -> Reply {
    let output = match (&read.compacted, read.view) {
        (Some(compacted), _) => compacted.shown.clone(),
        (None, OutputView::Raw) => read.output.head.clone(),
        (None, _) => without_escapes(&read.output.head),
    };
    let mut lines = vec![line(&read.task)];
    lines.extend(read.watch.as_ref().map(|watch| format!("[{}]", watch_line(watch))));
    lines.extend(read.waited.as_ref().map(|why| format!("[waited: {why}]")));
    lines.extend(read.ports.news.as_ref().filter(|news| !says_the_same(read, news)).map(|news| format!("[{news}]")));
    match read.look.as_ref().filter(|_| read.view == OutputView::Screen) {
        Some(look) => lines.extend(screen_lines(look)),
        None if output.is_empty() => {}
        None => lines.push(output.strip_suffix('\n').unwrap_or(&output).to_owned()),
    }
    if let Some(compacted) = &read.compacted {
        lines.extend(shorter::how_to_read(compacted, &read.task.id));
    }
    if let Some(look) = &read.look {
        lines.extend(look.waits.as_ref().map(|wait| waiting_line(&read.task.id, wait)));
        if look.people > 0 || look.typed_by_people > 0 {
            lines.push(format!("[people attached: {}, and typed {} times]", look.people, look.typed_by_people));
        }
    }
    if read.left_out > 0 {
        let (left, id, rest) = (read.left_out, &read.task.id, read.rest);
        let same = if filter.is_some() { ", the same filter" } else { "" };
        lines.push(format!(
            "[{left} more bytes: BashOutput with bash_id {id}{same} and since {rest}, or a narrower part]"
        ));
    }
    if read.not_kept > 0 {
        lines.push(format!("[{} bytes of this are not kept: the quota or the disk was full]", read.not_kept));
    }
    let is_screen = read.view == OutputView::Screen;
    let more = json!({
        "output": said(&output).filter(|_| !is_screen),
        "left_out": some(read.left_out),
        "compacted": compacted(read.compacted.as_deref()),
        "not_kept": some(read.not_kept),
        "next": (read.task.status.is_running() || read.left_out > 0).then_some(read.end),
        "waited": read.waited,
        "watches": read.watch.as_ref().map(watch_facts),
    });
    let mut look = look_facts(read.look.as_deref());
    look.retain(|name, _| is_screen || !DRAWN.contains(&name.as_str()));
    let facts = with(with(task_facts(&read.task, FORM), &more), &ports_facts(&read.ports.listening));
    Reply::good(lines.join("\n"), with(facts, &Value::Object(look)))
}

/// That a pattern stays on a task, and what will come of it.
pub(super) fn watching(pattern: &str) -> String {
    format!("watching for '{pattern}': when lines match, your next reply says so")
}

/// What came of a change of the standing watches.
fn watch_line(watch: &WatchChanged) -> String {
    let ended = |watch: &Watch| format!("'{}', which matched {} lines", watch.pattern, watch.matches);
    match watch {
        WatchChanged::Added(watch) if watch.matches > 0 => {
            format!("{}; it has matched {} by now", watching(&watch.pattern), watch.matches)
        }
        WatchChanged::Added(watch) => watching(&watch.pattern),
        WatchChanged::Ended(watches) if watches.is_empty() => "nothing was watched for".to_owned(),
        WatchChanged::Ended(watches) => {
            format!("no longer watching for {}", watches.iter().map(ended).collect::<Vec<_>>().join("; "))
        }
    }
}

fn watch_facts(watch: &WatchChanged) -> Value {
    let (watches, state) = match watch {
        WatchChanged::Added(watch) => (std::slice::from_ref(watch), "standing"),
        WatchChanged::Ended(watches) => (&watches[..], "ended"),
    };
    let fact = |watch: &Watch| json!({"pattern": watch.pattern, "matches": watch.matches, "state": state});
    watches.iter().map(fact).collect()
}

/// Whether the end of a wait says what there is to say about ports.
fn says_the_same(read: &TaskOutput, news: &str) -> bool {
    let Some(why) = read.waited.as_deref() else { return false };
    let port = why.strip_prefix("it listens on ");
    why.ends_with(news) || port.is_some() && port == news.strip_prefix("listening on ")
}

/// What a task listens on, for programs.
fn ports_facts(listening: &Listening) -> Value {
    let (sockets, unknown) = (&listening.sockets, listening.unknown.in_words());
    if sockets.is_empty() && unknown.is_none() {
        return Value::Null;
    }
    json!({"listening": Some(sockets).filter(|sockets| !sockets.is_empty()), "listening_unknown": unknown})
}

/// What says how the terminal looks.
const DRAWN: [&str; 5] = ["screen", "cursor", "size", "alternate_screen", "title"];

/// A number, where there is something to count.
fn some(count: u64) -> Option<u64> {
    Some(count).filter(|count| *count > 0)
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

/// All that run, and the last of those that ended: own work first, then that of others.
pub(super) fn list_reply(list: ListAction, listed: &Listed) -> Reply {
    let (own, others) = (Shown::of(&listed.own, list.ended), Shown::of(&listed.others, list.ended));
    let mut lines: Vec<String> = own.tasks.iter().map(|task| listed_line(task, listed)).collect();
    if !own.tasks.iter().any(|task| task.status.is_running()) {
        let whose = if listed.others.is_empty() { "Nothing runs." } else { "Nothing of yours runs." };
        lines.insert(0, whose.to_owned());
    }
    lines.extend(
        others.tasks.iter().map(|task| {
            format!("{}  [of {} in {}]", listed_line(task, listed), owner_of(task), task.directory.display())
        }),
    );
    let not_listed = own.not_listed + others.not_listed;
    if not_listed > 0 {
        let all = own.ended.max(others.ended);
        let lists = match list.ended {
            Some(_) if all > MOST_ENDED => "`chiton ps --all` lists them".to_owned(),
            _ => format!("ListShells with ended {} lists them", all.min(MOST_ENDED)),
        };
        lines.push(format!("[{not_listed} more have ended: {lists}]"));
    }

    lines.extend(listed.machine.map(machine_line));

    let facts = |task: &Task| listed_facts(task, listed);
    let whose = |task: &Task| json!({"owner": owner_of(task), "directory": task.directory.to_string_lossy()});
    let of_others = others.tasks.iter().map(|task| with(facts(task), &whose(task)));
    let shells: Vec<Value> = own.tasks.iter().map(|task| facts(task)).chain(of_others).map(Value::Object).collect();
    let facts = with(object(&json!({"shells": shells})), &json!({"not_listed": some(not_listed as u64)}));
    let machine = listed
        .machine
        .map(|size| with(object(&json!({"cores": size.cores})), &json!({"memory_bytes": size.memory_bytes})));
    let facts = with(facts, &json!({"machine": machine}));
    Reply::good(lines.join("\n"), facts)
}

/// The size of the machine, for a model that decides how many jobs a build may have.
fn machine_line(size: MachineSize) -> String {
    let cores = if size.cores == 1 { "1 core".to_owned() } else { format!("{} cores", size.cores) };
    match size.memory_bytes {
        Some(bytes) if bytes >= 1 << 30 => format!("[machine: {cores}, {} GiB memory]", (bytes + (1 << 29)) >> 30),
        Some(bytes) => format!("[machine: {cores}, {} MiB memory]", bytes >> 20),
        None => format!("[machine: {cores}]"),
    }
}

/// What is listed of some tasks.
struct Shown<'a> {
    tasks: Vec<&'a Task>,
    /// How many of them have ended in all, and how many of those are not listed.
    ended: usize,
    not_listed: usize,
}

impl<'a> Shown<'a> {
    /// Those that run, and of those that ended the last `wanted`; where nobody says how many, the last few that ran in
    /// the background: a command that somebody waited for was answered.
    fn of(tasks: &'a [Task], wanted: Option<u64>) -> Self {
        let (mut shown, ended): (Vec<&Task>, Vec<&Task>) = tasks.iter().partition(|task| task.status.is_running());
        let was_awaited = |task: &&&Task| !task.background && task.leftover_of.is_none();
        let room = wanted.map_or(ENDED, |wanted| usize::try_from(wanted).unwrap_or(usize::MAX).min(MOST_ENDED));
        let running = shown.len();
        shown.extend(ended.iter().filter(|task| wanted.is_some() || !was_awaited(task)).take(room));
        Self { ended: ended.len(), not_listed: ended.len() - (shown.len() - running), tasks: shown }
    }
}

fn listed_line(task: &Task, listed: &Listed) -> String {
    let what = task.description.as_ref().map(|what| format!("{what}: ")).unwrap_or_default();
    let ports = listed.listening.get(&task.id).and_then(Listening::in_words);
    let ports = ports.map(|ports| format!("  [{ports}]")).unwrap_or_default();
    format!("{}  {what}{}{ports}", line(task), command_line(&task.command))
}

fn listed_facts(task: &Task, listed: &Listed) -> Map<String, Value> {
    let facts = with(task_facts(task, LISTED), &json!({"description": task.description}));
    listed.listening.get(&task.id).map_or(facts.clone(), |listening| with(facts, &ports_facts(listening)))
}

fn owner_of(task: &Task) -> &str {
    task.owner_name().unwrap_or("a person")
}
