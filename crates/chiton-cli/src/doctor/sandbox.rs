//! What a sandbox could be made of here. Nothing of it is used yet, so nothing of it is a problem.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::finding::Finding;

const AREA: &str = "sandbox";
const LATER: &str = "not used yet; a sandbox will have to do without it";

pub(super) fn sandbox() -> Vec<Finding> {
    vec![user_namespaces(), landlock(), seccomp(), control_groups()]
}

fn setting(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn user_namespaces() -> Finding {
    let forbidden = [
        ("/proc/sys/user/max_user_namespaces", "0"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
    ];
    if !Path::new("/proc/self/ns/user").exists() {
        return Finding::note(AREA, "the kernel has no user namespaces").why(LATER);
    }
    match forbidden.iter().find(|(path, value)| setting(path).as_deref() == Some(*value)) {
        Some((path, value)) => {
            let name = path.trim_start_matches("/proc/sys/").replace('/', ".");
            Finding::note(AREA, format!("user namespaces are switched off: {name}={value}")).why(LATER)
        }
        None => Finding::ok(AREA, "user namespaces are there, and no setting forbids them"),
    }
}

fn landlock() -> Finding {
    match chiton_engine::machine::landlock_version() {
        Ok(version) => Finding::ok(AREA, format!("Landlock version {version}")),
        Err(error) => Finding::note(AREA, format!("no Landlock: {error}")).why(LATER),
    }
}

fn seccomp() -> Finding {
    match setting("/proc/sys/kernel/seccomp/actions_avail") {
        Some(actions) if !actions.is_empty() => Finding::ok(AREA, format!("seccomp filters: {actions}")),
        _ => Finding::note(AREA, "no seccomp filters").why(LATER),
    }
}

/// Whether limits can be set on groups of processes: the part of the tree that this process is in has to be ours.
fn control_groups() -> Finding {
    let own = setting("/proc/self/cgroup").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("0::"))?;
        Some(PathBuf::from(format!("/sys/fs/cgroup{line}")))
    });
    let Some(group) = own.filter(|group| group.join("cgroup.controllers").is_file()) else {
        return Finding::note(AREA, "no control groups of version 2").why(LATER);
    };
    let shown = group.display();
    let writable =
        [group.clone(), group.join("cgroup.procs")].iter().all(|path| access(path, Access::WRITE_OK).is_ok());
    if !writable {
        return Finding::note(AREA, format!("the control group {shown} is not yours to change")).why(LATER);
    }
    let controllers = setting(&format!("{shown}/cgroup.controllers")).unwrap_or_default();
    let controllers = if controllers.is_empty() { "no controllers".to_owned() } else { controllers };
    Finding::ok(AREA, format!("the control group {shown} can be changed: {controllers}"))
}
