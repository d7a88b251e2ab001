//! Programs that change who may do what with a file.

use super::options::{Grammar, Options};
use super::row::Does::{Is, OneOf, Rights};
use super::row::When::{self, All, Always, Given, Starts};
use super::row::Which::{Operands, OperandsFrom};
use super::row::{On, PROGRAM, Prints, Program, allows, asks, denies};
use crate::effect::{Depth, Effect, Kind};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::value::Text;

const RIGHTS: Grammar = Grammar {
    long: &["reference", "from"],
    flags: &[
        "recursive", "verbose", "changes", "silent", "quiet", "no-dereference", "preserve-root", "no-preserve-root",
    ],
    ..Grammar::PLAIN
};

const RECURSIVE: When = Given(&["R", "recursive"]);
const REFERENCE: When = Given(&["reference"]);
/// The attributes that `chattr` gives; those that it takes look like options.
const ATTRIBUTES: When = Starts(&["+", "="]);

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["chmod", "gchmod"],
        custom: Some(chmod),
        prints: Prints::Nothing,
        examples: examples![
            asks("chmod 4755 tool", "permissions"),
            asks("chmod u+s tool", "permissions"),
            denies("chmod -R 777 /", "permissions"),
            denies("chmod -R -x /usr", "permissions"),
            denies("chmod -R 777 /var/www", "permissions"),
            asks("chmod -R 755 /var/www", "permissions"),
            allows("chmod 2775 shared"),
            allows("find . -type d -exec chmod g+s {} +"),
            allows("chmod +x build.sh"),
            allows("chmod -R u+w build"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["chown", "gchown", "chgrp", "chcon"],
        grammar: RIGHTS,
        effects: &[On(
            Always,
            OneOf(&[
                On(All(&[REFERENCE, RECURSIVE]), Rights(Operands, Depth::Tree)),
                On(REFERENCE, Rights(Operands, Depth::Entry)),
                On(RECURSIVE, Rights(OperandsFrom(1), Depth::Tree)),
                On(Always, Rights(OperandsFrom(1), Depth::Entry)),
            ]),
        )],
        prints: Prints::Nothing,
        examples: examples![
            denies("chown -R dev /", "permissions"),
            denies("chown -R --reference=x /", "permissions"),
            denies("chgrp dev /etc/shadow", "permissions"),
            denies("chown --reference=x /etc/shadow", "permissions"),
            asks("chown -R www-data /var/www", "permissions"),
            asks("chown -R dev /usr/local", "permissions"),
            asks("chown -R dev /var/lib/app", "permissions"),
            asks("chown -R dev:dev /srv /opt", "permissions"),
            denies("chown -R dev /var/lib", "permissions"),
            allows("chown -R dev build"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["setfacl"],
        grammar: Grammar { short: "mxMXb", ..RIGHTS },
        effects: &[On(
            Always,
            OneOf(&[On(RECURSIVE, Rights(Operands, Depth::Tree)), On(Always, Rights(Operands, Depth::Entry))]),
        )],
        prints: Prints::Nothing,
        examples: examples![
            denies("setfacl -R -m u:dev:rwx /", "permissions"),
            denies("setfacl -m u:dev:rw /etc/shadow", "permissions"),
            allows("setfacl -m u:dev:rw notes.txt"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["chattr"],
        grammar: RIGHTS,
        effects: &[On(
            Always,
            OneOf(&[
                On(All(&[ATTRIBUTES, RECURSIVE]), Rights(OperandsFrom(1), Depth::Tree)),
                On(ATTRIBUTES, Rights(OperandsFrom(1), Depth::Entry)),
                On(RECURSIVE, Rights(Operands, Depth::Tree)),
                On(Always, Rights(Operands, Depth::Entry)),
            ]),
        )],
        prints: Prints::Nothing,
        examples: examples![
            denies("chattr -R +i /", "permissions"),
            denies("chattr -R -i /", "permissions"),
            denies("chattr +i /etc/shadow", "permissions"),
            denies("chattr -i /etc/shadow", "permissions"),
            allows("chattr +i notes.txt"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["setcap"],
        effects: &[On(Always, Is(Kind::SetUserId, "This gives a program rights of root."))],
        prints: Prints::Nothing,
        examples: examples![asks("setcap cap_net_raw+ep tool", "permissions"), allows("setcap --help")],
        ..PROGRAM
    },
];

/// `chmod -x file`, `chmod -rwx file`: what looks like options may be the mode.
fn chmod(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &RIGHTS);
    let names_mode = !options.has(&["reference"]) && !options.names().any(|name| "rwxXstugo".contains(name));
    if let Some(mode) = options.operands.first().filter(|_| names_mode)
        && sets_user_id(&mode.text)
    {
        let reason = format!("The mode {} makes programs run with the rights of their owner.", mode.text.display());
        machine.state(Kind::SetUserId, reason, mode.span, Some(mode.text.display()));
    }

    let depth = Depth::tree_if(options.has(&["R", "recursive"]));
    let mode = options.operands.first().filter(|_| names_mode);
    let opens = depth == Depth::Tree && mode.is_some_and(|mode| lets_all_write(&mode.text));
    for arg in options.operands.iter().skip(usize::from(names_mode)) {
        let (what, doing) = (&arg.text, "This would change the rights of");
        let effect = if opens { Effect::OpenTree { what, doing } } else { Effect::Rights { what, depth, doing } };
        machine.does(effect, world, arg.span);
    }
    None
}

/// Whether a mode lets everybody write.
fn lets_all_write(mode: &Text) -> bool {
    let Some(mode) = mode.as_known() else { return false };
    if !mode.is_empty() && mode.bytes().all(|byte| byte.is_ascii_digit()) {
        return u32::from_str_radix(&mode, 8).is_ok_and(|bits| bits & 0o002 != 0);
    }
    mode.split(',').any(|clause| {
        let Some(at) = clause.find(['+', '=']) else { return false };
        (at == 0 || clause[..at].contains(['a', 'o'])) && clause[at..].contains('w')
    })
}

/// Whether a mode lets a program run with the rights of its owner. Those of its group are left out: on a directory the
/// bit only hands the group down, and that is what it is used for.
pub(super) fn sets_user_id(mode: &Text) -> bool {
    let Some(mode) = mode.as_known() else { return false };
    if mode.bytes().all(|byte| byte.is_ascii_digit()) {
        let bits = u32::from_str_radix(&mode, 8).unwrap_or_default();
        return bits & 0o4000 != 0 && mode.trim_start_matches('0').len() > 3;
    }
    mode.split(',').any(|clause| {
        clause.find(['+', '=']).is_some_and(|at| {
            let (who, what) = clause.split_at(at);
            what.contains('s') && (who.is_empty() || who.contains(['u', 'a']))
        })
    })
}
