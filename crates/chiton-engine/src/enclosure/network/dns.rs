//! Questions to the resolver and its answers, as bytes. Nothing here knows which names are allowed.
//!
//! A packet comes from whatever runs inside, so it may hold anything. One question of the ordinary kind is read; all else
//! gets a reply that says so, or none where a reply could start a loop.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEADER: usize = 12;
/// The longest name, as it travels.
const NAME_BYTES: usize = 255;
const LABEL_BYTES: usize = 63;

const IS_RESPONSE: u8 = 0x80;
const OPCODE: u8 = 0x78;
const RECURSION_DESIRED: u8 = 0x01;
const RECURSION_AVAILABLE: u8 = 0x80;

pub(super) const A: u16 = 1;
pub(super) const AAAA: u16 = 28;
const OPTIONS: u16 = 41;
const INTERNET: u16 = 1;

/// Seconds for which an answer may be remembered. The address stays that of its name for much longer.
const LIFETIME: u32 = 60;

/// What a packet turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Question(Question),
    /// Nothing that can be answered in substance; this is the reply.
    Rejected(Vec<u8>),
    /// Not to be replied to.
    Noise,
}

/// One question about one name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// In lower case, without a trailing dot. What cannot be part of a host's name is written as `\123`.
    pub(super) name: String,
    pub(super) kind: u16,
    /// The question as it came, with its header.
    bytes: Vec<u8>,
    /// Whether it came with the options of a newer protocol, whose reply has some too.
    has_options: bool,
}

/// What is known about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Address(IpAddr),
    /// The name exists, and has nothing of this kind.
    NoData,
    NoSuchName,
}

#[derive(Clone, Copy)]
enum Code {
    Fine = 0,
    BadFormat = 1,
    NoSuchName = 3,
    NotImplemented = 4,
    Refused = 5,
}

/// Reads a packet.
pub(super) fn read(packet: &[u8]) -> Packet {
    // A reply to a response might be answered in turn, for ever.
    if packet.len() < HEADER || packet[2] & IS_RESPONSE != 0 {
        return Packet::Noise;
    }
    if packet[2] & OPCODE != 0 {
        return Packet::Rejected(reply_without_question(packet, Code::NotImplemented));
    }
    match read_question(packet) {
        Some((question, INTERNET)) => Packet::Question(question),
        Some((question, _)) => Packet::Rejected(question.reply(Code::Refused, None)),
        None => Packet::Rejected(reply_without_question(packet, Code::BadFormat)),
    }
}

/// The only question of a packet, and its class.
fn read_question(packet: &[u8]) -> Option<(Question, u16)> {
    let count = |place: usize| u16::from_be_bytes([packet[place], packet[place + 1]]);
    if (count(4), count(6), count(8)) != (1, 0, 0) {
        return None;
    }
    let (name, end) = read_name(packet)?;
    let (kind, rest) = packet.get(end..)?.split_first_chunk()?;
    let (class, rest) = rest.split_first_chunk()?;

    // The root's name and this kind, right behind the question: that is how every client writes them.
    let has_options = count(10) > 0 && rest.starts_with(&[0, 0, OPTIONS.to_be_bytes()[1]]);
    let bytes = packet[..end + 4].to_vec();
    Some((Question { name, kind: u16::from_be_bytes(*kind), bytes, has_options }, u16::from_be_bytes(*class)))
}

/// The name of the question, and where it ends. Nothing stands before it that a compressed name could point to, so
/// pointers are not followed at all.
fn read_name(packet: &[u8]) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut place = HEADER;
    loop {
        let length = usize::from(*packet.get(place)?);
        let label = packet.get(place + 1..place + 1 + length)?;
        place += 1 + length;
        if length > LABEL_BYTES || place - HEADER > NAME_BYTES {
            return None;
        }
        if length == 0 {
            return Some((name, place));
        }
        if !name.is_empty() {
            name.push('.');
        }
        push_label(&mut name, label);
    }
}

fn push_label(name: &mut String, label: &[u8]) {
    for byte in label {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            name.push(char::from(byte.to_ascii_lowercase()));
        } else {
            // A dot or an asterisk inside of a label must not pass for what it is between labels.
            name.push_str(&format!("\\{byte:03}"));
        }
    }
}

impl Question {
    /// The reply to it.
    pub(super) fn answer(&self, answer: Answer) -> Vec<u8> {
        match answer {
            Answer::Address(address) => self.reply(Code::Fine, Some(address)),
            Answer::NoData => self.reply(Code::Fine, None),
            Answer::NoSuchName => self.reply(Code::NoSuchName, None),
        }
    }

    fn reply(&self, code: Code, address: Option<IpAddr>) -> Vec<u8> {
        let mut reply = self.bytes.clone();
        write_header(&mut reply, code, [1, u8::from(address.is_some()), u8::from(self.has_options)]);
        if let Some(address) = address {
            // The name is that of the question.
            reply.extend_from_slice(&[0xc0, 12]);
            write_address(&mut reply, address);
        }
        if self.has_options {
            // No options, for packets of up to 1,232 bytes.
            reply.extend_from_slice(&[0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]);
        }
        reply
    }
}

fn write_address(reply: &mut Vec<u8>, address: IpAddr) {
    let (kind, bytes) = match address {
        IpAddr::V4(address) => (A, address.octets().to_vec()),
        IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
    };
    reply.extend_from_slice(&kind.to_be_bytes());
    reply.extend_from_slice(&INTERNET.to_be_bytes());
    reply.extend_from_slice(&LIFETIME.to_be_bytes());
    reply.extend_from_slice(&(if address.is_ipv4() { 4u16 } else { 16 }).to_be_bytes());
    reply.extend_from_slice(&bytes);
}

fn reply_without_question(packet: &[u8], code: Code) -> Vec<u8> {
    let mut reply = packet[..HEADER].to_vec();
    write_header(&mut reply, code, [0, 0, 0]);
    reply
}

/// Turns the header of a question into that of its reply; `counts` are those of questions, answers and additions.
fn write_header(reply: &mut [u8], code: Code, counts: [u8; 3]) {
    reply[2] = IS_RESPONSE | reply[2] & (OPCODE | RECURSION_DESIRED);
    reply[3] = RECURSION_AVAILABLE | code as u8;
    reply[4..HEADER].copy_from_slice(&[0, counts[0], 0, counts[1], 0, 0, 0, counts[2]]);
}

/// What every machine knows about itself without asking anybody.
pub(super) fn answer_about_this_machine(question: &Question) -> Option<Answer> {
    let name = question.name.as_str();
    // Who serves the root is asked by programs that want to know whether anybody answers.
    if name.is_empty() {
        return Some(Answer::NoData);
    }
    if name == "localhost" || name.ends_with(".localhost") {
        return Some(match question.kind {
            A => Answer::Address(Ipv4Addr::LOCALHOST.into()),
            AAAA => Answer::Address(Ipv6Addr::LOCALHOST.into()),
            _ => Answer::NoData,
        });
    }
    // Servers ask who their clients are. No name is reached by that.
    (name.ends_with(".in-addr.arpa") || name.ends_with(".ip6.arpa")).then_some(Answer::NoSuchName)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::enclosure::network) fn question(name: &str, kind: u16) -> Vec<u8> {
        let mut packet = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.').filter(|label| !label.is_empty()) {
            packet.push(u8::try_from(label.len()).unwrap());
            packet.extend_from_slice(label.as_bytes());
        }
        packet.push(0);
        packet.extend_from_slice(&kind.to_be_bytes());
        packet.extend_from_slice(&[0, 1]);
        packet
    }

    fn code(reply: &[u8]) -> u8 {
        reply[3] & 0x0f
    }

    #[test]
    fn a_question_is_read_and_its_answer_repeats_it() {
        let packet = question("WwW.Example.ORG", A);
        let Packet::Question(read) = read(&packet) else { panic!("not read") };
        assert_eq!((read.name.as_str(), read.kind), ("www.example.org", A));

        let reply = read.answer(Answer::Address(Ipv4Addr::new(198, 18, 1, 2).into()));
        assert_eq!(reply[..2], packet[..2], "the number");
        assert_eq!(reply[2..4], [0x81, 0x80], "a response without an error");
        assert_eq!(reply[4..12], [0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(reply[12..packet.len()], packet[12..], "letters as they were asked");
        assert_eq!(reply[packet.len()..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 1, 2]);

        assert_eq!(code(&read.answer(Answer::NoSuchName)), 3);
        let nothing = read.answer(Answer::NoData);
        assert_eq!((code(&nothing), nothing.len()), (0, packet.len()));
    }

    #[test]
    fn options_are_answered_by_options() {
        let mut packet = question("a.example", A);
        packet[11] = 1;
        packet.extend_from_slice(&[0, 0, 41, 0x10, 0, 0, 0, 0x80, 0, 0, 0]);
        let Packet::Question(question) = read(&packet) else { panic!("not read") };
        let reply = question.answer(Answer::NoData);
        assert_eq!((reply[11], &reply[reply.len() - 11..][..3]), (1, &[0, 0, 41][..]));
    }

    #[test]
    fn what_is_not_an_ordinary_question_is_rejected() {
        let plain = question("a.example", A);
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut packet = plain.clone();
            change(&mut packet);
            packet
        };
        let long_label = question(&format!("{}.example", "a".repeat(64)), A);
        let long_name = question(&vec!["a".repeat(63); 4].join("."), A);
        for (what, packet, expected) in [
            ("two questions", changed(&|packet| packet[5] = 2), 1),
            ("none", changed(&|packet| packet[5] = 0), 1),
            ("an answer in it", changed(&|packet| packet[7] = 1), 1),
            ("an update", changed(&|packet| packet[2] = 0x28), 4),
            ("another class", changed(&|packet| *packet.last_mut().unwrap() = 3), 5),
            ("a pointer", changed(&|packet| packet[12] = 0xc0), 1),
            ("a pointer to itself", [&plain[..12], &[0xc0, 12, 0, 1, 0, 1]].concat(), 1),
            ("cut short", plain[..plain.len() - 3].to_vec(), 1),
            ("only a header", plain[..12].to_vec(), 1),
            ("a label of 64 bytes", long_label, 1),
            ("a name of 256 bytes", long_name, 1),
        ] {
            let Packet::Rejected(reply) = read(&packet) else { panic!("{what} was read") };
            assert_eq!(code(&reply), expected, "{what}");
            assert_eq!(reply[2] & 0x80, 0x80, "{what}");
        }
        for packet in [&plain[..11], &changed(&|packet| packet[2] |= 0x80), &[]] {
            assert_eq!(read(packet), Packet::Noise);
        }
    }

    #[test]
    fn the_longest_name_is_read() {
        let name = [&"a".repeat(63), &"b".repeat(63), &"c".repeat(63), &"d".repeat(61)].map(String::as_str).join(".");
        assert_eq!(name.len(), 253);
        assert!(matches!(read(&question(&name, A)), Packet::Question(question) if question.name == name));
    }

    #[test]
    fn a_strange_byte_in_a_label_does_not_pass_for_a_name() {
        let mut packet = question("axexample.org", A);
        packet[14] = b'.';
        let Packet::Question(read) = read(&packet) else { panic!("not read") };
        assert_eq!(read.name, "a\\046example.org");
    }

    #[test]
    fn a_machine_knows_itself() {
        for (name, kind, expected) in [
            ("localhost", A, Some(Answer::Address(Ipv4Addr::LOCALHOST.into()))),
            ("app.localhost", AAAA, Some(Answer::Address(Ipv6Addr::LOCALHOST.into()))),
            ("1.0.0.127.in-addr.arpa", 12, Some(Answer::NoSuchName)),
            ("", 2, Some(Answer::NoData)),
            ("notlocalhost", A, None),
            ("localhost.example", A, None),
        ] {
            let Packet::Question(question) = read(&question(name, kind)) else { panic!("not read") };
            assert_eq!(answer_about_this_machine(&question), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_confuse_the_reader(
            mut packet in proptest::collection::vec(any::<u8>(), 0..600),
            tame in any::<bool>(),
        ) {
            if tame && packet.len() >= 12 {
                packet[2] &= 0x07;
                packet[4..10].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
            }
            match read(&packet) {
                Packet::Question(question) => {
                    let answer = question.answer(Answer::Address(Ipv4Addr::LOCALHOST.into()));
                    prop_assert!(question.name.is_ascii() && answer.len() <= packet.len() + 32);
                }
                // A short reply to anything odd: the resolver is no use for making traffic.
                Packet::Rejected(reply) => prop_assert!(reply.len() <= packet.len()),
                Packet::Noise => {}
            }
        }
    }
}
