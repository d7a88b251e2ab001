//! Whose a run is: a client of a server, that server, and the directory it works in.
//!
//! A server that is gone can be told from one that lives, so that a client which starts anew finds what it has left.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::bytes::path_as_bytes;

/// A name longer than this is not one.
const NAME_CHARACTERS: usize = 64;

/// Whose a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// What the client calls itself.
    pub client: String,
    /// The directory that its server works in.
    #[serde(with = "path_as_bytes")]
    pub directory: PathBuf,
    /// Its server.
    pub server: ServerProcess,
}

impl Owner {
    /// The owner of what this process starts for a client of this name.
    pub fn served_here(client: &str, directory: &Path) -> Self {
        let visible = client.chars().filter(|character| !character.is_control());
        let client = visible.take(NAME_CHARACTERS).collect();
        Self { client, directory: directory.to_owned(), server: ServerProcess::this() }
    }

    /// Whether what `other` has started belongs to this one, too: the same server has started it, or one that is gone
    /// and worked for a client of the same name in the same directory.
    pub fn continues(&self, other: &Self) -> bool {
        let is_same_work = self.client == other.client && self.directory == other.directory;
        self.server == other.server || (is_same_work && !other.server.is_alive())
    }
}

/// A process, and when it started: its number alone may be that of another one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProcess {
    /// Its number.
    pub pid: i32,
    /// When it started, in the kernel's ticks since the machine did; 0 where that cannot be read.
    pub started: u64,
}

impl ServerProcess {
    /// This process.
    pub fn this() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self { pid, started: started(pid).unwrap_or(0) }
    }

    /// Whether it has not ended.
    pub fn is_alive(self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// When a process started. `None` where there is none, or only what its parent has not yet taken notice of.
fn started(pid: i32) -> Option<u64> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything, so the fields are counted from its end.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&text[end + 1..]).ok()?.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
    let started = fields.nth(18)?.parse().ok()?;
    (!is_dead).then_some(started)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(client: &str, directory: &str, server: ServerProcess) -> Owner {
        Owner { client: client.to_owned(), directory: directory.into(), server }
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let this = ServerProcess::this();
        assert!(this.started > 0 && this.is_alive());
        assert!(!ServerProcess { started: this.started + 1, ..this }.is_alive());
    }

    #[test]
    fn what_a_server_left_is_for_the_same_client_in_the_same_directory() {
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        let alive = ServerProcess { pid: parent, started: started(parent).unwrap() };
        let gone = ServerProcess { started: alive.started + 1, ..alive };
        let this = Owner::served_here("agent", Path::new("/work"));
        for (client, directory, server, expected) in [
            ("agent", "/work", this.server, true),
            ("agent", "/work", gone, true),
            ("agent", "/work", alive, false),
            ("agent", "/other", gone, false),
            ("other", "/work", gone, false),
            ("other", "/other", this.server, true),
        ] {
            let other = owner(client, directory, server);
            assert_eq!(this.continues(&other), expected, "{other:?}");
        }
    }

    #[test]
    fn a_name_is_one_short_line() {
        let named = Owner::served_here(&format!("a\n\u{1b}b{}", "c".repeat(100)), Path::new("/"));
        assert_eq!(named.client, format!("ab{}", "c".repeat(62)));
    }
}
