//! Bash is the oracle of the parser: what it takes for a command, and what words it makes of one.

use std::path::Path;
use std::sync::Arc;

use chiton_guard::{Context, judge};
use chiton_shell as syntax;
use chiton_testkit::cases;
use chiton_testkit::oracle::bash;

use crate::shell::Shell;

/// Whether bash takes `command` for one, without running any of it.
fn is_syntax(command: &[u8]) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = folder.path().join("script");
    std::fs::write(&script, command).expect("a file in it");
    let check = format!("exec bash --norc --noprofile -n '{}'", script.display());
    bash(check.as_bytes(), folder.path(), &[("PATH", "/usr/bin:/bin")]).status == 0
}

/// What bash finds wrong only when it gets there, and deeper nesting than is examined: all of it is rejected, or not
/// read for certain, and so asked about.
const STRICTER: [&str; 6] = [
    "synerr-double-bracket-bad-operator",
    "param-bad-substitution",
    "synerr-double-bracket-empty",
    "synerr-double-bracket-missing-operand",
    "synerr-in-backticks-runtime",
    "long-command-nested-groups",
];

/// What bash and the parser say of a text, where they do not agree.
fn differs((name, text): &(String, Vec<u8>)) -> Option<String> {
    if STRICTER.contains(&name.as_str()) {
        assert!(syntax::parse(text).map_or(true, |script| script.places.uncertain().is_some()), "{name}");
        return None;
    }
    // Bash reads extended patterns only where a line before has switched them on; the parser takes them anywhere.
    if name.contains("extglob") {
        return None;
    }
    let (ours, theirs) = (syntax::parse(text), is_syntax(text));
    if ours.is_ok() == theirs {
        return None;
    }
    let ours = ours.map_or_else(|error| error.to_string(), |_| "parses".to_owned());
    Some(format!("{name}: bash {theirs}, ours: {ours}: {}", String::from_utf8_lossy(text)))
}

#[test]
fn what_bash_parses_is_parsed_and_what_it_rejects_is_not() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts: Vec<(String, Vec<u8>)> = cases::read(&crates.join("chiton-engine/tests/cases/fidelity.cases"))
        .into_iter()
        .map(|case| (case.name, case.command))
        .collect();
    texts.extend(
        cases::read(&crates.join("chiton-shell/tests/cases/syntax.cases"))
            .into_iter()
            .map(|case| (case.name, case.command)),
    );
    texts.extend(crate::guard_cases::cases().into_iter().map(|case| (case.id, case.command.into_bytes())));
    // Each asks a bash of its own, which is what takes the time.
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts = texts.chunks(texts.len().div_ceil(workers));
        let check = |part: &[(String, Vec<u8>)]| part.iter().filter_map(differs).collect::<Vec<String>>();
        let running: Vec<_> = parts.map(|part| scope.spawn(move || check(part))).collect();
        running.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), texts.len(), wrong.join("\n"));
}

#[test]
fn words_are_what_bash_makes_of_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/words.txt");
    let text = std::fs::read_to_string(folder).unwrap();
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().canonicalize().unwrap();
    let home = "/home/dev";
    // A shell without variables of its own: what is not set is known not to be.
    let context = Context::new(home, "dev", &directory).within(Arc::new(Shell::default()));
    let mut wrong = Vec::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with("##")).collect();
    assert!(lines.len() > 150);
    for line in lines {
        let line = &line.replace('␤', "\n");
        let (setup, words) = line.split_once(" ;; ").unwrap_or(("", line.as_str()));
        let command = format!("{setup}\nprintf '%q\\n' -- {words}");
        let observed = bash(
            command.as_bytes(),
            &directory,
            &[("PATH", "/usr/bin:/bin"), ("HOME", home), ("USER", "dev"), ("LC_ALL", "C.UTF-8")],
        );
        let theirs = String::from_utf8_lossy(&observed.stdout).into_owned();
        let verdict = judge(&command, &context);
        let Some(seen) = verdict.commands.iter().rfind(|seen| seen.words.first().is_some_and(|word| word == "printf"))
        else {
            wrong.push(format!("{line}: no printf was seen: {}", verdict.reason));
            continue;
        };
        // Bash itself quotes what we found, so that both sides are quoted alike.
        let quoted: Vec<String> =
            seen.words[3..].iter().map(|word| format!(" '{}'", word.replace('\'', "'\\''"))).collect();
        let again = format!("printf '%q\\n' --{}", quoted.concat());
        let ours = bash(again.as_bytes(), &directory, &[("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8")]);
        let ours = String::from_utf8_lossy(&ours.stdout).into_owned();
        if ours != theirs {
            wrong.push(format!("{line}\n  bash: {theirs:?}\n  ours: {ours:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
