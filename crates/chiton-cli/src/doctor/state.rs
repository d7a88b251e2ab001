//! Where runs are kept: whether it can be used, and what is in it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use chiton_engine::limits::SpoolLimits;
use chiton_engine::{TaskStatus, Tasks};
use rustix::fs::{Access, access, statvfs};

use super::finding::Finding;
use super::mounts::mount_of;
use crate::audit;
use crate::settings::Settings;
use crate::status_line::amount;

const AREA: &str = "state";
/// File systems that are gone after a restart.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
/// File systems on another machine, or in a program, on which locks may not mean what they mean here.
const ELSEWHERE: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "fuse.sshfs"];
/// How many ids are named before the rest is counted.
const NAMED: usize = 3;

pub(super) fn directory(state: &Path, settings: &Settings) -> Vec<Finding> {
    let shown = state.display();
    let existing = state.ancestors().find(|path| fs::symlink_metadata(path).is_ok()).unwrap_or(Path::new("/"));
    let mut findings = vec![if existing == state {
        there(state)
    } else if can_make(existing) {
        Finding::ok(AREA, format!("{shown} is not there yet and will be made"))
    } else {
        Finding::problem(AREA, format!("{shown} is not there, and {} cannot be written", existing.display()))
            .why("every command has a folder in it")
            .remedy("make it and own it, or give another one with --state-dir or XDG_STATE_HOME")
    }];
    findings.extend(journal(state));
    findings.extend(sending(state, settings));
    findings.extend(open_parent(state));
    findings.extend(room(existing));
    findings.extend(file_system(existing));
    findings
}

/// Whether the journal can be written, and is what was written.
fn journal(state: &Path) -> Option<Finding> {
    let problem = audit::problem(state)?;
    Some(
        Finding::problem(AREA, problem)
            .why("commands are to be written down, and what is written is to stay")
            .remedy("`chiton audit verify` says more; see docs/secrets.md"),
    )
}

/// Whether the journal reaches its receiver, where it has one.
fn sending(state: &Path, settings: &Settings) -> Option<Finding> {
    match audit::otlp::health(settings, state) {
        Ok(None) => None,
        Ok(Some(health)) if health.is_well => Some(Finding::ok(AREA, health.what)),
        Ok(Some(health)) => Some(
            Finding::note(AREA, health.what)
                .why("what is in the journal is to reach the receiver before old files of the journal go")
                .remedy("`chiton audit send` tries it now and says what is wrong; see docs/companies.md"),
        ),
        Err(error) => Some(
            Finding::problem(AREA, format!("the journal cannot be sent: {error:#}"))
                .why("no command runs until that is put right")
                .remedy("see docs/companies.md"),
        ),
    }
}

/// Whether others may write a folder above the state directory: they could put another in its place.
fn open_parent(state: &Path) -> Option<Finding> {
    let own = rustix::process::geteuid().as_raw();
    let is_open = |folder: &&Path| {
        fs::metadata(folder).is_ok_and(|data| {
            let is_sticky = data.mode() & 0o1000 != 0;
            (data.mode() & 0o022 != 0 && !is_sticky) || (data.uid() != own && data.uid() != 0)
        })
    };
    let folder = state.ancestors().skip(1).find(is_open)?;
    Some(
        Finding::note(AREA, format!("others can write {}, in which {} lies", folder.display(), state.display()))
            .why("they could rename it and put another in its place")
            .remedy(format!("chmod go-w '{}', or another directory with --state-dir", folder.display())),
    )
}

fn can_make(folder: &Path) -> bool {
    folder.is_dir() && access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

fn there(state: &Path) -> Finding {
    let shown = state.display();
    let another = "move it away, or give another directory with --state-dir or XDG_STATE_HOME";
    let data = match fs::symlink_metadata(state) {
        Ok(data) => data,
        Err(error) => return Finding::problem(AREA, format!("{shown} cannot be examined: {error}")).remedy(another),
    };
    let own = rustix::process::geteuid().as_raw();
    if data.is_symlink() {
        return Finding::problem(AREA, format!("{shown} is a link"))
            .why("whoever can change the link could give us another's directory, so links are not followed here")
            .remedy("name the directory itself with --state-dir or XDG_STATE_HOME");
    }
    if !data.is_dir() {
        return Finding::problem(AREA, format!("{shown} is not a directory")).remedy(another);
    }
    if data.uid() != own {
        return Finding::problem(AREA, format!("{shown} belongs to user {}, and you are user {own}", data.uid()))
            .why("what commands print is kept there, for their user alone")
            .remedy(another);
    }
    if let Err(error) = access(state, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        return Finding::problem(AREA, format!("{shown} cannot be written: {}", io::Error::from(error)))
            .why("every command has a folder in it")
            .remedy(format!("chmod u+rwx '{shown}', or another directory with --state-dir or XDG_STATE_HOME"));
    }
    let mode = data.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Finding::note(AREA, format!("{shown} has mode {mode:04o}"))
            .why("others can look into it; the next command makes it 0700")
            .remedy(format!("chmod 700 '{shown}' does it now"));
    }
    Finding::ok(AREA, format!("{shown}, yours alone (mode {mode:04o}), writable"))
}

/// The engine leaves some space free, and keeps no output where there is less.
fn room(existing: &Path) -> Option<Finding> {
    let disk = statvfs(existing).ok()?;
    let (free, size) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
    let limits = SpoolLimits::default();
    let floor = limits.free_bytes.min(size / 100 * u64::from(limits.free_percent));
    let what = format!("{} of {} free", amount(free), amount(size));
    Some(match free {
        _ if free < floor => Finding::problem(AREA, what)
            .why(format!("below {} nothing of what commands print is kept on disk", amount(floor)))
            .remedy("free some space, or run `chiton clean`"),
        _ if free < floor + limits.per_run => Finding::note(AREA, what)
            .why(format!("long output may not be kept whole: the last {} stay free", amount(floor)))
            .remedy("free some space, or run `chiton clean`"),
        _ => Finding::ok(AREA, what),
    })
}

fn file_system(existing: &Path) -> Option<Finding> {
    let mount = mount_of(&fs::canonicalize(existing).ok()?)?;
    let what = format!("file system {} at {}", mount.kind, mount.point.display());
    Some(if mount.has("ro") {
        Finding::problem(AREA, format!("{what} is read-only")).remedy("another directory with --state-dir")
    } else if IN_MEMORY.contains(&mount.kind.as_str()) {
        Finding::note(AREA, what).why("it is in memory: runs and named sessions are gone after a restart")
    } else if ELSEWHERE.contains(&mount.kind.as_str()) {
        Finding::note(AREA, what)
            .why("it is on another machine: a run that lives may look lost from there, and writing is slow")
            .remedy("a local directory with --state-dir or XDG_STATE_HOME")
    } else {
        Finding::ok(AREA, what)
    })
}

/// What is kept.
pub(super) fn runs(state: &Path) -> Vec<Finding> {
    let (tasks, damaged) = match Tasks::new(state).list() {
        Ok(found) => found,
        Err(error) => {
            return vec![
                Finding::problem("runs", format!("they cannot be listed: {error}"))
                    .remedy("see to the state directory first"),
            ];
        }
    };
    let running = tasks.iter().filter(|task| task.status.is_running()).count();
    let mut findings = vec![Finding::ok("runs", format!("{} kept, {running} of them running", tasks.len()))];
    let lost: Vec<&str> =
        tasks.iter().filter(|task| task.status == TaskStatus::Lost).map(|task| task.id.as_str()).collect();
    if !lost.is_empty() {
        findings.push(
            Finding::note("runs", format!("{} lost: {}", lost.len(), few(&lost)))
                .why("their keepers were killed, so nobody knows how they ended; what they started may still run")
                .remedy("`chiton ps --all` shows them, `chiton clean` removes them"),
        );
    }
    if !damaged.is_empty() {
        let ids: Vec<&str> = damaged.iter().map(|one| one.id.as_str()).collect();
        findings.push(
            Finding::note("runs", format!("{} cannot be read: {}", ids.len(), few(&ids)))
                .why(damaged.first().map(|one| one.reason.clone()).unwrap_or_default())
                .remedy("`chiton clean` removes what has ended"),
        );
    }
    findings
}

fn few(ids: &[&str]) -> String {
    let more = ids.len().saturating_sub(NAMED);
    let named = ids[..ids.len().min(NAMED)].join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}
