//! The stored form of an index of a deflated archive, by which the archive is read where it lies.
//!
//! ```text
//! windows, one behind the other
//! table:
//!   the digest of what holds the archive, where its deflated bytes begin there, and their number
//!   the archive's length, and the number of spans
//!   a span: its first byte, twice the place of its bytes in the stream (and 1 if they are coded), both counted from the
//!   span before; then the length of a block, or the first bit and the place of the window
//! where the table begins, 8 bytes
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use prep_cache::{Digest, Store};
use prep_core::{BoxError, StepError};
use prep_formats::inflated::{Index, Source, Span};
use prep_formats::read_at::{ReadAt, Section};
use prep_formats::zip::ZipError;

use super::compact::{Input, write_difference, write_number};

/// Where a deflated archive lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deflated {
    pub base: Digest,
    /// Its first deflated byte, and how many there are.
    pub offset: u64,
    pub bytes: u64,
}

/// Writes an object; `index` makes the index and writes the windows. None, and nothing is stored, where it makes none.
pub(crate) fn write(
    store: &Store,
    deflated: &Deflated,
    index: impl FnOnce(&mut dyn Write) -> Result<Option<Index>, ZipError>,
) -> Result<Option<(Digest, Index)>, BoxError> {
    let mut out = Counting {
        inner: io::BufWriter::new(store.writer().map_err(StepError::from)?),
        bytes: 0,
    };
    let Some(index) = index(&mut out)? else {
        return Ok(None);
    };
    write_table(&mut out, deflated, &index).map_err(StepError::machine)?;
    let out = out.inner.into_inner();
    let out = out.map_err(|error| StepError::machine(error.into_error()))?;
    let stored = out.commit().map_err(StepError::from)?;
    Ok(Some((stored.digest, index)))
}

fn write_table(
    out: &mut Counting<impl Write>,
    deflated: &Deflated,
    index: &Index,
) -> io::Result<()> {
    let begin = out.bytes;
    out.write_all(deflated.base.as_bytes())?;
    write_number(out, deflated.offset)?;
    write_number(out, deflated.bytes)?;
    write_number(out, index.len())?;
    write_number(out, index.spans().len() as u64)?;
    let (mut start, mut place) = (0, 0);
    for span in index.spans() {
        let now = match span.source {
            Source::Stored { at, .. } => at << 1,
            Source::Coded { at, .. } => at << 1 | 1,
        };
        write_difference(out, span.start, start)?;
        write_difference(out, now, place)?;
        match span.source {
            Source::Stored { block, .. } => write_number(out, block)?,
            Source::Coded { bit, window, .. } => {
                write_number(out, u64::from(bit))?;
                write_number(out, window)?;
            }
        }
        (start, place) = (span.start, now);
    }
    out.write_all(&begin.to_le_bytes())
}

/// Reads what [`write`] wrote.
pub(crate) fn read(object: &Arc<File>) -> io::Result<(Deflated, Index)> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "a stored index is damaged");
    let end = object
        .metadata()?
        .len()
        .checked_sub(8)
        .ok_or_else(invalid)?;
    let mut begin = [0; 8];
    object.read_exact_at(&mut begin, end)?;
    let begin = u64::from_le_bytes(begin);
    let mut input = Input::new(Section::new(object, begin..end));
    let deflated = Deflated {
        base: Digest::from_bytes(input.bytes()?),
        offset: input.number()?,
        bytes: input.number()?,
    };
    let len = input.number()?;
    let mut spans = Vec::new();
    let (mut start, mut place) = (0, 0);
    for _ in 0..input.number()? {
        start = input.difference(start)?;
        place = input.difference(place)?;
        let at = place >> 1;
        let source = match place & 1 {
            0 => Source::Stored {
                at,
                block: input.number()?,
            },
            _ => Source::Coded {
                at,
                bit: u8::try_from(input.number()?).map_err(io::Error::other)?,
                window: input.number()?,
            },
        };
        spans.push(Span { start, source });
    }
    let index = Index::new(spans, len).ok_or_else(invalid)?;
    Ok((deflated, index))
}

/// Counts what is written.
struct Counting<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
