//! Programs that talk to a person, driven through the server by a test that types.

use std::fs;
use std::process::Command;

use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, text};

/// A command in a terminal, and the hands on it.
struct Hands {
    wire: Wire,
    id: String,
}

impl Hands {
    fn on(place: &Place, arguments: &[&str], call: &Value) -> (Self, Value) {
        let mut wire = place.session(arguments);
        let reply = wire.call("Bash", call);
        let facts = &reply["structuredContent"];
        let id = facts["bash_id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned();
        (Self { wire, id }, reply)
    }

    /// Types, waits until it is taken, however busy the machine is, and gives the reply.
    fn input(&mut self, mut call: Value) -> Value {
        call["bash_id"] = json!(self.id);
        call["wait"] = json!(20000);
        let reply = self.wire.call("BashInput", &call);
        assert_eq!(reply["isError"], false, "{call}: {reply}");
        reply["structuredContent"].clone()
    }

    /// Types and waits until something is shown; gives the screen of a full-screen program, or what is new.
    fn until(&mut self, mut call: Value, pattern: &str) -> String {
        call["wait_for"] = json!(pattern);
        let reply = self.input(call.clone());
        let screen = reply["screen"].as_str().or(reply["output"].as_str()).unwrap_or_default().to_owned();
        assert!(regex::Regex::new(&format!("(?m){pattern}")).unwrap().is_match(&screen), "{call}\n{screen}");
        screen
    }

    fn ended(&mut self) -> Value {
        let reply = self.wire.call("BashOutput", &json!({"bash_id": self.id, "wait": 20000, "view": "plain"}));
        let facts = reply["structuredContent"].clone();
        assert_ne!(facts["status"], "running", "{reply}");
        facts
    }

    fn kill(mut self) {
        self.wire.call("KillShell", &json!({"bash_id": self.id}));
    }
}

fn bash(command: &str) -> Value {
    json!({"command": command, "pty": true, "timeout": 60000})
}

#[test]
fn a_shell_prompt() {
    let place = Place::new();
    let (mut hands, reply) = Hands::on(&place, &[], &bash("PS1='> ' bash --norc --noprofile -i"));
    assert_eq!(reply["structuredContent"]["outcome"], "running", "{reply}");
    assert_eq!(reply["structuredContent"]["waiting"]["prompt"], ">");
    hands.until(json!({"text": "echo $((6*7))\n"}), "^42$");
    // What it prints itself shows that it is in the foreground, where the key is for it and not for the shell.
    hands.until(json!({"text": "sh -c 'echo begun; exec sleep 100'\n"}), "^begun$");
    let reply = hands.input(json!({"keys": "ctrl-c"}));
    assert_eq!(reply["waiting"]["prompt"], ">", "back at the prompt: {reply}");
    hands.input(json!({"keys": "up up enter"}));
    hands.until(json!({"text": "false | true; exit 5\n"}), "exit");
    assert_eq!(hands.ended()["exit_code"], 5);
}

#[test]
fn a_python_repl() {
    let place = Place::new();
    let (mut hands, reply) = Hands::on(&place, &[], &bash("python3 -q"));
    assert_eq!(reply["structuredContent"]["waiting"]["prompt"], ">>>", "{reply}");
    hands.until(json!({"text": "x = 6 * 7\nprint(f'x is {x}')\n"}), "^x is 42$");
    hands.until(json!({"paste": "for n in range(2):\n    print('n', n)\n", "keys": "enter enter"}), "^n 1$");
    hands.input(json!({"keys": "ctrl-d"}));
    assert_eq!(hands.ended()["exit_code"], 0);
}

#[test]
fn vim_writes_a_file() {
    let place = Place::new();
    let (mut hands, reply) = Hands::on(&place, &[], &bash("vim -u NONE -i NONE -n notes.txt"));
    assert_eq!(reply["structuredContent"]["outcome"], "running", "{reply}");
    hands.until(json!({"text": "ihello from a test"}), "^hello from a test$");
    hands.until(json!({"keys": "esc"}), "hello");
    hands.until(json!({"text": ":wq\n"}), "");
    assert_eq!(hands.ended()["exit_code"], 0);
    assert_eq!(fs::read_to_string(place.folder.path().join("notes.txt")).unwrap(), "hello from a test\n");
}

#[test]
fn less_with_a_search() {
    let place = Place::new();
    let lines = (1..=500).fold(String::new(), |text, number| text + "line " + &number.to_string() + "\n");
    fs::write(place.folder.path().join("long.txt"), lines).unwrap();
    let (mut hands, _) = Hands::on(&place, &[], &bash("less long.txt"));
    hands.until(json!({}), "^line 1$");
    let screen = hands.until(json!({"text": "/line 250\n"}), "^line 250$");
    assert!(screen.starts_with("line 250\n"), "{screen}");
    hands.until(json!({"keys": "G"}), "^line 500$");
    let screen = hands.until(json!({"keys": "home"}), "^line 1$");
    assert!(screen.starts_with("line 1\n"), "{screen}");
    hands.input(json!({"text": "q"}));
    assert_eq!(hands.ended()["exit_code"], 0);
}

#[test]
fn top_for_one_refresh() {
    let place = Place::new();
    let (mut hands, _) = Hands::on(&place, &[], &bash("top -d 1"));
    let screen = hands.until(json!({}), "PID +USER");
    assert!(screen.contains("load average"), "{screen}");
    hands.input(json!({"text": "q"}));
    assert_eq!(hands.ended()["exit_code"], 0);
}

const MENU: &str = r#"
import curses
def menu(screen):
    curses.curs_set(0)
    items, at = ["apples", "pears", "plums"], 0
    while True:
        screen.clear()
        for place, item in enumerate(items):
            screen.addstr(place, 0, ("> " if place == at else "  ") + item)
        screen.refresh()
        key = screen.getch()
        if key == curses.KEY_DOWN: at = min(at + 1, 2)
        elif key == curses.KEY_UP: at = max(at - 1, 0)
        elif key in (10, 13): return items[at]
print("chosen:", curses.wrapper(menu))
"#;

#[test]
fn a_menu_with_arrow_keys() {
    let place = Place::new();
    fs::write(place.folder.path().join("menu.py"), MENU).unwrap();
    let (mut hands, _) = Hands::on(&place, &[], &bash("python3 menu.py"));
    hands.until(json!({}), "^> apples$");
    hands.until(json!({"keys": "down"}), "^> pears$");
    hands.until(json!({"keys": "down down up down"}), "^> plums$");
    hands.until(json!({"keys": "enter"}), "^chosen: plums$");
    assert_eq!(hands.ended()["exit_code"], 0);
}

/// What `sha256sum` says of the password.
const CHECKSUM: &str = "9028ea0d15decaa35b2da21c0290af3b1a5ba0a30a591906f89b5074e209ea72";

#[test]
fn a_password_by_reference_and_never_by_text_and_masked_in_every_view() {
    let place = Place::new();
    // The value is in the environment of the server, from where it is a secret.
    let mut command = place.server(&["--secret-env", "door=THE_PASSWORD"]);
    command.env("THE_PASSWORD", "correct horse battery");
    let mut wire = Wire::session(command);
    let call =
        bash("read -s -p 'Password: ' x; echo; printf %s \"$x\" | sha256sum; echo \"it was: $x\"; read -p 'again: ' y");
    let reply = wire.call("Bash", &call);
    let facts = &reply["structuredContent"];
    assert_eq!(
        (&facts["waiting"]["prompt"], &facts["waiting"]["echo"]),
        (&json!("Password:"), &json!(false)),
        "{reply}"
    );
    let id = facts["bash_id"].as_str().unwrap().to_owned();
    let mut hands = Hands { wire, id: id.clone() };
    for typed in [json!({"text": "hunter2\n"}), json!({"keys": "h u n t e r enter"}), json!({"paste": "hunter2"})] {
        let mut call = typed.clone();
        call["bash_id"] = json!(id);
        let refused = hands.wire.call("BashInput", &call);
        assert_eq!(refused["isError"], true, "{typed}: {refused}");
        assert!(refused["content"][0]["text"].as_str().unwrap().contains("asks for a password"), "{refused}");
    }
    let screen = hands.until(json!({"text": "{{secret:door}}\n"}), "^it was: ");
    assert!(screen.contains("it was: {{secret:door}}"), "{screen}");
    assert!(screen.contains(CHECKSUM), "the value itself was typed: {screen}");
    // Shown as typed this time: masked all the same.
    hands.input(json!({"text": "{{secret:door}}"}));
    for view in ["plain", "raw", "screen"] {
        let reply = hands.wire.call("BashOutput", &json!({"bash_id": id, "since": 0, "view": view}));
        assert!(!reply.to_string().contains("correct horse"), "{view}: {reply}");
        assert!(reply.to_string().contains("{{secret:door}}"), "{view}: {reply}");
    }
    let cast = text(&place.call(&["export", "--cast", &id]).stdout);
    let shot = text(&place.call(&["shot", &id]).stdout);
    assert!(cast.contains("{{secret:door}}") && shot.contains("{{secret:door}}"), "{cast}\n{shot}");
    assert!(!cast.contains("correct horse") && !shot.contains("correct horse"));
    hands.kill();
    let found = Command::new("grep").args(["-rl", "correct horse"]).arg(place.folder.path()).output().unwrap();
    assert_eq!(text(&found.stdout), "", "in no file");
}

#[test]
fn ssh_keygen_asks_and_is_answered() {
    let place = Place::new();
    let (mut hands, reply) = Hands::on(&place, &[], &bash("ssh-keygen -t ed25519"));
    let prompt = reply["structuredContent"]["waiting"]["prompt"].as_str().unwrap_or_default().to_owned();
    assert!(prompt.starts_with("Enter file in which to save the key"), "{reply}");
    let reply = hands.input(json!({"text": format!("{}\n", place.folder.path().join("key").display())}));
    assert_eq!(reply["waiting"]["echo"], false, "{reply}");
    hands.input(json!({"keys": "enter"}));
    hands.input(json!({"keys": "enter"}));
    assert_eq!(hands.ended()["exit_code"], 0);
    assert!(place.folder.path().join("key.pub").exists());
}

#[test]
fn git_rebase_with_an_editor() {
    let place = Place::new();
    let setup = "git init -q repo && cd repo && git config user.email t@example.org && git config user.name T && for n in 1 2 3; \
                 do echo $n > f$n; git add .; git commit -qm \"commit $n\"; done";
    assert!(place.run(&[setup]).status.success());
    let command = "cd repo && GIT_EDITOR='vim -u NONE -i NONE -n' git rebase -i --root";
    let (mut hands, _) = Hands::on(&place, &[], &bash(command));
    hands.until(json!({}), "^pick .*commit 1");
    // Drops the second commit.
    hands.until(json!({"text": "jdd"}), "commit 3");
    hands.input(json!({"text": ":wq\n"}));
    assert_eq!(hands.ended()["exit_code"], 0);
    let log = place.run(&["cd repo && git log --format=%s"]);
    assert_eq!(text(&log.stdout), "commit 3\ncommit 1\n");
}

#[test]
fn a_killed_server_with_vim_open_loses_nothing() {
    let place = Place::new();
    let (mut hands, _) = Hands::on(&place, &[], &bash("vim -u NONE -i NONE -n notes.txt"));
    let before = hands.until(json!({"text": "ifirst line\nsecond"}), "^second$");
    let id = hands.id.clone();
    hands.wire.kill();
    let mut hands = Hands { wire: place.session(&[]), id };
    let after = hands.wire.call("BashOutput", &json!({"bash_id": hands.id, "view": "screen"}));
    assert_eq!(after["structuredContent"]["screen"], before, "the same screen");
    hands.until(json!({"text": " line"}), "^second line$");
    hands.until(json!({"keys": "esc"}), "second");
    hands.input(json!({"text": ":wq\n"}));
    assert_eq!(hands.ended()["exit_code"], 0);
    assert_eq!(fs::read_to_string(place.folder.path().join("notes.txt")).unwrap(), "first line\nsecond line\n");
}

#[test]
fn codex_types_into_a_terminal() {
    let place = Place::new();
    let mut wire = place.session(&["--dialect", "codex", "--structured"]);
    let call = json!({"cmd": "tty; read -p 'name? ' x; echo hello $x; sleep 100", "tty": true, "yield_time_ms": 1000});
    let reply = wire.call("exec_command", &call);
    let session = &reply["structuredContent"]["session_id"];
    assert!(reply["structuredContent"]["output"].as_str().unwrap().contains("/dev/pts/"), "{reply}");
    let reply = wire.call("write_stdin", &json!({"session_id": session, "chars": "codex\n", "yield_time_ms": 1000}));
    assert!(reply["structuredContent"]["output"].as_str().unwrap().contains("hello codex"), "{reply}");
    let reply = wire.call("write_stdin", &json!({"session_id": session, "chars": "\u{3}", "yield_time_ms": 10000}));
    assert_eq!(reply["structuredContent"]["exit_code"], 130, "{reply}");
}

#[test]
fn a_person_attaches_types_and_detaches_and_the_agent_sees_it() {
    let place = Place::new();
    let (mut hands, _) = Hands::on(&place, &[], &bash("read -p 'name? ' x; echo \"hello $x\"; read -p 'more? ' y"));
    // The person's terminal is itself one of ours.
    let attach = format!("{} attach {}", env!("CARGO_BIN_EXE_chiton"), hands.id);
    let person = place.background(&["--pty", "--cols", "60", "--rows", "20", &attach]);
    let wait = |pattern: &str| place.call(&["wait", "--screen", pattern, "--timeout", "20s", &person]);
    assert_eq!(wait("name\\?").status.code(), Some(0));
    place.call(&["send", &person, "person"]);
    assert_eq!(wait("^more\\?").status.code(), Some(0), "{}", text(&place.call(&["logs", "--screen", &person]).stdout));
    let reply = hands.wire.call("BashOutput", &json!({"bash_id": hands.id, "view": "screen"}));
    let facts = &reply["structuredContent"];
    assert!(facts["screen"].as_str().unwrap().contains("hello person"), "{reply}");
    assert_eq!(
        (&facts["people_attached"], &facts["size"]["columns"], &facts["size"]["rows"]),
        (&json!(1), &json!(60), &json!(20)),
        "{reply}"
    );
    assert!(
        facts["typed_by_people"].as_u64().unwrap() >= 1
            && reply["content"][0]["text"].as_str().unwrap().contains("people attached"),
        "{reply}"
    );
    place.call(&["send", "--keys", "ctrl-\\ d", &person]);
    assert_eq!(place.call(&["wait", "--timeout", "20s", &person]).status.code(), Some(0));
    assert!(text(&place.call(&["logs", "--plain", &person]).stdout).contains("detached"));
    let reply = hands.input(json!({"keys": "enter"}));
    assert_eq!(reply["people_attached"], Value::Null, "{reply}");
    assert_eq!(hands.ended()["exit_code"], 0);
}

#[test]
fn logs_have_three_views_and_a_shot_is_a_picture() {
    let place = Place::new();
    let output = place.run(&[
        "--json",
        "--pty",
        "printf '\\033[31mred\\033[0m 1%%\\r\\033[Kdone\\n'; printf '\\033]0;a title\\007'",
    ]);
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let id = run["run_id"].as_str().unwrap();
    let logs = |view: &str| text(&place.call(&["logs", view, id]).stdout);
    assert_eq!(logs("--raw"), "\u{1b}[31mred\u{1b}[0m 1%\r\u{1b}[Kdone\r\n\u{1b}]0;a title\u{7}");
    assert_eq!((logs("--plain").as_str(), logs("--screen").as_str()), ("done\n", "done\n"));
    let shot = text(&place.call(&["shot", id]).stdout);
    assert!(
        shot.starts_with("<svg") && shot.contains(">done</text>") && shot.contains("<title>a title</title>"),
        "{shot}"
    );
    let ground = |scheme: &str| text(&place.call(&["shot", scheme, id]).stdout);
    assert_eq!(ground("--dark"), shot, "it is dark unless somebody asks for light");
    assert!(ground("--light").starts_with("<svg") && ground("--light") != shot);
    let both = place.call(&["shot", "--light", "--dark", id]);
    assert!(text(&both.stderr).contains("cannot be used with"), "{}", text(&both.stderr));
    let plain = place.json(&["echo x"]);
    let refused = place.call(&["shot", plain["run_id"].as_str().unwrap()]);
    assert!(text(&refused.stderr).contains("has no terminal"), "{}", text(&refused.stderr));
}

#[test]
fn who_only_watches_changes_nothing() {
    let place = Place::new();
    let (mut hands, _) = Hands::on(&place, &[], &bash("read -p 'name? ' x; echo \"hello $x\"; read y"));
    let attach = format!("{} attach --watch {}", env!("CARGO_BIN_EXE_chiton"), hands.id);
    let watcher = place.background(&["--pty", "--cols", "60", "--rows", "20", &attach]);
    let shows = |pattern: &str| place.call(&["wait", "--screen", pattern, "--timeout", "20s", &watcher]).status.code();
    assert_eq!(shows("name\\?"), Some(0));
    place.call(&["send", &watcher, "not me"]);
    hands.until(json!({"text": "me\n"}), "^hello me$");
    assert_eq!(shows("^hello me"), Some(0), "what comes is seen");
    let reply = hands.wire.call("BashOutput", &json!({"bash_id": hands.id, "view": "screen"}));
    let facts = &reply["structuredContent"];
    assert_eq!((facts.get("people_attached"), facts.get("typed_by_people")), (None, None), "{reply}");
    assert_eq!(facts["size"]["columns"], 80, "{reply}");
    place.call(&["send", "--keys", "ctrl-c", &watcher]);
    assert_eq!(place.call(&["wait", "--timeout", "20s", &watcher]).status.code(), Some(0));
    let followed = place.background(&[&format!("{} logs -f --plain {}", env!("CARGO_BIN_EXE_chiton"), hands.id)]);
    hands.input(json!({"keys": "enter"}));
    assert_eq!(place.call(&["wait", "--timeout", "20s", &followed]).status.code(), Some(0));
    assert!(text(&place.call(&["logs", &followed]).stdout).contains("name? me\nhello me\n"));
}

#[test]
fn a_person_who_stops_a_command_sees_at_once_that_it_was_heard() {
    let place = Place::new();
    let chiton = env!("CARGO_BIN_EXE_chiton");
    let stubborn = "trap \"\" TERM INT; echo up; while :; do sleep 0.1; done";
    let id = place.background(&["--pty", "--cols", "100", &format!("{chiton} run '{stubborn}'")]);
    let shows = |pattern: &str| place.call(&["wait", "--screen", pattern, "--timeout", "20s", &id]).status.code();
    assert_eq!(shows("^up"), Some(0));
    place.call(&["send", "--keys", "ctrl-c", &id]);
    assert_eq!(shows("stopping; Ctrl-C again kills it"), Some(0));
    place.call(&["send", "--keys", "ctrl-c", &id]);
    assert_eq!(place.call(&["wait", "--timeout", "20s", &id]).status.code(), Some(130));
    assert!(text(&place.call(&["logs", "--plain", &id]).stdout).contains("the command was cancelled"));
}

#[test]
fn what_is_no_terminal_is_sent_nothing_for_one() {
    let place = Place::new();
    // It could not erase the line.
    let chiton = env!("CARGO_BIN_EXE_chiton");
    let id = place.background(&["--pty", &format!("TERM=dumb {chiton} run 'sleep 2.3; echo done'")]);
    place.call(&["wait", "--timeout", "20s", &id]);
    assert_eq!(text(&place.call(&["logs", "--raw", &id]).stdout), "done\r\n");
    // A file has no screen to restore.
    let id = place.background(&["sleep 60"]);
    let watched = place.call(&["attach", "--watch", &id]);
    assert!(watched.stdout.is_empty() && text(&watched.stderr).contains("no terminal"), "{}", text(&watched.stderr));
    place.call(&["kill", &id]);
}

#[test]
fn a_line_mode_program_answers_with_what_is_new() {
    let place = Place::new();
    let (mut hands, reply) = Hands::on(&place, &[], &bash("python3 -q"));
    let first = reply["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(first.contains(&format!("BashInput with bash_id {} types", hands.id)), "{first}");
    assert!(!first.contains("[screen of"), "{first}");

    let answer = |hands: &mut Hands, call: Value| {
        let mut call = call;
        call["bash_id"] = json!(hands.id);
        hands.wire.call("BashInput", &call)["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let shown = answer(&mut hands, json!({"text": "print(6 * 7)\n"}));
    assert!(shown.contains("print(6 * 7)\n42\n>>>") && !shown.contains("[screen of"), "{shown}");
    // The prompt that was read before does not end a wait for one.
    let shown =
        answer(&mut hands, json!({"text": "import time; time.sleep(0.3); print('slept')\n", "wait_for": "^>>>"}));
    assert!(shown.contains("slept\n>>>"), "{shown}");
    let shown = answer(&mut hands, json!({"text": "exit()\n"}));
    assert!(shown.contains("exited with code 0") && shown.lines().count() <= 3, "{shown}");
}

#[test]
fn a_full_screen_program_answers_with_its_screen_and_leaves_nothing_of_it() {
    let place = Place::new();
    fs::write(place.folder.path().join("menu.py"), MENU).unwrap();
    let (mut hands, reply) = Hands::on(&place, &[], &bash("echo before; python3 menu.py; echo after"));
    let first = reply["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(first.contains("[screen of 80 columns and 24 rows, full-screen program]\n> apples\n  pears\n"), "{first}");
    assert!(!first.contains("before"), "the screen alone: {first}");

    let call = json!({"bash_id": hands.id, "keys": "down"});
    let shown = hands.wire.call("BashInput", &call)["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(shown.contains("  apples\n> pears\n"), "{shown}");
    let call = json!({"bash_id": hands.id, "keys": "enter"});
    let shown = hands.wire.call("BashInput", &call)["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(shown.ends_with("chosen: pears\nafter"), "{shown}");
    assert!(!shown.contains("apples") && !shown.contains("[screen of"), "{shown}");
    assert_eq!(hands.ended()["exit_code"], 0);
}

#[test]
fn vim_that_leaves_is_not_said_to_wait() {
    if !std::path::Path::new("/usr/bin/vim").exists() {
        eprintln!("skipped: vim is not installed");
        return;
    }
    let place = Place::new();
    for round in 0..8 {
        let (mut hands, reply) = Hands::on(&place, &[], &bash("vim -i NONE -n notes.txt"));
        assert!(reply["content"][0]["text"].as_str().unwrap().contains("full-screen program"), "{reply}");
        let call = json!({"bash_id": hands.id, "text": ":wq\n"});
        let shown = hands.wire.call("BashInput", &call)["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(shown.contains("exited with code 0") && shown.contains("it has ended"), "round {round}: {shown}");
    }
}
