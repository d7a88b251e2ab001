//! One client's shell: an engine, a session and a dialect, without any protocol.
//!
//! 1. [`Operator::call`] has the dialect read the arguments of a tool call as an action.
//! 2. It carries the action out: runs or starts a command, reads a task, writes to it, stops it.
//! 3. It keeps what the dialect keeps of the shell's state, in the client's session or in a named one.
//! 4. It has the dialect write the reply, to which [`Operator::deliver`] adds what else changed for the client meanwhile.
//!
//! The protocol is left to whoever calls, such as `chiton-mcp`; running commands to `chiton_engine`; names, schemas and
//! wording to `chiton_dialects`.
//!
//! ```no_run
//! use chiton_engine::{Engine, EngineConfig};
//! use chiton_operator::{Caller, Operator};
//! use serde_json::json;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // First thing: this program is also the keeper of the commands it runs.
//!     chiton_engine::serve_if_asked();
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     runtime.block_on(async {
//!         let engine = Engine::new(EngineConfig::new("/var/lib/me/chiton")?)?;
//!         let state = engine.fresh_state("/tmp", [("PATH".into(), "/usr/bin:/bin".into())], 0o022);
//!         let dialect = chiton_dialects::find("native").ok_or("there is no such dialect")?;
//!         let operator = Operator::new(engine, dialect, state, None);
//!
//!         let arguments = json!({"command": "cd /usr && pwd"});
//!         let arguments = arguments.as_object().ok_or("not an object")?;
//!         let called = operator.call("Bash", arguments, &Caller::silent()).await;
//!         println!("{}", operator.deliver(&called).await.text);
//!         Ok(())
//!     })
//! }
//! ```

mod attention;
mod broken;
mod caller;
mod counts;
mod elsewhere;
mod ends;
mod failure;
mod keep;
mod named;
mod news;
mod numbers;
mod operator;
mod ports;
mod remembered;
mod seen;
pub mod shell_manager;
mod shorten;
mod tasks;
mod undo;
mod whose;

pub use attention::Attention;
pub use broken::broken_state;
pub use caller::{Called, Caller, Consent, OnEvent};
pub use elsewhere::NEAR;
pub use named::NamedSessions;
pub use operator::{Calling, Machines, Operator};
pub use shorten::LikeLines;

/// The examples of the README are compiled, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
