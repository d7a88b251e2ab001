//! The journal, sent to a receiver of OpenTelemetry logs (OTLP over HTTP, as JSON).
//!
//! 1. `target.rs` reads from the settings where to, and refuses what cannot be.
//! 2. The engine's outbox knows which lines wait: the journal is the queue, so a command never waits for a receiver.
//! 3. `record.rs` makes log records of them, `post.rs` sends a request, `sender.rs` goes on until nothing waits.
//! 4. [`Exporter`] does this beside the commands of this process, and has a moment for it at the end.

mod post;
mod record;
mod sender;
mod target;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use chiton_engine::audit::outbox;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::net::unix::pipe;
use tokio::sync::watch;

pub(crate) use target::Target;

use self::sender::{Ended, Pauses, Sender};
use crate::messages::{remark, say};
use crate::runtime;
use crate::settings::Settings;

/// What a command that has ended gives to the receiver at most.
const LAST_MOMENT: Duration = Duration::from_millis(150);
/// What is added to that for noting how it went.
const TO_NOTE: Duration = Duration::from_millis(50);
/// How long lines are collected, so that a busy server does not send each by itself.
const COLLECTING: Duration = Duration::from_millis(300);
/// When to look again whether another process has stopped sending.
const ELSEWHERE: Duration = Duration::from_millis(10);

/// Sends what is written into the journal, on a thread of its own, while this process does its work.
pub(crate) struct Exporter {
    /// When the process has ended its work.
    over: watch::Sender<Option<Instant>>,
    done: mpsc::Receiver<()>,
}

impl Exporter {
    /// Starts it, where the settings name a receiver.
    ///
    /// # Errors
    /// When they name something else.
    pub(crate) fn start(settings: &Settings, state: &Path) -> Result<Option<Self>> {
        let Some(target) = Target::of(settings)?.filter(|_| !settings.audit.off) else { return Ok(None) };
        let folder = super::folder(state);
        let (over, is_over) = watch::channel(None);
        let (note, done) = mpsc::channel();
        let work = move || {
            if let Err(error) = export(target, folder, is_over) {
                remark(&format!("the journal is not sent: {error:#}"));
            }
            let _ = note.send(());
        };
        thread::Builder::new().name("otlp".to_owned()).spawn(work).context("the journal cannot be sent")?;
        Ok(Some(Self { over, done }))
    }

    /// Gives it a moment for the last lines; what it does not manage is left to the next process.
    pub(crate) fn finish(self) {
        let _ = self.over.send(Some(Instant::now()));
        let _ = self.done.recv_timeout(LAST_MOMENT + TO_NOTE);
    }
}

fn export(target: Target, folder: PathBuf, is_over: watch::Receiver<Option<Instant>>) -> Result<()> {
    let runtime = runtime::build(&mut tokio::runtime::Builder::new_current_thread())?;
    let exported = runtime.block_on(keep_sending(&mut Sender::new(target, folder), Pauses::Kept, is_over));
    // A name that is still being looked up is no reason to stay.
    runtime.shutdown_background();
    exported
}

/// Sends whatever is written, until `is_over`, and then what is left.
async fn keep_sending(
    sender: &mut Sender,
    pauses: Pauses,
    mut is_over: watch::Receiver<Option<Instant>>,
) -> Result<()> {
    let mut said = false;
    loop {
        let was_over = is_over.borrow().is_some();
        // Before it looks, so that what is written meanwhile is noticed.
        let changes = Changes::watch(&sender.folder);
        let ended = sender.send(pauses, last_moment(is_over.clone())).await?;
        let pause = match ended {
            Ended::AllSent => {
                said = false;
                None
            }
            Ended::Elsewhere if was_over => Some(ELSEWHERE),
            Ended::Elsewhere => Some(Duration::from_secs(1)),
            Ended::Failed { reason, pause } => {
                if pauses == Pauses::Ignored && !said {
                    remark(&format!("{} does not take the journal: {reason}; it waits", sender.target.url));
                    said = true;
                }
                Some(pause)
            }
        };
        if was_over && pause != Some(ELSEWHERE) {
            return Ok(());
        }

        let is_idle = pause.is_none();
        let awaited = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => changes.any().await,
            }
        };
        tokio::select! {
            () = awaited => {}
            // Now what is left, without waiting for more; while another process sends, a little later.
            _ = over(&mut is_over), if !was_over => continue,
        }
        if is_idle {
            tokio::select! {
                () = tokio::time::sleep(COLLECTING) => {}
                _ = over(&mut is_over), if !was_over => {}
            }
        }
    }
}

/// Ready when the process ends. Where nobody can say that any more, never.
async fn over(is_over: &mut watch::Receiver<Option<Instant>>) -> Instant {
    let since = is_over.wait_for(Option::is_some).await.ok().and_then(|since| *since);
    match since {
        Some(since) => since,
        None => std::future::pending().await,
    }
}

/// Ready when the process has ended and the last moment is over.
async fn last_moment(mut is_over: watch::Receiver<Option<Instant>>) {
    let since = over(&mut is_over).await;
    tokio::time::sleep_until((since + LAST_MOMENT).into()).await;
}

/// Notices that something in a folder changes, once. The kernel's reports are read like a pipe.
struct Changes(Option<pipe::Receiver>);

impl Changes {
    fn watch(folder: &Path) -> Self {
        let watch = || {
            let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::DELETE_SELF;
            inotify::add_watch(&inotify, folder, flags).ok()?;
            pipe::Receiver::from_owned_fd_unchecked(inotify).ok()
        };
        Self(watch())
    }

    /// Ready when something has changed since it watches.
    async fn any(self) {
        let Some(watched) = self.0 else {
            // There is no folder yet, or too many are watched on this machine.
            tokio::time::sleep(Duration::from_secs(1)).await;
            return;
        };
        let _ = watched.readable().await;
    }
}

/// `chiton audit send`: sends what waits, now; with `follow`, until interrupted.
pub(super) fn send(settings: &Settings, state: &Path, follow: bool) -> Result<ExitCode> {
    let Some(target) = Target::of(settings)? else {
        bail!(
            "nobody says where to: write `otlp = \"http://127.0.0.1:4318\"` into [audit] of the settings, with the address of \
             an OpenTelemetry collector"
        );
    };
    let url = target.url.clone();
    let folder = super::folder(state);
    let mut sender = Sender::new(target, folder.clone());
    let runtime = runtime::build(&mut tokio::runtime::Builder::new_current_thread())?;
    let ended = runtime.block_on(async {
        if follow {
            let (_never, is_over) = watch::channel(None);
            remark(&format!("sending to {url} what is in the journal and what will be; Ctrl-C ends it"));
            keep_sending(&mut sender, Pauses::Ignored, is_over).await?;
        }
        sender.send(Pauses::Ignored, std::future::pending()).await
    });
    runtime.shutdown_background();
    let sent = records(sender.sent);
    match ended? {
        Ended::AllSent => say!("{sent} sent to {url}"),
        Ended::Elsewhere => say!("another process is sending the journal at this moment"),
        Ended::Failed { reason, .. } => {
            let waiting = that_wait(outbox::waiting(&folder));
            bail!("{url} does not take the journal: {reason}. {sent} sent; {waiting}")
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn records(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}

fn that_wait(count: u64) -> String {
    format!("{} {}", records(count), if count == 1 { "waits" } else { "wait" })
}

/// The same words for the receiver and for people here.
fn lost_in_words(lost: u64) -> String {
    format!(
        "{} of the journal cannot be sent: the journal let them go before, or the receiver did not take them",
        records(lost)
    )
}

/// How sending goes.
pub(crate) struct Health {
    /// In words.
    pub(crate) what: String,
    /// Whether anything is wrong with it.
    pub(crate) is_well: bool,
}

/// How the sending of this state directory's journal goes, for `chiton doctor`; nothing where it is not sent.
///
/// # Errors
/// When the settings name no receiver.
pub(crate) fn health(settings: &Settings, state: &Path) -> Result<Option<Health>> {
    let Some(target) = Target::of(settings)? else { return Ok(None) };
    let folder = super::folder(state);
    let cursor = outbox::Cursor::read(&folder).unwrap_or_default();
    let lost = cursor.lost.saturating_add(outbox::gone(&folder));
    let mut what = format!("the journal is sent to {}; {}", target.url, that_wait(outbox::waiting(&folder)));
    match cursor.failures {
        0 => {}
        1 => what.push_str(", and the last attempt failed"),
        failures => what.push_str(&format!(", and the last {failures} attempts failed")),
    }
    if lost > 0 {
        what.push_str(&format!("; {} {} lost", records(lost), if lost == 1 { "was" } else { "were" }));
    }
    Ok(Some(Health { what, is_well: cursor.failures == 0 && lost == 0 }))
}
