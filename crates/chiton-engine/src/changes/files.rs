//! Copies of files, and making one what another was.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, SeekFrom, Timespec, Timestamps, Uid};

use super::record::{self, FileFacts, FileKind, Former, Kept};

/// Copies the content of a file, with the holes that it has.
pub(crate) fn copy_content(from: &File, to: &File, bytes: u64) -> io::Result<()> {
    let mut place = 0;
    while place < bytes {
        // A file system that knows no holes says that all of it is data.
        let data = match rustix::fs::seek(from, SeekFrom::Data(place)) {
            Ok(data) => data,
            Err(rustix::io::Errno::NXIO) => break,
            Err(_) => place,
        };
        let end = rustix::fs::seek(from, SeekFrom::Hole(data)).unwrap_or(bytes).max(data + 1);
        copy_range(from, to, data, end)?;
        place = end;
    }
    Ok(rustix::fs::ftruncate(to, bytes)?)
}

fn copy_range(from: &File, to: &File, begin: u64, end: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;

    let (mut here, mut there) = (begin, begin);
    while here < end {
        let wanted = usize::try_from((end - here).min(1 << 30)).unwrap_or(1 << 30);
        match rustix::fs::copy_file_range(from, Some(&mut here), to, Some(&mut there), wanted) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            // Two file systems, or a kernel that cannot.
            Err(_) => {
                let mut bytes = vec![0; wanted.min(1 << 20)];
                let count = from.read_at(&mut bytes, here)?;
                if count == 0 {
                    return Ok(());
                }
                to.write_all_at(&bytes[..count], there)?;
                (here, there) = (here + count as u64, there + count as u64);
            }
        }
    }
    Ok(())
}

/// Whether a file has the same content as a copy that is as long.
pub(super) fn has_content(path: &Path, copy: &File) -> io::Result<bool> {
    use std::os::unix::fs::FileExt;

    let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?);
    let (mut one, mut other, mut place) = (vec![0; 64 << 10], vec![0; 64 << 10], 0);
    loop {
        let count = file.read_at(&mut one, place)?;
        if count == 0 {
            return Ok(copy.read_at(&mut other[..1], place)? == 0);
        }
        if copy.read_exact_at(&mut other[..count], place).is_err() || one[..count] != other[..count] {
            return Ok(false);
        }
        place += count as u64;
    }
}

/// Opens a file that its owner may have made read-only.
pub(super) fn open_to_write(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().write(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path);
    open().or_else(|error| {
        let mode = fs::symlink_metadata(path)?.permissions().mode();
        fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o200)).map_err(|_| error)?;
        open()
    })
}

/// Makes a copy of something that is kept, with everything that is known about it.
pub(super) fn copy_whole(kept: &Path, path: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(kept)?;
    if data.file_type().is_symlink() {
        return symlink(fs::read_link(kept)?, path);
    }
    let from = File::open(kept)?;
    let to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    if rustix::fs::ioctl_ficlone(&to, &from).is_err() {
        copy_content(&from, &to, data.len())?;
    }
    drop(to);
    let facts = FileFacts::at(kept).ok_or(io::ErrorKind::NotFound)?;
    let former = Former { facts, attributes: record::attributes(kept), kept: Kept::Facts };
    FileFacts::at(path).map_or(Ok(()), |is| apply(path, &former, &is))
}

/// Gives what is at a path the owner, the mode, the attributes and the times of what was there.
pub(super) fn apply(path: &Path, was: &Former, is: &FileFacts) -> io::Result<()> {
    let wanted = &was.facts;
    let is_link = wanted.kind == FileKind::Link;
    if (is.user, is.group) != (wanted.user, wanted.group) {
        let (user, group) = (Uid::from_raw(wanted.user), Gid::from_raw(wanted.group));
        rustix::fs::chownat(CWD, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    record::set_attributes(path, &was.attributes);
    // Behind the others: a new owner takes bits of it away.
    if !is_link && FileFacts::at(path).is_some_and(|now| now.mode != wanted.mode) {
        rustix::fs::chmod(path, Mode::from_raw_mode(wanted.mode))?;
    }
    let time = |(seconds, nanoseconds): (i64, u32)| Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
    let times = Timestamps { last_access: time(wanted.accessed), last_modification: time(wanted.modified) };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}
