//! What the name of a variable says.
//!
//! 1. A name is cut into words: at `_` and other signs, where the case changes, at digits, and where known words were
//!    written without anything in between (`DBPASSWORD`, `rootpw`).
//! 2. The last word that speaks of a secret decides how strongly the name speaks of one; words after it may say that
//!    the variable is about the secret and does not hold it (`_FILE`, `_ID`, `_TTL`), words before it that it is none
//!    (`PUBLIC_KEY`, `SORT_KEY`).

use std::sync::LazyLock;

use chiton_shell::names::NameIndex;

/// How strongly a name says that its variable holds a secret. The word is the one that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// Only a value that can be no secret is none.
    Strong,
    /// A value that nobody would take for a name, a path or a number is one.
    Medium(&'static str),
    /// Only a value that looks random is one.
    Weak(&'static str),
    /// It says nothing of a secret.
    None,
}

/// Words that mean a secret by themselves.
const STRONG: &[&str] = &[
    "password", "passwords", "passwd", "passphrase", "passcode", "passkey", "pass", "pwd", "pw", "pswd", "passwrd",
    "psw", "secret", "secrets", "token", "tokens", "apikey", "apikeys", "apitoken", "apisecret", "credential",
    "credentials", "creds", "cred", "bearer", "mnemonic", "passwort", "kennwort", "contrasena", "senha", "mdp",
    "passe", "wachtwoord", "psk", "userpwd", "userpass", "privatekey", "privkey", "secretkey", "accesskey",
    "masterkey", "otp", "totp",
];

/// Words that mean one where the value is not a name, a path or a number.
const MEDIUM: &[&str] =
    &["key", "keys", "pat", "authorization", "jwt", "passfile", "recovery", "pin", "tok", "license", "licence"];

/// Words that mean one where the value looks random.
const WEAK: &[&str] = &[
    "auth", "cookie", "cookies", "session", "salt", "seed", "pepper", "signature", "sig", "webhook", "dsn", "cert",
    "certificate", "hmac", "nonce", "keystore", "p12", "pfx", "sas", "sessid", "phpsessid", "kubeconfig", "macaroon",
    "oauth", "basicauth", "httpauth", "authstring",
];

/// `X_KEY` where the word before says what the key opens.
const KEYS: &[&str] = &[
    "api", "private", "priv", "secret", "access", "master", "auth", "signing", "sign", "encryption", "encrypt",
    "decryption", "crypt", "crypto", "ssh", "rsa", "aes", "deploy", "account", "storage", "shared", "hmac", "jwt",
    "admin", "server", "root", "service", "session", "cookie", "csrf", "client", "app", "application", "license",
    "licence", "bot", "stream", "write", "integration", "ingest", "ingestion", "tls", "ssl", "wallet", "age",
    "personal", "user", "team", "subscription", "rest", "in", "functions", "function", "host", "consumer", "security",
    "secure", "data", "dev", "live", "prod", "database", "db", "cipher", "symmetric", "registration", "activation",
    "product", "serial", "wireguard", "wg", "preshared", "runtime", "rotation", "agent", "cluster", "transit",
    "unseal", "recovery", "backup", "vapid", "fernet",
];

/// `X_KEY` that is not a secret.
const OPEN_KEYS: &[&str] = &[
    "public", "pub", "publishable", "sort", "primary", "foreign", "partition", "range", "cache", "hot", "shortcut",
    "index", "unique", "routing", "join", "group", "map", "dict", "object", "meta", "metadata", "compose", "modifier",
    "leader", "prefix", "binding", "bind", "order", "lookup", "dedup", "deduplication", "idempotency", "message",
    "field", "header", "column", "site", "anon", "gpg", "pgp", "known", "escape", "trigger", "menu", "function",
    "arrow", "sequence", "translation", "i18n", "label", "annotation", "selector", "topology", "document", "row",
    "bucket", "registry", "composite", "natural", "surrogate", "shard", "hash", "distribution", "kms", "trusted",
    "authorized", "client_public", "release", "verification", "verify", "attach", "detach", "tmux", "home", "end",
    "enter", "return", "delete", "any",
];

/// Words after the secret one that say: it is about the secret.
const ABOUT: &[&str] = &[
    "file", "files", "filename", "path", "paths", "dir", "dirs", "directory", "folder", "home", "id", "ids", "name",
    "names", "type", "types", "url", "urls", "uri", "endpoint", "endpoints", "host", "hosts", "hostname", "port",
    "sock", "socket", "ttl", "timeout", "expiry", "expires", "expire", "expiration", "lifetime", "duration", "maxage",
    "minutes", "seconds", "hours", "days", "length", "len", "size", "count", "limit", "limits", "max", "min",
    "algorithm", "algorithms", "algo", "alg", "method", "methods", "mode", "enabled", "disabled", "enable", "disable",
    "required", "require", "version", "region", "zone", "prefix", "suffix", "header", "headers", "format", "provider",
    "providers", "backend", "backends", "manager", "issuer", "audience", "scope", "scopes", "realm", "domain",
    "username", "email", "checks", "check", "checking", "parallelism", "bits", "policy", "strategy", "rounds",
    "iterations", "cost", "hasher", "hashers", "alias", "aliases", "arn", "profile", "column", "claim", "claims",
    "sources", "command", "cmd", "helper", "helpers", "helpertext", "exec", "program", "askpass", "interval", "window",
    "leeway", "skew", "middleware", "handlers", "validator", "validators", "complexity", "strength", "bucket", "rate",
    "budget", "usage", "binding", "bindings", "delay", "events", "mount", "namespace", "locale", "fingerprint",
    "fingerprints", "thumbprint", "placeholder", "hint", "prompt", "usages", "domains", "samesite", "httponly", "date",
    "created", "updated", "encoding", "charset", "separator", "delimiter", "order", "pid", "tty", "workers", "pool",
    "ipc", "layout", "repeat", "speed", "variant", "verify", "validation", "depth", "ref", "refs", "reference",
    "keyid", "pattern", "glob", "regex", "selector", "xpath", "locator", "curve", "bundle", "ca", "cas", "revocation",
    "transparency", "permissions", "umask",
];

/// Words after the secret one that say so too, unless the value looks random: `TOKEN_SERVICE`, `PASSWORD_ROOT`.
const ROUND_ABOUT: &[&str] = &[
    "app", "account", "user", "users", "agent", "server", "service", "root", "environment", "config", "configuration",
    "settings", "storage", "state", "options", "opts", "args", "flags", "org", "organization", "organisation",
    "project", "tenant", "subscription", "role", "owner", "group", "context", "store", "cache", "source", "engine",
    "handler", "index", "control", "trust", "display", "bus", "desktop", "age", "time", "rotate", "reset", "rotation",
    "refresh", "legacy", "override", "per", "num", "total", "event", "entity", "location", "status", "level", "model",
    "class", "driver", "kind", "field", "label", "map", "handle", "owners", "chain", "key_id",
];

/// Words after the secret one that say nothing.
const SILENT: &[&str] = &[
    "value", "data", "string", "str", "base64", "b64", "base", "hex", "enc", "encoded", "raw", "json", "pem", "prod",
    "production", "dev", "development", "test", "testing", "staging", "stage", "live", "sandbox", "new", "old",
    "current", "previous", "next", "backup", "default", "env", "var", "primary", "secondary", "main", "local", "plain",
    "text", "content", "contents", "hash", "hashed", "phrase", "secret", "rw", "ro", "read", "write", "readonly", "v",
    "a", "b", "x", "y", "z", "us", "eu", "phrases", "words", "bytes", "list", "code", "codes",
];

/// Words that are written without anything in between, longest first within a beginning.
const GLUED: &[&str] = &[
    "password", "passwords", "passwd", "passphrase", "passcode", "passwort", "secretkey", "secret", "secrets", "token",
    "tokens", "apikey", "apikeys", "privatekey", "secretaccesskey", "accesskey", "masterkey", "authkey", "signingkey",
    "signkey", "encryptionkey", "encryptkey", "cryptkey", "sshkey", "rsakey", "aeskey", "deploykey", "licensekey",
    "accountkey", "storagekey", "sessionkey", "servicekey", "sharedkey", "adminkey", "appkey", "userkey", "rootkey",
    "hmackey", "jwtkey", "clientkey", "serverkey", "teamkey", "devkey", "publickey", "pubkey", "credential",
    "credentials", "creds", "mnemonic", "webhook", "askpass",
];

/// Beginnings before which `pw`, `pwd` and `pass` are words: others end like that by chance (`compass`).
const BEFORE_PASS: &[&str] = &[
    "root", "db", "user", "usr", "admin", "bind", "my", "sql", "mysql", "pg", "postgres", "ftp", "smtp", "imap",
    "mail", "ldap", "ssh", "vnc", "rdp", "wifi", "key", "store", "keystore", "truststore", "redis", "mongo", "sudo",
    "http", "proxy", "vpn", "svn", "cvs", "git", "app", "api", "web", "test", "default", "master", "cert", "ca",
    "client", "server", "login", "samba", "smb", "sys", "oracle", "ora", "sa", "rabbit", "mq", "amqp", "basic", "auth",
    "zip", "pdf", "pfx", "guest",
];

/// Words with `pass`, `pwd`, `key` or `token` in them that are others.
const OTHERS: &[&str] = &["oldpwd", "tokenizer", "tokenizers", "secretary", "secretmanager", "secretsmanager"];

/// Words that end in `key` by chance, and keys of a keyboard.
const KEY_BY_CHANCE: &[&str] = &[
    "monkey", "turkey", "donkey", "hockey", "jockey", "whiskey", "hotkey", "mickey", "lackey", "smokey", "rickey",
    "passkey", "shortkey", "softkey", "lesskey", "greasemonkey", "tampermonkey", "spidermonkey", "yubikey", "menukey",
    "sortkey",
];

/// What may follow a glued word: `PGPASSFILE`, `keyfile`.
const GLUED_ENDS: &[&str] = &["file", "path", "dir", "id", "url", "uri", "name", "type", "store", "base64"];

/// The words of a name, in small letters.
pub(super) fn split(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let bytes = name.as_bytes();
    let mut start = 0;
    let mut push = |word: &str| {
        if !word.is_empty() {
            unglue(&word.to_ascii_lowercase(), &mut words);
        }
    };
    for place in 0..bytes.len() {
        let byte = bytes[place];
        if !byte.is_ascii_alphanumeric() {
            push(&name[start..place]);
            start = place + 1;
        } else if place > start {
            let before = bytes[place - 1];
            let next_small = bytes.get(place + 1).is_some_and(u8::is_ascii_lowercase);
            let up = before.is_ascii_lowercase() && byte.is_ascii_uppercase();
            let acronym_ends = before.is_ascii_uppercase() && byte.is_ascii_uppercase() && next_small;
            // `API_KEYs` is a plural, `clientID2Secret` is not.
            let plural =
                bytes.get(place + 1) == Some(&b's') && bytes.get(place + 2).is_none_or(|it| !it.is_ascii_lowercase());
            let digits_end = before.is_ascii_digit() && byte.is_ascii_alphabetic() && place - start >= 3;
            if up || (acronym_ends && !plural) || digits_end {
                push(&name[start..place]);
                start = place;
            }
        }
    }
    push(&name[start..]);
    words
}

/// Known words that were written together, apart.
fn unglue(word: &str, words: &mut Vec<String>) {
    let bare = word.trim_end_matches(|character: char| character.is_ascii_digit());
    // `p12` and the like are words with their digits.
    let word = if bare.is_empty() || is_known(word) { word } else { bare };
    if is_known(word) || OTHERS.contains(&word) {
        return words.push(word.to_owned());
    }
    if let Some(found) = GLUED_ENDS.iter().find_map(|end| {
        let rest = word.strip_suffix(end)?;
        let mut before = Vec::new();
        unglue(rest, &mut before);
        before.last().is_some_and(|last| is_secret_word(last)).then_some((before, *end))
    }) {
        words.extend(found.0);
        return words.push(found.1.to_owned());
    }
    let glued = GLUED.iter().filter(|end| word.ends_with(**end)).max_by_key(|end| end.len());
    if let Some(end) = glued {
        let rest = &word[..word.len() - end.len()];
        if !rest.is_empty() {
            unglue(rest, words);
        }
        let (first, last) = match end.strip_suffix("key") {
            Some(first) if !first.is_empty() => (first, "key"),
            _ => ("", *end),
        };
        if !first.is_empty() {
            words.push(first.strip_suffix("access").unwrap_or(first).to_owned());
        }
        return words.push(last.to_owned());
    }
    for end in ["pwd", "pw", "pass"] {
        if let Some(rest) = word.strip_suffix(end)
            && (BEFORE_PASS.contains(&rest) || BEFORE_PASS.iter().any(|known| known.len() > 3 && rest.ends_with(known)))
        {
            words.push(rest.to_owned());
            return words.push(end.to_owned());
        }
    }
    // `OPENAIKEY`; the value has to look like one too.
    match word.strip_suffix("key") {
        Some(rest) if rest.len() >= 3 && !KEY_BY_CHANCE.contains(&word) => {
            words.push(rest.to_owned());
            words.push("key".to_owned());
        }
        _ => words.push(word.to_owned()),
    }
}

/// What a list says of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    OfSecret,
    OfSomethingElse,
}

/// Lists of words that are not taken apart.
static LISTS: [(Speaks, &[&str]); 7] = [
    (Speaks::OfSecret, STRONG),
    (Speaks::OfSecret, MEDIUM),
    (Speaks::OfSecret, WEAK),
    (Speaks::OfSomethingElse, ABOUT),
    (Speaks::OfSomethingElse, ROUND_ABOUT),
    (Speaks::OfSomethingElse, SILENT),
    (Speaks::OfSomethingElse, OPEN_KEYS),
];

static KNOWN: LazyLock<NameIndex<Speaks>> = LazyLock::new(|| {
    NameIndex::new(LISTS.iter().flat_map(|(speaks, list)| list.iter().map(move |word| (*word, speaks))))
});

fn is_known(word: &str) -> bool {
    KNOWN.exact(word).next().is_some()
}

fn is_secret_word(word: &str) -> bool {
    KNOWN.exact(word).any(|speaks| *speaks == Speaks::OfSecret)
}

/// How strongly `name` says that it holds a secret.
pub(super) fn strength(name: &str) -> Strength {
    let words = split(name);
    let Some(place) = words.iter().rposition(|word| is_secret_word(word) && !is_in_passing(word, &words)) else {
        return Strength::None;
    };
    let (before, word, after) = (&words[..place], words[place].as_str(), &words[place + 1..]);
    let own = of_word(before, word);
    if own == Strength::None {
        return Strength::None;
    }
    if let Some(about) = after.iter().find(|word| !SILENT.contains(&word.as_str()) && !is_count(word)) {
        // The tail says what it is: only a value that looks like one in spite of that is a secret.
        let is_about = ABOUT.contains(&after.last().map_or("", String::as_str)) || ABOUT.contains(&about.as_str());
        return match own {
            _ if is_about => Strength::None,
            _ if ROUND_ABOUT.contains(&about.as_str()) => Strength::Weak(found(STRONG, word)),
            Strength::Strong => Strength::Medium(found(STRONG, word)),
            other => other,
        };
    }
    own
}

/// A word that also is an ordinary one, where another follows: `TOKEN_BUCKET`, `PASS_THROUGH`.
fn is_in_passing(word: &str, words: &[String]) -> bool {
    let last = words.last().map_or("", String::as_str);
    match word {
        "recovery" | "license" | "licence" => !matches!(last, "code" | "codes" | "key" | "phrase"),
        "pass" => {
            words == ["pass", "env"]
                || words
                    .iter()
                    .any(|word| matches!(word.as_str(), "through" | "thru" | "count" | "rate" | "first" | "number"))
        }
        _ => false,
    }
}

fn of_word(before: &[String], word: &str) -> Strength {
    let previous = before.last().map_or("", String::as_str);
    // The name of one that is kept elsewhere.
    if previous == "existing" {
        return Strength::Weak(found(STRONG, word));
    }
    if matches!(word, "key" | "keys") {
        let is_open = |word: &String| matches!(word.as_str(), "public" | "publishable" | "pub" | "anon" | "site");
        return if OPEN_KEYS.contains(&previous) && !(KEYS.contains(&previous) && before.len() > 1)
            || before.iter().any(is_open)
        {
            Strength::None
        } else if KEYS.contains(&previous)
            && matches!(
                previous,
                "api" | "private" | "priv" | "secret" | "access" | "master" | "encryption" | "signing" | "auth"
            )
        {
            Strength::Strong
        } else {
            Strength::Medium("key")
        };
    }
    // The number of tokens that a model may use is not one.
    if word == "tokens"
        && matches!(
            previous,
            "max"
                | "min"
                | "num"
                | "output"
                | "input"
                | "context"
                | "total"
                | "thinking"
                | "prompt"
                | "completion"
                | "new"
        )
    {
        return Strength::Weak("tokens");
    }
    if matches!(word, "otp" | "totp" | "pat" | "pin") && before.is_empty() && word != "otp" {
        return Strength::Medium(found(MEDIUM, word));
    }
    if STRONG.contains(&word) {
        return Strength::Strong;
    }
    if MEDIUM.contains(&word) {
        return Strength::Medium(found(MEDIUM, word));
    }
    Strength::Weak(found(WEAK, word))
}

fn found(words: &[&'static str], word: &str) -> &'static str {
    words.iter().copied().find(|known| *known == word).unwrap_or("secret")
}

fn is_count(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit()) || word.len() == 1
}

/// Whether a piece of a value is an ordinary word: letters that read as one.
pub(super) fn is_plain_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic()) && super::kinds::has_rhythm(text)
}
