//! Tokens of issuers that no row knows: short words for who issued it and what it opens, and then something that nobody
//! made up, `acme_live_9fK2…`.
//!
//! Public identifiers are made alike (`prj_…`, `org-…`), but shorter, and their words or the name of their variable say so.

use super::kinds::is_random;

/// The fewest characters of the random piece where the words before it do not speak of a secret.
const LONG: usize = 32;

/// The same where they do.
const SHORT: usize = 20;

/// Words before the random piece that speak of a secret.
const SPEAKING: &[&str] = &[
    "live", "secret", "secrets", "token", "tok", "tkn", "pat", "sk", "rk", "ak", "key", "apikey", "api", "auth",
    "oauth", "pw", "password", "prod", "sandbox", "server", "private", "priv", "admin", "bot", "refresh", "access",
    "session",
];

/// The same, right before it and whatever else is said: it is one.
const OUTRIGHT: &[&str] = &["secret", "token", "tok", "tkn", "pat", "password", "pw", "apikey"];

/// Words before the random piece of what everybody may know.
const OPEN: &[&str] = &[
    "pk", "pub", "public", "publishable", "anon", "site", "phc", "client", "app", "org", "team", "prj", "proj",
    "project", "user", "usr", "acct", "account", "cus", "price", "product", "plan", "id", "sha", "sha1", "sha256",
    "sha384", "sha512", "md5", "blake3", "cache", "build", "commit", "run", "job", "img", "image", "file", "req",
    "trace", "thread", "msg", "asst", "model", "ft", "bundle", "chunk", "store", "hash", "etag", "nix",
];

/// Words that say, at the end of a name, that a random value is no secret.
const IDENTIFIERS: &[&str] = &[
    "id", "ids", "uid", "guid", "uuid", "hash", "sha", "digest", "checksum", "fingerprint", "thumbprint", "etag",
    "integrity", "version", "release", "tag", "commit", "revision", "ref", "trace", "traceparent", "name", "project",
    "org", "team", "price", "site", "dsn", "arn", "build", "image", "path", "file", "dir", "model",
];

/// Whether this is the token of somebody, though nobody knows whose.
pub(super) fn is_token(words_of_name: &[String], value: &str) -> bool {
    let is_identifier = words_of_name.last().is_some_and(|last| IDENTIFIERS.contains(&last.as_str()));
    let value = value.trim_matches(['"', '\'']);
    let Some((head, tail)) = value.rsplit_once(['_', '-']) else { return false };
    let pieces: Vec<&str> = head.split(['_', '-']).collect();
    let is_word = |piece: &&str| {
        (1..=12).contains(&piece.len()) && piece.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !is_random(piece)
    };
    if is_identifier
        || pieces.len() > 4
        || !head.starts_with(|first: char| first.is_ascii_alphabetic())
        || !pieces.iter().all(is_word)
        || !tail.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return false;
    }
    let has = |words: &[&str]| pieces.iter().any(|piece| words.contains(&piece.to_ascii_lowercase().as_str()));
    let least = if has(SPEAKING) { SHORT } else { LONG };
    // `usr_token_…` is the token of a user.
    let says_so = pieces.last().is_some_and(|last| OUTRIGHT.contains(last));
    (says_so || !has(OPEN)) && tail.len() >= least && is_made_by_machine(tail, has(SPEAKING))
}

/// Both cases and digits, through each other. A hash has one case, and stands after a word in names of builds and caches.
fn is_made_by_machine(tail: &str, speaking: bool) -> bool {
    let count = |test: fn(&u8) -> bool| tail.bytes().filter(test).count();
    let (digits, upper, lower) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    is_random(tail)
        && digits >= if speaking { 1 } else { 2 }
        && ((upper >= 3 && lower >= 3) || (speaking && tail.len() >= LONG))
}
