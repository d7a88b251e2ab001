//! New sockets of a network namespace, made from outside of it.
//!
//! A socket belongs to the network in which it was opened, and to open one there takes a process inside or the right to
//! enter. But a connection that a listener accepts belongs to the listener's network, and a connected socket can be taken
//! apart again. So one socket from inside, the seed, dials a listener from inside; what that accepts is disconnected, and
//! is a new socket of that network, as if opened there. No process waits inside, and no rights are needed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, SocketFlags, acceptfrom_with, bind, connect, connect_unspec, getsockname, listen, sockopt,
};

/// A socket of a network namespace that others are made of.
pub(super) struct Seed {
    dialler: OwnedFd,
    listener: OwnedFd,
    place: SocketAddr,
}

impl Seed {
    /// Takes the seed, which is not connected, and a listener of the same network at `port`, whose next connection would
    /// be ours.
    pub(super) fn plant(dialler: OwnedFd, listener: &OwnedFd, port: u16) -> io::Result<Self> {
        // The first one comes from a listener that is there for others. It becomes a listener of our own, at a port
        // that nobody knows. IPv6 comes first: a socket that was once connected over the mapped form of an address can
        // never again be connected over the other family.
        let candidates: &[IpAddr] = if sockopt::socket_domain(listener)? == AddressFamily::INET6 {
            &[IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped())]
        } else {
            &[IpAddr::V4(Ipv4Addr::LOCALHOST)]
        };
        let mut sprouted = Err(io::ErrorKind::NetworkUnreachable.into());
        for address in candidates {
            sprouted = sprout(&dialler, listener, (*address, port).into()).map(|socket| (socket, *address));
            if sprouted.is_ok() {
                break;
            }
        }
        let (socket, address) = sprouted?;
        // At any address: what a listener at one address accepts keeps that address, and its family, for ever.
        let any = if address.is_ipv6() { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
        bind(&socket, &SocketAddr::from((any, 0)))?;
        listen(&socket, 16)?;
        let own = SocketAddr::try_from(getsockname(&socket)?).map_err(io::Error::from)?;
        Ok(Self { dialler, listener: socket, place: (address, own.port()).into() })
    }

    /// One more socket: not bound, not connected, and for both families where the network has both.
    pub(super) fn sprout(&self) -> io::Result<OwnedFd> {
        sprout(&self.dialler, &self.listener, self.place)
    }

    /// The addresses at which a server of the session may listen.
    pub(super) fn loopback(&self, port: u16) -> Vec<SocketAddr> {
        match self.place.ip() {
            IpAddr::V6(Ipv6Addr::LOCALHOST) => {
                vec![(Ipv4Addr::LOCALHOST.to_ipv6_mapped(), port).into(), (Ipv6Addr::LOCALHOST, port).into()]
            }
            other => vec![(other, port).into()],
        }
    }
}

fn sprout(dialler: &OwnedFd, listener: &OwnedFd, place: SocketAddr) -> io::Result<OwnedFd> {
    let sprouted = dial_and_accept(dialler, listener, place);
    connect_unspec(dialler)?;
    let socket = sprouted?;
    connect_unspec(&socket)?;
    Ok(socket)
}

fn dial_and_accept(dialler: &OwnedFd, listener: &OwnedFd, place: SocketAddr) -> io::Result<OwnedFd> {
    match connect(dialler, &place) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let ours = SocketAddr::try_from(getsockname(dialler)?).map_err(io::Error::from)?;
    // The other end is this machine as well, so the connection is there already. A command may have dialled the same
    // port, whose connection is not the one that is wanted.
    for _ in 0..64 {
        wait_a_moment(listener)?;
        let (socket, peer) = acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        if peer.and_then(|peer| SocketAddr::try_from(peer).ok()) == Some(ours) {
            return Ok(socket);
        }
    }
    Err(io::Error::other("the network of the session is too busy to be entered"))
}

fn wait_a_moment(listener: &OwnedFd) -> io::Result<()> {
    let limit = rustix::time::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let mut wanted = [rustix::event::PollFd::new(listener, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut wanted, Some(&limit))?;
    Ok(())
}
