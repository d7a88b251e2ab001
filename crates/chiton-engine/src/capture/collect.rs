//! The engine's side of capture: everything a keeper reports until the end.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::head_tail::HeadTail;
use super::spool::StreamTotals;
use crate::bytes::ByteString;
use crate::control::{RunControl, StopWatch};
use crate::error::StartError;
use crate::event::{Listener, RunEvent, Stream};
use crate::keeper::protocol::{Ending, FrameBuffer, Report, encode};
use crate::limits::ViewLimits;
use crate::outcome::{Outcome, Usage};
use crate::request::Streams;
use crate::spawn::Launched;

/// What a run gave.
pub(crate) struct Collected {
    pub(crate) ending: Ending,
    /// What the shell handed back about its state.
    pub(crate) state: Option<ByteString>,
    pub(crate) stdout: HeadTail,
    pub(crate) stderr: HeadTail,
    pub(crate) output: HeadTail,
    /// Still open: while it is, the keeper knows that the session lives.
    pub(crate) connection: UnixStream,
}

/// Follows a run to its end.
///
/// Dropping the future closes the connection; the keeper then acts by the run's lifetime, and what it has spooled
/// stays. Nothing is held here that is not also there.
pub(crate) async fn collect(
    launched: Launched,
    run_id: &str,
    view: ViewLimits,
    listener: &mut dyn Listener,
    control: &RunControl,
) -> Result<Collected, StartError> {
    let Launched { connection, keeper, command } = launched;
    let mut reports = Reports { connection, buffer: FrameBuffer::default(), stops: control.watch() };
    match reports.next().await {
        Some(Report::Started { pid }) => listener.hear(RunEvent::Started { run_id, pid }),
        Some(Report::FailedToStart { reason }) => return Err(StartError::Shell(reason)),
        _ => return Err(StartError::KeeperVanished(keeper)),
    }
    let mut kept = [HeadTail::new(view), HeadTail::new(view)];
    let mut output = HeadTail::new(view);
    let (ending, state) = loop {
        match reports.next().await {
            Some(Report::Output { stream, bytes }) => {
                listener.hear(RunEvent::Output { stream, bytes: &bytes });
                kept[usize::from(stream == Stream::Stderr)].push(&bytes);
                if command.streams == Streams::Separate {
                    output.push(&bytes);
                }
            }
            Some(Report::Ended { ending, state }) => break (ending, state),
            Some(Report::Started { .. } | Report::FailedToStart { .. }) => {}
            None => break (lost(), None),
        }
    };
    let [stdout, stderr] = kept;
    Ok(Collected { ending, state, stdout, stderr, output, connection: reports.connection })
}

/// The keeper itself was killed: what became of the command nobody can say.
fn lost() -> Ending {
    Ending {
        outcome: Outcome::Lost,
        leftovers: Vec::new(),
        survivors: Vec::new(),
        usage: Usage::default(),
        wall_us: 0,
        stdout: StreamTotals::default(),
        stderr: StreamTotals::default(),
    }
}

struct Reports {
    connection: UnixStream,
    buffer: FrameBuffer,
    stops: StopWatch,
}

impl Reports {
    /// The next report; requests to stop are passed on while waiting. `None` when the keeper is gone.
    async fn next(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = self.buffer.next().ok()? {
                return Some(report);
            }
            tokio::select! {
                read = self.connection.read_buf(self.buffer.space()) => {
                    if !read.is_ok_and(|count| count > 0) {
                        return None;
                    }
                }
                stop = self.stops.next() => {
                    // A keeper that is gone is noticed by the read.
                    let _ = self.connection.write_all(&encode(&stop)).await;
                }
            }
        }
    }
}
