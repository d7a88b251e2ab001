//! All runs under a state directory, with what they do at the moment.
//!
//! 1. [`Overview::refresh`] looks which runs there are. Those that have ended are read once; only those that run are looked
//!    at each time.
//! 2. What a run's processes take is read from `/proc`, once for all runs ([`load`]).
//! 3. Each running one has a connection to its keeper, which reports that it waits for somebody to type ([`waits`]).
//!
//! Every change of a run gives it the next revision, so that whoever shows the overview can ask for what is new.

mod load;
mod run;
mod waits;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chiton_engine::tasks::PortLook;
use chiton_engine::{Task, Tasks};

use crate::approvals::{Approvals, Waiting};
use load::{FamilyLoad, ProcessTable};
pub use run::{FileChanges, SeenRun, SeenWait};
use waits::Waits;

/// How often the ports of a run are looked up: that goes through every descriptor of its processes.
const PORTS_EVERY: Duration = Duration::from_secs(2);
/// Bytes from the end of a run's output in which its last line is looked for.
const TAIL: u64 = 8 << 10;
/// A rate that was measured over less than this says little.
const SHORTEST_SPAN: Duration = Duration::from_millis(200);

/// Everything that a person wants to see at a glance.
///
/// Must be used within a tokio runtime: it holds connections to keepers.
pub struct Overview {
    tasks: Tasks,
    approvals: Approvals,
    known: HashMap<String, Known>,
    waiting: Vec<Waiting>,
    waits: Waits,
    /// What needs a person first, then what runs, then what has ended.
    order: Vec<String>,
    revision: u64,
    /// Those that are gone, with the revision at which they went.
    gone: Vec<(u64, String)>,
    directory: PathBuf,
}

/// A run, and what the next look at it is compared with.
struct Known {
    run: SeenRun,
    /// The record it was made from, while it runs.
    running: Option<Running>,
}

struct Running {
    task: Task,
    measured: Option<Measured>,
    ports_at: Option<Instant>,
}

struct Measured {
    at: Instant,
    printed: u64,
    load: Option<FamilyLoad>,
}

/// How many runs that are gone are remembered. Whoever has not asked for so long reads everything anew.
const MOST_GONE: usize = 1000;

impl Overview {
    /// The runs under `state_directory`, also where there is none yet. Shows nothing before the first refresh.
    pub fn new(state_directory: &Path) -> Self {
        let tasks = Tasks::new(state_directory);
        Self {
            waits: Waits::new(tasks.clone()),
            tasks,
            approvals: Approvals::new(state_directory),
            known: HashMap::new(),
            waiting: Vec::new(),
            order: Vec::new(),
            revision: 0,
            gone: Vec::new(),
            directory: state_directory.to_owned(),
        }
    }

    /// Looks at everything that may have changed. Cancel-safe: the next one goes on where this one was.
    pub async fn refresh(&mut self) {
        self.waiting = self.approvals.waiting();
        let ids = self.tasks.ids();
        self.forget_all_but(&ids);
        for id in ids {
            let is_new = self.known.get(&id).is_none_or(|known| known.running.is_some());
            if is_new && let Ok(task) = self.tasks.get(&id) {
                self.note(task);
            }
        }
        self.measure();
        self.note_waits().await;
        self.put_in_order();
    }

    /// All runs: those that need a person, then those that run, then those that have ended, the newest of each first.
    pub fn runs(&self) -> impl Iterator<Item = &SeenRun> {
        self.order.iter().filter_map(|id| self.known.get(id)).map(|known| &known.run)
    }

    /// The run with exactly this id.
    pub fn run(&self, id: &str) -> Option<&SeenRun> {
        self.known.get(id).map(|known| &known.run)
    }

    /// The questions that wait for an answer, the oldest first.
    pub fn approvals(&self) -> &[Waiting] {
        &self.waiting
    }

    /// The desk where those questions lie, for answers.
    pub fn desk(&self) -> &Approvals {
        &self.approvals
    }

    /// The state directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The number of the last change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The runs that went away after a revision; `None` where nobody knows any more.
    pub fn gone_since(&self, revision: u64) -> Option<Vec<&str>> {
        let is_complete = self.gone.len() < MOST_GONE || self.gone.first().is_some_and(|(first, _)| *first <= revision);
        is_complete.then(|| {
            let later = self.gone.iter().filter(|(gone, _)| *gone > revision);
            later.map(|(_, id)| id.as_str()).collect()
        })
    }

    fn forget_all_but(&mut self, ids: &[String]) {
        if self.known.len() <= ids.len() && ids.iter().all(|id| self.known.contains_key(id)) {
            return;
        }
        let there: std::collections::HashSet<&String> = ids.iter().collect();
        let gone: Vec<String> = self.known.keys().filter(|id| !there.contains(id)).cloned().collect();
        for id in gone {
            self.known.remove(&id);
            self.revision += 1;
            self.gone.push((self.revision, id));
        }
        let surplus = self.gone.len().saturating_sub(MOST_GONE);
        self.gone.drain(..surplus);
    }

    /// Takes a run in as it is now.
    fn note(&mut self, task: Task) {
        let before = self.known.remove(&task.id);
        let has_ended = !task.status.is_running();
        let mut run = SeenRun::of(&task);
        run.printed = task.printed().unwrap_or(0);
        let (mut measured, mut ports_at) = (None, None);
        if let Some(before) = &before {
            run.continue_from(&before.run, has_ended);
        }
        if let Some(running) = before.as_ref().and_then(|before| before.running.as_ref()) {
            ports_at = running.ports_at;
        }
        let printed_more = before.as_ref().is_none_or(|before| before.run.printed != run.printed);
        if printed_more {
            run.last_line = crate::shown::last_line(&task.last_bytes(TAIL).unwrap_or_default());
        }
        let is_changed = before.as_ref().is_none_or(|before| before.run != run);
        if is_changed {
            self.revision += 1;
            run.revision = self.revision;
        }
        if let Some(Known { running: Some(running), .. }) = before {
            measured = running.measured;
        }
        let running = (!has_ended).then_some(Running { task, measured, ports_at });
        self.known.insert(run.id.clone(), Known { run, running });
    }

    /// What the processes of each running one take, and how fast it prints.
    fn measure(&mut self) {
        if !self.known.values().any(|known| known.running.is_some()) {
            return;
        }
        let (table, now, mut ports) = (ProcessTable::now(), Instant::now(), PortLook::default());
        for known in self.known.values_mut() {
            let Some(running) = &mut known.running else { continue };
            let before = known.run.clone();
            let load = running.task.keeper().and_then(|keeper| table.family(keeper));
            known.run.memory = load.map(|load| load.memory);
            known.run.processes = load.map_or(0, |load| load.processes);
            let is_due = running.measured.as_ref().is_none_or(|last| now - last.at >= SHORTEST_SPAN);
            if is_due {
                if let Some(last) = &running.measured {
                    let seconds = (now - last.at).as_secs_f64();
                    known.run.rate = per_second(known.run.printed.saturating_sub(last.printed), seconds);
                    let shares = load.zip(last.load);
                    known.run.cpu = shares.map(|(load, last)| load.share_since(last, seconds));
                }
                running.measured = Some(Measured { at: now, printed: known.run.printed, load });
            }
            if running.ports_at.is_none_or(|at| now - at >= PORTS_EVERY) {
                let listening = ports.of(&running.task);
                known.run.listening = listening.sockets.iter().map(|socket| socket.name.to_string()).collect();
                known.run.ports_unknown = listening.unknown.in_words();
                running.ports_at = Some(now);
            }
            if known.run != before {
                self.revision += 1;
                known.run.revision = self.revision;
            }
        }
    }

    /// Which of those that run wait for somebody to type.
    async fn note_waits(&mut self) {
        let running = self.known.values().filter(|known| known.running.is_some() && known.run.terminal);
        let ids: Vec<(String, u64)> = running.map(|known| (known.run.id.clone(), known.run.printed)).collect();
        let waits = self.waits.now(&ids).await;
        for known in self.known.values_mut() {
            let wait = waits.get(&known.run.id).filter(|_| known.running.is_some()).cloned();
            if known.run.wait != wait {
                known.run.wait = wait;
                self.revision += 1;
                known.run.revision = self.revision;
            }
        }
    }

    fn put_in_order(&mut self) {
        let mut order: Vec<&SeenRun> = self.known.values().map(|known| &known.run).collect();
        order.sort_by(|one, other| one.rank().cmp(&other.rank()).then_with(|| one.id.cmp(&other.id)));
        self.order = order.into_iter().map(|run| run.id.clone()).collect();
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown with two digits")]
fn per_second(count: u64, seconds: f64) -> u64 {
    let rate = count as f64 / seconds;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "neither negative nor that large")]
    let rate = rate.round() as u64;
    rate
}
