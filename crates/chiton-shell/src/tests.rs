use super::*;
use crate::place::{Quoting, Role};
use crate::tree::{CommandKind, Script};

fn count(script: &Script) -> usize {
    script.list.items.iter().map(|item| 1 + item.rest.len()).sum()
}

#[test]
fn a_place_says_how_a_byte_is_quoted_and_what_it_is_part_of() {
    let text = r#"A=x cmd bare "dou $(in 'ner') ble" 'sin' $'an' > out # note"#;
    let script = parse(text.as_bytes()).unwrap();
    let at = |needle: &str| {
        let place = script.places.at(text.find(needle).unwrap());
        (place.role, place.quoting, place.substitutions)
    };
    assert_eq!(at("A="), (Role::AssignmentName, Quoting::Bare, 0));
    assert_eq!(at("x cmd"), (Role::AssignmentValue, Quoting::Bare, 0));
    assert_eq!(at("cmd"), (Role::CommandName, Quoting::Bare, 0));
    assert_eq!(at("bare"), (Role::Argument, Quoting::Bare, 0));
    assert_eq!(at("dou"), (Role::Argument, Quoting::Double, 0));
    assert_eq!(at("in 'ner"), (Role::CommandName, Quoting::Bare, 1));
    assert_eq!(at("ner"), (Role::Argument, Quoting::Single, 1));
    assert_eq!(at("ble"), (Role::Argument, Quoting::Double, 0));
    assert_eq!(at("sin"), (Role::Argument, Quoting::Single, 0));
    assert_eq!(at("an' >"), (Role::Argument, Quoting::Ansi, 0));
    assert_eq!(at("out"), (Role::RedirectionTarget, Quoting::Bare, 0));
    assert_eq!(at("note"), (Role::Comment, Quoting::Bare, 0));
    assert_eq!(at(" > out"), (Role::Syntax, Quoting::Bare, 0));
}

#[test]
fn bodies_of_here_documents_are_told_apart() {
    let text = "cat <<A <<'B'\nfirst $x \"q\"\nA\nsecond $y\nB\necho $((third + 1)) ${v:-fourth} `fifth \"six\"`";
    let script = parse(text.as_bytes()).unwrap();
    let at = |needle: &str| script.places.at(text.find(needle).unwrap());
    assert_eq!((at("first").role, at("first").quoting), (Role::HereBody, Quoting::HereExpanded));
    assert_eq!((at("second").role, at("second").quoting), (Role::HereBody, Quoting::HereLiteral));
    assert_eq!(at("A <<").role, Role::HereDelimiter);
    assert_eq!(at("third").role, Role::Arithmetic);
    assert_eq!(at("fourth").role, Role::Parameter);
    assert_eq!((at("fifth").role, at("fifth").backticks), (Role::CommandName, 1));
    assert_eq!((at("six").role, at("six").quoting), (Role::Argument, Quoting::Double));
}

#[test]
fn nesting_costs_an_error_and_not_the_stack() {
    for open in ["(", "$(", "((", "$((", "{ ", "\"$(", "${a:-", "if ", "<(", "[[ (", "f() {", "$["] {
        assert!(parse(open.repeat(100_000).as_bytes()).is_err(), "{open}");
    }
    // Some of these are fine as arguments; what counts is that they end.
    for open in ["(", "$(", "((", "$((", "\"$(", "${a:-", "`", "<(", "@(", "[[ (", "a[", "$["] {
        let _ = parse(format!("echo {}", open.repeat(100_000)).as_bytes());
        let _ = parse(format!("x={}", open.repeat(100_000)).as_bytes());
    }
    let deep = format!("{}echo{}", "(".repeat(40), ")".repeat(40));
    assert!(parse(deep.replace("((", "( (").as_bytes()).is_ok());
}

#[test]
fn limits_are_errors_that_name_themselves() {
    let long = vec![b'a'; LONGEST + 1];
    assert_eq!(parse(&long).unwrap_err().failure, Failure::TooLong);
    assert_eq!(parse(b"echo a\0b").unwrap_err().failure, Failure::Nul);
    assert_eq!(parse("(".repeat(5000).as_bytes()).unwrap_err().failure, Failure::TooDeep);
}

#[test]
fn an_error_points_at_its_place() {
    let error = parse(b"echo ok; echo \"oops").unwrap_err();
    assert_eq!((error.span.start, error.to_string().as_str()), (14, "a double quote is never closed"));
    let error = parse(b"if true; then echo; done").unwrap_err();
    assert_eq!(error.to_string(), "`done` is not expected here");
}

#[test]
fn functions_and_patterns_are_told_apart() {
    let script = parse(b"a() { :; }; b?() { :; }; echo @(a|b) !(c) d+(e|f*)").unwrap();
    assert_eq!(count(&script), 3);
    let kinds: Vec<_> = script.list.items.iter().map(|item| &item.first.stages[0].kind).collect();
    assert!(matches!(kinds[0], CommandKind::Function { name, .. } if name == "a"));
    assert!(matches!(kinds[2], CommandKind::Simple(simple) if simple.words.len() == 4));
}

#[test]
fn what_bash_only_rejects_at_the_run_parses() {
    for text in ["for 1 in a b; do echo; done; echo", "for a[0] in x; do :; done", "select $x in a; do :; done"] {
        assert!(parse(text.as_bytes()).is_ok(), "{text}");
    }
    let script = parse(b"echo +()c @() x").unwrap();
    assert!(
        matches!(&script.list.items[0].first.stages[0].kind, CommandKind::Simple(simple) if simple.words.len() == 4)
    );
}

#[test]
fn arithmetic_ends_where_its_parentheses_close() {
    for text in [
        "(( [ ))",
        "echo $(( [ ))",
        "(( a[1] + (2) ))",
        "echo $(( (1) + x[2] ))",
        "for ((i = 0; i < (3); i++)); do :; done",
    ] {
        assert!(parse(text.as_bytes()).is_ok(), "{text}");
    }
    for text in ["(( ] ) x", "echo $(( 1 ) )", "((", "(( [", "echo $(( ' ) ' )) '"] {
        let _ = parse(text.as_bytes());
    }
}

#[test]
fn what_bash_may_read_differently_is_a_doubt() {
    for text in [
        "cat <<E\nopen", "cat <<E $(echo\n)\nx\nE\n", "echo $(cat <<E)\nx\nE\n", "(( echo a ) )", "echo $((echo a) )",
        "echo $[ 'a' ]", "echo \"${x:-'}'}\"", "a[ x ] y", "a[\nx ]=1", "a=(1)b c",
    ] {
        if let Ok(script) = parse(text.as_bytes()) {
            assert!(script.places.doubt().is_some(), "{text}");
        }
    }
    for text in ["cat <<E\nclosed\nE\n", "echo $((1 + 2)) ${a[1]} \"${x:-y}\" $[1]", "a[1]=2 b=(1 [2]=3)", "( (a) )"] {
        assert_eq!(parse(text.as_bytes()).unwrap().places.doubt(), None, "{text}");
    }
}

/// What a survey knows about the place of `@` in `text`.
fn surveyed<T>(text: &str, ask: impl FnOnce(&survey::Site<'_>) -> T) -> T {
    let script = parse(text.as_bytes()).unwrap();
    ask(&Survey::of(&script, text.as_bytes()).at(text.find('@').unwrap()))
}

#[test]
fn a_survey_says_what_surrounds_a_place() {
    use place::Enclosure;
    use survey::Preceding;

    for (text, expected) in [
        ("echo \\@", Some(Preceding::Backslash)),
        ("echo \"\\@\"", Some(Preceding::Backslash)),
        ("echo \\\\@", None),
        ("echo '\\@'", None),
        ("echo \"a$ $@\"", Some(Preceding::Dollar)),
        ("cat <<E\n\\@\nE\n", Some(Preceding::Backslash)),
        ("cat <<'E'\n\\@\nE\n", None),
    ] {
        assert_eq!(surveyed(text, |site| site.preceding), expected, "{text}");
    }
    for (text, expected) in [
        ("echo ${x:-@}", Some(Enclosure::Parameter)),
        ("echo ${x:-$(echo \"@\")}", Some(Enclosure::Parameter)),
        ("a[@]=1", Some(Enclosure::Index)),
        ("exec {a[@]}>f", Some(Enclosure::Index)),
        ("echo $((@))", Some(Enclosure::Arithmetic)),
        ("echo $(( $(echo '@') ))", Some(Enclosure::Arithmetic)),
        ("echo $(echo @)", None),
    ] {
        assert_eq!(surveyed(text, |site| site.place.enclosure), expected, "{text}");
    }
    assert!(surveyed("$(echo @) x", |site| site.names_command));
    assert!(!surveyed("x $(echo @)", |site| site.names_command));
    assert!(surveyed("echo x >&@", |site| site.is_descriptor));
    assert!(surveyed("export a=@", |site| site.is_declared));
    assert!(!surveyed("declare -a a=(@)", |site| site.is_declared));
    let here = surveyed("cat <<-'E' <<F\n\tone\n\tE\n$(echo @)\nF\n", |site| {
        site.here.map(|here| (here.delimiter.clone(), here.quoted, here.strips_tabs))
    });
    assert_eq!(here, Some((b"F".to_vec(), false, false)));
}

#[test]
fn a_survey_finds_who_reads_a_place_as_code() {
    for (text, expected) in [
        ("eval @", Some("eval")),
        ("sudo -n /bin/sh -ec \"@\"", Some("sh -c")),
        ("bash -c x _ @", None),
        ("echo @ | tee log | bash", Some("bash")),
        ("echo @ | bash script", None),
        ("python3.12 -c '@'", Some("python3.12 -c")),
        ("PS4=@", Some("PS4")),
        ("[[ 1 -eq @ ]]", Some("[[")),
        ("declare -i x=@", Some("declare")),
        ("f() { echo @; }; f | sh", Some("sh")),
        ("echo eval @", None),
    ] {
        assert_eq!(surveyed(text, |site| site.reader.clone().map(|reader| reader.name)).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_hostile_text_does_not_cost_a_survey_much() {
    let texts = [
        format!("echo @ | {}x", "eval ".repeat(50_000)),
        format!("echo @ | $x {}x", "eval ".repeat(50_000)),
        format!("{} @", "bash -c x ".repeat(20_000)),
        format!("echo @{}", " | bash -c 'eval bash -c x'".repeat(5_000)),
        format!("f() {{ echo @; }}; {}", "f; ".repeat(20_000)),
        format!("echo {}@", "{a,".repeat(20_000)),
        format!("{}@", "f() { g; }; g() { f; }; ".repeat(2_000)) + "; f | sh",
    ];
    for text in texts {
        let start = std::time::Instant::now();
        if let Ok(script) = parse(text.as_bytes()) {
            let _ = Survey::of(&script, text.as_bytes()).at(text.find('@').unwrap());
        }
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}: {}", start.elapsed(), &text[..40]);
    }
}
