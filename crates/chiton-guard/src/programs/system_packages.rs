//! The package managers of systems.

use super::row::Does::{IsOn, OnMachine};
use super::row::When::{All, Always, Has, Not};
use super::row::{On, PROGRAM, Prints, Program, When, Which, allows, asks};
use crate::effect::Kind::{RemoveSystem, RunHidden};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["apt", "apt-get", "dnf", "yum"],
        effects: EFFECTS,
        prints: Prints::Plain,
        prompts: &[(
            All(&[
                Has(&["install", "remove", "upgrade", "dist-upgrade", "purge"]),
                Not(&Has(&["-y", "--yes", "-qy", "-yq", "--assume-yes", "-qqy"])),
            ]),
            "it asks before it goes on; use -y",
        )],
        examples: examples![
            asks("apt-get remove -y coreutils", "delete-system"),
            asks("apt-get purge --allow-remove-essential -y vim", "delete-system"),
            asks("apt-get -o APT::Update::Pre-Invoke::=sh update", "hidden-run"),
            allows("apt-get install -y ripgrep"),
            allows("apt remove vim"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["aptitude", "apk", "pacman", "zypper", "dpkg", "rpm", "snap", "brew", "port"],
        effects: EFFECTS,
        prints: Prints::Plain,
        examples: examples![
            asks("pacman -Rns bash", "delete-system"),
            asks("rpm -e --nodeps vim", "delete-system"),
            allows("dpkg -l bash"),
            allows("brew install ripgrep"),
        ],
        ..PROGRAM
    },
];

const EFFECTS: &[On] = &[
    On(All(&[REMOVES, Has(ESSENTIAL)]), OnMachine(RemoveSystem, "This removes a part of the system that others need.")),
    On(All(&[REMOVES, FORCED]), OnMachine(RemoveSystem, "This removes packages although others need them.")),
    On(
        Always,
        IsOn(Which::Containing(&["::Pre-Invoke", "::Post-Invoke"]), RunHidden, "This option of apt runs a command."),
    ),
];

const REMOVES: When = Has(&[
    "remove", "purge", "erase", "uninstall", "-R", "-Rs", "-Rns", "-e", "-r", "-P", "--purge", "--remove", "autoremove",
]);

const FORCED: When = Has(&[
    "--force-all", "--nodeps", "--allow-remove-essential", "--force-remove-essential", "--allow-unauthenticated",
    "--force-yes",
]);

/// Packages without which a system does not work.
const ESSENTIAL: &[&str] = &[
    "libc6", "coreutils", "bash", "systemd", "sudo", "dpkg", "apt", "linux-image", "base-files", "glibc", "kernel",
    "passwd", "login", "openssh-server",
];
