//! Which names, addresses and ports may be reached.

use std::net::IpAddr;

use crate::sandbox::policy::HostRule;

/// What a rule without a port stands for.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// The resolver inside listens here, so no rule can name it.
pub(super) const DNS_PORT: u16 = 53;

/// The rules of a policy, ready to be asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Name(String),
    /// Every name below this one, which begins with a dot.
    Below(String),
    EveryName,
    Address(IpAddr),
}

impl Rules {
    pub(super) fn new(rules: &[HostRule]) -> Self {
        Self(rules.iter().map(Rule::new).collect())
    }

    pub(super) fn add(&mut self, rule: &HostRule) {
        let rule = Rule::new(rule);
        if !self.0.contains(&rule) {
            self.0.push(rule);
        }
    }

    /// Whether a name may be reached at any port.
    pub(super) fn know(&self, name: &str) -> bool {
        self.0.iter().any(|rule| rule.host.is_name(name))
    }

    pub(super) fn allow(&self, name: &str, port: u16) -> bool {
        self.0.iter().any(|rule| rule.host.is_name(name) && rule.has_port(port))
    }

    /// Whether a rule names this very address, with any port.
    pub(super) fn know_address(&self, address: IpAddr) -> bool {
        self.0.iter().any(|rule| rule.host == Host::Address(address))
    }

    pub(super) fn allow_address(&self, address: IpAddr, port: u16) -> bool {
        self.0.iter().any(|rule| rule.host == Host::Address(address) && rule.has_port(port))
    }

    /// Every port that a rule names.
    pub(super) fn ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self.0.iter().flat_map(Rule::ports).copied().collect();
        ports.retain(|port| *port != DNS_PORT && *port != 0);
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

impl Rule {
    fn new(rule: &HostRule) -> Self {
        Self { host: Host::new(&rule.host), port: rule.port }
    }

    fn ports(&self) -> &[u16] {
        self.port.as_ref().map_or(&USUAL_PORTS, std::slice::from_ref)
    }

    fn has_port(&self, port: u16) -> bool {
        self.ports().contains(&port)
    }
}

impl Host {
    fn new(text: &str) -> Self {
        let literal = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = literal.parse::<IpAddr>() {
            return Self::Address(address.to_canonical());
        }
        let name = plain_name(text);
        match name.strip_prefix('*') {
            Some("") => Self::EveryName,
            Some(below) if below.starts_with('.') => Self::Below(below.to_owned()),
            _ => Self::Name(name),
        }
    }

    fn is_name(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            // Something has to stand before the dot.
            Self::Below(end) => name.len() > end.len() && name.ends_with(end.as_str()),
            Self::EveryName => true,
            Self::Address(_) => false,
        }
    }
}

/// A name as names are compared: in lower case, without a trailing dot.
pub(super) fn plain_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[(&str, Option<u16>)]) -> Rules {
        let rules: Vec<_> = texts.iter().map(|(host, port)| HostRule { host: (*host).into(), port: *port }).collect();
        Rules::new(&rules)
    }

    #[test]
    fn a_name_is_allowed_by_its_own_rule_and_by_no_other() {
        let rules = rules(&[
            ("example.org", None),
            ("*.cdn.example", None),
            ("git.example", Some(22)),
            ("Upper.Example.", Some(8080)),
            ("xn--bcher-kva.example", None),
        ]);
        for (name, port, allowed) in [
            ("example.org", 80, true),
            ("example.org", 443, true),
            ("example.org", 8080, false),
            ("www.example.org", 443, false),
            ("badexample.org", 443, false),
            ("example.org.evil.example", 443, false),
            ("a.cdn.example", 443, true),
            ("a.b.cdn.example", 443, true),
            ("cdn.example", 443, false),
            (".cdn.example", 443, false),
            ("evilcdn.example", 443, false),
            ("git.example", 22, true),
            ("git.example", 443, false),
            ("upper.example", 8080, true),
            ("xn--bcher-kva.example", 443, true),
            ("", 443, false),
        ] {
            assert_eq!(rules.allow(name, port), allowed, "{name}:{port}");
        }
        assert!(rules.know("git.example") && !rules.know("cdn.example"));
        assert_eq!(rules.ports(), [22, 80, 443, 8080]);
    }

    #[test]
    fn an_address_is_allowed_by_a_rule_that_names_it() {
        let rules = rules(&[("10.0.0.7", Some(5432)), ("[2001:db8::7]", None), ("*", Some(443))]);
        for (address, port, allowed) in [
            ("10.0.0.7", 5432, true),
            ("10.0.0.7", 443, false),
            ("10.0.0.8", 5432, false),
            ("2001:db8::7", 443, true),
            ("203.0.113.1", 443, false),
        ] {
            assert_eq!(rules.allow_address(address.parse().unwrap(), port), allowed, "{address}:{port}");
        }
        assert!(rules.allow("any.example", 443) && !rules.allow("any.example", 80));
    }
}
