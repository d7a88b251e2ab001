//! Words: quotes, expansions, patterns.

use super::Writer;

/// Names of variables. `u` is never set.
const NAMES: &[&str] = &["x", "y", "u", "a", "x", "u"];

impl Writer {
    /// One to three pieces.
    pub(super) fn word(&mut self, depth: usize) {
        for _ in 0..=[0, 0, 0, 1, 1, 2][self.dice.roll(6)] {
            self.piece(depth);
        }
    }

    fn piece(&mut self, depth: usize) {
        match self.dice.roll(22) {
            0..=4 => self.pick(&["a", "b", "1", "foo", "-n", "x=1", "%s", "E", "-", "zza"]),
            5 => self.single(),
            6..=9 => self.double(depth),
            10 => self.ansi(),
            11 => {
                self.put("$");
                self.double(depth);
            }
            12..=16 => self.expansion(depth),
            17 => {
                self.put("\\");
                self.special();
            }
            18 => self.pick(&["*", "?", "[a-z]", "~", "{a,b}", "{1..3}", "[!a]", "@", "%", "^", "+", ",", ":", "!"]),
            19 => self.pick(&["#", "a#", "a#b", "{", "}", "{}", "]", "[", "=", "\\\n", "$", "[["]),
            20 if depth > 0 => self.process(depth),
            21 => {
                self.put("{");
                self.word(0);
                self.put(",");
                self.word(0);
                self.put("}");
            }
            _ => self.put("w"),
        }
    }

    fn single(&mut self) {
        self.put("'");
        self.inside(&['\'']);
        self.put("'");
    }

    fn ansi(&mut self) {
        self.put("$'");
        match self.dice.roll(4) {
            0 => self.pick(&["\\'", "\\n", "\\x27", "\\\\", "\\\"", "\\x7a\\x7aa", "\\cA", "\\0", "\\u0027", "\\44"]),
            _ => self.inside(&['\'', '\\']),
        }
        self.put("'");
    }

    /// Characters that may stand between quotes, sometimes a marker.
    fn inside(&mut self, without: &[char]) {
        for _ in 0..self.dice.roll(4) {
            match self.dice.roll(8) {
                0 => self.marker(),
                1 => self.pick(&["; ", " ", "\n"]),
                _ => {
                    let one = *self.dice.one_of(super::SPECIAL);
                    if !without.contains(&one) {
                        self.out.push(one);
                    }
                }
            }
        }
    }

    pub(super) fn double(&mut self, depth: usize) {
        self.put("\"");
        for _ in 0..self.dice.roll(4) {
            match self.dice.roll(7) {
                0 => self.inside(&['"', '`', '$', '\\']),
                1 => self.pick(&["'", "\\\"", "\\$", "\\\\", "\\`", "#", "}", "{", ")", "(", "\\'", "$", "\\\n", "!"]),
                2 => self.pick(&["a", " ", "; ", "x"]),
                _ if depth > 0 => self.expansion(depth),
                _ => self.put("b"),
            }
        }
        self.put("\"");
    }

    /// Something that a dollar sign or a backtick opens.
    pub(super) fn expansion(&mut self, depth: usize) {
        let deeper = depth.saturating_sub(1);
        match self.dice.roll(if depth == 0 { 6 } else { 20 }) {
            0..=2 => {
                self.put("$");
                self.pick(NAMES);
            }
            3 => self.pick(&["$@", "$*", "$#", "$?", "$1", "$-", "$0", "\"$@\"", "${#}", "${@}", "${#x}", "${#u}"]),
            4..=12 => self.braces(depth),
            13 | 14 => {
                self.put("$(");
                self.substituted(deeper);
                self.put(")");
            }
            15 => {
                self.put("`");
                let from = self.out.len();
                self.substituted(0);
                let inner = self.out.split_off(from).replace('`', "");
                self.put(&inner);
                self.put("`");
            }
            16 | 17 => {
                self.put("$((");
                self.arithmetic(deeper);
                self.put("))");
            }
            18 => {
                self.put("$[");
                self.arithmetic(deeper);
                self.put("]");
            }
            _ => self.put("$x"),
        }
    }

    fn substituted(&mut self, depth: usize) {
        match self.dice.roll(6) {
            0 => self.pick(&["< /dev/null", "<<< a", "", " ", "# c\n", "echo a", "echo zza", "cat <<E\nb\nE\n", "(:)"]),
            1 if depth > 0 => self.list(depth - 1),
            2 => {
                self.put("echo ");
                self.marker();
            }
            3 => {
                self.pick(&["echo ", ": ", "case a in a) ", "case a in (a) "]);
                if self.out.ends_with(") ") {
                    self.marker();
                    self.pick(&[";; esac", " ;; b) :;; esac", "\nesac"]);
                } else {
                    self.word(depth);
                }
            }
            _ => {
                self.marker();
                self.pick(&["", "", " ", "\n", ";", " # )\n", " #\n"]);
            }
        }
    }

    pub(super) fn process(&mut self, depth: usize) {
        self.pick(&["<(", ">("]);
        self.substituted(depth.saturating_sub(1));
        self.put(")");
    }

    fn braces(&mut self, depth: usize) {
        let deeper = depth.saturating_sub(1);
        self.put("${");
        match self.dice.roll(12) {
            0 => self.put("#"),
            1 => self.put("!"),
            _ => {}
        }
        match self.dice.roll(14) {
            0 => self.pick(&["@", "*", "#", "?", "-", "$", "!", "1", "10", "_"]),
            1 => {
                self.pick(NAMES);
                self.put("[");
                self.subscript(deeper);
                self.put("]");
            }
            _ => self.pick(NAMES),
        }
        match self.dice.roll(16) {
            0..=6 => {
                self.pick(&["-", ":-", "=", ":=", "?", ":?", "+", ":+", "-", ":-", "+"]);
                self.braced(deeper);
            }
            7 | 8 => {
                self.pick(&["#", "##", "%", "%%"]);
                self.braced(deeper);
            }
            9 | 10 => {
                self.pick(&["/", "//", "/#", "/%"]);
                self.braced(deeper);
                if !self.one_in(4) {
                    self.put("/");
                    self.braced(deeper);
                }
            }
            11 => {
                self.pick(&["^", "^^", ",", ",,", "~", "~~"]);
                self.braced(deeper);
            }
            12 => {
                self.put(":");
                self.arithmetic(deeper);
                if self.one_in(2) {
                    self.put(":");
                    self.arithmetic(deeper);
                }
            }
            13 => self.pick(&["@Q", "@P", "@U", "@a", "@A", "@E", "*", "@", "@K", "[@]", "[*]"]),
            _ => {}
        }
        self.put("}");
    }

    /// What follows an operator inside braces.
    fn braced(&mut self, depth: usize) {
        for _ in 0..self.dice.roll(4) {
            match self.dice.roll(11) {
                0 => self.single(),
                1 => self.double(depth),
                2 => self.pick(&["'", "\"", "\\", "\\}", "\\'", "\\\"", "'\"'", "\"'\"", "'}'", "\"}\"", "{", "\\\\"]),
                3 => self.ansi(),
                4 => self.special(),
                5 => self.pick(&[" ", "a", "*", "/", "; ", "\n", "(", ")", "#"]),
                6 => {
                    self.put("$(");
                    self.marker();
                    self.put(")");
                }
                7 => self.marker(),
                8 if depth > 0 => self.process(depth),
                _ => self.expansion(depth),
            }
        }
    }

    pub(super) fn subscript(&mut self, depth: usize) {
        match self.dice.roll(8) {
            0 => self.pick(&["@", "*", "0", "-1", "x", "y[0]", "'0'", "\"0\"", "$x", "1+1", " 1 "]),
            1 => self.noise(),
            2 => self.word(depth),
            3 => {
                self.put("$(");
                self.marker();
                self.put(")");
            }
            _ => self.put("1"),
        }
    }

    pub(super) fn arithmetic(&mut self, depth: usize) {
        match self.dice.roll(10) {
            0 => self.noise(),
            1 => self.word(depth),
            2 => {
                self.put("$(");
                self.marker();
                self.put(")");
            }
            3 => {
                self.pick(&[
                    "x=1", "x++", "y[1]", "(1)", "1<2", "x?1:2", "\"1\"", "'1'", "\\1", "16#f", "x#y", "", " ",
                ]);
            }
            4 => {
                self.put("(");
                self.arithmetic(depth.saturating_sub(1));
                self.put(")");
            }
            5 => self.expansion(depth),
            _ => self.pick(&["1", "1+1", "x", " 2 ", "0"]),
        }
    }
}
