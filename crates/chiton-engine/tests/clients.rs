//! Programs and libraries in a network by name, without proxy variables: each reaches the allowed name and no other, and the
//! reply says which name was refused and to which program. A few of them again where there is no network namespace and names
//! are reached by a proxy. `cargo test -p chiton-engine --test clients 'curl'`.
#![cfg(test)]

mod harness;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use chiton_engine::sandbox::Without;
use chiton_engine::sandbox::policy::{HostRule, NetworkPolicy, SandboxPolicy};
use chiton_engine::{ByteString, CommandRequest, RunReport, Session};
use chiton_testkit::trials::{self, Threads, Trial};
use harness::{Harness, enclosed, runtime};

/// The name that the policy allows, and one that leads to the same server and that it does not.
const ALLOWED: &str = "allowed.test";
const OTHER: &str = "other.test";

/// The longest that a program may take to find out that a name is refused: some are written in Java.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program or library, and how it is told to reach something.
struct Client {
    name: &'static str,
    /// A program that has to be there, or a command that has to succeed.
    needs: &'static str,
    /// A file that is there before, and its text.
    file: (&'static str, &'static str),
    /// With NAME and PORT for what it should reach.
    run: &'static str,
    /// What the server gets from it.
    sees: &'static str,
    /// What it prints; nothing where the server says nothing that it understands.
    prints: &'static str,
    /// The program that is refused another name.
    by: &'static str,
    /// Whether it uses a proxy where there is one.
    proxy: ByProxy,
}

/// What becomes of a client where the only way out is a proxy.
#[derive(Clone, Copy, PartialEq)]
enum ByProxy {
    /// It reaches the allowed name.
    Reaches,
    /// It knows nothing of proxies, so it reaches nothing.
    ReachesNothing,
    /// As its version and settings say.
    Untried,
}
use ByProxy::{Reaches, ReachesNothing, Untried};

const NO_FILE: (&str, &str) = ("", "");

const CONNECT_IN_C: &str = r#"
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    int why = getaddrinfo(words[1], words[2], &hints, &found);
    if (why) { fprintf(stderr, "%s\n", gai_strerror(why)); return 1; }
    int s = socket(found->ai_family, found->ai_socktype, 0);
    if (connect(s, found->ai_addr, found->ai_addrlen)) { perror("connect"); return 1; }
    const char *text = "GET / HTTP/1.0\r\n\r\n";
    write(s, text, strlen(text));
    char bytes[4096];
    for (ssize_t n; (n = read(s, bytes, sizeof bytes)) > 0;) write(1, bytes, n);
}
"#;

const CONNECT_IN_RUST: &str = r#"
use std::io::{Read, Write};
fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut stream = std::net::TcpStream::connect((words[1].as_str(), words[2].parse::<u16>().unwrap())).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    println!("{text}");
}
"#;

const JAVA_CLIENT: &str = r"
import java.net.*; import java.net.http.*;
class Client { public static void main(String[] words) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(words[0])).version(HttpClient.Version.HTTP_1_1).build();
    System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
} }
";

const JAVA_CONNECTION: &str = r"
import java.net.*;
class Client { public static void main(String[] words) throws Exception {
    System.out.println(new String(URI.create(words[0]).toURL().openConnection().getInputStream().readAllBytes()));
} }
";

const JAVA_SOCKET: &str = r#"
import java.net.*;
class Client { public static void main(String[] words) throws Exception {
    var url = URI.create(words[0]);
    try (var socket = new Socket(url.getHost(), url.getPort())) {
        socket.getOutputStream().write("GET / HTTP/1.0\r\n\r\n".getBytes());
        System.out.println(new String(socket.getInputStream().readAllBytes()));
    }
} }
"#;

const CARGO_PROJECT: &str = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\npath = \"x.rs\"\n\
                             [dependencies]\nprobe = { version = \"1\", registry = \"test\" }\n";

const MAVEN_SETTINGS: &str = "<settings><localRepository>${user.dir}/m2</localRepository><mirrors><mirror><id>test</id>\
                              <mirrorOf>*</mirrorOf><url>http://${env.AT}:${env.ON}/maven</url></mirror>\
                              </mirrors></settings>";

macro_rules! http {
    ($name:literal, $needs:literal, $run:expr, $by:literal, $proxy:expr) => {
        http!($name, $needs, NO_FILE, $run, $by, $proxy)
    };
    ($name:literal, $needs:literal, $file:expr, $run:expr, $by:literal, $proxy:expr) => {
        Client {
            name: $name,
            needs: $needs,
            file: $file,
            run: $run,
            sees: "GET / HTTP/1.",
            prints: "reached ",
            by: $by,
            proxy: $proxy,
        }
    };
}

macro_rules! other {
    ($name:literal, $needs:literal, $file:expr, $run:expr, $sees:literal, $prints:literal, $by:literal, $proxy:expr) => {
        Client {
            name: $name,
            needs: $needs,
            file: $file,
            run: $run,
            sees: $sees,
            prints: $prints,
            by: $by,
            proxy: $proxy,
        }
    };
}

const CLIENTS: &[Client] = &[
    http!("curl", "curl", "curl -sS http://NAME:PORT/", "curl", Reaches),
    http!("curl_over_ipv4", "curl", "curl -4sS http://NAME:PORT/", "curl", Reaches),
    http!(
        "curl_that_asks_over_tcp",
        "curl",
        "RES_OPTIONS=use-vc curl -sS http://NAME:PORT/",
        "curl",
        Reaches
    ),
    http!("wget", "wget", "wget -q -t 1 -O - http://NAME:PORT/", "wget", Reaches),
    http!(
        "python_urllib",
        "python3",
        "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://NAME:PORT/\").read().decode())'",
        "python3",
        Reaches
    ),
    http!(
        "python_http_client",
        "python3",
        "python3 -c 'import http.client
c = http.client.HTTPConnection(\"NAME\", PORT); c.request(\"GET\", \"/\"); print(c.getresponse().read().decode())'",
        "python3",
        ReachesNothing
    ),
    http!(
        "python_socket",
        "python3",
        "python3 -c 'import socket
s = socket.create_connection((\"NAME\", PORT)); s.sendall(b\"GET / HTTP/1.0\\r\\n\\r\\n\"); print(s.recv(4096).decode())'",
        "python3",
        ReachesNothing
    ),
    http!(
        "python_asyncio",
        "python3",
        "python3 -c 'import asyncio
async def main():
    r, w = await asyncio.open_connection(\"NAME\", PORT)
    w.write(b\"GET / HTTP/1.0\\r\\n\\r\\n\"); print((await r.read()).decode())
asyncio.run(main())'",
        "python3",
        ReachesNothing
    ),
    http!(
        "python_requests",
        "python3 -c 'import requests'",
        "python3 -c 'import requests; print(requests.get(\"http://NAME:PORT/\").text)'",
        "python3",
        Reaches
    ),
    http!(
        "python_urllib3",
        "python3 -c 'import urllib3'",
        "python3 -c 'import urllib3
print(urllib3.PoolManager(retries=False).request(\"GET\", \"http://NAME:PORT/\").data.decode())'",
        "python3",
        ReachesNothing
    ),
    http!(
        "python_httpx",
        "python3 -c 'import httpx'",
        "python3 -c 'import httpx; print(httpx.get(\"http://NAME:PORT/\").text)'",
        "python3",
        Reaches
    ),
    http!(
        "python_aiohttp",
        "python3 -c 'import aiohttp'",
        "python3 -c 'import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as s, s.get(\"http://NAME:PORT/\") as r: print(await r.text())
asyncio.run(main())'",
        "python3",
        ReachesNothing
    ),
    other!(
        "python_ssl",
        "python3",
        NO_FILE,
        "python3 -c 'import socket, ssl
s = socket.create_connection((\"NAME\", PORT)); ssl.create_default_context().wrap_socket(s, server_hostname=\"NAME\")'",
        "\x16\x03",
        "",
        "python3",
        ReachesNothing
    ),
    other!(
        "pip",
        "python3 -m pip --version",
        NO_FILE,
        "python3 -m pip --disable-pip-version-check index versions probe --retries 0 --timeout 5 \
         --index-url http://NAME:PORT/simple --trusted-host NAME",
        "GET /simple/probe/",
        "1.0.0",
        "python3",
        Reaches
    ),
    http!(
        "node_http",
        "node",
        "node -e 'require(\"http\").get(\"http://NAME:PORT/\", r => r.pipe(process.stdout))'",
        "node",
        Untried
    ),
    http!(
        "node_fetch",
        "node",
        "node -e 'fetch(\"http://NAME:PORT/\").then(r => r.text()).then(console.log)'",
        "node",
        Untried
    ),
    http!(
        "node_net",
        "node",
        "node -e 'const s = require(\"net\").connect(PORT, \"NAME\", () => s.write(\"GET / HTTP/1.0\\r\\n\\r\\n\")); s.pipe(process.stdout)'",
        "node",
        ReachesNothing
    ),
    http!(
        "node_dns_resolve",
        "node",
        "node -e 'require(\"dns\").resolve4(\"NAME\", (e, a) => { if (e) throw e;
require(\"http\").get({ host: a[0], port: PORT, path: \"/\" }, r => r.pipe(process.stdout)) })'",
        "node",
        ReachesNothing
    ),
    other!(
        "node_https",
        "node",
        NO_FILE,
        "node -e 'require(\"https\").get(\"https://NAME:PORT/\")'",
        "\x16\x03",
        "",
        "node",
        Untried
    ),
    other!(
        "node_http2",
        "node",
        NO_FILE,
        "node -e 'require(\"http2\").connect(\"http://NAME:PORT\").on(\"error\", e => { throw e })'",
        "PRI * HTTP/2.0",
        "",
        "node",
        ReachesNothing
    ),
    other!(
        "npm",
        "npm",
        NO_FILE,
        "npm view probe version --registry=http://NAME:PORT/ --fetch-retries=0 --cache=npm --no-update-notifier",
        "GET /probe HTTP/1.1",
        "1.0.0",
        "node",
        Reaches
    ),
    http!(
        "java_http_client",
        "java",
        ("Client.java", JAVA_CLIENT),
        "java Client.java http://NAME:PORT/",
        "java",
        ReachesNothing
    ),
    http!(
        "java_url_connection",
        "java",
        ("Client.java", JAVA_CONNECTION),
        "java Client.java http://NAME:PORT/",
        "java",
        ReachesNothing
    ),
    http!(
        "java_socket",
        "java",
        ("Client.java", JAVA_SOCKET),
        "java Client.java http://NAME:PORT/",
        "java",
        ReachesNothing
    ),
    other!(
        "maven",
        "mvn",
        ("settings.xml", MAVEN_SETTINGS),
        "AT=NAME ON=PORT mvn -B -s settings.xml help:evaluate",
        "GET /maven/",
        "",
        "java",
        ReachesNothing
    ),
    other!(
        "cargo",
        "cargo",
        ("Cargo.toml", CARGO_PROJECT),
        "touch x.rs; CARGO_HOME=$PWD/cargo CARGO_NET_RETRY=0 CARGO_REGISTRIES_TEST_INDEX=sparse+http://NAME:PORT/ \
         cargo generate-lockfile && cat Cargo.lock",
        "GET /pr/ob/probe",
        "name = \"probe\"",
        "cargo",
        Reaches
    ),
    http!(
        "perl_socket",
        "perl",
        "perl -MIO::Socket::INET -e '
my $s = IO::Socket::INET->new(\"NAME:PORT\") or die \"no connection: $@\";
print $s \"GET / HTTP/1.0\\r\\n\\r\\n\"; print while <$s>'",
        "perl",
        ReachesNothing
    ),
    http!(
        "perl_http_tiny",
        "perl -MHTTP::Tiny -e 1",
        "perl -MHTTP::Tiny -e 'my $r = HTTP::Tiny->new->get(\"http://NAME:PORT/\"); print $r->{content}; exit !$r->{success}'",
        "perl",
        Reaches
    ),
    http!(
        "bash",
        "bash",
        "exec 3<>/dev/tcp/NAME/PORT && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3",
        "bash",
        ReachesNothing
    ),
    other!(
        "git_over_http",
        "git",
        NO_FILE,
        "git ls-remote http://NAME:PORT/repository.git",
        "GET /repository.git/info/refs",
        "refs/heads/main",
        "git-remote-http",
        Reaches
    ),
    other!(
        "git_protocol",
        "git",
        NO_FILE,
        "git ls-remote git://NAME:PORT/repository.git",
        "git-upload-pack",
        "",
        "git",
        ReachesNothing
    ),
    other!(
        "ssh",
        "ssh",
        NO_FILE,
        "ssh -F none -o BatchMode=yes -o UserKnownHostsFile=none -p PORT me@NAME true",
        "SSH-2.0",
        "",
        "ssh",
        ReachesNothing
    ),
    other!(
        "openssl",
        "openssl",
        NO_FILE,
        "openssl s_client -connect NAME:PORT </dev/null",
        "\x16\x03",
        "",
        "openssl",
        ReachesNothing
    ),
    other!(
        "psql",
        "psql",
        NO_FILE,
        "PGSSLMODE=disable psql -w -h NAME -p PORT -U me data",
        "database\0data",
        "",
        "psql",
        ReachesNothing
    ),
    other!(
        "docker",
        "docker",
        NO_FILE,
        "docker -H tcp://NAME:PORT version",
        "/_ping",
        "",
        "docker",
        Untried
    ),
    http!(
        "c_with_shared_libraries",
        "gcc",
        ("c.c", CONNECT_IN_C),
        "gcc -w c.c -o connecting && ./connecting NAME PORT",
        "connecting",
        ReachesNothing
    ),
    http!(
        "c_without_shared_libraries",
        "echo 'int main(){}' | gcc -static -x c - -o /dev/null",
        ("c.c", CONNECT_IN_C),
        "gcc -w -static c.c -o connecting 2>/dev/null && ./connecting NAME PORT",
        "connecting",
        ReachesNothing
    ),
    http!(
        "rust",
        "rustc",
        ("c.rs", CONNECT_IN_RUST),
        "rustc -o connecting c.rs && ./connecting NAME PORT",
        "connecting",
        ReachesNothing
    ),
    http!(
        "tcl_http",
        "echo 'package require http' | tclsh",
        "echo 'package require http; puts [http::data [http::geturl http://NAME:PORT/]]' | tclsh",
        "tclsh",
        ReachesNothing
    ),
    http!(
        "python_in_gdb",
        "gdb -batch -ex 'python import urllib.request'",
        "gdb -nx -batch -ex 'python import urllib.request as r; print(r.urlopen(\"http://NAME:PORT/\").read().decode())'",
        "gdb",
        Reaches
    ),
];

/// Everything outside: answers HTTP as registries and repositories do, and remembers what it got first on each connection.
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let list = Arc::clone(&list);
                thread::spawn(move || answer(stream, port, &list));
            }
        });
        Self { port, seen }
    }

    fn saw(&self, what: &str) -> bool {
        self.seen.lock().unwrap().iter().any(|text| text.contains(what))
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn answer(mut stream: TcpStream, port: u16, seen: &Mutex<Vec<String>>) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
    let mut bytes = vec![0; 16384];
    let mut count = read(&mut stream, &mut bytes);
    let is_http = bytes.starts_with(b"GET ") || bytes.starts_with(b"HEAD ");
    while is_http && !bytes[..count].windows(4).any(|end| end == b"\r\n\r\n") {
        match read(&mut stream, &mut bytes[count..]) {
            0 => return,
            more => count += more,
        }
    }
    // Git sends the length of what follows by itself.
    if count == 4 && bytes[..4].iter().all(u8::is_ascii_hexdigit) {
        count += read(&mut stream, &mut bytes[count..]);
    }
    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(text);
    if !is_http {
        return;
    }
    let (kind, body) = content(path.split('?').next().unwrap_or_default(), port);
    let status = if body.is_empty() { "404 Not Found" } else { "200 OK" };
    // At once: some read only what comes first.
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(reply.as_bytes());
}

/// Reads what is there, nothing at the end. With a time limit, a signal ends the call too: somebody paused this program, say.
fn read(stream: &mut TcpStream, bytes: &mut [u8]) -> usize {
    loop {
        match stream.read(bytes) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result.unwrap_or(0),
        }
    }
}

fn content(path: &str, port: u16) -> (&'static str, String) {
    let checksum = "0".repeat(64);
    match path {
        "/" => ("text/plain", "reached the server\n".to_owned()),
        "/simple/probe/" => {
            ("text/html", "<html><body><a href=\"probe-1.0.0.tar.gz\">probe</a></body></html>".to_owned())
        }
        "/probe" => {
            let version = format!(
                "{{\"name\":\"probe\",\"version\":\"1.0.0\",\"dist\":{{\"tarball\":\"http://{ALLOWED}:{port}/probe.tgz\"}}}}"
            );
            let text = format!(
                "{{\"name\":\"probe\",\"dist-tags\":{{\"latest\":\"1.0.0\"}},\"versions\":{{\"1.0.0\":{version}}}}}"
            );
            ("application/json", text)
        }
        "/config.json" => ("application/json", format!("{{\"dl\":\"http://{ALLOWED}:{port}/crates\"}}")),
        "/pr/ob/probe" => {
            let line = format!(
                "{{\"name\":\"probe\",\"vers\":\"1.0.0\",\"deps\":[],\"cksum\":\"{checksum}\",\"features\":{{}},\"yanked\":false}}\n"
            );
            ("text/plain", line)
        }
        "/repository.git/info/refs" => ("text/plain", format!("{}\trefs/heads/main\n", "1".repeat(40))),
        "/repository.git/HEAD" => ("text/plain", "ref: refs/heads/main\n".to_owned()),
        _ => ("text/plain", String::new()),
    }
}

/// A server outside, and a session that may reach it under one name.
struct Place {
    server: Server,
    harness: Harness,
    session: Session,
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Place {
    fn new(without: Without) -> Self {
        let server = Server::start();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let rule = |host: &str| HostRule { host: host.to_owned(), port: Some(server.port) };
        let loopback = || vec!["127.0.0.1".parse().unwrap()];
        let harness = Harness::with(|config| {
            config.sandbox = Some(SandboxPolicy {
                profile: "named".to_owned(),
                // The server is on this machine, where no name may lead unless its address is listed.
                network: NetworkPolicy::Named(vec![rule(ALLOWED), rule("127.0.0.1")]),
                ..enclosed(&root)
            });
            config.sandbox_hosts = Some(vec![(ALLOWED.to_owned(), loopback()), (OTHER.to_owned(), loopback())]);
            config.sandbox_without = without;
        });
        let path = std::env::var("PATH").unwrap();
        let home = root.display().to_string();
        let toolchains = |name: &str, usual: &str| {
            std::env::var(name).unwrap_or_else(|_| format!("{}/{usual}", std::env::var("HOME").unwrap_or_default()))
        };
        let environment = [
            ("PATH", path),
            ("HOME", home.clone()),
            ("TMPDIR", home),
            ("LANG", "C.UTF-8".to_owned()),
            ("RUSTUP_HOME", toolchains("RUSTUP_HOME", ".rustup")),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), ByteString::from(value.as_str())));
        let session = Session::new(harness.engine.fresh_state(&root, environment, 0o022));
        Self { server, harness, session, folder, runtime: runtime() }
    }

    fn run(&self, client: &Client, name: &str) -> RunReport {
        let command = client.run.replace("NAME", name).replace("PORT", &self.server.port.to_string());
        if !client.file.0.is_empty() {
            fs::write(self.folder.path().join(client.file.0), client.file.1).unwrap();
        }
        let mut request = CommandRequest::new(command.as_str());
        request.timeout = Some(2 * PATIENCE);
        self.runtime.block_on(self.harness.request(&self.session, request))
    }
}

fn said(report: &RunReport) -> String {
    format!(
        "{:?}\n{}\n{}\nrefused: {:?}\n{:?}",
        report.outcome,
        report.stdout.to_text(),
        report.stderr.to_text(),
        report.refused,
        report.protection.sandbox
    )
}

/// In a network of its own.
fn by_name(client: &Client) -> Result<(), String> {
    let place = Place::new(Without::default());
    reaches(&place, client)?;
    let Some(report) = reaches_no_other(&place, client)? else { return Ok(()) };
    let refused = report.refused.iter().find(|refused| refused.path == OTHER);
    match refused {
        Some(refused) if refused.by.starts_with(client.by) && refused.rule == "network" => Ok(()),
        _ => Err(format!("the refusal is not recorded with its name and its program:\n{}", said(&report))),
    }
}

/// Where the only way out is a proxy.
fn by_proxy(client: &Client) -> Result<(), String> {
    let place = Place::new(Without { network_namespace: true, ..Without::default() });
    match client.proxy {
        Reaches => reaches(&place, client)?,
        ReachesNothing => {
            let report = place.run(client, ALLOWED);
            let seen = place.server.take();
            if !seen.is_empty() {
                return Err(format!("it got out without the proxy: {seen:?}\n{}", said(&report)));
            }
        }
        Untried => {}
    }
    reaches_no_other(&place, client).map(|_| ())
}

fn reaches(place: &Place, client: &Client) -> Result<(), String> {
    let report = place.run(client, ALLOWED);
    let printed = report.stdout.to_text().contains(client.prints);
    if !place.server.saw(client.sees) || !printed {
        return Err(format!("it did not reach the allowed name: {:?}\n{}", place.server.take(), said(&report)));
    }
    if report.refused.iter().any(|refused| refused.rule == "network") {
        return Err(format!("something was refused:\n{}", said(&report)));
    }
    place.server.take();
    Ok(())
}

fn reaches_no_other(place: &Place, client: &Client) -> Result<Option<RunReport>, String> {
    let since = Instant::now();
    let report = place.run(client, OTHER);
    let seen = place.server.take();
    if !seen.is_empty() || report.stdout.to_text().contains("reached the server") {
        return Err(format!("it reached another name: {seen:?}\n{}", said(&report)));
    }
    if since.elapsed() > PATIENCE {
        return Err(format!("it took {:?} to be refused:\n{}", since.elapsed(), said(&report)));
    }
    Ok(Some(report))
}

type Check = fn(&Client) -> Result<(), String>;

/// Whether a client can be had here.
fn is_here(client: &Client, folder: &Path) -> bool {
    if !client.needs.contains(' ') {
        let path = std::env::var_os("PATH").unwrap_or_default();
        return std::env::split_paths(&path).any(|folder| folder.join(client.needs).is_file());
    }
    #[expect(clippy::disallowed_methods, reason = "what is installed is not asked of the engine")]
    let mut check = Command::new("bash");
    check.args(["-c", client.needs]).current_dir(folder).stdin(Stdio::null());
    check.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn main() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let mut trials = Vec::new();
    for client in CLIENTS {
        let is_here = is_here(client, folder.path());
        for (way, check) in [("by name", by_name as Check), ("by a proxy", by_proxy)] {
            let kind = if is_here { way.to_owned() } else { format!("{way}, not installed here") };
            let trial = Trial::test(client.name, move || check(client).map_err(Into::into));
            trials.push(trial.with_kind(kind).with_ignored_flag(!is_here));
        }
    }
    let enough = || if CLIENTS.len() >= 20 { Ok(()) } else { Err("too few clients".into()) };
    trials.push(Trial::test("there_are_at_least_twenty_clients", enough));
    trials::run(Threads::Processors, trials, Vec::new())
}
