//! The boundary beneath the guard, in words: what a sandbox allows, and what it tells.
//!
//! 1. A [`policy::SandboxPolicy`] says what commands may touch, whatever their text says. A person's settings make it; no call
//!    can widen it.
//! 2. A [`report::SandboxReport`] names the layers that hold and what is weaker. A layer is never silently open. What was
//!    refused is a list of [`report::RefusedAccess`].
//!
//! How it is done is in `enclosure`.

pub(crate) mod keeping;
pub mod policy;
pub mod report;
pub(crate) mod upstream;

use serde::{Deserialize, Serialize};

pub use keeping::KeepLimits;
pub use upstream::Upstream;

/// Layers that are left out as if the kernel had none, so that every combination can be tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    /// No namespaces at all.
    pub namespaces: bool,
    /// No network namespace.
    pub network_namespace: bool,
    /// No Landlock.
    pub landlock: bool,
    /// Nobody is asked about system calls.
    pub watch: bool,
}
