//! The whole list of who reads code: none of them is ever handed a value that means something to it.

use chiton_shell::builtins::{BUILTINS, BuiltinEffect};
use chiton_shell::reader::{CodeInput, CodeProgram, CodeWords, PROGRAMS, SHELLS, VARIABLES};

use super::{Quotes, resolve};

/// Values that leave a file `canary` behind if any shell runs or calculates with a part of them.
const HOSTILE: [&str; 6] =
    ["$(: >canary)", "`: >canary`", "; : >canary; #", "x[$(: >canary)]", "'; : >canary; '", "\n: >canary\n"];

fn assert_refused(command: &str) {
    for value in HOSTILE {
        let refused = resolve(command, value.as_bytes(), Quotes::Bash).expect_err(command);
        assert!(
            refused.contains("reads it as code") || refused.contains("name of a command"),
            "{command} with {value:?}: {refused}"
        );
    }
}

/// Runs what is delivered, in bash and in an empty folder.
fn assert_harmless(command: &str) {
    for value in HOSTILE {
        let Ok(resolved) = resolve(command, value.as_bytes(), Quotes::Bash) else { continue };
        let folder = tempfile::tempdir().unwrap();
        chiton_testkit::oracle::bash(&resolved, folder.path(), &[("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8")]);
        assert!(!folder.path().join("canary").exists(), "{command} with {value:?}: {}", resolved.escape_ascii());
    }
}

#[test]
fn every_shell_is_known_in_every_way_to_give_it_code() {
    let templates = [
        "@ -c 'echo {{secret:v}}'",
        "@ -ec \"echo {{secret:v}}\"",
        "@ -c {{secret:v}}",
        "@ -c'{{secret:v}}'",
        "@ -C 'echo {{secret:v}}'",
        "@ -C x -c 'echo {{secret:v}}'",
        "@ -o pipefail -c 'echo {{secret:v}}'",
        "@ -c -o pipefail 'echo {{secret:v}}'",
        "@ -ceo pipefail 'echo {{secret:v}}'",
        "@ +o history -c 'echo {{secret:v}}'",
        "@ --norc -c 'echo {{secret:v}}'",
        "@ $options 'echo {{secret:v}}'",
        "/usr/local/bin/@ -c 'echo {{secret:v}}'",
        "@-5.2 -c 'echo {{secret:v}}'",
        "'@' -c 'echo {{secret:v}}'",
        "$sudo @ -c 'echo {{secret:v}}'",
        "sudo -n @ -c 'echo {{secret:v}}'",
        "sudo {@,-c,{{secret:v}}}",
        "@ -c {a,{{secret:v}}",
        "@ -o {a,b -c {{secret:v}}",
        "env A=b @ -c 'echo {{secret:v}}'",
        "docker exec -it box @ -c 'echo {{secret:v}}'",
        "some-wrapper --flag @ -c 'echo {{secret:v}}'",
        "find . -exec @ -c 'echo {{secret:v}}' \\;",
        "xargs -I{} @ -c 'echo {} {{secret:v}}'",
        "@ -c \"$(echo {{secret:v}})\"",
        "@ <<E\necho {{secret:v}}\nE\n",
        "@ -s <<'E'\necho {{secret:v}}\nE\n",
        "@ <<E\n$(echo {{secret:v}})\nE\n",
        "@ <<< {{secret:v}}",
        "@ -c @ <<< {{secret:v}}",
        "@ /dev/stdin <<< {{secret:v}}",
        "{ @; } <<< {{secret:v}}",
        "(cd /; @) <<E\n{{secret:v}}\nE\n",
        "@ <(echo {{secret:v}})",
        "@ < <(echo {{secret:v}})",
        "echo {{secret:v}} | @",
        "echo {{secret:v}} | sudo -S @",
        "echo {{secret:v}} | tee log | @ -s x",
        "echo {{secret:v}} | ssh host @",
        "echo {{secret:v}} | ssh host 'sudo @'",
        "echo {{secret:v}} | xargs -I{} @ -c 'echo {}'",
        "echo {{secret:v}} | { cat; @; }",
        "echo {{secret:v}} | if true; then @; fi",
        "echo {{secret:v}} | echo \"$(@)\"",
        "echo {{secret:v}} |& @",
        "{ echo {{secret:v}}; } | @",
        "(echo '{{secret:v}}') | @",
        "for i in 1; do echo {{secret:v}}; done | @",
        "cat <<E | @\n{{secret:v}}\nE\n",
        "f() { echo {{secret:v}}; }; f | @",
        "f() { echo {{secret:v}}; }; @ -c \"$(f)\"",
        "g() { f; }; f() { echo {{secret:v}}; }; g | @",
        "f() { @; }; echo {{secret:v}} | f",
        "g() { f; }; f() { @; }; echo {{secret:v}} | g",
        "echo {{secret:v}} > >(@)",
        "exec > >(@); echo {{secret:v}}",
        "echo x | tee >(@) {{secret:v}}",
        "coproc @; echo {{secret:v}} >f",
    ];
    for shell in SHELLS {
        for template in templates {
            assert_refused(&template.replace('@', shell));
        }
    }
}

#[test]
fn a_shell_still_takes_values_as_data() {
    for shell in SHELLS {
        for template in [
            "@ -c 'use \"$1\"' _ {{secret:v}}",
            "@ -e script {{secret:v}}",
            "@ -- script -c {{secret:v}}",
            "echo {{secret:v}} | @ script",
            "echo {{secret:v}} | @ -c 'cat >file'",
            "TOKEN={{secret:v}} @ -c 'use \"$TOKEN\"'",
            "@ script <<< {{secret:v}}",
        ] {
            let command = template.replace('@', shell);
            assert!(resolve(&command, b"$(a value)", Quotes::Bash).is_ok(), "{command}");
        }
    }
}

/// Commands in which this program reads a value in this way.
fn commands_with(name: &str, words: CodeWords) -> Vec<String> {
    let all = |texts: &[&str]| texts.iter().map(|text| format!("{name} {text}")).collect::<Vec<String>>();
    match words {
        CodeWords::Everything => all(&["{{secret:v}}", "a '{{secret:v}}'", "-x y \"b {{secret:v}}\""]),
        CodeWords::EverythingWith(options) => options
            .iter()
            .flat_map(|option| {
                all(&[&format!("{option} {{{{secret:v}}}}"), &format!("a {option} b '{{{{secret:v}}}}'")])
            })
            .collect(),
        CodeWords::After(word) => {
            all(&[&format!("{word} 'a {{{{secret:v}}}}'"), &format!("x {word} b {{{{secret:v}}}}")])
        }
        CodeWords::Option(option) | CodeWords::LastOption(option) => {
            let mut texts =
                vec![format!("{option} '{{{{secret:v}}}}'"), format!("{option} \"a $(echo {{{{secret:v}}}})\"")];
            if option.starts_with("--") {
                texts.push(format!("{option}='a {{{{secret:v}}}}'"));
            } else if option.len() == 2 {
                texts.push(format!("{option}'a {{{{secret:v}}}}'"));
            }
            texts.iter().map(|text| format!("{name} {text}")).collect()
        }
        CodeWords::FirstOperand => all(&["{{secret:v}}", "'a {{secret:v}}'", "<(echo {{secret:v}})"]),
        CodeWords::Operands(from) => {
            let before = "operand ".repeat(from);
            all(&[&format!("{before}{{{{secret:v}}}}"), &format!("--unknown {before} '{{{{secret:v}}}}' more")])
        }
        CodeWords::Joined(start) => {
            all(&[&format!("{start}{{{{secret:v}}}}"), &format!("'{start}a {{{{secret:v}}}}'")])
        }
        CodeWords::Setting(key) => {
            all(&[&format!("-c {key}x='{{{{secret:v}}}}'"), &format!("config {key}x '{{{{secret:v}}}}'")])
        }
    }
}

fn input_commands(name: &str, program: &CodeProgram) -> Vec<String> {
    let start = match program.input {
        CodeInput::Never => return Vec::new(),
        CodeInput::WithReader => format!("{name} -I@ sh -c 'echo @'"),
        CodeInput::WithOption(options) => format!("{name} {}", options[0]),
        CodeInput::Always | CodeInput::WithoutScript | CodeInput::WithoutCode => name.to_owned(),
    };
    vec![
        format!("{start} <<E\n{{{{secret:v}}}}\nE\n"),
        format!("{start} <<< '{{{{secret:v}}}}'"),
        format!("echo {{{{secret:v}}}} | {start}"),
        format!("echo {{{{secret:v}}}} | sudo {start}"),
    ]
}

#[test]
fn every_program_of_the_list_is_refused_what_it_would_read_as_code() {
    let mut tried = 0;
    for program in PROGRAMS {
        for name in program.names {
            let mut commands: Vec<String> = program.code.iter().flat_map(|words| commands_with(name, *words)).collect();
            commands.extend(input_commands(name, program));
            for command in &commands {
                assert_refused(command);
                assert_refused(&format!("sudo -u x {command}"));
                assert_refused(&format!("x=$(timeout 5 {command}\n)"));
                tried += 3;
            }
        }
    }
    assert!(tried > 2000, "only {tried} commands were tried");
}

#[test]
fn what_programs_read_as_code_is_refused_as_people_write_it() {
    for command in [
        "rbash -c 'echo {{secret:v}}'",
        "python3 -c \"print('{{secret:v}}')\"",
        "python3.12 -Ic 'print(\"{{secret:v}}\")'",
        "python3 -W ignore -c 'print(\"{{secret:v}}\")'",
        "python3 - <<E\nprint('{{secret:v}}')\nE\n",
        "perl -ne 'print \"{{secret:v}}\"' file",
        "perl -i.bak -pe 's/x/{{secret:v}}/' file",
        "ruby -rjson -e 'puts \"{{secret:v}}\"'",
        "node -p '\"{{secret:v}}\"'",
        "node --eval='x = \"{{secret:v}}\"'",
        "deno eval 'console.log(\"{{secret:v}}\")'",
        "php -r 'echo \"{{secret:v}}\";'",
        "awk '{ print \"{{secret:v}}\" }' file",
        "awk -F: '{ print \"{{secret:v}}\" }' file",
        "sed -i \"s/TOKEN/{{secret:v}}/\" file",
        "sed -n -e 's/a/{{secret:v}}/p' file",
        "jq \".token = \\\"{{secret:v}}\\\"\" file",
        "jq -r --arg a b '.x = \"{{secret:v}}\"' file",
        "psql -U app -c \"ALTER USER x PASSWORD '{{secret:v}}'\"",
        "psql app <<E\nALTER USER x PASSWORD '{{secret:v}}';\nE\n",
        "mysql -u root -p -e \"SET PASSWORD = '{{secret:v}}'\"",
        "sqlite3 file.db \"INSERT INTO t VALUES ('{{secret:v}}')\"",
        "osascript -e 'display dialog \"{{secret:v}}\"'",
        "Rscript -e 'print(\"{{secret:v}}\")'",
        "gdb -batch -ex 'print \"{{secret:v}}\"' ./program",
        "vim -c ':%s/x/{{secret:v}}/' file",
        "vim +'normal i{{secret:v}}' file",
        "emacs --batch --eval '(message \"{{secret:v}}\")'",
        "ssh host echo {{secret:v}}",
        "ssh -p 22 -o BatchMode=yes user@host \"echo '{{secret:v}}'\"",
        "ssh -o ProxyCommand='nc {{secret:v}}' host",
        "ssh host <<E\necho {{secret:v}}\nE\n",
        "sshpass -p x ssh host 'echo {{secret:v}}'",
        "watch -n 1 'curl -d {{secret:v}} host'",
        "parallel echo {} {{secret:v}} ::: a b",
        "seq 3 | parallel 'echo {{secret:v}}'",
        "env -S 'echo {{secret:v}}'",
        "su - app -c 'echo {{secret:v}}'",
        "su app -- -c 'echo {{secret:v}}'",
        "script -qc 'echo {{secret:v}}' /dev/null",
        "flock /tmp/lock -c 'echo {{secret:v}}'",
        "tmux new-session -d 'echo {{secret:v}}'",
        "tmux send-keys 'echo {{secret:v}}' Enter",
        "at now <<< 'echo {{secret:v}}'",
        "echo '* * * * * curl {{secret:v}}' | crontab -",
        "make deploy TOKEN={{secret:v}}",
        "make --eval='$(info {{secret:v}})'",
        "make SHELL={{secret:v}}",
        "git -c alias.x='!echo {{secret:v}}' x",
        "git -c credential.helper='!f() { echo password={{secret:v}}; }; f' push",
        "git -c core.sshCommand='ssh -i {{secret:v}}' fetch",
        "git config alias.x '!echo {{secret:v}}'",
        "git rebase -x 'echo {{secret:v}}' main",
        "git submodule foreach 'echo {{secret:v}}'",
        "rsync -e 'ssh -i {{secret:v}}' a b",
        "tar --to-command='echo {{secret:v}}' -xf a.tar",
        "tar -xf a.tar --checkpoint-action=exec='echo {{secret:v}}'",
        "tar -xf a.tar --checkpoint-act=exec='echo {{secret:v}}'",
        "hyperfine 'curl {{secret:v}}'",
        "ls | entr -s 'echo {{secret:v}}'",
        "kubectl exec pod -- sh -c 'echo {{secret:v}}'",
        "nsenter -t 1 -m sh -c 'echo {{secret:v}}'",
        "chroot /mnt /bin/bash -c 'echo {{secret:v}}'",
        "busybox sh -c 'echo {{secret:v}}'",
        "uv run python -c 'print(\"{{secret:v}}\")'",
        "env PS4={{secret:v}} bash -xc true",
        "source <(echo 'A={{secret:v}}')",
        ". <(echo 'A={{secret:v}}')",
        "eval \"$(echo {{secret:v}})\"",
        "eval `echo {{secret:v}}`",
        "$(echo {{secret:v}})",
        "command eval 'echo {{secret:v}}'",
        "${x}eval {{secret:v}}",
        "ev${x}al {{secret:v}}",
        "${x}bash -c {{secret:v}}",
        "declare -i x; x={{secret:v}}",
        "declare -i x; read x <<< {{secret:v}}",
        "declare -i x; for x in {{secret:v}}; do :; done",
        "export PS4=\"{{secret:v}}\"",
        "for PS4 in {{secret:v}}; do set -x; done",
    ] {
        assert_refused(command);
    }
    assert!(resolve("exec {x[{{secret:v}}]}>f", b"$(a value)", Quotes::Bash).unwrap_err().contains("an index"));
    assert!(
        resolve("echo $(( $(echo {{secret:v}}) ))", b"$(a value)", Quotes::Bash).unwrap_err().contains("arithmetic")
    );
    assert!(resolve("a[\nx {{secret:v}} ]=1", b"$(a value)", Quotes::Bash).is_err());
}

#[test]
fn what_programs_take_as_data_is_delivered() {
    for command in [
        "curl -H \"Authorization: Bearer {{secret:v}}\" https://host",
        "curl -u user:{{secret:v}} -d '{\"a\": 1, \"b\": \"{{secret:v}}\"}' https://host",
        "sshpass -p {{secret:v}} ssh host ls",
        "ssh -i {{secret:v}} host ls",
        "ssh host 'cat >file' <<< {{secret:v}}",
        "echo {{secret:v}} | ssh host 'sudo -S apt-get update'",
        "echo {{secret:v}} | sudo -S apt-get update",
        "echo {{secret:v}} | sudo -S -v",
        "echo {{secret:v}} | sudo -S bash -c 'apt-get update'",
        "echo {{secret:v}} | docker login -u me --password-stdin registry",
        "echo {{secret:v}} | gh auth login --with-token",
        "echo {{secret:v}} | xargs curl -d",
        "echo {{secret:v}} | python3 script.py",
        "echo {{secret:v}} | jq -R .",
        "docker run --name test -v a:b -e TOKEN={{secret:v}} image",
        "git push origin rc {{secret:v}}",
        "docker run -e TOKEN={{secret:v}} image sh -c 'use \"$TOKEN\"'",
        "kubectl create secret generic x --from-literal=k={{secret:v}}",
        "kubectl apply -f - <<E\npassword: {{secret:v}}\nE\n",
        "python3 app.py --token {{secret:v}} -c {{secret:v}}",
        "python3 -m app --token {{secret:v}}",
        "node server.js -p {{secret:v}}",
        "perl script.pl -e {{secret:v}}",
        "awk -v token={{secret:v}} '{ print token }' file",
        "jq --arg token {{secret:v}} '.x = $token' file",
        "jq --arg json '{\"a\": 1, \"b\": \"{{secret:v}}\"}' .x file",
        "sed -n 1p {{secret:v}}",
        "git -c http.extraHeader='Authorization: Bearer {{secret:v}}' fetch",
        "git clone https://me:{{secret:v}}@host/repository",
        "git commit -m {{secret:v}}",
        "mysql -uroot -p{{secret:v}} -e 'select 1'",
        "psql postgres://me:{{secret:v}}@host/db -c 'select 1'",
        "vault kv put secret/python token={{secret:v}}",
        "cat >.env <<E\nTOKEN={{secret:v}}\nE\n",
        "while read -r line; do echo \"$line\"; done <<< {{secret:v}}",
        "read -r x <<< {{secret:v}}",
        "TOKEN={{secret:v}} make deploy",
        "env TOKEN={{secret:v}} ./deploy",
        "timeout 5 ./deploy {{secret:v}}",
        "echo use sed or bash -c {{secret:v}}",
        "printf '%s' {{secret:v}} | base64 | tr -d '\\n'",
        "openssl enc -k {{secret:v}} -in file",
        "f() { curl -d {{secret:v}} host; }; f | tee log",
    ] {
        let resolved = resolve(command, b"$(a value)", Quotes::Bash);
        assert!(resolved.is_ok(), "{command}: {}", resolved.unwrap_err());
    }
}

#[test]
fn no_builtin_runs_a_part_of_a_value() {
    let templates = [
        "@ {{secret:v}}", "@ '{{secret:v}}' x", "@ -v {{secret:v}}", "@ x \"{{secret:v}}\"", "@ -- {{secret:v}}",
        "@ x={{secret:v}}", "@ x[{{secret:v}}]=1", "@ 'x[{{secret:v}}]=1'", "@ x <<< {{secret:v}}",
        "echo {{secret:v}} | @ x", "command @ {{secret:v}}", "builtin @ -p {{secret:v}}",
    ];
    // These would stop or leave the shell that is looked at.
    let builtins = BUILTINS.iter().filter(|builtin| !matches!(builtin.name, "suspend" | "kill" | "exec"));
    for builtin in builtins {
        for template in templates {
            let command = template.replace('@', builtin.name);
            assert_harmless(&format!("{command}\nset -x; : $x $y\n"));
        }
        if builtin.effect == BuiltinEffect::Declares {
            for option in ["-i", "-n", "-a", "-A", "-ga", "-xi"] {
                assert_harmless(&format!("{} {option} x={{{{secret:v}}}}; x=1; echo $x", builtin.name));
                assert_harmless(&format!("{} {option} x=(1 {{{{secret:v}}}}); echo $x", builtin.name));
                assert_harmless(&format!("{} {option} x; x={{{{secret:v}}}}; echo $x; x=2", builtin.name));
            }
        }
    }
}

#[test]
fn no_variable_that_is_evaluated_takes_a_value() {
    for name in VARIABLES {
        for template in [
            "@={{secret:v}}",
            "@='a {{secret:v}}' true",
            "@+={{secret:v}}",
            "export @=\"{{secret:v}}\"",
            "env @={{secret:v}} true",
            "sudo @={{secret:v}} true",
            "for @ in a {{secret:v}}; do :; done",
            "@=(a {{secret:v}})",
            "@=$(echo {{secret:v}})",
        ] {
            assert_refused(&template.replace('@', name));
        }
    }
}
