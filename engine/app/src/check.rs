//! One pipeline's file: is it sound? Without its bundle, a store or a network.

use std::path::Path;

use crate::catalog::Entry;
use crate::error::Error;
use crate::loading::Loader;

/// Checks the keys, queries and grading of the pipeline in a file, in all variants. Its competition's id is the name of the
/// folder that holds it.
///
/// # Errors
/// All findings; or that the file cannot be read.
pub fn check(path: &Path) -> Result<(), Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::reading("read the pipeline", path, &error))?;
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent();
    let id = folder.and_then(Path::file_name).unwrap_or_default();
    let entry = Entry {
        id: id.to_string_lossy().into_owned(),
        file_name: path.display().to_string(),
        folder: folder.map(Path::to_owned),
        pipeline: Some(text.into()),
        description: None,
        leaderboard: None,
        checksums: None,
    };
    Loader::without_notes().load(&entry, prep_spec::BASE_VARIANT)?;
    Ok(())
}
