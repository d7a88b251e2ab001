//! Starting a keeper, from the engine's side.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::keeper::KEEPER_ARGUMENT;
use crate::sys::process::ended;

/// Executes `keeper` with one end of a socket pair as its standard input; gives the other end and its process id.
///
/// It inherits nothing else: an empty environment, no terminal, no other descriptor.
pub(super) fn start(keeper: &Path, run_id: &str) -> io::Result<(UnixStream, i32)> {
    let (ours, theirs) = UnixStream::pair()?;
    #[expect(clippy::disallowed_methods, reason = "this is where keepers are started")]
    let child = Command::new(keeper)
        .arg0("chiton")
        .args([KEEPER_ARGUMENT, run_id])
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    reap_when_it_ends(child);
    Ok((ours, pid))
}

/// A keeper may outlive the call by hours; its end is an event, so that no zombie is left and nobody polls.
fn reap_when_it_ends(mut child: Child) {
    let handle = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok());
    tokio::spawn(async move {
        if let Some(handle) = handle {
            ended(handle).await;
        }
        let _ = child.wait();
    });
}
