//! A command while it runs: its output passed on, its terminal typed into, signals that stop it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use anyhow::Result;
use chiton_engine::terminal::answers::without_answers;
use chiton_engine::{Listener, RunControl, RunEvent, Stream, Tasks, Typing, Typist};
use tokio::signal::unix::{SignalKind, signal};

use super::arguments::RunArguments;
use crate::status_line::StatusLine;
use crate::surroundings;
use crate::window::{self, RawMode};

/// The first signal asks the command to stop, the second kills it, the third leaves at once; its keeper sees to the
/// rest. Returns the number of the first.
pub(super) fn stop_on_signals(control: &RunControl, status: &StatusLine) -> Result<Arc<AtomicI32>> {
    let first = Arc::new(AtomicI32::new(0));
    let count = Arc::new(AtomicI32::new(0));
    // A caller that started us with a signal ignored, as nohup does, wants it ignored.
    let wanted = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    for kind in wanted.into_iter().filter(|kind| !surroundings::is_ignored(kind.as_raw_value())) {
        let mut signals = signal(kind)?;
        let (first, count, control) = (Arc::clone(&first), Arc::clone(&count), control.clone());
        let status = status.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                match count.fetch_add(1, Ordering::Relaxed) {
                    0 => {
                        first.store(kind.as_raw_value(), Ordering::Relaxed);
                        status.stopping("stopping; Ctrl-C again kills it");
                        control.cancel();
                    }
                    1 => {
                        status.stopping("killing it; Ctrl-C again leaves at once");
                        control.cancel_within(Duration::ZERO);
                    }
                    _ => std::process::exit(128 + kind.as_raw_value()),
                }
            }
        });
    }
    Ok(first)
}

/// A person's hands on the terminal of the command: what they type, and the size of their window.
pub(super) struct Hands {
    pub(super) run: tokio::sync::watch::Sender<String>,
    typing: tokio::task::JoinHandle<()>,
    _raw: RawMode,
}

impl Hands {
    pub(super) fn on(tasks: &Tasks) -> Result<Self> {
        let raw = RawMode::enter()?;
        let (run, mut started) = tokio::sync::watch::channel(String::new());
        let mut resized = signal(SignalKind::window_change())?;
        let tasks = tasks.clone();
        let typing = tokio::spawn(async move {
            if started.changed().await.is_err() {
                return;
            }
            let id = started.borrow().clone();
            let mut typed = window::typed();
            loop {
                tokio::select! {
                    Some(bytes) = typed.recv() => {
                        let bytes = without_answers(&bytes);
                        let _ = tasks.type_into(&id, Typing::Raw(bytes.into()), Typist::Person).await;
                    }
                    Some(()) = resized.recv() => {
                        if let Some(size) = window::size() {
                            let _ = tasks.resize(&id, size).await;
                        }
                    }
                    else => return,
                }
            }
        });
        Ok(Self { run, typing, _raw: raw })
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        self.typing.abort();
    }
}

/// Passes output on as it comes.
pub(super) struct Show {
    json: bool,
    pub(super) status: StatusLine,
    control: RunControl,
    pub(super) broken: Option<io::Error>,
    /// Where whoever types into it learns its id.
    pub(super) run: Option<tokio::sync::watch::Sender<String>>,
}

impl Show {
    pub(super) fn new(arguments: &RunArguments, control: &RunControl) -> Self {
        Self { json: arguments.json, status: StatusLine::new(), control: control.clone(), broken: None, run: None }
    }
}

impl Listener for Show {
    fn receive(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Started { run_id, .. } = &event {
            self.status.begin();
            if let Some(run) = &self.run {
                run.send_replace((*run_id).to_owned());
            }
        }
        let RunEvent::Output { stream, bytes } = event else { return };
        self.status.passes(bytes);
        if self.json || self.broken.is_some() {
            return;
        }
        let written = match stream {
            Stream::Stdout => write_all(io::stdout().lock(), bytes),
            Stream::Stderr => write_all(io::stderr().lock(), bytes),
        };
        if let Err(error) = written {
            // Nobody reads any more, so nobody needs the command any more, as with any program in a pipeline.
            self.broken = Some(error);
            self.control.cancel();
        }
    }
}

fn write_all(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}
