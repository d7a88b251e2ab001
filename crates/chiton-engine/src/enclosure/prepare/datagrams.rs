//! Unix sockets outside that take datagrams from anybody who knows their path.
//!
//! Connecting can be judged; sending a datagram by its path cannot: a filter does not see where `sendmsg` sends to, and asking
//! about every message would slow down whatever uses the network. A newer Landlock holds it. Until then, what cannot be held
//! is covered: such sockets are few, and a mount over one costs nothing.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::sandbox::policy::SandboxPolicy;

/// The kernel's list of Unix sockets of this network.
const TABLE: &str = "/proc/net/unix";

/// Those that the policy does not allow, as they are now. To be asked before a network of its own is entered.
pub(super) fn outside(policy: &SandboxPolicy) -> Vec<PathBuf> {
    let Ok(table) = fs::read(TABLE) else { return Vec::new() };
    let own: Vec<PathBuf> =
        policy.sockets.iter().chain(&policy.workspace).filter_map(|path| fs::canonicalize(path).ok()).collect();
    let mut found: Vec<PathBuf> = read(&table)
        .filter_map(|path| fs::canonicalize(path).ok())
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket()))
        .filter(|path| !own.iter().any(|own| path.starts_with(own)))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The absolute paths of sockets for datagrams.
fn read(table: &[u8]) -> impl Iterator<Item = &Path> {
    const DATAGRAMS: &[u8] = b"0002";
    table.split(|byte| *byte == b'\n').filter_map(|line| {
        // Seven columns with one space between, or several before a number; then the path, in which anything may stand.
        let mut rest = line;
        let mut kind: &[u8] = b"";
        for column in 0..7 {
            let word = rest.trim_ascii_start();
            let end = word.iter().position(|byte| *byte == b' ')?;
            if column == 4 {
                kind = &word[..end];
            }
            rest = &word[end..];
        }
        let path = rest.strip_prefix(b" ")?;
        (kind == DATAGRAMS && path.starts_with(b"/")).then(|| Path::new(std::ffi::OsStr::from_bytes(path)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_for_datagrams_are_found_by_their_paths() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 4711 /run/systemd/notify\n\
            0000000000000000: 00000002 00000000 00010000 0001 01     1 /run/stream\n\
            0000000000000000: 00000002 00000000 00000000 0002 01    12 /run/with space\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 4712 @abstract\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 4713 relative\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 4714\n";
        let found: Vec<_> = read(table).collect();
        assert_eq!(found, [Path::new("/run/systemd/notify"), Path::new("/run/with space")]);
    }
}
