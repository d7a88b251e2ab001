//! Programs that make, wipe and rearrange file systems and disks.

use super::options::{Grammar, Options};
use super::row::Does::{Device, Is, OnMachine};
use super::row::When::{All, Always, Any, Called, Contains, Fed, Has, Not, Starts};
use super::row::{On, PROGRAM, Prints, Program, Runs, When, Which, allows, asks, denies};
use crate::effect::Effect;
use crate::effect::Kind::{DestroyVolume, Kernel, MayFork, Volumes};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::needs::Needs;
use crate::protected;
use crate::value::path;
use crate::value::{Arg, Flow, Labels};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &[
            "mkfs*", "mke2fs*", "mkdosfs", "mkntfs", "mkswap", "mkexfatfs", "mkudffs", "newfs*", "make-bcache",
            "mkzftree",
        ],
        grammar: DISK,
        effects: &[On(Always, Device(Which::Places, "This would make a file system on"))],
        prints: Prints::Plain,
        examples: examples![
            denies("mkfs.ext4 /dev/sda1", "disk"),
            denies("mkswap /dev/sda2", "disk"),
            asks("mkfs -t ext4 $DISK", "disk"),
            allows("mkfs.ext4 disk.img"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["wipefs"],
        grammar: DISK,
        custom: Some(show_signatures),
        effects: &[On(Not(&Any(&[Has(&["-n", "--no-act"]), ONLY_SHOWS])), Device(Which::Places, CHANGES))],
        prints: Prints::Plain,
        examples: examples![
            denies("wipefs -a /dev/sda", "disk"),
            allows("wipefs /dev/sda"),
            allows("wipefs -n -a /dev/sda"),
            allows("wipefs -a disk.img"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["fdisk", "cfdisk", "gdisk", "parted"],
        grammar: DISK,
        effects: &[On(Not(&ONLY_SHOWS), Device(Which::Places, CHANGES))],
        prints: Prints::Plain,
        prompts: &[(All(&[Not(&Fed), Not(&Has(&["-l", "-s", "--script"]))]), "it asks what to do")],
        examples: examples![
            denies("fdisk /dev/sda", "disk"),
            denies("parted -s /dev/sda mklabel gpt", "disk"),
            allows("fdisk -l /dev/sda"),
            allows("parted disk.img print"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "blkdiscard", "sgdisk", "cgdisk", "sfdisk", "partprobe", "ddrescue", "resize2fs", "xfs_admin", "sg_format",
            "sg_unmap", "sg_sanitize", "sg_write_same", "sg_dd", "sg_raw", "sg_write_buffer", "sg_persist", "nwipe",
            "scrub", "ntfsclone", "partclone.restore", "partclone.dd", "xfs_copy", "lvmdump-restore", "ntfsresize",
            "ntfsfix", "reiserfstune", "isohybrid", "bmaptool", "balena-etcher",
        ],
        grammar: DISK,
        effects: &[On(Not(&ONLY_SHOWS), Device(Which::Places, CHANGES))],
        prints: Prints::Plain,
        examples: examples![
            denies("sgdisk --zap-all /dev/sda", "disk"),
            denies("blkdiscard /dev/nvme0n1", "disk"),
            denies("sg_sanitize --block /dev/sda", "disk"),
            denies("partclone.restore -s x -o /dev/sda1", "disk"),
            allows("sgdisk -p /dev/sda"),
            allows("sfdisk --dump /dev/sda"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["hdparm"],
        grammar: DISK,
        effects: &[On(
            Not(&All(&[Has(&["-I", "-i", "-t", "-T", "-tT", "-C", "-g"]), Not(&WRITES)])),
            Device(Which::Places, CHANGES),
        )],
        prints: Prints::Plain,
        examples: examples![
            denies("hdparm --security-erase NULL /dev/sda", "disk"),
            denies("hdparm -y /dev/sda", "disk"),
            allows("hdparm -I /dev/sda"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["fsck", "e2fsck", "tune2fs", "xfs_repair"],
        grammar: DISK,
        effects: &[On(Not(&Has(&["-l", "-n", "-N"])), Device(Which::Places, CHANGES))],
        prints: Prints::Plain,
        examples: examples![
            denies("fsck -y /dev/sda1", "disk"),
            allows("fsck -n /dev/sda1"),
            allows("tune2fs -l /dev/sda1"),
            allows("e2fsck -f disk.img"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["debugfs"],
        grammar: DISK,
        effects: &[On(Not(&All(&[Has(&["-R"]), Not(&WRITES)])), Device(Which::Places, CHANGES))],
        prints: Prints::Plain,
        examples: examples![denies("debugfs -w /dev/sda1", "disk"), allows("debugfs -R stats /dev/sda1")],
        ..PROGRAM
    },
    Program {
        names: &["badblocks"],
        grammar: DISK,
        effects: &[On(Not(&Has(&["-sv", "-v", "-s", "-n"])), Device(Which::Places, CHANGES))],
        prints: Prints::Plain,
        examples: examples![denies("badblocks -w /dev/sda", "disk"), allows("badblocks -sv /dev/sda")],
        ..PROGRAM
    },
    Program {
        names: &["cryptsetup"],
        grammar: DISK,
        runs: Runs::Perhaps,
        custom: Some(only_reads),
        prints: Prints::Plain,
        effects: &[On(
            Has(&["luksFormat", "erase", "luksErase", "reencrypt", "luksKillSlot", "luksRemoveKey"]),
            Device(Which::Places, "This would wipe"),
        )],
        examples: examples![
            denies("cryptsetup luksFormat /dev/sda2", "disk"),
            allows("cryptsetup luksDump /dev/sda2"),
            allows("cryptsetup luksFormat vault.img"),
            allows("cryptsetup status vault"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["nvme"],
        grammar: DISK,
        runs: Runs::Perhaps,
        prints: Prints::Plain,
        effects: &[On(
            Has(&[
                "format", "sanitize", "delete-ns", "write-zeroes", "write", "dsm", "write-uncor", "fw-download",
                "fw-commit",
            ]),
            Device(Which::Places, "This would wipe"),
        )],
        custom: Some(only_reads),
        examples: examples![
            denies("nvme format /dev/nvme0n1", "disk"),
            allows("nvme list"),
            allows("nvme smart-log /dev/nvme0"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "lvremove", "vgremove", "pvremove", "lvreduce", "vgreduce", "dmsetup", "pvcreate", "vgcreate", "lvcreate",
        ],
        effects: &[On(
            Any(&[Not(&Called(&["dmsetup"])), Has(&["remove", "remove_all", "wipe_table", "create"])]),
            OnMachine(Volumes, "`{program}` changes the volumes of disks."),
        )],
        prints: Prints::Plain,
        examples: examples![
            asks("lvremove -f vg0/data", "disk"),
            asks("dmsetup remove_all", "disk"),
            allows("dmsetup ls")
        ],
        ..PROGRAM
    },
    Program {
        names: &["mdadm"],
        runs: Runs::Perhaps,
        prints: Prints::Plain,
        effects: &[On(
            Has(&["--zero-superblock", "--stop", "--remove", "--create", "-C", "-S"]),
            Is(DestroyVolume, "This takes an array of disks apart."),
        )],
        examples: examples![denies("mdadm --stop /dev/md0", "disk"), allows("mdadm --detail --scan")],
        ..PROGRAM
    },
    Program {
        names: &["zpool", "zfs", "btrfs"],
        runs: Runs::Perhaps,
        prints: Prints::Plain,
        effects: &[
            On(
                All(&[Called(&["zpool"]), Has(&["create", "replace", "attach", "add"])]),
                Device(Which::Places, CHANGES),
            ),
            On(
                Has(&["destroy", "labelclear", "rollback", "delete"]),
                Is(DestroyVolume, "`{program}` would destroy a file system."),
            ),
        ],
        examples: examples![
            denies("zfs destroy -r tank/data", "disk"),
            denies("zpool create tank /dev/sda", "disk"),
            denies("btrfs subvolume delete /data/old", "disk"),
            allows("zpool status"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["mount"],
        custom: Some(mount),
        examples: examples![
            asks("mount -o remount,rw /", "disk"),
            asks("mount /dev/sdb1 /usr", "disk"),
            asks("mount --move /mnt/a /mnt/b", "disk"),
            denies("mount --bind / d; rm -rf d/*", "delete-root"),
            denies("mount -o bind / d; rm -rf d/etc", "delete-system"),
            allows("mount /dev/sdb1 /mnt"),
            allows("mount"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["umount", "swapoff"],
        effects: &[On(
            Has(&["-a", "-A", "--all", "/", "/home", "/usr", "/var", "/boot"]),
            OnMachine(Volumes, "This takes file systems or swap of the machine away."),
        )],
        prints: Prints::Plain,
        examples: examples![asks("umount -a", "disk"), asks("swapoff --all", "disk"), allows("umount /mnt/usb")],
        ..PROGRAM
    },
    Program {
        names: &["diskutil"],
        effects: &[On(
            Starts(&["erase", "zeroDisk", "randomDisk", "secureErase", "partitionDisk", "reformat"]),
            Is(DestroyVolume, "This would wipe a disk."),
        )],
        prints: Prints::Plain,
        examples: examples![denies("diskutil eraseDisk JHFS+ X disk2", "disk"), allows("diskutil list")],
        ..PROGRAM
    },
    Program {
        names: &[
            "flashrom", "fwupdmgr", "lilo", "extlinux", "syslinux", "nvram", "setpci", "wrmsr", "chcpu", "pivot_root",
            "ipmitool", "hwclock", "bioctl", "ectool", "nvflash", "afulnx", "biosdecode-write",
        ],
        effects: &[On(
            Any(&[
                Has(&[
                    "-w", "--write", "-E", "--erase", "update", "install", "downgrade", "--install", "-c", "-d", "-e",
                    "--disable", "--enable", "off", "cycle", "reset", "soft", "--set", "--systohc", "-u",
                ]),
                Called(&["lilo", "pivot_root", "wrmsr"]),
                All(&[Called(&["setpci"]), Contains(&["="])]),
            ]),
            OnMachine(Kernel, "`{program}` changes firmware, hardware or the way the machine starts."),
        )],
        prints: Prints::Plain,
        examples: examples![
            asks("flashrom -p internal -w x.rom", "kernel"),
            asks("ipmitool chassis power cycle", "kernel"),
            allows("fwupdmgr get-devices"),
            allows("ipmitool sensor"),
            allows("hwclock"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["stress-ng"],
        effects: &[On(
            Not(&Any(&[Starts(&["-t", "--timeout"]), Has(&["--help", "--version"])])),
            Is(MayFork, "This takes the processors, the memory or the processes of the machine without end."),
        )],
        prints: Prints::Plain,
        examples: examples![asks("stress-ng --fork 0", "fork-bomb"), allows("stress-ng --cpu 2 --timeout 10")],
        ..PROGRAM
    },
    Program {
        names: &["fio", "ioping"],
        custom: Some(|machine, call, world| Some(writes_to_disk(machine, call, world))),
        prints: Prints::Plain,
        examples: examples![
            denies("fio --filename=/dev/sda --rw=write --name=x", "disk"),
            allows("fio --filename=/dev/sda --rw=read --name=x"),
            allows("fio --filename=test.img --rw=write --size=1G --name=x"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["losetup", "swapon", "hdsentinel", "udevadm", "findmnt", "eject", "lsblk", "blkid", "smartctl"],
        prints: Prints::Plain,
        examples: examples![allows("lsblk -f /dev/sda"), allows("smartctl -a /dev/sda"), allows("losetup -f disk.img")],
        ..PROGRAM
    },
];

/// Options of programs for disks that take a value.
const DISK: Grammar = Grammar { short: "tLbmNiIEOUTCGgJjcrsSFnu", ..Grammar::PLAIN };

/// How the objection to most of them begins.
const CHANGES: &str = "This would change or wipe";

/// Words by which a partitioning program shows something.
const SHOWS: When =
    Has(&["-l", "--list", "print", "-p", "--print", "-d", "--dump", "-L", "-x", "-s", "--summary", "--info", "-i"]);

/// Words by which it changes something, whatever it shows.
const WRITES: When =
    Has(&["-w", "--security-erase", "--force", "-f", "mklabel", "rm", "mkpart", "-Z", "-z", "-o", "--zap-all", "-n"]);

const ONLY_SHOWS: When = All(&[SHOWS, Not(&WRITES)]);

/// Programs for benchmarks that write to what they are given.
fn writes_to_disk(machine: &mut Machine<'_>, call: &Call, world: &World) -> Ran {
    let writes = call.args.iter().any(|arg| {
        let start = arg.text.known_start();
        matches!(&*start, "-W" | "-WWW")
            || start.contains("rw=") && (start.contains("write") || start.contains("rw=rw") || start.contains("trim"))
    });
    for arg in call.args.iter().filter(|_| writes) {
        let start = arg.text.known_start();
        let at = start.find("/dev/").unwrap_or_default();
        let what = arg.text.skip(at);
        machine.does(Effect::Device { what: &what, doing: CHANGES }, world, arg.span);
    }
    Ran::same(world.clone(), Flow::labelled(Labels::PLAIN))
}

/// Verbs that only read say so.
fn only_reads(_: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const READS: [&str; 14] = [
        "list", "smart-log", "id-ctrl", "id-ns", "error-log", "show-regs", "get-feature", "get-log", "fw-log",
        "luksDump", "isLuks", "luksUUID", "status", "benchmark",
    ];
    let verb = call.args.iter().find(|arg| !arg.text.known_start().starts_with('-'))?;
    READS.iter().any(|own| verb.text.is(own)).then(|| Ran::same(world.clone(), Flow::labelled(Labels::PLAIN)))
}

/// `wipefs` only shows what it finds where a disk is all it is given.
fn show_signatures(_: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let [only] = call.args.as_slice() else { return None };
    let shows = !only.text.is("-a") && !only.text.is("--all");
    shows.then(|| Ran::same(world.clone(), Flow::labelled(Labels::PLAIN)))
}

/// `mount` without arguments lists; mounts over the system and other mounts change the machine.
fn mount(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const MOUNT: Grammar = Grammar {
        short: "otLUTO",
        long: &["options", "types", "source", "target"],
        flags: &["bind", "rbind", "move", "all"],
        ..Grammar::PLAIN
    };
    if call.args.is_empty() {
        return None;
    }

    let options = Options::read(&call.args, &MOUNT);
    let remounts = options.values(&["o", "options"]).any(|value| value.text.display().contains("remount"));
    let over = options.operands.last().and_then(|arg| arg.text.as_known());
    let over_system = over.is_some_and(|place| {
        protected::SYSTEM.contains(&place.as_str()) && !["/mnt", "/media"].contains(&place.as_str())
    });
    if remounts || over_system || options.has(&["move"]) {
        let reason = "This changes how the file systems of the machine are mounted.";
        machine.state_where(Some(Needs::Machine), Volumes, reason, call.span, None);
    }

    let binds = options.has(&["bind", "rbind", "B", "R"])
        || options.values(&["o", "options"]).any(|value| value.text.display().contains("bind"));
    if let ([directory, place], true) = (options.operands.as_slice(), binds) {
        let known = |arg: &Arg| path::absolute(&arg.text.as_known()?, world.cwd.as_deref());
        if let (Some(directory), Some(place)) = (known(directory), known(place)) {
            machine.note_mount(&place, &directory);
        }
    }
    Some(Ran::same(world.clone(), Flow::labelled(Labels::PLAIN)))
}
