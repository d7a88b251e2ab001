//! What packages carry besides the program: manual pages and completions, both made by the program.

use std::path::Path;

use crate::place::{Place, text};

/// The verbs that `--help` shows.
fn verbs(place: &Place) -> Vec<String> {
    let help = text(&place.call(&["--help"]).stdout);
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap().to_owned();
    let is_verb = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let verbs = listed.lines().filter(is_verb).map(|line| line.split_whitespace().next().unwrap().to_owned());
    verbs.filter(|verb| verb != "help").collect()
}

#[test]
fn every_verb_has_a_manual_page() {
    let place = Place::new();
    let pages = text(&place.call(&["man"]).stdout);
    let pages: Vec<&str> = pages.lines().collect();
    assert_eq!(pages[0], "chiton");
    assert!(pages.contains(&"chiton-session-checkpoint") && !pages.contains(&"chiton-man"), "{pages:?}");
    for verb in verbs(&place) {
        let name = format!("chiton-{verb}");
        assert!(pages.contains(&name.as_str()), "{name} is not among {pages:?}");
        let page = text(&place.call(&["man", &name]).stdout);
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{page}");
    }
}

#[test]
fn a_page_that_there_is_not_is_named() {
    let place = Place::new();
    let output = place.call(&["man", "chiton-rnu"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("there is no manual page 'chiton-rnu'"), "{}", text(&output.stderr));
}

#[test]
fn examples_keep_their_layout() {
    let place = Place::new();
    let page = text(&place.call(&["man", "chiton-sandbox"]).stdout);
    let notes = page.split(".SH NOTES\n.nf\n").nth(1).unwrap();
    assert!(notes.contains("\n  chiton sandbox list       "), "{page}");
}

/// What bash would offer behind these words.
fn completed(place: &Place, words: &str, last: &str) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_chiton"));
    let script = format!(
        "source <(chiton completions bash); COMP_WORDS=({words} {last}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         COMP_TYPE=9; _clap_complete_chiton chiton '{last}' ''; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.parent().unwrap().display());
    let output = place.command_of("bash").env("PATH", path).args(["-c", &script]).output().unwrap();
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_verbs_and_ids_with_the_file_of_the_package() {
    let place = Place::new();
    assert_eq!(completed(&place, "chiton", "compl"), ["completions"]);
    assert_eq!(completed(&place, "chiton completions", "z"), ["zsh"]);
}

#[test]
fn a_shell_that_is_not_completed_is_refused_by_name() {
    let place = Place::new();
    let output = place.call(&["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("[possible values: bash, zsh, fish]"), "{}", text(&output.stderr));
}
