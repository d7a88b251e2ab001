//! The same shell on any machine that a pipe reaches: real clients, real servers, all of it on this machine.
//!
//! A test whose real part is missing says so ("skipped: …") and passes.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use chiton_testkit::processes::eventually;
use chiton_testkit::transports::{
    DockerOnPodman, KubeApi, MachineOptions, PodOptions, Podman, PodmanOptions, Root, Slurm, Sshd, SshdOptions,
    Temporary, Writable, usable,
};
use chiton_testkit::wire::Wire;
use serde_json::{Value, json};

use crate::near_side::{NearSide, text};

/// How long is waited for what has to come.
const PATIENCE: Duration = Duration::from_mins(1);

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
    assert!(fs::read_to_string(file).unwrap().contains("drawn"), "the file is on this machine");
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
    NearSide::program(&folder, "uname", "echo Linux ppc64le");
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
fn a_pod_is_reached_by_kubectl_and_a_cut_connection_is_made_again() {
    if !usable(&KubeApi::available()) {
        return;
    }
    let mut api = KubeApi::start(&[PodOptions::new("web-0").namespace("prod")]);
    let near = NearSide::with_program_folder(&api.path_folder());
    let ran = near.run(&["run", "--on", "kube:prod/web-0:main", "hostname; exit 5"]);
    assert_eq!((text(&ran.stdout).as_str(), ran.status.code()), ("web-0\n", Some(5)), "{}", text(&ran.stderr));

    let gate = near.folder().join("gate");
    let command = format!("echo begun; until [ -e {} ]; do sleep 0.05; done; seq 1 20000; exit 3", gate.display());
    let mut child = near.command(&["run", "--on", "kube:prod/web-0", &command]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(PATIENCE, || api.requests().len() >= 2));
    std::thread::sleep(Duration::from_millis(500));
    api.network().cut_all();
    fs::write(&gate, "").unwrap();
    let ran = child.wait_with_output().unwrap();
    let expected: Vec<String> = (1..=20000).map(|number| number.to_string()).collect();
    assert_eq!(text(&ran.stdout), format!("begun\n{}\n", expected.join("\n")), "{}", text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(3), "what kubectl says never counts");
    assert!(text(&ran.stderr).contains("nothing was missed"), "{}", text(&ran.stderr));
}

#[test]
fn the_pods_of_a_selector_run_it_each_and_who_failed_is_named() {
    if !usable(&KubeApi::available()) {
        return;
    }
    let pods: Vec<PodOptions> =
        (0..4).map(|number| PodOptions::new(&format!("web-{number}")).label("app", "web")).collect();
    let api = KubeApi::start(&[&pods[..], &[PodOptions::new("db-0").label("app", "db")]].concat());
    let near = NearSide::with_program_folder(&api.path_folder());
    let ran = near.run(&["run", "--on", "kube:-l app=web", "hostname; [ $(hostname) != web-2 ]"]);
    let (table, said) = (text(&ran.stdout), text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(1), "{said}");
    for number in 0..4 {
        let status = if number == 2 { "failed (1)" } else { "completed" };
        let row = table.lines().find(|line| line.starts_with(&format!("kube:default/web-{number} "))).unwrap();
        assert!(row.contains(status) && row.contains("shell_"), "{row}");
        assert!(said.contains(&format!("kube:default/web-{number}: {status}")), "a line of progress: {said}");
    }
    assert!(!table.contains("db-0"));
    assert!(said.contains("1 failed: kube:default/web-2"), "{said}");

    let ran = near.run(&["run", "--json", "--at-most", "2", "--on", "kube:-l app=web", "true"]);
    let lines: Vec<Value> = text(&ran.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), ran.status.code()), (5, Some(0)), "{}", text(&ran.stdout));
    assert_eq!(lines[4]["succeeded"], 4);
    assert!(lines[..4].iter().all(|line| line["succeeded"] == true));

    let none = near.run(&["run", "--on", "kube:-l app=nothing", "true"]);
    assert!(text(&none.stderr).contains("stands for no machine"), "{}", text(&none.stderr));
}

#[test]
fn a_job_of_slurm_is_reached_and_its_tasks_outlive_the_connection() {
    if !usable(&Slurm::available()) {
        return;
    }
    let slurm = Slurm::start();
    let near = NearSide::with_program_folder(&slurm.path_folder());
    let host = chiton_testkit::carried_program();
    let job = slurm.submit(&format!("exec {} host", host.display()));
    let target = format!("slurm:{job}");
    let listens = || text(&near.run(&["ps", "--on", &target]).stderr).is_empty();
    assert!(eventually(PATIENCE, listens), "{}", text(&near.run(&["ps", "--on", &target]).stderr));

    let started = near.run(&["run", "--on", &target, "--background", "echo $SLURM_JOB_ID; exec sleep 1000"]);
    let id = text(&started.stdout).trim().to_owned();
    assert!(id.starts_with("shell_"), "{}", text(&started.stderr));
    assert_eq!(text(&near.run(&["logs", "--on", &target, &id]).stdout), format!("{job}\n"));
    assert!(text(&near.run(&["ps", "--on", &target]).stdout).contains(&id), "it goes on");

    let each = near.run(&["run", "--on", &target, "--each", "hostname"]);
    assert_eq!(each.status.code(), Some(0), "{}", text(&each.stderr));
    assert!(text(&each.stdout).contains(&format!("slurm:{job}@")), "{}", text(&each.stdout));
    slurm.cancel(job);
}

#[test]
fn without_a_host_in_the_batch_step_it_is_said_that_tasks_end_with_the_connection() {
    if !usable(&Slurm::available()) {
        return;
    }
    let slurm = Slurm::start();
    let near = NearSide::with_program_folder(&slurm.path_folder());
    let job = slurm.submit("exec sleep 1000");
    let ran = near.run(&["run", "--on", &format!("slurm:{job}"), "echo here"]);
    assert_eq!(text(&ran.stdout), "here\n", "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains("no host runs in the batch step"), "{}", text(&ran.stderr));
    slurm.cancel(job);
}

#[test]
fn a_hundred_machines_at_once_are_told_one_by_one() {
    let near = NearSide::new();
    let mut settings = String::new();
    let mut words = vec!["run".to_owned()];
    for number in 0..100 {
        let home = near.folder().join(format!("far{number}"));
        fs::create_dir(&home).unwrap();
        // One cache for all: it is the same machine, and there would be 100 programs on its disk.
        let connect = format!(
            r#"connect = ["env", "HOME={0}", "XDG_STATE_HOME={0}", "XDG_CACHE_HOME={1}", "sh"]"#,
            home.display(),
            near.folder().join("cache").display()
        );
        settings += &format!("[target.far{number}]\n{connect}\n");
        words.extend(["--on".to_owned(), format!("far{number}")]);
    }
    near.write_settings(&settings);
    words.push("echo $HOME".to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = near.run(&words);
    let said = text(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains("[100/100]") && said.contains("all 100 succeeded"), "{said}");
    for number in 0..100 {
        let home = near.folder().join(format!("far{number}"));
        assert!(text(&ran.stdout).contains(&format!("{}\n", home.display())), "{}", text(&ran.stdout));
        near.command(&["host", "--stop"]).env("XDG_STATE_HOME", &home).output().unwrap();
    }
}

#[test]
fn doctor_says_how_the_way_is_and_how_it_is_there() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    let report = near.run(&["doctor", "--on", "far", "--json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap_or_else(|_| panic!("{}", text(&report.stderr)));
    let areas: Vec<&str> =
        report["findings"].as_array().unwrap().iter().filter_map(|one| one["area"].as_str()).collect();
    for area in ["target", "machine", "shell", "place", "logind", "way", "clock", "kernel", "proc", "sandbox"] {
        assert!(areas.contains(&area), "{area} in {areas:?}");
    }
    near.write_target("nowhere", &["false".to_owned()]);
    let report = near.run(&["doctor", "--on", "nowhere"]);
    assert_eq!(report.status.code(), Some(1));
    assert!(text(&report.stdout).contains("problem  target"), "{}", text(&report.stdout));
}

#[test]
fn nothing_is_left_but_the_cache_and_that_can_be_removed() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    near.run(&["run", "--on", "far", "true"]);
    let cache = sshd.machine().home().join(".cache/chiton");
    let names = || -> Vec<String> {
        let entries = fs::read_dir(&cache).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    assert!(names().len() == 1 && names()[0].starts_with("chiton-"), "{:?}", names());
    let cleaned = near.run(&["target", "clean", "far"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", text(&cleaned.stderr));
    assert!(text(&cleaned.stdout).contains("/.cache/chiton/chiton-"), "{}", text(&cleaned.stdout));
    assert!(!cache.exists());
    let is_host = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"--behind\0"));
    assert!(eventually(PATIENCE, || !sshd.machine().processes().iter().any(is_host)), "the host ends, too");
    assert!(text(&near.run(&["target", "clean", "far"]).stderr).contains("nothing of chiton was found"));
}

#[test]
fn where_the_login_manager_ends_everything_the_host_gets_a_scope_of_its_own() {
    let near = NearSide::new();
    let (bin, home) = (near.folder().join("bin"), near.folder().join("far"));
    fs::create_dir(&home).unwrap();
    NearSide::program(&bin, "busctl", "echo b true");
    NearSide::program(&bin, "loginctl", "echo no");
    let note = near.folder().join("scope");
    NearSide::program(
        &bin,
        "systemd-run",
        &format!("echo \"$@\" >> {}; while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"", note.display()),
    );
    let path = format!("PATH={}:/usr/bin:/bin", bin.display());
    let words = [
        "env",
        &path,
        "XDG_SESSION_ID=7",
        &format!("HOME={}", home.display()),
        &format!("XDG_STATE_HOME={}", home.display()),
        "sh",
    ];
    near.write_target("far", &words.map(str::to_owned));
    let ran = near.run(&["run", "--on", "far", "echo fine"]);
    assert_eq!(text(&ran.stdout), "fine\n", "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains("loginctl enable-linger"), "{}", text(&ran.stderr));
    assert!(fs::read_to_string(&note).unwrap().starts_with("--user --scope"));
    near.command(&["host", "--stop"]).env("XDG_STATE_HOME", &home).output().unwrap();
}

#[test]
fn calls_of_native_name_the_machine_and_later_ones_only_the_command() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    let mut wire = Wire::session(near.command(&["mcp"]));
    let tools = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(tools[0]["inputSchema"]["properties"]["on"]["enum"], json!(["far"]));

    let mut call = |tool: &str, arguments: Value| wire.call(tool, &arguments);
    let said = |result: &Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let there = call("Bash", json!({"command": "hostname; cd /usr", "on": "far"}));
    assert!(said(&there).starts_with("far\n"), "{there}");
    assert_eq!(said(&call("Bash", json!({"command": "pwd", "on": "far"}))), "/usr", "a session of its own there");
    assert_ne!(said(&call("Bash", json!({"command": "pwd"}))), "/usr");

    let task = call("Bash", json!({"command": "echo begun; exec sleep 1000", "on": "far", "run_in_background": true}));
    let id = task["structuredContent"]["bash_id"].as_str().unwrap().to_owned();
    let read = call("BashOutput", json!({"bash_id": id, "wait_for": "begun", "wait": 20000}));
    assert!(said(&read).contains("begun"), "{read}");
    assert!(said(&call("ListShells", json!({"on": "far"}))).contains(&id));
    assert!(!said(&call("ListShells", json!({}))).contains(&id));
    let killed = call("KillShell", json!({"bash_id": id}));
    assert!(said(&killed).contains("terminated"), "{killed}");

    let unknown = call("Bash", json!({"command": "true", "on": "elsewhere"}));
    assert!(said(&unknown).contains("one of far") && unknown["isError"] == true, "{unknown}");
}

#[test]
fn without_a_target_in_the_settings_no_call_can_name_one() {
    let near = NearSide::new();
    let mut wire = Wire::session(near.command(&["mcp"]));
    let tools = wire.ask("tools/list", json!({}))["result"]["tools"].clone();
    assert!(tools[0]["inputSchema"]["properties"]["on"].is_null());
    let refused = wire.call("Bash", &json!({"command": "true", "on": "ssh:build"}));
    let said = refused["content"][0]["text"].as_str().unwrap();
    assert!(refused["isError"] == true && said.contains("[target.NAME]"), "{said}");
}

#[test]
fn a_host_that_dies_loses_the_session_and_runs_nothing_twice() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    near.run(&["run", "--on", "far", "true"]);
    let (note, gate) = (near.folder().join("note"), near.folder().join("gate"));
    let command = format!(
        "echo ran >> {}; until [ -e {} ]; do sleep 0.05; done; echo over; exit 4",
        note.display(),
        gate.display()
    );
    let mut child = near.command(&["run", "--on", "far", "--lifetime", "durable", &command]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(eventually(PATIENCE, || note.exists()));
    for pid in sshd.machine().processes() {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // The host, and the verb that waited for the command.
        if line.ends_with(b"--behind\0") || line.split(|byte| *byte == 0).any(|word| word == b"--near") {
            end(pid);
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    fs::write(&gate, "").unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!((text(&ran.stdout).as_str(), ran.status.code()), ("over\n", Some(4)), "{}", text(&ran.stderr));
    assert_eq!(fs::read_to_string(&note).unwrap(), "ran\n");
}

#[test]
fn a_server_whose_host_dies_is_replaced_and_the_call_runs_once() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    for arguments in [&["mcp", "--on", "far"][..], &["mcp"]] {
        let mut wire = Wire::session(near.command(arguments));
        wire.patience = PATIENCE;
        let on = |mut call: Value| {
            if arguments.len() == 1 {
                call["on"] = json!("far");
            }
            json!({"name": "Bash", "arguments": call})
        };
        let note = near.folder().join(format!("note{}", arguments.len()));
        let command = format!("echo ran >> {}; sleep 1000", note.display());
        let id = wire.request("tools/call", on(json!({"command": command})));
        let is_written = || fs::read_to_string(&note).is_ok_and(|text| text == "ran\n");
        assert!(eventually(PATIENCE, is_written));
        let is_host =
            |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"--behind\0"));
        sshd.machine().processes().into_iter().filter(|pid| is_host(pid)).for_each(end);

        // Its server lost its client, and stopped what it waited for; the next one finds what became of it.
        let answer = wire.answer(id);
        assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
        assert_eq!(fs::read_to_string(&note).unwrap(), "ran\n");
        let again = wire.ask("tools/call", on(json!({"command": "hostname"})));
        assert!(again["result"]["content"][0]["text"].as_str().unwrap().starts_with("far"), "{again}");
    }
}

fn end(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

#[test]
fn what_is_denied_here_never_reaches_the_other_machine() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    let settings = fs::read_to_string(near.settings()).unwrap();
    let rule = "[[guard.rule]]\ndecision = 'deny'\nprogram = ['touch']\nany_argument = ['canary*']\nreason = 'no canaries'\n\
                match = ['touch canary']\n";
    fs::write(near.settings(), format!("{settings}{rule}")).unwrap();
    let refused = near.run(&["run", "--on", "far", "touch canary"]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("no canaries"), "{}", text(&refused.stderr));
    assert!(!text(&near.run(&["ps", "--on", "far", "--all"]).stdout).contains("canary"), "nothing of it is over there");

    let mut wire = Wire::session(near.command(&["mcp", "--on", "far"]));
    let refused = wire.call("Bash", &json!({"command": "touch canary"}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("no canaries"), "{refused}");
    assert!(!sshd.machine().home().join("canary").exists());

    let journal = text(&near.run(&["audit"]).stdout);
    assert!(journal.contains("canary") && journal.contains("far"), "{journal}");
}

#[test]
fn what_is_denied_there_is_denied_whatever_is_said_here() {
    let near = NearSide::new();
    let home = near.folder().join("far");
    fs::create_dir_all(home.join(".config/chiton")).unwrap();
    let rule = "[[guard.rule]]\ndecision = 'deny'\nprogram = ['touch']\nany_argument = ['canary*']\nreason = 'not on this machine'\n\
                match = ['touch canary']\n";
    fs::write(home.join(".config/chiton/config.toml"), rule).unwrap();
    let words = [
        "env",
        "-u",
        "CHITON_CONFIG",
        &format!("HOME={}", home.display()),
        &format!("XDG_STATE_HOME={}", home.display()),
        "sh",
    ];
    near.write_target("far", &words.map(str::to_owned));
    let refused = near.run(&["run", "--on", "far", "--guard", "off", "touch canary"]);
    assert_eq!(refused.status.code(), Some(125), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("not on this machine"), "{}", text(&refused.stderr));
    near.command(&["host", "--stop"]).env("XDG_STATE_HOME", &home).output().unwrap();
}

const VALUE: &str = "S3CR3T-VALUE-of-this-machine";

#[test]
fn a_secret_of_this_machine_is_nowhere_on_the_other() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    let hold = near.folder().join("hold");
    let command = format!(
        "printf %s {{{{secret:key}}}} | wc -c; echo {{{{secret:key}}}}; until [ -e {} ]; do sleep 0.05; done",
        hold.display()
    );
    let mut child = near.command(&["run", "--on", "far", "--secret-env", "key=THE_KEY", &command]);
    let mut child = child.env("THE_KEY", VALUE).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4096];
    let count = std::io::Read::read(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    // While it runs: no argument, no variable of any process there.
    for pid in sshd.machine().processes() {
        for file in ["cmdline", "environ"] {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            assert!(!text(&bytes).contains(VALUE), "{file} of {pid}");
        }
    }
    fs::write(&hold, "").unwrap();
    let rest = child.wait_with_output().unwrap();
    let shown = format!("{}{}", text(&first[..count]), text(&rest.stdout));
    assert!(shown.starts_with(&format!("{}\n", VALUE.len())), "{shown}{}", text(&rest.stderr));
    assert!(!shown.contains(VALUE) && shown.contains("{{secret:key}}"), "{shown}");
    assert_eq!(holders(&sshd.machine().home(), VALUE), Vec::<String>::new());
    let journal = text(&near.run(&["audit", "--json"]).stdout);
    let there = text(&near.run(&["ps", "--on", "far", "--all", "--json"]).stdout);
    let id = there.split('"').find(|word| word.starts_with("shell_")).unwrap_or_else(|| panic!("{there}")).to_owned();
    assert!(journal.contains(&id) && !journal.contains(VALUE), "one id in both journals: {id} in {journal}");
}

/// The files below `folder` that have `value` in them.
fn holders(folder: &std::path::Path, value: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(holders(&path, value));
        } else if fs::read(&path).is_ok_and(|bytes| bytes.windows(value.len()).any(|part| part == value.as_bytes())) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_session_moves_and_comes_back_without_what_belongs_to_a_machine() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let near = NearSide::with_target("far", &sshd.client());
    let begin = "export STAGE=test TMPDIR=/nowhere; greet() { echo hello from $(hostname), $STAGE; }; cd /usr";
    near.run(&["run", "--session", "api", begin]);
    let moved = near.run(&["session", "move", "api", "--on", "far"]);
    assert_eq!(moved.status.code(), Some(0), "{}", text(&moved.stderr));
    assert!(text(&moved.stdout).contains("lives on far now, in /usr"), "{}", text(&moved.stdout));
    assert!(text(&moved.stderr).contains("TMPDIR stayed behind"), "{}", text(&moved.stderr));

    let there = near.run(&["run", "--session", "api", "greet; pwd; echo $HOME"]);
    let home = sshd.machine().home();
    let expected = format!("hello from far, test\n/usr\n{}\n", home.display());
    assert_eq!(text(&there.stdout), expected, "{}", text(&there.stderr));
    near.run(&["run", "--session", "api", "STAGE=live; cd /"]);

    let back = near.run(&["session", "move", "api", "--on", "local"]);
    assert_eq!(back.status.code(), Some(0), "{}", text(&back.stderr));
    let here = near.run(&["run", "--session", "api", "pwd; echo $STAGE $HOME"]);
    let home = near.folder().join("home");
    assert_eq!(text(&here.stdout), format!("/\nlive {}\n", home.display()), "{}", text(&here.stderr));
    let left = near.run(&["run", "--on", "far", "chiton session list 2>/dev/null; true"]);
    assert_eq!(text(&left.stdout), "", "nothing of it is left there");
}
