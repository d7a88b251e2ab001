//! Which layers a sandbox has here. Each is tried by putting a command into one: a setting that says nothing against it is no
//! proof.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use chiton_engine::sandbox::report::SandboxReport;
use rustix::fs::{Access, access};

use super::finding::Finding;
use super::trial;

const AREA: &str = "sandbox";
const WEAKER: &str = "a sandbox holds less here; each reply says so, and a profile that is named runs nothing";
const WITHOUT: &str = "limits hold for each process, and the keeper adds up what all of them use";

pub(super) fn sandbox(state: Option<&Path>) -> Vec<Finding> {
    let layers = match state.map(trial::sandbox) {
        Some(Ok(report)) => layers(&report),
        Some(Err(error)) => vec![
            Finding::problem(AREA, format!("no command can be put into a sandbox: {error:#}"))
                .why("`--sandbox` runs nothing here")
                .remedy("report this with the version of the kernel (`uname -r`)"),
        ],
        None => vec![Finding::note(AREA, "not tried").why("there is no state directory to try it in")],
    };
    layers.into_iter().chain([control_groups()]).collect()
}

fn layers(report: &SandboxReport) -> Vec<Finding> {
    let held = format!(
        "a command was held: files by {}, network {}, signals within the {}, refusals told by {}",
        report.files, report.network, report.signals, report.watch
    );
    let mut findings = vec![Finding::ok(AREA, held)];
    findings.extend(report.weaker.iter().map(|line| {
        let finding = Finding::note(AREA, format!("weaker: {line}")).why(WEAKER);
        match remedy(line) {
            Some(remedy) => finding.remedy(remedy),
            None => finding,
        }
    }));
    findings
}

/// What gives a missing layer, where somebody can give it.
fn remedy(line: &str) -> Option<String> {
    let is_restricted = setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1");
    if line.starts_with("no namespaces") && is_restricted {
        let program = env::current_exe().ok()?;
        return Some(format!(
            "let root write this into /etc/apparmor.d/chiton and run `apparmor_parser -r` on it: \
             abi <abi/4.0>, profile chiton {} flags=(unconfined) {{ userns, }}",
            program.display()
        ));
    }
    if line.starts_with("no namespaces") && is_in_container() {
        return Some(
            "start the container with --security-opt seccomp=unconfined, or rely on Landlock alone".to_owned(),
        );
    }
    line.starts_with("no namespaces").then(|| "let root set kernel.unprivileged_userns_clone=1".to_owned())
}

fn is_in_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists())
}

fn setting(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Whether limits can be set on groups of processes: the part of the tree that this process is in has to be ours.
fn control_groups() -> Finding {
    let own = setting("/proc/self/cgroup").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("0::"))?;
        Some(PathBuf::from(format!("/sys/fs/cgroup{line}")))
    });
    let Some(group) = own.filter(|group| group.join("cgroup.controllers").is_file()) else {
        return Finding::note(AREA, "no control groups of version 2").why(WITHOUT);
    };
    let shown = group.display();
    let writable =
        [group.clone(), group.join("cgroup.procs")].iter().all(|path| access(path, Access::WRITE_OK).is_ok());
    if !writable {
        return Finding::note(AREA, format!("the control group {shown} is not yours to change")).why(WITHOUT);
    }
    let controllers = setting(&format!("{shown}/cgroup.controllers")).unwrap_or_default();
    let controllers = if controllers.is_empty() { "no controllers".to_owned() } else { controllers };
    Finding::ok(AREA, format!("the control group {shown} can be changed: {controllers}"))
}
