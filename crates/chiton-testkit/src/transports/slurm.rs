//! Slurm with one node: its daemons on a [`Machine`] of their own, which also has a network of its own.
//!
//! So the ports that Slurm listens on are free, nobody else can reach them, and several of these can run at the same time.
//! The clients, `srun` and so on, run on this machine and see only that network. As on a cluster, files are the same
//! everywhere, and a job gets the environment of whoever submits it, home included.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Machine, MachineOptions, Network, program, write_program};
use crate::processes::eventually;

/// How long Slurm may take to start, or to start a job.
const PATIENCE: Duration = Duration::from_mins(1);

/// The programs of users.
const CLIENTS: [&str; 7] = ["sbatch", "srun", "salloc", "scancel", "scontrol", "sinfo", "squeue"];

/// The daemons, each with the package that it is in.
const DAEMONS: [(&str, &str); 3] = [("munged", "munge"), ("slurmctld", "slurmctld"), ("slurmd", "slurmd")];

/// A cluster of one node. It goes when this goes away, with all its jobs.
#[derive(Debug)]
pub struct Slurm {
    daemons: Vec<Child>,
    machine: Machine,
}

impl Slurm {
    /// Why there can be none here.
    pub fn available() -> Result<(), String> {
        for (name, package) in DAEMONS {
            program(name, package)?;
        }
        for name in CLIENTS {
            program(name, "slurm-client")?;
        }
        program("ip", "iproute2")?;
        Machine::available()
    }

    /// Starts one that takes jobs.
    ///
    /// # Panics
    /// When it does not.
    pub fn start() -> Self {
        let options = MachineOptions { network: Network::Own, ..MachineOptions::default() };
        let machine = Machine::start(&options);
        write_settings(&machine);
        for name in CLIENTS {
            let path = program(name, "slurm-client").unwrap_or_else(|missing| panic!("{missing}"));
            let (settings, join) = (settings(&machine), machine.joining_network());
            let script = format!("export SLURM_CONF='{settings}'\nexec {join} '{}' \"$@\"", path.display());
            write_program(&machine.folder().join("bin"), name, &script);
        }

        let mut slurm = Self { daemons: Vec::new(), machine };
        let file = |name: &str| slurm.machine.folder().join(name).display().to_string();
        let socket = file("munge.socket");
        let munge =
            ["key", "log", "pid", "seed"].map(|name| format!("--{name}-file={}", file(&format!("munge.{name}"))));
        let munge =
            [&["--foreground".to_owned(), "--force".to_owned(), format!("--socket={socket}")], &munge[..]].concat();
        let own = ["-D".to_owned(), "-f".to_owned(), settings(&slurm.machine)];
        slurm.daemons.push(slurm.daemon("munged", &munge));
        assert!(eventually(PATIENCE, || Path::new(&socket).exists()), "munged does not start: {}", slurm.logs());
        slurm.daemons.push(slurm.daemon("slurmctld", &own));
        slurm.daemons.push(slurm.daemon("slurmd", &own));
        let is_idle = || slurm.answer("sinfo", &["--noheader", "--format=%T"]) == "idle";
        assert!(eventually(PATIENCE, is_idle), "Slurm does not start: {}", slurm.logs());
        slurm
    }

    /// Submits a job that runs this shell script; gives its number when it runs. Its home is that of [`Self::machine`], where
    /// its output is in `job-NUMBER.log`.
    ///
    /// # Panics
    /// When it is not taken, or does not start to run.
    pub fn submit(&self, script: &str) -> u32 {
        let mut sbatch = self.command("sbatch");
        sbatch.args(["--parsable", "--output=job-%j.log"]).current_dir(self.machine.home());
        sbatch.env("HOME", self.machine.home()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut running = sbatch.spawn().expect("the wrapper starts");
        let mut stdin = running.stdin.take().expect("it was asked for");
        stdin.write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).expect("sbatch reads");
        drop(stdin);
        let said = running.wait_with_output().expect("it is our child");
        let said = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let job = said.parse().unwrap_or_else(|_| panic!("sbatch gives no number: {said}\n{}", self.logs()));
        assert!(eventually(PATIENCE, || self.state(job) == "RUNNING"), "the job does not run: {}", self.logs());
        job
    }

    /// What Slurm calls the state of a job, for instance `RUNNING`; empty when it knows nothing of it any more.
    pub fn state(&self, job: u32) -> String {
        self.answer("squeue", &["--noheader", "--format=%T", "--jobs", &job.to_string()])
    }

    /// Cancels a job.
    pub fn cancel(&self, job: u32) {
        self.answer("scancel", &[&job.to_string()]);
    }

    /// The client with its arguments, for a step in a job that runs, beside what it does. What follows is the command. When
    /// the client dies, the command does too.
    pub fn client(&self, job: u32) -> Vec<String> {
        let wrapper = self.path_folder().join("srun").display().to_string();
        let job = format!("--jobid={job}");
        [wrapper.as_str(), "--overlap", "--ntasks=1", "--unbuffered", &job].map(str::to_owned).to_vec()
    }

    /// A folder with `srun`, `sbatch` and so on, which know this cluster. For a test that puts the folder first on PATH.
    pub fn path_folder(&self) -> PathBuf {
        self.machine.folder().join("bin")
    }

    /// The node.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What the daemons have written down.
    pub fn logs(&self) -> String {
        let log = |(name, _): (&str, &str)| {
            let text = fs::read_to_string(self.machine.folder().join(format!("{name}.out"))).unwrap_or_default();
            format!("== {name}\n{text}")
        };
        DAEMONS.map(log).concat()
    }

    fn daemon(&self, name: &str, arguments: &[String]) -> Child {
        let log = File::create(self.machine.folder().join(format!("{name}.out"))).expect("the folder is ours");
        let path = program(name, name).unwrap_or_else(|missing| panic!("{missing}"));
        let mut command = self.machine.command(&path.display().to_string());
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone().expect("it is open")).stderr(log);
        command.spawn().expect("nsenter starts")
    }

    /// What a client prints.
    fn answer(&self, client: &str, arguments: &[&str]) -> String {
        let output = self.command(client).args(arguments).stdin(Stdio::null()).output().expect("the wrapper starts");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "the clients of Slurm are started without the engine")]
    fn command(&self, client: &str) -> Command {
        Command::new(self.path_folder().join(client))
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.machine.switch_off();
        for daemon in &mut self.daemons {
            let _ = daemon.wait();
        }
    }
}

fn settings(machine: &Machine) -> String {
    machine.folder().join("slurm.conf").display().to_string()
}

fn write_settings(machine: &Machine) {
    let (folder, host, user) = (machine.folder().display(), &machine.options().host_name, machine.user());
    let settings = format!(
        "ClusterName=far\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
         AuthType=auth/munge\nAuthInfo=socket={folder}/munge.socket\n\
         StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\n\
         SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMpiDefault=none\nMailProg=/bin/true\n\
         SchedulerParameters=batch_sched_delay=0\nKillWait=2\nReturnToService=2\n\
         PropagateResourceLimits=NONE\nSlurmdParameters=config_overrides\n\
         NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=1000\n\
         PartitionName=all Nodes=ALL Default=YES State=UP\n"
    );
    for name in ["state", "spool"] {
        fs::create_dir(machine.folder().join(name)).expect("the folder is ours");
    }
    fs::write(machine.folder().join("slurm.conf"), settings).expect("the folder is ours");

    let mut key = vec![0; 1024];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut key)).expect("it never ends");
    let path = machine.folder().join("munge.key");
    fs::write(&path, key).expect("the folder is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the file is ours");
}
