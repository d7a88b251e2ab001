//! `chiton sandbox`, and the flags that name a profile. What profiles settle to is tested beside the code.

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::process::Output;

use crate::place::{Place, text};

/// A place with a project to work in.
fn project() -> Place {
    let place = Place::new();
    fs::create_dir_all(place.folder.path().join("project")).unwrap();
    place
}

fn chiton(place: &Place, arguments: &[&str]) -> Output {
    place.command().current_dir(place.folder.path().join("project")).args(arguments).output().unwrap()
}

fn settings(place: &Place) -> std::path::PathBuf {
    place.folder.path().join(".config/chiton/config.toml")
}

#[test]
fn profiles_are_listed_and_shown_with_where_each_entry_comes_from() {
    let place = project();
    let listed = text(&chiton(&place, &["sandbox", "list"]).stdout);
    for word in ["work", "named", "read-only", "offline", "off", "@workspace", "@caches"] {
        assert!(listed.contains(word), "{listed}");
    }
    let shown = text(&chiton(&place, &["sandbox", "show"]).stdout);
    for word in [
        "profile work", "~/project", "@workspace: the workspace", "missing = \"say\"", "processes", "network",
        "--all shows them", "undo: what commands remove", "(undo = \"keep\")",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let output = chiton(&place, &["sandbox", "show", "named", "--json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(
        (&shown["profile"], &shown["reaches"], &shown["missing"], &shown["undo"]),
        (&"named".into(), &"named".into(), &"refuse".into(), &"keep".into())
    );
    assert_eq!(shown["undo_in"], shown["workspace"]);
    let hidden = shown["hide"].as_array().unwrap();
    let own = |entry: &Value| entry["from"] == "always" && entry["value"].as_str().unwrap().ends_with("/state/chiton");
    assert!(hidden.iter().any(own), "{hidden:?}");
    let at_home = place.command().args(["sandbox", "show"]).output().unwrap();
    assert!(text(&at_home.stdout).contains("is the home directory"), "{}", text(&at_home.stdout));
    let unknown = chiton(&place, &["sandbox", "show", "wrok"]);
    assert!(
        !unknown.status.success() && text(&unknown.stderr).contains("did you mean work?"),
        "{}",
        text(&unknown.stderr)
    );
}

#[test]
fn what_a_person_allows_is_a_line_of_the_settings_and_can_be_taken_back() {
    let place = project();
    fs::create_dir_all(settings(&place).parent().unwrap()).unwrap();
    // The home of a test is a temporary folder.
    let before = "# mine\n[mcp]\ntimeout = 5 # seconds\n\n[sandbox.profiles.own]\nextends = 'offline'\nwrite = ['!@tmp'] # too\n";
    fs::write(settings(&place), before).unwrap();
    for (what, entry, line) in [
        ("write", "~/data", "write = ['!@tmp', \"~/data\"] # too"),
        ("read", "~/.aws", "hide = [\"!~/.aws\"]"),
        ("network", "Example.org:22", "network = [\"example.org:22\"]"),
        ("socket", "/run/docker.sock", "sockets = [\"/run/docker.sock\"]"),
    ] {
        let profile = ["--profile", "own"];
        let call =
            |verb: &str, more: &[&str]| chiton(&place, &[&["sandbox", verb, what, entry], &profile[..], more].concat());
        let tried = call("allow", &["--dry-run"]);
        assert!(text(&tried.stdout).contains(&format!("+{line}")), "{}", text(&tried.stderr));
        assert_eq!(fs::read_to_string(settings(&place)).unwrap(), before, "nothing is changed by a dry run");

        let allowed = call("allow", &[]);
        assert!(allowed.status.success() && text(&allowed.stderr).contains("next start"), "{}", text(&allowed.stderr));
        let after = fs::read_to_string(settings(&place)).unwrap();
        assert!(after.starts_with("# mine\n[mcp]\ntimeout = 5 # seconds\n") && after.contains(line), "{after}");
        let denied = call("deny", &[]);
        assert!(denied.status.success(), "{}", text(&denied.stderr));
        assert_eq!(fs::read_to_string(settings(&place)).unwrap().trim_end(), before.trim_end());
    }
    for (arguments, word) in [
        (&["allow", "write", "/"][..], "--sandbox off"),
        (&["allow", "write", "~"], "the home directory"),
        (&["allow", "read", "~/.aws/config"], "hidden as a whole"),
        (&["allow", "read", "~/.config/chiton"], "always hidden"),
        (&["allow", "read", "~/notes"], "nothing hides"),
        (&["allow", "write", "/tmp/x"], "allowed already: @tmp"),
        (&["allow", "network", "example.org"], "open already"),
        (&["allow", "network", "10.0.0.1", "--profile", "named"], "by name"),
        (&["allow", "write", "~/x", "--profile", "nobody"], "no sandbox profile 'nobody'"),
        (&["deny", "write", "~/.cache", "--profile", "own"], "comes from @caches"),
        (&["deny", "write", "~/never"], "has no '~/never'"),
    ] {
        let said = text(&chiton(&place, &[&["sandbox"], arguments].concat()).stderr);
        assert!(said.contains(word), "{arguments:?}: {said}");
        assert_eq!(fs::read_to_string(settings(&place)).unwrap().trim_end(), before.trim_end());
    }
}

#[test]
fn a_command_cannot_widen_its_own_sandbox() {
    let place = project();
    let mut command = place.command();
    command.env("CHITON", "1").args(["sandbox", "allow", "write", "/srv/data"]);
    let marked = command.output().unwrap();
    assert!(
        !marked.status.success() && text(&marked.stderr).contains("inside a command of Chiton"),
        "{}",
        text(&marked.stderr)
    );
    let own = env!("CARGO_BIN_EXE_chiton");
    let inner = format!("env -u CHITON {own} sandbox allow write /srv/data");
    let output = place.run(&[&inner]);
    assert!(!output.status.success(), "{}", text(&output.stdout));
    assert!(!settings(&place).exists());
}

#[test]
fn what_a_flag_gets_wrong_is_said_and_nothing_runs() {
    let place = project();
    for (arguments, words) in [
        (&["run", "--sandbox", "wrok", "echo ran"][..], &["--sandbox", "did you mean work?"][..]),
        (&["run", "--limit", "memroy=1G", "echo ran"], &["did you mean memory?"]),
        (
            &["run", "--sandbox", "work", "--add-dir", "/no/such", "echo ran"],
            &["--add-dir /no/such", "not a directory"],
        ),
    ] {
        let output = chiton(&place, arguments);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(125), String::new()), "{arguments:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
    }
    let output = place.command().env("CHITON_SANDBOX_PROFILE", "ofline").args(["run", "echo ran"]).output().unwrap();
    assert!(text(&output.stderr).contains("did you mean offline?"));
}

#[test]
fn a_named_profile_holds_and_the_answer_says_which_layers_do() {
    let place = project();
    let profile = "[sandbox.profiles.work]\nmissing = \"say\"\n";
    let config = place.folder.path().join("sandbox.toml");
    fs::write(&config, profile).unwrap();
    let config = config.to_str().unwrap();
    let json = |arguments: &[&str]| -> Value {
        let output = chiton(&place, arguments);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };

    let plain = json(&["run", "--json", "--config", config, "echo ran"]);
    assert_eq!(plain["protection"]["guard"], "default");
    assert!(plain["protection"]["sandbox"].is_null(), "{plain}");

    let held = json(&["run", "--json", "--config", config, "--sandbox", "work", "echo inside > made; cat made"]);
    assert_eq!(held["stdout"], "inside\n", "{held}");
    assert_eq!(held["protection"]["sandbox"]["profile"], "work", "{held}");
    assert_eq!(held["refused"], serde_json::json!([]), "{held}");

    let limited = json(&["run", "--json", "--limit", "file=4096", "head -c 9000 /dev/zero > large"]);
    assert_eq!(limited["limit"], "file", "{limited}");
}

/// A proxy that plays the server behind every name, and what it was asked.
fn proxy() -> (u16, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let list = std::sync::Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            for answer in [&b"HTTP/1.1 200 OK\r\n\r\n"[..], b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nreached\n"] {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                }
                list.lock().unwrap().push(text(&head));
                let _ = stream.write_all(answer);
            }
        }
    });
    (port, asked)
}

#[test]
fn listed_names_are_reached_through_the_machines_own_proxy_which_commands_do_not_see() {
    let place = project();
    let (port, asked) = proxy();
    let config = place.folder.path().join("sandbox.toml");
    let profile = "[sandbox.profiles.named]\nnetwork = [\"!*\", \"allowed.test\"]\nmissing = \"say\"\n";
    let url = format!("http://me:hush@127.0.0.1:{port}");
    let run = |settings: &str, variable: &str, command: &str| -> Value {
        fs::write(&config, settings).unwrap();
        let mut chiton = place.command();
        chiton.current_dir(place.folder.path().join("project")).env("HTTPS_PROXY", variable);
        chiton.args(["run", "--json", "--config", config.to_str().unwrap(), "--sandbox", "named", command]);
        let output = chiton.output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let fetch = "curl -sS http://allowed.test/; echo ${HTTPS_PROXY:-none}; exec 3<>/dev/tcp/other.test/80";

    let by_settings = format!("[sandbox]\nupstream = \"{url}\"\n{profile}");
    for (settings, variable) in [(profile, url.as_str()), (&by_settings, "")] {
        let report = run(settings, variable, fetch);
        let shown = if report["protection"]["sandbox"]["network"] == "names" { "reached\nnone\n" } else { "reached\n" };
        assert!(report["stdout"].as_str().unwrap().starts_with(shown), "{report}");
        assert!(!report.to_string().contains("hush"), "{report}");
        let first = asked.lock().unwrap().drain(..).next().unwrap_or_default();
        assert!(first.starts_with("CONNECT allowed.test:80 HTTP/1.1\r\n"), "{first}");
        if report["protection"]["sandbox"]["network"] == "names" {
            assert_eq!(report["refused"][0]["path"], "other.test", "{report}");
            assert_eq!(report["refused"][0]["by"], "curl or bash", "{report}");
        }
    }
}

#[test]
fn settings_of_the_sandbox_in_the_workspace_are_refused() {
    let place = project();
    let file = place.folder.path().join("project/own.toml");
    fs::write(&file, "[sandbox]\nprofile = 'off'\n").unwrap();
    let output = chiton(&place, &["--config", file.to_str().unwrap(), "run", "echo ran"]);
    let said = text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("[sandbox] section") && said.contains("keep it elsewhere"),
        "{said}"
    );
    fs::write(&file, "[sandbox.profiles.own]\nwrite = ['data']\n").unwrap();
    let said = text(&chiton(&place, &["--config", file.to_str().unwrap(), "ps"]).stderr);
    assert!(said.contains("own.toml") && said.contains("'data' is relative"), "{said}");
}
