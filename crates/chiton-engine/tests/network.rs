//! Network by name as a session has it: what is reached, what is refused and what the reply says, with a network namespace
//! and without.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use chiton_engine::sandbox::policy::{HostRule, NetworkPolicy, SandboxPolicy};
use chiton_engine::sandbox::{Upstream, Without};
use chiton_engine::{ByteString, EngineConfig, Outcome, RunReport, Session};

use crate::harness::{Harness, PATH, enclosed, runtime};

/// A session whose policy allows `allowed.test` at the port of a server outside, and no other name.
struct Place {
    harness: Harness,
    session: Session,
    _folder: tempfile::TempDir,
    port: u16,
    reached: Arc<AtomicUsize>,
}

fn policy(root: &Path, port: u16) -> SandboxPolicy {
    let rule = |host: &str| HostRule { host: host.to_owned(), port: Some(port) };
    SandboxPolicy {
        profile: "named".to_owned(),
        network: NetworkPolicy::Named(vec![rule("allowed.test"), rule("127.0.0.1"), rule("rebind.test")]),
        ..enclosed(root)
    }
}

impl Place {
    fn new(without: Without, adjust: impl FnOnce(&mut EngineConfig)) -> Self {
        Self::with(without, &[], adjust)
    }

    fn with(without: Without, variables: &[(&str, &str)], adjust: impl FnOnce(&mut EngineConfig)) -> Self {
        let (port, reached) = server();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let harness = Harness::with(|config| {
            config.sandbox = Some(policy(&root, port));
            let table = [
                ("allowed.test", "127.0.0.1"),
                ("other.test", "127.0.0.1"),
                ("proxy.test", "127.0.0.1"),
                ("rebind.test", "169.254.169.254"),
            ];
            let lead = |(name, address): (&str, &str)| (name.to_owned(), vec![address.parse().unwrap()]);
            config.sandbox_hosts = Some(table.into_iter().map(lead).collect());
            config.sandbox_without = without;
            adjust(config);
        });
        let given = [("PATH", PATH), ("HOME", "/nonexistent"), ("LANG", "C.UTF-8")];
        let environment = given.iter().chain(variables);
        let environment = environment.map(|(name, value)| ((*name).to_owned(), ByteString::from(*value)));
        let session = Session::new(harness.engine.fresh_state(&root, environment.collect::<Vec<_>>(), 0o022));
        Self { harness, session, _folder: folder, port, reached }
    }

    async fn run(&self, command: &str) -> RunReport {
        self.harness.run(&self.session, &command.replace("PORT", &self.port.to_string())).await
    }

    fn reached(&self) -> usize {
        self.reached.swap(0, Ordering::SeqCst)
    }
}

/// A server of HTTP outside, and how often somebody connected.
fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nreached\n");
            });
        }
    });
    (port, reached)
}

/// A proxy outside that leads everywhere to one port, and what it was asked.
fn upstream(leads_to: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&asked);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                head.push(byte[0]);
            }
            list.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
            let Ok(mut server) = TcpStream::connect(("127.0.0.1", leads_to)) else { continue };
            let _ = stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
            let (mut from, mut to) = (stream.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            thread::spawn(move || std::io::copy(&mut server, &mut stream));
        }
    });
    (port, asked)
}

fn said(report: &RunReport) -> String {
    format!(
        "{:?} {}{} {:?} {:?}",
        report.outcome,
        report.stdout.to_text(),
        report.stderr.to_text(),
        report.refused,
        report.protection.sandbox
    )
}

fn weaker(report: &RunReport) -> String {
    report.protection.sandbox.as_ref().unwrap().weaker.join("; ")
}

const NO_NETWORK: Without = Without { namespaces: false, network_namespace: true, landlock: false, watch: false };
const NO_NAMESPACES: Without = Without { namespaces: true, network_namespace: false, landlock: false, watch: false };

/// A server of the session at a port of its own, which it writes down.
const SERVE: &str = "python3 -c 'import socket
s = socket.create_server((\"127.0.0.1\", 0)); open(\"port\", \"w\").write(str(s.getsockname()[1]))
c, _ = s.accept(); c.sendall(b\"hello\\n\")' & until [ -s port ]; do sleep 0.02; done";
const ASK_IT: &str = "exec 3<>/dev/tcp/127.0.0.1/$(cat port); cat <&3";

#[test]
fn a_name_that_is_not_allowed_is_refused_at_once_and_named() {
    runtime().block_on(async {
        let place = Place::new(Without::default(), |_| {});
        let timed = "python3 -c 'import socket, time
def took():
    start = time.monotonic()
    try: socket.create_connection((\"other.test\", PORT))
    except OSError: return time.monotonic() - start
print(int(min(took() for _ in range(10)) * 1000000))'";
        let report = place.run(timed).await;
        let micros: u64 = report.stdout.to_text().trim().parse().unwrap_or_else(|_| panic!("{}", said(&report)));
        println!("refused in {micros} µs");
        assert!(micros < 50_000, "{micros}");
        let refused = &report.refused[0];
        assert_eq!((refused.path.as_str(), refused.rule.as_str()), ("other.test", "network"), "{}", said(&report));
        assert_eq!(refused.ask.as_deref(), Some("chiton sandbox allow network other.test"), "{}", said(&report));
        assert_eq!(place.reached(), 0);
    });
}

#[test]
fn a_name_leads_nowhere_that_no_name_may_lead() {
    runtime().block_on(async {
        for without in [Without::default(), NO_NETWORK] {
            let place = Place::new(without, |_| {});
            let report = place.run("curl -sS -m 5 http://rebind.test:PORT/").await;
            let path = format!("rebind.test:{}", place.port);
            assert!(report.refused.iter().any(|refused| refused.path == path), "{}", said(&report));
        }
    });
}

#[test]
fn servers_of_the_session_are_reached_by_its_later_commands() {
    runtime().block_on(async {
        for without in [Without::default(), NO_NETWORK] {
            let place = Place::new(without, |_| {});
            let started = place.run(SERVE).await;
            assert_eq!(started.outcome, Outcome::Exited(0), "{}", said(&started));
            let asked = place.run(ASK_IT).await;
            assert_eq!(asked.stdout.to_text(), "hello\n", "{}", said(&asked));
        }
        // Without namespaces nobody can tell that two commands belong together, and the reply says so.
        let place = Place::new(NO_NAMESPACES, |_| {});
        let both = place.run(&format!("{SERVE}; {ASK_IT}")).await;
        assert_eq!(both.stdout.to_text(), "hello\n", "{}", said(&both));
        assert!(weaker(&both).contains("by the command that started it alone"), "{}", weaker(&both));
    });
}

#[test]
fn where_there_is_no_network_namespace_names_are_reached_by_a_proxy_and_nothing_else_is() {
    runtime().block_on(async {
        for without in [NO_NETWORK, NO_NAMESPACES, Without { landlock: true, ..NO_NETWORK }] {
            let place = Place::new(without, |_| {});
            let allowed = place.run("curl -sS http://allowed.test:PORT/; echo $no_proxy").await;
            assert_eq!(allowed.stdout.to_text(), "reached\nlocalhost,127.0.0.1,::1\n", "{}", said(&allowed));
            assert!(allowed.refused.is_empty(), "{}", said(&allowed));
            assert_eq!(allowed.protection.sandbox.as_ref().unwrap().network, "names by a proxy");
            assert!(weaker(&allowed).contains("programs that ignore http_proxy reach nothing"), "{}", weaker(&allowed));
            assert_eq!(place.reached(), 1);

            let other = place.run("curl -sS http://other.test:PORT/").await;
            let path = format!("other.test:{}", place.port);
            assert!(other.refused.iter().any(|refused| refused.path == path), "{}", said(&other));
            for command in [
                "curl -sS --noproxy '*' http://127.0.0.1:PORT/",
                "exec 3<>/dev/tcp/127.0.0.1/PORT && echo reached >&3",
                "exec 3<>/dev/tcp/0.0.0.0/PORT && echo reached >&3",
                "curl -gsS --noproxy '*' 'http://[::ffff:127.0.0.1]:PORT/'",
            ] {
                let report = place.run(command).await;
                assert_ne!(report.outcome, Outcome::Exited(0), "{command}: {}", said(&report));
                let path = format!("127.0.0.1:{}", place.port);
                let named = report.refused.iter().any(|refused| refused.path.ends_with(&path));
                assert!(named || command.contains("0.0.0.0"), "{command}: {}", said(&report));
            }
            assert_eq!(place.reached(), 0);
        }
    });
}

/// Ways past the proxy, each of which prints `held`.
const WAYS_PAST: &[(&str, &str)] = &[
    ("datagrams", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"),
    ("datagrams over IPv6", "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)"),
    ("echoes", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)"),
    ("raw packets", "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)"),
    ("another protocol of streams", "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)"),
    ("another interface", "socket.socket().setsockopt(socket.SOL_SOCKET, 25, b'\\0')"),
    ("another interface by its number", "socket.socket().setsockopt(socket.SOL_SOCKET, 62, 0)"),
    ("bytes with the connection", "socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', PORT))"),
    ("an address of the internet", "socket.create_connection(('203.0.113.5', PROXY), 3)"),
    ("a server outside", "socket.create_connection(('127.0.0.1', PORT), 3)"),
];

#[test]
fn there_is_no_way_past_the_proxy() {
    runtime().block_on(async {
        for without in [NO_NETWORK, NO_NAMESPACES] {
            let place = Place::new(without, |_| {});
            for (name, attempt) in WAYS_PAST {
                let attempt = attempt.replace("PROXY", "int(os.environ['http_proxy'].rsplit(':')[-1])");
                let text = format!(
                    "cat > way.py <<'E'\nimport os, socket\ntry:\n    {attempt}\n    print('open')\nexcept OSError: \
                     print('held')\nE\npython3 way.py"
                );
                let report = place.run(&text).await;
                assert_eq!(report.stdout.to_text(), "held\n", "{name}: {}", said(&report));
            }
            assert_eq!(place.reached(), 0);
        }
    });
}

#[test]
fn an_address_that_changes_while_it_is_looked_at_leads_nowhere() {
    runtime().block_on(async {
        let place = Place::new(NO_NETWORK, |_| {});
        // The first one may be connected to; then it is a file of the workspace; each time another one is swapped in.
        let text = "cat > race.py <<'RACE'
import ctypes, os, socket, struct, sys, threading
sys.setswitchinterval(1e-5)
libc = ctypes.CDLL(None, use_errno=True)
proxy = int(os.environ['http_proxy'].rsplit(':')[-1])
inet = lambda port: struct.pack('<H', 2) + struct.pack('>H', port) + bytes([127, 0, 0, 1]) + bytes(8)
good, bad = inet(proxy), inet(PORT)
unix = struct.pack('<H', 1) + b'\\0none' + bytes(9)
for first in (good, unix):
    address = ctypes.create_string_buffer(first, 16); stop = []
    def swap():
        while not stop:
            ctypes.memmove(address, bad, 16); ctypes.memmove(address, first, 16)
    threads = [threading.Thread(target=swap) for _ in range(2)]
    for t in threads: t.start()
    for _ in range(400):
        s = socket.socket(); libc.connect(s.fileno(), address, 16); s.close()
    stop.append(1)
    for t in threads: t.join()
print('done')
RACE
python3 race.py";
        let report = place.run(text).await;
        assert_eq!(report.stdout.to_text(), "done\n", "{}", said(&report));
        assert_eq!(place.reached(), 0, "the server outside was reached");
    });
}

#[test]
fn without_the_watch_nobody_leads_names_out_and_the_reply_says_so() {
    runtime().block_on(async {
        let place = Place::new(Without { watch: true, ..NO_NETWORK }, |_| {});
        let report = place.run("curl -sS http://allowed.test:PORT/").await;
        assert_ne!(report.outcome, Outcome::Exited(0), "{}", said(&report));
        assert_eq!(report.protection.sandbox.as_ref().unwrap().network, "off");
        assert!(weaker(&report).contains("the network is off"), "{}", weaker(&report));
        assert_eq!(place.reached(), 0);
    });
}

#[test]
fn the_machines_own_proxy_is_used_and_commands_do_not_learn_of_it() {
    runtime().block_on(async {
        for without in [Without::default(), NO_NETWORK] {
            let (server, reached) = server();
            let (proxy, asked) = upstream(server);
            let url = format!("http://me:word@proxy.test:{proxy}");
            let variables = [("HTTPS_PROXY", url.as_str()), ("http_proxy", url.as_str()), ("OWN", "x")];
            let place = Place::with(without, &variables, |config| {
                config.sandbox_upstream = Upstream::parse(&url, "");
            });
            let report = place.run("curl -sS http://allowed.test:PORT/; env").await;
            let printed = report.stdout.to_text();
            assert!(printed.starts_with("reached\n") && printed.contains("OWN=x"), "{}", said(&report));
            assert!(!printed.contains("proxy.test") && !printed.contains("word"), "{printed}");
            let expected = format!("CONNECT allowed.test:{} HTTP/1.1\r\n", place.port);
            let requests = asked.lock().unwrap().clone();
            assert!(requests.len() == 1 && requests[0].starts_with(&expected), "{requests:?}");
            assert!(requests[0].contains("Proxy-Authorization: Basic bWU6d29yZA=="), "{requests:?}");
            assert_eq!((place.reached(), reached.load(Ordering::SeqCst)), (0, 1));
            // What the session has stays its own.
            assert!(place.session.state().variables.contains_key("HTTPS_PROXY"));
        }
    });
}

/// A port that nobody uses right now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Who listens at a port of loopback.
fn listener_at(port: u16) -> Option<i32> {
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let wanted = format!("0100007F:{port:04X}");
    let line = table.lines().find(|line| line.split_ascii_whitespace().nth(1) == Some(&wanted))?;
    let link = format!("socket:[{}]", line.split_ascii_whitespace().nth(9)?);
    let pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.into_iter().find(|pid: &i32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == link.as_str()))
    })
}

#[test]
fn a_port_that_is_exposed_is_reached_from_outside_or_the_reply_says_why_not() {
    runtime().block_on(async {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let ports = [free_port(), taken.local_addr().unwrap().port()];
        let place = Place::new(Without::default(), |config| {
            config.sandbox.as_mut().unwrap().expose = ports.to_vec();
        });
        let serve = format!(
            "python3 -c 'import socket
s = socket.create_server((\"127.0.0.1\", {})); open(\"port\", \"w\").write(\"x\")
c, _ = s.accept(); c.sendall(b\"hello\\n\")' & until [ -s port ]; do sleep 0.02; done",
            ports[0]
        );
        let started = place.run(&serve).await;
        assert_eq!(started.outcome, Outcome::Exited(0), "{}", said(&started));
        let mut text = String::new();
        TcpStream::connect(("127.0.0.1", ports[0])).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\n");
        let expected = format!("expose: port {} is not reachable from outside", ports[1]);
        assert!(weaker(&started).contains(&expected), "{}", weaker(&started));
    });
}

#[test]
fn when_the_broker_is_killed_nothing_is_reached_the_reply_says_so_and_the_next_has_another() {
    runtime().block_on(async {
        let port = free_port();
        let place = Place::new(Without::default(), |config| config.sandbox.as_mut().unwrap().expose = vec![port]);
        let fetch = "curl -sS -m 20 http://allowed.test:PORT/";
        let before = place.run(fetch).await;
        assert_eq!(before.stdout.to_text(), "reached\n", "{}", said(&before));
        let broker = listener_at(port).and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(broker, rustix::process::Signal::KILL).unwrap();
        while listener_at(port).is_some() {
            thread::yield_now();
        }
        place.reached();

        let during = place.run(fetch).await;
        assert_ne!(during.outcome, Outcome::Exited(0), "{}", said(&during));
        assert!(weaker(&during).contains("has ended, so nothing is reached"), "{}", weaker(&during));
        assert_eq!(place.reached(), 0);
        let after = place.run(fetch).await;
        assert_eq!(after.stdout.to_text(), "reached\n", "{}", said(&after));
        assert!(!weaker(&after).contains("has ended"), "{}", weaker(&after));
    });
}

#[test]
fn a_datagram_reaches_sockets_of_the_session_and_those_that_are_listed_and_no_other() {
    runtime().block_on(async {
        let outside = tempfile::tempdir().unwrap();
        let outside = outside.path().canonicalize().unwrap();
        let bind = |name: &str| {
            let socket = std::os::unix::net::UnixDatagram::bind(outside.join(name)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let (secret, listed) = (bind("secret"), bind("listed"));
        let place = Place::new(Without::default(), |config| {
            config.sandbox.as_mut().unwrap().sockets = vec![outside.join("listed")];
        });
        let text = format!(
            "cat > send.py <<'SEND'
import socket
def send(path):
    for how in ('sendto', 'sendmsg', 'pair'):
        try:
            s = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0] if how == 'pair' else \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            if how == 'sendmsg': s.sendmsg([b'x'], [], 0, path)
            else: s.sendto(b'x', path)
            print('sent', end=' ')
        except OSError: print('held', end=' ')
own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); own.bind('own')
for path in ('own', '{0}/listed', '{0}/secret'): send(path)
SEND
python3 send.py",
            outside.display()
        );
        let report = place.run(&text).await;
        let expected = ["sent", "sent", "sent", "sent", "sent", "sent", "held", "held", "held"].join(" ");
        assert_eq!(report.stdout.to_text().trim(), expected, "{}", said(&report));
        let count =
            |socket: &std::os::unix::net::UnixDatagram| (0..9).filter(|_| socket.recv(&mut [0]).is_ok()).count();
        assert_eq!((count(&secret), count(&listed)), (0, 3));
    });
}
