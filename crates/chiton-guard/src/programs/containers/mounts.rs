//! What a container has of the machine, and what a command in it does there.

use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::programs::options::Options;
use crate::value::path;
use crate::value::{Arg, Piece, Text};

/// A directory or file of the machine in a container.
#[derive(Clone, Debug, Default)]
pub(in crate::programs) struct Mount {
    /// Where it is on the machine, as it is written.
    pub(super) source: Text,
    /// Where it is in the container.
    target: String,
    /// Whether the container may only read it.
    read_only: bool,
    /// Whether having it is as good as having the machine.
    pub(super) is_machine: bool,
}

impl Mount {
    /// For what may be written to.
    pub(in crate::programs) const WRITABLE: bool = false;

    /// `/from:/to:ro`, or `type=bind,source=/from,target=/to,readonly`.
    pub(super) fn parse(text: &str) -> Self {
        let clean = text.replace('"', "");
        let is_list = clean.contains("src=") || clean.contains("source=") || clean.contains("device=");
        if !is_list {
            let mut parts = clean.split(':');
            let source = Text::known(parts.next().unwrap_or_default());
            let target = parts.next().unwrap_or_default().to_owned();
            let read_only = parts.any(|options| options.split(',').any(|option| option == "ro"));
            return Self { source, target, read_only, is_machine: false };
        }

        let value = |names: &[&str]| {
            let found = clean.split(',').find_map(|part| {
                let (name, value) = part.rsplit_once('=')?;
                names.iter().any(|own| name == *own || name.ends_with(&format!("={own}"))).then_some(value)
            });
            found.unwrap_or_default().to_owned()
        };
        let is_set = |part: &str| matches!(part, "ro" | "readonly" | "ro=true" | "readonly=true");
        Self {
            source: Text::known(value(&["source", "src", "device"])),
            target: value(&["target", "dst", "destination"]),
            read_only: clean.split(',').any(is_set),
            is_machine: false,
        }
    }
}

/// The mounts that options of `run` name, without named volumes.
pub(super) fn mounts_of(machine: &Machine<'_>, options: &Options, world: &World) -> Vec<Mount> {
    let mut all = Vec::new();
    for value in options.values(&["v", "volume", "mount"]) {
        let mut mount = Mount::parse(&value.text.display());
        // Where the text does not decide the source, nothing is known of it.
        if value.text.as_literal().is_none() && value.text.known_start().is_empty() {
            continue;
        }
        let start = mount.source.known_start();
        if !start.starts_with(['/', '.', '~']) {
            continue;
        }
        mount.is_machine = gets_machine(machine, &mount.source, world, mount.read_only);
        all.push(mount);
    }
    all
}

/// Directories that give a container the machine, each with everything above it.
const WHOLE: [&str; 24] = [
    "/etc", "/root", "/boot", "/dev", "/proc", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin",
    "/bin", "/sbin", "/lib", "/lib64", "/var", "/var/lib", "/var/run", "/run", "/home", "/var/lib/docker",
    "/var/lib/containerd", "/var/lib/kubelet", "/var/spool/cron",
];
/// Files and directories with everything in them.
const WITH_ALL_BELOW: [&str; 18] = [
    "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/pam.d", "/etc/cron.d",
    "/etc/crontab", "/etc/systemd", "/etc/kubernetes", "/etc/ld.so.preload", "/root", "/boot", "/run/containerd",
    "/run/crio", "/run/systemd", "/run/dbus", "/var/lib/docker",
];
/// Folders of a home directory that hold credentials.
const CREDENTIALS: [&str; 8] =
    [".ssh", ".gnupg", ".aws", ".kube", ".docker", ".password-store", ".config/gcloud", ".azure"];

/// Whether having `source` is as good as having the machine.
pub(in crate::programs) fn gets_machine(machine: &Machine<'_>, source: &Text, world: &World, read_only: bool) -> bool {
    let Some(path) = absolute(machine, source, world) else { return false };
    let places = machine.places();
    let name = path.rsplit('/').next().unwrap_or_default();
    if matches!(name, "docker.sock" | "containerd.sock" | "podman.sock" | "crio.sock" | "dockershim.sock") {
        return true;
    }
    let plain = path.strip_prefix("/var/run").map_or_else(|| path.clone(), |rest| format!("/run{rest}"));
    if read_only && (plain.starts_with("/sys/fs/cgroup") || plain.starts_with("/lib/modules") || plain == "/run/udev") {
        return false;
    }
    if WITH_ALL_BELOW.iter().any(|place| path::is_within(&plain, place)) {
        return true;
    }
    if path == "/" || WHOLE.contains(&path.as_str()) || WHOLE.contains(&plain.as_str()) {
        return true;
    }
    if path::is_within(&path, "/proc") || path::is_within(&path, "/sys") && !read_only {
        return true;
    }
    if path::is_within(&path, "/dev") {
        return path.strip_prefix("/dev/").is_some_and(crate::protected::is_disk);
    }
    let is_home = path == places.home || crate::protected::is_home(&path);
    let inside = crate::protected::inside_home(&path, &places.home);
    let is_around_home = is_home || path::is_within(&places.home, &path);
    is_around_home && path != places.workspace
        || inside.is_some_and(|inside| CREDENTIALS.iter().any(|folder| path::is_within(inside, folder)))
            && !matches!(name, "known_hosts" | "config")
            && !name.ends_with("_rsa.pub")
}

/// Whether a device is a disk or memory.
pub(super) fn is_risky_device(_: &Machine<'_>, text: &Text) -> bool {
    let shown = text.display();
    let device = shown.split(':').next().unwrap_or_default();
    device == "/dev"
        || device.strip_prefix("/dev/").is_some_and(|name| crate::protected::is_disk(name) && name != "loop")
}

fn absolute(machine: &Machine<'_>, source: &Text, world: &World) -> Option<String> {
    let known = source.as_literal()?;
    let home = machine.places().home.clone();
    let full = match known.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => known,
    };
    path::absolute(&full, world.cwd.as_deref())
}

/// Runs a command of a container whose mounts are directories of the project or like them. Paths below a mount are
/// those of the machine; nothing else that it does there matters here.
pub(super) fn run_mapped(machine: &mut Machine<'_>, call: &Call, words: &[Arg], mounts: &[Mount], world: &World) {
    const REACHES: [&str; 3] = ["remote-data", "publish", "accounts"];
    let writable = mounts.iter().filter(|mount| !mount.read_only && mount.target.len() > 1);
    let mut pairs: Vec<(String, String)> =
        writable.filter_map(|mount| Some((mount.target.clone(), absolute(machine, &mount.source, world)?))).collect();
    pairs.sort_by_key(|(target, _)| std::cmp::Reverse(target.len()));
    let mapped: Vec<Arg> = words.iter().map(|word| Arg::new(map(&word.text, &pairs), word.span)).collect();

    let before = machine.findings.len();
    super::run_confined(machine, call, &mapped, world);
    let found = machine.findings.split_off(before);
    let is_here = |target: &str| pairs.iter().any(|(_, source)| target.starts_with(source.as_str()));
    machine.findings.extend(
        found.into_iter().filter(|finding| {
            REACHES.contains(&finding.rule.as_str()) || finding.target.as_deref().is_some_and(is_here)
        }),
    );
}

/// A text with the paths of a container replaced by those of the machine.
fn map(text: &Text, pairs: &[(String, String)]) -> Text {
    let mut mapped = Text::default();
    for piece in &text.0 {
        mapped.push(match piece {
            Piece::Known(known) => Piece::Known(map_known(known, pairs)),
            other => other.clone(),
        });
    }
    mapped
}

fn map_known(known: &str, pairs: &[(String, String)]) -> String {
    let mut result = String::new();
    let mut rest = known;
    let mut is_start = true;
    while let Some(first) = rest.chars().next() {
        let hit = pairs.iter().find(|(target, _)| {
            let ends = |behind: &str| {
                behind.is_empty() || behind.starts_with(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            };
            is_start && rest.strip_prefix(target.as_str()).is_some_and(ends)
        });
        if let Some((target, source)) = hit {
            result.push_str(source);
            rest = &rest[target.len()..];
            is_start = false;
        } else {
            result.push(first);
            is_start = !(first.is_alphanumeric() || matches!(first, '/' | '.' | '_' | '-'));
            rest = &rest[first.len_utf8()..];
        }
    }
    result
}
