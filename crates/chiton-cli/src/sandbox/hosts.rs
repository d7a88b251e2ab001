//! Names of hosts, with a port where it is not 80 or 443.

use std::fmt::Display;
use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use chiton_engine::sandbox::policy::HostRule;

/// `example.org`, `*.example.org`, `example.org:22`.
pub(crate) fn parse(text: &str) -> Result<HostRule> {
    if let Some((_, rest)) = text.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        anyhow::bail!("'{text}' is an address of a page: write the host alone, {host}");
    }
    ensure!(
        text.trim_matches(['[', ']']).parse::<IpAddr>().is_err(),
        "'{text}' is an address: the network is allowed by name"
    );
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(super::entry::port(port).with_context(|| format!("'{text}'"))?)),
        None => (text, None),
    };
    ensure!(host.parse::<IpAddr>().is_err(), "'{text}' is an address: the network is allowed by name");
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let name = host.strip_prefix("*.").unwrap_or(&host);
    ensure!(!name.contains('*'), "'{text}': a * stands only before the first dot, as in *.example.org");
    let is_label = |label: &str| {
        let plain = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
        (1..=63).contains(&label.len()) && label.chars().all(plain) && !label.starts_with('-')
    };
    ensure!(
        name.split('.').all(is_label) && name.len() <= 253,
        "'{text}' is not the name of a host: write example.org, *.example.org or example.org:22"
    );
    Ok(HostRule { host, port })
}

/// As it is written in the settings.
pub(crate) fn shown(rule: &HostRule) -> String {
    let port = rule.port.as_ref().map(|port: &u16| -> &dyn Display { port });
    port.map_or_else(|| rule.host.clone(), |port| format!("{}:{port}", rule.host))
}

/// The host that git reaches for a remote; `None` where that is a folder.
pub(crate) fn of_remote(url: &str) -> Option<HostRule> {
    let rule = |host: &str, port: Option<u16>| {
        let mut rule = parse(host).ok()?;
        rule.port = port;
        Some(rule)
    };
    // `ext::sh -c …` names a program, and who knows what that reaches.
    if url.contains("::") {
        return None;
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        // user@host:path; a path has no colon before its first slash.
        let (place, _) = url.split_once(':')?;
        let host = place.rsplit('@').next()?;
        return (!place.contains('/')).then(|| rule(host, Some(22))).flatten();
    };
    let authority = rest.split('/').next()?.rsplit('@').next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (authority, None),
    };
    match scheme {
        "https" | "http" => rule(host, port),
        "ssh" | "git+ssh" | "ssh+git" => rule(host, port.or(Some(22))),
        "git" => rule(host, port.or(Some(9418))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_perhaps_with_a_port() {
        for (text, host, port) in [
            ("Example.ORG.", "example.org", None),
            ("*.example.org", "*.example.org", None),
            ("github.com:22", "github.com", Some(22)),
            ("localhost:5432", "localhost", Some(5432)),
        ] {
            assert_eq!(parse(text).unwrap(), HostRule { host: host.to_owned(), port }, "{text}");
        }
        for (text, word) in [
            ("https://example.org/x", "write the host alone, example.org"),
            ("10.0.0.1", "by name"),
            ("10.0.0.1:80", "by name"),
            ("::1", "by name"),
            ("a b", "not the name of a host"),
            ("", "not the name of a host"),
            ("x.*.org", "before the first dot"),
            ("example.org:http", "not a port"),
            ("example.org:0", "not a port"),
        ] {
            let said = format!("{:#}", parse(text).unwrap_err());
            assert!(said.contains(word), "{text}: {said}");
        }
    }

    #[test]
    fn the_host_of_a_remote_is_the_one_that_git_reaches() {
        for (url, expected) in [
            ("git@github.com:o/r.git", Some("github.com:22")),
            ("host:r.git", Some("host:22")),
            ("ssh://git@git.example.org:2222/r", Some("git.example.org:2222")),
            ("ssh://git.example.org/r", Some("git.example.org:22")),
            ("https://user:word@gitlab.com/o/r.git", Some("gitlab.com")),
            ("https://git.example.org:8443/r", Some("git.example.org:8443")),
            ("git://example.org/r", Some("example.org:9418")),
            ("/srv/git/r.git", None),
            ("../r.git", None),
            ("./a:b", None),
            ("file:///srv/r", None),
            ("ext::sh -c x", None),
        ] {
            assert_eq!(of_remote(url).as_ref().map(shown).as_deref(), expected, "{url}");
        }
    }
}
