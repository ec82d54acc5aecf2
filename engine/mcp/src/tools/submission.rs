//! The submission of a call: a file in the server's directory.

use std::path::PathBuf;

use super::Arguments;
use crate::answer::ToolError;
use crate::server::McpOptions;

/// The parameters of tools that take a submission.
pub const PARAMETERS: &[(&str, &str, bool)] = &[
    ("id", "id of the competition", true),
    (
        "submission",
        "path of the CSV file with the submission",
        true,
    ),
];

/// The path of the submission. Relative paths are relative to the directory of submissions.
///
/// # Errors
/// Returns an error if the file is not below that directory: links are followed first.
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
        // Of files elsewhere it stays unknown whether they exist.
        Err(_) if !path.starts_with(&options.submissions) || given.contains("..") => Err(outside()),
        Err(error) => Err(missing(error)),
    }
}
