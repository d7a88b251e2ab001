//! What was judged is what runs: in the directory it was judged for, from the state it was judged for, and nothing where
//! bash itself rejects the text. The canaries are harmless.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use chiton_engine::consent::{Answer, Approver, Asking, Question};
use chiton_engine::guard::{Context, Decision, GuardPolicy, HumanRule};
use chiton_engine::review::{Guard, Permission, PermissionManager, Permitting};
use chiton_engine::tasks::{WaitFor, WaitReason};
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{
    CommandInput, CommandRequest, Engine, Outcome, Response, RunControl, Session, Silent, StartedTask, Typing,
};
use regex::bytes::Regex;

use crate::harness::{Harness, runtime};

/// The usual guard, which asks about canaries.
fn guarded() -> Harness {
    let rule = HumanRule {
        decision: Decision::Ask,
        program: vec!["touch".to_owned(), "canary".to_owned()],
        arguments: Vec::new(),
        any_argument: vec!["canary*".to_owned(), "*".to_owned()],
        path: Vec::new(),
        redirection: Vec::new(),
        reason: "Canaries sing.".to_owned(),
        matches: vec!["touch canary".to_owned()],
        not_match: vec!["ls".to_owned()],
    };
    let around = Context::new("/nonexistent", "nobody", "/");
    let policy = GuardPolicy { rules: vec![rule], ..GuardPolicy::default() };
    let guard = Guard::new(policy.check(&around).unwrap(), around);
    Harness::with(move |config| config.guard = guard)
}

fn run(engine: &Engine, session: &Session, request: CommandRequest) -> Result<Response, String> {
    let response = runtime().block_on(engine.run(session, request, &mut Silent, &RunControl::new()));
    response.map_err(|error| error.to_string())
}

fn ran(harness: &Harness, session: &Session, command: &str) -> Response {
    run(&harness.engine, session, CommandRequest::new(command)).unwrap()
}

#[test]
fn a_directory_that_is_gone_is_told_once_and_nothing_runs_in_its_parent_before() {
    for harness in [guarded(), Harness::new()] {
        let project = harness.folder.path().join("p");
        let session = harness.session_in(&project);
        let lose = || {
            fs::create_dir_all(project.join("build/deep")).unwrap();
            ran(&harness, &session, &format!("cd '{}/build/deep'", project.display()));
            fs::remove_dir_all(project.join("build")).unwrap();
        };
        fs::create_dir(&project).unwrap();
        lose();

        let error = run(&harness.engine, &session, CommandRequest::new("echo > here")).unwrap_err();
        assert!(error.contains("build/deep is gone, so nothing was run"), "{error}");
        assert!(error.contains(&format!("is in {} now", project.display())), "where it is: {error}");
        assert!(!project.join("here").exists());
        assert_eq!(session.state().cwd, project);

        // Whoever was told sends it again.
        let again = ran(&harness, &session, "echo > here");
        assert_eq!((again.outcome(), again.notices()), (Some(Outcome::Exited(0)), &[][..]));
        assert!(project.join("here").exists());

        // A command that says itself where to go need not be told.
        lose();
        let command = format!("cd '{}' && echo > there", project.display());
        assert_eq!(ran(&harness, &session, &command).outcome(), Some(Outcome::Exited(0)));
        assert!(project.join("there").exists());
        assert_eq!(ran(&harness, &session, "pwd").cwd(), project);

        // A task is started nowhere else either.
        lose();
        let started = runtime().block_on(harness.engine.start(&session, CommandRequest::new("echo > task")));
        assert!(started.unwrap_err().to_string().contains("is gone, so nothing was run"));
        assert_eq!(session.state().cwd, project);
    }
}

/// Agrees to everything, and does something before.
#[derive(Clone)]
struct Agreeable(Arc<dyn Fn() + Send + Sync>);

impl std::fmt::Debug for Agreeable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Agreeable")
    }
}

impl PermissionManager for Agreeable {
    fn check<'a>(&'a self, question: &'a Question) -> Permitting<'a> {
        if question.command.contains("first") {
            tokio::task::block_in_place(|| (self.0)());
        }
        Box::pin(async { Ok(Permission::Allow) })
    }
}

#[test]
fn a_command_that_was_judged_for_a_directory_does_not_follow_the_session_when_that_is_gone() {
    let place: Arc<Mutex<Option<(Engine, Session)>>> = Arc::default();
    let folder = tempfile::tempdir().unwrap();
    let (root, second) = (folder.path().canonicalize().unwrap(), Arc::new(Mutex::new(None)));
    let meanwhile = {
        let (place, root, second) = (Arc::clone(&place), root.clone(), Arc::clone(&second));
        Agreeable(Arc::new(move || {
            let (engine, session) = place.lock().unwrap().clone().unwrap();
            fs::remove_dir(root.join("build")).unwrap();
            let other = std::thread::spawn(move || run(&engine, &session, CommandRequest::new("echo > other")));
            *second.lock().unwrap() = Some(other.join().unwrap());
        }))
    };
    let harness = Harness::with(move |config| config.guard.manager = Some(Arc::new(meanwhile)));
    fs::create_dir(root.join("build")).unwrap();
    let session = harness.session_in(&root.join("build"));
    *place.lock().unwrap() = Some((harness.engine.clone(), session.clone()));

    let first = run(&harness.engine, &session, CommandRequest::new("echo > first")).unwrap_err();
    let second = second.lock().unwrap().take().unwrap().unwrap_err();
    for error in [&first, &second] {
        assert!(error.contains("build is gone") && error.contains(&format!("is in {} now", root.display())), "{error}");
    }
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "neither ran");
    ran(&harness, &session, "echo > third");
    assert!(root.join("third").exists(), "both were told");
}

#[test]
fn a_command_does_not_follow_a_link_that_took_the_place_of_its_directory() {
    for harness in [guarded(), Harness::new()] {
        let (here, elsewhere) = (harness.folder.path().join("here"), harness.folder.path().join("elsewhere"));
        fs::create_dir(&here).unwrap();
        fs::create_dir_all(elsewhere.join("sub")).unwrap();
        fs::create_dir(here.join("sub")).unwrap();
        let session = harness.session();
        ran(&harness, &session, "cd here/sub");
        fs::remove_dir_all(&here).unwrap();
        symlink(&elsewhere, &here).unwrap();
        let error = run(&harness.engine, &session, CommandRequest::new("echo > file")).unwrap_err();
        assert!(error.contains("now leads to") && error.contains("elsewhere/sub"), "{error}");

        // What is above it leads elsewhere, too, so the session goes further up.
        let folder = harness.folder.path();
        assert!(error.contains(&format!("is in {} now", folder.display())), "{error}");
        ran(&harness, &session, "echo > file");
        assert!(folder.join("file").exists());
        assert_eq!(files(&elsewhere), Vec::<String>::new());
    }
}

#[test]
fn a_command_in_a_linked_directory_is_judged_for_where_the_link_leads() {
    let harness = guarded();
    symlink("/etc", harness.folder.path().join("link")).unwrap();
    let session = harness.session();
    assert_eq!(ran(&harness, &session, "cd link").outcome(), Some(Outcome::Exited(0)));
    // Never run: even where the guard failed, there is no such file to remove and no right to.
    let response = ran(&harness, &session, "rm chiton-no-such-file");
    assert!(response.ran().is_none(), "it was judged for {}", harness.folder.path().join("link").display());
}

/// A person who does something between the question and the answer.
struct Busy {
    then: Mutex<Box<dyn FnMut() + Send>>,
    answer: Answer,
}

impl std::fmt::Debug for Busy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Busy")
    }
}

impl Approver for Busy {
    fn ask<'a>(&'a self, _question: &'a Question) -> Asking<'a> {
        Box::pin(async {
            tokio::task::block_in_place(|| (self.then.lock().unwrap())());
            Ok(self.answer)
        })
    }
}

fn asked(command: &str, then: impl FnMut() + Send + 'static, answer: Answer) -> CommandRequest {
    let mut request = CommandRequest::new(command);
    request.approver = Some(Arc::new(Busy { then: Mutex::new(Box::new(then)), answer }));
    request
}

/// What another call of the session, or another process, changes while a person is asked.
type Meanwhile = fn(&Harness, &Session);

const CHANGES: &[(&str, Meanwhile)] = &[
    ("a variable", |harness, session| harness_run(harness, session, "TARGET=canary-b")),
    ("a function", |harness, session| harness_run(harness, session, "touch() { echo > hijacked; }")),
    ("an alias", |harness, session| {
        harness_run(harness, session, "shopt -s expand_aliases; alias touch='touch hijacked'");
    }),
    ("the directory", |harness, session| harness_run(harness, session, "cd sub")),
    ("the directory itself", |harness, _| {
        let (place, aside) = (harness.folder.path().join("work"), harness.folder.path().join("aside"));
        fs::rename(&place, aside).unwrap();
        fs::create_dir_all(place.join("sub")).unwrap();
    }),
];

fn harness_run(harness: &Harness, session: &Session, command: &str) {
    let engine = harness.engine.clone();
    let (session, command) = (session.clone(), command.to_owned());
    let response = std::thread::spawn(move || run(&engine, &session, CommandRequest::new(command.as_str())).unwrap());
    assert!(response.join().unwrap().ran().is_some());
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && name != "state" {
            names.extend(files(&entry.path()));
        } else if entry.path().is_file() {
            names.push(name);
        }
    }
    names
}

#[test]
fn a_consent_does_not_hold_for_what_changed_between_question_and_run() {
    for (what, change) in CHANGES {
        let harness = Arc::new(guarded());
        fs::create_dir_all(harness.folder.path().join("work/sub")).unwrap();
        let session = harness.session_in(&harness.folder.path().join("work"));
        ran(&harness, &session, "TARGET=canary-a");

        let (during, same) = (Arc::clone(&harness), session.clone());
        let request = asked("touch \"$TARGET\"", move || change(&during, &same), Answer::Once);
        let response = run(&harness.engine, &session, request);
        let refused = match &response {
            Ok(response) => response.ran().is_none(),
            Err(_) => true,
        };
        assert!(refused, "{what}: it ran");
        assert_eq!(files(harness.folder.path()), Vec::<String>::new(), "{what}");

        // Nothing changed: it runs.
        let request = asked("touch \"$TARGET\"", || {}, Answer::Once);
        let response = run(&harness.engine, &session, request).unwrap();
        assert!(response.ran().is_some(), "{what}: {:?}", response.outcome());
    }
}

#[test]
fn a_consent_for_the_session_is_for_the_same_state_only() {
    let harness = guarded();
    let session = harness.session();
    ran(&harness, &session, "TARGET=canary-a");
    let command = "touch \"$TARGET\"";
    assert!(run(&harness.engine, &session, asked(command, || {}, Answer::Session)).unwrap().ran().is_some());
    assert!(ran(&harness, &session, command).ran().is_some(), "the very same again");
    ran(&harness, &session, "UNRELATED=1");
    assert!(ran(&harness, &session, command).ran().is_some(), "what it does not use may change");
    ran(&harness, &session, "TARGET=canary-b");
    assert!(ran(&harness, &session, command).ran().is_none(), "another target is another matter");
}

#[test]
fn a_later_answer_is_for_the_state_of_its_question() {
    let harness = guarded();
    let session = harness.session();
    let command = "touch \"$TARGET\"";
    let question = |session: &Session| ran(&harness, session, command).question().unwrap().id.clone();
    ran(&harness, &session, "TARGET=canary-a");

    let id = question(&session);
    ran(&harness, &session, "TARGET=canary-b");
    let mut request = CommandRequest::new(command);
    request.consent = Some((id, Answer::Once));
    assert!(run(&harness.engine, &session, request).unwrap().ran().is_none());

    let mut request = CommandRequest::new(command);
    request.consent = Some((question(&session), Answer::Once));
    assert!(run(&harness.engine, &session, request).unwrap().ran().is_some());
    assert!(harness.folder.path().join("canary-b").exists() && !harness.folder.path().join("canary-a").exists());
}

#[test]
fn a_syntax_error_is_bash_s_own_message_and_nobody_is_asked() {
    let harness = guarded();
    let session = harness.session();
    let cases =
        ["echo \"unclosed", "echo > before; fi", "echo > before\necho 'unclosed", "for x in", "a ( b", "(", "}"];
    for command in cases {
        let request = asked(command, || panic!("a person was asked"), Answer::Once);
        let response = run(&harness.engine, &session, request).unwrap();
        let report = response.ran().unwrap_or_else(|| panic!("{command}: {:?}", response.outcome()));
        assert_eq!(report.outcome, Outcome::Exited(2), "{command}");
        let said = report.stderr.to_text();
        assert!(said.starts_with("bash: -c: line "), "{command}: {said}");
        assert_eq!(report.state.word(), "unchanged", "{command}");
        assert!(report.notices.is_empty(), "{command}: {:?}", report.notices);
        assert_eq!(files(harness.folder.path()), Vec::<String>::new(), "{command}: something ran");
    }
}

#[test]
fn what_a_command_reads_is_judged_with_it() {
    let harness = guarded();
    for reader in ["bash", "sh -s", "cat | bash", ". /dev/stdin", "read -r line; eval \"$line\"", "xargs touch"] {
        let mut request = CommandRequest::new(reader);
        request.input = CommandInput::Text("touch canary\n".into());
        let response = run(&harness.engine, &harness.session(), request).unwrap();
        assert!(response.ran().is_none(), "{reader}: {:?}", response.outcome());
        assert!(!harness.folder.path().join("canary").exists(), "{reader}");
    }
    let mut request = CommandRequest::new("cat");
    request.input = CommandInput::Text("touch canary\n".into());
    assert!(run(&harness.engine, &harness.session(), request).unwrap().ran().is_some(), "text is only text");
}

#[test]
fn a_script_that_an_earlier_command_wrote_is_judged_by_what_is_in_it() {
    let harness = guarded();
    let session = harness.session();
    fs::write(harness.folder.path().join("later.sh"), "echo fine\n").unwrap();
    ran(&harness, &session, "echo 'tou''ch canary' > script.sh; echo 'echo fine' > fine.sh; chmod +x script.sh");
    for runner in
        ["bash script.sh", "sh ./script.sh", "./script.sh", ". ./script.sh", "bash < script.sh", "cat script.sh | sh"]
    {
        let response = ran(&harness, &session, runner);
        assert!(response.ran().is_none(), "{runner}: {:?}", response.outcome());
        assert!(!harness.folder.path().join("canary").exists(), "{runner}");
    }
    for fine in ["bash fine.sh", "bash later.sh", "cat script.sh"] {
        assert!(ran(&harness, &session, fine).ran().is_some(), "{fine}");
    }
}

#[test]
fn a_consent_is_for_the_script_as_it_was() {
    let harness = guarded();
    let session = harness.session();
    ran(&harness, &session, "echo 'tou''ch canary' > script.sh");
    let script = harness.folder.path().join("script.sh");
    let edited = asked("bash script.sh", move || fs::write(&script, "touch canary-b\n").unwrap(), Answer::Once);
    assert!(run(&harness.engine, &session, edited).unwrap().ran().is_none());
    assert_eq!(files(harness.folder.path()), ["script.sh"]);
    let same = asked("bash script.sh", || {}, Answer::Once);
    assert!(run(&harness.engine, &session, same).unwrap().ran().is_some());
    assert!(harness.folder.path().join("canary-b").exists());
}

/// A task with an open input, in a terminal or not.
fn start(harness: &Harness, session: &Session, command: &str, terminal: bool) -> String {
    let mut request = CommandRequest::new(command);
    request.input = CommandInput::Open;
    request.terminal = terminal.then_some(TerminalSize::USUAL);
    match runtime().block_on(harness.engine.start(session, request)).unwrap() {
        StartedTask::Started(task) => task.id,
        StartedTask::Refused(refused) => panic!("{command}: {}", refused.refusal.reason),
        StartedTask::Described(_) => panic!("{command}: a dry run"),
    }
}

/// Gives a text to a task as an agent does; says why it was refused.
fn send(harness: &Harness, session: &Session, id: &str, text: &str, terminal: bool) -> Result<(), String> {
    runtime().block_on(async {
        let sent = if terminal {
            harness.engine.type_into(session, id, Typing::Text(text.to_owned())).await
        } else {
            harness.engine.write_to(session, id, text).await
        };
        sent.map_err(|error| error.to_string())
    })
}

/// Waits until the program that a task started reads from it.
fn until_printed(harness: &Harness, id: &str, text: &str) {
    let wanted = WaitFor { pattern: Some(Regex::new(text).unwrap()), ..WaitFor::default() };
    let wanted = WaitFor { timeout: Some(crate::harness::seconds(30)), ..wanted };
    let reason = runtime().block_on(harness.engine.tasks().wait(id, wanted)).unwrap().reason;
    assert!(matches!(reason, WaitReason::Matched(_)), "{text}: {reason:?}");
}

fn kill(harness: &Harness, id: &str) {
    runtime().block_on(harness.engine.tasks().kill(id, None)).unwrap();
}

#[test]
fn a_line_for_a_running_shell_is_judged_however_it_is_cut() {
    let harness = guarded();
    let session = harness.session();
    let line = "touch canary";
    for terminal in [false, true] {
        let id = start(&harness, &session, "PS1='$ ' bash --norc", terminal);
        assert_eq!(send(&harness, &session, &id, "echo rea''dy\n", terminal), Ok(()));
        until_printed(&harness, &id, "ready");
        for cut in 0..=line.len() {
            let (first, second) = line.split_at(cut);
            assert_eq!(send(&harness, &session, &id, first, terminal), Ok(()), "nothing is complete at {cut}");
            let said = send(&harness, &session, &id, &format!("{second}\n"), terminal).unwrap_err();
            assert!(said.contains("Canaries sing."), "{cut}: {said}");
            // What was begun is taken back, as a person would.
            if terminal {
                runtime().block_on(harness.engine.type_into(&session, &id, Typing::Keys("ctrl-u".to_owned()))).unwrap();
            } else {
                kill(&harness, &id);
                break;
            }
        }
        assert!(!harness.folder.path().join("canary").exists());
        kill(&harness, &id);
    }
}

#[test]
fn a_line_for_a_running_shell_is_judged_with_the_lines_before_it() {
    let harness = guarded();
    let session = harness.session();
    let id = start(&harness, &session, "bash", false);
    for fine in ["bird=can\n", "for x in 1 2; do\n", "echo $x\n", "done\n", "f() {\n", "echo tou\n", "}\n"] {
        assert_eq!(send(&harness, &session, &id, fine, false), Ok(()), "{fine}");
    }
    let said = send(&harness, &session, &id, "touch ${bird}ary\n", false).unwrap_err();
    assert!(said.contains("Canaries sing."), "{said}");
    assert_eq!(send(&harness, &session, &id, "touch ${bird}", false), Ok(()), "not complete");
    let end = runtime().block_on(harness.engine.end_input_of(&session, &id));
    assert!(end.is_err(), "the end of input completes it");
    assert!(!harness.folder.path().join("canary").exists());
    kill(&harness, &id);
}

#[test]
fn what_waited_for_a_reader_is_judged_as_given_to_it() {
    let harness = guarded();
    let session = harness.session();
    // The shell that will read does not run yet; what is written waits for it in the pipe.
    let begin = harness.folder.path().join("begin");
    let id = start(&harness, &session, "until [ -e begin ]; do sleep 0.01; done; bash; echo en''ded", false);
    for fine in ["bird=can\n", "echo rea''dy\n", "touch ${bird}"] {
        assert_eq!(send(&harness, &session, &id, fine, false), Ok(()), "{fine}");
    }
    fs::write(begin, "").unwrap();
    until_printed(&harness, &id, "ready");
    let said = send(&harness, &session, &id, "ary\n", false).unwrap_err();
    assert!(said.contains("Canaries sing."), "{said}");
    assert!(!harness.folder.path().join("canary").exists());
    kill(&harness, &id);
}

#[test]
fn a_program_inside_a_shell_is_given_what_is_meant_for_it() {
    let harness = guarded();
    let session = harness.session();
    for terminal in [false, true] {
        let id = start(&harness, &session, "bash --norc", terminal);
        // It says itself that it has begun: what a terminal echoes says nothing of who will read it.
        let inside = "sh -c 'echo re\"\"ady; exec cat'; echo ba''ck\n";
        assert_eq!(send(&harness, &session, &id, inside, terminal), Ok(()));
        until_printed(&harness, &id, "ready");
        // `cat` reads it, so it is text; no shell would take it.
        for text in ["print(1+1)\n", "def f():\n", "touch canary\n", ")(\n"] {
            assert_eq!(send(&harness, &session, &id, text, terminal), Ok(()), "{text}");
        }
        assert!(!harness.folder.path().join("canary").exists());
        kill(&harness, &id);
    }
}
