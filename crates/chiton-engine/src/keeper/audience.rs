//! Everybody who is connected to a run, and the socket through which others come.
//!
//! 1. The caller that started the run is there from its beginning; others connect to the socket in the run's folder.
//! 2. Each has a role, and what it is sent depends on that.
//! 3. One that is gone leaves the list. What that means for the command is left to the loop ([`super::run`]).

use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};

use super::connection::{ClientRole, Peer, RunConnection, Watched, WindowUse};
use crate::protocol::{FrameBuffer, Report};
use crate::run::Stream;

pub(super) struct Audience {
    connections: Vec<RunConnection>,
    /// `None` where nobody can know of the run yet, or the socket could not be opened, on a full disk for instance. The
    /// command runs all the same.
    door: Option<UnixListener>,
}

/// New output, and how each role learns of it.
pub(super) struct News<'a> {
    pub(super) stream: Stream,
    pub(super) bytes: &'a [u8],
    /// Whether the caller reads it from the spool.
    pub(super) referred: bool,
    /// Whether the ending is out; the caller was promised that nothing follows it.
    pub(super) announced: bool,
    pub(super) growth: &'a Report,
}

impl Audience {
    pub(super) fn new(caller: RunConnection, door: Option<UnixListener>) -> Self {
        Self { connections: vec![caller], door }
    }

    pub(super) fn door(&self) -> Option<&UnixListener> {
        self.door.as_ref()
    }

    /// Others can come from now on.
    pub(super) fn open(&mut self, open_door: impl FnOnce() -> Option<UnixListener>) {
        if self.door.is_none() {
            self.door = open_door();
        }
    }

    pub(super) fn connections(&self) -> &[RunConnection] {
        &self.connections
    }

    /// `None` for one that has left the list since it was numbered.
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut RunConnection> {
        self.connections.get_mut(index)
    }

    /// Accepts somebody who has connected to the run's socket.
    pub(super) fn accept(&mut self) {
        let Some(Ok((socket, _))) = self.door.as_ref().map(UnixListener::accept) else { return };
        if let Ok(visitor) = RunConnection::to_visitor(socket) {
            self.connections.push(visitor);
        }
    }

    /// Takes one that is gone off the list. The last one takes its number, so a loop over numbers goes backwards.
    pub(super) fn remove(&mut self, index: usize) -> RunConnection {
        self.connections.swap_remove(index)
    }

    /// The connection with this descriptor, which no other has while it is open.
    pub(super) fn with_descriptor(&mut self, descriptor: RawFd) -> Option<&mut RunConnection> {
        self.connections.iter_mut().find(|connection| connection.descriptor().as_raw_fd() == descriptor)
    }

    /// Sends a report to everybody whose role matches. Whoever is gone is noticed in the next round, when its
    /// connection reads as closed.
    pub(super) fn send_to(&mut self, wanted: impl Fn(ClientRole) -> bool, report: &Report) {
        for connection in self.connections.iter_mut().filter(|connection| wanted(connection.role())) {
            let _ = connection.send(report);
        }
    }

    /// Reports to every call that waits for the run that a person wants it handed back; gives how many there are.
    pub(super) fn release_calls(&mut self) -> usize {
        let waiting = self.connections.iter_mut().filter_map(|one| one.take_waiting_call().then_some(one));
        waiting.map(|connection| connection.send(&Report::Released)).count()
    }

    /// Sends everybody the report that `make` makes for their role. Gives whether the caller is there to receive it.
    pub(super) fn send_each(&mut self, mut make: impl FnMut(ClientRole) -> Report) -> Peer {
        let mut caller = Peer::Gone;
        for connection in &mut self.connections {
            let report = make(connection.role());
            let peer = connection.send(&report);
            if connection.role() == ClientRole::Caller {
                caller = peer;
            }
        }
        caller
    }

    /// Sends new output, or word of it, to one of them.
    pub(super) fn send_news(&mut self, index: usize, news: &News<'_>) -> Peer {
        let connection = &mut self.connections[index];
        let output = || Report::Output { stream: news.stream, bytes: news.bytes.into() };
        match connection.role() {
            ClientRole::Caller if news.announced => Peer::Present,
            ClientRole::Caller if news.referred => {
                connection.refer(news.bytes.len() as u64);
                Peer::Present
            }
            ClientRole::Caller => connection.send(&output()),
            ClientRole::Watcher(Watched::Output | Watched::OutputAndInput) => connection.send_growth(news.growth),
            ClientRole::Window(_) => connection.send_to_window(&output()),
            ClientRole::Watcher(Watched::Input) | ClientRole::Holder | ClientRole::Follower | ClientRole::Visitor => {
                Peer::Present
            }
        }
    }

    /// Sends the caller a report, and waits until it is sent: nothing else is left to do.
    pub(super) fn send_caller_and_wait(&mut self, report: &Report) {
        for connection in self.connections.iter_mut().filter(|connection| connection.role() == ClientRole::Caller) {
            let _ = rustix::io::ioctl_fionbio(connection.descriptor(), false);
            let _ = connection.send(report);
        }
    }

    /// Whether a call waits for the run.
    pub(super) fn has_caller(&self) -> bool {
        self.connections.iter().any(|connection| connection.role() == ClientRole::Caller)
    }

    /// Whether a caller reads so slowly that the command has to wait.
    pub(super) fn is_behind(&self) -> bool {
        self.connections.iter().any(|connection| connection.role() == ClientRole::Caller && connection.is_full())
    }

    /// Whether something for a caller is still on its way out.
    pub(super) fn has_unsent_for_caller(&self) -> bool {
        self.connections.iter().any(|connection| connection.role() == ClientRole::Caller && connection.has_unsent())
    }

    /// Whether anybody wants to know when the command waits for input; `caller_wants` says whether the caller does.
    pub(super) fn wants_input_waits(&self, caller_wants: bool) -> bool {
        self.connections.iter().any(|connection| match connection.role() {
            ClientRole::Caller => caller_wants,
            ClientRole::Watcher(watched) => watched.wants_input(),
            _ => false,
        })
    }

    /// How many people have a window in which they can type.
    pub(super) fn people(&self) -> usize {
        let types = ClientRole::Window(WindowUse::Types);
        self.connections.iter().filter(|connection| connection.role() == types).count()
    }

    /// Closes every connection but the caller's, and gives the socket of that one, and what of it has arrived.
    pub(super) fn into_caller(self) -> Option<(UnixStream, FrameBuffer)> {
        let caller = self.connections.into_iter().find(|connection| connection.role() == ClientRole::Caller);
        caller.map(RunConnection::into_parts)
    }
}
