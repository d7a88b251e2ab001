//! Follows escape sequences as far as it takes to know whether text is text, and where it scrolls.
//!
//! The emulator knows both, but does not tell. Where this is not certain, it says so.

/// What output has been in the middle of, and what it has set.
#[derive(Default)]
pub(super) struct SequenceTracker {
    state: State,
    has_margins: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// After an escape character and bytes that more belongs to.
    Intermediate,
    /// A control sequence, and whether it has no parameters so far.
    Control {
        is_bare: bool,
    },
    /// A command for the terminal, which a bell ends too.
    Command,
    /// Another string.
    String,
}

impl SequenceTracker {
    /// Whether the next byte is text, which moves the whole screen where it scrolls.
    pub(super) fn is_plain(&self) -> bool {
        self.state == State::Text && !self.has_margins
    }

    /// A screen that gets another size has no margins.
    pub(super) fn note_resize(&mut self) {
        self.has_margins = false;
    }

    /// Follows the next bytes of output.
    pub(super) fn follow(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.state == State::Text {
                let Some(place) = memchr::memchr(0x1b, bytes) else { return };
                bytes = &bytes[place..];
            }
            self.step(bytes[0]);
            bytes = &bytes[1..];
        }
    }

    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (_, 0x1b) => State::Escape,
            (State::Escape, b'[') => State::Control { is_bare: true },
            (State::Escape, b']') => State::Command,
            (State::Escape, b'P' | b'X' | b'^' | b'_') => State::String,
            (State::Escape, b' '..=b'/') => State::Intermediate,
            (State::Escape, b'c') => {
                self.has_margins = false;
                State::Text
            }
            (_, 0x18 | 0x1a) | (State::Escape | State::Intermediate, b'0'..=b'~') | (State::Command, 0x07) => {
                State::Text
            }
            (State::Control { is_bare }, b'@'..=b'~') => {
                // Without parameters it takes the margins away.
                if byte == b'r' {
                    self.has_margins = !is_bare;
                }
                State::Text
            }
            (State::Control { .. }, _) => State::Control { is_bare: false },
            (state, _) => state,
        };
    }
}
