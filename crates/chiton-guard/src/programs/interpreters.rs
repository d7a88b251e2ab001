//! Interpreters: which of their arguments are code, and which a script.

use super::row::Program;
use crate::effect::{Kind, Writing};
use std::rc::Rc;

use crate::machine::Machine;
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::value::Arg;
use crate::machine::value::{Flow, Labels, Text};
use crate::programs::options::{Grammar, Options};
use crate::snippet::lexer::{Token, tokens};

/// How an interpreter takes code.
struct Interpreter {
    names: &'static [&'static str],
    language: &'static str,
    /// Options whose value is code.
    code: &'static [&'static str],
    short: &'static str,
    attached: &'static str,
    long: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy", "ipython", "python2", "uvx-python"],
        language: "python",
        code: &["c"],
        short: "cmWXQ",
        attached: "",
        long: &["check-hash-based-pycs"],
    },
    Interpreter {
        names: &["perl"],
        language: "perl",
        code: &["e", "E"],
        short: "eEMmI",
        attached: "iFlxCDd0",
        long: &[],
    },
    Interpreter {
        names: &["ruby", "jruby"],
        language: "ruby",
        code: &["e"],
        short: "erICE",
        attached: "iFxKTW0",
        long: &["external-encoding"],
    },
    Interpreter {
        names: &["node", "nodejs", "bun", "deno", "tsx", "ts-node", "electron"],
        language: "javascript",
        code: &["e", "eval", "p", "print"],
        short: "epr",
        attached: "",
        long: &["eval", "print", "require", "import", "loader", "experimental-loader", "env-file", "title"],
    },
    Interpreter {
        names: &["php"],
        language: "php",
        code: &["r", "B", "R", "E"],
        short: "rBREfFcdz",
        attached: "",
        long: &["run"],
    },
    Interpreter {
        names: &["lua", "luajit", "texlua"],
        language: "lua",
        code: &["e"],
        short: "el",
        attached: "",
        long: &[],
    },
    Interpreter { names: &["Rscript", "R"], language: "r", code: &["e"], short: "e", attached: "", long: &[] },
    Interpreter {
        names: &[
            "julia", "elixir", "groovy", "scala", "guile", "racket", "ghc", "swift", "crystal", "iex", "clojure", "bb",
            "nu", "pwsh", "raku",
        ],
        language: "ruby",
        code: &["e", "E", "c", "Command"],
        short: "eEc",
        attached: "",
        long: &["eval", "Command"],
    },
    Interpreter { names: &["tclsh", "wish"], language: "tcl", code: &[], short: "", attached: "", long: &[] },
    Interpreter { names: &["osascript"], language: "applescript", code: &["e"], short: "el", attached: "", long: &[] },
];

pub(super) const ROWS: &[Program] = &[];

impl Machine<'_> {
    pub(crate) fn interpreter(&mut self, call: &Call, world: &World) -> Option<Flow> {
        if let "awk" | "gawk" | "mawk" | "nawk" | "original-awk" = call.name.as_str() {
            return Some(self.awk(call, world));
        }
        if let "vim" | "vi" | "nvim" | "ex" | "view" | "ed" | "emacs" | "gdb" | "lldb" | "man" | "less" | "tcpdump"
        | "nmap" | "ffmpeg" = call.name.as_str()
        {
            return Some(self.editor(call, world));
        }
        let interpreter = INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&call.name.as_str()))?;
        let mut args = call.args.clone();
        if matches!(call.name.as_str(), "deno" | "bun") && args.first().is_some_and(|arg| arg.text.is("eval")) {
            args[0] = Arg::known("-e", args[0].span);
        } else if matches!(call.name.as_str(), "deno" | "bun" | "elixir")
            && args.first().is_some_and(|arg| {
                ["run", "x", "test", "install", "add", "build", "task", "fmt", "lint", "check", "create"]
                    .iter()
                    .any(|verb| arg.text.is(verb))
            })
        {
            return Some(Flow::unknown());
        }
        let grammar = Grammar {
            short: interpreter.short,
            attached: interpreter.attached,
            long: interpreter.long,
            flags: &[],
            stops: true,
            single_dash: false,
        };
        let options = Options::read(&args, &grammar);
        let code: Vec<Arg> = options.values(interpreter.code).cloned().collect();
        for module in options.values(&["M", "m", "I", "r", "require", "import", "loader"]).cloned().collect::<Vec<_>>()
        {
            if interpreter.language != "python" && interpreter.language != "php" {
                self.loaded_module(&module, interpreter.language);
            }
        }
        if options.has(&["i"]) && matches!(interpreter.language, "perl" | "ruby") {
            for file in &options.operands {
                self.writes("This would change", &file.text, Writing::Replaces, world, file.span);
            }
        }
        if !code.is_empty() {
            for text in &code {
                self.code(text, interpreter.language, world, &call.input);
            }
            let fed = *call.input != Flow::empty();
            return Some(if fed { crate::programs::text_tools::filtered(call) } else { Flow::unknown() });
        }
        if options.has(&["m"]) && interpreter.language == "python" {
            let module = options.value(&["m"]).and_then(|arg| arg.text.as_known()).unwrap_or_default();
            let decodes = matches!(module.as_str(), "base64" | "zlib" | "gzip");
            return Some(if decodes { Flow::labelled(Labels::DECODED) } else { Flow::unknown() });
        }
        match options.operands.split_first() {
            Some((file, _)) if !crate::programs::builtins::is_standard_input(&file.text) => {
                self.script_file(file, interpreter.language, world, call);
            }
            _ => self.code_from_input(call, interpreter.language, world),
        }
        Some(Flow::unknown())
    }

    fn loaded_module(&mut self, module: &Arg, language: &str) {
        let shown = module.text.display();
        let risky =
            ["/tmp", "/var/tmp", "/dev/shm", "http:", "https:", "data:"].iter().any(|place| shown.contains(place));
        if risky {
            let reason = format!("{shown} would be loaded into {language} first.");
            self.state(Kind::RunHidden, reason, module.span, Some(shown));
        }
    }

    /// A script file: known if this command wrote it.
    fn script_file(&mut self, file: &Arg, language: &str, world: &World, call: &Call) {
        let flow = self.read(&file.text, world);
        match &flow.text {
            Some(text) => {
                let arg = Arg::known(text.clone(), file.span);
                self.code(&arg, language, world, &call.input);
            }
            None => self.object_to_flow(&Flow::labelled(flow.labels.without(Labels::UNKNOWN)), file),
        }
    }

    fn code_from_input(&mut self, call: &Call, language: &str, world: &World) {
        match &call.input.text {
            Some(text) if text.is_empty() => {
                if call.args.is_empty() {
                    self.waits_for_a_person(
                        &call.name,
                        "it waits for code; give it with an option or in a file",
                        call.span,
                    );
                }
            }
            Some(text) => {
                let arg = Arg::known(text.clone(), call.span);
                self.code(&arg, language, world, &Rc::new(Flow::empty()));
            }
            None => self.object_to_flow(&call.input.clone(), &Arg::known("standard input", call.span)),
        }
    }

    fn awk(&mut self, call: &Call, world: &World) -> Flow {
        let grammar = Grammar {
            short: "FvfEile",
            long: &["field-separator", "assign", "file", "source", "include", "load"],
            flags: &["in-place"],
            stops: true,
            ..Grammar::default()
        };
        let options = Options::read(&call.args, &grammar);
        let mut programs: Vec<Arg> = options.values(&["e", "source"]).cloned().collect();
        let mut files = options.operands.clone();
        if programs.is_empty() && !options.has(&["f", "file", "E"]) && !files.is_empty() {
            programs.push(files.remove(0));
        }
        for program in &programs {
            self.awk_program(program, world, call);
        }
        for file in options.values(&["f", "file"]).cloned().collect::<Vec<_>>() {
            let flow = self.read(&file.text, world);
            if let Some(text) = &flow.text {
                self.awk_program(&Arg::known(text.clone(), file.span), world, call);
            }
        }
        for file in &files {
            self.private(file, world, "awk");
        }
        if files.is_empty() {
            return crate::programs::text_tools::filtered(call);
        }
        Flow::labelled(self.labels_of(&files, world).with(Labels::UNKNOWN))
    }

    /// `system("…")`, `"…" | getline`, `print | "…"`, `print > "…"`.
    fn awk_program(&mut self, program: &Arg, world: &World, call: &Call) {
        let Some(text) = program.text.as_literal() else { return };
        if text.contains("/inet/tcp") || text.contains("/inet/udp") {
            let reason = "This lets awk talk to another machine.".to_owned();
            self.state(Kind::OpenMachine, reason, program.span, None);
        }
        let all = tokens(&text, "awk");
        for (at, token) in all.iter().enumerate() {
            let Token::Text(string) = token else {
                if let (Token::Name(name), Some(Token::Sign('('))) = (token, all.get(at + 1))
                    && name == "system"
                    && !matches!(all.get(at + 2), Some(Token::Text(_)))
                {
                    let reason = "What awk would run here, the text does not decide.".to_owned();
                    self.state(Kind::RunUnknown, reason, program.span, None);
                }
                if let (Token::Sign('|'), Some(Token::Name(name))) = (token, all.get(at + 1))
                    && !matches!(all.get(at.wrapping_sub(1)), Some(Token::Sign('|')))
                    && name != "getline"
                {
                    let reason = "What awk would run here, the text does not decide.".to_owned();
                    self.state(Kind::RunUnknown, reason, program.span, None);
                }
                continue;
            };
            let before = at.checked_sub(1).and_then(|at| all.get(at));
            let opens = at.checked_sub(2).and_then(|at| all.get(at));
            let run_before = matches!(before, Some(Token::Sign('|'))) && !matches!(opens, Some(Token::Sign('|')));
            let run_after = matches!(all.get(at + 1), Some(Token::Sign('|')))
                && matches!(all.get(at + 2), Some(Token::Name(name)) if name == "getline");
            let called =
                matches!((opens, before), (Some(Token::Name(name)), Some(Token::Sign('('))) if name == "system");
            if run_before || run_after || called {
                // A string that goes on with a value is known only at its start.
                let goes_on = matches!(all.get(at + 1), Some(Token::Name(_) | Token::Text(_) | Token::Sign('$')));
                let mut text = string.clone();
                if goes_on {
                    text.append(&Text::variable("field"));
                }
                let printed = match opens {
                    Some(Token::Text(printed)) if run_before => Rc::new(printed.to_flow()),
                    _ => Rc::clone(&call.input),
                };
                self.run_text(&Arg::new(text, program.span), world.clone(), &printed);
            } else if matches!(before, Some(Token::Sign('>'))) {
                self.writes("This would write to", &string.clone(), Writing::Replaces, world, program.span);
            }
        }
    }

    /// Editors and other programs that run commands given in an option.
    fn editor(&mut self, call: &Call, world: &World) -> Flow {
        let name = call.name.as_str();
        let grammar = match name {
            "gdb" | "lldb" => Grammar {
                short: "xdop",
                long: &["ex", "eval-command", "command", "iex", "one-line"],
                single_dash: true,
                ..Grammar::default()
            },
            "emacs" => Grammar { short: "lf", long: &["eval", "execute", "load", "funcall"], ..Grammar::default() },
            "man" => Grammar { short: "PHpSsML", long: &["pager", "html"], ..Grammar::default() },
            "tcpdump" => Grammar { short: "zwirCGWsc", ..Grammar::default() },
            "nmap" => Grammar { short: "p", long: &["script"], ..Grammar::default() },
            _ => Grammar { short: "cSuU", long: &["cmd"], ..Grammar::default() },
        };
        let options = Options::read(&call.args, &grammar);
        let plus = call
            .args
            .iter()
            .filter(|arg| arg.text.known_start().starts_with('+'))
            .map(|arg| Arg::new(arg.text.skip(1), arg.span));
        let mut commands: Vec<Arg> = options
            .values(&["c", "S", "cmd", "ex", "eval-command", "iex", "o", "one-line", "eval", "execute"])
            .cloned()
            .chain(plus)
            .collect();
        if matches!(name, "ex" | "ed" | "vim" | "vi" | "gdb")
            && let Some(text) = &call.input.text
        {
            commands.extend(text.lines().map(|line| Arg::known(line, call.span)));
        }
        for command in commands.into_iter().take(200) {
            let Some(text) = command.text.as_literal() else { continue };
            let line = text.trim_start_matches(|letter: char| {
                letter == ':'
                    || letter == '%'
                    || letter == '.'
                    || letter.is_whitespace()
                    || letter.is_ascii_digit()
                    || letter == ','
                    || letter == '$'
            });
            let shell =
                ["!", "r!", "r !", "read !", "w !", "shell ", "silent !", "silent! !", "execute '!", "exe '!", "e !"]
                    .iter()
                    .find_map(|mark| line.strip_prefix(mark));
            if let Some(inner) = shell {
                let inner = Arg::known(inner.trim_end_matches('\''), command.span);
                self.run_text(&inner, world.clone(), &call.input);
            } else if line.contains("system(")
                || line.contains("os.execute")
                || line.contains("shell-command")
                || line.starts_with("python")
            {
                let code = line.replace("(shell-command ", "system(").replace("call ", "");
                self.code(&Arg::known(code, command.span), "ruby", world, &call.input);
            } else if let Some(file) =
                line.strip_prefix("w! ").or_else(|| line.strip_prefix("w ")).or_else(|| line.strip_prefix("wq! "))
            {
                self.writes("This would write to", &Text::known(file.trim()), Writing::Replaces, world, command.span);
            }
        }
        for program in options.values(&["P", "pager", "H", "z"]).cloned().collect::<Vec<_>>() {
            if matches!(name, "man" | "tcpdump") {
                crate::programs::run_helper(self, &program, world);
            }
        }
        if name == "tcpdump"
            && let Some(program) = options.value(&["z"])
        {
            let reason = "This option of tcpdump runs another program.".to_owned();
            self.state(Kind::RunHidden, reason, program.span, Some(program.text.display()));
        }
        if matches!(name, "less") {
            for file in &options.operands {
                self.private(file, world, name);
            }
        }
        Flow::unknown()
    }
}
