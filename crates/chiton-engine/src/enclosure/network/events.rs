//! What was refused, on its way out of the broker.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};

use super::parcel::{self, Frames};

/// Something inside was not let through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) what: Refused,
    /// The name that was asked for or dialled, or the address where it was dialled as such.
    pub(crate) name: String,
    /// 0 for a question to the resolver.
    pub(crate) port: u16,
    pub(crate) over: Transport,
    /// Who tried, as seen inside. The port belongs to one socket of one process.
    pub(crate) source: SocketAddr,
    /// How many refusals before this one were lost because nobody read.
    pub(crate) missed: u64,
}

/// Why something was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Refused {
    /// No rule allows the name.
    Name,
    /// The address was dialled and no rule names it; or the name is allowed and leads here, where no name may lead.
    Address(Option<IpAddr>),
    /// The name or address is allowed, at other ports.
    Port,
    /// The connection to the name is for this other name, or does not say for which.
    Sni(Option<String>),
}

/// How something was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

/// Writes refusals where whoever wants to know them reads. Never waits.
pub(super) struct EventWriter {
    file: File,
    /// The rest of a refusal that did not fit.
    rest: Vec<u8>,
    missed: u64,
}

impl EventWriter {
    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&descriptor, true)?;
        Ok(Self { file: File::from(descriptor), rest: Vec::new(), missed: 0 })
    }

    pub(super) fn write(&mut self, mut refusal: Refusal) {
        refusal.missed = self.missed;
        let Ok(frame) = parcel::encode(&refusal) else { return };

        self.flush();
        if !self.rest.is_empty() {
            self.missed += 1;
            return;
        }
        match self.file.write(&frame) {
            Ok(count) => {
                self.rest = frame[count..].to_vec();
                self.missed = 0;
            }
            Err(_) => self.missed += 1,
        }
    }

    /// Half a frame would spoil all that follow, so its rest goes first.
    fn flush(&mut self) {
        while !self.rest.is_empty() {
            let Ok(count) = self.file.write(&self.rest) else { return };
            self.rest.drain(..count);
        }
    }
}

/// Reads refusals from the bytes that arrive.
#[derive(Debug, Default)]
pub(crate) struct EventReader(Frames);

impl EventReader {
    /// The refusals that are whole now. An error means that what arrives was not written by a broker.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> io::Result<Vec<Refusal>> {
        self.0.extend(bytes);
        std::iter::from_fn(|| self.0.next().transpose()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn refusal(name: &str) -> Refusal {
        let source = "198.18.1.0:40000".parse().unwrap();
        Refusal { what: Refused::Name, name: name.into(), port: 443, over: Transport::Tcp, source, missed: 0 }
    }

    #[test]
    fn refusals_nobody_reads_are_counted_and_hold_up_nothing() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut writer = EventWriter::new(writer).unwrap();
        for number in 0..10_000 {
            writer.write(refusal(&format!("{number}.example")));
        }

        rustix::io::ioctl_fionbio(&reader, true).unwrap();
        let mut bytes = Vec::new();
        let _ = File::from(reader.try_clone().unwrap()).read_to_end(&mut bytes);
        let mut events = EventReader::default();
        let read = events.read(&bytes).unwrap().len() as u64;
        assert!(read > 100 && read < 10_000, "{read}");

        writer.write(refusal("last.example"));
        let mut bytes = [0; 4096];
        let count = File::from(reader).read(&mut bytes).unwrap();
        let last = events.read(&bytes[..count]).unwrap().pop().unwrap();
        assert_eq!((last.name.as_str(), last.missed), ("last.example", 10_000 - read));
    }

    #[test]
    fn a_reader_that_is_gone_is_not_the_end() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        drop(reader);
        let mut writer = EventWriter::new(writer).unwrap();
        writer.write(refusal("a.example"));
        assert_eq!(writer.missed, 1);
    }
}
