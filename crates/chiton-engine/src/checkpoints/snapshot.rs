//! Where a workspace is a subvolume of btrfs, all of it as it was.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::folder::make_own;
use crate::sys::btrfs;

/// Takes a snapshot of a workspace. `None` where it is not a subvolume.
pub(super) fn take(root: &Path, state_directory: &Path, name: &str) -> Option<io::Result<PathBuf>> {
    let source = File::open(root).ok().filter(btrfs::is_subvolume)?;
    let mut result = Err(io::ErrorKind::Unsupported.into());
    for place in places(root, state_directory) {
        result = in_folder(&source, &place, name);
        if result.is_ok() {
            break;
        }
        // Only where nothing else is in it.
        let _ = fs::remove_dir(place);
    }
    Some(result)
}

/// Where a snapshot may be: on the same file system, which the first of these need not be.
fn places(root: &Path, state_directory: &Path) -> impl Iterator<Item = PathBuf> {
    let own = state_directory.join("snapshots");
    let beside = format!(".chiton-{}", rustix::process::geteuid().as_raw());
    [own].into_iter().chain(root.ancestors().skip(1).map(move |folder| folder.join(&beside)).take(2))
}

fn in_folder(source: &File, folder: &Path, name: &str) -> io::Result<PathBuf> {
    make_own(folder)?;
    btrfs::snapshot(source, &File::open(folder)?, name)?;
    Ok(folder.join(name))
}

/// Removes a snapshot.
pub(super) fn remove(snapshot: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (snapshot.parent(), snapshot.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    let Ok(handle) = File::open(snapshot) else { return Ok(()) };
    if !btrfs::is_subvolume(&handle) {
        return Ok(());
    }
    // Whoever is not root may remove what is in it, once it can be written to.
    btrfs::remove(&File::open(folder)?, name).or_else(|_| {
        btrfs::make_writable(&handle)?;
        fs::remove_dir_all(snapshot)
    })?;
    let _ = fs::remove_dir(folder);
    Ok(())
}
