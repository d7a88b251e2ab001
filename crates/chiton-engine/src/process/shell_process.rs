//! Starting the shell, from the keeper's side.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Mode, OFlags};
use rustix::thread::{CapabilitySet, LinkNameSpaceType};

use crate::bytes::ByteString;
use crate::enclosure::filter::{self, FilterOptions};
use crate::enclosure::limits::of_each_process;
use crate::protocol::{EnclosedPlan, Forms, GivenFiles, NamespaceKind, ShellPlan};
use crate::state::bash::load::{ERROR_FD, LOADER_FD, OUTPUT_FD, SCRIPT_FD};
use crate::sys::enclosed::{self, Enclosing, NotStarted};
use crate::sys::process::{Leads, ProcessPlan, WaitStatus, start_process, wait_for};
use crate::sys::seccomp::Filter;

/// Descriptors are moved above this number before they are placed, so that none is overwritten on the way.
const ABOVE: i32 = 12;

/// A shell that was started.
pub(crate) struct ShellProcess {
    /// Its process id, which is also its group.
    pub(crate) pid: i32,
    /// Where its calls are answered, where it is in a sandbox that asks.
    pub(crate) listener: Option<OwnedFd>,
}

/// Starts the shell of `plan` with these streams.
pub(crate) fn start_shell(
    plan: &ShellPlan,
    given: &GivenFiles,
    stdout: &OwnedFd,
    stderr: &OwnedFd,
) -> io::Result<ShellProcess> {
    let script = raise(&given.script)?;
    let (arguments, startup_file) = decide(plan, &script)?;
    let loader = raise(&given.loader)?;
    let input = match &given.more {
        Some(input) => raise(input)?,
        None => raise(&OwnedFd::from(File::open("/dev/null")?))?,
    };
    let (stdout, stderr) = (raise(stdout)?, raise(stderr)?);
    let directory = raise(&open_directory(plan)?)?;
    let mut environment: Vec<CString> = c_strings(&plan.environment)?;
    if startup_file {
        environment.push(CString::new(format!("BASH_ENV=/dev/fd/{LOADER_FD}"))?);
    }
    // What a stem says itself, of a branch that was killed for one, is for nobody.
    let (own_output, close_from) =
        if plan.stem { (input.as_fd(), ERROR_FD + 1) } else { (stdout.as_fd(), SCRIPT_FD + 1) };
    let own_errors = if plan.stem { input.as_fd() } else { stderr.as_fd() };
    let mut descriptors = vec![
        (input.as_fd(), 0),
        (own_output, 1),
        (own_errors, 2),
        (loader.as_fd(), LOADER_FD),
        (script.as_fd(), SCRIPT_FD),
    ];
    if plan.stem {
        descriptors.extend([(stdout.as_fd(), OUTPUT_FD), (stderr.as_fd(), ERROR_FD)]);
    }
    let process = ProcessPlan {
        program: &c_string(&plan.program)?,
        arguments: &c_strings(arguments)?,
        environment: &environment,
        directory: directory.as_fd(),
        descriptors: &descriptors,
        close_from,
        leads: if plan.terminal.is_some() { Leads::ForegroundGroup } else { Leads::OwnSession },
    };
    match &plan.enclosed {
        None => Ok(ShellProcess { pid: start_process(&process)?, listener: None }),
        Some(enclosed) => start_enclosed(&process, plan, enclosed, &given.enclosing),
    }
}

/// Starts it inside of its sandbox.
fn start_enclosed(
    process: &ProcessPlan<'_>,
    plan: &ShellPlan,
    enclosed: &EnclosedPlan,
    descriptors: &[OwnedFd],
) -> io::Result<ShellProcess> {
    let (namespaces, rules) = descriptors.split_at(enclosed.namespaces.len());
    // Above the numbers that the shell's own descriptors are placed at.
    let namespaces = namespaces.iter().map(raise).collect::<io::Result<Vec<_>>>()?;
    let rules = rules.first().filter(|_| enclosed.has_rules).map(raise).transpose()?;
    let kinds = enclosed.namespaces.iter().map(|kind| match kind {
        NamespaceKind::Users => LinkNameSpaceType::User,
        NamespaceKind::Mounts => LinkNameSpaceType::Mount,
        NamespaceKind::Messages => LinkNameSpaceType::InterProcessCommunication,
        NamespaceKind::Network => LinkNameSpaceType::Network,
    });
    let namespaces: Vec<_> = namespaces.iter().map(AsFd::as_fd).zip(kinds).collect();
    let options =
        FilterOptions { internet: enclosed.internet, watched: enclosed.watched, keeps: enclosed.keep.is_some() };
    let enclosing = Enclosing {
        namespaces: &namespaces,
        directory: (&c_string(&plan.directory)?, enclosed.directory_id.unwrap_or(plan.directory_id)),
        ruleset: rules.as_ref().map(AsFd::as_fd),
        filter: Filter::new(&filter::rules(options)),
        confines: enclosed.confines,
        listens: enclosed.watched,
        limits: &of_each_process(&enclosed.policy.limits),
        kept_rights: ROOT_KEEPS,
    };
    match enclosed::start(process, enclosing) {
        Ok((pid, listener)) => Ok(ShellProcess { pid, listener }),
        Err(NotStarted { step: Some(step), error }) => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {error}", step.what())))
        }
        Err(NotStarted { step: None, error }) => Err(error),
    }
}

/// What root can do with files and users inside of a sandbox, as in a container. None of it reaches beyond the users and
/// mounts of the sandbox.
const ROOT_KEEPS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// The directory of the plan, if it still is the one that the plan means.
fn open_directory(plan: &ShellPlan) -> io::Result<OwnedFd> {
    let path = OsStr::from_bytes(&plan.directory);
    let directory = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let data = rustix::fs::fstat(&directory)?;
    if (data.st_dev, data.st_ino) == plan.directory_id {
        return Ok(directory);
    }
    let why = format!("another directory took the place of {} after the command was judged", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// The arguments to use, and whether the loader is then read as a start-up file.
fn decide<'a>(plan: &'a ShellPlan, script: &OwnedFd) -> io::Result<(&'a [ByteString], bool)> {
    let Forms { evaluated, argument, only_well_formed } = &plan.forms;
    if *only_well_formed && !is_well_formed(plan, script.as_fd())? {
        let why = "bash finds a syntax error in the command, and one that names secrets is not tried";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    match (evaluated, argument) {
        (Some(evaluated), None) => Ok((evaluated, false)),
        (None, Some(argument)) => Ok((argument, true)),
        (Some(evaluated), Some(argument)) => {
            let fine = is_well_formed(plan, script.as_fd())?;
            Ok(if fine { (evaluated, false) } else { (argument, true) })
        }
        (None, None) => Err(io::Error::other("the plan has no arguments")),
    }
}

/// Asks the shell itself whether it could read the script; nothing of it is run.
fn is_well_formed(plan: &ShellPlan, script: BorrowedFd<'_>) -> io::Result<bool> {
    let null = raise(&OwnedFd::from(File::options().read(true).write(true).open("/dev/null")?))?;
    // Some errors, in `[[ ]]` for one, leave the status 0; but every error prints something.
    let said = rustix::fs::memfd_create("chiton", rustix::fs::MemfdFlags::CLOEXEC)?;
    let complaints = raise(&said)?;
    let root = raise(&rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)?;
    let path = format!("/dev/fd/{SCRIPT_FD}");
    let words = ["bash", "--norc", "--noprofile", "-n", &path];
    let arguments: Vec<CString> = words.into_iter().map(CString::new).collect::<Result<_, _>>()?;
    let pid = start_process(&ProcessPlan {
        program: &c_string(&plan.program)?,
        arguments: &arguments,
        environment: &[],
        directory: root.as_fd(),
        descriptors: &[(null.as_fd(), 0), (null.as_fd(), 1), (complaints.as_fd(), 2), (script, SCRIPT_FD)],
        close_from: SCRIPT_FD + 1,
        leads: Leads::OwnSession,
    })?;
    let status = wait_for(pid)?;
    rustix::fs::seek(script, rustix::fs::SeekFrom::Start(0))?;
    Ok(status == WaitStatus::Exited(0) && rustix::fs::fstat(&said)?.st_size == 0)
}

fn raise(descriptor: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(descriptor, ABOVE)?)
}

fn c_strings(strings: &[ByteString]) -> io::Result<Vec<CString>> {
    strings.iter().map(|string| c_string(string)).collect()
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    Ok(CString::new(bytes)?)
}
