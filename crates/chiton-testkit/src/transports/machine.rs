//! Another machine, as far as processes can tell: their own process ids, host name, home and login shell.
//!
//! The files and the network are those of this machine. What makes it another one are namespaces of the kernel, which
//! `unshare` makes and `nsenter` enters. Their first process, a shell, waits until the test closes a pipe or dies; with it
//! the kernel ends whatever was started there, however well it hid.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::{getgid, getuid};
use tempfile::TempDir;

use super::namespace::PidNamespace;
use super::program;
use crate::processes::{eventually, parent_of, pids};

/// What a machine is connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// What this machine is connected to: each reaches the servers of the other on loopback.
    #[default]
    Shared,
    /// Nothing. It has every port for itself; whoever wants to talk to it joins it ([`Machine::joining_network`]).
    Own,
}

/// What is different on the other machine.
#[derive(Clone, Debug)]
pub struct MachineOptions {
    /// What `hostname` says there; that of this machine if empty.
    pub host_name: String,
    /// The login shell of the user.
    pub login_shell: PathBuf,
    /// Files in the user's home, by their path below it, for instance `.bashrc`.
    pub home_files: BTreeMap<String, String>,
    /// Variables that everything has which is started there. A value that begins with `~/` is a path below the home.
    pub environment: BTreeMap<String, String>,
    /// What it is connected to.
    pub network: Network,
}

impl Default for MachineOptions {
    fn default() -> Self {
        Self {
            host_name: "far".to_owned(),
            login_shell: program("bash", "bash").unwrap_or_else(|_| "/bin/sh".into()),
            home_files: BTreeMap::new(),
            environment: BTreeMap::new(),
            network: Network::default(),
        }
    }
}

/// Another machine, on which the user of this one has the same name and id. It is switched off when this goes away.
#[derive(Debug)]
pub struct Machine {
    /// `unshare`, which ends when the first process there has ended and taken all others along.
    keeper: Child,
    /// The first process ends when nobody holds this any more.
    life: Option<ChildStdin>,
    namespace: PidNamespace,
    user: String,
    options: MachineOptions,
    /// The last field: it is removed when nobody is left to use it.
    folder: TempDir,
}

/// Makes the files of the user visible, says so, and waits for the end of its input. `wait` also collects what others
/// leave behind, which is the duty of a first process.
const INIT: &str = r#"
exec 3<&0 </dev/null
mount --bind "$1/passwd" /etc/passwd || exit
if [ "$(id -u)" = 0 ] && [ -e /etc/shadow ]; then mount --bind "$1/shadow" /etc/shadow || exit; fi
if [ -n "$2" ]; then hostname "$2" && mount --bind "$1/hosts" /etc/hosts || exit; fi
# Some programs look up no name at all where there is no address but that of loopback.
if [ "$3" = Own ]; then ip link set lo up && ip address add 192.0.2.1/32 dev lo || exit; fi
echo ready
exec >/dev/null 2>&1
cat <&3 & wait "$!"
"#;

impl Machine {
    /// Why there can be none here.
    pub fn available() -> Result<(), String> {
        for name in ["unshare", "nsenter", "mount"] {
            program(name, "util-linux")?;
        }
        program("hostname", "hostname")?;
        let mut attempt = unshare(Network::Shared);
        let tried = attempt.args(["true"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
        let tried = tried.map_err(|error| format!("unshare does not start: {error}"))?;
        let reason = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
        if tried.status.success() { Ok(()) } else { Err(format!("namespaces cannot be made here: {reason}")) }
    }

    /// Switches one on.
    ///
    /// # Panics
    /// When that cannot be done here.
    pub fn start(options: &MachineOptions) -> Self {
        let folder = tempfile::Builder::new().prefix("far-").tempdir().expect("a temporary folder can be made");
        let home = folder.path().join("home");
        for (name, text) in &options.home_files {
            let path = home.join(name);
            fs::create_dir_all(path.parent().expect("it is below the home")).expect("the folder is ours");
            fs::write(path, text).expect("the folder is ours");
        }
        fs::create_dir_all(&home).expect("the folder is ours");
        let user = write_accounts(folder.path(), &home, &options.login_shell);
        write_hosts(folder.path(), &options.host_name);

        let mut command = unshare(options.network);
        command.args(["sh", "-c", INIT, "init"]).arg(folder.path()).arg(&options.host_name);
        command.arg(format!("{:?}", options.network));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut keeper = command.spawn().expect("unshare starts");
        let life = keeper.stdin.take();
        let mut said = String::new();
        let _ = BufReader::new(keeper.stdout.take().expect("it was asked for")).read_line(&mut said);
        if said != "ready\n" {
            let _ = keeper.stderr.take().expect("it was asked for").read_to_string(&mut said);
            let _ = keeper.wait();
            panic!("the other machine does not start: {said}");
        }

        let keeper_id = keeper.id();
        let init = pids().find(|pid| parent_of(*pid) == keeper_id).expect("unshare has started the first process");
        let namespace = PidNamespace::of(init).expect("the first process lives");
        Self { keeper, life, namespace, user, options: options.clone(), folder }
    }

    /// A program on that machine, to which arguments can be added: in the user's home, with the environment of a login.
    pub fn command(&self, program: &str) -> Command {
        let mut command = nsenter(self.namespace.first(), self.options.network);
        // Entering the mounts leads to the root; only what is already there can go to a folder of theirs.
        command.args(["sh", "-c", r#"cd "$HOME" && exec "$@""#, "sh", program]);
        command.env_clear().envs(self.environment());
        command
    }

    /// The variables that a login has there.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let text = |path: &Path| path.to_str().expect("temporary folders have plain names").to_owned();
        let own = [
            ("HOME", text(&self.home())),
            ("LOGNAME", self.user.clone()),
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ("SHELL", text(&self.options.login_shell)),
            ("USER", self.user.clone()),
        ];
        let mut all: BTreeMap<String, String> = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        all.extend(self.added_environment());
        all
    }

    /// Those of them that the options have added.
    pub fn added_environment(&self) -> BTreeMap<String, String> {
        let below_home = |value: &str| match value.strip_prefix("~/") {
            Some(rest) => self.home().join(rest).display().to_string(),
            None => value.to_owned(),
        };
        self.options.environment.iter().map(|(name, value)| (name.clone(), below_home(value))).collect()
    }

    /// What a script puts before a command of this machine that is to see the network of that one, and nothing else of it.
    /// The command keeps its process id.
    pub fn joining_network(&self) -> String {
        let user = if getuid().is_root() { "" } else { "--user --preserve-credentials " };
        format!("nsenter {user}--net --target {} --", self.namespace.first())
    }

    /// A folder that goes with the machine; the home is in it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The home of the user there; it has the same path here.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The name of the user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// What the options said.
    pub fn options(&self) -> &MachineOptions {
        &self.options
    }

    /// All processes there, by their ids here, but for the two that keep the machine on.
    pub fn processes(&self) -> Vec<i32> {
        self.namespace.processes()
    }

    /// The id here of a process that has the id `there` on that machine.
    pub fn process_here(&self, there: i32) -> Option<i32> {
        self.namespace.process_here(there)
    }

    /// Switches it off, as a loss of power would: everything that runs there ends at once.
    pub fn switch_off(&mut self) {
        self.life = None;
        if !eventually(Duration::from_secs(10), || matches!(self.keeper.try_wait(), Ok(Some(_)))) {
            // It asks the kernel to end the first process with it.
            let _ = self.keeper.kill();
            let _ = self.keeper.wait();
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.switch_off();
    }
}

/// The files that say who the user is: those of this machine with another home and another login shell. Gives the user's
/// name.
fn write_accounts(folder: &Path, home: &Path, shell: &Path) -> String {
    let (uid, gid) = (getuid().as_raw(), getgid().as_raw());
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_own = |line: &&str| line.split(':').nth(2) == Some(&uid.to_string());
    let user = accounts.lines().find(is_own).and_then(|line| line.split(':').next()).unwrap_or("tester");

    let mut changed = format!("{user}:*:{uid}:{gid}::{}:{}\n", home.display(), shell.display());
    for line in accounts.lines().filter(|line| !is_own(line)) {
        let _ = writeln!(changed, "{line}");
    }
    fs::write(folder.join("passwd"), changed).expect("the folder is ours");
    // Without a password, which is not the same as locked: a key opens it.
    fs::write(folder.join("shadow"), format!("{user}:*:1::::::\n")).expect("the folder is ours");
    user.to_owned()
}

/// The machine's name leads to the machine itself.
fn write_hosts(folder: &Path, host_name: &str) {
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    fs::write(folder.join("hosts"), format!("127.0.0.1 {host_name}\n{hosts}")).expect("the folder is ours");
}

/// Without the rights of the super-user, a namespace of users comes first, in which the user has them for a moment.
fn as_user() -> &'static [&'static str] {
    if getuid().is_root() { &[] } else { &["--user", "--map-current-user", "--keep-caps"] }
}

#[expect(clippy::disallowed_methods, reason = "the other machine is not the engine's")]
fn unshare(network: Network) -> Command {
    let mut command = Command::new("unshare");
    command.args(as_user()).args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]);
    if network == Network::Own {
        command.arg("--net");
    }
    command
}

#[expect(clippy::disallowed_methods, reason = "the other machine is not the engine's")]
fn nsenter(target: i32, network: Network) -> Command {
    let mut command = Command::new("nsenter");
    if !getuid().is_root() {
        command.args(["--user", "--preserve-credentials"]);
    }
    if network == Network::Own {
        command.arg("--net");
    }
    command.args(["--mount", "--pid", "--uts", "--target", &target.to_string(), "--"]);
    command
}
