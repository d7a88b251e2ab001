//! The guard, as a function from text to a verdict: what is not a row of the corpus. Nothing in these tests runs a
//! command of it.

use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

use chiton_guard::{Context, Decision, judge};

use crate::guard_cases::{Case, cases};
use crate::shell::Shell;

/// Fewer cases than this do not say much about a class.
const SEVERAL: usize = 5;

fn context() -> Context {
    Context::new("/home/dev", "dev", "/home/dev/project")
}

/// Text in single quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn everyday_commands_stay_allowed_in_a_chain() {
    let mut alarmed = Vec::new();
    let plain = |case: &Case| case.expected == Decision::Allow && !case.command.starts_with('#');
    for case in cases().into_iter().filter(plain) {
        for disguised in [format!("true &&\n{}", case.command), format!("(\n{}\n)", case.command)] {
            let verdict = judge(&disguised, &context());
            if verdict.decision != Decision::Allow {
                alarmed.push(format!("{} {disguised:?}: {}", case.id, verdict.reason));
            }
        }
    }
    assert!(alarmed.is_empty(), "{} false alarms:\n{}", alarmed.len(), alarmed.join("\n"));
}

#[test]
fn a_verdict_says_what_where_why_and_what_else() {
    let command = "cd / && echo ok && rm -rf ./usr";
    let verdict = judge(command, &context());
    assert_eq!(verdict.decision, Decision::Deny);
    assert_eq!(verdict.rule.as_deref(), Some("delete-system"));
    assert_eq!(verdict.target.as_deref(), Some("/usr"));
    let span = verdict.span.unwrap();
    assert_eq!(&command[span.start..span.end], "./usr");
    assert!(verdict.reason.contains("/usr") && verdict.alternative.is_some());
    assert!(verdict.refusal().contains("blocked") && verdict.refusal().contains("dangerous"));
    let words: Vec<String> = verdict.commands.iter().map(|seen| seen.words.join(" ")).collect();
    assert_eq!(words, ["cd /", "echo ok", "rm -rf ./usr"]);
}

#[test]
fn a_dry_run_can_name_the_files_that_redirections_touch() {
    let verdict = judge("sort < in.txt > out.txt 2>> /tmp/err; cat <<E > a/b\nx\nE", &context());
    let files: Vec<(String, String)> =
        verdict.files.iter().map(|file| (file.path.clone(), format!("{:?}", file.access))).collect();
    let expected = [
        ("/home/dev/project/in.txt", "Read"),
        ("/home/dev/project/out.txt", "Write"),
        ("/tmp/err", "Append"),
        ("/home/dev/project/a/b", "Write"),
    ];
    assert_eq!(files, expected.map(|(path, access)| (path.to_owned(), access.to_owned())));
}

#[test]
fn commands_that_wait_for_a_person_are_named() {
    let waits = |command: &str| judge(command, &context()).waits.len();
    for command in [
        "sudo ls", "vim x", "git rebase -i HEAD~2", "less x", "ssh host", "git commit", "python3", "bash", "top",
        "tail -f x",
    ] {
        assert_eq!(waits(command), 1, "{command}");
    }
    for command in [
        "sudo -n ls", "git commit -m x", "ls", "python3 x.py", "ssh -o BatchMode=yes host ls", "echo x | less",
        "top -bn1",
    ] {
        assert_eq!(waits(command), 0, "{command}");
    }
}

#[test]
fn the_session_decides_what_words_mean() {
    let shell = Arc::new(Shell {
        variables: [("DIR", "/"), ("SAFE", "build")].into(),
        functions: [("clean", "clean () \n{ \n    rm -rf \"$1\"\n}")].into(),
        aliases: [("wipe", "rm -rf")].into(),
    });
    let context = Context::new("/home/dev", "dev", "/home/dev/project").within(Arc::clone(&shell) as _);
    let decision = |command: &str| judge(command, &context).decision;
    assert_eq!(decision("rm -rf $DIR"), Decision::Deny);
    assert_eq!(decision("rm -rf $SAFE"), Decision::Allow);
    assert_eq!(decision("rm -rf /$NEVER_SET"), Decision::Deny);
    assert_eq!(decision("wipe /"), Decision::Deny);
    assert_eq!(decision("wipe build"), Decision::Allow);
    assert_eq!(decision("clean /etc"), Decision::Deny);
    assert_eq!(decision("clean dist"), Decision::Allow);
    let at_root = Context::new("/home/dev", "dev", "/").within(shell);
    assert_eq!(judge("rm -rf *", &at_root).decision, Decision::Deny);
}

#[test]
fn the_environment_of_a_call_is_judged_too() {
    use chiton_guard::judge_call;
    let set = |name: &str, value: &str| {
        let context = context().with_variable(name, value);
        judge_call("ls", &[(name.to_owned(), value.to_owned())], &context).decision
    };
    assert_eq!(set("NODE_ENV", "test"), Decision::Allow);
    assert_eq!(set("LD_PRELOAD", "/tmp/x.so"), Decision::Ask);
    assert_eq!(set("GIT_SSH_COMMAND", "rm -rf /"), Decision::Deny);
}

#[test]
fn own_processes_are_not_killed_and_others_are() {
    use chiton_guard::OwnProcess;
    let mut context = context();
    context.own_processes =
        [OwnProcess { id: 4000, name: "chiton".to_owned() }, OwnProcess { id: 3999, name: "node".to_owned() }].into();
    context.own_groups = [4000].into();
    let decision = |command: &str| judge(command, &context).decision;
    for command in
        ["kill 4000", "kill -9 3999", "kill -- -4000", "pkill node", "killall -9 node", "pkill -f node", "kill $PPID"]
    {
        assert_eq!(decision(command), Decision::Deny, "{command}");
    }
    for command in ["kill 4001", "kill -9 -4001", "pkill vite", "killall nodemon", "kill -0 4000"] {
        assert_eq!(decision(command), Decision::Allow, "{command}");
    }
}

/// Functions that call the next one from deep inside.
fn nested_functions(open: &str) -> String {
    let define = |number: usize| format!("f{number}() {{ {}f{}{}; }}; ", open.repeat(50), number + 1, " )".repeat(50));
    (0..23).map(define).collect::<Vec<_>>().concat() + "f0"
}

#[test]
fn hostile_sizes_end_quickly_and_are_never_allowed() {
    let deep = |open: &str, close: &str, count: usize| format!("{}echo{}", open.repeat(count), close.repeat(count));
    let texts = [
        deep("( ", " )", 100_000),
        deep("$(", ")", 100_000),
        deep("{ ", ";}", 50_000),
        format!("{}rm -rf /", "sudo ".repeat(50_000)),
        format!("echo {}", "{a,b}".repeat(40)) + "; rm -rf /",
        (0..6).fold("rm -rf /".to_owned(), |inner, _| format!("bash -c {}", quoted(&inner))),
        "x=${x:-".repeat(10_000),
        format!("f() {{ {} }}; f", "f; ".repeat(1000)) + "; rm -rf /",
        format!("{}rm -rf /", "for i in 1 2 3 4 5 6 7 8 9; do ".repeat(20)) + &"; done".repeat(20),
        nested_functions("( "),
        nested_functions("echo $( "),
        "a".repeat(2 << 20),
        format!("cat <<E\n{}\nE\nrm -rf /", "x\n".repeat(100_000)),
    ];
    for text in texts {
        let start = std::time::Instant::now();
        let verdict = judge(&text, &context());
        assert_ne!(verdict.decision, Decision::Allow, "{}", &text[..80]);
        assert!(start.elapsed().as_secs() < 10, "{:?} for {}", start.elapsed(), &text[..80]);
    }
}

#[test]
fn case_ids_are_unique_and_each_class_has_several() {
    let all = cases();
    let ids: BTreeSet<&str> = all.iter().map(|case: &Case| case.id.as_str()).collect();
    assert_eq!(ids.len(), all.len());

    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &all {
        *classes.entry(&case.class).or_default() += 1;
    }
    let small: Vec<_> = classes.iter().filter(|(_, count)| **count < SEVERAL).collect();
    assert!(small.is_empty(), "{small:?}");
    assert!(all.len() >= 2500, "{} cases are left", all.len());
}
