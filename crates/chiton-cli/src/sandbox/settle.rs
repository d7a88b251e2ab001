//! From a profile to a policy: every group and every `~` is replaced by what it stands for on this machine.
//!
//! 1. Each list is gone through step by step: what is added is looked up, what is taken away goes.
//! 2. Paths are followed to what they really are, and what is in another entry anyway is left out.
//! 3. Chiton's own places are hidden, whatever a profile says.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use chiton_engine::sandbox::policy::{
    HostRule, MadePlace, MissingLayer, NetworkPolicy, SandboxLimits, SandboxPolicy, UndoPolicy,
};

use super::disk::Disk;
use super::entry::{self, Key};
use super::groups::{GROUPS, Made, Members, PlaceRow, Which};
use super::hosts;
use super::limits::{Capacity, LimitName};
use super::paths::{is_like, shown};
use super::profiles::{Change, Composed, Step, is_open};
use super::workspace::{Workspace, too_wide};

/// What a policy depends on besides the settings. Handed in, so that nothing here looks around.
pub(crate) struct Around<'a> {
    /// Where absolute paths begin: `/`, but in tests.
    pub(crate) root: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub(crate) user: u32,
    pub(crate) capacity: Capacity,
    /// Where Chiton keeps its settings, data and state.
    pub(crate) own: Vec<PathBuf>,
}

/// A policy, and where each entry of it comes from.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) policy: SandboxPolicy,
    pub(crate) entries: Vec<SettledEntry>,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
}

/// One entry of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettledEntry {
    pub(crate) key: Key,
    pub(crate) value: Value,
    /// The entry of the profile that it comes from.
    pub(crate) entry: String,
    /// The profile that has it.
    pub(crate) profile: String,
    pub(crate) why: String,
}

/// What an entry stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Path(PathBuf),
    Host(HostRule),
    Port(u16),
    /// The network as a whole.
    Everything,
}

impl Value {
    /// For a person.
    pub(crate) fn shown(&self, home: Option<&Path>) -> String {
        match self {
            Self::Path(path) => shown(path, home),
            Self::Host(rule) => hosts::shown(rule),
            Self::Port(port) => port.to_string(),
            Self::Everything => "*".to_owned(),
        }
    }

    fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            _ => None,
        }
    }
}

/// The policy that `profile` is here.
pub(crate) fn settle(
    profile: &Composed,
    missing: MissingLayer,
    workspace: &Workspace,
    around: &Around<'_>,
) -> Result<Settled> {
    let mut work = Settling { workspace, around, disk: Disk::default(), notes: workspace.notes.clone() };
    let mut entries: Vec<SettledEntry> = Vec::new();
    for key in Key::ALL {
        entries.extend(work.list(key, profile.steps(key)));
    }
    entries.extend(around.own.iter().map(|path| SettledEntry {
        key: Key::Hide,
        value: Value::Path(work.disk.real(path)),
        entry: "always".to_owned(),
        profile: "Chiton".to_owned(),
        why: "what Chiton itself keeps".to_owned(),
    }));
    drop_repeated(&mut entries);
    work.check_reach(&entries)?;

    let paths = |key: Key| -> Vec<PathBuf> {
        let of_key = entries.iter().filter(|entry| entry.key == key);
        of_key.filter_map(|entry| entry.value.path().map(Path::to_owned)).collect()
    };
    let mut limits = SandboxLimits::default();
    for (name, (amount, _)) in &profile.limits {
        name.put(&mut limits, *amount, around.capacity);
    }
    let policy = SandboxPolicy {
        profile: profile.name.clone(),
        workspace: workspace.roots.clone(),
        write: paths(Key::Write),
        made: work.made(&entries),
        temporary: writable_of(&entries, super::groups::TEMPORARY),
        caches: writable_of(&entries, super::groups::CACHED),
        hide: paths(Key::Hide),
        keep: paths(Key::Keep),
        network: network(&entries, profile.steps(Key::Network)),
        sockets: paths(Key::Sockets),
        expose: entries
            .iter()
            .filter_map(|entry| if let Value::Port(port) = entry.value { Some(port) } else { None })
            .collect(),
        limits,
        missing,
        undo: profile.undo,
    };
    Ok(Settled { policy, entries, notes: work.notes })
}

/// A policy that holds nothing but limits.
pub(crate) fn limits_alone(limits: SandboxLimits, workspace: &Workspace) -> SandboxPolicy {
    SandboxPolicy {
        profile: super::profiles::OFF.to_owned(),
        workspace: workspace.roots.clone(),
        write: vec![PathBuf::from("/")],
        made: Vec::new(),
        temporary: Vec::new(),
        caches: Vec::new(),
        hide: Vec::new(),
        keep: Vec::new(),
        network: NetworkPolicy::Open,
        sockets: Vec::new(),
        expose: Vec::new(),
        limits,
        missing: MissingLayer::Refuse,
        undo: UndoPolicy::Off,
    }
}

/// What may be written because of one group.
fn writable_of(entries: &[SettledEntry], group: &str) -> Vec<PathBuf> {
    let of_group = entries.iter().filter(|entry| entry.key == Key::Write && entry.entry == group);
    of_group.filter_map(|entry| entry.value.path().map(Path::to_owned)).collect()
}

fn network(entries: &[SettledEntry], steps: &[Step]) -> NetworkPolicy {
    if is_open(steps) {
        return NetworkPolicy::Open;
    }
    let host = |entry: &SettledEntry| if let Value::Host(rule) = &entry.value { Some(rule.clone()) } else { None };
    let hosts: Vec<HostRule> = entries.iter().filter_map(host).collect();
    if hosts.is_empty() { NetworkPolicy::Off } else { NetworkPolicy::Named(hosts) }
}

/// Leaves out what another entry of the same list has in it. Of what can be written, this is more than tidiness: a link
/// that a command made in one writable folder must not lead to the next.
fn drop_repeated(entries: &mut Vec<SettledEntry>) {
    let first = First::of(entries);
    let stays: Vec<bool> = entries.iter().enumerate().map(|(at, entry)| first.stays(at, entry)).collect();
    let mut stays = stays.into_iter();
    entries.retain(|_| stays.next().unwrap_or(true));
}

/// Where each thing stands first in its list.
struct First<'a> {
    /// By their bytes, without a slash at the end.
    paths: HashMap<(Key, &'a OsStr), usize>,
    others: HashMap<(Key, &'a Value), usize>,
}

impl<'a> First<'a> {
    fn of(entries: &'a [SettledEntry]) -> Self {
        let mut first = Self { paths: HashMap::with_capacity(entries.len()), others: HashMap::new() };
        for (at, entry) in entries.iter().enumerate() {
            match entry.value.path() {
                Some(path) => first.paths.entry((entry.key, trimmed(path))).or_insert(at),
                None => first.others.entry((entry.key, &entry.value)).or_insert(at),
            };
        }
        first
    }

    /// Whether nothing else has the entry at `at` in it.
    fn stays(&self, at: usize, entry: &SettledEntry) -> bool {
        let Some(path) = entry.value.path() else { return self.others.get(&(entry.key, &entry.value)) == Some(&at) };
        // What is kept is kept by name, one by one; and a workspace is named, also where it is a temporary folder.
        let is_named = entry.key == Key::Keep || entry.entry == super::groups::WORKSPACE;
        let is_in = |above: &Path| self.paths.contains_key(&(entry.key, above.as_os_str()));
        self.paths.get(&(entry.key, trimmed(path))) == Some(&at) && (is_named || !path.ancestors().skip(1).any(is_in))
    }
}

/// The path without a slash at its end.
fn trimmed(path: &Path) -> &OsStr {
    path.components().as_path().as_os_str()
}

struct Settling<'a> {
    workspace: &'a Workspace,
    around: &'a Around<'a>,
    disk: Disk,
    notes: Vec<String>,
}

impl Settling<'_> {
    fn list(&mut self, key: Key, steps: &[Step]) -> Vec<SettledEntry> {
        let mut found: Vec<SettledEntry> = Vec::new();
        for step in steps {
            match &step.change {
                Change::Clear => found.clear(),
                Change::Add(text) => {
                    let entry = |(value, why)| SettledEntry {
                        key,
                        value,
                        entry: text.clone(),
                        profile: step.profile.clone(),
                        why,
                    };
                    found.extend(self.look_up(key, text).into_iter().map(entry));
                }
                Change::Remove(text) => self.take_away(key, text, step, &mut found),
            }
        }
        // Before links are followed: what is in a writable folder may be a link that a command made.
        drop_repeated(&mut found);
        found.into_iter().flat_map(|entry| self.follow(entry)).collect()
    }

    fn take_away(&mut self, key: Key, text: &str, step: &Step, found: &mut Vec<SettledEntry>) {
        let before = found.len();
        if text.starts_with('@') {
            found.retain(|entry| entry.entry != text);
        } else {
            // Everything at the path or below it, by each way there.
            let removed: Vec<Value> = self.look_up(key, text).into_iter().map(|(value, _)| value).collect();
            let goes = |value: &Value| match (value, removed.first()) {
                (Value::Path(path), Some(Value::Path(gone))) => {
                    path.starts_with(gone) || self.disk.real(path).starts_with(self.disk.real(gone))
                }
                (value, gone) => Some(value) == gone,
            };
            found.retain(|entry| !goes(&entry.value));
        }
        if found.len() == before {
            let (profile, key) = (&step.profile, key.name());
            self.notes.push(format!("!{text} in {key} of {profile} takes nothing away: no entry is there or below it"));
        }
    }

    /// What an entry stands for, with the reason. Entries were checked when the settings were read.
    fn look_up(&self, key: Key, text: &str) -> Vec<(Value, String)> {
        if text.starts_with('@')
            && let Ok((group, below)) = entry::group(key, text)
        {
            return match &group.members {
                Members::Workspace => self.workspace_places(below),
                Members::Places(rows) => rows.iter().flat_map(|row| self.places(row)).collect(),
                Members::InWorkspace(rows) => {
                    let in_root = |root: &PathBuf| -> Vec<(Value, String)> {
                        let place = |row: &super::groups::HookRow| {
                            let path = |path: PathBuf| (Value::Path(path), row.why.to_owned());
                            self.disk.matching(&root.join(row.path)).into_iter().map(path).collect::<Vec<_>>()
                        };
                        rows.iter().flat_map(place).collect()
                    };
                    self.workspace.roots.iter().flat_map(in_root).chain(self.git_hooks()).collect()
                }
                Members::Hosts(rows) => {
                    let parse =
                        |host: &&str, service: &str| Some((Value::Host(hosts::parse(host).ok()?), service.to_owned()));
                    rows.iter().flat_map(|row| row.hosts.iter().filter_map(|host| parse(host, row.service))).collect()
                }
                Members::Remotes => self.remotes(),
            };
        }
        let why = String::new();
        match key {
            Key::Network if text == "*" => vec![(Value::Everything, why)],
            Key::Network => hosts::parse(text).map(|rule| (Value::Host(rule), why)).into_iter().collect(),
            Key::Expose => entry::port(text).map(|port| (Value::Port(port), why)).into_iter().collect(),
            _ => self.rooted(text).map(|path| (Value::Path(path), why)).into_iter().collect(),
        }
    }

    fn workspace_places(&self, below: Option<&str>) -> Vec<(Value, String)> {
        let root = |root: &PathBuf| match below {
            Some(below) => (Value::Path(root.join(below)), "in the workspace".to_owned()),
            None => (Value::Path(root.clone()), "the workspace".to_owned()),
        };
        let git = |path: &Path| (Value::Path(path.to_owned()), "the git directory of the workspace".to_owned());
        let outer = self.workspace.outer_git_directories();
        let outer = if below.is_none() { outer } else { Vec::new() };
        self.workspace.roots.iter().map(root).chain(outer.into_iter().map(git)).collect()
    }

    /// Only of repositories that are there: `git init` makes hooks of its own.
    fn git_hooks(&self) -> Vec<(Value, String)> {
        let hooks = self.workspace.repositories.iter().flat_map(super::git::Repository::hooks);
        hooks.map(|path| (Value::Path(path), "git runs them, and no diff shows them".to_owned())).collect()
    }

    fn remotes(&self) -> Vec<(Value, String)> {
        let remotes = self.workspace.repositories.iter().flat_map(super::git::Repository::remotes);
        let host =
            |url: String| Some((Value::Host(hosts::of_remote(&url)?), "a git remote of the workspace".to_owned()));
        remotes.filter_map(host).collect()
    }

    /// What a row of a group stands for here.
    fn places(&self, row: &PlaceRow) -> Vec<(Value, String)> {
        let by_variable = row.variable.and_then(|name| Some((name, self.variable(name)?)));
        let base = match &by_variable {
            Some((_, path)) => Some(path.clone()),
            None => self.rooted(row.usual),
        };
        let Some(base) = base else { return Vec::new() };
        let why = match &by_variable {
            Some((name, _)) => format!("{} ({name})", row.why),
            None => row.why.to_owned(),
        };
        let found = match &row.which {
            Which::Itself => vec![base],
            Which::These(names) => {
                names.iter().flat_map(|name| self.disk.matching(&base.join(self.fill(name)))).collect()
            }
            Which::AllBut(names) => self.disk.listed(&base, |name| !names.iter().any(|pattern| is_like(name, pattern))),
            Which::Holding(words) => holds(&base, words).then_some(base).into_iter().collect(),
            Which::IdentityFiles => self.identity_files(&base),
        };
        // A variable is easily set to more than was meant. A row is not: /tmp is meant, also where a home is in it.
        let is_row = by_variable.is_none();
        let narrow = found.into_iter().filter(|path| is_row || too_wide(path, self.around.home.as_deref()).is_none());
        narrow.map(|path| (Value::Path(path), why.clone())).collect()
    }

    /// Of what may be changed, that which a program that is here makes by itself.
    fn made(&self, entries: &[SettledEntry]) -> Vec<MadePlace> {
        let written = entries.iter().filter(|entry| entry.key == Key::Write);
        let written: HashSet<&Path> = written.filter_map(|entry| entry.value.path()).collect();
        let folders = self.program_folders();
        let mut programs_here: HashMap<&str, bool> = HashMap::new();
        let mut is_here = |program: &&'static str| {
            let look = || folders.iter().any(|folder| folder.join(program).is_file());
            *programs_here.entry(*program).or_insert_with(look)
        };
        let mut made = Vec::new();
        for row in GROUPS.iter().filter_map(|group| group.members.places()).flatten() {
            let (place, programs): (fn(PathBuf) -> MadePlace, _) = match row.made {
                Made::Never => continue,
                Made::Folders(programs) => (MadePlace::Folder, programs),
                Made::Files(programs) => (MadePlace::File, programs),
            };
            if programs.iter().any(&mut is_here) {
                let paths =
                    self.places(row).into_iter().filter_map(|(value, _)| value.path().map(|it| self.disk.real(it)));
                made.extend(paths.filter(|path| written.contains(path.as_path())).map(place));
            }
        }
        made
    }

    /// Where programs are: on the PATH, and in the workspace.
    fn program_folders(&self) -> Vec<PathBuf> {
        let path = (self.around.variable)("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in std::env::split_paths(&path).chain(self.workspace.roots.iter().cloned()) {
            let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
            // /bin and /usr/bin are one folder on many machines.
            let folder = self.disk.real(&folder);
            if !folders.contains(&folder) && folder.is_dir() {
                folders.push(folder);
            }
        }
        folders
    }

    /// The path that a variable holds, where that is one for files. `HISTFILE=/dev/null` is none.
    fn variable(&self, name: &str) -> Option<PathBuf> {
        let text = (self.around.variable)(name)?.into_string().ok()?;
        let first = PathBuf::from(text.split(':').next()?);
        let device = ["/dev", "/proc", "/sys"].iter().any(|place| first.starts_with(place));
        let plain = first.components().all(|part| !matches!(part, std::path::Component::ParentDir));
        (first.is_absolute() && plain && (!device || first.starts_with("/dev/shm"))).then_some(first)
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{uid}", &self.around.user.to_string())
    }

    /// A path from `/` or `~`.
    fn rooted(&self, text: &str) -> Option<PathBuf> {
        match text.strip_prefix('~') {
            Some(rest) => Some(self.around.home.as_ref()?.join(rest.trim_start_matches('/'))),
            None => (!text.is_empty()).then(|| self.around.root.join(self.fill(text).trim_start_matches('/'))),
        }
    }

    /// Keys that a configuration of ssh names, wherever they are. Public halves and patterns are not keys.
    fn identity_files(&self, file: &Path) -> Vec<PathBuf> {
        let text = fs::read_to_string(file).unwrap_or_default();
        let named = |line: &str| {
            let (word, path) = line.trim().split_once([' ', '\t', '='])?;
            let path = path.trim().trim_start_matches('=').trim().trim_matches('"');
            let is_key =
                word.eq_ignore_ascii_case("IdentityFile") && !path.contains('%') && !is_like(path.as_ref(), "*.pub");
            let rooted = path.starts_with('/') || path.starts_with("~/");
            (is_key && rooted).then(|| self.rooted(path)).flatten()
        };
        text.lines().filter_map(named).collect()
    }

    /// Follows the links of a path. What is kept stays what it is called, and so does what it leads to.
    fn follow(&mut self, entry: SettledEntry) -> Vec<SettledEntry> {
        let Value::Path(path) = &entry.value else { return vec![entry] };
        let followed = self.disk.real(path);
        // A person who names a folder means it. A link that leads a group there was not meant.
        if entry.key == Key::Write && entry.entry.starts_with('@') {
            let home = self.around.home.as_deref().map(|home| self.disk.real(home));
            let wide = too_wide(&followed, home.as_deref()).filter(|_| followed != *path);
            let inside = self.workspace.roots.iter().any(|root| followed.starts_with(root));
            let strays = entry.entry.contains('/') && !inside;
            if wide.is_some() || strays {
                let (from, to) = (path.display(), followed.display());
                self.notes.push(format!("{from} of {} leads to {to}, so it is not writable", entry.entry));
                return Vec::new();
            }
        }
        let name = self.disk.real_name(path);
        let leads_elsewhere = entry.key == Key::Keep && name != followed;
        let named = leads_elsewhere.then(|| SettledEntry { value: Value::Path(name), ..entry.clone() });
        named.into_iter().chain([SettledEntry { value: Value::Path(followed), ..entry }]).collect()
    }

    /// A workspace that is hidden cannot be worked in.
    fn check_reach(&self, entries: &[SettledEntry]) -> Result<()> {
        let hidden = |root: &PathBuf| {
            let over = |entry: &&SettledEntry| entry.value.path().is_some_and(|path| root.starts_with(path));
            entries.iter().filter(|entry| entry.key == Key::Hide).find(over)
        };
        for root in &self.workspace.roots {
            if let Some(entry) = hidden(root) {
                bail!(
                    "the workspace {} lies in what the sandbox hides ({}: {}): start elsewhere",
                    root.display(),
                    entry.entry,
                    entry.why
                );
            }
        }
        Ok(())
    }
}

/// Whether a file holds one of these. One that cannot be read may.
fn holds(file: &Path, words: &[&str]) -> bool {
    match fs::read(file) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            words.iter().any(|word| text.contains(word))
        }
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// The limits of a policy that are set, with the profile that says so.
pub(crate) fn limits<'a>(profile: &'a Composed, policy: &SandboxPolicy) -> Vec<(LimitName, u64, &'a str)> {
    let of = |name: LimitName| {
        let from = profile.limits.get(&name).map_or("", |(_, from)| from.as_str());
        Some((name, name.get(&policy.limits)?, from))
    };
    LimitName::ALL.into_iter().filter_map(of).collect()
}
