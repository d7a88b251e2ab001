//! Commands that are known to wait for a person.

use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::value::Flow;

/// Programs that take over the terminal, with what to do instead.
const FULL_SCREEN: &[(&[&str], &str)] = &[
    (
        &["vim", "vi", "nvim", "emacs", "ed"],
        "it waits for somebody to edit; write the file with a here document or `sed -i`",
    ),
    (&["man"], "it may open a pager; use `man … | cat`"),
    (&["visudo", "vipw"], "it opens an editor"),
    (&["passwd", "chsh"], "it asks for a password"),
];

impl Machine<'_> {
    /// Notes a hint if the program is known to wait for a person.
    pub(crate) fn may_wait(&mut self, call: &Call) {
        let name = call.name.as_str();
        let has = |words: &[&str]| call.args.iter().any(|arg| words.iter().any(|word| arg.text.is(word)));
        let fed = *call.input != Flow::empty();
        if let Some((_, hint)) = FULL_SCREEN.iter().find(|(names, _)| names.contains(&name)) {
            let batch =
                fed || has(&["-b", "-es", "-s", "--batch", "-E", "--version", "--help", "-bn1", "-c"])
                    || call.args.iter().any(|arg| {
                        arg.text.known_start().starts_with("-b") || arg.text.known_start().starts_with("-e")
                    });
            if !batch {
                self.waits_for_a_person(name, hint, call.span);
            }
            return;
        }
        let hint = match name {
            "apt" | "apt-get" | "dnf" | "yum"
                if has(&["install", "remove", "upgrade", "dist-upgrade", "purge"])
                    && !has(&["-y", "--yes", "-qy", "-yq", "--assume-yes", "-qqy"]) =>
            {
                "it asks before it goes on; use -y"
            }
            "fdisk" | "cfdisk" | "parted" | "gdisk" if !fed && !has(&["-l", "-s", "--script"]) => "it asks what to do",
            "crontab" if has(&["-e"]) => "it opens an editor",
            "journalctl" if !has(&["--no-pager"]) && !fed && has(&["-f", "--follow"]) => {
                "with -f it never ends by itself"
            }
            _ => return,
        };
        self.waits_for_a_person(name, hint, call.span);
    }
}
