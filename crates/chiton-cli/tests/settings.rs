//! Settings: defaults < file < environment < flags.

use serde_json::Value;
use std::process::Output;

use crate::place::{Place, text};

/// Which dialect the program takes the call for: `exec` and `boris` name their one tool differently.
fn call(place: &Place, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = place.command();
    command.envs(variables.iter().copied()).arg("call").args(["--json"]).args(arguments).arg("no_such_tool");
    command.output().unwrap()
}

fn tools(output: &Output) -> String {
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    reply["text"].as_str().unwrap().split("there are: ").nth(1).unwrap().to_owned()
}

#[test]
fn a_flag_wins_over_the_environment_over_the_file_over_the_default() {
    let place = Place::new();
    let native = "Bash, BashOutput, BashInput, KillShell, ListShells";
    assert_eq!(tools(&call(&place, &[], &[])), native);
    let folder = place.folder.path().join(".config/chiton");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "[mcp]\ndialect = 'anthropic'\n").unwrap();
    assert_eq!(tools(&call(&place, &[], &[])), "bash");
    let variable = [("CHITON_MCP_DIALECT", "exec")];
    assert!(tools(&call(&place, &variable, &[])).starts_with("exec, "));
    assert_eq!(tools(&call(&place, &variable, &["--dialect", "native"])), native);
    let other = place.folder.path().join("other.toml");
    std::fs::write(&other, "[mcp]\ndialect = 'wave'\n").unwrap();
    let named = other.to_str().unwrap();
    assert_eq!(tools(&call(&place, &[], &["--config", named])), "Bash, BashOutput, KillBash");
    assert_eq!(tools(&call(&place, &[("CHITON_CONFIG", named)], &[])), "Bash, BashOutput, KillBash");
}

#[test]
fn a_setting_that_cannot_be_is_named_with_what_would_be_right() {
    let place = Place::new();
    let file = place.folder.path().join("settings.toml");
    for (content, words) in [
        ("[mcp]\ndialct = 'exec'", &["settings.toml", "no setting mcp.dialct", "did you mean mcp.dialect?"][..]),
        ("[mcp]\ntimeout = 'soon'", &["settings.toml", "line 2", "timeout"]),
        ("[mcp]\ndialect = 'klingon'", &["klingon", "native"]),
        ("[mcp]\ndir = '/no/such'", &["/no/such"]),
        ("mcp = 5", &["settings.toml", "line 1"]),
        ("[mcp\n", &["settings.toml", "line 1"]),
    ] {
        std::fs::write(&file, content).unwrap();
        let output = call(&place, &[], &["--config", file.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert!(!output.status.success() && words.iter().all(|word| said.contains(word)), "{content}: {said}");
        assert!(!said.contains("Error {") && !said.contains("Some("), "{said}");
    }
    let missing = text(&call(&place, &[], &["--config", "/no/such/file"]).stderr);
    assert!(missing.contains("/no/such/file"), "{missing}");
    let wrong = text(&call(&place, &[("CHITON_MCP_TIMEOUT", "soon")], &[]).stderr);
    assert!(wrong.contains("CHITON_MCP_TIMEOUT=soon"), "{wrong}");
    let output = call(&place, &[("CHITON_MCP_TIMEOUT", "5"), ("CHITON_HTTP_HOSTS", "['a:1']")], &[]);
    assert!(!output.stdout.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn the_state_directory_can_be_set() {
    let place = Place::new();
    let state = place.folder.path().join("elsewhere");
    let mut command = place.command();
    let output = command.env("CHITON_STATE_DIR", &state).args(["run", "--background", "true"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(state.join("runs").is_dir());
}

#[test]
fn a_file_or_a_variable_that_is_not_there_is_an_error_too() {
    let place = Place::new();
    let with = |name: &str, value: &str| {
        let mut command = place.command();
        command.env(name, value).args(["run", "echo ran"]).output().unwrap()
    };
    for (name, value, words) in [
        ("CHITON_CONFIG", "/no/such", &["CHITON_CONFIG=/no/such", "there is no such file"][..]),
        ("CHITON_MCP_DIALCT", "exec", &["CHITON_MCP_DIALCT", "did you mean CHITON_MCP_DIALECT?"]),
        ("CHITON_GUARDMODE", "strict", &["did you mean CHITON_GUARD_MODE?"]),
        ("CHITON_AUDIT_OFF", "perhaps", &["CHITON_AUDIT_OFF=perhaps", "true or false"]),
        ("CHITON_MCP_TIMEOUT", "soon", &["a whole number"]),
        ("CHITON_GUARD_MODE", "loose", &["default, strict, off"]),
    ] {
        let output = with(name, value);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(125), String::new()), "{name}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{name}: {said}");
    }
    for list in ["AWS_PROFILE", "AWS_PROFILE, KUBECONFIG", "['AWS_PROFILE']"] {
        assert_eq!(text(&with("CHITON_ENVIRONMENT_KEEP", list).stdout), "ran\n", "{list}");
    }
}
