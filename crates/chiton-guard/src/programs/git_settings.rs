//! Settings of git that make it run something.

use std::rc::Rc;

use super::network::suspicious_helper;
use crate::effect::Kind::RunHidden;
use crate::machine::Machine;
use crate::machine::state::World;
use crate::value::{Arg, Flow};

/// Settings whose values mean the same.
struct Setting {
    /// Their keys in small letters; a `*` stands for any name.
    keys: &'static [&'static str],
    /// What the value is.
    value: SettingValue,
    /// Values that are not a command.
    except: &'static [&'static str],
    /// Whether a value that the text does not decide is objected to.
    must_be_decided: bool,
}

/// What the value of a setting is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingValue {
    /// A command. Helpers that come with git or with common tools are everyday ones.
    Command,
    /// A command that works on text or shows it to a person. Every program of the system is an everyday one.
    Tool,
    /// A [`SettingValue::Command`] behind a `!`.
    CommandBehindBang,
    /// A [`SettingValue::Tool`] behind a `!`.
    ToolBehindBang,
    /// A directory of hooks.
    Hooks,
    /// What git may run, or another file of settings.
    Permission,
}

const SETTING: Setting = Setting { keys: &[], value: SettingValue::Command, except: &[], must_be_decided: false };

const SETTINGS: &[Setting] = &[
    Setting { keys: &["protocol.ext.allow", "include*.path"], value: SettingValue::Permission, ..SETTING },
    Setting { keys: &["core.hookspath"], value: SettingValue::Hooks, ..SETTING },
    Setting { keys: &["init.templatedir"], value: SettingValue::Hooks, must_be_decided: true, ..SETTING },
    Setting {
        keys: &["core.editor", "sequence.editor", "core.pager"],
        value: SettingValue::Tool,
        must_be_decided: true,
        ..SETTING
    },
    Setting {
        keys: &[
            "mergetool.*.cmd", "mergetool.*.path", "mergetool.*.driver", "difftool.*.cmd", "difftool.*.path",
            "filter.*.clean", "filter.*.smudge", "filter.*.process", "diff.*.textconv",
        ],
        value: SettingValue::Tool,
        ..SETTING
    },
    Setting { keys: &["alias.*"], value: SettingValue::ToolBehindBang, ..SETTING },
    Setting { keys: &["submodule.*.update"], value: SettingValue::CommandBehindBang, ..SETTING },
    Setting { keys: &["core.fsmonitor"], except: &["true", "false", "0", "1"], must_be_decided: true, ..SETTING },
    Setting { keys: &["pager.*"], except: &["true", "false"], ..SETTING },
    Setting {
        keys: &[
            "core.sshcommand", "core.gitproxy", "core.askpass", "gpg.program", "gpg.ssh.program",
            "gpg.openpgp.program", "gpg.x509.program", "diff.external", "credential.helper", "web.browser",
            "interactive.difffilter", "uploadpack.packobjectshook", "gc.recentobjectshook", "sendemail.smtpserver",
            "help.browser",
        ],
        must_be_decided: true,
        ..SETTING
    },
    Setting {
        keys: &[
            "credential.*.helper", "diff.*.command", "merge*.driver", "merge*.cmd", "merge*.path",
            "remote.*.uploadpack", "remote.*.receivepack", "remote.*.vcs", "trailer.*.command", "trailer.*.cmd",
        ],
        ..SETTING
    },
];

/// Names of helpers that come with git or with common tools.
const USUAL: [&str; 26] = [
    "", "cat", "less", "more", "true", "false", ":", "vim", "vi", "nvim", "nano", "emacs", "code", "store", "cache",
    "osxkeychain", "manager", "manager-core", "libsecret", "gpg", "gpg2", "ssh", "delta", "diff-so-fancy", "bat",
    "difft",
];

impl Setting {
    fn of(key: &str) -> Option<&'static Self> {
        let key = key.to_ascii_lowercase();
        let is_key = |pattern: &&str| match pattern.split_once('*') {
            Some((start, end)) => key.starts_with(start) && key.ends_with(end),
            None => *pattern == key,
        };
        SETTINGS.iter().find(|setting| setting.keys.iter().any(is_key))
    }
}

/// Judges `key=value`.
pub(super) fn assign(machine: &mut Machine<'_>, setting: &Arg, world: &World) {
    let start = setting.text.known_start();
    if let Some((key, _)) = start.split_once('=') {
        let value = Arg::new(setting.text.skip(key.len() + 1), setting.span);
        set(machine, key, &value, world);
    }
}

/// Judges a key that gets a value.
pub(super) fn set(machine: &mut Machine<'_>, key: &str, value: &Arg, world: &World) {
    let Some(setting) = Setting::of(key) else { return };
    let Some(text) = value.text.as_known() else {
        if setting.must_be_decided {
            let reason = format!("The text does not decide what {key} makes git run.");
            machine.state(RunHidden, reason, value.span, Some(value.text.display()));
        }
        return;
    };

    match setting.value {
        SettingValue::Permission => {
            let reason = format!("{key} lets git run or read something else.");
            machine.state(RunHidden, reason, value.span, Some(text));
        }
        SettingValue::Hooks => {
            let is_outside = text.starts_with(['/', '~']) || text.starts_with("..");
            if is_outside && text != "/dev/null" {
                let reason = format!("{key} makes git run hooks from another place.");
                machine.state(RunHidden, reason, value.span, Some(text));
            }
        }
        SettingValue::CommandBehindBang | SettingValue::ToolBehindBang if !text.starts_with('!') => {}
        _ => runs(machine, key, setting, &text, value, world),
    }
}

/// Judges a value that is a command.
fn runs(machine: &mut Machine<'_>, key: &str, setting: &Setting, text: &str, value: &Arg, world: &World) {
    let command = text.trim_start_matches('!').trim();
    let program = command.split_whitespace().next().unwrap_or_default();
    if setting.except.contains(&program) {
        return;
    }
    machine.script(command, world.clone(), &Rc::new(Flow::empty()), value.span);

    let is_tool = matches!(setting.value, SettingValue::Tool | SettingValue::ToolBehindBang);
    let is_bare = !program.contains('/') && !command.contains(['|', ';', '&', '$', '`', '<', '>']);
    let suspicion = suspicious_helper(command);
    if is_bare && (USUAL.contains(&program) || is_tool && suspicion.is_none()) {
        return;
    }
    let reason = suspicion.unwrap_or_else(|| format!("{key} makes git run `{command}`."));
    machine.state(RunHidden, reason, value.span, Some(text.to_owned()));
}
