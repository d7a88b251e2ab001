//! Plain output that is shown only once somebody looks: of a flood of it, most has scrolled away by then.
//!
//! Text and line ends change nothing but the cells of their rows and the place of the cursor. So where enough lines follow
//! to fill the screen and all that is kept of what scrolled off it, the lines before them leave no trace, and are dropped.
//! What is more than that (sequences, answers, bells) is never put here.

/// Output that was not shown yet.
pub(super) struct Backlog {
    bytes: Vec<u8>,
    /// How many bytes wait at most, before lines are dropped or all of them are shown.
    most: usize,
    /// Whether lines before these were dropped.
    has_dropped: bool,
}

/// What becomes of a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// More can wait.
    Left,
    /// It has to be shown.
    Used,
}

impl Backlog {
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, has_dropped: false }
    }

    /// Puts plain output behind the rest. `lines` is how many lines leave no trace of what was before them.
    pub(super) fn add(&mut self, bytes: &[u8], lines: usize) -> Room {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() <= self.most || self.drop_all_but(lines) { Room::Left } else { Room::Used }
    }

    /// Drops lines at the beginning, if as many are left. Not where the first one that is left would not begin at the
    /// left edge, or nothing that is left can be seen: a program can have the last character repeated. Nor where little
    /// would go, since the rest is moved.
    fn drop_all_but(&mut self, lines: usize) -> bool {
        let Some(end) = memchr::memrchr_iter(b'\n', &self.bytes).nth(lines) else { return false };
        let left = &self.bytes[end + 1..];
        let is_seen = |byte: &u8| !matches!(*byte, 0..=b' ' | 0x7f..=0x9f | 0xc2);
        if !self.bytes[..end].ends_with(b"\r") || !left.iter().any(is_seen) || left.len() > self.most / 2 {
            return false;
        }
        self.bytes.drain(..=end);
        self.has_dropped = true;
        true
    }

    /// Takes everything that waits. Where lines before it were dropped, something in their place goes first: it leaves the
    /// cursor where they did, at the beginning of an empty last row.
    pub(super) fn take(&mut self, rows: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        if self.bytes.is_empty() {
            return None;
        }
        let instead =
            if std::mem::take(&mut self.has_dropped) { [&b"\r"[..], &vec![b'\n'; rows]].concat() } else { Vec::new() };
        Some((instead, std::mem::take(&mut self.bytes)))
    }
}

/// Whether output is nothing but text, ends of lines, tabs and backspaces.
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let is_control = |byte: u8| byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x08);
    // Whole blocks without a branch, so that the compiler compares many bytes at a time.
    let (blocks, rest) = bytes.as_chunks::<64>();
    !blocks.iter().any(|block| block.iter().fold(false, |found, byte| found | is_control(*byte)))
        && !rest.iter().any(|byte| is_control(*byte))
}
