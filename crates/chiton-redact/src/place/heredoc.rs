//! Redirections, and the here-documents that some of them announce.

use super::scanner::{Case, Scanner, Until, Words};
use super::simple::{Operand, SHELLS, Simple, is_one_of};
use super::{Heredoc, Place};

impl Scanner<'_> {
    pub(super) fn redirection(
        &mut self,
        simple: &mut Simple,
        heredocs: &mut Vec<(Heredoc, Option<String>)>,
        cases: &mut Vec<Case>,
    ) -> Option<()> {
        let rest = self.rest();
        if let [b'<' | b'>', b'(', ..] = rest {
            simple.begin_word();
            simple.bare = false;
            self.position += 2;
            return self.deeper(|scanner| scanner.commands(Until::Paren, Words::Commands));
        }
        // The digits before it are the descriptor.
        if simple.in_word && simple.bare && simple.word.iter().all(u8::is_ascii_digit) {
            simple.in_word = false;
        }
        Self::end_word(simple, cases);
        if rest.starts_with(b"<<") && !rest.starts_with(b"<<<") && !simple.condition {
            let strips_tabs = rest.starts_with(b"<<-");
            self.position += if strips_tabs { 3 } else { 2 };
            let (delimiter, quoted) = self.delimiter()?;
            let reader = reader(simple);
            self.announced += 1;
            heredocs.push((Heredoc { delimiter, quoted, strips_tabs }, reader));
            return Some(());
        }
        let operators: [&[u8]; 9] = [b"<<<", b"<&", b"<>", b">>", b">|", b">&", b"<", b">", b""];
        let operator = operators.iter().find(|operator| rest.starts_with(operator))?;
        self.position += operator.len();
        simple.operand = match *operator {
            _ if simple.condition => None,
            b"<<<" => Some(Operand::Text(reader(simple))),
            b"<&" | b">&" => Some(Operand::Descriptor),
            _ => Some(Operand::File),
        };
        Some(())
    }

    /// The word that ends a here-document, and whether it is quoted.
    pub(super) fn delimiter(&mut self) -> Option<(Vec<u8>, bool)> {
        while let [b' ' | b'\t', ..] = self.rest() {
            self.position += 1;
        }
        let (mut word, mut quoted) = (Vec::new(), false);
        loop {
            if self.token(Place::Unfit("it is the delimiter of a here-document there"), None) {
                word.push(b'x');
                continue;
            }
            match *self.rest() {
                [] | [b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')', ..] => break,
                [b'\\', byte, ..] => {
                    word.push(byte);
                    quoted = true;
                    self.position += 2;
                }
                [quote @ (b'\'' | b'"'), ref after @ ..] => {
                    let length = memchr::memchr(quote, after)?;
                    let inside = &after[..length];
                    if inside.contains(&b'\\')
                        || inside.contains(&b'\n')
                        || memchr::memmem::find(inside, b"{{").is_some()
                    {
                        self.give_up("the delimiter of a here-document is written in an unusual way")?;
                    }
                    word.extend_from_slice(inside);
                    quoted = true;
                    self.position += length + 2;
                }
                [b'$' | b'`', ..] => {
                    self.give_up("the delimiter of a here-document is written in an unusual way")?;
                }
                [byte, ..] => {
                    word.push(byte);
                    self.position += 1;
                }
            }
        }
        (!word.is_empty()).then_some((word, quoted))
    }

    /// The bodies of the here-documents that were announced on the line that just ended.
    pub(super) fn bodies(&mut self, heredocs: &mut Vec<(Heredoc, Option<String>)>) -> Option<()> {
        for (heredoc, reader) in heredocs.drain(..) {
            self.announced -= 1;
            let (start, mut line) = (self.position, self.position);
            let end = loop {
                if line >= self.end {
                    // Bash takes the end of the text for the end of the body, and says so.
                    break None;
                }
                let length = memchr::memchr(b'\n', &self.text[line..self.end]);
                let content = &self.text[line..length.map_or(self.end, |length| line + length)];
                let tabs = content.iter().take_while(|byte| heredoc.strips_tabs && **byte == b'\t').count();
                if content[tabs..] == heredoc.delimiter {
                    break Some(line + content.len());
                }
                line += content.len() + 1;
            };
            let after = end?;
            let outer = std::mem::replace(&mut self.end, line);
            self.position = start;
            let read = self.body(&heredoc, reader.as_deref());
            self.end = outer;
            read?;
            self.position = (after + 1).min(self.end);
        }
        Some(())
    }

    pub(super) fn body(&mut self, heredoc: &Heredoc, reader: Option<&str>) -> Option<()> {
        while self.position < self.end {
            let place = if self.backticks > 0 {
                Place::Unfit("it is in a here-document between backticks")
            } else if !heredoc.quoted && self.position > 0 && self.is_escaped() {
                Place::Unfit("a backslash stands before it")
            } else if !heredoc.quoted && self.position > 0 && self.text[self.position - 1] == b'$' {
                Place::Unfit("a $ stands before it")
            } else {
                Place::Heredoc(heredoc.clone())
            };
            if self.token(place, reader.map(str::to_owned)) {
                continue;
            }
            match *self.rest() {
                [b'\\', _, ..] if !heredoc.quoted => self.position += if self.is_token_at(1) { 1 } else { 2 },
                [b'$' | b'`', ..] if !heredoc.quoted => self.expansion(true)?,
                _ => self.position += 1,
            }
        }
        Some(())
    }
}

/// The command that reads its input as code, where this is one.
fn reader(simple: &Simple) -> Option<String> {
    simple.words.iter().find_map(|word| is_one_of(word, &SHELLS).or_else(|| is_one_of(word, &["ssh", "source", "."])))
}
