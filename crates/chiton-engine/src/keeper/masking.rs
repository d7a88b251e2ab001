//! Values become tokens where bytes enter the keeper, before anything else sees them.

use std::sync::Arc;

use zeroize::Zeroize;

use crate::bytes::ByteString;
use crate::event::Stream;
use crate::secrets::patterns::Patterns;
use crate::secrets::redact::Redactor;

pub(super) struct Masking {
    patterns: Arc<Patterns>,
    streams: [Redactor; 2],
}

impl Masking {
    /// Takes the values, and wipes the copies it was given.
    pub(super) fn new(masks: Vec<(String, ByteString)>) -> Self {
        let patterns = Arc::new(Patterns::new(masks.iter().map(|(mask, value)| (mask.as_str(), &value[..]))));
        for (_, value) in masks {
            value.into_vec().zeroize();
        }
        let stream = || Redactor::new(Arc::clone(&patterns));
        Self { streams: [stream(), stream()], patterns }
    }

    /// Whether everything passes as it is.
    pub(super) fn is_off(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Appends to `out` what can be told of `stream` now that these bytes have come.
    pub(super) fn pass(&mut self, stream: Stream, bytes: &[u8], out: &mut Vec<u8>) {
        self.streams[usize::from(stream == Stream::Stderr)].push(bytes, out);
    }

    /// Appends to `out` what was held back of `stream`: nothing more is waited for.
    pub(super) fn flush(&mut self, stream: Stream, out: &mut Vec<u8>) {
        self.streams[usize::from(stream == Stream::Stderr)].flush(out);
    }

    /// A whole text.
    pub(super) fn text(&self, text: Vec<u8>) -> Vec<u8> {
        if self.is_off() { text } else { self.patterns.masked(&text) }
    }
}
