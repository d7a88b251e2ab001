//! The tools of `native`, as a model sees them.

use serde_json::Value;

use super::{FORM, LISTED, undo};
use crate::bash_like::{FILES, kill_replies};
use crate::facts::{lean_ran, look_fields, task};
use crate::shape::{Field, any_of, shape};
use crate::timeouts;
use crate::tool::{ON, Surroundings, ToolEffect, ToolSpec, boolean, choice, integer, string, variables};

pub(super) const ON_TIMEOUT: [&str; 2] = ["stop", "background"];

pub(super) const VIEWS: [&str; 3] = ["plain", "raw", "screen"];

fn view(description: &str) -> (&'static str, Value) {
    ("view", choice(&VIEWS, description))
}

fn others() -> (&'static str, Value) {
    ("others", boolean("Also those of other clients."))
}

fn id() -> (&'static str, Value) {
    ("bash_id", string("The command's id."))
}

pub(super) fn bash(around: &Surroundings) -> ToolSpec {
    let undo = undo::parameter(around);
    let undo_reply = undo.as_ref().map(|_| undo::reply_shape());
    let required: &[&str] = if undo.is_some() { &[] } else { &["command"] };
    let mut tool = ToolSpec {
        name: "Bash",
        description: format!(
            "Run a bash command. Directory, variables, functions and options carry over to the next call, also after \
             exit or a timeout; it starts in {}. A command that leaves something running (server &) returns at once \
             and says what. {{{{port:NAME}}}} is a free port of this session. {FILES}",
            around.directory.display()
        ),
        parameters: vec![
            ("command", string("The command.")),
            ("timeout", integer(1, &timeouts::description())),
            (
                "on_timeout",
                choice(&ON_TIMEOUT, "stop (default) it with everything it started, or let it go on and give its id."),
            ),
            ("wait", integer(0, "Milliseconds to wait; then its id is given and it goes on.")),
            ("run_in_background", boolean("Come back at once with its id; no timeout if left out.")),
            ("watch", string("In the background: as in BashOutput.")),
            ("wait_for_port", integer(0, "In the background: come back when it listens on this port (0: any).")),
            ("preview", boolean("Only try it: which files would change?")),
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
            ("cols", integer(2, "With pty: its width; 80 if left out.")),
            ("rows", integer(1, "With pty: its height; 24 if left out.")),
            ("session", string("Run in this session, with its own state. NEW=OLD: a copy of OLD.")),
            ("reset", boolean("Start the session afresh first.")),
            ("description", string("What it does, in a few words.")),
            ("head", integer(0, "Lines.")),
            ("tail", integer(0, "Lines.")),
            ("filter", string("A regex.")),
            ("compact", boolean("false: all lines.")),
        ],
        required,
        effect: ToolEffect::Runs,
        output_schema: any_of(
            [
                lean_ran(&[
                    Field::text("output").or_absent(),
                    Field::text("screen").or_absent(),
                    Field::boolean("truncated").or_absent(),
                    Field::object("selected").or_absent(),
                    Field::texts("notices").or_absent(),
                    PORTS[0],
                    PORTS[1],
                ]),
                task(FORM, &[]),
                task(FORM, &read_fields()),
            ]
            .into_iter()
            .chain(undo_reply),
        ),
    };
    tool.parameters.extend(undo);
    tool.parameters.extend(on(around));
    tool
}

pub(super) fn output() -> ToolSpec {
    ToolSpec {
        name: "BashOutput",
        description: "Output of a command that runs or ran: what is new, or a part of it. Can wait first, so \
                      there is no need to poll."
            .to_owned(),
        parameters: vec![
            id(),
            (
                "wait",
                integer(0, "Milliseconds to wait at most; alone: until it ends; with wait_for 120000 if left out."),
            ),
            (
                "wait_for",
                string(
                    "Wait until a new line matches this regular expression ('.': any line), or it ends. New is what you \
                     have not read, or what comes after since.",
                ),
            ),
            (
                "watch",
                string(
                    "A regular expression that stays on it: when lines match from now on, your next reply says so. '' ends \
                     all watches on it.",
                ),
            ),
            ("wait_for_port", integer(0, "Wait until it listens on this port (0: any), or it ends.")),
            ("since", integer(0, "From this byte on, in place of what is new; 0 is the beginning.")),
            ("range", string("These alone: 'lines 1-100' or 'bytes 0-4095'.")),
            ("tail", integer(0, "Only this many lines from the end.")),
            ("filter", string("A regular expression: only lines that match. Nothing counts as read.")),
            view(
                "plain: text without escapes; raw: as printed; screen: what its terminal shows, and wait_for matches that.",
            ),
            others(),
        ],
        required: &["bash_id"],
        effect: ToolEffect::Looks,
        output_schema: any_of([task(FORM, &read_fields())]),
    }
}

pub(super) fn input() -> ToolSpec {
    ToolSpec {
        name: "BashInput",
        description: "Type into a command started with pty, write to one started with open_stdin, or send a \
                      signal to any. With pty the answer is what is new, or the screen of a full-screen program, once it waits \
                      for more."
            .to_owned(),
        parameters: vec![
            id(),
            ("text", string("What to write; add the newline.")),
            ("keys", string("With pty: keys by name, like 'down down enter', 'ctrl-c', 'esc : w q enter'.")),
            ("paste", string("With pty: text as a paste, which programs do not act on line by line.")),
            ("end", boolean("Nothing will follow.")),
            ("signal", string("A signal, like INT or TERM.")),
            ("wait", integer(0, "Milliseconds to wait at most, then read; with pty 2000 if left out.")),
            ("wait_for", string("Wait until a new line matches this; of a full-screen program, a line on its screen.")),
            view("What to answer with, in place of what is new."),
            ("cols", integer(2, "With pty: a new width of the terminal.")),
            ("rows", integer(1, "With pty: a new height.")),
            others(),
        ],
        required: &["bash_id"],
        effect: ToolEffect::Runs,
        output_schema: any_of([shape(&[Field::text("bash_id")]), task(FORM, &read_fields())]),
    }
}

pub(super) fn kill() -> ToolSpec {
    ToolSpec {
        name: "KillShell",
        description: "Stop a command with everything it started; returns when nothing is left.".to_owned(),
        parameters: vec![id(), others()],
        required: &["bash_id"],
        effect: ToolEffect::Stops,
        output_schema: kill_replies(FORM),
    }
}

pub(super) fn list(around: &Surroundings) -> ToolSpec {
    let mut tool = ToolSpec {
        name: "ListShells",
        description: "Your commands that run, the last background ones that ended, and the machine's size.".to_owned(),
        parameters: vec![
            ("ended", integer(0, "List this many commands that ended, whether in the background or not.")),
            others(),
        ],
        required: &[],
        effect: ToolEffect::Looks,
        output_schema: any_of([list_shape()]),
    };
    tool.parameters.extend(on(around));
    tool
}

/// The machine that is meant, where a person named some.
fn on(around: &Surroundings) -> Option<(&'static str, Value)> {
    let names: Vec<&str> = around.targets.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| (ON, choice(&names, "On this machine instead.")))
}

/// What a running command listens on, and what of that is unknown.
const PORTS: [Field; 2] = [Field::list("listening").or_absent(), Field::text("listening_unknown").or_absent()];

fn read_fields() -> Vec<Field> {
    let output = [
        Field::text("output").or_absent(),
        Field::integer("left_out").or_absent(),
        Field::object("compacted").or_absent(),
        Field::integer("not_kept").or_absent(),
        Field::integer("next").or_absent(),
        Field::text("waited").or_absent(),
        Field::list("watches").or_absent(),
    ];
    [&output[..], &PORTS, &look_fields()].concat()
}

fn list_shape() -> Value {
    let fields =
        [Field::list("shells"), Field::integer("not_listed").or_absent(), Field::object("machine").or_absent()];
    let mut list = shape(&fields);
    list["properties"]["machine"] = shape(&[Field::integer("cores"), Field::integer("memory_bytes").or_absent()]);
    let more = ["description", "owner", "directory"].map(|name| Field::text(name).or_absent());
    list["properties"]["shells"]["items"] = task(LISTED, &[&more[..], &PORTS].concat());
    list
}
