//! The suites that use the program from outside. They are one program, as each more would be linked to all of it; each file is
//! a module: `cargo test -p chiton-cli --test suite kept::`.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

#[path = "reach/near_side.rs"]
mod near_side;
mod place;

mod afresh;
mod audit;
mod check;
mod company;
mod consent;
mod deploy;
mod desk;
mod dialects;
mod doctor;
mod fuzz;
mod http;
mod kept;
mod list_tool;
mod manual;
mod mcp;
mod near;
mod nested;
mod news;
mod otlp;
mod output;
mod owners;
mod people;
mod played;
mod ports;
mod preview;
mod protocol;
mod reach;
mod reach_losses;
mod rmcp_client;
mod run;
mod sandbox;
mod secrets;
mod server;
mod session;
mod settings;
mod structured;
mod tasks;
mod terminals;
mod top;
mod ui;
mod undo;
mod watches;
