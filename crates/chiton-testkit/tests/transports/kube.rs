//! The real `kubectl` against our server.

use std::process::Command;

use chiton_testkit::processes::{eventually, program_of};
use chiton_testkit::transports::{ExecRequest, KubeApi, Machine, PodOptions, usable};
use serde_json::Value;

use crate::{LIMIT, any_bytes, begun, client, fed, is_gone, kill, works};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Three pods in two namespaces.
fn pods() -> [PodOptions; 3] {
    let mut second = PodOptions::new("web-2").label("app", "web");
    second.containers = vec!["first".to_owned(), "second".to_owned()];
    second.machine.environment.insert("A".to_owned(), "b".to_owned());
    [PodOptions::new("web-1").label("app", "web"), second, PodOptions::new("db").label("app", "db").namespace("prod")]
}

/// What `kubectl` says to these arguments.
fn kubectl(server: &KubeApi, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(server.path_folder().join("kubectl"));
    command.args(arguments);
    fed(command, b"")
}

fn sleeping(server: &KubeApi) -> usize {
    let all = server.container("default", "web-1", "main", |machine| machine.processes());
    all.into_iter().filter(|pid| program_of(*pid) == "sleep").count()
}

#[test]
fn kubectl_carries_bytes_and_endings() {
    if !usable(&KubeApi::available()) {
        return;
    }
    let server = KubeApi::start(&pods());
    let words = server.client("default", "web-1", None);
    works(&words, &["sh"]);
    let missing = fed(client(&words, &["no-such-program"]), b"");
    assert_eq!(missing.status.code(), Some(127), "{}", text(&missing.stderr));
    let killed = fed(client(&words, &["sh", "-c", "kill -9 $$"]), b"");
    assert_eq!(killed.status.code(), Some(137), "{}", text(&killed.stderr));

    let asked = ExecRequest {
        namespace: "default".to_owned(),
        pod: "web-1".to_owned(),
        container: "main".to_owned(),
        command: ["sh", "-c", "kill -9 $$"].map(str::to_owned).to_vec(),
    };
    assert_eq!(server.requests().last(), Some(&asked));

    let folders = [
        server.folder().to_owned(),
        server.container("default", "web-1", "main", |machine| machine.folder().to_owned()),
    ];
    drop(server);
    for folder in &folders {
        is_gone(folder);
    }
}

#[test]
fn kubectl_finds_pods_by_label_and_namespace() {
    if !usable(&KubeApi::available()) {
        return;
    }
    let server = KubeApi::start(&pods());
    let names =
        |arguments: &[&str]| text(&kubectl(&server, &[&["get", "pods", "-o", "name"], arguments].concat()).stdout);
    assert_eq!(names(&["-l", "app=web"]), "pod/web-1\npod/web-2\n");
    assert_eq!(names(&["-n", "prod"]), "pod/db\n");
    assert_eq!(names(&["-A", "-l", "app in (web)"]), "", "selectors with sets are refused");
    assert_eq!(names(&["-A", "-l", "app!=web", "--field-selector", "status.phase=Running"]), "pod/db\n");

    let listed = kubectl(&server, &["get", "pods", "-l", "app=web", "-o", "json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("it is JSON");
    assert_eq!(listed["items"][1]["metadata"]["name"], "web-2");
    assert_eq!(listed["items"][1]["spec"]["containers"][1]["name"], "second");
}

#[test]
fn each_container_is_a_machine_of_its_own() {
    if !usable(&KubeApi::available()) {
        return;
    }
    let mut pods = pods();
    pods[0].phase = "Pending".to_owned();
    let server = KubeApi::start(&pods);
    let said = |container| {
        let words = server.client("default", "web-2", Some(container));
        text(&fed(client(&words, &["sh", "-c", "hostname; echo $A; pwd"]), b"").stdout)
    };
    let home =
        |container| server.container("default", "web-2", container, |machine| machine.home().display().to_string());
    assert_ne!(home("first"), home("second"));
    assert_eq!(said("second"), format!("web-2\nb\n{}\n", home("second")));

    let refused = |words: Vec<String>| text(&fed(client(&words, &["true"]), b"").stderr);
    assert!(refused(server.client("default", "web-2", Some("third"))).contains("third"));
    assert!(refused(server.client("default", "db", None)).contains("not found"));
    assert!(refused(server.client("default", "web-1", None)).contains("Pending"));
}

#[test]
fn a_command_in_a_pod_goes_on_when_its_connection_is_lost() {
    if !usable(&KubeApi::available()) {
        return;
    }
    let mut server = KubeApi::start(&pods());
    let words = server.client("default", "web-1", None);
    let command = ["sh", "-c", "echo begun; exec sleep 1006"];

    let mut running = begun(&words, &command);
    server.network().cut_all();
    assert!(!running.wait().expect("it is our child").success());
    assert!(eventually(LIMIT, || sleeping(&server) == 1));

    let mut running = begun(&words, &command);
    kill(&mut running);
    assert!(eventually(LIMIT, || sleeping(&server) == 2));

    server.network().cut_after(Some(1_000_000));
    let lost = fed(client(&words, &["cat"]), &any_bytes());
    assert!(lost.stdout.len() < 1_000_000, "{}", lost.stdout.len());
    server.network().cut_after(None);

    server.network().refuse_connections();
    let refused = fed(client(&words, &["true"]), b"");
    assert!(text(&refused.stderr).contains("refused"), "{}", text(&refused.stderr));
    server.network().accept_connections();

    // Half open: the client waits, until somebody cuts it.
    let mut running = begun(&words, &["sh", "-c", "echo begun; cat"]);
    server.network().stall();
    drop(running.stdin.take());
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(running.try_wait().expect("it is our child").is_none(), "the end of its input does not arrive");
    server.network().resume();
    assert!(running.wait().expect("it is our child").success());

    server.container("default", "web-1", "main", Machine::switch_off);
    assert_eq!(sleeping(&server), 0);
}
