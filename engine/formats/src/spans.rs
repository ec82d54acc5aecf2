//! What can be unpacked from several places on, read at any position.
//!
//! A packed stream is read from its beginning, unless it is known how to begin at other places. Then it is so many [`Spans`],
//! each of which is unpacked by itself, and [`Unpacked`] is a source of bytes like a file.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::read_at::ReadAt;

/// Stretches of bytes, one behind the other, each of which can be unpacked by itself.
pub trait Spans {
    /// How many there are.
    fn count(&self) -> usize;

    /// The number of the span that holds a byte, and its place in what is unpacked. `None` behind the end.
    fn find(&self, offset: u64) -> Option<(usize, Range<u64>)>;

    /// Whether the bytes of a span lie somewhere as they are.
    fn is_plain(&self, _number: usize) -> bool {
        false
    }

    /// Reads bytes of a plain span, from its byte `skip` on; as many as `buf` holds, which the span has.
    ///
    /// # Errors
    /// Those of the source.
    fn read_plain(&self, _number: usize, _buf: &mut [u8], _skip: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Unpacks a span: adds its bytes, as many as it has, to `bytes`, which is empty. Returns how many others had to be
    /// unpacked for it, and are lost.
    ///
    /// # Errors
    /// Those of the source; [`io::ErrorKind::InvalidData`] and [`io::ErrorKind::UnexpectedEof`] when it is damaged.
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

/// Spans as a source of bytes. Those that were used last are kept, so that whoever reads from front to back, or several who
/// do so near each other, unpack each but once.
#[derive(Debug)]
pub struct Unpacked<S> {
    spans: S,
    cache: Mutex<Cache>,
    kept: usize,
}

#[derive(Debug)]
struct Cache {
    /// The one that was used last is the last one.
    held: Vec<(usize, Held)>,
    /// Which ones were held before.
    known: Vec<bool>,
    /// Bytes that were unpacked more than once or in vain, for who came from anywhere.
    again: u64,
}

/// An unpacked span; empty until it is needed. Who needs it while another unpacks it waits.
type Held = Arc<Mutex<Vec<u8>>>;

impl Cache {
    fn holds(&self, number: usize) -> bool {
        self.held.iter().any(|(held, _)| *held == number)
    }
}

impl<S: Spans> Unpacked<S> {
    /// Bytes of spans, `kept` of which are kept.
    pub fn new(spans: S, kept: usize) -> Self {
        Self {
            cache: Mutex::new(Cache {
                held: Vec::new(),
                known: vec![false; spans.count()],
                again: 0,
            }),
            spans,
            kept: kept.max(1),
        }
    }

    /// Bytes that were unpacked more than once, or in vain, for readers that came from elsewhere than the bytes before them:
    /// they are read here and there, not several times from front to back.
    pub fn again(&self) -> u64 {
        self.cache().again
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place where an unpacked span of so many bytes is kept.
    fn held(&self, number: usize, bytes: u64) -> Held {
        let mut cache = self.cache();
        let found = cache.held.iter().position(|(one, _)| *one == number);
        let held = match found {
            Some(place) => cache.held.remove(place).1,
            None => {
                let known = cache.known.get_mut(number);
                let is_again = known.is_some_and(|known| std::mem::replace(known, true));
                let before = (0..number).rfind(|before| !self.spans.is_plain(*before));
                let is_next = before.is_none_or(|before| cache.holds(before));
                if is_again && !is_next {
                    cache.again += bytes;
                }
                match cache.held.len() < self.kept {
                    true => Held::default(),
                    false => used_anew(cache.held.remove(0).1),
                }
            }
        };
        cache.held.push((number, Arc::clone(&held)));
        held
    }

    /// Whoever has to wait for a span unpacks the next one meanwhile, if nobody did: it is wanted soon. What fails then
    /// fails again when it is read.
    fn go_ahead(&self, end: u64) {
        let Some((next, range)) = self.spans.find(end) else {
            return;
        };
        if self.spans.is_plain(next) || self.cache().holds(next) {
            return;
        }
        let held = self.held(next, range.end - range.start);
        if let Ok(mut bytes) = held.try_lock() {
            let _ = self.fill(&mut bytes, next);
        }
    }

    /// Unpacks the bytes of a span, if that was not done.
    fn fill(&self, bytes: &mut Vec<u8>, number: usize) -> io::Result<()> {
        if !bytes.is_empty() {
            return Ok(());
        }
        match self.spans.unpack(number, bytes) {
            Ok(lost) => {
                self.cache().again += lost;
                Ok(())
            }
            Err(error) => {
                bytes.clear();
                Err(error)
            }
        }
    }
}

/// The memory of a span for another one, unless somebody reads it still.
fn used_anew(old: Held) -> Held {
    match Arc::try_unwrap(old) {
        Ok(old) => {
            let mut bytes = old.into_inner().unwrap_or_else(PoisonError::into_inner);
            bytes.clear();
            Arc::new(Mutex::new(bytes))
        }
        Err(_) => Held::default(),
    }
}

impl<S: Spans> ReadAt for Unpacked<S> {
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
        let held = self.held(number, range.end - range.start);
        let mut bytes = match held.try_lock() {
            Ok(bytes) => bytes,
            Err(_) => {
                self.go_ahead(range.end);
                held.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        self.fill(&mut bytes, number)?;
        let skip = usize::try_from(skip).map_err(io::Error::other)?;
        let from = bytes.get(skip..).unwrap_or_default().get(..count);
        buf.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(count)
    }
}
