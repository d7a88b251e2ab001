//! The acceptance matrix, through the real server: each row of it is a case of calls and expectations, as data.
//!
//! `tests/cases/acceptance.jsonl` has the rows of the matrix, `tests/cases/surfaces.jsonl` those of the tool surfaces that
//! no requirement document describes. One case a line: `row`, `dialect`, `args` for the server, and `steps`. A step is
//! - `call` (tool, arguments) with what is expected of the reply: `error`, `text` and `not_text` (parts), `fields`
//!   (JSON pointers into the structured result and their values), `parts` (pointers and parts of strings), `is` (the
//!   whole text, where `#` stands for any number), `progress` (at least so many reports); `at_least_ms` where the call
//!   has to wait, and `at_most_ms`, far from what it takes, where it must not and nothing but time tells; `save` keeps a
//!   field under a name, `${name}` puts it in later, `#${name}` as a number;
//! - `until`, a call that is made again until all of that holds, for what takes a moment;
//! - `ended` (the command with this id has ended), `gone` (no process has this in its command line), `alive`,
//!   `absent` and `present` (files), `holds` (a file and a part of it), `write` (an empty file, for a command that waits
//!   for it), `swap` (a folder moved away, with an empty file in its place), `restart`;
//! - `nowhere` (no file of the state directory holds this, nor what the server said on standard error), `encrypt` (a
//!   value, and the name under which the reference to it is kept);
//! - `tools` (the names of the tools), `schema` (tool, pointer, value), `describes` (tool, part of its description).
//!
//! Each row is a test of its name: `cargo test -p chiton-cli --test acceptance codex-0` runs those that have this in
//! it. No step sleeps. Every structured reply is checked against the output schema that the server declares. When all
//! rows ran and passed, every tool of every dialect has to have given a reply that succeeds and one that fails.
//!
//! All of it is also done over ssh and in a container ([`over`]): the server is `chiton mcp --on far` then, and the replies have
//! to be the same.
//!
//! A case with `caged` runs in an empty root directory without a shell, see [`cage`].
//!
//! `${DIR}` is the place of the case, an empty directory, `${PID}` a number that only this run has. Rows that tests of
//! the libraries show are in [`elsewhere`], which runs these tests; `docs/conformance.md` is made from all of it and
//! checked.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

mod elsewhere;
mod over;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chiton_dialects::{Structured, Surroundings};
use chiton_testkit::processes::{eventually, with_command};
use chiton_testkit::trials::{self, Threads, Trial, passes};
use chiton_testkit::wire::{Transcript, Wire};
use elsewhere::ELSEWHERE;
use jsonschema::Validator;
use over::Way;
use place::Place;
use serde_json::{Value, json};

/// How long is waited for what has to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a call may take. The longest of them waits for a limit of half a minute and a grace.
const LONGEST_CALL: Duration = Duration::from_mins(2);

/// Rows of each seed.
const ROWS: [(&str, usize); 5] = [("S0", 28), ("S1", 25), ("S2", 54), ("S3", 27), ("S4", 54)];

fn main() -> ExitCode {
    let cases = [cases("acceptance.jsonl"), cases("surfaces.jsonl")].concat();
    let seen = Arc::new(Mutex::new(Seen::new()));
    let (mut rows, shared) = elsewhere::trials();
    rows.extend(cases.iter().map(|case| row(case.clone(), None, Arc::clone(&seen))));
    for way in over::ways() {
        let can_go = cases.iter().filter(|case| case["caged"] != true);
        rows.extend(can_go.map(|case| row(case.clone(), Some(Arc::clone(&way)), Arc::clone(&seen))));
    }
    rows.extend(shared);

    let replies = move || passes(|| check_replies(&seen.lock().unwrap()));
    let table = move || passes(|| check_table(&cases));
    let closing = vec![
        Trial::test("every_tool_of_every_dialect_has_succeeded_and_failed", replies),
        Trial::test("docs_conformance_md_is_what_these_cases_make", table),
    ];
    // Most of a row is waiting.
    trials::run(Threads::Fixed(8), rows, closing)
}

fn row(case: Value, way: Option<Arc<Way>>, seen: Arc<Mutex<Seen>>) -> Trial {
    let name = case["row"].as_str().unwrap();
    let name = way.as_ref().map_or_else(|| name.to_owned(), |way| format!("over-{}-{name}", way.name));
    Trial::test(name, move || {
        run(&case, way.as_deref(), &seen).map_err(|problem| format!("{}: {problem}", case["dialect"]).into())
    })
}

/// The program in a root directory of its own, in which there is nothing to destroy and no shell to do it: what stands
/// there as `bash` is `true`. So a command that the guard should have refused does nothing, and is seen to have run.
fn cage(place: &Place) -> std::process::Command {
    let root = place.folder.path().join("cage");
    for folder in ["bin", "proc", "tmp", "dev"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    let program = env!("CARGO_BIN_EXE_chiton");
    std::fs::copy(program, root.join("chiton")).unwrap();
    std::fs::copy("/bin/true", root.join("bin/bash")).unwrap();
    let needed = place.command_of("ldd").args([program, "/bin/true"]).output().unwrap();
    let needed = String::from_utf8_lossy(&needed.stdout).into_owned();
    for library in needed.split_whitespace().filter(|word| word.starts_with('/') && word.contains(".so")) {
        let inside = root.join(&library[1..]);
        std::fs::create_dir_all(inside.parent().unwrap()).unwrap();
        std::fs::copy(library, inside).unwrap();
    }
    std::fs::write(root.join("dev/null"), "").unwrap();
    let mut command = place.command();
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value).unwrap().to_owned();
    command = place.command_of("unshare");
    command.env_clear().env("PATH", path).env("HOME", "/tmp").env("XDG_STATE_HOME", "/tmp");
    command.args(["--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--wd", "/", "--root"]);
    command.arg(root).arg("/chiton");
    command
}

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Dialects and tools that gave a reply, and whether it was one that failed.
type Seen = BTreeSet<(String, String, bool)>;

/// Every tool has shown what it says when all is well, and what it says when not.
fn check_replies(seen: &Seen) {
    let around = Surroundings::new("/");
    for dialect in chiton_dialects::catalogue::all() {
        for tool in dialect.tools(&around) {
            // What takes nothing and only looks has no way to fail.
            let endings: &[bool] = if tool.parameters.is_empty() { &[false] } else { &[false, true] };
            for &failed in endings {
                let wanted = (dialect.name().to_owned(), tool.name.to_owned(), failed);
                assert!(seen.contains(&wanted), "no case has a reply of {wanted:?} (dialect, tool, failed)");
            }
        }
    }
}

/// The table of all rows, which is checked in.
fn check_table(cases: &[Value]) {
    let mut shown: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut surfaces = String::new();
    for case in cases {
        let (row, dialect) = (case["row"].as_str().unwrap(), case["dialect"].as_str().unwrap());
        let calls = case["steps"].as_array().unwrap().iter().filter_map(command);
        let what = calls.collect::<Vec<_>>().join("`, `").replace('\n', " ").replace('|', "\\|");
        let what = if what.is_empty() { "schema".to_owned() } else { format!("`{what}`") };
        if let Some(promise) = case["promise"].as_str() {
            writeln!(surfaces, "| {row} | {promise} | {what} | passes |").unwrap();
        }
        shown.insert(row.to_owned(), (dialect.to_owned(), format!("{what} | passes")));
    }
    for elsewhere in &ELSEWHERE {
        for row in elsewhere.rows {
            shown.insert((*row).to_owned(), ("library".to_owned(), format!("{} | passes", elsewhere.function())));
        }
    }
    let mut table =
        "# Conformance\n\nMade by `crates/chiton-cli/tests/acceptance.rs` from its cases; do not edit.\n\n".to_owned();
    let mut rows = String::new();
    for (seed, count) in ROWS {
        let mut passing = 0;
        for number in 1..=count {
            let row = format!("{seed}-{number:02}");
            let (dialect, result) = shown.get(&row).unwrap_or_else(|| panic!("row {row} is nowhere"));
            passing += usize::from(result.ends_with("passes"));
            writeln!(rows, "| {row} | {dialect} | {result} |").unwrap();
        }
        writeln!(table, "- {seed}: {passing} of {count} rows pass").unwrap();
    }
    let table = format!(
        "{table}\n| row | dialect | case | result |\n|---|---|---|---|\n{rows}\n## Surfaces of other agents, and our own\n\n\
         | row | promise | case | result |\n|---|---|---|---|\n{surfaces}"
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == table, "docs/conformance.md is not up to date: run this test with UPDATE=1");
}

/// The command that a step runs.
fn command(step: &Value) -> Option<&str> {
    ["command", "cmd"].iter().find_map(|name| step["call"][1][name].as_str())
}

fn run(case: &Value, way: Option<&Way>, seen: &Mutex<Seen>) -> Result<(), String> {
    let place = Place::new();
    let mut saved = BTreeMap::from([
        ("DIR".to_owned(), place.folder.path().display().to_string()),
        ("PID".to_owned(), std::process::id().to_string()),
    ]);
    let mut client = Client::start(&place, case, way, &saved);
    for (number, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        client.step(step, &mut saved, &place).map_err(|problem| format!("step {}: {problem}", number + 1))?;
    }
    seen.lock().unwrap().append(&mut client.seen);
    client.end()
}

struct Client {
    dialect: String,
    /// The output schema of each tool.
    schemas: BTreeMap<String, Validator>,
    seen: Seen,
    wire: Wire,
}

impl Client {
    fn start(place: &Place, case: &Value, way: Option<&Way>, saved: &BTreeMap<String, String>) -> Self {
        let mut command = if case["caged"] == true { cage(place) } else { place.command() };
        let dialect = case["dialect"].as_str().unwrap();
        command.args(["mcp", "--dialect", dialect]);
        if let Some(way) = way {
            way.lead(&mut command, place, case);
        }
        // A surface that imitates a client's has a structured form, but gives it only to those who ask.
        if chiton_dialects::find(dialect).unwrap().structured() == Structured::OnRequest {
            command.arg("--structured");
        }
        for argument in case["args"].as_array().into_iter().flatten() {
            command.arg(fill(argument, saved).as_str().unwrap());
        }
        for (name, value) in case["env"].as_object().into_iter().flatten() {
            command.env(name, value.as_str().unwrap());
        }
        command.stderr(std::fs::File::create(place.folder.path().join(SAID)).unwrap());

        let mut wire = Wire::start(command);
        wire.transcript = Transcript::Kept(String::new());
        wire.patience = LONGEST_CALL;
        wire.greet("2025-06-18", &json!({}));

        let mut schemas = BTreeMap::new();
        for tool in wire.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap() {
            let schema = jsonschema::draft202012::new(&tool["outputSchema"]).unwrap();
            schemas.insert(tool["name"].as_str().unwrap().to_owned(), schema);
        }
        Self { dialect: case["dialect"].as_str().unwrap().to_owned(), schemas, seen: Seen::new(), wire }
    }

    /// Sends a request; gives its result and the progress reports that came before it.
    fn request(&mut self, method: &str, params: Value) -> Result<(Value, Vec<Value>), String> {
        let id = self.wire.request(method, params);
        let answer = self.wire.try_answer(id).map_err(|missing| missing.to_string())?;
        let progress = self.wire.other.drain(..).map(|message| message["params"].clone()).collect();
        answer.get("result").cloned().map(|result| (result, progress)).ok_or_else(|| answer.to_string())
    }

    fn step(&mut self, step: &Value, saved: &mut BTreeMap<String, String>, place: &Place) -> Result<(), String> {
        let step = fill(step, saved);
        let file = |name: &str| place.folder.path().join(step[name].as_str().unwrap());
        if step.get("call").is_some() {
            return self.call(&step, &step["call"], saved);
        }
        if step.get("until").is_some() {
            let end = Instant::now() + PATIENCE;
            loop {
                match self.call(&step, &step["until"], saved) {
                    Err(problem) if Instant::now() > end => return Err(format!("in {PATIENCE:?} never: {problem}")),
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                    Ok(()) => return Ok(()),
                }
            }
        }
        if let Some(id) = step["ended"].as_str() {
            let ending = place.folder.path().join("state/chiton/runs").join(id).join("ending.json");
            return check(eventually(PATIENCE, || ending.exists()), || format!("{id} does not end"));
        }
        if step.get("swap").is_some() {
            let path = file("swap");
            let moved = std::fs::rename(&path, path.with_extension("away")).and_then(|()| std::fs::write(&path, ""));
            return moved.map_err(|error| error.to_string());
        }
        if step.get("write").is_some() {
            return std::fs::write(file("write"), "").map_err(|error| error.to_string());
        }
        if let Some(part) = step["gone"].as_str() {
            let gone = eventually(PATIENCE, || with_command(part).is_empty());
            return check(gone, || format!("still there: {:?}", with_command(part)));
        }
        if let Some(part) = step["alive"].as_str() {
            let alive = eventually(PATIENCE, || !with_command(part).is_empty());
            return check(alive, || format!("'{part}' does not run"));
        }
        if step.get("absent").is_some() {
            return check(!file("absent").exists(), || format!("{} is there", file("absent").display()));
        }
        if step.get("present").is_some() {
            let there = eventually(PATIENCE, || file("present").exists());
            return check(there, || format!("{} is not there", file("present").display()));
        }
        if let Some(value) = step["nowhere"].as_str() {
            let mut found = holders(&place.folder.path().join("state"), value);
            found.extend(holders(&place.folder.path().join(".local"), value));
            found.extend(holders(&place.folder.path().join(SAID), value));
            check(found.is_empty(), || format!("it is in {found:?}"))?;
            let Transcript::Kept(sent) = &self.wire.transcript else { unreachable!("it is kept from the start") };
            return check(!sent.contains(value), || "the server sent it".to_owned());
        }
        if let Some(value) = step["encrypt"][0].as_str() {
            let reference = encrypt(place, value);
            saved.insert(step["encrypt"][1].as_str().unwrap().to_owned(), reference);
            return Ok(());
        }
        if let Some(text) = step["holds"][1].as_str() {
            let path = step["holds"][0].as_str().unwrap();
            let holds = || std::fs::read_to_string(path).is_ok_and(|content| content.contains(text));
            return check(eventually(PATIENCE, holds), || format!("{path}: {:?}", std::fs::read_to_string(path)));
        }
        if step["restart"] == true {
            self.wire.kill();
            return Ok(());
        }
        self.look(&step)
    }

    /// Steps about the list of tools.
    fn look(&mut self, step: &Value) -> Result<(), String> {
        let tools = self.request("tools/list", json!({}))?.0["tools"].clone();
        if let Some(names) = step["tools"].as_array() {
            let found: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
            return check(found == names.iter().collect::<Vec<_>>(), || format!("the tools are {found:?}"));
        }
        let place = if step.get("schema").is_some() { "schema" } else { "describes" };
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == step[place][0]).cloned().unwrap();
        if place == "schema" {
            let found = tool["inputSchema"].pointer(step[place][1].as_str().unwrap()).cloned().unwrap_or_default();
            return check(found == step[place][2], || format!("{} is {found}", step[place][1]));
        }
        let description = tool["description"].as_str().unwrap();
        check(description.contains(step[place][1].as_str().unwrap()), || format!("it says: {description}"))
    }

    fn call(&mut self, step: &Value, call: &Value, saved: &mut BTreeMap<String, String>) -> Result<(), String> {
        let mut params = json!({"name": call[0], "arguments": call[1]});
        if step.get("progress").is_some() {
            params["_meta"] = json!({"progressToken": "token"});
        }
        let start = Instant::now();
        let (result, progress) = self.request("tools/call", params)?;
        let took = u64::try_from(start.elapsed().as_millis()).unwrap();
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let shown = || format!("{} {}", &result["isError"], text.chars().take(600).collect::<String>());
        let structured = &result["structuredContent"];
        self.check_schema(call[0].as_str().unwrap(), &result)?;
        if let Some(expected) = step["is"].as_str() {
            check(without_numbers(text) == expected, || format!("it says: {}", without_numbers(text)))?;
        }
        if let Some(error) = step["error"].as_bool() {
            check(result["isError"] == error, shown)?;
        }
        for part in step["text"].as_array().into_iter().flatten() {
            check(text.contains(part.as_str().unwrap()), || format!("{part} is not in: {}", shown()))?;
        }
        for part in step["not_text"].as_array().into_iter().flatten() {
            check(!text.contains(part.as_str().unwrap()), || format!("{part} is in: {}", shown()))?;
        }
        for (pointer, expected) in step["fields"].as_object().into_iter().flatten() {
            let found = structured.pointer(pointer).cloned().unwrap_or_default();
            check(&found == expected, || format!("{pointer} is {found}, not {expected}"))?;
        }
        for (pointer, part) in step["parts"].as_object().into_iter().flatten() {
            let found = structured.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            check(found.contains(part.as_str().unwrap()), || format!("{pointer} is {found:?}, without {part}"))?;
        }
        if let Some(length) = step["characters"].as_object() {
            for (pointer, expected) in length {
                let found = structured.pointer(pointer).and_then(Value::as_str).unwrap_or_default().chars().count();
                check(found as u64 == expected.as_u64().unwrap(), || format!("{pointer} has {found} characters"))?;
            }
        }
        for (name, fits) in [("at_least_ms", u64::ge as fn(&u64, &u64) -> bool), ("at_most_ms", u64::le)] {
            if let Some(limit) = step[name].as_u64() {
                check(fits(&took, &limit), || format!("it took {took} ms: {}", shown()))?;
            }
        }
        if let Some(least) = step["progress"].as_u64() {
            let values: Vec<f64> = progress.iter().filter_map(|report| report["progress"].as_f64()).collect();
            check(values.len() as u64 >= least, || format!("{} reports: {progress:?}", values.len()))?;
            check(values.is_sorted_by(|one, other| one < other), || format!("{values:?} do not increase"))?;
        }
        for (name, pointer) in step["save"].as_object().into_iter().flatten() {
            let value = structured.pointer(pointer.as_str().unwrap()).cloned().unwrap_or_default();
            saved.insert(name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        Ok(())
    }

    /// The structured reply is what the server says it is.
    fn check_schema(&mut self, tool: &str, result: &Value) -> Result<(), String> {
        let Some(schema) = self.schemas.get(tool) else { return Ok(()) };
        let problems: Vec<String> = schema.iter_errors(&result["structuredContent"]).map(|e| e.to_string()).collect();
        check(problems.is_empty(), || format!("{tool} against its schema: {problems:?}"))?;
        self.seen.insert((self.dialect.clone(), tool.to_owned(), result["isError"] == true));
        Ok(())
    }

    fn end(mut self) -> Result<(), String> {
        self.wire.patience = PATIENCE;
        check(self.wire.try_close().is_some(), || "the server did not end with its input".to_owned())
    }
}

/// Where the server's standard error goes.
const SAID: &str = "server-stderr";

/// Files at or below `path` that hold `value`.
fn holders(path: &Path, value: &str) -> Vec<String> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).unwrap().flatten();
        return entries.flat_map(|entry| holders(&entry.path(), value)).collect();
    }
    let content = std::fs::read(path).unwrap_or_default();
    let holds = content.windows(value.len()).any(|window| window == value.as_bytes());
    if holds { vec![path.display().to_string()] } else { Vec::new() }
}

fn encrypt(place: &Place, value: &str) -> String {
    let mut command = place.command();
    command.args(["secret", "encrypt"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "`chiton secret encrypt` failed");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// A text with `#` for each number in it.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        match character {
            '0'..='9' if plain.ends_with('#') => {}
            '0'..='9' => plain.push('#'),
            other => plain.push(other),
        }
    }
    plain
}

/// Puts saved values in the place of their names; a name with `#` before it stands for a number.
fn fill(value: &Value, saved: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) if text.starts_with("#${") => {
            let number = fill(&text[1..].into(), saved);
            number.as_str().and_then(|number| serde_json::from_str(number).ok()).unwrap_or(number)
        }
        Value::String(text) => {
            saved.iter().fold(text.clone(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value)).into()
        }
        Value::Array(items) => items.iter().map(|item| fill(item, saved)).collect(),
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), fill(value, saved))).collect(),
        other => other.clone(),
    }
}
