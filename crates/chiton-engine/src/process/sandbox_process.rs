//! The process that prepares a sandbox, from the engine's side.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::order::memory_file;
use crate::enclosure::prepare::{PREPARED, PrepareOrder, Prepared};
use crate::protocol::SANDBOX_ARGUMENT;
use crate::sys::messages;

/// How long preparing may take; it takes milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

/// Executes `program` to prepare a sandbox, and waits for what it made: a few milliseconds.
pub(crate) fn prepare(program: &Path, order: &PrepareOrder) -> io::Result<(Prepared, Vec<OwnedFd>)> {
    let (mut ours, theirs) = UnixStream::pair()?;
    #[expect(clippy::disallowed_methods, reason = "this is where what prepares a sandbox is started")]
    let mut child = Command::new(program)
        .arg0("chiton")
        .arg(SANDBOX_ARGUMENT)
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let answer = exchange(&mut ours, order);
    if answer.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    answer
}

fn exchange(connection: &mut UnixStream, order: &PrepareOrder) -> io::Result<(Prepared, Vec<OwnedFd>)> {
    connection.set_read_timeout(Some(LIMIT))?;
    let text = postcard::to_stdvec(order).map_err(|error| io::Error::other(error.to_string()))?;
    messages::send(&*connection, PREPARED, &[memory_file(&text)?.as_fd()])?;

    let mut bytes = [0; 4096];
    let Some((count, files)) = messages::receive(&*connection, &mut bytes)? else {
        return Err(io::Error::other("what should prepare the sandbox ended without a word"));
    };
    let mut answer = bytes[1..count].to_vec();
    connection.read_to_end(&mut answer)?;
    let prepared = postcard::from_bytes(&answer).map_err(|_| io::Error::other("what was prepared cannot be read"))?;
    Ok((prepared, files))
}
