//! The tree that is changed at random, and the ways in which a path in it can be said.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use chiton_testkit::dice::Dice;

/// Places in the tree: some are there at the beginning, some are not.
pub const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"d",
    b"d/a",
    b"d/b",
    b"d/e",
    b"d/e/a",
    b"d/e/f",
    b"d/e/f/g",
    b"d/e/f/g/deep",
    b"empty",
    b"new",
    b"new/a",
    b"new/b",
    b"new/d",
    b"other",
    b"other/a",
    b"one",
    b"two",
    b"hard",
    b"hard-too",
    b"d/hard",
    b"to-a",
    b"to-d",
    b"to-d/a",
    b"to-d/b",
    b"to-d/e/a",
    b"to-d/new",
    b"nowhere",
    b"missing",
    b"pipe",
    b"socket",
    b"sparse",
    "\u{fc} \u{1f980}".as_bytes(),
    b"new\nline",
    b"\xff\xfe",
    b"d/\xff",
    b"-rf",
    b"d/../b",
    b"d/e/../../c",
    b"./two",
    b"x (deleted)",
    b"x",
];

/// Folders among them.
pub const FOLDERS: &[&[u8]] = &[b".", b"d", b"d/e", b"d/e/f", b"to-d", b"new", b"other", b"empty"];

/// Fills a folder: every kind of thing, now and then left out.
pub fn plant(root: &Path, dice: &mut Dice) {
    let at = |name: &[u8]| root.join(std::ffi::OsStr::from_bytes(name));
    for folder in ["d/e/f/g", "empty", "other"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let files: [&[u8]; 14] = [
        b"a",
        b"b",
        b"c",
        b"d/a",
        b"d/b",
        b"d/e/a",
        b"d/e/f/g/deep",
        b"hard",
        "\u{fc} \u{1f980}".as_bytes(),
        b"new\nline",
        b"\xff\xfe",
        b"d/\xff",
        b"-rf",
        b"x",
    ];
    for name in files {
        if dice.roll(6) > 0 {
            fs::write(at(name), bytes(dice)).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(*dice.one_of(&[0o644, 0o600, 0o755, 0o444])))
                .unwrap();
        }
    }
    for name in ["hard-too", "d/hard"] {
        let _ = fs::hard_link(root.join("hard"), root.join(name));
    }
    for (target, name) in [("a", "to-a"), ("d", "to-d"), ("missing", "nowhere")] {
        symlink(target, root.join(name)).unwrap();
    }
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    drop(UnixListener::bind(root.join("socket")));
    let sparse = fs::File::create(root.join("sparse")).unwrap();
    sparse.set_len(4 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"middle", 2 << 20).unwrap();
    for name in ["a", "d", "d/e/a"] {
        let flags = rustix::fs::XattrFlags::empty();
        let _ = rustix::fs::lsetxattr(root.join(name), "user.old", b"value", flags);
    }
    // Times that are not now, of folders too.
    for folder in FOLDERS.iter().chain(NAMES) {
        let time = rustix::fs::Timespec {
            tv_sec: 1_000_000_000 + dice.roll(1000) as i64,
            tv_nsec: dice.roll(999_999_999) as i64,
        };
        let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
        if dice.roll(2) == 0 {
            let _ = rustix::fs::utimensat(rustix::fs::CWD, at(folder), &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        }
    }
}

/// Something to write.
pub fn bytes(dice: &mut Dice) -> Vec<u8> {
    let length = *dice.one_of(&[0, 1, 10, 100, 4096, 5000, 70_000]);
    let first = dice.roll(256);
    (0..length).map(|place| u8::try_from((first + place * 7) % 256).unwrap_or(0)).collect()
}

/// One of the names, said in one of many ways.
pub fn any(dice: &mut Dice, scratch: &Path) -> CString {
    let name = dice.one_of(NAMES).to_vec();
    let said: Vec<u8> = match dice.roll(12) {
        0 => [std::env::current_dir().unwrap().as_os_str().as_bytes(), b"/", &name].concat(),
        1 => [b"/proc/self/cwd/", &name[..]].concat(),
        2 => [b"/proc/thread-self/root", std::env::current_dir().unwrap().as_os_str().as_bytes(), b"/", &name].concat(),
        3 => [scratch.as_os_str().as_bytes(), b"/", *dice.one_of(&[&b"x"[..], b"y", b"z"])].concat(),
        4 => [b"./d/..//./", &name[..]].concat(),
        _ => name,
    };
    CString::new(said).unwrap()
}

pub fn folder(dice: &mut Dice) -> PathBuf {
    let name = *dice.one_of(FOLDERS);
    std::ffi::OsStr::from_bytes(name).into()
}
