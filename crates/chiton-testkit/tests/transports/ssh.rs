//! OpenSSH.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use chiton_testkit::processes::{eventually, program_of};
use chiton_testkit::transports::{MachineOptions, Sshd, SshdOptions, put_ssh_on_path, usable};

use crate::{LIMIT, begun, client, fed, is_gone, kill, works};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A machine with this login shell.
fn with_shell(shell: &str) -> SshdOptions {
    let machine = MachineOptions { login_shell: shell.into(), ..MachineOptions::default() };
    SshdOptions { machine, ..SshdOptions::default() }
}

/// How many commands sleep on the other machine.
fn sleeping(sshd: &Sshd) -> usize {
    sshd.machine().processes().into_iter().filter(|pid| program_of(*pid) == "sleep").count()
}

#[test]
fn ssh_carries_bytes_and_endings() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    works(&sshd.client(), &["exec sh"]);
    assert_eq!(sshd.logins(), 2, "{}", sshd.log());

    let (folder, port) = (sshd.machine().folder().to_owned(), sshd.port());
    drop(sshd);
    is_gone(&folder);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "somebody still listens");
}

#[test]
fn ssh_starts_the_login_shell_of_the_account() {
    if !usable(&Sshd::available()) {
        return;
    }
    for (shell, question) in [
        ("/bin/bash", "echo $0 $BASH_VERSION"),
        ("/bin/sh", "echo $0 ${BASH_VERSION:-none}"),
        ("/usr/bin/fish", "echo fish $version"),
        ("/usr/bin/tcsh", "echo tcsh $version"),
    ] {
        if !Path::new(shell).exists() && !usable(&Err(format!("{shell} is not installed"))) {
            continue;
        }
        let sshd = Sshd::start(&with_shell(shell));
        let said = fed(client(&sshd.client(), &[&format!("{question}; echo $SHELL; echo ~")]), b"");
        let lines = text(&said.stdout);
        println!("{shell}: {lines}");
        let rest = format!("\n{shell}\n{}\n", sshd.machine().home().display());
        assert!(lines.ends_with(&rest), "{lines}{}", text(&said.stderr));
        let name = shell.rsplit('/').next().expect("it has a name");
        assert!(lines.starts_with(name) || lines.starts_with(shell), "{lines}");
    }
}

#[test]
fn a_server_has_a_home_a_banner_and_an_environment() {
    if !usable(&Sshd::available()) {
        return;
    }
    let mut options = with_shell("/bin/bash");
    options.banner = Some("Keep out!\n".to_owned());
    options.machine.home_files.insert(".bashrc".to_owned(), "echo chatty\n".to_owned());
    options.machine.environment.insert("XDG_STATE_HOME".to_owned(), "~/some where/\"else\"".to_owned());
    let sshd = Sshd::start(&options);

    let said = fed(client(&sshd.client(), &["echo $HOME; echo $XDG_STATE_HOME; hostname"]), b"");
    let home = sshd.machine().home();
    assert_eq!(text(&said.stdout), format!("chatty\n{0}\n{0}/some where/\"else\"\nfar\n", home.display()));
    assert!(text(&said.stderr).contains("Keep out!"), "{}", text(&said.stderr));
}

#[test]
fn a_server_is_known_by_its_alias() {
    if !usable(&Sshd::available()) {
        return;
    }
    let one = Sshd::start(&SshdOptions { alias: "one".to_owned(), ..SshdOptions::default() });
    let mut options = SshdOptions { alias: "two".to_owned(), ..SshdOptions::default() };
    options.machine.host_name = "second".to_owned();
    let two = Sshd::start(&options);

    let by_file = fed(
        client(&["ssh".to_owned(), "-F".to_owned(), one.config().display().to_string()], &["one", "hostname"]),
        b"",
    );
    assert_eq!(text(&by_file.stdout), "far\n", "{}", text(&by_file.stderr));

    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    put_ssh_on_path(folder.path(), &[&one, &two]);
    let mut command = Command::new(folder.path().join("ssh"));
    command.args(["two", "hostname"]);
    let by_wrapper = fed(command, b"");
    assert_eq!(text(&by_wrapper.stdout), "second\n", "{}", text(&by_wrapper.stderr));
}

#[test]
fn a_connection_can_be_lost_while_its_command_goes_on() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let mut first = begun(&sshd.client(), &["echo begun; exec sleep 1001"]);
    let mut second = begun(&sshd.client(), &["echo begun; exec sleep 1002"]);
    let connections = sshd.connections();
    assert_eq!(connections.len(), 2, "{connections:?}");

    // The server stops: nobody notices.
    for connection in &connections {
        connection.stall();
    }
    assert!(first.try_wait().expect("it is our child").is_none());
    for connection in &connections {
        connection.resume();
    }

    for connection in &connections {
        connection.kill();
    }
    assert_eq!(first.wait().expect("it is our child").code(), Some(255));
    assert_eq!(second.wait().expect("it is our child").code(), Some(255));
    assert!(eventually(LIMIT, || sshd.connections().is_empty()), "{:?}", sshd.connections());
    assert!(eventually(LIMIT, || sleeping(&sshd) == 2), "{:?}", sshd.machine().processes());

    // The client is killed: the server ends its side, the command goes on.
    let mut third = begun(&sshd.client(), &["echo begun; exec sleep 1003"]);
    kill(&mut third);
    assert!(eventually(LIMIT, || sshd.connections().is_empty()), "{:?}", sshd.connections());
    assert!(eventually(LIMIT, || sleeping(&sshd) == 3), "{:?}", sshd.machine().processes());
    assert_eq!(sshd.logins(), 3);
}

#[test]
fn a_server_refuses_for_a_while() {
    if !usable(&Sshd::available()) {
        return;
    }
    let mut sshd = Sshd::start(&SshdOptions::default());
    let mut open = begun(&sshd.client(), &["echo begun; cat"]);
    sshd.refuse_connections();
    let refused = fed(client(&sshd.client(), &["true"]), b"");
    assert_eq!(refused.status.code(), Some(255));
    assert!(text(&refused.stderr).contains("refused"), "{}", text(&refused.stderr));
    assert_eq!(sshd.connections().len(), 1, "the open one goes on");

    sshd.accept_connections();
    assert!(fed(client(&sshd.client(), &["true"]), b"").status.success());
    drop(open.stdin.take());
    assert!(open.wait().expect("it is our child").success(), "the open one went on");
    assert_eq!(sshd.logins(), 2);
}

#[test]
fn a_machine_can_be_switched_off() {
    if !usable(&Sshd::available()) {
        return;
    }
    let mut sshd = Sshd::start(&SshdOptions::default());
    let mut running =
        begun(&sshd.client(), &["(setsid sleep 1004 >/dev/null 2>&1 &); echo $$ > pid; echo begun; exec cat"]);
    let there = fs::read_to_string(sshd.machine().home().join("pid")).expect("the command has written it");
    let here = sshd.machine().process_here(there.trim().parse().expect("it is a number")).expect("it lives");
    assert!(eventually(LIMIT, || program_of(here) == "cat"), "{}", program_of(here));

    sshd.machine_mut().switch_off();
    assert_eq!(running.wait().expect("it is our child").code(), Some(255));
    assert!(sshd.machine().processes().is_empty(), "all of them ended");
}
