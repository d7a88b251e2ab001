//! A test that is killed leaves files behind, for nobody is there to remove them, and nothing that runs.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chiton_testkit::processes::{Marked, eventually, mentioning};
use chiton_testkit::transports::{
    DockerOnPodman, KubeApi, PodOptions, Podman, PodmanOptions, Slurm, Sshd, SshdOptions, usable,
};
use rustix::process::{Pid, Signal, getuid, kill_process};

use crate::containers::control_groups;
use crate::{LIMIT, begun, kill};

/// Not a test: the process that the test below kills. It has one of each, and commands running in them.
#[test]
#[ignore = "a part of another test"]
fn holds_one_of_each() {
    let mut kept: Vec<Box<dyn std::any::Any>> = Vec::new();
    let mut hold = |folder: &Path, client: &[String], sleep: &[&str]| {
        println!("holds {}", folder.display());
        kept.push(Box::new(begun(client, sleep)));
    };
    let command = ["sh", "-c", "echo begun; exec sleep 1010"];

    let sshd = Sshd::available().is_ok().then(|| Sshd::start(&SshdOptions::default()));
    if let Some(sshd) = &sshd {
        hold(sshd.machine().folder(), &sshd.client(), &["echo begun; exec sleep 1010"]);
    }
    let podman = Podman::available().is_ok().then(|| Podman::start(&PodmanOptions::default()));
    if let Some(podman) = &podman {
        hold(podman.folder(), &podman.client(), &command);
    }
    let docker = DockerOnPodman::available().is_ok().then(|| DockerOnPodman::start(&PodmanOptions::default()));
    if let Some(docker) = &docker {
        hold(docker.container().folder(), &docker.client(), &command);
    }
    let kube = KubeApi::available().is_ok().then(|| KubeApi::start(&[PodOptions::new("p")]));
    if let Some(kube) = &kube {
        hold(kube.folder(), &kube.client("default", "p", None), &command);
        println!("holds {}", kube.container("default", "p", "main", |machine| machine.folder().display().to_string()));
    }
    let slurm = Slurm::available().is_ok().then(Slurm::start);
    if let Some(slurm) = &slurm {
        // Only the job: the real srun waits for long when a whole cluster is gone.
        slurm.submit("exec sleep 1010");
        println!("holds {}", slurm.machine().folder().display());
    }
    println!("holds all");
    let _ = std::io::stdin().read(&mut [0]);
}

/// The processes of a fixture, without the one that podman keeps for each user who is not the super-user: it has no
/// arguments, does nothing, and holds a namespace open.
fn left(folder: &str) -> Vec<Marked> {
    let is_kept = |process: &Marked| !getuid().is_root() && process.command.ends_with("/podman");
    mentioning(folder).into_iter().filter(|process| !is_kept(process)).collect()
}

#[test]
fn nothing_outlives_a_test_that_is_killed() {
    let mut command = Command::new(env::current_exe().expect("the system says which program this is"));
    command.args(["--ignored", "--exact", "hygiene::holds_one_of_each", "--nocapture"]);
    let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it is this program");
    let said = BufReader::new(holder.stdout.take().expect("it was asked for")).lines().map_while(Result::ok);
    let lines = said.filter_map(|line| line.split_once("holds ").map(|(_, folder)| folder.to_owned()));
    let folders: Vec<PathBuf> = lines.take_while(|folder| folder != "all").map(PathBuf::from).collect();
    kill(&mut holder);
    usable(&if folders.is_empty() { Err("no way to another machine can be used".to_owned()) } else { Ok(()) });

    for folder in folders {
        let text = folder.to_str().expect("temporary folders have plain names");
        assert!(eventually(LIMIT, || left(text).is_empty()), "still there: {:?}", left(text));
        // What podman keeps, if it does, is all there is now.
        for pid in mentioning(text).into_iter().filter_map(|process| Pid::from_raw(process.pid)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        fs::remove_dir_all(&folder).expect("nobody uses it");
        let name = folder.file_name().expect("it has a name").to_string_lossy().to_lowercase();
        for group in control_groups(&name) {
            fs::remove_dir(group).expect("it is empty");
        }
    }
}
