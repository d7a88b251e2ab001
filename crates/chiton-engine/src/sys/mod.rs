//! The only unsafe code of the engine: system calls that neither `std` nor `rustix` wraps.
//!
//! Each file is one concern and offers a safe face; nothing here knows about commands, sessions or policy.
#![expect(unsafe_code, reason = "this is the one module that talks to the kernel and libc directly")]

pub(crate) mod btrfs;
pub(crate) mod descriptors;
pub(crate) mod enclosed;
pub(crate) mod landlock;
pub(crate) mod memory;
pub(crate) mod messages;
pub(crate) mod names;
pub(crate) mod namespaces;
pub(crate) mod netlink;
pub(crate) mod packets;
pub(crate) mod probe;
pub(crate) mod process;
pub(crate) mod seccomp;
pub(crate) mod signals;
