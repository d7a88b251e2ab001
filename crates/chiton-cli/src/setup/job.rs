//! One call of `chiton setup`: which files it touches and what stands in them before and after.
//!
//! Everything is worked out before anything is written, so that a file which cannot be edited leaves all as it is.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::client::{Approval, Client, EntryContent, SettingPlace, SetupSurroundings, Switch};
use super::connection::Connection;
use super::file::{Copied, SettingsFile};
use super::format::{Edit, FileFormat, FormatError, Setting, Spot};

/// Whose settings are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    User,
    Project,
}

pub(super) struct Job<'a> {
    pub(super) client: &'static Client,
    /// The name of the entry.
    pub(super) name: &'a str,
    pub(super) scope: Scope,
    /// The file with the entry.
    pub(super) path: PathBuf,
    /// The full path of this program.
    pub(super) own: String,
}

/// What setup is to lead to.
pub(super) struct Wish {
    pub(super) connection: Connection,
    pub(super) approval: Approval,
    pub(super) shell: OwnShell,
    /// The names of our tools.
    pub(super) tools: Vec<String>,
}

/// What becomes of the client's own shell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnShell {
    Stays,
    SwitchedOff,
}

/// A file, and the settings beside the entry that go into it: those of one switch after those of another.
struct Target {
    path: PathBuf,
    format: FileFormat,
    holds_entry: bool,
    groups: Vec<Vec<Setting>>,
}

/// What happens to one file.
pub(super) struct FileChange {
    pub(super) path: PathBuf,
    pub(super) file: SettingsFile,
    /// What will stand in it; nothing where it is removed.
    pub(super) after: Option<String>,
    pub(super) entry: EntryChange,
    /// The settings beside the entry that are put in or taken back.
    pub(super) settings: Vec<Setting>,
    pub(super) copy: CopyPlan,
}

/// What happens to the entry in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryChange {
    /// It is not in this file, or stays as it is.
    Untouched,
    Added,
    Changed,
    Removed,
}

/// What happens to the copy of what was there before us.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyPlan {
    Left,
    Written,
    /// The same, and a note where there was no file.
    WrittenOrNoted,
    Removed,
}

impl FileChange {
    pub(super) fn is_change(&self) -> bool {
        self.after.as_deref() != self.file.text()
    }
}

/// What is there under our name.
enum FoundEntry {
    Nothing,
    Ours(Connection, Value),
}

impl Job<'_> {
    fn spot(&self) -> Spot<'_> {
        Spot { container: self.client.container, name: self.name }
    }

    /// What setup changes.
    pub(super) fn plan(&self, wish: &Wish, around: &SetupSurroundings) -> Result<Vec<FileChange>> {
        let mut switches = Vec::new();
        if wish.approval == Approval::Given {
            switches.push(&self.client.approve);
        }
        if wish.shell == OwnShell::SwitchedOff {
            switches.push(&self.client.replace);
        }
        let targets = self.targets(&switches, &wish.tools, around)?;
        targets.into_iter().map(|target| self.plan_one(target, wish)).collect()
    }

    fn plan_one(&self, target: Target, wish: &Wish) -> Result<FileChange> {
        let file = SettingsFile::read(&target.path)?;
        let before = file.text().unwrap_or_default();
        let (mut after, mut entry, mut copy) = (before.to_owned(), EntryChange::Untouched, CopyPlan::Left);
        if target.holds_entry {
            (after, entry) = self.with_entry(before, wish)?;
        }

        let mut settings = Vec::new();
        for setting in target.groups.iter().flatten() {
            if !target.format.has(&after, setting).map_err(|error| malformed(&target, &error))? {
                after = target.format.put(&after, setting).map_err(|error| unfit(&target, &error))?;
                settings.push(setting.clone());
            }
        }

        // A copy is one of the time before us: one with something of ours in it must not replace it.
        if after != before {
            if target.holds_entry && (entry == EntryChange::Added || !file.backup().exists()) {
                copy = CopyPlan::Written;
            } else if !target.holds_entry && self.is_without_ours(&target, &file)? {
                copy = CopyPlan::WrittenOrNoted;
            }
        }
        let path = target.path;
        let after = (file.text().is_some() || !after.is_empty()).then_some(after);
        Ok(FileChange { path, file, after, entry, settings, copy })
    }

    /// Whether nothing in a file is known to be of us.
    fn is_without_ours(&self, target: &Target, file: &SettingsFile) -> Result<bool> {
        let was = match file.before_us()? {
            Copied::Nothing => return Ok(true),
            Copied::NoFile => json!({}),
            Copied::Text(text) => target.format.read(&text).unwrap_or_else(|_| json!({})),
        };
        let now = read(target, file.text().unwrap_or_default())?;
        let tools = all_tools();
        let mut candidates = target.groups.iter().flatten().cloned().collect::<Vec<_>>();
        for switch in [&self.client.approve, &self.client.replace] {
            if let Switch::Settings(settings, _) = switch {
                candidates.extend(settings.iter().flat_map(|setting| setting.resolve(self.name, &tools)));
            }
        }
        Ok(candidates.iter().all(|setting| setting.ours(&now, &was).is_none()))
    }

    /// The text with the entry as it should be.
    fn with_entry(&self, before: &str, wish: &Wish) -> Result<(String, EntryChange)> {
        let content = self.content(&wish.connection, wish.approval, &wish.tools);
        let entry = self.client.entry(&content);
        Ok(match self.find(before)? {
            FoundEntry::Nothing => (self.edit(before, &Edit::Insert(&entry))?, EntryChange::Added),
            FoundEntry::Ours(there, found) => {
                let same_kind = std::mem::discriminant(&there) == std::mem::discriminant(&wish.connection);
                let after = if same_kind {
                    self.edit(before, &Edit::Change(&self.client.needed_fields(&content, &found)))?
                } else {
                    self.edit(&self.edit(before, &Edit::Remove)?, &Edit::Insert(&entry))?
                };
                let change = if after == before { EntryChange::Untouched } else { EntryChange::Changed };
                (after, change)
            }
        })
    }

    fn content<'a>(&'a self, connection: &'a Connection, approval: Approval, tools: &'a [String]) -> EntryContent<'a> {
        EntryContent { name: self.name, connection, approval, tools }
    }

    /// What undo changes: everything that setup may have written, as far as it is there and of us.
    pub(super) fn plan_undo(&self, tools: &[String], around: &SetupSurroundings) -> Result<Vec<FileChange>> {
        let switches = [&self.client.approve, &self.client.replace];
        let targets = self.targets_that_exist(&switches, around)?;
        targets.into_iter().map(|target| self.undo_one(target, tools)).collect()
    }

    fn undo_one(&self, target: Target, tools: &[String]) -> Result<FileChange> {
        let file = SettingsFile::read(&target.path)?;
        let before = file.text().unwrap_or_default().to_owned();
        let found = if target.holds_entry { self.find(&before)? } else { FoundEntry::Nothing };
        let copied = self.copied_before_us(&target, &file)?;
        let was = match (&copied, &found) {
            (Copied::Text(text), _) => target.format.read(text).unwrap_or_else(|_| json!({})),
            (Copied::NoFile, _) | (Copied::Nothing, FoundEntry::Ours(..)) => json!({}),
            // Nothing says that we were here.
            (Copied::Nothing, FoundEntry::Nothing) => return Ok(untouched(target.path, file)),
        };

        let now = read(&target, &before)?;
        let ours = |group: &Vec<Setting>| group.iter().filter_map(|setting| setting.ours(&now, &was)).collect();
        let groups: Vec<Vec<Setting>> = target.groups.iter().map(ours).collect();
        let settings: Vec<Setting> = groups.iter().flatten().cloned().collect();
        if settings.is_empty() && matches!(found, FoundEntry::Nothing) {
            return Ok(untouched(target.path, file));
        }

        let entry = if matches!(found, FoundEntry::Ours(..)) { EntryChange::Removed } else { EntryChange::Untouched };
        let original = match &copied {
            Copied::Text(text) => text.as_str(),
            Copied::NoFile | Copied::Nothing => "",
        };
        if self.gives(&target, original, &found, &groups, tools).any(|text| text == before) {
            let after = matches!(copied, Copied::Text(_)).then(|| original.to_owned());
            return Ok(FileChange { path: target.path, file, after, entry, settings, copy: CopyPlan::Removed });
        }

        let mut after = before;
        if entry == EntryChange::Removed {
            after = self.edit(&after, &Edit::Remove)?;
        }
        for setting in &settings {
            after = target.format.take_back(&after, setting, &was).map_err(|error| unfit(&target, &error))?;
        }
        // A copy without the entry would be taken for proof that what is there now is of us.
        let copy = if target.holds_entry { CopyPlan::Left } else { CopyPlan::Removed };
        Ok(FileChange { path: target.path, file, after: Some(after), entry, settings, copy })
    }

    /// What was there before us. A copy with our entry in it is younger: there was one already when it was made.
    fn copied_before_us(&self, target: &Target, file: &SettingsFile) -> Result<Copied> {
        let copied = file.before_us()?;
        let is_younger = match &copied {
            Copied::Text(text) if target.holds_entry => matches!(self.find(text), Ok(FoundEntry::Ours(..))),
            _ => false,
        };
        Ok(if is_younger { Copied::Nothing } else { copied })
    }

    /// What the original becomes with what is of us, in each order in which it may have come.
    fn gives<'b>(
        &'b self,
        target: &'b Target,
        original: &'b str,
        found: &'b FoundEntry,
        groups: &'b [Vec<Setting>],
        tools: &'b [String],
    ) -> impl Iterator<Item = String> + 'b {
        let with_entry = match found {
            FoundEntry::Nothing => Some(original.to_owned()),
            FoundEntry::Ours(connection, there) => {
                let content = self.content(connection, self.client.approval_in(there), tools);
                let entry = self.client.entry_as_found(&content, there);
                target.format.edit(original, self.spot(), &Edit::Insert(&entry)).ok()
            }
        };
        let put = |text: String, setting: &Setting| target.format.put(&text, setting);
        let orders: [Vec<&Setting>; 2] = [groups.iter().flatten().collect(), groups.iter().rev().flatten().collect()];
        orders.into_iter().filter_map(move |order| order.into_iter().try_fold(with_entry.clone()?, put).ok())
    }

    /// The files of setup: that of the entry first.
    fn targets(&self, switches: &[&Switch], tools: &[String], around: &SetupSurroundings) -> Result<Vec<Target>> {
        let mut targets =
            vec![Target { path: self.path.clone(), format: self.client.format, holds_entry: true, groups: Vec::new() }];
        for switch in switches {
            let Switch::Settings(settings, _) = switch else { continue };
            for setting in *settings {
                let resolved = setting.resolve(self.name, tools);
                match &setting.place {
                    SettingPlace::Beside => targets[0].groups.push(resolved),
                    SettingPlace::Own(place) => {
                        let path = match self.scope {
                            Scope::User => place.of_user(self.client.title, around)?,
                            Scope::Project => place.of_project(around).with_context(|| {
                                format!(
                                    "{} takes '{}' from your own settings alone: leave --project out",
                                    self.client.title,
                                    setting.path.join(".")
                                )
                            })?,
                        };
                        match targets.iter_mut().find(|target| target.path == path) {
                            Some(target) => target.groups.push(resolved),
                            None => targets.push(Target {
                                path,
                                format: FileFormat::Jsonc,
                                holds_entry: false,
                                groups: vec![resolved],
                            }),
                        }
                    }
                }
            }
        }
        Ok(targets)
    }

    /// The same for undo, where a file that a project cannot have was never written.
    fn targets_that_exist(&self, switches: &[&Switch], around: &SetupSurroundings) -> Result<Vec<Target>> {
        let possible = |switch: &&&Switch| match switch {
            Switch::Settings(settings, _) => settings.iter().all(|setting| match &setting.place {
                SettingPlace::Own(place) => self.scope == Scope::User || place.of_project(around).is_some(),
                SettingPlace::Beside => true,
            }),
            _ => true,
        };
        let switches: Vec<&Switch> = switches.iter().filter(possible).copied().collect();
        self.targets(&switches, &all_tools(), around)
    }

    fn find(&self, text: &str) -> Result<FoundEntry> {
        let shown = self.path.display();
        let read = self.client.format.read(text);
        let all = read.map_err(|error| anyhow!("{shown} is malformed: {error}; nothing was changed"))?;
        let spot = self.spot();
        let Some(entry) = all.get(spot.container).and_then(|container| container.get(spot.name)) else {
            return Ok(FoundEntry::Nothing);
        };
        let connection = self.client.connection_of(entry).filter(|connection| connection.is_chiton(&self.own));
        let connection = connection.with_context(|| {
            format!(
                "{shown} has another server named '{}'; nothing was changed: choose another name with --name",
                spot.name
            )
        })?;
        Ok(FoundEntry::Ours(connection, entry.clone()))
    }

    fn edit(&self, text: &str, edit: &Edit) -> Result<String> {
        let edited = self.client.format.edit(text, self.spot(), edit);
        edited.map_err(|error| anyhow!("{} was left as it is: {error}", self.path.display()))
    }
}

fn untouched(path: PathBuf, file: SettingsFile) -> FileChange {
    let after = file.text().map(str::to_owned);
    FileChange { path, file, after, entry: EntryChange::Untouched, settings: Vec::new(), copy: CopyPlan::Left }
}

fn read(target: &Target, text: &str) -> Result<Value> {
    target.format.read(text).map_err(|error| malformed(target, &error))
}

fn malformed(target: &Target, error: &FormatError) -> anyhow::Error {
    anyhow!("{} is malformed: {error}; nothing was changed", target.path.display())
}

fn unfit(target: &Target, error: &FormatError) -> anyhow::Error {
    anyhow!("{} was left as it is: {error}", target.path.display())
}

/// The tools of all dialects: which of them an earlier call of setup meant is not known.
fn all_tools() -> Vec<String> {
    super::tools_of(chiton_dialects::catalogue::all().iter().copied())
}
