//! Describes how to read an archive that is nested in other compressed archives.
//!
//! Each compression around it is a layer: two layers of deflate around a gzipped tar in a zip, usually one around a zip
//! in a zip, and one layer of LZMA around the members of a 7z archive. To read it at random positions, a reader needs
//! the range of each layer in its outer one, and the positions where decompression can start. All of this is one
//! object:
//!
//! ```text
//! windows of all layers, one after another
//! table:
//! digest of the file that contains the archive, number of layers
//!   for each layer: offset and length of its compressed bytes in the outer layer, and its kind:
//!     0 deflate: decompressed length, number of spans
//!       for each span:
//!         its first byte, as the difference to the previous span
//!         position in the stream * 2, plus 1 if its bytes are coded, as the difference to the previous span
//!         not coded: length of the block
//!         coded: first bit, plus 8 if the window is stored; otherwise also the position of the window
//!     1 7z: number of parts
//!       for each part:
//!         position, as the difference to the end of the previous one; length; decompressed length
//!         dictionary size; 0 for LZMA2, or the properties of LZMA + 1
//! position of the table, 8 bytes
//! ```

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use prep_cache::{Digest, ObjectWriter, Store, StoreError};
use prep_formats::inflated::{InflateIndex, InflateSpan, SpanSource, SpanWindow, WindowStore};
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::sevenz::{Coder, SevenZPart};

use super::compact::{CompactReader, write_difference, write_number};

/// A flag in the number with the first bit of a coded span.
const WINDOW_IS_STORED: u8 = 8;

/// The layers around an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Digest of the bundle.
    pub base: Digest,
    /// From the outermost to the innermost.
    pub layers: Vec<Layer>,
}

/// A range of compressed bytes in the outer layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    pub offset: u64,
    pub bytes: u64,
    pub compression: LayerCompression,
}

/// The compression of a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LayerCompression {
    Deflate(InflateIndex),
    SevenZip(Vec<SevenZPart>),
}

/// Writes the object that describes layers, including the windows of their indexes. If the writer is dropped before
/// `finish`, nothing is stored.
pub(crate) struct LayersWriter(RefCell<CountedObject>);

struct CountedObject {
    object: io::BufWriter<ObjectWriter>,
    bytes: u64,
}

impl LayersWriter {
    pub fn new(store: &Store) -> Result<LayersWriter, StoreError> {
        let object = io::BufWriter::new(store.writer()?);
        Ok(LayersWriter(RefCell::new(CountedObject {
            object,
            bytes: 0,
        })))
    }

    /// Stores the object.
    pub fn finish(self, layers: &Layers) -> io::Result<Digest> {
        let CountedObject { mut object, bytes } = self.0.into_inner();
        layers.write(&mut object)?;
        object.write_all(&bytes.to_le_bytes())?;
        let object = object
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        Ok(object.commit().map_err(io::Error::other)?.digest)
    }
}

impl WindowStore for LayersWriter {
    fn keep(&self, window: &[u8]) -> io::Result<u64> {
        let mut out = self.0.borrow_mut();
        let position = out.bytes;
        out.object.write_all(window)?;
        out.bytes += window.len() as u64;
        Ok(position)
    }
}

impl Layers {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(self.base.as_bytes())?;
        write_number(out, self.layers.len() as u64)?;
        for layer in &self.layers {
            write_number(out, layer.offset)?;
            write_number(out, layer.bytes)?;
            match &layer.compression {
                LayerCompression::Deflate(index) => {
                    write_number(out, 0)?;
                    write_index(out, index)?;
                }
                LayerCompression::SevenZip(parts) => {
                    write_number(out, 1)?;
                    write_parts(out, parts)?;
                }
            }
        }
        Ok(())
    }

    /// Reads an object.
    pub fn read(object: &Arc<File>) -> io::Result<Layers> {
        let end = object.metadata()?.len().checked_sub(8);
        let end = end.ok_or_else(invalid)?;
        let mut begin = [0; 8];
        object.read_exact_at(&mut begin, end)?;
        let begin = u64::from_le_bytes(begin);
        let mut input = CompactReader::new(ByteSection::new(object, begin..end));
        let base = Digest::from_bytes(input.bytes()?);
        let mut layers = Vec::new();
        for _ in 0..input.number()? {
            layers.push(Layer {
                offset: input.number()?,
                bytes: input.number()?,
                compression: match input.number()? {
                    0 => LayerCompression::Deflate(read_index(&mut input)?),
                    1 => LayerCompression::SevenZip(read_parts(&mut input)?),
                    _ => return Err(invalid()),
                },
            });
        }
        Ok(Layers { base, layers })
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a stored index is damaged")
}

fn write_index(out: &mut impl Write, index: &InflateIndex) -> io::Result<()> {
    write_number(out, index.len())?;
    write_number(out, index.spans().len() as u64)?;
    let (mut start, mut position) = (0, 0);
    for span in index.spans() {
        let now = match span.source {
            SpanSource::Stored { at, .. } => at << 1,
            SpanSource::Coded { at, .. } => at << 1 | 1,
        };
        write_difference(out, span.start, start)?;
        write_difference(out, now, position)?;
        match span.source {
            SpanSource::Stored { block, .. } => write_number(out, block)?,
            SpanSource::Coded { bit, window, .. } => match window {
                SpanWindow::Stored => write_number(out, u64::from(bit | WINDOW_IS_STORED))?,
                SpanWindow::Kept(position) => {
                    write_number(out, u64::from(bit))?;
                    write_number(out, position)?;
                }
            },
        }
        (start, position) = (span.start, now);
    }
    Ok(())
}

fn read_index(input: &mut CompactReader<impl io::Read>) -> io::Result<InflateIndex> {
    let len = input.number()?;
    let mut spans = Vec::new();
    let (mut start, mut position) = (0, 0);
    for _ in 0..input.number()? {
        start = input.difference(start)?;
        position = input.difference(position)?;
        let at = position >> 1;
        let source = match position & 1 {
            0 => SpanSource::Stored {
                at,
                block: input.number()?,
            },
            _ => {
                let bit = u8::try_from(input.number()?).map_err(io::Error::other)?;
                SpanSource::Coded {
                    at,
                    bit: bit & !WINDOW_IS_STORED,
                    window: match bit & WINDOW_IS_STORED {
                        0 => SpanWindow::Kept(input.number()?),
                        _ => SpanWindow::Stored,
                    },
                }
            }
        };
        spans.push(InflateSpan { start, source });
    }
    InflateIndex::new(spans, len).ok_or_else(invalid)
}

fn write_parts(out: &mut impl Write, parts: &[SevenZPart]) -> io::Result<()> {
    write_number(out, parts.len() as u64)?;
    let mut end = 0;
    for SevenZPart {
        packed,
        unpacked,
        coder,
    } in parts
    {
        write_difference(out, packed.start, end)?;
        write_number(out, packed.end - packed.start)?;
        write_number(out, *unpacked)?;
        let (dictionary, kind) = match coder {
            Coder::Lzma2 { dictionary } => (dictionary, 0),
            Coder::Lzma {
                properties,
                dictionary,
            } => (dictionary, 1 + u64::from(*properties)),
        };
        write_number(out, u64::from(*dictionary))?;
        write_number(out, kind)?;
        end = packed.end;
    }
    Ok(())
}

fn read_parts(input: &mut CompactReader<impl io::Read>) -> io::Result<Vec<SevenZPart>> {
    let mut parts = Vec::new();
    let mut end = 0;
    for _ in 0..input.number()? {
        let start = input.difference(end)?;
        end = start.checked_add(input.number()?).ok_or_else(invalid)?;
        let unpacked = input.number()?;
        let dictionary = u32::try_from(input.number()?).map_err(|_| invalid())?;
        let coder = match input.number()? {
            0 => Coder::Lzma2 { dictionary },
            more => Coder::Lzma {
                properties: u8::try_from(more - 1).map_err(|_| invalid())?,
                dictionary,
            },
        };
        parts.push(SevenZPart {
            packed: start..end,
            unpacked,
            coder,
        });
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans() -> impl Strategy<Value = Vec<InflateSpan>> {
        let bits = prop::option::of((0..8_u8, any::<bool>()));
        let numbers = (1..1_u64 << 40, any::<[u32; 2]>(), bits);
        prop::collection::vec(numbers, 0..20).prop_map(|spans| {
            let mut start = 0;
            let spans = spans.into_iter().map(|(bytes, [at, other], coded)| {
                let (first, at, other) = (start, u64::from(at), u64::from(other));
                start += bytes;
                let source = match coded {
                    Some((bit, is_kept)) => SpanSource::Coded {
                        at,
                        bit,
                        window: match is_kept {
                            true => SpanWindow::Kept(other),
                            false => SpanWindow::Stored,
                        },
                    },
                    None => SpanSource::Stored {
                        at,
                        block: other + 1,
                    },
                };
                InflateSpan {
                    start: first,
                    source,
                }
            });
            spans.collect()
        })
    }

    fn parts() -> impl Strategy<Value = Vec<SevenZPart>> {
        let numbers = (
            0..1_u64 << 40,
            0..1_u64 << 40,
            any::<[u32; 2]>(),
            any::<Option<u8>>(),
        );
        let part =
            numbers.prop_map(
                |(start, unpacked, [bytes, dictionary], properties)| SevenZPart {
                    packed: start..start + u64::from(bytes),
                    unpacked,
                    coder: match properties {
                        None => Coder::Lzma2 { dictionary },
                        Some(properties) => Coder::Lzma {
                            properties,
                            dictionary,
                        },
                    },
                },
            );
        prop::collection::vec(part, 0..20)
    }

    fn layer() -> impl Strategy<Value = Layer> {
        let deflate = (spans(), 1..1000_u64).prop_map(|(spans, more)| {
            let len = spans.last().map_or(0, |last| last.start + more);
            LayerCompression::Deflate(InflateIndex::new(spans, len).unwrap())
        });
        let compression = prop_oneof![deflate, parts().prop_map(LayerCompression::SevenZip)];
        (any::<[u64; 2]>(), compression).prop_map(|([offset, bytes], compression)| Layer {
            offset,
            bytes,
            compression,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn layers_round_trip_and_truncated_ones_are_rejected(
            layers in prop::collection::vec(layer(), 0..4),
            windows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..4),
            left in any::<prop::sample::Index>(),
        ) {
            let directory = tempfile::tempdir()?;
            let store = Store::open(directory.path()).unwrap();
            let layers = Layers { base: Digest::of_bytes(b"bundle"), layers };
            let writer = LayersWriter::new(&store).unwrap();
            let positions: Vec<u64> = windows.iter().map(|window| writer.keep(window).unwrap()).collect();
            let object = store.open_object(&writer.finish(&layers)?).unwrap();
            let file = Arc::new(object.file().try_clone()?);
            prop_assert_eq!(&Layers::read(&file)?, &layers);
            for (window, position) in windows.iter().zip(positions) {
                let mut found = vec![0; window.len()];
                file.read_exact_at(&mut found, position)?;
                prop_assert_eq!(&found, window);
            }
            let cut = tempfile::tempfile()?;
            let mut bytes = std::fs::read(object.path())?;
            bytes.truncate(left.index(bytes.len()));
            std::os::unix::fs::FileExt::write_all_at(&cut, &bytes, 0)?;
            prop_assert!(Layers::read(&Arc::new(cut)).is_err());
        }
    }
}
