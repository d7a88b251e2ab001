//! Bash's builtins and keywords: the one table of what each of them does.

use crate::code_words::CodeWords;

/// What a builtin does to the shell that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinEffect {
    /// It prints, or succeeds, or fails. The shell stays as it was.
    Prints,
    /// It may change the shell, or run something that does.
    Sets,
    /// It gives variables their values and attributes; `name=value` among its arguments is an assignment.
    Declares,
}

/// One builtin.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// What it does to its shell.
    pub effect: BuiltinEffect,
    /// Whether the parser takes `name=(…)` among its arguments for an array.
    pub takes_arrays: bool,
    /// Which of its words it reads as code, or as the name of a variable, in which an index may be code. What declarers
    /// read depends on their options; see `reader.rs`.
    pub code: &'static [CodeWords],
}

const fn prints(name: &'static str) -> Builtin {
    Builtin { name, effect: BuiltinEffect::Prints, takes_arrays: false, code: &[] }
}

const fn sets(name: &'static str) -> Builtin {
    Builtin { name, effect: BuiltinEffect::Sets, takes_arrays: false, code: &[] }
}

const fn declares(name: &'static str) -> Builtin {
    Builtin { name, effect: BuiltinEffect::Declares, takes_arrays: true, code: &[] }
}

const fn evaluates(name: &'static str) -> Builtin {
    Builtin { code: &[CodeWords::Everything], ..sets(name) }
}

/// Every builtin of bash 5.2, by name.
pub const BUILTINS: [Builtin; 61] = [
    Builtin { code: &[CodeWords::FirstOperand], ..sets(".") },
    sets(":"),
    Builtin { code: &[CodeWords::EverythingWith(&["-v", "-R"])], ..sets("[") },
    Builtin { takes_arrays: true, ..evaluates("alias") },
    sets("bg"),
    evaluates("bind"),
    sets("break"),
    sets("builtin"),
    sets("caller"),
    sets("cd"),
    sets("command"),
    evaluates("compgen"),
    evaluates("complete"),
    evaluates("compopt"),
    sets("continue"),
    declares("declare"),
    sets("dirs"),
    sets("disown"),
    prints("echo"),
    evaluates("enable"),
    Builtin { takes_arrays: true, ..evaluates("eval") },
    sets("exec"),
    sets("exit"),
    declares("export"),
    prints("false"),
    evaluates("fc"),
    sets("fg"),
    evaluates("getopts"),
    sets("hash"),
    sets("help"),
    sets("history"),
    sets("jobs"),
    sets("kill"),
    Builtin { takes_arrays: true, ..evaluates("let") },
    declares("local"),
    sets("logout"),
    evaluates("mapfile"),
    sets("popd"),
    // It sets a variable with `-v` or `%n`; `effect` looks for both.
    Builtin { code: &[CodeWords::EverythingWith(&["-v"])], ..prints("printf") },
    sets("pushd"),
    // With an option it may set `PWD`; `effect` looks for one.
    prints("pwd"),
    evaluates("read"),
    evaluates("readarray"),
    declares("readonly"),
    sets("return"),
    sets("set"),
    sets("shift"),
    sets("shopt"),
    Builtin { code: &[CodeWords::FirstOperand], ..sets("source") },
    sets("suspend"),
    Builtin { code: &[CodeWords::EverythingWith(&["-v", "-R"])], ..sets("test") },
    sets("times"),
    evaluates("trap"),
    prints("true"),
    prints("type"),
    declares("typeset"),
    sets("ulimit"),
    sets("umask"),
    sets("unalias"),
    evaluates("unset"),
    Builtin { code: &[CodeWords::EverythingWith(&["-p"])], ..sets("wait") },
];

/// The reserved words of bash.
pub const KEYWORDS: [&str; 22] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select", "in",
    "function", "{", "}", "!", "[[", "]]", "time", "coproc",
];

/// The builtin of this name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.binary_search_by(|builtin| builtin.name.cmp(name)).ok().map(|at| &BUILTINS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "bash is the oracle here")]
    fn every_builtin_and_keyword_of_bash_is_known() {
        let listing = |action: &str| {
            let output = std::process::Command::new("bash").args(["-c", action]).output().unwrap();
            let mut names: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
            names.sort();
            names
        };
        let sorted = |names: &mut Vec<&str>| names.sort_unstable();

        assert_eq!(listing("compgen -b"), BUILTINS.map(|builtin| builtin.name));

        let mut keywords = KEYWORDS.to_vec();
        sorted(&mut keywords);
        assert_eq!(listing("compgen -k"), keywords);
    }

    #[test]
    fn a_builtin_is_found_by_its_name() {
        for one in &BUILTINS {
            assert_eq!(builtin(one.name).map(|found| found.name), Some(one.name));
        }
        assert!(builtin("ls").is_none());
    }
}
