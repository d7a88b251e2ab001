//! The real `docker` client, with a container of podman: podman's service speaks Docker's API on a socket.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::leash::Leash;
use super::{Podman, PodmanOptions, program, write_program};
use crate::processes::eventually;

/// How long the service may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// A container and a service through which `docker` reaches it. Both go when this goes away.
#[derive(Debug)]
pub struct DockerOnPodman {
    /// Before the container: it uses what the container's end removes.
    _service: Leash,
    podman: Podman,
}

impl DockerOnPodman {
    /// Why there can be none here.
    pub fn available() -> Result<(), String> {
        program("docker", "docker.io")?;
        Podman::available()
    }

    /// Starts both.
    ///
    /// # Panics
    /// When one of them does not start.
    pub fn start(options: &PodmanOptions) -> Self {
        let podman = Podman::start(options);
        let folder = podman.folder();
        let socket = folder.join("docker.sock");
        let words = [
            podman.path_folder().join("podman").display().to_string(),
            "system".to_owned(),
            "service".to_owned(),
            // It ends when it is told to, not when nobody has asked it anything for a while.
            "--time=0".to_owned(),
            format!("unix://{}", socket.display()),
        ];
        let log = folder.join("service.log");
        let service = Leash::start(&words, &[], &log);
        let listens = || UnixStream::connect(&socket).is_ok();
        let said = || fs::read_to_string(&log).unwrap_or_default();
        assert!(eventually(PATIENCE, listens), "podman's service does not listen: {}", said());
        write_wrapper(folder, &socket);
        Self { _service: service, podman }
    }

    /// The client with its arguments. What follows is the command in the container.
    pub fn client(&self) -> Vec<String> {
        let wrapper = self.path_folder().join("docker").display().to_string();
        [wrapper.as_str(), "exec", "-i", self.podman.name()].map(str::to_owned).to_vec()
    }

    /// A folder with a program `docker` that knows this container. For a test that puts the folder first on PATH.
    pub fn path_folder(&self) -> PathBuf {
        self.podman.folder().join("docker-bin")
    }

    /// Where the service listens, for `DOCKER_HOST`.
    pub fn host(&self) -> String {
        format!("unix://{}", self.podman.folder().join("docker.sock").display())
    }

    /// The container.
    pub fn container(&self) -> &Podman {
        &self.podman
    }

    /// The same, to switch it off.
    pub fn container_mut(&mut self) -> &mut Podman {
        &mut self.podman
    }
}

/// Docker with what users would have in their environment, and with settings that are not the user's.
fn write_wrapper(folder: &Path, socket: &Path) {
    let docker = program("docker", "docker.io").unwrap_or_else(|missing| panic!("{missing}"));
    let (docker, here, socket) = (docker.display(), folder.display(), socket.display());
    let script = format!("export DOCKER_HOST='unix://{socket}' DOCKER_CONFIG='{here}/docker'\nexec '{docker}' \"$@\"");
    write_program(&folder.join("docker-bin"), "docker", &script);
}
