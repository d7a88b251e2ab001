//! A program that does anything to the tree that it is started in: every call that changes files, by dice.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chiton_testkit::dice::Dice;

use super::calls::{Answer, call, open, write_by_memory};
use super::paths;

const HERE: i32 = libc::AT_FDCWD;
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;

/// How it is told to act: this word, the seed, how many operations, how many at once, and the folder outside.
pub const ACT: &str = "act";

/// Acts as the arguments say; `None` where they do not.
pub fn act_if_asked() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [word, seed, count, crowd, scratch] = &words[..] else { return None };
    if word != ACT {
        return None;
    }
    let (seed, count): (u64, usize) = (seed.parse().unwrap(), count.parse().unwrap());
    let scratch = PathBuf::from(scratch);
    match crowd.as_str() {
        "threads" => std::thread::scope(|scope| {
            for number in 0..4 {
                let scratch = &scratch;
                scope.spawn(move || act(seed + number, count, scratch));
            }
        }),
        "processes" => {
            let one = |number: u64| {
                #[expect(clippy::disallowed_methods, reason = "this is the command itself")]
                let mut command = std::process::Command::new(std::env::current_exe().unwrap());
                let numbers = [(seed + number).to_string(), count.to_string()];
                command.arg(ACT).args(numbers).arg("alone").arg(&scratch).spawn().unwrap()
            };
            let mut children: Vec<_> = (0..4).map(one).collect();
            for child in &mut children {
                assert!(child.wait().unwrap().success());
            }
        }
        _ => act(seed, count, &scratch),
    }
    Some(ExitCode::SUCCESS)
}

fn act(seed: u64, count: usize, scratch: &Path) {
    let mut actor = Actor { dice: Dice::new(seed), scratch: scratch.to_owned(), held: Vec::new(), said: String::new() };
    for _ in 0..count {
        let (name, operation) = *actor.dice.one_of(OPERATIONS);
        let answer = operation(&mut actor);
        let said = std::mem::take(&mut actor.said);
        println!("{seed} {name}{said} = {answer:?}");
    }
}

struct Actor {
    dice: Dice,
    scratch: PathBuf,
    /// Files that stay open for writing.
    held: Vec<OwnedFd>,
    /// What the operation is about.
    said: String,
}

type Operation = fn(&mut Actor) -> Answer;

const OPERATIONS: &[(&str, Operation)] = &[
    ("open", |actor| actor.open_and_write(libc::SYS_open)),
    ("openat", |actor| actor.open_and_write(libc::SYS_openat)),
    ("openat", |actor| actor.open_and_write(libc::SYS_openat)),
    ("openat2", |actor| actor.open_and_write(libc::SYS_openat2)),
    ("openat2 in its root", Actor::open_in_root),
    ("creat", |actor| {
        let path = actor.path();
        // It would wait for somebody who reads.
        if fs::metadata(std::ffi::OsStr::from_bytes(path.as_bytes())).is_ok_and(|data| data.file_type().is_fifo()) {
            return Ok(0);
        }
        let file = open(libc::SYS_creat, &[&path, &0o640])?;
        actor.write(&file)
    }),
    ("append", |actor| {
        let path = actor.path();
        let file = open(libc::SYS_openat, &[&HERE, &path, &(libc::O_WRONLY | libc::O_APPEND | libc::O_NONBLOCK), &0])?;
        actor.write(&file)
    }),
    ("file without a name", Actor::link_unnamed),
    ("rename", |actor| {
        let (from, to) = (actor.path(), actor.path());
        call(libc::SYS_rename, &[&from, &to])
    }),
    ("rename", |actor| {
        let (from, to) = (actor.path(), actor.path());
        call(libc::SYS_rename, &[&from, &to])
    }),
    ("renameat", |actor| {
        let ((one, from), (other, to)) = (actor.at(), actor.at());
        call(libc::SYS_renameat, &[&one, &from, &other, &to])
    }),
    ("renameat2", |actor| actor.rename_with(0)),
    ("renameat2 without replacing", |actor| actor.rename_with(libc::RENAME_NOREPLACE)),
    ("exchange", |actor| actor.rename_with(libc::RENAME_EXCHANGE)),
    ("exchange", |actor| actor.rename_with(libc::RENAME_EXCHANGE)),
    ("link", |actor| {
        let (from, to) = (actor.path(), actor.path());
        call(libc::SYS_link, &[&from, &to])
    }),
    ("linkat", |actor| {
        let ((one, from), (other, to)) = (actor.at(), actor.at());
        let flags = *actor.dice.one_of(&[0, libc::AT_SYMLINK_FOLLOW]);
        call(libc::SYS_linkat, &[&one, &from, &other, &to, &flags])
    }),
    ("symlink", |actor| {
        let (to, path) = (actor.path(), actor.path());
        call(libc::SYS_symlink, &[&to, &path])
    }),
    ("symlinkat", |actor| {
        let (to, (folder, path)) = (actor.path(), actor.at());
        call(libc::SYS_symlinkat, &[&to, &folder, &path])
    }),
    ("unlink", |actor| {
        let path = actor.path();
        call(libc::SYS_unlink, &[&path])
    }),
    ("unlinkat", |actor| {
        let (folder, path) = actor.at();
        call(libc::SYS_unlinkat, &[&folder, &path, &0])
    }),
    ("rmdir", |actor| {
        let path = actor.path();
        call(libc::SYS_rmdir, &[&path])
    }),
    ("unlinkat of a folder", |actor| {
        let (folder, path) = actor.at();
        call(libc::SYS_unlinkat, &[&folder, &path, &libc::AT_REMOVEDIR])
    }),
    ("rm -rf", |actor| {
        let folder = paths::folder(&mut actor.dice);
        actor.say(&folder.display().to_string());
        let meant = if folder == Path::new(".") { "d".into() } else { folder };
        fs::remove_dir_all(meant).map_or_else(|error| Err(error.raw_os_error().unwrap_or(0)), |()| Ok(0))
    }),
    ("mkdir", |actor| {
        let path = actor.path();
        call(libc::SYS_mkdir, &[&path, &0o755])
    }),
    ("mkdirat", |actor| {
        let (folder, path) = actor.at();
        call(libc::SYS_mkdirat, &[&folder, &path, &0o700])
    }),
    ("new files", |actor| {
        let folder = paths::folder(&mut actor.dice);
        actor.say(&folder.display().to_string());
        for number in 0..20 {
            let _ = fs::write(folder.join(format!("made{number}")), [number]);
        }
        Ok(0)
    }),
    ("mknod", |actor| {
        let path = actor.path();
        let kind = *actor.dice.one_of(&[libc::S_IFIFO, libc::S_IFSOCK, libc::S_IFREG, libc::S_IFCHR]);
        call(libc::SYS_mknod, &[&path, &(kind | 0o600), &0])
    }),
    ("mknodat", |actor| {
        let (folder, path) = actor.at();
        let kind = *actor.dice.one_of(&[libc::S_IFIFO, libc::S_IFSOCK, libc::S_IFREG]);
        call(libc::SYS_mknodat, &[&folder, &path, &(kind | 0o644), &0])
    }),
    ("bind", |actor| {
        let path = actor.path();
        let bound = UnixListener::bind(std::ffi::OsStr::from_bytes(path.as_bytes()));
        bound.map_or_else(|error| Err(error.raw_os_error().unwrap_or(0)), |_| Ok(0))
    }),
    ("truncate", |actor| {
        let path = actor.path();
        let length = *actor.dice.one_of(&[0, 7, 6000]);
        call(libc::SYS_truncate, &[&path, &length])
    }),
    ("ftruncate", |actor| {
        let file = actor.opened(libc::O_RDWR)?;
        let length = *actor.dice.one_of(&[0, 7, 6000]);
        call(libc::SYS_ftruncate, &[&file, &length])
    }),
    ("fallocate", |actor| {
        let file = actor.opened(libc::O_RDWR)?;
        let modes = [0, libc::FALLOC_FL_KEEP_SIZE, libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE];
        let mode =
            *actor.dice.one_of(&[&modes[..], &[libc::FALLOC_FL_ZERO_RANGE, libc::FALLOC_FL_COLLAPSE_RANGE]].concat());
        call(libc::SYS_fallocate, &[&file, &mode, &0, &4096])
    }),
    ("copy_file_range", |actor| {
        let (from, to) = (actor.opened(libc::O_RDONLY)?, actor.opened(libc::O_WRONLY)?);
        call(libc::SYS_copy_file_range, &[&from, &0, &to, &0, &5000, &0])
    }),
    ("sendfile", |actor| {
        let (from, to) = (actor.opened(libc::O_RDONLY)?, actor.opened(libc::O_WRONLY)?);
        call(libc::SYS_sendfile, &[&to, &from, &0, &3000])
    }),
    ("clone", |actor| {
        const FICLONE: u32 = 0x4004_9409;
        let (from, to) = (actor.opened(libc::O_RDONLY)?, actor.opened(libc::O_WRONLY)?);
        call(libc::SYS_ioctl, &[&to, &FICLONE, &from])
    }),
    ("mmap", |actor| {
        let file = actor.opened(libc::O_RDWR)?;
        let length = usize::try_from(rustix::fs::fstat(&file).unwrap().st_size).unwrap();
        if length == 0 {
            return Ok(0);
        }
        let (at, bytes) = (actor.dice.roll(length), paths::bytes(&mut actor.dice));
        write_by_memory(&file, length, at, &bytes)
    }),
    ("write and say that nothing happened", |actor| {
        let file = actor.opened(libc::O_RDWR)?;
        let data = rustix::fs::fstat(&file).unwrap();
        let length = usize::try_from(data.st_size).unwrap().min(5000);
        call(libc::SYS_pwrite64, &[&file, &&vec![b'?'; length][..], &(length as i64), &0])?;
        let time = |seconds, nanoseconds| rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds as i64 };
        let times = rustix::fs::Timestamps {
            last_access: time(data.st_atime, data.st_atime_nsec),
            last_modification: time(data.st_mtime, data.st_mtime_nsec),
        };
        rustix::fs::futimens(&file, &times).map_or_else(|error| Err(error.raw_os_error()), |()| Ok(0))
    }),
    ("hold", |actor| {
        let file = actor.opened(libc::O_RDWR)?;
        actor.held.push(file);
        Ok(0)
    }),
    ("write to what is held", |actor| {
        let Some(file) = actor.held.pop() else { return Ok(0) };
        actor.write(&file)
    }),
    ("open once more", |actor| {
        let file = actor.opened(libc::O_RDONLY)?;
        let again = Actor::again(&file)?;
        actor.write(&again)
    }),
    ("remove and open once more", |actor| {
        let path = actor.path();
        let file = open(libc::SYS_openat, &[&HERE, &path, &(libc::O_RDONLY | libc::O_NONBLOCK), &0])?;
        call(libc::SYS_unlink, &[&path])?;
        let again = Actor::again(&file)?;
        actor.write(&again)?;
        call(libc::SYS_fchmod, &[&again, &0o611])
    }),
    ("chmod", |actor| {
        let (path, mode) = (actor.path(), actor.mode());
        call(libc::SYS_chmod, &[&path, &mode])
    }),
    ("fchmod", |actor| {
        let (file, mode) = (actor.opened(libc::O_RDONLY)?, actor.mode());
        call(libc::SYS_fchmod, &[&file, &mode])
    }),
    ("fchmodat", |actor| {
        let ((folder, path), mode) = (actor.at(), actor.mode());
        call(libc::SYS_fchmodat, &[&folder, &path, &mode])
    }),
    ("fchmodat2", |actor| {
        let ((folder, path), mode) = (actor.at(), actor.mode());
        call(FCHMODAT2, &[&folder, &path, &mode, &libc::AT_SYMLINK_NOFOLLOW])
    }),
    ("fchmodat2 of what is open", |actor| {
        let (file, mode) = (actor.opened(libc::O_PATH)?, actor.mode());
        call(FCHMODAT2, &[&file, &CString::default(), &mode, &libc::AT_EMPTY_PATH])
    }),
    ("chmod of what is open", |actor| {
        let (file, mode) = (actor.opened(libc::O_PATH)?, actor.mode());
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        call(libc::SYS_chmod, &[&path, &mode])
    }),
    ("chown", |actor| {
        let (path, owner) = (actor.path(), actor.owner());
        call(libc::SYS_chown, &[&path, &owner, &owner])
    }),
    ("lchown", |actor| {
        let (path, owner) = (actor.path(), actor.owner());
        call(libc::SYS_lchown, &[&path, &owner, &owner])
    }),
    ("fchown", |actor| {
        let (file, owner) = (actor.opened(libc::O_RDONLY)?, actor.owner());
        call(libc::SYS_fchown, &[&file, &owner, &owner])
    }),
    ("fchownat", |actor| {
        let ((folder, path), owner) = (actor.at(), actor.owner());
        call(libc::SYS_fchownat, &[&folder, &path, &owner, &owner, &libc::AT_SYMLINK_NOFOLLOW])
    }),
    ("utime", |actor| {
        let (path, time) = (actor.path(), actor.seconds());
        call(libc::SYS_utime, &[&path, &&numbers(&[time, time])[..]])
    }),
    ("utimes", |actor| {
        let (path, time) = (actor.path(), actor.seconds());
        call(libc::SYS_utimes, &[&path, &&numbers(&[time, 1, time, 999_999])[..]])
    }),
    ("futimesat", |actor| {
        let ((folder, path), time) = (actor.at(), actor.seconds());
        call(libc::SYS_futimesat, &[&folder, &path, &&numbers(&[time, 1, time, 999_999])[..]])
    }),
    ("utimensat", |actor| {
        let ((folder, path), time) = (actor.at(), actor.seconds());
        let flags = *actor.dice.one_of(&[0, libc::AT_SYMLINK_NOFOLLOW]);
        call(libc::SYS_utimensat, &[&folder, &path, &&numbers(&[time, 1, time, 999_999_999])[..], &flags])
    }),
    ("futimens", |actor| {
        let (file, time) = (actor.opened(libc::O_RDONLY)?, actor.seconds());
        call(libc::SYS_utimensat, &[&file, &0, &&numbers(&[time, 1, time, 999_999_999])[..], &0])
    }),
    ("setxattr", |actor| {
        let (path, name) = (actor.path(), actor.attribute());
        call(libc::SYS_setxattr, &[&path, &name, &&b"changed"[..], &7, &0])
    }),
    ("lsetxattr", |actor| {
        let (path, name) = (actor.path(), actor.attribute());
        call(libc::SYS_lsetxattr, &[&path, &name, &&b"changed"[..], &7, &0])
    }),
    ("fsetxattr", |actor| {
        let (file, name) = (actor.opened(libc::O_RDONLY)?, actor.attribute());
        call(libc::SYS_fsetxattr, &[&file, &name, &&b"changed"[..], &7, &0])
    }),
    ("setxattrat", |actor| {
        let ((folder, path), name) = (actor.at(), actor.attribute());
        let value = b"changed";
        let how = [numbers(&[(&&value[..] as &dyn super::calls::Argument).value()]), numbers(&[7])].concat();
        call(SETXATTRAT, &[&folder, &path, &0, &name, &&how[..], &16])
    }),
    ("removexattr", |actor| {
        let (path, name) = (actor.path(), actor.attribute());
        call(libc::SYS_removexattr, &[&path, &name])
    }),
    ("lremovexattr", |actor| {
        let (path, name) = (actor.path(), actor.attribute());
        call(libc::SYS_lremovexattr, &[&path, &name])
    }),
    ("fremovexattr", |actor| {
        let (file, name) = (actor.opened(libc::O_RDONLY)?, actor.attribute());
        call(libc::SYS_fremovexattr, &[&file, &name])
    }),
    ("setxattr of what is open", |actor| {
        let (file, name) = (actor.opened(libc::O_PATH)?, actor.attribute());
        let path = CString::new(format!("/dev/fd/{}", file.as_raw_fd())).unwrap();
        call(libc::SYS_setxattr, &[&path, &name, &&b"changed"[..], &7, &0])
    }),
];

/// As the kernel reads them.
fn numbers(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

impl Actor {
    fn say(&mut self, text: &str) {
        self.said.push(' ');
        self.said.push_str(text);
    }

    fn path(&mut self) -> CString {
        let path = paths::any(&mut self.dice, &self.scratch);
        self.say(&path.as_bytes().escape_ascii().to_string());
        path
    }

    /// A path from an open folder, or from here. Folders stay open: the numbers of descriptors go to the kernel later.
    fn at(&mut self) -> (i32, CString) {
        if self.dice.roll(2) == 0 {
            return (HERE, self.path());
        }
        let folder = paths::folder(&mut self.dice);
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let place = CString::new(folder.as_os_str().as_bytes()).unwrap();
        let Ok(opened) = open(libc::SYS_openat, &[&HERE, &place, &flags, &0]) else { return (HERE, self.path()) };
        let number = opened.as_raw_fd();
        self.held.insert(0, opened);
        let name = *self.dice.one_of(&[&b"a"[..], b"b", b"d", b"e", b"new", b"\xff", b"../b", b"e/a", b"f/g"]);
        self.say(&format!("{}:{}", folder.display(), name.escape_ascii()));
        if self.dice.roll(4) == 0 {
            let path = [format!("/proc/self/fd/{number}/").as_bytes(), name].concat();
            return (HERE, CString::new(path).unwrap());
        }
        (number, CString::new(name).unwrap())
    }

    fn opened(&mut self, flags: i32) -> Result<OwnedFd, i32> {
        let path = self.path();
        open(libc::SYS_openat, &[&HERE, &path, &(flags | libc::O_NONBLOCK), &0])
    }

    /// The same file, to be written to.
    fn again(file: &OwnedFd) -> Result<OwnedFd, i32> {
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        open(libc::SYS_openat, &[&HERE, &path, &(libc::O_RDWR | libc::O_NONBLOCK), &0])
    }

    fn write(&mut self, file: &OwnedFd) -> Answer {
        let bytes = paths::bytes(&mut self.dice);
        if self.dice.roll(2) == 0 {
            return call(libc::SYS_write, &[file, &&bytes[..], &(bytes.len() as i64)]);
        }
        let place = self.dice.roll(3000) as i64;
        call(libc::SYS_pwrite64, &[file, &&bytes[..], &(bytes.len() as i64), &place])
    }

    fn flags(&mut self) -> i32 {
        const MORE: [i32; 7] = [
            libc::O_CREAT,
            libc::O_CREAT,
            libc::O_EXCL,
            libc::O_TRUNC,
            libc::O_APPEND,
            libc::O_NOFOLLOW,
            libc::O_DIRECTORY,
        ];
        let mut flags = *self.dice.one_of(&[libc::O_WRONLY, libc::O_RDWR, libc::O_RDONLY]) | libc::O_NONBLOCK;
        for more in MORE {
            let is_rare = [libc::O_DIRECTORY, libc::O_EXCL, libc::O_NOFOLLOW].contains(&more);
            if self.dice.roll(if is_rare { 6 } else { 2 }) == 0 {
                flags |= more;
            }
        }
        flags
    }

    fn open_and_write(&mut self, number: libc::c_long) -> Answer {
        let flags = self.flags();
        self.say(&format!("{flags:#o}"));
        let file = match number {
            libc::SYS_open => {
                let path = self.path();
                open(number, &[&path, &flags, &0o644])?
            }
            libc::SYS_openat2 => {
                let (folder, path) = self.at();
                let mode = if flags & libc::O_CREAT == 0 { 0 } else { 0o644 };
                let how = numbers(&[i64::from(flags), mode, 0]);
                open(number, &[&folder, &path, &&how[..], &24])?
            }
            _ => {
                let (folder, path) = self.at();
                open(number, &[&folder, &path, &flags, &0o604])?
            }
        };
        self.write(&file)
    }

    /// An absolute path that begins at an open folder.
    fn open_in_root(&mut self) -> Answer {
        const RESOLVE_IN_ROOT: i64 = 0x10;
        let folder = open(libc::SYS_openat, &[&HERE, &CString::new(".").unwrap(), &libc::O_RDONLY, &0])?;
        let name = *self.dice.one_of(&[&b"/a"[..], b"/d/new", b"/../c", b"/to-d/b"]);
        self.say(&name.escape_ascii().to_string());
        let flags = i64::from(libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_NONBLOCK);
        let how = numbers(&[flags, 0o600, RESOLVE_IN_ROOT]);
        let file = open(libc::SYS_openat2, &[&folder, &CString::new(name).unwrap(), &&how[..], &24])?;
        self.write(&file)
    }

    fn link_unnamed(&mut self) -> Answer {
        let folder = paths::folder(&mut self.dice);
        let path = CString::new(folder.as_os_str().as_bytes()).unwrap();
        let file = open(libc::SYS_openat, &[&HERE, &path, &(libc::O_RDWR | libc::O_TMPFILE), &0o640])?;
        self.write(&file)?;
        let to = self.path();
        if self.dice.roll(2) == 0 {
            return call(libc::SYS_linkat, &[&file, &CString::default(), &HERE, &to, &libc::AT_EMPTY_PATH]);
        }
        let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        call(libc::SYS_linkat, &[&HERE, &from, &HERE, &to, &libc::AT_SYMLINK_FOLLOW])
    }

    fn rename_with(&mut self, flags: u32) -> Answer {
        let ((one, from), (other, to)) = (self.at(), self.at());
        call(libc::SYS_renameat2, &[&one, &from, &other, &to, &flags])
    }

    fn mode(&mut self) -> i32 {
        *self.dice.one_of(&[0o600, 0o777, 0o4755, 0o2755, 0o1777, 0o500])
    }

    fn owner(&mut self) -> i32 {
        *self.dice.one_of(&[1, 1000, 0, -1])
    }

    /// Long ago, and long from now.
    fn seconds(&mut self) -> i64 {
        *self.dice.one_of(&[1, 1_500_000_000, 4_000_000_000])
    }

    fn attribute(&mut self) -> CString {
        CString::new(*self.dice.one_of(&["user.old", "user.new", "trusted.own"])).unwrap()
    }
}
