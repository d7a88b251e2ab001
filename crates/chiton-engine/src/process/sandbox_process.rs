//! The processes that prepare a sandbox and lead names out of its network, from the engine's side.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::order::memory_file;
use crate::enclosure::network::broker::{self, BROKER_ARGUMENT, BrokerPlan, BrokerReport};
use crate::enclosure::network::events::EventReader;
use crate::enclosure::network::inside::Sockets;
use crate::enclosure::prepare::{self, PREPARED, PrepareOrder, Prepared};
use crate::enclosure::{Broker, Made};
use crate::lock::Lock;
use crate::protocol::SANDBOX_ARGUMENT;
use crate::sandbox::policy::NetworkPolicy;
use crate::sys::messages;

/// How long preparing may take; it takes milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

/// Executes `program` to prepare a sandbox, in the namespaces of a session that has one already or in new ones, and waits for
/// what it made: a few milliseconds. `names` makes the plan of the
/// process that leads names out, where the policy has any.
pub(crate) fn prepare(
    program: &Path,
    order: &PrepareOrder,
    joined: &[BorrowedFd<'_>],
    names: impl Fn() -> BrokerPlan,
) -> io::Result<Made> {
    let (connection, mut child) = start(program, SANDBOX_ARGUMENT)?;
    let answer = exchange(&connection, order, joined);
    if answer.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    let (prepared, files, sockets) = answer?;
    let is_named = matches!(order.policy.network, NetworkPolicy::Named(_));
    let entrance = match sockets {
        Some(sockets) => Some(Entrance::Network(sockets)),
        // Without the watch nobody would keep a command from dialling by itself.
        None if is_named && prepared.watch.holds() => Some(Entrance::proxy()?),
        None => None,
    };
    let broker = entrance.map(|entrance| start_broker(program, names(), &entrance)).transpose()?;
    Ok((prepared, files, broker))
}

/// Where commands meet what leads names out.
enum Entrance {
    /// In a network of their own, which these sockets are from.
    Network(Sockets),
    /// At a proxy, where they have none.
    Proxy(TcpListener, u16),
}

impl Entrance {
    fn proxy() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        Ok(Self::Proxy(listener, port))
    }
}

fn start(program: &Path, role: &str) -> io::Result<(UnixStream, Child)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(LIMIT))?;
    #[expect(clippy::disallowed_methods, reason = "this is where what serves a sandbox is started")]
    let child = Command::new(program)
        .arg0("chiton")
        .arg(role)
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((ours, child))
}

fn exchange(
    connection: &UnixStream,
    order: &PrepareOrder,
    joined: &[BorrowedFd<'_>],
) -> io::Result<(Prepared, Vec<OwnedFd>, Option<Sockets>)> {
    let text = postcard::to_stdvec(order).map_err(|error| io::Error::other(error.to_string()))?;
    let text = memory_file(&text)?;
    let files: Vec<BorrowedFd<'_>> = [text.as_fd()].into_iter().chain(joined.iter().copied()).collect();
    messages::send(connection, &[PREPARED], &files)?;
    let (prepared, files) = prepare::receive(connection)?;
    let is_named =
        joined.is_empty() && matches!(order.policy.network, NetworkPolicy::Named(_)) && prepared.network.holds();
    let sockets = is_named.then(|| Sockets::receive(connection)).transpose()?;
    Ok((prepared, files, sockets))
}

/// Starts what leads names out. It outlives us as long as a keeper of the sandbox does.
fn start_broker(program: &Path, mut plan: BrokerPlan, entrance: &Entrance) -> io::Result<Broker> {
    let (connection, child) = start(program, BROKER_ARGUMENT)?;
    let (life_end, life) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (events, events_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&events, true)?;
    let (life_end, events_end) = (life_end.as_fd(), events_end.as_fd());
    let proxy = match entrance {
        Entrance::Network(sockets) => {
            broker::give(&connection, &plan, sockets, life_end, events_end)?;
            None
        }
        Entrance::Proxy(listener, port) => {
            // What listens there can be reached anyway: the ports are those of this machine.
            plan.expose.clear();
            broker::give_as_proxy(&connection, &plan, listener.as_fd(), life_end, events_end)?;
            Some(*port)
        }
    };
    reap_later(child)?;
    match broker::started(&connection)? {
        BrokerReport::Started { not_exposed } => {
            let events = Lock::new((File::from(events), EventReader::default()));
            Ok(Broker { life, events, proxy, not_exposed, is_gone: AtomicBool::new(false) })
        }
        BrokerReport::Failed { reason } => Err(io::Error::other(reason)),
    }
}

/// Its end is an event, so that no zombie is left and nobody polls. On a thread of its own: a runtime would not end before it.
fn reap_later(mut child: Child) -> io::Result<()> {
    const STACK_BYTES: usize = 64 * 1024;
    let reaping = std::thread::Builder::new().name("broker".to_owned()).stack_size(STACK_BYTES);
    reaping.spawn(move || drop(child.wait())).map(drop)
}
