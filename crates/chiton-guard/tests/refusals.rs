//! Every refusal helps: over all rows of the corpus that are not allowed, what is said is two short lines, and the line
//! that a person is given for the settings does what it says.

use chiton_guard::{Context, Decision, GuardPolicy, Verdict, judge, judge_with};

use crate::guard_cases::cases;

fn context() -> Context {
    Context::new("/home/dev", "dev", "/home/dev/project")
}

fn stopped() -> Vec<(String, Verdict)> {
    let judged = cases().into_iter().map(|case| (judge(&case.command, &context()), case.command));
    judged
        .filter(|(verdict, _)| verdict.decision != Decision::Allow)
        .map(|(verdict, command)| (command, verdict))
        .collect()
}

/// The commands in `guard.allow = ["…", "…"]`, read by a reader of another format with the same strings.
fn listed(line: &str) -> Vec<String> {
    let list = line.strip_prefix("guard.allow = ").unwrap();
    serde_json::from_str(list).unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn the_line_for_the_settings_lifts_what_it_is_given_for() {
    let (mut asked, mut permitted) = (0, 0);
    for (command, verdict) in stopped() {
        match (verdict.decision, &verdict.permit) {
            (Decision::Deny, permit) => assert_eq!(*permit, None, "{command}"),
            (_, None) => asked += 1,
            (_, Some(line)) => {
                asked += 1;
                permitted += 1;
                let policy = GuardPolicy { allow: listed(line), ..GuardPolicy::default() };
                let policy = policy.check(&context()).unwrap_or_else(|error| panic!("{line}: {error}"));
                let lifted = judge_with(&command, &context(), &policy);
                assert_eq!(lifted.decision, Decision::Allow, "{command}\n{line}\n{}", lifted.reason);
            }
        }
    }
    assert!(permitted * 20 >= asked * 17, "only {permitted} of {asked} have a line");
}

#[test]
fn a_refusal_is_two_lines_with_the_rule_and_a_way_to_go_on() {
    for (command, verdict) in stopped() {
        let refusal = verdict.refusal();
        let lines: Vec<&str> = refusal.lines().collect();
        let rule = verdict.rule.as_deref().unwrap();
        assert!(lines.len() <= 2, "{command}\n{refusal}");
        assert!(lines[0].ends_with(&format!(". [{rule}]")), "{command}\n{refusal}");
        let alternative = verdict.alternative.as_deref().unwrap_or_else(|| panic!("{command}\n{refusal}"));
        assert!(alternative.ends_with('.') && alternative.len() < 120, "{alternative}");
        assert!(lines[1].starts_with(alternative), "{command}\n{refusal}");
        assert!(!refusal.contains("--guard off"), "{refusal}");
    }
}
