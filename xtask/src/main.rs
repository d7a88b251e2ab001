//! Chores of the project: `cargo xtask test`.
#![expect(clippy::disallowed_methods, reason = "a chore is to start other programs")]

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Result, bail, ensure};

const HELP: &str = "\
Chores of the project.

  cargo xtask test     everything: format, lints, all tests, documentation
";

fn main() -> ExitCode {
    let chore = env::args().nth(1).unwrap_or_default();
    let done = match chore.as_str() {
        "test" => test(),
        "" | "help" | "--help" => {
            print!("{HELP}");
            Ok(())
        }
        other => {
            eprint!("there is no chore '{other}'\n\n{HELP}");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<()> {
    ensure!(
        quiet("bash", &["--version"]),
        "bash is missing: the engine runs commands with it, and the tests compare with it. Install it first."
    );
    component("rustfmt", &["fmt", "--version"])?;
    component("clippy", &["clippy", "--version"])?;
    cargo(&["fmt", "--all", "--check"], "the format differs: run `cargo fmt --all`")?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], "clippy has objections")?;
    // Documentation tests compile the example of the library; the rest runs what it promises.
    cargo(&["test", "--workspace", "--no-fail-fast"], "tests failed")
}

/// Makes sure that a part of the tool chain is there, installing it where that can be done.
fn component(name: &str, check: &[&str]) -> Result<()> {
    if quiet("cargo", check) || (quiet("rustup", &["component", "add", name]) && quiet("cargo", check)) {
        return Ok(());
    }
    bail!(
        "{name} is missing and could not be installed: run `rustup component add {name}`, or install your system's package of it"
    )
}

fn quiet(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn cargo(arguments: &[&str], otherwise: &str) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    eprintln!("\n== cargo {}", arguments.join(" "));
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program).args(arguments).current_dir(root).status()?;
    ensure!(status.success(), "{otherwise}");
    Ok(())
}
