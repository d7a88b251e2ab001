//! A state on its way to another machine: what belongs to the machine it was on stays behind.
//!
//! Functions, aliases, options and the umask are the work of whoever made them, and go along. Of variables those stay that
//! name something which is only there: directories of the system and of installed tools, sockets of agents and desktops, the
//! terminal, a job of a cluster. A value that looks like a secret stays, too: nobody has decided to show it to that machine.
//! Where a variable holds a path below the home directory, it goes along and is named: it may be right there, or not.

use std::path::{Path, PathBuf};

use chiton_guard::variables::{Class, classes};
use chiton_redact::look::{Look, look};
use serde::{Deserialize, Serialize};

use super::shell_state::{ShellState, Value, Variable};

/// A variable that did not go along, or that went along and may mean nothing there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftBehind {
    /// Its name.
    pub name: String,
    /// Whether it went along all the same.
    pub kept: bool,
    /// Why, in words that follow its name.
    pub why: String,
}

/// Names of variables and what they have to do with a machine, in words that follow a name. A trailing `*` stands for any rest.
const OF_A_MACHINE: &[(&str, &[&str])] = &[
    (
        "says which directories of that machine are searched",
        &[
            "PATH", "MANPATH", "INFOPATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
            "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "ACLOCAL_PATH",
        ],
    ),
    ("says who the user of that machine is", &["HOME", "USER", "LOGNAME", "USERNAME", "MAIL", "MAILPATH", "SUDO_*"]),
    ("says what that machine is", &["HOSTNAME", "HOST", "HOSTTYPE", "MACHTYPE", "OSTYPE", "SHELL", "WSL_*", "WSLENV"]),
    ("names a directory for temporary files there", &["TMPDIR", "TMP", "TEMP", "TEMPDIR"]),
    ("names directories of the desktop or the login there", &["XDG_*"]),
    (
        "leads to an agent or a desktop that runs there",
        &[
            "SSH_*", "GPG_*", "DBUS_*", "DISPLAY", "XAUTHORITY", "ICEAUTHORITY", "SESSION_MANAGER", "WAYLAND_*",
            "WINDOWID", "DESKTOP_SESSION", "GNOME_*", "KDE_*", "PULSE_*", "BROWSER", "VSCODE_*",
        ],
    ),
    (
        "describes the terminal there",
        &[
            "TERM", "TERM_*", "TERMINFO", "TERMINFO_DIRS", "TERMCAP", "COLORTERM", "COLUMNS", "LINES", "TMUX",
            "TMUX_*", "STY", "WINDOW", "VTE_*", "KITTY_*", "ITERM_*", "WEZTERM_*", "ALACRITTY_*", "KONSOLE_*",
            "GHOSTTY_*", "WT_SESSION", "WT_PROFILE_ID",
        ],
    ),
    (
        "leads to a cluster or containers that are reached from there",
        &["KUBECONFIG", "KUBERNETES_*", "DOCKER_*", "CONTAINER_HOST", "CONTAINERS_*", "BUILDKIT_HOST"],
    ),
    ("belongs to a job that runs there", &["SLURM_*", "PBS_*", "LSB_*", "SGE_*", "PMI_*", "PMIX_*", "OMPI_*"]),
    (
        "belongs to a service that runs there",
        &[
            "INVOCATION_ID", "JOURNAL_STREAM", "NOTIFY_SOCKET", "LISTEN_*", "MAINPID", "MANAGERPID", "SYSTEMD_*",
            "WATCHDOG_*",
        ],
    ),
    (
        "belongs to the network that machine is in",
        &[
            "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
            "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
        ],
    ),
    (
        "says where a tool is installed there",
        &[
            "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "CONDA_*", "MAMBA_*", "_CE_*", "PYENV_*", "NVM_*", "VOLTA_HOME",
            "FNM_*", "RBENV_*", "RVM_*", "rvm_*", "SDKMAN_*", "ASDF_*", "MISE_*", "JAVA_HOME", "JDK_HOME", "GOROOT",
            "CARGO_HOME", "RUSTUP_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "CUDA_HOME", "CUDA_PATH", "ROCM_PATH",
            "LOADEDMODULES", "_LMFILES_", "MODULEPATH", "MODULESHOME", "LMOD_*", "EBROOT*",
        ],
    ),
];

/// What a shell notes for itself as it goes. It stays behind, and nobody misses it.
const OF_THE_SHELL: &[&str] = &["PWD", "OLDPWD", "DIRSTACK", "SHLVL", "_"];

/// Variables of the language, and its names that every machine has.
const OF_THE_LANGUAGE: &[&str] = &["LANG", "LANGUAGE", "LC_*"];
const EVERYWHERE: &[&str] = &["", "C", "POSIX", "C.UTF-8", "C.utf8"];

/// Whether a variable of this name belongs to a machine: in words that follow the name.
fn of_a_machine(name: &str) -> Option<&'static str> {
    let row = OF_A_MACHINE.iter().find(|(_, names)| names.iter().any(|pattern| fits(pattern, name)));
    // What the loader reads is never carried from one command to the next either.
    let loader = || classes(name).find(|class| *class == Class::Loader).and_then(Class::withheld);
    row.map(|(why, _)| *why).or_else(loader)
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// Why a variable stays behind, in words that follow its name.
fn stays(name: &str, variable: &Variable) -> Option<String> {
    if let Some(why) = of_a_machine(name) {
        return Some(why.to_owned());
    }
    let value = variable.scalar().unwrap_or_default();
    if OF_THE_LANGUAGE.iter().any(|pattern| fits(pattern, name)) {
        let is_everywhere = EVERYWHERE.iter().any(|known| known.as_bytes() == value);
        return (!is_everywhere).then(|| "names a language that may not be installed there".to_owned());
    }
    match look(name, value) {
        Look::Secret(sign) => Some(format!("{sign}; name it there as {{{{secret:NAME}}}}")),
        Look::Plain | Look::Proxy(_) => None,
    }
}

/// Whether a value holds the path `home`, or one below it.
fn holds_home(value: &Value, home: &[u8]) -> bool {
    let holds = |text: &[u8]| {
        memchr::memmem::find_iter(text, home).any(|place| {
            let after = text.get(place + home.len());
            after.is_none_or(|byte| matches!(byte, b'/' | b':' | b' ' | b'\n' | b'"' | b'\''))
        })
    };
    match value {
        Value::Unset => false,
        Value::Scalar(text) => holds(text),
        Value::Indexed(items) => items.values().any(|item| holds(item)),
        Value::Associative(pairs) => pairs.iter().any(|(key, item)| holds(key) || holds(item)),
    }
}

impl ShellState {
    /// The same without what belongs to the machine it was on, where `home` was the home directory; and what that is. The
    /// working directory stays as it is: only the machine that it goes to can say whether it is there
    /// ([`directory_there`]).
    pub fn without_machine(&self, home: &Path) -> (Self, Vec<LeftBehind>) {
        let mut moved = self.clone();
        let mut left = Vec::new();
        let home = home.as_os_str().as_encoded_bytes();
        moved.variables.retain(|name, variable| {
            if OF_THE_SHELL.contains(&name.as_str()) {
                return false;
            }
            if let Some(why) = stays(name, variable) {
                left.push(LeftBehind { name: name.clone(), kept: false, why });
                return false;
            }
            if home.len() > 1 && holds_home(&variable.value, home) {
                let why = "holds a path below the home directory that it comes from".to_owned();
                left.push(LeftBehind { name: name.clone(), kept: true, why });
            }
            true
        });
        // Nobody has looked where it leads there.
        moved.real_cwd = PathBuf::new();
        (moved, left)
    }
}

/// Whether a variable that was unset stays so on another machine: what belongs to a machine is there as that machine has it.
pub(crate) fn stays_unset(name: &str) -> bool {
    of_a_machine(name).is_none() && !OF_THE_LANGUAGE.iter().any(|pattern| fits(pattern, name))
}

/// How the directory was found that a session goes on in after a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundDirectory {
    /// It was below the home directory, and there is the same below this one.
    BelowHome,
    /// There is one of the same name.
    SameName,
    /// There is none; it starts where new sessions do.
    Start,
}

/// Where a session goes on that was in `was` on a machine with the home directory `old_home`: in the same place below `home`, in
/// one of the same name, or in `start`.
pub fn directory_there(was: &Path, old_home: &Path, home: &Path, start: &Path) -> (PathBuf, FoundDirectory) {
    let below = was.strip_prefix(old_home).ok().filter(|_| old_home.components().count() > 1);
    if let Some(mapped) = below.map(|rest| home.join(rest)).filter(|mapped| mapped.is_dir()) {
        return (mapped, FoundDirectory::BelowHome);
    }
    if was.is_absolute() && was.is_dir() {
        return (was.to_owned(), FoundDirectory::SameName);
    }
    (start.to_owned(), FoundDirectory::Start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pairs: &[(&str, &str)]) -> ShellState {
        let environment = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        ShellState::fresh("/home/me/work", environment, 0o027)
    }

    #[test]
    fn what_belongs_to_the_machine_stays_and_the_work_goes() {
        let stays = [
            ("PATH", "/usr/bin"),
            ("HOME", "/home/me"),
            ("USER", "me"),
            ("LOGNAME", "me"),
            ("SHELL", "/bin/zsh"),
            ("HOSTNAME", "laptop"),
            ("MAIL", "/var/mail/me"),
            ("TMPDIR", "/tmp/me"),
            ("TMP", "/tmp"),
            ("TEMP", "/tmp"),
            ("XDG_RUNTIME_DIR", "/run/user/1000"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run"),
            ("DISPLAY", ":0"),
            ("WAYLAND_DISPLAY", "wayland-0"),
            ("GPG_TTY", "/dev/pts/1"),
            ("TERM", "xterm"),
            ("TERM_PROGRAM", "kitty"),
            ("LANG", "de_AT.UTF-8"),
            ("LC_ALL", "en_US.UTF-8"),
            ("KUBECONFIG", "/home/me/.kube/prod"),
            ("DOCKER_HOST", "unix:///run/docker.sock"),
            ("SLURM_JOB_ID", "7"),
            ("LD_LIBRARY_PATH", "/opt/lib"),
            ("http_proxy", "http://proxy:3128"),
            ("VIRTUAL_ENV", "/home/me/work/.venv"),
            ("JAVA_HOME", "/usr/lib/jvm/17"),
            ("GITHUB_TOKEN", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
        ];
        let goes =
            [("STAGE", "test"), ("LC_TIME", "C.UTF-8"), ("EDITOR", "vi"), ("PORT", "8080"), ("PYTHONPATH", "src")];
        let named = [("DATA", "/home/me/data"), ("FILES", "a:/home/me:b")];
        let unsaid = [("OLDPWD", "/"), ("SHLVL", "1")];
        let (moved, left) =
            state(&[&stays[..], &goes, &named, &unsaid].concat()).without_machine(Path::new("/home/me"));
        let names: Vec<&str> = moved.variables.keys().map(String::as_str).collect();
        assert_eq!(names, ["DATA", "EDITOR", "FILES", "LC_TIME", "PORT", "PYTHONPATH", "STAGE"]);
        for (name, _) in stays {
            assert!(left.iter().any(|left| left.name == name && !left.kept && !left.why.is_empty()), "{name}");
        }
        let kept: Vec<&str> = left.iter().filter(|left| left.kept).map(|left| left.name.as_str()).collect();
        assert_eq!(kept, ["DATA", "FILES"]);
        assert_eq!(left.len(), stays.len() + named.len());
        assert_eq!((moved.cwd.as_path(), moved.umask), (Path::new("/home/me/work"), 0o027));
        assert!(!serde_json::to_string(&left).unwrap().contains("ghp_"), "no value is told");
    }

    #[test]
    fn functions_aliases_and_options_go_along() {
        let mut state = state(&[]);
        let text = "f () { :; }".into();
        state.functions.insert("f".into(), crate::state::Function { attributes: String::new(), text });
        state.aliases.insert("l".into(), "ls".into());
        state.shopt.insert("extglob".to_owned(), true);
        let (moved, left) = state.without_machine(Path::new("/home/me"));
        assert_eq!(moved, ShellState { real_cwd: PathBuf::new(), ..state });
        assert!(left.is_empty());
    }

    #[test]
    fn another_home_that_begins_alike_is_not_this_one() {
        let (_, left) = state(&[("A", "/home/merlin/x"), ("B", "/home/me")]).without_machine(Path::new("/home/me"));
        assert_eq!(left.iter().map(|left| left.name.as_str()).collect::<Vec<_>>(), ["B"]);
        let (_, left) = state(&[("A", "/x")]).without_machine(Path::new("/"));
        assert!(left.is_empty(), "a home directory of / is no path that says anything");
    }

    #[test]
    fn a_directory_is_looked_for_below_home_then_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (home, other) = (folder.path().join("home"), folder.path().join("other"));
        for path in [home.join("work"), other.join("work"), other.join("alone")] {
            std::fs::create_dir_all(path).unwrap();
        }
        let found = |was: &Path| directory_there(was, &other, &home, Path::new("/"));
        assert_eq!(found(&other.join("work")), (home.join("work"), FoundDirectory::BelowHome));
        assert_eq!(found(&other.join("alone")), (other.join("alone"), FoundDirectory::SameName));
        assert_eq!(found(&other), (home.clone(), FoundDirectory::BelowHome));
        assert_eq!(found(&folder.path().join("none")), ("/".into(), FoundDirectory::Start));
        assert_eq!(found(Path::new("/usr")), ("/usr".into(), FoundDirectory::SameName));
    }
}
