//! Groups: names that stand for places, hosts and sockets in a profile, with a reason for each. One row a thing.
//!
//! What is a cache here is what a package manager fills by itself and nobody runs by itself later. Folders of programs on
//! the PATH (`~/.cargo/bin`), and files that run with the next build of another project (`~/.gradle/init.d`), are not.

use super::entry::Key;

/// A name for many entries.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    /// The lists that it can stand in.
    pub(crate) keys: &'static [Key],
    pub(crate) about: &'static str,
    pub(crate) members: Members,
}

/// What a group stands for.
pub(crate) enum Members {
    /// The workspace and its git directory.
    Workspace,
    Places(&'static [PlaceRow]),
    /// In each folder of the workspace, and in its git directory.
    InWorkspace(&'static [HookRow]),
    Hosts(&'static [HostsRow]),
    /// The hosts of the git remotes of the workspace.
    Remotes,
}

impl Members {
    pub(crate) fn places(&self) -> Option<&'static [PlaceRow]> {
        if let Self::Places(rows) = self { Some(rows) } else { None }
    }
}

/// A folder or file, or some in it.
pub(crate) struct PlaceRow {
    /// The variable that says where it is.
    pub(crate) variable: Option<&'static str>,
    /// Where it is otherwise: from `~` or `/`, `{uid}` is the user's number; empty where only the variable says so.
    pub(crate) usual: &'static str,
    pub(crate) which: Which,
    pub(crate) why: &'static str,
    pub(crate) made: Made,
}

/// Whether a place is made where it is missing. A program cannot make it itself in a sandbox: the folder above is not
/// writable. It is done where one of these programs is on the PATH or in the workspace, like `gradlew`.
#[derive(Clone, Copy)]
pub(crate) enum Made {
    Never,
    Folders(&'static [&'static str]),
    /// Empty files: locks, and databases that begin so.
    Files(&'static [&'static str]),
}

/// What of a place is meant.
pub(crate) enum Which {
    Itself,
    /// These in it; a `*` in the last part of a name stands for what is there now.
    These(&'static [&'static str]),
    /// What is in it now, but for names like these.
    AllBut(&'static [&'static str]),
    /// Itself, where its text holds one of these: a file of settings that is also one of credentials.
    Holding(&'static [&'static str]),
    /// The files that an OpenSSH configuration names as keys.
    IdentityFiles,
}

/// Something in a workspace that runs by itself later.
pub(crate) struct HookRow {
    pub(crate) path: &'static str,
    pub(crate) why: &'static str,
}

/// Hosts of one service.
pub(crate) struct HostsRow {
    pub(crate) service: &'static str,
    pub(crate) hosts: &'static [&'static str],
}

const fn itself(usual: &'static str, why: &'static str) -> PlaceRow {
    PlaceRow { variable: None, usual, which: Which::Itself, why, made: Made::Never }
}

const fn these(usual: &'static str, names: &'static [&'static str], why: &'static str) -> PlaceRow {
    PlaceRow { variable: None, usual, which: Which::These(names), why, made: Made::Never }
}

const fn said_by(variable: &'static str, usual: &'static str, why: &'static str) -> PlaceRow {
    PlaceRow { variable: Some(variable), usual, which: Which::Itself, why, made: Made::Never }
}

const fn these_of(
    variable: &'static str,
    usual: &'static str,
    names: &'static [&'static str],
    why: &'static str,
) -> PlaceRow {
    PlaceRow { variable: Some(variable), usual, which: Which::These(names), why, made: Made::Never }
}

/// A row whose folders these programs make by themselves.
const fn made_by(programs: &'static [&'static str], row: PlaceRow) -> PlaceRow {
    PlaceRow { made: Made::Folders(programs), ..row }
}

/// A row whose files these programs make by themselves.
const fn files_made_by(programs: &'static [&'static str], row: PlaceRow) -> PlaceRow {
    PlaceRow { made: Made::Files(programs), ..row }
}

const fn hook(path: &'static str, why: &'static str) -> HookRow {
    HookRow { path, why }
}

pub(crate) const WORKSPACE: &str = "@workspace";
pub(crate) const TEMPORARY: &str = "@tmp";
pub(crate) const CACHED: &str = "@caches";

pub(crate) fn find(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name == name)
}

pub(crate) const GROUPS: &[Group] = &[
    Group {
        name: WORKSPACE,
        keys: &[Key::Write, Key::Hide, Key::Keep],
        about: "the directory served, the client's roots, --add-dir, and their git directory",
        members: Members::Workspace,
    },
    Group { name: TEMPORARY, keys: &[Key::Write], about: "temporary files", members: Members::Places(TMP) },
    Group {
        name: CACHED,
        keys: &[Key::Write],
        about: "what package managers and compilers download and keep",
        members: Members::Places(CACHES),
    },
    Group {
        name: "@secrets",
        keys: &[Key::Hide],
        about: "keys, tokens, passwords, browsers and histories",
        members: Members::Places(SECRETS),
    },
    Group {
        name: "@controls",
        keys: &[Key::Hide],
        about: "sockets in temporary folders by which programs outside are told what to do",
        members: Members::Places(CONTROLS),
    },
    Group {
        name: "@hooks",
        keys: &[Key::Keep],
        about: "what runs by itself when a person next uses git or opens the project",
        members: Members::InWorkspace(HOOKS),
    },
    Group {
        name: "@agents",
        keys: &[Key::Sockets],
        about: "the agents of ssh and GnuPG: keys can be used, and not be read",
        members: Members::Places(AGENTS),
    },
    Group {
        name: "@users",
        keys: &[Key::Sockets],
        about: "services that know the names of users",
        members: Members::Places(USERS),
    },
    Group {
        name: "@names",
        keys: &[Key::Sockets],
        about: "services that look up the names of hosts",
        members: Members::Places(NAMES),
    },
    Group {
        name: "@registries",
        keys: &[Key::Network],
        about: "public package registries and what they download from",
        members: Members::Hosts(REGISTRIES),
    },
    Group {
        name: "@remotes",
        keys: &[Key::Network],
        about: "the hosts of the workspace's git remotes",
        members: Members::Remotes,
    },
];

const TMP: &[PlaceRow] = &[
    itself("/tmp", "temporary files"),
    itself("/var/tmp", "temporary files that outlive a restart"),
    said_by("TMPDIR", "", "temporary files of this user"),
    itself("/dev/shm", "memory that processes share"),
];

const CACHES: &[PlaceRow] = &[
    made_by(
        &["sh"],
        said_by("XDG_CACHE_HOME", "~/.cache", "caches: pip, uv, go build, pre-commit, browsers of test tools"),
    ),
    // Rust. ~/.rustup is not among them: toolchains are programs that a person runs, and builds only read them.
    made_by(
        &["cargo"],
        these_of(
            "CARGO_HOME",
            "~/.cargo",
            &["registry", "git"],
            "crates that cargo downloads; not bin, which is on the PATH",
        ),
    ),
    files_made_by(
        &["cargo"],
        these_of("CARGO_HOME", "~/.cargo", &[".package-cache", ".package-cache-mutate"], "locks of cargo"),
    ),
    made_by(&["sccache"], said_by("SCCACHE_DIR", "", "results of the compiler")),
    made_by(&["ccache"], said_by("CCACHE_DIR", "~/.ccache", "results of the compiler")),
    // JavaScript.
    made_by(&["npm"], said_by("npm_config_cache", "~/.npm", "packages and logs of npm")),
    made_by(&["npm"], said_by("NPM_CONFIG_CACHE", "", "packages and logs of npm")),
    made_by(&["pnpm"], these_of("XDG_DATA_HOME", "~/.local/share", &["pnpm/store"], "packages of pnpm; not its bin")),
    these("~", &[".pnpm-store"], "packages of pnpm"),
    made_by(&["yarn"], these("~/.yarn", &["berry", "cache"], "packages of yarn; not its bin")),
    made_by(&["yarn"], said_by("YARN_CACHE_FOLDER", "", "packages of yarn")),
    made_by(&["bun"], these_of("BUN_INSTALL", "~/.bun", &["install/cache"], "packages of bun; not its bin")),
    made_by(&["deno"], said_by("DENO_DIR", "", "modules of deno")),
    made_by(&["corepack"], said_by("COREPACK_HOME", "", "package managers of corepack")),
    made_by(&["npm"], said_by("PLAYWRIGHT_BROWSERS_PATH", "", "browsers of test tools")),
    made_by(&["npm"], said_by("PUPPETEER_CACHE_DIR", "", "browsers of test tools")),
    made_by(&["npm"], said_by("CYPRESS_CACHE_FOLDER", "", "browsers of test tools")),
    these("~", &[".electron-gyp"], "headers for native modules"),
    // Python.
    made_by(&["python3"], said_by("PIP_CACHE_DIR", "", "packages of pip")),
    made_by(&["uv"], said_by("UV_CACHE_DIR", "", "packages of uv")),
    made_by(&["uv"], said_by("UV_PYTHON_INSTALL_DIR", "", "interpreters of uv")),
    made_by(
        &["uv"],
        these_of(
            "XDG_DATA_HOME",
            "~/.local/share",
            &["uv/python"],
            "interpreters of uv; not its tools, which are on the PATH",
        ),
    ),
    these_of(
        "XDG_DATA_HOME",
        "~/.local/share",
        &["virtualenv", "virtualenvs", "hatch", "pdm/venvs"],
        "environments that virtualenv, pipenv, hatch and pdm make for projects",
    ),
    made_by(&["pipenv"], said_by("WORKON_HOME", "", "environments of pipenv and virtualenvwrapper")),
    made_by(&["poetry"], said_by("POETRY_CACHE_DIR", "", "packages of poetry")),
    made_by(&["pre-commit"], said_by("PRE_COMMIT_HOME", "", "tools of pre-commit")),
    made_by(&["python3"], said_by("PYTHONPYCACHEPREFIX", "", "compiled modules")),
    made_by(&["python3"], said_by("MYPY_CACHE_DIR", "", "results of mypy")),
    made_by(&["python3"], said_by("RUFF_CACHE_DIR", "", "results of ruff")),
    made_by(&["conda"], said_by("CONDA_PKGS_DIRS", "~/.conda/pkgs", "packages of conda")),
    // Models and data.
    made_by(&["python3"], said_by("HF_HOME", "", "models and data")),
    made_by(&["python3"], said_by("HF_HUB_CACHE", "", "models and data")),
    made_by(&["python3"], said_by("TRANSFORMERS_CACHE", "", "models and data")),
    made_by(&["python3"], said_by("TORCH_HOME", "", "models and data")),
    said_by("KERAS_HOME", "~/.keras", "models and data"),
    said_by("NLTK_DATA", "~/nltk_data", "data of nltk"),
    // Go.
    made_by(&["go"], these_of("GOPATH", "~/go", &["pkg"], "modules of go; not bin, which is on the PATH")),
    made_by(&["go"], said_by("GOMODCACHE", "", "modules of go")),
    made_by(&["go"], said_by("GOCACHE", "", "results of the compiler")),
    // Java and its relatives. Not ~/.gradle/init.d and not the settings: they run with every build.
    made_by(&["mvn", "mvnw"], these("~/.m2", &["repository", "wrapper"], "packages of maven")),
    made_by(
        &["gradle", "gradlew"],
        these_of(
            "GRADLE_USER_HOME",
            "~/.gradle",
            &["caches", "daemon", "native", "wrapper", "workers", "notifications", "kotlin", "jdks", ".tmp"],
            "packages and working files of gradle; not init.d, which runs with every build",
        ),
    ),
    made_by(&["sbt", "ivy"], these("~/.ivy2", &["cache", "local"], "packages of ivy and sbt")),
    made_by(&["sbt"], these("~/.sbt", &["boot", "launchers"], "versions of sbt")),
    made_by(&["cs", "coursier", "sbt"], said_by("COURSIER_CACHE", "", "packages of coursier")),
    these("~/.konan", &["cache", "dependencies"], "parts of Kotlin/Native"),
    these("~", &[".kotlin"], "sessions of the Kotlin compiler"),
    // .NET, PHP, Ruby, Dart, Elixir, Haskell, OCaml, C++, Julia, R, Swift.
    made_by(&["dotnet"], said_by("NUGET_PACKAGES", "~/.nuget/packages", "packages of .NET")),
    made_by(&["dotnet"], these_of("XDG_DATA_HOME", "~/.local/share", &["NuGet"], "packages of .NET")),
    these("~/.nuget", &["plugins"], "packages of .NET"),
    these_of("COMPOSER_HOME", "~/.composer", &["cache"], "packages of composer"),
    made_by(&["composer"], said_by("COMPOSER_CACHE_DIR", "", "packages of composer")),
    made_by(&["gem"], these_of("XDG_DATA_HOME", "~/.local/share", &["gem"], "packages of ruby")),
    these("~/.gem", &["ruby", "specs"], "packages of ruby; not credentials"),
    made_by(&["bundle"], these("~/.bundle", &["cache"], "packages of bundler")),
    made_by(
        &["dart", "flutter"],
        these_of(
            "PUB_CACHE",
            "~/.pub-cache",
            &["hosted", "hosted-hashes", "git", "log", "_temp"],
            "packages of dart; not bin, which is on the PATH",
        ),
    ),
    these_of("HEX_HOME", "~/.hex", &["packages", "cache.ets"], "packages of elixir; not its key"),
    these("~", &[".cache/rebar3"], "packages of erlang"),
    made_by(&["cabal"], these("~/.cabal", &["packages", "store", "logs"], "packages of haskell")),
    made_by(&["cabal"], these("~/.local/state", &["cabal"], "packages of haskell")),
    these_of(
        "STACK_ROOT",
        "~/.stack",
        &["pantry", "snapshots", "stack.sqlite3*", "setup-exe-cache"],
        "packages of haskell",
    ),
    made_by(&["opam"], these_of("OPAMROOT", "~/.opam", &["download-cache", "log"], "packages of ocaml")),
    made_by(&["conan"], these_of("CONAN_HOME", "~/.conan2", &["p"], "packages of conan")),
    made_by(&["vcpkg"], said_by("VCPKG_DEFAULT_BINARY_CACHE", "", "packages of vcpkg")),
    made_by(
        &["julia"],
        these_of(
            "JULIA_DEPOT_PATH",
            "~/.julia",
            &["packages", "artifacts", "compiled", "registries", "clones", "logs", "scratchspaces"],
            "packages of julia; not config, which runs at every start",
        ),
    ),
    made_by(&["swift"], these("~", &[".swiftpm/cache", ".swiftpm/security"], "packages of swift")),
    // Other tools.
    said_by("TF_PLUGIN_CACHE_DIR", "~/.terraform.d/plugin-cache", "providers of terraform"),
    made_by(&["ansible"], these("~/.ansible", &["tmp", "cp"], "working files of ansible")),
    made_by(&["bazelisk"], said_by("BAZELISK_HOME", "", "versions of bazel")),
];

/// Names in `~/.ssh` that say nothing secret, and without which `git push` cannot work: the host's key would be unknown.
const SSH_READABLE: &[&str] = &[
    "known_hosts*", "config", "config.d", "*.pub", "authorized_keys*", "allowed_signers", "environment", "rc", "agent",
];

const SECRETS: &[PlaceRow] = &[
    // Private keys one by one, so that hosts stay known and the agent can be used. The usual names also where there is
    // no such file yet.
    these(
        "~/.ssh",
        &["id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss", "identity"],
        "private keys",
    ),
    PlaceRow {
        variable: None,
        usual: "~/.ssh",
        which: Which::AllBut(SSH_READABLE),
        why: "whatever is not known to be harmless beside them",
        made: Made::Never,
    },
    PlaceRow {
        variable: None,
        usual: "~/.ssh/config",
        which: Which::IdentityFiles,
        why: "a private key that ssh uses",
        made: Made::Never,
    },
    these_of(
        "GNUPGHOME",
        "~/.gnupg",
        &["private-keys-v1.d", "secring.gpg", "openpgp-revocs.d"],
        "private keys; public ones stay, so that commits can be signed through the agent",
    ),
    // Clouds and clusters.
    itself("~/.aws", "credentials"),
    said_by("AWS_SHARED_CREDENTIALS_FILE", "", "credentials"),
    itself("~/.azure", "credentials"),
    said_by("CLOUDSDK_CONFIG", "~/.config/gcloud", "credentials"),
    said_by("GOOGLE_APPLICATION_CREDENTIALS", "", "credentials"),
    itself("~/.boto", "credentials"),
    itself("~/.kube", "credentials of clusters"),
    itself("~/.config/doctl", "credentials"),
    itself("~/.config/hcloud", "credentials"),
    itself("~/.config/linode-cli", "credentials"),
    itself("~/.config/scw", "credentials"),
    itself("~/.oci", "credentials"),
    itself("~/.bluemix", "credentials"),
    itself("~/.aliyun", "credentials"),
    itself("~/.config/flyctl", "credentials"),
    itself("~/.fly", "credentials"),
    itself("~/.config/netlify", "credentials"),
    itself("~/.local/share/com.vercel.cli", "credentials"),
    itself("~/.config/configstore", "credentials of command line tools"),
    itself("~/.config/heroku", "credentials"),
    itself("~/.config/.wrangler", "credentials"),
    itself("~/.cloudflared", "credentials"),
    itself("~/.config/rclone", "credentials"),
    itself("~/.s3cfg", "credentials"),
    itself("~/.terraformrc", "credentials"),
    itself("~/.terraform.d/credentials.tfrc.json", "credentials"),
    itself("~/.pulumi/credentials.json", "credentials"),
    itself("~/.vault-token", "a token"),
    itself("~/.config/ngrok", "a token"),
    // Containers.
    these_of("DOCKER_CONFIG", "~/.docker", &["config.json"], "logins at registries of images"),
    itself("~/.config/containers/auth.json", "logins at registries of images"),
    these("/run/user/{uid}/containers", &["auth.json"], "logins at registries of images"),
    // Hosts of code, and logins by name of the host.
    itself("~/.netrc", "passwords"),
    itself("~/.authinfo", "passwords"),
    itself("~/.authinfo.gpg", "passwords"),
    itself("~/.git-credentials", "passwords"),
    itself("~/.config/git/credentials", "passwords"),
    itself("~/.config/gh", "a token"),
    itself("~/.config/hub", "a token"),
    itself("~/.config/glab-cli", "a token"),
    itself("~/.config/tea", "a token"),
    // Package managers. Files of settings only where they hold a login: without them, private registries are not found.
    PlaceRow {
        variable: Some("NPM_CONFIG_USERCONFIG"),
        usual: "~/.npmrc",
        which: Which::Holding(&["_auth", "_password"]),
        why: "a login at a registry",
        made: Made::Never,
    },
    PlaceRow {
        variable: None,
        usual: "~/.yarnrc.yml",
        which: Which::Holding(&["npmAuth"]),
        why: "a login at a registry",
        made: Made::Never,
    },
    itself("~/.pypirc", "a login at a registry"),
    PlaceRow {
        variable: Some("PIP_CONFIG_FILE"),
        usual: "~/.config/pip/pip.conf",
        which: Which::Holding(&["@"]),
        why: "a login at a registry",
        made: Made::Never,
    },
    itself("~/.config/pypoetry/auth.toml", "logins at registries"),
    itself("~/.local/share/uv/credentials", "logins at registries"),
    these_of("CARGO_HOME", "~/.cargo", &["credentials", "credentials.toml", "credentials*"], "tokens of registries"),
    itself("~/.gem/credentials", "a token"),
    itself("~/.local/share/gem/credentials", "a token"),
    PlaceRow {
        variable: None,
        usual: "~/.bundle/config",
        which: Which::Holding(&["__"]),
        why: "a login at a registry",
        made: Made::Never,
    },
    PlaceRow {
        variable: None,
        usual: "~/.m2/settings.xml",
        which: Which::Holding(&["<password>", "<privateKey>"]),
        why: "a login at a registry",
        made: Made::Never,
    },
    itself("~/.m2/settings-security.xml", "the key of passwords"),
    PlaceRow {
        variable: None,
        usual: "~/.gradle/gradle.properties",
        which: Which::Holding(&["assword", "oken", "ecret"]),
        why: "a login at a registry",
        made: Made::Never,
    },
    PlaceRow {
        variable: None,
        usual: "~/.nuget/NuGet/NuGet.Config",
        which: Which::Holding(&["Password"]),
        why: "a login at a registry",
        made: Made::Never,
    },
    itself("~/.composer/auth.json", "logins at registries"),
    itself("~/.config/composer/auth.json", "logins at registries"),
    itself("~/.hex/hex.config", "a key"),
    itself("~/.config/dart/pub-credentials.json", "a token"),
    itself("~/.cache/huggingface/token", "a token"),
    itself("~/.cache/huggingface/stored_tokens", "tokens"),
    these_of("HF_HOME", "", &["token", "stored_tokens"], "a token"),
    itself("~/.kaggle", "a key"),
    itself("~/.config/wandb", "a key"),
    // Databases and mail.
    itself("~/.pgpass", "passwords"),
    itself("~/.my.cnf", "passwords"),
    itself("~/.mylogin.cnf", "passwords"),
    itself("~/.config/msmtp", "passwords"),
    itself("~/.msmtprc", "passwords"),
    itself("~/.mbsyncrc", "passwords"),
    itself("~/.thunderbird", "mail and passwords"),
    itself("~/.local/share/evolution", "mail"),
    itself("~/.config/evolution", "mail"),
    // Stores of passwords and keyrings.
    itself("~/.config/op", "a store of passwords"),
    itself("~/.op", "a store of passwords"),
    itself("~/.config/1Password", "a store of passwords"),
    itself("~/.config/Bitwarden", "a store of passwords"),
    itself("~/.config/Bitwarden CLI", "a store of passwords"),
    itself("~/.config/keepassxc", "a store of passwords"),
    said_by("PASSWORD_STORE_DIR", "~/.password-store", "a store of passwords"),
    itself("~/.local/share/gopass", "a store of passwords"),
    itself("~/.local/share/keyrings", "a keyring"),
    itself("~/.gnome2/keyrings", "a keyring"),
    itself("~/.local/share/kwalletd", "a keyring"),
    itself("~/.pki", "certificates and their keys"),
    itself("~/.config/sops", "keys"),
    itself("~/.config/age", "keys"),
    itself("~/.config/github-copilot", "a token"),
    // Browsers and messengers: cookies are logins.
    itself("~/.mozilla", "cookies and passwords of a browser"),
    itself("~/.librewolf", "cookies and passwords of a browser"),
    itself("~/.config/google-chrome", "cookies and passwords of a browser"),
    itself("~/.config/google-chrome-beta", "cookies and passwords of a browser"),
    itself("~/.config/chromium", "cookies and passwords of a browser"),
    itself("~/.config/BraveSoftware", "cookies and passwords of a browser"),
    itself("~/.config/microsoft-edge", "cookies and passwords of a browser"),
    itself("~/.config/vivaldi", "cookies and passwords of a browser"),
    itself("~/.config/opera", "cookies and passwords of a browser"),
    itself("~/snap/firefox", "cookies and passwords of a browser"),
    itself("~/snap/chromium", "cookies and passwords of a browser"),
    itself("~/.var/app/org.mozilla.firefox", "cookies and passwords of a browser"),
    itself("~/.var/app/com.google.Chrome", "cookies and passwords of a browser"),
    itself("~/.config/Signal", "messages"),
    itself("~/.config/Slack", "messages and a login"),
    itself("~/.config/discord", "messages and a login"),
    itself("~/.local/share/TelegramDesktop", "messages and a login"),
    itself("~/.electrum", "money"),
    itself("~/.bitcoin", "money"),
    itself("~/.ethereum/keystore", "money"),
    itself("~/.config/solana", "money"),
    // What a person typed, passwords among it.
    itself("~/.bash_history", "what a person typed"),
    itself("~/.zsh_history", "what a person typed"),
    itself("~/.zhistory", "what a person typed"),
    itself("~/.local/share/fish/fish_history", "what a person typed"),
    itself("~/.local/share/atuin", "what a person typed"),
    itself("~/.python_history", "what a person typed"),
    itself("~/.node_repl_history", "what a person typed"),
    itself("~/.psql_history", "what a person typed"),
    itself("~/.mysql_history", "what a person typed"),
    itself("~/.sqlite_history", "what a person typed"),
    itself("~/.rediscli_history", "what a person typed"),
    itself("~/.mongosh", "what a person typed"),
    // Other agents.
    these_of("CLAUDE_CONFIG_DIR", "~/.claude", &[".credentials.json", "history.jsonl"], "the login of an agent"),
    itself("~/.claude.json", "the login and the settings of an agent"),
    these_of("CODEX_HOME", "~/.codex", &["auth.json", "history.jsonl"], "the login of an agent"),
    itself("~/.gemini/oauth_creds.json", "the login of an agent"),
    itself("~/.gemini/google_accounts.json", "the login of an agent"),
    itself("~/.gemini/.env", "the login of an agent"),
    itself("~/.local/share/opencode/auth.json", "the login of an agent"),
    itself("~/.local/share/goose", "the login of an agent"),
    itself("~/.config/goose", "the login of an agent"),
    itself("~/.qwen/oauth_creds.json", "the login of an agent"),
    itself("~/.copilot", "the login of an agent"),
    itself("~/.local/share/amp/secrets.json", "the login of an agent"),
    itself("~/.config/cursor", "the login of an agent"),
    itself("~/.config/Cursor/User/globalStorage", "the login of an agent"),
    itself("~/.config/Code/User/globalStorage", "logins of an editor"),
    itself("~/.config/Windsurf/User/globalStorage", "the login of an agent"),
    itself("~/.aider.conf.yml", "the keys of an agent"),
    itself("~/.config/io.datasette.llm/keys.json", "keys of models"),
];

/// One by one, so that a command can make its own beside them: a terminal multiplexer, a display for tests.
const CONTROLS: &[PlaceRow] = &[
    these_of("TMUX_TMPDIR", "/tmp", &["tmux-{uid}/*"], "tmux types into its windows whatever it is told"),
    these("/tmp", &["screen-{uid}/*", "screens/S-*"], "screen types into its windows whatever it is told"),
    these("/run/screen", &["S-*"], "screen types into its windows whatever it is told"),
    these("/tmp/.X11-unix", &["X*"], "a display takes keys and shows what is on the screen"),
    these("/tmp/.ICE-unix", &["*"], "a session of the desktop"),
    these("/tmp", &["dbus-*"], "a bus of the desktop starts programs"),
    these(
        "/tmp",
        &["vscode-ipc-*", "vscode-git-*", "vscode-ssh-auth-*"],
        "an editor opens and installs what it is told",
    ),
    these("/tmp", &["emacs{uid}/*"], "an editor evaluates what it is told"),
    these("/tmp", &["nvim.*", "kitty-*", "mykitty*"], "an editor or a terminal runs what it is told"),
    these("/tmp", &[".s.PGSQL.*", "mysql.sock"], "a database of this machine"),
    these("/tmp", &["docker*.sock", "podman*.sock"], "a daemon that starts containers"),
];

/// Not .git/config: branches, remotes and `git config user.name` are ordinary work. The guard asks about its keys that
/// run programs. Not .husky and .githooks either: they are tracked, so a change shows in the diff, and `npm install`
/// writes there.
const HOOKS: &[HookRow] = &[
    hook(".vscode/tasks.json", "a task can run when the folder is opened"),
    hook(".vscode/settings.json", "names programs that the editor starts"),
    hook(".vscode/launch.json", "runs with a key"),
    hook(".vscode/mcp.json", "servers that an agent starts"),
    hook("*.code-workspace", "names tasks and programs"),
    hook(".idea", "run configurations and startup tasks"),
    hook(".fleet", "run configurations"),
    hook(".zed", "tasks and programs that the editor starts"),
    hook(".mcp.json", "servers that an agent starts"),
    hook("mcp.json", "servers that an agent starts"),
    hook(".claude/settings.json", "hooks and permissions of an agent"),
    hook(".claude/settings.local.json", "hooks and permissions of an agent"),
    hook(".claude/hooks", "programs that an agent runs"),
    hook(".codex", "settings and rules of an agent"),
    hook(".gemini/settings.json", "servers and permissions of an agent"),
    hook(".gemini/.env", "variables of an agent"),
    hook(".cursor/mcp.json", "servers that an agent starts"),
    hook(".cursor/hooks.json", "programs that an agent runs"),
    hook(".cursor/cli.json", "permissions of an agent"),
    hook(".cursor/environment.json", "programs that an agent runs"),
    hook("opencode.json", "servers and permissions of an agent"),
    hook("opencode.jsonc", "servers and permissions of an agent"),
    hook(".opencode", "plugins of an agent"),
    hook(".qwen/settings.json", "servers and permissions of an agent"),
    hook(".windsurf", "settings of an agent"),
    hook(".roo/mcp.json", "servers that an agent starts"),
    hook(".kilocode/mcp.json", "servers that an agent starts"),
    hook(".amazonq/mcp.json", "servers that an agent starts"),
    hook(".goosehints.local", "instructions of an agent that nobody sees in a diff"),
    hook(".envrc", "direnv runs it in the folder"),
    hook(".exrc", "an editor runs it in the folder"),
    hook(".nvimrc", "an editor runs it in the folder"),
    hook(".nvim.lua", "an editor runs it in the folder"),
    hook(".vim", "an editor runs it in the folder"),
    hook(".dir-locals-2.el", "an editor runs it in the folder"),
];

const AGENTS: &[PlaceRow] = &[
    said_by("SSH_AUTH_SOCK", "", "ssh uses keys without reading them"),
    itself("/run/user/{uid}/gnupg/S.gpg-agent", "commits are signed without reading the key"),
    these_of("GNUPGHOME", "~/.gnupg", &["S.gpg-agent"], "commits are signed without reading the key"),
    itself("/run/user/{uid}/gnupg/S.keyboxd", "public keys"),
];

const USERS: &[PlaceRow] = &[
    itself("/var/lib/sss/pipes/nss", "users of a directory service"),
    these("/run/systemd/userdb", &["io.systemd.DynamicUser", "io.systemd.Multiplexer"], "users of this machine"),
];

const NAMES: &[PlaceRow] = &[
    itself("/run/systemd/resolve/io.systemd.Resolve", "names of hosts"),
    itself("/run/nscd/socket", "names of hosts and users"),
    itself("/run/avahi-daemon/socket", "names of hosts nearby"),
];

const REGISTRIES: &[HostsRow] = &[
    HostsRow { service: "Rust", hosts: &["crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"] },
    HostsRow { service: "Python", hosts: &["pypi.org", "files.pythonhosted.org", "pypi.python.org"] },
    HostsRow { service: "conda", hosts: &["conda.anaconda.org", "repo.anaconda.com"] },
    HostsRow {
        service: "JavaScript",
        hosts: &[
            "registry.npmjs.org", "registry.yarnpkg.com", "repo.yarnpkg.com", "nodejs.org", "jsr.io", "npm.jsr.io",
            "deno.land",
        ],
    },
    HostsRow {
        service: "Go",
        hosts: &["proxy.golang.org", "sum.golang.org", "go.dev", "dl.google.com", "storage.googleapis.com"],
    },
    HostsRow {
        service: "Java",
        hosts: &[
            "repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "plugins-artifacts.gradle.org",
            "services.gradle.org", "downloads.gradle.org", "maven.google.com", "dl.google.com",
        ],
    },
    HostsRow { service: "Ruby", hosts: &["rubygems.org", "index.rubygems.org"] },
    HostsRow { service: "PHP", hosts: &["packagist.org", "repo.packagist.org"] },
    HostsRow { service: ".NET", hosts: &["api.nuget.org", "www.nuget.org", "globalcdn.nuget.org"] },
    HostsRow { service: "Dart", hosts: &["pub.dev", "storage.googleapis.com"] },
    HostsRow { service: "Elixir", hosts: &["hex.pm", "repo.hex.pm", "builds.hex.pm"] },
    HostsRow { service: "Haskell", hosts: &["hackage.haskell.org", "www.stackage.org"] },
    HostsRow { service: "OCaml", hosts: &["opam.ocaml.org"] },
    HostsRow { service: "Perl", hosts: &["www.cpan.org", "cpan.metacpan.org"] },
    HostsRow { service: "R", hosts: &["cran.r-project.org", "cloud.r-project.org"] },
    HostsRow { service: "Julia", hosts: &["pkg.julialang.org", "*.pkg.julialang.org"] },
    HostsRow { service: "C and C++", hosts: &["center2.conan.io"] },
    HostsRow {
        service: "Debian",
        hosts: &["deb.debian.org", "security.debian.org", "ftp.debian.org", "snapshot.debian.org"],
    },
    HostsRow {
        service: "Ubuntu",
        hosts: &[
            "archive.ubuntu.com", "*.archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com",
            "ppa.launchpadcontent.net",
        ],
    },
    HostsRow { service: "Alpine", hosts: &["dl-cdn.alpinelinux.org"] },
    HostsRow { service: "Fedora", hosts: &["mirrors.fedoraproject.org", "dl.fedoraproject.org"] },
    HostsRow { service: "Arch", hosts: &["geo.mirror.pkgbuild.com"] },
    HostsRow { service: "Nix", hosts: &["cache.nixos.org", "channels.nixos.org"] },
    HostsRow { service: "Homebrew", hosts: &["formulae.brew.sh", "ghcr.io", "pkg-containers.githubusercontent.com"] },
    HostsRow {
        service: "GitHub",
        hosts: &[
            "github.com",
            "github.com:22",
            "api.github.com",
            "codeload.github.com",
            "raw.githubusercontent.com",
            "objects.githubusercontent.com",
            "release-assets.githubusercontent.com",
            "github-releases.githubusercontent.com",
            "lfs.github.com",
            "github-cloud.githubusercontent.com",
            "media.githubusercontent.com",
        ],
    },
    HostsRow { service: "GitLab", hosts: &["gitlab.com", "gitlab.com:22", "registry.gitlab.com"] },
    HostsRow { service: "Bitbucket", hosts: &["bitbucket.org", "bitbucket.org:22"] },
    HostsRow { service: "Codeberg", hosts: &["codeberg.org", "codeberg.org:22"] },
    HostsRow {
        service: "browsers of test tools",
        hosts: &[
            "cdn.playwright.dev",
            "playwright.download.prss.microsoft.com",
            "download.cypress.io",
            "cdn.cypress.io",
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sandbox::hosts;

    #[test]
    fn every_row_says_a_place_and_a_reason() {
        let mut names = BTreeSet::new();
        for group in GROUPS {
            assert!(
                group.name.starts_with('@') && names.insert(group.name) && !group.about.is_empty(),
                "{}",
                group.name
            );
            match &group.members {
                Members::Places(rows) => {
                    for row in *rows {
                        let rooted = row.usual == "~" || row.usual.starts_with("~/") || row.usual.starts_with('/');
                        assert!(rooted || row.usual.is_empty() && row.variable.is_some(), "{}", row.usual);
                        assert!(!row.why.is_empty() && !row.usual.contains('*'), "{}", row.usual);
                    }
                }
                Members::InWorkspace(rows) => {
                    assert!(rows.iter().all(|row| !row.path.starts_with('/') && !row.why.is_empty()));
                }
                Members::Hosts(rows) => {
                    for host in rows.iter().flat_map(|row| row.hosts) {
                        assert_eq!(hosts::shown(&hosts::parse(host).unwrap()), *host);
                    }
                }
                Members::Workspace | Members::Remotes => {}
            }
        }
    }
}
