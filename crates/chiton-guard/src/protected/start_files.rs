//! Files that make code run later, by themselves or with the next program that reads them.

use crate::protected::inside_home;
use crate::value::path::is_within;

/// Files of a home directory that shells and sessions run.
const START_FILES: [&str; 22] = [
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".xinitrc", ".xprofile",
    ".xsession", ".pam_environment", ".envrc", ".screenrc",
];
/// Files and directories of a home directory that other programs run or obey.
const OBEYED: [(&str, &str); 20] = [
    (".ssh/authorized_keys", "the list of keys that may log in"),
    (".ssh/authorized_keys2", "the list of keys that may log in"),
    (".ssh/rc", "a file that runs at each login"),
    (".ssh/environment", "a file that is read at each login"),
    (".ssh/config", "the settings of ssh, which may name programs"),
    (".config/autostart", "the programs that start with the desktop"),
    (".config/systemd", "services of the user"),
    (".local/share/systemd", "services of the user"),
    (".config/fish", "a start file of a shell"),
    (".config/environment.d", "variables of every session"),
    (".config/git/config", "the settings of git, which may name programs"),
    (".config/git/hooks", "hooks of git"),
    (".gitconfig", "the settings of git, which may name programs"),
    (".vimrc", "a start file of an editor"),
    (".config/nvim", "a start file of an editor"),
    (".tmux.conf", "a start file"),
    (".claude", "the settings of an agent"),
    (".codex", "the settings of an agent"),
    (".cursor", "the settings of an agent"),
    (".gemini", "the settings of an agent"),
];
/// The same for the system.
const SYSTEM_PLACES: [(&str, &str); 24] = [
    ("/etc/crontab", "a table of timers"),
    ("/etc/anacrontab", "a table of timers"),
    ("/etc/cron.d", "a table of timers"),
    ("/etc/cron.hourly", "a table of timers"),
    ("/etc/cron.daily", "a table of timers"),
    ("/etc/cron.weekly", "a table of timers"),
    ("/etc/cron.monthly", "a table of timers"),
    ("/var/spool/cron", "a table of timers"),
    ("/var/spool/at", "a table of timers"),
    ("/etc/systemd", "a service of the system"),
    ("/lib/systemd", "a service of the system"),
    ("/usr/lib/systemd", "a service of the system"),
    ("/usr/local/lib/systemd", "a service of the system"),
    ("/run/systemd/system", "a service of the system"),
    ("/etc/init.d", "a service of the system"),
    ("/etc/rc.local", "a start file of the system"),
    ("/etc/profile", "a start file of every shell"),
    ("/etc/profile.d", "a start file of every shell"),
    ("/etc/bash.bashrc", "a start file of every shell"),
    ("/etc/zsh", "a start file of every shell"),
    ("/etc/environment", "variables of every session"),
    ("/etc/ssh", "the settings of the ssh server"),
    ("/etc/udev", "rules that run programs"),
    ("/etc/xdg/autostart", "the programs that start with the desktop"),
];
/// Places in any project that a trusted program runs or obeys later.
const PROJECT_PLACES: [(&str, &str); 9] = [
    ("/.git/hooks/", "a hook of git"),
    ("/.git/config", "the settings of git, which may name programs"),
    ("/.claude/settings", "the settings of an agent"),
    ("/.claude/hooks", "the settings of an agent"),
    ("/.codex/", "the settings of an agent"),
    ("/.cursor/mcp.json", "the settings of an agent"),
    ("/.gemini/settings", "the settings of an agent"),
    ("/.vscode/tasks.json", "tasks that an editor runs"),
    ("/.mcp.json", "the servers that an agent starts"),
];

/// Whether a file, named as seen from home, is run by shells or sessions.
pub(crate) fn is_start_file(inside: &str) -> bool {
    START_FILES.contains(&inside)
}

/// What a write to `path` would make run later, if anything.
pub(crate) fn starts_later(path: &str, home: &str, workspace: &str) -> Option<&'static str> {
    let in_workspace = workspace.len() > 1 && workspace != home && path.starts_with(workspace);
    if let Some(inside) = inside_home(path, home).filter(|_| !in_workspace) {
        if is_start_file(inside) {
            return Some("a start file of a shell");
        }
        if let Some((_, what)) = OBEYED.iter().find(|(place, _)| is_within(inside, place)) {
            return Some(what);
        }
    }
    if let Some((_, what)) = SYSTEM_PLACES.iter().find(|(place, _)| is_within(path, place)) {
        return Some(what);
    }
    if path.starts_with("/etc/rc") && path.contains(".d/") {
        return Some("a service of the system");
    }
    PROJECT_PLACES.iter().find(|(place, _)| path.contains(place)).map(|(_, what)| *what)
}

/// Files and directories of a home directory that prove who somebody is; those after the first 16 are also read by
/// developers all day.
const STORES: [&str; 22] = [
    ".aws/credentials",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".password-store",
    ".config/gcloud/credentials.db",
    ".config/gcloud/application_default_credentials.json",
    ".azure/accessTokens.json",
    ".vault-token",
    ".config/gh/hosts.yml",
    ".local/share/keyrings",
    ".mozilla/firefox",
    ".config/google-chrome",
    ".electrum",
    ".bitcoin",
    ".kube/config",
    ".docker/config.json",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".terraform.d/credentials.tfrc.json",
];

/// Whether `path` is something that proves who somebody is: keys, tokens, passwords. `strictly` leaves out the files
/// that developers read all day, such as `.env`.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "names are what they are on Linux")]
pub(crate) fn is_credential(path: &str, home: &str, strictly: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.ends_with(".pub") || matches!(name, "known_hosts" | "authorized_keys") {
        return false;
    }
    if ["/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers"].contains(&path)
        || path.starts_with("/etc/ssl/private")
    {
        return true;
    }
    if path.starts_with("/etc/ssh/") && name.starts_with("ssh_host_") && name.contains("_key") {
        return true;
    }
    if let Some(inside) = inside_home(path, home) {
        let key = inside.starts_with(".ssh/") && name != "config"
            || inside.starts_with(".gnupg/")
            || inside == ".ssh"
            || inside == ".gnupg";
        let count = if strictly { 16 } else { STORES.len() };
        let store = STORES[..count].iter().any(|store| {
            is_within(inside, store)
                || (!strictly
                    && is_within(store, inside)
                    && inside.starts_with('.')
                    && inside != ".config"
                    && inside != ".local")
        });
        if key || store {
            return true;
        }
    }
    if path.starts_with("/proc/") && path.ends_with("/environ") {
        return true;
    }
    let history = inside_home(path, home).is_some_and(crate::protected::is_history);
    if !strictly && (history || path == "/etc/passwd") {
        return true;
    }
    if name.starts_with("id_") && ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"].contains(&name) {
        return true;
    }
    !strictly
        && (name == ".env"
            || name.starts_with(".env.") && !matches!(name, ".env.example" | ".env.sample" | ".env.template")
            || name == ".netrc"
            || name == ".npmrc"
            || name == ".pypirc"
            || name.ends_with(".pem")
            || name.ends_with(".key")
            || name.ends_with(".p12")
            || name.ends_with(".pfx")
            || name.ends_with(".kdbx")
            || name == "credentials.json"
            || name == "secrets.yml"
            || name == "secrets.yaml"
            || name == "terraform.tfstate"
            || name == ".htpasswd"
            || name == "kubeconfig"
            || is_within(path, "/run/secrets")
            || is_within(path, "/var/run/secrets"))
}
