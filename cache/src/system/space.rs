//! Free disk space.

use std::path::Path;

/// Returns the number of bytes that an ordinary user can still write to the file system of `path`, or of its nearest
/// existing ancestor. `None` if the system does not report it.
pub fn free_space(path: &Path) -> Option<u64> {
    // The parent of a relative path with one component is the empty path, which cannot be examined.
    let path = std::path::absolute(path).ok()?;
    let found = path.ancestors().find(|path| path.exists())?;
    let stat = rustix::fs::statvfs(found).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_directory_has_the_space_of_its_ancestor() {
        for path in ["not-there", "not/there/either", ".", "/", "/not-there/a"] {
            assert!(free_space(Path::new(path)).is_some(), "{path}");
        }
    }
}
