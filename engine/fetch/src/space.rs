//! Free disk.

use std::path::Path;

use crate::download::Order;
use crate::error::FetchError;
use crate::identity::Identity;

/// Bytes that this user can still write to the file system of `path` (or of its folder, if it does not exist yet).
pub fn free(path: &Path) -> Option<u64> {
    let found = path.ancestors().find(|path| path.exists())?;
    let stat = rustix::fs::statvfs(found).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

/// Bytes of disk that a new download takes: members of a part are copied once more at its end.
pub(crate) fn needed(order: &Order, object: &Identity) -> u64 {
    match &order.wanted {
        None => object.total,
        Some(wanted) => wanted
            .iter()
            .map(|range| 2 * (range.end - range.start))
            .sum(),
    }
}

/// Refuses to begin what the disk cannot hold.
pub(crate) fn require_space(order: &Order, needed: u64) -> Result<(), FetchError> {
    match free(&order.partial.path) {
        Some(free) if free < needed => Err(FetchError::NoSpace {
            path: order.partial.path.clone(),
            needed,
            free,
        }),
        _ => Ok(()),
    }
}
