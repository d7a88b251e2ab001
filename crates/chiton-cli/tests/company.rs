//! `/etc/chiton/policy.toml` holds for everybody: a person's settings tighten it, and nothing loosens it.
//!
//! The file is put into a mount namespace of each test. Run as root, commands are another user's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::place::{Place, text};

const RULE: &str = "[[guard.rule]]\ndecision = 'deny'\nprogram = ['touch']\nany_argument = ['canary*']\nreason = 'Canaries sing.'\nmatch = ['touch canary']\n";

/// A machine with this policy.
struct Machine {
    place: Place,
}

/// What the file and its folder are like.
#[derive(Clone, Copy)]
struct Kept {
    file: u32,
    folder: u32,
    /// Whose the file is.
    owner: u32,
}

const WELL: Kept = Kept { file: 0o644, folder: 0o755, owner: 0 };

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Machine {
    fn new(policy: &str) -> Self {
        Self::keeping(policy, WELL)
    }

    fn keeping(policy: &str, kept: Kept) -> Self {
        let place = Place::new();
        let folder = place.folder.path().join("etc");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("policy.toml"), policy).unwrap();
        fs::set_permissions(folder.join("policy.toml"), fs::Permissions::from_mode(kept.file)).unwrap();
        if is_root() && kept.owner != 0 {
            std::os::unix::fs::chown(folder.join("policy.toml"), Some(kept.owner), None).unwrap();
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(kept.folder)).unwrap();
        let machine = Self { place };
        fs::create_dir_all(machine.project()).unwrap();
        if is_root() {
            for folder in [machine.home(), machine.project()] {
                std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
            }
            fs::set_permissions(machine.place.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        }
        machine
    }

    fn home(&self) -> PathBuf {
        self.place.folder.path().join("home")
    }

    fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    fn settings(&self, text: &str) {
        fs::create_dir_all(self.home().join(".config/chiton")).unwrap();
        fs::write(self.home().join(".config/chiton/config.toml"), text).unwrap();
    }

    /// Runs the program as somebody who is not root, where the policy is at its place. All of `/etc` is a copy that shows
    /// what is there, so that nothing of this machine changes.
    fn call(&self, arguments: &[&str]) -> Output {
        let enter = "set -e; new=$1; shift; top=$(mktemp -d); mount -t tmpfs none $top; mkdir $top/etc; \
                     for entry in /etc/* /etc/.[!.]*; do [ -e \"$entry\" ] || continue; [ \"$entry\" = /etc/chiton ] && continue; \
                     if [ -d \"$entry\" ]; then mkdir \"$top$entry\"; mount --rbind \"$entry\" \"$top$entry\"; \
                     else touch \"$top$entry\"; mount --bind \"$entry\" \"$top$entry\"; fi; done; \
                     mkdir $top/etc/chiton; mount --bind \"$new\" $top/etc/chiton; mount --rbind $top/etc /etc; exec \"$@\"";
        let mut command = Command::new("unshare");
        command.arg(if is_root() { "-m" } else { "-rm" });
        command.args(["bash", "-c", enter, "enter"]).arg(self.place.folder.path().join("etc"));
        if is_root() {
            command.args(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        }
        command.arg(env!("CARGO_BIN_EXE_chiton")).args(arguments);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").env("HOME", self.home());
        command.current_dir(self.project()).output().unwrap()
    }

    fn said(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.call(arguments);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }
}

/// Whether such a machine can be made here; the debug program has to be readable for others, too.
fn can_be_made() -> bool {
    let machine = Machine::new("");
    let (code, said) = machine.said(&["--version"]);
    if code != Some(0) {
        eprintln!("left out: there is no mount namespace for it here: {said}");
    }
    code == Some(0)
}

#[test]
fn what_it_denies_no_setting_and_no_flag_allows() {
    if !can_be_made() {
        return;
    }
    let machine = Machine::new(&format!("[guard]\n{RULE}"));
    let touch = |arguments: &[&str]| machine.said(&[&["run"], arguments, &["touch canary"]].concat());
    let (code, said) = touch(&[]);
    assert!(code == Some(125) && said.contains("Canaries sing."), "{said}");
    let (code, said) = touch(&["--guard", "off"]);
    assert!(
        code == Some(125) && said.contains("the guard cannot be off here") && said.contains("/etc/chiton/policy.toml"),
        "{said}"
    );
    for loosened in [
        "[guard]\nmode = 'off'\n",
        "[guard]\nallow = ['touch canary']\n",
        "[[guard.rule]]\ndecision = 'allow'\nprogram = ['touch']\nmatch = ['touch canary']\n",
    ] {
        machine.settings(loosened);
        let (code, said) = touch(&[]);
        assert_eq!(code, Some(125), "{loosened}: {said}");
    }
    assert!(!machine.project().join("canary").exists());
    // Other things run, and a person may be stricter.
    machine.settings("[[guard.rule]]\ndecision = 'deny'\nprogram = ['echo']\nany_argument = ['loud']\nreason = 'Too loud.'\nmatch = ['echo loud']\n");
    assert_eq!(machine.said(&["run", "echo quiet"]), (Some(0), "quiet\n".to_owned()));
    assert!(machine.said(&["run", "echo loud"]).1.contains("Too loud."));
    assert!(machine.said(&["check", "touch canary"]).1.contains("Canaries sing."));
}

#[test]
fn a_sandbox_that_is_required_is_there() {
    if !can_be_made() {
        return;
    }
    let machine = Machine::new("[sandbox]\nrequired = true\nallowed = ['read-only', 'work']\n");
    // What a sandbox hides shows that there is one.
    fs::create_dir(machine.home().join(".ssh")).unwrap();
    fs::write(machine.home().join(".ssh/id_test"), "a key").unwrap();
    let look = ["run", "--guard", "off", "cat ~/.ssh/id_test"];
    let (code, said) = machine.said(&look);
    assert!(code != Some(0) && !said.contains("a key"), "without a flag it is the first of them: {said}");
    assert_eq!(machine.said(&["run", "echo in"]).0, Some(0));
    for (arguments, why) in [
        (&["--sandbox", "off"][..], "commands have to run in a sandbox here"),
        (&["--sandbox", "named"], "the sandbox named may not be used here"),
    ] {
        let (code, said) = machine.said(&[&["run"], arguments, &["echo out"]].concat());
        assert!(code == Some(125) && said.contains(why) && said.contains("it allows read-only, work"), "{said}");
    }
    machine.settings("[sandbox]\nprofile = 'off'\n");
    assert!(machine.said(&["run", "echo out"]).1.contains("commands have to run in a sandbox here"));
    machine.settings("[sandbox.profiles.work]\nwrite = ['/']\n");
    let (code, said) = machine.said(&look);
    assert!(code == Some(125) && said.contains("the settings change the sandbox profile work"), "{said}");
    machine.settings("[sandbox]\nprofile = 'read-only'\n");
    assert_eq!(machine.said(&["run", "echo in"]).0, Some(0));
}

#[test]
fn a_journal_that_is_required_cannot_be_switched_off() {
    if !can_be_made() {
        return;
    }
    let machine = Machine::new("[audit]\nrequired = true\n");
    assert_eq!(machine.said(&["run", "echo in"]).0, Some(0));
    let (code, said) = machine.said(&["run", "--no-audit", "echo out"]);
    assert!(code == Some(125) && said.contains("cannot be switched off"), "{said}");
    assert!(machine.said(&["audit"]).1.contains("echo in"));
}

#[test]
fn a_policy_that_cannot_be_believed_stops_everything_and_says_why() {
    if !can_be_made() {
        return;
    }
    let mut cases = vec![
        ("[guard]\nmode = 'off'\n", WELL, "guard.mode is off, which is no policy"),
        ("[gaurd]\n", WELL, "gaurd"),
        ("guard = 3\n", WELL, "line 1"),
        (
            "[[guard.rule]]\ndecision = 'deny'\nprogram = ['touch']\nmatch = ['ls']\n",
            WELL,
            "does not match its example",
        ),
        ("[sandbox.profiles.corp]\nextends = 'nothing'\n", WELL, "nothing"),
        ("", Kept { file: 0o666, ..WELL }, "others than root can write to it"),
        ("", Kept { folder: 0o777, ..WELL }, "others than root can write to its folder"),
    ];
    if is_root() {
        cases.push(("", Kept { owner: 65534, ..WELL }, "it belongs to user 65534"));
        cases.push(("", Kept { file: 0o600, ..WELL }, "Permission denied"));
    }
    for (policy, kept, why) in cases {
        let machine = Machine::keeping(policy, kept);
        let (code, said) = machine.said(&["run", "echo it-ran"]);
        assert!(
            code == Some(125) && said.contains(why) && said.contains("/etc/chiton/policy.toml"),
            "{policy}: {said}"
        );
        assert!(!said.contains("it-ran"), "{said}");
    }
}

#[test]
fn doctor_shows_what_is_in_force() {
    if !can_be_made() {
        return;
    }
    let machine = Machine::new(&format!(
        "[guard]\nmode = 'strict'\n{RULE}[sandbox]\nrequired = true\n[audit]\nrequired = true\n"
    ));
    machine.settings(
        "[[guard.rule]]\ndecision = 'deny'\nprogram = ['echo']\nany_argument = ['loud']\nmatch = ['echo loud']\n",
    );
    let said = machine.said(&["doctor"]).1;
    let wanted = "/etc/chiton/policy.toml holds for everybody: the guard is strict, with 1 rules of its own; a sandbox is required; the journal is required";
    assert!(said.contains(wanted), "{said}");
    assert!(said.contains("config.toml is in force") && said.contains("the built-in rules and 1 of yours"), "{said}");
}

#[test]
fn the_journal_goes_where_the_policy_says() {
    if !can_be_made() {
        return;
    }
    // Nobody listens there; a command runs all the same.
    let machine = Machine::new("[audit]\notlp = 'http://127.0.0.1:1'\n");
    assert_eq!(machine.said(&["run", "echo it-ran"]), (Some(0), "it-ran\n".to_owned()));
    let (code, said) = machine.said(&["audit", "send"]);
    assert!(code == Some(125) && said.contains("http://127.0.0.1:1/v1/logs does not take the journal"), "{said}");
    assert!(machine.said(&["doctor"]).1.contains("the journal is sent to http://127.0.0.1:1/v1/logs; "));
    for own in ["otlp = 'http://127.0.0.1:2'", "otlp = ''", "otlp_headers = { a = 'b' }"] {
        machine.settings(&format!("[audit]\n{own}\n"));
        let (code, said) = machine.said(&["run", "echo it-ran"]);
        assert!(code == Some(125) && said.contains("/etc/chiton/policy.toml says that it is sent to"), "{own}: {said}");
    }

    let by_variable = Machine::new("[audit]\notlp = 'env'\n").said(&["run", "echo it-ran"]);
    assert!(by_variable.0 == Some(125) && by_variable.1.contains("has to be an address here"), "{}", by_variable.1);
}

#[test]
fn the_example_of_the_documentation_is_a_policy() {
    if !can_be_made() {
        return;
    }
    let page = include_str!("../../../docs/companies.md");
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let machine = Machine::new(example);
    let said = machine.said(&["doctor"]).1;
    let wanted = "the guard is on, with 1 rules of its own; a sandbox is required: work, company; the journal is required; \
                  the journal is sent to http://127.0.0.1:4318";
    assert!(said.contains(wanted), "{said}");
    let (code, said) = machine.said(&["check", "terraform destroy -auto-approve"]);
    assert!(code == Some(20) && said.contains("taken down by the pipeline"), "{said}");
}
