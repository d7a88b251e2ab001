//! What the login manager does with processes of users who are gone.

use std::env;
use std::process::{Command, Stdio};

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// There is none here, or this is no login of its own.
    None,
    /// It leaves them alone.
    LeavesAlone,
    /// It ends them, but those in a scope of their own stay: the user lingers.
    SparesScopes,
    /// It ends them all with the last login.
    EndsAll,
}

/// Asks it.
pub fn habit() -> Habit {
    if env::var_os("XDG_SESSION_ID").is_none() {
        return Habit::None;
    }
    let property = [
        "get-property", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
        "KillUserProcesses",
    ];
    match answer("busctl", &property).as_deref() {
        None => Habit::None,
        Some("b true") => {
            let uid = rustix::process::getuid().as_raw().to_string();
            let lingers = answer("loginctl", &["show-user", &uid, "--property=Linger", "--value"]);
            if lingers.as_deref() == Some("yes") { Habit::SparesScopes } else { Habit::EndsAll }
        }
        Some(_) => Habit::LeavesAlone,
    }
}

#[expect(clippy::disallowed_methods, reason = "the login manager is asked by the programs that come with it")]
fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let asked = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    asked.status.success().then(|| String::from_utf8_lossy(&asked.stdout).trim().to_owned())
}
