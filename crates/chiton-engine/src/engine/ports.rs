//! The ports that commands name: `{{port:NAME}}` becomes the number that this name has in the session.

use std::collections::BTreeSet;

use super::Engine;
use crate::bytes::ByteString;
use crate::error::PortError;
use crate::ports::{self, BadName, PortBook, PortNumbers};
use crate::request::CommandRequest;
use crate::run::Typing;
use crate::secrets::UnknownReference;
use crate::session::Session;
use crate::tasks::Tasks;

impl Engine {
    /// Puts numbers in the places of the ports that a request names. Whoever asked is told of new ones.
    pub(super) async fn assign_ports(
        &self,
        session: &Session,
        mut request: CommandRequest,
    ) -> Result<CommandRequest, PortError> {
        let names = ports::names_in(&request, self.bad_port_names())?;
        if !names.is_empty() {
            let numbers = self.ports_of(session, names).await?;
            ports::insert(&mut request, &numbers);
            request.ports = numbers;
        }
        Ok(request)
    }

    /// A text that is on its way to a task, with numbers in the places of the ports that it names.
    pub(super) async fn with_ports(&self, session: &Session, mut text: ByteString) -> Result<ByteString, PortError> {
        let names = ports::names_in_text(&text, self.bad_port_names())?;
        if !names.is_empty() {
            let numbers = self.ports_of(session, names).await?;
            ports::insert_into(&mut text, &numbers);
        }
        Ok(text)
    }

    /// The same for what is typed.
    pub(super) async fn typing_with_ports(&self, session: &Session, what: Typing) -> Result<Typing, PortError> {
        Ok(match what {
            Typing::Text(text) => Typing::Text(self.with_ports(session, text.into()).await?.to_text()),
            Typing::Paste(text) => Typing::Paste(self.with_ports(session, text.into()).await?.to_text()),
            Typing::Keys(_) | Typing::Raw(_) => what,
        })
    }

    /// A tool surface that lets unknown references pass as text lets these pass, too.
    fn bad_port_names(&self) -> BadName {
        match self.inner.config.unknown_references {
            UnknownReference::Refuse => BadName::Refused,
            UnknownReference::Keep => BadName::Kept,
        }
    }

    /// The numbers of these names in a session, off this thread: another engine may have the book open.
    async fn ports_of(&self, session: &Session, names: BTreeSet<String>) -> Result<PortNumbers, PortError> {
        let book = PortBook::new(&self.inner.config.state_directory);
        let (tasks, session) = (self.inner.tasks.clone(), session.clone());
        let work = move || numbers(&book, &tasks, &session, &names);
        let stopped = |_| PortError::Stopped;
        tokio::task::spawn_blocking(work).await.map_err(stopped)?
    }
}

fn numbers(
    book: &PortBook,
    tasks: &Tasks,
    session: &Session,
    names: &BTreeSet<String>,
) -> Result<PortNumbers, PortError> {
    let known = |name: &String| Some((name.clone(), session.port(name)?));
    let numbers: PortNumbers = names.iter().filter_map(known).collect();
    if numbers.len() == names.len() {
        return Ok(numbers);
    }

    // What is missing is given while the book is open, also to another command of this session at the same time.
    let open = book.open()?;
    let taken = in_use(tasks);
    let mut numbers = PortNumbers::new();
    for name in names {
        if let Some(number) = session.port(name) {
            numbers.insert(name.clone(), number);
            continue;
        }
        let given = open.give(session.name(), name, &taken)?;
        numbers.insert(name.clone(), given.held.number);
        if given.is_new {
            session.say_later(format!("port {name} = {}", given.held.number));
        }
        session.hold_port(name, given.held);
    }
    Ok(numbers)
}

/// The ports of all that runs, which may outlive the session that it was started in.
fn in_use(tasks: &Tasks) -> BTreeSet<u16> {
    let mut taken = BTreeSet::new();
    for task in tasks.running().unwrap_or_default() {
        taken.extend(task.ports.values());
        // What a command left running still has the ports of that command.
        let left_by = task.leftover_of.as_deref().and_then(|run| tasks.get(run).ok());
        taken.extend(left_by.iter().flat_map(|run| run.ports.values()));
    }
    taken
}
