//! HTTP as far as `kubectl` needs it: requests without a body, answers in JSON.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::{Cluster, exec, resources};

/// The longest head of a request; a command is in it.
const LONGEST_HEAD: u64 = 1024 * 1024;

/// What was asked.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    /// The parts of the path, without anything that is encoded.
    pub(super) path: Vec<String>,
    /// What stands behind the question mark, in order.
    pub(super) query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
}

impl Request {
    /// The first value of this name behind the question mark.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value of a header whose name is given in small letters.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Answers the requests of one connection, one after the other.
pub(super) fn serve(cluster: &Cluster, stream: TcpStream) {
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        if let ["api", "v1", "namespaces", namespace, "pods", pod, "exec"] = path.as_slice() {
            match exec::prepare(cluster, &request, namespace, pod) {
                // The connection is no longer HTTP.
                Ok(command) => return exec::run(command, reader, writer),
                Err((code, reason)) => {
                    if answer(&mut writer, code, &resources::failure(code, &reason)).is_err() {
                        return;
                    }
                }
            }
            continue;
        }
        let (code, body) = resources::answer(cluster, &path, &request);
        if answer(&mut writer, code, &body).is_err() {
            return;
        }
    }
}

/// The head of the next request; nothing where there is no other, or where it is not HTTP.
fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut head = reader.take(LONGEST_HEAD).lines().map_while(Result::ok);
    let first = head.next()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
    };
    let header = |line: String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    Some(Request {
        method: method.to_owned(),
        path: path.split('/').filter(|part| !part.is_empty()).map(decoded).collect(),
        query: query.split('&').filter(|part| !part.is_empty()).map(pair).collect(),
        headers: head.take_while(|line| !line.is_empty()).filter_map(header).collect(),
    })
}

/// Text with `%41` read as `A`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, later @ ..] = rest {
        let code = later.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let code = code.filter(|_| *first == b'%').and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &later[2..] } else { later };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn answer(writer: &mut TcpStream, code: u16, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 {code} -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
    writer.write_all((head + &body).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn what_is_encoded_is_read() {
        for (text, meant) in [("a%20b", "a b"), ("%C3%A9", "é"), ("100%", "100%"), ("%zz", "%zz"), ("%2", "%2")] {
            assert_eq!(decoded(text), meant, "{text}");
        }
    }
}
