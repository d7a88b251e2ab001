//! Sockets of the internet where a session has no network of its own: they lead to this machine and no further.
//!
//! A process that wants one gets one that is bound to the loopback interface, which it cannot undo: that takes a right that
//! it does not have. Connections are made by us: to the proxy, and to servers of the session.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::sys::packets::bind_to_loopback;

/// How long a process that waits for its connection keeps us: what is on this machine answers at once, or is too busy.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// A socket as a process asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WantedSocket {
    pub(super) family: i32,
    /// With its flags.
    pub(super) kind: i32,
    pub(super) protocol: i32,
}

impl WantedSocket {
    /// One that leads to this machine alone; only TCP can be made to.
    pub(super) fn make(self) -> Result<OwnedFd, i32> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let is_tcp = self.kind & !flags == libc::SOCK_STREAM && matches!(self.protocol, 0 | libc::IPPROTO_TCP);
        if !is_tcp {
            return Err(libc::EACCES);
        }
        let code = |error: io::Error| error.raw_os_error().unwrap_or(libc::EACCES);
        let family = if self.family == libc::AF_INET6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let blocks = if self.kind & libc::SOCK_NONBLOCK == 0 { SocketFlags::empty() } else { SocketFlags::NONBLOCK };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | blocks, None);
        let socket = socket.map_err(Errno::raw_os_error)?;
        bind_to_loopback(&socket).map_err(code)?;
        Ok(socket)
    }

    pub(super) fn is_closed_on_exec(self) -> bool {
        self.kind & libc::SOCK_CLOEXEC != 0
    }
}

/// Connects a socket that another process has, too, and for which it waits where it is one to wait for.
pub(super) fn connect_shared(socket: &OwnedFd, place: SocketAddr) -> Result<(), i32> {
    let code = |error: Errno| error.raw_os_error();
    let flags = rustix::fs::fcntl_getfl(socket).map_err(code)?;
    let waits = !flags.contains(OFlags::NONBLOCK);
    if waits {
        rustix::fs::fcntl_setfl(socket, flags | OFlags::NONBLOCK).map_err(code)?;
    }
    let mut connected = connect(socket, &place);
    if waits {
        let _ = rustix::fs::fcntl_setfl(socket, flags);
        if connected == Err(Errno::INPROGRESS) {
            connected = wait(socket);
        }
    }
    connected.map_err(code)
}

fn wait(socket: &OwnedFd) -> Result<(), Errno> {
    let mut wanted = [PollFd::new(socket, PollFlags::OUT)];
    if poll(&mut wanted, Some(&PATIENCE))? == 0 {
        return Err(Errno::TIMEDOUT);
    }
    sockopt::socket_error(socket)?
}

/// The address at which a socket of this family reaches another one of this machine.
pub(super) fn as_family(place: SocketAddr, family: AddressFamily) -> SocketAddr {
    match place.ip() {
        IpAddr::V4(address) if family == AddressFamily::INET6 => (address.to_ipv6_mapped(), place.port()).into(),
        _ => place,
    }
}

/// The numbers of the sockets that listen where this place leads, in the network of a process.
pub(super) fn listeners_at(process: i32, place: SocketAddr) -> Vec<u64> {
    let mut exact = Vec::new();
    let mut general = Vec::new();
    for table in ["tcp", "tcp6"] {
        let Ok(text) = fs::read_to_string(format!("/proc/{process}/net/{table}")) else { continue };
        for (address, number) in text.lines().filter_map(read_listener).filter(|(at, _)| at.port() == place.port()) {
            if address.ip().to_canonical() == place.ip() {
                exact.push(number);
            } else if address.ip().is_unspecified() {
                general.push(number);
            }
        }
    }
    if exact.is_empty() { general } else { exact }
}

/// The address and the number of a socket that listens, from a line of the kernel's table.
fn read_listener(line: &str) -> Option<(SocketAddr, u64)> {
    const LISTENS: &str = "0A";
    let mut words = line.split_ascii_whitespace();
    let (address, port) = words.nth(1)?.split_once(':')?;
    if words.nth(1)? != LISTENS {
        return None;
    }
    let port = u16::from_str_radix(port, 16).ok()?;
    let number = words.nth(5)?.parse().ok()?;
    // Words of four bytes, each as the machine has it.
    let word = |place: usize| u32::from_str_radix(address.get(8 * place..8 * place + 8)?, 16).ok();
    let ip: IpAddr = if address.len() == 8 {
        Ipv4Addr::from(word(0)?.to_ne_bytes()).into()
    } else {
        let words = [word(0)?, word(1)?, word(2)?, word(3)?].map(u32::to_ne_bytes);
        Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?).into()
    };
    Some((SocketAddr::new(ip, port), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_for_this_machine_is_tcp() {
        let (tcp, udp) = (libc::SOCK_STREAM, libc::SOCK_DGRAM);
        for (family, kind, protocol, made) in [
            (libc::AF_INET, tcp, 0, true),
            (libc::AF_INET, tcp | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, libc::IPPROTO_TCP, true),
            (libc::AF_INET, tcp, libc::IPPROTO_SCTP, false),
            (libc::AF_INET, tcp, 262, false),
            (libc::AF_INET, udp, 0, false),
            (libc::AF_INET, udp, libc::IPPROTO_ICMP, false),
            (libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6, false),
        ] {
            let wanted = WantedSocket { family, kind, protocol };
            assert_eq!(wanted.make().is_ok(), made, "{wanted:?}");
        }
    }

    #[test]
    fn what_listens_is_found_in_the_tables() {
        let lines = [
            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0        0 4711 1 0 100 0 0 10 0",
            "   0: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 0:0 0:0 0  0 0 4712 1 0",
            "   1: 0100007F:1F90 0100007F:C000 01 00000000:00000000 00:00000000 00000000  0        0 4713 1 0 100 0 0 10 0",
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
        ];
        let found: Vec<_> = lines.into_iter().map(read_listener).collect();
        let at = |place: &str, number| Some((place.parse().unwrap(), number));
        assert_eq!(found, [at("127.0.0.1:8080", 4711), at("[::1]:8081", 4712), None, None]);
    }
}
