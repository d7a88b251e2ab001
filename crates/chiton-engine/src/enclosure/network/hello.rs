//! The first bytes of a connection: is this TLS, and for which name?

/// The longest beginning that is looked at. With the keys of today it is below 2 KiB.
pub(super) const HELLO_BYTES: usize = 16 * 1024;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const RECORD_HEADER: usize = 5;

/// What the beginning of a connection says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// TLS for this name.
    For(String),
    /// TLS that does not say for which name.
    Nameless,
    /// TLS that breaks its own rules, or says too much before it says a name.
    Malformed,
    /// Another protocol.
    Other,
    /// Too little to tell.
    Incomplete,
}

/// Reads the bytes that a client sends first.
pub(super) fn read(bytes: &[u8]) -> Hello {
    match bytes {
        [] | [HANDSHAKE] => return Hello::Incomplete,
        [HANDSHAKE, 3, ..] => {}
        _ => return Hello::Other,
    }

    let Some((message, complete)) = handshake(bytes) else { return Hello::Malformed };
    let Some((kind_and_length, body)) = message.split_first_chunk::<4>() else { return incomplete(bytes, complete) };
    let [kind, length @ ..] = *kind_and_length;
    let length = u32::from_be_bytes([0, length[0], length[1], length[2]]) as usize;
    if kind != CLIENT_HELLO || length > HELLO_BYTES {
        return Hello::Malformed;
    }
    match body.get(..length) {
        Some(body) => server_name(body).unwrap_or(Hello::Malformed),
        None => incomplete(bytes, complete),
    }
}

fn incomplete(bytes: &[u8], well_formed: bool) -> Hello {
    if well_formed && bytes.len() < HELLO_BYTES { Hello::Incomplete } else { Hello::Malformed }
}

/// The bytes of the handshake, which may be spread over records, and whether more of them may follow. `None` for a
/// record that cannot be one.
fn handshake(bytes: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut message = Vec::new();
    let mut rest = bytes;
    while let Some((header, after)) = rest.split_first_chunk::<RECORD_HEADER>() {
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if header[0] != HANDSHAKE || header[1] != 3 {
            // Another kind of record ends the hello, whether or not that was whole.
            return Some((message, false));
        }
        if length == 0 || length > HELLO_BYTES + 256 {
            return None;
        }
        message.extend_from_slice(&after[..length.min(after.len())]);
        match after.get(length..) {
            Some(next) => rest = next,
            None => break,
        }
    }
    Some((message, true))
}

/// The name in the body of a hello; `None` where it cannot be read.
fn server_name(body: &[u8]) -> Option<Hello> {
    let mut body = Fields(body);
    body.take(2 + 32)?;
    body.take_with_length_of_1()?;
    body.take_with_length_of_2()?;
    body.take_with_length_of_1()?;
    if body.0.is_empty() {
        return Some(Hello::Nameless);
    }

    let mut extensions = Fields(body.take_with_length_of_2()?);
    let mut found = Hello::Nameless;
    while !extensions.0.is_empty() {
        let kind = extensions.take_number()?;
        let value = extensions.take_with_length_of_2()?;
        if kind == SERVER_NAME {
            // Two of them could be read as one name here and as the other one there.
            if found != Hello::Nameless {
                return None;
            }
            found = Hello::For(first_name(value)?);
        }
    }
    Some(found)
}

fn first_name(value: &[u8]) -> Option<String> {
    let mut list = Fields(Fields(value).take_with_length_of_2()?);
    let [kind] = list.take(1)? else { return None };
    let name = list.take_with_length_of_2()?;
    let is_only_host = *kind == 0 && list.0.is_empty() && name.is_ascii() && !name.is_empty();
    if !is_only_host {
        return None;
    }
    Some(super::rules::plain_name(std::str::from_utf8(name).ok()?))
}

/// Bytes that are taken from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn take_number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn take_with_length_of_1(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.take(1)?[0]);
        self.take(length)
    }

    fn take_with_length_of_2(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.take_number()?);
        self.take(length)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with_length(bytes: &[u8]) -> Vec<u8> {
        [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
    }

    fn name_extension(name: &str) -> Vec<u8> {
        let entry = [&[0][..], &with_length(name.as_bytes())].concat();
        [&[0, 0][..], &with_length(&with_length(&entry))].concat()
    }

    fn message(extensions: &[u8]) -> Vec<u8> {
        let body =
            [&[3, 3][..], &[7; 32], &[1, 9], &with_length(&[0x13, 1]), &[1, 0], &with_length(extensions)].concat();
        [&[1, 0][..], &with_length(&body)].concat()
    }

    fn record(bytes: &[u8]) -> Vec<u8> {
        [&[22, 3, 1][..], &with_length(bytes)].concat()
    }

    pub(in crate::enclosure::network) fn hello(name: Option<&str>) -> Vec<u8> {
        let padding = [&[0, 21][..], &with_length(&[0; 100])].concat();
        record(&message(&[padding, name.map(name_extension).unwrap_or_default()].concat()))
    }

    #[test]
    fn the_name_of_a_hello_is_found_however_it_is_cut() {
        let whole = hello(Some("Www.Example.org."));
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]), Hello::Incomplete, "{end} bytes");
        }
        assert_eq!(read(&whole), Hello::For("www.example.org".into()));
        assert_eq!(read(&[&whole[..], &[20, 3, 3, 0, 1, 1]].concat()), Hello::For("www.example.org".into()));

        let pieces: Vec<u8> = message(&name_extension("a.example")).chunks(3).flat_map(record).collect();
        assert_eq!(read(&pieces), Hello::For("a.example".into()));
    }

    #[test]
    fn what_is_not_one_plain_name_is_not_taken_for_one() {
        let two_names = [name_extension("a.example"), name_extension("b.example")].concat();
        for (what, bytes, expected) in [
            ("no name", hello(None), Hello::Nameless),
            ("two names", record(&message(&two_names)), Hello::Malformed),
            ("an empty name", hello(Some("")), Hello::Malformed),
            ("a name that is not ASCII", hello(Some("bücher.example")), Hello::Malformed),
            ("another message", record(&[2, 0, 0, 1, 0]), Hello::Malformed),
            ("an endless message", record(&[1, 0xff, 0xff, 0xff]), Hello::Malformed),
            ("an empty record", record(&[]), Hello::Malformed),
            ("an alert within", [&record(&[1, 0, 0, 9]), &[21, 3, 3, 0, 2, 1, 0][..]].concat(), Hello::Malformed),
            ("a request", b"GET / HTTP/1.1\r\n".to_vec(), Hello::Other),
            ("ssh", b"SSH-2.0-OpenSSH".to_vec(), Hello::Other),
            ("another version", vec![22, 9], Hello::Other),
        ] {
            assert_eq!(read(&bytes), expected, "{what}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_confuse_the_reader(mut bytes in proptest::collection::vec(any::<u8>(), 0..2000), tame in any::<bool>()) {
            if tame && bytes.len() > 12 {
                bytes[..6].copy_from_slice(&[22, 3, 1, 1, 0, 1]);
            }
            read(&bytes);
        }

        #[test]
        fn a_changed_hello_is_read_or_refused(place in 0usize..170, value in any::<u8>()) {
            let mut bytes = hello(Some("www.example.org"));
            let place = place % bytes.len();
            bytes[place] = value;
            read(&bytes);
        }
    }
}
