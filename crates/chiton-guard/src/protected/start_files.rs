//! Files that make code run later, by themselves or with the next program that reads them.

use crate::protected::inside_home;
use crate::value::path::is_within;

/// Files of a home directory that shells and sessions run.
const START_FILES: &[&str] = &[
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc",
    ".xinitrc", ".xserverrc", ".xprofile", ".xsession", ".xsessionrc", ".pam_environment", ".envrc", ".screenrc",
    ".config/zsh/.zshrc", ".config/zsh/.zshenv", ".config/zsh/.zprofile", ".xonshrc", ".shrc", ".ashrc", ".dashrc",
    ".environment", ".alias", ".aliases", ".zsh_aliases",
];
/// Files and directories of a home directory that other programs run or obey.
const OBEYED: &[(&str, &str)] = &[
    (".ssh/authorized_keys", "the list of keys that may log in"),
    (".ssh/authorized_keys2", "the list of keys that may log in"),
    (".ssh/rc", "a file that runs at each login"),
    (".ssh/environment", "a file that is read at each login"),
    (".ssh/config", "the settings of ssh, which may name programs"),
    (".ssh/config.d", "the settings of ssh, which may name programs"),
    (".rhosts", "the list of machines that may log in"),
    (".shosts", "the list of machines that may log in"),
    (".k5login", "the list of people who may log in"),
    // The desktop.
    (".config/autostart", "the programs that start with the desktop"),
    (".config/autostart-scripts", "the programs that start with the desktop"),
    (".config/plasma-workspace", "the programs that start with the desktop"),
    (".config/openbox", "the programs that start with the desktop"),
    (".config/i3", "the programs that start with the desktop"),
    (".i3", "the programs that start with the desktop"),
    (".config/sway", "the programs that start with the desktop"),
    (".config/hypr", "the programs that start with the desktop"),
    (".config/awesome", "the programs that start with the desktop"),
    (".config/bspwm", "the programs that start with the desktop"),
    (".config/qtile", "the programs that start with the desktop"),
    (".config/sxhkd", "the programs that keys start"),
    (".config/lxsession", "the programs that start with the desktop"),
    (".config/upstart", "services of the user"),
    (".config/systemd", "services of the user"),
    (".local/share/systemd", "services of the user"),
    (".local/share/dbus-1/services", "services of the user"),
    (".local/share/applications", "the programs that the desktop starts"),
    ("Library/LaunchAgents", "services of the user"),
    (".config/environment.d", "variables of every session"),
    // Other shells, and what shells load.
    (".config/fish", "a start file of a shell"),
    (".config/nushell", "a start file of a shell"),
    (".config/elvish", "a start file of a shell"),
    (".config/xonsh", "a start file of a shell"),
    (".config/powershell", "a start file of a shell"),
    (".config/bash", "a start file of a shell"),
    (".bashrc.d", "a start file of a shell"),
    (".bash.d", "a start file of a shell"),
    (".zshrc.d", "a start file of a shell"),
    (".zsh", "a start file of a shell"),
    (".config/zsh", "a start file of a shell"),
    (".oh-my-zsh", "a start file of a shell"),
    (".oh-my-bash", "a start file of a shell"),
    (".bash_completion", "a start file of a shell"),
    (".config/direnv", "a start file of a shell"),
    (".tmux.conf", "a start file"),
    (".config/tmux", "a start file"),
    (".config/zellij", "a start file"),
    (".byobu", "a start file"),
    // Git and package managers.
    (".config/git/config", "the settings of git, which may name programs"),
    (".config/git/hooks", "hooks of git"),
    (".config/git/template", "hooks of git"),
    (".git-templates", "hooks of git"),
    (".git-template", "hooks of git"),
    (".git_template", "hooks of git"),
    (".githooks", "hooks of git"),
    (".gitconfig", "the settings of git, which may name programs"),
    (".config/hg/hgrc", "the settings of Mercurial, which may name programs"),
    (".hgrc", "the settings of Mercurial, which may name programs"),
    (".npmrc", "where packages come from"),
    (".yarnrc", "where packages come from"),
    (".yarnrc.yml", "where packages come from"),
    (".pip", "where packages come from"),
    (".config/pip", "where packages come from"),
    (".pydistutils.cfg", "where packages come from"),
    (".gemrc", "where packages come from"),
    (".condarc", "where packages come from"),
    (".cargo/config", "the settings of cargo, which may name programs"),
    (".cargo/config.toml", "the settings of cargo, which may name programs"),
    (".config/go/env", "the settings of go, which may name programs"),
    (".m2/settings.xml", "where packages come from"),
    (".mavenrc", "a file that Maven runs"),
    (".gradle/init.gradle", "a file that every build runs"),
    (".gradle/init.d", "a file that every build runs"),
    (".gradle/gradle.properties", "the settings of every build"),
    (".sbt", "a file that every build runs"),
    (".config/composer/config.json", "where packages come from"),
    (".curlrc", "the settings of curl"),
    (".config/curlrc", "the settings of curl"),
    (".wgetrc", "the settings of wget"),
    (".docker/config.json", "the settings of docker, which may name programs"),
    (".docker/cli-plugins", "programs that docker runs"),
    (".kube/config", "the settings of kubectl, which may name programs"),
    (".aws/config", "the settings of aws, which may name programs"),
    // Editors, debuggers and interpreters.
    (".vimrc", "a start file of an editor"),
    (".gvimrc", "a start file of an editor"),
    (".exrc", "a start file of an editor"),
    (".ideavimrc", "a start file of an editor"),
    (".vim", "a start file of an editor"),
    (".config/nvim", "a start file of an editor"),
    (".local/share/nvim/site", "a start file of an editor"),
    (".emacs", "a start file of an editor"),
    (".emacs.d", "a start file of an editor"),
    (".config/emacs", "a start file of an editor"),
    (".config/doom", "a start file of an editor"),
    (".doom.d", "a start file of an editor"),
    (".config/Code/User", "the settings of an editor, which may name programs"),
    (".config/Code - Insiders/User", "the settings of an editor, which may name programs"),
    (".config/VSCodium/User", "the settings of an editor, which may name programs"),
    (".config/Cursor/User", "the settings of an editor, which may name programs"),
    (".config/Windsurf/User", "the settings of an editor, which may name programs"),
    (".vscode-server/data/Machine", "the settings of an editor, which may name programs"),
    (".config/zed", "the settings of an editor, which may name programs"),
    (".config/micro", "a start file of an editor"),
    (".pythonrc", "a start file of an interpreter"),
    (".pythonrc.py", "a start file of an interpreter"),
    (".pdbrc", "a start file of a debugger"),
    (".ipython/profile_default/startup", "a start file of an interpreter"),
    (".ipython/profile_default/ipython_config.py", "a start file of an interpreter"),
    (".jupyter", "the settings of Jupyter, which run"),
    (".irbrc", "a start file of an interpreter"),
    (".pryrc", "a start file of an interpreter"),
    (".Rprofile", "a start file of an interpreter"),
    (".julia/config", "a start file of an interpreter"),
    (".juliarc.jl", "a start file of an interpreter"),
    (".ghci", "a start file of an interpreter"),
    (".iex.exs", "a start file of an interpreter"),
    (".node_repl.js", "a start file of an interpreter"),
    (".perldb", "a start file of a debugger"),
    (".gdbinit", "a start file of a debugger"),
    (".gdbearlyinit", "a start file of a debugger"),
    (".config/gdb", "a start file of a debugger"),
    (".lldbinit", "a start file of a debugger"),
    (".psqlrc", "a start file of a client"),
    (".sqliterc", "a start file of a client"),
    (".mongorc.js", "a start file of a client"),
    (".mongoshrc.js", "a start file of a client"),
    (".lessfilter", "a program that less runs"),
    (".mailcap", "programs that mail is shown with"),
    (".forward", "a program that mail is given to"),
    (".procmailrc", "a program that mail is given to"),
    (".config/mpv/scripts", "programs that a player runs"),
    (".config/rofi", "programs that a menu runs"),
    (".config/mimeapps.list", "the programs that the desktop starts"),
    // Agents and where they find their servers.
    (".claude", "the settings of an agent"),
    (".claude.json", "the servers that an agent starts"),
    (".config/claude", "the settings of an agent"),
    (".config/Claude", "the servers that an agent starts"),
    ("Library/Application Support/Claude", "the servers that an agent starts"),
    (".codex", "the settings of an agent"),
    (".cursor", "the settings of an agent"),
    (".gemini", "the settings of an agent"),
    (".qwen", "the settings of an agent"),
    (".config/opencode", "the settings of an agent"),
    (".continue", "the settings of an agent"),
    (".windsurf", "the settings of an agent"),
    (".codeium", "the settings of an agent"),
    (".config/goose", "the settings of an agent"),
    (".config/crush", "the settings of an agent"),
    (".config/amp", "the settings of an agent"),
    (".aider.conf.yml", "the settings of an agent"),
    (".config/github-copilot", "the settings of an agent"),
    (".copilot", "the settings of an agent"),
    (".kiro", "the settings of an agent"),
    (".roo", "the settings of an agent"),
    (".factory", "the settings of an agent"),
];
/// The same for the system.
const SYSTEM_PLACES: &[(&str, &str)] = &[
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
    ("/etc/sv", "a service of the system"),
    ("/etc/service", "a service of the system"),
    ("/var/service", "a service of the system"),
    ("/etc/runit", "a service of the system"),
    ("/etc/s6", "a service of the system"),
    ("/etc/conf.d", "a service of the system"),
    ("/etc/inittab", "a service of the system"),
    ("/etc/supervisor", "a service of the system"),
    ("/etc/supervisord.conf", "a service of the system"),
    ("/etc/xinetd.d", "a service of the system"),
    ("/etc/inetd.conf", "a service of the system"),
    ("/etc/dbus-1", "a service of the system"),
    ("/usr/share/dbus-1", "a service of the system"),
    ("/Library/LaunchAgents", "a service of the system"),
    ("/Library/LaunchDaemons", "a service of the system"),
    ("/etc/update-motd.d", "a file that runs at each login"),
    ("/etc/skel", "the start files of every new user"),
    ("/etc/bashrc", "a start file of every shell"),
    ("/etc/zshrc", "a start file of every shell"),
    ("/etc/zshenv", "a start file of every shell"),
    ("/etc/zprofile", "a start file of every shell"),
    ("/etc/fish", "a start file of every shell"),
    ("/etc/csh.cshrc", "a start file of every shell"),
    ("/etc/ksh.kshrc", "a start file of every shell"),
    ("/etc/X11/Xsession.d", "the programs that start with the desktop"),
    ("/etc/X11/xinit", "the programs that start with the desktop"),
    ("/etc/gitconfig", "the settings of git, which may name programs"),
    ("/etc/NetworkManager/dispatcher.d", "programs that run when the network changes"),
    ("/etc/network/if-up.d", "programs that run when the network changes"),
    ("/etc/network/if-pre-up.d", "programs that run when the network changes"),
    ("/etc/dhcp/dhclient-exit-hooks.d", "programs that run when the network changes"),
    ("/etc/apt/apt.conf.d", "settings of apt, which may name programs"),
    ("/etc/logrotate.d", "settings of logrotate, which may name programs"),
    ("/etc/acpi", "programs that run when keys are pressed"),
    ("/etc/modules-load.d", "modules that the kernel loads"),
    ("/etc/modprobe.d", "modules that the kernel loads"),
    ("/etc/ld.so.conf.d", "libraries that every program loads"),
    ("/etc/vim", "a start file of an editor"),
    ("/etc/emacs", "a start file of an editor"),
    ("/etc/tmux.conf", "a start file"),
    ("/etc/pip.conf", "where packages come from"),
    ("/etc/npmrc", "where packages come from"),
    ("/etc/alternatives", "which program a name stands for"),
];
/// Places in any project that a trusted program runs or obeys later.
const PROJECT_PLACES: &[(&str, &str)] = &[
    ("/.git/hooks/", "a hook of git"),
    ("/.git/config", "the settings of git, which may name programs"),
    ("/.claude/settings", "the settings of an agent"),
    ("/.claude/hooks", "the settings of an agent"),
    ("/.codex/", "the settings of an agent"),
    ("/.cursor/mcp.json", "the settings of an agent"),
    ("/.gemini/settings", "the settings of an agent"),
    ("/.vscode/tasks.json", "tasks that an editor runs"),
    ("/.mcp.json", "the servers that an agent starts"),
    ("/.vscode/mcp.json", "the servers that an agent starts"),
    ("/.roo/mcp.json", "the servers that an agent starts"),
    ("/.kiro/settings", "the settings of an agent"),
    ("/opencode.json", "the settings of an agent"),
    ("/.opencode/opencode.json", "the settings of an agent"),
    ("/site-packages/sitecustomize.py", "a file that every Python program runs"),
    ("/site-packages/usercustomize.py", "a file that every Python program runs"),
    ("/dist-packages/sitecustomize.py", "a file that every Python program runs"),
];

/// Programs that everybody runs without a path. One of that name earlier in the search path takes their place.
const EVERYDAY: &[&str] = &[
    "ls", "cat", "sudo", "su", "doas", "ssh", "scp", "sftp", "sshd", "ssh-agent", "ssh-add", "git", "bash", "sh",
    "zsh", "dash", "env", "ps", "kill", "top", "rm", "cp", "mv", "mkdir", "find", "grep", "sed", "awk", "id", "whoami",
    "passwd", "login", "gpg", "curl", "wget", "perl", "systemctl", "apt", "apt-get", "dpkg", "mount", "ip", "ifconfig",
    "netstat", "ss", "lsof", "crontab", "which", "echo", "test", "chmod", "chown", "tar", "less", "more", "man",
    "date", "df", "du", "head", "tail", "sort", "xargs", "tee", "touch", "ln", "pwd", "uname", "hostname", "w", "who",
    "last", "dd",
];

/// Whether a file, named as seen from home, is run by shells or sessions.
pub(crate) fn is_start_file(inside: &str) -> bool {
    START_FILES.contains(&inside)
}

/// What a write to `path` would make run later, if anything.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "names are what they are on Linux")]
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
    if takes_the_place_of_another(path) {
        return Some("a program that would run in the place of another one");
    }
    let site = path.contains("/site-packages/") || path.contains("/dist-packages/");
    if site && path.ends_with(".pth") {
        return Some("a file that every Python program runs");
    }
    PROJECT_PLACES.iter().find(|(place, _)| path.contains(place)).map(|(_, what)| *what)
}

/// Whether a file in a directory of programs has the name of an everyday one.
fn takes_the_place_of_another(path: &str) -> bool {
    let Some((directory, name)) = path.rsplit_once('/') else { return false };
    let searched =
        ["/.local/bin", "/bin", "/.bin", "/usr/local/bin", "/usr/local/sbin", "/.cargo/bin", "/.npm-global/bin"];
    let at_home =
        directory.starts_with("/home/") || directory.starts_with("/root/") || directory.starts_with("/Users/");
    let is_searched = directory.starts_with("/usr/local/")
        || at_home && !directory.contains("/.venv") && !directory.contains("/venv");
    is_searched
        && searched.iter().any(|end| directory.ends_with(end))
        && directory.matches('/').count() <= 4
        && EVERYDAY.contains(&name)
}

/// Whether a file tells the client of an agent which servers to start, and what they may do.
pub(crate) fn is_of_agent(path: &str) -> bool {
    [
        "/.mcp.json", "/.claude/settings.json", "/.claude/settings.local.json", "/.cursor/mcp.json",
        "/.vscode/mcp.json", "/.claude.json", "/.codex/config.toml", "/.gemini/settings.json", "/opencode.json",
    ]
    .iter()
    .any(|name| path.ends_with(name))
}
