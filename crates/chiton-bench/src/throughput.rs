//! Many commands at once, and much output of one.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use chiton_engine::Session;
use serde_json::json;

use crate::bash;
use crate::bench::Bench;
use crate::measure::{Samples, Turns, timed};
use crate::memory;
use crate::server::Program;
use crate::subject::{self, Answer, Protection, Subject};
use crate::table::{Row, Which, mebibytes, millis};

/// Commands that wait, and how many of them are in flight.
const SLEEPS: usize = 200;
const IN_FLIGHT: usize = 16;
const SLEEP: f64 = 0.05;
/// Output of one command.
const FLOOD: usize = 100_000_000;
const CALLS: usize = 400;
/// After so many, the server is looked at again.
const MANY_CALLS: usize = 10_000;

/// Sixteen commands at a time.
pub(crate) fn sleeps(bench: &Bench) -> Result<Vec<Row>> {
    let subject = Subject::new(&bench.folder("sleeps"), Protection::Usual)?;
    let session = subject.session()?;
    subject.run(&session, "true", Answer::WithState)?;
    let mut totals = Samples::default();
    for _ in 0..3 {
        totals.next_round();
        subject.pause(Duration::from_millis(100));
        totals.push(timed(|| all_sleeps(&subject, &session))?.0);
    }
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let ideal = SLEEPS.div_ceil(IN_FLIGHT) as f64 * SLEEP;
    let ratio = totals.middle() / ideal;
    let (low, high) = totals.spread();
    let row = Row::plain(
        format!("{SLEEPS} × `sleep {SLEEP}`, {IN_FLIGHT} in flight, total"),
        format!("{} ms ({}..{})", millis(totals.middle()), millis(low), millis(high)),
    );
    let row = row.beside(format!("ideal {} ms", millis(ideal))).value(format!("{ratio:.2}"));
    Ok(vec![row.details(json!({"total": totals.to_json(), "ideal_s": ideal})).within("≤ 1.10", ratio, 1.10)])
}

fn all_sleeps(subject: &Subject, session: &Session) -> Result<()> {
    let left = Arc::new(AtomicUsize::new(SLEEPS));
    subject.runtime.block_on(async {
        let mut workers = Vec::new();
        for _ in 0..IN_FLIGHT {
            let (left, engine, session) = (Arc::clone(&left), subject.engine.clone(), session.clone());
            workers.push(tokio::spawn(async move {
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1)).is_ok() {
                    let request = subject::request(&format!("sleep {SLEEP}"), Answer::First);
                    subject::run(&engine, &session, request).await?;
                }
                anyhow::Ok(())
            }));
        }
        for worker in workers {
            worker.await??;
        }
        Ok(())
    })
}

/// A hundred megabytes through a pipe: how long it takes, and what it leaves in memory.
pub(crate) fn flood(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::new(&bench.program, &bench.folder("flood"))?;
    let folder = bench.folder("flood-files");
    fs::create_dir_all(&folder)?;
    let (lines, copy) = (folder.join("lines"), folder.join("copy"));
    fs::write(&lines, text_of(FLOOD))?;
    let shown = fs::canonicalize(&lines)?.display().to_string();
    let by_hand = || {
        let _ = fs::remove_file(&copy);
        Ok(timed(|| bash::run(&format!("cat {shown} | cat >{}", copy.display()), None))?.0)
    };
    let mut rows = Vec::new();
    let mut server = program.serve()?;
    let through = |server: &mut crate::server::Server| {
        let took = server.time(&format!("cat {shown}"));
        program.run(&["clean"]).map(drop)?;
        took
    };
    let (ours, beside) = Turns::new(5, 1).measure(|| through(&mut server), by_hand)?;
    let what = "100 MB through a pipe (`cat` of a file), over MCP, against `cat FILE | cat >file`";
    rows.push(Row::times_within(what, &ours, &beside, (Which::Middle, 1.05)));
    let followed = || {
        let took = server.time_followed(&format!("cat {shown}"));
        program.run(&["clean"]).map(drop)?;
        took
    };
    let (ours, beside) = Turns::new(5, 1).measure(followed, by_hand)?;
    rows.push(Row::times_within(
        "the same for a client that asked for progress",
        &ours,
        &beside,
        (Which::Middle, 1.15),
    ));
    let subject = Subject::new(&bench.folder("flood-masked"), Protection::WithManySecrets)?;
    let session = subject.session()?;
    let masked = || {
        let took = subject.time(&session, &format!("cat {shown}"), Answer::First, Duration::ZERO);
        subject.settle(&session);
        subject.forget_runs();
        took
    };
    let (ours, beside) = Turns::new(5, 1).measure(masked, by_hand)?;
    let what = format!("the same, engine level, searched for {} secrets", subject::MANY);
    rows.push(Row::times_within(what, &ours, &beside, (Which::Middle, 1.25)));
    rows.push(flood_memory(&program, &shown)?);
    let _ = fs::remove_dir_all(&folder);
    Ok(rows)
}

/// What server and keeper grow by while it passes. The shell's parent is the keeper, so the command itself can look.
fn flood_memory(program: &Program, shown: &str) -> Result<Row> {
    let mut server = program.serve()?;
    server.time("true")?;
    memory::forget_peak(server.pid());
    let before = memory::resident(server.pid())?;
    let look = "grep VmHWM /proc/$PPID/status";
    let answer = server.call(&json!({"command": format!("{look}; cat {shown}; echo; {look}")}))?;
    let grown = memory::peak(server.pid())?.saturating_sub(before);
    let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    let mut peaks = said.lines().filter_map(|line| line.strip_prefix("VmHWM:")).filter_map(memory::kilobytes);
    let (first, last) = (peaks.next(), peaks.next_back());
    let keeper = last.zip(first).map(|(last, first)| last.saturating_sub(first));
    let keeper = keeper.context("the keeper's memory is not in the answer")?;
    let both = grown + keeper;
    let row = Row::plain(
        "peak memory of server and keeper grows by, for it",
        format!("{} + {}", mebibytes(grown), mebibytes(keeper)),
    );
    #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
    let value = both as f64 / f64::from(1 << 20);
    let row = row.details(json!({"server_bytes": grown, "keeper_bytes": keeper}));
    Ok(row.value(mebibytes(both)).within("≤ 16 MB", value, 16.0))
}

/// Calls in a second, one after the other and all at once, and what the server occupies after ten thousand.
pub(crate) fn rate(bench: &Bench) -> Result<Vec<Row>> {
    let program = Program::new(&bench.program, &bench.folder("rate"))?;
    let mut server = program.serve()?;
    let (alone, ()) = timed(|| (0..CALLS).try_for_each(|_| server.time("true").map(drop)))?;
    let (together, ()) = timed(|| {
        for _ in 0..CALLS {
            server.send("tools/call", &json!({"name": "Bash", "arguments": {"command": "true"}}))?;
        }
        (0..CALLS).try_for_each(|_| server.read().map(drop))
    })?;
    for _ in 2 * CALLS..MANY_CALLS {
        server.time("true")?;
    }
    let occupied = memory::resident(server.pid())?;
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let (calls, mebi) = (CALLS as f64, occupied as f64 / f64::from(1 << 20));
    let second = |seconds: f64| format!("{:.0} / s", calls / seconds);
    // What a goal is about must not be above its limit, so it is the time of a call here.
    let at_once = Row::plain(format!("calls over MCP, {CALLS} sent at once"), second(together)).value(second(together));
    let after = Row::plain(format!("resident memory of the server after {MANY_CALLS} calls"), mebibytes(occupied));
    Ok(vec![
        Row::plain("calls over MCP, one after the other", second(alone)),
        at_once.within("≥ 1000 / s", together / calls, 0.001),
        after.value(mebibytes(occupied)).within("≤ 12 MiB", mebi, 12.0),
    ])
}

/// Lines as a program logs them, this many bytes.
pub(crate) fn text_of(bytes: usize) -> String {
    let line = "00001234 INFO module::path processing request id=1234 took 567us and that was all\n";
    let mut text = line.repeat(bytes / line.len() + 1);
    text.truncate(bytes);
    text
}
