//! Where names lead, outside. The system's resolver waits, so it is asked on a few threads of their own.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use serde::{Deserialize, Serialize};

/// How many names are asked for at a time. The others wait.
const THREADS: usize = 8;
/// `getaddrinfo` is content with a part of it.
const STACK_BYTES: usize = 512 * 1024;
/// For how long an answer is used again, and how many are kept.
const KEPT: Duration = Duration::from_secs(30);
const KEPT_NAMES: usize = 4096;

/// Who knows where names lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Resolution {
    /// The resolver of the machine.
    System,
    /// These names and no other.
    Table(Vec<(String, Vec<IpAddr>)>),
}

/// The file in which the machine's resolver is set up.
const SETUP: &str = "/etc/resolv.conf";

impl Resolution {
    /// The domains in which a name without a dot is looked for.
    pub(super) fn search_domains(&self) -> Vec<String> {
        match self {
            Self::System => std::fs::read_to_string(SETUP).map(|text| read_search(&text)).unwrap_or_default(),
            Self::Table(_) => Vec::new(),
        }
    }
}

/// The last line of either kind counts, as for the C library.
fn read_search(text: &str) -> Vec<String> {
    let mut domains = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("search") => domains = words.map(str::to_owned).collect(),
            Some("domain") => domains = words.take(1).map(str::to_owned).collect(),
            _ => {}
        }
    }
    // The root itself, which some write to have none.
    domains.retain(|domain| domain != ".");
    domains
}

/// What is known about a name at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Known(Vec<IpAddr>),
    /// [`Resolver::finished`] will tell.
    Later,
}

/// Asks where names lead.
pub(super) struct Resolver {
    resolution: Resolution,
    kept: HashMap<String, (Instant, Vec<IpAddr>)>,
    shared: Arc<Shared>,
}

struct Shared {
    work: Mutex<Work>,
    /// There is more to do.
    more: Condvar,
    /// Readable while there are answers.
    bell: OwnedFd,
}

#[derive(Default)]
struct Work {
    asked: VecDeque<String>,
    answered: Vec<(String, Vec<IpAddr>)>,
    threads: usize,
    idle: usize,
}

impl Shared {
    /// A thread that panicked left the lists as they were between two steps.
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resolver {
    pub(super) fn new(resolution: Resolution) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { work: Mutex::default(), more: Condvar::new(), bell });
        Ok(Self { resolution, kept: HashMap::new(), shared })
    }

    /// Becomes readable when [`Resolver::finished`] has something to give.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.bell.as_fd()
    }

    /// Asks for a name.
    pub(super) fn look_up(&mut self, name: &str, now: Instant) -> Lookup {
        if let Ok(address) = name.parse() {
            return Lookup::Known(vec![address]);
        }
        if let Resolution::Table(table) = &self.resolution {
            let found = table.iter().find(|(known, _)| known == name);
            return Lookup::Known(found.map(|(_, addresses)| addresses.clone()).unwrap_or_default());
        }
        if let Some((since, addresses)) = self.kept.get(name)
            && now.duration_since(*since) < KEPT
        {
            return Lookup::Known(addresses.clone());
        }

        let mut work = self.shared.lock();
        work.asked.push_back(name.to_owned());
        if work.idle == 0 && work.threads < THREADS {
            let shared = Arc::clone(&self.shared);
            let started = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || answer_for_ever(&shared));
            work.threads += usize::from(started.is_ok());
        }
        drop(work);
        self.shared.more.notify_one();
        Lookup::Later
    }

    /// The names that were answered since the last time. A name that leads nowhere has no address.
    pub(super) fn finished(&mut self, now: Instant) -> Vec<(String, Vec<IpAddr>)> {
        let _ = rustix::io::read(&self.shared.bell, &mut [0; 8][..]);
        let answered = std::mem::take(&mut self.shared.lock().answered);

        if self.kept.len() > KEPT_NAMES {
            self.kept.clear();
        }
        for (name, addresses) in answered.iter().filter(|(_, addresses)| !addresses.is_empty()) {
            self.kept.insert(name.clone(), (now, addresses.clone()));
        }
        answered
    }
}

fn answer_for_ever(shared: &Shared) {
    loop {
        let mut work = shared.lock();
        let name = loop {
            if let Some(name) = work.asked.pop_front() {
                break name;
            }
            work.idle += 1;
            work = shared.more.wait(work).unwrap_or_else(PoisonError::into_inner);
            work.idle -= 1;
        };
        drop(work);

        let addresses = (name.as_str(), 0).to_socket_addrs().map(|found| found.map(|place| place.ip()).collect());
        shared.lock().answered.push((name, addresses.unwrap_or_default()));
        let _ = rustix::io::write(&shared.bell, &1u64.to_ne_bytes());
    }
}

/// The places behind addresses, at a port.
pub(super) fn places(addresses: impl IntoIterator<Item = IpAddr>, port: u16) -> VecDeque<SocketAddr> {
    addresses.into_iter().map(|address| SocketAddr::from((address, port))).collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_system_is_asked_and_its_answer_kept() {
        let mut resolver = Resolver::new(Resolution::System).unwrap();
        let now = Instant::now();
        assert_eq!(resolver.look_up("localhost", now), Lookup::Later);
        let mut wanted = [rustix::event::PollFd::new(&resolver.shared.bell, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut wanted, None).unwrap();

        let answered = resolver.finished(now);
        assert!(answered[0].0 == "localhost" && answered[0].1.contains(&Ipv4Addr::LOCALHOST.into()), "{answered:?}");
        assert!(matches!(resolver.look_up("localhost", now), Lookup::Known(_)));
        assert_eq!(resolver.look_up("localhost", now + KEPT), Lookup::Later);
    }

    #[test]
    fn the_domains_to_search_are_those_of_the_last_line() {
        for (text, expected) in [
            ("nameserver 10.0.0.1\nsearch corp.example a.example\n", &["corp.example", "a.example"][..]),
            ("domain old.example\nsearch new.example\n", &["new.example"]),
            ("search old.example\ndomain new.example other\n", &["new.example"]),
            ("search .\noptions ndots:2\n", &[]),
            ("# search no.example\n; search no.example\n", &[]),
        ] {
            assert_eq!(read_search(text), expected, "{text}");
        }
    }

    #[test]
    fn a_table_is_all_there_is() {
        let address = Ipv4Addr::new(203, 0, 113, 5).into();
        let table = Resolution::Table(vec![("a.example".into(), vec![address])]);
        let mut resolver = Resolver::new(table).unwrap();
        for (name, expected) in [("a.example", vec![address]), ("localhost", vec![]), ("203.0.113.5", vec![address])] {
            assert_eq!(resolver.look_up(name, Instant::now()), Lookup::Known(expected), "{name}");
        }
    }
}
