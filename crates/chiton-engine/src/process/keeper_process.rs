//! A keeper, from the engine's side.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::enclosure::{Enclosure, HandBack};
use crate::protocol::{FrameBuffer, KEEPER_ARGUMENT, Report, SharedPaths};
use crate::sys::process::{ended, leads_session};

/// A keeper process and the connection to it. It ends when that is closed, unless it has a run that may go on.
/// The connection belongs to no runtime: a session may be used from one and then from another.
pub(crate) struct Keeper {
    pub(crate) connection: UnixStream,
    /// What it has reported and nobody has read.
    pub(crate) inbox: FrameBuffer,
    /// How many shells it was ordered to have ready.
    pub(crate) prepared: u64,
    pub(crate) pid: i32,
    /// Chosen at random, for names that nobody should guess.
    pub(crate) mark: u64,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Keeper").field(&self.pid).finish()
    }
}

impl Keeper {
    /// Executes `program` with one end of a socket pair as its standard input.
    ///
    /// It inherits nothing else: an empty environment, no terminal, no other descriptor. `floor` says by which policy its
    /// commands are judged, see [`crate::ancestry`].
    pub(crate) fn start(program: &Path, floor: Option<&OsStr>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        #[expect(clippy::disallowed_methods, reason = "this is where keepers are started")]
        let child = Command::new(program)
            .arg0("chiton")
            .arg(KEEPER_ARGUMENT)
            .args(floor)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        reap_when_it_ends(child);
        ours.set_nonblocking(true)?;
        let mut mark = [0; 8];
        rustix::rand::getrandom(&mut mark, rustix::rand::GetRandomFlags::empty())?;
        let mark = u64::from_ne_bytes(mark);
        Ok(Self { connection: ours, inbox: FrameBuffer::default(), prepared: 0, pid, mark })
    }

    /// Where its shells find what they share with it, and the folder of that where it has one.
    pub(crate) fn shared(&self, enclosure: Option<&Enclosure>) -> (SharedPaths, Option<PathBuf>) {
        let Some(enclosure) = enclosure else { return (SharedPaths::of_keeper(self.pid), None) };
        match enclosure.hand_back(self.pid, self.mark) {
            HandBack::LooksIn => (SharedPaths::of_keeper(self.pid), None),
            HandBack::Given => (SharedPaths::given_by_keeper(self.pid), None),
            HandBack::Folder(folder) => (SharedPaths::in_folder(&folder), Some(folder)),
        }
    }

    /// Waits until it has reported more; `None` when it is gone.
    pub(crate) async fn listen(&mut self) -> Option<()> {
        let connection = tokio::net::UnixStream::from_std(self.connection.try_clone().ok()?).ok()?;
        connection.readable().await.ok()?;
        self.is_there().then_some(())
    }

    /// Why it ended, where it is gone and has said so.
    pub(crate) fn last_words(&mut self) -> Option<String> {
        // What was sent to it and not read comes back as an error, once; what it said is behind that.
        if self.is_there() || self.is_there() {
            return None;
        }
        match self.inbox.next() {
            Ok(Some(Report::FailedToStart { reason })) => Some(reason),
            _ => None,
        }
    }

    /// Whether it is still there.
    pub(crate) fn is_there(&mut self) -> bool {
        let mut bytes = [0; 256];
        loop {
            match self.connection.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.inbox.extend(&bytes[..count]),
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }
}

/// A keeper may outlive the call by hours; its end is an event, so that no zombie is left and nobody polls.
///
/// A program that forgot [`crate::serve_if_asked`] may do anything but end. It does not become a keeper then, which whoever
/// waits for it learns by its end.
fn reap_when_it_ends(mut child: Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::NONBLOCK).ok());
    tokio::spawn(async move {
        if let (Some(pid), Some(handle)) = (pid, handle) {
            let mut end = std::pin::pin!(ended(handle));
            let mut has_ended = false;
            for patience in [USUALLY_TAKES_OVER, TAKES_OVER] {
                has_ended = tokio::time::timeout(patience, &mut end).await.is_ok();
                if has_ended || has_taken_over(pid) {
                    break;
                }
            }
            if !has_ended {
                if !has_taken_over(pid) {
                    let _ = child.kill();
                }
                end.await;
            }
        }
        let _ = child.wait();
    });
}

/// How long a keeper may take until it has taken over. It is the first thing it does.
const TAKES_OVER: Duration = Duration::from_secs(10);
/// After so long it has, as a rule. So nobody has to wake up later, when everything sleeps.
const USUALLY_TAKES_OVER: Duration = Duration::from_secs(1);

/// A keeper leads a session of its own from its first moment.
fn has_taken_over(pid: Pid) -> bool {
    leads_session(pid.as_raw_nonzero().get())
}
