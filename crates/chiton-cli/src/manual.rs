//! `chiton man`: the manual pages, made of the same definitions as `--help`. Packages carry them; nobody has to know the verb.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;

/// Print a manual page, or the names of all of them
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct ManArguments {
    /// The page, like `chiton-run`; without it, the names of all pages
    page: Option<String>,
}

pub(crate) fn man(arguments: &ManArguments, command: Command) -> Result<ExitCode> {
    let pages = pages(command);
    let mut stdout = io::stdout().lock();
    let Some(wanted) = &arguments.page else {
        for (name, _) in pages {
            writeln!(stdout, "{name}")?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let (_, command) = pages
        .into_iter()
        .find(|(name, _)| name == wanted)
        .with_context(|| format!("there is no manual page '{wanted}'; `chiton man` lists them"))?;
    write(command, &mut stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// Every verb that `--help` shows, and the verbs of those, each with the name of its page.
fn pages(command: Command) -> Vec<(String, Command)> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, &mut pages);
    pages
}

fn collect(command: &Command, pages: &mut Vec<(String, Command)>) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    pages.push((name.to_owned(), command.clone()));
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        collect(verb, pages);
    }
}

fn write(command: Command, page: &mut impl Write) -> io::Result<()> {
    let (has_options, has_verbs) = (command.get_arguments().count() > 0, command.has_subcommands());
    let examples = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let version = concat!("chiton ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command).source(version).manual("Chiton");

    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    if has_options {
        man.render_options_section(page)?;
    }
    if has_verbs {
        man.render_subcommands_section(page)?;
    }
    // Examples are laid out in columns, which `Man` would fill into paragraphs.
    if let Some(text) = examples {
        write!(page, ".SH NOTES\n.nf\n{}.fi\n", as_roff(&text))?;
    }
    Ok(())
}

/// Lines of text as they are, with what roff would take for its own escaped.
fn as_roff(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        let begins_request = line.starts_with(['.', '\'']);
        format!("{}{line}\n", if begins_request { "\\&" } else { "" })
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::as_roff;

    #[test]
    fn no_line_of_an_example_is_a_request() {
        assert_eq!(as_roff(".profile\n'x'\na -b \\n"), "\\&.profile\n\\&'x'\na \\-b \\en\n");
    }
}
