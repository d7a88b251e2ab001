//! Measures Chiton beside plain bash, in the same run and in turns. `cargo xtask bench` builds and runs it.
//!
//! 1. [`bench`] measures its parts and gives rows; [`table`] makes a table of them.
//! 2. [`growth`] draws curves; [`plot`] makes pictures of them.
//! 3. [`counts`] counts instructions of what [`pure`] runs.
//! 4. [`save`] writes it all down.

mod bash;
mod bench;
mod latency;
mod machine;
mod measure;
mod memory;
mod parts;
mod server;
mod subject;
mod table;
mod throughput;
mod warm;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::json;

use bench::{Bench, PARTS};
use machine::Machine;

fn main() -> ExitCode {
    // First thing: this program is also the keeper of the commands it runs.
    chiton_engine::serve_if_asked();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chiton-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut program = None;
    let mut results = PathBuf::from("target/bench");
    let mut parts = Vec::new();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--program" => program = Some(PathBuf::from(value()?)),
            "--results" => results = value()?.into(),
            other if PARTS.iter().any(|(name, _)| *name == other) => parts.push(other.to_owned()),
            other => bail!("there is no part '{other}'"),
        }
    }
    if parts.is_empty() {
        parts = PARTS.iter().map(|(name, _)| (*name).to_owned()).collect();
    }
    let begun = Instant::now();
    let program = program.context("--program says where chiton is")?;
    let bench = Bench::new(program, &results)?;
    let machine = Machine::here(&results);
    let mut sections = Vec::new();
    for part in &parts {
        eprintln!("{part}");
        sections.push(bench.measure(part)?);
    }
    let text = format!("{}{}", machine.markdown(), table::markdown(&sections));
    println!("{text}");
    let (all, met) = table::goals(&sections);
    println!("{met} of {all} goals met; {:.0} s", begun.elapsed().as_secs_f64());
    fs::write(results.join("results.md"), text)?;
    let all = json!({"machine": machine.to_json(), "sections": table::json(&sections)});
    fs::write(results.join("results.json"), serde_json::to_string_pretty(&all)?)?;
    Ok(())
}
