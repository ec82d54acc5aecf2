//! What is packed in a file, as a source of bytes.
//!
//! It is read where it lies, which costs little for who reads from front to back, and much for who reads here and there:
//! each time some megabytes are unpacked anew. Once that has happened a few times, all of it is unpacked into a file without
//! a name, which is gone when nobody reads it any more. So is what can only be unpacked in stretches that memory does not
//! hold.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use prep_cache::Access;
use prep_core::{Claim, Context};
use prep_formats::inflated::Deflated;
use prep_formats::read_at::{ReadAt, Section};
use prep_formats::sevenz::{Decoded, Part};
use prep_formats::spans::{Spans, Unpacked};

use super::base::BaseFile;
use super::layers::{Layer, Packing};

/// So many spans are kept, if there is memory for them.
const KEPT: usize = 5;
/// Without it: two, as readers are at the end of one and at the beginning of the next ...
const FEW: usize = 2;
/// ... unless they are longer than that.
const SHORT: u64 = 32 << 20;

/// What a span of deflate takes, mostly.
const MEMORY_OF_SPAN: u64 = 9 << 20;

/// When so many bytes were unpacked anew, a copy takes less.
const MOST_AGAIN: u64 = 32 << 20;

/// Bytes that are copied at a time.
const PIECE: usize = 1 << 18;

/// What is packed in another file.
pub struct LayeredFile {
    spans: Unpacked<Box<dyn Spans + Send + Sync>>,
    /// Spans are held in memory.
    is_held: bool,
    copy: OnceLock<File>,
    copying: Mutex<()>,
    context: Context,
    /// For the spans that are kept.
    _memory: Option<Claim>,
}

impl LayeredFile {
    /// The layer in `file`, whose windows `object` holds.
    pub(super) fn new(
        context: &Context,
        file: BaseFile,
        object: &Arc<File>,
        layer: Layer,
    ) -> LayeredFile {
        let Layer {
            offset,
            bytes,
            packing,
        } = layer;
        let packed = Section::new(file, offset..offset.saturating_add(bytes));
        let (span, spans): (u64, Box<dyn Spans + Send + Sync>) = match packing {
            Packing::Deflate(index) => {
                let deflated = Deflated::new(packed, Arc::clone(object), index);
                (MEMORY_OF_SPAN, Box::new(deflated))
            }
            Packing::SevenZip(parts) => {
                let longest = parts.iter().map(Part::memory).max();
                (longest.unwrap_or(0), Box::new(Decoded::new(packed, parts)))
            }
        };
        let memory = context.try_claim(span.saturating_mul(KEPT as u64));
        let kept = if memory.is_some() { KEPT } else { FEW };
        LayeredFile {
            spans: Unpacked::new(spans, kept),
            is_held: memory.is_some() || span <= SHORT,
            copy: OnceLock::new(),
            copying: Mutex::default(),
            context: context.clone(),
            _memory: memory,
        }
    }

    fn copied(&self) -> io::Result<&File> {
        let _alone = self.copying.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = self.copy.get() {
            return Ok(copy);
        }
        let mut copy = Copy {
            file: self.context.temp_file()?,
            context: &self.context,
        };
        if self.is_held {
            let mut piece = vec![0; PIECE];
            let mut copied = 0;
            loop {
                let count = self.spans.read_at(&mut piece, copied)?;
                if count == 0 {
                    break;
                }
                copy.write_all(piece.get(..count).unwrap_or_default())?;
                copied += count as u64;
            }
        } else {
            let spans = self.spans.spans();
            (0..spans.count()).try_for_each(|number| spans.unpack_to(number, &mut copy))?;
        }
        Ok(self.copy.get_or_init(|| copy.file))
    }
}

/// A file that is written until the run is cancelled.
struct Copy<'a> {
    file: File,
    context: &'a Context,
}

impl Write for Copy<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.context.check().map_err(io::Error::other)?;
        let (folder, accesses) = (self.context.temp_dir(), self.context.store.accesses());
        accesses.before(Access::Write, &folder)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl ReadAt for LayeredFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.copy.get() {
            Some(copy) => ReadAt::read_at(copy, buf, offset),
            None if self.is_held && self.spans.again() < MOST_AGAIN => {
                self.spans.read_at(buf, offset)
            }
            None => ReadAt::read_at(self.copied()?, buf, offset),
        }
    }
}
