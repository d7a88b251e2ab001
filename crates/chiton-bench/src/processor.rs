//! Processor time of a server and everything that it started, for calls that hardly do anything.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use crate::bash;
use crate::bench::Bench;
use crate::memory;
use crate::server::Program;
use crate::table::{Row, millis};

/// The kernel shows times in hundredths of a second, on every processor that Chiton runs on.
const TICKS: f64 = 100.0;
/// So this many calls are added up.
const CALLS: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(5);
/// Of `bash -c true`, which a call of `true` may use.
const GOAL: f64 = 0.6;

/// What a call of `true` costs, against `bash -c true`: not only until it is answered, but until the next shell waits.
pub(crate) fn of_calls(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::new(&bench.program, &bench.folder("processor"))?;
    let mut server = program.serve()?;
    server.time("true")?;
    let begun = of_tree(server.pid())?;
    for _ in 0..CALLS {
        thread::sleep(PAUSE);
        server.time("true")?;
    }
    thread::sleep(Duration::from_millis(100));
    let ours = (of_tree(server.pid())? - begun) / f64::from(CALLS);

    let own = std::process::id();
    let begun = used(own)?.by_children;
    for _ in 0..CALLS {
        thread::sleep(PAUSE);
        bash::bare()?;
    }
    let beside = (used(own)?.by_children - begun) / f64::from(CALLS);

    let ratio = ours / beside;
    let what = "processor time of a call of `true` over MCP: server, keeper and shells, against that of bash";
    let row = Row::plain(what, format!("{} ms", millis(ours))).beside(format!("{} ms", millis(beside)));
    let row = row.value(format!("{ratio:.2}")).details(json!({"ours_s": ours, "beside_s": beside, "calls": CALLS}));
    Ok(vec![row.within(format!("≤ {GOAL:.2}"), ratio, GOAL)])
}

/// Seconds of processor time.
struct Used {
    itself: f64,
    /// Those of its children that have ended and were waited for, and theirs.
    by_children: f64,
}

/// What a server, its keepers and its shells have used. Whoever has ended is counted with its parent.
fn of_tree(server: u32) -> Result<f64> {
    let Used { itself, by_children } = used(server)?;
    // One that ends meanwhile is counted with its parent, then or the next time.
    let others = memory::descendants(server).into_iter().filter_map(|pid| used(pid).ok());
    Ok(itself + by_children + others.map(|used| used.itself + used.by_children).sum::<f64>())
}

fn used(pid: u32) -> Result<Used> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(") ").context("no name in stat")?;
    let ticks: Vec<f64> = fields.split(' ').skip(11).take(4).map(str::parse).collect::<Result<_, _>>()?;
    let [user, system, user_of_children, system_of_children] = ticks[..] else { anyhow::bail!("no times in stat") };
    Ok(Used { itself: (user + system) / TICKS, by_children: (user_of_children + system_of_children) / TICKS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_time() {
        let before = used(std::process::id()).unwrap().itself;
        let mut sum = 0_u64;
        while used(std::process::id()).unwrap().itself <= before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(of_tree(std::process::id()).unwrap() > before);
    }
}
