//! The loop of the broker: waits for the next event and leads it to whom it concerns.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::process::{Resource, getrlimit};

use super::accepting::{Listener, ListensFor};
use super::connection::Connection;
use super::questions::{QuestionStream, RecentNames};
use super::{BrokerPlan, Order};
use crate::enclosure::network::bare;
use crate::enclosure::network::events::{EventWriter, Refusal, Refused, Transport};
use crate::enclosure::network::inside::{Sockets, listener_on};
use crate::enclosure::network::names::Names;
use crate::enclosure::network::parcel::Frames;
use crate::enclosure::network::relay::Pipes;
use crate::enclosure::network::resolver::Resolver;
use crate::enclosure::network::rules::{DNS_PORT, Rules, plain_name};
use crate::enclosure::network::seed::Seed;
use crate::sandbox::Upstream;

/// The most connections at a time. Others wait until they are accepted.
const CONNECTIONS: usize = 4096;
/// Descriptors that a connection may need, and those that the broker itself has.
const DESCRIPTORS_EACH: u64 = 6;
const DESCRIPTORS_OWN: u64 = 128;

/// How many events are taken at once, and how many packets are read before others have their turn.
const EVENTS: usize = 256;
pub(super) const BATCH: usize = 64;

const LIFE: u64 = 0;
const CONTROL: u64 = 1;
const QUESTIONS: u64 = 2;
const RESOLVED: u64 = 3;
const REFUSALS: u64 = 4;
const FIRST_FREE: u64 = 16;

/// Which end of a connection an event concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The one that dialled.
    Client,
    /// The one that we dialled for it.
    Server,
}

/// Somebody who is connected.
pub(super) enum Client {
    Relayed(Box<Connection>),
    Asking(Box<QuestionStream>),
}

/// What becomes of a connection after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It waits for an event.
    Waits,
    /// It has more to do, when others had their turn.
    MayGoOn,
    Over,
}

/// All that the broker has.
pub(super) struct Broker {
    epoll: OwnedFd,
    life: OwnedFd,
    control: Option<(UnixStream, Frames)>,
    dns: Option<OwnedFd>,
    refusals: Option<OwnedFd>,
    seed: Option<Seed>,
    listeners: HashMap<u64, Listener>,
    clients: HashMap<u64, Client>,
    next: u64,
    room: usize,
    /// No connections are accepted for now: there is no room.
    full: bool,

    pub(super) rules: Rules,
    pub(super) names: Names,
    pub(super) resolver: Resolver,
    pub(super) upstream: Option<Upstream>,
    pub(super) recent: RecentNames,
    /// Domains in which a name without a dot is looked for.
    pub(super) search: Vec<String>,
    pub(super) pipes: Pipes,
    pub(super) events: EventWriter,
    /// Connections that wait for where a name leads.
    pub(super) waiting: HashMap<String, Vec<u64>>,
    /// When connections have waited for long enough.
    pub(super) deadlines: BTreeSet<(Instant, u64)>,
    unfinished: VecDeque<u64>,
}

impl Broker {
    pub(super) fn new(plan: BrokerPlan, life: OwnedFd, events: OwnedFd) -> io::Result<Self> {
        let open_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let room = open_files.saturating_sub(DESCRIPTORS_OWN) / DESCRIPTORS_EACH;

        let search = plan.resolution.search_domains().into_iter().chain(plan.search);
        let search: Vec<String> =
            search.map(|domain| plain_name(&domain)).filter(|domain| !domain.is_empty()).collect();
        let broker = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            life,
            control: None,
            seed: None,
            dns: None,
            refusals: None,
            listeners: HashMap::new(),
            clients: HashMap::new(),
            next: FIRST_FREE,
            room: usize::try_from(room).map_or(CONNECTIONS, |room| room.clamp(1, CONNECTIONS)),
            full: false,
            rules: Rules::new(&plan.rules),
            names: Names::default(),
            recent: RecentNames::new(&search),
            search,
            resolver: Resolver::new(plan.resolution)?,
            upstream: plan.upstream,
            pipes: Pipes::default(),
            events: EventWriter::new(events)?,
            waiting: HashMap::new(),
            deadlines: BTreeSet::new(),
            unfinished: VecDeque::new(),
        };
        broker.watch(&broker.life, LIFE)?;
        broker.watch(&broker.resolver.descriptor(), RESOLVED)?;
        Ok(broker)
    }

    /// Serves the network that these sockets are from.
    pub(super) fn enter(&mut self, sockets: Sockets) -> io::Result<()> {
        let Sockets { dns, dns_stream, seed, refusals, listeners } = sockets;
        self.watch(&dns, QUESTIONS)?;
        self.dns = Some(dns);
        if let Some(refusals) = refusals {
            self.watch(&refusals, REFUSALS)?;
            self.refusals = Some(refusals);
        }
        self.seed = Seed::plant(seed, &dns_stream, DNS_PORT).ok();
        self.listen(Listener { socket: dns_stream, wants: ListensFor::Questions })?;
        for (port, socket) in listeners {
            self.listen(Listener { socket, wants: ListensFor::Inside(port) })?;
        }
        Ok(())
    }

    /// Serves programs that use a proxy.
    pub(super) fn serve_as_proxy(&mut self, listener: OwnedFd) -> io::Result<()> {
        rustix::io::ioctl_fionbio(&listener, true)?;
        self.listen(Listener { socket: listener, wants: ListensFor::Requests })
    }

    /// Takes orders from the engine, for as long as that is there.
    pub(super) fn listen_to(&mut self, socket: UnixStream) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        self.watch(&socket, CONTROL)?;
        self.control = Some((socket, Frames::default()));
        Ok(())
    }

    /// Makes a port of the session reachable through a listener outside.
    pub(super) fn expose(&mut self, port: u16, listener: OwnedFd) -> io::Result<()> {
        if self.seed.is_none() {
            return Err(io::Error::other("the network of the session cannot be entered"));
        }
        rustix::io::ioctl_fionbio(&listener, true)?;
        self.listen(Listener { socket: listener, wants: ListensFor::Outside(port) })
    }

    fn listen(&mut self, listener: Listener) -> io::Result<()> {
        let id = self.next_id();
        self.watch(&listener.socket, id)?;
        self.listeners.insert(id, listener);
        Ok(())
    }

    fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn watch(&self, descriptor: &impl AsFd, id: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(id << 1);
        Ok(epoll::add(&self.epoll, descriptor, data, epoll::EventFlags::IN)?)
    }

    /// Follows a socket by its edges: each event comes once, and is remembered by the end it belongs to.
    pub(super) fn follow(&self, socket: &OwnedFd, id: u64, side: Side) -> io::Result<()> {
        let data = epoll::EventData::new_u64(id << 1 | u64::from(side == Side::Server));
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, data, flags)?)
    }

    /// Serves until its life ends.
    pub(super) fn work(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            events.clear();
            let limit = self.time_left();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), limit.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let (token, flags) = (event.data.u64(), event.flags);
                if token >> 1 == LIFE && self.life_is_over() {
                    return Ok(());
                }
                self.lead(token, flags);
            }
            for id in std::mem::take(&mut self.unfinished) {
                self.advance(id);
            }
            self.end_overdue();
        }
    }

    fn time_left(&self) -> Option<Timespec> {
        if !self.unfinished.is_empty() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        // Descriptors may be free again that others had: nobody tells us.
        let retry = self.full.then_some(Duration::from_millis(100));
        let next = self.deadlines.first().map(|(until, _)| until.saturating_duration_since(Instant::now()));
        let left = [retry, next].into_iter().flatten().min()?;
        // Rounded up to the next millisecond, as the kernel counts them.
        (left + Duration::from_millis(1)).try_into().ok()
    }

    fn life_is_over(&self) -> bool {
        !matches!(rustix::io::read(&self.life, &mut [0; 64][..]), Ok(1..))
    }

    fn lead(&mut self, token: u64, flags: epoll::EventFlags) {
        let (id, side) = (token >> 1, if token & 1 == 0 { Side::Client } else { Side::Server });
        match id {
            LIFE => {}
            CONTROL => self.take_orders(),
            QUESTIONS => self.answer_datagrams(),
            RESOLVED => self.take_answers(),
            REFUSALS => self.report_bare_refusals(),
            _ if self.listeners.contains_key(&id) => self.accept_from(id),
            _ => {
                match self.clients.get_mut(&id) {
                    Some(Client::Relayed(connection)) => connection.note(side, flags),
                    Some(Client::Asking(stream)) => stream.note(flags),
                    None => return,
                }
                self.advance(id);
            }
        }
    }

    /// Takes a connection a step further.
    pub(super) fn advance(&mut self, id: u64) {
        let Some(mut client) = self.clients.remove(&id) else { return };
        let step = match &mut client {
            Client::Relayed(connection) => self.advance_connection(id, connection),
            Client::Asking(stream) => self.answer_stream(stream),
        };
        match step {
            Step::Over => return self.end(id, client),
            Step::MayGoOn => self.unfinished.push_back(id),
            Step::Waits => {}
        }
        self.clients.insert(id, client);
    }

    /// Does something with a connection, which ends where that fails, and takes it a step further.
    pub(super) fn step(&mut self, id: u64, act: impl FnOnce(&mut Self, &mut Client) -> bool) {
        let Some(mut client) = self.clients.remove(&id) else { return };
        if act(self, &mut client) {
            self.clients.insert(id, client);
            self.advance(id);
        } else {
            self.end(id, client);
        }
    }

    fn end(&mut self, id: u64, mut client: Client) {
        if let Client::Relayed(connection) = &mut client
            && let Some(until) = connection.until.take()
        {
            self.deadlines.remove(&(until, id));
        }
        drop(client);
        self.make_room();
    }

    fn end_overdue(&mut self) {
        let now = Instant::now();
        while let Some((until, id)) = self.deadlines.first().copied().filter(|(until, _)| *until <= now) {
            self.deadlines.remove(&(until, id));
            if let Some(Client::Relayed(connection)) = self.clients.get_mut(&id) {
                connection.until = None;
                connection.is_overdue = true;
                self.advance(id);
            }
        }
        if self.full && self.clients.len() < self.room {
            self.make_room();
        }
    }

    /// Adds somebody who connected.
    pub(super) fn admit(&mut self, make: impl FnOnce(&mut Self, u64) -> io::Result<Client>) {
        let id = self.next_id();
        if let Ok(client) = make(self, id) {
            self.clients.insert(id, client);
            self.advance(id);
        }
    }

    fn accept_from(&mut self, id: u64) {
        for _ in 0..BATCH {
            if self.clients.len() >= self.room {
                self.stop_accepting();
                return;
            }
            let Some(listener) = self.listeners.get(&id) else { return };
            match listener.accept() {
                Ok(Some((wants, socket, source))) => self.welcome(wants, socket, source),
                Ok(None) => return,
                // No descriptor is free, or no memory.
                Err(_) => {
                    self.stop_accepting();
                    return;
                }
            }
        }
    }

    fn stop_accepting(&mut self) {
        self.full = true;
        for listener in self.listeners.values() {
            let _ = epoll::delete(&self.epoll, &listener.socket);
        }
    }

    fn make_room(&mut self) {
        if !std::mem::take(&mut self.full) {
            return;
        }
        for (id, listener) in &self.listeners {
            let _ = self.watch(&listener.socket, *id);
        }
    }

    pub(super) fn seed(&self) -> Option<&Seed> {
        self.seed.as_ref()
    }

    pub(super) fn dns(&self) -> Option<&OwnedFd> {
        self.dns.as_ref()
    }

    fn take_orders(&mut self) {
        let Some((socket, mut frames)) = self.control.take() else { return };
        let mut bytes = [0; 4096];
        loop {
            match (&socket).read(&mut bytes) {
                Ok(count) if count > 0 => frames.extend(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The engine is gone. Keepers of the session may still be there.
                _ => return,
            }
        }
        loop {
            match frames.next() {
                Ok(Some(Order::Allow(rule))) => {
                    self.rules.add(&rule);
                    self.listen_at_new_ports();
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        self.control = Some((socket, frames));
    }

    fn listen_at_new_ports(&mut self) {
        for port in self.rules.ports() {
            let is_there = |listener: &Listener| listener.wants == ListensFor::Inside(port);
            if self.listeners.values().any(is_there) {
                continue;
            }
            let socket = self.seed.as_ref().map(|seed| seed.sprout().and_then(|socket| listener_on(socket, port)));
            if let Some(Ok(socket)) = socket {
                let _ = self.listen(Listener { socket, wants: ListensFor::Inside(port) });
            }
        }
    }

    fn report_bare_refusals(&mut self) {
        let mut packet = [0; 2048];
        for _ in 0..BATCH {
            let Some(refusals) = &self.refusals else { return };
            let Ok((count, _)) = rustix::net::recv(refusals, &mut packet[..], rustix::net::RecvFlags::empty()) else {
                return;
            };
            let Some(refusal) = bare::read(&packet[..count]) else { continue };
            let (what, name) = match self.names.name_of(refusal.dialled.ip()) {
                Some(name) => (Refused::Port, name.to_owned()),
                None if self.rules.know_address(refusal.dialled.ip()) => {
                    (Refused::Port, refusal.dialled.ip().to_string())
                }
                None => (Refused::Address(None), refusal.dialled.ip().to_string()),
            };
            self.report(what, name, refusal.dialled.port(), refusal.over, refusal.source);
        }
    }

    pub(super) fn report(&mut self, what: Refused, name: String, port: u16, over: Transport, source: SocketAddr) {
        let source = SocketAddr::new(source.ip().to_canonical(), source.port());
        self.events.write(Refusal { what, name, port, over, source, missed: 0 });
    }
}
