//! Snapshots of btrfs subvolumes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// What the ioctls of btrfs are told apart from others by.
const MAGIC: u8 = 0x94;
/// A snapshot that nobody can write to.
const READ_ONLY: u64 = 1 << 1;
/// What a file system of this kind calls itself.
const FILE_SYSTEM: u64 = 0x9123_683e;
/// The number of the folder at the top of every subvolume.
const TOP: u64 = 256;

const SNAPSHOT: Opcode = opcode::write::<NewSnapshot>(MAGIC, 23);
const REMOVE: Opcode = opcode::write::<Name>(MAGIC, 15);
const SET_FLAGS: Opcode = opcode::write::<u64>(MAGIC, 26);

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
    call::<SNAPSHOT, _>(folder, wanted)
}

/// Removes a snapshot with everything in it. That is for root alone, unless the file system is mounted otherwise.
pub(crate) fn remove(folder: &File, name: &str) -> io::Result<()> {
    let mut wanted = Name { unused: 0, name: [0; 4088] };
    fill(&mut wanted.name, name)?;
    call::<REMOVE, _>(folder, wanted)
}

/// Lets its owner write to a snapshot, and so empty it.
pub(crate) fn make_writable(snapshot: &File) -> io::Result<()> {
    call::<SET_FLAGS, _>(snapshot, 0u64)
}

fn fill(place: &mut [u8], name: &str) -> io::Result<()> {
    let is_name = !name.is_empty() && name.len() < place.len() && !name.contains(['/', '\0']);
    if !is_name {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    place[..name.len()].copy_from_slice(name.as_bytes());
    Ok(())
}

fn call<const NUMBER: Opcode, Argument>(folder: &File, argument: Argument) -> io::Result<()> {
    // SAFETY: each number was made from the type of its argument, of which the kernel only reads, and every byte is set.
    Ok(unsafe { ioctl(folder, Setter::<NUMBER, Argument>::new(argument)) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_kernel() {
        assert_eq!(SNAPSHOT, 0x5000_9417);
        assert_eq!(REMOVE, 0x5000_940f);
        assert_eq!(SET_FLAGS, 0x4008_941a);
    }

    #[test]
    fn what_is_no_subvolume_is_said_to_be_none() {
        assert!(!is_subvolume(&File::open("/proc").unwrap()));
    }
}
