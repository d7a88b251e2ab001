//! Who can open a file: the key of the file, encrypted for a key or under a passphrase.

use std::io;
use std::time::{Duration, Instant};

use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32, Hrp};
use chacha20poly1305::aead::Aead;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use data_encoding::BASE64_NOPAD;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::header::Stanza;
use super::{FileKey, OpenError, Reader, derive, random};

/// The first word of a stanza for a key, and what keys are derived for.
const FOR_KEY: &str = "X25519";
const FOR_KEY_PURPOSE: &[u8] = b"age-encryption.org/v1/X25519";
/// The first word of a stanza under a passphrase, and what its salt begins with.
const FOR_PASSPHRASE: &str = "scrypt";
const FOR_PASSPHRASE_PURPOSE: &[u8] = b"age-encryption.org/v1/scrypt";

const SECRET: Hrp = Hrp::parse_unchecked("age-secret-key-");
const PUBLIC: Hrp = Hrp::parse_unchecked("age");

/// How long it should take to try a passphrase.
const WORK: Duration = Duration::from_secs(1);
/// The most work that is accepted, as a power of two: what the age program accepts. It takes 4 GiB and about 16 s.
const MOST_WORK: u8 = 22;

/// A key that opens files. Its public half encrypts them.
#[derive(Clone)]
pub(in super::super) struct Key(StaticSecret);

impl Key {
    pub(in super::super) fn generate() -> io::Result<Self> {
        Ok(Self(StaticSecret::from(random()?)))
    }

    /// Reads `AGE-SECRET-KEY-1…`.
    pub(in super::super) fn parse(text: &str) -> Option<Self> {
        let read = CheckedHrpstring::new::<Bech32>(text).ok().filter(|read| read.hrp() == SECRET)?;
        let bytes = Zeroizing::new(read.byte_iter().collect::<Vec<u8>>());
        Some(Self(StaticSecret::from(<[u8; 32]>::try_from(bytes.as_slice()).ok()?)))
    }

    /// `AGE-SECRET-KEY-1…`.
    pub(in super::super) fn text(&self) -> Zeroizing<String> {
        let text = bech32::encode_upper::<Bech32>(SECRET, self.0.as_bytes());
        Zeroizing::new(text.expect("32 bytes are not too long"))
    }

    /// `age1…`, for which anybody can encrypt.
    pub(in super::super) fn public_text(&self) -> String {
        bech32::encode_lower::<Bech32>(PUBLIC, self.public().as_bytes()).expect("32 bytes are not too long")
    }

    fn public(&self) -> PublicKey {
        PublicKey::from(&self.0)
    }
}

impl Reader<'_> {
    /// The key of a file, for this reader alone.
    pub(super) fn wrap(&self, file_key: &FileKey) -> io::Result<Stanza> {
        match self {
            Self::Key(key) => {
                let own = StaticSecret::from(random()?);
                let (share, reader) = (PublicKey::from(&own), key.public());
                let wrapping = agreed(&own, &reader, &share, &reader).ok_or_else(|| {
                    io::Error::other("the system's random numbers are not random: they gave a key of zeros")
                })?;
                let words = vec![FOR_KEY.to_owned(), BASE64_NOPAD.encode(share.as_bytes())];
                Ok(Stanza { words, body: encrypt(&wrapping, file_key) })
            }
            Self::Passphrase(passphrase) => {
                let (salt, work) = (random::<16>()?, work_of_this_machine());
                let wrapping = stretched(passphrase.expose(), &salt, work);
                let words = vec![FOR_PASSPHRASE.to_owned(), BASE64_NOPAD.encode(&salt), work.to_string()];
                Ok(Stanza { words, body: encrypt(&wrapping, file_key) })
            }
        }
    }

    /// The key of a file, from the stanza that is for this reader.
    pub(super) fn unwrap(&self, stanzas: &[Stanza]) -> Result<FileKey, OpenError> {
        let under_passphrase = stanzas.iter().any(|stanza| stanza.words[0] == FOR_PASSPHRASE);
        // Whoever knows a passphrase relies on nobody else being able to write the file.
        if under_passphrase && stanzas.len() > 1 {
            return Err(OpenError::Header);
        }
        for stanza in stanzas {
            let found = match (self, stanza.words[0].as_str()) {
                (Self::Key(key), FOR_KEY) => unwrap_with_key(key, stanza)?,
                (Self::Passphrase(passphrase), FOR_PASSPHRASE) => unwrap_with_passphrase(passphrase.expose(), stanza)?,
                _ => None,
            };
            if let Some(file_key) = found {
                return Ok(file_key);
            }
        }
        Err(OpenError::NotOurs)
    }
}

/// `None` if it is for another key: a stanza does not say for which one it is.
fn unwrap_with_key(key: &Key, stanza: &Stanza) -> Result<Option<FileKey>, OpenError> {
    let [_, share] = stanza.words.as_slice() else { return Err(OpenError::Header) };
    let share = PublicKey::from(decode::<32>(share)?);
    let wrapping = agreed(&key.0, &share, &share, &key.public()).ok_or(OpenError::Header)?;
    decrypt(&wrapping, &stanza.body)
}

/// `None` if it is another passphrase.
fn unwrap_with_passphrase(passphrase: &[u8], stanza: &Stanza) -> Result<Option<FileKey>, OpenError> {
    let [_, salt, work] = stanza.words.as_slice() else { return Err(OpenError::Header) };
    let salt = decode::<16>(salt)?;
    let is_number = work.bytes().all(|byte| byte.is_ascii_digit()) && !work.starts_with('0');
    let work = work.parse::<u64>().ok().filter(|_| is_number).ok_or(OpenError::Header)?;
    let work = u8::try_from(work).ok().filter(|work| *work <= MOST_WORK).ok_or(OpenError::TooMuchWork)?;
    decrypt(&stretched(passphrase, &salt, work), &stanza.body)
}

fn decode<const N: usize>(word: &str) -> Result<[u8; N], OpenError> {
    let bytes = BASE64_NOPAD.decode(word.as_bytes()).map_err(|_| OpenError::Header)?;
    bytes.try_into().map_err(|_| OpenError::Header)
}

/// The key that both sides come to: one has `own` and is told `other`, the other the other way round.
/// `None` if somebody chose `other` so that the result is zero for everybody.
fn agreed(own: &StaticSecret, other: &PublicKey, share: &PublicKey, reader: &PublicKey) -> Option<Zeroizing<[u8; 32]>> {
    let secret = own.diffie_hellman(other);
    let salt = [*share.as_bytes(), *reader.as_bytes()].concat();
    secret.was_contributory().then(|| derive(secret.as_bytes(), &salt, FOR_KEY_PURPOSE))
}

/// The key of a passphrase, with as much work as `2 ^ work`.
fn stretched(passphrase: &[u8], salt: &[u8; 16], work: u8) -> Zeroizing<[u8; 32]> {
    let salt = [FOR_PASSPHRASE_PURPOSE, salt].concat();
    let mut key = Zeroizing::new([0; 32]);
    let parameters = scrypt::Params::new(work, 8, 1).expect("work is at most MOST_WORK");
    scrypt::scrypt(passphrase, &salt, &parameters, &mut key[..]).expect("32 bytes are a valid length");
    key
}

/// How much work takes this machine about [`WORK`].
fn work_of_this_machine() -> u8 {
    const TRIED: u8 = 12;
    let time = || {
        let start = Instant::now();
        stretched(b"", &[0; 16], TRIED);
        start.elapsed()
    };
    // The fastest of three: a machine that was busy for a moment must not make the lock weaker.
    let fastest = (0..3).map(|_| time()).min().unwrap_or_default().max(Duration::from_micros(1));
    (TRIED..MOST_WORK).find(|work| fastest * (1 << (work - TRIED)) >= WORK).unwrap_or(MOST_WORK)
}

/// Each key encrypts one thing only, so the nonce may be zero.
const NONCE: [u8; 12] = [0; 12];

fn encrypt(wrapping: &[u8; 32], file_key: &FileKey) -> Vec<u8> {
    let cipher = ChaCha20Poly1305::new(wrapping.into());
    cipher.encrypt(&NONCE.into(), &file_key[..]).expect("16 bytes are far below what the cipher can take")
}

/// `None` if it was encrypted with another key.
fn decrypt(wrapping: &[u8; 32], body: &[u8]) -> Result<Option<FileKey>, OpenError> {
    // A longer text could be made so that it opens with many keys, and so tells which one was tried.
    if body.len() != 16 + 16 {
        return Err(OpenError::Header);
    }
    let Ok(opened) = ChaCha20Poly1305::new(wrapping.into()).decrypt(&NONCE.into(), body).map(Zeroizing::new) else {
        return Ok(None);
    };
    let mut file_key = FileKey::default();
    file_key.copy_from_slice(&opened);
    Ok(Some(file_key))
}
