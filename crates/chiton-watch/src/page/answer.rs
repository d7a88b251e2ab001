//! What is sent back, with the headers that keep everybody else out of the page.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame};
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;

pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Nothing but our own files, and of styles only those of our own files and those that the terminal makes with the word
/// that this one answer names. No text can become markup: the page may not even try (`trusted-types`).
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; style-src 'self'";

/// An answer with a body of this kind.
pub(super) fn body(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Answer {
    with(status, kind, Full::new(bytes.into()).boxed())
}

/// A text for a person.
pub(super) fn text(status: StatusCode, text: &str) -> Answer {
    body(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    body(status, "application/json", serde_json::to_vec(value).unwrap_or_default())
}

/// Why something was not done.
pub(super) fn refused(status: StatusCode, why: &str) -> Answer {
    json(status, &json!({"error": why}))
}

/// A stream of events, as they come.
pub(super) fn events(events: mpsc::Receiver<Bytes>) -> Answer {
    with(StatusCode::OK, "text/event-stream", Events(events).boxed())
}

/// One event of a stream.
pub(super) fn event(name: &str, value: &impl Serialize) -> Bytes {
    // JSON has no line ends outside of its strings, and none in them that are not escaped.
    Bytes::from(format!("event: {name}\ndata: {}\n\n", serde_json::to_string(value).unwrap_or_default()))
}

/// What tells a browser that somebody is there.
pub(super) fn pulse() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// The policy for an answer whose styles may carry this word.
pub(super) fn policy_with(word: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("{POLICY} 'nonce-{word}'")).ok()
}

fn with(status: StatusCode, kind: &'static str, body: BoxBody<Bytes, Infallible>) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in headers {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

struct Events(mpsc::Receiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
