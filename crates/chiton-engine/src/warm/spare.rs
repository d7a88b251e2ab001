//! A shell that waits for its command: started, its state loaded, blocked on a pipe.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use zeroize::Zeroizing;

use crate::bytes::ByteString;
use crate::enclosure::Enclosure;
use crate::folder::RunFolder;
use crate::process::delivery::{self, HandsBack};
use crate::process::keeper_process::Keeper;
use crate::process::order::{give_order, memory_file};
use crate::process::{Shell, ShellKind};
use crate::protocol::{
    AGAIN, Again, BEGIN, Forms, Input, NextBranch, Order, Report, RunPlan, ShellPlan, announcement, encode,
};
use crate::run::{DirectoryId, Streams};
use crate::state::ShellState;
use crate::state::bash::load::{self, ExitTrap, LoadOptions};
use crate::state::change::Change;
use chiton_redact::Mask;

/// What a command requires of a shell that waits for it.
#[derive(Clone, Debug)]
pub(crate) struct Requirements {
    pub(crate) state: Arc<ShellState>,
    pub(crate) streams: Streams,
    pub(crate) called_as: Option<ByteString>,
    /// What is masked in its output.
    pub(crate) masks: Arc<[Mask]>,
    /// The directory it is in, whatever has that name by now.
    pub(crate) directory_id: DirectoryId,
    /// The sandbox it is in.
    pub(crate) enclosure: Option<Arc<Enclosure>>,
    /// What it does afterwards.
    pub(crate) hands_back: HandsBack,
}

impl Requirements {
    /// Whether a shell that was made for these is good for `wanted`.
    fn satisfies(&self, wanted: &Self) -> bool {
        self.streams == wanted.streams
            && self.directory_id == wanted.directory_id
            && self.called_as == wanted.called_as
            && self.hands_back == wanted.hands_back
            && self.enclosure.as_ref().map(Arc::as_ptr) == wanted.enclosure.as_ref().map(Arc::as_ptr)
            && Arc::ptr_eq(&self.masks, &wanted.masks)
            && (Arc::ptr_eq(&self.state, &wanted.state) || self.state == wanted.state)
    }

    /// What brings a stem that was made for these to where it is good for `wanted`; `None` where nothing does.
    fn change_to(&self, wanted: &Self) -> Option<Vec<u8>> {
        let is_same_shell = self.streams == wanted.streams
            && self.hands_back == wanted.hands_back
            && self.called_as == wanted.called_as
            && self.enclosure.as_ref().map(Arc::as_ptr) == wanted.enclosure.as_ref().map(Arc::as_ptr)
            && Arc::ptr_eq(&self.masks, &wanted.masks);
        if !is_same_shell || !load::can_branch(&wanted.state) {
            return None;
        }
        let is_elsewhere = self.directory_id != wanted.directory_id;
        let change = load::change(&self.state, &wanted.state, is_elsewhere)?;
        (change.len() <= LONGEST_CHANGE).then_some(change)
    }
}

/// A shell that waits, and its keeper. Where nobody uses it, closing the connection ends both.
#[derive(Debug)]
pub(crate) struct Spare {
    pub(super) keeper: Keeper,
    pub(crate) folder: RunFolder,
    held: HeldShell,
    pub(super) since: Instant,
    /// Once it is ready.
    pid: Option<i32>,
}

/// What the engine holds of a shell that waits, and of a stem also after a branch of it has run a command.
#[derive(Debug)]
pub(crate) struct HeldShell {
    made_for: Requirements,
    /// Where commands go.
    script: OwnedFd,
    is_stem: bool,
    /// Where the branch of a stem is that stayed.
    branch: BranchIs,
    /// How many commands in a row one branch has run.
    stayed: u32,
}

/// Where a branch is that waits, seen from its stem.
#[derive(Debug)]
enum BranchIs {
    /// In the same state.
    WithItsStem,
    /// Its commands have led it on, to where it is good for these.
    Ahead {
        good_for: Box<Requirements>,
        /// What brings the stem there.
        catch_up: Vec<u8>,
    },
    /// Nobody can say.
    Astray,
}

/// What a branch does when it has run its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Afterwards {
    /// It evaluates this, to tell what the command changed.
    pub(crate) tells: Option<String>,
    /// It waits for another command; else it ends, and its stem has another.
    pub(crate) stays: bool,
}

/// A keeper that can take orders, with what is left of the shell that it had.
#[derive(Debug)]
pub(crate) struct FreeKeeper {
    pub(crate) keeper: Keeper,
    pub(crate) held: Option<HeldShell>,
}

impl From<Keeper> for FreeKeeper {
    fn from(keeper: Keeper) -> Self {
        Self { keeper, held: None }
    }
}

/// What became of a command that was given to a shell that waited.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) keeper: Keeper,
    /// The shell, which leads the group of what runs it.
    pub(crate) pid: Option<i32>,
    /// The stem, where a branch of it does.
    pub(crate) held: Option<HeldShell>,
}

impl HeldShell {
    /// Whether a command that needs `wanted` can be given to what waits.
    fn satisfies(&self, wanted: &Requirements) -> bool {
        match &self.branch {
            BranchIs::WithItsStem => self.made_for.satisfies(wanted),
            BranchIs::Ahead { good_for, .. } => good_for.satisfies(wanted),
            BranchIs::Astray => false,
        }
    }

    /// Whether what waits is in another directory than the stem.
    fn branch_has_moved(&self) -> bool {
        matches!(&self.branch, BranchIs::Ahead { good_for, .. } if good_for.directory_id != self.made_for.directory_id)
    }

    /// What brings the stem to where its branch is, where that is ahead.
    fn catch_up(&self) -> Option<&[u8]> {
        if let BranchIs::Ahead { catch_up, .. } = &self.branch { Some(catch_up) } else { None }
    }

    /// This branch waits after a command that was started from `start`. `told` is all that the command has changed, where
    /// everything counts that was told of it.
    pub(crate) fn has_branch(&mut self, next: NextBranch, start: &ShellState, told: Option<&Change>) {
        self.branch = match (next, told) {
            (NextBranch::Another, _) => BranchIs::WithItsStem,
            (NextBranch::Same, None) => BranchIs::Astray,
            (NextBranch::Same, Some(told)) if told.is_empty() => return,
            (NextBranch::Same, Some(told)) => self.ahead(told.apply(start)).unwrap_or(BranchIs::Astray),
        };
    }

    /// A branch that has come to this state. `None` where the stem cannot follow.
    fn ahead(&self, state: ShellState) -> Option<BranchIs> {
        let here = match &self.branch {
            BranchIs::Ahead { good_for, .. } => good_for,
            _ => &self.made_for,
        };
        let directory_id = if state.cwd == here.state.cwd { here.directory_id } else { directory_id(&state.cwd)? };
        let good_for = Requirements { state: Arc::new(state), directory_id, ..here.clone() };
        let catch_up = self.made_for.change_to(&good_for).filter(|change| change.len() <= LONGEST_CATCH_UP)?;
        Some(BranchIs::Ahead { good_for: Box::new(good_for), catch_up })
    }
}

impl Spare {
    /// Orders a keeper to have one ready. It can be used at once: a keeper carries orders out one after the other.
    pub(crate) fn prepare(
        FreeKeeper { mut keeper, held }: FreeKeeper,
        runs: &Path,
        shell: &Shell,
        made_for: Requirements,
    ) -> io::Result<Self> {
        let folder = RunFolder::plan(runs)?;
        keeper.prepared += 1;
        let held = match held.and_then(|held| Self::order_again(&keeper, held, &folder, &made_for)) {
            Some(held) => held,
            None => Self::order(&keeper, &folder, shell, made_for)?,
        };
        Ok(Self { keeper, folder, held, since: Instant::now(), pid: None })
    }

    /// Has a stem branch once more, after it was brought from the state that it is in to the one that is wanted, unless the
    /// branch that waits is there already. `None` where only a new shell will do.
    fn order_again(
        keeper: &Keeper,
        mut held: HeldShell,
        folder: &RunFolder,
        wanted: &Requirements,
    ) -> Option<HeldShell> {
        if !held.is_stem {
            return None;
        }
        let change = if held.satisfies(wanted) { None } else { Some(held.made_for.change_to(wanted)?) };
        let change = change.filter(|change| !change.is_empty() || !matches!(held.branch, BranchIs::WithItsStem));
        let has_moved = change.is_some() || held.branch_has_moved();
        let again = Again {
            folder: folder.path().to_owned(),
            number: keeper.prepared,
            directory_id: has_moved.then_some(wanted.directory_id),
            changes: change.is_some(),
        };
        let mut message = announcement(AGAIN).to_vec();
        message.extend_from_slice(&encode(&again).ok()?);
        send_whole(keeper, &message).ok()?;
        if let Some(change) = change {
            let told = told_to_stem(delivery::CHANGE, &[&change]);
            let written = rustix::io::write(&held.script, &told);
            if written.is_ok_and(|count| count < told.len()) {
                return None;
            }
            held.made_for = wanted.clone();
            held.branch = BranchIs::WithItsStem;
        }
        Some(held)
    }

    fn order(keeper: &Keeper, folder: &RunFolder, shell: &Shell, made_for: Requirements) -> io::Result<HeldShell> {
        let is_stem = made_for.hands_back == HandsBack::State && load::can_branch(&made_for.state);
        let called_as = made_for.called_as.as_deref().unwrap_or(shell.usual_name());
        let (shared, folder_shared) = keeper.shared(made_for.enclosure.as_deref());
        let exit_trap = match made_for.hands_back {
            HandsBack::State => ExitTrap::Alone,
            HandsBack::Nothing => ExitTrap::None,
        };
        let options = LoadOptions { shared, exit_trap };
        let loader = memory_file(&Zeroizing::new(load::loader(&made_for.state, called_as, &options)))?;
        let (theirs, script) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let boot = if is_stem {
            delivery::stem_bootstrap(&options.shared)
        } else {
            delivery::waiting_bootstrap(&options.shared, made_for.hands_back)
        };
        let arguments = [called_as, b"--norc", b"--noprofile", b"-c", boot.as_bytes()];
        let plan = ShellPlan {
            folder: folder.path().to_owned(),
            program: shell.path().as_os_str().as_encoded_bytes().into(),
            forms: Forms {
                evaluated: Some(arguments.map(Into::into).to_vec()),
                argument: None,
                only_well_formed: false,
            },
            environment: load::environment(&made_for.state).into_iter().map(Into::into).collect(),
            directory: OsStr::as_encoded_bytes(made_for.state.cwd.as_os_str()).into(),
            directory_id: made_for.directory_id,
            input: Input::Nothing,
            streams: made_for.streams,
            stem: is_stem,
            terminal: None,
            shared: folder_shared.map(|folder| folder.as_os_str().as_encoded_bytes().into()),
            enclosed: made_for.enclosure.as_ref().map(|enclosure| Box::new(enclosure.plan())),
            masks: made_for.masks.iter().map(|(mask, value)| (mask.clone(), value.expose().into())).collect(),
        };
        let enclosing = made_for.enclosure.iter().flat_map(|enclosure| enclosure.files());
        let files: Vec<BorrowedFd<'_>> = [loader.as_fd(), theirs.as_fd()].into_iter().chain(enclosing).collect();
        give_order(keeper, Order::Prepare(Box::new(plan), keeper.prepared), &files)?;
        Ok(HeldShell { made_for, script, is_stem, branch: BranchIs::WithItsStem, stayed: 0 })
    }

    /// Whether a command of this size can be given to it at once. A user with very many pipes gets small ones.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let bytes = bytes + self.held.catch_up().map_or(0, <[u8]>::len);
        bytes <= rustix::pipe::PIPE_BUF
            || rustix::pipe::fcntl_getpipe_size(&self.held.script).is_ok_and(|size| bytes + HEAD_BYTES <= size)
    }

    /// Whether it can run a command that needs `wanted`.
    pub(crate) fn satisfies(&self, wanted: &Requirements) -> bool {
        self.held.satisfies(wanted)
    }

    /// Whether a command that cannot tell a copy of a shell from the shell is run in one here.
    pub(crate) fn branches(&self) -> bool {
        self.held.is_stem
    }

    /// Whether it is for one command that is about to come, and ends with that.
    pub(crate) fn passes(&self) -> bool {
        self.held.made_for.hands_back == HandsBack::Nothing
    }

    /// Whether it is still there, as far as its keeper has reported.
    pub(crate) fn is_there(&mut self) -> bool {
        self.keeper.is_there() && self.receive().is_some()
    }

    /// Whether its keeper has reported that it waits.
    pub(crate) fn is_ready(&self) -> bool {
        self.pid.is_some()
    }

    /// Waits until it is there, as a rule not at all. `None` where it is gone, or could not be started.
    pub(crate) async fn ready(&mut self) -> Option<()> {
        loop {
            self.receive()?;
            if self.pid.is_some() {
                return Some(());
            }
            self.keeper.listen().await?;
        }
    }

    /// Takes what its keeper has reported. `None` where the shell is gone. Reports about shells that waited here before
    /// do not count.
    fn receive(&mut self) -> Option<()> {
        while let Some(report) = self.keeper.inbox.next().ok()? {
            match report {
                Report::Ready { number, pid } if number == self.keeper.prepared => self.pid = Some(pid),
                Report::NotReady { number } if number == self.keeper.prepared => return None,
                _ => {}
            }
        }
        Some(())
    }

    /// Gives its keeper the plan of a run, which the keeper owns from then on. It expects the command.
    pub(crate) fn expect(self: Box<Self>, plan: &RunPlan) -> io::Result<Expecting> {
        let mut message = announcement(BEGIN).to_vec();
        message.extend_from_slice(&encode(plan)?);
        send_whole(&self.keeper, &message)?;
        Ok(Expecting(self))
    }

    /// Its keeper, for a command that needs another shell.
    pub(crate) fn into_keeper(self) -> Keeper {
        self.keeper
    }

    /// Its keeper, and what it has of the shell, for another spare.
    pub(crate) fn into_free(self) -> FreeKeeper {
        // A stem that is still starting cannot be told anything yet.
        let held = self.pid.is_some().then_some(self.held);
        FreeKeeper { keeper: self.keeper, held }
    }
}

/// A shell that waits, and whose keeper knows which command comes.
#[derive(Debug)]
pub(crate) struct Expecting(Box<Spare>);

impl Expecting {
    /// Gives the shell its command, of which its keeper has this plan. It runs the text when all of it has come.
    pub(crate) fn begin(self, script: &[u8], afterwards: &Afterwards, plan: &RunPlan) -> io::Result<Begun> {
        let Spare { keeper, mut held, pid, .. } = *self.0;
        let in_branch = held.is_stem && plan.in_branch;
        // Whatever little a command leaves behind after all does not add up.
        let stays = in_branch && afterwards.stays && held.stayed < MOST_STAYED;
        held.stayed = if stays { held.stayed + 1 } else { 0 };
        let framed = held.is_stem.then(|| {
            if !in_branch {
                return run_whole(held.catch_up(), script);
            }
            let mode = if stays { delivery::RUN_AND_STAY } else { delivery::RUN };
            told(mode, &delivery::text_for_branch(afterwards.tells.as_deref(), script))
        });
        let text = framed.as_ref().map_or(script, |framed| &framed[..]);
        // A shell that is gone is noticed by its keeper.
        let written = rustix::io::write(&held.script, text);
        if written.is_ok_and(|count| count < text.len()) {
            // There was room a moment ago. But half a command is never run: its end is not sent, and its keeper ends
            // the shell.
            std::mem::forget(held.script);
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(Begun { keeper, pid, held: in_branch.then_some(held) })
    }
}

/// The directory that has this name now.
fn directory_id(path: &Path) -> Option<DirectoryId> {
    rustix::fs::stat(path).ok().map(|data| (data.st_dev, data.st_ino))
}

/// A longer change may not fit into a pipe.
const LONGEST_CHANGE: usize = 32 << 10;

/// What a stem is told in one piece with a command.
const LONGEST_CATCH_UP: usize = 4 << 10;

/// How many commands in a row one branch runs.
const MOST_STAYED: u32 = 256;

/// More than stands before what a stem is told.
const HEAD_BYTES: usize = 4096;

/// A text that a branch or its stem is told to do something with, see [`delivery::stem_bootstrap`].
fn told(mode: char, text: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new([delivery::head(mode, text).as_bytes(), text].concat())
}

/// What is told to a stem, whose branch only learns the mode.
fn told_to_stem(mode: char, texts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let mut all = told(mode, b"");
    for text in texts {
        all.extend_from_slice(&told(mode, text));
    }
    all
}

/// What a stem is told that is to run a command itself, after it has caught up with its branch.
fn run_whole(catch_up: Option<&[u8]>, script: &[u8]) -> Zeroizing<Vec<u8>> {
    match catch_up {
        None => told_to_stem(delivery::RUN_WHOLE, &[script]),
        Some(change) => told_to_stem(delivery::CATCH_UP, &[change, script]),
    }
}

fn send_whole(keeper: &Keeper, message: &[u8]) -> io::Result<()> {
    let sent = rustix::net::send(&keeper.connection, message, rustix::net::SendFlags::NOSIGNAL)?;
    if sent == message.len() { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// Whether shells of this kind can wait.
pub(crate) fn can_wait(shell: &Shell) -> bool {
    shell.kind() == ShellKind::Bash
}
