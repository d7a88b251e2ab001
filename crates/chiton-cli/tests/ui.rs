//! The page of `chiton ui`, spoken to by plain sockets: who gets in, what they may do, and what a restart leaves. What a
//! browser makes of it is in `foreign/page`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use chiton_testkit::processes::eventually;
use chiton_watch::overview::Overview;
use serde_json::{Value, json};

use crate::place::{Place, allow, text, until};

const SOON: Duration = Duration::from_secs(20);

/// The page, served by the real program.
struct Served {
    server: Child,
    host: String,
    key: String,
}

impl Served {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut command = place.command();
        command.arg("ui").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (host, key) = parts(&line);
        Self { server, host, key }
    }

    fn send(&self, request: &str) -> String {
        send(&self.host, request)
    }

    /// A request with these headers besides `Host`; an empty value takes a header away.
    fn ask(&self, first: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut all = vec![("Host", self.host.as_str())];
        for (name, value) in headers {
            all.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            if !value.is_empty() {
                all.push((name, value));
            }
        }
        let headers: Vec<String> = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let headers = headers.concat();
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        self.send(&format!("{first} HTTP/1.1\r\n{headers}{length}Connection: close\r\n\r\n{body}"))
    }

    /// The cookie that the link sets.
    fn cookie(&self) -> String {
        let answer = self.ask(&format!("GET /?key={}", self.key), &[], "");
        assert_eq!(status(&answer), 303, "{answer}");
        let set = header(&answer, "set-cookie").unwrap();
        for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(set.contains(word), "{set}");
        }
        assert_eq!(header(&answer, "location").as_deref(), Some("/"));
        set.split(';').next().unwrap().to_owned()
    }

    fn hello(&self, cookie: &str) -> Value {
        let answer = self.ask("GET /api/hello", &[("Cookie", cookie)], "");
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn parts(line: &str) -> (String, String) {
    let (host, key) = line.trim().strip_prefix("http://").unwrap().split_once("/?key=").unwrap();
    (host.to_owned(), key.to_owned())
}

fn send(host: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    text(&answer)
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn header(answer: &str, name: &str) -> Option<String> {
    let head = answer.split("\r\n\r\n").next()?;
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

#[test]
fn only_who_has_used_the_link_gets_anything() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    for (path, expected) in [("/", 401), ("/api/hello", 401), ("/api/events", 401), ("/assets/app.js", 401)] {
        assert_eq!(status(&served.ask(&format!("GET {path}"), &[], "")), expected, "{path}");
    }
    for key in ["", "0", &"0".repeat(64), &served.key[1..], &format!("{}0", served.key), "../key"] {
        assert_eq!(status(&served.ask(&format!("GET /?key={key}"), &[], "")), 403, "{key}");
    }
    let cookie = served.cookie();
    assert_eq!(status(&served.ask(&format!("GET /?key={}", served.key), &[], "")), 403, "the link was used");
    assert_eq!(status(&served.ask("GET /", &[("Cookie", &cookie)], "")), 200);
    assert_eq!(status(&served.ask("GET /nowhere", &[("Cookie", &cookie)], "")), 404);
    assert_eq!(status(&served.ask("GET /assets/../Cargo.toml", &[("Cookie", &cookie)], "")), 404);
    assert_eq!(status(&served.ask("DELETE /", &[("Cookie", &cookie)], "")), 405);
    let (name, value) = cookie.split_once('=').unwrap();
    for wrong in [format!("{name}={}", &value[1..]), format!("{name}="), format!("other={value}")] {
        assert_eq!(status(&served.ask("GET /", &[("Cookie", &wrong)], "")), 401, "{wrong}");
    }
}

#[test]
fn requests_for_others_and_of_others_are_not_answered() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let cookie = served.cookie();
    let port = served.host.rsplit(':').next().unwrap();
    let local = format!("localhost:{port}");
    let (own, other) =
        (format!("http://{}", served.host), format!("http://127.0.0.1:{}", port.parse::<u16>().unwrap() ^ 1));
    let cases: [(&[(&str, &str)], u16); 12] = [
        (&[], 200),
        (&[("Host", &local)], 200),
        (&[("Origin", &own)], 200),
        (&[("Sec-Fetch-Site", "same-origin")], 200),
        (&[("Host", "")], 400),
        (&[("Host", "evil.example")], 403),
        (&[("Host", "127.0.0.1")], 403),
        (&[("Origin", "https://evil.example")], 403),
        (&[("Origin", &other)], 403),
        (&[("Origin", "null")], 403),
        (&[("Sec-Fetch-Site", "same-site")], 403),
        (&[("Sec-Fetch-Site", "cross-site")], 403),
    ];
    for (headers, expected) in cases {
        let all: Vec<(&str, &str)> = [("Cookie", cookie.as_str())].into_iter().chain(headers.iter().copied()).collect();
        assert_eq!(status(&served.ask("GET /api/hello", &all, "")), expected, "{headers:?}");
    }
    let doubled = format!("GET / HTTP/1.1\r\nHost: {0}\r\nHost: {0}\r\nCookie: {cookie}\r\n\r\n", served.host);
    assert_eq!(status(&served.send(&doubled)), 400);
}

#[test]
fn every_answer_keeps_the_page_to_itself() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let refused = served.ask("GET /", &[], "");
    let cookie = served.cookie();
    let page = served.ask("GET /", &[("Cookie", &cookie)], "");
    let script = served.ask("GET /assets/app.js", &[("Cookie", &cookie)], "");
    for answer in [&refused, &page, &script] {
        let policy = header(answer, "content-security-policy").unwrap();
        for part in [
            "default-src 'none'", "frame-ancestors 'none'", "script-src 'self'", "base-uri 'none'",
            "form-action 'none'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(header(answer, name).as_deref(), Some(value));
        }
        assert_eq!(header(answer, "access-control-allow-origin"), None);
    }
    let word =
        |answer: &str| header(answer, "content-security-policy").unwrap().rsplit("'nonce-").next().unwrap().to_owned();
    let again = served.ask("GET /", &[("Cookie", &cookie)], "");
    assert_ne!(word(&page), word(&again), "each answer has a word of its own");
}

#[test]
fn what_changes_something_needs_control_and_comes_from_the_page() {
    let place = Place::new();
    let id = place.background(&[&until("over")]);
    let first = format!("POST /api/runs/{id}/kill");
    {
        let served = Served::start(&place, &[]);
        let cookie = served.cookie();
        let token = served.hello(&cookie)["token"].as_str().unwrap().to_owned();
        let own = format!("http://{}", served.host);
        let headers = [
            ("Cookie", cookie.as_str()),
            ("Origin", &own),
            ("Content-Type", "application/json"),
            ("X-Chiton-Token", &token),
        ];
        let answer = served.ask(&first, &headers, "{}");
        assert_eq!(status(&answer), 403, "{answer}");
        assert!(answer.contains("--control"), "{answer}");
    }
    let served = Served::start(&place, &["--control"]);
    let cookie = served.cookie();
    let hello = served.hello(&cookie);
    assert_eq!(hello["control"], true);
    let token = hello["token"].as_str().unwrap().to_owned();
    let own = format!("http://{}", served.host);
    let good = [
        ("Cookie", cookie.as_str()),
        ("Origin", &own),
        ("Content-Type", "application/json"),
        ("X-Chiton-Token", &token),
    ];
    let with = |name: &'static str, value: &'static str| {
        let mut headers = good.to_vec();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value));
        headers
    };
    let wrong = [
        (with("Cookie", ""), 401),
        (with("Origin", ""), 403),
        (with("Origin", "https://evil.example"), 403),
        (with("Content-Type", "text/plain"), 415),
        (with("Content-Type", ""), 415),
        (with("X-Chiton-Token", ""), 403),
        (with("X-Chiton-Token", "0"), 403),
        (with("Sec-Fetch-Site", "cross-site"), 403),
    ];
    for (headers, expected) in wrong {
        let answer = served.ask(&first, &headers, "{}");
        assert_eq!(status(&answer), expected, "{headers:?}: {answer}");
    }
    assert_eq!(status(&served.ask(&first, &good, "{\"more\": 1}")), 400, "what nobody knows is not passed over");
    assert_eq!(status(&served.ask(&first, &with("Content-Length", "99999999"), "")), 413);
    assert_eq!(status(&served.ask("POST /api/runs/shell_00000000/kill", &good, "{}")), 409);
    assert_eq!(status(&served.ask(&first.replace("POST", "GET"), &good, "")), 404);
    assert!(text(&place.call(&["ps"]).stdout).contains(&id), "it runs on");

    let answer = served.ask(&first, &good, "{}");
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(!text(&place.call(&["ps"]).stdout).contains(&id));
    assert!(text(&place.call(&["audit"]).stdout).contains(&format!("{id} kill")));
}

#[test]
fn a_command_cannot_use_the_page_even_with_the_key() {
    let place = Place::new();
    let served = Served::start(&place, &["--control"]);
    let cookie = served.cookie();
    let ask = |what: &str| {
        format!(
            "exec 3<>/dev/tcp/{}; printf 'GET {what} HTTP/1.1\\r\\nHost: {}\\r\\nCookie: {cookie}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3",
            served.host.replace(':', "/"),
            served.host,
        )
    };
    let said = text(&place.run(&["--guard", "off", &ask("/api/hello")]).stdout);
    assert_eq!(status(&said), 403, "{said}");
    assert!(said.contains("cannot use this page") && !said.contains("token"), "{said}");
    assert_eq!(status(&served.ask("GET /api/hello", &[("Cookie", &cookie)], "")), 200, "everybody else can");
}

#[test]
fn a_restart_keeps_the_port_and_the_cookie_and_a_second_one_gives_another_link() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let (host, cookie) = (served.host.clone(), served.cookie());
    let second = place.call(&["ui"]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    let (same, key) = parts(&text(&second.stdout));
    assert_eq!(same, host);
    assert_eq!(status(&served.ask(&format!("GET /?key={key}"), &[], "")), 303);
    let (_, unused) = parts(&text(&place.call(&["ui"]).stdout));
    drop(served);

    let served = Served::start(&place, &[]);
    assert_eq!(served.host, host);
    assert_eq!(status(&served.ask("GET /", &[("Cookie", &cookie)], "")), 200);
    assert_eq!(
        status(&served.ask(&format!("GET /?key={unused}"), &[], "")),
        303,
        "a link that nobody used still opens"
    );
    let folder = place.folder.path().join("state/chiton/ui");
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(folder.join("key").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// Reads a stream of events until `wanted` is in it.
fn read_until(served: &Served, path: &str, cookie: &str, wanted: &str) -> String {
    let mut stream = TcpStream::connect(&served.host).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", served.host).unwrap();
    let (mut all, mut buffer) = (String::new(), [0; 4096]);
    while !all.contains(wanted) {
        let count = stream.read(&mut buffer).unwrap_or(0);
        assert!(count > 0, "{wanted} is not in {all}");
        all += &String::from_utf8_lossy(&buffer[..count]);
    }
    all
}

#[test]
fn runs_and_their_output_come_as_events() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let cookie = served.cookie();
    let id = place.background(&[&format!("echo early; {}; echo late; exit 4", until("go"))]);
    let news = read_until(&served, "/api/events", &cookie, &id);
    assert!(news.contains("event: news") && news.contains("\"status\":\"running\""), "{news}");
    let path = format!("/api/runs/{id}/output");
    assert!(!read_until(&served, &path, &cookie, "early").contains("late\\n"));
    allow(&place, "go");
    let output = read_until(&served, &path, &cookie, "event: end");
    assert!(output.contains("late") && output.contains("failed"), "{output}");
    let news = read_until(&served, "/api/events", &cookie, "\"exit_code\":4");
    assert!(news.contains(&id), "{news}");
    let journal = served.ask("GET /api/journal?words=early+exit", &[("Cookie", &cookie)], "");
    assert!(status(&journal) == 200 && journal.contains(&id), "{journal}");
    assert!(!served.ask("GET /api/journal?words=nowhere", &[("Cookie", &cookie)], "").contains(&id));
    let counts = served.ask("GET /api/counts?hours=1", &[("Cookie", &cookie)], "");
    assert!(counts.contains("\"badly\":1"), "{counts}");
}

#[test]
fn the_overview_has_what_waits_first_and_reads_what_has_ended_once() {
    let place = Place::new();
    let ended =
        place.json(&["echo one; printf '\\033[31mtwo\\033[0m\\n'; exit 3"])["run_id"].as_str().unwrap().to_owned();
    let busy = place.background(&["--description", "a loop", "while :; do :; done"]);
    let asks = place.background(&["--pty", "read -rp 'Who? ' x"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let state = place.folder.path().join("state/chiton");
    runtime.block_on(async {
        let mut overview = Overview::new(&state);
        let seen = eventually_refreshed(&mut overview, |overview| {
            let run = |id: &str| overview.run(id).cloned();
            let (busy, asks) = (run(&busy)?, run(&asks)?);
            (asks.wait.is_some() && busy.cpu? > 20).then_some((busy, asks))
        });
        let (busy_run, asks_run) = seen.await;
        assert_eq!(overview.runs().map(|run| run.id.as_str()).collect::<Vec<_>>(), [&asks, &busy, &ended]);
        assert_eq!(asks_run.wait.as_ref().unwrap().prompt, "Who?");
        assert!(asks_run.terminal && asks_run.is_running());
        assert!(busy_run.memory.unwrap() > 100_000 && busy_run.processes >= 1, "{busy_run:?}");
        assert_eq!(busy_run.description.as_deref(), Some("a loop"));
        let run = overview.run(&ended).unwrap();
        assert_eq!((run.exit_code, run.last_line.as_str(), run.printed), (Some(3), "two", 17));

        // What has ended is not read again: not even if it can no longer be read.
        let revision = run.revision;
        std::fs::write(state.join("runs").join(&ended).join("request.json"), "not a record").unwrap();
        overview.refresh().await;
        assert_eq!(overview.run(&ended).unwrap().revision, revision);
        std::fs::remove_dir_all(state.join("runs").join(&ended)).unwrap();
        overview.refresh().await;
        assert!(overview.run(&ended).is_none());
        assert_eq!(overview.gone_since(revision).unwrap(), [ended.as_str()]);

        place.call(&["kill", &busy, &asks]);
        overview.refresh().await;
        let killed: Vec<_> = overview.runs().map(|run| (run.status, run.wait.is_some(), run.cpu)).collect();
        assert_eq!(killed, [(chiton_engine::TaskStatus::Killed, false, None); 2]);
    });
}

async fn eventually_refreshed<T>(overview: &mut Overview, seen: impl Fn(&Overview) -> Option<T>) -> T {
    let end = std::time::Instant::now() + SOON;
    loop {
        overview.refresh().await;
        if let Some(seen) = seen(overview) {
            return seen;
        }
        assert!(std::time::Instant::now() < end, "not seen: {:?}", overview.runs().collect::<Vec<_>>());
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[test]
fn a_question_reaches_whoever_looks_and_the_answer_comes_back() {
    let place = Place::new();
    let rule = "[{decision = 'ask', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries sing.', match = ['touch canary']}]";
    std::fs::write(place.folder.path().join("settings.toml"), format!("[guard]\nrule = {rule}\n")).unwrap();
    let work = place.folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let served = Served::start(&place, &["--control"]);
    let cookie = served.cookie();
    let token = served.hello(&cookie)["token"].as_str().unwrap().to_owned();
    // Somebody looks, as long as this connection lasts.
    let mut page = TcpStream::connect(&served.host).unwrap();
    write!(page, "GET /api/events HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", served.host).unwrap();
    page.set_read_timeout(Some(SOON)).unwrap();
    let mut buffer = [0; 4096];
    assert!(page.read(&mut buffer).unwrap() > 0);

    let settings = place.folder.path().join("settings.toml");
    let call = json!({"command": "touch canary.once"}).to_string();
    let mut asked = place
        .command()
        .current_dir(&work)
        .args(["--config", settings.to_str().unwrap(), "call", "Bash", &call])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let news = read_until(&served, "/api/events", &cookie, "Canaries sing.");
    let id = news.split("\"approvals\":[{\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let own = format!("http://{}", served.host);
    let good = [
        ("Cookie", cookie.as_str()),
        ("Origin", &own),
        ("Content-Type", "application/json"),
        ("X-Chiton-Token", &token),
    ];
    assert_eq!(status(&served.ask(&format!("POST /api/approvals/{id}"), &good, "{\"answer\": \"maybe\"}")), 409);
    assert!(!work.join("canary.once").exists());
    assert_eq!(status(&served.ask(&format!("POST /api/approvals/{id}"), &good, "{\"answer\": \"once\"}")), 200);
    assert!(asked.wait().unwrap().success());
    assert!(eventually(SOON, || work.join("canary.once").exists()));
}
