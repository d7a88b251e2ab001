//! The networks of a test and the processes in them.
//!
//! A test starts itself once more in a network that stands for the outside ([`outside`]). There, one more process makes the
//! network of a session, and a broker serves it ([`Stage::set`]).

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::enclosure::network::broker::{self, BrokerPlan, BrokerReport};
use crate::enclosure::network::events::{EventReader, Refusal};
use crate::enclosure::network::inside::{self, Sockets};
use crate::enclosure::network::resolver::Resolution;
use crate::sandbox::policy::HostRule;
use crate::sys::descriptors::take_stdin;
use crate::sys::netlink::RoutingSocket;

/// Says which part a process of this program plays.
const PART: &str = "CHITON_TEST_PART";
/// The ports at which a session's network listens, or nothing for one that leads nowhere.
const PORTS: &str = "CHITON_TEST_PORTS";

/// Addresses of machines outside.
pub(super) const HOST: &str = "203.0.113.5";
pub(super) const PLAIN_HOST: &str = "203.0.113.7";
const ADDRESSES: &[&str] =
    &[HOST, "203.0.113.6", PLAIN_HOST, "203.0.113.9", "10.0.0.5", "169.254.169.254", "192.168.7.7"];

#[expect(clippy::disallowed_methods, reason = "the test plays with real programs")]
fn command(program: &str) -> Command {
    Command::new(program)
}

fn this_program() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

/// Runs `body` as the only thing in a network of its own, in a process of its own. `name` is that of the test.
pub(super) fn outside(name: &str, body: impl FnOnce()) {
    if std::env::var(PART).is_ok() {
        let routing = RoutingSocket::open().unwrap();
        routing.bring_up_loopback().unwrap();
        for address in ADDRESSES {
            routing.add_address(address.parse::<Ipv4Addr>().unwrap()).unwrap();
        }
        body();
        return;
    }

    let own_network = ["--user", "--map-root-user", "--net", "--"];
    if !command("unshare").args(own_network).arg("true").status().is_ok_and(|status| status.success()) {
        println!("skipped: no network namespaces can be made here");
        return;
    }
    let module = module_path!().rsplit_once("::").unwrap().0;
    let path = format!("{}::{name}", module.split_once("::").unwrap().1);
    let mut again = command("unshare");
    again.args(own_network).arg(this_program()).args([&path, "--exact", "--nocapture", "--include-ignored"]);
    let status = again.env(PART, "outside").status().unwrap();
    assert!(status.success(), "see above");
}

/// The session's network: made by a process that stays in it.
#[test]
#[ignore = "plays a part in other tests"]
fn inside_part() {
    if std::env::var(PART).as_deref() != Ok("inside") {
        return;
    }
    let socket = UnixStream::from(take_stdin().unwrap());
    let ports = std::env::var(PORTS).unwrap();
    if ports == "alone" {
        inside::set_up_alone().unwrap();
    } else {
        let ports: Vec<u16> = ports.split_whitespace().map(|port| port.parse().unwrap()).collect();
        inside::set_up(&ports).unwrap().send(&socket).unwrap();
    }
    (&socket).write_all(&[1]).unwrap();
    let _ = (&socket).read(&mut [0]);
}

#[test]
#[ignore = "plays a part in other tests"]
fn broker_part() {
    if std::env::var(PART).as_deref() == Ok("broker") {
        broker::serve_on(UnixStream::from(take_stdin().unwrap())).unwrap();
    }
}

fn start_part(part: &str, ports: &str, in_own_network: bool) -> (Child, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let path = format!("{}::{part}_part", module_path!().split_once("::").unwrap().1);
    let mut start = command(if in_own_network { "unshare" } else { "env" });
    if in_own_network {
        start.args(["--net", "--"]);
    }
    start.arg(this_program()).args([&path, "--exact", "--ignored"]).env(PART, part).env(PORTS, ports);
    let child = start.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn().unwrap();
    (child, ours)
}

/// A session's network and its broker.
pub(super) struct Stage {
    inside: Child,
    broker: Option<Child>,
    pub(super) control: UnixStream,
    pub(super) life: Option<OwnedFd>,
    events: File,
    reader: EventReader,
    waiting: Vec<Refusal>,
}

pub(super) fn rule(host: &str, port: Option<u16>) -> HostRule {
    HostRule { host: host.into(), port }
}

/// A plan in which these names lead to these addresses, and only those of [`HOST`] and [`PLAIN_HOST`] are addresses that a
/// name may lead to although they are this machine's own.
pub(super) fn plan(rules: &[(&str, Option<u16>)], table: &[(&str, &[&str])]) -> BrokerPlan {
    let mut rules: Vec<_> = rules.iter().map(|(host, port)| rule(host, *port)).collect();
    for port in [None, Some(8080), Some(9001)] {
        rules.extend([rule(HOST, port), rule(PLAIN_HOST, port)]);
    }
    let table = table.iter().map(|(name, addresses)| {
        ((*name).to_owned(), addresses.iter().map(|address| address.parse().unwrap()).collect())
    });
    BrokerPlan {
        rules,
        expose: Vec::new(),
        resolution: Resolution::Table(table.collect()),
        upstream: None,
        search: Vec::new(),
    }
}

impl Stage {
    pub(super) fn set(plan: &BrokerPlan) -> Self {
        // The one more port that a plan allows from the start is for the test that allows more later.
        let ports: Vec<_> = super::super::ports(&plan.rules).into_iter().filter(|port| *port != 9001).collect();
        let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
        let (inside, door) = start_part("inside", &ports.join(" "), true);
        let sockets = Sockets::receive(&door).unwrap();

        let (broker, control) = start_part("broker", "", false);
        let (life_reader, life) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let (events, events_writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        rustix::io::ioctl_fionbio(&events, true).unwrap();
        broker::give(&control, plan, &sockets, life_reader.as_fd(), events_writer.as_fd()).unwrap();
        drop(sockets);
        assert_eq!(broker::started(&control).unwrap(), BrokerReport::Started { not_exposed: Vec::new() });
        std::mem::forget(door);
        Self {
            inside,
            broker: Some(broker),
            control,
            life: Some(life),
            events: events.into(),
            reader: EventReader::default(),
            waiting: Vec::new(),
        }
    }

    /// A session without any network but its own.
    pub(super) fn set_alone() -> Self {
        let (inside, door) = start_part("inside", "alone", true);
        (&door).read_exact(&mut [0]).unwrap();
        let (events, _) = rustix::pipe::pipe().unwrap();
        let control = door.try_clone().unwrap();
        let reader = EventReader::default();
        Self { inside, broker: None, control, life: None, events: events.into(), reader, waiting: Vec::new() }
    }

    /// A session in the network of the test, whose broker is a proxy at this place.
    pub(super) fn set_proxy(plan: &BrokerPlan, place: &str) -> Self {
        let (inside, door) = start_part("inside", "alone", true);
        std::mem::forget(door);
        let (broker, control) = start_part("broker", "", false);
        let (life_reader, life) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let (events, events_writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        rustix::io::ioctl_fionbio(&events, true).unwrap();
        let listener = std::net::TcpListener::bind(place).unwrap();
        broker::give_as_proxy(&control, plan, listener.as_fd(), life_reader.as_fd(), events_writer.as_fd()).unwrap();
        assert_eq!(broker::started(&control).unwrap(), BrokerReport::Started { not_exposed: Vec::new() });
        let (life, reader) = (Some(life), EventReader::default());
        Self { inside, broker: Some(broker), control, life, events: events.into(), reader, waiting: Vec::new() }
    }

    fn entering(&self, program: &str) -> Command {
        let mut enter = command("nsenter");
        enter.arg(format!("--net=/proc/{}/ns/net", self.inside.id())).args(["--", program]);
        enter.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/nonexistent");
        enter.stdin(Stdio::null());
        enter
    }

    /// Runs a command of bash inside.
    pub(super) fn run(&self, text: &str) -> Output {
        self.entering("bash").args(["-c", text]).output().unwrap()
    }

    /// What a command prints inside.
    pub(super) fn prints(&self, text: &str) -> String {
        let output = self.run(text);
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    /// Starts a program of Python inside and waits for its first line.
    pub(super) fn start_python(&self, text: &str) -> Running {
        let mut child = self.entering("python3").args(["-u", "-c", text]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Running(child)
    }

    /// The first refusal like this one, which has to be there soon. Those before it are dropped.
    pub(super) fn refusal(&mut self, wanted: impl Fn(&Refusal) -> bool) -> Option<Refusal> {
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            if let Some(place) = self.waiting.iter().position(&wanted) {
                return self.waiting.drain(..=place).next_back();
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.read_events(left);
        }
    }

    /// Everything that was refused and not asked for yet.
    pub(super) fn refusals(&mut self) -> Vec<Refusal> {
        self.read_events(Duration::ZERO);
        std::mem::take(&mut self.waiting)
    }

    fn read_events(&mut self, limit: Duration) {
        let mut wanted = [rustix::event::PollFd::new(&self.events, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(&mut wanted, Some(&limit.try_into().unwrap()));
        let mut bytes = vec![0; 65536];
        if let Ok(count) = self.events.read(&mut bytes) {
            self.waiting.extend(self.reader.read(&bytes[..count]).unwrap());
        }
    }

    pub(super) fn kill_broker(&mut self) {
        let mut broker = self.broker.take().unwrap();
        broker.kill().unwrap();
        broker.wait().unwrap();
    }

    /// Waits until the broker has ended by itself.
    pub(super) fn broker_ends_well(&mut self) -> bool {
        self.broker.take().unwrap().wait().unwrap().success()
    }

    pub(super) fn broker_id(&self) -> u32 {
        self.broker.as_ref().unwrap().id()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in [Some(&mut self.inside), self.broker.as_mut()].into_iter().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program that runs until the test has seen enough.
pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a program is installed.
pub(super) fn has(program: &str) -> bool {
    command("bash").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success()
}

/// Runs a command of bash where the test itself is.
pub(super) fn run_here(text: &str) -> Output {
    command("bash").args(["-c", text]).stdin(Stdio::null()).output().unwrap()
}

/// Starts a program where the test itself is.
pub(super) fn start_here(program: &str, arguments: &[&str]) -> Running {
    let mut start = command(program);
    Running(start.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}
