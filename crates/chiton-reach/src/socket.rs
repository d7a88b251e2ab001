//! Where the host of a user listens: a socket in the state directory that nobody else can enter.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::VERSION;

/// The folder of sockets and locks, mode 0700.
pub(crate) fn folder(state: &Path) -> io::Result<PathBuf> {
    let folder = state.join("host");
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let data = fs::symlink_metadata(&folder)?;
    if !data.is_dir() || data.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!("{} is not a directory of this user", folder.display())));
    }
    if data.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(folder)
}

/// The name of the host here. A state directory may be on a disk that several machines share, and a job of a cluster has a
/// host of its own, which ends with the job.
pub(crate) fn name(job: Option<&str>) -> String {
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let plain =
        |text: &str| text.trim().chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').collect::<String>();
    let job = job.map(|job| format!(".job{}", plain(job))).unwrap_or_default();
    format!("{}{job}.v{VERSION}", plain(&machine))
}

/// A path of this socket that is short enough for any socket, and the folder it leads through.
fn short(folder: &Path, name: &str) -> io::Result<(File, PathBuf)> {
    let open = File::open(folder)?;
    let path = format!("/proc/self/fd/{}/{name}.sock", open.as_raw_fd()).into();
    Ok((open, path))
}

pub(crate) fn connect(folder: &Path, name: &str) -> io::Result<UnixStream> {
    let (_open, path) = short(folder, name)?;
    UnixStream::connect(path)
}

/// Listens, in the place of a host that is gone. Whoever calls this holds the lock.
pub(crate) fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    let (_open, path) = short(folder, name)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => UnixListener::bind(path),
    }
}

/// Takes the lock of the host, which ends with the process.
pub(crate) fn lock(folder: &Path, name: &str) -> io::Result<Option<File>> {
    let file =
        fs::OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(format!("{name}.lock")))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn remove(folder: &Path, name: &str) {
    let _ = fs::remove_file(folder.join(format!("{name}.sock")));
}
