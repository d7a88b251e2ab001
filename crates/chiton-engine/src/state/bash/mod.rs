//! A state for bash and from bash.
//!
//! [`load`] writes the script that brings a fresh bash into a state; at its end stands an exit trap with which bash
//! prints its state as it ends. [`dump`] reads that print. [`declaration`] knows how bash writes variables.

mod declaration;
pub(crate) mod dump;
pub(crate) mod load;
