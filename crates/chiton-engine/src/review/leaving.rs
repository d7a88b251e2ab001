//! Commands that begin by going to another directory.

use std::path::PathBuf;

use chiton_shell::tree::{CommandKind, Item, Part, Word};

/// The directory that `command` goes to before anything else, where its text says that: `cd /work && make`.
pub(crate) fn leaves_for(command: &[u8]) -> Option<PathBuf> {
    let script = chiton_shell::parse(command).ok()?;
    let Item { first, background, .. } = script.list.items.first()?;
    let [command] = &first.stages[..] else { return None };
    let CommandKind::Simple(simple) = &command.kind else { return None };
    let words: Vec<String> = simple.words.iter().map(literal).collect::<Option<_>>()?;
    let directory = match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["cd", directory] | ["cd", "--", directory] => PathBuf::from(directory),
        _ => return None,
    };
    (directory.is_absolute() && !background && simple.assignments.is_empty()).then_some(directory)
}

/// A word that stands for itself, quoted or not.
fn literal(word: &Word) -> Option<String> {
    let mut text = String::new();
    for part in &word.parts {
        match part {
            Part::Literal(own) | Part::Quoted(own) => text.push_str(own),
            _ => return None,
        }
    }
    Some(text)
}
