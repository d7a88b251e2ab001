//! Whether a variable looks like a secret, by its name and its value.
//!
//! 1. [`shapes`]: a value that holds a known token, a key or an address with a password is a secret, whatever its name.
//! 2. [`words`]: the name says how strongly it speaks of a secret.
//! 3. [`kinds`]: the value says what else it could be: a path, a number, an address, a word.
//! 4. [`unknown`]: a value that is made like a token is one, unless the name says what else it is.
//!
//! A proxy with a password is neither: nothing works without the proxy, so it passes, and its password is masked.

mod command_line;
mod kinds;
mod shapes;
mod unknown;
mod words;

use std::fmt;

use crate::forms::SHORTEST;
use words::Strength;

/// What a variable looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing that has to be kept back.
    Plain,
    /// A proxy with a password: what of it is to be masked.
    Proxy(Vec<String>),
    /// A secret.
    Secret(Sign),
}

/// By what a variable looks like a secret. Shows as words that follow its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Its name has this word, and its value may be one.
    Name(String),
    /// Its value holds this.
    Value(&'static str),
}

impl fmt::Display for Sign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(word) => write!(formatter, "looks like a secret by its name ({word})"),
            Self::Value(what) => write!(formatter, "looks like a secret by its value ({what})"),
        }
    }
}

/// Names with a secret word that hold none. A trailing `*` stands for any rest.
const PLAIN_NAMES: &[&str] = &[
    "PWD", "OLDPWD", "INIT_CWD", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_KEY", "GPG_AGENT_INFO", "GNOME_KEYRING_*",
    "PASSWORD_STORE_*", "XDG_SESSION_*", "DESKTOP_SESSION", "GDMSESSION", "SESSION_MANAGER", "DBUS_SESSION_*",
    "TERM_SESSION_ID", "ITERM_SESSION_ID", "WT_SESSION", "ZELLIJ_*", "KEYTIMEOUT", "TOKENIZERS_*",
    "JENKINS_NODE_COOKIE", "JENKINS_SERVER_COOKIE", "HUDSON_COOKIE", "HUDSON_SERVER_COOKIE", "PBS_JOBCOOKIE",
    "SNAP_COOKIE", "SNAP_CONTEXT", "XDG_SESSION_COOKIE", "XAUTHORITY", "ICEAUTHORITY", "SSH_ASKPASS*", "GIT_ASKPASS",
    "SUDO_ASKPASS", "TMUX*", "KITTY_*", "LESSKEY*", "GITHUB_SHA", "GPG_KEYS", "RUBY_GPG_KEYS", "NPM_CONFIG_CACHE*",
];

/// Beginnings of names whose values end up in a page that everybody can read.
const PUBLIC_STARTS: &[&str] = &[
    "NEXT_PUBLIC_", "VITE_", "PUBLIC_", "EXPO_PUBLIC_", "NUXT_PUBLIC_", "REACT_APP_", "GATSBY_", "VUE_APP_",
    "STORYBOOK_", "NG_APP_", "SNOWPACK_PUBLIC_", "PARCEL_PUBLIC_",
];

/// Names that hold a secret and have no word for it, or one that says otherwise.
const SECRET_NAMES: &[&str] = &[
    "REDISCLI_AUTH", "RELEASE_COOKIE", "ERLANG_COOKIE", "SSHPASS", "COMPOSER_AUTH", "DOCKER_AUTH_CONFIG",
    "SECRET_KEY_BASE", "FASTLANE_SESSION", "*ACCESS_KEY_ID", "*SEED_PHRASE", "*RECOVERY_PHRASE", "BUNDLE_*__*",
    "*BACKUP_CODE*", "npm_config__auth", "NPM_CONFIG__AUTH", "*_BASIC_AUTH", "BASIC_AUTH", "BW_SESSION",
    "OP_SESSION_*", "*MNEMONIC*", "LDAP_BIND_CREDENTIALS", "DOCKERCFG",
];

/// What the variable `name` with this value looks like.
pub fn look(name: &str, value: &[u8]) -> Look {
    let Ok(value) = std::str::from_utf8(value) else { return look_at_bytes(name) };
    let trimmed = value.trim();
    if trimmed.is_empty() {
        return Look::Plain;
    }
    if is_proxy(name)
        && let Some(login) = shapes::login_in(trimmed)
        && !login.password.is_empty()
    {
        return Look::Proxy(passwords(&login));
    }

    let is_public = PUBLIC_STARTS.iter().any(|start| name.starts_with(start));
    let published = is_public || name.to_ascii_uppercase().contains("ANON_KEY");
    let in_command_line = || command_line::holds_secret(trimmed).then_some("a text with a secret in it");
    match shapes::secret_in(trimmed).or_else(in_command_line) {
        Some(what) if published && shapes::may_be_public(what) => return Look::Plain,
        Some(what) => return Look::Secret(Sign::Value(what)),
        None => {}
    }
    if shapes::is_published(trimmed) || fits_any(PLAIN_NAMES, name) {
        return Look::Plain;
    }
    by_name(name, trimmed, is_public)
}

/// Bytes that are not text are a secret where the name says so.
fn look_at_bytes(name: &str) -> Look {
    match words::strength(name) {
        Strength::Strong => Look::Secret(Sign::Name(word_of(name))),
        _ => Look::Plain,
    }
}

fn by_name(name: &str, value: &str, is_public: bool) -> Look {
    let words = words::split(name);
    let last = words.last().map_or("", String::as_str);
    // Keys are also named by whom they belong to.
    let is_of_somebody = matches!(last, "key" | "keys") && kinds::is_email(value);
    if is_of_somebody || is_name_of_variable(value) || is_fingerprint(&words, value) {
        return Look::Plain;
    }
    let strength = if fits_any(SECRET_NAMES, name) { Strength::Strong } else { words::strength(name) };
    let is_secret = match strength {
        Strength::Strong if is_public => {
            matches!(last, "password" | "passwd" | "secret") && !kinds::is_harmless_under_medium(value)
        }
        Strength::Strong => !kinds::is_harmless_under_strong(value) || (is_code(last) && is_long_number(value)),
        Strength::Medium(_) if is_public => false,
        Strength::Medium(_) => !kinds::is_harmless_under_medium(value) || (is_code(last) && is_long_number(value)),
        Strength::Weak(word) => is_secret_under_weak(word, value),
        Strength::None => is_secret_in_spite(&words, value),
    };
    if is_secret {
        Look::Secret(Sign::Name(word_of(name)))
    } else if !is_public && unknown::is_token(&words, value) {
        Look::Secret(Sign::Value("a token"))
    } else {
        Look::Plain
    }
}

/// `DB_PASSWORD`, where the variable says which other one to read.
fn is_name_of_variable(value: &str) -> bool {
    value.contains('_')
        && value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        && kinds::is_worded(value)
        && words::strength(value) != Strength::None
}

/// The name that gpg has for a key.
fn is_fingerprint(words: &[String], value: &str) -> bool {
    let digits = value.strip_prefix("0x").unwrap_or(value).replace(' ', "");
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    has(&["gpg", "pgp"])
        && !has(&["private", "secret", "password", "passphrase", "token"])
        && matches!(digits.len(), 8 | 16 | 32 | 40)
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Words for what is typed on a keypad: a short number is one.
fn is_code(word: &str) -> bool {
    matches!(word, "password" | "passwd" | "pass" | "pwd" | "pw" | "pin" | "passcode" | "otp" | "totp" | "code")
}

fn is_long_number(value: &str) -> bool {
    value.len() >= 4 && value.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_secret_under_weak(word: &str, value: &str) -> bool {
    let is_pair = || {
        let pair = value.split_once(':');
        matches!(word, "auth" | "basicauth" | "httpauth" | "authstring" | "oauth")
            && pair.is_some_and(|(user, rest)| {
                !user.is_empty() && !rest.is_empty() && !rest.starts_with('/') && !kinds::is_host(value)
            })
    };
    let is_hex = || value.bytes().all(|byte| byte.is_ascii_hexdigit());
    (kinds::is_random(value) && !(word == "session" && is_hex()))
        || is_pair()
        || (word == "webhook" && has_random_piece(value))
        || (word == "salt" && value.len() >= 8 && !kinds::is_harmless_under_medium(value))
        || (matches!(word, "cookie" | "cookies") && value.contains('=') && value.len() >= 12)
}

fn has_random_piece(value: &str) -> bool {
    kinds::is_address(value)
        && value.split(['/', '?', '=', '&']).any(|piece| piece.len() >= 12 && kinds::is_random(piece))
}

/// Names that say what they are about, and whose values are secrets all the same.
fn is_secret_in_spite(words: &[String], value: &str) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [.., "secret", "id"] => kinds::is_uuid(value) || kinds::is_random(value),
        ["session", "id"] | [.., "user" | "web" | "http" | "php" | "auth" | "login" | "browser", "session", "id"] => {
            kinds::is_random(value)
        }
        // `AUTH_HEADER` may name the header or be it.
        [.., "header" | "headers"] | ["snmp", .., "community"] | [.., "snmp", "community"] => {
            words.iter().any(|word| matches!(*word, "auth" | "authorization" | "token" | "key" | "bearer" | "snmp"))
                && kinds::is_random(value)
        }
        _ => words.contains(&"webhook") && has_random_piece(value),
    }
}

/// The part of a name that speaks of a secret, as it is written there.
fn word_of(name: &str) -> String {
    let words = words::split(name);
    let secret = words.iter().rev().find(|word| words::strength(word) != Strength::None);
    let place = secret.and_then(|word| name.to_ascii_lowercase().rfind(word.as_str()).map(|at| (at, word.len())));
    place.map_or_else(|| name.to_owned(), |(at, length)| name[at..at + length].to_owned())
}

/// A variable by which programs find their proxy.
fn is_proxy(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with("proxy")
        || lower.ends_with("proxy_url")
        || lower.ends_with("proxy_server")
        || lower.ends_with("proxy_uri")
}

/// What of a login must not be shown: the password, as it stands there and decoded. One that is too short to be searched
/// for is searched for with its user.
fn passwords(login: &shapes::Login<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let plain = (decoded(login.user), decoded(login.password));
    for (user, password) in [(login.user.to_owned(), login.password.to_owned()), plain] {
        let text = if password.len() >= SHORTEST { password } else { format!("{user}:{password}") };
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// Without `%41`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let number = pair.filter(|_| *first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether one of the patterns fits; `*` stands for anything.
fn fits_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern.as_bytes(), name.as_bytes()))
}

fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => rest.is_empty() || (0..=name.len()).any(|place| fits(rest, &name[place..])),
        Some((first, rest)) => name.split_first().is_some_and(|(letter, name)| letter == first && fits(rest, name)),
    }
}
