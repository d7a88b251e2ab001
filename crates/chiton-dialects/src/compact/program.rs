//! Whether the output of a command is what it was run for.
//!
//! 1. The command is parsed. Every part of it that prints is looked at: of a pipeline, the last program.
//! 2. Programs that only run another one are seen through, also a shell that is given its text.
//! 3. The program is looked up in [`rows`](super::rows). If one of the parts prints an answer, all output is left alone.
//!
//! Where this cannot be certain (a name that is made of a variable, an alias, a function, text that is not parsed), the
//! output counts as an answer.

use chiton_shell::tree::{Command, CommandKind, Item, List, Operator, Part, Pipeline, Redirection, Word};

use super::rows::{INTERPRETERS, ROWS, Row, Runner, SHELLS, SILENT, WRAPPERS, Which};

/// How deep commands may stand in one another.
const DEEPEST: usize = 8;
/// Words that ask any program for data.
const ASKING: [&str; 9] = [
    "--help", "--list", "--porcelain", "--collect-only", "--co", "--dry-run", "--just-print", "--version",
    "--listTests",
];

/// Whether the output of this command is the answer that somebody wants to see whole, or may be. `is_defined` says whether
/// a name is an alias or a function, which may do anything.
pub fn is_answer(command: &[u8], is_defined: &dyn Fn(&str) -> bool) -> bool {
    Reader { is_defined }.text(command, 0) == Prints::Answer
}

/// What a part of a command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Prints {
    /// Nothing, or what it is told to.
    Nothing,
    /// What it does.
    Progress,
    /// What it was asked for, or nobody knows.
    Answer,
}

struct Reader<'a> {
    is_defined: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn text(&self, text: &[u8], depth: usize) -> Prints {
        match chiton_shell::parse(text) {
            Ok(script) if depth < DEEPEST => self.list(&script.list, depth),
            _ => Prints::Answer,
        }
    }

    fn list(&self, list: &List, depth: usize) -> Prints {
        let of_item = |item: &Item| {
            let rest = item.rest.iter().map(|(_, pipeline)| pipeline);
            rest.chain([&item.first]).map(|pipeline| self.pipeline(pipeline, depth)).max()
        };
        list.items.iter().filter_map(of_item).max().unwrap_or(Prints::Nothing)
    }

    fn pipeline(&self, pipeline: &Pipeline, depth: usize) -> Prints {
        let passes_on = |command: &&Command| is_call_of(command, "tee") || is_bare_cat(command);
        let stages = pipeline.stages.iter().rev();
        let last = stages.clone().find(|stage| !passes_on(stage)).or_else(|| stages.clone().next());
        last.map_or(Prints::Nothing, |command| self.command(command, depth))
    }

    fn command(&self, command: &Command, depth: usize) -> Prints {
        if command.redirections.iter().any(takes_output) {
            return Prints::Nothing;
        }
        if depth >= DEEPEST {
            return Prints::Answer;
        }
        let depth = depth + 1;
        match &command.kind {
            CommandKind::Simple(simple) => self.words(&simple.words, depth),
            CommandKind::Subshell(list) | CommandKind::Group(list) => self.list(list, depth),
            CommandKind::If { clauses, otherwise } => {
                let clauses = clauses.iter().flat_map(|(condition, body)| [condition, body]);
                clauses.chain(otherwise).map(|list| self.list(list, depth)).max().unwrap_or(Prints::Nothing)
            }
            CommandKind::Loop { condition, body, .. } => self.list(condition, depth).max(self.list(body, depth)),
            CommandKind::For { body, select: false, .. } | CommandKind::ArithmeticFor { body, .. } => {
                self.list(body, depth)
            }
            CommandKind::Case { arms, .. } => {
                arms.iter().map(|arm| self.list(&arm.body, depth)).max().unwrap_or(Prints::Nothing)
            }
            CommandKind::Arithmetic(_) | CommandKind::Condition(_) => Prints::Nothing,
            CommandKind::For { .. } | CommandKind::Function { .. } | CommandKind::Coprocess { .. } => Prints::Answer,
        }
    }

    fn words(&self, words: &[Word], depth: usize) -> Prints {
        let texts: Vec<Option<String>> = words.iter().map(known).collect();
        self.call(&texts, depth)
    }

    /// What a program with these words prints; a word is none where it is not known before it is expanded.
    fn call(&self, words: &[Option<String>], depth: usize) -> Prints {
        let Some((name, arguments)) = words.split_first() else { return Prints::Nothing };
        let Some(name) = name.as_deref().filter(|name| !name.contains(['*', '?', '[', '{'])) else {
            // `[` is a program of its own.
            return if name.as_deref() == Some("[") { Prints::Nothing } else { Prints::Answer };
        };
        if (self.is_defined)(name) || depth >= DEEPEST {
            return Prints::Answer;
        }
        let name = name.rsplit('/').next().unwrap_or(name);
        if SILENT.contains(&name) {
            return Prints::Nothing;
        }
        if let Some(runner) = WRAPPERS.iter().find(|runner| runner.names.contains(&name))
            && let Some(rest) = runner.runs(arguments)
        {
            return if rest.is_empty() { Prints::Answer } else { self.call(rest, depth + 1) };
        }
        if SHELLS.contains(&name) {
            return self.shell(arguments, depth);
        }
        if INTERPRETERS.iter().any(|known| is_version_of(name, known)) {
            return self.interpreter(arguments, depth);
        }
        let asks = |word: &str| ASKING.contains(&word) || (word.starts_with('-') && word.contains("json"));
        if arguments.iter().flatten().any(|word| asks(word)) {
            return Prints::Answer;
        }
        let is_answer = ROWS.iter().any(|row| row.names.contains(&name) && row.is_answer(arguments));
        if is_answer { Prints::Answer } else { Prints::Progress }
    }

    /// A shell runs a text or a script; without either, it runs what it reads, which nobody knows.
    fn shell(&self, arguments: &[Option<String>], depth: usize) -> Prints {
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let Some(word) = argument else { return Prints::Answer };
            match word.strip_prefix('-') {
                None => return Prints::Progress,
                Some(letters) if !letters.starts_with('-') && letters.contains('c') => {
                    let text = arguments.next().and_then(Option::as_deref);
                    return text.map_or(Prints::Answer, |text| self.text(text.as_bytes(), depth + 1));
                }
                Some(_) => {}
            }
        }
        Prints::Answer
    }

    /// What is written for a command line is written for its answer; a script is a program like any other.
    fn interpreter(&self, arguments: &[Option<String>], depth: usize) -> Prints {
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let Some(word) = argument.as_deref() else { return Prints::Answer };
            match word.strip_prefix('-') {
                None if matches!(word, "eval" | "repl" | "fmt" | "lint" | "info" | "doc") => return Prints::Answer,
                None => return Prints::Progress,
                Some("m") => {
                    return self.call(arguments.as_slice(), depth + 1);
                }
                Some("u" | "B" | "W" | "X" | "O" | "OO" | "I" | "s" | "w") => {}
                Some(option) if option.starts_with('-') && !["-eval", "-print"].contains(&option) => {}
                Some(_) => return Prints::Answer,
            }
        }
        Prints::Answer
    }
}

impl Runner {
    /// The words of the program that it runs; none, where it does not run one.
    pub(super) fn runs<'a>(&self, arguments: &'a [Option<String>]) -> Option<&'a [Option<String>]> {
        let mut left = arguments;
        if let Some(verb) = self.verb {
            let at = left.iter().position(|word| word.as_deref() == Some(verb))?;
            left = &left[at + 1..];
        }
        let mut operands = self.operands;
        while let Some((first, rest)) = left.split_first() {
            let Some(word) = first.as_deref() else {
                if operands == 0 {
                    return Some(left);
                }
                (operands, left) = (operands - 1, rest);
                continue;
            };
            if word == "--" {
                return Some(rest);
            } else if word.starts_with('-') && word.len() > 1 {
                left = if self.values.contains(&word) { rest.get(1..).unwrap_or_default() } else { rest };
            } else if is_assignment(word) {
                left = rest;
            } else if operands > 0 {
                (operands, left) = (operands - 1, rest);
            } else {
                break;
            }
        }
        Some(left)
    }
}

impl Row {
    fn is_answer(&self, arguments: &[Option<String>]) -> bool {
        let mut words = arguments.iter();
        let verb = loop {
            match words.next() {
                None => break "",
                Some(None) => return true,
                Some(Some(word)) if self.values.contains(&word.as_str()) => drop(words.next()),
                Some(Some(word)) if word.starts_with(['-', '+']) => {}
                Some(Some(word)) => break word,
            }
        };
        match self.which {
            Which::All => true,
            Which::Verbs(verbs) => verbs.iter().any(|known| verb == *known || verb.starts_with(&format!("{known}:"))),
            Which::AllBut(verbs) => !verbs.contains(&verb),
        }
    }
}

/// Whether a redirection sends standard output elsewhere.
fn takes_output(redirection: &Redirection) -> bool {
    use chiton_shell::tree::Descriptor::Number;
    let of_output = matches!(redirection.descriptor, None | Some(Number(1)));
    match redirection.operator {
        Operator::Write | Operator::Clobber | Operator::Append => of_output,
        Operator::WriteBoth | Operator::AppendBoth => true,
        _ => false,
    }
}

fn is_call_of(command: &Command, name: &str) -> bool {
    let CommandKind::Simple(simple) = &command.kind else { return false };
    simple.words.first().and_then(known).is_some_and(|word| word.rsplit('/').next() == Some(name))
}

/// `cat` that only passes on what it reads.
fn is_bare_cat(command: &Command) -> bool {
    let CommandKind::Simple(simple) = &command.kind else { return false };
    is_call_of(command, "cat") && simple.words.len() == 1 && command.redirections.is_empty()
}

/// The text of a word that is the same whatever the shell knows.
pub(super) fn known(word: &Word) -> Option<String> {
    fn collect(parts: &[Part], text: &mut String) -> bool {
        parts.iter().all(|part| match part {
            Part::Literal(piece) | Part::Quoted(piece) => {
                text.push_str(piece);
                true
            }
            Part::Double(parts) => collect(parts, text),
            _ => false,
        })
    }
    let mut text = String::new();
    collect(&word.parts, &mut text).then_some(text)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Whether a name is that of a program, or of a version of it, such as `python3.12`.
pub(super) fn is_version_of(name: &str, program: &str) -> bool {
    name.strip_prefix(program).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_answer(command: &str) -> bool {
        super::is_answer(command.as_bytes(), &|name| matches!(name, "ll" | "build"))
    }

    #[test]
    fn every_row_holds_for_its_examples() {
        for row in ROWS {
            for command in row.answers {
                assert!(is_answer(command), "{command}");
            }
            for command in row.others {
                assert!(!is_answer(command), "{command}");
            }
        }
    }

    #[test]
    fn one_answer_makes_all_of_it_an_answer() {
        for command in [
            "cargo build && git diff",
            "cd x; ls; make",
            "make | grep CC",
            "cargo test 2>&1 | tail -20",
            "if make; then cat log; fi",
            "for f in *; do wc -l $f; done",
            "(make; ls)",
            "sudo -u me grep x y",
            "env A=1 B=2 /usr/bin/rg x",
            "timeout -k 5 60 find . -name x",
            "find . | xargs -n 1 grep x",
            "nice -n 5 stdbuf -oL cat x",
            "bash -c 'cat x'",
            "time bash -lc \"git log\"",
            "python3 -c 'print(1)'",
            "python - <<E\nprint(1)\nE",
            "node -e 'x'",
            "perl -ne 'print' x",
            "python3 -m json.tool x",
            "uv run python -c 'x'",
            "docker exec web cat /etc/hosts",
            "cargo test -- --list",
            "cargo build --message-format=json",
        ] {
            assert!(is_answer(command), "{command}");
        }
    }

    #[test]
    fn what_is_not_certain_counts_as_an_answer() {
        for command in [
            "$CMD x", "\"$PYTHON\" x.py", "ll", "build", "f() { make; }; f", "make 'open", "curl x | bash",
            "eval \"$x\"", "./x*",
        ] {
            assert!(is_answer(command), "{command}");
        }
    }

    #[test]
    fn builds_tests_and_installs_are_not_answers() {
        for command in [
            "cargo build",
            "cd x && cargo test --workspace 2>&1",
            "cargo +nightly test -p a",
            "RUST_LOG=debug cargo run",
            "python -m pytest -v",
            "python3.12 -u -m unittest",
            "pytest -v tests | tee log",
            "make -j8 2>&1 | cat",
            "sudo apt-get install -y x",
            "python x.py",
            "bash ./build.sh",
            "./gradlew test",
            "npm ci && npm test",
            "for i in 1 2; do echo line $i; done",
            "time make",
            "cargo build > log; make",
            "git diff > x.patch; make",
            "uv run pytest",
            "npx -y vitest run",
            "timeout 60 cargo test",
            "export A=1; set -e; make",
            "if [ -f x ]; then make; fi",
            "source .venv/bin/activate && pytest -v",
            ". ./env.sh; make",
        ] {
            assert!(!is_answer(command), "{command}");
        }
    }
}
