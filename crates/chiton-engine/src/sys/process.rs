//! Starting one process with full control over what it inherits, and reaping whatever ends.
//!
//! `posix_spawn` rather than `fork`: the process starts without a copy of our memory, and nothing of ours runs in it.

use std::ffi::{CStr, CString};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use tokio::io::unix::AsyncFd;

use crate::run::Usage;

/// What a new process starts with. Everything that is not named here is not inherited.
pub(crate) struct ProcessPlan<'a> {
    pub(crate) program: &'a CStr,
    pub(crate) arguments: &'a [CString],
    pub(crate) environment: &'a [CString],
    pub(crate) directory: BorrowedFd<'a>,
    /// `(descriptor here, number there)`, in the order to be placed.
    pub(crate) descriptors: &'a [(BorrowedFd<'a>, RawFd)],
    /// The first number that is closed in the new process.
    pub(crate) close_from: RawFd,
    pub(crate) leads: Leads,
}

/// The processor time that a living process has used, all its threads together.
pub(crate) fn processor_time(pid: i32) -> Option<Duration> {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: both calls write to what they are given, which lives longer than they do; a process that is gone is an error.
    let found = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    found.then(|| Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0)))
}

/// What a new process is the leader of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// A session of its own, without a controlling terminal.
    OwnSession,
    /// A group of its own, in the foreground of the terminal that is its standard input and our controlling one.
    ForegroundGroup,
}

/// Starts a process as the leader of a new group, with an empty signal mask and default dispositions.
///
/// `posix_spawn` reports a failing `chdir` or `exec` as an error of this call, so a half-started process never exists.
#[expect(clippy::disallowed_methods, reason = "the one call that starts a command; only process/ uses it")]
pub(crate) fn start_process(plan: &ProcessPlan<'_>) -> io::Result<i32> {
    let arguments = pointers(plan.arguments);
    let environment = pointers(plan.environment);
    let mut pid: libc::pid_t = 0;
    // SAFETY: every structure is initialised before use and destroyed after it; all strings outlive the call, and
    // both pointer arrays end with a null pointer.
    unsafe {
        let mut actions: libc::posix_spawn_file_actions_t = mem::zeroed();
        check(libc::posix_spawn_file_actions_init(&raw mut actions))?;
        let mut attributes: libc::posix_spawnattr_t = mem::zeroed();
        let started = check(libc::posix_spawnattr_init(&raw mut attributes)).and_then(|()| {
            prepare_files(&mut actions, plan)?;
            prepare_attributes(&mut attributes, plan.leads)?;
            check(libc::posix_spawn(
                &raw mut pid,
                plan.program.as_ptr(),
                &raw const actions,
                &raw const attributes,
                arguments.as_ptr(),
                environment.as_ptr(),
            ))
        });
        libc::posix_spawnattr_destroy(&raw mut attributes);
        libc::posix_spawn_file_actions_destroy(&raw mut actions);
        started.map(|()| pid)
    }
}

fn prepare_files(actions: &mut libc::posix_spawn_file_actions_t, plan: &ProcessPlan<'_>) -> io::Result<()> {
    for (descriptor, number) in plan.descriptors {
        // SAFETY: `actions` is initialised; numbers are plain integers.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(actions, descriptor.as_raw_fd(), *number) })?;
    }
    if plan.leads == Leads::ForegroundGroup {
        // SAFETY: `actions` is initialised; by then standard input is the terminal.
        check(unsafe { libc::posix_spawn_file_actions_addtcsetpgrp_np(actions, 0) })?;
    }
    // SAFETY: `actions` is initialised; the descriptor outlives the spawn.
    check(unsafe { libc::posix_spawn_file_actions_addfchdir_np(actions, plan.directory.as_raw_fd()) })?;
    // SAFETY: as above.
    check(unsafe { libc::posix_spawn_file_actions_addclosefrom_np(actions, plan.close_from) })
}

fn prepare_attributes(attributes: &mut libc::posix_spawnattr_t, leads: Leads) -> io::Result<()> {
    let group = match leads {
        Leads::OwnSession => i32::from(libc::POSIX_SPAWN_SETSID),
        // The number of the group is 0 unless it is set, which stands for a new one.
        Leads::ForegroundGroup => libc::POSIX_SPAWN_SETPGROUP,
    };
    let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF | group;
    // SAFETY: `attributes` is initialised, the signal sets are plain data filled in before use.
    unsafe {
        let mut none: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut none);
        let mut all: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&raw mut all);
        check(libc::posix_spawnattr_setsigmask(attributes, &raw const none))?;
        check(libc::posix_spawnattr_setsigdefault(attributes, &raw const all))?;
        #[expect(clippy::cast_possible_truncation, reason = "the flags are defined to fit a short")]
        check(libc::posix_spawnattr_setflags(attributes, flags as libc::c_short))
    }
}

fn pointers(strings: &[CString]) -> Vec<*mut libc::c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}

fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Whether a process leads a session of its own.
///
/// Asked by the raw call: the answer is 0 where the leader is outside of our PID namespace, which the type that others
/// give it has no room for.
pub(crate) fn leads_session(pid: i32) -> bool {
    // SAFETY: a plain integer goes in and another one comes out.
    pid > 0 && unsafe { libc::getsid(pid) } == pid
}

/// Whether a process belongs to a group; asked as [`leads_session`].
pub(crate) fn is_in_group(pid: i32, group: i32) -> bool {
    // SAFETY: a plain integer goes in and another one comes out.
    pid > 0 && unsafe { libc::getpgid(pid) } == group
}

/// Waits until the process behind a pidfd has ended.
pub(crate) async fn ended(handle: OwnedFd) {
    // SAFETY: an owned descriptor stays the same one until it is dropped, and the registration ends with it.
    if let Ok(handle) = unsafe { AsyncFd::register(handle) } {
        let _ = handle.readable().await;
    }
}

/// A child that ended and is now reaped.
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    pub(crate) status: WaitStatus,
    /// What it used, together with those of its own children that it waited for.
    pub(crate) usage: Usage,
}

/// How a process ended, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitStatus {
    Exited(i32),
    Signaled(i32),
}

/// What `reap` found.
pub(crate) enum Reap {
    Ended(Reaped),
    /// Children exist, none has ended.
    NothingYet,
    /// There is no child at all: every descendant is gone, since all orphans come to us.
    NoChildren,
}

impl WaitStatus {
    fn read(status: libc::c_int) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::Signaled(libc::WTERMSIG(status))
        } else {
            Self::Exited(libc::WEXITSTATUS(status))
        }
    }
}

/// Waits for one child.
pub(crate) fn wait_for(pid: i32) -> io::Result<WaitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` lives across the call.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            return Ok(WaitStatus::read(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Reaps one ended child without waiting.
pub(crate) fn reap() -> Reap {
    let mut status = 0;
    // SAFETY: plain data that the kernel fills in.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: both live across the call.
    match unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG | libc::__WALL, &raw mut usage) } {
        0 => Reap::NothingYet,
        pid if pid > 0 => Reap::Ended(Reaped { pid, status: WaitStatus::read(status), usage: read_usage(&usage) }),
        _ => Reap::NoChildren,
    }
}

fn read_usage(usage: &libc::rusage) -> Usage {
    let micros = |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs();
    Usage {
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
        peak_memory: usage.ru_maxrss.unsigned_abs() * 1024,
    }
}
