//! Programs that configure and watch the network of this machine.

use super::options::Grammar;
use super::row::Does::{IsOn, OnMachine, RunHelper};
use super::row::When::{All, Always, Any, Called, Given, Has, NoVerb, Not, Verb};
use super::row::{Does, On, PROGRAM, Prints, Program, Which, allows, asks};
use crate::effect::Kind::{Firewall, RunHidden};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::needs::Needs;
use crate::value::{Arg, Flow, Labels};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["iptables", "ip6tables", "iptables-nft", "iptables-legacy", "ebtables", "arptables"],
        grammar: IPTABLES,
        effects: &[On(
            Any(&[
                Not(&Given(&["L", "S", "list", "list-rules", "V", "version", "h", "help"])),
                Given(&["F", "flush", "X", "Z", "zero", "delete-chain"]),
            ]),
            CHANGES_FIREWALL,
        )],
        prints: Prints::Plain,
        examples: examples![
            asks("iptables -F", "firewall"),
            asks("iptables -A INPUT -p tcp --dport 22 -j DROP", "firewall"),
            allows("iptables -t nat -L -n"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["iptables-restore", "ip6tables-restore", "iptables-apply", "firewalld", "pfctl"],
        effects: &[On(Always, CHANGES_FIREWALL)],
        prints: Prints::Plain,
        examples: examples![asks("iptables-restore rules.v4", "firewall"), allows("iptables-restore --help")],
        ..PROGRAM
    },
    Program {
        names: &["nft"],
        effects: &[On(Not(&Any(&[Verb(&["list", "describe", "monitor"]), NoVerb])), CHANGES_FIREWALL)],
        prints: Prints::Plain,
        examples: examples![asks("nft flush ruleset", "firewall"), allows("nft list ruleset")],
        ..PROGRAM
    },
    Program {
        names: &["ufw"],
        effects: &[On(Not(&Any(&[Verb(&["status", "version", "show", "app"]), NoVerb])), CHANGES_FIREWALL)],
        prints: Prints::Plain,
        examples: examples![asks("ufw disable", "firewall"), allows("ufw status verbose")],
        ..PROGRAM
    },
    Program {
        names: &["firewall-cmd"],
        custom: Some(firewall_cmd),
        prints: Prints::Plain,
        examples: examples![
            asks("firewall-cmd --zone=public --add-port=22/tcp", "firewall"),
            allows("firewall-cmd --zone=public --list-all"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["ipset", "ipvsadm", "tc"],
        effects: &[On(
            Any(&[
                Not(&Any(&[Verb(&["list", "save", "show", "ls"]), NoVerb, Has(&["-L", "-l", "-s"])])),
                Has(&["del", "flush", "destroy"]),
            ]),
            OnMachine(Firewall, "This changes how packets are handled."),
        )],
        prints: Prints::Plain,
        examples: examples![
            asks("ipset destroy blocked", "firewall"),
            asks("tc qdisc del dev eth0 root", "firewall"),
            allows("ipset list"),
            allows("tc -s qdisc"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["ip"],
        custom: Some(ip),
        prints: Prints::Plain,
        examples: examples![
            asks("ip link set eth0 down", "firewall"),
            asks("ip netns exec blue ip route flush all", "firewall"),
            allows("ip -br addr show"),
            allows("ip add"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "ifconfig", "route", "nmcli", "ifdown", "ifup", "brctl", "netplan", "networkctl", "resolvectl",
            "hostnamectl", "iw", "iwconfig", "rfkill",
        ],
        effects: &[On(
            All(&[Any(&[Has(NETWORK_VERBS), Called(&["ifdown", "ifup"])]), Not(&Has(&["show", "status"]))]),
            CHANGES_NETWORK,
        )],
        prints: Prints::Plain,
        examples: examples![
            asks("ifconfig eth0 down", "firewall"),
            asks("ifup eth0", "firewall"),
            allows("nmcli device status"),
            allows("hostnamectl"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["tcpdump"],
        grammar: Grammar { short: "zwirCGWsc", ..Grammar::PLAIN },
        effects: &[
            On(Always, RunHelper(Which::Values(&["z"]))),
            On(Always, IsOn(Which::Values(&["z"]), RunHidden, "This option of tcpdump runs another program.")),
        ],
        examples: examples![
            asks("tcpdump -z /tmp/x -w capture.pcap", "hidden-run"),
            allows("tcpdump -i eth0 -c 10 port 80")
        ],
        ..PROGRAM
    },
    Program { names: &["nmap"], examples: examples![allows("nmap -p 1-1000 localhost")], ..PROGRAM },
];

const CHANGES_FIREWALL: Does = OnMachine(Firewall, "This changes the firewall.");

const CHANGES_NETWORK: Does = OnMachine(Firewall, NETWORK);

const NETWORK: &str = "This changes the network of the machine.";

const NETWORK_VERBS: &[&str] = &[
    "down", "up", "add", "del", "delete", "off", "disconnect", "apply", "set-hostname", "block", "flush", "netmask",
    "default", "dns", "modify",
];

const IPTABLES: Grammar = Grammar {
    short: "tw",
    long: &["table", "wait"],
    flags: &[
        "list", "list-rules", "flush", "delete-chain", "append", "insert", "delete", "policy", "replace", "zero",
        "new-chain", "version", "help",
    ],
    ..Grammar::PLAIN
};

/// It changes something unless every argument only asks for something.
fn firewall_cmd(machine: &mut Machine<'_>, call: &Call, _: &mut World) -> Option<Ran> {
    const ASKS: [&str; 9] =
        ["--list", "--state", "--get", "--query", "--info", "--version", "--help", "--zone", "--permanent"];
    let asks = |word: &str| ASKS.iter().any(|start| word.starts_with(start));
    if !call.args.iter().all(|arg| asks(&arg.text.known_start())) {
        machine.state_where(Some(Needs::Machine), Firewall, "This changes the firewall.", call.span, None);
    }
    None
}

/// The first word is the object, so `ip add` lists addresses; `ip netns exec` runs a command.
fn ip(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const CHANGES: [&str; 9] = ["add", "del", "delete", "flush", "set", "replace", "change", "append", "down"];
    let words: Vec<String> =
        call.args.iter().map(|arg| arg.text.display()).filter(|word| !word.starts_with('-')).collect();

    if let [object, verb, ..] = words.as_slice()
        && (object.as_str(), verb.as_str()) == ("netns", "exec")
    {
        let words: Vec<Arg> = call.args.iter().skip_while(|arg| !arg.text.is("exec")).skip(2).cloned().collect();
        machine.run_words(call, &words, World::new(machine.context));
        return Some(Ran::same(world.clone(), Flow::labelled(Labels::PLAIN)));
    }

    if words.iter().skip(1).any(|word| CHANGES.contains(&word.as_str())) {
        machine.state_where(Some(Needs::Machine), Firewall, NETWORK, call.span, None);
    }
    None
}
