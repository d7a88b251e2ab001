//! What speaks against an effect: the only module that objects.
//!
//! [`findings`] takes an effect and the places that matter in this context. An effect on files is compared with those
//! places; every other effect has its rule by its [`Kind`].

pub(crate) mod credentials;
mod instead;
mod moves;
mod own;
mod rights;
pub(crate) mod start_files;
mod work;

use std::sync::Arc;

use chiton_shell::tree::Span;

use self::credentials::Secrecy;
use self::own::{OwnPlaces, Part};
use crate::context::{Context, Surroundings};
use crate::effect::{Certainty, Depth, Effect, Kind, Writing};
use crate::needs::{Loss, LossBy, Needs};
use crate::rules::{self, Rule};
use crate::value::path::{self, Extent, Target};
use crate::value::{Piece, Text};
use crate::verdict::Decision::{self, Ask, Deny};
use crate::verdict::Finding;

/// Everything that speaks against `effect` at `span`, for a command that stands in `cwd`. `is_written` says which files
/// the command itself has written.
pub(crate) fn findings(
    effect: Effect<'_>,
    places: &Places,
    cwd: Option<&str>,
    is_written: &dyn Fn(&str) -> bool,
    span: Span,
) -> Vec<Finding> {
    let on = |what: &Text, depth, act, doing: &str, certainty, objects: &dyn Fn(&Target) -> Option<Objection>| {
        if let Some(part) = own::by_variable(what) {
            let objection = (&rules::CHITON, Deny, part.named());
            return vec![object_to(objection, act, certainty, doing, what, &Target::Anything, span)];
        }
        path::targets(what, cwd)
            .iter()
            .flat_map(disks_matched)
            .filter_map(|target| {
                let objection = objects(&target)?;
                let needs = needed(&target, depth, act, objection.0);
                Some(object_to(objection, act, certainty, doing, what, &target, span).where_reached(needs))
            })
            .collect()
    };

    match effect {
        Effect::Delete { what, depth, certainty, doing } => {
            on(what, depth, Act::Deletes, doing, certainty, &|target| {
                places.delete(&narrowed(target, depth), depth != Depth::Entry)
            })
        }
        Effect::Move { what, doing } => {
            on(what, Depth::Tree, Act::Moves, doing, Certainty::Would, &|target| places.move_away(target))
        }
        Effect::Write { what, writing, certainty, doing } => {
            on(what, Depth::Entry, Act::Writes, doing, certainty, &|target| {
                places.write(target, writing == Writing::Replaces)
            })
        }
        Effect::Rights { what, depth, doing } => {
            on(what, depth, Act::ChangesRights, doing, Certainty::Would, &|target| {
                places.change_rights(target, depth != Depth::Entry)
            })
        }
        Effect::OpenTree { what, doing } => {
            on(what, Depth::Tree, Act::ChangesRights, doing, Certainty::Would, &|target| places.open_to_all(target))
        }
        Effect::Device { what, doing } => {
            let mut found = on(what, Depth::Entry, Act::Writes, doing, Certainty::Would, &changes_device);
            // A device is no file: what can be written to does not decide about it.
            for finding in &mut found {
                finding.needs = None;
            }
            found
        }
        Effect::Print { what, program } => prints(what, Some(program), places, cwd, is_written, span),
        Effect::Read { what } => prints(what, None, places, cwd, is_written, span),
        Effect::Of { kind, reason, target, needs } => vec![of_kind(kind, reason, span, target).where_reached(needs)],
    }
}

/// What speaks against opening a file, and against printing it where a program does: the secrets of Chiton are not read
/// by commands, and what proves who somebody is is not printed without asking.
fn prints(
    what: &Text,
    program: Option<&str>,
    places: &Places,
    cwd: Option<&str>,
    is_written: &dyn Fn(&str) -> bool,
    span: Span,
) -> Vec<Finding> {
    if let [Piece::Known(plain)] = what.0.as_slice()
        && !places.own.lies_in_workspace(&places.workspace)
        && credentials::is_everyday(plain, cwd, places)
    {
        return Vec::new();
    }
    let of_chiton = |path: String| {
        let reason = format!("This would read {path}, {}.", Part::Secrets.named());
        of_kind(Kind::Weaken, reason, span, Some(path))
    };
    if own::by_variable(what) == Some(Part::Secrets) {
        return vec![of_chiton(what.display())];
    }

    let mut found = Vec::new();
    for target in path::targets(what, cwd) {
        let Target::At { path, .. } = target else { continue };
        let is_shown = || credentials::secrecy(&path, places) == Some(Secrecy::Kept) && !is_written(&path);
        if places.own.holds_secret(&path, &places.home) {
            found.push(of_chiton(path));
        } else if let Some(program) = program.filter(|_| is_shown()) {
            // What is not known of a path is shown as it was written.
            let named = if path.contains('\u{1}') || !what.is_decided() { what.display() } else { path.clone() };
            let reason = format!("`{program}` would print {named}, which holds credentials.");
            let needs = Needs::Read(vec![path]);
            found.push(of_kind(Kind::Reveal, reason, span, Some(named)).where_reached(Some(needs)));
        }
    }
    found
}

/// What has to be within reach for an act on `target` to be what `rule` objects to.
fn needed(target: &Target, depth: Depth, act: Act, rule: &Rule) -> Option<Needs> {
    let Target::At { path, extent, doubtful } = target else { return None };
    let (path, below) = (path.clone(), depth != Depth::Entry || *extent != Extent::Itself);
    // Of a doubtful target, nobody knows what is lost.
    let loss = act.loses(rule).filter(|_| !doubtful);
    Some(match loss {
        Some(by) => Needs::Lose(vec![Loss { path, below, by }]),
        None => Needs::Change { path, below },
    })
}

fn of_kind(kind: Kind, reason: String, span: Span, target: Option<String>) -> Finding {
    let (rule, decision) = judgement(kind);
    let finding = Finding::new(rule, decision, reason, span, target);
    match instead::of_kind(kind) {
        "" => finding,
        instead => finding.with_alternative(instead),
    }
}

/// The rule of each kind of effect, and how grave it is.
pub(crate) const fn judgement(kind: Kind) -> (&'static Rule, Decision) {
    match kind {
        Kind::Power => (&rules::POWER, Deny),
        Kind::OtherKernel => (&rules::POWER, Ask),
        Kind::Kernel => (&rules::KERNEL, Ask),
        Kind::Firewall => (&rules::FIREWALL, Ask),
        Kind::Accounts => (&rules::ACCOUNTS, Ask),
        Kind::Persist => (&rules::PERSISTENCE, Ask),
        Kind::Unprotect => (&rules::SECURITY_OFF, Ask),
        Kind::EraseLog => (&rules::LOGS, Ask),
        Kind::ChangeSystem => (&rules::SYSTEM_WRITE, Ask),
        Kind::RemoveSystem => (&rules::DELETE_SYSTEM, Ask),
        Kind::KillAll => (&rules::KILL_ALL, Deny),
        Kind::KillOwn => (&rules::KILL_SELF, Deny),
        Kind::DropRemote => (&rules::REMOTE_DATA, Ask),
        Kind::Publish => (&rules::PUBLISH, Ask),
        Kind::Discard => (&rules::GIT_DISCARD, Ask),
        Kind::Escape => (&rules::CONTAINER_ESCAPE, Ask),
        Kind::OpenMachine => (&rules::REMOTE_SHELL, Ask),
        Kind::RemoteShell => (&rules::REMOTE_SHELL, Deny),
        Kind::Volumes | Kind::WriteUnknown | Kind::FillDisk => (&rules::DISK, Ask),
        Kind::DestroyVolume => (&rules::DISK, Deny),
        Kind::RunHidden => (&rules::HIDDEN_RUN, Ask),
        Kind::RunUnknown => (&rules::UNKNOWN_RUN, Ask),
        Kind::RunDecoded => (&rules::DECODED_RUN, Ask),
        Kind::RunDownloaded => (&rules::DOWNLOAD_RUN, Ask),
        Kind::Code => (&rules::CODE, Ask),
        Kind::Environment => (&rules::ENVIRONMENT, Ask),
        Kind::Reveal => (&rules::CREDENTIALS, Ask),
        Kind::Exfiltrate => (&rules::EXFILTRATION, Ask),
        Kind::ForkBomb => (&rules::FORK_BOMB, Deny),
        Kind::MayFork => (&rules::FORK_BOMB, Ask),
        Kind::SetUserId => (&rules::PERMISSIONS, Ask),
        Kind::DeleteUnknown => (&rules::DELETE_UNKNOWN, Ask),
        Kind::Weaken => (&rules::CHITON, Deny),
        Kind::Meddle => (&rules::CHITON, Ask),
        Kind::Unexamined => (&rules::SYNTAX, Ask),
    }
}

/// What an effect does to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Deletes,
    Moves,
    Writes,
    ChangesRights,
}

impl Act {
    /// How something is lost, where that is all that `rule` objects to. What starts by itself later, or weakens an agent or
    /// Chiton, has its effect before anybody puts it back.
    fn loses(self, rule: &Rule) -> Option<LossBy> {
        match self {
            Self::Deletes | Self::Moves if rule.id != rules::PERSISTENCE.id && rule.id != rules::CHITON.id => {
                Some(LossBy::Removing)
            }
            Self::Writes if rule.id == rules::LOGS.id => Some(LossBy::Writing),
            _ => None,
        }
    }
}

/// The finding that an objection to doing something with `what` is.
fn object_to(
    (rule, decision, place): Objection,
    act: Act,
    certainty: Certainty,
    doing: &str,
    what: &Text,
    target: &Target,
    span: Span,
) -> Finding {
    let decision = if certainty == Certainty::May { decision.min(Ask) } else { decision };
    let named = match target {
        Target::At { path, doubtful: false, .. } => path::shown(path),
        _ => what.display(),
    };
    let reason = match target {
        Target::At { path, doubtful: true, .. } => {
            format!("{doing} {named}; if a variable in it is empty, that is {}, {place}.", path::shown(path))
        }
        _ => format!("{doing} {named}, {place}."),
    };
    let finding = Finding::new(rule, decision, reason, span, Some(named));
    match instead::of_act(rule, act, what, target) {
        "" => finding,
        instead => finding.with_alternative(instead),
    }
}

/// The part of `target` that an effect of this depth is about.
fn narrowed(target: &Target, depth: Depth) -> Target {
    match (target, depth) {
        (Target::At { path, extent: Extent::Itself, doubtful }, Depth::Contents | Depth::SomeBelow) => {
            let extent = if depth == Depth::Contents { Extent::Everything } else { Extent::Within };
            Target::At { path: path.clone(), extent, doubtful: *doubtful }
        }
        _ => target.clone(),
    }
}

/// What speaks against changing a device: disks are refused, image files are not, and what is neither is asked about.
fn changes_device(target: &Target) -> Option<Objection> {
    let decision = match target {
        Target::At { path, .. } => match path.strip_prefix("/dev/")? {
            name if is_disk(name) || path.contains(['*', '?', '[']) => Deny,
            _ => Ask,
        },
        Target::Somewhere => return None,
        Target::Anything => Ask,
    };
    Some((&rules::DISK, decision, "a disk or a partition"))
}

/// A pattern below `/dev` stands for the disks it may match.
fn disks_matched(target: &Target) -> Vec<Target> {
    const DISKS: [&str; 8] = [
        "/dev/sda", "/dev/sda1", "/dev/vda", "/dev/nvme0n1", "/dev/nvme0n1p1", "/dev/xvda", "/dev/hda", "/dev/mmcblk0",
    ];
    let Target::At { path, extent, doubtful } = target else { return vec![target.clone()] };
    if !path.starts_with("/dev/") || !path.split('/').any(path::is_pattern) {
        return vec![target.clone()];
    }
    let hit = DISKS.iter().filter(|disk| path::matches_path(path, disk));
    hit.map(|disk| Target::At { path: (*disk).to_owned(), extent: *extent, doubtful: *doubtful }).collect()
}

/// An objection: which rule, how grave, and what the place is in words.
type Objection = (&'static Rule, Decision, &'static str);

/// The directories that make up the system; deleting one, or anything in most of them, breaks it.
pub(crate) const SYSTEM: [&str; 22] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt", "/opt", "/proc",
    "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var", "/snap", "/nix",
];
/// Directories in them whose content is made to come and go.
const DISPOSABLE: [&str; 9] = [
    "/tmp", "/var/tmp", "/dev/shm", "/var/cache", "/var/lib/apt/lists", "/run/user", "/run/lock", "/var/lock",
    "/usr/local/share/.cache",
];
/// Directories in them in which people install things of their own.
const SHARED: [&str; 10] = [
    "/usr/local", "/opt", "/srv", "/mnt", "/media", "/var/www", "/usr/src", "/snap", "/nix", "/var/lib/docker/volumes",
];
/// Folders in a home directory that people keep things in.
const KEPT: [&str; 22] = [
    "Desktop", "Documents", "Downloads", "Music", "Pictures", "Videos", "Public", "Templates", "Library", ".config",
    ".local", ".local/share", ".ssh", ".gnupg", ".aws", ".kube", ".docker", ".password-store", ".mozilla",
    ".thunderbird", ".var", ".config/gcloud",
];
/// Files without which nobody can log in or boot.
const ESSENTIAL: [&str; 12] = [
    "/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/sudoers", "/etc/fstab", "/etc/crypttab",
    "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.cache", "/etc/pam.conf", "/etc/nsswitch.conf",
];

/// The places of one context.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) home: String,
    pub(crate) workspace: String,
    mounts: Vec<String>,
    surroundings: Option<Arc<dyn Surroundings>>,
    own: OwnPlaces,
}

impl Places {
    pub(crate) fn new(context: &Context) -> Self {
        let text = |path: &std::path::Path| path::absolute(&path.to_string_lossy(), None).unwrap_or_default();
        let mounts = context.mounts.iter().map(|mount| text(mount)).filter(|mount| !is_disposable(mount)).collect();
        let surroundings = context.surroundings.clone();
        let own = OwnPlaces::new(context);
        Self { home: text(&context.home), workspace: text(context.workspace()), mounts, surroundings, own }
    }

    /// What speaks against deleting `target`, with everything below it if `recursive`.
    pub(crate) fn delete(&self, target: &Target, recursive: bool) -> Option<Objection> {
        let Target::At { path, extent, doubtful } = target else {
            let vague = recursive && *target == Target::Anything;
            return vague.then_some((&rules::DELETE_UNKNOWN, Ask, "and the text does not say which place that is"));
        };
        if let Some(objection) = self.touches_own(path, *doubtful) {
            return Some(objection);
        }
        // What a search found may be anything below: deleting a file of it is as good as deleting the tree.
        let found = *extent == Extent::Within && !path.split('/').any(path::is_pattern);
        let objection =
            if recursive || found { self.delete_tree(path, *extent) } else { self.delete_file(path, *extent) };
        let holds_own = || {
            // What was chosen among files that come and go is not what Chiton keeps there for a while.
            let is_chosen = found && is_disposable(path);
            let below = (recursive || found) && !is_chosen && !*doubtful;
            let below = below && self.own.lies_below(path, *extent, &self.home);
            below.then_some((&rules::CHITON, Ask, "a directory that Chiton keeps things in"))
        };
        objection.or_else(holds_own).and_then(|(rule, decision, place)| match (doubtful, rule.id) {
            (false, _) => Some((rule, decision, place)),
            // An unknown directory at the top is not a sign of an accident.
            (true, "delete-unknown" | "delete-workspace") => None,
            (true, _) => Some((rule, Ask, place)),
        })
    }

    /// Whether `path` is a place of Chiton itself.
    pub(crate) fn is_of_chiton(&self, path: &str) -> bool {
        self.own.part_of(path, &self.home).is_some()
    }

    /// What speaks against changing a place of Chiton itself; `path` may be a pattern.
    fn touches_own(&self, path: &str, doubtful: bool) -> Option<Objection> {
        if path.ends_with("/bin/chiton") && !path::is_within(path, &self.workspace) {
            return Some((&rules::CHITON, Ask, "the program that judges commands"));
        }
        let part = if path.contains(['*', '?', '[']) {
            self.own.matched(path, &self.home)
        } else {
            self.own.part_of(path, &self.home)
        }?;
        Some((&rules::CHITON, if doubtful { Ask } else { Deny }, part.named()))
    }

    fn delete_tree(&self, path: &str, extent: Extent) -> Option<Objection> {
        if extent == Extent::Within && path.split('/').any(path::is_pattern) {
            return self.delete_pattern(path);
        }
        let whole = extent != Extent::Within;
        let sternly = |decision| if whole { decision } else { Ask };
        if path == "/" {
            return Some((&rules::DELETE_ROOT, Deny, "the root of the file system"));
        }
        let own = path::is_within(path, &self.workspace) && self.workspace != "/" && path != self.workspace;
        if own && !is_home(&self.workspace) && self.workspace != self.home && !SYSTEM.contains(&self.workspace.as_str())
        {
            let history = whole && path == format!("{}/.git", self.workspace);
            return history.then_some((&rules::DELETE_WORKSPACE, Ask, "the history of the workspace"));
        }
        if path == self.home || is_home(path) {
            if extent == Extent::Within && self.workspace == path {
                return None;
            }
            return Some((&rules::DELETE_HOME, sternly(Deny), "a home directory"));
        }
        if path == self.workspace {
            return whole.then_some((&rules::DELETE_WORKSPACE, Ask, "the whole workspace"));
        }
        if path::is_within(&self.workspace, path) && !SYSTEM.contains(&path) {
            return Some((&rules::DELETE_PARENT, sternly(Deny), "a directory that contains the workspace"));
        }
        if self.mounts.iter().any(|mount| mount == path) && whole {
            return Some((&rules::DELETE_MOUNT, Deny, "a mounted file system"));
        }
        if let Some(objection) = system_tree(path, extent) {
            return Some(objection);
        }
        if let Some(kept) = self.kept(path) {
            return Some((&rules::DELETE_HOME, Ask, kept));
        }
        if let Some(work) = self.work(path).filter(|_| whole) {
            return Some(work);
        }
        let top = self.workspace != "/" && !is_disposable(path) && path.matches('/').count() == 1 && whole;
        top.then_some((&rules::DELETE_UNKNOWN, Ask, "a directory at the top of the file system"))
    }

    /// A pattern that sweeps up one of the places that matter is as bad as naming it.
    fn delete_pattern(&self, pattern: &str) -> Option<Objection> {
        let kept = KEPT.iter().chain(&work::USUAL).map(|folder| format!("{}/{folder}", self.home));
        let mut places: Vec<String> = SYSTEM.iter().map(|place| (*place).to_owned()).collect();
        places.extend(
            ["/usr/bin", "/usr/lib", "/usr/sbin", "/usr/share", "/etc/ssl", "/var/lib", "/var/log"].map(str::to_owned),
        );
        places.extend(kept);
        places.push(self.home.clone());
        let mut ancestor = self.workspace.as_str();
        while let Some((parent, _)) = ancestor.rsplit_once('/').filter(|_| !ancestor.is_empty()) {
            places.push(ancestor.to_owned());
            ancestor = parent;
        }
        let hit = places.iter().filter(|place| path::matches_path(pattern, place));
        let worst = hit.filter_map(|place| self.delete_tree(place, Extent::Itself)).max_by_key(|objection| objection.1);
        worst.or_else(|| {
            let fixed: Vec<&str> = pattern.split('/').take_while(|part| !path::is_pattern(part)).collect();
            let directory = path::absolute(&fixed.join("/"), Some("/"))?;
            system_tree(&directory, Extent::Within).filter(|_| !path::is_within(&directory, &self.workspace))
        })
    }

    /// What speaks against deleting a developer's work outside the workspace.
    fn work(&self, path: &str) -> Option<Objection> {
        let folder = work::folder_of_home(path, &self.home).map(|folder| (&rules::DELETE_HOME, Ask, folder));
        folder.or_else(|| {
            let repository = work::repository(path, &self.home, self.surroundings.as_deref())?;
            Some((&rules::DELETE_REPOSITORY, Ask, repository))
        })
    }

    fn kept(&self, path: &str) -> Option<&'static str> {
        let inside = inside_home(path, &self.home)?;
        let secret = [".ssh", ".gnupg", ".aws", ".password-store"].iter().any(|folder| path::is_within(inside, folder));
        (secret || KEPT.contains(&inside)).then_some("a folder that people keep things in")
    }

    fn delete_file(&self, path: &str, extent: Extent) -> Option<Objection> {
        if start_files::is_of_agent(path) {
            return Some((&rules::PERSISTENCE, Ask, "the settings of an agent"));
        }
        if extent == Extent::Everything {
            return match path {
                "/" => Some((&rules::DELETE_ROOT, Deny, "everything in the root of the file system")),
                _ if path == self.home || is_home(path) => {
                    Some((&rules::DELETE_HOME, Ask, "everything in a home directory"))
                }
                _ if path == self.workspace => Some((&rules::DELETE_WORKSPACE, Ask, "everything in the workspace")),
                _ => system_tree(path, extent),
            };
        }
        if path::is_within(path, &self.workspace) && self.workspace != "/" && self.workspace != self.home {
            return None;
        }
        if let Some(inside) = inside_home(path, &self.home) {
            if is_history(inside) {
                return Some((&rules::LOGS, Ask, "a history"));
            }
            let start = start_files::is_start_file(inside);
            let secret = path::is_within(inside, ".ssh") || path::is_within(inside, ".gnupg");
            return (start || secret).then_some((&rules::DELETE_HOME, Ask, "a file that logins depend on"));
        }
        system_file(path)
    }

    /// What speaks against writing to `target`; `replaces` tells replacing from adding.
    pub(crate) fn write(&self, target: &Target, replaces: bool) -> Option<Objection> {
        let Target::At { path, extent, doubtful: false } = target else { return None };
        if let Some(objection) = self.touches_own(path, false) {
            return Some(objection);
        }
        if *extent == Extent::Within && matches!(path.as_str(), "/" | "/dev") {
            return Some((&rules::DISK, Ask, "any file or device below"));
        }
        if let Some(objection) = device(path) {
            return Some(objection);
        }
        if let Some(process) = path.strip_prefix("/proc/")
            && let Some(objection) = other_process(process)
        {
            return Some(objection);
        }
        if path == "/proc/sysrq-trigger" {
            return Some((&rules::POWER, Deny, "the trigger that stops or restarts the machine"));
        }
        if path::is_within(path, "/proc/sys") || path::is_within(path, "/sys") || path::is_within(path, "/boot") {
            return Some((&rules::KERNEL, Ask, "a setting of the kernel or a boot file"));
        }
        if path == "/etc/ld.so.preload" {
            return Some((&rules::PERSISTENCE, Ask, "a library list that every program loads"));
        }
        if ESSENTIAL.contains(&path.as_str())
            || path::is_within(path, "/etc/sudoers.d")
            || path::is_within(path, "/etc/pam.d")
        {
            let decision = if replaces && ESSENTIAL.contains(&path.as_str()) { Deny } else { Ask };
            return Some((&rules::ACCOUNTS, decision, "a file that logins depend on"));
        }
        if let Some(place) = start_files::starts_later(path, &self.home, &self.workspace) {
            return Some((&rules::PERSISTENCE, Ask, place));
        }
        if replaces && (is_log(path) || inside_home(path, &self.home).is_some_and(is_history)) {
            return Some((&rules::LOGS, Ask, "a log or a history"));
        }
        let of_system = ["/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
        let system = of_system.iter().any(|tree| path::is_within(path, tree))
            && !shared_or_disposable(path)
            && !self.is_own(path);
        system.then_some((&rules::SYSTEM_WRITE, Ask, "a file of the system"))
    }

    /// Whether others may put files into a directory: by who may write there, and where nobody can say, by its name.
    pub(crate) fn is_open_to_others(&self, directory: &str) -> bool {
        const OPEN: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
        if !OPEN.iter().any(|place| path::is_within(directory, place)) {
            return false;
        }
        if self.is_own(directory) && !OPEN.contains(&self.workspace.as_str()) {
            return false;
        }
        let around = self.surroundings.as_deref();
        around.and_then(|around| around.others_may_write(std::path::Path::new(directory))).unwrap_or(true)
    }

    /// Whether a path is the workspace's own, wherever that lies.
    fn is_own(&self, path: &str) -> bool {
        self.workspace != "/" && path::is_within(path, &self.workspace)
    }
}

/// What speaks against writing into a process: its memory, or what it has open. `/proc/1/fd/1` is the log of a container.
fn other_process(path: &str) -> Option<Objection> {
    let (process, what) = path.split_once('/')?;
    if what == "mem" {
        return Some((&rules::CHITON, Ask, "the memory of a process, which may be Chiton's"));
    }
    let own = matches!(process, "self" | "thread-self" | "1");
    (!own && what.starts_with("fd/")).then_some((&rules::CHITON, Ask, "a file that another process has open"))
}

fn is_disposable(path: &str) -> bool {
    DISPOSABLE.iter().any(|place| path::is_within(path, place))
}

fn shared_or_disposable(path: &str) -> bool {
    is_disposable(path) || SHARED.iter().any(|place| path::is_within(path, place) && path != *place)
}

/// Whether `path` is somebody's home directory by its look.
pub(crate) fn is_home(path: &str) -> bool {
    let below = ["/home/", "/Users/"].iter().find_map(|parent| path.strip_prefix(parent));
    path == "/root" || below.is_some_and(|name| !name.is_empty() && !name.contains('/') && name != "\u{1}")
}

/// The part of `path` below a home directory.
pub(crate) fn inside_home<'a>(path: &'a str, home: &str) -> Option<&'a str> {
    if home.len() > 1
        && let Some(inside) = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/'))
    {
        return Some(inside);
    }
    if let Some(inside) = path.strip_prefix("/root/") {
        return Some(inside);
    }
    let rest = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"))?;
    rest.split_once('/').map(|(_, inside)| inside)
}

fn is_within_home(path: &str, home: &str) -> bool {
    inside_home(path, home).is_some()
}

/// Whether a file below home is the history of a shell or another tool.
pub(crate) fn is_history(inside: &str) -> bool {
    inside.starts_with('.') && inside.ends_with("_history") || inside == ".local/share/fish/fish_history"
}

/// Whether a path is a log of the system.
pub(crate) fn is_log(path: &str) -> bool {
    path::is_within(path, "/var/log") || ["/var/run/utmp", "/run/utmp"].contains(&path)
}

/// What speaks against deleting a tree of the system.
fn system_tree(path: &str, extent: Extent) -> Option<Objection> {
    let tree = SYSTEM.iter().find(|tree| path::is_within(path, tree))?;
    let whole = extent != Extent::Within;
    if is_disposable(path) {
        // `/var/cache` itself is part of the system; what is in it is not.
        let itself = extent == Extent::Itself && matches!(path, "/var/cache" | "/dev/shm" | "/var/tmp" | "/run/user");
        return itself.then_some((&rules::DELETE_SYSTEM, Ask, "a directory that programs expect"));
    }
    if *tree == "/home" || *tree == "/root" {
        return (path == *tree).then_some((
            &rules::DELETE_HOME,
            if whole { Deny } else { Ask },
            "all home directories",
        ));
    }
    if path == "/var/log" && extent == Extent::Itself {
        return Some((&rules::DELETE_SYSTEM, Deny, "all logs of the system"));
    }
    if is_log(path) {
        return Some((&rules::LOGS, Ask, "a log of the system"));
    }
    let shared = SHARED.iter().find(|place| path::is_within(path, place));
    if let Some(place) = shared {
        let deep = path.matches('/').count() > 3 && (path.starts_with("/mnt") || path.starts_with("/media"));
        let decision = if path == *place && whole { Deny } else { Ask };
        return (!deep).then_some((&rules::DELETE_SYSTEM, decision, "a directory that programs share"));
    }
    if *tree == "/run" && path != *tree {
        return Some((&rules::DELETE_SYSTEM, Ask, "the state of a running service"));
    }
    Some((&rules::DELETE_SYSTEM, Deny, "part of the system"))
}

/// What speaks against deleting a single file of the system.
fn system_file(path: &str) -> Option<Objection> {
    if is_disposable(path) {
        return None;
    }
    if is_log(path) {
        return Some((&rules::LOGS, Ask, "a log of the system"));
    }
    if device(path).is_some() {
        return Some((&rules::DISK, Deny, "a device"));
    }
    let tree = SYSTEM.iter().find(|tree| path::is_within(path, tree))?;
    if shared_or_disposable(path) {
        return None;
    }
    let vital = ["/bin", "/sbin", "/boot", "/dev", "/lib", "/lib32", "/lib64", "/proc", "/sys", "/usr"].contains(tree)
        || ESSENTIAL.contains(&path);
    Some((&rules::DELETE_SYSTEM, if vital { Deny } else { Ask }, "a file of the system"))
}

/// Devices that may be written to.
const HARMLESS: [&str; 13] =
    ["null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "console", "ptmx", "kmsg", "log"];

/// What speaks against writing to a device.
pub(crate) fn device(path: &str) -> Option<Objection> {
    let name = path.strip_prefix("/dev/")?;
    let first = name.split('/').next().unwrap_or_default();
    if HARMLESS.contains(&name)
        || ["fd", "shm", "pts", "tcp", "udp", "mqueue"].contains(&first)
        || name.starts_with("tty")
    {
        return None;
    }
    Some((&rules::DISK, if is_disk(name) { Deny } else { Ask }, "a device"))
}

/// Whether a name below `/dev` is a disk, a partition or memory; it may be a pattern.
pub(crate) fn is_disk(name: &str) -> bool {
    const PREFIXES: [&str; 18] = [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "md", "dm-", "mapper/", "disk", "loop", "nbd", "zd", "pmem", "ram",
        "sr", "rdisk", "bcache",
    ];
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            prefix.ends_with('/')
                || rest.is_empty()
                || !rest.starts_with(|c: char| c.is_ascii_alphabetic())
                || prefix.ends_with('d')
        })
    };
    matches!(name, "mem" | "kmem" | "port" | "root") || PREFIXES.iter().any(|prefix| numbered(prefix))
}
