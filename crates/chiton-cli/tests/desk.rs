//! A question can be answered by whoever looks at the desk, from another process: a person, and never a command. The canary
//! is a harmless command that a rule of the human makes worth asking about.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use chiton_engine::consent::{Answer, Desk, DeskError, Waiting};
use chiton_testkit::processes::eventually;
use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::place::{Place, text};

const RULE: &str = "[{decision = 'ask', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries sing.', match = ['touch canary']}]";
const SOON: Duration = Duration::from_secs(30);

struct Asking {
    place: Place,
    desk: Desk,
}

impl Asking {
    fn new() -> Self {
        let place = Place::new();
        fs::write(place.folder.path().join("settings.toml"), format!("[guard]\nrule = {RULE}\n")).unwrap();
        fs::create_dir(place.folder.path().join("work")).unwrap();
        let desk = Desk::new(&place.folder.path().join("state/chiton"));
        Self { place, desk }
    }

    fn wire(&self) -> Wire {
        let (settings, work) = (self.place.folder.path().join("settings.toml"), self.work());
        self.place.wire(&["--config", settings.to_str().unwrap(), "--dir", work.to_str().unwrap()])
    }

    fn work(&self) -> PathBuf {
        self.place.folder.path().join("work")
    }

    fn sings(&self, name: &str) -> bool {
        self.work().join(name).exists()
    }

    /// The question that waits, once there is one.
    fn question(&self) -> Waiting {
        let mut found = Vec::new();
        let comes = eventually(SOON, || {
            found = self.desk.waiting();
            !found.is_empty()
        });
        assert!(comes, "nothing was asked");
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    fn answer(&self, id: &str, answer: Answer) -> Result<(), DeskError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.desk.answer(id, answer))
    }

    fn socket(&self, id: &str) -> PathBuf {
        self.place.folder.path().join("state/chiton/asking").join(id).join("keeper.sock")
    }

    fn nothing_is_left(&self) {
        assert_eq!(self.desk.waiting(), []);
        let folder = self.place.folder.path().join("state/chiton/asking");
        let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["watched"], "{left:?}");
    }
}

fn call(wire: &mut Wire, command: &str) -> u64 {
    wire.request("tools/call", json!({"name": "Bash", "arguments": {"command": command}}))
}

/// What came of a call: whether it failed, and the text.
fn result(wire: &mut Wire, id: u64) -> (bool, String) {
    let result = wire.answer(id)["result"].clone();
    (result["isError"] == true, result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn whoever_looks_decides_for_a_client_that_can_ask_nobody() {
    let asking = Asking::new();
    let mut wire = asking.wire();
    wire.greet("2025-06-18", &json!({}));
    let id = call(&mut wire, "touch canary.unseen");
    let (failed, said) = result(&mut wire, id);
    assert!(failed && said.contains("nobody here who could be asked"), "{said}");

    let _watch = asking.desk.watch().unwrap();
    for (answer, name) in
        [(Answer::No, "canary.no"), (Answer::Once, "canary.once"), (Answer::Session, "canary.session")]
    {
        let id = call(&mut wire, &format!("touch {name}"));
        let question = asking.question();
        assert!(question.text.contains("Canaries sing.") && question.text.contains(name), "{}", question.text);
        assert_eq!(
            (question.command.as_str(), &question.directory),
            (format!("touch {name}").as_str(), &asking.work())
        );
        assert!(!asking.sings(name));
        asking.answer(&question.id, answer).unwrap();
        let (failed, said) = result(&mut wire, id);
        assert_eq!((failed, asking.sings(name)), (answer == Answer::No, answer != Answer::No), "{said}");
        assert_eq!(said.contains("a person said no"), answer == Answer::No, "{said}");
        let late = asking.answer(&question.id, Answer::Once).unwrap_err();
        assert!(matches!(late, DeskError::Gone(_)), "{late}");
    }
    // For the session it is for exactly this, and nobody is asked again.
    fs::remove_file(asking.work().join("canary.session")).unwrap();
    let id = call(&mut wire, "touch canary.session");
    assert!(!result(&mut wire, id).0);
    assert!(asking.sings("canary.session"));
    asking.nothing_is_left();
}

#[test]
fn the_first_who_decides_counts() {
    let asking = Asking::new();
    let mut wire = asking.wire();
    wire.greet("2025-06-18", &json!({"elicitation": {}}));
    let _watch = asking.desk.watch().unwrap();
    let asked = |wire: &mut Wire| {
        let asked = wire.message();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        asked["id"].clone()
    };
    let answer = |wire: &mut Wire, form: &Value, result: Value| {
        wire.send(&json!({"jsonrpc": "2.0", "id": form, "result": result}));
    };
    // At the desk, while the client still shows its form.
    let id = call(&mut wire, "touch canary.desk");
    let form = asked(&mut wire);
    asking.answer(&asking.question().id, Answer::Once).unwrap();
    assert!(!result(&mut wire, id).0 && asking.sings("canary.desk"));
    answer(&mut wire, &form, json!({"action": "decline"}));
    // In the client.
    let id = call(&mut wire, "touch canary.client");
    let form = asked(&mut wire);
    answer(&mut wire, &form, json!({"action": "accept", "content": {"answer": "once"}}));
    assert!(!result(&mut wire, id).0 && asking.sings("canary.client"));
    // A client without a person closes the form by itself: there is still somebody at the desk.
    let id = call(&mut wire, "touch canary.closed");
    let form = asked(&mut wire);
    answer(&mut wire, &form, json!({"action": "cancel"}));
    asking.answer(&asking.question().id, Answer::Once).unwrap();
    assert!(!result(&mut wire, id).0 && asking.sings("canary.closed"));
    asking.nothing_is_left();
}

#[test]
fn a_client_that_comes_again_with_the_answer_is_given_the_question_at_once() {
    let asking = Asking::new();
    let mut wire = asking.wire();
    wire.modern(&json!({"elicitation": {}}));
    let _watch = asking.desk.watch().unwrap();
    let asked = wire.ask("tools/call", json!({"name": "Bash", "arguments": {"command": "touch canary"}}));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(asking.desk.waiting(), []);
}

#[test]
fn where_the_last_one_stops_looking_the_question_is_over() {
    let asking = Asking::new();
    let mut wire = asking.wire();
    wire.greet("2025-06-18", &json!({}));
    let (one, other) = (asking.desk.watch().unwrap(), asking.desk.watch().unwrap());
    let id = call(&mut wire, "touch canary");
    asking.question();
    drop(one);
    assert!(asking.desk.is_watched());
    drop(other);
    let (failed, said) = result(&mut wire, id);
    assert!(failed && said.contains("nobody here who could be asked"), "{said}");
    assert!(!asking.sings("canary"));
    asking.nothing_is_left();
}

#[test]
fn a_command_cannot_agree_to_what_a_command_wants() {
    let asking = Asking::new();
    let mut wire = asking.wire();
    wire.greet("2025-06-18", &json!({}));
    let _watch = asking.desk.watch().unwrap();
    let id = call(&mut wire, "touch canary");
    let question = asking.question();
    let answer = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'once\\n'); print(s.recv(1000).decode())";
    let socket = asking.socket(&question.id);
    // Without guard and sandbox, so that nothing else stands in the way.
    for way in ["", "setsid -f ", "nohup "] {
        let command = format!("{way}python3 -c \"{answer}\" {} 2>&1; sleep 0.2", socket.display());
        let output = asking.place.run(&["--guard", "off", "--sandbox", "off", &command]);
        let said = text(&output.stdout);
        assert!(said.contains("a command cannot agree"), "{way}: {said} {}", text(&output.stderr));
        assert_eq!(asking.desk.waiting().len(), 1, "{way}");
    }
    assert!(!asking.sings("canary"));
    asking.answer(&question.id, Answer::No).unwrap();
    assert!(result(&mut wire, id).0);
}

#[test]
fn what_is_not_an_answer_leaves_the_question_open() {
    let asking = Asking::new();
    let mut wire = asking.wire();
    wire.greet("2025-06-18", &json!({}));
    let _watch = asking.desk.watch().unwrap();
    let id = call(&mut wire, "touch canary");
    let question = asking.question();
    let long = vec![b'o'; 1 << 16];
    for garbage in [&b"yes\n"[..], b"ONCE\n", b"once and for all\n", b"\n", b"\0\xff\n", &long] {
        let mut stream = UnixStream::connect(asking.socket(&question.id)).unwrap();
        // One that says more than an answer may be hung up on.
        let _ = stream.write_all(garbage);
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        assert_ne!(said, "taken");
        assert_eq!(asking.desk.waiting().len(), 1);
    }
    // Nor does one who says nothing keep others from answering.
    drop(UnixStream::connect(asking.socket(&question.id)).unwrap());
    assert!(matches!(asking.answer(&question.id, Answer::Undecided), Err(DeskError::Undecided)));
    assert!(matches!(asking.answer("../watched", Answer::Once), Err(DeskError::Gone(_))));
    asking.answer(&question.id, Answer::Once).unwrap();
    assert!(!result(&mut wire, id).0 && asking.sings("canary"));
}

#[test]
fn the_question_of_a_server_that_was_killed_is_gone() {
    let asking = Asking::new();
    let mut wire = asking.wire();
    wire.greet("2025-06-18", &json!({}));
    let _watch = asking.desk.watch().unwrap();
    call(&mut wire, "touch canary");
    let question = asking.question();
    wire.kill();
    assert!(eventually(SOON, || asking.desk.waiting().is_empty()));
    assert!(matches!(asking.answer(&question.id, Answer::Once), Err(DeskError::Gone(_))));
    asking.nothing_is_left();
}
