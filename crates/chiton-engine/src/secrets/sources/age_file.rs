//! Secrets in a file that is encrypted with age, the default.
//!
//! In a folder of mode 0700: `identity`, the key, made at first use (or `identity.age`, the key under a passphrase);
//! `secrets.age`, all secrets; `blobs/ID.age`, one file for each `{{decrypt:ID}}`. The age program opens all of them:
//! `age -d -i identity secrets.age`.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::bytes::{ByteString, encode_hex};
use crate::folder::make_own;
use crate::lock::Lock;
use crate::secrets::source::{SecretSource, SourceError};
use chiton_redact::SecretValue;
use chiton_redact::reference::{Reference, ReferenceKind};
use chiton_redact::value::{Masking, Secret, ValueError, check};

use super::age::{self, Key, Reader};

/// Asks a person, or another source, for the passphrase. `None` if nobody knows it.
pub type Passphrase = Arc<dyn Fn() -> Option<SecretValue> + Send + Sync>;

/// A folder of encrypted secrets.
#[derive(Clone)]
pub struct AgeFile {
    folder: PathBuf,
    passphrase: Option<Passphrase>,
    /// Opening a key with a passphrase takes a second, on purpose, so it happens once.
    opened: Arc<Lock<Option<Key>>>,
}

/// Why the store cannot do something.
#[derive(Debug, thiserror::Error)]
pub enum AgeFileError {
    /// The file system reported an error.
    #[error("the store of secrets cannot be used: {}: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Not a name.
    #[error("'{0}' is not a name: use 1 to 64 letters, digits, '_', '.' or '-'")]
    BadName(String),
    /// Not a value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// No such secret.
    #[error("there is no secret named '{0}'; `chiton secret list` shows those that exist")]
    Unknown(String),
}

/// What is shown of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its reference.
    pub reference: Reference,
    /// When it was set.
    pub set_at: SystemTime,
    /// Whether it is hidden.
    pub masking: Masking,
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    version: u32,
    secrets: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    value: ByteString,
    #[serde(default)]
    shown: bool,
    set_at: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        std::mem::take(&mut self.value).into_vec().zeroize();
    }
}

const VERSION: u32 = 1;
const IDENTITY: &str = "identity";
const LOCKED_IDENTITY: &str = "identity.age";
const SECRETS: &str = "secrets.age";
const BLOBS: &str = "blobs";

impl AgeFile {
    /// The store in `folder`, which is made when the first secret is set.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), passphrase: None, opened: Arc::default() }
    }

    /// The same, where the key is under a passphrase.
    #[must_use]
    pub fn with_passphrase(mut self, passphrase: Passphrase) -> Self {
        self.passphrase = Some(passphrase);
        self
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether there is a key, and one under a passphrase.
    pub fn key(&self) -> Option<bool> {
        let has = |name: &str| self.folder.join(name).exists();
        if has(LOCKED_IDENTITY) { Some(true) } else { has(IDENTITY).then_some(false) }
    }

    /// Makes the key under a passphrase, if there is none yet.
    pub fn create_locked(&self, passphrase: &SecretValue) -> Result<(), AgeFileError> {
        self.prepare()?;
        let _lock = self.lock()?;
        let path = self.folder.join(LOCKED_IDENTITY);
        if self.key().is_some() {
            let error = io::Error::new(io::ErrorKind::AlreadyExists, "there is a key already");
            return Err(AgeFileError::Io { path, error });
        }
        let identity = self.make_key()?;
        self.write_locked(&identity, passphrase)?;
        *self.opened.lock() = Some(identity);
        Ok(())
    }

    /// Sets a secret, new or in place of another; says whether there was one.
    pub fn set(&self, name: &str, secret: &Secret) -> Result<bool, AgeFileError> {
        let reference = Reference::secret(name).ok_or_else(|| AgeFileError::BadName(name.to_owned()))?;
        check(&reference.name, secret)?;
        self.change(|content| {
            let entry =
                Entry { value: secret.value.expose().into(), shown: secret.masking == Masking::Shown, set_at: now() };
            Ok(content.secrets.insert(name.to_owned(), entry).is_some())
        })
    }

    /// Removes a secret, or what was encrypted under an id.
    pub fn remove(&self, name: &str) -> Result<(), AgeFileError> {
        let blob = self.blob_path(name)?;
        if blob.exists() {
            return fs::remove_file(&blob).map_err(|error| AgeFileError::Io { path: blob, error });
        }
        self.change(|content| match content.secrets.remove(name) {
            Some(_) => Ok(()),
            None => Err(AgeFileError::Unknown(name.to_owned())),
        })
    }

    /// All of them, without their values.
    pub fn list(&self) -> Result<Vec<Listed>, AgeFileError> {
        let content = self.read()?;
        let listed = content.secrets.iter().map(|(name, entry)| Listed {
            reference: Reference { kind: ReferenceKind::Secret, name: name.clone() },
            set_at: UNIX_EPOCH + std::time::Duration::from_secs(entry.set_at),
            masking: if entry.shown { Masking::Shown } else { Masking::Masked },
        });
        let mut all: Vec<Listed> = listed.collect();
        for id in self.blob_ids() {
            let written = fs::metadata(self.blob_path(&id)?).and_then(|data| data.modified());
            all.push(Listed {
                reference: Reference { kind: ReferenceKind::Decrypt, name: id },
                set_at: written.unwrap_or(UNIX_EPOCH),
                masking: Masking::Masked,
            });
        }
        Ok(all)
    }

    /// Encrypts a value by itself; returns the reference for it.
    pub fn encrypt(&self, value: &[u8]) -> Result<Reference, AgeFileError> {
        let mut random = [0u8; 8];
        let failed = |error: rustix::io::Errno| AgeFileError::Io { path: self.folder.clone(), error: error.into() };
        rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty()).map_err(failed)?;
        let id = encode_hex(&random);
        check(&id, &Secret::masked(value))?;
        self.prepare()?;
        let _lock = self.lock()?;
        let identity = self.identity()?;
        self.write_blob(&id, &identity, value)?;
        Ok(Reference { kind: ReferenceKind::Decrypt, name: id })
    }

    /// What was encrypted under this id.
    pub fn decrypt(&self, id: &str) -> Result<Option<Zeroizing<Vec<u8>>>, AgeFileError> {
        let path = self.blob_path(id)?;
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(AgeFileError::Io { path, error }),
        };
        let identity = self.identity()?;
        open(&path, &identity, &text).map(Some)
    }

    /// Makes a new key and encrypts everything with it. The old key opens nothing any more.
    pub fn rotate(&self) -> Result<usize, AgeFileError> {
        self.prepare()?;
        let _lock = self.lock()?;
        let old = self.identity()?;
        let content = self.read_with(&old)?;
        let mut blobs = Vec::new();
        for id in self.blob_ids() {
            let path = self.blob_path(&id)?;
            let text = fs::read(&path).map_err(|error| AgeFileError::Io { path: path.clone(), error })?;
            blobs.push((id, open(&path, &old, &text)?));
        }
        let new = self.make_key()?;
        // The new key stands beside the old one until everything is written, so that a crash loses neither.
        let beside = self.folder.join("identity.new");
        write_in_place(&beside, key_text(&new).as_bytes())?;
        for (id, value) in &blobs {
            self.write_blob(id, &new, value)?;
        }
        self.write_content(&content, &new)?;
        if self.key() == Some(true) {
            let passphrase = self.ask_passphrase()?;
            self.write_locked(&new, &passphrase)?;
        } else {
            write_in_place(&self.folder.join(IDENTITY), key_text(&new).as_bytes())?;
        }
        let _ = fs::remove_file(beside);
        *self.opened.lock() = Some(new);
        Ok(content.secrets.len() + blobs.len())
    }

    fn change<T>(&self, act: impl FnOnce(&mut Content) -> Result<T, AgeFileError>) -> Result<T, AgeFileError> {
        self.prepare()?;
        let _lock = self.lock()?;
        let identity = self.identity()?;
        let mut content = self.read_with(&identity)?;
        let done = act(&mut content)?;
        self.write_content(&content, &identity)?;
        Ok(done)
    }

    fn read(&self) -> Result<Content, AgeFileError> {
        if !self.folder.join(SECRETS).exists() {
            return Ok(Content::default());
        }
        self.read_with(&self.identity()?)
    }

    fn read_with(&self, identity: &Key) -> Result<Content, AgeFileError> {
        let path = self.folder.join(SECRETS);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::default()),
            Err(error) => return Err(AgeFileError::Io { path, error }),
        };
        let plain = open(&path, identity, &text)?;
        // Not the words of the JSON reader: they may quote a value.
        let content: Content = serde_json::from_slice(&plain).map_err(|_| AgeFileError::Damaged {
            path: path.clone(),
            reason: "it does not hold a list of secrets".to_owned(),
        })?;
        if content.version != VERSION {
            let reason = format!("it is of version {}, this program reads {VERSION}", content.version);
            return Err(AgeFileError::Damaged { path, reason });
        }
        Ok(content)
    }

    fn write_content(&self, content: &Content, identity: &Key) -> Result<(), AgeFileError> {
        let path = self.folder.join(SECRETS);
        let written = serde_json::to_vec(&Written { version: VERSION, secrets: &content.secrets }).map(Zeroizing::new);
        let plain = written.map_err(|error| AgeFileError::Io { path: path.clone(), error: error.into() })?;
        seal(&path, &Reader::Key(identity), &plain)
    }

    fn write_blob(&self, id: &str, identity: &Key, value: &[u8]) -> Result<(), AgeFileError> {
        let folder = self.folder.join(BLOBS);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|error| AgeFileError::Io { path: folder, error })?;
        seal(&self.blob_path(id)?, &Reader::Key(identity), value)
    }

    fn blob_path(&self, id: &str) -> Result<PathBuf, AgeFileError> {
        let known = Reference::decrypt(id).filter(|_| !id.starts_with('.'));
        let reference = known.ok_or_else(|| AgeFileError::BadName(id.to_owned()))?;
        Ok(self.folder.join(BLOBS).join(format!("{}.age", reference.name)))
    }

    fn blob_ids(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join(BLOBS)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".age")?.to_owned())).collect();
        ids.sort();
        ids
    }

    /// The key: the one that was opened before, or read, or made.
    fn identity(&self) -> Result<Key, AgeFileError> {
        let mut opened = self.opened.lock();
        if let Some(identity) = opened.as_ref() {
            return Ok(identity.clone());
        }
        let identity = match self.key() {
            Some(true) => {
                let identity = self.unlock()?;
                *opened = Some(identity.clone());
                identity
            }
            Some(false) => self.read_key()?,
            None => {
                let identity = self.make_key()?;
                write_in_place(&self.folder.join(IDENTITY), key_text(&identity).as_bytes())?;
                identity
            }
        };
        Ok(identity)
    }

    fn make_key(&self) -> Result<Key, AgeFileError> {
        Key::generate().map_err(|error| AgeFileError::Io { path: self.folder.clone(), error })
    }

    fn read_key(&self) -> Result<Key, AgeFileError> {
        let path = self.folder.join(IDENTITY);
        let failed = |error| AgeFileError::Io { path: path.clone(), error };
        if fs::metadata(&path).map_err(failed)?.mode() & 0o077 != 0 {
            let reason = "others may read this key: chmod 600 it, and rotate it".to_owned();
            return Err(AgeFileError::Damaged { path, reason });
        }
        let text = Zeroizing::new(fs::read_to_string(&path).map_err(failed)?);
        parse_key(&path, &text)
    }

    fn unlock(&self) -> Result<Key, AgeFileError> {
        let path = self.folder.join(LOCKED_IDENTITY);
        let sealed = fs::read(&path).map_err(|error| AgeFileError::Io { path: path.clone(), error })?;
        let passphrase = self.ask_passphrase()?;
        let plain = age::open(&Reader::Passphrase(&passphrase), &sealed).map_err(|error| AgeFileError::Damaged {
            path: path.clone(),
            reason: match error {
                age::OpenError::NotOurs => "the key cannot be opened with this passphrase".to_owned(),
                error => format!("the key cannot be opened with a passphrase: {error}"),
            },
        })?;
        parse_key(&path, &String::from_utf8_lossy(&plain))
    }

    fn ask_passphrase(&self) -> Result<SecretValue, AgeFileError> {
        let given = self.passphrase.as_ref().and_then(|ask| ask());
        given.ok_or_else(|| AgeFileError::Damaged {
            path: self.folder.join(LOCKED_IDENTITY),
            reason: "the key is under a passphrase, and nobody gave it".to_owned(),
        })
    }

    fn write_locked(&self, identity: &Key, passphrase: &SecretValue) -> Result<(), AgeFileError> {
        let path = self.folder.join(LOCKED_IDENTITY);
        seal(&path, &Reader::Passphrase(passphrase), key_text(identity).as_bytes())
    }

    fn prepare(&self) -> Result<(), AgeFileError> {
        make_own(&self.folder).map_err(|error| AgeFileError::Io { path: self.folder.clone(), error })
    }

    fn lock(&self) -> Result<File, AgeFileError> {
        let path = self.folder.join(".lock");
        let failed = |error: io::Error| AgeFileError::Io { path: path.clone(), error };
        let file = OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(failed)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        Ok(file)
    }
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    secrets: &'a BTreeMap<String, Entry>,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn key_text(identity: &Key) -> Zeroizing<String> {
    Zeroizing::new(format!("# public key: {}\n{}\n", identity.public_text(), *identity.text()))
}

fn parse_key(path: &Path, text: &str) -> Result<Key, AgeFileError> {
    let line = text.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    Key::parse(line).ok_or_else(|| AgeFileError::Damaged {
        path: path.to_owned(),
        reason: "it does not hold an age key".to_owned(),
    })
}

fn seal(path: &Path, reader: &Reader<'_>, plain: &[u8]) -> Result<(), AgeFileError> {
    let sealed = age::seal(reader, plain).map_err(|error| AgeFileError::Io { path: path.to_owned(), error })?;
    write_in_place(path, sealed.as_bytes())
}

fn open(path: &Path, identity: &Key, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, AgeFileError> {
    age::open(&Reader::Key(identity), sealed).map_err(|error| AgeFileError::Damaged {
        path: path.to_owned(),
        reason: format!("it cannot be opened with the key beside it ({error})"),
    })
}

/// Writes a file that is always old or new, never half.
fn write_in_place(path: &Path, text: &[u8]) -> Result<(), AgeFileError> {
    let failed = |error| AgeFileError::Io { path: path.to_owned(), error };
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let mut file =
        OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&beside).map_err(failed)?;
    file.write_all(text).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path)).map_err(failed)
}

impl SecretSource for AgeFile {
    fn title(&self) -> String {
        self.folder.display().to_string()
    }

    fn get(&self, reference: &Reference) -> Result<Option<Secret>, SourceError> {
        let failed = |error: AgeFileError| SourceError(error.to_string());
        match reference.kind {
            ReferenceKind::Secret => {
                let content = self.read().map_err(failed)?;
                Ok(content.secrets.get(&reference.name).map(|entry| Secret {
                    value: SecretValue::new(&entry.value[..]),
                    masking: if entry.shown { Masking::Shown } else { Masking::Masked },
                }))
            }
            ReferenceKind::Decrypt if reference.name.starts_with('.') => Ok(None),
            ReferenceKind::Decrypt => {
                let plain = self.decrypt(&reference.name).map_err(failed)?;
                Ok(plain.map(|plain| Secret::masked(plain.strip_suffix(b"\n").unwrap_or(&plain))))
            }
        }
    }

    fn names(&self) -> Vec<Reference> {
        self.list().unwrap_or_default().into_iter().map(|listed| listed.reference).collect()
    }
}

impl std::fmt::Debug for AgeFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "AgeFile({})", self.folder.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn store() -> (tempfile::TempDir, AgeFile) {
        let folder = tempfile::tempdir().unwrap();
        let store = AgeFile::new(folder.path().join("secrets"));
        (folder, store)
    }

    fn value_of(store: &AgeFile, reference: &Reference) -> Option<Vec<u8>> {
        store.get(reference).unwrap().map(|secret| secret.value.expose().to_vec())
    }

    fn everything_in(folder: &Path) -> Vec<u8> {
        let mut all = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            all.extend(if path.is_dir() { everything_in(&path) } else { fs::read(&path).unwrap() });
        }
        all
    }

    #[test]
    fn a_secret_is_set_found_listed_changed_and_removed_and_never_in_the_clear() {
        let (folder, store) = store();
        let name = Reference::secret("api-key").unwrap();
        assert_eq!(value_of(&store, &name), None);
        assert!(!store.set("api-key", &Secret::masked("S3CR3T-VALUE")).unwrap());
        assert_eq!(value_of(&store, &name), Some(b"S3CR3T-VALUE".to_vec()));
        assert!(store.set("api-key", &Secret::masked("S3CR3T-OTHER")).unwrap());
        let blob = store.encrypt(b"S3CR3T-BLOB").unwrap();
        assert_eq!(value_of(&store, &blob), Some(b"S3CR3T-BLOB".to_vec()));
        let listed: Vec<String> = store.list().unwrap().iter().map(|listed| listed.reference.to_string()).collect();
        assert_eq!(listed, ["{{secret:api-key}}", &blob.to_string()]);
        assert!(memchr::memmem::find(&everything_in(folder.path()), b"S3CR3T").is_none());
        for file in ["identity", "secrets.age"] {
            assert_eq!(fs::metadata(store.folder().join(file)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        store.remove("api-key").unwrap();
        store.remove(&blob.name).unwrap();
        assert!(store.list().unwrap().is_empty());
        assert!(matches!(store.remove("api-key"), Err(AgeFileError::Unknown(_))));
    }

    #[test]
    fn a_new_key_opens_everything_and_the_old_one_nothing() {
        let (_folder, store) = store();
        store.set("a", &Secret::masked("first value")).unwrap();
        let blob = store.encrypt(b"second value").unwrap();
        let old = fs::read(store.folder().join("identity")).unwrap();
        assert_eq!(store.rotate().unwrap(), 2);
        let fresh = AgeFile::new(store.folder());
        assert_eq!(value_of(&fresh, &Reference::secret("a").unwrap()), Some(b"first value".to_vec()));
        assert_eq!(value_of(&fresh, &blob), Some(b"second value".to_vec()));
        fs::write(store.folder().join("identity"), old).unwrap();
        assert!(AgeFile::new(store.folder()).get(&blob).is_err());
    }

    #[test]
    fn a_key_under_a_passphrase_needs_it() {
        let (_folder, store) = store();
        store.create_locked(&SecretValue::new("correct horse")).unwrap();
        store.set("a", &Secret::masked("some value")).unwrap();
        let reference = Reference::secret("a").unwrap();
        let with = |phrase: Option<&'static str>| {
            let ask: Passphrase = Arc::new(move || phrase.map(SecretValue::new));
            AgeFile::new(store.folder()).with_passphrase(ask).get(&reference)
        };
        assert_eq!(with(Some("correct horse")).unwrap(), Some(Secret::masked("some value")));
        assert!(with(Some("battery staple")).unwrap_err().to_string().contains("passphrase"));
        assert!(with(None).unwrap_err().to_string().contains("nobody gave it"));
    }

    #[test]
    fn what_is_damaged_or_open_to_others_is_named() {
        let (_folder, store) = store();
        store.set("a", &Secret::masked("some value")).unwrap();
        let reference = Reference::secret("a").unwrap();
        let key = store.folder().join("identity");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(store.get(&reference).unwrap_err().to_string().contains("others may read"));
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let sealed = store.folder().join("secrets.age");
        fs::write(&sealed, b"age-encryption.org/v1\nnonsense").unwrap();
        assert!(store.get(&reference).unwrap_err().to_string().contains("secrets.age"));
        for name in ["", "a/b", "../x", &"x".repeat(65)] {
            assert!(matches!(store.set(name, &Secret::masked("some value")), Err(AgeFileError::BadName(_))));
        }
    }
}
