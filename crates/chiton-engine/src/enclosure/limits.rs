//! The limits that each process of a sandbox has.

use rustix::process::{Resource as Limited, Rlimit};

use crate::sandbox::policy::SandboxLimits;

/// The limits that each process has from its start. `RLIMIT_AS` is not among them: it counts what programs reserve and
/// never use, so that some do not even start.
pub(crate) fn of_each_process(limits: &SandboxLimits) -> Vec<(Limited, Rlimit)> {
    let rows = [
        (Limited::Data, limits.memory),
        (Limited::Nproc, limits.processes),
        (Limited::Cpu, limits.cpu_seconds),
        (Limited::Fsize, limits.file),
        (Limited::Nofile, limits.open_files),
    ];
    // At the first limit on processor time a process gets a signal that has a name, at the second it is killed.
    let most = |limited: Limited, value: u64| if limited == Limited::Cpu { value.saturating_add(2) } else { value };
    let limit = |limited: Limited, value: u64| Rlimit { current: Some(value), maximum: Some(most(limited, value)) };
    rows.into_iter().filter_map(|(limited, value)| Some((limited, limit(limited, value?)))).collect()
}
