//! Whoever is killed while something is undone, or while a command runs, leaves one of two trees within reach: that before the
//! command, and that after it. And what others have changed since is theirs.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use chiton_engine::changes::{ChangeLogs, ChangesError, UndoOptions};
use chiton_engine::sandbox::Without;
use chiton_testkit::dice::Dice;
use chiton_testkit::named;
use chiton_testkit::processes::eventually;
use chiton_testkit::trials::{Trial, passes};

use crate::harness::runtime;
use crate::undo::manifest::Manifest;
use crate::undo::place::{Place, said};

/// The variables that make this program undo something: the state directory, and the id.
const STATE: &str = "CHITON_TEST_UNDO_STATE";
const ID: &str = "CHITON_TEST_UNDO_ID";
/// How long anybody waits for what has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Undoes something where this program is started for that.
pub fn undo_if_asked() -> Option<ExitCode> {
    let (state, id) = (std::env::var_os(STATE)?, std::env::var(ID).ok()?);
    let done = ChangeLogs::new(Path::new(&state)).undo(&id, UndoOptions::default());
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub fn trials() -> Vec<Trial> {
    let tests = named![fn();
        stopped_after_any_step_it_goes_on_or_is_taken_back,
        killed_at_any_moment_it_goes_on_or_is_taken_back,
        what_a_keeper_wrote_down_before_it_was_killed_is_put_back,
        what_others_have_changed_since_is_left_alone_and_named,
        with_force_what_others_have_changed_is_put_back_too,
        what_two_commands_changed_is_undone_from_the_last_one_on,
        commands_at_once_do_not_lose_what_the_other_made,
        a_folder_with_something_of_others_in_it_stays,
        what_is_too_large_is_named_if_it_changed,
        what_was_moved_out_of_the_workspace_comes_back,
        without_a_watch_nothing_is_known,
        another_store_is_used_where_the_workspace_is_on_another_file_system];
    tests.map(|(name, check)| Trial::test(name, move || passes(check))).into()
}

/// Trees and what is done to them.
const DEEDS: &[(&str, &str)] = &[
    (
        "mkdir -p d/e; for n in 1 2 3; do echo $n > d/e/$n; done; ln d/e/1 d/l; ln -s e d/s; echo old > f; mkfifo p; chmod 640 f",
        "rm -r d/e; echo more >> f; mv f g; mkdir n; echo x > n/x; mv p n/; chmod 600 g; touch -d 2001-02-03 n",
    ),
    (
        "mkdir a b; echo 1 > a/1; echo 2 > b/2; echo big > big",
        "mv a c; mv b a; mv c b; echo 3 > a/3; printf x >> b/1; rm big; mkdir big; echo in > big/in; ln -s ../a big/l",
    ),
    (
        "seq 100 > f; ln f h; truncate -s 100k sparse; mkdir x; echo y > x/y",
        "sed -i s/1/one/ f; echo z >> h; truncate -s 10 sparse; cp -a x w; rm -r x; mv w x; echo new > x/new; mv x/y x/z",
    ),
];

fn logs_of(place: &Place) -> ChangeLogs {
    place.logs()
}

/// Does one deed in a folder of its own; gives its id and the two trees.
async fn done(place: &Place, name: &str, (before, deed): (&str, &str)) -> (String, Manifest, Manifest, PathBuf) {
    let tree = place.work().join(name);
    fs::create_dir(&tree).unwrap();
    place.succeed(&format!("( cd {name} && {before} )")).await;
    let was = Manifest::of(&tree);
    let report = place.succeed(&format!("( cd {name} && {deed} )")).await;
    (report.run_id, was, Manifest::of(&tree), tree)
}

fn assert_same(wanted: &Manifest, tree: &Path, what: &str) {
    let difference = wanted.difference(&Manifest::of(tree));
    assert!(difference.is_empty(), "{what}: {difference}");
}

fn stopped_after_any_step_it_goes_on_or_is_taken_back() {
    runtime().block_on(async {
        let place = Place::new();
        let logs = logs_of(&place);
        for (number, deed) in DEEDS.iter().enumerate() {
            let mut steps = 1;
            let mut step = 0;
            while step < steps {
                let what = format!("deed {number}, stopped after {step} of {steps} steps");
                let (id, was, is, tree) = done(&place, &format!("t{number}-{step}"), *deed).await;
                let options = UndoOptions { dry_run: true, ..UndoOptions::default() };
                steps = logs.undo(&id, options).unwrap().steps;
                assert_same(&is, &tree, &format!("{what}, looked at"));

                let stop = UndoOptions { stop_after: Some(step), ..UndoOptions::default() };
                logs.undo(&id, stop).unwrap_err();
                let half = logs.one(&id).unwrap().undoing.expect("it says by what it is being undone");
                match place.undo(&half) {
                    Ok(_) | Err(ChangesError::Unknown(_)) => {}
                    Err(error) => panic!("{what}: {error}"),
                }
                assert_same(&is, &tree, &format!("{what}, and taken back"));

                logs.undo(&id, stop).unwrap_err();
                let again = place.undo_whole(&id);
                assert_same(&was, &tree, &format!("{what}, and gone on with"));
                if let Some(again) = again {
                    place.undo_whole(&again);
                    assert_same(&is, &tree, &format!("{what}, gone on with, and taken back"));
                }
                step += 1;
            }
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "what undoes is a process of its own, so that it can be killed")]
fn killed_at_any_moment_it_goes_on_or_is_taken_back() {
    const ROUNDS: u64 = 24;
    let own = std::env::current_exe().unwrap();
    let place = Place::new();
    let mut killed = 0;
    for round in 0..ROUNDS {
        let before = "mkdir d; for n in $(seq 150); do echo $n > d/$n; echo $n > f$n; done";
        let deed = "rm -r d; for n in $(seq 150); do echo more >> f$n; mv f$n g$n; done; mkdir n; touch n/{1..100}";
        let name = format!("k{round}");
        let (id, was, is, tree) = runtime().block_on(done(&place, &name, (before, deed)));
        let mut command = Command::new(&own);
        command.env(STATE, place.state()).env(ID, &id).stdout(Stdio::null()).stderr(Stdio::null());
        let mut undoing = command.spawn().unwrap();
        thread::sleep(Duration::from_micros(500 * round));
        let _ = undoing.kill();
        killed += usize::from(undoing.wait().unwrap().signal() == Some(9));
        let log = place.logs().one(&id).unwrap();
        if log.undone.is_some() {
            assert_same(&was, &tree, "it was done before the kill");
        } else if let (Some(half), true) = (log.undoing, round % 2 == 0) {
            assert!(matches!(place.undo(&half), Ok(_) | Err(ChangesError::Unknown(_))));
            assert_same(&is, &tree, "taken back");
        } else {
            place.undo_whole(&id);
            assert_same(&was, &tree, "gone on with");
        }
        fs::remove_dir_all(&tree).unwrap();
    }
    assert!(killed > 0, "none was killed in time");
}

fn what_a_keeper_wrote_down_before_it_was_killed_is_put_back() {
    const ROUNDS: u64 = 12;
    let mut dice = Dice::new(7);
    for _ in 0..ROUNDS {
        runtime().block_on(async {
            let place = Place::new();
            place.succeed("for n in $(seq 300); do echo $n > old$n; echo $n > kept$n; echo $n > a$n; done").await;
            let was = place.manifest();
            let command = "echo $$ $PPID > ../scratch/new; mv ../scratch/new ../scratch/pids; for n in $(seq 300); do \
                           echo x > new$n; rm old$n; echo y >> kept$n; mv a$n b$n; done; sleep 100";
            let pause = Duration::from_micros(dice.roll(60_000) as u64);
            let scratch = place.root.join("scratch/pids");
            let killer = thread::spawn(move || {
                assert!(eventually(PATIENCE, || scratch.exists()), "the command did not start");
                thread::sleep(pause);
                let pids = fs::read_to_string(&scratch).unwrap();
                let [shell, keeper]: [i32; 2] =
                    pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>().try_into().unwrap();
                for pid in [keeper, shell] {
                    kill(pid);
                }
                // A program that it had started may live for a moment longer.
                assert!(eventually(PATIENCE, || !has_members(shell)), "something of the command is left");
            });
            let request = chiton_engine::CommandRequest::new(command);
            let ran = place
                .harness
                .engine
                .run(&place.session, request, &mut chiton_engine::Silent, &chiton_engine::RunControl::new())
                .await;
            killer.join().unwrap();
            let id = match ran {
                Ok(response) => response.ran().expect("it ran").run_id.clone(),
                Err(_) => place.logs().all()[0].id.clone(),
            };
            // The times of what was made anew are those of the kill; everything else is as it was.
            match place.undo(&id) {
                Ok(undone) => assert!(undone.failed.is_empty(), "{undone:?}"),
                Err(ChangesError::Unknown(_)) => {}
                Err(error) => panic!("{error}"),
            }
            assert_same(&was, &place.work(), "after the keeper was killed");
        });
    }
}

fn kill(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Whether any process of a session is left, killing those that are.
fn has_members(session: i32) -> bool {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_member = |pid: &i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut behind = text.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        let is_dead = behind.next().is_none_or(|state| state == "Z");
        !is_dead && behind.nth(2) == Some(&session.to_string())
    };
    let members: Vec<i32> = pids.filter(is_member).collect();
    for pid in &members {
        kill(*pid);
    }
    !members.is_empty()
}

const MANY: &str = "for n in 1 2 3 4; do echo $n > f$n; done; mkdir d; echo x > d/x";
const CHANGE_MANY: &str = "for n in 1 2 3 4; do echo more >> f$n; done; rm d/x; echo new > d/new; echo made > made";

fn what_others_have_changed_since_is_left_alone_and_named() {
    runtime().block_on(async {
        let place = Place::new();
        place.succeed(MANY).await;
        let id = place.succeed(CHANGE_MANY).await.run_id;
        let write = |name: &str, text: &str| fs::write(place.work().join(name), text).unwrap();
        write("f2", "a person's");
        fs::remove_file(place.work().join("f3")).unwrap();
        write("d/x", "made by a person");
        let undone = place.undo(&id).unwrap();
        let mut named: Vec<&str> = undone.left_alone.iter().map(|one| one.path.as_str()).collect();
        named.sort_unstable();
        assert_eq!(named, ["d/x", "f2", "f3"], "{undone:?}");
        assert!(undone.left_alone.iter().all(|one| one.why.contains("since")), "{undone:?}");
        let read = |name: &str| fs::read_to_string(place.work().join(name)).ok();
        assert_eq!(read("f1").as_deref(), Some("1\n"), "the others are put back");
        assert_eq!(read("f4").as_deref(), Some("4\n"));
        assert_eq!(read("f2").as_deref(), Some("a person's"));
        assert_eq!((read("f3"), read("made"), read("d/new")), (None, None, None));
        assert_eq!(read("d/x").as_deref(), Some("made by a person"));
    });
}

fn with_force_what_others_have_changed_is_put_back_too() {
    runtime().block_on(async {
        let place = Place::new();
        place.succeed(MANY).await;
        let was = place.manifest();
        let id = place.succeed(CHANGE_MANY).await.run_id;
        fs::write(place.work().join("f2"), "a person's").unwrap();
        fs::remove_file(place.work().join("f3")).unwrap();
        let half = place.undo(&id).unwrap();
        assert_eq!(half.left_alone.len(), 2, "{half:?}");
        let force = UndoOptions { force: true, ..UndoOptions::default() };
        let undone = place.logs().undo(&id, force).unwrap();
        assert!(undone.left_alone.is_empty() && undone.failed.is_empty(), "{undone:?}");
        // What a person removed comes back with its content; it cannot be the same file.
        let read = |name: &str| fs::read_to_string(place.work().join(name)).unwrap_or_default();
        assert_eq!((read("f2"), read("f1")), ("2\n".to_owned(), "1\n".to_owned()));
        assert!(was.0.contains_key(Path::new("f2")));
    });
}

fn what_two_commands_changed_is_undone_from_the_last_one_on() {
    runtime().block_on(async {
        let place = Place::new();
        place.succeed(MANY).await;
        let was = place.manifest();
        let first = place.succeed("echo a >> f1; echo a >> f2").await.run_id;
        let second = place.succeed("echo b >> f1; rm -r d; mv f4 f5").await.run_id;
        let partly = place.undo(&first).unwrap();
        assert_eq!(partly.left_alone.len(), 1, "{partly:?}");
        assert!(partly.left_alone[0].path == "f1" && partly.left_alone[0].why.contains(&second), "{partly:?}");
        place.undo_whole(&second);
        place.undo_whole(&first);
        assert_same(&was, &place.work(), "both undone");
        assert!(matches!(place.undo(&second), Err(ChangesError::Undone { .. })));
    });
}

fn commands_at_once_do_not_lose_what_the_other_made() {
    runtime().block_on(async {
        let place = Place::new();
        place.succeed(MANY).await;
        let one = place.run("for n in $(seq 60); do echo one >> f1; echo one > one$n; done");
        let other = place.run("for n in $(seq 60); do echo other >> f2; echo other > other$n; done; echo x >> f1");
        let (one, other) = tokio::join!(one, other);
        let undone = place.undo(&one.run_id).unwrap();
        assert_eq!(undone.left_alone.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["f1"], "{undone:?}");
        let count = |start: &str| {
            let names = fs::read_dir(place.work()).unwrap().flatten().map(|entry| entry.file_name());
            names.filter(|name| name.to_string_lossy().starts_with(start)).count()
        };
        assert_eq!((count("one"), count("other")), (0, 60), "{}", said(&other));
    });
}

fn a_folder_with_something_of_others_in_it_stays() {
    runtime().block_on(async {
        let place = Place::new();
        let id = place.succeed("mkdir -p made/deep; echo a > made/deep/a; echo b > made/b").await.run_id;
        fs::write(place.work().join("made/deep/mine"), "a person's").unwrap();
        let undone = place.undo(&id).unwrap();
        assert_eq!(undone.left_alone.len(), 1, "{undone:?}");
        assert!(undone.failed.is_empty(), "{undone:?}");
        let there = |name: &str| place.work().join(name).exists();
        assert!(there("made/deep/mine") && !there("made/deep/a") && !there("made/b"));
    });
}

fn what_is_too_large_is_named_if_it_changed() {
    runtime().block_on(async {
        let place = Place::new();
        place.succeed("truncate -s 200M big; truncate -s 200M opened; echo a > a").await;
        let report = place.succeed("printf x | dd of=big conv=notrunc status=none; : >> opened; echo b >> a").await;
        let changed = report.changed.clone().expect("it changed files");
        let lost: Vec<&str> = changed.not_kept.iter().map(|one| one.path.as_str()).collect();
        // Where the file system shares blocks between files, a copy costs nothing and nothing is too large.
        if !lost.is_empty() {
            assert_eq!(lost, ["big"], "{}", said(&report));
            let undone = place.undo(&report.run_id).unwrap();
            assert_eq!(undone.failed.len(), 1, "{undone:?}");
            assert!(undone.failed[0].path == "big" && undone.failed[0].why.contains("MiB"), "{undone:?}");
        }
        assert_eq!(fs::read_to_string(place.work().join("a")).unwrap(), if lost.is_empty() { "a\nb\n" } else { "a\n" });
    });
}

fn what_was_moved_out_of_the_workspace_comes_back() {
    runtime().block_on(async {
        for gone in
            ["mv d ../scratch/d", "mv d ../scratch/d; rm -r ../scratch/d", "mv d/x ../scratch/; rm ../scratch/x"]
        {
            let place = Place::new();
            place.succeed(MANY).await;
            let was = place.manifest();
            let id = place.succeed(gone).await.run_id;
            place.undo_whole(&id);
            assert_same(&was, &place.work(), gone);
        }
    });
}

fn without_a_watch_nothing_is_known() {
    runtime().block_on(async {
        let place = Place::with(Without { watch: true, ..Without::default() }, |_, _| {});
        let report = place.succeed("echo a > a").await;
        assert!(report.changed.is_none(), "{}", said(&report));
        let weaker = report.protection.sandbox.as_ref().map(|sandbox| sandbox.weaker.join("; ")).unwrap_or_default();
        assert!(weaker.contains("undo: off"), "{weaker}");
        assert!(matches!(place.undo(&report.run_id), Err(ChangesError::Unknown(_))));
    });
}

/// `/dev/shm` is a file system of its own wherever there is one.
fn another_store_is_used_where_the_workspace_is_on_another_file_system() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("left out: nobody may write to /dev/shm here");
        return;
    };
    runtime().block_on(async {
        let root = elsewhere.path().canonicalize().unwrap();
        let work = root.join("above/work");
        fs::create_dir_all(&work).unwrap();
        let place = Place::with(Without::default(), |config, _| {
            let policy = config.sandbox.as_mut().expect("there is a sandbox");
            policy.workspace = vec![work.clone()];
            policy.write = vec![work.clone()];
        });
        let session = place.harness.session_in(&work);
        place.harness.run(&session, "mkdir d; for n in 1 2 3; do echo $n > d/$n; done; echo a > a").await;
        let was = Manifest::of(&work);
        let report = place.harness.run(&session, "rm -r d; echo b >> a; mkdir e; echo e > e/e").await;
        let is = Manifest::of(&work);
        let again = place.undo_whole(&report.run_id).expect("it can be undone again");
        assert_same(&was, &work, "undone");
        place.undo_whole(&again);
        assert_same(&is, &work, "undone again");

        // What is kept there is for the sweep to remove, which comes a day later.
        let own = Path::new("/dev/shm").join(format!(".chiton-{}", rustix::process::geteuid().as_raw()));
        for log in place.logs().all() {
            assert!(own.join(&log.id).exists() || log.undone.is_some(), "{} is not kept there", log.id);
            let _ = fs::remove_dir_all(own.join(&log.id));
        }
        let _ = fs::remove_dir(own);
    });
}
