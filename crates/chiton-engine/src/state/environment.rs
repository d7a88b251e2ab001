//! Which variables may reach a command at all.
//!
//! Three classes, by what a variable does ([`chiton_guard::variables`]) and what it looks like ([`chiton_redact::look`]):
//! 1. What makes a program run code, load libraries or parse differently before the command itself does anything. It
//!    never reaches a child, but for what belongs to the session of the person who runs us and is as they have it:
//!    `LD_LIBRARY_PATH`, `JAVA_TOOL_OPTIONS`, the functions of a cluster's modules.
//! 2. What everyday work needs and what can be turned to harm: search paths, tool options, helper programs, proxies.
//!    The person who runs us has it; a call cannot set it beside its command. In the command itself it can.
//! 3. What looks like a secret, by its name and its value. It is not taken over from our environment; commands reach
//!    secrets by reference. A variable that a command exports itself is its own business, whatever its name.
//!
//! The response names what was kept back; [`mention`] says so to whoever misses it.

mod function;
pub(crate) mod mention;
mod tables;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use chiton_guard::variables::{Class, classes, is_persons_own};
use chiton_redact::look::{Look, look};
use chiton_redact::{Reference, SecretValue};
use serde::{Deserialize, Serialize};

use super::shell_state::{Function, Value, Variable};
use crate::bytes::ByteString;
pub(crate) use function::function_of;
use tables::{ALLOWED, CAREFUL, HARMLESS, PLAIN_WORDS, WITH_PATH};

/// What the human who set up the engine decided about variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EnvironmentPolicy {
    /// Of our own environment only what every program needs is taken over, and what `pass` names.
    pub strict: bool,
    /// What some tool surfaces promise: nothing of class 1 passes, whoever has it, and nothing of the services whose
    /// variables hold keys.
    pub careful: bool,
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

/// An environment, and what became of it.
#[derive(Clone, Debug, Default)]
pub struct TakenOver {
    /// What may reach a command.
    pub variables: BTreeMap<String, ByteString>,
    /// Functions that another shell has exported.
    pub functions: BTreeMap<ByteString, Function>,
    /// What is kept back.
    pub removed: Vec<RemovedVariable>,
    /// What passes only as long as nobody changes it.
    pub(crate) own: BTreeMap<String, Variable>,
    /// Passwords of proxies, and what stands for each in all output.
    pub masked: Vec<(Reference, SecretValue)>,
}

/// Why a variable may not reach a command, in words that follow its name.
pub type Objection = Cow<'static, str>;

/// Only in an environment: a shell would take it for a function.
const DISGUISE: &str = "is a function in disguise";

impl EnvironmentPolicy {
    /// Why a variable of this name and value may not reach a command; `None` when it may.
    pub fn objection(&self, name: &str, value: &[u8], origin: Origin) -> Option<Objection> {
        if self.is_passed(name) && (is_name(name) || function_of(name, value).is_some()) {
            return None;
        }
        if !self.keeps_to_itself() && origin == Origin::Inherited && function_of(name, value).is_some() {
            return None;
        }
        if !is_name(name) {
            return Some("is not a name a shell can have".into());
        }
        if let Some(why) = classes(name).find_map(Class::withheld) {
            let is_own = origin == Origin::Inherited && !self.keeps_to_itself() && is_persons_own(name, value);
            if !is_own {
                return Some(why.into());
            }
        }
        if let Some(why) = objection_to_value(name, value) {
            return Some(why.into());
        }
        match origin {
            Origin::Inherited => self.objection_to_inherited(name, value),
            Origin::Call if self.caller == CallerKind::Agent => objection_to_given(name, value).map(Cow::Borrowed),
            Origin::Call | Origin::Session => None,
        }
    }

    fn is_passed(&self, name: &str) -> bool {
        self.pass.iter().any(|pass| fits(pass, name))
    }

    /// Whether nothing of class 1 passes.
    fn keeps_to_itself(&self) -> bool {
        self.strict || self.careful
    }

    fn objection_to_inherited(&self, name: &str, value: &[u8]) -> Option<Objection> {
        if self.withhold.contains(name) {
            return Some("is kept back by the settings".into());
        }
        if self.strict && !matches(ALLOWED, name) {
            return Some("is not among the few that strict mode takes over".into());
        }
        if self.careful && matches(CAREFUL, name) {
            return Some("belongs to a service whose variables hold keys".into());
        }
        match look(name, value) {
            Look::Secret(sign) => Some(sign.to_string().into()),
            Look::Plain | Look::Proxy(_) => None,
        }
    }

    /// Takes an environment over: what may reach a command, and what is kept back.
    pub fn inherit(&self, environment: impl IntoIterator<Item = (String, ByteString)>) -> TakenOver {
        let mut taken = TakenOver::default();
        for (name, value) in environment {
            // Every command has its own.
            if name == IS_OURS.0 {
                continue;
            }
            let is_always_kept_back = self.objection(&name, &value, Origin::Session).is_some();
            let objection = self.objection(&name, &value, Origin::Inherited);
            match objection {
                // Class 1 is found again, and reported, at every command.
                Some(_) if is_always_kept_back => drop(taken.variables.insert(name, value)),
                Some(why) => taken.removed.push(RemovedVariable { name, why: why.into_owned() }),
                None => {
                    if let Some((name, function)) = function_of(&name, &value) {
                        taken.functions.insert(name, function);
                        continue;
                    }
                    if is_always_kept_back {
                        taken.own.insert(name.clone(), Variable::exported(Value::Scalar(value.clone())));
                    }
                    taken.masked.extend(passwords(&name, &value));
                    taken.variables.insert(name, value);
                }
            }
        }
        taken
    }

    /// Removes what may not reach a command, or makes it what it was `before`.
    pub(crate) fn filter(
        &self,
        variables: &mut BTreeMap<String, Variable>,
        before: &BTreeMap<String, Variable>,
    ) -> Vec<RemovedVariable> {
        let mut removed = Vec::new();
        variables.retain(|name, variable| {
            let before = before.get(name);
            if before.is_some_and(|before| before == variable) {
                return true;
            }
            let value = if let Value::Scalar(value) = &variable.value { &value[..] } else { b"" };
            let objection = self.objection(name, value, Origin::Session);
            let objection = objection.filter(|why| *why != DISGUISE || variable.is_exported());
            let Some(why) = objection else { return true };
            removed.push(RemovedVariable { name: name.clone(), why: why.into_owned() });
            before.map(|before| variable.clone_from(before)).is_some()
        });
        removed
    }
}

/// What stands for the password of a proxy in all output, with what is to be masked. No password is too short to be
/// masked together with its user.
pub fn passwords(name: &str, value: &[u8]) -> Vec<(Reference, SecretValue)> {
    // A closer look takes long, and nothing else is a proxy.
    if !name.to_ascii_lowercase().contains("proxy") {
        return Vec::new();
    }
    let Look::Proxy(texts) = look(name, value) else { return Vec::new() };
    let Some(reference) = Reference::secret(&format!("{name}.password")) else { return Vec::new() };
    texts.into_iter().map(|text| (reference.clone(), SecretValue::new(text))).collect()
}

/// What a value must not be, whoever set it.
fn objection_to_value(name: &str, value: &[u8]) -> Option<&'static str> {
    if matches(WITH_PATH, name) && value.contains(&b'/') {
        return Some("names a file that programs read or write by themselves");
    }
    if matches(PLAIN_WORDS, name) && value.iter().any(|byte| matches!(byte, b'/' | b'%')) {
        return Some("is a plain word by its name, and a path or a pattern by its value");
    }
    if name == "TZ" && !is_time_zone(value) {
        return Some("names a time zone by a path of its own");
    }
    value.starts_with(b"()").then_some(DISGUISE)
}

/// Class 2, for a variable that a call sets beside its command.
fn objection_to_given(name: &str, value: &[u8]) -> Option<&'static str> {
    let harmless = std::str::from_utf8(value).is_ok_and(|value| HARMLESS.contains(&value));
    let everyday = classes(name).any(|class| class == Class::Everyday) || name == "PATH";
    (everyday && !harmless).then_some("decides which programs run or whom they trust; set it in the command itself")
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

/// By which a command, or a start-up file, sees that it runs in Chiton. It is set anew at the start of every command,
/// whatever an earlier one or the call has made of it, and is not part of a session's state. Only a call that replaces
/// the whole environment goes without it.
pub const IS_OURS: (&str, &str) = ("CHITON", "1");

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
    fn class_1_passes_only_from_the_person_and_everyday_names_do() {
        let (plain, careful) =
            (EnvironmentPolicy::default(), EnvironmentPolicy { careful: true, ..EnvironmentPolicy::default() });
        let withheld = VARIABLES.iter().filter(|row| row.class.withheld().is_some());
        for name in withheld.map(|row| row.name.replace('*', "X")) {
            for origin in [Origin::Call, Origin::Session] {
                assert!(plain.objection(&name, b"x", origin).is_some(), "{name}");
            }
            assert!(careful.objection(&name, b"x", Origin::Inherited).is_some(), "{name}");
        }
        let own = [
            ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64"),
            ("JAVA_TOOL_OPTIONS", "-Xmx1g"),
            ("_JAVA_OPTIONS", "-Xmx1g"),
            ("GIT_CONFIG_GLOBAL", "/home/dev/.gitconfig"),
            ("BASH_FUNC_module%%", "() { eval \"$($LMOD_CMD bash \"$@\")\"; }"),
            ("ENV", "production"),
            ("RUBYOPT", "-W0"),
            ("ERL_AFLAGS", "-kernel shell_history enabled"),
        ];
        for (name, value) in own {
            assert_eq!(plain.objection(name, value.as_bytes(), Origin::Inherited), None, "{name}");
            assert!(plain.objection(name, value.as_bytes(), Origin::Session).is_some(), "{name}");
            assert!(careful.objection(name, value.as_bytes(), Origin::Inherited).is_some(), "{name}");
        }
        let never = [
            ("LD_PRELOAD", "/x.so"),
            ("LD_AUDIT", "/x.so"),
            ("BASH_ENV", "/x"),
            ("ENV", "/home/dev/.shrc"),
            ("SHELLOPTS", "xtrace"),
            ("PS4", "+ "),
            ("IFS", ":"),
            ("PROMPT_COMMAND", "x"),
            ("RUBYOPT", "-r./x"),
            ("PERL5OPT", "-Mx"),
            ("PYTHONSTARTUP", "/x.py"),
            ("NOTIFY_SOCKET", "/run/x"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("GIT_EXTERNAL_DIFF", "x"),
        ];
        for (name, value) in never {
            assert!(plain.objection(name, value.as_bytes(), Origin::Inherited).is_some(), "{name}");
        }
        let everyday = [
            "PATH", "HOME", "LOGNAME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID",
            "GIT_AUTHOR_NAME", "EDITOR", "PYTHONPATH", "NODE_OPTIONS", "LDFLAGS", "ENVIRONMENT", "CARGO_HOME",
            "VIRTUAL_ENV", "SSL_CERT_FILE", "KEYBOARD", "MONKEY", "COMPASS", "HTTPS_PROXY", "SSH_AUTH_SOCK", "HF_HOME",
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

    /// The rows of `chiton_redact` say what looks like one.
    #[test]
    fn class_3_is_not_taken_over_and_may_be_set_by_calls_and_commands() {
        let policy = EnvironmentPolicy::default();
        for (name, value) in
            [("ANTHROPIC_API_KEY", "S3CR3T"), ("clientSecret", "S3CR3T"), ("URL", "ftp://u:pw123@host")]
        {
            assert!(policy.objection(name, value.as_bytes(), Origin::Inherited).is_some(), "{name}");
            for origin in [Origin::Call, Origin::Session] {
                assert_eq!(policy.objection(name, value.as_bytes(), origin), None, "{name}");
            }
        }
        let why = policy.objection("A1", format!("gh{}_{}", "p", "a1B2".repeat(9)).as_bytes(), Origin::Inherited);
        assert_eq!(why.as_deref(), Some("looks like a secret by its value (a GitHub token)"));
        let careful = EnvironmentPolicy { careful: true, ..EnvironmentPolicy::default() };
        for name in ["PHOENIX_ENDPOINT", "OPENAI_ORG", "GEMINI_X", "AWS_SECRET_NAME"] {
            assert_eq!(policy.objection(name, b"word", Origin::Inherited), None, "{name}");
            assert!(careful.objection(name, b"word", Origin::Inherited).is_some(), "{name}");
        }
    }

    #[test]
    fn a_proxy_passes_and_its_password_is_known() {
        let policy = EnvironmentPolicy::default();
        let proxy = |value: &str| policy.inherit([("https_proxy".to_owned(), value.into())]);
        let taken = proxy("http://dev:p%40ssw0rd9@proxy:8080");
        assert!(taken.variables.contains_key("https_proxy") && taken.removed.is_empty());
        let known: Vec<(String, &[u8])> =
            taken.masked.iter().map(|(reference, value)| (reference.to_string(), value.expose())).collect();
        assert!(known.contains(&("{{secret:https_proxy.password}}".to_owned(), b"p%40ssw0rd9")), "{known:?}");
        assert!(known.contains(&("{{secret:https_proxy.password}}".to_owned(), b"p@ssw0rd9")), "{known:?}");
        assert_eq!(proxy("http://proxy:8080").masked.len(), 0);
        assert_eq!(proxy("http://dev:short@proxy:8080").masked[0].1.expose(), b"dev:short");
    }

    #[test]
    fn what_the_person_has_passes_as_it_is_and_a_change_of_it_does_not() {
        let policy = EnvironmentPolicy::default();
        let taken = policy.inherit([("LD_LIBRARY_PATH".to_owned(), "/opt/lib".into())]);
        let state = |value: &str| {
            let variable = Variable::exported(Value::Scalar(value.into()));
            BTreeMap::from([("LD_LIBRARY_PATH".to_owned(), variable)])
        };
        let mut same = state("/opt/lib");
        assert_eq!(policy.filter(&mut same, &taken.own), []);
        assert_eq!(same, state("/opt/lib"));
        let mut other = state("/tmp/evil");
        assert_eq!(policy.filter(&mut other, &taken.own).len(), 1);
        assert_eq!(other, state("/opt/lib"));
        let mut new = state("/tmp/evil");
        assert_eq!(policy.filter(&mut new, &BTreeMap::new()).len(), 1);
        assert!(new.is_empty());
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
