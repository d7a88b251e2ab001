//! Questions for names, over UDP and TCP.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::work::{BATCH, Broker, Step};
use crate::enclosure::network::dns::{self, Answer, Packet, Question};
use crate::enclosure::network::events::{Refused, Transport};
use crate::enclosure::network::rules::Rules;
use crate::sys::packets::{receive_datagram, send_datagram};

/// The longest question over UDP. One that is longer is not for a name.
const QUESTION_BYTES: usize = 4096;
/// Answers that a client may leave unread before it has to take some.
const UNREAD_BYTES: usize = 64 * 1024;

impl Broker {
    pub(super) fn answer_datagrams(&mut self) {
        let mut packet = [0; QUESTION_BYTES];
        for _ in 0..BATCH {
            let Some(Ok((count, source, asked))) = self.dns().map(|dns| receive_datagram(dns, &mut packet)) else {
                return;
            };
            if let Some(reply) = self.answer(&packet[..count], source)
                && let Some(dns) = self.dns()
            {
                // From the address that was asked: clients take no answer from another one.
                let _ = send_datagram(dns, &reply, source, asked);
            }
        }
    }

    fn answer(&mut self, packet: &[u8], source: SocketAddr) -> Option<Vec<u8>> {
        match dns::read(packet) {
            Packet::Question(question) => Some(question.answer(self.answer_to(&question, source))),
            Packet::Rejected(reply) => Some(reply),
            Packet::Noise => None,
        }
    }

    fn answer_to(&mut self, question: &Question, source: SocketAddr) -> Answer {
        if let Some(answer) = dns::answer_about_this_machine(question) {
            return answer;
        }
        if !self.rules.know(&question.name) {
            if self.recent.is_news(&question.name, source, &self.rules, Instant::now()) {
                self.report(Refused::Name, question.name.clone(), 0, Transport::Udp, source);
            }
            return Answer::NoSuchName;
        }
        match question.kind {
            dns::A => {
                let rules = &self.rules;
                Answer::Address(self.names.address_of(&question.name, |address| rules.know_address(address)).into())
            }
            // All names are reached over IPv4, whatever their real addresses are.
            _ => Answer::NoData,
        }
    }

    pub(super) fn answer_stream(&mut self, stream: &mut QuestionStream) -> Step {
        loop {
            if !stream.write() {
                return Step::Over;
            }
            if !stream.outbox.is_empty() {
                return Step::Waits;
            }
            while let Some(packet) = stream.next_question() {
                if let Some(reply) = self.answer(&packet, stream.source)
                    && let Ok(length) = u16::try_from(reply.len())
                {
                    stream.outbox.extend_from_slice(&length.to_be_bytes());
                    stream.outbox.extend_from_slice(&reply);
                }
                if stream.outbox.len() > UNREAD_BYTES {
                    break;
                }
            }
            if stream.outbox.is_empty() {
                match stream.read() {
                    Some(true) => {}
                    Some(false) => return Step::Waits,
                    None => return Step::Over,
                }
            }
        }
    }
}

/// A client that asks over TCP: each question and answer has its length before it.
pub(super) struct QuestionStream {
    socket: OwnedFd,
    source: SocketAddr,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    readable: bool,
    writable: bool,
}

impl QuestionStream {
    pub(super) fn new(socket: OwnedFd, source: SocketAddr) -> Self {
        Self { socket, source, inbox: Vec::new(), outbox: Vec::new(), readable: true, writable: true }
    }

    pub(super) fn note(&mut self, flags: EventFlags) {
        self.readable |= flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        self.writable |= flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR);
    }

    fn next_question(&mut self) -> Option<Vec<u8>> {
        let (length, rest) = self.inbox.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(*length));
        let question = rest.get(..length)?.to_vec();
        self.inbox.drain(..2 + length);
        Some(question)
    }

    /// Whether something was read. `None` at the end.
    fn read(&mut self) -> Option<bool> {
        let mut bytes = [0; QUESTION_BYTES];
        while self.readable {
            match recv(&self.socket, &mut bytes[..], RecvFlags::empty()) {
                Ok((0, _)) => return None,
                Ok((count, _)) => {
                    self.inbox.extend_from_slice(&bytes[..count]);
                    return Some(true);
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        Some(false)
    }

    /// Writes what can be written; whether the client is still there.
    fn write(&mut self) -> bool {
        while self.writable && !self.outbox.is_empty() {
            match send(&self.socket, &self.outbox, SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.outbox.drain(..count)),
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// Names that were refused lately. A resolver asks for a name more than once, for each kind of address and with the domains
/// of its search list behind it: that is one refusal.
pub(super) struct RecentNames {
    /// With a dot before each.
    search: Vec<String>,
    names: VecDeque<(String, SocketAddr, Instant)>,
}

impl RecentNames {
    const KEPT: usize = 64;
    const FRESH: Duration = Duration::from_secs(5);

    /// `search` are the domains as names are compared.
    pub(super) fn new(search: &[String]) -> Self {
        Self { search: search.iter().map(|domain| format!(".{domain}")).collect(), names: VecDeque::new() }
    }

    /// Whether a refusal of this name says something that was not said already.
    pub(super) fn is_news(&mut self, name: &str, source: SocketAddr, rules: &Rules, now: Instant) -> bool {
        while self.names.front().is_some_and(|(_, _, since)| now.duration_since(*since) > Self::FRESH) {
            self.names.pop_front();
        }
        if self.names.iter().any(|(known, by, _)| known == name && *by == source) {
            return false;
        }
        let is_search = |domain: &String| {
            name.strip_suffix(domain.as_str())
                .is_some_and(|rest| rules.know(rest) || self.names.iter().any(|(known, ..)| known == rest))
        };
        if self.search.iter().any(is_search) {
            return false;
        }

        if self.names.len() >= Self::KEPT {
            self.names.pop_front();
        }
        self.names.push_back((name.to_owned(), source, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::policy::HostRule;

    #[test]
    fn one_refused_name_is_one_refusal() {
        let rules = Rules::new(&[HostRule { host: "allowed.example".into(), port: None }]);
        let mut recent = RecentNames::new(&["corp.example".into()]);
        let now = Instant::now();
        let (one, two) = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        for (name, source, news) in [
            ("evil.example", one, true),
            ("evil.example", one, false),
            ("evil.example", two, true),
            ("evil.example.corp.example", one, false),
            ("allowed.example.corp.example", one, false),
            ("wiki.corp.example", one, true),
            ("wiki.corp.example.corp.example", one, false),
        ] {
            assert_eq!(recent.is_news(name, source, &rules, now), news, "{name}");
        }
        let later = now + RecentNames::FRESH + Duration::from_millis(1);
        assert!(recent.is_news("evil.example", one, &rules, later));
    }
}
