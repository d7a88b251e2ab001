//! Which requests are answered. The head of a request decides, before anybody reads a byte of its body.
//!
//! 1. It names this server, and comes from the page itself: another page that a browser shows gets nothing, not even one
//!    of another server on this machine, with which the browser shares our cookie.
//! 2. It has the cookie that the link has set.
//! 3. One that changes something also has the token that the page was given, says where it comes from, and is JSON.
//! 4. It does not come from a command that Chiton runs: such a command must not answer the question that is asked about it.

use std::net::SocketAddr;

use chiton_engine::peer::is_same_secret;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};

use super::kept::{Kept, random_key};

/// The largest head, and how many headers it may have.
pub(super) const HEAD_BYTES: usize = 64 << 10;
pub(super) const MOST_HEADERS: usize = 64;
/// The largest body.
pub(super) const BODY_BYTES: usize = 256 << 10;
/// Where a browser says which page a request comes from.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Where the page says that a request is its own.
const TOKEN: HeaderName = HeaderName::from_static("x-chiton-token");

pub(super) struct Gate {
    hosts: [String; 2],
    cookie: String,
    kept: Kept,
    token: String,
}

/// A request that may be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// By a link that was not used before: the cookie is to be set.
    ByLink,
    /// By its cookie.
    ByCookie,
}

/// Why a request is not answered, in words for the person who sees it.
pub(super) type Turned = (StatusCode, &'static str);

impl Gate {
    pub(super) fn new(address: SocketAddr, kept: Kept) -> Self {
        let port = address.port();
        Self {
            hosts: [address.to_string(), format!("localhost:{port}")],
            // A browser keeps one set of cookies for all ports of a machine.
            cookie: format!("chiton_ui_{port}"),
            kept,
            token: random_key(),
        }
    }

    /// What a request that changes something has to show.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// The header that sets the cookie.
    pub(super) fn set_cookie(&self) -> String {
        let year = 365 * 24 * 60 * 60;
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={year}", self.cookie, self.kept.key())
    }

    pub(super) fn check(&self, head: &Parts) -> Result<Admitted, Turned> {
        self.check_source(head)?;
        match head.method {
            Method::GET => {}
            Method::POST => self.check_change(head)?,
            _ => return Err((StatusCode::METHOD_NOT_ALLOWED, "there is only GET and POST here")),
        }
        if self.has_cookie(head)? {
            return Ok(Admitted::ByCookie);
        }
        match link_key(head) {
            Some(key) if self.kept.use_link(key) => Ok(Admitted::ByLink),
            Some(_) => {
                let why = "This link was used before, or is none. Run `chiton ui` again for another one.";
                Err((StatusCode::FORBIDDEN, why))
            }
            None => Err((StatusCode::UNAUTHORIZED, "Open the link that `chiton ui` prints.")),
        }
    }

    /// That a request is for us, and from our own page or a person.
    fn check_source(&self, head: &Parts) -> Result<(), Turned> {
        let host = only(head, &HOST)?.ok_or((StatusCode::BAD_REQUEST, "a Host header is needed"))?;
        let named = head.uri.authority().map_or(host, http::uri::Authority::as_str);
        if ![host, named].iter().all(|name| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))) {
            return Err((StatusCode::FORBIDDEN, "this server is not known by that Host"));
        }
        if let Some(origin) = only(head, &ORIGIN)?
            && origin.strip_prefix("http://").is_none_or(|origin| !origin.eq_ignore_ascii_case(host))
        {
            return Err((StatusCode::FORBIDDEN, "requests of that Origin are not answered"));
        }
        // A link to the page may stand anywhere. Without its cookie, which a browser does not send then, it shows nothing.
        let is_entrance = head.method == Method::GET && head.uri.path() == "/";
        let site = only(head, &SITE)?.unwrap_or("none");
        if !is_entrance && !matches!(site, "same-origin" | "none") {
            return Err((StatusCode::FORBIDDEN, "requests of other pages are not answered"));
        }
        Ok(())
    }

    /// That a request which changes something comes from our own page for certain.
    fn check_change(&self, head: &Parts) -> Result<(), Turned> {
        if only(head, &ORIGIN)?.is_none() {
            return Err((StatusCode::FORBIDDEN, "an Origin header is needed"));
        }
        let kind = only(head, &CONTENT_TYPE)?.unwrap_or_default();
        if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body has to be application/json"));
        }
        if !only(head, &TOKEN)?.is_some_and(|token| is_same_secret(token.as_bytes(), self.token.as_bytes())) {
            return Err((StatusCode::FORBIDDEN, "the token of the page is needed; load the page anew"));
        }
        let length = only(head, &CONTENT_LENGTH)?;
        if length.is_some_and(|length| !length.parse::<usize>().is_ok_and(|length| length <= BODY_BYTES)) {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "the body may have 256 KiB at most"));
        }
        Ok(())
    }

    fn has_cookie(&self, head: &Parts) -> Result<bool, Turned> {
        let mut found = false;
        for value in head.headers.get_all(COOKIE) {
            let text = value.to_str().map_err(|_| (StatusCode::BAD_REQUEST, "a header is not text"))?;
            for (name, value) in text.split(';').filter_map(|pair| pair.trim().split_once('=')) {
                found |= name == self.cookie && is_same_secret(value.as_bytes(), self.kept.key().as_bytes());
            }
        }
        Ok(found)
    }
}

/// The key in the address of a link.
pub(super) fn link_key(head: &Parts) -> Option<&str> {
    if head.method != Method::GET || head.uri.path() != "/" {
        return None;
    }
    head.uri.query()?.split('&').find_map(|pair| pair.strip_prefix("key="))
}

/// The value of a header that may be there once.
fn only<'a>(head: &'a Parts, name: &HeaderName) -> Result<Option<&'a str>, Turned> {
    let mut values = head.headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| (StatusCode::BAD_REQUEST, "a header is not text")),
        (Some(_), Some(_)) => Err((StatusCode::BAD_REQUEST, "a header is there more than once")),
    }
}
