//! Landlock's rules: nothing is changed but in writable places. Where there are no mounts of our own, what may be read is
//! listed too, so that what is hidden is left out.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::open_place;
use crate::sandbox::policy::SandboxPolicy;
use crate::sys::landlock::{FIRST_WITH_SCOPES, FIRST_WITH_SOCKETS, Ruleset, Scopes, right};

/// Whether rules are about reading, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// Mounts hide what is hidden.
    Free,
    /// Everything that is not hidden is listed, as it is now.
    Listed,
}

pub(super) struct MadeRules {
    pub(super) ruleset: Ruleset,
    pub(super) absent: Vec<PathBuf>,
    pub(super) weaker: Vec<String>,
}

/// Devices that everybody writes to, and those that programs compute and draw with.
const DEVICES: [&str; 12] =
    ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "dri", "nvidia0", "nvidiactl", "nvidia-uvm"];

pub(super) fn build(
    policy: &SandboxPolicy,
    hand_back: &Path,
    version: u32,
    reads: Reads,
    own_network: bool,
) -> io::Result<MadeRules> {
    let lists_reads = reads == Reads::Listed && !policy.hide.is_empty();
    let change = right::change(version);
    let sockets = if version >= FIRST_WITH_SOCKETS { right::USE_SOCKET } else { 0 };
    let handled = change | sockets | if lists_reads { right::READ } else { 0 };
    let scoped = version >= FIRST_WITH_SCOPES;
    // In a network of its own, the sockets without a path are its own as well.
    let scopes = Scopes { abstract_sockets: scoped && !own_network, signals: scoped };
    let ruleset = Ruleset::new(version, handled, scopes)?;

    let mut absent = Vec::new();
    for path in &policy.write {
        if !allow(&ruleset, path, handled & !sockets)? {
            absent.push(path.clone());
        }
    }
    if sockets != 0 {
        for path in policy.sockets.iter().chain(&policy.workspace) {
            allow(&ruleset, path, sockets)?;
        }
    }
    allow(&ruleset, hand_back, handled)?;
    for device in DEVICES {
        allow(
            &ruleset,
            &Path::new("/dev").join(device),
            right::WRITE_FILE | right::change(version) & right::OF_A_FILE,
        )?;
    }

    let mut weaker = Vec::new();
    if lists_reads {
        let hidden: Vec<PathBuf> = policy.hide.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        list_readable(&ruleset, Path::new("/"), &hidden)?;
        weaker.push("hidden: listed at the start, so names in folders above what is hidden can be seen".to_owned());
    }
    if !scoped {
        let why = format!("signals and sockets without a path: Landlock {version} cannot hold them");
        weaker.push(why);
    }
    Ok(MadeRules { ruleset, absent, weaker })
}

/// Whether there is something to allow it for.
fn allow(ruleset: &Ruleset, path: &Path, rights: u64) -> io::Result<bool> {
    let Ok(place) = open_place(path) else { return Ok(false) };
    let data = rustix::fs::fstat(&place)?;
    let is_folder = rustix::fs::FileType::from_raw_mode(data.st_mode).is_dir();
    let rights = if is_folder { rights } else { rights & right::OF_A_FILE };
    ruleset.allow(place.as_fd(), rights)?;
    Ok(true)
}

/// Allows to read everything below `folder` that is not hidden. Folders above something hidden can be listed, which shows
/// names and nothing else.
fn list_readable(ruleset: &Ruleset, folder: &Path, hidden: &[PathBuf]) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let path = entry.path();
        if hidden.contains(&path) {
            continue;
        }
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link {
            continue;
        }
        if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            list_readable(ruleset, &path, hidden)?;
        } else {
            allow(ruleset, &path, right::READ)?;
        }
    }
    Ok(())
}
