//! Making an index: one pass over the stream.

use std::io::{self, Write};

use super::index::{Index, STORED_HEAD, Source, Span, WINDOW};
use super::stream::{Step, Stop, Stream};
use crate::read_at::ReadAt;

/// A span that has to be inflated ends with the first block behind so many bytes. So there is a window for as many.
const LONG: u64 = 8 << 20;
/// If it gets as long as that, the stream cannot be begun often enough.
const TOO_LONG: u64 = 2 * LONG;
/// So many spans are held at most, some 40 bytes each.
const MOST: usize = 1 << 20;
/// Inflated bytes that are looked at together.
const STEP: usize = 1 << 18;

/// What a pass over a stream found.
#[derive(Debug)]
pub struct Indexed {
    /// None: too few blocks begin in it, or too many of them.
    pub index: Option<Index>,
    /// Bytes of the stream.
    pub used: u64,
    /// Bytes that it holds.
    pub len: u64,
    /// Their CRC-32.
    pub crc32: u32,
}

/// Inflates the deflate stream that begins `packed`, up to `most` bytes, and notes where to begin. What has to be known
/// there is written to `windows`, one behind the other. `watch` is told of bytes that were inflated.
///
/// # Errors
/// Those of `packed`, `windows` and `watch`; [`io::ErrorKind::InvalidData`] and [`io::ErrorKind::UnexpectedEof`] when the
/// stream is damaged. One that goes on behind `most` bytes ends there, and is longer.
pub fn build<R: ReadAt + ?Sized>(
    packed: &R,
    most: u64,
    windows: &mut dyn Write,
    watch: &mut dyn FnMut(usize) -> io::Result<()>,
) -> io::Result<Indexed> {
    let mut stream = Stream::new(packed)?;
    let mut crc = crc32fast::Hasher::new();
    let mut building = Building::new(windows);
    building.block(Block::at(packed, 0)?, 0, &[])?;
    let mut len = 0;
    // What was written last stands before what is written next.
    let window = WINDOW as usize;
    let mut bytes = vec![0; window + STEP];
    let mut filled = 0;
    loop {
        let room = bytes.get_mut(filled..).unwrap_or_default();
        let Step { made, stop } = stream.step(room)?;
        let written = room.get(..made).unwrap_or_default();
        crc.update(written);
        watch(made)?;
        filled += made;
        len += made as u64;
        building.inflated(len);
        match stop {
            Stop::Block { left_over } => {
                let block = Block::at(packed, 8 * stream.used() - left_over)?;
                let known = bytes.get(filled.saturating_sub(window)..filled);
                building.block(block, len, known.unwrap_or_default())?;
            }
            Stop::End => break,
            Stop::Anywhere | Stop::Last => {}
        }
        if len > most {
            break;
        }
        if filled == bytes.len() {
            bytes.copy_within(filled - window.., 0);
            filled = window;
        }
    }
    Ok(Indexed {
        index: building.finish(stream.used(), len),
        used: stream.used(),
        len,
        crc32: crc.finalize(),
    })
}

/// The beginning of a block.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Its first bit in the stream.
    bit: u64,
    is_stored: bool,
}

impl Block {
    /// The block whose header begins at a bit: whether it is the last one, and two bits for its kind.
    fn at<R: ReadAt + ?Sized>(packed: &R, bit: u64) -> io::Result<Block> {
        let mut two = [0; 2];
        let count = packed.read_at(&mut two, bit / 8)?;
        if count == 1 {
            packed.read_at(two.get_mut(1..).unwrap_or_default(), bit / 8 + 1)?;
        }
        let header = u16::from_le_bytes(two) >> (bit % 8);
        Ok(Block {
            bit,
            is_stored: header >> 1 & 3 == 0,
        })
    }
}

/// Spans as blocks come.
struct Building<'w> {
    spans: Vec<Span>,
    windows: &'w mut dyn Write,
    /// Bytes of all windows.
    known: u64,
    /// The stored block that is being read, as far as it belongs to no coded span: its first byte.
    stored: Option<u64>,
    /// The first byte of the coded span that is being read.
    coded: Option<u64>,
    is_hopeless: bool,
}

impl<'w> Building<'w> {
    fn new(windows: &'w mut dyn Write) -> Building<'w> {
        Building {
            spans: Vec::new(),
            windows,
            known: 0,
            stored: None,
            coded: None,
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
        if let Some(start) = self.coded {
            // The next block that is coded needs a window.
            let has_window = self.known / WINDOW * LONG <= len;
            let ends = len - start >= LONG || block.is_stored && has_window;
            self.coded = self.coded.filter(|_| !ends);
        }
        if self.coded.is_some() || self.is_hopeless {
            return Ok(());
        }
        if block.is_stored {
            self.stored = Some(len);
            return Ok(());
        }
        self.coded = Some(len);
        self.spans.push(Span {
            start: len,
            source: Source::Coded {
                at: block.bit / 8,
                bit: u8::try_from(block.bit % 8).unwrap_or_default(),
                window: self.known,
            },
        });
        self.known += window.len() as u64;
        self.windows.write_all(window)
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
