//! A package for Debian and its relatives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Carried, Packaging, others, tries};
use crate::dist::{Built, VERSION, answer, whole_answer};
use crate::quiet;

pub(super) fn make(packaging: &Packaging, built: &Built, carried: &[Carried]) -> Result<()> {
    if !quiet("dpkg-deb", &["--version"]) {
        eprintln!("dpkg-deb is missing: there is no package for Debian");
        return Ok(());
    }
    let root = packaging.empty_place(&format!("deb-{}", built.target.debian))?;
    fill(packaging, built, carried, &root)?;
    describe(packaging, built, &root)?;

    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group", "-Zxz"]).arg(&root).arg(file(packaging, built));
    answer(build.env("SOURCE_DATE_EPOCH", &packaging.time))?;
    Ok(())
}

fn file(packaging: &Packaging, built: &Built) -> PathBuf {
    packaging.output.join(format!("chiton_{VERSION}_{}.deb", built.target.debian))
}

/// What is installed.
fn fill(packaging: &Packaging, built: &Built, carried: &[Carried], root: &Path) -> Result<()> {
    let from = |name: &str| built.folder.join(name);
    let places = [
        ("chiton", "usr/bin/chiton"),
        ("completions/chiton.bash", "usr/share/bash-completion/completions/chiton"),
        ("completions/_chiton", "usr/share/zsh/vendor-completions/_chiton"),
        ("completions/chiton.fish", "usr/share/fish/vendor_completions.d/chiton.fish"),
    ];
    for (name, place) in places {
        put(&root.join(place), &fs::read(from(name))?)?;
    }
    for other in others(carried, built) {
        put(&root.join("usr/libexec/chiton").join(other.name()), &fs::read(&other.program)?)?;
    }
    for page in fs::read_dir(from("man/man1"))? {
        let page = page?;
        put_packed(&root.join("usr/share/man/man1").join(page.file_name()), &fs::read(page.path())?)?;
    }

    let about = root.join("usr/share/doc/chiton");
    let paragraphs = |text: &str| {
        let line = |line: &str| if line.is_empty() { " .".to_owned() } else { format!(" {line}") };
        text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
    };
    // The title and the line of the copyright stand elsewhere in the form that Debian wants.
    let licence = fs::read_to_string(from("LICENSE-MIT"))?;
    let terms = licence.split_once("Permission is").map_or(licence.as_str(), |(before, _)| &licence[before.len()..]);
    put(&about.join("copyright"), packaging.filled("deb/copyright", &[("@EXPAT@", &paragraphs(terms))])?.as_bytes())?;
    put_packed(&about.join("THIRD-PARTY.txt"), &fs::read(from("THIRD-PARTY.txt"))?)?;
    let date =
        answer(Command::new("date").args(["-u", "-R", "-d"]).arg(format!("@{}", packaging.time)).env("LC_ALL", "C"))?;
    put_packed(&about.join("changelog"), packaging.filled("deb/changelog", &[("@DATE@", &date)])?.as_bytes())?;
    let overrides = packaging.filled("deb/lintian-overrides", &[])?;
    put(&root.join("usr/share/lintian/overrides/chiton"), overrides.as_bytes())?;

    answer(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(root))?;
    answer(Command::new("chmod").arg("0755").arg(root.join("usr/bin/chiton")))?;
    Ok(())
}

/// What dpkg knows about it.
fn describe(packaging: &Packaging, built: &Built, root: &Path) -> Result<()> {
    let size = answer(Command::new("du").args(["-k", "-s", "--apparent-size"]).arg(root))?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let control = packaging.filled("deb/control", &[("@DEBIAN@", built.target.debian), ("@SIZE@", &size)])?;
    let sums = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum";
    let sums = whole_answer(Command::new("sh").args(["-c", sums]).current_dir(root))?;
    put(&root.join("DEBIAN/control"), control.as_bytes())?;
    put(&root.join("DEBIAN/md5sums"), sums.as_bytes())?;
    answer(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(root.join("DEBIAN")))?;
    Ok(())
}

fn put(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
}

/// As Debian has it: packed, without a name and a time in it.
fn put_packed(path: &Path, content: &[u8]) -> Result<()> {
    put(path, content)?;
    answer(Command::new("gzip").args(["-n", "-9"]).arg(path))?;
    Ok(())
}

/// Installs it below a folder, uses it, and removes it.
pub(super) fn try_it(packaging: &Packaging, built: &Built, carried: &[Carried]) -> Result<()> {
    if !quiet("dpkg", &["--version"]) {
        eprintln!("dpkg is missing: its package was not tried");
        return Ok(());
    }
    let file = file(packaging, built);
    if quiet("lintian", &["--version"]) {
        let mut lintian = Command::new("lintian");
        lintian.args(["--fail-on", "error,warning", "--allow-root"]);
        // The program of the tests needs the libraries of this machine. That the real one needs none was checked before.
        lintian.args(["--suppress-tags", "undeclared-elf-prerequisites"]);
        answer(lintian.arg(&file))?;
        println!("lintian has no objections to {}", file.display());
    } else {
        eprintln!("lintian is missing: the package for Debian was not checked with it");
    }

    let place = packaging.empty_place("deb")?;
    let root = place.join("root");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(root.join("var/lib/dpkg").join(folder))?;
    }
    fs::write(root.join("var/lib/dpkg/status"), "")?;
    let dpkg = |words: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        // There are no scripts in it, so nobody has to be root or to change the root.
        dpkg.arg("--root").arg(&root).args(["--force-not-root", "--force-bad-path", "--force-architecture"]);
        dpkg.arg("--log=/dev/null").args(words);
        dpkg
    };
    answer(dpkg(&["--install"]).arg(&file))?;
    let words = [root.join("usr/bin/chiton")];
    tries::use_once("the package for Debian", &place, &words)?;
    tries::carries("the package for Debian", &place, &words, carried)?;
    for installed in ["share/man/man1/chiton-run.1.gz", "share/bash-completion/completions/chiton"] {
        ensure!(root.join("usr").join(installed).is_file(), "the package for Debian has no {installed}");
    }

    answer(&mut dpkg(&["--remove", "chiton"]))?;
    let left = answer(
        Command::new("find").arg(&root).args(["-path", "*/var/lib/dpkg", "-prune", "-o", "-type", "f", "-print"]),
    )?;
    ensure!(left.is_empty(), "the package for Debian leaves behind: {left}");
    Ok(())
}
