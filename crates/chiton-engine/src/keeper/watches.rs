//! Standing watches: regular expressions that stay on a run, matched by its keeper as output comes in.
//!
//! 1. [`KeptRun::add_watch`] puts a watch on a task. It stays until somebody takes it off or the task ends, whether the
//!    server lives or not. [`KeptRun::follow`] puts one on a connection, with which it goes.
//! 2. What is delivered is also fed to the watches ([`KeptRun::feed_watches`]); every line that matches counts.
//! 3. What they have matched is told in turns, the first match at once and then a few times a second at most: written
//!    into the folder of the task, said to everybody who watches the run, and sent to those that follow.
//!
//! A run without a watch has nothing of this. Which lines match is decided in [`super::lines`].

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use super::connection::{ClientRole, RunConnection};
use super::lines::{LineAssembly, MatchBounds, Matcher};
use super::run::KeptRun;
use crate::capture::spool::SpoolReader;
use crate::folder::RunFolder;
use crate::protocol::{Denial, Report};
use crate::run::{Stream, Watch, compile_watch};

/// What is kept of the matches of a standing watch: enough to say what it was about.
const STANDING: MatchBounds = MatchBounds { lines: 5, bytes: 300 };
/// What is sent at once to one that follows, who wants to see every line where that is possible.
const FOLLOWED: MatchBounds = MatchBounds { lines: 64, bytes: 4096 };
/// Watches that one run can have.
const MOST_WATCHES: usize = 16;
/// The time between two tellings. Soon enough for a person, seldom enough for a flood.
const PAUSE: Duration = Duration::from_millis(250);
/// How much of the spool is read at once.
const STEP: u64 = 1 << 20;

/// The watches on a run that has any.
pub(super) struct Watches {
    lines: LineAssembly,
    entries: Vec<Entry>,
    /// The number of the next one.
    next: u32,
    /// When the next telling may be.
    next_telling: Instant,
}

struct Entry {
    whose: Whose,
    matcher: Matcher,
    /// Whether it has matched since that was last told.
    untold: bool,
}

/// What a watch stays with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Whose {
    /// The task of this id: the run, or what it left running.
    Task(String),
    /// The connection with this descriptor.
    Follower(RawFd),
}

/// Which telling it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    OneOfMany,
    Last,
}

impl Watches {
    fn new(lines: LineAssembly) -> Self {
        Self { lines, entries: Vec::new(), next: 1, next_telling: Instant::now() }
    }

    fn feed(&mut self, stream: Stream, bytes: &[u8]) {
        let Self { lines, entries, .. } = self;
        lines.feed(stream, bytes, |number, line| take(entries, number, line));
    }

    fn finish(&mut self) {
        let Self { lines, entries, .. } = self;
        lines.finish(|number, line| take(entries, number, line));
    }

    /// When there is something to tell.
    pub(super) fn due(&self) -> Option<Instant> {
        self.entries.iter().any(|entry| entry.untold).then_some(self.next_telling)
    }

    fn of<'a>(&'a self, task: &'a str) -> impl Iterator<Item = &'a Watch> {
        let own = move |entry: &&Entry| matches!(&entry.whose, Whose::Task(id) if id == task);
        self.entries.iter().filter(own).map(|entry| &entry.matcher.watch)
    }
}

fn take(entries: &mut [Entry], number: u64, line: &[u8]) {
    for entry in entries {
        entry.untold |= entry.matcher.take(number, line);
    }
}

impl KeptRun {
    /// Passes output on to the watches, where there are any.
    pub(super) fn feed_watches(&mut self, stream: Stream, bytes: &[u8]) {
        if let Some(watches) = &mut self.watches {
            watches.feed(stream, bytes);
        }
    }

    /// Puts a watch on a task: the run itself, or what it left running. Lines count that end after `since` bytes of all
    /// output, or from now on.
    pub(super) fn add_watch(&mut self, task: &str, pattern: &str, since: Option<u64>) -> Report {
        let added = self.is_watchable(task).and_then(|()| {
            let shown = self.shown_pattern(pattern);
            let known = self.watches.as_ref().and_then(|all| all.of(task).find(|watch| watch.pattern == shown));
            match known {
                Some(watch) => Ok(watch.clone()),
                None => self.insert(Whose::Task(task.to_owned()), pattern, since),
            }
        });
        match added {
            Ok(watch) => {
                // Before the answer goes out: whoever receives that can look the watch up at once.
                self.write_watches(task);
                Report::Watches(vec![watch])
            }
            Err(denial) => Report::Answer(Err(denial)),
        }
    }

    /// Takes watches off a task: the one with this pattern, or all of them. Answers which.
    pub(super) fn remove_watches(&mut self, task: &str, pattern: Option<&str>) -> Report {
        let shown = pattern.map(|pattern| self.shown_pattern(pattern));
        let mut removed = Vec::new();
        if let Some(watches) = &mut self.watches {
            let own = Whose::Task(task.to_owned());
            let is_meant = |entry: &mut Entry| {
                entry.whose == own && shown.as_ref().is_none_or(|shown| *shown == entry.matcher.watch.pattern)
            };
            removed.extend(watches.entries.extract_if(.., is_meant).map(|entry| entry.matcher.watch));
        }
        if !removed.is_empty() {
            self.write_watches(task);
        }
        Report::Watches(removed)
    }

    /// Sends a connection what matches, until it is closed or the run ends. Answered like that too.
    pub(super) fn follow(&mut self, index: usize, pattern: &str, since: Option<u64>) -> Report {
        let Some(connection) = self.audience.get_mut(index) else { return Report::Answer(Err(Denial::Ended)) };
        connection.set_role(ClientRole::Follower);
        let descriptor = connection.descriptor().as_raw_fd();
        match self.insert(Whose::Follower(descriptor), pattern, since) {
            Ok(watch) => Report::Followed(watch),
            Err(denial) => Report::Answer(Err(denial)),
        }
    }

    /// A connection is gone, and what it followed with it.
    pub(super) fn unfollow(&mut self, descriptor: RawFd) {
        if let Some(watches) = &mut self.watches {
            watches.entries.retain(|entry| entry.whose != Whose::Follower(descriptor));
        }
    }

    /// Tells what has matched since the last time, if it is time for that.
    pub(super) fn tell_matches(&mut self, now: Instant) {
        let Some(watches) = &mut self.watches else { return };
        if watches.due().is_some_and(|due| now >= due) {
            watches.next_telling = now + PAUSE;
            self.tell_all(Turn::OneOfMany);
        }
    }

    /// The run has ended: its unfinished lines count, and what has matched is told once more. The watches on it are over;
    /// those on what it left running stay.
    pub(super) fn finish_watches(&mut self) {
        let Some(watches) = &mut self.watches else { return };
        watches.finish();
        self.tell_all(Turn::Last);

        let own = self.folder.id();
        if let Some(watches) = &mut self.watches {
            watches.entries.retain(|entry| !matches!(&entry.whose, Whose::Task(id) if id == own));
        }
    }

    /// Writes and sends everything that was not told.
    fn tell_all(&mut self, turn: Turn) {
        let Some(watches) = &mut self.watches else { return };
        let mut tasks: Vec<String> = Vec::new();
        for entry in watches.entries.iter_mut().filter(|entry| entry.untold) {
            match &entry.whose {
                Whose::Task(id) => {
                    entry.untold = false;
                    tasks.push(id.clone());
                }
                // One that is behind is sent the rest when it has caught up, in a later turn where there is one.
                Whose::Follower(descriptor) => {
                    let connection = self.audience.with_descriptor(*descriptor);
                    let is_ready = |one: &&mut RunConnection| turn == Turn::Last || !one.has_unsent();
                    if let Some(connection) = connection.filter(is_ready) {
                        let _ = connection.send(&Report::Followed(entry.matcher.watch.clone()));
                        entry.matcher.watch.last.clear();
                        entry.untold = false;
                    }
                }
            }
        }

        tasks.dedup();
        for task in &tasks {
            self.write_watches(task);
        }
        if !tasks.is_empty() {
            self.audience.send_to(|role| matches!(role, ClientRole::Watcher(_)), &Report::WatchMatched);
        }
    }

    fn insert(&mut self, whose: Whose, pattern: &str, since: Option<u64>) -> Result<Watch, Denial> {
        let full = self.watches.as_ref().is_some_and(|watches| watches.entries.len() >= MOST_WATCHES);
        if full {
            let reason = format!("it has {MOST_WATCHES} watches, which is the most; end one of them first");
            return Err(Denial::Because(reason));
        }
        let compiled = compile_watch(pattern).map_err(Denial::Because)?;
        let number = self.watches.as_ref().map_or(1, |watches| watches.next);
        let bounds = if matches!(whose, Whose::Task(_)) { STANDING } else { FOLLOWED };
        let mut matcher = Matcher::new(compiled, self.shown_pattern(pattern), number, bounds);

        // All that was printed has to be read once: its lines have numbers, and the last one may be unfinished.
        let watches = match &mut self.watches {
            Some(watches) => {
                if since.is_some() {
                    let _ = catch_up(&self.folder, &mut matcher, since);
                }
                watches
            }
            none => {
                let lines = catch_up(&self.folder, &mut matcher, since).unwrap_or_default();
                none.insert(Box::new(Watches::new(lines)))
            }
        };
        watches.next = number + 1;
        let watch = matcher.watch.clone();
        if matches!(whose, Whose::Follower(_)) {
            // What it has matched so far is in the answer.
            matcher.watch.last.clear();
        }
        watches.entries.push(Entry { whose, matcher, untold: false });
        Ok(watch)
    }

    /// Writes down what the watches on a task have matched. On a full disk they count on; the next writing may succeed.
    fn write_watches(&self, task: &str) {
        let Some(watches) = &self.watches else { return };
        let folder = self.folder.path().with_file_name(task);
        if let Ok(folder) = RunFolder::at(&folder) {
            let all: Vec<&Watch> = watches.of(task).collect();
            let _ = folder.write_watches(&all);
        }
    }

    /// Whether a task is one of this keeper's and has not ended.
    fn is_watchable(&self, task: &str) -> Result<(), Denial> {
        let lifecycle = &self.family.lifecycle;
        let runs = task == self.folder.id() && !lifecycle.is_announced();
        let is_left = self.family.leftover_task.as_ref().is_some_and(|left| left.id() == task);
        if runs || (is_left && !lifecycle.is_childless()) { Ok(()) } else { Err(Denial::Ended) }
    }

    /// A pattern as it may be shown and written down.
    fn shown_pattern(&self, pattern: &str) -> String {
        String::from_utf8_lossy(&self.output.masked_text(pattern.as_bytes().to_vec())).into_owned()
    }
}

/// Reads the spool from its beginning, counts its lines, and gives those that end after `since` bytes to `matcher`.
fn catch_up(folder: &RunFolder, matcher: &mut Matcher, since: Option<u64>) -> io::Result<LineAssembly> {
    let spool = SpoolReader::open(folder.path());
    let since = since.unwrap_or(u64::MAX);
    let (mut lines, mut place) = (LineAssembly::default(), 0);
    for span in spool.order([0, 0])? {
        let mut from = span.from;
        while from < span.to {
            let to = span.to.min(from + STEP);
            for piece in spool.read(span.stream, from..to)? {
                // The piece is cut at `since`, so that every line that ends in the later part counts.
                let start = place + (piece.offset - from);
                let cut = usize::try_from(since.saturating_sub(start)).unwrap_or(usize::MAX).min(piece.bytes.len());
                let (before, after) = piece.bytes.split_at(cut);
                lines.feed(span.stream, before, |_, _| {});
                lines.feed(span.stream, after, |number, line| _ = matcher.take(number, line));
            }
            place += to - from;
            from = to;
        }
    }
    Ok(lines)
}
