//! The terminal of a run, as it is now.
//!
//! A viewer looks on, or has taken over and types. What is typed goes the way of `chiton attach`. A viewer that receives
//! slowly is sent whole screens instead of all that was printed: its keeper sees to that, and we receive only as fast as a
//! viewer may be sent anything.

use std::collections::HashMap;
use std::sync::Arc;

use chiton_engine::tasks::{SendError, Window, WindowEvent};
use chiton_engine::terminal::answers::without_answers;
use chiton_engine::terminal::repaint::repaint;
use chiton_engine::terminal::{Snapshot, TerminalSize};
use chiton_engine::{Lock, Task, Tasks, Typist};
use data_encoding::BASE64;
use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::mpsc;

use super::answer::{Answer, event, events};
use super::kept::random_key;
use super::pace::Pace;

/// How much of what a person does may be on its way. Nobody is that fast.
const MOST_TOUCHES: usize = 256;

/// What a person does to a terminal.
pub(super) enum Touch {
    /// Types.
    Keys(Vec<u8>),
    /// Gives it another size.
    Size(TerminalSize),
}

/// The viewers who have taken over, by names that only they know.
#[derive(Clone, Default)]
pub(super) struct Typists {
    all: Arc<Lock<HashMap<String, mpsc::Sender<Touch>>>>,
}

impl Typists {
    /// Hands on what one of them does; false where there is no such viewer any more, or nothing more can be taken.
    pub(super) fn touch(&self, viewer: &str, touch: Touch) -> bool {
        let sender = self.all.lock().get(viewer).cloned();
        sender.is_some_and(|sender| sender.try_send(touch).is_ok())
    }

    fn enter(&self) -> (String, mpsc::Receiver<Touch>) {
        let (sender, receiver) = mpsc::channel(MOST_TOUCHES);
        let viewer = random_key();
        self.all.lock().insert(viewer.clone(), sender);
        (viewer, receiver)
    }

    fn leave(&self, viewer: &str) {
        self.all.lock().remove(viewer);
    }
}

/// The stream of a viewer of this run's terminal, who types where there are `typists` to belong to.
pub(super) fn view(tasks: Tasks, task: Task, typists: Option<Typists>) -> Answer {
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        let entered = typists.as_ref().map(Typists::enter);
        let name = entered.as_ref().map(|(name, _)| name.clone());
        let shown = show(&tasks, &task, entered, &sender).await;
        if let Some((typists, name)) = typists.zip(name) {
            typists.leave(&name);
        }
        if let Err(error) = shown {
            let _ = sender.send(event("failed", &json!({"error": error.to_string()}))).await;
        }
    });
    events(receiver)
}

async fn show(
    tasks: &Tasks,
    task: &Task,
    typist: Option<(String, mpsc::Receiver<Touch>)>,
    viewer: &mpsc::Sender<Bytes>,
) -> Result<(), SendError> {
    let (name, mut touches) = typist.unzip();
    let _ = viewer.send(event("begin", &json!({"viewer": name}))).await;
    if !task.status.is_running() {
        return show_last(tasks, task, viewer).await;
    }
    let mut window = match tasks.attach(&task.id, name.is_some().then_some(Typist::Person)).await {
        Err(SendError::Ended { .. }) => return show_last(tasks, task, viewer).await,
        window => window?,
    };
    let mut pace = Pace::new();
    loop {
        let happened = tokio::select! {
            // Before anything is received, so that the keeper notices who is slow.
            happened = async { pace.wait().await; window.next().await } => happened,
            touch = next(&mut touches) => {
                obey(&mut window, touch).await;
                continue;
            }
            () = viewer.closed() => return Ok(()),
        };
        let message = match happened {
            Some(WindowEvent::Screen(look)) => screen(&look.screen),
            Some(WindowEvent::Output(bytes)) => event("output", &json!({"bytes": BASE64.encode(&bytes)})),
            Some(WindowEvent::NoTerminal) => return Err(SendError::NoTerminal { id: task.id.clone() }),
            Some(WindowEvent::Ended(_)) | None => return show_last(tasks, task, viewer).await,
        };
        pace.note(message.len());
        if viewer.send(message).await.is_err() {
            return Ok(());
        }
    }
}

/// What it showed last.
async fn show_last(tasks: &Tasks, task: &Task, viewer: &mpsc::Sender<Bytes>) -> Result<(), SendError> {
    let look = tasks.look(&task.id).await?;
    let _ = viewer.send(screen(&look.screen)).await;
    let _ = viewer.send(event("end", &json!({}))).await;
    Ok(())
}

fn screen(screen: &Snapshot) -> Bytes {
    let TerminalSize { columns, rows } = screen.size;
    event("screen", &json!({"columns": columns, "rows": rows, "bytes": BASE64.encode(&repaint(screen))}))
}

async fn obey(window: &mut Window, touch: Touch) {
    match touch {
        Touch::Keys(keys) => {
            // The terminal in the page answers questions that the program's own terminal has answered.
            let keys = without_answers(&keys);
            if !keys.is_empty() {
                window.enter(&keys).await;
            }
        }
        Touch::Size(size) => window.resize(size).await,
    }
}

async fn next(touches: &mut Option<mpsc::Receiver<Touch>>) -> Touch {
    if let Some(touches) = touches
        && let Some(touch) = touches.recv().await
    {
        return touch;
    }
    std::future::pending().await
}
