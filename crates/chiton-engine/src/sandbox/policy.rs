//! What a sandbox allows: paths, names, sockets and limits, all of them settled. Whoever makes a [`SandboxPolicy`] has
//! replaced every `@group` and every `~` by what it stands for on this machine; nothing here looks anything up.

use std::fmt;
use std::path::{Path, PathBuf};

use chiton_guard::Boundary;
use serde::{Deserialize, Serialize};

/// What commands may do. An empty list means nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// The name of the profile that it was made from.
    pub profile: String,
    /// The directory that the client serves and its like: what the writable places are there for.
    pub workspace: Vec<PathBuf>,
    /// Files and folders, with everything in them, that may be changed.
    pub write: Vec<PathBuf>,
    /// Places of `write` that programs make by themselves: made where they are missing, removed at the end if they stayed
    /// empty.
    pub made: Vec<MadePlace>,
    /// Files and folders that look empty.
    pub hide: Vec<PathBuf>,
    /// Files and folders inside of `write` that may be read and not be changed, made or removed.
    pub keep: Vec<PathBuf>,
    /// What can be reached over the network.
    pub network: NetworkPolicy,
    /// Unix sockets outside of `write` that may be connected to.
    pub sockets: Vec<PathBuf>,
    /// Ports of the session's own network that are reachable from outside of it.
    pub expose: Vec<u16>,
    /// How much commands may use.
    pub limits: SandboxLimits,
    /// What becomes of a command where a layer is missing.
    pub missing: MissingLayer,
    /// What becomes of what commands change and remove in the workspace.
    pub undo: UndoPolicy,
}

impl SandboxPolicy {
    /// Whether it limits how much is used and nothing else: everything may be changed and reached, and nothing is hidden.
    pub fn is_limits_alone(&self) -> bool {
        self.write.iter().any(|path| path.as_os_str() == "/")
            && self.hide.is_empty()
            && self.keep.is_empty()
            && self.network == NetworkPolicy::Open
    }

    /// What commands may do, for whoever sends them: two sentences.
    pub fn in_words(&self) -> String {
        let is_writable = |path: &&PathBuf| self.write.iter().any(|root| path.starts_with(root));
        let places: Vec<String> =
            self.workspace.iter().filter(is_writable).map(|path| path.display().to_string()).collect();
        let changes = match (places.as_slice(), self.workspace.is_empty()) {
            ([], true) => {
                "they can change files in temporary folders and caches only, since no folder is the workspace (a \
                           person names one with --add-dir DIR)"
                    .to_owned()
            }
            ([], false) => "they can read files, and change those in temporary folders".to_owned(),
            _ => format!("they can change files in {}, in temporary folders and in caches", places.join(", ")),
        };
        let network = match &self.network {
            NetworkPolicy::Open => "",
            NetworkPolicy::Named(_) => ", and reach the hosts that a person has listed",
            NetworkPolicy::Off => ", and have no network",
        };
        let hidden = if self.hide.is_empty() { "" } else { "; logins of this user look empty to them" };
        format!(
            "Commands run in the sandbox {}: {changes}{network}{hidden}. A reply names what was refused, and how a person \
             allows it.",
            self.profile
        )
    }

    /// The folders in which what commands change and remove is kept: those of the workspace that can be changed.
    pub fn kept_roots(&self) -> Vec<PathBuf> {
        let is_writable = |root: &&PathBuf| self.write.iter().any(|place| root.starts_with(place));
        let is_kept = |root: &&PathBuf| self.undo.keeps() && is_writable(root);
        self.workspace.iter().filter(is_kept).cloned().collect()
    }

    /// What cannot be reached inside, and what can be undone, as the guard has to know it. It is true only where every layer
    /// holds.
    pub fn boundary(&self) -> Boundary {
        let texts = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let serves = |socket: &PathBuf| MACHINE_SERVICES.iter().any(|service| Path::new(service).starts_with(socket));
        Boundary {
            profile: self.profile.clone(),
            write: texts(&self.write),
            keep: texts(&self.keep),
            hide: texts(&self.hide),
            undo: if self.undo == UndoPolicy::Keep { texts(&self.kept_roots()) } else { Vec::new() },
            holds_machine: !self.is_limits_alone() && !self.sockets.iter().chain(&self.write).any(serves),
        }
    }

    /// The same, with what a person has allowed beyond it.
    #[must_use]
    pub(crate) fn widened(&self, by: impl IntoIterator<Item = Widening>) -> Self {
        let mut wider = self.clone();
        for widening in by {
            match widening {
                Widening::Write(path) => wider.write.push(path),
                Widening::Socket(path) => wider.sockets.push(path),
                Widening::Host(rule) => {
                    if let NetworkPolicy::Named(rules) = &mut wider.network {
                        rules.push(rule);
                    }
                }
            }
        }
        wider
    }

    /// The names that may be reached, where these are listed.
    pub fn rules(&self) -> &[HostRule] {
        if let NetworkPolicy::Named(rules) = &self.network { rules } else { &[] }
    }
}

/// One thing more than a profile allows, by the consent of a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Widening {
    /// A file, or a folder with everything in it, may be changed.
    Write(PathBuf),
    /// A Unix socket may be connected to.
    Socket(PathBuf),
    /// A name may be reached.
    Host(HostRule),
}

impl fmt::Display for Widening {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(path) => write!(formatter, "write {}", path.display()),
            Self::Socket(path) => write!(formatter, "connect to the socket {}", path.display()),
            Self::Host(HostRule { host, port: Some(port) }) => write!(formatter, "reach {host}:{port}"),
            Self::Host(HostRule { host, port: None }) => write!(formatter, "reach {host}"),
        }
    }
}

/// What a program makes by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MadePlace {
    /// A folder, with those above it.
    Folder(PathBuf),
    /// An empty file, like a lock.
    File(PathBuf),
}

impl MadePlace {
    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::File(path) => path,
        }
    }
}

/// The sockets of services that change the machine for whoever asks them and may.
const MACHINE_SERVICES: &[&str] = &[
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/io.systemd.ManagedOOM",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/snapd.socket",
    "/run/libvirt/libvirt-sock",
    "/run/acpid.socket",
];

/// What can be reached over the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NetworkPolicy {
    /// Everything that the machine reaches but for addresses that no name should lead to: link-local ones, where clouds
    /// keep credentials.
    Open,
    /// These names and nothing else; the session has a network of its own.
    Named(Vec<HostRule>),
    /// Nothing but what the session's own commands listen on.
    Off,
}

/// A name that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostRule {
    /// In lower case, without a trailing dot. `*.example.org` stands for every name below `example.org`, and not for
    /// that itself.
    pub host: String,
    /// `None` stands for 80 and 443.
    pub port: Option<u16>,
}

/// How much commands may use. `None` is as much as the user may anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Bytes of memory: data of each process, and what all processes of a command use together.
    pub memory: Option<u64>,
    /// Processes and threads of the session.
    pub processes: Option<u64>,
    /// Seconds of processor time of each process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of the largest file.
    pub file: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// Bytes that have to stay free on the disk of the workspace.
    pub free: Option<u64>,
}

/// What becomes of what commands change and remove in the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UndoPolicy {
    /// It is gone.
    #[default]
    Off,
    /// It is kept, so that a command can be undone. The guard asks about what destroys it, as it does without.
    KeepAndAsk,
    /// It is kept, so that a command can be undone, and so the guard need not ask about it.
    Keep,
}

impl UndoPolicy {
    /// Whether anything is kept.
    pub fn keeps(self) -> bool {
        self != Self::Off
    }
}

/// What becomes of a command where the kernel lacks a layer that its policy wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MissingLayer {
    /// It is not run.
    Refuse,
    /// It runs, and its reply names what is weaker.
    Say,
}
