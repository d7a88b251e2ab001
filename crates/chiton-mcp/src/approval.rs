//! A person's consent, asked for through the client.
//!
//! Older revisions let the server ask while a call runs. In the newest the call is answered with the question, and made
//! again with the answer; the consent is bound to what was asked, so a call that differs in anything is refused.

use std::sync::Arc;

use chiton_engine::consent::{Answer, Approver, Asking, Question};
use chiton_operator::Consent;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, InputRequest, InputRequests, InputRequiredResult, ServerRequest,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::revision::Revision;

/// The name of the question among the requests of a call.
const KEY: &str = "consent";

/// How a client can be asked.
pub(crate) enum Way {
    /// It cannot.
    No,
    /// While the call runs.
    Now(Arc<dyn Approver>),
    /// By answering the call with the question.
    Later,
}

pub(crate) fn way(context: &RequestContext<RoleServer>) -> Way {
    let can = context.client_capabilities().is_some_and(|capabilities| shows_forms(&capabilities));
    match (can, Revision::of(context).is_modern()) {
        (false, _) => Way::No,
        (true, true) => Way::Later,
        (true, false) => Way::Now(Arc::new(ClientApprover(context.peer.clone()))),
    }
}

/// Whether a client shows forms to a person. One that says nothing more of its elicitation does.
fn shows_forms(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.as_ref().is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

/// The consent that a call brings along.
pub(crate) fn brought(request: &CallToolRequestParams) -> Option<Consent> {
    let answer = serde_json::from_value(response(request)?.clone()).ok()?;
    Some(Consent { id: request.request_state.clone()?, answer: read(&answer) })
}

/// Whether what a call brings along can be read, if it brings anything.
pub(crate) fn is_readable(request: &CallToolRequestParams) -> bool {
    response(request).is_none_or(|answer| serde_json::from_value::<ElicitResult>(answer.clone()).is_ok())
}

fn response(request: &CallToolRequestParams) -> Option<&Value> {
    request.input_responses.as_ref()?.get(KEY)
}

/// The answer to a call that cannot be carried out without a consent.
pub(crate) fn ask_later(question: &Question) -> Option<InputRequiredResult> {
    let mut requests = InputRequests::new();
    requests.insert(KEY.to_owned(), InputRequest::Elicitation(ElicitRequest::new(form(question)?)));
    Some(InputRequiredResult::new(Some(requests), Some(question.id.clone())))
}

#[derive(Debug)]
struct ClientApprover(Peer<RoleServer>);

impl Approver for ClientApprover {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(async move {
            let form = form(question).ok_or("the question cannot be put into a form")?;
            let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
            match self.0.send_request(request).await {
                Ok(ClientResult::ElicitResult(result)) => Ok(read(&result)),
                Ok(_) => Err("the client gave no answer to it".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}

pub(crate) fn read(result: &ElicitResult) -> Answer {
    let chosen = result.content.as_ref().and_then(|content| content.get("answer")).and_then(Value::as_str);
    match (&result.action, chosen) {
        (ElicitationAction::Decline, _) => Answer::No,
        (ElicitationAction::Accept, Some(word)) => Answer::from_word(word).unwrap_or(Answer::Undecided),
        // Closed, or sent without a choice. Clients without a person close it by themselves.
        _ => Answer::Undecided,
    }
}

pub(crate) fn form(question: &Question) -> Option<ElicitRequestParams> {
    let answer = json!({
        "type": "string",
        "title": question.kind.short(),
        "description": question.kind.answers(),
        "enum": ["once", "session", "no"],
    });
    let schema = json!({"type": "object", "properties": {"answer": answer}, "required": ["answer"]});
    let message = format!("{}\n\n{}", question.kind.heading(), question.text());
    serde_json::from_value(json!({"mode": "form", "message": message, "requestedSchema": schema})).ok()
}
