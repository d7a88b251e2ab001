//! Where a session has no network of its own: requests of programs that use a proxy, over HTTP and SOCKS 5.
//!
//! Names come as names, so no address has to stand for one. The rest is as for what is dialled inside of a network.

use super::rules::plain_name;

/// The longest request.
pub(super) const REQUEST_BYTES: usize = 16 * 1024;

const SOCKS: u8 = 5;

/// In which words a client of the proxy wants its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Socks,
    /// `CONNECT`.
    Tunnel,
    /// A request of HTTP for another server, which is passed on without a word of ours.
    Plain,
}

/// What the first bytes of a client say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    /// Of SOCKS: so many bytes, after which we say that no password is needed.
    Greeting(usize),
    Request(Request),
    Incomplete,
    Malformed,
}

/// Where a client wants to be connected to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// As names are compared, or an address.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) language: Language,
    /// How many bytes of the client this was.
    pub(super) bytes: usize,
    /// What the server is sent instead of them.
    pub(super) instead: Vec<u8>,
}

impl Language {
    pub(super) fn accepted(self) -> &'static [u8] {
        match self {
            Self::Socks => &[SOCKS, 0, 0, 1, 0, 0, 0, 0, 0, 0],
            Self::Tunnel => b"HTTP/1.1 200 Connection established\r\n\r\n",
            Self::Plain => b"",
        }
    }

    pub(super) fn refused(self) -> &'static [u8] {
        match self {
            Self::Socks => &[SOCKS, 2, 0, 1, 0, 0, 0, 0, 0, 0],
            Self::Tunnel | Self::Plain => {
                b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThe sandbox does not lead there.\n"
            }
        }
    }
}

/// The answer to [`Spoken::Greeting`].
pub(super) const WELCOME: [u8; 2] = [SOCKS, 0];

/// Reads what a client has said so far. `greeted` says that it got its [`WELCOME`].
pub(super) fn read(bytes: &[u8], greeted: bool) -> Spoken {
    let spoken = match (bytes.first(), greeted) {
        (None, _) => Some(Spoken::Incomplete),
        (Some(&SOCKS), false) => read_greeting(bytes),
        (Some(&SOCKS), true) => read_socks(bytes),
        (Some(_), true) => Some(Spoken::Malformed),
        (Some(_), false) => return read_http(bytes),
    };
    spoken.unwrap_or(Spoken::Incomplete)
}

/// `None` while it is incomplete.
fn read_greeting(bytes: &[u8]) -> Option<Spoken> {
    let count = usize::from(*bytes.get(1)?);
    let methods = bytes.get(2..2 + count)?;
    Some(if methods.contains(&0) { Spoken::Greeting(2 + count) } else { Spoken::Malformed })
}

/// `None` while it is incomplete.
fn read_socks(bytes: &[u8]) -> Option<Spoken> {
    const CONNECT: u8 = 1;
    let [_, command, _, kind] = *bytes.first_chunk()?;
    let (host, end) = match kind {
        1 => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            (std::net::Ipv4Addr::from(address).to_string(), 8)
        }
        3 => {
            let end = 5 + usize::from(*bytes.get(4)?);
            match std::str::from_utf8(bytes.get(5..end)?) {
                Ok(name) => (name.to_owned(), end),
                Err(_) => return Some(Spoken::Malformed),
            }
        }
        4 => {
            let address: [u8; 16] = bytes.get(4..20)?.try_into().ok()?;
            (std::net::Ipv6Addr::from(address).to_string(), 20)
        }
        _ => return Some(Spoken::Malformed),
    };
    let port: [u8; 2] = bytes.get(end..end + 2)?.try_into().ok()?;
    let port = u16::from_be_bytes(port);
    if command != CONNECT {
        return Some(Spoken::Malformed);
    }
    Some(request(&host, port, Language::Socks, end + 2, Vec::new()))
}

fn read_http(bytes: &[u8]) -> Spoken {
    let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else {
        return if bytes.len() < REQUEST_BYTES { Spoken::Incomplete } else { Spoken::Malformed };
    };
    let Ok(head) = std::str::from_utf8(&bytes[..end]) else { return Spoken::Malformed };
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Spoken::Malformed;
    };

    if method == "CONNECT" {
        return match split_place(target, None) {
            Some((host, port)) => request(host, port, Language::Tunnel, end + 4, Vec::new()),
            None => Spoken::Malformed,
        };
    }
    let Some(rest) = target.get(..7).filter(|start| start.eq_ignore_ascii_case("http://")).map(|_| &target[7..]) else {
        return Spoken::Malformed;
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let authority = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let Some((host, port)) = split_place(authority, Some(80)) else { return Spoken::Malformed };

    // One request a connection: the next one may be for another server.
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut instead = format!("{method} {slash}{path} {version}\r\n");
    for line in lines {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if !matches!(name.as_str(), "connection" | "proxy-connection" | "proxy-authorization" | "keep-alive") {
            instead.push_str(line);
            instead.push_str("\r\n");
        }
    }
    instead.push_str("Connection: close\r\n\r\n");
    request(host, port, Language::Plain, end + 4, instead.into_bytes())
}

fn request(host: &str, port: u16, language: Language, bytes: usize, instead: Vec<u8>) -> Spoken {
    let is_plausible = !host.is_empty() && host.len() <= 254 && host.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_plausible {
        return Spoken::Malformed;
    }
    Spoken::Request(Request { host: plain_name(host), port, language, bytes, instead })
}

fn split_place(place: &str, usual: Option<u16>) -> Option<(&str, u16)> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, after.strip_prefix(':'))
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    match port {
        Some(port) => Some((host, port.parse().ok()?)),
        None => Some((host, usual?)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_says_where_to() {
        let named = [&[5, 1, 0, 3, 12][..], b"Allowed.test", &[1, 0xbb]].concat();
        for (bytes, greeted, host, port, language, instead) in [
            (
                &b"CONNECT Allowed.test:443 HTTP/1.1\r\nHost: x\r\n\r\nrest"[..],
                false,
                "allowed.test",
                443,
                Language::Tunnel,
                "",
            ),
            (b"CONNECT [2001:db8::1]:22 HTTP/1.1\r\n\r\n", false, "2001:db8::1", 22, Language::Tunnel, ""),
            (
                b"GET http://allowed.test/a?b HTTP/1.1\r\nHost: allowed.test\r\nProxy-Connection: keep-alive\r\n\r\n",
                false,
                "allowed.test",
                80,
                Language::Plain,
                "GET /a?b HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n",
            ),
            (
                b"GET http://me:word@allowed.test:8080?b HTTP/1.0\r\n\r\n",
                false,
                "allowed.test",
                8080,
                Language::Plain,
                "GET /?b HTTP/1.0\r\nConnection: close\r\n\r\n",
            ),
            (&named, true, "allowed.test", 443, Language::Socks, ""),
            (&[5, 1, 0, 1, 203, 0, 113, 6, 0, 80], true, "203.0.113.6", 80, Language::Socks, ""),
        ] {
            let Spoken::Request(request) = read(bytes, greeted) else { panic!("{bytes:?}") };
            assert_eq!((request.host.as_str(), request.port, request.language), (host, port, language));
            assert_eq!(String::from_utf8(request.instead).unwrap(), instead);
            for end in 0..request.bytes {
                assert_eq!(read(&bytes[..end], greeted), Spoken::Incomplete, "{end} of {bytes:?}");
            }
        }
        assert_eq!(read(&[5, 2, 2, 0], false), Spoken::Greeting(4));
    }

    #[test]
    fn what_is_not_a_request_is_not_taken_for_one() {
        for (bytes, greeted) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], false),
            (b"CONNECT allowed.test HTTP/1.1\r\n\r\n", false),
            (b"CONNECT :443 HTTP/1.1\r\n\r\n", false),
            (b"GET ftp://allowed.test/ HTTP/1.1\r\n\r\n", false),
            (b"\r\n\r\n", false),
            (&[5, 1, 2], false),
            (&[5, 2, 0, 1, 1, 1, 1, 1, 0, 80], true),
            (&[5, 1, 0, 9], true),
            (&[4, 1], true),
        ] {
            assert_eq!(read(bytes, greeted), Spoken::Malformed, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_confuse_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300), greeted in any::<bool>(), socks in any::<bool>()) {
            let bytes = if socks { [&[5][..], &bytes].concat() } else { [&bytes[..], b"\r\n\r\n"].concat() };
            read(&bytes, greeted);
        }
    }
}
