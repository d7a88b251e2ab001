//! Who is at the other end of a connection to one of our servers, as the kernel knows it.
//!
//! 1. The token says that a client may come in. It lies in a file that a command of ours can read, so it does not say that
//!    the client is not such a command: a command must not answer the question that is asked about it. That is decided by
//!    the tree of processes ([`Peer::is_of_a_command`]).
//! 2. Before anybody has shown the token, each user of this machine may hold only so many connections ([`Places`]).

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use crate::ancestry::Family;
use crate::lock::Lock;

/// Connections at a time of clients that may be here: those of our own user, and those that have shown the token.
const MOST_CLIENTS: usize = 256;
/// Connections at a time of one stranger who has not shown the token, and of all of them.
const MOST_OF_A_STRANGER: usize = 16;
const MOST_OF_STRANGERS: usize = 128;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    /// A socket of this machine, found in the kernel's table; `inode` is 0 where nobody holds it any more.
    Local {
        /// Whose it is.
        uid: u32,
        /// The number of the socket.
        inode: u64,
    },
    /// A process of this machine, of our own user.
    Process(i32),
    /// One of our own user that is outside of our view of this machine: we are in a container, and it is not.
    Outside,
    /// An address of this machine that the kernel does not list: it has hung up.
    Gone,
    /// Another machine.
    Elsewhere(IpAddr),
}

impl Peer {
    /// The other end of a connection between two addresses.
    pub fn of_tcp(theirs: SocketAddr, ours: SocketAddr) -> Self {
        let ip = theirs.ip().to_canonical();
        if !ip.is_loopback() {
            return Self::Elsewhere(ip);
        }
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
        let found = tables.into_iter().find_map(|table| find(&fs::read_to_string(table).ok()?, theirs, ours));
        found.map_or(Self::Gone, |(uid, inode)| Self::Local { uid, inode })
    }

    /// The other end of a socket in the file system.
    pub fn of_process(pid: Option<i32>) -> Self {
        pid.filter(|pid| *pid > 0).map_or(Self::Outside, Self::Process)
    }

    /// Whether a command that some Chiton runs is at the other end, or something that it has started. Looks through the
    /// processes of this machine.
    pub fn is_of_a_command(self) -> bool {
        match self {
            // Somebody who hangs up at once cannot be found any more, and does not want an answer either.
            Self::Local { inode: 0, .. } | Self::Gone => true,
            Self::Local { inode, .. } => Family::now().command_has_socket(inode),
            Self::Process(pid) => Family::now().is_of_a_command(pid),
            Self::Outside | Self::Elsewhere(_) => false,
        }
    }

    fn who(self) -> Who {
        let own = rustix::process::geteuid().as_raw();
        match self {
            Self::Process(_) | Self::Outside => Who::Client,
            Self::Gone => Who::Host(Ipv4Addr::LOCALHOST.into()),
            Self::Local { uid, .. } if uid == own || uid == 0 => Who::Client,
            Self::Local { uid, .. } => Who::User(uid),
            Self::Elsewhere(ip) => Who::Host(ip),
        }
    }

    /// Whether the connection is one of another user or another machine.
    pub fn is_stranger(self) -> bool {
        self.who() != Who::Client
    }
}

/// Whose connections are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Who {
    Client,
    User(u32),
    Host(IpAddr),
}

/// How many connections there are.
#[derive(Clone, Debug, Default)]
pub struct Places {
    taken: Arc<Lock<HashMap<Who, usize>>>,
}

/// One connection. Counts until it is dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    who: Lock<Who>,
}

impl Places {
    /// A place for a connection; `None` where its user has enough of them.
    pub fn enter(&self, peer: Peer) -> Option<Place> {
        let who = peer.who();
        self.take(who).then(|| Place { places: self.clone(), who: Lock::new(who) })
    }

    fn take(&self, who: Who) -> bool {
        let mut taken = self.taken.lock();
        let of_one = taken.get(&who).copied().unwrap_or(0);
        let has_room = match who {
            Who::Client => of_one < MOST_CLIENTS,
            Who::User(_) | Who::Host(_) => {
                let of_strangers: usize =
                    taken.iter().filter(|(who, _)| **who != Who::Client).map(|(_, count)| count).sum();
                of_one < MOST_OF_A_STRANGER && of_strangers < MOST_OF_STRANGERS
            }
        };
        if has_room {
            *taken.entry(who).or_insert(0) += 1;
        }
        has_room
    }

    fn leave(&self, who: Who) {
        let mut taken = self.taken.lock();
        if let Some(count) = taken.get_mut(&who) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&who);
            }
        }
    }
}

impl Place {
    /// The client has shown the token, so it no longer takes a stranger's place.
    pub fn is_known(&self) {
        let mut who = self.who.lock();
        if *who != Who::Client && self.places.take(Who::Client) {
            self.places.leave(std::mem::replace(&mut *who, Who::Client));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let who = *self.who.get_mut();
        self.places.leave(who);
    }
}

/// Compares a secret in a time that does not reveal where the first difference is.
pub fn is_same_secret(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    std::hint::black_box(differences) == 0 && one.len() == other.len()
}

/// The user and the number of the socket at `theirs` that is connected to `ours`, from a table of the kernel.
fn find(table: &str, theirs: SocketAddr, ours: SocketAddr) -> Option<(u32, u64)> {
    let same = |one: SocketAddr, other: SocketAddr| {
        (one.ip().to_canonical(), one.port()) == (other.ip().to_canonical(), other.port())
    };
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, remote) = (address(words.get(1)?)?, address(words.get(2)?)?);
        let is_it = same(local, theirs) && same(remote, ours);
        is_it.then(|| Some((words.get(7)?.parse().ok()?, words.get(9)?.parse().ok()?)))?
    })
}

/// An address as the kernel writes it: hexadecimal, in words of this machine's byte order.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(ip)?)),
        32 => {
            let mut bytes = [0; 16];
            for (place, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(ip.get(place * 8..place * 8 + 8)?)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_other_end_of_a_connection_is_found() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, theirs) = listener.accept().unwrap();
            let peer = Peer::of_tcp(theirs, server.local_addr().unwrap());
            let own = rustix::process::geteuid().as_raw();
            assert!(matches!(peer, Peer::Local { uid, inode: 1.. } if uid == own), "{peer:?}");
            assert!(!peer.is_of_a_command(), "this test is not started by what it tests");
            drop(client);
            let gone = Peer::of_tcp(theirs, server.local_addr().unwrap());
            assert!(gone.is_of_a_command(), "{gone:?}");
        }
    }

    #[test]
    fn a_stranger_takes_only_so_many_places_and_none_of_the_clients() {
        let places = Places::default();
        let stranger = Peer::Local { uid: 4_000_000_000, inode: 1 };
        let mut held: Vec<Place> = std::iter::from_fn(|| places.enter(stranger)).take(1000).collect();
        assert_eq!(held.len(), MOST_OF_A_STRANGER);
        let other = Peer::Local { uid: 4_000_000_001, inode: 1 };
        assert!(places.enter(other).is_some(), "another user is not kept out");
        assert!(places.enter(Peer::Process(1)).is_some(), "nor are clients");

        // Whoever shows the token makes room for the next.
        held[0].is_known();
        assert!(places.enter(stranger).is_some());
        held.clear();
        assert!(places.taken.lock().is_empty());
    }

    #[test]
    fn addresses_read_as_the_kernel_writes_them() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0 20 4 30 10 -1\n";
        let (theirs, ours) = ("127.0.0.1:8080".parse().unwrap(), "127.0.0.1:54321".parse().unwrap());
        assert_eq!(find(table, theirs, ours), Some((1000, 4242)));
        assert_eq!(find(table, ours, theirs), None);
    }
}
