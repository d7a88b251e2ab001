//! Whether a script leaves its shell as it was. Programs do, and a few builtins that only print.
//!
//! Nobody has to ask such a shell for its state afterwards. Everything that is not plain counts as a change.

use crate::builtins::{BuiltinEffect, KEYWORDS, builtin};
use crate::tree::{
    Command, CommandKind, Descriptor, Operation, Parameter, Part, Redirection, Script, Simple, Target, Word,
};

/// Whether a shell is the same after `script` as before it. `is_defined` says whether a name is a function or an alias
/// there: those may do anything.
pub fn changes_nothing(script: &Script, is_defined: &dyn Fn(&str) -> bool) -> bool {
    script.list.items.iter().all(|item| {
        let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
        !item.background && pipelines.flat_map(|pipeline| &pipeline.stages).all(|stage| command(stage, is_defined))
    })
}

fn command(command: &Command, is_defined: &dyn Fn(&str) -> bool) -> bool {
    let CommandKind::Simple(Simple { assignments, words, .. }) = &command.kind else { return false };
    let Some((name, arguments)) = words.split_first() else { return false };
    assignments.is_empty()
        && name.as_plain().is_some_and(|name| is_harmless(name, arguments, is_defined))
        && arguments.iter().all(word)
        && command.redirections.iter().all(redirection)
}

/// Whether this is the name of a program, or of a builtin that only prints.
fn is_harmless(name: &str, arguments: &[Word], is_defined: &dyn Fn(&str) -> bool) -> bool {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+/".contains(&byte));
    if !is_name || is_defined(name) {
        return false;
    }
    match (name, builtin(name).map(|builtin| builtin.effect)) {
        ("pwd", _) => arguments.is_empty(),
        ("printf", _) => arguments.first().is_some_and(only_prints),
        (_, Some(effect)) => effect == BuiltinEffect::Prints,
        (_, None) => !KEYWORDS.contains(&name),
    }
}

/// Whether this is a format of `printf` that sets no variable, neither by `-v` nor by `%n`. One that is only partly
/// known may be any.
fn only_prints(format: &Word) -> bool {
    fn collect(parts: &[Part], text: &mut String) -> bool {
        parts.iter().all(|part| match part {
            Part::Literal(piece) | Part::Quoted(piece) => {
                text.push_str(piece);
                true
            }
            Part::Double(inside) => collect(inside, text),
            _ => false,
        })
    }
    let mut text = String::new();
    collect(&format.parts, &mut text)
        && !text.starts_with('-')
        && text.split('%').skip(1).all(|rest| {
            let conversion = rest.chars().find(|letter| !"-+ #0123456789.*'hjlqLtzZ".contains(*letter));
            conversion != Some('n')
        })
}

fn redirection(redirection: &Redirection) -> bool {
    if matches!(redirection.descriptor, Some(Descriptor::Variable(_))) {
        return false;
    }
    match &redirection.target {
        Target::Word(target) => word(target),
        Target::Here(document) => document.get().is_some_and(|document| document.quoted || word(&document.body)),
    }
}

/// Whether expanding it sets nothing. The commands of `$(…)` run in a shell of their own.
fn word(word: &Word) -> bool {
    word.parts.iter().all(part)
}

fn part(one: &Part) -> bool {
    match one {
        Part::Literal(_) | Part::Quoted(_) | Part::Command(_) => true,
        Part::Double(parts) => parts.iter().all(part),
        Part::Parameter(parameter) => {
            let Parameter { index, indirect, operation, .. } = &**parameter;
            index.is_none() && !indirect && matches!(operation, Operation::Plain)
        }
        Part::Arithmetic(_) | Part::Process { .. } => false,
    }
}

#[cfg(test)]
mod tests {

    /// In a shell with a function `gradle` and an alias `ll`.
    fn changes_nothing(command: &[u8]) -> bool {
        let is_defined = |name: &str| matches!(name, "gradle" | "ll");
        crate::parse(command).is_ok_and(|script| super::changes_nothing(&script, &is_defined))
    }

    #[test]
    fn programs_and_what_only_prints_change_nothing() {
        for command in [
            "true",
            "ls -la",
            "ls | wc -l",
            "sleep 0.05",
            "git status && git diff --stat || echo no",
            "cargo test -- --nocapture 2>&1 | tail -20",
            "grep -rn \"foo $BAR ${BAZ}\" src/*.rs > out.txt 2>/dev/null",
            "echo $(cd /tmp; x=1; pwd) `date`",
            "/usr/bin/env; ./configure\nmake",
            "cat <<'E'\n$((x++))\nE",
            "cat <<E\n$HOME\nE",
            "printf '%s\\n' a b; printf \"x%%\" $y; printf %5.2f\\\\n 1",
            "echo $? $$ $# \"$@\"",
            "! grep x y",
            "",
            "# nothing",
        ] {
            assert!(changes_nothing(command.as_bytes()), "{command}");
        }
    }

    #[test]
    fn whatever_may_change_something_is_known_to() {
        for command in [
            "cd /tmp", "x=1", "x=1 ls", "export A=b", "ls; cd ..", "ls && x=2", "ls | read x", "gradle build", "ll",
            "echo ${x:=1}", "echo ${x=1}", "echo $((x++))", "echo $[x++]", "echo ${a[x++]}", "echo ${!x}",
            "echo ${x@P}", "echo \"${x:=1}\"", "cat <<E\n${x:=1}\nE", "cat <<< $((x++))", "ls > $((x++))",
            "exec {fd}>x", "ls {fd}>x", "printf -v x 1", "printf $x", "printf \"a$x\"", "printf abc%n x",
            "printf '%s%-5ln' a x", "printf '%''n' x", "printf \"-v\" x 1", "printf", "$cmd", "\\cd /", "'cd' /",
            "c\"d\" /", "command cd /", "builtin cd /", "time cd /", "coproc cat", "sleep 100 &", "cat <(ls)",
            "for i in 1 2; do ls; done", "if true; then cd /; fi", "{ cd /; }", "(ls)", "[[ a =~ (a) ]]", "((x=1))",
            "f() { ls; }", "set -e", "umask 077", ". ./env", "source env", "eval ls", "exec ls", "exit 3",
            "trap : EXIT", "alias a=b", "shopt -s nullglob", "pushd /", "read x < y", "mapfile a < y", "unset x",
            "test -v 'a[x++]'", "[ -v 'a[x++]' ]", "wait", "kill -9 $$", "> file", "pwd -P", "{c,d}d /", "ls 'open",
        ] {
            assert!(!changes_nothing(command.as_bytes()), "{command}");
        }
    }
}
