//! Programs that delete, write, move and change files.

use super::row::Program;
use crate::effect::{Depth, Effect, Kind, Writing};
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::path::{self, Target};
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Text};
use crate::programs::options::{Grammar, Options};

const fn grammar(short: &'static str, long: &'static [&'static str], flags: &'static [&'static str]) -> Grammar {
    Grammar { short, attached: "", long, flags, stops: false, single_dash: false }
}

const RM: Grammar = grammar(
    "",
    &[],
    &["recursive", "force", "interactive", "dir", "verbose", "one-file-system", "no-preserve-root", "preserve-root"],
);
const COPY: Grammar = grammar(
    "tSgmo",
    &["target-directory", "suffix", "group", "mode", "owner"],
    &[
        "recursive",
        "archive",
        "force",
        "backup",
        "no-target-directory",
        "parents",
        "remove-destination",
        "symbolic",
        "directory",
    ],
);
const RIGHTS: Grammar = grammar(
    "",
    &["reference", "from"],
    &["recursive", "verbose", "changes", "silent", "quiet", "no-dereference", "preserve-root", "no-preserve-root"],
);

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    #[expect(clippy::too_many_lines, reason = "a table of what programs do")]
    pub(crate) fn file_program(&mut self, call: &Call, world: &World) -> Option<Flow> {
        match call.name.as_str() {
            "rm" | "grm" | "srm" | "rimraf" | "del-cli" | "trash" | "trash-put" | "rmtree" => self.rm(call, world),
            "unlink" => {
                for arg in &call.args {
                    self.deletes("This would delete", &arg.text, Depth::Entry, world, arg.span);
                }
            }
            "shred" | "wipe" => {
                let options =
                    Options::read(&call.args, &grammar("nsR", &["iterations", "size", "random-source", "remove"], &[]));
                for arg in &options.operands {
                    self.writes("This would overwrite", &arg.text, Writing::Replaces, world, arg.span);
                    let all = call.name == "wipe" || arg.text.has_glob();
                    self.deletes("This would overwrite", &arg.text, Depth::tree_if(all), world, arg.span);
                }
            }
            "mv" | "gmv" | "rename" => self.moves(call, world),
            "cp" | "gcp" | "install" | "ginstall" => self.copies(call, world),
            "ln" | "gln" => self.links(call, world),
            "chmod" | "chown" | "chgrp" | "gchmod" | "gchown" | "setfacl" | "chattr" | "chcon" => {
                self.rights(call, world);
            }
            "setcap" => self.state(Kind::SetUserId, "This gives a program rights of root.".to_owned(), call.span, None),
            "tee" => {
                let options =
                    Options::read(&call.args, &grammar("", &["output-error"], &["append", "ignore-interrupts"]));
                let append = options.has(&["a", "append"]);
                for arg in &options.operands {
                    self.writes("This would write to", &arg.text, Writing::adding_if(append), world, arg.span);
                    self.remember(&arg.text, (*call.input).clone(), append, world);
                }
                return Some((*call.input).clone());
            }
            "sponge" => {
                for arg in &call.args {
                    self.writes("This would write to", &arg.text, Writing::Replaces, world, arg.span);
                }
            }
            "truncate" => {
                let options =
                    Options::read(&call.args, &grammar("sro", &["size", "reference"], &["no-create", "io-blocks"]));
                for arg in &options.operands {
                    self.writes("This would truncate", &arg.text, Writing::Replaces, world, arg.span);
                }
            }
            "fallocate" => {
                let options = Options::read(&call.args, &grammar("lo", &["length", "offset"], &[]));
                for arg in &options.operands {
                    self.writes("This would write to", &arg.text, Writing::Replaces, world, arg.span);
                }
            }
            "touch" | "mkdir" | "mkfifo" => {
                let options = Options::read(&call.args, &grammar("mdrt", &["mode", "date", "reference", "time"], &[]));
                for arg in options.operands.iter().filter(|_| call.name == "touch") {
                    self.writes("This would write to", &arg.text, Writing::Adds, world, arg.span);
                }
            }
            "dd" | "gdd" | "dcfldd" | "dc3dd" => self.dd(call, world),
            "rsync" => self.rsync(call, world),
            "rclone" => {
                if call.args.first().is_some_and(|arg| ["purge", "delete", "sync"].iter().any(|verb| arg.text.is(verb)))
                {
                    self.state(Kind::DropRemote, "This deletes data on a remote.".to_owned(), call.span, None);
                }
                return Some(Flow::unknown());
            }
            "tar" | "bsdtar" | "gtar" => return Some(self.tar(call, world)),
            "unzip" | "7z" | "7za" => {
                let options = Options::read(&call.args, &Grammar { short: "dx", attached: "o", ..Grammar::default() });
                for directory in options.values(&["d", "o"]).cloned().collect::<Vec<_>>() {
                    self.writes(
                        "This would unpack into",
                        &below(&directory.text),
                        Writing::Replaces,
                        world,
                        directory.span,
                    );
                }
            }
            "zip" | "gzip" | "bzip2" | "xz" | "zstd" | "7zr" => {
                let labels = self.labels_of(&call.args, world);
                if let (true, Some(archive)) =
                    (call.name == "zip", call.args.iter().find(|arg| !arg.text.known_start().starts_with('-')))
                {
                    self.remember(&archive.text, Flow::labelled(labels.with(Labels::FILE)), false, world);
                }
                if call.name == "zip"
                    && call.args.iter().any(|arg| {
                        arg.text.known_start().starts_with("-TT")
                            || arg.text.known_start().starts_with("--unzip-command")
                    })
                {
                    self.state(Kind::RunHidden, "This option of zip runs another program.".to_owned(), call.span, None);
                }
                return Some(Flow::labelled(labels.with(call.input.labels).with(Labels::UNKNOWN)));
            }
            "split" | "csplit" => {
                let options = Options::read(
                    &call.args,
                    &grammar("abClnt", &["filter", "suffix-length", "bytes", "lines", "number"], &[]),
                );
                if let Some(filter) = options.value(&["filter"]).cloned() {
                    self.run_text(&filter, world.clone(), &call.input);
                }
            }
            "patch" => {
                let options =
                    Options::read(&call.args, &grammar("BdDFgiopr", &["input", "output", "directory", "strip"], &[]));
                for file in
                    options.values(&["o", "output"]).chain(options.operands.first()).cloned().collect::<Vec<_>>()
                {
                    self.writes("This would write to", &file.text, Writing::Replaces, world, file.span);
                }
            }
            "sed" | "gsed" => return Some(self.sed(call, world)),
            _ => return None,
        }
        Some(Flow::empty())
    }

    fn rm(&mut self, call: &Call, world: &World) {
        let options = Options::read(&call.args, &RM);
        let recursive = options.has(&["r", "R", "recursive"])
            || matches!(call.name.as_str(), "rimraf" | "del-cli" | "trash" | "trash-put" | "rmtree");
        for arg in &options.operands {
            let doing = if recursive { "This would delete with everything in it" } else { "This would delete" };
            self.deletes(doing, &arg.text, Depth::tree_if(recursive), world, arg.span);
        }
    }

    fn moves(&mut self, call: &Call, world: &World) {
        let options = Options::read(&call.args, &COPY);
        let (sources, target) = split_target(&options);
        let discards = target.as_ref().is_some_and(|target| target.text.is("/dev/null"));
        for source in &sources {
            let doing = if discards { "This would throw away" } else { "This would move away" };
            self.deletes(doing, &source.text, Depth::Tree, world, source.span);
            if discards {
                let reason =
                    format!("Moving {} to /dev/null destroys it, and as root the device too.", source.text.display());
                self.state(Kind::DeleteUnknown, reason, source.span, Some(source.text.display()));
            }
        }
        if let Some(target) = target {
            self.lands(&sources, &target, world);
        }
    }

    /// What arrives at `target`: judged as a write to it, and to the files in it.
    fn lands(&mut self, sources: &[Arg], target: &Arg, world: &World) {
        self.writes("This would write to", &target.text, Writing::Replaces, world, target.span);
        for source in sources {
            let flow = self.read(&source.text, world);
            if flow != Flow::labelled(Labels::FILE) {
                self.remember(&target.text, flow, false, world);
            }
            let name = source.text.known_end();
            let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
            if !name.is_empty() {
                let mut inside = target.text.clone();
                inside.push(crate::machine::value::Piece::Known(format!("/{name}")));
                self.writes("This would write to", &inside, Writing::Replaces, world, target.span);
            }
        }
    }

    fn copies(&mut self, call: &Call, world: &World) {
        let options = Options::read(&call.args, &COPY);
        if call.name.ends_with("install") {
            if let Some(mode) = options.value(&["m", "mode"])
                && sets_user_id(&mode.text)
            {
                self.state(
                    Kind::SetUserId,
                    "This makes a program run with the rights of its owner.".to_owned(),
                    mode.span,
                    None,
                );
            }
            if options.has(&["d", "directory"]) {
                return;
            }
        }
        let (sources, target) = split_target(&options);
        if let Some(target) = target {
            self.lands(&sources, &target, world);
        }
    }

    fn links(&mut self, call: &Call, world: &World) {
        let options = Options::read(&call.args, &COPY);
        let (sources, target) = split_target(&options);
        let Some(target) = target else { return };
        let replaces = options.has(&["f", "force"]);
        self.writes("This would put a link at", &target.text, Writing::adding_if(!replaces), world, target.span);
        let inside = target.text.as_known().and_then(|known| path::absolute(&known, world.cwd.as_deref()));
        if let Some(inside) = inside
            && sources.iter().any(|source| source.text.is("/dev/null"))
            && crate::protected::inside_home(&inside, &self.places().home).is_some_and(crate::protected::is_history)
        {
            self.state(
                Kind::EraseLog,
                "This makes the shell forget its history.".to_owned(),
                target.span,
                Some(inside),
            );
        }
    }

    fn rights(&mut self, call: &Call, world: &World) {
        let short = if call.name == "setfacl" { "mxMXb" } else { "" };
        let options = Options::read(&call.args, &Grammar { short, ..RIGHTS });
        let recursive = options.has(&["R", "recursive"]);
        let spared = usize::from(!options.has(&["reference"]) && call.name != "setfacl");
        // `chmod -x file`, `chmod -rwx file`: what looks like options is a mode.
        let mode_in_options = call.name.ends_with("chmod")
            && options.names().any(|name| "rwxXstugo".contains(name))
            && !options.has(&["reference"]);
        let spared = if mode_in_options { 0 } else { spared };
        if call.name.ends_with("chmod")
            && let Some(mode) = options.operands.first().filter(|_| spared == 1)
            && sets_user_id(&mode.text)
        {
            self.state(
                Kind::SetUserId,
                "This makes a program run with the rights of its owner.".to_owned(),
                mode.span,
                Some(mode.text.display()),
            );
        }
        let skip = if call.name == "chattr" {
            call.args.iter().filter(|arg| arg.text.known_start().starts_with(['+', '='])).count().min(1)
        } else {
            spared
        };
        for arg in options.operands.iter().skip(skip) {
            let doing = "This would change the rights of";
            self.does(Effect::Rights { what: &arg.text, depth: Depth::tree_if(recursive), doing }, world, arg.span);
        }
    }

    fn dd(&mut self, call: &Call, world: &World) {
        for arg in &call.args {
            if arg.text.known_start().starts_with("of=") {
                let file = arg.text.skip(3);
                self.writes("This would overwrite", &file, Writing::Replaces, world, arg.span);
                if path::targets(&file, world.cwd.as_deref()).contains(&Target::Anything) {
                    let reason = format!("Which file or device {} is, the text does not decide.", file.display());
                    self.state(Kind::WriteUnknown, reason, arg.span, Some(file.display()));
                }
            }
        }
    }

    fn rsync(&mut self, call: &Call, world: &World) {
        let grammar = Grammar {
            short: "eBfTM",
            long: &[
                "rsh",
                "rsync-path",
                "exclude",
                "include",
                "filter",
                "files-from",
                "exclude-from",
                "include-from",
                "port",
                "password-file",
                "log-file",
                "temp-dir",
                "backup-dir",
                "bwlimit",
                "timeout",
                "chmod",
                "chown",
            ],
            flags: &[
                "delete",
                "delete-after",
                "delete-before",
                "delete-during",
                "delete-excluded",
                "remove-source-files",
                "archive",
                "recursive",
                "dry-run",
            ],
            ..Grammar::default()
        };
        let options = Options::read(&call.args, &grammar);
        for program in options.values(&["e", "rsh", "rsync-path"]).cloned().collect::<Vec<_>>() {
            crate::programs::run_helper(self, &program, world);
        }
        if options.has(&["n", "dry-run"]) {
            return;
        }
        let Some((target, sources)) = options.operands.split_last() else { return };
        if options.names().any(|name| name.starts_with("delete")) {
            self.deletes("With --delete this would empty", &target.text, Depth::Tree, world, target.span);
        }
        let remote =
            |arg: &Arg| arg.text.known_start().find(':').is_some_and(|at| !arg.text.known_start()[..at].contains('/'));
        if remote(target) {
            crate::programs::network::sends(self, sources, world, call);
        } else {
            self.writes("This would write to", &target.text, Writing::Replaces, world, target.span);
        }
        if options.has(&["remove-source-files"]) {
            for source in sources {
                self.deletes("This would move away", &source.text, Depth::Tree, world, source.span);
            }
        }
    }

    fn tar(&mut self, call: &Call, world: &World) -> Flow {
        let mut args = call.args.clone();
        // `tar xzf`: the first word may do without its dash.
        if let Some(first) = args.first_mut() {
            let start = first.text.known_start();
            if !start.starts_with('-') && start.bytes().all(|byte| byte.is_ascii_alphabetic()) && !start.is_empty() {
                *first = Arg::known(format!("-{start}"), first.span);
            }
        }
        let grammar = Grammar {
            short: "fCIXTHbKNVgFL",
            long: &[
                "file",
                "directory",
                "use-compress-program",
                "to-command",
                "checkpoint-action",
                "info-script",
                "new-volume-script",
                "rsh-command",
                "exclude",
                "exclude-from",
                "files-from",
                "transform",
                "strip-components",
                "owner",
                "group",
                "mode",
                "format",
            ],
            flags: &["extract", "create", "list", "checkpoint", "gzip", "verbose", "remove-files"],
            ..Grammar::default()
        };
        let options = Options::read(&args, &grammar);
        for action in options
            .values(&["checkpoint-action", "to-command", "info-script", "new-volume-script", "F", "rsh-command"])
            .cloned()
            .collect::<Vec<_>>()
        {
            let start = action.text.known_start();
            if start.starts_with("exec=") || !options.has(&["checkpoint-action"]) {
                let skip = if start.starts_with("exec=") { 5 } else { 0 };
                let reason = "This option of tar runs another program.".to_owned();
                self.state(Kind::RunHidden, reason, action.span, Some(action.text.display()));
                self.run_text(&Arg::new(action.text.skip(skip), action.span), world.clone(), &call.input);
            }
        }
        if let Some(program) = options.value(&["I", "use-compress-program"]).cloned() {
            crate::programs::run_helper(self, &program, world);
        }
        let archive = options.value(&["f", "file"]).cloned();
        if options.has(&["x", "extract", "get"]) {
            let directory = options.value(&["C", "directory"]).cloned();
            let directory = directory.unwrap_or_else(|| Arg::known(".", call.span));
            self.writes("This would unpack into", &below(&directory.text), Writing::Replaces, world, directory.span);
            return Flow::unknown();
        }
        let mut flow = Flow::labelled(self.labels_of(&options.operands, world).with(Labels::UNKNOWN));
        if options.has(&["remove-files"]) {
            for operand in &options.operands {
                self.deletes("This would delete after packing", &operand.text, Depth::Tree, world, operand.span);
            }
        }
        if options.has(&["c", "create"])
            && let Some(archive) = archive
            && !archive.text.is("-")
        {
            self.writes("This would write to", &archive.text, Writing::Replaces, world, archive.span);
            self.remember(&archive.text, flow.clone(), false, world);
            flow = Flow::empty();
        }
        flow
    }

    fn sed(&mut self, call: &Call, world: &World) -> Flow {
        let grammar = Grammar {
            short: "efl",
            attached: "iE",
            long: &["expression", "file", "line-length"],
            flags: &["in-place", "quiet", "silent", "regexp-extended", "null-data"],
            ..Grammar::default()
        };
        let args: Vec<Arg> = call
            .args
            .iter()
            .filter(|arg| !matches!(arg.text.as_known().as_deref(), Some("-E" | "-r" | "-n" | "-s" | "-u" | "-z")))
            .cloned()
            .collect();
        let options = Options::read(&args, &grammar);
        let in_place = options.has(&["i", "in-place"]);
        let mut scripts: Vec<Arg> = options.values(&["e", "expression"]).cloned().collect();
        let mut files = options.operands.clone();
        if scripts.is_empty() && !options.has(&["f", "file"]) && !files.is_empty() {
            scripts.push(files.remove(0));
        }
        for script in &scripts {
            self.sed_script(script, world, call);
        }
        if in_place {
            for file in &files {
                self.writes("This would change", &file.text, Writing::Replaces, world, file.span);
            }
            return Flow::empty();
        }
        let labels = if files.is_empty() { call.input.labels } else { self.labels_of(&files, world) };
        let derived = if call.input.text.is_some() && files.is_empty() { Labels::DECODED } else { Labels::UNKNOWN };
        let kept = if files.is_empty() { call.input.roots.clone() } else { Vec::new() };
        if kept.is_empty() { Flow::labelled(labels.with(derived)) } else { Flow { text: None, labels, roots: kept } }
    }

    /// `e` runs commands, `w` writes files.
    fn sed_script(&mut self, script: &Arg, world: &World, call: &Call) {
        let Some(text) = script.text.as_literal() else { return };
        for command in crate::snippet::scan::sed_commands(&text) {
            match command {
                crate::snippet::scan::SedCommand::Run(inner) => {
                    let reason = "The `e` of sed runs commands.".to_owned();
                    self.state(Kind::RunHidden, reason, script.span, None);
                    if !inner.is_empty() {
                        self.script(&inner, world.clone(), &call.input, script.span);
                    }
                }
                crate::snippet::scan::SedCommand::Write(file) => {
                    self.writes("This would write to", &Text::known(file), Writing::Replaces, world, script.span);
                }
            }
        }
    }
}

/// Something in the directory that `text` names.
fn below(text: &Text) -> Text {
    let mut inside = text.clone();
    // Into the root means into the directories of the system.
    if text.as_known().is_some_and(|known| known.trim_matches('/').is_empty() && known.starts_with('/')) {
        return Text::known("/usr/\u{1}");
    }
    inside.push(crate::machine::value::Piece::Known("/\u{1}".to_owned()));
    inside
}

fn split_target(options: &Options) -> (Vec<Arg>, Option<Arg>) {
    if let Some(directory) = options.value(&["t", "target-directory"]) {
        return (options.operands.clone(), Some(directory.clone()));
    }
    let mut sources = options.operands.clone();
    let target = if sources.len() > 1 { sources.pop() } else { None };
    (sources, target)
}

fn sets_user_id(mode: &Text) -> bool {
    let Some(mode) = mode.as_known() else { return false };
    if mode.bytes().all(|byte| byte.is_ascii_digit()) {
        let bits = u32::from_str_radix(&mode, 8).unwrap_or_default();
        return bits & 0o6000 != 0 && mode.trim_start_matches('0').len() > 3;
    }
    mode.split(',')
        .any(|clause| clause.find(['+', '=']).is_some_and(|at| clause[at..].contains('s') && !clause.starts_with('o')))
}
