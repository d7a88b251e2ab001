//! The command line of Chiton. One file per verb; this one only finds the verb and turns errors into exit codes.

mod call;
mod check;
mod clean;
mod dialects;
mod kill;
mod logs;
mod mcp;
mod operate;
mod ps;
mod run;
mod send;
mod setting;
mod status_line;
mod table;
mod terminal;
mod wait;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::engine::CompletionCandidate;

/// The shell that AI agents use: nothing hangs, nothing is orphaned, nothing is lost.
#[derive(Parser)]
#[command(
    name = "chiton",
    version,
    about,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = "Completion of options and task ids: add `source <(COMPLETE=bash chiton)` to ~/.bashrc (or zsh, fish)."
)]
struct Cli {
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help = "Where runs and sessions are kept [default: $XDG_STATE_HOME/chiton]"
    )]
    state_dir: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(run::RunArguments),
    Ps(ps::PsArguments),
    Logs(logs::LogsArguments),
    Wait(wait::WaitArguments),
    Send(send::SendArguments),
    Kill(kill::KillArguments),
    Clean(clean::CleanArguments),
    Check(check::CheckArguments),
    Mcp(mcp::McpArguments),
    Call(call::CallArguments),
    Dialects(dialects::DialectsArguments),
    Schema(dialects::SchemaArguments),
}

/// Our own failure, as `timeout` and `env` have it: nothing of the command ran.
const OWN_FAILURE: u8 = 125;

fn main() -> ExitCode {
    chiton_engine::serve_if_asked();
    clap_complete::CompleteEnv::with_factory(Cli::command).complete();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(OWN_FAILURE) } else { ExitCode::SUCCESS };
        }
    };
    dispatch(cli).unwrap_or_else(|error| {
        terminal::complain(&format!("{error:#}"));
        ExitCode::from(OWN_FAILURE)
    })
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    // Needs no state, and has to work where there is no place for one.
    if let Verb::Check(arguments) = &cli.verb {
        return check::check(arguments);
    }
    let state = match &cli.state_dir {
        Some(path) => std::path::absolute(path)?,
        None => setting::state_directory()?,
    };
    match cli.verb {
        Verb::Run(arguments) => run::run(arguments, &state),
        Verb::Ps(arguments) => ps::ps(&arguments, &state),
        Verb::Logs(arguments) => on_runtime(logs::logs(arguments, &state)),
        Verb::Wait(arguments) => on_runtime(wait::wait(arguments, &state)),
        Verb::Send(arguments) => on_runtime(send::send(arguments, &state)),
        Verb::Kill(arguments) => on_runtime(kill::kill(arguments, &state)),
        Verb::Clean(arguments) => clean::clean(&arguments, &state),
        Verb::Check(arguments) => check::check(&arguments),
        Verb::Mcp(arguments) => mcp::mcp(&arguments, &state),
        Verb::Call(arguments) => call::call(&arguments, &state),
        Verb::Dialects(_) => dialects::dialects(),
        Verb::Schema(arguments) => dialects::print_schema(&arguments),
    }
}

fn on_runtime(verb: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(verb)
}

/// Ids for the completion of the command line.
fn known_ids() -> Vec<CompletionCandidate> {
    let Ok(state) = setting::state_directory() else { return Vec::new() };
    let (tasks, _) = chiton_engine::Tasks::new(&state).list().unwrap_or_default();
    tasks.into_iter().map(|task| CompletionCandidate::new(task.id).help(Some(task.command.into()))).collect()
}
