//! Which commands of a Chiton a process descends from.
//!
//! A keeper is the child subreaper of its command: whatever the command starts has the keeper among its ancestors, also
//! after `setsid` and a double fork. A keeper is known by its arguments, which no command can change, and these say which
//! policy the command was judged by. Whoever calls itself a keeper gains nothing: rules are only ever added.
//!
//! What leaves the tree is not found: something that `systemd-run`, `at`, a container or another machine starts.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chiton_guard::policy::{CheckedPolicy, GuardPolicy};
use sha2::{Digest, Sha256};

use crate::bytes::encode_hex;
use crate::folder::make_own;
use crate::protocol::KEEPER_ARGUMENT;

/// How the arguments of a keeper say by which policy its command was judged.
const FLOOR: &[u8] = b"guard=";
/// In place of the path of a policy, where that is the default.
const DEFAULT: &[u8] = b"default";
/// Longer chains do not occur; a number that was used again while we read might make a circle.
const MOST_ANCESTORS: usize = 1000;

/// Why the policy of the Chiton around this one is not known.
#[derive(Debug, thiserror::Error)]
#[error(
    "this chiton runs inside a command of another one, whose policy {} cannot be read: {error}. Nothing is run without it",
    path.display()
)]
pub struct UnknownFloor {
    /// Where it should be.
    pub path: PathBuf,
    /// Why it cannot be read.
    pub error: io::Error,
}

/// The policy that holds for this process because it runs inside a command of another Chiton; `None` where it does not,
/// or where the other one lets everything pass.
///
/// # Errors
/// When the policy cannot be read, or is not the one that was written.
pub fn floor() -> Result<Option<CheckedPolicy>, UnknownFloor> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let words: BTreeSet<OsString> = ancestors(own).filter_map(|pid| KeeperMark::of(pid)?.floor).collect();
    let mut floor: Option<CheckedPolicy> = None;
    for word in words {
        for policy in read(&word)? {
            let policy = policy.checked_elsewhere();
            floor = Some(match floor {
                Some(floor) => policy.above(floor),
                None => policy,
            });
        }
    }
    Ok(floor)
}

/// Writes down a policy for those that a command starts, and gives the argument by which a keeper names it. `None` where
/// everything passes.
///
/// Commands run on a full disk, too; only a Chiton that they start does not, since it cannot find its floor.
pub(crate) fn publish(policy: &CheckedPolicy, state_directory: &Path) -> Option<OsString> {
    if policy.is_off() {
        return None;
    }
    let layers: Vec<&GuardPolicy> = policy.layers().collect();
    if layers == [&GuardPolicy::default()] {
        return Some(OsString::from_vec([FLOOR, DEFAULT].concat()));
    }
    let text = serde_json::to_vec(&layers).unwrap_or_default();
    let path = state_directory.join("policy").join(encode_hex(&Sha256::digest(&text)));
    let _ = write_once(&path, &text);
    Some(OsString::from_vec([FLOOR, path.as_os_str().as_bytes()].concat()))
}

/// Writes a file whose name is the hash of its content, unless it is there.
fn write_once(path: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    make_own(folder)?;
    // Beside its place and then into it: another process may be reading it.
    let beside = folder.join(format!(".{}", std::process::id()));
    fs::write(&beside, text)?;
    fs::rename(beside, path)
}

/// The policies that the argument of a keeper names.
fn read(word: &OsStr) -> Result<Vec<GuardPolicy>, UnknownFloor> {
    let name = word.as_bytes();
    if name == DEFAULT {
        return Ok(vec![GuardPolicy::default()]);
    }
    let path = PathBuf::from(word);
    let text = fs::read(&path).map_err(|error| UnknownFloor { path: path.clone(), error })?;
    let is_whole = path.file_name() == Some(OsStr::new(&encode_hex(&Sha256::digest(&text))));
    let layers = serde_json::from_slice(&text).ok().filter(|_| is_whole);
    layers.ok_or_else(|| UnknownFloor { path, error: io::Error::other("it is not what was written") })
}

/// What the arguments of a keeper say.
struct KeeperMark {
    /// Its policy: a path, or [`DEFAULT`].
    floor: Option<OsString>,
}

impl KeeperMark {
    /// `None` where the process is not a keeper.
    fn of(pid: i32) -> Option<Self> {
        let line = read_at_once(&format!("/proc/{pid}/cmdline")).ok()?;
        let mut words = line.split(|byte| *byte == 0).skip(1);
        if words.next() != Some(KEEPER_ARGUMENT.as_bytes()) {
            return None;
        }
        let floor = words.find_map(|word| word.strip_prefix(FLOOR));
        Some(Self { floor: floor.map(|word| OsString::from_vec(word.to_vec())) })
    }
}

/// A process, its parent, and so on.
fn ancestors(pid: i32) -> impl Iterator<Item = i32> {
    let above = |pid: &i32| parent(*pid).filter(|parent| *parent > 0);
    std::iter::successors(Some(pid), above).take(MOST_ANCESTORS)
}

fn parent(pid: i32) -> Option<i32> {
    let stat = read_at_once(&format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may hold anything, also spaces and brackets.
    let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    std::str::from_utf8(rest).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// A file of the kernel's, which says nothing of its size. The usual way feels for it with nine calls instead of four, for
/// each process above this one whenever this program starts.
fn read_at_once(path: &str) -> io::Result<Vec<u8>> {
    let (mut file, mut found, mut piece) = (fs::File::open(path)?, Vec::new(), [0; 4096]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(found),
            Ok(count) => found.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// All processes at one moment, and which of them a command started that this process does not belong to itself.
#[derive(Debug)]
pub struct Family {
    parents: HashMap<i32, i32>,
    /// Keepers that are not above this process.
    keepers: BTreeSet<i32>,
}

impl Family {
    /// As it is now.
    pub fn now() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let parents: HashMap<i32, i32> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
        let own: BTreeSet<i32> = ancestors(i32::try_from(std::process::id()).unwrap_or(0)).collect();
        // Those of other users do not matter: their commands have no access to what is ours.
        let user = rustix::process::geteuid().as_raw();
        let is_ours = |pid: i32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|data| data.uid() == user);
        let is_keeper = |pid: &&i32| !own.contains(pid) && is_ours(**pid) && KeeperMark::of(**pid).is_some();
        let keepers = parents.keys().filter(is_keeper).copied().collect();
        Self { parents, keepers }
    }

    /// Whether a process was started by a command that this process does not itself belong to. One that is gone counts
    /// as such: nobody can say that it was not.
    pub fn is_of_a_command(&self, pid: i32) -> bool {
        let Some(first) = self.parents.get(&pid) else { return true };
        let above = |pid: &i32| self.parents.get(pid).copied().filter(|parent| *parent > 0);
        std::iter::successors(Some(*first), above).take(MOST_ANCESTORS).any(|pid| self.keepers.contains(&pid))
    }

    /// Whether a process that a command started has this socket, as far as the kernel lets us see. Where it hides some
    /// of them from us, the socket has to be seen with somebody else.
    pub fn command_has_socket(&self, inode: u64) -> bool {
        if self.keepers.is_empty() {
            return false;
        }
        let (commands, others): (Vec<i32>, Vec<i32>) =
            self.parents.keys().filter(|pid| !self.keepers.contains(pid)).partition(|pid| self.is_of_a_command(**pid));
        let held: Vec<Option<bool>> = commands.into_iter().map(|pid| has_socket(pid, inode)).collect();
        let is_hidden = held.contains(&None);
        held.contains(&Some(true)) || (is_hidden && !others.into_iter().any(|pid| has_socket(pid, inode) == Some(true)))
    }
}

/// `None` where we may not look.
fn has_socket(pid: i32, inode: u64) -> Option<bool> {
    let wanted = format!("socket:[{inode}]");
    match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(entries) => {
            let mut links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
            Some(links.any(|link| link.as_os_str() == wanted.as_str()))
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        // It has ended.
        Err(_) => Some(false),
    }
}
