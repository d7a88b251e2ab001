//! Addresses of machines, read as the programs that connect to them read them.

use core::net::{Ipv4Addr, Ipv6Addr};

/// Names of this machine, besides `localhost` and what ends with it.
const OWN_NAMES: [&str; 5] =
    ["localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback", "host.docker.internal"];

/// Services of clouds that hand credentials to whoever asks from inside.
const METADATA_NAMES: [&str; 4] =
    ["metadata.google.internal", "metadata", "metadata.azure.internal", "instance-data.ec2.internal"];
const METADATA_ADDRESSES: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// This machine.
    This,
    /// The service of a cloud that knows the credentials of this machine.
    Metadata,
    /// Another one, or nobody can tell.
    Other,
}

/// Whether `address` is this machine: a host, or a URL, with or without a user and a port.
pub(crate) fn is_local(address: &str) -> bool {
    machine_at(address) == Machine::This
}

/// Which machine `address` means: a host, or a URL, with or without a user and a port.
pub(crate) fn machine_at(address: &str) -> Machine {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // What programs read in different ways is not this machine: escapes, backslashes, two users, lists of hosts.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'%' | b'{' | b'}' | b',' | b'"');
    if authority.is_empty() || !authority.bytes().all(is_plain) || authority.matches('@').count() > 1 {
        return Machine::Other;
    }

    let host = authority.rsplit('@').next().unwrap_or_default();
    if let Some(inner) = host.strip_prefix('[') {
        let Some((address, port)) = inner.split_once(']') else { return Machine::Other };
        return if is_port(port) { of_version_6(address) } else { Machine::Other };
    }
    if host.matches(':').count() > 1 {
        return of_version_6(host);
    }
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    if is_port(port) { named(name) } else { Machine::Other }
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn named(name: &str) -> Machine {
    let name = name.strip_suffix('.').unwrap_or(name);
    if let Some(address) = version_4(name) {
        return of_version_4(address);
    }

    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let below_localhost = || {
        let start = name.len().checked_sub(".localhost".len())?;
        (start > 0).then(|| name.get(start..)).flatten()
    };
    if is("localhost") || OWN_NAMES.iter().any(|own| is(own)) {
        return Machine::This;
    }
    if below_localhost().is_some_and(|end| end.eq_ignore_ascii_case(".localhost")) {
        return Machine::This;
    }
    if METADATA_NAMES.iter().any(|known| is(known)) { Machine::Metadata } else { Machine::Other }
}

fn of_version_4(address: Ipv4Addr) -> Machine {
    if address.is_loopback() || address.is_unspecified() {
        Machine::This
    } else if METADATA_ADDRESSES.contains(&address) {
        Machine::Metadata
    } else {
        Machine::Other
    }
}

fn of_version_6(text: &str) -> Machine {
    let Ok(address) = text.parse::<Ipv6Addr>() else { return Machine::Other };
    if let Some(mapped) = address.to_ipv4_mapped() {
        return of_version_4(mapped);
    }
    if address.is_loopback() || address.is_unspecified() {
        Machine::This
    } else if address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] {
        Machine::Metadata
    } else {
        Machine::Other
    }
}

/// An address of version 4 as the C library reads it: one to four numbers, decimal, octal or hexadecimal, of which the
/// last fills all that is left.
fn version_4(text: &str) -> Option<Ipv4Addr> {
    let mut parts = [0_u64; 4];
    let mut count = 0;
    for part in text.split('.') {
        *parts.get_mut(count)? = number(part)?;
        count += 1;
    }

    let last = *parts.get(count.checked_sub(1)?)?;
    let mut address = 0;
    for part in &parts[..count - 1] {
        address = address << 8 | Some(*part).filter(|part| *part < 256)?;
    }
    let left = 8 * (5 - count);
    (last < 1 << left).then(|| Ipv4Addr::from(u32::try_from(address << left | last).unwrap_or(u32::MAX)))
}

fn number(text: &str) -> Option<u64> {
    // `u64::from_str_radix` takes a sign, the C library does not.
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'X')) {
        return None;
    }
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, machine_at};

    #[test]
    fn finds_this_machine_in_every_spelling() {
        for address in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "localhost:8080",
            "http://localhost:3000/x?y#z",
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "0177.0.0.1",
            "017700000001",
            "0.0.0.0",
            "0",
            "[::1]",
            "http://[::1]:8080/",
            "::1",
            "[::ffff:127.0.0.1]",
            "[::]",
            "api.localhost",
            "http://a.b.localhost/",
            "user@localhost",
            "https://user:password@127.0.0.1:8443/path",
            "host.docker.internal",
            "ip6-localhost",
            "localhost.localdomain",
            "127.255.255.254",
            "ws://localhost/socket",
            "http://localhost?x=y@evil.example",
        ] {
            assert_eq!(machine_at(address), Machine::This, "{address}");
        }
    }

    #[test]
    fn takes_nothing_else_for_this_machine() {
        for address in [
            "",
            "evil.example",
            "127.evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "localhostevil.example",
            "http://evil.example#@localhost",
            "http://evil.example/@localhost",
            "http://localhost@evil.example/",
            "http://localhost:80@evil.example",
            "http://127.0.0.1:pw@evil.example",
            "http://localhost\\@evil.example",
            "http://evil.example\\.localhost",
            "http://a@b@localhost",
            "http://evil.example%2elocalhost",
            "http://local%68ost",
            "http://127。0。0。1",
            "http://127.0.0.1 evil.example",
            "http://{localhost,evil.example}/",
            "128.0.0.1",
            "1270.0.0.1",
            "126.1",
            "2130706432.1",
            "0x8f.1",
            "[::2]",
            "[::ffff:8.8.8.8]",
            "[::1].evil.example",
            "[::1]evil",
            "localhost:80evil.example",
            "evil.example?localhost",
            "evil.localhost.example",
            ".localhost",
            "+127.1",
            "127.0.0.1.1",
            "printer.local",
        ] {
            assert_eq!(machine_at(address), Machine::Other, "{address}");
        }
    }

    #[test]
    fn knows_who_hands_out_credentials() {
        for address in [
            "http://169.254.169.254/latest/meta-data/",
            "http://2852039166/",
            "0xa9fea9fe",
            "[fd00:ec2::254]",
            "http://metadata.google.internal/computeMetadata/v1/",
            "http://169.254.170.2/v2/credentials",
            "100.100.100.200",
            "http://[::ffff:169.254.169.254]/",
        ] {
            assert_eq!(machine_at(address), Machine::Metadata, "{address}");
        }
    }
}
