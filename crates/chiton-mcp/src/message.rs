//! What a client sends, as messages.
//!
//! 1. [`text_of`] makes text of what is almost text: half a character, in bytes or as an escape.
//! 2. [`read`] finds a message or several, or says what to answer to what is neither.

use std::borrow::Cow;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientRequest, ConstString, ErrorCode, ErrorData,
    GetMeta, JsonRpcMessage, JsonRpcVersion2_0, RequestId,
};
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::revision::Revision;

pub(crate) type Message = RxJsonRpcMessage<RoleServer>;

/// What was found.
#[derive(Debug)]
pub(crate) enum Found {
    Message(Box<Message>),
    /// An array, as some revisions have it.
    Batch(Vec<Value>),
    /// Something that the protocol says to ignore.
    Nothing,
}

/// The answer to something that cannot be given to the server.
#[derive(Debug)]
pub(crate) struct Objection {
    pub(crate) id: Value,
    pub(crate) error: Box<ErrorData>,
}

impl Objection {
    pub(crate) fn new(id: impl Into<Value>, code: ErrorCode, problem: impl Into<Cow<'static, str>>) -> Self {
        Self { id: id.into(), error: Box::new(ErrorData::new(code, problem, None)) }
    }

    /// As it is sent.
    pub(crate) fn to_json(&self) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "error": self.error})
    }
}

const NO_MESSAGE: &str = "this is not a JSON-RPC message: it needs \"jsonrpc\": \"2.0\", an id and a method";

/// The text of what was sent.
pub(crate) fn text_of(bytes: &[u8]) -> Cow<'_, [u8]> {
    mended(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii())
}

/// Finds what was sent in `text`. `declared` is the revision that came beside it, where one did.
pub(crate) fn read(text: &[u8], declared: Option<&str>) -> Result<Found, Objection> {
    match text.first() {
        None => Ok(Found::Nothing),
        Some(b'[') => serde_json::from_slice(text).map(Found::Batch).map_err(|error| not_json(&error)),
        Some(_) => read_one(text, declared),
    }
}

/// The same for what is not an array.
pub(crate) fn read_one(text: &[u8], declared: Option<&str>) -> Result<Found, Objection> {
    if let Some(call) = tool_call(text) {
        check_method(&call, declared)?;
        return Ok(Found::Message(Box::new(call)));
    }
    let notification = match serde_json::from_slice(text) {
        // The library takes a request with senseless parameters for a notification, which nobody would answer.
        Ok(message @ JsonRpcMessage::Notification(_)) => Some(message),
        Ok(message) => {
            check_method(&message, declared)?;
            return Ok(Found::Message(Box::new(message)));
        }
        Err(_) => None,
    };
    let value: Value = serde_json::from_slice(text).map_err(|error| not_json(&error))?;
    if let Some(notification) = notification
        && value.get("id").is_none()
    {
        return Ok(Found::Message(Box::new(notification)));
    }
    let Value::Object(entries) = &value else {
        return Err(Objection::new(Value::Null, ErrorCode::INVALID_REQUEST, NO_MESSAGE));
    };
    let id = entries.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    match (id, entries.get("method").and_then(Value::as_str)) {
        // The protocol says to ignore a notification that one does not understand.
        (None, Some(_)) if !entries.contains_key("id") => Ok(Found::Nothing),
        (Some(id), Some(method)) => {
            let problem = format!("the parameters of {method} are not what it takes");
            Err(Objection::new(id, ErrorCode::INVALID_PARAMS, problem))
        }
        (id, _) => Err(Objection::new(id.unwrap_or_default(), ErrorCode::INVALID_REQUEST, NO_MESSAGE)),
    }
}

/// A call of a tool and nothing else: what a client sends most. The library tries one kind of message after the other, of
/// which this is the fourteenth, and copies the whole for each. What has anything unusual is left to the library.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCall<'a> {
    #[serde(rename = "jsonrpc")]
    _jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: CallToolRequestParams,
}

fn tool_call(text: &[u8]) -> Option<Message> {
    let call: ToolCall<'_> = serde_json::from_slice(text).ok()?;
    if call.method != CallToolRequestMethod::VALUE {
        return None;
    }
    let mut params = call.params;
    let meta = params.meta.take();
    let mut request = CallToolRequest::new(params);
    if let Some(meta) = meta {
        request.extensions.insert(meta);
    }
    Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), call.id))
}

fn not_json(error: &serde_json::Error) -> Objection {
    Objection::new(Value::Null, ErrorCode::PARSE_ERROR, format!("this is not JSON: {error}"))
}

/// The library still answers some methods that the newest revision has removed.
fn check_method(message: &Message, declared: Option<&str>) -> Result<(), Objection> {
    let JsonRpcMessage::Request(request) = message else { return Ok(()) };
    let said = said_revision(&request.request);
    let revision = Revision::new(said.as_deref().or(declared).unwrap_or_default());
    let method = request.request.method();
    if !revision.has_removed(method) {
        return Ok(());
    }
    let problem = format!("revision 2026-07-28 has no method '{method}'; the older ones that are spoken here have it");
    let id = serde_json::to_value(&request.id).unwrap_or_default();
    Err(Objection::new(id, ErrorCode::METHOD_NOT_FOUND, problem))
}

/// The revision that a request names itself.
fn said_revision(request: &ClientRequest) -> Option<String> {
    request.get_meta().protocol_version().map(|version| version.as_str().to_owned())
}

/// The text with U+FFFD for what is half a character: bytes that are not UTF-8, and an escaped surrogate without its
/// other half, which is what many languages make of an emoji that was cut in two.
fn mended(text: &[u8]) -> Cow<'_, [u8]> {
    let mut text = match String::from_utf8_lossy(text) {
        Cow::Borrowed(whole) => Cow::Borrowed(whole.as_bytes()),
        Cow::Owned(mended) => Cow::Owned(mended.into_bytes()),
    };
    let mut place = 0;
    while let Some(found) = text[place..].iter().position(|byte| *byte == b'\\') {
        place += found;
        match surrogate(&text[place..]) {
            None => place += 2,
            Some(Half::First) if surrogate(text.get(place + 6..).unwrap_or_default()) == Some(Half::Second) => {
                place += 12;
            }
            // As long as what it replaces, so nothing moves.
            Some(_) => {
                text.to_mut()[place + 2..place + 6].copy_from_slice(b"fffd");
                place += 6;
            }
        }
        place = place.min(text.len());
    }
    text
}

/// Half of a character that takes two escapes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// Which half the escape is that `text` begins with.
fn surrogate(text: &[u8]) -> Option<Half> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_ignored_or_answered() {
        let code = |line: &str| match read(&text_of(line.as_bytes()), None) {
            Ok(Found::Message(_)) => "message".to_owned(),
            Ok(Found::Batch(messages)) => format!("{} messages", messages.len()),
            Ok(Found::Nothing) => "ignored".to_owned(),
            Err(objection) => format!("{} {}", objection.id, objection.error.code.0),
        };
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "message"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, "message"),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "message"),
            ("", "ignored"),
            ("\r\n", "ignored"),
            ("{", "null -32700"),
            ("\u{0}", "null -32700"),
            ("[", "null -32700"),
            ("[]", "0 messages"),
            ("[1, {}]", "2 messages"),
            ("17", "null -32600"),
            ("{}", "null -32600"),
            (r#"{"id":7}"#, "7 -32600"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null -32600"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":"loud"}"#, "7 -32602"),
            (r#"{"jsonrpc":"2.0","method":"notifications/nobody/knows","params":5}"#, "ignored"),
        ] {
            assert_eq!(code(line), expected, "{line}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(code(&deep), "null -32700");
    }

    #[test]
    fn a_call_is_what_the_library_reads_in_it() {
        let long =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}"}}}}"#, "x".repeat(9999));
        for (line, is_read_here) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash","arguments":{"command":"a\nb"}}}"#,
                true,
            ),
            (
                r#"{"params":{"arguments":{"n":1.5,"l":[{}]},"name":"Bash"},"method":"tools\/call","id":"x","jsonrpc":"2.0"}"#,
                true,
            ),
            (
                r#"{"jsonrpc":"2.0","id":-3,"method":"tools/call","params":{"name":"é","_meta":{"progressToken":7,"a":[]}}}"#,
                true,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash","arguments":null,"task":{"ttl":1}}}"#,
                true,
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash","requestState":"s"}}"#, true),
            (&long, true),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash"},"more":1}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash"},"result":{}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"Bash"}}"#, false),
            (r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"Bash"}}"#, false),
            (r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"Bash"}}"#, false),
            (r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"Bash"}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash","arguments":[]}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"Bash"}}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash"}} x"#, false),
        ] {
            let call = tool_call(line.as_bytes());
            assert_eq!(call.is_some(), is_read_here, "{line}");
            let whole: Result<Message, _> = serde_json::from_slice(line.as_bytes());
            if let Some(call) = call {
                let whole = whole.unwrap();
                assert_eq!(format!("{call:?}"), format!("{whole:?}"), "{line}");
                let (JsonRpcMessage::Request(call), JsonRpcMessage::Request(whole)) = (call, whole) else {
                    panic!("{line}")
                };
                assert_eq!(call.request.get_meta(), whole.request.get_meta(), "{line}");
            }
        }
    }

    #[test]
    fn half_a_character_is_read_as_a_replacement_and_whole_ones_stay() {
        let read = |text: &[u8]| serde_json::from_slice::<Value>(&mended(text)).map_err(|error| error.to_string());
        for (text, expected) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\udc00x""#, "\u{fffd}x"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\uD83D\uDE00 \uD83D \u00e9""#, "😀 \u{fffd} é"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\ud83d\\ude00""#, "\u{fffd}\\ude00"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
        ] {
            assert_eq!(read(text.as_bytes()), Ok(json!(expected)), "{text}");
        }
        assert_eq!(read(br#"{"\ud83d": ["\udfff"]}"#), Ok(json!({"\u{fffd}": ["\u{fffd}"]})));
        assert_eq!(read(b"\"a\xffb\xf0\x9f\x98\""), Ok(json!("a\u{fffd}b\u{fffd}")));
        assert_eq!(read("\"ö😀\"".as_bytes()), Ok(json!("ö😀")));

        // What is not JSON stays what it is, at every place where it can break off.
        for broken in [r#""\ud83"#, r#""\u"#, r#""\"#, r#""\ud83d\"#, r#""\u+123""#, "\\", r#"{"a": \ud83d}"#] {
            assert!(read(broken.as_bytes()).is_err(), "{broken}");
        }
        assert!(matches!(mended(br#"{"a": "\ud83d\ude00 \\"}"#), Cow::Borrowed(_)), "nothing was mended");
    }

    #[test]
    fn the_newest_revision_has_lost_some_methods() {
        let refused = |method: &str, revision: &str| {
            let meta = json!({"io.modelcontextprotocol/protocolVersion": revision});
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}});
            read(request.to_string().as_bytes(), None).err().map(|objection| objection.error.code)
        };
        for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
            assert_eq!(refused(method, "2026-07-28"), Some(ErrorCode::METHOD_NOT_FOUND), "{method}");
            assert_eq!(refused(method, "2025-11-25"), None, "{method}");
        }
        assert_eq!(refused("tools/list", "2026-07-28"), None);
    }
}
