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
) -> Result<Option<Digest>, BoxError> {
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
    Ok(Some(out.commit().map_err(StepError::from)?.digest))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans() -> impl Strategy<Value = Vec<Span>> {
        let numbers = (1..1_u64 << 40, any::<[u32; 2]>(), 0..8_u8, any::<bool>());
        prop::collection::vec(numbers, 0..20).prop_map(|spans| {
            let mut start = 0;
            let spans = spans.into_iter().map(|(bytes, [at, other], bit, coded)| {
                let (first, at, other) = (start, u64::from(at), u64::from(other));
                start += bytes;
                let source = match coded {
                    true => Source::Coded {
                        at,
                        bit,
                        window: other,
                    },
                    false => Source::Stored {
                        at,
                        block: other + 1,
                    },
                };
                Span {
                    start: first,
                    source,
                }
            });
            spans.collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn an_index_reads_back_and_a_cut_one_is_refused(
            spans in spans(),
            more in 1..1000_u64,
            windows in prop::collection::vec(any::<u8>(), 0..100),
            place in any::<[u64; 2]>(),
            left in any::<prop::sample::Index>(),
        ) {
            let folder = tempfile::tempdir()?;
            let store = Store::open(folder.path()).unwrap();
            let len = spans.last().map_or(0, |last| last.start + more);
            let index = Index::new(spans, len).unwrap();
            let deflated = Deflated {
                base: Digest::of(b"bundle"),
                offset: place[0],
                bytes: place[1],
            };
            let written = write(&store, &deflated, |out| {
                out.write_all(&windows).unwrap();
                Ok(Some(index.clone()))
            });
            let object = store.open_object(&written.unwrap().unwrap()).unwrap();
            let file = Arc::new(object.file().try_clone()?);
            prop_assert_eq!(read(&file)?, (deflated, index));
            let cut = tempfile::tempfile()?;
            let mut bytes = std::fs::read(object.path())?;
            bytes.truncate(left.index(bytes.len()));
            std::os::unix::fs::FileExt::write_all_at(&cut, &bytes, 0)?;
            prop_assert!(read(&Arc::new(cut)).is_err());
        }
    }
}
