//! Refusals by the kernel itself, read from its packets: nobody listens at a port of TCP or of UDP.
//!
//! What is reported is thus what was refused, and not what was tried.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::events::Transport;

const TCP: u8 = 6;
const UDP: u8 = 17;
const RESET_OF_A_FIRST_PACKET: u8 = 0x14;

/// Something that was dialled and had no listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BareRefusal {
    pub(super) dialled: SocketAddr,
    pub(super) source: SocketAddr,
    pub(super) over: Transport,
}

/// What a packet, from its header of IP on, refuses. `None` for any other packet, and for what was dialled at the
/// session's own loopback addresses: there nobody but its own commands can listen.
pub(super) fn read(packet: &[u8]) -> Option<BareRefusal> {
    let outer = Header::read(packet)?;
    let refusal = match (outer.protocol, outer.version) {
        (TCP, _) => {
            let flags = *outer.payload.get(13)?;
            // The answer to a first packet has no number of its own. A connection that is reset later has one.
            let is_first =
                outer.payload.get(4..8)? == [0; 4] && flags & RESET_OF_A_FIRST_PACKET == RESET_OF_A_FIRST_PACKET;
            let (from, to) = ports(outer.payload)?;
            let (dialled, source) = ((outer.from, from).into(), (outer.to, to).into());
            is_first.then_some(BareRefusal { dialled, source, over: Transport::Tcp })?
        }
        // "Port unreachable", in the words of each family; behind it stands the packet that it answers.
        (1, 4) if outer.payload.starts_with(&[3, 3]) => undelivered(outer.payload.get(8..)?)?,
        (58, 6) if outer.payload.starts_with(&[1, 4]) => undelivered(outer.payload.get(8..)?)?,
        _ => return None,
    };
    (!refusal.dialled.ip().is_loopback()).then_some(refusal)
}

fn undelivered(packet: &[u8]) -> Option<BareRefusal> {
    let inner = Header::read(packet)?;
    let (from, to) = ports(inner.payload)?;
    let (dialled, source) = ((inner.to, to).into(), (inner.from, from).into());
    (inner.protocol == UDP).then_some(BareRefusal { dialled, source, over: Transport::Udp })
}

fn ports(payload: &[u8]) -> Option<(u16, u16)> {
    let [a, b, c, d, ..] = *payload else { return None };
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

struct Header<'a> {
    version: u8,
    protocol: u8,
    from: IpAddr,
    to: IpAddr,
    payload: &'a [u8],
}

impl<'a> Header<'a> {
    fn read(packet: &'a [u8]) -> Option<Self> {
        let version = packet.first()? >> 4;
        match version {
            4 => {
                let length = usize::from(packet[0] & 0x0f) * 4;
                let address = |place: usize| -> Option<IpAddr> {
                    let bytes: [u8; 4] = packet.get(place..place + 4)?.try_into().ok()?;
                    Some(Ipv4Addr::from(bytes).into())
                };
                let payload = packet.get(length.max(20)..)?;
                Some(Self { version, protocol: packet[9], from: address(12)?, to: address(16)?, payload })
            }
            6 => {
                let address = |place: usize| -> Option<IpAddr> {
                    let bytes: [u8; 16] = packet.get(place..place + 16)?.try_into().ok()?;
                    Some(Ipv6Addr::from(bytes).into())
                };
                let payload = packet.get(40..)?;
                Some(Self { version, protocol: packet[6], from: address(8)?, to: address(24)?, payload })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn v4(protocol: u8, from: [u8; 4], to: [u8; 4], payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
        packet.extend(from);
        packet.extend(to);
        packet.extend(payload);
        packet
    }

    fn tcp(flags: u8, number: u8) -> Vec<u8> {
        vec![0, 25, 0x9c, 0x40, 0, 0, 0, number, 0, 0, 0, 1, 0x50, flags, 0, 0, 0, 0, 0, 0]
    }

    #[test]
    fn a_refusal_names_what_was_dialled_and_by_whom() {
        let refusal = |dialled: &str, source: &str, over| {
            Some(BareRefusal { dialled: dialled.parse().unwrap(), source: source.parse().unwrap(), over })
        };
        let there = [198, 18, 1, 7];
        let here = [198, 18, 0, 1];
        let query = v4(UDP, here, there, &[0x9c, 0x40, 1, 0xbb, 0, 8, 0, 0]);
        let unreachable = [&[3, 3, 0, 0, 0, 0, 0, 0][..], &query].concat();
        for (packet, expected) in [
            (v4(TCP, there, here, &tcp(0x14, 0)), refusal("198.18.1.7:25", "198.18.0.1:40000", Transport::Tcp)),
            (v4(1, there, here, &unreachable), refusal("198.18.1.7:443", "198.18.0.1:40000", Transport::Udp)),
            (v4(TCP, there, here, &tcp(0x14, 9)), None),
            (v4(TCP, there, here, &tcp(0x04, 0)), None),
            (v4(TCP, there, here, &tcp(0x02, 0)), None),
            (v4(TCP, [127, 0, 0, 1], [127, 0, 0, 1], &tcp(0x14, 0)), None),
            (v4(1, there, here, &[8, 0, 0, 0, 0, 0, 0, 0]), None),
        ] {
            assert_eq!(read(&packet), expected, "{packet:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_confuse_the_reader(mut packet in proptest::collection::vec(any::<u8>(), 0..120), six in any::<bool>()) {
            if let Some(first) = packet.first_mut() {
                *first = if six { 0x60 } else { 0x40 | *first & 0x0f };
            }
            read(&packet);
        }
    }
}
