//! Content that is not in the cache: bundles, and files on another machine.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use prep_cache::Digest;

/// Location of content that is not in the cache.
#[derive(Clone)]
pub enum Location {
    /// A file. It may no longer exist.
    Path(PathBuf),
    /// A file on another machine.
    Ranges(Arc<dyn Ranges>),
}

/// Content on another machine that is read in place. Its bytes are verified.
pub trait Ranges: Send + Sync {
    /// Returns the length in bytes.
    fn bytes(&self) -> u64;

    /// Reads up to `buffer.len()` bytes at `offset`. Returns 0 at the end.
    ///
    /// # Errors
    /// If the content is not available, the error contains [`StoreError::Missing`](prep_cache::StoreError::Missing).
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;

    /// Announces ranges that will be read, in any order, so that adjacent ranges can be fetched together.
    fn expect(&self, ranges: Vec<std::ops::Range<u64>>);
}

/// Known locations of content that is not in the cache. Clones share them.
#[derive(Clone, Default)]
pub struct OutsideContent {
    locations: Arc<RwLock<HashMap<Digest, Location>>>,
    lost: Arc<RwLock<HashSet<Digest>>>,
}

impl OutsideContent {
    /// Registers the path of content that is not in the cache, such as a bundle.
    pub fn set_path(&self, content: Digest, path: PathBuf) {
        let location = Location::Path(path);
        self.locations.write().insert(content, location);
    }

    /// Registers how to read content that is on another machine.
    pub fn set_ranges(&self, content: Digest, ranges: Arc<dyn Ranges>) {
        let location = Location::Ranges(ranges);
        self.locations.write().insert(content, location);
    }

    /// Returns the location of content that is not in the cache.
    pub fn location(&self, content: &Digest) -> Option<Location> {
        self.locations.read().get(content).cloned()
    }

    /// Records that this content was needed and does not exist.
    pub(crate) fn record_lost(&self, content: Digest) {
        self.lost.write().insert(content);
    }

    /// Returns whether any content was needed and not found.
    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.read().is_empty()
    }

    /// Returns whether a step needed this content and did not find it. A source that so far only reported the content's
    /// digest then has to fetch the content.
    pub fn is_lost(&self, content: &Digest) -> bool {
        self.lost.read().contains(content)
    }
}
