//! The state of a shell as a value.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bytes::{ByteString, encode_hex};

/// Everything a command may find changed by the commands before it.
///
/// Not part of it: traps, jobs, resource limits, and what holds for one command only (see [`PER_COMMAND_OPTIONS`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellState {
    /// The working directory as the shell names it: symbolic links are kept.
    #[serde(with = "path_bytes")]
    pub cwd: PathBuf,
    /// The same without symbolic links, as it was when the shell went there; empty where nobody has looked.
    #[serde(default, with = "path_bytes", skip_serializing_if = "is_empty")]
    pub real_cwd: PathBuf,
    /// Variables by name, exported or not.
    pub variables: BTreeMap<String, Variable>,
    /// Functions by name.
    pub functions: BTreeMap<ByteString, Function>,
    /// Aliases by name.
    pub aliases: BTreeMap<ByteString, ByteString>,
    /// `shopt` options that differ from how bash starts.
    pub shopt: BTreeMap<String, bool>,
    /// `set -o` options that differ from how bash starts.
    pub options: BTreeMap<String, bool>,
    /// The file mode creation mask.
    pub umask: u32,
}

/// `set` options that end with the command that set them: one `set -euo pipefail` must not sabotage a session.
/// `onecmd` is among them since a session that ends after one command is none.
pub const PER_COMMAND_OPTIONS: [&str; 8] =
    ["errexit", "nounset", "xtrace", "noexec", "noglob", "verbose", "pipefail", "onecmd"];

/// A variable: its attributes and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Attribute letters as `declare` takes them, sorted, without `a` and `A`, which the value says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub attributes: String,
    /// The value.
    pub value: Value,
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// Declared, with attributes, but never assigned.
    Unset,
    /// One string.
    Scalar(ByteString),
    /// An indexed array; holes are holes.
    Indexed(BTreeMap<u64, ByteString>),
    /// An associative array, as pairs sorted by key.
    Associative(Vec<(ByteString, ByteString)>),
}

impl Variable {
    /// An exported variable.
    pub fn exported(value: Value) -> Self {
        Self { attributes: "x".to_owned(), value }
    }

    /// Whether children see it.
    pub fn is_exported(&self) -> bool {
        self.attributes.contains('x')
    }

    /// Whether this stands for a variable that was unset, where bash would give it a value of its own (`PATH`), or
    /// for one that was declared and never assigned.
    pub fn is_removed(&self) -> bool {
        self.attributes.is_empty() && self.value == Value::Unset
    }

    /// Whether it refers to another variable.
    pub fn is_reference(&self) -> bool {
        self.attributes.contains('n')
    }

    /// Its value where it is a single string.
    pub fn scalar(&self) -> Option<&[u8]> {
        if let Value::Scalar(value) = &self.value { Some(value) } else { None }
    }
}

/// A function: its attributes and its text as bash prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Attribute letters: `x` exported, `r` readonly, `t` traced.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub attributes: String,
    /// The definition, name included.
    pub text: ByteString,
}

impl ShellState {
    /// The state of a shell that was just started in `cwd` with this environment.
    pub fn fresh(
        cwd: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (String, ByteString)>,
        umask: u32,
    ) -> Self {
        let variables =
            environment.into_iter().map(|(name, value)| (name, Variable::exported(Value::Scalar(value)))).collect();
        Self { cwd: cwd.into(), variables, umask, ..Self::default() }
    }

    /// Whether `name` is a function or an alias.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.functions.contains_key(name.as_bytes()) || self.aliases.contains_key(name.as_bytes())
    }

    /// A name for this very content: equal states have equal hashes.
    pub fn content_hash(&self) -> StateHash {
        let bytes = postcard::to_stdvec(&Canonical(self)).unwrap_or_default();
        StateHash(Sha256::digest(bytes).into())
    }
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// Paths may hold any byte but NUL, in files that people read too.
mod path_bytes {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::bytes::ByteString;

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        ByteString::from(path.as_os_str().as_bytes()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        let bytes = ByteString::deserialize(deserializer)?;
        Ok(OsString::from_vec(bytes.into_vec()).into())
    }
}

/// All fields in order, none skipped, so that different states cannot encode alike.
struct Canonical<'a>(&'a ShellState);

impl Serialize for Canonical<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use std::os::unix::ffi::OsStrExt;
        let state = self.0;
        let path = |path: &Path| ByteString::from(path.as_os_str().as_bytes());
        let (cwd, real_cwd) = (path(&state.cwd), path(&state.real_cwd));
        let variables: Vec<_> =
            state.variables.iter().map(|(name, variable)| (name, &variable.attributes, &variable.value)).collect();
        let functions: Vec<_> =
            state.functions.iter().map(|(name, function)| (name, &function.attributes, &function.text)).collect();
        (cwd, real_cwd, variables, functions, &state.aliases, &state.shopt, &state.options, state.umask)
            .serialize(serializer)
    }
}

/// The content of a state, as a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateHash([u8; 32]);

impl fmt::Display for StateHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&encode_hex(&self.0[..8]))
    }
}

impl fmt::Debug for StateHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "StateHash({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_states_hash_alike_and_every_field_counts() {
        let base = ShellState::fresh("/tmp", [("A".to_owned(), "1".into())], 0o022);
        assert_eq!(base.content_hash(), base.clone().content_hash());
        // All of the fields: one more has to be among the changes below.
        let ShellState { cwd: _, real_cwd: _, variables: _, functions: _, aliases: _, shopt: _, options: _, umask: _ } =
            &base;
        let mut others = vec![base.clone(); 8];
        others[0].cwd = "/".into();
        others[1].variables.insert("A".to_owned(), Variable { attributes: String::new(), value: Value::Unset });
        others[2].functions.insert("f".into(), Function { attributes: String::new(), text: "f () { :; }".into() });
        others[3].aliases.insert("l".into(), "ls".into());
        others[4].shopt.insert("extglob".to_owned(), true);
        others[5].options.insert("noclobber".to_owned(), true);
        others[6].umask = 0;
        others[7].real_cwd = "/".into();
        let mut hashes: Vec<_> = others.iter().chain([&base]).map(|state| state.content_hash().to_string()).collect();
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), 9);
    }

    #[test]
    fn a_state_survives_being_written_down_as_json() {
        let mut state = ShellState::fresh("/tmp", [("A".to_owned(), vec![0xff, b'\n'].into())], 0o077);
        let pairs = vec![("k \"".into(), "v".into())];
        let map = Variable { attributes: "rx".to_owned(), value: Value::Associative(pairs) };
        state.variables.insert("M".to_owned(), map);
        state.options.insert("noclobber".to_owned(), true);
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<ShellState>(&json).unwrap(), state);
    }
}
