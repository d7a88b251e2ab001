//! `cargo xtask package`: packages of the built program, below `target/package`. Nothing is published.
//!
//! 1. [`dist`] builds the program, and puts together what belongs to it.
//! 2. Each kind of package is made from that: [`wheel`], [`npm`], [`deb`], [`image`], [`registry`]; their sources are in
//!    `packaging/`. [`library`] is the Python library, from `python/`. Those that people install for themselves bring the
//!    programs for other processors along ([`Carried`]).
//! 3. `--check` installs each of them in an empty place and uses it once ([`tries`]).

mod deb;
mod image;
mod library;
mod npm;
mod registry;
mod tries;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::dist::{self, Built, Places, TARGETS, Target, VERSION, answer};

/// Where packages are made, and of what.
struct Packaging {
    /// `packaging/`.
    sources: PathBuf,
    /// Where they go.
    output: PathBuf,
    /// Where they are tried.
    scratch: PathBuf,
    /// The time of every file in them.
    time: String,
}

impl Packaging {
    fn new(places: &Places, name: &str) -> Result<Self> {
        let output = places.target.join(name);
        let _ = fs::remove_dir_all(&output);
        let scratch = output.join("tried");
        fs::create_dir_all(&scratch)?;
        Ok(Self { sources: places.sources.join("packaging"), output, scratch, time: places.time() })
    }

    /// A file of `packaging/`, with what it leaves open filled in.
    fn filled(&self, name: &str, values: &[(&str, &str)]) -> Result<String> {
        let path = self.sources.join(name);
        let mut text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for (place, value) in [("@VERSION@", VERSION)].iter().chain(values) {
            text = text.replace(place, value);
        }
        Ok(text)
    }

    /// An empty folder to try something in.
    fn empty_place(&self, name: &str) -> Result<PathBuf> {
        let place = self.scratch.join(name);
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place)?;
        Ok(place)
    }
}

/// A program for some processor that packages for others bring along, where `--on` finds it and carries it to machines that
/// have that processor.
struct Carried {
    processor: &'static str,
    program: PathBuf,
}

impl Carried {
    fn of(built: &[Built]) -> Vec<Self> {
        let carried = |one: &Built| Self { processor: one.target.processor, program: one.folder.join("chiton") };
        built.iter().map(carried).collect()
    }

    /// Its name, in a folder of `libexec` beside that of the program.
    fn name(&self) -> String {
        format!("chiton-{}", self.processor)
    }
}

/// Those that the package of `built` brings along.
fn others<'a>(carried: &'a [Carried], built: &Built) -> impl Iterator<Item = &'a Carried> {
    let own = built.target.processor;
    carried.iter().filter(move |one| one.processor != own)
}

/// Makes all packages; with `--check`, uses each of them once.
pub(crate) fn run(words: &[String]) -> Result<()> {
    if words == ["--quick"] {
        return try_with_tested_program();
    }
    let (check, targets) = dist::read(words)?;
    let places = Places::here()?;
    let built = dist::make(&places, &targets)?;
    let packaging = Packaging::new(&places, "package")?;
    let carried = Carried::of(&built);
    make(&packaging, &built, &carried)?;
    let here = built.iter().find(|one| one.target.is_this_machine());
    if let Some(one) = here {
        library::make(&packaging, &places, one)?;
    }
    if check {
        try_all(&packaging, &built, &carried)?;
        if let Some(one) = here {
            tries::without_libraries(&packaging, &one.folder.join("chiton"))?;
            library::try_it(&packaging)?;
        }
    }
    let _ = fs::remove_dir_all(&packaging.scratch);
    list(&packaging.output)
}

/// The same with the program as it is built for tests, so that a mistake in a package shows without a build for it.
pub(crate) fn try_with_tested_program() -> Result<()> {
    let places = Places::here()?;
    let Some(target) = TARGETS.iter().find(|target| target.is_this_machine()) else {
        eprintln!("there are no packages for this kind of processor, so none was tried");
        return Ok(());
    };
    let packaging = Packaging::new(&places, "package-of-tests")?;
    let (program, folder) = (packaging.scratch.join("chiton"), packaging.output.join("folder"));
    // Most of it is names and lines for debuggers, which would only be packed and unpacked again.
    answer(Command::new("strip").arg("-o").arg(&program).arg(places.target.join("debug/chiton")))?;
    dist::assemble(&places, target, &program, &program, &folder)?;

    let built = [Built { target, folder }];
    let mut carried = Carried::of(&built);
    carried.extend(pretended(&packaging, &program, target)?);
    make(&packaging, &built, &carried)?;
    try_all(&packaging, &built, &carried)?;
    Ok(fs::remove_dir_all(&packaging.output)?)
}

/// A program that says it is for the other processor, for packages that are only tried. Nobody starts it.
fn pretended(packaging: &Packaging, program: &Path, own: &Target) -> Result<Option<Carried>> {
    // Where a program says what it is for, and what it says there.
    const PLACE: usize = 18;
    let Some(other) = TARGETS.iter().find(|target| target.processor != own.processor) else { return Ok(None) };
    let number: u16 = if other.processor == "aarch64" { 183 } else { 62 };
    let mut bytes = fs::read(program)?;
    bytes[PLACE..PLACE + 2].copy_from_slice(&number.to_le_bytes());
    let program = packaging.scratch.join("chiton-of-another-processor");
    fs::write(&program, bytes)?;
    Ok(Some(Carried { processor: other.processor, program }))
}

fn make(packaging: &Packaging, built: &[Built], carried: &[Carried]) -> Result<()> {
    for one in built {
        wheel::make(packaging, one, carried)?;
        npm::make_platform(packaging, one, carried)?;
        deb::make(packaging, one, carried)?;
    }
    npm::make_main(packaging)?;
    image::make(packaging, built)?;
    registry::make(packaging)
}

fn try_all(packaging: &Packaging, built: &[Built], carried: &[Carried]) -> Result<()> {
    image::check(packaging, built)?;
    registry::check(packaging)?;
    let Some(one) = built.iter().find(|one| one.target.is_this_machine()) else {
        eprintln!("nothing was built for this machine, so no package was installed");
        return Ok(());
    };
    wheel::try_it(packaging, one, carried)?;
    npm::try_it(packaging, one, carried)?;
    deb::try_it(packaging, one, carried)
}

fn list(output: &Path) -> Result<()> {
    println!("\nIn {}:", output.display());
    let mut files: Vec<PathBuf> = fs::read_dir(output)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let size = if path.is_dir() { "a folder".to_owned() } else { dist::size(&path)? };
        println!("  {name}  {size}");
    }
    Ok(())
}
