//! Who connects, and whether that may go anywhere.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, getsockname, sockopt};

use super::connection::{Connection, Target, TargetKind};
use super::questions::QuestionStream;
use super::work::{Broker, Client, Side};
use crate::enclosure::network::events::{Refused, Transport};

/// A listener and what its connections are.
pub(super) struct Listener {
    pub(super) socket: OwnedFd,
    pub(super) wants: ListensFor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListensFor {
    /// Questions to the resolver.
    Questions,
    /// Whatever is dialled inside at this port.
    Inside(u16),
    /// Connections from outside to this port inside.
    Outside(u16),
    /// Programs that use a proxy.
    Requests,
}

impl Listener {
    /// The next connection; `None` where there is none for now. An error means that none can be taken for now.
    pub(super) fn accept(&self) -> io::Result<Option<(ListensFor, OwnedFd, SocketAddr)>> {
        loop {
            match acceptfrom_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok((socket, peer)) => {
                    // One that is gone already has no address.
                    let Some(peer) = peer.and_then(|peer| SocketAddr::try_from(peer).ok()) else { continue };
                    return Ok(Some((self.wants, socket, peer)));
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Broker {
    /// Takes in somebody who connected.
    pub(super) fn welcome(&mut self, wants: ListensFor, socket: OwnedFd, source: SocketAddr) {
        match wants {
            ListensFor::Questions => self.admit(|broker, id| {
                broker.follow(&socket, id, Side::Client)?;
                Ok(Client::Asking(Box::new(QuestionStream::new(socket, source))))
            }),
            ListensFor::Inside(port) => match self.target_of(&socket, port, source) {
                Some(target) => self.relay(socket, source, target),
                None => reset(&socket),
            },
            ListensFor::Outside(port) => {
                self.relay(socket, source, Target { name: port.to_string(), port, kind: TargetKind::Inside });
            }
            ListensFor::Requests => self.admit(|broker, id| {
                prepare(&socket);
                broker.follow(&socket, id, Side::Client)?;
                Ok(Client::Relayed(Box::new(Connection::with_request(socket, source))))
            }),
        }
    }

    fn relay(&mut self, socket: OwnedFd, source: SocketAddr, target: Target) {
        self.admit(|broker, id| {
            prepare(&socket);
            broker.follow(&socket, id, Side::Client)?;
            Ok(Client::Relayed(Box::new(Connection::new(socket, source, target))))
        });
    }

    /// What was dialled, where that is allowed. What is not is reported.
    fn target_of(&mut self, socket: &OwnedFd, port: u16, source: SocketAddr) -> Option<Target> {
        let dialled = SocketAddr::try_from(getsockname(socket).ok()?).ok()?.ip().to_canonical();
        // Nothing of the session listens here, or the port would not be ours.
        if dialled.is_loopback() {
            return None;
        }

        let dialled = match self.names.name_of(dialled) {
            Some(name) => Dialled::Name(name.to_owned()),
            None => Dialled::Address(dialled),
        };
        self.judge(dialled, port, source)
    }

    /// What a connection goes to, where that is allowed. What is not is reported.
    pub(super) fn judge(&mut self, dialled: Dialled, port: u16, source: SocketAddr) -> Option<Target> {
        let rules = &self.rules;
        let (allowed, what, name, kind) = match dialled {
            Dialled::Name(name) => {
                let what = if rules.know(&name) { Refused::Port } else { Refused::Name };
                (rules.allow(&name, port), what, name, TargetKind::Name)
            }
            Dialled::Address(address) => {
                let what = if rules.know_address(address) { Refused::Port } else { Refused::Address(None) };
                (rules.allow_address(address, port), what, address.to_string(), TargetKind::Address)
            }
        };
        if allowed {
            return Some(Target { name, port, kind });
        }
        self.report(what, name, port, Transport::Tcp, source);
        None
    }
}

/// What somebody wants to be connected to.
pub(super) enum Dialled {
    Name(String),
    Address(IpAddr),
}

/// Sets what a connection that may rest for long needs.
pub(super) fn prepare(socket: &OwnedFd) {
    let _ = sockopt::set_tcp_nodelay(socket, true);
    // A peer that is gone without a word is found in the end.
    let _ = sockopt::set_socket_keepalive(socket, true);
    let _ = sockopt::set_tcp_keepidle(socket, Duration::from_mins(1));
}

/// Makes closing a socket an error for the other side, and not the end of a message.
pub(super) fn reset(socket: &OwnedFd) {
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}
