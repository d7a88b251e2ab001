//! What is mounted where.

use std::fs;
use std::path::{Path, PathBuf};

/// One mount.
pub(super) struct Mount {
    pub(super) point: PathBuf,
    /// `ext4`, `tmpfs`, `nfs4` …
    pub(super) kind: String,
    /// Options of the mount and of the file system.
    options: Vec<String>,
}

impl Mount {
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|one| one == option)
    }

    /// The value of `name=value`.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The mount that a path is on, as this process sees it.
pub(super) fn mount_of(path: &Path) -> Option<Mount> {
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    // A later mount on the same point hides an earlier one.
    let mounts = table.lines().filter_map(read).filter(|mount| path.starts_with(&mount.point));
    mounts.max_by_key(|mount| mount.point.components().count())
}

/// A line of `mountinfo`: id, parent, device, root, point, options, any number of fields, `-`, kind, source, options.
fn read(line: &str) -> Option<Mount> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(4);
    let (point, own) = (fields.next()?, fields.next()?);
    let mut fields = file_system.split(' ');
    let (kind, shared) = (fields.next()?, fields.nth(1).unwrap_or(""));
    let options = own.split(',').chain(shared.split(',')).map(str::to_owned).collect();
    let point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
    Some(Mount { point: point.into(), kind: kind.to_owned(), options })
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_line_of_the_mount_table_is_read() {
        let line = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue";
        let mount = read(line).expect("a good line");
        assert_eq!((mount.point.to_str(), mount.kind.as_str()), (Some("/mnt 2"), "ext3"));
        assert!(mount.has("noatime") && !mount.has("ro"));
        assert_eq!((mount.value("errors"), mount.value("hidepid")), (Some("continue"), None));
        assert!(read("nonsense").is_none());
    }
}
