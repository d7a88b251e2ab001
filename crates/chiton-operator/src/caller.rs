//! Who makes a call, and what they get.

use std::sync::Arc;

use chiton_dialects::Reply;
use chiton_dialects::action::{Failure, FailureKind};
use chiton_engine::consent::{Answer, Approver, Question};
use chiton_engine::{FromNear, RunControl, RunEvent};

use crate::news::Tells;

/// Who makes a call, and how they can be reached while it lasts.
pub struct Caller {
    /// Receives what happens while a command runs. Of much output it receives the beginning, and where the rest is.
    pub on_event: OnEvent,
    /// Ends what it waits for.
    pub control: RunControl,
    /// Asks a person.
    pub approver: Option<Arc<dyn Approver>>,
    /// Whether it takes a question away, and comes again with the answer.
    pub asks_later: bool,
    /// What a person answered before.
    pub consent: Option<Consent>,
    /// What the machine that it calls from has decided about the call, where it calls from another one.
    pub near: Option<Box<FromNear>>,
}

impl Caller {
    /// A caller that receives nothing meanwhile and can ask nobody.
    pub fn silent() -> Self {
        Self {
            on_event: Arc::new(|_| {}),
            control: RunControl::new(),
            approver: None,
            asks_later: false,
            consent: None,
            near: None,
        }
    }
}

/// The answer of a person to a question that was asked before.
#[derive(Clone, Debug)]
pub struct Consent {
    /// The question.
    pub id: String,
    /// The answer.
    pub answer: Answer,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct Called {
    /// The answer.
    pub reply: Reply,
    /// What a person would have to agree to first, where the command was refused for want of consent.
    pub question: Option<Box<Question>>,
    /// The run that the reply is about, where it is about one.
    pub run: Option<String>,
    /// What the answer says of tasks.
    pub(crate) tells: Vec<Tells>,
}

impl Called {
    /// A call that nothing came of, for this reason.
    pub fn failed(why: &str) -> Self {
        let failure = Failure::new(FailureKind::NotPossible, why);
        Self { reply: Reply::failed(&failure), question: None, run: None, tells: Vec::new() }
    }
}

/// Receives what happens while a command runs.
pub type OnEvent = Arc<dyn Fn(&RunEvent<'_>) + Send + Sync>;
