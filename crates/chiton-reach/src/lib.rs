//! The way to Chiton on other machines.
//!
//! 1. A [`Target`] is a name and a program that gives standard input and output of a shell there: `ssh build`,
//!    `docker exec -i web sh`.
//! 2. A script goes in as input ([`bootstrap`]). It finds this very program in a cache there, or asks for it, and starts it as
//!    a [`relay`].
//! 3. The relay joins the pipe to the [`host`], which owns what runs there. The relay may die at any moment.
//! 4. [`Near`] and the host speak in numbered frames ([`frame`], [`ledger`]). When the pipe breaks, the near side makes
//!    another one, and both send again what the other one has not got.
//! 5. A [`Channel`] is one verb of the program over there, with its streams: `chiton mcp`, `chiton run`.
//!
//! What the verbs do is left to the command line, what may be run to the guards of both sides.

pub mod bootstrap;
mod credit;
mod frame;
pub mod host;
mod ledger;
mod line;
pub mod logind;
pub mod near;
pub mod program;
pub mod relay;
mod socket;
pub mod target;

pub use frame::{Ending, Size, Stream, VERSION, Verb};
pub use near::{Channel, ConnectError, Gone, Loss, Near, NearOptions, Out};
pub use program::{Program, Programs};
pub use target::{Target, TargetError};
