//! `chiton export` and `chiton shot`: what a terminal showed, for people who were not there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use chiton_engine::Tasks;
use chiton_engine::terminal::picture::{Scheme, svg};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;

use crate::on_arguments::OnArguments;

/// Write the recording of a command's terminal
#[derive(Args)]
#[command(after_help = "\
Secrets are masked in it, as in all output.

Examples:
  chiton export shell_1a2b3c4d > session.cast     play it with `asciinema play session.cast`
  chiton export -o session.cast shell_1a")]
pub(crate) struct ExportArguments {
    /// The command's id, or a beginning of it that no other has
    #[arg(add = ArgValueCandidates::new(crate::known_ids))]
    id: String,
    /// As an asciicast, version 2; there is nothing else
    #[arg(long)]
    cast: bool,
    /// Write it to this file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

/// Draw a picture of what a command's terminal shows, or showed last
#[derive(Args)]
#[command(after_help = "\
The picture is an SVG, which every browser shows and in which text stays text.

Examples:
  chiton shot shell_1a2b3c4d > screen.svg
  chiton shot --light -o screen.svg shell_1a")]
pub(crate) struct ShotArguments {
    /// The command's id, or a beginning of it that no other has
    #[arg(add = ArgValueCandidates::new(crate::known_ids))]
    id: String,
    /// Light on dark, as most terminals are [default]
    #[arg(long, conflicts_with = "light")]
    dark: bool,
    /// Dark on light
    #[arg(long)]
    light: bool,
    /// Write it to this file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExportArguments {
    /// The file of `--output`.
    pub(crate) fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }
}

pub(crate) fn export(arguments: &ExportArguments, state: &Path) -> Result<ExitCode> {
    let task = Tasks::new(state).get(&arguments.id)?;
    task.write_cast(open(arguments.output.as_deref())?)?.flush()?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn shot(arguments: ShotArguments, state: &Path) -> Result<ExitCode> {
    let look = Tasks::new(state).look(&arguments.id).await?;
    let scheme = if arguments.light { Scheme::Light } else { Scheme::Dark };
    let mut to = open(arguments.output.as_deref())?;
    to.write_all(svg(&look.screen, scheme).as_bytes())?;
    to.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn open(path: Option<&Path>) -> Result<Box<dyn Write>> {
    Ok(match path {
        None => Box::new(BufWriter::new(io::stdout())),
        Some(path) => {
            Box::new(BufWriter::new(File::create(path).with_context(|| format!("--output {}", path.display()))?))
        }
    })
}
