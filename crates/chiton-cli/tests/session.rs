//! `chiton session`: a session is a value that can be looked at, stepped back in, branched off and carried away.

use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Output};

use crate::place::{Place, text};

/// What a program said on both streams.
fn both(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

fn session(place: &Place, arguments: &[&str]) -> Output {
    place.call(&[&["session"], arguments].concat())
}

fn succeed(place: &Place, arguments: &[&str]) -> String {
    let output = session(place, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", both(&output));
    text(&output.stdout)
}

fn parsed(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(place, arguments)).unwrap()
}

/// Runs a command in the session `s`; gives what it printed.
fn run_in(place: &Place, name: &str, command: &str) -> String {
    text(&place.run(&["--session", name, command]).stdout)
}

/// A command, by which part of a session shows.
const TELL: &str = "pwd; echo \"${A-none} ${B-none} ${LIST[*]-none}\"; type -t f; alias x 2>/dev/null; shopt -q extglob; echo $?; umask";

/// Commands that each change something else.
const STEPS: &[&str] = &[
    "cd /usr", "export A=1", "B=$'two\\nlines'; A=2", "f() { echo f; }", "alias x='echo x'", "shopt -s extglob",
    "umask 077", "LIST=(a 'b c' d)", "unset A; unset -f f; unalias x", "cd /; shopt -u extglob",
];

#[test]
fn every_step_can_be_taken_back_and_done_again() {
    let place = Place::new();
    let mut told = vec![run_in(&place, "s", TELL)];
    for command in STEPS {
        run_in(&place, "s", command);
        told.push(run_in(&place, "s", TELL));
    }
    assert_eq!(parsed(&place, &["show", "s", "--json"])["steps"].as_array().unwrap().len(), STEPS.len());
    for (command, wanted) in STEPS.iter().zip(&told).rev() {
        let done = parsed(&place, &["undo", "s", "--json"]);
        assert_eq!(done["steps"][0]["command"], *command);
        assert_eq!(run_in(&place, "s", TELL), *wanted, "before {command}");
    }
    let nothing = session(&place, &["undo", "s"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(both(&nothing).contains("nothing to take back"), "{}", both(&nothing));
    for (command, wanted) in STEPS.iter().zip(&told[1..]) {
        succeed(&place, &["undo", "s", "--redo"]);
        assert_eq!(run_in(&place, "s", TELL), *wanted, "after {command}");
    }
    assert_eq!(session(&place, &["undo", "s", "--redo"]).status.code(), Some(1));
    succeed(&place, &["undo", "s", "--steps", "10"]);
    assert_eq!(run_in(&place, "s", TELL), told[0]);
    // A command that changes the session now is the newest step, and the others stay taken back.
    run_in(&place, "s", "NEW=1");
    assert_eq!(session(&place, &["undo", "s", "--redo"]).status.code(), Some(1));
    assert_eq!(parsed(&place, &["undo", "s", "--json"])["steps"][0]["command"], "NEW=1");
}

#[test]
fn what_changed_is_named_thing_by_thing() {
    let place = Place::new();
    run_in(&place, "s", "cd /usr; export A=1");
    run_in(&place, "s", "A='it is'; unset HOME; f() { :; }; umask 027");
    let step = parsed(&place, &["diff", "s", "--json"]);
    let changed: Vec<Value> = step["changed"].as_array().unwrap().clone();
    let of = |part: &str| changed.iter().find(|one| one["part"] == part).cloned().unwrap();
    assert_eq!(
        (of("variable")["before"].clone(), of("variable")["after"].clone()),
        (json!("declare -x A='1'"), json!("declare -x A='it is'"))
    );
    assert_eq!((of("umask")["before"].clone(), of("umask")["after"].clone()), (json!("0022"), json!("0027")));
    assert_eq!((of("function")["name"].clone(), of("function")["before"].clone()), (json!("f"), Value::Null));
    assert!(changed.iter().any(|one| one["name"] == "HOME" && one["after"].is_null()), "{changed:?}");
    assert!(step["run_id"].as_str().unwrap().starts_with("shell_"));

    let first = succeed(&place, &["diff", "s", "--step", "1"]);
    assert!(first.contains("+ directory /usr") && first.contains("+ declare -x A='1'"), "{first}");
    let missing = session(&place, &["diff", "s", "--step", "7"]);
    assert!(both(&missing).contains("no step 7; 1 to 2 are kept"), "{}", both(&missing));
    let shown = succeed(&place, &["show", "s"]);
    assert!(shown.contains("unset HOME") && shown.contains("f() of") && shown.contains("STEP"), "{shown}");
}

#[test]
fn a_command_that_changes_nothing_is_no_step() {
    let place = Place::new();
    run_in(&place, "s", "A=1");
    run_in(&place, "s", "echo $A; (cd /usr); false");
    assert_eq!(parsed(&place, &["show", "s", "--json"])["steps"].as_array().unwrap().len(), 1);
}

#[test]
fn a_branch_goes_its_own_way() {
    let place = Place::new();
    run_in(&place, "main", "cd /usr; A=1; f() { echo f; }");
    succeed(&place, &["fork", "main", "branch"]);
    assert_eq!(run_in(&place, "branch", "pwd; echo $A; f"), "/usr\n1\nf\n");
    assert_eq!(succeed(&place, &["diff", "main", "branch"]), "main and branch are the same\n");
    run_in(&place, "branch", "A=2; cd /");
    assert_eq!(run_in(&place, "main", "pwd; echo $A"), "/usr\n1\n");
    let differs = succeed(&place, &["diff", "main", "branch"]);
    assert!(differs.contains("- directory /usr\n+ directory /\n"), "{differs}");
    assert!(differs.contains("- declare -- A='1'\n+ declare -- A='2'\n"), "{differs}");
    let taken = session(&place, &["fork", "main", "branch"]);
    assert!(both(&taken).contains("a session 'branch' already"), "{}", both(&taken));
    let missing = session(&place, &["fork", "nobody", "other"]);
    assert!(both(&missing).contains("no session 'nobody'"), "{}", both(&missing));
    assert_eq!(run_in(&place, "branch", "echo $A"), "2\n");
}

#[test]
fn a_session_is_carried_away_and_taken_in_elsewhere() {
    let (here, there) = (Place::new(), Place::new());
    run_in(
        &here,
        "s",
        "cd /usr; A=$'a\\nb'; LIST=([3]=x [7]='y z'); declare -A MAP=([k]=v); f() { echo \"f $1\"; }; alias x='echo x'; umask 027",
    );
    let tell = "pwd; declare -p A LIST MAP; f 1; umask";
    let wanted = run_in(&here, "s", tell);
    let file = there.folder.path().join("s.json");
    fs::write(&file, succeed(&here, &["export", "s"])).unwrap();
    let path = file.to_str().unwrap();
    succeed(&there, &["import", path]);
    succeed(&there, &["import", path, "again"]);
    assert_eq!(run_in(&there, "s", tell), wanted);
    assert_eq!(run_in(&there, "again", tell), wanted);
    let twice = session(&there, &["import", path]);
    assert!(both(&twice).contains("a session 's' already"), "{}", both(&twice));

    // The same for somebody's own bash.
    let script = there.folder.path().join("s.sh");
    fs::write(&script, succeed(&here, &["export", "s", "--bash"])).unwrap();
    let output = Command::new("bash").args(["--norc", "-c", &format!("source {}; {tell}", script.display())]).output();
    assert_eq!(text(&output.unwrap().stdout), wanted);
}

#[test]
fn what_is_no_session_is_refused_and_nothing_is_made() {
    let place = Place::new();
    let cases = [
        ("", "EOF"),
        ("{}", "no number `chiton_session`"),
        ("{\"chiton_session\": 1}", "missing field"),
        ("[1]", "no number"),
        ("nonsense", "expected"),
    ];
    for (content, why) in cases {
        let file = place.folder.path().join("file");
        fs::write(&file, content).unwrap();
        let output = session(&place, &["import", file.to_str().unwrap(), "s"]);
        assert_eq!(output.status.code(), Some(125), "{content}");
        let said = both(&output);
        assert!(said.contains("is not a session as `chiton session export` writes it") && said.contains(why), "{said}");
    }
    run_in(&place, "s", "A=1");
    let newer = succeed(&place, &["export", "s"]).replace("\"chiton_session\": 1", "\"chiton_session\": 9");
    fs::write(place.folder.path().join("file"), newer).unwrap();
    let output = session(&place, &["import", "file", "t"]);
    assert!(both(&output).contains("version 9"), "{}", both(&output));
    let bad = session(&place, &["import", "file", "../t"]);
    assert_eq!(bad.status.code(), Some(125));
    assert_eq!(succeed(&place, &["list", "--json"]).lines().count(), 1);
}

#[test]
fn a_session_is_forgotten_with_its_steps() {
    let place = Place::new();
    run_in(&place, "s", "A=1");
    run_in(&place, "t", "A=1");
    let output = session(&place, &["rm", "s", "nobody", "t"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(both(&output).contains("no session 'nobody'"), "{}", both(&output));
    let is_lock = |path: &std::path::Path| path.extension().is_some_and(|end| end == "lock");
    let left: Vec<_> = fs::read_dir(place.folder.path().join("state/chiton/sessions"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !is_lock(path))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(run_in(&place, "s", "echo ${A-none}"), "none\n");
    assert_eq!(parsed(&place, &["show", "s", "--json"])["steps"], json!([]));
}

#[test]
fn an_agent_steps_back_in_no_session() {
    let place = Place::new();
    run_in(&place, "s", "A=1");
    let chiton = env!("CARGO_BIN_EXE_chiton");
    for verb in ["undo s", "rm s", "import /dev/null"] {
        let output = place.run(&["--guard", "off", &format!("{chiton} session {verb}")]);
        assert!(both(&output).contains("a person"), "{verb}: {}", both(&output));
    }
    assert_eq!(run_in(&place, "s", "echo $A"), "1\n");
}

#[test]
fn in_a_call_a_session_branches_off_another() {
    let place = Place::new();
    let mut wire = place.session(&[]);
    let mut bash = |arguments: Value| {
        let result = wire.call("Bash", &arguments);
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
    };
    bash(json!({"command": "cd /usr; A=own"}));
    bash(json!({"command": "cd /; A=main", "session": "main"}));
    let cases = [("one=main", "/ main"), ("two=.", "/usr own"), ("three=one", "/ main"), ("one", "/ main")];
    for (session, wanted) in cases {
        let (failed, said) = bash(json!({"command": "echo $PWD $A; A=$A-changed", "session": session}));
        assert!(!failed && said.contains(wanted), "{session}: {said}");
    }
    assert!(bash(json!({"command": "echo $A.", "session": "main"})).1.contains("main."));
    assert!(bash(json!({"command": "echo $A."})).1.contains("own."));
    let wrong = [
        ("one=main", false, "a session 'one' already"),
        ("new=nobody", false, "no session 'nobody'"),
        ("=main", false, "a name on both sides"),
        ("new=", false, "a name on both sides"),
        ("new=main", true, "choose one"),
        ("../new=main", false, "not a session name"),
    ];
    for (session, reset, why) in wrong {
        let (failed, said) = bash(json!({"command": "touch made", "session": session, "reset": reset}));
        assert!(failed && said.contains(why), "{session}: {said}");
    }
    assert!(!place.folder.path().join("made").exists());
}

/// Another machine, as far as it matters: its own state and its own home.
fn machine(home: &str) -> Place {
    let place = Place::new();
    fs::create_dir_all(place.folder.path().join(home).join("work")).unwrap();
    place
}

/// Runs a verb of `chiton` there, at home.
fn at_home(place: &Place, home: &str, arguments: &[&str], input: &str) -> Output {
    let home = place.folder.path().join(home);
    let file = place.folder.path().join("input");
    fs::write(&file, input).unwrap();
    let mut command: Command = place.command();
    command.env("HOME", &home).env("PATH", format!("/usr/bin:/bin:{}/bin", home.display())).current_dir(&home);
    command.stdin(fs::File::open(file).unwrap()).args(arguments).output().unwrap()
}

#[test]
fn a_session_moves_to_another_machine_and_starts_from_what_that_one_has() {
    let (here, there) = (machine("me"), machine("dev"));
    let home = here.folder.path().join("me");
    let set_up = "cd work; export STAGE=test DATA=$HOME/data PATH=$PATH:/only/here TMPDIR=/var/tmp; f() { echo from f; }; unset LANG";
    at_home(&here, "me", &["run", "--session", "api", set_up], "");
    let exported = at_home(&here, "me", &["session", "export", "--to-move", "api"], "");
    let value: Value = serde_json::from_slice(&exported.stdout).unwrap_or_else(|_| panic!("{}", both(&exported)));
    let names: Vec<&str> =
        value["left_behind"].as_array().unwrap().iter().map(|left| left["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["DATA", "PATH", "TMPDIR"], "{value}");
    assert!(!text(&exported.stdout).contains("/only/here"), "{value}");

    let imported = at_home(&there, "dev", &["session", "import", "--moved", "-"], &text(&exported.stdout));
    let said = both(&imported);
    let work = there.folder.path().join("dev/work");
    assert!(said.contains(&format!("session api is here, in {}", work.display())), "{said}");
    assert!(said.contains("PATH stayed behind: it says which directories"), "{said}");
    assert!(said.contains("DATA came along: it holds a path below the home"), "{said}");
    let tell = "pwd; echo $STAGE; echo $DATA; f; echo $PATH; echo ${TMPDIR-none}";
    let ran = at_home(&there, "dev", &["run", "--session", "api", tell], "");
    let far_home = there.folder.path().join("dev");
    let path = format!("/usr/bin:/bin:{}/bin", far_home.display());
    let expected = format!("{}\ntest\n{}/data\nfrom f\n{path}\nnone\n", work.display(), home.display());
    assert_eq!(text(&ran.stdout), expected, "{}", text(&ran.stderr));

    // A directory that is not there, and one of the same name.
    for (directory, expected, found) in
        [("/nowhere/at/all", far_home.display().to_string(), "start"), ("/usr", "/usr".to_owned(), "same_name")]
    {
        let mut carried = value.clone();
        carried["value"]["state"]["cwd"] = json!(directory);
        let name = format!("in-{found}");
        let import = ["session", "import", "--moved", "--json", "-", &name];
        let imported = at_home(&there, "dev", &import, &carried.to_string());
        let told: Value = serde_json::from_slice(&imported.stdout).unwrap_or_else(|_| panic!("{}", both(&imported)));
        assert_eq!(
            (&told["directory"], &told["found"], &told["was"]),
            (&json!(expected), &json!(found), &json!(directory))
        );
    }
}

#[test]
fn a_session_that_lives_elsewhere_is_shown_so_and_not_used_here() {
    let place = Place::new();
    run_in(&place, "api", "cd /usr; A=1");
    run_in(&place, "other", "A=2");
    let store = chiton_engine::session::store::SessionStore::new(place.folder.path().join("state/chiton/sessions"));
    store.set_home("api", "build").unwrap();
    let wanted =
        "the session api lives on build: give --on build, or bring it back with `chiton session move api --on local`";
    // A command follows it, as far as there is a way.
    for options in [&[][..], &["--reset"], &["--background"]] {
        let output = place.call(&[&["run", "--session", "api"], options, &["touch ran"]].concat());
        assert!(both(&output).contains("there is no target 'build'"), "{options:?}: {}", both(&output));
    }
    for refused in [
        &["run", "--on", "local", "--session", "api", "touch ran"][..],
        &["mcp", "--session", "api"],
        &["session", "fork", "api", "new"],
        &["session", "undo", "api"],
        &["session", "export", "api"],
    ] {
        let output = place.call(refused);
        assert!(both(&output).contains(wanted) && !output.status.success(), "{refused:?}: {}", both(&output));
    }
    let mut wire = place.session(&[]);
    for arguments in [
        json!({"command": "touch ran", "session": "api"}),
        json!({"command": "touch ran", "session": "api", "run_in_background": true}),
        json!({"command": "touch ran", "session": "new=api"}),
    ] {
        let reply = wire.call("Bash", &arguments);
        assert!(reply["isError"] == true && reply.to_string().contains("lives on build"), "{reply}");
    }
    assert!(!place.folder.path().join("ran").exists());

    let listed = succeed(&place, &["list"]);
    assert!(listed.lines().any(|line| line.starts_with("api") && line.ends_with("on build")), "{listed}");
    assert_eq!(parsed(&place, &["show", "api", "--json"])["home"], "build");
    assert_eq!(parsed(&place, &["show", "other", "--json"])["home"], Value::Null);
    assert!(
        succeed(&place, &["show", "api"])
            .starts_with("session api, which lives on build; when it left, it was in /usr")
    );
    assert_eq!(run_in(&place, "other", "echo $A"), "2\n");
    store.clear_home("api").unwrap();
    assert_eq!(run_in(&place, "api", "pwd; echo $A"), "/usr\n1\n");
    store.set_home("api", "build").unwrap();
    succeed(&place, &["rm", "api"]);
    assert_eq!(run_in(&place, "api", "echo ${A-anew}"), "anew\n");
}
