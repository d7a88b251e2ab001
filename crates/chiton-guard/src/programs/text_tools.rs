//! What programs print, as far as the text decides it: their output may be run, deleted or sent by the next one.

use super::row::Program;
use crate::effect::{Effect, Kind, Writing};
use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::path;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Piece, Text, What};
use crate::programs::options::{Grammar, Options};

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    /// Programs that only print; `printf -v` also assigns.
    pub(crate) fn prints(&mut self, call: &Call, world: &mut World) -> Option<Flow> {
        let args = &call.args;
        Some(match call.name.as_str() {
            "echo" => echo(args),
            "printf" => {
                if args.first().is_some_and(|arg| arg.text.is("-v")) && args.len() >= 3 {
                    let text = printf(&args[2..]);
                    let value = text.text.map_or_else(|| Text::variable("printf"), Text::known);
                    if let Some(name) = args[1].text.as_known() {
                        self.judge_variable(&name, &value, args[1].span, crate::machine::Lasting::Stays);
                        world.set_text(&name, value);
                    }
                    return Some(Flow::empty());
                }
                printf(args.get(usize::from(args.first().is_some_and(|arg| arg.text.is("--")))..).unwrap_or_default())
            }
            "pwd" => world.cwd.clone().map_or_else(Flow::unknown, |cwd| Flow::known(format!("{cwd}\n"))),
            "whoami" | "logname" => Flow::known(format!("{}\n", self.context.user)),
            "which" | "type" | "whereis" => match args.iter().rfind(|arg| !arg.text.known_start().starts_with('-')) {
                Some(arg) => arg.text.to_flow(),
                None => Flow::empty(),
            },
            "basename" | "dirname" => path_part(call),
            "realpath" | "readlink" | "grealpath" | "greadlink" => {
                let operand = args.iter().rfind(|arg| !arg.text.known_start().starts_with('-'));
                let known = operand
                    .and_then(|arg| arg.text.as_known())
                    .and_then(|known| path::absolute(&known, world.cwd.as_deref()));
                match (known, operand) {
                    (Some(path), _) => Flow::known(path + "\n"),
                    (None, Some(arg)) if !arg.text.0.is_empty() => flow_like(&arg.text),
                    _ => Flow::unknown(),
                }
            }
            "mktemp" | "tempfile" => Flow::labelled(Labels::TEMPORARY),
            "date" | "nproc" | "uname" | "arch" | "hostname" | "id" | "tty" | "uuidgen" | "cal" | "wc" | "md5sum"
            | "sha1sum" | "sha256sum" | "sha512sum" | "b2sum" | "cksum" | "sum" | "stat" | "getconf" | "tput"
            | "stty" | "sleep" | "df" | "du" | "free" | "uptime" | "file" | "locale" | "groups" | "expr" | "bc"
            | "factor" | "shuf" | "numfmt" | "cmp" | "diff" | "comm" | "column" | "nl" | "lscpu" | "lsb_release"
            | "printenv" | "seq" => self.plain_output(call, world),
            "cat" | "tac" | "head" | "tail" | "less" | "more" | "zcat" | "gzcat" | "bat" | "batcat" | "strings"
            | "pv" | "buffer" => self.passes_on(call, world),
            "base64" | "base32" | "basenc" | "xxd" | "uudecode" | "openssl" | "gpg" | "gpg2" | "gunzip" | "zstdcat"
            | "xzcat" | "bzcat" | "rev" | "tr" | "hexdump" | "od" | "age" | "ascii85" => self.decodes(call, world),
            "yes" if args.is_empty() => Flow::known("y\n"),
            "yes" => Flow::unknown(),
            _ => return None,
        })
    }

    fn plain_output(&mut self, call: &Call, world: &World) -> Flow {
        match call.name.as_str() {
            "id" if call.args.iter().any(|arg| {
                arg.text.known_start().starts_with('-')
                    && arg.text.known_start().contains('n')
                    && arg.text.known_start().contains('u')
            }) =>
            {
                return Flow::known(format!("{}\n", self.context.user));
            }
            "printenv" => {
                let Some(name) = call.args.first().and_then(|arg| arg.text.as_known()) else {
                    return Flow::labelled(Labels::SECRET);
                };
                return match world.get(&name, self.context) {
                    crate::machine::state::Value::Scalar(text) => text.to_flow(),
                    _ => Flow::empty(),
                };
            }
            "seq" => {
                let numbers: Option<Vec<i64>> = call.args.iter().map(|arg| arg.text.as_known()?.parse().ok()).collect();
                if let Some(numbers) = numbers {
                    let (low, step, high) = match numbers.as_slice() {
                        [high] => (1, 1, *high),
                        [low, high] => (*low, 1, *high),
                        [low, step, high] => (*low, *step, *high),
                        _ => return Flow::labelled(Labels::PLAIN),
                    };
                    if step > 0 && high.saturating_sub(low) / step < 64 && high >= low {
                        let mut all = String::new();
                        let mut at = low;
                        while at <= high {
                            all.push_str(&format!("{at}\n"));
                            at += step;
                        }
                        return Flow::known(all);
                    }
                }
            }
            "file" | "diff" | "comm" | "cmp" | "nl" | "column" | "shuf" | "wc" => {
                let labels = self.labels_of(&call.args, world);
                let files = call.args.iter().any(|arg| !arg.text.known_start().starts_with('-'));
                if matches!(call.name.as_str(), "comm" | "nl" | "column" | "shuf") {
                    return if files { Flow::labelled(labels.with(Labels::UNKNOWN)) } else { filtered(call) };
                }
                return Flow::labelled(Labels::PLAIN);
            }
            _ => {}
        }
        Flow::labelled(Labels::PLAIN)
    }

    /// `cat` and its like: files, or what comes in.
    fn passes_on(&mut self, call: &Call, world: &World) -> Flow {
        let grammar = match call.name.as_str() {
            "head" | "tail" => {
                Grammar { short: "ncs", long: &["lines", "bytes", "sleep-interval", "pid"], ..Grammar::default() }
            }
            "bat" | "batcat" => {
                Grammar { short: "lrHp", long: &["language", "line-range", "style", "pager"], ..Grammar::default() }
            }
            _ => Grammar::default(),
        };
        let options = Options::read(&call.args, &grammar);
        let partial = matches!(call.name.as_str(), "head" | "tail" | "strings" | "tac");
        if options.operands.is_empty()
            || options.operands.iter().all(|arg| crate::programs::builtins::is_standard_input(&arg.text))
        {
            let mut flow = (*call.input).clone();
            if partial
                && let Some(text) = &flow.text
                && text.lines().count() > 1
                && call.name != "strings"
            {
                // Some of the lines: all of them are looked at.
                flow.text = Some(text.clone());
            }
            return flow;
        }
        let mut flow = Flow::empty();
        for arg in &options.operands {
            self.private(arg, world, &call.name);
            let next = if crate::programs::builtins::is_standard_input(&arg.text) {
                (*call.input).clone()
            } else {
                self.read(&arg.text, world)
            };
            flow = flow.then(&next);
        }
        flow
    }

    /// Private keys and password files are not printed without asking.
    pub(crate) fn private(&mut self, arg: &Arg, world: &World, program: &str) {
        self.does(Effect::Print { what: &arg.text, program }, world, arg.span);
    }

    /// Programs that turn one text into another.
    fn decodes(&mut self, call: &Call, world: &World) -> Flow {
        let name = call.name.as_str();
        let has = |words: &[&str]| {
            call.args.iter().any(|arg| words.iter().any(|word| arg.text.known_start().starts_with(word)))
        };
        let files: Vec<Arg> =
            call.args.iter().filter(|arg| !arg.text.known_start().starts_with('-')).cloned().collect();
        if name == "openssl"
            && files.first().is_some_and(|arg| ["s_client", "s_server"].iter().any(|verb| arg.text.is(verb)))
        {
            if call.input.labels.has(Labels::SECRET) {
                self.exfiltrates(call.span);
            }
            if call.input.labels.has(Labels::SHELL) {
                self.remote_shell(call.span);
            }
            return Flow::labelled(Labels::DOWNLOADED);
        }
        if has(&["--export-secret"]) {
            return Flow::labelled(Labels::SECRET);
        }
        let source = if matches!(name, "base64" | "base32" | "xxd" | "rev") && !files.is_empty() {
            let mut flow = Flow::empty();
            for file in &files {
                self.private(file, world, name);
                flow = flow.then(&self.read(&file.text, world));
            }
            flow
        } else {
            (*call.input).clone()
        };
        let decoded = match (name, &source.text) {
            ("base64", Some(text)) if has(&["-d", "--d", "-D", "-i"]) => base64(text),
            ("xxd", Some(text)) if has(&["-r"]) => hex(text),
            ("rev", Some(text)) => {
                Some(text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect())
            }
            ("tr", Some(text)) => translate(&call.args, text),
            _ => None,
        };
        if let Some(text) = decoded {
            return Flow { text: Some(text), ..source };
        }
        let plain = match name {
            "base64" | "base32" => !has(&["-d", "--d", "-D"]),
            "xxd" | "od" | "hexdump" => !has(&["-r"]),
            "tr" => source.text.is_none(),
            "openssl" => !files.first().is_some_and(|arg| {
                ["enc", "base64", "aes-256-cbc", "rsautl", "pkeyutl", "smime", "cms"]
                    .iter()
                    .any(|verb| arg.text.is(verb))
            }),
            _ => false,
        };
        let mut flow = Flow { text: None, ..source };
        flow.labels = flow.labels.with(if plain { Labels::UNKNOWN } else { Labels::DECODED });
        flow
    }

    /// Programs that search and arrange text.
    #[expect(clippy::too_many_lines, reason = "a table of what programs do")]
    pub(crate) fn text_program(&mut self, call: &Call, world: &World) -> Option<Flow> {
        match call.name.as_str() {
            "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "zgrep" | "ugrep" => Some(self.searches(call, world)),
            "sort" => {
                let options = Options::read(
                    &call.args,
                    &Grammar {
                        short: "kotTSP",
                        long: &[
                            "key",
                            "output",
                            "field-separator",
                            "temporary-directory",
                            "buffer-size",
                            "compress-program",
                            "parallel",
                        ],
                        ..Grammar::default()
                    },
                );
                if let Some(program) = options.value(&["compress-program"]).cloned() {
                    crate::programs::run_helper(self, &program, world);
                }
                if let Some(file) = options.value(&["o", "output"]).cloned() {
                    self.writes("This would write to", &file.text, Writing::Replaces, world, file.span);
                }
                Some(self.of_files(call, &options.operands, world))
            }
            "uniq" | "cut" | "paste" | "fold" | "fmt" | "expand" | "unexpand" | "join" | "jq" | "yq" | "xmllint"
            | "csvcut" | "ts" | "tsort" | "iconv" | "dos2unix" | "unix2dos" | "envsubst" | "sd" => {
                let options = Options::read(&call.args, &Grammar { short: "dfcbsw", ..Grammar::default() });
                Some(self.of_files(call, &options.operands, world))
            }
            "ls" | "tree" | "exa" | "eza" | "dir" | "locate" | "plocate" | "git-ls-files" => {
                let operands: Vec<Arg> =
                    call.args.iter().filter(|arg| !arg.text.known_start().starts_with('-')).cloned().collect();
                let operands = match call.name.as_str() {
                    "locate" | "plocate" => vec![Arg::known("/", call.span)],
                    _ if operands.is_empty() => vec![Arg::known(".", call.span)],
                    _ => operands,
                };
                let found = crate::programs::finders::found(&operands, world, true);
                Some(match found.0.first() {
                    Some(Piece::Unknown(unknown)) => match &unknown.what {
                        What::Found(roots) => Flow { text: None, labels: Labels::default(), roots: roots.to_vec() },
                        _ => Flow::unknown(),
                    },
                    _ => Flow::unknown(),
                })
            }
            "ssh-agent"
            | "pyenv"
            | "rbenv"
            | "nodenv"
            | "goenv"
            | "jenv"
            | "brew"
            | "direnv"
            | "conda"
            | "mamba"
            | "micromamba"
            | "fnm"
            | "nvm"
            | "zoxide"
            | "starship"
            | "opam"
            | "dircolors"
            | "luarocks"
            | "minikube"
            | "docker-machine"
            | "mise"
            | "rtx"
            | "asdf"
            | "thefuck"
            | "atuin"
            | "register-python-argcomplete"
            | "pip"
            | "poetry"
            | "uv"
            | "rustup"
            | "ng"
            | "helm"
            | "gh"
            | "kind"
            | "k3d"
            | "flux"
            | "resize"
            | "lesspipe"
            | "ruby-build"
            | "chruby"
            | "sdkman"
            | "volta"
            | "shellenv"
            | "navi"
            | "keychain"
            | "gpgconf"
            | "limactl"
            | "colima"
            | "podman"
            | "just"
            | "chiton" => Some(Flow::labelled(Labels::SETTINGS)),
            _ => None,
        }
    }

    fn of_files(&mut self, call: &Call, files: &[Arg], world: &World) -> Flow {
        if files.is_empty() || matches!(call.name.as_str(), "jq" | "yq" | "sd") && files.len() < 2 {
            return filtered(call);
        }
        let labels = self.labels_of(files, world);
        for file in files {
            self.private(file, world, &call.name);
        }
        Flow::labelled(labels.with(Labels::UNKNOWN))
    }

    fn searches(&mut self, call: &Call, world: &World) -> Flow {
        let grammar = Grammar {
            short: "efmABCgtTjMEd",
            long: &[
                "regexp",
                "file",
                "max-count",
                "after-context",
                "before-context",
                "context",
                "glob",
                "iglob",
                "type",
                "type-not",
                "include",
                "exclude",
                "exclude-dir",
                "pre",
                "hostname-bin",
                "color",
                "colour",
                "threads",
                "max-depth",
                "replace",
                "sort",
                "ignore-file",
            ],
            flags: &["files-with-matches", "files", "recursive", "ignore-case"],
            ..Grammar::default()
        };
        let options = Options::read(&call.args, &grammar);
        for program in options.values(&["pre", "hostname-bin"]).cloned().collect::<Vec<_>>() {
            let reason = "This option makes the search run another program.".to_owned();
            self.state(Kind::RunHidden, reason, program.span, Some(program.text.display()));
            crate::programs::run_helper(self, &program, world);
        }
        let patterns = usize::from(!options.has(&["e", "regexp", "f", "file", "files"]));
        let files: Vec<Arg> = options.operands.iter().skip(patterns).cloned().collect();
        for file in &files {
            self.private(file, world, &call.name);
        }
        let names_only = options.has(&["l", "L", "files-with-matches", "files"]);
        let recursive = options.has(&["r", "R", "recursive"]) || matches!(call.name.as_str(), "rg" | "ag" | "ack");
        if names_only {
            let roots = if files.is_empty() { vec![Arg::known(".", call.span)] } else { files };
            let found = crate::programs::finders::found(&roots, world, false);
            if let Some(Piece::Unknown(unknown)) = found.0.first()
                && let What::Found(roots) = &unknown.what
            {
                return Flow { text: None, labels: Labels::default(), roots: roots.to_vec() };
            }
            return Flow::unknown();
        }
        if files.is_empty() && !recursive || *call.input != Flow::empty() && files.is_empty() {
            let mut flow = filtered(call);
            // Chosen by what it says: no longer all of them.
            for root in &mut flow.roots {
                *root = root.strip_suffix("/*").filter(|root| !root.is_empty()).unwrap_or(root).to_owned();
            }
            let inverted = options.has(&["v", "invert-match"]);
            if flow.labels.has(Labels::PROCESSES) && !inverted {
                flow.labels = flow.labels.without(Labels::PROCESSES).with(Labels::CHOSEN);
            }
            return flow;
        }
        let labels = self.labels_of(&files, world);
        Flow::labelled(labels.with(Labels::UNKNOWN))
    }
}

/// `echo`: with `-e`, escapes count.
fn echo(args: &[Arg]) -> Flow {
    let is_option = |arg: &&Arg| {
        arg.text.as_known().is_some_and(|text| {
            text.len() > 1 && text.starts_with('-') && text[1..].chars().all(|letter| "neE".contains(letter))
        })
    };
    let options: String = args.iter().take_while(is_option).filter_map(|arg| arg.text.as_known()).collect();
    let words = &args[args.iter().take_while(is_option).count()..];
    let mut text = Text::default();
    for (index, arg) in words.iter().enumerate() {
        if index > 0 {
            text.push(Piece::Known(" ".to_owned()));
        }
        text.append(&arg.text);
    }
    let mut flow = whole(&text);
    if let Some(known) = &mut flow.text {
        if options.contains('e') {
            *known = escapes(known);
        }
        if !options.contains('n') {
            known.push('\n');
        }
    }
    flow
}

/// Text as the flow it becomes when printed; a path or a list of files stays one.
fn whole(text: &Text) -> Flow {
    if let [Piece::Unknown(unknown)] = text.0.as_slice() {
        match &unknown.what {
            What::Output(flow) | What::Stream(flow) => return (**flow).clone(),
            What::Found(roots) => return Flow { roots: roots.to_vec(), ..Flow::default() },
            What::Temporary => return Flow::labelled(Labels::TEMPORARY),
            What::Plain => return Flow::labelled(Labels::PLAIN),
            _ => {}
        }
    }
    // A pattern stands for files; as text it is what it says.
    text.to_flow()
}

/// `printf` with `%s`, `%b`, `%d`, `%x`, `%c` and the escapes.
fn printf(args: &[Arg]) -> Flow {
    let Some((format, values)) = args.split_first() else { return Flow::empty() };
    if values.len() == 1
        && let Some("%s" | "%s\\n") = format.text.as_known().as_deref()
    {
        let mut flow = whole(&values[0].text);
        if let Some(text) = &mut flow.text {
            text.push('\n');
        }
        return flow;
    }
    let known: Option<Vec<String>> = values.iter().map(|arg| arg.text.as_literal()).collect();
    let (Some(format), Some(values)) = (format.text.as_literal(), known) else {
        let labels = args.iter().fold(Labels::UNKNOWN, |labels, arg| labels.with(arg.text.labels()));
        return Flow::labelled(labels);
    };
    let mut out = String::new();
    let mut values = values.into_iter().peekable();
    for _ in 0..64 {
        let used = format_once(&format, &mut values, &mut out);
        if values.peek().is_none() || !used {
            return Flow::known(out);
        }
    }
    Flow::known(out)
}

fn format_once(format: &str, values: &mut impl Iterator<Item = String>, out: &mut String) -> bool {
    let mut used = false;
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&escapes(&rest[..at]));
        let spec = &rest[at + 1..];
        let Some(end) = spec.find(|letter: char| letter.is_ascii_alphabetic() || letter == '%') else { break };
        let letter = spec[end..].chars().next().unwrap_or('s');
        rest = &spec[end + letter.len_utf8()..];
        if letter == '%' {
            out.push('%');
            continue;
        }
        used = true;
        let value = values.next().unwrap_or_default();
        match letter {
            'b' => out.push_str(&escapes(&value)),
            'c' => out.extend(value.chars().next()),
            'x' => out.push_str(&value.parse::<i64>().map_or(value, |number| format!("{number:x}"))),
            'o' => out.push_str(&value.parse::<i64>().map_or(value, |number| format!("{number:o}"))),
            _ => out.push_str(&value),
        }
    }
    out.push_str(&escapes(rest));
    used
}

/// The escapes of `echo -e` and `printf`.
fn escapes(text: &str) -> String {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' || at + 1 == bytes.len() {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 2;
        let digits = |from: usize, radix: u32, most: usize| {
            bytes[from..].iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count()
        };
        let (radix, from, most) = match bytes[at - 1] {
            b'n' => (0, 10, 0),
            b't' => (0, 9, 0),
            b'r' => (0, 13, 0),
            b'a' => (0, 7, 0),
            b'e' | b'E' => (0, 27, 0),
            b'\\' => (0, 92, 0),
            b'x' => (16, at, 2),
            b'u' => (16, at, 4),
            b'U' => (16, at, 8),
            b'0' => (8, at, 3),
            b'1'..=b'7' => (8, at - 1, 3),
            other => {
                out.extend([b'\\', other]);
                continue;
            }
        };
        if radix == 0 {
            out.push(u8::try_from(from).unwrap_or_default());
            continue;
        }
        let count = digits(from, radix, most);
        let number = std::str::from_utf8(&bytes[from..from + count])
            .ok()
            .and_then(|text| u32::from_str_radix(text, radix).ok())
            .unwrap_or(0);
        at = from + count;
        if most > 3 {
            let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            out.push(u8::try_from(number & 0xff).unwrap_or_default());
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

pub(crate) fn base64(text: &str) -> Option<String> {
    let mut bits = 0_u32;
    let mut count = 0;
    let mut out = Vec::new();
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap_or_default());
        }
    }
    String::from_utf8(out).ok()
}

pub(crate) fn hex(text: &str) -> Option<String> {
    let digits: Option<Vec<u8>> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let bytes = digits?.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    String::from_utf8(bytes).ok()
}

/// `tr` with two sets, or one that is deleted.
fn translate(args: &[Arg], text: &str) -> Option<String> {
    let sets: Option<Vec<String>> =
        args.iter().filter(|arg| !arg.text.known_start().starts_with('-')).map(|arg| arg.text.as_literal()).collect();
    let sets = sets?;
    let options: String =
        args.iter().map(|arg| arg.text.known_start()).filter(|start| start.starts_with('-')).collect();
    let from = tr_set(sets.first()?)?;
    if options.contains('d') && !options.contains('c') {
        return Some(text.chars().filter(|character| !from.contains(character)).collect());
    }
    if !options.is_empty() {
        return None;
    }
    let to = tr_set(sets.get(1)?)?;
    let last = *to.last()?;
    Some(
        text.chars()
            .map(|character| match from.iter().rposition(|known| *known == character) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => character,
            })
            .collect(),
    )
}

fn tr_set(set: &str) -> Option<Vec<char>> {
    if set.contains("[:") {
        return None;
    }
    let characters: Vec<char> = escapes(set).chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        if characters.get(at + 1) == Some(&'-') && at + 2 < characters.len() {
            out.extend(characters[at]..=characters[at + 2]);
            at += 3;
        } else {
            out.push(characters[at]);
            at += 1;
        }
    }
    (out.len() < 2000).then_some(out)
}

/// The flow of unknown text, as another program prints it.
fn flow_like(text: &Text) -> Flow {
    match text.0.as_slice() {
        [Piece::Unknown(unknown)] => match &unknown.what {
            What::Output(flow) | What::Stream(flow) => (**flow).clone(),
            What::Temporary => Flow::labelled(Labels::TEMPORARY),
            What::Plain => Flow::labelled(Labels::PLAIN),
            What::Found(roots) => Flow { roots: roots.to_vec(), ..Flow::default() },
            _ => Flow::unknown(),
        },
        _ => Flow::unknown(),
    }
}

/// Output that is some of the input.
pub(crate) fn filtered(call: &Call) -> Flow {
    let mut flow = (*call.input).clone();
    if flow.text.take().is_some() {
        flow.labels = flow.labels.with(Labels::DECODED);
    } else if flow.roots.is_empty() {
        flow.labels = flow.labels.with(Labels::UNKNOWN);
    }
    flow
}

/// `basename` and `dirname`.
fn path_part(call: &Call) -> Flow {
    let options = Options::read(&call.args, &Grammar { short: "s", long: &["suffix"], ..Grammar::default() });
    let Some(first) = options.operands.first() else { return Flow::empty() };
    let Some(known) = first.text.as_known() else {
        return if call.name == "basename" { Flow::labelled(Labels::PLAIN) } else { flow_like(&first.text) };
    };
    let trimmed = known.trim_end_matches('/');
    let (directory, name) = match trimmed.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((directory, name)) => (directory, name),
        None if trimmed.is_empty() && known.starts_with('/') => ("/", "/"),
        None => (".", trimmed),
    };
    if call.name == "dirname" {
        return Flow::known(format!("{directory}\n"));
    }
    let suffix =
        options.operands.get(1).or_else(|| options.value(&["s", "suffix"])).and_then(|arg| arg.text.as_known());
    let name = suffix.and_then(|suffix| name.strip_suffix(suffix.as_str())).unwrap_or(name);
    Flow::known(format!("{name}\n"))
}
