//! A real bash that can do no harm: no program is within its reach, no file can be written, and few processes fit.
//!
//! The best that the machine offers is taken, and [`Confinement`] says what that was:
//!
//! 1. As root: a root directory of its own, a user of its own, no network, no other processes in sight.
//! 2. Otherwise the same inside a user namespace, the directory mounted read-only.
//! 3. Otherwise, unless it would be root, a bash in an empty directory in which it may not write, with a `PATH` where
//!    nothing is, and without the builtins that end processes or start programs.
//!
//! In the first two the directory holds a copy of bash and its libraries only until bash runs; then it is emptied. Each
//! text runs in a subshell of its own, with limits on time, memory, processes and the size of files (none at all).
#![expect(clippy::disallowed_methods, reason = "the oracle is bash itself, without the engine")]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

/// How well bash is locked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Its own root directory, user, network and processes.
    OwnRoot,
    /// The same in a user namespace.
    UserNamespace,
    /// A bash in an empty directory that finds no programs. It could still reach what a text names by its whole path;
    /// the texts name nothing.
    EmptyDirectory,
}

impl std::fmt::Display for Confinement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::OwnRoot => "in an empty root, as a user of its own",
            Self::UserNamespace => "in an empty root, in a user namespace",
            Self::EmptyDirectory => "in an empty directory, since this machine has no namespaces to offer",
        })
    }
}

/// What the worker reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A marker ran in the text of this number.
    Ran(u64, char),
    /// The text of this number is done. What it left in the background may still run markers.
    Done(u64),
    /// Nothing was heard for too long, or bash is gone.
    Silent,
}

/// How long a text may take. The subshell may use one second of processor time.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What bash does with the texts. Descriptor 2 is `/dev/null`, opened outside.
const WORKER: &str = r#"
exec 198<&0 197>&1 0<&2 1>&2
PATH=/nonexistent
trap '' XFSZ
ulimit -c 0
ulimit -v 400000
ulimit -n 256
ulimit -f 0
FUNCNEST=40
_mark() { builtin printf '%s %s\n' "$zn" "$1" >&197; (( ++zc > 30 )) && builtin exit; return 0; }
for zl in a b c d e f g h i j; do builtin eval "zz$zl() { _mark $zl; }"; done
cat() { local l; while IFS= builtin read -r l; do builtin echo "$l"; done; builtin printf %s "$l"; }
# The guard knows that there is a `cat` besides the function: `command cat` finds it here.
command_not_found_handle() { local l; [[ $1 == cat ]] || return 127
  while IFS= builtin read -r l; do builtin echo "$l"; done; builtin printf %s "$l"; }
# In a process namespace of its own this shell is process 1, and can end all others there: what texts leave behind, and,
# once nobody listens any more, everything.
watch() { [[ $$ == 1 ]] || return; coproc zw { trap '' PIPE
  while builtin read -t 3; (( $? > 128 )); do builtin printf '\n' >&197 || builtin kill -9 -1; done; }; }
sweep() { [[ $$ == 1 ]] || return; builtin kill -9 -1; builtin wait; watch; }
watch
unset zl _
builtin printf 'ready\n' >&197
while IFS= builtin read -r -d '' zn <&198 && IFS= builtin read -r -d '' zt <&198; do
  ( exec 198<&-; ulimit -t 1; zc=0; $zr; builtin eval "$zt" )
  builtin printf '%s .\n' "$zn" >&197
  (( ++zk % 200 )) || sweep
done
"#;

/// A bash that runs texts, one after the other.
pub struct EmptyRoot {
    confinement: Confinement,
    /// What started bash, or bash itself; the leader of a process group.
    child: Child,
    /// Process 1 of the namespace, where there is one. Everything in there ends with it.
    first: Option<Pid>,
    texts: ChildStdin,
    events: Receiver<Event>,
    /// Removed with everything in it when the worker goes.
    folder: TempDir,
}

impl EmptyRoot {
    /// Starts a worker in the best way that works here.
    pub fn start() -> Result<Self> {
        let mut reasons = Vec::new();
        for confinement in [Confinement::OwnRoot, Confinement::UserNamespace, Confinement::EmptyDirectory] {
            match Self::confined(confinement) {
                Ok(worker) => return Ok(worker),
                Err(error) => reasons.push(format!("{confinement:?}: {error:#}")),
            }
        }
        bail!("no bash could be started: {}", reasons.join("; "))
    }

    /// Starts a worker in this way, or says why that does not work here.
    pub fn confined(confinement: Confinement) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("chiton-empty-root-").tempdir()?;
        let root = folder.path();
        fs::set_permissions(root, Permissions::from_mode(0o755))?;
        let empty = root.join("d");
        fs::create_dir(&empty)?;
        fs::create_dir(root.join("dev"))?;
        fs::write(root.join("dev/null"), "")?;
        fs::set_permissions(root.join("dev/null"), Permissions::from_mode(0o666))?;
        fs::set_permissions(&empty, Permissions::from_mode(0o555))?;

        let mut command = match confinement {
            Confinement::EmptyDirectory => in_directory(&empty)?,
            Confinement::OwnRoot => {
                copy_bash(root)?;
                // A user whom nobody else is, so that its processes can be counted.
                let user = 61_000 + std::process::id() % 4_000;
                let mut command = Command::new("unshare");
                command.args(["--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]);
                command.args(["chroot", &format!("--userspec={user}:{user}"), "--groups="]);
                command.arg(root).args(["/b", "--norc", "--noprofile", "-c"]);
                command.arg(format!("ulimit -u 64\ncd /d || exit\n{WORKER}"));
                command
            }
            Confinement::UserNamespace => {
                copy_bash(root)?;
                let mut command = Command::new("unshare");
                command.args(["--user", "--map-root-user", "--mount"]);
                command.args(["--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]);
                let inside = r#"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec chroot "$0" /b --norc --noprofile -c "$1""#;
                command.args(["sh", "-c", inside]).arg(root);
                command.arg(format!("ulimit -u 64\ncd /d || exit\n{WORKER}"));
                command
            }
        };

        command.env_clear();
        if confinement != Confinement::EmptyDirectory {
            // For `chroot` and its like; the worker itself sets another.
            command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        }
        command.env("LC_ALL", "C.UTF-8").current_dir("/").process_group(0);
        if confinement == Confinement::EmptyDirectory {
            command.env("PATH", "/nonexistent").current_dir(&empty);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let texts = child.stdin.take().context("the standard input is a pipe")?;
        let output = child.stdout.take().context("the standard output is a pipe")?;

        let (send, events) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(output);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let event = event_of(&line);
                line.clear();
                if let Some(event) = event
                    && send.send(event).is_err()
                {
                    return;
                }
            }
        });

        let mut worker = Self { confinement, child, first: None, texts, events, folder };
        ensure!(worker.next(PATIENCE) == Event::Done(u64::MAX), "bash did not start");
        worker.first = worker.child_of_child();
        if confinement != Confinement::EmptyDirectory {
            worker.empty()?;
        }
        Ok(worker)
    }

    /// Removes bash and its libraries from under the running one.
    fn empty(&self) -> Result<()> {
        for entry in fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            match path.file_name().and_then(|name| name.to_str()) {
                Some("d" | "dev") => {}
                _ if path.is_dir() => fs::remove_dir_all(&path)?,
                _ => fs::remove_file(&path)?,
            }
        }
        Ok(())
    }

    /// Bash, where another program started it and waits for it.
    fn child_of_child(&self) -> Option<Pid> {
        let parent = self.child.id();
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
        Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
    }

    /// How well it is locked up.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Gives it a text. A text with a NUL byte is cut off there.
    pub fn send(&mut self, number: u64, text: &str) -> Result<()> {
        let text = text.split('\0').next().unwrap_or_default();
        self.texts.write_all(format!("{number}\0{text}\0").as_bytes())?;
        Ok(())
    }

    /// The next thing that it reports.
    pub fn next(&self, patience: Duration) -> Event {
        match self.events.recv_timeout(patience) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Event::Silent,
        }
    }

    /// How long to wait for a report before the worker counts as stuck.
    pub fn patience() -> Duration {
        PATIENCE
    }
}

impl Drop for EmptyRoot {
    fn drop(&mut self) {
        // By its own id: whoever started it cannot pass the end on, since bash runs as another user.
        let first = self.first.or_else(|| self.child_of_child());
        if let Some(first) = first.filter(|_| self.confinement != Confinement::EmptyDirectory) {
            let _ = kill_process(first, Signal::KILL);
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// `12 a`, `12 .` or `ready`.
fn event_of(line: &[u8]) -> Option<Event> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    if line == "ready" {
        return Some(Event::Done(u64::MAX));
    }
    let (number, what) = line.split_once(' ')?;
    let number = number.parse().ok()?;
    match what {
        "." => Some(Event::Done(number)),
        letter => letter.chars().next().map(|letter| Event::Ran(number, letter)),
    }
}

/// Bash in `empty`. As root it could write there.
fn in_directory(empty: &Path) -> Result<Command> {
    let probe = empty.join("probe");
    ensure!(fs::write(&probe, "").is_err(), "only an ordinary user can be kept from writing");
    let mut command = Command::new(bash()?);
    let start = "ulimit -u 1000\nzr='builtin enable -n exec kill source . suspend ulimit'\n";
    command.args(["--norc", "--noprofile", "-c"]).arg(format!("{start}{WORKER}"));
    command.current_dir(empty);
    Ok(command)
}

fn bash() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/bin"), PathBuf::from("/usr/bin")]);
    folders.map(|folder| folder.join("bash")).find(|program| program.is_file()).context("bash is not installed")
}

/// Copies bash and the libraries that it needs to the same places below `root`.
fn copy_bash(root: &Path) -> Result<()> {
    let bash = bash()?;
    fs::copy(&bash, root.join("b"))?;
    let listing = Command::new("ldd").arg(&bash).output().context("ldd is missing")?;
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    for library in listing.split_whitespace().filter(|word| word.starts_with('/')) {
        let place = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(place.parent().context("a library is in a folder")?)?;
        fs::copy(library, &place)?;
    }
    Ok(())
}
