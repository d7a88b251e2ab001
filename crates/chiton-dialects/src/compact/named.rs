//! The program that a command is named after, for people who look at many commands.
//!
//! It is the first one that does something: `cd`, `export`, `mkdir` and their like only make room for it. Programs that run
//! another one are seen through.

use chiton_shell::tree::{Command, CommandKind, List, Word};

use super::program::{is_version_of, known};
use super::rows::{INTERPRETERS, SHELLS, SILENT, WRAPPERS};

/// How deep commands may stand in one another.
const DEEPEST: usize = 8;

/// The name of the first program of a command that does something, without its folder; of the first of all, where none
/// does. None where the parse does not tell it.
pub fn program_of(command: &[u8]) -> Option<String> {
    let mut names = Names { quiet: None };
    names.text(command, 0).or(names.quiet)
}

struct Names {
    /// The first program of those that only make room.
    quiet: Option<String>,
}

impl Names {
    fn text(&mut self, text: &[u8], depth: usize) -> Option<String> {
        let script = chiton_shell::parse(text).ok().filter(|_| depth < DEEPEST)?;
        self.list(&script.list, depth)
    }

    fn list(&mut self, list: &List, depth: usize) -> Option<String> {
        list.items.iter().find_map(|item| {
            let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
            pipelines
                .filter_map(|pipeline| pipeline.stages.first())
                .find_map(|command| self.command(command, depth + 1))
        })
    }

    fn command(&mut self, command: &Command, depth: usize) -> Option<String> {
        if depth >= DEEPEST {
            return None;
        }
        match &command.kind {
            CommandKind::Simple(simple) => self.words(&simple.words, depth),
            CommandKind::Subshell(list) | CommandKind::Group(list) => self.list(list, depth),
            CommandKind::If { clauses, otherwise } => {
                let lists = clauses.iter().flat_map(|(condition, body)| [condition, body]).chain(otherwise);
                lists.into_iter().find_map(|list| self.list(list, depth))
            }
            CommandKind::Loop { condition, body, .. } => self.list(condition, depth).or_else(|| self.list(body, depth)),
            CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => self.list(body, depth),
            CommandKind::Case { arms, .. } => arms.iter().find_map(|arm| self.list(&arm.body, depth)),
            CommandKind::Arithmetic(_)
            | CommandKind::Condition(_)
            | CommandKind::Function { .. }
            | CommandKind::Coprocess { .. } => None,
        }
    }

    fn words(&mut self, words: &[Word], depth: usize) -> Option<String> {
        let texts: Vec<Option<String>> = words.iter().map(known).collect();
        self.call(&texts, depth)
    }

    fn call(&mut self, words: &[Option<String>], depth: usize) -> Option<String> {
        let (name, arguments) = words.split_first()?;
        let path = name.as_deref()?;
        let name = path.rsplit('/').next().unwrap_or(path);
        if SILENT.contains(&name) {
            self.quiet.get_or_insert_with(|| name.to_owned());
            return None;
        }
        if depth >= DEEPEST {
            return None;
        }
        if let Some(runner) = WRAPPERS.iter().find(|runner| runner.names.contains(&name))
            && let Some(rest) = runner.runs(arguments).filter(|rest| !rest.is_empty())
        {
            return self.call(rest, depth + 1).or_else(|| Some(name.to_owned()));
        }
        let after = |option: &str| arguments.iter().position(|word| word.as_deref() == Some(option));
        if SHELLS.contains(&name)
            && let Some(text) = after("-c").and_then(|place| arguments.get(place + 1)?.as_deref())
        {
            return self.text(text.as_bytes(), depth + 1).or_else(|| Some(name.to_owned()));
        }
        if INTERPRETERS.iter().any(|known| is_version_of(name, known))
            && let Some(0 | 1) = after("-m")
            && let Some(Some(module)) = after("-m").and_then(|place| arguments.get(place + 1))
        {
            return Some(module.clone());
        }
        Some(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_after_what_does_the_work() {
        for (command, name) in [
            ("cargo build", Some("cargo")),
            ("cd /src && RUSTFLAGS=x nice -n 5 cargo test 2>&1 | tail -5", Some("cargo")),
            ("timeout -k 5 60 ./node_modules/.bin/jest", Some("jest")),
            ("sudo -u ada env A=b apt-get install -y tree", Some("apt-get")),
            ("python3 -m pytest -v", Some("pytest")),
            ("python3 manage.py migrate", Some("python3")),
            ("bash -c 'cd x; make -j2'", Some("make")),
            ("npx tsc -p .", Some("tsc")),
            ("for f in *; do gcc -c $f; done", Some("gcc")),
            ("(mkdir out; tar xf a.tar)", Some("tar")),
            ("if grep -q x y; then ls; fi", Some("grep")),
            ("echo hello", Some("echo")),
            ("cd /", Some("cd")),
            ("$COMMAND x", None),
            ("x=1", None),
            ("echo 'open", None),
        ] {
            assert_eq!(program_of(command.as_bytes()).as_deref(), name, "{command}");
        }
    }
}
