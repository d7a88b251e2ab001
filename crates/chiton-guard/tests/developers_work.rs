//! Work that no commit holds, other repositories, and directories that others may write to: what the guard says when
//! the surroundings know.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chiton_guard::{Context, Decision, Surroundings, Uncommitted, Verdict, judge};

/// A worktree at `/home/dev/project` with two changed files, one of them staged, and new ones; a clean one beside it.
#[derive(Debug)]
struct Around {
    is_silent: bool,
}

impl Surroundings for Around {
    fn recent_file(&self, _: &Path) -> Option<Arc<[u8]>> {
        None
    }

    fn link(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    fn others_may_write(&self, path: &Path) -> Option<bool> {
        match path.strip_prefix("/tmp") {
            Ok(inside) if inside.starts_with("mine") => Some(false),
            Ok(_) => Some(true),
            Err(_) => None,
        }
    }

    fn is_worktree(&self, path: &Path) -> bool {
        ["/home/dev/code/other", "/data/repos", "/tmp/clone"].iter().any(|place| path == Path::new(place))
    }

    fn uncommitted(&self, path: &Path) -> Option<Uncommitted> {
        let root = PathBuf::from("/home/dev/project");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        path.starts_with(&root).then(|| Uncommitted {
            git_directories: vec![root.join(".git")],
            root,
            changed: names(&["src/a.rs", "src/b.rs"]),
            staged: names(&["src/b.rs"]),
            untracked: names(&["notes.txt", "new/"]),
            has_stash: true,
            is_unknown: self.is_silent,
        })
    }
}

fn context() -> Context {
    let mut context = Context::new("/home/dev", "dev", "/home/dev/project");
    context.surroundings = Some(Arc::new(Around { is_silent: false }));
    context
}

fn verdict(command: &str) -> Verdict {
    judge(command, &context())
}

/// Commands that would lose work, and what of it they name.
const LOSING: [(&str, &str); 26] = [
    ("git reset --hard", "2 changed files: src/a.rs, src/b.rs"),
    ("git reset --hard HEAD~1", "2 changed files"),
    ("git -C /home/dev/project reset --hard", "2 changed files"),
    ("cd src && git reset --hard", "2 changed files"),
    ("cd /tmp && git -C ~/project reset --hard", "2 changed files"),
    ("cd /tmp && git --work-tree=/home/dev/project reset --hard", "2 changed files"),
    ("cd /tmp && GIT_WORK_TREE=/home/dev/project git reset --hard", "2 changed files"),
    ("bash -c 'git reset --hard'", "2 changed files"),
    ("git checkout -- .", "1 changed file: src/a.rs"),
    ("git checkout .", "1 changed file: src/a.rs"),
    ("git checkout src/a.rs", "1 changed file: src/a.rs"),
    ("git checkout HEAD -- src", "2 changed files"),
    ("git checkout -f main", "2 changed files"),
    ("git checkout -- \"$FILE\"", "1 changed file"),
    ("git switch -f main", "2 changed files"),
    ("git switch --discard-changes main", "2 changed files"),
    ("git restore .", "1 changed file"),
    ("git restore -s HEAD~1 src/b.rs", "1 changed file: src/b.rs"),
    ("git restore --staged --worktree src", "2 changed files"),
    ("cd src && git restore a.rs", "1 changed file: src/a.rs"),
    ("git clean -fd", "2 files that git does not know: notes.txt, new/"),
    ("git clean -f new/deep", "1 file that git does not know: new/"),
    ("git rm -f src/a.rs", "1 changed file: src/a.rs"),
    ("git read-tree -u --reset HEAD", "2 changed files"),
    ("git worktree remove --force /home/dev/project", "4 files that no commit holds"),
    ("git stash drop", "stashed work"),
];

#[test]
fn discarding_uncommitted_work_is_asked_about_and_names_it() {
    for (command, part) in LOSING {
        let verdict = verdict(command);
        assert_eq!(verdict.decision, Decision::Ask, "{command}: {}", verdict.reason);
        assert_eq!(verdict.rule.as_deref(), Some("git-discard"), "{command}");
        assert!(verdict.reason.contains(part), "{command}: {}", verdict.reason);
    }
}

#[test]
fn what_loses_nothing_is_not_asked_about() {
    for command in [
        "git reset",
        "git reset --soft HEAD~1",
        "git checkout main",
        "git checkout -b topic",
        "git checkout docs",
        "git checkout -- docs",
        "git checkout -- src/b.rs",
        "git switch main",
        "git restore --staged .",
        "git restore docs",
        "git clean -n",
        "git clean -fdX",
        "git clean -f docs",
        "git rm --cached -f src/a.rs",
        "git rm -f docs/x",
        "git -C /home/dev/clean reset --hard",
        "cd ~/clean && git checkout -- .",
        "git stash && git reset --hard",
        "git stash -u && git clean -fd",
        "git commit -am wip && git reset --hard HEAD~1",
        "git branch -D topic",
        "git rebase main",
        "git commit --amend --no-edit",
        "git stash pop",
        "git stash list",
        "git worktree remove ../topic",
        "git reset --hard --help",
    ] {
        let verdict = verdict(command);
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.reason);
    }
}

#[test]
fn work_that_could_not_be_checked_is_asked_about() {
    let mut context = context();
    context.surroundings = Some(Arc::new(Around { is_silent: true }));
    let verdict = judge("git reset --hard", &context);
    assert_eq!(verdict.decision, Decision::Ask);
    assert!(verdict.reason.contains("could not be checked"), "{}", verdict.reason);
}

#[test]
fn another_repository_is_not_deleted_without_asking() {
    for command in [
        "rm -rf ~/code/other",
        "rm -rf /data/repos",
        "find ~/code/other -delete",
        "rsync -a --delete empty/ ~/code/other/",
        "python3 -c 'import shutil; shutil.rmtree(\"/home/dev/code/other\")'",
        "cd ~/code/other && rm -rf \"$PWD\"",
        "rm -rf ~/code/other/*",
        "mv ~/code/other /dev/null",
        "rm -rf ~/code",
    ] {
        assert_eq!(verdict(command).decision, Decision::Ask, "{command}");
    }
    for command in [
        "rm -rf ~/code/other/target", "rm -rf /tmp/clone", "rm -rf ~/code/other/src/old",
        "mv ~/code/other ~/code/renamed", "trash ~/code/other",
    ] {
        assert_eq!(verdict(command).decision, Decision::Allow, "{command}");
    }
}

#[test]
fn a_program_that_asks_itself_is_trusted_only_where_nobody_can_answer() {
    assert_eq!(verdict("rm -ri ~/Documents").decision, Decision::Allow);
    let terminal = context().with_variable("TERM", "xterm-256color");
    assert_eq!(judge("rm -ri ~/Documents", &terminal).decision, Decision::Ask);
    let later = Context { input: chiton_guard::Input::Later, ..context() };
    assert_eq!(judge("rm -ri ~/Documents", &later).decision, Decision::Ask);
}

#[test]
fn directories_below_tmp_are_judged_by_who_may_write_there() {
    for command in
        ["PATH=/tmp/mine/bin:$PATH x", "export LD_LIBRARY_PATH=/tmp/mine/lib", "PYTHONPATH=/tmp/mine python3 x.py"]
    {
        assert_eq!(verdict(command).decision, Decision::Allow, "{command}");
    }
    for command in
        ["PATH=/tmp/theirs/bin:$PATH x", "export LD_LIBRARY_PATH=/tmp/theirs", "PYTHONPATH=/tmp python3 x.py"]
    {
        assert_eq!(verdict(command).decision, Decision::Ask, "{command}");
    }

    let workspace = Context::new("/home/dev", "dev", "/tmp/proj");
    for command in [
        "PATH=$PWD/node_modules/.bin:$PATH eslint .",
        "export PATH=/tmp/proj/.venv/bin:$PATH",
        "PYTHONPATH=/tmp/proj python x.py",
        "export LD_LIBRARY_PATH=$PWD/lib",
    ] {
        assert_eq!(judge(command, &workspace).decision, Decision::Allow, "{command}");
    }
    assert_eq!(judge("PATH=/tmp/other:$PATH x", &workspace).decision, Decision::Ask);
}
