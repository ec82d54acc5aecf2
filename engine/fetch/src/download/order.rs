//! The description of a download: its source, target and ranges.

use std::ops::Range;
use std::sync::Arc;

use prep_cache::Digest;
use prep_core::Progress;

use crate::error::FetchError;
use crate::free_space;
use crate::resume::earlier::Wanted;
use crate::resume::partial::Partial;
use crate::resume::pieces::max_bytes;
use crate::wire::identity::Identity;
use crate::wire::item::Item;
use crate::wire::shared::Shared;

/// The source and the target of a download.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) shared: Arc<Shared>,
    pub(crate) item: Item,
    /// The published MD5 in hexadecimal. If it is `None`, any content is accepted.
    pub(crate) md5: Option<String>,
    pub(crate) partial: Arc<Partial>,
    /// The ranges to fetch. If it is `None`, the entire file is fetched.
    pub(crate) ranges: Option<Vec<Range<u64>>>,
    pub(crate) progress: Arc<Progress>,
}

impl Order {
    /// Creates the order of an entire file without a published MD5.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        item: Item,
        partial: &Arc<Partial>,
        progress: &Arc<Progress>,
    ) -> Order {
        Order {
            shared: Arc::clone(shared),
            item,
            md5: None,
            partial: Arc::clone(partial),
            ranges: None,
            progress: Arc::clone(progress),
        }
    }

    /// Returns the part of the file to fetch.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            source: Digest::of_bytes(self.item.key().as_bytes()),
            ranges: self.ranges.as_deref(),
        }
    }

    /// Returns the disk space in bytes that the download needs. Members of a part are counted twice, because they are
    /// copied at the end.
    pub(crate) fn needed(&self, object: &Identity) -> u64 {
        match &self.ranges {
            None => object.total,
            Some(ranges) => ranges.iter().fold(0, |sum: u64, range| {
                sum.saturating_add(range.end.saturating_sub(range.start).saturating_mul(2))
            }),
        }
    }

    /// Returns an error if the file is so long that its piece map would not fit into memory. This check is needed for
    /// parts of a bundle, whose required disk space does not depend on the length of the entire file.
    pub(crate) fn require_map(&self, object: &Identity) -> Result<(), FetchError> {
        match object.total <= max_bytes(self.shared.options.piece.max(1)) {
            true => Ok(()),
            false => Err(FetchError::TooLong {
                item: self.item.to_string(),
                bytes: object.total,
            }),
        }
    }

    /// Returns an error if the disk has fewer than `needed` free bytes.
    pub(crate) fn require_space(&self, needed: u64) -> Result<(), FetchError> {
        match free_space(&self.partial.path) {
            Some(free) if free < needed => Err(FetchError::NoSpace {
                path: self.partial.path.clone(),
                needed,
                free,
            }),
            _ => Ok(()),
        }
    }
}
