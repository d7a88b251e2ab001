//! What a value looks like by itself: a path, a number, an address, a word, or something nobody would make up.

/// Words that settings have where others have a secret: how something is done, and where a value comes from.
const SETTINGS: &[&str] = &[
    "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "enabled", "disabled", "enable", "disable", "none",
    "null", "nil", "undefined", "unset", "auto", "always", "never", "default", "optional", "required", "require",
    "prefer", "allow", "deny", "ask", "prompt", "interactive", "stdin", "env", "environment", "file", "keychain",
    "keyring", "osxkeychain", "wincred", "secretservice", "libsecret", "pass", "gpg", "store", "cache", "plaintext",
    "redacted", "masked", "hidden", "placeholder", "example", "dummy", "todo", "tbd", "fixme", "n/a", "na", "missing",
    "not-set", "notset", "not_set", "empty", "bcrypt", "argon2", "argon2id", "scrypt", "pbkdf2", "sha1", "sha256",
    "sha512", "md5", "hs256", "hs384", "hs512", "rs256", "rs384", "rs512", "es256", "es384", "es512", "ps256", "eddsa",
    "ed25519", "rsa", "ecdsa", "dsa", "aes", "aes-256-gcm", "aes-128-gcm", "aes-256-cbc", "chacha20-poly1305", "jwt",
    "oauth", "oauth2", "oidc", "saml", "ldap", "kerberos", "basic", "bearer", "digest", "ntlm", "negotiate", "apikey",
    "api_key", "api-key", "token", "cookie", "header", "query", "vault", "kms", "aws", "gcp", "azure", "doppler",
    "1password", "bitwarden", "lastpass", "github", "gitlab", "google", "iam", "sso", "mtls", "certificate", "cert",
    "public", "private", "internal", "external", "strict", "lax", "local", "remote", "memory", "redis", "database",
    "inherit", "inline", "managed", "rotating", "static", "dynamic", "global", "system", "user",
];

/// Whether a value can be no secret, even in a variable whose name says so: a path, a switch, an address, a word of
/// settings, a reference to where the secret is.
pub(super) fn is_harmless_under_strong(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    SETTINGS.contains(&lower.as_str())
        || is_short_number(value)
        || is_duration(&lower)
        || is_path(value)
        || is_address(value)
        || is_placeholder(value)
        || is_date(value)
        || value.starts_with("arn:")
        || value.starts_with("!reference")
}

/// The same for a variable whose name only hints at a secret: also hosts, names and everything made of words.
pub(super) fn is_harmless_under_medium(value: &str) -> bool {
    is_harmless_under_strong(value)
        || is_number(value)
        || is_host(value)
        || is_email(value)
        || is_worded(value)
        || is_relative_path(value)
        || is_file_name(value)
}

/// A place that somebody has yet to fill.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let same = |letter: char| value.chars().all(|character| character == letter);
    (value.starts_with('<') && value.ends_with('>'))
        || (value.starts_with('[') && value.ends_with(']') && is_capitals(&value[1..value.len() - 1]))
        || (value.starts_with("${") && value.ends_with('}'))
        || (value.starts_with("$(") && value.ends_with(')'))
        || (value.starts_with("{{") && value.ends_with("}}"))
        || (value.len() >= 3 && (same('x') || same('X') || same('*') || same('.') || same('-')))
        || ["your-", "your_", "replace-", "replace_", "insert-", "insert_", "enter-", "<your"]
            .iter()
            .any(|start| lower.starts_with(start))
        || lower.ends_with("-here")
        || lower.ends_with("_here")
}

/// `[PAD]`, `[REDACTED]`.
fn is_capitals(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

fn is_short_number(value: &str) -> bool {
    value.len() <= 5 && is_number(value)
}

pub(super) fn is_number(value: &str) -> bool {
    let value = value.strip_prefix(['-', '+']).unwrap_or(value);
    let dots = value.bytes().filter(|byte| *byte == b'.').count();
    !value.is_empty() && dots <= 1 && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// `30s`, `5m`, `1h30m`, `500ms`, `7d`, `10MB`, `512MiB`, `50%`.
fn is_duration(lower: &str) -> bool {
    const UNITS: &[&str] = &[
        "s", "m", "h", "d", "w", "y", "ms", "us", "ns", "sec", "secs", "second", "seconds", "min", "mins", "minute",
        "minutes", "hour", "hours", "hr", "hrs", "day", "days", "week", "weeks", "month", "months", "year", "years",
        "b", "k", "kb", "kib", "mb", "mib", "g", "gb", "gib", "tb", "bit", "bits", "bytes", "%", "x",
    ];
    let mut rest = lower;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let unit = rest[digits..].bytes().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'%').count();
        let word = &rest[digits..digits + unit];
        if digits == 0 || digits > 9 || !UNITS.contains(&word) {
            return false;
        }
        rest = rest[digits + unit..].trim_start();
        parts += 1;
    }
    parts > 0
}

/// `2026-11-16`, with or without a time.
fn is_date(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() >= 10
        && bytes.len() <= 35
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[8..10].iter().all(u8::is_ascii_digit)
        && bytes[10..].iter().all(|byte| byte.is_ascii_digit() || b"T:Z+-. ".contains(byte))
}

/// A path from the root, from home or from here.
pub(super) fn is_path(value: &str) -> bool {
    let from_somewhere = ["/", "~/", "./", "../", "$HOME", "${HOME}", "$PWD", "%h/", "\\\\"]
        .iter()
        .any(|start| value.starts_with(start))
        || matches!(value, "~" | "." | "..");
    let is_drive = value.len() >= 3
        && value.as_bytes()[0].is_ascii_alphabetic()
        && value.as_bytes()[1] == b':'
        && matches!(value.as_bytes()[2], b'\\' | b'/');
    let kept = value.strip_prefix("FILE:").or_else(|| value.strip_prefix("DIR:")).or_else(|| value.strip_prefix('@'));
    if let Some(rest) = kept {
        return is_path(rest);
    }
    // A list of paths: each has to be one.
    if value.starts_with('/') && value.contains(':') {
        return value.split(':').all(|part| !part.starts_with('/') || is_rooted(part));
    }
    is_drive || (from_somewhere && (!value.starts_with('/') || is_rooted(value)))
}

/// Base64 may begin with a slash: a path of one random piece is none.
fn is_rooted(value: &str) -> bool {
    const ROOTS: &[&str] = &[
        "home", "root", "Users", "etc", "var", "tmp", "run", "opt", "usr", "mnt", "media", "srv", "data", "app",
        "apps", "workspace", "workspaces", "builds", "build", "nix", "snap", "proc", "dev", "lib", "lib64", "bin",
        "sbin", "sys", "private", "Library", "Volumes", "Applications", "config", "secrets", "vault", "certs", "keys",
        "code", "src", "scratch", "gpfs", "lustre", "work", "project", "projects", "sw", "cvmfs", "github", "__w",
        "kaniko", "cnb",
    ];
    let mut pieces = value[1..].split('/');
    let first = pieces.next().unwrap_or_default();
    let is_encoded = || {
        value[1..].split('/').any(|piece| piece.len() >= 16 && is_random(piece))
            || (value.len() >= 30 && value.bytes().any(|byte| matches!(byte, b'+' | b'=')))
    };
    ROOTS.contains(&first) || value == "/" || !is_encoded()
}

/// `certs/server.key`, `config/master`: pieces that somebody named.
fn is_relative_path(value: &str) -> bool {
    value.contains('/')
        && !value.contains(char::is_whitespace)
        && value.split('/').all(|piece| is_worded(piece) || is_file_name(piece) || piece.is_empty() || is_number(piece))
}

/// `server.key`, `id_rsa`, `credentials.json`.
fn is_file_name(value: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "pem", "crt", "cer", "key", "pub", "json", "yaml", "yml", "toml", "txt", "cfg", "conf", "ini", "env", "p12",
        "pfx", "jks", "keystore", "der", "csr", "kdbx", "gpg", "asc", "age", "enc", "sock", "pid", "log", "db",
        "sqlite", "sh", "py", "js", "cnf", "properties", "xml", "keytab", "netrc", "ppk", "bin", "dat", "lock", "sig",
        "service", "html",
    ];
    let named = value.rsplit_once('.').is_some_and(|(name, ending)| {
        ENDINGS.contains(&ending.to_ascii_lowercase().as_str()) && !name.is_empty() && !is_random(name)
    });
    named || ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"].iter().any(|start| value.starts_with(start))
}

/// Any address with a scheme; whether a password stands in it was looked at before.
pub(super) fn is_address(value: &str) -> bool {
    value.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty()
            && !rest.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b':'))
    }) || ["unix:", "file:", "tcp:", "vault:", "sm:", "ssm:", "secretsmanager:", "keyring:", "kms:", "env:", "urn:"]
        .iter()
        .any(|start| value.starts_with(start))
}

/// `example.com`, `10.0.0.1:5432`, `localhost:8080`, several with commas.
pub(super) fn is_host(value: &str) -> bool {
    !value.is_empty()
        && value.split([',', ';', ' ']).all(|one| {
            let one = one.trim_start_matches(['*', '.']);
            let (host, port) = one.split_once(':').unwrap_or((one, ""));
            let port = port.split(['/', ':']).next().unwrap_or_default();
            let labels: Vec<&str> = host.split('.').collect();
            let is_label = |label: &&str| {
                !label.is_empty()
                    && label.len() <= 63
                    && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            let address = labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok());
            let top = labels
                .last()
                .is_some_and(|top| (2..=12).contains(&top.len()) && top.bytes().all(|byte| byte.is_ascii_lowercase()));
            let named = labels.len() >= 2 && top && !labels.iter().any(|label| label.len() >= 24 && is_random(label));
            let ported = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && port.len() <= 5;
            labels.iter().all(is_label)
                && (address || named || ported || host == "localhost")
                && (port.is_empty() || ported)
        })
}

pub(super) fn is_email(value: &str) -> bool {
    value.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !user.contains([':', ' ', '/']) && host.contains('.') && is_host(host)
    })
}

/// `550e8400-e29b-41d4-a716-446655440000`.
pub(super) fn is_uuid(value: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let value = value.strip_prefix('{').and_then(|value| value.strip_suffix('}')).unwrap_or(value);
    value.split('-').count() == lengths.len()
        && value
            .split('-')
            .zip(lengths)
            .all(|(part, length)| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Made of words and numbers that somebody chose: `us-east-1`, `created_at`, `my-service-v2`, `release 2024`, `RSA2048`.
pub(super) fn is_worded(value: &str) -> bool {
    let is_separator = |character: char| matches!(character, '-' | '_' | '.' | ' ' | ',' | ':' | '/' | '+' | '=' | '|');
    let mut pieces = value.split(is_separator).filter(|piece| !piece.is_empty()).peekable();
    pieces.peek().is_some() && value.len() <= 200 && pieces.all(is_worded_piece)
}

/// Letters with a few digits at one end, in the case of words.
fn is_worded_piece(piece: &str) -> bool {
    if piece.len() > 28 || !piece.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return false;
    }
    if piece.len() <= 6 && piece.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let letters = piece.trim_end_matches(|character: char| character.is_ascii_digit());
    let digits = piece.len() - letters.len();
    let letters = letters.trim_start_matches(|character: char| character.is_ascii_digit());
    let leading = piece.len() - digits - letters.len();
    letters.bytes().all(|byte| byte.is_ascii_alphabetic()) && digits + leading <= 4 && has_rhythm(letters)
}

/// Whether letters read as a word: vowels in between, capitals where words begin.
pub(super) fn has_rhythm(letters: &str) -> bool {
    if letters.len() <= 4 {
        return true;
    }
    let lower = letters.to_ascii_lowercase();
    let is_vowel = |byte: u8| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let vowels = lower.bytes().filter(|byte| is_vowel(*byte)).count();
    let mut longest = 0;
    let mut run = 0;
    for byte in lower.bytes() {
        run = if is_vowel(byte) { 0 } else { run + 1 };
        longest = longest.max(run);
    }
    let turns =
        letters.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let in_case = turns.count() <= letters.len() / 4;
    vowels * 6 >= letters.len() && longest <= 5 && in_case
}

/// Whether nobody would have made this up: long, without words, with letters and digits through each other.
pub(super) fn is_random(value: &str) -> bool {
    let value = value.trim_end_matches('=').strip_prefix("base64:").unwrap_or_else(|| value.trim_end_matches('='));
    let value = value.strip_prefix("0x").unwrap_or(value);
    if value.len() < 12
        || !value.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'/' | b'.' | b'~' | b'!' | b'=')
        })
        || is_uuid(value)
        || is_number(value)
    {
        return false;
    }
    if value.bytes().all(|byte| byte.is_ascii_hexdigit()) && value.bytes().any(|byte| byte.is_ascii_digit()) {
        return value.len() >= 16;
    }
    let mut counts = [0u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let distinct = counts.iter().filter(|count| **count > 0).count();
    !is_worded(value) && distinct * 3 >= value.len().min(30)
}
