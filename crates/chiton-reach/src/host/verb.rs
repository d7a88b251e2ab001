//! A verb of the program on this side, with its streams on a channel.

use std::ffi::OsStr;
use std::fs::File;
use std::future::Future;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::terminal::{self, Terminal};
use crate::credit::Credit;
use crate::frame::{Arrival, Ending, Message, PIECE, Size, Stream, Verb, WINDOW};
use crate::line::Line;

/// How long a stream of a verb that has ended may stay open without giving anything.
const AFTER_END: Duration = Duration::from_millis(500);

/// A verb that runs.
#[derive(Debug)]
pub(super) struct Running {
    pid: Option<Pid>,
    /// What is written to its input; none is its end.
    input: UnboundedSender<Option<Zeroizing<Vec<u8>>>>,
    output: Arc<Credit>,
    errors: Arc<Credit>,
    terminal: Option<File>,
}

/// How a verb ends, when it does.
pub(super) type Over = Pin<Box<dyn Future<Output = Ending> + Send>>;

impl Running {
    pub(super) fn write(&self, bytes: Vec<u8>) {
        // Who has ended reads nothing.
        let _ = self.input.send(Some(Zeroizing::new(bytes)));
    }

    pub(super) fn end_input(&self) {
        let _ = self.input.send(None);
    }

    pub(super) fn taken(&self, stream: Stream, bytes: u64) {
        match stream {
            Stream::Output => self.output.add(bytes),
            Stream::Errors => self.errors.add(bytes),
            Stream::Input => {}
        }
    }

    pub(super) fn signal(&self, signal: i32) {
        if let (Some(pid), Some(signal)) = (self.pid, Signal::from_named_raw(signal)) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Nobody takes what it prints any more.
    pub(super) fn release(&self) {
        self.output.close();
        self.errors.close();
    }

    pub(super) fn resize(&self, size: Size) {
        if let Some(terminal) = &self.terminal {
            terminal::resize(terminal, size);
        }
    }
}

/// Starts a verb where the connection arrived, with what it found there.
pub(super) fn start(channel: u32, verb: &Verb, arrival: &Arrival, line: &Arc<Line>) -> io::Result<(Running, Over)> {
    let given = verb.given.as_deref().map(in_memory).transpose()?;
    let mut command = command(verb, arrival, given.as_ref());
    let (output, errors) = (Arc::new(Credit::new(WINDOW)), Arc::new(Credit::new(WINDOW)));
    let (input, written) = unbounded_channel();
    let port = Port { channel, line: Arc::clone(line) };
    let (ended, seen) = watch::channel(false);

    if let Some(size) = verb.terminal {
        let (ours, theirs) = terminal::open(size)?;
        command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
        let child = command.spawn()?;
        // Its end of the terminal is now in nobody else's hands.
        drop(command);
        drop(given);
        let pid = pid_of(&child);
        let (reader, writer) = (ours.try_clone()?, ours.try_clone()?);
        tokio::spawn(port.clone().feed(written, Terminal::new(writer)?));
        let shown = Terminal::new(reader)?;
        let shown = tokio::spawn(port.pass_on(shown, Stream::Output, Arc::clone(&output), seen));
        let running = Running { pid, input, output, errors, terminal: Some(ours) };
        return Ok((running, Box::pin(over(child, ended, vec![shown]))));
    }

    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    drop(given);
    let pid = pid_of(&child);
    let missing = || io::Error::other("a stream of it is missing");
    let (stdin, stdout) = (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
    let stderr = child.stderr.take().ok_or_else(missing)?;
    tokio::spawn(port.clone().feed(written, stdin));
    let streams = vec![
        tokio::spawn(port.clone().pass_on(stdout, Stream::Output, Arc::clone(&output), seen.clone())),
        tokio::spawn(port.pass_on(stderr, Stream::Errors, Arc::clone(&errors), seen)),
    ];
    Ok((Running { pid, input, output, errors, terminal: None }, Box::pin(over(child, ended, streams))))
}

fn pid_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(id.cast_signed()))
}

#[expect(clippy::disallowed_methods, reason = "a verb is not a command of a user; it is this program")]
fn command(verb: &Verb, arrival: &Arrival, given: Option<&OwnedFd>) -> Command {
    let mut command = Command::new(OsStr::from_bytes(&arrival.program));
    if verb.terminal.is_some() {
        command.arg("take-terminal");
    }
    for argument in &verb.arguments {
        match (argument.as_slice(), given) {
            (b"{given}", Some(given)) => command.arg(given.as_raw_fd().to_string()),
            (argument, _) => command.arg(OsStr::from_bytes(argument)),
        };
    }
    let variables = arrival.environment.iter().chain(&verb.environment);
    command.env_clear().envs(variables.map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value))));
    command.current_dir(OsStr::from_bytes(verb.directory.as_ref().unwrap_or(&arrival.directory)));
    command
}

/// A file in memory that the next process inherits. It is closed here as soon as that was started.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("given", MemfdFlags::empty())?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Waits for the end of a verb and of what it prints.
async fn over(mut child: Child, ended: watch::Sender<bool>, streams: Vec<JoinHandle<()>>) -> Ending {
    let status = child.wait().await;
    // Now the streams end as well, unless something that the verb left behind holds them open.
    let _ = ended.send(true);
    for stream in streams {
        let _ = stream.await;
    }
    status.map_or_else(|error| Ending::NotStarted(error.to_string()), ending)
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signaled(signal),
        (None, None) => Ending::NotStarted("nobody knows how it ended".to_owned()),
    }
}

/// A while after the verb has ended.
async fn quiet(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
    sleep(AFTER_END).await;
}

/// Where the streams of a verb go.
#[derive(Clone, Debug)]
struct Port {
    channel: u32,
    line: Arc<Line>,
}

impl Port {
    fn post(&self, stream: Stream, bytes: &[u8]) {
        self.line.post(&Message::Bytes { channel: self.channel, stream, bytes: bytes.to_vec() });
    }

    fn took(&self, bytes: usize) {
        let (channel, stream) = (self.channel, Stream::Input);
        self.line.post(&Message::Taken { channel, stream, bytes: bytes as u64 });
    }

    /// Writes to a verb's input what comes for it.
    async fn feed(
        self,
        mut written: UnboundedReceiver<Option<Zeroizing<Vec<u8>>>>,
        mut input: impl AsyncWrite + Unpin,
    ) {
        while let Some(Some(bytes)) = written.recv().await {
            // Who reads no more gets no more; the rest is thrown away, as the near side must not wait for it.
            let _ = input.write_all(&bytes).await;
            self.took(bytes.len());
        }
        drop(input);
        while let Some(late) = written.recv().await {
            self.took(late.map_or(0, |bytes| bytes.len()));
        }
    }

    /// Passes on what a verb prints, as far as the other side has room.
    async fn pass_on(
        self,
        source: impl AsyncRead + Unpin,
        stream: Stream,
        credit: Arc<Credit>,
        mut ended: watch::Receiver<bool>,
    ) {
        let mut source = source;
        let mut buffer = vec![0; PIECE];
        loop {
            let room = credit.room().await.min(PIECE);
            if room == 0 {
                break;
            }
            let count = tokio::select! {
                biased;
                read = source.read(&mut buffer[..room]) => read.unwrap_or(0),
                () = quiet(&mut ended) => 0,
            };
            if count == 0 {
                break;
            }
            credit.spend(count);
            self.post(stream, &buffer[..count]);
        }
        self.line.post(&Message::End { channel: self.channel, stream });
    }
}
