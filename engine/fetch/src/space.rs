//! Free disk.

use std::path::Path;

/// Bytes that this user can still write to the file system of `path` (or of its folder, if it does not exist yet).
pub(crate) fn free(path: &Path) -> Option<u64> {
    let found = path.ancestors().find(|path| path.exists())?;
    let stat = rustix::fs::statvfs(found).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}
