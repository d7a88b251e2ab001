//! A window on the terminal of a task, for a person who looks on or takes over.

use crate::bytes::ByteString;
use crate::protocol::{Control, Denial, Link, Report};
use crate::run::{Look, Outcome, Typing, Typist};
use chiton_terminal::TerminalSize;

/// A window on a terminal.
pub struct Window {
    link: Link,
    typist: Option<Typist>,
}

/// What happens in a window.
#[derive(Debug)]
pub enum WindowEvent {
    /// The whole screen: at first, and again whenever output came faster than it was received.
    Screen(Box<Look>),
    /// Output since then.
    Output(ByteString),
    /// The command has ended.
    Ended(Outcome),
    /// It has no terminal.
    NoTerminal,
}

impl Window {
    pub(super) fn new(link: Link, typist: Option<Typist>) -> Self {
        Self { link, typist }
    }

    /// The next event; `None` when the keeper is gone. Cancel-safe.
    pub async fn next(&mut self) -> Option<WindowEvent> {
        loop {
            return Some(match self.link.receive().await? {
                Report::Look(look) => WindowEvent::Screen(look),
                Report::Output { bytes, .. } => WindowEvent::Output(bytes),
                Report::Ended { ending, .. } => WindowEvent::Ended(ending.outcome),
                Report::Answer(Err(Denial::NoTerminal)) => WindowEvent::NoTerminal,
                _ => continue,
            });
        }
    }

    /// Types bytes as they are. In a window that only looks on, nothing happens.
    pub async fn enter(&mut self, bytes: &[u8]) {
        if let Some(typist) = self.typist {
            let what = Typing::Raw(bytes.into());
            // Nobody types more than a message holds, and a keeper that is gone is noticed by `next`.
            let _ = self.link.send(&Control::Type { what, typist, masks: Vec::new() }).await;
        }
    }

    /// Gives the terminal another size. A window that only looks on leaves it as it is.
    pub async fn resize(&mut self, size: TerminalSize) {
        if self.typist.is_some() {
            let _ = self.link.send(&Control::Resize(size)).await;
        }
    }
}
