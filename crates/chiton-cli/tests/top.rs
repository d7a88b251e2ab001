//! `chiton top` in a real terminal: a person sees what runs and what asks, and steps in.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chiton_engine::terminal::{Screen, TerminalSize};
use chiton_testkit::processes::eventually;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use crate::place::{Place, text};

const SOON: Duration = Duration::from_secs(30);
const RULE: &str = "[{decision = 'ask', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries sing.', match = ['touch canary']}]";

/// A program in a terminal of its own, which is read all the time.
struct Terminal {
    child: Child,
    keys: File,
    printed: Arc<Mutex<Vec<u8>>>,
    size: TerminalSize,
}

impl Terminal {
    fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let end = || File::options().read(true).write(true).open(Path::new(name.to_str().unwrap())).unwrap();
        let mut started = Command::new("setsid");
        started.arg("--ctty").arg("--wait").arg(command.get_program()).args(command.get_args()).env_clear();
        for (variable, value) in command.get_envs() {
            if let Some(value) = value {
                started.env(variable, value);
            }
        }
        started.env("TERM", "xterm-256color").current_dir(command.get_current_dir().unwrap());
        let child = started.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keys = File::from(master);
        let mut reader = keys.try_clone().unwrap();
        let printed: Arc<Mutex<Vec<u8>>> = Arc::default();
        let shared = Arc::clone(&printed);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                shared.lock().unwrap().extend(&buffer[..count]);
            }
        });
        Self { child, keys, printed, size: TerminalSize::nearest(columns, rows) }
    }

    fn lines(&self) -> Vec<String> {
        let mut screen = Screen::new(self.size);
        screen.feed(&self.printed.lock().unwrap());
        screen.snapshot().rows.iter().map(chiton_engine::terminal::snapshot::Row::text).collect()
    }

    /// Waits until a line of the screen has these words.
    fn shows(&self, words: &str) {
        let comes = eventually(SOON, || self.lines().iter().any(|line| line.contains(words)));
        assert!(comes, "no {words:?} in:\n{}", self.lines().join("\n"));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn top(place: &Place) -> Command {
    let mut command = place.command();
    command.arg("top");
    command
}

#[test]
fn a_person_sees_what_runs_and_ends_it() {
    let place = Place::new();
    let id = place.background(&["--description", "a long one", "echo first; sleep 600"]);
    place.run(&["exit 3"]);
    let mut terminal = Terminal::start(&top(&place), 100, 24);
    terminal.shows("1 running · 1 ended");
    terminal.shows("a long one: echo first; sleep 600");
    terminal.shows("exit 3");
    terminal.press("\r");
    terminal.shows("runs  echo first; sleep 600");
    terminal.shows("first");
    terminal.press("\x1b");
    terminal.shows("COMMAND");
    terminal.press("/long");
    terminal.shows("/long");
    terminal.press("\rK");
    terminal.shows(&format!("End {id} with everything it started?"));
    terminal.press("y");
    terminal.shows("has ended, with everything it started");
    let state = text(&place.call(&["ps", "--json"]).stdout);
    assert_eq!(state, "");
    terminal.press("q");
    assert!(eventually(SOON, || terminal.child.try_wait().unwrap().is_some()));
    assert!(terminal.child.wait().unwrap().success());
    // What was printed last may still be on its way here.
    let is_left = || text(&terminal.printed.lock().unwrap()).contains("\x1b[?1049l");
    assert!(eventually(SOON, is_left), "the screen is what it was");
    let journal = text(&place.call(&["audit", "--json"]).stdout);
    assert!(journal.lines().any(|line| line.contains("\"kill\"") && line.contains(&id)), "{journal}");
}

#[test]
fn a_question_of_a_client_that_can_ask_nobody_is_answered_here() {
    let place = Place::new();
    let (settings, work) = (place.folder.path().join("settings.toml"), place.folder.path().join("work"));
    fs::write(&settings, format!("[guard]\nrule = {RULE}\n")).unwrap();
    fs::create_dir(&work).unwrap();
    let mut wire = place.wire(&["--config", settings.to_str().unwrap(), "--dir", work.to_str().unwrap()]);
    wire.greet("2025-06-18", &json!({}));
    let mut terminal = Terminal::start(&top(&place), 40, 16);
    terminal.shows("0 running");
    for (name, key, runs) in [("canary.no", "n", false), ("canary.yes", "y", true)] {
        let call =
            wire.request("tools/call", json!({"name": "Bash", "arguments": {"command": format!("touch {name}")}}));
        terminal.shows("1 needs you");
        terminal.shows(&format!("touch {name}"));
        terminal.press("\r");
        terminal.shows("Canaries sing.");
        terminal.press(key);
        let result = wire.answer(call)["result"].clone();
        assert_eq!((result["isError"] == true, work.join(name).exists()), (!runs, runs), "{result}");
    }
    terminal.press("\x03");
    assert!(eventually(SOON, || terminal.child.try_wait().unwrap().is_some()));
}

#[test]
fn a_terminal_is_taken_over_and_given_back() {
    let place = Place::new();
    let asks = "read -p 'Your name? ' name; echo \"hello $name\"; sleep 600";
    let id = place.background(&["--pty", asks]);
    let mut terminal = Terminal::start(&top(&place), 100, 24);
    terminal.shows("1 needs you");
    terminal.shows("waits for input: Your name?");
    terminal.press("a");
    assert!(eventually(SOON, || {
        terminal.press("");
        text(&place.call(&["logs", "--screen", &id]).stdout).contains("Your name?")
            && terminal.lines().iter().any(|line| line.starts_with("Your name?"))
    }));
    terminal.press("Ada\r");
    terminal.shows("hello Ada");
    terminal.press("\x1cd");
    terminal.shows(&format!("detached from {id}"));
    // The keys are this program's again.
    terminal.press("?");
    terminal.shows("leave; nothing here ends because of that");
    terminal.press("\x1b");
    terminal.shows("COMMAND");
    terminal.press("q");
    assert!(eventually(SOON, || terminal.child.try_wait().unwrap().is_some()));
    place.call(&["kill", &id]);
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let place = Place::new();
    let output = place.call(&["top"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("chiton ps --all"), "{}", text(&output.stderr));
    let mut terminal = Terminal::start(&top(&place), 80, 24);
    terminal.shows("Nothing has run yet");
    terminal.press("q");
}
