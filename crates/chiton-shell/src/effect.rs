//! What a script can change in its shell, as far as that can be told from its text. Programs change nothing, and most
//! builtins what they name.
//!
//! Nobody has to ask a shell for more of its state than that afterwards. Everything that is not plain may change anything.

use std::collections::BTreeSet;

use crate::builtins::{BuiltinEffect, KEYWORDS, builtin};
use crate::tree::{
    AssignedValue, Assignment, Command, CommandKind, Descriptor, Fallback, List, Operation, Parameter, Part,
    Redirection, Script, Simple, Target, Word,
};

/// What a script may change, at most. Traps, jobs and the like are never among it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Variables, by name.
    pub variables: BTreeSet<String>,
    /// Those of them that may become arrays.
    pub arrays: BTreeSet<String>,
    /// Functions, by name.
    pub functions: BTreeSet<String>,
    /// Whether it may go to another directory.
    pub directory: bool,
    /// Whether it has loops, or words that leave one.
    pub loops: bool,
}

impl Footprint {
    /// Whether the shell is the same afterwards.
    pub fn is_empty(&self) -> bool {
        let Self { variables, arrays, functions, directory, loops: _ } = self;
        variables.is_empty() && arrays.is_empty() && functions.is_empty() && !directory
    }
}

/// What `script` may change in its shell; `None` where that may be anything. `is_defined` says whether a name is a
/// function or an alias there: those may do anything.
pub fn footprint(script: &Script, is_defined: &dyn Fn(&str) -> bool) -> Option<Footprint> {
    let mut walk = Walk { is_defined, found: Footprint::default(), calls: BTreeSet::new() };
    let is_known = walk.list(&script.list) && walk.found.functions.is_disjoint(&walk.calls);
    is_known.then_some(walk.found)
}

struct Walk<'a> {
    is_defined: &'a dyn Fn(&str) -> bool,
    found: Footprint,
    /// What is called by name: one of the functions that the script defines may be among it.
    calls: BTreeSet<String>,
}

/// Each part of the walk gives whether all that it saw is known.
impl Walk<'_> {
    fn list(&mut self, list: &List) -> bool {
        list.items.iter().all(|item| {
            let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
            let mut stages = pipelines.flat_map(|pipeline| &pipeline.stages);
            !item.background && stages.all(|stage| self.command(stage))
        })
    }

    fn command(&mut self, command: &Command) -> bool {
        command.redirections.iter().all(redirection)
            && match &command.kind {
                CommandKind::Simple(simple) => self.simple(simple),
                // Whatever happens there, happens in a shell of its own.
                CommandKind::Subshell(_) => true,
                CommandKind::Group(list) => self.list(list),
                CommandKind::If { clauses, otherwise } => {
                    clauses.iter().all(|(condition, then)| self.list(condition) && self.list(then))
                        && otherwise.as_ref().is_none_or(|otherwise| self.list(otherwise))
                }
                CommandKind::Loop { condition, body, .. } => {
                    self.found.loops = true;
                    self.list(condition) && self.list(body)
                }
                CommandKind::For { name, words, body, select: false } => {
                    self.found.loops = true;
                    self.sets(name) && words.iter().flatten().all(word) && self.list(body)
                }
                CommandKind::Case { subject, arms } => {
                    word(subject) && arms.iter().all(|arm| arm.patterns.iter().all(word) && self.list(&arm.body))
                }
                CommandKind::Function { name, .. } => self.defines(name),
                _ => false,
            }
    }

    fn simple(&mut self, Simple { assignments, words, declared }: &Simple) -> bool {
        let Some((name, arguments)) = words.split_first() else {
            return assignments.iter().all(|assignment| self.assigns(assignment));
        };
        // Before a program or a builtin they last as long as that.
        let is_passed = |assignment: &Assignment| assignment.index.is_none() && value(&assignment.value);
        declared.is_empty()
            && assignments.iter().all(is_passed)
            && arguments.iter().all(word)
            && name.as_plain().is_some_and(|name| self.call(name, arguments, assignments.is_empty()))
    }

    /// Calls a program, or a builtin that does no more than it says.
    fn call(&mut self, name: &str, arguments: &[Word], is_bare: bool) -> bool {
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+/:".contains(&byte));
        if !is_name || (self.is_defined)(name) {
            return false;
        }
        self.calls.insert(name.to_owned());
        match (name, builtin(name).map(|builtin| builtin.effect)) {
            ("pwd", _) => arguments.is_empty(),
            ("break" | "continue", _) => {
                self.found.loops = true;
                arguments.is_empty()
            }
            ("printf", _) => arguments.first().is_some_and(only_prints),
            (":", _) => true,
            ("cd", _) if is_bare => {
                self.found.directory = true;
                self.sets("OLDPWD")
            }
            ("export", _) if is_bare => arguments.iter().all(|argument| self.exports(argument)),
            ("unset", _) if is_bare => self.unsets(arguments),
            ("read", _) if is_bare => self.reads(arguments),
            (_, Some(effect)) => effect == BuiltinEffect::Prints,
            (_, None) => !KEYWORDS.contains(&name),
        }
    }

    fn assigns(&mut self, assignment: &Assignment) -> bool {
        if let AssignedValue::Array(_) = assignment.value {
            self.found.arrays.insert(assignment.name.clone());
        }
        assignment.index.is_none() && value(&assignment.value) && self.sets(&assignment.name)
    }

    /// `export NAME` and `export NAME=value`.
    fn exports(&mut self, argument: &Word) -> bool {
        let Some(Part::Literal(text)) = argument.parts.first() else { return false };
        match text.split_once('=') {
            Some((name, _)) => self.sets(name.strip_suffix('+').unwrap_or(name)),
            None => argument.parts.len() == 1 && self.sets(text),
        }
    }

    fn unsets(&mut self, arguments: &[Word]) -> bool {
        let words: Option<Vec<&str>> = arguments.iter().map(Word::as_plain).collect();
        match words.as_deref() {
            Some(["-v", names @ ..]) => names.iter().all(|name| self.sets(name)),
            Some(["-f", names @ ..]) => names.iter().all(|name| self.defines(name)),
            // A function, where there is no such variable.
            Some(names) => names.iter().all(|name| self.sets(name) && self.defines(name)),
            None => false,
        }
    }

    fn reads(&mut self, arguments: &[Word]) -> bool {
        let words: Option<Vec<&str>> = arguments.iter().map(Word::as_plain).collect();
        match words.as_deref() {
            Some([] | ["-r"]) => self.sets("REPLY"),
            Some(["-r", names @ ..] | names) => names.iter().all(|name| self.sets(name)),
            None => false,
        }
    }

    fn sets(&mut self, name: &str) -> bool {
        self.found.variables.insert(name.to_owned());
        is_identifier(name)
    }

    fn defines(&mut self, name: &str) -> bool {
        self.found.functions.insert(name.to_owned());
        is_identifier(name) && !matches!(name, "builtin" | "command")
    }
}

fn is_identifier(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// Whether a value is found without setting anything else.
fn value(value: &AssignedValue) -> bool {
    match value {
        AssignedValue::Scalar(value) => word(value),
        AssignedValue::Array(items) => items.iter().all(|(index, value)| index.is_none() && word(value)),
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
            index.is_none() && !indirect && self::operation(operation)
        }
        Part::Arithmetic(_) | Part::Process { .. } => false,
    }
}

fn operation(operation: &Operation) -> bool {
    match operation {
        Operation::Plain => true,
        Operation::Alternative { kind, word: other, .. } => {
            matches!(kind, Fallback::Use | Fallback::Replace) && word(other)
        }
        Operation::Trim { pattern, .. } | Operation::Case { pattern, .. } => word(pattern),
        Operation::Replace { pattern, replacement, .. } => word(pattern) && word(replacement),
        Operation::Slice { .. } | Operation::Transform(_) | Operation::Names => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Footprint;

    /// In a shell with a function `gradle` and an alias `ll`.
    fn footprint(command: &[u8]) -> Option<Footprint> {
        let is_defined = |name: &str| matches!(name, "gradle" | "ll");
        super::footprint(&crate::parse(command).ok()?, &is_defined)
    }

    fn changes_nothing(command: &[u8]) -> bool {
        footprint(command).is_some_and(|found| found.is_empty())
    }

    #[test]
    fn what_may_change_is_known_by_name() {
        for (command, variables, functions, directory) in [
            ("cd /tmp", "OLDPWD", "", true),
            ("cd -- \"$HOME\"/x && ls", "OLDPWD", "", true),
            ("export A=1 B C=\"$D\"", "A B C", "", false),
            ("x=1; y=$x z=(1 2)", "x y z", "", false),
            ("f() { x=1; }", "", "f", false),
            ("unset a", "a", "a", false),
            ("unset -v a b", "a b", "", false),
            ("unset -f g", "", "g", false),
            ("for i in 1 2; do ls; done", "i", "", false),
            ("if true; then x=1; else cd /; fi", "OLDPWD x", "", true),
            ("while read -r line; do echo $line; done < f", "line", "", false),
            ("case $x in a) y=1;; esac", "y", "", false),
            ("PATH+=:/opt/bin", "PATH", "", false),
            ("ls | read x", "x", "", false),
            ("{ cd /; }", "OLDPWD", "", true),
        ] {
            let found = footprint(command.as_bytes()).unwrap_or_else(|| panic!("{command} may change anything"));
            let said = |names: &std::collections::BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
            assert_eq!(
                (said(&found.variables).as_str(), said(&found.functions).as_str()),
                (variables, functions),
                "{command}"
            );
            assert_eq!(found.directory, directory, "{command}");
        }
    }

    #[test]
    fn loops_and_what_leaves_them_are_seen() {
        for (command, loops) in [
            ("ls", false),
            ("ls && { pwd; }", false),
            ("(for i in 1 2; do ls; done)", false),
            ("while true; do ls; done", true),
            ("until ls; do :; done", true),
            ("for i in 1 2; do ls; done", true),
            ("if true; then while false; do :; done; fi", true),
            ("break", true),
            ("ls | continue", true),
        ] {
            assert_eq!(footprint(command.as_bytes()).map(|found| found.loops), Some(loops), "{command}");
        }
    }

    #[test]
    fn what_may_change_anything_is_known_to() {
        for command in [
            ". ./env", "source env", "eval x=1", "exec ls", "exit 3", "trap : EXIT", "set -e", "umask 077", "gradle",
            "declare x=1", "readonly x=1", "export -n x", "export \"$x\"", "unset \"$x\"", "read -a x", "x[i++]=1",
            "x=$((y++))", "x=${y:=1}", "((x=1))", "[[ $x -eq 1 ]]", "f() { x=1; }; f", "command cd /", "X=1 cd /",
            "builtin() { :; }", "select i in a b; do ls; done", "x=1 &", "let x=1", "mapfile x", "pushd /",
            "alias a=b",
        ] {
            assert_eq!(footprint(command.as_bytes()), None, "{command}");
        }
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
            "FOO=bar cargo test",
            "(cd /; x=1; ls)",
            "echo ${x:-1} ${x%/*} ${x//a/b} ${x^^}",
            "if grep -q x y; then echo z; fi",
            "",
            "# nothing",
        ] {
            assert!(changes_nothing(command.as_bytes()), "{command}");
        }
    }

    #[test]
    fn whatever_may_change_something_is_known_to() {
        for command in [
            "cd /tmp", "x=1", "export A=b", "ls; cd ..", "ls && x=2", "ls | read x", "gradle build", "ll",
            "echo ${x:=1}", "echo ${x=1}", "echo $((x++))", "echo $[x++]", "echo ${a[x++]}", "echo ${!x}",
            "echo ${x@P}", "echo \"${x:=1}\"", "cat <<E\n${x:=1}\nE", "cat <<< $((x++))", "ls > $((x++))",
            "exec {fd}>x", "ls {fd}>x", "printf -v x 1", "printf $x", "printf \"a$x\"", "printf abc%n x",
            "printf '%s%-5ln' a x", "printf '%''n' x", "printf \"-v\" x 1", "printf", "$cmd", "\\cd /", "'cd' /",
            "c\"d\" /", "command cd /", "builtin cd /", "time cd /", "coproc cat", "sleep 100 &", "cat <(ls)",
            "for i in 1 2; do ls; done", "if true; then cd /; fi", "{ cd /; }", "[[ a =~ (a) ]]", "((x=1))",
            "f() { ls; }", "set -e", "umask 077", ". ./env", "source env", "eval ls", "exec ls", "exit 3",
            "trap : EXIT", "alias a=b", "shopt -s nullglob", "pushd /", "read x < y", "mapfile a < y", "unset x",
            "test -v 'a[x++]'", "[ -v 'a[x++]' ]", "wait", "kill -9 $$", "pwd -P", "{c,d}d /", "ls 'open",
        ] {
            assert!(!changes_nothing(command.as_bytes()), "{command}");
        }
    }
}
