//! Names of variables by what they hold. What variables do is in [`chiton_guard::variables`]. A trailing `*` stands for any rest, a leading one for any beginning.

/// Removed only when the value is a path, which makes a program read or write there.
pub(super) const WITH_PATH: &[&str] = &["TERMCAP", "TERMPATH", "TERMINFO", "TERMINFO_DIRS", "GIT_TRACE*"];

/// Removed only when the value holds a `/` or a `%`, which no such value needs.
pub(super) const PLAIN_WORDS: &[&str] = &["TERM", "COLORTERM", "LANG", "LANGUAGE", "LC_*", "LINGUAS"];
/// Values with which an everyday variable only keeps a program from waiting.
pub(super) const HARMLESS: &[&str] = &["cat", "true", ":", "0"];
/// A name of which a part between underscores is one of these looks like a secret, in any case.
pub(super) const SECRET_PARTS: &[&str] = &[
    "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASS", "PWD", "APIKEY",
    "KEY", "KEYS", "AUTH", "CREDENTIAL", "CREDENTIALS", "CREDS", "COOKIE", "SESSION", "JWT", "SIGNATURE", "WEBHOOK",
    "DSN", "CERT",
];
/// Names of services whose variables hold secrets, in any case, and single names.
pub(super) const SECRET_NAMES: &[&str] = &[
    "AWS_*", "AZURE_*", "ARM_*", "GOOGLE_*", "GCP_*", "GCLOUD_*", "CLOUDSDK_*", "OPENAI_*", "ANTHROPIC_*", "GEMINI_*",
    "MISTRAL_*", "COHERE_*", "HF_*", "HUGGING*", "PHOENIX_*", "GH_*", "GITLAB_*", "ACTIONS_*", "PYPI_*", "TWINE_*",
    "DOCKER_AUTH_CONFIG", "VAULT_*", "TF_VAR_*", "TF_TOKEN_*", "PULUMI_*", "HEROKU_*", "NETLIFY_*", "VERCEL_*",
    "CLOUDFLARE_*", "CF_*", "DIGITALOCEAN_*", "STRIPE_*", "TWILIO_*", "SENDGRID_*", "SLACK_*", "DISCORD_*",
    "TELEGRAM_*", "DATADOG_*", "DD_*", "SENTRY_*", "NEW_RELIC_*", "PGPASSWORD", "PGPASSFILE", "MYSQL_PWD", "REDIS_URL",
    "MONGO*", "DATABASE_URL", "CONNECTION_STRING", "*_CONNECTION_STRING", "SSH_AUTH_SOCK", "SSH_AGENT_PID",
    "GPG_AGENT_INFO", "GNUPGHOME", "KRB5CCNAME",
];
/// Names that look like secrets and are none.
pub(super) const NO_SECRETS: &[&str] = &[
    "PWD", "OLDPWD", "XDG_SESSION_*", "DESKTOP_SESSION", "DBUS_SESSION_BUS_ADDRESS", "SESSION_MANAGER",
    "TERM_SESSION_ID", "KEYTIMEOUT",
];
/// Values that are secrets whatever their name.
pub(super) const SECRET_VALUES: &[&str] = &[
    r"-----BEGIN [A-Z ]*(PRIVATE KEY|CERTIFICATE)-----",
    r"^[A-Za-z][A-Za-z0-9+.-]*://[^/@\s:]*:[^/@\s]+@",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\b(AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+",
    r"\b[sr]k_(live|test)_[A-Za-z0-9]{10,}",
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\bxox[abpr]-[A-Za-z0-9-]{10,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\bdop_v1_[a-f0-9]{40,}",
];
/// All that strict mode takes over from the environment.
pub(super) const ALLOWED: &[&str] =
    &["PATH", "SHELL", "TMPDIR", "TEMP", "TMP", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER", "TERM", "TZ"];
