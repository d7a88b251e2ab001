//! Chiton itself: what its verbs would run is judged as if it stood there, and what weakens it is refused.

use std::rc::Rc;

use super::json::{self, JsonString};
use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::Always;
use super::row::{On, PROGRAM, Program, allows, asks, denies};
use super::shells;
use crate::effect::{Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Lasting, Machine, Ran};
use crate::protected::credentials::names_secret;
use crate::value::path;
use crate::value::{Arg, Flow, Labels, Text};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["chiton"],
        custom: Some(verb),
        examples: examples![
            denies("chiton run 'rm -rf /'", "delete-root"),
            denies("./target/release/chiton run --timeout 5s 'rm -rf ~'", "delete-home"),
            denies("chiton run --dir / 'rm -rf usr'", "delete-system"),
            denies("chiton run rm -rf /", "delete-root"),
            denies("chiton run rm -rf / --dry-run", "delete-root"),
            denies("chiton run -- rm '#' -rf / --help", "delete-root"),
            denies("chiton run bash -c 'rm -rf /' --guard strict", "delete-root"),
            allows("chiton run echo 'a; rm -rf /'"),
            allows("chiton run ls -la"),
            denies("chiton run --stdin - bash <<< 'rm -rf /'", "delete-root"),
            denies("chiton run --guard off 'echo hello'", "chiton"),
            denies("chiton run --guard=off 'echo hello'", "chiton"),
            denies("chiton run --sandbox off 'echo hello'", "chiton"),
            denies("chiton run --sandbox=off 'echo hello'", "chiton"),
            denies("chiton mcp --sandbox off", "chiton"),
            denies("chiton call --sandbox off Bash '{\"command\":\"echo hello\"}'", "chiton"),
            denies("chiton setup claude-code -- --sandbox off", "chiton"),
            denies("CHITON_SANDBOX_PROFILE=off chiton run 'echo hello'", "chiton"),
            asks("CHITON_SANDBOX_PROFILE=wide chiton run 'echo hello'", "chiton"),
            asks("chiton run --sandbox wide 'echo hello'", "chiton"),
            asks("chiton run --sandbox \"$PROFILE\" 'echo hello'", "chiton"),
            asks("chiton run --add-dir ~/other 'echo hello'", "chiton"),
            denies("chiton sandbox allow write /etc", "chiton"),
            denies("chiton sandbox allow network evil.example", "chiton"),
            denies("chiton sandbox --config /tmp/x allow read ~/.aws", "chiton"),
            denies("chiton sandbox \"$VERB\" write /etc", "chiton"),
            asks("chiton sandbox deny write ~/data", "chiton"),
            allows("chiton run --sandbox read-only 'make test'"),
            allows("chiton run --sandbox offline --limit memory=2G 'make test'"),
            allows("CHITON_SANDBOX_PROFILE=offline chiton run 'make test'"),
            denies("chiton run --limit memory=2G 'rm -rf /'", "delete-root"),
            denies("chiton preview commit preview_1a2b3c4d", "chiton"),
            denies("chiton preview --state-dir /x commit preview_1a2b3c4d", "chiton"),
            denies("chiton preview \"$VERB\" preview_1a2b3c4d", "chiton"),
            asks("chiton preview drop preview_1a2b3c4d", "chiton"),
            allows("chiton preview list"),
            allows("chiton preview show preview_1a2b3c4d --diff src"),
            allows("chiton run --preview 'make test'"),
            denies("chiton run --preview 'rm -rf /'", "delete-root"),
            allows("chiton changes shell_1a2b3c4d"),
            allows("chiton sandbox list"),
            allows("chiton sandbox show work --json"),
            allows("chiton sandbox allow write ~/data --dry-run"),
            denies("chiton run --no-audit 'echo hello'", "chiton"),
            denies("chiton run --config off.toml 'echo hello'", "chiton"),
            denies("chiton --state-dir /tmp/x run 'echo hello'", "chiton"),
            denies("chiton run --keep-env '*' env", "chiton"),
            denies("chiton run --keep-env GITHUB_TOKEN env", "chiton"),
            denies("CHITON_GUARD_MODE=off chiton run 'echo hello'", "chiton"),
            denies("env CHITON_CONFIG=/tmp/x chiton run 'echo hello'", "chiton"),
            asks("XDG_CONFIG_HOME=/tmp/x chiton run 'echo hello'", "chiton"),
            asks("chiton run \"$COMMAND\"", "unknown-run"),
            asks("chiton run --guard \"$MODE\" 'echo hello'", "chiton"),
            denies("chiton call Bash '{\"command\":\"rm -rf /\"}'", "delete-root"),
            denies("chiton call --dialect codex exec_command '{\"cmd\":\"rm -rf /\"}'", "delete-root"),
            denies("chiton call Bash '{\"command\":\"bash\",\"stdin\":\"rm -rf /\"}'", "delete-root"),
            denies("chiton call BashInput '{\"bash_id\":\"x\",\"input\":\"rm -rf /\"}'", "delete-root"),
            asks("chiton call Bash \"$ARGUMENTS\"", "unknown-run"),
            denies("chiton send x 'rm -rf /'", "delete-root"),
            denies(
                "echo '{\"method\":\"tools/call\",\"params\":{\"arguments\":{\"command\":\"rm -rf /\"}}}' | chiton mcp",
                "delete-root",
            ),
            asks("cat calls.jsonl | chiton mcp", "unknown-run"),
            denies("chiton mcp --guard off", "chiton"),
            asks("chiton mcp --http 127.0.0.1:8765", "chiton"),
            denies("chiton mcp --http 0.0.0.0:8765 --http-allow-remote", "chiton"),
            denies("chiton setup claude-code -- --guard off", "chiton"),
            denies("chiton setup claude-code --undo", "chiton"),
            asks("chiton setup claude-code", "chiton"),
            denies("chiton secret decrypt 1a2b", "chiton"),
            asks("chiton secret rm github-token", "chiton"),
            asks("chiton kill --all", "chiton"),
            asks("chiton release shell_1a2b3c4d", "chiton"),
            asks("chiton clean", "chiton"),
            denies("chiton audit clear", "chiton"),
            asks("chiton shot -o /etc/hosts x", "system-write"),
            allows("chiton run 'echo hello'"),
            allows("chiton run --session api 'cd src; make test'"),
            allows("chiton run --guard strict 'make test'"),
            allows("chiton run --dry-run 'rm -rf /'"),
            allows("chiton run --help"),
            allows("chiton check 'rm -rf /'"),
            allows("chiton call Bash '{\"command\": \"echo hello\"}'"),
            allows("chiton send x yes"),
            allows("chiton send x 'print(1+1)'"),
            allows("chiton kill shell_1a2b3c4d"),
            allows("chiton setup claude-code --dry-run"),
            allows("chiton secret list"),
            allows("chiton audit --since 1h"),
            asks("chiton undo shell_1a2b3c4d", "chiton"),
            asks("chiton undo --last 3 --yes", "chiton"),
            asks("chiton undo --force --since shell_1a2b3c4d", "chiton"),
            asks("chiton session back before-rename", "chiton"),
            asks("chiton session checkpoint start --session api", "chiton"),
            asks("chiton mcp --allow-undo", "chiton"),
            allows("chiton undo shell_1a2b3c4d --dry-run"),
            allows("chiton changes shell_1a2b3c4d --diff"),
            allows("chiton session checkpoints"),
            allows("chiton preview list"),
            allows("chiton ps"),
            allows("chiton logs shell_1a"),
            allows("source <(COMPLETE=bash chiton)"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["chiton-keeper"],
        effects: &[On(Always, Is(Kind::Meddle, "Keepers are started by Chiton alone."))],
        examples: examples![asks("chiton-keeper", "chiton"), allows("chiton-keeper --version")],
        ..PROGRAM
    },
];

const CHITON: Grammar = Grammar {
    short: "o",
    long: &[
        "state-dir", "config", "timeout", "silence", "grace", "dir", "env", "stdin", "session", "max-output",
        "lifetime", "wait", "on-timeout", "cols", "rows", "description", "secrets-dir", "secret-env", "secret-command",
        "keep-env", "guard", "dialect", "max-tasks", "http", "http-token-file", "http-host", "http-origin",
        "log-level", "older-than", "keep", "since", "outcome", "keys", "signal", "explain", "output", "home", "user",
        "cwd", "workspace", "name", "file", "sandbox", "add-dir", "limit", "profile",
    ],
    // Spelled out, so that no abbreviation of another option is taken for them.
    flags: &["no-audit", "undo", "all", "dry-run", "help", "http-allow-remote", "preview", "allow-undo"],
    ..Grammar::PLAIN
};

/// The options of Chiton itself. Behind the first word of a command that is run, all of them are the command's.
fn own_options(call: &Call) -> Options {
    let options = Options::read(&call.args, &CHITON);
    match options.operands.as_slice() {
        [verb, first, ..] if verb.text.is("run") => {
            let end = place_of(first, call) + 1;
            Options::read(&call.args[..end], &CHITON)
        }
        _ => options,
    }
}

/// Where a word stands among the arguments.
fn place_of(word: &Arg, call: &Call) -> usize {
    call.args.iter().position(|arg| arg.span == word.span && arg.text == word.text).unwrap_or_default()
}

/// Goes through a call of Chiton by its verb.
fn verb(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = own_options(call);
    let Some((verb, operands)) = options.operands.split_first() else {
        return Some(Ran::same(world.clone(), Flow::labelled(Labels::SETTINGS)));
    };
    if options.has(&["help", "h", "V", "version"]) {
        return Some(Ran::same(world.clone(), Flow::labelled(Labels::PLAIN)));
    }

    match verb.text.as_known()?.as_str() {
        "run" => return Some(run(machine, call, &options, operands, world)),
        "call" => return Some(tool_call(machine, call, &options, operands, world)),
        "send" => typed(machine, operands.get(1), world),
        "mcp" => mcp(machine, call, &options, world),
        "setup" => setup(machine, call, &options, operands, world),
        "secret" => secret(machine, call, operands),
        "kill" if options.has(&["all"]) => meddles(machine, call, "This ends every task, whoever started it."),
        "release" => meddles(machine, call, "This hands back a call in the name of a person."),
        "clean" => meddles(machine, call, "This removes the output and the records of commands that have ended."),
        "sandbox" => sandbox(machine, call, &options, operands),
        "undo" if !options.has(&["dry-run"]) => {
            meddles(machine, call, "This undoes what commands did to files, in the name of a person.");
        }
        "session" if !options.has(&["dry-run"]) => {
            let looks = operands.first().is_none_or(|word| word.text.is("checkpoints"));
            if !looks {
                meddles(
                    machine,
                    call,
                    "This goes back to an earlier state of files, or says which one can be gone back to.",
                );
            }
        }
        "preview" => preview(machine, call, operands),
        "audit" => {
            let removes = operands.first().is_some_and(|word| !word.text.is("verify"));
            if removes {
                weakens(machine, call.span, "This would change the journal of Chiton.");
            }
        }
        "export" | "shot" => {
            for file in options.values(&["o", "output"]) {
                machine.writes("This would write to", &file.text, Writing::Replaces, world, file.span);
            }
        }
        "attach" if !options.has(&["watch"]) => {
            machine.waits_for_a_person("chiton", "it waits for typing; use `chiton logs` or `--watch`", call.span);
        }
        _ => {}
    }
    Some(Ran::same(world.clone(), Flow::unknown()))
}

fn weakens(machine: &mut Machine<'_>, span: chiton_shell::tree::Span, reason: &str) {
    machine.state(Kind::Weaken, reason, span, None);
}

fn meddles(machine: &mut Machine<'_>, call: &Call, reason: &str) {
    machine.state(Kind::Meddle, reason, call.span, None);
}

/// Options of everything that runs commands: the guard, the journal, the settings and what is kept from commands must
/// be those of the Chiton around it.
fn protection(machine: &mut Machine<'_>, call: &Call, options: &Options, world: &World) {
    for mode in options.values(&["guard"]) {
        match mode.text.as_known().as_deref() {
            Some("strict" | "default") => {}
            Some(_) => weakens(machine, mode.span, "This switches the guard off for what Chiton runs."),
            None => meddles(machine, call, "The text does not decide whether the guard stays on."),
        }
    }
    for profile in options.values(&["sandbox"]) {
        match profile.text.as_known().as_deref() {
            Some(name) if TIGHT_PROFILES.contains(&name) => {}
            Some("off") => weakens(machine, profile.span, "This switches the sandbox off for what Chiton runs."),
            _ => meddles(machine, call, "This chooses what the sandbox lets commands touch."),
        }
    }
    if options.has(&["add-dir"]) {
        meddles(machine, call, "This lets commands in the sandbox change another folder.");
    }
    if options.has(&["no-audit"]) {
        weakens(machine, call.span, "This keeps commands out of the journal.");
    }
    for file in options.values(&["config"]) {
        weakens(machine, file.span, "This replaces the settings that decide how commands are judged.");
    }
    for directory in options.values(&["state-dir"]) {
        weakens(machine, directory.span, "This keeps the journal and the runs in another place.");
    }
    for name in options.values(&["keep-env"]) {
        if name.text.as_known().is_none_or(|name| is_secret_name(&name)) {
            weakens(machine, name.span, "This hands secrets of the environment to commands.");
        }
    }
    if options.has(&["secrets-dir"]) {
        meddles(machine, call, "This takes secrets from another store.");
    }
    for program in options.values(&["secret-command"]) {
        super::run_helper(machine, program, world);
    }

    let moved = ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "HOME"];
    if let Some(name) = moved.iter().find(|name| world.has_set(name)) {
        let reason = format!("With this {name}, Chiton looks for its settings and its journal in another place.");
        machine.state(Kind::Meddle, reason, call.span, None);
    }
}

/// Whether a variable to be passed on, perhaps with a trailing `*`, may hold a secret.
fn is_secret_name(name: &str) -> bool {
    name.contains('*') || names_secret(name)
}

/// `run COMMAND`: the command is judged where and with what it would run.
fn run(machine: &mut Machine<'_>, call: &Call, options: &Options, operands: &[Arg], world: &World) -> Ran {
    protection(machine, call, options, world);
    let outer = world.clone();
    if options.has(&["dry-run"]) {
        return Ran::same(outer, Flow::labelled(Labels::PLAIN));
    }

    let mut inside = world.clone();
    if options.has(&["session"]) {
        inside.cwd = None;
    }
    if let Some(directory) = options.value(&["dir"]) {
        inside.cwd = directory.text.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref()));
    }
    for assignment in options.values(&["env"]) {
        let start = assignment.text.known_start();
        if let Some((name, _)) = start.split_once('=') {
            let value = assignment.text.skip(name.len() + 1);
            machine.judge_variable(name, &value, assignment.span, Lasting::OneCommand);
            inside.set_text(name, value);
        }
    }

    let input = match options.value(&["stdin"]) {
        Some(file) if file.text.is("-") => Rc::clone(&call.input),
        Some(file) => Rc::new(machine.read(&file.text, world)),
        None => Rc::new(Flow::empty()),
    };
    let inner = Call { input, ..call.clone() };
    let flow = match operands {
        [] => match options.value(&["file"]) {
            Some(file) => {
                let text = machine.read(&file.text, world);
                machine.run_flow(&text, inside, &inner.input, file).flow
            }
            None => Flow::empty(),
        },
        // Each of several words stays one word: the command is no shell text then.
        [first, ..] if place_of(first, call) + 1 < call.args.len() => {
            machine.run_words(&inner, &call.args[place_of(first, call)..], inside).flow
        }
        [only] if only.text.is("-") => shells::reading_input(machine, call, inside).flow,
        [first, ..] => machine.run_text(first, inside, &inner.input).flow,
    };
    Ran::same(outer, flow)
}

/// `call TOOL '{"command": …}'`.
fn tool_call(machine: &mut Machine<'_>, call: &Call, options: &Options, operands: &[Arg], world: &World) -> Ran {
    protection(machine, call, options, world);
    if let Some(arguments) = operands.get(1)
        && !options.has(&["dry-run"])
    {
        match arguments.text.as_literal().as_deref().map(json::strings) {
            Some(Some(strings)) => arguments_of_tool(machine, &strings, arguments, world),
            Some(None) => {}
            None => {
                let shown = arguments.text.display();
                let reason = "The text does not decide what the tool is asked to run.";
                machine.state(Kind::RunUnknown, reason, arguments.span, Some(shown));
            }
        }
    }
    Ran::same(world.clone(), Flow::unknown())
}

/// The command in the arguments of a tool, of whichever dialect, with its directory, variables and input.
fn arguments_of_tool(machine: &mut Machine<'_>, strings: &[JsonString], from: &Arg, world: &World) {
    let value = |names: &[&str]| strings.iter().find(|string| names.contains(&string.name.as_str()));
    let mut inside = world.clone();
    if let Some(directory) = value(&["workdir", "dir_path", "cwd", "directory", "dir"]) {
        inside.cwd = path::absolute(&directory.value, world.cwd.as_deref());
    }
    for variable in strings.iter().filter(|string| string.parent == "env" || string.name == "env") {
        let text = Text::known(variable.value.clone());
        machine.judge_variable(&variable.name, &text, from.span, Lasting::OneCommand);
        inside.set_text(&variable.name, text);
    }

    let input = value(&["stdin"]).map_or_else(Flow::empty, |text| Flow::known(text.value.clone()));
    let input = Rc::new(input);
    for string in strings {
        match string.name.as_str() {
            "command" | "cmd" | "script" | "code" => {
                machine.script(&string.value, inside.clone(), &input, from.span);
            }
            "input" | "chars" | "text" => {
                typed(machine, Some(&Arg::known(string.value.clone(), from.span)), &inside);
            }
            _ => {}
        }
    }
}

/// Text for a running command, which may be a shell. What is not a command is for something else.
fn typed(machine: &mut Machine<'_>, text: Option<&Arg>, world: &World) {
    let Some(text) = text else { return };
    let is_command = |text: &str| chiton_shell::parse(text.as_bytes()).is_ok();
    if text.text.as_literal().is_none_or(|text| is_command(&text)) {
        let mut there = world.clone();
        there.cwd = None;
        machine.run_text(text, there, &Rc::new(Flow::empty()));
    }
}

/// `mcp` takes calls of tools from its input, or from whoever reaches its address.
fn mcp(machine: &mut Machine<'_>, call: &Call, options: &Options, world: &World) {
    protection(machine, call, options, world);
    if options.has(&["http-allow-remote"]) {
        weakens(machine, call.span, "This lets other machines run commands here.");
    } else if options.has(&["http"]) {
        meddles(machine, call, "This opens a server that runs commands for whoever has its token.");
    }
    if options.has(&["allow-undo"]) {
        meddles(machine, call, "This lets a client undo what commands did to files.");
    }

    if *call.input == Flow::empty() {
        return;
    }
    let Some(text) = call.input.text.clone() else {
        let reason = "The calls of tools come from a place that cannot be seen here.";
        machine.state(Kind::RunUnknown, reason, call.span, None);
        return;
    };
    let from = Arg::known("standard input", call.span);
    for line in text.lines().filter(|line| line.contains("tools/call")) {
        let strings = json::strings(line).unwrap_or_default();
        arguments_of_tool(machine, &strings, &from, world);
    }
}

/// `setup CLIENT` changes the settings of a client; without one, or with `--dry-run`, nothing.
fn setup(machine: &mut Machine<'_>, call: &Call, options: &Options, operands: &[Arg], world: &World) {
    if let Some(at) = call.args.iter().position(|arg| arg.text.is("--")) {
        let behind = Options::read(&call.args[at + 1..], &CHITON);
        protection(machine, call, &behind, world);
    }
    if operands.is_empty() || options.has(&["dry-run"]) {
        return;
    }
    if options.has(&["undo"]) {
        weakens(machine, call.span, "This takes Chiton out of the settings of a client.");
    } else {
        meddles(machine, call, "This changes which servers a client starts.");
    }
}

/// `secret VERB`: values do not come out, and the store is a person's.
fn secret(machine: &mut Machine<'_>, call: &Call, operands: &[Arg]) {
    let Some(verb) = operands.first() else { return };
    match verb.text.as_known().as_deref() {
        Some("list" | "ls" | "encrypt") => {}
        Some("set" | "rm" | "rotate" | "lock" | "add" | "import") => {
            meddles(machine, call, "This changes the store of secrets.");
        }
        _ => weakens(machine, call.span, "This would print a secret."),
    }
}

/// Sandbox profiles that are built in.
const TIGHT_PROFILES: [&str; 4] = ["work", "named", "read-only", "offline"];

/// `sandbox VERB`: what the sandbox lets pass is for a person to say.
fn sandbox(machine: &mut Machine<'_>, call: &Call, options: &Options, operands: &[Arg]) {
    if options.has(&["dry-run"]) {
        return;
    }
    let Some(verb) = operands.first() else { return };
    match verb.text.as_known().as_deref() {
        Some("list" | "show" | "help") => {}
        Some("deny") => meddles(machine, call, "This changes the settings of the sandbox."),
        _ => weakens(
            machine,
            call.span,
            "This lets commands out of the sandbox. A person does that, in a terminal of their own.",
        ),
    }
}

/// `preview VERB`: what was held back until a person has seen it is for that person to commit.
fn preview(machine: &mut Machine<'_>, call: &Call, operands: &[Arg]) {
    let Some(verb) = operands.first() else { return };
    match verb.text.as_known().as_deref() {
        Some("list" | "show" | "help") => {}
        Some("drop") => meddles(machine, call, "This forgets what somebody may want to look at."),
        _ => weakens(machine, call.span, "This makes a preview real. A person does that, in a terminal of their own."),
    }
}

/// Judges a variable that Chiton reads its settings from.
pub(super) fn judge_variable(machine: &mut Machine<'_>, name: &str, value: &Text, span: chiton_shell::tree::Span) {
    let Some(setting) = name.strip_prefix("CHITON_") else { return };
    let is = |start: &str| setting.starts_with(start);
    let shown = Some(format!("{name}={}", value.display()));
    if is("GUARD") && !(value.is("default") || value.is("strict"))
        || is("CONFIG")
        || is("AUDIT") && !value.is("false")
        || is("SANDBOX") && value.is("off")
    {
        let reason = format!("{name} changes how Chiton judges or records commands.");
        machine.state(Kind::Weaken, reason, span, shown);
    } else if ["SECRETS", "ENVIRONMENT", "HTTP", "STATE", "PASSPHRASE"].iter().any(|start| is(start))
        || is("SANDBOX") && !TIGHT_PROFILES.iter().any(|profile| value.is(profile))
    {
        let reason = format!("{name} changes what Chiton keeps from commands.");
        machine.state(Kind::Meddle, reason, span, shown);
    }
}
