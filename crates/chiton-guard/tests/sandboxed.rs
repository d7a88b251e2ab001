//! What a sandbox beneath them makes of the questions of the corpus.
//!
//! 1. Every row that is asked about is judged again with the boundary of the profile `work`.
//! 2. What is lifted has to be something that such a boundary holds; kinds that it cannot hold are named here.
//! 3. The counts are printed, and `docs/sandbox.md` has them.

mod guard_cases;

use std::collections::BTreeMap;

use chiton_guard::{Boundary, Context, Decision, judge};
use guard_cases::cases;

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
    Boundary { profile: "work".to_owned(), write, keep, hide, holds_machine: true }
}

/// Rules about what happens in the workspace, on other machines, or by code that nobody knows: a sandbox does not hold it.
const NEVER_HELD: [&str; 14] = [
    "chiton", "code", "container-escape", "decoded-run", "delete-parent", "delete-workspace", "download-run",
    "environment", "git-discard", "hidden-run", "publish", "remote-data", "syntax", "unknown-run",
];

#[test]
fn a_sandbox_answers_questions_about_what_it_holds_and_no_others() {
    let context = Context::new("/home/dev", "dev", "/home/dev/project");
    let boundary = work();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for case in cases() {
        let outside = judge(&case.command, &context);
        let inside = boundary.lift(outside.clone(), &str::to_owned);
        if outside.decision != Decision::Ask {
            assert_eq!(inside, outside, "{}: only a question can be lifted", case.id);
            continue;
        }
        let rule = outside.rule.clone().unwrap_or_default();
        let is_held = inside.decision == Decision::Allow;
        let count = counts.entry(rule.clone()).or_default();
        *count = (count.0 + 1, count.1 + usize::from(is_held));
        let never = |rule: &str| NEVER_HELD.contains(&rule);
        let about_others = outside.findings.iter().find(|finding| never(&finding.rule));
        if let Some(finding) = about_others.filter(|_| is_held) {
            panic!("{}: held, although {}: {}", case.id, finding.rule, case.command.escape_debug());
        }
    }
    let (asked, held) = counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    for (rule, (asked, held)) in &counts {
        println!("{rule}: {held} of {asked}");
    }
    println!("all: {held} of {asked} questions go away");
    assert!(held * 4 > asked, "only {held} of {asked} questions go away");
}
