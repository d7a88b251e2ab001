//! A container of podman, made of no image: its root is a folder.
//!
//! Each has a store of its own, so that containers of one test know nothing of those of another. The first process of the
//! container waits until the test closes a pipe or dies; then the container goes with all that runs in it, and podman
//! removes it.

mod root;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::getuid;
use tempfile::TempDir;

use super::namespace::PidNamespace;
use super::{end, program, write_program};
use crate::processes::{eventually, mentioning, program_of};

pub use root::Root;

/// How long podman may take to end a container, and to say its last words about it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether something can be written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writable {
    /// It can.
    #[default]
    Yes,
    /// It can be read alone.
    No,
}

/// What may be done in `/tmp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Temporary {
    /// It is a part of the root.
    #[default]
    Plain,
    /// It is a file system of its own, from which programs can be run.
    Separate,
    /// The same, from which they cannot.
    NoExec,
}

/// What the container is like.
#[derive(Clone, Debug, Default)]
pub struct PodmanOptions {
    /// What its root is made of.
    pub root: Root,
    /// Whether the root can be written to; `/dev/shm` can be in any case, but runs no programs.
    pub writable_root: Writable,
    /// What `/tmp` is.
    pub temporary: Temporary,
    /// More arguments of `podman run`, for instance `--env` or `--volume` and what follows.
    pub arguments: Vec<String>,
}

/// A container. It goes when this goes away.
#[derive(Debug)]
pub struct Podman {
    /// `podman run`, which ends when the container is gone.
    keeper: Child,
    /// The first process of the container ends when nobody holds this any more.
    life: Option<ChildStdin>,
    namespace: Option<PidNamespace>,
    name: String,
    /// The last field: it is removed when nobody is left to use it.
    folder: TempDir,
}

/// The first process of a container, as in [`Machine`](super::Machine).
const INIT: &str = r#"exec 3<&0 </dev/null; echo ready; cat <&3 >/dev/null & wait "$!""#;

impl Podman {
    /// Why there can be none here.
    pub fn available() -> Result<(), String> {
        // Whether containers work depends on the kernel, on rights and on what else is installed; so one is tried, once.
        static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
        program("podman", "podman runc")?;
        program("runc", "runc")?;
        root::static_busybox()?;
        TRIED.get_or_init(|| Self::try_start(&PodmanOptions::default()).map(drop)).clone()
    }

    /// Starts one.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(options: &PodmanOptions) -> Self {
        Self::try_start(options).unwrap_or_else(|reason| panic!("{reason}"))
    }

    fn try_start(options: &PodmanOptions) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("far-").tempdir().expect("a temporary folder can be made");
        let name = folder.path().file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
        write_wrapper(folder.path());
        let mut command = wrapped(folder.path());
        command.args(["run", "--rm", "--interactive", "--name", &name, "--hostname", &name, "--network=none"]);
        // What podman asks for by default is more than the super-user of a virtual machine may have.
        command.args(["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]);
        if getuid().is_root() {
            command.args(["--cgroups=no-conmon", &format!("--cgroup-parent=/{name}")]);
        }
        command.args(read_only(options)).args(&options.arguments);
        command.args(options.root.make(&folder.path().join("root"))).args(["/bin/sh", "-c", INIT]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keeper = command.spawn().map_err(|error| format!("podman does not start: {error}"))?;

        let life = keeper.stdin.take();
        let mut said = String::new();
        let _ = BufReader::new(keeper.stdout.take().expect("it was asked for")).read_line(&mut said);
        if said != "ready\n" {
            let _ = keeper.stderr.take().expect("it was asked for").read_to_string(&mut said);
        }
        let mut podman = Self { keeper, life, namespace: None, name, folder };
        if said != "ready\n" {
            return Err(format!("podman cannot start a container here: {}", said.trim_end()));
        }
        podman.namespace = podman.first_process().and_then(PidNamespace::of);
        Ok(podman)
    }

    /// The client with its arguments. What follows is the command in the container.
    pub fn client(&self) -> Vec<String> {
        let wrapper = self.path_folder().join("podman").display().to_string();
        [wrapper.as_str(), "exec", "-i", &self.name].map(str::to_owned).to_vec()
    }

    /// A folder with a program `podman` that knows this container. For a test that puts the folder first on PATH: `podman
    /// exec -i NAME` then works as it does for a user.
    pub fn path_folder(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    /// The name of the container, which no other one has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A folder that goes with the container.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the root of the container is on this machine, without what is mounted into it.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// All processes in the container, by their ids here, but for the two that keep it alive.
    pub fn processes(&self) -> Vec<i32> {
        self.namespace.as_ref().map(PidNamespace::processes).unwrap_or_default()
    }

    /// The id here of a process that has the id `there` in the container.
    pub fn process_here(&self, there: i32) -> Option<i32> {
        self.namespace.as_ref()?.process_here(there)
    }

    /// Ends the container with everything in it, at once.
    pub fn switch_off(&mut self) {
        self.life = None;
        if !eventually(PATIENCE, || matches!(self.keeper.try_wait(), Ok(Some(_)))) {
            let mut remove = self.command();
            let _ = remove.args(["rm", "--force", "--time", "0", &self.name]).stdout(Stdio::null()).status();
            let _ = self.keeper.kill();
            let _ = self.keeper.wait();
        }
    }

    /// Podman, with the store of this container.
    pub(super) fn command(&self) -> Command {
        wrapped(self.folder.path())
    }

    fn first_process(&self) -> Option<i32> {
        let mut inspect = self.command();
        let answer = inspect.args(["inspect", "--format", "{{.State.Pid}}", &self.name]).output().ok()?;
        String::from_utf8_lossy(&answer.stdout).trim().parse().ok()
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        self.switch_off();
        let folder = self.folder.path();
        // A namespace for users without rights is kept open by a process of its own.
        if let Some(pause) =
            fs::read_to_string(folder.join("tmp/pause.pid")).ok().and_then(|pid| pid.trim().parse().ok())
            && program_of(pause) == "podman"
        {
            end(pause);
        }
        // Each command in the container had a monitor. Some stay for a while to call podman once more, for nothing.
        let text = folder.display().to_string();
        started(&text, &["conmon"]).into_iter().for_each(end);
        if !eventually(PATIENCE, || started(&text, &["conmon", "podman", "runc"]).is_empty()) {
            started(&text, &["conmon", "podman", "runc"]).into_iter().for_each(end);
        }
        remove_groups(&self.name);
    }
}

/// The processes of these programs that were started for this store.
fn started(folder: &str, programs: &[&str]) -> Vec<i32> {
    let all = mentioning(folder).into_iter().map(|process| process.pid);
    all.filter(|pid| programs.contains(&program_of(*pid).as_str())).collect()
}

/// Removes the control groups of the container, which are empty. Podman leaves the upper one behind.
fn remove_groups(name: &str) {
    let top = Path::new("/sys/fs/cgroup");
    let controllers = fs::read_dir(top).into_iter().flatten().flatten().map(|entry| entry.path());
    for group in controllers.chain([top.to_owned()]).map(|folder| folder.join(name)) {
        let _ = fs::remove_dir(group);
    }
}

fn read_only(options: &PodmanOptions) -> Vec<&'static str> {
    let root: &[&str] = match options.writable_root {
        Writable::Yes => &[],
        Writable::No => &["--read-only", "--read-only-tmpfs=false"],
    };
    let temporary: &[&str] = match options.temporary {
        Temporary::Plain => &[],
        Temporary::Separate => &["--tmpfs", "/tmp:rw,exec,mode=1777,size=256m"],
        Temporary::NoExec => &["--tmpfs", "/tmp:rw,noexec,mode=1777,size=256m"],
    };
    [root, temporary].concat()
}

#[expect(clippy::disallowed_methods, reason = "containers are started without the engine")]
fn wrapped(folder: &Path) -> Command {
    Command::new(folder.join("bin/podman"))
}

/// Podman with options that users do not have to type: a store of its own, and what works without systemd.
fn write_wrapper(folder: &Path) {
    let podman = program("podman", "podman").unwrap_or_else(|missing| panic!("{missing}"));
    let (podman, here) = (podman.display(), folder.display());
    // The other kind of lock is one piece of memory that all stores of a user share. The delay, for which monitors of
    // commands wait for clients of Docker that may still ask how a command ended, is five minutes otherwise.
    let settings = "[engine]\nlock_type = \"file\"\nexit_command_delay = 5\n";
    fs::write(folder.join("containers.conf"), settings).expect("the folder is ours");
    let runtime = if getuid().is_root() { String::new() } else { format!("export XDG_RUNTIME_DIR='{here}/user'\n") };
    let script = format!(
        "export CONTAINERS_CONF='{here}/containers.conf'\n{runtime}exec '{podman}' --root '{here}/store' \
         --runroot '{here}/run' --tmpdir '{here}/tmp' --storage-driver vfs --runtime runc --cgroup-manager cgroupfs \
         --events-backend none \"$@\""
    );
    fs::create_dir(folder.join("user")).expect("the folder is ours");
    write_program(&folder.join("bin"), "podman", &script);
}
