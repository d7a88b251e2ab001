//! Real ways to another machine, all of them on this one and without a network: what a user of Chiton types after `--on`
//! is answered by the real OpenSSH, podman, Docker's client, `kubectl` or Slurm.
//!
//! Each fixture starts what it needs in a temporary folder, on loopback ports that nobody else gets, and many can be used
//! at the same time. When it is dropped, its processes, files, mounts and ports are gone. Each has a function
//! `available()` that says why it cannot be used here, for [`usable`]; the rest panics with what went wrong, as befits a
//! test.

mod docker;
mod kube;
mod leash;
mod machine;
mod namespace;
mod podman;
mod port;
mod proxy;
mod slurm;
mod sshd;

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

pub use docker::DockerOnPodman;
pub use kube::{ExecRequest, KubeApi, PodOptions};
pub use machine::{Machine, MachineOptions, Network};
pub use podman::{Podman, PodmanOptions, Root, Temporary, Writable};
pub use port::ReservedPort;
pub use proxy::Proxy;
pub use slurm::Slurm;
pub use sshd::{Connection, Sshd, SshdOptions, put_ssh_on_path};

/// Whether a test can go on; otherwise it says that it was skipped, and why.
pub fn usable(available: &Result<(), String>) -> bool {
    if let Err(reason) = available {
        // Straight to the descriptor: the test harness hides what `eprintln!` says of a test that passes.
        let _ = rustix::io::write(rustix::stdio::stderr(), format!("skipped: {reason}\n").as_bytes());
    }
    available.is_ok()
}

/// The ways that cannot be used here, each with the reason.
pub fn unavailable() -> Vec<(&'static str, String)> {
    let ways = [
        ("ssh", Sshd::available()),
        ("podman", Podman::available()),
        ("docker", DockerOnPodman::available()),
        ("kubectl", KubeApi::available()),
        ("Slurm", Slurm::available()),
        ("the program that is carried there", crate::carried::available()),
    ];
    ways.into_iter().filter_map(|(way, available)| Some((way, available.err()?))).collect()
}

/// Where a program is, or which Debian package would bring it.
fn program(name: &str, package: &str) -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Daemons are where a user's PATH does not lead.
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{name} is not installed: apt-get install {package}"))
}

/// Writes a program `name` into `folder`: a script for `sh`, which can be run.
fn write_program(folder: &Path, name: &str, script: &str) {
    fs::create_dir_all(folder).expect("the folder of a fixture is ours");
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the folder of a fixture is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

/// Ends a process. It may have ended just before, which is as good.
fn end(pid: i32) {
    signal(pid, Signal::KILL);
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}
