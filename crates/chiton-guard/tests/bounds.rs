//! However much text a command would make, the judge makes only so much: it asks, in little memory and soon.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chiton_guard::{Context, Decision, judge};

/// Commands whose text doubles and doubles, each with what the verdict has to be: an exact one only where nothing but
/// the size speaks against it.
fn shapes() -> Vec<(String, Option<Decision>)> {
    const START: &str = "x=aaaaaaaaaa; a=(aaaaaaaaaa); set -- aaaaaaaaaa; echo aaaaaaaaaa > f;";
    let doubling = [
        "x+=$x;", "x=$x$x;", "x=\"$x$x$x$x\";", "a+=(\"${a[@]}\");", "a=(\"${a[@]}\" \"${a[@]}\");",
        "a=(${a[*]} ${a[*]});", "x=$(echo $x$x);", "x=`echo $x$x`;", "set -- \"$@\" \"$@\";", "set -- \"$*$*\";",
        "read x <<< \"$x$x\";", "mapfile -t x <<< \"$x$x\";", "eval x=$x$x;", "declare x=$x$x;", "export x=\"$x$x\";",
        "alias x=\"$x$x\"; x=$x$x;", "x=$(echo \"$x$x\" | tee g h);", "x=${x@Q}${x@Q};", "u=$u$u; echo $u;",
        "f() { x=$x$x; }; f;",
    ];
    let transformed = [
        "x=$(printf '%s%s' \"$x\" \"$x\");",
        "printf -v x %s%s \"$x\" \"$x\";",
        "x=${x//a/$x};",
        "x=${x/a/$x$x};",
        "echo \"$x$x\" > f; x=$(cat f f);",
        "cat f f > g; cat g g > f;",
        "cat f >> f;",
        "x=$x$x bash -c \"echo $x$x\";",
        "x=$(sed \"s/a/$x/g\" <<< \"$x\");",
        "x=$(echo \"$x\" | tr a \"$x\");",
        "exec 3> >(cat > f); x=$x$x; echo \"$x\" >&3;",
    ];

    let repeated = |text: &&str| format!("{START}{}:", text.repeat(40));
    let long = "a".repeat(60_000);
    let mut shapes: Vec<_> = doubling.iter().map(|text| (repeated(text), Some(Decision::Ask))).collect();
    shapes.extend(transformed.iter().map(|text| (repeated(text), None)));
    shapes.extend([
        (format!("echo {}", "{a,b}".repeat(40)), Some(Decision::Ask)),
        (format!("echo {}", "{1..999999999}".repeat(8)), Some(Decision::Ask)),
        (format!("x={long}; echo {}", "$x".repeat(50_000)), Some(Decision::Ask)),
        (format!("x={long}; y=({})", "$x ".repeat(50_000)), Some(Decision::Ask)),
        (format!("x={long}; y={long}; echo ${{x//a/$y}}"), None),
        (format!("{START} for i in {{1..60}}; do x=$x$x; done"), None),
        (format!("{START} while :; do x=$x$x; done"), None),
        (format!("{START} f() {{ x=$x$x; f \"$@\" \"$@\"; }}; f \"$@\""), None),
        (format!("x={}; echo ${{x//*a*a*a*b/c}} ${{x##*a*a*a*a*b}} ${{x//?b/c}}", "a".repeat(4000)), None),
        ("x=([9223372036854775807]=a b); x+=(c); echo ${x[-1]} ${x[-9223372036854775808]}".to_owned(), None),
        ("declare -n r=r[r]; r=1; echo $r ${r[r]} ${!r}".to_owned(), None),
        ("declare -n r='s[r]' s='r[s]'; r=1; echo $r; for s in 1 2; do :; done".to_owned(), None),
        (format!("declare -A h=({})", numbered(20_000, "k# v ")), None),
        (format!("declare -A h; {}", numbered(4_000, "h[k#]=v;")), None),
        (numbered(1_500, "read v#; [ $v# ] && w#=$v#;"), None),
        (format!("x=$(mktemp); {} sh $x", "echo a >> $x; cat $x $x >> $x;".repeat(40)), None),
        ("printf '%1000000000s' x; printf '%.*s' 1000000000 x".to_owned(), None),
        (format!("cat <<E > notes.txt\n{}\nE\n", "one line\n".repeat(100_000)), Some(Decision::Allow)),
        (format!("x=$(cat <<E\n{}\nE\n); echo \"$x\" > y", "one line\n".repeat(50_000)), Some(Decision::Allow)),
    ]);
    shapes
}

/// `text` so many times, each with another number in the place of `#`.
fn numbered(count: usize, text: &str) -> String {
    let each: Vec<String> = (0..count).map(|number| text.replace('#', &number.to_string())).collect();
    each.concat()
}

/// Runs in a process of its own, whose memory is limited.
#[test]
#[ignore = "the other test starts it"]
fn every_shape_is_judged() {
    let context = Context::new("/home/dev", "dev", "/home/dev/project");
    for (command, expected) in shapes() {
        let shown: String = command.chars().take(120).collect();
        let start = Instant::now();
        let verdict = judge(&command, &context);

        assert!(start.elapsed() < Duration::from_secs(20), "{:?}: {shown}", start.elapsed());
        assert!(expected.is_none_or(|expected| verdict.decision == expected), "{shown}: {}", verdict.reason);
        if expected == Some(Decision::Ask) {
            assert_eq!(verdict.rule.as_deref(), Some("syntax"), "{shown}: {}", verdict.reason);
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a limit on memory needs a process of its own")]
fn shapes_that_grow_are_judged_in_half_a_gigabyte() {
    let own = std::env::current_exe().unwrap();
    let limited = "ulimit -v 500000; exec \"$0\" --ignored --exact every_shape_is_judged";
    let output = Command::new("sh").arg("-c").arg(limited).arg(own).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
