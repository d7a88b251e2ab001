//! Finds escape sequences in output that arrives in any pieces.
//!
//! What is taken for a sequence follows ECMA-48 as terminals do it: control sequences (CSI), strings for the terminal
//! (OSC, DCS, APC, PM, SOS), character sets, single characters, also in their eight-bit form where that is written in
//! UTF-8. A sequence that breaks off is not followed for ever: a string ends at a character that no string may hold, so
//! that one stray byte does not swallow everything after it.

/// What output consists of.
pub(super) enum Token<'a> {
    /// Characters, and controls that a terminal does nothing with.
    Text(&'a [u8]),
    /// A control character that a terminal acts on.
    Control(u8),
    /// A sequence.
    Sequence(Sequence),
}

/// A sequence. Only those that move, erase or switch matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    kind: SequenceKind,
    numbers: [u16; 4],
    count: usize,
    last: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SequenceKind {
    /// `ESC X`
    Single,
    /// `ESC [ … X`
    #[default]
    Control,
    /// `ESC [ ? … X`
    Private,
    /// With anything else in it.
    Other,
}

/// The longest string for the terminal, in bytes: larger than the pictures that programs send that way.
const STRING_BYTES: u32 = 8 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and characters that need another one.
    Intermediate,
    Sequence,
    String {
        left: u32,
        /// An OSC: ends with BEL as well.
        command: bool,
    },
    /// After the first byte of what may be a control in its eight-bit form.
    EightBit,
    EightBitInString {
        left: u32,
        command: bool,
    },
}

/// The first byte of U+0080 to U+009F, and of everyday characters up to U+00BF.
const EIGHT_BIT: u8 = 0xc2;

#[derive(Default)]
pub(super) struct Escapes {
    state: State,
    sequence: Sequence,
}

impl Sequence {
    pub(super) fn number(&self, place: usize) -> u16 {
        self.numbers.get(place).copied().unwrap_or(0)
    }

    /// The name of a sequence that matters.
    pub(super) fn name(&self) -> &'static str {
        match (self.kind, self.last) {
            (SequenceKind::Single, b'c') => "ESC c",
            (SequenceKind::Single, b'D') => "ESC D",
            (SequenceKind::Single, b'E') => "ESC E",
            (SequenceKind::Single, b'M') => "ESC M",
            (SequenceKind::Private, b'h') => "?h",
            (SequenceKind::Private, b'l') => "?l",
            (SequenceKind::Control, b'A') => "A",
            (SequenceKind::Control, b'B') => "B",
            (SequenceKind::Control, b'C') => "C",
            (SequenceKind::Control, b'D') => "D",
            (SequenceKind::Control, b'E') => "E",
            (SequenceKind::Control, b'F') => "F",
            (SequenceKind::Control, b'G') => "G",
            (SequenceKind::Control, b'H') => "H",
            (SequenceKind::Control, b'J') => "J",
            (SequenceKind::Control, b'K') => "K",
            (SequenceKind::Control, b'P') => "P",
            (SequenceKind::Control, b'X') => "X",
            (SequenceKind::Control, b'@') => "@",
            (SequenceKind::Control, b'`') => "`",
            (SequenceKind::Control, b'a') => "a",
            (SequenceKind::Control, b'd') => "d",
            (SequenceKind::Control, b'f') => "f",
            _ => "",
        }
    }

    /// Whether it clears or switches the screen, or goes to a place on it.
    pub(super) fn is_about_the_screen(&self) -> bool {
        match (self.kind, self.last) {
            (SequenceKind::Single, b'c') | (SequenceKind::Control, b'H' | b'f' | b'd') => true,
            (SequenceKind::Control, b'J') => matches!(self.number(0), 2 | 3),
            (SequenceKind::Private, b'h' | b'l') => {
                self.numbers[..self.count.min(4)].iter().any(|mode| matches!(mode, 47 | 1047 | 1049))
            }
            _ => false,
        }
    }

    fn begin(kind: SequenceKind) -> Self {
        Self { kind, ..Self::default() }
    }

    fn take(&mut self, byte: u8) {
        match byte {
            b'0'..=b'9' => {
                self.count = self.count.max(1);
                if let Some(number) = self.numbers.get_mut(self.count - 1) {
                    *number = number.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                }
            }
            b';' => self.count = self.count.max(1) + 1,
            b'?' if self.count == 0 && self.kind == SequenceKind::Control => self.kind = SequenceKind::Private,
            _ => self.kind = SequenceKind::Other,
        }
    }
}

/// What ends a stretch of text.
fn is_special(byte: u8) -> bool {
    matches!(byte, 0x07 | 0x08 | b'\n' | b'\r' | 0x0e | 0x0f | 0x1b | EIGHT_BIT)
}

impl Escapes {
    /// Whether nothing in it is a sequence or goes back in a line.
    pub(super) fn are_none_in(bytes: &[u8]) -> bool {
        !bytes.iter().any(|byte| *byte != b'\n' && is_special(*byte))
    }

    /// Takes the next bytes and reports what they are.
    pub(super) fn push(&mut self, mut bytes: &[u8], report: &mut impl FnMut(Token<'_>)) {
        while let Some(first) = bytes.first() {
            let used = match self.state {
                State::Text => self.text(bytes, report),
                State::EightBit => self.eight_bit(*first, report),
                State::EightBitInString { left, command } => {
                    let ends = *first == 0x9c;
                    self.state = if ends { State::Text } else { State::String { left, command } };
                    usize::from(ends)
                }
                State::String { left, command } => self.string(bytes, left, command),
                State::Escape | State::Intermediate | State::Sequence => self.byte(*first, report),
            };
            bytes = &bytes[used..];
        }
    }

    /// Reports what is left: nothing follows.
    pub(super) fn finish(&mut self, text: &mut impl FnMut(&[u8])) {
        if self.state == State::EightBit {
            text(&[EIGHT_BIT]);
        }
        self.state = State::Text;
    }

    fn text(&mut self, bytes: &[u8], report: &mut impl FnMut(Token<'_>)) -> usize {
        let end = bytes.iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len());
        if end > 0 {
            report(Token::Text(&bytes[..end]));
            return end;
        }
        match bytes[0] {
            0x1b => self.state = State::Escape,
            EIGHT_BIT => self.state = State::EightBit,
            control => report(Token::Control(control)),
        }
        1
    }

    fn eight_bit(&mut self, byte: u8, report: &mut impl FnMut(Token<'_>)) -> usize {
        self.state = State::Text;
        match byte {
            0x85 => report(Token::Control(b'\n')),
            0x90 | 0x98 | 0x9e | 0x9f => self.state = State::String { left: STRING_BYTES, command: false },
            0x9d => self.state = State::String { left: STRING_BYTES, command: true },
            0x9b => {
                self.sequence = Sequence::begin(SequenceKind::Control);
                self.state = State::Sequence;
            }
            0x80..=0x9f => {}
            0xa0..=0xbf => report(Token::Text(&[EIGHT_BIT, byte])),
            _ => {
                report(Token::Text(&[EIGHT_BIT]));
                return 0;
            }
        }
        1
    }

    /// Passes over a string for the terminal.
    fn string(&mut self, bytes: &[u8], left: u32, command: bool) -> usize {
        let ends = |byte: &u8| match byte {
            0x07 | b'\n' => command,
            0x08..=0x0d => false,
            byte => *byte < 0x20 || *byte == EIGHT_BIT,
        };
        let most = bytes.len().min(left as usize);
        let Some(end) = bytes[..most].iter().position(ends) else {
            let left = left - u32::try_from(most).unwrap_or(left);
            self.state = if left == 0 { State::Text } else { State::String { left, command } };
            return most;
        };
        self.state = match bytes[end] {
            0x1b => State::Escape,
            EIGHT_BIT => State::EightBitInString { left, command },
            _ => State::Text,
        };
        // A character that no string may hold is read again, outside the string.
        end + usize::from(matches!(bytes[end], 0x07 | 0x18 | 0x1a | 0x1b | EIGHT_BIT))
    }

    /// One byte within a sequence.
    fn byte(&mut self, byte: u8, report: &mut impl FnMut(Token<'_>)) -> usize {
        match (self.state, byte) {
            (_, 0x1b) => self.state = State::Escape,
            (_, 0x18 | 0x1a) => self.state = State::Text,
            // No sequence holds such a character: it broke off, and text goes on. A terminal would go on with the
            // sequence after the end of a line, and eat a character of the next one.
            (_, b'\n' | 0x80..) => {
                self.state = State::Text;
                return 0;
            }
            // Controls within a sequence are done at once.
            (_, 0x00..=0x1f) => {
                if is_special(byte) {
                    report(Token::Control(byte));
                }
            }
            (_, 0x7f) => {}
            (State::Escape, b'[') => {
                self.sequence = Sequence::begin(SequenceKind::Control);
                self.state = State::Sequence;
            }
            (State::Escape, b']') => self.state = State::String { left: STRING_BYTES, command: true },
            (State::Escape, b'P' | b'X' | b'^' | b'_') => {
                self.state = State::String { left: STRING_BYTES, command: false };
            }
            (State::Escape | State::Intermediate, 0x20..=0x2f) => self.state = State::Intermediate,
            (State::Escape, _) => {
                self.sequence = Sequence::begin(SequenceKind::Single);
                self.end(byte, report);
            }
            (State::Intermediate, _) => self.state = State::Text,
            (_, 0x40..=0x7e) => self.end(byte, report),
            (_, _) => self.sequence.take(byte),
        }
        1
    }

    fn end(&mut self, last: u8, report: &mut impl FnMut(Token<'_>)) {
        self.state = State::Text;
        self.sequence.last = last;
        report(Token::Sequence(self.sequence.clone()));
    }
}
