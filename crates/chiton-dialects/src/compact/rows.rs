//! Programs whose output is what they are run for, and programs that run others.

/// A program, and when its output is an answer.
pub(super) struct Row {
    pub(super) names: &'static [&'static str],
    pub(super) which: Which,
    /// Options before the verb that take the next word.
    pub(super) values: &'static [&'static str],
    /// Commands whose output is an answer.
    #[cfg_attr(not(test), expect(dead_code, reason = "the examples are the test of a row"))]
    pub(super) answers: &'static [&'static str],
    /// Commands whose output is not.
    #[cfg_attr(not(test), expect(dead_code, reason = "the examples are the test of a row"))]
    pub(super) others: &'static [&'static str],
}

/// For which verbs of a program its output is an answer.
pub(super) enum Which {
    All,
    Verbs(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// A program that runs another one.
pub(super) struct Runner {
    pub(super) names: &'static [&'static str],
    /// The word behind which the other one stands.
    pub(super) verb: Option<&'static str>,
    /// Options that take the next word.
    pub(super) values: &'static [&'static str],
    /// How many words besides options stand before it.
    pub(super) operands: usize,
}

const RUNNER: Runner = Runner { names: &[], verb: None, values: &[], operands: 0 };

pub(super) const WRAPPERS: &[Runner] = &[
    Runner {
        names: &["sudo", "doas"],
        values: &["-u", "-g", "-C", "-h", "-p", "-r", "-t", "-U", "-D", "-T"],
        ..RUNNER
    },
    Runner { names: &["env"], values: &["-u", "--unset", "-C", "--chdir"], ..RUNNER },
    Runner { names: &["time"], values: &["-f", "-o", "--format", "--output"], ..RUNNER },
    Runner { names: &["nice"], values: &["-n", "--adjustment"], ..RUNNER },
    Runner { names: &["ionice"], values: &["-c", "-n", "-p"], ..RUNNER },
    Runner {
        names: &["timeout", "gtimeout"],
        values: &["-k", "-s", "--kill-after", "--signal"],
        operands: 1,
        ..RUNNER
    },
    Runner { names: &["stdbuf"], values: &["-i", "-o", "-e"], ..RUNNER },
    Runner { names: &["flock"], values: &["-w", "-E", "--timeout"], operands: 1, ..RUNNER },
    Runner { names: &["xargs"], values: &["-I", "-n", "-P", "-d", "-a", "-L", "-s", "-E"], ..RUNNER },
    Runner { names: &["exec"], values: &["-a"], ..RUNNER },
    Runner {
        names: &["nohup", "setsid", "command", "builtin", "unbuffer", "chronic", "caffeinate", "fakeroot", "eatmydata"],
        ..RUNNER
    },
    Runner { names: &["taskset", "chrt", "gosu", "su-exec", "setarch"], operands: 1, ..RUNNER },
    Runner { names: &["npx", "bunx", "pnpx"], values: &["-p", "--package"], ..RUNNER },
    Runner { names: &["uvx"], values: &["--from", "--with", "--python", "-p"], ..RUNNER },
    Runner {
        names: &["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pipx", "pixi"],
        verb: Some("run"),
        values: &["--with", "--python", "-p", "--project", "--directory", "--extra", "--group", "-e"],
        ..RUNNER
    },
    Runner { names: &["conda", "mamba", "micromamba"], verb: Some("run"), values: &["-n", "-p", "--name"], ..RUNNER },
    Runner { names: &["bundle", "mise", "rtx", "asdf", "npm", "pnpm", "yarn"], verb: Some("exec"), ..RUNNER },
    Runner { names: &["direnv"], verb: Some("exec"), operands: 1, ..RUNNER },
    Runner { names: &["docker", "podman"], verb: Some("exec"), values: EXEC_VALUES, operands: 1 },
];

const EXEC_VALUES: &[&str] = &["-e", "--env", "-u", "--user", "-w", "--workdir"];

pub(super) const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "ash"];

pub(super) const INTERPRETERS: &[&str] = &[
    "python", "pypy", "node", "nodejs", "deno", "bun", "ruby", "perl", "php", "lua", "luajit", "Rscript", "julia",
    "tclsh",
];

/// What prints nothing, or only what it is told to.
pub(super) const SILENT: &[&str] = &[
    ":", ".", "source", "[", "[[", "test", "true", "false", "cd", "pushd", "popd", "export", "unset", "set", "shopt",
    "umask", "trap", "local", "readonly", "return", "exit", "read", "mapfile", "readarray", "shift", "wait", "kill",
    "disown", "ulimit", "mkdir", "rmdir", "touch", "rm", "mv", "cp", "ln", "chmod", "chown", "chgrp", "sleep",
    "install", "mktemp", "echo", "printf", "tee", "stty", "clear", "reset", "let", "break", "continue", "alias",
    "unalias", "hash", "sync", "truncate", "activate", "deactivate",
];

const ROW: Row = Row { names: &[], which: Which::All, values: &[], answers: &[], others: &[] };

pub(super) const ROWS: &[Row] = &[
    Row {
        names: &[
            "grep", "egrep", "fgrep", "zgrep", "pcregrep", "rg", "ag", "ack", "ugrep", "pt", "sg", "ast-grep",
            "semgrep",
        ],
        answers: &["grep -rn x .", "/bin/grep x y", "rg x", "make | ag x"],
        ..ROW
    },
    Row {
        names: &[
            "cat", "bat", "batcat", "tac", "nl", "head", "tail", "less", "more", "most", "zcat", "zless", "xzcat",
            "bzcat", "zstdcat", "pr", "view", "strings", "xxd", "od", "hexdump", "hd", "base64", "base32",
        ],
        answers: &["cat x", "tail -f log", "head -c 100 x", "xxd x"],
        ..ROW
    },
    Row {
        names: &[
            "sed", "gsed", "awk", "gawk", "mawk", "nawk", "cut", "paste", "sort", "uniq", "wc", "tr", "fold", "fmt",
            "column", "expand", "unexpand", "rev", "join", "tsort", "look", "shuf", "seq", "jot", "yes", "ts", "pv",
            "split", "iconv",
        ],
        answers: &["sed -n 1,5p x", "awk '{print}' x", "sort x | uniq -c", "seq 1000"],
        ..ROW
    },
    Row {
        names: &[
            "diff", "colordiff", "sdiff", "diff3", "cmp", "comm", "delta", "difft", "patdiff", "wdiff", "interdiff",
            "diffstat", "pkgdiff", "dyff",
        ],
        answers: &["diff a b", "comm a b"],
        ..ROW
    },
    Row {
        names: &["git"],
        which: Which::AllBut(&["clone", "fetch", "pull", "push", "gc", "submodule", "lfs", "fsck", "repack", "prune"]),
        values: &["-C", "-c", "--git-dir", "--work-tree", "--namespace"],
        answers: &[
            "git diff", "git -C x log", "git show", "git blame a", "git grep x", "git status", "git --no-pager log",
            "git",
        ],
        others: &["git clone x", "git -C x fetch --all", "git -c a=b push"],
    },
    Row {
        names: &["hg", "svn", "jj", "fossil", "bzr", "p4", "sl"],
        which: Which::AllBut(&["clone", "pull", "push", "update", "checkout", "co", "up"]),
        answers: &["hg log", "svn diff"],
        others: &["svn checkout x"],
        ..ROW
    },
    Row {
        names: &[
            "ls", "exa", "eza", "lsd", "dir", "vdir", "tree", "find", "gfind", "fd", "fdfind", "bfs", "locate",
            "plocate", "which", "whereis", "type", "whence", "file", "stat", "du", "df", "ncdu", "dust", "duf",
            "readlink", "realpath", "basename", "dirname", "pwd", "zipinfo", "getfacl", "lsattr",
        ],
        answers: &["ls -la", "find . -name x", "tree", "fd x", "du -sh *"],
        ..ROW
    },
    Row {
        names: &[
            "jq", "yq", "gojq", "jaq", "fx", "gron", "xmllint", "xq", "xsltproc", "dasel", "mlr", "csvcut", "csvlook",
            "csvgrep", "csvstat", "xsv", "qsv", "tomlq", "hq", "pup", "htmlq", "jc", "json.tool",
        ],
        answers: &["jq . x", "yq .a x"],
        ..ROW
    },
    Row {
        names: &[
            "curl", "wget", "http", "https", "xh", "httpie", "grpcurl", "websocat", "nc", "ncat", "telnet", "lynx",
            "w3m", "links", "dig", "nslookup", "host", "whois", "ping", "traceroute", "mtr", "nmap", "tcpdump",
            "tshark", "ftp", "sftp",
        ],
        answers: &["curl x", "wget -O- x", "dig x"],
        ..ROW
    },
    Row {
        names: &[
            "psql", "mysql", "mariadb", "sqlite3", "sqlite", "mongo", "mongosh", "redis-cli", "duckdb",
            "clickhouse-client", "clickhouse", "cqlsh", "sqlcmd", "sqlplus", "pg_dump", "mysqldump", "influx", "bq",
            "trino", "presto", "etcdctl", "consul", "vault", "nomad",
        ],
        answers: &["psql -c 'select 1'", "sqlite3 x.db .dump"],
        ..ROW
    },
    Row {
        names: &[
            "nm", "objdump", "readelf", "ldd", "size", "addr2line", "c++filt", "otool", "dumpbin", "llvm-nm",
            "llvm-objdump", "bloaty", "gdb", "lldb", "strace", "ltrace", "perf", "bpftrace", "valgrind", "rust-gdb",
            "dlv", "ctags", "tokei", "cloc", "scc", "hyperfine", "wrk", "ab",
        ],
        answers: &["nm x", "objdump -d x", "strace ls"],
        ..ROW
    },
    Row {
        names: &[
            "ps", "pgrep", "pstree", "top", "htop", "btop", "lsof", "fuser", "ss", "netstat", "ip", "ifconfig",
            "route", "arp", "free", "vmstat", "iostat", "mpstat", "sar", "mount", "lsblk", "blkid", "findmnt", "lscpu",
            "lsusb", "lspci", "lsmod", "dmidecode", "dmesg", "journalctl", "systemctl", "loginctl", "timedatectl",
            "hostnamectl", "sysctl", "getent", "crontab", "nvidia-smi", "sensors", "iptables", "nft", "ufw", "jobs",
            "watch",
        ],
        answers: &["ps aux", "journalctl -u x", "ss -ltn"],
        ..ROW
    },
    Row {
        names: &[
            "env", "printenv", "locale", "id", "groups", "who", "w", "last", "uname", "hostname", "date", "cal",
            "uptime", "whoami", "declare", "typeset", "compgen", "history", "fc", "bind", "man", "info", "tldr",
            "help", "apropos", "whatis", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum",
            "b2sum", "cksum", "sum", "shasum", "openssl", "gpg", "pass", "ssh-keyscan", "fortune", "figlet", "bc",
            "dc", "expr", "factor", "units",
        ],
        answers: &["env", "printenv PATH", "man ls", "sha256sum *"],
        others: &["env A=1 make"],
        ..ROW
    },
    Row {
        names: &[
            "eslint", "ruff", "flake8", "mypy", "pyright", "pylint", "tsc", "shellcheck", "golangci-lint",
            "staticcheck", "rubocop", "hadolint", "yamllint", "markdownlint", "stylelint", "clang-tidy", "cppcheck",
            "vulture", "bandit", "trivy", "grype", "syft", "codespell", "vale", "biome", "oxlint", "checkov", "tflint",
            "actionlint", "gitleaks", "knip", "depcheck", "madge", "cspell", "pycodestyle", "pydocstyle", "black",
            "isort", "prettier", "gofmt", "rustfmt", "clang-format",
        ],
        answers: &["eslint .", "npx tsc --noEmit", "ruff check"],
        ..ROW
    },
    Row {
        names: &["cargo"],
        which: Which::Verbs(&[
            "tree", "metadata", "search", "info", "expand", "read-manifest", "pkgid", "locate-project", "version",
            "config", "help", "fmt", "audit", "deny", "outdated", "udeps", "machete", "geiger", "bloat", "asm",
            "public-api", "clippy",
        ]),
        values: &["--manifest-path", "--config", "-C", "-Z", "--color"],
        answers: &["cargo tree", "cargo +nightly expand x", "cargo metadata"],
        others: &["cargo build", "cargo test", "cargo nextest run", "cargo check"],
    },
    Row {
        names: &["npm", "pnpm", "yarn"],
        which: Which::Verbs(&[
            "ls", "list", "la", "ll", "view", "show", "info", "outdated", "search", "explain", "why", "config", "get",
            "root", "bin", "prefix", "help", "audit", "licenses", "fund", "pkg", "whoami", "token", "doctor", "diff",
            "workspaces",
        ]),
        values: &["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter"],
        answers: &["npm ls", "npm --prefix x view y", "yarn why x"],
        others: &["npm ci", "npm run build", "yarn", "pnpm install"],
    },
    Row {
        names: &["pip", "pip3", "uv", "poetry", "pipenv", "conda", "mamba", "pdm", "pipx"],
        which: Which::Verbs(&[
            "list", "freeze", "show", "index", "inspect", "config", "debug", "help", "tree", "export", "search",
            "info", "env", "pip", "python", "version", "graph", "verify", "check",
        ]),
        values: &["--python", "--directory", "--project"],
        answers: &["pip list", "python -m pip freeze", "uv tree"],
        others: &["pip install -r x", "python -m pip install x", "uv sync", "poetry install"],
    },
    Row {
        names: &[
            "apt", "apt-get", "dnf", "yum", "zypper", "pacman", "apk", "brew", "snap", "flatpak", "nix-env", "gem",
            "opam", "choco",
        ],
        which: Which::AllBut(&[
            "install", "update", "upgrade", "dist-upgrade", "full-upgrade", "remove", "purge", "autoremove",
            "build-dep", "reinstall", "in", "up", "rm", "add", "del", "bundle", "cleanup", "clean", "refresh",
            "groupinstall", "makecache", "fetch",
        ]),
        values: &["-o", "-c", "-t"],
        answers: &["apt list", "apt-get --help", "brew info x", "pacman -Q"],
        others: &["apt-get install -y x", "sudo apt-get -o A=b update", "apk add x"],
    },
    Row {
        names: &[
            "apt-cache", "apt-file", "apt-mark", "dpkg-query", "rpm", "pkg-config", "ldconfig", "update-alternatives",
            "nix-store",
        ],
        answers: &["apt-cache search x", "rpm -qa"],
        ..ROW
    },
    Row { names: &["dpkg"], answers: &["dpkg -l"], ..ROW },
    Row {
        names: &["docker", "podman", "nerdctl", "buildah"],
        which: Which::AllBut(&[
            "build", "buildx", "bud", "pull", "push", "compose", "load", "save", "tag", "rmi", "rm", "start", "stop",
        ]),
        values: &["-H", "--host", "-c", "--context", "-l", "--log-level"],
        answers: &["docker ps", "docker logs x", "docker run x cat y", "docker images"],
        others: &["docker build .", "docker compose up -d", "docker pull x"],
    },
    Row {
        names: &["docker-compose", "podman-compose"],
        which: Which::Verbs(&["ps", "logs", "config", "images", "top", "exec", "run", "port", "ls", "events"]),
        values: &["-f", "-p", "--file", "--project-name"],
        answers: &["docker-compose logs"],
        others: &["docker-compose -f x.yml up -d"],
    },
    Row {
        names: &["kubectl", "oc", "k", "k3s", "microk8s"],
        which: Which::AllBut(&[
            "apply", "create", "delete", "rollout", "wait", "scale", "patch", "drain", "cordon", "uncordon",
        ]),
        values: &["-n", "--namespace", "--context", "--kubeconfig"],
        answers: &["kubectl get pods", "kubectl -n x logs y", "kubectl describe pod x"],
        others: &["kubectl apply -f x", "kubectl -n x rollout status y"],
    },
    Row {
        names: &["terraform", "tofu", "terragrunt", "pulumi", "helm", "ansible", "cdk"],
        which: Which::AllBut(&[
            "init", "apply", "destroy", "up", "install", "upgrade", "dependency", "repo", "pull", "deploy", "refresh",
        ]),
        answers: &["terraform plan", "helm list", "terraform show"],
        others: &["terraform init", "terraform apply"],
        ..ROW
    },
    Row {
        names: &[
            "gh", "glab", "hub", "aws", "gcloud", "az", "doctl", "flyctl", "fly", "heroku", "vercel", "netlify",
            "stripe", "op", "wrangler", "supabase", "firebase", "linear", "jira", "sentry-cli", "chiton", "tmux",
            "screen",
        ],
        answers: &["gh pr list", "aws s3 ls", "chiton logs x"],
        ..ROW
    },
    Row {
        names: &["go"],
        which: Which::Verbs(&["list", "env", "doc", "version", "tool", "help", "fmt", "vet", "bug", "telemetry"]),
        values: &["-C"],
        answers: &["go list ./...", "go env"],
        others: &["go test -v ./...", "go build ./..."],
    },
    Row {
        names: &["mvn", "mvnw"],
        which: Which::Verbs(&["dependency", "help", "versions", "site"]),
        values: &["-f", "-pl", "-P", "-s"],
        answers: &["mvn dependency:tree"],
        others: &["mvn -q test", "./mvnw package"],
    },
    Row {
        names: &["gradle", "gradlew"],
        which: Which::Verbs(&[
            "dependencies", "tasks", "properties", "projects", "dependencyInsight", "help", "javaToolchains",
        ]),
        values: &["-p", "-b"],
        answers: &["./gradlew tasks"],
        others: &["./gradlew build", "gradle -p x test"],
    },
    Row {
        names: &["rustup", "rustc", "gcc", "cc", "clang", "javap", "jar", "javac", "ghc"],
        which: Which::Verbs(&["show", "component", "target", "toolchain", "doc", "man", "check", "which"]),
        answers: &["rustup show"],
        others: &["rustup update", "gcc -c a.c"],
        ..ROW
    },
    // Run something that nobody sees from here.
    Row {
        names: &[
            "ssh", "mosh", "su", "chroot", "nsenter", "unshare", "script", "expect", "parallel", "entr", "eval",
            "coproc", "timeit", "adb", "vagrant", "machinectl", "lxc", "incus", "multipass", "limactl", "distrobox",
            "toolbox", "bwrap", "firejail", "nix", "nix-shell", "guix", "wsl",
        ],
        answers: &["ssh host make", "parallel echo", "eval \"make\""],
        ..ROW
    },
];
