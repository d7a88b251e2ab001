//! What can go wrong before a command runs, in words that say what to do.
//!
//! A command that fails is not an error: that is an [`crate::Outcome`]. An error means that nothing was started.

use std::io;
use std::path::PathBuf;

use crate::run::RunId;
use chiton_terminal::BadSize;

/// Any error of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The request itself cannot be run.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The session's state cannot be started from.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A port that the command names cannot be had.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The command or its keeper could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A named session cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is a run of the id that this one was to have.
    #[error("there is a run {id} already, so nothing was started; `chiton logs {id}` shows what it printed")]
    RunExists {
        /// The id.
        id: RunId,
    },
    /// A run that an earlier call started cannot be followed.
    #[error("{id}, which an earlier call started, cannot be followed: {reason}")]
    Unfollowed {
        /// The run.
        id: String,
        /// Why.
        reason: String,
    },
    /// The session has as many tasks running as it may have.
    #[error(
        "maximum concurrent background task limit ({0}) reached: nothing was started; wait for a task to end, or \
         kill one (a person raises the limit with --max-tasks, or mcp.max_tasks in the settings)"
    )]
    TaskLimit(usize),
}

/// A request that cannot be run as it is.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// A NUL byte cannot be part of a shell command.
    #[error(
        "the command has a NUL byte at position {0}, which no shell can read: remove it, or write it as $'\\0' data in a file"
    )]
    Nul(usize),
    /// Too long.
    #[error("the command has {0} bytes, more than the {1} that are accepted: put it into a file and run that")]
    TooLong(usize, usize),
    /// A limit of zero.
    #[error("a timeout of zero would end the command before it starts: give a longer one, or none")]
    ZeroTimeout,
    /// A limit of zero.
    #[error("a silence limit of zero would stop every command at once: give a longer one, or none")]
    ZeroSilence,
    /// A terminal of an impossible size.
    #[error(transparent)]
    BadSize(BadSize),
    /// Two inputs.
    #[error("a command in a terminal reads what is typed there: leave the other input out, and type it")]
    InputAndTerminal,
    /// A preview that nobody would wait for.
    #[error("a preview is what there is when the command has ended, so it goes without {0}. Nothing was started")]
    PreviewGoesOn(&'static str),
}

/// A port that cannot be given to the name that a command has for it.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Not a name.
    #[error(
        "'{0}' is not a name for a port: use up to 32 letters, digits, '_' or '-', a letter first, as in {{{{port:web}}}}. \
         Nothing was started. To write such a text itself, break it up, as in '{{''{{port:x}}}}'"
    )]
    BadName(String),
    /// All are taken.
    #[error("no port is free for {{{{port:{name}}}}}: all from {first} to {last} are taken. Nothing was started")]
    NoneFree {
        /// The name.
        name: String,
        /// The first number that is given out.
        first: u16,
        /// The last one.
        last: u16,
    },
    /// This process is ending.
    #[error("no port was given out: this process is ending. Nothing was started")]
    Stopped,
    /// Nobody can say which ports are taken.
    #[error("the list of ports in {} cannot be used: {error}. Nothing was started", path.display())]
    Book {
        /// Where it is.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// A state that a command cannot start from.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The directory given does not exist.
    #[error("the working directory {} cannot be used: {reason}", path.display())]
    NoSuchDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// The directory given is something else.
    #[error("the working directory {} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The session's own directory cannot be entered any more.
    #[error(
        "the working directory {} {}, so nothing was run. The session is in {} now: send the command again to run it \
         there",
        path.display(), gone(reason), nearest.display()
    )]
    DirectoryGone {
        /// The directory.
        path: PathBuf,
        /// Where the session is now: the nearest one above it that can be entered and leads where it did.
        nearest: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// The name of the session's own directory leads elsewhere by now.
    #[error(
        "the working directory {} was {} and now leads to {}, so nothing was run. The session is in {} now: send the \
         command again to run it there, or begin it with `cd` to the directory that is meant",
        path.display(), was.display(), now.display(), nearest.display()
    )]
    DirectorySwapped {
        /// The directory as the session names it.
        path: PathBuf,
        /// Where it was.
        was: PathBuf,
        /// Where its name leads.
        now: PathBuf,
        /// Where the session is now: the nearest one above it that leads where it did.
        nearest: PathBuf,
    },
    /// A name that no variable can have.
    #[error("'{0}' is not a name an environment variable can have: use letters, digits and _, and no digit first")]
    BadVariableName(String),
    /// A NUL byte in a value.
    #[error("the value of the environment variable {0} has a NUL byte, which no program can receive")]
    NulInVariable(String),
}

/// What happened to a directory that cannot be entered.
fn gone(reason: &io::Error) -> String {
    match reason.kind() {
        io::ErrorKind::NotFound => "is gone".to_owned(),
        io::ErrorKind::NotADirectory => "is not a directory any more".to_owned(),
        io::ErrorKind::InvalidFilename => "has a path that is too long to be entered by its name".to_owned(),
        _ => format!("cannot be entered ({reason})"),
    }
}

/// A run that could not be started. Nothing of the command ran.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The state directory cannot be used.
    #[error("the state directory {} cannot be used: {error}", path.display())]
    StateDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The sandbox could not be prepared.
    #[error("the sandbox could not be prepared, so the command was not run: {0}")]
    Sandbox(io::Error),
    /// The sandbox would hold less than its profile insists on.
    #[error(
        "the sandbox '{profile}' cannot hold here: {layers}. The command was not run. `chiton doctor` says what would help; \
         with missing = \"say\" in the profile it runs, and the reply names what is weaker"
    )]
    SandboxMissing {
        /// The profile.
        profile: String,
        /// What is missing, and what the kernel says.
        layers: String,
    },
    /// Nothing can be previewed here.
    #[error("this cannot be previewed, so the command was not run: {0}")]
    Preview(String),
    /// What is not written down is not run, and it cannot be written down.
    #[error("{0}")]
    Journal(String),
    /// This process is itself a keeper that was started by forgetful code.
    #[error(
        "this process was started as a keeper, but its program did not call chiton_engine::serve_if_asked() first: call \
         it at the beginning of main, or name another executable in EngineConfig::keeper"
    )]
    NotServed,
    /// The keeper could not be started.
    #[error("the keeper {} could not be started: {error}", path.display())]
    Keeper {
        /// The executable.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The keeper went away before the command was started.
    #[error("the keeper ended before it said that the command was started; is {} an executable that calls chiton_engine::serve_if_asked()?", .0.display())]
    KeeperVanished(PathBuf),
    /// Memory or descriptors are short.
    #[error("the command could not be handed to its keeper: {0}")]
    HandOver(io::Error),
    /// The shell could not be started.
    #[error("the shell could not be started: {0}")]
    Shell(String),
    /// There is no shell.
    #[error("neither bash nor sh was found: looked at {0}")]
    NoShell(String),
}

/// A named session that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Not a name.
    #[error("'{0}' is not a session name: use up to 64 letters, digits, '_', '-' or '.', not starting with '.'")]
    BadName(String),
    /// There is none of this name.
    #[error("there is no session '{0}'; `chiton session list` lists them")]
    Missing(String),
    /// There is one of this name.
    #[error("there is a session '{0}' already; remove it first, or take another name")]
    Taken(String),
    /// It lives on another machine.
    #[error(
        "the session {name} lives on {target}: give --on {target}, or bring it back with `chiton session move {name} --on \
         local`"
    )]
    LivesElsewhere {
        /// The session.
        name: String,
        /// The machine, by the name that the person has for it.
        target: String,
    },
    /// Not the name of a machine.
    #[error("'{0}' is not a name for a machine: use one line of up to 128 characters")]
    BadTarget(String),
    /// The file cannot be read.
    #[error("the session file {} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The file holds something else.
    #[error("the session file {} is damaged ({reason}); move it away to start that session afresh", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
    /// The file cannot be written.
    #[error("the session file {} cannot be written: {error}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}
