//! Writes one HTML page about prepared competitions: their data, their pipelines, and graded submissions.
//!
//! ```text
//! collect   reads the data directory, the cache and grading reports as plain values
//! draw      values -> pictures (SVG)                graph   a pipeline's steps as a picture
//! page      values and pictures -> one HTML file, by templates (maud)
//! ```
//!
//! The page is one file without scripts, fonts and requests. Colours follow the reader's light or dark setting: pictures have fixed
//! colours, which the style sheet of the page replaces. The templates escape every text
//! from data.
//!
//! Rows and images come from `public`. From `private`, only the answers are read, and the page has only fractions of them. A value
//! that does not occur in `public` is never named.

mod collect;
mod draw;
pub mod graph;
mod page;
mod text;

pub use collect::GradedExperiment;
use prep_app::{Error, Task};

/// The subject of a report.
pub struct ReportSubject<'a> {
    /// Competitions, in the order of the page.
    pub ids: &'a [String],
    /// The variant to show. None: all that are prepared.
    pub variant: Option<&'a str>,
    /// Grading reports.
    pub graded: &'a [GradedExperiment],
}

/// Makes the page. Reads prepared data and writes nothing.
///
/// # Errors
/// Returns an error if a competition is unknown, or the cache or the data directory cannot be read.
pub fn html(task: &Task, wanted: &ReportSubject<'_>) -> Result<String, Error> {
    let report = collect::collect(task, wanted)?;
    page::render(&report)
}
