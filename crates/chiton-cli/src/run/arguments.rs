//! The command line of `chiton run`, and the request that it makes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use chiton_engine::limits::ViewLimits;
use chiton_engine::shell::quote::append_single_quoted;
use chiton_engine::terminal::TerminalSize;
use chiton_engine::{
    AnswerMode, ByteString, CommandInput, CommandRequest, EnvironmentChange, Lifetime, OnTimeout, PreviewMode, Streams,
    TaskLifetime,
};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;

use crate::consent::Terminal;
use crate::duration::duration;
use crate::near::NearArguments;
use crate::on_arguments::RunOnArguments;
use crate::protection_arguments::ProtectionArguments;
use crate::sandbox::{Amount, LimitName, limit_argument};
use crate::surroundings;
use crate::window;

/// How much of each stream `--json` carries, where nobody says otherwise.
const MAX_OUTPUT: usize = 1 << 20;

/// Run one command and show its output as it comes
#[derive(Args)]
#[command(after_help = "\
Exit code: the command's own; 124 timed out, 125 chiton itself failed, 126 and 127 as bash has them, 128+N ended by
signal N.

Examples:
  chiton run 'make test | tail'                       run shell text, see the output live
  chiton run ls -la                                   or a program with its arguments
  chiton run --timeout 30s 'npm install'              stop it, and everything it started, after half a minute
  chiton run --silence 2m 'make world'                stop it when it has printed nothing for two minutes
  chiton run --session api 'cd src; export PORT=8080' remember directory, variables, functions, options …
  chiton run --session api 'echo $PORT; pwd'          … and go on from there, in another terminal if you like
  chiton run --json 'cargo build'                     the whole story as one JSON object
  chiton run 'python3 -m http.server &'               returns at once and says what it left running
  chiton run --background 'npm run dev'               a task: see `chiton ps`, `chiton logs`, `chiton wait`, `chiton kill`
  chiton run --pty 'vim notes.txt'                    in a terminal: yours, if there is one
  chiton run --preview './upgrade.sh'                 see what it would change first; see `chiton preview`
  chiton run --limit memory=2G --limit cpu=5m 'make'  stop what takes too much
  chiton run --wait 50s 'cargo test'                  wait 50 s; if it is not done by then, hand back its id")]
pub(crate) struct RunArguments {
    #[arg(
        trailing_var_arg = true,
        required_unless_present_any = ["file", "near"],
        value_name = "COMMAND",
        help = "The command: one argument is shell text; of several, each stays one word. Options come before it; - reads it from standard input"
    )]
    command: Vec<OsString>,
    /// Read the command from this file instead
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    file: Option<PathBuf>,
    /// Stop the command and everything it started after this long: 500ms, 30s, 5m, 1h30m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Stop it when it has printed nothing for this long, however long it takes in all
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) silence: Option<Duration>,
    /// How long a stopped command may clean up before it is killed [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    grace: Option<Duration>,
    /// Run in this directory instead of the current one or the session's
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Set a variable for this command; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// Start with no variables but those given by --env
    #[arg(long)]
    clear_env: bool,
    #[command(flatten)]
    pub(crate) protection: ProtectionArguments,
    /// Limit what the command uses: memory=512M, processes=200, cpu=10m, file=1G, open-files=1024 or free=1G, which has
    /// to stay free on the disk; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = limit_argument)]
    limit: Vec<(LimitName, Amount)>,
    /// Only try it: what it changes in the workspace and in its session is held back, until `chiton preview commit`. In the
    /// sandbox work, unless another one is named
    #[arg(long, conflicts_with_all = ["background", "wait"])]
    pub(super) preview: bool,
    /// What the command reads: a file, or - for our own standard input [default: nothing]
    #[arg(long, value_name = "FILE|-")]
    stdin: Option<PathBuf>,
    /// Continue the session of this name, and leave it as the command left it (a background command leaves it as it is)
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(crate::session::known_sessions))]
    pub(super) session: Option<String>,
    /// Begin that session afresh first: directory, variables, functions, options
    #[arg(long, requires = "session")]
    pub(super) reset: bool,
    /// Take both streams through one pipe: exact order, no telling them apart
    #[arg(long)]
    merge: bool,
    /// Print one JSON object at the end instead of the output
    #[arg(long)]
    pub(super) json: bool,
    /// How much of each stream --json carries: the first half and the last half of this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_OUTPUT)]
    max_output: usize,
    /// What ends the command besides its own end
    #[arg(long, value_enum, default_value_t = LifetimeArgument::Call, conflicts_with = "background")]
    pub(super) lifetime: LifetimeArgument,
    /// Start it and come back at once with its id; it goes on until it ends or is killed
    #[arg(long)]
    pub(super) background: bool,
    /// Leave the input of a background command open for `chiton send`
    #[arg(long, requires = "background", conflicts_with = "stdin")]
    open_stdin: bool,
    /// Wait at most this long, then come back with the id of the running command
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "background")]
    wait: Option<Duration>,
    /// What happens when --timeout is over
    #[arg(long, value_enum, default_value_t = OnTimeoutArgument::Stop, requires = "timeout", conflicts_with = "background")]
    on_timeout: OnTimeoutArgument,
    /// In a terminal: for programs that talk to a person. Yours, where there is one; see `chiton attach` for others
    #[arg(long, conflicts_with_all = ["stdin", "merge", "open_stdin"])]
    pub(super) pty: bool,
    /// With --pty: the columns of the terminal [default: those of yours, or 80]
    #[arg(long, value_name = "NUMBER", requires = "pty")]
    cols: Option<u64>,
    /// With --pty: its rows [default: those of yours, or 24]
    #[arg(long, value_name = "NUMBER", requires = "pty")]
    rows: Option<u64>,
    #[command(flatten)]
    pub(crate) on: RunOnArguments,
    #[command(flatten)]
    pub(super) near: NearArguments,
    /// What the command is for, shown by `chiton ps`
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnTimeoutArgument {
    /// Stop the command and everything it started
    Stop,
    /// Come back with its id and let it go on
    Background,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LifetimeArgument {
    /// Stopped if chiton goes away before the command has ended; what an ended command left running goes on
    Call,
    /// Stopped, leftovers included, as soon as chiton goes away
    Session,
    /// Goes on whatever happens to chiton
    Durable,
}

impl From<LifetimeArgument> for Lifetime {
    fn from(argument: LifetimeArgument) -> Self {
        match argument {
            LifetimeArgument::Call => Self::Call,
            LifetimeArgument::Session => Self::Session,
            LifetimeArgument::Durable => Self::Durable,
        }
    }
}

impl RunArguments {
    /// The variables of `--env`.
    fn variables(&self) -> Result<BTreeMap<String, ByteString>> {
        let mut variables = BTreeMap::new();
        for entry in &self.env {
            let bytes = entry.clone().into_vec();
            let split = bytes.iter().position(|byte| *byte == b'=');
            let (name, value) = split
                .map(|place| (&bytes[..place], &bytes[place + 1..]))
                .with_context(|| format!("--env {}: write it as NAME=VALUE", entry.to_string_lossy()))?;
            variables.insert(String::from_utf8_lossy(name).into_owned(), ByteString::from(value));
        }
        Ok(variables)
    }

    /// Where `--dir` says that the command runs.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// What `--limit` says.
    pub(super) fn limits(&self) -> &[(LimitName, Amount)] {
        &self.limit
    }

    /// The command as shell text.
    fn script(&self) -> Result<Vec<u8>> {
        if let Some(file) = &self.file {
            return fs::read(file).with_context(|| format!("--file {}", file.display()));
        }
        match self.command.as_slice() {
            [only] if only == "-" => {
                ensure!(
                    self.stdin.as_ref().is_none_or(|path| path.as_os_str() != "-"),
                    "standard input cannot be both the command and what the command reads"
                );
                let mut script = Vec::new();
                io::stdin().lock().read_to_end(&mut script).context("standard input cannot be read")?;
                Ok(script)
            }
            [only] => Ok(only.as_bytes().to_vec()),
            words => join(words),
        }
    }

    /// Whether there is something in our standard input that nobody reads.
    pub(super) fn leaves_input(&self) -> bool {
        let reads_it = |path: &PathBuf| path.as_os_str() == "-";
        let is_read = self.pty
            || self.stdin.as_ref().is_some_and(reads_it)
            || self.command.first().is_some_and(|word| word == "-" && self.command.len() == 1);
        // Somebody who says what the command reads knows that it is not this.
        !is_read && self.stdin.is_none() && surroundings::has_input()
    }

    /// How many words at the end of the command line are the command.
    pub(crate) fn command_words(&self) -> usize {
        self.command.len()
    }

    /// The session it goes on with.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Whether the command reads something.
    pub(crate) fn has_input(&self) -> bool {
        self.stdin.is_some()
    }

    /// Whether a person types into it.
    pub(crate) fn wants_terminal(&self) -> bool {
        self.pty && !self.json && window::is_interactive()
    }

    /// Whether one JSON object tells everything.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether somebody says how much output that object carries.
    pub(crate) fn limits_output(&self) -> bool {
        self.max_output != MAX_OUTPUT
    }

    /// Whether `--env` gives this variable.
    pub(super) fn gives(&self, name: &str) -> bool {
        self.variables().is_ok_and(|variables| variables.contains_key(name))
    }
}

/// What the engine is asked for.
pub(crate) fn request(arguments: &RunArguments) -> Result<CommandRequest> {
    let variables = arguments.variables()?;
    let environment =
        if arguments.clear_env { EnvironmentChange::Replace(variables) } else { EnvironmentChange::Merge(variables) };
    let mut request = CommandRequest::new(arguments.script()?);
    (request.timeout, request.silence) = (arguments.timeout, arguments.silence);
    request.grace = arguments.grace;
    request.directory.clone_from(&arguments.dir);
    request.environment = environment;
    request.input = input(arguments)?;
    request.streams = if arguments.merge { Streams::Merged } else { Streams::Separate };
    request.lifetime = arguments.lifetime.into();
    request.preview = if arguments.preview { PreviewMode::On } else { PreviewMode::Off };
    request.wait = arguments.wait;
    request.approver = Some(Arc::new(Terminal));
    request.on_timeout = match arguments.on_timeout {
        OnTimeoutArgument::Stop => OnTimeout::Stop,
        OnTimeoutArgument::Background => OnTimeout::HandBack,
    };
    request.terminal = if arguments.pty { Some(terminal(arguments)?) } else { None };
    // Our process ends with this command, so a task that ended with our process would not be one.
    request.task_lifetime = TaskLifetime::Durable;
    request.description.clone_from(&arguments.description);
    request.view = Some(ViewLimits::split(match &arguments.session {
        _ if arguments.json => arguments.max_output,
        // Enough to see why a command failed that its session has broken.
        Some(_) => 8 << 10,
        None => 0,
    }));
    // Without --json, all output is passed on as it comes.
    request.shown_whole = (!arguments.json).then_some(u64::MAX);
    let tells_state = arguments.json || arguments.preview || arguments.session.is_some();
    request.answer = if tells_state { AnswerMode::WithState } else { AnswerMode::WithoutState };
    Ok(request)
}

/// Words that bash reads as a part of its grammar where the name of a program could stand.
const RESERVED: [&str; 15] = [
    "if", "then", "elif", "else", "fi", "do", "done", "case", "esac", "while", "until", "for", "select", "function",
    "coproc",
];

/// Several words as shell text in which each of them is one word.
fn join(words: &[OsString]) -> Result<Vec<u8>> {
    let first = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    ensure!(
        !first.contains(char::is_whitespace),
        "'{first}' is followed by {} more: options of chiton come before the command, and shell text is one argument",
        words.len() - 1
    );
    let mut script = Vec::new();
    for word in words {
        if !script.is_empty() {
            script.push(b' ');
        }
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+./,:@%^".contains(byte);
        // Not a reserved word either, and no assignment: the first word is the name of a program.
        let is_name = !RESERVED.iter().any(|reserved| word == reserved);
        if !word.is_empty() && is_name && word.as_bytes().iter().all(is_plain) {
            script.extend(word.as_bytes());
        } else {
            append_single_quoted(&mut script, word.as_bytes());
        }
    }
    Ok(script)
}

fn terminal(arguments: &RunArguments) -> Result<TerminalSize> {
    let own = window::size().unwrap_or_default();
    let (columns, rows) = (arguments.cols.unwrap_or(own.columns.into()), arguments.rows.unwrap_or(own.rows.into()));
    Ok(TerminalSize::new(columns, rows)?)
}

fn input(arguments: &RunArguments) -> Result<CommandInput> {
    if arguments.open_stdin {
        return Ok(CommandInput::Open);
    }
    let Some(path) = &arguments.stdin else { return Ok(CommandInput::Nothing) };
    let descriptor: OwnedFd = if path.as_os_str() == "-" {
        io::stdin().as_fd().try_clone_to_owned()?
    } else {
        File::open(path).with_context(|| format!("--stdin {}", path.display()))?.into()
    };
    Ok(CommandInput::Descriptor(descriptor.into()))
}
