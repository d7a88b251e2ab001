//! A recording as an asciicast, version 2: lines of JSON that players on the web and in terminals know.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::json;

use super::TerminalSize;
use super::keys::TERM;
use crate::text::whole_characters;

/// Writes an asciicast.
pub struct CastWriter<W> {
    to: W,
    /// The beginning of a character whose rest comes with the next output.
    held: Vec<u8>,
    last: Duration,
}

/// What stands at the beginning of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CastHeader {
    /// The size at the start.
    pub size: TerminalSize,
    /// When it started, in seconds since 1970.
    pub started_at: u64,
    /// The command.
    pub command: String,
    /// Its title.
    pub title: Option<String>,
}

impl<W: Write> CastWriter<W> {
    /// Begins a recording.
    pub fn new(mut to: W, header: &CastHeader) -> io::Result<Self> {
        let mut first = json!({
            "version": 2,
            "width": header.size.columns,
            "height": header.size.rows,
            "timestamp": header.started_at,
            "command": header.command,
            "env": {"TERM": TERM},
        });
        if let Some(title) = &header.title {
            first["title"] = json!(title);
        }
        writeln!(to, "{first}")?;
        Ok(Self { to, held: Vec::new(), last: Duration::ZERO })
    }

    /// Adds output, `at` this time after the start.
    pub fn output(&mut self, at: Duration, bytes: &[u8]) -> io::Result<()> {
        self.held.extend_from_slice(bytes);
        let whole = whole_characters(&self.held);
        if whole == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&self.held[..whole]).into_owned();
        self.held.drain(..whole);
        self.event(at, 'o', &text)
    }

    /// Adds a change of size, `at` this time after the start.
    pub fn resize(&mut self, at: Duration, size: TerminalSize) -> io::Result<()> {
        self.event(at, 'r', &format!("{}x{}", size.columns, size.rows))
    }

    /// Ends the recording.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.held.is_empty() {
            let rest = String::from_utf8_lossy(&self.held).into_owned();
            self.event(self.last, 'o', &rest)?;
        }
        self.to.flush()?;
        Ok(self.to)
    }

    /// Writes an event. Times never go back, whatever the clock did.
    fn event(&mut self, at: Duration, kind: char, data: &str) -> io::Result<()> {
        self.last = self.last.max(at);
        writeln!(
            self.to,
            "[{}.{:06}, {}, {}]",
            self.last.as_secs(),
            self.last.subsec_micros(),
            json!(kind),
            json!(data)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_lines_of_json_that_give_the_output_back() {
        let text = "gr\u{fc}n \u{1b}[31m\"rot\"\u{1b}[0m\r\n\u{4e16}\u{754c}\u{1f600}";
        for piece in 1..=text.len() {
            let header = CastHeader { command: "x".to_owned(), started_at: 7, ..CastHeader::default() };
            let mut cast = CastWriter::new(Vec::new(), &header).unwrap();
            for (number, part) in (0u32..).zip(text.as_bytes().chunks(piece)) {
                cast.output(Duration::from_millis(50) * number, part).unwrap();
            }
            cast.resize(Duration::from_mins(1), TerminalSize { columns: 100, rows: 30 }).unwrap();
            let written = String::from_utf8(cast.finish().unwrap()).unwrap();
            let mut lines = written.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            let first = lines.next().unwrap();
            assert_eq!((&first["version"], &first["width"], &first["height"]), (&json!(2), &json!(80), &json!(24)));
            let events: Vec<_> = lines.collect();
            let output: String =
                events.iter().filter(|event| event[1] == "o").map(|event| event[2].as_str().unwrap()).collect();
            assert_eq!(output, text, "pieces of {piece}");
            let times: Vec<f64> = events.iter().map(|event| event[0].as_f64().unwrap()).collect();
            assert!(times.is_sorted());
            assert_eq!(events.last().unwrap()[2], "100x30");
        }
    }
}
