//! A state for a plain `/bin/sh`, where bash is missing: working directory, exported variables, umask.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::bash::load::{ExitTrap, LoadOptions};
use super::environment::IS_OURS;
use super::shell_state::{ShellState, Value, Variable};
use crate::bytes::ByteString;
use chiton_shell::quote::{append_single_quoted, read_word};

/// The loader: the mask, and where it is wanted a trap that prints the state at the end. Variables travel in the environment.
pub(crate) fn loader(state: &ShellState, options: &LoadOptions) -> Vec<u8> {
    let mut script = format!("umask {:04o}\n", state.umask).into_bytes();
    if options.exit_trap == ExitTrap::None {
        return script;
    }
    let hand_back = format!(
        "{{ set +exuv; printf 'chiton sh\\0'; pwd; printf '\\0'; umask; printf '\\0'; export -p; printf '\\0end'; }} \
         >|{} 2>/dev/null",
        options.shared.state()
    );
    script.extend_from_slice(b"trap -- ");
    append_single_quoted(&mut script, hand_back.as_bytes());
    script.extend_from_slice(b" EXIT\n");
    script
}

/// Reads what the shell printed; `None` where it is not complete.
pub(crate) fn read(text: &[u8], start: &ShellState) -> Option<ShellState> {
    let mut parts = text.split(|byte| *byte == 0);
    if parts.next()? != b"chiton sh" || !text.ends_with(b"\0end") {
        return None;
    }
    let mut state = start.clone();
    state.cwd = OsString::from_vec(parts.next()?.strip_suffix(b"\n")?.to_vec()).into();
    state.umask = u32::from_str_radix(std::str::from_utf8(parts.next()?).ok()?.trim(), 8).ok()?;
    state.variables.retain(|_, variable| !variable.is_exported());
    for (name, value) in read_exports(parts.next()?)? {
        if name != "PWD" && name != IS_OURS.0 {
            state.variables.insert(name, Variable::exported(Value::Scalar(value)));
        }
    }
    Some(state)
}

/// `export NAME='VALUE'` lines; a value may hold newlines.
fn read_exports(mut text: &[u8]) -> Option<Vec<(String, ByteString)>> {
    let mut exports = Vec::new();
    while !text.is_empty() {
        let rest = text.strip_prefix(b"export ")?;
        let end = rest.iter().position(|byte| matches!(byte, b'=' | b'\n'))?;
        let name = String::from_utf8(rest[..end].to_vec()).ok()?;
        if rest[end] == b'\n' {
            text = &rest[end + 1..];
            continue;
        }
        let (value, after) = read_word(&rest[end + 1..], |byte| byte == b'\n')?;
        exports.push((name, value.into()));
        text = after.strip_prefix(b"\n")?;
    }
    Some(exports)
}
