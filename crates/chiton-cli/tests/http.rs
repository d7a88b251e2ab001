//! The server over HTTP, spoken to by plain sockets: who gets in, and what each client may see.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use chiton_testkit::processes::{eventually, with_command};
use chiton_testkit::wire::LIMIT;
use serde_json::json;

use crate::place::web::{Headers, Server, Session, modern_call, modern_headers, status};
use crate::place::{Place, text};

#[test]
fn of_twelve_requests_only_the_right_one_runs_anything() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let set = |name: &'static str, value: &str| {
        let value = value.to_owned();
        move |headers: &mut Headers| {
            headers.retain(|(known, _)| known != name);
            headers.push((name.to_owned(), value));
        }
    };
    let remove = |name: &'static str| move |headers: &mut Headers| headers.retain(|(known, _)| known != name);
    let port: u16 = server.host.rsplit(':').next().unwrap().parse().unwrap();
    let request = |number: usize, change: &dyn Fn(&mut Headers)| {
        let body = modern_call(&json!({"command": format!("touch ran.{number}")}));
        server.request(&body, |headers| {
            modern_headers(headers);
            change(headers);
        })
    };
    let double = |headers: &mut Headers| headers.push(("Host".to_owned(), server.host.clone()));
    let right = request(0, &|_| {});
    let cases: Vec<(&str, String, u16)> = vec![
        ("right", right.clone(), 200),
        ("no token", request(1, &remove("Authorization")), 401),
        ("wrong token", request(2, &set_once(set("Authorization", "Bearer 0123456789abcdef0123456789abcdef"))), 401),
        ("foreign Host", request(3, &set_once(set("Host", "evil.example"))), 403),
        ("wrong port", request(4, &set_once(set("Host", &format!("127.0.0.1:{}", port ^ 1)))), 403),
        ("no Host", request(5, &remove("Host")), 400),
        ("two Hosts", request(6, &double), 400),
        ("foreign Origin", request(7, &set_once(set("Origin", "https://evil.example"))), 403),
        ("Origin null", request(8, &set_once(set("Origin", "null"))), 403),
        ("text/plain", request(9, &set_once(set("Content-Type", "text/plain"))), 415),
    ];
    for (what, request, expected) in cases {
        let answer = server.send(request.as_bytes());
        assert_eq!(status(&answer), expected, "{what}: {answer}");
    }
    let huge = right.split_once("Content-Length").unwrap().0.replace("ran.0", "ran.10");
    let huge = format!("{huge}Content-Length: {}\r\n\r\n", 100 << 20);
    assert_eq!(status(&server.send(huge.as_bytes())), 413, "a body of 100 MB");
    let chunked = right.split_once("Content-Length").unwrap().0;
    let mut chunked = format!("{chunked}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..100 {
        chunked.extend(format!("{:x}\r\n", 1 << 20).bytes());
        chunked.extend(std::iter::repeat_n(b' ', 1 << 20));
        chunked.extend(b"\r\n");
    }
    let answer = server.send(&chunked);
    assert!(answer.is_empty() || status(&answer) == 413, "a body of 100 MB in pieces: {answer}");
    let mut slow = TcpStream::connect(&server.host).unwrap();
    slow.set_read_timeout(Some(LIMIT)).unwrap();
    slow.write_all(&right.as_bytes()[..60]).unwrap();
    let mut answer = Vec::new();
    // It hangs up by itself: nothing more is ever sent.
    slow.read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty() || status(&text(&answer)) == 408, "{}", text(&answer));

    let ran: Vec<usize> = (0..12).filter(|number| place.folder.path().join(format!("ran.{number}")).exists()).collect();
    assert_eq!(ran, [0]);
}

/// A change that can be made more than once.
fn set_once<F: FnOnce(&mut Headers) + Clone>(change: F) -> impl Fn(&mut Headers) {
    move |headers| change.clone()(headers)
}

#[test]
fn each_session_has_a_shell_and_tasks_of_its_own() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let (one, other) = (Session::open(&server), Session::open(&server));
    one.call("Bash", &json!({"command": "cd /usr; export WHO=one"}));
    let seen = |session: &Session| {
        session.call("Bash", &json!({"command": "echo $PWD $WHO"}))["structuredContent"]["output"].clone()
    };
    assert_eq!(seen(&one), "/usr one\n");
    assert_eq!(seen(&other), format!("{} \n", place.folder.path().display()).replace(" \n", "\n"));

    let sleep = format!("sleep 81001.{}", std::process::id());
    let started = one.call("Bash", &json!({"command": sleep, "run_in_background": true}));
    let id = started["structuredContent"]["bash_id"].as_str().unwrap();
    for (tool, arguments) in [
        ("BashOutput", json!({"bash_id": id})),
        ("BashInput", json!({"bash_id": id, "text": "x"})),
        ("KillShell", json!({"bash_id": id})),
        ("BashOutput", json!({"bash_id": id, "others": true})),
        ("KillShell", json!({"bash_id": id, "others": true})),
    ] {
        let refused = other.call(tool, &arguments);
        let said = refused["content"][0]["text"].as_str().unwrap();
        assert!(refused["isError"] == true && said.contains("not found"), "{tool}: {refused}");
        assert!(!said.contains("did you mean"), "{tool} tells of others' tasks: {said}");
    }
    for arguments in [json!({}), json!({"others": true})] {
        let listed = other.call("ListShells", &arguments);
        assert!(!listed.to_string().contains(id), "{listed}");
    }
    let resources = other.post(&json!({"jsonrpc": "2.0", "id": 8, "method": "resources/list", "params": {}}));
    assert!(!resources.contains(id), "{resources}");
    assert!(one.call("ListShells", &json!({})).to_string().contains(id));
    assert!(!server.call_modern(&json!({"command": "true"})).to_string().contains(id));
    assert_eq!(one.call("KillShell", &json!({"bash_id": id}))["isError"], false);
    assert!(with_command(&sleep).is_empty());
    assert!(text(&place.call(&["ps", "--all"]).stdout).contains(id), "the human sees all of them");
}

#[test]
fn requests_without_a_session_share_one_shell_and_hanging_up_ends_a_call() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    server.call_modern(&json!({"command": "cd /usr"}));
    let answer = server.call_modern(&json!({"command": "pwd"}));
    assert_eq!(answer["result"]["structuredContent"]["output"], "/usr\n");
    let sleep = format!("sleep 81002.{}", std::process::id());
    let request = server.request(&modern_call(&json!({"command": sleep})), modern_headers);
    let mut stream = TcpStream::connect(&server.host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    assert!(eventually(LIMIT, || !with_command(&sleep).is_empty()), "it does not run");
    drop(stream);
    assert!(eventually(LIMIT, || with_command(&sleep).is_empty()), "it lives on");
}

#[test]
fn a_socket_in_the_file_system_serves_its_owner() {
    let place = Place::new();
    let folder = place.folder.path().join("own");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("mcp.sock");
    let address = format!("unix:{}", path.display());
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = place.call(&["mcp", "--http", &address]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("chmod 700"), "{}", text(&refused.stderr));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut server = Server::start(&place, &address, &[]);
    assert_eq!(server.call_modern(&json!({"command": "echo here"}))["result"]["structuredContent"]["output"], "here\n");
    let taken = place.call(&["mcp", "--http", &address]);
    assert!(!taken.status.success() && text(&taken.stderr).contains("mcp.sock"), "{}", text(&taken.stderr));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert!(path.exists(), "a killed server leaves its socket");
    let next = Server::start(&place, &address, &[]);
    assert_eq!(next.call_modern(&json!({"command": "echo again"}))["result"]["structuredContent"]["output"], "again\n");

    // A folder that is not there is made, for its owner alone.
    let made = place.folder.path().join("new/deep");
    let third = Server::start(&place, &format!("unix:{}", made.join("mcp.sock").display()), &[]);
    assert_eq!(third.call_modern(&json!({"command": "echo made"}))["result"]["structuredContent"]["output"], "made\n");
    assert_eq!(std::fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_command_is_not_a_client_of_the_server_that_runs_it() {
    let place = Place::new();
    let request = place.folder.path().join("request");
    let server = Server::start(&place, "127.0.0.1:0", &["--guard", "off"]);
    std::fs::write(&request, server.request(&modern_call(&json!({"command": "echo inside"})), modern_headers)).unwrap();
    let (host, port) = server.host.split_once(':').unwrap();
    // With the right token, whoever it is and however it leaves its shell.
    let ask = format!("exec 3<>/dev/tcp/{host}/{port}; cat {} >&3; cat <&3", request.display());
    let script = place.folder.path().join("ask.sh");
    std::fs::write(&script, &ask).unwrap();
    let script = script.display();
    for command in [ask.clone(), format!("bash {script}"), format!("(setsid bash {script} & ) | cat")] {
        let reply = server.call_modern(&json!({"command": command}));
        let output = reply["result"]["structuredContent"]["output"].as_str().unwrap_or_default();
        assert!(output.contains("403 Forbidden") && output.contains("cannot be a client"), "{command}: {reply}");
        assert!(!output.contains("inside"), "{command}: {reply}");
    }
    assert_eq!(
        server.call_modern(&json!({"command": "echo outside"}))["result"]["structuredContent"]["output"],
        "outside\n"
    );
}

#[test]
fn the_head_of_a_request_may_have_64_kib_and_not_a_byte_more() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let head_of = |padding: usize| {
        let request = server.request(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}), |headers| {
            headers.push(("X-Padding".to_owned(), "x".repeat(padding)));
        });
        (request.find("\r\n\r\n").unwrap() + 4, request)
    };
    let (shortest, _) = head_of(0);
    for (length, is_taken) in [(64 << 10, true), ((64 << 10) + 1, false), (70_000, false)] {
        let (head, request) = head_of(length - shortest);
        assert_eq!(head, length);
        let answer = status(&server.send(request.as_bytes()));
        assert_eq!(answer != 431, is_taken, "{length}: {answer}");
    }
}

#[test]
fn an_address_or_a_token_file_that_is_open_to_others_is_refused() {
    let place = Place::new();
    let token = place.folder.path().join("token");
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (vec!["--http", "0.0.0.0:0"], "--http-allow-remote"),
        (vec!["--http", "[::]:0"], "--http-allow-remote"),
        (vec!["--http", "0.0.0.0:0", "--http-allow-remote"], "--http-host"),
        (vec!["--http", "nonsense"], "IP:PORT"),
        (vec!["--http", "256.0.0.1:80"], "IP:PORT"),
        (vec!["--http", "127.0.0.1:0", "--http-token-file", token.to_str().unwrap()], "chmod 600"),
        (vec!["--http", "127.0.0.1:0", "--http-token-file", "/no/such/folder/token"], "cannot be made"),
    ];
    std::fs::write(&token, "0123456789abcdef0123456789abcdef").unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    for (arguments, words) in cases {
        let refused = place.call(&[&["mcp"], arguments.as_slice()].concat());
        assert!(!refused.status.success(), "{arguments:?}");
        assert!(text(&refused.stderr).contains(words), "{arguments:?}: {}", text(&refused.stderr));
    }
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let made = place.folder.path().join("state/chiton/http-token");
    assert_eq!(std::fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(server.token.len(), 64);
    let busy = place.call(&["mcp", "--http", &server.host]);
    assert!(!busy.status.success() && text(&busy.stderr).contains("cannot listen"), "{}", text(&busy.stderr));
    drop(server);
    let again = Server::start(&place, "127.0.0.1:0", &[]);
    assert_eq!(again.token, std::fs::read_to_string(&made).unwrap(), "the token stays");
}

#[test]
fn an_answer_does_not_wait_for_a_packet_that_does_not_come() {
    let place = Place::new();
    let server = Server::start(&place, "127.0.0.1:0", &[]);
    let session = Session::open(&server);
    let ping = || session.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let quickest = (0..20).map(|_| timed(&ping)).min().unwrap();
    // Without TCP_NODELAY every one of them takes more than 40 ms.
    assert!(quickest < Duration::from_millis(30), "{quickest:?}");
}

fn timed(work: &dyn Fn() -> String) -> Duration {
    let begun = std::time::Instant::now();
    assert_eq!(status(&work()), 200);
    begun.elapsed()
}
