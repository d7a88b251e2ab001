//! Names of variables by what they hold. What variables do is in [`chiton_guard::variables`], and what looks like a secret
//! in [`chiton_redact::look`]. A trailing `*` stands for any rest, a leading one for any beginning.

/// Removed only when the value is a path, which makes a program read or write there.
pub(super) const WITH_PATH: &[&str] = &["TERMCAP", "TERMPATH", "TERMINFO", "TERMINFO_DIRS", "GIT_TRACE*"];

/// Removed only when the value holds a `/` or a `%`, which no such value needs.
pub(super) const PLAIN_WORDS: &[&str] = &["TERM", "COLORTERM", "LANG", "LANGUAGE", "LC_*", "LINGUAS"];
/// Values with which an everyday variable only keeps a program from waiting.
pub(super) const HARMLESS: &[&str] = &["cat", "true", ":", "0"];
/// Names of services whose variables a careful policy keeps back, whatever they hold.
pub(super) const CAREFUL: &[&str] = &["ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "AWS_SECRET*", "PHOENIX_*"];
/// All that strict mode takes over from the environment.
pub(super) const ALLOWED: &[&str] =
    &["PATH", "SHELL", "TMPDIR", "TEMP", "TMP", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER", "TERM", "TZ"];
