//! Using an installed package once: its version, a command, and a tool call over MCP.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Carried, Packaging};
use crate::dist::{VERSION, answer, whole_answer};
use crate::quiet;

/// Nothing here takes so long; whatever does hangs.
const SECONDS: &str = "120";

/// Uses the program that `words` start, from the folder `place`.
pub(super) fn use_once(what: &str, place: &Path, words: &[PathBuf]) -> Result<()> {
    // Beside the place, not in it: a folder above a home is no place to work in.
    let mut home = place.as_os_str().to_owned();
    home.push("-home");
    let home = PathBuf::from(home);
    fs::create_dir_all(&home)?;
    let start = || {
        let mut command = Command::new("timeout");
        command.arg(SECONDS).args(words).current_dir(place).stdin(Stdio::null());
        // Neither the settings nor the state of whoever runs this.
        command.env("HOME", &home).env("XDG_STATE_HOME", home.join("state")).env_remove("XDG_CONFIG_HOME");
        command
    };
    check(start).with_context(|| format!("{what} does not work"))?;
    println!("{what}: chiton --version, chiton run and a tool call over MCP work");
    Ok(())
}

fn check(start: impl Fn() -> Command) -> Result<()> {
    let version = answer(start().arg("--version"))?;
    ensure!(version == format!("chiton {VERSION}"), "it calls itself {version}");
    let printed = whole_answer(start().args(["run", "echo hello"]))?;
    ensure!(printed == "hello\n", "`chiton run 'echo hello'` prints {printed:?}");
    let reply = call_over_mcp(start())?;
    ensure!(reply.contains("hello from a tool"), "the tool replies {reply}");
    Ok(())
}

/// Checks that the program which `words` start finds all of `carried` to carry: it names them where a machine has none of their
/// processors.
pub(super) fn carries(what: &str, place: &Path, words: &[PathBuf], carried: &[Carried]) -> Result<()> {
    let mut folder = place.as_os_str().to_owned();
    folder.push("-odd");
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder)?;
    let (uname, settings) = (folder.join("uname"), folder.join("config.toml"));
    fs::write(&uname, "#!/bin/sh\necho Linux odd\n")?;
    fs::set_permissions(&uname, fs::Permissions::from_mode(0o755))?;
    let path = format!("PATH={}:/usr/bin:/bin", folder.display());
    fs::write(&settings, format!("[target.odd]\nconnect = [\"env\", \"{path}\", \"sh\"]\n"))?;

    let mut command = Command::new("timeout");
    command.arg(SECONDS).args(words).arg("--config").arg(&settings).args(["run", "--on", "odd", "true"]);
    command.current_dir(place).env("HOME", &folder).env("XDG_STATE_HOME", folder.join("state"));
    let output = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for one in carried {
        ensure!(said.contains(&format!("Linux {}", one.processor)), "{what} does not carry {}: {said}", one.processor);
    }
    let names: Vec<&str> = carried.iter().map(|one| one.processor).collect();
    println!("{what}: programs for {} can be carried", names.join(" and "));
    Ok(())
}

/// Greets the server on standard input and output, calls its tool, and says goodbye by closing its input.
fn call_over_mcp(mut command: Command) -> Result<String> {
    let mut server = command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = server.stdin.take().context("the server has no input")?;
    let mut output = BufReader::new(server.stdout.take().context("the server has no output")?);
    let mut ask = |message: Value| -> Result<()> { Ok(writeln!(input, "{message}")?) };
    let mut hear = |id: u64| loop {
        let mut line = String::new();
        ensure!(output.read_line(&mut line)? > 0, "the server has ended before it answered");
        let message: Value = serde_json::from_str(&line).with_context(|| format!("the server says {line}"))?;
        if message["id"] == id {
            return Ok(message["result"].clone());
        }
    };

    let greeting = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "package", "version": VERSION},
    });
    ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}))?;
    let welcome = hear(1)?;
    ensure!(welcome["serverInfo"]["name"].is_string(), "the server's greeting is {welcome}");
    ask(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    let call = json!({"name": "Bash", "arguments": {"command": "echo hello from a tool"}});
    ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))?;
    let reply = hear(2)?;

    drop(input);
    let status = server.wait()?;
    ensure!(status.success(), "the server ended with {status}");
    Ok(reply["content"].to_string())
}

/// Runs the program where there is no library at all: in a root with a static shell and nothing else.
pub(super) fn without_libraries(packaging: &Packaging, program: &Path) -> Result<()> {
    let busybox = Path::new("/bin/busybox");
    let is_static = busybox.exists() && !quiet("sh", &["-c", "readelf -lW /bin/busybox | grep -q INTERP"]);
    if !is_static || !quiet("unshare", &["--map-root-user", "--pid", "--fork", "true"]) {
        eprintln!(
            "no static busybox (Debian's package is busybox-static) or no namespaces: not tried without libraries"
        );
        return Ok(());
    }
    let root = packaging.empty_place("bare")?;
    for folder in ["bin", "proc", "tmp", "dev"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::copy(program, root.join("bin/chiton"))?;
    fs::copy(busybox, root.join("bin/busybox"))?;
    std::os::unix::fs::symlink("busybox", root.join("bin/sh"))?;
    // As everywhere: a shell reads what it is given by its number.
    std::os::unix::fs::symlink("/proc/self/fd", root.join("dev/fd"))?;
    fs::write(root.join("dev/null"), "")?;

    let script = format!(
        "mount --bind /dev/null {0}/dev/null && mount -t proc proc {0}/proc && exec chroot {0} \"$@\"",
        root.display()
    );
    let run = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command.args([SECONDS, "unshare", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", &script, "sh"]);
        command
            .args(words)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/tmp")
            .stdin(Stdio::null());
        answer(&mut command)
    };
    ensure!(run(&["/bin/chiton", "--version"])? == format!("chiton {VERSION}"), "it does not know its version");
    let printed = run(&["/bin/chiton", "run", "echo hello; (cd /tmp && pwd)"])?;
    ensure!(printed == "hello\n/tmp", "without any library, `chiton run` prints {printed:?}");
    println!("the program works in a root without any library");
    Ok(())
}
