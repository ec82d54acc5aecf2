//! Writes one HTML page about prepared competitions: their data, their pipelines, and graded submissions.
//!
//! ```text
//! collect   reads the data directory, the cache and grading reports
//! draw      draws values as pictures (SVG)
//! graph     draws the steps of a pipeline
//! page      writes values and pictures to one HTML file, with templates (maud)
//! ```
//!
//! The page contains no scripts or fonts, and loads nothing from the network.
//!
//! Rows and images come from `public`. From `private`, only the answers are read. The page shows only statistics of the
//! answers, and no value that does not occur in `public`.

mod collect;
mod draw;
pub mod graph;
mod page;
mod text;

use prep_app::{Error, Task};

pub use collect::{Experiments, GradedExperiment, PageContent, ReportSubject};

/// Returns the page as HTML, and its content. Calls `progress` with the position and the id of each competition before
/// reading it.
pub fn html(
    task: &Task,
    wanted: &ReportSubject<'_>,
    progress: impl FnMut(usize, &str),
) -> Result<(String, PageContent), Error> {
    let content = collect::collect(task, wanted, progress)?;
    Ok((page::render(&content), content))
}
