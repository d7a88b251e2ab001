//! `cargo xtask dist`: the program as people get it, below `target/dist`.
//!
//! 1. Each target is built with its C library inside ([`Target::build`]), and checked to need none.
//! 2. A folder is put together: the program, licences, manual pages, completions ([`assemble`]).
//! 3. The folder is packed so that the same sources give the same bytes, and the sums are written down.
//!
//! `--check` does all of it once more from a clean checkout in another folder, and compares.

mod licences;
mod target;

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

pub(crate) use target::{TARGETS, Target, renamed_paths, whole};

use crate::{bench, root};

/// The version of everything here.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where sources are, and where what is made of them goes.
pub(crate) struct Places {
    pub(crate) sources: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// What people get.
    pub(crate) dist: PathBuf,
}

impl Places {
    pub(crate) fn here() -> Result<Self> {
        let target = bench::target();
        fs::create_dir_all(&target)?;
        let target = target.canonicalize()?;
        Ok(Self { sources: root().canonicalize()?, dist: target.join("dist"), target })
    }

    /// When the sources were last changed: the time of every file in a package.
    pub(crate) fn time(&self) -> String {
        let said = answer(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&self.sources));
        // Sources without their history have no time; then it is the beginning of 1980, which every format can hold.
        said.unwrap_or_else(|_| "315532800".to_owned())
    }
}

/// What was built for one target.
pub(crate) struct Built {
    pub(crate) target: &'static Target,
    /// The program with all that belongs to it.
    pub(crate) folder: PathBuf,
}

/// Builds what `words` name, or everything that can be built here; `--check` builds it twice.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let (check, targets) = read(words)?;
    let here = Places::here()?;
    if check {
        ensure!(
            answer(Command::new("git").args(["status", "--porcelain"]).current_dir(&here.sources))?.is_empty(),
            "there are changes that are not committed: the check compares with a clean checkout, so commit them first"
        );
    }

    let built = make(&here, &targets)?;
    ensure!(!built.is_empty(), "nothing could be built here; what is missing stands above");
    report(&here, &built)?;
    if check {
        again(&here, &built)?;
    }
    Ok(())
}

/// Whether `--check` is among the words, and the targets that they name.
pub(crate) fn read(words: &[String]) -> Result<(bool, Vec<&'static Target>)> {
    let (options, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with("--"));
    let check = match options.as_slice() {
        [] => false,
        [option] if *option == "--check" => true,
        [other, ..] => bail!("there is no option {other} here; `cargo xtask help` lists what there is"),
    };
    Ok((check, wanted(&names)?))
}

/// The targets of these names; without any, all.
fn wanted(names: &[&String]) -> Result<Vec<&'static Target>> {
    let named = |name: &&String| {
        let found = TARGETS.iter().find(|target| target.name.starts_with(name.as_str()));
        found.with_context(|| {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            format!("there is no target '{name}'; there are {}", known.join(", "))
        })
    };
    if names.is_empty() { Ok(TARGETS.iter().collect()) } else { names.iter().map(named).collect() }
}

/// Builds and packs each target that can be built here; says which cannot, and what is missing.
pub(crate) fn make(places: &Places, targets: &[&'static Target]) -> Result<Vec<Built>> {
    let mut programs = Vec::new();
    for target in targets {
        if let Err(missing) = target.make_ready() {
            eprintln!("{} is left out: {missing:#}", target.name);
            continue;
        }
        eprintln!("\n== building for {}", target.name);
        programs.push((*target, target.build(places)?));
    }

    let mut built = Vec::new();
    for (target, program) in &programs {
        // Only a program for this machine can be asked for its pages. They are the same on every other.
        let speaker =
            programs.iter().find(|(target, _)| target.is_this_machine()).map_or(program, |(_, program)| program);
        let folder = places.dist.join(format!("chiton-{VERSION}-{}", target.name));
        assemble(places, target, program, speaker, &folder)?;
        pack(places, &folder)?;
        built.push(Built { target, folder });
    }
    if !built.is_empty() {
        write_sums(&places.dist, &built)?;
    }
    Ok(built)
}

/// Puts the folder of a package together. `speaker` is a program that runs here and writes the pages.
pub(crate) fn assemble(places: &Places, target: &Target, program: &Path, speaker: &Path, folder: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    let (pages, completions) = (folder.join("man/man1"), folder.join("completions"));
    fs::create_dir_all(&pages)?;
    fs::create_dir_all(&completions)?;

    fs::copy(program, folder.join("chiton")).with_context(|| format!("cannot copy {}", program.display()))?;
    fs::set_permissions(folder.join("chiton"), fs::Permissions::from_mode(0o755))?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md"] {
        fs::copy(places.sources.join(name), folder.join(name))?;
    }
    fs::write(folder.join("THIRD-PARTY.txt"), licences::third_party(&places.sources, target)?)?;

    // Its own settings would be read, and may be broken.
    let ask = |words: &[&str]| {
        let mut command = Command::new(speaker);
        command.args(words).env("HOME", folder).env_remove("XDG_CONFIG_HOME").env_remove("CHITON_CONFIG");
        whole_answer(&mut command)
    };
    for page in ask(&["man"])?.lines() {
        fs::write(pages.join(format!("{page}.1")), ask(&["man", page])?)?;
    }
    for (shell, name) in [("bash", "chiton.bash"), ("zsh", "_chiton"), ("fish", "chiton.fish")] {
        fs::write(completions.join(name), ask(&["completions", shell])?)?;
    }
    Ok(())
}

/// Packs a folder beside it: names in order, one time, no owner, so that nothing of this machine is in it.
fn pack(places: &Places, folder: &Path) -> Result<()> {
    let name = folder.file_name().and_then(|name| name.to_str()).context("a folder without a name")?;
    let archive = places.dist.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("--create").arg("--file").arg(&archive).args(["--use-compress-program", "gzip -n -9"]);
    tar.args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", places.time())).arg(name).current_dir(&places.dist).env("LC_ALL", "C");
    answer(&mut tar)?;
    Ok(())
}

fn write_sums(dist: &Path, built: &[Built]) -> Result<()> {
    let names: Vec<String> = built.iter().map(archive_name).collect();
    let sums = whole_answer(Command::new("sha256sum").args(&names).current_dir(dist))?;
    Ok(fs::write(dist.join("SHA256SUMS"), sums)?)
}

fn archive_name(built: &Built) -> String {
    format!("chiton-{VERSION}-{}.tar.gz", built.target.name)
}

fn report(places: &Places, built: &[Built]) -> Result<()> {
    println!("\nIn {}:", places.dist.display());
    for one in built {
        let archive = archive_name(one);
        let (packed, program) = (size(&places.dist.join(&archive))?, size(&one.folder.join("chiton"))?);
        println!("  {archive}  {packed} (the program alone: {program})");
    }
    print!("{}", fs::read_to_string(places.dist.join("SHA256SUMS"))?);
    Ok(())
}

/// The size of a file, for people.
pub(crate) fn size(path: &Path) -> Result<String> {
    let bytes = fs::metadata(path).with_context(|| format!("{} is missing", path.display()))?.len();
    Ok(match bytes {
        0..100_000 => format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    })
}

/// Builds once more from a clean checkout elsewhere, and compares byte by byte.
fn again(here: &Places, built: &[Built]) -> Result<()> {
    // Deeper than this one, so that a path that got into the program would change its length as well.
    let elsewhere = here.target.join("dist-again/a/clean/checkout");
    let _ = fs::remove_dir_all(here.target.join("dist-again"));
    fs::create_dir_all(elsewhere.parent().context("a checkout without a parent")?)?;
    answer(Command::new("git").args(["clone", "--quiet"]).arg(&here.sources).arg(&elsewhere))?;

    let there = Places {
        target: elsewhere.join("target"),
        dist: elsewhere.join("target/dist"),
        sources: elsewhere.canonicalize()?,
    };
    let targets: Vec<&'static Target> = built.iter().map(|one| one.target).collect();
    make(&there, &targets)?;
    for one in built {
        let name = archive_name(one);
        let (first, second) = (fs::read(here.dist.join(&name))?, fs::read(there.dist.join(&name))?);
        ensure!(
            first == second,
            "{name} differs between two builds: compare {} with {}",
            here.dist.display(),
            there.dist.display()
        );
        println!("{name} has the same bytes when it is built from a clean checkout in another folder");
    }
    let _ = fs::remove_dir_all(here.target.join("dist-again"));
    Ok(())
}

/// What a program prints, without the newline at its end; an error where it fails.
pub(crate) fn answer(command: &mut Command) -> Result<String> {
    Ok(whole_answer(command)?.trim_end().to_owned())
}

/// What a program prints; an error where it fails.
pub(crate) fn whole_answer(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}").replace('"', "");
    let output = command.output().with_context(|| format!("cannot start {shown}"))?;
    let said = [output.stderr.as_slice(), output.stdout.as_slice()].concat();
    ensure!(output.status.success(), "{shown} failed:\n{}", String::from_utf8_lossy(&said).trim_end());
    String::from_utf8(output.stdout).with_context(|| format!("{shown} prints something that is not text"))
}
