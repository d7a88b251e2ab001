//! Chiton's engine runs shell commands for agents, people and programs.
//!
//! Every command passes eight stages, each a module, declared here in that order; [`Engine::run`] is the eight calls.
//! A session is a value ([`ShellState`]), each command has a keeper ([`keeper`]), a command ends when its leader ends,
//! nothing is lost and nothing is unbounded.
//!
//! ```no_run
//! use chiton_engine::{Engine, EngineConfig, Session};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // First thing: this program is also the keeper of the commands it runs.
//!     chiton_engine::serve_if_asked();
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     runtime.block_on(async {
//!         let engine = Engine::new(EngineConfig::new("/var/lib/me/chiton")?)?;
//!         let session = Session::new(engine.fresh_state("/tmp", [("PATH".into(), "/usr/bin:/bin".into())], 0o022));
//!         let response = engine.command(&session, "cd /usr; echo hello").run().await?;
//!         assert_eq!(response.text(), "hello\n");
//!         assert_eq!(session.state().cwd, std::path::Path::new("/usr"));
//!         Ok(())
//!     })
//! }
//! ```

// What everything below speaks of, and what the machine offers.
mod bytes;
pub mod clock;
pub mod error;
pub mod limits;
mod lock;
pub mod machine;
mod owner;
pub mod run;
pub mod sandbox;
mod sys;

// The engine and its keepers: what they say, what they leave on disk, how processes start and stop.
pub mod changes;
pub mod checkpoints;
mod enclosure;
mod folder;
pub mod preview;
mod process;
mod protocol;
pub mod state;
mod stop;
mod warm;

// Which policy holds for whatever a command starts, and who talks to a server of ours; and what is known of another machine.
pub mod ancestry;
pub mod elsewhere;
pub mod peer;

// The path of a command, in its order.
pub mod capture;
pub mod consent;
mod engine;
mod ports;
pub mod render;
mod request;
mod response;
pub mod review;
pub mod secrets;
pub mod session;
mod spawn;

// How programs that use the library say what to run, and what other machines say with it.
mod command;
pub mod near;

// What outlives a call.
pub mod audit;
mod control;
mod keeper;
pub mod tasks;

pub use chiton_guard as guard;
pub use chiton_shell as shell;
pub use chiton_terminal as terminal;

pub use bytes::{ByteString, characters};
pub use command::{Command, Event, Events};
pub use control::RunControl;
pub use elsewhere::{Elsewhere, FarFacts};
pub use engine::{Approval, EndElsewhere, Engine, EngineConfig, StartedTask};
pub use error::EngineError;
pub use folder::NOTIFY_FAILED;
pub use keeper::{serve_always, serve_if_asked};
pub use limits::{Limits, WarmLimits};
pub use lock::Lock;
pub use near::FromNear;
pub use owner::{Owner, ServerProcess};
pub use process::Shell;
pub use request::{AnswerMode, CommandInput, CommandRequest, EnvironmentChange, OnTimeout, PreviewMode, TaskLifetime};
pub use response::{DryRun, Occurrence, RELEASED, RefusedCommand, Response, RunReport, SENT_TWICE, StateReport};
pub use run::{
    BadRunId, ChangeKind, ChangedFiles, Ending, FirstNames, InputWait, Leftover, Lifetime, Listener, Look, NotKept,
    Notify, Outcome, PassedAmount, Protection, RunEvent, RunId, Signal, Silent, Stream, Streams, TimeLimit, Typing,
    Typist, Usage,
};
pub use session::{FreshState, Session, Warmth};
pub use state::ShellState;
pub use tasks::{Task, TaskStatus, Tasks};
pub use warm::WarmRoom;
