//! Tries what was written: the server starts and says what it offers, or answers where it should be.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::connection::{Connection, HttpServer, Launch};
use crate::handshake::{self, Talk};

/// More than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was found, in words; an error says what is wrong and what to do.
pub(super) fn check(connection: &Connection, token: Option<&str>) -> Result<String> {
    match connection {
        Connection::Program(launch) => program(launch),
        Connection::Server(server) => answers(server, token),
    }
}

fn program(launch: &Launch) -> Result<String> {
    #[expect(clippy::disallowed_methods, reason = "not a command of a user: this program, as the client starts it")]
    let mut command = Command::new(&launch.command);
    command.args(&launch.arguments);
    let said = handshake::introduce(command, "chiton setup", Talk::Tools).with_context(|| {
        format!("`{} {}` does not serve; `chiton doctor` says more", launch.command, launch.arguments.join(" "))
    })?;
    Ok(format!("starts and offers {}", said.tools.join(", ")))
}

fn answers(server: &HttpServer, token: Option<&str>) -> Result<String> {
    let url = &server.url;
    let Some(rest) = url.strip_prefix("http://") else {
        return Ok(format!("not tried: {url} is not plain HTTP"));
    };
    let Some(token) = token else {
        return Ok(format!("not tried: there is no token on this machine for {url}"));
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let named = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let address = named.to_socket_addrs().ok().and_then(|mut all| all.next());
    let address = address.with_context(|| format!("there is no host '{host}'"))?;
    let nobody = || format!("nothing listens at {url}; start it there: chiton mcp --http {host}");
    let stream = TcpStream::connect_timeout(&address, PATIENCE).with_context(nobody)?;
    match status(stream, host, path, token).with_context(|| format!("{url} does not answer"))? {
        200 => Ok(format!("answers at {url}")),
        401 => bail!(
            "{url} does not take the token of this machine; is it another server, or one with another state directory?"
        ),
        403 => bail!("{url} does not let this process in; docs/server.md says whom it does"),
        other => bail!("{url} answers with status {other}; is it a Chiton?"),
    }
}

/// Says hello over HTTP, and gives the status of the answer.
fn status(mut stream: TcpStream, host: &str, path: &str, token: &str) -> Result<u16> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "chiton setup", "version": env!("CARGO_PKG_VERSION")},
        },
    })
    .to_string();
    let head = |method: &str, more: &str| {
        format!(
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{more}Connection: close\r\n\r\n"
        )
    };
    let accepted = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let more = format!("{accepted}Content-Length: {}\r\n", hello.len());
    stream.write_all(format!("{}{hello}", head("POST", &more)).as_bytes())?;

    let mut lines = BufReader::new(&stream).lines();
    let first = lines.next().context("it closed the connection")??;
    let number = first.split(' ').nth(1).and_then(|number| number.parse().ok());
    let session = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
    });
    // The session would otherwise stay for a day.
    if let (Some(session), Ok(mut other)) = (session, stream.peer_addr().and_then(TcpStream::connect)) {
        other.set_read_timeout(Some(PATIENCE))?;
        let _ = other.write_all(head("DELETE", &format!("Mcp-Session-Id: {session}\r\n")).as_bytes());
        let _ = BufReader::new(other).lines().next();
    }
    number.context("its answer is not HTTP")
}
