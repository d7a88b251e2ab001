//! Both sides of a call that another machine carries out: judged and given its secrets here, run there.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;

use std::fs;
use std::process::ExitCode;

use chiton_engine::guard::{Context, GuardPolicy};
use chiton_engine::review::Guard;
use chiton_engine::secrets::{MemorySource, Reference, Secret, SecretStore};
use chiton_engine::tasks::WaitFor;
use chiton_engine::{Elsewhere, EndElsewhere, Engine, EngineConfig, FromNear, Outcome};
use chiton_operator::{Called, Caller, Operator};
use harness::{Harness, runtime};
use serde_json::{Value, json};

fn main() -> ExitCode {
    harness::run(&[
        ("a_call_is_decided_here_and_carried_out_there", a_call_is_decided_here_and_carried_out_there),
        ("a_task_there_has_the_id_that_was_made_here", a_task_there_has_the_id_that_was_made_here),
        ("what_may_not_be_sent_is_answered_as_if_it_ran_here", what_may_not_be_sent_is_answered_as_if_it_ran_here),
        ("typed_secrets_go_along_and_unknown_ones_go_nowhere", typed_secrets_go_along_and_unknown_ones_go_nowhere),
        ("what_only_looks_or_cannot_be_read_goes_as_it_is", what_only_looks_or_cannot_be_read_goes_as_it_is),
    ])
}

/// The machine here: it knows a secret, asks about `echo ask` and denies `echo deny`.
fn here(harness: &Harness, dialect: &str) -> Operator {
    let policy = json!({"rule": [
        {"decision": "ask", "program": ["echo"], "arguments": ["ask"], "match": ["echo ask"]},
        {"decision": "deny", "program": ["echo"], "arguments": ["deny"], "match": ["echo deny"]},
    ]});
    let policy: GuardPolicy = serde_json::from_value(policy).unwrap();
    let around = Context::new("/nonexistent", "nobody", "/");
    let mut config = EngineConfig::new(harness.folder.path().join("here")).unwrap();
    config.guard = Guard::new(policy.check(&around).unwrap(), around);
    let source = MemorySource::new().with(Reference::secret("key").unwrap(), Secret::masked("S3CR3T-VALUE"));
    config.secrets = SecretStore::empty().and(source);
    let operator =
        Operator::new(Engine::new(config).unwrap(), chiton_dialects::find(dialect).unwrap(), harness.state(), None);
    operator.set_client_name("agent");
    operator
}

/// The machine there.
fn there(harness: &Harness, dialect: &str) -> Operator {
    Operator::new(harness.engine.clone(), chiton_dialects::find(dialect).unwrap(), harness.state(), None)
}

fn build(there: &Operator) -> Elsewhere {
    Elsewhere::new("build", there.far_facts())
}

async fn decide(here: &Operator, there: &Operator, tool: &str, arguments: &Value) -> Result<FromNear, Box<Called>> {
    here.send_elsewhere(tool, arguments.as_object().unwrap(), &Caller::silent(), &build(there)).await
}

async fn carry_out(there: &Operator, tool: &str, arguments: &Value, near: FromNear) -> Called {
    let caller = Caller { near: Some(Box::new(near)), ..Caller::silent() };
    there.call(tool, arguments.as_object().unwrap(), &caller).await
}

fn a_call_is_decided_here_and_carried_out_there(harness: &Harness) {
    let (here, there) = (here(harness, "native"), there(harness, "native"));
    runtime().block_on(async {
        let arguments = json!({"command": "printf %s {{secret:key}} | tee out"});
        let near = decide(&here, &there, "Bash", &arguments).await.unwrap();
        let id = near.run_id.clone().unwrap();
        assert_eq!((near.caller.as_deref(), near.agreed, near.secrets.len()), (Some("agent"), false, 1));
        let called = carry_out(&there, "Bash", &arguments, near).await;
        assert!(called.reply.text.contains("{{secret:key}}"), "{}", called.reply.text);
        assert_eq!(called.run.as_deref(), Some(id.as_str()));
        assert_eq!(fs::read_to_string(harness.folder.path().join("out")).unwrap(), "S3CR3T-VALUE");
        let end = EndElsewhere { outcome: Some("exited".to_owned()), exit_code: Some(0), ..EndElsewhere::default() };
        here.ended_elsewhere("build", &id, &end);
    });
}

fn a_task_there_has_the_id_that_was_made_here(harness: &Harness) {
    let (here, there) = (here(harness, "native"), there(harness, "native"));
    runtime().block_on(async {
        let arguments = json!({"command": "echo once >> log", "run_in_background": true});
        let near = decide(&here, &there, "Bash", &arguments).await.unwrap();
        let id = near.run_id.clone().unwrap();
        for _ in 0..2 {
            let called = carry_out(&there, "Bash", &arguments, near.clone()).await;
            assert_eq!(called.run.as_deref(), Some(id.as_str()));
        }
        let ended = there.tasks().wait(id.as_str(), WaitFor::default()).await.unwrap();
        assert_eq!(ended.task.outcome, Some(Outcome::Exited(0)));
        assert_eq!(fs::read_to_string(harness.folder.path().join("log")).unwrap(), "once\n");
    });
}

fn what_may_not_be_sent_is_answered_as_if_it_ran_here(harness: &Harness) {
    let tools = [
        ("native", "Bash", "command"),
        ("exec", "exec", "command"),
        ("modes", "bash", "command"),
        ("boris", "bash", "command"),
        ("wave", "Bash", "command"),
        ("opencode", "Bash", "command"),
        ("claude", "Bash", "command"),
        ("claude-2025", "Bash", "command"),
        ("codex", "exec_command", "cmd"),
        ("gemini", "run_shell_command", "command"),
        ("opencode-cli", "bash", "command"),
        ("anthropic", "bash", "command"),
    ];
    assert_eq!(tools.len(), chiton_dialects::names().len());
    for (dialect, tool, parameter) in tools {
        let (here, there) = (here(harness, dialect), there(harness, dialect));
        runtime().block_on(async {
            for command in ["echo deny", "echo ask", "echo {{secret:none}}"] {
                let arguments = json!({parameter: command});
                let unsent = decide(&here, &there, tool, &arguments).await.unwrap_err();
                let local = here.call(tool, arguments.as_object().unwrap(), &Caller::silent()).await;
                assert_eq!(unsent.reply.text, local.reply.text, "{dialect}: {command}");
                assert_eq!(unsent.reply.is_error, local.reply.is_error, "{dialect}: {command}");
                assert_eq!(unsent.question.is_some(), command == "echo ask", "{dialect}: {command}");
                let on = unsent.question.and_then(|question| question.on);
                assert_eq!(on.as_deref(), (command == "echo ask").then_some("build"), "{dialect}");
            }
        });
    }
}

fn typed_secrets_go_along_and_unknown_ones_go_nowhere(harness: &Harness) {
    let (here, there) = (here(harness, "native"), there(harness, "native"));
    runtime().block_on(async {
        let typed = |text: &str| json!({"bash_id": "shell_00000000", "text": text});
        let near = decide(&here, &there, "BashInput", &typed("{{secret:key}}{{secret:key}}\n")).await.unwrap();
        assert_eq!((near.secrets.len(), near.run_id), (1, None));
        let unsent = decide(&here, &there, "BashInput", &typed("{{secret:none}}\n")).await.unwrap_err();
        assert!(unsent.reply.is_error && unsent.reply.text.contains("no secret named 'none'"), "{}", unsent.reply.text);
    });
}

fn what_only_looks_or_cannot_be_read_goes_as_it_is(harness: &Harness) {
    let (here, there) = (here(harness, "native"), there(harness, "native"));
    runtime().block_on(async {
        for (tool, arguments) in [
            ("BashOutput", json!({"bash_id": "shell_00000000"})),
            ("ListShells", json!({})),
            ("Bash", json!({"command": 7})),
            ("NoSuchTool", json!({})),
        ] {
            let near = decide(&here, &there, tool, &arguments).await.unwrap();
            let plain = FromNear { caller: Some("agent".to_owned()), ..FromNear::default() };
            assert_eq!(near, plain, "{tool} {arguments}");
        }
    });
}
