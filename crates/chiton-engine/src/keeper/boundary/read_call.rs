//! What a system call is about, read from the memory of the process that makes it.

use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::loopback::WantedSocket;
use super::shared;
use super::whereabouts::{self, LastLink};
use crate::enclosure::filter::{SYS_FCHMODAT2, SYS_REMOVEXATTRAT, SYS_SETXATTRAT};
use crate::sys::memory;
use crate::sys::seccomp::AskedCall;

/// What a process wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// To change what is at these places.
    Change(Vec<Place>),
    /// To connect to a Unix socket.
    Socket(Place),
    /// To open one of the files that a shell shares with its keeper.
    Shared { number: i32, flags: i32 },
    /// To have a socket of the internet.
    InternetSocket(WantedSocket),
    /// To connect to an address.
    Address(IpAddr, u16),
    /// To change how fast a process runs, or how much it may use.
    Process { target: i64 },
    /// To send a signal.
    Signal { target: i64, signal: i32 },
    /// Nothing that anybody minds, or nothing that can be read: the kernel decides.
    Other,
}

/// A path as a process means it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Absolute, as it was written.
    pub(super) path: PathBuf,
    /// Whether there are no links in it, but perhaps for the last part.
    pub(super) is_settled: bool,
    pub(super) change: Change,
}

/// What is to become of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Something new comes there, unless something is there.
    Made,
    /// What is there is opened; it is made where there is nothing and the one flag says so, and its content can be changed
    /// where the other does.
    Opened { makes: bool, writes: bool },
    /// What is there goes, or gets other attributes. A link is meant itself.
    Replaced,
    /// It gets another name, with everything in it. A link is meant itself.
    Moved,
    /// It changes places with another one.
    Exchanged,
    /// It gets a second name.
    Linked,
    /// Its content becomes shorter or longer; a link is followed.
    Resized,
    /// Its attributes change; a link is followed.
    Attributes,
    /// The attributes of a link change.
    AttributesOfLink,
    /// The attributes of something change that is open already, in any way.
    AttributesOfOpen,
}

/// As many bytes as the kernel takes of a path.
const PATH_BYTES: usize = 4096;
/// What every program writes to and looks for.
const NOTHING: &str = "/dev/null";
const OWN_TERMINAL: &str = "/dev/tty";
const HERE: i64 = libc::AT_FDCWD as i64;

/// Reads what the call is about.
pub(super) fn read(call: &AskedCall) -> Request {
    let reader = Reader { thread: call.thread };
    reader.read(call).unwrap_or(Request::Other)
}

struct Reader {
    thread: i32,
}

impl Reader {
    #[expect(clippy::cast_possible_truncation, reason = "arguments are what the call says")]
    fn read(&self, call: &AskedCall) -> Option<Request> {
        let arguments = call.arguments;
        let number = |index: usize| i64::from(arguments[index] as i32);
        let place =
            |folder: i64, path: usize, change: Change| self.absolute(folder, &self.path(arguments[path])?, change);
        let one = |place: Option<Place>| Some(Request::Change(vec![place?]));
        let two = |first: Option<Place>, second: Option<Place>| Some(Request::Change(vec![first?, second?]));
        match call.call {
            libc::SYS_openat => self.open(number(0), arguments[1], arguments[2] as i32),
            libc::SYS_openat2 => {
                let how = self.bytes(arguments[2], 24)?;
                let number_at = |place: usize| how.get(place..place + 8)?.try_into().ok().map(u64::from_le_bytes);
                let flags = i32::try_from(number_at(0)?).ok()?;
                let writes = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
                if flags & writes == 0 {
                    return Some(Request::Other);
                }
                if number_at(16)? & ResolveFlags::IN_ROOT.bits() != 0 {
                    return self.open_in_root(number(0), arguments[1], flags);
                }
                self.open(number(0), arguments[1], flags)
            }
            libc::SYS_unlinkat => one(place(number(0), 1, Change::Replaced)),
            libc::SYS_renameat2 => {
                let exchanges = arguments[4] as u32 & libc::RENAME_EXCHANGE != 0;
                let change = if exchanges { Change::Exchanged } else { Change::Moved };
                two(place(number(0), 1, change), place(number(2), 3, change))
            }
            libc::SYS_mkdirat | libc::SYS_mknodat => one(place(number(0), 1, Change::Made)),
            // What is linked to is not changed by it, but can be by its new name.
            libc::SYS_linkat => {
                let (folder, path, flags) = (number(0), self.path(arguments[1])?, arguments[4] as i32);
                let source = if path.as_os_str().is_empty() {
                    self.open_file(folder).map(|path| Place { path, is_settled: true, change: Change::Linked })
                } else {
                    self.absolute(folder, &path, Change::Linked)
                };
                let source = source.map(|place| match flags & libc::AT_SYMLINK_FOLLOW {
                    0 => place,
                    _ => match whereabouts::place(self.thread, &place.path, LastLink::Followed) {
                        Some(path) => Place { path, is_settled: true, ..place },
                        None => place,
                    },
                });
                let made = place(number(2), 3, Change::Made)?;
                // A file without a name is linked to as if it were made there.
                let linked = source.filter(|place| !place.path.starts_with("/proc"));
                Some(Request::Change(linked.into_iter().chain([made]).collect()))
            }
            libc::SYS_symlinkat => one(place(number(1), 2, Change::Made)),
            libc::SYS_truncate => one(place(HERE, 0, Change::Resized)),
            libc::SYS_setxattr | libc::SYS_removexattr => one(place(HERE, 0, Change::Attributes)),
            libc::SYS_lsetxattr | libc::SYS_lremovexattr => one(place(HERE, 0, Change::AttributesOfLink)),
            libc::SYS_utimensat if arguments[1] == 0 => self.attributes_of_open(number(0)),
            libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
                self.attributes_of_open(number(0))
            }
            libc::SYS_fchmodat | SYS_FCHMODAT2 | libc::SYS_fchownat | libc::SYS_utimensat => {
                let flags = match call.call {
                    libc::SYS_fchownat => arguments[4] as i32,
                    libc::SYS_fchmodat => 0,
                    _ => arguments[3] as i32,
                };
                if flags & libc::AT_EMPTY_PATH != 0 && self.path(arguments[1])?.as_os_str().is_empty() {
                    return self.attributes_of_open(number(0));
                }
                let is_link = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
                let change = if is_link { Change::AttributesOfLink } else { Change::Attributes };
                one(place(number(0), 1, change))
            }
            // They take the place of eight calls at once; nobody uses them yet.
            SYS_SETXATTRAT | SYS_REMOVEXATTRAT => {
                if arguments[1] == 0 || self.path(arguments[1])?.as_os_str().is_empty() {
                    return self.attributes_of_open(number(0));
                }
                let is_link = arguments[2] as i32 & libc::AT_SYMLINK_NOFOLLOW != 0;
                let change = if is_link { Change::AttributesOfLink } else { Change::Attributes };
                one(place(number(0), 1, change))
            }
            libc::SYS_socket => {
                let [family, kind, protocol] = [0, 1, 2].map(|index| arguments[index] as i32);
                Some(Request::InternetSocket(WantedSocket { family, kind, protocol }))
            }
            libc::SYS_connect => self.address(arguments[1], arguments[2]),
            libc::SYS_bind => match self.address(arguments[1], arguments[2])? {
                Request::Socket(place) => one(Some(Place { change: Change::Made, ..place })),
                _ => Some(Request::Other),
            },
            libc::SYS_kill => Some(Request::Signal { target: number(0), signal: arguments[1] as i32 }),
            libc::SYS_pidfd_send_signal => {
                let target = self.pid_of_handle(arguments[0] as i32)?;
                Some(Request::Signal { target, signal: arguments[1] as i32 })
            }
            libc::SYS_setpriority | libc::SYS_ioprio_set => Some(Request::Process { target: number(1) }),
            libc::SYS_prlimit64
            | libc::SYS_sched_setaffinity
            | libc::SYS_sched_setscheduler
            | libc::SYS_sched_setparam
            | libc::SYS_sched_setattr => Some(Request::Process { target: number(0) }),
            other => self.read_old(other, &arguments),
        }
    }

    /// The calls that newer processors do without.
    #[cfg(target_arch = "x86_64")]
    #[expect(clippy::cast_possible_truncation, reason = "arguments are what the call says")]
    fn read_old(&self, call: libc::c_long, arguments: &[u64; 6]) -> Option<Request> {
        let place = |path: usize, change: Change| self.absolute(HERE, &self.path(arguments[path])?, change);
        let one = |place: Option<Place>| Some(Request::Change(vec![place?]));
        let two = |first: Option<Place>, second: Option<Place>| Some(Request::Change(vec![first?, second?]));
        match call {
            libc::SYS_open => self.open(HERE, arguments[0], arguments[1] as i32),
            libc::SYS_creat => self.open(HERE, arguments[0], libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC),
            libc::SYS_unlink | libc::SYS_rmdir => one(place(0, Change::Replaced)),
            libc::SYS_lchown => one(place(0, Change::AttributesOfLink)),
            libc::SYS_rename => two(place(0, Change::Moved), place(1, Change::Moved)),
            libc::SYS_link => two(place(0, Change::Linked), place(1, Change::Made)),
            libc::SYS_symlink => one(place(1, Change::Made)),
            libc::SYS_mkdir | libc::SYS_mknod => one(place(0, Change::Made)),
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => one(place(0, Change::Attributes)),
            libc::SYS_futimesat if arguments[1] == 0 => self.attributes_of_open(i64::from(arguments[0] as i32)),
            libc::SYS_futimesat => {
                one(self.absolute(i64::from(arguments[0] as i32), &self.path(arguments[1])?, Change::Attributes))
            }
            libc::SYS_renameat => {
                let at = |folder: usize, path: usize| {
                    self.absolute(i64::from(arguments[folder] as i32), &self.path(arguments[path])?, Change::Moved)
                };
                two(at(0, 1), at(2, 3))
            }
            _ => None,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn read_old(&self, _call: libc::c_long, _arguments: &[u64; 6]) -> Option<Request> {
        None
    }

    /// Opening a file so that it can be changed.
    fn open(&self, folder: i64, address: u64, flags: i32) -> Option<Request> {
        let path = self.path(address)?;
        // What every program opens, and every one may: not worth a second look.
        if [NOTHING, OWN_TERMINAL].iter().any(|free| path.as_os_str() == *free) {
            return Some(Request::Other);
        }
        if let Some(number) = shared::number(&path) {
            return Some(Request::Shared { number, flags });
        }
        let makes = flags & (libc::O_CREAT | libc::O_TMPFILE) & !libc::O_DIRECTORY != 0;
        let writes = flags & (libc::O_ACCMODE | libc::O_TRUNC) != 0;
        let place = self.absolute(folder, &path, Change::Opened { makes, writes })?;
        // Such a link is meant itself: nothing is made where it leads.
        let is_exact = flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 || flags & libc::O_NOFOLLOW != 0;
        if is_exact && fs::symlink_metadata(&place.path).is_ok_and(|data| data.is_symlink()) {
            return Some(Request::Other);
        }
        Some(Request::Change(vec![place]))
    }

    /// The same where a folder stands for the root, and no path leads out of it.
    fn open_in_root(&self, folder: i64, address: u64, flags: i32) -> Option<Request> {
        let path = self.path(address)?;
        let root = fs::File::open(format!("/proc/{}/{}", self.thread, name_of_open(folder))).ok()?;
        let find = |path: &Path| {
            let found =
                openat2(&root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::IN_ROOT).ok()?;
            fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()
        };
        let beside = || Some(find(path.parent()?)?.join(path.file_name()?));
        let path = find(&path).or_else(beside)?;
        let makes = flags & libc::O_CREAT != 0;
        let writes = flags & (libc::O_ACCMODE | libc::O_TRUNC) != 0;
        Some(Request::Change(vec![Place { path, is_settled: true, change: Change::Opened { makes, writes } }]))
    }

    /// The attributes of a file that the process has open. Nobody could have opened it who may not, so this is for those who
    /// keep what it was.
    fn attributes_of_open(&self, descriptor: i64) -> Option<Request> {
        let path = self.open_file(descriptor)?;
        Some(Request::Change(vec![Place { path, is_settled: true, change: Change::AttributesOfOpen }]))
    }

    /// Where a file is that the process has open, or its directory.
    fn open_file(&self, descriptor: i64) -> Option<PathBuf> {
        whereabouts::of_open(self.thread, &name_of_open(descriptor))
    }

    /// So many bytes of its memory.
    fn bytes(&self, address: u64, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        (memory::read_of(self.thread, address, &mut bytes)? == count).then_some(bytes)
    }

    /// A path, which ends with NUL. Read page by page: what follows the last one may not be there.
    fn path(&self, address: u64) -> Option<PathBuf> {
        const PAGE: u64 = 4096;
        // Most are short.
        let mut wanted = 256;
        let mut path = Vec::new();
        let mut place = address;
        while path.len() < PATH_BYTES {
            let left = usize::try_from(PAGE - place % PAGE).ok()?.min(wanted);
            let mut bytes = vec![0; left];
            if memory::read_of(self.thread, place, &mut bytes)? < left {
                return None;
            }
            if let Some(end) = memchr::memchr(0, &bytes) {
                path.extend_from_slice(&bytes[..end]);
                return Some(OsString::from_vec(path).into());
            }
            path.extend(bytes);
            place += left as u64;
            wanted = PATH_BYTES;
        }
        None
    }

    /// The path as an absolute one: relative to its directory or to an open folder.
    fn absolute(&self, folder: i64, path: &Path, change: Change) -> Option<Place> {
        if path.is_absolute() {
            return Some(Place { path: path.to_owned(), is_settled: false, change });
        }
        let base = fs::read_link(format!("/proc/{}/{}", self.thread, name_of_open(folder))).ok()?;
        // The call is about the open file itself, or about something that has no path.
        if path.as_os_str().is_empty() || !base.is_absolute() {
            return None;
        }
        // What the kernel says of a folder has no links in it.
        let bytes = path.as_os_str().as_encoded_bytes();
        let is_settled = !bytes.contains(&b'/') && bytes != b"." && bytes != b"..";
        Some(Place { path: base.join(path), is_settled, change })
    }

    fn address(&self, address: u64, length: u64) -> Option<Request> {
        let bytes = self.bytes(address, usize::try_from(length).ok()?.min(128))?;
        let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
        match family {
            libc::AF_UNIX => {
                let name = bytes.get(2..)?;
                // Those without a path begin with NUL; Landlock or the network namespace keeps them inside.
                let end = memchr::memchr(0, name).unwrap_or(name.len());
                if end == 0 {
                    return Some(Request::Other);
                }
                let path = OsString::from_vec(name[..end].to_vec());
                Some(Request::Socket(self.absolute(HERE, Path::new(&path), Change::Attributes)?))
            }
            libc::AF_INET => {
                let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
                Some(Request::Address(Ipv4Addr::from(octets).into(), port()?))
            }
            libc::AF_INET6 => {
                let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
                Some(Request::Address(Ipv6Addr::from(octets).to_canonical(), port()?))
            }
            _ => Some(Request::Other),
        }
    }

    /// The process that a descriptor of the thread stands for.
    fn pid_of_handle(&self, descriptor: i32) -> Option<i64> {
        let text = fs::read_to_string(format!("/proc/{}/fdinfo/{descriptor}", self.thread)).ok()?;
        text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
    }
}

/// What something open is called in the folder of its thread: a descriptor, or the directory.
fn name_of_open(descriptor: i64) -> String {
    if descriptor == HERE { "cwd".to_owned() } else { format!("fd/{descriptor}") }
}
