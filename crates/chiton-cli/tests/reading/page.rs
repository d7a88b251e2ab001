//! A page, taken apart into what is typed and what comes back.
//!
//! - In a block of the language `console`, a line that begins with `$ ` is typed; what follows, up to the next one, is all
//!   that comes back, on both streams. A line that begins with `> ` continues the one before.
//! - All of a page is typed into one bash, in an empty folder `~/project` of a home of its own.
//! - `<!-- setup: COMMANDS -->` is typed as well, and not shown to readers; it has to succeed. It may have several lines.
//! - `console,ignore` is not run. The line above says why: `<!-- not run: REASON -->`.

use std::fs;
use std::path::Path;

/// One thing to do, in the order of the page.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Commands that readers do not see.
    Setup { line: usize, commands: String },
    /// A command, and what the page says it prints.
    Command { line: usize, command: String, shown: String },
}

pub struct Page {
    pub name: String,
    pub steps: Vec<Step>,
}

impl Page {
    pub fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_string_lossy().to_lowercase();
        let steps = steps(&fs::read_to_string(path).unwrap()).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        Self { name, steps }
    }

    /// Whether a command of the page has this flag.
    pub fn uses(&self, flag: &str) -> bool {
        let has = |step: &Step| match step {
            Step::Setup { commands, .. } => commands.contains(flag),
            Step::Command { command, .. } => command.contains(flag),
        };
        self.steps.iter().any(has)
    }

    /// Everything that is typed.
    pub fn typed(&self) -> String {
        let commands = self.steps.iter().filter_map(|step| match step {
            Step::Command { command, .. } => Some(command.as_str()),
            Step::Setup { .. } => None,
        });
        commands.collect::<Vec<_>>().join("\n")
    }
}

/// Where in a page a line is.
enum Place {
    Text,
    Setup { line: usize, commands: String },
    Console,
    OtherBlock,
}

fn steps(text: &str) -> Result<Vec<Step>, String> {
    let (mut steps, mut place, mut before) = (Vec::new(), Place::Text, "");
    for (number, line) in (1..).zip(text.lines()) {
        place = match place {
            Place::Text => outside(number, line, before, &mut steps)?,
            Place::Setup { line: first, commands } => setup(first, commands + line, &mut steps),
            Place::Console if line == "```" => Place::Text,
            Place::Console => {
                console(number, line, &mut steps)?;
                Place::Console
            }
            Place::OtherBlock if line.trim_start().starts_with("```") => Place::Text,
            Place::OtherBlock => Place::OtherBlock,
        };
        before = line;
    }
    Ok(steps)
}

fn outside(number: usize, line: &str, before: &str, steps: &mut Vec<Step>) -> Result<Place, String> {
    if let Some(commands) = line.strip_prefix("<!-- setup:") {
        return Ok(setup(number, commands.to_owned(), steps));
    }
    match line.trim_start().strip_prefix("```") {
        None => Ok(Place::Text),
        Some("console") => Ok(Place::Console),
        Some("console,ignore") if !before.starts_with("<!-- not run: ") => {
            Err(format!("line {number}: the line above says why it is not run: <!-- not run: REASON -->"))
        }
        Some(_) => Ok(Place::OtherBlock),
    }
}

/// Takes one more line of a comment; the last one ends in `-->`.
fn setup(line: usize, commands: String, steps: &mut Vec<Step>) -> Place {
    let Some(all) = commands.strip_suffix("-->") else { return Place::Setup { line, commands: commands + "\n" } };
    steps.push(Step::Setup { line, commands: all.trim().to_owned() });
    Place::Text
}

fn console(number: usize, line: &str, steps: &mut Vec<Step>) -> Result<(), String> {
    if let Some(typed) = line.strip_prefix("$ ") {
        steps.push(Step::Command { line: number, command: typed.to_owned(), shown: String::new() });
        return Ok(());
    }
    let Some(Step::Command { command, shown, .. }) = steps.last_mut() else {
        return Err(format!("line {number}: a block begins with what is typed, after `$ `"));
    };
    match line.strip_prefix("> ").filter(|_| shown.is_empty()) {
        Some(typed) => *command = format!("{command}\n{typed}"),
        None => *shown = format!("{shown}{line}\n"),
    }
    Ok(())
}

pub fn is_taken_apart() {
    let text = "<!-- setup: a\nb -->\n```sh\n$ no\n```\n```console\n$ one\nout\n\n$ two <<X\n> in\n> X\n```\n";
    let expected = [
        Step::Setup { line: 1, commands: "a\nb".to_owned() },
        Step::Command { line: 7, command: "one".to_owned(), shown: "out\n\n".to_owned() },
        Step::Command { line: 10, command: "two <<X\nin\nX".to_owned(), shown: String::new() },
    ];
    assert_eq!(steps(text).unwrap(), expected);

    assert!(steps("```console,ignore\n$ x\n```\n").is_err(), "no reason is given");
    assert!(steps("<!-- not run: it needs root -->\n```console,ignore\n$ x\n```\n").unwrap().is_empty());
    assert!(steps("```console\nout\n```\n").is_err(), "nothing was typed");
}
