//! Whether a text is a command at all: here, and for `bash -n`.
#![expect(clippy::disallowed_methods, reason = "the oracle is bash itself, without the engine")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use chiton_shell::Failure;

/// How the two readings compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Both take it.
    BothTake,
    /// Both reject it.
    BothReject,
    /// Bash takes it; here it is rejected, for this reason.
    OnlyBash(String),
    /// It is taken here; bash says this.
    OnlyHere(String),
    /// It is larger than what is examined here, whatever bash says.
    TooLarge,
}

/// Compares the two readings of `text`.
pub fn agreement(text: &[u8]) -> Result<Agreement> {
    let here = chiton_shell::parse(text);
    if let Err(error) = &here
        && matches!(error.failure, Failure::TooLong | Failure::TooDeep | Failure::TooInvolved | Failure::Nul)
    {
        return Ok(Agreement::TooLarge);
    }
    let complaint = complaint(text)?;
    Ok(match (here, complaint) {
        (Ok(_), None) => Agreement::BothTake,
        (Err(_), Some(_)) => Agreement::BothReject,
        (Err(error), None) => {
            let line = text[..error.span.start.min(text.len())].split(|byte| *byte == b'\n').count();
            Agreement::OnlyBash(format!("line {line}: {error}"))
        }
        (Ok(_), Some(complaint)) => Agreement::OnlyHere(complaint),
    })
}

/// What `bash -n` says about `text`, where it rejects it. Nothing of it runs.
pub fn complaint(text: &[u8]) -> Result<Option<String>> {
    // Extended patterns are read here wherever they stand; bash reads them once a line before has switched them on.
    let mut child = Command::new("bash")
        .args(["--norc", "--noprofile", "-O", "extglob", "-n"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("bash is missing")?;
    let mut input = child.stdin.take().context("the standard input is a pipe")?;
    let text = text.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = input.write_all(&text);
    });
    let output = child.wait_with_output()?;
    let _ = writer.join();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((!output.status.success()).then(|| said.lines().next().unwrap_or_default().to_owned()))
}

/// The scripts for bash or sh that are installed on this machine.
pub fn installed_scripts() -> Vec<PathBuf> {
    const FOLDERS: [&str; 8] = [
        "/usr/bin", "/usr/sbin", "/usr/local/bin", "/etc", "/usr/lib/git-core", "/usr/share/bash-completion",
        "/usr/share/debconf", "/var/lib/dpkg/info",
    ];
    let mut scripts = Vec::new();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_script(&path) {
                scripts.push(path);
            }
        }
    }
    scripts.sort();
    scripts
}

fn is_script(path: &std::path::Path) -> bool {
    use std::io::Read;

    let mut start = [0_u8; 64];
    let Ok(length) = std::fs::File::open(path).and_then(|mut file| file.read(&mut start)) else { return false };
    let line = start[..length].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    let interpreter = line.strip_prefix("#!").unwrap_or_default().replace("/usr/bin/env ", "");
    let program = interpreter.split_whitespace().next().unwrap_or_default();
    matches!(program.rsplit('/').next(), Some("bash" | "sh" | "dash"))
}
