//! Reads a deflate stream at any position with the help of its [`InflateIndex`].

use std::io;
use std::ops::Range;

use super::index::{InflateIndex, InflateSpan, STORED_HEADER_BYTES, SpanSource, SpanWindow};
use super::stream::{Stop, Stream};
use crate::read_at::{ByteSection, ReadAt};
use crate::spans::Spans;

/// Maximum length of a span in bytes: twice the maximum that [`InflateIndexer`](super::InflateIndexer) creates.
const MAX_SPAN_BYTES: usize = 32 << 20;

/// The spans of a deflate stream that has an index.
#[derive(Debug)]
pub struct DeflateSpans<P, W> {
    packed: P,
    windows: W,
    index: InflateIndex,
}

impl<P: ReadAt, W: ReadAt> DeflateSpans<P, W> {
    /// Creates a reader of the deflate stream at the beginning of `packed`. The same
    /// [`InflateIndexer`](super::InflateIndexer) must have created `windows` and `index`.
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

    /// Returns the up to 32 KiB before the uncompressed offset `start`, which the span that begins there may copy.
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
        // The index may be damaged, so the size of the buffer is limited.
        let count = usize::try_from(end - start).ok();
        let count = count.filter(|count| *count <= MAX_SPAN_BYTES);
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
