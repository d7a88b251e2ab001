//! Writes down what is about to change, and keeps what would be lost.
//!
//! 1. Whoever is about to change a file says so first ([`Recorder::before`]). What is there now goes into the log, and what
//!    would be lost into the store: by a link where it goes, by a copy where it is written to.
//! 2. What a command has made itself need not be kept: [`Origins`] knows which paths that are.
//! 3. At the end, what is there then is written down as well ([`super::list`]), so that changes of others can be told
//!    apart.
//!
//! The log is there with the first change; a command that changes nothing leaves nothing.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, SeekFrom};
use serde::{Deserialize, Serialize};

use super::origins::Origins;
use super::record::{self, FileFacts, FileId, FileKind, Former, Header, Kept, LogReader, Step, as_bytes, as_path};
use super::store;
use crate::run::NotKept;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepLimits {
    /// Bytes of one file that is written to, and so has to be copied. Where the file system shares blocks between files,
    /// there is no limit.
    pub copied_file: u64,
    /// Bytes of what one command removes and changes.
    pub in_all: u64,
}

impl Default for KeepLimits {
    fn default() -> Self {
        Self { copied_file: 128 << 20, in_all: 4 << 30 }
    }
}

/// What is written down where, for one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeepPlan {
    /// Below which folders; without links.
    pub(crate) roots: Vec<PathBuf>,
    /// The folder of all logs.
    pub(crate) store: PathBuf,
    pub(crate) limits: KeepLimits,
}

/// A change that somebody is about to make. Paths are without links, but for the last part of those that mean a link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coming<'a> {
    /// Something new comes here.
    Made(&'a Path),
    /// What is here is opened to be written to; it is made where there is nothing, if the flag says so.
    Opened { path: &'a Path, makes: bool },
    /// What is here goes.
    Removed(&'a Path),
    /// What is here gets another name, and replaces what has that.
    Moved { from: &'a Path, to: &'a Path },
    /// Two change places.
    Exchanged { one: &'a Path, other: &'a Path },
    /// Something about this changes that is not its content.
    Attributes(&'a Path),
}

/// Writes down what one command changes.
#[derive(Debug)]
pub(crate) struct Recorder {
    plan: KeepPlan,
    folder: PathBuf,
    log: Option<File>,
    origins: Origins,
    /// Files whose attributes, or whose content too, are in the log.
    noted: HashSet<FileId>,
    copied: HashSet<FileId>,
    /// The number that the next thing in the store gets.
    next: u64,
    bytes: u64,
    not_kept: Vec<NotKept>,
    /// Why nothing can be written down any more.
    failed: Option<String>,
}

/// How many things that could not be kept are named.
const MOST_NAMED: usize = 50;

impl Recorder {
    /// For the command with this id.
    pub(crate) fn new(plan: KeepPlan, id: &str) -> Self {
        Self {
            folder: plan.store.join(id),
            plan,
            log: None,
            origins: Origins::default(),
            noted: HashSet::new(),
            copied: HashSet::new(),
            next: 0,
            bytes: 0,
            not_kept: Vec::new(),
            failed: None,
        }
    }

    /// Goes on with a log that somebody began who was killed.
    pub(crate) fn resume(plan: KeepPlan, id: &str) -> io::Result<Self> {
        let mut recorder = Self::new(plan, id);
        let path = store::log(&recorder.folder);
        if !path.exists() {
            return Ok(recorder);
        }
        let (_, steps) = LogReader::open(&path)?;
        for step in steps {
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
        recorder.log = Some(OpenOptions::new().append(true).open(path)?);
        Ok(recorder)
    }

    /// Whether anything was written down.
    pub(crate) fn has_begun(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What would be lost for ever.
    pub(crate) fn not_kept(&self) -> &[NotKept] {
        &self.not_kept
    }

    /// Whether changes here are written down.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.plan.roots.iter().any(|root| path.starts_with(root))
    }

    /// Writes down what is so before a change.
    pub(crate) fn before(&mut self, coming: Coming<'_>) {
        match coming {
            Coming::Made(path) => self.before_made(path),
            Coming::Opened { path, makes } => self.before_opened(path, makes),
            Coming::Removed(path) => self.before_removed(path),
            Coming::Moved { from, to } => self.before_moved(from, to),
            Coming::Exchanged { one, other } => self.before_exchanged(one, other),
            Coming::Attributes(path) => self.before_attributes(path),
        }
    }

    fn before_made(&mut self, path: &Path) {
        if !self.covers(path) || self.origins.is_own(path) || FileFacts::at(path).is_some() {
            return;
        }
        self.note_folder_of(path);
        self.write(&Step::Absent { at: as_bytes(path) });
        self.origins.made(path);
    }

    fn before_opened(&mut self, path: &Path, makes: bool) {
        if !self.covers(path) || self.origins.is_own(path) {
            return;
        }
        match FileFacts::at(path) {
            None if makes => self.before_made(path),
            Some(facts) if facts.kind == FileKind::File => self.note_content(path, facts),
            // What is opened is not changed by that, or the kernel does not let it be written to.
            _ => {}
        }
    }

    fn before_removed(&mut self, path: &Path) {
        if !self.covers(path) || self.origins.is_own(path) {
            return;
        }
        let Some(facts) = FileFacts::at(path) else { return };
        // Programs try this with every folder, and the kernel says which one is not empty.
        if facts.kind == FileKind::Folder && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            return;
        }
        self.note_folder_of(path);
        let was = self.keep(path, facts);
        self.write(&Step::Gone { at: as_bytes(path), was });
    }

    fn before_moved(&mut self, from: &Path, to: &Path) {
        if !self.covers(from) && !self.covers(to) || from == to {
            return;
        }
        let Some(facts) = FileFacts::at(from) else { return };
        if FileFacts::at(to).is_some_and(|there| there.id == facts.id) {
            // Two names of one file: nothing happens.
            return;
        }
        if self.covers(to) {
            if FileFacts::at(to).is_some() { self.before_removed(to) } else { self.before_made(to) }
        }
        // Nobody watches what becomes of it where it goes.
        if !self.covers(to) && facts.kind != FileKind::Folder {
            self.before_removed(from);
        }
        self.note_folder_of(from);
        self.note_folder_of(to);
        self.write(&Step::Moved { from: as_bytes(from), to: as_bytes(to), was: facts });
        self.origins.moved(from, to);
    }

    fn before_exchanged(&mut self, one: &Path, other: &Path) {
        let (Some(first), Some(_)) = (FileFacts::at(one), FileFacts::at(other)) else { return };
        if !self.covers(one) || !self.covers(other) {
            return;
        }
        self.note_folder_of(one);
        self.note_folder_of(other);
        self.write(&Step::Exchanged { one: as_bytes(one), other: as_bytes(other), first: first.id });
        self.origins.exchanged(one, other);
    }

    fn before_attributes(&mut self, path: &Path) {
        if !self.covers(path) || self.origins.is_own(path) {
            return;
        }
        if let Some(facts) = FileFacts::at(path) {
            self.note_attributes(path, facts);
        }
    }

    /// The times of a folder change with what is in it.
    fn note_folder_of(&mut self, path: &Path) {
        let Some(folder) = path.parent().filter(|folder| self.covers(folder) && !self.origins.is_own(folder)) else {
            return;
        };
        if let Some(facts) = FileFacts::at(folder) {
            self.note_attributes(folder, facts);
        }
    }

    fn note_attributes(&mut self, path: &Path, facts: FileFacts) {
        if self.noted.insert(facts.id) {
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
            _ => match self.link(path) {
                Ok(number) => {
                    self.bytes = self.bytes.saturating_add(bytes);
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
        let attributes = if matches!(kept, Kept::Itself(_)) { Vec::new() } else { record::attributes(path) };
        Former { facts, attributes, kept }
    }

    fn link(&mut self, path: &Path) -> io::Result<u64> {
        let (number, place) = self.next_place()?;
        rustix::fs::linkat(CWD, path, CWD, &place, AtFlags::empty())?;
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
            self.not_kept.push(NotKept { path: path.display().to_string(), why: why.to_owned() });
        }
        Kept::Nothing(why.to_owned())
    }

    fn write(&mut self, step: &Step) {
        let written = self.open().and_then(|log| record::append(log, step));
        if let Err(error) = written
            && self.failed.is_none()
        {
            let why = format!("what changes cannot be written down: {error}");
            self.failed = Some(why.clone());
            for path in step.paths().take(1) {
                self.lose(&path, &why);
            }
        }
    }

    fn open(&mut self) -> io::Result<&mut File> {
        if self.log.is_none() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o700).create(store::kept_folder(&self.folder))?;
            let path = store::log(&self.folder);
            let mut log = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
            let roots = self.plan.roots.iter().map(|root| as_bytes(root)).collect();
            record::append(&mut log, &Header { version: record::VERSION, roots, began_ms: store::now_ms() })?;
            self.log = Some(log);
        }
        self.log.as_mut().ok_or_else(|| io::Error::other("there is no log"))
    }
}

/// Copies the content of a file, with the holes that it has.
pub(crate) fn copy_content(from: &File, to: &File, bytes: u64) -> io::Result<()> {
    let mut place = 0;
    while place < bytes {
        // A file system that knows no holes says that all of it is data.
        let data = match rustix::fs::seek(from, SeekFrom::Data(place)) {
            Ok(data) => data,
            Err(rustix::io::Errno::NXIO) => break,
            Err(_) => place,
        };
        let end = rustix::fs::seek(from, SeekFrom::Hole(data)).unwrap_or(bytes).max(data + 1);
        copy_range(from, to, data, end)?;
        place = end;
    }
    Ok(rustix::fs::ftruncate(to, bytes)?)
}

fn copy_range(from: &File, to: &File, begin: u64, end: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;

    let (mut here, mut there) = (begin, begin);
    while here < end {
        let wanted = usize::try_from((end - here).min(1 << 30)).unwrap_or(1 << 30);
        match rustix::fs::copy_file_range(from, Some(&mut here), to, Some(&mut there), wanted) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // Two file systems, or a kernel that cannot.
            Err(_) => {
                let mut bytes = vec![0; wanted.min(1 << 20)];
                let count = from.read_at(&mut bytes, here)?;
                if count == 0 {
                    return Ok(());
                }
                to.write_all_at(&bytes[..count], there)?;
                (here, there) = (here + count as u64, there + count as u64);
            }
        }
    }
    Ok(())
}

/// A number of bytes for people.
pub(crate) fn in_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}
