//! What holds in every dialect, through the real server: a reply always says something, never more than its limit, and
//! what it leaves out can be had.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chiton_testkit::processes::{eventually, with_command};
use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::Place;

const PATIENCE: Duration = Duration::from_mins(1);

/// A rule that denies a command which would do no harm.
const RULE: &str = "[{decision = 'deny', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries sing.', match = ['touch canary']}]";

/// A dialect as these tests use it.
struct Surface {
    dialect: &'static str,
    /// The tool that runs a command, and the parameter that has it.
    run: (&'static str, &'static str),
    /// Characters that a reply may have at most: the limit for output, and room for what stands around it.
    most: usize,
    /// Whether a command that exits with code 1 is a call that failed.
    code_fails: bool,
    /// What becomes of a command that takes too long.
    timeout: Timeout,
    background: Background,
}

enum Timeout {
    /// It is stopped, and the call has failed.
    Fails,
    /// It is stopped, which is data.
    IsData,
    /// It goes on.
    GoesOn,
    /// Its limits are its own, and too long for a test.
    IsTooLong,
}

enum Background {
    /// There is none.
    No,
    /// These parameters start it, and this tool reads it by this parameter.
    Read { tool: &'static str, with: Value, reader: &'static str, id: &'static str, names: Names },
    /// These parameters start it, and its output is in a file between these marks.
    File { with: Value, before: &'static str, after: &'static str },
}

/// How a reply names a task.
enum Names {
    Id,
    Pid,
    Number,
}

fn surfaces() -> Vec<Surface> {
    let flag = || json!({"run_in_background": true});
    let bash_output =
        |tool| Background::Read { tool, with: flag(), reader: "BashOutput", id: "bash_id", names: Names::Id };
    let surface = |dialect, run, most, code_fails, timeout, background| Surface {
        dialect,
        run,
        most,
        code_fails,
        timeout,
        background,
    };
    let bash = ("Bash", "command");
    vec![
        surface("native", bash, 31_000, false, Timeout::Fails, bash_output("Bash")),
        surface(
            "exec",
            ("exec", "command"),
            31_000,
            false,
            Timeout::Fails,
            Background::Read { tool: "exec_bg", with: json!({}), reader: "exec_status", id: "id", names: Names::Id },
        ),
        surface(
            "modes",
            ("bash", "command"),
            131_200,
            false,
            Timeout::IsTooLong,
            Background::File { with: json!({"mode": "background"}), before: "<output_file>", after: "</output_file>" },
        ),
        surface(
            "boris",
            ("bash", "command"),
            33_000,
            false,
            Timeout::Fails,
            Background::Read { tool: "bash", with: flag(), reader: "task_output", id: "task_id", names: Names::Id },
        ),
        surface("wave", bash, 30_100, true, Timeout::Fails, bash_output("Bash")),
        surface("opencode", bash, 30_100, true, Timeout::Fails, bash_output("Bash")),
        surface(
            "claude",
            bash,
            30_100,
            true,
            Timeout::GoesOn,
            Background::File { with: flag(), before: "Output is being written to: ", after: ". Monitor" },
        ),
        surface("claude-2025", bash, 30_300, true, Timeout::Fails, bash_output("Bash")),
        surface(
            "codex",
            ("exec_command", "cmd"),
            41_000,
            false,
            Timeout::IsData,
            Background::Read {
                tool: "exec_command",
                with: json!({"yield_time_ms": 250}),
                reader: "write_stdin",
                id: "session_id",
                names: Names::Number,
            },
        ),
        surface(
            "gemini",
            ("run_shell_command", "command"),
            40_500,
            false,
            Timeout::Fails,
            Background::Read {
                tool: "run_shell_command",
                with: json!({"is_background": true}),
                reader: "read_background_output",
                id: "pid",
                names: Names::Pid,
            },
        ),
        surface("opencode-cli", ("bash", "command"), 51_200, false, Timeout::Fails, Background::No),
        surface("anthropic", ("bash", "command"), 31_000, false, Timeout::Fails, Background::No),
    ]
}

struct Client<'a> {
    surface: &'a Surface,
    wire: Wire,
}

/// What a model sees of a reply.
struct Seen {
    text: String,
    failed: bool,
}

impl<'a> Client<'a> {
    fn new(place: &Place, surface: &'a Surface, arguments: &[&str]) -> Self {
        let mut wire = place.session(&[&["--dialect", surface.dialect], arguments].concat());
        wire.patience = PATIENCE;
        Self { surface, wire }
    }

    fn run(&mut self, command: &str) -> Seen {
        let (tool, parameter) = self.surface.run;
        self.call(tool, &json!({parameter: command}))
    }

    /// A call, whose reply says something and no more than it may.
    fn call(&mut self, tool: &str, arguments: &Value) -> Seen {
        let (result, dialect) = (self.wire.call(tool, arguments), self.surface.dialect);
        let blocks = result["content"].as_array().unwrap();
        let texts: Vec<&str> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
        assert!(!texts.is_empty(), "{dialect} {arguments}: {result}");
        for text in &texts {
            assert!(!text.trim().is_empty(), "{dialect} {arguments}: an empty text");
            assert!(!text.contains('\0'), "{dialect} {arguments}: a NUL");
        }
        let text = texts.concat();
        let length = text.chars().count();
        assert!(length <= self.surface.most, "{dialect} {arguments}: {length} characters");
        Seen { text, failed: result["isError"] == true }
    }
}

/// All dialects are here.
#[test]
fn every_dialect_has_a_row() {
    let rows: Vec<&str> = surfaces().iter().map(|surface| surface.dialect).collect();
    for name in chiton_dialects::names() {
        assert!(rows.contains(&name), "{name} has no row");
    }
    assert_eq!(rows.len(), chiton_dialects::names().len());
}

#[test]
fn a_command_says_something_also_when_it_prints_nothing() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let mut client = Client::new(&place, surface, &[]);
        for command in ["true", "echo", "printf ' '"] {
            let seen = client.run(command);
            assert!(!seen.failed, "{name} {command}: {}", seen.text);
        }
        let seen = client.run("false");
        assert_eq!(seen.failed, surface.code_fails, "{name}: {}", seen.text);
        assert!(seen.text.contains('1'), "{name} does not say the code: {}", seen.text);
        let seen = client.run("echo out; echo err >&2; exit 3");
        assert!(["out", "err", "3"].iter().all(|part| seen.text.contains(part)), "{name}: {}", seen.text);
    }
}

/// The first file of the place that a text names.
fn named_file(place: &Place, text: &str) -> Option<PathBuf> {
    let start = text.find(place.folder.path().to_str().unwrap())?;
    let rest = &text[start..];
    let end = rest.find([' ', '\n', ']']).unwrap_or(rest.len());
    Some(PathBuf::from(rest[..end].trim_end_matches('.')))
}

/// Whether a text says how to get what it leaves out.
fn has_a_way_on(place: &Place, text: &str) -> bool {
    let ways = [" and since ", "chiton logs shell_", "read_background_output with pid"];
    ways.iter().any(|way| text.contains(way)) || named_file(place, text).is_some_and(|file| holds(&file, "\n100000\n"))
}

fn holds(file: &Path, part: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|content| content.contains(part))
}

#[test]
fn long_output_has_its_beginning_its_end_and_a_way_to_the_rest() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let mut client = Client::new(&place, surface, &[]);
        let seen = client.run("seq 1 200000");
        let ends =
            |text: &str| format!("{} … {}", &text[..text.len().min(300)], &text[text.len().saturating_sub(300)..]);
        assert!(!seen.failed, "{name}: {}", ends(&seen.text));
        assert!(seen.text.contains("1\n2\n3\n"), "{name} has no beginning: {}", ends(&seen.text));
        assert!(seen.text.contains("\n199999\n200000"), "{name} has no end: {}", ends(&seen.text));
        assert!(has_a_way_on(&place, &seen.text), "{name} has no way on: {}", ends(&seen.text));

        // One line without an end, of characters that are not bytes.
        let seen = client.run("printf A; head -c 100000 /dev/zero | sed 's/\\x0/\\xc3\\xa9/g'; printf Z");
        assert!(seen.text.contains("Aéé") && seen.text.contains("ééZ"), "{name}: {}", seen.text.len());
        assert!(!seen.text.contains(char::REPLACEMENT_CHARACTER), "{name} cuts inside a character");
    }
}

fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[test]
fn what_is_left_out_can_be_read_with_the_call_that_the_reply_names() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let mut client = Client::new(&place, surface, &[]);
        let seen = client.run("seq 1 20000");
        let Some((_, rest)) = seen.text.split_once(" and since ") else { continue };
        let since = leading_number(rest).unwrap();
        let id = &seen.text[seen.text.find("shell_").unwrap()..][.."shell_00000000".len()];
        let Background::Read { reader, id: parameter, .. } = &surface.background else {
            panic!("{name} has no reader")
        };

        // From the gap on, page by page, it is all there: a page may end inside a line, so only digits are compared.
        let all = (1..=20_000).map(|number| number.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        let digits = |text: &str| text.lines().filter(|line| line.parse::<u32>().is_ok()).collect::<String>();
        let (mut next, mut read) = (Some(since), String::new());
        while let Some(at) = next {
            let page = client.call(reader, &json!({*parameter: id, "since": at})).text;
            read += &digits(&page);
            next = page.split_once(" and since ").and_then(|(_, rest)| leading_number(rest));
            assert!(next.is_none_or(|next: u64| next > at), "{name} does not go on: {page}");
        }
        let expected = all[usize::try_from(since).unwrap()..].replace('\n', "");
        assert!(read == expected, "{name}: {} digits of {}", read.len(), expected.len());
    }
}

#[test]
fn what_is_not_text_is_named_and_not_sent() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let mut client = Client::new(&place, surface, &[]);
        let cases = [
            "head -c 100000 /dev/zero",
            "head -c 100000 /dev/zero | tr '\\0' '\\377'",
            "printf '\\377\\n%.0s' {1..50000}",
            "head -c 100000 /dev/zero >&2",
        ];
        for command in cases {
            let seen = client.run(command);
            assert!(!seen.failed, "{name}: {}", seen.text);
            let says = ["binary output", "100000 bytes"].iter().all(|part| seen.text.contains(part));
            let once = seen.text.matches("binary output").count() == 1;
            assert!(says && once && seen.text.len() < 1_000, "{name} {command}: {}", seen.text);
        }
        let seen = client.run("seq 1 500; printf '\\0'; seq 501 1000");
        assert!(seen.text.contains("\u{2400}501\n") && !seen.text.contains("binary"), "{name}: {}", seen.text);
    }
}

#[test]
fn a_refused_command_has_failed_and_says_why() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let settings = place.folder.path().join("settings.toml");
        std::fs::write(&settings, format!("[guard]\nrule = {RULE}\n")).unwrap();
        let work = place.folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let arguments = ["--config", settings.to_str().unwrap(), "--dir", work.to_str().unwrap()];
        let mut client = Client::new(&place, surface, &arguments);

        let seen = client.run("touch canary");
        assert!(seen.failed && seen.text.contains("Canaries sing"), "{name}: {}", seen.text);
        assert!(!seen.text.contains("..") && !seen.text.contains("PGID"), "{name}: {}", seen.text);
        let starts = match &surface.background {
            Background::Read { tool, with, .. } => Some((*tool, with)),
            Background::File { with, .. } => Some((surface.run.0, with)),
            Background::No => None,
        };
        if let Some((tool, with)) = starts {
            let seen = client.call(tool, &started(surface, with, "touch canary.too"));
            assert!(seen.failed && seen.text.contains("Canaries sing"), "{name}: {}", seen.text);
        }
        assert!(!work.join("canary").exists() && !work.join("canary.too").exists(), "{name}");
    }
}

#[test]
fn a_syntax_error_says_so() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let mut client = Client::new(&place, surface, &[]);
        for command in ["if true; then echo x", "echo 'unterminated"] {
            let seen = client.run(command);
            let says = ["syntax error", "unexpected EOF"].iter().any(|part| seen.text.contains(part));
            assert!(says && seen.text.contains('2'), "{name} {command}: {}", seen.text);
            assert_eq!(seen.failed, surface.code_fails, "{name} {command}: {}", seen.text);
        }
        assert!(client.run("echo still here").text.contains("still here"), "{name}");
    }
}

#[test]
fn a_nul_in_a_call_is_refused_in_words_and_not_said_again() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let mut client = Client::new(&place, surface, &[]);
        let seen = client.run("echo a\0b");
        assert!(seen.failed && seen.text.contains("a NUL byte at position 6"), "{name}: {}", seen.text);
        if let Background::Read { reader, id, .. } = &surface.background {
            assert!(client.call(reader, &json!({*id: "shell_\0"})).failed, "{name}");
        }
    }
}

/// The tools that say a command again, besides the one that starts it.
const NAMING: [(&str, &str); 3] =
    [("native", "ListShells"), ("gemini", "list_background_processes"), ("claude", "TaskStop")];

#[test]
fn however_long_a_command_is_no_reply_says_all_of_it() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let mut client = Client::new(&place, surface, &["--structured"]);
        let long = format!("until [ -e stop ]; do sleep 0.05; done # {}", "y".repeat(200_000));
        let (tool, with) = match &surface.background {
            Background::Read { tool, with, .. } => (*tool, with),
            Background::File { with, .. } => (surface.run.0, with),
            Background::No => continue,
        };
        let begun = client.call(tool, &started(surface, with, &long));
        assert!(!begun.failed, "{name}: {}", begun.text);
        for (_, tool) in NAMING.iter().filter(|(dialect, _)| *dialect == name) {
            let id = begun.text.find("shell_").map(|at| &begun.text[at..at + "shell_00000000".len()]);
            let seen = client.call(tool, &json!({"task_id": id, "ended": 1_000_000_000}));
            assert!(seen.text.contains("until [ -e stop ]") && seen.text.len() < 2_000, "{name}: {}", seen.text.len());
        }
        place.call(&["kill", "--all"]);
    }
}

#[test]
fn what_a_command_leaves_running_is_said() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let seen = Client::new(&place, surface, &[]).run("sleep 3 & echo started");
        let says = ["eft running", "Background PIDs: "].iter().any(|words| seen.text.contains(words));
        assert!(!seen.failed && says && seen.text.contains("started"), "{name}: {}", seen.text);
        let once = seen.text.matches("eft running").count() <= 1;
        assert!(once, "{name}: {}", seen.text);
    }
}

#[test]
fn a_command_that_takes_too_long_keeps_what_it_printed() {
    for (number, surface) in surfaces().iter().enumerate() {
        let (place, name) = (Place::new(), surface.dialect);
        let sleep = format!("sleep {}.{}", 70_900 + number, std::process::id());
        let mut client = Client::new(&place, surface, &["--timeout", "1"]);
        let fails = match surface.timeout {
            Timeout::IsTooLong => continue,
            Timeout::Fails => true,
            Timeout::IsData | Timeout::GoesOn => false,
        };
        let seen = client.run(&format!("echo before; {sleep}"));
        assert_eq!(seen.failed, fails, "{name}: {}", seen.text);
        assert!(seen.text.contains("before"), "{name}: {}", seen.text);
        if matches!(surface.timeout, Timeout::GoesOn) {
            assert!(!with_command(&sleep).is_empty(), "{name} has stopped it");
            let id = &seen.text[seen.text.find("shell_").unwrap()..][.."shell_00000000".len()];
            client.call("TaskStop", &json!({"task_id": id}));
        } else {
            let words = ["timed out", "timeout", "printed nothing for 1 seconds"];
            assert!(words.iter().any(|word| seen.text.contains(word)), "{name}: {}", seen.text);
        }
        assert!(eventually(PATIENCE, || with_command(&sleep).is_empty()), "{name} leaves it running");
    }
}

fn started(surface: &Surface, with: &Value, command: &str) -> Value {
    let mut arguments = with.clone();
    arguments[surface.run.1] = json!(command);
    arguments
}

#[test]
fn a_background_command_is_read_to_its_end() {
    for surface in &surfaces() {
        let (place, name) = (Place::new(), surface.dialect);
        let mut client = Client::new(&place, surface, &[]);
        let go = place.folder.path().join("go");
        let command = "until [ -e go ]; do sleep 0.05; done; seq 1 200000; echo over";
        match &surface.background {
            Background::No => {}
            Background::File { with, before, after } => {
                let seen = client.call(surface.run.0, &started(surface, with, command));
                let file = seen.text.split_once(before).and_then(|(_, rest)| rest.split_once(after));
                let file = PathBuf::from(file.unwrap_or_else(|| panic!("{name}: {}", seen.text)).0);
                std::fs::write(&go, "").unwrap();
                let ended = || holds(&file, "\n200000\nover\n[the command exited with code 0]\n");
                assert!(eventually(PATIENCE, ended), "{name}: {}", file.display());
            }
            Background::Read { tool, with, reader, id, names } => {
                let seen = client.call(tool, &started(surface, with, command));
                assert!(!seen.failed, "{name}: {}", seen.text);
                let digits = |mark: &str| {
                    let rest = &seen.text
                        [seen.text.find(mark).unwrap_or_else(|| panic!("{name}: {}", seen.text)) + mark.len()..];
                    json!(leading_number(rest).unwrap())
                };
                let task = match names {
                    Names::Id => json!(&seen.text[seen.text.find("shell_").unwrap()..][.."shell_00000000".len()]),
                    Names::Pid => digits("PID: "),
                    Names::Number => digits("session ID "),
                };
                std::fs::write(&go, "").unwrap();
                let end = Instant::now() + PATIENCE;
                let mut seen = client.call(reader, &json!({*id: task.clone()})).text;
                while !seen.contains("\nover") {
                    assert!(Instant::now() < end, "{name} never says the end: {seen}");
                    std::thread::sleep(Duration::from_millis(20));
                    seen = client.call(reader, &json!({*id: task.clone()})).text;
                }
            }
        }
    }
}
