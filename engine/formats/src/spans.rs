//! Random access to compressed streams that can be decoded from several offsets.
//!
//! An implementation of [`Spans`] divides such a stream into ranges, the *spans*, and decodes each span separately.
//! [`SpanReader`] makes the stream readable like a file, and caches decoded spans.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::read_at::ReadAt;

/// Consecutive ranges of uncompressed bytes, each of which can be decoded separately.
pub trait Spans {
    /// Returns the number of spans.
    fn count(&self) -> usize;

    /// Returns the index and the range of the span that contains `offset`. Offset and range count uncompressed bytes.
    ///
    /// Returns `None` beyond the end.
    fn find(&self, offset: u64) -> Option<(usize, Range<u64>)>;

    /// Returns whether the bytes of a span are stored uncompressed.
    fn is_plain(&self, _number: usize) -> bool {
        false
    }

    /// Fills `buf` with bytes of a span that is stored uncompressed, beginning `skip` bytes after the span's start. The span
    /// must have at least `skip` plus `buf.len()` bytes.
    fn read_plain(&self, _number: usize, _buf: &mut [u8], _skip: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Decodes a span and appends its bytes to `bytes`, which must be empty.
    ///
    /// Some implementations must first decode bytes that precede the span. Returns the number of such bytes, which are
    /// discarded.
    ///
    /// # Errors
    /// I/O errors, and [`io::ErrorKind::InvalidData`] or [`io::ErrorKind::UnexpectedEof`] if the source is damaged.
    fn unpack(&self, number: usize, bytes: &mut Vec<u8>) -> io::Result<u64>;
}

impl<S: Spans + ?Sized> Spans for Box<S> {
    fn count(&self) -> usize {
        (**self).count()
    }

    fn find(&self, offset: u64) -> Option<(usize, Range<u64>)> {
        (**self).find(offset)
    }

    fn is_plain(&self, number: usize) -> bool {
        (**self).is_plain(number)
    }

    fn read_plain(&self, number: usize, buf: &mut [u8], skip: u64) -> io::Result<()> {
        (**self).read_plain(number, buf, skip)
    }

    fn unpack(&self, number: usize, bytes: &mut Vec<u8>) -> io::Result<u64> {
        (**self).unpack(number, bytes)
    }
}

/// Random access to the uncompressed bytes of spans. Recently used spans stay in memory and are shared by threads.
#[derive(Debug)]
pub struct SpanReader<S> {
    spans: S,
    cache: Mutex<Cache>,
    capacity: usize,
}

/// The spans in memory, and a record of the spans that were decoded before.
#[derive(Debug)]
struct Cache {
    /// The spans in memory with their indices, least recently used first.
    buffers: Vec<(usize, SpanBuffer)>,
    /// For each span, whether it is or was in memory.
    was_decoded: Vec<bool>,
    /// Number of bytes decoded repeatedly or discarded because of random access.
    repeated: u64,
}

/// The bytes of a span, empty before the span is decoded. A thread that decodes the span holds the lock, and other threads
/// wait for the lock.
type SpanBuffer = Arc<Mutex<Vec<u8>>>;

impl Cache {
    fn contains(&self, number: usize) -> bool {
        self.buffers.iter().any(|(span, _)| *span == number)
    }
}

impl<S: Spans> SpanReader<S> {
    /// Reads `spans`. At most `capacity` of them stay in memory.
    pub fn new(spans: S, capacity: usize) -> Self {
        Self {
            cache: Mutex::new(Cache {
                buffers: Vec::new(),
                was_decoded: vec![false; spans.count()],
                repeated: 0,
            }),
            spans,
            capacity: capacity.max(1),
        }
    }

    /// Returns the number of bytes decoded repeatedly because of random access. A second sequential pass is not counted.
    pub fn repeated_bytes(&self) -> u64 {
        self.cache.lock().repeated
    }

    /// Returns the memory for a span of `bytes` bytes, and marks the span as most recently used.
    fn buffer(&self, number: usize, bytes: u64) -> SpanBuffer {
        let mut cache = self.cache.lock();
        let found = cache.buffers.iter().position(|(span, _)| *span == number);
        let buffer = match found {
            Some(index) => cache.buffers.remove(index).1,
            None => {
                let flag = cache.was_decoded.get_mut(number);
                let was_decoded = flag.is_some_and(|flag| std::mem::replace(flag, true));
                // In a second sequential pass, the previous compressed span is still in memory.
                let previous = (0..number).rfind(|span| !self.spans.is_plain(*span));
                let is_sequential = previous.is_none_or(|previous| cache.contains(previous));
                if was_decoded && !is_sequential {
                    cache.repeated += bytes;
                }
                match cache.buffers.len() < self.capacity {
                    true => SpanBuffer::default(),
                    false => reuse(cache.buffers.remove(0).1),
                }
            }
        };
        cache.buffers.push((number, Arc::clone(&buffer)));
        buffer
    }

    /// Decodes the span that begins at offset `end`, unless it is in memory or another thread is already decoding it.
    /// Ignores errors.
    ///
    /// A thread that waits for a span calls this function to decode the following span in the meantime.
    fn decode_next(&self, end: u64) {
        let Some((next, range)) = self.spans.find(end) else {
            return;
        };
        if self.spans.is_plain(next) || self.cache.lock().contains(next) {
            return;
        }
        let buffer = self.buffer(next, range.end - range.start);
        if let Some(mut bytes) = buffer.try_lock() {
            let _ = self.fill(&mut bytes, next);
        }
    }

    /// Decodes the span into `bytes`, unless `bytes` already contains the decoded span.
    fn fill(&self, bytes: &mut Vec<u8>, number: usize) -> io::Result<()> {
        if !bytes.is_empty() {
            return Ok(());
        }
        match self.spans.unpack(number, bytes) {
            Ok(discarded) => {
                self.cache.lock().repeated += discarded;
                Ok(())
            }
            Err(error) => {
                bytes.clear();
                Err(error)
            }
        }
    }
}

/// Returns an empty buffer. It reuses the memory of `old`, unless a thread still reads `old`.
fn reuse(old: SpanBuffer) -> SpanBuffer {
    match Arc::try_unwrap(old) {
        Ok(old) => {
            let mut bytes = old.into_inner();
            bytes.clear();
            Arc::new(Mutex::new(bytes))
        }
        Err(_) => SpanBuffer::default(),
    }
}

impl<S: Spans> ReadAt for SpanReader<S> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some((number, range)) = self.spans.find(offset) else {
            return Ok(0);
        };
        let skip = offset - range.start;
        let left = usize::try_from(range.end - offset).unwrap_or(usize::MAX);
        let count = buf.len().min(left);
        let buf = buf.get_mut(..count).unwrap_or_default();
        if self.spans.is_plain(number) {
            return self.spans.read_plain(number, buf, skip).map(|()| count);
        }
        let buffer = self.buffer(number, range.end - range.start);
        let mut bytes = match buffer.try_lock() {
            Some(bytes) => bytes,
            None => {
                self.decode_next(range.end);
                buffer.lock()
            }
        };
        self.fill(&mut bytes, number)?;
        let skip = usize::try_from(skip).map_err(io::Error::other)?;
        let from = bytes.get(skip..).unwrap_or_default().get(..count);
        buf.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(count)
    }
}
