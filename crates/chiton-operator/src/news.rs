//! What changed for a client since its last call.
//!
//! 1. A task that a call leaves behind is followed from then on ([`News::follow`]): one in the background, one that was
//!    handed back alive, one that a command left running. The first reply of a server also looks for those that an earlier
//!    server of the same client followed ([`News::look_back`]).
//! 2. What a reply says of a task by itself is noted when the reply goes out ([`News::note`]).
//! 3. Everything else that changed is collected then, and counts as told ([`News::take`]).
//!
//! What was told is written down in the folder of each task, so nothing is told twice and nothing is lost when a server is
//! killed. A client that has no task costs no system call here; each task of one that has some costs a few.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chiton_dialects::action::{Message, TaskOutput, WatchChanged};
use chiton_dialects::{Action, Change, Dialect, Done, Reply, What};
use chiton_engine::tasks::{Part, Pulse, Told, ToldWait, Watch};
use chiton_engine::{InputWait, Lock, Look, Outcome, ServerProcess, Task, Tasks};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::tasks::ClientTasks;

/// How many changes one reply tells; what is more waits for the next.
const MOST_CHANGES: usize = 25;
/// How long a keeper may take to say what its terminal shows. A reply does not wait for one that is stopped.
const LOOK: Duration = Duration::from_millis(500);
/// How a line ends with which a program asks for something.
const ASKING: [char; 9] = [':', '?', '>', ']', ')', '$', '#', '%', '='];

/// The tasks of a client of which there may be something to tell.
#[derive(Default)]
pub(crate) struct News {
    followed: Lock<Vec<Followed>>,
    /// Whether anybody has looked for what an earlier server followed.
    has_looked_back: AtomicBool,
    /// There is one more to follow.
    pub(crate) more: Notify,
}

#[derive(Clone)]
struct Followed {
    id: String,
    told: Told,
    memory: Memory,
    has_terminal: bool,
    /// Whether a reply has said by itself how it ended. Lines that a watch has matched may still be untold.
    end_is_told: bool,
}

/// Where it is kept what a client was told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// In the folder of the task: a later server of the client goes on.
    Lasting,
    /// Here: nobody comes after this process, or nothing could be written.
    Passing,
}

/// What a reply says of a task by itself.
#[derive(Clone, Debug)]
pub(crate) struct Tells {
    id: String,
    what: Tell,
}

#[derive(Clone, Debug)]
enum Tell {
    End,
    /// It was given input, so a wait is over.
    Input,
    Wait(ToldWait),
    /// Lines up to these numbers of matches.
    Matches(BTreeMap<u32, u64>),
}

impl News {
    /// From now on the client is told what becomes of this task.
    pub(crate) fn follow(&self, tasks: &ClientTasks, id: &str, has_terminal: bool) {
        let memory = if tasks.is_continued_later() { Memory::Lasting } else { Memory::Passing };
        self.follow_with(memory, tasks, id, has_terminal);
    }

    /// The same for a task that may be somebody else's, on which the client has put a watch.
    fn follow_watched(&self, tasks: &ClientTasks, task: &Task) {
        // The record in the folder of another's task says what that one was told.
        let is_own = tasks.is_continued_later() && tasks.is_own(task);
        let memory = if is_own { Memory::Lasting } else { Memory::Passing };
        self.follow_with(memory, tasks, &task.id, task.terminal.is_some());
    }

    fn follow_with(&self, wanted: Memory, tasks: &ClientTasks, id: &str, has_terminal: bool) {
        let mut followed = self.followed.lock();
        if followed.iter().any(|one| one.id == id) {
            return;
        }
        let told = Told::nothing();
        let is_written = wanted == Memory::Lasting && tasks.all().note_told(id, &told).is_ok();
        let memory = if is_written { Memory::Lasting } else { Memory::Passing };
        followed.push(Followed { id: id.to_owned(), told, memory, has_terminal, end_is_told: false });
        self.more.notify_one();
    }

    /// Follows what an earlier server of the same client followed. Once.
    pub(crate) fn look_back(&self, tasks: &ClientTasks) {
        let has_looked_back = self.has_looked_back.load(Ordering::Relaxed);
        if has_looked_back || !tasks.is_continued_later() || self.has_looked_back.swap(true, Ordering::Relaxed) {
            return;
        }
        for (id, told) in tasks.all().followed() {
            // One that lives still tells. This very process follows what it knows already.
            if told.server.is_alive() {
                continue;
            }
            let Ok(task) = tasks.all().get(&id) else { continue };
            if tasks.is_continued(&task) {
                let told = Told { server: ServerProcess::this(), ..told };
                let _ = tasks.all().note_told(&id, &told);
                let has_terminal = task.terminal.is_some();
                let one = Followed { id, told, memory: Memory::Lasting, has_terminal, end_is_told: false };
                self.followed.lock().push(one);
                self.more.notify_one();
            }
        }
    }

    /// Whether there is no task of which there could be something to tell.
    fn is_idle(&self) -> bool {
        self.followed.lock().is_empty()
    }

    /// The ids of all that are followed.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.followed.lock().iter().map(|one| one.id.clone()).collect()
    }

    /// How often the watches of the task that is about to be read have matched: a read of all that is new shows those
    /// lines.
    pub(crate) fn before(&self, action: &Action, tasks: &ClientTasks) -> Option<Tells> {
        let task = match action {
            Action::Read(read) if read.part == Part::New && read.filter.is_none() => &read.task,
            Action::Exchange(exchange) => &exchange.task,
            _ => return None,
        };
        if self.is_idle() {
            return None;
        }
        let id = tasks.known(task).ok()?.id;
        let counts = counts(&tasks.all().watches(&id));
        Some(Tells { id, what: Tell::Matches(counts) })
    }

    /// Follows the tasks that an action has left behind, and gives what its reply says of tasks.
    pub(crate) fn learn(
        &self,
        action: &Action,
        done: &Done,
        reply: &Reply,
        dialect: &dyn Dialect,
        tasks: &ClientTasks,
    ) -> Vec<Tells> {
        match (action, done) {
            (Action::Run(run), Done::Ran(ran)) => {
                let Some(report) = ran.response.ran() else { return Vec::new() };
                if let Some(left) = &report.leftover_task {
                    self.follow(tasks, left, false);
                }
                if report.outcome != Outcome::Running {
                    return Vec::new();
                }
                self.follow(tasks, &report.run_id, run.request.terminal.is_some());
                let wait = report.waits.as_ref().map(|wait| told_wait(wait, 0));
                wait.map(|wait| Tells { id: report.run_id.clone(), what: Tell::Wait(wait) }).into_iter().collect()
            }
            (_, Done::Read(read)) => {
                let watch = self.learn_watch(read, tasks);
                let input = given(action).then(|| Tells { id: read.task.id.clone(), what: Tell::Input });
                let said = said_of(&read.task, read.look.as_deref(), done, dialect);
                input.into_iter().chain(watch).chain(said).collect()
            }
            (_, Done::Sent { id }) => vec![Tells { id: id.clone(), what: Tell::Input }],
            (_, Done::Exchanged(exchanged)) => {
                let input = given(action).then(|| Tells { id: exchanged.task.id.clone(), what: Tell::Input });
                input.into_iter().chain(said_of(&exchanged.task, None, done, dialect)).collect()
            }
            (_, Done::Started { task, .. } | Done::Killed { task, .. }) => said_of(task, None, done, dialect),
            (_, Done::Listed(listed)) => {
                let shown = |task: &&Task| reply.text.contains(&tasks.name(task, dialect));
                listed.own.iter().filter(shown).flat_map(|task| said_of(task, None, done, dialect)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Follows a task that a read has put a watch on; the reply says how often it has matched by now.
    fn learn_watch(&self, read: &TaskOutput, tasks: &ClientTasks) -> Option<Tells> {
        let Some(WatchChanged::Added(watch)) = &read.watch else { return None };
        if read.task.status.is_running() {
            self.follow_watched(tasks, &read.task);
        }
        Some(Tells { id: read.task.id.clone(), what: Tell::Matches(counts(std::slice::from_ref(watch))) })
    }

    /// A reply goes out that says this.
    pub(crate) fn note(&self, tells: &[Tells], tasks: &Tasks) {
        if tells.is_empty() {
            return;
        }
        let mut followed = self.followed.lock();
        for Tells { id, what } in tells {
            let Some(place) = followed.iter().position(|one| one.id == *id) else { continue };
            match what {
                Tell::End => followed[place].end_is_told = true,
                Tell::Input => followed[place].change(tasks, |told| told.wait = None),
                Tell::Wait(wait) => followed[place].change(tasks, |told| told.wait = Some(wait.clone())),
                Tell::Matches(counts) => followed[place].change(tasks, |told| told.matches.extend(counts)),
            }
        }
    }

    /// What has changed and was not told. It counts as told now, so the caller has to tell it.
    pub(crate) async fn take(&self, tasks: &ClientTasks, dialect: &dyn Dialect) -> Vec<Change> {
        if self.is_idle() {
            return Vec::new();
        }
        let looks = self.looks(tasks).await;
        let mut changes = Vec::new();
        let mut followed = self.followed.lock();
        followed.retain_mut(|one| {
            if changes.len() >= MOST_CHANGES {
                return true;
            }
            let still = one.collect(tasks.all(), looks.get(&one.id), &mut changes);
            still == Pulse::Alive
        });
        drop(followed);
        let named = changes.into_iter().filter_map(|(id, what)| {
            let task = tasks.all().get(&id).ok()?;
            Some(tasks.change(&task, what, dialect))
        });
        let mut changes: Vec<Change> = named.collect();
        // Where there is no room for all of them in full, what went well needs the least.
        changes.sort_by_key(|change| change.what.is_success());
        changes
    }

    /// Whether no reply has told this yet.
    pub(crate) fn is_untold(&self, change: &Change, tasks: &Tasks) -> bool {
        let followed = self.followed.lock();
        followed.iter().find(|one| one.id == change.id).is_some_and(|one| match &change.what {
            What::Ended { .. } => !one.end_is_told,
            What::Waits { prompt } => one.told.wait.as_ref().is_none_or(|told| told.prompt != prompt.trim()),
            What::Matched { pattern, .. } => {
                let watches = tasks.watches(&one.id);
                watches.iter().any(|watch| watch.pattern == *pattern && one.told.new_matches(watch).is_some())
            }
        })
    }

    /// These changes were taken, and could not be told.
    pub(crate) fn take_back(&self, changes: &[Change], tasks: &ClientTasks) {
        for Change { id, what, .. } in changes {
            match what {
                // A terminal is of no interest any more.
                What::Ended { .. } => self.follow(tasks, id, false),
                What::Matched { .. } => self.forget(id, tasks.all(), |told| told.matches.clear()),
                What::Waits { .. } => self.forget(id, tasks.all(), |told| told.wait = None),
            }
        }
    }

    fn forget(&self, id: &str, tasks: &Tasks, act: impl FnOnce(&mut Told)) {
        if let Some(one) = self.followed.lock().iter_mut().find(|one| one.id == id) {
            one.change(tasks, act);
        }
    }

    /// What the terminals show of the tasks that have one.
    async fn looks(&self, tasks: &ClientTasks) -> BTreeMap<String, Look> {
        let terminals: Vec<String> =
            self.followed.lock().iter().filter(|one| one.has_terminal).map(|one| one.id.clone()).collect();
        let mut looks = BTreeMap::new();
        for id in terminals {
            if tasks.all().pulse(&id) == Pulse::Alive
                && let Ok(Ok(look)) = timeout(LOOK, tasks.all().look(&id)).await
            {
                looks.insert(id, look);
            }
        }
        looks
    }
}

impl Followed {
    /// Adds what is new of this task; gives whether there will be more.
    fn collect(&mut self, tasks: &Tasks, look: Option<&Look>, changes: &mut Vec<(String, What)>) -> Pulse {
        // Before the watches: what matched before the end was written down before it.
        let pulse = tasks.pulse(&self.id);
        if pulse == Pulse::Gone {
            return pulse;
        }
        let watches = tasks.watches(&self.id);
        let ended = match tasks.get(&self.id) {
            _ if pulse == Pulse::Alive => None,
            Ok(task) => What::ended(&task),
            Err(_) => return Pulse::Gone,
        };
        if ended.is_some() && !self.claim_end(tasks) {
            return Pulse::Over;
        }

        let id = &self.id;
        changes.extend(watches.iter().filter_map(|watch| self.told.new_matches(watch)).map(|what| (id.clone(), what)));
        if let Some(ended) = ended {
            if !self.end_is_told {
                changes.push((id.clone(), ended));
            }
            return Pulse::Over;
        }
        let wait = look.and_then(|look| self.told.new_wait(look));
        changes.extend(wait.map(|wait| (id.clone(), What::Waits { prompt: wait.prompt })));
        let has_let_go = look.is_some_and(|look| look.waits.is_none());
        self.change(tasks, |told| {
            told.matches.extend(counts(&watches));
            if let Some(look) = look {
                told.wait = if has_let_go { None } else { told.new_wait(look).or(told.wait.take()) };
            }
        });
        // Its keeper is gone, and its records do not say more yet.
        Pulse::Alive
    }

    /// Whether it falls to this process to tell the end: whoever removes the record does, and nobody else.
    fn claim_end(&self, tasks: &Tasks) -> bool {
        self.memory == Memory::Passing || tasks.claim_end(&self.id)
    }

    /// Changes what was told, and writes it down where it is another thing then.
    fn change(&mut self, tasks: &Tasks, act: impl FnOnce(&mut Told)) {
        let before = self.told.clone();
        act(&mut self.told);
        if self.told != before && self.memory == Memory::Lasting {
            // Where it cannot be written, a later server says it once more.
            let _ = tasks.note_told(&self.id, &self.told);
        }
    }
}

/// What is new against what was told.
trait NewAgainst {
    fn new_matches(&self, watch: &Watch) -> Option<What>;
    fn new_wait(&self, look: &Look) -> Option<ToldWait>;
}

impl NewAgainst for Told {
    fn new_matches(&self, watch: &Watch) -> Option<What> {
        let matches = watch.matches.saturating_sub(self.matches.get(&watch.number).copied().unwrap_or(0));
        let line = watch.last.last().map(|line| line.text.clone()).unwrap_or_default();
        (matches > 0).then(|| What::Matched { pattern: watch.pattern.clone(), matches, line })
    }

    /// A wait that was told stays the same until the task is given something or was seen at work. A program that redraws
    /// the line it is on while it waits, such as a clock, asks nothing new.
    fn new_wait(&self, look: &Look) -> Option<ToldWait> {
        let wait = look.waits.as_ref()?;
        let new = told_wait(wait, look.typed_by_people);
        let is_told = self.wait.as_ref().is_some_and(|told| {
            let asks = !look.screen.alternate && (!wait.echo || new.prompt.ends_with(ASKING));
            let is_same_question = told.prompt == new.prompt || !asks;
            is_same_question && told.typed_by_people == new.typed_by_people
        });
        (!is_told).then_some(new)
    }
}

fn told_wait(wait: &InputWait, typed_by_people: u64) -> ToldWait {
    ToldWait { prompt: wait.prompt.trim().to_owned(), typed_by_people }
}

fn counts(watches: &[Watch]) -> BTreeMap<u32, u64> {
    watches.iter().map(|watch| (watch.number, watch.matches)).collect()
}

/// Whether a call has given a task something to read.
fn given(action: &Action) -> bool {
    match action {
        Action::Send { messages, .. } => !messages.iter().all(|message| matches!(message, Message::Resize(_))),
        Action::Exchange(exchange) => exchange.message.is_some(),
        _ => false,
    }
}

/// What a reply that shows a task says of it.
fn said_of(task: &Task, look: Option<&Look>, done: &Done, dialect: &dyn Dialect) -> Vec<Tells> {
    let tells = |what| Tells { id: task.id.clone(), what };
    if !task.status.is_running() {
        return if dialect.says_how_a_task_ended(done) { vec![tells(Tell::End)] } else { Vec::new() };
    }
    let look = look.filter(|_| dialect.says_that_a_task_waits());
    let wait = look.and_then(|look| Some(told_wait(look.waits.as_ref()?, look.typed_by_people)));
    wait.map(|wait| tells(Tell::Wait(wait))).into_iter().collect()
}
