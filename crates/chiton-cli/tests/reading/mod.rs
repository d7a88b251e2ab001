//! Pages as tests.

pub mod contents;
pub mod links;
pub mod page;
pub mod pattern;
pub mod reader;
pub mod verbs;
