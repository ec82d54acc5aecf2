//! Opens the submission that a call names.

use prep_app::{Submission, SubmissionError};

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

/// Opens the submission. Relative paths are relative to the directory of submissions.
///
/// # Errors
/// Same as [`SubmissionDirectory::open`](prep_app::SubmissionDirectory::open).
pub fn open(options: &McpOptions, arguments: &Arguments) -> Result<Submission, SubmissionError> {
    options.submissions.open(arguments.text("submission"))
}

/// Converts the error to one for the agent. Only errors of the system have a cause.
pub fn refused(options: &McpOptions, arguments: &Arguments, error: &SubmissionError) -> ToolError {
    let name = arguments.text("submission");
    let directory = options.submissions.path().display();
    let help = match error {
        SubmissionError::Changed => "call the tool again after the file is complete".to_owned(),
        _ => format!("write the submission as a regular file below {directory}"),
    };
    let message = match error {
        SubmissionError::Missing => format!("there is no file `{name}`"),
        SubmissionError::Outside => {
            format!("`{name}` is not below the directory of submissions")
        }
        SubmissionError::Read { source, .. } => format!("cannot read `{name}`: {source}"),
        error => format!("cannot read `{name}`: {error}"),
    };
    ToolError::new(message).help(help)
}
