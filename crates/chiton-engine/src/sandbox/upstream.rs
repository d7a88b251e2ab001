//! The proxy that the machine itself has to use, where it has one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest answer of a proxy before its tunnel begins.
pub(crate) const ANSWER_BYTES: usize = 16 * 1024;

/// An HTTP proxy that connects to others on request.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Value of the header with which we prove who we are.
    authorization: Option<String>,
    /// Names, and ends of names, that are dialled without it.
    except: Vec<String>,
}

impl Upstream {
    /// Reads what `https_proxy` and `no_proxy` hold, as in `http://user:word@proxy.example:3128` and
    /// `.corp.example,10.0.0.7`. `None` for a proxy of another kind.
    pub fn parse(proxy: &str, except: &str) -> Option<Self> {
        let rest = match proxy.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return None,
            None => proxy,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let (credentials, place) = match authority.rsplit_once('@') {
            Some((credentials, place)) => (Some(credentials), place),
            None => (None, authority),
        };
        let (host, port) = split_port(place)?;

        Some(Self {
            host: host.to_owned(),
            port,
            authorization: credentials.map(|text| format!("Basic {}", base64(&percent_decoded(text)))),
            except: except
                .split(',')
                .map(|name| name.trim().to_ascii_lowercase())
                .filter(|name| !name.is_empty())
                .collect(),
        })
    }

    /// Whether a value of `http_proxy` or its like means this very proxy, whoever logs in there.
    pub(crate) fn is_meant_by(&self, proxy: &str) -> bool {
        Self::parse(proxy, "").is_some_and(|other| (&other.host, other.port) == (&self.host, self.port))
    }

    /// Whether this host is dialled through the proxy.
    pub(crate) fn serves(&self, host: &str) -> bool {
        !self.except.iter().any(|except| {
            let end = except.trim_start_matches('*').trim_start_matches('.');
            except == "*" || host == end || host.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'))
        })
    }

    /// The request for a tunnel.
    pub(crate) fn request(&self, host: &str, port: u16) -> Vec<u8> {
        let place = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n");
        if let Some(authorization) = &self.authorization {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        request.into_bytes()
    }
}

/// Without what proves who we are.
impl fmt::Debug for Upstream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Upstream({}:{})", self.host, self.port)
    }
}

/// What a proxy says to the request for a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TunnelAnswer {
    /// The tunnel begins after so many bytes.
    Open(usize),
    Refused,
    Incomplete,
}

pub(crate) fn read_answer(bytes: &[u8]) -> TunnelAnswer {
    let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else {
        return if bytes.len() < ANSWER_BYTES { TunnelAnswer::Incomplete } else { TunnelAnswer::Refused };
    };
    let status = bytes.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(1..5));
    match status {
        Some([b' ', b'2', tens, ones]) if tens.is_ascii_digit() && ones.is_ascii_digit() => TunnelAnswer::Open(end + 4),
        _ => TunnelAnswer::Refused,
    }
}

fn split_port(place: &str) -> Option<(&str, u16)> {
    const USUAL: u16 = 80;
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, after.strip_prefix(':'))
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let port = port.filter(|port| !port.is_empty()).map_or(Some(USUAL), |port| port.parse().ok())?;
    (!host.is_empty()).then_some((host, port))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let byte = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        let (byte, after) = match byte.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => (byte, &after[2..]),
            None => (*first, after),
        };
        decoded.push(byte);
        rest = after;
    }
    decoded
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().enumerate().fold(0u32, |bits, (place, byte)| bits | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_read_as_programs_read_it() {
        for (text, expected) in [
            ("http://proxy.example:3128", Some(("proxy.example", 3128, None))),
            ("HTTP://proxy.example:3128/", Some(("proxy.example", 3128, None))),
            ("proxy.example:8080", Some(("proxy.example", 8080, None))),
            ("http://proxy.example", Some(("proxy.example", 80, None))),
            ("http://me:w%40rd@proxy.example:3128", Some(("proxy.example", 3128, Some("Basic bWU6d0ByZA==")))),
            ("http://[2001:db8::1]:3128", Some(("2001:db8::1", 3128, None))),
            ("socks5://proxy.example:1080", None),
            ("http://proxy.example:port", None),
            ("http://", None),
        ] {
            let read = Upstream::parse(text, "");
            let parts = read.as_ref().map(|read| (read.host.as_str(), read.port, read.authorization.as_deref()));
            assert_eq!(parts, expected, "{text}");
        }
    }

    #[test]
    fn a_host_that_is_excepted_is_dialled_directly() {
        let proxy = Upstream::parse("proxy.example:1", "corp.example, .inner.example,10.0.0.7").unwrap();
        for (host, serves) in [
            ("corp.example", false),
            ("a.corp.example", false),
            ("notcorp.example", true),
            ("x.inner.example", false),
            ("10.0.0.7", false),
            ("10.0.0.70", true),
            ("example.org", true),
        ] {
            assert_eq!(proxy.serves(host), serves, "{host}");
        }
        assert!(!Upstream::parse("proxy.example:1", "*").unwrap().serves("example.org"));
    }

    #[test]
    fn a_login_is_not_shown() {
        let proxy = Upstream::parse("http://me:word@proxy.example:3128", "").unwrap();
        assert_eq!(format!("{proxy:?}"), "Upstream(proxy.example:3128)");
        assert!(proxy.is_meant_by("http://proxy.example:3128/") && !proxy.is_meant_by("http://127.0.0.1:3128"));
    }

    #[test]
    fn a_tunnel_is_open_once_the_proxy_has_said_so_in_full() {
        for (answer, expected) in [
            ("HTTP/1.1 200 Connection established\r\n\r\n", TunnelAnswer::Open(39)),
            ("HTTP/1.0 200\r\nVia: x\r\n\r\nSSH-2.0", TunnelAnswer::Open(24)),
            ("HTTP/1.1 200 OK\r\n", TunnelAnswer::Incomplete),
            ("HTTP/1.1 403 Forbidden\r\n\r\n", TunnelAnswer::Refused),
            ("HTTP/1.1 2x0 \r\n\r\n", TunnelAnswer::Refused),
            ("SSH-2.0\r\n\r\n", TunnelAnswer::Refused),
        ] {
            assert_eq!(read_answer(answer.as_bytes()), expected, "{answer:?}");
        }
        assert_eq!(read_answer(&[b'x'; ANSWER_BYTES]), TunnelAnswer::Refused);
    }
}
