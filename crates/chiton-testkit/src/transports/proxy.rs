//! A bad network: a TCP proxy on loopback that delays, slows down, stalls, cuts and refuses.
//!
//! Each way of a connection is two threads: one reads chunks and notes when each is due, one writes them then. What a
//! test changes takes effect at once, also for connections that are open.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::ReservedPort;
use crate::dice::Dice;

/// The most that is read at once.
const CHUNK: usize = 16 * 1024;

/// How many chunks of one way are under way: enough for a fast connection with a long delay.
const UNDER_WAY: usize = 256;

/// A proxy in front of a port of this machine. Its connections are cut when it goes away.
#[derive(Debug)]
pub struct Proxy {
    port: ReservedPort,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    target: SocketAddrV4,
    weather: Mutex<Weather>,
    /// The weather has changed, or a connection was cut.
    changed: Condvar,
    connections: Mutex<Vec<Arc<Connection>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    accepted: AtomicUsize,
    cuts: AtomicUsize,
    is_closing: AtomicBool,
}

/// What the network is like at the moment.
#[derive(Debug)]
struct Weather {
    delay: Duration,
    /// No network is as fast as the largest number.
    bytes_per_second: u64,
    cut_one_in: Option<usize>,
    cut_after: Option<u64>,
    is_stalled: bool,
    dice: Dice,
}

/// One connection: from the client to the proxy, and from there to the server.
#[derive(Debug)]
struct Connection {
    near: TcpStream,
    far: TcpStream,
    bytes: AtomicU64,
    is_cut: AtomicBool,
}

/// What a reader hands to its writer.
struct Chunk {
    due: Instant,
    bytes: Vec<u8>,
}

impl Proxy {
    /// Proxies need nothing that is not there.
    pub fn available() -> Result<(), String> {
        Ok(())
    }

    /// Starts one in front of a port of this machine, in good weather.
    ///
    /// # Panics
    /// When no port is left.
    pub fn start(target: u16) -> Self {
        let weather = Weather {
            delay: Duration::ZERO,
            bytes_per_second: u64::MAX,
            cut_one_in: None,
            cut_after: None,
            is_stalled: false,
            dice: Dice::new(u64::from(target)),
        };
        let shared = Shared {
            target: SocketAddrV4::new(Ipv4Addr::LOCALHOST, target),
            weather: Mutex::new(weather),
            changed: Condvar::new(),
            connections: Mutex::default(),
            threads: Mutex::default(),
            accepted: AtomicUsize::new(0),
            cuts: AtomicUsize::new(0),
            is_closing: AtomicBool::new(false),
        };
        let mut proxy = Self { port: ReservedPort::take(), shared: Arc::new(shared), listener: None };
        proxy.accept_connections();
        proxy
    }

    /// Where it listens, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Every byte takes this long, each way.
    pub fn delay(&self, each_way: Duration) {
        self.change(|weather| weather.delay = each_way);
    }

    /// So many bytes come through in a second, each way of each connection.
    pub fn limit_rate(&self, bytes_per_second: Option<u64>) {
        self.change(|weather| weather.bytes_per_second = bytes_per_second.unwrap_or(u64::MAX).max(1));
    }

    /// Each chunk that arrives, one in so many cuts its connection instead of coming through: 100 is a loss of 1 %.
    pub fn cut_one_in(&self, chunks: Option<usize>) {
        self.change(|weather| weather.cut_one_in = chunks.map(|chunks| chunks.max(1)));
    }

    /// A connection is cut when it has carried so many bytes, both ways together.
    pub fn cut_after(&self, bytes: Option<u64>) {
        self.change(|weather| weather.cut_after = bytes);
    }

    /// Cuts all connections that are open now. What is under way is lost.
    pub fn cut_all(&self) {
        let open = locked(&self.shared.connections).clone();
        for connection in open {
            self.shared.cut(&connection);
        }
    }

    /// Nothing comes through any more, and nobody is told: connections stay open, new ones too.
    pub fn stall(&self) {
        self.change(|weather| weather.is_stalled = true);
    }

    /// What was held up comes through, and the rest as well.
    pub fn resume(&self) {
        self.change(|weather| weather.is_stalled = false);
    }

    /// From now on nobody listens, and clients are told "connection refused". Open connections go on.
    ///
    /// # Panics
    /// When the thread that listens has panicked.
    pub fn refuse_connections(&mut self) {
        let Some(listener) = self.listener.take() else { return };
        self.shared.is_closing.store(true, Ordering::SeqCst);
        // It waits for a connection, so it gets one.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port()));
        listener.join().expect("it does not panic");
    }

    /// Accepts connections again.
    ///
    /// # Panics
    /// When the port cannot be listened on, although it is ours.
    pub fn accept_connections(&mut self) {
        if self.listener.is_some() {
            return;
        }
        self.shared.is_closing.store(false, Ordering::SeqCst);
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port())).expect("the port is ours");
        let shared = Arc::clone(&self.shared);
        self.listener = Some(thread::spawn(move || shared.listen(&socket)));
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        locked(&self.shared.connections).len()
    }

    /// How many there were so far.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// How many of them were cut.
    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    fn change(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut locked(&self.shared.weather));
        self.shared.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.refuse_connections();
        self.cut_all();
        let threads = std::mem::take(&mut *locked(&self.shared.threads));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn listen(self: Arc<Self>, socket: &TcpListener) {
        for near in socket.incoming() {
            if self.is_closing.load(Ordering::SeqCst) {
                return;
            }
            let (Ok(near), Ok(far)) = (near, TcpStream::connect(self.target)) else { continue };
            let _ = near.set_nodelay(true).and_then(|()| far.set_nodelay(true));
            self.accepted.fetch_add(1, Ordering::SeqCst);
            let connection =
                Arc::new(Connection { near, far, bytes: AtomicU64::new(0), is_cut: AtomicBool::new(false) });
            locked(&self.connections).push(Arc::clone(&connection));
            let shared = Arc::clone(&self);
            locked(&self.threads).push(thread::spawn(move || shared.carry(&connection)));
        }
    }

    /// Carries both ways of a connection until both have ended.
    fn carry(&self, connection: &Arc<Connection>) {
        thread::scope(|scope| {
            for (from, to) in [(&connection.near, &connection.far), (&connection.far, &connection.near)] {
                let (sender, receiver) = sync_channel(UNDER_WAY);
                scope.spawn(move || self.read(connection, from, &sender));
                scope.spawn(move || self.write(connection, to, &receiver));
            }
        });
        locked(&self.connections).retain(|other| !Arc::ptr_eq(other, connection));
    }

    fn read(&self, connection: &Connection, mut from: &TcpStream, sender: &SyncSender<Chunk>) {
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = match from.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(count) => count,
                // The other side has reset it: the end of everything, not of one way.
                Err(_) => {
                    self.close(connection);
                    return;
                }
            };
            let (delay, is_lost) = self.fate(connection, count);
            if is_lost {
                return self.cut(connection);
            }
            let chunk = Chunk { due: Instant::now() + delay, bytes: buffer[..count].to_vec() };
            if sender.send(chunk).is_err() || count == 0 {
                return;
            }
        }
    }

    /// How long a chunk takes, and whether it cuts the connection.
    fn fate(&self, connection: &Connection, count: usize) -> (Duration, bool) {
        let mut weather = locked(&self.weather);
        let added = u64::try_from(count).unwrap_or(u64::MAX);
        let carried = connection.bytes.fetch_add(added, Ordering::SeqCst).saturating_add(added);
        let is_full = weather.cut_after.is_some_and(|most| carried >= most);
        let sides = weather.cut_one_in.filter(|_| count > 0);
        let is_unlucky = sides.is_some_and(|sides| weather.dice.roll(sides) == 0);
        (weather.delay, is_full || is_unlucky)
    }

    fn write(&self, connection: &Connection, to: &TcpStream, receiver: &Receiver<Chunk>) {
        for chunk in receiver {
            if self.wait(connection, chunk.due).is_none() {
                return;
            }
            if chunk.bytes.is_empty() {
                // One side has said its last word; the other one may go on.
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            if !self.pour(connection, to, &chunk.bytes) {
                return;
            }
        }
    }

    /// Writes bytes as fast as they may go; `false` when the connection is no more.
    fn pour(&self, connection: &Connection, mut to: &TcpStream, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(rate) = self.wait(connection, Instant::now()) else { return false };
            // A twentieth of a second at a time, so that a slow network looks slow and not like one that stops.
            let most = usize::try_from(rate / 20).unwrap_or(CHUNK).clamp(1, CHUNK).min(rest.len());
            if to.write_all(&rest[..most]).is_err() {
                self.close(connection);
                return false;
            }
            rest = &rest[most..];

            let written = u64::try_from(most).unwrap_or(u64::MAX);
            let pause = Duration::from_nanos(1_000_000_000 * written / rate);
            if !pause.is_zero() && self.wait(connection, Instant::now() + pause).is_none() {
                return false;
            }
        }
        true
    }

    /// Waits until it is time and nothing is stalled; gives the rate, or nothing when the connection is no more.
    fn wait(&self, connection: &Connection, due: Instant) -> Option<u64> {
        let mut weather = locked(&self.weather);
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if connection.is_cut.load(Ordering::SeqCst) {
                return None;
            }
            if !weather.is_stalled && left.is_zero() {
                return Some(weather.bytes_per_second);
            }
            let moment = if weather.is_stalled { Duration::from_hours(1) } else { left };
            weather = self.changed.wait_timeout(weather, moment).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Cuts a connection on purpose.
    fn cut(&self, connection: &Connection) {
        // Counted before anybody can notice.
        if self.mark(connection) {
            self.cuts.fetch_add(1, Ordering::SeqCst);
            self.shut(connection);
        }
    }

    /// Ends both ways of a connection that one side has broken.
    fn close(&self, connection: &Connection) {
        if self.mark(connection) {
            self.shut(connection);
        }
    }

    /// Notes that a connection is no more; `false` if somebody has noted it before.
    fn mark(&self, connection: &Connection) -> bool {
        // With the lock, so that whoever is about to wait sees it.
        let _weather = locked(&self.weather);
        !connection.is_cut.swap(true, Ordering::SeqCst)
    }

    fn shut(&self, connection: &Connection) {
        let _ = connection.near.shutdown(Shutdown::Both);
        let _ = connection.far.shutdown(Shutdown::Both);
        self.changed.notify_all();
    }
}

/// A lock that a panicking thread has left behind still guards something usable here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
