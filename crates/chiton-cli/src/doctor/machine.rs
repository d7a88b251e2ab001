//! The machine around us: kernel, process table, limits, locale, terminals.

use std::env;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Resource, getrlimit};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::finding::Finding;
use super::mounts::mount_of;
use crate::setup;

/// Descriptors: a keeper has about 20 open, a server some for each call.
const FEW_DESCRIPTORS: u64 = 256;
const TOO_FEW_DESCRIPTORS: u64 = 64;
/// Processes that may still be started: a keeper, a shell, and what a build starts.
const FEW_PROCESSES: u64 = 100;
const TOO_FEW_PROCESSES: u64 = 16;

pub(super) fn program() -> Vec<Finding> {
    vec![match setup::own_path() {
        Ok(path) => Finding::ok("program", format!("chiton {} at {path}", env!("CARGO_PKG_VERSION"))),
        Err(error) => Finding::problem("program", format!("{error:#}"))
            .why("the settings of clients name its path")
            .remedy("install it again"),
    }]
}

pub(super) fn kernel() -> Vec<Finding> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = if release.trim().is_empty() { "of an unknown version" } else { release.trim() };
    let needs = chiton_engine::machine::needs();
    let missing: Vec<_> = needs.iter().filter(|need| need.answer.is_err()).collect();
    if missing.is_empty() {
        let names: Vec<&str> = needs.iter().map(|need| need.name).collect();
        return vec![Finding::ok("kernel", format!("Linux {release}, with {}", names.join(", ")))];
    }
    let lack = |need: &&chiton_engine::machine::Need| {
        let says = need.answer.as_ref().err().map(io::Error::to_string).unwrap_or_default();
        Finding::problem("kernel", format!("Linux {release}: no {} ({says})", need.name))
            .why(format!("with it {}", need.purpose))
            .remedy("a kernel of 5.9 or newer; in a container, a seccomp profile that allows it")
    };
    missing.iter().map(lack).collect()
}

pub(super) fn process_table() -> Vec<Finding> {
    let proc = Path::new("/proc");
    let Some(mount) = mount_of(proc).filter(|mount| mount.kind == "proc" && mount.point == proc) else {
        return vec![
            Finding::problem("proc", "/proc is not mounted")
                .why("what a command left running is found there, and keepers are started through it")
                .remedy("mount -t proc proc /proc"),
        ];
    };
    vec![match mount.value("hidepid").filter(|value| !["0", "off"].contains(value)) {
        None => Finding::ok("proc", "/proc is mounted and hides nobody"),
        Some(value) => Finding::note("proc", format!("/proc is mounted with hidepid={value}")).why(
            "a process that changed its user, as with sudo, is not seen: it can be left running without being named",
        ),
    }]
}

pub(super) fn limits() -> Vec<Finding> {
    vec![
        descriptors(getrlimit(Resource::Nofile).current),
        processes(getrlimit(Resource::Nproc).current, own_processes()),
    ]
}

fn descriptors(limit: Option<u64>) -> Finding {
    let what = format!("{} open files", number(limit));
    let raise = "raise it: `ulimit -n 1024`, or LimitNOFILE= of the service";
    match limit {
        Some(limit) if limit < TOO_FEW_DESCRIPTORS => Finding::problem("limits", what)
            .why(format!("less than {TOO_FEW_DESCRIPTORS} is too little for a keeper and its pipes"))
            .remedy(raise),
        Some(limit) if limit < FEW_DESCRIPTORS => {
            Finding::note("limits", what).why("many commands at the same time will not fit").remedy(raise)
        }
        _ => Finding::ok("limits", what),
    }
}

fn processes(limit: Option<u64>, own: u64) -> Finding {
    let what = format!("{} processes, {own} of yours are there", number(limit));
    let raise = "raise it: `ulimit -u`, or TasksMax= of the service; or end what is not needed";
    // The super-user is not held to it.
    let left = limit.filter(|_| !rustix::process::geteuid().is_root()).map(|limit| limit.saturating_sub(own));
    match left {
        Some(left) if left < TOO_FEW_PROCESSES => Finding::problem("limits", what)
            .why("a command needs a keeper, a shell and its own processes")
            .remedy(raise),
        Some(left) if left < FEW_PROCESSES => {
            Finding::note("limits", what).why("a build that starts many at once will not fit").remedy(raise)
        }
        _ => Finding::ok("limits", what),
    }
}

fn number(limit: Option<u64>) -> String {
    limit.map_or_else(|| "any number of".to_owned(), |limit| format!("at most {limit}"))
}

fn own_processes() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &[u8]| name.iter().all(u8::is_ascii_digit);
    let mine = entries.filter(|entry| {
        is_process(entry.file_name().as_bytes()) && entry.metadata().is_ok_and(|data| data.uid() == own)
    });
    mine.count() as u64
}

pub(super) fn locale() -> Vec<Finding> {
    let set = |name: &'static str| env::var(name).ok().filter(|value| !value.is_empty()).map(|value| (name, value));
    vec![judge_locale(["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set))]
}

/// The first of the variables that is set, which is the one that counts.
fn judge_locale(found: Option<(&str, String)>) -> Finding {
    let why = "programs in a command may print ? for letters beyond ASCII, or refuse them";
    let remedy = "set LANG=C.UTF-8 for the client that starts Chiton";
    match found {
        Some((name, value)) if is_utf8(&value) => Finding::ok("locale", format!("{name}={value}")),
        Some((name, value)) => Finding::note("locale", format!("{name}={value} is not UTF-8")).why(why).remedy(remedy),
        None => Finding::note("locale", "neither LC_ALL, LC_CTYPE nor LANG is set").why(why).remedy(remedy),
    }
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

pub(super) fn terminal() -> Vec<Finding> {
    vec![match open_terminal() {
        Ok(name) => Finding::ok("terminal", format!("a new one can be opened ({name})")),
        Err(error) => Finding::note("terminal", format!("none can be opened: {error}"))
            .why("not used yet; a command that wants a terminal will not get one")
            .remedy("mount devpts at /dev/pts, and let /dev/ptmx be there"),
    }]
}

fn open_terminal() -> io::Result<String> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?.to_string_lossy().into_owned();
    // Opened as well, since in some containers the name leads nowhere. NOCTTY: it must not become ours.
    rustix::fs::open(name.as_str(), rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY, rustix::fs::Mode::empty())?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Health;
    use super::*;

    #[test]
    fn a_limit_is_judged_by_what_fits_into_it() {
        let cases = [
            (None, Health::Ok),
            (Some(1024), Health::Ok),
            (Some(256), Health::Ok),
            (Some(255), Health::Note),
            (Some(63), Health::Problem),
        ];
        for (limit, health) in cases {
            assert_eq!(descriptors(limit).health, health);
        }
        assert_eq!(processes(None, 10).health, Health::Ok);
        assert_eq!(processes(Some(1000), 10).health, Health::Ok);
        if !rustix::process::geteuid().is_root() {
            assert_eq!(processes(Some(1000), 950).health, Health::Note);
            assert_eq!(processes(Some(1000), 2000).health, Health::Problem);
        }
    }

    #[test]
    fn a_locale_is_utf8_or_worth_a_note() {
        let cases = [
            (Some(("LANG", "de_DE.UTF-8")), Health::Ok),
            (Some(("LC_ALL", "C.utf8")), Health::Ok),
            (Some(("LANG", "C")), Health::Note),
            (Some(("LANG", "de_DE.ISO-8859-1")), Health::Note),
            (None, Health::Note),
        ];
        for (found, health) in cases {
            assert_eq!(judge_locale(found.map(|(name, value)| (name, value.to_owned()))).health, health);
        }
    }
}
