//! The connection to a running task, whoever started it: wait, write, signal, stop.

use std::io;
use std::time::Duration;

use regex::bytes::Regex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, sleep_until};

use super::list::{NotFound, Task, TaskStatus, Tasks};
use super::read::{Cursor, ReadError};
use crate::bytes::ByteString;
use crate::folder::RunFolder;
use crate::limits::LONGEST;
use crate::protocol::{Control, Denial, FrameBuffer, Report, VERSION, encode};
use crate::run::Stream;
use crate::run::{InputWait, Look, StopCause, Typing, Typist};
use crate::run::{Outcome, Signal};
use chiton_terminal::{Snapshot, TerminalSize};

/// What a wait is for. Whatever comes first ends it; the end of the task always does.
#[derive(Clone, Debug, Default)]
pub struct WaitFor {
    /// A line of output that matches, also one that is there already.
    pub pattern: Option<Regex>,
    /// No output for so long.
    pub idle: Option<Duration>,
    /// So many bytes of output beyond `from`.
    pub bytes: Option<u64>,
    /// A line on the screen of its terminal that matches, also one that is there already.
    pub screen: Option<Regex>,
    /// That it waits for somebody to type into its terminal.
    pub input: bool,
    /// So much time.
    pub timeout: Option<Duration>,
    /// Where the waiting reader is: output before this is neither searched nor counted.
    pub from: Cursor,
}

/// Why a wait is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// The task has ended.
    Ended,
    /// This line matched.
    Matched(String),
    /// It was silent for long enough.
    Idle,
    /// Enough output has come.
    Bytes,
    /// It waits for input.
    Input(InputWait),
    /// The time is over.
    TimedOut,
}

/// The result of a wait.
#[derive(Clone, Debug)]
pub struct Waited {
    /// Why it is over.
    pub reason: WaitReason,
    /// The task as it is now.
    pub task: Task,
}

/// What cannot be done to a task.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is none of this id.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// It has ended.
    #[error("task {id} has ended ({status}), so {what}")]
    Ended {
        /// The task.
        id: String,
        /// How.
        status: String,
        /// What could not be done.
        what: &'static str,
    },
    /// It takes no input.
    #[error("task {id}: its standard input is closed; to write to a task, start it with an open input")]
    InputClosed {
        /// The task.
        id: String,
    },
    /// It has no terminal.
    #[error("task {id} has no terminal: start it in one (pty) to see a screen and to type keys")]
    NoTerminal {
        /// The task.
        id: String,
    },
    /// It asks for a password, and was given a text.
    #[error(
        "{id} asks for a password ('{prompt}'), and nothing was typed: a password is a reference to a secret, like \
         {{{{secret:NAME}}}}, or is typed by a person with `chiton attach {id}`. To leave it empty send the key enter, to give up \
         ctrl-c"
    )]
    Password {
        /// The task.
        id: String,
        /// What it asks.
        prompt: String,
    },
    /// Its keeper says no.
    #[error("task {id}: {reason}")]
    Refused {
        /// The task.
        id: String,
        /// Why.
        reason: String,
    },
    /// Its output cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What a kill did.
#[derive(Clone, Debug)]
pub enum Killed {
    /// It ran, and is gone now with everything it started.
    Stopped(Task),
    /// It had ended before.
    AlreadyStopped(Task),
    /// It was told to end, and something of it is still there: held by the kernel, or its keeper does not answer.
    Survived(Task),
}

impl Killed {
    /// The task as it is now.
    pub fn task(&self) -> &Task {
        let (Self::Stopped(task) | Self::AlreadyStopped(task) | Self::Survived(task)) = self;
        task
    }
}

/// How long a keeper that has announced the end is given to be gone.
const LAST_MOMENTS: Duration = Duration::from_millis(200);
/// How long a keeper may take to open its door or to be gone.
const DOOR: Duration = Duration::from_secs(5);

impl Tasks {
    /// Writes to its standard input.
    pub async fn write(&self, id: &str, text: impl Into<ByteString>) -> Result<(), SendError> {
        self.ask(id, Control::Input(text.into()), "nothing was written").await
    }

    /// Closes its standard input.
    pub async fn end_input(&self, id: &str) -> Result<(), SendError> {
        self.ask(id, Control::EndInput, "its input cannot be closed").await
    }

    /// Types into its terminal.
    pub async fn type_into(&self, id: &str, what: Typing, typist: Typist) -> Result<(), SendError> {
        self.type_masked(id, what, typist, Vec::new()).await
    }

    /// The same; these values are masked in its output from then on.
    pub(crate) async fn type_masked(
        &self,
        id: &str,
        what: Typing,
        typist: Typist,
        masks: Vec<(String, ByteString)>,
    ) -> Result<(), SendError> {
        self.ask(id, Control::Type { what, typist, masks }, "nothing was typed").await
    }

    /// Gives its terminal another size.
    pub async fn resize(&self, id: &str, size: TerminalSize) -> Result<(), SendError> {
        self.ask(id, Control::Resize(size), "its terminal keeps its size").await
    }

    /// What is to be seen of its terminal: now, or at its end.
    pub async fn look(&self, id: &str) -> Result<Look, SendError> {
        let folder = self.find(id).ok_or_else(|| self.not_found(id))?;
        let no_terminal = || SendError::NoTerminal { id: folder.id().to_owned() };
        if self.get(folder.id())?.status.is_running()
            && let Some(mut link) = Link::open(&folder).await
        {
            link.send(&Control::Look).await;
            while let Some(report) = link.next().await {
                match report {
                    Report::Look(look) => return Ok(*look),
                    Report::Answer(_) => return Err(no_terminal()),
                    _ => {}
                }
            }
            self.after_its_keeper(folder.id()).await?;
        }
        let screen = folder.screen().map_err(|_| no_terminal())?;
        Ok(Look { screen, waits: None, people: 0, typed_by_people: 0 })
    }

    /// Opens a window on its terminal: a person looks in, and types where they may.
    pub async fn attach(&self, id: &str, typist: Option<Typist>) -> Result<Window, SendError> {
        let folder = self.find(id).ok_or_else(|| self.not_found(id))?;
        if let Some(mut link) = Link::open(&folder).await {
            link.send(&Control::Attach { typist }).await;
            return Ok(Window { link, typist });
        }
        let task = self.after_its_keeper(folder.id()).await?;
        let what = "there is no terminal to attach to";
        Err(SendError::Ended { id: task.id, status: task.status.to_string(), what })
    }

    /// Sends a signal to its process group.
    pub async fn signal(&self, id: &str, signal: Signal) -> Result<(), SendError> {
        self.ask(id, Control::Signal(signal.number()), "no signal was sent").await
    }

    /// Stops it, with everything it started, and comes back when nothing of that is left.
    pub async fn kill(&self, id: &str, grace: Option<Duration>) -> Result<Killed, NotFound> {
        let folder = self.find(id).ok_or_else(|| self.not_found(id))?;
        let task = self.get(folder.id())?;
        if !task.status.is_running() && task.leftovers.is_empty() {
            return Ok(Killed::AlreadyStopped(task));
        }
        let Some(mut link) = Link::open(&folder).await else {
            return self.get(folder.id()).map(Killed::AlreadyStopped);
        };
        link.send(&Control::Watch).await;
        link.send(&Control::Stop { cause: StopCause::Killed, grace }).await;
        // The end of the connection is the end of the keeper, which stays as long as anything does.
        // It may wait for a caller that does not read; an ending without survivors is proof enough.
        while let Some(report) = link.next().await {
            match report {
                Report::Ended { ending, .. } if !ending.survivors.is_empty() => {
                    return self.get(folder.id()).map(Killed::Survived);
                }
                Report::Ended { .. } if task.status.is_running() => {
                    let _ = tokio::time::timeout(LAST_MOMENTS, link.next()).await;
                    break;
                }
                _ => {}
            }
        }
        let task = self.after_its_keeper(folder.id()).await?;
        let gone = !task.status.is_running() && task.status != TaskStatus::Lost;
        Ok(if gone { Killed::Stopped(task) } else { Killed::Survived(task) })
    }

    /// Stops all that run; tells how many there were.
    pub async fn kill_all(&self, grace: Option<Duration>) -> io::Result<usize> {
        let running = self.running()?;
        let mut kills = tokio::task::JoinSet::new();
        for task in running {
            let tasks = self.clone();
            kills.spawn(async move { matches!(tasks.kill(&task.id, grace).await, Ok(Killed::Stopped(_))) });
        }
        Ok(kills.join_all().await.into_iter().filter(|stopped| *stopped).count())
    }

    /// Waits for the first of several things. Nothing wakes up in between.
    pub async fn wait(&self, id: &str, wanted: WaitFor) -> Result<Waited, SendError> {
        let folder = self.find(id).ok_or_else(|| self.not_found(id))?;
        let deadline = wanted.timeout.map(|timeout| Instant::now() + timeout.min(LONGEST));
        let mut link = Link::open(&folder).await;
        if let Some(link) = &mut link {
            link.send(if wanted.input { &Control::WatchInput } else { &Control::Watch }).await;
            if wanted.screen.is_some() {
                link.send(&Control::Look).await;
            }
        }
        let from = wanted.from.stdout + wanted.from.stderr;
        let mut progress = Progress { heard: Instant::now(), from, last: None, searched: wanted.from };
        loop {
            let task = self.get(folder.id())?;
            if let Some(line) = progress.search(&task, wanted.pattern.as_ref())? {
                return Ok(Waited { reason: WaitReason::Matched(line), task });
            }
            let running = task.status.is_running();
            let Some(link) = link.as_mut().filter(|_| running) else {
                return Ok(Waited { reason: WaitReason::Ended, task });
            };
            let silent_at = wanted.idle.map(|idle| progress.heard + idle.min(LONGEST));
            let reason = tokio::select! {
                report = link.next() => {
                    if report.is_none() && self.after_its_keeper(folder.id()).await?.status.is_running() {
                        let reason = "its keeper does not answer; is it of another version?".to_owned();
                        return Err(SendError::Refused { id: task.id, reason });
                    }
                    match report {
                        Some(Report::Waits(wait)) => Some(WaitReason::Input(wait)),
                        Some(Report::Look(look)) => find(&look.screen, wanted.screen.as_ref()),
                        Some(Report::Answer(Err(Denial::NoTerminal))) => {
                            return Err(SendError::NoTerminal { id: task.id });
                        }
                        report => {
                            if wanted.screen.is_some() && matches!(report, Some(Report::Grew { .. })) {
                                link.send(&Control::Look).await;
                            }
                            progress.note(report.as_ref(), &task, wanted.bytes)
                        }
                    }
                }
                () = at(silent_at) => Some(WaitReason::Idle),
                () = at(deadline) => Some(WaitReason::TimedOut),
            };
            if let Some(reason) = reason {
                return Ok(Waited { reason, task: self.get(folder.id())? });
            }
        }
    }

    /// A task whose keeper has closed its connection: a process that ends closes one thing after the other, and the
    /// lock that says that the run is alive may be the last.
    async fn after_its_keeper(&self, id: &str) -> Result<Task, NotFound> {
        let end = Instant::now() + LAST_MOMENTS * 10;
        loop {
            let task = self.get(id)?;
            if !task.status.is_running() || Instant::now() > end {
                return Ok(task);
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    async fn ask(&self, id: &str, control: Control, what: &'static str) -> Result<(), SendError> {
        let folder = self.find(id).ok_or_else(|| self.not_found(id))?;
        if let Some(mut link) = Link::open(&folder).await {
            link.send(&control).await;
            while let Some(report) = link.next().await {
                match report {
                    Report::Answer(Ok(())) => return Ok(()),
                    Report::Answer(Err(Denial::Ended)) => break,
                    Report::Answer(Err(Denial::InputClosed)) => {
                        return Err(SendError::InputClosed { id: folder.id().to_owned() });
                    }
                    Report::Answer(Err(Denial::NoTerminal)) => {
                        return Err(SendError::NoTerminal { id: folder.id().to_owned() });
                    }
                    Report::Answer(Err(Denial::Because(reason))) => {
                        return Err(SendError::Refused { id: folder.id().to_owned(), reason });
                    }
                    _ => {}
                }
            }
        }
        let task = self.after_its_keeper(folder.id()).await?;
        Err(SendError::Ended { id: task.id, status: task.status.to_string(), what })
    }
}

/// A line on a screen that matches.
fn find(screen: &Snapshot, pattern: Option<&Regex>) -> Option<WaitReason> {
    let text = screen.to_text();
    let line = text.lines().find(|line| pattern.is_some_and(|pattern| pattern.is_match(line.as_bytes())));
    line.map(|line| WaitReason::Matched(line.to_owned()))
}

/// A window on a terminal.
pub struct Window {
    link: Link,
    typist: Option<Typist>,
}

/// What happens in a window.
#[derive(Debug)]
pub enum WindowEvent {
    /// The screen as a whole: at first, and whenever output came faster than it was taken.
    Screen(Box<Look>),
    /// Output since then.
    Output(ByteString),
    /// The command has ended.
    Ended(Outcome),
    /// It has no terminal.
    NoTerminal,
}

impl Window {
    /// The next event; `None` when the keeper is gone. Cancel-safe.
    pub async fn next(&mut self) -> Option<WindowEvent> {
        loop {
            return Some(match self.link.next().await? {
                Report::Look(look) => WindowEvent::Screen(look),
                Report::Output { bytes, .. } => WindowEvent::Output(bytes),
                Report::Ended { ending, .. } => WindowEvent::Ended(ending.outcome),
                Report::Answer(Err(Denial::NoTerminal)) => WindowEvent::NoTerminal,
                _ => continue,
            });
        }
    }

    /// Types bytes as they are; in a window that only looks, nothing happens.
    pub async fn enter(&mut self, bytes: &[u8]) {
        if let Some(typist) = self.typist {
            let what = Typing::Raw(bytes.into());
            self.link.send(&Control::Type { what, typist, masks: Vec::new() }).await;
        }
    }

    /// Gives the terminal another size; a window that only looks does not.
    pub async fn resize(&mut self, size: TerminalSize) {
        if self.typist.is_some() {
            self.link.send(&Control::Resize(size)).await;
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

struct Progress {
    heard: Instant,
    from: u64,
    last: Option<u64>,
    searched: Cursor,
}

impl Progress {
    fn note(&mut self, report: Option<&Report>, task: &Task, bytes: Option<u64>) -> Option<WaitReason> {
        let Some(Report::Grew { stdout, stderr }) = report else { return None };
        let total = (stdout + stderr).saturating_sub(task.source.stdout + task.source.stderr);
        // The first report says where the run stands, later ones that it moved.
        if self.last.replace(total).is_some_and(|last| last != total) {
            self.heard = Instant::now();
        }
        bytes.filter(|bytes| total.saturating_sub(self.from) >= *bytes).map(|_| WaitReason::Bytes)
    }

    /// The first line not looked at before that matches. An unfinished line is looked at again when it has grown.
    fn search(&mut self, task: &Task, pattern: Option<&Regex>) -> Result<Option<String>, ReadError> {
        let Some(pattern) = pattern else { return Ok(None) };
        for (stream, place) in
            [(Stream::Stdout, &mut self.searched.stdout), (Stream::Stderr, &mut self.searched.stderr)]
        {
            loop {
                let piece = task.bytes_from(stream, *place, SEARCH_STEP)?;
                let lines = piece.bytes.split(|byte| *byte == b'\n');
                if let Some(line) = lines.into_iter().find(|line| !line.is_empty() && pattern.is_match(line)) {
                    return Ok(Some(String::from_utf8_lossy(line).into_owned()));
                }
                let full = piece.bytes.len() == SEARCH_STEP;
                let finished = memchr::memrchr(b'\n', &piece.bytes).map_or(0, |newline| newline + 1);
                *place = piece.offset + if finished == 0 && full { SEARCH_STEP } else { finished } as u64;
                if !full {
                    break;
                }
            }
        }
        Ok(None)
    }
}

/// How much is searched in one go; a line longer than this is searched in pieces.
const SEARCH_STEP: usize = 1 << 20;

/// A connection to a keeper.
struct Link {
    socket: UnixStream,
    buffer: FrameBuffer,
}

impl Link {
    /// Connects, unless the keeper is gone.
    async fn open(folder: &RunFolder) -> Option<Self> {
        let end = Instant::now() + DOOR;
        loop {
            if let Some(socket) = folder.connect().ok().and_then(|socket| into_async(socket).ok()) {
                let mut link = Self { socket, buffer: FrameBuffer::default() };
                link.socket.write_all(&[VERSION]).await.ok()?;
                return Some(link);
            }
            // Held but without a door: just starting, or just ending. Both take a moment.
            if !folder.is_held() || Instant::now() > end {
                return None;
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    async fn send(&mut self, control: &Control) {
        // A keeper that is gone is noticed by the next read.
        let _ = self.socket.write_all(&encode(control)).await;
    }

    /// The next report; `None` when the keeper is gone. Cancel-safe: what was read stays in the buffer.
    async fn next(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = self.buffer.next().ok()? {
                return Some(report);
            }
            if !self.socket.read_buf(self.buffer.space()).await.is_ok_and(|count| count > 0) {
                return None;
            }
        }
    }
}

fn into_async(socket: std::os::unix::net::UnixStream) -> io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
