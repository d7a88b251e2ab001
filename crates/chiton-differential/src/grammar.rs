//! Random texts with marker commands in them.
//!
//! Most follow the grammar of bash closely enough to run; a part of them is then damaged by a few characters, because
//! the places where two readers part are rarely where a grammar leads.

mod commands;
mod words;

use chiton_testkit::dice::Dice;

/// The text of this number. It follows from `seed` and `number` alone.
pub fn text(seed: u64, number: u64) -> String {
    let mut writer = Writer::new(mixed(seed, number));
    writer.whole();
    writer.out
}

/// A seed in which every bit depends on both numbers (the finaliser of `SplitMix64`).
fn mixed(seed: u64, number: u64) -> u64 {
    let mut bits = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Characters at which readers part.
const SPECIAL: &[char] = &[
    '\'', '\'', '"', '"', '`', '\\', '\\', '$', '$', '(', ')', '{', '}', '[', ']', '#', ';', '&', '|', '<', '>', '!',
    '~', '*', '?', '/', '-', '=', '+', '%', '@', '^', ',', ':', ' ', ' ', '\n', '\n', '\t', 'a', 'x', '1', 'E',
];

/// What a text ends with where it should close what a reader may think is still open.
const CLOSERS: &[&str] = &[
    "}", "\"", "'", ")", "}\"", "'}\"", "\"}", "))", "]", "`", "]]", "'\"", "\nE\n", " }", ")\"", "esac", "fi", "done",
];

/// Writes one text.
struct Writer {
    dice: Dice,
    out: String,
    /// How many markers were written.
    markers: usize,
    /// Here documents whose bodies follow at the next line end.
    here: Vec<String>,
}

impl Writer {
    fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), out: String::new(), markers: 0, here: Vec::new() }
    }

    fn whole(&mut self) {
        match self.dice.roll(10) {
            0 => self.soup(),
            1..=3 => self.tailed(),
            _ => self.list(3),
        }
        self.bodies();
        if self.one_in(2) {
            for _ in 0..=self.dice.roll(3) {
                self.damage();
            }
        }
        if self.out.len() > 600 {
            let end = (0..=600).rev().find(|at| self.out.is_char_boundary(*at)).unwrap_or_default();
            self.out.truncate(end);
        }
    }

    /// Pieces in any order.
    fn soup(&mut self) {
        for _ in 0..3 + self.dice.roll(10) {
            match self.dice.roll(8) {
                0 | 1 => self.marker(),
                2 => self.special(),
                3 => self.word(1),
                4 => self.put(" "),
                5 => self.pick(&["; ", "\n", " && ", " | ", "; ", " # ", "\n"]),
                6 => self.pick(&[
                    "if ", "then ", "fi", "do ", "done", "case x in ", "esac", "{ ", "}", "(", ")", "[[ ", " ]]", "((",
                    "))", "x=", "x=(", "<<E ", "\nE\n", "${x", "$(", "\"", "'", "for x in ", "while ", "f() ",
                    "function ", "coproc ", "time ", "! ", "a[", "]=",
                ]),
                _ => self.expansion(1),
            }
        }
    }

    /// Something, then a marker, then what would close the something if it were still open.
    fn tailed(&mut self) {
        match self.dice.roll(4) {
            0 => self.list(2),
            1 => {
                self.pick(&["echo ", ": ", "x=", "x=( ", "[[ -n ", "case a in ", "cat <<E\n", "(( ", "let "]);
                self.noise();
            }
            _ => {
                self.pick(&["echo ", ": ", "x=", "y[1]=", "cat <<< ", "echo >&"]);
                self.word(2);
            }
        }
        self.pick(&["; ", "\n", " ; ", " && ", ";", "#; "]);
        self.marker();
        self.pick(&[" # ", " #", "\n", "; # ", " "]);
        for _ in 0..self.dice.roll(3) {
            self.pick(CLOSERS);
        }
    }

    fn damage(&mut self) {
        let mut letters: Vec<char> = self.out.chars().collect();
        if letters.is_empty() {
            return;
        }
        let at = self.dice.roll(letters.len());
        let special = *self.dice.one_of(SPECIAL);
        match self.dice.roll(8) {
            0 | 1 => {
                letters.remove(at);
            }
            2..=4 => letters.insert(at, special),
            5 => letters[at] = special,
            6 => {
                let end = (at + 1 + self.dice.roll(6)).min(letters.len());
                let piece = letters[at..end].to_vec();
                let to = self.dice.roll(letters.len());
                letters.splice(to..to, piece);
            }
            _ => {
                letters.insert(at, '\n');
                letters.insert(at, '\\');
            }
        }
        self.out = letters.into_iter().collect();
    }

    /// The next marker: `zza`, `zzb`, …
    fn marker(&mut self) {
        let letter = char::from(b"abcdefghij"[self.markers % 10]);
        self.markers += 1;
        self.put("zz");
        self.out.push(letter);
    }

    fn special(&mut self) {
        let one = *self.dice.one_of(SPECIAL);
        self.out.push(one);
    }

    /// A few characters of any kind.
    fn noise(&mut self) {
        for _ in 0..=self.dice.roll(5) {
            self.special();
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn pick(&mut self, choices: &[&str]) {
        let choice = self.dice.one_of(choices);
        self.out.push_str(choice);
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.dice.roll(many) == 0
    }

    /// A line end, and the bodies of the here documents that were announced before it.
    fn line_end(&mut self) {
        if self.here.is_empty() {
            self.put("\n");
        } else {
            self.bodies();
        }
    }

    fn bodies(&mut self) {
        for delimiter in std::mem::take(&mut self.here) {
            self.put("\n");
            for _ in 0..self.dice.roll(3) {
                match self.dice.roll(7) {
                    0 => self.marker(),
                    1 => self.noise(),
                    2 => self.put("\\"),
                    3 => self.put("a\\"),
                    4 => self.put("text"),
                    _ => self.expansion(1),
                }
                self.put("\n");
            }
            self.out.push_str(&delimiter);
        }
        if !self.out.ends_with('\n') {
            self.put("\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_follows_from_its_seed_and_number() {
        assert_eq!(text(7, 11), text(7, 11));
        let different: std::collections::HashSet<String> = (0..100).map(|number| text(7, number)).collect();
        assert!(different.len() > 90);
    }

    #[test]
    fn most_texts_have_a_marker() {
        let with = (0..1000).filter(|number| text(1, *number).contains("zz")).count();
        assert!(with > 700, "{with}");
    }
}
