//! Addresses that no name may lead to: whoever controls a name could point it at the machine itself, at its network or
//! at the place where a cloud keeps credentials.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Networks that are not the internet, with the length of their prefix.
const INNER_V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "this machine"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "shared, and the metadata of a cloud"),
    ([127, 0, 0, 0], 8, "loopback"),
    ([168, 63, 129, 16], 32, "the metadata of a cloud"),
    ([169, 254, 0, 0], 16, "link-local, and the metadata of clouds"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "protocols, and the metadata of a cloud"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "the addresses that stand for names"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved, and broadcast"),
];

const INNER_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "this machine"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "translation inside of a network"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discarded"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "a tunnel that hides an IPv4 address"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private, and the metadata of a cloud"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "private, of old"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

/// Whether a name may not lead to this address, as far as the address alone tells.
pub(super) fn is_inner(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_inner_v4(address),
        IpAddr::V6(address) => is_inner_v6(address),
    }
}

fn is_inner_v4(address: Ipv4Addr) -> bool {
    INNER_V4.iter().any(|(network, length, _)| {
        let mask = u32::MAX << (32 - length);
        address.to_bits() & mask == u32::from_be_bytes(*network)
    })
}

fn is_inner_v6(address: Ipv6Addr) -> bool {
    let listed = INNER_V6.iter().any(|(network, length, _)| {
        let mask = u128::MAX << (128 - length);
        address.to_bits() & mask == network.to_bits()
    });
    listed || hidden_v4(address).into_iter().any(is_inner_v4)
}

/// The IPv4 addresses that packets to an IPv6 address may end up at.
fn hidden_v4(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let segments = address.segments();
    let at = |first: usize| Ipv4Addr::from_bits(u32::from(segments[first]) << 16 | u32::from(segments[first + 1]));

    let mut hidden = Vec::new();
    // Compatible, mapped, translated (SIIT) and NAT64: all of them have it at the end.
    if matches!(segments[..6], [0, 0, 0, 0, 0, 0 | 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0]) {
        hidden.push(at(6));
    }
    // 6to4 has it behind its prefix, ISATAP behind a mark.
    if segments[0] == 0x2002 {
        hidden.push(at(1));
    }
    if segments[4] & !0x0200 == 0 && segments[5] == 0x5efe {
        hidden.push(at(6));
    }
    hidden
}

/// Whether an address is one of this machine's own: packets to it would leave from that very address. Nothing is sent.
pub(super) fn is_own(address: IpAddr) -> bool {
    let any: SocketAddr = match address {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    UdpSocket::bind(any)
        .and_then(|socket| socket.connect((address, 9)).and_then(|()| socket.local_addr()))
        .is_ok_and(|from| from.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_the_internet_or_nowhere() {
        for address in [
            "0.0.0.0", "0.1.2.3", "10.255.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
            "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1",
            "198.18.0.1", "198.19.255.255", "224.0.0.251", "239.255.255.250", "255.255.255.255", "::", "::1",
            "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1",
            "64:ff9b::169.254.169.254", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:4136:e378::1",
            "fd00:ec2::254", "fc00::1", "fe80::1", "fec0::1", "ff02::fb", "2001:db8::5efe:10.0.0.1",
            "2001:db8::200:5efe:127.0.0.1",
        ] {
            assert!(is_inner(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1",
            "198.17.255.255", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888",
            "64:ff9b::1.1.1.1", "2002:101:101::1",
        ] {
            assert!(!is_inner(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn the_machines_own_addresses_are_known() {
        assert!(is_own(Ipv4Addr::LOCALHOST.into()));
        assert!(!is_own(Ipv4Addr::new(203, 0, 113, 77).into()));
    }
}
