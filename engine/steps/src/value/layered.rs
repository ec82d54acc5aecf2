//! The file from which content is read: a local file, a bundle on another machine, or compressed data inside a file.
//!
//! Each random read of compressed data decompresses megabytes. Therefore, after a few random reads, all data are
//! decompressed into an unlinked file.
//!
//! # Layers
//!
//! Each compression around an archive is a *layer*. For example, a gzipped tar in a zip has two layers of deflate. A zip in
//! a zip has one layer if the outer zip compresses the inner zip. Members of a 7z archive have one layer of LZMA.
//!
//! Random access needs the range of each layer in the next outer layer, and the positions where decompression can start. For
//! deflate, it also needs the *window*: the bytes before such a position. One object contains these data of all layers:
//!
//! ```text
//! windows of all layers, one after another
//! the layers as JSON
//! offset of the JSON, 8 bytes
//! ```

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::io::{BufReader, Write};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use prep_cache::{Digest, ObjectWriter, Store, StoreError};
use prep_core::{Claim, Context, Ranges};
use prep_formats::inflated::{DeflateSpans, InflateIndex, WindowStore};
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::sevenz::{PartSpans, SevenZPart};
use prep_formats::spans::{SpanReader, Spans};
use serde::{Deserialize, Serialize};

/// An open file that contains the bytes of other files, such as members of an archive.
#[derive(Clone)]
pub(crate) enum BaseFile {
    Local(Arc<File>),
    /// A bundle on another machine.
    Remote(Arc<dyn Ranges>),
    /// Compressed data inside another file.
    Layered(Arc<LayeredFile>),
}

impl BaseFile {
    pub fn local_file(&self) -> Option<&Arc<File>> {
        match self {
            BaseFile::Local(file) => Some(file),
            BaseFile::Remote(_) | BaseFile::Layered(_) => None,
        }
    }
}

impl ReadAt for BaseFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            BaseFile::Local(file) => ReadAt::read_at(&**file, buf, offset),
            BaseFile::Remote(content) => content.read_at(buf, offset),
            BaseFile::Layered(content) => content.read_at(buf, offset),
        }
    }
}

/// Number of decompressed spans that are kept in memory, if enough memory is free. A span is a part that can be
/// decompressed without the parts before it.
const CACHED_SPANS: usize = 5;
/// Number of decompressed spans that are kept if memory for [`CACHED_SPANS`] is not free. A read that crosses the
/// border of a span needs two spans.
const MIN_CACHED_SPANS: usize = 2;

/// Typical size in bytes of a span of deflate.
const SPAN_BYTES: u64 = 9 << 20;

/// Parts of a 7z archive that are longer than this are decoded in chunks.
const MAX_PART_BYTES: u64 = 128 << 20;
const PART_CHUNK_BYTES: u64 = 8 << 20;

/// After this number of bytes was decompressed more than once, the next read creates the temporary file with all bytes.
const MAX_REPEATED_BYTES: u64 = 32 << 20;

const COPY_BYTES: usize = 1 << 18;

/// Compressed data inside another file.
pub struct LayeredFile {
    spans: SpanReader<Box<dyn Spans + Send + Sync>>,
    /// An unlinked file with all decompressed data. It is created after too many bytes were decompressed repeatedly.
    copy: OnceLock<File>,
    /// Locked while `copy` is created.
    copying: Mutex<()>,
    context: Context,
    /// The memory of [`CACHED_SPANS`] spans, if it was free.
    _memory: Option<Claim>,
}

impl LayeredFile {
    /// Opens the layer in `file`. `object` contains the windows of the layer.
    pub(super) fn new(
        context: &Context,
        file: BaseFile,
        object: &Arc<File>,
        layer: Layer,
    ) -> LayeredFile {
        let Layer {
            offset,
            bytes,
            compression,
        } = layer;
        let packed = ByteSection::new(file, offset..offset.saturating_add(bytes));
        let claim = |each: u64| context.try_claim(each.saturating_mul(CACHED_SPANS as u64));
        let (memory, spans): (_, Box<dyn Spans + Send + Sync>) = match compression {
            LayerCompression::Deflate(index) => {
                let deflated = DeflateSpans::new(packed, Arc::clone(object), index);
                (claim(SPAN_BYTES), Box::new(deflated))
            }
            LayerCompression::SevenZip(parts) => {
                let window = parts.iter().map(SevenZPart::window).max();
                let window = u64::from(window.unwrap_or(0));
                let longest = parts.iter().map(|part| part.unpacked).max();
                let longest = longest.filter(|longest| *longest <= MAX_PART_BYTES);
                let (memory, longest) = match longest.and_then(|longest| claim(longest + window)) {
                    Some(memory) => (Some(memory), MAX_PART_BYTES),
                    None => {
                        let chunk = PART_CHUNK_BYTES + window / CACHED_SPANS as u64;
                        (claim(chunk), PART_CHUNK_BYTES)
                    }
                };
                (memory, Box::new(PartSpans::new(packed, parts, longest)))
            }
        };
        let cached_spans = memory.as_ref().map_or(MIN_CACHED_SPANS, |_| CACHED_SPANS);
        LayeredFile {
            spans: SpanReader::new(spans, cached_spans),
            copy: OnceLock::new(),
            copying: Mutex::default(),
            context: context.clone(),
            _memory: memory,
        }
    }

    /// Returns the temporary file. The first call creates it.
    fn copied(&self) -> io::Result<&File> {
        let _alone = self.copying.lock();
        if let Some(copy) = self.copy.get() {
            return Ok(copy);
        }
        let mut copy = self.context.temp_file()?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut copied = 0;
        loop {
            self.context.check().map_err(io::Error::other)?;
            let count = self.spans.read_at(&mut buffer, copied)?;
            if count == 0 {
                break;
            }
            copy.write_all(buffer.get(..count).unwrap_or_default())?;
            copied += count as u64;
        }
        Ok(self.copy.get_or_init(|| copy))
    }
}

impl ReadAt for LayeredFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.copy.get() {
            Some(copy) => ReadAt::read_at(copy, buf, offset),
            None if self.spans.repeated_bytes() < MAX_REPEATED_BYTES => {
                self.spans.read_at(buf, offset)
            }
            None => ReadAt::read_at(self.copied()?, buf, offset),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layers {
    /// Digest of the file that contains the outermost layer.
    pub base: Digest,
    /// From the outermost to the innermost.
    pub layers: Vec<Layer>,
}

/// A range of compressed bytes in the next outer layer, or in the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layer {
    /// Start of the range.
    pub offset: u64,
    /// Length of the range.
    pub bytes: u64,
    pub compression: LayerCompression,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LayerCompression {
    /// Deflate, and the positions where decompression can start.
    Deflate(InflateIndex),
    /// The parts of a 7z archive, each of which is decoded separately.
    SevenZip(Vec<SevenZPart>),
}

/// Writes the object that describes layers. Stores nothing if dropped before `finish`.
pub(crate) struct LayersWriter(RefCell<CountedObject>);

struct CountedObject {
    object: io::BufWriter<ObjectWriter>,
    /// Number of bytes of windows that were written.
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

    pub fn finish(self, layers: &Layers) -> io::Result<Digest> {
        let CountedObject { mut object, bytes } = self.0.into_inner();
        serde_json::to_writer(&mut object, layers)?;
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
    pub fn read(object: &Arc<File>) -> io::Result<Layers> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a stored index is damaged");
        let end = object.metadata()?.len().checked_sub(8);
        let end = end.ok_or_else(damaged)?;
        let mut begin = [0; 8];
        object.read_exact_at(&mut begin, end)?;
        let json = ByteSection::new(object, u64::from_le_bytes(begin)..end);
        Ok(serde_json::from_reader(BufReader::new(json))?)
    }
}

#[cfg(test)]
mod tests {
    use prep_formats::inflated::{InflateSpan, SpanSource, SpanWindow};
    use prep_formats::sevenz::Coder;
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
