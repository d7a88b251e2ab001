//! Other machines that calls can name, and what makes a call go to one of them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use chiton_dialects::arguments::short;
use chiton_dialects::{CallError, ON, Reply, ToolSpec};
use serde_json::{Map, Value};

use super::Operator;
use crate::caller::{Called, Caller};

/// A call that is being carried out on another machine.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Reply, Box<Called>>> + Send + 'a>>;

/// Other machines, by name.
pub trait Machines: fmt::Debug + Send + Sync {
    /// What they are called.
    fn names(&self) -> Vec<String>;

    /// On which of them the run of this id is.
    fn home_of(&self, run: &str) -> Option<String>;

    /// Has a machine carry out a call that was meant for it. `operator` judges it first.
    fn call<'a>(
        &'a self,
        operator: &'a Operator,
        target: &'a str,
        tool: &'a str,
        arguments: Map<String, Value>,
        caller: &'a Caller,
    ) -> Calling<'a>;
}

/// Where a call is meant to be carried out.
pub(super) enum Meant {
    Here,
    On(Arc<dyn Machines>, String),
    Nowhere(CallError),
}

impl Operator {
    /// Where a call is meant to be carried out: where it says, or where the command is that it names.
    pub(super) fn meant(&self, spec: &ToolSpec, arguments: &Map<String, Value>) -> Meant {
        let Some(machines) = &self.machines else {
            let names_one = self.dialect().names_machines() && arguments.contains_key(ON);
            return if names_one { Meant::Nowhere(no_machine()) } else { Meant::Here };
        };
        let target = match arguments.get(ON) {
            Some(Value::String(name)) if spec.has(ON) => Some(name.clone()),
            Some(_) => None,
            None => arguments.get("bash_id").and_then(Value::as_str).and_then(|id| machines.home_of(id)),
        };
        match target {
            Some(name) if machines.names().contains(&name) => Meant::On(Arc::clone(machines), name),
            Some(name) => {
                let known = machines.names().join(", ");
                let problem = format!("is one of {known}, not '{}': a person names them in the settings", short(&name));
                Meant::Nowhere(CallError::BadValue { name: ON, problem })
            }
            None => Meant::Here,
        }
    }

    pub(super) async fn call_on(
        &self,
        machines: &dyn Machines,
        target: &str,
        spec: &ToolSpec,
        arguments: &Map<String, Value>,
        caller: &Caller,
    ) -> Called {
        let mut arguments = arguments.clone();
        arguments.remove(ON);
        match machines.call(self, target, spec.name, arguments, caller).await {
            Ok(reply) => Called { reply, question: None, run: None, tells: Vec::new() },
            Err(called) => *called,
        }
    }
}

fn no_machine() -> CallError {
    let problem =
        "names another machine, and there is none here: a person names them in the settings, as [target.NAME]";
    CallError::BadValue { name: ON, problem: problem.to_owned() }
}
