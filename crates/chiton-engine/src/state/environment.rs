//! Which variables may reach a command at all.
//!
//! Three classes, by what a variable does ([`chiton_guard::variables`]) and holds ([`tables`]):
//! 1. What makes a program run code, load libraries or parse differently before the command itself does anything. No
//!    everyday work needs that, so it never reaches a child: not from our own environment, not from a call, not from a
//!    session that set it a command earlier.
//! 2. What everyday work needs and what can be turned to harm: search paths, tool options, helper programs, proxies.
//!    The person who runs us has it; a call cannot set it beside its command. In the command itself it can.
//! 3. What looks like a secret, by its name or its value. It is not taken over from our environment; commands reach
//!    secrets by reference. A variable that a command exports itself is its own business, whatever its name.
//!
//! The response names what was kept back.

mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use chiton_guard::variables::{Class, classes, classes_of_just};
use regex::bytes::RegexSet;
use serde::{Deserialize, Serialize};

use super::shell_state::{Value, Variable};
use crate::bytes::ByteString;
use tables::{ALLOWED, HARMLESS, NO_SECRETS, PLAIN_WORDS, SECRET_NAMES, SECRET_PARTS, SECRET_VALUES, WITH_PATH};

/// What the human who set up the engine decided about variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvironmentPolicy {
    /// Of our own environment only what every program needs is taken over, and what `pass` names.
    pub strict: bool,
    /// Names that pass although a rule keeps them back; a trailing `*` stands for any rest.
    pub pass: BTreeSet<String>,
    /// Names that are kept back although no rule says so.
    pub withhold: BTreeSet<String>,
    /// Who makes the calls.
    pub caller: CallerKind,
}

/// Who makes calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallerKind {
    /// An agent: what it sets beside its command is held to class 2.
    #[default]
    Agent,
    /// The person who runs us: what they set is set.
    Person,
}

/// Where a variable comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Our own environment, or that of the login shell.
    Inherited,
    /// The call, for itself alone.
    Call,
    /// A command of the session, earlier.
    Session,
}

/// A variable that was kept from the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedVariable {
    /// Its name.
    pub name: String,
    /// Why, in a few words.
    pub why: String,
}

/// Only in an environment: a shell would take it for a function.
const DISGUISE: &str = "is a function in disguise";
const IS_SECRET: &str = "looks like a secret; commands reach secrets as {{secret:NAME}}";

impl EnvironmentPolicy {
    /// Why a variable of this name and value may not reach a command; `None` when it may.
    pub fn objection(&self, name: &str, value: &[u8], origin: Origin) -> Option<&'static str> {
        if !is_name(name) {
            return Some("is not a name a shell can have");
        }
        if self.pass.iter().any(|pass| fits(pass, name)) {
            return None;
        }
        if let Some(why) = classes(name).find_map(Class::withheld) {
            return Some(why);
        }
        if matches(WITH_PATH, name) && value.contains(&b'/') {
            return Some("names a file that programs read or write by themselves");
        }
        if matches(PLAIN_WORDS, name) && value.iter().any(|byte| matches!(byte, b'/' | b'%')) {
            return Some("is a plain word by its name, and a path or a pattern by its value");
        }
        if name == "TZ" && !is_time_zone(value) {
            return Some("names a time zone by a path of its own");
        }
        if value.starts_with(b"()") {
            return Some(DISGUISE);
        }
        match origin {
            Origin::Inherited => self.objection_to_inherited(name, value),
            Origin::Call if self.caller == CallerKind::Agent => objection_to_given(name, value),
            Origin::Call | Origin::Session => None,
        }
    }

    fn objection_to_inherited(&self, name: &str, value: &[u8]) -> Option<&'static str> {
        if self.withhold.contains(name) {
            return Some("is kept back by the settings");
        }
        if self.strict && !matches(ALLOWED, name) {
            return Some("is not among the few that strict mode takes over");
        }
        looks_secret(name, value).then_some(IS_SECRET)
    }

    /// Takes an environment over: what may reach a command, and what is kept back.
    pub fn inherit(
        &self,
        environment: impl IntoIterator<Item = (String, ByteString)>,
    ) -> (BTreeMap<String, ByteString>, Vec<RemovedVariable>) {
        let (mut kept, mut removed) = (BTreeMap::new(), Vec::new());
        for (name, value) in environment {
            match self.objection_to_inherited_alone(&name, &value) {
                Some(why) => removed.push(RemovedVariable { name, why: why.to_owned() }),
                None => drop(kept.insert(name, value)),
            }
        }
        (kept, removed)
    }

    /// Class 1 is found again, and reported, at every command.
    fn objection_to_inherited_alone(&self, name: &str, value: &[u8]) -> Option<&'static str> {
        let always = self.objection(name, value, Origin::Session).is_some();
        if always { None } else { self.objection(name, value, Origin::Inherited) }
    }

    /// Removes what may not reach a command.
    pub(crate) fn filter(&self, variables: &mut BTreeMap<String, Variable>) -> Vec<RemovedVariable> {
        self.filter_new(variables, &BTreeMap::new())
    }

    /// The same, where nothing has to go of what was `before`.
    pub(crate) fn filter_new(
        &self,
        variables: &mut BTreeMap<String, Variable>,
        before: &BTreeMap<String, Variable>,
    ) -> Vec<RemovedVariable> {
        let mut removed = Vec::new();
        variables.retain(|name, variable| {
            if before.get(name).is_some_and(|before| before == variable) {
                return true;
            }
            let value = if let Value::Scalar(value) = &variable.value { &value[..] } else { b"" };
            let objection = self.objection(name, value, Origin::Session);
            let objection = objection.filter(|why| *why != DISGUISE || variable.is_exported());
            if let Some(why) = objection {
                removed.push(RemovedVariable { name: name.clone(), why: why.to_owned() });
            }
            objection.is_none()
        });
        removed
    }
}

/// Class 2, for a variable that a call sets beside its command.
fn objection_to_given(name: &str, value: &[u8]) -> Option<&'static str> {
    let harmless = std::str::from_utf8(value).is_ok_and(|value| HARMLESS.contains(&value));
    let everyday = classes(name).any(|class| class == Class::Everyday) || name == "PATH";
    (everyday && !harmless).then_some("decides which programs run or whom they trust; set it in the command itself")
}

/// Class 3.
fn looks_secret(name: &str, value: &[u8]) -> bool {
    static VALUES: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(SECRET_VALUES).ok());
    if matches(NO_SECRETS, name)
        || (classes_of_just(name).any(|class| class == Class::Everyday) && !holds_password(value))
    {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    matches(SECRET_NAMES, &upper)
        || upper.split('_').any(|part| SECRET_PARTS.contains(&part))
        || VALUES.as_ref().is_some_and(|values| values.is_match(value))
}

/// `scheme://user:password@…`, in a proxy or an index.
fn holds_password(value: &[u8]) -> bool {
    let rest = memchr::memmem::find(value, b"://").map(|place| &value[place + 3..]);
    let authority = rest.and_then(|rest| rest.split(|byte| *byte == b'/').next()).unwrap_or_default();
    memchr::memchr(b'@', authority).is_some_and(|at| authority[..at].contains(&b':'))
}

fn is_time_zone(value: &[u8]) -> bool {
    let path = value.strip_prefix(b":").unwrap_or(value);
    let outside = path.starts_with(b"/") && !path.starts_with(b"/usr/share/zoneinfo/");
    let odd = memchr::memmem::find(path, b"..").is_some() || path.iter().any(u8::is_ascii_whitespace);
    !outside && !odd && path.len() < 256
}

fn matches(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        _ => pattern == name,
    }
}

/// Whether a shell can have a variable of this name.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// So that nothing waits for a person: set where the environment does not say otherwise.
pub const DEFAULTS: [(&str, &str); 7] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GCM_INTERACTIVE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "true"),
    // An editor that nobody sees takes the text as it is, so `git rebase --continue` goes on instead of hanging.
    ("GIT_EDITOR", "true"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use chiton_guard::variables::VARIABLES;

    #[test]
    fn class_1_never_passes_and_everyday_names_do() {
        let plain = EnvironmentPolicy::default();
        let withheld = VARIABLES.iter().filter(|row| row.class.withheld().is_some());
        for name in withheld.map(|row| row.name.replace('*', "X")) {
            for origin in [Origin::Inherited, Origin::Call, Origin::Session] {
                assert!(plain.objection(&name, b"x", origin).is_some(), "{name}");
            }
        }
        let everyday = [
            "PATH", "HOME", "LOGNAME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID",
            "GIT_AUTHOR_NAME", "EDITOR", "PYTHONPATH", "NODE_OPTIONS", "LDFLAGS", "ENVIRONMENT", "CARGO_HOME",
            "VIRTUAL_ENV", "SSL_CERT_FILE", "KEYBOARD", "MONKEY", "COMPASS", "HTTPS_PROXY",
        ];
        for name in everyday {
            assert_eq!(plain.objection(name, b"/some/where", Origin::Inherited), None, "{name}");
        }
        let by_value = [
            ("TERMINFO", "/tmp/terminfo", true),
            ("GIT_TRACE", "1", false),
            ("GIT_TRACE", "/tmp/log", true),
            ("HARMLESS", "() { :; }", true),
            ("TERM", "xterm-256color", false),
            ("TERM", "../../x", true),
            ("LC_ALL", "en_US.UTF-8", false),
            ("LC_ALL", "%n", true),
            ("TZ", "Europe/Berlin", false),
            ("TZ", ":/usr/share/zoneinfo/UTC", false),
            ("TZ", "/tmp/zone", true),
        ];
        for (name, value, kept_back) in by_value {
            for origin in [Origin::Inherited, Origin::Call, Origin::Session] {
                assert_eq!(plain.objection(name, value.as_bytes(), origin).is_some(), kept_back, "{name}={value}");
            }
        }
    }

    #[test]
    fn class_2_is_the_persons_and_not_the_calls() {
        let agent = EnvironmentPolicy::default();
        let person = EnvironmentPolicy { caller: CallerKind::Person, ..EnvironmentPolicy::default() };
        let everyday = VARIABLES.iter().filter(|row| row.class == Class::Everyday);
        for name in everyday.map(|row| row.name.replace('*', "X")).filter(|name| !name.starts_with("LD_")) {
            assert_eq!(agent.objection(&name, b"value", Origin::Session), None, "{name}");
            assert!(agent.objection(&name, b"value", Origin::Call).is_some(), "{name}");
            assert_eq!(person.objection(&name, b"value", Origin::Call), None, "{name}");
        }
        assert_eq!(agent.objection("PAGER", b"cat", Origin::Call), None);
        assert_eq!(agent.objection("FOO", b"value", Origin::Call), None);
        assert!(agent.objection("PATH", b"/tmp/x:/bin", Origin::Call).is_some());
    }

    #[test]
    fn class_3_is_not_taken_over_and_may_be_set_by_calls_and_commands() {
        let policy = EnvironmentPolicy::default();
        let names = [
            "ANTHROPIC_API_KEY", "OPENAI_ORG", "GEMINI_X", "AWS_SECRET_ACCESS_KEY", "PHOENIX_ENDPOINT", "GITHUB_TOKEN",
            "gh_token", "MyApp_Password", "DB_PASS", "NPM_TOKEN", "SSH_AUTH_SOCK", "DATABASE_URL",
            "AZURE_CONNECTION_STRING", "SESSION_COOKIE", "PGPASSWORD", "CHITON_PASSPHRASE", "X_API_KEY", "HF_HOME",
            "MONGODB_URI",
        ];
        for name in names {
            assert!(policy.objection(name, b"x", Origin::Inherited).is_some(), "{name}");
            for origin in [Origin::Call, Origin::Session] {
                assert_eq!(policy.objection(name, b"x", origin), None, "{name}");
            }
        }
        for name in ["CARGO_REGISTRIES_X_TOKEN", "npm_config__auth"] {
            assert!(policy.objection(name, b"x", Origin::Inherited).is_some(), "{name}");
        }
        // Put together here, so that no scanner takes this file for a leak.
        let values = [
            format!("-----BEGIN {} KEY-----", "RSA PRIVATE"),
            "postgres://user:pass@host/db".to_owned(),
            format!("gh{}_{}", "p", "a1B2".repeat(9)),
            format!("{}{}", "AKIA", "ABCDEFGHIJKLMNOP"),
            format!("ey{}.ey{}.abcdef", "JhbGciOiJIUzI1NiJ9", "JzdWIiOiIxMjM0In0"),
            format!("sk{}{}", "-", "x".repeat(24)),
            format!("xox{}-{}", "b", "1".repeat(12)),
        ];
        for value in &values {
            assert!(policy.objection("INNOCENT", value.as_bytes(), Origin::Inherited).is_some(), "{value}");
        }
        assert!(policy.objection("HTTPS_PROXY", b"http://user:pass@proxy:8080", Origin::Inherited).is_some());
        for value in ["https://example.com/a:b@c", "plain", "/usr/share/sk-things", "user@host:path"] {
            assert_eq!(policy.objection("INNOCENT", value.as_bytes(), Origin::Inherited), None, "{value}");
        }
    }

    #[test]
    fn what_the_human_lets_pass_passes_and_strict_mode_takes_over_little() {
        let pass = ["LD_LIBRARY_PATH", "GITHUB_TOKEN", "MY_*"].map(str::to_owned).into();
        let policy = EnvironmentPolicy { pass, strict: true, ..Default::default() };
        for name in ["LD_LIBRARY_PATH", "GITHUB_TOKEN", "MY_SECRET", "PATH", "HOME", "TZ"] {
            assert_eq!(policy.objection(name, b"value", Origin::Inherited), None, "{name}");
        }
        for name in ["LD_PRELOAD", "EDITOR", "XDG_RUNTIME_DIR", "FOO"] {
            assert!(policy.objection(name, b"x", Origin::Inherited).is_some(), "{name}");
        }
        assert_eq!(policy.objection("FOO", b"x", Origin::Session), None);
    }

    #[test]
    fn names_are_what_a_shell_accepts() {
        for (name, good) in [("A", true), ("_a1", true), ("1a", false), ("", false), ("a-b", false), ("\u{e4}", false)]
        {
            assert_eq!(is_name(name), good, "{name}");
        }
    }
}
