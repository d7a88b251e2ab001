//! Programs that tests drive or compare with, and how those that are missing get here.
//!
//! Where it may, `cargo xtask test` installs them by the names of Debian's packages. `CHITON_NO_INSTALL=1` says that it
//! may not. Some packages bring a service that would start by itself, an ssh server for one: they are installed only where
//! no service manager runs, as in a container or on a machine of CI.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use chiton_testkit::transports;

/// Programs without which the tests cannot run, and the Debian package of each.
const NEEDED: [(&str, &str); 12] = [
    ("git", "git"),
    ("ldd", "libc-bin"),
    ("less", "less"),
    ("npm", "npm"),
    ("python3", "python3"),
    ("script", "bsdutils"),
    ("ssh-keygen", "openssh-client"),
    ("tmux", "tmux"),
    ("top", "procps"),
    ("unshare", "util-linux"),
    ("valgrind", "valgrind"),
    ("vim", "vim"),
];

/// Programs that lead to other machines or are found there. Tests that need a missing one are skipped. `docker` and
/// `kubectl` are not among them: Debian's are a daemon and too old.
const WELCOME: [(&str, &str, Service); 11] = [
    ("fish", "fish", Service::None),
    ("tcsh", "tcsh", Service::None),
    ("busybox", "busybox-static", Service::None),
    ("ip", "iproute2", Service::None),
    ("runc", "runc", Service::None),
    ("podman", "podman", Service::StartsByItself),
    ("sshd", "openssh-server", Service::StartsByItself),
    ("munged", "munge", Service::StartsByItself),
    ("srun", "slurm-client", Service::None),
    ("slurmd", "slurmd", Service::StartsByItself),
    ("slurmctld", "slurmctld", Service::StartsByItself),
];

/// What a package brings along.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Service {
    /// Programs alone.
    None,
    /// A service that runs from now on, wherever a service manager runs.
    StartsByItself,
}

/// Makes sure that they are there, installing them where that can be done.
pub(crate) fn make_ready() -> Result<()> {
    let missing = || NEEDED.into_iter().filter(|(program, _)| found(program).is_none()).map(|(_, package)| package);
    install(&missing().collect::<Vec<&str>>());
    let packages: Vec<&str> = missing().collect();
    ensure!(
        packages.is_empty(),
        "the tests need programs that could not be installed; install {}",
        packages.join(", ")
    );

    let services_start = Path::new("/run/systemd/system").exists();
    let may_come = |service: Service| service == Service::None || !services_start;
    for (program, package, service) in WELCOME {
        if found(program).is_none() && may_come(service) {
            // One by one: a package that this distribution does not have should not keep the others away.
            install(&[package]);
        }
    }
    Ok(())
}

/// Says what was not tried for want of a program, and how to get it.
pub(crate) fn report_missing() {
    for (way, reason) in transports::unavailable() {
        println!("Not tried: {way}, because {reason}");
    }
    for (program, package, _) in WELCOME.into_iter().filter(|(program, ..)| ["fish", "tcsh"].contains(program)) {
        if found(program).is_none() {
            println!("Not tried: {program} as a login shell; apt-get install {package}");
        }
    }
}

/// Where a program is. Daemons are where the PATH of a user does not lead.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Installs packages where that can be done; says so where it cannot.
pub(crate) fn install(packages: &[&str]) {
    if packages.is_empty() {
        return;
    }
    if let Err(reason) = may_install() {
        eprintln!("not installed: {}; {reason}", packages.join(", "));
        return;
    }
    eprintln!("\n== installing {}", packages.join(", "));
    let _quiet = NoServices::announce();
    let install = [&["install", "-y", "-qq", "--no-install-recommends"], packages].concat();
    // Mostly the lists are there; getting them takes longer than the package.
    let is_done = apt(&install) || (apt(&["update", "-qq"]) && apt(&install));
    if !is_done {
        eprintln!("apt-get could not install {}", packages.join(", "));
    }
}

fn may_install() -> Result<(), &'static str> {
    let is_forbidden = env::var_os("CHITON_NO_INSTALL").is_some_and(|value| !value.is_empty() && value != "0");
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    match (is_forbidden, found("apt-get"), is_root) {
        (true, ..) => Err("CHITON_NO_INSTALL forbids it"),
        (_, None, _) => Err("there is no apt-get here"),
        (_, _, false) => Err("only the super-user can"),
        _ => Ok(()),
    }
}

fn apt(arguments: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// While this lives, packages start no services: Debian's tools ask a program, which says no. Where there is one already,
/// it has its reasons, and stays.
struct NoServices(Option<&'static Path>);

impl NoServices {
    fn announce() -> Self {
        let path = Path::new("/usr/sbin/policy-rc.d");
        let made = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path);
        let written = made.and_then(|mut file| file.write_all(b"#!/bin/sh\nexit 101\n"));
        // Without the rights for this there are none to install anything.
        Self(written.is_ok().then_some(path))
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            let _ = fs::remove_file(path);
        }
    }
}
