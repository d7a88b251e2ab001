//! Starting a process inside a sandbox.
//!
//! `posix_spawn` knows no namespaces and no filters, so the process runs in the memory of its keeper first, which stands
//! still meanwhile ([`beside`]). It takes these steps, each of which needs the ones before it:
//!
//! 1. It becomes the leader of its session or group, and gives up the signals of the keeper.
//! 2. It takes its limits.
//! 3. It joins the namespaces of the sandbox, and opens its directory *there*: one that was opened outside would lead out.
//! 4. It places its descriptors, and gives up its rights.
//! 5. It lays Landlock's rules on itself, then the filter, whose listener it sends to the keeper.
//! 6. It becomes the program. Everything that it was not given is closed by that.
//!
//! The keeper learns which step failed, and with what; a process that failed runs nothing.

use std::ffi::{CStr, CString};
use std::io::{self, Write};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, LinkNameSpaceType};

use super::namespaces::leave;
use super::process::{Leads, ProcessPlan, wait_for};
use super::seccomp::Filter;
use super::{landlock, messages};

/// What a process is put into before it becomes its program.
pub(crate) struct Enclosing<'a> {
    /// In the order in which they are joined: users first, whose rights the others need.
    pub(crate) namespaces: &'a [(BorrowedFd<'a>, LinkNameSpaceType)],
    /// The path of the directory and which one that is; in place of the one of the [`ProcessPlan`].
    pub(crate) directory: (&'a CStr, (u64, u64)),
    pub(crate) ruleset: Option<BorrowedFd<'a>>,
    pub(crate) filter: Filter,
    /// Whether it gives up rights and takes rules and filter, or only limits.
    pub(crate) confines: bool,
    /// Whether somebody answers calls that the filter asks about.
    pub(crate) listens: bool,
    pub(crate) limits: &'a [(Resource, Rlimit)],
    /// Rights that a process of root keeps, inside of its namespaces.
    pub(crate) kept_rights: CapabilitySet,
}

/// What a process was doing when it failed to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    Lead = 1,
    Limits,
    Namespaces,
    Directory,
    Descriptors,
    Rights,
    Landlock,
    Filter,
    Program,
}

impl Step {
    const ALL: [Self; 9] = [
        Self::Lead,
        Self::Limits,
        Self::Namespaces,
        Self::Directory,
        Self::Descriptors,
        Self::Rights,
        Self::Landlock,
        Self::Filter,
        Self::Program,
    ];

    /// What did not work, in words.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Lead => "it could not lead a session of its own",
            Self::Limits => "its limits could not be set",
            Self::Namespaces => "it could not join the namespaces of its sandbox",
            Self::Directory => "its directory could not be entered inside of the sandbox",
            Self::Descriptors => "its descriptors could not be placed",
            Self::Rights => "it could not give up its rights",
            Self::Landlock => "Landlock's rules could not be laid on it",
            Self::Filter => "the filter on system calls could not be laid on it",
            Self::Program => "the program could not be executed",
        }
    }
}

/// Why a process could not be started.
#[derive(Debug)]
pub(crate) struct NotStarted {
    pub(crate) step: Option<Step>,
    pub(crate) error: io::Error,
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        Self { step: None, error }
    }
}

/// The first byte of a message from the new process.
const LISTENS: u8 = 1;
const FAILED: u8 = 2;

/// Starts it; gives its number, and the listener where there is one.
pub(crate) fn start(
    plan: &ProcessPlan<'_>,
    mut enclosing: Enclosing<'_>,
) -> Result<(i32, Option<OwnedFd>), NotStarted> {
    let (ours, theirs) = UnixStream::pair()?;
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
    };
    let words = (pointers(plan.arguments), pointers(plan.environment));
    let pid = beside(|| {
        let Err((step, error)) = become_program(plan, &words, &mut enclosing, &theirs);
        let [a, b, c, d] = error.raw_os_error().unwrap_or(0).to_le_bytes();
        let _ = (&theirs).write_all(&[FAILED, step as u8, a, b, c, d]);
    })?;
    drop(theirs);

    let mut listener = None;
    loop {
        let mut bytes = [0; 6];
        match messages::receive(&ours, &mut bytes)? {
            // Its end of the connection was closed as it became its program.
            None => return Ok((pid, listener)),
            Some((_, descriptors)) if bytes[0] == LISTENS => listener = descriptors.into_iter().next(),
            Some(_) => {
                let _ = wait_for(pid);
                let step = Step::ALL.into_iter().find(|step| *step as u8 == bytes[1]);
                let error = i32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
                return Err(NotStarted { step, error: io::Error::from_raw_os_error(error) });
            }
        }
    }
}

/// Which step failed, and with what.
type Failure = (Step, io::Error);

/// Arguments and environment, each ending with a null pointer.
type Words = (Vec<*const libc::c_char>, Vec<*const libc::c_char>);

fn become_program(
    plan: &ProcessPlan<'_>,
    words: &Words,
    enclosing: &mut Enclosing<'_>,
    keeper: &UnixStream,
) -> Result<std::convert::Infallible, Failure> {
    let at = |step: Step| move |error: io::Error| (step, error);
    lead(plan.leads).map_err(at(Step::Lead))?;
    for (resource, limit) in enclosing.limits {
        take_limit(*resource, *limit).map_err(at(Step::Limits))?;
    }
    go_first();

    for (namespace, kind) in enclosing.namespaces {
        rustix::thread::move_into_link_name_space(*namespace, Some(*kind))
            .map_err(|error| (Step::Namespaces, error.into()))?;
    }
    let directory = open_directory(enclosing.directory).map_err(at(Step::Directory))?;
    rustix::process::fchdir(&directory).map_err(|error| (Step::Directory, error.into()))?;

    place_descriptors(plan).map_err(at(Step::Descriptors))?;
    if !enclosing.confines {
        return Err((Step::Program, execute(plan, words)));
    }
    give_up_rights(enclosing.kept_rights).map_err(at(Step::Rights))?;

    if let Some(ruleset) = enclosing.ruleset {
        landlock::restrict_self(ruleset.as_raw_fd()).map_err(at(Step::Landlock))?;
    }
    if enclosing.listens {
        let listener = enclosing.filter.install_with_listener().map_err(at(Step::Filter))?;
        messages::send(keeper, &[LISTENS], &[listener.as_fd()]).map_err(at(Step::Filter))?;
    } else {
        enclosing.filter.install().map_err(at(Step::Filter))?;
    }

    Err((Step::Program, execute(plan, words)))
}

/// Runs `work` in a new process, and gives the number of that once it has become another program or has ended. Until then
/// the two have one memory, and this one stands still: nothing is copied, which takes longer than all the steps together.
///
/// Signals are blocked in both: a handler of ours must not run there. What `work` has allocated by then and not given
/// back is lost here.
fn beside<Work: FnMut()>(mut work: Work) -> io::Result<i32> {
    const STACK_BYTES: usize = 128 << 10;
    extern "C" fn run<Work: FnMut()>(work: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it is the pointer that is given below; whom it belongs to stands still.
        let work: &mut Work = unsafe { &mut *work.cast() };
        work();
        leave(127)
    }

    let mut stack: Vec<u128> = vec![0; STACK_BYTES / size_of::<u128>()];
    // SAFETY: the sets are plain data, filled in before use. The new process has a stack of its own, which grows down from
    // its end, and has left our memory when the call returns. We have one thread, so that nobody else waits for a lock.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (mem::zeroed(), mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let end = stack.as_mut_ptr_range().end.cast();
        let pid = libc::clone(run::<Work>, end, flags, (&raw mut work).cast());
        let error = io::Error::last_os_error();
        libc::sigprocmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        if pid > 0 { Ok(pid) } else { Err(error) }
    }
}

fn lead(leads: Leads) -> io::Result<()> {
    match leads {
        Leads::OwnSession => rustix::process::setsid().map(|_| ())?,
        // The terminal is made ours once it is our standard input.
        Leads::ForegroundGroup => rustix::process::setpgid(None, None)?,
    }
    Ok(())
}

/// Where the kernel runs out of memory, it takes this process before its keeper and the engine. A kernel that does not let
/// itself be told takes whichever it wants.
fn go_first() {
    const FIRST: i32 = 500;
    let path = c"/proc/self/oom_score_adj";
    let Ok(file) = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else { return };
    let mut bytes = [0; 16];
    let count = rustix::io::read(&file, &mut bytes[..]).unwrap_or(0);
    let now: Option<i32> = std::str::from_utf8(&bytes[..count]).ok().and_then(|text| text.trim().parse().ok());
    if now.is_some_and(|now| now < FIRST) {
        let _ = rustix::io::pwrite(&file, b"500", 0);
    }
}

/// Never above what the process may have already.
fn take_limit(resource: Resource, wanted: Rlimit) -> io::Result<()> {
    let most = rustix::process::getrlimit(resource).maximum;
    let within = |value: Option<u64>| match (value, most) {
        (Some(value), Some(most)) => Some(value.min(most)),
        (value, most) => value.or(most),
    };
    let limit = Rlimit { current: within(wanted.current), maximum: within(wanted.maximum) };
    Ok(rustix::process::setrlimit(resource, limit)?)
}

/// The directory, if the sandbox shows the one that is meant.
fn open_directory((path, id): (&CStr, (u64, u64))) -> io::Result<OwnedFd> {
    let directory = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let data = rustix::fs::fstat(&directory)?;
    if (data.st_dev, data.st_ino) == id { Ok(directory) } else { Err(io::Error::from_raw_os_error(libc::ENOENT)) }
}

/// Those of the plan at their numbers; everything else is closed when the program is executed.
fn place_descriptors(plan: &ProcessPlan<'_>) -> io::Result<()> {
    for (descriptor, number) in plan.descriptors {
        // SAFETY: plain numbers; what was open at the target is not used any more.
        if unsafe { libc::dup2(descriptor.as_raw_fd(), *number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    if plan.leads == Leads::ForegroundGroup {
        // SAFETY: plain numbers; signals are blocked, so a background group is not stopped for it.
        if unsafe { libc::tcsetpgrp(0, libc::getpid()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: plain numbers; nothing is closed yet.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, plan.close_from, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps of the rights that a namespace gave only those that a usual process of root has, and can gain none again.
fn give_up_rights(kept: CapabilitySet) -> io::Result<()> {
    for right in CapabilitySet::all().iter().filter(|right| !kept.contains(*right)) {
        match rustix::thread::remove_capability_from_bounding_set(right) {
            // A right that this kernel does not know, or rights that we never had.
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let held = rustix::thread::capabilities(None)?;
    let left = held.permitted & kept;
    let sets = CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Becomes the program, with an empty signal mask and default dispositions; returns only where that fails.
fn execute(plan: &ProcessPlan<'_>, (arguments, environment): &Words) -> io::Error {
    // SAFETY: the structures are plain data; all strings outlive the call, and both arrays end with a null pointer.
    unsafe {
        let mut default: libc::sigaction = mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        for signal in 1..=libc::SIGRTMAX() {
            libc::sigaction(signal, &raw const default, ptr::null_mut());
        }
        let mut none: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::execve(plan.program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
    }
    io::Error::last_os_error()
}
