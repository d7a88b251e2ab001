//! Loops that start processes without end.

use chiton_shell::tree::{CommandKind, List, Pipeline, Word};

/// Whether a condition always holds.
pub(crate) fn is_endless(condition: &List, until: bool) -> bool {
    let [item] = condition.items.as_slice() else { return false };
    let [stage] = item.first.stages.as_slice() else { return false };
    let truth = match &stage.kind {
        CommandKind::Simple(simple) => match simple.words.first().and_then(Word::as_plain) {
            Some("true" | ":" | "/bin/true") => true,
            Some("false") => false,
            Some("[" | "test") => simple.words.len() <= 3 && simple.words.get(1).and_then(Word::as_plain) == Some("1"),
            _ => return false,
        },
        CommandKind::Arithmetic(expression) => expression.as_plain().is_some_and(|text| text.trim() == "1"),
        CommandKind::Condition(words) => words.len() == 1,
        _ => return false,
    };
    item.rest.is_empty() && truth != (until != item.first.negated)
}

/// Whether a loop body starts processes in the background and nothing in it waits, pauses or leaves.
pub(crate) fn starts_without_waiting(body: &List) -> bool {
    let mut look = Stages::default();
    look.list(body);
    look.starts && !look.pauses
}

#[derive(Default)]
struct Stages {
    starts: bool,
    pauses: bool,
}

impl Stages {
    fn list(&mut self, list: &List) {
        for item in &list.items {
            self.starts |= item.background;
            self.pipeline(&item.first, item.background);
            for (_, pipeline) in &item.rest {
                self.pipeline(pipeline, item.background);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, background: bool) {
        for stage in &pipeline.stages {
            match &stage.kind {
                CommandKind::Simple(simple) if !background => {
                    let name = simple.words.first().and_then(Word::as_plain).unwrap_or_default();
                    self.pauses |= matches!(
                        name,
                        "sleep" | "wait" | "read" | "break" | "exit" | "return" | "inotifywait" | "usleep" | "fg"
                    );
                }
                CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list),
                CommandKind::If { clauses, otherwise } => {
                    for (condition, body) in clauses {
                        self.list(condition);
                        self.list(body);
                    }
                    if let Some(list) = otherwise {
                        self.list(list);
                    }
                }
                CommandKind::Loop { body, .. } | CommandKind::For { body, .. } => self.list(body),
                CommandKind::Case { arms, .. } => {
                    for arm in arms {
                        self.list(&arm.body);
                    }
                }
                _ => {}
            }
        }
    }
}
