//! What a task listens on: the ports and Unix sockets of all its processes.
//!
//! 1. Its processes are the descendants of its keeper, those that left its session or lost their parent included.
//! 2. The descriptors of each say which sockets it holds, and the tables of the network namespace which of those listen
//!    ([`table`]).
//! 3. Whether `[::]` takes IPv4 as well is asked of the kernel, where a task listens there ([`only_ipv6`]).
//! 4. A process that cannot be looked into, or that listens in another network namespace, is counted as unknown: what
//!    nobody could see is never reported as nothing.
//!
//! Nearly all of it is read from `/proc`, so any process of the same user can ask, and nobody is told when it changes.

mod only_ipv6;
mod table;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::list::Task;
use crate::folder::RunFolder;
use crate::machine::ephemeral_ports;
use crate::protocol::SOCKET;
use crate::run::id::is_id;
use crate::stop::{descendants_of, is_dead};
use table::SocketTable;

/// What a task listens on, as far as anybody can see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    /// Each address once: TCP by port, then UDP, then Unix sockets.
    pub sockets: Vec<ListeningSocket>,
    /// What could not be seen.
    pub unknown: UnknownPorts,
}

/// A socket that somebody can connect to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListeningSocket {
    /// Where.
    pub name: SocketName,
    /// A process that holds it.
    pub pid: i32,
}

/// Where a socket can be reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SocketName {
    /// A TCP port. `[::]` takes IPv4 as well.
    Tcp(SocketAddr),
    /// A TCP port at every address of IPv6, and at none of IPv4.
    TcpOnlyIpv6(SocketAddr),
    /// A UDP port that takes datagrams from anybody.
    Udp(SocketAddr),
    /// A Unix socket with a place in the file system, as the program named it.
    Unix(String),
    /// A Unix socket in the abstract namespace, without the NUL byte before its name.
    Abstract(String),
}

impl SocketName {
    /// Its port, where it has one.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(address) | Self::TcpOnlyIpv6(address) | Self::Udp(address) => Some(address.port()),
            Self::Unix(_) | Self::Abstract(_) => None,
        }
    }
}

impl fmt::Display for SocketName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "{address}"),
            Self::TcpOnlyIpv6(address) => write!(formatter, "{address} (IPv6 only)"),
            Self::Udp(address) => write!(formatter, "udp {address}"),
            Self::Unix(path) => write!(formatter, "unix:{path}"),
            Self::Abstract(name) => write!(formatter, "unix:@{name}"),
        }
    }
}

impl Serialize for ListeningSocket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.name {
            SocketName::Tcp(address) | SocketName::TcpOnlyIpv6(address) | SocketName::Udp(address) => {
                let protocol = if matches!(self.name, SocketName::Udp(_)) { "udp" } else { "tcp" };
                map.serialize_entry("protocol", protocol)?;
                map.serialize_entry("address", &address.ip())?;
                map.serialize_entry("port", &address.port())?;
                if matches!(self.name, SocketName::TcpOnlyIpv6(_)) {
                    map.serialize_entry("ipv6_only", &true)?;
                }
            }
            SocketName::Unix(path) => {
                map.serialize_entry("protocol", "unix")?;
                map.serialize_entry("path", path)?;
            }
            SocketName::Abstract(name) => {
                map.serialize_entry("protocol", "unix")?;
                map.serialize_entry("abstract", name)?;
            }
        }
        map.serialize_entry("pid", &self.pid)?;
        map.end()
    }
}

/// Processes of which nobody can say here what they listen on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnknownPorts {
    /// Those that listen in another network namespace, or may do so: their addresses mean nothing here.
    pub elsewhere: usize,
    /// Those that belong to another user, or protect themselves from being looked into.
    pub unreadable: usize,
    /// The processes of the task cannot be found from here at all.
    pub out_of_sight: bool,
}

impl UnknownPorts {
    /// What is unknown, in words; `None` where nothing is.
    pub fn in_words(self) -> Option<String> {
        let count = |number: usize, what: &str| match number {
            0 => None,
            1 => Some(format!("1 process {what}: its ports are unknown")),
            _ => Some(format!("{number} processes {what}: their ports are unknown")),
        };
        let out_of_sight = "its processes cannot be seen from here: its ports are unknown".to_owned();
        let parts = [
            self.out_of_sight.then_some(out_of_sight),
            count(self.elsewhere, "in another network namespace"),
            count(self.unreadable, "that cannot be looked into"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl Listening {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty() && self.unknown == UnknownPorts::default()
    }

    /// What there is to say, in words.
    pub fn in_words(&self) -> Option<String> {
        let known = self.names().map(|names| format!("listening on {names}"));
        let parts: Vec<String> = known.into_iter().chain(self.unknown.in_words()).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The first addresses; `None` where it listens on nothing.
    pub fn names(&self) -> Option<String> {
        let names: Vec<String> = self.sockets.iter().take(MOST_NAMED).map(|socket| socket.name.to_string()).collect();
        let more = match self.sockets.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!names.is_empty()).then(|| names.join(", ") + &more)
    }
}

/// How many addresses are named in words: whoever needs more of them reads the structured form.
const MOST_NAMED: usize = 6;

/// The port that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedPort {
    /// Whichever comes first.
    Any,
    /// This one.
    Number(u16),
}

impl WantedPort {
    /// Whether a socket is what is waited for.
    pub(super) fn fits(self, name: &SocketName) -> bool {
        match self {
            Self::Any => matches!(name, SocketName::Tcp(_) | SocketName::TcpOnlyIpv6(_)),
            Self::Number(number) => name.port() == Some(number),
        }
    }
}

/// A look at what several tasks listen on. The tables of this network namespace are read once for all of them.
#[derive(Debug, Default)]
pub struct PortLook {
    here: Option<Here>,
}

/// The network namespace that this process is in.
#[derive(Debug)]
struct Here {
    namespace: Option<PathBuf>,
    /// `None` where the system does not show them.
    table: Option<SocketTable>,
    only_ipv6: OnceCell<HashSet<u64>>,
}

impl Here {
    /// What the socket of this number listens on, where it does so here.
    fn name(&self, inode: u64) -> Option<SocketName> {
        let name = self.table.as_ref()?.name(inode)?;
        let only_ipv6 = || self.only_ipv6.get_or_init(only_ipv6::sockets).contains(&inode);
        Some(match name {
            SocketName::Tcp(address) if address.ip() == EVERY && only_ipv6() => SocketName::TcpOnlyIpv6(*address),
            name => name.clone(),
        })
    }
}

/// The address that stands for all of them.
const EVERY: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

impl Task {
    /// What it listens on now. Nothing where it has ended.
    pub fn listening(&self) -> Listening {
        PortLook::default().of(self)
    }
}

impl PortLook {
    /// What a task listens on now. Nothing where it has ended.
    pub fn of(&mut self, task: &Task) -> Listening {
        let mut listening = self.all_of(task);
        // Whoever sends a datagram has such a port without listening.
        let ephemeral = ephemeral_ports();
        listening
            .sockets
            .retain(|socket| !matches!(socket.name, SocketName::Udp(address) if ephemeral.contains(&address.port())));
        listening
    }

    /// The socket of a task that is waited for, where it listens by now.
    pub(super) fn find(&mut self, task: &Task, wanted: WantedPort) -> Option<ListeningSocket> {
        self.all_of(task).sockets.into_iter().find(|socket| wanted.fits(&socket.name))
    }

    /// Whether anybody here listens on what is waited for.
    pub(super) fn is_taken(&mut self, wanted: WantedPort) -> bool {
        let is_wanted = |name: &SocketName| wanted != WantedPort::Any && wanted.fits(name);
        self.here().table.as_ref().is_some_and(|table| table.names().any(is_wanted))
    }

    fn all_of(&mut self, task: &Task) -> Listening {
        let Ok(folder) = RunFolder::at(&task.folder) else { return Listening::default() };
        if !task.status.is_running() || !folder.is_held() {
            return Listening::default();
        }
        let Ok(start) = folder.start() else { return Listening::default() };

        let listening = self.of_family(start.keeper);
        // A keeper that is gone by now has given its number back, perhaps to somebody who was looked at.
        if folder.is_held() { listening } else { Listening::default() }
    }

    fn of_family(&mut self, keeper: i32) -> Listening {
        let mut listening = Listening::default();
        if !Path::new(&format!("/proc/{keeper}")).exists() {
            listening.unknown.out_of_sight = true;
            return listening;
        }

        let mut family: Vec<i32> = descendants_of(keeper).into_iter().collect();
        family.sort_unstable();
        for pid in family {
            self.add_process(pid, &mut listening);
        }
        listening.sockets.sort();
        listening.sockets.dedup_by(|one, other| one.name == other.name);
        listening
    }

    fn add_process(&mut self, pid: i32, listening: &mut Listening) {
        let held = match sockets_of(pid) {
            Ok(held) => held,
            Err(_) if is_dead(pid) => return,
            Err(_) => {
                listening.unknown.unreadable += 1;
                return;
            }
        };
        if held.is_empty() {
            return;
        }

        let here = self.here();
        if here.table.is_none() {
            listening.unknown.unreadable += 1;
            return;
        }
        let known = held.iter().filter_map(|inode| here.name(*inode)).filter(|name| !is_keepers(name));
        listening.sockets.extend(known.map(|name| ListeningSocket { name, pid }));

        let namespace = namespace_of(pid);
        if namespace != here.namespace && !is_dead(pid) && listens_elsewhere(pid, &held) {
            listening.unknown.elsewhere += 1;
        }
    }

    fn here(&mut self) -> &Here {
        self.here.get_or_insert_with(|| Here {
            namespace: fs::read_link("/proc/self/ns/net").ok(),
            table: SocketTable::read(Path::new("/proc/self/net")),
            only_ipv6: OnceCell::new(),
        })
    }
}

/// Whether a process in another network namespace listens there, as far as anybody can tell.
fn listens_elsewhere(pid: i32, held: &BTreeSet<u64>) -> bool {
    let table = SocketTable::read(Path::new(&format!("/proc/{pid}/net")));
    table.is_none_or(|table| held.iter().any(|inode| table.name(*inode).is_some()))
}

fn namespace_of(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

/// The sockets that a process holds, by their numbers.
fn sockets_of(pid: i32) -> io::Result<BTreeSet<u64>> {
    let mut held = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let Ok(target) = entry.and_then(|entry| fs::read_link(entry.path())) else { continue };
        let number = target.to_str().and_then(|name| name.strip_prefix("socket:[")?.strip_suffix(']'));
        held.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    Ok(held)
}

/// Whether this is the door of a keeper: that of a Chiton which the command has started itself.
fn is_keepers(name: &SocketName) -> bool {
    let SocketName::Unix(path) = name else { return false };
    let (path, folder) = (Path::new(path), Path::new(path).parent().and_then(Path::file_name));
    path.ends_with(SOCKET) && folder.and_then(|name| name.to_str()).is_some_and(is_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(text: &str) -> SocketName {
        SocketName::Tcp(text.parse().unwrap())
    }

    #[test]
    fn names_are_what_people_write() {
        let cases = [
            (tcp("127.0.0.1:3000"), "127.0.0.1:3000"),
            (tcp("[::1]:80"), "[::1]:80"),
            (SocketName::Udp("0.0.0.0:53".parse().unwrap()), "udp 0.0.0.0:53"),
            (SocketName::Unix("/run/x.sock".into()), "unix:/run/x.sock"),
            (SocketName::Abstract("x".into()), "unix:@x"),
        ];
        for (name, expected) in cases {
            assert_eq!(name.to_string(), expected);
        }
    }

    #[test]
    fn many_addresses_are_named_in_part_and_counted() {
        let socket = |port: u16| ListeningSocket { name: tcp(&format!("127.0.0.1:{port}")), pid: 1 };
        let listening = Listening { sockets: (1..=8).map(socket).collect(), ..Listening::default() };
        let words = listening.names().unwrap();
        assert!(words.starts_with("127.0.0.1:1, 127.0.0.1:2, "), "{words}");
        assert!(words.ends_with("127.0.0.1:6 and 2 more"), "{words}");
        assert_eq!(Listening::default().in_words(), None);
    }

    #[test]
    fn what_is_unknown_is_said_by_its_kind() {
        let cases = [
            (UnknownPorts::default(), None),
            (
                UnknownPorts { elsewhere: 1, ..UnknownPorts::default() },
                Some("1 process in another network namespace: its ports are unknown"),
            ),
            (
                UnknownPorts { elsewhere: 2, unreadable: 1, ..UnknownPorts::default() },
                Some(
                    "2 processes in another network namespace: their ports are unknown; 1 process that cannot be looked \
                     into: its ports are unknown",
                ),
            ),
            (
                UnknownPorts { out_of_sight: true, ..UnknownPorts::default() },
                Some("its processes cannot be seen from here: its ports are unknown"),
            ),
        ];
        for (unknown, expected) in cases {
            assert_eq!(unknown.in_words().as_deref(), expected);
        }
    }

    #[test]
    fn the_door_of_a_keeper_is_not_shown() {
        let is_keepers = |path: &str| is_keepers(&SocketName::Unix(path.into()));
        assert!(is_keepers("/state/chiton/runs/shell_0123abcd/keeper.sock"));
        assert!(!is_keepers("/state/other/keeper.sock"));
        assert!(!is_keepers("/state/chiton/runs/shell_0123abcd/app.sock"));
    }
}
