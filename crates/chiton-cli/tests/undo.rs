//! `chiton changes`, `chiton undo` and `chiton session`: what commands did to files is listed, and taken back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use chiton_testkit::processes::eventually;
use serde_json::{Value, json};

use crate::place::{Place, said, text, until};

/// A place with a project, in which commands run in a sandbox.
struct Project {
    place: Place,
}

impl Project {
    /// With files `a`, `b` and `c`, whose content is their name.
    fn new() -> Self {
        let project = Self { place: Place::new() };
        fs::create_dir(project.folder()).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(project.folder().join(name), format!("{name}\n")).unwrap();
        }
        project
    }

    fn folder(&self) -> PathBuf {
        self.place.folder.path().join("project")
    }

    fn command(&self) -> Command {
        let mut command = self.place.command();
        command.current_dir(self.folder());
        command
    }

    fn call(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Runs a command in a sandbox; gives its id, by which it is undone.
    fn run_with(&self, flags: &[&str], command: &str) -> String {
        let output = self.call(&[&["run", "--json", "--sandbox", "work"], flags, &[command]].concat());
        let ran = parsed(&output);
        let id = ran["changed"]["undo"].as_str();
        id.unwrap_or_else(|| panic!("{ran}")).to_owned()
    }

    fn run(&self, command: &str) -> String {
        self.run_with(&[], command)
    }

    /// The files of the project, and what is in them.
    fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut left = vec![self.folder()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    left.push(path);
                } else {
                    let name = path.strip_prefix(self.folder()).unwrap().to_string_lossy().into_owned();
                    found.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        found
    }

    fn undo_json(&self, arguments: &[&str]) -> Value {
        parsed(&self.call(&[&["undo", "--json"], arguments].concat()))
    }
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

fn both(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// A command that makes, changes and removes something.
const WORK: &str = "rm b; echo more >> c; mkdir -p d/e; echo 1 > d/e/f";

#[test]
fn what_a_command_did_is_listed_compared_and_undone() {
    let project = Project::new();
    let before = project.files();
    let id = project.run(WORK);
    let after = project.files();
    assert_ne!(before, after);

    let listed = text(&project.call(&["changes"]).stdout);
    for part in [id.as_str(), "made 1, changed 1, removed 1", "rm b;"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let files = text(&project.call(&["changes", &id]).stdout);
    for line in ["  removed  b\n", "  changed  c\n", "  made     d/e/f\n"] {
        assert!(files.contains(line), "{line}: {files}");
    }
    let compared = text(&project.call(&["changes", &id, "--diff"]).stdout);
    for part in [
        "--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n",
        "--- a/c\n+++ b/c\n@@ -1 +1,2 @@\n c\n+more\n",
        "--- /dev/null\n+++ b/d/e/f\n@@ -0,0 +1 @@\n+1\n",
    ] {
        assert!(compared.contains(part), "{part}: {compared}");
    }

    let tried = project.call(&["undo", &id, "--dry-run"]);
    assert_eq!((tried.status.code(), project.files()), (Some(0), after.clone()), "{}", both(&tried));
    for part in ["brings back b", "puts back   c", "removes     d/e/f", "nothing was changed", "not covered"] {
        assert!(both(&tried).contains(part), "{part}: {}", both(&tried));
    }

    let undone = project.call(&["undo", &id]);
    assert_eq!((undone.status.code(), project.files()), (Some(0), before.clone()), "{}", both(&undone));
    assert!(both(&undone).contains("is undone") && both(&undone).contains("not covered"), "{}", both(&undone));
    let listed = text(&project.call(&["changes"]).stdout);
    assert!(listed.contains("undone by undo_") && listed.contains(&format!("undoes {id}")), "{listed}");

    let again = project.call(&["undo", &id]);
    assert_eq!(again.status.code(), Some(125));
    let by = text(&again.stderr).split("by ").nth(1).unwrap().split(';').next().unwrap().to_owned();
    assert!(text(&again.stderr).contains("was undone already"), "{}", text(&again.stderr));
    assert_eq!(project.call(&["undo", &by]).status.code(), Some(0), "an undoing is undone");
    assert_eq!(project.files(), after);
    let taken_back = project.call(&["undo", &id]);
    assert!(text(&taken_back.stderr).contains("was taken back by"), "{}", text(&taken_back.stderr));
    let last = text(&taken_back.stderr).split("by ").nth(1).unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(project.call(&["undo", &last]).status.code(), Some(0));
    assert_eq!(project.files(), before, "undone once more");
}

#[test]
fn a_command_is_named_in_many_ways() {
    /// What is given for the ids of three commands, the oldest first, and which of them that undoes.
    type Way = (fn(&[String]) -> Vec<String>, &'static [usize]);
    let ways: [Way; 10] = [
        (|ids| vec![ids[1].clone()], &[1]),
        (|ids| vec![ids[1][..12].to_owned()], &[1]),
        (|ids| vec![ids[1]["shell_".len()..].to_owned()], &[1]),
        (|ids| vec![ids[0].clone(), ids[2].clone(), ids[0].clone()], &[0, 2]),
        (|ids| vec!["--since".to_owned(), ids[1].clone()], &[1, 2]),
        (|ids| vec![format!("{}..{}", ids[0], ids[1])], &[0, 1]),
        (|ids| vec![format!("{}..{}", ids[2], ids[1])], &[1, 2]),
        (|_| vec!["--last".to_owned()], &[2]),
        (|_| vec!["--last".to_owned(), "2".to_owned()], &[1, 2]),
        (|_| vec!["--last".to_owned(), "99".to_owned()], &[0, 1, 2]),
    ];
    for (words, undone) in ways {
        let project = Project::new();
        let ids: Vec<String> = ["a", "b", "c"].map(|name| project.run(&format!("rm {name}"))).into();
        let words = words(&ids);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let result = project.undo_json(&words);
        let order: Vec<&str> =
            result["undone"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        let newest_first: Vec<&str> = undone.iter().rev().map(|place| ids[*place].as_str()).collect();
        assert_eq!(order, newest_first, "{words:?}");
        let back: Vec<String> = undone.iter().map(|place| ["a", "b", "c"][*place].to_owned()).collect();
        assert_eq!(project.files().into_keys().collect::<Vec<_>>(), back, "{words:?}");
    }
}

#[test]
fn commands_on_the_same_files_are_undone_together_whatever_their_order() {
    let project = Project::new();
    let before = project.files();
    let ids: Vec<String> =
        ["echo 1 >> a", "mv a z; echo 2 >> z", "rm z; echo 3 > a"].map(|one| project.run(one)).into();
    let alone = project.call(&["undo", &ids[0]]);
    assert_eq!(alone.status.code(), Some(1), "{}", both(&alone));
    assert!(both(&alone).contains("has changed it since; undo that first"), "{}", both(&alone));

    let tried = project.undo_json(&["--dry-run", &ids[1], &ids[0], &ids[2]]);
    assert_eq!((&tried["whole"], &tried["dry_run"]), (&json!(true), &json!(true)), "{tried}");
    let undone = project.call(&["undo", &ids[1], &ids[0], &ids[2]]);
    assert_eq!((undone.status.code(), project.files()), (Some(0), before), "{}", both(&undone));
    let nothing = project.call(&["undo", "--since", &ids[0]]);
    assert!(text(&nothing.stderr).contains("was undone already"), "{}", text(&nothing.stderr));
}

#[test]
fn what_others_have_changed_since_is_left_alone_and_named() {
    let project = Project::new();
    let before = project.files();
    let id = project.run(WORK);
    fs::write(project.folder().join("c"), "mine\n").unwrap();

    for arguments in [&["undo", "--dry-run", &id][..], &["undo", &id]] {
        let output = project.call(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", both(&output));
        assert!(both(&output).contains("alone c: it was changed since"), "{}", both(&output));
    }
    assert_eq!(project.files()["c"], "mine\n");
    assert!(project.files().contains_key("b"), "the rest is put back");
    let forced = project.undo_json(&["--force", &id]);
    assert_eq!((&forced["whole"], project.files()), (&json!(true), before), "{forced}");
    let undo = forced["undone"][0]["undo"].as_str().unwrap();
    assert_eq!(project.call(&["undo", undo]).status.code(), Some(0));
    assert_eq!(project.files()["c"], "mine\n", "what was forced can be taken back");
}

#[test]
fn what_cannot_be_undone_is_said_with_the_reason() {
    let project = Project::new();
    let ran = |flags: &[&str], command: &str| {
        parsed(&project.call(&[&["run", "--json"], flags, &[command]].concat()))["run_id"].as_str().unwrap().to_owned()
    };
    let open = ran(&["--sandbox", "off"], "echo x > open");
    let idle = ran(&["--sandbox", "work"], "true");
    let removed = project.run("rm a");
    let swept = project.run("rm b");
    let store = project.place.folder.path().join("state/chiton/changes");
    fs::remove_dir_all(store.join(&swept)).unwrap();

    let cases = [
        (open.as_str(), "ran without a sandbox"),
        (&idle, "changed no file of its workspace"),
        (&swept, "is not kept any more"),
        ("c", "c is a file"),
        ("a", &format!("{removed} changed it last")),
        ("./nowhere/x", "is a file"),
        ("shell_00000000", "no command is known by 'shell_00000000'"),
        ("a\u{1b}[31m", "no command is known by 'a\\u{1b}[31m'"),
        ("shell_", "4 ids begin like this"),
    ];
    let number = &removed["shell_".len()..][..5];
    fs::write(project.folder().join(number), "").unwrap();
    let cases = [&cases[..], &[(number, "is a file")]].concat();
    let before = project.files();
    for (word, reason) in cases {
        for verb in ["undo", "changes"] {
            let output = project.call(&[verb, word]);
            assert_eq!(output.status.code(), Some(125), "{verb} {word}: {}", both(&output));
            assert!(text(&output.stderr).contains(reason), "{verb} {word}: {}", text(&output.stderr));
        }
    }
    let near = format!("{}0", &removed[..removed.len() - 1]);
    let near = if near == removed { format!("{}1", &removed[..removed.len() - 1]) } else { near };
    let output = project.call(&["undo", &near]);
    assert!(text(&output.stderr).contains(&format!("did you mean {removed}?")), "{}", text(&output.stderr));
    let one_bad = project.call(&["undo", &removed, "shell_00000000"]);
    assert_eq!((one_bad.status.code(), project.files()), (Some(125), before), "one that is unknown stops all of them");

    let elsewhere = project.place.command().args(["undo", "--last"]).output().unwrap();
    assert!(
        text(&elsewhere.stderr).contains("no command is known to have changed files of the workspace"),
        "{}",
        both(&elsewhere)
    );
    for arguments in
        [&["undo"][..], &["undo", "--last", "0"], &["undo", "--last", "1", &removed], &["changes", "--diff"]]
    {
        assert_eq!(project.call(arguments).status.code(), Some(125), "{arguments:?}");
    }
}

#[test]
fn what_still_runs_is_not_undone() {
    let project = Project::new();
    let command = format!("rm a; echo gone; {}", until("go"));
    let output = project.call(&["run", "--background", "--sandbox", "work", &command]);
    let id = text(&output.stdout).trim().to_owned();
    assert!(eventually(Duration::from_secs(20), || !project.folder().join("a").exists()));
    assert!(eventually(Duration::from_secs(20), || text(&project.call(&["changes"]).stdout).contains(&id)));

    let listed = text(&project.call(&["changes"]).stdout);
    assert!(listed.contains("running"), "{listed}");
    let refused = project.call(&["undo", &id]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("still runs"), "{}", text(&refused.stderr));
    fs::write(project.folder().join("go"), "").unwrap();
    project.call(&["wait", &id]);
    assert_eq!(project.call(&["undo", &id]).status.code(), Some(0));
    assert!(project.folder().join("a").exists());
}

#[test]
fn an_undoing_that_was_interrupted_is_continued() {
    for steps in ["0", "1", "2", "3"] {
        let project = Project::new();
        let before = project.files();
        let id = project.run(WORK);
        let stopped = project.call(&["undo", &id, "--stop-after", steps]);
        assert_eq!(stopped.status.code(), Some(125), "{}", both(&stopped));
        let listed = text(&project.call(&["changes"]).stdout);
        assert!(listed.contains("half undone by undo_"), "{steps}: {listed}");
        let tried = project.call(&["undo", &id, "--dry-run"]);
        assert!(text(&tried.stdout).contains("which was interrupted"), "{}", both(&tried));

        let continued = project.call(&["undo", &id]);
        assert_eq!((continued.status.code(), project.files()), (Some(0), before), "{steps}: {}", both(&continued));
        assert!(both(&continued).contains("was carried on"), "{}", both(&continued));
    }
}

#[test]
fn what_a_command_changed_in_its_session_goes_back_with_it() {
    let project = Project::new();
    let session = ["--session", "api"];
    let look = || {
        let output = project.call(&["run", "--session", "api", "echo ${FOO-none} ${BAR-none} ${PWD##*/}; type f 2>&1"]);
        text(&output.stdout)
    };
    project.call(&["run", "--session", "api", "FOO=1"]);
    let id = project.run_with(&session, "FOO=2; f() { :; }; mkdir d; cd d; rm ../a");
    project.call(&["run", "--session", "api", "BAR=later"]);
    assert!(look().starts_with("2 later d\nf is a function"), "{}", look());

    let undone = project.undo_json(&["--state", &id]);
    assert_eq!(undone["undone"][0]["state"], json!({"session": "api", "taken_back": true}), "{undone}");
    assert!(look().starts_with("1 later project\n") && look().contains("not found"), "{}", look());
    let undo = undone["undone"][0]["undo"].as_str().unwrap();
    assert_eq!(project.call(&["undo", "--state", undo]).status.code(), Some(0));
    assert!(look().starts_with("2 later d\nf is a function"), "{}", look());

    let without = project.run("rm b");
    let output = project.call(&["undo", "--state", &without]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("no state was taken back"), "{}", both(&output));
}

#[test]
fn in_a_terminal_a_person_is_asked_first() {
    if !std::path::Path::new("/usr/bin/script").exists() {
        eprintln!("skipped: there is no script(1) here to make a terminal");
        return;
    }
    let project = Project::new();
    let id = project.run("rm a");
    let answer = |flags: &str, word: &str| {
        let own = env!("CARGO_BIN_EXE_chiton");
        let mut command = Command::new("/usr/bin/script");
        command
            .args(["-qec", &format!("{own} undo {flags} {id}"), "/dev/null"])
            .current_dir(project.folder())
            .env("HOME", project.place.folder.path())
            .env("XDG_STATE_HOME", project.place.folder.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), word.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let no = answer("", "n\n");
    assert!(both(&no).contains("Undo this? [y/N]") && both(&no).contains("nothing was undone"), "{}", both(&no));
    assert!(!project.folder().join("a").exists());
    let yes = answer("", "y\n");
    assert!(both(&yes).contains("is undone"), "{}", both(&yes));
    assert!(project.folder().join("a").exists());
}

#[test]
fn strange_names_and_contents_are_shown_safely() {
    let project = Project::new();
    symlink("a", project.folder().join("link")).unwrap();
    let id = project.run(
        "echo 1 > $'new\\nline'; echo 2 > $'\\e[31mred'; head -c 3000000 /dev/zero | tr '\\0' x > large; \
         printf 'a\\0b' > binary; : > empty; mkdir folder; rm link; ln -s b other; chmod 600 b; mkfifo pipe",
    );
    let files = text(&project.call(&["changes", &id]).stdout);
    for line in ["made     $'new\\nline'\n", "made     $'\\x1b[31mred'\n", "made     folder/\n", "removed  link\n"] {
        assert!(files.contains(line), "{line}: {files}");
    }
    let compared = text(&project.call(&["changes", &id, "--diff"]).stdout);
    for part in [
        "3000000 bytes are too many to compare",
        "Binary files /dev/null and b/binary differ",
        "empty was made: it is empty",
        "folder folder/ was made",
        "+link to b\n",
        "pipe was made: it is not a file with a content",
        "b was changed: ",
        "+++ b/$'new\\nline'\n",
    ] {
        assert!(compared.contains(part), "{part}: {compared}");
    }
    assert!(!files.contains('\u{1b}'));
    assert_eq!(project.call(&["undo", &id]).status.code(), Some(0));
    assert_eq!(project.files().len(), 4);
    let gone = text(&project.call(&["changes", &id, "--diff"]).stdout);
    assert!(gone.contains("not there any more"), "{gone}");
}

#[test]
fn a_long_list_is_shown_in_parts() {
    let project = Project::new();
    let id = project.run("mkdir many; cd many; for i in $(seq 10000 19999); do : > $i; done");
    let shown = |flags: &[&str]| project.call(&[&["changes", &id], flags].concat());
    let first = shown(&[]);
    assert!(text(&first.stdout).ends_with("made     many/10199\n"), "{}", both(&first));
    assert!(text(&first.stderr).contains("9800 more; --skip 200 goes on"), "{}", text(&first.stderr));
    let second = text(&shown(&["--skip", "9999", "--limit", "5"]).stdout);
    assert!(second.ends_with("made     many/19999\n") && second.lines().count() == 3, "{second}");
    assert_eq!(text(&shown(&["--limit", "0"]).stdout).lines().count(), 10_002);
    let all = parsed(&shown(&["--json"]));
    assert_eq!((all["files"].as_array().unwrap().len(), &all["left_out"]), (10_000, &json!(0)));
    let tried = text(&project.call(&["undo", &id, "--dry-run"]).stdout);
    assert!(tried.contains("and 9950 more files"), "{tried}");
    assert_eq!(project.call(&["undo", &id]).status.code(), Some(0));
    assert_eq!(project.files().len(), 3);

    for _ in 0..3 {
        project.run("echo >> a");
    }
    let listed = project.call(&["changes", "--limit", "2"]);
    assert_eq!(text(&listed.stdout).lines().count(), 3, "{}", both(&listed));
    assert!(text(&listed.stderr).contains("3 more; --skip 2"), "{}", text(&listed.stderr));
}

#[test]
fn json_has_the_same_shape_for_everybody() {
    let project = Project::new();
    let id = project.run("rm a; echo 1 > new");
    let listed = text(&project.call(&["changes", "--json"]).stdout);
    let log: Value = serde_json::from_str(listed.trim()).unwrap();
    let folder = project.folder().canonicalize().unwrap();
    for (name, value) in [
        ("id", json!(id)),
        ("command", json!("rm a; echo 1 > new")),
        ("is_running", json!(false)),
        ("undone", json!(null)),
        ("undoing", json!(null)),
        ("undoes", json!(null)),
        ("workspace", json!([folder])),
    ] {
        assert_eq!(log[name], value, "{name}: {log}");
    }
    assert_eq!((&log["changed"]["made"], &log["changed"]["removed"]), (&json!(1), &json!(1)), "{log}");
    let files = parsed(&project.call(&["changes", "--json", &id]))["files"].clone();
    let expected = json!([
        {"path": "a", "kind": "removed", "is_folder": false, "is_kept": true},
        {"path": "new", "kind": "made", "is_folder": false, "is_kept": true},
    ]);
    assert_eq!(files, expected);

    let undone = project.undo_json(&[&id]);
    let one = &undone["undone"][0];
    assert_eq!(
        (&undone["dry_run"], &undone["whole"], &one["id"]),
        (&json!(false), &json!(true), &json!(id)),
        "{undone}"
    );
    assert_eq!((&one["left_alone"], &one["failed"], &one["state"]), (&json!([]), &json!([]), &json!(null)), "{undone}");
    assert_eq!((&one["changed"]["made"], &one["changed"]["removed"]), (&json!(1), &json!(1)), "{undone}");
    assert!(one["undo"].as_str().unwrap().starts_with("undo_"), "{undone}");
}

#[test]
fn a_command_cannot_undo_in_the_name_of_a_person() {
    let project = Project::new();
    let id = project.run("rm a");
    let cases: [&[&str]; 4] =
        [&["undo", &id], &["session", "checkpoint", "x"], &["session", "back", "x"], &["session", "forget", "x"]];
    for arguments in cases {
        let output = project.command().env("CHITON", "1").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(text(&output.stderr).contains("inside a command of Chiton"), "{}", text(&output.stderr));
    }
    let looked = project.command().env("CHITON", "1").args(["undo", "--dry-run", &id]).output().unwrap();
    assert_eq!(looked.status.code(), Some(0), "{}", both(&looked));
    assert!(!project.folder().join("a").exists());
}

#[test]
fn a_checkpoint_is_a_moment_to_go_back_to() {
    let project = Project::new();
    let session = ["--session", "api"];
    project.run_with(&session, "FOO=1; echo 0 >> a");
    let made = project.call(&["session", "checkpoint", "start", "--session", "api"]);
    assert_eq!(made.status.code(), Some(0), "{}", both(&made));
    let before = project.files();
    let same = project.call(&["session", "checkpoint", "start"]);
    assert!(text(&same.stderr).contains("--replace"), "{}", both(&same));
    let nobody = project.call(&["session", "checkpoint", "x", "--session", "nobody"]);
    assert!(text(&nobody.stderr).contains("there is no session 'nobody'"), "{}", both(&nobody));

    project.run_with(&session, "FOO=2; rm b; echo 1 >> a");
    project.call(&["run", "--session", "api", "BAR=3"]);
    project.run("echo 2 >> a; echo > new");
    let after = project.files();
    let listed = text(&project.call(&["session", "checkpoints"]).stdout);
    assert!(listed.contains("start") && listed.contains("api"), "{listed}");
    let row: Value = serde_json::from_slice(&project.call(&["session", "checkpoints", "--json"]).stdout).unwrap();
    assert_eq!((&row["name"], &row["session"], &row["is_incomplete"]), (&json!("start"), &json!("api"), &json!(false)));

    let tried = project.call(&["session", "back", "start", "--dry-run"]);
    assert_eq!((tried.status.code(), project.files()), (Some(0), after.clone()), "{}", both(&tried));
    assert!(text(&tried.stdout).contains("session api becomes what it was"), "{}", both(&tried));
    let back = project.call(&["session", "back", "start"]);
    assert_eq!((back.status.code(), project.files()), (Some(0), before.clone()), "{}", both(&back));
    let look = project.call(&["run", "--session", "api", "echo $FOO ${BAR-none}"]);
    assert_eq!(text(&look.stdout), "1 none\n");

    let again = project.call(&["session", "back", "start"]);
    assert!(text(&again.stdout).contains("no command has changed files since"), "{}", both(&again));
    let whole = project.call(&["session", "back", "start", "--whole"]);
    assert!(text(&whole.stderr).contains("has no snapshot"), "{}", both(&whole));
    let unknown = project.call(&["session", "back", "strat"]);
    assert!(text(&unknown.stderr).contains("there are: start"), "{}", both(&unknown));
    assert_eq!(project.call(&["session", "forget", "start"]).status.code(), Some(0));
    assert!(text(&project.call(&["session", "checkpoints"]).stderr).contains("there are no checkpoints"));
}

#[test]
fn going_back_waits_for_no_command_and_says_what_it_cannot_undo() {
    let project = Project::new();
    let command = format!("rm a; {}; rm b; {}", until("go"), until("end"));
    let id = text(&project.call(&["run", "--background", "--sandbox", "work", &command]).stdout).trim().to_owned();
    assert!(eventually(Duration::from_secs(20), || !project.folder().join("a").exists()));
    project.call(&["session", "checkpoint", "middle"]);
    fs::write(project.folder().join("go"), "").unwrap();
    assert!(eventually(Duration::from_secs(20), || !project.folder().join("b").exists()));
    let spanning = project.call(&["session", "back", "middle"]);
    assert_eq!(spanning.status.code(), Some(1));
    assert!(text(&spanning.stderr).contains(&format!("{id} began before the checkpoint")), "{}", both(&spanning));

    project.call(&["session", "checkpoint", "late"]);
    let command = format!("rm c; {}", until("end"));
    let other = text(&project.call(&["run", "--background", "--sandbox", "work", &command]).stdout).trim().to_owned();
    assert!(eventually(Duration::from_secs(20), || !project.folder().join("c").exists()));
    let running = project.call(&["session", "back", "late"]);
    assert_eq!(running.status.code(), Some(125));
    assert!(text(&running.stderr).contains(&format!("{other} still runs")), "{}", both(&running));
    fs::write(project.folder().join("end"), "").unwrap();
    project.call(&["wait", &other]);
    project.call(&["wait", &id]);
    assert_eq!(project.call(&["session", "back", "late"]).status.code(), Some(0));
    assert!(project.folder().join("c").exists());
}

#[test]
fn clean_removes_what_could_be_undone_only_where_somebody_says_so() {
    let project = Project::new();
    let ids: Vec<String> = ["a", "b", "c"].map(|name| project.run(&format!("rm {name}"))).into();
    project.call(&["session", "checkpoint", "x"]);
    let plain = text(&project.call(&["clean"]).stdout);
    assert!(plain.contains("what 3 commands changed can still be undone"), "{plain}");
    let tried = text(&project.call(&["clean", "--all", "--dry-run"]).stdout);
    assert!(tried.contains("what 3 commands changed could no longer be undone"), "{tried}");
    assert_eq!(text(&project.call(&["changes"]).stdout).lines().count(), 4);
    let old = text(&project.call(&["clean", "--older-than", "1h"]).stdout);
    assert!(!old.contains("no longer"), "{old}");
    let kept = text(&project.call(&["clean", "--keep", "1"]).stdout);
    assert!(kept.contains("what 2 commands changed can no longer be undone") && kept.contains("1 left"), "{kept}");
    let gone = project.call(&["undo", &ids[0]]);
    assert_eq!(gone.status.code(), Some(125), "{}", both(&gone));
    assert_eq!(project.call(&["undo", &ids[2]]).status.code(), Some(0));
    let all = text(&project.call(&["clean", "--all"]).stdout);
    assert!(all.contains("no longer be undone") && all.contains("1 checkpoints removed"), "{all}");
}

#[test]
fn a_checkpoint_whose_way_back_is_gone_says_so() {
    let project = Project::new();
    project.call(&["session", "checkpoint", "x"]);
    project.run("rm a");
    project.run("rm b");
    project.call(&["clean", "--keep", "1"]);
    let back = project.call(&["session", "back", "x"]);
    assert_eq!(back.status.code(), Some(1), "{}", both(&back));
    assert!(text(&back.stderr).contains("is not kept any more"), "{}", both(&back));
    assert!(project.folder().join("b").exists(), "what is kept is undone");
}

#[test]
fn the_settings_say_how_long_and_how_much() {
    let project = Project::new();
    let config = project.place.folder.path().join("config.toml");
    let config = config.to_str().unwrap();
    let listed = || text(&project.call(&["changes"]).stdout);
    for (settings, left) in [("undo_age = 0", 0), ("undo_bytes = 0", 1)] {
        fs::write(config, format!("[retention]\n{settings}\n")).unwrap();
        project.run("head -c 100000 /dev/zero > x");
        project.run("rm x; sleep 0.01");
        let marker = project.place.folder.path().join("state/chiton/changes/.tidied");
        let _ = fs::remove_file(marker);
        let swept = project.command().args(["--config", config, "run", "sleep 0.01"]).output().unwrap();
        assert!(swept.status.success(), "{}", both(&swept));
        assert_eq!(
            listed().lines().filter(|line| line.starts_with("shell_")).count(),
            left,
            "{settings}: {}",
            listed()
        );
    }
}

/// The parameters of Bash, and whether a call has to have a command.
fn bash(project: &Project, flags: &[&str]) -> (bool, bool) {
    let mut command = project.command();
    command.arg("mcp").args(flags).stderr(Stdio::null());
    let mut wire = chiton_testkit::wire::Wire::session(command);
    let tools = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
    let bash = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "Bash").unwrap().clone();
    let schema = &bash["inputSchema"];
    (schema["properties"].get("undo").is_some(), schema["required"].as_array().is_some_and(|names| !names.is_empty()))
}

#[test]
fn an_agent_may_undo_only_where_a_person_says_so() {
    let project = Project::new();
    assert_eq!(bash(&project, &[]), (false, true));
    assert_eq!(bash(&project, &["--allow-undo"]), (true, false));
    assert!(!bash(&project, &["--allow-undo", "--dialect", "claude"]).0, "other surfaces stay what they are");
    let config = project.place.folder.path().join("config.toml");
    fs::write(&config, "[mcp]\nallow_undo = true\n").unwrap();
    assert_eq!(bash(&project, &["--config", config.to_str().unwrap()]), (true, false));

    let before = project.files();
    let server = |flags: &[&str]| {
        let mut command = project.command();
        command.args(["mcp", "--structured"]).args(flags).stderr(Stdio::null());
        chiton_testkit::wire::Wire::session(command)
    };
    let mut wire = server(&["--allow-undo"]);
    let ran = wire.call("Bash", &json!({"command": WORK}));
    let id = ran["structuredContent"]["changed"]["undo"].as_str().unwrap_or_else(|| panic!("{ran}")).to_owned();
    for (arguments, reason) in [
        (json!({"undo": id, "command": "ls"}), "goes without command"),
        (json!({"undo": "shell_00000000"}), "nothing is known of changes"),
        (json!({}), "command"),
    ] {
        let refused = wire.call("Bash", &arguments);
        assert!(refused["isError"] == json!(true) && said(&refused).contains(reason), "{arguments}: {refused}");
    }

    let undone = wire.call("Bash", &json!({"undo": id}));
    assert_eq!((undone["isError"].as_bool().unwrap_or(false), project.files()), (false, before.clone()), "{undone}");
    let facts = &undone["structuredContent"]["undone"];
    assert_eq!(
        (&facts["id"], &facts["left_alone"], &facts["failed"]),
        (&json!(id), &json!([]), &json!([])),
        "{undone}"
    );
    let undo = facts["undo"].as_str().unwrap().to_owned();
    assert!(said(&undone).contains("is undone") && said(&undone).contains(&undo), "{}", said(&undone));
    assert!(said(&wire.call("Bash", &json!({"undo": id}))).contains("was undone already"));
    wire.call("Bash", &json!({"undo": undo}));
    assert_ne!(project.files(), before, "an undoing is undone");
    fs::write(project.folder().join("c"), "mine\n").unwrap();
    let last = wire.call("Bash", &json!({"command": "echo 2 >> a"}));
    let last = last["structuredContent"]["changed"]["undo"].as_str().unwrap_or_else(|| panic!("{last}")).to_owned();
    fs::write(project.folder().join("a"), "mine\n").unwrap();
    let left = wire.call("Bash", &json!({"undo": last}));
    assert_eq!(left["structuredContent"]["undone"]["left_alone"][0]["path"], "a", "{left}");
    assert!(left["isError"] == json!(true) && said(&left).contains("is not undone"), "{left}");
    wire.close();

    let mut wire = server(&[]);
    let ignored = wire.call("Bash", &json!({"undo": last, "command": "echo ran"}));
    assert!(said(&ignored).contains("ran\n") && said(&ignored).contains("undo"), "{ignored}");
    wire.close();
}

#[test]
fn a_snapshot_of_btrfs_puts_back_what_others_have_changed() {
    let place = tempfile::tempdir().unwrap();
    let Some(mount) = Btrfs::make(place.path()) else { return };
    let project = Project { place: Place { folder: tempfile::tempdir_in(&mount.0).unwrap() } };
    let made = Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(project.folder()).status();
    assert!(made.is_ok_and(|status| status.success()));
    for name in ["a", "b", "c"] {
        fs::write(project.folder().join(name), name).unwrap();
    }
    let before = project.files();
    let made = project.call(&["session", "checkpoint", "x"]);
    assert!(text(&made.stdout).contains("and a snapshot"), "{}", both(&made));
    project.run("rm a");
    fs::write(project.folder().join("b"), "by others").unwrap();
    fs::remove_file(project.folder().join("c")).unwrap();
    fs::write(project.folder().join("new"), "by others").unwrap();

    let tried = project.call(&["session", "back", "x", "--whole", "--dry-run"]);
    assert!(text(&tried.stdout).contains("from the snapshot: "), "{}", both(&tried));
    let back = project.call(&["session", "back", "x", "--whole"]);
    assert_eq!((back.status.code(), project.files()), (Some(0), before), "{}", both(&back));
    let undo = text(&back.stdout).lines().find(|line| line.starts_with("from the snapshot")).map(str::to_owned);
    let undo = undo.and_then(|line| Some(line.split("`chiton undo ").nth(1)?.split('`').next()?.to_owned())).unwrap();
    assert_eq!(project.call(&["undo", &undo]).status.code(), Some(0));
    assert_eq!(project.files()["b"], "by others", "that can be undone, too");
    assert_eq!(project.call(&["session", "forget", "x"]).status.code(), Some(0));
}

/// A file system of its own, which is gone with this.
struct Btrfs(PathBuf);

impl Btrfs {
    /// `None` where that cannot be done; says why.
    fn make(place: &std::path::Path) -> Option<Self> {
        let quiet = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let (image, mount) = (place.join("image"), place.join("mount"));
        fs::create_dir(&mount).unwrap();
        fs::File::create(&image).unwrap().set_len(256 << 20).unwrap();
        let (image, folder) = (image.to_str()?, mount.to_str()?);
        let done = quiet("mkfs.btrfs", &["-q", image]) && quiet("mount", &["-o", "loop", image, folder]);
        if !done {
            eprintln!("skipped: no btrfs can be made and mounted here, which takes root and mkfs.btrfs");
            return None;
        }
        Some(Self(mount))
    }
}

impl Drop for Btrfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
