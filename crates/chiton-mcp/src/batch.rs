//! Several messages in one array, answered in one array. Only the oldest revisions have this.

use std::collections::HashSet;

use rmcp::model::{ErrorCode, JsonRpcMessage, RequestId};
use serde_json::Value;

use crate::message::{self, Found, Message, Objection};

/// How many messages an array may have.
const MOST: usize = 1000;

/// The answers to an array, as they come in.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    waiting: HashSet<RequestId>,
    answers: Vec<Value>,
}

/// One message of an array.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) message: Message,
    /// The same as it was sent.
    pub(crate) text: Vec<u8>,
}

/// Why an array is not accepted.
pub(crate) fn refusal(elements: &[Value], has_batches: bool) -> Option<Objection> {
    let problem = if elements.is_empty() {
        "an array of messages has to have one".to_owned()
    } else if !has_batches {
        "arrays of messages exist in sessions of the revisions 2024-11-05 and 2025-03-26 alone; send each message by itself"
            .to_owned()
    } else if elements.len() > MOST {
        format!("an array may have {MOST} messages at most; this one has {}", elements.len())
    } else {
        return None;
    };
    Some(Objection::new(Value::Null, ErrorCode::INVALID_REQUEST, problem))
}

impl Batch {
    /// Takes an array apart: its messages, and the answers to what is not one.
    pub(crate) fn open(elements: &[Value]) -> (Vec<Element>, Self) {
        let (mut messages, mut batch) = (Vec::new(), Self::default());
        for element in elements {
            match batch.take(element) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => {}
                Err(objection) => batch.answers.push(objection.to_json()),
            }
        }
        (messages, batch)
    }

    fn take(&mut self, element: &Value) -> Result<Option<Element>, Objection> {
        let text = element.to_string().into_bytes();
        let Found::Message(message) = message::read_one(&text, None)? else { return Ok(None) };
        if let JsonRpcMessage::Request(request) = &*message {
            let id = || serde_json::to_value(&request.id).unwrap_or_default();
            let refuse = |problem: &'static str| Objection::new(id(), ErrorCode::INVALID_REQUEST, problem);
            if request.request.method() == "initialize" {
                return Err(refuse("initialize cannot be part of an array"));
            }
            if !self.waiting.insert(request.id.clone()) {
                return Err(refuse("another request of this array has the same id"));
            }
        }
        Ok(Some(Element { message: *message, text }))
    }

    /// Whether it waits for the answer to this request.
    pub(crate) fn waits_for(&self, id: &RequestId) -> bool {
        self.waiting.contains(id)
    }

    pub(crate) fn answer(&mut self, id: &RequestId, answer: Value) {
        if self.waiting.remove(id) {
            self.answers.push(answer);
        }
    }

    /// A request was withdrawn: there will be no answer to it.
    pub(crate) fn withdraw(&mut self, id: &RequestId) {
        self.waiting.remove(id);
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The array of answers, where there is anything to answer.
    pub(crate) fn into_answer(self) -> Option<Value> {
        (!self.answers.is_empty()).then_some(Value::Array(self.answers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_array_is_answered_once_all_of_it_is() {
        let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let hello = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {}});
        let (elements, mut batch) = Batch::open(&[ping(1), told, json!(5), ping(2), ping(2), hello, ping(3)]);
        assert_eq!(elements.len(), 4);
        assert!(!batch.is_complete() && batch.waits_for(&RequestId::Number(2)));
        batch.answer(&RequestId::Number(2), json!("two"));
        batch.answer(&RequestId::Number(7), json!("not asked"));
        batch.withdraw(&RequestId::Number(3));
        assert!(!batch.is_complete());
        batch.answer(&RequestId::Number(1), json!("one"));
        assert!(batch.is_complete());
        let answer = batch.into_answer().unwrap();
        let errors: Vec<&Value> = answer.as_array().unwrap().iter().filter(|one| one.is_object()).collect();
        assert_eq!(errors.iter().map(|one| &one["id"]).collect::<Vec<_>>(), [&Value::Null, &json!(2), &json!(9)]);
        assert!(errors.iter().all(|one| one["error"]["code"] == -32600), "{answer}");
        assert_eq!(answer.as_array().unwrap()[3..], [json!("two"), json!("one")]);
    }

    #[test]
    fn an_array_of_notifications_has_no_answer() {
        let (elements, batch) = Batch::open(&[json!({"jsonrpc": "2.0", "method": "notifications/initialized"})]);
        assert!(elements.len() == 1 && batch.is_complete() && batch.into_answer().is_none());
    }
}
