//! The boundary beneath the guard: what a command may touch, whatever its text says.
//!
//! 1. A [`policy::SandboxPolicy`] says what is allowed. A person's settings make it; no call can widen it.
//! 2. [`prepare`] makes namespaces and rules once per session, in a process of its own; [`enclosure`] holds them.
//! 3. Every shell of the session is put into them as it starts (`sys/enclosed.rs`), behind a filter on system calls
//!    ([`filter`]). Shells that wait, wait inside.
//! 4. The keeper is asked about calls that change files, connect or signal, and can say what was refused.
//! 5. A [`report::SandboxReport`] names the layers that hold and what is weaker. A layer is never silently open.

pub(crate) mod enclosure;
pub(crate) mod filter;
pub(crate) mod limits;
pub mod policy;
pub(crate) mod prepare;
pub mod report;

pub use prepare::Without;
