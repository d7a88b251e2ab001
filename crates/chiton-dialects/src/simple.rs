//! The simple commands of a command line, for surfaces that treat some programs in their own way.

use chiton_engine::shell;
use chiton_engine::shell::tree::{CommandKind, Item, List, Pipeline};

/// The words of the command that runs first, as far as they are plain text.
pub(crate) fn first_command(source: &str) -> Option<Vec<String>> {
    let script = shell::parse(source.as_bytes()).ok()?;
    let item = script.list.items.first().filter(|item| !item.background)?;
    words(&item.first.stages.first()?.kind)
}

/// The words of the command whose code is that of the whole, as far as they are plain text.
pub(crate) fn last_command(source: &str) -> Option<Vec<String>> {
    let script = shell::parse(source.as_bytes()).ok()?;
    last_of(&script.list)
}

fn last_of(list: &List) -> Option<Vec<String>> {
    let item: &Item = list.items.last().filter(|item| !item.background)?;
    let pipeline: &Pipeline = item.rest.last().map_or(&item.first, |(_, pipeline)| pipeline);
    words(&pipeline.stages.last()?.kind)
}

fn words(kind: &CommandKind) -> Option<Vec<String>> {
    match kind {
        CommandKind::Simple(simple) => {
            let words: Vec<String> = simple.words.iter().map_while(|word| word.as_plain().map(str::to_owned)).collect();
            Some(words).filter(|words| !words.is_empty())
        }
        CommandKind::Subshell(list) | CommandKind::Group(list) => last_of(list),
        CommandKind::Condition(_) => Some(vec!["[[".to_owned()]),
        _ => None,
    }
}
