//! Files that prove who somebody is: keys, tokens, passwords, and what may hold them.

use super::{Places, inside_home, is_disposable, is_history};
use crate::value::path::{is_pattern, is_within, matches_path};

/// How well a file that proves who somebody is has to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// Nobody shows or copies it without asking.
    Kept,
    /// Developers read it all day, as `.env` of the project; it does not leave the machine without asking.
    Handled,
}

/// Files and directories of a home directory that hold keys, tokens or passwords.
const STORES: &[&str] = &[
    // Machines and their logins.
    ".ssh",
    ".gnupg",
    ".netrc",
    "_netrc",
    ".vnc/passwd",
    ".putty",
    ".config/remmina",
    ".tsh",
    ".step/secrets",
    ".config/wireguard",
    ".k5login",
    ".vault-token",
    ".config/vault",
    ".ansible/vault",
    ".vault_pass",
    ".vault_pass.txt",
    // Clouds.
    ".aws/credentials",
    ".aws/sso/cache",
    ".aws/cli/cache",
    ".boto",
    ".s3cfg",
    ".passwd-s3fs",
    ".mc/config.json",
    ".config/gcloud/credentials.db",
    ".config/gcloud/access_tokens.db",
    ".config/gcloud/legacy_credentials",
    ".config/gcloud/application_default_credentials.json",
    ".azure/accessTokens.json",
    ".azure/msal_token_cache.json",
    ".azure/msal_token_cache.bin",
    ".azure/service_principal_entries.json",
    ".azure/service_principal_entries.bin",
    ".oci",
    ".config/doctl/config.yaml",
    ".config/hcloud/cli.toml",
    ".config/scw/config.yaml",
    ".config/linode-cli",
    ".fly/config.yml",
    ".vercel/auth.json",
    ".local/share/com.vercel.cli",
    ".config/netlify/config.json",
    ".netlify/config.json",
    ".config/heroku",
    ".heroku/credentials.json",
    ".cloudflared/cert.pem",
    ".wrangler/config",
    ".config/.wrangler/config",
    ".config/configstore/firebase-tools.json",
    ".config/openstack/clouds.yaml",
    ".pulumi/credentials.json",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".railway/config.json",
    ".config/rclone/rclone.conf",
    ".rclone.conf",
    ".config/ngrok/ngrok.yml",
    ".ngrok2/ngrok.yml",
    ".bluemix/config.json",
    ".databrickscfg",
    ".snowsql/config",
    ".snowflake/config.toml",
    ".config/snowflake",
    ".dbt/profiles.yml",
    // Clusters and containers.
    ".kube/config",
    ".docker/config.json",
    ".docker/machine",
    ".config/containers/auth.json",
    ".config/argocd/config",
    ".argocd/config",
    ".config/helm/registry",
    ".minikube/ca.key",
    ".minikube/profiles",
    ".rancher/cli2.json",
    // Forges and registries.
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh/hosts.yml",
    ".config/hub",
    ".config/glab-cli",
    ".config/tea",
    ".config/github-copilot",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".bundle/config",
    ".config/composer/auth.json",
    ".composer/auth.json",
    ".gradle/gradle.properties",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".nuget/NuGet/NuGet.Config",
    ".config/NuGet/NuGet.Config",
    ".hex/hex.config",
    ".conan/.conan.db",
    ".circleci/cli.yml",
    ".travis/config.yml",
    ".sentryclirc",
    ".config/stripe",
    ".twilio-cli",
    ".kaggle/kaggle.json",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".config/sops",
    // Agents.
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".config/anthropic",
    ".config/openai",
    ".openai",
    // Databases and mail.
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".local/share/DBeaverData",
    ".msmtprc",
    ".config/msmtp",
    ".fetchmailrc",
    ".mbsyncrc",
    ".offlineimaprc",
    ".esmtprc",
    ".mutt/passwords",
    ".smbcredentials",
    ".config/filezilla",
    ".filezilla",
    // Stores of passwords and keys.
    ".password-store",
    ".local/share/password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".kde/share/apps/kwallet",
    ".gnome2/keyrings",
    ".config/op",
    ".op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/rbw",
    ".local/share/rbw",
    ".config/keepassxc",
    ".lastpass",
    ".config/lpass",
    ".local/share/lpass",
    ".age",
    ".config/age",
    ".pki/nssdb",
    "Library/Keychains",
    ".cert9.db",
    ".authinfo",
    ".authinfo.gpg",
    // Browsers and messengers.
    ".mozilla",
    ".librewolf",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".thunderbird",
    "snap/firefox",
    "snap/chromium",
    ".var/app/org.mozilla.firefox",
    ".var/app/com.google.Chrome",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    "Library/Cookies",
    ".config/Slack",
    ".config/discord",
    ".config/Signal",
    ".purple/accounts.xml",
    ".local/share/TelegramDesktop",
    // Wallets.
    ".electrum",
    ".bitcoin",
    ".litecoin",
    ".dogecoin",
    ".monero",
    ".ethereum",
    ".config/solana",
    ".config/Exodus",
    ".config/Ledger Live",
    ".zcash",
    ".local/share/Bisq",
    ".brownie/accounts",
    ".foundry/keystores",
];

/// Files in those that say nothing that is not public, or that developers edit.
const PUBLIC: &[&str] = &[
    ".ssh/config", ".ssh/config.d", ".ssh/known_hosts", ".ssh/known_hosts.old", ".ssh/authorized_keys",
    ".ssh/authorized_keys2", ".ssh/allowed_signers", ".ssh/rc", ".gnupg/gpg.conf", ".gnupg/gpg-agent.conf",
    ".gnupg/dirmngr.conf", ".gnupg/common.conf", ".gnupg/pubring.kbx", ".gnupg/pubring.gpg", ".gnupg/trustdb.gpg",
];

/// The same for the system.
const SYSTEM_STORES: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/ipsec.secrets",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/postfix/sasl_passwd",
    "/etc/exim4/passwd.client",
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/super-admin.conf",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/controller-manager.conf",
    "/etc/kubernetes/scheduler.conf",
    "/etc/kubernetes/pki",
    "/etc/rancher/k3s/k3s.yaml",
    "/etc/rancher/rke2/rke2.yaml",
    "/var/lib/rancher/k3s/server/token",
    "/var/lib/rancher/k3s/server/node-token",
    "/var/lib/kubelet/pki",
    "/var/snap/microk8s/current/credentials",
    "/run/secrets",
    "/var/run/secrets",
    "/run/credentials",
    "/etc/letsencrypt/live",
    "/etc/letsencrypt/archive",
    "/etc/letsencrypt/accounts",
    "/etc/mysql/debian.cnf",
    "/etc/openvpn/client",
    "/etc/openvpn/server",
    "/etc/davfs2/secrets",
    "/etc/ceph/ceph.client.admin.keyring",
    "/etc/gitlab/gitlab-secrets.json",
    "/var/lib/jenkins/secrets",
    "/var/lib/jenkins/credentials.xml",
    "/etc/rndc.key",
    "/etc/bind/rndc.key",
    "/var/lib/sss/secrets",
    "/etc/docker/key.json",
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmem",
    "/var/lib/cloud/instance/user-data.txt",
    "/var/lib/systemd/credential.secret",
];

/// How well `path` has to be kept, if it is something that proves who somebody is.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "names are what they are on Linux")]
pub(crate) fn secrecy(path: &str, places: &Places) -> Option<Secrecy> {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.ends_with(".pub") || name.ends_with("_example") {
        return None;
    }
    if of_system(path, name) {
        return Some(Secrecy::Kept);
    }

    let inside = inside_home(path, &places.home);
    if path.contains(['*', '?', '[']) && matches_store(path, inside, &places.home) {
        return Some(Secrecy::Kept);
    }
    // Of what people work on, none begins like this: most paths end here.
    if let Some(inside) = inside.filter(|inside| inside.starts_with(['.', '_', 'L', 's'])) {
        if PUBLIC.iter().any(|public| is_within(inside, public)) {
            return None;
        }
        // A kubeconfig by another name, and directories of which every file matters.
        let of_cluster = inside.starts_with(".kube/") && !inside.starts_with(".kube/cache");
        let whole = [".aws", ".kube", ".azure", ".oci", ".config/gh", ".config/gcloud"].contains(&inside);
        if of_cluster || whole || is_history(inside) || STORES.iter().any(|store| is_within(inside, store)) {
            return Some(Secrecy::Kept);
        }
    }
    by_name(path, name, places).or_else(|| holds_some(path, inside, &places.home))
}

/// Whether a word is the plain name of something in the workspace that cannot be a credential: most words are.
pub(super) fn is_everyday(text: &str, cwd: Option<&str>, places: &Places) -> bool {
    let Some(cwd) = cwd.filter(|cwd| is_within(cwd, &places.workspace) && !cwd.contains("/.")) else { return false };
    if text.starts_with(['/', '.', '~']) || text.contains("/.") || cwd == places.home || places.workspace == "/" {
        return false;
    }
    let name = text.rsplit('/').next().unwrap_or_default();
    let is_key = name.rsplit_once('.').is_some_and(|(_, end)| KEY_ENDS.contains(&end));
    !is_key && !name.starts_with("id_") && name != "wallet.dat"
}

/// How the names of files end that hold keys and passwords.
const KEY_ENDS: [&str; 13] =
    ["kdbx", "kdb", "agekey", "keytab", "ppk", "psafe3", "pem", "key", "p12", "pfx", "jks", "keystore", "p8"];

/// Whether a pattern that says something matches a file that has to be kept: `/etc/sha*`, but not `~/.*rc`.
fn matches_store(pattern: &str, inside: Option<&str>, home: &str) -> bool {
    let name = pattern.rsplit('/').next().unwrap_or_default();
    let top = pattern.split('/').nth(1).unwrap_or_default();
    let is_there = match inside {
        Some(inside) => inside.starts_with(['.', '*', '?', '[']),
        None => is_pattern(top) || ["etc", "var", "run", "root", "home", "proc"].contains(&top),
    };
    if !is_there || name.bytes().filter(u8::is_ascii_alphanumeric).count() < 3 {
        return false;
    }
    let keys = [".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/id_ecdsa"];
    SYSTEM_STORES.iter().any(|store| matches_path(pattern, store))
        || STORES.iter().chain(&keys).any(|store| matches_path(pattern, &format!("{home}/{store}")))
}

/// Whether a file of the system, or of a process, holds credentials.
fn of_system(path: &str, name: &str) -> bool {
    if let Some(process) = path.strip_prefix("/proc/") {
        return process.ends_with("/environ") || process.ends_with("/mem") || path == "/proc/kcore";
    }
    let host_key = || path.starts_with("/etc/ssh/") && name.starts_with("ssh_host_") && name.contains("_key");
    let of_system = ["/etc/", "/var/", "/run/", "/dev/"].iter().any(|tree| path.starts_with(tree));
    of_system && (host_key() || SYSTEM_STORES.iter().any(|store| is_within(path, store)))
}

/// Names that say what a file is, wherever it lies.
fn by_name(path: &str, name: &str, places: &Places) -> Option<Secrecy> {
    const HANDLED: [&str; 17] = [
        ".netrc", ".npmrc", ".pypirc", "credentials.json", "credentials", "secrets.yml", "secrets.yaml",
        "secrets.json", "terraform.tfstate", "terraform.tfstate.backup", ".htpasswd", "kubeconfig",
        "service-account.json", "service_account.json", "master.key", ".pgpass", "auth.json",
    ];
    let stem = name.strip_suffix("_sk").unwrap_or(name);
    if ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss", "wallet.dat"].contains(&stem)
        || [".kdbx", ".kdb", ".agekey", ".keytab", ".ppk", ".psafe3"].iter().any(|end| name.ends_with(end))
    {
        return Some(Secrecy::Kept);
    }

    let own = is_within(path, &places.workspace) && places.workspace != "/" && places.workspace != places.home;
    let elsewhere = if own || is_disposable(path) { Secrecy::Handled } else { Secrecy::Kept };
    if name == ".env" || name.starts_with(".env.") && !is_sample(name) {
        return Some(elsewhere);
    }
    let is_key = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".p8"].iter().any(|end| name.ends_with(end));
    if is_key {
        let is_private = ["private", "privkey", "secret", "_rsa", "id_"].iter().any(|word| name.contains(word));
        return Some(if is_private { elsewhere } else { Secrecy::Handled });
    }
    (HANDLED.contains(&name) || path == "/etc/passwd" || name.ends_with(".tfvars.secret")).then_some(Secrecy::Handled)
}

/// Whether the name of an `.env` file says that there is nothing in it.
fn is_sample(name: &str) -> bool {
    ["example", "sample", "template", "dist", "defaults", "schema"].iter().any(|word| name.contains(word))
}

/// A directory that holds such files beside others.
fn holds_some(path: &str, inside: Option<&str>, home: &str) -> Option<Secrecy> {
    let holds = match inside {
        Some(inside) => inside.starts_with('.') && STORES.iter().any(|store| is_within(store, inside)),
        None => {
            path == home
                || super::is_home(path)
                || matches!(
                    path,
                    "/" | "/etc" | "/home" | "/etc/ssh" | "/etc/ssl" | "/etc/kubernetes" | "/etc/letsencrypt"
                )
        }
    };
    holds.then_some(Secrecy::Handled)
}

/// Whether the name of a variable says that its value is a secret.
pub(crate) fn names_secret(name: &str) -> bool {
    const WORDS: [&str; 14] = [
        "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "PAT", "PW", "PASS",
        "COOKIE", "DSN", "PGPASSWORD",
    ];
    const HARMLESS: [&str; 7] = ["PUBLIC", "PUBLISHABLE", "PRIMARY", "FOREIGN", "SORT", "MAX", "KEYBOARD"];
    let upper = name.to_ascii_uppercase();
    let mut words = upper.split(['_', '-', '.']);
    let is_path = ["FILE", "PATH", "DIR", "ID", "SOCK", "TTY", "URL_PREFIX", "NAME"]
        .iter()
        .any(|end| upper.ends_with(&format!("_{end}")));
    let is_secret = words.any(|word| {
        WORDS.contains(&word) || ["TOKEN", "SECRET", "PASSWORD", "APIKEY"].iter().any(|end| word.ends_with(end))
    });
    is_secret && !is_path && !upper.split('_').any(|word| HARMLESS.contains(&word))
}
