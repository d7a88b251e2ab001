//! What a path means to the thread that uses it: a place without links.
//!
//! Most paths mean to us what they mean to it, and the kernel says which place that is. What `/proc` says of a thread is
//! another matter: its directory, its root and its open files are not ours, so a path through these is walked part by part.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// What becomes of a link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLink {
    /// It is meant itself.
    Itself,
    /// What it leads to is meant.
    Followed,
}

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// The place that an absolute path means to a thread; nothing may be there yet. A file that is open and has no name any more
/// is given as the path of its descriptor. `None` where the kernel will say by itself that it cannot be done.
pub(super) fn place(thread: i32, path: &Path, last: LastLink) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match by_kernel(&path, last) {
            Ok(found) => return Some(found),
            Err(Elsewhere::Link(target)) => path = target,
            Err(Elsewhere::Magic) => return by_parts(thread, &path, last),
            Err(Elsewhere::Nowhere) => return None,
        }
    }
    None
}

/// Where something is that a thread has open, by its name in `/proc/THREAD`, such as `fd/3`. A file that has no name any more,
/// or another one than the kernel says, is given as the path of its descriptor.
pub(super) fn of_open(thread: i32, name: &str) -> Option<PathBuf> {
    let link = PathBuf::from(format!("/proc/{thread}/{name}"));
    let path = fs::read_link(&link).ok().filter(|path| path.is_absolute())?;
    Some(if is_same_file(&link, &path) { path } else { link })
}

enum Elsewhere {
    /// The path ends with a link that leads to something that is not there yet.
    Link(PathBuf),
    /// It leads through what the kernel says of a process.
    Magic,
    Nowhere,
}

impl From<Errno> for Elsewhere {
    fn from(error: Errno) -> Self {
        match error {
            Errno::LOOP | Errno::NOSYS => Self::Magic,
            _ => Self::Nowhere,
        }
    }
}

fn by_kernel(path: &Path, last: LastLink) -> Result<PathBuf, Elsewhere> {
    if path.starts_with("/proc") {
        return Err(Elsewhere::Magic);
    }
    let Some(name) = path.file_name().filter(|_| !ends_with_dots(path)) else {
        // The folder itself, named with dots at its end.
        return path_of(&open(path)?);
    };
    if last == LastLink::Followed {
        match open(path) {
            Ok(found) => return path_of(&found),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let folder = path_of(&open(path.parent().ok_or(Elsewhere::Nowhere)?)?)?;
    match fs::read_link(folder.join(name)) {
        Ok(target) if last == LastLink::Followed => Err(Elsewhere::Link(folder.join(target))),
        _ => Ok(folder.join(name)),
    }
}

/// Whether its last part is a dot or two: `Path` leaves out a single one.
fn ends_with_dots(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    [&b"."[..], b".."].contains(&bytes) || bytes.ends_with(b"/.") || bytes.ends_with(b"/..")
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
}

fn path_of(file: &OwnedFd) -> Result<PathBuf, Elsewhere> {
    match fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
        // What is said of us there is not said of the thread.
        Ok(path) if path.starts_with("/proc") => Err(Elsewhere::Magic),
        Ok(path) if path.is_absolute() => Ok(path),
        _ => Err(Elsewhere::Nowhere),
    }
}

/// The same, part by part, as the thread sees it.
fn by_parts(thread: i32, path: &Path, last: LastLink) -> Option<PathBuf> {
    let mut left: VecDeque<OsString> = parts(path).collect();
    let (mut place, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = left.pop_front() {
        if part == ".." {
            place.pop();
            continue;
        }
        let next = place.join(&part);
        let is_last = left.is_empty();
        if is_last && last == LastLink::Itself {
            return Some(next);
        }
        let target = match said_of_thread(thread, &place, &part) {
            Some(said) => Ok(said),
            // Nobody may look where that of another user is, and it is there all the same.
            None if part == "root" && is_of_process(&place, &part) => Ok(PathBuf::from("/")),
            None => fs::read_link(&next),
        };
        match target {
            Ok(target) if is_of_process(&place, &part) => {
                if !target.is_absolute() {
                    return None;
                }
                // The root of a process that sees other mounts has the same name, and what is tried there is told by it.
                // Otherwise this is a file that has lost its name, or one that this name is not of any more.
                if part != "root" && !is_same_file(&next, &target) {
                    return is_last.then_some(next);
                }
                place = target;
            }
            Ok(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                if target.is_absolute() {
                    place = PathBuf::from("/");
                }
                for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                    left.push_front(part);
                }
            }
            Err(error) => match error.kind() {
                // Not a link.
                std::io::ErrorKind::InvalidInput => place = next,
                std::io::ErrorKind::NotFound if is_last => return Some(next),
                _ => return None,
            },
        }
    }
    Some(place)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

/// Where those links lead that mean something else to each thread.
fn said_of_thread(thread: i32, folder: &Path, name: &OsStr) -> Option<PathBuf> {
    if folder != Path::new("/proc") {
        return None;
    }
    match name.to_str()? {
        // What is said of a thread is there by its number too, though nobody lists it.
        "self" | "thread-self" => Some(PathBuf::from(thread.to_string())),
        _ => None,
    }
}

/// Whether a link is one that the kernel makes up for a process: what it leads to is no text that is looked up.
fn is_of_process(folder: &Path, name: &OsStr) -> bool {
    let Ok(inside) = folder.strip_prefix("/proc") else { return false };
    let parts: Vec<&OsStr> = inside.iter().collect();
    let is_number = |part: &OsStr| part.to_str().is_some_and(|text| text.parse::<u32>().is_ok());
    let parts = match &parts[..] {
        [process, task, thread, rest @ ..] if is_number(process) && *task == "task" && is_number(thread) => rest,
        [process, rest @ ..] if is_number(process) => rest,
        _ => return false,
    };
    match parts {
        [] => ["cwd", "root", "exe"].iter().any(|known| name == *known),
        [only] => (*only == "fd" || *only == "map_files") && name.to_str().is_some(),
        _ => false,
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let id = |data: fs::Metadata| (data.dev(), data.ino());
    fs::metadata(one).is_ok_and(|one| fs::symlink_metadata(other).is_ok_and(|other| id(one) == id(other)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_means_what_it_means_to_the_thread_that_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/file"), "").unwrap();
        for (target, link) in [("d", "to-d"), ("d/new", "dangling"), ("dangling", "twice"), ("loop", "loop")] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink("/proc/self/cwd", root.join("here")).unwrap();
        let open = fs::File::open(root.join("d")).unwrap();
        let file = fs::File::open(root.join("d/file")).unwrap();
        let gone = fs::File::create(root.join("gone")).unwrap();
        fs::remove_file(root.join("gone")).unwrap();
        // A file that has the name which the kernel shows of the one that is gone.
        fs::write(root.join("gone (deleted)"), "").unwrap();
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let own = |rest: &str| format!("/proc/self/{rest}");
        let at = |name: &str| Some(root.join(name));
        let inside = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let here = std::env::current_dir().unwrap();
        let rows = [
            (inside("d/file"), LastLink::Itself, at("d/file")),
            (inside("to-d/file"), LastLink::Itself, at("d/file")),
            (inside("to-d"), LastLink::Itself, at("to-d")),
            (inside("to-d"), LastLink::Followed, at("d")),
            (inside("to-d/."), LastLink::Itself, at("d")),
            (inside("to-d/.."), LastLink::Itself, Some(root.clone())),
            (inside("d/../x"), LastLink::Followed, at("x")),
            (inside("dangling"), LastLink::Followed, at("d/new")),
            (inside("twice"), LastLink::Followed, at("d/new")),
            (inside("twice"), LastLink::Itself, at("twice")),
            (inside("loop"), LastLink::Followed, None),
            (inside("nowhere/x"), LastLink::Itself, None),
            (own("cwd/x"), LastLink::Itself, Some(here.join("x"))),
            (inside("here/x"), LastLink::Itself, Some(here.join("x"))),
            (own(&format!("root{}", inside("to-d/file"))), LastLink::Itself, at("d/file")),
            (own(&format!("fd/{}/file", open.as_raw_fd())), LastLink::Itself, at("d/file")),
            (own(&format!("fd/{}/../x", open.as_raw_fd())), LastLink::Followed, at("x")),
            (own(&format!("fd/{}", file.as_raw_fd())), LastLink::Followed, at("d/file")),
            (format!("/dev/fd/{}", file.as_raw_fd()), LastLink::Followed, at("d/file")),
            (own(&format!("task/{thread}/fd/{}", file.as_raw_fd())), LastLink::Followed, at("d/file")),
            // A descriptor that nobody has open.
            (own("fd/987654"), LastLink::Followed, Some(PathBuf::from(format!("/proc/{thread}/fd/987654")))),
            ("/dev/fd/987654".to_owned(), LastLink::Followed, Some(PathBuf::from(format!("/proc/{thread}/fd/987654")))),
            (
                own(&format!("fd/{}", gone.as_raw_fd())),
                LastLink::Followed,
                Some(PathBuf::from(format!("/proc/{thread}/fd/{}", gone.as_raw_fd()))),
            ),
        ];
        for (path, last, expected) in rows {
            assert_eq!(place(thread, Path::new(&path), last), expected, "{path} {last:?}");
        }
    }
}
