//! Gives a completely downloaded file its final name.
//!
//! The bytes are flushed to disk before the file gets its name, and the name is flushed before this function returns.
//! So after a power failure, the file is either complete or missing. Results of steps are not flushed, because they can
//! be computed again. A download may take hours.

use std::fs::{self, File};
use std::path::Path;

use crate::error::FetchError;

/// Renames the file at `from` to `to` in the same directory. `file` is the open file at `from`.
pub(crate) fn commit(file: &File, from: &Path, to: &Path) -> Result<(), FetchError> {
    let error = |action, path: &Path| {
        let path = path.to_path_buf();
        move |cause| FetchError::io(action, &path, cause)
    };
    file.sync_data().map_err(error("flush", from))?;
    fs::rename(from, to).map_err(error("rename", from))?;
    let Some(directory) = to.parent() else {
        return Ok(());
    };
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(error("flush", directory))
}
