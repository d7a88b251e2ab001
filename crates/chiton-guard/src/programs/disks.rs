//! Programs that make, wipe and rearrange file systems and disks.

use super::row::Program;
use crate::effect::{Effect, Kind};
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels};
use crate::programs::options::{Grammar, Options};
use crate::protected;

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    pub(crate) fn disk_program(&mut self, call: &Call, world: &World) -> Option<Flow> {
        let has = |words: &[&str]| call.args.iter().any(|arg| words.iter().any(|word| arg.text.is(word)));
        let name = call.name.as_str();
        match name {
            _ if name.starts_with("mkfs")
                || name.starts_with("mke2fs")
                || matches!(name, "mkdosfs" | "mkntfs" | "mkswap" | "mkexfatfs" | "mkudffs") =>
            {
                self.on_devices(call, world, "This would make a file system on");
            }
            "wipefs" if has(&["-n", "--no-act"]) || call.args.len() == 1 && !has(&["-a", "--all"]) => {}
            "wipefs" | "blkdiscard" | "sgdisk" | "gdisk" | "cgdisk" | "cfdisk" | "sfdisk" | "fdisk" | "parted"
            | "partprobe" | "hdparm" | "badblocks" | "ddrescue" | "debugfs" | "tune2fs" | "resize2fs" | "xfs_admin"
            | "xfs_repair" | "fsck" | "e2fsck" | "sg_format" | "sg_unmap" | "nwipe" => {
                if !only_lists(call) {
                    self.on_devices(call, world, "This would change or wipe");
                }
            }
            "cryptsetup"
                if has(&["luksFormat", "erase", "luksErase", "reencrypt", "luksKillSlot", "luksRemoveKey"]) =>
            {
                self.on_devices(call, world, "This would wipe");
            }
            "nvme" if has(&["format", "sanitize", "delete-ns", "write-zeroes"]) => {
                self.on_devices(call, world, "This would wipe");
            }
            "lvremove" | "vgremove" | "pvremove" | "lvreduce" | "vgreduce" | "dmsetup" | "pvcreate" | "vgcreate"
            | "lvcreate" => {
                let listing = name == "dmsetup" && !has(&["remove", "remove_all", "wipe_table", "create"]);
                if !listing {
                    self.state(Kind::Volumes, format!("`{name}` changes the volumes of disks."), call.span, None);
                }
            }
            "mdadm" if has(&["--zero-superblock", "--stop", "--remove", "--create", "-C", "-S"]) => {
                self.state(Kind::DestroyVolume, "This takes an array of disks apart.".to_owned(), call.span, None);
            }
            "zpool" | "zfs" | "btrfs" if has(&["destroy", "labelclear", "rollback", "delete"]) => {
                self.state(Kind::DestroyVolume, format!("`{name}` would destroy a file system."), call.span, None);
            }
            "mount" if !call.args.is_empty() => self.mount(call),
            "umount" | "swapoff" => {
                let all = has(&["-a", "-A", "--all", "/", "/home", "/usr", "/var", "/boot"]);
                if all {
                    self.state(
                        Kind::Volumes,
                        "This takes file systems or swap of the machine away.".to_owned(),
                        call.span,
                        None,
                    );
                }
            }
            "losetup" | "swapon" | "fio" | "hdsentinel" | "udevadm" | "findmnt" | "eject" | "lsblk" | "blkid"
            | "smartctl" => {}
            _ => return None,
        }
        Some(Flow::labelled(Labels::PLAIN))
    }

    /// Devices among the operands are refused, image files are not, and what is neither is asked about.
    fn on_devices(&mut self, call: &Call, world: &World, doing: &str) {
        let options = Options::read(&call.args, &Grammar { short: "tLbmNiIEOUTCGgJjcrsSFnu", ..Grammar::default() });
        let named = |arg: &&Arg| {
            arg.text.known_start().contains('/') || arg.text.known_end().contains('/') || arg.text.has_glob()
        };
        let mut operands: Vec<Arg> =
            call.args.iter().filter(named).filter(|arg| !arg.text.known_start().starts_with('-')).cloned().collect();
        if operands.is_empty() {
            operands = options.operands;
        }
        for arg in &operands {
            self.does(Effect::Device { what: &arg.text, doing }, world, arg.span);
        }
    }

    fn mount(&mut self, call: &Call) {
        let options = Options::read(
            &call.args,
            &Grammar {
                short: "otLUTO",
                long: &["options", "types", "source", "target"],
                flags: &["bind", "rbind", "move", "all"],
                ..Grammar::default()
            },
        );
        let remounts = options.values(&["o", "options"]).any(|value| value.text.display().contains("remount"));
        let over = options.operands.last().and_then(|arg| arg.text.as_known());
        let system = over
            .is_some_and(|place| protected::SYSTEM.contains(&place.as_str()) && place != "/mnt" && place != "/media");
        if remounts || system || options.has(&["move"]) {
            self.state(
                Kind::Volumes,
                "This changes how the file systems of the machine are mounted.".to_owned(),
                call.span,
                None,
            );
        }
    }
}

/// Whether a partitioning program only shows something.
fn only_lists(call: &Call) -> bool {
    let lists: &[&str] = match call.name.as_str() {
        "hdparm" => &["-I", "-i", "-t", "-T", "-tT", "-C", "-g"],
        "tune2fs" | "e2fsck" | "fsck" | "xfs_repair" => &["-l", "-n", "-N"],
        "debugfs" => &["-R"],
        "badblocks" => &["-sv", "-v", "-s", "-n"],
        _ => &["-l", "--list", "print", "-p", "--print", "-d", "--dump", "-L", "-x", "-s", "--summary", "--info", "-i"],
    };
    let writes =
        ["-w", "--security-erase", "--force", "-f", "mklabel", "rm", "mkpart", "-Z", "-z", "-o", "--zap-all", "-n"];
    let has = |words: &[&str]| call.args.iter().any(|arg| words.iter().any(|word| arg.text.known_start() == *word));
    // For these the same letters mean something else.
    let checks = matches!(call.name.as_str(), "tune2fs" | "e2fsck" | "fsck" | "badblocks" | "xfs_repair");
    has(lists) && (checks || !has(&writes))
}
