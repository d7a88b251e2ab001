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
use crate::process::delivery;
use crate::process::keeper_process::Keeper;
use crate::process::order::{give_order, memory_file};
use crate::process::{Shell, ShellKind};
use crate::protocol::{BEGIN, Forms, Input, Order, Report, RunPlan, ShellPlan, encode};
use crate::run::{DirectoryId, Streams};
use crate::state::ShellState;
use crate::state::bash::load::{self, ExitTrap, LoadOptions};
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
}

impl Requirements {
    /// Whether a shell that was made for these is good for `wanted`.
    fn satisfies(&self, wanted: &Self) -> bool {
        self.streams == wanted.streams
            && self.directory_id == wanted.directory_id
            && self.called_as == wanted.called_as
            && self.enclosure.as_ref().map(Arc::as_ptr) == wanted.enclosure.as_ref().map(Arc::as_ptr)
            && Arc::ptr_eq(&self.masks, &wanted.masks)
            && (Arc::ptr_eq(&self.state, &wanted.state) || self.state == wanted.state)
    }
}

/// A shell that waits, and its keeper. Where nobody uses it, closing the connection ends both.
#[derive(Debug)]
pub(crate) struct Spare {
    pub(super) keeper: Keeper,
    pub(crate) folder: RunFolder,
    made_for: Requirements,
    /// Where its command goes.
    script: OwnedFd,
    pub(super) since: Instant,
    pub(super) pid: Option<i32>,
}

impl Spare {
    /// Orders `keeper` to have one ready. It can be used at once: a keeper carries orders out one after the other.
    pub(crate) fn prepare(mut keeper: Keeper, runs: &Path, shell: &Shell, made_for: Requirements) -> io::Result<Self> {
        let folder = RunFolder::plan(runs)?;
        keeper.prepared += 1;
        let script = Self::order(&keeper, &folder, shell, &made_for)?;
        Ok(Self { keeper, folder, made_for, script, since: Instant::now(), pid: None })
    }

    fn order(keeper: &Keeper, folder: &RunFolder, shell: &Shell, made_for: &Requirements) -> io::Result<OwnedFd> {
        let called_as = made_for.called_as.as_deref().unwrap_or(shell.usual_name());
        let (shared, folder_shared) = keeper.shared(made_for.enclosure.as_deref());
        let options = LoadOptions { shared, exit_trap: ExitTrap::Alone };
        let loader = memory_file(&Zeroizing::new(load::loader(&made_for.state, called_as, &options)))?;
        let (theirs, script) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let boot = delivery::waiting_bootstrap(&options.shared);
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
            terminal: None,
            shared: folder_shared.map(|folder| folder.as_os_str().as_encoded_bytes().into()),
            enclosed: made_for.enclosure.as_ref().map(|enclosure| Box::new(enclosure.plan())),
            masks: made_for.masks.iter().map(|(mask, value)| (mask.clone(), value.expose().into())).collect(),
        };
        let enclosing = made_for.enclosure.iter().flat_map(|enclosure| enclosure.files());
        let files: Vec<BorrowedFd<'_>> = [loader.as_fd(), theirs.as_fd()].into_iter().chain(enclosing).collect();
        give_order(keeper, Order::Prepare(Box::new(plan), keeper.prepared), &files)?;
        Ok(script)
    }

    /// Whether a command of this size can be given to it at once. A user with very many pipes gets small ones.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        bytes <= rustix::pipe::PIPE_BUF
            || rustix::pipe::fcntl_getpipe_size(&self.script).is_ok_and(|size| bytes <= size)
    }

    /// Whether it can run a command that needs `wanted`.
    pub(crate) fn satisfies(&self, wanted: &Requirements) -> bool {
        self.made_for.satisfies(wanted)
    }

    /// Whether it is still there, as far as its keeper has reported.
    pub(crate) fn is_there(&mut self) -> bool {
        self.keeper.is_there() && self.receive().is_some()
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

    /// Gives it its command: the plan to its keeper, which owns it from then on, and then the text to the shell, which
    /// runs it when all of it has come. Gives its keeper and its process id.
    pub(crate) fn begin(self, script: &[u8], plan: &RunPlan) -> io::Result<(Keeper, Option<i32>)> {
        let mut message = vec![BEGIN];
        message.extend_from_slice(&encode(plan)?);
        let sent = rustix::net::send(&self.keeper.connection, &message, rustix::net::SendFlags::NOSIGNAL)?;
        if sent != message.len() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // A shell that is gone is noticed by its keeper.
        let written = rustix::io::write(&self.script, script);
        if written.is_ok_and(|count| count < script.len()) {
            // There was room a moment ago. But half a command is never run: its end is not sent, and its keeper ends
            // the shell.
            std::mem::forget(self.script);
            return Err(io::ErrorKind::WriteZero.into());
        }
        drop(self.script);
        Ok((self.keeper, self.pid))
    }

    /// Its keeper alone, for a command that needs another shell.
    pub(crate) fn into_keeper(self) -> Keeper {
        self.keeper
    }
}

/// Whether shells of this kind can wait.
pub(crate) fn can_wait(shell: &Shell) -> bool {
    shell.kind() == ShellKind::Bash
}
