//! `chiton run` as a person or a script uses it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chiton_testkit::processes::{eventually, marked, own_memory, with_command};
use chiton_testkit::wire::Wire;
use serde_json::json;

use crate::place::{Place, text};

fn mark(name: &str) -> String {
    format!("cli-{}-{name}", std::process::id())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Arguments, standard output, a part of standard error, exit code.
const CASES: [(&[&str], &str, &str, i32); 37] = [
    (&["echo hello"], "hello\n", "", 0),
    (&["echo out; echo err >&2; exit 3"], "out\n", "err\n", 3),
    (&["nosuchcommand"], "", "bash: line 1: nosuchcommand: command not found\n", 127),
    (&["/proc/version"], "", "Permission denied", 126),
    (&["kill -9 $$"], "", "", 137),
    (&["kill -TERM $$"], "", "", 143),
    (&["exit 137"], "", "", 137),
    (&["--timeout", "200ms", "echo before; sleep 100"], "before\n", "timed out after 200ms", 124),
    (&["--silence", "300ms", "echo before; sleep 100"], "before\n", "printed nothing for 300ms", 124),
    (&["--timeout", "1s", "sleep 100"], "", "timed out after 1s and", 124),
    (&["--timeout", "2d", "echo two days"], "two days\n", "", 0),
    (&["--silence", "0s", "true"], "", "silence", 125),
    (&["--timeout", "100ms", "--grace", "100ms", "trap '' TERM; while :; do sleep 1; done"], "", "timed out", 124),
    (&["--dir", "/usr", "pwd"], "/usr\n", "", 0),
    (&["--dir", "/no/such", "echo no"], "", "/no/such", 125),
    (&["--env", "A=b c", "--env", "D=", "echo \"$A|$D|\""], "b c||\n", "", 0),
    (&["--env", "A", "echo no"], "", "NAME=VALUE", 125),
    (&["--env", "1A=x", "echo no"], "", "1A", 125),
    (&["--clear-env", "--env", "A=b", "env | sort | cut -d= -f1 | tr '\\n' ' '"], "A PWD SHLVL _ ", "", 0),
    (&["--stdin", "/no/such", "cat"], "", "/no/such", 125),
    (&["--merge", "echo a; echo b >&2; echo c"], "a\nb\nc\n", "", 0),
    (&["--timeout", "5", "true"], "", "30s", 125),
    (&["--timeout", "-5s", "true"], "", "", 125),
    (&["--nonsense", "true"], "", "--nonsense", 125),
    (&["echo", "two  words", "*"], "two  words *\n", "", 0),
    (&["--", "printf", "%s|", "-n", "$HOME", ""], "-n|$HOME||", "", 0),
    (&["ls", "-d", "--", "/"], "/\n", "", 0),
    (&["echo", "--dry-run", "a=b", "if"], "--dry-run a=b if\n", "", 0),
    (&["A=1", "true"], "", "A=1: command not found", 127),
    (&["coproc", "true"], "", "coproc: command not found", 127),
    (&["echo one", "two"], "", "options of chiton come before the command", 125),
    (&["--file", "/no/such"], "", "/no/such", 125),
    (&["--file", "/dev/null", "true"], "", "--file", 125),
    (&["--lifetime", "session", "sleep 60 >/dev/null 2>&1 & echo up"], "up\n", "stopped by --lifetime session", 0),
    (&["--session", "../x", "true"], "", "'../x' is not a session name", 125),
    (&["cat"], "", "", 0),
    (&["sleep 60 >/dev/null 2>&1 & pid=$!; echo up; kill $pid"], "up\n", "", 0),
];

#[test]
fn options_output_and_exit_codes_are_as_documented() {
    let place = Place::new();
    for (arguments, stdout, stderr, code) in CASES {
        let output = place.run(arguments);
        assert_eq!(text(&output.stdout), stdout, "{arguments:?}");
        assert!(text(&output.stderr).contains(stderr), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("panicked"), "{arguments:?}");
    }
}

#[test]
fn the_response_as_json_has_every_field() {
    let place = Place::new();
    let response = place.json(&["echo out; echo err >&2; (exit 3) | (exit 4)"]);
    assert_eq!(response["outcome"], "exited");
    assert_eq!(response["exit_code"], 4);
    assert_eq!(response["signal"], serde_json::Value::Null);
    assert_eq!(response["pipe_status"], serde_json::json!([3, 4]));
    assert_eq!(response["stdout"], "out\n");
    assert_eq!(response["stderr"], "err\n");
    assert_eq!(response["truncated"], false);
    assert_eq!(response["omitted_bytes"], 0);
    assert_eq!(response["leftovers"], serde_json::json!([]));
    assert_eq!(response["cwd"].as_str().unwrap(), place.folder.path().to_str().unwrap());
    assert!(response["run_id"].as_str().unwrap().starts_with("shell_"));
    assert!(response["duration_ms"].is_u64() && response["usage"]["user_us"].is_u64());
    assert!(response["output"].as_str().unwrap().contains("out\n"));
    let killed = place.json(&["kill -9 $$"]);
    assert_eq!((&killed["outcome"], &killed["signal"]), (&"signaled".into(), &"SIGKILL".into()));
    assert_eq!(killed["exit_code"], serde_json::Value::Null);
    let timed_out = place.json(&["--timeout", "100ms", "echo before; sleep 100"]);
    assert_eq!((&timed_out["outcome"], &timed_out["stdout"]), (&"timed_out".into(), &"before\n".into()));
    assert_eq!(timed_out["state"]["result"], "unchanged");
    let cut = place.json(&["--max-output", "20", "seq 1 1000"]);
    assert_eq!(cut["truncated"], true);
    assert_eq!(cut["omitted_bytes"], 3893 - 20);
    let left = place.json(&["sleep 60 & echo $!"]);
    let pid = left["stdout"].as_str().unwrap().trim().to_owned();
    assert_eq!(left["leftovers"][0]["pid"].to_string(), pid);
    assert_eq!(left["leftovers"][0]["command"], "sleep 60");
    place.run(&[&format!("kill {pid}")]);
}

#[test]
fn a_session_continues_where_the_last_process_ended() {
    let place = Place::new();
    place.run(&["--session", "work", "cd /usr; export A=1; b=2; f() { echo f $1; }; shopt -s nullglob; alias x=y"]);
    let next = place.run(&["--session", "work", "pwd; echo $A $b; f 3; shopt nullglob; alias; cd lib"]);
    assert_eq!(text(&next.stdout), "/usr\n1 2\nf 3\nnullglob       \ton\nalias x='y'\n");
    let other = place.run(&["--session", "other", "echo ${A-unset}; pwd"]);
    assert_eq!(text(&other.stdout), format!("unset\n{}\n", place.folder.path().display()));
    assert_eq!(text(&place.run(&["--session", "work", "pwd"]).stdout), "/usr/lib\n");
    let file = place.folder.path().join("state/chiton/sessions/work.json");
    fs::write(&file, "{ damaged").unwrap();
    let damaged = place.run(&["--session", "work", "touch ran"]);
    assert_eq!(damaged.status.code(), Some(125));
    assert!(text(&damaged.stderr).contains("work.json"), "{}", text(&damaged.stderr));
    assert!(!place.folder.path().join("ran").exists());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ damaged", "nothing is lost");
}

#[test]
fn output_is_shown_as_it_comes() {
    let place = Place::new();
    Command::new("mkfifo").arg(place.folder.path().join("gate")).status().unwrap();
    let mut child = place.start(&mark("live"), &["echo first; read x < gate; echo second"]);
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 6];
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"first\n");
    fs::OpenOptions::new().write(true).open(place.folder.path().join("gate")).unwrap().write_all(b"\n").unwrap();
    let mut second = String::new();
    stdout.read_to_string(&mut second).unwrap();
    assert_eq!(second, "second\n");
    child.wait().unwrap();
}

#[test]
fn standard_input_is_passed_on_when_asked_for() {
    let place = Place::new();
    let mut command = place.command();
    command.args(["run", "--stdin", "-", "cat; echo end"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"from outside\n").unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "from outside\nend\n");
    fs::write(place.folder.path().join("file"), "in a file\n").unwrap();
    assert_eq!(text(&place.run(&["--stdin", "file", "cat"]).stdout), "in a file\n");
}

#[test]
fn a_signal_stops_the_command_and_everything_it_started() {
    let place = Place::new();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let mark = mark(signal);
        let mut child = place.start(&mark, &["setsid sleep 100 & echo up; sleep 100"]);
        let mut up = [0; 3];
        child.stdout.take().unwrap().read_exact(&mut up).unwrap();
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert_eq!(marked(&mark), [], "{signal}");
    }
}

#[test]
fn when_nobody_reads_the_output_any_more_the_command_ends() {
    let place = Place::new();
    let mark = mark("pipe");
    let mut child = place.start(&mark, &["yes"]);
    let mut some = [0; 100];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut some).unwrap();
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert_eq!(marked(&mark), []);
}

#[test]
fn a_killed_chiton_leaves_what_its_lifetime_says() {
    let place = Place::new();
    for (lifetime, survives) in [("call", false), ("session", false), ("durable", true)] {
        let mark = mark(lifetime);
        let log = place.folder.path().join(format!("log-{lifetime}"));
        let command = format!("setsid sleep 2 & echo up; sleep 1; echo done > {}", log.display());
        let mut child = place.start(&mark, &["--lifetime", lifetime, &command]);
        let mut up = [0; 3];
        child.stdout.take().unwrap().read_exact(&mut up).unwrap();
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        if survives {
            assert!(eventually(seconds(10), || log.exists()), "{lifetime} goes on");
        } else {
            assert!(eventually(seconds(10), || marked(&mark).is_empty()), "{lifetime} is stopped");
            assert!(!log.exists(), "{lifetime} is stopped before its end");
        }
        assert!(eventually(seconds(10), || marked(&mark).is_empty()));
        // The keeper wrote down how it ended, whoever was there to hear it.
        let runs = place.folder.path().join("state/chiton/runs");
        assert!(eventually(seconds(5), || ended_runs(&runs) == fs::read_dir(&runs).unwrap().count()));
    }
    // Of a command that has ended, `call` lets the leftovers be and `session` does not.
    for (lifetime, survives) in [("call", true), ("session", false), ("durable", true)] {
        let mark = mark(&format!("left-{lifetime}"));
        let child = place.start(&mark, &["--lifetime", lifetime, "sleep 100 & echo started"]);
        let output = child.wait_with_output().unwrap();
        assert!(text(&output.stderr).contains("left running"), "{}", text(&output.stderr));
        if survives {
            assert_eq!(marked(&mark).len(), 1, "{lifetime}");
            Command::new("kill").arg(marked(&mark)[0].pid.to_string()).status().unwrap();
        }
        assert!(eventually(seconds(10), || marked(&mark).is_empty()), "{lifetime}");
    }
}

fn ended_runs(runs: &Path) -> usize {
    let entries = fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.join("ending.json").exists() || path.ends_with(".tidied")).count()
}

#[test]
fn a_full_disk_costs_output_on_disk_and_nothing_else() {
    let place = Place::new();
    let state = place.folder.path().join("small");
    fs::create_dir(&state).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=2m,mode=700 none {0} && exec {1} run --json --state-dir {0} 'head -c 20000000 /dev/zero | tr \"\\0\" x; echo; echo end; df {0} | tail -1 >&2'",
        state.display(),
        env!("CARGO_BIN_EXE_chiton"),
    );
    let output = place.command_of("unshare").args(["-rm", "sh", "-c", &script]).output();
    let Ok(output) = output else { return };
    if output.stdout.is_empty() {
        // Namespaces are not to be had everywhere.
        eprintln!("skipped: {}", text(&output.stderr));
        return;
    }
    let response: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(response["outcome"], "exited", "{response}");
    assert!(response["stdout"].as_str().unwrap().ends_with("x\nend\n"));
    let lost = response["lost_bytes"].as_u64().unwrap();
    assert!(lost > 17_500_000 && lost < 20_000_005, "{lost}");
}

#[test]
fn a_full_or_read_only_disk_refuses_a_task_it_could_not_find_again_and_keeps_the_endings_of_others() {
    let place = Place::new();
    let state = place.folder.path().join("small");
    fs::create_dir(&state).unwrap();
    // A task starts while there is room; then the disk is full; then the task ends.
    let script = format!(
        r#"S={0}; C={1}; mount -t tmpfs -o size=1m,mode=700 none $S || exit 0
        id=$($C --state-dir $S run --background 'echo before; until [ -e {2}/go ]; do sleep 0.02; done; exit 7' 2>/dev/null)
        $C --state-dir $S wait --for before $id >/dev/null
        head -c 2000000 /dev/zero > $S/fill 2>/dev/null
        $C --state-dir $S run --background 'touch {2}/ran' 2>&1; echo "refused $?"
        touch {2}/go; $C --state-dir $S wait $id; echo "code $?"
        rm $S/fill; $C --state-dir $S run 'echo recovered'
        until mount -o remount,ro $S 2>/dev/null; do sleep 0.02; done; $C --state-dir $S run 'touch {2}/ran' 2>&1; echo "read-only $?""#,
        state.display(),
        env!("CARGO_BIN_EXE_chiton"),
        place.folder.path().display(),
    );
    let Ok(output) = place.command_of("unshare").args(["-rm", "sh", "-c", &script]).output() else { return };
    let said = text(&output.stdout);
    if said.is_empty() {
        eprintln!("skipped: {}", text(&output.stderr));
        return;
    }
    for words in ["No space left", "refused 125", "code 7", "recovered", "Read-only file system", "read-only 125"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(!place.folder.path().join("ran").exists());
}

#[test]
fn a_state_directory_that_cannot_be_used_is_named() {
    let place = Place::new();
    let link = place.folder.path().join("link");
    std::os::unix::fs::symlink("/tmp", &link).unwrap();
    fs::write(place.folder.path().join("file"), "").unwrap();
    for directory in ["link", "file", "file/below", "/proc/nowhere"] {
        let output = place.run(&["--state-dir", directory, "touch ran"]);
        assert_eq!(output.status.code(), Some(125), "{directory}");
        assert!(text(&output.stderr).contains("state directory"), "{directory}: {}", text(&output.stderr));
    }
    if rustix::process::geteuid().is_root() {
        let foreign = place.folder.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        std::os::unix::fs::chown(&foreign, Some(12345), None).unwrap();
        let output = place.run(&["--state-dir", "foreign", "touch ran"]);
        assert!(text(&output.stderr).contains("belongs to user 12345"), "{}", text(&output.stderr));
    }
    assert!(!place.folder.path().join("ran").exists());
    let output =
        place.command().env_remove("HOME").env_remove("XDG_STATE_HOME").args(["run", "true"]).output().unwrap();
    assert!(text(&output.stderr).contains("--state-dir"), "{}", text(&output.stderr));
}

#[test]
fn the_command_is_not_in_any_argument_list() {
    let place = Place::new();
    let mark = mark("argv");
    let mut child =
        place.start(&mark, &["--env", "X=1", "--stdin", "/dev/null", ": needle-in-a-haystack; echo up; sleep 100"]);
    let mut up = [0; 3];
    child.stdout.take().unwrap().read_exact(&mut up).unwrap();
    let own = child.id().to_string();
    let seen: Vec<_> =
        with_command("needle-in-a-haystack").into_iter().filter(|found| found.pid.to_string() != own).collect();
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    child.wait().unwrap();
    assert_eq!(seen, []);
}

#[test]
fn the_keeper_of_the_command_line_is_small_too() {
    let place = Place::new();
    let mark = mark("small");
    let mut child = place.start(&mark, &["echo up; sleep 100"]);
    let mut up = [0; 3];
    child.stdout.take().unwrap().read_exact(&mut up).unwrap();
    let shell = marked(&mark).into_iter().find(|process| process.command.starts_with("bash")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", shell.pid)).unwrap();
    let keeper: u32 = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap();
    let small = eventually(seconds(5), || (1..3_500_000).contains(&own_memory(keeper)));
    let memory = own_memory(keeper);
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    child.wait().unwrap();
    assert!(small, "{memory} bytes");
}

#[test]
fn a_current_directory_that_is_gone_is_said_and_no_other_used() {
    let place = Place::new();
    let gone = place.folder.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let script =
        format!("cd {0} && rmdir {0} && exec {1} run 'echo > ran'", gone.display(), env!("CARGO_BIN_EXE_chiton"));
    let mut shell = place.command_of("bash");
    let output = shell.args(["-c", &script]).env("XDG_STATE_HOME", place.folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let said = text(&output.stderr);
    assert!(said.contains("is gone") && said.contains(&format!("cd {}", place.folder.path().display())), "{said}");
    assert!(!place.folder.path().join("ran").exists());
}

#[test]
fn few_descriptors_are_enough_or_the_error_says_so() {
    let place = Place::new();
    // Whoever runs the tests may have left descriptors open.
    let alone = "for n in /proc/$$/fd/*; do n=${n##*/}; ((n > 2)) && eval \"exec $n>&-\"; done;";
    let chiton = env!("CARGO_BIN_EXE_chiton");
    for (limit, held) in
        [(5, ""), (8, ""), (8, "3<&0"), (8, "3<&0 4<&0"), (12, ""), (16, ""), (24, ""), (32, ""), (64, "")]
    {
        let limited = |arguments: &str| {
            let mut shell = place.command_of("bash");
            let script = format!("{alone} exec {held} 2>&2; ulimit -n {limit}; exec {chiton} {arguments}");
            shell.args(["-c", &script]).env("XDG_STATE_HOME", place.folder.path());
            shell
        };
        let output = limited("run 'echo ran'").output().unwrap();
        let said = text(&output.stderr);
        match output.status.code() {
            Some(0) => assert_eq!(text(&output.stdout), "ran\n"),
            Some(125) => assert!(limit < 32 && said.contains("Too many open files"), "{limit} {held}: {said}"),
            other => panic!("{limit} {held}: {other:?} {said}"),
        }

        let mut server = limited("mcp");
        server.stderr(Stdio::piped());
        let mut wire = Wire::start(server);
        let mut stderr = wire.server.stderr.take().unwrap();
        let client = json!({"name": "wire", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        // One that has too few to work with ends, and does not read this.
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
        let answered = wire.try_send(&hello).is_ok() && wire.try_answer(1).is_ok();
        if answered {
            let result = wire.call("Bash", &json!({"command": "echo ran"})).to_string();
            assert!(result.contains("ran") || result.contains("Too many open files"), "{limit} {held}: {result}");
            continue;
        }
        let (code, mut said) = (wire.close().code(), String::new());
        stderr.read_to_string(&mut said).unwrap();
        assert!(code == Some(125) && limit < 32 && said.contains("Too many open files"), "{limit} {held}: {said}");
    }
}

#[test]
fn limits_on_file_size_and_ignored_signals_are_survived() {
    let place = Place::new();
    let own = env!("CARGO_BIN_EXE_chiton");
    let shell = |script: &str| {
        let mut shell = place.command_of("bash");
        shell.args(["-c", script]).env("XDG_STATE_HOME", place.folder.path()).output().unwrap()
    };
    let limited = shell(&format!("ulimit -f 100; {own} run 'seq 1 100000' | tail -1"));
    assert_eq!(text(&limited.stdout), "100000\n", "{}", text(&limited.stderr));
    let script = format!("trap '' HUP; {own} run 'sleep 0.5; echo survived' & sleep 0.2; kill -HUP $!; wait");
    assert_eq!(text(&shell(&script).stdout), "survived\n");
}

#[test]
fn help_teaches() {
    let place = Place::new();
    let output = place.run(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for word in ["--timeout", "--session", "Examples:", "124", "chiton run"] {
        assert!(text(&output.stdout).contains(word), "{word}");
    }
}

#[test]
fn a_verb_with_a_slip_is_named_and_nothing_is_where_nothing_is_like_it() {
    let place = Place::new();
    let cases = [("rnu", Some("run")), ("serch", None), ("update", None), ("shell", None), ("docter", Some("doctor"))];
    for (typed, meant) in cases {
        let output = place.call(&[typed]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{typed}: {said}");
        assert_eq!(said.contains("similar"), meant.is_some(), "{typed}: {said}");
        assert!(meant.is_none_or(|meant| said.contains(&format!("'{meant}'"))), "{typed}: {said}");
    }
}

#[test]
fn a_long_run_shows_no_status_line_where_nobody_looks() {
    // A run that takes long shows nothing when nobody looks: no terminal, no status line.
    let place = Place::new();
    let start = Instant::now();
    let output = place.run(&["sleep 2.3; echo done"]);
    assert!(start.elapsed() > seconds(2));
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("done\n".to_owned(), String::new()));
}

#[test]
fn input_that_nobody_passes_on_is_mentioned_and_left_alone() {
    let place = Place::new();
    let piped = |script: &str| {
        let mut shell = place.command_of("bash");
        let script = script.replace("CHITON", env!("CARGO_BIN_EXE_chiton"));
        shell.args(["-c", &script]).env("XDG_STATE_HOME", place.folder.path()).output().unwrap()
    };
    let dropped = piped("echo hi | { sleep 0.1; CHITON run cat; }");
    assert_eq!(text(&dropped.stdout), "");
    assert!(text(&dropped.stderr).contains("--stdin - passes it on"), "{}", text(&dropped.stderr));
    let left = piped("printf 'one\\ntwo\\n' > lines; while read -r line; do CHITON run echo \"$line\"; done < lines");
    assert_eq!(text(&left.stdout), "one\ntwo\n", "a loop keeps its input");
    for silent in ["CHITON run cat </dev/null", "sleep 0.3 | CHITON run cat", "echo hi | CHITON run --stdin - cat >&2"]
    {
        assert!(!text(&piped(silent).stderr).contains("passes it on"), "{silent}");
    }
    let script = piped("echo 'echo from $0' | CHITON run -");
    assert_eq!((text(&script.stdout), text(&script.stderr)), ("from bash\n".to_owned(), String::new()));
}

#[test]
fn whoever_stops_reading_is_not_told_about_it() {
    let place = Place::new();
    place.run(&["true"]);
    for verb in ["schema", "ps --all --json", "doctor", "dialects", "audit", "run 'seq 100000'", "kill --help"] {
        let mut shell = place.command_of("bash");
        // The reader is gone before anything is written.
        let script = format!("{} {verb} | :; echo ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_chiton"));
        let output = shell.args(["-c", &script]).env("XDG_STATE_HOME", place.folder.path()).output().unwrap();
        assert!(!text(&output.stderr).contains("roken pipe"), "{verb}: {}", text(&output.stderr));
    }
}

#[test]
fn a_state_directory_may_have_any_name() {
    use std::os::unix::ffi::OsStrExt;

    let place = Place::new();
    let state = place.folder.path().join(std::ffi::OsStr::from_bytes(b"st\xffate"));
    let call = |arguments: &[&str]| {
        let mut command = place.command();
        command.arg("--state-dir").arg(&state).args(arguments).output().unwrap()
    };
    assert_eq!(text(&call(&["run", "--session", "s", "cd /usr; echo ran"]).stdout), "ran\n");
    assert_eq!(text(&call(&["run", "--session", "s", "pwd"]).stdout), "/usr\n");
    let id = text(&call(&["run", "--background", "echo task"]).stdout).trim().to_owned();
    assert_eq!(call(&["wait", &id]).status.code(), Some(0));
    assert_eq!(text(&call(&["logs", &id]).stdout), "task\n");
    assert_eq!(call(&["audit", "verify"]).status.code(), Some(0));
}

#[test]
fn every_command_finds_that_it_runs_in_chiton_whatever_was_made_of_the_variable() {
    let place = Place::new();
    let say = "echo \"[${CHITON-unset}]\"";
    let cases: [&[&str]; 6] = [
        &[say],
        &["--env", "CHITON=5", say],
        &["--strict-env", say],
        &["--pty", say],
        &["--session", "one", "unset CHITON; :"],
        &["--session", "one", say],
    ];
    for arguments in cases {
        let printed = text(&place.run(arguments).stdout);
        let expected = if arguments.contains(&say) { "[1]" } else { "" };
        assert_eq!(printed.trim(), expected, "{arguments:?}");
    }
    place.run(&["--session", "one", "export CHITON=2 OTHER=2"]);
    assert_eq!(text(&place.run(&["--session", "one", "echo $CHITON $OTHER"]).stdout), "1 2\n");
    // A call that replaces the whole environment, and a command that does, mean it.
    assert_eq!(text(&place.run(&["--clear-env", say]).stdout), "[unset]\n");
    assert_eq!(text(&place.run(&["env -i bash -c 'echo ${CHITON-unset}'"]).stdout), "unset\n");

    // Also where the shell waited for its command.
    let mut wire = place.session(&["--structured"]);
    for _ in 0..3 {
        let reply = wire.call("Bash", &json!({"command": "echo $CHITON; unset CHITON"}));
        assert_eq!(reply["content"][0]["text"].as_str().unwrap().trim(), "1", "{reply}");
    }
}
