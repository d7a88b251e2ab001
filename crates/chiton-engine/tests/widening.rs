//! A person can allow what a sandbox has refused: once, or for a session, and nothing beyond what they were shown.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use chiton_engine::consent::{Answer, Approver, Asking, Question, QuestionKind};
use chiton_engine::guard::{Context, Decision, GuardPolicy, HumanRule};
use chiton_engine::review::Guard;
use chiton_engine::sandbox::policy::SandboxPolicy;
use chiton_engine::{CommandRequest, EngineError, Outcome, RunControl, RunReport, Session, Silent};

use crate::harness::{Harness, enclosed, runtime};

/// Somebody who has prepared answers, and remembers what they were asked.
#[derive(Debug, Default)]
struct Person {
    answers: Mutex<Vec<Result<Answer, String>>>,
    asked: Mutex<Vec<String>>,
}

impl Approver for Person {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        let about = if question.kind == QuestionKind::Widen { "widen" } else { "run" };
        self.asked.lock().unwrap().push(format!("{about}\n{}", question.text()));
        let answer = self.answers.lock().unwrap().pop().unwrap_or(Ok(Answer::Undecided));
        Box::pin(async move { answer })
    }
}

struct Place {
    harness: Harness,
    session: Session,
    _folder: tempfile::TempDir,
    root: PathBuf,
}

fn place(guard: Option<Guard>) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for path in ["work/hooks", "outside/deep"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join("outside/file"), "old").unwrap();
    fs::write(root.join("outside/other"), "old").unwrap();
    let policy = SandboxPolicy { keep: vec![root.join("work/hooks")], ..enclosed(&root.join("work")) };
    let harness = Harness::with(|config| {
        config.sandbox = Some(policy);
        if let Some(guard) = guard {
            config.guard = guard;
        }
    });
    let session = harness.session_in(&root.join("work"));
    Place { harness, session, _folder: folder, root }
}

impl Place {
    /// Runs a command with somebody who gives these answers, the first one first; gives what they were asked, too.
    fn run(&self, command: &str, answers: &[Answer]) -> (RunReport, Vec<String>) {
        let answers = Mutex::new(answers.iter().rev().map(|answer| Ok(*answer)).collect());
        let person = Arc::new(Person { answers, ..Person::default() });
        let mut request = CommandRequest::new(command);
        request.approver = Some(person.clone());
        let response = runtime().block_on(self.harness.respond(&self.session, request));
        let asked = person.asked.lock().unwrap().clone();
        (response.into_ran().expect("it was run"), asked)
    }

    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }
}

#[test]
fn once_is_for_one_command_and_its_answer_is_that_of_the_second_run() {
    let place = place(None);
    let (report, asked) = place.run("echo new > ../outside/file", &[Answer::Once]);
    assert_eq!(report.outcome, Outcome::Exited(0), "{:?}", report.refused);
    assert_eq!(place.content("outside/file"), "new\n");
    assert!(report.notices.iter().any(|notice| notice.contains("a person allowed it once")), "{:?}", report.notices);
    let [question] = asked.as_slice() else { panic!("{asked:?}") };
    let path = place.root.join("outside/file").display().to_string();
    assert!(question.starts_with("widen\nThe sandbox test did not let this command write "), "{question}");
    let line = question.lines().find(|line| line.starts_with("for good: chiton sandbox allow write")).unwrap();
    assert!(line.contains(&path), "{question}");
    assert!(question.contains("| echo new > ../outside/file"), "{question}");

    let (report, asked) = place.run("echo newer > ../outside/file", &[]);
    assert_eq!((report.outcome, asked.len()), (Outcome::Exited(1), 1), "once is over");
    assert_eq!(place.content("outside/file"), "new\n");
}

#[test]
fn for_the_session_is_for_all_its_commands_and_for_nothing_else() {
    let place = place(None);
    let (report, _) = place.run("echo new > ../outside/file", &[Answer::Session]);
    assert_eq!(report.outcome, Outcome::Exited(0), "{:?}", report.refused);
    let (report, asked) = place.run("echo newer > ../outside/file", &[]);
    assert_eq!((report.outcome, asked.len()), (Outcome::Exited(0), 0), "{:?}", report.refused);
    assert_eq!(place.content("outside/file"), "newer\n");
    let (report, asked) = place.run("echo new > ../outside/other", &[]);
    assert_eq!((report.outcome, asked.len()), (Outcome::Exited(1), 1), "another file is another question");
    assert_eq!(place.content("outside/other"), "old");

    let other = place.harness.session_in(&place.root.join("work"));
    let report = runtime().block_on(place.harness.run(&other, "echo x > ../outside/file"));
    assert_eq!(report.outcome, Outcome::Exited(1), "another session is another session");
}

#[test]
fn no_leaves_it_refused_and_nobody_asks_again() {
    let place = place(None);
    let (report, asked) = place.run("echo new > ../outside/file", &[Answer::No]);
    assert_eq!((report.outcome, asked.len()), (Outcome::Exited(1), 1));
    let (report, asked) = place.run("echo new > ../outside/file", &[Answer::Once]);
    assert_eq!((report.outcome, asked.len()), (Outcome::Exited(1), 0));
    assert_eq!(place.content("outside/file"), "old");
}

#[test]
fn a_question_that_nobody_answers_changes_nothing_and_is_asked_again() {
    let place = place(None);
    for _ in 0..2 {
        let (report, asked) = place.run("echo new > ../outside/file", &[Answer::Undecided]);
        assert_eq!((report.outcome, asked.len()), (Outcome::Exited(1), 1));
        assert_eq!(report.refused.len(), 1, "{:?}", report.refused);
    }
    assert_eq!(place.content("outside/file"), "old");
}

#[test]
fn nobody_is_asked_where_the_command_did_its_work_or_no_profile_could_allow_it() {
    let place = place(None);
    for command in ["echo new > ../outside/file || true", "echo x > hooks/pre-commit", "false"] {
        let (_, asked) = place.run(command, &[Answer::Once]);
        assert_eq!(asked, Vec::<String>::new(), "{command}");
    }
    assert_eq!(place.content("outside/file"), "old");
}

#[test]
fn a_file_that_is_not_there_yet_is_made_in_its_folder() {
    let place = place(None);
    let (report, asked) = place.run("echo new > ../outside/deep/made", &[Answer::Once]);
    assert_eq!(report.outcome, Outcome::Exited(0), "{asked:?} {:?}", report.refused);
    assert_eq!(place.content("outside/deep/made"), "new\n");
    let folder = place.root.join("outside/deep").display().to_string();
    assert!(asked[0].contains(&format!("did not let this command write {folder} (bash)")), "{}", asked[0]);
}

#[test]
fn a_socket_can_be_allowed() {
    let place = place(None);
    let path = place.root.join("outside/socket");
    let listener = UnixListener::bind(&path).unwrap();
    let connect = format!("python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{}')\"", path.display());
    let (report, asked) = place.run(&connect, &[Answer::Once]);
    assert_eq!(report.outcome, Outcome::Exited(0), "{asked:?} {:?}", report.refused);
    drop(listener);
}

#[test]
fn what_the_guard_asks_about_is_asked_about_before_it_runs_again() {
    let rule = HumanRule {
        decision: Decision::Ask,
        program: vec!["touch".to_owned()],
        arguments: Vec::new(),
        any_argument: Vec::new(),
        path: Vec::new(),
        redirection: Vec::new(),
        reason: String::new(),
        matches: vec!["touch canary".to_owned()],
        not_match: Vec::new(),
    };
    let policy = GuardPolicy { rules: vec![rule], ..GuardPolicy::default() };
    let context = Context::new("/home/dev", "dev", "/home/dev");
    let place = place(Some(Guard::new(policy.check(&context).unwrap(), context)));
    let (report, asked) =
        place.run("touch ../outside/file ../outside/canary", &[Answer::Once, Answer::Once, Answer::Once]);
    assert_eq!(report.outcome, Outcome::Exited(0), "{asked:?} {:?}", report.refused);
    let kinds: Vec<&str> = asked.iter().filter_map(|question| question.lines().next()).collect();
    assert_eq!(kinds, ["run", "widen", "run"]);
}

#[test]
fn a_call_that_chose_its_id_is_answered_by_the_run_that_a_person_allowed() {
    let place = place(None);
    let id: chiton_engine::RunId = "shell_0000abcd".parse().unwrap();
    let person = Arc::new(Person { answers: Mutex::new(vec![Ok(Answer::Once)]), ..Person::default() });
    let mut request = CommandRequest::new("echo new > ../outside/file");
    request.approver = Some(person);
    request.run_id = Some(id.clone());
    let report = runtime().block_on(place.harness.respond(&place.session, request.clone())).into_ran().unwrap();
    assert_eq!(report.outcome, Outcome::Exited(0));
    assert_ne!(report.run_id, id.as_str(), "that is the one which was refused something");
    let tasks = place.harness.engine.tasks();
    assert_eq!(tasks.answering(&id).as_str(), report.run_id);
    assert_eq!(tasks.answering(&tasks.answering(&id)).as_str(), report.run_id);
    let again = async { place.harness.engine.run(&place.session, request, &mut Silent, &RunControl::new()).await };
    assert!(matches!(runtime().block_on(again), Err(EngineError::RunExists { id: taken }) if taken == id));
}
