//! Which variables may reach a command at all.
//!
//! Some variables make a program run code, load libraries or parse differently before the command itself does
//! anything. No everyday work needs them, so they never reach a child: not from the engine's own environment, not
//! from a call, not from a session that set them a command earlier. What was removed is said in the response.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::state::{Value, Variable};

/// What the human who set up the engine decided about variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// Also removes what lets a command talk to the desktop session ([`DESKTOP`]).
    pub strict: bool,
    /// Names that pass although they are in the tables below.
    pub pass: BTreeSet<String>,
}

/// A variable that was kept from the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedVariable {
    /// Its name.
    pub name: String,
    /// Why, in a few words.
    pub why: String,
}

/// Names by what they would do, with the words that say so.
const TABLES: [(&str, &[&str]); 5] = [
    ("makes the loader or the C library run or read other files", LOADER),
    ("changes how the shell starts, parses or traces", SHELL),
    ("makes an interpreter run code at its start", INTERPRETERS),
    ("makes git run or read something else", GIT),
    ("belongs to the service that started this process", SERVICE),
];

/// A trailing `*` stands for any rest.
const LOADER: &[&str] = &[
    "LD_*",
    "_RLD*",
    "DYLD_*",
    "LDR_*",
    "LIBPATH",
    "SHLIB_PATH",
    "AUTHSTATE",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "GETCONF_DIR",
    "LOCPATH",
    "NLSPATH",
    "PATH_LOCALE",
    "MALLOC_TRACE",
    "MALLOC_PERTURB_",
    "MALLOC_CHECK_",
    "RESOLV_HOST_CONF",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "NIS_PATH",
    "TZDIR",
];
const SHELL: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "PS0",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "BASH_FUNC_*",
    "BASH_XTRACEFD",
    "BASH_LOADABLES_PATH",
    "FPATH",
    "NULLCMD",
    "READNULLCMD",
    "ZDOTDIR",
    "TMPPREFIX",
    "POSIXLY_CORRECT",
    "EXECIGNORE",
    "TIMEFORMAT",
];
const INTERPRETERS: &[&str] = &[
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONHOME",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",
    "PYTHONEXECUTABLE",
    "PYTHONUSERBASE",
    "PERL5OPT",
    "PERL5DB",
    "PERL5DBCMD",
    "PERLIO_DEBUG",
    "PERLLIB",
    "RUBYOPT",
    "NODE_REPL_EXTERNAL_MODULE",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "DOTNET_STARTUP_HOOKS",
    "DOTNET_ADDITIONAL_DEPS",
    "CORECLR_PROFILER",
    "CORECLR_PROFILER_PATH",
    "CORECLR_ENABLE_PROFILING",
    "LUA_INIT",
    "LUA_INIT_5_*",
    "VIMINIT",
    "EXINIT",
    "GVIMINIT",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "ERL_AFLAGS",
    "ERL_FLAGS",
    "ERL_ZFLAGS",
    "R_PROFILE",
    "R_ENVIRON",
    "R_PROFILE_USER",
    "JULIA_LOAD_PATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "SSLKEYLOGFILE",
];
const GIT: &[&str] = &[
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PROXY_COMMAND",
    "GIT_CONFIG",
    "GIT_CONFIG_*",
    "GIT_REDIRECT_*",
    "GIT_ALLOW_PROTOCOL",
];
const SERVICE: &[&str] = &[
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "SYSTEMD_EXEC_PID",
    "MAINPID",
    "CREDENTIALS_DIRECTORY",
];
/// Only in an environment: a shell would take it for a function.
const DISGUISE: &str = "is a function in disguise";
/// Removed in strict mode only: everyday programs need them.
pub const DESKTOP: &[&str] = &["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"];
/// Removed only when the value is a path, which makes a program read or write there.
const WITH_PATH: &[&str] = &["TERMCAP", "TERMPATH", "TERMINFO", "TERMINFO_DIRS", "GIT_TRACE*"];

impl EnvironmentPolicy {
    /// Why a variable of this name and value may not reach a command; `None` when it may.
    pub fn objection(&self, name: &str, value: &[u8]) -> Option<&'static str> {
        if !is_name(name) {
            return Some("is not a name a shell can have");
        }
        if self.pass.contains(name) {
            return None;
        }
        if let Some((why, _)) = TABLES.iter().find(|(_, names)| matches(names, name)) {
            return Some(why);
        }
        if self.strict && DESKTOP.contains(&name) {
            return Some("lets a command reach the desktop session; strict mode removes it");
        }
        if matches(WITH_PATH, name) && value.contains(&b'/') {
            return Some("names a file that programs read or write by themselves");
        }
        value.starts_with(b"()").then_some(DISGUISE)
    }

    /// Removes what may not reach a command.
    pub(crate) fn filter(&self, variables: &mut BTreeMap<String, Variable>) -> Vec<RemovedVariable> {
        let mut removed = Vec::new();
        variables.retain(|name, variable| {
            let value = if let Value::Scalar(value) = &variable.value { &value[..] } else { b"" };
            let objection = self.objection(name, value).filter(|why| *why != DISGUISE || variable.is_exported());
            if let Some(why) = objection {
                removed.push(RemovedVariable { name: name.clone(), why: why.to_owned() });
            }
            objection.is_none()
        });
        removed
    }
}

fn matches(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => *pattern == name,
    })
}

/// Whether a shell can have a variable of this name.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// So that nothing waits for a person: set where the environment does not say otherwise.
pub(crate) const PATIENCE: [(&str, &str); 7] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GCM_INTERACTIVE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "true"),
    // An editor that nobody sees takes the text as it is, so `git rebase --continue` goes on instead of hanging.
    ("GIT_EDITOR", "true"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_names_are_removed_and_everyday_ones_pass() {
        let plain = EnvironmentPolicy::default();
        let strict = EnvironmentPolicy { strict: true, ..EnvironmentPolicy::default() };
        for name in TABLES.iter().flat_map(|(_, names)| names.iter().map(|name| name.replace('*', "X"))) {
            assert!(plain.objection(&name, b"x").is_some(), "{name}");
        }
        let everyday = [
            "PATH",
            "HOME",
            "LANG",
            "TERM",
            "XDG_RUNTIME_DIR",
            "DBUS_SESSION_BUS_ADDRESS",
            "GIT_AUTHOR_NAME",
            "EDITOR",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "LDFLAGS",
            "ENVIRONMENT",
            "CARGO_HOME",
            "VIRTUAL_ENV",
            "SSH_AUTH_SOCK",
        ];
        for name in everyday {
            assert_eq!(plain.objection(name, b"/some/where"), None, "{name}");
        }
        assert!(strict.objection("XDG_RUNTIME_DIR", b"/run/user/1").is_some());
        assert!(plain.objection("TERMINFO", b"/tmp/terminfo").is_some());
        assert!(plain.objection("GIT_TRACE", b"1").is_none());
        assert!(plain.objection("GIT_TRACE", b"/tmp/log").is_some());
        assert!(plain.objection("HARMLESS", b"() { :; }").is_some());
    }

    #[test]
    fn what_the_human_lets_pass_passes() {
        let policy = EnvironmentPolicy { pass: ["LD_LIBRARY_PATH".to_owned()].into(), ..Default::default() };
        assert_eq!(policy.objection("LD_LIBRARY_PATH", b"/opt/cuda"), None);
        assert!(policy.objection("LD_PRELOAD", b"/x.so").is_some());
    }

    #[test]
    fn names_are_what_a_shell_accepts() {
        for (name, good) in [("A", true), ("_a1", true), ("1a", false), ("", false), ("a-b", false), ("\u{e4}", false)]
        {
            assert_eq!(is_name(name), good, "{name}");
        }
    }
}
