//! References to secrets, values put into commands as data, and values masked in a stream.

mod encoding;
pub mod forms;
pub mod insert;
pub mod patterns;
pub mod redact;
pub mod reference;
pub mod value;

pub use reference::{Reference, ReferenceKind};
pub use value::{Mask, Masking, Secret, SecretValue, ValueError};
