//! The passphrase of a locked key.

use std::io::{BufRead, BufReader, Write};

use anyhow::Result;
use chiton_engine::secrets::SecretValue;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

/// The variable that may hold the passphrase of a locked key.
pub(crate) const VARIABLE: &str = "CHITON_PASSPHRASE";

/// Where the passphrase of a locked key comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassphraseSource {
    /// From [`VARIABLE`] alone: our own input belongs to somebody else.
    FromEnvironment,
    /// From there, or from the person at the terminal.
    Asked,
}

impl PassphraseSource {
    /// The passphrase, where somebody knows it.
    pub(crate) fn find(self) -> Option<SecretValue> {
        if let Ok(given) = std::env::var(VARIABLE) {
            return Some(SecretValue::new(given));
        }
        if self == Self::FromEnvironment {
            return None;
        }
        let typed = ask("Passphrase").ok().flatten()?;
        Some(SecretValue::new(typed.as_bytes()))
    }
}

/// Asks the person at the terminal for a line, which is not shown. `None` without a terminal.
pub(crate) fn ask(prompt: &str) -> Result<Option<Zeroizing<String>>> {
    let Ok(mut terminal) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty") else { return Ok(None) };
    let before = tcgetattr(&terminal)?;
    let mut hidden = before.clone();
    hidden.local_modes -= LocalModes::ECHO;
    hidden.local_modes |= LocalModes::ECHONL;
    // Before the question: what is typed once that is seen must be neither shown nor thrown away.
    tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
    write!(terminal, "{prompt}: ")?;
    let mut line = Zeroizing::new(String::new());
    let read = BufReader::new(&terminal).read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Flush, &before)?;
    read?;
    let length = line.trim_end_matches(['\n', '\r']).len();
    line.truncate(length);
    Ok(Some(line))
}
