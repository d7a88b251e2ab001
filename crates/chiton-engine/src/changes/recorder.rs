//! Writes down what is about to change, and keeps what would be lost.
//!
//! 1. Whoever is about to change a file says so first ([`Recorder::before`]). What is there now goes into the log, and what
//!    would be lost into the store: by a link where it goes, by a copy where it is written to.
//! 2. What a command has made itself need not be kept: [`Origins`] knows which paths that are.
//! 3. At the end, what is there then is written down as well ([`super::list`]), so that changes of others can be told
//!    apart.
//!
//! The log is there with the first change; a command that changes nothing leaves nothing.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::files::copy_content;
use super::in_flight::{Expected, Flight};
use super::origins::Origins;
use super::record::{self, FileFacts, FileId, FileKind, Former, Header, Kept, LogReader, Step, as_bytes, as_path};
use super::store;
use crate::clock;
use crate::sandbox::keeping::KeepPlan;

/// A change that somebody is about to make. Paths are without links, but for the last part of those that mean a link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coming<'a> {
    /// Something new comes here.
    Made(&'a Path),
    /// What is here is opened; it is made where there is nothing and the one flag says so, and can be written to where the
    /// other does.
    Opened { path: &'a Path, makes: bool, writes: bool },
    /// What is here goes.
    Removed(&'a Path),
    /// What is here gets another name, and replaces what has that.
    Moved { from: &'a Path, to: &'a Path },
    /// What is here gets a second name.
    Linked { from: &'a Path, to: &'a Path },
    /// Two change places.
    Exchanged { one: &'a Path, other: &'a Path },
    /// Something about this changes that is not its content.
    Attributes(&'a Path),
    /// Something about a file changes that has lost the name by which it was opened. This is the path of its descriptor.
    Unnamed(&'a Path),
}

impl Coming<'_> {
    fn is_about_or_above(&self, folder: &Path) -> bool {
        match *self {
            Self::Made(path)
            | Self::Opened { path, .. }
            | Self::Removed(path)
            | Self::Attributes(path)
            | Self::Unnamed(path) => folder.starts_with(path),
            Self::Moved { from: one, to: other }
            | Self::Linked { from: one, to: other }
            | Self::Exchanged { one, other } => folder.starts_with(one) || folder.starts_with(other),
        }
    }
}

/// Writes down what one command changes.
#[derive(Debug)]
pub(crate) struct Recorder {
    plan: KeepPlan,
    folder: PathBuf,
    /// What people want to know about it, to be written down with the first change.
    about: Option<Vec<u8>>,
    log: Option<File>,
    /// How many changes are in it.
    written: u64,
    origins: Origins,
    /// What was let go on, and may not have happened yet.
    in_flight: Vec<Flight>,
    /// Files whose attributes, or whose content too, are in the log.
    noted: HashSet<FileId>,
    copied: HashSet<FileId>,
    /// Names in the log of files that have several.
    names: HashSet<PathBuf>,
    /// Where files are in the store that are there themselves.
    kept: HashMap<FileId, u64>,
    /// The folder that was noted last: most changes are in the same one as the one before.
    last_folder: Option<PathBuf>,
    /// The number that the next thing in the store gets.
    next: u64,
    bytes: u64,
    not_kept: Vec<(PathBuf, String)>,
    /// Why nothing can be written down any more, and the first change that is not.
    failed: Option<(PathBuf, String)>,
}

/// How many things that could not be kept are named.
const MOST_NAMED: usize = 50;

impl Recorder {
    /// For the command with this id.
    pub(crate) fn new(plan: KeepPlan, id: &str) -> Self {
        Self {
            folder: plan.logs.join(id),
            plan,
            about: None,
            log: None,
            written: 0,
            origins: Origins::default(),
            in_flight: Vec::new(),
            noted: HashSet::new(),
            copied: HashSet::new(),
            names: HashSet::new(),
            kept: HashMap::new(),
            last_folder: None,
            next: 0,
            bytes: 0,
            not_kept: Vec::new(),
            failed: None,
        }
    }

    /// Goes on with a log that somebody began who was killed. `about` is what is written down with the first change.
    pub(crate) fn resume(plan: KeepPlan, id: &str, about: Vec<u8>) -> io::Result<Self> {
        let mut recorder = Self::new(plan, id);
        recorder.about = Some(about);
        let path = store::log(&recorder.folder);
        if !path.exists() {
            return Ok(recorder);
        }
        let (_, mut steps) = LogReader::open(&path)?;
        for step in steps.by_ref() {
            recorder.written += 1;
            match step {
                Step::Absent { at } => recorder.origins.made(&as_path(&at)),
                Step::Moved { from, to, .. } => recorder.origins.moved(&as_path(&from), &as_path(&to)),
                Step::Exchanged { one, other, .. } => recorder.origins.exchanged(&as_path(&one), &as_path(&other)),
                Step::Attributes { was, .. } => drop(recorder.noted.insert(was.facts.id)),
                Step::Written { was, .. } => {
                    recorder.noted.insert(was.facts.id);
                    recorder.copied.insert(was.facts.id);
                }
                Step::Gone { .. } => {}
            }
        }
        let numbers = fs::read_dir(store::kept_folder(&recorder.folder))?.flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
        recorder.next = numbers.max().map_or(0, |number| number + 1);
        let log = OpenOptions::new().append(true).open(path)?;
        // Whoever was killed may have been about to write down one more.
        log.set_len(steps.whole_bytes())?;
        recorder.log = Some(log);
        Ok(recorder)
    }

    /// Whether anything was written down, or was to be.
    pub(crate) fn has_begun(&self) -> bool {
        self.log.is_some() || self.failed.is_some()
    }

    /// Below which folders changes are written down.
    pub(super) fn roots(&self) -> &[PathBuf] {
        &self.plan.roots
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What would be lost for ever.
    pub(super) fn not_kept(&self) -> &[(PathBuf, String)] {
        &self.not_kept
    }

    /// Whether changes here are written down.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.plan.roots.iter().any(|root| path.starts_with(root))
    }

    /// Why nothing is written down any more, and the first change that is not.
    pub(super) fn failed(&self) -> Option<(&Path, &str)> {
        self.failed.as_ref().map(|(path, why)| (path.as_path(), why.as_str()))
    }

    /// Finds out what became of the changes that were let go on: a thread that makes another call has made the one before,
    /// and others are waited for. To be called before anybody looks at what the next call of `thread` is about. `has_left`
    /// says of another thread whether it does something else by now.
    pub(crate) fn settle(&mut self, thread: i32, mut has_left: impl FnMut(i32) -> bool) {
        for flight in std::mem::take(&mut self.in_flight) {
            let is_own = flight.thread == thread;
            if !flight.expected.is_about_names() {
                if !is_own && !flight.is_old() {
                    self.in_flight.push(flight);
                }
                continue;
            }
            let happened = match &flight.expected {
                // Nothing depends on it.
                Expected::There(_) | Expected::Gone(..) if is_own => continue,
                expected if is_own => expected.is_so(),
                _ => flight.wait(&mut has_left),
            };
            match flight.expected {
                Expected::Moved { from, to, .. } if happened => self.origins.moved(&from, &to),
                Expected::Exchanged { one, other, .. } if happened => self.origins.exchanged(&one, &other),
                _ => {}
            }
        }
    }

    /// The same for what others use by names that are about to mean something else.
    pub(crate) fn settle_users(&mut self, coming: Coming<'_>, mut has_left: impl FnMut(i32) -> bool) {
        let (one, other) = match coming {
            Coming::Made(path) | Coming::Removed(path) | Coming::Opened { path, makes: true, .. } => (path, path),
            Coming::Moved { from: one, to: other }
            | Coming::Exchanged { one, other }
            | Coming::Linked { from: one, to: other } => (one, other),
            Coming::Opened { .. } | Coming::Attributes(_) | Coming::Unnamed(_) => return,
        };
        self.in_flight.retain(|flight| {
            let is_used = [one, other].iter().any(|path| flight.expected.depends_on(path));
            if is_used {
                flight.wait(&mut has_left);
            }
            !is_used
        });
    }

    /// Lets a thread go on with what depends on these paths, unless more is expected of it: as they were written, and without
    /// links, which nobody can tell of some.
    pub(crate) fn goes_on(&mut self, thread: i32, paths: impl FnOnce() -> Vec<(PathBuf, Option<PathBuf>)>) {
        if self.in_flight.last().is_some_and(|flight| flight.thread == thread) {
            return;
        }
        let paths = paths();
        let is_known = paths.iter().all(|(_, meant)| meant.is_some());
        let mut used: Vec<PathBuf> =
            paths.into_iter().flat_map(|(written, meant)| [Some(written), meant]).flatten().collect();
        if !is_known {
            used.clear();
        } else if !used.iter().any(|path| self.covers(path)) {
            return;
        }
        self.in_flight.push(Flight::new(thread, Expected::Used(used)));
    }

    /// Writes down what is so before a change that is made at once, by ourselves.
    pub(crate) fn before_own(&mut self, coming: Coming<'_>) -> io::Result<()> {
        self.settle(0, |_| true);
        self.before(coming, 0);
        // Nothing is put back of which nobody could tell what it was.
        self.failed.as_ref().map_or(Ok(()), |(_, why)| Err(io::Error::other(why.clone())))
    }

    /// Writes down what is so before a change of this thread.
    pub(crate) fn before(&mut self, coming: Coming<'_>, thread: i32) {
        if self.failed.is_some() {
            return;
        }
        if matches!(coming, Coming::Removed(_) | Coming::Moved { .. } | Coming::Exchanged { .. }) {
            // Another folder may have this name next.
            self.last_folder = self.last_folder.take().filter(|folder| !coming.is_about_or_above(folder));
        }
        let expected = match coming {
            Coming::Made(path) => self.before_made(path),
            Coming::Opened { path, .. } | Coming::Attributes(path) if path.starts_with("/proc") => {
                self.before_open_unnamed(path)
            }
            Coming::Opened { path, makes, writes } => self.before_opened(path, makes, writes),
            Coming::Linked { from, to } => self.before_linked(from, to),
            Coming::Removed(path) => self.before_removed(path),
            Coming::Moved { from, to } => self.before_moved(from, to),
            Coming::Exchanged { one, other } => self.before_exchanged(one, other),
            Coming::Attributes(path) => self.before_attributes(path),
            Coming::Unnamed(path) => self.before_unnamed(path),
        };
        self.in_flight.extend(expected.map(|expected| Flight::new(thread, expected)));
    }

    fn before_made(&mut self, path: &Path) -> Option<Expected> {
        if !self.covers(path) || FileFacts::at(path).is_some() {
            return None;
        }
        if !self.origins.is_own(path) {
            self.note_folder_of(path);
            self.write(&Step::Absent { at: as_bytes(path) });
            self.origins.made(path);
        }
        Some(Expected::There(path.to_owned()))
    }

    fn before_opened(&mut self, path: &Path, makes: bool, writes: bool) -> Option<Expected> {
        if !self.covers(path) {
            return None;
        }
        match FileFacts::at(path) {
            None if makes => return self.before_made(path),
            Some(facts) if writes && facts.kind == FileKind::File && !self.is_own(path, &facts) => {
                self.note_content(path, facts);
            }
            // A pipe has a time as well.
            Some(facts) if writes && facts.kind == FileKind::Special => return self.before_attributes(path),
            // What is opened is not changed by that, or the kernel does not let it be written to.
            _ => {}
        }
        None
    }

    /// Whether the command made this, and nobody else has it by another name.
    fn is_own(&self, path: &Path, facts: &FileFacts) -> bool {
        let has_one_name = facts.links == 1 || facts.kind == FileKind::Folder;
        has_one_name && self.origins.is_own(path)
    }

    fn before_removed(&mut self, path: &Path) -> Option<Expected> {
        if !self.covers(path) {
            return None;
        }
        let facts = FileFacts::at(path)?;
        let (is_folder, id) = (facts.kind == FileKind::Folder, facts.id);
        // Programs try this with every folder, and the kernel says which one is not empty.
        if is_folder && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            return None;
        }
        // Folders are written down whoever made them: things may have been in one that were there before. So are names of
        // files that have others: what was written down about such a file may be so by this name.
        if is_folder || !self.is_own(path, &facts) {
            self.note_folder_of(path);
            let was = self.keep(path, facts);
            self.write(&Step::Gone { at: as_bytes(path), was });
        }
        Some(Expected::Gone(path.to_owned(), id))
    }

    fn before_moved(&mut self, from: &Path, to: &Path) -> Option<Expected> {
        if !self.covers(from) && !self.covers(to) || from == to {
            return None;
        }
        let facts = FileFacts::at(from)?;
        let there = FileFacts::at(to);
        // Two names of one file: nothing happens. A folder never goes into itself.
        if there.as_ref().is_some_and(|there| there.id == facts.id) || to.starts_with(from) {
            return None;
        }
        if !self.covers(to) {
            // Nobody watches what becomes of it there, so it counts as gone.
            self.before_leaving(from);
            return Some(Expected::Gone(from.to_owned(), facts.id));
        }
        if there.is_some() {
            self.before_removed(to)
        } else {
            self.before_made_by_moving(to)
        };
        self.note_folder_of(from);
        self.note_folder_of(to);
        let id = facts.id;
        self.write(&Step::Moved { from: as_bytes(from), to: as_bytes(to), was: facts });
        Some(Expected::Moved { from: from.to_owned(), to: to.to_owned(), id })
    }

    /// The same as for what is made, but what comes there need not be the command's own.
    fn before_made_by_moving(&mut self, path: &Path) -> Option<Expected> {
        if !self.origins.is_own(path) {
            self.note_folder_of(path);
            self.write(&Step::Absent { at: as_bytes(path) });
        }
        None
    }

    /// Keeps all of something that is about to leave the places that are watched: by copies, since it can be written to where
    /// it goes.
    fn before_leaving(&mut self, path: &Path) {
        let Some(facts) = FileFacts::at(path).filter(|_| self.covers(path)) else { return };
        let is_folder = facts.kind == FileKind::Folder;
        if is_folder {
            self.note_attributes(path, facts.clone());
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                self.before_leaving(&entry.path());
            }
        }
        if !is_folder && self.is_own(path, &facts) {
            return;
        }
        self.note_folder_of(path);
        let was = match facts.kind {
            // Its other names are still here, and are to be those of the same file again.
            FileKind::File if facts.links > 1 => {
                self.note_unnamed(path, facts.clone());
                self.keep(path, facts)
            }
            FileKind::File if facts.bytes <= self.plan.limits.copied_file => {
                let kept = if facts.bytes == 0 { Kept::Facts } else { self.copy(path, &facts) };
                Former { attributes: record::attributes(path), facts, kept }
            }
            _ => self.keep(path, facts),
        };
        self.write(&Step::Gone { at: as_bytes(path), was });
    }

    fn before_linked(&mut self, from: &Path, to: &Path) -> Option<Expected> {
        let source = FileFacts::at(from).filter(|_| !self.origins.is_own(from));
        if !self.covers(to) {
            // By its name there it can be written to, and nobody would know.
            if let Some(facts) = source.filter(|facts| facts.kind == FileKind::File && self.covers(from)) {
                self.note_content(from, facts);
            }
            return None;
        }
        let made = self.before_made(to)?;
        if let Some(facts) = source {
            self.origins.former(to);
            if self.covers(from) {
                // What happens to it by its new name happens to it by this one.
                self.note_attributes(from, facts);
            }
        }
        Some(made)
    }

    fn before_exchanged(&mut self, one: &Path, other: &Path) -> Option<Expected> {
        let (first, second) = (FileFacts::at(one)?, FileFacts::at(other)?);
        if first.id == second.id || one.starts_with(other) || other.starts_with(one) {
            return None;
        }
        for (inside, outside, facts) in [(one, other, &first), (other, one, &second)] {
            if self.covers(inside) && !self.covers(outside) {
                // What comes from outside counts as made, and what goes there as gone.
                self.before_leaving(inside);
                self.note_folder_of(inside);
                self.write(&Step::Absent { at: as_bytes(inside) });
                return Some(Expected::Gone(inside.to_owned(), facts.id));
            }
        }
        if !self.covers(one) {
            return None;
        }
        self.note_folder_of(one);
        self.note_folder_of(other);
        let id = second.id;
        self.write(&Step::Exchanged { one: as_bytes(one), other: as_bytes(other), first, second });
        Some(Expected::Exchanged { one: one.to_owned(), other: other.to_owned(), second: id })
    }

    fn before_attributes(&mut self, path: &Path) -> Option<Expected> {
        if let Some(facts) = FileFacts::at(path).filter(|facts| self.covers(path) && !self.is_own(path, facts)) {
            self.note_attributes(path, facts);
        }
        None
    }

    /// A file that a process has open and that has lost its name: it is in the store if that name was here, or has others.
    fn before_open_unnamed(&mut self, descriptor: &Path) -> Option<Expected> {
        let facts = FileFacts::behind(descriptor).filter(|facts| facts.kind == FileKind::File)?;
        let was_here = || fs::read_link(descriptor).is_ok_and(|name| self.covers(&name));
        if self.kept.contains_key(&facts.id) || was_here() {
            self.note_unnamed(descriptor, facts);
        }
        None
    }

    /// Something in the store of another log that somebody has by another name.
    fn before_unnamed(&mut self, path: &Path) -> Option<Expected> {
        let facts = FileFacts::at(path).filter(|facts| facts.kind == FileKind::File && facts.links > 1)?;
        self.note_unnamed(path, facts);
        None
    }

    /// Writes a file down by its place in the store, where it gets one.
    fn note_unnamed(&mut self, path: &Path, facts: FileFacts) {
        let number = match self.kept.get(&facts.id) {
            Some(number) => Ok(*number),
            None => self.link(path, AtFlags::SYMLINK_FOLLOW),
        };
        let Ok(number) = number else { return };
        self.kept.insert(facts.id, number);
        self.note_content(&store::kept(&self.folder, number), facts);
    }

    /// The times of a folder change with what is in it.
    fn note_folder_of(&mut self, path: &Path) {
        let Some(folder) = path.parent().filter(|folder| self.covers(folder)) else { return };
        if self.last_folder.as_deref() == Some(folder) || self.origins.is_own(folder) {
            return;
        }
        if let Some(facts) = FileFacts::at(folder) {
            self.note_attributes(folder, facts);
            self.last_folder = Some(folder.to_owned());
        }
    }

    fn note_attributes(&mut self, path: &Path, facts: FileFacts) {
        // Each name of a file is to be known, since whatever happens to it happens by all of them.
        let has_others = facts.links > 1 && facts.kind != FileKind::Folder;
        let is_new_name = has_others && self.names.insert(path.to_owned());
        if self.noted.insert(facts.id) || is_new_name {
            let was = Former { attributes: record::attributes(path), facts, kept: Kept::Facts };
            self.write(&Step::Attributes { at: as_bytes(path), was });
        }
    }

    fn note_content(&mut self, path: &Path, facts: FileFacts) {
        if !self.copied.insert(facts.id) {
            return;
        }
        self.noted.insert(facts.id);
        let kept = if facts.bytes == 0 { Kept::Facts } else { self.copy(path, &facts) };
        let was = Former { attributes: record::attributes(path), facts, kept };
        self.write(&Step::Written { at: as_bytes(path), was });
    }

    /// Keeps what is about to go.
    fn keep(&mut self, path: &Path, facts: FileFacts) -> Former {
        // Of a file that has other names as well, nothing is lost with this one.
        let bytes = if facts.links > 1 { 0 } else { facts.bytes };
        let kept = match facts.kind {
            FileKind::Folder => Kept::Facts,
            FileKind::File if self.bytes.saturating_add(bytes) > self.plan.limits.in_all => {
                self.lose(path, &self.too_much())
            }
            _ => match self.link(path, AtFlags::empty()) {
                Ok(number) => {
                    self.bytes = self.bytes.saturating_add(bytes);
                    self.kept.insert(facts.id, number);
                    Kept::Itself(number)
                }
                // Another file system, one without links, or somebody else's file.
                Err(_) => match facts.kind {
                    FileKind::File => self.copy(path, &facts),
                    FileKind::Link => fs::read_link(path).map_or_else(
                        |error| self.lose(path, &error.to_string()),
                        |target| Kept::Target(as_bytes(&target)),
                    ),
                    FileKind::Folder | FileKind::Special => Kept::Facts,
                },
            },
        };
        Former { attributes: record::attributes(path), facts, kept }
    }

    fn link(&mut self, path: &Path, flags: AtFlags) -> io::Result<u64> {
        let (number, place) = self.next_place()?;
        rustix::fs::linkat(CWD, path, CWD, &place, flags)?;
        Ok(number)
    }

    fn copy(&mut self, path: &Path, facts: &FileFacts) -> Kept {
        match self.try_copy(path, facts) {
            Ok(Some(number)) => Kept::Copy(number),
            Ok(None) => {
                let why = if facts.bytes > self.plan.limits.copied_file {
                    format!("{} are too much to copy", in_bytes(facts.bytes))
                } else {
                    self.too_much()
                };
                self.lose(path, &why)
            }
            Err(error) => self.lose(path, &format!("it cannot be copied: {error}")),
        }
    }

    /// `None` where it is too large.
    fn try_copy(&mut self, path: &Path, facts: &FileFacts) -> io::Result<Option<u64>> {
        // Whoever may not read it may be able to write to it all the same.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let from = rustix::fs::open(path, flags, Mode::empty())?;
        let (number, place) = self.next_place()?;
        let to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place)?;
        if rustix::fs::ioctl_ficlone(&to, &from).is_ok() {
            return Ok(Some(number));
        }
        let too_large = facts.bytes > self.plan.limits.copied_file
            || self.bytes.saturating_add(facts.bytes) > self.plan.limits.in_all;
        if too_large {
            drop(to);
            fs::remove_file(&place)?;
            return Ok(None);
        }
        copy_content(&File::from(from), &to, facts.bytes)?;
        self.bytes = self.bytes.saturating_add(facts.bytes);
        Ok(Some(number))
    }

    fn next_place(&mut self) -> io::Result<(u64, PathBuf)> {
        self.open()?;
        let number = self.next;
        self.next += 1;
        Ok((number, store::kept(&self.folder, number)))
    }

    fn too_much(&self) -> String {
        format!("with it, more than {} would be kept", in_bytes(self.plan.limits.in_all))
    }

    fn lose(&mut self, path: &Path, why: &str) -> Kept {
        if self.not_kept.len() < MOST_NAMED {
            self.not_kept.push((path.to_owned(), why.to_owned()));
        }
        Kept::Nothing(why.to_owned())
    }

    fn write(&mut self, step: &Step) {
        self.written += 1;
        if self.written > self.plan.limits.changes {
            if self.failed.is_none() {
                self.fail(step, format!("more than {} changes are not written down", self.plan.limits.changes));
            }
            return;
        }
        let written = self.open().and_then(|log| record::append(log, step));
        if let Err(error) = written
            && self.failed.is_none()
        {
            self.fail(step, format!("what changes cannot be written down: {error}"));
        }
    }

    fn fail(&mut self, step: &Step, why: String) {
        self.failed = step.paths().next().map(|path| (path, why));
    }

    fn open(&mut self) -> io::Result<&mut File> {
        if self.log.is_none() {
            store::make(&self.folder, &self.plan.kept)?;
            if let Some(about) = &self.about {
                store::write_whole(&store::about(&self.folder), about)?;
            }
            // By its name only once it has a beginning: whoever is killed before that has changed nothing.
            let path = store::log(&self.folder);
            let beside = path.with_extension("new");
            let mut log = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            let roots = self.plan.roots.iter().map(|root| as_bytes(root)).collect();
            record::append(&mut log, &Header { version: record::VERSION, roots, began_ms: clock::now_ms() })?;
            rustix::fs::fcntl_setfl(&log, OFlags::APPEND)?;
            fs::rename(beside, path)?;
            self.log = Some(log);
        }
        self.log.as_mut().ok_or_else(|| io::Error::other("there is no log"))
    }
}

/// A number of bytes for people.
pub(crate) fn in_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}
