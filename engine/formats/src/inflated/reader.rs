//! Reading by an index.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::index::{Index, STORED_HEAD, Source, Span};
use super::stream::{Stop, Stream, invalid};
use crate::read_at::ReadAt;

/// Compressed bytes are read in pieces of this size.
const PIECE: usize = 1 << 16;

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

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.index.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
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
        let is_coded = matches!(span.source, Source::Coded { .. });
        if !is_coded || self.spans().holds(next) {
            return;
        }
        let held = self.held(next, end - span.start);
        if let Ok(bytes) = held.try_lock() {
            drop(self.filled(bytes, span, end));
        }
    }

    /// The bytes of a span, which are inflated if that was not done.
    fn filled<'h>(
        &self,
        mut bytes: MutexGuard<'h, Vec<u8>>,
        span: Span,
        end: u64,
    ) -> io::Result<MutexGuard<'h, Vec<u8>>> {
        if bytes.is_empty() {
            let count = usize::try_from(end - span.start).map_err(io::Error::other)?;
            if let Err(error) = self.inflate(span, count, &mut bytes) {
                bytes.clear();
                return Err(error);
            }
        }
        Ok(bytes)
    }

    /// Inflates `count` bytes from a place on.
    fn inflate(&self, span: Span, count: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let Source::Coded { at, bit, window } = span.source else {
            return Err(invalid("it is not deflated"));
        };
        let known = usize::try_from(Index::window(span.start)).unwrap_or_default();
        let mut before = vec![0; known];
        self.windows.read_exact_at(&mut before, window)?;
        let mut piece = vec![0; PIECE];
        self.packed
            .read_exact_at(piece.get_mut(..1).unwrap_or_default(), at)?;
        let first = piece.first().copied().unwrap_or_default();
        let mut stream = Stream::resume(first, bit, &before)?;
        let (mut used, mut from, mut to) = (at + 1, 0, 0);
        bytes.resize(count, 0);
        let mut filled = 0;
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            if from == to {
                (from, to) = (0, self.packed.read_at(&mut piece, used)?);
                used += to as u64;
            }
            let step = stream.step(piece.get(from..to).unwrap_or_default(), room)?;
            from += step.used;
            filled += step.made;
            let is_stuck = step.used == 0 && step.made == 0 && step.stop == Stop::Anywhere;
            if is_stuck || step.stop == Stop::End && filled < count {
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
        let bytes = match held.try_lock() {
            Ok(bytes) => bytes,
            Err(_) => {
                self.go_ahead(end);
                held.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        let bytes = self.filled(bytes, span, end)?;
        let skip = usize::try_from(skip).map_err(io::Error::other)?;
        let from = bytes.get(skip..skip + count).unwrap_or_default();
        buf.copy_from_slice(from);
        Ok(count)
    }
}
