//! Slurm.

use std::fs;
use std::process::Command;

use chiton_testkit::processes::{eventually, program_of};
use chiton_testkit::transports::{Slurm, usable};

use crate::{LIMIT, begun, fed, is_gone, kill, works};

/// How many processes of this program run on the node.
fn running(slurm: &Slurm, program: &str) -> usize {
    slurm.machine().processes().into_iter().filter(|pid| program_of(*pid) == program).count()
}

#[test]
fn srun_carries_bytes_and_endings_beside_a_job() {
    if !usable(&Slurm::available()) {
        return;
    }
    let slurm = Slurm::start();
    let job = slurm.submit("echo $HOME; exec sleep 1008");
    works(&slurm.client(job), &["sh"]);
    let log = slurm.machine().home().join(format!("job-{job}.log"));
    let home = format!("{}\n", slurm.machine().home().display());
    assert!(eventually(LIMIT, || fs::read_to_string(&log).is_ok_and(|text| text == home)));

    // The death of a client ends its step, and not the job.
    let mut client = begun(&slurm.client(job), &["sh", "-c", "echo begun; exec tail -f /dev/null"]);
    assert!(eventually(LIMIT, || running(&slurm, "tail") == 1));
    kill(&mut client);
    assert!(eventually(LIMIT, || running(&slurm, "tail") == 0), "{}", slurm.logs());
    assert_eq!((slurm.state(job).as_str(), running(&slurm, "sleep")), ("RUNNING", 1));

    slurm.cancel(job);
    assert!(eventually(LIMIT, || running(&slurm, "sleep") == 0), "{}", slurm.logs());

    let folder = slurm.machine().folder().to_owned();
    drop(slurm);
    is_gone(&folder);
}

#[test]
fn a_cluster_is_known_to_the_programs_of_users() {
    if !usable(&Slurm::available()) {
        return;
    }
    let (one, other) = (Slurm::start(), Slurm::start());
    let job = one.submit("exec sleep 1009");
    assert_eq!(other.state(job), "", "each has its own jobs");
    let path = format!("{}:{}", one.path_folder().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", "srun --overlap --jobid=$1 hostname", "sh", &job.to_string()]).env("PATH", path);
    let output = fed(command, b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "far\n", "{}", String::from_utf8_lossy(&output.stderr));
}
