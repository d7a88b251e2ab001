//! `chiton completions SHELL`: the file that a shell loads to complete our command line.
//!
//! The file holds no options: it asks the program, which also knows the ids of tasks. So it never grows old.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::messages::put;

/// Print the file that lets a shell complete options and task ids
#[derive(Args)]
#[command(after_help = "\
Where each shell looks for it:
  chiton completions bash > ~/.local/share/bash-completion/completions/chiton
  chiton completions zsh > ~/.zfunc/_chiton         with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  chiton completions fish > ~/.config/fish/completions/chiton.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: CompletedShell,
}

#[derive(Clone, Copy, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

impl CompletedShell {
    fn file(self) -> &'static str {
        match self {
            Self::Bash => "source <(COMPLETE=bash chiton)\n",
            // zsh loads this file as the body of the function `_chiton` when it is needed first, and completes with it at
            // once. Sourced in a start file, there is nothing to complete yet.
            Self::Zsh => {
                "#compdef chiton\nsource <(COMPLETE=zsh chiton)\n\
                 [[ $funcstack[1] != _chiton ]] || _clap_dynamic_completer_chiton \"$@\"\n"
            }
            Self::Fish => "COMPLETE=fish chiton | source\n",
        }
    }
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> ExitCode {
    put(format_args!("{}", arguments.shell.file()));
    ExitCode::SUCCESS
}
