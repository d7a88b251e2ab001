//! Every row of a program is tested by its own examples: `program::command`.
//!
//! Nothing here runs a command; each is text for a function.

use std::process::ExitCode;

use chiton_guard::{Context, judge, programs};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let runs_all = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    // Thousands of lines that say `ok` would bury what the other tests print.
    arguments.quiet |= runs_all && arguments.format.is_none();

    let tests = programs().flat_map(|program| {
        let examples = program.examples.iter().map(move |example| {
            Trial::test(format!("{}::{}", program.names[0], example.command), move || {
                let verdict = judge(example.command, &Context::new("/home/dev", "dev", "/home/dev/project"));
                let actual = (verdict.decision, verdict.rule.as_deref());
                if actual == (example.decision, example.rule) {
                    return Ok(());
                }
                let expected = (example.decision.as_str(), example.rule);
                let actual = (verdict.decision.as_str(), verdict.rule.as_deref());
                Err(format!("expected {expected:?}, is {actual:?}: {}", verdict.reason).into())
            })
        });
        let shape = Trial::test(format!("{}::has examples that show it", program.names[0]), move || {
            let named = |command: &str| program.names.iter().any(|name| command.contains(name.trim_end_matches('*')));
            let strange = program.examples.iter().find(|example| !named(example.command));
            match strange {
                _ if program.examples.is_empty() => Err("the row has no example".into()),
                Some(example) => Err(format!("`{}` is not about this program", example.command).into()),
                None => Ok(()),
            }
        });
        examples.chain([shape]).collect::<Vec<_>>()
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}
