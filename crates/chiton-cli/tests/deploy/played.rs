//! A pod of Kubernetes in real containers, without a cluster: `podman kube play`.
//!
//! Images are made of busybox, and of the program that is carried; they have the names that the files of `deploy` use. The
//! pod goes when this goes away, or when the test dies: what holds it waits for the end of its input.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use chiton_testkit::carried_program;
use chiton_testkit::processes::{eventually, mentioning, program_of};
use chiton_testkit::transports::Podman;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::rules::list;
use super::yaml;

/// Starts the pod, says its id, and in the end removes it with its volumes.
const HOLDER: &str = r#"
if podman kube play --quiet --network none "$1/pod.yaml" >"$1/said"; then
    sed -n 2p "$1/said"
    cat >/dev/null
fi
exec >/dev/null 2>&1
podman pod rm --force --all --time 0
podman volume rm --force --all
"#;

/// What this machine grants is less than podman asks for, and what holds a pod together is a busybox, too.
const SETTINGS: &str = r#"[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
lock_type = "file"
infra_image = "localhost/pause:1"
infra_command = ""
"#;

/// The image that has the program in it, before its version.
const OURS: &str = "ghcr.io/chiton-shell/chiton:";

/// A pod that was started.
pub struct Played {
    holder: Child,
    /// The holder ends the pod when nobody holds this any more.
    life: Option<ChildStdin>,
    name: String,
    id: String,
    /// The last field: it is removed when nobody is left to use it.
    folder: TempDir,
}

impl Played {
    /// Why pods cannot be played here.
    pub fn available() -> Result<(), String> {
        static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
        let trial = || {
            Podman::available()?;
            let container = json!({
                "name": "main", "image": "localhost/trial:1", "command": ["sleep", "600"],
                "resources": {"limits": {"memory": "64Mi"}},
            });
            let spec = json!({"securityContext": {"runAsUser": 1000}, "containers": [container]});
            Self::try_start(&pod("trial", &spec)).map(drop)
        };
        TRIED.get_or_init(trial).clone()
    }

    /// Starts the pod that a file describes, after its containers for the beginning have done their work.
    pub fn start(file: &str) -> Self {
        Self::try_start(file).unwrap_or_else(|reason| panic!("{reason}"))
    }

    fn try_start(file: &str) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("pod-").tempdir().unwrap();
        let described = yaml::read(file);
        write_wrapper(folder.path());
        // Podman would start what is there for the beginning again and again, as it does with the rest.
        fs::write(folder.path().join("pod.yaml"), file.replace("restartPolicy: Always", "restartPolicy: Never"))
            .unwrap();
        make_images(folder.path(), &described["spec"]);

        let mut holder = Command::new("sh");
        holder.args(["-c", HOLDER, "sh"]).arg(folder.path()).env("PATH", path_with(folder.path()));
        holder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        let life = holder.stdin.take();
        let mut id = String::new();
        let _ = BufReader::new(holder.stdout.take().unwrap()).read_line(&mut id);
        let mut said = String::new();
        if id.is_empty() {
            let _ = holder.stderr.take().unwrap().read_to_string(&mut said);
        }
        let name = described["metadata"]["name"].as_str().unwrap().to_owned();
        let played = Self { holder, life, name, id: id.trim().to_owned(), folder };
        if said.is_empty() { Ok(played) } else { Err(format!("podman cannot play a pod here: {}", said.trim_end())) }
    }

    /// What podman calls a container of the pod.
    pub fn container(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    /// A folder with a `podman` that knows this pod.
    pub fn path_folder(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    pub fn podman(&self, arguments: &[&str]) -> Output {
        podman(self.folder.path()).args(arguments).stdin(Stdio::null()).output().unwrap()
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.life = None;
        let _ = self.holder.wait();
        // Each command in a container had a monitor, which calls podman for the last time when its command has ended.
        let text = self.folder.path().display().to_string();
        let is_gone = || mentioning(&text).into_iter().all(|it| !["conmon", "podman"].contains(&&*program_of(it.pid)));
        let gone = eventually(Duration::from_secs(20), is_gone);
        assert!(gone || std::thread::panicking(), "something of podman is left: {:?}", mentioning(&text));
        // Podman leaves the pod's group behind, empty, and the one above it, which stays where other pods are in it.
        for top in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
            let all = top.path().join("libpod_parent");
            let _ = fs::remove_dir(all.join(&self.id));
            let _ = fs::remove_dir(all);
        }
    }
}

/// The description of a pod around what it is made of.
pub fn pod(name: &str, spec: &Value) -> String {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}).to_string()
}

fn path_with(folder: &Path) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", folder.join("bin").display())
}

fn podman(folder: &Path) -> Command {
    Command::new(folder.join("bin/podman"))
}

/// Podman with a store of its own, so that no test meets another.
fn write_wrapper(folder: &Path) {
    fs::create_dir(folder.join("bin")).unwrap();
    fs::write(folder.join("containers.conf"), SETTINGS).unwrap();
    let (here, wrapper) = (folder.display(), folder.join("bin/podman"));
    let script = format!(
        "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin\nexport PATH CONTAINERS_CONF='{here}/containers.conf'\n\
         exec podman --root '{here}/store' --runroot '{here}/run' --tmpdir '{here}/tmp' --storage-driver vfs \
         --runtime runc --cgroup-manager cgroupfs --events-backend none \"$@\"\n"
    );
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes every image that the pod names, and the one that holds it together.
fn make_images(folder: &Path, spec: &Value) {
    let root = folder.join("image");
    make_root(&root);
    import(folder, &root, "localhost/pause:1", "ENTRYPOINT [\"/bin/sleep\", \"86400\"]");
    let containers = list(&spec["initContainers"]).chain(list(&spec["containers"]));
    let images: BTreeSet<&str> = containers.filter_map(|container| container["image"].as_str()).collect();
    let (ours, others): (Vec<&str>, Vec<&str>) = images.into_iter().partition(|image| image.starts_with(OURS));
    let path = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    for image in others {
        import(folder, &root, image, path);
    }
    if !ours.is_empty() {
        fs::create_dir_all(root.join("usr/local/bin")).unwrap();
        fs::copy(carried_program(), root.join("usr/local/bin/chiton")).unwrap();
    }
    for image in ours {
        import(folder, &root, image, path);
    }
}

/// Busybox, under all its names.
fn make_root(root: &Path) {
    for name in ["bin", "dev", "etc", "proc", "run", "sys", "tmp"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    let own = ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).is_file()).unwrap();
    fs::copy(own, root.join("bin/busybox")).unwrap();
    let names = Command::new(own).arg("--list").output().unwrap();
    for name in String::from_utf8_lossy(&names.stdout).lines().filter(|name| *name != "busybox") {
        symlink("busybox", root.join("bin").join(name)).unwrap();
    }
}

fn import(folder: &Path, root: &Path, image: &str, change: &str) {
    let mut tar = Command::new("tar");
    let mut tar = tar.arg("-C").arg(root).args(["-c", "."]).stdout(Stdio::piped()).spawn().unwrap();
    let mut import = podman(folder);
    import.args(["import", "--quiet", "--change", change, "-", image]).stdin(tar.stdout.take().unwrap());
    let imported = import.output().unwrap();
    assert!(tar.wait().unwrap().success() && imported.status.success(), "{image}: {imported:?}");
}
