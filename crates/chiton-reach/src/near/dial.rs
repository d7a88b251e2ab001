//! One connection to a target, from the program that reaches it to the first word of the host.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use data_encoding::HEXLOWER;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::transport::{Manner, Transport};
use super::{Change, ConnectError, NearOptions};
use crate::bootstrap::{CHANGE_SHELL, CHANGED_SHELL, Listening, Mode, Said, script};
use crate::frame::{Frames, Hello, VERSION, Welcome, encode, put};
use crate::program::Program;
use crate::target::{LeadsTo, Target};

/// How long nothing may be heard, where nobody types a password.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same where somebody may.
const PATIENCE_WITH_PEOPLE: Duration = Duration::from_mins(3);
/// How often a program is sent that did not arrive whole.
const CARRIES: usize = 3;

/// A connection with a host behind it.
#[derive(Debug)]
pub(super) struct Dialled {
    pub(super) transport: Transport,
    pub(super) reader: ChildStdout,
    pub(super) writer: ChildStdin,
    pub(super) frames: Frames,
    pub(super) welcome: Welcome,
    pub(super) place: String,
}

/// The first connection: without asking anybody, and where that is not enough, with a person's help.
pub(super) async fn first(target: &Target, options: &NearOptions, hello: &Hello) -> Result<Dialled, ConnectError> {
    match dial(target, options, hello, Manner::Unattended).await {
        Err(ConnectError::NeedsLogin { .. }) if options.attended => {
            dial(target, options, hello, Manner::Attended).await
        }
        other => other,
    }
}

/// A connection. A place that turns out to be of no use is left out in another attempt.
pub(super) async fn dial(
    target: &Target,
    options: &NearOptions,
    hello: &Hello,
    manner: Manner,
) -> Result<Dialled, ConnectError> {
    let mut left_out = Vec::new();
    loop {
        let mut attempt = Attempt::start(target, options, manner)?;
        let error = match attempt.link(&left_out).await {
            Ok(place) => return attempt.greet(hello, place).await,
            Err(error) => error,
        };
        attempt.transport.kill().await;
        match error {
            Failed::Place { place, error } => {
                left_out.push(place);
                if left_out.len() >= CARRIES {
                    return Err(error);
                }
            }
            Failed::For(error) => return Err(error),
        }
    }
}

/// Removes the program from everywhere on the target, and gives what was removed.
pub async fn clean(target: &Target, options: &NearOptions) -> Result<Vec<String>, ConnectError> {
    let manners = if options.attended { &[Manner::Unattended, Manner::Attended][..] } else { &[Manner::Unattended] };
    let mut last = None;
    for manner in manners {
        let mut attempt = Attempt::start(target, options, *manner)?;
        match attempt.clean().await {
            Ok(removed) => return Ok(removed),
            Err(error @ ConnectError::NeedsLogin { .. }) => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| ConnectError::Here("nothing was tried".to_owned())))
}

enum Failed {
    /// Another place may do.
    Place {
        place: String,
        error: ConnectError,
    },
    For(ConnectError),
}

impl From<ConnectError> for Failed {
    fn from(error: ConnectError) -> Self {
        Self::For(error)
    }
}

struct Attempt<'a> {
    target: &'a Target,
    options: &'a NearOptions,
    transport: Transport,
    writer: ChildStdin,
    reader: ChildStdout,
    listening: Listening,
    nonce: String,
    patience: Duration,
}

impl<'a> Attempt<'a> {
    fn start(target: &'a Target, options: &'a NearOptions, manner: Manner) -> Result<Self, ConnectError> {
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| ConnectError::Here(io::Error::from(error).to_string()))?;
        let nonce = HEXLOWER.encode(&random);
        let (transport, writer, reader) =
            Transport::start(target, manner).map_err(|error| ConnectError::NoTransport {
                target: target.name.clone(),
                program: target.program().to_owned(),
                error: error.to_string(),
            })?;
        let patience = if manner == Manner::Attended { PATIENCE_WITH_PEOPLE } else { PATIENCE };
        let listening = Listening::new(&nonce);
        Ok(Self { target, options, transport, writer, reader, listening, nonce, patience })
    }

    fn name(&self) -> String {
        self.target.name.clone()
    }

    /// Has the script start a relay; gives where the program is.
    async fn link(&mut self, left_out: &[String]) -> Result<String, Failed> {
        self.send_script(Mode::Link, left_out).await?;
        let (mut place, mut tried, mut carried) = (None, Vec::new(), 0);
        loop {
            let said = match self.next().await {
                Ok(said) => said,
                // It was there, but could not be started: damaged, or for another machine.
                Err(error) => match place {
                    Some(place) => return Err(Failed::Place { place, error }),
                    None => return Err(error.into()),
                },
            };
            match said {
                Said::Linked => return Ok(place.unwrap_or_default()),
                Said::Have(there) | Said::Carried(there) => place = Some(there),
                Said::Tried { place, why } => tried.push((place, why)),
                Said::Need { machine, unpacks, .. } => carried = self.carry(&machine, unpacks).await?,
                Said::Machine(machine) => return Err(self.no_program(machine).into()),
                Said::Nowhere => return Err(ConnectError::Nowhere { target: self.name(), tried }.into()),
                Said::Failed(why) => return Err(ConnectError::NoHost { target: self.name(), why }.into()),
                Said::Damaged { bytes, place } => {
                    let (target, place_there) = (self.name(), place.clone());
                    let error = ConnectError::NotCarried { target, place: place_there, arrived: bytes, bytes: carried };
                    return Err(Failed::Place { place, error });
                }
                Said::Unfit(why) => return Err(self.unfit(&why).into()),
                Said::Removed(_) | Said::Clean => {}
            }
        }
    }

    async fn clean(&mut self) -> Result<Vec<String>, ConnectError> {
        self.send_script(Mode::Clean, &[]).await?;
        let mut removed = Vec::new();
        loop {
            match self.next().await? {
                Said::Removed(path) => removed.push(path),
                Said::Clean => return Ok(removed),
                Said::Machine(machine) => return Err(self.no_program(machine)),
                _ => {}
            }
        }
    }

    async fn send_script(&mut self, mode: Mode, left_out: &[String]) -> Result<(), ConnectError> {
        if self.target.leads_to == LeadsTo::SomeShell {
            self.write(CHANGE_SHELL.as_bytes()).await?;
            while !self.listening.heard(CHANGED_SHELL) {
                self.read().await?;
            }
        }
        let script = script(mode, &self.options.programs, &self.nonce, left_out);
        self.write(script.as_bytes()).await
    }

    /// What the far side says next.
    async fn next(&mut self) -> Result<Said, ConnectError> {
        loop {
            match self.listening.said() {
                Ok(Some(said)) => return Ok(said),
                Ok(None) => self.read().await?,
                Err(_) => {
                    return Err(ConnectError::NotAShell { target: self.name(), noise: self.listening.noise() });
                }
            }
        }
    }

    async fn read(&mut self) -> Result<(), ConnectError> {
        let mut buffer = vec![0; 16 << 10];
        match timeout(self.patience, self.reader.read(&mut buffer)).await {
            Ok(Ok(count @ 1..)) => {
                self.listening.add(&buffer[..count]);
                Ok(())
            }
            Ok(_) => Err(self.unreachable().await),
            Err(_) => {
                let (target, said) = (self.name(), self.listening.noise());
                let seconds = self.patience.as_secs();
                if said.is_empty() {
                    Err(ConnectError::Silent { target, seconds })
                } else {
                    Err(ConnectError::NotAShell { target, noise: said })
                }
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), ConnectError> {
        for piece in bytes.chunks(64 << 10) {
            let written = async {
                self.writer.write_all(piece).await?;
                self.writer.flush().await
            };
            match timeout(self.patience, written).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(self.unreachable().await),
                Err(_) => {
                    return Err(ConnectError::Silent { target: self.name(), seconds: self.patience.as_secs() });
                }
            }
        }
        Ok(())
    }

    /// Sends the program for a kind of machine; gives how long it is.
    async fn carry(&mut self, machine: &str, unpacks: bool) -> Result<u64, ConnectError> {
        let Some(program) = self.options.programs.for_machine(machine).cloned() else {
            return Err(self.no_program(format!("Linux {machine}")));
        };
        let packed = if unpacks { packed(&program).await } else { None };
        let (word, bytes) = match packed {
            Some(packed) => ("gzip", packed),
            None => ("plain", program.read().map_err(|error| self.unread(&program, &error))?),
        };
        (self.options.tell)(&Change::Carrying(bytes.len() as u64));
        self.write(format!("{word} {}\n", bytes.len()).as_bytes()).await?;
        self.write(&bytes).await?;
        Ok(program.bytes)
    }

    fn unread(&self, program: &Program, error: &io::Error) -> ConnectError {
        let (target, path) = (&self.target.name, program.path.display());
        ConnectError::Here(format!("the program {path} cannot be read to be carried to {target}: {error}"))
    }

    fn no_program(&self, machine: String) -> ConnectError {
        let known: Vec<String> =
            self.options.programs.all().iter().map(|program| format!("Linux {}", program.machine)).collect();
        ConnectError::Machine { target: self.name(), machine, known: known.join(", ") }
    }

    fn unfit(&self, why: &str) -> ConnectError {
        let needs_library = self.options.programs.all().iter().any(|program| !program.is_static);
        let advice = if needs_library {
            ". This build of chiton needs the C library of the machine it was made on: `cargo xtask dist` makes one that \
             runs everywhere"
        } else {
            ""
        };
        let why = if why.is_empty() { "it does not start" } else { why };
        ConnectError::Unfit { target: self.name(), why: why.to_owned(), advice }
    }

    /// The program that reaches the target has ended.
    async fn unreachable(&mut self) -> ConnectError {
        let said = self.transport.complaint().await;
        let (target, program) = (self.name(), self.target.program().to_owned());
        if wants_login(&said) {
            let try_it = self.target.words.join(" ");
            return ConnectError::NeedsLogin { target, program, said, try_it };
        }
        let noise = self.listening.noise();
        let said = match (said.is_empty(), noise.is_empty()) {
            (false, _) => format!("said: {said}"),
            (true, false) => format!("ended; the last that came was: {noise}"),
            (true, true) => "ended without a word".to_owned(),
        };
        ConnectError::Unreachable { target, program, said }
    }

    /// The first words of both sides.
    async fn greet(mut self, hello: &Hello, place: String) -> Result<Dialled, ConnectError> {
        let mut first = Vec::new();
        put(&mut first, 0, 0, &encode(hello));
        self.write(&first).await?;
        let mut frames = Frames::starting_with(std::mem::replace(&mut self.listening, Listening::new("")).rest());
        let broken = |why: String| ConnectError::Broken { target: self.target.name.clone(), why };
        let answered = timeout(self.patience, frames.wait(&mut self.reader)).await;
        let frame = match answered {
            Ok(Ok(frame)) => frame,
            Ok(Err(_)) => return Err(broken("the host there closed it at once".to_owned())),
            Err(_) => {
                return Err(ConnectError::Silent { target: self.name(), seconds: self.patience.as_secs() });
            }
        };
        let welcome: Welcome = frame.read().map_err(|error| broken(error.to_string()))?;
        if welcome.version != VERSION {
            return Err(broken(format!("it speaks version {} of the link, we speak {VERSION}", welcome.version)));
        }
        let Self { transport, reader, writer, .. } = self;
        Ok(Dialled { transport, reader, writer, frames, welcome, place })
    }
}

/// Whether a client complains that nobody has proved who they are.
fn wants_login(said: &str) -> bool {
    const WORDS: [&str; 10] = [
        "permission denied",
        "host key verification failed",
        "authentication",
        "unauthorized",
        "not logged in",
        "must be logged in",
        "you must be logged",
        "login required",
        "token has expired",
        "too many authentication failures",
    ];
    let said = said.to_lowercase();
    WORDS.iter().any(|word| said.contains(word))
}

/// The program as gzip packs it; none where there is no gzip here.
#[expect(clippy::disallowed_methods, reason = "gzip is a tool of ours here, not a command of a user")]
async fn packed(program: &Program) -> Option<Vec<u8>> {
    let file = std::fs::File::open(&program.path).ok()?;
    let packed = Command::new("gzip").arg("-1c").stdin(file).stderr(Stdio::null()).output().await.ok()?;
    (packed.status.success() && !packed.stdout.is_empty()).then_some(packed.stdout)
}
