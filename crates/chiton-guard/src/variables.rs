//! Variables that make programs run code.

use crate::effect::Kind;
use std::rc::Rc;

use crate::machine::Machine;
use crate::machine::state::World;
use crate::machine::value::{Flow, Text};
use crate::programs::network::suspicious_helper;
use chiton_shell::tree::Span;

/// What there is to look at in the value of a variable.
enum Check {
    /// Whatever it is, it runs or loads code; these values are harmless.
    Code(&'static [&'static str]),
    /// A command line.
    Command,
    /// Directories that are searched for programs or code.
    Search,
    /// Options, of which these load code.
    Options(&'static [&'static str]),
    /// A file that is read as settings or code.
    File,
}

/// A trailing `*` stands for any rest.
const VARIABLES: &[(&str, Check)] = &[
    ("LD_PRELOAD", Check::Code(&[""])),
    ("LD_AUDIT", Check::Code(&[""])),
    ("LD_LIBRARY_PATH", Check::Search),
    ("DYLD_INSERT_LIBRARIES", Check::Code(&[""])),
    ("GCONV_PATH", Check::Code(&[""])),
    ("GLIBC_TUNABLES", Check::Code(&[""])),
    ("BASH_ENV", Check::Code(&["", "/dev/null"])),
    ("ENV", Check::File),
    ("PROMPT_COMMAND", Check::Command),
    ("PS0", Check::Options(&["$(", "`"])),
    ("PS4", Check::Options(&["$(", "`"])),
    ("SHELLOPTS", Check::Code(&[""])),
    ("BASHOPTS", Check::Code(&[""])),
    ("ZDOTDIR", Check::Code(&[""])),
    ("BASH_FUNC_*", Check::Code(&[""])),
    ("BASH_LOADABLES_PATH", Check::Code(&[""])),
    ("PERL5OPT", Check::Options(&["-M", "-m", "-I", "-d", "-e"])),
    ("PERL5DB", Check::Code(&[""])),
    ("PERL5LIB", Check::Search),
    ("PERLLIB", Check::Search),
    ("PYTHONSTARTUP", Check::Code(&[""])),
    ("PYTHONHOME", Check::Search),
    ("PYTHONPATH", Check::Search),
    ("PYTHONBREAKPOINT", Check::Code(&["", "0", "pdb.set_trace", "ipdb.set_trace"])),
    ("PYTHONINSPECT", Check::Code(&["", "0", "1"])),
    ("PYTHONUSERBASE", Check::Search),
    ("RUBYOPT", Check::Options(&["-r", "-I", "-e"])),
    ("RUBYLIB", Check::Search),
    (
        "NODE_OPTIONS",
        Check::Options(&[
            "--require",
            "-r ",
            "-r=",
            "--import",
            "--loader",
            "--experimental-loader",
            "--inspect=0.0.0.0",
        ]),
    ),
    ("NODE_PATH", Check::Search),
    ("NODE_REPL_EXTERNAL_MODULE", Check::Code(&[""])),
    ("JAVA_TOOL_OPTIONS", Check::Options(&["-javaagent", "-agentlib", "-agentpath", "OnError", "OnOutOfMemoryError"])),
    ("_JAVA_OPTIONS", Check::Options(&["-javaagent", "-agentlib", "-agentpath", "OnError", "OnOutOfMemoryError"])),
    ("JDK_JAVA_OPTIONS", Check::Options(&["-javaagent", "-agentlib", "-agentpath", "OnError", "OnOutOfMemoryError"])),
    ("MAVEN_OPTS", Check::Options(&["-javaagent", "-agentpath"])),
    ("GRADLE_OPTS", Check::Options(&["-javaagent", "-agentpath"])),
    ("DOTNET_STARTUP_HOOKS", Check::Code(&[""])),
    ("CORECLR_PROFILER_PATH", Check::Code(&[""])),
    ("LUA_INIT*", Check::Code(&[""])),
    ("VIMINIT", Check::Code(&[""])),
    ("EXINIT", Check::Code(&[""])),
    ("PHPRC", Check::Code(&[""])),
    ("PHP_INI_SCAN_DIR", Check::Code(&[""])),
    ("ERL_AFLAGS", Check::Options(&["-eval", "-run", "-s "])),
    ("ERL_FLAGS", Check::Options(&["-eval", "-run", "-s "])),
    ("R_PROFILE*", Check::File),
    ("OPENSSL_CONF", Check::Code(&["", "/dev/null", "/etc/ssl/openssl.cnf", "/etc/ssl/"])),
    ("OPENSSL_ENGINES", Check::Code(&[""])),
    ("OPENSSL_MODULES", Check::Code(&[""])),
    ("SSLKEYLOGFILE", Check::Code(&[""])),
    ("GIT_SSH_COMMAND", Check::Command),
    ("GIT_SSH", Check::Command),
    ("GIT_ASKPASS", Check::Command),
    ("SSH_ASKPASS", Check::Command),
    ("SUDO_ASKPASS", Check::Command),
    ("GIT_EXTERNAL_DIFF", Check::Command),
    ("GIT_PROXY_COMMAND", Check::Command),
    ("GIT_EDITOR", Check::Command),
    ("GIT_SEQUENCE_EDITOR", Check::Command),
    ("GIT_PAGER", Check::Command),
    ("GIT_EXEC_PATH", Check::Code(&[""])),
    ("GIT_TEMPLATE_DIR", Check::Code(&[""])),
    ("GIT_CONFIG_PARAMETERS", Check::Code(&[""])),
    ("GIT_CONFIG_GLOBAL", Check::Code(&["", "/dev/null"])),
    ("GIT_CONFIG_SYSTEM", Check::Code(&["", "/dev/null"])),
    ("GIT_CONFIG_KEY_*", Check::Options(&["core.", "alias.", "credential.", "diff.", "filter.", "include"])),
    ("GIT_ALLOW_PROTOCOL", Check::Options(&["ext"])),
    ("PAGER", Check::Command),
    ("MANPAGER", Check::Command),
    ("SYSTEMD_PAGER", Check::Command),
    ("BAT_PAGER", Check::Command),
    ("DELTA_PAGER", Check::Command),
    ("PSQL_PAGER", Check::Command),
    ("EDITOR", Check::Command),
    ("VISUAL", Check::Command),
    ("FCEDIT", Check::Command),
    ("SUDO_EDITOR", Check::Command),
    ("KUBE_EDITOR", Check::Command),
    ("BROWSER", Check::Command),
    ("LESSOPEN", Check::Command),
    ("LESSCLOSE", Check::Command),
    ("CC", Check::Command),
    ("CXX", Check::Command),
    ("LD", Check::Command),
    ("AR", Check::Command),
    ("RUSTC", Check::Command),
    ("RUSTC_WRAPPER", Check::Command),
    ("RUSTC_WORKSPACE_WRAPPER", Check::Command),
    ("CARGO_BUILD_RUSTC*", Check::Command),
    ("MAKEFLAGS", Check::Options(&["--eval"])),
    ("PATH", Check::Search),
    ("HOSTALIASES", Check::Code(&[""])),
    ("RSYNC_RSH", Check::Command),
    ("TAR_OPTIONS", Check::Options(&["checkpoint-action", "to-command", "use-compress-program"])),
    ("NPM_CONFIG_SCRIPT_SHELL", Check::Command),
    ("npm_config_script_shell", Check::Command),
];

impl Machine<'_> {
    /// Judges a variable that is set. `lasting` tells one that stays from one for a single command.
    pub(crate) fn judge_variable(&mut self, name: &str, value: &Text, span: Span, lasting: bool) {
        if matches!(name, "HISTFILE" | "HISTSIZE" | "HISTFILESIZE") && lasting {
            let off = value.is("/dev/null") || value.is("0") || value.is("");
            if off {
                self.state(
                    Kind::EraseLog,
                    format!("With this {name} the shell keeps no history."),
                    span,
                    Some(name.to_owned()),
                );
            }
            return;
        }
        let cargo = name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
        let function = value.known_start().starts_with("() {");
        let matched = VARIABLES.iter().find(|(pattern, _)| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == *pattern,
        });
        let check = match matched {
            Some((_, check)) => check,
            None if cargo => &Check::Command,
            None if function => &Check::Code(&[""]),
            None => return,
        };
        let object = |judge: &mut Self, why: String| {
            judge.state(Kind::Environment, why, span, Some(format!("{name}={}", value.display())));
        };
        let text = value.as_known();
        match check {
            Check::Code(harmless) => {
                if !text.is_some_and(|text| harmless.contains(&text.as_str())) {
                    object(self, format!("{name} makes programs load or run code."));
                }
            }
            Check::Options(risky) => {
                let shown = value.display();
                if risky.iter().any(|option| shown.contains(option)) {
                    object(self, format!("{name} makes a program load or run code."));
                }
                if name.starts_with("PS") {
                    self.expanded_again(&shown, &World::new(self.context));
                }
            }
            Check::File => {
                if value.display().contains('/') && !value.is("/dev/null") {
                    object(self, format!("{name} names a file that a program runs when it starts."));
                }
            }
            Check::Search => self.search_path(name, value, span),
            Check::Command => self.command_variable(name, value, span),
        }
    }

    fn search_path(&mut self, name: &str, value: &Text, span: Span) {
        let shown = value.display();
        let mut before_own = true;
        for directory in shown.split(':') {
            before_own &=
                !directory.starts_with("${") && !directory.starts_with("/usr") && !directory.starts_with("/bin");
            let writable =
                ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| crate::machine::path::is_within(directory, place));
            let here = name == "PATH" && (directory == "." || directory.is_empty() && shown.len() > 1 && before_own);
            if writable || here {
                let reason =
                    format!("{name} would look for programs or code in {directory}, where anybody can put some.");
                self.state(Kind::Environment, reason, span, Some(shown.clone()));
                return;
            }
        }
    }

    fn command_variable(&mut self, name: &str, value: &Text, span: Span) {
        let Some(text) = value.as_literal() else { return };
        if text.trim().is_empty() {
            return;
        }
        let text = text.trim_start_matches('|').trim().to_owned();
        if name == "PROMPT_COMMAND" {
            let reason = format!("{name} runs a command again and again.");
            self.state(Kind::Environment, reason, span, Some(text.clone()));
        }
        self.script(&text, World::new(self.context), &Rc::new(Flow::empty()), span);
        let relative = text.starts_with("./") || text.starts_with("node_modules/");
        let compiler = matches!(name, "CC" | "CXX" | "LD" | "AR") || name.contains("LINKER");
        if let Some(why) = suspicious_helper(&text).filter(|_| !relative && (!compiler || text.starts_with("/tmp"))) {
            let reason = format!("{name} makes other programs run this one: {why}");
            self.state(Kind::Environment, reason, span, Some(text));
        }
    }
}
