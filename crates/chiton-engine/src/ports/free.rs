//! Which ports are given out, and whether nobody uses one of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, bind, socket};

use crate::machine::ephemeral_ports;

/// The numbers that are given out, unless the kernel gives them to whoever asks for any. Few programs have their usual
/// port here.
const USUAL: RangeInclusive<u16> = 20_000..=24_999;
/// Fewer than this are not enough.
const ENOUGH: usize = 1000;

/// The numbers that are given out on this machine.
pub(super) fn range() -> RangeInclusive<u16> {
    outside(&ephemeral_ports())
}

/// The usual numbers, or others where the kernel's own would collide with them.
fn outside(ephemeral: &RangeInclusive<u16>) -> RangeInclusive<u16> {
    let collides = ephemeral.start() <= USUAL.end() && USUAL.start() <= ephemeral.end();
    if !collides {
        return USUAL;
    }
    let below = 1024..=ephemeral.start().saturating_sub(1);
    let above = ephemeral.end().saturating_add(1).max(1024)..=u16::MAX;
    let larger = if above.len() > below.len() { above } else { below };
    // Where the kernel has taken nearly all, a number that is free now is all there is to be had.
    if larger.len() >= ENOUGH { larger } else { USUAL }
}

/// Whether nobody uses a port now, at any address.
pub(super) fn is_free(port: u16) -> bool {
    let addresses: [IpAddr; 4] = [
        Ipv4Addr::UNSPECIFIED.into(),
        Ipv4Addr::LOCALHOST.into(),
        Ipv6Addr::UNSPECIFIED.into(),
        Ipv6Addr::LOCALHOST.into(),
    ];
    addresses.into_iter().all(|address| can_bind(SocketAddr::new(address, port)))
}

/// Whether a program could have this address now. It is only bound: nobody can connect to it meanwhile.
fn can_bind(address: SocketAddr) -> bool {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let bound = socket(family, SocketType::STREAM, None).and_then(|socket| bind(&socket, &address));
    // Without IPv6 nobody can have an address of it.
    matches!(bound, Ok(()) | Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn what_the_kernel_gives_away_is_not_given_out() {
        let cases = [
            (32_768..=60_999, USUAL),
            (49_152..=65_535, USUAL),
            (10_000..=65_535, 1024..=9999),
            (1024..=30_000, 30_001..=65_535),
            (15_000..=64_999, 1024..=14_999),
            (1024..=65_535, USUAL),
        ];
        for (ephemeral, expected) in cases {
            assert_eq!(outside(&ephemeral), expected, "{ephemeral:?}");
        }
    }

    #[test]
    fn a_port_that_somebody_has_at_one_address_is_not_free() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            // A machine without IPv6 has nothing to show for it.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            assert!(!is_free(port), "{address}");
        }
    }
}
