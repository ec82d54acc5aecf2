//! Where to begin.

use std::ops::Range;

/// How far back deflate copies from.
pub(super) const WINDOW: u64 = 1 << 15;

/// Between two stored blocks stand three bits, filled up to a byte, and a length, twice.
pub(super) const STORED_HEAD: u64 = 5;

/// Places in a deflated stream from which it can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    spans: Vec<Span>,
    len: u64,
}

/// Some bytes of what is deflated, up to the next span's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    pub source: Source,
}

/// How the bytes of a span are read. Places in the stream count from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// As they are: `block` bytes from `at` on, as many behind five others, and so on.
    Stored { at: u64, block: u64 },
    /// Inflated from the bit `bit` of the byte `at` on, with the 32 KiB before it, or all that is.
    Coded { at: u64, bit: u8, window: Window },
}

/// Where the bytes before a span are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// In the spans before it, which are stored.
    Stored,
    /// At this place among the windows.
    Kept(u64),
}

impl Index {
    /// An index of `len` bytes. None: the spans do not ascend from the first byte on, or make no sense.
    #[must_use]
    pub fn new(spans: Vec<Span>, len: u64) -> Option<Self> {
        let sound = |span: &Span| match span.source {
            Source::Stored { block, .. } => block > 0,
            Source::Coded { bit, .. } => bit < 8,
        };
        let ascend = spans.windows(2).all(|pair| match pair {
            [one, next] => one.start < next.start,
            _ => true,
        });
        let first = spans.first().map_or(len, |span| span.start);
        let last = spans.last().is_none_or(|span| span.start < len);
        (first == 0 && last && ascend && spans.iter().all(sound)).then_some(Self { spans, len })
    }

    /// Length of what is deflated.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether that is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// From the first byte to the last.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// What has to be known before a byte: the bytes before it, [`WINDOW`] at most.
    pub(super) fn window(start: u64) -> Range<u64> {
        start.saturating_sub(WINDOW)..start
    }

    /// Where a span ends.
    pub(super) fn end_of(&self, number: usize) -> u64 {
        let next = self.spans.get(number + 1);
        next.map_or(self.len, |next| next.start)
    }

    /// Which span holds a byte, and its place.
    pub(super) fn find(&self, offset: u64) -> Option<(usize, Range<u64>)> {
        let behind = self.spans.partition_point(|span| span.start <= offset);
        let number = behind.checked_sub(1)?;
        let end = self.end_of(number);
        (offset < end).then_some((number, self.spans.get(number)?.start..end))
    }
}
