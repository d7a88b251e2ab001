//! Programs that take over the terminal and wait for keys.

use super::credentials;
use super::row::When::{Any, Fed, Has, Not, Starts};
use super::row::{PROGRAM, Program, Runs, When, allows, asks, denies};

/// Whether such a program is called so that it does not wait.
pub(super) const UNATTENDED: When =
    Any(&[Fed, Has(&["-b", "-es", "-s", "--batch", "-E", "--version", "--help", "-bn1", "-c"]), Starts(&["-b", "-e"])]);

pub(super) const WAITS_FOR_TYPING: &[(When, &str)] = &[(Not(&UNATTENDED), "it waits for somebody to type")];

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &[
            "nano", "pico", "micro", "hx", "helix", "joe", "code", "codium", "cursor", "zed", "subl", "gedit", "kate",
            "kwrite", "mousepad", "geany", "nvim-qt", "mcedit", "jed", "ne", "kak", "vis",
        ],
        custom: Some(|machine, call, world| {
            for file in &call.args {
                credentials::edits(machine, file, call, world);
            }
            None
        }),
        runs: Runs::Perhaps,
        prompts: &[(
            Not(&UNATTENDED),
            "it waits for somebody to edit; write the file with a here document or `sed -i`",
        )],
        examples: examples![
            allows("nano notes.txt"),
            asks("nano /dev/sda", "disk"),
            asks("code ~/.ssh/id_rsa", "credentials"),
            denies("nano ~/.config/chiton/config.toml", "chiton"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["most"],
        runs: Runs::Perhaps,
        prompts: &[(Not(&UNATTENDED), "it waits for keys; use `cat`, `head` or `sed -n`")],
        examples: examples![allows("most notes.txt")],
        ..PROGRAM
    },
    Program {
        names: &["top", "htop", "btop", "atop", "iotop", "nload", "glances"],
        runs: Runs::Perhaps,
        prompts: &[(Not(&UNATTENDED), "it never ends by itself; use `top -bn1` or `ps`")],
        examples: examples![allows("top -bn1"), allows("htop")],
        ..PROGRAM
    },
    Program {
        names: &["info"],
        runs: Runs::Perhaps,
        prompts: &[(Not(&UNATTENDED), "it may open a pager; use `man … | cat`")],
        examples: examples![allows("info coreutils")],
        ..PROGRAM
    },
    Program {
        names: &["tig", "lazygit", "ranger", "ncdu", "fzf", "dialog", "whiptail"],
        runs: Runs::Perhaps,
        prompts: WAITS_FOR_TYPING,
        examples: examples![allows("ls | fzf"), allows("tig status")],
        ..PROGRAM
    },
];
