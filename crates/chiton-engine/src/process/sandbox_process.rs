//! The processes that prepare a sandbox and lead names out of its network, from the engine's side.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
    let broker = sockets.map(|sockets| start_broker(program, &names(), &sockets)).transpose()?;
    Ok((prepared, files, broker))
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
    messages::send(connection, PREPARED, &files)?;
    let (prepared, files) = prepare::receive(connection)?;
    let is_named =
        joined.is_empty() && matches!(order.policy.network, NetworkPolicy::Named(_)) && prepared.network.holds();
    let sockets = is_named.then(|| Sockets::receive(connection)).transpose()?;
    Ok((prepared, files, sockets))
}

/// Starts what leads names out. It outlives us as long as a keeper of the sandbox does.
fn start_broker(program: &Path, plan: &BrokerPlan, sockets: &Sockets) -> io::Result<Broker> {
    let (connection, child) = start(program, BROKER_ARGUMENT)?;
    let (life_end, life) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (events, events_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&events, true)?;
    broker::give(&connection, plan, sockets, life_end.as_fd(), events_end.as_fd())?;
    reap_later(child);
    match broker::started(&connection)? {
        BrokerReport::Started { .. } => {
            Ok(Broker { life, events: Lock::new((File::from(events), EventReader::default())) })
        }
        BrokerReport::Failed { reason } => Err(io::Error::other(reason)),
    }
}

/// Its end is an event, so that no zombie is left and nobody polls.
fn reap_later(mut child: Child) {
    tokio::task::spawn_blocking(move || drop(child.wait()));
}
