//! Gives a complete download its final name, for everything that is fetched.
//!
//! The bytes are on the disk before the file gets its name, and the name is on the disk when this returns. So after a
//! power failure there is a complete file or none. Results of steps are not flushed, because they can be computed
//! again; a download may take hours.

use std::fs::{self, File};
use std::path::Path;

use crate::error::FetchError;

/// Renames `from`, the open `file`, to `to` in the same directory.
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
