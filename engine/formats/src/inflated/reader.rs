//! Reading by an index.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::index::{Index, STORED_HEAD, Source, Span};
use super::stream::{Stop, Stream};
use crate::read_at::ReadAt;

/// What is deflated, as a source of bytes. The spans that were used last are kept, so that whoever reads from front to back,
/// or several who do so near each other, inflate each but once.
#[derive(Debug)]
pub struct Inflated<P, W> {
    packed: P,
    windows: W,
    index: Index,
    spans: Mutex<Spans>,
    kept: usize,
}

#[derive(Debug)]
struct Spans {
    /// The one that was used last is the last one.
    held: Vec<(usize, Held)>,
    /// Which ones were held before.
    known: Vec<bool>,
    /// Bytes that were inflated more than once, for who came from anywhere.
    again: u64,
}

/// An inflated span; empty until it is needed. Who needs it while another inflates it waits.
type Held = Arc<Mutex<Vec<u8>>>;

impl Spans {
    fn holds(&self, number: usize) -> bool {
        self.held.iter().any(|(held, _)| *held == number)
    }
}

impl<P: ReadAt, W: ReadAt> Inflated<P, W> {
    /// Bytes by an index of the stream that begins `packed`, and the windows that belong to it; keeps `kept` spans.
    pub fn new(packed: P, windows: W, index: Index, kept: usize) -> Self {
        Self {
            packed,
            windows,
            spans: Mutex::new(Spans {
                held: Vec::new(),
                known: vec![false; index.spans().len()],
                again: 0,
            }),
            index,
            kept: kept.max(1),
        }
    }

    /// Bytes that were inflated more than once for readers that came from elsewhere than the bytes before them: they are
    /// read here and there, not several times from front to back.
    pub fn again(&self) -> u64 {
        self.spans().again
    }

    fn spans(&self) -> MutexGuard<'_, Spans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads stored blocks; returns how many bytes.
    fn read_stored(&self, buf: &mut [u8], skip: u64, at: u64, block: u64) -> io::Result<usize> {
        let mut read = 0;
        while let Some(rest) = buf.get_mut(read..).filter(|rest| !rest.is_empty()) {
            let place = skip + read as u64;
            let within = place % block;
            let count = usize::try_from(block - within).unwrap_or(usize::MAX);
            let count = count.min(rest.len());
            let from = at + place / block * (block + STORED_HEAD) + within;
            self.packed
                .read_exact_at(rest.get_mut(..count).unwrap_or_default(), from)?;
            read += count;
        }
        Ok(read)
    }

    /// The place where an inflated span of so many bytes is kept.
    fn held(&self, number: usize, bytes: u64) -> Held {
        let mut spans = self.spans();
        let found = spans.held.iter().position(|(one, _)| *one == number);
        let held = match found {
            Some(place) => spans.held.remove(place).1,
            None => {
                let known = spans.known.get_mut(number);
                let is_again = known.is_some_and(|known| std::mem::replace(known, true));
                let before = self.index.coded_before(number);
                let is_next = before.is_none_or(|before| spans.holds(before));
                if is_again && !is_next {
                    spans.again += bytes;
                }
                match spans.held.len() < self.kept {
                    true => Held::default(),
                    false => used_anew(spans.held.remove(0).1),
                }
            }
        };
        spans.held.push((number, Arc::clone(&held)));
        held
    }

    /// Whoever has to wait for a span inflates the next one meanwhile, if nobody did: it is wanted soon. What fails then
    /// fails again when it is read.
    fn go_ahead(&self, end: u64) {
        let Some((next, span, end)) = self.index.find(end) else {
            return;
        };
        if self.spans().holds(next) || matches!(span.source, Source::Stored { .. }) {
            return;
        }
        let held = self.held(next, end - span.start);
        if let Ok(mut bytes) = held.try_lock() {
            let _ = self.fill(&mut bytes, span, end);
        }
    }

    /// Inflates the bytes of a span, if that was not done.
    fn fill(&self, bytes: &mut Vec<u8>, span: Span, end: u64) -> io::Result<()> {
        if bytes.is_empty() {
            let inflated = self.inflate(bytes, span, end);
            if inflated.is_err() {
                bytes.clear();
            }
            return inflated;
        }
        Ok(())
    }

    fn inflate(&self, bytes: &mut Vec<u8>, span: Span, end: u64) -> io::Result<()> {
        let Source::Coded { at, bit, window } = span.source else {
            return Ok(());
        };
        let mut before = vec![0; Index::window(span.start)];
        self.windows.read_exact_at(&mut before, window)?;
        let mut stream = Stream::resume(&self.packed, at, bit, &before)?;
        let count = usize::try_from(end - span.start).map_err(io::Error::other)?;
        bytes.resize(count, 0);
        let mut filled = 0;
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            let step = stream.step(room)?;
            filled += step.made;
            if step.stop == Stop::End && filled < count {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
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

impl<P: ReadAt, W: ReadAt> ReadAt for Inflated<P, W> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some((number, span, end)) = self.index.find(offset) else {
            return Ok(0);
        };
        let skip = offset - span.start;
        let left = usize::try_from(end - offset).unwrap_or(usize::MAX);
        let count = buf.len().min(left);
        let buf = buf.get_mut(..count).unwrap_or_default();
        if let Source::Stored { at, block } = span.source {
            return self.read_stored(buf, skip, at, block);
        }
        let held = self.held(number, end - span.start);
        let mut bytes = match held.try_lock() {
            Ok(bytes) => bytes,
            Err(_) => {
                self.go_ahead(end);
                held.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        self.fill(&mut bytes, span, end)?;
        let skip = usize::try_from(skip).map_err(io::Error::other)?;
        let from = bytes.get(skip..skip + count).unwrap_or_default();
        buf.copy_from_slice(from);
        Ok(count)
    }
}
