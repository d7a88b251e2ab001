//! Values become tokens where bytes enter the keeper, before anything else sees them.
//!
//! 1. [`OutputMasking::pass`] searches each stream for the values, in every form they may have. The end of a piece that
//!    might be the beginning of a value is held back until more comes.
//! 2. [`OutputMasking::flush`] gives out what was held back, when nothing more will come or a terminal should not wait.
//!
//! What is searched for, and how, is left to `chiton_redact`.

use std::ops::Range;
use std::sync::Arc;

use zeroize::Zeroize;

use crate::bytes::ByteString;
use crate::run::Stream;
use chiton_redact::patterns::Patterns;
use chiton_redact::redact::Redactor;
use chiton_terminal::Snapshot;

/// Characters of a value that may be shown where a terminal would lack the end of a line otherwise.
const LITTLE: usize = 2;

/// Layers, each with its own values: those the run started with, and those that were typed into it later.
pub(super) struct OutputMasking {
    layers: Vec<Layer>,
}

struct Layer {
    patterns: Arc<Patterns>,
    streams: [Redactor; 2],
}

impl OutputMasking {
    /// Takes the values, and wipes the copies that it was given.
    pub(super) fn new(masks: Vec<(String, ByteString)>) -> Self {
        let mut masking = Self { layers: Vec::new() };
        masking.add(masks);
        masking
    }

    /// The same for other output.
    pub(super) fn again(&self) -> Self {
        let fresh = |layer: &Layer| {
            let stream = || Redactor::new(Arc::clone(&layer.patterns));
            Layer { streams: [stream(), stream()], patterns: Arc::clone(&layer.patterns) }
        };
        Self { layers: self.layers.iter().map(fresh).collect() }
    }

    /// From now on these values are masked too.
    pub(super) fn add(&mut self, masks: Vec<(String, ByteString)>) {
        let patterns = Arc::new(Patterns::new(masks.iter().map(|(mask, value)| (mask.as_str(), &value[..]))));
        for (_, value) in masks {
            value.into_vec().zeroize();
        }
        if !patterns.is_empty() {
            let stream = || Redactor::new(Arc::clone(&patterns));
            self.layers.push(Layer { streams: [stream(), stream()], patterns });
        }
    }

    /// Whether everything passes as it is.
    pub(super) fn is_off(&self) -> bool {
        self.layers.is_empty()
    }

    /// What can be shown of `stream` now that the bytes at `arrived` have come. That is put together in the buffer where
    /// it fits into it, otherwise in `spare`: output without a value in it is not copied.
    pub(super) fn pass<'a>(
        &mut self,
        stream: Stream,
        buffer: &'a mut [u8],
        arrived: Range<usize>,
        spare: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        let slot = usize::from(stream == Stream::Stderr);
        if let [layer] = &mut self.layers[..] {
            return layer.streams[slot].push_in_place(buffer, arrived, spare);
        }
        spare.clear();
        self.through(stream, &buffer[arrived], spare, Redactor::push);
        spare
    }

    /// Appends to `out` what was held back of `stream`, whatever might have followed.
    pub(super) fn flush(&mut self, stream: Stream, out: &mut Vec<u8>) {
        self.through(stream, b"", out, |redactor, bytes, out| {
            redactor.push(bytes, out);
            redactor.flush(out);
        });
    }

    /// Whether so little of `stream` is held back that it would reveal nothing of a value.
    pub(super) fn holds_little(&self, stream: Stream) -> bool {
        let slot = usize::from(stream == Stream::Stderr);
        let held: usize = self.layers.iter().map(|layer| layer.streams[slot].waiting()).sum();
        (1..=LITTLE).contains(&held)
    }

    /// A text that is complete, as it may be shown.
    pub(super) fn text(&self, text: Vec<u8>) -> Vec<u8> {
        self.layers.iter().fold(text, |text, layer| layer.patterns.masked(&text))
    }

    /// A screen as it may be shown. Moving the cursor can put a value together that never was one in the stream.
    pub(super) fn screen(&self, screen: &mut Snapshot) {
        if self.is_off() {
            return;
        }
        let text = |screen: &Snapshot| {
            let rows = screen.rows.iter().map(|row| (row.text(), if row.wrapped { "" } else { "\n" }));
            rows.map(|(text, end)| text + end).collect::<String>()
        };
        let shown = text(screen);
        let masked = self.text(shown.clone().into_bytes());
        if masked != shown.as_bytes() {
            let masked = String::from_utf8_lossy(&masked).into_owned();
            screen.show_text(&masked);
        }
        if let Some(title) = &mut screen.title {
            *title = String::from_utf8_lossy(&self.text(title.clone().into_bytes())).into_owned();
        }
    }

    fn through(
        &mut self,
        stream: Stream,
        bytes: &[u8],
        out: &mut Vec<u8>,
        step: impl Fn(&mut Redactor, &[u8], &mut Vec<u8>),
    ) {
        let slot = usize::from(stream == Stream::Stderr);
        let Some((first, rest)) = self.layers.split_first_mut() else { return out.extend_from_slice(bytes) };
        if rest.is_empty() {
            return step(&mut first.streams[slot], bytes, out);
        }
        let mut passed = Vec::new();
        step(&mut first.streams[slot], bytes, &mut passed);
        for layer in rest {
            let mut next = Vec::new();
            step(&mut layer.streams[slot], &passed, &mut next);
            passed.zeroize();
            passed = next;
        }
        out.append(&mut passed);
    }
}
