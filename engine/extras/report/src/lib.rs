//! Writes one HTML page about prepared competitions: their data, their pipelines, and graded submissions.
//!
//! ```text
//! collect   reads the data directory, the cache and grading reports as plain values
//! draw      draws values as pictures (SVG)                graph   a pipeline's steps as a picture
//! page      writes values and pictures to one HTML file, with templates (maud)
//! ```
//!
//! The page is one file. It contains no scripts or fonts, and loads nothing from the network. Colours follow the
//! reader's light or dark setting: pictures have fixed colours, and the style sheet of the page replaces each of them in
//! the dark setting. The templates escape all texts from data.
//!
//! Rows and images come from `public`. From `private`, only the answers are read, and the page shows only fractions of
//! them. Values that do not occur in `public` are never shown.

mod collect;
mod draw;
pub mod graph;
mod page;
mod text;

use prep_app::{Error, Task};

pub use collect::{GradedExperiment, ReportSubject};

/// Returns the page as HTML, and the number of graded submissions whose competition or variant it does not show. Reads
/// prepared data, but writes nothing. Calls `progress` with the position and the id of each competition before it is read.
///
/// # Errors
/// Returns an error if a competition is unknown, or if the cache or the data directory cannot be read.
pub fn html(
    task: &Task,
    wanted: &ReportSubject<'_>,
    progress: impl FnMut(usize, &str),
) -> Result<(String, usize), Error> {
    let report = collect::collect(task, wanted, progress)?;
    Ok((page::render(&report), report.left_out))
}
