//! Code that is handed to an interpreter: which calls in it delete, write, run or multiply.

use crate::effect::{Certainty, Depth, Effect, Kind, Writing};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::machine::Machine;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Piece, Text, What};
use crate::snippet::lexer::{Token, tokens};

pub(crate) use crate::programs::sed::{SedCommand, sed_commands};

/// Deletes a directory with everything in it.
const DELETE_TREE: [&str; 20] = [
    "rmtree",
    "remove_tree",
    "rm_rf",
    "rm_r",
    "remove_dir",
    "remove_entry",
    "remove_entry_secure",
    "rmSync",
    "rm",
    "rimraf",
    "rimrafSync",
    "rmdirSync",
    "removeSync",
    "emptyDirSync",
    "removedirs",
    "deleteTree",
    "deleteDirectory",
    "emptyDir",
    "remove_dir_all",
    "deleteRecursively",
];
/// Deletes a file.
const DELETE_FILE: [&str; 5] = ["remove", "unlink", "unlinkSync", "delete", "rmdir"];
/// Hands a text to a shell.
const RUN_TEXT: [&str; 18] = [
    "system",
    "popen",
    "getoutput",
    "getstatusoutput",
    "execSync",
    "exec",
    "shell_exec",
    "passthru",
    "proc_open",
    "execute",
    "capture2",
    "capture3",
    "capture2e",
    "qx",
    "shell",
    "spawn",
    "pcntl_exec",
    "spawn_command_line_sync",
];
/// Starts a program with a list of words.
const RUN_WORDS: [&str; 24] = [
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "spawnSync",
    "spawn",
    "execFile",
    "execFileSync",
    "execv",
    "execve",
    "execvp",
    "execl",
    "execlp",
    "execle",
    "execvpe",
    "spawnv",
    "spawnvp",
    "spawnl",
    "spawnlp",
    "posix_spawn",
    "system",
    "exec",
    "create_subprocess_exec",
];
/// Writes to the file that the first argument names.
const WRITE_FILE: [&str; 14] = [
    "writeFileSync",
    "writeFile",
    "appendFileSync",
    "appendFile",
    "file_put_contents",
    "write_text",
    "write_bytes",
    "createWriteStream",
    "truncate",
    "truncateSync",
    "write",
    "binwrite",
    "writeTextFileSync",
    "writeTextFile",
];
/// Moves or copies: the second argument is written to.
const COPY_FILE: [&str; 12] = [
    "copy",
    "copyfile",
    "copy2",
    "copytree",
    "copyFileSync",
    "cpSync",
    "cp",
    "rename",
    "renameSync",
    "move",
    "mv",
    "replace",
];
/// Gives text back that was hidden or fetched.
const REVEALS: [&str; 16] = [
    "b64decode",
    "decodestring",
    "fromhex",
    "unhexlify",
    "decompress",
    "atob",
    "base64_decode",
    "decode64",
    "unpack",
    "rot13",
    "str_rot13",
    "urlopen",
    "urlretrieve",
    "requests.get",
    "fetch",
    "gzinflate",
];

/// The interpreter that the first line of a script names; plain `sh` for shells.
pub(crate) fn interpreter_of(text: &str) -> Option<&'static str> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let name = line
        .split_whitespace()
        .map(|word| word.rsplit('/').next().unwrap_or_default())
        .find(|word| *word != "env" && !word.starts_with('-'))?;
    Some(match name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.') {
        "python" | "pypy" => "python",
        "perl" => "perl",
        "ruby" => "ruby",
        "node" | "deno" | "bun" => "javascript",
        "php" => "php",
        "awk" | "gawk" => "awk",
        "lua" => "lua",
        _ => "sh",
    })
}

/// What an expression is.
#[derive(Clone, Debug)]
enum Value {
    Text(Text),
    List(Vec<Text>),
}

impl Machine<'_> {
    /// Judges `code` in `language`.
    pub(crate) fn code(&mut self, code: &Arg, language: &str, world: &World, input: &Rc<Flow>) {
        let Some(text) = code.text.as_literal() else {
            let labels = code.text.labels();
            if labels.has(Labels::DOWNLOADED) || labels.has(Labels::DECODED) {
                self.object_to_flow(&Flow::labelled(labels), code);
            }
            // What is known of it is judged; the unknown stands for itself.
            let shown: String = code
                .text
                .0
                .iter()
                .map(|piece| if let Piece::Known(text) = piece { text.as_str() } else { "__unknown__" })
                .collect();
            self.code_text(&shown, language, world, code, input);
            return;
        };
        self.code_text(&text, language, world, code, input);
    }

    fn code_text(&mut self, text: &str, language: &str, world: &World, from: &Arg, input: &Rc<Flow>) {
        if !self.step(from.span) || self.frames.len() >= crate::machine::DEEPEST_CALLS {
            return;
        }
        let all = tokens(text, language);
        let mut reader =
            Reading { judge: self, world, from, language, input, variables: BTreeMap::new(), tokens: &all };
        reader.go();
        self.code_as_a_whole(text, &all, world, from);
    }

    /// Code that lists a place that matters, and deletes what it lists.
    fn code_deletes_listed(&mut self, all: &[Token], world: &World, from: &Arg) {
        for token in all {
            let Token::Text(text) = token else { continue };
            let Some(known) = text.as_known().filter(|known| known.starts_with(['/', '~'])) else { continue };
            let path =
                known.strip_prefix('~').map_or_else(|| known.clone(), |rest| format!("{}{rest}", self.places().home));
            let mut pattern = Text::default();
            crate::machine::expand::patterned(&path, &mut pattern);
            let doing = "This code may delete what it lists in";
            let effect = Effect::Delete { what: &pattern, depth: Depth::Tree, certainty: Certainty::May, doing };
            self.does(effect, world, from.span);
        }
    }

    /// Code that names a credential and talks to another machine.
    fn code_sends(&mut self, all: &[Token], names: &[&str], from: &Arg) {
        const TALKS: [&str; 13] = [
            "urlopen",
            "requests",
            "fetch",
            "axios",
            "socket",
            "http",
            "https",
            "urllib",
            "httpx",
            "Net",
            "LWP",
            "curl_exec",
            "file_get_contents",
        ];
        let talks = names.iter().any(|name| name.split(['.', ':']).any(|part| TALKS.contains(&part)));
        let home = self.context.home.to_string_lossy().into_owned();
        let named = all.iter().any(|token| {
            let Token::Text(text) = token else { return false };
            let Some(known) = text.as_known() else { return false };
            let path = known.strip_prefix("~/").map_or_else(|| known.clone(), |rest| format!("{home}/{rest}"));
            crate::protected::start_files::is_credential(&path, &home, false)
        });
        if talks && named {
            self.exfiltrates(from.span);
        }
    }

    /// What only the whole of a code shows: loops that fork, shells for others, hidden text that is run.
    fn code_as_a_whole(&mut self, text: &str, all: &[Token], world: &World, from: &Arg) {
        let names: Vec<&str> = all
            .iter()
            .filter_map(|token| if let Token::Name(name) = token { Some(name.as_str()) } else { None })
            .collect();
        let last = |name: &str| name.rsplit(['.', ':', '>']).next().unwrap_or_default().to_owned();
        let has =
            |words: &[&str]| names.iter().any(|name| words.contains(name) || words.contains(&last(name).as_str()));
        if has(&["fork", "pcntl_fork"]) {
            let endless = endless_loop(text) || names.iter().filter(|name| last(name) == "fork").count() > 2;
            let looped = endless || has(&["while", "for", "loop", "times", "until", "range"]);
            if looped {
                let kind = if endless { Kind::ForkBomb } else { Kind::MayFork };
                self.state(kind, "This code starts processes in a loop.".to_owned(), from.span, None);
            }
        }
        let connects =
            has(&["socket", "TCPSocket", "fsockopen", "connect", "create_connection", "Socket", "createConnection"])
                || text.contains("/dev/tcp/")
                || text.contains("/inet/tcp");
        let shell =
            has(&["dup2", "spawn", "subprocess", "exec", "system", "popen", "proc_open", "Popen", "shell_exec"])
                && (text.contains("/bin/sh")
                    || text.contains("/bin/bash")
                    || text.contains("\"sh\"")
                    || text.contains("'sh'")
                    || text.contains("cmd.exe"));
        if connects && (shell || has(&["dup2"]) && has(&["spawn", "call", "exec", "system"])) {
            self.remote_shell(from.span);
        }
        self.code_sends(all, &names, from);
        let lists =
            has(&["glob", "listdir", "walk", "scandir", "iterdir", "readdirSync", "rglob", "readdir", "each_child"]);
        if lists && has(&["remove", "unlink", "rmtree", "rmSync", "unlinkSync", "rm_rf", "rmdir", "delete"]) {
            self.code_deletes_listed(all, world, from);
        }
        let multiplies = text.contains("fork(__filename") || has(&["spawn", "Popen", "fork"]) && endless_loop(text);
        if multiplies && !has(&["wait", "sleep", "waitpid", "join", "accept", "communicate"]) {
            self.state(Kind::MayFork, "This code starts processes in a loop.".to_owned(), from.span, None);
        }
        let fetches = text.contains("http") && has(&["get", "getstore"]);
        let reveals =
            fetches || REVEALS.iter().any(|name| if name.contains('.') { text.contains(name) } else { has(&[name]) });
        if reveals
            && has(&["exec", "eval", "system", "popen", "Function", "execSync", "Popen", "loads", "compile", "marshal"])
        {
            let reason = "This code runs text that is hidden or fetched; what it says cannot be seen here.".to_owned();
            self.state(Kind::Code, reason, from.span, None);
        }
    }
}

/// Whether a code holds a loop without end.
fn endless_loop(text: &str) -> bool {
    const MARKS: [&str; 13] = [
        "whileTrue",
        "while1",
        "while(1)",
        "while(true)",
        "whiletrue",
        "loop{",
        "loopdo",
        "for(;;)",
        "forkwhile",
        "whilefork",
        "while(fork",
        "for;;",
        "until0",
    ];
    let compact: String = text.split_whitespace().collect();
    MARKS.iter().any(|mark| compact.contains(mark))
}

/// Code that is being gone through.
struct Reading<'r, 'a> {
    judge: &'r mut Machine<'a>,
    world: &'r World,
    from: &'r Arg,
    language: &'r str,
    input: &'r Rc<Flow>,
    variables: BTreeMap<String, Value>,
    tokens: &'r [Token],
}

impl Reading<'_, '_> {
    fn go(&mut self) {
        for at in 0..self.tokens.len() {
            match &self.tokens[at] {
                Token::Shell(text) => {
                    let arg = Arg::new(text.clone(), self.from.span);
                    self.judge.run_text(&arg, self.world.clone(), self.input);
                }
                Token::Name(name) => {
                    let name = name.clone();
                    self.at_name(at, &name);
                }
                _ => {}
            }
        }
    }

    fn at_name(&mut self, at: usize, name: &str) {
        match self.tokens.get(at + 1) {
            Some(Token::Sign('=')) if !matches!(self.tokens.get(at + 2), Some(Token::Sign('=' | '>' | '~'))) => {
                let end = self.statement_end(at + 2);
                if let Some(value) = self.value(at + 2, end) {
                    self.variables.insert(name.trim_start_matches('$').to_owned(), value);
                }
            }
            Some(Token::Sign('(')) => {
                let (arguments, _) = self.arguments(at + 2);
                self.call(at, name, &arguments);
            }
            // `system "…"` and `rm_rf '…'` do without parentheses.
            Some(Token::Text(_) | Token::Number(_) | Token::Sign('-'))
                if !matches!(self.language, "python" | "javascript") =>
            {
                let end = self.statement_end(at + 1);
                let arguments = self.split(at + 1, end);
                self.call(at, name, &arguments);
            }
            Some(Token::Name(_) | Token::Sign('[')) if matches!(self.language, "perl" | "ruby" | "tcl") => {
                let end = self.statement_end(at + 1);
                let arguments = self.split(at + 1, end);
                self.call(at, name, &arguments);
            }
            _ => {}
        }
    }

    fn statement_end(&self, from: usize) -> usize {
        let mut open = 0_i32;
        for (offset, token) in self.tokens[from.min(self.tokens.len())..].iter().enumerate() {
            match token {
                Token::Sign('(' | '[' | '{') => open += 1,
                Token::Sign(')' | ']' | '}') => {
                    open -= 1;
                    if open < 0 {
                        return from + offset;
                    }
                }
                Token::Sign(';' | '\n') if open == 0 => return from + offset,
                Token::Name(word)
                    if open == 0
                        && matches!(
                            word.as_str(),
                            "if" | "unless" | "while" | "until" | "for" | "or" | "and" | "do" | "rescue"
                        )
                        && offset > 0 =>
                {
                    return from + offset;
                }
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The arguments of a call whose parenthesis opened before `from`, and where it closes.
    fn arguments(&self, from: usize) -> (Vec<(usize, usize)>, usize) {
        let mut open = 0_i32;
        let mut end = self.tokens.len();
        for (offset, token) in self.tokens[from.min(self.tokens.len())..].iter().enumerate() {
            match token {
                Token::Sign('(' | '[' | '{') => open += 1,
                Token::Sign(')' | ']' | '}') => {
                    open -= 1;
                    if open < 0 {
                        end = from + offset;
                        break;
                    }
                }
                _ => {}
            }
        }
        (self.split(from, end), end)
    }

    /// Splits a range of tokens at its commas.
    fn split(&self, from: usize, end: usize) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        let (mut open, mut start) = (0_i32, from);
        for at in from..end.min(self.tokens.len()) {
            match &self.tokens[at] {
                Token::Sign('(' | '[' | '{') => open += 1,
                Token::Sign(')' | ']' | '}') => open -= 1,
                Token::Sign(',') if open == 0 => {
                    parts.push((start, at));
                    start = at + 1;
                }
                _ => {}
            }
        }
        if start < end {
            parts.push((start, end));
        }
        parts
    }

    /// The value of an expression, as far as it can be told.
    fn value(&self, from: usize, end: usize) -> Option<Value> {
        let range = self.tokens.get(from..end)?;
        let skipped = range.iter().take_while(|token| matches!(token, Token::Sign('\n'))).count();
        let (range, from) = (&range[skipped..], from + skipped);
        match range {
            [] => None,
            [Token::Text(text)] => Some(Value::Text(text.clone())),
            [Token::Text(text), Token::Name(method), Token::Sign('('), Token::Sign(')')] if method == ".split" => {
                Some(Value::List(text.as_known()?.split_whitespace().map(Text::known).collect()))
            }
            [Token::Name(name), Token::Text(text)] if name == "glob" => {
                let mut pattern = Text::default();
                crate::machine::expand::patterned(&text.display(), &mut pattern);
                Some(Value::Text(pattern))
            }
            [Token::Number(number)] => Some(Value::Text(Text::known(number.clone()))),
            [Token::Sign('-'), Token::Number(number)] => Some(Value::Text(Text::known(format!("-{number}")))),
            [Token::Name(name)] => self
                .variables
                .get(name.trim_start_matches('$'))
                .cloned()
                .or_else(|| self.constant(name).map(Value::Text)),
            [Token::Sign('['), .., Token::Sign(']')] | [Token::Sign('('), .., Token::Sign(')')]
                if self.closes_at_end(from, end) =>
            {
                let parts = self.split(from + 1, end - 1);
                let items: Vec<Text> = parts.iter().map(|(from, end)| self.text(*from, *end)).collect();
                if matches!(range[0], Token::Sign('(')) && items.len() == 1 {
                    self.value(from + 1, end - 1)
                } else {
                    Some(Value::List(items))
                }
            }
            _ => self.combined(from, end),
        }
    }

    /// Whether the bracket at `from` closes at the very end.
    fn closes_at_end(&self, from: usize, end: usize) -> bool {
        self.arguments(from + 1).1 == end - 1
    }

    fn combined(&self, from: usize, end: usize) -> Option<Value> {
        let mut open = 0_i32;
        for at in from..end {
            match &self.tokens[at] {
                Token::Sign('(' | '[' | '{') => open += 1,
                Token::Sign(')' | ']' | '}') => open -= 1,
                Token::Sign(sign @ ('+' | '/' | '.')) if open == 0 && at > from => {
                    let (left, right) = (self.text(from, at), self.text(at + 1, end));
                    let mut joined = left;
                    if *sign == '/' {
                        joined.push(Piece::Known("/".to_owned()));
                    }
                    joined.append(&right);
                    return Some(Value::Text(joined));
                }
                // The first alternative of `a || b` is as good as any.
                Token::Sign('|' | '?') if open == 0 => return None,
                _ => {}
            }
        }
        let Token::Name(name) = &self.tokens[from] else { return None };
        let last = name.rsplit(['.', ':', '>']).next().unwrap_or_default();
        let inside = match self.tokens.get(from + 1) {
            Some(Token::Sign('(' | '[' | '{')) => self.arguments(from + 2),
            _ => return None,
        };
        let first = inside.0.first().map(|(from, end)| self.text(*from, *end)).unwrap_or_default();
        let whole = inside.1 + 1 == end;
        if !whole {
            // A method of what this gives, such as `Path.home().parent` or `b64decode(…).decode()`.
            let after = inside.1 + 1;
            let method = matches!(self.tokens.get(after), Some(Token::Name(name)) if name.starts_with('.'));
            let of_method = if method { self.combined(after, end) } else { None };
            return of_method.or_else(|| self.value(from, after));
        }
        let text = match last {
            "expanduser" | "expandvars" | "expand_path" | "expand_home" => {
                let known = first.as_known()?;
                let home = self.judge.context.home.to_string_lossy();
                Text::known(known.replacen('~', &home, usize::from(known.starts_with('~'))).replace("$HOME", &home))
            }
            "home" | "homedir" => Text::known(self.judge.context.home.to_string_lossy()),
            "environ" | "getenv" | "ENV" | "$ENV" | "get" | "env"
                if first.is("HOME")
                    || matches!(self.tokens.get(from + 2), Some(Token::Name(name)) if name == "HOME") =>
            {
                Text::known(self.judge.context.home.to_string_lossy())
            }
            "getcwd" | "cwd" | "pwd" => Text::known(self.world.cwd.clone()?),
            "mkdtemp" | "mktemp" | "mkdtempSync" | "gettempdir" | "TemporaryDirectory" | "NamedTemporaryFile"
            | "tmpdir" => Text::unknown(What::Temporary, true),
            "Path" | "PosixPath" | "str" | "String" | "abspath" | "realpath" | "resolve" | "normpath" | "encode"
            | "decode" | "Pathname" | "fspath" => first,
            "join" => {
                let parts: Vec<Text> = inside.0.iter().map(|(from, end)| self.text(*from, *end)).collect();
                let mut joined = Text::default();
                for (index, part) in parts.iter().enumerate() {
                    if part.known_start().starts_with('/') && last == "join" && index > 0 {
                        joined = Text::default();
                    } else if index > 0 {
                        joined.push(Piece::Known("/".to_owned()));
                    }
                    joined.append(part);
                }
                joined
            }
            "chr" | "fromCharCode" => {
                let codes: Option<String> = inside
                    .0
                    .iter()
                    .map(|(from, end)| self.text(*from, *end).as_known()?.parse::<u32>().ok().and_then(char::from_u32))
                    .collect();
                Text::known(codes?)
            }
            "b64decode" | "atob" | "base64_decode" | "decode64" => {
                Text::known(crate::programs::text_tools::base64(&first.as_known()?)?)
            }
            "fromhex" | "unhexlify" => Text::known(crate::programs::text_tools::hex(&first.as_known()?)?),
            _ => return None,
        };
        Some(Value::Text(text))
    }

    fn constant(&self, name: &str) -> Option<Text> {
        matches!(name, "process.env.HOME" | "Dir.home" | "$ENV" | "os.homedir")
            .then(|| Text::known(self.judge.context.home.to_string_lossy()))
    }

    fn text(&self, from: usize, end: usize) -> Text {
        match self.value(from, end) {
            Some(Value::Text(text)) => text,
            Some(Value::List(items)) => items.into_iter().next().unwrap_or_default(),
            None => Text::unknown(What::Variable("expression".to_owned()), false),
        }
    }

    /// One call: by its last name, and by what it is called on.
    #[expect(clippy::too_many_lines, reason = "a table of what programs do")]
    fn call(&mut self, at: usize, name: &str, arguments: &[(usize, usize)]) {
        let last = name.rsplit(['.', ':', '>']).next().unwrap_or_default();
        let span = self.from.span;
        let mut texts: Vec<Text> = arguments.iter().map(|(from, end)| self.text(*from, *end)).collect();
        // `Path("x").unlink()`: what it is called on is its first argument.
        if name.starts_with('.')
            && let Some(receiver) = self.receiver(at)
            && matches!(
                last,
                "unlink" | "rmdir" | "write_text" | "write_bytes" | "rmtree" | "touch" | "chmod" | "delete"
            )
        {
            texts.insert(0, receiver);
        }
        // The `sh` module of Python: each of its functions is a program.
        if let Some(program) = name.strip_prefix("sh.").filter(|_| self.language == "python") {
            let mut words = vec![Arg::known(program, span)];
            words.extend(texts.iter().map(|text| Arg::new(text.clone(), span)));
            self.run_words(&words);
            return;
        }
        let doing = format!("`{}` in this code would change", name.trim_start_matches('.'));
        let method = name.contains(['.', ':', '>']);
        if DELETE_TREE.contains(&last)
            && (last != "rm" || method)
            && let Some(path) = texts.first()
        {
            let paths = self.list_or(arguments.first(), path);
            for path in paths {
                self.judge.deletes(
                    "This code would delete with everything in it",
                    &path,
                    Depth::Tree,
                    self.world,
                    span,
                );
            }
        } else if DELETE_FILE.contains(&last) && self.is_file_call(name, last) {
            let says = |token: &Token| matches!(token, Token::Name(name) if name == "recursive");
            let recursive = arguments.iter().any(|(from, end)| self.tokens[*from..*end].iter().any(says));
            for path in texts.iter().filter(|text| text.is_decided()) {
                self.judge.deletes("This code would delete", path, Depth::tree_if(recursive), self.world, span);
            }
        }
        if WRITE_FILE.contains(&last)
            && let Some(path) = texts.first().filter(|_| method || last.len() > 5)
        {
            let path = path.clone();
            self.judge.writes(&doing, &path, Writing::Replaces, self.world, span);
        }
        if COPY_FILE.contains(&last)
            && method
            && let [source, target, ..] = texts.as_slice()
        {
            let (source, target) = (source.clone(), target.clone());
            self.judge.writes(&doing, &target, Writing::Replaces, self.world, span);
            if matches!(last, "rename" | "renameSync" | "move" | "mv") && source.is_decided() {
                self.judge.deletes("This code would move away", &source, Depth::Tree, self.world, span);
            }
        }
        if matches!(last, "open" | "fopen" | "openSync" | "new" | "sysopen" | "File") && !texts.is_empty() {
            let modes = texts.iter().skip(1).filter_map(Text::as_known).collect::<String>();
            // Perl names the mode before the file, or in front of its name: open(F, ">", "file"), open(F, ">file").
            let target = match texts.iter().skip(1).find(|text| text.known_start().starts_with('>')) {
                Some(mode) if mode.known_start().trim_start_matches(['>', '+']).is_empty() => texts.last().cloned(),
                Some(file) => Some(file.skip(file.known_start().find(|sign| sign != '>').unwrap_or_default())),
                None => texts.first().cloned().filter(|_| modes.contains(['w', 'a', '+', 'x'])),
            };
            if let Some(target) = target.filter(Text::is_decided) {
                self.judge.writes(&doing, &target, Writing::adding_if(modes.contains('a')), self.world, span);
            }
        }
        if matches!(last, "chmod" | "chmodSync" | "chown" | "chownSync" | "lchown") {
            for path in texts.iter().filter(|text| text.known_start().starts_with('/')) {
                let doing = "This code would change the rights of";
                self.judge.does(Effect::Rights { what: path, depth: Depth::Entry, doing }, self.world, span);
            }
        }
        self.starts(name, last, arguments, &texts);
        if matches!(last, "kill" | "killpg") {
            let dangerous = texts.iter().any(|text| text.is("-1"))
                || texts.first().is_some_and(|text| text.is("1")) && self.language != "ruby" && self.language != "perl";
            if dangerous {
                self.judge.state(
                    Kind::KillAll,
                    "This code would end all processes, or process 1.".to_owned(),
                    span,
                    None,
                );
            }
            if name.contains("getppid")
                || arguments.iter().any(|(from, end)| {
                    self.tokens[*from..*end].iter().any(
                        |token| matches!(token, Token::Name(name) if name.contains("getppid") || name.contains("ppid")),
                    )
                })
            {
                self.judge.state(Kind::KillOwn, "This code would end the server that runs it.".to_owned(), span, None);
            }
        }
        if matches!(last, "exec" | "eval" | "compile")
            && matches!(self.language, "python" | "javascript" | "php" | "ruby" | "perl")
            && let Some(inner) = texts.first().and_then(Text::as_known)
        {
            let arg = Arg::known(inner, span);
            let frame = self.judge.frame("code");
            self.judge.frames.push(frame);
            self.judge.code(&arg, self.language, self.world, self.input);
            self.judge.frames.pop();
        }
    }

    fn is_file_call(&self, name: &str, last: &str) -> bool {
        match last {
            "remove" => {
                ["os.remove", "Deno.remove", "fs.remove", "fsExtra.remove", "os.unlink"]
                    .iter()
                    .any(|known| name.ends_with(known))
                    || self.language == "lua"
            }
            "delete" => name.starts_with("File") || name.starts_with("FileUtils") || name.starts_with('.'),
            "rmdir" => false,
            _ => true,
        }
    }

    fn list_or(&self, range: Option<&(usize, usize)>, first: &Text) -> Vec<Text> {
        match range.and_then(|(from, end)| self.value(*from, *end)) {
            Some(Value::List(items)) => items,
            _ => vec![first.clone()],
        }
    }

    /// What a method is called on.
    fn receiver(&self, at: usize) -> Option<Text> {
        let mut open = 0_i32;
        let mut back = at;
        while back > 0 {
            back -= 1;
            match &self.tokens[back] {
                Token::Sign(')' | ']') => open += 1,
                Token::Sign('(' | '[') => {
                    open -= 1;
                    if open == 0 {
                        let from = if matches!(self.tokens.get(back.wrapping_sub(1)), Some(Token::Name(_))) {
                            back - 1
                        } else {
                            back
                        };
                        return Some(self.text(from, at));
                    }
                }
                _ if open == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// Calls that start other programs.
    fn starts(&mut self, name: &str, last: &str, arguments: &[(usize, usize)], texts: &[Text]) {
        let span = self.from.span;
        let first = arguments.first().and_then(|(from, end)| self.value(*from, *end));
        let words = RUN_WORDS.contains(&last);
        if words && let Some(Value::List(items)) = &first {
            let args: Vec<Arg> = items.iter().map(|text| Arg::new(text.clone(), span)).collect();
            self.run_words(&args);
            return;
        }
        // `spawn("rm", ["-rf", "/"])`, `system("rm", "-rf", "/")`.
        let second = arguments.get(1).and_then(|(from, end)| self.value(*from, *end));
        if words && let (Some(Value::Text(program)), Some(Value::List(items))) = (&first, &second) {
            let mut args = vec![Arg::new(program.clone(), span)];
            let skip = usize::from(last.starts_with("execv") || last.starts_with("spawnv"));
            args.extend(items.iter().skip(skip).map(|text| Arg::new(text.clone(), span)));
            self.run_words(&args);
            return;
        }
        let many = texts.len() > 1
            && texts.iter().skip(1).all(Text::is_decided)
            && !matches!(self.language, "javascript" | "python");
        if words && many && matches!(last, "system" | "exec" | "spawn")
            || last.starts_with("execl")
            || last.starts_with("spawnl")
        {
            let skip = usize::from(last.starts_with("execl")) * 2;
            let mut args: Vec<Arg> = texts
                .iter()
                .take(1)
                .chain(texts.iter().skip(skip.max(1)))
                .map(|text| Arg::new(text.clone(), span))
                .collect();
            if last.starts_with("spawnl") {
                args.remove(0);
            }
            self.run_words(&args);
            return;
        }
        let shell = RUN_TEXT.contains(&last)
            || words && name.contains("subprocess")
            || matches!(last, "run" | "call" | "check_call" | "check_output" | "Popen");
        let code = matches!(last, "exec") && self.language == "python";
        if shell
            && !code
            && let Some(text) = texts.first()
            && (text.is_decided() || !text.known_start().is_empty())
        {
            let arg = Arg::new(text.clone(), span);
            self.judge.run_text(&arg, self.world.clone(), self.input);
        }
    }

    fn run_words(&mut self, args: &[Arg]) {
        // Code computes the names of programs all the time.
        if args.first().is_none_or(|program| !program.text.is_decided()) {
            return;
        }
        let frame = self.judge.frame("code");
        self.judge.frames.push(frame);
        self.judge.invoke(args, self.world.clone(), self.input, self.from.span);
        self.judge.frames.pop();
    }
}
