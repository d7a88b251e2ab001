//! What is measured, in which order, and where it works.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::measure::timed;
use crate::table::{Row, Section};
use crate::{latency, memory, parts, processor, sandbox, throughput, undo};

/// The parts that give rows, by name.
pub(crate) const PARTS: [(&str, &str); 6] = [
    ("latency", "How long a call takes"),
    ("throughput", "Many commands, much output"),
    ("memory", "At rest"),
    ("sandbox", "What the sandbox costs"),
    ("undo", "What undo costs"),
    ("parts", "Parts by themselves"),
];

/// Where things are.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The program `chiton`.
    pub(crate) program: PathBuf,
    work: PathBuf,
}

impl Bench {
    /// Measures `program`, in a new folder below `place`.
    pub(crate) fn new(program: PathBuf, place: &Path) -> Result<Self> {
        let work = place.join(format!("work-{}", std::process::id()));
        fs::create_dir_all(&work)?;
        Ok(Self { program, work: fs::canonicalize(work)? })
    }

    /// A place for one measurement.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// Measures one part.
    pub(crate) fn measure(&self, part: &str) -> Result<Section> {
        let Some((_, title)) = PARTS.iter().find(|(name, _)| *name == part) else { bail!("there is no part '{part}'") };
        let mut rows = Vec::new();
        let mut add = |name: &str, work: &dyn Fn() -> Result<Vec<Row>>| -> Result<()> {
            let (took, more) = timed(work)?;
            eprintln!("  {name}: {took:.1} s");
            rows.extend(more);
            Ok(())
        };
        match part {
            "latency" => {
                add("calls", &|| latency::calls(self))?;
                add("pipelines", &|| latency::pipelines(self))?;
                add("starts", &|| latency::starts(self))?;
                add("ratios", &|| latency::ratios(self))?;
                add("processor", &|| processor::of_calls(self))?;
            }
            "throughput" => {
                add("sleeps", &|| throughput::sleeps(self))?;
                add("flood", &|| throughput::flood(self))?;
                add("rate", &|| throughput::rate(self))?;
            }
            "sandbox" => {
                add("calls", &|| sandbox::calls(self))?;
                add("projects", &|| sandbox::projects(self))?;
                add("others", &|| sandbox::others(self))?;
            }
            "undo" => {
                add("work", &|| undo::work(self))?;
            }
            "memory" => {
                add("idle", &|| memory::idle(self))?;
                add("terminals", &|| memory::terminals(self))?;
            }
            _ => {
                add("folders", &|| parts::folders(self))?;
                add("verdicts", &parts::verdicts)?;
                add("screens", &parts::screens)?;
                add("program", &|| parts::program(self))?;
            }
        }
        Ok(Section { title: (*title).to_owned(), rows })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.work);
    }
}
