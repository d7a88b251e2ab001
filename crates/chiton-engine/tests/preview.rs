//! A command can be tried first: nothing changes until somebody commits it, and then everything does.
#![cfg(test)]

mod harness;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use chiton_engine::changes::{ChangeLogs, UndoOptions};
use chiton_engine::preview::{CommitOptions, Committed, CommittedState, PreviewError, PreviewStatus, Previews};
use chiton_engine::sandbox::Without;
use chiton_engine::sandbox::policy::{MissingLayer, NetworkPolicy, SandboxLimits, SandboxPolicy, UndoPolicy};
use chiton_engine::{CommandRequest, Outcome, PreviewMode, RunControl, RunReport, Session, Silent, StateReport};
use harness::{Harness, runtime};

/// A workspace, a cache beside it, and a sandbox for both.
struct Place {
    harness: Harness,
    session: Session,
    _folder: tempfile::TempDir,
    root: PathBuf,
}

fn policy(root: &Path) -> SandboxPolicy {
    SandboxPolicy {
        profile: "test".to_owned(),
        workspace: vec![root.join("work")],
        write: vec![root.join("work"), root.join("cache"), PathBuf::from("/tmp"), PathBuf::from("/dev/shm")],
        made: Vec::new(),
        temporary: vec![PathBuf::from("/tmp"), PathBuf::from("/dev/shm")],
        caches: vec![root.join("cache")],
        hide: vec![root.join("secret"), root.join("work/hidden")],
        keep: vec![root.join("work/.git/hooks")],
        network: NetworkPolicy::Open,
        sockets: Vec::new(),
        expose: Vec::new(),
        limits: SandboxLimits::default(),
        missing: MissingLayer::Say,
        undo: UndoPolicy::Off,
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
            format!("{} bytes {:016x}", bytes.len(), bytes.iter().fold(0u64, |sum, byte| sum.rotate_left(5) ^ u64::from(*byte)))
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
            entries.iter().for_each(|entry| add(root, entry, links, all));
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
            assert_eq!(timeless(&after.0, &before.0), timeless(&after.1, &before.1), "{name}");
            let (told, done) = (report.changed.unwrap(), committed.changed);
            assert_eq!((told.changed, told.removed), (done.changed, done.removed), "{name}");

            let logs = ChangeLogs::new(&tried.state());
            logs.undo(&id, UndoOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(manifest(&tried.work()), before.0, "{name}: undone");
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
    ("tar", "tar cf all.tar --exclude=hidden --exclude=all.tar . && mkdir out && tar xf all.tar -C out ./sub ./link && rm all.tar"),
    ("make", "printf 'all: x.o\\nx.o: sub/two\\n\\tcp sub/two x.o\\n' > Makefile; make -s; make -s"),
    ("git", "mkdir repo; cd repo; git init -q .; git config user.email a@b; git config user.name a; echo 1 > f; git add f; \
             git commit -qm one --date 2020-01-01T00:00:00Z; git checkout -qb other; echo 2 > f; git commit -qam two; \
             git checkout -q -; git log --format=%s"),
    ("sqlite", "if command -v sqlite3 > /dev/null; then sqlite3 data.db 'create table t(a); insert into t values (1)'; fi; echo x > y"),
    ("names", "touch 'a b' $'c\\nd' 'e:f,g' '*' -- -h; mkdir -p \"$(printf 'd%.0s' {1..200})\""),
    ("truncate", "truncate -s 10 big; truncate -s 1M sparse; dd if=/dev/zero of=big bs=1 count=1 seek=5 conv=notrunc status=none"),
    ("read-only folder", "mkdir ro; echo x > ro/x; chmod 555 ro; chmod 500 sub/deep"),
    ("pipes", "mkfifo sub/p; rm pipe; mkfifo pipe"),
    ("here", "rm -rf ./sub ./gone ./empty file hard link big run.sh pipe; echo only > left"),
];
