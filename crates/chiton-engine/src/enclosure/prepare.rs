//! Makes the namespaces and rules of a sandbox, in a process of its own that ends when they are made.
//!
//! 1. [`serve`] reads a [`PrepareOrder`] and makes a copy of this process. The copy enters new namespaces; the original
//!    writes their tables of users, which only somebody outside may do in full.
//! 2. The copy builds the view ([`view::build`]) and Landlock's rules ([`rules::build`]), and sends the descriptors of
//!    both with a [`Prepared`] to the engine. Namespaces and rules live as long as anybody holds these.
//! 3. Where a kernel refuses any of it, the same is tried without; what is weaker then is part of the answer.
//!
//! Nothing here decides what is allowed: the policy says it, and its paths are taken as they are.

mod datagrams;
mod overlay;
mod rules;
mod view;

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use super::network::{self, inside, inside::Sockets};
use crate::run::DirectoryId;
use crate::sandbox::Without;
use crate::sandbox::policy::{NetworkPolicy, SandboxPolicy};
use crate::sys::namespaces::{Forked, fork, leave, unshare};
use crate::sys::process::{WaitStatus, wait_for};
use crate::sys::seccomp::Filter;
use crate::sys::{descriptors, landlock, messages};

/// What is to be prepared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PrepareOrder {
    pub(crate) policy: SandboxPolicy,
    /// Where shells of the sandbox hand their state back: a folder that stays visible and writable whatever is hidden.
    pub(crate) hand_back: PathBuf,
    /// Layers to do without.
    pub(crate) without: Without,
    /// What is shown in place of what is there, for a command that is only tried.
    pub(crate) preview: Option<PreviewView>,
}

/// What a preview shows in place of what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreviewView {
    pub(crate) overlays: Vec<Overlay>,
    /// Folders in which whatever is written is seen by the command alone, and is gone with it.
    pub(crate) private: Vec<PathBuf>,
    /// Folders of ours that hold what is written. They look empty.
    pub(crate) own: Vec<PathBuf>,
    /// Where the command starts, and which directory that is outside.
    pub(crate) directory: (PathBuf, DirectoryId),
}

impl PreviewView {
    /// The folders that are not what they are outside.
    pub(super) fn places(&self) -> impl Iterator<Item = PathBuf> {
        let overlaid = self.overlays.iter().map(|overlay| &overlay.root);
        overlaid.chain(&self.private).cloned()
    }
}

/// A folder that looks as if it was written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Overlay {
    pub(crate) root: PathBuf,
    /// What is written goes here.
    pub(crate) upper: PathBuf,
    /// What the kernel needs besides, on the same file system.
    pub(crate) work: PathBuf,
}

/// What was prepared. The descriptors come with it, in this order: users, mounts, messages, the network, rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Prepared {
    /// Whether there are namespaces of users and mounts, or why there are none.
    pub(crate) namespaces: Layer,
    /// Whether there is a network of its own, or why there is none.
    pub(crate) network: Layer,
    /// The version of the rules, or why there are none.
    pub(crate) landlock: Layer,
    pub(crate) landlock_version: u32,
    /// Whether keepers can be asked about calls, or why not.
    pub(crate) watch: Layer,
    /// Paths of the policy that do not exist: what appears there later is not covered.
    pub(crate) absent: Vec<PathBuf>,
    /// What holds less than the policy says, and why.
    pub(crate) weaker: Vec<String>,
    /// In a preview, which directory the command starts in: seen from inside it is another one.
    pub(crate) directory: Option<DirectoryId>,
}

/// Whether a layer is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Layer {
    Holds,
    /// The policy does not need it.
    #[default]
    NotNeeded,
    /// The kernel does not give it; this is what it says.
    Missing(String),
}

impl Layer {
    pub(crate) fn holds(&self) -> bool {
        *self == Self::Holds
    }
}

/// The most that an order takes.
const ORDER_BYTES: u64 = 4 << 20;
/// The byte that comes with what was prepared.
pub(crate) const PREPARED: u8 = 1;

/// The whole life of the process: standard input is a socket that brings one order.
pub(crate) fn serve() -> io::Result<()> {
    descriptors::close_from(3);
    let engine = UnixStream::from(descriptors::take_stdin()?);
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let mut bytes = [0];
    let Some((_, files)) = messages::receive(&engine, &mut bytes)? else { return Ok(()) };
    let mut files = files.into_iter();
    let file = files.next().ok_or_else(|| io::Error::other("the order is missing"))?;
    let joined: Vec<OwnedFd> = files.collect();
    let mut text = Vec::new();
    fs::File::from(file).take(ORDER_BYTES).read_to_end(&mut text)?;
    let order: PrepareOrder = postcard::from_bytes(&text).map_err(|_| io::Error::other("the order cannot be read"))?;
    prepare(&order, &joined, &engine)
}

/// Tries with everything, then with what is left. In the namespaces of a session there is nothing to do without.
fn prepare(order: &PrepareOrder, joined: &[OwnedFd], engine: &UnixStream) -> io::Result<()> {
    let wants_network = order.policy.network != NetworkPolicy::Open;
    let mut found = Circumstances { datagrams: datagrams::outside(&order.policy), ..Circumstances::default() };
    if let [_, _, network @ ..] = joined {
        if wants_network && network.is_empty() {
            found.network = Some("the session has none".to_owned());
        }
        return in_namespaces(order, joined, engine, !network.is_empty(), &found)?.map_err(io::Error::other);
    }
    if order.without.namespaces {
        found.namespaces = Some("left out".to_owned());
    } else {
        if wants_network && !order.without.network_namespace {
            match in_namespaces(order, joined, engine, true, &found)? {
                Ok(()) => return Ok(()),
                Err(why) => found.network = Some(why),
            }
        } else if wants_network {
            found.network = Some("left out".to_owned());
        }
        match in_namespaces(order, joined, engine, false, &found)? {
            Ok(()) => return Ok(()),
            Err(why) => found.namespaces = Some(why),
        }
    }
    if wants_network && found.network.is_none() {
        found.network = found.namespaces.clone();
    }
    without_namespaces(order, engine, &found)
}

/// What the kernel does not give, in its words, and what there is that has to be covered.
#[derive(Clone, Debug, Default)]
struct Circumstances {
    namespaces: Option<String>,
    network: Option<String>,
    /// Sockets that nothing but a cover keeps from getting datagrams.
    datagrams: Vec<PathBuf>,
}

/// Prepares everything in a copy of this process. The inner result says why that was not possible.
fn in_namespaces(
    order: &PrepareOrder,
    joined: &[OwnedFd],
    engine: &UnixStream,
    network: bool,
    found: &Circumstances,
) -> io::Result<Result<(), String>> {
    let (mut ours, mut theirs) = UnixStream::pair()?;
    let pid = match fork()? {
        Forked::Child => {
            drop(ours);
            let done = inside(order, joined, engine, &mut theirs, network, found);
            if let Err(why) = &done {
                let _ = theirs.write_all(why.as_bytes());
            }
            leave(i32::from(done.is_err()));
        }
        Forked::Parent(pid) => pid,
    };
    drop(theirs);

    // Once it is in its namespaces, its users are written down; then it goes on.
    let mut byte = [0];
    let entered = ours.read(&mut byte)? == 1 && byte == *ENTERED;
    let mapped = if entered && joined.is_empty() { map_users(pid) } else { Ok(()) };
    let mut why = if entered { Vec::new() } else { byte.to_vec() };
    if entered && mapped.is_ok() {
        let _ = ours.write_all(MAPPED);
    } else if entered {
        drop(ours.shutdown(std::net::Shutdown::Write));
    }
    let _ = ours.read_to_end(&mut why);
    let ended = wait_for(pid)?;
    Ok(match (ended, mapped) {
        (WaitStatus::Exited(0), _) => Ok(()),
        (_, Err(error)) => Err(format!("the users of a namespace cannot be mapped: {error}")),
        _ => Err(String::from_utf8_lossy(&why).into_owned()),
    })
}

const ENTERED: &[u8; 1] = b"\x01";
const MAPPED: &[u8; 1] = b"\x02";

/// A user is the same one inside. Root stays root, and so does everybody else for it: otherwise it could give no file away.
fn map_users(pid: i32) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let write = |file: &str, text: String| fs::write(format!("/proc/{pid}/{file}"), text);
    if user == 0 && write("uid_map", ranges("uid_map")?).is_ok() {
        return write("gid_map", ranges("gid_map")?);
    }
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1\n"))?;
    write("gid_map", format!("{group} {group} 1\n"))
}

/// Every number that exists in our own namespace, as itself.
fn ranges(file: &str) -> io::Result<String> {
    let table = fs::read_to_string(format!("/proc/self/{file}"))?;
    let rows = table.lines().filter_map(|line| {
        let mut numbers = line.split_ascii_whitespace();
        let (first, _, count) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(format!("{first} {first} {count}\n"))
    });
    Ok(rows.collect())
}

/// In the copy: enters namespaces, builds, and sends what was built.
fn inside(
    order: &PrepareOrder,
    joined: &[OwnedFd],
    engine: &UnixStream,
    parent: &mut UnixStream,
    network: bool,
    found: &Circumstances,
) -> Result<(), String> {
    let say = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    enter(joined, network).map_err(say("namespaces cannot be made"))?;
    parent.write_all(ENTERED).map_err(say("the sandbox cannot be prepared"))?;
    let mut byte = [0];
    let mapped = parent.read(&mut byte).is_ok_and(|count| count == 1) && byte == *MAPPED;
    if !mapped {
        return Err("the users of a namespace cannot be mapped".to_owned());
    }

    let preview = order.preview.as_ref();
    let view = view::build(&order.policy, &order.hand_back, &found.datagrams, preview)
        .map_err(say("mounts cannot be changed"))?;
    let directory = preview.map(|preview| directory_inside(&preview.directory.0)).transpose()?;
    let open = |kind: &str| {
        let path = format!("/proc/self/ns/{kind}");
        rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(io::Error::from)
    };
    let mut files: Vec<OwnedFd> = ["user", "mnt", "ipc"]
        .into_iter()
        .map(open)
        .collect::<io::Result<_>>()
        .map_err(say("namespaces cannot be held"))?;
    if network {
        files.push(open("net").map_err(say("namespaces cannot be held"))?);
    }

    let mut prepared = Prepared {
        namespaces: Layer::Holds,
        network: network_layer(order, network, found),
        absent: view.absent,
        directory,
        ..Prepared::default()
    };
    let is_new = joined.is_empty();
    let sockets = set_up_network(order, network && is_new).map_err(say("its network cannot be set up"))?;
    add_rules(order, rules::Reads::Free, network, &mut prepared, &mut files).map_err(say("Landlock's rules"))?;
    prepared.watch = watch_layer(order);
    let handed_over = send(engine, &prepared, &files).and_then(|()| match &sockets {
        Some(sockets) => sockets.send(engine),
        None => Ok(()),
    });
    handed_over.map_err(say("the sandbox cannot be handed over"))
}

/// Which directory a path leads to in the mounts that were just made.
fn directory_inside(path: &Path) -> Result<DirectoryId, String> {
    let found = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .and_then(rustix::fs::fstat)
        .map_err(|error| format!("{} is not there inside of a preview: {error}", path.display()))?;
    Ok((found.st_dev, found.st_ino))
}

/// New namespaces, or those of a session and new mounts.
fn enter(joined: &[OwnedFd], network: bool) -> io::Result<()> {
    if joined.is_empty() {
        let kinds = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
        return unshare(if network { kinds | UnshareFlags::NEWNET } else { kinds });
    }
    // Users first, whose rights the others need.
    let kinds = [LinkNameSpaceType::User, LinkNameSpaceType::InterProcessCommunication, LinkNameSpaceType::Network];
    for (namespace, kind) in joined.iter().zip(kinds) {
        move_into_link_name_space(namespace.as_fd(), Some(kind))?;
    }
    unshare(UnshareFlags::NEWNS)
}

/// Makes the network of its own what the policy says; gives the sockets by which names lead out of it.
fn set_up_network(order: &PrepareOrder, network: bool) -> io::Result<Option<Sockets>> {
    match &order.policy.network {
        NetworkPolicy::Named(rules) if network => inside::set_up(&network::ports(rules)).map(Some),
        NetworkPolicy::Off if network => inside::set_up_alone().map(|()| None),
        _ => Ok(None),
    }
}

fn network_layer(order: &PrepareOrder, network: bool, found: &Circumstances) -> Layer {
    match (&order.policy.network, network) {
        (NetworkPolicy::Open, _) => Layer::NotNeeded,
        (_, true) => Layer::Holds,
        (_, false) => Layer::Missing(found.network.clone().unwrap_or_default()),
    }
}

/// Rules alone: what is hidden is left out of what may be read, as it is now.
fn without_namespaces(order: &PrepareOrder, engine: &UnixStream, found: &Circumstances) -> io::Result<()> {
    let mut prepared = Prepared {
        namespaces: Layer::Missing(found.namespaces.clone().unwrap_or_default()),
        network: network_layer(order, false, found),
        ..Prepared::default()
    };
    let mut files = Vec::new();
    add_rules(order, rules::Reads::Listed, false, &mut prepared, &mut files)?;
    if !found.datagrams.is_empty() && prepared.landlock_version < landlock::FIRST_WITH_SOCKETS {
        prepared.weaker.push("sockets: datagrams to them by their paths are not held".to_owned());
    }
    prepared.watch = watch_layer(order);
    send(engine, &prepared, &files)
}

fn add_rules(
    order: &PrepareOrder,
    reads: rules::Reads,
    own_network: bool,
    prepared: &mut Prepared,
    files: &mut Vec<OwnedFd>,
) -> io::Result<()> {
    let version = if order.without.landlock { Ok(0) } else { landlock::version() };
    match version {
        Ok(version) if version >= landlock::FIRST_USEFUL => {
            let made = rules::build(&order.policy, &order.hand_back, version, reads, own_network)?;
            prepared.absent.extend(made.absent);
            prepared.weaker.extend(made.weaker);
            files.push(made.ruleset.into_descriptor());
            (prepared.landlock, prepared.landlock_version) = (Layer::Holds, version);
        }
        Ok(0) => prepared.landlock = Layer::Missing("left out".to_owned()),
        Ok(version) => {
            let why = format!("version {version} would refuse to move files between folders");
            prepared.landlock = Layer::Missing(why);
        }
        Err(error) => prepared.landlock = Layer::Missing(error.to_string()),
    }
    Ok(())
}

/// Whether a listener can be had: there is one at most for a family of processes, so not inside of another sandbox that has
/// one. Found out by having one, which lasts as long as this process does.
fn watch_layer(order: &PrepareOrder) -> Layer {
    if order.without.watch {
        return Layer::Missing("left out".to_owned());
    }
    let listening = rustix::thread::set_no_new_privs(true)
        .map_err(io::Error::from)
        .and_then(|()| Filter::new(&[]).install_with_listener());
    match listening {
        Ok(_) => Layer::Holds,
        Err(error) => Layer::Missing(error.to_string()),
    }
}

/// The descriptors with one byte, then the length of the rest and the rest.
fn send(mut engine: &UnixStream, prepared: &Prepared, files: &[OwnedFd]) -> io::Result<()> {
    let text = postcard::to_stdvec(prepared).map_err(|error| io::Error::other(error.to_string()))?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    let borrowed: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
    messages::send(engine, &[PREPARED], &borrowed)?;
    engine.write_all(&length.to_le_bytes())?;
    engine.write_all(&text)
}

/// Receives what [`send`] sent.
pub(crate) fn receive(mut connection: &UnixStream) -> io::Result<(Prepared, Vec<OwnedFd>)> {
    let mut byte = [0];
    let Some((_, files)) = messages::receive(connection, &mut byte)? else {
        return Err(io::Error::other("what should prepare the sandbox ended without a word"));
    };
    let mut length = [0; 4];
    connection.read_exact(&mut length)?;
    let mut text = vec![0; usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?];
    connection.read_exact(&mut text)?;
    let prepared = postcard::from_bytes(&text).map_err(|_| io::Error::other("what was prepared cannot be read"))?;
    Ok((prepared, files))
}

/// A path that can be opened, or what is said where it cannot.
fn open_place(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}
