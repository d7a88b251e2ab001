//! A bad network, alone and in front of a real server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use chiton_testkit::processes::eventually;
use chiton_testkit::transports::{Proxy, Sshd, SshdOptions, usable};

use crate::{LIMIT, any_bytes, begun, client, fed, works};

/// A server that gives back what it gets, on so many connections.
fn echo(connections: usize) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let server = thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let mut stream = stream.expect("a client comes");
            let mut back = stream.try_clone().expect("it can be cloned");
            let _ = std::io::copy(&mut stream, &mut back);
            let _ = back.shutdown(std::net::Shutdown::Write);
        }
    });
    (port, server)
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", proxy.port())).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("it is a socket");
    stream
}

/// Sends one byte there and back.
fn ping(stream: &mut TcpStream) -> Duration {
    let began = Instant::now();
    stream.write_all(b"x").expect("it is open");
    stream.read_exact(&mut [0]).expect("it comes back");
    began.elapsed()
}

#[test]
fn a_proxy_delays_slows_down_and_stalls() {
    let (port, server) = echo(1);
    let proxy = Proxy::start(port);
    let mut stream = connect(&proxy);
    ping(&mut stream);

    proxy.delay(Duration::from_millis(150));
    assert!(ping(&mut stream) >= Duration::from_millis(300));
    proxy.delay(Duration::ZERO);

    // Both ways at once, so it takes a second for each 20,000 bytes.
    proxy.limit_rate(Some(20_000));
    let began = Instant::now();
    stream.write_all(&[7; 10_000]).expect("it is open");
    stream.read_exact(&mut [0; 10_000]).expect("they come back");
    assert!(began.elapsed() >= Duration::from_millis(450), "{:?}", began.elapsed());
    proxy.limit_rate(None);

    proxy.stall();
    stream.write_all(b"held").expect("nobody notices");
    stream.set_read_timeout(Some(Duration::from_millis(200))).expect("it is a socket");
    let error = stream.read_exact(&mut [0]).expect_err("nothing comes through");
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    stream.set_read_timeout(Some(LIMIT)).expect("it is a socket");
    proxy.resume();
    let mut held = [0; 4];
    stream.read_exact(&mut held).expect("it comes now");
    assert_eq!(&held, b"held");

    // The end of one way is told too.
    stream.shutdown(std::net::Shutdown::Write).expect("it is open");
    assert_eq!(stream.read(&mut [0]).expect("it ends"), 0);
    assert!(eventually(LIMIT, || proxy.connections() == 0));
    assert_eq!((proxy.accepted(), proxy.cuts()), (1, 0));
    drop(proxy);
    server.join().expect("it has served all");
}

#[test]
fn a_proxy_cuts_and_refuses() {
    let (port, server) = echo(4);
    let mut proxy = Proxy::start(port);
    let mut stream = connect(&proxy);
    ping(&mut stream);
    proxy.cut_all();
    assert_eq!(stream.read(&mut [0]).expect("it ends without an error"), 0);
    assert!(eventually(LIMIT, || proxy.connections() == 0));

    // Stalled ones can be cut as well.
    let mut stream = connect(&proxy);
    ping(&mut stream);
    proxy.stall();
    stream.write_all(b"held").expect("nobody notices");
    proxy.cut_all();
    assert_eq!(stream.read(&mut [0]).expect("it ends without an error"), 0);
    proxy.resume();

    proxy.cut_after(Some(100_000));
    let mut stream = connect(&proxy);
    let mut other = stream.try_clone().expect("it can be cloned");
    let writer = thread::spawn(move || other.write_all(&any_bytes()));
    let mut got = Vec::new();
    let _ = stream.read_to_end(&mut got);
    assert!(got.len() < 100_000, "{}", got.len());
    let _ = writer.join().expect("it does not panic");
    assert_eq!(proxy.cuts(), 3);
    proxy.cut_after(None);

    proxy.refuse_connections();
    assert!(TcpStream::connect(("127.0.0.1", proxy.port())).is_err());
    proxy.accept_connections();
    let mut stream = connect(&proxy);
    ping(&mut stream);

    let number = proxy.port();
    drop(proxy);
    assert_eq!(stream.read(&mut [0]).expect("it ends without an error"), 0);
    assert!(TcpStream::connect(("127.0.0.1", number)).is_err());
    server.join().expect("it has served all");
}

#[test]
fn ssh_through_a_bad_network() {
    if !usable(&Sshd::available()) {
        return;
    }
    let sshd = Sshd::start(&SshdOptions::default());
    let proxy = Proxy::start(sshd.port());
    let words = sshd.client_through(proxy.port());
    proxy.delay(Duration::from_millis(5));
    works(&words, &["exec sh"]);
    proxy.delay(Duration::ZERO);
    assert_eq!(proxy.accepted(), 2);
    sshd.lead_alias_through(proxy.port());
    let by_alias = ["ssh", "-F", &sshd.config().display().to_string(), sshd.alias()].map(str::to_owned);
    assert!(fed(client(&by_alias, &["true"]), b"").status.success());
    assert_eq!(proxy.accepted(), 3);

    let mut running = begun(&words, &["echo begun; cat"]);
    proxy.cut_all();
    assert_eq!(running.wait().expect("it is our child").code(), Some(255));

    // Five megabytes are hundreds of chunks; one in twenty is lost.
    proxy.cut_one_in(Some(20));
    let lost = fed(client(&words, &["cat"]), &any_bytes());
    assert_eq!(lost.status.code(), Some(255));
    assert!(lost.stdout.len() < 5_000_000);
    assert_eq!(proxy.cuts(), 2);
}
