//! What containers are made of.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program;

/// The root of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Root {
    /// Busybox under all its names and nothing else: no bash and no library, as in many small images.
    #[default]
    Busybox,
    /// The programs and libraries of this machine, which cannot be changed there: bash and all that tests need.
    Machine,
}

/// Folders of a machine's programs. Today most of them lead to the first one.
const PROGRAMS: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// What programs look for outside of them.
const SETTINGS: [&str; 3] = ["etc/alternatives", "etc/ld.so.cache", "etc/nsswitch.conf"];

impl Root {
    /// Makes the folder; gives what `podman run` has to be told.
    pub(super) fn make(self, folder: &Path) -> Vec<String> {
        for name in ["bin", "dev", "etc", "proc", "root", "run", "sys", "tmp", "var/tmp"] {
            if self == Self::Busybox || name != "bin" {
                fs::create_dir_all(folder.join(name)).expect("the folder is ours");
            }
        }
        for name in ["tmp", "var/tmp"] {
            let everybody = fs::Permissions::from_mode(0o1777);
            fs::set_permissions(folder.join(name), everybody).expect("the folder is ours");
        }
        let (users, groups) = ("root:x:0:0:root:/root:/bin/sh\n", "root:x:0:\n");
        fs::write(folder.join("etc/passwd"), users).expect("the folder is ours");
        fs::write(folder.join("etc/group"), groups).expect("the folder is ours");

        let mut arguments = match self {
            Self::Busybox => Vec::new(),
            Self::Machine => machine(folder),
        };
        if self == Self::Busybox {
            install_busybox(&folder.join("bin"));
        }
        arguments.extend(["--rootfs".to_owned(), folder.display().to_string()]);
        arguments
    }
}

/// Leads from the root to the programs of this machine.
fn machine(folder: &Path) -> Vec<String> {
    let mut arguments = Vec::new();
    for name in PROGRAMS.into_iter().chain(SETTINGS) {
        let here = Path::new("/").join(name);
        if let (true, Ok(target)) = (PROGRAMS.contains(&name), fs::read_link(&here)) {
            symlink(target, folder.join(name)).expect("the folder is ours");
        } else if here.exists() {
            arguments.extend(["--volume".to_owned(), format!("/{name}:/{name}:ro")]);
        }
    }
    arguments
}

fn install_busybox(folder: &Path) {
    let busybox = static_busybox().unwrap_or_else(|missing| panic!("{missing}"));
    fs::copy(&busybox, folder.join("busybox")).expect("busybox can be read");
    for name in names(&busybox) {
        // Its own name is among them.
        let _ = symlink("busybox", folder.join(name));
    }
}

/// A busybox that needs no library.
pub(super) fn static_busybox() -> Result<PathBuf, String> {
    let busybox = program("busybox", "busybox-static")?;
    let bytes = fs::read(&busybox).map_err(|error| format!("{}: {error}", busybox.display()))?;
    // The name of the loader is in every program that needs one.
    let needs_library = bytes.windows(9).any(|part| part == b"/ld-linux" || part == b"/ld-musl-");
    if needs_library {
        return Err(
            "busybox needs libraries, so a container of it alone cannot: apt-get install busybox-static".to_owned()
        );
    }
    Ok(busybox)
}

#[expect(clippy::disallowed_methods, reason = "busybox is asked without the engine")]
fn names(busybox: &Path) -> Vec<String> {
    let said = Command::new(busybox).arg("--list").output().expect("busybox runs");
    String::from_utf8_lossy(&said.stdout).lines().map(str::to_owned).collect()
}
