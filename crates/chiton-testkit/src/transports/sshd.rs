//! OpenSSH's server on a machine of its own ([`Machine`]), with its own keys, on a loopback port.
//!
//! The server starts the real login shell of the user there, as it would anywhere. The user has the name of the user of
//! this machine; the keys, the home and the login shell are those of the fixture.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getuid};

use super::{Machine, MachineOptions, ReservedPort, end, program, signal, write_program};
use crate::processes::{eventually, parent_of, program_of};

/// How long the server may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the server and its machine are like.
#[derive(Clone, Debug)]
pub struct SshdOptions {
    /// The name by which the client's settings know it ([`Sshd::config`]).
    pub alias: String,
    /// Login shell, files in the home, variables, host name.
    pub machine: MachineOptions,
    /// What the server prints before the login; the client shows it on its standard error.
    pub banner: Option<String>,
    /// More lines of `sshd_config`, for instance `ForceCommand …`. They come first, and the first to say something wins.
    pub settings: Vec<String>,
}

impl Default for SshdOptions {
    fn default() -> Self {
        Self { alias: "far".to_owned(), machine: MachineOptions::default(), banner: None, settings: Vec::new() }
    }
}

/// A server. It ends when this goes away, with all its connections and all that was started through them.
#[derive(Debug)]
pub struct Sshd {
    /// The one that listens, or rather the `nsenter` that waits for it; none while connections are refused.
    listener: Option<Child>,
    alias: String,
    port: ReservedPort,
    machine: Machine,
}

impl Sshd {
    /// Why there can be none here.
    pub fn available() -> Result<(), String> {
        program("sshd", "openssh-server")?;
        program("ssh", "openssh-client")?;
        program("ssh-keygen", "openssh-client")?;
        Machine::available()
    }

    /// Starts one that accepts connections.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(options: &SshdOptions) -> Self {
        let machine = Machine::start(&options.machine);
        let port = ReservedPort::take();
        make_keys(machine.folder());
        write_server_settings(&machine, port.number(), options);
        let mut sshd = Self { listener: None, alias: options.alias.clone(), port, machine };
        sshd.write_client_settings(sshd.port());
        sshd.accept_connections();
        sshd
    }

    /// The client with its options and the destination. What follows is the command on the other machine.
    pub fn client(&self) -> Vec<String> {
        self.client_through(self.port())
    }

    /// The same through another port of this machine, where a [`Proxy`](super::Proxy) leads to the server.
    ///
    /// # Panics
    /// When ssh is not installed.
    pub fn client_through(&self, port: u16) -> Vec<String> {
        let file = |name: &str| self.machine.folder().join(name).display().to_string();
        let ssh = program("ssh", "openssh-client").expect("Sshd::available was asked").display().to_string();
        let mut words = vec![ssh, "-F".into(), "none".into(), "-p".into(), port.to_string()];
        words.extend(["-i".into(), file("id")]);
        for option in self.client_options() {
            words.extend(["-o".to_owned(), option]);
        }
        words.push(format!("{}@127.0.0.1", self.machine.user()));
        words
    }

    /// Settings of the client in which this server is a `Host`, for `ssh -F FILE ALIAS`.
    pub fn config(&self) -> PathBuf {
        self.machine.folder().join("ssh_config")
    }

    /// From now on the alias leads through this port, as in [`Self::client_through`].
    pub fn lead_alias_through(&self, port: u16) {
        self.write_client_settings(port);
    }

    /// The name of that `Host`.
    pub fn alias(&self) -> &str {
        &self.alias
    }

    /// Where it listens, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The machine it runs on.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The same, to switch it off.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// What the server has written down.
    pub fn log(&self) -> String {
        fs::read_to_string(self.machine.folder().join("log")).unwrap_or_default()
    }

    /// How many logins there were so far, ended ones too.
    pub fn logins(&self) -> usize {
        self.log().lines().filter(|line| line.starts_with("Accepted ")).count()
    }

    /// The connections that live now, logged in or not yet.
    pub fn connections(&self) -> Vec<Connection> {
        let listener = self.listener_pid();
        let is_server = |pid: i32| program_of(pid).starts_with("sshd") && Some(pid) != listener;
        let servers: Vec<i32> = self.machine.processes().into_iter().filter(|pid| is_server(*pid)).collect();
        let is_child = |pid: i32, of: i32| parent_of(pid) == u32::try_from(of).unwrap_or_default();
        let is_first = |pid: i32| !servers.iter().any(|other| is_child(pid, *other));

        let first = servers.iter().copied().filter(|pid| is_first(*pid));
        let connection = |first: i32| {
            let rest = servers.iter().copied().filter(|pid| is_child(*pid, first));
            Connection { servers: [first].into_iter().chain(rest).collect() }
        };
        first.map(connection).collect()
    }

    /// From now on nobody listens, and clients are told "connection refused". Open connections go on.
    ///
    /// # Panics
    /// When the server does not end.
    pub fn refuse_connections(&mut self) {
        let Some(pid) = self.listener_pid() else { return };
        end(pid);
        let mut listener = self.listener.take().expect("it has an id");
        listener.wait().expect("it is our child");
    }

    /// Accepts connections again.
    ///
    /// # Panics
    /// When the server does not start.
    pub fn accept_connections(&mut self) {
        if self.listener.is_some() {
            return;
        }
        let folder = self.machine.folder();
        // Left by one that was killed; the new one writes its own when it listens.
        let _ = fs::remove_file(folder.join("sshd.pid"));
        let sshd = program("sshd", "openssh-server").unwrap_or_else(|missing| panic!("{missing}"));
        let mut command = self.machine.command(&sshd.display().to_string());
        command.arg("-D").arg("-f").arg(folder.join("sshd_config")).arg("-E").arg(folder.join("log"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.listener = Some(command.spawn().expect("nsenter starts"));
        assert!(eventually(PATIENCE, || self.listener_pid().is_some()), "sshd does not listen: {}", self.log());
    }

    fn listener_pid(&self) -> Option<i32> {
        self.listener.as_ref()?;
        let there = fs::read_to_string(self.machine.folder().join("sshd.pid")).ok()?;
        self.machine.process_here(there.trim().parse().ok()?)
    }

    /// What the client needs to know apart from where to go.
    fn client_options(&self) -> [String; 6] {
        let folder = self.machine.folder().display();
        [
            "BatchMode=yes".to_owned(),
            "IdentitiesOnly=yes".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            format!("UserKnownHostsFile={folder}/known_hosts"),
            "GlobalKnownHostsFile=none".to_owned(),
            // The key is this server's, whatever port leads to it.
            format!("HostKeyAlias={}", self.alias),
        ]
    }

    fn write_client_settings(&self, port: u16) {
        let folder = self.machine.folder();
        let key = fs::read_to_string(folder.join("host_key.pub")).expect("ssh-keygen has made it");
        fs::write(folder.join("known_hosts"), format!("{} {key}", self.alias)).expect("the folder is ours");

        let mut config = format!("Host {}\n  HostName 127.0.0.1\n  Port {port}\n", self.alias);
        let _ = writeln!(config, "  User {}\n  IdentityFile {}", self.machine.user(), folder.join("id").display());
        for option in self.client_options() {
            let _ = writeln!(config, "  {}", option.replacen('=', " ", 1));
        }
        fs::write(self.config(), config).expect("the folder is ours");
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.machine.switch_off();
        if let Some(mut listener) = self.listener.take() {
            let _ = listener.wait();
        }
    }
}

/// The server's processes of one connection; the commands that it has started are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Their ids, the first one first.
    pub servers: Vec<i32>,
}

impl Connection {
    /// Ends them with SIGKILL. The client loses the connection; the commands lose their pipes and nothing else.
    pub fn kill(&self) {
        self.servers.iter().for_each(|pid| end(*pid));
    }

    /// Stops them: the connection stays open and nothing comes through.
    pub fn stall(&self) {
        self.servers.iter().for_each(|pid| signal(*pid, Signal::STOP));
    }

    /// Lets them go on.
    pub fn resume(&self) {
        self.servers.iter().for_each(|pid| signal(*pid, Signal::CONT));
    }
}

/// Writes a program `ssh` into `folder` which knows these servers by their aliases. For a test that puts the folder first
/// on PATH: `ssh far` then works as it does for a user who has written the settings.
///
/// # Panics
/// When it cannot be written, or ssh is not installed.
pub fn put_ssh_on_path(folder: &Path, servers: &[&Sshd]) {
    let ssh = program("ssh", "openssh-client").unwrap_or_else(|missing| panic!("{missing}"));
    let includes: Vec<String> = servers.iter().map(|server| format!("Include {}", server.config().display())).collect();
    let config = folder.join("ssh_config");
    fs::write(&config, includes.join("\n") + "\n").expect("the folder can be written to");
    let script = format!("exec '{}' -F '{}' \"$@\"", ssh.display(), config.display());
    write_program(folder, "ssh", &script);
}

#[expect(clippy::disallowed_methods, reason = "keys are made without the engine")]
fn make_keys(folder: &Path) {
    for name in ["host_key", "id"] {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(folder.join(name));
        assert!(command.status().is_ok_and(|status| status.success()), "ssh-keygen makes no key");
    }
    fs::copy(folder.join("id.pub"), folder.join("authorized_keys")).expect("ssh-keygen has made it");
}

fn write_server_settings(machine: &Machine, port: u16, options: &SshdOptions) {
    let folder = machine.folder().display();
    let mut settings = options.settings.clone();
    settings.extend([
        format!("Port {port}"),
        "ListenAddress 127.0.0.1".to_owned(),
        format!("HostKey {folder}/host_key"),
        format!("AuthorizedKeysFile {folder}/authorized_keys"),
        format!("PidFile {folder}/sshd.pid"),
        // A temporary folder is below one that everybody can write to.
        "StrictModes no".to_owned(),
        "PermitRootLogin prohibit-password".to_owned(),
        "PasswordAuthentication no".to_owned(),
        "KbdInteractiveAuthentication no".to_owned(),
        "UsePAM no".to_owned(),
        "UseDNS no".to_owned(),
        "PrintMotd no".to_owned(),
        "PrintLastLog no".to_owned(),
        // The defaults turn some away by chance where many come at once.
        "MaxStartups 1000".to_owned(),
        "MaxSessions 1000".to_owned(),
        "Subsystem sftp internal-sftp".to_owned(),
    ]);
    if let Some(banner) = &options.banner {
        fs::write(machine.folder().join("banner"), banner).expect("the folder is ours");
        settings.push(format!("Banner {folder}/banner"));
    }
    let variables = machine.added_environment();
    if !variables.is_empty() {
        // Only the first such line counts.
        let all: Vec<String> = variables.iter().map(|(name, value)| format!("\"{name}={}\"", quoted(value))).collect();
        settings.push(format!("SetEnv {}", all.join(" ")));
    }
    let path = machine.folder().join("sshd_config");
    fs::write(&path, settings.join("\n") + "\n").expect("the folder is ours");
    forgive_lost_connections(machine, &path);

    // The super-user's server wants an empty folder to lock itself up in. The system's service makes it, too, and all
    // servers share it, so it stays.
    if getuid().is_root() {
        fs::create_dir_all("/run/sshd").expect("the super-user can make it");
    }
}

/// A value between the quotes of `sshd_config`.
fn quoted(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"")
}

/// From version 9.8 on, the server shuts out for a while whoever loses connections, which tests do on purpose. Older
/// ones refuse to start with the setting that prevents this.
fn forgive_lost_connections(machine: &Machine, config: &Path) {
    let settings = fs::read_to_string(config).expect("it was just written");
    let forgiving = machine.folder().join("sshd_config.new");
    fs::write(&forgiving, settings + "PerSourcePenalties no\n").expect("the folder is ours");
    let sshd = program("sshd", "openssh-server").unwrap_or_else(|missing| panic!("{missing}"));
    let mut check = machine.command(&sshd.display().to_string());
    check.arg("-t").arg("-f").arg(&forgiving).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if check.status().is_ok_and(|status| status.success()) {
        fs::rename(&forgiving, config).expect("the folder is ours");
    }
}
