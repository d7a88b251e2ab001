//! The program that is carried to other machines.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use chiton_testkit::transports::{Podman, PodmanOptions, Sshd, SshdOptions, usable};
use chiton_testkit::{carried, carried_program};

use crate::{client, fed};

/// Where cargo puts the program that the tests use here.
fn used_program() -> PathBuf {
    let test = env::current_exe().expect("the system says which program this is");
    test.parent().and_then(|deps| deps.parent()).expect("it is below target").join("chiton")
}

/// Whether it can be made, and without building the program first: that would take minutes.
fn can_be_made() -> Result<(), String> {
    let built = used_program().exists();
    let missing = || "chiton is not built: cargo test --workspace --no-run".to_owned();
    carried::available().and_then(|()| built.then_some(()).ok_or_else(missing))
}

#[test]
fn the_carried_program_needs_no_library_and_leaves_the_other_alone() {
    if !usable(&can_be_made()) {
        return;
    }
    let before = fs::metadata(used_program()).and_then(|file| file.modified()).expect("it is there");
    let program = carried_program();
    let headers = Command::new("readelf").args(["--wide", "--program-headers"]).arg(&program).output();
    let headers = headers.expect("readelf comes with the linker");
    let headers = String::from_utf8_lossy(&headers.stdout).into_owned();
    assert!(headers.contains("LOAD") && !headers.contains("INTERP"), "{headers}");

    let after = fs::metadata(used_program()).and_then(|file| file.modified()).expect("it is there");
    assert_eq!(before, after, "the program of the tests has changed");
    assert_eq!(carried_program(), program, "it is made once");
}

#[test]
fn the_carried_program_works_on_another_machine() {
    if !usable(&can_be_made()) || !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let program = fs::read(carried_program()).expect("it was just made");
    let sent =
        fed(client(&sshd.client(), &["cat > chiton; chmod +x chiton; ./chiton run 'hostname; exit 3'"]), &program);
    assert_eq!(String::from_utf8_lossy(&sent.stdout), "far\n", "{}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(sent.status.code(), Some(3));
}

#[test]
fn the_carried_program_works_where_there_is_no_library() {
    if !usable(&can_be_made()) || !usable(&Podman::available()) {
        return;
    }
    let podman = Podman::start(&PodmanOptions::default());
    let program = fs::read(carried_program()).expect("it was just made");
    let script = "cat > /root/chiton; chmod +x /root/chiton; /root/chiton run 'echo $((1 + 1)); exit 3'";
    let sent = fed(client(&podman.client(), &["sh", "-c", script]), &program);
    assert_eq!(String::from_utf8_lossy(&sent.stdout), "2\n", "{}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(sent.status.code(), Some(3));
}
