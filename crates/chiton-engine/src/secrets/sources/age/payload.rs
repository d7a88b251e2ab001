//! The content: a nonce, then chunks of 64 KiB, each encrypted and authenticated by itself. The nonce of a chunk has its
//! number and whether it is the last, so that none can be left out, swapped or cut off.

use chacha20poly1305::aead::Aead;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit};
use zeroize::Zeroizing;

use super::{FileKey, OpenError, derive};

const NONCE: usize = 16;
const CHUNK: usize = 64 * 1024;
/// What authentication adds to a chunk.
const TAG: usize = 16;

pub(super) fn seal(file_key: &FileKey, nonce: &[u8; NONCE], plain: &[u8]) -> Vec<u8> {
    let cipher = cipher(file_key, nonce);
    let mut sealed = nonce.to_vec();
    let mut rest = plain;
    let mut number = 0;
    loop {
        // Also nothing is a chunk.
        let (chunk, after) = rest.split_at(rest.len().min(CHUNK));
        let encrypted = cipher.encrypt(&nonce_of(number, after.is_empty()).into(), chunk);
        sealed.extend(encrypted.expect("a chunk is far below what the cipher can take"));
        if after.is_empty() {
            return sealed;
        }
        rest = after;
        number += 1;
    }
}

pub(super) fn open(file_key: &FileKey, payload: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    let (nonce, mut rest) = payload.split_first_chunk::<NONCE>().ok_or(OpenError::Payload)?;
    let cipher = cipher(file_key, nonce);
    let mut plain = Zeroizing::new(Vec::with_capacity(rest.len()));
    let mut number = 0;
    loop {
        let (chunk, after) = rest.split_at(rest.len().min(CHUNK + TAG));
        let is_last = after.is_empty();
        let opened = cipher.decrypt(&nonce_of(number, is_last).into(), chunk).map(Zeroizing::new);
        let opened = opened.map_err(|_| OpenError::Payload)?;
        // A last chunk with nothing in it would be a second way to write the same.
        if is_last && number > 0 && opened.is_empty() {
            return Err(OpenError::Payload);
        }
        plain.extend_from_slice(&opened);
        if is_last {
            return Ok(plain);
        }
        rest = after;
        number += 1;
    }
}

fn cipher(file_key: &FileKey, nonce: &[u8; NONCE]) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new((&*derive(&file_key[..], nonce, b"payload")).into())
}

/// Eleven bytes of number, one that says whether it is the last.
fn nonce_of(number: u64, is_last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&number.to_be_bytes());
    nonce[11] = u8::from(is_last);
    nonce
}
