//! `chiton mcp --on`: the tools are here, the commands run there.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow, ensure};
use chiton_engine::Elsewhere;
use chiton_mcp::{FarServer, FromFar, serve_elsewhere};
use chiton_reach::near::{ChannelInput, ChannelOutput};
use chiton_reach::{Channel, Ending, Gone, Near, Target};
use tokio::sync::mpsc;

use super::facts::Facts;
use super::forward::{Streams, verb_with};
use super::lines::{Heard, Lines};
use super::{connect, forwarded};
use crate::mcp::McpArguments;
use crate::messages::{complain, remark};
use crate::settings::Settings;

/// How many lines may wait for the client.
const WAITING: usize = 64;

pub(super) async fn serve(
    target: Target,
    arguments: &McpArguments,
    settings: &Settings,
    state: &Path,
) -> Result<ExitCode> {
    ensure!(
        !arguments.is_http(settings),
        "--on and --http do not go together: a client over HTTP names the machine in each call (on), or is served by `chiton \
         mcp --http` over there"
    );
    arguments.log(settings)?;
    let (near, facts) = connect(target, settings).await?;
    if let Some(warning) = &facts.warning {
        remark(warning);
    }
    let operator = arguments.judge(settings, state)?;
    let (server, output) = Server::start(near.clone(), facts);
    let (lines, from_far) = mpsc::channel(WAITING);
    tokio::spawn(Arc::clone(&server).read(output, lines));
    let served = serve_elsewhere(operator, Arc::clone(&server) as Arc<dyn FarServer>, from_far).await;
    near.close().await;
    served.map(|()| ExitCode::SUCCESS).map_err(|why| anyhow!("{why}"))
}

/// The server over there.
struct Server {
    near: Near,
    facts: Facts,
    /// The input of the one that runs.
    input: Mutex<ChannelInput>,
}

impl Server {
    fn start(near: Near, facts: Facts) -> (Arc<Self>, ChannelOutput) {
        let Channel { input, output } = open(&near, &facts);
        (Arc::new(Self { near, facts, input: Mutex::new(input) }), output)
    }

    /// Passes on what it says, and starts another one where its host has ended.
    async fn read(self: Arc<Self>, output: ChannelOutput, lines: mpsc::Sender<FromFar>) {
        let mut heard = Lines::of(output);
        loop {
            let said = match heard.next().await {
                Heard::Complaint(bytes) => {
                    let _ = std::io::Write::write_all(&mut std::io::stderr(), &bytes);
                    continue;
                }
                Heard::Line(line) => FromFar::Line(line),
                Heard::Gone(Gone::HostEnded { target }) => {
                    complain(&format!("the host on {target} has ended; another one takes its place"));
                    let channel = open(&self.near, &self.facts);
                    *self.input.lock().unwrap_or_else(PoisonError::into_inner) = channel.input;
                    heard = Lines::of(channel.output);
                    FromFar::Another
                }
                Heard::Gone(gone) => FromFar::Gone(Some(gone.to_string())),
                Heard::Ended(Ending::Exited(0)) => FromFar::Gone(None),
                Heard::Ended(ending) => FromFar::Gone(Some(self.ended(&ending))),
            };
            let is_over = matches!(said, FromFar::Gone(_));
            if lines.send(said).await.is_err() || is_over {
                return;
            }
        }
    }

    fn ended(&self, ending: &Ending) -> String {
        let name = &self.near.target().name;
        match ending {
            Ending::Exited(code) => format!("the server on {name} ended with exit code {code}"),
            Ending::Signaled(signal) => format!("the server on {name} was ended by signal {signal}"),
            Ending::NotStarted(why) => format!("{name}: {why}"),
        }
    }
}

fn open(near: &Near, facts: &Facts) -> Channel {
    let mut arguments = forwarded(facts);
    arguments.push(b"--near".to_vec());
    near.open(verb_with(arguments, Streams::WithInput, near))
}

impl FarServer for Server {
    fn send<'a>(&'a self, mut line: Vec<u8>) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            line.push(b'\n');
            let input = self.input.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // Where it has ended, the reader finds out.
            input.write(&line).await;
        })
    }

    fn end(&self) {
        self.input.lock().unwrap_or_else(PoisonError::into_inner).end();
    }

    fn note(&self) -> Option<String> {
        self.near.take_loss().map(|loss| format!("the connection to {} was {loss}", self.near.target().name))
    }

    fn place(&self) -> Elsewhere {
        self.facts.place(&self.near.target().name)
    }
}
