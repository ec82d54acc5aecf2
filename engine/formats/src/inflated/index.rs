//! The positions in a deflate stream at which decoding can start.

use std::ops::Range;

/// Maximum distance in bytes from which deflate copies.
pub(super) const WINDOW_BYTES: u64 = 1 << 15;

/// Bytes between the contents of two stored blocks: three bits, padded to a byte, then the length and its complement.
pub(super) const STORED_HEADER_BYTES: u64 = 5;

/// Positions in a deflate stream at which decoding can start. Each begins a span, which ends at the next position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InflateIndex {
    spans: Vec<InflateSpan>,
    len: u64,
}

/// A range of the uncompressed bytes that can be decoded separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InflateSpan {
    /// Uncompressed offset of the first byte.
    pub start: u64,
    /// The compressed form.
    pub source: SpanSource,
}

/// The compressed form of a span. Positions are offsets in the deflate stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanSource {
    /// Stored blocks, whose bytes are not compressed.
    Stored {
        /// Offset of the first content byte.
        at: u64,
        /// Content bytes of each block. The content of the next block follows after 5 header bytes.
        block: u64,
    },
    /// Compressed blocks.
    Coded {
        /// Offset of the byte in which the first block begins.
        at: u64,
        /// Bit in that byte, from 0.
        bit: u8,
        /// The location of the bytes before the span, which its blocks may copy.
        window: SpanWindow,
    },
}

/// The location of the bytes before a span, up to 32 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanWindow {
    /// In the stored spans that precede it.
    Stored,
    /// At this offset of the data that [`WindowStore`](super::WindowStore) stored.
    Kept(u64),
}

impl InflateIndex {
    /// Creates the index of a stream with `len` uncompressed bytes. Returns `None` if the spans are not in ascending
    /// order from 0, or contain invalid values.
    #[must_use]
    pub fn new(spans: Vec<InflateSpan>, len: u64) -> Option<Self> {
        let is_valid = |span: &InflateSpan| match span.source {
            SpanSource::Stored { block, .. } => block > 0,
            SpanSource::Coded { bit, .. } => bit < 8,
        };
        let ascend = spans.windows(2).all(|pair| match pair {
            [one, next] => one.start < next.start,
            _ => true,
        });
        let first = spans.first().map_or(len, |span| span.start);
        let last = spans.last().is_none_or(|span| span.start < len);
        (first == 0 && last && ascend && spans.iter().all(is_valid)).then_some(Self { spans, len })
    }

    /// Number of uncompressed bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the uncompressed content is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The spans in ascending order.
    #[must_use]
    pub fn spans(&self) -> &[InflateSpan] {
        &self.spans
    }

    /// The range of uncompressed bytes that a span starting at `start` may copy.
    pub(super) fn window(start: u64) -> Range<u64> {
        start.saturating_sub(WINDOW_BYTES)..start
    }

    /// Uncompressed offset of the end of a span.
    pub(super) fn end_of(&self, number: usize) -> u64 {
        let next = self.spans.get(number + 1);
        next.map_or(self.len, |next| next.start)
    }

    /// The number of the span that contains an uncompressed offset, and the range of that span.
    pub(super) fn find(&self, offset: u64) -> Option<(usize, Range<u64>)> {
        let next_number = self.spans.partition_point(|span| span.start <= offset);
        let number = next_number.checked_sub(1)?;
        let end = self.end_of(number);
        (offset < end).then_some((number, self.spans.get(number)?.start..end))
    }
}
