//! The near side of a link: it reaches a target, opens channels there, and goes on when the connection breaks.

mod channel;
mod dial;
mod error;
mod supervise;
mod transport;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chiton_engine::clock::now_ms;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::credit::Credit;
use crate::frame::{Beat, Hello, Message, VERSION, Verb, WINDOW};
use crate::line::Line;
use crate::program::Programs;
use crate::target::Target;

pub use channel::{Channel, ChannelInput, ChannelOutput, Out};
pub use dial::clean;
pub use error::{ConnectError, Gone};

/// How a target is reached.
#[derive(Clone)]
pub struct NearOptions {
    /// What can be carried there.
    pub programs: Arc<Programs>,
    /// Whether a person is at the terminal, who can be asked for a password.
    pub attended: bool,
    /// Told what happens to the connection.
    pub tell: Arc<dyn Fn(&Change) + Send + Sync>,
}

impl fmt::Debug for NearOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NearOptions").field("attended", &self.attended).finish_non_exhaustive()
    }
}

/// What happens to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The program goes over, so many bytes of it.
    Carrying(u64),
    /// The connection broke, for this reason.
    Lost(String),
    /// It is there again, after this long.
    Back(Duration),
}

/// More than both streams of a verb may have on their way.
const MOST_UNTAKEN: u64 = 3 * WINDOW;

/// How long a connection was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// How often.
    pub times: u32,
    /// For how long in all.
    pub lasted: Duration,
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.lasted.as_secs_f64();
        let lasted = if seconds < 9.95 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") };
        match self.times {
            0 | 1 => write!(formatter, "lost for {lasted}; nothing was missed"),
            times => write!(formatter, "lost {times} times, for {lasted} in all; nothing was missed"),
        }
    }
}

/// How far away the other side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// How long a frame takes there and back.
    pub round_trip: Duration,
    /// By how many milliseconds its clock is ahead of ours.
    pub clock_ahead_ms: i64,
}

/// A link to a target. Clones are the same link.
#[derive(Clone, Debug)]
pub struct Near {
    shared: Arc<Shared>,
}

/// What the channels, the connection and their owner share.
#[derive(Debug)]
struct Shared {
    target: Target,
    options: NearOptions,
    name: [u8; 16],
    line: Line,
    channels: Mutex<HashMap<u32, ChannelEnd>>,
    next_channel: AtomicU32,
    facts: Mutex<Vec<u8>>,
    place: Mutex<String>,
    loss: Mutex<Loss>,
    pings: Mutex<HashMap<u64, oneshot::Sender<i64>>>,
    next_ping: AtomicU64,
    over: watch::Sender<Option<Gone>>,
    closing: Notify,
    closed: watch::Sender<bool>,
}

/// Where what comes on a channel goes.
#[derive(Debug)]
struct ChannelEnd {
    events: mpsc::UnboundedSender<Out>,
    credit: Arc<Credit>,
    /// Bytes that came and that nobody has taken yet.
    untaken: Arc<AtomicU64>,
}

impl Near {
    /// Reaches a target, and carries the program there where it is missing.
    pub async fn connect(target: Target, options: NearOptions) -> Result<Self, ConnectError> {
        let mut name = [0; 16];
        rustix::rand::getrandom(&mut name, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| ConnectError::Here(io::Error::from(error).to_string()))?;
        let shared = Arc::new(Shared {
            target,
            options,
            name,
            line: Line::default(),
            channels: Mutex::default(),
            next_channel: AtomicU32::new(1),
            facts: Mutex::default(),
            place: Mutex::default(),
            loss: Mutex::default(),
            pings: Mutex::default(),
            next_ping: AtomicU64::new(1),
            over: watch::Sender::new(None),
            closing: Notify::new(),
            closed: watch::Sender::new(false),
        });
        let dialled = dial::first(&shared.target, &shared.options, &shared.hello(false)).await?;
        lock(&shared.facts).clone_from(&dialled.welcome.facts);
        lock(&shared.place).clone_from(&dialled.place);
        tokio::spawn(supervise::supervise(Arc::clone(&shared), dialled));
        Ok(Self { shared })
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.shared.target
    }

    /// What the far side says of itself.
    pub fn facts(&self) -> Vec<u8> {
        lock(&self.shared.facts).clone()
    }

    /// Where the program is on the far side.
    pub fn place(&self) -> String {
        lock(&self.shared.place).clone()
    }

    /// Starts a verb over there.
    pub fn open(&self, verb: Verb) -> Channel {
        let number = self.shared.next_channel.fetch_add(1, Ordering::Relaxed);
        let (events, came) = mpsc::unbounded_channel();
        let credit = Arc::new(Credit::new(WINDOW));
        let untaken = Arc::<AtomicU64>::default();
        let end = ChannelEnd { events, credit: Arc::clone(&credit), untaken: Arc::clone(&untaken) };
        // Where the link is over, whoever opens this is told so first thing.
        let gone = self.shared.over.borrow().clone();
        match gone {
            Some(gone) => drop(end.events.send(Out::Gone(gone))),
            None => drop(lock(&self.shared.channels).insert(number, end)),
        }
        self.shared.line.post(&Message::Open { channel: number, verb: Box::new(verb) });
        Channel::new(number, Arc::clone(&self.shared), credit, untaken, came)
    }

    /// How long the connection was lost since this was last asked.
    pub fn take_loss(&self) -> Option<Loss> {
        let loss = std::mem::take(&mut *lock(&self.shared.loss));
        (loss.times > 0).then_some(loss)
    }

    /// Why the link is over, where it is.
    pub fn gone(&self) -> Option<Gone> {
        self.shared.over.borrow().clone()
    }

    /// Asks the far side how far away it is; none where it does not answer in time.
    pub async fn measure(&self, patience: Duration) -> Option<Distance> {
        let token = self.shared.next_ping.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        lock(&self.shared.pings).insert(token, sender);
        let (began, clock) = (Instant::now(), now_ms());
        self.shared.line.beat(Beat::Ping { token });
        let there = timeout(patience, answer).await.ok()?.ok()?;
        let round_trip = began.elapsed();
        let half = i64::try_from(round_trip.as_millis() / 2).unwrap_or(0);
        let here = i64::try_from(clock).unwrap_or(i64::MAX).saturating_add(half);
        Some(Distance { round_trip, clock_ahead_ms: there.saturating_sub(here) })
    }

    /// Ends the link: what it started and is still waited for ends with it.
    pub async fn close(&self) {
        self.shared.line.post(&Message::Bye);
        self.shared.closing.notify_one();
        let mut closed = self.shared.closed.subscribe();
        let _ = timeout(Duration::from_secs(2), closed.wait_for(|closed| *closed)).await;
    }
}

impl Shared {
    fn hello(&self, resumes: bool) -> Hello {
        let received = self.line.with(|ledger| ledger.received());
        let lease_ms = u64::try_from(self.target.lease.as_millis()).unwrap_or(u64::MAX);
        Hello { version: VERSION, link: self.name, resumes, received, lease_ms }
    }

    /// Hands on what the far side says of its channels.
    fn take(&self, message: Message) {
        let mut channels = lock(&self.channels);
        match message {
            Message::Bytes { channel, stream, bytes } => {
                let more = bytes.len() as u64;
                let too_much = |end: &ChannelEnd| end.untaken.fetch_add(more, Ordering::AcqRel) + more > MOST_UNTAKEN;
                if channels.get(&channel).is_some_and(too_much) {
                    // It does not keep to what was agreed upon, and would fill our memory.
                    if let Some(end) = channels.remove(&channel) {
                        end.credit.close();
                        let (target, why) = (self.target.name.clone(), "it sends more than was asked for".to_owned());
                        let _ = end.events.send(Out::Gone(Gone::Lost { target, why }));
                    }
                } else if let Some(end) = channels.get(&channel) {
                    let _ = end.events.send(Out::Bytes(stream, bytes));
                } else {
                    // Nobody listens, but the other side must not wait for that.
                    let bytes = bytes.len() as u64;
                    self.line.post(&Message::Taken { channel, stream, bytes });
                }
            }
            Message::Taken { channel, bytes, .. } => {
                if let Some(end) = channels.get(&channel) {
                    end.credit.add(bytes);
                }
            }
            Message::Ended { channel, ending } => {
                if let Some(end) = channels.remove(&channel) {
                    end.credit.close();
                    let _ = end.events.send(Out::Ended(ending));
                }
            }
            // Streams end with their verb; the rest is for the other side.
            Message::End { .. }
            | Message::Open { .. }
            | Message::Signal { .. }
            | Message::Resize { .. }
            | Message::Bye => {}
        }
    }

    fn hear(&self, beat: &Beat) {
        if let Beat::Pong { token, clock } = beat
            && let Some(waiting) = lock(&self.pings).remove(token)
        {
            let _ = waiting.send(*clock);
        }
    }

    /// Every open channel is gone.
    fn lose_channels(&self, gone: &Gone) {
        for (_, end) in lock(&self.channels).drain() {
            end.credit.close();
            let _ = end.events.send(Out::Gone(gone.clone()));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
