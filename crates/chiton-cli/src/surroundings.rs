//! What the command line finds around it and gives to the engine, which looks for nothing by itself.

use std::env;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use chiton_engine::{ByteString, Notify};
use rustix::fs::FileType;

/// Where state is kept: `$XDG_STATE_HOME/chiton`, or below the home directory.
pub(crate) fn state_directory() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(path) = absolute("XDG_STATE_HOME") {
        return Ok(path.join("chiton"));
    }
    match absolute("HOME") {
        Some(home) => Ok(home.join(".local/state/chiton")),
        None => bail!(
            "neither XDG_STATE_HOME nor HOME is set to a directory, so there is no place for state: set one of them, or give --state-dir"
        ),
    }
}

/// The home directory, where there is one.
pub(crate) fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Where things are kept that somebody who clears the state does not mean to lose: `$XDG_DATA_HOME/chiton`, or below the
/// home directory.
pub(crate) fn data_directory() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    data.map(|data| data.join("chiton"))
}

/// Where the encrypted secrets are kept: `$XDG_DATA_HOME/chiton/secrets`, or below the home directory. They are not
/// state: somebody who clears that does not mean to lose them.
pub(crate) fn secrets_directory() -> Result<PathBuf> {
    data_directory().map(|data| data.join("secrets")).context(
        "neither XDG_DATA_HOME nor HOME is set to a directory, so there is no place for secrets: set one of them, or give \
         --secrets-dir",
    )
}

/// The working directory as the calling shell names it, symbolic links kept.
pub(crate) fn working_directory() -> Result<PathBuf> {
    let logical = env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
    let physical = match (env::current_dir(), &logical) {
        (Ok(physical), _) => physical,
        // It is gone; the engine says so, and where one could go instead.
        (Err(_), Some(logical)) => return Ok(logical.clone()),
        (Err(error), None) => return Err(error).context("the current directory cannot be found"),
    };
    let same = |path: &PathBuf| {
        let identity = |path: &PathBuf| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
        identity(path).is_some() && identity(path) == identity(&physical)
    };
    Ok(logical.filter(same).unwrap_or(physical))
}

/// The environment, without names that are not text: a shell cannot have those.
pub(crate) fn environment() -> impl Iterator<Item = (String, ByteString)> {
    env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_vec().into())))
}

/// What a program needs to show something to a person. It gets nothing else of this environment.
const SHOWING: [&str; 13] = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SWAYSOCK",
];

/// The program that tells a person of a task, where one is set.
pub(crate) fn notify(words: &[String]) -> Option<Notify> {
    let environment = || environment().filter(|(name, _)| SHOWING.contains(&name.as_str())).collect();
    (!words.is_empty()).then(|| Notify { words: words.to_vec(), environment: environment() })
}

/// Whether standard input is a pipe or a file in which something waits to be read. Nothing of it is read.
pub(crate) fn has_input() -> bool {
    let stdin = io::stdin();
    let Ok(data) = rustix::fs::fstat(&stdin) else { return false };
    match FileType::from_raw_mode(data.st_mode) {
        FileType::Fifo | FileType::Socket => rustix::io::ioctl_fionread(&stdin).is_ok_and(|bytes| bytes > 0),
        FileType::RegularFile => rustix::fs::tell(&stdin).is_ok_and(|place| place < data.st_size.unsigned_abs()),
        _ => false,
    }
}

/// Whether this process was started with a signal ignored.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
