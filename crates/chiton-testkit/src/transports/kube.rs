//! Enough of a Kubernetes API server for the real `kubectl`: it lists pods and runs commands in them.
//!
//! A container of a pod is a [`Machine`]: its own processes, home, host name and variables, the files of this machine. A
//! [`Proxy`] stands between `kubectl` and the server, so that connections can be lost on purpose. As in a real cluster, a
//! command goes on when its connection is lost: its input ends, and nobody reads its output.

mod exec;
mod http;
mod resources;
mod websocket;

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::Value;
use tempfile::TempDir;

use super::{Machine, MachineOptions, Proxy, program, write_program};
pub use exec::ExecRequest;

/// The first version of `kubectl` that runs commands over WebSocket, which alone can say that their input has ended.
const OLDEST_MINOR: u32 = 30;

/// A pod.
#[derive(Clone, Debug)]
pub struct PodOptions {
    /// The namespace it is in.
    pub namespace: String,
    /// Its name, which is also the host name of its containers.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The names of its containers; `kubectl` takes the first one unless told otherwise.
    pub containers: Vec<String>,
    /// `Running`, or why nothing can be run in it, for instance `Pending`.
    pub phase: String,
    /// What its containers are like: files in the home, variables.
    pub machine: MachineOptions,
}

impl PodOptions {
    /// A running pod of this name in the namespace `default`, with one container, `main`, and no labels.
    pub fn new(name: &str) -> Self {
        let machine = MachineOptions { host_name: name.to_owned(), ..MachineOptions::default() };
        Self {
            namespace: "default".to_owned(),
            name: name.to_owned(),
            labels: BTreeMap::new(),
            containers: vec!["main".to_owned()],
            phase: "Running".to_owned(),
            machine,
        }
    }

    /// The same with one more label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// The same in another namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }
}

/// A server with pods. All of it ends when this goes away, commands in pods included.
#[derive(Debug)]
pub struct KubeApi {
    proxy: Option<Proxy>,
    listener: Option<JoinHandle<()>>,
    port: u16,
    cluster: Arc<Cluster>,
    folder: TempDir,
}

/// What the threads of the server share.
#[derive(Debug)]
struct Cluster {
    pods: Vec<Pod>,
    requests: Mutex<Vec<ExecRequest>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    is_closing: AtomicBool,
}

#[derive(Debug)]
struct Pod {
    options: PodOptions,
    containers: Vec<Mutex<Machine>>,
}

impl KubeApi {
    /// Why there can be none here.
    pub fn available() -> Result<(), String> {
        let kubectl = program("kubectl", "").map_err(|_| "kubectl is not installed; Kubernetes publishes it")?;
        let minor = minor_version(&kubectl).ok_or("kubectl does not say which version it is")?;
        if minor < OLDEST_MINOR {
            return Err(format!("kubectl 1.{minor} is too old: commands over WebSocket need 1.{OLDEST_MINOR}"));
        }
        Machine::available()
    }

    /// Starts a server with these pods.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(pods: &[PodOptions]) -> Self {
        let start = |options: &PodOptions| {
            let machine = |_: &String| Mutex::new(Machine::start(&options.machine));
            Pod { options: options.clone(), containers: options.containers.iter().map(machine).collect() }
        };
        let cluster = Cluster {
            pods: pods.iter().map(start).collect(),
            requests: Mutex::default(),
            threads: Mutex::default(),
            is_closing: AtomicBool::new(false),
        };
        let cluster = Arc::new(cluster);
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = socket.local_addr().expect("it is bound").port();
        let shared = Arc::clone(&cluster);
        let listener = thread::spawn(move || shared.listen(&socket));

        let folder = tempfile::Builder::new().prefix("far-").tempdir().expect("a temporary folder can be made");
        let proxy = Proxy::start(port);
        write_client_settings(folder.path(), proxy.port());
        Self { proxy: Some(proxy), listener: Some(listener), port, cluster, folder }
    }

    /// The client with its arguments, up to `--`. What follows is the command in the pod.
    pub fn client(&self, namespace: &str, pod: &str, container: Option<&str>) -> Vec<String> {
        let wrapper = self.path_folder().join("kubectl").display().to_string();
        let container = container.map(|name| ["-c", name]).into_iter().flatten();
        let words = [wrapper.as_str(), "exec", "-i", "-n", namespace, pod].into_iter().chain(container).chain(["--"]);
        words.map(str::to_owned).collect()
    }

    /// A folder with a program `kubectl` that knows this server. For a test that puts the folder first on PATH.
    pub fn path_folder(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    /// The settings of the client, for `KUBECONFIG`. What the client keeps goes to [`Self::cache_folder`] only with
    /// `KUBECACHEDIR`, otherwise below the home.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("config")
    }

    /// Where the client may keep what it has found out, for `KUBECACHEDIR`.
    pub fn cache_folder(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// A folder that goes with the server.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The network between the client and the server, which can lose connections, stall and refuse.
    ///
    /// # Panics
    /// Never: it is there until the server goes.
    pub fn network(&mut self) -> &mut Proxy {
        self.proxy.as_mut().expect("it is taken when the server goes")
    }

    /// Every command that was asked for so far.
    pub fn requests(&self) -> Vec<ExecRequest> {
        locked(&self.cluster.requests).clone()
    }

    /// Does something with the machine that a container is, for instance looks at its processes or switches it off.
    ///
    /// # Panics
    /// When there is no such container.
    pub fn container<T>(&self, namespace: &str, pod: &str, container: &str, look: impl FnOnce(&mut Machine) -> T) -> T {
        let machine = self.cluster.find(namespace, pod).and_then(|pod| pod.container(container).ok());
        let machine = machine.unwrap_or_else(|| panic!("there is no container {namespace}/{pod}/{container}"));
        look(&mut locked(machine))
    }
}

impl Drop for KubeApi {
    fn drop(&mut self) {
        // First the clients, then what they have started: nothing is left to serve then, and every thread ends.
        self.proxy = None;
        self.cluster.is_closing.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        for machine in self.cluster.pods.iter().flat_map(|pod| &pod.containers) {
            locked(machine).switch_off();
        }
        let threads = std::mem::take(&mut *locked(&self.cluster.threads));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Cluster {
    fn listen(self: Arc<Self>, socket: &TcpListener) {
        for stream in socket.incoming().map_while(Result::ok) {
            if self.is_closing.load(Ordering::SeqCst) {
                return;
            }
            let cluster = Arc::clone(&self);
            locked(&self.threads).push(thread::spawn(move || http::serve(&cluster, stream)));
        }
    }

    fn find(&self, namespace: &str, name: &str) -> Option<&Pod> {
        self.pods.iter().find(|pod| pod.options.namespace == namespace && pod.options.name == name)
    }
}

impl Pod {
    /// The container of this name, or what the server says when there is none.
    fn container(&self, name: &str) -> Result<&Mutex<Machine>, String> {
        let place = match name {
            "" if self.options.containers.len() == 1 => Some(0),
            _ => self.options.containers.iter().position(|other| other == name),
        };
        let found = place.and_then(|place| self.containers.get(place));
        found.ok_or_else(|| format!("container {name} is not valid for pod {}", self.options.name))
    }
}

/// A lock that a panicking thread has left behind still guards something usable here.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "the client is asked without the engine")]
fn minor_version(kubectl: &Path) -> Option<u32> {
    let output = Command::new(kubectl).args(["version", "--client", "--output", "json"]).output().ok()?;
    let said: Value = serde_json::from_slice(&output.stdout).ok()?;
    // Some builds add a plus.
    said["clientVersion"]["minor"].as_str()?.trim_end_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()
}

/// Where the server is, and a `kubectl` that knows it.
fn write_client_settings(folder: &Path, port: u16) {
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: far\n\
         clusters: [{{name: far, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
         contexts: [{{name: far, context: {{cluster: far, user: far, namespace: default}}}}]\n\
         users: [{{name: far, user: {{}}}}]\n"
    );
    fs::write(folder.join("config"), config).expect("the folder is ours");
    let kubectl = program("kubectl", "").unwrap_or_else(|missing| panic!("{missing}"));
    let (kubectl, here) = (kubectl.display(), folder.display());
    let script = format!("export KUBECONFIG='{here}/config' KUBECACHEDIR='{here}/cache'\nexec '{kubectl}' \"$@\"");
    write_program(&folder.join("bin"), "kubectl", &script);
}
