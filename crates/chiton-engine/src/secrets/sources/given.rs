//! Secrets that came along with a call, from a store on another machine. They are kept in memory and written nowhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserializer, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::bytes::{decode_hex, encode_hex};
use crate::lock::Lock;
use crate::secrets::source::{SecretSource, SourceError};
use chiton_redact::reference::{Reference, ReferenceKind, is_name};
use chiton_redact::value::{Masking, Secret, SecretValue};

/// A secret with its value, on its way to the machine where a command needs it. It prints without its value.
///
/// It is `{"kind": "secret", "name": …, "value": …, "shown": false}`; one that is shown is not masked. A value that is not
/// text is `{"hex": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct GivenSecret {
    /// What names it in a command.
    pub reference: Reference,
    /// The value, and whether it is hidden.
    pub secret: Secret,
}

/// The form in which one travels.
#[derive(Serialize, Deserialize)]
struct Written {
    kind: ReferenceKind,
    name: String,
    value: WrittenValue,
    #[serde(default)]
    shown: bool,
}

impl From<GivenSecret> for Written {
    fn from(given: GivenSecret) -> Self {
        let GivenSecret { reference: Reference { kind, name }, secret: Secret { value, masking } } = given;
        Self { kind, name, value: WrittenValue(value), shown: masking == Masking::Shown }
    }
}

impl TryFrom<Written> for GivenSecret {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { kind, name, value: WrittenValue(value), shown } = written;
        if !is_name(&name) {
            return Err("the name of a secret has 1 to 64 letters, digits, '_', '.' or '-'".to_owned());
        }
        let masking = if shown { Masking::Shown } else { Masking::Masked };
        Ok(Self { reference: Reference { kind, name }, secret: Secret { value, masking } })
    }
}

struct WrittenValue(SecretValue);

impl Serialize for WrittenValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0.expose();
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(value);
        }
        match std::str::from_utf8(value) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_map([("hex", &*Zeroizing::new(encode_hex(value)))]),
        }
    }
}

impl<'de> Deserialize<'de> for WrittenValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_text = deserializer.is_human_readable();
        let value =
            if is_text { deserializer.deserialize_any(Value) } else { deserializer.deserialize_byte_buf(Value) };
        value.map(Self)
    }
}

/// Reads a value. What it copies is wiped.
struct Value;

impl<'de> Visitor<'de> for Value {
    type Value = SecretValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, or {\"hex\": …}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SecretValue, E> {
        Ok(SecretValue::new(text))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<SecretValue, E> {
        Ok(SecretValue::new(text))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<SecretValue, E> {
        Ok(SecretValue::new(bytes))
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<SecretValue, E> {
        Ok(SecretValue::new(bytes))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<SecretValue, A::Error> {
        let entry = map.next_entry::<String, String>()?.map(|(key, text)| (key, Zeroizing::new(text)));
        let hex = entry.filter(|(key, _)| key == "hex").map(|(_, text)| text);
        let hex = hex.ok_or_else(|| de::Error::custom("a value is a text, or {\"hex\": …}"))?;
        decode_hex(&hex).map(SecretValue::new).ok_or_else(|| de::Error::custom("the value is not hexadecimal"))
    }
}

/// The secrets that calls have brought along, those of all clones together. A later value takes the place of an earlier
/// one of the same name.
#[derive(Clone, Debug, Default)]
pub struct GivenSecrets(Arc<Lock<BTreeMap<Reference, Secret>>>);

impl GivenSecrets {
    /// From now on commands may name these.
    pub fn add(&self, secrets: impl IntoIterator<Item = GivenSecret>) {
        let mut known = self.0.lock();
        known.extend(secrets.into_iter().map(|given| (given.reference, given.secret)));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

impl SecretSource for GivenSecrets {
    fn title(&self) -> String {
        "what came along with the call".to_owned()
    }

    fn get(&self, reference: &Reference) -> Result<Option<Secret>, SourceError> {
        Ok(self.0.lock().get(reference).cloned())
    }

    fn names(&self) -> Vec<Reference> {
        self.0.lock().keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &str, value: &[u8], masking: Masking) -> GivenSecret {
        let secret = Secret { value: SecretValue::new(value), masking };
        GivenSecret { reference: Reference::secret(name).unwrap(), secret }
    }

    #[test]
    fn a_secret_travels_whole_and_prints_without_its_value() {
        for (value, written) in [
            (&b"S3CR3T-VALUE"[..], r#"{"kind":"secret","name":"key","value":"S3CR3T-VALUE","shown":false}"#),
            (b"\xff\x00S3CR3T", r#"{"kind":"secret","name":"key","value":{"hex":"ff00533343523354"},"shown":false}"#),
        ] {
            let secret = given("key", value, Masking::Masked);
            assert_eq!(serde_json::to_string(&secret).unwrap(), written);
            assert_eq!(serde_json::from_str::<GivenSecret>(written).unwrap(), secret);
            // As it is where somebody has read the JSON before.
            let read: serde_json::Value = serde_json::from_str(written).unwrap();
            assert_eq!(GivenSecret::deserialize(read.clone()).unwrap(), secret);
            assert_eq!(GivenSecret::deserialize(&read).unwrap(), secret);
            let bytes = postcard::to_stdvec(&secret).unwrap();
            assert_eq!(postcard::from_bytes::<GivenSecret>(&bytes).unwrap(), secret);
            assert!(!format!("{secret:?}").contains("S3CR3T"));
        }
        let shown = given("key", b"x", Masking::Shown);
        assert_eq!(serde_json::from_str::<GivenSecret>(&serde_json::to_string(&shown).unwrap()).unwrap(), shown);
    }

    #[test]
    fn what_is_not_a_secret_is_refused_without_repeating_its_value() {
        for wrong in [
            r#"{"kind":"secret","name":"a b","value":"S3CR3T"}"#,
            r#"{"kind":"secret","name":"a","value":{"hex":"S3CR3T"}}"#,
            r#"{"kind":"secret","name":"a","value":{"other":"S3CR3T"}}"#,
            r#"{"kind":"other","name":"a","value":"S3CR3T"}"#,
            r#"{"kind":"secret","name":"a"}"#,
        ] {
            let error = serde_json::from_str::<GivenSecret>(wrong).unwrap_err().to_string();
            assert!(!error.contains("S3CR3T"), "{error}");
        }
    }

    #[test]
    fn the_last_value_of_a_name_counts() {
        let secrets = GivenSecrets::default();
        assert!(secrets.is_empty());
        secrets.clone().add([given("key", b"first-value", Masking::Masked)]);
        secrets.add([given("key", b"second-value", Masking::Masked)]);
        let found = secrets.get(&Reference::secret("key").unwrap()).unwrap().unwrap();
        assert_eq!(found.value.expose(), b"second-value");
        assert_eq!(secrets.get(&Reference::secret("other").unwrap()), Ok(None));
    }
}
