//! `chiton host`: owns what runs here for people and agents on other machines.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use chiton_engine::secrets::forbid_looking_in;
use chiton_reach::host::{Stays, serve};
use clap::Args;

use crate::messages::remark;
use crate::runtime;

/// Wait for connections from other machines (`--on` starts this by itself)
#[derive(Args)]
#[command(after_help = "\
`chiton run --on TARGET` starts a host over there when it needs one, and it ends when nobody needs it. Start it yourself
where it has to belong to something that stays, such as the batch step of a Slurm job:
  chiton host &

It listens on a socket in the state directory that only you can reach, and on no port.")]
pub(crate) struct HostArguments {
    /// End the one that runs: commands that are waited for end with it, tasks go on
    #[arg(long)]
    stop: bool,
    /// Started by a relay: it goes into the background and ends when nobody needs it
    #[arg(long, hide = true)]
    behind: bool,
}

pub(crate) fn host(arguments: &HostArguments, state: &Path) -> Result<ExitCode> {
    if arguments.stop {
        let was_there = chiton_reach::relay::stop(state)?;
        remark(if was_there { "the host has ended" } else { "no host runs here" });
        return Ok(ExitCode::SUCCESS);
    }
    forbid_looking_in()?;
    let stays = if arguments.behind {
        // Away from the terminal and the process group of whoever started us.
        let _ = rustix::process::setsid();
        env::set_current_dir("/")?;
        Stays::WhileNeeded
    } else {
        Stays::UntilStopped
    };
    let ready = || match stays {
        Stays::WhileNeeded => let_go(),
        Stays::UntilStopped => remark("waiting for connections; `chiton host --stop` ends this"),
    };
    let job = env::var("SLURM_JOB_ID").ok();
    let runtime = runtime::build(&mut tokio::runtime::Builder::new_current_thread())?;
    runtime.block_on(serve(state, job.as_deref(), stays, ready))?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// Tells the relay that we listen, and lets go of its pipes.
fn let_go() {
    let _ = writeln!(io::stdout(), "ready");
    let _ = io::stdout().flush();
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}
