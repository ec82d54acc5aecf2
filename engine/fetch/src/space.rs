//! Free disk.

use std::path::Path;

/// Bytes that this user can still write to the file system of `path` (or of its folder, if it does not exist yet).
pub fn free(path: &Path) -> Option<u64> {
    // The parent of a relative path of one part is the empty path, which names nothing.
    let path = std::path::absolute(path).ok()?;
    let found = path.ancestors().find(|path| path.exists())?;
    let stat = rustix::fs::statvfs(found).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_has_the_space_of_the_one_above() {
        for path in ["not-there", "not/there/either", ".", "/", "/not-there/a"] {
            assert!(free(Path::new(path)).is_some(), "{path}");
        }
    }
}
