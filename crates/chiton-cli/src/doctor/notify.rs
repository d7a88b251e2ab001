//! The program that tells a person of a task.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use chiton_engine::NOTIFY_FAILED;
use rustix::fs::{Access, access};

use super::finding::Finding;
use crate::settings::Settings;

const AREA: &str = "notify";

pub(super) fn notify(state: Option<&Path>, settings: &Settings) -> Vec<Finding> {
    let Some(program) = settings.notify.first() else {
        return vec![Finding::ok(AREA, "nobody is told when a background command ends: no program is set for that")];
    };
    let shown = settings.notify.join(" ");
    let Some(found) = find(program) else {
        return vec![
            Finding::problem(AREA, format!("{program} cannot be executed, or is not there"))
                .why(format!("it is to be told when a background command ends or waits for input: {shown}"))
                .remedy("install it, or change notify in the settings"),
        ];
    };
    let failed = state.and_then(|state| fs::read_to_string(state.join(NOTIFY_FAILED)).ok());
    vec![match failed {
        Some(failed) => {
            Finding::problem(AREA, format!("{} failed the last time, for {}", found.display(), failed.trim()))
                .why(format!("it is to be told when a background command ends or waits for input: {shown}"))
                .remedy("try it by hand, without a terminal and with few variables")
        }
        None => Finding::ok(AREA, format!("{shown} is told when a background command ends or waits for input")),
    }]
}

fn find(program: &str) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_executable);
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(is_executable)
}
