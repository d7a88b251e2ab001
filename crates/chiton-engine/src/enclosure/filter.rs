//! Which system calls a sandboxed command cannot make, and which ones its keeper is asked about.

use crate::protocol::InternetSockets;
use crate::sys::seccomp::{Rule, Verdict, When};

/// What a filter depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterOptions {
    /// What becomes of sockets of the internet.
    pub(crate) internet: InternetSockets,
    /// Whether the keeper answers calls that change files, connect and signal.
    pub(crate) watched: bool,
    /// Whether it keeps what files were before they change.
    pub(crate) keeps: bool,
}

/// Every flag that makes a namespace.
const NEW_NAMESPACES: u32 = 0x7E02_0000;
const NEW_TIME_NAMESPACE: u32 = 0x80;

/// Flags with which a file is opened to be changed or made.
const OPENS_TO_WRITE: u32 =
    (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;

/// The families of sockets that programs need.
const FAMILIES: &[u32] = &[libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32, libc::AF_NETLINK as u32];

const fn fails(call: libc::c_long, error: i32) -> Rule {
    Rule { call, when: When::Always, verdict: Verdict::Fails(error) }
}

const fn fails_when(call: libc::c_long, when: When, error: i32) -> Rule {
    Rule { call, when, verdict: Verdict::Fails(error) }
}

const fn asked_when(call: libc::c_long, when: When) -> Rule {
    Rule { call, when, verdict: Verdict::Asked }
}

const fn asked(call: libc::c_long) -> Rule {
    Rule { call, when: When::Always, verdict: Verdict::Asked }
}

/// What nobody's work needs and what has been a way out before: changing mounts and namespaces, loading code into the
/// kernel, and interfaces that go around the calls that are judged.
const NEVER: &[Rule] = &[
    fails(libc::SYS_mount, libc::EPERM),
    fails(libc::SYS_umount2, libc::EPERM),
    fails(libc::SYS_pivot_root, libc::EPERM),
    fails(libc::SYS_chroot, libc::EPERM),
    fails(libc::SYS_move_mount, libc::EPERM),
    fails(libc::SYS_open_tree, libc::EPERM),
    fails(libc::SYS_mount_setattr, libc::EPERM),
    fails(libc::SYS_fsopen, libc::EPERM),
    fails(libc::SYS_fspick, libc::EPERM),
    fails(libc::SYS_fsconfig, libc::EPERM),
    fails(libc::SYS_fsmount, libc::EPERM),
    fails(libc::SYS_setns, libc::EPERM),
    fails_when(libc::SYS_unshare, When::AnyBit(0, NEW_NAMESPACES | NEW_TIME_NAMESPACE), libc::EPERM),
    fails_when(libc::SYS_clone, When::AnyBit(0, NEW_NAMESPACES), libc::EPERM),
    // Its flags stand in memory, where a filter does not see them. The C library falls back to `clone`.
    fails(libc::SYS_clone3, libc::ENOSYS),
    fails(libc::SYS_bpf, libc::EPERM),
    fails(libc::SYS_perf_event_open, libc::EPERM),
    fails(libc::SYS_init_module, libc::EPERM),
    fails(libc::SYS_finit_module, libc::EPERM),
    fails(libc::SYS_delete_module, libc::EPERM),
    fails(libc::SYS_kexec_load, libc::EPERM),
    fails(libc::SYS_kexec_file_load, libc::EPERM),
    fails(libc::SYS_reboot, libc::EPERM),
    fails(libc::SYS_swapon, libc::EPERM),
    fails(libc::SYS_swapoff, libc::EPERM),
    fails(libc::SYS_acct, libc::EPERM),
    fails(libc::SYS_quotactl, libc::EPERM),
    fails(libc::SYS_settimeofday, libc::EPERM),
    fails(libc::SYS_clock_settime, libc::EPERM),
    fails(libc::SYS_open_by_handle_at, libc::EPERM),
    fails(libc::SYS_add_key, libc::EPERM),
    fails(libc::SYS_request_key, libc::EPERM),
    fails(libc::SYS_keyctl, libc::EPERM),
    fails(libc::SYS_io_uring_setup, libc::ENOSYS),
    fails(libc::SYS_io_uring_enter, libc::ENOSYS),
    fails(libc::SYS_io_uring_register, libc::ENOSYS),
    // Typing into the terminal that a person looks at.
    fails_when(libc::SYS_ioctl, When::Is(1, 0x5412), libc::EPERM),
    fails_when(libc::SYS_ioctl, When::Is(1, 0x541C), libc::EPERM),
    fails_when(libc::SYS_socket, When::IsNoneOf(0, FAMILIES), libc::EAFNOSUPPORT),
];

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[Rule] = &[fails(libc::SYS_iopl, libc::EPERM), fails(libc::SYS_ioperm, libc::EPERM)];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[Rule] = &[];

/// Calls that change files, connect or signal: the keeper answers them, and can say in words what it refused.
const WATCHED: &[Rule] = &[
    Rule { call: libc::SYS_openat, when: When::AnyBit(2, OPENS_TO_WRITE), verdict: Verdict::Asked },
    asked(libc::SYS_openat2),
    asked(libc::SYS_unlinkat),
    asked(libc::SYS_renameat2),
    asked(libc::SYS_mkdirat),
    asked(libc::SYS_mknodat),
    asked(libc::SYS_linkat),
    asked(libc::SYS_symlinkat),
    asked(libc::SYS_truncate),
    asked(libc::SYS_fchmodat),
    asked(libc::SYS_fchownat),
    asked(libc::SYS_utimensat),
    asked(libc::SYS_setxattr),
    asked(libc::SYS_lsetxattr),
    asked(libc::SYS_removexattr),
    asked(libc::SYS_lremovexattr),
    asked(SYS_FCHMODAT2),
    asked(SYS_SETXATTRAT),
    asked(SYS_REMOVEXATTRAT),
    asked(libc::SYS_connect),
    asked(libc::SYS_bind),
    asked(libc::SYS_kill),
    asked(libc::SYS_pidfd_send_signal),
];

/// Calls that change the attributes of what is open. Nothing about them is refused; they are asked about where what was so
/// before is kept.
const KEPT: &[Rule] =
    &[asked(libc::SYS_fchmod), asked(libc::SYS_fchown), asked(libc::SYS_fsetxattr), asked(libc::SYS_fremovexattr)];

/// Calls that the library does not know by name on every processor; their numbers are the same on all.
pub(crate) const SYS_FCHMODAT2: libc::c_long = 452;
pub(crate) const SYS_SETXATTRAT: libc::c_long = 463;
pub(crate) const SYS_REMOVEXATTRAT: libc::c_long = 466;

/// Calls that change another process: how fast it runs and how much it may use. To change oneself is free.
const OTHER_PROCESSES: &[(libc::c_long, usize)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// The calls of the same kinds that newer processors do without.
#[cfg(target_arch = "x86_64")]
const WATCHED_HERE: &[Rule] = &[
    Rule { call: libc::SYS_open, when: When::AnyBit(1, OPENS_TO_WRITE), verdict: Verdict::Asked },
    asked(libc::SYS_creat),
    asked(libc::SYS_unlink),
    asked(libc::SYS_rmdir),
    asked(libc::SYS_rename),
    asked(libc::SYS_renameat),
    asked(libc::SYS_mkdir),
    asked(libc::SYS_mknod),
    asked(libc::SYS_link),
    asked(libc::SYS_symlink),
    asked(libc::SYS_chmod),
    asked(libc::SYS_chown),
    asked(libc::SYS_lchown),
    asked(libc::SYS_utime),
    asked(libc::SYS_utimes),
    asked(libc::SYS_futimesat),
];
#[cfg(not(target_arch = "x86_64"))]
const WATCHED_HERE: &[Rule] = &[];

const INET: When = When::Is(0, libc::AF_INET as u32);
const INET6: When = When::Is(0, libc::AF_INET6 as u32);

const NO_INTERNET: &[Rule] =
    &[fails_when(libc::SYS_socket, INET, libc::EACCES), fails_when(libc::SYS_socket, INET6, libc::EACCES)];

/// Besides `connect`, which is asked about anyway. Sending the first bytes together with connecting would go around it.
const KEPT_INTERNET: &[Rule] = &[
    asked_when(libc::SYS_socket, INET),
    asked_when(libc::SYS_socket, INET6),
    fails_when(libc::SYS_sendto, When::AnyBit(3, libc::MSG_FASTOPEN as u32), libc::EOPNOTSUPP),
    fails_when(libc::SYS_sendmsg, When::AnyBit(2, libc::MSG_FASTOPEN as u32), libc::EOPNOTSUPP),
    fails_when(libc::SYS_sendmmsg, When::AnyBit(3, libc::MSG_FASTOPEN as u32), libc::EOPNOTSUPP),
];

/// The rules of a filter, in the order in which they are tried.
pub(crate) fn rules(options: FilterOptions) -> Vec<Rule> {
    let mut rules: Vec<Rule> = NEVER.iter().chain(NEVER_HERE).copied().collect();
    rules.extend(match options.internet {
        InternetSockets::Free => &[],
        InternetSockets::Kept { .. } if options.watched => KEPT_INTERNET,
        // Without the watch nobody would answer.
        InternetSockets::Kept { .. } | InternetSockets::Refused => NO_INTERNET,
    });
    let verdict = if options.watched { Verdict::Asked } else { Verdict::Fails(libc::EPERM) };
    let others =
        |(call, argument): &(libc::c_long, usize)| Rule { call: *call, when: When::IsNoneOf(*argument, &[0]), verdict };
    rules.extend(OTHER_PROCESSES.iter().map(others));
    if options.watched {
        rules.extend(WATCHED.iter().chain(WATCHED_HERE));
    }
    if options.watched && options.keeps {
        rules.extend(KEPT);
    }
    rules
}
