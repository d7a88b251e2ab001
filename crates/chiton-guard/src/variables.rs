//! Variables that make programs run code, read other files or trust other people: the one table of them.
//!
//! The guard judges the value that a command gives such a variable ([`Check`]); whoever prepares an environment asks for
//! its [`Class`], which says whether it may reach a command at all.

use std::sync::LazyLock;

use chiton_shell::names::NameIndex;

/// What a variable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It makes the loader or the C library run or read other files.
    Loader,
    /// It changes how the shell starts, parses or traces.
    Shell,
    /// It makes an interpreter run code at its start.
    Interpreter,
    /// It makes git run or read something else.
    Git,
    /// It belongs to the service that started this process.
    Service,
    /// Everyday work needs it, and it can be turned to harm: search paths, options of tools, helper programs, proxies.
    Everyday,
    /// Its value alone decides.
    Judged,
}

impl Class {
    /// Why such a variable is kept from every command, in words that follow its name; none where it is not.
    pub const fn withheld(self) -> Option<&'static str> {
        match self {
            Self::Loader => Some("makes the loader or the C library run or read other files"),
            Self::Shell => Some("changes how the shell starts, parses or traces"),
            Self::Interpreter => Some("makes an interpreter run code at its start"),
            Self::Git => Some("makes git run or read something else"),
            Self::Service => Some("belongs to the service that started this process"),
            Self::Everyday | Self::Judged => None,
        }
    }
}

/// What there is to look at in the value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Nothing.
    Nothing,
    /// Whatever it is, it runs or loads code; these values are harmless.
    Code(&'static [&'static str]),
    /// It is a command line.
    Command,
    /// It names directories that are searched for programs or code.
    Search,
    /// It holds options, of which these load code.
    Options(&'static [&'static str]),
    /// It names a file that is read as settings or code.
    File,
}

/// A variable, or several whose names begin alike.
#[derive(Clone, Copy, Debug)]
pub struct VariableRow {
    /// Its name; a trailing `*` stands for any rest.
    pub name: &'static str,
    /// What it does.
    pub class: Class,
    check: Check,
}

const fn row(name: &'static str, class: Class, check: Check) -> VariableRow {
    VariableRow { name, class, check }
}

/// The classes of the variable `name`. `LD_LIBRARY_PATH` is read by the loader, and everyday work has it.
pub fn classes(name: &str) -> impl Iterator<Item = Class> {
    rows_of(name).map(|row| row.class)
}

/// The same, without rows for all names that begin alike.
pub fn classes_of_just(name: &str) -> impl Iterator<Item = Class> {
    BY_NAME.exact(name).map(|row| row.class)
}

/// Whether a variable that is kept from commands passes where it comes from the environment of the person who runs us.
/// It is part of how their own session works, or its value can do no harm.
pub fn is_persons_own(name: &str, value: &[u8]) -> bool {
    let fits = |own: &str| own.strip_suffix('*').map_or(own == name, |start| name.starts_with(start));
    if PERSONS_OWN.iter().any(|own| fits(own)) {
        return true;
    }
    let Ok(value) = std::str::from_utf8(value) else { return false };
    // What the loader and bash read stays away, however harmless.
    let is_basic = rows_of(name).any(|row| matches!(row.class, Class::Loader | Class::Shell));
    match check_of(name) {
        Some(Check::Code(harmless)) => !is_basic && harmless.contains(&value),
        Some(Check::Options(code)) => !is_basic && !code.iter().any(|option| value.contains(option)),
        // `ENV` is a file for shells, and the name of a stage of deployment for nearly everybody else.
        Some(Check::File) if name == "ENV" => STAGES.contains(&value),
        _ => false,
    }
}

/// Variables that would be kept back, had a call set them: search paths of a cluster's modules, options of a virtual
/// machine, settings of git and of other programs at another place. What only ever loads code into every program
/// (`LD_PRELOAD`, `BASH_ENV`) is not among them.
const PERSONS_OWN: &[&str] = &[
    "LD_LIBRARY_PATH", "LD_RUN_PATH", "LD_BIND_NOW", "LIBPATH", "SHLIB_PATH", "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "TZDIR",
    "MALLOC_CHECK_", "MALLOC_PERTURB_", "LOCALDOMAIN", "RES_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS", "GIT_CONFIG_*", "GIT_TEMPLATE_DIR", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONWARNINGS",
    "PYTHONEXECUTABLE", "PERLLIB", "PHPRC", "PHP_INI_SCAN_DIR", "R_ENVIRON*", "JULIA_LOAD_PATH", "OPENSSL_CONF",
    "OPENSSL_MODULES", "OPENSSL_ENGINES", "ZDOTDIR", "FPATH", "VIMINIT", "DOTNET_ADDITIONAL_DEPS", "ERL_ZFLAGS",
    "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "GETCONF_DIR",
];

/// Values of `ENV` that no shell reads.
const STAGES: &[&str] = &[
    "", "production", "prod", "staging", "stage", "development", "dev", "develop", "test", "testing", "local", "qa",
    "uat", "ci", "sandbox", "preview", "demo", "integration",
];

/// What there is to look at in the value of `name`.
pub(crate) fn check_of(name: &str) -> Option<Check> {
    let is_program = name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
    let mut checks = rows_of(name).map(|row| row.check);
    checks.find(|check| *check != Check::Nothing).or(is_program.then_some(Check::Command))
}

/// Rows by name.
static BY_NAME: LazyLock<NameIndex<VariableRow>> =
    LazyLock::new(|| NameIndex::new(VARIABLES.iter().map(|row| (row.name, row))));

/// The rows for `name`: those of just this name first.
fn rows_of(name: &str) -> impl Iterator<Item = &'static VariableRow> {
    BY_NAME.rows(name)
}

/// The table. Of several rows for a name, the first that checks something is the one that judges its value; a row for just
/// that name comes before one for all that begin like it.
pub const VARIABLES: &[VariableRow] = &[
    // Read by the loader or the C library of every program.
    row("LD_*", Class::Loader, Check::Nothing),
    row("_RLD*", Class::Loader, Check::Nothing),
    row("DYLD_*", Class::Loader, Check::Nothing),
    row("LDR_*", Class::Loader, Check::Nothing),
    row("LIBPATH", Class::Loader, Check::Nothing),
    row("SHLIB_PATH", Class::Loader, Check::Nothing),
    row("AUTHSTATE", Class::Loader, Check::Nothing),
    row("GLIBC_TUNABLES", Class::Loader, Check::Code(&[""])),
    row("GCONV_PATH", Class::Loader, Check::Code(&[""])),
    row("GETCONF_DIR", Class::Loader, Check::Nothing),
    row("LOCPATH", Class::Loader, Check::Nothing),
    row("NLSPATH", Class::Loader, Check::Nothing),
    row("PATH_LOCALE", Class::Loader, Check::Nothing),
    row("MALLOC_TRACE", Class::Loader, Check::Nothing),
    row("MALLOC_PERTURB_", Class::Loader, Check::Nothing),
    row("MALLOC_CHECK_", Class::Loader, Check::Nothing),
    row("RESOLV_HOST_CONF", Class::Loader, Check::Nothing),
    row("HOSTALIASES", Class::Loader, Check::Code(&[""])),
    row("LOCALDOMAIN", Class::Loader, Check::Nothing),
    row("RES_OPTIONS", Class::Loader, Check::Nothing),
    row("NIS_PATH", Class::Loader, Check::Nothing),
    row("TZDIR", Class::Loader, Check::Nothing),
    // Read by the shell as it starts, parses or traces.
    row("BASH_ENV", Class::Shell, Check::Code(&["", "/dev/null"])),
    row("ENV", Class::Shell, Check::File),
    row("SHELLOPTS", Class::Shell, Check::Code(&[""])),
    row("BASHOPTS", Class::Shell, Check::Code(&[""])),
    row("PS4", Class::Shell, Check::Options(&["$(", "`"])),
    row("PROMPT_COMMAND", Class::Shell, Check::Command),
    row("PS0", Class::Shell, Check::Options(&["$(", "`"])),
    row("IFS", Class::Shell, Check::Nothing),
    row("CDPATH", Class::Shell, Check::Nothing),
    row("GLOBIGNORE", Class::Shell, Check::Nothing),
    row("BASH_FUNC_*", Class::Shell, Check::Code(&[""])),
    row("BASH_XTRACEFD", Class::Shell, Check::Nothing),
    row("BASH_LOADABLES_PATH", Class::Shell, Check::Code(&[""])),
    row("FPATH", Class::Shell, Check::Nothing),
    row("NULLCMD", Class::Shell, Check::Nothing),
    row("READNULLCMD", Class::Shell, Check::Nothing),
    row("ZDOTDIR", Class::Shell, Check::Code(&[""])),
    row("TMPPREFIX", Class::Shell, Check::Nothing),
    row("POSIXLY_CORRECT", Class::Shell, Check::Nothing),
    row("EXECIGNORE", Class::Shell, Check::Nothing),
    row("TIMEFORMAT", Class::Shell, Check::Nothing),
    // Read by interpreters and libraries at their start.
    row("PYTHONSTARTUP", Class::Interpreter, Check::Code(&[""])),
    row("PYTHONINSPECT", Class::Interpreter, Check::Code(&["", "0", "1"])),
    row("PYTHONHOME", Class::Interpreter, Check::Search),
    row("PYTHONBREAKPOINT", Class::Interpreter, Check::Code(&["", "0", "pdb.set_trace", "ipdb.set_trace"])),
    row("PYTHONWARNINGS", Class::Interpreter, Check::Nothing),
    row("PYTHONEXECUTABLE", Class::Interpreter, Check::Nothing),
    row("PYTHONUSERBASE", Class::Interpreter, Check::Search),
    row("PERL5OPT", Class::Interpreter, Check::Options(&["-M", "-m", "-I", "-d", "-e"])),
    row("PERL5DB", Class::Interpreter, Check::Code(&[""])),
    row("PERL5DBCMD", Class::Interpreter, Check::Nothing),
    row("PERLIO_DEBUG", Class::Interpreter, Check::Nothing),
    row("PERLLIB", Class::Interpreter, Check::Search),
    row("RUBYOPT", Class::Interpreter, Check::Options(&["-r", "-I", "-e"])),
    row("NODE_REPL_EXTERNAL_MODULE", Class::Interpreter, Check::Code(&[""])),
    row(
        "JAVA_TOOL_OPTIONS",
        Class::Interpreter,
        Check::Options(&["-javaagent", "-agentlib", "-agentpath", "OnError", "OnOutOfMemoryError"]),
    ),
    row(
        "_JAVA_OPTIONS",
        Class::Interpreter,
        Check::Options(&["-javaagent", "-agentlib", "-agentpath", "OnError", "OnOutOfMemoryError"]),
    ),
    row(
        "JDK_JAVA_OPTIONS",
        Class::Interpreter,
        Check::Options(&["-javaagent", "-agentlib", "-agentpath", "OnError", "OnOutOfMemoryError"]),
    ),
    row("DOTNET_STARTUP_HOOKS", Class::Interpreter, Check::Code(&[""])),
    row("DOTNET_ADDITIONAL_DEPS", Class::Interpreter, Check::Nothing),
    row("CORECLR_PROFILER", Class::Interpreter, Check::Nothing),
    row("CORECLR_PROFILER_PATH", Class::Interpreter, Check::Code(&[""])),
    row("CORECLR_ENABLE_PROFILING", Class::Interpreter, Check::Nothing),
    row("VIMINIT", Class::Interpreter, Check::Code(&[""])),
    row("EXINIT", Class::Interpreter, Check::Code(&[""])),
    row("GVIMINIT", Class::Interpreter, Check::Nothing),
    row("PHPRC", Class::Interpreter, Check::Code(&[""])),
    row("PHP_INI_SCAN_DIR", Class::Interpreter, Check::Code(&[""])),
    row("ERL_AFLAGS", Class::Interpreter, Check::Options(&["-eval", "-run", "-s "])),
    row("ERL_FLAGS", Class::Interpreter, Check::Options(&["-eval", "-run", "-s "])),
    row("ERL_ZFLAGS", Class::Interpreter, Check::Nothing),
    row("R_ENVIRON", Class::Interpreter, Check::Nothing),
    row("JULIA_LOAD_PATH", Class::Interpreter, Check::Nothing),
    row("OPENSSL_CONF", Class::Interpreter, Check::Code(&["", "/dev/null", "/etc/ssl/openssl.cnf", "/etc/ssl/"])),
    row("OPENSSL_ENGINES", Class::Interpreter, Check::Code(&[""])),
    row("OPENSSL_MODULES", Class::Interpreter, Check::Code(&[""])),
    row("SSLKEYLOGFILE", Class::Interpreter, Check::Code(&[""])),
    row("LUA_INIT*", Class::Interpreter, Check::Code(&[""])),
    row("R_PROFILE*", Class::Interpreter, Check::File),
    // Read by git.
    row("GIT_EXEC_PATH", Class::Git, Check::Code(&[""])),
    row("GIT_TEMPLATE_DIR", Class::Git, Check::Code(&[""])),
    row("GIT_EXTERNAL_DIFF", Class::Git, Check::Command),
    row("GIT_PROXY_COMMAND", Class::Git, Check::Command),
    row("GIT_CONFIG", Class::Git, Check::Nothing),
    row("GIT_CONFIG_*", Class::Git, Check::Nothing),
    row("GIT_REDIRECT_*", Class::Git, Check::Nothing),
    row("GIT_ALLOW_PROTOCOL", Class::Git, Check::Options(&["ext"])),
    // What the service that started this process has given it.
    row("NOTIFY_SOCKET", Class::Service, Check::Nothing),
    row("LISTEN_FDS", Class::Service, Check::Nothing),
    row("LISTEN_PID", Class::Service, Check::Nothing),
    row("LISTEN_FDNAMES", Class::Service, Check::Nothing),
    row("INVOCATION_ID", Class::Service, Check::Nothing),
    row("JOURNAL_STREAM", Class::Service, Check::Nothing),
    row("SYSTEMD_EXEC_PID", Class::Service, Check::Nothing),
    row("MAINPID", Class::Service, Check::Nothing),
    row("CREDENTIALS_DIRECTORY", Class::Service, Check::Nothing),
    // Everyday variables that change which programs run, what they load and whom they trust.
    row("LD_LIBRARY_PATH", Class::Everyday, Check::Search),
    row("LD_RUN_PATH", Class::Everyday, Check::Nothing),
    row("LIBRARY_PATH", Class::Everyday, Check::Nothing),
    row("CPATH", Class::Everyday, Check::Nothing),
    row("C_INCLUDE_PATH", Class::Everyday, Check::Nothing),
    row("CPLUS_INCLUDE_PATH", Class::Everyday, Check::Nothing),
    row("OBJC_INCLUDE_PATH", Class::Everyday, Check::Nothing),
    row("PYTHONPATH", Class::Everyday, Check::Search),
    row("PERL5LIB", Class::Everyday, Check::Search),
    row("RUBYLIB", Class::Everyday, Check::Search),
    row("NODE_PATH", Class::Everyday, Check::Search),
    row("CLASSPATH", Class::Everyday, Check::Nothing),
    row("LUA_PATH", Class::Everyday, Check::Nothing),
    row("LUA_CPATH", Class::Everyday, Check::Nothing),
    row("GEM_HOME", Class::Everyday, Check::Nothing),
    row("GEM_PATH", Class::Everyday, Check::Nothing),
    row("GOPATH", Class::Everyday, Check::Nothing),
    row("GOENV", Class::Everyday, Check::Nothing),
    row("GOFLAGS", Class::Everyday, Check::Nothing),
    row("CGO_CFLAGS", Class::Everyday, Check::Nothing),
    row("CGO_LDFLAGS", Class::Everyday, Check::Nothing),
    row("TCLLIBPATH", Class::Everyday, Check::Nothing),
    row(
        "NODE_OPTIONS",
        Class::Everyday,
        Check::Options(&[
            "--require", "-r ", "-r=", "--import", "--loader", "--experimental-loader", "--inspect=0.0.0.0",
        ]),
    ),
    row("MAVEN_OPTS", Class::Everyday, Check::Options(&["-javaagent", "-agentpath"])),
    row("GRADLE_OPTS", Class::Everyday, Check::Options(&["-javaagent", "-agentpath"])),
    row("SBT_OPTS", Class::Everyday, Check::Nothing),
    row("ANT_OPTS", Class::Everyday, Check::Nothing),
    row("JAVA_OPTS", Class::Everyday, Check::Nothing),
    row("MAKEFLAGS", Class::Everyday, Check::Options(&["--eval"])),
    row("MFLAGS", Class::Everyday, Check::Nothing),
    row("RUSTFLAGS", Class::Everyday, Check::Nothing),
    row("RUSTC", Class::Everyday, Check::Command),
    row("RUSTC_WRAPPER", Class::Everyday, Check::Command),
    row("RUSTC_WORKSPACE_WRAPPER", Class::Everyday, Check::Command),
    row("CARGO_BUILD_RUSTC", Class::Everyday, Check::Nothing),
    row("CARGO_BUILD_RUSTC_WRAPPER", Class::Everyday, Check::Nothing),
    row("CARGO_TARGET_*", Class::Everyday, Check::Nothing),
    row("CC", Class::Everyday, Check::Command),
    row("CXX", Class::Everyday, Check::Command),
    row("AR", Class::Everyday, Check::Command),
    row("LD", Class::Everyday, Check::Command),
    row("CMAKE_C_COMPILER", Class::Everyday, Check::Nothing),
    row("CMAKE_CXX_COMPILER", Class::Everyday, Check::Nothing),
    row("EDITOR", Class::Everyday, Check::Command),
    row("VISUAL", Class::Everyday, Check::Command),
    row("FCEDIT", Class::Everyday, Check::Command),
    row("SUDO_EDITOR", Class::Everyday, Check::Command),
    row("GIT_EDITOR", Class::Everyday, Check::Command),
    row("GIT_SEQUENCE_EDITOR", Class::Everyday, Check::Command),
    row("PAGER", Class::Everyday, Check::Command),
    row("MANPAGER", Class::Everyday, Check::Command),
    row("GIT_PAGER", Class::Everyday, Check::Command),
    row("SYSTEMD_PAGER", Class::Everyday, Check::Command),
    row("BAT_PAGER", Class::Everyday, Check::Command),
    row("DELTA_PAGER", Class::Everyday, Check::Command),
    row("LESSOPEN", Class::Everyday, Check::Command),
    row("LESSCLOSE", Class::Everyday, Check::Command),
    row("LESS", Class::Everyday, Check::Nothing),
    row("BROWSER", Class::Everyday, Check::Command),
    row("GIT_SSH", Class::Everyday, Check::Command),
    row("GIT_SSH_COMMAND", Class::Everyday, Check::Command),
    row("GIT_ASKPASS", Class::Everyday, Check::Command),
    row("SSH_ASKPASS", Class::Everyday, Check::Command),
    row("SUDO_ASKPASS", Class::Everyday, Check::Command),
    row("SHELL", Class::Everyday, Check::Nothing),
    row("GIT_DIR", Class::Everyday, Check::Nothing),
    row("GIT_WORK_TREE", Class::Everyday, Check::Nothing),
    row("GIT_COMMON_DIR", Class::Everyday, Check::Nothing),
    row("GIT_INDEX_FILE", Class::Everyday, Check::Nothing),
    row("GIT_OBJECT_DIRECTORY", Class::Everyday, Check::Nothing),
    row("GIT_ALTERNATE_OBJECT_DIRECTORIES", Class::Everyday, Check::Nothing),
    row("GIT_NAMESPACE", Class::Everyday, Check::Nothing),
    row("GIT_CEILING_DIRECTORIES", Class::Everyday, Check::Nothing),
    row("GIT_PREFIX", Class::Everyday, Check::Nothing),
    row("GIT_SHALLOW_FILE", Class::Everyday, Check::Nothing),
    row("GIT_GRAFT_FILE", Class::Everyday, Check::Nothing),
    row("GIT_REPLACE_REF_BASE", Class::Everyday, Check::Nothing),
    row("HOME", Class::Everyday, Check::Nothing),
    row("XDG_CONFIG_HOME", Class::Everyday, Check::Nothing),
    row("XDG_DATA_HOME", Class::Everyday, Check::Nothing),
    row("XDG_CONFIG_DIRS", Class::Everyday, Check::Nothing),
    row("CARGO_HOME", Class::Everyday, Check::Nothing),
    row("RUSTUP_HOME", Class::Everyday, Check::Nothing),
    row("GRADLE_USER_HOME", Class::Everyday, Check::Nothing),
    row("COMPOSER_HOME", Class::Everyday, Check::Nothing),
    row("HELM_HOME", Class::Everyday, Check::Nothing),
    row("DENO_DIR", Class::Everyday, Check::Nothing),
    row("CURL_HOME", Class::Everyday, Check::Nothing),
    row("WGETRC", Class::Everyday, Check::Nothing),
    row("HGRCPATH", Class::Everyday, Check::Nothing),
    row("PIP_CONFIG_FILE", Class::Everyday, Check::Nothing),
    row("NPM_CONFIG_*", Class::Everyday, Check::Nothing),
    row("npm_config_*", Class::Everyday, Check::Nothing),
    row("YARN_RC_FILENAME", Class::Everyday, Check::Nothing),
    row("BUN_CONFIG_REGISTRY", Class::Everyday, Check::Nothing),
    row("BUNDLE_GEMFILE", Class::Everyday, Check::Nothing),
    row("VIRTUAL_ENV", Class::Everyday, Check::Nothing),
    row("UV_PYTHON", Class::Everyday, Check::Nothing),
    row("DOCKER_CONFIG", Class::Everyday, Check::Nothing),
    row("PIP_INDEX_URL", Class::Everyday, Check::Nothing),
    row("PIP_EXTRA_INDEX_URL", Class::Everyday, Check::Nothing),
    row("PIP_FIND_LINKS", Class::Everyday, Check::Nothing),
    row("PIP_TRUSTED_HOST", Class::Everyday, Check::Nothing),
    row("UV_INDEX*", Class::Everyday, Check::Nothing),
    row("GOPROXY", Class::Everyday, Check::Nothing),
    row("GONOSUMDB", Class::Everyday, Check::Nothing),
    row("GONOSUMCHECK", Class::Everyday, Check::Nothing),
    row("GONOPROXY", Class::Everyday, Check::Nothing),
    row("GOPRIVATE", Class::Everyday, Check::Nothing),
    row("GOINSECURE", Class::Everyday, Check::Nothing),
    row("CARGO_REGISTRIES_*", Class::Everyday, Check::Nothing),
    row("NODE_TLS_REJECT_UNAUTHORIZED", Class::Everyday, Check::Nothing),
    row("NODE_EXTRA_CA_CERTS", Class::Everyday, Check::Nothing),
    row("SSL_CERT_FILE", Class::Everyday, Check::Nothing),
    row("SSL_CERT_DIR", Class::Everyday, Check::Nothing),
    row("REQUESTS_CA_BUNDLE", Class::Everyday, Check::Nothing),
    row("CURL_CA_BUNDLE", Class::Everyday, Check::Nothing),
    row("GIT_SSL_NO_VERIFY", Class::Everyday, Check::Nothing),
    row("GIT_SSL_CAINFO", Class::Everyday, Check::Nothing),
    row("GIT_SSL_CAPATH", Class::Everyday, Check::Nothing),
    row("HTTP_PROXY", Class::Everyday, Check::Nothing),
    row("HTTPS_PROXY", Class::Everyday, Check::Nothing),
    row("ALL_PROXY", Class::Everyday, Check::Nothing),
    row("NO_PROXY", Class::Everyday, Check::Nothing),
    row("http_proxy", Class::Everyday, Check::Nothing),
    row("https_proxy", Class::Everyday, Check::Nothing),
    row("all_proxy", Class::Everyday, Check::Nothing),
    row("no_proxy", Class::Everyday, Check::Nothing),
    row("DOCKER_HOST", Class::Everyday, Check::Nothing),
    row("DOCKER_CONTEXT", Class::Everyday, Check::Nothing),
    row("DOCKER_TLS_VERIFY", Class::Everyday, Check::Nothing),
    row("DOCKER_CERT_PATH", Class::Everyday, Check::Nothing),
    row("KUBECONFIG", Class::Everyday, Check::Nothing),
    row("TMPDIR", Class::Everyday, Check::Nothing),
    row("TMP", Class::Everyday, Check::Nothing),
    row("TEMP", Class::Everyday, Check::Nothing),
    row("HISTFILE", Class::Everyday, Check::Nothing),
    row("HISTCONTROL", Class::Everyday, Check::Nothing),
    row("HISTSIZE", Class::Everyday, Check::Nothing),
    row("LD_BIND_NOW", Class::Everyday, Check::Nothing),
    row("MALLOC_ARENA_MAX", Class::Everyday, Check::Nothing),
    row("MALLOC_ARENA_TEST", Class::Everyday, Check::Nothing),
    row("MALLOC_MMAP_MAX_", Class::Everyday, Check::Nothing),
    row("MALLOC_MMAP_THRESHOLD_", Class::Everyday, Check::Nothing),
    row("MALLOC_TOP_PAD_", Class::Everyday, Check::Nothing),
    row("MALLOC_TRIM_THRESHOLD_", Class::Everyday, Check::Nothing),
    row("KRB5_CONFIG", Class::Everyday, Check::Nothing),
    row("KRB5_KTNAME", Class::Everyday, Check::Nothing),
    // Judged by their value alone.
    row("LD_PRELOAD", Class::Judged, Check::Code(&[""])),
    row("LD_AUDIT", Class::Judged, Check::Code(&[""])),
    row("DYLD_INSERT_LIBRARIES", Class::Judged, Check::Code(&[""])),
    row("GIT_CONFIG_PARAMETERS", Class::Judged, Check::Code(&[""])),
    row("GIT_CONFIG_GLOBAL", Class::Judged, Check::Code(&["", "/dev/null"])),
    row("GIT_CONFIG_SYSTEM", Class::Judged, Check::Code(&["", "/dev/null"])),
    row(
        "GIT_CONFIG_KEY_*",
        Class::Judged,
        Check::Options(&["core.", "alias.", "credential.", "diff.", "filter.", "include"]),
    ),
    row("PSQL_PAGER", Class::Judged, Check::Command),
    row("PSQL_EDITOR", Class::Judged, Check::Command),
    row("SYSTEMD_EDITOR", Class::Judged, Check::Command),
    row("HGEDITOR", Class::Judged, Check::Command),
    row("SVN_EDITOR", Class::Judged, Check::Command),
    row("SVN_SSH", Class::Judged, Check::Command),
    row("CVS_RSH", Class::Judged, Check::Command),
    row("BUNDLER_EDITOR", Class::Judged, Check::Command),
    row("AWS_PAGER", Class::Judged, Check::Command),
    row("GH_PAGER", Class::Judged, Check::Command),
    row("GH_EDITOR", Class::Judged, Check::Command),
    row("GH_BROWSER", Class::Judged, Check::Command),
    row("GLAB_PAGER", Class::Judged, Check::Command),
    row("FZF_DEFAULT_COMMAND", Class::Judged, Check::Command),
    row("HOMEBREW_EDITOR", Class::Judged, Check::Command),
    row("JJ_EDITOR", Class::Judged, Check::Command),
    row("GOFLAGS", Class::Judged, Check::Options(&["-toolexec", "-exec"])),
    row("ANSIBLE_SSH_EXECUTABLE", Class::Judged, Check::Command),
    row("MAKE", Class::Judged, Check::Command),
    row("CMAKE_C_COMPILER_LAUNCHER", Class::Judged, Check::Command),
    row("CMAKE_CXX_COMPILER_LAUNCHER", Class::Judged, Check::Command),
    row("KUBE_EDITOR", Class::Judged, Check::Command),
    row("CARGO_BUILD_RUSTC*", Class::Judged, Check::Command),
    row("PATH", Class::Judged, Check::Search),
    row("RSYNC_RSH", Class::Judged, Check::Command),
    row("TAR_OPTIONS", Class::Judged, Check::Options(&["checkpoint-action", "to-command", "use-compress-program"])),
    row("NPM_CONFIG_SCRIPT_SHELL", Class::Judged, Check::Command),
    row("npm_config_script_shell", Class::Judged, Check::Command),
];
