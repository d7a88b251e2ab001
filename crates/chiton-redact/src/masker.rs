//! Masking whole texts.

use std::fmt;
use std::sync::Arc;

use super::patterns::Patterns;
use super::redact::Redactor;
use super::reference::Reference;
use super::value::SecretValue;

/// Puts the token of each secret in place of its value, in every form in which programs write values.
///
/// ```
/// use chiton_redact::{Masker, Reference, SecretValue};
///
/// let token = Reference::secret("api-key").ok_or("not a name")?;
/// let masker = Masker::new([(&token, &SecretValue::new("S3CR3T-VALUE"))]);
///
/// assert_eq!(masker.mask(b"key=S3CR3T-VALUE"), b"key={{secret:api-key}}");
/// assert_eq!(masker.mask(b"key=UzNDUjNULVZBTFVF"), b"key={{secret:api-key}}");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone)]
pub struct Masker(Arc<Patterns>);

impl fmt::Debug for Masker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Masker")
    }
}

impl Masker {
    /// Masks these secrets. One that has had several values may come several times.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a Reference, &'a SecretValue)>) -> Self {
        let secrets: Vec<(String, &[u8])> =
            secrets.into_iter().map(|(reference, value)| (reference.to_string(), value.expose())).collect();
        Self(Arc::new(Patterns::new(secrets.iter().map(|(token, value)| (token.as_str(), *value)))))
    }

    /// The text without values.
    pub fn mask(&self, text: &[u8]) -> Vec<u8> {
        self.0.masked(text)
    }

    /// Masks a stream that arrives in pieces.
    pub fn stream(&self) -> Redactor {
        Redactor::new(Arc::clone(&self.0))
    }
}
