//! What a person does to a run. Everything goes the way that it takes from the command line, the journal included.

use chiton_engine::consent::Answer as Decision;
use chiton_engine::tasks::link::Killed;
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{Signal, TaskStatus};
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::PageControl;
use super::answer::{Answer, json, refused};
use super::feed::Feed;
use super::terminal::{Touch, Typists};

/// Something that a person wants.
#[derive(Debug)]
pub(super) enum Wish<'a> {
    Kill(&'a str),
    Release(&'a str),
    Signal(&'a str),
    Send(&'a str),
    EndInput(&'a str),
    Keys(&'a str),
    Size(&'a str),
    Decide(&'a str),
}

/// What the body of a request may say.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Words {
    text: String,
    signal: String,
    columns: u16,
    rows: u16,
    answer: String,
}

/// What was done, or why not.
type Done = Result<String, String>;

pub(super) async fn fulfil(
    wish: Wish<'_>,
    body: &[u8],
    control: &PageControl,
    typists: &Typists,
    feed: &Feed,
) -> Answer {
    let words = match serde_json::from_slice::<Words>(if body.is_empty() { b"{}" } else { body }) {
        Ok(words) => words,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &format!("the body is not as expected: {error}")),
    };
    let done = match wish {
        Wish::Kill(id) => control.kill(id).await,
        Wish::Release(id) => control.release(id).await,
        Wish::Signal(id) => control.signal(id, &words.signal).await,
        Wish::Send(id) => control.send(id, words.text).await,
        Wish::EndInput(id) => control.end_input(id).await,
        Wish::Keys(viewer) => touch(typists, viewer, Touch::Keys(words.text.into_bytes())),
        Wish::Size(viewer) => touch(typists, viewer, Touch::Size(TerminalSize::nearest(words.columns, words.rows))),
        Wish::Decide(id) => decide(feed, id, &words.answer).await,
    };
    feed.look_soon();
    match done {
        Ok(said) => json(StatusCode::OK, &json!({"said": said})),
        Err(why) => refused(StatusCode::CONFLICT, &why),
    }
}

fn touch(typists: &Typists, viewer: &str, touch: Touch) -> Done {
    let lost = || "the terminal is no longer open here, so nothing was typed; take over again".to_owned();
    typists.touch(viewer, touch).then(String::new).ok_or_else(lost)
}

async fn decide(feed: &Feed, id: &str, answer: &str) -> Done {
    let unknown = || format!("'{answer}' is not an answer: it is once, session or no");
    let decision = Decision::from_word(answer).ok_or_else(unknown)?;
    feed.decide(id, decision).await.map_err(|error| error.to_string())?;
    Ok(format!("answered: {answer}"))
}

impl PageControl {
    /// Writes down that the person at the page did something to a run.
    pub(super) fn note(&self, what: &str, id: &str) {
        self.engine.note_task(&self.session, what, id);
    }

    async fn kill(&self, id: &str) -> Done {
        let tasks = self.engine.tasks();
        // Before it is killed: its end follows in the journal.
        if let Some(task) = tasks.get(id).ok().filter(|task| task.status.is_running()) {
            self.note("kill", &task.id);
        }
        match tasks.kill(id, None).await.map_err(|error| error.to_string())? {
            Killed::Stopped(task) => Ok(format!("{} is stopped, with everything it started", task.id)),
            Killed::AlreadyStopped(task) if task.status == TaskStatus::Lost => {
                Err(format!("{} was lost with its keeper; what is left of it has to be ended by hand", task.id))
            }
            Killed::AlreadyStopped(task) => Ok(format!("{} had ended already", task.id)),
            Killed::Survived(task) => Err(format!("{} was asked to end and is still there", task.id)),
        }
    }

    async fn release(&self, id: &str) -> Done {
        self.engine.tasks().release(id).await.map_err(|error| error.to_string())?;
        self.note("release", id);
        Ok(format!("{id} goes on; the call that waited for it returns"))
    }

    async fn signal(&self, id: &str, name: &str) -> Done {
        let signal = Signal::parse(name).ok_or_else(|| format!("there is no signal '{name}'"))?;
        self.engine.tasks().signal(id, signal).await.map_err(|error| error.to_string())?;
        self.note(&format!("signal {signal}"), id);
        Ok(format!("{id} was sent {signal}"))
    }

    async fn send(&self, id: &str, text: String) -> Done {
        let sent = self.engine.write_to(&self.session, id, text.into_bytes()).await;
        sent.map_err(|error| error.to_string())?;
        Ok(format!("sent to {id}"))
    }

    async fn end_input(&self, id: &str) -> Done {
        let ended = self.engine.end_input_of(&self.session, id).await;
        ended.map_err(|error| error.to_string())?;
        Ok(format!("the input of {id} is closed"))
    }
}
