//! The values that have come up so far. They are masked in everything from then on.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bytes::ByteString;
use crate::lock::Lock;
use crate::state::environment::RemovedVariable;
use crate::state::{ShellState, Value};
use chiton_redact::Mask;
use chiton_redact::patterns::Patterns;
use chiton_redact::reference::Reference;
use chiton_redact::value::SecretValue;
use chiton_terminal::text::plain_text;

/// Values by the reference that stands for each.
#[derive(Debug)]
pub(crate) struct KnownSecrets {
    current: Lock<Current>,
}

#[derive(Debug)]
struct Current {
    values: BTreeMap<Reference, Generations>,
    /// The same for a keeper: a new list whenever something is added.
    masks: Arc<[Mask]>,
    patterns: Arc<Patterns>,
}

/// Every value that a secret has had since this process began, the current one last. An old one may still be printed
/// by whoever was given it.
#[derive(Debug, Default)]
struct Generations(Vec<SecretValue>);

impl Generations {
    /// Makes `value` the current one; says whether it is new.
    fn learn(&mut self, value: SecretValue) -> bool {
        let is_new = !self.0.contains(&value);
        self.0.retain(|known| *known != value);
        self.0.push(value);
        is_new
    }
}

impl KnownSecrets {
    pub(crate) fn none() -> Self {
        let patterns = Arc::new(Patterns::new([]));
        Self { current: Lock::new(Current { values: BTreeMap::new(), masks: Arc::default(), patterns }) }
    }

    pub(crate) fn has(&self, reference: &Reference) -> bool {
        self.current.lock().values.contains_key(reference)
    }

    /// The value that a reference stands for now.
    pub(crate) fn current(&self, reference: &Reference) -> Option<SecretValue> {
        self.current.lock().values.get(reference).and_then(|Generations(values)| values.last().cloned())
    }

    /// From now on these are masked. Where a store has another value than before, both are.
    pub(crate) fn learn(&self, secrets: impl IntoIterator<Item = (Reference, SecretValue)>) {
        let mut current = self.current.lock();
        let mut changed = false;
        for (reference, value) in secrets {
            changed |= current.values.entry(reference).or_default().learn(value);
        }

        if changed {
            let masks = masks(&current.values);
            current.patterns = Arc::new(Patterns::new(masks.iter().map(|(mask, value)| (&mask[..], value.expose()))));
            current.masks = masks.into();
        }
    }

    /// All of them, for a keeper.
    pub(crate) fn masks(&self) -> Arc<[Mask]> {
        Arc::clone(&self.current.lock().masks)
    }

    fn patterns(&self) -> Arc<Patterns> {
        Arc::clone(&self.current.lock().patterns)
    }

    /// A text to write down, with every value masked.
    pub(crate) fn masked(&self, text: &[u8]) -> ByteString {
        let patterns = self.patterns();
        if patterns.is_empty() { text.into() } else { patterns.masked(text).into() }
    }

    /// Output in which no value is seen, with its escape sequences or without; as plain text where one would be.
    pub(crate) fn masked_view(&self, text: String) -> String {
        let patterns = self.patterns();
        if patterns.is_empty() || !text.bytes().any(|byte| matches!(byte, 0x1B | 0x08 | b'\r')) {
            return text;
        }
        let plain = plain_text(&text);
        let masked = patterns.masked(plain.as_bytes());
        if masked == plain.as_bytes() { text } else { String::from_utf8_lossy(&masked).into_owned() }
    }

    /// Takes back every change in `state` that holds a value, and says which those were.
    pub(crate) fn withhold(&self, state: &mut ShellState, start: &ShellState) -> Vec<RemovedVariable> {
        let patterns = self.patterns();
        let mut withheld = Vec::new();
        if patterns.is_empty() {
            return withheld;
        }

        let mut note = |what: String| {
            withheld.push(RemovedVariable { name: what, why: "holds the value of a secret".to_owned() });
        };

        take_back(&mut state.variables, &start.variables, |name, variable| {
            let held = holds(&patterns, &variable.value);
            if held {
                note(name.clone());
            }
            held
        });
        take_back(&mut state.functions, &start.functions, |name, function| {
            let held = patterns.occur_in(&function.text);
            if held {
                note(format!("{}()", name.to_text()));
            }
            held
        });
        take_back(&mut state.aliases, &start.aliases, |name, text| {
            let held = patterns.occur_in(text);
            if held {
                note(format!("alias {}", name.to_text()));
            }
            held
        });

        let directory = std::os::unix::ffi::OsStrExt::as_bytes(state.cwd.as_os_str());
        if state.cwd != start.cwd && patterns.occur_in(directory) {
            state.cwd.clone_from(&start.cwd);
            note("PWD".to_owned());
        }
        withheld
    }
}

/// All values, each with the token that is shown in its place.
fn masks(values: &BTreeMap<Reference, Generations>) -> Vec<Mask> {
    let mut masks = Vec::new();
    for (reference, Generations(values)) in values {
        masks.extend(values.iter().map(|value| (reference.to_string(), value.clone())));
    }
    masks
}

fn holds(patterns: &Arc<Patterns>, value: &Value) -> bool {
    match value {
        Value::Unset => false,
        Value::Scalar(value) => patterns.occur_in(value),
        Value::Indexed(items) => items.values().any(|item| patterns.occur_in(item)),
        Value::Associative(pairs) => {
            pairs.iter().any(|(key, value)| patterns.occur_in(key) || patterns.occur_in(value))
        }
    }
}

/// Entries that changed and for which `held` holds become what they were.
fn take_back<K: Ord + Clone, V: PartialEq + Clone>(
    entries: &mut BTreeMap<K, V>,
    before: &BTreeMap<K, V>,
    mut held: impl FnMut(&K, &V) -> bool,
) {
    entries.retain(|key, value| before.contains_key(key) || !held(key, value));
    for (key, value) in entries.iter_mut() {
        if let Some(old) = before.get(key).filter(|old| *old != value)
            && held(key, value)
        {
            value.clone_from(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drawing_over_a_line_puts_together_is_masked_in_its_view() {
        let known = KnownSecrets::none();
        known.learn([(Reference::secret("key").unwrap(), SecretValue::new("S3CR3T-VALUE"))]);
        for drawn in ["S3CR3T-VALXX\u{8}\u{8}UE", "xxxxxx-VALUE\rS3CR3T", "S3CR3T\x1b[12G\x1b[5D-VALUE"] {
            let view = known.masked_view(drawn.to_owned());
            assert!(!plain_text(&view).contains("S3CR3T-VALUE") && view.contains("{{secret:key}}"), "{view}");
        }
        assert_eq!(known.masked_view("10%\r20%".to_owned()), "10%\r20%");
    }

    #[test]
    fn a_secret_that_was_changed_is_masked_in_all_its_values() {
        let known = KnownSecrets::none();
        let reference = Reference::secret("key").unwrap();
        let learn = |value: &str| known.learn([(reference.clone(), SecretValue::new(value))]);

        learn("first-value");
        let one = known.masks();
        learn("first-value");
        assert!(Arc::ptr_eq(&one, &known.masks()), "nothing is new");

        learn("second-value");
        learn("first-value");
        assert_eq!(known.masks().len(), 2);
        assert!(known.has(&reference));
        assert_eq!(&known.masked(b"first-value second-value")[..], b"{{secret:key}} {{secret:key}}");
    }
}
