//! Containers, clusters, clouds, databases and registries.

use crate::effect::Kind;
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels};
use crate::programs::options::{Grammar, Options};
use crate::verdict::Decision::Ask;

const RUN: Grammar = Grammar {
    short: "vepwuhlmcnatPs",
    attached: "",
    long: &[
        "volume",
        "env",
        "publish",
        "workdir",
        "user",
        "hostname",
        "label",
        "memory",
        "cpus",
        "name",
        "network",
        "net",
        "mount",
        "entrypoint",
        "env-file",
        "add-host",
        "cap-add",
        "cap-drop",
        "device",
        "gpus",
        "ipc",
        "pid",
        "platform",
        "pull",
        "restart",
        "security-opt",
        "shm-size",
        "tmpfs",
        "ulimit",
        "userns",
        "volumes-from",
        "dns",
        "expose",
        "ip",
        "link",
        "log-driver",
        "log-opt",
        "cidfile",
        "uts",
        "cgroupns",
        "runtime",
        "stop-signal",
        "stop-timeout",
        "health-cmd",
        "label-file",
        "index",
        "detach-keys",
    ],
    flags: &["rm", "interactive", "tty", "detach", "privileged", "init", "read-only", "publish-all"],
    stops: true,
    single_dash: false,
};

impl Machine<'_> {
    pub(crate) fn says(&mut self, kind: Kind, reason: &str, call: &Call) {
        self.state(kind, reason, call.span, None);
    }

    #[expect(clippy::too_many_lines, reason = "a table of what programs do")]
    pub(crate) fn data_program(&mut self, call: &Call, world: &World) -> Option<Flow> {
        let words: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let joined = words.join(" ");
        match call.name.as_str() {
            "docker" | "podman" | "nerdctl" | "docker-compose" | "lxc" | "incus" => {
                return Some(self.container(call, &words, world));
            }
            "kubectl" | "oc" | "k" => {
                if has(&["exec", "run", "debug"])
                    && let Some(at) = words.iter().position(|word| word == "--")
                {
                    self.confined(call, call.args[at + 1..].to_vec(), world);
                }
                let dry = joined.contains("--dry-run");
                if has(&["delete"])
                    && !dry
                    && (has(&[
                        "ns",
                        "namespace",
                        "namespaces",
                        "--all",
                        "-A",
                        "--all-namespaces",
                        "pv",
                        "pvc",
                        "crd",
                        "node",
                        "nodes",
                    ]) || joined.contains("ns/")
                        || joined.contains("namespace/"))
                {
                    self.says(
                        Kind::DropRemote,
                        "This deletes a namespace, a volume or everything of a kind in a cluster.",
                        call,
                    );
                } else if has(&["drain", "cordon"]) {
                    self.says(Kind::DropRemote, "This takes a machine out of a cluster.", call);
                }
            }
            "helm" if has(&["uninstall", "delete", "rollback"]) && !has(&["--dry-run"]) => {
                self.says(Kind::DropRemote, "This removes a release from a cluster.", call);
            }
            "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "cdktf" => {
                if has(&["destroy", "-destroy", "down"]) || has(&["state"]) && has(&["rm", "push"]) {
                    self.says(Kind::DropRemote, "This takes down what is deployed.", call);
                } else if has(&["apply", "up"]) && (has(&["-auto-approve", "--auto-approve", "--yes", "-y"])) {
                    self.says(Kind::DropRemote, "This changes what is deployed without showing it first.", call);
                }
            }
            "gcloud" | "doctl" | "hcloud" | "linode-cli" | "flyctl" | "fly" | "heroku" | "vercel" | "netlify"
            | "wrangler" | "eksctl" => {
                if has(&["delete", "destroy", "remove", "rm", "apps:destroy", "pg:reset"]) {
                    self.says(Kind::DropRemote, "This deletes something that is deployed.", call);
                }
            }
            "psql" | "mysql" | "mariadb" | "sqlite3" | "mongosh" | "mongo" | "redis-cli" | "clickhouse-client"
            | "cockroach" | "duckdb" | "sqlcmd" | "cqlsh" => return Some(self.database(call, &words, world)),
            "dropdb" | "dropuser" | "mysqladmin" if call.name != "mysqladmin" || has(&["drop"]) => {
                self.says(Kind::DropRemote, "This deletes a database or a user of one.", call);
            }
            "pg_dropcluster" => self.says(Kind::DropRemote, "This deletes a database.", call),
            "rails" | "rake" | "artisan" | "mix"
                if has(&["db:drop", "db:reset", "ecto.drop", "migrate:fresh"]) && joined.contains("production") =>
            {
                self.says(Kind::DropRemote, "This drops a database in production.", call);
            }
            "gh" if has(&["repo", "release", "secret", "gist"]) && has(&["delete", "archive"]) => {
                self.says(Kind::DropRemote, "This deletes something that others may use.", call);
            }
            "gh" | "glab" if has(&["gist", "release", "snippet"]) && has(&["create", "upload", "edit"]) => {
                self.sends(&call.args, world, call);
            }
            "glab" if has(&["delete"]) => {
                self.says(Kind::DropRemote, "This deletes something that others may use.", call);
            }
            "npm" | "yarn" | "pnpm" | "bun" if !has(&["-e", "--eval", "-p", "--print"]) => {
                self.node_packages(call, &words);
            }
            "cargo" => {
                if has(&["publish", "yank", "owner"])
                    && words
                        .iter()
                        .position(|word| ["publish", "yank", "owner"].contains(&word.as_str()))
                        .is_some_and(|at| words[..at].iter().all(|word| word.starts_with(['-', '+'])))
                    && !has(&["--dry-run", "-n", "--list"])
                {
                    self.says(Kind::Publish, "This publishes to or takes back from a registry.", call);
                }
                for setting in call.args.iter().filter(|arg| {
                    ["build.rustc-wrapper", "target.", "runner", "linker", "build.rustc="]
                        .iter()
                        .any(|key| arg.text.known_start().contains(key))
                }) {
                    if setting.text.display().contains('=') && words.iter().any(|word| word == "--config") {
                        let value = setting.text.display();
                        let value = value
                            .split_once('=')
                            .map(|(_, value)| value.trim_matches(['"', '\'', ' ']).to_owned())
                            .unwrap_or_default();
                        self.helper_program(&Arg::known(value, setting.span), world);
                    }
                }
            }
            "twine" | "gem" if has(&["upload", "push", "yank"]) => {
                self.says(Kind::Publish, "This publishes to or takes back from a registry.", call);
            }
            "poetry" | "uv" | "flit" | "hatch" | "maturin" if has(&["publish", "upload"]) && !has(&["--dry-run"]) => {
                self.says(Kind::Publish, "This publishes to a registry.", call);
            }
            "vault" | "consul" | "etcdctl"
                if has(&["delete", "del", "destroy", "purge"])
                    && (joined.contains("--prefix") || has(&["destroy", "-recurse", "purge"])) =>
            {
                self.says(Kind::DropRemote, "This deletes data of a cluster.", call);
            }
            "vagrant" | "virsh" | "multipass" | "VBoxManage" | "vmadm" | "qm"
                if has(&["destroy", "undefine", "delete", "purge", "unregistervm"]) =>
            {
                self.says(Kind::DropRemote, "This deletes a virtual machine.", call);
            }
            "ansible" => {
                let options = Options::read(
                    &call.args,
                    &Grammar {
                        short: "mailcfuetkM",
                        long: &["args", "module-name", "inventory", "module-args"],
                        ..Grammar::default()
                    },
                );
                if let Some(text) = options.value(&["a", "args", "module-args"]).cloned()
                    && options
                        .value(&["m", "module-name"])
                        .is_none_or(|module| ["shell", "command", "raw"].iter().any(|name| module.text.is(name)))
                {
                    self.shell_text(&text, world.clone(), &call.input);
                }
            }
            "make" | "gmake" | "ninja" | "just" | "rake" => {
                for arg in &call.args {
                    if arg.text.known_start().starts_with("SHELL=") {
                        self.helper_program(&Arg::new(arg.text.skip(6), arg.span), world);
                    }
                }
                let options = Options::read(
                    &call.args,
                    &Grammar {
                        short: "fCIojW",
                        long: &["file", "makefile", "directory", "eval"],
                        ..Grammar::default()
                    },
                );
                if let Some(text) =
                    options.value(&["eval"]).cloned().and_then(|arg| arg.text.as_known().map(|text| (text, arg.span)))
                {
                    // `x:;command` and `$(shell command)`.
                    for part in text.0.split([';', '\n']).skip(1) {
                        self.script(part.trim().trim_start_matches('@'), world.clone(), &call.input, text.1);
                    }
                    if let Some(at) = text.0.find("$(shell ") {
                        self.script(text.0[at + 8..].trim_end_matches(')'), world.clone(), &call.input, text.1);
                    }
                }
                if let Some(file) = options.value(&["f", "file", "makefile"]).cloned() {
                    let flow = if file.text.is("-") || file.text.is("/dev/stdin") {
                        (*call.input).clone()
                    } else {
                        self.read(&file.text, world)
                    };
                    self.makefile(&flow, world, call);
                } else {
                    for name in ["Makefile", "makefile", "GNUmakefile"] {
                        let flow = self.read(&crate::machine::value::Text::known(name), world);
                        self.makefile(&flow, world, call);
                    }
                }
            }
            _ => return None,
        }
        Some(Flow::unknown())
    }

    /// The recipes of a makefile whose text is known.
    fn makefile(&mut self, flow: &Flow, world: &World, call: &Call) {
        let Some(text) = &flow.text else {
            self.object_to_flow(
                &Flow::labelled(flow.labels.without(Labels::UNKNOWN)),
                &Arg::known("makefile", call.span),
            );
            return;
        };
        for line in text.clone().lines() {
            let recipe = line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
            if let Some(recipe) = recipe {
                let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$");
                self.script(&recipe, world.clone(), &call.input, call.span);
            }
        }
    }

    fn node_packages(&mut self, call: &Call, words: &[String]) {
        let verb = words.iter().find(|word| !word.starts_with('-')).map(String::as_str).unwrap_or_default();
        let dry = words.iter().any(|word| word == "--dry-run");
        if matches!(verb, "publish" | "unpublish" | "deprecate") && !dry {
            self.says(Kind::Publish, "This publishes to or takes back from a registry.", call);
        }
        if words.iter().any(|word| {
            word.starts_with("--script-shell") || word.starts_with("--node-options") && word.contains("require")
        }) {
            self.says(Kind::RunHidden, "This option makes scripts run in another program.", call);
        }
        if verb == "config"
            && words.iter().any(|word| word.starts_with("script-shell") || word.starts_with("node-options"))
            && words.iter().any(|word| word == "set")
        {
            self.says(Kind::RunHidden, "This setting makes scripts run in another program.", call);
        }
    }

    /// A command that runs inside a container: it cannot hurt more than that, so it is asked about at most.
    fn confined(&mut self, call: &Call, args: Vec<Arg>, world: &World) {
        let before = self.findings.len();
        let mut inside = world.clone();
        inside.enter(Some("/\u{1}".to_owned()));
        self.inner(call, args, 0, inside);
        for finding in self.findings.iter_mut().skip(before) {
            finding.decision = finding.decision.min(Ask);
        }
    }

    fn container(&mut self, call: &Call, words: &[String], world: &World) -> Flow {
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let at = words.iter().position(|word| ["run", "exec", "create"].contains(&word.as_str()));
        if let Some(at) = at.filter(|at| {
            words[..*at].iter().all(|word| word.starts_with('-') || ["container", "compose"].contains(&word.as_str()))
        }) {
            let options = Options::read(&call.args[at + 1..], &RUN);
            let mounts: Vec<String> = options.values(&["v", "volume", "mount"]).map(|arg| arg.text.display()).collect();
            let host = |mount: &String| {
                let source = mount
                    .split(',')
                    .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
                    .unwrap_or_else(|| mount.split(':').next().unwrap_or_default())
                    .to_owned();
                matches!(
                    source.as_str(),
                    "/" | "/etc" | "/root" | "/boot" | "/dev" | "/proc" | "/sys" | "/usr" | "/var" | "/home"
                ) || source == self.places().home
            };
            let mounted = mounts.iter().any(host);
            let open = options.has(&["privileged"])
                || options.values(&["pid", "userns", "ipc", "cap-add"]).any(|arg| {
                    ["host", "ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE"].iter().any(|value| arg.text.is(value))
                });
            if mounted || open {
                self.says(Kind::Escape, "This container would get the whole machine, or rights over it.", call);
            }
            // With something of the machine inside, the command in it is judged as if it ran here.
            let inner: Vec<Arg> = options.operands.iter().skip(1).filter(|arg| !arg.text.is("--")).cloned().collect();
            if has(&["exec"]) || mounted {
                self.confined(call, inner, world);
            }
            if options.has(&["t", "tty"]) && options.has(&["i", "interactive"]) {
                self.wait("docker", "a container with -it waits for somebody to type; leave -it out", call.span);
            }
        }
        let volumes = has(&["volume"]) && has(&["prune", "rm", "remove"])
            || has(&["prune"]) && has(&["--volumes"])
            || has(&["down"]) && has(&["-v", "--volumes"]);
        if volumes && !(has(&["down"]) && has(&["compose"])) && call.name != "docker-compose" {
            self.says(Kind::DropRemote, "This deletes volumes, and the data in them.", call);
        }
        if matches!(call.name.as_str(), "lxc" | "incus") && has(&["delete"]) {
            self.says(Kind::DropRemote, "This deletes a container with its data.", call);
        }
        Flow::labelled(Labels::PLAIN.with(Labels::UNKNOWN))
    }

    /// What clouds lose.
    pub(crate) fn remote_data(&mut self, call: &Call) {
        let words: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let deletes = has(&[
            "rb",
            "delete-bucket",
            "delete-db-instance",
            "terminate-instances",
            "delete-stack",
            "delete-table",
            "delete-cluster",
            "delete-user",
            "delete-volume",
            "delete-snapshot",
            "schedule-key-deletion",
        ]) || has(&["rm"]) && has(&["--recursive", "-r", "-R", "--force"])
            || has(&["delete", "purge"]) && call.name == "az"
            || has(&["--delete", "--delete-removed"]) && has(&["sync"]);
        if deletes && !has(&["--dryrun", "--dry-run"]) {
            self.says(Kind::DropRemote, "This deletes data in a cloud.", call);
        }
    }

    fn database(&mut self, call: &Call, words: &[String], world: &World) -> Flow {
        let mut statements: Vec<(String, Arg)> =
            call.args.iter().map(|arg| (arg.text.display(), arg.clone())).collect();
        if let Some(text) = &call.input.text {
            statements.push((text.clone(), Arg::known(text.clone(), call.span)));
        }
        if call.name == "redis-cli"
            && words
                .iter()
                .any(|word| matches!(word.to_ascii_uppercase().as_str(), "FLUSHALL" | "FLUSHDB" | "SHUTDOWN"))
        {
            self.says(Kind::DropRemote, "This empties or stops a database.", call);
        }
        let local = call.name == "sqlite3" || call.name == "duckdb";
        for (text, arg) in &statements {
            let upper = text.to_ascii_uppercase();
            let drops = ["DROP DATABASE", "DROP SCHEMA", "DROPDATABASE("].iter().any(|word| upper.contains(word))
                || upper.contains("DROP TABLE") && !local
                || upper.contains("TRUNCATE ") && !local;
            let all = upper.contains("DELETE FROM ") && !upper.contains("WHERE") && !local;
            if drops || all {
                self.state(Kind::DropRemote, "This deletes tables or databases.".to_owned(), arg.span, None);
            }
            for line in text.lines() {
                let line = line.trim();
                let command =
                    [".shell ", ".system ", "\\! ", "system ", ".sh "].iter().find_map(|mark| line.strip_prefix(mark));
                let program = upper.contains("COPY ") && upper.contains("PROGRAM ");
                if let Some(command) = command {
                    let reason = "This lets the database client run a command.".to_owned();
                    self.state(Kind::RunHidden, reason, arg.span, Some(command.to_owned()));
                    self.script(command, world.clone(), &call.input, arg.span);
                } else if program {
                    self.state(
                        Kind::RunHidden,
                        "COPY … PROGRAM runs a command on the database server.".to_owned(),
                        arg.span,
                        None,
                    );
                }
            }
        }
        Flow::unknown()
    }
}
