//! One link as the host has it: what the near side started, through all its connections.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::lock;
use super::verb::{self, Running};
use crate::frame::{Arrival, Ending, Frames, Message, Verb};
use crate::line::Line;

/// How long a verb may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(20);

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) name: [u8; 16],
    pub(super) line: Arc<Line>,
    verbs: Mutex<HashMap<u32, Running>>,
    /// What the present connection found where it arrived.
    arrival: Mutex<Option<Arc<Arrival>>>,
    presence: Mutex<Presence>,
    bye: AtomicBool,
    /// A verb has ended.
    ended: Notify,
}

/// Whether anybody is there.
#[derive(Debug)]
struct Presence {
    /// Tells the connection that another one takes its place.
    replaced: Arc<Notify>,
    /// Since when nobody is.
    lost: Option<Instant>,
    lease: Duration,
}

impl Link {
    pub(super) fn new(name: [u8; 16]) -> Self {
        let presence = Presence { replaced: Arc::default(), lost: Some(Instant::now()), lease: Duration::from_mins(1) };
        Self {
            name,
            line: Arc::default(),
            verbs: Mutex::default(),
            arrival: Mutex::default(),
            presence: Mutex::new(presence),
            bye: AtomicBool::new(false),
            ended: Notify::new(),
        }
    }

    /// A connection takes the place of the one before. Gives what tells it that it is replaced itself.
    pub(super) async fn attach(&self, arrival: Arrival, lease_ms: u64) -> Arc<Notify> {
        *lock(&self.arrival) = Some(Arc::new(arrival));
        let mine = Arc::<Notify>::default();
        let before = {
            let mut presence = lock(&self.presence);
            presence.lost = None;
            presence.lease = Duration::from_millis(lease_ms);
            std::mem::replace(&mut presence.replaced, Arc::clone(&mine))
        };
        before.notify_one();
        // So that the one before has let go of the ledger.
        tokio::task::yield_now().await;
        mine
    }

    /// Serves one connection until it breaks or another one takes its place.
    pub(super) async fn serve(self: &Arc<Self>, replaced: Arc<Notify>, frames: Frames, stream: UnixStream) {
        let (reader, writer) = stream.into_split();
        let pump = self.line.pump(frames, reader, writer, |message| self.take(message), |_| {});
        tokio::select! {
            _ = pump => {}
            () = replaced.notified() => {}
        }
        let mut presence = lock(&self.presence);
        if Arc::ptr_eq(&presence.replaced, &replaced) {
            presence.lost = Some(Instant::now());
        }
    }

    fn take(self: &Arc<Self>, message: Message) {
        let to = |channel: u32, act: &dyn Fn(&Running)| {
            if let Some(running) = lock(&self.verbs).get(&channel) {
                act(running);
            }
        };
        match message {
            Message::Open { channel, verb } => self.open(channel, &verb),
            Message::Bytes { channel, bytes, .. } => to(channel, &|verb| verb.write(bytes.clone())),
            Message::End { channel, .. } => to(channel, &Running::end_input),
            Message::Taken { channel, stream, bytes } => to(channel, &|verb| verb.taken(stream, bytes)),
            Message::Signal { channel, signal } => to(channel, &|verb| verb.signal(signal)),
            Message::Resize { channel, size } => to(channel, &|verb| verb.resize(size)),
            Message::Bye => self.bye.store(true, Ordering::Release),
            // Verbs are on this side.
            Message::Ended { .. } => {}
        }
    }

    fn open(self: &Arc<Self>, channel: u32, verb: &Verb) {
        let Some(arrival) = lock(&self.arrival).clone() else { return };
        match verb::start(channel, verb, &arrival, &self.line) {
            Ok((running, over)) => {
                lock(&self.verbs).insert(channel, running);
                let link = Arc::clone(self);
                tokio::spawn(async move {
                    let ending = over.await;
                    lock(&link.verbs).remove(&channel);
                    link.line.post(&Message::Ended { channel, ending });
                    link.ended.notify_one();
                });
            }
            Err(error) => {
                let ending = Ending::NotStarted(format!("chiton does not start there: {error}"));
                self.line.post(&Message::Ended { channel, ending });
            }
        }
    }

    pub(super) fn said_bye(&self) -> bool {
        self.bye.load(Ordering::Acquire)
    }

    /// Whether nobody came back in time, or nothing is left for anybody to come back to.
    pub(super) fn is_over(&self) -> bool {
        let presence = lock(&self.presence);
        let Some(lost) = presence.lost else { return false };
        self.said_bye() || lost.elapsed() >= presence.lease
    }

    /// Ends every verb: they stop what was waited for, and leave tasks alone.
    pub(super) async fn end(&self) {
        for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
            for running in lock(&self.verbs).values() {
                running.end_input();
                running.release();
                running.signal(signal.as_raw());
            }
            let gone = async {
                while !lock(&self.verbs).is_empty() {
                    self.ended.notified().await;
                }
            };
            if timeout(GRACE, gone).await.is_ok() {
                return;
            }
        }
    }
}
