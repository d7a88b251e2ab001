//! The engine's side of capture: everything a keeper reports until the end.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use tokio::io::AsyncWriteExt;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::intake::{Captured, Intake};
use crate::control::{RunControl, StopWatch};
use crate::error::StartError;
use crate::folder::RunFolder;
use crate::limits::{BEHIND_BYTES, LONGEST, ViewLimits};
use crate::process::keeper_process::Keeper;
use crate::protocol::{Control, FrameBuffer, HandedBack, Report, encode};
use crate::request::{CommandRequest, OnTimeout};
use crate::run::Outcome;
use crate::run::StreamTotals;
use crate::run::{Ending, InputWait};
use crate::run::{Listener, RunEvent};
use crate::spawn::Launched;
use crate::sys::messages::to_be_read;

/// What a run gave.
pub(crate) struct Collected {
    pub(crate) pid: i32,
    /// Whether its shell was there before.
    pub(crate) warm: bool,
    pub(crate) ending: Ending,
    /// What the shell handed back about its state.
    pub(crate) state: HandedBack,
    pub(crate) captured: Captured,
    /// What it waits for, where that is why it was handed back.
    pub(crate) waits: Option<InputWait>,
    /// Still connected: while it is, the keeper knows that the session lives.
    pub(crate) reports: Reports,
}

/// Follows a run to its end.
///
/// Dropping the future closes the connection; the keeper then acts by the run's lifetime, and what it has spooled
/// stays. Nothing is held here that is not also there. `None` where a shell that waited is gone, and has run nothing.
pub(crate) async fn collect(
    launched: Launched,
    command: &CommandRequest,
    folder: &RunFolder,
    view: ViewLimits,
    listener: &mut dyn Listener,
    control: &RunControl,
) -> Result<Option<Collected>, StartError> {
    let begun = Instant::now();
    let Launched { keeper, program, pid: waited } = launched;
    let mut reports = Reports::of(keeper, control)?;
    let pid = match waited {
        Some(pid) => pid,
        None => reports.started(folder, program).await?,
    };
    let warm = waited.is_some();
    listener.hear(RunEvent::Started { run_id: folder.id(), pid });
    let limit = command.timeout.filter(|_| command.on_timeout == OnTimeout::HandBack);
    let mut hand_back_at = command.wait.into_iter().chain(limit).min().map(|wait| begun + wait.min(LONGEST));
    let mut intake = Intake::new(folder.path(), view, command.streams);
    let mut waits = None;
    let (ending, state) = loop {
        let report = tokio::select! {
            report = reports.next() => report,
            () = at(hand_back_at) => {
                hand_back_at = None;
                reports.send(&Control::HandOver { lifetime: command.task_lifetime.into() }).await;
                continue;
            }
        };
        match report {
            Some(Report::Output { stream, bytes }) => {
                listener.hear(RunEvent::Output { stream, bytes: &bytes });
                intake.push(stream, &bytes);
            }
            Some(Report::Spooled(stream, place)) => {
                intake.take(stream, place, listener);
                reports.take(place.count).await;
            }
            Some(Report::Waits(wait)) => {
                waits = Some(wait);
                hand_back_at = None;
                reports.send(&Control::HandOver { lifetime: command.task_lifetime.into() }).await;
            }
            Some(Report::Ended { ending, state }) => break (ending, state),
            Some(Report::NotReady { number }) if warm && is_of(number, &reports) => return Ok(None),
            Some(Report::HandedOver) => break (without_ending(Outcome::Running, begun.elapsed()), HandedBack::Nothing),
            Some(_) => {}
            // The keeper itself was killed: what became of the command nobody can say.
            None => break (without_ending(Outcome::Lost, begun.elapsed()), HandedBack::Nothing),
        }
    };
    let captured = intake.finish();
    waits = waits.filter(|_| ending.outcome == Outcome::Running);
    Ok(Some(Collected { pid, warm, ending, state, captured, waits, reports }))
}

/// Starts following a run and lets it go at once: it is a task then. Gives what holds it.
pub(crate) async fn release(
    launched: Launched,
    command: &CommandRequest,
    folder: &RunFolder,
) -> Result<Option<UnixStream>, StartError> {
    let Launched { keeper, program, pid } = launched;
    let mut reports = Reports::of(keeper, &RunControl::new())?;
    if pid.is_none() {
        reports.started(folder, program).await?;
    }
    reports.send(&Control::HandOver { lifetime: command.task_lifetime.into() }).await;
    // Output that was on its way is in the spool like all the rest.
    loop {
        match reports.next().await {
            Some(Report::NotReady { number }) if pid.is_some() && is_of(number, &reports) => return Ok(None),
            None | Some(Report::HandedOver | Report::Ended { .. }) => return Ok(Some(reports.into_connection())),
            Some(_) => {}
        }
    }
}

/// Whether a number names the shell that was to run the command, or none at all.
fn is_of(number: u64, reports: &Reports) -> bool {
    number == 0 || number == reports.prepared
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn without_ending(outcome: Outcome, since: Duration) -> Ending {
    Ending {
        outcome,
        limit: None,
        leftovers: Vec::new(),
        leftover_task: None,
        survivors: Vec::new(),
        usage: None,
        wall_us: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
        stdout: StreamTotals::default(),
        stderr: StreamTotals::default(),
    }
}

/// What a keeper says, while requests to stop are passed on to it.
pub(crate) struct Reports {
    connection: AsyncFd<UnixStream>,
    inbox: FrameBuffer,
    prepared: u64,
    pid: i32,
    stops: StopWatch,
    /// What was read from the spool, and not yet said to be.
    taken: u64,
}

impl Reports {
    fn of(keeper: Keeper, control: &RunControl) -> Result<Self, StartError> {
        let Keeper { connection, inbox, prepared, pid } = keeper;
        let connection = to_be_read(connection).map_err(StartError::HandOver)?;
        Ok(Self { connection, inbox, prepared, pid, stops: control.watch(), taken: 0 })
    }

    /// Waits for the start; gives the shell's process id.
    async fn started(&mut self, folder: &RunFolder, keeper: PathBuf) -> Result<i32, StartError> {
        let report = loop {
            match self.next().await {
                // Of a shell that waited here before.
                Some(Report::Ready { .. } | Report::NotReady { .. }) => {}
                other => break other,
            }
        };
        match report {
            Some(Report::Started { pid }) => Ok(pid),
            Some(Report::FailedToStart { reason }) => Err(StartError::Shell(reason)),
            // A keeper that was killed by its very command has still written down that it started it.
            _ => folder.start().map(|start| start.pid).map_err(|_| StartError::KeeperVanished(keeper)),
        }
    }

    /// The next report; requests to stop are passed on while waiting. `None` when the keeper is gone.
    pub(crate) async fn next(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = self.inbox.next().ok()? {
                return Some(report);
            }
            tokio::select! {
                read = read_more(&self.connection, &mut self.inbox) => {
                    if !read {
                        return None;
                    }
                }
                stop = self.stops.next() => {
                    self.send(&stop).await;
                }
            }
        }
    }

    pub(crate) fn into_connection(self) -> UnixStream {
        self.connection.into_inner()
    }

    pub(crate) fn into_keeper(self) -> Keeper {
        let Self { connection, inbox, prepared, pid, .. } = self;
        Keeper { connection: connection.into_inner(), inbox, prepared, pid }
    }

    /// So many bytes were read from the spool. Said every so often.
    async fn take(&mut self, bytes: u64) {
        self.taken += bytes;
        if self.taken >= BEHIND_BYTES / 4 {
            let taken = std::mem::take(&mut self.taken);
            self.send(&Control::Taken(taken)).await;
        }
    }

    async fn send(&mut self, control: &Control) {
        // A keeper that is gone is noticed by the next read.
        let message = encode(control);
        let mut rest = &message[..];
        while !rest.is_empty() {
            match self.connection.get_ref().write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let Ok(Ok(mut patient)) =
                        self.connection.get_ref().try_clone().map(tokio::net::UnixStream::from_std)
                    else {
                        return;
                    };
                    let _ = patient.write_all(rest).await;
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

/// Waits until there is more, and takes it; `false` when nothing more will come.
async fn read_more(connection: &AsyncFd<UnixStream>, inbox: &mut FrameBuffer) -> bool {
    loop {
        let Ok(mut ready) = connection.readable().await else { return false };
        let space = inbox.space();
        let room = space.capacity() - space.len();
        match ready.try_io(|connection| Ok(rustix::io::read(connection.get_ref(), spare_capacity(space))?)) {
            Ok(Ok(0)) => return false,
            Ok(Ok(count)) => {
                if count < room {
                    // That was all there is, so it need not be asked once more.
                    ready.clear_ready();
                }
                return true;
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Err(_)) => return false,
            Err(_not_yet) => {}
        }
    }
}
