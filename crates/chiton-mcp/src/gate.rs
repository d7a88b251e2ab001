//! Which HTTP requests are accepted. The head of a request decides, before anybody reads a byte of its body.

use chiton_engine::peer::is_same_secret;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};

/// The one path there is.
pub(crate) const PATH: &str = "/mcp";
/// The largest body that is read.
pub(crate) const MOST_BYTES: usize = 32 << 20;

/// What a request has to show.
pub(crate) struct Gate {
    /// Exactly what `Host` may be.
    pub(crate) hosts: Vec<String>,
    /// Exactly what `Origin` may be, where there is one.
    pub(crate) origins: Vec<String>,
    pub(crate) token: String,
}

/// Why a request is not accepted.
pub(crate) type Turned = (StatusCode, &'static str);

impl Gate {
    pub(crate) fn check(&self, head: &Parts) -> Result<(), Turned> {
        let host = only(head, &HOST, "one Host header is needed, no more and no less")?
            .ok_or((StatusCode::BAD_REQUEST, "a Host header is needed"))?;
        let named = head.uri.authority().map_or(host, http::uri::Authority::as_str);
        if ![host, named].iter().all(|name| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))) {
            return Err((StatusCode::FORBIDDEN, "this server is not known by that Host"));
        }
        if let Some(origin) = only(head, &ORIGIN, "there is more than one Origin header")?
            && !self.origins.iter().any(|known| known == origin)
        {
            return Err((StatusCode::FORBIDDEN, "requests of that Origin are not accepted"));
        }
        // Before the token: a client without one looks for an OAuth server at well-known paths, and takes any answer but
        // 404 for a sign that there is one to register with.
        if head.uri.path() != PATH {
            return Err((StatusCode::NOT_FOUND, "there is only /mcp here"));
        }
        let given = only(head, &AUTHORIZATION, "there is more than one Authorization header")?;
        let given = given.and_then(|given| given.split_once(' '));
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        if !given.is_some_and(|given| is_same_secret(given.as_bytes(), self.token.as_bytes())) {
            return Err((StatusCode::UNAUTHORIZED, "a bearer token is needed; it is in the server's token file"));
        }
        if head.method == Method::POST {
            let kind = only(head, &CONTENT_TYPE, "there is more than one Content-Type header")?.unwrap_or_default();
            let kind = kind.split(';').next().unwrap_or_default().trim();
            if !kind.eq_ignore_ascii_case("application/json") {
                return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body has to be application/json"));
            }
        }
        let length = only(head, &CONTENT_LENGTH, "there is more than one Content-Length header")?;
        let fits = |length: &str| length.parse::<u64>().is_ok_and(|length| length <= MOST_BYTES as u64);
        if length.is_some_and(|length| !fits(length)) {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "the body may have 32 MiB at most"));
        }
        Ok(())
    }
}

/// The value of a header that may be there once.
fn only<'a>(head: &'a Parts, name: &HeaderName, otherwise: &'static str) -> Result<Option<&'a str>, Turned> {
    let mut values = head.headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    match (first, second) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| (StatusCode::BAD_REQUEST, "a header is not text")),
        (Some(_), Some(_)) => Err((StatusCode::BAD_REQUEST, otherwise)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn judge(headers: &[(&str, &str)], target: &str, method: Method) -> u16 {
        let gate = Gate {
            hosts: vec!["127.0.0.1:80".to_owned(), "localhost:80".to_owned()],
            origins: vec!["https://good.example".to_owned()],
            token: "secret".to_owned(),
        };
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        gate.check(&head).err().map_or(200, |(status, _)| status.as_u16())
    }

    #[test]
    fn only_what_shows_everything_comes_in() {
        let good = [("host", "localhost:80"), ("authorization", "Bearer secret"), ("content-type", "application/json")];
        let without = |name: &str| good.into_iter().filter(|(known, _)| *known != name).collect::<Vec<_>>();
        let with = |name: &'static str, value: &'static str| {
            let mut headers = without(name);
            headers.push((name, value));
            headers
        };
        let cases: Vec<(Vec<(&str, &str)>, u16)> = vec![
            (good.to_vec(), 200),
            (with("origin", "https://good.example"), 200),
            (with("authorization", "bearer secret"), 200),
            (with("content-type", "application/json; charset=utf-8"), 200),
            (without("authorization"), 401),
            (with("authorization", "Bearer secre"), 401),
            (with("authorization", "Bearer secretx"), 401),
            (with("authorization", "Bearer"), 401),
            (with("authorization", "Basic secret"), 401),
            (without("host"), 400),
            ([good.as_slice(), &[("host", "localhost:80")]].concat(), 400),
            (with("host", "localhost"), 403),
            (with("host", "localhost:81"), 403),
            (with("host", "evil.example"), 403),
            (with("host", "localhost:80.evil.example"), 403),
            (with("origin", "https://evil.example"), 403),
            (with("origin", "null"), 403),
            (with("origin", "http://localhost:80"), 403),
            (without("content-type"), 415),
            (with("content-type", "text/plain"), 415),
            (with("content-length", "104857600"), 413),
            (with("content-length", "many"), 413),
        ];
        for (headers, expected) in cases {
            assert_eq!(judge(&headers, PATH, Method::POST), expected, "{headers:?}");
        }
        assert_eq!(judge(&good, "/", Method::POST), 404);
        for path in [
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server/mcp",
            "/.well-known/openid-configuration",
            "/mcp/.well-known/openid-configuration",
            "/register",
            "/authorize",
            "/token",
            "/",
            "/mcp/",
            "/other",
        ] {
            for headers in [without("authorization"), good.to_vec(), with("authorization", "Bearer wrong")] {
                assert_eq!(judge(&headers, path, Method::GET), 404, "{path} {headers:?}");
            }
            assert_eq!(judge(&with("host", "evil.example"), path, Method::GET), 403, "{path}");
            assert_eq!(judge(&with("origin", "https://evil.example"), path, Method::GET), 403, "{path}");
        }
        assert_eq!(judge(&good, "http://evil.example/mcp", Method::POST), 403);
        assert_eq!(judge(&without("content-type"), PATH, Method::DELETE), 200);
    }
}
