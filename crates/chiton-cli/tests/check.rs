//! `chiton check` as a person or a script uses it. It runs nothing, whatever it is given.

use std::io::Write;
use std::process::Stdio;

use crate::place::{Place, text};

/// Arguments, a part of standard output, exit code.
const CASES: [(&[&str], &str, i32); 16] = [
    (&["ls -la"], "allow: Nothing speaks against it.", 0),
    (&["git push --force"], "ask [publish]", 10),
    (&["rm -rf /"], "deny [delete-root]", 20),
    (&["--home", "/home/x", "--user", "x", "--cwd", "/home/x/p", "rm -rf ~"], "/home/x, a home directory", 20),
    (&["--cwd", "/srv/app", "cd /tmp; rm -rf ../srv"], "/srv", 20),
    (&["--cwd", "/srv/app/sub", "--workspace", "/srv/app", "rm -rf .."], "the whole workspace", 10),
    (&["echo \"open"], "syntax error: ", 2),
    (&["--guard", "strict", "make"], "ask [strict]", 10),
    (&["--guard", "off", "rm -rf /"], "THE GUARD IS OFF", 0),
    (&["--env", "OUT=/", "rm -rf $OUT"], "deny [delete-root]", 20),
    (&["--env", "PYTHON=python3", "$PYTHON -m pytest"], "allow", 0),
    (&["rm -rf ~/Documents; git push --force"], "also ask [publish]", 10),
    (&["git push --force"], "guard.allow = [\"git push --force\"]", 10),
    (&["rm -rf /"], "no setting allows it", 20),
    (&["vim x"], "note: vim would wait for a person", 0),
    (&["-c"], "allow", 0),
];

#[test]
fn a_verdict_is_told_in_words_and_by_the_exit_code() {
    let place = Place::new();
    for (arguments, part, code) in CASES {
        let output = place.call(&[&["check"], arguments].concat());
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {shown}{}", text(&output.stderr));
        assert!(shown.contains(part), "{arguments:?}: {shown}");
    }
}

#[test]
fn the_setting_that_a_verdict_names_allows_the_command() {
    let place = Place::new();
    let settings = place.folder.path().join(".config/chiton/config.toml");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let commands = ["git push --force", "git push --force origin 'my branch'", "npm publish", "crontab -r"];
    for command in commands {
        let asked = place.call(&["check", command]);
        assert_eq!(asked.status.code(), Some(10), "{command}: {}", text(&asked.stdout));
        let said = text(&asked.stdout);
        let (_, setting) = said.split_once("guard.allow = ").unwrap_or_else(|| panic!("{command}: {said}"));
        let (list, _) = setting.split_once(']').unwrap();
        std::fs::write(&settings, format!("[guard]\nallow = {list}]\n")).unwrap();
        let allowed = place.call(&["check", command]);
        let shown = text(&allowed.stdout) + &text(&allowed.stderr);
        assert_eq!(allowed.status.code(), Some(0), "{command}: {shown}");
        assert_eq!(place.call(&["check", &format!("{command} --other")]).status.code(), Some(10), "{command}");
        std::fs::remove_file(&settings).unwrap();
    }
}

/// The settings of a profile, a command in a repository with changes, a part of what is said, exit code.
const IN_A_SANDBOX: [(&str, &str, &str, i32); 7] = [
    ("", "git reset --hard", "allow [git-discard]: Can be undone: This would lose 1 changed file: a.", 0),
    ("", "git clean -fdx", "allow [git-discard]: Can be undone: This deletes every file", 0),
    ("", "rm -rf .", "allow [delete-workspace]: Can be undone: ", 0),
    ("", "git reset --hard && git push --force", "ask [publish]", 10),
    ("", "shred *", "It could not be undone: ", 10),
    ("undo = 'ask'", "git reset --hard", "ask [git-discard]: This would lose 1 changed file: a.", 10),
    ("undo = 'off'", "rm -rf .", "ask [delete-workspace]", 10),
];

#[test]
fn what_can_be_undone_is_allowed_in_a_sandbox_that_keeps_it() {
    let place = Place::new();
    let project = place.folder.path().join("project");
    std::fs::create_dir_all(&project).unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let output = place.command_of("git").current_dir(&project).args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    };
    git(&["init", "-q"]);
    std::fs::write(project.join("a"), "one").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    std::fs::write(project.join("a"), "two").unwrap();
    // Larger than what is copied before it is overwritten; it takes no room on the disk.
    std::fs::File::create(project.join("large")).unwrap().set_len(200 << 20).unwrap();

    let config = place.folder.path().join("config.toml");
    for (settings, command, part, code) in IN_A_SANDBOX {
        std::fs::write(&config, format!("[sandbox.profiles.own]\n{settings}\n")).unwrap();
        let arguments = ["--config", config.to_str().unwrap(), "check", "--sandbox", "own", command];
        let output = place.command().current_dir(&project).args(arguments).output().unwrap();
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{settings} {command}: {shown}{}", text(&output.stderr));
        assert!(shown.contains(part), "{settings} {command}: {shown}");
    }
}

#[test]
fn the_place_is_underlined() {
    let output = Place::new().call(&["check", "echo ok && rm -rf /etc # x"]);
    assert!(
        text(&output.stdout).contains("  echo ok && rm -rf /etc # x\n                    ^^^^\n"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_command_may_come_on_standard_input_and_the_verdict_as_json() {
    let place = Place::new();
    let mut child =
        place.command().args(["check", "--json", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"X=/\nsudo rm -rf \"$X\" > log\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(20));
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["verdict"], "deny");
    assert_eq!(verdict["rule"], "delete-root");
    assert_eq!(verdict["target"], "/");
    assert!(verdict["reason"].as_str().unwrap().contains('/'));
    assert_eq!(verdict["span"]["start"], 16);
    let words: Vec<&str> =
        verdict["commands"][1]["words"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(words, ["sudo", "rm", "-rf", "/"]);
    assert_eq!(verdict["files"][0]["access"], "write");
    assert_eq!(verdict["waits"][0]["program"], "sudo");
}

/// Sends lines to `chiton check --batch` and takes the answers and the exit code.
fn batch(place: &Place, arguments: &[&str], lines: &str) -> (Vec<serde_json::Value>, Option<i32>) {
    let arguments = [&["check", "--batch"], arguments].concat();
    let mut child = place.command().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answers = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (answers, output.status.code())
}

#[test]
fn many_commands_are_judged_in_order_each_with_its_own_place() {
    let lines = concat!(
        "\"ls\"\n",
        "{\"id\": 7, \"command\": \"rm -rf ~\", \"home\": \"/home/x\"}\n",
        "\n",
        "{\"id\": \"a\", \"command\": \"rm -rf .\", \"cwd\": \"/srv/app\", \"workspace\": \"/srv/app\"}\n",
        "{\"command\": \"rm -rf $X\", \"env\": {\"X\": \"/\"}}\n",
        "{\"command\": \"make\", \"guard\": \"strict\"}\n",
        "\"echo \\\"open\"\n",
    );
    let (answers, code) = batch(&Place::new(), &[], lines);
    assert_eq!(code, Some(0));
    let verdicts: Vec<&str> = answers.iter().map(|answer| answer["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["allow", "deny", "ask", "deny", "ask", "allow"]);
    assert_eq!(answers[1]["id"], 7);
    assert_eq!(answers[1]["target"], "/home/x");
    assert_eq!(answers[2]["id"], "a");
    assert_eq!(answers[4]["rule"], "strict");
    assert!(answers[5]["syntax_error"].as_str().unwrap().contains("never closed"));
}

#[test]
fn a_bad_line_is_named_and_the_others_are_judged() {
    let lines = "\"ls\"\nnot json\n{\"id\": 1, \"commando\": \"ls\"}\n3\n\"rm -rf /\"\n";
    let (answers, code) = batch(&Place::new(), &[], lines);
    assert_eq!(code, Some(1));
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[1]["line"], 2);
    assert!(answers[2]["error"].as_str().unwrap().contains("commando"));
    assert!(answers[3]["error"].as_str().unwrap().contains("JSON string"));
    assert_eq!(answers[4]["verdict"], "deny");
}

#[test]
fn a_command_is_judged_with_the_state_of_a_named_session() {
    let place = Place::new();
    assert!(place.run(&["--session", "s", "OUT=/; end() { kill \"$1\"; }"]).status.success());
    let decision = |command: &str| place.call(&["check", "--session", "s", command]).status.code();
    assert_eq!(decision("rm -rf \"$OUT\""), Some(20));
    assert_eq!(decision("end 1"), Some(20));
    assert_eq!(decision("ls"), Some(0));
}

#[test]
fn bytes_that_are_not_text_are_judged_too() {
    use std::os::unix::ffi::OsStrExt;
    let command = std::ffi::OsStr::from_bytes(b"echo \xff; rm -rf /");
    let output = Place::new().command().arg("check").arg(command).output().unwrap();
    assert_eq!(output.status.code(), Some(20), "{}", text(&output.stderr));
}
