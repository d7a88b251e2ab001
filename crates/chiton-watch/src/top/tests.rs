//! What is on the screen, at any size, and what each key does.

use std::path::PathBuf;

use chiton_engine::TaskStatus;
use chiton_engine::consent::Answer;
use chiton_engine::terminal::snapshot::Colour;

use super::canvas::Cell;
use super::{Canvas, Deed, Key, Top};
use crate::approvals::Waiting;
use crate::near::Near;
use crate::overview::{SeenRun, SeenWait};

fn run(id: &str, command: &str, status: TaskStatus) -> SeenRun {
    SeenRun {
        id: format!("shell_{id}"),
        command: command.to_owned(),
        description: None,
        directory: PathBuf::from("/home/me/project"),
        session: None,
        owner: Some("claude-code".to_owned()),
        status,
        exit_code: (status == TaskStatus::Failed).then_some(3),
        signal: None,
        started_ms: 1_000,
        took_ms: (!status.is_running()).then_some(90_000),
        wait: None,
        last_line: "the last line".to_owned(),
        printed: 2_000_000,
        rate: 5_000,
        cpu: Some(42),
        memory: Some(12 << 20),
        processes: 2,
        listening: vec!["127.0.0.1:8080".to_owned()],
        ports_unknown: None,
        terminal: false,
        background: false,
        leftover_of: None,
        changed: None,
        revision: 0,
    }
}

fn asks() -> Waiting {
    Waiting {
        id: "0123456789abcdef".to_owned(),
        asked_ms: 1_000,
        heading: "May this command run?".to_owned(),
        text: "Canaries sing.\n\n| touch canary".to_owned(),
        answers: "once: this time.".to_owned(),
        command: "touch canary".to_owned(),
        directory: PathBuf::from("/home/me"),
        session: None,
        owner: Some("cursor".to_owned()),
    }
}

/// A question, a run that waits, one that runs, one that failed.
fn top() -> Top {
    let mut waits = run("aaaaaaaa", "sudo apt-get update", TaskStatus::Running);
    waits.terminal = true;
    waits.wait = Some(SeenWait { prompt: "[sudo] password for me:".to_owned(), echo: false });
    let runs = [
        waits,
        run("bbbbbbbb", "npm run dev", TaskStatus::Running),
        run("cccccccc", "cargo test", TaskStatus::Failed),
        run("dddddddd", "make", TaskStatus::Completed),
    ];
    let mut top = Top::new(false);
    top.take(&[asks()], runs.iter(), 61_000);
    top
}

fn drawn(top: &Top, width: u16, height: u16) -> Vec<String> {
    let mut canvas = Canvas::new(width, height);
    top.draw(&mut canvas);
    let text = |cell: &Cell| if cell.text.is_empty() && !cell.covered { " ".to_owned() } else { cell.text.clone() };
    let row = |row| canvas.row(row).iter().map(text).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect()
}

fn chosen(top: &Top) -> &str {
    top.chosen.as_deref().unwrap()
}

#[test]
fn what_needs_a_person_comes_first_then_what_runs_then_what_has_ended() {
    let lines = drawn(&top(), 100, 20);
    assert!(lines[0].contains("2 need you · 2 running · 2 ended"), "{lines:#?}");
    let firsts: Vec<&str> = lines[2..7].iter().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(firsts, ["asks", "waits", "runs", "exit", "done"], "{lines:#?}");
    assert!(lines[4].contains("bbbbbbbb") && lines[4].contains("42%") && lines[4].contains("12M"), "{lines:#?}");
    assert!(lines[4].contains("4.8K/s") && lines[4].contains("npm run dev"), "{lines:#?}");
}

#[test]
fn at_any_size_the_command_is_seen_and_nothing_breaks() {
    for width in [1, 2, 7, 20, 40, 63, 64, 80, 100, 119, 120, 200, 400] {
        for height in [1, 2, 3, 5, 12, 24, 60] {
            let mut top = top();
            let lines = drawn(&top, width, height);
            if width >= 40 && height >= 5 {
                assert!(lines.iter().any(|line| line.contains("touch canary")), "{width}x{height}: {lines:#?}");
                assert!(lines[usize::from(height) - 1].contains("help"), "{width}x{height}: {lines:#?}");
            }
            for key in
                [Key::Enter, Key::Escape, Key::Down, Key::Enter, Key::Character('K'), Key::Escape, Key::Character('?')]
            {
                top.press(key);
                drawn(&top, width, height);
            }
        }
    }
}

#[test]
fn the_chosen_row_stays_chosen_while_others_come_and_go() {
    let mut top = top();
    assert_eq!(chosen(&top), "0123456789abcdef");
    top.press(Key::Down);
    top.press(Key::Character('j'));
    assert_eq!(chosen(&top), "shell_bbbbbbbb");
    let (new, old) = (run("eeeeeeee", "new", TaskStatus::Running), run("bbbbbbbb", "npm run dev", TaskStatus::Running));
    top.take(&[], [new.clone(), old].iter(), 62_000);
    assert_eq!(chosen(&top), "shell_bbbbbbbb");
    // Where it is gone, the one in its place is.
    top.take(&[], [new].iter(), 63_000);
    assert_eq!(chosen(&top), "shell_eeeeeeee");
    top.take(&[], [].iter(), 64_000);
    assert_eq!(top.chosen, None);
    assert!(drawn(&top, 80, 24)[1].contains("Nothing has run yet"));
}

#[test]
fn a_question_is_answered_only_where_it_is_seen_whole() {
    let cases = [('y', Answer::Once), ('s', Answer::Session), ('n', Answer::No)];
    for (letter, answer) in cases {
        let mut top = top();
        assert_eq!(top.press(Key::Character(letter)), None, "in the list it only opens");
        let lines = drawn(&top, 80, 24);
        assert!(lines.iter().any(|line| line.contains("Canaries sing.")), "{lines:#?}");
        assert_eq!(top.press(Key::Character(letter)), Some(Deed::Answer("0123456789abcdef".to_owned(), answer)));
    }
    let mut top = top();
    top.press(Key::Enter);
    top.press(Key::Escape);
    assert!(drawn(&top, 80, 24)[1].contains("COMMAND"), "it can be left for later");
    top.press(Key::Enter);
    top.take(&[], [].iter(), 62_000);
    assert!(drawn(&top, 80, 24)[23].contains("not there any more"), "somebody else has answered it");
}

#[test]
fn nothing_is_ended_without_a_second_key() {
    let mut top = top();
    top.press(Key::Down);
    for (second, done) in [('n', None), ('y', Some(Deed::Kill("shell_aaaaaaaa".to_owned())))] {
        assert_eq!(top.press(Key::Character('K')), None);
        assert!(drawn(&top, 120, 24)[23].contains("End shell_aaaaaaaa with everything it started?"));
        assert_eq!(top.press(Key::Character(second)), done);
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut top = top();
    let says = |top: &Top, words: &str| assert!(drawn(top, 100, 24)[23].contains(words), "{:?}", top.said);
    for _ in 0..2 {
        top.press(Key::Down);
    }
    assert_eq!(top.press(Key::Character('a')), None);
    says(&top, "has no terminal");
    assert_eq!(top.press(Key::Character('r')), Some(Deed::Release("shell_bbbbbbbb".to_owned())));
    top.press(Key::Down);
    for letter in ['K', 'a', 'r'] {
        assert_eq!(top.press(Key::Character(letter)), None);
        says(&top, "shell_cccccccc has ended");
    }
    top.press(Key::Home);
    top.press(Key::Down);
    assert_eq!(top.press(Key::Character('a')), Some(Deed::Attach("shell_aaaaaaaa".to_owned())));
}

#[test]
fn a_filter_shows_what_has_the_word_anywhere() {
    let mut top = top();
    top.press(Key::Character('/'));
    for character in "CARGO".chars() {
        top.press(Key::Character(character));
    }
    assert_eq!(chosen(&top), "shell_cccccccc");
    assert_eq!(drawn(&top, 80, 24)[23], "/CARGO");
    top.press(Key::Enter);
    let lines = drawn(&top, 80, 24);
    assert!(lines[0].contains("/CARGO") && lines[2].contains("cargo test"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("npm run")), "{lines:#?}");
    assert_eq!(top.press(Key::Escape), None, "the first escape shows everything again");
    assert_eq!(top.press(Key::Escape), Some(Deed::Quit));
}

#[test]
fn a_look_in_shows_the_last_lines_and_scrolls() {
    let mut top = top();
    top.press(Key::Down);
    top.press(Key::Down);
    top.press(Key::Enter);
    assert_eq!(top.wanted().map(|run| run.id.as_str()), Some("shell_bbbbbbbb"));
    top.show(Near::Output((0..100).map(|number| format!("line {number}")).collect()));
    let lines = drawn(&top, 60, 14);
    assert!(lines[12].contains("line 99") && lines[3].contains("line 90"), "{lines:#?}");
    top.press(Key::Up);
    assert!(drawn(&top, 60, 14)[12].contains("line 98"));
    top.press(Key::Home);
    assert!(drawn(&top, 60, 14)[3].contains("line 0"));
    top.press(Key::End);
    assert!(drawn(&top, 60, 14)[12].contains("line 99"));
    top.press(Key::Left);
    assert!(drawn(&top, 60, 14)[1].contains("COMMAND"));
}

#[test]
fn without_colours_there_are_none() {
    let mut canvas = Canvas::new(80, 24);
    let mut top = top();
    top.plain = true;
    top.draw(&mut canvas);
    let is_plain = |cell: &Cell| (cell.style.foreground, cell.style.background) == (Colour::Usual, Colour::Usual);
    assert!((0..24).all(|row| canvas.row(row).iter().all(is_plain)));
}
