//! The program as it is carried to other machines: the tests' build, linked once more so that it needs no library there.
//!
//! Cargo builds it as a variant of `chiton` with another profile, so that everything below is used as it is, and neither
//! `target/debug/chiton` nor what cargo knows about it changes. A stand-in for rustc ([`STAND_IN`]) adds to this one
//! compilation what no profile can say.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Which packages cargo chooses features for. The same ones as for the tests that run: otherwise everything that the
/// program consists of is built again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `cargo test --workspace`.
    Workspace,
    /// `cargo test -p chiton-cli`.
    Program,
}

impl Scope {
    /// That of the tests that run now, as far as the command line of their cargo says.
    fn of_these_tests() -> Self {
        let line = fs::read(format!("/proc/{}/cmdline", parent_id())).unwrap_or_default();
        let is_whole = line.split(|byte| *byte == 0).any(|word| matches!(word, b"--workspace" | b"--all"));
        if is_whole { Self::Workspace } else { Self::Program }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Workspace => &["--workspace"],
            Self::Program => &["-p", "chiton-cli", "-p", "chiton-testkit"],
        }
    }
}

/// Runs rustc, or the wrapper that the user has, as cargo has said; the program alone is linked statically, and elsewhere.
const STAND_IN: &str = r#"#!/bin/sh
case " $* " in
*" --crate-name chiton "*) exec $CHITON_WRAPPED "$@" -C target-feature=+crt-static -C link-arg=-static --emit "link=$CHITON_CARRIED" ;;
*) exec $CHITON_WRAPPED "$@" ;;
esac
"#;

/// Why it cannot be made here.
pub fn available() -> Result<(), String> {
    let answer = command("cc").arg("-print-file-name=libc.a").output();
    let answer = answer.map_err(|_| "there is no linker `cc`: apt-get install gcc")?;
    // A linker that does not find the file prints the name as it is.
    let is_there = String::from_utf8_lossy(&answer.stdout).contains('/');
    if is_there { Ok(()) } else { Err("there is no libc.a to link statically: apt-get install libc6-dev".to_owned()) }
}

/// The program that tests carry to other machines, in `target/debug/carried`. It is made when it is missing, or older than
/// the program that the tests use here.
///
/// # Panics
/// When it cannot be made; [`available`] says why.
pub fn carried_program() -> PathBuf {
    make(Scope::of_these_tests()).unwrap_or_else(|reason| panic!("{reason}"))
}

/// Makes it where that is needed; gives where it is, or why it cannot be made.
pub fn make(scope: Scope) -> Result<PathBuf, String> {
    let profile = profile_folder()?;
    let folder = profile.join("carried");
    let says = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(says)?;
    // The first one that needs it makes it, and the others wait.
    let lock = OpenOptions::new().create(true).append(true).open(folder.join("lock")).map_err(says)?;
    File::lock(&lock).map_err(says)?;

    let made = folder.join("chiton");
    let is_current = changed(&profile.join("chiton")).is_none_or(|used| Some(used) <= changed(&made));
    if !(made.exists() && is_current) {
        available()?;
        link(scope, &profile, &folder)?;
        fs::rename(folder.join("chiton.new"), &made).map_err(says)?;
    }
    Ok(made)
}

/// Links it as `chiton.new` in `folder`.
fn link(scope: Scope, profile: &Path, folder: &Path) -> Result<(), String> {
    let stand_in = folder.join("rustc");
    fs::write(&stand_in, STAND_IN).map_err(|error| error.to_string())?;
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;

    let name = match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let mut cargo = command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg("build").args(scope.arguments()).args(["--bin", "chiton"]);
    // A test among the targets, which is built already, has cargo choose features as it does for tests.
    cargo.args(["--test", "transports", "--quiet", "--profile", name]);
    cargo.arg("--target-dir").arg(profile.parent().unwrap_or(profile));
    cargo.args(["--config", &format!("profile.{name}.package.chiton-cli.strip=\"symbols\"")]);
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    cargo.env("CHITON_WRAPPED", env::var_os("RUSTC_WRAPPER").unwrap_or_default());
    cargo.env("RUSTC_WRAPPER", &stand_in).env("CHITON_CARRIED", folder.join("chiton.new"));

    let output = cargo.output().map_err(|error| format!("cargo does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("the program cannot be linked statically:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// `target/debug`, or its like for another profile: the folder that this program is in, or, for a test, below.
fn profile_folder() -> Result<PathBuf, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    Ok(folder.to_owned())
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

#[expect(clippy::disallowed_methods, reason = "cargo and the linker are not the engine's")]
fn command(program: impl Into<OsString>) -> Command {
    Command::new(program.into())
}
