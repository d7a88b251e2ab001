//! What cannot be kept is named, wherever it is to be kept, and the command goes on.
//!
//! Other file systems are mounted in a namespace of their own, by a process that this one starts: where that cannot be done,
//! those rows are left out, and said to be.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use chiton_engine::sandbox::Without;
use chiton_testkit::trials::{Trial, passes};

use crate::harness::runtime;
use crate::undo::place::{Place, said};

/// A file that is almost nothing but a hole.
fn large(place: &Place, name: &str, bytes: u64) {
    let file = fs::File::create(place.work().join(name)).unwrap();
    file.set_len(bytes).unwrap();
    file.write_all_at(b"old", bytes / 2).unwrap();
}

/// Whether files can share blocks here: nothing is too large then.
fn shares_blocks(place: &Place) -> bool {
    let (one, other) = (place.work().join("one"), place.work().join("other"));
    fs::write(&one, "x").unwrap();
    let (from, to) = (fs::File::open(&one).unwrap(), fs::File::create(&other).unwrap());
    let shares = rustix::fs::ioctl_ficlone(&to, &from).is_ok();
    fs::remove_file(one).unwrap();
    fs::remove_file(other).unwrap();
    shares
}

fn a_large_file_that_is_written_to_is_named_and_one_that_is_only_opened_is_not() {
    let place = Place::new();
    if shares_blocks(&place) {
        return;
    }
    for name in ["written", "opened"] {
        large(&place, name, 200 << 20);
    }
    fs::write(place.work().join("small"), "old").unwrap();
    let report = runtime()
        .block_on(place.succeed(": >> opened; printf new | dd of=written conv=notrunc status=none; echo new > small"));
    let changed = report.changed.clone().expect("something has changed");
    let lost: Vec<String> = changed.not_kept.iter().map(|lost| format!("{}: {}", lost.path, lost.why)).collect();
    assert_eq!(lost, ["written: 200.0 MiB are too much to copy"], "{}", said(&report));
    assert_eq!(changed.names.changed, ["small", "written"]);

    let undone = place.undo(&report.run_id).unwrap();
    let failed: Vec<&str> = undone.failed.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(failed, ["written"]);
    assert_eq!(fs::read_to_string(place.work().join("small")).unwrap(), "old");
}

fn a_large_file_that_is_removed_comes_back() {
    let place = Place::new();
    large(&place, "large", 200 << 20);
    let before = place.manifest();
    let report = runtime().block_on(place.succeed("rm large; echo new > large"));
    assert_eq!(report.changed.clone().unwrap().not_kept, [], "{}", said(&report));
    place.undo_whole(&report.run_id);
    let difference = before.difference(&place.manifest());
    assert!(difference.is_empty(), "{difference}");
}

fn what_is_more_than_all_that_is_kept_is_named() {
    let place = Place::new();
    large(&place, "huge", 5 << 30);
    fs::write(place.work().join("small"), "old").unwrap();
    let report = runtime().block_on(place.succeed("rm huge small"));
    let changed = report.changed.clone().expect("something has changed");
    let lost: Vec<String> = changed.not_kept.iter().map(|lost| format!("{}: {}", lost.path, lost.why)).collect();
    assert_eq!(lost, ["huge: with it, more than 4.0 GiB would be kept"], "{}", said(&report));
    let undone = place.undo(&report.run_id).unwrap();
    assert_eq!(undone.failed.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["huge"]);
    assert_eq!(fs::read_to_string(place.work().join("small")).unwrap(), "old");
}

/// Whether two places are on different file systems.
fn differ(one: &Path, other: &Path) -> bool {
    fs::metadata(one).unwrap().dev() != fs::metadata(other).unwrap().dev()
}

/// A workspace in this folder, and the state of its engine somewhere else.
fn place_in(folder: &Path) -> Place {
    Place::at(folder.canonicalize().unwrap(), Without::default(), |_, _| {})
}

/// Something of every kind, changed in every way.
const DEEDS: &str = "cd tree; rm -r d; echo new > a; mv b moved; ln hard again; rm hard; chmod 600 c; rm to-a; echo more >> hard-too; \
    mkdir new; mv sparse new/; rm pipe";

fn comes_back_and_goes_again(place: &Place) {
    let tree = place.work().join("tree");
    fs::create_dir(&tree).unwrap();
    crate::undo::paths::plant(&tree, &mut chiton_testkit::dice::Dice::new(3));
    let before = place.manifest();
    let report = runtime().block_on(place.succeed(&format!("({DEEDS})")));
    let after = place.manifest();
    let mut id = report.run_id.clone();
    for wanted in [&before, &after, &before] {
        id = place.undo_whole(&id).expect("something was done");
        let difference = wanted.difference(&place.manifest());
        assert!(difference.is_empty(), "{difference}\n{}", said(&report));
    }
}

/// The workspace is on another file system than the state: what goes is kept beside the workspace.
fn a_workspace_on_another_file_system_is_kept_beside_it(mounted: &Path) {
    let folder = mounted.join("folder");
    fs::create_dir(&folder).unwrap();
    let place = place_in(&folder);
    assert!(differ(&place.work(), &place.state()));
    comes_back_and_goes_again(&place);
    let near = format!(".chiton-{}", rustix::process::geteuid().as_raw());
    assert!(mounted.join(near).exists(), "what is kept is there");
}

/// There is no room beside the workspace, since it is all of its file system: everything is copied.
fn a_workspace_that_is_a_file_system_of_its_own_is_kept_by_copies(mounted: &Path) {
    let place = Place::at_work(mounted.canonicalize().unwrap());
    assert!(differ(&place.work(), &place.state()));
    comes_back_and_goes_again(&place);
}

fn a_command_goes_on_where_no_room_is_left_and_the_reply_says_so(mounted: &Path) {
    let place = Place::with(Without::default(), |config, _| config.state_directory = mounted.join("state"));
    for number in 0..40 {
        fs::write(place.work().join(format!("f{number}")), vec![b'x'; 100 << 10]).unwrap();
    }
    fs::write(place.work().join("last"), "old").unwrap();
    let name = "a-rather-long-name-of-a-new-file-".repeat(4);
    let command =
        format!("for f in f*; do echo new > $f; done; for n in {{1..2000}}; do : > {name}$n; done; rm last; echo done");
    let report = runtime().block_on(async {
        place.succeed("true").await;
        // All but a little of the room.
        let room = rustix::fs::statvfs(mounted).unwrap();
        let left = room.f_bavail * room.f_frsize;
        fs::write(mounted.join("ballast"), vec![0; usize::try_from(left).unwrap() - (150 << 10)]).unwrap();
        place.succeed(&command).await
    });
    assert!(report.stdout.to_text().ends_with("done\n"), "{}", said(&report));
    assert_eq!(fs::read_to_string(place.work().join("f39")).unwrap(), "new\n");
    let changed = report.changed.clone().expect("something has changed");
    let why: Vec<&str> = changed.not_kept.iter().map(|lost| lost.why.as_str()).collect();
    assert!(why.iter().any(|why| why.contains("No space left")), "{}", said(&report));

    // What is kept is on the file system of the workspace, which is not ours alone.
    let kept = fs::read_link(place.state().join("changes").join(&report.run_id).join("kept")).unwrap();
    fs::remove_dir_all(&kept).unwrap();
    let _ = fs::remove_dir(kept.parent().unwrap());
}

type Inside = fn(&Path);

/// What needs a file system of its own, how large that is, and a name.
const INSIDE: &[(&str, &str, Inside)] = &[
    (
        "a workspace on another file system is kept beside it",
        "64m",
        a_workspace_on_another_file_system_is_kept_beside_it,
    ),
    (
        "a workspace that is a file system of its own is kept by copies",
        "64m",
        a_workspace_that_is_a_file_system_of_its_own_is_kept_by_copies,
    ),
    (
        "a command goes on where no room is left and the reply says so",
        "4m",
        a_command_goes_on_where_no_room_is_left_and_the_reply_says_so,
    ),
];

const INSIDE_WORD: &str = "inside";

#[expect(clippy::disallowed_methods, reason = "a namespace of mounts for the test itself")]
fn unshared(words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).args(words).stdin(Stdio::null());
    command
}

fn can_mount() -> bool {
    let try_it = unshared(&["mount", "-t", "tmpfs", "none", "/mnt"]).stderr(Stdio::null()).status();
    rustix::process::geteuid().is_root() && try_it.is_ok_and(|status| status.success())
}

fn run_inside(row: usize, size: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o \"size=$1\" none \"$2\" && exec \"$3\" \"$4\" \"$5\" \"$2\"";
    let program = std::env::current_exe().unwrap();
    let row = row.to_string();
    let words =
        ["sh", "-c", script, "sh", size, folder.path().to_str().unwrap(), program.to_str().unwrap(), INSIDE_WORD, &row];
    let output = unshared(&words).output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Tries a row where this program is started for that, inside of a namespace.
pub fn try_if_asked() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [word, row, folder] = &words[..] else { return None };
    if word != INSIDE_WORD {
        return None;
    }
    let (_, _, run) = INSIDE[row.parse::<usize>().unwrap()];
    run(&PathBuf::from(folder));
    Some(ExitCode::SUCCESS)
}

pub fn trials() -> Vec<Trial> {
    let rows: [(&str, fn()); 3] = [
        (
            "a large file that is written to is named and one that is only opened is not",
            a_large_file_that_is_written_to_is_named_and_one_that_is_only_opened_is_not,
        ),
        ("a large file that is removed comes back", a_large_file_that_is_removed_comes_back),
        ("what is more than all that is kept is named", what_is_more_than_all_that_is_kept_is_named),
    ];
    let mut trials: Vec<Trial> = rows.map(|(name, run)| Trial::test(name, move || passes(run))).into();
    let can_mount = can_mount();
    for (row, (name, size, _)) in INSIDE.iter().enumerate() {
        let trial = Trial::test(*name, move || run_inside(row, size).map_err(Into::into));
        trials.push(if can_mount { trial } else { trial.with_kind("needs a mount").with_ignored_flag(true) });
    }
    trials
}
