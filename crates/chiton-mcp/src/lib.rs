//! The MCP server: the adapter between an operator and the protocol's library, and the one crate that knows that library.
//!
//! 1. [`serve_stdio`] or [`serve_http`] receives messages; over HTTP, a gate checks each request first.
//! 2. The library calls a method of the server; a tool call becomes a task of its own, which the operator carries out.
//! 3. Meanwhile the client receives progress, is asked for consent, or takes the call as a task where it takes long.
//!
//! What a call means and what its reply says is left to `chiton_operator` and `chiton_dialects`.
//!
//! ```no_run
//! use chiton_engine::{Engine, EngineConfig};
//! use chiton_operator::Operator;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // First thing: this program is also the keeper of the commands it runs.
//!     chiton_engine::serve_if_asked();
//!     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//!     runtime.block_on(async {
//!         let engine = Engine::new(EngineConfig::new("/var/lib/me/chiton")?)?;
//!         let state = engine.fresh_state("/tmp", [("PATH".into(), "/usr/bin:/bin".into())], 0o022);
//!         let dialect = chiton_dialects::find("native").ok_or("there is no such dialect")?;
//!         chiton_mcp::serve_stdio(Operator::new(engine, dialect, state, None)).await?;
//!         Ok(())
//!     })
//! }
//! ```
#![expect(
    deprecated,
    reason = "the newest revision drops log messages, roots and resources/subscribe, the older ones have them"
)]

mod approval;
mod batch;
mod call;
mod client;
mod elsewhere;
mod gate;
mod http;
mod http_answer;
mod http_batch;
mod identity;
mod log;
mod message;
mod near;
mod progress;
mod push;
mod resources;
mod revision;
mod roots;
mod server;
mod stdio;
mod streams;
mod structured;

pub use elsewhere::{FarServer, FromFar, serve_elsewhere};
pub use http::{Address, HttpError, HttpOptions, serve_http};
pub use near::NearCalls;
pub use push::ChannelOffer;
pub use roots::{ClientPlace, StartDirectory};
pub use stdio::{StdioOptions, serve_stdio, serve_stdio_from};
