//! Reads compressed data inside a file.
//!
//! Data are decompressed in place. Sequential reads are cheap. Each random read decompresses several megabytes again.
//! After a few of those, all data are decompressed into an unlinked temporary file, which the system removes when it is
//! closed.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use prep_core::{Claim, Context};
use prep_formats::inflated::DeflateSpans;
use prep_formats::read_at::{ByteSection, ReadAt};
use prep_formats::sevenz::{PartSpans, SevenZPart};
use prep_formats::spans::{SpanReader, Spans};

use super::base::BaseFile;
use super::layers::{Layer, LayerCompression};

/// Maximum number of decompressed spans in memory, if that memory is available.
const CACHED_SPANS: usize = 5;
/// Number of spans in memory without a memory claim. A read can cross the border between two spans, so two are needed.
const MIN_CACHED_SPANS: usize = 2;

/// Typical size in bytes of a span of deflate.
const SPAN_BYTES: u64 = 9 << 20;

/// Parts of a 7z archive with more bytes than this are decoded in chunks.
const MAX_PART_BYTES: u64 = 128 << 20;
/// Bytes per chunk of a long part.
const PART_CHUNK_BYTES: u64 = 8 << 20;

/// If more bytes than this have been decompressed repeatedly, the data are copied to a temporary file.
const MAX_REPEATED_BYTES: u64 = 32 << 20;

/// Bytes per write to the copy.
const COPY_BYTES: usize = 1 << 18;

/// Compressed data inside another file.
pub struct LayeredFile {
    spans: SpanReader<Box<dyn Spans + Send + Sync>>,
    copy: OnceLock<File>,
    copying: Mutex<()>,
    context: Context,
    /// The claim for the memory of the cached spans.
    _memory: Option<Claim>,
}

impl LayeredFile {
    /// Opens the layer in `file`. `object` contains its windows.
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

    /// Returns the decompressed copy. The first call creates it.
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
