#![expect(clippy::disallowed_methods, reason = "bash is the oracle here")]

mod readers;

use super::*;
use crate::reference::find;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use chiton_testkit::dice::Dice;

/// Values that do damage wherever they are taken for anything but data.
const VALUES: [&str; 16] = [
    "plain-value",
    "with blanks  in it ",
    "it's \"quoted\"",
    "$(echo executed) `echo executed` ${HOME} $HOME",
    "two\nlines\n",
    "--leading-dash",
    "* ? [a-z] ~ {a,b}",
    "back\\slash \\\\ end\\",
    "a;b&c|d>e<f(g)h#i!j",
    "tab\there",
    "EOF",
    "x\nEOF\ny",
    "gr\u{fc}n \u{1f600}",
    "{{secret:v}} and $'x'",
    "'; echo executed; '",
    "\" \\\" $( ",
];

fn resolve(command: &str, value: &[u8], quotes: Quotes) -> Result<Vec<u8>, String> {
    let found = find(command.as_bytes());
    let known: Vec<Known<'_>> =
        found.iter().map(|(range, reference)| Known { range: range.clone(), reference, value }).collect();
    let parsed = chiton_shell::parse(command.as_bytes());
    into_command(command.as_bytes(), parsed.as_ref(), &known, quotes)
        .map(|text| text.to_vec())
        .map_err(|error| error.why)
}

/// What the shell hands to programs, by the text it is given on its standard input.
fn output_of(shell: &str, script: &[u8]) -> Vec<u8> {
    let mut child = Command::new(shell)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(script).unwrap();
    child.wait_with_output().unwrap().stdout
}

/// Commands, and what they print: `@` is the value.
const PLACES: [(&str, &str); 42] = [
    ("printf '<%s>' {{secret:v}}", "<@>"),
    ("printf '<%s>' a{{secret:v}}b", "<a@b>"),
    ("printf '<%s>' {{secret:v}}{{secret:v}} c", "<@@><c>"),
    ("printf '<%s>' \"{{secret:v}}\"", "<@>"),
    ("printf '<%s>' \"a {{secret:v}} b\"", "<a @ b>"),
    ("printf '<%s>' '{{secret:v}}'", "<@>"),
    ("printf '<%s>' 'a \" {{secret:v}} $b'", "<a \" @ $b>"),
    ("printf '<%s>' '${{secret:v}}'", "<$@>"),
    ("printf '<%s>' $'a\\n{{secret:v}}\\tb'", "<a\n@\tb>"),
    ("printf '<%s>' \"$(printf '%s.' {{secret:v}})\"", "<@.>"),
    ("printf '<%s>' \"$(printf '%s.' \"{{secret:v}}\")\"", "<@.>"),
    ("printf '<%s>' \"`printf '%s' a`{{secret:v}}\"", "<a@>"),
    ("x=`printf '%s.' {{secret:v}}`; printf '<%s>' \"$x\"", "<@.>"),
    ("x=`printf '%s.' \"{{secret:v}}\"`; printf '<%s>' \"$x\"", "<@.>"),
    ("x=`printf '%s.' \\`printf '%s' a\\`'{{secret:v}}'`; printf '<%s>' \"$x\"", "<a@.>"),
    ("x={{secret:v}}; printf '<%s>' \"$x\"", "<@>"),
    ("x=a\"{{secret:v}}\"'b'; printf '<%s>' \"$x\"", "<a@b>"),
    ("x={{secret:v}} bash -c 'printf \"<%s>\" \"$x\"'", "<@>"),
    ("export x={{secret:v}}; bash -c 'printf \"<%s>\" \"$x\"'", "<@>"),
    ("a=(1 {{secret:v}} \"{{secret:v}}\"); printf '<%s>' \"${a[@]}\"", "<1><@><@>"),
    ("declare -A m=([k]={{secret:v}}); printf '<%s>' \"${m[k]}\"", "<@>"),
    ("cat <<< {{secret:v}}", "@\n"),
    ("cat <<< \"a {{secret:v}}\"", "a @\n"),
    ("cat <<E_O_F\na {{secret:v}} $((1+1)) b\nE_O_F\n", "a @ 2 b\n"),
    ("cat <<'E_O_F'\na {{secret:v}} $((1+1)) b\nE_O_F\n", "a @ $((1+1)) b\n"),
    ("cat <<E_O_F; printf '<%s>' {{secret:v}}\n$(printf '%s.' '{{secret:v}}')\nE_O_F\n", "@.\n<@>"),
    ("cat <<A - <<B\nfirst\nA\n{{secret:v}}\nB\n", "@\n"),
    ("x=$(cat <<E_O_F\n{{secret:v}}.\nE_O_F\n); printf '<%s>' \"$x\"", "<@.>"),
    ("f() { printf '<%s>' \"$1\" {{secret:v}}; }; f a", "<a><@>"),
    ("for x in a {{secret:v}}; do printf '<%s>' \"$x\"; done", "<a><@>"),
    ("case {{secret:v}} in \"{{secret:v}}\") echo same;; *) echo other;; esac", "same\n"),
    ("case a in b|{{secret:v}}) echo no;; a) printf '<%s>' {{secret:v}};; esac", "<@>"),
    ("[[ a{{secret:v}} == a\"{{secret:v}}\" ]] && echo same", "same\n"),
    ("[[ a{{secret:v}} =~ ^(b|a{{secret:v}})$ ]] && echo same", "same\n"),
    ("# it's {{secret:v}}\nprintf '<%s>' {{secret:v}} # and {{secret:v}}", "<@>"),
    ("printf '<%s>' {a,{{secret:v}}}", "<a><@>"),
    ("if printf '<%s>' {{secret:v}}; then echo; fi; (printf '<%s>' {{secret:v}})", "<@>\n<@>"),
    ("cat <(printf '<%s>' '{{secret:v}}')", "<@>"),
    ("printf '<%s>' ${x:-a} {{secret:v}} \"${x:-b c}\"", "<a><@><b c>"),
    ("echo $((1 + (2))) `echo x` '{' {{secret:v}}", "3 x { @\n"),
    ("bash -c 'printf \"<%s>\" \"$1\"' _ {{secret:v}}", "<@>"),
    ("time -p true; { printf '<%s>' {{secret:v}}; }; function g { printf '<%s>' {{secret:v}}; }; g", "<@><@>"),
];

#[test]
fn a_value_is_one_word_of_data_in_every_place_whatever_it_contains() {
    for (command, expected) in PLACES {
        for value in VALUES {
            let expected = expected.replace('@', value);
            let resolved = resolve(command, value.as_bytes(), Quotes::Bash)
                .unwrap_or_else(|why| panic!("{command} with {value:?}: {why}"));
            let seen = output_of("bash", &resolved);
            // Bash itself drops newlines at the end of a substitution; the dot behind the value keeps them.
            assert_eq!(
                seen.escape_ascii().to_string(),
                expected.as_bytes().escape_ascii().to_string(),
                "{command} with {value:?}: {}",
                resolved.escape_ascii()
            );
        }
    }
}

#[test]
fn any_bytes_but_nul_arrive() {
    let all: Vec<u8> = (1..=255).collect();
    let broken = b"\xff\xfe\x01\x7f\xc3(\xe2\x82".to_vec();
    let commands = [
        "printf %s {{secret:v}}", "printf %s \"{{secret:v}}\"", "printf %s '{{secret:v}}'", "printf %s $'{{secret:v}}'",
    ];
    for value in [all, broken] {
        for command in commands {
            let resolved = resolve(command, &value, Quotes::Bash).unwrap();
            assert_eq!(output_of("bash", &resolved), value, "{command}");
        }
    }
}

#[test]
fn a_plain_sh_gets_quotes_that_it_knows() {
    let commands = [
        ("printf '<%s>' {{secret:v}} \"a {{secret:v}}\" '{{secret:v}}'", "<@><a @><@>"),
        ("cat <<X_Y\n{{secret:v}}\nX_Y\n", "@\n"),
        ("x={{secret:v}}; printf '<%s>' \"$x\" `printf '%s.' {{secret:v}} | wc -l`", "<@><"),
    ];
    for (command, expected) in commands {
        for value in VALUES {
            let resolved = resolve(command, value.as_bytes(), Quotes::Posix).unwrap();
            let expected = expected.replace('@', value);
            let seen = output_of("sh", &resolved);
            assert!(seen.starts_with(expected.as_bytes()), "{command} with {value:?}: {}", seen.escape_ascii());
        }
    }
    assert!(resolve("echo $'{{secret:v}}'", b"a value", Quotes::Posix).is_err());
}

#[test]
fn where_a_value_cannot_be_data_the_command_is_refused_with_the_reason() {
    let cases = [
        ("{{secret:v}}", "name of a command"),
        ("{{secret:v}} arg", "name of a command"),
        ("./{{secret:v}}", "name of a command"),
        ("\"{{secret:v}}\" arg", "name of a command"),
        ("a; 'b{{secret:v}}'", "name of a command"),
        ("x=1 {{secret:v}}", "name of a command"),
        ("if {{secret:v}}; then :; fi", "name of a command"),
        ("f() { {{secret:v}}; }", "name of a command"),
        ("true && \"{{secret:v}}\"", "name of a command"),
        ("echo $({{secret:v}})", "name of a command"),
        ("echo \\{{secret:v}}", "backslash"),
        ("echo \"\\{{secret:v}}\"", "backslash"),
        ("echo ${{secret:v}}", "$ stands before"),
        ("echo \"${{secret:v}}\"", "$ stands before"),
        ("echo ${x:-{{secret:v}}}", "${…}"),
        ("echo \"${x:-{{secret:v}}}\"", "${…}"),
        ("echo ${x:-\"{{secret:v}}\"}", "${…}"),
        ("echo $(( {{secret:v}} + 1 ))", "arithmetic"),
        ("(( x = {{secret:v}} ))", "arithmetic"),
        ("for ((i = {{secret:v}};;)); do :; done", "arithmetic"),
        ("echo $[{{secret:v}}]", "arithmetic"),
        ("a[{{secret:v}}]=1", "an index"),
        ("a[ {{secret:v}} ]=1", "an index"),
        ("a[ '{{secret:v}}' ]+=1", "an index"),
        ("declare a[ {{secret:v}} ]=1", "`declare` reads it as code"),
        ("printf -v{{secret:v}} x", "`printf` reads it as code"),
        ("test -v $x {{secret:v}}", "`test` reads it as code"),
        ("cat <<{{secret:v}}\nx\n{{secret:v}}\n", "delimiter"),
        ("echo 'open {{secret:v}}", "a single quote is never closed"),
        ("echo \"$(echo {{secret:v}}\"", "a double quote is never closed"),
        ("echo \"`echo {{secret:v}}`\"", "write $(…)"),
        ("eval \"echo {{secret:v}}\"", "`eval` reads it as code"),
        ("trap 'echo {{secret:v}}' EXIT", "`trap` reads it as code"),
        ("alias x='{{secret:v}}'", "`alias` reads it as code"),
        ("bash -c 'echo {{secret:v}}'", "`bash -c` reads it as code"),
        ("sudo -n /bin/sh -ec \"echo {{secret:v}}\"", "`sh -c` reads it as code"),
        ("ssh host \"echo '{{secret:v}}'\"", "`ssh` reads it as code"),
        ("bash <<E\necho {{secret:v}}\nE\n", "`bash` reads it as code"),
        ("let x={{secret:v}}", "`let` reads it as code"),
        ("declare -i x={{secret:v}}", "`declare` reads it as code"),
        ("declare -a x={{secret:v}}", "`declare` reads it as code"),
        ("local -n x='{{secret:v}}'", "`local` reads it as code"),
        ("export {{secret:v}}", "`export` reads it as code"),
        ("declare 'a[{{secret:v}}]=1'", "`declare` reads it as code"),
        ("printf -v {{secret:v}} x", "`printf` reads it as code"),
        ("[ -v '{{secret:v}}' ]", "`[` reads it as code"),
        ("read {{secret:v}}", "`read` reads it as code"),
        ("unset \"{{secret:v}}\"", "`unset` reads it as code"),
        ("compgen -W '{{secret:v}}'", "`compgen` reads it as code"),
        ("PS4='{{secret:v}}'; set -x", "`PS4` reads it as code"),
        ("export BASH_ENV={{secret:v}}", "`BASH_ENV` reads it as code"),
        ("bash <<< {{secret:v}}", "`bash` reads it as code"),
        (". /dev/stdin <<< \"{{secret:v}}\"", "`.` reads it as code"),
        ("echo x >&{{secret:v}}", "bash reads it twice"),
        ("echo x >& '{{secret:v}}'", "bash reads it twice"),
        ("cat <&\"{{secret:v}}\"", "bash reads it twice"),
        ("a=([{{secret:v}}]=1)", "an index"),
        ("[[ 1 -eq {{secret:v}} ]]", "`[[` reads it as code"),
        ("echo ${ echo {{secret:v}}; }", "cannot be read for certain"),
    ];
    for (command, why) in cases {
        let refused = resolve(command, b"$(a value)", Quotes::Bash).expect_err(command);
        assert!(refused.contains(why), "{command}: {refused}");
    }
    assert!(resolve("export x={{secret:v}}", b"($(a value))", Quotes::Bash).unwrap_err().contains("as a list"));
    for command in [
        "export x={{secret:v}}", "declare x='{{secret:v}}'", "read x <<< {{secret:v}}", "local y=\"a{{secret:v}}\"",
        "echo x &> {{secret:v}}", "x[1]={{secret:v}}", "test {{secret:v}} = x",
    ] {
        assert!(resolve(command, b"$(a value)", Quotes::Bash).is_ok(), "{command}");
    }
    for command in ["eval \"echo {{secret:v}}\"", "bash -c 'echo {{secret:v}}'", "ssh host echo {{secret:v}}"] {
        assert!(
            resolve(command, b"s3cr3t-value.9", Quotes::Bash).is_ok(),
            "inert values may stand anywhere: {command}"
        );
    }
}

#[test]
fn a_value_never_ends_the_here_document_it_stands_in() {
    let cases: [(&str, &str, bool); 9] = [
        ("cat <<E\n{{secret:v}}\nE\n", "E", false),
        ("cat <<E\n{{secret:v}}\nE\n", "a\nE\nb", false),
        ("cat <<'E'\nx{{secret:v}}\nE\n", "a\nE", false),
        ("cat <<'E'\nx{{secret:v}}y\nE\n", "a\nE", true),
        ("cat <<EE\nE{{secret:v}}\nEE\n", "E", false),
        ("cat <<-E\n\t{{secret:v}}\n\tE\n", "\tE", false),
        ("cat <<-E\n{{secret:v}}\n\tE\n", "a\n\tb", false),
        ("cat <<E\n{{secret:v}}\nE\n", "E ", true),
        ("cat <<E\n{{secret:v}}\nE\n", "\u{1}", false),
    ];
    for (command, value, fits) in cases {
        assert_eq!(resolve(command, value.as_bytes(), Quotes::Bash).is_ok(), fits, "{command} with {value:?}");
    }
}

/// Every word of the commands that are compared with bash elsewhere, in turn, as a reference to itself.
#[test]
fn a_command_with_a_word_taken_out_and_put_back_does_what_it_did() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../chiton-engine/tests/cases/fidelity.cases");
    let (mut tried, mut refused, mut differ) = (0, 0, Vec::new());
    for case in chiton_testkit::cases::read(&path) {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let text = &case.command;
        let slow =
            ["sleep", "wait", "$$", "RANDOM", "SECONDS", "BASH_EXECUTION_STRING", "LINENO", "BASHPID", "BASH_COMMAND"];
        if text.len() > 2000 || slow.iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some()) {
            continue;
        }
        let mut expected = None;
        let mut start = 0;
        while let Some(skip) = text[start..].iter().position(is_word) {
            start += skip;
            let length = text[start..].iter().take_while(|byte| is_word(byte)).count();
            let range = start..start + length;
            start += length;
            // Where quotes make a difference: a reserved word, and the numbers of `{1..9}`.
            let around =
                [&text[range.start.saturating_sub(2)..range.start], &text[range.end..(range.end + 2).min(text.len())]];
            let quotable = !KEYWORDS.contains(&&text[range.clone()]) && !around.contains(&&b".."[..]);
            // A sample that always is the same.
            if length < 2 || !quotable || (range.start * 7 + text.len()) % 3 != 0 {
                continue;
            }
            let command = [&text[..range.start], b"{{secret:v}}", &text[range.end..]].concat();
            let value = &text[range.clone()];
            let reference = Reference::secret("v").unwrap();
            let known = Known { range: range.start..range.start + 12, reference: &reference, value };
            let parsed = chiton_shell::parse(&command);
            match into_command(&command, parsed.as_ref(), &[known], Quotes::Bash) {
                Err(_) => refused += 1,
                Ok(resolved) => {
                    tried += 1;
                    let expected = expected.get_or_insert_with(|| observe(text));
                    let seen = observe(&resolved);
                    if seen != *expected {
                        differ.push(format!("{}: {}", case.name, resolved.escape_ascii()));
                    }
                }
            }
        }
    }
    assert!(differ.is_empty(), "{} of {tried}:\n{}", differ.len(), differ.join("\n"));
    assert!(tried > 300, "only {tried} were tried, {refused} refused");
}

const KEYWORDS: [&[u8]; 12] =
    [b"eq", b"in", b"do", b"done", b"then", b"else", b"elif", b"fi", b"esac", b"if", b"case", b"time"];

fn observe(command: &[u8]) -> (Vec<u8>, i32) {
    let folder = tempfile::tempdir().unwrap();
    let environment = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nonexistent"), ("LANG", "C.UTF-8")];
    let seen = chiton_testkit::oracle::bash(command, folder.path(), &environment);
    (seen.stdout, seen.status)
}

/// Pieces of harmless commands, put together at random: many are malformed, most are odd. None of them is a loop that
/// could go on for ever.
const PIECES: [&str; 122] = [
    "echo", "printf '%s'", ":", "x=", "y=1", "a=(", "{{secret:v}}", "{{secret:v}}", "{{secret:v}}", "\"{{secret:v}}\"",
    "'{{secret:v}}'", "$'{{secret:v}}'", "a{{secret:v}}b", "'", "\"", "\\", "$(", ")", "`", "(", ")", "{", "}", "((",
    "))", "$((", "${x:-", "}", "${x", "[[", "]]", "==", "=~", "-eq", ";", "&&", "||", "|", "&", "\n", "\n", "#", "<<E",
    "<<'E'", "<<-E", "E", "\nE\n", "\nE\n", "<<<", ">f", "2>&1", "<(", "if", "then", "fi", "case x in", "x)", ";;",
    "esac", "for x in", "do", "done", "f()", "function g", "$x", "\"$x\"", "$'", "$\"", "@(", "!", "\\\n", "\t", "*",
    "{a,", "export", "declare -i", "declare -a", "read x", "unset", "test -v", "printf -v", ">&", "<&", "&>", "a[",
    "]=1", "PS4=", "set -x;", "x[1]=", "[ x -eq", "-v", "local", "{{secret:v}}", "\"{{secret:v}}\"", "'{{secret:v}}'",
    "$((x))", "${x}", "a=(1 ", ")", "; echo", "| bash", "bash -c", "bash -s", "eval", "source", "/dev/stdin",
    "declare -i x;", "a[\n", "{x[", "]}>f", "[[ -v", "$[", "]", "coproc", "select x in", "env", "nice", "RANDOM=",
    ">(", "sudo", "command", "-o x",
];

/// As the engine does it: evaluated, if bash finds it well-formed.
const BOOTSTRAP: &str = r#"
ulimit -t 10
c=$(bash -n "$TEXT" 2>&1) && [ -z "$c" ] && IFS= read -r -d '' s < "$TEXT"
unset TEXT BOOTSTRAP
eval "$s"
"#;

/// Whatever a value contains, and whatever the command around it, no part of it is ever run.
fn try_random_commands(seed: u64, count: usize) {
    let values = [
        "a'b\"c$(: >canary)`: >canary`; : >canary; #\n: >canary\n",
        "'; : >canary; '",
        "\"; : >canary; \"",
        "\nE\n: >canary\n",
        "$(: >canary)",
        ") ; : >canary ; (",
        "x[$(: >canary)]",
        "($(: >canary))",
        "y[`: >canary`]=1",
        "\\'; : >canary; \\'",
    ];
    let mut dice = Dice::new(seed);
    let (mut ran, mut refused) = (0, 0);
    while ran < count {
        let length = 2 + dice.roll(12);
        let words: Vec<&str> = (0..length).map(|_| *dice.one_of(&PIECES)).collect();
        let command =
            words.iter().fold(String::new(), |text, word| text + word + if dice.roll(4) == 0 { "" } else { " " });
        let value = *dice.one_of(&values);
        // A command whose name comes from an expansion may be `eval` itself: that is the program's own business.
        if !command.contains("{{secret:v}}") || command.contains("${x:-") {
            continue;
        }
        match resolve(&command, value.as_bytes(), Quotes::Bash) {
            Err(_) => refused += 1,
            Ok(resolved) => {
                ran += 1;
                // The text lies in another folder: `bash *` would run itself for ever where it could find itself.
                let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
                let (text, bootstrap) = (elsewhere.path().join("text"), elsewhere.path().join("bootstrap"));
                fs::write(&text, &resolved).unwrap();
                fs::write(&bootstrap, BOOTSTRAP).unwrap();
                let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
                let (text, bootstrap) = (path(&text), path(&bootstrap));
                let environment =
                    [("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TEXT", &*text), ("BOOTSTRAP", &*bootstrap)];
                // Some wait for ever, such as `source >(x)`, which reads its own pipe.
                let command_line = b"exec timeout -s KILL 10 bash --norc --noprofile \"$BOOTSTRAP\"";
                chiton_testkit::oracle::bash(command_line, folder.path(), &environment);
                assert!(
                    !folder.path().join("canary").exists(),
                    "{command:?} with {value:?}: {}",
                    resolved.escape_ascii()
                );
            }
        }
    }
    println!("{ran} ran, {refused} were refused");
}

#[test]
fn no_part_of_a_value_is_ever_run_whatever_the_command_around_it() {
    try_random_commands(7, 800);
}

/// `FUZZ_SEED=1 cargo test -p chiton-redact --lib many_random -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn many_random_commands_run_no_part_of_a_value() {
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    try_random_commands(seed, 20_000);
}
