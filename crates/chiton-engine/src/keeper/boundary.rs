//! Answers the system calls that the filter of a sandbox asks about, so that what is refused can be said in words.
//!
//! 1. A process of the run makes a call that changes a file, connects or signals; it waits, and [`Boundary::serve`] is
//!    called from the keeper's loop.
//! 2. [`read_call`] finds out what the call is about: a path, an address, a process. [`whereabouts`] says which place a
//!    path means.
//! 3. What a shell shares with its keeper is given to it here ([`shared`]).
//! 4. [`judge`] answers the others. What the policy allows goes on; what it does not fails here, and is remembered for the
//!    reply.
//! 5. What a change would lose in the workspace is kept before it goes on ([`keeping`]).
//!
//! Mounts and Landlock hold files whatever is answered here: a process that changes a path while it is looked at wins
//! nothing but a word less. Connections to Unix sockets are made by us, and signals sent by us, so that there is nothing
//! to win either.

mod judge;
mod keeping;
mod loopback;
mod read_call;
mod shared;
mod whereabouts;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::changes::Recorder;
use crate::protocol::EnclosedPlan;
use crate::sandbox::keeping::KeepPlan;
use crate::sandbox::report::{RefusedAccess, RefusedAction};
use crate::sys::seccomp::{AskedCall, CallAnswer, Listener, Placed};
use judge::Judge;
use read_call::{Place, Request};
pub(super) use shared::GivenToShell;
use whereabouts::LastLink;

/// How many programs are named where several went to the network.
const MOST_PROGRAMS: usize = 3;

/// How many different things are remembered; more are counted with the last one.
const MOST_REMEMBERED: usize = 64;

/// Stands at the border of one run.
pub(super) struct Boundary {
    listener: Listener,
    judge: Judge,
    /// The process that the shell is.
    leader: i32,
    /// What it is given as it opens that.
    to_shell: Option<GivenToShell>,
    refused: Vec<RefusedAccess>,
    /// The programs that went to the network, each once.
    connected: Vec<String>,
    /// What writes down what changes, and where, once there is a command.
    keep: Option<KeepPlan>,
    recorder: Option<Recorder>,
    /// Calls that came while another one was looked at.
    waiting: VecDeque<AskedCall>,
}

/// What was refused.
struct Refused {
    what: RefusedAction,
    path: String,
    rule: &'static str,
    ask: Option<String>,
}

impl Boundary {
    /// A shell hands its state back through what it is given, or in a folder.
    pub(super) fn new(
        listener: OwnedFd,
        plan: &EnclosedPlan,
        (to_shell, folder): (Option<GivenToShell>, Option<&Path>),
        leader: i32,
    ) -> Self {
        let judge = Judge::new(plan, folder, leader);
        Self {
            listener: Listener::new(listener),
            judge,
            leader,
            to_shell,
            refused: Vec::new(),
            connected: Vec::new(),
            keep: plan.keep.clone(),
            recorder: None,
            waiting: VecDeque::new(),
        }
    }

    /// The command with this id begins: what changes from now on is its doing.
    pub(super) fn begin(&mut self, id: &str) {
        if let Some(plan) = self.keep.clone() {
            self.recorder = Some(Recorder::new(plan, id));
        }
    }

    /// For the next run of the same shell.
    pub(super) fn again(self) -> Self {
        let Self { listener, judge, leader, to_shell, keep, .. } = self;
        let waiting = VecDeque::new();
        Self {
            listener,
            judge,
            leader,
            to_shell,
            refused: Vec::new(),
            connected: Vec::new(),
            keep,
            recorder: None,
            waiting,
        }
    }

    /// What has written down what changed, where anything did.
    pub(super) fn recorder(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_mut().filter(|recorder| recorder.has_begun())
    }

    /// Becomes readable when a call waits.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers what waits.
    pub(super) fn serve(&mut self) {
        while self.serve_one() && has_call(&self.listener) {}
    }

    /// Answers one call, and those that came while it was looked at; whether there was one.
    pub(super) fn serve_one(&mut self) -> bool {
        let Some(first) = self.listener.next() else { return false };
        self.waiting.push_back(first);
        while let Some(call) = self.waiting.pop_front() {
            if let Some(answer) = self.decide(&call) {
                self.listener.answer(&call, answer);
            }
        }
        true
    }

    /// What others were let go on with has happened before this call is looked at: paths mean something else then.
    fn settle(&mut self, call: &AskedCall) {
        let Self { recorder, listener, waiting, .. } = self;
        if let Some(recorder) = recorder {
            recorder.settle(call.thread, |other| has_left(listener, waiting, other));
        }
    }

    /// What is answered; `None` where that has been done.
    fn decide(&mut self, call: &AskedCall) -> Option<CallAnswer> {
        self.settle(call);
        let request = read_call::read(call);
        if let Request::Shared { number, flags } = request {
            return match &self.to_shell {
                Some(to_shell) if shared::is_the_shell(call.thread, self.leader) => {
                    to_shell.give(&self.listener, call, number, flags)
                }
                _ => Some(CallAnswer::Fails(libc::EACCES)),
            };
        }
        // What was read counts only if it was read of the process that waits: it may be gone, and its number another's.
        if !self.listener.is_waiting(call) {
            return Some(CallAnswer::GoesOn);
        }
        if let Request::InternetSocket(wanted) = request {
            return match wanted.make() {
                Ok(socket) => self.listener.give(
                    call,
                    socket.as_fd(),
                    Placed { at: None, is_closed_on_exec: wanted.is_closed_on_exec() },
                ),
                Err(error) => Some(CallAnswer::Fails(error)),
            };
        }
        if matches!(request, Request::Address(..)) {
            self.note_connected(program(call.thread));
        }
        let meant: Vec<Option<PathBuf>> = match &request {
            Request::Change(places) => places.iter().map(|place| judge::meant(call.thread, place)).collect(),
            _ => Vec::new(),
        };
        let (answer, refused) = self.judge.judge(call, &request, &meant);
        if let Some(refused) = refused {
            self.remember(call.thread, refused);
        } else if let (CallAnswer::GoesOn, Some(recorder), Request::Change(places)) =
            (answer, &mut self.recorder, &request)
        {
            if let Some(coming) = keeping::coming(places, &meant) {
                recorder.settle_users(coming, |other| has_left(&self.listener, &mut self.waiting, other));
                recorder.before(coming, call.thread);
            }
            let known = |(place, meant): (&Place, Option<PathBuf>)| {
                (place.path.clone(), meant.or_else(|| whereabouts::place(call.thread, &place.path, LastLink::Itself)))
            };
            recorder.goes_on(call.thread, || places.iter().zip(meant).map(known).collect());
        }
        Some(answer)
    }

    fn remember(&mut self, thread: i32, refused: Refused) {
        let by = program(thread);
        let same = self
            .refused
            .iter_mut()
            .find(|known| known.what == refused.what && known.path == refused.path && known.by == by);
        if let Some(known) = same {
            known.times += 1;
        } else if self.refused.len() < MOST_REMEMBERED {
            let Refused { what, path, rule, ask } = refused;
            self.refused.push(RefusedAccess { what, path, by, times: 1, rule: rule.to_owned(), ask });
        } else if let Some(last) = self.refused.last_mut() {
            last.times += 1;
        }
    }

    fn note_connected(&mut self, program: String) {
        if self.connected.len() <= MOST_PROGRAMS && !self.connected.contains(&program) {
            self.connected.push(program);
        }
    }

    /// Who went to the network: one of them tried whatever was refused there.
    pub(super) fn connected(&self) -> Option<String> {
        match &self.connected[..] {
            [] => None,
            [all @ .., _] if all.len() == MOST_PROGRAMS => Some(format!("{} or others", all.join(", "))),
            all => Some(all.join(" or ")),
        }
    }

    /// What was refused so far.
    pub(super) fn refused(&self) -> &[RefusedAccess] {
        &self.refused
    }
}

fn has_call(listener: &Listener) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().contains(PollFlags::IN)
}

/// Whether a thread that was let go on with a call has come to another one, or is gone. Calls that come meanwhile wait.
fn has_left(listener: &Listener, waiting: &mut VecDeque<AskedCall>, thread: i32) -> bool {
    while has_call(listener)
        && let Some(call) = listener.next()
    {
        waiting.push_back(call);
    }
    // One that waits for something else is not in any of the calls that we are asked about: these do not wait.
    let is_elsewhere = || {
        let state = std::fs::read_to_string(format!("/proc/{thread}/stat"));
        !state.is_ok_and(|state| state.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['R', 'D'])))
    };
    waiting.iter().any(|call| call.thread == thread) || is_elsewhere()
}

/// The name of the program that a thread belongs to.
pub(super) fn program(thread: i32) -> String {
    let path = std::fs::read_link(format!("/proc/{thread}/exe")).ok();
    let name = path.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "a process that is gone".to_owned())
}
