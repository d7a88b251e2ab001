//! Whose a task is, as one client sees it.
//!
//! 1. One client of several, as over HTTP, knows its own tasks and no others.
//! 2. The client of a server knows its own by themselves, those of people by their id, and those of other clients of the
//!    same user only where a call says that it means them.
//! 3. Where nobody is served, as on the command line, all tasks are a person's own.

use chiton_dialects::action::{Failure, FailureKind};
use chiton_engine::{Engine, Owner, Session, Task};

/// Whose a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskOf {
    /// The client's.
    Itself,
    /// A person's.
    Person,
    /// Another client's.
    Another,
    /// That of a client of which this one is not to know.
    Stranger,
}

impl TaskOf {
    pub(crate) fn see(task: &Task, session: &Session, engine: &Engine) -> Self {
        Self::with(task.client.as_deref(), task.owner.as_ref(), session, engine)
    }

    /// The same of a task that is bound to this client, or has this owner.
    pub(crate) fn with(client: Option<&str>, owner: Option<&Owner>, session: &Session, engine: &Engine) -> Self {
        if let Some(own) = session.client() {
            return if client == Some(own) { Self::Itself } else { Self::Stranger };
        }
        let Some(own) = engine.owner() else { return Self::Itself };
        match owner {
            None if client.is_none() => Self::Person,
            Some(owner) if client.is_none() && own.continues(owner) => Self::Itself,
            _ => Self::Another,
        }
    }
}

/// How a call that means it reaches the task of another client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayToOthers {
    /// With a parameter of the tool.
    Parameter,
    /// None does; a person can, on the command line.
    CommandLine,
}

/// Why a task is not found although there is one.
pub(crate) fn of_another(task: &Task, way: WayToOthers) -> Failure {
    let (id, directory) = (&task.id, task.directory.display());
    let owner = task.owner_name().unwrap_or("a person");
    let reach = match way {
        WayToOthers::Parameter => "`others: true` reaches it".to_owned(),
        WayToOthers::CommandLine => {
            format!("a person can read it with `chiton logs {id}` and stop it with `chiton kill {id}`")
        }
    };
    let message = format!("task {id} not found here: it belongs to {owner}, in {directory}; {reach}");
    Failure::new(FailureKind::OfAnother, message)
}
