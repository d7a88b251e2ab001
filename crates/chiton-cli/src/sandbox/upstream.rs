//! The proxy that the machine has to use: allowed names are dialled through it, and commands do not learn of it.

use anyhow::{Context, Result};
use chiton_engine::sandbox::Upstream;

/// Where programs look for it, the first one first.
const PROXIES: [&str; 6] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy", "HTTP_PROXY"];
const EXCEPT: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// In the settings: there is none, whatever the environment says.
const NONE: &str = "none";

/// What the settings say, or else the environment, of which `variable` gives the values.
pub(crate) fn upstream(setting: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Upstream>> {
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let except = first(&EXCEPT).unwrap_or_default();
    match setting {
        Some(NONE) => Ok(None),
        Some(text) => Upstream::parse(text, &except).map(Some).with_context(|| {
            // The text itself may hold a password.
            "upstream in [sandbox] of the settings is not an HTTP proxy: write \"http://HOST:PORT\", or \"none\""
        }),
        None => Ok(first(&PROXIES).and_then(|text| Upstream::parse(&text, &except))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_come_first_and_then_the_variables_that_programs_read() {
        for (setting, variables, expected) in [
            (None, &[][..], None),
            (None, &[("HTTP_PROXY", "http://me:word@a.example:1")], Some("a.example:1")),
            (None, &[("http_proxy", "a.example:1"), ("HTTPS_PROXY", "b.example:2")], Some("b.example:2")),
            (None, &[("https_proxy", ""), ("all_proxy", "b.example:2")], Some("b.example:2")),
            (None, &[("ALL_PROXY", "socks5://b.example:2")], None),
            (Some("none"), &[("HTTP_PROXY", "a.example:1")], None),
            (Some("http://c.example:3"), &[("HTTP_PROXY", "a.example:1")], Some("c.example:3")),
        ] {
            let value = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value): &(&str, &str)| (*value).to_owned())
            };
            let found = upstream(setting, value).unwrap();
            let expected = expected.map(|place| format!("Upstream({place})"));
            assert_eq!(found.map(|found| format!("{found:?}")), expected, "{setting:?} {variables:?}");
        }
        let error = upstream(Some("socks5://me:word@c.example:3"), |_| None).unwrap_err().to_string();
        assert!(error.contains("upstream") && !error.contains("word"), "{error}");
    }
}
