//! A chiton inside a command of another one: the rules of the outer one hold, whatever the inner one is told.

use std::fs;
use std::process::Output;

use crate::place::{Place, text};

/// Nothing that it speaks of does any harm.
const OUTER: &str = r#"
[[guard.rule]]
decision = "deny"
program = ["touch"]
any_argument = ["*canary*"]
reason = "no canaries"
match = ["touch canary"]

[[guard.rule]]
decision = "ask"
program = ["mkdir"]
any_argument = ["*asked*"]
match = ["mkdir asked"]
"#;
const INNER: &str = r#"
[[guard.rule]]
decision = "allow"
program = ["mkdir", "touch"]
match = ["mkdir asked", "touch canary"]
"#;

/// Runs a script in which `$CHITON` is the program, as a command of an outer one with these settings.
fn within(place: &Place, settings: &str, script: &str) -> Output {
    let folder = place.folder.path();
    fs::create_dir_all(folder.join("elsewhere")).unwrap();
    fs::create_dir_all(folder.join("work")).unwrap();
    fs::write(folder.join("elsewhere/outer.toml"), settings).unwrap();
    fs::write(folder.join("elsewhere/inner.toml"), INNER).unwrap();
    // From a file, so that the outer guard does not read it as text: this is about what runs.
    let own = env!("CARGO_BIN_EXE_chiton");
    let file = folder.join("work/inner.sh");
    fs::write(&file, format!("CHITON={own}; E={}\n{script}\n", folder.join("elsewhere").display())).unwrap();
    let mut command = place.command();
    command.current_dir(folder.join("work"));
    command.args(["--config", folder.join("elsewhere/outer.toml").to_str().unwrap()]);
    // Run as a program, which the outer guard cannot look into.
    let runner = folder.join("elsewhere/runner");
    fs::copy("/bin/bash", &runner).unwrap();
    command.args(["run", "--", runner.to_str().unwrap(), file.to_str().unwrap()]).output().unwrap()
}

#[test]
fn nothing_that_the_inner_one_is_told_makes_it_looser() {
    let place = Place::new();
    let canary = place.folder.path().join("work/canary");
    for script in [
        "$CHITON run 'touch canary'",
        "$CHITON run --guard default 'touch canary'",
        "$CHITON --config $E/inner.toml run 'touch canary'",
        "CHITON_CONFIG=$E/inner.toml $CHITON run 'touch canary'",
        "$CHITON --state-dir $E/state run 'touch canary'",
        "env -i PATH=$PATH HOME=$E $CHITON run 'touch canary'",
        "(setsid $CHITON run 'touch canary' &) 2>&1 | cat >&2",
        "$CHITON run \"$CHITON run 'touch canary'\"",
        "$CHITON call Bash '{\"command\": \"touch canary\"}' >&2",
        "I=$($CHITON run --background --open-stdin 'bash'); $CHITON send $I 'touch canary'; $CHITON kill $I >/dev/null",
    ] {
        let output = within(&place, OUTER, script);
        assert!(!canary.exists(), "{script}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("no canaries"), "{script}: {}", text(&output.stderr));
    }
    for script in ["$CHITON run --guard off 'touch canary'", "CHITON_GUARD_MODE=off $CHITON run 'touch canary'"] {
        let output = within(&place, OUTER, script);
        assert!(!canary.exists(), "{script}");
        assert!(text(&output.stderr).contains("the guard cannot be off here"), "{script}: {}", text(&output.stderr));
    }
    let output = within(&place, OUTER, "$CHITON --config $E/inner.toml run 'mkdir asked'");
    assert!(text(&output.stderr).contains("needs the consent of a person"), "{}", text(&output.stderr));

    let output = within(&place, OUTER, "$CHITON run 'touch bird; echo fine'");
    assert_eq!(text(&output.stdout), "fine\n", "{}", text(&output.stderr));
}

#[test]
fn the_inner_one_may_be_stricter_and_an_outer_one_without_guard_holds_nobody() {
    let place = Place::new();
    let output = within(&place, OUTER, "$CHITON run --guard strict 'touch bird'");
    assert!(text(&output.stderr).contains("not known to be harmless"), "{}", text(&output.stderr));
    let output = within(
        &place,
        "[guard]\nmode = 'strict'\n[[guard.rule]]\ndecision = 'allow'\nprogram = ['runner']\nmatch = ['runner x']\n",
        "$CHITON run 'touch bird'",
    );
    assert!(text(&output.stderr).contains("not known to be harmless"), "{}", text(&output.stderr));
    let output = within(&place, "[guard]\nmode = 'off'", "$CHITON run --guard off 'echo free'");
    assert_eq!(text(&output.stdout), "free\n", "{}", text(&output.stderr));
}

#[test]
fn without_the_outer_policy_nothing_runs() {
    let place = Place::new();
    let policy = place.folder.path().join("state/chiton/policy");
    let output =
        within(&place, OUTER, &format!("echo '[]' | tee {}/* >/dev/null; $CHITON run 'echo free'", policy.display()));
    assert_eq!(text(&output.stdout), "", "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("is not what was written"), "{}", text(&output.stderr));
}
