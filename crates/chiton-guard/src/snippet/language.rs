//! The languages that interpreters take, and how each writes comments and strings.

/// A language that an interpreter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    AppleScript,
    Awk,
    /// C and the languages that look like it: C++, C#, Go, Groovy, Java, Kotlin, Rust, Scala, Swift.
    Braces,
    Elixir,
    /// Erlang and Prolog.
    Erlang,
    Haskell,
    JavaScript,
    Julia,
    /// Lisps: Clojure, Emacs Lisp, Guile, Racket.
    Lisp,
    Lua,
    Ocaml,
    /// Octave and Matlab.
    Octave,
    Perl,
    Php,
    PowerShell,
    Python,
    R,
    /// Also what stands for languages that nobody has described here.
    Ruby,
    Tcl,
}

impl Language {
    /// Its name for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AppleScript => "applescript",
            Self::Awk => "awk",
            Self::Braces => "compiled",
            Self::Elixir => "elixir",
            Self::Erlang => "erlang",
            Self::Haskell => "haskell",
            Self::JavaScript => "javascript",
            Self::Julia => "julia",
            Self::Lisp => "lisp",
            Self::Lua => "lua",
            Self::Ocaml => "ocaml",
            Self::Octave => "octave",
            Self::Perl => "perl",
            Self::Php => "php",
            Self::PowerShell => "powershell",
            Self::Python => "python",
            Self::R => "r",
            Self::Ruby => "ruby",
            Self::Tcl => "tcl",
        }
    }

    /// The language that the first line of a script names; none if that is the shell's, or not known.
    pub(crate) fn of_script(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("#!")?;
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or_default());
        let name = words.find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='))?;
        Self::of_interpreter(name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.'))
    }

    fn of_interpreter(name: &str) -> Option<Self> {
        Some(match name {
            "python" | "pypy" | "ipython" => Self::Python,
            "perl" | "raku" => Self::Perl,
            "ruby" | "jruby" | "crystal" => Self::Ruby,
            "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" | "zx" => Self::JavaScript,
            "php" => Self::Php,
            "awk" | "gawk" | "mawk" => Self::Awk,
            "lua" | "luajit" => Self::Lua,
            "Rscript" => Self::R,
            "julia" => Self::Julia,
            "elixir" => Self::Elixir,
            "escript" => Self::Erlang,
            "guile" | "racket" | "bb" | "sbcl" | "emacs" => Self::Lisp,
            "groovy" | "scala" | "kotlin" | "swift" | "java" | "rust-script" => Self::Braces,
            "runghc" | "runhaskell" => Self::Haskell,
            "ocaml" => Self::Ocaml,
            "octave" => Self::Octave,
            "tclsh" | "wish" | "expect" => Self::Tcl,
            "pwsh" | "powershell" => Self::PowerShell,
            _ => return None,
        })
    }

    /// The language of a file by the end of its name, where a compiler or an interpreter takes several.
    pub(crate) fn of_file(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        Some(match ending {
            "py" => Self::Python,
            "js" | "mjs" | "cjs" | "ts" | "mts" => Self::JavaScript,
            "rb" | "cr" => Self::Ruby,
            "pl" | "pm" => Self::Perl,
            "php" => Self::Php,
            "lua" => Self::Lua,
            "r" | "R" => Self::R,
            "jl" => Self::Julia,
            "exs" | "ex" => Self::Elixir,
            "erl" => Self::Erlang,
            "el" | "clj" | "scm" | "rkt" | "lisp" => Self::Lisp,
            "c" | "cc" | "cpp" | "cxx" | "cs" | "go" | "java" | "kt" | "kts" | "rs" | "scala" | "sc" | "swift"
            | "groovy" | "m" | "h" | "d" | "zig" => Self::Braces,
            "hs" => Self::Haskell,
            "ml" => Self::Ocaml,
            "tcl" => Self::Tcl,
            "ps1" => Self::PowerShell,
            _ => return None,
        })
    }

    /// What begins a comment that ends with its line.
    pub(super) const fn line_comments(self) -> &'static [&'static str] {
        match self {
            Self::Python | Self::Ruby | Self::Perl | Self::R | Self::Julia | Self::Elixir | Self::Awk | Self::Tcl => {
                &["#"]
            }
            Self::PowerShell => &["#"],
            Self::Php => &["#", "//"],
            Self::JavaScript | Self::Braces => &["//"],
            Self::Lua | Self::Haskell => &["--"],
            Self::AppleScript => &["--", "#"],
            Self::Lisp => &[";"],
            Self::Erlang => &["%"],
            Self::Octave => &["%", "#"],
            Self::Ocaml => &[],
        }
    }

    /// What begins and ends a comment that may go on over lines.
    pub(super) const fn block_comment(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::JavaScript | Self::Braces | Self::Php => Some(("/*", "*/")),
            Self::Haskell => Some(("{-", "-}")),
            Self::Ocaml | Self::AppleScript => Some(("(*", "*)")),
            Self::Lua => Some(("--[[", "]]")),
            Self::Lisp => Some(("#|", "|#")),
            Self::PowerShell => Some(("<#", "#>")),
            _ => None,
        }
    }

    /// Whether calls may do without parentheses.
    pub(super) const fn calls_bare(self) -> bool {
        matches!(
            self,
            Self::Perl
                | Self::Ruby
                | Self::Lua
                | Self::Haskell
                | Self::Ocaml
                | Self::AppleScript
                | Self::Octave
                | Self::Elixir
                | Self::Awk
        )
    }

    /// Whether arguments of calls without parentheses stand side by side, without commas.
    pub(super) const fn is_juxtaposed(self) -> bool {
        matches!(self, Self::Haskell | Self::Ocaml)
    }
}
