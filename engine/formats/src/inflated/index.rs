//! The offsets in a deflate stream at which decoding can start, and a reader that starts decoding at them.

use std::io;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::stream::{Stop, Stream};
use crate::read_at::{ByteSection, ReadAt};
use crate::spans::Spans;

/// A block can copy bytes that are at most this number of bytes before their copy.
pub(super) const WINDOW_BYTES: u64 = 1 << 15;

/// Length in bytes of a stored block's header: one byte with three used bits, two bytes with the length of the content, and
/// two bytes with the same length in which all bits are inverted.
pub(super) const STORED_HEADER_BYTES: u64 = 5;

/// Offsets in a deflate stream at which decoding can start. A span begins at each of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedIndex")]
pub struct InflateIndex {
    spans: Vec<InflateSpan>,
    len: u64,
}

/// A range of uncompressed bytes that can be decoded without the bytes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InflateSpan {
    /// Uncompressed offset of the first byte.
    pub start: u64,
    /// The compressed form of the span.
    pub source: SpanSource,
}

/// The compressed form of a span. All positions are offsets in the deflate stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpanSource {
    /// Stored blocks, whose content is not compressed.
    Stored {
        /// Offset of the first content byte.
        at: u64,
        /// Number of content bytes in each block. 5 header bytes separate the contents of two blocks.
        block: u64,
    },
    /// Compressed blocks.
    Coded {
        /// Offset of the byte in which the first block begins.
        at: u64,
        /// Bit in this byte, from 0.
        bit: u8,
        /// The location of the 32 KiB before the span, which its blocks may copy.
        window: SpanWindow,
    },
}

/// The location of up to 32 KiB of uncompressed bytes before a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpanWindow {
    /// The bytes are in the stored spans before the span.
    Stored,
    /// A [`WindowStore`](super::WindowStore) stored the bytes at this offset.
    Kept(u64),
}

/// An index as stored, which may be damaged.
#[derive(Deserialize)]
struct UncheckedIndex {
    spans: Vec<InflateSpan>,
    len: u64,
}

impl TryFrom<UncheckedIndex> for InflateIndex {
    type Error = &'static str;

    fn try_from(stored: UncheckedIndex) -> Result<Self, Self::Error> {
        Self::new(stored.spans, stored.len).ok_or("the index is damaged")
    }
}

impl InflateIndex {
    /// Creates the index of a stream with `len` uncompressed bytes. Returns `None` if the spans are invalid.
    ///
    /// - The first span must start at 0. The others must be in ascending order and start before `len`.
    /// - The blocks of a stored span must not be empty. The bit at which a compressed span begins must be below 8.
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
        let begin_before_end = spans.last().is_none_or(|span| span.start < len);
        (first == 0 && begin_before_end && ascend && spans.iter().all(is_valid))
            .then_some(Self { spans, len })
    }

    /// Returns the number of uncompressed bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the stream has no uncompressed bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the spans in ascending order.
    #[must_use]
    pub fn spans(&self) -> &[InflateSpan] {
        &self.spans
    }

    /// Returns the range of uncompressed offsets of the window of a span that begins at `start`.
    pub(super) fn window(start: u64) -> Range<u64> {
        start.saturating_sub(WINDOW_BYTES)..start
    }

    /// Returns the uncompressed offset at which a span ends.
    fn end_of(&self, number: usize) -> u64 {
        let next = self.spans.get(number + 1);
        next.map_or(self.len, |next| next.start)
    }

    fn find(&self, offset: u64) -> Option<(usize, Range<u64>)> {
        let next_number = self.spans.partition_point(|span| span.start <= offset);
        let number = next_number.checked_sub(1)?;
        let end = self.end_of(number);
        (offset < end).then_some((number, self.spans.get(number)?.start..end))
    }
}

/// A span with more uncompressed bytes is an error. The limit is twice the maximum length of the spans that an indexer
/// creates.
const MAX_DECODED_BYTES: usize = 32 << 20;

/// A deflate stream that is read with an index.
#[derive(Debug)]
pub struct DeflateSpans<P, W> {
    packed: P,
    windows: W,
    index: InflateIndex,
}

impl<P: ReadAt, W: ReadAt> DeflateSpans<P, W> {
    /// Reads the deflate stream at the beginning of `packed`. A single
    /// [`InflateIndexer`](super::InflateIndexer) must have created both `windows` and `index`.
    pub fn new(packed: P, windows: W, index: InflateIndex) -> Self {
        Self {
            packed,
            windows,
            index,
        }
    }

    fn span(&self, number: usize) -> io::Result<InflateSpan> {
        let span = self.index.spans().get(number).copied();
        span.ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Returns up to 32 KiB of uncompressed bytes before the offset `start`. They are stored at `window`.
    fn window_before(&self, start: u64, window: SpanWindow) -> io::Result<Vec<u8>> {
        let range = InflateIndex::window(start);
        let mut bytes = vec![0; (range.end - range.start) as usize];
        match window {
            SpanWindow::Kept(at) => self.windows.read_exact_at(&mut bytes, at)?,
            SpanWindow::Stored => {
                let mut read = 0;
                while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
                    let at = range.start + read as u64;
                    let (number, span) = self.find(at).ok_or(io::ErrorKind::InvalidInput)?;
                    let count = rest.len().min((span.end - at) as usize);
                    let part = rest.get_mut(..count).unwrap_or_default();
                    self.read_plain(number, part, at - span.start)?;
                    read += count;
                }
            }
        }
        Ok(bytes)
    }
}

impl<P: ReadAt, W: ReadAt> Spans for DeflateSpans<P, W> {
    fn count(&self) -> usize {
        self.index.spans().len()
    }

    fn find(&self, offset: u64) -> Option<(usize, Range<u64>)> {
        self.index.find(offset)
    }

    fn is_plain(&self, number: usize) -> bool {
        let span = self.index.spans().get(number);
        span.is_some_and(|span| matches!(span.source, SpanSource::Stored { .. }))
    }

    fn read_plain(&self, number: usize, buf: &mut [u8], skip: u64) -> io::Result<()> {
        let SpanSource::Stored { at, block } = self.span(number)?.source else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut read = 0;
        while let Some(rest) = buf.get_mut(read..).filter(|rest| !rest.is_empty()) {
            let offset = skip + read as u64;
            let within = offset % block;
            let count = usize::try_from(block - within).unwrap_or(usize::MAX);
            let count = count.min(rest.len());
            // Before the block of this byte are `offset / block` complete blocks, each followed by a header.
            let from = at + offset / block * (block + STORED_HEADER_BYTES) + within;
            self.packed
                .read_exact_at(rest.get_mut(..count).unwrap_or_default(), from)?;
            read += count;
        }
        Ok(())
    }

    fn unpack(&self, number: usize, bytes: &mut Vec<u8>) -> io::Result<u64> {
        let InflateSpan {
            start,
            source: SpanSource::Coded { at, bit, window },
        } = self.span(number)?
        else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let before = self.window_before(start, window)?;
        let packed = ByteSection::new(&self.packed, at..u64::MAX);
        let mut stream = Stream::resume(packed, bit, &before)?;
        let end = self.index.end_of(number);
        // A damaged index must not cause a large allocation.
        let count = usize::try_from(end - start).ok();
        let count = count.filter(|count| *count <= MAX_DECODED_BYTES);
        let count = count.ok_or(io::ErrorKind::InvalidData)?;
        bytes.resize(count, 0);
        let mut filled = 0;
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            let step = stream.step(room)?;
            filled += step.written;
            if step.stop == Stop::End && filled < count {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(0)
    }
}
