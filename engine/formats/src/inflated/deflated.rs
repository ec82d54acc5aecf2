//! Reads a deflate stream at any position by means of its [`InflateIndex`].

use std::io;
use std::ops::Range;

use super::index::{InflateIndex, InflateSpan, STORED_HEADER_BYTES, SpanSource, SpanWindow};
use super::stream::{Stop, Stream};
use crate::read_at::{ByteSection, ReadAt};
use crate::spans::Spans;

/// Maximum length of a span in bytes: twice the maximum in an index that [`InflateIndexer`](super::Indexer) makes.
const MAX_SPAN_BYTES: usize = 32 << 20;

/// The spans of a deflate stream that has an index.
#[derive(Debug)]
pub struct DeflateSpans<P, W> {
    packed: P,
    windows: W,
    index: InflateIndex,
}

impl<P: ReadAt, W: ReadAt> DeflateSpans<P, W> {
    /// A reader of the deflate stream at the beginning of `packed`. `windows` and `index` were made by one
    /// [`InflateIndexer`](super::InflateIndexer).
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

    /// The bytes before the uncompressed offset `start`, to which deflate may refer.
    fn window_before(&self, start: u64, window: SpanWindow) -> io::Result<Vec<u8>> {
        let place = InflateIndex::window(start);
        let mut bytes = vec![0; (place.end - place.start) as usize];
        match window {
            SpanWindow::Kept(at) => self.windows.read_exact_at(&mut bytes, at)?,
            SpanWindow::Stored => {
                let mut read = 0;
                while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
                    let at = place.start + read as u64;
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
            let place = skip + read as u64;
            let within = place % block;
            let count = usize::try_from(block - within).unwrap_or(usize::MAX);
            let count = count.min(rest.len());
            let from = at + place / block * (block + STORED_HEADER_BYTES) + within;
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
        // The index may be damaged, so it must not determine the size of a buffer without a limit.
        let count = usize::try_from(end - start).ok();
        let count = count.filter(|count| *count <= MAX_SPAN_BYTES);
        let count = count.ok_or(io::ErrorKind::InvalidData)?;
        bytes.resize(count, 0);
        let mut filled = 0;
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            let step = stream.step(room)?;
            filled += step.made;
            if step.stop == Stop::End && filled < count {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(0)
    }
}
