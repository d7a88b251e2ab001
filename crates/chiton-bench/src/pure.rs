//! Parts of Chiton that touch nothing outside of memory, on inputs that never change: `chiton-bench pure NAME TIMES`.
//!
//! [`crate::counts`] runs them under a tool that counts instructions. An operation is one call of the closure that
//! [`find`] gives.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use chiton_dialects::action::{Amount, Ran, ReportedPorts};
use chiton_dialects::{Dialect, Done, Surroundings};
use chiton_engine::capture::HeadTail;
use chiton_engine::guard::{Context, GuardPolicy, judge};
use chiton_engine::limits::ViewLimits;
use chiton_engine::render::TextView;
use chiton_engine::review::Guard;
use chiton_engine::secrets::{Masker, Reference, SecretValue};
use chiton_engine::shell;
use chiton_engine::state::environment::EnvironmentPolicy;
use chiton_engine::state::{Function, Value as StateValue, Variable, counted};
use chiton_engine::terminal::text::plain_text;
use chiton_engine::terminal::{Screen, TerminalSize};
use chiton_engine::{
    ByteString, EnvironmentChange, Occurrence, Outcome, Protection, RunReport, ShellState, StateReport, Usage,
};
use serde_json::{Map, Value, json};

use crate::subject::{MANY, token};
use crate::throughput::text_of;

/// All of them, and how often each is run at least.
pub(crate) const ALL: [(&str, usize); 23] = [
    ("guard-verdict", 300),
    ("guard-with-state", 100),
    ("parse-script", 30),
    ("environment-filter", 50),
    ("state-hash", 50),
    ("state-to-json", 20),
    ("state-from-json", 20),
    ("state-load", 20),
    ("state-change", 20),
    ("state-read", 20),
    ("state-read-part", 20),
    ("head-and-tail", 20),
    ("plain-text", 20),
    ("redactor", 20),
    ("redactor-100", 20),
    ("screen", 5),
    ("screen-flood", 5),
    ("read-native", 300),
    ("read-claude", 300),
    ("read-codex", 300),
    ("write-native", 100),
    ("write-claude", 100),
    ("write-codex", 100),
];

/// What people and agents type all day.
const COMMANDS: [&str; 20] = [
    "true",
    "ls -la",
    "cd src && ls | wc -l",
    "git status --short",
    "git log --oneline -10 | cat",
    "grep -rn 'fn main' src --include='*.rs' | head -20",
    "cargo test --workspace 2>&1 | tail -40",
    "npm install && npm run build",
    "for file in *.txt; do wc -l \"$file\"; done",
    "find . -name '*.log' -mtime +7 -print",
    "rm -rf ./target/debug",
    "python3 -c 'import json,sys; print(json.load(sys.stdin)[\"name\"])' < package.json",
    "export PATH=\"$HOME/bin:$PATH\"; echo \"$PATH\"",
    "curl -fsS https://example.com/api/items | jq '.items[].id'",
    "cat <<'END' > notes.txt\nfirst line\nsecond line\nEND",
    "if [ -f Makefile ]; then make -j4; else echo none; fi",
    "docker compose up -d && docker compose logs --tail=50 web",
    "sed -i 's/old/new/g' config/settings.toml",
    "awk -F, '{sum += $3} END {print sum}' data.csv",
    "tar czf backup.tar.gz --exclude=node_modules . && du -h backup.tar.gz",
];

/// Runs one of them this often.
pub(crate) fn run(name: &str, times: usize) -> Result<()> {
    let mut operation = find(name)?;
    for _ in 0..times {
        operation();
    }
    Ok(())
}

/// One of them, ready to be run.
fn find(name: &str) -> Result<Box<dyn FnMut()>> {
    if let Some(dialect) = name.strip_prefix("read-") {
        return read(dialect);
    }
    if let Some(dialect) = name.strip_prefix("write-") {
        return write(dialect);
    }
    Ok(match name {
        "guard-verdict" => verdict(),
        "guard-with-state" => verdict_with_state()?,
        "parse-script" => parse(),
        "environment-filter" => filter(),
        "state-hash" | "state-to-json" | "state-from-json" => state_as(name)?,
        "state-load" | "state-change" | "state-read" | "state-read-part" => state_in_shell(name)?,
        "head-and-tail" => head_and_tail(),
        "plain-text" => {
            let text = coloured(200);
            Box::new(move || drop(black_box(plain_text(black_box(&text)))))
        }
        "redactor" => {
            let reference = Reference::secret("bench-token").context("no name of a secret")?;
            let value = SecretValue::new("Zx81-spectrum-48k-9f3b");
            let masker = Masker::new([(&reference, &value)]);
            let text = format!("{0}token=Zx81-spectrum-48k-9f3b\n{0}", coloured(100));
            Box::new(move || drop(black_box(masker.mask(black_box(text.as_bytes())))))
        }
        "redactor-100" => {
            let name = Reference::secret("bench-token").context("no name of a secret")?;
            let values: Vec<SecretValue> = (0..MANY).map(|number| SecretValue::new(token(number))).collect();
            let masker = Masker::new(values.iter().map(|value| (&name, value)));
            let (mut stream, text, mut out) = (masker.stream(), text_of(64 << 10), Vec::new());
            Box::new(move || {
                out.clear();
                stream.push(black_box(text.as_bytes()), &mut out);
                black_box(&out);
            })
        }
        "screen-flood" => {
            let (text, mut screen) = (text_of(64 << 10).replace('\n', "\r\n"), Screen::new(TerminalSize::USUAL));
            Box::new(move || {
                for _ in 0..16 {
                    screen.feed(black_box(text.as_bytes()));
                }
                black_box(screen.snapshot());
            })
        }
        "screen" => {
            let (text, mut screen) = (coloured(200), Screen::new(TerminalSize::USUAL));
            Box::new(move || screen.feed(black_box(text.as_bytes())))
        }
        other => bail!("there is no pure part '{other}'"),
    })
}

fn verdict() -> Box<dyn FnMut()> {
    let context = Context::new("/home/dev", "dev", "/home/dev/project");
    let mut commands = COMMANDS.iter().cycle();
    Box::new(move || drop(black_box(judge(commands.next().unwrap_or(&""), &context))))
}

/// As the engine asks it: with everything the session knows.
fn verdict_with_state() -> Result<Box<dyn FnMut()>> {
    let context = Context::new("/home/dev", "dev", "/home/dev/project");
    let guard = Guard::new(GuardPolicy::default().check(&context).context("the policy")?, context);
    let (state, change) = (state().into(), EnvironmentChange::default());
    let mut commands = COMMANDS.iter().cycle();
    Ok(Box::new(move || {
        let command = commands.next().unwrap_or(&"").as_bytes();
        drop(black_box(guard.judge(command, &state, Path::new("/home/dev/project"), &change)));
    }))
}

fn parse() -> Box<dyn FnMut()> {
    let script = COMMANDS.join("\n");
    Box::new(move || drop(black_box(shell::parse(black_box(script.as_bytes())))))
}

fn filter() -> Box<dyn FnMut()> {
    let policy = EnvironmentPolicy::default();
    let environment: Vec<(String, ByteString)> = variables().collect();
    Box::new(move || drop(black_box(policy.inherit(environment.clone()))))
}

/// A state's name, and how it is written down and read.
fn state_as(name: &str) -> Result<Box<dyn FnMut()>> {
    let state = state();
    let text = serde_json::to_string(&state)?;
    Ok(match name {
        "state-hash" => Box::new(move || drop(black_box(state.content_hash().to_string()))),
        "state-to-json" => Box::new(move || drop(black_box(serde_json::to_string(&state)))),
        _ => Box::new(move || drop(black_box(serde_json::from_str::<ShellState>(&text)))),
    })
}

/// A state on its way into a shell, and back.
fn state_in_shell(name: &str) -> Result<Box<dyn FnMut()>> {
    let state = state();
    let mut changed = state.clone();
    let value = StateValue::Scalar("another value".into());
    changed.variables.insert("VARIABLE_7".to_owned(), Variable { attributes: "x".to_owned(), value });
    changed.cwd = "/home/dev".into();
    Ok(match name {
        "state-load" => Box::new(move || drop(black_box(counted::loader(black_box(&state))))),
        "state-change" => Box::new(move || drop(black_box(counted::change(black_box(&state), black_box(&changed))))),
        _ => {
            let text = if name == "state-read" { printed(&state) } else { printed_part() };
            ensure!(counted::read(text.as_bytes(), &state).is_some(), "what a shell prints is read");
            Box::new(move || drop(black_box(counted::read(black_box(text.as_bytes()), &state))))
        }
    })
}

/// The first words of a shell.
const FIRST_WORDS: &str = "chiton 2\u{0}1\u{0}2\u{0}0\u{0}0\u{0}/home/dev\u{0}";

/// What a shell prints of such a state.
fn printed(state: &ShellState) -> String {
    let options =
        "braceexpand:hashall:interactive-comments\u{0}checkwinsize:cmdhist:sourcepath\u{0}0022\n\u{0}\u{0}\u{0}";
    let mut text = format!("{FIRST_WORDS}/home/dev\n\u{0}{options}");
    for (name, value) in variables() {
        let _ = writeln!(text, "declare -x {name}=\"{}\"", value.to_text());
    }
    text.push('\0');
    for (name, function) in &state.functions {
        let _ = write!(text, "declare -f {}\n{}\u{0}", name.to_text(), function.text.to_text());
    }
    text + "end"
}

/// What a branch prints of a state of which a command may have changed two variables.
fn printed_part() -> String {
    format!(
        "{FIRST_WORDS}part\u{0}OLDPWD VARIABLE_7\u{0}\u{0}\u{0}x\u{0}1\u{0}/home/dev/project\u{0}x\u{0}1\u{0}another value\u{0}end"
    )
}

fn head_and_tail() -> Box<dyn FnMut()> {
    let text = coloured(2000);
    Box::new(move || {
        let mut captured = HeadTail::new(ViewLimits::split(30_000));
        for part in text.as_bytes().chunks(4096) {
            captured.push(part);
        }
        drop(black_box(TextView::from(captured)));
    })
}

/// A log with colours and a bar that is drawn over itself.
fn coloured(lines: usize) -> String {
    let mut text = String::new();
    for line in 0..lines {
        let _ = write!(text, "\x1b[2m{line:06}\x1b[0m \x1b[32mINFO\x1b[0m gr\u{fc}n \x1b]0;title\x07done\r\n");
        let _ = write!(text, "\r\x1b[K[{:<10}]", "#".repeat(line % 10));
    }
    text
}

fn variables() -> impl Iterator<Item = (String, ByteString)> {
    let usual =
        [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/home/dev"), ("LANG", "C.UTF-8"), ("TERM", "xterm")];
    let usual = usual.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    usual.chain((0..56).map(|number| (format!("VARIABLE_{number}"), format!("the value of number {number}").into())))
}

/// A session that has been used for a while.
fn state() -> ShellState {
    let mut state = ShellState::fresh("/home/dev/project", variables(), 0o022);
    for number in 0..20 {
        let text = format!("helper_{number} () \n{{ \n    echo \"$1\" | sed 's/a/b/'\n}}").into();
        state.functions.insert(format!("helper_{number}").into(), Function { attributes: String::new(), text });
    }
    state
}

fn dialect(name: &str) -> Result<&'static dyn Dialect> {
    chiton_dialects::find(name).with_context(|| format!("there is no dialect '{name}'"))
}

/// The tool of a dialect that runs a command, and a call of it.
fn call(name: &str) -> (&'static str, Map<String, Value>) {
    let (tool, arguments) = match name {
        "codex" => ("exec_command", json!({"cmd": COMMANDS[5]})),
        _ => ("Bash", json!({"command": COMMANDS[5], "description": "Find the entry points", "timeout": 60_000})),
    };
    (tool, arguments.as_object().cloned().unwrap_or_default())
}

fn around() -> Surroundings {
    Surroundings::new("/home/dev/project")
}

fn read(name: &str) -> Result<Box<dyn FnMut()>> {
    let (dialect, (tool, arguments), around) = (dialect(name)?, call(name), around());
    dialect.read(tool, &arguments, &around).context("the call cannot be read")?;
    Ok(Box::new(move || drop(black_box(dialect.read(tool, black_box(&arguments), &around)))))
}

fn write(name: &str) -> Result<Box<dyn FnMut()>> {
    let (dialect, (tool, arguments)) = (dialect(name)?, call(name));
    let action = dialect.read(tool, &arguments, &around()).context("the call cannot be read")?;
    let done = Done::Ran(Box::new(ran()));
    Ok(Box::new(move || drop(black_box(dialect.write(&action, black_box(&done))))))
}

/// A command that has printed two hundred lines.
fn ran() -> Ran {
    let text = "src/main.rs:12:fn main() -> ExitCode {\n".repeat(200);
    let amount = Amount { bytes: text.len() as u64, lines: 200 };
    let view = TextView { head: text, tail: None, omitted: 0 };
    let report = RunReport {
        occurrence: Occurrence::First,
        run_id: "shell_0123abcd".to_owned(),
        outcome: Outcome::Exited(0),
        limit: None,
        pid: 4242,
        pipe_status: vec![0, 0],
        stdout: view.clone(),
        stderr: TextView::default(),
        output: view,
        lost_bytes: 0,
        cwd: "/home/dev/project".into(),
        state: StateReport::Unchanged,
        waits: None,
        released: false,
        leftovers: Vec::new(),
        leftover_task: None,
        survivors: Vec::new(),
        usage: Some(Usage::default()),
        duration: Duration::from_millis(12),
        warm: true,
        removed_variables: Vec::new(),
        notices: Vec::new(),
        protection: Protection::of(chiton_engine::guard::Mode::Default),
        refused: Vec::new(),
        exhausted: None,
        changed: None,
    };
    let (response, cwd) = (report.into(), "/home/dev/project".into());
    let (stdout_characters, stderr_characters) = (amount.bytes, 0);
    Ran {
        response,
        cwd,
        notices: Vec::new(),
        stdout_characters,
        stderr_characters,
        amount,
        moved: false,
        screen: None,
        transcript: None,
        number: None,
        ports: ReportedPorts::default(),
        shorter: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_that_is_named_can_be_run() {
        for (name, _) in ALL {
            run(name, 2).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        }
        assert!(run("no-such-part", 1).is_err());
    }
}
