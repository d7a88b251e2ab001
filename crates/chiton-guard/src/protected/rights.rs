//! What speaks against changing permissions and owners.

use super::{ESSENTIAL, Objection, Places, SHARED, SYSTEM, device, is_disposable, is_home, is_within_home};
use crate::rules;
use crate::value::path::{self, Extent, Target};
use crate::verdict::Decision::{Ask, Deny};

/// Directories below `/var` and `/usr` that belong to the system itself; others there belong to a service or to whoever
/// installed them.
const OF_THE_SYSTEM: [&str; 26] = [
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/libx32", "/usr/include",
    "/usr/share", "/usr/games", "/var/lib", "/var/log", "/var/spool", "/var/mail", "/var/backups", "/var/local",
    "/var/opt", "/var/run", "/var/db", "/var/lib/dpkg", "/var/lib/apt", "/var/lib/rpm", "/var/lib/pacman",
    "/var/lib/systemd", "/var/lib/pam", "/var/lib/sudo",
];

/// Directories of which everything below belongs to a service each.
const OF_SERVICES: [&str; 5] = ["/var/lib", "/var/log", "/var/spool", "/var/opt", "/var/local"];

impl Places {
    /// What speaks against changing permissions or owner of `target`.
    pub(super) fn change_rights(&self, target: &Target, recursive: bool) -> Option<Objection> {
        let Target::At { path, extent, doubtful } = target else {
            let vague = recursive && *target == Target::Anything;
            return vague.then_some((&rules::PERMISSIONS, Ask, "and the text does not say which place that is"));
        };
        if let Some(objection) = self.touches_own(path, *doubtful) {
            return Some(objection);
        }
        // What was chosen among the files below a place is not the place.
        let is_chosen = *extent == Extent::Within;
        let decided = |decision| if *doubtful || is_chosen { Ask } else { decision };
        let broad = recursive || *extent != Extent::Itself;
        if path == "/" {
            return Some((&rules::PERMISSIONS, decided(Deny), "the root of the file system"));
        }
        if self.is_own(path) && self.workspace != self.home {
            return None;
        }
        if broad && (*path == self.home || is_home(path)) {
            let is_own_workspace = is_chosen && *path == self.workspace;
            let decision = if *path == self.home { decided(Deny) } else { Ask };
            return (!is_own_workspace).then_some((&rules::PERMISSIONS, decision, "a home directory"));
        }
        if broad && path::is_within(&self.workspace, path) && *path != self.workspace {
            return Some((&rules::PERMISSIONS, decided(Deny), "a directory that contains the workspace"));
        }
        if device(path).is_some() {
            return Some((&rules::PERMISSIONS, Ask, "a device"));
        }
        if broad && path.split('/').any(path::is_pattern) {
            let hit = SYSTEM.iter().any(|place| path::matches_path(path, place));
            return hit.then_some((&rules::PERMISSIONS, if *doubtful { Ask } else { Deny }, "parts of the system"));
        }
        let system = SYSTEM.iter().any(|tree| path::is_within(path, tree)) && !is_within_home(path, &self.home);
        if !system || is_disposable(path) {
            return None;
        }

        let shared = is_shared(path);
        match (shared, broad || ESSENTIAL.contains(&path.as_str())) {
            (true, true) => Some((&rules::PERMISSIONS, Ask, "a directory that programs share")),
            (true, false) => (!is_set_up_for_all(path)).then_some((&rules::PERMISSIONS, Ask, "a file of a service")),
            (false, true) => Some((&rules::PERMISSIONS, decided(Deny), "part of the system")),
            (false, false) => Some((&rules::PERMISSIONS, Ask, "a file of the system")),
        }
    }
}

impl Places {
    /// What speaks against letting everybody write to `target` and everything in it: as for any change of rights, and
    /// nobody intends it for all that programs share.
    pub(super) fn open_to_all(&self, target: &Target) -> Option<Objection> {
        let (rule, decision, place) = self.change_rights(target, true)?;
        let is_shared_place = matches!(target, Target::At { path, extent, doubtful: false }
            if *extent != Extent::Within && SHARED.contains(&path.as_str()));
        Some((rule, if is_shared_place { Deny } else { decision }, place))
    }
}

/// Whether single files there change hands all day.
fn is_set_up_for_all(path: &str) -> bool {
    SHARED.iter().any(|place| path::is_within(path, place) && path != *place) || path::is_within(path, "/run")
}

/// Whether programs and people put things of their own there.
fn is_shared(path: &str) -> bool {
    let is_below = |place: &str| path::is_within(path, place) && path != place;
    let is_packages =
        ["/node_modules", "/site-packages", "/dist-packages", "/gems"].iter().any(|part| path.contains(part));
    if matches!(path, "/snap" | "/nix") {
        return false;
    }
    if SHARED.iter().any(|place| path::is_within(path, place)) || path::is_within(path, "/run") || is_packages {
        return true;
    }
    let is_of_service = OF_SERVICES.iter().any(|place| is_below(place));
    let is_of_system = OF_THE_SYSTEM
        .iter()
        .any(|place| path::is_within(path, place) && (!is_of_service || !OF_SERVICES.contains(place)));
    let is_other = ["/var", "/usr"].iter().any(|place| is_below(place));
    (is_of_service || is_other) && !is_of_system
}
