//! Checks the path of the submission in a call.

use std::path::PathBuf;

use super::Arguments;
use crate::answer::ToolError;
use crate::options::McpOptions;

/// The parameters of tools that read a submission.
pub const PARAMETERS: &[(&str, &str, bool)] = &[
    ("id", "id of the competition", true),
    (
        "submission",
        "path of the CSV file with the submission",
        true,
    ),
];

/// Returns the path of the submission. Relative paths are relative to the directory of submissions.
///
/// # Errors
/// Returns an error if the file does not exist or is not below the directory of submissions. Links are resolved first.
pub fn path(options: &McpOptions, arguments: &Arguments) -> Result<PathBuf, ToolError> {
    let given = arguments.text("submission");
    let path = options.submissions.join(given);
    let outside = || {
        ToolError::new(format!(
            "`{given}` is not below the directory of submissions"
        ))
        .help(format!(
            "write the submission below {}",
            options.submissions.display()
        ))
    };
    let missing = |_| ToolError::new(format!("there is no file `{given}`"));
    let root = options.submissions.canonicalize().map_err(missing)?;
    match path.canonicalize() {
        Ok(found) if found.starts_with(&root) => Ok(found),
        Ok(_) => Err(outside()),
        // The error does not reveal whether a file outside the directory exists.
        Err(_) if !path.starts_with(&options.submissions) || given.contains("..") => Err(outside()),
        Err(error) => Err(missing(error)),
    }
}
