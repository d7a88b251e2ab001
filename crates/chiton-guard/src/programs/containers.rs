//! Containers: what gets the machine, and what goes with its data.
//!
//! 1. Options before the verb are read first, then those of the verb itself, so that no value is taken for a verb.
//! 2. `run`, `create` and `exec` are judged by what the container gets ([`mounts`], rights), and by what runs in it.
//! 3. What runs in a container cannot hurt the machine but through its mounts: paths in it are mapped back to those.

mod mounts;

use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Any, Called, Given, Has, Not, Says, Starts};
use super::row::{DRY, On, PROGRAM, Prints, Program, allows, asks};
use crate::effect::Kind::{self, DropRemote, Escape};
use crate::effect::Writing;
use crate::machine::address::is_local;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::{Arg, Labels, Text};
pub(super) use mounts::gets_machine;
use mounts::{Mount, mounts_of};

/// Options before the verb of container tools, and those of `compose`, which take a value.
const GLOBAL: Grammar = Grammar {
    short: "Hclnfpa",
    long: &[
        "host", "context", "config", "log-level", "tlscacert", "tlscert", "tlskey", "url", "connection", "root",
        "runroot", "identity", "namespace", "address", "file", "project-name", "profile", "env-file",
        "project-directory", "ansi", "progress", "parallel", "storage-driver", "project", "timeout", "rmi",
    ],
    flags: &["debug", "tls", "tlsverify", "remote", "volumes", "force"],
    ..Grammar::PLAIN
};

const DATA: &str = "This would delete the volume{names}, with the data in it.";

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &[
            "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "finch", "buildah", "podman-remote",
        ],
        grammar: GLOBAL,
        custom: Some(container),
        effects: &[
            On(
                Any(&[
                    Says(&["volume rm|remove|prune", "container volume rm"]),
                    All(&[Says(&["system|pod prune"]), Has(&["--volumes"])]),
                    All(&[Says(&["machine rm|reset"])]),
                    All(&[Says(&["system reset|migrate"]), Called(&["podman"])]),
                ]),
                Is(DropRemote, DATA),
            ),
            On(
                All(&[
                    Says(&["compose down|rm", "down|rm"]),
                    Given(&["volumes", "v"]),
                    Any(&[Has(&["down"]), Called(&["docker-compose", "podman-compose"])]),
                ]),
                Is(DropRemote, "This would delete the volumes of the project, with the data in them."),
            ),
            On(
                Any(&[
                    Says(&[
                        "stack rm|remove|down", "service rm|remove|rollback", "node rm|remove|demote", "swarm leave",
                        "secret rm|remove", "config rm|remove", "swarm ca|unlock-key",
                    ]),
                    All(&[Says(&["service scale|update"]), Starts(&["--replicas=0"])]),
                ]),
                Is(DropRemote, "This would take{what} out of the swarm{where}."),
            ),
            On(
                All(&[Says(&["plugin install"]), Has(&["--grant-all-permissions"])]),
                Is(Escape, "This would give a plugin all rights over the machine."),
            ),
        ],
        prints: Prints::Labelled(Labels::PLAIN.with(Labels::UNKNOWN)),
        prompts: &[(
            All(&[Called(&["docker"]), Has(&["login"]), Not(&Has(&["--password-stdin"]))]),
            "it asks for a password; use --password-stdin",
        )],
        spares: DRY,
        examples: examples![
            asks("docker run --privileged alpine", "container-escape"),
            asks("docker run -v /:/host alpine true", "container-escape"),
            asks("docker run -it -v /:/h alpine", "container-escape"),
            asks("docker run -itv /:/h alpine", "container-escape"),
            asks("docker run -v/:/h alpine", "container-escape"),
            asks("docker run --volume=/:/h alpine", "container-escape"),
            asks("docker run --rm --volume /./:/h alpine", "container-escape"),
            asks("docker run -v //:/h alpine", "container-escape"),
            asks("docker run -v /etc/..:/h alpine", "container-escape"),
            asks("docker run -v ../../..:/h alpine", "container-escape"),
            asks("docker run --mount type=bind,src=/,dst=/h alpine", "container-escape"),
            asks("docker run --mount 'type=bind,\"source=/\",target=/h' alpine", "container-escape"),
            asks("docker run --mount=source=/etc,target=/h,type=bind,readonly alpine", "container-escape"),
            asks("docker run -d -v /var/run/docker.sock:/var/run/docker.sock x", "container-escape"),
            asks("docker run -v /run:/run x", "container-escape"),
            asks("docker run -v /run/containerd/containerd.sock:/c.sock x", "container-escape"),
            asks("docker run -v ~:/home alpine", "container-escape"),
            asks("docker run -v \"$HOME\":/h alpine", "container-escape"),
            asks("docker run -v ~/.ssh:/root/.ssh:ro alpine", "container-escape"),
            asks("docker run -v /root:/r alpine", "container-escape"),
            asks("docker run -v /home:/h alpine", "container-escape"),
            asks("docker run -v /etc/shadow:/s alpine", "container-escape"),
            asks("docker run -v /proc:/p alpine", "container-escape"),
            asks("docker run -v /dev:/dev alpine", "container-escape"),
            asks("docker run --pid=host alpine", "container-escape"),
            asks("docker run --pid host alpine", "container-escape"),
            asks("docker run --ipc=host --uts host alpine", "container-escape"),
            asks("docker run --userns=host alpine", "container-escape"),
            asks("docker run --cgroupns=host alpine", "container-escape"),
            asks("docker run --cap-add ALL alpine", "container-escape"),
            asks("docker run --cap-add=cap_sys_admin alpine", "container-escape"),
            asks("docker run --cap-add SYS_MODULE alpine", "container-escape"),
            asks("docker run --security-opt seccomp=unconfined alpine", "container-escape"),
            asks("docker run --security-opt apparmor:unconfined alpine", "container-escape"),
            asks("docker run --security-opt label=disable alpine", "container-escape"),
            asks("docker run --device /dev/sda alpine", "container-escape"),
            asks("docker run --device=/dev/nvme0n1:/dev/x alpine", "container-escape"),
            asks("docker --host x run --privileged alpine", "container-escape"),
            asks("docker -H tcp://10.0.0.1:2375 run -v /:/h alpine", "container-escape"),
            asks("docker --context prod container run --privileged alpine", "container-escape"),
            asks("docker create -v /:/h alpine", "container-escape"),
            asks("docker exec --privileged web sh", "container-escape"),
            asks("docker compose run -v /:/h web sh", "container-escape"),
            asks("podman run --privileged alpine", "container-escape"),
            asks("nerdctl run -v /:/h alpine", "container-escape"),
            asks("podman --remote run --rm -v /:/h alpine", "container-escape"),
            asks("docker volume create --opt type=none --opt o=bind --opt device=/ x", "container-escape"),
            asks("docker run -v \"$PWD\":/app alpine rm -rf /app", "delete-workspace"),
            asks("docker run -v \"$PWD\":/app alpine sh -c 'rm -rf /app/*'", "delete-workspace"),
            asks(
                "printf 'services:\\n  x:\\n    privileged: true\\n' > compose.yaml; docker compose up",
                "container-escape",
            ),
            asks("docker compose -f - up <<'E'\nservices: {x: {volumes: [\"/:/host\"]}}\nE", "container-escape"),
            asks("docker volume prune -f", "remote-data"),
            asks("docker volume rm pgdata", "remote-data"),
            asks("docker --context prod volume rm pgdata", "remote-data"),
            asks("docker system prune --volumes", "remote-data"),
            asks("docker compose down -v", "remote-data"),
            asks("docker compose -f dev.yml -p shop down --volumes --remove-orphans", "remote-data"),
            asks("docker-compose down -v", "remote-data"),
            asks("docker stack rm shop", "remote-data"),
            asks("docker service rm web", "remote-data"),
            asks("docker swarm leave --force", "remote-data"),
            asks("docker -H ssh://prod rm -f web", "remote-data"),
            asks("DOCKER_HOST=tcp://10.0.0.1:2375 docker rm -f web", "remote-data"),
            asks("docker exec db psql -c 'DROP TABLE users'", "remote-data"),
            asks("docker compose exec -T db dropdb shop", "remote-data"),
            asks("docker exec db rm -rf /var/lib/postgresql/data", "delete-system"),
            asks("docker cp web:/x /etc/hosts", "system-write"),
            asks("docker push registry.example.com/web:1", "publish"),
            asks("docker buildx build --push -t x/web .", "publish"),
            asks("docker compose push", "publish"),
            asks("podman manifest push x docker://docker.io/a/b", "publish"),
            allows("docker run --rm alpine echo hello"),
            allows("docker run --rm alpine rm -rf /"),
            allows("docker run -v data:/var/lib/postgresql/data postgres"),
            allows("docker run --rm -it -v \"$PWD\":/app -w /app node npm test"),
            allows("docker run -v \"$PWD\":/app alpine rm -rf /app/build /tmp/x /usr/share/doc"),
            allows("docker run -v ./conf:/etc/nginx:ro nginx"),
            allows("docker run -v ~/.npm:/root/.npm node npm ci"),
            allows("docker run -v /etc/localtime:/etc/localtime:ro x"),
            allows("docker run -v /tmp/x:/x alpine"),
            allows("docker run --network host alpine"),
            allows("docker run --gpus all --shm-size 8g x"),
            allows("docker run --device /dev/dri x"),
            allows("docker run --cap-add NET_ADMIN x"),
            allows("docker run --security-opt no-new-privileges x"),
            allows("docker run -e VOLUME=/:/h alpine"),
            allows("docker run alpine echo --privileged -v /:/h"),
            allows("docker compose down"),
            allows("docker compose down --help"),
            allows("docker compose up -d --build"),
            allows("docker system prune -af"),
            allows("docker container prune -f"),
            allows("docker image rm x"),
            allows("docker network rm x"),
            allows("docker rm -f $(docker ps -aq)"),
            allows("docker rm -v web"),
            allows("docker volume ls"),
            allows("docker volume create data"),
            allows("docker push localhost:5000/web"),
            allows("docker build --secret id=x,src=.env -t web ."),
            allows("docker cp web:/app/log.txt ./log.txt"),
            allows("docker save web | gzip > web.tgz"),
            allows("docker ps -a"),
            allows("docker -H tcp://10.0.0.1:2375 ps"),
            allows("docker stack ps shop"),
            allows("buildah bud -t x ."),
        ],
        ..PROGRAM
    },
    Program {
        names: &["lxc", "incus"],
        grammar: Grammar {
            short: "cds",
            long: &["config", "device", "storage", "project", "profile"],
            ..Grammar::PLAIN
        },
        custom: Some(system_container),
        effects: &[On(
            Says(&[
                "delete|rm", "storage delete", "storage volume delete", "project delete", "network delete",
                "profile delete", "cluster remove", "restore",
            ]),
            Is(DropRemote, "This would delete{what} with its data."),
        )],
        spares: DRY,
        prints: Prints::Labelled(Labels::PLAIN.with(Labels::UNKNOWN)),
        examples: examples![
            asks("lxc delete web", "remote-data"),
            asks("incus delete --force web", "remote-data"),
            asks("lxc storage volume delete default data", "remote-data"),
            asks("lxc config device add web host disk source=/ path=/h", "container-escape"),
            asks("lxc config set web security.privileged true", "container-escape"),
            asks("lxc launch ubuntu:24.04 web -c security.privileged=true", "container-escape"),
            asks("lxc exec web -- rm -rf /var/lib/mysql", "delete-system"),
            allows("lxc list"),
            allows("lxc launch ubuntu:24.04 web"),
            allows("lxc exec web -- ls /"),
            allows("lxc config device add web code disk source=/home/dev/project path=/code"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["ctr", "crictl", "runc", "apptainer", "singularity", "systemd-nspawn"],
        grammar: Grammar {
            short: "anBDiM",
            long: &["address", "namespace", "mount", "bind", "directory", "image", "bind-ro", "runtime-endpoint"],
            ..Grammar::PLAIN
        },
        custom: Some(low_level),
        effects: &[On(
            Has(&["--privileged", "--pid=host", "--pid-host"]),
            Is(Escape, "This container would get rights over the machine."),
        )],
        spares: &["--help"],
        examples: examples![
            asks("ctr run --privileged docker.io/library/alpine:latest x", "container-escape"),
            asks("ctr -n k8s.io run --mount type=bind,src=/,dst=/h,options=rbind alpine x sh", "container-escape"),
            asks("systemd-nspawn -D / sh", "container-escape"),
            asks("systemd-nspawn -D rootfs --bind=/ sh", "container-escape"),
            asks("apptainer exec --bind /:/h x.sif sh", "container-escape"),
            asks("singularity exec -B /:/h x.sif sh", "container-escape"),
            allows("ctr images ls"),
            allows("crictl ps"),
            allows("apptainer exec x.sif python3 x.py"),
            allows("systemd-nspawn -D rootfs ls"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["docker-machine", "multipass", "limactl", "colima", "orb", "orbctl"],
        effects: &[On(
            Any(&[
                All(&[Called(&["docker-machine", "multipass"]), Says(&["rm|delete|purge"])]),
                All(&[Called(&["limactl", "colima", "orb", "orbctl"]), Says(&["delete|rm|factory-reset|reset"])]),
            ]),
            Is(DropRemote, "This would delete the virtual machine{names} with everything in it."),
        )],
        spares: DRY,
        prints: Prints::Settings,
        examples: examples![
            asks("docker-machine rm -y default", "remote-data"),
            asks("multipass delete --purge web", "remote-data"),
            asks("colima delete -f", "remote-data"),
            asks("limactl delete default", "remote-data"),
            allows("multipass list"),
            allows("colima start"),
            allows("eval \"$(docker-machine env default)\""),
        ],
        ..PROGRAM
    },
    Program {
        names: &["virsh", "VBoxManage", "vboxmanage", "vmadm", "qm", "pct", "vmrun", "govc", "xe"],
        grammar: Grammar { short: "c", long: &["connect", "u"], ..Grammar::PLAIN },
        effects: &[On(
            Any(&[
                Says(&[
                    "destroy|undefine|vol-delete|vol-wipe|pool-delete|pool-destroy|snapshot-delete|snapshot-revert|net-destroy",
                    "delete|purge|unregistervm|deleteVM",
                    "rollback",
                    "vm.destroy",
                    "datastore.rm",
                    "snapshot.remove",
                    "vm-destroy|vm-uninstall|vdi-destroy|sr-destroy",
                    "snapshot * delete",
                    "closemedium *",
                ]),
                Has(&["unregistervm", "deleteVM", "undefine"]),
            ]),
            Is(DropRemote, "This would delete or stop the virtual machine{names}."),
        )],
        spares: DRY,
        examples: examples![
            asks("virsh undefine web", "remote-data"),
            asks("virsh -c qemu:///system destroy web", "remote-data"),
            asks("VBoxManage unregistervm web --delete", "remote-data"),
            asks("qm destroy 100 --purge", "remote-data"),
            asks("govc vm.destroy web", "remote-data"),
            allows("virsh list --all"),
            allows("virsh shutdown web"),
            allows("qm list"),
        ],
        ..PROGRAM
    },
];

/// The options of `run`, `create` and `exec` that take a value.
const RUN: Grammar = Grammar {
    short: "acehlmpuvw",
    long: &[
        "add-host", "annotation", "arch", "attach", "authfile", "blkio-weight", "blkio-weight-device", "cap-add",
        "cap-drop", "cgroup-conf", "cgroup-parent", "cgroupns", "cidfile", "conmon-pidfile", "cpu-count",
        "cpu-percent", "cpu-period", "cpu-quota", "cpu-rt-period", "cpu-rt-runtime", "cpu-shares", "cpus",
        "cpuset-cpus", "cpuset-mems", "creds", "detach-keys", "device", "device-cgroup-rule", "device-read-bps",
        "device-read-iops", "device-write-bps", "device-write-iops", "dns", "dns-option", "dns-search", "domainname",
        "entrypoint", "env", "env-file", "env-from-file", "expose", "gidmap", "gpus", "group-add", "health-cmd",
        "health-interval", "health-retries", "health-start-period", "health-timeout", "hooks-dir", "hostname",
        "hostuser", "image-volume", "index", "init-path", "ip", "ip6", "ipc", "isolation", "kernel-memory", "label",
        "label-file", "link", "link-local-ip", "log-driver", "log-opt", "mac-address", "memory", "memory-reservation",
        "memory-swap", "memory-swappiness", "mount", "name", "net", "net-alias", "network", "network-alias",
        "oom-score-adj", "os", "passwd-entry", "personality", "pid", "pidfile", "pids-limit", "platform", "pod",
        "preserve-fds", "publish", "pull", "requires", "restart", "runtime", "sdnotify", "secret", "security-opt",
        "shm-size", "shm-size-systemd", "stop-signal", "stop-timeout", "storage-opt", "subgidname", "subuidname",
        "sysctl", "systemd", "timeout", "tmpfs", "tz", "uidmap", "ulimit", "umask", "unsetenv", "user", "userns",
        "uts", "variant", "volume", "volume-driver", "volumes-from", "workdir",
    ],
    flags: &[
        "rm", "interactive", "tty", "detach", "privileged", "init", "read-only", "publish-all", "quiet",
        "no-healthcheck", "no-deps", "service-ports", "rootfs", "replace", "use-aliases", "build", "remove-orphans",
    ],
    stops: true,
    ..Grammar::PLAIN
};

/// A call, taken apart: what stands before the verb, the verb, and what stands behind it.
struct Verb {
    before: Options,
    name: String,
    rest: Vec<Arg>,
    is_compose: bool,
}

fn verb_of(call: &Call) -> Option<Verb> {
    const GROUPS: [&str; 6] = ["container", "image", "buildx", "builder", "manifest", "bake"];
    let stopping = Grammar { stops: true, ..GLOBAL };
    let mut before = Options::read(&call.args, &stopping);
    let mut is_compose = call.name.ends_with("-compose");
    let mut words = std::mem::take(&mut before.operands);
    while words.first().is_some_and(|word| word.text.is("compose") || GROUPS.iter().any(|group| word.text.is(group))) {
        is_compose |= words[0].text.is("compose");
        words = Options::read(&words[1..], &stopping).operands;
    }
    let (verb, rest) = words.split_first()?;
    Some(Verb { before, name: verb.text.display(), rest: rest.to_vec(), is_compose })
}

/// What a container gets, what runs in it, and what it publishes.
fn container(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let Verb { before, name: verb, rest, is_compose } = verb_of(call)?;
    match verb.as_str() {
        "run" | "create" | "exec" | "from" if call.name != "buildah" || verb == "run" || verb == "from" => {
            started(machine, call, &verb, &rest, world);
        }
        "up" if is_compose => composed(machine, call, world),
        "volume" if rest.first().is_some_and(|word| word.text.is("create")) => {
            for arg in &rest {
                let device = arg.text.display().split_once("device=").map(|(_, device)| device.to_owned());
                if device.is_some_and(|device| gets_machine(machine, &Text::known(device), world, Mount::WRITABLE)) {
                    machine.state(Escape, "This volume would be a directory of the machine.", arg.span, None);
                }
            }
        }
        "cp" if !is_compose => copied(machine, &rest, world),
        "push" => pushed(machine, call, &rest),
        "build" | "bake" | "bud" => built(machine, call, &rest),
        "rm" | "kill" | "stop" | "down" | "prune" | "rmi" | "system" | "restart" => {
            on_another_machine(machine, call, &before, world);
        }
        _ => {}
    }
    None
}

/// `run`, `create` and `exec`.
fn started(machine: &mut Machine<'_>, call: &Call, verb: &str, rest: &[Arg], world: &World) {
    let options = Options::read(rest, &RUN);
    let mounts = mounts_of(machine, &options, world);
    let whole = mounts.iter().find(|mount| mount.is_machine);
    if let Some(mount) = whole {
        let reason = format!("This container would get {} of the machine.", mount.source.display());
        machine.state(Escape, reason, call.span, Some(mount.source.display()));
    }
    if let Some(right) = right_over_machine(&options, machine) {
        let reason = format!("This container would get rights over the machine ({right}).");
        machine.state(Escape, reason, call.span, None);
    }

    let inner: Vec<Arg> = options.operands.iter().skip(1).filter(|arg| !arg.text.is("--")).cloned().collect();
    if whole.is_some() || verb == "exec" {
        run_confined(machine, call, &inner, world);
    } else if !mounts.is_empty() {
        mounts::run_mapped(machine, call, &inner, &mounts, world);
    } else if !inner.is_empty() {
        run_for_others(machine, call, &inner, world);
    }
    if options.has(&["t", "tty"]) && options.has(&["i", "interactive"]) {
        let hint = "a container with -it waits for somebody to type; leave -it out";
        machine.waits_for_a_person("docker", hint, call.span);
    }
}

/// The option that gives a container rights over the machine.
fn right_over_machine(options: &Options, machine: &Machine<'_>) -> Option<String> {
    const RIGHTS: [&str; 11] = [
        "ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "SYS_BOOT", "DAC_READ_SEARCH", "MAC_ADMIN",
        "MAC_OVERRIDE", "BPF", "SYSLOG",
    ];
    const OPEN: [&str; 8] = [
        "seccomp=unconfined", "seccomp:unconfined", "apparmor=unconfined", "apparmor:unconfined", "label=disable",
        "label:disable", "systempaths=unconfined", "unmask=ALL",
    ];
    if options.has(&["privileged"]) && options.value(&["privileged"]).is_none_or(|value| !value.text.is("false")) {
        return Some("--privileged".to_owned());
    }
    for name in ["pid", "ipc", "uts", "userns", "cgroupns"] {
        if options.values(&[name]).any(|value| value.text.is("host")) {
            return Some(format!("--{name}=host"));
        }
    }
    let added = options.values(&["cap-add"]).flat_map(|value| {
        let upper = value.text.display().to_ascii_uppercase();
        upper.split(',').map(|right| right.trim_start_matches("CAP_").to_owned()).collect::<Vec<_>>()
    });
    if let Some(right) = added.into_iter().find(|right| RIGHTS.contains(&right.as_str())) {
        return Some(format!("--cap-add {right}"));
    }
    if let Some(open) = options.values(&["security-opt"]).find(|value| OPEN.iter().any(|open| value.text.is(open))) {
        return Some(format!("--security-opt {}", open.text.display()));
    }
    if options.has(&["rootfs"]) && options.operands.first().is_some_and(|root| root.text.is("/")) {
        return Some("--rootfs /".to_owned());
    }
    let disk = options.values(&["device"]).find(|value| mounts::is_risky_device(machine, &value.text));
    let all = options.values(&["device-cgroup-rule"]).next();
    disk.or(all).map(|device| format!("--device {}", device.text.display()))
}

/// A command in a container without mounts: only what it does to others counts.
fn run_for_others(machine: &mut Machine<'_>, call: &Call, words: &[Arg], world: &World) {
    const REACHES: [&str; 3] = ["remote-data", "publish", "accounts"];
    let before = machine.findings.len();
    run_confined(machine, call, words, world);
    let found = machine.findings.split_off(before);
    machine.findings.extend(found.into_iter().filter(|finding| REACHES.contains(&finding.rule.as_str())));
}

/// `docker compose up`: the description that this command wrote, or hands in.
fn composed(machine: &mut Machine<'_>, call: &Call, world: &World) {
    const NAMES: [&str; 8] = [
        "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml", "docker-compose.override.yml",
        "compose.override.yaml", "compose.override.yml", "docker-compose.override.yaml",
    ];
    let options = Options::read(&call.args, &GLOBAL);
    let mut texts: Vec<String> = call.input.text.iter().cloned().collect();
    let named: Vec<Text> = options.values(&["f", "file"]).map(|file| file.text.clone()).collect();
    let defaults = NAMES.iter().map(|name| Text::known(*name));
    let files: Vec<Text> = if named.is_empty() { defaults.collect() } else { named };
    for file in &files {
        texts.extend(machine.read(file, world).text);
    }
    for text in texts {
        if describes_escape(&text) {
            machine.state(Escape, "A container of this description would get the whole machine.", call.span, None);
        }
    }
}

/// Whether a description of containers gives one of them the machine.
pub(super) fn describes_escape(text: &str) -> bool {
    const MARKS: [&str; 15] = [
        "privileged:true", "hostPID:true", "hostIPC:true", "pid:host", "ipc:host", "userns_mode:host", "-SYS_ADMIN",
        "-ALL", "[ALL]", "[SYS_ADMIN]", "docker.sock", "containerd.sock", "-/:/", "[/:/", "source:/target",
    ];
    let packed: String = text.chars().filter(|c| !c.is_whitespace() && *c != '"' && *c != '\'' && *c != '\\').collect();
    let host_path = packed.split("hostPath:").skip(1).any(|rest| {
        let path = rest.trim_start_matches('{').trim_start_matches("path:");
        let path: &str = path.split(['}', ',']).next().unwrap_or_default();
        ["/etc", "/root", "/home", "/var/run", "/run", "/proc", "/dev"].iter().any(|place| path.starts_with(place))
            || path == "/"
            || path.starts_with("/type:")
            || path.starts_with("/-")
            || path.starts_with("/name:")
    });
    // Capabilities that are dropped do no harm.
    let packed = packed.replace("drop:[ALL]", "").replace("drop:-ALL", "");
    host_path || MARKS.iter().any(|mark| packed.contains(mark))
}

/// `docker cp from to`: a file of the machine may be overwritten.
fn copied(machine: &mut Machine<'_>, rest: &[Arg], world: &World) {
    let operands = Options::read(rest, &Grammar::PLAIN).operands;
    if let [from, to] = operands.as_slice()
        && from.text.display().contains(':')
        && !to.text.display().contains(':')
    {
        machine.writes("This would write to", &to.text, Writing::Replaces, world, to.span);
    }
}

/// `docker push image`: published, unless the registry is on this machine.
fn pushed(machine: &mut Machine<'_>, call: &Call, rest: &[Arg]) {
    let is_dry = |arg: &Arg| ["--help", "--dry-run", "-h"].iter().any(|word| arg.text.is(word));
    if rest.iter().any(is_dry) {
        return;
    }
    let images = Options::read(rest, &Grammar { long: &["creds", "authfile", "format"], ..Grammar::PLAIN }).operands;
    let image = images.last().map(|image| image.text.display()).unwrap_or_default();
    let registry = image.trim_start_matches("docker://").split('/').next().unwrap_or_default();
    if !is_local(registry) {
        let reason = format!("This would publish the image `{image}` to its registry.");
        machine.state(Kind::Publish, reason, call.span, Some(image));
    }
}

/// `docker build`: it may publish what it builds, or build with rights over the machine.
fn built(machine: &mut Machine<'_>, call: &Call, rest: &[Arg]) {
    let words: Vec<String> = rest.iter().map(|arg| arg.text.display()).collect();
    let publishes = |word: &String| word == "--push" || word.contains("push=true") || word.contains("type=registry");
    let tags = words.iter().zip(words.iter().skip(1)).filter(|(option, _)| matches!(option.as_str(), "-t" | "--tag"));
    let mut registries = tags.map(|(_, tag)| tag.split('/').next().unwrap_or_default());
    if words.iter().any(publishes) && !registries.clone().any(is_local) | registries.any(|registry| !is_local(registry))
    {
        machine.state(Kind::Publish, "This would publish the image that it builds.", call.span, None);
    }
    if words.iter().any(|word| word.contains("security.insecure") || word == "--privileged") {
        machine.state(Escape, "This would build with rights over the machine.", call.span, None);
    }
}

/// Containers of another machine are not this command's own.
fn on_another_machine(machine: &mut Machine<'_>, call: &Call, before: &Options, world: &World) {
    use crate::machine::state::Value;
    let named = before.value(&["H", "host", "url"]).map(|host| host.text.display()).or_else(|| {
        let set = |name: &str| match world.get(name, machine.context) {
            Value::Scalar(text) => text.as_known().filter(|host| !host.is_empty()),
            _ => None,
        };
        set("DOCKER_HOST").or_else(|| set("CONTAINER_HOST"))
    });
    let Some(host) = named.filter(|host| !host.starts_with("unix:") && !host.starts_with("npipe:")) else { return };
    let name = host.split("://").last().unwrap_or_default().split('/').next().unwrap_or_default().to_owned();
    if !is_local(&name) {
        let reason = format!("This would stop or delete containers on `{name}`.");
        machine.state(DropRemote, reason, call.span, Some(name));
    }
}

/// `lxc config device add c x disk source=/`, and commands in a container.
fn system_container(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let words: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
    let source = words.iter().find_map(|word| word.strip_prefix("source="));
    let is_host = source.is_some_and(|source| gets_machine(machine, &Text::known(source), world, Mount::WRITABLE));
    let privileged = words.iter().any(|word| word.contains("security.privileged=true"))
        || words.windows(2).any(|pair| pair[0] == "security.privileged" && pair[1] == "true");
    if is_host || privileged || words.iter().any(|word| word.starts_with("raw.lxc")) {
        machine.state(Escape, "This container would get the whole machine, or rights over it.", call.span, None);
    }
    if words.first().is_some_and(|verb| verb == "exec")
        && let Some(at) = call.args.iter().position(|arg| arg.text.is("--"))
    {
        run_confined(machine, call, &call.args[at + 1..], world);
    }
    None
}

/// Tools below container engines: binds of the machine, in options of several names.
fn low_level(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const GRAMMAR: Grammar = Grammar {
        short: "anBDM",
        long: &["address", "namespace", "mount", "bind", "directory", "bind-ro", "overlay"],
        ..Grammar::PLAIN
    };
    let options = Options::read(&call.args, &GRAMMAR);
    for mount in options.values(&["mount", "bind", "B", "bind-ro", "D", "directory", "overlay"]) {
        let parsed = Mount::parse(&mount.text.display());
        if gets_machine(machine, &parsed.source, world, Mount::WRITABLE) {
            let reason = format!("This container would get {} of the machine.", parsed.source.display());
            machine.state(Escape, reason, mount.span, Some(parsed.source.display()));
        }
    }
    if call.name == "systemd-nspawn" {
        return super::wrappers::somewhere(machine, call, world);
    }
    None
}

/// A command that runs inside a container: it cannot hurt more than that, so it is asked about at most.
pub(super) fn run_confined(machine: &mut Machine<'_>, call: &Call, words: &[Arg], world: &World) {
    let mut inside = world.clone();
    inside.enter(Some("/\u{1}".to_owned()));
    let instead = "It is inside a container: throw that away and start a fresh one, or name single things.";
    machine.instead(instead, |machine| machine.asking_at_most(|machine| drop(machine.run_words(call, words, inside))));
}
