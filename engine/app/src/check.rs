//! Checks a pipeline file. Needs neither the bundle, a cache nor the network.

use std::path::Path;

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::stages::loader::Loader;

/// Checks the keys, queries and grading of the pipeline in a file, in all variants, and the leaderboard in its directory.
/// The name of the directory is the competition's id.
///
/// # Errors
/// Returns an error that lists all mistakes, or an error if the file cannot be read.
pub fn check(path: &Path) -> Result<(), Error> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::reading_pipeline(path, &error))?;
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let directory = whole.parent().unwrap_or(Path::new(""));
    let id = directory.file_name().unwrap_or_default();
    let id = id.to_string_lossy().into_owned();
    let entry = CatalogEntry::entry_of_directory(id, path, directory, text.into())?;
    Loader::without_notes().load(&entry, prep_spec::BASE_VARIANT)?;
    Ok(())
}

/// Returns the JSON Schema of pipeline files, for editors.
pub fn schema() -> serde_json::Value {
    prep_spec::schema::schema(
        prep_steps::vocabulary(),
        &prep_grade::spec::definition::grade_schema(),
    )
}
