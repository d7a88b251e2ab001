//! A port of the loopback device that stays ours, whether or not anybody listens there at the moment.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};

/// A port on 127.0.0.1 that nobody else is given while this lives. A server that sets `SO_REUSEADDR`, as all of them
/// do, can still listen on it, and a client finds it refused while no server does.
#[derive(Debug)]
pub struct ReservedPort {
    number: u16,
    /// Bound and not listening: the system then gives the port to those alone who ask for it by its number.
    _holder: OwnedFd,
}

impl ReservedPort {
    /// Takes a free one.
    ///
    /// # Panics
    /// When none is left.
    pub fn take() -> Self {
        let holder = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .expect("a socket can be made");
        sockopt::set_socket_reuseaddr(&holder, true).expect("it is a socket");
        bind(&holder, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = getsockname(&holder).expect("it is bound");
        let address = SocketAddrV4::try_from(address).expect("it was bound to an address of IPv4");
        Self { number: address.port(), _holder: holder }
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }
}
