//! Before any command: the permission manager of a program, a person's consent, a dry run. The canary is harmless.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use chiton_engine::consent::{Answer, Approver, Asking, Question};
use chiton_engine::guard::{Context, Decision, GuardPolicy, HumanRule};
use chiton_engine::review::{Guard, Permission, PermissionManager, Permitting, Refusal};
use chiton_engine::secrets::source::SourceError;
use chiton_engine::secrets::{Reference, Secret, SecretSource, SecretStore};
use chiton_engine::tasks::WaitFor;
use chiton_engine::{CommandRequest, EngineConfig, Outcome, Response, Session, StartedTask};

use crate::harness::{Harness, runtime};

type Check = Box<dyn Fn(&Question) -> Result<Permission, &'static str> + Send + Sync>;

struct Manager {
    check: Check,
    asked: AtomicUsize,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Manager")
    }
}

impl PermissionManager for Manager {
    fn check<'a>(&'a self, question: &'a Question) -> Permitting<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let said = (self.check)(question);
        Box::pin(async move { said.map_err(Into::into) })
    }
}

fn manager(check: impl Fn(&Question) -> Result<Permission, &'static str> + Send + Sync + 'static) -> Arc<Manager> {
    Arc::new(Manager { check: Box::new(check), asked: AtomicUsize::new(0) })
}

/// The usual guard, with one rule about canaries.
fn guard(decision: Decision) -> Guard {
    let rule = HumanRule {
        decision,
        program: vec!["touch".to_owned()],
        arguments: Vec::new(),
        any_argument: vec!["canary*".to_owned()],
        path: Vec::new(),
        redirection: Vec::new(),
        reason: "Canaries sing.".to_owned(),
        matches: vec!["touch canary".to_owned()],
        not_match: vec!["touch other".to_owned()],
    };
    let around = Context::new("/nonexistent", "nobody", "/");
    let policy = GuardPolicy { rules: vec![rule], ..GuardPolicy::default() };
    Guard::new(policy.check(&around).unwrap(), around)
}

fn with(guard: Guard) -> Harness {
    Harness::with(move |config: &mut EngineConfig| config.guard = guard)
}

fn refusal(response: &Response) -> &Refusal {
    let Response::Refused(refused) = response else { panic!("it was {}", response.word()) };
    &refused.refusal
}

/// Runs it in the foreground and in the background; gives why it was refused, both times.
fn both(harness: &Harness, session: &Session, command: &str) -> [Option<String>; 2] {
    runtime().block_on(async {
        let response = harness.respond(session, CommandRequest::new(command)).await;
        let waited = response.ran().is_none().then(|| refusal(&response).reason.clone());
        let started = match harness.engine.start(session, CommandRequest::new(command)).await.unwrap() {
            StartedTask::Started(task) => {
                harness.engine.tasks().wait(&task.id, WaitFor::default()).await.unwrap();
                None
            }
            StartedTask::Refused(refused) => Some(refused.refusal.reason),
            StartedTask::Described(_) => panic!("this is not a dry run"),
        };
        [waited, started]
    })
}

#[test]
fn a_permission_manager_is_asked_before_every_command_and_its_failure_is_a_denial() {
    let manager = manager(|question| match question.command.as_str() {
        "touch no" => Ok(Permission::Deny("not on a Sunday".to_owned())),
        "touch broken" => Err("the database is away"),
        _ => Ok(Permission::NoObjection),
    });
    let mut off = Guard::off();
    off.manager = Some(manager.clone());
    let harness = with(off);
    let session = harness.session();
    for (command, words) in [("touch no", "not on a Sunday"), ("touch broken", "the database is away")] {
        for said in both(&harness, &session, command) {
            assert!(said.is_some_and(|said| said.contains("denied") && said.contains(words)), "{command}");
        }
        assert!(!harness.folder.path().join(&command[6..]).exists(), "{command} ran");
    }
    assert_eq!(both(&harness, &session, "touch yes"), [None, None]);
    assert!(harness.folder.path().join("yes").exists());
    assert_eq!(manager.asked.load(Ordering::Relaxed), 6, "foreground and background, each");
}

#[test]
fn a_permission_manager_consents_where_the_guard_asks_and_cannot_where_it_denies() {
    for (decision, runs) in [(Decision::Ask, true), (Decision::Deny, false)] {
        let mut guard = guard(decision);
        guard.manager = Some(manager(|_| Ok(Permission::Allow)));
        let harness = with(guard);
        let said = both(&harness, &harness.session(), "touch canary");
        assert_eq!(said.iter().all(Option::is_none), runs, "{said:?}");
        assert_eq!(harness.folder.path().join("canary").exists(), runs, "{decision:?}");
    }
}

#[derive(Debug)]
struct Person {
    answers: Mutex<Vec<Result<Answer, String>>>,
}

impl Approver for Person {
    fn ask<'a>(&'a self, _question: &'a Question) -> Asking<'a> {
        let answer = self.answers.lock().unwrap().pop().expect("asked once too often");
        Box::pin(async move { answer })
    }
}

#[test]
fn a_person_answers_for_one_run_or_for_the_session() {
    let harness = with(guard(Decision::Ask));
    let session = harness.session();
    let run = |session: &Session, answers: Vec<Result<Answer, String>>| {
        let person = Arc::new(Person { answers: Mutex::new(answers) });
        let mut request = CommandRequest::new("touch canary");
        request.approver = Some(person.clone());
        let response = runtime().block_on(harness.respond(session, request));
        let path = harness.folder.path().join("canary");
        let ran = path.exists();
        let _ = std::fs::remove_file(path);
        assert_eq!(ran, response.outcome() == Some(Outcome::Exited(0)));
        (ran, person.answers.lock().unwrap().is_empty())
    };
    assert_eq!(run(&session, vec![Ok(Answer::No)]), (false, true));
    assert_eq!(run(&session, vec![Err("the terminal is gone".to_owned())]), (false, true));
    assert_eq!(run(&session, vec![Ok(Answer::Undecided)]), (false, true));
    assert_eq!(run(&session, vec![Ok(Answer::Once)]), (true, true));
    assert_eq!(run(&session, vec![Ok(Answer::Session)]), (true, true), "once is over");
    assert_eq!(run(&session, Vec::new()), (true, true), "nobody is asked again");
    assert_eq!(run(&harness.session(), vec![Ok(Answer::No)]), (false, true), "another session is another matter");
    let nobody = runtime().block_on(harness.respond(&harness.session(), CommandRequest::new("touch canary")));
    assert!(refusal(&nobody).reason.contains("nobody here who could be asked"));
    assert!(refusal(&nobody).question.is_some() && nobody.ran().is_none());
}

#[test]
fn a_refusal_says_whether_a_person_decided() {
    let harness = with(guard(Decision::Ask));
    let (no, nobody) = ("a person said no", "nobody decided");
    let gone = || Err("the terminal is gone".to_owned());
    for (answer, words, other) in
        [(Ok(Answer::No), no, nobody), (Ok(Answer::Undecided), nobody, no), (gone(), nobody, no)]
    {
        let mut request = CommandRequest::new("touch canary");
        request.approver = Some(Arc::new(Person { answers: Mutex::new(vec![answer.clone()]) }));
        let response = runtime().block_on(harness.respond(&harness.session(), request));
        let reason = &refusal(&response).reason;
        assert!(reason.contains(words) && !reason.contains(other), "{answer:?}: {reason}");
    }
}

#[test]
fn a_dry_run_says_what_would_happen_and_starts_nothing() {
    let mut guard = guard(Decision::Ask);
    guard.dry_run = true;
    let harness = with(guard);
    let session = harness.session();
    let command = "X=one; touch \"$X\" canary > log; vim notes";
    let response = runtime().block_on(harness.respond(&session, CommandRequest::new(command)));
    let Response::Described(dry_run) = &response else { panic!("it was {}", response.word()) };
    let text = dry_run.description.to_text();
    for part in ["[Dry Run]", "A person would be asked", "Canaries sing.", "touch one canary", "log", "vim", "Limit:"] {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
    let started = runtime().block_on(harness.engine.start(&session, CommandRequest::new("touch two")));
    assert!(matches!(started.unwrap(), StartedTask::Described(_)));
    assert_eq!((response.word(), response.outcome()), ("described", None), "what never ran has not exited");
    for name in ["one", "two", "canary", "log"] {
        assert!(!harness.folder.path().join(name).exists(), "{name} is there");
    }
    assert_eq!(harness.engine.tasks().ids(), Vec::<String>::new(), "nothing was started");
}

#[test]
fn what_was_agreed_to_elsewhere_is_not_asked_about_and_what_is_denied_stays_so() {
    for (decision, runs) in [(Decision::Ask, true), (Decision::Deny, false)] {
        let harness = with(guard(decision));
        let session = harness.session();
        runtime().block_on(async {
            for (agreed, expected) in [(false, false), (true, runs)] {
                let request = || CommandRequest { agreed, ..CommandRequest::new("cd .; touch canary") };
                let response = harness.respond(&session, request()).await;
                assert_eq!(response.ran().is_some(), expected, "{decision:?} {agreed}");
                let started = harness.engine.start(&session, request()).await.unwrap();
                assert_eq!(matches!(started, StartedTask::Started(_)), expected, "{decision:?} {agreed}");
            }
        });
    }
}

/// A source of secrets that takes its time: meanwhile the session changes.
#[derive(Debug, Default)]
struct SlowSource(Arc<OnceLock<Session>>);

impl SecretSource for SlowSource {
    fn title(&self) -> String {
        "a slow source".to_owned()
    }

    fn get(&self, _: &Reference) -> Result<Option<Secret>, SourceError> {
        let session = self.0.get().unwrap();
        let mut state = chiton_engine::ShellState::clone(&session.state());
        state.umask ^= 1;
        session.restore(state.into());
        Ok(Some(Secret::masked("12345678")))
    }
}

#[test]
fn what_was_agreed_to_elsewhere_is_not_asked_about_either_where_the_session_changes_meanwhile() {
    for (agreed, decision, expected) in
        [(true, Decision::Ask, true), (true, Decision::Deny, false), (false, Decision::Ask, false)]
    {
        let source = SlowSource::default();
        let changed = Arc::clone(&source.0);
        let harness = Harness::with(|config| {
            config.guard = guard(decision);
            config.secrets = SecretStore::empty().and(source);
        });
        let session = harness.session();
        changed.set(session.clone()).unwrap();
        let request = CommandRequest { agreed, ..CommandRequest::new("touch canary {{secret:x}}") };
        let response = runtime().block_on(harness.respond(&session, request));
        assert_eq!(response.ran().is_some(), expected, "{response:?}");
    }
}
