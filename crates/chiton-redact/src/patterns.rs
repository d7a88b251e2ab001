//! Many forms, compiled so that text without any of them is skipped fast.
//!
//! Every form has at least eight bytes, so every occurrence holds four bytes in a row that begin at a multiple of five
//! from wherever the counting started. Only those are looked up: four bytes, two bits of a table. Bits that are set lead
//! to the beginnings of forms that have these four bytes in them, and those are compared: first the eight bytes, which
//! many forms may share, then the forms.
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

/// How many bits the filter has for four bytes of a beginning.
const BITS_OF_A_HEAD: usize = 48;

/// Values and their masks, ready to be searched for.
pub struct Patterns {
    /// Sorted by their bytes.
    pub(super) forms: Vec<ValueForm>,
    masks: Vec<Vec<u8>>,
    /// Two bits of one word for each hash that four bytes of a beginning have.
    filter: Vec<u64>,
    /// Leaves, of a hash, the number of its first bit.
    shift: u32,
    /// The first eight bytes of forms, as numbers that sort like them; each once.
    beginnings: Vec<u64>,
    /// The first form of each beginning, and how many forms there are.
    first_forms: Vec<u32>,
    /// Which beginnings have which four bytes, and where: by the word of the filter that has their bit.
    heads: Vec<FormHead>,
    /// The first head of each word of the filter, and how many there are.
    first_heads: Vec<u32>,
    /// The same values without what cannot be seen, where that is another text.
    seen_through: OnceLock<SeenThrough>,
}

/// Four bytes of the beginning of a form.
#[derive(Clone, Copy, Default)]
pub(super) struct FormHead {
    bytes: u32,
    pub(super) beginning: u32,
    pub(super) offset: u8,
}

/// What is searched for in text from which line ends and escape sequences were taken out.
struct SeenThrough {
    /// `None` where it is the same as in the text with them.
    patterns: Option<Arc<Patterns>>,
    /// Whether every form is among it, as far as it can be seen.
    is_complete: bool,
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

    fn of_forms(masks: Vec<Vec<u8>>, mut forms: Vec<ValueForm>) -> Self {
        forms.sort_unstable_by(|one, other| (&one.bytes[..], one.mask).cmp(&(&other.bytes[..], other.mask)));
        let (mut beginnings, mut first_forms) = (Vec::new(), Vec::new());
        for (number, form) in forms.iter().enumerate() {
            let beginning = eight(&form.bytes);
            if beginnings.last() != Some(&beginning) {
                beginnings.push(beginning);
                first_forms.push(number_of(number));
            }
        }
        first_forms.push(number_of(forms.len()));

        // So few bits are set that the second is seldom looked at, and hardly anything is compared for nothing.
        let words = beginnings.len() * STRIDE * BITS_OF_A_HEAD / 64;
        let words = words.next_power_of_two().clamp(64, 1 << 15);
        let mut patterns = Self {
            forms,
            masks,
            filter: vec![0; words],
            shift: 32 - (words.trailing_zeros() + 6),
            beginnings,
            first_forms,
            heads: Vec::new(),
            first_heads: vec![0; words + 1],
            seen_through: OnceLock::new(),
        };
        patterns.index();
        patterns.neutralise();
        patterns
    }

    /// The same for text from which line ends and escape sequences were taken out. Forms that hold such sequences
    /// themselves are found only as they are.
    pub(super) fn seen_through(self: &Arc<Self>) -> &Arc<Self> {
        self.without_hidden().patterns.as_ref().unwrap_or(self)
    }

    /// Whether a form that stands in a text is also found without what cannot be seen of both.
    pub(super) fn all_seen_through(&self) -> bool {
        self.without_hidden().is_complete
    }

    fn without_hidden(&self) -> &SeenThrough {
        let hides = |byte: &u8| matches!(*byte, b'\n' | b'\r' | 0x08 | 0x1B);
        self.seen_through.get_or_init(|| {
            if !self.forms.iter().any(|form| form.bytes.iter().any(hides)) {
                return SeenThrough { patterns: None, is_complete: true };
            }
            let is_line_end = |byte: &u8| matches!(*byte, b'\n' | b'\r');
            let visible = self.forms.iter().filter_map(|form| {
                let bytes: Vec<u8> = form.bytes.iter().copied().filter(|byte| !is_line_end(byte)).collect();
                let is_found = bytes.len() >= SHORTEST && !bytes.iter().any(hides);
                is_found.then(|| ValueForm { bytes: Zeroizing::new(bytes), mask: form.mask, fallback: OnceLock::new() })
            });
            let visible: Vec<ValueForm> = visible.collect();
            let is_complete = visible.len() == self.forms.len();
            SeenThrough { patterns: Some(Arc::new(Self::of_forms(self.masks.clone(), visible))), is_complete }
        })
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
            let mut heads = self.with_head(four(bytes)).filter(|head| head.offset == 0);
            heads
                .any(|head| self.beginning_with(head.beginning).any(|(_, form)| text[start..].starts_with(&form.bytes)))
        })
    }

    /// Fills the filter, and sorts the heads by its words.
    fn index(&mut self) {
        let mut heads = Vec::with_capacity(self.beginnings.len() * STRIDE);
        for offset in 0..STRIDE {
            for (number, beginning) in self.beginnings.iter().enumerate() {
                let bytes = four(&beginning.to_be_bytes()[offset..offset + LOOK]);
                let offset = u8::try_from(offset).unwrap_or(0);
                heads.push(FormHead { bytes, beginning: number_of(number), offset });
            }
        }

        for head in &heads {
            let (bit, other) = self.bits(head.bytes);
            self.filter[bit / 64] |= 1 << (bit % 64) | 1 << other;
            self.first_heads[bit / 64 + 1] += 1;
        }
        for word in 1..self.first_heads.len() {
            self.first_heads[word] += self.first_heads[word - 1];
        }
        let mut next = self.first_heads.clone();
        self.heads = vec![FormHead::default(); heads.len()];
        for head in heads {
            let place = &mut next[self.bits(head.bytes).0 / 64];
            self.heads[*place as usize] = head;
            *place += 1;
        }
    }

    /// The bits of the filter that stand for these four bytes: one of all, and another one of the same word.
    fn bits(&self, head: u32) -> (usize, u32) {
        let hash = hash(head);
        ((hash >> self.shift) as usize, hash >> (self.shift - 6) & 63)
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
        let (strides, _) = text.get(from..).unwrap_or_default().as_chunks::<STRIDE>();
        if let Some(found) =
            strides.iter().position(|[a, b, c, d, _]| self.may_hold(u32::from_le_bytes([*a, *b, *c, *d])))
        {
            return Ok(from + found * STRIDE);
        }
        let place = from + strides.len() * STRIDE;
        match text.get(place..place + LOOK) {
            Some(bytes) if self.may_hold(four(bytes)) => Ok(place),
            Some(_) => Err(place + STRIDE),
            None => Err(place),
        }
    }

    /// Whether the beginning of a form may hold these four bytes.
    pub(super) fn may_hold(&self, head: u32) -> bool {
        let bit = (hash(head) >> self.shift) as usize;
        self.filter[bit / 64] >> (bit % 64) & 1 != 0 && self.has_both_bits(head)
    }

    /// Apart, so that the second bit costs nothing where the first is not set.
    #[cold]
    fn has_both_bits(&self, head: u32) -> bool {
        let (bit, other) = self.bits(head);
        self.filter[bit / 64] >> other & 1 != 0
    }

    /// The beginnings that have these four bytes in them, and where; the first ones have them earlier.
    pub(super) fn with_head(&self, bytes: u32) -> impl DoubleEndedIterator<Item = FormHead> {
        let word = self.bits(bytes).0 / 64;
        let heads = &self.heads[self.first_heads[word] as usize..self.first_heads[word + 1] as usize];
        heads.iter().filter(move |head| head.bytes == bytes).copied()
    }

    /// The forms that have this beginning, and their numbers.
    pub(super) fn beginning_with(&self, beginning: u32) -> impl Iterator<Item = (u32, &ValueForm)> {
        let (first, end) = (self.first_forms[beginning as usize], self.first_forms[beginning as usize + 1]);
        (first..end).zip(&self.forms[first as usize..end as usize])
    }

    /// The first eight bytes of the forms that have this beginning.
    pub(super) fn beginning(&self, beginning: u32) -> [u8; SHORTEST] {
        self.beginnings[beginning as usize].to_be_bytes()
    }

    /// Whether a form begins with these eight bytes.
    pub(super) fn has_beginning(&self, bytes: [u8; SHORTEST]) -> bool {
        let mut heads = self.with_head(four(&bytes));
        heads.any(|head| head.offset == 0 && self.beginning(head.beginning) == bytes)
    }

    /// Whether `text`, of fewer than [`SHORTEST`] bytes, begins a form.
    pub(super) fn begins_with(&self, text: &[u8]) -> bool {
        let mut first = [0; SHORTEST];
        first[..text.len()].copy_from_slice(text);
        let place = self.beginnings.partition_point(|beginning| *beginning < u64::from_be_bytes(first));
        self.beginnings.get(place).is_some_and(|beginning| beginning.to_be_bytes().starts_with(text))
    }
}

pub(super) fn four(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn hash(head: u32) -> u32 {
    head.wrapping_mul(0x9E37_79B1)
}

/// The first eight bytes as a number that sorts like them.
fn eight(bytes: &[u8]) -> u64 {
    bytes.iter().take(SHORTEST).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn number_of(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
