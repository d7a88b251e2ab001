//! Whether what commands change can be undone here. It is tried: a command removes a file, and that is undone.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use chiton_engine::changes::{ChangeLogs, UndoOptions};
use rustix::fs::{Access, access, ioctl_ficlone};

use super::finding::Finding;
use super::trial;
use crate::surroundings;

const AREA: &str = "undo";

pub(super) fn undo(state: Option<&Path>) -> Vec<Finding> {
    let Some(state) = state else {
        return vec![Finding::note(AREA, "not tried").why("there is no state directory to keep anything in")];
    };
    let mut findings = vec![match trial(state) {
        Ok(Tried::Undone) => Finding::ok(AREA, "a command in a sandbox changed and removed files, and that was undone"),
        Ok(Tried::Unseen) => Finding::note(AREA, "what commands change cannot be undone here")
            .why("the kernel tells nobody what a command in a sandbox changes (it needs seccomp with notification)")
            .remedy("see what stands under sandbox; a checkpoint of btrfs works without it"),
        Err(error) => Finding::problem(AREA, format!("what a command changes cannot be undone: {error:#}"))
            .why("`chiton undo` would not work")
            .remedy("see to the other problems first; if there are none, report this one"),
    }];
    findings.extend(place(state));
    findings
}

enum Tried {
    Undone,
    /// Nobody saw what the command changed.
    Unseen,
}

/// A command in a folder of its own, among temporary files; nothing of it is left.
fn trial(state: &Path) -> Result<Tried> {
    let folder = Folder::make(&std::env::temp_dir())?;
    let (one, other) = (folder.0.join("removed"), folder.0.join("changed"));
    fs::write(&one, "1")?;
    fs::write(&other, "2")?;
    let report = trial::watched(state, &folder.0, "rm removed; echo 3 >> changed; echo 4 > made")?;
    let Some(id) = report.changed.and_then(|changed| changed.undo) else { return Ok(Tried::Unseen) };
    let logs = ChangeLogs::new(state);
    let undone = logs.undo(&id, UndoOptions::default());
    logs.forget(&id);
    let undone = undone?;
    undone.undo.iter().for_each(|id| logs.forget(id));

    ensure!(undone.left_alone.is_empty() && undone.failed.is_empty(), "some of it was not put back");
    let is_as_before = fs::read(&one).is_ok_and(|text| text == b"1") && fs::read(&other).is_ok_and(|text| text == b"2");
    ensure!(is_as_before && !folder.0.join("made").exists(), "the files are not what they were");
    Ok(Tried::Undone)
}

/// A folder that is gone with this.
struct Folder(PathBuf);

impl Folder {
    fn make(place: &Path) -> Result<Self> {
        let folder = place.join(format!("chiton-doctor-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        Ok(Self(folder.canonicalize()?))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How things of the current directory would be kept.
fn place(state: &Path) -> Option<Finding> {
    let here = surroundings::working_directory().ok()?;
    let device = |path: &Path| fs::metadata(path).ok().map(|data| data.dev());
    let above = state.ancestors().find(|path| path.exists())?;
    if device(&here) == device(above) {
        let shares = if shares_blocks(above) {
            "so removed files are kept as they are, and changed ones share their blocks with what they were"
        } else {
            "so removed files are kept as they are; the former content of changed ones is copied"
        };
        return Some(Finding::ok(
            AREA,
            format!("{} is on the file system of the state directory, {shares}", here.display()),
        ));
    }
    let is_near = |folder: &&Path| device(folder) == device(&here) && access(*folder, Access::WRITE_OK).is_ok();
    let near = here.ancestors().skip(1).find(is_near);
    Some(match near {
        Some(near) => Finding::ok(
            AREA,
            format!(
                "{} is on another file system than the state directory: what commands there remove is kept in a hidden \
                 folder in {} or above",
                here.display(),
                near.display()
            ),
        ),
        None => Finding::note(AREA, format!("{} is on another file system than the state directory", here.display()))
            .why("what commands there remove or change has to be copied, up to 128 MiB a file")
            .remedy("give a state directory on that file system, with --state-dir"),
    })
}

/// Whether two files can share their blocks there.
fn shares_blocks(place: &Path) -> bool {
    let Ok(folder) = Folder::make(place) else { return false };
    let (from, to) = (folder.0.join("from"), folder.0.join("to"));
    let cloned = || -> std::io::Result<()> {
        fs::write(&from, vec![1; 4096])?;
        Ok(ioctl_ficlone(fs::File::create(&to)?, fs::File::open(&from)?)?)
    };
    cloned().is_ok()
}
