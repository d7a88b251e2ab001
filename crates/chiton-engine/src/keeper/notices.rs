//! Tells a person of a task, through the program that the person has named for that.
//!
//! 1. A task that nobody waits for has ended, or waits for somebody to type: the program is started, without a shell.
//! 2. It is a child of this keeper, but not of the command: it does not count as something that the command left running,
//!    nor does what it used ([`Outsiders`]).
//! 3. It has a time limit and a number per minute. What it prints is discarded; that it failed is written down beside the
//!    runs, where `chiton doctor` finds it. Nothing of this can harm the task.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::clock::timespec;
use super::run::KeptRun;
use crate::folder::NOTIFY_FAILED;
use crate::process::helper;
use crate::run::{Ending, InputWait, Notice, Outcome, Stream};
use crate::stop;
use crate::sys::process::{WaitStatus, is_in_group, wait_for};

/// How long the program may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How often a task may be told of in a minute; its end is always told.
const PER_MINUTE: usize = 5;
const MINUTE: Duration = Duration::from_mins(1);

/// Processes that this keeper has started for itself.
#[derive(Debug, Default)]
pub(super) struct Outsiders(Vec<Outsider>);

#[derive(Debug)]
struct Outsider {
    /// Its process, and the group of all that it starts.
    group: i32,
    until: Instant,
    /// Whether its time was over and it was killed.
    killed: bool,
    ended: Option<WaitStatus>,
}

impl Outsiders {
    fn add(&mut self, group: i32, now: Instant) {
        self.0.push(Outsider { group, until: now + LIMIT, killed: false, ended: None });
    }

    /// Takes note of the end of a child, if it was one of these.
    pub(super) fn note_end(&mut self, pid: i32, status: WaitStatus) -> bool {
        let found = self.0.iter_mut().find(|outsider| outsider.group == pid && outsider.ended.is_none());
        found.map(|outsider| outsider.ended = Some(status)).is_some()
    }

    /// Whether a process is one of these, or was started by one.
    pub(super) fn has(&self, pid: i32) -> bool {
        self.0.iter().any(|outsider| is_in_group(pid, outsider.group))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When the time of the next one is over.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.iter().filter(|outsider| !outsider.killed).map(|outsider| outsider.until).min()
    }
}

/// What a person was told of a run.
#[derive(Debug, Default)]
pub(super) struct Told {
    times: Vec<Instant>,
    /// What it asked when it was said that it waits, and how much it had printed then.
    wait: Option<(String, u64)>,
}

impl KeptRun {
    /// Whether a person is told when the command waits for somebody to type.
    pub(super) fn tells_person(&self) -> bool {
        self.plan.notify.is_some() && self.plan.background && self.console.has_terminal()
    }

    /// Tells a person that the task has ended, unless a call waits for it. One that ended with its session is not worth it.
    pub(super) fn tell_end(&mut self, ending: &Ending) {
        let is_awaited = self.audience.has_caller() && !self.plan.background;
        if self.plan.notify.is_some() && !is_awaited && ending.outcome != Outcome::Cancelled {
            let notice = self.end_notice(self.folder.id(), ending);
            self.start_notice(&notice);
        }
    }

    /// Tells a person that the task waits for somebody to type. Once for each question.
    pub(super) fn tell_wait(&mut self, wait: &InputWait) {
        if !self.tells_person() {
            return;
        }
        let now = Instant::now();
        let printed = self.output.totals(Stream::Stdout).written;
        let asked = (wait.prompt.clone(), printed);
        self.told.times.retain(|time| now.duration_since(*time) < MINUTE);
        if self.told.wait.as_ref() == Some(&asked) || self.told.times.len() >= PER_MINUTE {
            return;
        }
        self.told.wait = Some(asked);
        self.told.times.push(now);

        let id = self.folder.id().to_owned();
        let prompt = self.shown(wait.prompt.trim());
        let asks = if prompt.is_empty() { "it waits".to_owned() } else { format!("it asks: {prompt}") };
        let text = format!("{asks} (chiton attach {id}): {}", self.what(&id));
        self.start_notice(&Notice { title: format!("{id} waits for input"), text, id, event: "waits" });
    }

    /// What the run left running has ended, and so has everything. Nothing else is left to do, so this waits.
    pub(super) fn tell_leftovers_end(&mut self, id: &str, ending: &Ending) {
        let Some(notify) = self.plan.notify.as_ref().filter(|_| ending.outcome != Outcome::Cancelled) else { return };
        let words = notify.words_for(&self.end_notice(id, ending));
        let problem = match helper::start(&words, &notify.environment) {
            Ok(pid) => wait_at_most(pid),
            Err(error) => Some(error.to_string()),
        };
        self.note_failure(problem);
    }

    /// Looks after the programs that were started.
    pub(super) fn look_after_notices(&mut self, now: Instant) {
        let outsiders = &mut self.family.outsiders.0;
        if outsiders.is_empty() {
            return;
        }
        let mut problems = Vec::new();
        outsiders.retain_mut(|outsider| {
            let group = outsider.group;
            let is_gone = || !stop::descendants().into_iter().any(|pid| is_in_group(pid, group));
            if let Some(status) = outsider.ended
                && is_gone()
            {
                problems.extend((!outsider.killed).then(|| problem_of(status)));
                return false;
            }
            if now >= outsider.until && !outsider.killed {
                outsider.killed = true;
                stop::kill_group(group);
                problems.push(Some(too_long()));
            }
            true
        });
        for problem in problems {
            self.note_failure(problem);
        }
    }

    fn start_notice(&mut self, notice: &Notice) {
        let Some(notify) = &self.plan.notify else { return };
        match helper::start(&notify.words_for(notice), &notify.environment) {
            Ok(pid) => self.family.outsiders.add(pid, Instant::now()),
            Err(error) => self.note_failure(Some(error.to_string())),
        }
    }

    fn end_notice(&self, id: &str, ending: &Ending) -> Notice {
        let took = in_words(Duration::from_micros(ending.wall_us));
        let text = format!("after {took}: {}", self.what(id));
        Notice { id: id.to_owned(), event: "ended", title: format!("{id} {}", ending.outcome), text }
    }

    /// What a task is: its description, or the first line of its command.
    fn what(&self, id: &str) -> String {
        let folder = self.folder.path().with_file_name(id);
        let request = crate::folder::RunFolder::at(&folder).ok().and_then(|folder| folder.request().ok());
        let what = request.map(|request| request.description.unwrap_or_else(|| request.command.to_text()));
        self.shown(what.unwrap_or_default().trim().lines().next().unwrap_or_default())
    }

    /// A text as it may be shown.
    fn shown(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.output.masked_text(text.as_bytes().to_vec())).into_owned()
    }

    /// Writes down that a person could not be told, or that it works (again).
    fn note_failure(&self, problem: Option<String>) {
        let Some(file) = self.failure_file() else { return };
        match problem {
            None => drop(fs::remove_file(file)),
            Some(problem) => {
                let _ = fs::write(file, format!("{}: {problem}\n", self.folder.id()));
                self.journal_task("notify_failed");
            }
        }
    }

    fn failure_file(&self) -> Option<PathBuf> {
        Some(self.folder.path().parent()?.parent()?.join(NOTIFY_FAILED))
    }
}

fn too_long() -> String {
    format!("it had not ended after {} s", LIMIT.as_secs())
}

fn problem_of(status: WaitStatus) -> Option<String> {
    match status {
        WaitStatus::Exited(0) => None,
        WaitStatus::Exited(code) => Some(format!("it exited with code {code}")),
        WaitStatus::Signaled(signal) => Some(format!("signal {signal} ended it")),
    }
}

/// Waits for a child, and kills it when its time is over. Gives what went wrong.
fn wait_at_most(pid: i32) -> Option<String> {
    let handle = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let has_ended = handle.is_some_and(|handle| {
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timespec(LIMIT))).is_ok_and(|count| count > 0)
    });
    if !has_ended {
        stop::kill_group(pid);
    }
    let status = wait_for(pid).ok();
    if has_ended { status.and_then(problem_of) } else { Some(too_long()) }
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds @ 1..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}
