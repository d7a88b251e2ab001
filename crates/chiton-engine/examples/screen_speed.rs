//! How fast a screen takes output, and plain text is made of it: `cargo run --release --example screen_speed`.
#![expect(clippy::format_collect, reason = "text to measure with, made once")]

use std::time::Instant;

use chiton_engine::render::PlainText;
use chiton_engine::terminal::{Screen, TerminalSize};

fn main() {
    let log: String = (0..200_000)
        .map(|line| format!("{line:08} INFO module::path processing request id={line} took {}us\r\n", line % 997))
        .collect();
    let coloured: String = (0..200_000)
        .map(|line| format!("\x1b[2m{line:08}\x1b[0m \x1b[32mINFO\x1b[0m module::path processing request id=\x1b[1m{line}\x1b[0m\r\n"))
        .collect();
    let unicode = "\u{4e16}\u{754c} gr\u{fc}n \u{2500}\u{2500}\u{2500} caf\u{e9} text\r\n".repeat(200_000);
    let bar: String = (0..200_000).map(|step| format!("\r\x1b[K{step:>7} [{:<40}]", "#".repeat(step % 40))).collect();
    for (name, text) in [("log", log), ("coloured", coloured), ("unicode", unicode), ("progress bar", bar)] {
        let bytes = text.as_bytes();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = |since: Instant| bytes.len() as f64 / since.elapsed().as_secs_f64() / 1e6;
        let mut screen = Screen::new(TerminalSize::USUAL);
        let start = Instant::now();
        bytes.chunks(4096).for_each(|part| screen.feed(part));
        let shown = rate(start);
        let (mut plain, mut out) = (PlainText::new(), Vec::new());
        let start = Instant::now();
        bytes.chunks(65536).for_each(|part| {
            out.clear();
            plain.push(part, &mut out);
        });
        let stripped = rate(start);
        println!("{name}: {} MB, screen {shown:.0} MB/s, plain text {stripped:.0} MB/s", bytes.len() / 1_000_000);
    }
}
