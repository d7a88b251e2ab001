//! Who connects, and whether that may go anywhere.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, getsockname, sockopt};

use super::connection::{Connection, Target, TargetKind};
use super::questions::QuestionStream;
use super::work::{Broker, Client, Side};
use crate::sandbox::network::events::{Refused, Transport};

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

        let (allowed, known, target) = if let Some(name) = self.names.name_of(dialled) {
            let target = Target { name: name.to_owned(), port, kind: TargetKind::Name };
            (self.rules.allow(name, port), true, target)
        } else {
            let target = Target { name: dialled.to_string(), port, kind: TargetKind::Address };
            (self.rules.allow_address(dialled, port), self.rules.know_address(dialled), target)
        };
        if allowed {
            return Some(target);
        }
        let what = if known { Refused::Port } else { Refused::Address(None) };
        self.report(what, target.name, port, Transport::Tcp, source);
        None
    }
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
