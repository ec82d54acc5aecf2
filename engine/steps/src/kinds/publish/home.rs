//! Definitions that all stages of a publication share.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fmt, io};

use prep_core::StepError;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits::FileError;
use crate::value::ContentError;

/// Prefix of temporary files and directories. Each publication deletes them, so other programs must not use this prefix.
pub const TEMP_PREFIX: &str = ".prep-publish-";

/// The only published file that users may modify. Therefore it is writable, and never a hard link to the cache.
pub(super) const USER_FILE: &str = "public/description.md";

/// A modification time that no file has. It marks a published file whose metadata are not trusted.
pub(super) const NEVER: i64 = i64::MIN;

/// Returns the file that every process locks while it publishes into `home`.
pub(super) fn lock_file(home: &Path) -> PathBuf {
    home.join("prepared.lock")
}

/// Returns the permissions of a published file, before the umask.
pub(super) fn mode_of(name: &str) -> u32 {
    match name == USER_FILE {
        true => 0o666,
        false => 0o444,
    }
}

/// Returns the error for a published file whose content cannot be read.
pub(super) fn content_error(path: &str, cause: ContentError) -> StepError {
    StepError::input(FileError::new(path, cause))
}

/// Returns `time`, or [`NEVER`] if a later change of the file could get the same modification time. The metadata must
/// have been read after `began`.
///
/// The same time is possible only if the clock of the file system has a longer tick than [`prep_cache::CLOCK_TICK`].
/// With a shorter tick, a later change has a different time, because the caller waits for one `CLOCK_TICK` before it
/// writes the record.
pub(super) fn trusted_time(time: i64, began: SystemTime) -> i64 {
    let is_trusted =
        !prep_cache::is_coarse(time) || prep_cache::time_until_settled(&[time], began).is_zero();
    if is_trusted { time } else { NEVER }
}

/// A manifest or listing cannot be read or written.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// The lock or the file system reports an error.
    #[error("{0}")]
    Store(#[from] prep_cache::StoreError),
    /// The content of the file is not a manifest.
    #[error("`{path}` is damaged")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("cannot {operation} `{path}`")]
    Io {
        /// The operation, such as `read`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        cause: io::Error,
    },
}

impl ManifestError {
    /// `operation` completes the message "cannot ...".
    pub(super) fn io(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> ManifestError {
        move |cause| ManifestError::Io {
            operation,
            path: path.to_path_buf(),
            cause,
        }
    }
}

/// Replaces the file `name` of `home` atomically. `time` becomes its modification time.
pub(super) fn replace_with(
    home: &Path,
    name: &str,
    time: Option<SystemTime>,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), ManifestError> {
    let target = home.join(name);
    let failed = ManifestError::io("write", &target);
    let mut file = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .tempfile_in(home)
        .map_err(&failed)?;
    write(&mut file).map_err(&failed)?;
    if let Some(time) = time {
        file.as_file().set_modified(time).map_err(&failed)?;
    }
    // A shared file system may report a write error only when the file is synchronised.
    if prep_cache::is_shared(home) {
        file.as_file().sync_data().map_err(&failed)?;
    }
    prep_cache::persist(file, &target).map_err(failed)
}

/// A [`PathSummary`] contains at most this number of paths. It only counts further files and directories.
const MAX_RECORDED_PATHS: usize = 20;

/// A message shows at most this number of the paths in a [`PathSummary`].
const MAX_SHOWN_PATHS: usize = 3;

/// A set of files and directories: their number, and the first of their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSummary {
    /// Number of files and directories. A directory is counted once.
    pub count: u64,
    /// The first paths in lexicographic order, at most 20. Paths of directories end in `/`.
    pub paths: BTreeSet<String>,
}

impl PathSummary {
    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, path: &Path, is_directory: bool) {
        self.count += 1;
        let end = if is_directory { "/" } else { "" };
        self.paths.insert(format!("{}{end}", path.display()));
        if self.paths.len() > MAX_RECORDED_PATHS {
            self.paths.pop_last();
        }
    }

    /// Removes the recorded paths that begin with `prefix`.
    pub fn remove_below(&mut self, prefix: &str) {
        let before = self.paths.len();
        self.paths.retain(|path| !path.starts_with(prefix));
        self.count -= (before - self.paths.len()) as u64;
    }

    /// Returns the union with a disjoint set.
    #[must_use]
    pub fn with(mut self, other: &PathSummary) -> PathSummary {
        self.count += other.count;
        self.paths.extend(other.paths.iter().cloned());
        while self.paths.len() > MAX_RECORDED_PATHS {
            self.paths.pop_last();
        }
        self
    }
}

/// For example: `a, b, c and 4 more`.
impl fmt::Display for PathSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<&str> = self.paths.iter().map(String::as_str).collect();
        let shown = shown.get(..MAX_SHOWN_PATHS).unwrap_or(&shown);
        f.write_str(&shown.join(", "))?;
        match self.count.saturating_sub(shown.len() as u64) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_paths_do_not_depend_on_the_order_of_addition() {
        let mut found = PathSummary::default();
        for number in (0..50).rev() {
            found.add(Path::new(&format!("public/{number:02}")), number % 2 == 1);
        }
        assert_eq!((found.count, found.paths.len()), (50, MAX_RECORDED_PATHS));
        assert_eq!(found.paths.first().map(String::as_str), Some("public/00"));
        assert_eq!(found.paths.last().map(String::as_str), Some("public/19/"));
        assert_eq!(
            found.to_string(),
            "public/00, public/01/, public/02 and 47 more"
        );
    }
}
