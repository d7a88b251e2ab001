//! What the kernel of this machine offers, and how large the machine is for us. Asked for by whoever wants to know; the engine itself just uses it.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use chiton_guard::{Context, Found, OwnProcess};
use rustix::fs::MemfdFlags;
use rustix::process::{PidfdFlags, child_subreaper, getpid, pidfd_open};

use crate::sys::{descriptors, landlock, memory, names, probe};

/// Call this first in `main`, before anything looks up a name.
///
/// It does something only in a program with glibc linked into it. There, a look-up of a host or a user loads the plug-ins that
/// the machine's `/etc/nsswitch.conf` names, and with them the machine's glibc: another version of it, as a rule, or none, and
/// the program crashes. After this call, hosts are looked up in `/etc/hosts` and by DNS, users in `/etc/passwd`, and no plug-in
/// is loaded.
pub fn look_up_names_without_plugins() {
    names::configure();
}

/// Has all threads of this process use one heap. For a program in which one thread does nearly everything: call this before
/// others are started.
pub fn use_one_heap() {
    memory::use_one_heap();
}

/// Gives back memory that this process needed only to start: freed pieces of the heap, and pages of the program file. Takes a
/// millisecond. What is needed again after all is read again by the kernel.
pub fn give_back_memory() {
    memory::release_heap();
    memory::release_files();
}

/// The descriptor of this number that this process was started with, other than those for input, output and errors.
///
/// Call this in the first moments of a process, and once for each number: whoever opens something may get the number of a
/// descriptor that was closed.
///
/// # Errors
/// When there is none.
pub fn take_inherited(number: i32) -> io::Result<OwnedFd> {
    descriptors::take(number)
}

/// The file mode creation mask of this process, read without changing it.
pub fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022)
}

/// What the guard has to know about this machine and this process to judge commands that start in `directory`, which is also
/// the workspace.
pub fn guard_context(home: PathBuf, user: String, directory: PathBuf) -> Context {
    let mut context = Context::new(home, user, directory.clone());
    context.workspace = Some(directory);
    // When a command is to be judged, and not yet: the table of mounts has to wait while anybody on this machine takes a
    // sandbox down, which can take twenty milliseconds.
    context.own_processes = Found::later(own_processes);
    context.own_groups = Found::later(|| own_group().into_iter().collect());
    context.mounts = Found::later(mounts);
    context
}

/// This process and its ancestors.
fn own_processes() -> Vec<OwnProcess> {
    let mut found = Vec::new();
    let mut id = std::process::id();
    while id > 1 && found.len() < 64 {
        let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default().trim().to_owned();
        found.push(OwnProcess { id, name });
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        id = parent.and_then(|parent| parent.trim().parse().ok()).unwrap_or(0);
    }
    found
}

/// The process group of this process, where it has a number here: in a container it may have been made outside.
fn own_group() -> Option<u32> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(2)?.parse().ok().filter(|group| *group > 0)
}

fn mounts() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    text.lines().filter_map(|line| line.split(' ').nth(1)).map(|path| path.replace("\\040", " ").into()).collect()
}

/// Something that the engine cannot work without.
#[derive(Debug)]
pub struct Need {
    /// Its name, as manuals have it.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// Whether it is there, or what the kernel says instead.
    pub answer: io::Result<()>,
}

/// All that the engine needs from the kernel, each asked for.
pub fn needs() -> [Need; 4] {
    [
        Need {
            name: "child subreaper",
            purpose: "a keeper gets every process that its command leaves behind",
            answer: child_subreaper().map(|_| ()).map_err(io::Error::from),
        },
        Need {
            name: "pidfd_open",
            purpose: "a signal reaches the process that is meant, and an end is an event",
            answer: pidfd_open(getpid(), PidfdFlags::empty()).map(|_| ()).map_err(io::Error::from),
        },
        Need {
            name: "close_range",
            purpose: "a command inherits no descriptor that is not meant for it",
            answer: probe::close_range(),
        },
        Need {
            name: "memfd_create",
            purpose: "a command reaches its shell without being in an argument list or on disk",
            answer: rustix::fs::memfd_create("chiton", MemfdFlags::CLOEXEC).map(|_| ()).map_err(io::Error::from),
        },
    ]
}

/// The version of Landlock, which can keep a process from files and ports without any right.
pub fn landlock_version() -> io::Result<u32> {
    landlock::version()
}

/// The ports that the kernel gives to whoever asks for any.
pub(crate) fn ephemeral_ports() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut numbers = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(first), Some(last)) => first..=last,
        // What it is unless somebody changed it.
        _ => 32768..=60999,
    }
}

/// How much of the machine commands may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineSize {
    /// Processors: those that this process may run on, or fewer where its control group gets less time than that.
    pub cores: usize,
    /// Memory in bytes: all of it, or what the control group may have of it. `None` where the kernel does not say.
    pub memory_bytes: Option<u64>,
}

impl MachineSize {
    /// As it is now.
    pub fn find() -> Self {
        // Asks for the processors of this process and for the time that its control group gets.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { cores, memory_bytes: memory(Path::new("/proc"), Path::new("/sys/fs/cgroup")) }
    }
}

/// The memory of the machine, or what a control group of this process may have, where that is less.
fn memory(proc: &Path, groups: &Path) -> Option<u64> {
    let all = fs::read_to_string(proc.join("meminfo")).ok();
    let all = all.and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    let limit = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let own = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    let limits = own.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => (groups.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (groups.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        // The limit of every group around it holds as well.
        let group = root.join(path.trim_start_matches('/'));
        let around: Vec<PathBuf> =
            group.ancestors().take_while(|path| path.starts_with(&root)).map(Path::to_owned).collect();
        around.into_iter().filter_map(|group| limit(group.join(file))).min()
    });
    limits.chain(all).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_the_machine_or_less_where_a_control_group_says_so() {
        const GIB: u64 = 1 << 30;
        type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], Option<u64>);
        let rows: [Row<'_>; 7] = [
            ("no control groups", "", &[], Some(8 * GIB)),
            ("no limit", "0::/user/session\n", &[("user/session/memory.max", "max\n")], Some(8 * GIB)),
            ("a limit of its own", "0::/user/session\n", &[("user/session/memory.max", "1073741824\n")], Some(GIB)),
            (
                "a limit around it",
                "0::/user/session\n",
                &[("user/memory.max", "2147483648\n"), ("user/session/memory.max", "max\n")],
                Some(2 * GIB),
            ),
            ("a container, at its root", "0::/\n", &[("memory.max", "3221225472\n")], Some(3 * GIB)),
            ("more than there is", "0::/\n", &[("memory.max", "99221225472\n")], Some(8 * GIB)),
            (
                "the older kind",
                "5:cpu,cpuacct:/x\n4:memory:/box\n",
                &[("memory/box/memory.limit_in_bytes", "1073741824\n")],
                Some(GIB),
            ),
        ];
        for (what, own, limits, expected) in rows {
            let place = tempfile::tempdir().unwrap();
            let (proc, groups) = (place.path().join("proc"), place.path().join("groups"));
            fs::create_dir_all(proc.join("self")).unwrap();
            fs::write(proc.join("meminfo"), "MemTotal:        8388608 kB\nMemFree:          100 kB\n").unwrap();
            fs::write(proc.join("self/cgroup"), own).unwrap();
            for (file, limit) in limits {
                let file = groups.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, limit).unwrap();
            }
            assert_eq!(memory(&proc, &groups), expected, "{what}");
        }
        assert_eq!(memory(Path::new("/nowhere"), Path::new("/nowhere")), None);
        assert!(MachineSize::find().cores > 0);
    }
}
