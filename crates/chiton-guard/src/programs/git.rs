//! Git: what it runs, what it throws away, what it publishes.

use super::row::Program;
use crate::effect::Kind;
use std::rc::Rc;

use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels};
use crate::programs::options::{Grammar, Options};

/// Settings whose value is a command.
const COMMANDS: [&str; 22] = [
    "core.sshcommand",
    "core.pager",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.askpass",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.openpgp.program",
    "gpg.x509.program",
    "diff.external",
    "credential.helper",
    "web.browser",
    "interactive.difffilter",
    "uploadpack.packobjectshook",
    "gc.recentobjectshook",
    "sendemail.smtpserver",
    "help.browser",
    "init.templatedir",
    "core.worktree",
    "core.hookspath",
];
/// Names of helpers that come with git or with common tools.
const USUAL: [&str; 26] = [
    "",
    "cat",
    "less",
    "more",
    "true",
    "false",
    ":",
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "code",
    "store",
    "cache",
    "osxkeychain",
    "manager",
    "manager-core",
    "libsecret",
    "gpg",
    "gpg2",
    "ssh",
    "delta",
    "diff-so-fancy",
    "bat",
    "difft",
];

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    pub(crate) fn git_program(&mut self, call: &Call, world: &World) -> Option<Flow> {
        match call.name.as_str() {
            "git" | "yadm" | "dotfiles" => Some(self.git(call, world)),
            "hg" | "svn" => {
                let shown: Vec<String> = call.args.iter().map(|arg| arg.text.display()).collect();
                if shown.iter().any(|word| {
                    word.starts_with("alias.")
                        || word.starts_with("extensions.")
                        || word.contains("config-option=config:tunnels")
                }) {
                    self.state(
                        Kind::RunHidden,
                        "This setting makes it run another program.".to_owned(),
                        call.span,
                        None,
                    );
                }
                Some(Flow::unknown())
            }
            _ => None,
        }
    }

    fn git(&mut self, call: &Call, world: &World) -> Flow {
        let mut world = world.clone();
        let mut rest = call.args.iter();
        let mut verb = None;
        while let Some(arg) = rest.next() {
            let start = arg.text.known_start();
            match start.as_str() {
                "-c" | "--config-env" => {
                    if let Some(setting) = rest.next() {
                        self.git_setting(setting, &world);
                    }
                }
                "-C" => {
                    let directory = rest
                        .next()
                        .and_then(|arg| arg.text.as_known())
                        .and_then(|path| crate::machine::path::absolute(&path, world.cwd.as_deref()));
                    world.enter(directory);
                }
                "--git-dir" | "--work-tree" | "--namespace" => {
                    rest.next();
                }
                _ if start.starts_with("--exec-path=") => {
                    self.state(
                        Kind::RunHidden,
                        "git would take its own programs from another place.".to_owned(),
                        arg.span,
                        Some(start),
                    );
                }
                _ if start.starts_with("-c") && start.len() > 2 && !start.starts_with("--") => {
                    self.git_setting(&Arg::new(arg.text.skip(2), arg.span), &world);
                }
                _ if start.starts_with('-') => {}
                _ => {
                    verb = Some(arg.clone());
                    break;
                }
            }
        }
        let args: Vec<Arg> = rest.cloned().collect();
        let Some(verb) = verb.and_then(|arg| arg.text.as_known()) else { return Flow::labelled(Labels::PLAIN) };
        self.git_verb(&verb, &args, &world, call)
    }

    /// `key=value`: a value that is a command is judged as one.
    fn git_setting(&mut self, setting: &Arg, world: &World) {
        let start = setting.text.known_start();
        let Some((key, _)) = start.split_once('=') else { return };
        let value = Arg::new(setting.text.skip(key.len() + 1), setting.span);
        self.git_key(key, &value, world);
    }

    #[expect(clippy::case_sensitive_file_extension_comparisons, reason = "names are what they are on Linux")]
    fn git_key(&mut self, key: &str, value: &Arg, world: &World) {
        let lower = key.to_ascii_lowercase();
        let Some(text) = value.text.as_known() else {
            let risky =
                COMMANDS.contains(&lower.as_str()) && !matches!(lower.as_str(), "core.worktree" | "core.hookspath");
            if risky {
                let reason = format!("What {key} makes git run, the text does not decide.");
                self.state(Kind::RunHidden, reason, value.span, Some(value.text.display()));
            }
            return;
        };
        let shell_alias = lower.starts_with("alias.") && text.starts_with('!');
        let part = |prefix: &str, suffixes: &[&str]| {
            lower.starts_with(prefix) && suffixes.iter().any(|suffix| lower.ends_with(suffix))
        };
        let command = COMMANDS.contains(&lower.as_str())
            || part("credential.", &[".helper"])
            || part("filter.", &[".clean", ".smudge", ".process"])
            || part("diff.", &[".textconv", ".command"])
            || part("merge", &[".driver", ".cmd", ".path"])
            || part("difftool.", &[".cmd", ".path"])
            || part("pager.", &[""])
            || part("remote.", &[".uploadpack", ".receivepack", ".vcs"])
            || part("submodule.", &[".update"]) && text.starts_with('!')
            || part("trailer.", &[".command", ".cmd"])
            || shell_alias;
        if lower == "protocol.ext.allow" || lower.starts_with("include") && lower.ends_with(".path") {
            let reason = format!("{key} lets git run or read something else.");
            self.state(Kind::RunHidden, reason, value.span, Some(text));
            return;
        }
        if !command || matches!(lower.as_str(), "core.worktree") {
            return;
        }
        if matches!(lower.as_str(), "core.hookspath" | "init.templatedir") {
            let outside =
                text.starts_with('/') && text != "/dev/null" || text.starts_with('~') || text.starts_with("..");
            if outside {
                let reason = format!("{key} makes git run hooks from another place.");
                self.state(Kind::RunHidden, reason, value.span, Some(text));
            }
            return;
        }
        let inner = text.trim_start_matches('!').trim();
        let first = inner.split_whitespace().next().unwrap_or_default();
        if lower == "core.fsmonitor" && matches!(first, "true" | "false" | "0" | "1")
            || lower.starts_with("pager.") && matches!(first, "true" | "false")
        {
            return;
        }
        self.script(inner, world.clone(), &Rc::new(Flow::empty()), value.span);
        let bare = !first.contains('/') && !inner.contains(['|', ';', '&', '$', '`', '<', '>']);
        let suspicious = crate::programs::network::suspicious_helper(inner);
        let shown_by_person = lower.ends_with("editor") || lower.contains("tool.") || lower == "core.pager";
        let over_text = lower.starts_with("filter.") || lower.ends_with("textconv") || lower.starts_with("alias.");
        let usual = bare && (USUAL.contains(&first) || suspicious.is_none() && (shown_by_person || over_text));
        if let Some(reason) = suspicious.filter(|_| !usual) {
            self.state(Kind::RunHidden, reason, value.span, Some(text));
        } else if !usual {
            let reason = format!("{key} makes git run `{inner}`.");
            self.state(Kind::RunHidden, reason, value.span, Some(text));
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table of what programs do")]
    fn git_verb(&mut self, verb: &str, args: &[Arg], world: &World, call: &Call) -> Flow {
        let has = |words: &[&str]| args.iter().any(|arg| words.iter().any(|word| arg.text.is(word)));
        let starts = |prefixes: &[&str]| {
            args.iter().find(|arg| prefixes.iter().any(|prefix| arg.text.known_start().starts_with(prefix)))
        };
        let shell_option = |names: &[&str]| {
            let grammar = Grammar {
                short: if verb == "clone" { "cuxO" } else { "xO" },
                long: &[
                    "exec",
                    "upload-pack",
                    "receive-pack",
                    "tree-filter",
                    "index-filter",
                    "msg-filter",
                    "env-filter",
                    "commit-filter",
                    "parent-filter",
                    "tag-name-filter",
                    "extcmd",
                    "config",
                ],
                ..Grammar::default()
            };
            Options::read(args, &grammar).values(names).cloned().collect::<Vec<_>>()
        };
        if has(&["--help", "-h"]) {
            return Flow::labelled(Labels::PLAIN);
        }
        match verb {
            "config"
                if !has(&[
                    "--get",
                    "--get-all",
                    "--list",
                    "-l",
                    "--unset",
                    "--unset-all",
                    "--get-regexp",
                    "--show-origin",
                    "get",
                    "list",
                    "unset",
                ]) =>
            {
                let grammar = Grammar {
                    short: "f",
                    long: &["file", "blob", "type", "default", "comment", "value"],
                    ..Grammar::default()
                };
                let options = Options::read(args, &grammar);
                let operands: Vec<Arg> = options.operands.iter().filter(|arg| !arg.text.is("set")).cloned().collect();
                if let [key, value, ..] = operands.as_slice()
                    && let Some(key) = key.text.as_known()
                {
                    self.git_key(&key, value, world);
                }
            }
            "clone" | "fetch" | "pull" | "ls-remote" | "push" | "archive" | "remote" | "submodule" => {
                for program in shell_option(&["upload-pack", "receive-pack", "exec", "u"])
                    .into_iter()
                    .chain(starts(&["-u="]).cloned())
                {
                    let reason = "This option makes git run another program.".to_owned();
                    self.state(Kind::RunHidden, reason, program.span, Some(program.text.display()));
                    crate::programs::run_helper(self, &program, world);
                }
                for setting in shell_option(&["config", "c"]) {
                    self.git_setting(&setting, world);
                }
                if verb == "clone"
                    && let Some(template) = starts(&["--template="])
                {
                    self.git_key("init.templateDir", &Arg::new(template.text.skip(11), template.span), world);
                }
                if let Some(address) = starts(&["ext::", "fd::"]) {
                    let reason = "Such an address makes git run a command.".to_owned();
                    self.state(Kind::RunHidden, reason, address.span, Some(address.text.display()));
                    self.run_text(&Arg::new(address.text.skip(5), address.span), world.clone(), &call.input);
                }
                if verb == "submodule"
                    && let Some(at) = args.iter().position(|arg| arg.text.is("foreach"))
                {
                    let words: Vec<Arg> = args[at + 1..]
                        .iter()
                        .filter(|arg| !arg.text.is("--recursive") && !arg.text.is("--quiet"))
                        .cloned()
                        .collect();
                    self.words_or_text(&words, world, call);
                }
                if verb == "push" {
                    self.git_push(args, call);
                }
            }
            "bisect" if has(&["run"]) => {
                let at = args.iter().position(|arg| arg.text.is("run")).unwrap_or_default();
                self.run_words(call, args[at + 1..].to_vec(), world.clone());
            }
            "rebase" => {
                for text in shell_option(&["x", "exec"]) {
                    self.run_text(&text, world.clone(), &call.input);
                }
            }
            "filter-branch" | "filter-repo" => {
                for text in shell_option(&[
                    "tree-filter",
                    "index-filter",
                    "msg-filter",
                    "env-filter",
                    "commit-filter",
                    "parent-filter",
                    "tag-name-filter",
                ]) {
                    // The filters run in a scratch directory of their own.
                    let mut inside = world.clone();
                    inside.enter(Some("/tmp/\u{1}".to_owned()));
                    self.run_text(&text, inside, &call.input);
                }
                self.state(Kind::Publish, "This rewrites all of history.".to_owned(), call.span, None);
            }
            "difftool" => {
                for text in shell_option(&["x", "extcmd"]) {
                    crate::programs::run_helper(self, &text, world);
                }
            }
            "grep" => {
                if let Some(pager) = starts(&["-O", "--open-files-in-pager="]) {
                    let start = pager.text.known_start();
                    let skip = if start.starts_with("-O") { 2 } else { "--open-files-in-pager=".len() };
                    let program = Arg::new(pager.text.skip(skip), pager.span);
                    if !program.text.is_empty() {
                        crate::programs::run_helper(self, &program, world);
                    }
                }
            }
            "clean" => {
                let letters: String = args
                    .iter()
                    .map(|arg| arg.text.known_start())
                    .filter(|start| start.starts_with('-') && !start.starts_with("--"))
                    .collect();
                let forced = letters.contains('f') || has(&["--force"]);
                let dry = letters.contains('n') || has(&["--dry-run"]);
                let ignored = letters.contains('x') || letters.contains('X');
                if forced && !dry && ignored {
                    let reason =
                        "This deletes ignored files too, such as local settings, for which git has no copy.".to_owned();
                    self.state(Kind::Discard, reason, call.span, None);
                }
            }
            "stash" if has(&["clear"]) => {
                self.state(Kind::Discard, "This throws all stashed work away.".to_owned(), call.span, None);
            }
            "reflog" if has(&["expire", "delete"]) => {
                self.state(
                    Kind::Discard,
                    "Without the reflog lost commits cannot be found again.".to_owned(),
                    call.span,
                    None,
                );
            }
            "update-ref" if has(&["-d"]) => {
                self.state(Kind::Discard, "This deletes a reference directly.".to_owned(), call.span, None);
            }
            "ls-files" | "diff" | "status" | "ls-tree" | "check-ignore" | "show" | "grep-files" => {
                let cwd = world.cwd.clone();
                let names = matches!(verb, "ls-files" | "ls-tree" | "check-ignore")
                    || has(&["--name-only", "--name-status", "--porcelain", "-s", "--short"]);
                if let (true, Some(cwd)) = (names, cwd) {
                    return Flow { text: None, labels: Labels::default(), roots: vec![cwd] };
                }
            }
            "rev-parse" | "describe" | "merge-base" | "symbolic-ref" | "branch" | "rev-list" | "hash-object"
            | "tag" => {
                if has(&["--show-toplevel"]) {
                    return Flow::unknown();
                }
                return Flow::labelled(if has(&["--git-dir", "--show-cdup", "--git-path"]) {
                    Labels::UNKNOWN
                } else {
                    Labels::PLAIN
                });
            }
            _ => {}
        }
        Flow::unknown()
    }

    /// One word is a command line, several are a command.
    fn words_or_text(&mut self, words: &[Arg], world: &World, call: &Call) {
        match words {
            [only] => {
                self.run_text(only, world.clone(), &call.input);
            }
            _ => {
                self.run_words(call, words.to_vec(), world.clone());
            }
        }
    }

    fn git_push(&mut self, args: &[Arg], call: &Call) {
        let has = |words: &[&str]| args.iter().any(|arg| words.iter().any(|word| arg.text.is(word)));
        if has(&["-n", "--dry-run"]) {
            return;
        }
        let forced = args.iter().any(|arg| {
            let start = arg.text.known_start();
            start == "--force"
                || start == "--mirror"
                || start == "--prune"
                || start.starts_with('-') && !start.starts_with("--") && start.contains('f')
        });
        let plus = args.iter().any(|arg| arg.text.known_start().starts_with('+'));
        let lease = args.iter().any(|arg| arg.text.known_start().starts_with("--force-with-lease"));
        let deletes = has(&["--delete", "-d"])
            || args.iter().any(|arg| arg.text.known_start().starts_with(':') && arg.text.known_start().len() > 1);
        if (forced || plus) && !lease {
            let reason = "This may overwrite what others have pushed.".to_owned();
            self.state(Kind::Publish, reason, call.span, None);
        } else if deletes {
            self.state(Kind::Publish, "This deletes a branch or tag that others may use.".to_owned(), call.span, None);
        }
    }
}
