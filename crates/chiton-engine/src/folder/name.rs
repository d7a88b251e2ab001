//! Names of folders, given so that of two who want the same one of them gets it.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

/// What an exchange has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchanged {
    /// Each has the other's name.
    Both,
    /// There was only one, which has the name it was meant to get.
    One,
}

/// Gives the folder `new` the name `old`, and the one that has it the name `new`, at once.
pub(super) fn exchange(new: &Path, old: &Path) -> io::Result<Exchanged> {
    match rustix::fs::renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(Exchanged::Both),
        Err(Errno::NOENT) => rename_if_free(new, old).map(|()| Exchanged::One),
        // A file system that cannot do it, as NFS.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::remove_dir_all(old)?;
            rename_if_free(new, old).map(|()| Exchanged::One)
        }
        Err(error) => Err(error.into()),
    }
}

/// Gives the folder `from` the name `to`, which nobody may have.
pub(super) fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => rename_over_own(from, to),
        renamed => Ok(renamed?),
    }
}

/// The same for a file system that cannot do it at once: whoever makes the folder `to` may put another one in its place,
/// as long as it is empty.
fn rename_over_own(from: &Path, to: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(to)?;
    fs::rename(from, to).inspect_err(|_| drop(fs::remove_dir(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gets_only_a_name_that_is_free_also_where_the_file_system_cannot_see_to_that() {
        let parent = tempfile::tempdir().unwrap();
        for rename in [rename_if_free, rename_over_own] {
            let [from, to] = ["from", "to"].map(|name| parent.path().join(name));
            fs::create_dir(&from).unwrap();
            fs::write(from.join("file"), "mine").unwrap();
            rename(&from, &to).unwrap();
            assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "mine");
            fs::create_dir(&from).unwrap();
            assert_eq!(rename(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(to.join("file")).unwrap(), "mine");
            fs::remove_dir_all(&to).unwrap();
            fs::remove_dir(&from).unwrap();
            assert!(rename(&from, &to).is_err() && !to.exists(), "what is gone leaves nothing");
        }
    }
}
