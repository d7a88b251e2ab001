//! One request to a receiver, over a connection of its own.

use std::time::Duration;

use http::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::target::Target;

/// How long a receiver may take for an answer: what OpenTelemetry gives it where nobody says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of an answer is read.
const ANSWER_BYTES: usize = 64 << 10;
/// A receiver cannot ask for more than that.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// What became of a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// The receiver has the records, but for some that it did not want.
    Taken { rejected: u64 },
    /// It does not take this request, however often it is sent.
    Unwanted(String),
    /// It may be taken later.
    Later { reason: String, pause: Option<Duration> },
}

/// Sends a request and waits for its answer.
pub(super) async fn post(target: &Target, headers: &[(HeaderName, HeaderValue)], body: Vec<u8>) -> Answer {
    match tokio::time::timeout(PATIENCE, exchange(target, headers, body)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(reason)) => Answer::Later { reason, pause: None },
        Err(_) => Answer::Later { reason: format!("no answer within {} s", PATIENCE.as_secs()), pause: None },
    }
}

async fn exchange(target: &Target, headers: &[(HeaderName, HeaderValue)], body: Vec<u8>) -> Result<Answer, String> {
    let stream = TcpStream::connect((target.host.as_str(), target.port)).await;
    let stream = stream.map_err(|error| format!("no connection: {error}"))?;
    let broken = |error: hyper::Error| format!("the connection broke: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let serving = tokio::spawn(connection);
    let mut request = Request::post(target.path.as_str())
        .header(HOST, &target.authority)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("chiton/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let answer = read(response).await;
    serving.abort();
    answer
}

async fn read(response: Response<Incoming>) -> Result<Answer, String> {
    let status = response.status();
    let pause = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let pause = pause.map(|seconds| Duration::from_secs(seconds).min(LONGEST_PAUSE));
    let body = Limited::new(response.into_body(), ANSWER_BYTES).collect().await;
    let body = body.map_err(|error| format!("its answer broke off: {error}"))?.to_bytes();
    Ok(match status {
        _ if status.is_success() => Answer::Taken { rejected: rejected(&body) },
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
            Answer::Unwanted(format!("it answered {status}"))
        }
        // A wrong token or path is put right sooner or later, and the journal waits.
        _ => Answer::Later { reason: format!("it answered {status}"), pause },
    })
}

/// How many records the receiver says it did not take. It may say nothing at all.
fn rejected(body: &[u8]) -> u64 {
    let Ok(answer) = serde_json::from_slice::<Value>(body) else { return 0 };
    let count = &answer["partialSuccess"]["rejectedLogRecords"];
    count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0)
}
