//! The MCP server: a dialect on an engine, over standard input and output.
//!
//! [`operator`] carries out what a call asks for and knows nothing of MCP; the command line uses it as well.
//! [`server`] is the one module that knows the MCP library; [`progress`] tells a client what happens meanwhile.

pub mod operator;
mod progress;
pub mod server;
