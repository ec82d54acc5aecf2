//! Descriptions that the user publishes instead of the built-in ones.
//!
//! They change the text that an agent reads, and nothing that a score depends on. The digests of `public` differ from those
//! with the built-in text, so results can name the text that was read.

use std::io::ErrorKind;

use prep_core::Failure;

use crate::error::Error;
use crate::task::PreparationOptions;

/// The text of the user for a competition; `None` if none are used.
///
/// # Errors
/// If the directory has no text for it, or the text cannot be read.
pub(super) fn user_text(options: &PreparationOptions, id: &str) -> Result<Option<String>, Error> {
    let Some(dir) = &options.descriptions else {
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
    let [one, other] = paths.map(|path| path.display().to_string());
    let message = format!("`{id}` has no description: there is neither {one} nor {other}");
    Err(Error::new(Failure::Input, message))
}
