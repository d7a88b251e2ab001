//! The command line of Chiton. One file per verb; this one only finds the verb and turns errors into exit codes.

mod run;
mod setting;
mod status_line;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The shell that AI agents use: nothing hangs, nothing is orphaned, nothing is lost.
#[derive(Parser)]
#[command(name = "chiton", version, about, disable_help_subcommand = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(run::RunArguments),
}

/// Our own failure, as `timeout` and `env` have it: nothing of the command ran.
const OWN_FAILURE: u8 = 125;

fn main() -> ExitCode {
    chiton_engine::serve_if_asked();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(OWN_FAILURE) } else { ExitCode::SUCCESS };
        }
    };
    let done = match cli.verb {
        Verb::Run(arguments) => run::run(arguments),
    };
    done.unwrap_or_else(|error| {
        terminal::complain(&format!("{error:#}"));
        ExitCode::from(OWN_FAILURE)
    })
}
