//! Chiton's engine runs shell commands for agents, people and programs.
//!
//! Every command passes eight stages, each a module, declared here in that order; [`Engine::run`] is the eight calls.
//! A session is a value ([`session::state::ShellState`]), each command has a keeper ([`keeper`]), a command ends when
//! its leader ends, nothing is lost and nothing is unbounded.
//!
//! ```no_run
//! use chiton_engine::{CommandRequest, Engine, EngineConfig, RunControl, Session, Silent};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // First thing: this program is also the keeper of the commands it runs.
//!     chiton_engine::serve_if_asked();
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     runtime.block_on(async {
//!         let engine = Engine::new(EngineConfig::new("/var/lib/me/chiton")?)?;
//!         let session = Session::new(engine.fresh_state("/tmp", [("PATH".into(), "/usr/bin:/bin".into())], 0o022));
//!         let request = CommandRequest::new("cd /usr; echo hello");
//!         let response = engine.run(&session, request, &mut Silent, &RunControl::new()).await?;
//!         assert_eq!(response.stdout.to_text(), "hello\n");
//!         assert_eq!(session.state().cwd, std::path::Path::new("/usr"));
//!         Ok(())
//!     })
//! }
//! ```

mod engine;
mod request;

pub mod guard;
pub mod secrets;
pub mod session;
mod spawn;
pub mod syntax;

pub mod capture;
pub mod render;
mod response;

pub mod audit;
mod bytes;
mod control;
pub mod error;
pub mod event;
mod keeper;
pub mod limits;
pub mod machine;
pub mod outcome;
mod stop;
mod sys;
pub mod tasks;
pub mod terminal;

pub use bytes::{ByteString, characters};
pub use control::RunControl;
pub use engine::{Engine, EngineConfig, StartedTask};
pub use error::EngineError;
pub use event::{Listener, PassedAmount, RunEvent, Silent, Stream};
pub use keeper::protocol::{Ending, InputWait, Look, Typing, Typist};
pub use keeper::{serve_always, serve_if_asked};
pub use limits::{Limits, WarmLimits};
pub use outcome::{Leftover, Lifetime, Outcome, Signal, TimeLimit, Usage};
pub use request::{CommandInput, CommandRequest, EnvironmentChange, OnTimeout, Streams, TaskLifetime};
pub use response::{CommandResponse, StateReport};
pub use session::state::ShellState;
pub use session::{Session, Warmth};
pub use spawn::Shell;
pub use spawn::pool::WarmRoom;
pub use tasks::{Task, TaskStatus, Tasks};
