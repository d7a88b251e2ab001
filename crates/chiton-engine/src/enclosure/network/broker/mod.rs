//! The broker: a small process outside of a session's network that dials for what is inside.
//!
//! 1. It is this program once more, with [`BROKER_ARGUMENT`] and a socket as its standard input.
//! 2. [`give`] sends it the sockets from inside and its plan, and it says that it has started ([`started`]).
//! 3. It serves until the last writer of its `life` pipe is gone ([`work`]): whoever starts it keeps one, and so does every
//!    keeper of the session. Rules can be added meanwhile ([`allow`]).
//!
//! One thread does everything but asking the system for names. It never waits for anything else than for the next event.

mod accepting;
mod connection;
mod dialling;
mod questions;
mod work;

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use serde::{Deserialize, Serialize};

use super::inside::{Inventory, Sockets};
use super::parcel;
use super::resolver::Resolution;
use crate::sandbox::Upstream;
use crate::sandbox::policy::HostRule;
use crate::sys::descriptors;

/// The first argument of a process that is to be a broker.
pub(crate) const BROKER_ARGUMENT: &str = "chiton-broker";

/// What a broker does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BrokerPlan {
    /// What may be reached.
    pub(crate) rules: Vec<HostRule>,
    /// Ports inside that are reachable at 127.0.0.1 outside.
    pub(crate) expose: Vec<u16>,
    /// Who knows where names lead.
    pub(crate) resolution: Resolution,
    /// The machine's own proxy.
    pub(crate) upstream: Option<Upstream>,
    /// Domains that resolvers inside try behind a name (`search` in `resolv.conf`), which nobody asked for, besides those
    /// that the machine's resolver is set up with.
    pub(crate) search: Vec<String>,
}

/// What a broker says before it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BrokerReport {
    /// It serves. These ports could not be exposed, and why.
    Started { not_exposed: Vec<(u16, String)> },
    /// It cannot serve.
    Failed { reason: String },
}

/// What a broker is told later.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Order {
    Allow(HostRule),
}

/// Gives a broker that was just started its work, over the socket that is its standard input. `life` is the reading end
/// of a pipe, `events` the writing end of another one, to be read with [`super::events::EventReader`].
pub(crate) fn give(
    socket: &UnixStream,
    plan: &BrokerPlan,
    sockets: &Sockets,
    life: BorrowedFd<'_>,
    events: BorrowedFd<'_>,
) -> io::Result<()> {
    let descriptors: Vec<_> = [life, events].into_iter().chain(sockets.descriptors()).collect();
    parcel::send(socket, &(plan, Some(sockets.inventory())), &descriptors)
}

/// Gives a broker its work where the session has no network of its own: to be a proxy, over HTTP and SOCKS 5, for whoever
/// connects to `listener`. The rest is as for [`give`].
pub(crate) fn give_as_proxy(
    socket: &UnixStream,
    plan: &BrokerPlan,
    listener: BorrowedFd<'_>,
    life: BorrowedFd<'_>,
    events: BorrowedFd<'_>,
) -> io::Result<()> {
    parcel::send(socket, &(plan, None::<Inventory>), &[life, events, listener])
}

/// Waits for what a broker says to its work.
pub(crate) fn started(socket: &UnixStream) -> io::Result<BrokerReport> {
    parcel::receive(socket).map(|(report, _)| report)
}

/// Allows one name more, from now on and for as long as the broker lives.
#[cfg_attr(not(test), expect(dead_code, reason = "no call widens a policy while it holds"))]
pub(crate) fn allow(mut socket: &UnixStream, rule: &HostRule) -> io::Result<()> {
    socket.write_all(&parcel::encode(&Order::Allow(rule.clone()))?)
}

/// Does the work of a broker on standard input, until its life ends.
pub(crate) fn serve() -> io::Result<()> {
    // Before anything is opened: what the engine's program leaked must not be held by us.
    descriptors::close_from(3);
    let socket = UnixStream::from(descriptors::take_stdin()?);
    // A session of our own: the terminal's Ctrl-C is not for us.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/")?;
    // What runs inside may have our user. It must not look into us, and no core file may hold what others sent.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    serve_on(socket)
}

/// Takes its work from `socket` and does it.
pub(super) fn serve_on(socket: UnixStream) -> io::Result<()> {
    raise_open_files();
    let ((plan, inventory), descriptors): ((BrokerPlan, Option<Inventory>), _) = parcel::receive(&socket)?;

    match prepare(plan, inventory.as_ref(), descriptors) {
        Ok((mut broker, not_exposed)) => {
            parcel::send(&socket, &BrokerReport::Started { not_exposed }, &[])?;
            broker.listen_to(socket)?;
            broker.work()
        }
        Err(error) => {
            let reason = format!("the broker of the network could not start: {error}");
            parcel::send(&socket, &BrokerReport::Failed { reason }, &[])?;
            Err(error)
        }
    }
}

type Unexposed = Vec<(u16, String)>;

fn prepare(
    plan: BrokerPlan,
    inventory: Option<&Inventory>,
    mut given: Vec<OwnedFd>,
) -> io::Result<(work::Broker, Unexposed)> {
    if given.len() < 2 {
        return Err(io::Error::other("its life and its events are missing"));
    }
    let mut sockets = given.split_off(2);
    let (Some(events), Some(life)) = (given.pop(), given.pop()) else {
        return Err(io::Error::other("its life and its events are missing"));
    };

    let expose = plan.expose.clone();
    let mut broker = work::Broker::new(plan, life, events)?;
    match (inventory, sockets.pop()) {
        (None, Some(listener)) => broker.serve_as_proxy(listener)?,
        (Some(inventory), Some(last)) => {
            sockets.push(last);
            broker.enter(Sockets::from_descriptors(inventory, sockets)?)?;
        }
        (_, None) => return Err(io::Error::other("it has no socket to serve")),
    }
    let mut not_exposed = Vec::new();
    for port in expose {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        if let Err(error) = listener.and_then(|listener| broker.expose(port, listener.into())) {
            not_exposed.push((port, error.to_string()));
        }
    }
    Ok((broker, not_exposed))
}

/// A connection takes two descriptors and up to four for its pipes.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
