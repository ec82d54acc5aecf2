//! Making an index: one pass over the stream.

use std::cell::RefCell;
use std::io::{self, Read};

use super::index::{Index, STORED_HEAD, Source, Span, WINDOW, Window};
use super::stream::{Block, Step, Stop, Stream};

/// A span that has to be inflated ends before a stored block, or the first block behind so many bytes. So there is a window
/// for as many.
const LONG: u64 = 8 << 20;
/// If it gets as long as that, the stream cannot be begun often enough.
const TOO_LONG: u64 = 2 * LONG;
/// So many spans are held at most, some 40 bytes each.
const MOST: usize = 1 << 20;
/// Inflated bytes that are looked at together.
const STEP: usize = 1 << 18;

/// Keeps what has to be known to begin within a stream.
pub trait Windows {
    /// Keeps some bytes; returns where they are.
    ///
    /// # Errors
    /// When they cannot be written.
    fn keep(&self, window: &[u8]) -> io::Result<u64>;
}

impl Windows for RefCell<Vec<u8>> {
    fn keep(&self, window: &[u8]) -> io::Result<u64> {
        let mut bytes = self.borrow_mut();
        let place = bytes.len() as u64;
        bytes.extend_from_slice(window);
        Ok(place)
    }
}

/// What a pass over a stream found.
#[derive(Debug)]
pub struct Indexed<R> {
    /// None: too few blocks begin in it, or too many of them.
    pub index: Option<Index>,
    /// Bytes of the stream.
    pub used: u64,
    /// Bytes that it holds.
    pub len: u64,
    /// Their CRC-32.
    pub crc32: u32,
    /// What comes behind it: bytes that were read already, and the source.
    pub rest: io::Chain<io::Cursor<Vec<u8>>, R>,
}

/// Inflates a deflate stream, and notes where to begin.
pub struct Indexer<'w, R> {
    stream: Stream<R>,
    spans: Spans<'w>,
    crc: crc32fast::Hasher,
    /// What was inflated: what was written last stands before what is written next.
    bytes: Vec<u8>,
    filled: usize,
    /// Up to where it was handed out.
    read: usize,
    len: u64,
    has_ended: bool,
}

impl<'w, R: Read> Indexer<'w, R> {
    /// Of the stream that begins `packed`. What has to be known to begin within it is kept by `windows`.
    ///
    /// # Errors
    /// Those of `packed` and `windows`.
    pub fn new(packed: R, windows: &'w dyn Windows) -> io::Result<Self> {
        let mut stream = Stream::new(packed)?;
        let mut spans = Spans::new(windows);
        spans.block(stream.block(0)?, 0, &[])?;
        Ok(Self {
            stream,
            spans,
            crc: crc32fast::Hasher::new(),
            bytes: vec![0; WINDOW as usize + STEP],
            filled: 0,
            read: 0,
            len: 0,
            has_ended: false,
        })
    }

    /// Inflates the next bytes.
    fn step(&mut self) -> io::Result<()> {
        let window = WINDOW as usize;
        if self.filled == self.bytes.len() {
            self.bytes.copy_within(self.filled - window.., 0);
            self.filled = window;
            self.read = window;
        }
        let room = self.bytes.get_mut(self.filled..).unwrap_or_default();
        let Step { made, stop } = self.stream.step(room)?;
        self.crc.update(room.get(..made).unwrap_or_default());
        self.filled += made;
        self.len += made as u64;
        self.spans.inflated(self.len);
        match stop {
            Stop::Block { left_over } => {
                let block = self.stream.block(left_over)?;
                let known = self.filled.saturating_sub(window)..self.filled;
                let known = self.bytes.get(known).unwrap_or_default();
                self.spans.block(block, self.len, known)?;
            }
            Stop::End => self.has_ended = true,
            Stop::Anywhere | Stop::Last => {}
        }
        Ok(())
    }

    /// Inflates what is left, up to `most` bytes of all, and returns what was found. A stream that
    /// goes on behind `most` bytes ends there, and is longer.
    ///
    /// # Errors
    /// As those of reading.
    pub fn finish(mut self, most: u64) -> io::Result<Indexed<R>> {
        while !self.has_ended && self.len <= most {
            self.step()?;
        }
        let (used, len) = (self.stream.used(), self.len);
        let (packed, rest) = self.stream.into_rest();
        Ok(Indexed {
            index: self.spans.finish(used, len),
            used,
            len,
            crc32: self.crc.finalize(),
            rest: io::Cursor::new(rest).chain(packed),
        })
    }
}

/// The errors are those of the source and of the windows; [`io::ErrorKind::InvalidData`] and
/// [`io::ErrorKind::UnexpectedEof`] when the stream is damaged.
impl<R: Read> Read for Indexer<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.filled && !self.has_ended {
            self.step()?;
        }
        let there = self.bytes.get(self.read..self.filled).unwrap_or_default();
        let count = there.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), there.get(..count)) {
            to.copy_from_slice(from);
        }
        self.read += count;
        Ok(count)
    }
}

/// Spans as blocks come.
struct Spans<'w> {
    spans: Vec<Span>,
    windows: &'w dyn Windows,
    /// Bytes of all windows.
    known: u64,
    /// The stored block that is being read, as far as it belongs to no coded span: its first byte.
    stored: Option<u64>,
    /// The first byte of the coded span that is being read.
    coded: Option<u64>,
    /// From here on all blocks were stored.
    plain: u64,
    is_hopeless: bool,
}

impl<'w> Spans<'w> {
    fn new(windows: &'w dyn Windows) -> Spans<'w> {
        Spans {
            spans: Vec::new(),
            windows,
            known: 0,
            stored: None,
            coded: None,
            plain: 0,
            is_hopeless: false,
        }
    }

    /// So many bytes were inflated.
    fn inflated(&mut self, len: u64) {
        self.is_hopeless |= self.coded.is_some_and(|start| len - start > TOO_LONG);
    }

    /// A block begins, behind `len` bytes of which `window` are the last.
    fn block(&mut self, block: Block, len: u64, window: &[u8]) -> io::Result<()> {
        self.end_stored(block.bit / 8, len);
        self.is_hopeless |= self.spans.len() > MOST;
        let ends = |start: &mut u64| block.is_stored || len - *start >= LONG;
        if self.coded.take_if(ends).is_some() {
            self.plain = len;
        }
        if self.coded.is_some() || self.is_hopeless {
            return Ok(());
        }
        if block.is_stored {
            self.stored = Some(len);
            return Ok(());
        }
        let window = match self.plain <= Index::window(len).start {
            true => Window::Stored,
            // One for as many bytes as a span has at most.
            false if self.known / WINDOW * LONG <= len => {
                self.known += window.len() as u64;
                Window::Kept(self.windows.keep(window)?)
            }
            // What was stored since the last coded span is too little to begin anew.
            false => {
                let is_stored = |span: &mut Span| matches!(span.source, Source::Stored { .. });
                while self.spans.pop_if(is_stored).is_some() {}
                self.coded = self.spans.last().map(|last| last.start);
                return Ok(());
            }
        };
        self.coded = Some(len);
        self.spans.push(Span {
            start: len,
            source: Source::Coded {
                at: block.bit / 8,
                bit: u8::try_from(block.bit % 8).unwrap_or_default(),
                window,
            },
        });
        Ok(())
    }

    /// A stored block, if there was one, ended before the byte `end` of the stream and behind `len` inflated ones.
    fn end_stored(&mut self, end: u64, len: u64) {
        let Some(start) = self.stored.take().filter(|start| *start < len) else {
            return;
        };
        let (bytes, at) = (len - start, end - (len - start));
        if let Some(Span {
            start: first,
            source: Source::Stored { at: begin, block },
        }) = self.spans.last()
        {
            let before = start - first;
            let is_next = before % block == 0 && bytes <= *block;
            if is_next && at == begin + before / block * (block + STORED_HEAD) {
                return;
            }
        }
        let source = Source::Stored { at, block: bytes };
        self.spans.push(Span { start, source });
    }

    /// The stream ended.
    fn finish(mut self, used: u64, len: u64) -> Option<Index> {
        self.end_stored(used, len);
        self.spans.pop_if(|last| last.start == len);
        let spans = std::mem::take(&mut self.spans);
        Index::new(spans, len).filter(|_| !self.is_hopeless)
    }
}
