//! What a sandbox beneath them makes of the questions of the corpus.
//!
//! 1. Every row that is asked about is judged again with the boundary of the profile `work`, without and with undo.
//! 2. What is lifted has to be something that such a boundary holds, or that can be put back; kinds of which neither is true
//!    are named here.
//! 3. The counts are printed, and `docs/sandbox.md` has them.

use std::collections::BTreeMap;

use chiton_guard::{Boundary, Context, Decision, Files, Loss, judge};

use crate::guard_cases::cases;

/// A machine without links, on which everything can be kept.
struct Plain;

impl Files for Plain {
    fn leads_to(&self, path: &str) -> String {
        path.to_owned()
    }

    fn cannot_be_kept(&self, _: &[Loss]) -> Option<String> {
        None
    }
}

/// What `work` allows in a project of an ordinary home directory, in short.
fn work() -> Boundary {
    let below = |home: &str, list: &[&str]| list.iter().map(|path| format!("{home}/{path}")).collect::<Vec<String>>();
    let mut write =
        below("/home/dev", &["project", ".cache", ".npm", ".cargo/registry", ".cargo/git", "go/pkg", ".m2"]);
    write.extend(["/tmp", "/var/tmp", "/dev/shm"].map(str::to_owned));
    let hide = [
        ".ssh/id_rsa", ".ssh/id_ed25519", ".ssh/id_ecdsa", ".aws", ".gnupg/private-keys-v1.d", ".kube",
        ".docker/config.json", ".netrc", ".config/gh", ".config/gcloud", ".azure", ".npmrc", ".pypirc",
        ".git-credentials", ".bash_history", ".mozilla", ".config/google-chrome", ".password-store",
        ".local/share/keyrings", ".pgpass", ".vault-token",
    ];
    let mut hide = below("/home/dev", &hide);
    hide.extend(["/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/etc/sudoers"].map(str::to_owned));
    let keep = below(
        "/home/dev/project",
        &[".git/hooks", ".vscode/tasks.json", ".mcp.json", ".claude/settings.json", ".envrc"],
    );
    Boundary { profile: "work".to_owned(), write, keep, hide, undo: Vec::new(), holds_machine: true }
}

/// Rules about what happens in the workspace, on other machines, or by code that nobody knows: a sandbox does not hold it.
const NEVER_HELD: [&str; 14] = [
    "chiton", "code", "container-escape", "decoded-run", "delete-parent", "delete-workspace", "download-run",
    "environment", "git-discard", "hidden-run", "publish", "remote-data", "syntax", "unknown-run",
];

/// Rules about what putting files back does not undo.
const NEVER_UNDONE: [&str; 24] = [
    "accounts", "chiton", "code", "container-escape", "credentials", "decoded-run", "delete-parent", "delete-root",
    "disk", "download-run", "environment", "exfiltration", "firewall", "fork-bomb", "hidden-run", "kernel",
    "permissions", "persistence", "power", "publish", "remote-data", "remote-shell", "syntax", "unknown-run",
];

/// How many questions there are, how many a sandbox answers, and how many more with undo.
#[derive(Default)]
struct Count {
    asked: usize,
    held: usize,
    undone: usize,
}

#[test]
fn a_sandbox_answers_questions_about_what_it_holds_or_undoes_and_no_others() {
    let context = Context::new("/home/dev", "dev", "/home/dev/project");
    let (holding, undoing) = (work(), Boundary { undo: vec!["/home/dev/project".to_owned()], ..work() });
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for case in cases() {
        let outside = judge(&case.command, &context);
        let [inside, undone] = [&holding, &undoing].map(|boundary| boundary.lift(outside.clone(), &Plain));
        if outside.decision != Decision::Ask {
            assert_eq!([&inside, &undone], [&outside; 2], "{}: only a question can be lifted", case.id);
            continue;
        }
        let is_held = inside.decision == Decision::Allow;
        let is_undone = !is_held && undone.decision == Decision::Allow;
        assert!(!is_held || inside == undone, "{}: what is held needs no undo", case.id);

        let count = counts.entry(outside.rule.clone().unwrap_or_default()).or_default();
        count.asked += 1;
        count.held += usize::from(is_held);
        count.undone += usize::from(is_undone);
        let about = |rules: &[&str]| outside.findings.iter().find(|finding| rules.contains(&&*finding.rule));
        let wrongly = if is_held { about(&NEVER_HELD) } else { about(&NEVER_UNDONE).filter(|_| is_undone) };
        if let Some(finding) = wrongly {
            panic!("{}: lifted, although {}: {}", case.id, finding.rule, case.command.escape_debug());
        }
    }

    let all = counts.values().fold(Count::default(), |sum, count| Count {
        asked: sum.asked + count.asked,
        held: sum.held + count.held,
        undone: sum.undone + count.undone,
    });
    for (rule, Count { asked, held, undone }) in &counts {
        println!("{rule}: {held} of {asked}, with undo {undone} more");
    }
    println!("all: {} of {} questions go away, with undo {} more", all.held, all.asked, all.undone);
    assert!(all.held * 4 > all.asked, "only {} of {} questions go away", all.held, all.asked);
    assert!(all.undone > 0, "undo answers nothing");
}
