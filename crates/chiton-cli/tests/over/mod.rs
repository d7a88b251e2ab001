//! The rows of the matrix on another machine: the same folder of the case, its own state, the near side's secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use chiton_testkit::carried_program;
use chiton_testkit::transports::{Podman, PodmanOptions, Root, Sshd, SshdOptions, usable};
use serde_json::Value;
use tempfile::TempDir;

use crate::place::Place;

/// A way to another machine. The machine is there from the first row to the last.
pub struct Way {
    pub name: &'static str,
    machine: OnceLock<Machine>,
}

enum Machine {
    Ssh(Box<Sshd>, TempDir),
    Podman(Box<Podman>, TempDir),
}

/// Those that there are here.
pub fn ways() -> Vec<Arc<Way>> {
    let mut ways = Vec::new();
    for (name, available) in [("ssh", Sshd::available()), ("podman", Podman::available())] {
        if usable(&available) {
            ways.push(Arc::new(Way { name, machine: OnceLock::new() }));
        }
    }
    ways
}

impl Way {
    fn machine(&self) -> &Machine {
        self.machine.get_or_init(|| {
            let cache = tempfile::Builder::new().prefix("far-cache-").tempdir().unwrap();
            if self.name == "ssh" {
                return Machine::Ssh(Box::new(Sshd::start(&SshdOptions::default())), cache);
            }
            let temporary = std::env::temp_dir().display().to_string();
            let arguments = vec!["--volume".to_owned(), format!("{temporary}:{temporary}")];
            let options = PodmanOptions { root: Root::Machine, arguments, ..PodmanOptions::default() };
            Machine::Podman(Box::new(Podman::start(&options)), cache)
        })
    }

    /// Has a server do its work there.
    pub fn lead(&self, command: &mut Command, place: &Place, case: &Value) {
        let folder = place.folder.path();
        let near = folder.join("near");
        fs::create_dir_all(&near).unwrap();
        let (cache, words) = match self.machine() {
            Machine::Ssh(sshd, cache) => (cache, sshd.client()),
            Machine::Podman(podman, cache) => (cache, podman.client()),
        };
        let mut there: BTreeMap<&str, String> = BTreeMap::from([
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", folder.display().to_string()),
            ("XDG_STATE_HOME", folder.join("state").display().to_string()),
            ("XDG_DATA_HOME", near.join("nothing").display().to_string()),
            ("XDG_CACHE_HOME", cache.path().display().to_string()),
        ]);
        for (name, value) in case["env"].as_object().into_iter().flatten() {
            // What the settings and the secrets of the near side are is none of the far side's business.
            if !name.starts_with("CHITON_") && name != "THE_KEY" {
                there.insert(name, value.as_str().unwrap().to_owned());
            }
        }
        // How commands are judged there is for the settings there to say.
        if case["args"].as_array().is_some_and(|words| words.iter().any(|word| word == "--guard")) {
            there.insert("CHITON_GUARD_MODE", "off".to_owned());
        }
        let mut script = format!("cd '{}' && exec env -i", folder.display());
        for (name, value) in &there {
            write!(script, " {name}='{}'", value.replace('\'', "'\\''")).unwrap();
        }
        let connect = match self.machine() {
            Machine::Ssh(..) => [words, vec![format!("{script} sh")]].concat(),
            Machine::Podman(..) => [words, vec!["sh".to_owned(), "-c".to_owned(), format!("{script} sh")]].concat(),
        };
        let connect: Vec<String> = connect.iter().map(|word| Value::from(word.as_str()).to_string()).collect();
        let carry = carried_program();
        let settings = near.join("config.toml");
        let text = format!(
            "carry = {:?}\n[target.far]\nlease = 2\nconnect = [{}]\n",
            carry.parent().unwrap(),
            connect.join(", ")
        );
        fs::write(&settings, text).unwrap();
        command.env("CHITON_CONFIG", &settings).env("XDG_STATE_HOME", near.join("state")).args(["--on", "far"]);
    }
}
