//! What is answered to a call.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::Refused;
use super::loopback::{as_family, connect_shared, listeners_at};
use super::read_call::{Change, Place, Request};
use super::whereabouts::{self, LastLink};
use crate::protocol::EnclosedPlan;
use crate::protocol::InternetSockets;
use crate::sandbox::policy::{NetworkPolicy, SandboxPolicy};
use crate::sandbox::report::RefusedAction;
use crate::sys::seccomp::{AskedCall, CallAnswer};
use crate::sys::signals;

/// Judges by the policy, whose paths are without links.
pub(super) struct Judge {
    policy: SandboxPolicy,
    /// The folder in which the shell hands its state back, where it has one.
    shared: Option<PathBuf>,
    /// Which namespace of messages the run is in, where that is not everybody's: those of the same session share it, also
    /// where the mounts of one were made anew.
    session: Option<PathBuf>,
    leader: i32,
    /// The port of the proxy, where that is the only way out.
    proxy: Option<u16>,
    /// Folders that are not what they are outside, where we look.
    previewed: Vec<PathBuf>,
}

/// Devices that every program may write to.
const DEVICES: [&str; 9] = ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "stdout", "stderr"];

/// Where programs ask for names before they ask the network: from there they would learn addresses that lead nowhere.
const RESOLVERS: [&str; 3] = ["/run/nscd", "/run/systemd/resolve", "/run/avahi-daemon"];

/// What a program makes for itself and does without where it cannot, by the name of the program and of a part of the path:
/// nobody wants to hear of it.
const DONE_WITHOUT: &[(Option<&str>, &str)] = &[
    (None, "__pycache__"),
    (None, ".pytest_cache"),
    // When a crate was used last. The database needs a journal beside it, in a folder that has settings in it.
    (Some("cargo"), ".global-cache"),
    (Some("cargo"), ".global-cache-journal"),
    // Settings that nobody has saved yet.
    (Some("top"), ".config"),
    (Some("top"), "procps"),
];

/// What is thought of a change.
enum JudgedChange {
    /// The policy allows it, or the kernel will refuse it anyway.
    Allowed,
    Refused(Refused),
    /// It is refused, and nobody wants to hear of it.
    RefusedSilently,
}

type Answer = (CallAnswer, Option<Refused>);
const GOES_ON: Answer = (CallAnswer::GoesOn, None);

impl Judge {
    pub(super) fn new(plan: &EnclosedPlan, shared: Option<&Path>, leader: i32) -> Self {
        Self {
            policy: plan.policy.clone(),
            shared: shared.map(Path::to_owned),
            session: namespace(leader)
                .filter(|found| namespace(rustix::process::getpid().as_raw_nonzero().get()).as_ref() != Some(found)),
            leader,
            proxy: if let InternetSockets::Kept { proxy } = plan.internet { Some(proxy) } else { None },
            previewed: plan.previewed.clone(),
        }
    }

    /// `meant` is what the places of a change mean.
    pub(super) fn judge(&self, call: &AskedCall, request: &Request, meant: &[Option<PathBuf>]) -> Answer {
        let is_missing_socket = matches!(request, Request::Socket(_));
        let answer = self.judge_request(call, request, meant);
        // The address is read again when a call goes on, and could be another one by then, which nothing else holds.
        if self.proxy.is_some() && call.call == libc::SYS_connect && answer.0 == CallAnswer::GoesOn {
            let error = if is_missing_socket { libc::ENOENT } else { libc::ECONNREFUSED };
            return (CallAnswer::Fails(error), None);
        }
        answer
    }

    fn judge_request(&self, call: &AskedCall, request: &Request, meant: &[Option<PathBuf>]) -> Answer {
        match *request {
            Request::Change(ref places) => {
                let meant = meant.iter().map(Option::as_deref);
                let judged = places.iter().zip(meant).map(|(place, real)| self.judge_change(call, place, real));
                match judged.into_iter().find(|judged| !matches!(judged, JudgedChange::Allowed)) {
                    Some(JudgedChange::Refused(refused)) => (CallAnswer::Fails(libc::EACCES), Some(refused)),
                    Some(JudgedChange::RefusedSilently) => (CallAnswer::Fails(libc::EACCES), None),
                    Some(JudgedChange::Allowed) | None => GOES_ON,
                }
            }
            Request::Socket(ref place) => self.connect(call, &place.path),
            Request::Address(address, port) => self.reach(call, address, port),
            Request::Process { target } => change_process(target),
            Request::Signal { target, signal } => self.signal(target, signal),
            Request::InternetSocket(_) | Request::Shared { .. } | Request::Other => GOES_ON,
        }
    }

    fn judge_change(&self, call: &AskedCall, place: &Place, real: Option<&Path>) -> JudgedChange {
        if [Some(place.path.as_path()), real].into_iter().flatten().any(|path| self.is_previewed(path)) {
            return JudgedChange::Allowed;
        }
        // Whoever has a file open could open it.
        let is_open = |real: &&Path| place.change == Change::AttributesOfOpen || is_unnamed(real);
        let Some(real) = real.filter(|real| !is_open(real)) else {
            return JudgedChange::Allowed;
        };
        if let Some(kept) = self.policy.keep.iter().find(|kept| real.starts_with(kept) || moves_away(place, real, kept))
        {
            let shown = if real.starts_with(kept) { real } else { kept };
            let path = shown.display().to_string();
            let refused = Refused { what: RefusedAction::WriteKept, path, rule: "keep", ask: None };
            return JudgedChange::Refused(refused);
        }
        if self.policy.write.iter().chain(&self.shared).any(|root| real.starts_with(root))
            || is_free(real)
            || !could_otherwise(place, real)
        {
            return JudgedChange::Allowed;
        }
        let does_without = |(program, name): &(Option<&str>, &str)| {
            real.components().any(|part| part.as_os_str() == *name)
                && program.is_none_or(|program| super::program(call.thread) == program)
        };
        if DONE_WITHOUT.iter().any(does_without) {
            return JudgedChange::RefusedSilently;
        }
        let ask = Some(format!("chiton sandbox allow write {}", shown_for_shell(real)));
        let path = real.display().to_string();
        JudgedChange::Refused(Refused { what: RefusedAction::Write, path, rule: "write", ask })
    }

    /// Whether a path leads to what only the command sees. What is there now is not what it sees, so the kernel decides: the
    /// mounts of a preview hold everything, and what is kept is read-only there.
    fn is_previewed(&self, path: &Path) -> bool {
        let is_in = |places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        is_in(&self.previewed) && !is_in(&self.policy.keep)
    }

    /// Connects on behalf of the process: what was judged is what it is connected to.
    fn connect(&self, call: &AskedCall, path: &Path) -> Answer {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let Some(path) = whereabouts::place(call.thread, path, LastLink::Followed) else { return GOES_ON };
        let Ok(socket) = rustix::fs::open(path, flags, Mode::empty()) else { return GOES_ON };
        let Ok(real) = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())) else { return GOES_ON };
        let is_socket = fs::symlink_metadata(format!("/proc/self/fd/{}/.", socket.as_raw_fd())).is_err()
            && fs::metadata(&real).is_ok_and(|data| data.file_type().is_socket());
        if !is_socket {
            return GOES_ON;
        }
        if self.policy.network != NetworkPolicy::Open && RESOLVERS.iter().any(|path| real.starts_with(path)) {
            // Names are looked up inside, and what asks here first does without it.
            return (CallAnswer::Fails(libc::ECONNREFUSED), None);
        }
        let listed = self.policy.sockets.iter().any(|allowed| real.starts_with(allowed));
        let own = || self.policy.workspace.iter().any(|root| real.starts_with(root)) || self.is_served_here(&real);
        if listed || own() {
            return (connect_for(call, &socket).unwrap_or(CallAnswer::GoesOn), None);
        }
        let refused = Refused {
            what: RefusedAction::Socket,
            path: real.display().to_string(),
            rule: "sockets",
            ask: Some(format!("chiton sandbox allow socket {}", shown_for_shell(&real))),
        };
        (CallAnswer::Fails(libc::EACCES), Some(refused))
    }

    /// Whether a process of the session listens on a socket.
    fn is_served_here(&self, path: &Path) -> bool {
        let Ok(table) = fs::read_to_string(format!("/proc/{}/net/unix", self.leader)) else { return false };
        let shown = path.display().to_string();
        let numbers: Vec<String> = table
            .lines()
            .filter_map(|line| {
                let mut parts = line.split_ascii_whitespace();
                let number = parts.nth(6)?;
                (parts.next()? == shown).then(|| format!("socket:[{number}]"))
            })
            .collect();
        self.has_open(&numbers)
    }

    /// Whether a process of the session has one of these files open, named as in its folder of descriptors.
    fn has_open(&self, names: &[String]) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let mut ours = pids.filter(|pid| self.is_of_session(*pid));
        ours.any(|pid| {
            let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
            let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
            links.any(|link| names.iter().any(|name| link.as_os_str() == name.as_str()))
        })
    }

    /// Whether a process belongs to the session; where that has no namespaces, to this command.
    fn is_of_session(&self, pid: i32) -> bool {
        match &self.session {
            Some(session) => namespace(pid).as_ref() == Some(session),
            None => is_below_us(pid),
        }
    }

    /// Addresses that no name should lead to.
    fn reach(&self, call: &AskedCall, address: IpAddr, port: u16) -> Answer {
        if let Some(proxy) = self.proxy {
            return self.reach_by_proxy(call, address, port, proxy);
        }
        let is_private_to_the_machine = match address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local() || address.segments()[..2] == [0xfd00, 0x0ec2],
        };
        if self.policy.network != NetworkPolicy::Open || !is_private_to_the_machine {
            return GOES_ON;
        }
        let path = if address.is_ipv6() { format!("[{address}]:{port}") } else { format!("{address}:{port}") };
        let refused = Refused { what: RefusedAction::Network, path, rule: "network", ask: None };
        (CallAnswer::Fails(libc::ENETUNREACH), Some(refused))
    }

    /// Where the proxy is the only way out: to it, and to what the session itself serves.
    fn reach_by_proxy(&self, call: &AskedCall, address: IpAddr, port: u16, proxy: u16) -> Answer {
        let place = SocketAddr::new(own_address(address), port);
        let listeners = if place.ip().is_loopback() { listeners_at(self.leader, place) } else { Vec::new() };
        let is_ours = |number: &u64| self.has_open(&[format!("socket:[{number}]")]);
        let is_proxy = place == SocketAddr::from((Ipv4Addr::LOCALHOST, proxy));
        if is_proxy || !listeners.is_empty() && listeners.iter().all(is_ours) {
            let connected = socket_of(call).map(|socket| {
                let family = rustix::net::sockopt::socket_domain(&socket).unwrap_or(rustix::net::AddressFamily::INET);
                connect_shared(&socket, as_family(place, family))
            });
            let answer = connected.unwrap_or(Err(libc::EACCES));
            return (answer.map_or_else(CallAnswer::Fails, |()| CallAnswer::Done), None);
        }
        // Nobody is there, so nobody is kept from it.
        if place.ip().is_loopback() && listeners.is_empty() {
            return (CallAnswer::Fails(libc::ECONNREFUSED), None);
        }
        let refused = Refused { what: RefusedAction::Network, path: place.to_string(), rule: "network", ask: None };
        (CallAnswer::Fails(libc::ENETUNREACH), Some(refused))
    }

    /// Signals reach the commands of the session. Landlock lets them reach those of one command, and we send the others.
    fn signal(&self, target: i64, signal: i32) -> Answer {
        let Ok(pid) = i32::try_from(target) else { return GOES_ON };
        // Its own group, or everybody that it may signal: the kernel knows whom.
        if pid == 0 || pid == -1 {
            return GOES_ON;
        }
        let process = if pid < 0 { pid.wrapping_neg() } else { pid };
        if is_below_us(process) {
            return GOES_ON;
        }
        if self.is_of_session(process) {
            let sent = if pid > 0 { send(pid, signal) } else { self.send_to_group(process, signal) };
            return (sent.map_or_else(CallAnswer::Fails, |()| CallAnswer::Done), None);
        }
        // To ask whether it is there is no signal.
        if signal == 0 || !may_signal(process) {
            return GOES_ON;
        }
        let name = super::program(process);
        let path = format!("process {process} ({name})");
        let refused = Refused { what: RefusedAction::Signal, path, rule: "signals", ask: None };
        (CallAnswer::Fails(libc::EPERM), Some(refused))
    }

    fn send_to_group(&self, group: i32, signal: i32) -> Result<(), i32> {
        let Ok(processes) = fs::read_dir("/proc") else { return Err(libc::ESRCH) };
        let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let members = pids.filter(|pid| crate::sys::process::is_in_group(*pid, group));
        let sent: Vec<_> = members.filter(|pid| self.is_of_session(*pid)).map(|pid| send(pid, signal)).collect();
        if sent.iter().any(Result::is_ok) { Ok(()) } else { Err(libc::ESRCH) }
    }
}

/// A command may slow down and limit what belongs to it, and nobody else.
fn change_process(target: i64) -> Answer {
    let Ok(process) = i32::try_from(target) else { return GOES_ON };
    if is_below_us(process) || !may_signal(process) {
        return GOES_ON;
    }
    let path = format!("process {process} ({})", super::program(process));
    let refused = Refused { what: RefusedAction::Process, path, rule: "signals", ask: None };
    (CallAnswer::Fails(libc::EPERM), Some(refused))
}

/// What a process would change, without links. `None` where the kernel will say by itself that it cannot: nothing is
/// there, or something is there already, or the path means what the kernel says of processes.
pub(super) fn meant(thread: i32, place: &Place) -> Option<PathBuf> {
    let path = &place.path;
    let last = match place.change {
        // What the kernel says of an open file has no links in it.
        Change::AttributesOfOpen => return Some(path.clone()),
        Change::Attributes | Change::Resized | Change::Opened { .. } => LastLink::Followed,
        _ => LastLink::Itself,
    };
    let is_plain = || last == LastLink::Itself || fs::symlink_metadata(path).is_ok_and(|data| !data.is_symlink());
    let real = if place.is_settled && is_plain() { path.clone() } else { whereabouts::place(thread, path, last)? };
    let is_said_of_processes = real.starts_with("/proc") && !real.starts_with("/proc/sys") && !is_unnamed(&real);
    if is_said_of_processes || real.starts_with("/dev/pts") {
        return None;
    }
    let is_there = || fs::symlink_metadata(&real).is_ok();
    match place.change {
        Change::Made if is_there() => None,
        Change::Attributes | Change::Resized | Change::Opened { makes: false, .. } if !is_there() => None,
        _ => Some(real),
    }
}

/// Whether this is the path of a descriptor: the file has no name any more.
fn is_unnamed(path: &Path) -> bool {
    path.starts_with("/proc") && path.parent().is_some_and(|folder| folder.ends_with("fd"))
}

/// Whether something that is kept would be moved away with the folder that it is in. A folder that is removed has nothing
/// in it: programs like git try it with every folder, and the kernel says which one is not empty.
fn moves_away(place: &Place, real: &Path, kept: &Path) -> bool {
    matches!(place.change, Change::Moved | Change::Exchanged) && kept.starts_with(real) && kept.exists()
}

/// Whether everybody may write there.
fn is_free(path: &Path) -> bool {
    path.strip_prefix("/dev").is_ok_and(|name| DEVICES.iter().any(|device| name == Path::new(device)))
}

/// Whether the user could do it without a sandbox. If not, the kernel refuses it, and not because of us.
fn could_otherwise(place: &Place, real: &Path) -> bool {
    let writable = |path: &Path| accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    let folder = || real.parent().is_some_and(writable);
    match place.change {
        Change::Made => folder(),
        Change::Opened { .. } if !real.exists() => folder(),
        Change::Opened { .. } | Change::Resized => writable(real),
        Change::Replaced | Change::Moved | Change::Exchanged | Change::Linked => {
            folder() && (real.symlink_metadata().is_ok() || !place.path.exists())
        }
        Change::Attributes | Change::AttributesOfLink | Change::AttributesOfOpen => fs::symlink_metadata(real)
            .is_ok_and(|data| {
                let user = rustix::process::geteuid().as_raw();
                user == 0 || std::os::unix::fs::MetadataExt::uid(&data) == user
            }),
    }
}

fn shown_for_shell(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().all(|one| one.is_ascii_alphanumeric() || "/._-+,:@%".contains(one)) {
        return text.into_owned();
    }
    let mut quoted = Vec::new();
    chiton_shell::quote::append_quoted(&mut quoted, path.as_os_str().as_encoded_bytes());
    String::from_utf8_lossy(&quoted).into_owned()
}

/// The namespace of messages that a process is in.
fn namespace(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/ipc")).ok()
}

/// Whether a process descends from this keeper.
fn is_below_us(mut pid: i32) -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // No family is that deep; a table that changes while it is read must not keep us here.
    for _ in 0..10_000 {
        if pid == own {
            return true;
        }
        match parent(pid) {
            Some(above) if above > 1 => pid = above,
            _ => return false,
        }
    }
    false
}

fn parent(pid: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn may_signal(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

fn send(pid: i32, signal: i32) -> Result<(), i32> {
    let code = |error: rustix::io::Errno| error.raw_os_error();
    let pid = Pid::from_raw(pid).ok_or(libc::ESRCH)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(code)?;
    signals::send(&handle, signal).map_err(|error| error.raw_os_error().unwrap_or(libc::EPERM))
}

/// An address without a host means this machine.
fn own_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    }
}

/// The socket that a call is about. `None` where it cannot be had.
fn socket_of(call: &AskedCall) -> Option<OwnedFd> {
    let process = pidfd_open(Pid::from_raw(thread_group(call.thread)?)?, PidfdFlags::empty()).ok()?;
    let number = i32::try_from(call.arguments[0]).ok()?;
    pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()
}

/// Connects the process's own socket to the one that was judged. `None` where its socket cannot be had.
fn connect_for(call: &AskedCall, socket: &OwnedFd) -> Option<CallAnswer> {
    let theirs = socket_of(call)?;
    let address = rustix::net::SocketAddrUnix::new(format!("/proc/self/fd/{}", socket.as_raw_fd())).ok()?;
    // Whoever waits for a full queue would keep us waiting too.
    let flags = rustix::fs::fcntl_getfl(&theirs).ok()?;
    let changes = !flags.contains(OFlags::NONBLOCK);
    if changes {
        rustix::fs::fcntl_setfl(&theirs, flags | OFlags::NONBLOCK).ok()?;
    }
    let connected = rustix::net::connect(&theirs, &address);
    if changes {
        let _ = rustix::fs::fcntl_setfl(&theirs, flags);
    }
    Some(connected.map_or_else(|error| CallAnswer::Fails(error.raw_os_error()), |()| CallAnswer::Done))
}

/// The process that a thread belongs to.
fn thread_group(thread: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}
