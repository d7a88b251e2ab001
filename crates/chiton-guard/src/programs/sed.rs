//! The commands of sed that do more than edit text.

/// A command of a sed script that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SedCommand {
    /// Runs a command, or the edited line where it is empty.
    Run(String),
    /// Writes to a file.
    Write(String),
}

/// The commands in `script` that run or write something.
pub(crate) fn sed_commands(script: &str) -> Vec<SedCommand> {
    let mut reader = Reader { script: script.chars().collect(), at: 0, found: Vec::new() };
    while reader.at < reader.script.len() {
        reader.command();
    }
    reader.found
}

struct Reader {
    script: Vec<char>,
    at: usize,
    found: Vec<SedCommand>,
}

impl Reader {
    fn peek(&self) -> char {
        self.script.get(self.at).copied().unwrap_or('\n')
    }

    fn command(&mut self) {
        self.address();
        let command = self.peek();
        self.at += 1;
        match command {
            's' | 'y' => {
                let delimiter = self.peek();
                self.at += 1;
                self.part(delimiter);
                self.part(delimiter);
                if command == 's' {
                    self.flags();
                }
            }
            'e' => {
                let rest = self.line();
                self.found.push(SedCommand::Run(rest));
            }
            'w' | 'W' => {
                let file = self.line();
                self.found.push(SedCommand::Write(file));
            }
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
                // Text goes on after a backslash at the end of the line.
                while self.line().ends_with('\\') && self.at < self.script.len() {}
            }
            ':' | 'b' | 't' | 'T' => {
                while self.at < self.script.len() && !matches!(self.peek(), ';' | '\n' | '}') {
                    self.at += 1;
                }
            }
            _ => {}
        }
    }

    fn address(&mut self) {
        loop {
            match self.peek() {
                ' ' | '\t' | ',' | '!' | '$' | '+' | '~' | '0'..='9' => self.at += 1,
                '/' => {
                    self.at += 1;
                    self.part('/');
                    while matches!(self.peek(), 'I' | 'M') {
                        self.at += 1;
                    }
                }
                '\\' => {
                    self.at += 1;
                    let delimiter = self.peek();
                    self.at += 1;
                    self.part(delimiter);
                }
                _ => return,
            }
            if self.at >= self.script.len() {
                return;
            }
        }
    }

    fn part(&mut self, delimiter: char) {
        let mut bracket = false;
        while self.at < self.script.len() {
            let character = self.peek();
            self.at += 1;
            match character {
                '\\' => self.at += 1,
                '[' if !bracket => bracket = true,
                ']' => bracket = false,
                other if other == delimiter && (!bracket || delimiter != '/') => return,
                other if other == delimiter => {
                    // A delimiter in brackets belongs to them only if they close before the next one.
                    let rest: String = self.script[self.at..]
                        .iter()
                        .take_while(|next| **next != delimiter && **next != '\n')
                        .collect();
                    if !rest.contains(']') {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    fn flags(&mut self) {
        while self.at < self.script.len() {
            let flag = self.peek();
            match flag {
                'e' => self.found.push(SedCommand::Run(String::new())),
                'w' => {
                    self.at += 1;
                    let file = self.line();
                    self.found.push(SedCommand::Write(file));
                    return;
                }
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {}
                _ => return,
            }
            self.at += 1;
        }
    }

    fn line(&mut self) -> String {
        let rest: String =
            self.script[self.at.min(self.script.len())..].iter().take_while(|character| **character != '\n').collect();
        self.at += rest.chars().count() + 1;
        rest.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_run_or_write_are_found() {
        let run = |text: &str| SedCommand::Run(text.to_owned());
        let write = |text: &str| SedCommand::Write(text.to_owned());
        let cases: [(&str, Vec<SedCommand>); 12] = [
            ("s/a/b/g", vec![]),
            ("s/e/w/; s|x|e|", vec![]),
            ("1,5d; /we/p; $!N", vec![]),
            ("s/x/id/e", vec![run("")]),
            ("1e id", vec![run("id")]),
            ("w out", vec![write("out")]),
            ("s/a/b/w /etc/passwd", vec![write("/etc/passwd")]),
            ("/start/,/end/{s/a/b/;p}", vec![]),
            ("a\\\nexit\n", vec![]),
            ("s/[/]e/x/", vec![]),
            ("y/ew/we/", vec![]),
            ("\\,e,d", vec![]),
        ];
        for (script, expected) in cases {
            assert_eq!(sed_commands(script), expected, "{script}");
        }
    }
}
