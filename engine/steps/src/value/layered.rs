//! What is packed in a file, as a source of bytes.
//!
//! It is read where it lies, which costs little for who reads from front to back, and much for who reads here and there:
//! each time some megabytes are unpacked anew. Once that has happened a few times, all of it is unpacked into a file without
//! a name, which is gone when nobody reads it any more.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use prep_core::{Claim, Context};
use prep_formats::inflated::Deflated;
use prep_formats::read_at::{ReadAt, Section};
use prep_formats::sevenz::{Decoded, Part};
use prep_formats::spans::{Spans, Unpacked};

use super::base::BaseFile;
use super::layers::{Layer, Packing};

/// So many spans are kept, if there is memory for them.
const KEPT: usize = 5;
/// Without it: two, as readers are at the end of one and at the beginning of the next.
const FEW: usize = 2;

/// What a span of deflate takes, mostly.
const MEMORY_OF_SPAN: u64 = 9 << 20;

/// Longer parts of a 7z are decoded in pieces, one after the other ...
const LONGEST_PART: u64 = 128 << 20;
/// ... of this length.
const PIECE_OF_PART: u64 = 8 << 20;

/// When so many bytes were unpacked anew, a copy takes less.
const MOST_AGAIN: u64 = 32 << 20;

/// Bytes that are copied at a time.
const PIECE: usize = 1 << 18;

/// What is packed in another file.
pub struct LayeredFile {
    spans: Unpacked<Box<dyn Spans + Send + Sync>>,
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
        let claim = |each: u64| context.try_claim(each.saturating_mul(KEPT as u64));
        let (memory, spans): (_, Box<dyn Spans + Send + Sync>) = match packing {
            Packing::Deflate(index) => {
                let deflated = Deflated::new(packed, Arc::clone(object), index);
                (claim(MEMORY_OF_SPAN), Box::new(deflated))
            }
            Packing::SevenZip(parts) => {
                let window = parts.iter().map(Part::window).max();
                let window = u64::from(window.unwrap_or(0));
                let longest = parts.iter().map(|part| part.unpacked).max();
                let longest = longest.filter(|longest| *longest <= LONGEST_PART);
                let whole = longest.and_then(|longest| claim(longest + window));
                let is_whole = whole.is_some();
                let memory = whole.or_else(|| claim(PIECE_OF_PART + window / KEPT as u64));
                let longest = if is_whole {
                    LONGEST_PART
                } else {
                    PIECE_OF_PART
                };
                (memory, Box::new(Decoded::new(packed, parts, longest)))
            }
        };
        let kept = if memory.is_some() { KEPT } else { FEW };
        LayeredFile {
            spans: Unpacked::new(spans, kept),
            copy: OnceLock::new(),
            copying: Mutex::default(),
            context: context.clone(),
            _memory: memory,
        }
    }

    fn copied(&self) -> io::Result<&File> {
        let _alone = self.copying.lock();
        if let Some(copy) = self.copy.get() {
            return Ok(copy);
        }
        let mut copy = self.context.temp_file()?;
        let mut piece = vec![0; PIECE];
        let mut copied = 0;
        loop {
            self.context.check().map_err(io::Error::other)?;
            let count = self.spans.read_at(&mut piece, copied)?;
            if count == 0 {
                break;
            }
            copy.write_all(piece.get(..count).unwrap_or_default())?;
            copied += count as u64;
        }
        Ok(self.copy.get_or_init(|| copy))
    }
}

impl ReadAt for LayeredFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.copy.get() {
            Some(copy) => ReadAt::read_at(copy, buf, offset),
            None if self.spans.again() < MOST_AGAIN => self.spans.read_at(buf, offset),
            None => ReadAt::read_at(self.copied()?, buf, offset),
        }
    }
}
