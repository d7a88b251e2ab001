//! Snapshots of btrfs subvolumes.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::ioctl::opcode;

/// What the ioctls of btrfs are told apart from others by.
const MAGIC: u8 = 0x94;
/// A snapshot that nobody can write to.
const READ_ONLY: u64 = 1 << 1;
/// What a file system of this kind calls itself.
const FILE_SYSTEM: u64 = 0x9123_683e;
/// The number of the folder at the top of every subvolume.
const TOP: u64 = 256;

/// `struct btrfs_ioctl_vol_args_v2`
#[repr(C)]
struct NewSnapshot {
    source: i64,
    transaction: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; 4040],
}

/// `struct btrfs_ioctl_vol_args`
#[repr(C)]
struct Name {
    unused: i64,
    name: [u8; 4088],
}

/// Whether a folder is the top of a subvolume.
pub(crate) fn is_subvolume(folder: &File) -> bool {
    let is_btrfs = rustix::fs::fstatfs(folder).is_ok_and(|found| u64::try_from(found.f_type).ok() == Some(FILE_SYSTEM));
    is_btrfs && rustix::fs::fstat(folder).is_ok_and(|found| found.st_ino == TOP)
}

/// Makes a snapshot of a subvolume in `folder` that nobody can write to.
pub(crate) fn snapshot(source: &File, folder: &File, name: &str) -> io::Result<()> {
    let mut wanted = NewSnapshot {
        source: source.as_raw_fd().into(),
        transaction: 0,
        flags: READ_ONLY,
        unused: [0; 4],
        name: [0; 4040],
    };
    fill(&mut wanted.name, name)?;
    call(folder, opcode::write::<NewSnapshot>(MAGIC, 23), &wanted)
}

/// Removes a snapshot with everything in it. That is for root alone, unless the file system is mounted otherwise.
pub(crate) fn remove(folder: &File, name: &str) -> io::Result<()> {
    let mut wanted = Name { unused: 0, name: [0; 4088] };
    fill(&mut wanted.name, name)?;
    call(folder, opcode::write::<Name>(MAGIC, 15), &wanted)
}

/// Lets its owner write to a snapshot, and so empty it.
pub(crate) fn make_writable(snapshot: &File) -> io::Result<()> {
    call(snapshot, opcode::write::<u64>(MAGIC, 26), &0u64)
}

fn fill(place: &mut [u8], name: &str) -> io::Result<()> {
    let is_name = !name.is_empty() && name.len() < place.len() && !name.contains(['/', '\0']);
    if !is_name {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    place[..name.len()].copy_from_slice(name.as_bytes());
    Ok(())
}

fn call<Argument>(folder: &File, number: rustix::ioctl::Opcode, argument: &Argument) -> io::Result<()> {
    let folder: BorrowedFd<'_> = std::os::fd::AsFd::as_fd(folder);
    // SAFETY: the number says that the kernel reads an argument of this very type, of which every byte is set.
    let result = unsafe { libc::ioctl(folder.as_raw_fd(), number as _, std::ptr::from_ref(argument)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_kernel() {
        assert_eq!(opcode::write::<NewSnapshot>(MAGIC, 23) & 0xffff_ffff, 0x5000_9417);
        assert_eq!(opcode::write::<Name>(MAGIC, 15) & 0xffff_ffff, 0x5000_940f);
        assert_eq!(opcode::write::<u64>(MAGIC, 26) & 0xffff_ffff, 0x4008_941a);
    }

    #[test]
    fn what_is_no_subvolume_is_said_to_be_none() {
        assert!(!is_subvolume(&File::open("/proc").unwrap()));
    }
}
