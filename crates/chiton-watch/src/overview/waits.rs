//! Which runs wait for somebody to type.
//!
//! 1. Each run with a terminal has a connection to its keeper, which reports a wait when it begins.
//! 2. Nobody reports that a wait is over. So a run that waits is looked at again whenever it is asked about, and only then.
//!    A program that asks for keys now and then may be seen in between, so one look that finds no wait is not enough, unless
//!    something was printed as well.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chiton_engine::tasks::TaskEvent;
use chiton_engine::{InputWait, Lock, Tasks};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::run::SeenWait;
use crate::shown::{cut, harmless};

/// How long a keeper may take to say what its terminal shows. Nobody waits for one that is stopped.
const LOOK: Duration = Duration::from_millis(300);
/// Characters of a prompt that are held.
const PROMPT: usize = 200;

/// The connections to the keepers.
pub(super) struct Waits {
    tasks: Tasks,
    attended: HashMap<String, Attended>,
}

/// Looks in a row that have to find no wait before it is over.
const MISSES: u8 = 2;

/// A connection, and the wait that was reported last.
struct Attended {
    listener: JoinHandle<()>,
    reported: Arc<Lock<Option<InputWait>>>,
    /// The bytes that had been printed when the wait was first asked about.
    printed: Option<u64>,
    /// Looks in a row that found no wait.
    misses: u8,
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Waits {
    pub(super) fn new(tasks: Tasks) -> Self {
        Self { tasks, attended: HashMap::new() }
    }

    /// Which of these runs wait, each given with the bytes it has printed.
    pub(super) async fn now(&mut self, running: &[(String, u64)]) -> HashMap<String, SeenWait> {
        let ids: HashSet<&String> = running.iter().map(|(id, _)| id).collect();
        self.attended.retain(|id, _| ids.contains(id));
        for (id, _) in running {
            if !self.attended.contains_key(id) {
                self.attended.insert(id.clone(), attend(self.tasks.clone(), id.clone()));
            }
        }

        let mut waits = HashMap::new();
        for (id, printed) in running {
            let Some(attended) = self.attended.get_mut(id) else { continue };
            let Some(reported) = attended.reported.lock().clone() else { continue };
            let first = *attended.printed.get_or_insert(*printed);
            let wait = match timeout(LOOK, self.tasks.look(id)).await {
                Ok(Ok(look)) => look.waits,
                Ok(Err(_)) => None,
                // A keeper that does not answer has not said that the wait is over.
                Err(_) => Some(reported.clone()),
            };
            attended.misses = if wait.is_some() { 0 } else { attended.misses + 1 };
            let is_over = wait.is_none() && (attended.misses >= MISSES || first != *printed);
            if is_over {
                // The next connection asks the keeper anew.
                self.attended.remove(id);
            } else {
                waits.insert(id.clone(), seen(&wait.unwrap_or(reported)));
            }
        }
        waits
    }
}

fn attend(tasks: Tasks, id: String) -> Attended {
    let reported = Arc::new(Lock::new(None));
    let shared = Arc::clone(&reported);
    let listener = tokio::spawn(async move {
        let Ok(mut attendance) = tasks.attend(&id).await else { return };
        loop {
            match attendance.next().await {
                TaskEvent::Waits(wait) => *shared.lock() = Some(wait),
                TaskEvent::Matched => {}
                TaskEvent::Ended => return,
            }
        }
    });
    Attended { listener, reported, printed: None, misses: 0 }
}

fn seen(wait: &InputWait) -> SeenWait {
    SeenWait { prompt: cut(harmless(&wait.prompt).trim(), PROMPT), echo: wait.echo }
}
