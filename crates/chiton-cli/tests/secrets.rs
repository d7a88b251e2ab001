//! Secrets, the environment and the journal, through the real program.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use chiton_testkit::processes::eventually;
use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, text};

const VALUE: &str = "S3CR3T-VALUE it's $(one)";

/// Calls with this on standard input.
fn given(place: &Place, arguments: &[&str], input: &str) -> Output {
    let mut command = place.command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Where the arguments are wrong, nobody reads it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// Files at or below `path` that hold `needle`.
fn holders(path: &Path, needle: &str) -> Vec<PathBuf> {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().flatten().flat_map(|entry| holders(&entry.path(), needle)).collect();
    }
    let content = fs::read(path).unwrap_or_default();
    let holds = content.windows(needle.len()).any(|window| window == needle.as_bytes());
    if holds { vec![path.to_owned()] } else { Vec::new() }
}

#[test]
fn secrets_are_set_used_listed_rotated_and_removed_and_never_shown() {
    let place = Place::new();
    let set = given(&place, &["secret", "set", "api-key"], &format!("{VALUE}\n"));
    assert_eq!((set.status.code(), said(&set)), (Some(0), "chiton: {{secret:api-key}} is set\n".to_owned()));
    let run =
        place.run(&["printf %s {{secret:api-key}} | wc -c; echo {{secret:api-key}}; echo \"{{secret:api-key}}\" >&2"]);
    assert_eq!(text(&run.stdout), format!("{}\n{{{{secret:api-key}}}}\n", VALUE.len()));
    assert_eq!(text(&run.stderr), "{{secret:api-key}}\n");
    let blob = text(&given(&place, &["secret", "encrypt"], "S3CR3T-BLOB-9\n").stdout).trim().to_owned();
    let id = blob.strip_prefix("{{decrypt:").unwrap().strip_suffix("}}").unwrap().to_owned();
    assert_eq!(text(&place.run(&[&format!("printf %s {blob} | wc -c")]).stdout), "13\n");
    assert_eq!(text(&place.call(&["secret", "decrypt", &id]).stdout), "S3CR3T-BLOB-9");
    let listed = text(&place.call(&["secret", "list"]).stdout);
    assert!(listed.contains("{{secret:api-key}}") && listed.contains(&blob), "{listed}");
    assert_eq!(place.call(&["secret", "rotate"]).status.code(), Some(0));
    assert_eq!(text(&place.run(&["printf %s {{secret:api-key}} | wc -c"]).stdout), format!("{}\n", VALUE.len()));
    for output in [&set, &run, &place.call(&["secret", "list"]), &place.call(&["ps", "--all"]), &place.call(&["audit"])]
    {
        assert!(!said(output).contains("S3CR3T"), "{}", said(output));
    }
    assert_eq!(holders(place.folder.path(), "S3CR3T"), Vec::<PathBuf>::new());
    assert_eq!(place.call(&["secret", "rm", "api-key"]).status.code(), Some(0));
    let unknown = place.run(&["echo {{secret:api-key}}"]);
    assert!(said(&unknown).contains("there is no secret named 'api-key'"), "{}", said(&unknown));
    assert_eq!(text(&unknown.stdout), "");
}

#[test]
fn what_cannot_be_a_secret_is_refused_in_words() {
    let place = Place::new();
    let cases = [
        (vec!["secret", "set", "a/b"], "12345678", "is not a name"),
        (vec!["secret", "set", "short"], "1234567", "fewer than 8"),
        (vec!["secret", "set", "empty"], "\n", "empty"),
        (vec!["secret", "set", "password1"], "password", "part of its own name"),
        (vec!["secret", "rm", "none"], "", "no secret named 'none'"),
        (vec!["secret", "decrypt", "none"], "", "nothing is encrypted under 'none'"),
    ];
    for (arguments, input, why) in cases {
        let output = given(&place, &arguments, input);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}");
        assert!(text(&output.stderr).contains(why), "{arguments:?}: {}", text(&output.stderr));
    }
    let short = given(&place, &["secret", "set", "--no-mask", "short"], "1234567");
    assert_eq!(short.status.code(), Some(0));
    assert_eq!(text(&place.run(&["echo {{secret:short}}"]).stdout), "1234567\n");
    let refused = place.run(&["{{secret:short}}"]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("unknown-run"), "the guard first: {}", text(&refused.stderr));
    let refused = place.run(&["--guard", "off", "{{secret:short}}"]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("name of a command"), "{}", text(&refused.stderr));
}

#[test]
fn a_named_session_masks_what_another_process_used() {
    let place = Place::new();
    given(&place, &["secret", "set", "api-key"], VALUE);
    place.run(&["--session", "s", "printf %s {{secret:api-key}} > kept; mine=1; leak={{secret:api-key}}"]);
    let later = place.run(&["--session", "s", "cat kept; echo; echo $mine ${leak-none}; base64 -w0 kept >&2"]);
    assert_eq!(text(&later.stdout), "{{secret:api-key}}\n1 none\n");
    assert_eq!(text(&later.stderr), "{{secret:api-key}}");
    assert_eq!(holders(&place.folder.path().join("state"), "S3CR3T"), Vec::<PathBuf>::new());
    let other = place.run(&["cat kept"]);
    assert_eq!(text(&other.stdout), VALUE, "another session has not seen it");
}

#[test]
fn a_program_and_a_variable_can_be_the_source() {
    let place = Place::new();
    let arguments = ["run", "--secret-env", "token=THE_TOKEN", "--secret-command", "echo value-of-{name}"];
    let command = "printf '%s\\n' {{secret:token}} {{secret:other}} | rev; echo {{secret:token}} {{secret:other}} ${THE_TOKEN-none}";
    let output =
        place.command().args(arguments).arg(command).env("THE_TOKEN", "from-the-environment").output().unwrap();
    let reversed = "tnemnorivne-eht-morf\nrehto-fo-eulav\n";
    assert_eq!(text(&output.stdout), format!("{reversed}{{{{secret:token}}}} {{{{secret:other}}}} none\n"));
}

#[test]
fn a_locked_key_opens_with_its_passphrase_alone() {
    let place = Place::new();
    let with = |phrase: Option<&str>, arguments: &[&str]| {
        let mut command = place.command();
        if let Some(phrase) = phrase {
            command.env("CHITON_PASSPHRASE", phrase);
        }
        // No terminal: nobody can be asked.
        Command::new("setsid")
            .args(["--wait"])
            .arg(command.get_program())
            .args(arguments)
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(place.folder.path())
            .stdin(Stdio::piped())
            .output()
            .unwrap()
    };
    assert_eq!(with(Some("correct horse"), &["secret", "lock"]).status.code(), Some(0));
    let mut set = place.command();
    set.args(["secret", "set", "api-key"])
        .env("CHITON_PASSPHRASE", "correct horse")
        .stdin(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = set.spawn().unwrap();
    child.stdin.take().unwrap().write_all(VALUE.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let run =
        with(Some("correct horse"), &["run", "printf %s {{secret:api-key}} | wc -c; echo ${CHITON_PASSPHRASE-none}"]);
    assert_eq!(text(&run.stdout), format!("{}\nnone\n", VALUE.len()), "{}", text(&run.stderr));
    for phrase in [None, Some("wrong")] {
        let refused = with(phrase, &["run", "echo {{secret:api-key}}"]);
        assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(125), String::new()));
        assert!(text(&refused.stderr).contains("passphrase"), "{}", text(&refused.stderr));
    }
}

#[test]
fn nothing_on_disk_holds_a_value_when_the_server_is_killed_while_a_task_prints_it() {
    let place = Place::new();
    given(&place, &["secret", "set", "api-key"], VALUE);
    for round in 0..5u64 {
        let mut server = place.session(&[]);
        let command =
            "for i in {1..400}; do printf %s {{secret:api-key}}; sleep 0.05; echo {{secret:api-key}} >&2; done";
        let started = server.call("Bash", &json!({"command": command, "run_in_background": true}));
        let id = started["structuredContent"]["bash_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
        let logs = || text(&place.call(&["logs", &id]).stdout);
        assert!(eventually(Duration::from_secs(20), || logs().matches("{{secret:api-key}}").count() > 3), "{}", logs());
        std::thread::sleep(Duration::from_millis(17 * round));
        server.kill();
        // The task goes on, with nobody but its keeper to mask it.
        let before = logs().len();
        assert!(eventually(Duration::from_secs(20), || logs().len() > before + 100), "it does not go on");
        assert!(!logs().contains("S3CR3T"));
        assert_eq!(holders(place.folder.path(), "S3CR3T"), Vec::<PathBuf>::new());
        let mut next = place.session(&[]);
        let read = next.call("BashOutput", &json!({"bash_id": id})).to_string();
        assert!(read.contains("{{secret:api-key}}") && !read.contains("S3CR3T"), "{read}");
        place.call(&["kill", &id]);
        next.close();
        assert_eq!(holders(place.folder.path(), "S3CR3T"), Vec::<PathBuf>::new());
    }
}

#[test]
fn other_programs_of_the_same_user_cannot_look_into_the_server() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("chiton");
    fs::copy(env!("CARGO_BIN_EXE_chiton"), &program).unwrap();
    // The keeper stays readable, since the shell hands its state back through it; the server does not.
    let script = format!(
        "mkdir home; cd home; export HOME=$PWD; mkfifo in; {0} mcp < in > out & server=$!; exec 9> in; \
         for i in $(seq 200); do cat /proc/$server/environ > /dev/null 2>&1 || break; sleep 0.05; done; \
         cat /proc/$server/environ > /dev/null 2>&1 && echo open || echo closed; \
         head -c 1 /proc/$server/mem 2>&1 | grep -c 'Permission denied'; exec 9>&-; wait $server; \
         {0} run --session s 'cd /usr; x=1'; {0} run --session s 'echo $PWD $x'",
        program.display()
    );
    let root = rustix::process::geteuid().is_root();
    let mut command = if root { Command::new("setpriv") } else { Command::new("bash") };
    if root {
        // Root may look everywhere, so this has to be somebody else.
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash"]);
    }
    let output =
        command.args(["-c", &script]).env_clear().env("PATH", "/usr/bin:/bin").current_dir(folder.path()).output();
    let output = output.unwrap();
    assert_eq!(text(&output.stdout), "closed\n1\n/usr 1\n", "{}", text(&output.stderr));
}

#[test]
fn the_environment_is_shown_with_what_is_kept_back_and_why() {
    let place = Place::new();
    let env = |arguments: &[&str]| {
        let mut command = place.command();
        command
            .env("MY_API_TOKEN", "S3CR3T")
            .env("FOO", "bar")
            .env("URL", "https://me:S3CR3T@host/")
            .env("LD_PRELOAD", "");
        text(&command.arg("env").args(arguments).output().unwrap().stdout)
    };
    let shown: Value = serde_json::from_str(&env(&["--json"])).unwrap();
    assert_eq!(shown["FOO"], json!({"from": "environment", "value": "bar", "kept_back": null}));
    assert_eq!(shown["PAGER"]["from"], "default");
    for name in ["MY_API_TOKEN", "URL", "LD_PRELOAD"] {
        assert!(shown[name]["value"].is_null() && shown[name]["kept_back"].is_string(), "{name}: {shown}");
    }
    assert!(!env(&[]).contains("S3CR3T"));
    assert!(env(&["--explain", "MY_API_TOKEN"]).contains("looks like a secret"));
    let passing: Value = serde_json::from_str(&env(&["--json", "--keep-env", "MY_*"])).unwrap();
    assert_eq!(passing["MY_API_TOKEN"]["value"], "S3CR3T");
    let strict: Value = serde_json::from_str(&env(&["--json", "--strict-env"])).unwrap();
    assert!(strict["FOO"]["value"].is_null() && strict["PATH"]["value"].is_string());
    fs::write(place.folder.path().join(".profile"), "export PATH=/opt/tools/bin:$PATH LOGIN_ONLY=1 FOO=login\n")
        .unwrap();
    let login: Value = serde_json::from_str(&env(&["--json", "--login"])).unwrap();
    assert_eq!((&login["LOGIN_ONLY"]["from"], &login["FOO"]["value"]), (&json!("login shell"), &json!("bar")));
    let explained = env(&["--login", "--explain", "PATH"]);
    assert!(explained.contains("login shell") && explained.contains("/opt/tools/bin (does not exist)"), "{explained}");
}

#[test]
fn a_server_adds_what_the_login_shell_says_and_only_what_is_missing() {
    let place = Place::new();
    fs::write(
        place.folder.path().join(".profile"),
        "export PATH=/opt/tools/bin:$PATH LOGIN_ONLY=1 FOO=login API_KEY=S3CR3T\n",
    )
    .unwrap();
    let mut command = place.server(&["--login-env"]);
    command.env("FOO", "own").env("SHELL", "/bin/bash");
    let mut server = Wire::session(command);
    let reply = server.call("Bash", &json!({"command": "echo $LOGIN_ONLY $FOO ${API_KEY-none} $PATH"}));
    let shown = reply["structuredContent"]["output"].as_str().unwrap();
    assert!(shown.starts_with("1 own none /opt/tools/bin:"), "{shown}");
    server.close();
}

#[test]
fn every_call_is_in_the_journal_and_a_change_of_it_is_found() {
    let place = Place::new();
    given(&place, &["secret", "set", "api-key"], VALUE);
    place.run(&["--session", "one", "echo {{secret:api-key}}; exit 3"]);
    place.run(&["--timeout", "200ms", "sleep 9"]);
    place.run(&["eval {{secret:api-key}}"]);
    place.run(&["--dir", "/nonexistent", "true"]);
    let id = place.background(&["exit 4"]);
    place.call(&["wait", &id]);
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let output = place.call(&[&["audit", "--json"], arguments].concat());
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let events: Vec<String> = lines(&[]).iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["run", "end", "run", "end", "refused", "failed", "run", "end"]);
    let first = &lines(&["--session", "one"])[0];
    assert_eq!(first["command"], "echo {{secret:api-key}}; exit 3");
    assert_eq!((&first["secrets"], &first["verdict"]), (&json!(["{{secret:api-key}}"]), &json!("allowed")));
    assert!(first["who"].as_str().unwrap().starts_with("run (uid "));
    assert_eq!(lines(&["--session", "one"])[1]["exit_code"], 3);
    assert_eq!(lines(&["--outcome", "timed_out"]).len(), 1);
    assert_eq!(lines(&["--outcome", "failure"]).len(), 5);
    assert_eq!(lines(&["--since", "1h"]).len(), 8);
    assert_eq!(lines(&[])[6]["run"], id);
    assert_eq!(lines(&[])[6]["background"], true);
    assert_eq!((&lines(&[])[7]["run"], &lines(&[])[7]["exit_code"]), (&json!(id), &json!(4)));
    let unknown = place.call(&["audit", "--outcome", "bogus"]);
    assert_eq!(unknown.status.code(), Some(125));
    assert!(text(&unknown.stderr).contains("timed_out, cancelled, killed"), "{}", text(&unknown.stderr));
    let verify = place.call(&["audit", "verify"]);
    assert_eq!(
        (verify.status.code(), text(&verify.stdout)),
        (Some(0), "records 1 to 8: each follows from the one before\n".to_owned())
    );
    let path = place.folder.path().join("state/chiton/audit/journal.jsonl");
    let journal = fs::read_to_string(&path).unwrap();
    assert!(!journal.contains("S3CR3T"));
    fs::write(&path, journal.replace("exit 3", "exit 0")).unwrap();
    let verify = place.call(&["audit", "verify"]);
    assert_eq!(verify.status.code(), Some(1));
    assert!(text(&verify.stderr).contains("was changed"), "{}", text(&verify.stderr));
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let verify = place.call(&["audit", "verify"]);
    assert_eq!(verify.status.code(), Some(1));
    assert!(text(&verify.stderr).contains("records 1 to 8 of the journal are missing"), "{}", text(&verify.stderr));
}

#[test]
fn nothing_runs_that_cannot_be_written_down_where_that_is_required() {
    let place = Place::new();
    place.run(&["true"]);
    let audit = place.folder.path().join("state/chiton/audit");
    let elsewhere = place.folder.path().join("elsewhere");
    fs::rename(&audit, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &audit).unwrap();
    let before = fs::read(elsewhere.join("journal.jsonl")).unwrap();

    let told = place.run(&["echo ran"]);
    assert_eq!(text(&told.stdout), "ran\n");
    assert!(text(&told.stderr).contains("not in the audit journal"), "{}", text(&told.stderr));
    let refused = place.run(&["--audit-required", "echo ran"]);
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(125), String::new()));
    assert!(text(&refused.stderr).contains("Nothing was run"), "{}", text(&refused.stderr));
    let refused = place.run(&["--audit-required", "--background", "echo ran"]);
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(125), String::new()));
    assert_eq!(fs::read(elsewhere.join("journal.jsonl")).unwrap(), before, "no link is followed");
    let runs = fs::read_dir(place.folder.path().join("state/chiton/runs")).unwrap().flatten();
    assert_eq!(runs.filter(|entry| entry.file_name().to_string_lossy().starts_with("shell_")).count(), 2);

    let conflict = place.run(&["--audit-required", "--no-audit", "echo ran"]);
    assert!(text(&conflict.stderr).contains("cannot be switched off"), "{}", text(&conflict.stderr));
}

#[test]
fn a_value_that_is_typed_is_not_shown() {
    let place = Place::new();
    let program = format!("{} secret set typed", env!("CARGO_BIN_EXE_chiton"));
    let mut terminal = place.command_of("script");
    terminal.args(["-qec", &program, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = terminal.env_remove("XDG_DATA_HOME").spawn().unwrap();
    let mut shown = Vec::new();
    let mut output = child.stdout.take().unwrap();
    // Typed when it is asked for: what came before would be thrown away.
    while !shown.ends_with(b"Value of typed: ") {
        let mut byte = [0];
        assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", text(&shown));
        shown.push(byte[0]);
    }
    child.stdin.as_mut().unwrap().write_all(b"S3CR3T-typed\n").unwrap();
    output.read_to_end(&mut shown).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!text(&shown).contains("S3CR3T") && text(&shown).contains("is set"), "{}", text(&shown));
    assert_eq!(text(&place.run(&["printf %s {{secret:typed}} | wc -c"]).stdout), "12\n");
}
