//! What an image for containers is built from. No engine for containers is needed to make it, and none builds it here.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::Packaging;
use crate::dist::Built;

fn folder(packaging: &Packaging) -> PathBuf {
    packaging.output.join("docker")
}

/// Puts the recipe and the files that it names into one folder.
pub(super) fn make(packaging: &Packaging, built: &[Built]) -> Result<()> {
    let folder = folder(packaging);
    for one in built {
        let of_processor = folder.join(one.target.debian);
        fs::create_dir_all(&of_processor)?;
        fs::copy(one.folder.join("chiton"), of_processor.join("chiton"))?;
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"] {
            fs::copy(one.folder.join(name), folder.join(name))?;
        }
    }
    Ok(fs::write(folder.join("Dockerfile"), packaging.filled("docker/Dockerfile", &[])?)?)
}

/// Checks that every file which the recipe copies is there, for each processor, and that it ends as the program.
pub(super) fn check(packaging: &Packaging, built: &[Built]) -> Result<()> {
    let folder = folder(packaging);
    let recipe = fs::read_to_string(folder.join("Dockerfile"))?;
    let (mut copied, mut entry) = (0, None);
    for line in recipe.lines() {
        let Some((instruction, rest)) = line.split_once(' ') else { continue };
        match instruction {
            "COPY" => {
                let words: Vec<&str> = rest.split_whitespace().filter(|word| !word.starts_with("--")).collect();
                let (_, sources) = words.split_last().context("COPY without a place in the Dockerfile")?;
                for source in sources {
                    copied += 1;
                    for one in built {
                        let source = folder.join(source.replace("${TARGETARCH}", one.target.debian));
                        ensure!(source.is_file(), "the Dockerfile copies {}, which is not there", source.display());
                    }
                }
            }
            "ENTRYPOINT" => entry = Some(rest),
            _ => {}
        }
    }
    ensure!(copied > 0 && entry == Some("[\"chiton\"]"), "the Dockerfile does not install and start the program");
    println!("the files of the image are there; no engine for containers was asked to build it");
    Ok(())
}
