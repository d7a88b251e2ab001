//! The real terminal of a person, while it shows that of a command: raw keys in, its size, and back to what it was.

use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;

use chiton_engine::terminal::TerminalSize;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Keys come one by one and unchanged as long as this lives.
pub(crate) struct RawMode {
    before: Termios,
}

impl RawMode {
    /// Where standard input is a terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Whether a person sits at both ends.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The size of the window, where there is one.
pub(crate) fn size() -> Option<TerminalSize> {
    let size = tcgetwinsize(io::stdout().as_fd()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0)?;
    Some(TerminalSize::nearest(size.ws_col, size.ws_row))
}

/// What is typed, as it arrives. A thread reads it, since there is no other way to wait for a terminal; it ends with us.
pub(crate) fn typed() -> UnboundedReceiver<Vec<u8>> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count) = io::stdin().lock().read(&mut buffer) {
            if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}
