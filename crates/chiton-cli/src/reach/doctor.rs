//! `chiton doctor --on`: the way to another machine, and what works there.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use chiton_reach::near::Distance;
use chiton_reach::{Near, Target};
use serde_json::Value;

use super::facts::{Facts, Leaves};
use super::{connect, forward, options};
use crate::doctor::{DoctorArguments, Finding, print};
use crate::settings::Settings;

/// How often the way is measured; the shortest time counts.
const MEASURED: usize = 5;
/// Clocks that differ by more make times of two machines hard to compare.
const CLOCK: i64 = 2_000;

pub(super) async fn doctor(target: Target, arguments: &DoctorArguments, settings: &Settings) -> Result<ExitCode> {
    let mut findings = vec![programs(settings)];
    let words = target.words.join(" ");
    match connect(target, settings).await {
        Err(error) => findings.push(
            Finding::problem("target", format!("{error:#}"))
                .why(format!("it is reached by: {words}"))
                .remedy("see whether that works by itself in a terminal; `docs/reach.md` has the pitfalls of each way"),
        ),
        Ok((near, facts)) => {
            findings.push(Finding::ok("target", format!("{} is reached by: {words}", near.target().name)));
            findings.extend(way(&near, &facts).await);
            findings.extend(over_there(&near, &facts).await);
            near.close().await;
        }
    }
    print(arguments, &findings)
}

/// What can be carried from here.
fn programs(settings: &Settings) -> Finding {
    let options = match options(settings, std::sync::Arc::new(|_| {})) {
        Ok(options) => options,
        Err(error) => return Finding::problem("program", format!("{error:#}")),
    };
    let all = options.programs.all();
    let names: Vec<String> = all.iter().map(|program| format!("Linux {}", program.machine)).collect();
    let what = format!("there is a program to carry for: {}", names.join(", "));
    if all.iter().all(|program| program.is_static) {
        return Finding::ok("program", what);
    }
    Finding::note("program", what)
        .why("this build needs the C library of the machine it was made on, and runs only where that is the same")
        .remedy("`cargo xtask dist` makes one that runs everywhere")
}

async fn way(near: &Near, facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![
        Finding::ok("machine", facts.machine.clone()),
        Finding::ok("shell", format!("the login shell is {}", facts.shell.as_deref().unwrap_or("not known"))),
        Finding::ok("place", format!("chiton runs from {}, its state is in {}", near.place(), facts.state.display())),
    ];
    findings.push(match facts.leaves {
        Leaves::Unmanaged => Finding::ok("logind", "no login manager ends what is left running"),
        Leaves::Alone => Finding::ok("logind", "the login manager leaves alone what is left running"),
        Leaves::Scope => {
            Finding::ok("logind", "the login manager ends what is left running, but the host has a scope of its own")
        }
        Leaves::Nothing => Finding::note("logind", "the login manager ends everything with your last login")
            .why("background commands end with the connection")
            .remedy("loginctl enable-linger"),
    });
    if let (Some(warning), true) = (&facts.warning, facts.leaves != Leaves::Nothing) {
        findings.push(Finding::note("host", warning.clone()));
    }
    let mut distances: Vec<Distance> = Vec::new();
    for _ in 0..MEASURED {
        distances.extend(near.measure(Duration::from_secs(10)).await);
    }
    match distances.iter().min_by_key(|distance| distance.round_trip) {
        None => findings.push(Finding::problem("way", "it answers no more").remedy("try again")),
        Some(distance) => {
            let trip = distance.round_trip.as_secs_f64() * 1e3;
            findings.push(Finding::ok("way", format!("there and back in {trip:.1} ms")));
            let ahead = distance.clock_ahead_ms;
            let side = if ahead >= 0 { "ahead of" } else { "behind" };
            let what = format!("its clock is {} ms {side} ours", ahead.abs());
            findings.push(if ahead.abs() > CLOCK {
                Finding::note("clock", what)
                    .why("times in the journals of both sides do not agree")
                    .remedy("set its clock")
            } else {
                Finding::ok("clock", what)
            });
        }
    }
    findings
}

/// What the program over there finds.
async fn over_there(near: &Near, facts: &Facts) -> Vec<Finding> {
    match ask(near, facts).await {
        Ok(report) => {
            let all = report["findings"].as_array().into_iter().flatten().filter_map(Finding::from_json);
            // It says of itself where it is; that was said.
            all.filter(|finding| !["program", "clients"].contains(&finding.area.as_ref())).collect()
        }
        Err(error) => vec![Finding::problem("doctor", format!("it does not answer over there: {error:#}"))],
    }
}

async fn ask(near: &Near, facts: &Facts) -> Result<Value> {
    let answered = forward::ask(near, facts, &["doctor", "--json"], b"").await?;
    serde_json::from_slice(&answered.output).with_context(|| answered.complaint())
}
