//! The host: owns what runs on the far side, one for each user and state directory.
//!
//! 1. A relay connects to its socket, says where it arrived, and passes on what the near side says.
//! 2. A link outlives its connections: the next one with its name goes on where the last one ended.
//! 3. Each channel of a link is a verb of the program, with its streams ([`verb`]).
//! 4. A link that nobody comes back to ends what it started when its lease is over.
//!
//! It runs no commands itself: their keepers belong to the verbs, and outlive both.

mod link;
mod terminal;
mod verb;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::time::{Instant, interval, timeout};

use crate::frame::{Arrival, Frames, Hello, VERSION, Welcome, encode, garbled, put};
use crate::socket;
use link::Link;

/// How long a relay may take for its first word, and the near side for its own.
const PATIENCE: Duration = Duration::from_mins(1);
/// A host that has nothing to do ends after this long.
const IDLE: Duration = Duration::from_secs(30);

/// What keeps a host there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// What there is to do.
    WhileNeeded,
    /// Whoever started it: it is there until it is stopped.
    UntilStopped,
}

/// Why there is no host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is one already.
    #[error("a host serves this state directory already")]
    AlreadyThere,
    /// Its socket cannot be made.
    #[error("the host cannot listen in {folder}: {error}")]
    Socket {
        /// Where.
        folder: String,
        /// Why not.
        error: io::Error,
    },
}

type Links = Arc<Mutex<HashMap<[u8; 16], Arc<Link>>>>;

/// Everything that a host has.
#[derive(Debug)]
struct Host {
    links: Links,
    /// How many connections there are.
    connections: Mutex<usize>,
    stop: Notify,
}

/// Serves until nobody needs it. `ready` is called when it listens.
pub async fn serve(state: &Path, job: Option<&str>, stays: Stays, ready: impl FnOnce()) -> Result<(), HostError> {
    let failed = |error| HostError::Socket { folder: state.join("host").display().to_string(), error };
    let folder = socket::folder(state).map_err(failed)?;
    let name = socket::name(job);
    let Some(_lock) = socket::lock(&folder, &name).map_err(failed)? else { return Err(HostError::AlreadyThere) };
    let listener = socket::listen(&folder, &name).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let listener = UnixListener::from_std(listener).map_err(failed)?;
    ready();

    let host = Arc::new(Host { links: Links::default(), connections: Mutex::new(0), stop: Notify::new() });
    let mut tick = interval(Duration::from_secs(1));
    let mut idle_since = Instant::now();
    loop {
        tokio::select! {
            () = host.stop.notified() => break,
            _ = tick.tick() => {
                if !host.sweep() {
                    idle_since = Instant::now();
                }
                if stays == Stays::WhileNeeded && idle_since.elapsed() >= IDLE {
                    break;
                }
            }
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else {
                    // No descriptor is left for it. Others will end.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                idle_since = Instant::now();
                *lock(&host.connections) += 1;
                let host = Arc::clone(&host);
                tokio::spawn(async move {
                    let _ = host.serve_one(stream).await;
                    *lock(&host.connections) -= 1;
                });
            }
        }
    }

    // From now on a relay starts another one.
    socket::remove(&folder, &name);
    let links: Vec<Arc<Link>> = lock(&host.links).drain().map(|(_, link)| link).collect();
    for link in &links {
        link.end().await;
    }
    Ok(())
}

impl Host {
    /// Ends links whose lease is over; gives whether there is nothing left to do.
    fn sweep(&self) -> bool {
        let links: Vec<Arc<Link>> = lock(&self.links).values().cloned().collect();
        for link in links.into_iter().filter(|link| link.is_over()) {
            lock(&self.links).remove(&link.name);
            tokio::spawn(async move { link.end().await });
        }
        lock(&self.links).is_empty() && *lock(&self.connections) == 0
    }

    async fn serve_one(&self, mut stream: UnixStream) -> io::Result<()> {
        let mut frames = Frames::default();
        let late = |_| garbled("nothing was said");
        let arrival: Arrival = timeout(PATIENCE, frames.wait(&mut stream)).await.map_err(late)??.read()?;
        if arrival.version != VERSION {
            return Err(garbled("it speaks another version"));
        }
        if arrival.program.is_empty() {
            self.stop.notify_one();
            // The other side waits until this process lets go.
            std::future::pending::<()>().await;
        }
        let hello: Hello = timeout(PATIENCE, frames.wait(&mut stream)).await.map_err(late)??.read()?;
        if hello.version != VERSION {
            return Err(garbled("it speaks another version"));
        }

        let facts = arrival.facts.clone();
        let (link, resumes) = self.link(&hello);
        let serving = link.attach(arrival, hello.lease_ms).await;
        let received = link.line.with(|ledger| {
            // What the near side has is of another host, where the link is not known here.
            if resumes {
                ledger.resume(hello.received)?;
            }
            io::Result::Ok(ledger.received())
        })?;
        let welcome = Welcome { version: VERSION, resumes, received, facts };
        let mut first = Vec::new();
        put(&mut first, 0, 0, &encode(&welcome));
        stream.write_all(&first).await?;
        link.serve(serving, frames, stream).await;
        if link.said_bye() {
            lock(&self.links).remove(&link.name);
            link.end().await;
        }
        Ok(())
    }

    /// The link of this name, and whether it goes on.
    fn link(&self, hello: &Hello) -> (Arc<Link>, bool) {
        let mut links = lock(&self.links);
        if let Some(link) = links.get(&hello.link).filter(|_| hello.resumes || hello.received == 0) {
            return (Arc::clone(link), true);
        }
        let link = Arc::new(Link::new(hello.link));
        // It goes on where the near side believes to be; what was there before is gone.
        links.insert(hello.link, Arc::clone(&link));
        (link, false)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
