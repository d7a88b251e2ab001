//! `deploy/kubernetes`.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use chiton_testkit::carried;
use chiton_testkit::processes::eventually;
use chiton_testkit::transports::{KubeApi, usable};
use serde_json::{Value, json};

use super::played::{Played, pod};
use super::rules::{broken, list, not_understood};
use super::{file, text_of, yaml};
use crate::near_side::{NearSide, text};

const LIMIT: Duration = Duration::from_mins(1);

fn described(name: &str) -> Value {
    yaml::read(&text_of(&format!("kubernetes/{name}")))
}

/// The pod in each of the files.
fn pods() -> [(&'static str, Value); 3] {
    [
        ("pod.yaml", described("pod.yaml")["spec"].clone()),
        ("job.yaml", described("job.yaml")["spec"]["template"]["spec"].clone()),
        ("sandbox.yaml", described("sandbox.yaml")["spec"]["podTemplate"]["spec"].clone()),
    ]
}

#[test]
fn pods_are_closed_and_their_names_agree() {
    for (name, spec) in pods() {
        assert_eq!(broken(&spec), [""; 0], "{name}");
    }
}

#[test]
fn a_pod_that_is_not_so_is_found() {
    let good = described("pod.yaml")["spec"].clone();
    for (path, value, found) in [
        ("/automountServiceAccountToken", Value::Null, "token"),
        ("/securityContext/runAsNonRoot", json!(false), "root"),
        ("/securityContext/fsGroup", json!(7), "group"),
        ("/securityContext/seccompProfile/type", json!("Unconfined"), "seccomp"),
        ("/volumes/1/name", json!("other"), "nothing mounts the volume other"),
        ("/containers/0/volumeMounts/1/name", json!("other"), "mounts other"),
        ("/containers/0/volumeMounts/0/mountPath", json!("/else"), "/chiton/home lies in no volume"),
        ("/containers/0/image", json!("busybox"), "no version"),
        ("/containers/0/imagePullPolicy", Value::Null, "pulled"),
        ("/containers/0/env/0/value", json!("/bin:/chiton/bin"), "/bin lies in no volume"),
        ("/containers/0/workingDir", json!("/"), "/ lies in no volume"),
        ("/containers/0/securityContext/readOnlyRootFilesystem", Value::Null, "written"),
        ("/initContainers/0/securityContext/capabilities/drop", json!([]), "capabilities"),
        ("/initContainers/0/resources/limits/memory", Value::Null, "limit"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap_or_else(|| panic!("there is no {path}")) = value;
        let problems = broken(&bad);
        assert!(problems.iter().any(|problem| problem.contains(found)), "{path}: {problems:?}");
    }
}

#[test]
fn each_file_is_of_its_kind() {
    let kind = |name: &str| {
        let it = described(name);
        [it["apiVersion"].clone(), it["kind"].clone(), it["metadata"]["name"].clone()]
    };
    assert_eq!(kind("pod.yaml"), ["v1", "Pod", "chiton"]);
    assert_eq!(kind("job.yaml"), ["batch/v1", "Job", "chiton"]);
    assert_eq!(kind("sandbox.yaml"), ["agents.x-k8s.io/v1beta1", "Sandbox", "chiton"]);
}

#[test]
fn a_job_ends_its_command_before_its_pod() {
    let job = described("job.yaml");
    let spec = &job["spec"];
    assert_eq!(spec["backoffLimit"], 0, "a command is not run again");
    assert_eq!(spec["template"]["spec"]["restartPolicy"], "Never");
    let main = &spec["template"]["spec"]["containers"][0];
    let words: Vec<&str> = list(&main["command"]).filter_map(Value::as_str).collect();
    assert_eq!(words[1..3], ["run", "--json"]);
    let place = words.iter().position(|word| *word == "--timeout").expect("the command has a time limit");
    let minutes: i64 = words[place + 1].strip_suffix('m').and_then(|text| text.parse().ok()).expect("in minutes");
    let deadline = spec["activeDeadlineSeconds"].as_i64().expect("the job has a deadline");
    assert!(minutes * 60 + 60 <= deadline, "{minutes} min, {deadline} s");
    assert_eq!(words.last(), Some(&"--"), "the command is never taken for an option");
    assert_eq!(list(&main["args"]).count(), 1);
}

/// Fields of agent-sandbox 0.5, whose `v1beta1` this follows: `SandboxSpec` and `PodTemplate`.
const SANDBOX_FIELDS: [&str; 6] =
    ["podTemplate", "volumeClaimTemplates", "service", "shutdownTime", "shutdownPolicy", "operatingMode"];

#[test]
fn the_sandbox_has_the_pod_of_the_pod() {
    let (pod, sandbox) = (described("pod.yaml"), described("sandbox.yaml"));
    let spec = &sandbox["spec"];
    assert_eq!(spec["podTemplate"]["spec"], pod["spec"]);
    assert_eq!(spec["podTemplate"]["metadata"], json!({"labels": pod["metadata"]["labels"]}));
    for field in spec.as_object().unwrap().keys() {
        assert!(SANDBOX_FIELDS.contains(&field.as_str()), "a Sandbox has no {field}");
    }
    let template: Vec<&String> = spec["podTemplate"].as_object().unwrap().keys().collect();
    assert_eq!(template, ["metadata", "spec"]);
    assert!(["Running", "Suspended"].contains(&spec["operatingMode"].as_str().unwrap()));
    assert!(["Delete", "Retain"].contains(&spec["shutdownPolicy"].as_str().unwrap()));
}

/// The image of the container `main` in all of them.
const IMAGE: &str = "docker.io/library/busybox:1.37";

/// What `kubectl` does not understand of a description: it reads it into its own types, without a server, and leaves out
/// what they do not have.
fn lost_by_kubectl(described: &str) -> Vec<String> {
    let mut kubectl = Command::new("kubectl");
    // It prints what it has read where it has something to change in it.
    kubectl.args(["set", "image", "--local", "--filename", "-", "--output", "json", "main=another:1"]);
    let output = fed(kubectl.env("KUBECONFIG", "/dev/null"), described);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = text(&output.stdout).replace("another:1", IMAGE);
    not_understood(&yaml::read(described), &serde_json::from_str(&read).expect("it is JSON"), "")
}

fn fed(command: &mut Command, input: &str) -> Output {
    use std::io::Write;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("it starts");
    running.stdin.take().unwrap().write_all(input.as_bytes()).expect("it reads");
    running.wait_with_output().expect("it ends")
}

fn kubectl_available() -> Result<(), String> {
    let there = Command::new("kubectl").args(["version", "--client"]).output().is_ok_and(|it| it.status.success());
    there.then_some(()).ok_or_else(|| "kubectl is not installed; Kubernetes publishes it".to_owned())
}

#[test]
fn kubectl_understands_every_field() {
    if !usable(&kubectl_available()) {
        return;
    }
    let sandbox = pod("chiton", &pods()[2].1);
    for given in [text_of("kubernetes/pod.yaml"), text_of("kubernetes/job.yaml"), sandbox] {
        assert_eq!(lost_by_kubectl(&given), [""; 0]);
    }

    // Would it be found?
    let wrong = text_of("kubernetes/pod.yaml").replace("mountPath: /tmp", "mountpoint: /tmp");
    assert_eq!(lost_by_kubectl(&wrong), [".spec.containers[0].volumeMounts[2].mountpoint"]);
}

#[test]
fn kubectl_would_apply_the_pod() {
    if !usable(&KubeApi::available()) {
        return;
    }
    // Even for a rehearsal, kubectl asks a server which kinds there are. Ours knows pods.
    let server = KubeApi::start(&[]);
    let mut kubectl = Command::new(server.path_folder().join("kubectl"));
    kubectl.args(["apply", "--dry-run=client", "--validate=false", "--filename"]).arg(file("kubernetes/pod.yaml"));
    let output = kubectl.stdin(Stdio::null()).output().unwrap();
    assert_eq!(text(&output.stdout), "pod/chiton created (dry run)\n", "{}", text(&output.stderr));
}

fn playable() -> Result<(), String> {
    carried::available().and_then(|()| Played::available())
}

#[test]
fn the_pod_is_reached_and_has_the_program_already() {
    if !usable(&playable()) {
        return;
    }
    let played = Played::start(&text_of("kubernetes/pod.yaml"));
    let near = NearSide::with_program_folder(&played.path_folder());
    let target = format!("podman:{}", played.container("main"));
    let script = "pwd; id -u; echo $HOME; command -v chiton; (: > /nothing) 2>/dev/null || echo read-only; : > /tmp/x";
    let ran = near.run(&["run", "--on", &target, script]);
    assert_eq!(text(&ran.stderr), "", "nothing was carried, and nothing is wrong");
    assert_eq!(text(&ran.stdout), "/work\n1000\n/chiton/home\n/chiton/bin/chiton\nread-only\n");

    // A task goes on without its connection, and its records are in the volume.
    let task =
        near.run(&["run", "--on", &target, "--background", "until [ -e /work/go ]; do sleep 0.1; done; echo went"]);
    let id = text(&task.stdout).trim().to_owned();
    assert!(id.starts_with("shell_"), "{}", text(&task.stderr));
    let listed = text(&played.podman(&["exec", &played.container("main"), "chiton", "ps"]).stdout);
    assert!(listed.contains(&id), "{listed}");
    played.podman(&["exec", &played.container("main"), "touch", "/work/go"]);
    let waited = near.run(&["wait", "--on", &target, &id]);
    assert_eq!(waited.status.code(), Some(0), "{}", text(&waited.stderr));
    let logs = near.run(&["logs", "--on", &target, &id]);
    assert_eq!(text(&logs.stdout), "went\n", "{}", text(&logs.stderr));
}

#[test]
fn the_job_runs_its_command_and_reports() {
    if !usable(&playable()) {
        return;
    }
    let job = described("job.yaml");
    let played = Played::start(&pod("job", &job["spec"]["template"]["spec"]));
    let main = played.container("main");
    let code = text(&played.podman(&["wait", &main]).stdout);
    assert_eq!(code, "0\n");
    let mut report = String::new();
    let whole = eventually(LIMIT, || {
        report = text(&played.podman(&["logs", &main]).stdout);
        report.ends_with('\n')
    });
    assert!(whole, "{report}");
    let report: Value = serde_json::from_str(&report).unwrap_or_else(|error| panic!("{error}: {report}"));
    assert_eq!((&report["outcome"], &report["exit_code"]), (&json!("exited"), &json!(0)), "{report}");
    assert_eq!(report["stdout"].as_str().map(|said| said.lines().last()), Some(Some("1000")), "{report}");
    assert_eq!(report["cwd"], "/work");
}
