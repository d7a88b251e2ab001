use super::*;

fn log(line: impl Fn(usize) -> String, count: usize) -> String {
    (1..=count).map(|number| line(number) + "\n").collect()
}

fn shown(text: &str) -> Option<String> {
    compact(text, 1, Ending::Well).map(|compacted| compacted.shown)
}

#[test]
fn a_build_is_its_first_line_its_last_and_what_is_left_out() {
    let text = format!(
        "start\n{}   Finished in 3s\n",
        log(|number| format!("   Compiling crate{number}x v1.0.{number}"), 100)
    );
    assert_eq!(
        shown(&text).unwrap(),
        "start\n   Compiling crate1x v1.0.1\n[\u{2026} 98 lines like it: lines 3-100]\n   Compiling crate100x v1.0.100\n   \
         Finished in 3s\n"
    );
}
