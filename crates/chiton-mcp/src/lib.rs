//! The MCP server: an operator that carries out calls, and the adapter to the protocol's library.

pub mod operator;
pub mod server;
