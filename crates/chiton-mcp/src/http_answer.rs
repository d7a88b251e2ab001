//! What is answered over HTTP without asking the server.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Body, Bytes, Frame};
use rmcp::model::ErrorCode;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::message::Objection;

pub(crate) type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> HttpAnswer {
    with(status, Empty::new().boxed())
}

/// An answer that is JSON.
pub(crate) fn json(status: StatusCode, value: &Value) -> HttpAnswer {
    let mut answer = with(status, Full::new(Bytes::from(value.to_string())).boxed());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// The answer to what cannot be given to the server.
pub(crate) fn object(objection: &Objection) -> HttpAnswer {
    let is_known = objection.error.code != ErrorCode::METHOD_NOT_FOUND;
    json(if is_known { StatusCode::BAD_REQUEST } else { StatusCode::NOT_FOUND }, &objection.to_json())
}

/// An answer that is a stream of events, as they come.
pub(crate) fn events(events: mpsc::Receiver<Bytes>) -> HttpAnswer {
    let mut answer = with(StatusCode::OK, Events(events).boxed());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}

/// One event that carries a message.
pub(crate) fn event(message: &Value) -> Bytes {
    Bytes::from(format!("data: {message}\n\n"))
}

fn with(status: StatusCode, body: BoxBody<Bytes, Infallible>) -> HttpAnswer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
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
