//! Files of [age](https://age-encryption.org/v1), as far as the store needs the format: written for one key or one
//! passphrase, and read whoever wrote them for us, also where others may open them, too.
//!
//! Each file has a key of its own. [`seal`] makes it, encrypts the content with it ([`payload`]), puts it into the header
//! ([`header`]) encrypted for the reader ([`keys`]), and writes all as text ([`armour`]). [`open`] goes the other way.
//! The cryptography is that of the `RustCrypto` and `dalek` crates; only how its results are put together is written here.

mod armour;
mod header;
mod keys;
mod payload;

use std::io;

use chiton_redact::SecretValue;
use zeroize::Zeroizing;

pub(super) use keys::Key;

/// The key of a file.
type FileKey = Zeroizing<[u8; 16]>;

/// Who can open a file.
pub(super) enum Reader<'a> {
    /// Whoever has this key.
    Key(&'a Key),
    /// Whoever knows this passphrase. It takes about a second to try one, on purpose.
    Passphrase(&'a SecretValue),
}

/// Why a file cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum OpenError {
    #[error("it is not a file of age")]
    NotAge,
    #[error("the text around its content is damaged")]
    Armour,
    #[error("its header is damaged")]
    Header,
    #[error("it was encrypted for somebody else")]
    NotOurs,
    #[error("it asks for more work than any passphrase needs")]
    TooMuchWork,
    #[error("its content is damaged")]
    Payload,
}

/// The text of a file that `reader` can open.
pub(super) fn seal(reader: &Reader<'_>, plain: &[u8]) -> io::Result<String> {
    let file_key = Zeroizing::new(random()?);
    let mut file = header::write(&reader.wrap(&file_key)?, &file_key).into_bytes();
    file.extend(payload::seal(&file_key, &random()?, plain));
    Ok(armour::write(&file))
}

/// The content of a file, which may be text or bytes.
pub(super) fn open(reader: &Reader<'_>, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    let bytes = armour::read(sealed)?;
    let (header, payload) = header::read(&bytes)?;
    let file_key = reader.unwrap(&header.stanzas)?;
    header.check(&file_key)?;
    payload::open(&file_key, payload)
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// HKDF with SHA-256: a key that is made of another, for one purpose.
fn derive(key: &[u8], salt: &[u8], purpose: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut derived = Zeroizing::new([0; 32]);
    let made = hkdf::Hkdf::<sha2::Sha256>::new(Some(salt), key).expand(purpose, &mut derived[..]);
    made.expect("HKDF gives up to 8160 bytes");
    derived
}

#[cfg(test)]
mod tests;
