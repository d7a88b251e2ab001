//! A command line that names a secret: `--token …`, `-u user:…`, `sshpass -p …`.

use super::kinds::{is_harmless_under_strong, is_random};
use super::shapes::is_reference;
use super::words::{self, Strength};

/// Programs whose `-p` is a password, in the same word or the next.
const WITH_PASSWORD: &[&str] = &["mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump", "sshpass"];

/// Whether a word of this command line is a secret.
pub(super) fn holds_secret(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let mut pairs = words.windows(2);
    pairs.any(|pair| is_login(pair[0], pair[1]) || is_named(pair[0], pair[1])) || has_password(&words)
}

/// `--user name:password`.
fn is_login(option: &str, given: &str) -> bool {
    matches!(option, "-u" | "--user" | "--proxy-user")
        && given
            .split_once(':')
            .is_some_and(|(user, password)| !user.is_empty() && !is_reference(password) && password.len() >= 4)
}

/// `--api-key …`.
fn is_named(option: &str, given: &str) -> bool {
    let Some(name) = option.strip_prefix("--") else { return false };
    if name.contains('=') || given.starts_with('-') || is_reference(given) {
        return false;
    }
    match words::strength(name) {
        Strength::Strong => given.len() >= 6 && !is_harmless_under_strong(given) && !words::is_plain_word(given),
        Strength::Medium(_) => is_random(given),
        Strength::Weak(_) | Strength::None => false,
    }
}

fn has_password(words: &[&str]) -> bool {
    let Some(program) = words.iter().position(|word| WITH_PASSWORD.contains(word)) else { return false };
    let takes_next = words[program] == "sshpass";
    let mut rest = words[program + 1..].iter();
    while let Some(word) = rest.next() {
        let Some(given) = word.strip_prefix("-p").filter(|_| !word.starts_with("--")) else { continue };
        let given = if given.is_empty() && takes_next { rest.next().copied().unwrap_or_default() } else { given };
        return !given.is_empty() && !is_reference(given);
    }
    false
}
