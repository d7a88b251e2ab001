//! What the guard may ask about the files of this machine.
//!
//! Everything is looked at when it is asked for. Only [`uncommitted`](chiton_guard::Surroundings::uncommitted) starts a
//! program, and only for a command that would discard work: git alone knows what it would lose.

use std::fmt;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chiton_guard::{Surroundings, Uncommitted};
use rustix::fs::OFlags;
use rustix::process::{getegid, geteuid};

use crate::process::helper::{self, Helper};

/// A script beyond this is not judged.
const LARGEST_FILE: u64 = 256 << 10;
/// How long git may think. A command waits for the answer.
const GIT_LIMIT: Duration = Duration::from_secs(1);
/// How long an answer of git holds: one verdict may ask several times.
const ANSWER_HOLDS: Duration = Duration::from_millis(100);
/// How many directories are looked into for repositories.
const MOST_DIRECTORIES: usize = 600;
/// How deep: `~/src/github.com/owner/name`.
const DEEPEST_REPOSITORY: usize = 3;

/// The files of this machine, as the user of this process sees them.
pub struct MachineSurroundings {
    /// Files that changed before are not the work of this session.
    since: SystemTime,
    /// What git runs with.
    environment: Vec<(String, Vec<u8>)>,
    last: Mutex<Option<(PathBuf, Instant, Option<Uncommitted>)>>,
}

impl fmt::Debug for MachineSurroundings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MachineSurroundings").field("since", &self.since).finish_non_exhaustive()
    }
}

impl MachineSurroundings {
    /// What is there now; files that changed `since` then are the work of the session. Git is found by the `PATH` of
    /// `environment`, which is never that of a command.
    pub fn new<N: AsRef<str>, V: AsRef<[u8]>>(
        since: SystemTime,
        environment: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let kept = ["PATH", "HOME", "XDG_CONFIG_HOME"];
        let environment = environment.into_iter().filter(|(name, _)| kept.contains(&name.as_ref()));
        let environment =
            environment.map(|(name, value)| (name.as_ref().to_owned(), value.as_ref().to_vec())).collect();
        Self { since, environment, last: Mutex::new(None) }
    }
}

impl Surroundings for MachineSurroundings {
    fn recent_file(&self, path: &Path) -> Option<Arc<[u8]>> {
        let mut file = open_file(path)?;
        let data = file.metadata().ok()?;
        let since = self.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let changed = Duration::new(
            u64::try_from(data.ctime()).unwrap_or_default(),
            u32::try_from(data.ctime_nsec()).unwrap_or_default(),
        );
        if data.len() > LARGEST_FILE || changed < since {
            return None;
        }

        let mut content = Vec::new();
        (&mut file).take(LARGEST_FILE + 1).read_to_end(&mut content).ok()?;
        (content.len() as u64 <= LARGEST_FILE).then(|| content.into())
    }

    fn link(&self, path: &Path) -> Option<PathBuf> {
        // `/dev/stdin` and the like lead somewhere else in each process: here to what this one has open.
        let is_own = ["/proc", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd"];
        if is_own.iter().any(|place| path.starts_with(place)) {
            return None;
        }
        fs::read_link(path).ok()
    }

    fn others_may_write(&self, path: &Path) -> Option<bool> {
        let path = fs::canonicalize(path).ok()?;
        let mut is_above = false;
        for directory in path.ancestors() {
            let data = fs::metadata(directory).ok()?;
            if is_open(&data, is_above) {
                return Some(true);
            }
            is_above = true;
        }
        Some(false)
    }

    fn is_worktree(&self, path: &Path) -> bool {
        let mut left = MOST_DIRECTORIES;
        holds_repository(path, DEEPEST_REPOSITORY, &mut left)
    }

    fn uncommitted(&self, path: &Path) -> Option<Uncommitted> {
        let root = path.ancestors().find(|directory| directory.join(".git").exists())?.to_owned();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, when, answer)) = &*last
            && *known == root
            && when.elapsed() < ANSWER_HOLDS
        {
            return answer.clone();
        }

        let answer = self.ask_git(&root);
        *last = Some((root, Instant::now(), answer.clone()));
        answer
    }
}

impl MachineSurroundings {
    /// What git says about the worktree at `root`.
    ///
    /// Nothing of the repository may run: it can name programs as file system monitor, as hooks, as filters of its
    /// files and as transports for what a partial clone lacks. The first three are set to nothing, filters one by one
    /// because only their names switch them off; transports are forbidden. A file that only its filter would call
    /// unchanged counts as changed then.
    fn ask_git(&self, root: &Path) -> Option<Uncommitted> {
        const OFF: [(&str, &str); 4] = [
            ("core.fsmonitor", "false"),
            ("core.hooksPath", "/dev/null"),
            ("core.sshCommand", "false"),
            ("protocol.allow", "never"),
        ];
        let git_directories = git_directories(root);
        let unknown = || {
            let git_directories = git_directories.clone();
            Some(Uncommitted { root: root.to_owned(), git_directories, is_unknown: true, ..Uncommitted::default() })
        };
        let end = Instant::now() + GIT_LIMIT;
        let mut settings: Vec<(String, String)> =
            OFF.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();

        let filters =
            match self.git(root, &["config", "--null", "--name-only", "--get-regexp", "^filter\\."], &settings, end) {
                Git::Said(filters) => filters,
                // There are none.
                Git::Failed => Vec::new(),
                Git::Absent => return None,
                Git::Silent => return unknown(),
            };
        for key in String::from_utf8_lossy(&filters).split('\0').filter(|key| !key.is_empty()) {
            let value = if key.ends_with(".required") { "false" } else { "" };
            settings.push((key.to_owned(), value.to_owned()));
        }

        let status =
            ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"];
        match self.git(root, &status, &settings, end) {
            Git::Said(status) => {
                let has_stash = has_stash(&git_directories);
                let work =
                    Uncommitted { has_stash, git_directories: git_directories.clone(), ..read_status(root, &status) };
                let has_any = !work.changed.is_empty() || !work.untracked.is_empty() || work.has_stash;
                has_any.then_some(work)
            }
            // Whatever git does not answer here it would not do there.
            Git::Failed | Git::Absent => None,
            Git::Silent => unknown(),
        }
    }

    fn git(&self, root: &Path, arguments: &[&str], settings: &[(String, String)], end: Instant) -> Git {
        let Some(directory) = root.to_str() else { return Git::Silent };
        let fixed = ["git", "--no-optional-locks", "--no-pager"];
        let words: Vec<String> = fixed.iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        let mut environment = self.environment.clone();
        let mut set = |name: String, value: &str| environment.push((name, value.as_bytes().to_vec()));
        set("LC_ALL".to_owned(), "C");
        set("GIT_TERMINAL_PROMPT".to_owned(), "0");
        set("GIT_NO_LAZY_FETCH".to_owned(), "1");
        set("GIT_ALLOW_PROTOCOL".to_owned(), "none");
        // Not with -c: a name may hold the sign that ends it there.
        set("GIT_CONFIG_COUNT".to_owned(), &settings.len().to_string());
        for (number, (key, value)) in settings.iter().enumerate() {
            set(format!("GIT_CONFIG_KEY_{number}"), key);
            set(format!("GIT_CONFIG_VALUE_{number}"), value);
        }

        let limit = end.saturating_duration_since(Instant::now());
        match helper::ask(&Helper { words: &words, environment: &environment, directory, limit }) {
            Ok(answer) if answer.code == Some(0) => Git::Said(answer.output.to_vec()),
            Ok(_) => Git::Failed,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Git::Absent,
            Err(_) => Git::Silent,
        }
    }
}

/// What came of asking git.
enum Git {
    Said(Vec<u8>),
    Failed,
    /// There is no git.
    Absent,
    /// It gave no answer in time.
    Silent,
}

/// Reads `git status --porcelain=v1 -z`.
fn read_status(root: &Path, status: &[u8]) -> Uncommitted {
    let mut work = Uncommitted { root: root.to_owned(), ..Uncommitted::default() };
    for entry in status.split(|byte| *byte == 0) {
        let [index, tree, b' ', path @ ..] = entry else { continue };
        let path = String::from_utf8_lossy(path).into_owned();
        match (index, tree) {
            (b'?', _) => work.untracked.push(path),
            (b'!', _) | (_, b'D') | (b'D', b' ') => {}
            (_, b' ') => {
                work.staged.push(path.clone());
                work.changed.push(path);
            }
            _ => work.changed.push(path),
        }
    }
    work
}

/// Where git keeps what belongs to the worktree at `root`, and what belongs to its repository, where that is another place.
fn git_directories(root: &Path) -> Vec<PathBuf> {
    let git = root.join(".git");
    // A worktree beside the repository has a file here that names its own directory.
    let own = match fs::read_to_string(&git) {
        Ok(text) => text.strip_prefix("gitdir: ").map(|place| root.join(place.trim_end())),
        Err(_) => Some(git),
    };
    let Some(own) = own else { return Vec::new() };
    match fs::read_to_string(own.join("commondir")) {
        Ok(place) => vec![own.join(place.trim_end()), own],
        Err(_) => vec![own],
    }
}

/// Whether a repository has stashed work.
fn has_stash(git_directories: &[PathBuf]) -> bool {
    git_directories.iter().any(|directory| {
        directory.join("refs/stash").exists()
            || fs::read_to_string(directory.join("packed-refs")).is_ok_and(|refs| refs.contains(" refs/stash\n"))
    })
}

/// What is in a file, as far as it is judged; empty where there is none.
pub(super) fn content(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    let _ = open_file(path).map(|file| file.take(LARGEST_FILE).read_to_end(&mut content));
    content
}

/// Opens a file, and nothing else: a pipe would wait for whoever writes to it, and a device may do anything.
fn open_file(path: &Path) -> Option<fs::File> {
    let is_file = |data: &fs::Metadata| data.is_file();
    fs::metadata(path).ok().filter(is_file)?;
    // It may have become a pipe since then.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = fs::OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).ok()?).open(path).ok()?;
    file.metadata().ok().filter(is_file).map(|_| file)
}

/// Whether somebody other than the user and root may put something there. Above the directory in question the sticky
/// bit helps: what is there cannot be replaced. In the directory itself it does not: anybody may add a file.
fn is_open(data: &fs::Metadata, is_above: bool) -> bool {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if data.uid() != user && data.uid() != 0 {
        return true;
    }
    let by_others = data.mode() & 0o002 != 0;
    // The group of the user alone is as good as the user.
    let by_group = data.mode() & 0o020 != 0 && data.gid() != group && data.gid() != 0;
    let is_sticky = data.mode() & 0o1000 != 0;
    (by_others || by_group) && !(is_above && is_sticky)
}

/// Whether `path` is a repository, or one lies in it within `depth` steps.
fn holds_repository(path: &Path, depth: usize, left: &mut usize) -> bool {
    if path.join(".git").exists() || path.join("HEAD").is_file() && path.join("objects").is_dir() {
        return true;
    }
    if depth == 0 {
        return false;
    }
    let Ok(entries) = fs::read_dir(path) else { return false };
    for entry in entries.flatten() {
        let is_candidate = entry.file_type().is_ok_and(|kind| kind.is_dir())
            && !entry.file_name().as_encoded_bytes().starts_with(b".")
            && entry.file_name() != "node_modules";
        if !is_candidate {
            continue;
        }
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if holds_repository(&entry.path(), depth - 1, left) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn surroundings() -> MachineSurroundings {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_encoded_bytes())));
        MachineSurroundings::new(UNIX_EPOCH, environment.filter(|(name, _)| name == "PATH"))
    }

    fn git(directory: &Path, arguments: &[&str]) {
        let words: Vec<String> = std::iter::once(&"git").chain(arguments).map(|word| (*word).to_owned()).collect();
        let mut environment = surroundings().environment;
        for role in ["AUTHOR", "COMMITTER"] {
            environment.push((format!("GIT_{role}_NAME"), b"dev".to_vec()));
            environment.push((format!("GIT_{role}_EMAIL"), b"dev@example.com".to_vec()));
        }
        let directory = directory.to_str().unwrap();
        let limit = Duration::from_secs(30);
        let answer = helper::ask(&Helper { words: &words, environment: &environment, directory, limit }).unwrap();
        assert_eq!(answer.code, Some(0), "git {arguments:?}");
    }

    /// A repository with one commit of `a` and `b`.
    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q"]);
        for name in ["a", "b"] {
            fs::write(folder.path().join(name), "first\n").unwrap();
        }
        git(folder.path(), &["add", "."]);
        git(folder.path(), &["commit", "-qm", "first"]);
        folder
    }

    #[test]
    fn work_that_no_commit_holds_is_found() {
        let folder = repository();
        assert_eq!(surroundings().uncommitted(folder.path()), None);

        fs::write(folder.path().join("a"), "second\n").unwrap();
        fs::write(folder.path().join("b"), "second\n").unwrap();
        git(folder.path(), &["add", "b"]);
        fs::create_dir(folder.path().join("new")).unwrap();
        fs::write(folder.path().join("new/c"), "").unwrap();
        let work = surroundings().uncommitted(&folder.path().join("new")).unwrap();
        assert_eq!(work.changed, ["a", "b"]);
        assert_eq!(work.staged, ["b"]);
        assert_eq!(work.untracked, ["new/"]);

        fs::remove_file(folder.path().join("a")).unwrap();
        let work = surroundings().uncommitted(folder.path()).unwrap();
        assert_eq!(work.changed, ["b"], "a commit holds what was deleted");
    }

    #[test]
    fn nothing_of_the_repository_runs() {
        let folder = repository();
        let mark = folder.path().join("ran");
        let touch = format!("touch {}", mark.display());
        fs::write(folder.path().join(".gitattributes"), "* filter=odd=name\n* filter=plain\n").unwrap();
        for key in ["filter.plain.clean", "filter.plain.process", "filter.odd=name.clean", "core.fsmonitor"] {
            git(folder.path(), &["config", key, &touch]);
        }
        let hook = folder.path().join(".git/hooks/post-index-change");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();

        // Of the same size, so that git has to read it.
        fs::write(folder.path().join("a"), "again\n").unwrap();
        let work = surroundings().uncommitted(folder.path()).unwrap();
        assert!(work.changed.contains(&"a".to_owned()));
        assert!(!mark.exists());
    }

    #[test]
    fn links_are_read_but_not_those_of_this_process() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/usr", &link).unwrap();
        assert_eq!(surroundings().link(&link), Some("/usr".into()));
        for path in ["/dev/stdin", "/dev/stderr", "/dev/fd", "/proc/self/fd/0", "/proc/self"] {
            assert_eq!(surroundings().link(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn a_stash_is_found() {
        let folder = repository();
        assert!(surroundings().uncommitted(folder.path()).is_none());
        fs::write(folder.path().join("a"), "second\n").unwrap();
        git(folder.path(), &["stash", "-q"]);
        assert!(surroundings().uncommitted(folder.path()).unwrap().has_stash);
    }

    #[test]
    fn who_may_write_follows_from_the_modes_up_to_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        chmod(folder.path(), 0o755);
        chmod(&inner, 0o755);
        let others = |path: &Path| surroundings().others_may_write(path);
        assert_eq!(others(&inner), Some(false));
        chmod(&inner, 0o1777);
        assert_eq!(others(&inner), Some(true), "anybody may add a file");
        chmod(&inner, 0o755);
        chmod(folder.path(), 0o777);
        assert_eq!(others(&inner), Some(true), "anybody may replace it");
        chmod(folder.path(), 0o1777);
        assert_eq!(others(&inner), Some(false), "nobody may replace it");
        assert_eq!(others(&folder.path().join("none")), None);
    }

    #[test]
    fn repositories_are_found_in_the_folders_that_hold_them() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("host/owner/project");
        fs::create_dir_all(project.join(".git")).unwrap();
        let is_worktree = |path: &Path| surroundings().is_worktree(path);
        assert!(is_worktree(&project));
        assert!(is_worktree(folder.path()));
        fs::create_dir(project.join("src")).unwrap();
        assert!(!is_worktree(&project.join("src")));
    }

    #[test]
    fn a_file_of_this_session_is_read_and_an_older_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        fs::write(&file, "echo").unwrap();
        let read = |since| MachineSurroundings::new(since, [("", "")]).recent_file(&file);
        assert_eq!(read(UNIX_EPOCH).as_deref(), Some(b"echo".as_slice()));
        assert_eq!(read(SystemTime::now() + Duration::from_mins(1)), None);
        fs::write(&file, vec![b'x'; 257 << 10]).unwrap();
        assert_eq!(read(UNIX_EPOCH), None);
        // A pipe that nobody writes to holds nobody up.
        fs::remove_file(&file).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(read(UNIX_EPOCH), None);
    }
}
