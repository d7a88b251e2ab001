//! From a name to a connection with it.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::accepting::{prepare, reset};
use super::connection::{Connection, Stage, TargetKind};
use super::work::{Broker, Client, Side};
use crate::enclosure::network::addresses::{is_inner, is_own};
use crate::enclosure::network::events::Refused;
use crate::enclosure::network::relay::End;
use crate::enclosure::network::resolver::{Lookup, places};

/// How long it may take until a connection stands, all addresses of a name together.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an address is tried at least before the next one is.
const SHORTEST_TRY: Duration = Duration::from_secs(1);

/// A connection that is being made.
pub(super) struct Dial {
    pub(super) server: End,
    /// What is tried after this.
    rest: VecDeque<SocketAddr>,
    /// When all of it has to be done.
    end: Instant,
}

/// Where sockets for dialling come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    Outside,
    Inside,
}

impl Broker {
    /// Finds out where a connection goes. Whether that is known already.
    pub(super) fn ask_where_it_leads(&mut self, id: u64, connection: &mut Connection) -> io::Result<bool> {
        let now = Instant::now();
        let host = match connection.target.kind {
            TargetKind::Inside => {
                let seed = self.seed().ok_or(io::ErrorKind::NetworkUnreachable)?;
                let places = seed.loopback(connection.target.port).into();
                return self.dial_first(id, connection, places, now + PATIENCE);
            }
            TargetKind::Address | TargetKind::Name | TargetKind::Unknown => match self.proxy_for(connection) {
                Some((host, _)) => host,
                None => connection.target.name.clone(),
            },
        };

        connection.stage = Stage::Resolving;
        self.wait_until(id, connection, now + PATIENCE);
        // Others wait for the same name: one answer is for all of them.
        if let Some(others) = self.waiting.get_mut(&host) {
            others.push(id);
            return Ok(false);
        }
        match self.resolver.look_up(&host, now) {
            Lookup::Known(addresses) => self.dial(id, connection, &addresses),
            Lookup::Later => {
                self.waiting.insert(host, vec![id]);
                Ok(false)
            }
        }
    }

    /// The proxy through which a connection goes, if any.
    fn proxy_for(&self, connection: &Connection) -> Option<(String, u16)> {
        let proxy = self.upstream.as_ref().filter(|proxy| proxy.serves(&connection.target.name))?;
        Some((proxy.host.clone(), proxy.port))
    }

    /// Goes on with everybody who waited for names that were found, or not.
    pub(super) fn take_answers(&mut self) {
        for (name, addresses) in self.resolver.finished(Instant::now()) {
            for id in self.waiting.remove(&name).unwrap_or_default() {
                self.with_connection(id, |broker, connection| match connection.stage {
                    Stage::Resolving => broker.dial(id, connection, &addresses),
                    _ => Ok(false),
                });
            }
        }
    }

    /// Dials what a name leads to, as far as a name may lead there.
    fn dial(&mut self, id: u64, connection: &mut Connection, addresses: &[IpAddr]) -> io::Result<bool> {
        let end = connection.until.unwrap_or_else(|| Instant::now() + PATIENCE);
        if let Some((_, port)) = self.proxy_for(connection) {
            return self.dial_first(id, connection, places(addresses.iter().copied(), port), end);
        }

        let port = connection.target.port;
        let is_literal = connection.target.kind == TargetKind::Address;
        let may_lead_to = |address: &IpAddr| {
            let plain = address.to_canonical();
            is_literal || self.rules.allow_address(plain, port) || !is_inner(*address) && !is_own(plain)
        };
        let allowed = places(addresses.iter().copied().filter(may_lead_to), port);
        if let (Some(first), true) = (addresses.first(), allowed.is_empty()) {
            return Err(self.refuse(connection, Refused::Address(Some(*first))));
        }
        self.dial_first(id, connection, allowed, end)
    }

    /// Dials the first of these places that can be dialled at all. Whether the connection stands already.
    fn dial_first(
        &mut self,
        id: u64,
        connection: &mut Connection,
        mut places: VecDeque<SocketAddr>,
        end: Instant,
    ) -> io::Result<bool> {
        let network = if connection.target.kind == TargetKind::Inside { Network::Inside } else { Network::Outside };
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        while let Some(place) = places.pop_front() {
            match self.start_dialling(id, place, network) {
                Ok(server) => {
                    let now = Instant::now();
                    let share =
                        end.saturating_duration_since(now) / (1 + u32::try_from(places.len()).unwrap_or(u32::MAX - 1));
                    self.wait_until(id, connection, (now + share.max(SHORTEST_TRY)).min(end));
                    let is_ready = server.writable;
                    connection.stage = Stage::Dialling(Dial { server, rest: places, end });
                    return Ok(is_ready);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn start_dialling(&self, id: u64, place: SocketAddr, network: Network) -> io::Result<End> {
        let socket: OwnedFd = match network {
            Network::Inside => self.seed().ok_or(io::ErrorKind::NetworkUnreachable)?.sprout()?,
            Network::Outside => {
                let family = if place.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?
            }
        };
        prepare(&socket);
        let stands = match connect(&socket, &place) {
            Ok(()) => true,
            Err(Errno::INPROGRESS) => false,
            Err(error) => return Err(error.into()),
        };
        self.follow(&socket, id, Side::Server)?;
        Ok(End { socket, readable: stands, writable: stands })
    }

    /// Looks how far a connection is that was dialled. Whether something has changed.
    pub(super) fn go_on_dialling(&mut self, id: u64, connection: &mut Connection) -> io::Result<bool> {
        let Stage::Dialling(dial) = &mut connection.stage else { return Ok(false) };
        let failed = if std::mem::take(&mut connection.is_overdue) {
            true
        } else if dial.server.writable {
            sockopt::socket_error(&dial.server.socket)?.is_err()
        } else {
            return Ok(false);
        };
        if failed {
            let (rest, end) = (std::mem::take(&mut dial.rest), dial.end);
            return self.dial_first(id, connection, rest, end).map(|_| true);
        }

        match &self.upstream {
            Some(proxy) if connection.target.kind != TargetKind::Inside && proxy.serves(&connection.target.name) => {
                let request = proxy.request(&connection.target.name, connection.target.port);
                let dialled = std::mem::replace(&mut connection.stage, Stage::Resolving);
                if let Stage::Dialling(Dial { server, end, .. }) = dialled {
                    connection.stage = Stage::Tunnelling { server, request, answer: Vec::new() };
                    self.wait_until(id, connection, end);
                }
            }
            _ => connection.start_relaying(),
        }
        Ok(true)
    }

    fn wait_until(&mut self, id: u64, connection: &mut Connection, until: Instant) {
        if let Some(former) = connection.until.replace(until) {
            self.deadlines.remove(&(former, id));
        }
        self.deadlines.insert((until, id));
    }

    /// Does something with a connection that is still there, and takes it further.
    fn with_connection(&mut self, id: u64, act: impl FnOnce(&mut Self, &mut Connection) -> io::Result<bool>) {
        self.step(id, |broker, client| match client {
            Client::Relayed(connection) => {
                act(broker, connection).inspect_err(|_| reset(&connection.client.socket)).is_ok()
            }
            Client::Asking(_) => true,
        });
    }
}
