//! What network by name promises.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::servers;
use super::stage::{HOST, PLAIN_HOST, Running, Stage, has, outside, plan, rule, run_here, start_here};
use crate::enclosure::network::broker;
use crate::enclosure::network::events::{Refusal, Refused, Transport};
use crate::sandbox::Upstream;

const RULES: &[(&str, Option<u16>)] = &[
    ("allowed.test", None),
    ("*.cdn.test", None),
    ("ported.test", Some(8080)),
    ("plain.test", None),
    ("rebind.test", None),
    ("meta.test", None),
    ("private.test", None),
    ("own.test", None),
    ("mapped.test", None),
    ("mixed.test", None),
    ("nowhere.test", None),
];

const TABLE: &[(&str, &[&str])] = &[
    ("allowed.test", &[HOST]),
    ("a.b.cdn.test", &[HOST]),
    ("ported.test", &[HOST]),
    ("plain.test", &[PLAIN_HOST]),
    ("rebind.test", &["127.0.0.1"]),
    ("meta.test", &["169.254.169.254"]),
    ("private.test", &["10.0.0.5"]),
    ("own.test", &["203.0.113.6"]),
    ("mapped.test", &["::ffff:127.0.0.1"]),
    ("mixed.test", &["127.0.0.1", HOST]),
    // Allowed by nobody, and there all the same.
    ("evil.test", &[HOST]),
];

/// A client program and how it is told what to fetch.
struct ClientProgram {
    program: &'static str,
    /// With NAME for what it should reach, over HTTP.
    fetch: &'static str,
}

const CLIENTS: &[ClientProgram] = &[
    ClientProgram { program: "curl", fetch: "curl -sS http://NAME/" },
    ClientProgram { program: "curl", fetch: "curl -4sS http://NAME/" },
    ClientProgram { program: "curl", fetch: "RES_OPTIONS=use-vc curl -sS http://NAME/" },
    ClientProgram { program: "wget", fetch: "wget -q -t 1 -O - http://NAME/" },
    ClientProgram {
        program: "python3",
        fetch: "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://NAME/\").read().decode())'",
    },
    ClientProgram {
        program: "python3",
        fetch: "python3 -c '
import socket
s = socket.create_connection((\"NAME\", 80))
s.sendall(b\"GET / HTTP/1.0\\r\\nHost: NAME\\r\\n\\r\\n\")
s.shutdown(socket.SHUT_WR)
while data := s.recv(4096): print(data.decode())'",
    },
    ClientProgram {
        program: "node",
        fetch: "node -e 'fetch(\"http://NAME/\").then(r => r.text()).then(console.log, e => { throw e })'",
    },
    ClientProgram {
        program: "node",
        fetch: "node -e 'require(\"http\").get(\"http://NAME/\", r => r.pipe(process.stdout))'",
    },
    ClientProgram {
        program: "bash",
        fetch: "exec 3<>/dev/tcp/NAME/80 && printf 'GET / HTTP/1.0\\r\\nHost: NAME\\r\\n\\r\\n' >&3 && cat <&3",
    },
    ClientProgram {
        program: "perl",
        fetch: "perl -MIO::Socket::INET -e '
my $s = IO::Socket::INET->new(\"NAME:80\") or die \"no connection: $@\";
print $s \"GET / HTTP/1.0\\r\\nHost: NAME\\r\\n\\r\\n\"; print while <$s>'",
    },
];

fn is(refusal: &Refusal, what: &Refused, name: &str, port: u16) -> bool {
    (&refusal.what, refusal.name.as_str(), refusal.port) == (what, name, port)
}

#[test]
fn programs_reach_allowed_names_and_no_others() {
    outside("promises::programs_reach_allowed_names_and_no_others", || {
        let reached = servers::http(&format!("{HOST}:80"), None);
        let mut stage = Stage::set(&plan(RULES, TABLE));
        for client in CLIENTS.iter().filter(|client| has(client.program)) {
            for name in ["allowed.test", "A.b.CDN.test.", "mixed.test"] {
                let text = client.fetch.replace("NAME", name);
                let printed = stage.prints(&text);
                assert!(printed.to_lowercase().contains("reached "), "{text}: {printed}");
            }
            assert_eq!(stage.refusals(), [], "{}", client.fetch);

            let before = reached.load(Ordering::SeqCst);
            for name in ["evil.test", "cdn.test", "allowed.test.evil.test", "xcdn.test"] {
                let text = client.fetch.replace("NAME", name);
                let output = stage.run(&text);
                assert!(!output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stdout));
                let refusal = stage.refusal(|refusal| is(refusal, &Refused::Name, name, 0));
                assert!(refusal.is_some(), "no word on {text}");
            }
            assert_eq!(reached.load(Ordering::SeqCst), before, "{}", client.fetch);
        }
    });
}

#[test]
fn git_clones_over_http() {
    outside("promises::git_clones_over_http", || {
        if !has("git") {
            println!("skipped: git is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display();
        let made = run_here(&format!(
            "cd {here} && export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 && git init -q work && cd work && echo hello > file && git add file &&
             git -c user.name=me -c user.email=me@test commit -qm first && git clone -q --bare . ../repository.git &&
             git -C ../repository.git update-server-info"
        ));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        servers::http(&format!("{HOST}:80"), Some(folder.path().to_owned()));

        let stage = Stage::set(&plan(RULES, TABLE));
        let clone = |name: &str| {
            stage.prints(&format!("cd {here} && git clone http://{name}/repository.git {name} && cat {name}/file"))
        };
        let printed = clone("allowed.test");
        assert!(printed.starts_with("hello\n"), "{printed}");
        let printed = clone("evil.test");
        assert!(printed.contains("Could not resolve host"), "{printed}");
    });
}

#[test]
fn what_is_not_allowed_is_refused_and_reported() {
    outside("promises::what_is_not_allowed_is_refused_and_reported", || {
        let reached = servers::http(&format!("{HOST}:80"), None);
        let forbidden: Vec<_> = ["127.0.0.1:80", "169.254.169.254:80", "10.0.0.5:80", "203.0.113.6:80"]
            .map(|place| servers::http(place, None))
            .into();
        let mut stage = Stage::set(&plan(RULES, TABLE));
        let udp = |place: &str, port: u16| {
            format!(
                "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((\"{place}\", {port})); s.send(b\"x\"); s.settimeout(3); s.recv(1)'"
            )
        };

        let address = |address: &str| Refused::Address(Some(address.parse().unwrap()));
        let nobody = Refused::Address(None);
        for (text, what, name, port, over) in [
            ("curl -sS http://203.0.113.6/".into(), nobody.clone(), "203.0.113.6", 80, Transport::Tcp),
            ("curl -sS https://203.0.113.6/".into(), nobody.clone(), "203.0.113.6", 443, Transport::Tcp),
            ("curl -sS http://203.0.113.6:9999/".into(), nobody.clone(), "203.0.113.6", 9999, Transport::Tcp),
            ("curl -sSg http://[2001:db8::1]/".into(), nobody.clone(), "2001:db8::1", 80, Transport::Tcp),
            ("curl -sSg http://[2001:db8::1]:9999/".into(), nobody.clone(), "2001:db8::1", 9999, Transport::Tcp),
            ("curl -sS http://169.254.169.254/".into(), nobody.clone(), "169.254.169.254", 80, Transport::Tcp),
            ("curl -sS http://198.18.77.77/".into(), nobody.clone(), "198.18.77.77", 80, Transport::Tcp),
            ("curl -sS http://allowed.test:8080/".into(), Refused::Port, "allowed.test", 8080, Transport::Tcp),
            ("curl -sS http://allowed.test:9999/".into(), Refused::Port, "allowed.test", 9999, Transport::Tcp),
            ("curl -sS http://ported.test/".into(), Refused::Port, "ported.test", 80, Transport::Tcp),
            (format!("curl -sS http://{HOST}:9999/"), Refused::Port, HOST, 9999, Transport::Tcp),
            (udp("203.0.113.6", 9999), nobody.clone(), "203.0.113.6", 9999, Transport::Udp),
            (udp("allowed.test", 443), Refused::Port, "allowed.test", 443, Transport::Udp),
            ("curl -sS http://rebind.test/".into(), address("127.0.0.1"), "rebind.test", 80, Transport::Tcp),
            ("curl -sS http://mapped.test/".into(), address("::ffff:127.0.0.1"), "mapped.test", 80, Transport::Tcp),
            ("curl -sS http://meta.test/".into(), address("169.254.169.254"), "meta.test", 80, Transport::Tcp),
            ("curl -sS http://private.test/".into(), address("10.0.0.5"), "private.test", 80, Transport::Tcp),
            ("curl -sS http://own.test/".into(), address("203.0.113.6"), "own.test", 80, Transport::Tcp),
        ] {
            let output = stage.run(&text);
            assert!(!output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stdout));
            let refusal = stage.refusal(|refusal| is(refusal, &what, name, port));
            assert_eq!(refusal.map(|refusal| refusal.over), Some(over), "{text}");
        }
        assert_eq!(forbidden.iter().map(|count| count.load(Ordering::SeqCst)).sum::<usize>(), 0);
        assert_eq!(reached.load(Ordering::SeqCst), 0);

        // Nothing is wrong with these, so nothing is said.
        for text in ["curl -sS http://nowhere.test/", "curl -sS http://127.0.0.1:9999/", "getent hosts 203.0.113.5"] {
            assert!(!stage.run(text).status.success(), "{text}");
            assert_eq!(stage.refusals(), [], "{text}");
        }
        assert!(stage.prints(&format!("curl -sS http://{HOST}/")).contains("reached"));
    });
}

#[test]
fn a_refusal_takes_no_longer_than_50_milliseconds() {
    outside("promises::a_refusal_takes_no_longer_than_50_milliseconds", || {
        let mut stage = Stage::set(&plan(RULES, TABLE));
        for attempt in [
            "socket.getaddrinfo(\"evil.test\", 80)",
            "fetch(\"203.0.113.6\", 80)",
            "fetch(\"203.0.113.6\", 9999)",
            "fetch(\"rebind.test\", 80)",
            "fetch(\"allowed.test\", 9999)",
        ] {
            // The quickest of several: others use this machine as well.
            let text = format!(
                "python3 -c '
import socket, time
def fetch(host, port):
    s = socket.create_connection((host, port))
    s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\")
    if not s.recv(1): raise OSError
def took():
    start = time.monotonic()
    try: {attempt}
    except OSError: return time.monotonic() - start
print(int(min(took() for _ in range(10)) * 1000000))'"
            );
            let printed = stage.prints(&text);
            let micros: u64 = printed.trim().parse().unwrap_or_else(|_| panic!("{attempt}: {printed}"));
            println!("{attempt}: {micros} µs");
            assert!(micros < 50_000, "{attempt}: {micros} µs");
            assert!(stage.refusals().iter().all(|refusal| refusal.missed == 0));
        }
    });
}

/// A server of TLS with a certificate for `allowed.test` and `a.b.cdn.test`; `None` where there is no `openssl`.
fn tls_server(folder: &Path) -> Option<Running> {
    if !has("openssl") {
        println!("skipped: openssl is not installed");
        return None;
    }
    let here = folder.display();
    let made = run_here(&format!(
        "cd {here} && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
         -addext subjectAltName=DNS:allowed.test,DNS:a.b.cdn.test,DNS:evil.test,IP:{HOST} -keyout key -out certificate"
    ));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (key, certificate) = (format!("{here}/key"), format!("{here}/certificate"));
    let place = format!("{HOST}:443");
    let server = start_here("openssl", &["s_server", "-accept", &place, "-www", "-key", &key, "-cert", &certificate]);
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(&place).is_err() {
        assert!(std::time::Instant::now() < end, "the server of TLS does not start");
        std::thread::yield_now();
    }
    Some(server)
}

#[test]
fn tls_is_for_the_name_that_was_dialled() {
    outside("promises::tls_is_for_the_name_that_was_dialled", || {
        let folder = tempfile::tempdir().unwrap();
        let Some(_server) = tls_server(folder.path()) else { return };
        let here = folder.path().display();
        servers::http(&format!("{PLAIN_HOST}:443"), None);
        let mut stage = Stage::set(&plan(RULES, TABLE));

        let secure = format!("curl -sS --cacert {here}/certificate");
        for (text, reached) in [
            (format!("{secure} https://allowed.test/"), "s_server"),
            (format!("{secure} https://A.B.cdn.TEST/"), "s_server"),
            (format!("{secure} --connect-to evil.test:443:{HOST}:443 https://evil.test/"), "s_server"),
            (format!("{secure} https://{HOST}/"), "s_server"),
            ("curl -sS http://plain.test:443/".into(), "reached plain.test"),
            (
                format!(
                    "NODE_EXTRA_CA_CERTS={here}/certificate node -e \
                     'fetch(\"https://allowed.test/\").then(r => r.text()).then(console.log)'"
                ),
                if has("node") { "s_server" } else { "" },
            ),
        ] {
            let printed = stage.prints(&text);
            assert!(printed.contains(reached), "{text}: {printed}");
            assert_eq!(stage.refusals(), [], "{text}");
        }

        for (text, sni) in [
            (format!("{secure} --connect-to evil.test:443:allowed.test:443 https://evil.test/"), Some("evil.test")),
            (
                format!("{secure} --connect-to a.b.cdn.test:443:allowed.test:443 https://a.b.cdn.test/"),
                Some("a.b.cdn.test"),
            ),
            ("openssl s_client -noservername -connect allowed.test:443".into(), None),
        ] {
            let output = stage.run(&text);
            assert!(!output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stdout));
            let what = Refused::Sni(sni.map(str::to_owned));
            assert!(stage.refusal(|refusal| is(refusal, &what, "allowed.test", 443)).is_some(), "{text}");
        }
    });
}

#[test]
fn any_resolver_that_is_asked_answers_as_itself() {
    outside("promises::any_resolver_that_is_asked_answers_as_itself", || {
        let stage = Stage::set(&plan(RULES, TABLE));
        // Connected sockets: an answer from another address than the one that was asked would not arrive.
        for (family, server) in [("AF_INET", "9.9.9.9"), ("AF_INET", "127.0.0.53"), ("AF_INET6", "2001:db8::53")] {
            let text = format!(
                "python3 -c '
import socket
for kind, over in ((1, socket.SOCK_DGRAM), (28, socket.SOCK_DGRAM), (1, socket.SOCK_STREAM)):
    question = bytes([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + b\"\\x07allowed\\x04test\\0\" + bytes([0, kind, 0, 1])
    s = socket.socket(socket.{family}, over); s.settimeout(5); s.connect((\"{server}\", 53))
    if over == socket.SOCK_STREAM: question = len(question).to_bytes(2, \"big\") + question
    s.sendall(question); a = s.recv(512)
    if over == socket.SOCK_STREAM: a = a[2:]
    print(a[7], list(a[-4:]) if a[7] else \"\")'"
            );
            assert_eq!(stage.prints(&text), "1 [198, 18, 1, 0]\n0 \n1 [198, 18, 1, 0]\n", "{server}");
        }
    });
}

#[test]
fn both_directions_end_on_their_own_and_thousands_are_served_at_once() {
    outside("promises::both_directions_end_on_their_own_and_thousands_are_served_at_once", || {
        servers::counting(&format!("{HOST}:8080"));
        let mut stage = Stage::set(&plan(RULES, TABLE));
        let before = resident_kilobytes(stage.broker_id());
        let text = "python3 -c '
import resource, socket, struct
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
def dial(): return socket.create_connection((\"ported.test\", 8080))
def answer(s):
    s.shutdown(socket.SHUT_WR)
    text = b\"\"
    while data := s.recv(4096): text += data
    return text.decode().strip()
s = dial(); s.sendall(b\"x\" * 30000000); print(answer(s))
for _ in range(50):
    s = dial(); s.sendall(b\"x\" * 1000)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack(\"ii\", 1, 0)); s.close()
many = [dial() for _ in range(1500)]
for number, s in enumerate(many): s.sendall(b\"y\" * number)
print(all(answer(s) == f\"got {number}\" for number, s in enumerate(many)))'";
        assert_eq!(stage.prints(text), "got 30000000\nTrue\n");
        let grown = resident_kilobytes(stage.broker_id()).saturating_sub(before);
        println!("1500 connections at once: {grown} KiB more in the broker");
        assert!(grown < 16 * 1024, "{grown} KiB");
        assert_eq!(stage.refusals(), []);
    });
}

#[test]
fn a_thousand_connections_leave_nothing_open() {
    outside("promises::a_thousand_connections_leave_nothing_open", || {
        servers::http(&format!("{HOST}:80"), None);
        let stage = Stage::set(&plan(RULES, TABLE));
        let fetch = |times: usize| {
            format!(
                "python3 -c '
import socket
for number in range({times}):
    s = socket.create_connection((\"allowed.test\", 80))
    s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\")
    while number % 3 and s.recv(4096): pass
    s.close()
print(\"done\")'"
            )
        };
        assert_eq!(stage.prints(&fetch(10)), "done\n");
        let before = open_files(stage.broker_id());
        assert_eq!(stage.prints(&fetch(1000)), "done\n");
        // The last ones are closed while this looks. Up to 16 pipes that nobody uses are kept for the next.
        let most = before + 2 * 16;
        let end = std::time::Instant::now() + Duration::from_secs(30);
        while open_files(stage.broker_id()) > most && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        let after = open_files(stage.broker_id());
        println!("open files of the broker: {before} before, {after} after");
        assert!(after <= most, "{before} before, {after} after");
    });
}

fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// What a client of the resolver gets for a question: the code and the number of answers.
const ASK: &str = r#"
import socket
def ask(name, kind, over):
    question = bytes([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    for label in name.split("."): question += bytes([len(label)]) + label.encode()
    question += bytes([0, 0, kind, 0, 1])
    s = socket.socket(socket.AF_INET, over); s.settimeout(3); s.connect(("9.9.9.9", 53))
    if over == socket.SOCK_STREAM: question = len(question).to_bytes(2, "big") + question
    s.sendall(question); a = s.recv(4096)
    if over == socket.SOCK_STREAM: a = a[2:]
    return a[3] & 15, a[7]
"#;

#[test]
fn questions_carry_nothing_out_and_answers_nothing_in() {
    const TXT: u8 = 16;
    outside("promises::questions_carry_nothing_out_and_answers_nothing_in", || {
        let mut stage = Stage::set(&plan(RULES, TABLE));
        let data = ["x".repeat(63), "y".repeat(63), "z".repeat(60)].join(".");
        for (name, kind, expected) in [
            // A name that no rule allows does not exist, however it is asked for.
            (format!("{data}.evil.test"), 1, "(3, 0)"),
            (format!("{data}.evil.test"), TXT, "(3, 0)"),
            (format!("{data}.allowed.test"), TXT, "(3, 0)"),
            // One that is allowed has an address that we made up, and nothing else: nobody outside is asked.
            ("allowed.test".to_owned(), TXT, "(0, 0)"),
            ("allowed.test".to_owned(), 10, "(0, 0)"),
            ("allowed.test".to_owned(), 255, "(0, 0)"),
            (format!("{data}.cdn.test"), TXT, "(0, 0)"),
        ] {
            for over in ["socket.SOCK_DGRAM", "socket.SOCK_STREAM"] {
                let text = format!("python3 -c '{ASK}print(ask(\"{name}\", {kind}, {over}))'");
                assert_eq!(stage.prints(&text).trim(), expected, "{name} {kind} {over}");
            }
        }
        let refused = stage.refusals();
        assert!(refused.iter().any(|refusal| refusal.name.ends_with("evil.test")), "{refused:?}");
    });
}

#[test]
fn nothing_but_tcp_leaves_and_echoes_are_not_sent() {
    outside("promises::nothing_but_tcp_leaves_and_echoes_are_not_sent", || {
        let heard = std::net::UdpSocket::bind((HOST, 443)).unwrap();
        heard.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let stage = Stage::set(&plan(RULES, TABLE));
        let text = format!(
            "python3 -c '
import socket
for place in (\"allowed.test\", \"{HOST}\"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (place, 443))
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); s.connect((\"{HOST}\", 1))
except OSError: pass
print(\"done\")'"
        );
        assert_eq!(stage.prints(&text), "done\n");
        assert!(heard.recv(&mut [0; 9]).is_err(), "a datagram got out");
    });
}

fn resident_kilobytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn nothing_is_let_through_once_the_broker_is_gone() {
    outside("promises::nothing_is_let_through_once_the_broker_is_gone", || {
        let reached = servers::http(&format!("{HOST}:80"), None);
        let mut stage = Stage::set(&plan(RULES, TABLE));
        assert!(stage.run("curl -sS http://allowed.test/").status.success());
        let address = stage.prints("getent ahostsv4 allowed.test").split(' ').next().unwrap().to_owned();
        stage.kill_broker();
        let before = reached.load(Ordering::SeqCst);
        for text in [
            "curl -sS -m 20 http://allowed.test/".to_owned(),
            format!("curl -sS -m 20 http://{address}/"),
            format!("curl -sS -m 20 http://{HOST}/"),
        ] {
            assert!(!stage.run(&text).status.success(), "{text}");
        }
        assert_eq!(reached.load(Ordering::SeqCst), before);
    });
}

#[test]
fn the_broker_ends_with_the_last_who_holds_its_life() {
    outside("promises::the_broker_ends_with_the_last_who_holds_its_life", || {
        let mut stage = Stage::set(&plan(RULES, TABLE));
        // The engine that started it goes away, and a keeper still holds its life.
        let keeper = stage.life.as_ref().unwrap().try_clone().unwrap();
        stage.life = None;
        stage.control.shutdown(std::net::Shutdown::Both).unwrap();
        assert!(stage.prints("getent ahostsv4 allowed.test").contains("198.18.1.0"));
        drop(keeper);
        assert!(stage.broker_ends_well());
    });
}

#[test]
fn a_name_can_be_allowed_later_also_at_a_new_port() {
    outside("promises::a_name_can_be_allowed_later_also_at_a_new_port", || {
        servers::http(&format!("{HOST}:80"), None);
        servers::http(&format!("{HOST}:9001"), None);
        let stage = Stage::set(&plan(RULES, TABLE));
        for (port, url) in [(None, "http://evil.test/"), (Some(9001), "http://evil.test:9001/")] {
            assert!(!stage.run(&format!("curl -sS {url}")).status.success(), "{url}");
            broker::allow(&stage.control, &rule("evil.test", port)).unwrap();
            // The order is taken while the resolver answers other questions.
            stage.run("getent ahostsv4 allowed.test");
            let printed = stage.prints(&format!("curl -sS {url}"));
            assert!(printed.contains("reached evil.test"), "{url}: {printed}");
        }
    });
}

#[test]
fn an_exposed_port_is_reached_from_outside() {
    outside("promises::an_exposed_port_is_reached_from_outside", || {
        let mut plan = plan(RULES, TABLE);
        plan.expose = vec![3000, 3001, 3002];
        let stage = Stage::set(&plan);
        let serve = |family: &str, place: &str, port: u16| {
            stage.start_python(&format!(
                "
import socket
s = socket.create_server((\"{place}\", {port}), family=socket.{family}, backlog=200)
print(\"ready\")
while True:
    c, _ = s.accept()
    while data := c.recv(4096): c.sendall(data)
    c.close()"
            ))
        };
        let _servers = [serve("AF_INET", "127.0.0.1", 3000), serve("AF_INET6", "::1", 3001)];
        for port in [3000, 3001] {
            for _ in 0..50 {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                stream.write_all(b"hello").unwrap();
                stream.shutdown(std::net::Shutdown::Write).unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                assert_eq!(text, "hello", "{port}");
            }
        }
        // Nobody listens there: the connection ends at once.
        let mut stream = TcpStream::connect(("127.0.0.1", 3002)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert!(
            stream
                .read(&mut [0])
                .map_or_else(|error| error.raw_os_error() == Some(libc::ECONNRESET), |count| count == 0)
        );
    });
}

#[test]
fn the_machines_own_proxy_is_asked_by_name() {
    outside("promises::the_machines_own_proxy_is_asked_by_name", || {
        servers::http(&format!("{HOST}:80"), None);
        let asked = servers::proxy("203.0.113.9:3128", HOST);
        let mut plan = plan(RULES, &[("proxy.test", &["203.0.113.9"]), ("plain.test", &[HOST])]);
        plan.upstream = Upstream::parse("http://me:word@proxy.test:3128", "plain.test");
        let stage = Stage::set(&plan);
        for (name, request) in [
            (
                "allowed.test",
                Some(
                    "CONNECT allowed.test:80 HTTP/1.1|Host: allowed.test:80|Proxy-Authorization: Basic bWU6d29yZA==||",
                ),
            ),
            ("plain.test", None),
        ] {
            asked.lock().unwrap().clear();
            let printed = stage.prints(&format!("curl -sS http://{name}/"));
            assert!(printed.contains(&format!("reached {name}")), "{printed}");
            assert_eq!(asked.lock().unwrap().first().map(String::as_str), request, "{name}");
        }
    });
}

#[test]
fn a_session_without_a_network_has_its_own_loopback_and_fails_at_once_elsewhere() {
    outside("promises::a_session_without_a_network_has_its_own_loopback_and_fails_at_once_elsewhere", || {
        let stage = Stage::set_alone();
        let text = "python3 -c '
import errno, socket
server = socket.create_server((\"127.0.0.1\", 8000))
socket.create_connection((\"127.0.0.1\", 8000))
print(\"loopback\")
for family, place in ((socket.AF_INET, \"203.0.113.5\"), (socket.AF_INET6, \"2001:db8::1\")):
    try: socket.socket(family).connect((place, 80))
    except OSError as error: print(errno.errorcode[error.errno])'";
        assert_eq!(stage.prints(text), "loopback\nENETUNREACH\nENETUNREACH\n");
    });
}

#[test]
fn without_a_network_of_its_own_a_session_has_a_proxy_with_the_same_rules() {
    outside("promises::without_a_network_of_its_own_a_session_has_a_proxy_with_the_same_rules", || {
        servers::http(&format!("{HOST}:80"), None);
        let forbidden = servers::http("127.0.0.1:80", None);
        let folder = tempfile::tempdir().unwrap();
        let server = tls_server(folder.path());
        let secure = format!("--cacert {}/certificate", folder.path().display());
        let mut stage = Stage::set_proxy(&plan(RULES, TABLE), "127.0.0.1:3128");

        for proxy in ["-x http://127.0.0.1:3128", "-p -x http://127.0.0.1:3128", "-x socks5h://127.0.0.1:3128"] {
            let fetch = |rest: &str| run_here(&format!("curl -sSf --noproxy '' {proxy} {rest}"));
            let output = fetch("http://Allowed.test/ http://a.b.cdn.test./");
            let printed = String::from_utf8_lossy(&output.stdout).to_lowercase();
            assert_eq!(printed.matches("reached ").count(), 2, "{proxy}: {output:?}");
            if server.is_some() {
                assert!(fetch(&format!("{secure} https://allowed.test/")).status.success(), "{proxy}");
            }
            assert_eq!(stage.refusals(), [], "{proxy}");

            for (url, what, name, port) in [
                ("http://evil.test/", Refused::Name, "evil.test", 80),
                ("http://allowed.test:8080/", Refused::Port, "allowed.test", 8080),
                ("http://203.0.113.6/", Refused::Address(None), "203.0.113.6", 80),
                ("http://rebind.test/", Refused::Address(Some([127, 0, 0, 1].into())), "rebind.test", 80),
            ] {
                assert!(!fetch(url).status.success(), "{proxy} {url}");
                assert!(stage.refusal(|refusal| is(refusal, &what, name, port)).is_some(), "{proxy} {url}");
            }
        }
        assert_eq!(forbidden.load(Ordering::SeqCst), 0);
    });
}
