//! Commands: simple ones, compound ones, redirections.

use super::Writer;

impl Writer {
    /// Commands joined in every way.
    pub(super) fn list(&mut self, depth: usize) {
        let count = [1, 1, 2, 2, 3][self.dice.roll(5)];
        for index in 0..count {
            if index > 0 {
                match self.dice.roll(12) {
                    0..=2 => self.put("; "),
                    3..=5 => self.line_end(),
                    6 => self.put(" && "),
                    7 => self.put(" || "),
                    8 => self.put(" | "),
                    9 => self.pick(&[" & ", " |& ", ";", "&&\n", "|\n", " ; ", ";\n\n", " # c\n", "\\\n;"]),
                    10 => self.pick(&["\n# zza\n", " # \\\n", "#;", "\n#\\\n", "\n  "]),
                    _ => self.put(";"),
                }
            }
            self.command(depth);
        }
    }

    fn command(&mut self, depth: usize) {
        let deeper = depth.saturating_sub(1);
        match self.dice.roll(if depth == 0 { 8 } else { 24 }) {
            6 => self.marked(deeper),
            7 | 18 => self.assignments(deeper),
            8 | 9 => self.compound(deeper),
            10 => {
                self.pick(&["! ", "time ", "time -p ", "! ! ", "time ! ", "command ", "builtin ", "time -- "]);
                self.command(deeper);
            }
            11 => self.here(deeper),
            12 => self.function(deeper),
            13 => self.evaluated(),
            14 | 15 => self.condition(deeper),
            16 => {
                self.put("((");
                self.arithmetic(deeper);
                self.put("))");
            }
            17 => {
                self.pick(&["coproc ", "coproc N ", "coproc { ", "coproc N ( "]);
                let close = if self.out.ends_with("{ ") {
                    Some("; }")
                } else if self.out.ends_with("( ") {
                    Some(")")
                } else {
                    None
                };
                if close.is_none() && self.one_in(2) {
                    self.compound(deeper);
                } else {
                    self.marker();
                }
                self.put(close.unwrap_or_default());
            }
            _ => self.simple(depth),
        }
    }

    /// A marker with words after it.
    fn marked(&mut self, depth: usize) {
        if self.one_in(6) {
            self.pick(&["x=1 ", "x= ", "<<< a ", "< /dev/null ", "2>&1 ", "\\\n", "{v}>&1 ", "x=(1) ", "> /dev/null "]);
        }
        self.marker();
        for _ in 0..self.dice.roll(3) {
            self.put(" ");
            self.word(depth);
        }
        self.redirections(depth);
    }

    fn simple(&mut self, depth: usize) {
        if self.one_in(3) {
            return self.marked(depth);
        }
        self.pick(&[
            "echo", ":", "true", "false", "test", "printf", "read x", "cat", "echo -n", "let", "declare", "export",
            "local", "unset", "[", "declare -a", "readonly", "typeset", "alias", "set --", "shift", "eval",
        ]);
        for _ in 0..self.dice.roll(3) {
            self.put(" ");
            if self.one_in(6) {
                self.assignment(depth);
            } else {
                self.word(depth);
            }
        }
        if self.one_in(3) {
            self.redirections(depth);
        }
    }

    fn redirections(&mut self, depth: usize) {
        if self.one_in(4) {
            self.pick(&[" ", "", " 2", " {v}", " 1"]);
            match self.dice.roll(9) {
                0 => {
                    self.pick(&["<<< ", "<<<"]);
                    self.word(depth);
                }
                1 => self.pick(&[">&2", ">& 1", "<&-", ">&-", ">/dev/null", "< /dev/null", "&> /dev/null", ">&1-"]),
                2 => {
                    self.pick(&[">&", "<&", ">& "]);
                    self.word(depth);
                }
                3 => {
                    self.pick(&["> ", "< ", ">> ", ">| ", "<> ", "&>", "&>>"]);
                    self.word(depth);
                }
                4 => {
                    self.pick(&["< ", "> "]);
                    self.process(depth);
                }
                5 => self.announce(),
                _ => self.put(">&2"),
            }
        }
    }

    fn assignments(&mut self, depth: usize) {
        for _ in 0..=self.dice.roll(2) {
            self.assignment(depth);
            self.pick(&[" ", " ", "; ", "\n", "", ";"]);
        }
        if self.one_in(2) {
            self.marker();
        }
    }

    fn assignment(&mut self, depth: usize) {
        self.pick(&["x", "y", "a", "x", "u2"]);
        if self.one_in(6) {
            self.put("[");
            self.subscript(depth);
            self.put("]");
        }
        self.pick(&["=", "=", "=", "+="]);
        match self.dice.roll(5) {
            0 => self.array(depth),
            1 => {}
            _ => self.word(depth),
        }
    }

    fn array(&mut self, depth: usize) {
        self.put("(");
        for _ in 0..self.dice.roll(4) {
            match self.dice.roll(7) {
                0 => {
                    self.put("[");
                    self.subscript(depth);
                    self.put("]=");
                    self.word(depth);
                }
                1 => self.marker(),
                2 => self.pick(&["# c\n", "\n", "\\\n", "#", "[", "]", "[1]", "[x", "a=b", "!"]),
                _ => self.word(depth),
            }
            self.pick(&[" ", " ", "\n", "  "]);
        }
        self.put(")");
        if self.one_in(6) {
            self.pick(&["#", "a", "$x", "'b'", ":", "echo", "\\\n"]);
        }
    }

    /// A here document at a command that reads it.
    fn here(&mut self, depth: usize) {
        self.pick(&[
            "cat ", ": ", "read x ", "cat", "while read l; do $l; done ", "{ cat; } ", "x=$(cat) ", "mapfile x ",
        ]);
        self.announce();
        if self.one_in(6) {
            self.announce();
        }
        if self.one_in(3) {
            self.pick(&["; ", " && ", " | ", " "]);
            self.marked(depth);
        }
        self.line_end();
        if self.one_in(2) {
            self.marked(depth);
        }
    }

    /// `<<E`, in every spelling.
    fn announce(&mut self) {
        let (operator, delimiter) = *self.dice.one_of(&[
            ("<<E", "E"),
            ("<<'E'", "E"),
            ("<<-E", "\tE"),
            ("<<\\E", "E"),
            ("<<\"E\"", "E"),
            ("<< E", "E"),
            ("<<-'E'", "E"),
            ("<<E\"\"", "E"),
            ("<<$'E'", "E"),
            ("<<$x", "$x"),
            ("<<'E F'", "E F"),
            ("<<E", "E"),
            ("<<E", "E "),
            ("<<''", ""),
            ("<<E", "F"),
            ("<<$(E)", "$(E)"),
            ("<<`E`", "`E`"),
            ("<<\"$x\"", "$x"),
            ("<<E\\\nF", "EF"),
            ("<<${x}", "${x}"),
        ]);
        self.put(operator);
        self.here.push(delimiter.to_owned());
    }

    fn function(&mut self, depth: usize) {
        self.pick(&[
            "f() ", "function f ", "f () ", "function f() ", "f()\n", "function f\n", "f-g() ", "function f-g ",
        ]);
        if self.one_in(3) {
            self.compound(depth);
        } else {
            self.put("{ ");
            self.marker();
            self.put("; }");
        }
        if self.one_in(5) {
            self.redirections(depth);
        }
        self.pick(&["; f", "\nf", "; f a", " && f", "\nf-g", ";f-g"]);
    }

    fn evaluated(&mut self) {
        self.pick(&["eval ", "eval -- ", "trap ", "x=", "eval ", "eval "]);
        let from = self.out.len();
        match self.dice.roll(3) {
            0 => self.list(0),
            1 => self.marker(),
            _ => self.simple(1),
        }
        let inner = self.out.split_off(from);
        let trap = self.out.ends_with("trap ");
        match self.dice.roll(3) {
            0 => {
                let quoted = format!("'{}'", inner.replace('\'', "'\\''"));
                self.put(&quoted);
            }
            1 => {
                let quoted = format!("\"{}\"", inner.replace('\\', "\\\\").replace('"', "\\\"").replace('`', "\\`"));
                self.put(&quoted);
            }
            _ => self.put(&inner),
        }
        if trap {
            self.put(" EXIT");
        }
        if self.out.ends_with('\'') && self.one_in(3) {
            self.pick(&["; eval \"$x\"", "; $x", "; : \"${x@P}\"", "; eval $x"]);
        }
    }

    fn condition(&mut self, depth: usize) {
        self.put("[[ ");
        for _ in 0..=self.dice.roll(2) {
            match self.dice.roll(9) {
                0 => {
                    self.pick(&["-n ", "-z ", "! ", "-f ", "-v ", "! -n ", "-e "]);
                    self.word(depth);
                }
                1 => self.word(depth),
                2 => {
                    self.word(depth);
                    self.pick(&[" =~ ", " =~ (", " =~ ^", " =~ a|"]);
                    self.pick(&[
                        "a", "a)", "(a|b)", "[[:space:]]", "$x", "\"a b\"", "[a ]", "a\\ b", "(a b)", "a$", "^a.*$",
                    ]);
                }
                3 => self.pick(&[
                    "$1 == !", "-n !", "a == (a)", "( a )", "! ( -n a )", "a<b", "a>b", "a == b*", "-t 1",
                    "a == @(a|b)",
                ]),
                4 => {
                    self.word(depth);
                    self.pick(&[" -eq ", " -lt ", " -nt "]);
                    self.pick(&["1", "x", "$x", "a[1]"]);
                }
                _ => {
                    self.word(depth);
                    self.pick(&[" == ", " = ", " != ", " < ", " > "]);
                    self.word(depth);
                }
            }
            self.pick(&[" && ", " || ", " ", "\n", " &&\n"]);
        }
        self.put(" ]]");
        self.pick(&["", " && ", " || ", "; "]);
        self.marker();
    }

    pub(super) fn compound(&mut self, depth: usize) {
        match self.dice.roll(13) {
            0 => {
                self.pick(&["{ ", "{\n", "{ # c\n"]);
                self.list(depth);
                self.pick(&["; }", "\n}"]);
            }
            1 => {
                self.pick(&["(", "( ", "(\n"]);
                self.list(depth);
                self.pick(&[")", " )", "\n)"]);
            }
            2 => {
                self.put("if ");
                self.list(depth);
                self.pick(&["; then ", "\nthen\n"]);
                self.list(depth);
                if self.one_in(2) {
                    self.pick(&["; else ", "; elif true; then "]);
                    self.list(depth);
                }
                self.pick(&["; fi", "\nfi"]);
            }
            3 => {
                self.pick(&["while ", "until "]);
                self.marked(depth);
                self.put("; do ");
                self.list(depth);
                self.pick(&["; break; done", "\nbreak\ndone"]);
            }
            4..=6 => {
                self.pick(&["for x in ", "for y in ", "for i in ", "select x in "]);
                self.word(depth);
                self.pick(&["; do ", " b; do ", "\ndo\n", ";{ "]);
                let brace = self.out.ends_with("{ ");
                self.list(depth);
                self.put(if brace { "; }" } else { "; done" });
            }
            7 => {
                self.put("for ((");
                self.pick(&["x=0; x<1; x++", ";0;", "i=0;i<1;i++", " ; 0 ; "]);
                self.pick(&["))\ndo ", ")); do ", ")) { "]);
                let brace = self.out.ends_with("{ ");
                self.list(depth);
                self.put(if brace { "; }" } else { "; done" });
            }
            8 => {
                self.pick(&["for x do ", "for x; do ", "for x\ndo "]);
                self.list(depth);
                self.put("; done");
            }
            _ => self.case(depth),
        }
        self.redirections(depth);
    }

    fn case(&mut self, depth: usize) {
        self.put("case ");
        self.word(depth);
        self.pick(&[" in ", " in\n", "\nin ", " in # c\n"]);
        for _ in 0..self.dice.roll(3) {
            self.pick(&["", "", "(", "( "]);
            match self.dice.roll(6) {
                0 => self.pick(&[
                    "a|b", "a | b", "*", "esac", "\"x\"", "a\\)", "[a)]", "@(a|b)", "in", "if", "'a b'", "!", "#",
                ]),
                1 => self.word(depth),
                _ => self.put("*"),
            }
            self.pick(&[") ", ")", ")\n", " )"]);
            self.list(depth);
            self.pick(&[";; ", ";;\n", "\n;;", ";& ", ";;& ", " ;;"]);
        }
        self.pick(&["esac", "\nesac", " esac"]);
    }
}
