//! Commands that are known to wait for a person.

use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::value::Flow;

/// Programs that take over the terminal, with what to do instead.
const FULL_SCREEN: &[(&[&str], &str)] = &[
    (
        &["vim", "vi", "nvim", "nano", "emacs", "pico", "micro", "hx", "joe", "ed"],
        "it waits for somebody to edit; write the file with a here document or `sed -i`",
    ),
    (&["less", "more", "most"], "it waits for keys; use `cat`, `head` or `sed -n`"),
    (&["top", "htop", "btop", "atop", "iotop", "nload", "glances"], "it never ends by itself; use `top -bn1` or `ps`"),
    (&["man", "info"], "it may open a pager; use `man … | cat`"),
    (&["visudo", "vipw", "sudoedit"], "it opens an editor"),
    (&["passwd", "chsh"], "it asks for a password"),
    (
        &[
            "telnet", "ftp", "sftp", "mutt", "lynx", "tig", "lazygit", "ranger", "mc", "ncdu", "fzf", "dialog",
            "whiptail",
        ],
        "it waits for somebody to type",
    ),
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
            "git" if has(&["rebase"]) && has(&["-i", "--interactive"]) => {
                "it opens an editor; set GIT_SEQUENCE_EDITOR, or use `git rebase --onto`"
            }
            "git"
                if has(&["add", "checkout", "reset", "stash", "commit"])
                    && has(&["-p", "--patch", "-i", "--interactive"]) =>
            {
                "it asks about each change; name the files instead"
            }
            "git"
                if call.args.first().is_some_and(|arg| arg.text.is("commit"))
                    && !call.args.iter().any(|arg| {
                        [
                            "-m",
                            "-am",
                            "-F",
                            "-C",
                            "--message",
                            "--file",
                            "--no-edit",
                            "--fixup",
                            "--reuse-message",
                            "--dry-run",
                            "-qm",
                            "-sm",
                        ]
                        .iter()
                        .any(|option| arg.text.known_start().starts_with(option))
                    }) =>
            {
                "without -m it opens an editor"
            }
            "apt" | "apt-get" | "dnf" | "yum"
                if has(&["install", "remove", "upgrade", "dist-upgrade", "purge"])
                    && !has(&["-y", "--yes", "-qy", "-yq", "--assume-yes", "-qqy"]) =>
            {
                "it asks before it goes on; use -y"
            }
            "npm" if has(&["init"]) && !has(&["-y", "--yes"]) => "it asks questions; use -y",
            "npm" | "yarn" | "pnpm" if has(&["login", "adduser"]) => "it asks for a login",
            "gh" if has(&["login"]) && !has(&["--with-token"]) => "it asks for a login; use --with-token",
            "docker" if has(&["login"]) && !has(&["--password-stdin"]) => {
                "it asks for a password; use --password-stdin"
            }
            "psql" | "mysql" | "mongosh" | "sqlite3" | "redis-cli"
                if !fed
                    && call.args.iter().filter(|arg| !arg.text.known_start().starts_with('-')).count() < 2
                    && !has(&["-c", "-e", "--command", "--execute", "-f", "-l", "--list"])
                    && (name != "redis-cli" || call.args.is_empty()) =>
            {
                "without a statement it waits for some; give one with an option"
            }
            "fdisk" | "cfdisk" | "parted" | "gdisk" if !fed && !has(&["-l", "-s", "--script"]) => "it asks what to do",
            "crontab" if has(&["-e"]) => "it opens an editor",
            "tail" if has(&["-f", "-F", "--follow"]) => "with -f it never ends by itself; run it in the background",
            "ssh-keygen"
                if !has(&["-N", "-l", "-y", "-R", "-F", "-lf"])
                    && !call.args.iter().any(|arg| {
                        arg.text.known_start().starts_with("-N") || arg.text.known_start().starts_with("-l")
                    }) =>
            {
                "it asks for a passphrase; use -N ''"
            }
            "kubectl" if has(&["edit"]) => "it opens an editor; use patch or apply",
            "journalctl" if !has(&["--no-pager"]) && !fed && has(&["-f", "--follow"]) => {
                "with -f it never ends by itself"
            }
            _ => return,
        };
        self.waits_for_a_person(name, hint, call.span);
    }
}
