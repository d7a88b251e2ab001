//! Calls in, replies out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;

use std::process::ExitCode;

use chiton_engine::Engine;
use chiton_engine::guard::{Context, GuardPolicy};
use chiton_engine::review::Guard;
use chiton_engine::tasks::WaitFor;
use chiton_operator::{Called, Caller, Operator};
use harness::{Harness, engine_in, runtime};
use serde_json::{Value, json};

fn main() -> ExitCode {
    harness::run(&[
        ("what_a_command_changes_is_there_for_the_next_one", what_a_command_changes_is_there_for_the_next_one),
        ("a_dialect_that_keeps_nothing_starts_anew_each_time", a_dialect_that_keeps_nothing_starts_anew_each_time),
        ("another_operator_continues_a_named_session", another_operator_continues_a_named_session),
        ("a_client_knows_no_tasks_but_its_own", a_client_knows_no_tasks_but_its_own),
        ("a_task_is_read_from_where_it_was_left", a_task_is_read_from_where_it_was_left),
        ("a_filter_that_is_wrong_moves_nothing", a_filter_that_is_wrong_moves_nothing),
        ("a_refused_command_comes_with_its_question", a_refused_command_comes_with_its_question),
        ("a_tool_that_does_not_exist_is_named_with_those_that_do", a_tool_that_does_not_exist_is_named),
    ])
}

fn operator(harness: &Harness, dialect: &str) -> Operator {
    // An engine of its own, as another process would have.
    let engine = engine_in(harness.folder.path());
    Operator::new(engine, chiton_dialects::find(dialect).unwrap(), harness.state(), None)
}

async fn call(operator: &Operator, tool: &str, arguments: &Value) -> Called {
    operator.call(tool, arguments.as_object().unwrap(), &Caller::silent()).await
}

/// What a call of `native` says that the command printed.
async fn output(operator: &Operator, tool: &str, arguments: Value) -> String {
    let reply = call(operator, tool, &arguments).await.reply;
    assert!(!reply.is_error, "{}", reply.text);
    reply.structured.get("output").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The id of a new task that has ended.
async fn ended_task(operator: &Operator, command: &str) -> String {
    let started = call(operator, "Bash", &json!({"command": command, "run_in_background": true})).await;
    let id = started.reply.structured["bash_id"].as_str().unwrap().to_owned();
    operator.tasks().wait(&id, WaitFor::default()).await.unwrap();
    id
}

fn what_a_command_changes_is_there_for_the_next_one(harness: &Harness) {
    let operator = operator(harness, "native");
    runtime().block_on(async {
        output(&operator, "Bash", json!({"command": "cd /usr; X=1; f() { echo \"$X $PWD\"; }"})).await;
        assert!(output(&operator, "Bash", json!({"command": "f"})).await.starts_with("1 /usr"));
    });
}

fn a_dialect_that_keeps_nothing_starts_anew_each_time(harness: &Harness) {
    let operator = operator(harness, "gemini");
    let command = |command: &str| json!({"command": command});
    runtime().block_on(async {
        output(&operator, "run_shell_command", command("cd /usr; export X=1")).await;
        let next = output(&operator, "run_shell_command", command("echo \"at $PWD with '$X'\"")).await;
        assert!(next.contains(&format!("at {} with ''", harness.folder.path().display())), "{next}");
    });
}

fn another_operator_continues_a_named_session(harness: &Harness) {
    let (first, second) = (operator(harness, "native"), operator(harness, "native"));
    let third = operator(harness, "native").named("work").unwrap();
    runtime().block_on(async {
        output(&first, "Bash", json!({"command": "cd /usr; X=1", "session": "work"})).await;
        assert!(output(&second, "Bash", json!({"command": "echo $X; X=2", "session": "work"})).await.starts_with('1'));
        assert!(output(&second, "Bash", json!({"command": "echo \"'$X'\""})).await.starts_with("''"));

        let later = operator(harness, "native").named("work").unwrap();
        assert!(output(&later, "Bash", json!({"command": "echo \"$X $PWD\""})).await.starts_with("2 /usr"));
        // It goes on from where it was when it was opened, and adds what it changes.
        assert!(output(&third, "Bash", json!({"command": "echo \"'$X'\"; Y=3"})).await.starts_with("''"));
        let last = output(&first, "Bash", json!({"command": "echo \"$X $Y\"", "session": "work"})).await;
        assert!(last.starts_with("2 3"), "{last}");
    });
}

fn a_client_knows_no_tasks_but_its_own(harness: &Harness) {
    let (one, other) = (operator(harness, "native").of_client("one"), operator(harness, "native").of_client("other"));
    runtime().block_on(async {
        let id = ended_task(&one, "echo mine").await;
        assert!(output(&one, "BashOutput", json!({"bash_id": id})).await.contains("mine"));
        let denied = call(&other, "BashOutput", &json!({"bash_id": id})).await.reply;
        assert!(denied.is_error && !denied.text.contains("mine"), "{}", denied.text);
        assert!(other.runs().unwrap().is_empty());
    });
}

fn a_task_is_read_from_where_it_was_left(harness: &Harness) {
    let operator = operator(harness, "native");
    runtime().block_on(async {
        let id = ended_task(&operator, "echo first").await;
        assert!(output(&operator, "BashOutput", json!({"bash_id": id})).await.contains("first"));
        assert!(!output(&operator, "BashOutput", json!({"bash_id": id})).await.contains("first"));
    });
}

fn a_filter_that_is_wrong_moves_nothing(harness: &Harness) {
    let operator = operator(harness, "native");
    runtime().block_on(async {
        let id = ended_task(&operator, "echo first").await;
        assert!(call(&operator, "BashOutput", &json!({"bash_id": id, "filter": "("})).await.reply.is_error);
        assert!(output(&operator, "BashOutput", json!({"bash_id": id})).await.contains("first"));
    });
}

fn a_refused_command_comes_with_its_question(harness: &Harness) {
    let policy = json!({"rule": [
        {"decision": "ask", "program": ["echo"], "arguments": ["ask"], "match": ["echo ask"]},
    ]});
    let policy: GuardPolicy = serde_json::from_value(policy).unwrap();
    let around = Context::new("/nonexistent", "nobody", harness.folder.path());
    let mut config = harness.engine.config().clone();
    config.guard = Guard::new(policy.check(&around).unwrap(), around);
    let engine = Engine::new(config).unwrap();
    let operator = Operator::new(engine, chiton_dialects::find("native").unwrap(), harness.state(), None);
    runtime().block_on(async {
        for background in [false, true] {
            let arguments = json!({"command": "echo ask", "run_in_background": background});
            let called = call(&operator, "Bash", &arguments).await;
            let question = called.question.unwrap();
            assert!(called.reply.is_error && question.text().contains("echo ask"), "{}", called.reply.text);
        }
        assert!(call(&operator, "Bash", &json!({"command": "true"})).await.question.is_none());
    });
}

fn a_tool_that_does_not_exist_is_named(harness: &Harness) {
    let operator = operator(harness, "native");
    runtime().block_on(async {
        let reply = call(&operator, "Bsh", &json!({})).await.reply;
        assert!(reply.is_error && reply.text.contains("'Bsh'") && reply.text.contains("Bash"), "{}", reply.text);
    });
}
