//! A program that the engine itself asks something, not a command: a password manager, a login shell.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use zeroize::Zeroizing;

use crate::bytes::ByteString;

/// More than any answer has.
const MOST_BYTES: usize = 16 << 20;

/// What is asked.
pub(crate) struct Helper<'a> {
    /// The program and its arguments, as a list: no shell reads them.
    pub(crate) words: &'a [String],
    pub(crate) environment: &'a [(String, Vec<u8>)],
    pub(crate) directory: &'a str,
    pub(crate) limit: Duration,
}

/// What it printed, and how it ended.
pub(crate) struct HelperOutput {
    pub(crate) output: Zeroizing<Vec<u8>>,
    /// `None` where a signal ended it.
    pub(crate) code: Option<i32>,
}

/// Runs the program to its end, without input, and takes its output. Blocks.
///
/// # Errors
/// When it cannot be started, or has not ended within its limit: then it is killed, with its group.
pub(crate) fn ask(helper: &Helper<'_>) -> io::Result<HelperOutput> {
    let end = Instant::now() + helper.limit;
    let (program, arguments) = helper.words.split_first().ok_or_else(|| io::Error::other("no program is named"))?;
    let environment = helper.environment.iter().map(|(name, value)| (name, os_string(value)));
    #[expect(clippy::disallowed_methods, reason = "this is where helpers are started")]
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .current_dir(helper.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let mut output = Zeroizing::new(Vec::new());
    let read = child.stdout.take().map_or(Ok(()), |pipe| read_until(pipe, &mut output, end));
    if let Err(error) = read {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait();
        let late = error.kind() == io::ErrorKind::TimedOut;
        let message = format!("it did not answer within {:?}", helper.limit);
        return Err(if late { io::Error::new(io::ErrorKind::TimedOut, message) } else { error });
    }
    Ok(HelperOutput { output, code: child.wait()?.code() })
}

/// Starts a program that nobody waits for: without input, in a group of its own, its output discarded. It is reaped like
/// every other child.
pub(crate) fn start(words: &[String], environment: &[(String, ByteString)]) -> io::Result<i32> {
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("no program is named"))?;
    let environment = environment.iter().map(|(name, value)| (name, os_string(value)));
    #[expect(clippy::disallowed_methods, reason = "this is where helpers are started")]
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id()).map_err(io::Error::other)
}

fn os_string(bytes: &[u8]) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

fn read_until(mut pipe: impl Read + AsFd, output: &mut Vec<u8>, end: Instant) -> io::Result<()> {
    let mut chunk = Zeroizing::new([0u8; 4096]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
        let timeout = Timespec { tv_sec: seconds, tv_nsec: i64::from(left.subsec_nanos()) };
        let ready = poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&timeout));
        if matches!(ready, Ok(0)) || left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match pipe.read(&mut chunk[..]) {
            Ok(0) => return Ok(()),
            Ok(count) if output.len() + count > MOST_BYTES => return Err(io::Error::other("its answer is too long")),
            Ok(count) => output.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
