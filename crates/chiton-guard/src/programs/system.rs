//! Programs that stop, configure and watch over the machine.

use crate::effect::Kind;
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels};
use crate::programs::options::{Grammar, Options};

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
                    self.says(Kind::Power, "This would stop or restart the machine.", call);
                }
            }
            "systemctl" | "loginctl" | "initctl" | "rc-service" | "service" | "sv" | "launchctl" => self.services(call),
            "dbus-send" | "busctl" | "gdbus" => {
                let text: String = call.args.iter().map(|arg| arg.text.display()).collect::<Vec<_>>().join(" ");
                if ["PowerOff", "Reboot", "Halt", "Suspend", "Hibernate"].iter().any(|word| text.contains(word)) {
                    self.says(Kind::Power, "This would stop or restart the machine.", call);
                }
            }
            "kexec" => self.says(
                if has(&["-e", "--exec"]) { Kind::Power } else { Kind::OtherKernel },
                "This would start another kernel.",
                call,
            ),
            "modprobe" if has(&["-n", "--dry-run", "--show-depends", "-c", "--showconfig", "-D"]) => {}
            "modprobe" | "insmod" | "rmmod" | "depmod" | "dkms" | "update-initramfs" | "mkinitcpio" | "dracut"
            | "grub-install" | "update-grub" | "grub-mkconfig" | "efibootmgr" | "bpftool" | "kpatch" | "bootctl" => {
                let listing = matches!(verb().as_str(), "list" | "show" | "status")
                    || call.args.is_empty() && matches!(call.name.as_str(), "efibootmgr" | "bootctl");
                if !listing {
                    self.says(Kind::Kernel, "This changes the kernel or how the machine boots.", call);
                }
            }
            "kmod" if matches!(verb().as_str(), "load" | "unload" | "insert" | "remove") => {
                self.says(Kind::Kernel, "This changes the kernel.", call);
            }
            "sysctl" => {
                let writes = has(&["-w", "--write", "-p", "--load", "--system"])
                    || call.args.iter().any(|arg| arg.text.display().contains('='))
                    || starts(&["-p", "--load"]);
                if writes {
                    self.says(Kind::Kernel, "This changes settings of the kernel.", call);
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
                    self.says(Kind::Firewall, "This changes the firewall.", call);
                }
            }
            "iptables-restore" | "ip6tables-restore" | "iptables-apply" | "firewalld" | "pfctl" => {
                self.says(Kind::Firewall, "This changes the firewall.", call);
            }
            "nft" => {
                if !matches!(verb().as_str(), "list" | "describe" | "monitor" | "") {
                    self.says(Kind::Firewall, "This changes the firewall.", call);
                }
            }
            "ufw" => {
                if !matches!(verb().as_str(), "status" | "version" | "show" | "app" | "") {
                    self.says(Kind::Firewall, "This changes the firewall.", call);
                }
            }
            "firewall-cmd" => {
                let reads =
                    ["--list", "--state", "--get", "--query", "--info", "--version", "--help", "--zone", "--permanent"];
                if !call.args.iter().all(|arg| reads.iter().any(|word| arg.text.known_start().starts_with(word))) {
                    self.says(Kind::Firewall, "This changes the firewall.", call);
                }
            }
            "ipset" | "ipvsadm" | "tc" => {
                if !matches!(verb().as_str(), "list" | "save" | "show" | "ls" | "") && !has(&["-L", "-l", "-s"])
                    || has(&["del", "flush", "destroy"])
                {
                    self.says(Kind::Firewall, "This changes how packets are handled.", call);
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
                    self.says(Kind::Firewall, "This changes the network of the machine.", call);
                }
            }
            "crontab" => {
                if !has(&["-l"]) {
                    self.says(Kind::Persist, "This changes the table of timers.", call);
                }
            }
            "useradd" | "adduser" | "usermod" | "userdel" | "deluser" | "groupadd" | "groupdel" | "groupmod"
            | "gpasswd" | "passwd" | "chpasswd" | "chage" | "vipw" | "visudo" | "newusers" | "chsh" | "chfn"
            | "addgroup" => {
                let harmless = call.name == "passwd" && has(&["-S", "--status"])
                    || call.name == "chage" && has(&["-l", "--list"])
                    || call.name == "visudo" && has(&["-c", "--check"]);
                if !harmless {
                    self.says(Kind::Accounts, "This changes who may use the machine.", call);
                }
            }
            "ssh-copy-id" => self.says(Kind::Persist, "This adds a key that may log in.", call),
            "update-rc.d" | "chkconfig" | "rc-update" | "systemd-sysusers" => {
                self.says(Kind::Persist, "This makes a service start by itself.", call);
            }
            "setenforce" | "aa-disable" | "aa-teardown" | "aa-complain" | "auditctl" | "setsebool" | "ausearch"
            | "semanage" => {
                let reads = call.name == "ausearch" || call.name == "auditctl" && has(&["-l", "-s"]);
                if !reads {
                    self.says(Kind::Unprotect, "This switches protection of the machine off or changes it.", call);
                }
            }
            "journalctl" => {
                if starts(&["--vacuum", "--rotate", "--flush", "--relinquish", "--setup-keys"]) {
                    self.says(Kind::EraseLog, "This deletes or moves logs.", call);
                }
            }
            "dmesg" if has(&["-C", "-c", "--clear", "--read-clear"]) => {
                self.says(Kind::EraseLog, "This empties the log of the kernel.", call);
            }
            "logrotate" if has(&["-f", "--force"]) => {
                self.says(Kind::EraseLog, "This rotates logs before their time.", call);
            }
            "update-alternatives" | "ldconfig" | "timedatectl" => {
                if has(&["--set", "--install", "--remove", "set-time", "set-timezone", "set-ntp"]) {
                    self.says(Kind::ChangeSystem, "This changes the system.", call);
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
            self.says(Kind::Power, "This would stop or restart the machine.", call);
            return;
        }
        if has(&["terminate-user", "kill-user", "terminate-session", "kill-session"]) {
            self.says(Kind::KillAll, "This ends all processes of a user or a session.", call);
        }
        let guarded = words.iter().any(|word| GUARDS.iter().any(|guard| word.starts_with(guard)));
        if guarded && has(&["stop", "disable", "mask", "kill"]) {
            self.says(Kind::Unprotect, "This switches protection of the machine off.", call);
        } else if has(&["enable", "link", "edit", "set-default", "enable-linger", "reenable", "load", "bootstrap"]) {
            self.says(Kind::Persist, "This makes something start by itself.", call);
        } else if has(&["disable", "mask"]) {
            self.says(Kind::Unprotect, "This keeps a service from starting.", call);
        }
    }

    fn ip(&mut self, call: &Call) {
        let words: Vec<String> =
            call.args.iter().map(|arg| arg.text.display()).filter(|word| !word.starts_with('-')).collect();
        if words.first().is_some_and(|word| word == "netns") && words.get(1).is_some_and(|word| word == "exec") {
            let at = call.args.iter().position(|arg| arg.text.is("exec")).unwrap_or_default();
            let inner: Vec<Arg> = call.args[at + 1..].to_vec();
            self.inner(call, inner, 1, World::new(self.context));
            return;
        }
        let changes = words.iter().skip(1).any(|word| {
            ["add", "del", "delete", "flush", "set", "replace", "change", "append", "down"].contains(&word.as_str())
        });
        if changes {
            self.says(Kind::Firewall, "This changes the network of the machine.", call);
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
            self.says(Kind::RemoveSystem, "This removes a part of the system that others need.", call);
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
            self.says(Kind::RemoveSystem, "This removes packages although others need them.", call);
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
