//! Builds an index while a deflate stream is decoded once.

use std::cell::RefCell;
use std::io::{self, Read};

use super::index::{
    InflateIndex, InflateSpan, STORED_HEADER_BYTES, SpanSource, SpanWindow, WINDOW_BYTES,
};
use super::stream::{Block, Step, Stop, Stream};

/// A compressed span has at least this number of uncompressed bytes, unless a stored block ends it earlier. Each span
/// may need a window of 32 KiB, so shorter spans would take more space.
const SPAN_BYTES: u64 = 8 << 20;
/// If a compressed span would have more uncompressed bytes, because a block is long, the stream gets no index.
const MAX_SPAN_BYTES: u64 = 2 * SPAN_BYTES;
/// A stream with more spans gets no index. A span takes about 40 bytes of memory.
const MAX_SPANS: usize = 1 << 20;
/// At most this number of bytes is decoded at once.
const STEP_BYTES: usize = 1 << 18;

/// Stores windows. A window is the 32 KiB before a span.
pub trait WindowStore {
    /// Stores a window. Returns the offset at which it is stored.
    fn keep(&self, window: &[u8]) -> io::Result<u64>;
}

impl WindowStore for RefCell<Vec<u8>> {
    fn keep(&self, window: &[u8]) -> io::Result<u64> {
        let mut bytes = self.borrow_mut();
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(window);
        Ok(offset)
    }
}

/// The result of decoding a stream once.
#[derive(Debug)]
pub struct IndexerResult<R> {
    /// The index. `None` if a deflate block is too long, or if the index would have too many spans.
    pub index: Option<InflateIndex>,
    /// Compressed length of the stream in bytes.
    pub used: u64,
    /// Uncompressed length in bytes.
    pub len: u64,
    /// CRC-32 of the uncompressed bytes.
    pub crc32: u32,
    /// The input after the stream, including bytes that were read ahead.
    pub rest: io::Chain<io::Cursor<Vec<u8>>, R>,
}

/// Decodes a deflate stream and builds its index. [`Read`] returns the uncompressed bytes.
pub struct InflateIndexer<'w, R> {
    stream: Stream<R>,
    spans: SpanBuilder<'w>,
    crc: crc32fast::Hasher,
    /// Uncompressed bytes. The 32 KiB before `filled` always remain available as the window.
    bytes: Vec<u8>,
    filled: usize,
    /// Index in `bytes` after the bytes that [`Read`] returned.
    read: usize,
    /// Number of bytes decoded so far.
    len: u64,
    has_ended: bool,
}

impl<'w, R: Read> InflateIndexer<'w, R> {
    /// Decodes the stream at the beginning of `packed`, and stores windows in `windows`.
    pub fn new(packed: R, windows: &'w dyn WindowStore) -> io::Result<Self> {
        let mut stream = Stream::new(packed);
        let mut spans = SpanBuilder::new(windows);
        spans.block(stream.block(0)?, 0, &[])?;
        Ok(Self {
            stream,
            spans,
            crc: crc32fast::Hasher::new(),
            bytes: vec![0; WINDOW_BYTES as usize + STEP_BYTES],
            filled: 0,
            read: 0,
            len: 0,
            has_ended: false,
        })
    }

    /// Decodes up to [`STEP_BYTES`] bytes, at most to the end of the current block.
    fn step(&mut self) -> io::Result<()> {
        let window = WINDOW_BYTES as usize;
        if self.filled == self.bytes.len() {
            self.bytes.copy_within(self.filled - window.., 0);
            self.filled = window;
            self.read = window;
        }
        let room = self.bytes.get_mut(self.filled..).unwrap_or_default();
        let Step { written, stop } = self.stream.step(room)?;
        self.crc.update(room.get(..written).unwrap_or_default());
        self.filled += written;
        self.len += written as u64;
        self.spans.check_length(self.len);
        match stop {
            Stop::Block { left_over } => {
                let block = self.stream.block(left_over)?;
                let preceding = self.filled.saturating_sub(window)..self.filled;
                let preceding = self.bytes.get(preceding).unwrap_or_default();
                self.spans.block(block, self.len, preceding)?;
            }
            Stop::End => self.has_ended = true,
            Stop::Anywhere => {}
        }
        Ok(())
    }

    /// Decodes the rest of the stream. Stops early if more than `max_len` bytes have been decoded in total.
    ///
    /// [`IndexerResult::len`] exceeds `max_len` if decoding stopped early.
    pub fn finish(mut self, max_len: u64) -> io::Result<IndexerResult<R>> {
        while !self.has_ended && self.len <= max_len {
            self.step()?;
        }
        let (used, len) = (self.stream.used(), self.len);
        let (packed, rest) = self.stream.into_rest();
        Ok(IndexerResult {
            index: self.spans.finish(used, len),
            used,
            len,
            crc32: self.crc.finalize(),
            rest: io::Cursor::new(rest).chain(packed),
        })
    }
}

/// The error of a damaged stream is [`io::ErrorKind::InvalidData`] or [`io::ErrorKind::UnexpectedEof`].
impl<R: Read> Read for InflateIndexer<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.filled && !self.has_ended {
            self.step()?;
        }
        let available = self.bytes.get(self.read..self.filled).unwrap_or_default();
        let count = available.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), available.get(..count)) {
            to.copy_from_slice(from);
        }
        self.read += count;
        Ok(count)
    }
}

/// Collects the spans of an index, block by block.
struct SpanBuilder<'w> {
    spans: Vec<InflateSpan>,
    windows: &'w dyn WindowStore,
    /// Total size in bytes of the windows in `windows`.
    stored_windows: u64,
    /// Uncompressed offset of the current stored block, unless the block belongs to a compressed span.
    stored: Option<u64>,
    /// Uncompressed offset of the current compressed span, unless the current block is outside of such a span.
    coded: Option<u64>,
    /// Uncompressed offset after which all blocks so far are stored blocks.
    plain: u64,
    /// Whether a limit was exceeded, so that the stream gets no index.
    has_no_index: bool,
}

impl<'w> SpanBuilder<'w> {
    fn new(windows: &'w dyn WindowStore) -> SpanBuilder<'w> {
        SpanBuilder {
            spans: Vec::new(),
            windows,
            stored_windows: 0,
            stored: None,
            coded: None,
            plain: 0,
            has_no_index: false,
        }
    }

    /// Checks the length of the current compressed span, which has been decoded up to the uncompressed offset `len`.
    fn check_length(&mut self, len: u64) {
        self.has_no_index |= self.coded.is_some_and(|start| len - start > MAX_SPAN_BYTES);
    }

    /// Updates the spans at the beginning of a block. `len` is the uncompressed offset of the block. `window` contains the
    /// bytes before this offset.
    fn block(&mut self, block: Block, len: u64, window: &[u8]) -> io::Result<()> {
        self.end_stored(block.bit / 8, len);
        self.has_no_index |= self.spans.len() > MAX_SPANS;
        let ends = |start: &mut u64| block.is_stored || len - *start >= SPAN_BYTES;
        if self.coded.take_if(ends).is_some() {
            // Only stored blocks follow, until the next compressed span begins.
            self.plain = len;
        }
        if self.coded.is_some() || self.has_no_index {
            return Ok(());
        }
        if block.is_stored {
            self.stored = Some(len);
            return Ok(());
        }
        let window = match self.plain <= InflateIndex::window(len).start {
            true => SpanWindow::Stored,
            // Stores at most one window for each `SPAN_BYTES` bytes.
            false if self.stored_windows / WINDOW_BYTES * SPAN_BYTES <= len => {
                self.stored_windows += window.len() as u64;
                SpanWindow::Kept(self.windows.keep(window)?)
            }
            // Another window would exceed this maximum. Therefore the last compressed span is extended over the stored
            // spans after it.
            false => {
                let is_stored =
                    |span: &mut InflateSpan| matches!(span.source, SpanSource::Stored { .. });
                while self.spans.pop_if(is_stored).is_some() {}
                self.coded = self.spans.last().map(|last| last.start);
                return Ok(());
            }
        };
        self.coded = Some(len);
        self.spans.push(InflateSpan {
            start: len,
            source: SpanSource::Coded {
                at: block.bit / 8,
                bit: u8::try_from(block.bit % 8).unwrap_or_default(),
                window,
            },
        });
        Ok(())
    }

    /// Adds the current stored block, if any, to the last stored span or as a new span. The block ends at byte `end` of the
    /// compressed stream and at the uncompressed offset `len`.
    fn end_stored(&mut self, end: u64, len: u64) {
        let Some(start) = self.stored.take().filter(|start| *start < len) else {
            return;
        };
        let (bytes, at) = (len - start, end - (len - start));
        if let Some(InflateSpan {
            start: first,
            source: SpanSource::Stored { at: begin, block },
        }) = self.spans.last()
        {
            // All blocks of a stored span except the last one must have the same length.
            let before = start - first;
            let is_next = before % block == 0 && bytes <= *block;
            if is_next && at == begin + before / block * (block + STORED_HEADER_BYTES) {
                return;
            }
        }
        let source = SpanSource::Stored { at, block: bytes };
        self.spans.push(InflateSpan { start, source });
    }

    fn finish(mut self, used: u64, len: u64) -> Option<InflateIndex> {
        self.end_stored(used, len);
        self.spans.pop_if(|last| last.start == len);
        let spans = std::mem::take(&mut self.spans);
        InflateIndex::new(spans, len).filter(|_| !self.has_no_index)
    }
}
