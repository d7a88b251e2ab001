//! Which sockets take IPv6 alone: the one thing about a listening socket that the tables do not say. The kernel answers it
//! to anybody who asks through netlink, in messages of fixed form.

use std::collections::HashSet;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, send, socket};

/// The kernel answers at once. If it should not, nobody waits for longer than this.
const ANSWER: Duration = Duration::from_millis(500);
/// More messages than any machine has listening sockets.
const MOST_MESSAGES: usize = 10_000;

/// Kinds of messages.
const BY_FAMILY: u16 = 20;
/// Asks for all that match.
const DUMP_REQUEST: u16 = 0x301;
const IPV6: u8 = 10;
const TCP: u8 = 6;
/// Bit of the state in which a TCP socket listens.
const LISTENING: u32 = 1 << 10;

const HEAD_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEAD_BYTES + 56;
/// The part of an answer before its attributes, and where in it the number of the socket is.
const SOCKET_BYTES: usize = 72;
const INODE_AT: usize = 68;
const ATTRIBUTE_BYTES: usize = 4;
/// The attribute that says whether a socket takes IPv6 alone.
const ONLY_IPV6: u16 = 11;

/// The numbers of the TCP sockets in this network namespace that listen on IPv6 alone. None where the kernel does not say.
pub(super) fn sockets() -> HashSet<u64> {
    ask().unwrap_or_default()
}

fn ask() -> rustix::io::Result<HashSet<u64>> {
    let kernel = socket(AddressFamily::NETLINK, SocketType::DGRAM, Some(netlink::SOCK_DIAG))?;
    set_socket_timeout(&kernel, Timeout::Recv, Some(ANSWER))?;
    send(&kernel, &request(), SendFlags::empty())?;

    let mut found = HashSet::new();
    let mut buffer = vec![0; 64 << 10];
    for _ in 0..MOST_MESSAGES {
        let (count, _) = recv(&kernel, &mut buffer[..], RecvFlags::empty())?;
        if read(&buffer[..count], &mut found) == Dump::Over {
            break;
        }
    }
    Ok(found)
}

fn request() -> [u8; REQUEST_BYTES] {
    let mut request = [0; REQUEST_BYTES];
    request[..4].copy_from_slice(&72_u32.to_ne_bytes());
    request[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&DUMP_REQUEST.to_ne_bytes());
    (request[HEAD_BYTES], request[HEAD_BYTES + 1]) = (IPV6, TCP);
    request[HEAD_BYTES + 4..HEAD_BYTES + 8].copy_from_slice(&LISTENING.to_ne_bytes());
    request
}

/// Whether more messages follow.
#[derive(Debug, PartialEq, Eq)]
enum Dump {
    GoesOn,
    Over,
}

/// Reads the messages of one answer.
fn read(mut text: &[u8], found: &mut HashSet<u64>) -> Dump {
    while let Some((length, kind)) = head(text) {
        let Some(message) = text.get(HEAD_BYTES..length).filter(|_| kind == BY_FAMILY) else { return Dump::Over };
        found.extend(only_ipv6(message));
        text = text.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Dump::GoesOn
}

/// Length and kind of a message.
fn head(text: &[u8]) -> Option<(usize, u16)> {
    let length = u32::from_ne_bytes(text.get(..4)?.try_into().ok()?);
    let kind = u16::from_ne_bytes(text.get(4..6)?.try_into().ok()?);
    Some((usize::try_from(length).ok()?, kind))
}

/// The number of the socket that a message is about, where it takes IPv6 alone.
fn only_ipv6(message: &[u8]) -> Option<u64> {
    let inode = u32::from_ne_bytes(message.get(INODE_AT..SOCKET_BYTES)?.try_into().ok()?);
    let mut attributes = &message[SOCKET_BYTES..];
    while let (Some(length), Some(kind)) = (attributes.get(..2), attributes.get(2..ATTRIBUTE_BYTES)) {
        let length = usize::from(u16::from_ne_bytes(length.try_into().ok()?)).max(ATTRIBUTE_BYTES);
        if u16::from_ne_bytes(kind.try_into().ok()?) == ONLY_IPV6 {
            return attributes.get(ATTRIBUTE_BYTES).filter(|value| **value != 0).map(|_| inode.into());
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message about a socket: what the kernel sends, with these attributes.
    fn message(inode: u32, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = vec![0; SOCKET_BYTES];
        body[INODE_AT..].copy_from_slice(&inode.to_ne_bytes());
        for (kind, value) in attributes {
            let length = u16::try_from(ATTRIBUTE_BYTES + value.len()).unwrap();
            body.extend(length.to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        with_head(BY_FAMILY, &body)
    }

    fn with_head(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut text = u32::try_from(HEAD_BYTES + body.len()).unwrap().to_ne_bytes().to_vec();
        text.extend(kind.to_ne_bytes());
        text.resize(HEAD_BYTES, 0);
        text.extend(body);
        text
    }

    #[test]
    fn messages_are_read_to_their_end() {
        let one = message(7, &[(1, b"xyz"), (ONLY_IPV6, &[1])]);
        let both = message(8, &[(ONLY_IPV6, &[0])]);
        let silent = message(9, &[(1, b"")]);
        let done = with_head(3, &[0; 4]);
        let cases = [
            ([&one[..], &both, &silent].concat(), vec![7], Dump::GoesOn),
            ([&one[..], &done].concat(), vec![7], Dump::Over),
            (done, vec![], Dump::Over),
            (with_head(2, &[0xff; 20]), vec![], Dump::Over),
            (one[..40].to_vec(), vec![], Dump::Over),
            (vec![0; 64], vec![], Dump::Over),
            (vec![], vec![], Dump::GoesOn),
        ];
        for (text, expected, end) in cases {
            let mut found = HashSet::new();
            assert_eq!(read(&text, &mut found), end, "{text:?}");
            assert_eq!(found, expected.into_iter().collect(), "{text:?}");
        }
    }
}
