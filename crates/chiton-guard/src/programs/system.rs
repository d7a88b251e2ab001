//! Programs that stop, configure and watch over the machine.

use super::editors::WAITS_FOR_KEYS;
use super::row::Does::{Delete, Is, OnMachine, OneOf};
use super::row::When::{All, Always, Any, Bare, Called, Contains, Fed, Has, Not, Starts, Verb};
use super::row::{Does, On, PROGRAM, Prints, Program, Runs, When, Which, allows, asks, denies};
use crate::effect::Depth;
use crate::effect::Kind::{Accounts, ChangeSystem, EraseLog, Kernel, KillAll, OtherKernel, Persist, Power, Unprotect};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["shutdown", "poweroff", "reboot", "halt", "telinit", "pm-suspend", "pm-hibernate", "rtcwake"],
        effects: &[On(Not(&ONLY_ANNOUNCES), STOPS)],
        prints: Prints::Plain,
        examples: examples![
            denies("shutdown -h now", "power"),
            denies("reboot", "power"),
            allows("shutdown -c"),
            allows("shutdown -k now"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["init"],
        effects: &[On(Not(&Any(&[ONLY_ANNOUNCES, Bare])), STOPS)],
        prints: Prints::Plain,
        examples: examples![denies("init 0", "power"), allows("init")],
        ..PROGRAM
    },
    Program {
        names: &["systemctl", "loginctl", "initctl", "rc-service", "service", "sv", "launchctl"],
        effects: &[
            On(STOPS_BY_SERVICE, STOPS),
            On(
                All(&[
                    Not(&STOPS_BY_SERVICE),
                    Has(&["terminate-user", "kill-user", "terminate-session", "kill-session"]),
                ]),
                Is(KillAll, "This ends all processes of a user or a session."),
            ),
            On(
                Not(&STOPS_BY_SERVICE),
                OneOf(&[
                    On(
                        All(&[Starts(PROTECTING_SERVICES), Has(&["stop", "disable", "mask", "kill"])]),
                        OnMachine(Unprotect, "This switches protection of the machine off."),
                    ),
                    On(
                        Has(&[
                            "enable", "link", "edit", "set-default", "enable-linger", "reenable", "load", "bootstrap",
                        ]),
                        OnMachine(Persist, "This makes something start by itself."),
                    ),
                    On(Has(&["disable", "mask"]), OnMachine(Unprotect, "This keeps a service from starting.")),
                ]),
            ),
        ],
        prints: Prints::Plain,
        examples: examples![
            denies("systemctl reboot", "power"),
            denies("systemctl isolate rescue.target", "power"),
            denies("loginctl terminate-user dev", "kill-all"),
            asks("systemctl stop auditd", "security-off"),
            asks("systemctl enable --now web", "persistence"),
            asks("systemctl mask web", "security-off"),
            allows("systemctl restart web"),
            allows("service nginx status"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["dbus-send", "busctl", "gdbus"],
        effects: &[On(Contains(&["PowerOff", "Reboot", "Halt", "Suspend", "Hibernate"]), STOPS)],
        prints: Prints::Plain,
        examples: examples![
            denies(
                "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager Reboot b 1",
                "power",
            ),
            allows("busctl list"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["kexec"],
        effects: &[On(
            Always,
            OneOf(&[
                On(Has(&["-e", "--exec"]), Is(Power, "This would start another kernel.")),
                On(Always, OnMachine(OtherKernel, "This would start another kernel.")),
            ]),
        )],
        prints: Prints::Plain,
        examples: examples![denies("kexec -e", "power"), asks("kexec -l vmlinuz", "power"), allows("kexec --version")],
        ..PROGRAM
    },
    Program {
        names: &["modprobe"],
        effects: &[On(
            Not(&Any(&[
                Has(&["-n", "--dry-run", "--show-depends", "-c", "--showconfig", "-D"]),
                Verb(&["list", "show", "status"]),
            ])),
            CHANGES_KERNEL,
        )],
        prints: Prints::Plain,
        examples: examples![asks("modprobe -r nvidia", "kernel"), allows("modprobe -n nvidia")],
        ..PROGRAM
    },
    Program {
        names: &[
            "insmod", "rmmod", "depmod", "dkms", "update-initramfs", "mkinitcpio", "dracut", "grub-install",
            "update-grub", "grub-mkconfig", "efibootmgr", "bpftool", "kpatch", "bootctl",
        ],
        effects: &[On(
            Not(&Any(&[
                Verb(&["list", "show", "status"]),
                All(&[Bare, Called(&["efibootmgr", "bootctl"])]),
                All(&[Called(&["efibootmgr"]), Has(&["-v", "--verbose", "-u", "--unicode"])]),
            ])),
            CHANGES_KERNEL,
        )],
        prints: Prints::Plain,
        examples: examples![
            asks("rmmod nvidia", "kernel"),
            asks("update-grub", "kernel"),
            allows("efibootmgr"),
            allows("dkms status"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["kmod"],
        runs: Runs::Perhaps,
        prints: Prints::Plain,
        effects: &[On(Verb(&["load", "unload", "insert", "remove"]), OnMachine(Kernel, "This changes the kernel."))],
        examples: examples![asks("kmod insert x.ko", "kernel"), allows("kmod list")],
        ..PROGRAM
    },
    Program {
        names: &["sysctl"],
        effects: &[On(
            Any(&[Has(&["-w", "--write", "--system"]), Contains(&["="]), Starts(&["-p", "--load"])]),
            OnMachine(Kernel, "This changes settings of the kernel."),
        )],
        prints: Prints::Plain,
        examples: examples![
            asks("sysctl -w vm.swappiness=10", "kernel"),
            asks("sysctl -p", "kernel"),
            allows("sysctl vm.swappiness"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["bleachbit"],
        effects: &[On(Has(&["--shred", "-s"]), Delete(Which::Operands, Depth::Tree, "This would shred"))],
        examples: examples![denies("bleachbit --shred /home/dev", "delete-home"), allows("bleachbit --list")],
        ..PROGRAM
    },
    Program {
        names: &["certutil", "trust", "update-ca-certificates", "update-ca-trust"],
        effects: &[On(
            Not(&Any(&[
                Has(&["-L", "-K", "-V", "list", "dump", "extract", "check"]),
                All(&[Bare, Called(&["trust", "certutil"])]),
            ])),
            OnMachine(Unprotect, "This changes whose certificates are trusted."),
        )],
        examples: examples![
            asks("certutil -d ~/.pki/nssdb -A -t C -n x -i x.crt", "security-off"),
            asks("trust anchor x.crt", "security-off"),
            allows("certutil -d ~/.pki/nssdb -L"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["crontab"],
        custom: Some(super::starters::timers),
        effects: &[On(Not(&Has(&["-l"])), OnMachine(Persist, "This changes the table of timers."))],
        prints: Prints::Plain,
        prompts: &[(Has(&["-e"]), "it opens an editor")],
        examples: examples![
            asks("crontab jobs.txt", "persistence"),
            denies("echo '@reboot rm -rf /' | crontab -", "delete-root"),
            denies("crontab - <<< '0 4 * * * rm -rf /'", "delete-root"),
            allows("crontab -l"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "useradd", "adduser", "usermod", "userdel", "deluser", "groupadd", "groupdel", "groupmod", "gpasswd",
            "chpasswd", "newusers", "chfn", "addgroup",
        ],
        effects: &[On(Always, CHANGES_ACCOUNTS)],
        prints: Prints::Plain,
        examples: examples![asks("useradd eve", "accounts"), asks("chpasswd", "accounts"), allows("useradd --help")],
        ..PROGRAM
    },
    Program {
        names: &["passwd"],
        effects: &[On(Not(&Has(&["-S", "--status"])), CHANGES_ACCOUNTS)],
        prints: Prints::Plain,
        prompts: &[(WAITS_FOR_KEYS, "it asks for a password")],
        examples: examples![asks("passwd root", "accounts"), allows("passwd -S dev")],
        ..PROGRAM
    },
    Program {
        names: &["chsh"],
        effects: &[On(Always, CHANGES_ACCOUNTS)],
        prints: Prints::Plain,
        prompts: &[(WAITS_FOR_KEYS, "it asks for a password")],
        examples: examples![asks("chsh -s /bin/zsh", "accounts"), allows("chsh --help")],
        ..PROGRAM
    },
    Program {
        names: &["chage"],
        effects: &[On(Not(&Has(&["-l", "--list"])), CHANGES_ACCOUNTS)],
        prints: Prints::Plain,
        examples: examples![asks("chage -M 90 dev", "accounts"), allows("chage -l dev")],
        ..PROGRAM
    },
    Program {
        names: &["vipw", "visudo"],
        effects: &[On(Not(&All(&[Called(&["visudo"]), Has(&["-c", "--check"])])), CHANGES_ACCOUNTS)],
        prints: Prints::Plain,
        prompts: &[(WAITS_FOR_KEYS, "it opens an editor")],
        examples: examples![asks("visudo", "accounts"), asks("vipw -s", "accounts"), allows("visudo -c")],
        ..PROGRAM
    },
    Program {
        names: &["ssh-copy-id"],
        effects: &[On(Always, Is(Persist, "This adds a key that may log in."))],
        prints: Prints::Plain,
        examples: examples![asks("ssh-copy-id dev@host", "persistence"), allows("ssh-copy-id --help")],
        ..PROGRAM
    },
    Program {
        names: &["update-rc.d", "chkconfig", "rc-update", "systemd-sysusers"],
        effects: &[On(Always, OnMachine(Persist, "This makes a service start by itself."))],
        prints: Prints::Plain,
        examples: examples![asks("update-rc.d web defaults", "persistence"), allows("chkconfig --help")],
        ..PROGRAM
    },
    Program {
        names: &["setenforce", "aa-disable", "aa-teardown", "aa-complain", "setsebool", "semanage"],
        effects: &[On(Always, CHANGES_PROTECTION)],
        prints: Prints::Plain,
        examples: examples![asks("setenforce 0", "security-off"), allows("semanage --help")],
        ..PROGRAM
    },
    Program {
        names: &["auditctl"],
        effects: &[On(Not(&Has(&["-l", "-s"])), CHANGES_PROTECTION)],
        prints: Prints::Plain,
        examples: examples![asks("auditctl -e 0", "security-off"), allows("auditctl -l")],
        ..PROGRAM
    },
    Program { names: &["ausearch"], prints: Prints::Plain, examples: examples![allows("ausearch -m avc")], ..PROGRAM },
    Program {
        names: &["journalctl"],
        effects: &[On(
            Starts(&["--vacuum", "--rotate", "--flush", "--relinquish", "--setup-keys"]),
            OnMachine(EraseLog, "This deletes or moves logs."),
        )],
        prints: Prints::Plain,
        prompts: &[(
            All(&[Has(&["-f", "--follow"]), Not(&Has(&["--no-pager"])), Not(&Fed)]),
            "with -f it never ends by itself",
        )],
        examples: examples![asks("journalctl --vacuum-time=1s", "logs"), allows("journalctl -u web --no-pager")],
        ..PROGRAM
    },
    Program {
        names: &["dmesg"],
        runs: Runs::Perhaps,
        prints: Prints::Plain,
        effects: &[On(
            Has(&["-C", "-c", "--clear", "--read-clear"]),
            OnMachine(EraseLog, "This empties the log of the kernel."),
        )],
        examples: examples![asks("dmesg -C", "logs"), allows("dmesg -T")],
        ..PROGRAM
    },
    Program {
        names: &["logrotate"],
        runs: Runs::Perhaps,
        prints: Prints::Plain,
        effects: &[On(Has(&["-f", "--force"]), Is(EraseLog, "This rotates logs before their time."))],
        examples: examples![asks("logrotate -f /etc/logrotate.conf", "logs"), allows("logrotate -d web.conf")],
        ..PROGRAM
    },
    Program {
        names: &["update-alternatives", "ldconfig", "timedatectl"],
        effects: &[On(
            Has(&["--set", "--install", "--remove", "set-time", "set-timezone", "set-ntp"]),
            OnMachine(ChangeSystem, "This changes the system."),
        )],
        prints: Prints::Plain,
        examples: examples![
            asks("update-alternatives --set editor /usr/bin/vim", "system-write"),
            asks("timedatectl set-ntp true", "system-write"),
            allows("ldconfig -p"),
        ],
        ..PROGRAM
    },
];

const STOPS: Does = Is(Power, "This would stop or restart the machine.");

/// `shutdown -c` takes a shutdown back, and `-k` only announces one.
const ONLY_ANNOUNCES: When = Has(&["-c", "--help", "--version", "-k"]);

const CHANGES_KERNEL: Does = OnMachine(Kernel, "This changes the kernel or how the machine boots.");

const CHANGES_ACCOUNTS: Does = OnMachine(Accounts, "This changes who may use the machine.");

const CHANGES_PROTECTION: Does = OnMachine(Unprotect, "This switches protection of the machine off or changes it.");

/// The manager of services stops the machine by a verb, or by starting what stops it.
const STOPS_BY_SERVICE: When = Any(&[
    Has(&[
        "poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "hybrid-sleep", "rescue", "emergency",
        "soft-reboot", "exit",
    ]),
    All(&[
        Has(&["isolate", "start"]),
        Has(&[
            "poweroff.target", "reboot.target", "halt.target", "rescue.target", "emergency.target", "shutdown.target",
        ]),
    ]),
]);

/// How the names of services begin that protect the machine.
const PROTECTING_SERVICES: &[&str] = &[
    "auditd", "firewalld", "ufw", "apparmor", "fail2ban", "iptables", "nftables", "selinux", "rsyslog", "syslog",
    "clamav", "crowdstrike",
];
