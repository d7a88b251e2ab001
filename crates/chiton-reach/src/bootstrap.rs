//! The script that finds this program on the far side, or takes it, and what it says.
//!
//! It goes in as input of `sh`, so no shell in between reads it. What the far side prints before it, such as a banner, is
//! skipped: every line of ours has a word in it that nobody knows beforehand.

use crate::program::Programs;

const SCRIPT: &str = include_str!("bootstrap.sh");

/// More noise than this before our first line is not a greeting any more.
const MOST_NOISE: usize = 1 << 20;

/// What the script is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Start a relay.
    Link,
    /// Remove every program from its places there, and stop the host.
    Clean,
}

/// The first line for a far side where some shell reads: it leaves that for `sh`, and says so.
pub const CHANGE_SHELL: &str = "exec sh -c 'printf \"chiton-%s\\n\" shell; exec sh'\n";

/// What the shell says then.
pub const CHANGED_SHELL: &str = "chiton-shell";

/// The script. `left_out` are places that turned out to be of no use.
pub fn script(mode: Mode, programs: &Programs, nonce: &str, left_out: &[String]) -> String {
    let machines: Vec<String> = programs
        .all()
        .iter()
        .map(|program| format!("'Linux {0}') a={0} h={1} ;;", program.machine, program.hash))
        .collect();
    // They come back from there; a quote in one would end ours.
    let left_out: Vec<&str> =
        left_out.iter().map(String::as_str).filter(|place| !place.contains(['"', '$', '`', '\\'])).collect();
    SCRIPT
        .replace("@NONCE@", nonce)
        .replace("@MACHINES@", &machines.join("\n"))
        .replace("@MODE@", if mode == Mode::Clean { "clean" } else { "link" })
        .replace("@LEFT_OUT@", &left_out.join("\n"))
}

/// What the far side says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Its kind of machine, for which there is no program.
    Machine(String),
    /// A place that is of no use, and why.
    Tried {
        /// Where.
        place: String,
        /// Why not.
        why: String,
    },
    /// No place is of any use.
    Nowhere,
    /// It has no program, and would take one.
    Need {
        /// For this processor.
        machine: String,
        /// Whether it can unpack it.
        unpacks: bool,
        /// Where it would put it.
        place: String,
    },
    /// It has the program.
    Have(String),
    /// It has taken the program.
    Carried(String),
    /// So many bytes came of a program that is longer, or other ones.
    Damaged {
        /// How many.
        bytes: u64,
        /// Where they were put.
        place: String,
    },
    /// The program does not run there, in its own words or the shell's.
    Unfit(String),
    /// A file was removed.
    Removed(String),
    /// Nothing is left.
    Clean,
    /// The relay could not reach a host.
    Failed(String),
    /// The relay is there; what follows are frames.
    Linked,
}

/// Finds what is said in what comes.
#[derive(Debug)]
pub struct Listening {
    nonce: String,
    buffer: Vec<u8>,
    noise: usize,
}

/// There is too much noise, or none of it makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnlyNoise;

impl Listening {
    /// For lines with this word.
    pub fn new(nonce: &str) -> Self {
        Self { nonce: nonce.to_owned(), buffer: Vec::new(), noise: 0 }
    }

    /// Takes what came.
    pub fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next thing that was said, where that came whole.
    pub fn said(&mut self) -> Result<Option<Said>, OnlyNoise> {
        loop {
            let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') else {
                return if self.noise + self.buffer.len() > MOST_NOISE { Err(OnlyNoise) } else { Ok(None) };
            };
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            self.noise += line.len();
            if let Some(said) = self.read(&String::from_utf8_lossy(&line)) {
                return Ok(Some(said));
            }
        }
    }

    /// Whether a line with `words` came, however much noise is around it.
    pub fn heard(&mut self, words: &str) -> bool {
        let text = String::from_utf8_lossy(&self.buffer);
        text.lines().any(|line| line.trim_end().ends_with(words)) && text.ends_with('\n')
    }

    /// What is left: the beginning of what follows.
    pub fn rest(self) -> Vec<u8> {
        self.buffer
    }

    /// The noise so far, for whoever wonders what came instead.
    pub fn noise(&self) -> String {
        String::from_utf8_lossy(&self.buffer).trim().chars().take(300).collect()
    }

    fn read(&self, line: &str) -> Option<Said> {
        let line = line.trim_end_matches(['\n', '\r']);
        // A prompt, or a banner without an end of line, may stand before it.
        if line.ends_with(&format!("chiton-link {} {}", crate::VERSION, self.nonce)) {
            return Some(Said::Linked);
        }
        let mark = format!("chiton-boot {} ", self.nonce);
        let words = &line[line.find(&mark)? + mark.len()..];
        let (what, rest) = words.split_once(' ').unwrap_or((words, ""));
        let (first, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let owned = |text: &str| text.to_owned();
        Some(match what {
            "machine" => Said::Machine(owned(rest)),
            "tried" => Said::Tried { why: first.replace('-', " "), place: owned(after) },
            "nowhere" => Said::Nowhere,
            "have" => Said::Have(owned(rest)),
            "carried" => Said::Carried(owned(rest)),
            "removed" => Said::Removed(owned(rest)),
            "clean" => Said::Clean,
            "failed" => Said::Failed(owned(rest)),
            "unfit" => Said::Unfit(owned(rest)),
            "damaged" => Said::Damaged { bytes: first.parse().ok()?, place: owned(after) },
            "need" => {
                let (packing, place) = after.split_once(' ')?;
                Said::Need { machine: owned(first), unpacks: packing == "gzip", place: owned(place) }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_found_in_any_noise() {
        let sent = "Welcome to build!\r\nLast login: today\n\x1b]0;prompt\x07$ chiton-boot abc tried noexec /tmp/chiton-0\n\
                    chiton-boot other have /x\nchiton-boot abc need x86_64 gzip /home/a b/.cache\nmotd chiton-boot abc \
                    damaged 17 /x\nchiton-link 1 abc\n\0\0frames";
        for cut in [1, 7, sent.len()] {
            let mut listening = Listening::new("abc");
            let mut said = Vec::new();
            for piece in sent.as_bytes().chunks(cut) {
                listening.add(piece);
                while said.last() != Some(&Said::Linked) {
                    let Some(one) = listening.said().unwrap() else { break };
                    said.push(one);
                }
            }
            let (machine, place) = ("x86_64".to_owned(), "/home/a b/.cache".to_owned());
            assert_eq!(
                said,
                [
                    Said::Tried { place: "/tmp/chiton-0".to_owned(), why: "noexec".to_owned() },
                    Said::Need { machine, unpacks: true, place },
                    Said::Damaged { bytes: 17, place: "/x".to_owned() },
                    Said::Linked,
                ],
                "cut every {cut} bytes"
            );
            assert_eq!(listening.rest(), b"\0\0frames");
        }
    }

    #[test]
    fn the_script_does_not_contain_what_it_says() {
        // Where input is echoed, the script comes back first.
        let script = script(Mode::Link, &Programs::default(), "abc", &[]);
        let mut listening = Listening::new("abc");
        listening.add(script.as_bytes());
        assert_eq!(listening.said(), Ok(None));
        listening.add(CHANGE_SHELL.as_bytes());
        assert!(!listening.heard(CHANGED_SHELL));
    }

    #[test]
    fn endless_noise_is_no_answer() {
        let mut listening = Listening::new("abc");
        for _ in 0..200 {
            listening.add(&[b'x'; 10_000]);
        }
        assert_eq!(listening.said(), Err(OnlyNoise));
    }
}
