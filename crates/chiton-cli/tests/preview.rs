//! `chiton run --preview` and `chiton preview`, from outside. What a preview holds back is tested with the engine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use chiton_engine::changes::{ChangeLogs, UndoOptions};
use serde_json::Value;

use crate::place::{Place, text};

/// A place with a project to work in.
fn project() -> Place {
    let place = Place::new();
    let project = place.folder.path().join("project");
    fs::create_dir_all(project.join("sub")).unwrap();
    fs::write(project.join("file"), "one\ntwo\nthree\n").unwrap();
    fs::write(project.join("sub/gone"), "gone\n").unwrap();
    place
}

fn chiton(place: &Place, arguments: &[&str]) -> Output {
    place.command().current_dir(place.folder.path().join("project")).args(arguments).output().unwrap()
}

fn read(place: &Place, path: &str) -> Option<String> {
    fs::read_to_string(place.folder.path().join("project").join(path)).ok()
}

/// Previews a command; gives the reply and the id.
fn preview(place: &Place, arguments: &[&str]) -> (Value, String) {
    let output = chiton(place, &[&["run", "--json", "--preview"], arguments].concat());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let id = reply["changed"]["preview"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned();
    (reply, id)
}

#[test]
fn a_preview_is_made_shown_and_committed_or_dropped() {
    let place = project();
    let (reply, id) = preview(&place, &["sed -i s/two/2/ file; rm -r sub; echo new > new"]);
    let changed = &reply["changed"];
    assert_eq!(
        (&changed["made"], &changed["changed"], &changed["removed"]),
        (&1.into(), &1.into(), &1.into()),
        "{reply}"
    );
    assert_eq!(reply["protection"]["sandbox"]["profile"], "work", "{reply}");
    assert_eq!(read(&place, "file").as_deref(), Some("one\ntwo\nthree\n"));

    let listed = text(&chiton(&place, &["preview", "list"]).stdout);
    assert!(listed.contains(&id) && listed.contains("ready") && listed.contains("sed -i"), "{listed}");
    let shown = text(&chiton(&place, &["preview", "show", &id]).stdout);
    for word in ["removed ", "sub/gone", "changed ", "file (content, time)", "made "] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let diff = text(&chiton(&place, &["preview", "show", "--diff", &id, "file"]).stdout);
    assert!(diff.contains("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n") && !diff.contains("gone"), "{diff}");
    let facts: Value = serde_json::from_slice(&chiton(&place, &["preview", "show", "--json", &id]).stdout).unwrap();
    assert_eq!(facts["files"].as_array().unwrap().len(), 3, "{facts}");

    let committed = chiton(&place, &["preview", "commit", &id]);
    assert!(committed.status.success(), "{}", text(&committed.stderr));
    assert!(text(&committed.stdout).contains(&format!("chiton undo {id}")), "{}", text(&committed.stdout));
    assert_eq!(read(&place, "file").as_deref(), Some("one\n2\nthree\n"));
    assert_eq!((read(&place, "sub/gone"), read(&place, "new").as_deref()), (None, Some("new\n")));
    let again = chiton(&place, &["preview", "commit", &id]);
    assert!(!again.status.success() && text(&again.stderr).contains("committed already"), "{}", text(&again.stderr));

    let (_, id) = preview(&place, &["rm file"]);
    assert!(chiton(&place, &["preview", "drop", &id]).status.success());
    assert!(read(&place, "file").is_some());
    let unknown = chiton(&place, &["preview", "show", &id]);
    assert!(!unknown.status.success() && text(&unknown.stderr).contains("there is no preview"));
}

#[test]
fn what_others_changed_is_named_and_a_person_can_insist() {
    let place = project();
    let (_, id) = preview(&place, &["echo mine > file"]);
    fs::write(place.folder.path().join("project/file"), "theirs\n").unwrap();
    let refused = chiton(&place, &["preview", "commit", &id]);
    let why = text(&refused.stderr);
    assert!(
        !refused.status.success() && why.contains("project/file: it was changed since") && why.contains("--force"),
        "{why}"
    );
    assert!(text(&chiton(&place, &["preview", "list"]).stdout).contains("in conflict"));
    assert_eq!(read(&place, "file").as_deref(), Some("theirs\n"));
    assert!(chiton(&place, &["preview", "commit", "--force", &id]).status.success());
    assert_eq!(read(&place, "file").as_deref(), Some("mine\n"));
}

#[test]
fn a_named_session_takes_over_what_is_committed_unless_it_has_gone_on() {
    let place = project();
    let (_, id) = preview(&place, &["--session", "s", "X=1; mkdir made; cd made"]);
    let session = |command: &str| text(&chiton(&place, &["run", "--session", "s", command]).stdout);
    assert_eq!(session("echo \"[$X]\""), "[]\n");
    let committed = chiton(&place, &["preview", "commit", &id]);
    assert!(text(&committed.stderr).contains("session is committed as well"), "{}", text(&committed.stderr));
    let here = place.folder.path().canonicalize().unwrap().join("project/made");
    assert_eq!(session("echo \"[$X]\"; pwd -P"), format!("[1]\n{}\n", here.display()));

    let (_, id) = preview(&place, &["--session", "s", "X=2; echo x > x"]);
    session("X=3");
    let committed = chiton(&place, &["preview", "commit", &id]);
    assert!(
        committed.status.success() && text(&committed.stderr).contains("has changed since"),
        "{}",
        text(&committed.stderr)
    );
    assert_eq!(session("echo \"[$X]\"; cat x"), "[3]\nx\n");
}

#[test]
fn what_a_preview_sets_never_reaches_the_disk_with_values_it_did_not_set() {
    let place = project();
    let output = place
        .command()
        .current_dir(place.folder.path().join("project"))
        .env("INHERITED", "very-secret-value")
        .args(["run", "--json", "--session", "s", "--preview", "Y=1; echo x > x; unset INHERITED"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let state = place.folder.path().join("state/chiton/previews");
    let records: Vec<PathBuf> = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().path()).collect();
    let written = fs::read_to_string(records[0].join("state.json")).unwrap();
    assert!(written.contains('Y') && !written.contains("very-secret-value"), "{written}");
}

#[test]
fn an_agent_cannot_commit_what_it_previewed() {
    let place = project();
    let (_, id) = preview(&place, &["echo x > x"]);
    let own = env!("CARGO_BIN_EXE_chiton");
    let commit = format!("{own} preview commit {id}");
    let denied = chiton(&place, &["run", &commit]);
    assert!(text(&denied.stderr).contains("A person does that"), "{}", text(&denied.stderr));
    // Where the guard is off, the program itself refuses, and a sandbox does not even show it the preview.
    let refused = chiton(&place, &["run", "--guard", "off", &commit]);
    assert!(text(&refused.stderr).contains("inside a command of Chiton"), "{}", text(&refused.stderr));
    let hidden = format!("env -u CHITON {commit}");
    let refused = chiton(&place, &["run", "--guard", "off", "--sandbox", "work", &hidden]);
    assert!(text(&refused.stderr).contains("there is no preview"), "{}", text(&refused.stderr));
    assert_eq!(read(&place, "x"), None);
}

#[test]
fn what_cannot_be_previewed_says_why_and_runs_nothing() {
    let place = project();
    for (arguments, why) in [
        (&["run", "--preview", "--sandbox", "off", "echo x > x"][..], "a preview takes a sandbox"),
        (&["run", "--preview", "--background", "echo x > x"], "cannot be used with"),
        (&["call", "Bash", r#"{"command":"echo x > x","preview":true,"run_in_background":true}"#], "goes without"),
        (
            &["call", "--sandbox", "off", "Bash", r#"{"command":"echo x > x","preview":true}"#],
            "a preview takes a sandbox",
        ),
    ] {
        let output = chiton(&place, arguments);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains(why), "{arguments:?}: {said}");
        assert_eq!(read(&place, "x"), None, "{arguments:?}");
    }
    let called = text(&chiton(&place, &["call", "Bash", r#"{"command":"echo x > x","preview":true}"#]).stdout);
    assert!(called.contains("files that would be made 1 (x)"), "{called}");
    assert_eq!(read(&place, "x"), None);
}

/// What is in a tree: contents, modes and times.
fn manifest(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let data = fs::symlink_metadata(&path).unwrap();
        let content = if data.is_dir() { "folder".to_owned() } else { fs::read_to_string(&path).unwrap() };
        let time = (data.mtime(), data.mtime_nsec());
        all.insert(path.clone(), format!("{content} {:o} {time:?}", data.mode()));
        if data.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    all
}

#[test]
fn a_commit_that_is_killed_leaves_one_of_two_trees_once_it_is_finished_or_undone() {
    const ROUNDS: u64 = 24;
    let (mut half, mut whole) = (0, 0);
    for round in 0..ROUNDS {
        let place = project();
        let work = place.folder.path().join("project");
        for number in 0..40 {
            fs::create_dir_all(work.join(format!("d{number}"))).unwrap();
            fs::write(work.join(format!("d{number}/f")), format!("{number}\n")).unwrap();
        }
        let before = manifest(&work);
        let command =
            "for n in {0..39}; do echo more >> d$n/f; echo new > d$n/new; done; rm -r d1*; touch -d 2020-01-01 d2 d3";
        let (reply, id) = preview(&place, &[command]);
        assert_eq!(reply["exit_code"], 0, "{reply}");
        assert_eq!(manifest(&work), before);

        let progress = place.folder.path().join("state/chiton/previews").join(&id).join("progress");
        let mut commit = place.command();
        commit.current_dir(&work).args(["preview", "commit", &id]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = commit.spawn().unwrap();
        let steps = || fs::read(&progress).ok().and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        // At a later step in every round; where that never comes, it has ended by itself.
        while steps().is_none_or(|steps| steps < round * 5) {
            if child.try_wait().unwrap().is_some() {
                break;
            }
        }
        let _ = child.kill();
        child.wait().unwrap();

        let listed = text(&chiton(&place, &["preview", "list"]).stdout);
        let is_half = listed.contains("half committed");
        (half, whole) = if is_half { (half + 1, whole) } else { (half, whole + 1) };
        let logs = ChangeLogs::new(&place.folder.path().join("state/chiton"));
        if round % 2 == 0 {
            if !listed.contains(" committed ") || is_half {
                let finished = chiton(&place, &["preview", "commit", &id]);
                assert!(finished.status.success(), "{}", text(&finished.stderr));
            }
            assert_eq!(read(&place, "d0/f").as_deref(), Some("0\nmore\n"));
            let after = manifest(&work);
            let files = after.keys().filter(|path| path.is_file()).count();
            assert_eq!(files, 2 + 2 * 29, "{after:#?}");
            assert!((0..40).filter(|n| !n.to_string().starts_with('1')).all(|n| {
                read(&place, &format!("d{n}/new")).as_deref() == Some("new\n")
                    && read(&place, &format!("d{n}/f")) == Some(format!("{n}\nmore\n"))
            }));
            assert_eq!(fs::metadata(work.join("d2")).unwrap().mtime(), 1_577_836_800 - offset());
        }
        if logs.one(&id).is_ok() {
            let undone = logs.undo(&id, UndoOptions::default()).unwrap();
            assert!(undone.failed.is_empty() && undone.left_alone.is_empty(), "{undone:?}");
        }
        assert_eq!(manifest(&work), before, "round {round}");
    }
    assert!(half > 0, "{half} were killed half-way, {whole} were not");
}

/// How far the clock of this machine is from that of Greenwich, in the winter of 2020.
fn offset() -> i64 {
    let output = std::process::Command::new("date").args(["-d", "2020-01-01", "+%s"]).output().unwrap();
    1_577_836_800 - text(&output.stdout).trim().parse::<i64>().unwrap()
}
