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
