//! The command line of Chiton. One file per verb; this one only finds the verb and turns errors into exit codes.

mod attach;
mod audit;
mod audit_settings;
mod call;
mod changes;
mod check;
mod clean;
mod company;
mod completions;
mod consent;
mod dialects;
mod diff;
mod doctor;
mod duration;
mod env;
mod export;
mod guard_arguments;
mod handshake;
mod help;
mod kill;
mod logs;
mod manual;
mod mcp;
mod messages;
mod near;
mod on_arguments;
mod passphrase;
mod person;
mod preview;
mod protection_arguments;
mod ps;
mod reach;
mod release;
mod run;
mod runtime;
mod sandbox;
mod sandbox_settings;
mod secret;
mod secret_sources;
mod send;
mod session;
mod session_arguments;
mod settings;
mod setup;
mod shown;
mod status_line;
mod surroundings;
mod table;
mod top;
mod ui;
mod undo;
mod wait;
mod window;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::engine::CompletionCandidate;

use settings::Settings;

/// The shell that AI agents use: nothing hangs, nothing is orphaned, nothing is lost.
#[derive(Parser)]
#[command(
    name = "chiton",
    version,
    about,
    arg_required_else_help = true,
    after_help = "Completion of options and task ids: add `source <(chiton completions bash)` to ~/.bashrc (or zsh, fish)."
)]
struct Cli {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(subcommand)]
    verb: Verb,
}

/// What is said beside the verb.
#[derive(Args)]
struct Everywhere {
    #[arg(
        long,
        global = true,
        help_heading = "Everywhere",
        value_name = "DIR",
        help = "Where runs and sessions are kept [default: $XDG_STATE_HOME/chiton]"
    )]
    state_dir: Option<PathBuf>,
    #[arg(
        long,
        global = true,
        help_heading = "Everywhere",
        value_name = "FILE",
        help = "The settings file [default: $XDG_CONFIG_HOME/chiton/config.toml]"
    )]
    config: Option<PathBuf>,
    /// Started by a host for somebody on another machine, with this state directory: what the other options say of places is
    /// about that machine.
    #[arg(long, value_name = "DIR", hide = true)]
    far: Option<PathBuf>,
}

/// The same with the verbs that agents start, again and again. To describe all the others takes longer than what is left
/// to do before a command starts.
#[derive(Parser)]
#[command(name = "chiton", version)]
struct Quick {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(subcommand)]
    verb: QuickVerb,
}

#[derive(Subcommand)]
enum QuickVerb {
    Run(run::RunArguments),
    Mcp(mcp::McpArguments),
}

impl From<Quick> for Cli {
    fn from(Quick { everywhere, verb }: Quick) -> Self {
        let verb = match verb {
            QuickVerb::Run(arguments) => Verb::Run(arguments),
            QuickVerb::Mcp(arguments) => Verb::Mcp(arguments),
        };
        Self { everywhere, verb }
    }
}

#[derive(Subcommand)]
enum Verb {
    Run(run::RunArguments),
    Ps(ps::PsArguments),
    Top(top::TopArguments),
    Logs(logs::LogsArguments),
    Wait(wait::WaitArguments),
    Send(send::SendArguments),
    Attach(attach::AttachArguments),
    Ui(ui::UiArguments),
    Export(export::ExportArguments),
    Shot(export::ShotArguments),
    Preview(preview::PreviewArguments),
    Release(release::ReleaseArguments),
    Kill(kill::KillArguments),
    Clean(clean::CleanArguments),
    Changes(changes::ChangesArguments),
    Undo(undo::UndoArguments),
    Session(session::SessionVerbArguments),
    Check(check::CheckArguments),
    Mcp(mcp::McpArguments),
    Call(call::CallArguments),
    Setup(setup::SetupArguments),
    Sandbox(sandbox::SandboxVerbArguments),
    Doctor(doctor::DoctorArguments),
    Secret(secret::SecretArguments),
    Env(env::EnvArguments),
    Audit(audit::AuditArguments),
    Dialects(dialects::DialectsArguments),
    Schema(dialects::SchemaArguments),
    Completions(completions::CompletionsArguments),
    Man(manual::ManArguments),
    Target(reach::target::TargetArguments),
    Host(reach::host::HostArguments),
    #[command(hide = true)]
    Relay(reach::relay::RelayArguments),
    #[command(hide = true)]
    TakeTerminal(reach::terminal::TakeTerminalArguments),
}

/// Our own failure, as `timeout` and `env` have it: nothing of the command ran.
const OWN_FAILURE: u8 = 125;

fn main() -> ExitCode {
    chiton_engine::machine::look_up_names_without_plugins();
    chiton_engine::serve_if_asked();
    clap_complete::CompleteEnv::with_factory(Cli::command).complete();
    let cli = match parsed() {
        Ok(cli) => cli,
        Err(error) => {
            let error = with_near_verb(error);
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(OWN_FAILURE) } else { ExitCode::SUCCESS };
        }
    };
    dispatch(cli).unwrap_or_else(|error| {
        if messages::is_pipe_closed(&error) {
            return ExitCode::from(messages::PIPE_CLOSED);
        }
        messages::complain(&format!("{error:#}"));
        ExitCode::from(OWN_FAILURE)
    })
}

/// What was asked for. Help is made to fit only where somebody wants it.
fn parsed() -> Result<Cli, clap::Error> {
    let wants_help = |word: std::ffi::OsString| word == "-h" || word == "--help" || word == "help";
    if std::env::args_os().len() > 1 && !std::env::args_os().any(wants_help) {
        // What it does not take is left to the whole, which knows what to say about it.
        let quick = std::env::args_os().any(|word| word == "run" || word == "mcp").then(Quick::try_parse);
        return quick.and_then(Result::ok).map_or_else(Cli::try_parse, |quick| Ok(quick.into()));
    }
    Cli::from_arg_matches(&help::fitting(Cli::command()).try_get_matches()?)
}

/// Names the verb that was meant. Ours is `chiton run`, however `rnu` was typed; of `update` there is nothing like it.
fn with_near_verb(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand).cloned() else { return error };
    error.remove(ContextKind::SuggestedSubcommand);
    let command = Cli::command();
    // One slip in a short word, two in a longer one; letters that changed places are one.
    let slips = if typed.len() <= 3 { 1 } else { 2 };
    let distance = |verb: &str| strsim::damerau_levenshtein(verb, &typed);
    let near = command.get_subcommands().map(clap::Command::get_name).filter(|verb| distance(verb) <= slips);
    if let Some(verb) = near.min_by_key(|verb| distance(verb)) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb.to_owned()]));
    }
    error
}

fn dispatch(Cli { everywhere, verb }: Cli) -> Result<ExitCode> {
    let Everywhere { state_dir, config, far } = everywhere;
    let config = config.as_deref().filter(|_| far.is_none());
    let settings = Settings::load(config, sandbox::check)?;
    let given = far.as_ref().or(state_dir.as_ref()).or(settings.state_dir.as_ref());
    let given = given.map(std::path::absolute).transpose()?;
    let state = given.clone().map_or_else(surroundings::state_directory, Ok);
    if far.is_none()
        && let Some(there) = reach::wanted(&verb, &settings, &state)?
    {
        return reach::go(&there, &verb, &settings, &state?);
    }
    match verb {
        // These have something to say even without a state directory.
        Verb::Check(arguments) => check::check(&arguments, &settings, state),
        Verb::Setup(arguments) => setup::setup(&arguments, &settings, given.as_deref()),
        Verb::Doctor(arguments) => doctor::doctor(&arguments, &state, &settings),
        Verb::Run(arguments) => run::run(&arguments, &settings, &state?),
        Verb::Ps(arguments) => ps::ps(&arguments, &state?),
        Verb::Top(_) => on_runtime(top::top(&settings, &state?)),
        Verb::Logs(arguments) => on_runtime(logs::logs(arguments, &state?)),
        Verb::Wait(arguments) => on_runtime(wait::wait(arguments, &state?)),
        Verb::Send(arguments) => on_runtime(send::send(arguments, &settings, &state?)),
        Verb::Attach(arguments) => on_runtime(attach::attach(arguments, &settings, &state?)),
        Verb::Ui(arguments) => ui::ui(&arguments, &settings, &state?),
        Verb::Export(arguments) => export::export(&arguments, &state?),
        Verb::Shot(arguments) => on_runtime(export::shot(arguments, &state?)),
        Verb::Preview(arguments) => preview::preview(&arguments, &state?),
        Verb::Release(arguments) => on_runtime(release::release(arguments, &settings, &state?)),
        Verb::Kill(arguments) => on_runtime(kill::kill(arguments, &settings, &state?)),
        Verb::Clean(arguments) => clean::clean(&arguments, &settings, &state?),
        Verb::Changes(arguments) => changes::changes(&arguments, &state?),
        Verb::Undo(arguments) => undo::undo(&arguments, &state?),
        Verb::Session(arguments) => match arguments.moving() {
            Some((name, on)) => on_runtime(reach::sessions::relocate(name, on, &settings, &state?)),
            None => session::session(&arguments, &settings, &state?),
        },
        Verb::Mcp(arguments) => {
            let state = state?;
            let machines = reach::machines::Machines::of(&settings, &state).map(|machines| machines as _);
            mcp::mcp(&arguments, &settings, machines, &state)
        }
        Verb::Call(arguments) => call::call(&arguments, &settings, &state?),
        Verb::Sandbox(arguments) => sandbox::sandbox(&arguments, &settings, &state?),
        Verb::Secret(arguments) => secret::secret(&arguments, &settings),
        Verb::Env(arguments) => env::env(&arguments, &settings),
        Verb::Audit(arguments) => audit::audit(&arguments, &settings, &state?),
        Verb::Dialects(arguments) => dialects::dialects(&arguments),
        Verb::Schema(arguments) => dialects::print_schema(&arguments),
        Verb::Completions(arguments) => Ok(completions::completions(&arguments)),
        Verb::Man(arguments) => manual::man(&arguments, Cli::command()),
        Verb::Target(arguments) => reach::target::target(&arguments, &settings),
        Verb::Host(arguments) => reach::host::host(&arguments, &state?),
        Verb::Relay(arguments) => reach::relay::relay(&arguments, &settings, state),
        Verb::TakeTerminal(arguments) => reach::terminal::take(&arguments),
    }
}

fn on_runtime(verb: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    runtime::build(&mut tokio::runtime::Builder::new_current_thread())?.block_on(verb)
}

/// Ids for the completion of the command line.
fn known_ids() -> Vec<CompletionCandidate> {
    let Ok(state) = surroundings::state_directory() else { return Vec::new() };
    let (tasks, _) = chiton_engine::Tasks::new(&state).list().unwrap_or_default();
    candidates(tasks)
}

/// The same of commands that run.
fn running_ids() -> Vec<CompletionCandidate> {
    let Ok(state) = surroundings::state_directory() else { return Vec::new() };
    candidates(chiton_engine::Tasks::new(&state).running().unwrap_or_default())
}

fn candidates(tasks: Vec<chiton_engine::Task>) -> Vec<CompletionCandidate> {
    tasks.into_iter().map(|task| CompletionCandidate::new(task.id).help(Some(task.command.into()))).collect()
}
