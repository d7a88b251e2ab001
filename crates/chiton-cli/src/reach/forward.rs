//! A verb on another machine with our streams.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use chiton_reach::{Channel, Ending, Gone, Near, Out, Size, Stream, Target, Verb};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::facts::Facts;
use super::{connect, forwarded, forwarded_of, tell_loss};
use crate::messages::{complain, remark};
use crate::settings::Settings;
use crate::window::{self, RawMode};

/// Which of our streams a verb gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// It prints.
    Output,
    /// It reads our input as well.
    WithInput,
    /// All three are our terminal, where there is one.
    Terminal,
}

/// Does the verb of this process on a target. `output` is a file on this machine for what it prints.
pub(super) async fn verb(
    target: Target,
    settings: &Settings,
    streams: Streams,
    output: Option<&Path>,
) -> Result<ExitCode> {
    let file = output.map(|path| File::create(path).with_context(|| format!("--output {}", path.display())));
    let file = file.transpose()?;
    let (near, facts) = connect(target, settings).await?;
    if let Some(warning) = &facts.warning {
        remark(warning);
    }
    let mut arguments = forwarded(&facts);
    if output.is_some() {
        // The file is here; over there it is the pipe to us.
        arguments.extend([b"--output".to_vec(), b"/dev/stdout".to_vec()]);
    }
    let streams = if streams == Streams::Terminal && !io::stdin().is_terminal() { Streams::Output } else { streams };
    let verb = verb_with(arguments, streams, &near);
    let ended = pass(near.open(verb), streams, None, file, &mut Passed::default()).await;
    tell_loss(&near);
    near.close().await;
    exit_code(ended?, &near)
}

/// A verb with these arguments, where the target's commands start.
pub(super) fn verb_with(arguments: Vec<Vec<u8>>, streams: Streams, near: &Near) -> Verb {
    use std::os::unix::ffi::OsStrExt;
    let directory = near.target().directory.as_ref().map(|path| path.as_os_str().as_bytes().to_vec());
    let terminal = (streams == Streams::Terminal).then(|| size().unwrap_or(Size { columns: 80, rows: 24 }));
    let mut environment = Vec::new();
    if terminal.is_some()
        && let Some(term) = std::env::var_os("TERM")
    {
        environment.push((b"TERM".to_vec(), term.as_bytes().to_vec()));
    }
    Verb { arguments, directory, environment, terminal, ..Verb::default() }
}

fn size() -> Option<Size> {
    window::size().map(|size| Size { columns: size.columns, rows: size.rows })
}

/// What a verb over there has printed.
pub(super) struct Answered {
    pub(super) output: Vec<u8>,
    errors: Vec<u8>,
    pub(super) succeeded: bool,
}

impl Answered {
    /// What it said, without its name before it.
    pub(super) fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.errors).trim().trim_start_matches("chiton: ").to_owned()
    }
}

/// Has a verb over there print something for us.
pub(super) async fn ask(near: &Near, facts: &Facts, words: &[&str], input: &[u8]) -> Result<Answered> {
    let words = words.iter().map(|word| word.as_bytes().to_vec());
    let Channel { input: stdin, mut output } =
        near.open(verb_with(forwarded_of(words, facts), Streams::WithInput, near));
    let input = input.to_vec();
    tokio::spawn(async move {
        if stdin.write(&input).await {
            stdin.end();
        }
    });
    let mut answered = Answered { output: Vec::new(), errors: Vec::new(), succeeded: false };
    loop {
        match output.next().await {
            Out::Bytes(Stream::Errors, bytes) => answered.errors.extend(bytes),
            Out::Bytes(_, bytes) => answered.output.extend(bytes),
            Out::Ended(Ending::NotStarted(why)) => bail!("{why}"),
            Out::Ended(ending) => {
                answered.succeeded = ending == Ending::Exited(0);
                return Ok(answered);
            }
            Out::Gone(gone) => bail!("{gone}"),
        }
    }
}

/// How much of what a verb prints was passed on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    output: u64,
    errors: u64,
}

/// What came of it.
pub(super) enum Passing {
    Ended(Ending),
    Gone(Gone),
    /// The person does not want to wait any longer.
    Left,
}

/// Joins our streams to those of a verb until it ends. What was passed on before, by a verb that did the same, is left out.
pub(super) async fn pass(
    channel: Channel,
    streams: Streams,
    source: Option<File>,
    mut file: Option<File>,
    passed: &mut Passed,
) -> Result<Passing> {
    let Channel { input, mut output } = channel;
    let raw = if streams == Streams::Terminal { Some(RawMode::enter()?) } else { None };
    let feeding = match streams {
        Streams::Output => {
            input.end();
            None
        }
        Streams::WithInput => {
            let input = input.clone();
            let mut pieces = source.map(pieces);
            Some(tokio::spawn(async move {
                while let Some(piece) = async { pieces.as_mut()?.recv().await }.await {
                    if !input.write(&piece).await {
                        return;
                    }
                }
                input.end();
            }))
        }
        Streams::Terminal => {
            let (input, mut typed) = (input.clone(), window::typed());
            Some(tokio::spawn(async move {
                while let Some(bytes) = typed.recv().await {
                    input.write(&bytes).await;
                }
            }))
        }
    };

    let mut skip = *passed;
    let mut signals = Signals::new()?;
    let mut resized = signal(SignalKind::window_change())?;
    let passing = loop {
        tokio::select! {
            out = output.next() => match out {
                Out::Bytes(stream, bytes) => {
                    let (count, skip) = match stream {
                        Stream::Errors => (&mut passed.errors, &mut skip.errors),
                        _ => (&mut passed.output, &mut skip.output),
                    };
                    let known = usize::try_from(*skip).unwrap_or(usize::MAX).min(bytes.len());
                    *skip -= known as u64;
                    *count += (bytes.len() - known) as u64;
                    let bytes = &bytes[known..];
                    let written = match (&mut file, stream) {
                        (_, Stream::Errors) => write(io::stderr().lock(), bytes),
                        (Some(file), _) => write(file, bytes),
                        (None, _) => write(io::stdout().lock(), bytes),
                    };
                    if let Err(error) = written {
                        // As a pipe that nobody reads ends whoever writes to it.
                        input.signal(libc_signal(SignalKind::terminate()));
                        return Err(error.into());
                    }
                }
                Out::Ended(ending) => break Passing::Ended(ending),
                Out::Gone(gone) => break Passing::Gone(gone),
            },
            (kind, again) = signals.next() => {
                if again {
                    break Passing::Left;
                }
                input.signal(libc_signal(kind));
            }
            _ = resized.recv() => if let Some(size) = size() { input.resize(size); },
        }
    };
    if let Some(feeding) = feeding {
        feeding.abort();
    }
    drop(raw);
    Ok(passing)
}

/// What is in a file or comes through a pipe. A thread reads it, since not everything can be waited for; it ends with us.
fn pieces(mut source: File) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 32 << 10];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            if sender.blocking_send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn write(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

fn libc_signal(kind: SignalKind) -> i32 {
    kind.as_raw_value()
}

/// What a person tells us with signals.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    interrupted: u32,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupted: 0,
        })
    }

    /// The next one, and whether it is one too many.
    async fn next(&mut self) -> (SignalKind, bool) {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
        };
        self.interrupted += 1;
        (kind, self.interrupted > 2)
    }
}

/// The exit code of a verb over there as ours. What the program that reached it says never counts.
pub(super) fn exit_code(passing: Passing, near: &Near) -> Result<ExitCode> {
    let name = &near.target().name;
    Ok(match passing {
        Passing::Ended(Ending::Exited(code)) => ExitCode::from(u8::try_from(code).unwrap_or(crate::OWN_FAILURE)),
        Passing::Ended(Ending::Signaled(signal)) => {
            complain(&format!("chiton on {name} was ended by signal {signal}"));
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(crate::OWN_FAILURE))
        }
        Passing::Ended(Ending::NotStarted(why)) => bail!("{name}: {why}"),
        Passing::Gone(gone) => bail!("{gone}"),
        Passing::Left => {
            remark(&format!("left; what runs on {name} is stopped there when the connection allows it"));
            ExitCode::from(130)
        }
    })
}
