//! Containers: what gets the machine, and what goes with its data.

use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Any, Called, Has, Not};
use super::row::{On, PROGRAM, Prints, Program, allows, asks};
use crate::effect::Kind::{self, DropRemote};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::{Arg, Labels};

pub(super) const ROWS: &[Program] = &[Program {
    names: &["docker", "podman", "nerdctl", "docker-compose", "lxc", "incus"],
    grammar: RUN,
    custom: Some(container),
    effects: &[
        On(
            All(&[
                Any(&[
                    All(&[Has(&["volume"]), Has(&["prune", "rm", "remove"])]),
                    All(&[Has(&["prune"]), Has(&["--volumes"])]),
                    All(&[Has(&["down"]), Has(&["-v", "--volumes"])]),
                ]),
                Not(&All(&[Has(&["down"]), Has(&["compose"])])),
                Not(&Called(&["docker-compose"])),
            ]),
            Is(DropRemote, "This deletes volumes, and the data in them."),
        ),
        On(
            All(&[Called(&["lxc", "incus"]), Has(&["delete"])]),
            Is(DropRemote, "This deletes a container with its data."),
        ),
    ],
    prints: Prints::Labelled(Labels::PLAIN.with(Labels::UNKNOWN)),
    prompts: &[(
        All(&[Called(&["docker"]), Has(&["login"]), Not(&Has(&["--password-stdin"]))]),
        "it asks for a password; use --password-stdin",
    )],
    examples: &[
        asks("docker run --privileged alpine", "container-escape"),
        asks("docker run -v /:/host alpine true", "container-escape"),
        asks("docker volume prune -f", "remote-data"),
        asks("docker system prune --volumes", "remote-data"),
        asks("lxc delete web", "remote-data"),
        allows("docker run --rm alpine echo hello"),
        allows("docker compose down -v"),
        allows("docker ps -a"),
    ],
    ..PROGRAM
}];

/// The options of `docker run`, `exec` and `create`.
const RUN: Grammar = Grammar {
    short: "vepwuhlmcnatPs",
    long: &[
        "volume", "env", "publish", "workdir", "user", "hostname", "label", "memory", "cpus", "name", "network", "net",
        "mount", "entrypoint", "env-file", "add-host", "cap-add", "cap-drop", "device", "gpus", "ipc", "pid",
        "platform", "pull", "restart", "security-opt", "shm-size", "tmpfs", "ulimit", "userns", "volumes-from", "dns",
        "expose", "ip", "link", "log-driver", "log-opt", "cidfile", "uts", "cgroupns", "runtime", "stop-signal",
        "stop-timeout", "health-cmd", "label-file", "index", "detach-keys",
    ],
    flags: &["rm", "interactive", "tty", "detach", "privileged", "init", "read-only", "publish-all"],
    stops: true,
    ..Grammar::PLAIN
};

/// Directories of the machine that a container must not have.
const WHOLE_MACHINE: [&str; 10] = ["/", "/etc", "/root", "/boot", "/dev", "/proc", "/sys", "/usr", "/var", "/home"];

/// `run`, `exec` and `create`: what the container gets, and what runs in it.
fn container(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let words: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
    let at = words.iter().position(|word| ["run", "exec", "create"].contains(&word.as_str()))?;
    let is_before = |word: &String| word.starts_with('-') || ["container", "compose"].contains(&word.as_str());
    if !words[..at].iter().all(is_before) {
        return None;
    }

    let options = Options::read(&call.args[at + 1..], &RUN);
    let home = machine.places().home.clone();
    let mounted = options.values(&["v", "volume", "mount"]).any(|mount| {
        let source = source_of(&mount.text.display());
        WHOLE_MACHINE.contains(&source.as_str()) || source == home
    });
    let open = options.has(&["privileged"])
        || options
            .values(&["pid", "userns", "ipc", "cap-add"])
            .any(|arg| ["host", "ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE"].iter().any(|value| arg.text.is(value)));
    if mounted || open {
        let reason = "This container would get the whole machine, or rights over it.";
        machine.state(Kind::Escape, reason, call.span, None);
    }

    // With something of the machine inside, the command in it is judged as if it ran here.
    if mounted || words.iter().any(|word| word == "exec") {
        let inner: Vec<Arg> = options.operands.iter().skip(1).filter(|arg| !arg.text.is("--")).cloned().collect();
        run_confined(machine, call, &inner, world);
    }
    if options.has(&["t", "tty"]) && options.has(&["i", "interactive"]) {
        let hint = "a container with -it waits for somebody to type; leave -it out";
        machine.waits_for_a_person("docker", hint, call.span);
    }
    None
}

/// The directory of the machine in `/from:/to` or `source=/from,target=/to`.
fn source_of(mount: &str) -> String {
    let named = mount.split(',').find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
    named.unwrap_or_else(|| mount.split(':').next().unwrap_or_default()).to_owned()
}

/// A command that runs inside a container: it cannot hurt more than that, so it is asked about at most.
pub(super) fn run_confined(machine: &mut Machine<'_>, call: &Call, words: &[Arg], world: &World) {
    let mut inside = world.clone();
    inside.enter(Some("/\u{1}".to_owned()));
    let instead = "It is inside a container: throw that away and start a fresh one, or name single things.";
    machine.instead(instead, |machine| machine.asking_at_most(|machine| drop(machine.run_words(call, words, inside))));
}
