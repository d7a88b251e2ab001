#![doc = include_str!("../README.md")]

pub mod answers;
mod backlog;
pub mod cast;
pub mod keys;
pub mod picture;
pub mod repaint;
pub mod screen;
mod sequences;
pub mod snapshot;
pub mod text;

use serde::{Deserialize, Serialize};

pub use screen::Screen;
pub use snapshot::Snapshot;

/// How large a terminal is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Characters in a row.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// A size that no terminal here can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a terminal cannot have {columns} columns and {rows} rows: it may have from {LEAST_COLUMNS} to {MOST_COLUMNS} columns and from 1 to {MOST_ROWS} rows"
)]
pub struct BadSize {
    columns: u64,
    rows: u64,
}

/// A wide character needs two columns; with only one, the emulator never ends.
const LEAST_COLUMNS: u16 = 2;
/// Wider than any screen, and small enough that a screen with what scrolled off it stays a few megabytes.
const MOST_COLUMNS: u16 = 1000;
/// For the same reason.
const MOST_ROWS: u16 = 500;

impl TerminalSize {
    /// The size that terminals have by default.
    pub const USUAL: Self = Self { columns: 80, rows: 24 };
    /// For output that is read as text: few lines are longer, so programs wrap few of them.
    pub const WIDE: Self = Self { columns: 200, rows: 24 };

    /// This size, or an error where no terminal here can have it.
    pub fn new(columns: u64, rows: u64) -> Result<Self, BadSize> {
        let bad = BadSize { columns, rows };
        let size =
            Self { columns: u16::try_from(columns).map_err(|_| bad)?, rows: u16::try_from(rows).map_err(|_| bad)? };
        if size.is_possible() { Ok(size) } else { Err(bad) }
    }

    /// The nearest size that a terminal here can have: for a real window, whose size nobody chose for us.
    #[must_use]
    pub fn nearest(columns: u16, rows: u16) -> Self {
        Self { columns: columns.clamp(LEAST_COLUMNS, MOST_COLUMNS), rows: rows.clamp(1, MOST_ROWS) }
    }

    /// Whether a terminal can have it.
    pub fn is_possible(self) -> bool {
        self == Self::nearest(self.columns, self.rows)
    }
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self::USUAL
    }
}
