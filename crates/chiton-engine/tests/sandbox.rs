//! What passes the guard is held by the sandbox.

use std::fs;
use std::path::{Path, PathBuf};

use chiton_engine::sandbox::Without;
use chiton_engine::sandbox::policy::{HostRule, MadePlace, MissingLayer, NetworkPolicy, SandboxLimits, SandboxPolicy};
use chiton_engine::{Outcome, RunReport, Session};

use crate::harness::{Harness, enclosed, runtime};

/// A workspace, a place outside of it, and a sandbox for the workspace.
struct Place {
    harness: Harness,
    session: Session,
    _folder: tempfile::TempDir,
    root: PathBuf,
}

fn policy(root: &Path) -> SandboxPolicy {
    SandboxPolicy {
        hide: vec![root.join("secret"), root.join("key")],
        keep: vec![root.join("work/.git/hooks")],
        ..enclosed(&root.join("work"))
    }
}

fn place(adjust: impl FnOnce(&mut SandboxPolicy), without: Without) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for path in ["work/.git/hooks", "secret", "outside"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    for (path, text) in [("secret/id", "hidden"), ("key", "hidden"), ("outside/file", "old"), ("work/file", "old")] {
        fs::write(root.join(path), text).unwrap();
    }
    let mut policy = policy(&root);
    adjust(&mut policy);
    let harness = Harness::with(|config| {
        config.sandbox = Some(policy);
        config.sandbox_without = without;
    });
    let session = harness.session_in(&root.join("work"));
    Place { harness, session, _folder: folder, root }
}

impl Place {
    async fn run(&self, command: &str) -> RunReport {
        self.harness.run(&self.session, command).await
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }
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

#[test]
fn work_inside_goes_on_as_always_and_state_comes_back() {
    runtime().block_on(async {
        let place = place(|_| {}, Without::default());
        let first = place.run("echo new > file; mkdir sub; cd sub; X=1; f() { echo f; }; echo done").await;
        assert_eq!(first.outcome, Outcome::Exited(0), "{}", said(&first));
        assert_eq!(place.read("work/file").as_deref(), Some("new\n"), "{}", said(&first));
        for _ in 0..3 {
            let second = place.run("pwd; echo $X; f; cat ../file | tr a-z A-Z").await;
            let expected = format!("{}/work/sub\n1\nf\nNEW\n", place.root.display());
            assert_eq!(second.stdout.to_text(), expected, "{}", said(&second));
            assert!(second.refused.is_empty(), "{}", said(&second));
        }
    });
}

#[test]
fn nobody_but_the_shell_itself_hands_state_back() {
    runtime().block_on(async {
        let place = place(|_| {}, Without::default());
        // A subshell is the shell; another bash, or another program, is not.
        let script = "for n in 10 11 12; do for how in '>' '<>'; do \
                      bash -c \"exec 9$how/proc/$PPID/fd/$n\" && echo bash got $n; \
                      sh -c \"exec 9$how/proc/$PPID/fd/$n\" && echo sh got $n; done; done 2>/dev/null; X=kept; (cd /; exit 0)";
        let report = place.run(script).await;
        assert_eq!(report.stdout.to_text(), "", "{}", said(&report));
        let next = place.run("echo $X; pwd").await;
        assert_eq!(next.stdout.to_text(), format!("kept\n{}/work\n", place.root.display()), "{}", said(&next));
    });
}

#[test]
fn what_is_outside_is_not_changed_and_the_reply_says_what_was_refused() {
    runtime().block_on(async {
        let place = place(|_| {}, Without::default());
        let report = place.run("echo new > ../outside/file").await;
        assert_eq!(place.read("outside/file").as_deref(), Some("old"), "{}", said(&report));
        assert_eq!(report.outcome, Outcome::Exited(1), "{}", said(&report));
        let refused = &report.refused[0];
        assert_eq!(refused.path, place.root.join("outside/file").display().to_string());
        assert_eq!((refused.by.as_str(), refused.times, refused.rule.as_str()), ("bash", 1, "write"));
    });
}

#[test]
fn what_is_hidden_cannot_be_read() {
    runtime().block_on(async {
        let place = place(|_| {}, Without::default());
        let report = place.run("cat ../secret/id ../key; ls -A ../secret").await;
        assert!(
            !said(&report).contains("hidden\n") && !report.stdout.to_text().contains("hidden"),
            "{}",
            said(&report)
        );
    });
}

#[test]
fn what_is_kept_in_the_workspace_is_not_changed_made_or_moved_away() {
    let rows = [
        ("echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("mkdir .git/hooks/x", ".git/hooks/x"),
        ("mv .git/hooks .git/old", ".git/old"),
        ("mv .git old", "old"),
    ];
    runtime().block_on(async {
        for (command, made) in rows {
            let place = place(|_| {}, Without::default());
            let report = place.run(command).await;
            assert_ne!(report.outcome, Outcome::Exited(0), "{command}: {}", said(&report));
            assert!(!place.root.join("work").join(made).exists(), "{command}: {}", said(&report));
            assert_eq!(report.refused[0].rule, "keep", "{command}: {}", said(&report));
        }
    });
}

#[test]
fn a_process_of_the_session_gets_signals_and_others_do_not() {
    runtime().block_on(async {
        let place = place(|_| {}, Without::default());
        let started = place.run("sleep 100 & echo $!").await;
        let pid = started.stdout.to_text().trim().to_owned();
        let killed = place.run(&format!("kill {pid}; echo $?")).await;
        assert_eq!(killed.stdout.to_text(), "0\n", "{}", said(&killed));
        let own = std::process::id();
        let other = place.run(&format!("kill -TERM {own}; echo $?")).await;
        assert_eq!(other.stdout.to_text(), "1\n", "{}", said(&other));
        assert_eq!(other.refused[0].rule, "signals", "{}", said(&other));
    });
}

#[test]
fn each_combination_of_missing_layers_is_named_and_holds_what_it_says() {
    runtime().block_on(async {
        for bits in 0..16u8 {
            let without = Without {
                namespaces: bits & 1 != 0,
                network_namespace: bits & 2 != 0,
                landlock: bits & 4 != 0,
                watch: bits & 8 != 0,
            };
            let place = place(|policy| policy.network = NetworkPolicy::Off, without);
            let report = place.run("echo new > file; echo new > ../outside/file; echo ended").await;
            let sandbox = report.protection.sandbox.clone().unwrap();
            assert_eq!(place.read("work/file").as_deref(), Some("new\n"), "{bits:04b} {}", said(&report));
            let held = place.read("outside/file").as_deref() == Some("old");
            let has_boundary = !(without.namespaces && without.landlock && without.watch);
            assert_eq!(held, has_boundary, "{bits:04b} {}", said(&report));
            let missing = bits.count_ones() - u32::from(without.namespaces && without.network_namespace);
            let named = sandbox.weaker.iter().filter(|line| line.starts_with("no ")).count();
            let implied = u32::from(without.namespaces);
            assert_eq!(named, usize::try_from(missing + implied).unwrap(), "{bits:04b} {sandbox:?}");
        }
    });
}

#[test]
fn where_a_layer_is_missing_a_strict_profile_runs_nothing() {
    runtime().block_on(async {
        let without = Without { landlock: true, ..Without::default() };
        let place = place(|policy| policy.missing = MissingLayer::Refuse, without);
        let request = chiton_engine::CommandRequest::new("echo new > file");
        let control = chiton_engine::RunControl::new();
        let run = place.harness.engine.run(&place.session, request, &mut chiton_engine::Silent, &control).await;
        let error = run.unwrap_err().to_string();
        assert!(error.contains("no Landlock") && error.contains("was not run"), "{error}");
        assert_eq!(place.read("work/file").as_deref(), Some("old"));
    });
}

#[test]
fn a_network_that_is_off_reaches_nothing_and_servers_of_the_session_work() {
    runtime().block_on(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let place = place(|policy| policy.network = NetworkPolicy::Off, Without::default());
        let outside = place.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached")).await;
        assert!(!outside.stdout.to_text().contains("reached"), "{}", said(&outside));
        let serve = "python3 -c 'import socket
s = socket.create_server((\"127.0.0.1\", 0)); open(\"port\", \"w\").write(str(s.getsockname()[1]))
c, _ = s.accept(); c.sendall(b\"hello\\n\")' & until [ -s port ]; do sleep 0.02; done";
        let started = place.run(serve).await;
        assert_eq!(started.outcome, Outcome::Exited(0), "{}", said(&started));
        let client = place.run("exec 3<>/dev/tcp/127.0.0.1/$(cat port); cat <&3").await;
        assert_eq!(client.stdout.to_text(), "hello\n", "{}", said(&client));
    });
}

/// A server outside that answers once per connection, and its port.
fn server() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut &connection, b"hello from outside\n");
        }
    });
    port
}

#[test]
fn only_listed_names_lead_out_and_the_reply_names_the_others() {
    runtime().block_on(async {
        let port = server();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work")).unwrap();
        let rules = [("allowed.test", Some(port)), ("127.0.0.1", Some(port))];
        let rules = rules.map(|(host, port)| HostRule { host: host.to_owned(), port });
        let harness = Harness::with(|config| {
            let network = NetworkPolicy::Named(rules.to_vec());
            config.sandbox = Some(SandboxPolicy { network, hide: Vec::new(), keep: Vec::new(), ..policy(&root) });
            let loopback = || vec!["127.0.0.1".parse().unwrap()];
            config.sandbox_hosts =
                Some(vec![("allowed.test".to_owned(), loopback()), ("other.test".to_owned(), loopback())]);
        });
        let session = harness.session_in(&root.join("work"));
        let ask = |name: &str| {
            format!(
                "python3 -c 'import socket; s = socket.create_connection((\"{name}\", {port}), 5); print(s.recv(99))'"
            )
        };
        let allowed = harness.run(&session, &ask("allowed.test")).await;
        assert_eq!(allowed.stdout.to_text(), "b'hello from outside\\n'\n", "{}", said(&allowed));
        assert!(allowed.refused.is_empty(), "{}", said(&allowed));
        assert_eq!(allowed.protection.sandbox.as_ref().unwrap().network, "names");

        let other = harness.run(&session, &ask("other.test")).await;
        assert_ne!(other.outcome, Outcome::Exited(0), "{}", said(&other));
        let refused = &other.refused[0];
        assert_eq!((refused.path.as_str(), refused.rule.as_str()), ("other.test", "network"), "{}", said(&other));
        assert!(refused.by.starts_with("python3"), "{}", said(&other));
    });
}

#[test]
fn a_limit_that_was_hit_is_named() {
    type Row<'a> = (&'a str, fn(&mut SandboxLimits), &'a str);
    let rows: [Row<'_>; 3] = [
        ("head -c 2000000 /dev/zero > big", |limits| limits.file = Some(1 << 20), "file"),
        ("while :; do :; done", |limits| limits.cpu_seconds = Some(1), "cpu"),
        (
            "for i in 1 2 3 4; do python3 -c 'x = bytearray(60 << 20); import time; time.sleep(60)' & done; wait",
            |limits| limits.memory = Some(128 << 20),
            "memory",
        ),
    ];
    runtime().block_on(async {
        for (command, limit, word) in rows {
            let place = place(|policy| limit(&mut policy.limits), Without::default());
            let report = place.run(command).await;
            assert_eq!(report.limit_word(), Some(word), "{command}: {}", said(&report));
            assert!(report.notices.iter().any(|notice| notice.contains("limit")), "{command}: {:?}", report.notices);
        }
    });
}

#[test]
fn programs_that_reserve_a_lot_start_within_a_small_limit() {
    runtime().block_on(async {
        let place = place(|policy| policy.limits.memory = Some(512 << 20), Without::default());
        let java = "java -version";
        let programs = ["node -e 'console.log(1)'", java, "go version", "python3 -c 'print(1)'", "git --version"];
        for program in programs {
            let found = place.run(&format!("command -v {}", program.split(' ').next().unwrap())).await;
            if found.outcome == Outcome::Exited(0) {
                let report = place.run(program).await;
                assert_eq!(report.outcome, Outcome::Exited(0), "{program}: {}", said(&report));
            }
        }
    });
}

/// Listens on a port of its own, tells which one, and answers whoever comes.
const ANSWERING: &str = "python3 -c 'import os, socket
s = socket.create_server((\"127.0.0.1\", 0))
open(\"port.new\", \"w\").write(str(s.getsockname()[1])); os.rename(\"port.new\", \"port\")
while True: c, _ = s.accept(); c.send(b\"hello\"); c.close()' > /dev/null 2>&1 & echo $! > pid; until [ -e port ]; do sleep 0.02; done";

#[test]
fn what_an_earlier_command_left_is_reached_and_ended_also_after_the_mounts_were_made_anew() {
    runtime().block_on(async {
        for network in [NetworkPolicy::Open, NetworkPolicy::Off] {
            let place = place(
                |policy| {
                    policy.hide.push(policy.workspace[0].with_file_name("later"));
                    policy.network = network.clone();
                },
                Without::default(),
            );
            let started = place.run(ANSWERING).await;
            assert_eq!(started.outcome, Outcome::Exited(0), "{}", said(&started));

            // Something appears that has to be hidden. The next command may still be in the old mounts, not those after it.
            fs::create_dir(place.root.join("later")).unwrap();
            fs::write(place.root.join("later/id"), "hidden").unwrap();
            let mut seen = place.run("ls ../later").await;
            for _ in 0..3 {
                seen = place.run("ls ../later").await;
            }
            assert_eq!(seen.stdout.to_text(), "", "{}", said(&seen));

            let asked = place.run("exec 3<> /dev/tcp/127.0.0.1/$(cat port); cat <&3").await;
            assert_eq!(asked.stdout.to_text(), "hello", "{}", said(&asked));
            let ended = place
                .run("kill -0 $(cat pid) && kill $(cat pid) && while kill -0 $(cat pid) 2> /dev/null; do sleep 0.02; done; echo ended")
                .await;
            assert_eq!(ended.stdout.to_text(), "ended\n", "{}", said(&ended));
            assert!(ended.stderr.to_text().is_empty() && ended.refused.is_empty(), "{}", said(&ended));
        }
    });
}

#[test]
fn to_try_to_remove_a_folder_with_something_kept_in_it_is_not_called_refused() {
    runtime().block_on(async {
        let place = place(|_| {}, Without::default());
        let tried = place.run("rmdir .git; rmdir .").await;
        assert!(tried.stderr.to_text().contains("not empty"), "{}", said(&tried));
        assert!(tried.refused.is_empty(), "{}", said(&tried));
        let moved = place.run("mv .git away").await;
        assert_eq!(moved.refused.len(), 1, "{}", said(&moved));
    });
}

#[test]
fn what_a_program_makes_by_itself_is_made_for_it_and_goes_again_if_it_stays_empty() {
    runtime().block_on(async {
        let used = |root: &Path| root.join("home/.used/cache");
        let unused = |root: &Path| root.join("home/.unused");
        let place = place(
            |policy| {
                let root = policy.workspace[0].parent().unwrap().to_owned();
                fs::create_dir(root.join("home")).unwrap();
                policy.write.extend([used(&root), unused(&root)]);
                policy.made = vec![MadePlace::Folder(used(&root)), MadePlace::Folder(unused(&root))];
            },
            Without::default(),
        );
        let root = place.root.clone();
        let report = place.run("mkdir -p ../home/.used/cache/x && echo package > ../home/.used/cache/x/y").await;
        assert_eq!(report.outcome, Outcome::Exited(0), "{}", said(&report));
        assert!(unused(&root).is_dir());

        let Place { harness: Harness { engine, folder: _state }, session, _folder, .. } = place;
        drop((session, engine));
        let gone = || !unused(&root).exists();
        assert!(chiton_testkit::processes::eventually(std::time::Duration::from_secs(20), gone));
        assert_eq!(fs::read_to_string(used(&root).join("x/y")).unwrap(), "package\n");
    });
}
