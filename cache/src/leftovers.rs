//! Sweeping away what killed processes left behind.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::layout::Bucket;
use crate::lease::{Lease, Mode};
use crate::lock::{HOLDERS, remove_unlocked};
use crate::{StoreError, walk};

/// How old garbage must be before it is taken: a file is not yet locked in
/// the moment it is made, and some network file systems have no locks.
pub(crate) const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes temporary files that are older than a day and that nobody has
/// locked; with `dry_run` it only counts the old ones. Best effort: what
/// cannot be removed (another user's file) stays. Returns the number.
pub(crate) fn sweep(root: &Path, dry_run: bool) -> Result<usize, StoreError> {
    let now = SystemTime::now();
    let mut swept = 0;
    for (_, path) in walk::entries(&Bucket::Tmp.dir(root))? {
        let is_old = path
            .symlink_metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|modified| age(now, modified) >= GRACE);
        if is_old && (dry_run || remove_unlocked(&path).unwrap_or(false)) {
            swept += 1;
        }
    }
    Ok(swept)
}

/// Removes lock files that nobody holds, and leases of processes that are known to be gone. Taking a lock checks
/// afterwards that its file still has its name, so nobody is left with a lock that does not lock.
pub(crate) fn sweep_locks(root: &Path) -> Result<(), StoreError> {
    let is_name = |name: &str| name.parse::<crate::Digest>().is_ok();
    for (name, path) in walk::entries(&Bucket::Locks.dir(root))? {
        // The collector itself holds `use`: only names that are digests go.
        if is_name(&name) {
            let _ = remove_unlocked(&path);
        } else if name.strip_suffix(HOLDERS).is_some_and(is_name) {
            // Its last user removes the directory.
            drop(Lease::try_take(&path, Mode::Exclusive));
        }
    }
    Ok(())
}

/// Time since `then`, zero if it is in the future.
pub(crate) fn age(now: SystemTime, then: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}
