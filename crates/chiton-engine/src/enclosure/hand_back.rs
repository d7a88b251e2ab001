//! The folder in which the shells of a sandbox hand their state back: held by its engine, and removed by whoever is last.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};

use super::made;

/// Makes a folder and holds it. Somebody who takes it for one of an engine that was killed may be quicker.
pub(super) fn make(path: &Path) -> io::Result<OwnedFd> {
    const TRIES: usize = 10;
    for _ in 1..TRIES {
        fs::create_dir_all(path)?;
        if let Some(held) = hold(path).ok().filter(|_| path.is_dir()) {
            return Ok(held);
        }
    }
    hold(path)
}

/// Holds the folder in which shells hand their state back, so that no keeper takes it along. The kernel lets go of it
/// when this process ends.
fn hold(path: &Path) -> io::Result<OwnedFd> {
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockShared)?;
    Ok(folder)
}

/// Removes the folder in which keepers have theirs, unless somebody still holds it or it is not empty.
fn leave(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    // Who comes in the same moment must not take us for the engine.
    drop(folder);
    made::leave(path);
    Ok(())
}

/// The same for a keeper that ends. Its engine may be about to end as well, and lets go of things one after the other.
pub(crate) fn leave_at_the_end(path: &Path) {
    const TRIES: usize = 6;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 0..TRIES {
        match leave(path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            _ => return,
        }
    }
}

/// Does for engines that were killed what they would have done: nobody holds their folders.
pub(super) fn leave_those_of_the_killed(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    entries.flatten().for_each(|entry| drop(leave(&entry.path())));
}
