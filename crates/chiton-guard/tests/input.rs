//! What a command finds besides its own text: its standard input, and files that earlier commands of the session wrote.
//! Nothing here runs a command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chiton_guard::Decision::{self, Allow, Ask, Deny};
use chiton_guard::{Context, Held, Input, Scope, Surroundings, Uncommitted, Verdict, judge};

fn context() -> Context {
    Context::new("/home/dev", "dev", "/home/dev/project")
}

fn with_input(command: &str, input: Input) -> Verdict {
    judge(command, &Context { input, ..context() })
}

fn with_text(command: &str, text: &str) -> Verdict {
    with_input(command, Input::Text(Arc::from(text)))
}

#[test]
fn whatever_runs_its_input_is_judged_by_it() {
    let readers = [
        "bash",
        "sh",
        "bash -s",
        "bash -s -- a b",
        "bash -",
        "bash /dev/stdin",
        "bash < /dev/stdin",
        "bash <&0",
        "exec 3<&0; bash <&3",
        "cat | bash",
        "cat - | tee log | sh",
        "head -n 1 | sh",
        ". /dev/stdin",
        "source /dev/fd/0",
        "source /proc/self/fd/0",
        "eval \"$(cat)\"",
        "eval \"$(</dev/stdin)\"",
        "read l; eval \"$l\"",
        "read -r a b c; $a $b $c",
        "while read l; do $l; done",
        "while IFS= read -r l; do eval \"$l\"; done",
        "zz=$(cat); $zz",
        "mapfile -t a; eval \"${a[@]}\"",
        "mapfile a; ${a[0]}",
        "read -ra words; \"${words[@]}\"",
        "xargs -I{} sh -c {}",
        "parallel",
        "tee x.sh; bash x.sh",
        "tee x.sh > /dev/null; chmod +x x.sh; ./x.sh",
        "cat > x.sh; sh x.sh",
        "dd of=x.sh; sh x.sh",
        "cat > x.sh; mv x.sh y.sh; . ./y.sh",
        "env bash",
        "nice sh",
        "nohup bash",
        "timeout 5 bash",
        "sudo -S sh",
        "sudo -s",
        "su",
        "ssh host",
        "ssh host bash -s",
        "bash -c bash",
        "bash -c 'read l; eval \"$l\"'",
        "f() { bash; }; f",
        "(bash)",
        "{ bash; } 2>&1",
        "if true; then bash; fi",
        "for i in 1; do sh; done",
        "bash & wait",
        "x=$(bash)",
        "cat <(bash)",
        "coproc bash; cat >&${COPROC[1]}",
        "cat > >(sh)",
        "tee >(sh)",
        "at now",
        "batch",
    ];
    for command in readers {
        let verdict = with_text(command, "rm -rf /\n");
        assert_eq!((verdict.decision, verdict.rule.as_deref()), (Deny, Some("delete-root")), "{command}");
        assert_eq!(with_text(command, "echo hi\n").findings.iter().filter(|one| one.decision == Deny).count(), 0);
    }
}

#[test]
fn input_is_judged_in_the_language_of_its_reader() {
    let cases = [
        ("python3", "import os; os.system('rm -rf /')", Deny),
        ("python3 -", "import os; os.system('rm -rf /')", Deny),
        ("python3 /dev/stdin", "import os; os.system('rm -rf /')", Deny),
        ("perl", "system('rm -rf /');", Deny),
        ("node -", "require('child_process').execSync('rm -rf /')", Deny),
        ("ruby", "system('rm -rf /')", Deny),
        ("php", "<?php system('rm -rf /'); ?>", Deny),
        ("lua -", "os.execute('rm -rf /')", Deny),
        ("sqlite3 x.db", ".shell rm -rf /", Deny),
        ("psql", "\\! rm -rf /", Deny),
        ("psql app", "DROP DATABASE app;", Ask),
        ("make -f -", "all:\n\trm -rf /\n", Deny),
        ("crontab -", "0 4 * * * rm -rf /\n", Deny),
        ("ed x", "!rm -rf /\n", Deny),
        ("awk -f - x", "BEGIN { system(\"rm -rf /\") }", Deny),
        ("sed -f - x", "1e rm -rf /\n", Deny),
        ("xargs rm -rf", "/\n", Deny),
        ("docker exec -i box sh", "rm -rf /\n", Ask),
        ("python3", "print('rm -rf /')", Allow),
        ("psql app", "select 1;", Allow),
        ("xargs rm -f", "a.o\nb.o\n", Allow),
        ("xargs ls -l", "/etc\n", Allow),
    ];
    for (command, input, expected) in cases {
        assert_eq!(with_text(command, input).decision, expected, "{command} reads {input:?}");
    }
}

#[test]
fn input_that_is_data_is_left_alone() {
    let readers = [
        "cat",
        "cat > notes.txt",
        "tee notes.txt",
        "wc -l",
        "grep -c rm",
        "sort | uniq -c",
        "jq .",
        "git commit -F -",
        "git apply",
        "patch -p1",
        "docker login -u me --password-stdin",
        "gh auth login --with-token",
        "bash script.sh",
        "python3 script.py",
        "python3 -c 'print(1)'",
        "while read -r f; do echo \"$f\"; done",
        "make",
        "base64",
    ];
    for command in readers {
        let verdict = with_text(command, "rm -rf /\n");
        assert_eq!(verdict.decision, Allow, "{command}: {}", verdict.reason);
    }
}

#[test]
fn input_that_comes_later_is_judged_then_where_its_reader_runs_it() {
    for command in ["bash", "sh -i", "python3", "psql", "node", "ssh host", "cat", "read name; echo \"hi $name\""] {
        assert_eq!(with_input(command, Input::Later).decision, Allow, "{command}");
    }
    for command in [
        "cat | bash", "read l; eval \"$l\"", "while read l; do $l; done", "eval \"$(cat)\"", "cat > x.sh; bash x.sh",
        ". /dev/stdin", "xargs rm -rf",
    ] {
        assert_eq!(with_input(command, Input::Later).decision, Ask, "{command}");
    }
}

/// Files that were written since the session began, and links.
#[derive(Debug, Default)]
struct Disk {
    files: BTreeMap<&'static str, &'static str>,
    links: BTreeMap<&'static str, &'static str>,
    directories: Vec<&'static str>,
}

impl Surroundings for Disk {
    fn recent_file(&self, path: &Path) -> Option<Arc<[u8]>> {
        self.files.get(path.to_str()?).map(|text| Arc::from(text.as_bytes()))
    }

    fn link(&self, path: &Path) -> Option<PathBuf> {
        self.links.get(path.to_str()?).map(PathBuf::from)
    }

    fn others_may_write(&self, path: &Path) -> Option<bool> {
        self.directories.contains(&path.to_str()?).then_some(false)
    }

    fn is_worktree(&self, _: &Path) -> bool {
        false
    }

    fn uncommitted(&self, _: &Path) -> Option<Uncommitted> {
        None
    }
}

fn on(disk: Disk) -> Context {
    Context { surroundings: Some(Arc::new(disk)), ..context() }
}

#[test]
fn a_script_that_an_earlier_command_wrote_is_judged_by_what_is_in_it() {
    let disk = || {
        on(Disk {
            files: [
                ("/home/dev/project/f", "rm -rf /\n"),
                ("/home/dev/project/f.py", "import os\nos.system('rm -rf /')\n"),
                ("/home/dev/project/Bad.mk", "all:\n\trm -rf /\n"),
                ("/home/dev/project/list", "/\n"),
                ("/home/dev/project/cron", "@reboot rm -rf /\n"),
                ("/home/dev/project/good.sh", "cd \"$1\" && make\nrm -rf \"$BUILD\"\n$EDITOR x\n"),
                ("/home/dev/project/publish.sh", "npm publish\n"),
            ]
            .into(),
            ..Disk::default()
        })
    };
    for command in [
        "bash f", "sh ./f", "./f", "source f", ". ./f", "sh < f", "cat f | bash", "eval \"$(cat f)\"", "bash -c './f'",
        "cp f g; sh g", "python3 f.py", "make -f Bad.mk", "xargs -a list rm -rf", "at -f f now", "crontab cron",
        "sudo bash f", "nohup ./f &",
    ] {
        let verdict = judge(command, &disk());
        assert_eq!((verdict.decision, verdict.rule.as_deref()), (Deny, Some("delete-root")), "{command}");
        assert_eq!(verdict.rests_on.files.len(), 1, "{command}");
    }
    for command in ["bash good.sh src", "./good.sh", "source good.sh", "cat f", "wc -l f", "rm f", "chmod +x f"] {
        let verdict = judge(command, &disk());
        assert_eq!(verdict.decision, Allow, "{command}: {}", verdict.reason);
    }
    assert_eq!(judge("bash publish.sh", &disk()).rule.as_deref(), Some("publish"));
    assert_eq!(judge("bash f", &context()).decision, Allow);
}

#[test]
fn links_on_the_disk_are_followed() {
    let disk = || {
        on(Disk {
            links: [("/home/dev/project/up", "/"), ("/home/dev/project/etc", "../../../etc")].into(),
            ..Disk::default()
        })
    };
    let decision = |command: &str| judge(command, &disk()).decision;
    assert_eq!(decision("rm -rf up/*"), Deny);
    assert_eq!(decision("rm -rf up/"), Deny);
    assert_eq!(decision("cd up && rm -rf *"), Deny);
    assert_eq!(decision("echo x > etc/passwd"), Deny);
    assert_eq!(decision("rm -rf etc/../usr"), Deny);
    assert_eq!(decision("rm up"), Allow);
    assert_eq!(decision("rm -rf up"), Allow);
    assert_eq!(decision("rm -rf build"), Allow);
}

#[test]
fn a_directory_that_is_there_can_be_entered() {
    let there = on(Disk { directories: vec!["/home/dev/project/build"], ..Disk::default() });
    assert_eq!(judge("cd build; rm -rf *", &there).decision, Allow);
    assert_eq!(judge("cd dist; rm -rf *", &there).decision, Ask);
}

#[derive(Debug)]
struct Session;

impl Scope for Session {
    fn variable(&self, name: &str) -> Option<Held<'_>> {
        (name == "TARGET").then_some(Held::Scalar("build".into()))
    }

    fn function(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        (name == "clean").then_some("clean () \n{ \n    rm -rf \"$TARGET\"\n}".into())
    }

    fn alias(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        (name == "wipe").then_some("rm -rf".into())
    }
}

#[test]
fn a_verdict_says_what_it_rests_on() {
    let context = context().within(Arc::new(Session));
    let rests_on = |command: &str| {
        let rests_on = judge(command, &context).rests_on;
        let functions: Vec<String> = rests_on.functions.into_iter().collect();
        (rests_on.variables, functions)
    };
    let (variables, functions) = rests_on("clean");
    assert!(variables.contains("TARGET"));
    assert_eq!(functions, ["clean"]);

    let (variables, functions) = rests_on("wipe \"$OTHER\"/x");
    assert!(variables.contains("OTHER") && !variables.contains("TARGET"));
    assert_eq!(functions, ["wipe"]);

    let (variables, functions) = rests_on("TARGET=x; echo $TARGET");
    assert!(!variables.contains("TARGET"));
    assert!(functions.is_empty());
}

#[test]
fn functions_of_the_session_can_be_removed_and_passed_over() {
    #[derive(Debug)]
    struct Tamed;
    impl Scope for Tamed {
        fn variable(&self, _: &str) -> Option<Held<'_>> {
            None
        }

        fn function(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
            (name == "rm").then_some("rm () \n{ \n    echo \"$@\"\n}".into())
        }

        fn alias(&self, _: &str) -> Option<std::borrow::Cow<'_, str>> {
            None
        }
    }
    let context = context().within(Arc::new(Tamed));
    let decision = |command: &str| -> Decision { judge(command, &context).decision };
    assert_eq!(decision("rm -rf /"), Allow);
    assert_eq!(decision("command rm -rf /"), Deny);
    assert_eq!(decision("unset -f rm; rm -rf /"), Deny);
    assert_eq!(decision("env rm -rf /"), Deny);
}
