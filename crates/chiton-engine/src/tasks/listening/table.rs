//! The listening sockets of a network namespace, from the tables that the kernel shows as text.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use super::SocketName;

/// The listening sockets of one network namespace, by their numbers.
#[derive(Debug, Default)]
pub(super) struct SocketTable {
    by_inode: HashMap<u64, SocketName>,
}

/// State of a TCP socket that listens.
const LISTENS: &str = "0A";
/// State of a UDP socket that is not connected.
const UNCONNECTED: &str = "07";
/// The flag of a Unix socket that accepts connections.
const ACCEPTS: u32 = 1 << 16;

impl SocketTable {
    /// The tables in `folder`, the `net` of a process; `None` where they cannot be read.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        // A system without IPv6 has no tables for it, but every one has this.
        let tcp = fs::read(folder.join("tcp")).ok()?;
        let table = |name| fs::read(folder.join(name)).unwrap_or_default();
        let mut found = Self::default();
        for text in [tcp, table("tcp6")] {
            found.by_inode.extend(rows(&text).filter_map(|row| port_row(row, LISTENS, SocketName::Tcp)));
        }
        for text in [table("udp"), table("udp6")] {
            found.by_inode.extend(rows(&text).filter_map(|row| port_row(row, UNCONNECTED, SocketName::Udp)));
        }
        found.by_inode.extend(rows(&table("unix")).filter_map(unix_row));
        Some(found)
    }

    /// What the socket of this number listens on; `None` where it does not listen, or is of another namespace.
    pub(super) fn name(&self, inode: u64) -> Option<&SocketName> {
        self.by_inode.get(&inode)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &SocketName> {
        self.by_inode.values()
    }
}

/// The rows of a table, without its head.
fn rows(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').skip(1)
}

/// The number and the name of a socket with a port, where it is in this state and nobody is at its other end.
fn port_row(row: &[u8], state: &str, name: fn(SocketAddr) -> SocketName) -> Option<(u64, SocketName)> {
    let mut fields = std::str::from_utf8(row).ok()?.split_ascii_whitespace();
    let (local, remote) = (fields.nth(1)?, fields.next()?);
    let is_open = fields.next()? == state && remote.ends_with(":0000");
    let inode: u64 = fields.nth(5)?.parse().ok()?;
    let address = address(local)?;
    // One that was given back to the kernel has no number any more.
    (is_open && inode != 0 && address.port() != 0).then(|| (inode, name(address)))
}

/// An address as the tables have it: words of 32 bits in the byte order of the machine, and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(host.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match host.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            // A socket that takes both kinds may be bound to an address of the older one.
            let ip = Ipv6Addr::from(bytes);
            ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The number and the name of a Unix socket that accepts connections.
fn unix_row(row: &[u8]) -> Option<(u64, SocketName)> {
    // A name may hold anything, spaces included, so it is what follows the seventh field.
    let mut rest = row;
    let mut fields = [&row[..0]; 7];
    for field in &mut fields {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        (*field, rest) = rest.split_at(end);
    }

    let text = |at: usize| std::str::from_utf8(fields[at]).ok();
    let flags = u32::from_str_radix(text(3)?, 16).ok()?;
    let inode: u64 = text(6)?.parse().ok()?;
    let name = rest.strip_prefix(b" ").filter(|name| !name.is_empty())?;
    let name = match name.strip_prefix(b"@") {
        Some(name) => SocketName::Abstract(shown(name)),
        None => SocketName::Unix(shown(name)),
    };
    (flags & ACCEPTS != 0).then_some((inode, name))
}

/// A name as it may be printed: whoever made it may have put anything into it.
fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_the_order_of_the_machine() {
        let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let local = word([127, 0, 0, 1]);
        let (zero, one) = (word([0; 4]), word([0, 0, 0, 1]));
        let mapped = word([0, 0, 0xff, 0xff]);
        let cases = [
            (format!("{local}:0BB8"), Some("127.0.0.1:3000")),
            (format!("{zero}:1F90"), Some("0.0.0.0:8080")),
            (format!("{}:0050", word([192, 168, 1, 20])), Some("192.168.1.20:80")),
            (format!("{zero}{zero}{zero}{zero}:0BB8"), Some("[::]:3000")),
            (format!("{zero}{zero}{zero}{one}:FFFF"), Some("[::1]:65535")),
            (format!("{zero}{zero}{mapped}{local}:0BB8"), Some("127.0.0.1:3000")),
            (format!("{}{zero}{zero}{one}:0001", word([0xfe, 0x80, 0, 0])), Some("[fe80::1]:1")),
            ("0100007F".to_owned(), None),
            ("0100007F:BB8X".to_owned(), None),
            ("01007F:0BB8".to_owned(), None),
            (String::new(), None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|text| text.parse::<SocketAddr>().unwrap());
            assert_eq!(address(&text), expected, "{text}");
        }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn only_what_listens_counts() {
        let tail = "00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0";
        let cases = [
            ("0100007F:0BB8 00000000:0000 0A", LISTENS, true),
            ("0100007F:0BB8 0100007F:C001 01", LISTENS, false),
            ("0100007F:0BB8 00000000:0000 07", LISTENS, false),
            ("00000000:0035 00000000:0000 07", UNCONNECTED, true),
            ("00000000:0035 08080808:0035 01", UNCONNECTED, false),
            ("00000000:0000 00000000:0000 07", UNCONNECTED, false),
        ];
        for (row, state, expected) in cases {
            let found = port_row(format!("   0: {row} {tail}").as_bytes(), state, SocketName::Tcp);
            assert_eq!(found.map(|(inode, _)| inode), expected.then_some(4711), "{row}");
        }
        for broken in ["", "   0:", "   0: 0100007F:0BB8 00000000:0000 0A", "\u{fffd} x y z"] {
            assert_eq!(port_row(broken.as_bytes(), LISTENS, SocketName::Tcp), None, "{broken}");
        }
    }

    #[test]
    fn a_unix_socket_may_have_any_name() {
        let unix = |name: &str| Some(SocketName::Unix(name.into()));
        let cases = [
            ("0000000000000000: 00000002 00000000 00010000 0001 01 22 /run/a.sock", unix("/run/a.sock")),
            (
                "0000000000000000: 00000002 00000000 00010000 0005 01    22 /run/with  spaces ",
                unix("/run/with  spaces "),
            ),
            ("0000000000000000: 00000002 00000000 00010000 0001 01 22 relative.sock", unix("relative.sock")),
            ("0000000000000000: 00000002 00000000 00010000 0001 01 22 /a\u{1b}[31m", unix("/a\u{fffd}[31m")),
            (
                "0000000000000000: 00000002 00000000 00010000 0001 01 22 @name",
                Some(SocketName::Abstract("name".into())),
            ),
            ("0000000000000000: 00000003 00000000 00000000 0001 03 22 /run/a.sock", None),
            ("0000000000000000: 00000002 00000000 00010000 0001 01 22", None),
            ("0000000000000000: 00000002 00000000 00000000 0002 01 22 /run/log", None),
            ("", None),
            ("x y z", None),
        ];
        for (row, expected) in cases {
            assert_eq!(unix_row(row.as_bytes()), expected.map(|name| (22, name)), "{row}");
        }
    }

    #[test]
    fn tables_that_are_not_there_are_not_empty_ones() {
        let folder = tempfile::tempdir().unwrap();
        assert!(SocketTable::read(folder.path()).is_none());
        fs::write(folder.path().join("tcp"), "head\n").unwrap();
        assert_eq!(SocketTable::read(folder.path()).unwrap().names().count(), 0);
    }
}
