//! What a restart must not change, in a folder of the state directory that is its owner's alone.
//!
//! - `key`: what a cookie has to say. It stays, so that an open page goes on.
//! - `port`: where it was served the last time.
//! - `link.HASH`: a link that nobody has used. Whoever uses it removes the file, and of several that try, one can.
//! - `serving`: locked by the process that serves.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// A link that nobody used for so long is gone.
const LINK_AGE: Duration = Duration::from_hours(24);
/// Characters of a key: 256 bits.
const KEY: usize = 64;

/// Why something cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// The folder cannot be used.
    #[error("what the page needs cannot be kept in {}: {error}", path.display())]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Others can read what is in it.
    #[error("{} can be read by others: make it yours alone (chmod go-rwx)", .0.display())]
    Open(PathBuf),
    /// The key is not one.
    #[error("{} is not a key; remove it for a new one, and open the page anew", .0.display())]
    NoKey(PathBuf),
}

pub(super) struct Kept {
    folder: PathBuf,
    key: String,
    /// Held as long as this process serves.
    _serving: Option<File>,
}

/// Who serves the page of a state directory.
pub(super) enum Served {
    /// This process, from now on.
    Here(Kept),
    /// Another one.
    Elsewhere(Kept),
}

impl Kept {
    pub(super) fn open(state_directory: &Path) -> Result<Served, KeptError> {
        let folder = state_directory.join("ui");
        let unusable = |error| KeptError::Unusable { path: folder.clone(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unusable)?;
        check_owner(&folder)?;
        let key = read_or_make_key(&folder.join("key"))?;
        let serving = private(OpenOptions::new().write(true).create(true).truncate(false))
            .open(folder.join("serving"))
            .map_err(unusable)?;
        if serving.try_lock().is_err() {
            return Ok(Served::Elsewhere(Self { folder, key, _serving: None }));
        }
        let kept = Self { folder, key, _serving: Some(serving) };
        kept.remove_old_links();
        Ok(Served::Here(kept))
    }

    /// What a cookie has to say.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Where the page is served, or was the last time.
    pub(super) fn port(&self) -> Option<u16> {
        fs::read_to_string(self.folder.join("port")).ok()?.trim().parse().ok().filter(|port| *port > 0)
    }

    pub(super) fn note_port(&self, port: u16) -> Result<(), KeptError> {
        self.write("port", format!("{port}\n").as_bytes())
    }

    /// A link that opens the page once.
    pub(super) fn link(&self) -> Result<String, KeptError> {
        let key = random_key();
        self.write(&link_name(&key), b"")?;
        Ok(format!("http://127.0.0.1:{}/?key={key}", self.port().unwrap_or(0)))
    }

    /// Uses a link up. Whether it was there.
    pub(super) fn use_link(&self, key: &str) -> bool {
        // The name is a hash, so that neither a listing nor the time of a search tells anything about a key.
        key.len() == KEY && fs::remove_file(self.folder.join(link_name(key))).is_ok()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), KeptError> {
        let path = self.folder.join(name);
        let opened = private(OpenOptions::new().write(true).create(true).truncate(true)).open(&path);
        let written = opened.and_then(|mut file| file.write_all(bytes));
        written.map_err(|error| KeptError::Unusable { path, error })
    }

    fn remove_old_links(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_link = entry.file_name().to_string_lossy().starts_with("link.");
            let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
            if is_link && age.is_some_and(|age| age > LINK_AGE) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

fn link_name(key: &str) -> String {
    format!("link.{}", HEXLOWER.encode(&Sha256::digest(key.as_bytes())))
}

/// As many random digits as nobody can guess.
pub(super) fn random_key() -> String {
    let mut bytes = [0; KEY / 2];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    HEXLOWER.encode(&bytes)
}

fn read_or_make_key(path: &Path) -> Result<String, KeptError> {
    let unusable = |error| KeptError::Unusable { path: path.to_owned(), error };
    match private(OpenOptions::new().write(true).create_new(true)).open(path) {
        Ok(mut file) => {
            let key = random_key();
            file.write_all(key.as_bytes()).map_err(unusable)?;
            Ok(key)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check_owner(path)?;
            let mut key = String::new();
            File::open(path).and_then(|mut file| file.read_to_string(&mut key)).map_err(unusable)?;
            let is_key = key.len() == KEY && key.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_key { Ok(key) } else { Err(KeptError::NoKey(path.to_owned())) }
        }
        Err(error) => Err(unusable(error)),
    }
}

fn check_owner(path: &Path) -> Result<(), KeptError> {
    let found = fs::symlink_metadata(path).map_err(|error| KeptError::Unusable { path: path.to_owned(), error })?;
    let open = found.mode() & 0o077;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw() && open == 0;
    if is_ours && !found.is_symlink() { Ok(()) } else { Err(KeptError::Open(path.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn here(state: &Path) -> Kept {
        match Kept::open(state).unwrap() {
            Served::Here(kept) => kept,
            Served::Elsewhere(_) => panic!("nobody else serves here"),
        }
    }

    #[test]
    fn a_link_opens_the_page_once_also_after_a_restart() {
        let state = tempfile::tempdir().unwrap();
        let kept = here(state.path());
        kept.note_port(4321).unwrap();
        let (one, other) = (kept.link().unwrap(), kept.link().unwrap());
        let key = |link: &str| link.strip_prefix("http://127.0.0.1:4321/?key=").unwrap().to_owned();
        let cookie = kept.key().to_owned();
        assert!(kept.use_link(&key(&one)));
        assert!(!kept.use_link(&key(&one)), "it was used");
        drop(kept);

        let kept = here(state.path());
        assert_eq!((kept.key(), kept.port()), (cookie.as_str(), Some(4321)));
        assert!(kept.use_link(&key(&other)));
        for wrong in ["", "../key", &"0".repeat(KEY)] {
            assert!(!kept.use_link(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_second_one_finds_the_first_and_makes_links_to_it() {
        let state = tempfile::tempdir().unwrap();
        let first = here(state.path());
        first.note_port(4321).unwrap();
        let Served::Elsewhere(second) = Kept::open(state.path()).unwrap() else { panic!("the first one serves") };
        let link = second.link().unwrap();
        assert!(first.use_link(link.rsplit('=').next().unwrap()));
        drop(first);
        assert!(matches!(Kept::open(state.path()).unwrap(), Served::Here(_)));
    }

    #[test]
    fn what_others_can_read_is_not_used() {
        let state = tempfile::tempdir().unwrap();
        drop(here(state.path()));
        let folder = state.path().join("ui");
        for name in fs::read_dir(&folder).unwrap() {
            assert_eq!(name.unwrap().metadata().unwrap().mode() & 0o077, 0);
        }
        fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Kept::open(state.path()), Err(KeptError::Open(_))));
        fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(folder.join("key"), "short").unwrap();
        assert!(matches!(Kept::open(state.path()), Err(KeptError::NoKey(_))));
    }
}
