//! The connection to a running task, whoever started it: write, type, look, signal, stop.
//!
//! 1. [`Tasks::open`] looks the task up and connects to its keeper, once.
//! 2. Each request on the [`TaskLink`] sends one message and waits for its answer; [`super::wait`] waits for events.
//! 3. A task whose keeper is gone is asked about on disk instead.
//!
//! The methods of [`Tasks`] of the same names open a link for a single request.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::list::{NotFound, Task, TaskStatus, Tasks};
use super::read::ReadError;
use super::wait::{WaitFor, Waited};
use super::window::Window;
use crate::bytes::ByteString;
use crate::folder::{RunFolder, Unreadable};
use crate::protocol::{Control, Denial, Link, ReaderReport, Report};
use crate::review::Refusal;
use crate::run::Signal;
use crate::run::{Look, StopCause, Typing, Typist};
use chiton_terminal::TerminalSize;

/// Why a request to a task was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is no task with this id.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// It has ended.
    #[error("task {id} has ended ({status}), so {what}")]
    Ended {
        /// The task.
        id: String,
        /// Its state.
        status: String,
        /// What did not happen.
        what: &'static str,
    },
    /// Its standard input is not open.
    #[error("task {id}: its standard input is closed, so nothing was written")]
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
    /// Somebody else wrote to it at the same time, again and again.
    #[error("task {id}: others write to it at the same time, so nothing was written; try again")]
    Overtaken {
        /// The task.
        id: String,
    },
    /// It asks for a password, and somebody wanted to type a text.
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
    /// What it should be watched for is not a regular expression.
    #[error("Invalid watch regex '{pattern}': {reason}")]
    BadPattern {
        /// The pattern, or its beginning.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Its keeper gives another reason.
    #[error("task {id}: {reason}")]
    Refused {
        /// The task.
        id: String,
        /// Why.
        reason: String,
    },
    /// The guard objects to what was typed.
    #[error("task {id}: {}", refusal.reason)]
    Objected {
        /// The task.
        id: String,
        /// Why, and what would be allowed.
        refusal: Box<Refusal>,
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
    /// It had ended already.
    AlreadyStopped(Task),
    /// Something of it is still there: the kernel holds it, or its keeper does not answer.
    Survived(Task),
}

impl Killed {
    /// The task as it is now.
    pub fn task(&self) -> &Task {
        let (Self::Stopped(task) | Self::AlreadyStopped(task) | Self::Survived(task)) = self;
        task
    }
}

/// How long a keeper that has reported the end is given to be gone.
const LAST_MOMENTS: Duration = Duration::from_millis(200);
/// How long a keeper may take to open its socket or to be gone.
const CONNECTING: Duration = Duration::from_secs(5);
/// The pause between two attempts at something that takes a keeper a moment.
const MOMENT: Duration = Duration::from_millis(2);

/// A task and one connection to its keeper, for several requests in a row.
///
/// A request is not cancel-safe: the answer to one that was dropped half-way is still on its way and would be taken for
/// the answer to the next. After a cancelled request, open another link. A wait may be dropped at any time.
pub struct TaskLink {
    pub(super) tasks: Tasks,
    pub(super) folder: RunFolder,
    /// `None` where there was no keeper to connect to: the task has ended.
    pub(super) link: Option<Link>,
    /// Looks that were requested and have not arrived. A wait for the screen leaves some behind.
    looks_on_their_way: usize,
}

/// How often, and after how long, the request of a run is looked for again. The keeper of a shell that waited writes it down a
/// moment after the command has begun, and whoever was told the id then may be quicker.
const LOOKS_FOR_REQUEST: usize = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

impl Tasks {
    /// Looks a task up and connects to its keeper. A task that has ended can be opened too.
    pub async fn open(&self, id: &str) -> Result<TaskLink, NotFound> {
        let folder = self.find(id).ok_or_else(|| self.not_found(id))?;
        for _ in 0..LOOKS_FOR_REQUEST {
            if !matches!(folder.request(), Err(Unreadable::Missing)) {
                break;
            }
            sleep(BETWEEN_LOOKS).await;
        }
        let link = connect(&folder).await;
        Ok(TaskLink { tasks: self.clone(), folder, link, looks_on_their_way: 0 })
    }

    /// Writes to its standard input.
    pub async fn write(&self, id: &str, text: impl Into<ByteString>) -> Result<(), SendError> {
        self.open(id).await?.write(text).await
    }

    /// Closes its standard input.
    pub async fn end_input(&self, id: &str) -> Result<(), SendError> {
        self.open(id).await?.end_input().await
    }

    /// Types into its terminal.
    pub async fn type_into(&self, id: &str, what: Typing, typist: Typist) -> Result<(), SendError> {
        self.open(id).await?.type_in(what, typist).await
    }

    /// Gives its terminal another size.
    pub async fn resize(&self, id: &str, size: TerminalSize) -> Result<(), SendError> {
        self.open(id).await?.resize(size).await
    }

    /// Its terminal as it is now, or as it was at the end.
    pub async fn look(&self, id: &str) -> Result<Look, SendError> {
        self.open(id).await?.look().await
    }

    /// Opens a window on its terminal, in which a person looks on, and types where `typist` says so.
    pub async fn attach(&self, id: &str, typist: Option<Typist>) -> Result<Window, SendError> {
        self.open(id).await?.attach(typist).await
    }

    /// Sends a signal to its process group.
    pub async fn signal(&self, id: &str, signal: Signal) -> Result<(), SendError> {
        self.open(id).await?.signal(signal).await
    }

    /// Has the calls that wait for it return while it goes on, and their time limits with them: a person wants that.
    pub async fn release(&self, id: &str) -> Result<(), SendError> {
        self.open(id).await?.request(Control::Release, "no call waits for it").await
    }

    /// Waits for the first of several things. Nothing wakes up in between.
    pub async fn wait(&self, id: &str, wanted: WaitFor) -> Result<Waited, SendError> {
        self.open(id).await?.wait(wanted).await
    }

    /// Stops it, with everything it started, and returns when nothing of that is left.
    pub async fn kill(&self, id: &str, grace: Option<Duration>) -> Result<Killed, NotFound> {
        self.open(id).await?.kill(grace).await
    }

    /// Stops all that run; gives how many there were.
    pub async fn kill_all(&self, grace: Option<Duration>) -> io::Result<usize> {
        let running = self.running()?;
        let mut kills = tokio::task::JoinSet::new();
        for task in running {
            let tasks = self.clone();
            kills.spawn(async move { matches!(tasks.kill(&task.id, grace).await, Ok(Killed::Stopped(_))) });
        }
        Ok(kills.join_all().await.into_iter().filter(|stopped| *stopped).count())
    }
}

impl TaskLink {
    /// The task as it is now.
    pub fn task(&self) -> Result<Task, NotFound> {
        self.tasks.get(self.folder.id())
    }

    pub(crate) fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Writes to its standard input.
    pub async fn write(&mut self, text: impl Into<ByteString>) -> Result<(), SendError> {
        self.request(Control::Input(text.into()), "nothing was written").await
    }

    /// Who reads what is written to it now.
    pub(crate) async fn reader(&mut self) -> Result<ReaderReport, SendError> {
        if self.link.is_some() {
            self.send(&Control::Reader).await?;
            while let Some(report) = self.receive().await {
                if let Report::Reader(reader) = report {
                    return Ok(*reader);
                }
            }
        }
        let task = self.after_its_keeper().await?;
        Err(SendError::Ended { id: task.id, status: task.status.to_string(), what: "nothing was written" })
    }

    /// Carries out a request that writes, unless somebody wrote since there were so many writes.
    pub(crate) async fn after(&mut self, writes: u64, control: &Control, what: &'static str) -> Result<(), SendError> {
        self.request(Control::After { writes, then: Box::new(control.clone()) }, what).await
    }

    /// Closes its standard input.
    pub async fn end_input(&mut self) -> Result<(), SendError> {
        self.request(Control::EndInput, "its input cannot be closed").await
    }

    /// Types into its terminal.
    pub async fn type_in(&mut self, what: Typing, typist: Typist) -> Result<(), SendError> {
        self.request(Control::Type { what, typist, masks: Vec::new() }, "nothing was typed").await
    }

    /// These values are masked in its output from now on.
    pub(crate) async fn mask(&mut self, masks: Vec<(String, ByteString)>) -> Result<(), SendError> {
        // A keeper learns what to mask before it finds that there is nowhere to type, and that is all we want.
        let what = Typing::Raw(ByteString::default());
        match self.request(Control::Type { what, typist: Typist::Caller, masks }, "nothing was written").await {
            Err(SendError::NoTerminal { .. }) => Ok(()),
            done => done,
        }
    }

    /// Gives its terminal another size.
    pub async fn resize(&mut self, size: TerminalSize) -> Result<(), SendError> {
        self.request(Control::Resize(size), "its terminal keeps its size").await
    }

    /// Sends a signal to its process group.
    pub async fn signal(&mut self, signal: Signal) -> Result<(), SendError> {
        self.request(Control::Signal(signal.number()), "no signal was sent").await
    }

    /// Its terminal as it is now, or as it was at the end.
    pub async fn look(&mut self) -> Result<Look, SendError> {
        // A keeper that only watches over leftovers still has the terminal, but the task's last screen is the one that
        // was written down when it ended. So its state decides, not whether somebody answers.
        if self.task()?.status.is_running() && self.link.is_some() {
            self.request_look().await?;
            while let Some(report) = self.receive().await {
                match report {
                    // Not one that was requested before: that shows how things were then.
                    Report::Look(look) if self.looks_on_their_way == 0 => return Ok(*look),
                    Report::Answer(_) => return Err(self.no_terminal()),
                    _ => {}
                }
            }
            // The keeper ended instead of answering. Its last act was to write the screen down.
            self.after_its_keeper().await?;
        }

        let screen = self.folder.screen().map_err(|_| self.no_terminal())?;
        Ok(Look { screen, waits: None, people: 0, typed_by_people: 0 })
    }

    /// Makes this link a window on the terminal.
    pub async fn attach(mut self, typist: Option<Typist>) -> Result<Window, SendError> {
        self.send(&Control::Attach { typist }).await?;
        if let Some(link) = self.link.take() {
            return Ok(Window::new(link, typist));
        }
        let task = self.after_its_keeper().await?;
        let what = "there is no terminal to attach to";
        Err(SendError::Ended { id: task.id, status: task.status.to_string(), what })
    }

    /// Stops it, with everything it started, and returns when nothing of that is left.
    pub async fn kill(mut self, grace: Option<Duration>) -> Result<Killed, NotFound> {
        let task = self.task()?;
        if !task.status.is_running() && task.leftovers.is_empty() {
            return Ok(Killed::AlreadyStopped(task));
        }
        let Some(mut link) = self.link.take() else {
            return self.task().map(Killed::AlreadyStopped);
        };

        // Watched first, so that the ending is reported here however quickly it follows. Neither message can be too
        // long to send.
        let _ = link.send(&Control::Watch).await;
        let _ = link.send(&Control::Stop { cause: StopCause::Killed, grace }).await;

        // The end of the connection is the end of the keeper, which stays as long as anything of the task does. But it
        // may also stay for a caller that does not read, so an ending without survivors is proof enough.
        while let Some(report) = link.receive().await {
            match report {
                Report::Ended { ending, .. } if !ending.survivors.is_empty() => {
                    return self.task().map(Killed::Survived);
                }
                Report::Ended { .. } if task.status.is_running() => {
                    let _ = tokio::time::timeout(LAST_MOMENTS, link.receive()).await;
                    break;
                }
                // Where the task had ended before, the first `Ended` is that old ending: its leftovers are being
                // stopped now, and only the end of the connection says that they are gone.
                _ => {}
            }
        }

        let task = self.after_its_keeper().await?;
        let gone = !task.status.is_running() && task.status != TaskStatus::Lost;
        Ok(if gone { Killed::Stopped(task) } else { Killed::Survived(task) })
    }

    /// Passes on what a caller wants of it. Its end is reported to whoever waits.
    pub(crate) async fn stop(&mut self, stop: &Control) -> Result<(), SendError> {
        self.send(stop).await
    }

    /// Sends a request and waits for its answer. `what` says what did not happen where the task has ended.
    async fn request(&mut self, control: Control, what: &'static str) -> Result<(), SendError> {
        if self.link.is_some() {
            self.send(&control).await?;
            // Reports of output and of waits may come in between on a link that has waited before. They are older than
            // the answer, so passing over them also means that a later wait sees nothing from before this request.
            while let Some(report) = self.receive().await {
                let id = || self.folder.id().to_owned();
                match report {
                    Report::Answer(Ok(())) => return Ok(()),
                    Report::Answer(Err(Denial::Ended)) => break,
                    Report::Answer(Err(Denial::InputClosed)) => return Err(SendError::InputClosed { id: id() }),
                    Report::Answer(Err(Denial::Overtaken)) => return Err(SendError::Overtaken { id: id() }),
                    Report::Answer(Err(Denial::NoTerminal)) => return Err(self.no_terminal()),
                    Report::Answer(Err(Denial::Because(reason))) => {
                        return Err(SendError::Refused { id: id(), reason });
                    }
                    _ => {}
                }
            }
        }
        let task = self.after_its_keeper().await?;
        Err(SendError::Ended { id: task.id, status: task.status.to_string(), what })
    }

    /// The task, once its keeper has closed the connection. A process that ends closes one descriptor after the other,
    /// and the lock that says that the run is alive may be the last; until then the task reads as running.
    pub(super) async fn after_its_keeper(&self) -> Result<Task, NotFound> {
        let end = Instant::now() + LAST_MOMENTS * 10;
        loop {
            let task = self.task()?;
            if !task.status.is_running() || Instant::now() > end {
                return Ok(task);
            }
            sleep(MOMENT).await;
        }
    }

    /// The next report; `None` when the keeper is gone. Cancel-safe, as [`Link::receive`] is.
    pub(super) async fn receive(&mut self) -> Option<Report> {
        let report = self.link.as_mut()?.receive().await;
        if let Some(Report::Look(_)) = &report {
            self.looks_on_their_way = self.looks_on_their_way.saturating_sub(1);
        }
        report
    }

    /// Asks for the terminal as it is now.
    pub(super) async fn request_look(&mut self) -> Result<(), SendError> {
        self.looks_on_their_way += 1;
        self.send(&Control::Look).await
    }

    /// Sends a message, where there is a keeper. Only one of a size that the caller chose can be too long.
    pub(super) async fn send(&mut self, control: &Control) -> Result<(), SendError> {
        let Some(link) = &mut self.link else { return Ok(()) };
        let id = self.folder.id();
        link.send(control).await.map_err(|error| {
            let reason = format!("the message was not sent: {error}");
            SendError::Refused { id: id.to_owned(), reason }
        })
    }

    pub(super) fn no_terminal(&self) -> SendError {
        SendError::NoTerminal { id: self.folder.id().to_owned() }
    }
}

/// Connects to the keeper of a run; `None` when it is gone.
async fn connect(folder: &RunFolder) -> Option<Link> {
    let end = Instant::now() + CONNECTING;
    loop {
        if let Ok(socket) = folder.connect() {
            return Link::greet(socket).await.ok();
        }
        // Locked but without a socket: the keeper is just starting, or just ending. Both take a moment, and neither
        // leaves anything to wait on but the file system.
        if !folder.is_held() || Instant::now() > end {
            return None;
        }
        sleep(MOMENT).await;
    }
}
