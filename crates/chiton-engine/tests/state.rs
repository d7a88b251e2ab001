//! What a command changes is there for the next one, whatever it is called and whatever it holds.

use std::collections::BTreeMap;

use chiton_engine::state::{Value, Variable};
use chiton_engine::{
    AnswerMode, CommandRequest, EnvironmentChange, Outcome, RunControl, Session, Shell, ShellState, Signal, Silent,
    StateReport,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::harness::{Harness, runtime};

/// Where a case begins.
#[derive(Clone, Copy)]
enum Start {
    /// In `/tmp`, which some of the cases print.
    Tmp,
    /// In a directory of its own, which holds nothing but a directory `state`.
    Own,
}

use Start::{Own, Tmp};

/// Where it begins, first command, second command, what the second prints.
const CARRIED: [(Start, &str, &str, &str); 54] = [
    (Tmp, "cd /usr/lib", "pwd; echo $OLDPWD", "/usr/lib\n/tmp\n"),
    (Tmp, "cd /usr/lib; cd /etc", "cd -; pwd", "/usr/lib\n/usr/lib\n"),
    (Tmp, "export A=1", "echo $A; env | grep ^A=", "1\nA=1\n"),
    (Tmp, "a=1", "echo $a; env | grep ^a= || echo not exported", "1\nnot exported\n"),
    (Tmp, "export A=1; export -n A", "echo $A; env | grep ^A= || echo not exported", "1\nnot exported\n"),
    (Tmp, "unset HOME", "echo ${HOME-unset}", "unset\n"),
    (Tmp, "unset PATH", "echo ${PATH-unset}", "unset\n"),
    (
        Tmp,
        "a=(1 'two words' '' $'new\\nline'); a[9]=x",
        "declare -p a",
        "declare -a a=([0]=\"1\" [1]=\"two words\" [2]=\"\" [3]=$'new\\nline' [9]=\"x\")\n",
    ),
    (
        Tmp,
        "declare -A m=([k]=v [\"a b\"]='x y' ['*']=star)",
        "echo \"${m[k]}|${m[a b]}|${m[\\*]}|${#m[@]}\"",
        "v|x y|star|3\n",
    ),
    (Tmp, "declare -a none=(); declare -A also=()", "declare -p none also", "declare -a none=()\ndeclare -A also=()\n"),
    (Tmp, "declare -i n=5", "n+=3; n=n*2; echo $n", "16\n"),
    (Tmp, "readonly R=1", "R=2; echo no", ""),
    (Tmp, "readonly R=1", "echo $R; (R=2) 2>/dev/null || echo still readonly", "1\nstill readonly\n"),
    (Tmp, "declare -l low=ABC; declare -u up=abc", "low=DeF up=dEf; echo $low $up", "def DEF\n"),
    (Tmp, "x=target; declare -n ref=x", "ref=changed; echo $x; declare -p ref", "changed\ndeclare -n ref=\"x\"\n"),
    (Tmp, "declare -a list=(a b); declare -n ref=list", "ref+=(c); echo ${list[@]}", "a b c\n"),
    (Tmp, "declare -n ref=later", "later=now; echo $ref", "now\n"),
    (Tmp, "f() { echo \"f $*\"; }", "f 1 2", "f 1 2\n"),
    (Tmp, "f() { cat <<E\n} not the end\ng () \n{ \nE\n}; g() { echo g; }", "f; g", "} not the end\ng () \n{ \ng\n"),
    (Tmp, "f() { echo exported; }; export -f f", "bash -c f", "exported\n"),
    (Tmp, "f() { :; }; readonly -f f", "f() { echo no; }; f; echo kept", "kept\n"),
    (Tmp, "f() { :; }", "unset -f f; type f 2>&1 | tail -1", "bash: line 1: type: f: not found\n"),
    (Tmp, "my-func.v2() { echo odd; }", "my-func.v2", "odd\n"),
    (
        Tmp,
        "cd() { echo shadowed; }; declare() { :; }; printf() { :; }; set() { :; }",
        "cd /; builtin pwd; A=1",
        "shadowed\n/tmp\n",
    ),
    (
        Tmp,
        "eval() { :; }; builtin() { :; }; trap() { :; }; read() { :; }; B=2",
        "echo $B; type -t eval read",
        "2\nfunction\nfunction\n",
    ),
    (
        Tmp,
        "shopt -s extglob\nf() { case $1 in +(a|b)) echo match;; esac; }; shopt -u extglob",
        "shopt -p extglob; shopt -s extglob; f abab",
        "shopt -u extglob\nmatch\n",
    ),
    (Tmp, "alias ll='echo listing'; shopt -s expand_aliases", "ll", "listing\n"),
    (
        Tmp,
        "alias ll='echo listing'",
        "alias; ll 2>/dev/null || echo not expanded",
        "alias ll='echo listing'\nnot expanded\n",
    ),
    (Tmp, "alias x=$'a\\nb'\"'c\"; alias -- -y=z", "alias x; alias -- -y", "alias x='a\nb'\\''c'\nalias -- -y='z'\n"),
    (Tmp, "alias x=y", "unalias x; alias", ""),
    (
        Tmp,
        "shopt -s nullglob dotglob; shopt -u sourcepath",
        "shopt -p nullglob dotglob sourcepath",
        "shopt -s nullglob\nshopt -s dotglob\nshopt -u sourcepath\n",
    ),
    (
        Tmp,
        "set -o noclobber; set +o braceexpand",
        "set -o | grep -E 'noclobber|braceexpand'; echo {a,b}",
        "braceexpand    \toff\nnoclobber      \ton\n{a,b}\n",
    ),
    (Own, "set -euxfv -o pipefail", "echo $-; false | true; echo $? $nope *", "hBc\n0 state\n"),
    (Own, "umask 027", "umask; touch new; stat -c %a new; rm new", "0027\n640\n"),
    (Tmp, "false; true | false", "echo $? ${PIPESTATUS[@]}", "0 0\n"),
    (Tmp, "echo one two three >/dev/null", "echo $_", "bash\n"),
    (Tmp, "trap 'echo bye' EXIT; cd /usr; A=1", "trap; echo $A $PWD", "1 /usr\n"),
    (Tmp, "trap 'echo bye' EXIT; cd /usr; A=1; exit 7", "trap; echo $A $PWD", "1 /usr\n"),
    (Tmp, "set -e; trap 'echo bye' EXIT; cd /usr; A=1; false", "trap; echo $A $PWD", "1 /usr\n"),
    (Tmp, "trap 'echo got' TERM; ulimit -n 50; sleep 0.01 &", "trap; ulimit -n | grep -c '^50$'; jobs", "0\n"),
    (Tmp, "f() { local inner=1; A=2; exit 3; }; A=1; f", "echo ${inner-unset} $A", "unset 2\n"),
    (
        Tmp,
        "g() { exit 3; }; f() { local inner=1; export A=2; B=3; g; }; f",
        "echo ${inner-unset} $A ${B-not known}",
        "unset 2 not known\n",
    ),
    (Tmp, "set -- a b c", "echo $#", "0\n"),
    (
        Tmp,
        "export LD_PRELOAD=/nonexistent.so BASH_ENV=/tmp/x PROMPT_COMMAND=evil; A=1",
        "echo \"${LD_PRELOAD-} ${BASH_ENV-} ${PROMPT_COMMAND-} $A\"",
        "   1\n",
    ),
    (Tmp, "IFS=,; x='a,b'", "for y in $x; do echo $y; done", "a,b\n"),
    (Tmp, "ulimit -f 1; A=1", "echo $A", "1\n"),
    (Tmp, "trap 'echo debug' DEBUG; A=1", "echo $A", "1\n"),
    (Tmp, "A=1; trap 'echo bye' Exit; exit", "echo $A", "1\n"),
    (Tmp, "x='() => 1'", "echo \"$x\"", "() => 1\n"),
    (Tmp, "f() { coproc cat; echo hi >&\"${COPROC[1]}\"; read -r x <&\"${COPROC[0]}\"; echo $x; }", "true", ""),
    (Tmp, "export BIG=$(printf '%0200000d' 0); A=1", "echo ${#BIG} $A; unset BIG", "200000 1\n"),
    (Tmp, "echo make --verbose; A=1", "echo $A", "1\n"),
    (Tmp, "X=1; g() { exit; }; f() { local X=2; g; }", "f", ""),
    (Tmp, "export E=1; g() { exit; }; f() { export E=2; g; }; f", "echo $E", "2\n"),
];

#[test]
fn each_kind_of_state_survives_to_the_next_command() {
    let harness = Harness::new();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("state")).unwrap();
    runtime().block_on(async {
        for (start, first, second, expected) in CARRIED {
            let session = match start {
                Tmp => harness.session_in("/tmp".as_ref()),
                Own => harness.session_in(folder.path()),
            };
            let set = harness.run(&session, first).await;
            let response = harness.run(&session, second).await;
            assert_eq!(response.stdout.to_text(), expected, "{first}\n{second}\n{:?}", set.state);
        }
    });
}

#[test]
fn the_working_directory_keeps_its_symbolic_links() {
    let harness = Harness::new();
    let link = harness.folder.path().join("link");
    std::os::unix::fs::symlink("/usr/lib", &link).unwrap();
    runtime().block_on(async {
        let session = harness.session();
        harness.run(&session, &format!("cd {}", link.display())).await;
        let response = harness.run(&session, "pwd; pwd -P; cd ..; pwd").await;
        let parent = harness.folder.path().display();
        assert_eq!(response.stdout.to_text(), format!("{}\n/usr/lib\n{parent}\n", link.display()));
    });
}

#[test]
fn a_working_directory_that_vanished_costs_nothing_but_a_cd() {
    let harness = Harness::new();
    let deep = harness.folder.path().join("a/b/c");
    std::fs::create_dir_all(&deep).unwrap();
    runtime().block_on(async {
        let session = harness.session_in(&deep);
        harness.run(&session, "A=1").await;
        std::fs::remove_dir_all(harness.folder.path().join("a")).unwrap();
        let nowhere = CommandRequest::new("pwd; echo $A");
        let error = harness.engine.run(&session, nowhere, &mut Silent, &RunControl::new()).await.unwrap_err();
        assert!(error.to_string().contains("a/b/c"), "{error}");
        let place = harness.folder.path().display();
        let response = harness.run(&session, &format!("cd {place}; pwd; echo $A")).await;
        assert_eq!(response.stdout.to_text(), format!("{place}\n1\n"));
    });
}

#[test]
fn two_sessions_never_see_each_other() {
    let harness = Harness::new();
    runtime().block_on(async {
        let (first, second) = (harness.session_in("/tmp".as_ref()), harness.session_in("/tmp".as_ref()));
        harness.run(&first, "cd /usr; export A=first; f() { :; }; alias x=y").await;
        let response = harness.run(&second, "echo \"${A-unset} $PWD\"; type -t f; alias").await;
        assert_eq!(response.stdout.to_text(), "unset /tmp\n");
    });
}

#[test]
fn undo_is_the_previous_value_and_a_branch_is_a_copy() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        harness.run(&session, "A=1").await;
        let before = session.state();
        let branch = Session::new(ShellState::clone(&before));
        harness.run(&session, "A=2; cd /").await;
        assert_ne!(before.content_hash(), session.state().content_hash());
        assert_eq!(harness.run(&branch, "echo $A").await.stdout.to_text(), "1\n");
        session.restore(before);
        assert_eq!(harness.run(&session, "echo $A").await.stdout.to_text(), "1\n");
    });
}

#[test]
fn commands_of_one_session_at_the_same_time_commit_only_what_they_changed() {
    let harness = Harness::new();
    let runtime = runtime();
    let session = harness.session();
    let all: Vec<_> = (0..16)
        .map(|number| {
            let (engine, session) = (harness.engine.clone(), session.clone());
            runtime.spawn(async move {
                let request =
                    CommandRequest::new(format!("sleep 0.0{number}; V{number}={number}; f{number}() {{ :; }}"));
                let (mut silent, control) = (Silent, RunControl::new());
                engine.run(&session, request, &mut silent, &control).await.unwrap().into_ran().unwrap()
            })
        })
        .collect();
    for one in all {
        runtime.block_on(one).unwrap();
    }
    let state = session.state();
    for number in 0..16 {
        assert!(state.variables.contains_key(&format!("V{number}")), "V{number}");
        assert!(state.functions.contains_key(format!("f{number}").as_bytes()), "f{number}");
    }
}

#[test]
fn a_call_s_own_directory_and_variables_are_for_that_call_alone() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session_in("/tmp".as_ref());
        harness.run(&session, "export OWN=session").await;
        let mut request = CommandRequest::new("pwd; echo $OWN $CALL");
        request.directory = Some("/usr".into());
        request.environment =
            EnvironmentChange::Merge([("OWN".to_owned(), "call".into()), ("CALL".to_owned(), "x".into())].into());
        let response = harness.request(&session, request).await;
        assert_eq!(response.stdout.to_text(), "/usr\ncall x\n");
        assert_eq!(response.state, StateReport::Unchanged);
        let next = harness.run(&session, "pwd; echo $OWN ${CALL-unset}").await;
        assert_eq!(next.stdout.to_text(), "/tmp\nsession unset\n");
    });
}

#[test]
fn a_replaced_environment_is_all_the_command_sees_and_costs_the_session_nothing() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        harness.run(&session, "export MINE=1; plain=2").await;
        let mut request = CommandRequest::new("env | sort; export NEW=3");
        request.environment = EnvironmentChange::Replace([("FOO".to_owned(), "bar".into())].into());
        let response = harness.request(&session, request).await;
        let text = response.stdout.to_text();
        let names: Vec<_> = text.lines().map(|line| line.split('=').next().unwrap()).collect();
        assert_eq!(names, ["FOO", "PWD", "SHLVL", "_"]);
        let next =
            harness.run(&session, "echo $MINE $plain $NEW ${FOO-unset}; echo $PATH; ls / >/dev/null && echo ok").await;
        assert_eq!(next.stdout.to_text(), format!("1 2 3 unset\n{}\nok\n", crate::harness::PATH));
    });
}

#[test]
fn dangerous_variables_never_arrive_and_the_response_says_so() {
    let harness = Harness::new();
    let environment = [
        ("PATH", crate::harness::PATH),
        ("LD_PRELOAD", "/x.so"),
        ("BASH_FUNC_ls%%", "() { :; }"),
        ("XDG_RUNTIME_DIR", "/run"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.into()));
    let session = Session::new(harness.engine.fresh_state("/tmp", environment, 0o022));
    runtime().block_on(async {
        let mut request = CommandRequest::new("env; type -t ls");
        request.environment =
            EnvironmentChange::Merge([("LD_AUDIT".to_owned(), "/y.so".into()), ("ENV".to_owned(), "/z".into())].into());
        let response = harness.request(&session, request).await;
        let text = response.stdout.to_text();
        assert!(!text.contains("LD_") && !text.contains("ENV=") && !text.contains("BASH_FUNC"), "{text}");
        assert!(text.contains("XDG_RUNTIME_DIR=/run") && text.ends_with("file\n"), "{text}");
        let removed: Vec<_> = response.removed_variables.iter().map(|removed| removed.name.as_str()).collect();
        assert_eq!(removed, ["BASH_FUNC_ls%%", "ENV", "LD_AUDIT", "LD_PRELOAD"]);
        let exported = harness.run(&session, "export LD_PRELOAD=; export OK=1").await;
        assert!(exported.removed_variables.iter().any(|removed| removed.name == "LD_PRELOAD"));
        let next = harness.run(&session, "echo \"${LD_PRELOAD-unset} $OK\"").await;
        assert_eq!(next.stdout.to_text(), "unset 1\n");
    });
}

#[test]
fn a_plain_sh_carries_directory_exported_variables_and_mask() {
    let harness = Harness::with(|config| config.shell = Shell::at("/bin/sh".as_ref()));
    runtime().block_on(async {
        let session = harness.session_in("/tmp".as_ref());
        let first =
            harness.run(&session, "cd /usr; export A=\"it's\n1\"; umask 027; echo out; echo err >&2; exit 3").await;
        assert_eq!(
            (first.outcome, first.stdout.to_text(), first.stderr.to_text()),
            (Outcome::Exited(3), "out\n".into(), "err\n".into())
        );
        let response = harness.run(&session, "pwd; echo \"$A\"; umask; ls /proc/self/fd | wc -l; false").await;
        assert_eq!(response.stdout.to_text(), "/usr\nit's\n1\n0027\n4\n");
        assert_eq!(response.outcome, Outcome::Exited(1));
        assert_eq!(harness.run(&session, "echo \"open").await.outcome, Outcome::Exited(2));
        assert_eq!(harness.run(&session, "pwd").await.stdout.to_text(), "/usr\n");
    });
}

#[test]
fn the_shell_is_bash_where_there_is_one_and_goes_by_the_name_it_is_given() {
    let harness = Harness::new();
    let mut request = CommandRequest::new("echo $0; [ -n \"$BASH_VERSION\" ] && echo bash; nosuch");
    request.called_as = Some("/bin/bash".into());
    let response = runtime().block_on(harness.request(&harness.session(), request));
    assert_eq!(response.stdout.to_text(), "/bin/bash\nbash\n");
    assert_eq!(response.stderr.to_text(), "/bin/bash: line 1: nosuch: command not found\n");
    let places = |names: &[&'static str]| Shell::find_in(names.iter().copied().map(std::path::Path::new));
    assert_eq!(places(&["/nowhere/bash", "/bin/bash", "/bin/sh"]).unwrap(), Shell::at("/bin/bash".as_ref()));
    assert_eq!(places(&["/nowhere/bash", "/bin/sh"]).unwrap(), Shell::at("/bin/sh".as_ref()));
    let error = places(&["/nowhere/bash", "/nowhere/sh"]).unwrap_err().to_string();
    assert!(error.contains("/nowhere/bash, /nowhere/sh"), "{error}");
}

#[test]
fn permissions_are_those_of_the_user_and_bash_syntax_works() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        let denied = harness.run(&session, "touch denied; chmod 000 denied; ./denied").await;
        assert_eq!(denied.outcome, Outcome::Exited(126));
        let command = "[[ abc == a* ]] && a=(1 2 3) && cat <(echo ${a[1]}) && echo {x,y}{1,2}";
        assert_eq!(harness.run(&session, command).await.stdout.to_text(), "2\nx1 x2 y1 y2\n");
    });
}

#[test]
fn no_private_descriptor_reaches_a_child() {
    let harness = Harness::new();
    for command in
        ["ls /proc/self/fd", "bash -c 'echo /proc/$$/fd/*' | tr ' ' '\\n' | wc -l", "set -x; ls /proc/self/fd"]
    {
        let response = runtime().block_on(harness.run(&harness.session(), command));
        // The fourth is the directory that is being listed.
        let expected = if command.starts_with("bash") { "4\n" } else { "0\n1\n2\n3\n" };
        assert_eq!(response.stdout.to_text(), expected, "{command}");
    }
}

#[test]
fn a_script_of_ten_megabytes_arrives() {
    let harness = Harness::new();
    let script = format!(": {}\necho arrived $LINENO", "x".repeat(10 << 20));
    let response = runtime().block_on(harness.run(&harness.session(), &script));
    assert_eq!(response.stdout.to_text(), "arrived 2\n");
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z_][a-zA-Z0-9_]{0,12}", "if|then|done|select|time|declare|local|path|function|ref"].prop_filter(
        "bash's own",
        |name| {
            let own =
                ["_", "IFS", "PS4", "OPTIND", "UID", "EUID", "PPID", "RANDOM", "SECONDS", "GROUPS", "DIRSTACK", "ENV"];
            !own.contains(&name.as_str()) && !name.starts_with("BASH") && !name.starts_with("LD_")
        },
    )
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[ -~]{0,20}".prop_map(String::into_bytes),
        prop::collection::vec(1u8.., 0..20),
        "['\"$`\\\\!*?\\[\\](){}<>|&;#~\\n\\t\\r =-]{0,12}".prop_map(String::into_bytes),
        "\\PC{0,8}".prop_map(|text| text.replace('\0', "").into_bytes()),
    ]
    // A value that looks like an exported function is not carried, on purpose.
    .prop_filter("function in disguise", |bytes| !bytes.starts_with(b"()"))
}

fn variable() -> impl Strategy<Value = Variable> {
    let value = prop_oneof![
        bytes().prop_map(|bytes| Value::Scalar(bytes.into())),
        prop::collection::btree_map(0u64..1000, bytes(), 0..4)
            .prop_map(|items| Value::Indexed(items.into_iter().map(|(key, value)| (key, value.into())).collect())),
        prop::collection::btree_map(bytes().prop_filter("empty key", |key| !key.is_empty()), bytes(), 0..4).prop_map(
            |items| { Value::Associative(items.into_iter().map(|(key, value)| (key.into(), value.into())).collect()) }
        ),
    ];
    (value, prop::sample::select(vec!["", "x", "r", "rx"]))
        .prop_map(|(value, attributes)| Variable { attributes: attributes.to_owned(), value })
}

fn function() -> impl Strategy<Value = Vec<u8>> {
    bytes().prop_map(|text| {
        let mut body = b"printf '%s' '".to_vec();
        body.extend(text.iter().flat_map(|byte| if *byte == b'\'' { b"'\\''".to_vec() } else { vec![*byte] }));
        body.extend(b"'");
        body
    })
}

#[test]
fn any_variables_and_functions_survive_two_round_trips() {
    let harness = Harness::new();
    let runtime = runtime();
    let names = "[a-z_][a-z0-9_.:+@%-]{0,10}".prop_filter("reserved", |name| {
        ![
            "if", "in", "do", "fi", "for", "case", "done", "elif", "else", "esac", "then", "time", "until", "while",
            "select", "coproc", "function", "builtin",
        ]
        .contains(&name.as_str())
    });
    let strategy =
        (prop::collection::btree_map(name(), variable(), 0..6), prop::collection::btree_map(names, function(), 0..4));
    let mut runner = TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
    runner
        .run(&strategy, |(variables, functions)| {
            let session = harness.session();
            let mut state = ShellState::clone(&session.state());
            state.variables.extend(variables.clone());
            session.restore(state.into());
            // Each function comes as its definition, and is compared by what it prints.
            let mut define = Vec::new();
            for (name, body) in &functions {
                define.extend([name.as_bytes(), b"() { ", body, b"\n}\n"].concat());
            }
            runtime.block_on(async {
                let (defined, response) = harness.observe(&session, &define).await;
                prop_assert_eq!(defined.status, 0, "{:?}", defined);
                let _ = response;
                let mut before = BTreeMap::new();
                for name in functions.keys() {
                    before.insert(name, harness.observe(&session, name.as_bytes()).await.0.stdout);
                }
                let first = session.state();
                harness.run(&session, "touch_state=1").await;
                harness.run(&session, "unset touch_state").await;
                let second = session.state();
                for (name, variable) in &variables {
                    prop_assert_eq!(second.variables.get(name), Some(variable), "{}", name);
                }
                prop_assert_eq!(&first.functions, &second.functions);
                prop_assert_eq!(second.functions.len(), functions.len());
                for (name, printed) in before {
                    prop_assert_eq!(&harness.observe(&session, name.as_bytes()).await.0.stdout, &printed);
                }
                Ok(())
            })
        })
        .unwrap();
}

#[test]
fn a_state_too_large_to_carry_is_said_and_costs_nothing_else() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session_in("/tmp".as_ref());
        let response = harness.run(&session, "cd /usr; x=$(head -c 40000000 /dev/zero | tr '\\0' a); echo done").await;
        assert_eq!((response.outcome, response.stdout.to_text().as_str()), (Outcome::Exited(0), "done\n"));
        assert!(
            matches!(&response.state, StateReport::Discarded(why) if why.contains("larger")),
            "{:?}",
            response.state
        );
        assert_eq!(harness.run(&session, "pwd").await.stdout.to_text(), "/tmp\n");
    });
}

#[test]
fn a_function_with_a_coprocess_stays_the_same_from_command_to_command() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        harness
            .run(&session, "f() { coproc cat; echo hi >&\"${COPROC[1]}\"; read -r x <&\"${COPROC[0]}\"; echo $x; }")
            .await;
        for _ in 0..3 {
            assert_eq!(harness.run(&session, "true").await.state, StateReport::Unchanged);
        }
        assert_eq!(harness.run(&session, "f").await.stdout.to_text(), "hi\n");
    });
}

#[test]
fn a_caller_s_local_variable_does_not_overwrite_the_session_s() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session();
        harness.run(&session, "X=1").await;
        harness.run(&session, "die() { exit 3; }; f() { local X=2; die; }; f").await;
        assert_eq!(harness.run(&session, "echo $X").await.stdout.to_text(), "1\n");
    });
}

#[test]
fn a_directory_given_by_dots_leaves_no_trace() {
    let harness = Harness::new();
    runtime().block_on(async {
        let session = harness.session_in("/usr/lib".as_ref());
        let mut request = CommandRequest::new("pwd");
        request.directory = Some("./../bin/..".into());
        assert_eq!(harness.request(&session, request).await.stdout.to_text(), "/usr\n");
        assert_eq!(harness.run(&session, "pwd").await.stdout.to_text(), "/usr/lib\n");
    });
}

/// A session that nobody goes on with stays as it was, in any shell, and a command finds nothing there to hand it back.
#[test]
fn a_command_that_is_asked_for_no_state_leaves_none_and_ends_as_ever() {
    let cases = [
        ("cd /usr; export A=1; f() { :; }", Outcome::Exited(0), ""),
        ("A=1; exit 7", Outcome::Exited(7), ""),
        ("trap 'echo bye' EXIT; false", Outcome::Exited(1), "bye\n"),
        ("trap", Outcome::Exited(0), ""),
        ("false | true", Outcome::Exited(0), ""),
        ("exec echo replaced", Outcome::Exited(0), "replaced\n"),
        ("kill -KILL $$", Outcome::Signaled(Signal::KILL), ""),
        ("set -- 1 2; echo $#; sleep 0 & wait", Outcome::Exited(0), "2\n"),
    ];
    let harness = Harness::new();
    runtime().block_on(async {
        for shell in [None, Some(Shell::at(std::path::Path::new("/bin/sh")))] {
            for (command, outcome, printed) in cases.clone() {
                let (session, request) = (harness.session(), CommandRequest::new(command));
                let before = session.state();
                let request = CommandRequest { answer: AnswerMode::WithoutState, shell: shell.clone(), ..request };
                let report = harness.request(&session, request).await;
                assert_eq!((report.outcome, &*report.stdout.to_text()), (outcome, printed), "{command}");
                assert!(matches!(report.state, StateReport::Discarded(_)), "{command}: {:?}", report.state);
                assert_eq!(session.state(), before, "{command}");
                assert!(report.usage.is_some() && !report.warm, "{command}");
            }
        }
    });
}
