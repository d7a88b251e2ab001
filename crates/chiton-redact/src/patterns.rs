//! Many forms, compiled so that text without any of them is skipped fast.
//!
//! Every form has at least eight bytes, so every occurrence holds four bytes in a row that begin at a multiple of five
//! from wherever the counting started. Only those are looked up: four bytes, two bits of a table. Bits that are set lead
//! to the forms that have these four bytes near their beginning, and those are compared.
//!
//! An automaton over all forms was measured beside it: with the forms of a hundred values it is six times slower, and it
//! has a state for each byte of each form, where this takes a few bytes for each form.

use std::sync::{Arc, OnceLock};

use zeroize::Zeroizing;

use super::forms::{self, SHORTEST};

/// How many bytes are looked up at once.
pub(super) const LOOK: usize = 4;
/// The distance from one lookup to the next: the largest with which no occurrence is missed.
pub(super) const STRIDE: usize = SHORTEST - LOOK + 1;

/// Values and their masks, ready to be searched for.
pub struct Patterns {
    pub(super) forms: Vec<ValueForm>,
    masks: Vec<Vec<u8>>,
    filter: Vec<u64>,
    shift: u32,
    /// Which forms have which four bytes, and where: sorted.
    heads: Vec<FormHead>,
    /// The same values without what cannot be seen, where that is another text.
    seen_through: OnceLock<Option<Arc<Patterns>>>,
    /// Every beginning shorter than [`SHORTEST`], with its length: sorted.
    beginnings: Vec<u64>,
}

/// Four bytes near the beginning of a form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FormHead {
    bytes: u32,
    pub(super) form: u32,
    pub(super) offset: u8,
}

/// One way to write one value.
pub(super) struct ValueForm {
    pub(super) bytes: Zeroizing<Vec<u8>>,
    pub(super) mask: u32,
    fallback: OnceLock<Vec<u32>>,
}

impl ValueForm {
    /// For each length that may have matched, the longest shorter beginning that is also its end.
    pub(super) fn fallback(&self) -> &[u32] {
        self.fallback.get_or_init(|| {
            let mut table = vec![0u32; self.bytes.len()];
            let mut length = 0usize;
            for place in 1..self.bytes.len() {
                while length > 0 && self.bytes[place] != self.bytes[length] {
                    length = table[length - 1] as usize;
                }
                length += usize::from(self.bytes[place] == self.bytes[length]);
                table[place] = u32::try_from(length).unwrap_or(0);
            }
            table
        })
    }
}

impl std::fmt::Debug for Patterns {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Patterns({} values)", self.masks.len())
    }
}

impl Patterns {
    /// Patterns for `secrets`: for each, the mask and the value that it stands for.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let (mut masks, mut forms) = (Vec::new(), Vec::new());
        for (mask, value) in secrets {
            let number = u32::try_from(masks.len()).unwrap_or(u32::MAX);
            masks.push(mask.as_bytes().to_vec());
            let new = |form| ValueForm { bytes: Zeroizing::new(form), mask: number, fallback: OnceLock::new() };
            forms.extend(forms::of(value).into_iter().map(new));
        }
        Self::of_forms(masks, forms)
    }

    fn of_forms(masks: Vec<Vec<u8>>, forms: Vec<ValueForm>) -> Self {
        let entries = (forms.len() * STRIDE).max(64);
        let words = (entries / 4).next_power_of_two().min(1 << 16);
        let mut patterns = Self {
            masks,
            filter: vec![0; words],
            shift: 64 - words.trailing_zeros(),
            heads: Vec::with_capacity(entries),
            beginnings: Vec::new(),
            seen_through: OnceLock::new(),
            forms: Vec::new(),
        };

        for (number, form) in forms.iter().enumerate() {
            patterns.index(u32::try_from(number).unwrap_or(u32::MAX), &form.bytes);
        }

        patterns.heads.sort_unstable();
        patterns.beginnings.sort_unstable();
        patterns.beginnings.dedup();
        patterns.forms = forms;
        patterns.neutralise();
        patterns
    }

    /// The same for text from which line ends and escape sequences were taken out. Forms that hold such sequences
    /// themselves are found only as they are.
    pub(super) fn seen_through(self: &Arc<Self>) -> &Arc<Self> {
        let hides = |byte: &u8| matches!(*byte, b'\n' | b'\r' | 0x08 | 0x1B);
        let other = self.seen_through.get_or_init(|| {
            if !self.forms.iter().any(|form| form.bytes.iter().any(hides)) {
                return None;
            }
            let is_line_end = |byte: &u8| matches!(*byte, b'\n' | b'\r');
            let visible = self.forms.iter().filter_map(|form| {
                let bytes: Vec<u8> = form.bytes.iter().copied().filter(|byte| !is_line_end(byte)).collect();
                let is_found = bytes.len() >= SHORTEST && !bytes.iter().any(hides);
                is_found.then(|| ValueForm { bytes: Zeroizing::new(bytes), mask: form.mask, fallback: OnceLock::new() })
            });
            Some(Arc::new(Self::of_forms(self.masks.clone(), visible.collect())))
        });
        other.as_ref().unwrap_or(self)
    }

    /// A mask that contains a value would reveal it, so it is replaced by one that contains none.
    fn neutralise(&mut self) {
        let neutral = ["[secret]", "********"].into_iter().find(|mask| !self.stand_in(mask.as_bytes()));
        let neutral = neutral.unwrap_or("***").as_bytes().to_vec();
        for number in 0..self.masks.len() {
            if self.stand_in(&self.masks[number]) {
                self.masks[number].clone_from(&neutral);
            }
        }
    }

    /// Whether any form stands in `text`, which is short.
    fn stand_in(&self, text: &[u8]) -> bool {
        text.windows(LOOK).enumerate().any(|(start, bytes)| {
            let begins =
                |head: &FormHead| head.offset == 0 && text[start..].starts_with(&self.forms[head.form as usize].bytes);
            self.with_head(four(bytes)).iter().any(begins)
        })
    }

    fn index(&mut self, number: u32, form: &[u8]) {
        for offset in 0..STRIDE {
            let head = four(&form[offset..offset + LOOK]);
            let (word, bits) = self.mark(head);
            self.filter[word] |= bits;
            self.heads.push(FormHead { bytes: head, form: number, offset: u8::try_from(offset).unwrap_or(0) });
        }
        for length in 1..SHORTEST {
            self.beginnings.push(short(&form[..length]));
        }
    }

    /// The word of the filter, and two bits of it, that stand for these four bytes.
    fn mark(&self, head: u32) -> (usize, u64) {
        let hash = u64::from(head).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let word = usize::try_from(hash >> self.shift).unwrap_or(0);
        (word, 1 << (hash >> 32 & 63) | 1 << (hash >> 38 & 63))
    }

    /// Whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    pub(super) fn mask(&self, number: u32) -> &[u8] {
        &self.masks[number as usize]
    }

    /// The first place from `from` on, in steps of [`STRIDE`], where `text` may hold the beginning of a form. Otherwise
    /// the place where to go on when more of it arrives.
    pub(super) fn look(&self, text: &[u8], from: usize) -> Result<usize, usize> {
        let mut place = from;
        while let Some(bytes) = text.get(place..place + LOOK) {
            let (word, bits) = self.mark(four(bytes));
            if self.filter[word] & bits == bits {
                return Ok(place);
            }
            place += STRIDE;
        }
        Err(place)
    }

    /// The forms that have these four bytes near their beginning, by form and where.
    pub(super) fn with_head(&self, bytes: u32) -> &[FormHead] {
        let start = self.heads.partition_point(|head| head.bytes < bytes);
        let end = start + self.heads[start..].partition_point(|head| head.bytes == bytes);
        &self.heads[start..end]
    }

    /// Whether `text`, of fewer than [`SHORTEST`] bytes, begins a form.
    pub(super) fn begins_with(&self, text: &[u8]) -> bool {
        self.beginnings.binary_search(&short(text)).is_ok()
    }
}

pub(super) fn four(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Up to seven bytes and how many they are, as one number.
fn short(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64, |number, byte| number << 8 | u64::from(*byte))
}
