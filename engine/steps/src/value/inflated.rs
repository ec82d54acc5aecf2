//! An archive that is deflated, as a source of bytes.
//!
//! It is read by its index where it lies, which costs little for who reads from front to back, and much for who reads here
//! and there: each time some megabytes are inflated anew. Once that has happened a few times, the archive is inflated as a
//! whole into a file without a name, which is gone when nobody reads it any more.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use prep_cache::Access;
use prep_core::{Claim, Context};
use prep_formats::inflated::{Index, Inflated};
use prep_formats::read_at::{ReadAt, Section};

use super::base::BaseFile;

/// So many spans are kept, if there is memory for them ...
const KEPT: usize = 5;
/// ... each of which takes as much, mostly.
const MEMORY_OF_SPAN: u64 = 9 << 20;
/// Without it: two, as readers are at the end of one and at the beginning of the next.
const FEW: usize = 2;

/// When so many bytes were inflated anew, a copy takes less.
const MOST_AGAIN: u64 = 32 << 20;

/// Bytes that are copied at a time.
const PIECE: usize = 1 << 18;

/// What is deflated in another file.
pub struct InflatedFile {
    by_index: Inflated<Section<BaseFile>, Arc<File>>,
    copy: OnceLock<File>,
    copying: Mutex<()>,
    context: Context,
    /// For the spans that are kept.
    _memory: Option<Claim>,
}

impl InflatedFile {
    /// By the index that `object` holds.
    pub(super) fn new(
        context: &Context,
        packed: Section<BaseFile>,
        object: Arc<File>,
        index: Index,
    ) -> InflatedFile {
        let memory = context.try_claim(KEPT as u64 * MEMORY_OF_SPAN);
        let kept = if memory.is_some() { KEPT } else { FEW };
        InflatedFile {
            by_index: Inflated::new(packed, object, index, kept),
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
        let mut copy = self.context.temp_file()?;
        let (folder, accesses) = (self.context.temp_dir(), self.context.store.accesses());
        let mut piece = vec![0; PIECE];
        let mut copied = 0;
        loop {
            self.context.check().map_err(io::Error::other)?;
            let count = self.by_index.read_at(&mut piece, copied)?;
            if count == 0 {
                break;
            }
            accesses.before(Access::Write, &folder)?;
            copy.write_all(piece.get(..count).unwrap_or_default())?;
            copied += count as u64;
        }
        Ok(self.copy.get_or_init(|| copy))
    }
}

impl ReadAt for InflatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.copy.get() {
            Some(copy) => ReadAt::read_at(copy, buf, offset),
            None if self.by_index.again() < MOST_AGAIN => self.by_index.read_at(buf, offset),
            None => ReadAt::read_at(self.copied()?, buf, offset),
        }
    }
}
