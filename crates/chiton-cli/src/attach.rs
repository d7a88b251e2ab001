//! `chiton attach`: a person's own terminal on that of a command.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use chiton_engine::tasks::{Window, WindowEvent};
use chiton_engine::terminal::answers::without_answers;
use chiton_engine::terminal::repaint::{RESTORE, repaint};
use chiton_engine::{Outcome, Tasks, Typist};
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use tokio::signal::unix::{SignalKind, signal};

use crate::audit;
use crate::messages::remark;
use crate::on_arguments::OnArguments;
use crate::settings::Settings;
use crate::window::{self, RawMode};

/// Look into the terminal of a running command, and take over
#[derive(Args)]
#[command(after_help = "\
The command must have been started in a terminal (--pty, or pty: true). What you type goes to it, and its terminal gets
the size of yours. Detach with ctrl-\\ d: the command goes on. Ctrl-\\ twice sends it once. Several people may be attached
at once; whoever runs the command sees that a person typed.

Examples:
  chiton attach shell_1a2b3c4d               look and type
  chiton attach --watch shell_1a             only look")]
pub(crate) struct AttachArguments {
    /// The command's id, or a beginning of it that no other has
    #[arg(add = ArgValueCandidates::new(crate::known_ids))]
    id: String,
    /// Only look: nothing that is typed reaches the command, and its terminal keeps its size; ctrl-c detaches too
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    pub(crate) on: OnArguments,
}

/// What begins a key for us and not for the command.
const ESCAPE: u8 = 0x1c;

enum Left {
    Detached,
    Ended(Outcome),
}

pub(crate) async fn attach(arguments: AttachArguments, settings: &Settings, state: &Path) -> Result<ExitCode> {
    if !arguments.watch && !io::stdin().is_terminal() {
        bail!("standard input is not a terminal: use --watch to only look, or `chiton send` to send text");
    }
    let tasks = Tasks::new(state);
    let task = tasks.get(&arguments.id)?;
    let typist = (!arguments.watch).then_some(Typist::Person);
    let mut open = tasks.attach(&task.id, typist).await?;
    if typist.is_some() {
        audit::note_task(settings, state, "attach", "attached", &task.id);
    }
    let raw = if io::stdin().is_terminal() { Some(RawMode::enter()?) } else { None };
    let left = look(&mut open, arguments.watch, raw.is_some()).await;
    // A file or a program has no screen to restore.
    if io::stdout().is_terminal() {
        let _ = write(format!("{RESTORE}\x1b[?1049l\r\n").as_bytes());
    }
    drop(raw);
    match left? {
        Left::Detached => remark(&format!("detached; {} goes on, `chiton attach {0}` comes back", task.id)),
        Left::Ended(outcome) => remark(&format!("the command {outcome}")),
    }
    Ok(ExitCode::SUCCESS)
}

async fn look(open: &mut Window, watch: bool, reads_keys: bool) -> Result<Left> {
    let mut resized = signal(SignalKind::window_change())?;
    let mut typed = reads_keys.then(window::typed);
    let mut keys = Keys::default();
    if let Some(size) = window::size() {
        open.resize(size).await;
    }
    loop {
        tokio::select! {
            event = open.next() => match event {
                Some(WindowEvent::Screen(look)) => write(&repaint(&look.screen))?,
                Some(WindowEvent::Output(bytes)) => write(&bytes)?,
                Some(WindowEvent::Ended(outcome)) => return Ok(Left::Ended(outcome)),
                Some(WindowEvent::NoTerminal) => {
                    bail!("this command has no terminal; `chiton logs -f` shows its output")
                }
                None => return Ok(Left::Ended(Outcome::Lost)),
            },
            bytes = next(&mut typed) => {
                let (bytes, detach) = keys.take(&bytes);
                if detach || (watch && bytes.contains(&0x03)) {
                    return Ok(Left::Detached);
                }
                let bytes = without_answers(&bytes);
                if !bytes.is_empty() {
                    open.enter(&bytes).await;
                }
            }
            _ = resized.recv() => {
                if let Some(size) = window::size() {
                    open.resize(size).await;
                }
            }
        }
    }
}

async fn next(typed: &mut Option<tokio::sync::mpsc::UnboundedReceiver<Vec<u8>>>) -> Vec<u8> {
    if let Some(receiver) = typed
        && let Some(bytes) = receiver.recv().await
    {
        return bytes;
    }
    std::future::pending().await
}

fn write(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).context("the screen cannot be shown")
}

/// Finds the key for us among all others.
#[derive(Default)]
struct Keys {
    escaped: bool,
}

impl Keys {
    /// What goes to the command, and whether to detach.
    fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut passed = Vec::with_capacity(bytes.len());
        for byte in bytes {
            match (std::mem::take(&mut self.escaped), *byte) {
                (true, b'd' | b'D' | 0x04) => return (passed, true),
                (true, ESCAPE) => passed.push(ESCAPE),
                (true, other) => passed.extend([ESCAPE, other]),
                (false, ESCAPE) => self.escaped = true,
                (false, other) => passed.push(other),
            }
        }
        (passed, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_to_us_is_found_however_it_is_typed_and_all_else_passes() {
        type Case = (&'static [&'static [u8]], &'static [u8], bool);
        let cases: [Case; 6] = [
            (&[b"abc"], b"abc", false),
            (&[b"a\x1cd"], b"a", true),
            (&[b"a\x1c", b"d"], b"a", true),
            (&[b"\x1c\x1c", b"x"], b"\x1cx", false),
            (&[b"\x1c", b"x"], b"\x1cx", false),
            (&[b"d"], b"d", false),
        ];
        for (typed, expected, detaches) in cases {
            let mut keys = Keys::default();
            let (mut passed, mut detached) = (Vec::new(), false);
            for part in typed {
                let (more, leave) = keys.take(part);
                passed.extend(more);
                detached |= leave;
            }
            assert_eq!((passed.as_slice(), detached), (expected, detaches), "{typed:?}");
        }
    }
}
