//! A secret reaches the program that needs it, and nothing else: not the reply, not the disk, not the process list.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use chiton_engine::secrets::value::{Masking, SecretValue};
use chiton_engine::secrets::{MemorySource, Reference, Secret, SecretStore, UnknownReference};
use chiton_engine::tasks::{Cursor, ReadRequest};
use chiton_engine::{
    ByteString, CommandInput, CommandRequest, EnvironmentChange, Outcome, RunControl, RunEvent, RunReport, Session,
    Silent, StartedTask, StateReport, Streams,
};
use chiton_testkit::processes::eventually;

use crate::harness::{Harness, runtime, seconds};

const VALUE: &str = "S3CR3T-VALUE it's \"$(a)\" `one`";
const PLAIN: &str = "S3CR3T-PLAIN-9";
const LINES: &str = "-----BEGIN KEY-----\nS3CR3T-line-one\nS3CR3T-line-two\n-----END KEY-----\n";

fn store(extra: &[(&str, &str)]) -> SecretStore {
    let mut source = MemorySource::new()
        .with(Reference::secret("value").unwrap(), Secret::masked(VALUE))
        .with(Reference::secret("plain").unwrap(), Secret::masked(PLAIN))
        .with(Reference::secret("lines").unwrap(), Secret::masked(LINES))
        .with(Reference::decrypt("uuid-123").unwrap(), Secret::masked("S3CR3T-BLOB-1"));
    for (name, value) in extra {
        source = source.with(Reference::secret(name).unwrap(), Secret::masked(*value));
    }
    let shown = Secret { value: SecretValue::new("abc"), masking: Masking::Shown };
    SecretStore::empty().and(source.with(Reference::secret("shown").unwrap(), shown))
}

fn harness() -> Harness {
    harness_with(&[])
}

fn harness_with(extra: &[(&str, &str)]) -> Harness {
    Harness::with(|config| config.secrets = store(extra))
}

/// Every file below `folder` that holds `needle`, in its content or in its name.
fn holders(folder: &Path, needle: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let named = path.file_name().is_some_and(|name| contains(name.as_encoded_bytes(), needle));
        if path.is_dir() && !path.is_symlink() {
            found.extend(holders(&path, needle));
        } else if named || contains(&fs::read(&path).unwrap_or_default(), needle) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len()).any(|window| window == needle)
}

fn said(response: &RunReport) -> String {
    format!("{response:?}")
}

/// Nothing that came back and nothing on disk holds a value.
fn assert_clean(harness: &Harness, response: &RunReport) {
    assert!(!said(response).contains("S3CR3T"), "{}", said(response));
    assert_eq!(holders(&harness.folder.path().join("state"), b"S3CR3T"), Vec::<String>::new());
}

#[test]
fn a_program_gets_the_value_and_the_reply_and_the_disk_get_the_token() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let commands = [
            "printf %s {{secret:value}} > out; cat out",
            "printf %s \"{{secret:value}}\" > out; cat out >&2",
            "printf %s '{{secret:value}}' | tee out",
            "cat > out <<'E'\n{{secret:value}}\nE\ntruncate -s -1 out; cat out",
            "f() { printf %s {{secret:value}}; }; f > out; cat out out",
            "x={{secret:value}}; set -x; printf %s \"$x\" > out; declare -p x; set; printf '%q %s\\n' \"$x\" \"${x@Q}\"",
            "printf %s {{secret:value}} > out; base64 out; xxd -p out 2>/dev/null; ls -d /{{secret:value}}",
            "printf %s {{secret:value}} > out; trap -p; echo \"[$BASH_EXECUTION_STRING]\"; echo $BASH_COMMAND; history; cat /proc/self/environ out",
        ];
        for command in commands {
            let response = harness.run(&session, command).await;
            assert!(matches!(response.outcome, Outcome::Exited(_)), "{command}: {}", response.outcome);
            assert_eq!(fs::read_to_string(harness.folder.path().join("out")).unwrap(), VALUE, "{command}");
            assert_clean(&harness, &response);
            let shown = format!("{}{}", response.stdout.to_text(), response.stderr.to_text());
            assert!(shown.contains("{{secret:value}}"), "{command}: {shown}");
        }
    });
}

#[test]
fn a_decrypt_reference_is_resolved_and_what_is_no_reference_stays_as_it_is() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let response = harness.run(&session, "echo {{decrypt:uuid-123}}; printf %s {{decrypt:uuid-123}} | wc -c").await;
        assert_eq!(response.stdout.to_text(), "{{decrypt:uuid-123}}\n13\n");
        assert_clean(&harness, &response);
        let unchanged = ["echo {{other:x}} '${{ x }}' {{ }}", "echo {{secret:plain }} {{Secret:plain}}"];
        for command in unchanged {
            let plain = chiton_testkit::oracle::bash(
                command.as_bytes(),
                harness.folder.path(),
                &[("PATH", crate::harness::PATH)],
            );
            assert_eq!(harness.run(&session, command).await.stdout.to_text().as_bytes(), plain.stdout, "{command}");
        }
        let assembled = harness.run(&session, "a='{{secret:'; b='plain}}'; echo $a$b").await;
        assert_eq!(assembled.stdout.to_text(), "{{secret:plain}}\n");
        let shown = harness.run(&session, "echo {{secret:shown}}").await;
        assert_eq!(shown.stdout.to_text(), "abc\n");
    });
}

#[test]
fn a_reference_that_nobody_knows_refuses_the_command_or_is_told() {
    let missing = MemorySource::new().without(Reference::secret("gh").unwrap(), "its variable GITHUB_TOKN is not set");
    let harness = Harness::with(|config| config.secrets = store(&[]).and(missing));
    runtime().block_on(async {
        let session = harness.session();
        for (command, expected) in [
            ("touch ran; echo {{secret:plian}}", "did you mean {{secret:plain}}?"),
            ("touch ran; echo {{secret:gh}}", "its variable GITHUB_TOKN is not set"),
            ("touch ran; echo {{decrypt:other}}", "there is no encrypted text named 'other'"),
        ] {
            let response = harness.respond(&session, CommandRequest::new(command)).await;
            let why = response.outcome().unwrap().to_string();
            assert!(response.word() == "refused" && why.contains(expected), "{command}: {why}");
        }
        let input = CommandInput::Text("{{secret:nobody}}".into());
        let request = CommandRequest { input, ..CommandRequest::new("touch ran; cat") };
        assert_eq!(harness.respond(&session, request).await.word(), "refused");
        assert!(!harness.folder.path().join("ran").exists());
    });

    let harness = Harness::with(|config| {
        config.secrets = store(&[]);
        config.unknown_references = UnknownReference::Keep;
    });
    runtime().block_on(async {
        let response = harness.run(&harness.session(), "echo {{secret:plian}}").await;
        assert_eq!(response.stdout.to_text(), "{{secret:plian}}\n");
        assert!(response.notices.iter().any(|notice| notice.contains("did you mean {{secret:plain}}?")));
    });
}

#[test]
fn the_password_of_a_proxy_is_masked_and_reaches_programs() {
    let harness = Harness::new();
    runtime().block_on(async {
        let environment =
            [("PATH", crate::harness::PATH), ("https_proxy", "http://dev:S3CR3T-proxy@proxy.example:3128")];
        let environment = environment.map(|(name, value)| (name.to_owned(), ByteString::from(value)));
        let session = Session::new(harness.engine.fresh_state(harness.folder.path(), environment, 0o022));
        let response = harness.run(&session, "echo $https_proxy; printf %s \"$https_proxy\" | wc -c").await;
        assert_eq!(response.stdout.to_text(), "http://dev:{{secret:https_proxy.password}}@proxy.example:3128\n42\n");
        assert_clean(&harness, &response);
        let used = harness.run(&session, "printf %s {{secret:https_proxy.password}} | wc -c").await;
        assert_eq!(used.stdout.to_text(), "12\n");
    });
}

#[test]
fn a_failing_command_says_once_what_it_may_have_lacked() {
    let harness = Harness::new();
    runtime().block_on(async {
        let environment =
            [("PATH", crate::harness::PATH), ("GITHUB_TOKEN", "S3CR3T-token"), ("LD_LIBRARY_PATH", "/opt/lib")];
        let environment = environment.map(|(name, value)| (name.to_owned(), ByteString::from(value)));
        let session = Session::new(harness.engine.fresh_state(harness.folder.path(), environment, 0o022));
        let told = |response: &RunReport| response.notices.iter().any(|notice| notice.contains("GITHUB_TOKEN"));
        assert!(!told(&harness.run(&session, "echo $GITHUB_TOKEN").await));
        assert!(!told(&harness.run(&session, "false").await));
        assert!(told(&harness.run(&session, "echo GITHUB_''TOKEN is not set >&2; exit 1").await));
        assert!(!told(&harness.run(&session, "echo $GITHUB_TOKEN; false").await));

        // What is the person's own passes as it is, and a change of it lasts for its command alone.
        let own = harness.run(&session, "echo $LD_LIBRARY_PATH; export LD_LIBRARY_PATH=/other").await;
        assert_eq!(own.stdout.to_text(), "/opt/lib\n");
        assert_eq!(harness.run(&session, "echo $LD_LIBRARY_PATH").await.stdout.to_text(), "/opt/lib\n");

        // What a call may not set is told, always.
        let change = EnvironmentChange::Merge([("LD_AUDIT".to_owned(), ByteString::from("/x"))].into());
        let request = CommandRequest { environment: change, ..CommandRequest::new("true") };
        let response = harness.request(&session, request).await;
        assert!(response.notices.iter().any(|notice| notice.contains("LD_AUDIT")), "{:?}", response.notices);
    });
}

#[test]
fn input_and_variables_are_resolved_too_and_nothing_else_is() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let mut request = CommandRequest::new("cat > input; printf %s \"$API\" > variable; cat input variable; exit 3");
        request.input = CommandInput::Text("user:{{secret:value}}:{{other:x}}".into());
        let variables = BTreeMap::from([("API".to_owned(), ByteString::from("a {{secret:value}} b"))]);
        request.environment = EnvironmentChange::Merge(variables);
        request.description = Some("about {{secret:value}}".to_owned());
        let response = harness.request(&session, request).await;
        let file = |name: &str| fs::read_to_string(harness.folder.path().join(name)).unwrap();
        assert_eq!(file("input"), format!("user:{VALUE}:{{{{other:x}}}}"));
        assert_eq!(file("variable"), format!("a {VALUE} b"));
        assert_eq!(response.outcome, Outcome::Exited(3));
        assert_clean(&harness, &response);
    });
}

#[test]
fn where_a_value_cannot_be_data_nothing_is_started() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        for command in [
            "touch ran; {{secret:value}}",
            "touch ran; eval \"echo {{secret:value}}\"",
            "touch ran; echo $(({{secret:value}}))",
        ] {
            let response = harness.respond(&session, CommandRequest::new(command)).await;
            let why = response.outcome().unwrap().to_string();
            assert!(response.word() == "refused" && why.contains("{{secret:value}}"), "{command}: {why}");
            assert!(!format!("{response:?}").contains("S3CR3T"));
            let started = harness.engine.start(&session, CommandRequest::new(command)).await.unwrap();
            assert!(matches!(started, StartedTask::Refused(_)), "{command}");
        }
        assert!(!harness.folder.path().join("ran").exists());
    });
}

#[test]
fn a_value_of_140000_characters_works_in_every_place() {
    let long: String = (0..140_000u32).map(|number| char::from(b'!' + u8::try_from(number % 91).unwrap())).collect();
    let harness = harness_with(&[("long", &long)]);
    runtime().block_on(async {
        let session = harness.session();
        let commands = [
            "cat <<< {{secret:long}} > out",
            "cat <<< \"{{secret:long}}\" > out",
            "x='{{secret:long}}'; printf '%s\\n' \"$x\" > out; echo \"$x\"",
            "cat > out <<'E'\n{{secret:long}}\nE\ncat out",
            "cat > out <<E\n{{secret:long}}\nE\ncat out",
        ];
        for command in commands {
            let response = harness.run(&session, command).await;
            assert_eq!(response.outcome, Outcome::Exited(0), "{command}");
            assert!(fs::read_to_string(harness.folder.path().join("out")).unwrap() == format!("{long}\n"), "{command}");
            assert!(!response.stdout.to_text().contains(&long[..100]), "{command}");
        }
        assert_eq!(holders(&harness.folder.path().join("state"), &long.as_bytes()[1000..1100]), Vec::<String>::new());
    });
}

#[test]
fn what_a_session_has_seen_is_masked_in_all_its_later_commands() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        harness.run(&session, "printf %s {{secret:value}} > kept; printf %s {{secret:lines}} > lines").await;
        for command in [
            "cat kept",
            "cat kept >&2; sleep 0.01",
            "base64 kept; base64 -w0 kept",
            "sed 's/^/    /' lines | sed 's/$/\\r/'",
        ] {
            let response = harness.run(&session, command).await;
            assert_clean(&harness, &response);
            assert!(response.output.to_text().contains("{{secret:"), "{command}: {}", response.output.to_text());
        }
        let task = harness.engine.start(&session, CommandRequest::new("cat kept; cat kept >&2")).await.unwrap();
        let StartedTask::Started(task) = task else { panic!("it was refused") };
        assert!(eventually(seconds(10), || !harness.engine.tasks().get(&task.id).unwrap().status.is_running()));
        let output = harness
            .engine
            .tasks()
            .get(&task.id)
            .unwrap()
            .read(&mut Cursor::default(), &ReadRequest::default())
            .unwrap();
        assert_eq!(output.to_text().matches("{{secret:value}}").count(), 2);
        // Typed by somebody who knows it: recorded as its token.
        let typed = harness.run(&session, &format!("echo {PLAIN}; echo {{{{secret:plain}}}}")).await;
        assert_clean(&harness, &typed);
    });
}

#[test]
fn a_background_task_is_resolved_masked_and_recorded_as_a_foreground_command() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let command = "printf %s {{secret:plain}} > out; while :; do echo {{secret:plain}}; printf %s {{secret:plain}} >&2; sleep 0.05; done";
        let mut request = CommandRequest::new(command);
        request.transcript = true;
        request.streams = Streams::Separate;
        let StartedTask::Started(task) = harness.engine.start(&session, request).await.unwrap() else { panic!("refused") };
        assert_eq!(task.command, command);
        let tasks = harness.engine.tasks();
        let text = || {
            let task = tasks.get(&task.id).unwrap();
            task.read(&mut Cursor::default(), &ReadRequest::default()).unwrap().to_text()
        };
        assert!(eventually(seconds(10), || text().matches("{{secret:plain}}").count() > 5), "{}", text());
        assert_eq!(fs::read_to_string(harness.folder.path().join("out")).unwrap(), PLAIN);
        let killed = tasks.kill(&task.id, None).await.unwrap();
        assert_eq!(killed.task().command, command);
        assert!(!text().contains("S3CR3T"));
        assert_eq!(holders(&harness.folder.path().join("state"), b"S3CR3T"), Vec::<String>::new());
    });
}

#[test]
fn a_value_in_pieces_is_never_heard_in_part_and_a_prompt_is_heard_at_once() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let heard = Arc::new(Mutex::new(Vec::<u8>::new()));
        let (listening, looked) = (Arc::clone(&heard), Arc::clone(&heard));
        let go = harness.folder.path().join("go");
        let mut listener = move |event: RunEvent<'_>| {
            if let RunEvent::Output { bytes, .. } = event {
                listening.lock().unwrap().extend_from_slice(bytes);
                if contains(&looked.lock().unwrap(), b"Password: ") {
                    fs::write(&go, "").unwrap();
                }
            }
        };
        let command = "v={{secret:value}}; for ((i=0; i<${#v}; i++)); do printf %s \"${v:i:1}\"; sleep 0.002; done; echo; \
                       printf 'Password: '; until [ -e go ]; do sleep 0.01; done; echo done";
        let mut request = CommandRequest::new(command);
        request.timeout = Some(seconds(20));
        let response = harness.engine.run(&session, request, &mut listener, &RunControl::new()).await.unwrap().into_ran().unwrap();
        assert_eq!(response.outcome, Outcome::Exited(0));
        assert_eq!(String::from_utf8_lossy(&heard.lock().unwrap()), "{{secret:value}}\nPassword: done\n");
        assert_clean(&harness, &response);
    });
}

#[test]
fn no_argument_list_and_no_other_environment_holds_the_value_while_it_is_used() {
    const OWN: &str = "S3CR3T-OWN-OF-THIS-TEST";
    let harness = harness_with(&[("own", OWN)]);
    runtime().block_on(async {
        let session = harness.session();
        // Tracing would make any other command an argument of the shell.
        let command =
            "exec 9<<< {{secret:own}}; : '{{secret:own}}'; touch up; until [ -e seen ]; do sleep 0.01; done; set -x; :";
        let mut request = CommandRequest::new(command);
        request.environment = EnvironmentChange::Merge([("TOKEN_OF_CALL".to_owned(), "{{secret:own}}".into())].into());
        let folder = harness.folder.path().to_owned();
        let looking = std::thread::spawn(move || {
            assert!(eventually(seconds(10), || folder.join("up").exists()));
            let mut holders = Vec::new();
            for entry in fs::read_dir("/proc").unwrap().flatten() {
                let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
                if contains(&read("cmdline"), OWN.as_bytes()) {
                    holders.push(format!("cmdline of {}", String::from_utf8_lossy(&read("comm"))));
                }
                if contains(&read("environ"), OWN.as_bytes()) {
                    holders.push(format!("environ of {}", String::from_utf8_lossy(&read("comm")).trim()));
                }
            }
            fs::write(folder.join("seen"), "").unwrap();
            holders
        });
        let response = harness.request(&session, request).await;
        let holders = looking.join().unwrap();
        assert_eq!(response.outcome, Outcome::Exited(0), "{}", response.stderr.to_text());
        // The command's own, and what it started itself.
        assert!(
            holders
                .iter()
                .all(|holder| ["bash", "sleep", "touch"].iter().any(|name| *holder == format!("environ of {name}"))),
            "{holders:?}"
        );
        assert!(holders.contains(&"environ of bash".to_owned()));
        assert_clean(&harness, &response);
    });
}

#[test]
fn the_next_command_finds_no_trace_of_the_value() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let mut first = CommandRequest::new(
            "leak={{secret:value}}; export out=\"x {{secret:value}}\"; list=(a '{{secret:value}}'); declare -A map=([k]={{secret:value}}); \
             f() { echo {{secret:value}}; }; g() { echo g; }; fine=1; alias a=ls; cd /usr; coded=$(printf %s {{secret:value}} | base64 -w0)",
        );
        first.environment = EnvironmentChange::Merge([("CALL".to_owned(), "{{secret:value}}".into())].into());
        let response = harness.request(&session, first).await;
        assert_eq!(response.state, StateReport::Committed);
        let named: Vec<&str> = response.removed_variables.iter().map(|removed| removed.name.as_str()).collect();
        for name in ["leak", "out", "list", "map", "f()", "coded"] {
            assert!(named.contains(&name), "{name} is not in {named:?}");
        }
        assert!(response.notices.iter().any(|notice| notice.contains("leak") && notice.contains("coded")), "{:?}", response.notices);
        let command = "echo fine=$fine $PWD; g; env; set; declare -p; declare -f; alias; history; ls -l /proc/self/fd; cat /proc/$$/environ; \
                       cat /proc/$$/cmdline; [[ ${leak+x}${out+x}${list+x}${map+x}${CALL+x} ]] || echo none";
        // In an engine that does not know the value nothing would be masked, so nothing can hide.
        let other = Harness::new();
        let copy = Session::new(chiton_engine::ShellState::clone(&session.state()));
        let second = other.run(&copy, command).await;
        let shown = second.stdout.to_text();
        assert!(shown.contains("fine=1 /usr\ng\n") && shown.ends_with("none\n"), "{shown}");
        assert!(!said(&second).contains("S3CR3T"), "{shown}");
    });
}

#[test]
fn what_is_left_running_is_masked_in_its_name_and_in_its_later_output() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let command = "bash -c 'until [ -e go ]; do sleep 0.01; done; printf \"%s\" \"$1\"; printf \"%s\\n\" \"$1\" >&2' {{secret:plain}} {{secret:plain}} & echo started";
        let response = harness.run(&session, command).await;
        assert!(response.leftovers[0].command.contains("{{secret:plain}}"), "{:?}", response.leftovers);
        let id = response.leftover_task.clone().unwrap();
        fs::write(harness.folder.path().join("go"), "").unwrap();
        let tasks = harness.engine.tasks();
        assert!(eventually(seconds(10), || !tasks.get(&id).unwrap().status.is_running()));
        let text = tasks.get(&id).unwrap().read(&mut Cursor::default(), &ReadRequest::default()).unwrap().to_text();
        assert_eq!(text.matches("{{secret:plain}}").count(), 2, "{text}");
        assert_clean(&harness, &response);
    });
}

#[test]
fn a_value_that_is_too_short_or_a_source_that_fails_refuses_the_command() {
    let harness = harness_with(&[("short", "1234567"), ("empty", "")]);
    runtime().block_on(async {
        let session = harness.session();
        for (name, why) in [("short", "7 characters"), ("empty", "empty")] {
            let request = CommandRequest::new(format!("echo {{{{secret:{name}}}}}"));
            let response = harness.respond(&session, request).await;
            let reason = response.outcome().unwrap().to_string();
            assert!(response.word() == "refused" && reason.contains(why), "{reason}");
            assert!(!format!("{response:?}").contains("1234567"));
        }
    });
}

#[test]
fn timeouts_and_syntax_errors_let_nothing_out() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let mut request =
            CommandRequest::new("printf %s {{secret:plain}}; printf '%.9s' {{secret:plain}} >&2; sleep 60");
        request.timeout = Some(std::time::Duration::from_millis(400));
        let response = harness.request(&session, request).await;
        assert_eq!(response.outcome, Outcome::TimedOut);
        assert_clean(&harness, &response);
        let traced = harness.run(&session, "set -euxv; echo {{secret:plain}}; nosuch {{secret:plain}}").await;
        assert_eq!(traced.outcome, Outcome::Exited(127));
        assert_clean(&harness, &traced);
        let malformed = [
            "touch ran; echo {{secret:plain}} | | x",
            "touch ran; printf %s {{secret:plain}} ) oops",
            "for x in {{secret:plain}}; touch ran; done",
            "touch ran; a=(b=(c)); cat <<E\n{{secret:lines}}\nE\n",
            "touch ran\necho a; if {{secret:plain}}",
        ];
        for command in malformed {
            let tried =
                harness.engine.run(&session, CommandRequest::new(command), &mut Silent, &RunControl::new()).await;
            let why = match tried {
                Ok(response) => response.outcome().unwrap().to_string(),
                Err(error) => error.to_string(),
            };
            assert!(why.contains("refused") || why.contains("syntax error"), "{command}: {why}");
            assert!(!why.contains("S3CR3T"));
        }
        assert!(!harness.folder.path().join("ran").exists(), "something of a malformed command ran");
        assert_clean(&harness, &traced);
    });
}

#[test]
fn variables_that_look_like_secrets_are_not_taken_over_and_own_ones_are_kept() {
    let harness = harness();
    runtime().block_on(async {
        let environment = [
            ("PATH", crate::harness::PATH),
            ("API_KEY", "S3CR3T-INHERITED"),
            ("URL", "https://me:S3CR3T@host"),
            ("FOO", "bar"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), ByteString::from(value)));
        let session = Session::new(harness.engine.fresh_state(harness.folder.path(), environment, 0o022));
        let first = harness.run(&session, "env; export GITHUB_TOKEN=own API_KEY=mine").await;
        assert!(first.stdout.to_text().contains("FOO=bar\n"));
        assert!(!said(&first).contains("S3CR3T"), "{}", said(&first));
        let named: Vec<&str> = first.removed_variables.iter().map(|removed| removed.name.as_str()).collect();
        assert_eq!(named, ["API_KEY", "URL"]);
        let second = harness.run(&session, "echo $GITHUB_TOKEN $API_KEY").await;
        assert_eq!(second.stdout.to_text(), "own mine\n");
        let mut request = CommandRequest::new("echo \"$NPM_TOKEN ${PYTHONPATH-none} $HOME\"");
        let given = [("NPM_TOKEN", "{{secret:shown}}"), ("PYTHONPATH", "/tmp/x"), ("HOME", "/tmp/y")];
        let given = given.map(|(name, value)| (name.to_owned(), ByteString::from(value)));
        request.environment = EnvironmentChange::Merge(given.into());
        let third = harness.request(&session, request).await;
        assert_eq!(third.stdout.to_text(), "abc none \n");
        assert!(third.notices.iter().any(|notice| notice.contains("PYTHONPATH")), "{:?}", third.notices);
    });
}

/// Ways to write a value, by other code than that which finds them.
fn written(value: &str) -> Vec<String> {
    let hex = value.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let percent = |upper: bool| -> String {
        let letter = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        value.bytes().map(letter).collect()
    };
    let json = serde_json::to_string(value).unwrap();
    let mut all = vec![
        value.to_owned(),
        hex.to_uppercase(),
        hex,
        percent(false),
        percent(true),
        json[1..json.len() - 1].to_owned(),
        format!("'{}'", value.replace('\'', "'\\''")),
    ];
    for before in ["", "u", "us"] {
        let bits = format!("{before}{value}").bytes().map(|byte| format!("{byte:08b}")).collect::<Vec<_>>().concat();
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let groups = bits.as_bytes().chunks(6).map(|group| {
            let padded = format!("{:0<6}", std::str::from_utf8(group).unwrap());
            char::from(letters[usize::from_str_radix(&padded, 2).unwrap()])
        });
        let text: String = groups.collect();
        all.push(text.replace('+', "-").replace('/', "_"));
        all.push(text);
    }
    all.retain(|form| form.contains("S3CR3T") || form.len() > value.len());
    all
}

#[test]
fn every_form_at_every_split_position_is_masked_in_every_sink() {
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let forms: Vec<String> = [PLAIN, VALUE].iter().flat_map(|value| written(value)).collect();
        let folder = harness.folder.path().join("forms");
        fs::create_dir(&folder).unwrap();
        for (number, form) in forms.iter().enumerate() {
            fs::write(folder.join(format!("{number:03}")), form).unwrap();
        }
        let loops = "for f in forms/*; do n=$(stat -c %s $f); for ((i = 1; i < n; i++)); do head -c $i $f; sleep 0.001; \
                     tail -c +$((i + 1)) $f; echo; done; done | tee /dev/stderr # {{secret:plain}} {{secret:value}}";
        let expected: usize = forms.iter().map(|form| form.len() - 1).sum();
        let heard = Arc::new(Mutex::new(Vec::<u8>::new()));
        let listening = Arc::clone(&heard);
        let mut listener = move |event: RunEvent<'_>| {
            if let RunEvent::Output { bytes, .. } = event {
                listening.lock().unwrap().extend_from_slice(bytes);
            }
        };
        let mut request = CommandRequest::new(loops);
        request.transcript = true;
        let response = harness.engine.run(&session, request, &mut listener, &RunControl::new()).await.unwrap().into_ran().unwrap();
        assert_eq!(response.outcome, Outcome::Exited(0), "{}", response.stderr.to_text());
        for text in [response.stdout.to_text(), response.stderr.to_text()] {
            let masked = text.lines().filter(|line| line.contains("{{secret:")).count();
            assert_eq!(masked, expected, "{text}");
        }
        for form in forms.iter().map(|form| form.trim_matches('\'')) {
            // What stands around a value may be left of it: the last letter of base64, a quote.
            let core = &form[2..form.len() - 2];
            assert!(!contains(&heard.lock().unwrap(), core.as_bytes()), "{core} was heard");
            assert!(!said(&response).contains(core), "{core} is in the response");
            assert_eq!(holders(&harness.folder.path().join("state"), core.as_bytes()), Vec::<String>::new());
        }
    });
}

#[test]
fn a_program_can_mask_what_it_writes_down_itself() {
    use chiton_engine::secrets::{Masker, Reference, SecretValue};
    let (reference, value) = (Reference::secret("db").unwrap(), SecretValue::new("correct-horse-battery"));
    let masker = Masker::new([(&reference, &value)]);
    assert_eq!(masker.mask(b"password=correct-horse-battery\n"), b"password={{secret:db}}\n");
    assert_eq!(masker.mask(b"nothing of it"), b"nothing of it");
    let encoded = masker.mask(b"correct%2Dhorse%2Dbattery Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5");
    assert!(!encoded.windows(10).any(|part| part == b"Y29ycmVjdC"), "{}", String::from_utf8_lossy(&encoded));
}

#[test]
fn a_secret_that_came_with_a_call_is_used_and_masked_and_kept_nowhere() {
    use chiton_engine::secrets::GivenSecret;
    let given = |name: &str, value: &str| {
        [GivenSecret { reference: Reference::secret(name).unwrap(), secret: Secret::masked(value) }]
    };
    let harness = harness();
    runtime().block_on(async {
        let session = harness.session();
        let refused = harness.respond(&session, CommandRequest::new("echo {{secret:new}}")).await;
        assert!(refused.refusal().is_some(), "nobody knows it so far");

        harness.engine.give_secrets(given("new", "S3CR3T-GIVEN-1"));
        let response = harness.run(&session, "printf %s {{secret:new}} > out; cat out").await;
        assert_eq!(fs::read_to_string(harness.folder.path().join("out")).unwrap(), "S3CR3T-GIVEN-1");
        assert_eq!(response.stdout.to_text(), "{{secret:new}}");
        assert_clean(&harness, &response);
        let later = harness.run(&session, "cat out").await;
        assert_eq!(later.stdout.to_text(), "{{secret:new}}", "a later command masks it, too");

        harness.engine.give_secrets(given("new", "S3CR3T-GIVEN-2"));
        let response = harness.run(&session, "printf %s {{secret:new}} >> out; cat out").await;
        assert_eq!(response.stdout.to_text(), "{{secret:new}}{{secret:new}}", "each of its values");

        // What comes with a call wins over what is stored here.
        harness.engine.give_secrets(given("plain", "S3CR3T-GIVEN-3"));
        harness.run(&session, "printf %s {{secret:plain}} > out").await;
        assert_eq!(fs::read_to_string(harness.folder.path().join("out")).unwrap(), "S3CR3T-GIVEN-3");
        assert_clean(&harness, &response);
    });
}
