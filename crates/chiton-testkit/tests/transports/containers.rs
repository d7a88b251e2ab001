//! Containers of podman, with its own client and with that of Docker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use chiton_testkit::processes::{eventually, program_of};
use chiton_testkit::transports::{DockerOnPodman, Podman, PodmanOptions, Root, Temporary, Writable, usable};

use crate::{LIMIT, begun, client, fed, is_gone, kill, works};

/// What a script in the container prints.
fn said(podman: &Podman, script: &str) -> String {
    let output = fed(client(&podman.client(), &["sh"]), script.as_bytes());
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The control groups of a container that there are.
pub(crate) fn control_groups(name: &str) -> Vec<PathBuf> {
    let top = Path::new("/sys/fs/cgroup");
    let controllers = fs::read_dir(top).into_iter().flatten().flatten().map(|entry| entry.path());
    controllers.chain([top.to_owned()]).map(|group| group.join(name)).filter(|group| group.exists()).collect()
}

#[test]
fn podman_carries_bytes_and_endings() {
    if !usable(&Podman::available()) {
        return;
    }
    let podman = Podman::start(&PodmanOptions::default());
    works(&podman.client(), &["sh"]);
    assert_eq!(said(&podman, "echo $HOME; command -v bash"), "/root\n");

    let (folder, name) = (podman.folder().to_owned(), podman.name().to_owned());
    drop(podman);
    is_gone(&folder);
    assert!(control_groups(&name).is_empty(), "{:?}", control_groups(&name));
}

#[test]
fn a_command_in_a_container_goes_on_without_its_client() {
    if !usable(&Podman::available()) {
        return;
    }
    let podman = Podman::start(&PodmanOptions::default());
    let mut running = begun(&podman.client(), &["sh", "-c", "echo $$ > /pid; echo begun; exec sleep 1005"]);
    let there = fs::read_to_string(podman.root().join("pid")).expect("the command has written it");
    let here = podman.process_here(there.trim().parse().expect("it is a number")).expect("it lives");
    assert_eq!(podman.processes(), [here]);
    kill(&mut running);
    assert_eq!(podman.processes(), [here], "it goes on");
    assert!(eventually(LIMIT, || program_of(here) == "busybox"));

    // It ends with the container, and its monitor as well.
    let (folder, name) = (podman.folder().to_owned(), podman.name().to_owned());
    drop(podman);
    is_gone(&folder);
    assert!(control_groups(&name).is_empty(), "{:?}", control_groups(&name));
}

#[test]
fn a_container_can_be_hard_to_write_to() {
    if !usable(&Podman::available()) {
        return;
    }
    let options = PodmanOptions {
        writable_root: Writable::No,
        temporary: Temporary::NoExec,
        arguments: vec!["--env".to_owned(), "A=b".to_owned()],
        ..PodmanOptions::default()
    };
    let podman = Podman::start(&options);
    let script = "cp /bin/busybox /root/x 2>/dev/null || echo read-only; cp /bin/busybox /tmp/x && /tmp/x 2>/dev/null || echo $?; echo $A";
    assert_eq!(said(&podman, script), "read-only\n126\nb\n");
}

#[test]
fn a_container_has_the_programs_of_the_machine() {
    if !usable(&Podman::available()) {
        return;
    }
    let options = PodmanOptions { root: Root::Machine, ..PodmanOptions::default() };
    let podman = Podman::start(&options);
    let script = "bash -c 'echo ${BASH_VERSION%%.*}'; echo x | awk '{print $1 1}'; touch /usr/x 2>/dev/null || echo read-only; touch /root/x";
    let major = fed(client(&["bash".to_owned()], &["-c", "echo ${BASH_VERSION%%.*}"]), b"").stdout;
    assert_eq!(said(&podman, script), format!("{}x1\nread-only\n", String::from_utf8_lossy(&major)));
}

#[test]
fn a_container_is_known_by_its_name() {
    if !usable(&Podman::available()) {
        return;
    }
    let mut podman = Podman::start(&PodmanOptions::default());
    let path = format!("{}:{}", podman.path_folder().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", "podman exec -i \"$1\" hostname", "sh", podman.name()]).env("PATH", path);
    let output = fed(command, b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}\n", podman.name()));

    podman.switch_off();
    assert!(!fed(client(&podman.client(), &["true"]), b"").status.success());
}

#[test]
fn docker_carries_bytes_and_endings() {
    if !usable(&DockerOnPodman::available()) {
        return;
    }
    let docker = DockerOnPodman::start(&PodmanOptions::default());
    works(&docker.client(), &["sh"]);

    let mut running = begun(&docker.client(), &["sh", "-c", "echo begun; exec sleep 1007"]);
    kill(&mut running);
    assert_eq!(docker.container().processes().len(), 1, "it goes on");

    let path = format!("{}:{}", docker.path_folder().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", "docker ps --format '{{.Names}}'"]).env("PATH", path);
    assert_eq!(String::from_utf8_lossy(&fed(command, b"").stdout), format!("{}\n", docker.container().name()));

    let (folder, name) = (docker.container().folder().to_owned(), docker.container().name().to_owned());
    drop(docker);
    is_gone(&folder);
    assert!(control_groups(&name).is_empty(), "{:?}", control_groups(&name));
}
