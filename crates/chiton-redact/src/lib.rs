#![doc = include_str!("../README.md")]

mod encoding;
pub mod forms;
pub mod insert;
pub mod look;
mod masker;
pub mod patterns;
pub mod redact;
pub mod reference;
pub mod value;

pub use masker::Masker;
pub use redact::Redactor;
pub use reference::{Reference, ReferenceKind};
pub use value::{Mask, Masking, Secret, SecretValue, ValueError};
