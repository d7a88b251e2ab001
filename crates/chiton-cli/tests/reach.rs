//! The same shell on any machine that a pipe reaches: real clients, real servers, all of it on this machine.
//!
//! A test whose real part is missing says so ("skipped: …") and passes.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests start the program from outside")]

#[path = "reach/near_side.rs"]
mod near_side;

use chiton_testkit::transports::{
    DockerOnPodman, KubeApi, MachineOptions, Podman, PodmanOptions, Root, Sshd, SshdOptions, Temporary, Writable,
    usable,
};
use near_side::{NearSide, text};

#[test]
fn a_command_runs_over_ssh_as_it_does_here() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());

    let first = near.run(&["run", "--on", "far", "echo out; echo err >&2; hostname; exit 7"]);
    assert_eq!(first.status.code(), Some(7), "{}", text(&first.stderr));
    assert_eq!(text(&first.stdout), "out\nfar\n");
    assert!(text(&first.stderr).contains("carrying chiton to far"), "{}", text(&first.stderr));
    assert!(text(&first.stderr).contains("err\n"), "{}", text(&first.stderr));

    let second = near.run(&["run", "--on", "far", "printf '%s\\n' 'a b' \"$HOME\" '$HOME'"]);
    let home = sshd.machine().home();
    assert_eq!(text(&second.stdout), format!("a b\n{}\n$HOME\n", home.display()));
    assert_eq!(text(&second.stderr), "", "nothing is carried twice");
}

#[test]
fn every_verb_works_over_ssh() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    let on = |words: &[&str]| {
        let (verb, rest) = words.split_first().unwrap();
        near.run(&[&[*verb, "--on", "far"], rest].concat())
    };
    let started =
        on(&["run", "--background", "--open-stdin", "echo begun; read line; echo got $line; exec sleep 1000"]);
    let id = text(&started.stdout).trim().to_owned();
    assert!(id.starts_with("shell_"), "{}", text(&started.stderr));

    assert!(text(&on(&["ps"]).stdout).contains(&id));
    assert_eq!(on(&["send", &id, "hello"]).status.code(), Some(0));
    let waited = on(&["wait", "--for", "got hello", &id]);
    assert_eq!(waited.status.code(), Some(0), "{}", text(&waited.stderr));
    assert_eq!(text(&on(&["logs", &id]).stdout), "begun\ngot hello\n");
    assert_eq!(on(&["kill", &id]).status.code(), Some(0));
    assert!(!text(&on(&["ps"]).stdout).contains(&id));

    let pty = on(&["run", "--background", "--pty", "echo drawn"]);
    let id = text(&pty.stdout).trim().to_owned();
    on(&["wait", &id]);
    let file = near.folder().join("session.cast");
    let exported = on(&["export", "-o", file.to_str().unwrap(), &id]);
    assert_eq!(exported.status.code(), Some(0), "{}", text(&exported.stderr));
    assert!(std::fs::read_to_string(file).unwrap().contains("drawn"), "the file is on this machine");
    let input = near.run_with_input(&["run", "--on", "far", "--stdin", "-", "wc -c"], &vec![b'x'; 3_000_000]);
    assert_eq!(text(&input.stdout).trim(), "3000000");
}

#[test]
fn every_login_shell_lets_it_in() {
    if !usable(&Sshd::available()) {
        return;
    }
    for shell in ["/bin/bash", "/bin/dash", "/usr/bin/fish", "/bin/tcsh", "/usr/bin/zsh"] {
        if !std::path::Path::new(shell).exists() {
            usable(&Err(format!("{shell} is not installed")));
            continue;
        }
        let noise = "echo 'Welcome!'; printf 'no newline'".to_owned();
        let files =
            [".bashrc", ".cshrc", ".config/fish/config.fish", ".zshenv"].map(|name| (name.to_owned(), noise.clone()));
        let machine =
            MachineOptions { login_shell: shell.into(), home_files: files.into(), ..MachineOptions::default() };
        let banner = Some("Authorised people only.\nchiton-boot is not for you\n".to_owned());
        let sshd = Sshd::start(&SshdOptions { machine, banner, ..SshdOptions::default() });
        let near = NearSide::with_target("far", &sshd.client());
        let ran = near.run(&["run", "--on", "far", "echo \"it's $((40 + 2))\""]);
        assert_eq!(text(&ran.stdout), "it's 42\n", "{shell}: {}", text(&ran.stderr));
    }
}

#[test]
fn a_container_without_bash_is_enough() {
    if !usable(&Podman::available()) {
        return;
    }
    let podman = Podman::start(&PodmanOptions::default());
    let near = NearSide::with_program_folder(&podman.path_folder());
    let target = format!("podman:{}", podman.name());
    let ran = near.run(&["run", "--on", &target, "echo $((6 * 7)); echo $0; exit 3"]);
    assert_eq!((text(&ran.stdout).lines().next(), ran.status.code()), (Some("42"), Some(3)), "{}", text(&ran.stderr));
}

#[test]
fn a_read_only_root_is_enough_where_there_is_a_place_to_run_from() {
    if !usable(&Podman::available()) {
        return;
    }
    let options = PodmanOptions {
        root: Root::Machine,
        writable_root: Writable::No,
        temporary: Temporary::Separate,
        ..PodmanOptions::default()
    };
    let podman = Podman::start(&options);
    let near = NearSide::with_program_folder(&podman.path_folder());
    let ran = near.run(&["run", "--on", &format!("podman:{}", podman.name()), "echo fine"]);
    assert_eq!(text(&ran.stdout), "fine\n", "{}", text(&ran.stderr));
}

#[test]
fn where_there_is_no_place_every_one_that_was_tried_is_named() {
    if !usable(&Podman::available()) {
        return;
    }
    let options =
        PodmanOptions { writable_root: Writable::No, temporary: Temporary::NoExec, ..PodmanOptions::default() };
    let podman = Podman::start(&options);
    let near = NearSide::with_program_folder(&podman.path_folder());
    let ran = near.run(&["run", "--on", &format!("podman:{}", podman.name()), "echo no"]);
    let said = text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(125), "{said}");
    for part in
        ["/tmp/chiton-0: noexec", "/dev/shm/chiton-0: noexec", "/var/tmp/chiton-0: cannot be made", "What would help"]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn the_real_docker_client_reaches_it() {
    if !usable(&DockerOnPodman::available()) {
        return;
    }
    let docker = DockerOnPodman::start(&PodmanOptions::default());
    let near = NearSide::with_program_folder(&docker.path_folder());
    let target = format!("docker:{}", docker.container().name());
    let ran = near.run(&["run", "--on", &target, "echo from docker"]);
    assert_eq!(text(&ran.stdout), "from docker\n", "{}", text(&ran.stderr));
}

#[test]
fn a_kind_of_machine_without_a_program_is_refused_by_name() {
    let near = NearSide::new();
    let folder = near.folder().join("other");
    near.program(&folder, "uname", "echo Linux ppc64le");
    near.write_target("odd", &["env".to_owned(), format!("PATH={}:/bin:/usr/bin", folder.display()), "sh".to_owned()]);
    let ran = near.run(&["run", "--on", "odd", "true"]);
    let said = text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(125));
    assert!(said.contains("'Linux ppc64le'") && said.contains("Linux x86_64"), "{said}");
}

#[test]
fn a_target_that_cannot_be_is_said_to_be_none() {
    let near = NearSide::new();
    for (target, part) in [
        ("build", "there is no target 'build'"),
        ("ssh:", "a host is missing"),
        ("ssh:-oProxyCommand=touch canary", "does not begin with '-'"),
        ("slurm:abc", "the number of a job"),
        ("podman:no-such-thing-here", "cannot be reached"),
    ] {
        let ran = near.run(&["run", "--on", target, "true"]);
        assert_eq!(ran.status.code(), Some(125));
        assert!(text(&ran.stderr).contains(part), "{target}: {}", text(&ran.stderr));
    }
    near.write_target("mute", &["true".to_owned()]);
    let ran = near.run(&["ps", "--on", "mute"]);
    assert!(text(&ran.stderr).contains("ended without a word"), "{}", text(&ran.stderr));
}

#[test]
fn the_pods_of_a_selector_run_it_each() {
    if !usable(&KubeApi::available()) {
        return;
    }
}
