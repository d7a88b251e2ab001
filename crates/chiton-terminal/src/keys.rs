//! What a keyboard sends.
//!
//! Keys are named as people write them: `enter`, `ctrl-c`, `alt-x`, `shift-tab`, `up`, `f5`, or one character. The bytes
//! are those of an xterm, as [`TERM`] promises programs.

use super::snapshot::KeyboardMode;
use strsim::levenshtein as distance;

/// The value of `TERM` for a program in one of our terminals.
pub const TERM: &str = "xterm-256color";

/// A key that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no key '{name}': {hint}")]
pub struct UnknownKey {
    /// What was asked for.
    pub name: String,
    hint: String,
}

/// How the bytes of a key are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyCode {
    /// One byte; with alt, after an escape.
    Byte(u8),
    /// `ESC [ X`, `ESC O X` where the application asked for that, `ESC [ 1 ; M X` with modifiers.
    Cursor(u8),
    /// `ESC O X`, `ESC [ 1 ; M X` with modifiers.
    Function(u8),
    /// `ESC [ N ~`, `ESC [ N ; M ~` with modifiers.
    Numbered(u8),
}

/// Keys by name; the first name of a key is the one that is suggested.
const KEYS: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Byte(b'\r')),
    ("return", KeyCode::Byte(b'\r')),
    ("tab", KeyCode::Byte(b'\t')),
    ("esc", KeyCode::Byte(0x1b)),
    ("escape", KeyCode::Byte(0x1b)),
    ("space", KeyCode::Byte(b' ')),
    ("backspace", KeyCode::Byte(0x7f)),
    ("up", KeyCode::Cursor(b'A')),
    ("down", KeyCode::Cursor(b'B')),
    ("right", KeyCode::Cursor(b'C')),
    ("left", KeyCode::Cursor(b'D')),
    ("home", KeyCode::Cursor(b'H')),
    ("end", KeyCode::Cursor(b'F')),
    ("insert", KeyCode::Numbered(2)),
    ("delete", KeyCode::Numbered(3)),
    ("del", KeyCode::Numbered(3)),
    ("pageup", KeyCode::Numbered(5)),
    ("page-up", KeyCode::Numbered(5)),
    ("pgup", KeyCode::Numbered(5)),
    ("pagedown", KeyCode::Numbered(6)),
    ("page-down", KeyCode::Numbered(6)),
    ("pgdn", KeyCode::Numbered(6)),
    ("f1", KeyCode::Function(b'P')),
    ("f2", KeyCode::Function(b'Q')),
    ("f3", KeyCode::Function(b'R')),
    ("f4", KeyCode::Function(b'S')),
    ("f5", KeyCode::Numbered(15)),
    ("f6", KeyCode::Numbered(17)),
    ("f7", KeyCode::Numbered(18)),
    ("f8", KeyCode::Numbered(19)),
    ("f9", KeyCode::Numbered(20)),
    ("f10", KeyCode::Numbered(21)),
    ("f11", KeyCode::Numbered(23)),
    ("f12", KeyCode::Numbered(24)),
];

/// Modifiers by name, with what each adds to the number that stands for all of them.
const MODIFIERS: &[(&str, u8)] =
    &[("ctrl", 4), ("control", 4), ("c", 4), ("alt", 2), ("meta", 2), ("m", 2), ("shift", 1), ("s", 1)];
const SHIFT: u8 = 1;
const ALT: u8 = 2;
const CTRL: u8 = 4;

/// The bytes of one key.
pub fn key(name: &str, mode: KeyboardMode) -> Result<Vec<u8>, UnknownKey> {
    let unknown = |hint: String| UnknownKey { name: name.chars().take(40).collect(), hint };
    let (modifiers, base) = split(name);

    let mut characters = base.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return character_key(character, modifiers).ok_or_else(|| unknown(no_code(modifiers, base)));
    }

    let lower = base.to_ascii_lowercase();
    let found = KEYS.iter().find(|(known, _)| *known == lower).map(|(_, shape)| *shape);

    match found.map(|shape| (shape, modifiers)).or_else(|| high_function(&lower, modifiers)) {
        Some((shape, modifiers)) => shaped(shape, modifiers, mode).ok_or_else(|| unknown(no_code(modifiers, &lower))),
        None => Err(unknown(nearest(&lower))),
    }
}

/// The bytes of keys in a row, separated by blanks.
pub fn keys(names: &str, mode: KeyboardMode) -> Result<Vec<u8>, UnknownKey> {
    let mut bytes = Vec::new();
    for name in names.split_whitespace() {
        bytes.extend(key(name, mode)?);
    }
    Ok(bytes)
}

/// Text as it is typed: the end of a line is the enter key.
pub fn typed(text: &str) -> Vec<u8> {
    text.replace("\r\n", "\r").replace('\n', "\r").into_bytes()
}

/// Text as it is pasted: marked, where the program asked for that, so that the program does not act on it.
pub fn pasted(text: &str, mode: KeyboardMode) -> Vec<u8> {
    if !mode.bracketed_paste {
        return typed(text);
    }
    // Nothing in the text may end the mark early, or interrupt.
    let text: String = text.chars().filter(|character| !matches!(character, '\u{1b}' | '\u{3}')).collect();
    [b"\x1b[200~".as_slice(), text.as_bytes(), b"\x1b[201~"].concat()
}

/// The modifiers before a key, and the key. `^c` and `ctrl+c` are `ctrl-c`.
fn split(name: &str) -> (u8, &str) {
    if let Some(rest) = name.strip_prefix('^').filter(|rest| rest.chars().count() == 1) {
        return (CTRL, rest);
    }
    let (mut modifiers, mut base) = (0, name);
    while let Some(place) = base.find(['-', '+']).filter(|place| *place > 0 && place + 1 < base.len()) {
        let word = base[..place].to_ascii_lowercase();
        let Some((_, value)) = MODIFIERS.iter().find(|(known, _)| *known == word) else { break };
        modifiers |= value;
        base = &base[place + 1..];
    }
    (modifiers, base)
}

fn character_key(character: char, modifiers: u8) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    if modifiers & ALT != 0 {
        bytes.push(0x1b);
    }
    let character = if modifiers & SHIFT != 0 { character.to_uppercase().next()? } else { character };
    if modifiers & CTRL != 0 {
        bytes.push(control(character)?);
    } else {
        bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
    }
    Some(bytes)
}

/// What a character is with the control key held.
fn control(character: char) -> Option<u8> {
    let byte = u8::try_from(character).ok()?;
    match byte.to_ascii_uppercase() {
        b'@'..=b'_' => Some(byte.to_ascii_uppercase() & 0x1f),
        b' ' => Some(0),
        b'/' => Some(0x1f),
        b'?' => Some(0x7f),
        _ => None,
    }
}

fn shaped(shape: KeyCode, modifiers: u8, mode: KeyboardMode) -> Option<Vec<u8>> {
    let number = modifiers + 1;
    Some(match (shape, modifiers) {
        (KeyCode::Byte(b'\t'), SHIFT) => b"\x1b[Z".to_vec(),
        (KeyCode::Byte(b' '), _) => return character_key(' ', modifiers),
        (KeyCode::Byte(0x7f), CTRL) => vec![0x08],
        (KeyCode::Byte(byte), 0) => vec![byte],
        (KeyCode::Byte(byte), ALT) => vec![0x1b, byte],
        (KeyCode::Byte(_), _) => return None,
        (KeyCode::Cursor(last), 0) if mode.application_cursor => vec![0x1b, b'O', last],
        (KeyCode::Cursor(last), 0) => vec![0x1b, b'[', last],
        (KeyCode::Function(last), 0) => vec![0x1b, b'O', last],
        (KeyCode::Cursor(last) | KeyCode::Function(last), _) => {
            format!("\x1b[1;{number}{}", char::from(last)).into_bytes()
        }
        (KeyCode::Numbered(code), 0) => format!("\x1b[{code}~").into_bytes(),
        (KeyCode::Numbered(code), _) => format!("\x1b[{code};{number}~").into_bytes(),
    })
}

/// f13 to f24 are f1 to f12 with shift, as an xterm has them.
fn high_function(name: &str, modifiers: u8) -> Option<(KeyCode, u8)> {
    let number: u8 = name.strip_prefix('f')?.parse().ok().filter(|number| (13..=24).contains(number))?;
    let low = format!("f{}", number - 12);
    let (_, shape) = KEYS.iter().find(|(known, _)| *known == low)?;
    (modifiers & SHIFT == 0).then_some((*shape, modifiers | SHIFT))
}

fn no_code(modifiers: u8, base: &str) -> String {
    let words: Vec<&str> = [(CTRL, "ctrl"), (ALT, "alt"), (SHIFT, "shift")]
        .iter()
        .filter(|(bit, _)| modifiers & bit != 0)
        .map(|(_, word)| *word)
        .collect();
    format!("a terminal has no code for {base} with {}", words.join(" and "))
}

fn nearest(name: &str) -> String {
    let functions = (13..=24).map(|number| format!("f{number}"));
    let known = KEYS.iter().map(|(known, _)| (*known).to_owned()).chain(functions);
    let near = known.map(|known| (distance(name, &known), known)).min();
    match near.filter(|(changes, known)| *changes <= known.len() / 2) {
        Some((_, known)) => format!("did you mean {known}?"),
        None => {
            "keys are enter, tab, esc, space, backspace, delete, insert, up, down, left, right, home, end, pageup, \
                 pagedown, f1 to f24, one character, each also with ctrl-, alt- and shift-; send anything else as text"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: KeyboardMode = KeyboardMode { application_cursor: false, bracketed_paste: false };
    const ASKED: KeyboardMode = KeyboardMode { application_cursor: true, bracketed_paste: true };

    #[test]
    fn every_key_sends_what_an_xterm_sends() {
        let cases: &[(&str, &str)] = &[
            ("enter", "\r"),
            ("Return", "\r"),
            ("tab", "\t"),
            ("shift-tab", "\x1b[Z"),
            ("esc", "\x1b"),
            ("space", " "),
            ("ctrl-space", "\0"),
            ("backspace", "\x7f"),
            ("ctrl-backspace", "\x08"),
            ("alt-backspace", "\x1b\x7f"),
            ("alt-enter", "\x1b\r"),
            ("ctrl-a", "\x01"),
            ("ctrl-C", "\x03"),
            ("^C", "\x03"),
            ("ctrl+d", "\x04"),
            ("C-z", "\x1a"),
            ("ctrl-\\", "\x1c"),
            ("ctrl-]", "\x1d"),
            ("ctrl-^", "\x1e"),
            ("ctrl-_", "\x1f"),
            ("ctrl-/", "\x1f"),
            ("ctrl-@", "\0"),
            ("ctrl-[", "\x1b"),
            ("ctrl--", ""),
            ("alt-x", "\x1bx"),
            ("alt-X", "\x1bX"),
            ("shift-x", "X"),
            ("alt-ctrl-h", "\x1b\x08"),
            ("M-.", "\x1b."),
            ("x", "x"),
            ("-", "-"),
            ("^", "^"),
            ("\u{e9}", "\u{e9}"),
            ("up", "\x1b[A"),
            ("ctrl-up", "\x1b[1;5A"),
            ("shift-left", "\x1b[1;2D"),
            ("home", "\x1b[H"),
            ("end", "\x1b[F"),
            ("alt-end", "\x1b[1;3F"),
            ("insert", "\x1b[2~"),
            ("delete", "\x1b[3~"),
            ("ctrl-delete", "\x1b[3;5~"),
            ("page-up", "\x1b[5~"),
            ("pagedown", "\x1b[6~"),
            ("f1", "\x1bOP"),
            ("F5", "\x1b[15~"),
            ("f12", "\x1b[24~"),
            ("f13", "\x1b[1;2P"),
            ("f24", "\x1b[24;2~"),
            ("ctrl-f1", "\x1b[1;5P"),
        ];
        for (name, bytes) in cases {
            let sent = key(name, PLAIN);
            if bytes.is_empty() {
                assert!(sent.is_err(), "{name}: {sent:?}");
            } else {
                assert_eq!(sent.as_deref(), Ok(bytes.as_bytes()), "{name}");
            }
        }
        for letter in 'a'..='z' {
            assert_eq!(key(&format!("ctrl-{letter}"), PLAIN), Ok(vec![u8::try_from(letter).unwrap() & 0x1f]));
        }
        assert_eq!(key("up", ASKED).unwrap(), b"\x1bOA", "as the application asked");
        assert_eq!(key("ctrl-up", ASKED).unwrap(), b"\x1b[1;5A");
        assert_eq!(keys(" up  enter q ", PLAIN).unwrap(), b"\x1b[A\rq");
    }

    #[test]
    fn the_bytes_are_those_that_terminfo_promises_programs() {
        // The names of terminfo for what we send when a program has switched the keypad on.
        let names = [
            ("kcuu1", "up"),
            ("kcud1", "down"),
            ("kcuf1", "right"),
            ("kcub1", "left"),
            ("khome", "home"),
            ("kend", "end"),
            ("kich1", "insert"),
            ("kdch1", "delete"),
            ("kpp", "pageup"),
            ("knp", "pagedown"),
            ("kcbt", "shift-tab"),
        ];
        let functions = (1..=24).map(|number| (format!("kf{number}"), format!("f{number}")));
        let all = names.iter().map(|(name, key)| ((*name).to_owned(), (*key).to_owned())).chain(functions);
        #[expect(clippy::disallowed_methods, reason = "the oracle of this test")]
        let Ok(output) = std::process::Command::new("infocmp").args(["-1", "-x", TERM]).output() else { return };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for (name, key_name) in all {
            let prefix = format!("{name}=");
            let promised = text.lines().find_map(|line| line.trim().strip_prefix(&prefix)).unwrap();
            let promised = promised.trim_end_matches(',').replace("\\E", "\x1b");
            assert_eq!(key(&key_name, ASKED).unwrap(), promised.as_bytes(), "{key_name}");
        }
    }

    #[test]
    fn a_key_that_does_not_exist_is_told_with_the_nearest_one() {
        for (name, hint) in [
            ("entr", "did you mean enter?"),
            ("ctrl-entr", "did you mean enter?"),
            ("pagdwn", "did you mean pagedown?"),
            ("f25", "did you mean f"),
            ("ctrl-enter", "no code for enter with ctrl"),
            ("ctrl-1", "no code for 1 with ctrl"),
            ("hello world, how are you", "keys are enter"),
            ("", "keys are enter"),
        ] {
            let error = key(name, PLAIN).unwrap_err().to_string();
            assert!(error.contains(hint), "{name}: {error}");
        }
    }

    #[test]
    fn a_paste_is_marked_where_asked_and_cannot_end_its_mark() {
        assert_eq!(pasted("a\nb", PLAIN), b"a\rb");
        assert_eq!(pasted("a\nb", ASKED), b"\x1b[200~a\nb\x1b[201~");
        assert_eq!(pasted("x\x1b[201~evil\x03", ASKED), b"\x1b[200~x[201~evil\x1b[201~");
        assert_eq!(typed("ls\r\npwd\n"), b"ls\rpwd\r");
    }
}
