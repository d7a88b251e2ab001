//! A value that nobody prints by accident.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::forms::SHORTEST;

/// The value of a secret. It is wiped from memory when the last copy is dropped, and prints as dots.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Arc<Zeroizing<Vec<u8>>>);

impl SecretValue {
    /// Takes these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Arc::new(Zeroizing::new(bytes.into())))
    }

    /// The bytes.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

/// Whether a value is hidden in output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Masking {
    /// It is replaced by its token wherever it appears.
    #[default]
    Masked,
    /// It appears as it is: for values that are short or not secret.
    Shown,
}

/// What a source knows under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The value.
    pub value: SecretValue,
    /// Whether it is hidden.
    pub masking: Masking,
}

impl Secret {
    /// A secret that is masked.
    pub fn masked(value: impl Into<Vec<u8>>) -> Self {
        Self { value: SecretValue::new(value), masking: Masking::Masked }
    }
}

/// One value, and what is shown in its place.
pub type Mask = (String, SecretValue);

/// A value that cannot be used as a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// It is empty.
    #[error("the value is empty")]
    Empty,
    /// It would be found in innocent text.
    #[error(
        "the value has {0} characters; fewer than {SHORTEST} would be found, and masked, in innocent text. If nobody has to hide it, mark it as shown (`chiton secret set --no-mask`)"
    )]
    TooShort(usize),
    /// A NUL byte cannot be passed to a program.
    #[error("the value has a NUL byte, which no program can receive")]
    Nul,
    /// The name, which is shown in its place, would reveal it.
    #[error("the value is part of its own name, which is shown in its place: give it another name")]
    InName,
}

/// Checks that `secret` can be used under `name`.
pub fn check(name: &str, secret: &Secret) -> Result<(), ValueError> {
    let value = secret.value.expose();
    if value.contains(&0) {
        return Err(ValueError::Nul);
    }
    if secret.masking == Masking::Shown {
        return Ok(());
    }
    let bare = value.trim_ascii();
    let characters = String::from_utf8_lossy(bare).chars().count();
    if memchr::memmem::find(name.as_bytes(), bare).is_some() && !bare.is_empty() {
        return Err(ValueError::InName);
    }
    match characters {
        0 => Err(ValueError::Empty),
        _ if characters < SHORTEST => Err(ValueError::TooShort(characters)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_masked_is_refused_unless_it_need_not_be() {
        let cases: [(&[u8], Option<ValueError>); 7] = [
            (b"", Some(ValueError::Empty)),
            (b"  \n", Some(ValueError::Empty)),
            (b"1234567", Some(ValueError::TooShort(7))),
            (b"1234567\n\n\n", Some(ValueError::TooShort(7))),
            (b"12345678", None),
            ("\u{e4}\u{e4}\u{e4}\u{e4}".as_bytes(), Some(ValueError::TooShort(4))),
            (b"1234\x005678", Some(ValueError::Nul)),
        ];
        for (value, expected) in cases {
            assert_eq!(check("name", &Secret::masked(value)).err(), expected, "{}", value.escape_ascii());
        }
        let shown = Secret { value: SecretValue::new("x"), masking: Masking::Shown };
        assert_eq!(check("name", &shown), Ok(()));
        assert_eq!(check("my-password-1", &Secret::masked("password")), Err(ValueError::InName));
    }

    #[test]
    fn a_value_prints_as_dots() {
        assert_eq!(format!("{:?}", Secret::masked("S3CR3T-VALUE")), "Secret { value: …, masking: Masked }");
    }
}
