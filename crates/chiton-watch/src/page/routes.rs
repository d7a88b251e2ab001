//! What there is to ask for.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chiton_engine::peer::Place;
use chiton_engine::{Task, Tasks};
use http::header::{CONTENT_SECURITY_POLICY, LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use super::answer::{self, Answer, refused, text};
use super::control::{Wish, fulfil};
use super::feed::Feed;
use super::gate::{Admitted, BODY_BYTES, Gate, HEAD_BYTES, link_key};
use super::journal::{self, Search};
use super::kept::random_key;
use super::terminal::{self, Typists};
use super::{PageControl, assets, transcript};

/// How long a body may take.
const BODY: Duration = Duration::from_secs(10);

/// The page of one state directory.
pub(super) struct Page {
    state_directory: PathBuf,
    tasks: Tasks,
    gate: Gate,
    control: Option<PageControl>,
    feed: Arc<Feed>,
    typists: Typists,
}

impl Page {
    pub(super) fn new(state_directory: &Path, gate: Gate, control: Option<PageControl>) -> Self {
        Self {
            state_directory: state_directory.to_owned(),
            tasks: Tasks::new(state_directory),
            gate,
            control,
            feed: Feed::start(state_directory),
            typists: Typists::default(),
        }
    }

    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        is_of_a_command: bool,
        place: &Place,
    ) -> Result<Answer, Infallible> {
        let (head, body) = request.into_parts();
        if is_of_a_command {
            let why = "A command that Chiton runs cannot use this page: it could answer the questions that are asked about it.";
            return Ok(text(StatusCode::FORBIDDEN, why));
        }
        if head.uri.to_string().len() > HEAD_BYTES / 8 {
            return Ok(text(StatusCode::URI_TOO_LONG, "the address is too long"));
        }
        match self.gate.check(&head) {
            Err((status, why)) => return Ok(text(status, why)),
            Ok(Admitted::ByLink) => return Ok(self.let_in()),
            // A link that is opened once more by somebody who is in leads to the page, too.
            Ok(Admitted::ByCookie) if link_key(&head).is_some() => return Ok(self.let_in()),
            Ok(Admitted::ByCookie) => place.is_known(),
        }
        Ok(if head.method == Method::POST { self.change(&head, body).await } else { self.show(&head).await })
    }

    /// Sets the cookie, and goes on to an address without a key.
    fn let_in(&self) -> Answer {
        let mut answer = text(StatusCode::SEE_OTHER, "The page is at /.");
        answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
        if let Ok(cookie) = HeaderValue::from_str(&self.gate.set_cookie()) {
            answer.headers_mut().insert(SET_COOKIE, cookie);
        }
        answer
    }

    async fn show(&self, head: &Parts) -> Answer {
        let path = head.uri.path();
        if let Some(name) = path.strip_prefix("/assets/") {
            let file = assets::find(name);
            return file.map_or_else(nothing, |(kind, bytes)| answer::body(StatusCode::OK, kind, bytes));
        }
        let Some(rest) = path.strip_prefix("/api/") else {
            return if path == "/" { page() } else { nothing() };
        };
        match rest.split('/').collect::<Vec<_>>().as_slice() {
            ["hello"] => self.hello(),
            ["events"] => self.feed.view(self.control.is_some()),
            ["journal"] => self.search(head).await,
            ["counts"] => self.count(head).await,
            ["runs", id, "output"] => self.with_task(id, |task| transcript::view(self.tasks.clone(), task)),
            ["runs", id, "earlier"] => {
                let before = parameter(head, "before").and_then(|text| text.parse().ok()).unwrap_or(0);
                self.with_task(id, |task| as_json(transcript::earlier(&task, before)))
            }
            ["runs", id, "terminal"] => {
                let types = parameter(head, "type").is_some();
                self.with_task(id, |task| self.show_terminal(task, types))
            }
            ["runs", id] => self.with_task(id, |task| describe(&task)),
            _ => nothing(),
        }
    }

    fn hello(&self) -> Answer {
        answer::json(
            StatusCode::OK,
            &json!({
                "version": env!("CARGO_PKG_VERSION"),
                "state_directory": self.state_directory.to_string_lossy(),
                "control": self.control.is_some(),
                "token": self.gate.token(),
            }),
        )
    }

    fn with_task(&self, id: &str, act: impl FnOnce(Task) -> Answer) -> Answer {
        match self.tasks.get(id) {
            Ok(task) => act(task),
            Err(error) => refused(StatusCode::NOT_FOUND, &error.to_string()),
        }
    }

    fn show_terminal(&self, task: Task, types: bool) -> Answer {
        let control = self.control.as_ref().filter(|_| types && task.status.is_running());
        if types && self.control.is_none() {
            return refused(StatusCode::FORBIDDEN, READ_ONLY);
        }
        if let Some(control) = control {
            control.note("attached", &task.id);
        }
        terminal::view(self.tasks.clone(), task, control.map(|_| self.typists.clone()))
    }

    async fn search(&self, head: &Parts) -> Answer {
        let words = parameter(head, "words").unwrap_or_default().to_lowercase();
        let wanted = Search {
            words: words.split_whitespace().map(str::to_owned).collect(),
            before: parameter(head, "before").and_then(|text| text.parse().ok()),
            failures: parameter(head, "failures").is_some(),
        };
        let state = self.state_directory.clone();
        let found = tokio::task::spawn_blocking(move || journal::search(&state, &wanted)).await;
        found.map_or_else(|_| nothing(), as_json)
    }

    async fn count(&self, head: &Parts) -> Answer {
        let hours = parameter(head, "hours").and_then(|text| text.parse().ok()).unwrap_or(24);
        let state = self.state_directory.clone();
        let counted = tokio::task::spawn_blocking(move || journal::count(&state, hours)).await;
        counted.map_or_else(|_| nothing(), as_json)
    }

    async fn change(&self, head: &Parts, body: Incoming) -> Answer {
        let Some(control) = &self.control else { return refused(StatusCode::FORBIDDEN, READ_ONLY) };
        let path = head.uri.path().strip_prefix("/api/").unwrap_or_default();
        let wish = match path.split('/').collect::<Vec<_>>().as_slice() {
            ["runs", id, "kill"] => Wish::Kill(id),
            ["runs", id, "release"] => Wish::Release(id),
            ["runs", id, "signal"] => Wish::Signal(id),
            ["runs", id, "send"] => Wish::Send(id),
            ["runs", id, "end-input"] => Wish::EndInput(id),
            ["terminals", viewer, "keys"] => Wish::Keys(viewer),
            ["terminals", viewer, "size"] => Wish::Size(viewer),
            ["approvals", id] => Wish::Decide(id),
            _ => return nothing(),
        };
        let body = match timeout(BODY, Limited::new(body, BODY_BYTES).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return refused(StatusCode::BAD_REQUEST, "the body broke off, or is above 256 KiB"),
            Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        };
        fulfil(wish, &body, control, &self.typists, &self.feed).await
    }
}

/// Characters of a command that are shown in whole.
const WHOLE_COMMAND: usize = 100_000;
const READ_ONLY: &str = "this page only shows; `chiton ui --control` serves one on which a person can act";

/// The page, with a word for the styles of this answer alone.
fn page() -> Answer {
    let word = random_key();
    let html = assets::PAGE.replace(assets::NONCE, &word);
    let mut answer = answer::body(StatusCode::OK, "text/html; charset=utf-8", html);
    if let Some(policy) = answer::policy_with(&word) {
        answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

/// What a list has no room for.
fn describe(task: &Task) -> Answer {
    let changed = task.changed.as_ref();
    answer::json(
        StatusCode::OK,
        &json!({
            "command": crate::shown::harmless(&crate::shown::cut(&task.command, WHOLE_COMMAND)),
            "protection": task.protection.as_ref().map(ToString::to_string),
            "lifetime": task.lifetime,
            "limit": task.limit,
            "pid": task.pid.filter(|_| task.status.is_running()),
            "outcome": task.outcome.as_ref().map(ToString::to_string),
            "leftovers": task.leftovers,
            "changed": changed.map(|changed| crate::shown::harmless(&changed.to_string())),
            "undo": changed.and_then(|changed| changed.undo.clone()),
        }),
    )
}

fn nothing() -> Answer {
    text(StatusCode::NOT_FOUND, "There is nothing here.")
}

fn as_json<E: std::error::Error>(value: Result<impl Serialize, E>) -> Answer {
    match value {
        Ok(value) => answer::json(StatusCode::OK, &value),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// A parameter of the address, decoded.
fn parameter(head: &Parts, name: &str) -> Option<String> {
    let pairs = head.uri.query()?.split('&');
    let value = pairs.filter_map(|pair| pair.split_once('=').or(Some((pair, "")))).find(|(known, _)| *known == name)?.1;
    Some(decoded(value))
}

/// A text as it was before it became part of an address.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &after[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            (other, _) => {
                bytes.push(*other);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_browsers_write_them() {
        let (head, ()) = Request::builder().uri("/x?words=a%20b+%C3%A4%zz&failures&n=1").body(()).unwrap().into_parts();
        assert_eq!(parameter(&head, "words").as_deref(), Some("a b ä%zz"));
        assert_eq!(parameter(&head, "failures").as_deref(), Some(""));
        assert_eq!(parameter(&head, "n").as_deref(), Some("1"));
        assert_eq!(parameter(&head, "other"), None);
    }
}
