//! Help that fits the terminal: prose flows, and examples keep their lines.
//!
//! In the source, prose stands in lines of its own width. Wrapped a second time for a terminal it would look torn.

use clap::Command;

use crate::table;

/// Wider than this, lines are hard to read.
const WIDEST: usize = 100;
/// How far the meaning of an example stands in, where it has a line of its own.
const INDENT: &str = "      ";

/// The same command line, whose help fits the terminal.
pub(crate) fn fitting(command: Command) -> Command {
    let given = || std::env::var("COLUMNS").ok()?.parse().ok();
    fitting_within(command, table::columns().or_else(given).unwrap_or(WIDEST).min(WIDEST))
}

fn fitting_within(mut command: Command, width: usize) -> Command {
    let text = |help: Option<&clap::builder::StyledStr>| help.map(|help| flowing(&help.to_string(), width));
    if let Some(text) = text(command.get_after_help()) {
        command = command.after_help(text);
    }
    if let Some(text) = text(command.get_after_long_help()) {
        command = command.after_long_help(text);
    }
    let names: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |verb| fitting_within(verb, width)))
}

/// Each paragraph in one line. What stands in is an example or a list, and stays as it is as far as it fits.
fn flowing(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        match lines.last_mut() {
            Some(last) if open && is_prose && !begins(line) => {
                last.push(' ');
                last.push_str(line);
            }
            _ if line.chars().count() > width && !is_prose => lines.extend(split(line)),
            _ => lines.push(line.to_owned()),
        }
        open = is_prose && !line.ends_with(':');
    }
    lines.join("\n")
}

/// Whether a line begins something new: `Status: …`.
fn begins(line: &str) -> bool {
    line.split_once(':')
        .is_some_and(|(word, _)| word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphanumeric))
}

/// An example that is too long, and what it means below it.
fn split(line: &str) -> Vec<String> {
    let start = line.len() - line.trim_start().len();
    match line[start..].split_once("  ") {
        Some((example, meaning)) if !meaning.trim().is_empty() => {
            vec![format!("{}{example}", &line[..start]), format!("{INDENT}{}", meaning.trim())]
        }
        _ => vec![line.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    /// The long help of every verb, with its name.
    fn helps(command: &mut Command, width: usize, found: &mut Vec<(String, String)>) {
        let help = command.clone().term_width(width).render_long_help().to_string();
        found.push((command.get_name().to_owned(), help));
        for verb in command.get_subcommands_mut() {
            helps(verb, width, found);
        }
    }

    #[test]
    fn prose_flows_and_examples_keep_their_lines() {
        let text = "One line\nand its end. More.\n\nStatus: what it is,\nand so on.\nOwner: whose.\nExamples:\n  chiton a   b\n  chiton long-enough   to be split";
        let wanted = "One line and its end. More.\n\nStatus: what it is, and so on.\nOwner: whose.\nExamples:\n  chiton a   b\n  chiton long-enough\n      to be split";
        assert_eq!(flowing(text, 20), wanted);
    }

    #[test]
    fn the_help_of_every_verb_fits_80_columns_and_is_not_torn() {
        let mut found = Vec::new();
        let mut command = fitting_within(Cli::command(), 80);
        command.build();
        helps(&mut command, 80, &mut found);
        assert!(found.len() > 40, "{}", found.len());
        for (verb, help) in found {
            let lines: Vec<&str> = help.lines().collect();
            for (place, line) in lines.iter().enumerate() {
                assert!(line.chars().count() <= 80, "{verb}: {line}");
                // A line that was wrapped is followed by one that begins with a word which did not fit.
                let next = lines.get(place + 1).copied().unwrap_or_default();
                let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
                if is_prose(line) && is_prose(next) && !begins(next) && !line.ends_with(':') {
                    let word = next.split(' ').next().unwrap_or_default();
                    assert!(line.chars().count() + 1 + word.chars().count() > 80, "{verb}: torn after: {line}");
                }
            }
        }
    }
}
