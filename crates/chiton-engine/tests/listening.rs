//! What a task listens on: seen whoever of its processes does it, and said to be unknown where it cannot be seen.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use chiton_engine::tasks::{Listening, SocketName, UnknownPorts, WaitFor, WaitReason, Waited, WantedPort};
use chiton_engine::{CommandRequest, Outcome, Session, StartedTask, Task};
use regex::bytes::Regex;

use crate::harness::{Harness, runtime, seconds};

/// A program that listens on what it is told to, prints `up` and the port, and stays. Its own children hold the socket,
/// too, where it is told to fork.
const LISTEN: &str = r#"
import os, random, socket, sys, time
kind, where = sys.argv[1], sys.argv[2]
port = 0
if kind == "unix":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(where.replace("@", "\0"))
elif kind == "udp":
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while port == 0:
        try:
            listener.bind((where, random.randrange(25000, 30000)))
            port = listener.getsockname()[1]
        except OSError:
            pass
else:
    listener = socket.socket(socket.AF_INET6 if kind == "tcp6" else socket.AF_INET)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, "only" in sys.argv) if kind == "tcp6" else None
    listener.bind((where, 0))
    port = listener.getsockname()[1]
if kind != "udp":
    listener.listen()
if "fork" in sys.argv:
    os.fork()
print("up", port, flush=True)
time.sleep(600)
"#;

struct Place {
    harness: Harness,
    session: Session,
}

impl Place {
    fn new() -> Self {
        let harness = Harness::new();
        fs::write(harness.folder.path().join("listen.py"), LISTEN).unwrap();
        let session = harness.session();
        Self { harness, session }
    }

    async fn start(&self, command: &str) -> Task {
        match self.harness.engine.start(&self.session, CommandRequest::new(command)).await.unwrap() {
            StartedTask::Started(task) => *task,
            other => panic!("{other:?}"),
        }
    }

    async fn wait(&self, task: &Task, wanted: WaitFor) -> Waited {
        self.harness.engine.tasks().wait(&task.id, wanted).await.unwrap()
    }

    /// The port that the program names once it listens; 0 where it has none.
    async fn up(&self, task: &Task) -> u16 {
        let pattern = Some(Regex::new("^up [0-9]+").unwrap());
        let waited = self.wait(task, WaitFor { pattern, timeout: Some(seconds(60)), ..WaitFor::default() }).await;
        let WaitReason::Matched(line) = waited.reason else { panic!("{waited:?}") };
        line.trim_start_matches("up ").parse().unwrap()
    }

    async fn kill(&self, task: &Task) {
        self.harness.engine.tasks().kill(&task.id, None).await.unwrap();
    }
}

fn names(listening: &Listening) -> Vec<String> {
    listening.sockets.iter().map(|socket| socket.name.to_string()).collect()
}

fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

#[test]
fn every_kind_of_socket_is_seen_whoever_of_the_task_holds_it() {
    let place = Place::new();
    let socket = place.harness.folder.path().join("a b.sock");
    let unix = format!("unix:{}", socket.display());
    let by_path = format!("exec python3 listen.py unix '{}'", socket.display());
    let abstracted = format!("unix:@chiton-test-{}", std::process::id());
    let by_name = format!("exec python3 listen.py unix @chiton-test-{}", std::process::id());
    let cases = [
        ("IPv4", "exec python3 listen.py tcp4 127.0.0.1", "127.0.0.1:PORT"),
        ("every IPv4 address", "python3 listen.py tcp4 0.0.0.0", "0.0.0.0:PORT"),
        ("IPv6", "python3 listen.py tcp6 ::1", "[::1]:PORT"),
        ("every address", "python3 listen.py tcp6 ::", "[::]:PORT"),
        ("every address of IPv6 alone", "python3 listen.py tcp6 :: only", "[::]:PORT (IPv6 only)"),
        ("an IPv4 address of an IPv6 socket", "python3 listen.py tcp6 ::ffff:127.0.0.1", "127.0.0.1:PORT"),
        ("UDP", "python3 listen.py udp 127.0.0.1", "udp 127.0.0.1:PORT"),
        ("a Unix socket", &by_path, &unix),
        ("an abstract Unix socket", &by_name, &abstracted),
        ("a grandchild", "bash -c 'bash -c \"python3 listen.py tcp4 127.0.0.1; :\"; :'", "127.0.0.1:PORT"),
        ("an orphan in another session", "(setsid python3 listen.py tcp4 127.0.0.1 &); sleep 600", "127.0.0.1:PORT"),
        ("several with one socket", "python3 listen.py tcp4 127.0.0.1 fork", "127.0.0.1:PORT"),
    ];
    runtime().block_on(async {
        for (name, command, expected) in cases {
            if command.contains("tcp6") && !has_ipv6() {
                continue;
            }
            let task = place.start(command).await;
            let port = place.up(&task).await;
            let listening = task.listening();
            assert_eq!(names(&listening), [expected.replace("PORT", &port.to_string())], "{name}");
            assert_eq!(listening.unknown, UnknownPorts::default(), "{name}");

            place.kill(&task).await;
            let ended = place.harness.engine.tasks().get(&task.id).unwrap();
            assert!(ended.listening().is_empty() && task.listening().is_empty(), "{name}: it has ended");
        }
    });
}

#[test]
fn what_a_command_left_running_listens_too() {
    let place = Place::new();
    runtime().block_on(async {
        let report = place.harness.run(&place.session, "python3 listen.py tcp4 127.0.0.1 & echo left").await;
        assert_eq!(report.outcome, Outcome::Exited(0));
        let id = report.leftover_task.unwrap();
        let task = place.harness.engine.tasks().get(&id).unwrap();
        let wanted = WaitFor { port: Some(WantedPort::Any), timeout: Some(seconds(60)), ..WaitFor::default() };
        let waited = place.wait(&task, wanted).await;
        let WaitReason::Listening(socket) = waited.reason else { panic!("{waited:?}") };
        assert!(matches!(socket.name, SocketName::Tcp(_)));
        assert_eq!(names(&task.listening()), [socket.name.to_string()]);
        place.kill(&task).await;
    });
}

#[test]
fn a_wait_ends_when_a_port_opens_late() {
    let place = Place::new();
    let go: PathBuf = place.harness.folder.path().join("go");
    let command = "while [ ! -e go ]; do sleep 0.02; done; python3 listen.py tcp4 127.0.0.1; :";
    runtime().block_on(async {
        for number in [None, Some(free_port())] {
            let command = number.map_or(command.to_owned(), |number| {
                command.replace("listen.py tcp4", &format!("-m http.server {number} --bind"))
            });
            let task = place.start(&command).await;
            assert_eq!(task.listening(), Listening::default());

            let port = Some(number.map_or(WantedPort::Any, WantedPort::Number));
            let wanted = WaitFor { port, timeout: Some(seconds(60)), ..WaitFor::default() };
            let tasks = place.harness.engine.tasks().clone();
            let id = task.id.clone();
            let waiting = tokio::spawn(async move { tasks.wait(&id, wanted).await.unwrap() });
            fs::write(&go, "").unwrap();
            let waited = waiting.await.unwrap();
            let WaitReason::Listening(socket) = waited.reason else { panic!("{waited:?}") };
            assert_eq!(names(&task.listening()), [socket.name.to_string()]);
            assert!(number.is_none() || number == socket.name.port());
            place.kill(&task).await;
            fs::remove_file(&go).unwrap();
        }
    });
}

/// A port that nobody has at this moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_wait_in_vain_says_how_it_ended_and_who_has_the_port() {
    let place = Place::new();
    let others = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = others.local_addr().unwrap().port();
    runtime().block_on(async {
        let task = place.start("exit 3").await;
        let wanted = WaitFor { port: Some(WantedPort::Any), ..WaitFor::default() };
        let waited = place.wait(&task, wanted).await;
        assert_eq!((waited.reason, waited.task.outcome), (WaitReason::Ended, Some(Outcome::Exited(3))));

        let task = place.start("sleep 600").await;
        let timeout = Some(Duration::from_millis(50));
        let wanted = WaitFor { port: Some(WantedPort::Number(port)), timeout, ..WaitFor::default() };
        let waited = place.wait(&task, wanted).await;
        assert_eq!(waited.reason, WaitReason::TimedOut);
        let about = format!("somebody listens on port {port}, but not this task");
        assert_eq!(waited.about_port.as_deref(), Some(about.as_str()));
        place.kill(&task).await;
    });
}

#[test]
fn another_network_namespace_is_said_to_be_unknown() {
    let place = Place::new();
    runtime().block_on(async {
        if place.harness.run(&place.session, "unshare -rn true").await.outcome != Outcome::Exited(0) {
            println!("nobody may make a network namespace here, so there is nothing to see");
            return;
        }
        let task = place.start("unshare -rn python3 listen.py tcp4 0.0.0.0").await;
        let port = place.up(&task).await;
        let listening = task.listening();
        assert_eq!(names(&listening), Vec::<String>::new(), "nobody here can connect to it");
        assert_eq!(
            listening.in_words().as_deref(),
            Some("1 process in another network namespace: its ports are unknown")
        );
        let timeout = Some(Duration::from_millis(50));
        let wanted = WaitFor { port: Some(WantedPort::Number(port)), timeout, ..WaitFor::default() };
        let waited = place.wait(&task, wanted).await;
        assert_eq!((&waited.reason, waited.about_port.is_some()), (&WaitReason::TimedOut, true), "{waited:?}");
        place.kill(&task).await;

        let task = place.start("unshare -rn bash -c 'echo up 0; sleep 600; :'").await;
        place.up(&task).await;
        assert!(task.listening().is_empty(), "it listens on nothing there, which can be seen");
        place.kill(&task).await;
    });
}
