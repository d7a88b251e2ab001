//! The directory that a command runs in: found and held open before anybody judges the command, and the same one when
//! it starts.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, Mode, OFlags};

use crate::error::SessionError;
use crate::run::DirectoryId;
use crate::state::ShellState;

/// Where a command stands.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// The directory as the shell names it.
    pub(crate) path: PathBuf,
    /// The same without symbolic links, where the system can name it.
    pub(crate) real: PathBuf,
    /// The directory itself, whatever has that name later.
    pub(crate) id: DirectoryId,
    /// Keeps the id from being given to another directory.
    _held: Arc<OwnedFd>,
}

impl Standing {
    /// The directory of a call: the one that it names, else that of the session.
    pub(crate) fn of_call(state: &ShellState, given: Option<&Path>) -> Result<Self, SessionError> {
        match given {
            Some(given) => Self::given(&state.cwd, given),
            None => Self::own(state),
        }
    }

    /// A directory that a call names.
    fn given(current: &Path, given: &Path) -> Result<Self, SessionError> {
        let path = as_bash_names_it(&if given.is_absolute() { given.to_owned() } else { current.join(given) });
        match Self::at(path.clone()) {
            Ok(standing) => Ok(standing),
            Err(reason) if reason.kind() == io::ErrorKind::NotADirectory => Err(SessionError::NotADirectory(path)),
            Err(reason) => Err(SessionError::NoSuchDirectory { path, reason }),
        }
    }

    /// The session's own directory. One that is gone is not replaced by another: the command was meant for this one.
    fn own(state: &ShellState) -> Result<Self, SessionError> {
        let (path, was) = (state.cwd.clone(), state.real_cwd.clone());
        let standing = Self::at(path.clone()).map_err(|reason| SessionError::DirectoryGone {
            nearest: nearest(&path, &was),
            path: path.clone(),
            reason,
        })?;
        if !was.as_os_str().is_empty() && was != standing.real {
            let (nearest, now) = (nearest(&path, &was), standing.real);
            return Err(SessionError::DirectorySwapped { path, was, now, nearest });
        }
        Ok(standing)
    }

    /// A directory that a command can be started in.
    pub(super) fn at(path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = rustix::fs::open(&path, flags, Mode::empty())?;
        rustix::fs::access(&path, Access::EXEC_OK)?;
        let data = rustix::fs::fstat(&held)?;
        let real = real_path(&held).unwrap_or_else(|_| path.clone());
        Ok(Self { path, real, id: (data.st_dev, data.st_ino), _held: Arc::new(held) })
    }
}

/// The name of an open directory, without symbolic links.
fn real_path(directory: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// The nearest directory above `path` that can be entered and is where it was; `real` is where `path` was, where that is
/// known. One whose name leads elsewhere by now is not what the session means.
fn nearest(path: &Path, real: &Path) -> PathBuf {
    let (mut below, mut was) = (path, Some(real).filter(|real| !real.as_os_str().is_empty()));
    while let Some(above) = below.parent() {
        // Where both end in the same name, that name was not a link: what was above one was above the other.
        was = was.filter(|was| was.file_name() == below.file_name()).and_then(Path::parent);
        if Standing::at(above.to_owned()).is_ok_and(|standing| standing.real == was.unwrap_or(above)) {
            return above.to_owned();
        }
        below = above;
    }
    PathBuf::from("/")
}

/// A path without `.` and `..`, taken by their names as `cd` does.
fn as_bash_names_it(path: &Path) -> PathBuf {
    let mut named = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(named.pop()),
            other => named.push(other),
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn state(cwd: &Path, real: &Path) -> ShellState {
        let mut state = ShellState::fresh(cwd, [], 0o022);
        real.clone_into(&mut state.real_cwd);
        state
    }

    #[test]
    fn a_directory_that_is_gone_is_not_replaced_by_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let gone = root.join("p/build/deep");
        fs::create_dir(root.join("p")).unwrap();
        let error = Standing::of_call(&state(&gone, &gone), None).unwrap_err();
        let SessionError::DirectoryGone { path, nearest, .. } = &error else { panic!("{error}") };
        assert_eq!((path, nearest), (&gone, &root.join("p")));
        assert!(error.to_string().contains(&format!("is in {} now", root.join("p").display())), "{error}");
    }

    #[test]
    fn the_nearest_directory_is_one_that_leads_where_it_did() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/a/b")).unwrap();
        fs::create_dir_all(root.join("other/a/b")).unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        let (path, real) = (root.join("link/a/b/c"), root.join("real/a/b/c"));
        assert_eq!(nearest(&path, &real), root.join("link/a/b"), "a link that the session went through is fine");
        assert_eq!(nearest(&path, Path::new("")), root, "unless nobody knows where it led");

        fs::remove_file(root.join("link")).unwrap();
        symlink(root.join("other"), root.join("link")).unwrap();
        assert_eq!(nearest(&path, &real), root, "a link that leads elsewhere by now is not");
    }

    #[test]
    fn a_directory_that_became_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (here, other) = (root.join("here"), root.join("other"));
        fs::create_dir(&here).unwrap();
        fs::create_dir(&other).unwrap();
        let state = state(&here, &here);
        assert!(Standing::of_call(&state, None).is_ok());
        fs::remove_dir(&here).unwrap();
        symlink(&other, &here).unwrap();
        let error = Standing::of_call(&state, None).unwrap_err();
        assert!(matches!(error, SessionError::DirectorySwapped { .. }), "{error}");
        // Made anew under its old name it is what the session means.
        fs::remove_file(&here).unwrap();
        fs::create_dir(&here).unwrap();
        assert!(Standing::of_call(&state, None).is_ok());
    }

    #[test]
    fn a_link_that_the_session_went_through_itself_is_fine() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        let standing = Standing::of_call(&state(&root.join("link"), &root.join("real")), None).unwrap();
        assert_eq!((standing.path, standing.real), (root.join("link"), root.join("real")));
    }
}
