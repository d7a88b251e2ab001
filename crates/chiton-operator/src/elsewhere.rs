//! The near side of a call that another machine carries out: what has to be decided here before it is sent.
//!
//! 1. The dialect reads the call, as it would be read here.
//! 2. A command in it is judged, people are asked, its secrets are looked up, and its run gets an id.
//! 3. What came of that goes along with the call ([`FromNear`]). A call that may not be sent is answered here, in the words of
//!    the dialect.
//!
//! Sending is left to whoever calls. What a call does there besides running a command, such as reading a task or typing into
//! it, is for the guard there to judge.

use chiton_dialects::action::{Failure, FailureKind, Message, Ran};
use chiton_dialects::reading::{Unknown, sort_out};
use chiton_dialects::{Action, Done, RunAction};
use chiton_engine::review::Refusal;
use chiton_engine::secrets::GivenSecret;
use chiton_engine::{CommandRequest, Elsewhere, EndElsewhere, FarFacts, FromNear, RunId, Typing};
use serde_json::{Map, Value};

use crate::caller::{Called, Caller};
use crate::failure::system;
use crate::operator::Operator;

/// The name under which a call brings along what was decided where it comes from.
pub const NEAR: &str = "chiton/near";

impl Operator {
    /// What this machine tells of itself, so that calls for it can be judged elsewhere.
    pub fn far_facts(&self) -> FarFacts {
        self.engine().far_facts(self.own_session())
    }

    /// What goes along with a call that another machine carries out. A call that cannot be read goes there as it is: that
    /// machine speaks the same dialect, and says what is wrong.
    ///
    /// # Errors
    /// What the call is answered with instead, where it may not be sent.
    pub async fn send_elsewhere(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        caller: &Caller,
        there: &Elsewhere,
    ) -> Result<FromNear, Box<Called>> {
        let action = self.read_call(tool, arguments);
        let decided = match &action {
            Some(Action::Run(run)) => self.approved(run, caller, there).await,
            Some(Action::Start(run) | Action::Watch(run, _)) => {
                self.approved(run, caller, &Elsewhere { background: true, ..there.clone() }).await
            }
            Some(Action::Send { messages, .. }) => self.typed(messages.iter()).await,
            Some(Action::Exchange(exchange)) => self.typed(exchange.message.iter()).await,
            _ => Ok(FromNear::default()),
        };
        match (decided, action) {
            (Err(done), Some(action)) => Err(self.unsent(tool, action, &done)),
            (decided, _) => {
                let caller = self.engine().owner().map(|owner| owner.client.clone());
                Ok(FromNear { caller, ..decided.unwrap_or_default() })
            }
        }
    }

    /// What a call asks for, where it can be read.
    fn read_call(&self, tool: &str, arguments: &Map<String, Value>) -> Option<Action> {
        let unknown = if self.dialect().ignores_unknown() { Unknown::Ignored } else { Unknown::Refused };
        let spec = self.tools().iter().find(|spec| spec.name == tool)?;
        let (known, _) = sort_out(spec, arguments, unknown).ok()?;
        self.dialect_of(tool).read(tool, &known, self.surroundings()).ok()
    }

    /// Whether a call may be sent again to another machine, where nobody knows whether it arrived: a command has the id of its
    /// run, and looking does no harm; what is typed would be typed twice.
    pub fn is_repeatable(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let action = self.read_call(tool, arguments);
        !matches!(action, Some(Action::Send { .. } | Action::Exchange(_) | Action::Undo { .. }))
    }

    /// What goes along with a command, or what came of it here.
    async fn approved(&self, run: &RunAction, caller: &Caller, there: &Elsewhere) -> Result<FromNear, Done> {
        let request = request_elsewhere(run, caller).map_err(Done::Failed)?;
        let approval = self.engine().approve_elsewhere(self.own_session(), &request, there).await;
        let approval = approval.map_err(|response| Done::Ran(Box::new(Ran::unrun(response))))?;
        Ok(approval.into_near(request.run_id, None))
    }

    /// What goes along with what is typed into a task: the secrets in it.
    async fn typed(&self, messages: impl Iterator<Item = &Message>) -> Result<FromNear, Done> {
        let mut secrets: Vec<GivenSecret> = Vec::new();
        for message in messages {
            let text = match message {
                Message::Text(text) | Message::Typed(Typing::Text(text) | Typing::Paste(text)) => text.as_bytes(),
                _ => continue,
            };
            let found = self.engine().secrets_for_text(self.own_session(), text).await;
            for secret in found.map_err(|refusal| Done::Failed(refused(refusal)))? {
                if !secrets.contains(&secret) {
                    secrets.push(secret);
                }
            }
        }
        Ok(FromNear { secrets, ..FromNear::default() })
    }

    /// Writes down how a command ended that was sent to another machine.
    pub fn ended_elsewhere(&self, target: &str, run: &RunId, end: &EndElsewhere) {
        self.engine().note_end_elsewhere(self.own_session(), target, run, end);
    }

    /// The same, as far as the structured form of its answer says so.
    pub fn answered_elsewhere(&self, target: &str, run: &RunId, facts: &Value) {
        let exit_code = facts["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
        let word = ["outcome", "status"].iter().find_map(|name| facts[name].as_str()).map(str::to_owned);
        let outcome = word.or_else(|| exit_code.map(|_| "exited".to_owned()));
        self.ended_elsewhere(target, run, &EndElsewhere { outcome, exit_code, ..EndElsewhere::default() });
    }

    /// The answer to a call that is not sent.
    fn unsent(&self, tool: &str, action: Action, done: &Done) -> Box<Called> {
        let dialect = self.dialect_of(tool);
        // A task that was not started is answered like a command that was not run.
        let action = match (action, done) {
            (Action::Start(run) | Action::Watch(run, _), Done::Ran(_)) => Action::Run(run),
            (action, _) => action,
        };
        let question = if let Done::Ran(ran) = done { ran.response.question().cloned().map(Box::new) } else { None };
        let reply = match done {
            Done::Ran(ran) if ran.response.refusal().is_some() => dialect.refuse(ran),
            _ => dialect.write(&action, done),
        };
        Box::new(Called { reply: reply.never_empty(), question, run: None, tells: Vec::new() })
    }
}

fn refused(refusal: Refusal) -> Failure {
    Failure { kind: FailureKind::Refused, message: refusal.reason.clone(), refusal: Some(Box::new(refusal)) }
}

/// The request that is judged here: what the dialect made of the call, who makes it, and an id for its run.
fn request_elsewhere(run: &RunAction, caller: &Caller) -> Result<CommandRequest, Failure> {
    Ok(CommandRequest {
        run_id: Some(RunId::random().map_err(system)?),
        approver: caller.approver.clone(),
        asks_later: caller.asks_later,
        consent: caller.consent.as_ref().map(|consent| (consent.id.clone(), consent.answer)),
        ..run.request.clone()
    })
}
