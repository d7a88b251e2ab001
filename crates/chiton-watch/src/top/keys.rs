//! Keys, as far as they mean something here.

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

/// A key that somebody pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter, a digit, a sign.
    Character(char),
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Ctrl-C.
    Interrupt,
}

impl Key {
    /// The key of an event of the terminal, where it is one that means something.
    pub fn of(event: &Event) -> Option<Self> {
        let Event::Key(key) = event else { return None };
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        Some(match key.code {
            KeyCode::Char('c') if control => Self::Interrupt,
            KeyCode::Char('n') if control => Self::Down,
            KeyCode::Char('p') if control => Self::Up,
            KeyCode::Char(_) if control => return None,
            KeyCode::Char(character) => Self::Character(character),
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Backspace => Self::Backspace,
            _ => return None,
        })
    }
}
