//! A command for another machine is judged here: by the same policy and people, with what that machine told of itself. Nothing
//! here runs a command of the corpus. The canary is harmless.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chiton_engine::audit::{AuditConfig, AuditEvent, AuditLine, Journal};
use chiton_engine::consent::{Answer, Approver, Asking, Question};
use chiton_engine::guard::{Context, Decision, GuardPolicy, HumanRule, Mode, OwnPlaces};
use chiton_engine::review::{Guard, Permission, PermissionManager, Permitting};
use chiton_engine::sandbox::policy::SandboxPolicy;
use chiton_engine::secrets::value::{Masking, SecretValue};
use chiton_engine::secrets::{MemorySource, Reference, Secret, SecretStore, UnknownReference};
use chiton_engine::{
    Approval, CommandInput, CommandRequest, Elsewhere, EndElsewhere, EnvironmentChange, FarFacts, Response, RunId,
    Session,
};

use crate::harness::{Harness, enclosed, runtime};

/// A machine on which the corpus is at home.
fn facts() -> FarFacts {
    let variables = [
        ("HOME", "/home/dev"),
        ("USER", "dev"),
        ("LOGNAME", "dev"),
        ("SHELL", "/bin/bash"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("TMPDIR", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("XDG_CACHE_HOME", "/home/dev/.cache"),
    ];
    FarFacts {
        user: "dev".to_owned(),
        uid: 1000,
        home: "/home/dev".into(),
        directory: "/home/dev/project".into(),
        real_directory: "/home/dev/project".into(),
        workspace: Some("/home/dev/project".into()),
        real_workspace: Some("/home/dev/project".into()),
        variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..FarFacts::default()
    }
}

fn build() -> Elsewhere {
    Elsewhere::new("build", facts())
}

/// A rule about canaries, with this decision; here, the user and everything else is another one than there.
fn guard(rules: &[(Decision, &str)], mode: Mode) -> Guard {
    let rules = rules.iter().map(|(decision, bird)| HumanRule {
        decision: *decision,
        program: vec!["touch".to_owned()],
        arguments: Vec::new(),
        any_argument: vec![format!("{bird}*")],
        path: Vec::new(),
        redirection: Vec::new(),
        reason: "Birds sing.".to_owned(),
        matches: vec![format!("touch {bird}")],
        not_match: Vec::new(),
    });
    let around = Context::new("/nonexistent", "nobody", "/");
    let policy = GuardPolicy { rules: rules.collect(), mode, ..GuardPolicy::default() };
    Guard::new(policy.check(&around).unwrap(), around)
}

fn with(guard: Guard) -> Harness {
    Harness::with(move |config| config.guard = guard)
}

fn approve(harness: &Harness, session: &Session, request: &CommandRequest) -> Result<Approval, Response> {
    runtime().block_on(harness.engine.approve_elsewhere(session, request, &build()))
}

fn refusal(response: Result<Approval, Response>) -> String {
    let response = response.expect_err("it was to be refused");
    response.refusal().unwrap_or_else(|| panic!("{response:?}")).reason.clone()
}

/// The rows of the guard's corpus: the command and what is expected.
fn corpus() -> Vec<(String, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chiton-guard/tests/cases/guard");
    let mut rows = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            rows.push((columns[0].to_owned(), unescape(columns[2]), columns[3].to_owned()));
        }
    }
    rows
}

/// `\n`, `\t` and `\\`; every other backslash is one.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find('\\') {
        out.push_str(&rest[..place]);
        let (letter, length) = match rest[place + 1..].chars().next() {
            Some('n') => ('\n', 2),
            Some('t') => ('\t', 2),
            Some('\\') => ('\\', 2),
            _ => ('\\', 1),
        };
        out.push(letter);
        rest = &rest[place + length..];
    }
    out + rest
}

#[test]
fn the_corpus_is_judged_as_it_would_be_there() {
    let guard = guard(&[], Mode::Default);
    let (mut alarms, mut misses, mut allowed) = (Vec::new(), Vec::new(), 0);
    for (id, command, expected) in corpus() {
        let verdict = guard.judge_elsewhere(command.as_bytes(), &EnvironmentChange::default(), &facts());
        let stern = |word: &str| ["allow", "ask", "deny"].iter().position(|known| *known == word).unwrap();
        let (said, wanted) = (stern(verdict.decision.as_str()), stern(&expected));
        allowed += usize::from(wanted == 0);
        if said > wanted {
            alarms.push(format!("{id}: {command}: {}", verdict.reason));
        } else if said < wanted {
            misses.push(format!("{id}: {command}: not {expected}"));
        }
    }
    assert!(allowed > 2000, "only {allowed} rows of ordinary work");
    assert!(alarms.is_empty(), "{} false alarms:\n{}", alarms.len(), alarms.join("\n"));
    assert!(misses.is_empty(), "{} misses:\n{}", misses.len(), misses.join("\n"));
}

#[test]
fn ordinary_work_is_not_asked_about_because_the_session_there_is_unknown() {
    let harness = with(guard(&[], Mode::Default));
    let session = harness.session();
    for command in [
        "ls",
        "ls -la \"$HOME\"",
        "cd src && make",
        "git status",
        "git commit -am 'x'",
        "npm test",
        "rm -rf build",
        "grep -r x .",
        "for f in *; do wc -l \"$f\"; done",
        "cat $HOME/x",
        "echo $FOO ${BAR:-none}",
        "cat log | sort | uniq -c | sort -rn | head",
        "cd \"$TMPDIR\" && mktemp -d",
        "mkdir -p $HOME/.cache/x && cp a b",
        "export PATH=$HOME/.local/bin:$PATH; cargo build",
        "python3 -m venv .venv && . .venv/bin/activate && pip install -e .",
        "tar xf a.tar.gz -C \"$PWD\"",
        "find . -name '*.o' -delete",
        "docker compose up -d",
        "x=$(date +%s); echo $x",
        "while read -r l; do echo \"$l\"; done < file",
        "test -n \"$CI\" && make ci",
        "kill %1",
        "rm -f \"$PWD/a.log\"",
        "cargo test --workspace 2>&1 | tail -50",
        "sed -i 's/a/b/' src/*.rs",
        "git push",
        "echo $?; echo $$; echo $RANDOM",
        "f() { make \"$@\"; }; f all",
        "[[ -d node_modules ]] || npm ci",
        "mv old.txt new.txt",
        "echo hi > out.txt",
    ] {
        let approval = approve(&harness, &session, &CommandRequest::new(command));
        assert!(approval.is_ok_and(|approval| !approval.agreed), "{command}");
    }
}

#[test]
fn what_that_machine_told_decides_and_nothing_of_this_one() {
    let here = tempfile::tempdir().unwrap();
    let mut guard = guard(&[], Mode::Default);
    guard.around = Context::new(here.path(), "me", here.path());
    guard.around.own_processes = vec![chiton_engine::guard::OwnProcess { id: 4242, name: "chiton".to_owned() }].into();
    guard.around.mounts = vec![here.path().join("mounted")].into();
    let there = FarFacts {
        own_processes: vec![(77, "chiton".to_owned())],
        own_groups: vec![77],
        mounts: vec!["/data".into()],
        state: vec!["/home/dev/.local/state/chiton".into()],
        settings: vec!["/home/dev/.config/chiton/config.toml".into()],
        secrets: vec!["/home/dev/.config/chiton/secrets.age".into()],
        ..facts()
    };
    let decision =
        |command: &str| guard.judge_elsewhere(command.as_bytes(), &EnvironmentChange::default(), &there).decision;
    let home = here.path().display();
    for (command, expected) in [
        ("rm -rf ~", Decision::Deny),
        ("rm -rf /home/dev", Decision::Deny),
        ("rm -rf $HOME", Decision::Deny),
        ("kill 77", Decision::Deny),
        ("kill 4242", Decision::Allow),
        ("rm -rf ~/.local/state/chiton", Decision::Deny),
        ("cat ~/.config/chiton/secrets.age", Decision::Deny),
        ("rm -rf build", Decision::Allow),
    ] {
        assert_eq!(decision(command), expected, "{command}");
    }
    assert!(decision("rm -rf /data") > Decision::Allow, "that is mounted there");
    assert_eq!(
        decision(&format!("rm -rf {home}/mounted/x")),
        decision("rm -rf /tmp/elsewhere/mounted/x"),
        "what is mounted here does not matter"
    );
}

#[test]
fn a_directory_that_a_call_names_is_one_there() {
    let harness = with(guard(&[], Mode::Default));
    let session = harness.session();
    let in_directory = |directory: &str| {
        let request = CommandRequest { directory: Some(directory.into()), ..CommandRequest::new("rm -rf *") };
        approve(&harness, &session, &request).map(|_| ())
    };
    assert!(in_directory("build").is_ok());
    assert!(in_directory("/home/dev").is_err());
    assert!(in_directory("..").is_err());
}

#[test]
fn where_a_link_leads_there_counts_as_well() {
    let guard = guard(&[], Mode::Default);
    let there =
        |real: &str| FarFacts { directory: "/home/dev/project/link".into(), real_directory: real.into(), ..facts() };
    let decision = |facts: &FarFacts| guard.judge_elsewhere(b"rm -rf *", &EnvironmentChange::default(), facts).decision;
    assert_eq!(decision(&there("/home/dev/project/link")), Decision::Allow);
    assert!(decision(&there("/home/dev")) > Decision::Allow);
}

/// Somebody who has a prepared answer, and remembers what they were asked.
#[derive(Debug)]
struct Person {
    answer: Answer,
    asked: Mutex<Vec<String>>,
}

impl Approver for Person {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        self.asked.lock().unwrap().push(question.text());
        Box::pin(async move { Ok(self.answer) })
    }
}

fn asking(command: &str, answer: Answer) -> (CommandRequest, Arc<Person>) {
    let person = Arc::new(Person { answer, asked: Mutex::default() });
    let mut request = CommandRequest::new(command);
    request.approver = Some(person.clone());
    (request, person)
}

#[test]
fn people_are_asked_here_and_told_where_it_would_run() {
    let harness = with(guard(&[(Decision::Ask, "canary"), (Decision::Deny, "vulture")], Mode::Default));
    let session = harness.session();
    for (answer, agreed) in [(Answer::Once, Some(true)), (Answer::No, None), (Answer::Undecided, None)] {
        let (request, person) = asking("touch canary", answer);
        let approval = approve(&harness, &session, &request);
        assert_eq!(approval.as_ref().ok().map(|approval| approval.agreed), agreed, "{answer:?}");
        let asked = person.asked.lock().unwrap().clone();
        let [question] = asked.as_slice() else { panic!("{asked:?}") };
        assert!(question.starts_with("on build: `touch canary`: Birds sing."), "{question}");
        assert!(question.contains("\nin /home/dev/project"), "{question}");
    }
    let (request, person) = asking("touch vulture", Answer::Once);
    assert!(refusal(approve(&harness, &session, &request)).contains("blocked as dangerous"));
    assert!(person.asked.lock().unwrap().is_empty(), "nobody is asked about what is denied");
    assert!(refusal(approve(&harness, &session, &CommandRequest::new("touch canary"))).contains("nobody here"));
}

#[test]
fn what_is_agreed_to_for_the_session_is_so_for_that_machine_and_that_command() {
    let harness = with(guard(&[(Decision::Ask, "canary")], Mode::Default));
    let session = harness.session();
    let (request, _) = asking("touch canary", Answer::Session);
    assert!(approve(&harness, &session, &request).unwrap().agreed);
    assert!(
        approve(&harness, &session, &CommandRequest::new("touch canary")).unwrap().agreed,
        "it was for the session"
    );
    refusal(approve(&harness, &session, &CommandRequest::new("touch canary2")));
    let other = Elsewhere::new("prod", facts());
    let same = CommandRequest::new("touch canary");
    let elsewhere = harness.engine.approve_elsewhere(&session, &same, &other);
    refusal(runtime().block_on(elsewhere));
    let here = runtime().block_on(harness.respond(&session, CommandRequest::new("touch canary")));
    assert!(here.refusal().is_some(), "it was not for this machine");
}

#[test]
fn a_question_can_be_taken_away_and_its_answer_brought() {
    let harness = with(guard(&[(Decision::Ask, "canary")], Mode::Default));
    let session = harness.session();
    let mut request = CommandRequest { asks_later: true, ..CommandRequest::new("touch canary") };
    let response = approve(&harness, &session, &request).unwrap_err();
    let question = response.question().unwrap().clone();
    assert_eq!(question.on.as_deref(), Some("build"));
    request.consent = Some((question.id.clone(), Answer::Once));
    assert!(approve(&harness, &session, &request).unwrap().agreed);
    assert!(approve(&harness, &session, &request).is_err(), "it is used up");
}

#[test]
fn a_rule_that_allows_is_an_agreement_and_a_command_that_nobody_would_ask_about_is_not() {
    let harness = with(guard(&[(Decision::Allow, "canary")], Mode::Strict));
    let session = harness.session();
    // Strict asks about every touch, so it is the rule that lets these pass.
    let approval = approve(&harness, &session, &CommandRequest::new("touch canary")).unwrap();
    assert!(!approval.agreed, "the guard itself had no objection");
    refusal(approve(&harness, &session, &CommandRequest::new("touch other")));

    let push = HumanRule {
        decision: Decision::Allow,
        program: vec!["git".to_owned()],
        arguments: vec!["push".to_owned()],
        any_argument: Vec::new(),
        path: Vec::new(),
        redirection: Vec::new(),
        reason: String::new(),
        matches: vec!["git push --force".to_owned()],
        not_match: Vec::new(),
    };
    let around = Context::new("/nonexistent", "nobody", "/");
    let policy = GuardPolicy { rules: vec![push], ..GuardPolicy::default() };
    let harness = with(Guard::new(policy.check(&around).unwrap(), around));
    let session = harness.session();
    assert!(approve(&harness, &session, &CommandRequest::new("git push --force")).unwrap().agreed);
    assert!(!approve(&harness, &session, &CommandRequest::new("git push")).unwrap().agreed, "nobody would ask");
}

#[derive(Debug)]
struct Manager(Permission);

impl PermissionManager for Manager {
    fn check<'a>(&'a self, question: &'a Question) -> Permitting<'a> {
        assert_eq!(question.on.as_deref(), Some("build"));
        Box::pin(async move { Ok(self.0.clone()) })
    }
}

#[test]
fn a_permission_manager_is_asked_too() {
    let cases = [
        (Permission::Allow, "touch canary", Some(true)),
        (Permission::Allow, "ls", Some(false)),
        (Permission::NoObjection, "touch canary", None),
        (Permission::Deny("not there".to_owned()), "ls", None),
    ];
    for (permission, command, agreed) in cases {
        let mut guard = guard(&[(Decision::Ask, "canary")], Mode::Default);
        guard.manager = Some(Arc::new(Manager(permission.clone())));
        let harness = with(guard);
        let approval = approve(&harness, &harness.session(), &CommandRequest::new(command));
        assert_eq!(approval.ok().map(|approval| approval.agreed), agreed, "{permission:?} {command}");
    }
}

#[test]
fn a_guard_that_is_off_agrees_to_nothing_and_a_dry_run_sends_nothing() {
    let harness = with(guard(&[], Mode::Off));
    assert!(!approve(&harness, &harness.session(), &CommandRequest::new("git push --force")).unwrap().agreed);
    let mut dry = guard(&[], Mode::Default);
    dry.dry_run = true;
    let harness = with(dry);
    let response = approve(&harness, &harness.session(), &CommandRequest::new("ls")).unwrap_err();
    assert!(response.text().contains("This would run on build in /home/dev/project"), "{}", response.text());
}

#[test]
fn what_bash_rejects_is_left_to_the_shell_there() {
    let harness = with(guard(&[], Mode::Default));
    assert!(approve(&harness, &harness.session(), &CommandRequest::new("if true; then")).is_ok());
}

fn sandbox(work: &Path) -> SandboxPolicy {
    SandboxPolicy { profile: "work".to_owned(), ..enclosed(work) }
}

#[test]
fn a_machine_tells_what_commands_are_judged_by_and_that_survives_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap().join("work");
    fs::create_dir(&work).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&work, &link).unwrap();
    let harness = Harness::with(|config| {
        config.guard = guard(&[], Mode::Default);
        config.guard.around = chiton_engine::machine::guard_context("/home/me".into(), "me".to_owned(), link.clone());
        config.guard.around.own_places =
            OwnPlaces { state: vec![config.state_directory.clone()], ..OwnPlaces::default() }.into();
        config.sandbox = Some(sandbox(&work));
    });
    let environment = [
        ("HOME", "/home/me"),
        ("PATH", "/bin"),
        ("LC_TIME", "C"),
        ("EDITOR", "vi"),
        ("API_TOKEN", "S3CR3T-VALUE"),
        ("TERM", "xterm"),
        ("FOO", "bar"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.into()));
    let session = Session::new(harness.engine.fresh_state(&link, environment, 0o022));
    let told = runtime().block_on(async { harness.engine.far_facts(&session) });
    assert_eq!((told.user.as_str(), told.home.as_path()), ("me", Path::new("/home/me")));
    assert_eq!((&told.directory, &told.real_directory), (&link, &work));
    assert_eq!((told.workspace.as_ref(), told.real_workspace.as_ref()), (Some(&link), Some(&work)));
    assert!(told.mounts.contains(&"/".into()) && told.own_processes.iter().any(|(id, _)| *id == std::process::id()));
    assert_eq!(told.state, [harness.folder.path().join("state")]);
    let names: Vec<&str> = told.variables.keys().map(String::as_str).collect();
    assert_eq!(names, ["HOME", "LC_TIME", "PATH"]);
    let boundary = told.boundary.as_ref().expect("it is held in a sandbox");
    assert_eq!(boundary.profile, "work");

    let text = serde_json::to_string(&told).unwrap();
    assert!(!text.contains("S3CR3T"), "{text}");
    assert_eq!(serde_json::from_str::<FarFacts>(&text).unwrap(), told);

    // What the sandbox there holds is not asked about here either.
    let guard = guard(&[], Mode::Default);
    let decision =
        |facts: &FarFacts| guard.judge_elsewhere(b"echo x >> ~/.bashrc", &EnvironmentChange::default(), facts).decision;
    assert_eq!(decision(&FarFacts { boundary: None, ..told.clone() }), Decision::Ask);
    if boundary.write.iter().all(|path| !Path::new("/home/me").starts_with(path)) {
        assert_eq!(decision(&told), Decision::Allow);
    }
}

fn store() -> SecretStore {
    let shown = Secret { value: SecretValue::new("abc"), masking: Masking::Shown };
    let source = MemorySource::new()
        .with(Reference::secret("key").unwrap(), Secret::masked("S3CR3T-KEY-1"))
        .with(Reference::secret("other").unwrap(), Secret::masked("S3CR3T-OTHER"))
        .with(Reference::decrypt("uuid-1").unwrap(), Secret::masked("S3CR3T-BLOB"))
        .with(Reference::secret("shown").unwrap(), shown);
    SecretStore::empty().and(source)
}

#[test]
fn secrets_are_looked_up_here_and_only_those_that_are_named() {
    let harness = Harness::with(|config| config.secrets = store());
    let session = harness.session();
    runtime().block_on(async {
        let mut request = CommandRequest::new("echo {{secret:key}} {{secret:shown}}");
        let environment = BTreeMap::from([("TOKEN".to_owned(), "x{{decrypt:uuid-1}}".into())]);
        request.environment = EnvironmentChange::Merge(environment);
        request.input = CommandInput::Text("{{secret:key}}".into());
        let given = harness.engine.secrets_for(&session, &request).await.unwrap();
        let found: Vec<(String, Masking)> =
            given.iter().map(|given| (given.reference.to_string(), given.secret.masking)).collect();
        let expected = [
            ("{{secret:key}}", Masking::Masked),
            ("{{secret:shown}}", Masking::Shown),
            ("{{decrypt:uuid-1}}", Masking::Masked),
        ];
        assert_eq!(found, expected.map(|(name, masking)| (name.to_owned(), masking)));
        assert_eq!(given[0].secret.value.expose(), b"S3CR3T-KEY-1");

        let plain = harness.engine.secrets_for(&session, &CommandRequest::new("ls")).await.unwrap();
        assert!(plain.is_empty(), "what was named before may have been meant for another machine: {plain:?}");
        let typed = harness.engine.secrets_for_text(&session, b"{{secret:other}}\n").await.unwrap();
        assert_eq!(typed.len(), 1);

        let unknown = CommandRequest::new("echo {{secret:kee}}");
        let refused = harness.engine.secrets_for(&session, &unknown).await.unwrap_err();
        assert!(refused.reason.contains("there is no secret named 'kee'"), "{}", refused.reason);
        assert!(refused.reason.contains("did you mean {{secret:key}}?"), "{}", refused.reason);
    });
    let keeping = Harness::with(|config| {
        config.secrets = store();
        config.unknown_references = UnknownReference::Keep;
    });
    let request = CommandRequest::new("echo {{secret:kee}} {{secret:key}}");
    let kept = runtime().block_on(keeping.engine.secrets_for(&session, &request));
    assert_eq!(kept.unwrap().len(), 1);
}

#[test]
fn what_was_looked_up_here_is_used_and_masked_there() {
    let here = Harness::with(|config| config.secrets = store());
    let there = Harness::new();
    runtime().block_on(async {
        let request = CommandRequest::new("printf %s {{secret:key}} | tee out");
        let given = here.engine.secrets_for(&here.session(), &request).await.unwrap();
        let text = serde_json::to_string(&given).unwrap();
        let session = there.session();
        there.engine.give_secrets(serde_json::from_str::<Vec<_>>(&text).unwrap());
        let report = there.request(&session, request).await;
        assert_eq!(report.stdout.to_text(), "{{secret:key}}");
        assert_eq!(fs::read_to_string(there.folder.path().join("out")).unwrap(), "S3CR3T-KEY-1");
    });
}

fn journaled() -> (Harness, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::new(folder.path(), AuditConfig::default(), "test");
    let harness = Harness::with(|config| {
        config.guard = guard(&[(Decision::Deny, "vulture"), (Decision::Ask, "canary")], Mode::Default);
        config.secrets = store();
        config.audit = Some(journal);
    });
    (harness, folder)
}

fn lines(folder: &Path) -> Vec<AuditLine> {
    let mut found = Vec::new();
    chiton_engine::audit::read::lines(folder, |_, line| found.push(line.clone())).unwrap();
    found
}

#[test]
fn the_journal_has_what_was_sent_what_was_not_and_how_it_ended() {
    let (harness, folder) = journaled();
    let session = harness.session();
    let id: RunId = "shell_0000abcd".parse().unwrap();
    let asked = |command: &str| CommandRequest { run_id: Some(id.clone()), ..CommandRequest::new(command) };
    let sent = CommandRequest { directory: Some("src".into()), ..asked("make {{secret:key}}") };
    let background = Elsewhere { background: true, ..build() };
    runtime().block_on(harness.engine.approve_elsewhere(&session, &sent, &background)).unwrap();
    approve(&harness, &session, &asked("touch vulture")).unwrap_err();
    approve(&harness, &session, &asked("echo {{secret:none}}")).unwrap_err();
    let (mut agreed, _) = asking("touch canary", Answer::Once);
    agreed.run_id = Some(id.clone());
    approve(&harness, &session, &agreed).unwrap();
    let end = EndElsewhere {
        outcome: Some("exited".to_owned()),
        exit_code: Some(3),
        output_bytes: Some(42),
        duration: Some(Duration::from_millis(1500)),
    };
    harness.engine.note_end_elsewhere(&session, "build", &id, &end);
    harness.engine.note_end_elsewhere(&session, "build", &id, &EndElsewhere::default());

    let lines = lines(folder.path());
    assert!(
        lines
            .iter()
            .all(|line| line.entry.on.as_deref() == Some("build") && line.entry.run.as_deref() == Some(id.as_str()))
    );
    let events: Vec<AuditEvent> = lines.iter().map(|line| line.entry.event).collect();
    let [run, refused, end] = [AuditEvent::Run, AuditEvent::Refused, AuditEvent::End];
    assert_eq!(events, [run, refused, refused, run, end, end]);
    let first = &lines[0].entry;
    assert_eq!(first.command.as_deref(), Some("make {{secret:key}}"));
    assert_eq!(first.directory.as_deref(), Some("/home/dev/project/src"));
    assert_eq!((first.secrets.as_slice(), first.background), (&["{{secret:key}}".to_owned()][..], true));
    assert!(lines[3].entry.verdict.as_deref().unwrap().ends_with("A person agreed."), "{:?}", lines[3].entry.verdict);
    assert_eq!((lines[4].entry.exit_code, lines[4].entry.duration_ms), (Some(3), Some(1500)));
    assert_eq!(lines[5].entry.outcome.as_deref(), Some("unknown"));
    let text = serde_json::to_string(&lines).unwrap();
    assert!(!text.contains("S3CR3T"), "{text}");
}

#[test]
fn where_the_journal_is_required_nothing_is_sent_that_it_does_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for (required, sends) in [(false, true), (true, false)] {
        let journal = Journal::new(file.join("journal"), AuditConfig { required, ..AuditConfig::default() }, "test");
        let harness = Harness::with(|config| config.audit = Some(journal));
        let approval = approve(&harness, &harness.session(), &CommandRequest::new("ls"));
        assert_eq!(approval.is_ok(), sends, "{approval:?}");
    }
}
