//! One quiet line on a terminal while a long command runs: how long, how much, what it printed last, and that it is being
//! stopped. It goes away.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anstyle::Style;
use chiton_engine::Lock;

/// A run shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);
const ERASE: &str = "\r\x1b[K";

/// What the line knows. Clones share it.
#[derive(Clone)]
pub(crate) struct StatusLine {
    inner: Option<Arc<Lock<Inner>>>,
}

struct Inner {
    /// When the command started. Before that, a person may be asked whether it may, and the terminal is theirs.
    started: Option<Instant>,
    bytes: u64,
    last_line: Vec<u8>,
    open_line: bool,
    shown: bool,
    /// What is being done to the command, from when a person pressed Ctrl-C.
    stopping: Option<&'static str>,
    /// How quiet text looks; nothing where people want no colours.
    quiet: Style,
}

impl StatusLine {
    /// A line that shows itself only where standard error is a terminal that can erase it.
    pub(crate) fn new() -> Self {
        let quiet = if std::env::var_os("NO_COLOR").is_none() { Style::new().dimmed() } else { Style::new() };
        let last_line = Vec::new();
        let inner = Inner { started: None, bytes: 0, last_line, open_line: false, shown: false, stopping: None, quiet };
        let can_erase = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        let visible = can_erase && std::io::stderr().is_terminal();
        Self { inner: visible.then(|| Arc::new(Lock::new(inner))) }
    }

    /// The command has started.
    pub(crate) fn begin(&self) {
        if let Some(inner) = &self.inner {
            inner.lock().started = Some(Instant::now());
        }
    }

    /// Says at once that the command is being stopped, and how.
    pub(crate) fn stopping(&self, how: &'static str) {
        if let Some(inner) = &self.inner {
            let mut inner = inner.lock();
            inner.stopping = Some(how);
            inner.draw();
        }
    }

    /// Makes room for output and remembers its last line.
    pub(crate) fn passes(&self, bytes: &[u8]) {
        let Some(inner) = &self.inner else { return };
        let mut inner = inner.lock();
        inner.erase();
        inner.bytes += bytes.len() as u64;
        inner.open_line = bytes.last().is_some_and(|last| *last != b'\n');
        if let Some(line) = bytes.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()) {
            inner.last_line = line.iter().take(200).copied().collect();
        }
    }

    /// Draws itself every second until the future is dropped.
    pub(crate) async fn keep_drawing(self) {
        let Some(inner) = self.inner else { return std::future::pending().await };
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            inner.lock().draw();
        }
    }

    /// Goes away for good.
    pub(crate) fn finish(&self) {
        if let Some(inner) = &self.inner {
            inner.lock().erase();
        }
    }
}

impl Inner {
    fn draw(&mut self) {
        let is_due = |taken: &Duration| *taken >= PATIENCE || self.stopping.is_some();
        let Some(taken) = self.started.map(|started| started.elapsed()).filter(is_due) else { return };
        // In the middle of a line of output there is no room for ours.
        if self.open_line {
            return;
        }
        let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
        let columns = size.filter(|size| size.ws_col > 0).map_or(80, |size| usize::from(size.ws_col));
        let seconds = taken.as_secs();
        let mut text = format!("{}:{:02}  {}", seconds / 60, seconds % 60, amount(self.bytes));
        if let Some(how) = self.stopping {
            text = format!("{text}  {how}");
        }
        let last = String::from_utf8_lossy(&self.last_line);
        let last: String = last.chars().filter(|character| !character.is_control()).collect();
        if !last.is_empty() {
            text = format!("{text}  {last}");
        }
        let text: String = text.chars().take(columns.saturating_sub(1)).collect();
        let quiet = self.quiet;
        let _ = write!(std::io::stderr().lock(), "{ERASE}{quiet}{text}{quiet:#}");
        self.shown = true;
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = std::io::stderr().lock().write_all(ERASE.as_bytes());
        }
    }
}

/// `1.2 MB`, for people.
pub(crate) fn amount(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
