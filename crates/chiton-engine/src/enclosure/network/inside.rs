//! A network namespace from the inside: what a process that has just entered a new one does to it.
//!
//! 1. [`set_up`]: the loopback interface works, and *every* address is local. Whatever is dialled arrives at a listener
//!    here, or is refused at once by the kernel.
//! 2. The sockets that were opened here belong to this network for good. They are handed out ([`Sockets::send`]) to a
//!    broker that lives outside.
//!
//! Making the namespace and giving up the rights over it are left to the caller.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use serde::{Deserialize, Serialize};

use super::parcel;
use super::rules::DNS_PORT;
use crate::sys::netlink::RoutingSocket;
use crate::sys::packets;

/// An address besides those of loopback. Without one, resolvers that leave out kinds of addresses that the machine does
/// not have leave out all of them.
const OWN_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Sockets of a network namespace, for use from outside of it.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Questions to the resolver.
    pub(super) dns: OwnedFd,
    /// The same over TCP.
    pub(super) dns_stream: OwnedFd,
    /// One that is not connected: more like it can be made of it, see [`super::seed`].
    pub(super) seed: OwnedFd,
    /// Sees what the kernel refuses by itself. Without it such refusals are not reported.
    pub(super) refusals: Option<OwnedFd>,
    /// Listeners, each with its port.
    pub(super) listeners: Vec<(u16, OwnedFd)>,
}

/// What a list of sockets holds, in its order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Inventory {
    sees_refusals: bool,
    ports: Vec<u16>,
}

/// Makes a new network one in which only the broker leads anywhere: all addresses are local, and TCP to `ports` of any
/// of them can be accepted. Needs the rights of an administrator over the network.
pub(crate) fn set_up(ports: &[u16]) -> io::Result<Sockets> {
    let routing = RoutingSocket::open()?;
    routing.bring_up_loopback()?;
    routing.add_address(OWN_ADDRESS)?;
    routing.make_every_address_local(Ipv4Addr::UNSPECIFIED.into())?;
    // A kernel without IPv6 has nothing to lead astray either.
    let _ = routing.make_every_address_local(Ipv6Addr::UNSPECIFIED.into());

    let dns = open(SocketType::DGRAM)?;
    packets::report_destinations(&dns)?;
    // Answers come from whatever address was asked, which IPv6 wants to be told.
    let _ = sockopt::set_ipv6_freebind(&dns, true);
    bind_to(&dns, DNS_PORT)?;
    let listener = |port: &u16| Ok((*port, listener_on(open(SocketType::STREAM)?, *port)?));
    Ok(Sockets {
        dns,
        dns_stream: listener_on(open(SocketType::STREAM)?, DNS_PORT)?,
        seed: open(SocketType::STREAM)?,
        refusals: packets::watch_refusals().ok(),
        listeners: ports.iter().filter(|port| **port != DNS_PORT).map(listener).collect::<io::Result<_>>()?,
    })
}

/// Makes a new network one that leads nowhere: its own commands reach each other over loopback, everything else is
/// unreachable and fails at once.
pub(crate) fn set_up_alone() -> io::Result<()> {
    RoutingSocket::open()?.bring_up_loopback()
}

/// A socket for both families, or for IPv4 where there is no other.
fn open(kind: SocketType) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match socket_with(AddressFamily::INET6, kind, flags, None) {
        Ok(socket) => {
            sockopt::set_ipv6_v6only(&socket, false)?;
            Ok(socket)
        }
        Err(_) => Ok(socket_with(AddressFamily::INET, kind, flags, None)?),
    }
}

fn bind_to(socket: &OwnedFd, port: u16) -> io::Result<()> {
    let any: SocketAddr = if sockopt::socket_domain(socket)? == AddressFamily::INET6 {
        (Ipv6Addr::UNSPECIFIED, port).into()
    } else {
        (Ipv4Addr::UNSPECIFIED, port).into()
    };
    Ok(bind(socket, &any)?)
}

/// Makes a socket accept what is dialled at a port, whatever the address.
pub(super) fn listener_on(socket: OwnedFd, port: u16) -> io::Result<OwnedFd> {
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind_to(&socket, port)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

impl Sockets {
    /// Hands the sockets to whoever is at the other end.
    pub(crate) fn send(&self, socket: &UnixStream) -> io::Result<()> {
        parcel::send(socket, &self.inventory(), &self.descriptors())
    }

    /// Takes sockets from the process inside.
    pub(crate) fn receive(socket: &UnixStream) -> io::Result<Self> {
        let (inventory, descriptors) = parcel::receive(socket)?;
        Self::from_descriptors(&inventory, descriptors)
    }

    pub(super) fn inventory(&self) -> Inventory {
        let ports = self.listeners.iter().map(|(port, _)| *port).collect();
        Inventory { sees_refusals: self.refusals.is_some(), ports }
    }

    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let first = [&self.dns, &self.dns_stream, &self.seed];
        let listeners = self.listeners.iter().map(|(_, listener)| listener);
        first.into_iter().chain(&self.refusals).chain(listeners).map(AsFd::as_fd).collect()
    }

    pub(super) fn from_descriptors(inventory: &Inventory, descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(|| io::Error::other("a socket of the network is missing"));
        Ok(Self {
            dns: next()?,
            dns_stream: next()?,
            seed: next()?,
            refusals: if inventory.sees_refusals { Some(next()?) } else { None },
            listeners: inventory.ports.iter().map(|port| Ok((*port, next()?))).collect::<io::Result<_>>()?,
        })
    }
}
