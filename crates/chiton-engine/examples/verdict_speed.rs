//! How long a verdict takes: `cargo run --release --example verdict_speed FILE...`, each a table of the guard's corpus.

use std::time::{Duration, Instant};

use chiton_engine::guard::{Context, judge};

/// Times each command is judged; the quickest counts, so that the machine's other work does not.
const ROUNDS: usize = 20;

fn main() {
    let context = Context::new("/home/dev", "dev", "/home/dev/project");
    let mut times: Vec<Duration> = Vec::new();
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        for line in text.lines().skip(1) {
            let Some(command) = line.split('\t').nth(2) else { continue };
            let command = command.replace("\\n", "\n");
            let quickest = (0..ROUNDS).map(|_| timed(&command, &context)).min();
            times.extend(quickest.filter(|_| command.len() < 500));
        }
    }
    times.sort_unstable();
    let at = |part: usize| times[(times.len() - 1) * part / 1000].as_secs_f64() * 1e6;
    println!("{} commands: {:.1} / {:.1} / {:.1}", times.len(), at(500), at(990), at(999));
}

fn timed(command: &str, context: &Context) -> Duration {
    let begun = Instant::now();
    std::hint::black_box(judge(command, context));
    begun.elapsed()
}
