//! Descriptions that the user publishes instead of the built-in ones.
//!
//! They change the text that an agent reads, but nothing that a score depends on. The digest of `public` includes the
//! description, so results record which text was used.

use std::io::ErrorKind;

use prep_core::Failure;

use crate::error::Error;
use crate::task::PreparationOptions;

/// Returns the user's description of a competition. Returns `None` if the user did not pass a directory with
/// descriptions.
///
/// # Errors
/// Returns an error if the directory has no description of the competition, or if the description is empty or cannot be
/// read.
pub(super) fn user_text(options: &PreparationOptions, id: &str) -> Result<Option<String>, Error> {
    let Some(dir) = &options.remembered.descriptions else {
        return Ok(None);
    };
    let paths = [
        dir.join(id).join("description.md"),
        dir.join(format!("{id}.md")),
    ];
    for path in &paths {
        match std::fs::read_to_string(path) {
            Ok(text) if text.trim().is_empty() => {
                let message = format!("{} is empty", path.display());
                return Err(Error::new(Failure::Input, message));
            }
            Ok(text) => return Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::reading("read the description", path, &error)),
        }
    }
    let [first, second] = paths.map(|path| path.display().to_string());
    let message = format!("`{id}` has no description: there is neither {first} nor {second}");
    Err(Error::new(Failure::Input, message))
}
