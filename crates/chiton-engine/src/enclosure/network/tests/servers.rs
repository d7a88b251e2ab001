//! Machines outside, each a thread.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Accepts for ever, with a thread for each connection, and counts.
pub(super) fn serve(place: &str, each: impl Fn(TcpStream) + Send + Sync + 'static) -> Arc<AtomicUsize> {
    let listener = TcpListener::bind(place).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let (counter, each) = (Arc::clone(&count), Arc::new(each));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counter.fetch_add(1, Ordering::SeqCst);
            let each = Arc::clone(&each);
            let _ = thread::Builder::new().stack_size(128 * 1024).spawn(move || each(stream));
        }
    });
    count
}

/// A server of HTTP that says `reached NAME`, gives as many bytes as `/bytes/N` asks for, and else the files of `folder`.
pub(super) fn http(place: &str, folder: Option<PathBuf>) -> Arc<AtomicUsize> {
    serve(place, move |stream| {
        let _ = answer(stream, folder.as_ref());
    })
}

fn answer(mut stream: TcpStream, folder: Option<&PathBuf>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    let mut host = String::new();
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("host:") {
            value.trim().clone_into(&mut host);
        }
    }

    let path = request.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap_or("/").to_owned();
    if let Some(count) = path.strip_prefix("/bytes/") {
        let mut left: usize = count.parse().unwrap_or(0);
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {left}\r\nConnection: close\r\n\r\n")?;
        let block = vec![b'x'; 256 * 1024];
        while left > 0 {
            let count = left.min(block.len());
            stream.write_all(&block[..count])?;
            left -= count;
        }
        return Ok(());
    }
    let (status, body) = match (path.as_str(), folder) {
        ("/", _) | (_, None) => ("200 OK", format!("reached {host}\n").into_bytes()),
        (path, Some(folder)) => match fs::read(folder.join(&path[1..])) {
            Ok(bytes) => ("200 OK", bytes),
            Err(_) => ("404 Not Found", Vec::new()),
        },
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

/// Says how many bytes it got, once the other side has said that there are no more.
pub(super) fn counting(place: &str) {
    serve(place, |mut stream| {
        let count = std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0);
        let _ = writeln!(stream, "got {count}");
    });
}

/// A proxy that leads every name to one address, and remembers what it was asked.
pub(super) fn proxy(place: &str, leads_to: &'static str) -> Arc<Mutex<Vec<String>>> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&asked);
    serve(place, move |mut stream| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let port = head.split(' ').nth(1).and_then(|place| place.rsplit_once(':')).unwrap().1.to_owned();
        list.lock().unwrap().push(head.replace("\r\n", "|"));
        let Ok(mut server) = TcpStream::connect(format!("{leads_to}:{port}")) else { return };
        stream.write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n").unwrap();
        let (mut from, mut to) = (stream.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Write);
        });
        let _ = std::io::copy(&mut server, &mut stream);
        let _ = stream.shutdown(std::net::Shutdown::Write);
    });
    asked
}
