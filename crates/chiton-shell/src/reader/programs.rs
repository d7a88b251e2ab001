//! The programs that read code, as rows.

use super::CodeInput::{Always, Never, WithOption, WithReader, WithoutCode, WithoutScript};
use super::CodeWords::{After, Everything, FirstOperand, Joined, LastOption, Operands, Option as Opt, Setting};
use super::Language::{Other, Shell};
use super::Standing::{Anywhere, AsCommand};
use super::{CodeProgram, OptionStyle};

/// The shells, by name.
pub const SHELLS: [&str; 24] = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "ksh93", "fish", "csh", "tcsh", "rbash", "posh", "yash", "rzsh",
    "rksh", "lksh", "oksh", "pdksh", "hush", "osh", "ysh", "elvish", "xonsh",
];

/// A row that reads nothing, for the others to fill in.
pub(super) const NOTHING: CodeProgram = CodeProgram {
    names: &[],
    language: Shell,
    standing: AsCommand,
    code: &[],
    input: Never,
    values: &[],
    style: OptionStyle::Joined,
    stops: false,
};

/// An interpreter: a script as its first operand, or code from its standard input.
const INTERPRETER: CodeProgram = CodeProgram { language: Other, input: WithoutScript, stops: true, ..NOTHING };
/// A client of a database, which reads statements from its standard input.
const CLIENT: CodeProgram = CodeProgram { language: Other, input: WithoutCode, ..NOTHING };
/// Something that takes an expression, and works on data.
const FILTER: CodeProgram = CodeProgram { language: Other, ..NOTHING };

/// Every program that reads some of its words, or its standard input, as code.
pub const PROGRAMS: &[CodeProgram] = &[
    // Shells.
    CodeProgram {
        names: &SHELLS,
        standing: Anywhere,
        code: &[FirstOperand, Opt("--command"), Opt("--init-command"), Opt("--commands")],
        input: WithoutScript,
        values: &[("-o", 1), ("-O", 1), ("--rcfile", 1), ("--init-file", 1)],
        style: OptionStyle::Shell,
        stops: true,
        ..NOTHING
    },
    // Shells whose names are words that may mean something else.
    CodeProgram {
        names: &["nu", "ion", "rc"],
        code: &[FirstOperand, Opt("--commands")],
        input: WithoutScript,
        style: OptionStyle::Shell,
        stops: true,
        ..NOTHING
    },
    CodeProgram { names: &["pwsh", "powershell"], standing: Anywhere, code: &[Everything], input: Always, ..NOTHING },
    CodeProgram {
        names: &["su"],
        standing: Anywhere,
        code: &[Opt("-c"), Opt("--command"), Opt("--session-command"), Operands(1)],
        input: WithoutCode,
        values: &[("-g", 1), ("-G", 1), ("-s", 1), ("-w", 1), ("-T", 1), ("--shell", 1), ("--group", 1)],
        ..NOTHING
    },
    CodeProgram {
        names: &["runuser"],
        standing: Anywhere,
        code: &[Opt("-c"), Opt("--command"), Opt("--session-command")],
        input: WithoutCode,
        values: &[("-g", 1), ("-G", 1), ("-s", 1), ("-w", 1), ("-u", 1), ("--user", 1), ("--shell", 1)],
        ..NOTHING
    },
    CodeProgram { names: &["sg"], code: &[Opt("-c"), Operands(1)], input: WithoutCode, ..NOTHING },
    CodeProgram { names: &["newgrp"], input: Always, ..NOTHING },
    CodeProgram {
        names: &["sudo", "doas"],
        input: WithOption(&["-i", "-s", "--login", "--shell"]),
        values: &[
            ("-u", 1),
            ("-g", 1),
            ("-h", 1),
            ("-p", 1),
            ("-C", 1),
            ("-r", 1),
            ("-t", 1),
            ("-T", 1),
            ("-U", 1),
            ("-D", 1),
            ("-R", 1),
            ("--user", 1),
            ("--group", 1),
            ("--prompt", 1),
        ],
        stops: true,
        ..NOTHING
    },
    // Programs that hand words to a shell, here or on another machine.
    CodeProgram {
        names: &["ssh", "autossh", "mosh", "slogin", "dropbear", "dbclient"],
        standing: Anywhere,
        code: &[Operands(1), Opt("-o")],
        input: WithoutCode,
        values: &[
            ("-B", 1),
            ("-b", 1),
            ("-c", 1),
            ("-D", 1),
            ("-E", 1),
            ("-e", 1),
            ("-F", 1),
            ("-I", 1),
            ("-i", 1),
            ("-J", 1),
            ("-L", 1),
            ("-l", 1),
            ("-m", 1),
            ("-M", 0),
            ("-O", 1),
            ("-p", 1),
            ("-Q", 1),
            ("-R", 1),
            ("-S", 1),
            ("-W", 1),
            ("-w", 1),
        ],
        ..NOTHING
    },
    CodeProgram { names: &["scp"], code: &[Opt("-o"), Opt("-S")], ..NOTHING },
    CodeProgram {
        names: &["sftp", "ftp", "lftp"],
        code: &[Opt("-o"), Opt("-S"), Opt("-e"), Opt("-c")],
        input: Always,
        ..NOTHING
    },
    CodeProgram { names: &["rsh", "pssh", "pdsh", "clush", "parallel-ssh"], code: &[Operands(1)], ..NOTHING },
    CodeProgram { names: &["ansible", "salt", "salt-call"], code: &[Everything], ..NOTHING },
    CodeProgram { names: &["adb"], code: &[After("shell")], input: WithoutCode, ..NOTHING },
    CodeProgram {
        names: &["vagrant", "gcloud", "az", "fly", "flyctl", "heroku"],
        code: &[Opt("-c"), Opt("-C"), Opt("--command")],
        ..NOTHING
    },
    CodeProgram {
        names: &["watch", "hyperfine", "concurrently", "onchange", "chokidar", "start-server-and-test"],
        code: &[Everything],
        ..NOTHING
    },
    CodeProgram { names: &["watchexec", "entr", "nodemon", "reflex", "cargo-watch"], code: &[Everything], ..NOTHING },
    CodeProgram { names: &["parallel", "env_parallel", "rush", "sem"], code: &[Everything], input: Always, ..NOTHING },
    CodeProgram { names: &["xargs", "gxargs"], input: WithReader, ..NOTHING },
    CodeProgram {
        names: &["tmux", "screen", "byobu", "zellij", "dtach", "abduco"],
        code: &[Everything],
        input: Always,
        ..NOTHING
    },
    CodeProgram { names: &["at", "batch", "crontab", "fcrontab"], input: Always, ..NOTHING },
    CodeProgram { names: &["script"], code: &[Opt("-c"), Opt("--command")], input: WithoutCode, ..NOTHING },
    CodeProgram { names: &["flock"], code: &[Opt("-c"), Opt("--command")], ..NOTHING },
    CodeProgram { names: &["env"], code: &[Opt("-S"), Opt("--split-string")], ..NOTHING },
    CodeProgram { names: &["nix-shell", "nix"], code: &[Opt("--run"), Opt("--command"), Opt("-c")], ..NOTHING },
    CodeProgram {
        names: &["npx", "bunx", "pnpx", "npm", "pnpm", "yarn"],
        code: &[Opt("-c"), Opt("--call")],
        ..NOTHING
    },
    CodeProgram {
        names: &["xterm", "gnome-terminal", "konsole", "alacritty", "kitty", "foot", "urxvt"],
        code: &[Everything],
        ..NOTHING
    },
    CodeProgram { names: &["capsh"], code: &[Everything], input: Always, ..NOTHING },
    CodeProgram { names: &["sops"], code: &[After("exec-env"), After("exec-file")], ..NOTHING },
    CodeProgram { names: &["rsync"], code: &[Opt("-e"), Opt("--rsh"), Opt("--rsync-path")], ..NOTHING },
    CodeProgram {
        names: &["tar", "gtar", "bsdtar"],
        code: &[
            Opt("--to-command"),
            Opt("--checkpoint-action"),
            Opt("-I"),
            Opt("--use-compress-program"),
            Opt("-F"),
            Opt("--info-script"),
            Opt("--new-volume-script"),
            Opt("--rsh-command"),
        ],
        values: &[("-f", 1), ("-C", 1), ("-T", 1), ("-X", 1), ("-b", 1), ("-g", 1), ("-K", 1), ("-N", 1), ("-V", 1)],
        ..NOTHING
    },
    CodeProgram { names: &["zip"], code: &[Opt("-TT"), Opt("--unzip-command")], ..NOTHING },
    CodeProgram {
        names: &["make", "gmake", "bmake", "remake", "just", "ninja"],
        language: Other,
        code: &[Everything],
        ..NOTHING
    },
    CodeProgram {
        names: &["git"],
        code: &[
            Setting("alias."),
            Setting("core.sshcommand"),
            Setting("core.pager"),
            Setting("core.editor"),
            Setting("core.askpass"),
            Setting("core.fsmonitor"),
            Setting("core.gitproxy"),
            Setting("core.hookspath"),
            Setting("credential."),
            Setting("browser."),
            Setting("diff."),
            Setting("difftool."),
            Setting("filter."),
            Setting("gpg."),
            Setting("interactive.difffilter"),
            Setting("merge."),
            Setting("mergetool."),
            Setting("pager."),
            Setting("sendemail."),
            Setting("sequence.editor"),
            Setting("uploadpack."),
            Opt("-x"),
            Opt("--exec"),
            Opt("--extcmd"),
            Opt("--upload-pack"),
            Opt("--receive-pack"),
            Opt("--tree-filter"),
            Opt("--index-filter"),
            Opt("--msg-filter"),
            Opt("--env-filter"),
            Opt("--parent-filter"),
            Opt("--commit-filter"),
            Opt("--tag-name-filter"),
            Opt("--setup"),
            After("foreach"),
            Joined("!"),
        ],
        values: &[("-c", 0), ("-C", 1), ("-m", 1), ("-F", 1)],
        ..NOTHING
    },
    CodeProgram { names: &["man"], code: &[Opt("-P"), Opt("--pager")], ..NOTHING },
    CodeProgram { names: &["less", "more", "most"], code: &[Joined("+")], ..NOTHING },
    CodeProgram {
        names: &["nc", "ncat", "netcat"],
        code: &[Opt("-e"), Opt("-c"), Opt("--exec"), Opt("--sh-exec"), Opt("--lua-exec")],
        ..NOTHING
    },
    CodeProgram { names: &["socat"], code: &[Everything], ..NOTHING },
    CodeProgram { names: &["tcpdump"], code: &[Opt("-z")], ..NOTHING },
    // Interpreters.
    CodeProgram {
        names: &["python", "pypy", "ipython", "jython", "micropython", "bpython"],
        code: &[LastOption("-c"), LastOption("-m"), FirstOperand],
        values: &[("-W", 1), ("-X", 1), ("-Q", 1), ("--check-hash-based-pycs", 1)],
        ..INTERPRETER
    },
    CodeProgram {
        names: &["perl", "raku"],
        code: &[Opt("-e"), Opt("-E"), Opt("-M"), Opt("-m"), FirstOperand],
        values: &[("-I", 1), ("-i", 0), ("-F", 0), ("-x", 0), ("-C", 0), ("-D", 0), ("-l", 0), ("-0", 0)],
        ..INTERPRETER
    },
    CodeProgram {
        names: &["ruby", "jruby", "truffleruby"],
        code: &[Opt("-e"), FirstOperand],
        values: &[("-I", 1), ("-r", 1), ("-C", 1), ("-E", 1), ("-F", 0), ("-K", 0), ("-W", 0), ("-i", 0), ("-x", 0)],
        ..INTERPRETER
    },
    CodeProgram { names: &["irb", "pry"], code: &[Opt("-e"), Opt("-x")], input: Always, ..INTERPRETER },
    CodeProgram {
        names: &["node", "nodejs", "ts-node", "tsx"],
        code: &[Opt("-e"), Opt("-p"), Opt("--eval"), Opt("--print"), FirstOperand],
        values: &[("-r", 1), ("-C", 1), ("--require", 1), ("--import", 1), ("--env-file", 1)],
        ..INTERPRETER
    },
    CodeProgram { names: &["deno"], code: &[After("eval"), After("repl")], input: Always, ..INTERPRETER },
    CodeProgram {
        names: &["bun"],
        code: &[Opt("-e"), Opt("-p"), Opt("--eval"), Opt("--print"), FirstOperand],
        ..INTERPRETER
    },
    CodeProgram {
        names: &["php"],
        code: &[Opt("-r"), Opt("-B"), Opt("-R"), Opt("-E"), Opt("--run"), FirstOperand],
        values: &[("-d", 1), ("-c", 1), ("-z", 1), ("-S", 1), ("-t", 1)],
        ..INTERPRETER
    },
    CodeProgram {
        names: &["lua", "luajit", "texlua"],
        code: &[Opt("-e"), FirstOperand],
        values: &[("-l", 1)],
        ..INTERPRETER
    },
    CodeProgram { names: &["tclsh", "wish", "jimsh"], code: &[FirstOperand], ..INTERPRETER },
    CodeProgram { names: &["expect"], code: &[Opt("-c"), FirstOperand], values: &[("-f", 1)], ..INTERPRETER },
    CodeProgram { names: &["R", "Rscript", "littler"], code: &[Opt("-e"), FirstOperand], input: Always, ..INTERPRETER },
    CodeProgram {
        names: &["julia"],
        code: &[Opt("-e"), Opt("-E"), Opt("--eval"), Opt("--print"), FirstOperand],
        ..INTERPRETER
    },
    CodeProgram {
        names: &["octave", "maxima", "gnuplot", "sage", "gp", "scilab"],
        code: &[Opt("--eval"), Opt("-e"), Opt("-c"), Opt("--batch-string"), FirstOperand],
        ..INTERPRETER
    },
    CodeProgram { names: &["osascript"], code: &[Opt("-e"), FirstOperand], ..INTERPRETER },
    CodeProgram {
        names: &["ghci", "ghc", "runghc", "elixir", "iex", "erl", "scala", "groovy", "jshell", "ocaml", "crystal"],
        code: &[Opt("-e"), Opt("-eval"), Opt("--eval"), After("eval"), FirstOperand],
        ..INTERPRETER
    },
    CodeProgram {
        names: &["guile", "racket", "clojure", "clj", "bb", "sbcl", "clisp", "swipl", "gforth", "janet"],
        code: &[Opt("-e"), Opt("-c"), Opt("-x"), Opt("-g"), Opt("--eval"), FirstOperand],
        ..INTERPRETER
    },
    CodeProgram {
        names: &["bc", "dc", "m4"],
        code: &[Opt("-e"), Opt("--expression"), Opt("-D"), FirstOperand],
        input: Always,
        ..INTERPRETER
    },
    CodeProgram {
        names: &["ed", "red", "ex"],
        code: &[Opt("-c"), Opt("--cmd"), Joined("+")],
        input: Always,
        ..INTERPRETER
    },
    CodeProgram {
        names: &["vi", "vim", "nvim", "view", "vimdiff", "rvim", "gvim", "vim.tiny", "vim.basic", "vim.nox"],
        language: Other,
        code: &[Opt("-c"), Opt("--cmd"), Joined("+"), Opt("-S")],
        ..NOTHING
    },
    CodeProgram {
        names: &["emacs", "emacsclient"],
        language: Other,
        code: &[Opt("--eval"), Opt("-eval"), Opt("--execute"), Opt("-execute"), Opt("-e"), Opt("-f"), Opt("-l")],
        ..NOTHING
    },
    CodeProgram {
        names: &["gdb", "lldb"],
        code: &[
            Opt("-ex"),
            Opt("-iex"),
            Opt("-x"),
            Opt("--eval-command"),
            Opt("--init-eval-command"),
            Opt("-o"),
            Opt("--one-line"),
        ],
        input: Always,
        ..INTERPRETER
    },
    // Expressions.
    CodeProgram {
        names: &["awk", "gawk", "mawk", "nawk", "original-awk", "goawk"],
        code: &[
            FirstOperand,
            Opt("-f"),
            Opt("-e"),
            Opt("-E"),
            Opt("-i"),
            Opt("-l"),
            Opt("--source"),
            Opt("--file"),
            Opt("--exec"),
            Opt("--include"),
            Opt("--load"),
        ],
        values: &[("-v", 1), ("-F", 1), ("--assign", 1), ("--field-separator", 1)],
        input: Never,
        ..FILTER
    },
    CodeProgram {
        names: &["sed", "gsed", "ssed"],
        code: &[FirstOperand, Opt("-e"), Opt("-f"), Opt("--expression"), Opt("--file")],
        values: &[("-l", 1), ("-i", 0), ("-E", 0)],
        ..FILTER
    },
    CodeProgram {
        names: &["jq", "gojq", "jaq", "yq"],
        code: &[FirstOperand, Opt("-f"), Opt("--from-file")],
        values: &[
            ("-L", 1),
            ("--arg", 2),
            ("--argjson", 2),
            ("--slurpfile", 2),
            ("--rawfile", 2),
            ("--indent", 1),
            ("--raw-output", 0),
            ("--null-input", 0),
            ("--compact-output", 0),
            ("--slurp", 0),
            ("--exit-status", 0),
            ("--raw-input", 0),
            ("--sort-keys", 0),
            ("--tab", 0),
            ("--join-output", 0),
            ("--args", 0),
            ("--jsonargs", 0),
        ],
        ..FILTER
    },
    CodeProgram { names: &["xmlstarlet", "xq", "htmlq", "pup", "dasel"], code: &[Everything], ..FILTER },
    // Clients of databases.
    CodeProgram {
        names: &["psql", "pgcli", "usql", "duckdb"],
        code: &[Opt("-c"), Opt("--command"), Opt("-f"), Opt("--file")],
        values: &[
            ("-U", 1),
            ("-h", 1),
            ("-p", 1),
            ("-d", 1),
            ("-v", 1),
            ("-o", 1),
            ("-L", 1),
            ("-F", 1),
            ("-P", 1),
            ("-R", 1),
            ("-T", 1),
        ],
        ..CLIENT
    },
    CodeProgram {
        names: &[
            "mysql", "mariadb", "mycli", "cqlsh", "clickhouse-client", "influx", "snowsql", "sqlcmd", "bq", "isql",
            "trino", "presto",
        ],
        code: &[Opt("-e"), Opt("--execute"), Opt("-execute"), Opt("-q"), Opt("-Q"), Opt("--query"), After("query")],
        values: &[("-u", 1), ("-h", 1), ("-P", 1), ("-D", 1), ("-p", 0), ("-S", 1), ("-U", 1), ("-d", 1)],
        ..CLIENT
    },
    CodeProgram {
        names: &["sqlite", "sqlcipher"],
        code: &[Operands(1), Opt("-cmd"), Opt("--cmd"), Opt("-init")],
        values: &[("-separator", 1), ("-nullvalue", 1), ("-newline", 1)],
        ..CLIENT
    },
    CodeProgram {
        names: &["mongo", "mongosh"],
        code: &[Opt("--eval")],
        values: &[("-u", 1), ("-p", 1), ("--username", 1), ("--password", 1), ("--host", 1), ("--port", 1)],
        ..CLIENT
    },
    CodeProgram {
        names: &["redis-cli", "valkey-cli"],
        code: &[After("eval"), After("eval_ro"), Opt("--eval")],
        ..FILTER
    },
];

/// Programs that start another one which stands among their words.
pub const WRAPPERS: &[&str] = &[
    "abduco", "asdf", "aws-vault", "buildah", "builtin", "bundle", "busybox", "bwrap", "caffeinate", "catchsegv",
    "ccache", "cgexec", "chamber", "choom", "chpst", "chroot", "chronic", "chrt", "command", "conda", "crictl",
    "cross-env", "daemonize", "dbus-run-session", "devbox", "direnv", "distrobox", "doas", "docker", "docker-compose",
    "doppler", "dotenv", "dumb-init", "eatmydata", "entr", "env", "exec", "fakeroot", "faketime", "fd", "fdfind",
    "find", "firejail", "flatpak", "flock", "gosu", "gtimeout", "guix", "hatch", "heroku", "incus", "ionice", "ip",
    "kubectl", "ltrace", "lxc", "machinectl", "mamba", "micromamba", "minikube", "mise", "nerdctl", "nice", "nix",
    "nix-shell", "nohup", "not", "npm", "npx", "nsenter", "numactl", "oc", "op", "pdm", "perf", "pipenv", "pipx",
    "pkexec", "pnpm", "podman", "poetry", "prlimit", "proot", "proxychains", "proxychains4", "pyenv", "rbenv", "retry",
    "rlwrap", "runcon", "runuser", "rye", "script", "setarch", "setpriv", "setsid", "snap", "ssh-agent", "sshpass",
    "stdbuf", "strace", "su-exec", "sudo", "systemd-inhibit", "systemd-run", "taskset", "time", "timeout", "tini",
    "toolbox", "torsocks", "toybox", "tsocks", "unbuffer", "unshare", "uv", "uvx", "valgrind", "xargs", "gxargs",
    "xvfb-run", "yarn",
];

/// The row of the program of this name, which may end in a version: `python3.12`, `lua5.4`, `bash-5.2`.
pub fn named(name: &str) -> Option<&'static CodeProgram> {
    let row = |name: &str| PROGRAMS.iter().find(|program| program.names.contains(&name));
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-'));
    row(name).or_else(|| row(bare).filter(|_| !bare.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_in_two_rows() {
        let mut names: Vec<&str> = PROGRAMS.iter().flat_map(|program| program.names).copied().collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn versions_are_not_part_of_a_name() {
        for (name, row) in [("python3.12", "python"), ("lua5.4", "lua"), ("bash-5.2", "bash"), ("sqlite3", "sqlite")] {
            assert!(named(name).is_some_and(|program| program.names.contains(&row)), "{name}");
        }
        assert!(named("python-config").is_none());
        assert!(named("7").is_none());
    }
}
