//! One connection, from being accepted to its end.
//!
//! 1. Where its name leads is asked ([`Stage::Resolving`]), then it is dialled ([`Stage::Dialling`]), see
//!    [`super::dialling`]. Through a proxy a tunnel is asked for ([`Stage::Tunnelling`]).
//! 2. Bytes are moved both ways until both have ended ([`Stage::Relaying`]).
//! 3. Beside that, the first bytes of what should be TLS are looked at ([`Gate`]), as soon as they are there. Nothing that
//!    the client sends goes on before.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::accepting::{Dialled, reset};
use super::dialling::Dial;
use super::work::{Broker, Side, Step};
use crate::enclosure::network::events::{Refused, Transport};
use crate::enclosure::network::hello::{self, HELLO_BYTES, Hello};
use crate::enclosure::network::proxy::{self, Language, REQUEST_BYTES, Request, Spoken};
use crate::enclosure::network::relay::{Direction, End, Pumped};
use crate::sandbox::upstream::{TunnelAnswer, read_answer};

/// The port at which TLS has to be for the name that was dialled.
const TLS_PORT: u16 = 443;

/// What was dialled.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// As it is reported: the name, or the address.
    pub(super) name: String,
    pub(super) port: u16,
    pub(super) kind: TargetKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    Name,
    /// A rule names this very address.
    Address,
    /// A port of the session, dialled from outside.
    Inside,
    /// Its client has not said it yet.
    Unknown,
}

pub(super) struct Connection {
    pub(super) client: End,
    source: SocketAddr,
    pub(super) target: Target,
    gate: Gate,
    pub(super) stage: Stage,
    /// When it will have waited for long enough.
    pub(super) until: Option<Instant>,
    /// It has.
    pub(super) is_overdue: bool,
    client_is_gone: bool,
    client_sends_no_more: bool,
    /// How a client of the proxy wants its answer, until it has it.
    language: Option<Language>,
    /// What the server is sent instead of the client's request.
    instead: Vec<u8>,
}

/// Whether what the client sends may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    AwaitsHello,
    Open,
}

pub(super) enum Stage {
    /// The client has to say where to, and may have been welcomed.
    Requesting {
        greeted: bool,
    },
    Accepted,
    Resolving,
    Dialling(Dial),
    /// The proxy is asked for a tunnel: what it was not told yet, and what it has said.
    Tunnelling {
        server: End,
        request: Vec<u8>,
        answer: Vec<u8>,
    },
    /// What a request became goes to the server before all else.
    Passing {
        server: End,
        request: Vec<u8>,
    },
    Relaying {
        server: End,
        up: Direction,
        down: Direction,
    },
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, source: SocketAddr, target: Target) -> Self {
        let has_name = target.kind == TargetKind::Name && target.port == TLS_PORT;
        Self {
            client: End::new(socket),
            source,
            gate: if has_name { Gate::AwaitsHello } else { Gate::Open },
            target,
            stage: Stage::Accepted,
            until: None,
            is_overdue: false,
            client_is_gone: false,
            client_sends_no_more: false,
            language: None,
            instead: Vec::new(),
        }
    }

    /// One whose client says where to.
    pub(super) fn with_request(socket: OwnedFd, source: SocketAddr) -> Self {
        let target = Target { name: String::new(), port: 0, kind: TargetKind::Unknown };
        Self { stage: Stage::Requesting { greeted: false }, ..Self::new(socket, source, target) }
    }

    fn set_target(&mut self, target: Target) {
        let has_name = target.kind == TargetKind::Name && target.port == TLS_PORT;
        self.gate = if has_name { Gate::AwaitsHello } else { Gate::Open };
        self.target = target;
        self.stage = Stage::Accepted;
    }

    /// Remembers what an event says.
    pub(super) fn note(&mut self, side: Side, flags: EventFlags) {
        let is_broken = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let end = match (side, &mut self.stage) {
            (Side::Client, _) => {
                self.client_is_gone |= is_broken;
                self.client_sends_no_more |= flags.contains(EventFlags::RDHUP);
                &mut self.client
            }
            (Side::Server, Stage::Dialling(dial)) => &mut dial.server,
            (
                Side::Server,
                Stage::Tunnelling { server, .. } | Stage::Passing { server, .. } | Stage::Relaying { server, .. },
            ) => server,
            (Side::Server, Stage::Requesting { .. } | Stage::Accepted | Stage::Resolving) => return,
        };
        end.readable |= is_broken || flags.intersects(EventFlags::IN | EventFlags::RDHUP);
        end.writable |= is_broken || flags.contains(EventFlags::OUT);
    }
}

impl Broker {
    /// Does what can be done for a connection now.
    pub(super) fn advance_connection(&mut self, id: u64, connection: &mut Connection) -> Step {
        self.try_to_advance(id, connection).unwrap_or_else(|_| {
            // A client of the proxy is told. Others learn that this was not the proper end, and so does the server.
            if let Some(language) = connection.language.take() {
                let _ = send(&connection.client.socket, language.refused(), SendFlags::NOSIGNAL);
                return Step::Over;
            }
            reset(&connection.client.socket);
            if let Stage::Relaying { server, .. } = &connection.stage {
                reset(&server.socket);
            }
            Step::Over
        })
    }

    fn try_to_advance(&mut self, id: u64, connection: &mut Connection) -> io::Result<Step> {
        if connection.gate == Gate::AwaitsHello && connection.client.readable {
            self.look_at_hello(connection)?;
        }
        loop {
            // A client that has gone does not have to be dialled for.
            if connection.client_is_gone && !matches!(connection.stage, Stage::Relaying { .. }) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let advanced = match &mut connection.stage {
                Stage::Requesting { .. } => self.take_request(connection)?,
                Stage::Accepted => self.ask_where_it_leads(id, connection)?,
                Stage::Resolving if connection.is_overdue => return Err(io::ErrorKind::TimedOut.into()),
                Stage::Resolving => false,
                Stage::Dialling(_) => self.go_on_dialling(id, connection)?,
                Stage::Tunnelling { .. } => go_on_tunnelling(connection)?,
                Stage::Passing { .. } => go_on_passing(connection)?,
                Stage::Relaying { .. } => {
                    self.forget_time(id, connection);
                    return self.pump(connection);
                }
            };
            if !advanced {
                return Ok(Step::Waits);
            }
        }
    }

    /// Reads where a client of the proxy wants to go. Whether something came of it.
    fn take_request(&mut self, connection: &mut Connection) -> io::Result<bool> {
        let Stage::Requesting { greeted } = &mut connection.stage else { return Ok(false) };
        let mut bytes = [0; REQUEST_BYTES];
        let count = match recv(&connection.client.socket, &mut bytes[..], RecvFlags::PEEK) {
            Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((count, _)) => count,
            Err(Errno::AGAIN) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        match proxy::read(&bytes[..count], *greeted) {
            Spoken::Incomplete if connection.client_sends_no_more => Err(io::ErrorKind::UnexpectedEof.into()),
            Spoken::Incomplete => Ok(false),
            Spoken::Malformed => Err(io::ErrorKind::InvalidData.into()),
            Spoken::Greeting(length) => {
                *greeted = true;
                recv(&connection.client.socket, &mut bytes[..length], RecvFlags::empty())?;
                send(&connection.client.socket, &proxy::WELCOME, SendFlags::NOSIGNAL)?;
                Ok(true)
            }
            Spoken::Request(request) => {
                recv(&connection.client.socket, &mut bytes[..request.bytes], RecvFlags::empty())?;
                self.go_where_asked(connection, request)?;
                Ok(true)
            }
        }
    }

    fn go_where_asked(&mut self, connection: &mut Connection, request: Request) -> io::Result<()> {
        connection.language = Some(request.language);
        connection.instead = request.instead;
        let dialled = match request.host.parse::<IpAddr>() {
            Ok(address) => Dialled::Address(address.to_canonical()),
            Err(_) => Dialled::Name(self.in_search_domain(request.host, request.port)),
        };
        let target = self.judge(dialled, request.port, connection.source);
        connection.set_target(target.ok_or(io::ErrorKind::PermissionDenied)?);
        Ok(())
    }

    /// A name without a dot as the resolver outside would read it: in the first domain in which it is allowed. Inside of a
    /// network, resolvers do this by themselves.
    fn in_search_domain(&self, name: String, port: u16) -> String {
        if name.contains('.') || self.rules.know(&name) {
            return name;
        }
        let full = self.search.iter().map(|domain| format!("{name}.{domain}"));
        full.into_iter().find(|full| self.rules.allow(full, port)).unwrap_or(name)
    }

    fn pump(&mut self, connection: &mut Connection) -> io::Result<Step> {
        let Stage::Relaying { server, up, down } = &mut connection.stage else { return Ok(Step::Waits) };
        let sent = match connection.gate {
            Gate::Open => up.pump(&mut connection.client, server, &mut self.pipes)?,
            Gate::AwaitsHello => Pumped::Waits,
        };
        let received = down.pump(server, &mut connection.client, &mut self.pipes)?;
        Ok(match (sent, received) {
            (Pumped::Finished, Pumped::Finished) => Step::Over,
            (Pumped::MayGoOn, _) | (_, Pumped::MayGoOn) => Step::MayGoOn,
            _ => Step::Waits,
        })
    }

    /// Looks at what the client has sent, and leaves it where it is.
    fn look_at_hello(&mut self, connection: &mut Connection) -> io::Result<()> {
        let mut bytes = [0; HELLO_BYTES];
        let count = match recv(&connection.client.socket, &mut bytes[..], RecvFlags::PEEK) {
            Ok((count, _)) => count,
            Err(Errno::AGAIN) => {
                connection.client.readable = false;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        // The client ends without a word: the server may still have something to say.
        if count == 0 {
            connection.gate = Gate::Open;
            return Ok(());
        }

        let found = match hello::read(&bytes[..count]) {
            Hello::For(name) if name == connection.target.name => None,
            Hello::Other => None,
            Hello::Incomplete if !connection.client_sends_no_more => {
                // The next bytes are another event.
                connection.client.readable = false;
                return Ok(());
            }
            Hello::For(name) => Some(Some(name)),
            Hello::Nameless | Hello::Malformed | Hello::Incomplete => Some(None),
        };
        match found {
            None => {
                connection.gate = Gate::Open;
                Ok(())
            }
            Some(name) => Err(self.refuse(connection, Refused::Sni(name))),
        }
    }

    /// Reports that a connection was refused.
    pub(super) fn refuse(&mut self, connection: &Connection, what: Refused) -> io::Error {
        let target = &connection.target;
        self.report(what, target.name.clone(), target.port, Transport::Tcp, connection.source);
        io::ErrorKind::PermissionDenied.into()
    }

    fn forget_time(&mut self, id: u64, connection: &mut Connection) {
        if let Some(until) = connection.until.take() {
            self.deadlines.remove(&(until, id));
        }
    }
}

/// Asks the proxy for a tunnel, and reads its answer no further than to its end. Whether there is one now.
fn go_on_tunnelling(connection: &mut Connection) -> io::Result<bool> {
    if connection.is_overdue {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let Stage::Tunnelling { server, request, answer } = &mut connection.stage else { return Ok(false) };
    while server.writable && !request.is_empty() {
        match send(&server.socket, request, SendFlags::NOSIGNAL) {
            Ok(count) => drop(request.drain(..count)),
            Err(Errno::AGAIN) => server.writable = false,
            Err(error) => return Err(error.into()),
        }
    }
    while server.readable {
        let mut bytes = [0; 1024];
        let count = match recv(&server.socket, &mut bytes[..], RecvFlags::PEEK) {
            Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((count, _)) => count,
            Err(Errno::AGAIN) => {
                server.readable = false;
                break;
            }
            Err(error) => return Err(error.into()),
        };
        let before = answer.len();
        answer.extend_from_slice(&bytes[..count]);
        // What stands behind the answer belongs to the client, so only the answer itself is taken.
        let (take, is_open) = match read_answer(answer) {
            TunnelAnswer::Open(end) => (end - before, true),
            TunnelAnswer::Incomplete => (count, false),
            TunnelAnswer::Refused => return Err(io::ErrorKind::ConnectionRefused.into()),
        };
        recv(&server.socket, &mut bytes[..take], RecvFlags::empty())?;
        if is_open {
            connection.start_relaying();
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sends the server what a request became. Whether all of it is sent.
fn go_on_passing(connection: &mut Connection) -> io::Result<bool> {
    let Stage::Passing { server, request } = &mut connection.stage else { return Ok(false) };
    while server.writable && !request.is_empty() {
        match send(&server.socket, request, SendFlags::NOSIGNAL) {
            Ok(count) => drop(request.drain(..count)),
            Err(Errno::AGAIN) => server.writable = false,
            Err(error) => return Err(error.into()),
        }
    }
    let is_done = request.is_empty();
    if is_done {
        connection.start_relaying();
    }
    Ok(is_done)
}

impl Connection {
    /// From now on bytes are moved. Does nothing before there is a server.
    pub(super) fn start_relaying(&mut self) {
        if let Some(language) = self.language.take() {
            // So little fits into a socket that nothing was sent to yet.
            let _ = send(&self.client.socket, language.accepted(), SendFlags::NOSIGNAL);
        }
        let request = std::mem::take(&mut self.instead);
        self.stage = match std::mem::replace(&mut self.stage, Stage::Accepted) {
            Stage::Dialling(Dial { server, .. }) | Stage::Tunnelling { server, .. } if !request.is_empty() => {
                Stage::Passing { server, request }
            }
            Stage::Dialling(Dial { server, .. }) | Stage::Tunnelling { server, .. } | Stage::Passing { server, .. } => {
                Stage::Relaying { server, up: Direction::default(), down: Direction::default() }
            }
            other => other,
        };
    }
}
