//! A command can be tried first: nothing changes until somebody commits it, and then everything does.
#![expect(clippy::disallowed_methods, reason = "plain bash is what previews are compared with")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use chiton_engine::changes::{ChangeLogs, UndoOptions};
use chiton_engine::preview::{CommitOptions, Committed, CommittedState, PreviewError, PreviewStatus, Previews};
use chiton_engine::sandbox::Without;
use chiton_engine::sandbox::policy::SandboxPolicy;
use chiton_engine::{CommandRequest, Outcome, PreviewMode, RunControl, RunReport, Session, Silent, StateReport};

use crate::harness::{Harness, enclosed, runtime};

/// A workspace, a cache beside it, and a sandbox for both.
struct Place {
    harness: Harness,
    session: Session,
    _folder: tempfile::TempDir,
    root: PathBuf,
}

fn policy(root: &Path) -> SandboxPolicy {
    SandboxPolicy {
        write: vec![root.join("work"), root.join("cache"), PathBuf::from("/tmp"), PathBuf::from("/dev/shm")],
        temporary: vec![PathBuf::from("/tmp"), PathBuf::from("/dev/shm")],
        caches: vec![root.join("cache")],
        hide: vec![root.join("secret"), root.join("work/hidden")],
        keep: vec![root.join("work/.git/hooks")],
        ..enclosed(&root.join("work"))
    }
}

fn place_with(fill: impl FnOnce(&Path), adjust: impl FnOnce(&mut SandboxPolicy), without: Without) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for path in ["work", "cache", "secret", "outside"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join("secret/id"), "hidden").unwrap();
    fill(&root.join("work"));
    let mut policy = policy(&root);
    adjust(&mut policy);
    let harness = Harness::with(|config| {
        config.sandbox = Some(policy);
        config.sandbox_without = without;
    });
    let session = harness.session_in(&root.join("work"));
    Place { harness, session, _folder: folder, root }
}

fn place(fill: impl FnOnce(&Path)) -> Place {
    place_with(fill, |_| {}, Without::default())
}

/// A few files of every kind.
fn usual(work: &Path) {
    script(
        work,
        "mkdir -p sub/deep gone .git/hooks empty hidden; echo one > file; echo two > sub/two; echo three > sub/deep/three; \
         echo g > gone/a; mkdir gone/b; echo g > gone/b/c; ln -s file link; ln file hard; chmod 640 sub/two; \
         mkfifo pipe; printf '#!/bin/sh\\necho x\\n' > run.sh; chmod +x run.sh; head -c 300000 /dev/zero > big; \
         touch -d 2001-02-03 file sub/two sub big; echo h > hidden/secret",
    );
}

/// Runs a script by plain bash.
fn script(directory: &Path, text: &str) {
    let done = Command::new("bash").args(["-c", text]).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{text}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Everything there is to know about a tree: by path, the content, mode, owner, time, attributes and links of each.
fn manifest(root: &Path) -> BTreeMap<String, String> {
    fn add(root: &Path, path: &Path, links: &mut BTreeMap<u64, String>, all: &mut BTreeMap<String, String>) {
        let data = fs::symlink_metadata(path).unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let content = if data.is_dir() {
            "folder".to_owned()
        } else if data.is_symlink() {
            format!("-> {}", fs::read_link(path).unwrap().display())
        } else if data.is_file() {
            let bytes = fs::read(path).unwrap();
            format!(
                "{} bytes {:016x}",
                bytes.len(),
                bytes.iter().fold(0u64, |sum, byte| sum.rotate_left(5) ^ u64::from(*byte))
            )
        } else {
            format!("special {}", data.rdev())
        };
        let linked = if data.is_dir() || data.nlink() == 1 {
            String::new()
        } else {
            format!(" = {}", links.entry(data.ino()).or_insert_with(|| name.clone()))
        };
        let attributes = attributes(path);
        let text = format!(
            "{content} {:o} {}:{} {}.{:09}{linked}{attributes}",
            data.mode(),
            data.uid(),
            data.gid(),
            data.mtime(),
            data.mtime_nsec(),
        );
        all.insert(name, text);
        if data.is_dir() {
            let mut entries: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
            entries.sort();
            for entry in &entries {
                add(root, entry, links, all);
            }
        }
    }
    let mut all = BTreeMap::new();
    add(root, root, &mut BTreeMap::new(), &mut all);
    all
}

fn attributes(path: &Path) -> String {
    let mut names = vec![0; 4096];
    let count = rustix::fs::llistxattr(path, &mut names).unwrap_or(0);
    String::from_utf8_lossy(&names[..count]).replace('\0', " ")
}

/// Two trees are the same, but for what git writes down of the files that it has seen.
fn assert_same(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>, name: &str) {
    let paths: BTreeSet<&String> =
        one.keys().chain(other.keys()).filter(|path| !path.ends_with(".git/index")).collect();
    let differ: Vec<_> = paths.into_iter().filter(|path| one.get(*path) != other.get(*path)).collect();
    let shown: Vec<_> = differ.iter().map(|path| (path, one.get(*path), other.get(*path))).collect();
    assert!(differ.is_empty(), "{name}: {shown:#?}");
}

/// The same without times that are later than `since`: two runs happen at two times.
fn timeless(manifest: &BTreeMap<String, String>, before: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let recent = fs::metadata("/proc/self").unwrap().mtime() - 600;
    let plain = |(name, text): (&String, &String)| {
        let words: Vec<String> = text
            .split(' ')
            .map(|word| match word.split_once('.').and_then(|(seconds, _)| seconds.parse::<i64>().ok()) {
                Some(seconds) if seconds > recent => {
                    let same = before.get(name).is_some_and(|before| before.contains(word));
                    if same { "as before".to_owned() } else { "just now".to_owned() }
                }
                _ => word.to_owned(),
            })
            .collect();
        (name.clone(), words.join(" "))
    };
    manifest.iter().map(plain).collect()
}

impl Place {
    fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    fn state(&self) -> PathBuf {
        self.harness.folder.path().join("state")
    }

    fn previews(&self) -> Previews {
        Previews::new(&self.state())
    }

    async fn run(&self, command: &str) -> RunReport {
        self.harness.run(&self.session, command).await
    }

    async fn preview(&self, command: &str) -> RunReport {
        let mut request = CommandRequest::new(command);
        request.preview = PreviewMode::On;
        self.harness.request(&self.session, request).await
    }

    async fn refused(&self, command: &str) -> String {
        let mut request = CommandRequest::new(command);
        request.preview = PreviewMode::On;
        let answer = self.harness.engine.run(&self.session, request, &mut Silent, &RunControl::new()).await;
        answer.map(|response| response.word()).unwrap_err().to_string()
    }

    fn commit(&self, id: &str, options: CommitOptions) -> Result<Committed, PreviewError> {
        self.previews().commit(id, options, &mut |_| CommittedState::Committed)
    }

    /// Nothing of any preview is left on the disk.
    fn assert_nothing_left(&self) {
        assert!(self.previews().all().is_empty());
        let folder = self.state().join("changes/previews");
        let left: Vec<_> = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn id(report: &RunReport) -> String {
    let changed = report.changed.as_ref().unwrap_or_else(|| panic!("{}", said(report)));
    changed.preview.clone().unwrap()
}

fn said(report: &RunReport) -> String {
    let (out, err) = (report.stdout.to_text(), report.stderr.to_text());
    format!("{:?} {out}{err} {:?} {:?} {:?}", report.outcome, report.refused, report.notices, report.changed)
}

#[test]
fn a_preview_tells_what_would_change_and_changes_nothing() {
    runtime().block_on(async {
        let place = place(usual);
        let before = manifest(&place.work());
        let report = place
            .preview(
                "echo new > new; echo more >> file; rm -r gone; mkdir -p made/in; echo x > made/in/x; chmod 600 sub/two; \
                 touch big; cat file; : >> sub/deep/three; cat hidden/secret; echo y > /tmp/of-a-preview; cat /tmp/of-a-preview",
            )
            .await;
        assert_eq!(report.stdout.to_text(), "one\nmore\ny\n", "{}", said(&report));
        let changed = report.changed.clone().unwrap();
        assert_eq!((changed.made, changed.changed, changed.removed), (2, 3, 2), "{}", said(&report));
        assert_eq!(changed.names.made, ["made/in/x", "new"]);
        assert_eq!(changed.names.changed, ["big", "file", "sub/two"]);
        assert_eq!(changed.names.removed, ["gone/a", "gone/b/c"]);
        assert!(report.notices.iter().any(|notice| notice.contains("chiton preview commit")), "{}", said(&report));
        assert!(report.refused.is_empty(), "{}", said(&report));
        assert_eq!(manifest(&place.work()), before);
        assert!(!Path::new("/tmp/of-a-preview").exists());
        place.previews().drop(&id(&report)).unwrap();
        assert_eq!(manifest(&place.work()), before);
        place.assert_nothing_left();
    });
}

#[test]
fn a_preview_that_is_committed_is_as_if_the_command_had_run() {
    runtime().block_on(async {
        for (name, command) in COMMANDS {
            let (tried, plain) = (place(usual), place(usual));
            let before = (manifest(&tried.work()), manifest(&plain.work()));
            let plainly = plain.run(command).await;
            let report = tried.preview(command).await;
            assert_eq!(manifest(&tried.work()), before.0, "{name}: {}", said(&report));
            assert_eq!(report.outcome, plainly.outcome, "{name}: {} {}", said(&report), said(&plainly));
            assert_eq!(report.stdout.to_text(), plainly.stdout.to_text(), "{name}");
            let id = id(&report);
            let committed = tried.commit(&id, CommitOptions::default());
            let committed = committed.unwrap_or_else(|error| panic!("{name}: {error}"));
            let after = (manifest(&tried.work()), manifest(&plain.work()));
            assert_same(&timeless(&after.0, &before.0), &timeless(&after.1, &before.1), name);
            let (told, done) = (report.changed.unwrap(), committed.changed);
            assert_eq!(told.removed, done.removed, "{name}");

            let logs = ChangeLogs::new(&tried.state());
            logs.undo(&id, UndoOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
            // What is closed to its owner stays where it is for anybody but root.
            if *name != "read-only folder" || rustix::process::geteuid().is_root() {
                assert_same(&manifest(&tried.work()), &before.0, &format!("{name}: undone"));
            }
            tried.previews().drop(&id).unwrap();
            tried.assert_nothing_left();
        }
    });
}

/// Ordinary work. What a preview does differently is left out, and written down in docs/preview.md: hard links to a file
/// that is written to, and times of what `mv` copies.
const COMMANDS: &[(&str, &str)] = &[
    ("write", "echo a > new; echo b >> run.sh; : > sub/two"),
    ("sed", "sed -i s/three/3/ sub/deep/three"),
    ("remove", "rm -rf gone link pipe"),
    ("replace a folder", "rm -r gone; mkdir gone; echo n > gone/a; echo n > gone/new"),
    ("replace a folder by a file", "rm -r gone; echo n > gone"),
    ("replace a file by a folder", "rm file hard; mkdir file; echo n > file/x"),
    ("links", "ln -s nowhere dangling; ln -sfn sub link; echo x > a; ln a b; ln a sub/c"),
    ("modes", "chmod 755 big; chmod 700 sub; chmod 444 sub/two; chmod 1777 empty"),
    ("times", "touch -d 2010-11-12 sub big sub/deep/three; touch -h -d 2011-01-01 link"),
    ("move files", "mv big sub/large; mv sub/two two; mv run.sh go.sh"),
    ("move a new folder", "mkdir -p n/m; echo 1 > n/m/1; mv n sub/n; mkdir o; mv sub/n o"),
    ("exchange", "mv big t; mv run.sh big; mv t run.sh"),
    (
        "tar",
        "tar cf all.tar --exclude=hidden --exclude=all.tar . && mkdir out && tar xf all.tar -C out ./sub ./link && rm all.tar",
    ),
    ("make", "printf 'all: x.o\\nx.o: sub/two\\n\\tcp sub/two x.o\\n' > Makefile; make -s; make -s"),
    (
        "git",
        "export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z; mkdir repo; cd repo; git init -q .; git config user.email a@b; git config user.name a; echo 1 > f; git add f; \
             git commit -qm one; git checkout -qb other; echo 2 > f; git commit -qam two; \
             git checkout -q -; git log --format=%s",
    ),
    (
        "sqlite",
        "if command -v sqlite3 > /dev/null; then sqlite3 data.db 'create table t(a); insert into t values (1)'; fi; echo x > y",
    ),
    ("names", "touch 'a b' $'c\\nd' 'e:f,g' '*' -- -h; mkdir -p \"$(printf 'd%.0s' {1..200})\""),
    (
        "truncate",
        "truncate -s 10 big; truncate -s 1M sparse; dd if=/dev/zero of=big bs=1 count=1 seek=5 conv=notrunc status=none",
    ),
    ("read-only folder", "mkdir ro; echo x > ro/x; chmod 555 ro; chmod 500 sub/deep"),
    ("pipes", "mkfifo sub/p; rm pipe; mkfifo pipe"),
    ("here", "rm -rf ./sub ./gone ./empty file hard link big run.sh pipe; echo only > left"),
];

/// What can be at a place, and how it comes to be there. `$n` is the place.
const KINDS: &[(&str, &str)] = &[
    ("nothing", ":"),
    ("file", "echo file > $n"),
    ("other-file", "echo another > $n; chmod 600 $n"),
    ("empty-folder", "mkdir $n"),
    ("folder", "mkdir -p $n/sub; echo x > $n/sub/x; echo y > $n/y"),
    ("other-folder", "mkdir -p $n/sub; echo z > $n/sub/z; mkdir $n/y"),
    ("link", "ln -s nowhere $n"),
    ("link-to-a-folder", "ln -s ../target $n"),
    ("pipe", "mkfifo $n"),
    ("socket", "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $n"),
];

#[test]
fn everything_takes_the_place_of_everything_else() {
    let pairs = || KINDS.iter().flat_map(|one| KINDS.iter().map(move |other| (one, other)));
    let each = |what: &dyn Fn(&str, &str) -> String| -> String {
        let line =
            |((from, old), (to, new)): (&(&str, &str), &(&str, &str))| format!("n={from}-{to}; {}", what(old, new));
        pairs().map(line).collect::<Vec<_>>().join("\n")
    };
    let before = each(&|old, _| old.to_owned());
    // By `rm` and what makes the other one, and by a rename of what was made beside it.
    let ways = [
        ("removed", each(&|_, new| format!("rm -rf $n; {new}"))),
        ("made for a moment", each(&|_, new| format!("rm -rf $n; touch $n; sync $n; rm $n; {new}"))),
        (
            "renamed",
            each(&|_, new| {
                format!("n=new.$n; {new}; n=${{n#new.}}; rm -rf $n; [ -e new.$n -o -L new.$n ] && mv new.$n $n")
            }),
        ),
    ];
    let fill = |work: &Path| {
        fs::create_dir_all(work.join("in")).unwrap();
        fs::create_dir_all(work.join("target")).unwrap();
        script(&work.join("in"), &before);
    };
    runtime().block_on(async {
        for (name, way) in &ways {
            let command = format!("cd in; {way}\n:");
            let (tried, plain) = (place(fill), place(fill));
            let before = (manifest(&tried.work()), manifest(&plain.work()));
            let plainly = plain.run(&command).await;
            assert_eq!(plainly.outcome, Outcome::Exited(0), "{name}: {}", said(&plainly));
            let report = tried.preview(&command).await;
            assert_eq!(
                (&report.outcome, report.stderr.to_text()),
                (&plainly.outcome, plainly.stderr.to_text()),
                "{name}"
            );
            assert_same(&manifest(&tried.work()), &before.0, name);
            let id = id(&report);
            tried.commit(&id, CommitOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let after = (manifest(&tried.work()), manifest(&plain.work()));
            assert_same(&timeless(&after.0, &before.0), &timeless(&after.1, &before.1), name);
            let logs = ChangeLogs::new(&tried.state());
            logs.undo(&id, UndoOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_same(&manifest(&tried.work()), &before.0, &format!("{name}: undone"));
        }
    });
}

#[test]
fn what_others_have_changed_since_is_refused_and_named() {
    runtime().block_on(async {
        for (name, command, meanwhile, path, why) in CONFLICTS {
            let place = place(usual);
            let report = place.preview(command).await;
            let id = id(&report);
            script(&place.work(), meanwhile);
            let before = manifest(&place.work());
            let error = place.commit(&id, CommitOptions::default()).unwrap_err();
            let PreviewError::Conflicts { conflicts, .. } = &error else { panic!("{name}: {error}") };
            let found: Vec<(String, &str)> = conflicts
                .iter()
                .map(|it| (it.path.strip_prefix(place.work()).unwrap().display().to_string(), it.why.as_str()))
                .collect();
            assert!(found.iter().any(|(at, said)| at == path && said.contains(why)), "{name}: {found:?}");
            assert!(error.to_string().contains(path), "{name}: {error}");
            assert_same(&manifest(&place.work()), &before, name);
            assert_eq!(place.previews().one(&id).unwrap().conflicts, *conflicts, "{name}");

            // A person may want it all the same, and undo it.
            place.commit(&id, CommitOptions { force: true, ..CommitOptions::default() }).unwrap();
            assert_ne!(manifest(&place.work()), before, "{name}");
            ChangeLogs::new(&place.state()).undo(&id, UndoOptions::default()).unwrap();
            assert_same(&manifest(&place.work()), &before, &format!("{name}: undone"));
        }
    });
}

const CONFLICTS: &[(&str, &str, &str, &str, &str)] = &[
    ("changed and changed", "echo a >> sub/two", "echo b >> sub/two", "sub/two", "changed since"),
    ("changed and removed", "echo a >> sub/two", "rm sub/two", "sub/two", "removed since"),
    ("replaced and removed", "sed -i s/o/0/ sub/two", "rm sub/two", "sub/two", "removed since"),
    ("changed and replaced", "echo a >> sub/two", "echo n > n; mv n sub/two", "sub/two", "changed since"),
    ("changed, and its mode changed", "echo a >> sub/two", "chmod 666 sub/two", "sub/two", "changed since"),
    ("removed and changed", "rm big", "echo b >> big", "big", "changed since"),
    ("made and made", "echo a > new", "echo b > new", "new", "made since"),
    ("made, and a folder made", "echo a > new", "mkdir new", "new", "since"),
    ("a folder made, and a file made", "mkdir new; echo a > new/a", "echo b > new", "new", "since"),
    ("a folder removed, and made in", "rm -r gone", "echo b > gone/b/new", "gone/b/new", "changed since"),
    ("a folder removed, and changed in", "rm -r gone", "echo b >> gone/b/c", "gone/b/c", "changed since"),
    ("a folder removed, and removed in", "rm -r gone", "rm gone/b/c", "gone/b", "removed or changed since"),
    (
        "a folder replaced, and made in",
        "rm -r gone; mkdir gone; echo n > gone/n",
        "echo b > gone/new",
        "gone/new",
        "since",
    ),
    ("a mode changed, and changed", "chmod 700 sub", "chmod 711 sub", "sub", "since"),
    ("made in a folder that is removed", "echo a > sub/deep/new", "rm -r sub/deep", "sub/deep", "removed since"),
    ("made in a folder that is a link now", "echo a > empty/new", "rmdir empty; ln -s /etc empty", "empty", "since"),
    ("a link changed, and changed", "ln -sfn sub link", "ln -sfn gone link", "link", "changed since"),
];

#[test]
fn what_others_have_changed_elsewhere_is_no_conflict() {
    runtime().block_on(async {
        let place = place(usual);
        let report = place.preview("echo a > sub/new; rm big; echo b >> run.sh").await;
        script(&place.work(), "echo x > sub/other; echo y >> sub/two; mkdir fresh; echo z > file");
        place.commit(&id(&report), CommitOptions::default()).unwrap();
        let read = |path: &str| fs::read_to_string(place.work().join(path)).unwrap();
        assert_eq!((read("sub/new"), read("sub/other"), read("file")), ("a\n".into(), "x\n".into(), "z\n".into()));
        assert!(!place.work().join("big").exists());
    });
}

#[test]
fn a_commit_that_was_killed_is_finished_or_undone_from_every_step() {
    let command = "rm -r gone big; mkdir -p n/m; echo 1 > n/m/1; echo 2 >> run.sh; sed -i s/two/2/ sub/two; chmod 700 sub; \
                   rm file hard; mkdir file; echo x > file/x; ln -sfn sub link; touch -d 2010-01-01 sub/deep; echo a > a; ln a b";
    runtime().block_on(async {
        for finishes in [true, false] {
            for stop_after in 0.. {
                let place = place(usual);
                let before = manifest(&place.work());
                let report = place.preview(command).await;
                let id = id(&report);
                let options = CommitOptions { stop_after: Some(stop_after), ..CommitOptions::default() };
                let stopped = place.commit(&id, options);
                let is_whole = stopped.is_ok();
                if !is_whole {
                    assert!(matches!(stopped, Err(PreviewError::Interrupted { .. })), "{stopped:?}");
                    let status = place.previews().one(&id).unwrap().status;
                    let PreviewStatus::HalfCommitted { done, .. } = status else { panic!("{status:?}") };
                    assert_eq!(done, stop_after);
                    assert!(matches!(place.previews().drop(&id), Err(PreviewError::HalfCommitted(_))));
                }
                if finishes {
                    if !is_whole {
                        place.commit(&id, CommitOptions::default()).unwrap();
                    }
                    assert!(place.work().join("file/x").exists() && !place.work().join("gone").exists());
                    let whole = timeless(&manifest(&place.work()), &before);
                    let other = self::place(usual);
                    let other_before = manifest(&other.work());
                    let ran = other.run(command).await;
                    assert_eq!(ran.outcome, Outcome::Exited(0), "{}", said(&ran));
                    assert_same(&whole, &timeless(&manifest(&other.work()), &other_before), &format!("{stop_after}"));
                    // What is half finished can be taken back as a whole, too.
                }
                // Without one step taken there is nothing to undo.
                match ChangeLogs::new(&place.state()).undo(&id, UndoOptions::default()) {
                    Ok(undone) => assert!(undone.failed.is_empty() && undone.left_alone.is_empty(), "{undone:?}"),
                    Err(error) => assert_eq!(stop_after, 0, "{error}"),
                }
                assert_same(&manifest(&place.work()), &before, &format!("undone after {stop_after} steps"));
                if !finishes && !is_whole && stop_after > 0 {
                    let again = place.commit(&id, CommitOptions::default()).unwrap_err();
                    assert!(matches!(again, PreviewError::Undone(_)), "{again}");
                    assert_same(&manifest(&place.work()), &before, "an undone one stays undone");
                    place.previews().drop(&id).unwrap();
                    place.assert_nothing_left();
                }
                if is_whole {
                    assert!(stop_after > 10, "{stop_after} steps");
                    break;
                }
            }
        }
    });
}

#[test]
fn random_work_is_the_same_by_preview_and_commit() {
    const SEQUENCES: u64 = 40;
    runtime().block_on(async {
        let (tried, plain) = (place(usual), place(usual));
        for seed in 1..=SEQUENCES {
            let command = random_work(seed);
            let before = (manifest(&tried.work()), manifest(&plain.work()));
            let plainly = plain.run(&command).await;
            let report = tried.preview(&command).await;
            assert_eq!(report.outcome, plainly.outcome, "{seed}: {command} {}", said(&report));
            assert_same(&manifest(&tried.work()), &before.0, &format!("{seed}: {command}"));
            if let Some(id) = report.changed.as_ref().and_then(|changed| changed.preview.clone()) {
                if seed % 4 == 0 {
                    tried.previews().drop(&id).unwrap();
                    assert_same(&manifest(&tried.work()), &before.0, &format!("{seed}: dropped"));
                    script(&tried.work(), "true");
                    let again = tried.preview(&command).await;
                    tried.commit(&self::id(&again), CommitOptions::default()).unwrap();
                } else {
                    tried.commit(&id, CommitOptions::default()).unwrap_or_else(|error| panic!("{seed}: {error}"));
                }
            }
            let after = (manifest(&tried.work()), manifest(&plain.work()));
            assert_same(&timeless(&after.0, &before.0), &timeless(&after.1, &before.1), &format!("{seed}: {command}"));
        }
    });
}

/// A few steps of work on a few names, the same for the same seed.
fn random_work(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below
    };
    let names = ["a", "b", "d/a", "d/b", "d/e/a", "sub/x", "sub/deep/y", "gone/a"];
    let folders = ["d", "d/e", "sub", "sub/deep", "gone", "f"];
    let mut steps = vec!["exec 2> /dev/null".to_owned()];
    for step in 0..3 + next(9) {
        let (one, other) = (names[next(names.len())], names[next(names.len())]);
        let (folder, another) = (folders[next(folders.len())], folders[next(folders.len())]);
        steps.push(match next(13) {
            0 | 1 => format!("echo {step} > {one}"),
            // By another name it would be another file.
            2 => format!("[ \"$(stat -c %h {one})\" = 1 ] && echo {step} >> {one}"),
            3 => format!("rm -f {one}"),
            4 => format!("rm -rf {folder}"),
            5 => format!("mkdir -p {folder}"),
            6 => format!("[ -f {one} ] && [ ! -d {other} ] && mv -fT {one} {other}"),
            7 => format!("chmod {} {one}", ["600", "755", "444"][next(3)]),
            8 => format!("chmod {} {folder}", ["700", "755"][next(2)]),
            9 => format!("rm -f {one}; ln -s {other} {one}"),
            10 => format!("touch -d 20{:02}-01-01 {one}", 10 + next(10)),
            11 => format!("[ -f {one} ] && sed -i 's/$/-{step}/' {one}"),
            _ => format!("rm -rf {folder}; mkdir -p {folder} {another}; echo {step} > {folder}/n"),
        });
    }
    steps.push("true".to_owned());
    steps.join("\n")
}

#[test]
fn what_cannot_be_previewed_is_refused_with_the_reason_and_nothing_runs() {
    runtime().block_on(async {
        let without = Without { namespaces: true, ..Without::default() };
        let place = place_with(usual, |_| {}, without);
        let before = manifest(&place.work());
        let why = place.refused("echo x > file").await;
        assert!(why.contains("cannot be previewed") && why.contains("left out"), "{why}");
        assert_same(&manifest(&place.work()), &before, "without namespaces");
        place.assert_nothing_left();

        let harness = Harness::new();
        let session = harness.session_in(&place.work());
        let mut request = CommandRequest::new("echo x > file");
        request.preview = PreviewMode::On;
        let why = harness.engine.run(&session, request.clone(), &mut Silent, &RunControl::new()).await.unwrap_err();
        assert!(why.to_string().contains("takes a sandbox"), "{why}");
        let why = harness.engine.start(&session, request.clone()).await.unwrap_err();
        assert!(why.to_string().contains("background"), "{why}");
        request.wait = Some(std::time::Duration::from_secs(1));
        let why = harness.engine.run(&session, request, &mut Silent, &RunControl::new()).await.unwrap_err();
        assert!(why.to_string().contains("a time to wait"), "{why}");
        assert_same(&manifest(&place.work()), &before, "refused");
    });
}

#[test]
fn a_workspace_with_something_mounted_inside_is_refused_by_name() {
    runtime().block_on(async {
        // /dev has other file systems in it wherever there is one.
        let place = place_with(usual, |policy| policy.write.push("/dev".into()), Without::default());
        let why = place.refused("true").await;
        assert!(why.contains("/dev/") && why.contains("is mounted inside of /dev"), "{why}");
        place.assert_nothing_left();
    });
}

#[test]
fn caches_go_through_and_nothing_else_does() {
    runtime().block_on(async {
        let place = place(usual);
        let report = place
            .preview(
                "echo c > ../cache/c; echo o > ../outside/o; echo k > .git/hooks/k; echo s > ../secret/s; echo t > /tmp/chiton-t; \
                 echo m > /dev/shm/chiton-m; ls /tmp/chiton-t /dev/shm/chiton-m",
            )
            .await;
        assert_eq!(report.stdout.to_text(), "/dev/shm/chiton-m\n/tmp/chiton-t\n", "{}", said(&report));
        assert!(place.root.join("cache/c").exists(), "{}", said(&report));
        for path in ["outside/o", "work/.git/hooks/k", "secret/s"] {
            assert!(!place.root.join(path).exists(), "{path}: {}", said(&report));
        }
        assert!(!Path::new("/tmp/chiton-t").exists() && !Path::new("/dev/shm/chiton-m").exists());
        assert!(report.changed.is_none(), "{}", said(&report));
        let refused: Vec<&str> = report.refused.iter().map(|it| it.path.as_str()).collect();
        assert!(refused.iter().any(|path| path.ends_with(".git/hooks/k")), "{refused:?}");
        place.assert_nothing_left();
    });
}

#[test]
fn what_an_earlier_command_put_into_a_temporary_folder_is_seen() {
    runtime().block_on(async {
        let place = place(usual);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "patch").unwrap();
        let path = file.path().display();
        let report = place.preview(&format!("cat {path}; echo more >> {path}; cat {path} > copy; rm {path}")).await;
        assert_eq!(report.stdout.to_text(), "patch", "{}", said(&report));
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "patch");
        place.commit(&id(&report), CommitOptions::default()).unwrap();
        assert_eq!(fs::read_to_string(place.work().join("copy")).unwrap(), "patchmore\n");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "patch");
    });
}

#[test]
fn the_state_of_a_session_is_committed_with_its_preview() {
    runtime().block_on(async {
        let place = place(usual);
        let report = place.preview("mkdir made; cd made; X=1; f() { echo f; }; echo x > x").await;
        assert!(matches!(&report.state, StateReport::Discarded(why) if why.contains("preview_")), "{}", said(&report));
        assert_eq!(place.run("echo $X; pwd").await.stdout.to_text(), format!("\n{}\n", place.work().display()));
        place.commit(&id(&report), CommitOptions::default()).unwrap();
        let next = place.run("echo $X; f; cat x; pwd").await;
        let expected = format!("1\nf\nx\n{}/made\n", place.work().display());
        assert_eq!(next.stdout.to_text(), expected, "{}", said(&next));
        assert!(next.notices.iter().any(|notice| notice.contains("was committed, and with it")), "{}", said(&next));

        // A session that has gone on keeps its own.
        let report = place.preview("X=2; echo y > y").await;
        place.run("X=3").await;
        place.commit(&id(&report), CommitOptions::default()).unwrap();
        let next = place.run("echo $X; cat y").await;
        assert_eq!(next.stdout.to_text(), "3\ny\n");
        assert!(next.notices.iter().any(|notice| notice.contains("has changed since")), "{}", said(&next));

        let report = place.preview("X=4; echo z > z").await;
        place.previews().drop(&id(&report)).unwrap();
        assert_eq!(place.run("echo $X; cat z || true").await.stdout.to_text(), "3\n");

        // What only sets something is held back as well.
        let report = place.preview("X=5").await;
        assert_eq!(place.run("echo $X").await.stdout.to_text(), "3\n");
        place.commit(&id(&report), CommitOptions::default()).unwrap();
        assert_eq!(place.run("echo $X").await.stdout.to_text(), "5\n");
    });
}

#[test]
fn what_a_preview_leaves_running_is_stopped_and_said() {
    runtime().block_on(async {
        let place = place(usual);
        let report = place.preview("(while :; do echo x >> endless; sleep 0.01; done) & sleep 0.1; echo done").await;
        assert_eq!(report.outcome, Outcome::Exited(0), "{}", said(&report));
        assert!(report.leftovers.is_empty(), "{}", said(&report));
        assert!(report.notices.iter().any(|notice| notice.contains("which was stopped")), "{}", said(&report));
        let id = id(&report);
        let file = &place.previews().files(&id).unwrap()[0];
        let length = || fs::metadata(file.after.as_ref().unwrap()).unwrap().len();
        let first = length();
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(length(), first, "nothing writes to it any more");
        place.commit(&id, CommitOptions::default()).unwrap();
        assert!(place.work().join("endless").exists());
    });
}

#[test]
fn commands_that_fail_are_previewed_like_others() {
    runtime().block_on(async {
        let place = place(usual);
        let report = place.preview("echo a > new; exit 3").await;
        assert_eq!(report.outcome, Outcome::Exited(3));
        assert_eq!(report.changed.as_ref().unwrap().made, 1);
        let mut request = CommandRequest::new("echo b > slow; sleep 60");
        (request.preview, request.timeout) = (PreviewMode::On, Some(std::time::Duration::from_millis(500)));
        let slow = place.harness.request(&place.session, request).await;
        assert_eq!(slow.outcome, Outcome::TimedOut);
        assert_eq!(slow.changed.as_ref().unwrap().names.made, ["slow"], "{}", said(&slow));
        assert_eq!(place.previews().all().len(), 2);
        let nothing = place.preview("cat file; test -e new").await;
        assert_eq!(
            (nothing.outcome.clone(), nothing.changed.is_none()),
            (Outcome::Exited(1), true),
            "{}",
            said(&nothing)
        );
        assert_eq!(place.previews().all().len(), 2, "one that would change nothing leaves nothing");
    });
}
