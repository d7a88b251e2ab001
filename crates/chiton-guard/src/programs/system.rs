//! Programs that stop, configure and watch over the machine.

use super::row::Program;
use crate::effect::Kind;
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels};
use crate::programs::options::{Grammar, Options};

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    #[expect(clippy::too_many_lines, reason = "a table of what programs do")]
    pub(crate) fn system_program(&mut self, call: &Call) -> Option<Flow> {
        let has = |words: &[&str]| call.args.iter().any(|arg| words.iter().any(|word| arg.text.is(word)));
        let starts = |prefixes: &[&str]| {
            call.args.iter().any(|arg| prefixes.iter().any(|prefix| arg.text.known_start().starts_with(prefix)))
        };
        let verb = || {
            call.args
                .iter()
                .find(|arg| !arg.text.known_start().starts_with('-'))
                .and_then(|arg| arg.text.as_known())
                .unwrap_or_default()
        };
        match call.name.as_str() {
            "shutdown" | "poweroff" | "reboot" | "halt" | "telinit" | "init" | "pm-suspend" | "pm-hibernate"
            | "rtcwake" => {
                if !has(&["-c", "--help", "--version", "-k"]) && (call.name != "init" || !call.args.is_empty()) {
                    self.state(Kind::Power, "This would stop or restart the machine.", call.span, None);
                }
            }
            "systemctl" | "loginctl" | "initctl" | "rc-service" | "service" | "sv" | "launchctl" => self.services(call),
            "dbus-send" | "busctl" | "gdbus" => {
                let text: String = call.args.iter().map(|arg| arg.text.display()).collect::<Vec<_>>().join(" ");
                if ["PowerOff", "Reboot", "Halt", "Suspend", "Hibernate"].iter().any(|word| text.contains(word)) {
                    self.state(Kind::Power, "This would stop or restart the machine.", call.span, None);
                }
            }
            "kexec" => self.state(
                if has(&["-e", "--exec"]) { Kind::Power } else { Kind::OtherKernel },
                "This would start another kernel.",
                call.span,
                None,
            ),
            "modprobe" if has(&["-n", "--dry-run", "--show-depends", "-c", "--showconfig", "-D"]) => {}
            "modprobe" | "insmod" | "rmmod" | "depmod" | "dkms" | "update-initramfs" | "mkinitcpio" | "dracut"
            | "grub-install" | "update-grub" | "grub-mkconfig" | "efibootmgr" | "bpftool" | "kpatch" | "bootctl" => {
                let listing = matches!(verb().as_str(), "list" | "show" | "status")
                    || call.args.is_empty() && matches!(call.name.as_str(), "efibootmgr" | "bootctl");
                if !listing {
                    self.state(Kind::Kernel, "This changes the kernel or how the machine boots.", call.span, None);
                }
            }
            "kmod" if matches!(verb().as_str(), "load" | "unload" | "insert" | "remove") => {
                self.state(Kind::Kernel, "This changes the kernel.", call.span, None);
            }
            "sysctl" => {
                let writes = has(&["-w", "--write", "-p", "--load", "--system"])
                    || call.args.iter().any(|arg| arg.text.display().contains('='))
                    || starts(&["-p", "--load"]);
                if writes {
                    self.state(Kind::Kernel, "This changes settings of the kernel.", call.span, None);
                }
            }
            "iptables" | "ip6tables" | "iptables-nft" | "iptables-legacy" | "ebtables" | "arptables" => {
                let options = Options::read(
                    &call.args,
                    &Grammar {
                        short: "tw",
                        long: &["table", "wait"],
                        flags: &[
                            "list",
                            "list-rules",
                            "flush",
                            "delete-chain",
                            "append",
                            "insert",
                            "delete",
                            "policy",
                            "replace",
                            "zero",
                            "new-chain",
                            "version",
                            "help",
                        ],
                        ..Grammar::default()
                    },
                );
                if !options.has(&["L", "S", "list", "list-rules", "V", "version", "h", "help"])
                    || options.has(&["F", "flush", "X", "Z", "zero", "delete-chain"])
                {
                    self.state(Kind::Firewall, "This changes the firewall.", call.span, None);
                }
            }
            "iptables-restore" | "ip6tables-restore" | "iptables-apply" | "firewalld" | "pfctl" => {
                self.state(Kind::Firewall, "This changes the firewall.", call.span, None);
            }
            "nft" => {
                if !matches!(verb().as_str(), "list" | "describe" | "monitor" | "") {
                    self.state(Kind::Firewall, "This changes the firewall.", call.span, None);
                }
            }
            "ufw" => {
                if !matches!(verb().as_str(), "status" | "version" | "show" | "app" | "") {
                    self.state(Kind::Firewall, "This changes the firewall.", call.span, None);
                }
            }
            "firewall-cmd" => {
                let reads =
                    ["--list", "--state", "--get", "--query", "--info", "--version", "--help", "--zone", "--permanent"];
                if !call.args.iter().all(|arg| reads.iter().any(|word| arg.text.known_start().starts_with(word))) {
                    self.state(Kind::Firewall, "This changes the firewall.", call.span, None);
                }
            }
            "ipset" | "ipvsadm" | "tc" => {
                if !matches!(verb().as_str(), "list" | "save" | "show" | "ls" | "") && !has(&["-L", "-l", "-s"])
                    || has(&["del", "flush", "destroy"])
                {
                    self.state(Kind::Firewall, "This changes how packets are handled.", call.span, None);
                }
            }
            "ip" => self.ip(call),
            "ifconfig" | "route" | "nmcli" | "ifdown" | "ifup" | "brctl" | "netplan" | "networkctl" | "resolvectl"
            | "hostnamectl" | "iw" | "iwconfig" | "rfkill" => {
                let changes = has(&[
                    "down",
                    "up",
                    "add",
                    "del",
                    "delete",
                    "off",
                    "disconnect",
                    "apply",
                    "set-hostname",
                    "block",
                    "flush",
                    "netmask",
                    "default",
                    "dns",
                    "modify",
                ]);
                if (changes || matches!(call.name.as_str(), "ifdown" | "ifup")) && !has(&["show", "status"]) {
                    self.state(Kind::Firewall, "This changes the network of the machine.", call.span, None);
                }
            }
            "crontab" => {
                if !has(&["-l"]) {
                    self.state(Kind::Persist, "This changes the table of timers.", call.span, None);
                }
            }
            "useradd" | "adduser" | "usermod" | "userdel" | "deluser" | "groupadd" | "groupdel" | "groupmod"
            | "gpasswd" | "passwd" | "chpasswd" | "chage" | "vipw" | "visudo" | "newusers" | "chsh" | "chfn"
            | "addgroup" => {
                let harmless = call.name == "passwd" && has(&["-S", "--status"])
                    || call.name == "chage" && has(&["-l", "--list"])
                    || call.name == "visudo" && has(&["-c", "--check"]);
                if !harmless {
                    self.state(Kind::Accounts, "This changes who may use the machine.", call.span, None);
                }
            }
            "ssh-copy-id" => self.state(Kind::Persist, "This adds a key that may log in.", call.span, None),
            "update-rc.d" | "chkconfig" | "rc-update" | "systemd-sysusers" => {
                self.state(Kind::Persist, "This makes a service start by itself.", call.span, None);
            }
            "setenforce" | "aa-disable" | "aa-teardown" | "aa-complain" | "auditctl" | "setsebool" | "ausearch"
            | "semanage" => {
                let reads = call.name == "ausearch" || call.name == "auditctl" && has(&["-l", "-s"]);
                if !reads {
                    self.state(
                        Kind::Unprotect,
                        "This switches protection of the machine off or changes it.",
                        call.span,
                        None,
                    );
                }
            }
            "journalctl" => {
                if starts(&["--vacuum", "--rotate", "--flush", "--relinquish", "--setup-keys"]) {
                    self.state(Kind::EraseLog, "This deletes or moves logs.", call.span, None);
                }
            }
            "dmesg" if has(&["-C", "-c", "--clear", "--read-clear"]) => {
                self.state(Kind::EraseLog, "This empties the log of the kernel.", call.span, None);
            }
            "logrotate" if has(&["-f", "--force"]) => {
                self.state(Kind::EraseLog, "This rotates logs before their time.", call.span, None);
            }
            "update-alternatives" | "ldconfig" | "timedatectl" => {
                if has(&["--set", "--install", "--remove", "set-time", "set-timezone", "set-ntp"]) {
                    self.state(Kind::ChangeSystem, "This changes the system.", call.span, None);
                }
            }
            "apt" | "apt-get" | "aptitude" | "dnf" | "yum" | "apk" | "pacman" | "zypper" | "dpkg" | "rpm" | "snap"
            | "brew" | "port" => self.packages(call),
            _ => return None,
        }
        Some(Flow::labelled(Labels::PLAIN))
    }

    fn services(&mut self, call: &Call) {
        const GUARDS: [&str; 12] = [
            "auditd",
            "firewalld",
            "ufw",
            "apparmor",
            "fail2ban",
            "iptables",
            "nftables",
            "selinux",
            "rsyslog",
            "syslog",
            "clamav",
            "crowdstrike",
        ];
        let words: Vec<String> =
            call.args.iter().map(|arg| arg.text.display()).filter(|word| !word.starts_with('-')).collect();
        let has = |words_of: &[&str]| words.iter().any(|word| words_of.contains(&word.as_str()));
        if has(&[
            "poweroff",
            "reboot",
            "halt",
            "kexec",
            "suspend",
            "hibernate",
            "hybrid-sleep",
            "rescue",
            "emergency",
            "soft-reboot",
            "exit",
        ]) || has(&["isolate", "start"])
            && words.iter().any(|word| {
                [
                    "poweroff.target",
                    "reboot.target",
                    "halt.target",
                    "rescue.target",
                    "emergency.target",
                    "shutdown.target",
                ]
                .contains(&word.as_str())
            })
        {
            self.state(Kind::Power, "This would stop or restart the machine.", call.span, None);
            return;
        }
        if has(&["terminate-user", "kill-user", "terminate-session", "kill-session"]) {
            self.state(Kind::KillAll, "This ends all processes of a user or a session.", call.span, None);
        }
        let guarded = words.iter().any(|word| GUARDS.iter().any(|guard| word.starts_with(guard)));
        if guarded && has(&["stop", "disable", "mask", "kill"]) {
            self.state(Kind::Unprotect, "This switches protection of the machine off.", call.span, None);
        } else if has(&["enable", "link", "edit", "set-default", "enable-linger", "reenable", "load", "bootstrap"]) {
            self.state(Kind::Persist, "This makes something start by itself.", call.span, None);
        } else if has(&["disable", "mask"]) {
            self.state(Kind::Unprotect, "This keeps a service from starting.", call.span, None);
        }
    }

    fn ip(&mut self, call: &Call) {
        let words: Vec<String> =
            call.args.iter().map(|arg| arg.text.display()).filter(|word| !word.starts_with('-')).collect();
        if words.first().is_some_and(|word| word == "netns") && words.get(1).is_some_and(|word| word == "exec") {
            let at = call.args.iter().position(|arg| arg.text.is("exec")).unwrap_or_default();
            let words: Vec<Arg> = call.args[at + 1..].iter().skip(1).cloned().collect();
            self.run_words(call, words, World::new(self.context));
            return;
        }
        let changes = words.iter().skip(1).any(|word| {
            ["add", "del", "delete", "flush", "set", "replace", "change", "append", "down"].contains(&word.as_str())
        });
        if changes {
            self.state(Kind::Firewall, "This changes the network of the machine.", call.span, None);
        }
    }

    fn packages(&mut self, call: &Call) {
        let words: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let essential = [
            "libc6",
            "coreutils",
            "bash",
            "systemd",
            "sudo",
            "dpkg",
            "apt",
            "linux-image",
            "base-files",
            "glibc",
            "kernel",
            "passwd",
            "login",
            "openssh-server",
        ];
        let removes = has(&[
            "remove",
            "purge",
            "erase",
            "uninstall",
            "-R",
            "-Rs",
            "-Rns",
            "-e",
            "-r",
            "-P",
            "--purge",
            "--remove",
            "autoremove",
        ]);
        if removes && words.iter().any(|word| essential.contains(&word.as_str())) {
            self.state(Kind::RemoveSystem, "This removes a part of the system that others need.", call.span, None);
        }
        let forced = [
            "--force-all",
            "--nodeps",
            "--allow-remove-essential",
            "--force-remove-essential",
            "--allow-unauthenticated",
            "--force-yes",
        ];
        if removes && has(&forced) {
            self.state(Kind::RemoveSystem, "This removes packages although others need them.", call.span, None);
        }
        for option in call
            .args
            .iter()
            .filter(|arg| arg.text.display().contains("::Pre-Invoke") || arg.text.display().contains("::Post-Invoke"))
        {
            let reason = "This option of apt runs a command.".to_owned();
            self.state(Kind::RunHidden, reason, option.span, Some(option.text.display()));
        }
    }
}
