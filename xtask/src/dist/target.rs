//! What the program is built for, and how.
//!
//! The C library is glibc, linked into the program. musl would be the usual choice, but its `posix_spawn` can neither close
//! descriptors from a number on nor hand a terminal over, and the engine starts every process with both.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Places, answer};
use crate::quiet;

/// A kind of machine, as everybody calls it.
pub(crate) struct Target {
    /// In the names of files.
    pub(crate) name: &'static str,
    /// For rustc.
    pub(crate) triple: &'static str,
    /// For rustc and for Python's packages.
    pub(crate) processor: &'static str,
    /// For Debian and for images.
    pub(crate) debian: &'static str,
    /// For Node.
    pub(crate) node: &'static str,
}

pub(crate) const TARGETS: [Target; 2] = [
    Target {
        name: "x86_64-linux",
        triple: "x86_64-unknown-linux-gnu",
        processor: "x86_64",
        debian: "amd64",
        node: "x64",
    },
    Target {
        name: "aarch64-linux",
        triple: "aarch64-unknown-linux-gnu",
        processor: "aarch64",
        debian: "arm64",
        node: "arm64",
    },
];

impl Target {
    pub(crate) fn is_this_machine(&self) -> bool {
        self.processor == env::consts::ARCH
    }

    fn linker(&self) -> String {
        if self.is_this_machine() { "cc".to_owned() } else { format!("{}-linux-gnu-gcc", self.processor) }
    }

    /// Makes sure that it can be built for: the linker, its C library for linking into a program, and Rust's own library.
    pub(crate) fn make_ready(&self) -> Result<()> {
        let linker = self.linker();
        ensure!(
            quiet(&linker, &["--version"]),
            "the linker {linker} is missing; Debian's package is {}",
            if self.is_this_machine() { "gcc".to_owned() } else { format!("gcc-{}-linux-gnu", self.processor) }
        );
        // A linker that does not find the file prints the name as it is.
        let library = answer(Command::new(&linker).arg("-print-file-name=libc.a"))?;
        ensure!(
            library.contains('/'),
            "{linker} finds no libc.a to link into a program; Debian's package is {}",
            if self.is_this_machine() { "libc6-dev".to_owned() } else { format!("libc6-dev-{}-cross", self.debian) }
        );
        ensure!(
            self.has_library()? || (quiet("rustup", &["target", "add", self.triple]) && self.has_library()?),
            "Rust's library for {0} is missing and could not be installed: run `rustup target add {0}`",
            self.triple
        );
        Ok(())
    }

    fn has_library(&self) -> Result<bool> {
        let folder = answer(Command::new("rustc").args(["--print", "target-libdir", "--target", self.triple]))?;
        Ok(PathBuf::from(folder).is_dir())
    }

    /// Builds the program, and checks that it needs no library of the machine that it runs on.
    pub(crate) fn build(&self, places: &Places) -> Result<PathBuf> {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--locked", "--profile", "dist", "-p", "chiton-cli", "--bin", "chiton"]);
        cargo.args(["--target", self.triple]).current_dir(&places.sources);
        cargo.env("CARGO_TARGET_DIR", &places.target).env("CARGO_INCREMENTAL", "0");
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(places)?.join("\u{1f}"));
        let name = self.triple.to_uppercase().replace('-', "_");
        cargo.env(format!("CARGO_TARGET_{name}_LINKER"), self.linker());
        ensure!(cargo.status()?.success(), "the program does not build for {}", self.triple);

        let program = places.target.join(self.triple).join("dist/chiton");
        let headers = answer(Command::new("readelf").args(["--wide", "--program-headers", "--dynamic"]).arg(&program))?;
        ensure!(
            !headers.contains("INTERP") && !headers.contains("(NEEDED)"),
            "{} needs libraries at run time:\n{headers}",
            program.display()
        );
        Ok(program)
    }
}

/// What rustc is told.
fn flags(places: &Places) -> Result<Vec<String>> {
    let mut flags = renamed_paths(places)?;
    flags.extend(whole());
    Ok(flags)
}

/// What has rustc link a program that needs nothing else: with the C library in it, and at a fixed address, as
/// `crates/chiton-cli/build.rs` says why. It starts in half the time of one for which libraries are loaded.
pub(crate) fn whole() -> Vec<String> {
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    if env::var_os("CHITON_PIE").is_none() {
        flags.push("-Crelocation-model=static".to_owned());
    }
    flags
}

/// Has rustc call folders of this machine by other names.
pub(crate) fn renamed_paths(places: &Places) -> Result<Vec<String>> {
    let version = answer(Command::new("rustc").arg("-vV"))?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: ")).unwrap_or("unknown");
    let sysroot = PathBuf::from(answer(Command::new("rustc").args(["--print", "sysroot"]))?);
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"))).context("there is no HOME")?;

    // Names of files get into messages of panics. Where they lie here is nobody's business, and differs.
    let renamed = [
        (places.sources.clone(), "/chiton".to_owned()),
        (home, "/cargo".to_owned()),
        (sysroot.join("lib/rustlib/src/rust"), format!("/rustc/{commit}")),
    ];
    Ok(renamed.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())).into())
}
