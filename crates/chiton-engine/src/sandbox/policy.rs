//! What a sandbox allows: paths, names, sockets and limits, all of them settled. Whoever makes a [`SandboxPolicy`] has
//! replaced every `@group` and every `~` by what it stands for on this machine; nothing here looks anything up.

use std::path::{Path, PathBuf};

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
}

impl SandboxPolicy {
    /// Whether it limits how much is used and nothing else: everything may be changed and reached, and nothing is hidden.
    pub fn is_limits_alone(&self) -> bool {
        self.write.iter().any(|path| path.as_os_str() == "/")
            && self.hide.is_empty()
            && self.keep.is_empty()
            && self.network == NetworkPolicy::Open
    }

    /// The names that may be reached, where these are listed.
    pub fn rules(&self) -> &[HostRule] {
        if let NetworkPolicy::Named(rules) = &self.network { rules } else { &[] }
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

/// What becomes of a command where the kernel lacks a layer that its policy wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MissingLayer {
    /// It is not run.
    Refuse,
    /// It runs, and its reply names what is weaker.
    Say,
}
