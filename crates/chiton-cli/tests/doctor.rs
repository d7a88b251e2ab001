//! `chiton doctor`: what it says about a machine that is well, and about one that is not.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use chiton_testkit::processes::{MARK, marked};
use serde_json::Value;

use crate::place::{Place, text};

/// Everything that is looked at.
const AREAS: [&str; 14] = [
    "program", "state", "shell", "engine", "runs", "mcp", "variables", "kernel", "proc", "limits", "locale",
    "terminal", "sandbox", "clients",
];

struct Report {
    code: Option<i32>,
    findings: Vec<Value>,
}

impl Report {
    fn of(output: &Output) -> Self {
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)));
        assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
        let findings = report["findings"].as_array().unwrap().clone();
        let count = |status: &str| findings.iter().filter(|finding| finding["status"] == status).count();
        assert_eq!(report["problems"], count("problem"));
        assert_eq!(report["notes"], count("note"));
        assert_eq!(
            output.status.code(),
            Some(i32::from(count("problem") > 0)),
            "the exit code says what the lines say"
        );
        for finding in &findings {
            let remedy = finding["status"] != "problem" || finding["remedy"].is_string();
            assert!(remedy, "a problem says what to do: {finding}");
        }
        Self { code: output.status.code(), findings }
    }

    /// The finding of an area that says this, and how it is.
    fn has(&self, area: &str, status: &str, what: &str) -> &Value {
        let says = |finding: &&Value| {
            finding["area"] == area && finding["status"] == status && finding["what"].as_str().unwrap().contains(what)
        };
        self.findings.iter().find(says).unwrap_or_else(|| panic!("no {status} {area} {what} in {:#?}", self.findings))
    }

    fn problems(&self) -> Vec<&str> {
        let problems = self.findings.iter().filter(|finding| finding["status"] == "problem");
        problems.map(|finding| finding["area"].as_str().unwrap()).collect()
    }
}

fn doctor(place: &Place) -> Command {
    let mut command = place.command();
    command.env("LANG", "C.UTF-8").args(["doctor", "--json"]);
    command
}

fn report(place: &Place) -> Report {
    Report::of(&doctor(place).output().unwrap())
}

fn state(place: &Place) -> PathBuf {
    place.folder.path().join("state/chiton")
}

#[test]
fn a_machine_that_is_well_has_no_problem_and_every_area_is_looked_at() {
    let place = Place::new();
    let report = report(&place);
    assert_eq!((report.code, report.problems()), (Some(0), Vec::new()));
    for area in AREAS {
        assert!(report.findings.iter().any(|finding| finding["area"] == area), "{area}");
    }
    report.has("program", "ok", env!("CARGO_BIN_EXE_chiton"));
    report.has("state", "ok", "will be made");
    report.has("engine", "ok", "ran a command in ");
    report.has("mcp", "ok", "answers a client in ");
    report.has("runs", "ok", "0 kept, 0 of them running");
    report.has("locale", "ok", "LANG=C.UTF-8");
    for finding in &report.findings {
        for part in ["what", "why", "remedy"] {
            let words = finding[part].as_str().unwrap_or_default();
            for debug in ["Some(", "None", "Ok(", "Err(", "Error {", "Os {", "\\\""] {
                assert!(!words.contains(debug), "{words}");
            }
        }
    }
}

#[test]
fn what_is_kept_from_commands_is_named() {
    let place = Place::new();
    let well = report(&place);
    well.has("variables", "ok", "reach commands");
    let output = doctor(&place).env("GITHUB_TOKEN", "S3CR3T-token").env("AWS_PROFILE", "dev").output().unwrap();
    assert!(!text(&output.stdout).contains("S3CR3T"));
    let found = Report::of(&output);
    let finding = found.has("variables", "note", "1 is kept from commands: GITHUB_TOKEN");
    assert!(finding["remedy"].as_str().unwrap().contains("--keep-env GITHUB_TOKEN"), "{finding}");
}

#[test]
fn the_lines_for_people_say_the_same() {
    let place = Place::new();
    let output = place.command().env("LANG", "C").arg("doctor").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let lines = text(&output.stdout);
    for area in AREAS {
        let line = lines.lines().any(|line| {
            let mut words = line.split_whitespace();
            ["ok", "note"].contains(&words.next().unwrap_or_default()) && words.next() == Some(area)
        });
        assert!(line, "{area}: {lines}");
    }
    let locale = lines.lines().skip_while(|line| !line.starts_with("note     locale ")).collect::<Vec<_>>();
    assert!(locale[0].contains("LANG=C is not UTF-8"), "{lines}");
    assert!(locale[1].trim().starts_with("why: ") && locale[2].trim().starts_with("do: set LANG="), "{lines}");
    assert!(lines.trim_end().lines().last().unwrap().starts_with("no problems, "), "{lines}");
    assert!(!lines.contains('\x1b'), "no colour where nobody sees it");
    let help = text(&place.call(&["doctor", "--help"]).stdout);
    assert!(help.contains("Exit code: 0, or 1") && help.contains("Examples:"), "{help}");
}

#[test]
fn what_is_tried_leaves_neither_a_run_nor_a_process() {
    let place = Place::new();
    let mark = format!("doctor-{}", std::process::id());
    place.run(&["true"]);
    for _ in 0..5 {
        let report = Report::of(&doctor(&place).env(MARK, &mark).output().unwrap());
        report.has("runs", "ok", "1 kept, 0 of them running");
        report.has("state", "ok", "yours alone (mode 0700), writable");
        assert_eq!(marked(&mark), Vec::new());
    }
}

#[test]
fn lost_and_damaged_runs_are_named() {
    let place = Place::new();
    let ids: Vec<String> = (0..2).map(|_| place.background(&["true"])).collect();
    for id in &ids {
        place.call(&["wait", id]);
    }
    let runs = state(&place).join("runs");
    // As a keeper that is killed leaves it; what else it had stays.
    fs::remove_file(runs.join(&ids[0]).join("ending.json")).unwrap();
    fs::write(runs.join(&ids[1]).join("request.json"), "{ damaged").unwrap();
    let report = report(&place);
    assert_eq!(report.code, Some(0));
    report.has("runs", "note", &format!("1 lost: {}", ids[0]));
    report.has("runs", "note", &format!("1 cannot be read: {}", ids[1]));
}

#[test]
fn a_state_directory_that_cannot_be_used_is_a_problem_with_a_remedy() {
    // What is said, and where a link in its place leads; without one, a file is there.
    for (what, link) in [("is not a directory", None), ("is a link", Some("/usr")), ("is a link", Some("/no/such"))] {
        let place = Place::new();
        fs::create_dir(place.folder.path().join("state")).unwrap();
        match link {
            Some(target) => symlink(target, state(&place)).unwrap(),
            None => fs::write(state(&place), "").unwrap(),
        }
        let report = report(&place);
        assert!(report.has("state", "problem", what)["remedy"].as_str().unwrap().contains("--state-dir"));
        for area in ["state", "engine", "mcp"] {
            assert!(report.problems().contains(&area), "what needs it fails as well: {area}");
        }
        report.has("engine", "problem", "no command can be run: ");
        report.has("kernel", "ok", "");
    }
}

#[test]
fn a_mode_that_lets_others_in_is_noted_and_mended_by_the_trial() {
    let place = Place::new();
    fs::create_dir_all(state(&place)).unwrap();
    fs::set_permissions(state(&place), fs::Permissions::from_mode(0o755)).unwrap();
    report(&place).has("state", "note", "has mode 0755");
    report(&place).has("state", "ok", "mode 0700");
}

#[test]
fn another_s_or_a_closed_state_directory_is_a_problem() {
    let place = Place::new();
    fs::create_dir_all(state(&place)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let as_a_plain_user = || {
        let mut command = doctor(&place);
        if is_root {
            command.uid(65534).gid(65534);
        }
        Report::of(&command.output().unwrap())
    };
    fs::set_permissions(place.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if is_root {
        as_a_plain_user().has("state", "problem", "belongs to user 0, and you are user 65534");
        std::os::unix::fs::chown(state(&place), Some(65534), Some(65534)).unwrap();
    }
    fs::set_permissions(state(&place), fs::Permissions::from_mode(0o500)).unwrap();
    let report = as_a_plain_user();
    let finding = report.has("state", "problem", "cannot be written: Permission denied");
    assert!(finding["remedy"].as_str().unwrap().contains("chmod u+rwx"), "{finding}");
    assert_eq!(report.code, Some(1));
    fs::set_permissions(state(&place), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn without_a_place_for_state_the_rest_is_still_looked_at() {
    let place = Place::new();
    let report = Report::of(&doctor(&place).env_remove("HOME").env_remove("XDG_STATE_HOME").output().unwrap());
    report.has("state", "problem", "neither XDG_STATE_HOME nor HOME");
    report.has("kernel", "ok", "Linux ");
    assert_eq!(report.problems(), ["state"]);
    let given = place.folder.path().join("given");
    let report = Report::of(&doctor(&place).arg("--state-dir").arg(&given).output().unwrap());
    report.has("state", "ok", given.to_str().unwrap());
    assert!(given.is_dir() && !state(&place).exists());
}

#[test]
fn a_memory_file_system_is_noted() {
    let memory = PathBuf::from("/dev/shm");
    let is_memory = fs::read_to_string("/proc/self/mounts").unwrap().contains(" /dev/shm tmpfs rw");
    if is_memory && let Ok(folder) = tempfile::tempdir_in(memory) {
        let place = Place::new();
        let report = Report::of(&doctor(&place).arg("--state-dir").arg(folder.path().join("x")).output().unwrap());
        report.has("state", "note", "file system tmpfs at /dev/shm");
    }
}

#[test]
fn limits_that_are_too_low_are_told() {
    let place = Place::new();
    for (limit, status) in [(63, "problem"), (200, "note"), (400, "ok")] {
        let program = env!("CARGO_BIN_EXE_chiton");
        let script = format!("ulimit -n {limit}; exec '{program}' doctor --json");
        let mut command = Command::new("bash");
        command.args(["-c", &script]).env("HOME", place.folder.path()).env("LANG", "C.UTF-8");
        command.env("XDG_STATE_HOME", place.folder.path().join("state")).current_dir(place.folder.path());
        let report = Report::of(&command.output().unwrap());
        report.has("limits", status, &format!("at most {limit} open files"));
    }
}

#[test]
fn the_clients_of_this_machine_are_told_with_what_to_do() {
    let place = Place::new();
    let home = place.folder.path();
    place.call(&["setup", "cursor"]);
    fs::create_dir(home.join(".gemini")).unwrap();
    let goose = home.join(".config/goose/config.yaml");
    fs::create_dir_all(goose.parent().unwrap()).unwrap();
    fs::write(&goose, "a: [").unwrap();
    let report_before = report(&place);
    assert_eq!(report_before.code, Some(0));
    report_before.has("clients", "ok", "Cursor: set up in ");
    assert_eq!(report_before.has("clients", "note", "Gemini CLI: not set up")["remedy"], "chiton setup gemini");
    report_before.has("clients", "note", "Goose: ");
    report_before.has(
        "clients",
        "ok",
        "not found here: claude-code, claude-desktop, codex, opencode, copilot, qwen, windsurf, cline, vscode, zed",
    );
    let settings = home.join(".cursor/mcp.json");
    let moved = fs::read_to_string(&settings).unwrap().replace(env!("CARGO_BIN_EXE_chiton"), "/no/such/chiton");
    fs::write(&settings, moved).unwrap();
    let report_after = report(&place);
    assert_eq!(report_after.code, Some(1));
    report_after.has("clients", "problem", "starts /no/such/chiton, which is not there");
}
