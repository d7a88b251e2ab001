//! Measures Chiton beside plain bash, in the same run and in turns. `cargo xtask bench` builds and runs it.
//!
//! 1. [`bench`] measures its parts and gives rows; [`table`] makes a table of them.
//! 2. [`growth`] measures curves, [`curve`] says how they go, [`plot`] makes pictures of them.
//! 3. [`counts`] counts the instructions of what [`pure`] runs.
//! 4. [`save`] writes it all down.

mod bash;
mod bench;
mod counts;
mod curve;
mod growth;
mod latency;
mod machine;
mod measure;
mod memory;
mod parts;
mod plot;
mod processor;
mod pure;
mod sandbox;
mod save;
mod server;
mod subject;
mod table;
mod throughput;
mod undo;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use bench::{Bench, PARTS};
use counts::Wishes;
use machine::Machine;

/// What a call of this program asks for.
#[derive(Debug, Default)]
struct Wanted {
    program: Option<PathBuf>,
    results: PathBuf,
    /// Where state is kept meanwhile; without it, below the results.
    state: Option<PathBuf>,
    /// Parts by name; none are all.
    parts: Vec<String>,
    wishes: Wishes,
}

fn main() -> ExitCode {
    // First thing: this program is also the keeper of the commands it runs.
    chiton_engine::serve_if_asked();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["calls", kind, times, place] => times.parse().context("how often?").and_then(|times| only(kind, times, place)),
        ["pure", name, times] => times.parse().context("how often?").and_then(|times| pure::run(name, times)),
        _ => wanted(arguments.into_iter()).and_then(|wanted| run(&wanted)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chiton-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Calls and nothing else. The server is the program beside this one.
fn only(kind: &str, times: usize, place: &str) -> Result<()> {
    let program = env::current_exe()?.with_file_name("chiton");
    latency::only(&Bench::new(program, Path::new(place))?, kind, times)
}

/// Everything there is to measure, in order.
fn names() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|(name, _)| *name).chain(["growth", "counts"])
}

fn wanted(mut arguments: impl Iterator<Item = String>) -> Result<Wanted> {
    let mut wanted = Wanted { results: "target/bench".into(), ..Wanted::default() };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--program" => wanted.program = Some(value()?.into()),
            "--results" => wanted.results = value()?.into(),
            "--state" => wanted.state = Some(value()?.into()),
            "--save" => wanted.wishes.save = true,
            "--check" => wanted.wishes.check = true,
            other if names().any(|name| name == other) => wanted.parts.push(argument),
            other => bail!("there is no part '{other}'; there are: {}", names().collect::<Vec<_>>().join(", ")),
        }
    }
    Ok(wanted)
}

fn run(wanted: &Wanted) -> Result<()> {
    let begun = Instant::now();
    let program = wanted.program.clone().context("--program says where chiton is")?;
    fs::create_dir_all(&wanted.results)?;
    let state = wanted.state.as_ref().unwrap_or(&wanted.results);
    let (bench, machine) = (Bench::new(program, state)?, Machine::here(state));
    let wants = |part: &str| wanted.parts.is_empty() || wanted.parts.iter().any(|name| name == part);
    let mut sections = Vec::new();
    for (part, _) in PARTS.iter().filter(|(part, _)| wants(part)) {
        eprintln!("{part}");
        sections.push(bench.measure(part)?);
    }
    let mut text = format!("{}{}", machine.markdown(), table::markdown(&sections));
    let mut results = json!({"machine": machine.to_json(), "sections": table::json(&sections)});
    if wants("growth") {
        eprintln!("growth");
        let (said, curves) = grown(&bench, wanted)?;
        text.push_str(&said);
        results["growth"] = curves;
    }
    if wants("counts") {
        eprintln!("counts");
        text.push_str("\n### Instructions\n\n");
        text.push_str(&counts::report(wanted.wishes)?);
    }
    let (all, met) = table::goals(&sections);
    let took = begun.elapsed().as_secs_f64();
    text.push_str(&format!("\n{met} of {all} goals met. Measured in {took:.0} s.\n"));
    println!("{text}");
    fs::write(wanted.results.join("results.md"), &text)?;
    fs::write(wanted.results.join("results.json"), serde_json::to_string_pretty(&results)?)?;
    if wanted.wishes.save && wanted.parts.is_empty() {
        save::into_page(&text)?;
    }
    Ok(())
}

/// The curves: a table of them, and what machines get; their pictures are saved.
fn grown(bench: &Bench, wanted: &Wanted) -> Result<(String, Value)> {
    let curves = growth::curves(bench)?;
    for curve in &curves {
        fs::write(wanted.results.join(format!("{}.svg", curve.name)), curve.svg())?;
        if wanted.wishes.save {
            save::picture(curve.name, &curve.svg())?;
        }
    }
    Ok((curve::markdown(&curves), curves.iter().map(curve::Curve::to_json).collect()))
}
