//! `deploy/slurm`, with a real Slurm.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use chiton_testkit::processes::{eventually, program_of};
use chiton_testkit::transports::{Slurm, usable};
use chiton_testkit::{carried, carried_program};

use super::{file, text_of};
use crate::near_side::{NearSide, text};

const LIMIT: Duration = Duration::from_mins(1);

fn submittable() -> Result<(), String> {
    carried::available().and_then(|()| Slurm::available())
}

/// Submits a script as a user would, from where `chiton` is used; the job gets that environment.
fn submit(slurm: &Slurm, near: &NearSide, script: &Path, program: &Path) -> u32 {
    let mut sbatch = near.command_of(&slurm.path_folder().join("sbatch"));
    // In the job, srun needs nobody to show it the way to the cluster.
    sbatch.arg("--parsable").arg(format!("--export=ALL,PATH=/usr/bin:/bin,CHITON={}", program.display())).arg(script);
    let said = sbatch.output().unwrap();
    text(&said.stdout).trim().parse().unwrap_or_else(|_| panic!("{}{}", text(&said.stdout), text(&said.stderr)))
}

/// How many processes are the program on the node, as a host that the job has started.
fn hosts(slurm: &Slurm) -> usize {
    let is_host = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // Neither srun, which names the same program, nor one that a connection has started, which stays behind it.
        program_of(*pid) == "chiton" && line.ends_with(b"/chiton\0host\0")
    };
    slurm.machine().processes().iter().filter(|pid| is_host(pid)).count()
}

fn log(near: &NearSide, job: u32) -> String {
    fs::read_to_string(near.folder().join(format!("work/chiton-{job}.log"))).unwrap_or_default()
}

/// What holds for a job of this script.
fn serves(script: &Path) {
    let slurm = Slurm::start();
    let near = NearSide::with_program_folder(&slurm.path_folder());
    let job = submit(&slurm, &near, script, &carried_program());
    let target = format!("slurm:{job}");
    let waits = || log(&near, job).contains("waiting for connections");
    assert!(eventually(LIMIT, waits), "{}\n{}", log(&near, job), slurm.logs());

    let on = |words: &[&str]| -> Output {
        let (verb, rest) = words.split_first().unwrap();
        near.run(&[&[*verb, "--on", &target], rest].concat())
    };
    let ran = on(&["run", "hostname; echo $SLURM_JOB_ID; exit 3"]);
    assert_eq!((text(&ran.stdout), ran.status.code()), (format!("far\n{job}\n"), Some(3)), "{}", text(&ran.stderr));
    assert!(!text(&ran.stderr).contains("tasks end with the connection"), "{}", text(&ran.stderr));
    assert_eq!(hosts(&slurm), 1, "it is the host of the job that answered");

    // A task belongs to the job, and goes on without a connection.
    let id = text(&on(&["run", "--background", "exec sleep 1010"]).stdout).trim().to_owned();
    let sleeps = || slurm.machine().processes().into_iter().any(|pid| program_of(pid) == "sleep");
    assert!(eventually(LIMIT, sleeps));
    assert!(text(&on(&["ps"]).stdout).contains(&id));
    assert_eq!(on(&["kill", &id]).status.code(), Some(0));
    assert!(eventually(LIMIT, || !sleeps()));

    // The host ends with the job. (This Slurm follows processes by their parents; only with control groups does it also
    // find tasks whose parent has ended.)
    slurm.cancel(job);
    assert!(eventually(LIMIT, || hosts(&slurm) == 0), "{}", slurm.logs());
}

#[test]
fn a_job_takes_commands_and_tasks_outlive_the_connection() {
    if usable(&submittable()) {
        serves(&file("slurm/chiton.sbatch"));
    }
}

#[test]
fn a_job_of_several_nodes_has_a_host_on_each() {
    if !usable(&submittable()) {
        return;
    }
    // There is one node here; so it is taken for several, and gets its host by srun as each of several would.
    let folder = tempfile::tempdir().unwrap();
    let (script, condition) = (text_of("slurm/chiton.sbatch"), r#"[ "${SLURM_JOB_NUM_NODES:-1}" = 1 ]"#);
    assert!(script.contains(condition));
    fs::write(folder.path().join("several.sbatch"), script.replace(condition, "false")).unwrap();
    serves(&folder.path().join("several.sbatch"));
}

#[test]
fn a_job_without_the_program_says_so() {
    if !usable(&submittable()) {
        return;
    }
    let slurm = Slurm::start();
    let near = NearSide::with_program_folder(&slurm.path_folder());
    let job = submit(&slurm, &near, &file("slurm/chiton.sbatch"), Path::new("/nosuch/chiton"));
    let said = || log(&near, job).contains("there is no '/nosuch/chiton' on far: put the program on the PATH");
    assert!(eventually(LIMIT, said), "{}{}", log(&near, job), slurm.logs());
    assert!(eventually(LIMIT, || slurm.state(job) != "RUNNING"));
}

#[test]
fn the_script_is_for_every_sh() {
    for shell in ["sh", "dash", "bash"] {
        let checked = Command::new(shell).arg("-n").arg(file("slurm/chiton.sbatch")).output();
        let Ok(checked) = checked else {
            usable(&Err(format!("{shell} is not installed")));
            continue;
        };
        assert!(checked.status.success(), "{shell}: {}", text(&checked.stderr));
    }
    // sbatch reads its lines up to the first that is not a comment.
    let script = text_of("slurm/chiton.sbatch");
    let head: Vec<&str> = script.lines().take_while(|line| line.is_empty() || line.starts_with('#')).collect();
    let options = |lines: &[&str]| lines.iter().filter(|line| line.starts_with("#SBATCH ")).count();
    let all: Vec<&str> = script.lines().collect();
    assert_eq!((options(&head), options(&head)), (4, options(&all)));
}
