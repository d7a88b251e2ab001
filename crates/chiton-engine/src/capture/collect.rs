//! The engine's side of capture: follows a run until its keeper reports the end.
//!
//! 1. [`collect`] waits for the start, takes in output, and hands the run over where its caller waits no longer.
//! 2. [`release`] hands it over at once: the command is a task from its first moment.
//!
//! What output looks like in memory is left to [`super::intake`], what the ending means to the engine.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use super::intake::{Captured, Intake};
use crate::control::{RunControl, StopWatch};
use crate::error::StartError;
use crate::folder::RunFolder;
use crate::limits::{BEHIND_BYTES, LONGEST, ViewLimits};
use crate::process::keeper_process::Keeper;
use crate::protocol::{Arrival, Control, HandedBack, Link, NextBranch, Report, reached};
use crate::request::{CommandRequest, OnTimeout};
use crate::run::Outcome;
use crate::run::StreamTotals;
use crate::run::{Ending, InputWait, Received};
use crate::run::{Listener, RunEvent};
use crate::spawn::Launched;
use crate::state::ShellState;
use crate::state::change::Change;
use crate::warm::spare::{FreeKeeper, HeldShell};

/// Everything the engine learns of a run while it follows it.
pub(crate) struct Collected {
    pub(crate) pid: i32,
    /// Whether its shell was started before the command came.
    pub(crate) warm: bool,
    pub(crate) ending: Ending,
    pub(crate) state: HandedBack,
    pub(crate) captured: Captured,
    /// What it waits for, where that is why it was handed over.
    pub(crate) waits: Option<InputWait>,
    /// Whether it was handed over because a person wanted that.
    pub(crate) released: bool,
    /// Still connected: while it is, the keeper knows that the session lives.
    pub(crate) reports: Reports,
}

/// Follows a run to its end. `None` where a shell that waited is gone and has run nothing.
///
/// Dropping the future closes the connection; the keeper then acts by the run's lifetime, and what it has spooled
/// stays. Nothing is held here that is not also there, so a caller that is cancelled at any await loses no output.
pub(crate) async fn collect(
    launched: Launched,
    command: &CommandRequest,
    folder: &RunFolder,
    view: ViewLimits,
    listener: &mut dyn Listener,
    control: &RunControl,
) -> Result<Option<Collected>, StartError> {
    let begun = Instant::now();
    let Launched { keeper, program, pid: waited, held, place } = launched;
    let mut reports = Reports::of(keeper, held, control)?;
    let warm = waited.is_some();
    let pid = reports.started(waited, folder, program).await?;
    drop(place);
    listener.receive(RunEvent::Started { run_id: folder.id(), pid });

    let mut hand_over_at = longest_wait(command).map(|wait| begun + wait);
    let mut intake = Intake::new(folder.path(), view, command.streams);
    let (mut waits, mut released) = (None, false);

    let (ending, state) = loop {
        let report = tokio::select! {
            report = reports.next() => report,
            () = reached(hand_over_at) => {
                // Only asked for here. What the keeper sent before it took note still arrives, an ending included, so
                // the loop goes on until one of the two is received.
                hand_over_at = None;
                reports.send(&Control::HandOver { lifetime: command.task_lifetime.into() }).await;
                continue;
            }
        };
        match report {
            Some(Report::Output { stream, bytes }) => {
                listener.receive(RunEvent::Output { stream, bytes: &bytes });
                intake.push(stream, &bytes);
            }
            Some(Report::Spooled(stream, place)) => {
                intake.take(stream, place, listener);
                reports.acknowledge(place.count).await;
            }
            Some(Report::Waits(wait)) => {
                waits = Some(wait);
                hand_over_at = None;
                reports.send(&Control::HandOver { lifetime: command.task_lifetime.into() }).await;
            }
            Some(Report::Released) => {
                released = true;
                hand_over_at = None;
                reports.send(&Control::HandOver { lifetime: command.task_lifetime.into() }).await;
            }
            Some(Report::Ended { ending, state }) => break (*ending, state),
            Some(Report::NotReady { number }) if warm && reports.is_about_our_shell(number) => return Ok(None),
            Some(Report::HandedOver) => break (without_ending(Outcome::Running, begun.elapsed()), HandedBack::Nothing),
            Some(_) => {}
            // The keeper itself was killed. Nobody can say what became of the command.
            None => break (without_ending(Outcome::Lost, begun.elapsed()), HandedBack::Nothing),
        }
    };

    // A command that ended between its wait and the hand-over does not wait any more, and goes on for nobody.
    waits = waits.filter(|_| ending.outcome == Outcome::Running);
    released &= ending.outcome == Outcome::Running;
    let captured = intake.finish();
    Ok(Some(Collected { pid, warm, ending, state, captured, waits, released, reports }))
}

/// How long the caller waits before the command becomes a task; `None` where it waits to the end.
fn longest_wait(command: &CommandRequest) -> Option<Duration> {
    let limit = command.timeout.filter(|_| command.on_timeout == OnTimeout::HandBack);
    command.wait.into_iter().chain(limit).min().map(|wait| wait.min(LONGEST))
}

/// Waits for the start of a run and hands it over at once, as a task. Gives the connection that keeps it alive, `None`
/// where a shell that waited is gone and has run nothing.
pub(crate) async fn release(
    launched: Launched,
    command: &CommandRequest,
    folder: &RunFolder,
) -> Result<Option<UnixStream>, StartError> {
    let Launched { keeper, program, pid, .. } = launched;
    let mut reports = Reports::of(keeper, None, &RunControl::new())?;
    reports.started(pid, folder, program).await?;
    reports.send(&Control::HandOver { lifetime: command.task_lifetime.into() }).await;

    // Output that was on its way is passed over: it is in the spool like all the rest.
    loop {
        match reports.next().await {
            Some(Report::NotReady { number }) if pid.is_some() && reports.is_about_our_shell(number) => {
                return Ok(None);
            }
            None | Some(Report::HandedOver | Report::Ended { .. }) => return Ok(Some(reports.into_connection())),
            Some(_) => {}
        }
    }
}

/// What can be said of a run whose keeper has not reported an ending.
pub(crate) fn without_ending(outcome: Outcome, since: Duration) -> Ending {
    Ending {
        refused: Vec::new(),
        exhausted: None,
        changed: None,
        connected: None,
        outcome,
        limit: None,
        leftovers: Vec::new(),
        leftover_task: None,
        survivors: Vec::new(),
        hung_up: None,
        usage: None,
        wall_us: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
        stdout: StreamTotals::default(),
        stderr: StreamTotals::default(),
        received: Received::Unknown,
    }
}

/// The reports of a keeper that this process started; requests to stop are passed on to it meanwhile.
pub(crate) struct Reports {
    link: Link,
    /// The number of the shell that was to wait for this command.
    prepared: u64,
    pid: i32,
    mark: u64,
    /// The stem, where a branch of it runs the command.
    held: Option<HeldShell>,
    stops: StopWatch,
    /// Bytes that were read from the spool and are not acknowledged yet.
    unacknowledged: u64,
}

impl Reports {
    fn of(keeper: Keeper, held: Option<HeldShell>, control: &RunControl) -> Result<Self, StartError> {
        let Keeper { connection, inbox, prepared, pid, mark } = keeper;
        let link = Link::to_started(connection, inbox).map_err(StartError::HandOver)?;
        Ok(Self { link, prepared, pid, mark, held, stops: control.watch(), unacknowledged: 0 })
    }

    /// Waits for the start; gives the shell's process id. The keeper of a shell that waited reports no start, since that
    /// shell was started before.
    async fn started(&mut self, waited: Option<i32>, folder: &RunFolder, keeper: PathBuf) -> Result<i32, StartError> {
        if let Some(pid) = waited {
            return Ok(pid);
        }
        let report = loop {
            match self.next().await {
                // These are about a shell that waited here for an earlier command.
                Some(Report::Ready { .. } | Report::NotReady { .. }) => {}
                other => break other,
            }
        };
        match report {
            Some(Report::Started { pid }) => Ok(pid),
            Some(Report::FailedToStart { reason }) => Err(StartError::Shell(reason)),
            // The keeper may have been killed by its very command. It writes the record of the start before it reports
            // the start, so the record says whether anything ran.
            _ => folder.start().map(|start| start.pid).map_err(|_| StartError::KeeperVanished(keeper)),
        }
    }

    /// The next report; `None` when the keeper is gone. Requests to stop are passed on while this waits.
    ///
    /// Cancel-safe up to the moment a stop is sent, and callers race it only against times: what was read stays in the
    /// link, and a request to stop that was not taken is seen by the next call.
    pub(crate) async fn next(&mut self) -> Option<Report> {
        loop {
            // What has arrived goes first. A request to stop then races only against the socket, and by the fairness of
            // `select!` it gets through even while output floods in.
            if let Some(report) = self.link.received().ok()? {
                return Some(report);
            }
            tokio::select! {
                arrival = self.link.arrival() => {
                    if arrival == Arrival::Closed {
                        return None;
                    }
                }
                stop = self.stops.next() => self.send(&stop).await,
            }
        }
    }

    /// Whether a number names the shell that was to run this command. Zero stands for a shell that never was.
    fn is_about_our_shell(&self, number: u64) -> bool {
        number == 0 || number == self.prepared
    }

    pub(crate) fn into_connection(self) -> UnixStream {
        self.link.into_parts().0
    }

    /// Whether a branch of a stem runs the command, so that another one will wait soon.
    pub(crate) fn has_stem(&self) -> bool {
        self.held.is_some()
    }

    /// The keeper, which is free, and its stem where that is left. `begun_from` is what the command began from, `told` all
    /// that it has changed there, where that is known.
    pub(crate) fn into_keeper(
        self,
        branch: Option<NextBranch>,
        begun_from: &ShellState,
        told: Option<&Change>,
    ) -> FreeKeeper {
        let Self { link, prepared, pid, mark, held, .. } = self;
        let (connection, inbox) = link.into_parts();
        let held = held.zip(branch).map(|(mut held, branch)| {
            held.has_branch(branch, begun_from, told);
            held
        });
        FreeKeeper { keeper: Keeper { connection, inbox, prepared, pid, mark }, held }
    }

    /// Notes that so many bytes were read from the spool, and tells the keeper every so often: it stops reading from the
    /// command when we fall `BEHIND_BYTES` behind, so a quarter of that keeps the command going.
    async fn acknowledge(&mut self, bytes: u64) {
        self.unacknowledged += bytes;
        if self.unacknowledged >= BEHIND_BYTES / 4 {
            let bytes = std::mem::take(&mut self.unacknowledged);
            self.send(&Control::Taken(bytes)).await;
        }
    }

    async fn send(&mut self, control: &Control) {
        // What a run is told consists of a few numbers, so it always fits into a frame.
        let _ = self.link.send(control).await;
    }
}
