//! What a download is to bring.

use std::ops::Range;
use std::sync::Arc;

use prep_core::Progress;

use crate::error::FetchError;
use crate::free_space;
use crate::resume::partial::Partial;
use crate::resume::pieces::max_bytes;
use crate::wire::identity::Identity;
use crate::wire::item::Item;
use crate::wire::shared::Shared;

/// What to fetch, and where to.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) shared: Arc<Shared>,
    pub(crate) item: Item,
    /// Published MD5 in hexadecimal; none when another content is welcome.
    pub(crate) md5: Option<String>,
    pub(crate) partial: Arc<Partial>,
    /// The bytes to fetch; none for all.
    pub(crate) wanted: Option<Vec<Range<u64>>>,
    pub(crate) progress: Arc<Progress>,
}

impl Order {
    /// Bytes of disk that a new download takes: members of a part are copied once more at its end.
    pub(crate) fn needed(&self, object: &Identity) -> u64 {
        match &self.wanted {
            None => object.total,
            Some(wanted) => wanted.iter().fold(0, |sum: u64, range| {
                sum.saturating_add(range.end.saturating_sub(range.start).saturating_mul(2))
            }),
        }
    }

    /// Refuses a length whose map of pieces would not fit into memory: of a part, the disk says nothing about the whole.
    pub(crate) fn require_map(&self, object: &Identity) -> Result<(), FetchError> {
        match object.total <= max_bytes(self.shared.options.piece.max(1)) {
            true => Ok(()),
            false => Err(FetchError::TooLong {
                item: self.item.to_string(),
                bytes: object.total,
            }),
        }
    }

    /// Refuses to begin what the disk cannot hold.
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
