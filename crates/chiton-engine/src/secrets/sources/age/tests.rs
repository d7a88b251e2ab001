//! What we write, the `age` crate reads, and the other way round: it stands for the age program.

use age::secrecy::{ExposeSecret, SecretString};
use age::x25519::Identity;
use proptest::prelude::*;

use super::*;

const CHUNK: usize = 64 * 1024;

/// The same key, for us and for the other library.
fn keys() -> (Key, Identity) {
    let key = Key::generate().unwrap();
    let identity: Identity = key.text().parse().unwrap();
    (key, identity)
}

fn plain_of(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

#[test]
fn keys_are_written_and_read_as_age_does() {
    let (key, identity) = keys();
    assert_eq!(*key.text(), identity.to_string().expose_secret());
    assert_eq!(key.public_text(), identity.to_public().to_string());
    let other = Identity::generate();
    assert_eq!(Key::parse(other.to_string().expose_secret()).unwrap().public_text(), other.to_public().to_string());

    let text = key.text();
    for wrong in ["", "AGE-SECRET-KEY-1", &key.public_text(), &text[..text.len() - 1], &text.replace("KEY-1", "KEX-1")]
    {
        assert!(Key::parse(wrong).is_none(), "{wrong}");
    }
    assert!(Key::parse(&text.to_lowercase()).is_some(), "bech32 may be in either case");
}

#[test]
fn what_age_writes_is_read_and_what_we_write_age_reads() {
    let (key, identity) = keys();
    for length in [0, 1, 47, 48, 49, 1000, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7] {
        let plain = plain_of(length);
        let theirs = age::encrypt_and_armor(&identity.to_public(), &plain).unwrap();
        assert_eq!(*open(&Reader::Key(&key), theirs.as_bytes()).unwrap(), plain, "{length} as text");
        let theirs = age::encrypt(&identity.to_public(), &plain).unwrap();
        assert_eq!(*open(&Reader::Key(&key), &theirs).unwrap(), plain, "{length} as bytes");

        let ours = seal(&Reader::Key(&key), &plain).unwrap();
        assert_eq!(age::decrypt(&identity, ours.as_bytes()).unwrap(), plain, "{length} of ours");
        assert_eq!(*open(&Reader::Key(&key), ours.as_bytes()).unwrap(), plain, "{length} of ours, by us");
        let with_returns = ours.replace('\n', "\r\n");
        assert_eq!(*open(&Reader::Key(&key), with_returns.as_bytes()).unwrap(), plain, "{length} from Windows");
    }
}

#[test]
fn a_file_for_several_readers_is_opened_by_each() {
    let all = [keys(), keys(), keys()];
    let readers: Vec<_> = all.iter().map(|(_, identity)| identity.to_public()).collect();
    let encryptor = age::Encryptor::with_recipients(readers.iter().map(|reader| reader as _)).unwrap();
    let mut sealed = Vec::new();
    let mut writer = encryptor.wrap_output(&mut sealed).unwrap();
    io::Write::write_all(&mut writer, b"for all of you").unwrap();
    writer.finish().unwrap();

    for (key, _) in &all {
        assert_eq!(**open(&Reader::Key(key), &sealed).unwrap(), *b"for all of you");
    }
    let (stranger, _) = keys();
    assert_eq!(open(&Reader::Key(&stranger), &sealed), Err(OpenError::NotOurs));
}

#[test]
fn a_passphrase_opens_what_age_wrote_and_ours_opens_there() {
    let passphrase = SecretValue::new("correct horse");
    let mut recipient = age::scrypt::Recipient::new(SecretString::from("correct horse"));
    recipient.set_work_factor(6);
    let theirs = age::encrypt_and_armor(&recipient, b"a key").unwrap();
    assert_eq!(**open(&Reader::Passphrase(&passphrase), theirs.as_bytes()).unwrap(), *b"a key");
    let wrong = SecretValue::new("battery staple");
    assert_eq!(open(&Reader::Passphrase(&wrong), theirs.as_bytes()), Err(OpenError::NotOurs));
    let (key, _) = keys();
    assert_eq!(open(&Reader::Key(&key), theirs.as_bytes()), Err(OpenError::NotOurs));

    let ours = seal(&Reader::Passphrase(&passphrase), b"a key").unwrap();
    let mut identity = age::scrypt::Identity::new(SecretString::from("correct horse"));
    identity.set_max_work_factor(22);
    assert_eq!(age::decrypt(&identity, ours.as_bytes()).unwrap(), b"a key");
}

#[test]
fn each_kind_of_damage_is_told() {
    let (key, _) = keys();
    let plain = plain_of(CHUNK + 100);
    let text = seal(&Reader::Key(&key), &plain).unwrap();
    let bytes = armour::read(text.as_bytes()).unwrap();
    let header = bytes.len() - 16 - (plain.len() + 2 * 16);
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes
    };
    let without = |from: usize, to: usize| [&bytes[..from], &bytes[to..]].concat();
    let stanza = bytes.windows(3).position(|window| window == b"-> ").unwrap();
    let end = bytes.windows(4).position(|window| window == b"--- ").unwrap();
    let with_word = |word: &str| [&bytes[..end], word.as_bytes(), &bytes[end..]].concat();

    let cases: [(&str, Vec<u8>, OpenError); 20] = [
        ("nothing", Vec::new(), OpenError::NotAge),
        ("something else", b"hello\n".to_vec(), OpenError::NotAge),
        ("another version", b"age-encryption.org/v2\n".to_vec(), OpenError::NotAge),
        ("nothing after the version", b"age-encryption.org/v1\n".to_vec(), OpenError::Header),
        ("nonsense after the version", b"age-encryption.org/v1\nnonsense".to_vec(), OpenError::Header),
        ("no stanza", without(stanza, end), OpenError::NotOurs),
        ("a stanza that was added", with_word("-> x\n\n"), OpenError::Header),
        ("a stanza without a kind", with_word("-> \n\n"), OpenError::Header),
        ("a passphrase beside a key", with_word("-> scrypt AAAAAAAAAAAAAAAAAAAAAA 1\n\n"), OpenError::Header),
        ("a body in a line too long", with_word(&format!("-> x\n{}\n", "A".repeat(65))), OpenError::Header),
        ("another sum", changed(header - 10), OpenError::Header),
        ("no content", bytes[..header].to_vec(), OpenError::Payload),
        ("content that is cut off", bytes[..bytes.len() - 1].to_vec(), OpenError::Payload),
        ("content without its end", bytes[..header + 16 + CHUNK + 16].to_vec(), OpenError::Payload),
        ("content without its beginning", without(header + 16, header + 16 + CHUNK + 16), OpenError::Payload),
        ("another byte of content", changed(header + 100), OpenError::Payload),
        ("text without its end", text.as_bytes()[..text.len() - 10].to_vec(), OpenError::Armour),
        ("text with an empty line", text.replacen('\n', "\n\n", 1).into_bytes(), OpenError::Armour),
        ("text with a long line", text.replacen('\n', "\nAAAA", 1).into_bytes(), OpenError::Armour),
        ("text that goes on", format!("{text}more").into_bytes(), OpenError::Armour),
    ];
    for (what, sealed, expected) in cases {
        assert_eq!(open(&Reader::Key(&key), &sealed).map(|_| ()), Err(expected), "{what}");
    }
}

#[test]
fn a_passphrase_that_asks_for_too_much_or_for_nonsense_is_refused_at_once() {
    let passphrase = SecretValue::new("correct horse");
    for (work, expected) in [
        ("23", OpenError::TooMuchWork),
        ("63", OpenError::TooMuchWork),
        ("999", OpenError::TooMuchWork),
        ("99999999999999999999", OpenError::Header),
        ("010", OpenError::Header),
        ("+9", OpenError::Header),
        ("x", OpenError::Header),
    ] {
        let body = "A".repeat(43);
        let sealed = format!("age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA {work}\n{body}\n--- {body}\n");
        let opened = open(&Reader::Passphrase(&passphrase), sealed.as_bytes());
        assert_eq!(opened.map(|_| ()), Err(expected), "{work}");
    }
}

#[test]
fn a_key_that_somebody_chose_to_be_zero_is_refused() {
    let (key, _) = keys();
    let zeros = "A".repeat(43);
    let sealed = format!("age-encryption.org/v1\n-> X25519 {zeros}\n{zeros}\n--- {zeros}\n");
    assert_eq!(open(&Reader::Key(&key), sealed.as_bytes()).map(|_| ()), Err(OpenError::Header));
}

proptest! {
    #[test]
    fn no_bytes_bring_the_reader_down(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let key = Key::parse("AGE-SECRET-KEY-1GQ9778VQXMMJVE8SK7J6VT8UJ4HDQAJUVSFCWCM02D8GEWQ72PVQ2Y5J33").unwrap();
        let after_version = [b"age-encryption.org/v1\n", bytes.as_slice()].concat();
        let in_armour = [b"-----BEGIN AGE ENCRYPTED FILE-----\n", bytes.as_slice()].concat();
        for bytes in [bytes, after_version, in_armour] {
            prop_assert!(open(&Reader::Key(&key), &bytes).is_err());
        }
    }
}
